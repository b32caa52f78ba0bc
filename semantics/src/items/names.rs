//! From a module-level name to what it means to a kernel.
//!
//! Asks [`declared`] for what names are bound to and [`items`] for what a `def` is, never the bodies of functions. **Invariants:** `None`
//! means that the file does not bind the name; what it binds in a way that is not followed is [`Global::Opaque`], which silences its
//! users; of several ways to be bound, those whose conditions are known not to hold are out, and values that may be one or another are
//! opaque.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use smol_str::SmolStr;

use super::{
    FunctionKind, RecordClass, chunk_body, conventional,
    declare::{Binding, Bound, Condition, declared},
    items, records,
};
use crate::{
    Db, Function, SourceFile,
    body::{ArgKind, Body, BoolOp, Expr, ExprId, Stmt, UnaryOp},
    builtins,
    constant::{self, Const},
    dtype::DType,
    project,
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

/// What a name may stand for, once imports and other names for the same thing are followed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Meaning {
    /// A module of a library or its member, by full path.
    Path(SmolStr),
    File(SourceFile),
    /// A `def` of a file: an index into its definitions.
    Definition(SourceFile, usize),
    Class(SourceFile, usize, crate::body::StmtId),
    Value(SourceFile, usize, ExprId),
    Opaque,
}

/// What a module-level name may stand for, the likeliest first; empty if the file does not bind it. `deep`: host code is run to decide
/// conditions; it asks for what is not.
#[salsa::tracked(returns(ref), cycle_result = circular)]
pub(crate) fn meanings(db: &dyn Db, file: SourceFile, name: SmolStr, deep: bool) -> Vec<Meaning> {
    let declared = declared(db, file);
    let Some(ways) = declared.names.get(&name) else { return through_stars(db, file, &name, deep) };
    let mut found: Vec<(Rank, Meaning)> = Vec::new();
    for way in ways {
        let rank = match standing(db, file, way, deep) {
            Standing::Holds => {
                found.clear();
                Rank::default()
            }
            Standing::Fails => continue,
            Standing::Open { unlikely } => Rank { unlikely, ..Rank::default() },
        };
        let imported = matches!(way.to, Bound::Module(_) | Bound::Member { .. });
        for meaning in followed(db, file, &name, &way.to, deep) {
            // What is imported is what is meant: `try: import x` / `except ImportError: x = None`.
            let rank = Rank { absent: is_absent(&meaning), made_up: !imported, ..rank };
            if found.iter().all(|f| f.1 != meaning) {
                found.push((rank, meaning));
            }
        }
    }
    if found.is_empty() {
        return vec![Meaning::Opaque];
    }
    let any_import = found.iter().any(|f| !f.0.made_up);
    found.sort_by_key(|f| (f.0.absent, any_import && f.0.made_up, f.0.unlikely));
    found.into_iter().map(|f| f.1).collect()
}

fn circular(_: &dyn Db, _: salsa::Id, _: SourceFile, _: SmolStr, _: bool) -> Vec<Meaning> {
    vec![Meaning::Opaque]
}

/// Why one way is less likely than another; the order of the text decides between equals.
#[derive(Debug, Clone, Copy, Default)]
struct Rank {
    /// The version of Triton has no such name.
    absent: bool,
    /// Not imported, but made in the file where another way imports it.
    made_up: bool,
    /// It needs an environment variable to differ from its default.
    unlikely: bool,
}

fn is_absent(meaning: &Meaning) -> bool {
    match meaning {
        Meaning::Path(path) => {
            path.starts_with("triton.language.") && language_dtype(path).is_none() && builtins::find(path).is_none()
        }
        _ => false,
    }
}

fn through_stars(db: &dyn Db, file: SourceFile, name: &SmolStr, deep: bool) -> Vec<Meaning> {
    for (level, module) in &declared(db, file).stars {
        match module_at(db, file, *level, module) {
            Some(Meaning::File(other)) if other != file => {
                let found = meanings(db, other, name.clone(), deep);
                if !found.is_empty() {
                    return found.clone();
                }
            }
            Some(Meaning::Path(path)) if path.starts_with("triton") => {
                let path = join(&path, name);
                if language_dtype(&path).is_some() || builtins::find(&path).is_some() {
                    return vec![Meaning::Path(path.into())];
                }
            }
            // A star import of a library may bind any name.
            _ => return vec![Meaning::Opaque],
        }
    }
    vec![]
}

