//! Running `tritium` under limits, and what it took. **A run that exceeds them ends by itself or is killed with all that it started**, so that a
//! test which finds a defect does not take the machine with it.

use std::{
    fs::File,
    io::{Read as _, Seek as _},
    os::unix::process::{CommandExt as _, ExitStatusExt as _},
    path::Path,
    process::{Command, ExitStatus, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Resource, Rlimit, Signal};

/// What ends a run that does not end by itself.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// A run that takes longer hangs.
    pub hangs_after: Duration,
    /// Of a process. Much of its address space is reserved and never used, so this only stops what runs away.
    pub address_space_bytes: u64,
}

/// For a machine that may be slow, and a program that may be unoptimised.
pub const GENEROUS: Limits = Limits { hangs_after: Duration::from_secs(120), address_space_bytes: 4 << 30 };

/// How a run ended, what it said and what it took.
pub struct Ended {
    /// `None`: it was killed because it hung.
    pub status: Option<ExitStatus>,
    pub stdout: String,
    pub stderr: String,
    /// The most memory that it, or a process that it started, held at once.
    pub peak_mb: u64,
    pub took: Duration,
    /// Processor time, with that of the processes that it started: what others do on the machine does not lengthen it.
    pub processor_time: Duration,
}

/// Words that a user should never read.
const DEFECTS: &[&str] = &["a defect in Tritium", "a mistake in tritium itself", "panicked at", "has overflowed its stack"];

impl Ended {
    /// Why the run was not a good one, if it was not: a signal, a hang, another exit status than 0, 1 and 2, a panic.
    pub fn defect(&self) -> Option<String> {
        let Some(status) = self.status else { return Some(format!("still ran after {} s", self.took.as_secs())) };
        if let Some(signal) = status.signal() {
            return Some(format!("ended by signal {signal}"));
        }
        if !matches!(status.code(), Some(0..=2)) {
            return Some(format!("ended with {status}"));
        }
        let said = |text: &str| text.lines().find(|line| DEFECTS.iter().any(|words| line.contains(words))).map(str::to_owned);
        said(&self.stderr).or_else(|| said(&self.stdout))
    }
}

/// Runs `tritium` in a folder, under the limits.
#[expect(clippy::zombie_processes, reason = "it is waited for by number, to learn what it took")]
pub fn run(arguments: &[&str], folder: &Path, limits: Limits) -> Ended {
    let output = || tempfile::tempfile().expect("a temporary file");
    let (mut stdout, mut stderr) = (output(), output());
    let mut command = Command::new(crate::tritium());
    command.args(arguments).current_dir(folder).env("TRITIUM_CACHE", "off").env_remove("VIRTUAL_ENV");
    command.stdin(Stdio::null()).stdout(handle(&stdout)).stderr(handle(&stderr));
    // A group of its own, so that what it starts is killed with it.
    let child = command.process_group(0).spawn().expect("tritium starts");
    let start = Instant::now();
    let pid = Pid::from_child(&child);
    limit_memory(pid, limits);
    let (sender, receiver) = mpsc::channel();
    let waiting = thread::spawn(move || {
        let ended = wait(pid);
        // Nobody listens any more where the run was killed.
        let _ = sender.send(());
        ended
    });
    let hangs = receiver.recv_timeout(limits.hangs_after).is_err();
    if hangs {
        let _ = rustix::process::kill_process_group(pid, Signal::KILL);
    }
    let (status, usage) = waiting.join().expect("it only waits");
    let took = start.elapsed();
    let part = |time: libc::timeval| {
        let whole = Duration::from_secs(u64::try_from(time.tv_sec).unwrap_or_default());
        whole + Duration::from_micros(u64::try_from(time.tv_usec).unwrap_or_default())
    };
    Ended {
        status: (!hangs).then_some(status),
        stdout: text(&mut stdout),
        stderr: text(&mut stderr),
        // Linux counts it in KiB.
        peak_mb: u64::try_from(usage.ru_maxrss).unwrap_or_default() / 1024,
        took,
        processor_time: part(usage.ru_utime) + part(usage.ru_stime),
    }
}

/// Keeps a process, and what it starts, from taking the machine's memory.
pub fn limit_memory(pid: Pid, limits: Limits) {
    let bytes = Some(limits.address_space_bytes);
    let limit = Rlimit { current: bytes, maximum: bytes };
    // A process that has ended already needs no limit.
    let _ = rustix::process::prlimit(Some(pid), Resource::As, limit);
}

fn handle(file: &File) -> Stdio {
    file.try_clone().expect("a file can be opened twice").into()
}

fn text(file: &mut File) -> String {
    let mut bytes = Vec::new();
    file.rewind().and_then(|()| file.read_to_end(&mut bytes)).expect("the file is ours");
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Waits for a child; its status, and what it and its own children took.
fn wait(pid: Pid) -> (ExitStatus, libc::rusage) {
    let mut status = 0;
    // SAFETY: `rusage` is plain numbers, for which zeros are values.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: both pointers are to variables of this function that outlive the call.
        let done = unsafe { libc::wait4(pid.as_raw_nonzero().get(), &raw mut status, 0, &raw mut usage) };
        if done > 0 {
            return (ExitStatus::from_raw(status), usage);
        }
        let error = std::io::Error::last_os_error();
        assert_eq!(error.kind(), std::io::ErrorKind::Interrupted, "our own child can be waited for: {error}");
    }
}

/// What a process holds in memory now; `None` where Linux does not tell.
pub fn resident_kb(process: u32) -> Option<u64> {
    kilobytes(process, "VmRSS:")
}

/// The most memory that a process has held so far.
pub fn peak_resident_kb(process: u32) -> Option<u64> {
    kilobytes(process, "VmHWM:")
}

fn kilobytes(process: u32, row: &str) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(row))?;
    line.split_whitespace().next()?.parse().ok()
}
