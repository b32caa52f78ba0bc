//! Shared memory that single operations need while they run.
//!
//! **Invariant:** the assignment of shared memory, the emission of code and the simulator ask the same functions, so they cannot disagree.

use crate::{
    kinds,
    layout::{
        Conversion, Distributed, SharedLayout,
        algebra::{index_bits, shift_of},
        convert::{Access, conversion, scratch},
        mma, tma, wgmma,
    },
    module::{Function, Module, OpId, ValueId},
    ops::{Op, OpKind},
    rewrite::use_counts,
    types::{Elem, Type},
};

/// Buffers and scratch begin at multiples of this, so that a row of banks is never split.
pub const ALIGNMENT: u32 = 128;

/// The allocation that a shared value is, or is a part of; the value itself if that is not known.
pub fn buffer_of(function: &Function, value: ValueId) -> ValueId {
    match function.def_op(value).map(|op| function.op(op)) {
        Some(op) if matches!(op.kind, OpKind::LocalIndex) => buffer_of(function, op.operands[0]),
        _ => value,
    }
}

/// The buffer that an operation writes or has written.
pub fn written_buffer(op: &Op) -> Option<ValueId> {
    match op.kind {
        OpKind::AsyncCopy(_) | OpKind::LocalStore => op.operands.get(1).copied(),
        OpKind::TmaLoad { .. } => tma::Operands::of(&op.operands).map(|operands| operands.copied.buffer),
        _ => None,
    }
}

/// What the offset of an op's buffer or scratch must be a multiple of: a swizzled buffer also of its pattern.
pub fn alignment(module: &Module, function: &Function, op: OpId) -> u32 {
    let operation = function.op(op);
    let buffer = operation.results.first().map(|&v| function.ty(v)).filter(|_| matches!(operation.kind, OpKind::LocalAlloc));
    let layout = buffer.and_then(|ty| module.layouts.shared(ty.layout()?).map(|l| wgmma::alignment(l, ty.elem().bits())));
    layout.unwrap_or(ALIGNMENT).max(ALIGNMENT)
}

/// Bytes an element takes in shared memory.
pub fn element_bytes(elem: Elem) -> u32 {
    elem.bits().div_ceil(8)
}

/// Bytes of shared memory at `shared_offset`: the buffer of a `LocalAlloc`, the scratch of everything else. 0 for most operations.
pub fn bytes(module: &Module, function: &Function, op: OpId) -> u32 {
    let operation = function.op(op);
    match &operation.kind {
        OpKind::LocalAlloc => {
            let ty = function.ty(operation.results[0]);
            ty.num_elements() as u32 * element_bytes(ty.elem())
        }
        OpKind::ConvertLayout => {
            let (from, to) = (operation.operands[0], operation.results[0]);
            let elem = function.ty(from).elem();
            match (layout_of(module, function, from), layout_of(module, function, to)) {
                (Some(a), Some(b)) => match conversion(a, b) {
                    Conversion::Rename(_) | Conversion::Exchange(_) => 0,
                    Conversion::Shuffle | Conversion::Shared => scratch(a, b, elem.bits()).bytes(element_bytes(elem)),
                },
                _ => 0,
            }
        }
        OpKind::Reduce { axis } => {
            let Some(layout) = layout_of(module, function, operation.operands[0]) else { return 0 };
            let elements = reduce_partials(layout, *axis as usize);
            partials_at(function, &operation.operands, elements, operation.operands.len())
        }
        OpKind::Scan { axis, .. } => {
            let Some(layout) = layout_of(module, function, operation.operands[0]) else { return 0 };
            let elements: u32 = scan_levels(layout, *axis as usize).iter().map(|level| level.slots).sum();
            partials_at(function, &operation.operands, elements, operation.operands.len())
        }
        // A tensor core reads registers; without one the operands that are in no buffer stand here.
        OpKind::Dot { .. } => match layout_of(module, function, operation.results[0]) {
            Some(layout) if !mma::is_accumulator(layout) => dot_operand_at(function, op, 2),
            _ => 0,
        },
        OpKind::Gather { .. } => {
            let ty = function.ty(operation.operands[0]);
            if ty.is_buffer() { 0 } else { ty.num_elements() as u32 * element_bytes(ty.elem()) }
        }
        OpKind::WriteTensorMap { .. } => tma::MAP_BYTES,
        OpKind::Histogram => function.ty(operation.results[0]).num_elements() as u32 * 4,
        OpKind::AtomicRmw { .. } | OpKind::AtomicCas { .. } => {
            let result = operation.results[0];
            if !atomic_result_is_shared(module, function, result) || use_counts(function)[result.index()] == 0 {
                return 0;
            }
            let ty = function.ty(result);
            ty.num_elements() as u32 * element_bytes(ty.elem())
        }
        OpKind::Constant(_)
        | kinds!(Program)
        | OpKind::Iota { .. }
        | kinds!(Shape)
        | kinds!(Arithmetic)
        | OpKind::AddPtr
        | OpKind::Promise { .. }
        | OpKind::InlineAsm(_)
        | OpKind::Map { .. }
        | OpKind::Load(_)
        | OpKind::Store(_)
        | kinds!(Control)
        | kinds!(Transfer)
        | kinds!(Observation)
        | OpKind::LocalIndex
        | OpKind::LocalLoad
        | OpKind::LocalStore
        | kinds!(Order)
        | kinds!(Copying)
        | OpKind::Wgmma { .. } => 0,
    }
}

