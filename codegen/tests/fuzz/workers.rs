//! Many seeds on several threads, with an eye on those that take too long.
//!
//! What fails is written down at once, shrunk where time allows. **Invariant:** a kernel that hangs costs its own thread, not the run; a run
//! that ends early says which seeds it has done.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs,
    io::Write as _,
    path::PathBuf,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use crate::{Checker, generate, given, kind, seeds, shrink, targets};

/// Failures beyond these are only named.
const SHRUNK: usize = 20;
/// With so many there is one cause that should be mended first.
const MAX_FAILURES: usize = 200;
const SHRINKING: Duration = Duration::from_secs(60);

struct Run {
    next: AtomicU64,
    to: u64,
    end: Option<Instant>,
    done: AtomicU64,
    taken: AtomicU64,
    refusals: Mutex<BTreeMap<String, u64>>,
    operations: Mutex<BTreeMap<&'static str, u64>>,
    failures: Mutex<Vec<(u64, String)>>,
    out: Option<PathBuf>,
}

/// One thread, as the one who watches sees it.
#[derive(Default)]
struct Worker {
    /// The seed, since when, and whether it is already being shrunk.
    now: Mutex<Option<(u64, Instant, bool)>>,
    cancel: AtomicBool,
    ended: AtomicBool,
}

impl Run {
    fn fail(&self, seed: u64, text: String) {
        eprintln!("{}", text.lines().next().unwrap_or_default());
        if let Some(folder) = &self.out {
            let file = fs::OpenOptions::new().create(true).append(true).open(folder.join("failures.txt"));
            let written = file.and_then(|mut file| writeln!(file, "{text}\n"));
            written.expect("failures can be written");
        }
        self.failures.lock().expect("nobody panicked").push((seed, text));
    }

    fn count(&self) -> usize {
        self.failures.lock().expect("nobody panicked").len()
    }

    fn work(&self, worker: &Worker) {
        loop {
            let over = self.end.is_some_and(|end| Instant::now() >= end) || self.count() >= MAX_FAILURES;
            if over || worker.cancel.load(Ordering::Relaxed) {
                return;
            }
            let seed = self.next.fetch_add(1, Ordering::Relaxed);
            if seed >= self.to {
                return;
            }
            let set = |shrinking| *worker.now.lock().expect("nobody panicked") = Some((seed, Instant::now(), shrinking));
            set(false);
            let module = generate::module(seed, false);
            let chosen = targets(seed);
            let checker = Checker { refusals: &self.refusals, operations: &self.operations, cancel: &worker.cancel };
            match checker.check(&module, seed, &chosen) {
                Ok(n) => drop(self.taken.fetch_add(n, Ordering::Relaxed)),
                // It is written down as one that hangs.
                Err(_) if worker.cancel.load(Ordering::Relaxed) => return,
                Err(failure) => {
                    let mut text = format!("seed {seed}: {failure}\n");
                    if self.count() < SHRUNK {
                        eprintln!("seed {seed}: {failure}: it is being shrunk");
                        set(true);
                        let (wanted, end) = (kind(&failure), Instant::now() + SHRINKING);
                        let again =
                            Checker { refusals: &Mutex::default(), operations: &Mutex::default(), cancel: &worker.cancel };
                        // Only what was found wrong is looked at again.
                        let failing: Vec<_> =
                            chosen.into_iter().filter(|t| failure.starts_with(&format!("{t:?}"))).take(1).collect();
                        let again_for = if failing.is_empty() { chosen.to_vec() } else { failing };
                        let small = shrink::shrink(&module, &|m| {
                            Instant::now() < end && again.check(m, seed, &again_for).is_err_and(|f| kind(&f) == wanted)
                        });
                        let told = again.check(&small, seed, &again_for).err().unwrap_or(failure);
                        text = format!("seed {seed}: {told}\n{small}");
                    }
                    self.fail(seed, text);
                }
            }
            self.done.fetch_add(1, Ordering::Relaxed);
            *worker.now.lock().expect("nobody panicked") = None;
        }
    }
}

