//! DOT007: `allow_tf32=` of a product, which is called `input_precision=` now.

use crate::{
    Db, Function,
    body::{ArgKind, Body, Expr, FunctionDef},
    diagnostics::Code,
    items::{self, Node, walk},
    problem::{Applicability, At, Edit, Fix, Place, Problem},
};

pub(super) fn lint(db: &dyn Db, out: &mut Vec<Problem>, function: Function, body: &Body, def: &FunctionDef) {
    walk(body, &def.body, &mut |node| {
        let Node::Expr(id) = node else { return };
        let Expr::Call { callee, args } = body.expr(id) else { return };
        let keyword = |wanted: &str| args.iter().find(|arg| matches!(&arg.kind, ArgKind::Keyword(name) if name == wanted));
        let Some(argument) = keyword("allow_tf32") else { return };
        // With both of them the call is an error, which is told where it is evaluated.
        if keyword("input_precision").is_some()
            || items::path(db, function.file(db), body, *callee).is_none_or(|path| path != "triton.language.dot")
        {
            return;
        }
        let place = Place { function, at: At::Argument(argument.value) };
        let fix = |word: &str, applicability| Fix {
            title: format!("Say `input_precision=\"{word}\"`"),
            applicability,
            edits: vec![Edit::Replace(place, format!("input_precision=\"{word}\""))],
        };
        // Every device computes "ieee"; "tf32" is refused where there is none, and `allow_tf32=True` only asks for it.
        let (word, fixes) = match body.expr(argument.value) {
            Expr::Bool(false) => ("`input_precision=\"ieee\"`", vec![fix("ieee", Applicability::Safe)]),
            Expr::Bool(true) => ("`input_precision=\"tf32\"`", vec![fix("tf32", Applicability::Suggested)]),
            Expr::None => return,
            _ => ("`input_precision=`", vec![]),
        };
        out.push(Problem {
            code: Code::DOT007,
            message: format!("`allow_tf32` is the old way to say this: write {word}"),
            place,
            related: vec![],
            fixes,
            calls: vec![],
            level: None,
        });
    });
}
