// Feature: Baseline
//
//! Findings that are there already and are looked at later: a file names them, and `check` hides them.
//!
//! A finding is known by its code and by what its line says, not by the line's number, so code that moves keeps its findings hidden.
//! **Invariant:** an entry hides one finding; what an entry no longer finds is stale, and told.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Diagnostic;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Baseline {
    pub version: u32,
    pub findings: Vec<Finding>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Finding {
    /// From the folder of the baseline, with `/`.
    pub file: String,
    pub code: String,
    /// The line's text without its indentation, hashed.
    pub line: String,
    /// How many findings of this code there are on lines that read the same.
    pub count: usize,
}

impl Baseline {
    pub fn read(text: &str) -> Result<Baseline, String> {
        let baseline: Baseline = serde_json::from_str(text).map_err(|e| format!("this is no baseline: {e}"))?;
        if baseline.version == 1 { Ok(baseline) } else { Err(format!("version {} of a baseline is not known", baseline.version)) }
    }

    /// Names the findings of a file.
    pub fn add(&mut self, file: &str, text: &str, found: &[Diagnostic]) {
        self.version = 1;
        let mut counts: BTreeMap<(String, String), usize> = BTreeMap::new();
        for diagnostic in found {
            *counts.entry((diagnostic.code.to_owned(), line_of(text, diagnostic.range.start))).or_default() += 1;
        }
        let findings = counts.into_iter().map(|((code, line), count)| Finding { file: file.to_owned(), code, line, count });
        self.findings.extend(findings);
    }

    /// Takes out the findings of a file that are named here; tells how many. What is left of the entries was not found.
    pub fn hide(&mut self, file: &str, text: &str, found: &mut Vec<Diagnostic>) -> usize {
        let before = found.len();
        found.retain(|diagnostic| {
            let line = line_of(text, diagnostic.range.start);
            let entry =
                self.findings.iter_mut().find(|f| f.count > 0 && f.file == file && f.code == diagnostic.code && f.line == line);
            match entry {
                Some(entry) => {
                    entry.count -= 1;
                    false
                }
                None => true,
            }
        });
        before - found.len()
    }

    /// What was not found in the files that were looked at.
    pub fn stale<'a>(&'a self, looked_at: &'a [String]) -> impl Iterator<Item = &'a Finding> {
        self.findings.iter().filter(move |f| f.count > 0 && looked_at.contains(&f.file))
    }
}

/// FNV-1a of what a line says: the same on every machine, and short.
fn line_of(text: &str, offset: usize) -> String {
    let offset = offset.min(text.len());
    let start = text[..offset].rfind('\n').map_or(0, |at| at + 1);
    let end = text[offset..].find('\n').map_or(text.len(), |at| offset + at);
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in text[start..end].trim().bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    format!("{hash:016x}")
}
