//! Which open documents are still to be analysed, and which comes next.
//!
//! A change cancels every analysis under way, also those of other documents. **Invariant:** a document is done only when an analysis of its
//! newest text has come to its end on the newest inputs; whatever was cancelled is asked for again.

use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use crate::files::Edition;

/// How long nothing must have changed before a document is analysed again whose own text is the same: somebody may be typing in another.
const PAUSE: Duration = Duration::from_millis(100);
/// Analyses at one time: one that takes long holds up no other document.
pub(super) const MAX_ANALYSES: usize = 3;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AnalysisStep {
    /// What needs no generated code.
    Quick,
    /// All that is found.
    Whole,
    /// What other files launch of its kernels.
    Callers,
}

/// One step of the analysis of one text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Job {
    pub(super) path: PathBuf,
    pub(super) edition: Edition,
    pub(super) step: AnalysisStep,
    /// The inputs it reads, by their number.
    inputs: u64,
}

/// A text and the inputs that a step has come to its end on.
type Done = Option<(Edition, u64)>;

#[derive(Debug)]
struct Document {
    path: PathBuf,
    edition: Edition,
    quick: Done,
    whole: Done,
    callers: Done,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    Start(Job),
    /// Nothing before then.
    At(Instant),
    /// Nothing until something changes or an analysis ends.
    Nothing,
}

pub(super) struct Schedule {
    /// The document that changed last comes last.
    documents: Vec<Document>,
    running: Vec<Job>,
    /// Counts the changes of texts, files and settings.
    inputs: u64,
    changed: Instant,
}

impl Schedule {
    pub(super) fn new(now: Instant) -> Schedule {
        Schedule { documents: Vec::new(), running: Vec::new(), inputs: 0, changed: now }
    }

    /// Files or settings changed, that any document may read.
    pub(super) fn inputs_changed(&mut self, now: Instant) {
        self.inputs += 1;
        self.changed = now;
    }

    pub(super) fn text_changed(&mut self, path: &Path, edition: Edition, now: Instant) {
        self.inputs_changed(now);
        let at = self.documents.iter().position(|document| document.path == path);
        let mut document = match at {
            Some(at) => self.documents.remove(at),
            None => Document { path: path.to_owned(), edition, quick: None, whole: None, callers: None },
        };
        document.edition = edition;
        self.documents.push(document);
    }

    pub(super) fn closed(&mut self, path: &Path, now: Instant) {
        self.inputs_changed(now);
        self.documents.retain(|document| document.path != path);
    }

    /// An analysis has ended; `is_done` unless it was cancelled.
    pub(super) fn ended(&mut self, job: &Job, is_done: bool) {
        self.running.retain(|running| running != job);
        let document = self.documents.iter_mut().find(|document| document.path == job.path && document.edition == job.edition);
        if let Some(document) = document.filter(|_| is_done) {
            let done = match job.step {
                AnalysisStep::Quick => &mut document.quick,
                AnalysisStep::Whole => &mut document.whole,
                AnalysisStep::Callers => &mut document.callers,
            };
            *done = Some((job.edition, job.inputs));
        }
    }

    /// The next analysis to start, now under way: new texts before texts that were analysed on older inputs, what needs no generated code
    /// before the rest, what other files say after all, and of equals the document that changed last.
    pub(super) fn next(&mut self, now: Instant) -> Next {
        if self.running.len() >= MAX_ANALYSES {
            return Next::Nothing;
        }
        let paused = self.changed + PAUSE;
        let mut waits = false;
        for is_new in [true, false] {
            for step in [AnalysisStep::Quick, AnalysisStep::Whole, AnalysisStep::Callers] {
                let wanted = self.documents.iter().rev().find_map(|document| self.wanted(document, step, is_new));
                match wanted {
                    Some(_) if !is_new && now < paused => waits = true,
                    Some(job) => {
                        self.running.push(job.clone());
                        return Next::Start(job);
                    }
                    None => {}
                }
            }
        }
        if waits { Next::At(paused) } else { Next::Nothing }
    }

