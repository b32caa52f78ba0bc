//! From a module-level name to what it may stand for: imports and other names for the same thing are followed through files.
//!
//! Asks [`declared`] for what names are bound to, never the bodies of functions. **Invariants:** no meaning at all means that the file does
//! not bind the name; what it binds in a way that is not followed is [`Meaning::Opaque`]; of several ways to be bound, those whose
//! conditions are known not to hold are out. Nothing here runs host code, which asks here: who stands above host code and may run it to
//! decide a condition follows names in the same way, by [`Conditions`] of its own.

use std::path::{Path, PathBuf};

use smol_str::SmolStr;

use super::{
    chunk_body, conventional,
    declare::{Binding, Bound, Condition, declared},
    search_path,
    values::{self, Asked, folded},
};
use crate::{
    Db, SourceFile,
    body::{Body, Expr, ExprId},
    constant::{Const, python},
    dtype::DType,
    project, versions,
};

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

/// Who decides the conditions that names are bound under.
pub(crate) trait Conditions {
    /// What a module-level name may stand for after the first `count` of its bindings, or after all; the likeliest first.
    fn meanings_after(db: &dyn Db, file: SourceFile, name: SmolStr, count: Option<usize>) -> &[Meaning];
    /// Whether a condition is true whose value does not fold.
    fn is_true(db: &dyn Db, file: SourceFile, chunk: usize, expr: ExprId) -> Option<bool>;
}

/// Folding decides alone.
pub(crate) enum Folding {}

impl Conditions for Folding {
    fn meanings_after(db: &dyn Db, file: SourceFile, name: SmolStr, count: Option<usize>) -> &[Meaning] {
        meanings_by_folding(db, file, name, count)
    }

    fn is_true(_: &dyn Db, _: SourceFile, _: usize, _: ExprId) -> Option<bool> {
        None
    }
}

#[salsa::tracked(returns(deref), cycle_result = circular)]
fn meanings_by_folding(db: &dyn Db, file: SourceFile, name: SmolStr, count: Option<usize>) -> Vec<Meaning> {
    follow::<Folding>(db, file, &name, count)
}

/// What a name means that is imported in a circle.
pub(crate) fn circular(_: &dyn Db, _: salsa::Id, _: SourceFile, _: SmolStr, _: Option<usize>) -> Vec<Meaning> {
    vec![Meaning::Opaque]
}

/// What a module-level name may stand for once the module has run, the likeliest first; empty if the file does not bind it.
pub(crate) fn meanings<C: Conditions>(db: &dyn Db, file: SourceFile, name: SmolStr) -> &[Meaning] {
    C::meanings_after(db, file, name, None)
}

/// The same after the first `count` of the name's bindings, worked out.
pub(crate) fn follow<C: Conditions>(db: &dyn Db, file: SourceFile, name: &SmolStr, count: Option<usize>) -> Vec<Meaning> {
    // Imports lead from file to file.
    stacker::maybe_grow(256 << 10, 4 << 20, || ways_followed::<C>(db, file, name, count, None))
}

/// What a module-level name may stand for to a definition, an index into those of the file: where it is, the conditions around it hold.
pub(crate) fn meanings_beside<C: Conditions>(db: &dyn Db, file: SourceFile, name: &SmolStr, definition: usize) -> Vec<Meaning> {
    let beside = declared(db, file).definitions.get(definition).and_then(|definition| definition.branch);
    ways_followed::<C>(db, file, name, None, beside)
}

