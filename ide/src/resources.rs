// Feature: Resource diagnostics
//
//! What the rules about resources find in a file: of every launch whose arguments are known, under its own options and the chosen GPU.
//!
//! **Invariant:** one diagnostic per (code, range), with the launches and configurations that have it; a launch that several share is looked at
//! once.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
    path::Path,
};

use indexmap::{IndexMap, IndexSet};
use tritium_estimate::{self as estimate, ReportKey, lints::Finding};
use tritium_semantics::{
    Function, SourceFile,
    check::{Diagnostic, Related, label_of, place_of_row, removal_of_row},
    configuration::{MAX_DISTINCT, configurations},
    diagnostics::Code,
    elaborate::Elaborated,
    problem::{At, Place},
};

use crate::Analysis;

struct Entry {
    finding: Finding,
    related: Vec<Related>,
    configs: IndexSet<String>,
    /// The rows of the tuner that have it.
    rows: BTreeSet<u32>,
    /// The one that the message speaks of, and whether it would be the same for all.
    first: String,
    is_same: bool,
}

impl Analysis {
    /// In the order of the text.
    pub(crate) fn resource_diagnostics(&self, path: &Path) -> Vec<Diagnostic> {
        let Some(file) = self.file(path) else { return Vec::new() };
        let mut out = Vec::new();
        for kernel in self.kernels(path) {
            self.of_kernel(file, kernel.function, &kernel.range, &mut out);
        }
        out.sort_by_key(|d| (d.range.start, d.range.end, d.code));
        out
    }

    fn of_kernel(&self, file: SourceFile, kernel: Function, name: &Range<usize>, out: &mut Vec<Diagnostic>) {
        let db = self.db();
        // What launches of equal numbers take is found once, and named after each of them.
        let mut distinct: IndexMap<(ReportKey<'_>, Option<u32>), IndexSet<String>> = IndexMap::new();
        let most = if self.options().only_first { 1 } else { MAX_DISTINCT };
        let mut all_seen = true;
        for configuration in configurations(db, kernel) {
            salsa::Database::unwind_if_revision_cancelled(db);
            let Some(launch) = configuration.launch(db) else { continue };
            let key = (ReportKey::of(db, *configuration, self.gpu()), configuration.row);
            if distinct.len() >= most && !distinct.contains_key(&key) {
                all_seen = false;
                continue;
            }
            distinct.entry(key).or_default().insert(label_of(launch));
        }
        let count = distinct.values().flatten().collect::<IndexSet<_>>().len();
        let mut entries: BTreeMap<(usize, usize, Code), Entry> = BTreeMap::new();
        for (&(key, row), labels) in &distinct {
            let findings = estimate::resource_lints(db, key, row);
            if findings.is_empty() {
                continue;
            }
            // Not asked for in vain: it may have been let go of.
            let elaborated = self.elaborated(key.instance(db));
            for finding in findings {
                let range = match finding.origin {
                    Some(origin) => self.in_file(file, elaborated, origin),
                    None => Some(self.tuner_row(kernel, finding.code, row).unwrap_or_else(|| name.clone())),
                };
                let Some(range) = range else { continue };
                let entry = entries.entry((range.start, range.end, finding.code)).or_insert_with(|| Entry {
                    finding: finding.clone(),
                    related: self.related(file, elaborated, &finding.related),
                    configs: IndexSet::new(),
                    rows: BTreeSet::new(),
                    first: labels.first().cloned().unwrap_or_default(),
                    is_same: true,
                });
                entry.is_same &= entry.finding.message == finding.message;
                entry.configs.extend(labels.iter().cloned());
                entry.rows.extend(row);
            }
        }
        for ((start, end, code), mut entry) in entries {
            let everywhere = all_seen && entry.configs.len() >= count;
            if !entry.is_same {
                entry.finding.message += &format!(" (so under {})", entry.first);
            }
            // A row that never launches is of no use on this board; one that only does badly may be the best there is.
            let rows = entry.rows.iter().filter(|_| code == Code::TUN004);
            let fixes = rows.filter_map(|&row| removal_of_row(db, kernel, row)).collect();
            out.push(Diagnostic {
                code,
                severity: entry.finding.level.unwrap_or(code.severity()),
                message: entry.finding.message,
                range: start..end,
                kernel: Some(kernel.name(db).clone()),
                configs: if everywhere { Vec::new() } else { entry.configs.into_iter().collect() },
                in_string: false,
                assumed: false,
                rests_on: vec![],
                related: entry.related,
                fixes,
            });
        }
    }

    /// Where the row of the tuner stands that is at fault, if it is written out.
    fn tuner_row(&self, kernel: Function, code: Code, row: Option<u32>) -> Option<Range<usize>> {
        let row = row.filter(|_| matches!(code, Code::TUN004 | Code::TUN005))?;
        self.range(place_of_row(self.db(), kernel, row)?)
    }

    /// Where an origin is in this file: itself, or the call that leads to the helper that it is in.
    fn in_file(&self, file: SourceFile, elaborated: &Elaborated, origin: u32) -> Option<Range<usize>> {
        let mut next = Some(origin);
        // Calls nest, so the way out ends.
        for _ in 0..64 {
            let data = elaborated.origins.get(next? as usize)?;
            if data.place.function.file(self.db()) == file && !matches!(data.place, Place { at: At::Name, .. }) {
                return self.range(data.place);
            }
            next = data.inlined_at;
        }
        None
    }

    fn related(&self, file: SourceFile, elaborated: &Elaborated, places: &[(u32, String)]) -> Vec<Related> {
        let found = places.iter().filter_map(|(origin, message)| {
            Some(Related { file, range: self.in_file(file, elaborated, *origin)?, message: message.clone() })
        });
        found.collect()
    }
}
