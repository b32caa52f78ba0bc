//! `x[:, None]`: the only way a tile is indexed.
//!
//! **Invariant:** an index never selects elements; anything but `None` and `:` gets the rewrite that does what it looks like.

use super::{
    evaluator::{Eval, Evaluator},
    value::Tile,
};
use crate::{
    body::{Expr, ExprId},
    diagnostics::Code,
};

enum AxisIndex {
    /// `None`: a new axis.
    New,
    /// `:`
    Keep,
}

impl<'a> Evaluator<'a> {
    pub(super) fn index_tile(&mut self, expr: ExprId, receiver: ExprId, tile: Tile, index: ExprId) -> Eval<Tile> {
        let body = self.body;
        let items: Vec<ExprId> = match body.expr(index) {
            Expr::Tuple(items) => items.clone(),
            _ => vec![index],
        };
        let mut steps = Vec::new();
        for item in items {
            match body.expr(item) {
                Expr::None => steps.push(AxisIndex::New),
                // `:`, and `None:` is the same.
                Expr::Slice { lower, upper, step }
                    if [*lower, *upper, *step].into_iter().flatten().all(|part| self.eval(part).is_none()) =>
                {
                    steps.push(AxisIndex::Keep);
                }
                Expr::Slice { .. } | Expr::Ellipsis => return Err(self.unsupported_index(expr, receiver, &tile, item)),
                _ => {
                    let value = self.eval(item);
                    if value.is_none() {
                        steps.push(AxisIndex::New);
                    } else {
                        return Err(self.unsupported_index(expr, receiver, &tile, item));
                    }
                }
            }
        }
        let kept = steps.iter().filter(|s| matches!(s, AxisIndex::Keep)).count();
        if kept > tile.ty.rank() && !self.rules.surplus_slices {
            let place = self.place(expr);
            let message = format!("too many indices: `{}` is {}, with {} axes", self.text(receiver), tile.ty, tile.ty.rank());
            return Err(self.problem(Code::LNG016, place, message));
        }
        let mut result = tile;
        let mut axis = 0;
        for step in steps {
            match step {
                AxisIndex::New => {
                    if result.ty.rank() >= 8 {
                        let place = self.place(expr);
                        return Err(self.problem(Code::LNG016, place, "a tile has at most 8 axes"));
                    }
                    let at = axis.min(result.ty.rank());
                    result = self.insert_axis(result, at);
                    axis += 1;
                }
                AxisIndex::Keep => axis += 1,
            }
        }
        Ok(result)
    }

    fn unsupported_index(&mut self, expr: ExprId, receiver: ExprId, tile: &Tile, index: ExprId) -> super::evaluator::Poisoned {
        let text = self.text(receiver);
        let at = self.text(index);
        let remedy = match self.body.expr(index) {
            Expr::Slice { .. } | Expr::Ellipsis => {
                "tiles are not sliced; load the part that is needed, or select with `tl.where`".to_owned()
            }
            _ => format!(
                "tiles have no elements to pick; sum the one that is wanted, `tl.sum(tl.where(tl.arange(0, {}) == {at}, {text}, 0), 0)`, or use `tl.gather`",
                tile.ty.shape.first().map_or(1, |d| d.size)
            ),
        };
        let place = self.place(expr);
        let message = format!("`{text}[…]` takes `None` and `:` only, not `{at}` (`{text}` is {}): {remedy}", tile.ty);
        self.problem(Code::LNG016, place, message)
    }
}
