//! What a module-level name is to a kernel: a function, a value that it may read, a member of a library.
//!
//! The upper floor: below it [`items`](crate::items) follow names by what folds, and [`host`] code, run on those, decides here what does not
//! fold. **Invariants:** `None` means that the file does not bind the name; what it binds in a way that is not followed is
//! [`Global::Opaque`], which silences its users; values that may be one or another are opaque; neither items nor host code ask here.

use std::sync::Arc;

use smol_str::SmolStr;

use crate::{
    Db, Function, SourceFile,
    body::{ArgKind, Expr, ExprId},
    constant::Const,
    host,
    items::{
        Conditions, Folder, FunctionKind, Meaning, NameValues, RecordClass, chunk_body, circular, constant_at, conventional,
        decorators, follow, items, language_dtype, meanings, members, records,
    },
    versions,
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
    /// A class that nothing but Python knows: without decorators, and of itself or an enumeration.
    Class,
    /// Bound, but to what is not known.
    Opaque,
}

/// Host code is run to decide the conditions that do not fold.
enum Running {}

impl Conditions for Running {
    fn meanings_after(db: &dyn Db, file: SourceFile, name: SmolStr, count: Option<usize>) -> &[Meaning] {
        meanings_by_running(db, file, name, count)
    }

    fn is_true(db: &dyn Db, file: SourceFile, chunk: usize, expr: ExprId) -> Option<bool> {
        host::condition(db, file, chunk, expr)
    }
}

#[salsa::tracked(returns(deref), cycle_result = circular)]
fn meanings_by_running(db: &dyn Db, file: SourceFile, name: SmolStr, count: Option<usize>) -> Vec<Meaning> {
    follow::<Running>(db, file, &name, count)
}

/// What `name` means in a file's module scope.
#[salsa::tracked(returns(clone))]
pub fn resolve(db: &dyn Db, file: SourceFile, name: SmolStr) -> Option<Global> {
    let found = meanings::<Running>(db, file, name.clone());
    if found.is_empty() {
        return conventional(&name).map(|path| Global::Module(path.into()));
    }
    Some(one_of(db, found))
}

/// The likeliest of several meanings; values that differ are not guessed.
fn one_of(db: &dyn Db, meanings: &[Meaning]) -> Global {
    let mut all = meanings.iter().map(|m| global(db, m));
    let Some(first) = all.next() else { return Global::Opaque };
    match first {
        Global::Constexpr(_) | Global::Value(_) if all.any(|other| other != first) => Global::Opaque,
        first => first,
    }
}

fn global(db: &dyn Db, meaning: &Meaning) -> Global {
    match meaning {
        Meaning::Path(path) => external(path),
        Meaning::File(file) => Global::File(*file),
        Meaning::Definition(file, index) => {
            let items = items(db, *file);
            match items.of_definition.get(*index).copied().flatten() {
                Some(function) => match items.function(function).map(|f| f.kind) {
                    Some(FunctionKind::Constexpr) => Global::ConstexprFunction(function),
                    _ => Global::Function(function),
                },
                None => Global::PythonFunction,
            }
        }
        Meaning::Class(file, chunk, stmt) => match records::of_class(db, *file, *chunk, *stmt) {
            Some(class) => Global::Record(Arc::new(class)),
            None if records::is_plain(db, *file, *chunk, *stmt) => Global::Class,
            None => Global::Opaque,
        },
        Meaning::Value(file, chunk, value) => match chunk_body(db, *file, *chunk) {
            Some(body) => match records::of_call(db, *file, *chunk, &body, *value) {
                Some(class) => Global::Record(Arc::new(class)),
                None => value_of(db, *file, *chunk, *value),
            },
            None => Global::Opaque,
        },
        Meaning::Opaque => Global::Opaque,
    }
}

/// `name` of a workspace module: a name it binds, or a module beside it.
pub fn member_of_file(db: &dyn Db, file: SourceFile, name: &str) -> Global {
    one_of(db, &members::<Running>(db, file, name))
}