    fn wanted(&self, document: &Document, step: AnalysisStep, is_new: bool) -> Option<Job> {
        let newest = Some((document.edition, self.inputs));
        let of_text = |done: Done| done.is_some_and(|(edition, _)| edition == document.edition);
        let is_wanted = match step {
            AnalysisStep::Quick => document.quick != newest && of_text(document.quick) != is_new,
            AnalysisStep::Whole => document.quick == newest && document.whole != newest && of_text(document.whole) != is_new,
            // Nobody waits for it, so it waits for a pause.
            AnalysisStep::Callers => document.whole == newest && document.callers != newest && !is_new,
        };
        let job = Job { path: document.path.clone(), edition: document.edition, step, inputs: self.inputs };
        (is_wanted && !self.running.contains(&job)).then_some(job)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A schedule and a clock, told of by what is started.
    struct Desk {
        schedule: Schedule,
        now: Instant,
        editions: u64,
    }

    impl Desk {
        fn new() -> Desk {
            let now = Instant::now();
            Desk { schedule: Schedule::new(now), now, editions: 0 }
        }

        fn change(&mut self, name: &str) {
            self.editions += 1;
            self.schedule.text_changed(Path::new(name), Edition::numbered(self.editions), self.now);
        }

        fn start(&mut self) -> Vec<Job> {
            let mut started = Vec::new();
            while let Next::Start(job) = self.schedule.next(self.now) {
                started.push(job);
            }
            started
        }

        fn end(&mut self, jobs: &[Job], is_done: bool) {
            jobs.iter().for_each(|job| self.schedule.ended(job, is_done));
        }

        /// Starts and ends analyses until none is wanted at this time.
        fn run(&mut self) -> String {
            let mut ran = Vec::new();
            loop {
                let jobs = self.start();
                if jobs.is_empty() {
                    return ran.join(", ");
                }
                self.end(&jobs, true);
                ran.extend(jobs.iter().map(named));
            }
        }

        fn pause(&mut self) {
            self.now += PAUSE;
        }
    }

    fn named(job: &Job) -> String {
        let step = match job.step {
            AnalysisStep::Quick => "quick",
            AnalysisStep::Whole => "whole",
            AnalysisStep::Callers => "callers",
        };
        format!("{} {step}", job.path.display())
    }

    fn all_named(jobs: &[Job]) -> String {
        jobs.iter().map(named).collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn what_a_change_cancels_is_asked_for_again() {
        let mut desk = Desk::new();
        desk.change("a");
        desk.change("b");
        let jobs = desk.start();
        assert_eq!(all_named(&jobs), "b quick, a quick");
        desk.change("b");
        desk.end(&jobs, false);
        assert_eq!(desk.run(), "b quick, a quick, b whole, a whole");
    }

    #[test]
    fn an_analysis_that_ends_late_is_not_of_the_newest_inputs() {
        let mut desk = Desk::new();
        desk.change("a");
        let jobs = desk.start();
        desk.schedule.inputs_changed(desk.now);
        desk.end(&jobs, true);
        assert_eq!(desk.run(), "");
        desk.pause();
        assert_eq!(desk.run(), "a quick, a whole, a callers");
        assert_eq!(desk.schedule.next(desk.now), Next::Nothing);
    }

    #[test]
    fn documents_that_did_not_change_wait_for_a_pause() {
        let mut desk = Desk::new();
        desk.change("a");
        desk.change("b");
        desk.run();
        desk.pause();
        desk.run();
        for _ in 0..3 {
            desk.now += PAUSE / 2;
            desk.change("a");
            assert_eq!(desk.run(), "a quick, a whole");
        }
        assert_eq!(desk.schedule.next(desk.now), Next::At(desk.now + PAUSE));
        desk.pause();
        assert_eq!(desk.run(), "b quick, a callers, b whole, b callers");
    }

    #[test]
    fn a_document_that_takes_long_holds_up_no_other() {
        let mut desk = Desk::new();
        desk.change("slow");
        let slow = desk.start();
        desk.change("b");
        desk.end(&slow, false);
        desk.change("slow");
        let jobs = desk.start();
        assert_eq!(all_named(&jobs), "slow quick, b quick");
        desk.end(&jobs[1..], true);
        assert_eq!(all_named(&desk.start()), "b whole");
        for name in ["c", "d", "e", "f"] {
            desk.change(name);
        }
        assert_eq!(all_named(&desk.start()), "f quick");
    }

    #[test]
    fn a_closed_document_is_not_analysed_and_a_reopened_one_is() {
        let mut desk = Desk::new();
        desk.change("a");
        let jobs = desk.start();
        desk.schedule.closed(Path::new("a"), desk.now);
        assert_eq!(desk.start(), []);
        desk.change("a");
        // Of the text before it was closed.
        desk.end(&jobs, true);
        assert_eq!(desk.run(), "a quick, a whole");
    }
}
