//! The door to meaning for the editor and the command line: from a place in the text to the kernel, the expression, its type.
//!
//! **Invariant:** plain values in and out: byte offsets, ranges and text; what a name means is asked of [`items`], what a
//! value is of [`elaborate`].

use std::ops::Range;

use smol_str::SmolStr;

use crate::{
    Db, Function, Instance, SourceFile,
    body::{Body, Expr, ExprId, Stmt},
    check::range_of,
    elaborate::elaborate,
    items::{self, Global, Node, function_body, in_file, items as items_of, resolve, source_map},
    problem::{At, Place},
    specialise::specialisations,
    types::Ty,
};

/// The `@triton.jit` function that an offset lies in.
pub fn function_at(db: &dyn Db, file: SourceFile, offset: usize) -> Option<Function> {
    let functions = items_of(db, file).functions.iter().map(|f| f.function);
    functions.filter(|&f| function_range(db, f).is_some_and(|r| r.contains(&offset) || r.end == offset)).last()
}

/// The whole `def`, with its decorators.
pub fn function_range(db: &dyn Db, function: Function) -> Option<Range<usize>> {
    let (_, stmt) = function_body(db, function)?;
    let (start, map) = source_map(db, function)?;
    Some(in_file(start, *map.stmts.get(stmt.0 as usize)?))
}

/// The function's name in its `def`.
pub fn name_range(db: &dyn Db, function: Function) -> Option<Range<usize>> {
    range_of(db, Place { function, at: At::Name }).map(|r| r.1)
}

/// An expression of a kernel or helper.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExprAt {
    pub function: Function,
    pub expr: ExprId,
    pub range: Range<usize>,
}

/// The smallest expression around an offset.
pub fn expr_at(db: &dyn Db, file: SourceFile, offset: usize) -> Option<ExprAt> {
    let function = function_at(db, file, offset)?;
    let (body, stmt) = function_body(db, function)?;
    let (start, map) = source_map(db, function)?;
    let mut best: Option<ExprAt> = None;
    items::walk(&body, &[stmt], &mut |node| {
        if let Node::Expr(expr) = node
            && let Some(&range) = map.exprs.get(expr.0 as usize)
        {
            let range = in_file(start, range);
            let around = range.start <= offset && offset <= range.end;
            if around && best.as_ref().is_none_or(|b| range.len() <= b.range.len()) {
                best = Some(ExprAt { function, expr, range });
            }
        }
    });
    best
}

/// The specialisation that answers for a kernel when nothing else is chosen: the first of its launches, else the first assumed one.
pub fn active_instance(db: &dyn Db, kernel: Function) -> Option<Instance> {
    specialisations(db, kernel).first().map(|s| s.instance)
}

/// The instance that answers for a function: its own if it is a kernel, else that of the first kernel of the file that reaches it.
pub fn instance_for(db: &dyn Db, function: Function) -> Option<Instance> {
    if items::kernels(db, function.file(db)).contains(&function) {
        return active_instance(db, function);
    }
    let kernels = items::kernels(db, function.file(db)).iter();
    kernels.filter_map(|&k| active_instance(db, k)).find(|&i| elaborate(db, i).types.contains_key(&function))
}

/// The type of an expression under an instance.
pub fn type_of(db: &dyn Db, instance: Instance, function: Function, expr: ExprId) -> Option<&Ty> {
    elaborate(db, instance).types.get(&function)?.get(&expr)
}

/// A name with the type that it is bound to.
#[derive(Debug, Clone, PartialEq)]
pub struct Binding {
    pub function: Function,
    pub range: Range<usize>,
    pub name: SmolStr,
    pub ty: Ty,
}

/// Every binding of an instance's functions in the kernel's own file, in the order of the text.
pub fn bindings(db: &dyn Db, instance: Instance) -> Vec<Binding> {
    let file = instance.function(db).file(db);
    let mut out: Vec<Binding> = elaborate(db, instance)
        .bindings
        .iter()
        .filter_map(|(place, name, ty)| {
            let (at, range) = range_of(db, *place)?;
            (at == file).then(|| Binding { function: place.function, range, name: name.clone(), ty: ty.clone() })
        })
        .collect();
    out.sort_by_key(|b| (b.range.start, b.range.end));
    out
}

