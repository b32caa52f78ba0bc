// Feature: Findings of runs under checks
//
//! What runs under checks have found, as diagnostics of the files that it stands in.

use std::path::{Path, PathBuf};

use tritium_runtime::run::{Findings, Found};
use tritium_semantics::{
    SourceFile, check,
    diagnostics::{Code, Severity},
};

use crate::{Analysis, Diagnostic, ResourceDiagnostics, diagnostics::from_check};

/// A file with findings.
pub struct FoundIn {
    pub path: PathBuf,
    pub text: String,
    pub diagnostics: Vec<Diagnostic>,
}

impl Analysis {
    /// What was found in a file, to be shown with what else is wrong in it.
    pub fn held_findings(&self, path: &Path, text: &str, findings: &Findings) -> ResourceDiagnostics {
        let Some(file) = self.file(path) else { return ResourceDiagnostics::default() };
        let is_here = |found: &&Found| {
            found.place.as_ref().is_some_and(|place| place.file == *path && text.get(place.start..place.end).is_some())
        };
        let found = findings.findings.iter().filter(is_here).filter_map(|found| as_check(found, file, path));
        ResourceDiagnostics::new(file, text, found.collect())
    }

    /// The findings that are wanted and that no comment silences, and where they stand: the file that was run first, in text order. What has no
    /// place in a source stands at the file's first byte.
    pub fn located(&self, path: &Path, mut findings: Findings) -> (Findings, Vec<FoundIn>) {
        findings.findings.retain(|found| {
            let Some(code) = Code::find(&found.code) else { return false };
            let file = found.place.as_ref().map_or(path, |place| &place.file);
            let start = found.place.as_ref().map_or(0, |place| place.start);
            let is_silenced = || self.text(file).is_some_and(|text| check::is_silenced(&text, code, start));
            self.wants(file, code) && !is_silenced()
        });
        let mut files: Vec<FoundIn> = Vec::new();
        for found in &findings.findings {
            let file = found.place.as_ref().map_or(path, |place| &place.file);
            let Some(source) = self.file(file) else { continue };
            let Some(diagnostic) = as_check(found, source, file).map(|found| from_check(source, &found)) else { continue };
            match files.iter_mut().find(|known| known.path == *file) {
                Some(known) => known.diagnostics.push(diagnostic),
                None => {
                    let Some(text) = self.text(file) else { continue };
                    files.push(FoundIn { path: file.to_owned(), text, diagnostics: vec![diagnostic] });
                }
            }
        }
        files.sort_by_key(|file| (file.path != *path, file.path.clone()));
        files.iter_mut().for_each(|file| file.diagnostics.sort_by_key(|d| (d.range.start, d.range.end, d.code)));
        (findings, files)
    }
}

/// A finding as one of a check of the file that it stands in; what has no place stands at its first byte.
fn as_check(found: &Found, file: SourceFile, path: &Path) -> Option<check::Diagnostic> {
    let code = Code::find(&found.code)?;
    let related = found.related.iter().filter(|(place, _)| place.file == *path);
    Some(check::Diagnostic {
        code,
        severity: if found.rests_on.is_empty() { code.severity() } else { Severity::Hint },
        message: found.sentence(),
        range: found.place.as_ref().map_or(0..0, |place| place.start..place.end),
        kernel: Some(found.kernel.as_str().into()),
        configs: vec![],
        in_string: false,
        assumed: !found.rests_on.is_empty(),
        rests_on: found.rests_on.iter().map(|name| name.as_str().into()).collect(),
        related: related
            .map(|(place, message)| check::Related { file, range: place.start..place.end, message: message.clone() })
            .collect(),
        fixes: vec![],
    })
}
