//! The one thread that owns the database.
//!
//! Changes are applied in the order they arrive; a read gets a snapshot and runs on a thread of its own. A change cancels the reads in
//! flight (salsa unwinds them), which their askers see as [`ReadError::Cancelled`]. **Invariant:** a panic in one read never takes the
//! server down, and a change never waits for more than the next cancellation check of the reads before it.

use std::{
    panic::AssertUnwindSafe,
    path::PathBuf,
    sync::{
        Arc,
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::Duration,
};

use salsa::Cancelled;
use tokio::sync::oneshot;

use crate::{
    ide::{self, Analysis, Host, Options},
    server::files::Files,
};

/// What the owner of the database does.
pub(crate) enum Task {
    /// A buffer's new text.
    Change {
        path: PathBuf,
        text: String,
        version: i32,
    },
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
    /// The folders that are open.
    Roots(Vec<PathBuf>),
    Read(Box<dyn FnOnce(Analysis) + Send>),
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

/// After a pause of this length memory is given back.
const REST: Duration = Duration::from_millis(50);

/// Runs after every change, on a snapshot and a thread of its own.
pub(crate) type AfterChange = Arc<dyn Fn(Analysis, PathBuf, i32) + Send + Sync>;

/// The asking side; cheap to clone.
#[derive(Clone)]
pub(crate) struct Owner {
    tasks: mpsc::Sender<Task>,
}

impl Owner {
    /// Starts the thread. `after_change` publishes diagnostics.
    pub(crate) fn spawn(files: Arc<Files>, host: Host, runtime: tokio::runtime::Handle, after_change: AfterChange) -> Owner {
        let (tasks, queue) = mpsc::channel();
        thread::Builder::new()
            .name("analysis".to_owned())
            .stack_size(16 << 20)
            .spawn(move || serve(queue, &files, host, &runtime, &after_change))
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
        read: impl FnOnce(Analysis) -> T + Send + 'static,
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

fn serve(
    queue: mpsc::Receiver<Task>,
    files: &Files,
    mut host: Host,
    runtime: &tokio::runtime::Handle,
    after_change: &AfterChange,
) {
    let follow_up = |host: &Host, path: PathBuf, version: i32| {
        let (analysis, after_change) = (host.snapshot(), Arc::clone(after_change));
        runtime.spawn_blocking(move || {
            let _ = guarded(|| after_change(analysis, path, version));
        });
    };
    let mut is_rested = true;
    loop {
        let next = if is_rested { queue.recv().map_err(|_| RecvTimeoutError::Disconnected) } else { queue.recv_timeout(REST) };
        let task = match next {
            Ok(task) => task,
            Err(RecvTimeoutError::Timeout) => {
                // The next keystroke would let go of the same; a person who only reads needs none of it.
                if !host.is_read() {
                    host.forget();
                    is_rested = true;
                }
                continue;
            }
            Err(RecvTimeoutError::Disconnected) => return,
        };
        is_rested = false;
        match task {
            Task::Change { path, text, version } => {
                let _span = tracing::debug_span!("change", path = %path.display(), version).entered();
                host.set_text(&path, text);
                follow_up(&host, path, version);
            }
            Task::Close { path } => host.reload(&path),
            Task::Reload { paths, tree_changed } => {
                for path in paths.iter().filter(|path| !files.is_open(path)) {
                    host.reload(path);
                }
                if tree_changed {
                    host.tree_changed();
                }
                // Any of them may be imported, or be the configuration.
                for (path, version) in files.open_versions() {
                    follow_up(&host, path, version);
                }
            }
            Task::Configure(options) => {
                host.configure(*options);
                for (path, version) in files.open_versions() {
                    follow_up(&host, path, version);
                }
            }
            Task::Roots(roots) => host.set_roots(roots),
            Task::Read(read) => {
                let analysis = host.snapshot();
                runtime.spawn_blocking(move || read(analysis));
            }
            Task::Stop => return,
        }
    }
}
