//! From a module-level name to what it means to a kernel.
//!
//! Asks [`Items`](super::Items), never the bodies of functions. **Invariant:** `None` means that the file does not bind the name; what it
//! binds in a way that is not followed is [`Global::Opaque`], which silences its users.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use smol_str::SmolStr;

use super::{Item, RecordClass, chunk_body, conventional, items, records};
use crate::{
    Db, Function, SourceFile,
    body::{ArgKind, Body, Expr, ExprId},
    constant::{self, Const},
    dtype::DType,
};

/// What a module-level name means.
#[derive(Debug, Clone, PartialEq)]
pub enum Global {
    /// A module outside the workspace, by its full path: `triton.language`.
    Module(SmolStr),
    /// A member of Triton, by its full path: `triton.language.load`.
    Builtin(SmolStr),
    /// A member of another library: `torch.float16`.
    External(SmolStr),
    /// A module of the workspace.
    File(SourceFile),
    /// A `@triton.jit` function.
    Function(Function),
    /// A `@triton.constexpr_function`.
    ConstexprFunction(Function),
    /// What a kernel may read: `tl.constexpr(…)`, a dtype, `None`.
    Constexpr(Const),
    /// A Python value, which a kernel may not read; known or not.
    Value(Option<Const>),
    /// A plain `def`, which a kernel may not call.
    PythonFunction,
    /// A class whose objects kernels hold.
    Record(Arc<RecordClass>),
    Class,
    /// Bound, but to what is not known.
    Opaque,
}

/// What `name` means in a file's module scope.
#[salsa::tracked(returns(clone), cycle_result = unknown)]
pub fn resolve(db: &dyn Db, file: SourceFile, name: SmolStr) -> Option<Global> {
    let items = items(db, file);
    match items.names.get(&name) {
        None => {
            for (level, module) in &items.stars {
                match module_at(db, file, *level, module) {
                    Global::File(other) if other != file => {
                        if let Some(found) = resolve(db, other, name.clone()) {
                            return Some(found);
                        }
                    }
                    Global::Module(path) if path == "triton.language" => {
                        if let Some(dtype) = language_dtype(&format!("{path}.{name}")) {
                            return Some(Global::Constexpr(Const::DType(dtype)));
                        }
                    }
                    // A star import of a library may bind any name.
                    _ => return Some(Global::Opaque),
                }
            }
            conventional(&name).map(|path| Global::Module(path.into()))
        }
        Some(Item::Function(f)) => Some(Global::Function(*f)),
        Some(Item::ConstexprFunction(f)) => Some(Global::ConstexprFunction(*f)),
        Some(Item::PythonFunction { .. }) => Some(Global::PythonFunction),
        Some(Item::Class { chunk, stmt, methods }) => Some(
            records::of_class(db, file, *chunk, *stmt, methods).map_or(Global::Class, |class| Global::Record(Arc::new(class))),
        ),
        Some(Item::Opaque) => Some(Global::Opaque),
        Some(Item::Module(path)) => Some(module_at(db, file, 0, path)),
        Some(Item::Member { level, module, member }) => Some(match module_at(db, file, *level, module) {
            Global::File(other) => member_of_file(db, other, member),
            Global::Module(path) => external(&join(&path, member)),
            _ => Global::Opaque,
        }),
        Some(Item::Value { chunk, value }) => {
            let body = chunk_body(db, file, *chunk)?;
            if let Some(class) = records::of_call(db, file, *chunk, &body, *value) {
                return Some(Global::Record(Arc::new(class)));
            }
            Some(value_of(db, file, &body, *value))
        }
    }
}

fn unknown(_: &dyn Db, _: salsa::Id, _: SourceFile, _: SmolStr) -> Option<Global> {
    Some(Global::Opaque)
}

/// `name` of a workspace module: a name it binds, or a module beside it.
pub fn member_of_file(db: &dyn Db, file: SourceFile, name: &str) -> Global {
    if let Some(found) = resolve(db, file, name.into()) {
        return found;
    }
    let path = file.path(db);
    if path.file_name().is_some_and(|n| n == "__init__.py")
        && let Some(found) = path.parent().and_then(|folder| find_module(db, folder, &[name]))
    {
        return Global::File(found);
    }
    Global::Opaque
}

/// What a full path outside the workspace means.
pub fn external(path: &str) -> Global {
    if let Some(dtype) = language_dtype(path) {
        return Global::Constexpr(Const::DType(dtype));
    }
    if MODULES.contains(&path) {
        return Global::Module(path.into());
    }
    match path.split('.').next() {
        Some("triton") => Global::Builtin(path.into()),
        _ => Global::External(path.into()),
    }
}

