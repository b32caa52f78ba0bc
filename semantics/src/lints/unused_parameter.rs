//! CXP004: a parameter that no statement reads, and that still decides what is compiled.

use rustc_hash::FxHashSet;

use crate::{
    Db, Function,
    body::{Body, Expr, FunctionDef, ParamKind},
    diagnostics::Code,
    items::{Annotation, Node, is_passed_around, is_quoted, items, walk},
    problem::{At, Place, Problem},
};

pub(super) fn lint(db: &dyn Db, out: &mut Vec<Problem>, function: Function, body: &Body, def: &FunctionDef) {
    let Some(item) = items(db, function.file(db)).function(function) else { return };
    let mut read = FxHashSet::default();
    let mut opaque = false;
    walk(body, &def.body, &mut |node| match node {
        Node::Expr(id) => match body.expr(id) {
            Expr::Name(name) => {
                read.insert(name);
            }
            Expr::Missing => opaque = true,
            _ => {}
        },
        Node::Stmt(_) => {}
    });
    // A body that says nothing is an interface, not a kernel.
    if opaque || read.is_empty() {
        return;
    }
    let file = function.file(db);
    let place = |index: usize| Place { function, at: At::Param(index as u32) };
    let mut unused: Vec<usize> = Vec::new();
    for (index, param) in def.params.iter().enumerate() {
        // Names of launch options reach the compiler whether they are read or not.
        let option = matches!(param.name.as_str(), "num_warps" | "num_stages" | "num_ctas" | "maxnreg");
        let special = option || !matches!(param.kind, ParamKind::PositionalOnly | ParamKind::Normal | ParamKind::KeywordOnly);
        if special || read.contains(&param.name) || param.name.starts_with('_') || is_quoted(db, file, &param.name) {
            continue;
        }
        // A function that is launched in another's place takes what the other one takes.
        if is_passed_around(db, file, &def.name) {
            return;
        }
        unused.push(index);
    }
    let [first, others @ ..] = &unused[..] else { return };
    let is_constexpr = |index: usize| item.params.get(index).is_some_and(|p| p.annotation == Annotation::Constexpr);
    let cost = match (others.is_empty(), unused.iter().any(|&index| is_constexpr(index))) {
        (true, true) => "and every new value of it compiles the kernel again",
        (true, false) => "yet passed at every launch and part of the key of what is compiled",
        (false, true) => "and every new value of a `tl.constexpr` among them compiles the kernel again",
        (false, false) => "yet passed at every launch and part of the key of what is compiled",
    };
    let names: Vec<String> = unused.iter().map(|&index| format!("`{}`", def.params[index].name)).collect();
    let message = match &names[..] {
        [name] => format!("{name} is never read, {cost}: remove it here and from the launches"),
        [names @ .., last] => {
            format!("{} and {last} are never read, {cost}: remove them here and from the launches", names.join(", "))
        }
        [] => return,
    };
    out.push(Problem {
        code: Code::CXP004,
        message,
        place: place(*first),
        related: others.iter().map(|&index| (place(index), "never read either".to_owned())).collect(),
        fixes: vec![],
        calls: vec![],
        level: None,
    });
}
