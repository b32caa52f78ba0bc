//! Dots whose operands lie in shared memory as the warpgroup's tensor core reads them become `wgmma`, each waited for at once.
//!
//! **Invariant:** an operand is read from a buffer only if its layout matches a canonical layout and nothing writes the buffer in between; a
//! dot that does not qualify stays, and `mma.sync` does it from registers.

use tritium_semantics::target::Feature;
use tritium_tile::{
    Function, Level, Module, OpId, OpKind, Scalar, ValueId,
    layout::{LayoutTable, SharedLayout, Side, mma, wgmma},
    ops::DotPrecision,
    rewrite, scratch,
};

use super::{CompileOptions, Fact, Pass, Unsupported};
use crate::ptx_strings::wgmma::Wgmma;

pub static PASS: Pass = Pass {
    name: "use_wgmma",
    summary: "Let warpgroups multiply what lies in shared memory.",
    needs: &[Fact::HasLayouts, Fact::DotsPicked, Fact::OperandsStaged],
    gives: &[],
    run,
};

/// How many warpgroups lie below each other and side by side, if `wgmma` can do this dot.
pub(super) fn grouping(function: &Function, dot: OpId, options: &CompileOptions) -> Option<(u32, u32)> {
    let op = function.op(dot);
    let OpKind::Dot { precision, .. } = op.kind else { return None };
    if !options.sm.has(Feature::Wgmma) {
        return None;
    }
    let ty = |n: usize| function.ty(op.operands[n]);
    let of = |n: usize| ty(n).elem().scalar();
    let (left, right, acc) = (of(0)?, of(1)?, of(2)?);
    Wgmma::of(left, right, acc)?;
    if left == Scalar::F32 && precision != DotPrecision::Tf32 {
        return None;
    }
    let (&[m, k], &[_, n]) = (&ty(0).shape()[..], &ty(1).shape()[..]) else { return None };
    if k < wgmma::k_of(left.bits()) {
        return None;
    }
    wgmma::grouping(m, n, options.launch.num_warps)
}

/// Whether an operand of a dot that `wgmma` does goes through shared memory, in whatever layout it comes: all but a left operand that is
/// computed from the result of a dot, whose registers are already right, and one of 32 bits whose columns lie in a thread or in neighbouring ones:
/// the tensor core reads rows of it, and to write such a buffer all lanes of a warp would go to the same bank.
pub(super) fn is_free(function: &Function, layouts: &LayoutTable, dot: OpId, place: usize) -> bool {
    if place == 1 {
        return true;
    }
    let operand = function.op(dot).operands[place];
    let is_wide = function.ty(operand).elem().bits() == 32;
    let mut seen = vec![false; function.values.len()];
    // With the dimension of the value that is the operand's first.
    let mut pending = vec![(operand, 0)];
    while let Some((value, rows)) = pending.pop() {
        if std::mem::replace(&mut seen[value.index()], true) {
            continue;
        }
        let Some(op) = function.def_op(value).map(|op| function.op(op)) else { continue };
        match op.kind {
            OpKind::Dot { .. } | OpKind::Wgmma { .. } | OpKind::WgmmaWait { .. } => return false,
            OpKind::Load(_) if is_wide => {
                let layout = function.ty(value).layout().and_then(|l| layouts.distributed(l));
                if layout.is_some_and(|layout| layout.shape.len() == 2 && layout.fastest_first()[0] == rows) {
                    return false;
                }
            }
            OpKind::Transpose { .. } => pending.push((op.operands[0], 1 - rows)),
            OpKind::ConvertLayout => pending.push((op.operands[0], rows)),
            ref kind if kind.is_elementwise() => pending.extend(op.operands.iter().map(|&v| (v, rows))),
            _ => {}
        }
    }
    true
}

/// Whether warpgroups can read an operand of this dot from such a buffer.
pub(super) fn can_read(
    function: &Function,
    layouts: &LayoutTable,
    dot: OpId,
    side: Side,
    buffer: &SharedLayout,
    bits: u32,
) -> bool {
    let accumulator = function.ty(function.op(dot).results[0]).layout().and_then(|l| layouts.distributed(l));
    let extent = accumulator.and_then(wgmma::tiles).map(|tiles| if side == Side::A { wgmma::M } else { tiles.n });
    extent.is_some_and(|extent| wgmma::Matrix::of(buffer, side, bits, extent).is_some())
}

fn run(module: &mut Module, options: &CompileOptions) -> Result<(), Unsupported> {
    let mut plans = Vec::new();
    let function = module.entry();
    function.walk(|_, dot| {
        if let Some(operands) = operands(module, function, dot, options) {
            plans.push((dot, operands));
        }
    });
    if plans.is_empty() {
        return Ok(());
    }
    module.level = Level::L2;
    let function = &mut module.functions[0];
    for (dot, Operands { values, turned }) in plans {
        let op = function.op(dot).clone();
        let ty = function.ty(op.results[0]).clone();
        let sum_depth = if let OpKind::Dot { sum_depth, .. } = op.kind { sum_depth } else { None };
        let multiply = function.create_op(OpKind::Wgmma { turned, sum_depth }, &values, [ty], &[], op.origin);
        rewrite::insert_before(function, dot, multiply);
        let unfinished = function.op(multiply).results[0];
        let wait = function.op_mut(dot);
        wait.kind = OpKind::WgmmaWait { pending: 0 };
        wait.operands = [unfinished].into_iter().collect();
    }
    rewrite::erase_dead(function);
    drop_waits_in_sums(function);
    rewrite::compact(function);
    Ok(())
}