/// How the conditions of one way stand.
enum Standing {
    Holds,
    Fails,
    Open { unlikely: bool },
}

fn standing(db: &dyn Db, file: SourceFile, way: &Binding, deep: bool) -> Standing {
    let (mut open, mut unlikely) = (false, false);
    for condition in &way.conditions {
        match condition_holds(db, file, *condition, false, deep) {
            Some(true) => {}
            Some(false) => return Standing::Fails,
            None => {
                open = true;
                unlikely |= condition_holds(db, file, *condition, true, false) == Some(false);
            }
        }
    }
    if open { Standing::Open { unlikely } } else { Standing::Holds }
}

/// `defaults`: environment variables are taken not to be set.
fn condition_holds(db: &dyn Db, file: SourceFile, condition: Condition, defaults: bool, deep: bool) -> Option<bool> {
    let body = chunk_body(db, file, condition.chunk)?;
    let expr = condition.expr?;
    let truth = match (Folder { db, file, body: &body, defaults }).fold(expr) {
        Some(value) => value.truth(),
        None if deep => crate::host::condition(db, file, condition.chunk, expr)?,
        None => return None,
    };
    Some(truth == condition.holds)
}

fn followed(db: &dyn Db, file: SourceFile, name: &SmolStr, bound: &Bound, deep: bool) -> Vec<Meaning> {
    match bound {
        Bound::Module(path) => module_at(db, file, 0, path).into_iter().collect(),
        Bound::Member { level, module, member } => match module_at(db, file, *level, module) {
            Some(Meaning::File(other)) if other == file && member == name => vec![Meaning::Opaque],
            Some(Meaning::File(other)) => members(db, other, member, deep),
            Some(Meaning::Path(path)) => vec![member_of_path(db, file, &path, member)],
            _ => vec![Meaning::Opaque],
        },
        Bound::Definition(index) => vec![Meaning::Definition(file, *index)],
        Bound::Class { chunk, stmt } => vec![Meaning::Class(file, *chunk, *stmt)],
        Bound::Value { chunk, value } => {
            let Some(body) = chunk_body(db, file, *chunk) else { return vec![Meaning::Opaque] };
            // Another name for something.
            match body.expr(*value) {
                Expr::Name(_) | Expr::Attribute { .. } => {
                    let found = meanings_of(db, file, &body, *value, deep);
                    if found.is_empty() { vec![Meaning::Value(file, *chunk, *value)] } else { found }
                }
                _ => vec![Meaning::Value(file, *chunk, *value)],
            }
        }
        Bound::Opaque => vec![Meaning::Opaque],
    }
}

/// What `a.b.c` may stand for in a module's scope; empty if nothing known is bound to `a`.
pub(crate) fn meanings_of(db: &dyn Db, file: SourceFile, body: &Body, expr: ExprId, deep: bool) -> Vec<Meaning> {
    match body.expr(expr) {
        Expr::Name(name) => {
            let found = meanings(db, file, name.clone(), deep);
            if found.is_empty() {
                // A snippet without its imports still says what it means.
                return conventional(name).map(|path| Meaning::Path(path.into())).into_iter().collect();
            }
            found.clone()
        }
        Expr::Attribute { receiver, name } => {
            let mut out = Vec::new();
            for receiver in meanings_of(db, file, body, *receiver, deep) {
                match receiver {
                    Meaning::Path(path) => out.push(member_of_path(db, file, &path, name)),
                    Meaning::File(other) => out.extend(members(db, other, name, deep)),
                    _ => out.push(Meaning::Opaque),
                }
            }
            out
        }
        _ => vec![],
    }
}

/// What an import that stands anywhere in a file brings.
pub(crate) fn imported(db: &dyn Db, file: SourceFile, level: u32, module: &SmolStr, member: Option<&SmolStr>) -> Option<Meaning> {
    let bound = match member {
        Some(member) => Bound::Member { level, module: module.clone(), member: member.clone() },
        None => Bound::Module(module.clone()),
    };
    followed(db, file, &SmolStr::default(), &bound, false).into_iter().next()
}

