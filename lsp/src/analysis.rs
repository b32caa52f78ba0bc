//! The one thread that owns the database.
//!
//! Changes are applied in the order they arrive; a read gets a snapshot and runs on a thread of its own. A change cancels the reads in
//! flight (salsa unwinds them), which their askers see as [`ReadError::Cancelled`]; cancelled analyses are started again, as
//! [`schedule`](super::schedule) says. **Invariant:** a panic in one read never takes the server down, and a change never waits for more
//! than the next cancellation check of the reads before it.

use std::{
    collections::HashMap,
    ops::Deref,
    panic::AssertUnwindSafe,
    path::{Path, PathBuf},
    sync::{
        Arc,
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::{Duration, Instant},
};

use salsa::Cancelled;
use tokio::sync::oneshot;

use tritium_ide::{self as ide, Analysis, Host, Options};

use tritium_semantics::{host::Called, notebook};

use crate::{
    convert,
    files::{Files, NewText},
    parts::Parts,
    schedule::{AnalysisStep, Job, Next, Schedule},
};

/// What the owner of the database does.
pub(crate) enum Task {
    Change(NewText),
    /// The file on disk is the truth again.
    Close {
        path: PathBuf,
    },
    /// Files changed on disk, came or went.
    Reload {
        paths: Vec<PathBuf>,
        tree_changed: bool,
    },
    Configure(Box<Options>),
    /// A running program has launched kernels of a file.
    Recorded {
        path: PathBuf,
    },
    /// The folders that are open.
    Roots(Vec<PathBuf>),
    Read(Box<dyn FnOnce(Snapshot) + Send>),
    /// An analysis has ended; it is done unless a change cancelled it.
    Analysed {
        job: Job,
        is_done: bool,
    },
    /// What other files launch of a file's kernels, as a generation of databases has it.
    Called {
        job: Job,
        generation: u64,
        called: Vec<Called>,
    },
    Stop,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ReadError {
    /// A newer text arrived.
    Cancelled,
    Panicked(String),
    /// The server is stopping.
    Stopped,
}

/// The documents that the texts of the open files stand in.
type OpenParts = HashMap<PathBuf, Arc<Parts>>;

/// An analysis, and the documents that its texts stand in.
pub(crate) struct Snapshot {
    analysis: Analysis,
    open: Arc<OpenParts>,
}

impl Snapshot {
    /// With the settings of a file's project.
    pub(crate) fn at(self, path: &Path) -> Snapshot {
        Snapshot { analysis: self.analysis.at(path), ..self }
    }

    /// `None` of a notebook that is not open: it has no cells that a client could name.
    pub(crate) fn parts(&self, path: &Path) -> Option<Arc<Parts>> {
        if let Some(parts) = self.open.get(path) {
            return Some(Arc::clone(parts));
        }
        let uri = if notebook::is_notebook(path) { None } else { convert::uri(path) };
        uri.map(|uri| Arc::new(Parts::whole(uri, None)))
    }
}

impl Deref for Snapshot {
    type Target = Analysis;

    fn deref(&self) -> &Analysis {
        &self.analysis
    }
}

/// After a pause of this length memory is given back.
const REST: Duration = Duration::from_millis(50);

/// Analyses a document, on a snapshot and a thread of its own; `false` if a change cancelled it.
pub(crate) type Analyse = Arc<dyn Fn(Snapshot, &Job) -> bool + Send + Sync>;

/// Tells the client that what it shows of a document beside diagnostics may have changed.
pub(crate) type Refresh = Arc<dyn Fn() + Send + Sync>;

/// The asking side; cheap to clone.
#[derive(Clone)]
pub(crate) struct Owner {
    tasks: mpsc::Sender<Task>,
}

impl Owner {
    /// Starts the thread, which ends at [`Task::Stop`]. `analyse` publishes diagnostics.
    pub(crate) fn spawn(
        files: Arc<Files>,
        host: Host,
        runtime: tokio::runtime::Handle,
        analyse: Analyse,
        refresh: Refresh,
    ) -> Owner {
        let (tasks, queue) = mpsc::channel();
        let schedule = Schedule::new(Instant::now());
        let desk = Desk { host, files, open: Arc::default(), runtime, analyse, refresh, schedule, tasks: tasks.clone() };
        thread::Builder::new()
            .name("analysis".to_owned())
            .stack_size(16 << 20)
            .spawn(move || desk.serve(&queue))
            .expect("the first thread of a process can be started");
        Owner { tasks }
    }

    pub(crate) fn send(&self, task: Task) {
        // The thread outlives every sender but at shutdown, when nobody listens any more.
        let _ = self.tasks.send(task);
    }

    /// Runs `read` on a snapshot.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(Snapshot) -> T + Send + 'static,
    ) -> Result<T, ReadError> {
        let (answer, answered) = oneshot::channel();
        self.send(Task::Read(Box::new(move |analysis| {
            // Nobody waits any more for what was cancelled.
            if !answer.is_closed() {
                let _ = answer.send(guarded(|| read(analysis)));
            }
        })));
        answered.await.unwrap_or(Err(ReadError::Stopped))
    }
}

/// Catches cancellation and panics.
pub(crate) fn guarded<T>(read: impl FnOnce() -> T) -> Result<T, ReadError> {
    match Cancelled::catch(AssertUnwindSafe(|| ide::guarded(read))) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(text)) => {
            tracing::error!(panic = text, "a request failed");
            Err(ReadError::Panicked(text))
        }
        Err(_) => Err(ReadError::Cancelled),
    }
}

