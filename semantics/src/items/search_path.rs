//! The folders that a file adds to `sys.path` at its top, so that what it imports is found where Python finds it.
//!
//! **Invariant:** a folder is found from the file's own path and from text alone; what asks the machine (`os.getcwd`, variables of the
//! environment) is unknown and adds nothing.

use std::path::{Path, PathBuf};

use super::{
    chunk_body,
    declare::{Bound, declared},
    module_blocks,
};
use crate::{
    Db, SourceFile,
    body::{BinaryOp, Body, Expr, ExprId, Stmt, StmtId},
    project::normal,
};

/// Folders before and behind those that are searched anyway, in their order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Added {
    pub before: Vec<PathBuf>,
    pub behind: Vec<PathBuf>,
}

/// Folders that one file adds.
const MAX_ADDED: usize = 16;

/// Names and calls between a path and the file's own.
const MAX_DEPTH: usize = 24;

#[salsa::tracked(returns(ref))]
pub(super) fn added(db: &dyn Db, file: SourceFile) -> Added {
    let mut out = Added::default();
    // Most files are not looked through.
    let text = file.text(db);
    if !text.contains("sys.path") && !text.contains("addsitedir") {
        return out;
    }
    for chunk in 0..super::chunk_count(db, file) {
        let Some(body) = chunk_body(db, file, chunk) else { continue };
        read_block(&Paths { db, file, body: &body }, &body.root, &mut out);
    }
    out.before.truncate(MAX_ADDED);
    out.behind.truncate(MAX_ADDED);
    out
}

fn read_block(paths: &Paths<'_>, stmts: &[StmtId], out: &mut Added) {
    let body = paths.body;
    for &stmt in stmts {
        match body.stmt(stmt) {
            // `sys.path += [folder]`
            Stmt::AugAssign { target, value, .. } if is_search_path(body, *target) => out.behind.extend(paths.of_list(*value)),
            Stmt::Expr(call) => {
                let Expr::Call { callee, args } = body.expr(*call) else { continue };
                let Expr::Attribute { receiver, name } = body.expr(*callee) else { continue };
                let args: Vec<ExprId> = args.iter().map(|arg| arg.value).collect();
                match (name.as_str(), &args[..]) {
                    ("insert", [at, folder]) if is_search_path(body, *receiver) => {
                        let found = paths.of(*folder, 0);
                        if *body.expr(*at) == Expr::Int(0) {
                            // The last to be put first is first.
                            found.into_iter().for_each(|folder| out.before.insert(0, folder));
                        } else {
                            out.before.extend(found);
                        }
                    }
                    ("append", [folder]) if is_search_path(body, *receiver) => out.behind.extend(paths.of(*folder, 0)),
                    ("extend", [folders]) if is_search_path(body, *receiver) => out.behind.extend(paths.of_list(*folders)),
                    ("addsitedir", [folder]) => out.behind.extend(paths.of(*folder, 0)),
                    _ => {}
                }
            }
            stmt => module_blocks(stmt).into_iter().for_each(|block| read_block(paths, block, out)),
        }
    }
}

fn is_search_path(body: &Body, expr: ExprId) -> bool {
    matches!(body.expr(expr), Expr::Attribute { receiver, name } if name == "path" && matches!(body.expr(*receiver), Expr::Name(sys) if sys == "sys"))
}

/// Paths that expressions of a module give.
struct Paths<'a> {
    db: &'a dyn Db,
    file: SourceFile,
    body: &'a Body,
}

impl Paths<'_> {
    fn of_list(&self, expr: ExprId) -> Vec<PathBuf> {
        match self.body.expr(expr) {
            Expr::List(items) | Expr::Tuple(items) => items.iter().filter_map(|&item| self.of(item, 0)).collect(),
            _ => vec![],
        }
    }

    /// A folder as it is from the root; a relative one counts from the file's own, where scripts are run.
    fn of(&self, expr: ExprId, depth: usize) -> Option<PathBuf> {
        let own = self.file.path(self.db).parent()?;
        Some(normal(&own.join(self.value(expr, depth)?)))
    }

    fn value(&self, expr: ExprId, depth: usize) -> Option<PathBuf> {
        if depth > MAX_DEPTH {
            return None;
        }
        let deeper = |expr| self.value(expr, depth + 1);
        match self.body.expr(expr) {
            Expr::Str(text) => Some(PathBuf::from(text)),
            Expr::Name(name) if name == "__file__" => Some(self.file.path(self.db).clone()),
            Expr::Name(name) => {
                let [way] = declared(self.db, self.file).ways(name, None) else { return None };
                let Bound::Value { chunk, value } = way.to else { return None };
                let body = chunk_body(self.db, self.file, chunk)?;
                Paths { body: &body, ..*self }.value(value, depth + 1)
            }
            // `Path(__file__).parent`
            Expr::Attribute { receiver, name } if name == "parent" => parent(&deeper(*receiver)?),
            Expr::Subscript { receiver, index } => {
                let (Expr::Attribute { receiver, name }, Expr::Int(nth)) = (self.body.expr(*receiver), self.body.expr(*index))
                else {
                    return None;
                };
                let count = usize::try_from(*nth).ok().filter(|_| name == "parents")?;
                deeper(*receiver)?.ancestors().nth(count + 1).map(Path::to_owned)
            }
            Expr::Attribute { receiver, name }
                if name == "pardir" && matches!(self.body.expr(*receiver), Expr::Name(os) if os == "os") =>
            {
                Some(PathBuf::from(".."))
            }
            Expr::Binary { op: BinaryOp::Div, lhs, rhs } => Some(deeper(*lhs)?.join(deeper(*rhs)?)),
            Expr::Binary { op: BinaryOp::Add, lhs, rhs } => {
                let mut text = deeper(*lhs)?.into_os_string();
                text.push(deeper(*rhs)?);
                Some(PathBuf::from(text))
            }
            Expr::Call { callee, args } => {
                let args: Vec<ExprId> = args.iter().map(|arg| arg.value).collect();
                match (self.body.expr(*callee), &args[..]) {
                    (Expr::Attribute { name, .. } | Expr::Name(name), [path])
                        if matches!(&**name, "abspath" | "realpath" | "normpath" | "Path" | "PurePath" | "str" | "fspath") =>
                    {
                        deeper(*path)
                    }
                    (Expr::Attribute { name, .. } | Expr::Name(name), [path]) if name == "dirname" => parent(&deeper(*path)?),
                    (Expr::Attribute { receiver, name }, []) if matches!(&**name, "resolve" | "absolute" | "as_posix") => {
                        deeper(*receiver)
                    }
                    (Expr::Attribute { receiver, name }, parts) if name == "joinpath" => {
                        joined(deeper(*receiver)?, parts, deeper)
                    }
                    // `", ".join(…)` has one argument.
                    (Expr::Attribute { name, .. } | Expr::Name(name), [first, parts @ ..])
                        if name == "join" && !parts.is_empty() =>
                    {
                        joined(deeper(*first)?, parts, deeper)
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }
}

/// The folder around a path; that of a bare name is the file's own.
fn parent(path: &Path) -> Option<PathBuf> {
    normal(path).parent().map(Path::to_owned)
}

fn joined(first: PathBuf, parts: &[ExprId], value: impl Fn(ExprId) -> Option<PathBuf>) -> Option<PathBuf> {
    parts.iter().try_fold(first, |path, &part| Some(path.join(value(part)?)))
}
