//! The names of kernels and of their parameters where a launch block writes them: what a rename has to change.
//!
//! **Invariant:** a name is reported only where the block means the parameter: a key of `args`, `meta` or `expect`, or a word of `grid` or of
//! an expected value.

use std::ops::Range;

use smol_str::SmolStr;
use toml::de::{DeTable, DeValue};

use super::{Block, kernel, of_sidecar, of_text};
use crate::{Db, SourceFile};

/// A name in a launch block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenName {
    pub kernel: SmolStr,
    pub name: SmolStr,
    /// Bytes of the file that it is written in.
    pub range: Range<usize>,
    /// The kernel's own name, not a parameter's.
    pub is_kernel: bool,
}

/// The names in the launch blocks of a file.
pub fn written_names(db: &dyn Db, file: SourceFile) -> Vec<WrittenName> {
    of_text(file.text(db)).iter().flat_map(|placed| names(db, file, &placed.block, &|span| placed.range(span))).collect()
}

/// Those in the `.launch.toml` beside it; ranges are bytes of that.
pub fn names_beside(db: &dyn Db, file: SourceFile) -> Vec<WrittenName> {
    file.sidecar(db).as_ref().map_or_else(Vec::new, |text| names(db, file, &of_sidecar(text), &|span| span))
}

/// `placed`: where a span of the TOML stands in what it is written in; a block's lines are parts of comments.
fn names(db: &dyn Db, file: SourceFile, block: &Block, placed: &dyn Fn(Range<usize>) -> Range<usize>) -> Vec<WrittenName> {
    let mut out = Vec::new();
    let Ok(table) = DeTable::parse(&block.toml) else { return out };
    let Some(DeValue::Table(launches)) = table.get_ref().get("launch").map(|launches| launches.get_ref()) else { return out };
    for entry in launches {
        let DeValue::Table(fields) = entry.1.get_ref() else { continue };
        let Ok(item) = kernel(db, file, entry.0, fields.get("kernel")) else { continue };
        let mut words = Words { toml: &block.toml, placed, kernel: item.function.name(db).clone(), out: &mut out };
        if let Some(named) = fields.get("kernel") {
            words.of(named.span(), true, |word| word == item.function.name(db).as_str());
        }
        let is_param = |word: &str| item.params.iter().any(|p| p.name == word);
        for field in ["args", "meta", "expect"] {
            let Some(DeValue::Table(pairs)) = fields.get(field).map(|v| v.get_ref()) else { continue };
            for (key, value) in pairs {
                words.of(key.span(), false, is_param);
                if field == "expect" {
                    words.of(value.span(), false, is_param);
                }
            }
        }
        if let Some(grid) = fields.get("grid") {
            words.of(grid.span(), false, is_param);
        }
    }
    out
}

struct Words<'a> {
    toml: &'a str,
    placed: &'a dyn Fn(Range<usize>) -> Range<usize>,
    kernel: SmolStr,
    out: &'a mut Vec<WrittenName>,
}

impl Words<'_> {
    /// The words of a span of the TOML.
    fn of(&mut self, span: Range<usize>, is_kernel: bool, wanted: impl Fn(&str) -> bool) {
        let Some(text) = self.toml.get(span.clone()) else { return };
        let is_part = |c: char| c == '_' || c.is_alphanumeric();
        let mut rest = 0;
        while let Some(at) = text[rest..].find(is_part) {
            let start = rest + at;
            let end = text[start..].find(|c| !is_part(c)).map_or(text.len(), |n| start + n);
            if wanted(&text[start..end]) {
                let range = (self.placed)(span.start + start..span.start + end);
                self.out.push(WrittenName { kernel: self.kernel.clone(), name: text[start..end].into(), range, is_kernel });
            }
            rest = end;
        }
    }
}