/// Whether `cp.async` can fill a buffer through pointers of this layout, `vector` elements at a time: 4, 8 or 16 bytes, contiguous there.
pub fn async_copy_fits(pointers: &Distributed, buffer: &SharedLayout, bits: u32, vector: u32) -> bool {
    let Some(access) = Access::new(pointers, buffer, bits) else { return false };
    let steps = vector.max(1).ilog2() as usize;
    let contiguous = access.register.len() >= steps && (0..steps).all(|i| access.register[i] == 1 << i);
    let others = access.register.iter().skip(steps).chain(&access.lane).chain(&access.warp);
    contiguous
        && matches!(vector * bits, 32 | 64 | 128)
        && bits >= 8
        && others.into_iter().all(|o| o.is_multiple_of(vector.max(1)))
}

/// Bytes that a partial result takes: a 32-bit word at least. Of two small numbers in one word, which all threads read, ptxas 12 and 13 were
/// seen to select the wrong one.
pub fn partial_bytes(elem: Elem) -> u32 {
    element_bytes(elem).max(4)
}

/// Bytes of an array of partial results; the next one stays aligned for 16-byte accesses.
fn array_bytes(function: &Function, value: ValueId, elements: u32) -> u32 {
    (elements * partial_bytes(function.ty(value).elem())).next_multiple_of(16)
}

/// Where the partial results of operand `index` begin, relative to the scratch.
pub fn partials_at(function: &Function, operands: &[ValueId], elements: u32, index: usize) -> u32 {
    operands[..index].iter().map(|&v| array_bytes(function, v, elements)).sum()
}

/// Where operand `index` of a dot without tensor cores begins, relative to the scratch; the end of both for 2. One in a buffer takes none.
pub fn dot_operand_at(function: &Function, dot: OpId, index: usize) -> u32 {
    let bytes = |v: ValueId| match function.ty(v) {
        Type::Shared { .. } => 0,
        ty => (ty.num_elements() as u32 * element_bytes(ty.elem())).next_multiple_of(ALIGNMENT),
    };
    function.op(dot).operands[..index].iter().map(|&v| bytes(v)).sum()
}

fn layout_of<'m>(module: &'m Module, function: &Function, value: ValueId) -> Option<&'m Distributed> {
    module.layouts.distributed(function.ty(value).layout()?)
}

/// Partial results that warps exchange in a reduction: one per result element and warp along the axis; 0 if no warps share an axis.
pub fn reduce_partials(layout: &Distributed, axis: usize) -> u32 {
    let mask = layout.axis_mask(axis);
    let bits = layout.warp.iter().filter(|&&b| b & mask != 0).count();
    if bits == 0 { 0 } else { (1 << (layout.index_bits() - layout.shape[axis].ilog2())) << bits }
}

/// Whether several threads hold an atomic's result, so that the one that did it has to tell the others.
pub fn atomic_result_is_shared(module: &Module, function: &Function, result: ValueId) -> bool {
    match layout_of(module, function, result) {
        None => true,
        Some(layout) => {
            let (_, lane, warp) = layout.free_bits();
            lane != 0 || warp != 0
        }
    }
}

/// Who holds one bit of the position along a scanned axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    Register(u32),
    Lane(u32),
    Warp(u32),
    /// Mixed with other bits, or held by nobody alone: not a scan we can do.
    Nobody,
}

/// One doubling step of a scan: blocks of 2^b elements become blocks of 2^(b+1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScanLevel {
    pub owner: Owner,
    /// The total of the lower block may be in another warp: it goes through scratch.
    pub shared: bool,
    /// It may be in another lane.
    pub shuffled: bool,
    /// Totals written to scratch, 0 if not `shared`.
    pub slots: u32,
}

pub fn scan_levels(layout: &Distributed, axis: usize) -> Vec<ScanLevel> {
    let shift = shift_of(&layout.shape, axis);
    let total = index_bits(&layout.shape);
    let (mut shared, mut shuffled) = (false, false);
    (0..layout.shape[axis].ilog2())
        .map(|bit| {
            let basis = 1u32 << (shift + bit);
            let holders = |bases: &[u32]| bases.iter().filter(|&&b| b & basis != 0).count();
            let only = holders(&layout.register) + holders(&layout.lane) + holders(&layout.warp) == 1;
            let at = |bases: &[u32]| bases.iter().position(|&b| b == basis).filter(|_| only).map(|i| i as u32);
            let owner = at(&layout.register)
                .map(Owner::Register)
                .or_else(|| at(&layout.lane).map(Owner::Lane))
                .or_else(|| at(&layout.warp).map(Owner::Warp))
                .unwrap_or(Owner::Nobody);
            shared |= matches!(owner, Owner::Warp(_));
            shuffled |= matches!(owner, Owner::Lane(_));
            ScanLevel { owner, shared, shuffled, slots: if shared { 1 << (total - bit - 1) } else { 0 } }
        })
        .collect()
}
