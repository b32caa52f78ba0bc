//! Classes whose objects kernels hold: named tuples and aggregates.
//!
//! **Invariant:** only classes whose fields are all known are described here; every other class stays opaque.

use smol_str::SmolStr;

use super::{chunk_body, declare::declared, items, names::path};
use crate::{
    Db, Function, SourceFile,
    body::{Arg, ArgKind, Body, Expr, ExprId, Stmt, StmtId},
};

/// A class of a file with its fields, in order.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RecordClass {
    pub file: SourceFile,
    pub name: SmolStr,
    pub kind: RecordKind,
    pub fields: Vec<RecordField>,
    /// The chunk that defaults and the constructor are expressions of.
    pub chunk: usize,
    /// `@triton.jit` functions of the class.
    pub methods: Vec<Function>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RecordKind {
    /// `typing.NamedTuple`, `collections.namedtuple`: a tuple whose items have names.
    NamedTuple,
    /// `@triton.language.core._aggregate`, with the `__init__` that fills it.
    Aggregate { init: Option<StmtId> },
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RecordField {
    pub name: SmolStr,
    pub default: Option<ExprId>,
}

impl RecordClass {
    pub fn field(&self, name: &str) -> Option<usize> {
        self.fields.iter().position(|f| f.name == name)
    }
}

/// What a class statement of a file describes.
pub(crate) fn of_class(db: &dyn Db, file: SourceFile, chunk: usize, stmt: StmtId) -> Option<RecordClass> {
    let body = chunk_body(db, file, chunk)?;
    let Stmt::Class { name, decorators, bases, body: members } = body.stmt(stmt) else { return None };
    let path = |e: ExprId| path(db, file, &body, e).unwrap_or_default();
    let is_named = bases.iter().any(|b| matches!(path(b.value).as_str(), "typing.NamedTuple" | "typing_extensions.NamedTuple"));
    let is_aggregate = decorators.iter().any(|&d| path(d).ends_with("._aggregate"));
    let kind = match (is_named, is_aggregate) {
        (true, _) => RecordKind::NamedTuple,
        (_, true) => RecordKind::Aggregate {
            init: members.iter().copied().find(|&m| matches!(body.stmt(m), Stmt::Function(def) if def.name == "__init__")),
        },
        _ => return None,
    };
    let mut fields = Vec::new();
    for &member in members {
        if let Stmt::AnnAssign { target, value, .. } = body.stmt(member)
            && let Expr::Name(name) = body.expr(*target)
        {
            fields.push(RecordField { name: name.clone(), default: *value });
        }
    }
    let definitions = declared(db, file).definitions.iter().zip(&items(db, file).of_definition);
    let own = definitions.filter(|(d, _)| d.chunk == chunk && d.class == Some(stmt));
    let methods = own.filter_map(|(_, function)| *function).collect();
    Some(RecordClass { file, name: name.clone(), kind, fields, chunk, methods })
}

/// A class that no decorator and no base makes more than a Python class.
pub(crate) fn is_plain(db: &dyn Db, file: SourceFile, chunk: usize, stmt: StmtId) -> bool {
    let Some(body) = chunk_body(db, file, chunk) else { return false };
    let Stmt::Class { decorators, bases, .. } = body.stmt(stmt) else { return false };
    let is_enum = |b: &Arg| path(db, file, &body, b.value).is_some_and(|path| path.starts_with("enum."));
    decorators.is_empty() && bases.iter().all(is_enum)
}

/// `namedtuple("P", ["x", "y"])`, `namedtuple("P", "x y")`, `NamedTuple("P", [("x", int)])`.
pub(crate) fn of_call(db: &dyn Db, file: SourceFile, chunk: usize, body: &Body, call: ExprId) -> Option<RecordClass> {
    let Expr::Call { callee, args } = body.expr(call) else { return None };
    let path = path(db, file, body, *callee)?;
    if !matches!(path.as_str(), "collections.namedtuple" | "typing.NamedTuple") {
        return None;
    }
    let [Arg { kind: ArgKind::Positional, value: name }, Arg { kind: ArgKind::Positional, value: listed }] = args[..] else {
        return None;
    };
    let Expr::Str(name) = body.expr(name) else { return None };
    let names: Vec<SmolStr> = match body.expr(listed) {
        Expr::Str(words) => words.split([' ', ',']).filter(|w| !w.is_empty()).map(SmolStr::from).collect(),
        Expr::List(listed) | Expr::Tuple(listed) => listed
            .iter()
            .map(|&item| match body.expr(item) {
                Expr::Str(word) => Some(SmolStr::from(word.as_str())),
                Expr::Tuple(pair) => match pair.first().map(|&first| body.expr(first)) {
                    Some(Expr::Str(word)) => Some(SmolStr::from(word.as_str())),
                    _ => None,
                },
                _ => None,
            })
            .collect::<Option<_>>()?,
        _ => return None,
    };
    let fields = names.into_iter().map(|name| RecordField { name, default: None }).collect();
    Some(RecordClass { file, name: name.as_str().into(), kind: RecordKind::NamedTuple, fields, chunk, methods: Vec::new() })
}
