//! Operands of dots that other threads hold go through a swizzled buffer in shared memory.
//!
//! A buffer can be read by `ldmatrix`, filled early and kept over several trips; a conversion's scratch cannot.
//!
//! **Invariant:** only conversions into operand fragments change; those that merely rename registers stay.

use tritium_tile::{
    BlockId, Function, Module, OpId, OpKind, Type, ValueId,
    layout::{Conversion, Distributed, Layout, convert::conversion, shared::swizzled},
    rewrite,
};

use super::{CompileOptions, Fact, Pass, Unsupported};

pub static PASS: Pass = Pass {
    name: "stage_operands",
    summary: "Send operands of dots through swizzled buffers in shared memory.",
    needs: &[Fact::HasLayouts, Fact::DotsPicked],
    gives: &[Fact::OperandsStaged],
    run,
};

/// The value is the result of a conversion that moves data between threads.
pub(super) fn is_costly_conversion(module: &Module, function: &Function, value: ValueId) -> bool {
    let Some(op) = function.def_op(value).map(|op| function.op(op)) else { return false };
    if !matches!(op.kind, OpKind::ConvertLayout) {
        return false;
    }
    let layout = |v: ValueId| function.ty(v).layout().and_then(|l| module.layouts.distributed(l));
    match (layout(op.operands[0]), layout(value)) {
        (Some(from), Some(to)) => !matches!(conversion(from, to), Conversion::Rename(_)),
        _ => false,
    }
}

fn run(module: &mut Module, _options: &CompileOptions) -> Result<(), Unsupported> {
    let function = &module.functions[0];
    let parents = rewrite::parent_blocks(function);
    let users = rewrite::users(function);
    // Each dot with the conversions it is the first to need.
    let mut staged: Vec<(OpId, Vec<OpId>)> = Vec::new();
    let mut seen = vec![false; function.ops.len()];
    function.walk(|_, id| {
        let op = function.op(id);
        if !matches!(op.kind, OpKind::Dot { .. }) {
            return;
        }
        let mut converts = Vec::new();
        for &operand in &op.operands[..2] {
            if is_costly_conversion(module, function, operand)
                && let Some(convert) = function.def_op(operand)
                && !std::mem::replace(&mut seen[convert.index()], true)
            {
                converts.push(convert);
            }
        }
        staged.push((id, converts));
    });
    for (dot, converts) in staged {
        let mut fills = Vec::new();
        let mut reads = Vec::new();
        for convert in converts {
            let function = &mut module.functions[0];
            let op = function.op(convert).clone();
            let source = function.ty(op.operands[0]).clone();
            let Some(elem) = source.elem().scalar() else { continue };
            let order = source.layout().and_then(|l| module.layouts.distributed(l)).map_or_else(Vec::new, fastest_first);
            let layout = module.layouts.intern(Layout::Shared(swizzled(source.shape(), elem.bits(), &order)));
            let ty = Type::Shared { elem, shape: source.shape().clone(), layout };
            let alloc = function.create_op(OpKind::LocalAlloc, &op.operands, [ty], &[], op.origin);
            let buffer = function.op(alloc).results[0];
            let first_user = users[op.results[0].index()].first();
            let load = function.op_mut(convert);
            load.kind = OpKind::LocalLoad;
            load.operands = [buffer].into_iter().collect();
            if parents[convert.index()] == parents[dot.index()] && first_user == Some(&dot) {
                fills.push(alloc);
                reads.push(convert);
            } else {
                rewrite::insert_before(function, convert, alloc);
            }
        }
        let function = &mut module.functions[0];
        let Some(block) = parents[dot.index()] else { continue };
        together(function, block, dot, &fills, &reads);
    }
    rewrite::compact(&mut module.functions[0]);
    Ok(())
}

/// All buffers of a dot are filled, then all are read, right in front of it: one pair of barriers serves them all, and every global load
/// of the dot is under way before the first wait.
fn together(function: &mut Function, block: BlockId, dot: OpId, fills: &[OpId], reads: &[OpId]) {
    let mut list = std::mem::take(&mut function.block_mut(block).ops);
    list.retain(|op| !reads.contains(op));
    let at = list.iter().position(|op| *op == dot).unwrap_or(list.len());
    list.splice(at..at, fills.iter().chain(reads).copied());
    function.block_mut(block).ops = list;
}

/// Dimensions from the one along which neighbouring registers and lanes lie.
fn fastest_first(layout: &Distributed) -> Vec<u8> {
    let rank = layout.shape.len();
    let first = layout.register.iter().chain(&layout.lane).find(|&&basis| basis != 0);
    let fastest = first.and_then(|&basis| (0..rank).find(|&d| layout.axis_mask(d) & basis != 0)).unwrap_or(rank - 1);
    let mut order: Vec<u8> = (0..rank as u8).rev().filter(|&d| d as usize != fastest).collect();
    order.insert(0, fastest as u8);
    order
}
