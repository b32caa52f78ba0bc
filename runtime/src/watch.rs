//! The limits of a run, kept in the process that runs it: whatever becomes of who asked, the run ends.
//!
//! Memory is counted by what the process really holds (`RssAnon`), looked at many times a second. On `cpu` and `sim` the system refuses what
//! grows faster than that (`RLIMIT_DATA`); a CUDA driver maps more than it uses, so there the count is all there is.
//! **Invariant:** a run that a limit stops is answered with the limit and the place where it stopped.

use std::{
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};

use crate::{child, files};

/// How long the interpreter may take to say where it is; it looks before every operation.
const GRACE: Duration = Duration::from_millis(500);
const PAUSE: Duration = Duration::from_millis(10);
/// What the system allows beyond the limit: stacks, and what the allocator holds in reserve.
const RESERVE_BYTES: u64 = 4 << 30;
/// Where the size of the machine cannot be asked.
const FALLBACK_BYTES: u64 = 8 << 30;

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    pub seconds: f64,
    /// Half of the memory of the machine that runs it, where nothing is said.
    pub memory_bytes: Option<u64>,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { seconds: 300.0, memory_bytes: None }
    }
}

impl Limits {
    /// The memory of a run on this machine.
    pub fn memory(&self) -> u64 {
        self.memory_bytes.unwrap_or_else(|| machine_bytes() / 2)
    }
}

/// A run that a limit has stopped.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stopped {
    pub limit: Limit,
    /// Where it was, as far as known: `softmax.py:12, in kernel softmax (launch rows)`.
    pub place: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    Seconds(f64),
    MemoryBytes(u64),
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = self.place.as_ref().map_or_else(String::new, |place| format!(" at {place}"));
        match self.limit {
            Limit::Seconds(seconds) => write!(
                f,
                "stopped after {seconds} s{place}: the run had not finished. A loop that never ends or a barrier that not every thread reaches \
                 looks like this; `--timeout`, in an editor `tritium.run.timeout`, sets the limit"
            ),
            Limit::MemoryBytes(bytes) => {
                let size = files::size(bytes);
                write!(f, "stopped{place}: the run took more than {size} of memory; `--memory` sets the limit")
            }
        }
    }
}

/// What a run tells of itself, and how it learns that it is to stop.
#[derive(Debug, Default)]
pub struct Watched {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    place: Option<String>,
    stopped: Option<Limit>,
    /// Who asked for the run wants it no longer.
    is_cancelled: bool,
    /// Looked at by the programs that run now.
    cancel: Option<Arc<AtomicBool>>,
}

impl Watched {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the run does next.
    pub fn enter(&self, place: String) {
        self.state().place = Some(place);
    }

    /// What it does now.
    pub fn doing(&self) -> Option<String> {
        self.state().place.clone()
    }

    /// The flag of programs about to run; raised when a limit is reached, and already if one was.
    pub fn programs(&self, cancel: &Arc<AtomicBool>) {
        let mut state = self.state();
        cancel.store(state.stopped.is_some() || state.is_cancelled, Ordering::Relaxed);
        state.cancel = Some(Arc::clone(cancel));
    }

    pub fn programs_ended(&self) {
        self.state().cancel = None;
    }

    /// The limit that was reached.
    pub fn stopped(&self) -> Option<Limit> {
        self.state().stopped
    }

    /// Ends the programs that run now, and all that would begin.
    pub fn cancel(&self) {
        let mut state = self.state();
        state.is_cancelled = true;
        if let Some(cancel) = &state.cancel {
            cancel.store(true, Ordering::Relaxed);
        }
    }

    /// Whether somebody will say where the programs were.
    fn stop(&self, limit: Limit) -> bool {
        let mut state = self.state();
        state.stopped = Some(limit);
        let running = state.cancel.is_some();
        if let Some(cancel) = &state.cancel {
            cancel.store(true, Ordering::Relaxed);
        }
        running
    }
}

/// Watches this process until it ends. `answer` is given what is to be said if the run itself does not say it.
pub fn start(watched: Arc<Watched>, limits: Limits, answer: impl Fn(Stopped) + Send + 'static) {
    let memory = limits.memory();
    let begin = Instant::now();
    thread::spawn(move || {
        let limit = loop {
            if begin.elapsed().as_secs_f64() >= limits.seconds {
                break Limit::Seconds(limits.seconds);
            }
            if resident_bytes().is_some_and(|held| held > memory) {
                break Limit::MemoryBytes(memory);
            }
            thread::sleep(PAUSE);
        };
        let told_at = Instant::now();
        if watched.stop(limit) {
            // Memory goes on growing meanwhile, but a program that stops gives its tiles back.
            while told_at.elapsed() < GRACE && resident_bytes().is_none_or(|held| held < memory + RESERVE_BYTES / 4) {
                thread::sleep(PAUSE);
            }
        }
        answer(Stopped { limit, place: watched.state().place.clone() });
        child::end_now();
    });
}

/// Lets the system refuse what would go far beyond the limit before anybody has looked.
pub fn refuse_beyond(memory: u64) {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let most = memory.saturating_add(RESERVE_BYTES);
        let Rlimit { maximum, .. } = getrlimit(Resource::Data);
        let most = maximum.map_or(most, |maximum| maximum.min(most));
        let _ = setrlimit(Resource::Data, Rlimit { current: Some(most), maximum });
        // An abort is an answer here, not something to keep a core file of.
        let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
    }
    #[cfg(not(target_os = "linux"))]
    let _ = memory;
}

/// What this process holds that no file backs.
fn resident_bytes() -> Option<u64> {
    kilobytes("/proc/self/status", "RssAnon:")
}

/// The memory of this machine, or of the container that it pretends to be.
fn machine_bytes() -> u64 {
    let machine = kilobytes("/proc/meminfo", "MemTotal:").unwrap_or(FALLBACK_BYTES);
    let container = std::fs::read_to_string("/sys/fs/cgroup/memory.max").ok().and_then(|text| text.trim().parse().ok());
    container.map_or(machine, |container: u64| container.min(machine))
}

fn kilobytes(file: &str, field: &str) -> Option<u64> {
    let text = std::fs::read_to_string(file).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(field))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|n| n * 1024)
}
