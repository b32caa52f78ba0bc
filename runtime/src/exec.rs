//! Running a job in another process: a child of this machine, or the far end of a launcher.
//!
//! The job is one JSON document on the child's standard input, the outcome one on its standard output. **Invariant:** whatever the child
//! does (hang, crash, talk nonsense), [`in_child`] returns within the limit and says what happened.

use std::{
    fmt,
    io::{self, Read as _, Write as _},
    path::PathBuf,
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};

use crate::run::{self, Report};

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

/// Everything a run depends on; the text travels, so an unsaved buffer runs as it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Job {
    pub path: PathBuf,
    pub text: String,
    /// By name; the file's first launch otherwise.
    pub launch: Option<String>,
    /// `cpu` or `cuda:N`
    pub device: String,
    pub verify: Verify,
    /// Where every tensor argument is saved as `.npy`.
    pub save: Option<PathBuf>,
    pub triton: String,
    pub gpu: String,
    /// Only the launches of this autotune configuration, and those that have none.
    pub config: Option<usize>,
    /// References added to those of every launch: a tensor's name, and an expression over the launch's inputs.
    pub expect: Vec<(String, String)>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Answer {
    Report(Box<Report>),
    /// The run could not be made; the message is complete.
    Refused(run::Refusal),
}

#[derive(Debug, Clone, PartialEq)]
pub enum ExecError {
    Refused(run::Refusal),
    TimedOut {
        limit: Duration,
    },
    /// The process ended without an answer.
    Died {
        status: String,
        stderr: String,
    },
    NotStarted(String),
}

impl fmt::Display for ExecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ExecError::Refused(refusal) => write!(f, "{refusal}"),
            ExecError::TimedOut { limit } => write!(
                f,
                "stopped after {} s: the kernel had not finished. A loop that never ends or a barrier that not every thread reaches \
                 looks like this; `--timeout`, in an editor `tritium.run.timeout`, sets the limit",
                limit.as_secs_f64()
            ),
            ExecError::Died { status, stderr } => {
                write!(f, "the process that ran the kernel ended without an answer ({status})")?;
                let tail: Vec<&str> = stderr.trim().lines().rev().take(5).collect();
                tail.iter().rev().try_for_each(|line| write!(f, "\n  {line}"))
            }
            ExecError::NotStarted(why) => write!(f, "the process that runs kernels cannot be started: {why}"),
        }
    }
}

/// The child's side: reads a job from `input`, runs it, writes the answer to `output`.
pub fn serve(mut input: impl io::Read, mut output: impl io::Write) -> io::Result<()> {
    let mut text = String::new();
    input.read_to_string(&mut text)?;
    let answer = match serde_json::from_str::<Job>(&text) {
        Ok(job) => match run::run(&job) {
            Ok(report) => Answer::Report(Box::new(report)),
            Err(refusal) => Answer::Refused(refusal),
        },
        Err(error) => Answer::Refused(run::Refusal::new(format!("this is not a job: {error}"))),
    };
    serde_json::to_writer(&mut output, &answer)?;
    output.flush()
}

/// Runs a job in a child of this process, for at most `limit`.
pub fn in_child(job: &Job, limit: Duration) -> Result<Report, ExecError> {
    let program = crate::worker::binary().map_err(|e| ExecError::NotStarted(e.to_string()))?;
    let mut command = Command::new(program);
    command.arg("exec");
    answer_of(command, job, limit)
}

/// Runs a job on the other side of a command, for example `ssh gpu-box tritium exec`.
pub fn through_launcher(launcher: &str, job: &Job, limit: Duration) -> Result<Report, ExecError> {
    let mut command = Command::new("sh");
    command.arg("-c").arg(launcher);
    answer_of(command, job, limit)
}

fn answer_of(mut command: Command, job: &Job, limit: Duration) -> Result<Report, ExecError> {
    let spawned = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = spawned.map_err(|e| ExecError::NotStarted(e.to_string()))?;
    let document = serde_json::to_vec(job).map_err(|e| ExecError::NotStarted(e.to_string()))?;
    // Three pipes, three threads: none can fill up and hold the child.
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let writer = thread::spawn(move || {
        if let Some(mut stdin) = stdin {
            // A child that ends before it has read everything is judged by its answer.
            let _ = stdin.write_all(&document);
        }
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
    let status = wait(&mut child, limit).map_err(|e| ExecError::NotStarted(e.to_string()))?;
    let Some(status) = status else { return Err(ExecError::TimedOut { limit }) };
    let _ = writer.join();
    let (stdout, stderr) = (stdout.join().unwrap_or_default(), stderr.join().unwrap_or_default());
    match serde_json::from_slice(&stdout) {
        Ok(Answer::Report(report)) => Ok(*report),
        Ok(Answer::Refused(refusal)) => Err(ExecError::Refused(refusal)),
        Err(_) => Err(ExecError::Died { status: status.to_string(), stderr: String::from_utf8_lossy(&stderr).into_owned() }),
    }
}

/// `None`: the limit passed and the child was killed.
fn wait(child: &mut Child, limit: Duration) -> io::Result<Option<ExitStatus>> {
    let deadline = Instant::now() + limit;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= deadline {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        thread::sleep(Duration::from_millis(5));
    }
}