fn number(name: &str, otherwise: u64) -> u64 {
    given(name).map_or(otherwise, |text| text.parse().unwrap_or_else(|_| panic!("TRITIUM_FUZZ_{name} is a number")))
}

pub(crate) fn run() {
    let (from, to) = seeds();
    let begin = Instant::now();
    let run = Arc::new(Run {
        next: AtomicU64::new(from),
        to,
        end: given("SECONDS").map(|_| begin + Duration::from_secs(number("SECONDS", 0))),
        done: AtomicU64::new(0),
        taken: AtomicU64::new(0),
        refusals: Mutex::default(),
        operations: Mutex::default(),
        failures: Mutex::default(),
        out: given("OUT").map(PathBuf::from),
    });
    if let Some(folder) = &run.out {
        fs::create_dir_all(folder).expect("a folder for what is found");
    }
    let watchdog = Duration::from_secs(number("WATCHDOG", 120));
    let quiet = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let start = || {
        let worker = Arc::new(Worker::default());
        let (run, its) = (Arc::clone(&run), Arc::clone(&worker));
        std::thread::spawn(move || {
            run.work(&its);
            its.ended.store(true, Ordering::Release);
        });
        worker
    };
    let mut workers: Vec<Arc<Worker>> = (0..number("THREADS", 2)).map(|_| start()).collect();
    let mut told = begin;
    while workers.iter().any(|w| !w.ended.load(Ordering::Acquire)) {
        std::thread::sleep(Duration::from_millis(20));
        for worker in &mut workers {
            let now = *worker.now.lock().expect("nobody panicked");
            let Some((seed, since, shrinking)) = now else { continue };
            let allowed = if shrinking { watchdog + 2 * SHRINKING } else { watchdog };
            if since.elapsed() < allowed || worker.ended.load(Ordering::Acquire) {
                continue;
            }
            // Interpreter and simulator end by themselves, a pass would not: nobody waits for either.
            worker.cancel.store(true, Ordering::Relaxed);
            run.fail(seed, format!("seed {seed}: no end within {} s", allowed.as_secs()));
            *worker = start();
        }
        if told.elapsed() >= Duration::from_secs(10) {
            told = Instant::now();
            progress(&run, from, begin);
        }
    }
    std::panic::set_hook(quiet);
    progress(&run, from, begin);
    let mut failures = run.failures.lock().expect("nobody panicked").clone();
    failures.sort();
    let (done, taken) = (run.done.load(Ordering::Relaxed), run.taken.load(Ordering::Relaxed));
    for (message, count) in run.refusals.lock().expect("nobody panicked").iter() {
        eprintln!("{count} times refused: {message}");
    }
    let operations = run.operations.lock().expect("nobody panicked");
    let operations: Vec<String> = operations.iter().map(|(name, count)| format!("{name} {count}")).collect();
    eprintln!("compilations with: {}", operations.join(", "));
    let texts: Vec<String> = failures.into_iter().map(|(_, text)| text).collect();
    assert!(texts.is_empty(), "{} kernels fail:\n{}", texts.len(), texts.join("\n"));
    assert!(taken * 2 > done * 4, "more than half of the kernels were refused");
}

fn progress(run: &Run, from: u64, begin: Instant) {
    let done = run.done.load(Ordering::Relaxed);
    let seconds = begin.elapsed().as_secs_f64();
    let mut line = String::new();
    let next = run.next.load(Ordering::Relaxed).min(run.to);
    write!(
        line,
        "{done} kernels of seeds {from}..{next}: {} compilations agree, {} kernels fail; {seconds:.0} s, {:.1} kernels a second",
        run.taken.load(Ordering::Relaxed),
        run.count(),
        done as f64 / seconds.max(1e-3),
    )
    .expect("text can be written");
    eprintln!("{line}");
    if let Some(folder) = &run.out {
        fs::write(folder.join("progress.txt"), line + "\n").expect("how far it came can be written");
    }
}
