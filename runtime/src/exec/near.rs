//! The near side: starts the process that leads to the far one, talks to it, and ends it.
//!
//! **Invariant:** whatever becomes of the other side (a hang, a crash, a connection that dies), [`ask`] returns in a bounded time, says what
//! happened, and leaves no process of this machine.

use std::{
    collections::VecDeque,
    fs::File,
    io::{self, BufRead as _, BufReader, Cursor, Read, Write as _},
    path::{Component, Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    sync::mpsc::{self, Receiver, RecvTimeoutError, Sender},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use super::{
    Asking, Cancel, ExecError, FarError, GRACE, Job, On, SIGN_OF_LIFE, SILENCE, Told,
    wire::{self, Answer, Hello, Order, Word},
};
use crate::{
    bundle::{Bundle, FileSource},
    child::{self, Ending},
    files,
    watch::{Limit, Stopped},
};

const PAUSE: Duration = Duration::from_millis(5);
/// Somebody who waits longer is told for whom.
const TELL_AFTER: Duration = Duration::from_secs(5);
/// Of what is no message, so much is kept.
const MAX_NOISE_LINES: usize = 50;
/// A longer line is no message.
const MAX_LINE_BYTES: u64 = 1 << 30;
const STDERR_KEPT: usize = 64 << 10;

/// Asks this program as another process, or as a process of another machine.
pub(super) fn ask(job: &Job, asking: &Asking) -> Result<Answer, ExecError> {
    let own = own_program()?;
    let (bundle, command) = match asking.on {
        Some(on) => {
            let bundle = Bundle::of(job).map_err(|e| ExecError::NotStarted(e.to_string()))?;
            (Some(bundle), on.command(&own))
        }
        None => {
            let mut command = Command::new(&own);
            command.arg("exec");
            (None, command)
        }
    };
    let (answer, _) = Talk::begin(command, job, asking, &own, bundle, false)?.run()?;
    Ok(answer)
}

/// Asks this program under a tool that takes a program behind its own arguments; with all that the tool prints.
pub(super) fn ask_under(mut tool: Command, job: &Job, files: &FileSource) -> Result<(Answer, String), ExecError> {
    let own = own_program()?;
    tool.arg(&own).arg("exec");
    let bundle = match files {
        FileSource::Disk => None,
        FileSource::Bundle(bundle) => Some(Bundle::clone(bundle)),
    };
    let asking = Asking { on: None, cancel: &Cancel::default(), told: &|_| {} };
    Talk::begin(tool, job, &asking, &own, bundle, true)?.run()
}

fn own_program() -> Result<PathBuf, ExecError> {
    crate::worker::binary().map_err(|e| ExecError::NotStarted(e.to_string()))
}

/// What the other side's output says.
enum Event {
    Hello(Hello),
    /// It is to be sent this program, and is this.
    Wants(String),
    Word(Word),
    Saved(String, Vec<u8>),
    /// A line that is no message.
    Noise(String),
}

/// Reads the other side's output until it ends or nobody listens.
fn listen(stdout: impl Read, events: &Sender<Event>) {
    let mut stdout = BufReader::new(stdout);
    let mut greeted = false;
    loop {
        let mut line = Vec::new();
        match stdout.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut line) {
            Ok(1..) => {}
            Ok(0) | Err(_) => return,
        }
        let event = match serde_json::from_slice(&line) {
            Ok(Word::Saved(name, length)) if greeted => {
                let mut bytes = Vec::new();
                match stdout.by_ref().take(length).read_to_end(&mut bytes) {
                    Ok(read) if read as u64 == length => Event::Saved(name, bytes),
                    _ => return,
                }
            }
            Ok(word) if greeted => Event::Word(word),
            _ => {
                let line = String::from_utf8_lossy(&line);
                match (Hello::find(&line), wire::wants(&line)) {
                    (Some(hello), _) if !greeted => {
                        greeted = true;
                        Event::Hello(hello)
                    }
                    (_, Some(machine)) if !greeted => Event::Wants(machine.to_owned()),
                    _ => Event::Noise(line.trim_end().to_owned()),
                }
            }
        };
        if events.send(event).is_err() {
            return;
        }
    }
}

fn last_bytes(mut pipe: impl Read) -> String {
    let (mut kept, mut piece) = (VecDeque::new(), [0; 4096]);
    while let Ok(count @ 1..) = pipe.read(&mut piece) {
        kept.extend(&piece[..count]);
        kept.drain(..kept.len().saturating_sub(STDERR_KEPT));
    }
    String::from_utf8_lossy(kept.make_contiguous()).into_owned()
}

/// A job under way.
struct Talk<'a> {
    asking: &'a Asking<'a>,
    job: Job,
    own: &'a Path,
    bundle: Option<Bundle>,
    /// The answer counts once the process has ended, and all that it prints is kept.
    to_end: bool,
    /// What is written to the other side, whose input closes when this is gone.
    parts: Option<Sender<Box<dyn Read + Send>>>,
    heard: Receiver<Event>,
    child: Child,
    stderr: Option<JoinHandle<String>>,
    noise: VecDeque<String>,
    greeted: Option<Instant>,
}

