//! NUM002 repeated-random-numbers: programs, trips or calls that should draw different numbers draw the same ones.
//!
//! The numbers follow from seed and offset alone: where neither differs, they are the same. **Invariant:** only said where seed and offsets
//! are the same for every program of a kernel that tells programs apart where it stores, for every trip of a loop, or for two calls one of
//! which always runs before the other.

use tritium_tile::{BlockId, OpId, OpKind, ValueId, ops::BinaryOp};

use super::{
    dependence::dependence,
    invariant_load::varying,
    kernel::{Kernel, ProblemExt},
};
use crate::{body::Expr, diagnostics::Code, problem::Place};

/// What draws numbers, in `tl` and `tl.random`.
const DRAWS: &[&str] = &["rand", "randn", "randint", "rand4x", "randn4x", "randint4x"];

struct Draw {
    place: Place,
    first: OpId,
    block: BlockId,
    /// What the call is given.
    inputs: Vec<ValueId>,
}

pub(super) fn rule(kernel: &mut Kernel<'_>) {
    // All that draws multiplies words to twice their width.
    let is_wide = |op: &OpId| matches!(kernel.function.op(*op).kind, OpKind::Binary(BinaryOp::MulHiU));
    if !kernel.ops().iter().any(is_wide) {
        return;
    }
    let draws = draws(kernel);
    if draws.is_empty() || !kernel.complete {
        return;
    }
    let programs = dependence(kernel);
    let is_told_apart =
        |op: &OpId| matches!(kernel.function.op(*op).kind, OpKind::Store(_)) && programs.of(kernel.operands(*op)[0]) != 0;
    let has_programs = kernel.ops().iter().any(is_told_apart);
    for (index, draw) in draws.iter().enumerate() {
        let told = if has_programs && draw.inputs.iter().all(|&v| programs.of(v) == 0) {
            Some((
                "every program draws the same numbers here: neither the seed nor the offset depends on `tl.program_id`"
                    .to_owned(),
                None,
            ))
        } else if let Some(around) = same_in_every_trip(kernel, draw) {
            let message = "every trip of this loop draws the same numbers: neither the seed nor the offset changes with the trip";
            Some((message.to_owned(), kernel.place(around).map(|place| (place, "of this loop"))))
        } else {
            draws[..index].iter().find(|before| is_same(kernel, before, draw)).map(|before| {
                let message = "these are the same numbers as drawn before: the seed and the offset are the same. Use another seed, or other offsets";
                (message.to_owned(), Some((before.place, "drawn here already")))
            })
        };
        let Some((message, related)) = told else { continue };
        let Some(mut problem) = kernel.problem(Code::NUM002, draw.first, message) else { continue };
        if let Some((place, words)) = related {
            problem = problem.with(Some(place), words);
        }
        kernel.report(problem);
    }
}

fn draws(kernel: &Kernel<'_>) -> Vec<Draw> {
    let mut out: Vec<Draw> = Vec::new();
    let mut blocks = vec![None; kernel.function.ops.len()];
    kernel.function.walk(|block, op| blocks[op.index()] = Some(block));
    for op in kernel.ops() {
        let Some((written, place, expr)) = kernel.expr(op) else { continue };
        let Expr::Call { callee, .. } = written.body.expr(expr) else { continue };
        let name = match written.body.expr(*callee) {
            Expr::Attribute { name, .. } | Expr::Name(name) => name,
            _ => continue,
        };
        if !DRAWS.contains(&name.as_str()) {
            continue;
        }
        let Some(block) = blocks[op.index()] else { continue };
        // A helper that is called twice draws twice.
        let known = out.iter().position(|d| d.place == place && d.block == block);
        let index = known.unwrap_or_else(|| {
            out.push(Draw { place, first: op, block, inputs: Vec::new() });
            out.len() - 1
        });
        let is_own = |v: ValueId| kernel.def(v).is_some_and(|(made, _)| kernel.place(made) == Some(place));
        let inputs: Vec<ValueId> = kernel.operands(op).iter().copied().filter(|&v| !is_own(v)).collect();
        out[index].inputs.extend(inputs);
    }
    for draw in &mut out {
        draw.inputs.sort_by_key(|v| v.index());
        draw.inputs.dedup();
    }
    out.retain(|draw| !draw.inputs.is_empty());
    out
}

/// The innermost loop around a draw, if no trip changes what it is given.
fn same_in_every_trip(kernel: &Kernel<'_>, draw: &Draw) -> Option<OpId> {
    let owner = kernel.owners[draw.block.index()]?;
    kernel.function.for_loop(owner)?;
    let varies = varying(kernel, owner);
    draw.inputs.iter().all(|v| !varies[v.index()]).then_some(owner)
}

fn is_same(kernel: &Kernel<'_>, before: &Draw, draw: &Draw) -> bool {
    let numbers = |d: &Draw| {
        let mut all: Vec<u32> = d.inputs.iter().map(|&v| kernel.numbers.of(v)).collect();
        all.sort_unstable();
        all.dedup();
        all
    };
    before.place != draw.place && before.block == draw.block && numbers(before) == numbers(draw)
}
