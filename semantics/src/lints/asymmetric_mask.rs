//! MSK007 asymmetric-mask: what is loaded under a mask is stored at the same indices without one.
//!
//! **Invariant:** only said where an index that bounds a load's mask runs through the store's address and nothing keeps the store from
//! running past that bound.

use tritium_tile::{OpId, OpKind, ValueId, ops::BinaryOp};

use super::{
    kernel::{Kernel, ProblemExt},
    masks::{bounded, conditions, is_constant, is_true, mask_of},
};
use crate::{
    body::Expr,
    diagnostics::Code,
    problem::{Applicability, At, Edit, Place},
};

struct Bounded {
    load: OpId,
    /// The index tile, by number.
    index: u32,
    value: ValueId,
    mask: ValueId,
}

pub(super) fn rule(kernel: &mut Kernel<'_>) {
    let mut loads: Vec<Bounded> = Vec::new();
    for op in kernel.ops() {
        match kernel.function.op(op).kind {
            OpKind::Load(_) => {
                let Some(mask) = mask_of(kernel, op).filter(|&m| !is_true(kernel, m)) else { continue };
                for condition in conditions(kernel, mask) {
                    // Up to a fixed bound is how a tile is padded.
                    if let Some((index, bound)) = bounded(kernel, condition.value)
                        && !is_constant(kernel, bound)
                        && kernel.function.ty(index).shape().len() == 1
                        && !kernel.meanings.along(index, 0).is_empty()
                    {
                        loads.push(Bounded { load: op, index: kernel.numbers.of(index), value: index, mask });
                    }
                }
            }
            OpKind::Store(_) if mask_of(kernel, op).is_none() => check(kernel, op, &loads),
            _ => {}
        }
    }
}

fn check(kernel: &mut Kernel<'_>, store: OpId, loads: &[Bounded]) {
    let pointer = kernel.operands(store)[0];
    let indices = indices_of(kernel, pointer);
    let Some(found) = loads.iter().find(|l| indices.contains(&l.index)) else { return };
    if is_masked_elsewhere(kernel, store) {
        return;
    }
    let message = format!(
        "this store has no mask, and the load at the same {} has one: past the bound it writes what was masked off, outside the tensor",
        kernel.say(found.value, "indices")
    );
    let Some(problem) = kernel.problem(Code::MSK007, store, message) else { return };
    // The mask that was made for it has been found already.
    if kernel.has_pointed_at(Code::MSK008, problem.place) {
        return;
    }
    let mut problem = problem.with(kernel.place(found.load), "loaded under a mask here");
    let same_shape = kernel.function.ty(found.mask).shape() == kernel.function.ty(pointer).shape();
    if let (Some((w, place, call)), Some((v, from, load))) = (kernel.expr(store), kernel.expr(found.load))
        && same_shape
        && place.function == from.function
        && let Some(mask) = v.argument(load, 1, "mask")
        && let Expr::Call { args, .. } = w.body.expr(call)
        && let Some(last) = args.last()
    {
        let text = w.text(mask);
        if !text.contains('…') {
            let at = Place { function: place.function, at: At::Expr(last.value) };
            problem = problem.fix(
                format!("Store under `{text}` too"),
                Applicability::Suggested,
                vec![Edit::InsertAfter(at, format!(", mask={text}"))],
            );
        }
    }
    kernel.report(problem);
}

/// The function stores to the same place under a mask too: a flag decides, and whoever sets it knows.
fn is_masked_elsewhere(kernel: &Kernel<'_>, store: OpId) -> bool {
    let Some((written, _, call)) = kernel.expr(store) else { return false };
    let Some(pointer) = written.argument(call, 0, "pointer").map(|p| written.text(p)) else { return false };
    written.body.exprs.iter().enumerate().any(|(i, expr)| {
        let Expr::Call { callee, .. } = expr else { return false };
        let other = crate::body::ExprId(i as u32);
        other != call
            && matches!(written.body.expr(*callee), Expr::Attribute { name, .. } if name == "store")
            && written.argument(other, 0, "pointer").is_some_and(|p| written.text(p) == pointer)
            && written.argument(other, 2, "mask").is_some()
    })
}

/// The numbers of the index tiles that an address is made of; one that wraps around is another.
pub(super) fn indices_of(kernel: &Kernel<'_>, pointer: ValueId) -> Vec<u32> {
    let mut out = Vec::new();
    let mut pending = vec![pointer];
    let mut steps = 0;
    while let Some(value) = pending.pop() {
        steps += 1;
        if steps > 256 {
            break;
        }
        if kernel.function.ty(value).shape().len() == 1 {
            out.push(kernel.numbers.of(value));
        }
        if let Some((
            op,
            OpKind::AddPtr
            | OpKind::Binary(BinaryOp::AddI | BinaryOp::SubI | BinaryOp::MulI)
            | OpKind::Cast(_)
            | OpKind::ExpandDims { .. }
            | OpKind::Promise { .. }
            | OpKind::Broadcast,
        )) = kernel.def(value)
        {
            pending.extend(kernel.operands(op));
        }
    }
    out
}