/// What is known about a place, for a hover.
#[derive(Debug, Clone, PartialEq)]
pub struct Facts {
    pub range: Range<usize>,
    pub function: Function,
    /// The name, where the expression is one: `x`, `tl.load`.
    pub name: Option<String>,
    pub ty: Option<Ty>,
    /// What the name means outside the function.
    pub global: Option<Global>,
    /// The instance that the type belongs to.
    pub instance: Option<Instance>,
    pub is_assumed: bool,
}

/// What is known about an offset, under the active instance or the one given.
pub fn facts_at(db: &dyn Db, file: SourceFile, offset: usize, instance: Option<Instance>) -> Option<Facts> {
    let parameter = parameter_at(db, file, offset);
    let at = expr_at(db, file, offset);
    let function = parameter.as_ref().map(|p| p.function).or(at.as_ref().map(|a| a.function))?;
    let instance = instance.or_else(|| instance_for(db, function));
    let is_assumed =
        instance.is_some_and(|i| specialisations(db, i.function(db)).iter().any(|s| s.instance == i && s.is_assumed()));
    if let Some(parameter) = parameter {
        let ty = instance.and_then(|i| {
            let bindings = &elaborate(db, i).bindings;
            bindings.iter().find(|b| b.0 == (Place { function, at: At::Param(parameter.index) })).map(|b| b.2.clone())
        });
        return Some(Facts {
            range: parameter.range,
            function,
            name: Some(parameter.name.to_string()),
            ty,
            global: None,
            instance,
            is_assumed,
        });
    }
    let at = at?;
    let (body, stmt) = function_body(db, function)?;
    let name = dotted(&body, at.expr);
    let ty = instance.and_then(|i| type_of(db, i, function, at.expr).cloned());
    let global = name.as_deref().filter(|n| !is_local(&body, stmt, n)).and_then(|n| global_named(db, file, n));
    Some(Facts { range: at.range, function, name, ty, global, instance, is_assumed })
}

struct ParameterAt {
    function: Function,
    index: u32,
    name: SmolStr,
    range: Range<usize>,
}

fn parameter_at(db: &dyn Db, file: SourceFile, offset: usize) -> Option<ParameterAt> {
    let function = function_at(db, file, offset)?;
    let params = &items_of(db, file).function(function)?.params;
    params.iter().enumerate().find_map(|(i, p)| {
        let index = i as u32;
        let (_, range) = range_of(db, Place { function, at: At::Param(index) })?;
        (range.start <= offset && offset <= range.end).then(|| ParameterAt { function, index, name: p.name.clone(), range })
    })
}

/// `a.b.c`
fn dotted(body: &Body, id: ExprId) -> Option<String> {
    match body.expr(id) {
        Expr::Name(name) => Some(name.to_string()),
        Expr::Attribute { receiver, name } => Some(format!("{}.{name}", dotted(body, *receiver)?)),
        _ => None,
    }
}

/// Whether the first part of a dotted name is a parameter or is bound in the function.
fn is_local(body: &Body, function: crate::body::StmtId, dotted: &str) -> bool {
    let first = dotted.split('.').next().unwrap_or_default();
    let Stmt::Function(def) = body.stmt(function) else { return false };
    let mut found = def.params.iter().any(|p| p.name == first);
    items::walk(body, &def.body, &mut |node| {
        if let Node::Stmt(id) = node {
            let targets: Vec<ExprId> = match body.stmt(id) {
                Stmt::Assign { targets, .. } => targets.clone(),
                Stmt::AugAssign { target, .. } | Stmt::AnnAssign { target, .. } | Stmt::For { target, .. } => vec![*target],
                _ => vec![],
            };
            for target in targets {
                items::walk_expr(body, target, &mut |node| {
                    if let Node::Expr(e) = node {
                        found |= matches!(body.expr(e), Expr::Name(n) if n == first);
                    }
                });
            }
        }
    });
    found
}

/// What a dotted name means in a file's module scope.
pub fn global_named(db: &dyn Db, file: SourceFile, dotted: &str) -> Option<Global> {
    let mut parts = dotted.split('.');
    let mut found = resolve(db, file, parts.next()?.into())?;
    for part in parts {
        found = match found {
            Global::Module(path) => items::external(&format!("{path}.{part}")),
            Global::Builtin(path) => Global::Builtin(format!("{path}.{part}").into()),
            Global::External(path) => Global::External(format!("{path}.{part}").into()),
            Global::File(other) => items::member_of_file(db, other, part),
            _ => return None,
        };
    }
    Some(found)
}
