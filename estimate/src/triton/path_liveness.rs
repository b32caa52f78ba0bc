//! Lives of values where the program takes one of two ways.
//!
//! **Invariant:** what only the other way reads is not alive on this one, and the results of both are alive after them.

use tritium_tile::{Function, OpId, OpKind, ValueId};

use crate::registers::{Order, Span, is_name};

/// The place of an `if`, of the end of its first way and of the end of its second.
struct Branch {
    start: usize,
    middle: usize,
    end: usize,
}

pub(super) struct Branches(Vec<Branch>);

impl Branches {
    pub(super) fn new(function: &Function, order: &Order) -> Branches {
        let ifs = order.ops.iter().filter(|&&id| matches!(function.op(id).kind, OpKind::If));
        let branches = ifs.filter_map(|&id| {
            let [first, _] = function.op(id).regions[..] else { return None };
            let middle = order.start[function.block(first).ops.last()?.index()];
            Some(Branch { start: order.start[id.index()], middle, end: order.end[id.index()] })
        });
        Branches(branches.collect())
    }

    /// The parts of a life through which a value is needed; `uses` are all that read it, by other names too.
    pub(super) fn parts(&self, function: &Function, order: &Order, uses: &[OpId], span: &Span) -> Vec<(usize, usize)> {
        let mut from = span.from;
        if let Some(made) = branch_of(function, span.value) {
            from = from.max(order.end[made.index()] + 1);
        }
        let mut parts = Vec::with_capacity(1);
        for &Branch { start, middle, end } in &self.0 {
            if from <= start && middle < span.to && span.to <= end {
                let read = uses.iter().filter(|user| !is_name(&function.op(**user).kind)).map(|user| order.start[user.index()]);
                let last = read.filter(|at| (start..=middle).contains(at)).max().unwrap_or(start);
                parts.push((from, last));
                from = middle + 1;
            }
        }
        if from <= span.to {
            parts.push((from, span.to));
        }
        parts
    }
}

/// The `if` whose result a value is.
fn branch_of(function: &Function, value: ValueId) -> Option<OpId> {
    function.def_op(value).filter(|&def| matches!(function.op(def).kind, OpKind::If))
}