/// A multiplication that only the next one of its block adds to, with arithmetic alone in between, is not waited for: they are done in order.
fn drop_waits_in_sums(function: &mut Function) {
    let users = rewrite::users(function);
    let mut waits = Vec::new();
    function.walk(|_, id| {
        let op = function.op(id);
        if op.kind != (OpKind::WgmmaWait { pending: 0 }) {
            return;
        }
        let &[user] = &users[op.results[0].index()][..] else { return };
        let next = function.op(user);
        let adds = matches!(next.kind, OpKind::Wgmma { .. })
            && next.operands[2] == op.results[0]
            && !next.operands[..2].contains(&op.results[0]);
        let is_arithmetic = |&op: &OpId| {
            let kind = &function.op(op).kind;
            kind.is_pure() && !matches!(kind, OpKind::ConvertLayout)
        };
        if adds && between(function, id, user).is_some_and(|ops| ops.iter().skip(1).all(is_arithmetic)) {
            waits.push(id);
        }
    });
    for id in waits {
        let (unfinished, finished) = (function.op(id).operands[0], function.op(id).results[0]);
        rewrite::replace_all_uses(function, finished, unfinished);
        rewrite::detach(function, id);
    }
}

struct Operands {
    values: [ValueId; 3],
    turned: [bool; 2],
}

/// The operands of the `wgmma` that does this dot.
fn operands(module: &Module, function: &Function, dot: OpId, options: &CompileOptions) -> Option<Operands> {
    grouping(function, dot, options)?;
    let op = function.op(dot);
    let distributed = |v: ValueId| function.ty(v).layout().and_then(|l| module.layouts.distributed(l));
    let accumulator = distributed(op.results[0])?;
    let tiles = wgmma::tiles(accumulator)?;
    let buffer = |place: usize, side: Side, extent: u32| {
        let (buffer, turned) = buffer_behind(function, dot, op.operands[place])?;
        let ty = function.ty(buffer);
        let layout = module.layouts.shared(ty.layout()?)?;
        let read = wgmma::as_matrix(layout, turned);
        wgmma::Matrix::of(&read, side, ty.elem().bits(), extent).map(|_| (buffer, turned))
    };
    let (right, turned_right) = buffer(1, Side::B, tiles.n)?;
    let (left, turned_left) = match buffer(0, Side::A, wgmma::M) {
        Some(left) => left,
        None => {
            let left = op.operands[0];
            let ty = function.ty(left);
            let wanted = mma::dot_operand(Side::A, accumulator, ty.shape(), ty.elem().bits());
            let mine = distributed(left)?;
            if (&mine.lane, &mine.warp) != (&wanted.lane, &wanted.warp) {
                return None;
            }
            (left, false)
        }
    };
    Some(Operands { values: [left, right, op.operands[2]], turned: [turned_left, turned_right] })
}

/// The buffer that a dot's operand is read from, and whether it is transposed on the way, if the buffer still holds the same at the dot.
fn buffer_behind(function: &Function, dot: OpId, value: ValueId) -> Option<(ValueId, bool)> {
    let mut value = value;
    let mut turned = false;
    let load = loop {
        let def = function.def_op(value)?;
        let op = function.op(def);
        match &op.kind {
            OpKind::LocalLoad => break def,
            OpKind::Transpose { order } if order[..] == [1, 0] => {
                turned = !turned;
                value = op.operands[0];
            }
            OpKind::Reshape { reorder: false }
                if *function.ty(value).shape() == wgmma::matrix_shape(function.ty(op.operands[0]).shape(), false) =>
            {
                value = op.operands[0];
            }
            _ => return None,
        }
    };
    let buffer = function.op(load).operands[0];
    let filled_once = |v: ValueId| {
        let alloc = function.def_op(v).map(|op| function.op(op));
        let filled = alloc.is_some_and(|op| matches!(op.kind, OpKind::LocalAlloc) && !op.operands.is_empty());
        let mut stores = false;
        function.walk(|_, id| {
            let op = function.op(id);
            stores |= scratch::written_buffer(op) == Some(v) || matches!(op.kind, OpKind::LocalIndex) && op.operands.contains(&v);
        });
        filled && !stores
    };
    (filled_once(buffer) || nothing_is_written_between(function, load, dot)).then_some((buffer, turned))
}

fn nothing_is_written_between(function: &Function, from: OpId, to: OpId) -> bool {
    between(function, from, to).is_some_and(|ops| {
        ops.iter().all(|&op| {
            let op = function.op(op);
            let waits = matches!(op.kind, OpKind::AsyncWait { .. } | OpKind::MbarrierWait);
            let writes = waits || scratch::written_buffer(op).is_some();
            !writes && op.regions.is_empty() && !matches!(op.kind, OpKind::Call { .. })
        })
    })
}

/// The operations from one of a block, itself among them, to a later one; `None` if they are in two blocks.
fn between(function: &Function, from: OpId, to: OpId) -> Option<&[OpId]> {
    let ((block, first), (end, last)) = (rewrite::position(function, from)?, rewrite::position(function, to)?);
    function.block(block).ops.get(first..last).filter(|_| block == end)
}
