//! DBG002: a print that every run makes.

use crate::{
    Db, Function,
    body::{Body, Expr, FunctionDef, Stmt, StmtId},
    diagnostics::Code,
    elaborate::removal_of,
    items,
    problem::{Applicability, At, Fix, Place, Problem},
};

pub(super) fn lint(db: &dyn Db, out: &mut Vec<Problem>, function: Function, body: &Body, def: &FunctionDef) {
    let prints = |stmt: StmtId| {
        let Stmt::Expr(call) = body.stmt(stmt) else { return None };
        let Expr::Call { callee, .. } = body.expr(*call) else { return None };
        let is_print = match body.expr(*callee) {
            Expr::Name(name) if name == "print" => true,
            _ => items::path(db, function.file(db), body, *callee).is_some_and(|p| p == "triton.language.device_print"),
        };
        is_print.then_some(*callee)
    };
    // What is inside an `if` is meant.
    let mut blocks: Vec<&[StmtId]> = vec![&def.body];
    while let Some(block) = blocks.pop() {
        for &stmt in block {
            match body.stmt(stmt) {
                Stmt::For { body, .. } | Stmt::While { body, .. } | Stmt::With { body, .. } => blocks.push(body),
                _ => {}
            }
            if prints(stmt).is_none() {
                continue;
            }
            let place = Place { function, at: At::Stmt(stmt) };
            let edit = removal_of(body, stmt, place);
            out.push(Problem {
                code: Code::DBG002,
                message: "every program prints here, at every run: remove it when done, or put it under a `tl.constexpr` flag"
                    .to_owned(),
                place,
                related: vec![],
                fixes: edit
                    .map(|e| Fix {
                        title: "Remove the print".to_owned(),
                        applicability: Applicability::Suggested,
                        edits: vec![e],
                    })
                    .into_iter()
                    .collect(),
                calls: vec![],
                level: None,
            });
        }
    }
}