/// What the thread has.
struct Desk {
    host: Host,
    files: Arc<Files>,
    open: Arc<OpenParts>,
    runtime: tokio::runtime::Handle,
    analyse: Analyse,
    refresh: Refresh,
    schedule: Schedule,
    tasks: mpsc::Sender<Task>,
}

impl Desk {
    fn serve(mut self, queue: &mpsc::Receiver<Task>) {
        let mut is_rested = true;
        loop {
            let next_analysis = self.start_analyses();
            let rest = (!is_rested).then_some(REST);
            let wait = next_analysis.map(|at| at.saturating_duration_since(Instant::now())).into_iter().chain(rest).min();
            let next = match wait {
                Some(wait) => queue.recv_timeout(wait),
                None => queue.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match next {
                Ok(task) => {
                    is_rested = false;
                    // What waits already is done before anything is analysed: of a burst of changes only the last counts.
                    for task in std::iter::once(task).chain(queue.try_iter()) {
                        if matches!(task, Task::Stop) {
                            return;
                        }
                        self.act(task);
                    }
                }
                // The next keystroke would let go of the same; a person who only reads needs none of it.
                Err(RecvTimeoutError::Timeout) if !is_rested && !self.host.is_read() => {
                    self.host.forget();
                    is_rested = true;
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn snapshot(&self) -> Snapshot {
        Snapshot { analysis: self.host.snapshot(), open: Arc::clone(&self.open) }
    }

    /// Starts what may start; when to look again where nothing else happens.
    fn start_analyses(&mut self) -> Option<Instant> {
        loop {
            let job = match self.schedule.next(Instant::now()) {
                Next::Start(job) => job,
                Next::At(then) => return Some(then),
                Next::Nothing => return None,
            };
            let (analysis, analyse, tasks) = (self.snapshot(), Arc::clone(&self.analyse), self.tasks.clone());
            if job.step == AnalysisStep::Callers {
                self.runtime.spawn_blocking(move || {
                    let found = guarded(|| analysis.launches_by_callers(&job.path));
                    let _ = tasks.send(match found {
                        Ok(called) => Task::Called { generation: analysis.generation(), job, called },
                        Err(error) => Task::Analysed { job, is_done: error != ReadError::Cancelled },
                    });
                });
                continue;
            }
            self.runtime.spawn_blocking(move || {
                let is_done = guarded(|| analyse(analysis, &job)).unwrap_or(true);
                // The thread ends with the server.
                let _ = tasks.send(Task::Analysed { job, is_done });
            });
        }
    }

    fn act(&mut self, task: Task) {
        match task {
            Task::Change(NewText { path, text, parts, edition }) => {
                let _span = tracing::debug_span!("change", path = %path.display(), ?edition).entered();
                self.host.set_text(&path, text);
                Arc::make_mut(&mut self.open).insert(path.clone(), parts);
                self.schedule.text_changed(&path, edition, Instant::now());
            }
            Task::Close { path } => {
                self.host.reload(&path);
                Arc::make_mut(&mut self.open).remove(&path);
                self.schedule.closed(&path, Instant::now());
            }
            Task::Reload { paths, tree_changed } => {
                for path in paths.iter().filter(|path| !self.files.is_open(path)) {
                    self.host.reload(path);
                }
                if tree_changed {
                    self.host.tree_changed();
                }
                // Any of them may be imported, or be the configuration.
                self.schedule.inputs_changed(Instant::now());
            }
            Task::Configure(options) => {
                self.host.configure(*options);
                self.schedule.inputs_changed(Instant::now());
            }
            Task::Called { job, generation, called } => {
                self.schedule.ended(&job, true);
                if self.host.set_called(generation, &job.path, called) {
                    self.schedule.inputs_changed(Instant::now());
                    (self.refresh)();
                }
            }
            Task::Recorded { path } => {
                if self.host.read_recorded(&path) {
                    self.schedule.inputs_changed(Instant::now());
                    (self.refresh)();
                }
            }
            Task::Roots(roots) => {
                self.host.set_roots(roots);
                self.schedule.inputs_changed(Instant::now());
            }
            Task::Read(read) => {
                let analysis = self.snapshot();
                self.runtime.spawn_blocking(move || read(analysis));
            }
            Task::Analysed { job, is_done } => self.schedule.ended(&job, is_done),
            Task::Stop => {}
        }
    }
}
