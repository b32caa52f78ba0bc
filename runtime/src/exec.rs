//! Running a job in another process: a child of this machine, or the far end of a launcher.
//!
//! The job is one JSON document on the child's standard input, the outcome one on its standard output. The input stays open for as long as
//! somebody wants the outcome; when it closes, the child ends. **Invariant:** whatever the child does (hang, crash, talk nonsense),
//! [`in_child`] returns soon after the limit and says what happened; whatever becomes of the caller, the child ends.

use std::{
    io::{self, BufReader, Read as _, Write as _},
    path::PathBuf,
    process::{Child, Command, ExitStatus, Stdio},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};
use thiserror::Error;
use tritium_semantics::Chosen;

use crate::{
    child,
    run::{self, Ended, Findings, Report},
    watch::{self, Limit, Limits, Stopped, Watched},
};

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
    /// To run again and again, and be timed.
    Bench,
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
    pub limits: Limits,
    /// Who sent this holds the other end of the input open while the outcome is wanted. A file or a pipe that ends with the job says nothing.
    #[serde(default)]
    pub attended: bool,
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

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Answer {
    Report(Box<Report>),
    Findings(Box<Findings>),
    /// The run could not be made; the message is complete.
    Refused(run::Refusal),
    Stopped(Stopped),
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
}

/// The last five, each on a line of its own.
fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.trim().lines().collect();
    lines[lines.len().saturating_sub(5)..].iter().map(|line| format!("\n  {line}")).collect()
}

/// The child's side: reads a job from `input`, runs it, writes the answer to `output`.
pub fn serve(input: impl io::Read + Send + 'static, output: impl io::Write + Send + 'static) -> io::Result<()> {
    let mut input = BufReader::new(input);
    let outlet = Arc::new(Outlet(Mutex::new(Some(output))));
    let job = match serde_json::Deserializer::from_reader(&mut input).into_iter::<Job>().next() {
        Some(Ok(job)) => job,
        Some(Err(error)) => return outlet.say(&Answer::Refused(run::Refusal::new(format!("this is not a job: {error}")))),
        None => return outlet.say(&Answer::Refused(run::Refusal::new("no job was given"))),
    };
    if job.attended {
        thread::spawn(move || {
            while matches!(input.read(&mut [0; 64]), Ok(1..)) {}
            child::end_now();
        });
    }
    let watched = Arc::<Watched>::default();
    let out = Arc::clone(&outlet);
    watch::start(Arc::clone(&watched), job.limits, move |stopped| drop(out.say(&Answer::Stopped(stopped))));
    let answer = match job.task {
        Task::Run | Task::Bench => run::run(&job, &watched).map(|report| Answer::Report(Box::new(report))),
        Task::Sanitize => run::sanitize(&job, &watched).map(|findings| Answer::Findings(Box::new(findings))),
    };
    outlet.say(&match answer {
        Ok(answer) => answer,
        Err(Ended::Refused(refusal)) => Answer::Refused(refusal),
        Err(Ended::Stopped(stopped)) => Answer::Stopped(stopped),
    })
}

/// Where the one answer goes: that of the run, or that of its watcher.
struct Outlet<W>(Mutex<Option<W>>);

impl<W: io::Write> Outlet<W> {
    /// Nothing, if the answer has been given.
    fn say(&self, answer: &Answer) -> io::Result<()> {
        let mut output = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(mut output) = output.take() else { return Ok(()) };
        serde_json::to_writer(&mut output, answer)?;
        output.flush()
    }
}

/// Runs a job in a child of this process.
pub fn in_child(job: &Job, cancel: &Cancel) -> Result<Report, ExecError> {
    report(answer_of(own_child()?, job, cancel)?)
}

/// Runs a job's launches under checks in a child of this process.
pub fn sanitize_in_child(job: &Job, cancel: &Cancel) -> Result<Findings, ExecError> {
    let job = Job { task: Task::Sanitize, ..job.clone() };
    match answer_of(own_child()?, &job, cancel)? {
        Answer::Findings(findings) => Ok(*findings),
        other => Err(not_an_answer(&other)),
    }
}

