//! Running a job in another process: a child of this one, or a process of another machine.
//!
//! The job goes to the standard input of `tritium exec`, the outcome comes from its standard output (`exec/wire.rs`). The input stays open for
//! as long as somebody wants the outcome; when it closes, that process ends. **Invariant:** whatever it does (hang, crash, talk nonsense),
//! who asks is answered soon after the limit and told what happened; whatever becomes of who asks, it ends.

mod near;
mod on;
mod serve;
mod wire;

use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use serde::{Deserialize, Serialize};
use thiserror::Error;
use tritium_semantics::Chosen;

pub use self::{on::On, serve::serve};

use self::wire::Answer;
use crate::{
    bundle::FileSource,
    run::{self, Findings, Observed, Report},
    tune::{TuneOptions, Tuning},
    watch::{Limits, Stopped},
};

/// How often each side says that it is there.
const SIGN_OF_LIFE: Duration = Duration::from_secs(1);
/// Who says nothing for so long is gone.
const SILENCE: Duration = Duration::from_secs(30);
/// How long a child may take to say that a limit stopped it before it is stopped from outside.
const GRACE: Duration = Duration::from_secs(2);

/// The runs of a server.
#[derive(Debug, Default)]
pub struct Runs(Mutex<RunsState>);

#[derive(Debug, Default)]
struct RunsState {
    closed: bool,
    /// Those that are over are held by nobody else.
    running: Vec<Cancel>,
}

impl Runs {
    /// What cancels a run that begins; it already has, where all runs were ended.
    pub fn begin(&self) -> Cancel {
        let cancel = Cancel::default();
        let mut runs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if runs.closed {
            cancel.cancel();
        }
        runs.running.retain(|other| Arc::strong_count(&other.0) > 1);
        runs.running.push(cancel.clone());
        cancel
    }

    /// Ends every run, and those that would begin later.
    pub fn end_all(&self) {
        let mut runs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        runs.closed = true;
        runs.running.iter().for_each(Cancel::cancel);
    }
}

/// Whether results are compared with references.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verify {
    Never,
    /// Where a reference is at hand; a launch without one runs all the same.
    WherePossible,
    /// A launch with nothing to compare with is refused.
    Required,
}

/// What is asked of a job's launches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Task {
    #[default]
    Run,
    /// To run under checks.
    Sanitize,
    /// To run once while a tool looks on. Memories that hold nothing before a launch are left so, or get the pattern of what was never written.
    Observe { leaves_empty: bool },
    /// To run again and again, and be timed.
    Bench,
    /// To be timed under every row of their tuners.
    Tune,
}

/// Everything a run depends on; the text travels, so an unsaved buffer runs as it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Job {
    pub path: PathBuf,
    pub text: String,
    #[serde(default)]
    pub task: Task,
    /// By name, alone or with the row of its tuner (`matmul:3`); all launches of the file otherwise.
    pub launch: Option<String>,
    /// `cpu` or `cuda:N`
    pub device: String,
    pub verify: Verify,
    /// Where every tensor argument is saved as `.npy`.
    pub save: Option<PathBuf>,
    /// What the caller's file is read under; of its `config` only those launches, and those that have none.
    pub chosen: Chosen,
    /// References added to those of every launch: a tensor's name, and an expression over the launch's inputs.
    pub expect: Vec<(String, String)>,
    #[serde(default)]
    pub tune: TuneOptions,
    #[serde(default)]
    pub limits: Limits,
    /// Who sent this holds the other end of the input open while the outcome is wanted. A file or a pipe that ends with the job says nothing.
    #[serde(default)]
    pub attended: bool,
}

impl Job {
    /// The folder that the file lies in.
    pub fn directory(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("."))
    }
}

/// Ends a run from another thread.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// What is to be known beside a job.
#[derive(Clone, Copy)]
pub struct Asking<'a> {
    /// Another machine; without, a child of this process runs the job.
    pub on: Option<&'a On>,
    pub cancel: &'a Cancel,
    pub told: &'a dyn Fn(Told),
}

