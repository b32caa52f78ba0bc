//! Kernels in string literals, which somebody executes or writes out: the text of such a literal is a module, and a file of its own.
//!
//! **Invariant:** a module has the bytes of its literal behind a few of ours, so a place in it is a place in the literal; literals with escapes
//! or with parts to be filled in, and those that are no Python, are none and stay counted as [`super::Unchecked`].

use std::ops::Range;

use super::{chunks, in_file, items, lowered, unchecked};
use crate::{Db, Function, SourceFile};

/// A literal that holds a module.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Literal {
    /// Bytes of the file.
    range: Range<usize>,
    /// Where its text begins.
    start: usize,
    /// What the module has before that text.
    prefix: String,
    kernels: usize,
}

/// A module in a string literal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StringModule {
    pub file: SourceFile,
    /// The literal: bytes of the file that it stands in.
    pub literal: Range<usize>,
    /// Bytes of the file before those of the module, and bytes of the module that are not the literal's.
    start: usize,
    prefix: usize,
}

impl StringModule {
    /// A range of the module as a range of the file that the literal stands in.
    pub fn outside(&self, range: &Range<usize>) -> Option<Range<usize>> {
        let at = |offset: usize| Some(self.start + offset.checked_sub(self.prefix)?);
        Some(at(range.start)?..at(range.end)?)
    }
}

/// The modules in a file's string literals.
#[salsa::tracked(returns(ref))]
pub fn string_modules(db: &dyn Db, file: SourceFile) -> Vec<StringModule> {
    let mut out = Vec::new();
    for (nth, (literal, text)) in literals(db, file).iter().zip(texts(db, file)).enumerate() {
        let module = db.string_file(file, nth, text);
        let is_whole = chunks(db, module).iter().all(|(_, chunk)| lowered(db, *chunk).errors.is_empty());
        if is_whole && items(db, module).functions.len() == literal.kernels {
            let (start, prefix) = (literal.start, literal.prefix.len());
            out.push(StringModule { file: module, literal: literal.range.clone(), start, prefix });
        }
    }
    out
}

/// The kernels of the modules in a file's string literals.
pub fn string_kernels(db: &dyn Db, file: SourceFile) -> impl Iterator<Item = Function> {
    string_modules(db, file).iter().flat_map(|module| super::kernels(db, module.file).iter().copied())
}

/// The texts of the modules, as far as the literals show.
#[salsa::tracked(returns(ref))]
pub(crate) fn texts(db: &dyn Db, file: SourceFile) -> Vec<String> {
    let whole = file.text(db);
    let text = |literal: &Literal| {
        let content = whole.get(literal.start..literal.range.end - QUOTE)?;
        Some(format!("{}{content}", literal.prefix))
    };
    literals(db, file).iter().map(|literal| text(literal).unwrap_or_default()).collect()
}

/// Bytes of the quotes around a literal of several lines.
const QUOTE: usize = 3;

/// Literals of one file that are looked into: generated code has hundreds.
const MAX_MODULES: usize = 64;

#[salsa::tracked(returns(ref))]
fn literals(db: &dyn Db, file: SourceFile) -> Vec<Literal> {
    let mut out = Vec::new();
    for (start, chunk) in chunks(db, file) {
        for (expr, kernels) in unchecked::texts_with_kernels(db, *chunk) {
            let Some(range) = lowered(db, *chunk).map.exprs.get(expr.0 as usize) else { continue };
            let range = in_file(*start, *range);
            if let Some(source) = file.text(db).get(range.clone())
                && let Some((inside, prefix)) = module_in(source)
            {
                out.push(Literal { start: range.start + inside, range, prefix, kernels });
            }
        }
    }
    out.truncate(MAX_MODULES);
    out
}

/// Where the text of a module begins in a literal, and what must stand before it.
fn module_in(source: &str) -> Option<(usize, String)> {
    let quotes = source.find(['"', '\''])?;
    let is_raw = source[..quotes].contains(['r', 'R']);
    let quote = source.get(quotes..quotes + QUOTE).filter(|quote| matches!(*quote, "\"\"\"" | "'''"))?;
    let mut start = quotes + QUOTE;
    // `"""\`
    if !is_raw && source[start..].starts_with("\\\n") {
        start += 2;
    }
    let content = source.get(start..)?.strip_suffix(quote)?;
    if content.contains(quote) || !is_raw && content.contains('\\') || has_holes(content) {
        return None;
    }
    let mut prefix = String::new();
    if !["import triton", "from triton"].iter().any(|import| content.contains(import)) {
        prefix.push_str("import triton, triton.language as tl\n");
    }
    // It is stripped, or stands in a block.
    let is_written = |line: &&str| !line.trim().is_empty();
    if content.lines().filter(is_written).all(|line| line.starts_with([' ', '\t'])) {
        prefix.push_str("if True:\n");
    }
    Some((start, prefix))
}

/// Whether a text has parts that are filled in: `{name}`, `{}`, `{0}`, or braces that stand for themselves in such a text. The value of a
/// key may be an empty dictionary.
pub(super) fn has_holes(text: &str) -> bool {
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        rest = after;
        let name = rest.split(['}', '\n']).next().unwrap_or_default();
        if name.is_empty() && rest.starts_with('}') && before.trim_end().ends_with("':") {
            continue;
        }
        if rest.starts_with('{') || rest[name.len()..].starts_with('}') && name.chars().all(|c| c.is_alphanumeric() || c == '_') {
            return true;
        }
    }
    false
}
