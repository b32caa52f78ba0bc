//! The values of a module's own expressions: what names and members of classes are assigned, and conditions.
//!
//! **Invariant:** a value hangs on values before it in the text or in other files, each a query, so equal questions are asked once; what goes
//! round, hangs on too many others in a row or outgrows [`constant::MAX_NODES`] is unknown.

use super::{
    chunk_body,
    declare::{Evaluated, MAX_VALUE_HEIGHT, declared},
    names::{Folding, Meaning, constant_at, meanings_at, path_at},
};
use crate::{
    Db, SourceFile,
    body::{Arg, ArgKind, Body, BoolOp, Expr, ExprId, Stmt, StmtId, UnaryOp},
    constant::{self, Const, python},
    project, versions,
};

/// What names that a value reads are worth.
pub(crate) trait NameValues {
    /// The value of a name that may stand for these.
    fn value_of(&self, folder: &Folder<'_>, found: &[Meaning]) -> Option<Const>;
    /// The value of another expression of a module, asked for by itself.
    fn folded(&self, db: &dyn Db, file: SourceFile, chunk: usize, value: ExprId) -> Option<Const>;
    /// The value of `a` or `a.b.c`, where the first name is one of a function around.
    fn enclosed(&self, _body: &Body, _expr: ExprId) -> Option<Option<Const>> {
        None
    }
    /// Environment variables are taken not to be set.
    fn has_default_environment(&self) -> bool {
        false
    }
}

/// Who wants to know a value and finds out which functions are kernels: no function is one yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Asked {
    Items,
    /// The same, and environment variables are taken not to be set.
    Defaults,
}

impl NameValues for Asked {
    fn value_of(&self, folder: &Folder<'_>, found: &[Meaning]) -> Option<Const> {
        let mut all = found.iter().map(|meaning| match meaning {
            Meaning::Path(path) if path == "triton.__version__" => Some(Const::Str(folder.triton())),
            Meaning::Path(path) => constant_at(path),
            Meaning::Value(file, chunk, value) => folded(folder.db, *file, *chunk, *value, *self),
            _ => None,
        });
        let first = all.next()??;
        all.all(|other| other.as_ref() == Some(&first)).then_some(first)
    }

    fn folded(&self, db: &dyn Db, file: SourceFile, chunk: usize, value: ExprId) -> Option<Const> {
        folded(db, file, chunk, value, *self)
    }

    fn has_default_environment(&self) -> bool {
        *self == Asked::Defaults
    }
}

/// When a value of a module is evaluated; `None` where it is not followed.
pub(super) fn time_of(db: &dyn Db, file: SourceFile, chunk: usize, value: ExprId) -> Option<u32> {
    evaluated(db, file, chunk, value).map(|e| e.time)
}

fn evaluated(db: &dyn Db, file: SourceFile, chunk: usize, value: ExprId) -> Option<Evaluated> {
    declared(db, file).evaluated.get(&(chunk, value)).copied().filter(|e| e.height <= MAX_VALUE_HEIGHT)
}

/// The value of a module-level expression that needs nothing but literals and other such values.
#[salsa::tracked(returns(clone), cycle_result = not_known)]
pub(super) fn folded(db: &dyn Db, file: SourceFile, chunk: usize, value: ExprId, asked: Asked) -> Option<Const> {
    let body = chunk_body(db, file, chunk)?;
    Folder::new(db, file, chunk, &body, value, &asked)?.fold(value)
}

fn not_known(_: &dyn Db, _: salsa::Id, _: SourceFile, _: usize, _: ExprId, _: Asked) -> Option<Const> {
    None
}

/// Folds an assignment's value or a condition.
pub(crate) struct Folder<'a> {
    pub(crate) db: &'a dyn Db,
    file: SourceFile,
    chunk: usize,
    body: &'a Body,
    /// The assignment or condition that is evaluated: what it reads was bound before.
    value: ExprId,
    time: u32,
    class: Option<StmtId>,
    names: &'a dyn NameValues,
}

