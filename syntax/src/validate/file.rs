//! Rules that look at more than one statement of a file: `from __future__`, and `global` outside functions.

use super::{Findings, names};
use crate::ast::{AstNode, ImportFromStmt};
use crate::kind::SyntaxKind::*;
use crate::tree::SyntaxNode;
use crate::{Parse, PythonVersion, SyntaxError};

const FEATURES: &[&str] = &[
    "nested_scopes",
    "generators",
    "division",
    "absolute_import",
    "with_statement",
    "print_function",
    "unicode_literals",
    "barry_as_FLUFL",
    "generator_stop",
    "annotations",
];

fn is_future(import: &ImportFromStmt) -> bool {
    import.level() == 0 && import.module().is_some_and(|module| module.text() == "__future__")
}

/// Features that do not exist, and such imports inside other statements.
pub(super) fn future_import(f: &mut Findings, node: &SyntaxNode) {
    let Some(import) = ImportFromStmt::cast(node.clone()).filter(is_future) else { return };
    if node.parent().and_then(|line| line.parent()).is_none_or(|outer| outer.kind() != MODULE) {
        return f.report(node.text_range(), LATE);
    }
    if let Some(star) = node.children_with_tokens().find(|element| element.kind() == STAR) {
        f.report(star.text_range(), "`from __future__` must name its features");
    }
    for path in import.import_aliases().filter_map(|alias| alias.path()) {
        let name = path.text();
        if !FEATURES.contains(&name.as_str()) {
            f.report(path.range(), format!("Python has no future feature `{name}`"));
        }
    }
}

const LATE: &str = "`from __future__` must stand before all other statements of the file";

/// The rules over the chunks of a whole file; ranges count from the start of the file.
pub(crate) fn across_chunks(whole: &Parse, version: PythonVersion) -> Vec<SyntaxError> {
    let root = whole.syntax();
    let mut findings = Findings::new(version);
    let mut at_start = true;
    let mut has_global = false;
    let mut is_first = true;
    for statement in root.children() {
        if statement.kind() != SIMPLE_STMTS {
            (at_start, is_first) = (false, false);
            has_global |= !matches!(statement.kind(), FUNCTION_DEF | CLASS_DEF)
                && statement.descendants().any(|node| node.kind() == GLOBAL_STMT);
            continue;
        }
        for small in statement.children() {
            has_global |= small.kind() == GLOBAL_STMT;
            let is_docstring = is_first
                && small.kind() == EXPR_STMT
                && small.first_child().is_some_and(|value| value.kind() == STRING_EXPR && is_plain(&value));
            is_first = false;
            match ImportFromStmt::cast(small.clone()).filter(is_future) {
                Some(_) if !at_start => findings.report(small.text_range(), LATE),
                Some(_) => {}
                None => at_start &= is_docstring,
            }
        }
    }
    if has_global {
        names::global_in_file(&mut findings, &root);
    }
    findings.errors
}

fn is_plain(string: &SyntaxNode) -> bool {
    string.children().all(|part| part.kind() == STRING_LITERAL)
}
