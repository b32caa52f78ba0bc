//! Imports of what the chosen Triton does not have.
//!
//! **Invariant:** told only where the import surely runs and fails: a statement of the module itself, under no condition, no `try` and in no
//! function.

use super::{Diagnostic, plain};
use crate::{
    Db, SourceFile,
    body::{Stmt, StmtId},
    diagnostics::Code,
    items::{chunk_body, chunk_count, chunk_map, in_file, is_for_other_device, patched},
    project,
    versions::{self, Availability},
};

/// What is wrong with one import, without its place.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Failing {
    chunk: usize,
    stmt: StmtId,
    code: Code,
    message: String,
}

pub(super) fn failing_imports(db: &dyn Db, file: SourceFile) -> impl Iterator<Item = Diagnostic> {
    failing(db, file).iter().filter_map(move |found| {
        let (start, map) = chunk_map(db, file, found.chunk)?;
        let range = in_file(start, *map.stmts.get(found.stmt.0 as usize)?);
        Some(plain(found.code, found.message.clone(), range))
    })
}

#[salsa::tracked(returns(ref))]
fn failing(db: &dyn Db, file: SourceFile) -> Vec<Failing> {
    let triton = project::triton(db, file);
    let mut out = Vec::new();
    // Its Triton is another.
    if is_for_other_device(db, file) {
        return out;
    }
    for chunk in 0..chunk_count(db, file) {
        let Some(body) = chunk_body(db, file, chunk) else { continue };
        for &stmt in &body.root {
            let found = match body.stmt(stmt) {
                Stmt::Import { modules } => modules.iter().find_map(|module| why_failing(&module.path, triton)),
                // A member is not looked for where its module is missing.
                Stmt::ImportFrom { level: 0, module, names } => why_failing(module, triton).or_else(|| {
                    let given = patched(db, file);
                    let names = names.iter().map(|name| &name.path).filter(|name| !given.contains(*name));
                    names.map(|name| format!("{module}.{name}")).find_map(|path| why_failing(&path, triton))
                }),
                _ => None,
            };
            out.extend(found.map(|(code, message)| Failing { chunk, stmt, code, message }));
        }
    }
    out
}

fn why_failing(path: &str, triton: &str) -> Option<(Code, String)> {
    if !path.starts_with("triton.") || versions::has(path, triton) != Some(false) {
        return None;
    }
    match versions::availability(path, triton) {
        Availability::Removed { version, instead } => {
            let advice = instead.map(|instead| format!("; use {instead}")).unwrap_or_default();
            Some((Code::VER001, format!("`{path}` is gone since Triton {version}, so this import fails with {triton}{advice}")))
        }
        Availability::NotYet { version } => Some((
            Code::VER002,
            format!(
                "`{path}` comes with Triton {version}, so this import fails with {triton}: say which one you use with `--triton` or `[tool.tritium]`"
            ),
        )),
        Availability::Never => Some((Code::LNG010, format!("no Triton has `{path}`: this import fails"))),
        Availability::Present | Availability::Deprecated { .. } | Availability::Leaving { .. } | Availability::Unknown => None,
    }
}