impl<'a> Folder<'a> {
    pub(crate) fn new(
        db: &'a dyn Db,
        file: SourceFile,
        chunk: usize,
        body: &'a Body,
        value: ExprId,
        names: &'a dyn NameValues,
    ) -> Option<Folder<'a>> {
        let Evaluated { time, class, .. } = evaluated(db, file, chunk, value)?;
        Some(Folder { db, file, chunk, body, value, time, class, names })
    }

    /// Folds a value that a function binds, once the module has run.
    pub(crate) fn of_function(
        db: &'a dyn Db,
        file: SourceFile,
        chunk: usize,
        body: &'a Body,
        value: ExprId,
        names: &'a dyn NameValues,
    ) -> Folder<'a> {
        Folder { db, file, chunk, body, value, time: u32::MAX, class: None, names }
    }

    pub(crate) fn fold(&self, expr: ExprId) -> Option<Const> {
        stacker::maybe_grow(128 << 10, 2 << 20, || self.folded(expr))
    }

    pub(crate) fn meanings(&self, expr: ExprId) -> Vec<Meaning> {
        meanings_at::<Folding>(self.db, self.file, self.body, expr, Some(self.time))
    }

    pub(crate) fn path(&self, expr: ExprId) -> String {
        path_at(self.db, self.file, self.body, expr, Some(self.time)).unwrap_or_default()
    }

    fn folded(&self, expr: ExprId) -> Option<Const> {
        let go = |e: ExprId| self.fold(e);
        match self.body.expr(expr) {
            Expr::Int(i) => Some(Const::Int(*i)),
            Expr::Float(f) => Some(Const::float(*f)),
            Expr::Str(s) => Some(Const::Str(s.clone())),
            Expr::Bool(b) => Some(Const::Bool(*b)),
            Expr::None => Some(Const::None),
            Expr::Tuple(items) => constant::tuple(items.iter().map(|&i| go(i))),
            Expr::Unary { op: UnaryOp::Not, operand } => Some(Const::Bool(!go(*operand)?.truth())),
            Expr::Unary { op, operand } => constant::unary(*op, &go(*operand)?),
            Expr::Binary { op, lhs, rhs } => constant::binary(*op, &go(*lhs)?, &go(*rhs)?),
            // Either side alone may decide.
            Expr::Bool2 { op, lhs, rhs } => {
                let decides = |v: &Const| v.truth() == (*op == BoolOp::Or);
                match (go(*lhs), go(*rhs)) {
                    (Some(lhs), _) if decides(&lhs) => Some(lhs),
                    (Some(_), rhs) => rhs,
                    (None, Some(rhs)) if decides(&rhs) => Some(Const::Bool(rhs.truth())),
                    (None, _) => None,
                }
            }
            Expr::Compare { first, rest } if rest.len() == 1 => {
                constant::compare(rest[0].0, &go(*first)?, &go(rest[0].1)?).map(Const::Bool)
            }
            Expr::If { condition, then, otherwise } => go(if go(*condition)?.truth() { *then } else { *otherwise }),
            Expr::Name(_) => self.named(expr),
            Expr::Attribute { receiver, name } => match self.named(expr) {
                None if name == "value" => self.class_attribute(*receiver, true).or_else(|| go(*receiver)),
                None => self.class_attribute(expr, false).or_else(|| self.type_info(*receiver, name)),
                found => found,
            },
            Expr::Call { callee, args } => self.call(*callee, args),
            _ => None,
        }
    }

    /// `a` or `a.b.c`
    fn named(&self, expr: ExprId) -> Option<Const> {
        if let Some(found) = self.names.enclosed(self.body, expr) {
            return found;
        }
        if let (Expr::Name(name), Some(class)) = (self.body.expr(expr), self.class)
            && let Some(member) = self.member(class, name, self.value)
        {
            return self.names.folded(self.db, self.file, self.chunk, member);
        }
        self.names.value_of(self, &self.meanings(expr))
    }

    /// `Kind.FAST` of a class with constants in it; of an enumeration only with `.value`.
    fn class_attribute(&self, expr: ExprId, value: bool) -> Option<Const> {
        let Expr::Attribute { receiver, name } = self.body.expr(expr) else { return None };
        let found = self.meanings(*receiver);
        let [Meaning::Class(file, chunk, stmt)] = found[..] else { return None };
        let body = chunk_body(self.db, file, chunk)?;
        let Stmt::Class { bases, .. } = body.stmt(stmt) else { return None };
        let is_enum = bases.iter().any(|base| match body.expr(base.value) {
            Expr::Name(name) | Expr::Attribute { name, .. } => {
                matches!(name.as_str(), "Enum" | "IntEnum" | "StrEnum" | "IntFlag" | "Flag")
            }
            _ => false,
        });
        if is_enum != value {
            return None;
        }
        let member = member(&body, stmt, name, None)?;
        self.names.folded(self.db, file, chunk, member)
    }

    /// `torch.finfo(torch.float16).max`, `torch.float16.itemsize`
    fn type_info(&self, receiver: ExprId, name: &str) -> Option<Const> {
        if let Expr::Call { callee, args } = self.body.expr(receiver)
            && let [Arg { kind: ArgKind::Positional, value }] = args[..]
        {
            let path = self.path(*callee);
            let function = path.strip_prefix("torch.").filter(|function| matches!(*function, "finfo" | "iinfo"))?;
            let Const::DType(dtype) = self.fold(value)? else { return None };
            return python::type_info(function, dtype)?.into_iter().find(|(what, _)| *what == name).map(|found| found.1);
        }
        match (self.named(receiver)?, name) {
            (Const::DType(dtype), "itemsize") => Some(Const::Int(i128::from(dtype.bytes()))),
            (Const::DType(dtype), "is_floating_point") => Some(Const::Bool(dtype.is_float())),
            _ => None,
        }
    }

    /// What the class around has bound a name to before a value of its own.
    fn member(&self, class: StmtId, name: &str, before: ExprId) -> Option<ExprId> {
        member(self.body, class, name, Some(before))
    }

    /// `3.6.0`: what the package says of itself under the project's version.
    pub(crate) fn triton(&self) -> String {
        versions::package_version(project::triton(self.db, self.file))
    }

    fn call(&self, callee: ExprId, args: &[Arg]) -> Option<Const> {
        let path = self.path(callee);
        let name = match self.body.expr(callee) {
            Expr::Name(name) if path.is_empty() => name.as_str(),
            _ => "",
        };
        if name == "hasattr"
            && let [module, member] = args
            && let Some(Const::Str(member)) = self.fold(member.value)
        {
            let module = self.path(module.value);
            let known = matches!(module.as_str(), "triton.Config" | "triton.autotune");
            let has = versions::is_module(&module)
                .then(|| versions::has(&format!("{module}.{member}"), project::triton(self.db, self.file)));
            return has.unwrap_or_else(|| known.then_some(true)).map(Const::Bool);
        }
        let args: Vec<Const> =
            args.iter().map(|a| if a.kind == ArgKind::Positional { self.fold(a.value) } else { None }).collect::<Option<_>>()?;
        match (name, path.as_str(), &args[..]) {
            ("float", _, [Const::Str(text)]) => python_float(text),
            ("float", _, [x]) => x.as_float().map(Const::float),
            ("int", _, [x]) => match x {
                Const::Float(f) if f.get().is_finite() && f.get().abs() < 1e30 => Some(Const::Int(f.get().trunc() as i128)),
                Const::Str(text) => text.trim().parse().ok().map(Const::Int),
                _ => x.as_int().map(Const::Int),
            },
            ("bool", _, [x]) => Some(Const::Bool(x.truth())),
            (_, "triton.language.constexpr", [x]) => Some(x.clone()),
            (_, path, args) if path.starts_with("math.") => python::math(&path["math.".len()..], args),
            (_, "triton.next_power_of_2", [x]) => next_power_of_2(x.as_int()?).map(Const::Int),
            (_, "triton.cdiv", [a, b]) => cdiv(a.as_int()?, b.as_int()?).map(Const::Int),
            (_, "os.environ.get" | "os.getenv", [_, default]) if self.names.has_default_environment() => Some(default.clone()),
            (_, "os.environ.get" | "os.getenv", [_]) if self.names.has_default_environment() => Some(Const::None),
            (_, "packaging.version.parse" | "packaging.version.Version", [Const::Str(text)]) => version_number(text),
            _ => None,
        }
    }
}

