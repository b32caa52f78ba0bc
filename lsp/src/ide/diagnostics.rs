// Feature: Diagnostics
//
//! Everything wrong in a file, in text order, each with its origins, the configurations it holds in, and its fixes.

use std::{ops::Range, path::Path};

use tritium_semantics::{SourceFile, check, diagnostics::Code};

pub use tritium_semantics::diagnostics::Severity;

use crate::ide::Analysis;

#[derive(Debug, Clone, PartialEq)]
pub struct Diagnostic {
    /// `SHP001`
    pub code: &'static str,
    /// `incompatible-broadcast`
    pub name: &'static str,
    pub severity: Severity,
    /// Told without being selected.
    pub is_default: bool,
    pub message: String,
    pub range: Range<usize>,
    /// The kernel it was found in, if in one.
    pub kernel: Option<String>,
    /// The launches or configurations it holds in, by name; empty means all.
    pub configs: Vec<String>,
    /// Found under assumed arguments only.
    pub assumed: bool,
    pub related: Vec<Related>,
    pub fixes: Vec<Fix>,
    /// The page of the code.
    pub href: String,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Related {
    pub range: Range<usize>,
    pub message: String,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Fix {
    pub title: String,
    pub safe: bool,
    pub edits: Vec<TextEdit>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct TextEdit {
    pub range: Range<usize>,
    pub new_text: String,
}

/// Where the pages of the codes are read.
const PAGES: &str = "https://tritium.invalid/diagnostics";

/// The page of a code, as Markdown.
pub fn page(code: &str) -> Option<&'static str> {
    Code::ALL.iter().find(|c| c.as_str().eq_ignore_ascii_case(code) || c.name() == code).map(|c| c.page())
}

impl Diagnostic {
    /// What a reader should know beside the message.
    pub fn note(&self) -> Option<String> {
        if self.assumed {
            return Some("found under assumed arguments: no launch of this kernel is known".to_owned());
        }
        if self.configs.is_empty() {
            return None;
        }
        Some(format!("only under {}", self.configs.join(", ")))
    }
}

impl Analysis {
    /// What is told without being asked for.
    pub fn diagnostics(&self, path: &Path) -> Vec<Diagnostic> {
        let mut found = self.every_diagnostic(path);
        found.retain(|d| d.is_default);
        found
    }

    /// The codes that only those who select them are told as well.
    pub fn every_diagnostic(&self, path: &Path) -> Vec<Diagnostic> {
        let Some(file) = self.file(path) else { return Vec::new() };
        check::check(self.db(), file).iter().map(|found| from_check(file, found)).collect()
    }
}

/// What lies in other files (a helper's own line) is told there.
fn from_check(file: SourceFile, found: &check::Diagnostic) -> Diagnostic {
    let edits = |edits: &[check::FileEdit]| -> Vec<TextEdit> {
        edits.iter().map(|e| TextEdit { range: e.range.clone(), new_text: e.new_text.clone() }).collect()
    };
    let related = found.related.iter().filter(|r| r.file == file);
    let fixes = found.fixes.iter().filter(|f| f.edits.iter().all(|e| e.file == file));
    Diagnostic {
        code: found.code.as_str(),
        name: found.code.name(),
        severity: found.severity,
        is_default: found.code.is_default(),
        message: found.message.clone(),
        range: found.range.clone(),
        kernel: found.kernel.as_ref().map(ToString::to_string),
        configs: found.configs.clone(),
        assumed: found.assumed,
        related: related.map(|r| Related { range: r.range.clone(), message: r.message.clone() }).collect(),
        fixes: fixes.map(|f| Fix { title: f.title.clone(), safe: f.safe, edits: edits(&f.edits) }).collect(),
        href: format!("{PAGES}/{}", found.code.as_str()),
    }
}
