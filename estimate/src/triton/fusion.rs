//! Runs of operations that ptxas may work out one element after another instead of one operation after another: elementwise ones, and
//! reductions that no other warp has a part in, one row after another.
//!
//! **Invariant:** what goes into a run and what comes out of it are never needed together, nor is what is only between: of that a few elements.

use tritium_tile::{Function, OpId, OpKind};

use super::{layout_replicas::Copy, layouts::Layouts, scratch::reduction_bytes};
use crate::registers::{Order, Span, is_name};

/// Of every place the first and the last of the operations of its run; itself where none is.
pub(super) struct Runs(Vec<(usize, usize)>);

impl Runs {
    pub(super) fn new(function: &Function, layouts: &mut Layouts<'_>, order: &Order) -> Runs {
        let mut goes_on = |at: usize| {
            let id = order.ops[at];
            let kind = &function.op(id).kind;
            is_within_warps(function, layouts, id)
                || kind.is_elementwise()
                || is_name(kind)
                || matches!(kind, OpKind::Constant(_) | OpKind::Iota { .. } | OpKind::AddPtr)
        };
        let mut runs: Vec<(usize, usize)> = (0..order.ops.len() + 2).map(|at| (at, at)).collect();
        let mut first = 0;
        while first < order.ops.len() {
            let length = (first..order.ops.len()).take_while(|&at| goes_on(at)).count();
            runs[first..first + length].fill((first, (first + length).saturating_sub(1)));
            first += length + 1;
        }
        Runs(runs)
    }

    /// When a tile is alive if its runs go element by element; `None` if it is only between.
    pub(super) fn by_element(&self, function: &Function, order: &Order, copy: &Copy, span: &Span) -> Option<Span> {
        let &Span { value, mut from, mut to } = span;
        if let Some(def) = function.def_op(value).filter(|_| !copy.made.is_fetched()) {
            let made = order.start[def.index()];
            let (_, last) = self.0[made];
            if to <= last && made < last {
                return None;
            }
            if (from..to).contains(&last) {
                from = last + 1;
            }
        }
        let (first, _) = self.0[to];
        if from <= first {
            to = first;
        }
        Some(Span { value, from, to })
    }
}

/// Whether an op is a reduction that needs no other warp.
fn is_within_warps(function: &Function, layouts: &mut Layouts<'_>, id: OpId) -> bool {
    let op = function.op(id);
    let OpKind::Reduce { axis } = op.kind else { return false };
    let source = op.operands[0];
    let enc = layouts.homes[source.index()].or_else(|| layouts.wanted(id, 0));
    let layout = enc.and_then(|enc| layouts.encodings.map(enc, function.ty(source).shape()));
    layout.is_some_and(|layout| reduction_bytes(&layout, usize::from(axis), &[32]) == 0)
}