/// Modules that `from a import b` may bring in; what else it brings is a member.
const MODULES: &[&str] = &[
    "triton",
    "triton.language",
    "triton.language.core",
    "triton.language.extra",
    "triton.language.extra.cuda",
    "triton.language.extra.cuda.libdevice",
    "triton.language.extra.libdevice",
    "triton.language.libdevice",
    "triton.language.math",
    "triton.language.random",
    "triton.language.standard",
    "triton.runtime",
    "triton.testing",
    "triton.tools",
    "numpy",
    "torch",
    "torch.nn",
    "torch.nn.functional",
    "math",
];

fn language_dtype(path: &str) -> Option<DType> {
    let name = path.strip_prefix("triton.language.")?;
    let name = name.strip_prefix("core.").unwrap_or(name);
    // Python's own words are functions there, not types.
    if matches!(name, "int" | "float" | "bool" | "long" | "short" | "double" | "half") { None } else { DType::from_name(name) }
}

fn join(module: &str, member: &str) -> String {
    if module.is_empty() { member.to_owned() } else { format!("{module}.{member}") }
}

/// The module that an import names.
fn module_at(db: &dyn Db, file: SourceFile, level: u32, module: &str) -> Global {
    let parts: Vec<&str> = module.split('.').filter(|p| !p.is_empty()).collect();
    let own = file.path(db).parent().unwrap_or(Path::new(""));
    if level > 0 {
        let folder = own.ancestors().nth(level as usize - 1);
        return folder.and_then(|f| find_module(db, f, &parts)).map_or(Global::Opaque, Global::File);
    }
    if matches!(parts.first(), None | Some(&("triton" | "torch" | "math" | "numpy"))) {
        return Global::Module(module.into());
    }
    // A package's root is somewhere above the file.
    let found = own.ancestors().take(8).find_map(|folder| find_module(db, folder, &parts));
    match found {
        Some(found) if found != file => Global::File(found),
        _ => Global::Module(module.into()),
    }
}

/// The workspace file that `from module import name` takes a name from.
pub(crate) fn imported_file(db: &dyn Db, file: SourceFile, name: &str) -> Option<SourceFile> {
    match items(db, file).names.get(name) {
        Some(Item::Member { level, module, .. }) => match module_at(db, file, *level, module) {
            Global::File(other) => Some(other),
            _ => None,
        },
        _ => None,
    }
}

fn find_module(db: &dyn Db, folder: &Path, parts: &[&str]) -> Option<SourceFile> {
    let path: PathBuf = parts.iter().fold(folder.to_owned(), |path, part| path.join(part));
    let package = path.join("__init__.py");
    if parts.is_empty() {
        return db.system().is_file(&package).then(|| db.file(&package)).flatten();
    }
    let module = path.with_extension("py");
    [module, package].into_iter().find(|p| db.system().is_file(p)).and_then(|p| db.file(&p))
}

/// What the value of a module-level assignment means.
fn value_of(db: &dyn Db, file: SourceFile, body: &Body, value: ExprId) -> Global {
    if let Expr::Call { callee, args } = body.expr(value) {
        let path = items(db, file).path(body, *callee);
        if path.as_deref().is_some_and(|p| p == "triton.language.constexpr" || p == "triton.language.core.constexpr") {
            return match &args[..] {
                [arg] if arg.kind == ArgKind::Positional || matches!(&arg.kind, ArgKind::Keyword(k) if k == "value") => {
                    fold(db, file, body, arg.value).map_or(Global::Opaque, Global::Constexpr)
                }
                _ => Global::Opaque,
            };
        }
    }
    // An alias means what it stands for.
    match body.expr(value) {
        Expr::Name(name) => return resolve(db, file, name.clone()).unwrap_or(Global::Opaque),
        Expr::Attribute { .. } => return attribute(db, file, body, value),
        _ => {}
    }
    match fold(db, file, body, value) {
        Some(Const::None) => Global::Constexpr(Const::None),
        Some(known) => Global::Value(Some(known)),
        None => match body.expr(value) {
            Expr::List(_) | Expr::Dict(_) | Expr::Set(_) | Expr::FString(_) | Expr::Lambda { .. } => Global::Value(None),
            _ => Global::Opaque,
        },
    }
}