/// What is told of a job while it lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Told<'a> {
    /// To be read by whoever waits.
    Notice(&'a str),
    /// What is done just now.
    Doing(&'a str),
}

#[derive(Debug, Clone, PartialEq, Error)]
pub enum ExecError {
    #[error("{0}")]
    Refused(run::Refusal),
    #[error("{0}")]
    Stopped(Stopped),
    #[error("cancelled")]
    Cancelled,
    /// The process ended without an answer.
    #[error("the process that ran the kernel ended without an answer ({status}){}", last_lines(stderr))]
    Died { status: String, stderr: String },
    #[error("the process that runs kernels cannot be started: {0}")]
    NotStarted(String),
    /// Another machine, or the way to it.
    #[error("{name}: {what}{}", last_lines(said))]
    Far { name: String, what: FarError, said: String },
}

#[derive(Debug, Clone, PartialEq, Error)]
pub enum FarError {
    #[error("no answer{status}")]
    Unreachable { status: String },
    #[error(
        "there is no `tritium`; `--send-program`, in an editor `tritium.run.sendProgram`, copies this one there once, and \
         `ssh:HOST:/path/to/tritium` names one that no PATH leads to"
    )]
    NoProgram,
    #[error("there it is tritium {theirs}, here {ours}; both must be of one version, and `--send-program` copies this one there")]
    OtherVersion { theirs: String, ours: String },
    #[error("this program runs on {ours} and cannot be sent to {theirs}; install tritium there")]
    OtherMachine { theirs: String, ours: String },
    /// It had greeted.
    #[error("the run ended without an answer{status}: it was killed there, or the connection broke")]
    Lost { status: String },
    #[error("nothing has been heard for {} s: the connection is dead", SILENCE.as_secs())]
    Silent,
}

/// The last five, each on a line of its own.
fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.trim().lines().collect();
    lines[lines.len().saturating_sub(5)..].iter().map(|line| format!("\n  {line}")).collect()
}

/// Runs a job in a child of this process.
pub fn in_child(job: &Job, cancel: &Cancel) -> Result<Report, ExecError> {
    run(job, &Asking { on: None, cancel, told: &|_| {} })
}

/// Runs a job where it is asked to.
pub fn run(job: &Job, asking: &Asking) -> Result<Report, ExecError> {
    match answer(job, asking)? {
        Answer::Report(report) => Ok(*report),
        other => Err(not_an_answer(&other)),
    }
}

/// Runs a job's launches under checks.
pub fn sanitize(job: &Job, asking: &Asking) -> Result<Findings, ExecError> {
    match answer(&Job { task: Task::Sanitize, ..job.clone() }, asking)? {
        Answer::Findings(findings) => Ok(*findings),
        other => Err(not_an_answer(&other)),
    }
}

/// Tries the rows of the tuners of a job's launches.
pub fn tune(job: &Job, asking: &Asking) -> Result<Tuning, ExecError> {
    match answer(&Job { task: Task::Tune, ..job.clone() }, asking)? {
        Answer::Tuning(tuning) => Ok(*tuning),
        other => Err(not_an_answer(&other)),
    }
}

/// Runs a job while a tool looks on, with what the tool prints; `tool` takes a program and its arguments behind its own.
pub(crate) fn observed(tool: Command, job: &Job, files: &FileSource) -> Result<(Observed, String), ExecError> {
    let (answer, printed) = near::ask_under(tool, job, files)?;
    match given(answer)? {
        Answer::Observed(observed) => Ok((*observed, printed)),
        other => Err(not_an_answer(&other)),
    }
}

fn answer(job: &Job, asking: &Asking) -> Result<Answer, ExecError> {
    given(near::ask(job, asking)?)
}

fn given(answer: Answer) -> Result<Answer, ExecError> {
    match answer {
        Answer::Refused(refusal) => Err(ExecError::Refused(refusal)),
        Answer::Stopped(stopped) => Err(ExecError::Stopped(stopped)),
        answer => Ok(answer),
    }
}

fn not_an_answer(answer: &Answer) -> ExecError {
    let status = match answer {
        Answer::Report(_) => "it ran the job",
        Answer::Findings(_) | Answer::Observed(_) => "it checked the job",
        Answer::Tuning(_) => "it tuned the job",
        Answer::Refused(_) | Answer::Stopped(_) => "it gave another answer",
    };
    ExecError::Died { status: status.to_owned(), stderr: String::new() }
}