fn ways_followed<C: Conditions>(
    db: &dyn Db,
    file: SourceFile,
    name: &SmolStr,
    count: Option<usize>,
    beside: Option<usize>,
) -> Vec<Meaning> {
    let ways = declared(db, file).ways(name, count);
    if ways.is_empty() {
        return through_stars::<C>(db, file, name);
    }
    let mut found: Vec<(Rank, Meaning)> = Vec::new();
    for way in ways {
        let rank = match truth_of::<C>(db, file, way, beside) {
            Truth::True => {
                found.clear();
                Rank::default()
            }
            Truth::False => continue,
            Truth::Unknown { unlikely } => Rank { unlikely, ..Rank::default() },
        };
        let imported = matches!(way.to, Bound::Module(_) | Bound::Member { .. });
        for meaning in followed::<C>(db, file, name, &way.to) {
            // What is imported is what is meant: `try: import x` / `except ImportError: x = None`.
            let rank = Rank { absent: is_absent(db, file, &meaning), made_up: !imported, ..rank };
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

fn is_absent(db: &dyn Db, file: SourceFile, meaning: &Meaning) -> bool {
    match meaning {
        Meaning::Path(path) if path.starts_with("triton.") => versions::has(path, project::triton(db, file)) == Some(false),
        _ => false,
    }
}

fn through_stars<C: Conditions>(db: &dyn Db, file: SourceFile, name: &SmolStr) -> Vec<Meaning> {
    for (level, module) in &declared(db, file).stars {
        match module_at(db, file, *level, module) {
            Some(Meaning::File(other)) if other != file => {
                let found = meanings::<C>(db, other, name.clone());
                if !found.is_empty() {
                    return found.to_vec();
                }
            }
            Some(Meaning::Path(path)) if path.starts_with("triton") => {
                let path = join(&path, name);
                if !name.starts_with('_') && versions::has(&path, project::triton(db, file)) == Some(true) {
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
enum Truth {
    True,
    False,
    Unknown { unlikely: bool },
}

/// Conditions around one binding that are asked; with more, the others may hold or not.
const MAX_CONDITIONS: usize = 128;

/// The conditions of the branch that it is asked `beside` hold.
fn truth_of<C: Conditions>(db: &dyn Db, file: SourceFile, way: &Binding, beside: Option<usize>) -> Truth {
    let (mut open, mut unlikely) = (false, false);
    let declared = declared(db, file);
    let given: Vec<Condition> = declared.conditions(beside).filter(|given| given.expr.is_some()).take(MAX_CONDITIONS).collect();
    for (nth, condition) in declared.conditions(way.branch).enumerate() {
        if nth == MAX_CONDITIONS {
            open = true;
            break;
        }
        match given.iter().find(|given| (given.chunk, given.expr) == (condition.chunk, condition.expr)) {
            Some(given) if given.holds == condition.holds => continue,
            Some(_) => return Truth::False,
            None => {}
        }
        let is_true = |asked| condition.expr.and_then(|expr| Some(folded(db, file, condition.chunk, expr, asked)?.truth()));
        let run = || C::is_true(db, file, condition.chunk, condition.expr?);
        match is_true(Asked::Items).or_else(run).map(|is_true| is_true == condition.holds) {
            Some(true) => {}
            Some(false) => return Truth::False,
            None => {
                open = true;
                unlikely |= is_true(Asked::Defaults).is_some_and(|is_true| is_true != condition.holds);
            }
        }
    }
    if open { Truth::Unknown { unlikely } } else { Truth::True }
}

fn followed<C: Conditions>(db: &dyn Db, file: SourceFile, name: &SmolStr, bound: &Bound) -> Vec<Meaning> {
    match bound {
        Bound::Module(path) => module_at(db, file, 0, path).into_iter().collect(),
        Bound::Member { level, module, member } => match module_at(db, file, *level, module) {
            Some(Meaning::File(other)) if other == file && member == name => vec![Meaning::Opaque],
            Some(Meaning::File(other)) => members::<C>(db, other, member),
            Some(Meaning::Path(path)) => vec![member_of_path(db, file, &path, member)],
            // A folder without `__init__.py` has modules all the same.
            None => vec![module_at(db, file, *level, &join(module, member)).unwrap_or(Meaning::Opaque)],
            Some(_) => vec![Meaning::Opaque],
        },
        Bound::Definition(index) => vec![Meaning::Definition(file, *index)],
        Bound::Class { chunk, stmt } => vec![Meaning::Class(file, *chunk, *stmt)],
        Bound::Value { chunk, value } => {
            let Some(body) = chunk_body(db, file, *chunk) else { return vec![Meaning::Opaque] };
            // Another name for something.
            match body.expr(*value) {
                Expr::Name(_) | Expr::Attribute { .. } => {
                    let Some(time) = values::time_of(db, file, *chunk, *value) else { return vec![Meaning::Opaque] };
                    let found = meanings_at::<C>(db, file, &body, *value, Some(time));
                    // What is no name for anything may still have a value: a member of a class.
                    let is_name = found.iter().any(|meaning| *meaning != Meaning::Opaque);
                    if is_name { found } else { vec![Meaning::Value(file, *chunk, *value)] }
                }
                _ => vec![Meaning::Value(file, *chunk, *value)],
            }
        }
        Bound::Opaque => vec![Meaning::Opaque],
    }
}

/// What `a.b.c` may stand for in a module's scope when its statements have come as far as `time`, or once they all have run; empty if
/// nothing known is bound to `a`.
pub(super) fn meanings_at<C: Conditions>(
    db: &dyn Db,
    file: SourceFile,
    body: &Body,
    expr: ExprId,
    time: Option<u32>,
) -> Vec<Meaning> {
    match body.expr(expr) {
        Expr::Name(name) => {
            let declared = declared(db, file);
            // What is bound later on makes no difference to the question.
            let count = time.map(|time| declared.bound_before(name, time));
            let count = count.filter(|&count| count < declared.names.get(name).map_or(0, Vec::len));
            let found = C::meanings_after(db, file, name.clone(), count);
            if found.is_empty() {
                // A snippet without its imports still says what it means.
                return conventional(name).map(|path| Meaning::Path(path.into())).into_iter().collect();
            }
            found.to_vec()
        }
        Expr::Attribute { receiver, name } => {
            let mut out = Vec::new();
            for receiver in meanings_at::<C>(db, file, body, *receiver, time) {
                let found = match receiver {
                    Meaning::Path(path) => vec![member_of_path(db, file, &path, name)],
                    Meaning::File(other) => members::<C>(db, other, name),
                    _ => vec![Meaning::Opaque],
                };
                for meaning in found {
                    if !out.contains(&meaning) {
                        out.push(meaning);
                    }
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
    followed::<Folding>(db, file, &SmolStr::default(), &bound).into_iter().next()
}

/// The full path outside the workspace that `a.b.c` means, where it means one.
pub(crate) fn path(db: &dyn Db, file: SourceFile, body: &Body, expr: ExprId) -> Option<String> {
    path_at(db, file, body, expr, None)
}

pub(super) fn path_at(db: &dyn Db, file: SourceFile, body: &Body, expr: ExprId, time: Option<u32>) -> Option<String> {
    match meanings_at::<Folding>(db, file, body, expr, time).first()? {
        Meaning::Path(path) => Some(path.to_string()),
        _ => None,
    }
}

/// `name` of a workspace module: a name it binds, or a module beside it.
pub(crate) fn members<C: Conditions>(db: &dyn Db, file: SourceFile, name: &str) -> Vec<Meaning> {
    let found = meanings::<C>(db, file, name.into());
    if !found.is_empty() {
        return found.to_vec();
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

/// The value of a library's member, by its full path.
pub(crate) fn constant_at(path: &str) -> Option<Const> {
    let dtype = || path.strip_prefix("torch.").and_then(DType::from_name).or_else(|| language_dtype(path)).map(Const::DType);
    python::math_constant(path).or_else(dtype)
}

pub(crate) fn language_dtype(path: &str) -> Option<DType> {
    let name = path.strip_prefix("triton.language.")?;
    let name = name.strip_prefix("core.").unwrap_or(name);
    // Python's own words are functions there, not types.
    if matches!(name, "int" | "float" | "bool" | "long" | "short" | "double" | "half") { None } else { DType::from_name(name) }
}

fn join(module: &str, member: &str) -> String {
    if module.is_empty() { member.to_owned() } else { [module, ".", member].concat() }
}

/// Libraries whose modules are known by their paths and never read; torch's private ones hold Triton functions.
fn is_library(path: &str) -> bool {
    let mut parts = path.split('.');
    match parts.next() {
        Some("torch") => !parts.any(|part| part.starts_with('_')),
        None | Some("" | "triton" | "numpy" | "pytest") => true,
        _ => is_standard(path),
    }
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
    let added = search_path::added(db, file);
    let [before, behind] = [&added.before, &added.behind].map(|folders| folders.iter().map(PathBuf::as_path));
    // A script's own folder counts when it is run.
    let mut folders = before.chain(above).chain(packages).chain([own]).chain(behind);
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
