//! What a tile takes of a thread's registers, where that decides whether a value may wait for its use.
//!
//! **Invariant:** passes that move operations out of loops and the code that tells LLVM about them ask the same question here.

use tritium_tile::{Function, OpId, OpKind, Type, kinds, layout::LayoutTable};

/// Registers of a thread that one value may hold through a loop, or while a dot that does not need it is computed; more of them crowd out what these
/// need themselves, and then computing the value again, or reading it from shared memory, costs less than spilling it.
pub(crate) const MAX_REGISTERS_HELD: usize = 96;

/// The op computes a tile so large that its result must not be kept through a loop or another dot.
pub(crate) fn is_heavy(function: &Function, op: OpId, num_warps: u32) -> bool {
    let op = function.op(op);
    let renames = matches!(op.kind, OpKind::Constant(_) | kinds!(Shape));
    !renames && op.results.iter().any(|&result| registers(function.ty(result), num_warps) > MAX_REGISTERS_HELD)
}

/// 32-bit registers of a thread, if the threads share the tile evenly.
pub(crate) fn registers(ty: &Type, num_warps: u32) -> usize {
    let Type::Tile { shape, elem, .. } = ty else { return 0 };
    // A predicate takes a whole one, a small number at least half of one.
    let bits = if elem.bits() == 1 { 32 } else { (elem.bits() as usize).max(16) };
    let elements: usize = shape.iter().map(|&extent| extent as usize).product();
    elements * bits / 32 / (32 * num_warps as usize)
}

/// 32-bit registers of a thread that a tile takes as it is laid out; `None` of what no threads share.
pub(crate) fn registers_in_layout(layouts: &LayoutTable, ty: &Type) -> Option<u32> {
    let layout = ty.layout().and_then(|id| layouts.distributed(id))?;
    Some((layout.num_registers() as u32 * ty.elem().bits()).div_ceil(32))
}