/// The full path outside the workspace that `a.b.c` means, where it means one.
pub(crate) fn path(db: &dyn Db, file: SourceFile, body: &Body, expr: ExprId) -> Option<String> {
    match meanings_of(db, file, body, expr, false).first()? {
        Meaning::Path(path) => Some(path.to_string()),
        _ => None,
    }
}

/// `name` of a workspace module: a name it binds, or a module beside it.
fn members(db: &dyn Db, file: SourceFile, name: &str, deep: bool) -> Vec<Meaning> {
    let found = meanings(db, file, name.into(), deep);
    if !found.is_empty() {
        return found.clone();
    }
    let path = file.path(db);
    if path.file_name().is_some_and(|n| n == "__init__.py")
        && let Some(found) = path.parent().and_then(|folder| find_module(db, folder, &[name]))
    {
        return vec![Meaning::File(found)];
    }
    vec![Meaning::Opaque]
}

/// `module.member`, where the module is no file: a library's, or a folder without `__init__.py`.
fn member_of_path(db: &dyn Db, file: SourceFile, module: &str, member: &str) -> Meaning {
    let path = join(module, member);
    if !is_library(&path)
        && let Some(found @ Meaning::File(_)) = module_at(db, file, 0, &path)
    {
        return found;
    }
    Meaning::Path(path.into())
}

/// What `name` means in a file's module scope.
#[salsa::tracked(returns(clone), cycle_result = unknown)]
pub fn resolve(db: &dyn Db, file: SourceFile, name: SmolStr) -> Option<Global> {
    let found = meanings(db, file, name.clone(), true);
    if found.is_empty() {
        return conventional(&name).map(|path| Global::Module(path.into()));
    }
    Some(one_of(db, found))
}

fn unknown(_: &dyn Db, _: salsa::Id, _: SourceFile, _: SmolStr) -> Option<Global> {
    Some(Global::Opaque)
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
                None => value_of(db, *file, *chunk, &body, *value),
            },
            None => Global::Opaque,
        },
        Meaning::Opaque => Global::Opaque,
    }
}

/// `name` of a workspace module: a name it binds, or a module beside it.
pub fn member_of_file(db: &dyn Db, file: SourceFile, name: &str) -> Global {
    one_of(db, &members(db, file, name, true))
}