/// The last assignment of a class to one of its names, or the last before a value of its own.
fn member(body: &Body, class: StmtId, name: &str, before: Option<ExprId>) -> Option<ExprId> {
    let Stmt::Class { body: members, .. } = body.stmt(class) else { return None };
    let assigned = members.iter().filter_map(|&member| match body.stmt(member) {
        Stmt::Assign { targets, value } => Some((targets.as_slice(), *value)),
        Stmt::AnnAssign { target, value: Some(value), .. } => Some((std::slice::from_ref(target), *value)),
        _ => None,
    });
    assigned
        .take_while(|(_, value)| before.is_none_or(|before| *value != before))
        .filter(|(targets, _)| targets.iter().any(|&target| matches!(body.expr(target), Expr::Name(n) if n == name)))
        .last()
        .map(|(_, value)| value)
}

/// A version as numbers that compare: `3.6.0.post1` is `(3, 6, 0)`.
pub(crate) fn version_number(text: &str) -> Option<Const> {
    let mut parts: Vec<i128> = text.split(['.', '+', '-']).map_while(|p| p.parse().ok()).take(3).collect();
    (!parts.is_empty()).then(|| {
        parts.resize(3, 0);
        Const::Tuple(parts.into_iter().map(Const::Int).collect())
    })
}

/// As Python reads the text of a float.
pub(crate) fn python_float(text: &str) -> Option<Const> {
    let text = text.trim();
    match text.trim_start_matches(['+', '-']).to_ascii_lowercase().as_str() {
        "inf" | "infinity" => Some(Const::float(if text.starts_with('-') { f64::NEG_INFINITY } else { f64::INFINITY })),
        _ => text.replace('_', "").parse().ok().map(Const::float),
    }
}

pub(crate) fn next_power_of_2(n: i128) -> Option<i128> {
    u64::try_from(n.max(1)).ok()?.checked_next_power_of_two().map(i128::from)
}

pub(crate) fn cdiv(a: i128, b: i128) -> Option<i128> {
    constant::binary(crate::body::BinaryOp::FloorDiv, &Const::Int(a.checked_add(b)?.checked_sub(1)?), &Const::Int(b))?.as_int()
}