/// What `a.b.c` means in a module's scope.
fn attribute(db: &dyn Db, file: SourceFile, body: &Body, expr: ExprId) -> Global {
    match body.expr(expr) {
        Expr::Name(name) => resolve(db, file, name.clone()).unwrap_or(Global::Opaque),
        Expr::Attribute { receiver, name } => match attribute(db, file, body, *receiver) {
            Global::Module(path) => external(&join(&path, name)),
            Global::File(other) => member_of_file(db, other, name),
            _ => Global::Opaque,
        },
        _ => Global::Opaque,
    }
}

/// The value of a module-level expression that needs nothing but literals and other such values.
fn fold(db: &dyn Db, file: SourceFile, body: &Body, expr: ExprId) -> Option<Const> {
    stacker::maybe_grow(128 << 10, 2 << 20, || folded(db, file, body, expr))
}

fn folded(db: &dyn Db, file: SourceFile, body: &Body, expr: ExprId) -> Option<Const> {
    let go = |e: ExprId| fold(db, file, body, e);
    match body.expr(expr) {
        Expr::Int(i) => Some(Const::Int(*i)),
        Expr::Float(f) => Some(Const::float(*f)),
        Expr::Str(s) => Some(Const::Str(s.clone())),
        Expr::Bool(b) => Some(Const::Bool(*b)),
        Expr::None => Some(Const::None),
        Expr::Tuple(items) => items.iter().map(|&i| go(i)).collect::<Option<_>>().map(Const::Tuple),
        Expr::Unary { op, operand } => constant::unary(*op, &go(*operand)?),
        Expr::Binary { op, lhs, rhs } => constant::binary(*op, &go(*lhs)?, &go(*rhs)?),
        Expr::Compare { first, rest } if rest.len() == 1 => {
            constant::compare(rest[0].0, &go(*first)?, &go(rest[0].1)?).map(Const::Bool)
        }
        Expr::If { condition, then, otherwise } => go(if go(*condition)?.truth() { *then } else { *otherwise }),
        Expr::Name(name) => constant_of(resolve(db, file, name.clone())?),
        Expr::Attribute { receiver, name } => match go(*receiver) {
            Some(known) if name == "value" => Some(known),
            _ => constant_of(attribute(db, file, body, expr)),
        },
        Expr::Call { callee, args } => {
            let name = match body.expr(*callee) {
                Expr::Name(name) => name.as_str(),
                _ => "",
            };
            let path = items(db, file).path(body, *callee).unwrap_or_default();
            let args: Vec<Const> =
                args.iter().map(|a| if a.kind == ArgKind::Positional { go(a.value) } else { None }).collect::<Option<_>>()?;
            match (name, path.as_str(), &args[..]) {
                ("float", _, [Const::Str(text)]) => python_float(text),
                ("float", _, [x]) => x.as_float().map(Const::float),
                ("int", _, [x]) => match x {
                    Const::Float(f) if f.get().is_finite() && f.get().abs() < 1e30 => Some(Const::Int(f.get().trunc() as i128)),
                    _ => x.as_int().map(Const::Int),
                },
                ("bool", _, [x]) => Some(Const::Bool(x.truth())),
                (_, "triton.language.constexpr", [x]) => Some(x.clone()),
                (_, "math.log", [x]) => x.as_float().map(|x| Const::float(x.ln())),
                (_, "math.log2", [x]) => x.as_float().map(|x| Const::float(x.log2())),
                (_, "math.sqrt", [x]) => x.as_float().map(|x| Const::float(x.sqrt())),
                (_, "triton.next_power_of_2", [x]) => next_power_of_2(x.as_int()?).map(Const::Int),
                (_, "triton.cdiv", [a, b]) => cdiv(a.as_int()?, b.as_int()?).map(Const::Int),
                _ => None,
            }
        }
        _ => None,
    }
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

fn constant_of(global: Global) -> Option<Const> {
    match global {
        Global::Constexpr(known) | Global::Value(Some(known)) => Some(known),
        Global::Function(f) => Some(Const::Function(f)),
        Global::External(path) => match path.as_str() {
            "math.pi" => Some(Const::float(std::f64::consts::PI)),
            "math.e" => Some(Const::float(std::f64::consts::E)),
            "math.inf" => Some(Const::float(f64::INFINITY)),
            "math.nan" => Some(Const::float(f64::NAN)),
            path => path.strip_prefix("torch.").and_then(DType::from_name).map(Const::DType),
        },
        _ => None,
    }
}
