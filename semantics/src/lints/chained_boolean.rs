//! LNG013: `a and b and c`, which forks of Triton for other hardware do not take.

use crate::{
    Db, Function,
    body::{Body, BoolOp, Expr, ExprId, FunctionDef},
    check::range_of,
    diagnostics::Code,
    items::{Node, walk},
    problem::{At, Edit, Fix, Piece, Place, Problem},
};

pub(super) fn lint(db: &dyn Db, out: &mut Vec<Problem>, function: Function, body: &Body, def: &FunctionDef) {
    let place = |e: ExprId| Place { function, at: At::Expr(e) };
    let mut inner = Vec::new();
    walk(body, &def.body, &mut |node| {
        let Node::Expr(id) = node else { return };
        let Expr::Bool2 { op, lhs, rhs } = body.expr(id) else { return };
        let chained = matches!(body.expr(*lhs), Expr::Bool2 { op: other, .. } if other == op);
        // Parentheses around the first two would lie between the two starts.
        let starts = |e: ExprId| range_of(db, place(e)).map(|(_, range)| range.start);
        if !chained || inner.contains(&id) || starts(id) != starts(*lhs) {
            return;
        }
        inner.push(*lhs);
        let word = if *op == BoolOp::And { "and" } else { "or" };
        let pieces = vec![
            Piece::Text("(".to_owned()),
            Piece::Source(place(*lhs)),
            Piece::Text(format!(") {word} ")),
            Piece::Source(place(*rhs)),
        ];
        out.push(Problem {
            code: Code::LNG013,
            message: format!(
                "`a {word} b {word} c` is not taken by every version and fork of Triton: write `(a {word} b) {word} c`"
            ),
            place: place(id),
            related: vec![],
            fixes: vec![Fix {
                title: "Put the first two in parentheses".to_owned(),
                safe: true,
                edits: vec![Edit::Rewrite(place(id), pieces)],
            }],
            calls: vec![],
            level: None,
        });
    });
}