/// The functions that may stand in a function's place: others of its name, under conditions that are not known.
#[salsa::tracked(returns(ref))]
pub fn alternatives(db: &dyn Db, function: Function) -> Vec<Function> {
    let file = function.file(db);
    if !items(db, file).function(function).is_some_and(|f| f.is_conditional) {
        return vec![];
    }
    let all: Vec<Global> = meanings(db, file, function.name(db).clone(), true).iter().map(|m| global(db, m)).collect();
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

/// Libraries whose modules are known by their paths and never read.
fn is_library(path: &str) -> bool {
    matches!(path.split('.').next(), None | Some("" | "triton" | "torch" | "numpy")) || is_standard(path)
}

/// Modules that come with Python and that files around kernels use.
fn is_standard(path: &str) -> bool {
    const STANDARD: &[&str] = &[
        "__future__",
        "abc",
        "argparse",
        "ast",
        "asyncio",
        "collections",
        "contextlib",
        "copy",
        "ctypes",
        "dataclasses",
        "datetime",
        "enum",
        "functools",
        "gc",
        "hashlib",
        "importlib",
        "inspect",
        "io",
        "itertools",
        "json",
        "logging",
        "math",
        "multiprocessing",
        "operator",
        "os",
        "pathlib",
        "pickle",
        "platform",
        "random",
        "re",
        "shutil",
        "string",
        "subprocess",
        "sys",
        "tempfile",
        "textwrap",
        "threading",
        "time",
        "traceback",
        "types",
        "typing",
        "unittest",
        "uuid",
        "warnings",
        "weakref",
    ];
    path.split('.').next().is_some_and(|first| STANDARD.binary_search(&first).is_ok())
}

/// The module that an import names: a file of the workspace or of the Python environment, else a path. `None`: a relative import of nothing.
#[salsa::tracked(returns(clone))]
fn module_named(db: &dyn Db, file: SourceFile, level: u32, module: SmolStr) -> Option<Meaning> {
    // Files that come and go change the answer.
    let _ = db.settings().tree(db);
    let parts: Vec<&str> = module.split('.').filter(|p| !p.is_empty()).collect();
    let own = file.path(db).parent().unwrap_or(Path::new(""));
    if level > 0 {
        let folder = own.ancestors().nth(level as usize - 1)?;
        return find_module(db, folder, &parts).map(Meaning::File);
    }
    if is_library(&module) {
        return Some(Meaning::Path(module));
    }
    // A package's root is above it: the nearest folders that are no packages themselves.
    let is_package = |folder: &&Path| db.system().is_file(&folder.join("__init__.py"));
    let above = own.ancestors().take(12).filter(|f| !is_package(f));
    let packages = project::project(db, file).packages.iter().map(PathBuf::as_path);
    // A script's own folder counts when it is run.
    let mut folders = above.chain(packages).chain([own]);
    match folders.find_map(|folder| find_module(db, folder, &parts)) {
        Some(found) if found != file => Some(Meaning::File(found)),
        _ => Some(Meaning::Path(module)),
    }
}

pub(super) fn module_at(db: &dyn Db, file: SourceFile, level: u32, module: &str) -> Option<Meaning> {
    if level == 0 && is_library(module) {
        return Some(Meaning::Path(module.into()));
    }
    module_named(db, file, level, module.into())
}

/// The largest file that an import reads.
const LARGEST: usize = 4 << 20;

fn find_module(db: &dyn Db, folder: &Path, parts: &[&str]) -> Option<SourceFile> {
    let path: PathBuf = parts.iter().fold(folder.to_owned(), |path, part| path.join(part));
    let package = path.join("__init__.py");
    let candidates = if parts.is_empty() { vec![package] } else { vec![package, path.with_extension("py")] };
    let found = candidates.into_iter().find(|p| db.system().is_file(p)).and_then(|p| db.file(&p))?;
    (found.text(db).len() <= LARGEST).then_some(found)
}

/// What the value of a module-level assignment means.
fn value_of(db: &dyn Db, file: SourceFile, chunk: usize, body: &Body, value: ExprId) -> Global {
    if let Expr::Call { callee, args } = body.expr(value) {
        let path = path(db, file, body, *callee);
        if path.as_deref().is_some_and(|p| p == "triton.language.constexpr" || p == "triton.language.core.constexpr") {
            return match &args[..] {
                [arg] if arg.kind == ArgKind::Positional || matches!(&arg.kind, ArgKind::Keyword(k) if k == "value") => {
                    let known = fold(db, file, body, arg.value).or_else(|| crate::host::constant(db, file, chunk, arg.value));
                    known.map_or(Global::Opaque, Global::Constexpr)
                }
                _ => Global::Opaque,
            };
        }
        // `kernel = triton.jit(function)`
        if let [arg] = &args[..]
            && let Expr::Name(_) = body.expr(arg.value)
            && super::decorators::compiles(db, file, body, *callee)
            && let Some(found) = meanings_of(db, file, body, arg.value, false).first()
        {
            return match global(db, found) {
                found @ Global::Function(_) => found,
                _ => Global::Opaque,
            };
        }
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

/// The value of a module-level expression that needs nothing but literals and other such values.
fn fold(db: &dyn Db, file: SourceFile, body: &Body, expr: ExprId) -> Option<Const> {
    Folder { db, file, body, defaults: false }.fold(expr)
}

struct Folder<'a> {
    db: &'a dyn Db,
    file: SourceFile,
    body: &'a Body,
    /// Environment variables are taken not to be set.
    defaults: bool,
}

impl Folder<'_> {
    fn fold(&self, expr: ExprId) -> Option<Const> {
        stacker::maybe_grow(128 << 10, 2 << 20, || self.folded(expr))
    }

    fn path(&self, expr: ExprId) -> String {
        path(self.db, self.file, self.body, expr).unwrap_or_default()
    }

    fn folded(&self, expr: ExprId) -> Option<Const> {
        let go = |e: ExprId| self.fold(e);
        match self.body.expr(expr) {
            Expr::Int(i) => Some(Const::Int(*i)),
            Expr::Float(f) => Some(Const::float(*f)),
            Expr::Str(s) => Some(Const::Str(s.clone())),
            Expr::Bool(b) => Some(Const::Bool(*b)),
            Expr::None => Some(Const::None),
            Expr::Tuple(items) => items.iter().map(|&i| go(i)).collect::<Option<_>>().map(Const::Tuple),
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
                None => self.class_attribute(expr, false),
                found => found,
            },
            Expr::Call { callee, args } => self.call(*callee, args),
            _ => None,
        }
    }

    /// `a` or `a.b.c`
    fn named(&self, expr: ExprId) -> Option<Const> {
        let found = meanings_of(self.db, self.file, self.body, expr, false);
        match &found[..] {
            [Meaning::Path(path)] if path == "triton.__version__" => Some(Const::Str(self.triton())),
            [Meaning::Value(file, chunk, value)] if self.defaults => {
                let body = chunk_body(self.db, *file, *chunk)?;
                Folder { db: self.db, file: *file, body: &body, defaults: true }.fold(*value)
            }
            _ => constant_of(one_of(self.db, &found)),
        }
    }

    /// `Kind.FAST` of a class with constants in it; of an enumeration only with `.value`.
    fn class_attribute(&self, expr: ExprId, value: bool) -> Option<Const> {
        let Expr::Attribute { receiver, name } = self.body.expr(expr) else { return None };
        let found = meanings_of(self.db, self.file, self.body, *receiver, false);
        let [Meaning::Class(file, chunk, stmt)] = found[..] else { return None };
        let body = chunk_body(self.db, file, chunk)?;
        let Stmt::Class { bases, body: members, .. } = body.stmt(stmt) else { return None };
        let is_enum = bases.iter().any(|base| match body.expr(base.value) {
            Expr::Name(name) | Expr::Attribute { name, .. } => {
                matches!(name.as_str(), "Enum" | "IntEnum" | "StrEnum" | "IntFlag" | "Flag")
            }
            _ => false,
        });
        if is_enum != value {
            return None;
        }
        let mut assigned = members.iter().filter_map(|&member| match body.stmt(member) {
            Stmt::Assign { targets, value } => {
                matches!(&targets[..], [target] if *body.expr(*target) == Expr::Name(name.clone())).then_some(*value)
            }
            _ => None,
        });
        let value = assigned.next_back()?;
        Folder { db: self.db, file, body: &body, defaults: self.defaults }.fold(value)
    }

    /// `3.6.0`: what the package says of itself under the project's version.
    fn triton(&self) -> String {
        let version = project::triton(self.db, self.file);
        if version.matches('.').count() < 2 { format!("{version}.0") } else { version.to_owned() }
    }

    fn call(&self, callee: ExprId, args: &[crate::body::Arg]) -> Option<Const> {
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
            let known = module.starts_with("triton.language") || matches!(module.as_str(), "triton.Config" | "triton.autotune");
            return known.then(|| Const::Bool(builtins::find(&format!("{module}.{member}")).is_some()));
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
            (_, "math.log", [x]) => x.as_float().map(|x| Const::float(x.ln())),
            (_, "math.log2", [x]) => x.as_float().map(|x| Const::float(x.log2())),
            (_, "math.sqrt", [x]) => x.as_float().map(|x| Const::float(x.sqrt())),
            (_, "triton.next_power_of_2", [x]) => next_power_of_2(x.as_int()?).map(Const::Int),
            (_, "triton.cdiv", [a, b]) => cdiv(a.as_int()?, b.as_int()?).map(Const::Int),
            (_, "os.environ.get" | "os.getenv", [_, default]) if self.defaults => Some(default.clone()),
            (_, "os.environ.get" | "os.getenv", [_]) if self.defaults => Some(Const::None),
            (_, "packaging.version.parse" | "packaging.version.Version", [Const::Str(text)]) => version_number(text),
            _ => None,
        }
    }
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
