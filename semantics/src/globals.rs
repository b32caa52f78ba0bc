//! What a module-level name is to a kernel: a function, a value that it may read, a member of a library.
//!
//! The upper floor: below it [`items`](crate::items) follow names by what folds, and [`host`] code, run on those, decides here what does not
//! fold. **Invariants:** `None` means that the file does not bind the name; what it binds in a way that is not followed is
//! [`Global::Opaque`], which silences its users; values that may be one or another are opaque; neither items nor host code ask here.

use std::{cell::Cell, sync::Arc};

use smol_str::SmolStr;

use crate::{
    Db, Function, SourceFile,
    body::{Arg, ArgKind, Body, Expr, ExprId, Stmt},
    constant::Const,
    host,
    items::{
        Bound, Conditions, Enclosing, Folder, FunctionKind, Meaning, NameValues, RecordClass, chunk_body, chunk_count, circular,
        constant_at, conventional, declared, decorators, enclosing, follow, imported, is_passed_around, is_replaced, items,
        language_dtype, meanings, meanings_beside, members, records, uses,
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

/// What `name` means to a function: what the functions around it bind, and then its module. Arguments of those functions, and what is made
/// of them, are not known.
pub fn name_in(db: &dyn Db, function: Function, name: SmolStr) -> Option<Global> {
    match outer(db, function) {
        Some(_) => name_inside(db, function, name),
        None => of_module(db, function, name),
    }
}

/// What `name` means to a function in its module's scope.
fn of_module(db: &dyn Db, function: Function, name: SmolStr) -> Option<Global> {
    match items(db, function.file(db)).function(function) {
        Some(item) if item.branch.is_some() => name_beside(db, function, name),
        _ => resolve(db, function.file(db), name),
    }
}

/// Of a function under conditions of its module, which hold where the function is.
#[salsa::tracked(returns(clone))]
fn name_beside(db: &dyn Db, function: Function, name: SmolStr) -> Option<Global> {
    let file = function.file(db);
    let own = items(db, file).of_definition.iter().position(|found| *found == Some(function))?;
    one_of_module(db, &name, &meanings_beside::<Running>(db, file, &name, own))
}

/// Of a function inside others. Typing beside it finds the same.
#[salsa::tracked(returns(clone))]
fn name_inside(db: &dyn Db, function: Function, name: SmolStr) -> Option<Global> {
    let (file, outer) = (function.file(db), outer(db, function));
    match enclosing(db, file, outer, &name) {
        Some(found) => Some(Closure { db, file, outer, left: &Cell::new(MAX_LOOKUPS) }.global(found)),
        None => of_module(db, function, name),
    }
}

/// The names of the functions around a function that it reads and of which nothing says what they stand for: arguments of those functions,
/// and what is made of them.
#[salsa::tracked(returns(ref))]
pub(crate) fn captured(db: &dyn Db, function: Function) -> Vec<SmolStr> {
    let file = function.file(db);
    let Some(outer) = outer(db, function) else { return vec![] };
    let own = items(db, file).of_definition.iter().position(|found| *found == Some(function));
    let is_open = |name: &&SmolStr| {
        let found = enclosing(db, file, own.or(Some(outer)), name).filter(|found| Some(found.function) != own);
        let is_value = |bound: &Bound| matches!(bound, Bound::Opaque | Bound::Value { .. });
        found.is_some_and(|found| found.all.iter().all(is_value))
            && name_in(db, function, (*name).clone()) == Some(Global::Opaque)
    };
    uses(db, function).names.iter().filter(is_open).cloned().collect()
}

/// The function around a function: an index into the definitions of its file.
fn outer(db: &dyn Db, function: Function) -> Option<usize> {
    items(db, function.file(db)).function(function)?.outer.first().copied()
}

/// Whether a function's text is a template: it mentions a name that nothing binds, and the file, which gives the function to somebody, has
/// something to put in the name's place. What is missing in it may come with that.
#[salsa::tracked(returns(copy))]
pub(crate) fn is_template(db: &dyn Db, function: Function) -> bool {
    let file = function.file(db);
    let params = items(db, file).function(function).map_or(&[][..], |item| &item.params);
    let is_open = |name: &SmolStr| {
        params.iter().all(|param| param.name != *name)
            && is_replaced(db, file, name)
            && matches!(name_in(db, function, name.clone()), None | Some(Global::Opaque | Global::Value(_)))
    };
    is_passed_around(db, file, function.name(db)) && uses(db, function).names.iter().any(is_open)
}

/// Whether a function around a function binds a name.
pub(crate) fn is_enclosed(db: &dyn Db, function: Function, name: &str) -> bool {
    enclosing(db, function.file(db), outer(db, function), name).is_some()
}

/// What `name` means in a file's module scope.
#[salsa::tracked(returns(clone))]
pub fn resolve(db: &dyn Db, file: SourceFile, name: SmolStr) -> Option<Global> {
    one_of_module(db, &name, meanings::<Running>(db, file, name.clone()))
}

fn one_of_module(db: &dyn Db, name: &str, found: &[Meaning]) -> Option<Global> {
    match found {
        [] => conventional(name).map(|path| Global::Module(path.into())),
        found => Some(one_of(db, found)),
    }
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
    let outer = &items(db, file).function(function).map(|f| &f.outer);
    if outer.is_some_and(|outer| !outer.is_empty()) {
        let others = items(db, file).functions.iter().filter(|f| Some(&f.outer) == *outer && f.is_conditional);
        return others.map(|f| f.function).filter(|f| *f != function && f.name(db) == function.name(db)).collect();
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
            && decorators::compiles(db, file, &body, *callee, None)
            && let Some(found) = folder.meanings(arg.value).first()
        {
            return match global(db, found) {
                found @ Global::Function(_) => found,
                _ => Global::Opaque,
            };
        }
    }
    plain_value(&folder, &body, value)
}

/// A value that is no name for something else.
fn plain_value(folder: &Folder<'_>, body: &Body, value: ExprId) -> Global {
    match folder.fold(value) {
        Some(Const::None) => Global::Constexpr(Const::None),
        Some(known) => Global::Value(Some(known)),
        None => match body.expr(value) {
            Expr::List(_) | Expr::Dict(_) | Expr::Set(_) | Expr::FString(_) | Expr::Lambda { .. } => Global::Value(None),
            _ => Global::Opaque,
        },
    }
}

/// Names of functions that are looked up before a value made of them is unknown.
const MAX_LOOKUPS: u32 = 1 << 10;

/// Names as statements of a function see them.
struct Closure<'a> {
    db: &'a dyn Db,
    file: SourceFile,
    outer: Option<usize>,
    left: &'a Cell<u32>,
}

impl<'a> Closure<'a> {
    fn global(&self, found: Enclosing<'a>) -> Global {
        let (db, file) = (self.db, self.file);
        let Some(bound) = found.only() else { return Global::Opaque };
        let imported = |level, module, member| match imported(db, file, level, module, member) {
            Some(meaning) => global(db, &meaning),
            None => Global::Opaque,
        };
        match bound {
            Bound::Module(module) => imported(0, module, None),
            Bound::Member { level, module, member } => imported(*level, module, Some(member)),
            Bound::Definition(index) => global(db, &Meaning::Definition(file, *index)),
            Bound::Class { chunk, stmt } => global(db, &Meaning::Class(file, *chunk, *stmt)),
            Bound::Value { chunk, value } => {
                let Some(left) = self.left.get().checked_sub(1) else { return Global::Opaque };
                self.left.set(left);
                let inside = Closure { outer: Some(found.function), ..*self };
                stacker::maybe_grow(128 << 10, 2 << 20, || inside.value_of(*chunk, *value))
            }
            Bound::Opaque => Global::Opaque,
        }
    }

    /// `a` or `a.b.c` that begins with a name of a function; `None`: of the module.
    fn named(&self, body: &Body, expr: ExprId) -> Option<Global> {
        match body.expr(expr) {
            Expr::Name(name) => {
                let found = enclosing(self.db, self.file, self.outer, name)?;
                Some(match self.global(found) {
                    Global::Opaque => given(self.db, self.file, found.function, name.clone()),
                    known => known,
                })
            }
            Expr::Attribute { receiver, name } => Some(match self.named(body, *receiver)? {
                Global::Module(path) | Global::Builtin(path) | Global::External(path) => external(&format!("{path}.{name}")),
                Global::File(file) => member_of_file(self.db, file, name),
                _ => Global::Opaque,
            }),
            _ => None,
        }
    }

    /// What a name of a function is bound to.
    fn value_of(&self, chunk: usize, value: ExprId) -> Global {
        let Some(body) = chunk_body(self.db, self.file, chunk) else { return Global::Opaque };
        let folder = Folder::of_function(self.db, self.file, chunk, &body, value, self);
        let means = |expr: ExprId| match self.named(&body, expr) {
            Some(found) => found,
            None => one_of(self.db, &folder.meanings(expr)),
        };
        match body.expr(value) {
            Expr::Name(_) | Expr::Attribute { .. } => match means(value) {
                Global::Opaque => plain_value(&folder, &body, value),
                found => found,
            },
            Expr::Call { callee, args } => match (means(*callee), &args[..]) {
                (Global::Builtin(path), [arg])
                    if matches!(path.as_str(), "triton.language.constexpr" | "triton.language.core.constexpr") =>
                {
                    folder.fold(arg.value).map_or(Global::Opaque, Global::Constexpr)
                }
                // `kernel = triton.jit(function)`
                (_, [arg])
                    if matches!(body.expr(arg.value), Expr::Name(_))
                        && decorators::compiles(self.db, self.file, &body, *callee, self.outer) =>
                {
                    match means(arg.value) {
                        found @ Global::Function(_) => found,
                        _ => Global::Opaque,
                    }
                }
                _ => plain_value(&folder, &body, value),
            },
            _ => plain_value(&folder, &body, value),
        }
    }
}

/// What every call in a function's file gives one of its parameters, if all write the same value.
#[salsa::tracked(returns(clone))]
fn given(db: &dyn Db, file: SourceFile, function: usize, param: SmolStr) -> Global {
    let known = || {
        let definition = declared(db, file).definitions.get(function)?;
        let [way] = declared(db, file).names.get(&definition.name)?.as_slice() else { return None };
        let body = chunk_body(db, file, definition.chunk)?;
        let Stmt::Function(def) = body.stmt(definition.stmt) else { return None };
        let position = def.params.iter().position(|own| own.name == param)?;
        if !matches!(way.to, Bound::Definition(index) if index == function) {
            return None;
        }
        let mut known = None;
        for body in (0..chunk_count(db, file)).filter_map(|chunk| chunk_body(db, file, chunk)) {
            for expr in &body.exprs {
                let Expr::Call { callee, args } = expr else { continue };
                if !matches!(body.expr(*callee), Expr::Name(name) if *name == definition.name) {
                    continue;
                }
                let is_it = |(at, arg): &(usize, &Arg)| match &arg.kind {
                    ArgKind::Positional => *at == position,
                    ArgKind::Keyword(name) => *name == param,
                    _ => false,
                };
                let (_, arg) = args.iter().enumerate().find(is_it)?;
                let value = match body.expr(arg.value) {
                    Expr::Int(value) => Const::Int(*value),
                    Expr::Bool(value) => Const::Bool(*value),
                    Expr::Str(value) => Const::Str(value.clone()),
                    _ => return None,
                };
                if *known.get_or_insert_with(|| value.clone()) != value {
                    return None;
                }
            }
        }
        known
    };
    known().map_or(Global::Opaque, |known| Global::Value(Some(known)))
}

impl NameValues for Closure<'_> {
    fn value_of(&self, folder: &Folder<'_>, found: &[Meaning]) -> Option<Const> {
        ForKernels.value_of(folder, found)
    }

    fn folded(&self, db: &dyn Db, file: SourceFile, chunk: usize, value: ExprId) -> Option<Const> {
        folded(db, file, chunk, value)
    }

    fn enclosed(&self, body: &Body, expr: ExprId) -> Option<Option<Const>> {
        Some(constant_of(self.named(body, expr)?))
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
