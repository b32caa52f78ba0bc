// Feature: Symbols
//
//! The outline of a file: kernels with their configurations, helpers, launches, classes and functions; and the same across the workspace.

use std::{
    ops::Range,
    path::{Path, PathBuf},
};

use tritium_semantics::{SourceFile, host, items};
use tritium_syntax::{AstNode, PythonVersion, TextRange, ast};

use crate::{
    Analysis,
    naming::{ScopeId, ScopeKind, names},
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SymbolKind {
    Kernel,
    Helper,
    Function,
    Class,
    Configuration,
    Launch,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Outline {
    pub name: String,
    pub detail: String,
    pub kind: SymbolKind,
    pub range: Range<usize>,
    /// The name itself.
    pub selection: Range<usize>,
    pub children: Vec<Outline>,
}

/// A symbol of the workspace.
#[derive(Debug, Clone, PartialEq)]
pub struct Located {
    pub name: String,
    pub kind: SymbolKind,
    pub path: PathBuf,
    pub range: Range<usize>,
}

/// Symbols that one query answers with.
const MAX_SYMBOLS: usize = 256;

impl Analysis {
    pub fn document_symbols(&self, path: &Path) -> Vec<Outline> {
        let Some(file) = self.file(path) else { return Vec::new() };
        self.outline(file, 0)
    }

    fn outline(&self, file: SourceFile, parent: ScopeId) -> Vec<Outline> {
        let db = self.db();
        let names = names(db, file);
        let kernels = items::kernels(db, file);
        let functions = &items::items(db, file).functions;
        let mut out = Vec::new();
        for (id, scope) in names.scopes.iter().enumerate() {
            let (true, Some((name, selection))) = (scope.parent == parent && id != parent, &scope.name) else { continue };
            let made = functions.iter().find(|f| self.name_range(f.function).as_ref() == Some(selection));
            let kind = match (scope.kind, made) {
                (ScopeKind::Class, _) => SymbolKind::Class,
                (_, Some(f)) if kernels.contains(&f.function) => SymbolKind::Kernel,
                (_, Some(_)) => SymbolKind::Helper,
                _ => SymbolKind::Function,
            };
            let params: Vec<&str> = scope.params.iter().map(|(name, _)| name.as_str()).collect();
            let mut children = Vec::new();
            if let (SymbolKind::Kernel, Some(f)) = (kind, made) {
                children.extend(self.tuning_rows(file, id, f.function, selection));
            }
            // A kernel's inner functions and a helper's are Python's own affair.
            children.extend(self.outline(file, id));
            out.push(Outline {
                name: name.to_string(),
                detail: if scope.kind == ScopeKind::Class { String::new() } else { format!("({})", params.join(", ")) },
                kind,
                range: scope.range.clone(),
                selection: selection.clone(),
                children,
            });
        }
        for call in names.calls.iter().filter(|c| c.grid.is_some()) {
            let holder = self.definition_around(&names.scopes, call.scope);
            if holder == parent {
                out.push(Outline {
                    name: call.callee.join("."),
                    detail: "launch".to_owned(),
                    kind: SymbolKind::Launch,
                    range: call.range.clone(),
                    selection: call.callee_range.clone(),
                    children: Vec::new(),
                });
            }
        }
        out.sort_by_key(|o| (o.range.start, o.selection.start));
        out
    }

    /// The function or class that a scope is in; comprehensions and lambdas have no place in an outline.
    fn definition_around(&self, scopes: &[crate::naming::Scope], mut id: ScopeId) -> ScopeId {
        while matches!(scopes[id].kind, ScopeKind::Lambda | ScopeKind::Comprehension) {
            id = scopes[id].parent;
        }
        id
    }

    /// The rows of `@triton.autotune`, each at the `Config(…)` that makes it where the list is written out.
    fn tuning_rows(
        &self,
        file: SourceFile,
        scope: ScopeId,
        kernel: tritium_semantics::Function,
        selection: &Range<usize>,
    ) -> Vec<Outline> {
        let db = self.db();
        let rows = host::configs(db, kernel);
        let written = self.written_rows(file, &names(db, file).scopes[scope].range, kernel);
        let place =
            |i: usize| written.as_ref().map_or_else(|| (selection.clone(), selection.clone()), |written| written[i].clone());
        let row = |(i, config): (usize, &host::Config)| {
            let (range, selection) = place(i);
            let meta = config.meta.0.iter().map(|(name, value)| format!("{name}={value}"));
            let warps = config.options.num_warps.map(|n| format!("num_warps={n}"));
            let stages = config.options.num_stages.map(|n| format!("num_stages={n}"));
            let detail = meta.chain(warps).chain(stages).collect::<Vec<_>>().join(", ");
            Outline {
                name: format!("configuration {i}"),
                detail,
                kind: SymbolKind::Configuration,
                range,
                selection,
                children: vec![],
            }
        };
        rows.iter().enumerate().map(row).collect()
    }

    /// The `Config(…)` that makes each row of a kernel's tuner, with its callee, where the list is written out around the kernel's `def`.
    pub(crate) fn written_rows(
        &self,
        file: SourceFile,
        around: &Range<usize>,
        kernel: tritium_semantics::Function,
    ) -> Option<Vec<(Range<usize>, Range<usize>)>> {
        let names = names(self.db(), file);
        let is_row = |c: &&crate::naming::Call| {
            c.callee.last().is_some_and(|n| n == "Config") && around.start <= c.range.start && c.range.end <= around.end
        };
        let written: Vec<_> = names.calls.iter().filter(is_row).map(|c| (c.range.clone(), c.callee_range.clone())).collect();
        (written.len() == host::configs(self.db(), kernel).len()).then_some(written)
    }

    /// Kernels, helpers and launches of the workspace whose names hold the query's letters in order. Files are read and let go again.
    pub fn workspace_symbols(&self, query: &str) -> Vec<Located> {
        let mut out = Vec::new();
        for path in self.workspace_files(None) {
            salsa::Database::unwind_if_revision_cancelled(self.db());
            let Some(text) = self.glance(&path).filter(|text| text.contains("triton")) else { continue };
            let tree = tritium_syntax::parse(&text, PythonVersion::default()).syntax();
            for node in tree.descendants() {
                let Some((name, kind, range)) = triton_symbol(&node) else { continue };
                if holds_in_order(&name, query) {
                    let range = usize::from(range.start())..usize::from(range.end());
                    out.push(Located { name, kind, path: path.clone(), range });
                }
            }
            if out.len() >= MAX_SYMBOLS {
                break;
            }
        }
        // The whole word first, then what begins with it.
        let rank =
            |name: &str| (!name.eq_ignore_ascii_case(query), !name.to_lowercase().starts_with(&query.to_lowercase()), name.len());
        out.sort_by(|a, b| {
            rank(&a.name).cmp(&rank(&b.name)).then_with(|| (&a.path, a.range.start).cmp(&(&b.path, b.range.start)))
        });
        out.truncate(MAX_SYMBOLS);
        out
    }
}

/// A `@triton.jit` function or a launch.
fn triton_symbol(node: &tritium_syntax::SyntaxNode) -> Option<(String, SymbolKind, TextRange)> {
    if let Some(def) = ast::FunctionDef::cast(node.clone()) {
        let texts: Vec<String> = def.decorators().map(|d| d.syntax().text().to_string()).collect();
        let is_jit = texts.iter().any(|t| t.contains("jit") || t.contains("constexpr_function"));
        let is_tuned = texts.iter().any(|t| t.contains("autotune") || t.contains("heuristics"));
        let returns = def
            .body()
            .is_some_and(|body| body.syntax().descendants().filter_map(ast::ReturnStmt::cast).any(|r| r.expr().is_some()));
        let kind = if is_tuned || !returns { SymbolKind::Kernel } else { SymbolKind::Helper };
        let name = def.name()?;
        return is_jit.then(|| (name.text(), kind, name.range()));
    }
    let call = ast::CallExpr::cast(node.clone())?;
    let Some(ast::Expr::SubscriptExpr(launch)) = call.callee() else { return None };
    let receiver = launch.receiver()?;
    let name = match &receiver {
        ast::Expr::NameExpr(name) => name.text(),
        ast::Expr::AttributeExpr(attribute) => attribute.name()?.text(),
        _ => return None,
    };
    Some((format!("{name}[…]"), SymbolKind::Launch, receiver.range()))
}

/// `smk` finds `softmax_kernel`.
fn holds_in_order(name: &str, query: &str) -> bool {
    let mut letters = name.chars().flat_map(char::to_lowercase);
    query.chars().flat_map(char::to_lowercase).all(|wanted| letters.any(|c| c == wanted))
}
