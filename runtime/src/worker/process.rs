//! Child processes that are watched: limited memory, limited time, and what they say on stderr.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::{LARGEST_MESSAGE, MEMORY_BYTES, WorkerError};
use crate::child;

/// How much of what a child prints on stderr is kept: its end.
const STDERR_KEPT: usize = 64 << 10;

/// A child with limited memory whose stderr is always drained. It does not outlive this value.
pub(super) struct Process {
    pub(super) child: Child,
    name: String,
    stderr: Arc<Mutex<VecDeque<u8>>>,
    stderr_reader: Option<JoinHandle<()>>,
    /// Has nobody to send when the child has closed its stderr.
    closed: Receiver<()>,
}

impl Process {
    pub(super) fn start(
        mut command: Command,
        stdin: Stdio,
        stdout: Stdio,
        memory: u64,
        remedy: &str,
    ) -> Result<Self, WorkerError> {
        let name = command.get_program().to_string_lossy().into_owned();
        command.stdin(stdin).stdout(stdout).stderr(Stdio::piped());
        child::apart_from_the_terminal(&mut command);
        let mut child = command
            .spawn()
            .map_err(|error| WorkerError::Missing { what: format!("{name} ({error})"), remedy: remedy.to_owned() })?;
        limit_memory(&child, memory);
        let stderr = Arc::<Mutex<VecDeque<u8>>>::default();
        let kept = Arc::clone(&stderr);
        let mut pipe = child.stderr.take().expect("stderr is piped");
        let (open, closed) = mpsc::channel::<()>();
        let stderr_reader = thread::spawn(move || {
            let _open = open;
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = pipe.read(&mut bytes) {
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                kept.extend(&bytes[..count]);
                let surplus = kept.len().saturating_sub(STDERR_KEPT);
                kept.drain(..surplus);
            }
        });
        Ok(Self { child, name, stderr, stderr_reader: Some(stderr_reader), closed })
    }

    /// Ends the child, however it is, and returns how it ended and the last that it said on stderr.
    fn end(&mut self) -> (Option<ExitStatus>, String) {
        let _ = self.child.kill();
        let status = self.child.wait().ok();
        if let Some(reader) = self.stderr_reader.take() {
            let _ = reader.join();
        }
        let kept = self.stderr.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes: Vec<u8> = kept.iter().copied().collect();
        (status, String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The error for a child whose pipe closed: it is ending by itself, so its own signal is waited for.
    pub(super) fn crashed(&mut self) -> WorkerError {
        let patience = Instant::now() + Duration::from_secs(2);
        while Instant::now() < patience && matches!(self.child.try_wait(), Ok(None)) {
            thread::sleep(Duration::from_millis(1));
        }
        let (status, stderr) = self.end();
        let stderr = stderr.trim().to_owned();
        WorkerError::Crashed { signal: status.and_then(signal), stderr }
    }

    pub(super) fn missing(&self, why: &str) -> WorkerError {
        WorkerError::Missing {
            what: format!("a tritium program of this version ({} is not one)", self.name),
            remedy: format!("{why}; set TRITIUM_BIN to the right one"),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // A child left alone would become a zombie; a killed one is gone at once.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A tool that has been started. It may wait for its input for as long as it likes.
pub(super) struct Tool {
    process: Process,
    printed: Option<JoinHandle<Vec<u8>>>,
    /// When it got its input, or else was started.
    since: Instant,
}

/// What a program that ran to its end has left.
pub(super) struct Finished {
    pub(super) success: bool,
    pub(super) signal: Option<i32>,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

impl Tool {
    /// Starts a tool whose standard input is `input`, or else a pipe, and whose standard output is `output`, or else printed text.
    pub(super) fn start(command: Command, input: Option<File>, output: Option<File>, remedy: &str) -> Result<Tool, WorkerError> {
        let stdin = input.map_or_else(Stdio::piped, Stdio::from);
        let stdout = output.map_or_else(Stdio::piped, Stdio::from);
        let mut process = Process::start(command, stdin, stdout, MEMORY_BYTES, remedy)?;
        let printed = process.child.stdout.take().map(|mut pipe| {
            thread::spawn(move || {
                let mut bytes = Vec::new();
                let _ = pipe.by_ref().take(u64::from(LARGEST_MESSAGE)).read_to_end(&mut bytes);
                bytes
            })
        });
        Ok(Tool { process, printed, since: Instant::now() })
    }

    /// Whether it has not ended by itself.
    pub(super) fn is_alive(&mut self) -> bool {
        matches!(self.process.child.try_wait(), Ok(None))
    }

    /// Hands its input over, and the end of it.
    pub(super) fn hand_over(&mut self, input: &[u8]) {
        self.since = Instant::now();
        if let Some(mut pipe) = self.process.child.stdin.take() {
            let input = input.to_vec();
            // A tool that does not read makes this thread wait until it is killed.
            thread::spawn(move || pipe.write_all(&input));
        }
    }

    /// Waits for the end, which comes within `limit` of what it was given, or else of its start.
    pub(super) fn finish(mut self, limit: Duration) -> Result<Finished, WorkerError> {
        drop(self.process.child.stdin.take());
        let deadline = self.since + limit;
        // One that ends closes its standard error; one that closes it may go on.
        let _ = self.process.closed.recv_timeout(deadline.saturating_duration_since(Instant::now()));
        let mut pause = Duration::from_micros(50);
        while matches!(self.process.child.try_wait(), Ok(None)) {
            if Instant::now() >= deadline {
                let name = Path::new(&self.process.name).file_name().unwrap_or_default();
                return Err(WorkerError::TimedOut { what: name.to_string_lossy().into_owned(), limit });
            }
            thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(1));
        }
        let (status, stderr) = self.process.end();
        let stdout = self.printed.and_then(|reader| reader.join().ok()).unwrap_or_default();
        Ok(Finished {
            success: status.is_some_and(|status| status.success()),
            signal: status.and_then(signal),
            stdout: String::from_utf8_lossy(&stdout).into_owned(),
            stderr,
        })
    }
}

#[cfg(unix)]
fn signal(status: ExitStatus) -> Option<i32> {
    std::os::unix::process::ExitStatusExt::signal(&status)
}

#[cfg(not(unix))]
fn signal(_: ExitStatus) -> Option<i32> {
    None
}

/// Limits the address space of a child from outside. A child that ended already needs no limit, so errors are ignored.
#[cfg(target_os = "linux")]
fn limit_memory(child: &Child, bytes: u64) {
    use rustix::process::{Pid, Resource, Rlimit, prlimit};
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    if let Some(pid) = pid {
        let _ = prlimit(Some(pid), Resource::As, Rlimit { current: Some(bytes), maximum: Some(bytes) });
        // An abort is an answer here, not something to keep a core file of.
        let _ = prlimit(Some(pid), Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
    }
}

#[cfg(not(target_os = "linux"))]
fn limit_memory(_: &Child, _: u64) {}
