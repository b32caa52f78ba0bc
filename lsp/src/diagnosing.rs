//! Works out the diagnostics of one document on a snapshot and hands them to [`publishing`](super::publishing).
//!
//! **Invariant:** nothing is handed over that is about another text than the newest one, and a text whose analysis panics is heard of too.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use tokio::sync::mpsc;
use tower_lsp::{Client, ls_types as lsp};
use tritium_syntax::Encoding;

use tritium_ide::Diagnostic;

use crate::{
    analysis::{ReadError, Snapshot, guarded},
    diagnostic_cache::{CachedDiagnostics, DiagnosticCache},
    files::Files,
    parts::{Part, Places},
    publishing::{Published, Push, Said},
    schedule::{AnalysisStep, Job},
};

/// Problems of configurations that are remembered as told: a number that is typed there makes a problem a keystroke.
const MAX_TOLD: usize = 256;

pub(super) struct Diagnosing {
    pub(super) client: Client,
    pub(super) files: Arc<Files>,
    pub(super) cache: Arc<DiagnosticCache>,
    pub(super) encoding: Arc<OnceLock<Encoding>>,
    pub(super) published: mpsc::UnboundedSender<Published>,
    pub(super) runtime: tokio::runtime::Handle,
    /// What is wrong with a configuration is told once.
    pub(super) told: Mutex<BTreeSet<String>>,
}

impl Diagnosing {
    /// Whether the analysis came to its end: `false` if a change cancelled it.
    pub(super) fn analyse(&self, analysis: Snapshot, job: &Job) -> bool {
        let looked = guarded(|| match job.step {
            AnalysisStep::Quick => self.quick(&analysis, job),
            AnalysisStep::Whole => self.whole(&analysis, job),
            AnalysisStep::Callers => {}
        });
        if matches!(looked, Err(ReadError::Panicked(_))) && job.step == AnalysisStep::Quick {
            // What was said of the text before it must not stay.
            self.publish(&analysis, job, &[], true);
        }
        looked != Err(ReadError::Cancelled)
    }

    fn is_current(&self, job: &Job) -> bool {
        self.files.edition(&job.path) == Some(job.edition)
    }

    /// What needs no generated code. Where that takes long, what the active specialisations find is told first.
    fn quick(&self, analysis: &Snapshot, job: &Job) {
        let path = &job.path;
        // Of a burst of changes only the last one is looked at.
        if !self.is_current(job) {
            return;
        }
        if !is_looked_at(analysis, job) {
            return self.publish(analysis, job, &[], false);
        }
        let CachedDiagnostics { mut known, remarks, findings } = self.cache.of(path);
        let text = analysis.text(path).unwrap_or_default();
        let (held, findings) = (remarks.in_text(&text), findings.in_text(&text));
        // Before anything is heard of this text: the next one may come at once.
        self.cache.keep(
            path,
            || self.is_current(job),
            |remembered| {
                remembered.remarks = held.clone();
                remembered.findings = findings.clone();
            },
        );
        let held = held.with_findings(&findings);
        if let Some(first) = analysis.first_diagnostics(path, &known, &held) {
            self.publish(analysis, job, &analysis.to_show(path, first), true);
        }
        analysis.look_at_all(path, &mut known);
        self.cache.keep(path, || self.is_current(job), |remembered| remembered.known = known);
        self.publish(analysis, job, &analysis.to_show(path, analysis.diagnostics_with(path, &held)), true);
        for problem in analysis.project(path).map_or(&[][..], |p| &p.problems) {
            let text = format!("Tritium: {problem}");
            let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
            if told.len() == MAX_TOLD && !told.contains(&text) {
                told.clear();
            }
            if told.insert(text.clone()) {
                let client = self.client.clone();
                self.runtime.spawn(async move { client.show_message(lsp::MessageType::WARNING, text).await });
            }
        }
    }

    /// What a launch takes of its GPU, beside the rest.
    fn whole(&self, analysis: &Snapshot, job: &Job) {
        if !self.is_current(job) || !is_looked_at(analysis, job) {
            return;
        }
        let remarks = analysis.remarks(&job.path);
        let findings = self.cache.of(&job.path).findings.in_text(&analysis.text(&job.path).unwrap_or_default());
        let beside = remarks.clone().with_findings(&findings);
        let all = analysis.to_show(&job.path, analysis.diagnostics_with(&job.path, &beside));
        // Whoever hears of a remark may ask at once what can be done about it.
        self.cache.keep(&job.path, || self.is_current(job), |remembered| remembered.remarks = remarks);
        self.publish(analysis, job, &all, true);
    }

    fn publish(&self, analysis: &Snapshot, job: &Job, found: &[Diagnostic], is_triton: bool) {
        let (true, Some(parts)) = (self.is_current(job), analysis.parts(&job.path)) else { return };
        // A file that nothing is said about costs no more than the look at it.
        let index = if found.is_empty() { None } else { analysis.line_index(&job.path) };
        let encoding = self.encoding.get().copied().unwrap_or(Encoding::Utf16);
        let documents = match index {
            Some(index) => Places { parts: &parts, index, encoding }.diagnostics(found),
            None => parts.iter().map(|part| (part, Vec::new())).collect(),
        };
        let said = |(part, items): (&Part, _)| Said { uri: part.uri.clone(), version: part.version, items };
        let documents = documents.into_iter().map(said).collect();
        let push = Push { path: job.path.clone(), edition: job.edition, documents, is_triton };
        // The receiver ends with the server.
        let _ = self.published.send(Published::Diagnostics(push));
    }
}

fn is_looked_at(analysis: &Snapshot, job: &Job) -> bool {
    analysis.is_triton(&job.path) && !analysis.is_excluded(&job.path)
}
