//! LNG013: `a and b and c`, which forks of Triton for other hardware do not take.

use crate::{
    Db, Function,
    body::{Body, BoolOp, Expr, ExprId, FunctionDef},
    diagnostics::Code,
    items::{Node, walk},
    places::range_of,
    problem::{Applicability, At, Edit, Fix, Piece, Place, Problem},
};

pub(super) fn lint(db: &dyn Db, out: &mut Vec<Problem>, function: Function, body: &Body, def: &FunctionDef) {
    let place = |e: ExprId| Place { function, at: At::Expr(e) };
    let mut inner = Vec::new();
    walk(body, &def.body, &mut |node| {
        let Node::Expr(id) = node else { return };
        let Expr::Bool2 { op, lhs, rhs } = body.expr(id) else { return };
        if inner.contains(&id) {
            return;
        }
        // Parentheses around the first ones would lie between the two starts.
        let start = |e: ExprId| range_of(db, place(e)).map(|(_, range)| range.start);
        let mut parts = vec![*rhs];
        let mut first = *lhs;
        while let Expr::Bool2 { op: other, lhs, rhs } = body.expr(first)
            && other == op
            && start(first) == start(id)
        {
            inner.push(first);
            parts.push(*rhs);
            first = *lhs;
        }
        if parts.len() < 2 {
            return;
        }
        let is_bracketed = start(first) != start(id);
        parts.push(first);
        parts.reverse();
        let word = if *op == BoolOp::And { "and" } else { "or" };
        // Triton joins them from the last to the first.
        let mut pieces = Vec::new();
        for (index, part) in parts.iter().enumerate() {
            if index > 0 {
                let bracket = if index + 1 < parts.len() { "(" } else { "" };
                pieces.push(Piece::Text(format!(" {word} {bracket}")));
            }
            let of_its_own = index == 0 && is_bracketed;
            pieces.push(Piece::Text(if of_its_own { "(" } else { "" }.to_owned()));
            pieces.push(Piece::Source(place(*part)));
            pieces.push(Piece::Text(if of_its_own { ")" } else { "" }.to_owned()));
        }
        pieces.push(Piece::Text(")".repeat(parts.len() - 2)));
        out.push(Problem {
            code: Code::LNG013,
            message: format!(
                "`a {word} b {word} c` is not taken by every version and fork of Triton: write `a {word} (b {word} c)`"
            ),
            place: place(id),
            related: vec![],
            fixes: vec![Fix {
                title: "Put the last ones in parentheses".to_owned(),
                applicability: Applicability::Safe,
                edits: vec![Edit::Rewrite(place(id), pieces)],
            }],
            calls: vec![],
            level: None,
        });
    });
}