impl<'a> Talk<'a> {
    fn begin(
        mut command: Command,
        job: &Job,
        asking: &'a Asking<'a>,
        own: &'a Path,
        bundle: Option<Bundle>,
        to_end: bool,
    ) -> Result<Talk<'a>, ExecError> {
        match asking.on {
            None => child::ends_with_this_process(&mut command, Ending::Kill),
            // A shell and what it has started go together, and `srun` is given the time to end what it has started elsewhere.
            Some(_) => {
                #[cfg(unix)]
                std::os::unix::process::CommandExt::process_group(&mut command, 0);
                child::ends_with_this_process(&mut command, Ending::Terminate);
            }
        }
        let program = command.get_program().display().to_string();
        let spawned = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut child = spawned.map_err(|error| ExecError::NotStarted(format!("{program}: {error}")))?;
        // Three pipes, three threads: none can fill up and hold the other side.
        let (parts, to_write) = mpsc::channel::<Box<dyn Read + Send>>();
        if let Some(mut stdin) = child.stdin.take() {
            thread::spawn(move || {
                // A process that ends before it has read everything is judged by its answer.
                for mut part in to_write {
                    if io::copy(&mut part, &mut stdin).and_then(|_| stdin.flush()).is_err() {
                        break;
                    }
                }
            });
        }
        let (events, heard) = mpsc::channel();
        if let Some(stdout) = child.stdout.take() {
            thread::spawn(move || listen(stdout, &events));
        }
        let stderr = child.stderr.take().map(|pipe| thread::spawn(move || last_bytes(pipe)));
        let job = Job { attended: true, ..job.clone() };
        let (parts, noise) = (Some(parts), VecDeque::new());
        Ok(Talk { asking, job, own, bundle, to_end, parts, heard, child, stderr, noise, greeted: None })
    }

    /// The answer, and what was printed beside it.
    fn run(mut self) -> Result<(Answer, String), ExecError> {
        let outcome = self.until_answer();
        // Who has answered ends by itself; who is cancelled is asked to, if it is far away.
        let patience = if outcome.is_ok() || self.asking.on.is_some() { GRACE } else { Duration::ZERO };
        self.end(patience);
        let printed = self.noise.iter().map(|line| format!("{line}\n")).collect();
        outcome.map(|answer| (answer, printed))
    }

    fn until_answer(&mut self) -> Result<Answer, ExecError> {
        let begin = Instant::now();
        let local_limit = Duration::try_from_secs_f64(self.job.limits.seconds).unwrap_or(Duration::MAX).saturating_add(GRACE);
        let (mut last_heard, mut last_sign, mut has_told) = (begin, begin, false);
        let mut answered = None;
        loop {
            let event = self.heard.recv_timeout(PAUSE);
            if self.asking.cancel.is_cancelled() {
                return Err(ExecError::Cancelled);
            }
            if event.is_ok() {
                last_heard = Instant::now();
            }
            match event {
                Ok(Event::Hello(hello)) => self.greet(&hello)?,
                Ok(Event::Wants(machine)) => self.send_program(&machine)?,
                Ok(Event::Word(Word::Answer(answer))) if self.to_end => answered = Some(answer),
                Ok(Event::Word(Word::Answer(answer))) => return Ok(answer),
                Ok(Event::Word(Word::Alive(Some(doing)))) => (self.asking.told)(Told::Doing(&doing)),
                Ok(Event::Word(Word::Alive(None) | Word::Saved(..))) => {}
                Ok(Event::Saved(name, bytes)) => self.save(&name, &bytes)?,
                Ok(Event::Noise(line)) => {
                    self.noise.push_back(line);
                    if self.noise.len() > MAX_NOISE_LINES && !self.to_end {
                        self.noise.pop_front();
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return answered.ok_or_else(|| self.lost()),
            }
            if self.greeted.is_some() && last_sign.elapsed() > SIGN_OF_LIFE {
                last_sign = Instant::now();
                self.write(Cursor::new(b"\n"));
            }
            let Some(on) = self.asking.on else {
                if begin.elapsed() >= local_limit {
                    return Err(ExecError::Stopped(Stopped { limit: Limit::Seconds(self.job.limits.seconds), place: None }));
                }
                continue;
            };
            if self.greeted.is_some() {
                // It keeps the limits of the job itself.
                if last_heard.elapsed() > SILENCE {
                    return Err(self.far(FarError::Silent));
                }
            } else {
                if !has_told && last_heard == begin && begin.elapsed() > TELL_AFTER {
                    has_told = true;
                    (self.asking.told)(Told::Notice(&format!("waiting for {on}")));
                }
                if on.patience().is_some_and(|patience| last_heard.elapsed() > patience) {
                    return Err(self.unreachable(None));
                }
            }
        }
    }

    fn write(&self, part: impl Read + Send + 'static) {
        if let Some(parts) = &self.parts {
            // Where nobody reads any more the end of the output tells.
            let _ = parts.send(Box::new(part));
        }
    }

    fn greet(&mut self, hello: &Hello) -> Result<(), ExecError> {
        let own = Hello::own();
        if *hello != own {
            return Err(self.far(FarError::OtherVersion { theirs: hello.version.clone(), ours: own.version }));
        }
        self.greeted = Some(Instant::now());
        let bundle = self.bundle.take();
        let order = Order { job: self.job.clone(), bundle: bundle.as_ref().map(Bundle::contents) };
        let document = serde_json::to_vec(&order).map_err(|e| ExecError::NotStarted(e.to_string()))?;
        self.write(Cursor::new(document));
        if let Some(bundle) = bundle {
            self.write(Cursor::new(bundle.into_bytes()));
        }
        Ok(())
    }

    /// `machine`: `Linux x86_64`
    fn send_program(&mut self, machine: &str) -> Result<(), ExecError> {
        let ours = format!("{} {}", std::env::consts::OS, std::env::consts::ARCH);
        let theirs = machine.to_lowercase().replace("darwin", "macos").replace("arm64", "aarch64");
        if theirs != ours {
            return Err(self.far(FarError::OtherMachine { theirs: machine.to_owned(), ours }));
        }
        let program = File::open(self.own).map_err(|e| ExecError::NotStarted(format!("{}: {e}", self.own.display())))?;
        let size = program.metadata().map_or(0, |about| about.len());
        let name = self.asking.on.map(On::name).unwrap_or_default();
        let told =
            format!("sending this program ({}) to {name}, once; it will lie in ~/.cache/tritium/bin there", files::size(size));
        (self.asking.told)(Told::Notice(&told));
        self.write(program);
        Ok(())
    }

    /// A tensor that the other side has saved: only into the folder that was asked for.
    fn save(&self, name: &str, bytes: &[u8]) -> Result<(), ExecError> {
        let is_plain = matches!(Path::new(name).components().collect::<Vec<_>>()[..], [Component::Normal(_)]);
        let Some(folder) = self.job.save.as_ref().filter(|_| is_plain) else { return Ok(()) };
        let path: PathBuf = folder.join(name);
        let written = std::fs::create_dir_all(folder).and_then(|()| files::write(&path, bytes));
        written.map_err(|e| ExecError::Refused(crate::run::Refusal::new(format!("{}: {e}", path.display()))))
    }

    /// The other side's output has ended, and there was no answer in it.
    fn lost(&mut self) -> ExecError {
        let status = self.end(GRACE);
        if self.asking.on.is_none() {
            let status = status.map_or_else(|| "it closed its output".to_owned(), |status| status.to_string());
            let printed = self.noise.iter().map(|line| format!("{line}\n")).collect::<String>();
            return ExecError::Died { status, stderr: printed + &self.stderr() };
        }
        if self.greeted.is_none() {
            return self.unreachable(status);
        }
        let status = status.map_or_else(String::new, |status| format!(" ({status})"));
        self.far(FarError::Lost { status })
    }

    /// There was no greeting.
    fn unreachable(&mut self, status: Option<ExitStatus>) -> ExecError {
        let sends = self.asking.on.is_some_and(On::sends);
        self.far(match status {
            // What shells say of programs that are not there, or are none.
            Some(status) if matches!(status.code(), Some(126 | 127)) && !sends => FarError::NoProgram,
            Some(status) => FarError::Unreachable { status: format!(" ({status})") },
            None => FarError::Unreachable { status: String::new() },
        })
    }

    fn far(&mut self, what: FarError) -> ExecError {
        self.end(GRACE);
        let name = self.asking.on.map(On::name).unwrap_or_default().to_owned();
        let noise = self.noise.iter().map(|line| format!("{line}\n")).collect::<String>();
        let stderr = self.stderr();
        ExecError::Far { name, what, said: if stderr.trim().is_empty() { noise } else { stderr } }
    }

    fn stderr(&mut self) -> String {
        // Something that the process has started may hold the pipe open for longer than it lived.
        let begin = Instant::now();
        while self.stderr.as_ref().is_some_and(|reader| !reader.is_finished()) && begin.elapsed() < GRACE {
            thread::sleep(PAUSE);
        }
        let reader = self.stderr.take().filter(JoinHandle::is_finished);
        reader.and_then(|reader| reader.join().ok()).unwrap_or_default()
    }

    /// Closes the other side's input, and ends the process unless it ends in time by itself. `None`: it was ended.
    fn end(&mut self, patience: Duration) -> Option<ExitStatus> {
        self.parts = None;
        let is_far = self.asking.on.is_some();
        if let Some(status) = self.wait(patience) {
            return Some(status);
        }
        if is_far {
            child::end_group(&self.child, Ending::Terminate);
            if self.wait(GRACE).is_some() {
                return None;
            }
            child::end_group(&self.child, Ending::Kill);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
        None
    }

    fn wait(&mut self, patience: Duration) -> Option<ExitStatus> {
        let begin = Instant::now();
        loop {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Some(status);
            }
            if begin.elapsed() >= patience {
                return None;
            }
            thread::sleep(PAUSE);
        }
    }
}