/// The functions that may stand in a function's place: others of its name, under conditions that are not known.
#[salsa::tracked(returns(ref))]
pub fn alternatives(db: &dyn Db, function: Function) -> Vec<Function> {
    let file = function.file(db);
    if !items(db, file).function(function).is_some_and(|f| f.is_conditional) {
        return vec![];
    }
    let all: Vec<Global> = meanings::<Running>(db, file, function.name(db).clone()).iter().map(|m| global(db, m)).collect();
    if !all.contains(&Global::Function(function)) {
        return vec![];
    }
    let functions = all.into_iter().filter_map(|g| if let Global::Function(f) = g { Some(f) } else { None });
    functions.filter(|f| *f != function).collect()
}

/// What a full path outside the workspace means.
pub fn external(path: &str) -> Global {
    if let Some(dtype) = language_dtype(path) {
        return Global::Constexpr(Const::DType(dtype));
    }
    if MODULES.contains(&path) || versions::is_module(path) {
        return Global::Module(path.into());
    }
    match path.split('.').next() {
        Some("triton") => Global::Builtin(path.into()),
        _ => Global::External(path.into()),
    }
}

/// Modules that `from a import b` may bring in; what else it brings is a member.
const MODULES: &[&str] = &["triton", "numpy", "torch", "torch.nn", "torch.nn.functional", "math"];

/// What the value of a module-level assignment means.
#[salsa::tracked(returns(clone), cycle_result = opaque)]
fn value_of(db: &dyn Db, file: SourceFile, chunk: usize, value: ExprId) -> Global {
    let Some(body) = chunk_body(db, file, chunk) else { return Global::Opaque };
    let Some(folder) = Folder::new(db, file, chunk, &body, value, &ForKernels) else { return Global::Opaque };
    if let Expr::Call { callee, args } = body.expr(value) {
        let path = folder.path(*callee);
        if path == "triton.language.constexpr" || path == "triton.language.core.constexpr" {
            return match &args[..] {
                [arg] if arg.kind == ArgKind::Positional || matches!(&arg.kind, ArgKind::Keyword(k) if k == "value") => {
                    let known = folder.fold(arg.value).or_else(|| host::constant(db, file, chunk, arg.value));
                    known.map_or(Global::Opaque, Global::Constexpr)
                }
                _ => Global::Opaque,
            };
        }
        // `kernel = triton.jit(function)`
        if let [arg] = &args[..]
            && let Expr::Name(_) = body.expr(arg.value)
            && decorators::compiles(db, file, &body, *callee)
            && let Some(found) = folder.meanings(arg.value).first()
        {
            return match global(db, found) {
                found @ Global::Function(_) => found,
                _ => Global::Opaque,
            };
        }
    }
    match folder.fold(value) {
        Some(Const::None) => Global::Constexpr(Const::None),
        Some(known) => Global::Value(Some(known)),
        None => match body.expr(value) {
            Expr::List(_) | Expr::Dict(_) | Expr::Set(_) | Expr::FString(_) | Expr::Lambda { .. } => Global::Value(None),
            _ => Global::Opaque,
        },
    }
}

fn opaque(_: &dyn Db, _: salsa::Id, _: SourceFile, _: usize, _: ExprId) -> Global {
    Global::Opaque
}

/// Values as kernels read them: functions are values, and of those that may be one or another none is.
struct ForKernels;

impl NameValues for ForKernels {
    fn value_of(&self, folder: &Folder<'_>, found: &[Meaning]) -> Option<Const> {
        match found {
            [Meaning::Path(path)] if path == "triton.__version__" => Some(Const::Str(folder.triton())),
            _ => constant_of(one_of(folder.db, found)),
        }
    }

    fn folded(&self, db: &dyn Db, file: SourceFile, chunk: usize, value: ExprId) -> Option<Const> {
        folded(db, file, chunk, value)
    }
}

#[salsa::tracked(returns(clone), cycle_result = not_known)]
fn folded(db: &dyn Db, file: SourceFile, chunk: usize, value: ExprId) -> Option<Const> {
    let body = chunk_body(db, file, chunk)?;
    Folder::new(db, file, chunk, &body, value, &ForKernels)?.fold(value)
}

fn not_known(_: &dyn Db, _: salsa::Id, _: SourceFile, _: usize, _: ExprId) -> Option<Const> {
    None
}

fn constant_of(global: Global) -> Option<Const> {
    match global {
        Global::Constexpr(known) | Global::Value(Some(known)) => Some(known),
        Global::Function(f) => Some(Const::Function(f)),
        Global::External(path) => constant_at(&path),
        _ => None,
    }
}