fn own_child() -> Result<Command, ExecError> {
    let program = crate::worker::binary().map_err(|e| ExecError::NotStarted(e.to_string()))?;
    let mut command = Command::new(program);
    command.arg("exec");
    Ok(command)
}

fn report(answer: Answer) -> Result<Report, ExecError> {
    match answer {
        Answer::Report(report) => Ok(*report),
        other => Err(not_an_answer(&other)),
    }
}

fn not_an_answer(answer: &Answer) -> ExecError {
    let status = match answer {
        Answer::Report(_) => "it ran the job",
        Answer::Findings(_) => "it checked the job",
        Answer::Refused(_) | Answer::Stopped(_) => "it gave another answer",
    };
    ExecError::Died { status: status.to_owned(), stderr: String::new() }
}

/// Runs a job on the other side of a command, for example `ssh gpu-box tritium exec`.
pub fn through_launcher(launcher: &str, job: &Job, cancel: &Cancel) -> Result<Report, ExecError> {
    let mut command = Command::new("sh");
    command.arg("-c").arg(launcher);
    report(answer_of(command, job, cancel)?)
}

fn answer_of(mut command: Command, job: &Job, cancel: &Cancel) -> Result<Answer, ExecError> {
    child::ends_with_this_process(&mut command);
    let spawned = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = spawned.map_err(|e| ExecError::NotStarted(e.to_string()))?;
    let job = Job { attended: true, ..job.clone() };
    let document = serde_json::to_vec(&job).map_err(|e| ExecError::NotStarted(e.to_string()))?;
    // Three pipes, three threads: none can fill up and hold the child.
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let writer = thread::spawn(move || {
        // A child that ends before it has read everything is judged by its answer.
        stdin.map(|mut stdin| {
            let _ = stdin.write_all(&document).and_then(|()| stdin.flush());
            stdin
        })
    });
    let collect = |pipe: Option<Box<dyn io::Read + Send>>| {
        thread::spawn(move || {
            let mut bytes = Vec::new();
            if let Some(mut pipe) = pipe {
                let _ = pipe.read_to_end(&mut bytes);
            }
            bytes
        })
    };
    let stdout = collect(stdout.map(|p| Box::new(p) as _));
    let stderr = collect(stderr.map(|p| Box::new(p) as _));
    let limit = Duration::try_from_secs_f64(job.limits.seconds).unwrap_or(Duration::MAX).saturating_add(GRACE);
    let status = wait(&mut child, limit, cancel).map_err(|e| ExecError::NotStarted(e.to_string()))?;
    // Until now the child's input was open: what holds it is the thread's result.
    drop(writer);
    let Some(status) = status else {
        return Err(match cancel.is_cancelled() {
            true => ExecError::Cancelled,
            false => ExecError::Stopped(Stopped { limit: Limit::Seconds(job.limits.seconds), place: None }),
        });
    };
    let (stdout, stderr) = (stdout.join().unwrap_or_default(), stderr.join().unwrap_or_default());
    match serde_json::from_slice(&stdout) {
        Ok(Answer::Refused(refusal)) => Err(ExecError::Refused(refusal)),
        Ok(Answer::Stopped(stopped)) => Err(ExecError::Stopped(stopped)),
        Ok(answer) => Ok(answer),
        Err(_) => Err(ExecError::Died { status: status.to_string(), stderr: String::from_utf8_lossy(&stderr).into_owned() }),
    }
}

/// `None`: the limit passed, or the run was cancelled, and the child was killed.
fn wait(child: &mut Child, limit: Duration, cancel: &Cancel) -> io::Result<Option<ExitStatus>> {
    let begin = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if begin.elapsed() >= limit || cancel.is_cancelled() {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        thread::sleep(Duration::from_millis(5));
    }
}
