//! The far side: `tritium exec`.
//!
//! **Invariant:** it ends when nobody waits for it any more, whether its input closes or, of another machine, nothing has come for
//! [`SILENCE`]: a connection can die without a word.

use std::{
    io::{self, BufReader, Read, Write},
    path::Path,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Instant,
};

use super::{
    SIGN_OF_LIFE, SILENCE, Task,
    wire::{Answer, Hello, Order, Word},
};
use crate::{
    bundle::{Bundle, FileSource},
    child, run,
    run::{Ended, Site},
    tensor::Tensor,
    watch::{self, Watched},
};

/// Reads a job from `input`, runs it, writes the answer to `output`.
pub fn serve(input: impl Read + Send + 'static, output: impl Write + Send + 'static) -> io::Result<()> {
    let outlet = Arc::new(Outlet(Mutex::new(Some(output))));
    outlet.line(&Hello::own().to_string())?;
    let (heard, watched) = (Arc::new(Heard::new()), Arc::<Watched>::default());
    live(Arc::clone(&outlet), Arc::clone(&heard), Arc::clone(&watched));
    let mut input = BufReader::new(Listening { input, heard: Arc::clone(&heard) });
    let refused = |message: String| Answer::Refused(run::Refusal::new(message));
    let order = match serde_json::Deserializer::from_reader(&mut input).into_iter::<Order>().next() {
        Some(Ok(order)) => order,
        Some(Err(error)) => return outlet.answer(&refused(format!("this is not a job: {error}"))),
        None => return outlet.answer(&refused("no job was given".to_owned())),
    };
    let Order { job, bundle } = order;
    // A pipe of this machine closes when its other end is gone; a connection may not.
    heard.may_stop.store(bundle.is_none(), Ordering::Relaxed);
    let files = match bundle.map(|contents| Bundle::read(contents, &mut input)) {
        None => FileSource::Disk,
        Some(Ok(bundle)) => FileSource::Bundle(Arc::new(bundle)),
        Some(Err(error)) => return outlet.answer(&refused(format!("the files of the job did not come whole: {error}"))),
    };
    if job.attended {
        thread::spawn(move || {
            while matches!(input.read(&mut [0; 64]), Ok(1..)) {}
            child::end_now();
        });
    }
    let out = Arc::clone(&outlet);
    watch::start(Arc::clone(&watched), job.limits, move |stopped| drop(out.answer(&Answer::Stopped(stopped))));
    let here = |path: &Path, tensor: &Tensor| {
        std::fs::create_dir_all(path.parent().unwrap_or(Path::new("")))?;
        tensor.save_npy(path)
    };
    let there = |path: &Path, tensor: &Tensor| outlet.saved(path, tensor);
    let save: &dyn Fn(&Path, &Tensor) -> io::Result<()> = if matches!(files, FileSource::Disk) { &here } else { &there };
    let site = Site { files, save };
    let answer = match job.task {
        Task::Run | Task::Bench => run::run(&job, &site, &watched).map(|report| Answer::Report(Box::new(report))),
        Task::Sanitize => run::sanitize(&job, &site, &watched).map(|findings| Answer::Findings(Box::new(findings))),
        Task::Tune => run::tune(&job, &site, &watched).map(|tuning| Answer::Tuning(Box::new(tuning))),
        Task::Observe { .. } => run::observe(&job, &site, &watched).map(|observed| Answer::Observed(Box::new(observed))),
    };
    outlet.answer(&match answer {
        Ok(answer) => answer,
        Err(Ended::Refused(refusal)) => Answer::Refused(refusal),
        Err(Ended::Stopped(stopped)) => Answer::Stopped(stopped),
    })
}

/// Says now and then that this process is there, and ends it when nobody has said so of the other side.
fn live<W: Write + Send + 'static>(outlet: Arc<Outlet<W>>, heard: Arc<Heard>, watched: Arc<Watched>) {
    thread::spawn(move || {
        loop {
            thread::sleep(SIGN_OF_LIFE);
            // Whoever cannot be told anything does not wait either.
            if outlet.word(&Word::Alive(watched.doing())).is_err() {
                child::end_now();
            }
            if !heard.may_stop.load(Ordering::Relaxed) && heard.last().elapsed() > SILENCE {
                child::end_now();
            }
        }
    });
}

/// When the other side was last heard.
struct Heard {
    last: Mutex<Instant>,
    /// Silence means nothing.
    may_stop: AtomicBool,
}

impl Heard {
    fn new() -> Heard {
        Heard { last: Mutex::new(Instant::now()), may_stop: AtomicBool::new(false) }
    }

    fn last(&self) -> Instant {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Listening<R> {
    input: R,
    heard: Arc<Heard>,
}

impl<R: Read> Read for Listening<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.input.read(buffer)?;
        *self.heard.last.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        Ok(count)
    }
}

/// Where the words go; the answer, be it that of the run or that of its watcher, is the last.
struct Outlet<W>(Mutex<Option<W>>);

impl<W: Write> Outlet<W> {
    fn with(&self, write: impl FnOnce(&mut W) -> io::Result<()>) -> io::Result<()> {
        match self.0.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
            Some(output) => write(output).and_then(|()| output.flush()),
            None => Ok(()),
        }
    }

    fn line(&self, text: &str) -> io::Result<()> {
        self.with(|output| output.write_all(format!("{text}\n").as_bytes()))
    }

    fn word(&self, word: &Word) -> io::Result<()> {
        self.line(&serde_json::to_string(word)?)
    }

    fn saved(&self, path: &Path, tensor: &Tensor) -> io::Result<()> {
        let mut bytes = Vec::new();
        tensor.write_npy(&mut bytes)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let word = serde_json::to_string(&Word::Saved(name, bytes.len() as u64))?;
        self.with(|output| output.write_all(format!("{word}\n").as_bytes()).and_then(|()| output.write_all(&bytes)))
    }

    fn answer(&self, answer: &Answer) -> io::Result<()> {
        // On a line of its own: a tool that looks on prints there, too.
        let text = format!("\n{}\n", serde_json::to_string(answer)?);
        match self.0.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(mut output) => output.write_all(text.as_bytes()).and_then(|()| output.flush()),
            None => Ok(()),
        }
    }
}
