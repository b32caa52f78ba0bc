//! Work that may crash, hang or eat memory, done in other processes.
//!
//! LLVM ends the whole process when it meets something it cannot select, and no handler can stop it; so LLVM runs in
//! warm child processes (`tritium worker`), and ptxas and nvdisasm are child processes anyway. Every piece of work has a
//! time limit and a memory limit. **Whatever a child does (abort, hang, exit, garble its answer), the caller gets one
//! [`WorkerError`] that says so, and the next request works.**
//!
//! On the pipe a message is its length, a `u32` in little-endian order, and then its bytes as `postcard` writes them. A worker first says who
//! it is; then it answers every request in turn.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

mod llvm;
mod ptx;
pub mod ptxas;

pub use llvm::version as llvm_version;

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use thiserror::Error;
use tritium_codegen::llvm::{REDUCE_LOOPS, UNROLL_FULL};

use crate::{child, files};

/// Our own IR arrives optimised, so these are a sixth of the time of `default<O2>` and leave alone what `O2` spoils: loops are not peeled,
/// warp-uniform branches are not threaded. Two parts only pay where there is something for them.
macro_rules! passes {
    ($unroll:literal, $reduce:literal) => {
        concat!(
            "function(sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg,loop-mssa(licm),",
            $unroll,
            "gvn,",
            $reduce,
            "adce,simplifycfg)"
        )
    };
}

/// The passes that our own IR needs.
pub const LEAN_PASSES: &str = passes!("", "");
/// For short loops.
const UNROLLING_PASSES: &str = passes!("loop(loop-unroll-full),instcombine<no-verify-fixpoint>,", "");
/// For addresses in loops; off among LLVM's own.
const REDUCING_PASSES: &str = passes!("", "loop(loop-reduce),");
const UNROLLING_AND_REDUCING_PASSES: &str =
    passes!("loop(loop-unroll-full),instcombine<no-verify-fixpoint>,", "loop(loop-reduce),");

/// The passes that a text of ours needs.
pub fn passes_for(llvm: &str) -> &'static str {
    match (llvm.contains(UNROLL_FULL), llvm.contains(REDUCE_LOOPS)) {
        (false, false) => LEAN_PASSES,
        (false, true) => REDUCING_PASSES,
        (true, false) => UNROLLING_PASSES,
        (true, true) => UNROLLING_AND_REDUCING_PASSES,
    }
}

/// How long LLVM may take over one module; the largest kernels need about a second.
const LLVM_TIME: Duration = Duration::from_secs(60);
/// Address space of one child process, in bytes.
const MEMORY_BYTES: u64 = 6 << 30;
/// A larger message can only be a mistake.
const LARGEST_MESSAGE: u32 = 1 << 30;
/// How much of what a child prints on stderr is kept: its end.
const STDERR_KEPT: usize = 64 << 10;
/// A worker is replaced after this many requests, so that what LLVM leaks stays bounded.
const REQUESTS_PER_WORKER: usize = 500;
/// Deeply nested IR recurses in LLVM.
const LLVM_STACK: usize = 256 << 20;

/// Switches on the request kinds that tests use to make a worker fail.
const FAULTS: &str = "TRITIUM_WORKER_FAULTS";

/// LLVM text to be made into PTX.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct PtxRequest<'a> {
    /// A module as text.
    pub llvm: &'a str,
    /// The processor in LLVM's spelling, such as `sm_90a`. It must be one of our table: LLVM believes any name.
    pub cpu: &'a str,
    /// The PTX version in LLVM's spelling, such as `+ptx83`.
    pub features: &'a str,
    /// Optimisation passes in the syntax of `opt -passes`; [`LEAN_PASSES`] is meant for our own IR.
    pub passes: &'a str,
}

/// Why a piece of work in another process has no result.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum WorkerError {
    /// The process ended before it answered.
    #[error("the compiler process {}{}", ended(*signal), reason(stderr))]
    Crashed { signal: Option<i32>, stderr: String },
    /// The process was killed because it took longer than it may.
    #[error("{what} took longer than {} s and was stopped", limit.as_secs_f64())]
    TimedOut { what: String, limit: Duration },
    /// The tool read its input and said no.
    #[error("{}", .0.trim_end())]
    Refused(String),
    /// A program that the work needs is not there.
    #[error("{what} was not found; {remedy}")]
    Missing { what: String, remedy: String },
}

fn ended(signal: Option<i32>) -> String {
    signal.map_or_else(|| "ended before it answered".into(), |signal| format!("was stopped by signal {signal}"))
}

/// LLVM prints its reason, and then a page about where it was.
fn reason(stderr: &str) -> String {
    let tells = |line: &&str| line.contains("LLVM ERROR:") || line.starts_with("error:") || line.contains("panicked");
    let reason = stderr.lines().find(tells).or_else(|| stderr.lines().find(|line| !line.trim().is_empty()));
    reason.map_or_else(String::new, |reason| format!(": {}", reason.trim()))
}

/// The `tritium` program that serves as worker: `$TRITIUM_BIN`, else the program that is running.
pub fn binary() -> Result<PathBuf, WorkerError> {
    match std::env::var_os("TRITIUM_BIN") {
        Some(path) if !path.is_empty() => Ok(path.into()),
        _ => std::env::current_exe().map_err(|error| WorkerError::Missing {
            what: format!("the tritium program ({error})"),
            remedy: "set TRITIUM_BIN to its path".into(),
        }),
    }
}

/// Warm LLVM processes, at most one a core. Share one pool; its methods block the calling thread only.
pub struct Pool {
    binary: PathBuf,
    time: Duration,
    memory: u64,
    faults: bool,
    most: usize,
    workers: Mutex<Workers>,
    freed: Condvar,
}

#[derive(Default)]
struct Workers {
    idle: Vec<Worker>,
    /// Idle and busy ones.
    alive: usize,
}

impl Pool {
    /// A pool of processes of `binary`, none of which is started yet.
    pub fn new(binary: PathBuf) -> Self {
        Self {
            binary,
            time: LLVM_TIME,
            memory: MEMORY_BYTES,
            faults: false,
            most: thread::available_parallelism().map_or(1, usize::from),
            workers: Mutex::default(),
            freed: Condvar::new(),
        }
    }

    /// Another time limit for one request.
    pub fn time_limit(mut self, time: Duration) -> Self {
        self.time = time;
        self
    }

    /// Another limit, in bytes, for the address space of one worker.
    pub fn memory_limit(mut self, memory: u64) -> Self {
        self.memory = memory;
        self
    }

    /// Makes PTX of LLVM text.
    pub fn ptx(&self, request: &PtxRequest) -> Result<String, WorkerError> {
        self.ask(&Request::Ptx(*request))
    }

    /// Lets workers obey [`Pool::fault`]. For tests.
    #[doc(hidden)]
    pub fn with_faults(mut self) -> Self {
        self.faults = true;
        self
    }

    /// Asks a worker to fail in the way named. For tests.
    #[doc(hidden)]
    pub fn fault(&self, kind: &str) -> Result<String, WorkerError> {
        self.ask(&Request::Fault(kind))
    }

    fn ask(&self, request: &Request) -> Result<String, WorkerError> {
        // Dropping the lease wakes one that waits, whatever happens in between.
        let mut lease = self.acquire()?;
        let worker = lease.worker.as_mut().expect("a lease has a worker until it is given up");
        let outcome = worker.ask(request, self.time);
        if !matches!(outcome, Ok(_) | Err(WorkerError::Refused(_))) || worker.requests_done >= REQUESTS_PER_WORKER {
            lease.worker = None;
        }
        outcome
    }

    fn acquire(&self) -> Result<WorkerLease<'_>, WorkerError> {
        let mut workers = self.lock();
        loop {
            while let Some(mut worker) = workers.idle.pop() {
                if worker.is_alive() {
                    return Ok(WorkerLease { pool: self, worker: Some(worker) });
                }
                workers.alive -= 1;
            }
            if workers.alive < self.most {
                workers.alive += 1;
                drop(workers);
                let mut lease = WorkerLease { pool: self, worker: None };
                lease.worker = Some(Worker::start(&self.binary, self.memory, self.faults)?);
                return Ok(lease);
            }
            workers = self.freed.wait(workers).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Workers> {
        self.workers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The right to one worker of the pool; gives the worker back if it is still good.
struct WorkerLease<'a> {
    pool: &'a Pool,
    worker: Option<Worker>,
}

impl Drop for WorkerLease<'_> {
    fn drop(&mut self) {
        let mut workers = self.pool.lock();
        match self.worker.take() {
            Some(worker) => workers.idle.push(worker),
            None => workers.alive -= 1,
        }
        self.pool.freed.notify_one();
    }
}

/// One LLVM process, and the thread that speaks with it.
struct Worker {
    process: Process,
    requests: Sender<Vec<u8>>,
    answers: Receiver<io::Result<Option<Vec<u8>>>>,
    greeted: bool,
    requests_done: usize,
}

impl Worker {
    fn start(binary: &Path, memory: u64, faults: bool) -> Result<Self, WorkerError> {
        let mut command = Command::new(binary);
        command.arg("worker");
        if faults {
            command.env(FAULTS, "1");
        } else {
            command.env_remove(FAULTS);
        }
        let remedy = "set TRITIUM_BIN to the path of the tritium program";
        let mut process = Process::start(command, Stdio::piped(), Stdio::piped(), memory, remedy)?;
        let mut input = process.child.stdin.take().expect("stdin is piped");
        let mut output = process.child.stdout.take().expect("stdout is piped");
        let (requests, to_send) = mpsc::channel::<Vec<u8>>();
        let (answered, answers) = mpsc::channel();
        // Writing blocks as well as reading when the child does not listen; only this thread waits for either.
        thread::spawn(move || {
            if answered.send(read_message(&mut output)).is_err() {
                return;
            }
            for request in to_send {
                let answer = input.write_all(&request).and_then(|()| input.flush());
                let answer = answer.and_then(|()| read_message(&mut output));
                if answered.send(answer).is_err() {
                    return;
                }
            }
        });
        Ok(Self { process, requests, answers, greeted: false, requests_done: 0 })
    }

    fn is_alive(&mut self) -> bool {
        matches!(self.process.child.try_wait(), Ok(None))
    }

    /// Sends a request and waits for its answer. After any error but a refusal the worker is of no more use.
    fn ask(&mut self, request: &Request, limit: Duration) -> Result<String, WorkerError> {
        let deadline = Instant::now() + limit;
        let message = encode(request)?;
        self.requests_done += 1;
        if !self.greeted {
            if self.answer::<String>(deadline, limit)? != greeting() {
                return Err(self.process.missing("TRITIUM_BIN or the running program is another version of tritium"));
            }
            self.greeted = true;
        }
        // A send fails only when the other thread has met an error, and that waits to be received.
        let _ = self.requests.send(message);
        self.answer::<Answer>(deadline, limit)?.map_err(WorkerError::Refused)
    }

    fn answer<T: DeserializeOwned>(&mut self, deadline: Instant, limit: Duration) -> Result<T, WorkerError> {
        match self.answers.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(Ok(Some(message))) => postcard::from_bytes(&message).map_err(|_| self.process.crashed()),
            Err(RecvTimeoutError::Timeout) => Err(WorkerError::TimedOut { what: "LLVM".into(), limit }),
            Ok(Ok(None) | Err(_)) | Err(RecvTimeoutError::Disconnected) => Err(self.process.crashed()),
        }
    }
}

/// A child with limited memory whose stderr is always drained. It does not outlive this value.
struct Process {
    child: Child,
    name: String,
    stderr: Arc<Mutex<VecDeque<u8>>>,
    stderr_reader: Option<JoinHandle<()>>,
}

impl Process {
    fn start(mut command: Command, stdin: Stdio, stdout: Stdio, memory: u64, remedy: &str) -> Result<Self, WorkerError> {
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
        let stderr_reader = thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = pipe.read(&mut bytes) {
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                kept.extend(&bytes[..count]);
                let surplus = kept.len().saturating_sub(STDERR_KEPT);
                kept.drain(..surplus);
            }
        });
        Ok(Self { child, name, stderr, stderr_reader: Some(stderr_reader) })
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
    fn crashed(&mut self) -> WorkerError {
        let patience = Instant::now() + Duration::from_secs(2);
        while Instant::now() < patience && matches!(self.child.try_wait(), Ok(None)) {
            thread::sleep(Duration::from_millis(1));
        }
        let (status, stderr) = self.end();
        let stderr = stderr.trim().to_owned();
        WorkerError::Crashed { signal: status.and_then(signal), stderr }
    }

    fn missing(&self, why: &str) -> WorkerError {
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

/// What a program that ran to its end has left.
struct Finished {
    success: bool,
    signal: Option<i32>,
    stdout: String,
    stderr: String,
}

/// Runs a tool whose standard input holds `input` and whose standard output is `output`, or else is printed text. The tool, which knows
/// nothing of us, ends with this process.
fn run(command: Command, input: &[u8], output: Option<File>, limit: Duration, remedy: &str) -> Result<Finished, WorkerError> {
    let name = Path::new(command.get_program()).file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let input =
        files::in_memory(input).map_err(|error| WorkerError::Refused(format!("no room for the input of {name} ({error})")))?;
    let stdout = output.map_or_else(Stdio::piped, Stdio::from);
    let mut process = Process::start(child::tool(command), input.into(), stdout, MEMORY_BYTES, remedy)?;
    let printed = process.child.stdout.take().map(|mut pipe| {
        thread::spawn(move || {
            let mut bytes = Vec::new();
            let _ = pipe.by_ref().take(u64::from(LARGEST_MESSAGE)).read_to_end(&mut bytes);
            bytes
        })
    });
    let deadline = Instant::now() + limit;
    let mut pause = Duration::from_micros(200);
    while matches!(process.child.try_wait(), Ok(None)) {
        if Instant::now() >= deadline {
            return Err(WorkerError::TimedOut { what: name, limit });
        }
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(1));
    }
    let (status, stderr) = process.end();
    let stdout = printed.and_then(|reader| reader.join().ok()).unwrap_or_default();
    Ok(Finished {
        success: status.is_some_and(|status| status.success()),
        signal: status.and_then(signal),
        stdout: String::from_utf8_lossy(&stdout).into_owned(),
        stderr,
    })
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

/// What is asked of a worker.
#[derive(Serialize, Deserialize)]
enum Request<'a> {
    #[serde(borrow)]
    Ptx(PtxRequest<'a>),
    Fault(&'a str),
}

/// The text that was asked for, or why there is none.
type Answer = Result<String, String>;

/// What a worker says first. Another program, or another version of this one, says something else.
fn greeting() -> String {
    format!("tritium {} worker, LLVM {}", env!("CARGO_PKG_VERSION"), llvm::version())
}

fn encode(message: &impl Serialize) -> Result<Vec<u8>, WorkerError> {
    let body = postcard::to_allocvec(message).map_err(|error| WorkerError::Refused(error.to_string()))?;
    let length = u32::try_from(body.len()).ok().filter(|&length| length <= LARGEST_MESSAGE);
    let Some(length) = length else {
        let message = format!("the module is too large: {} bytes, at most {LARGEST_MESSAGE}", body.len());
        return Err(WorkerError::Refused(message));
    };
    Ok([&length.to_le_bytes(), body.as_slice()].concat())
}

/// The next message, or nothing where the pipe was closed between messages.
fn read_message(input: &mut impl Read) -> io::Result<Option<Vec<u8>>> {
    let malformed = || io::Error::new(io::ErrorKind::InvalidData, "not a message");
    let mut length = Vec::with_capacity(4);
    input.by_ref().take(4).read_to_end(&mut length)?;
    if length.is_empty() {
        return Ok(None);
    }
    let length = u32::from_le_bytes(length.try_into().map_err(|_| malformed())?);
    if length > LARGEST_MESSAGE {
        return Err(malformed());
    }
    // The buffer grows with what arrives: a false length costs no memory.
    let mut body = Vec::new();
    input.take(u64::from(length)).read_to_end(&mut body)?;
    if body.len() == length as usize { Ok(Some(body)) } else { Err(malformed()) }
}

/// The whole life of `tritium worker`: answers requests from standard input until it closes. With a command behind it, it becomes that.
pub fn serve() -> ExitCode {
    let mut command = std::env::args_os().skip(2);
    if let Some(owner) = command.next() {
        return child::become_tool(&owner, command);
    }
    let (received, requests) = mpsc::channel();
    // Reading goes on while LLVM works, so that a worker whose owner is gone stops in the middle of anything.
    thread::spawn(move || {
        let mut input = io::stdin().lock();
        while let Ok(Some(request)) = read_message(&mut input) {
            if received.send(request).is_err() {
                return;
            }
        }
        child::end_now();
    });
    let answering = thread::Builder::new().stack_size(LLVM_STACK).spawn(move || answer_all(&requests));
    match answering.map(JoinHandle::join) {
        Ok(Ok(Ok(()))) => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

fn answer_all(requests: &Receiver<Vec<u8>>) -> io::Result<()> {
    let mut output = io::stdout().lock();
    let mut say = |message: Vec<u8>| -> io::Result<()> {
        output.write_all(&message)?;
        output.flush()
    };
    say(encode(&greeting()).map_err(io::Error::other)?)?;
    for request in requests {
        let answer: Answer = match postcard::from_bytes(&request) {
            Ok(Request::Ptx(request)) => llvm::ptx(&request),
            Ok(Request::Fault(kind)) if std::env::var_os(FAULTS).is_some() => fault(kind),
            Ok(Request::Fault(_)) | Err(_) => Err("the worker does not know this request".into()),
        };
        say(encode(&answer).map_err(io::Error::other)?)?;
    }
    Ok(())
}

/// Every way in which a worker can go wrong, for the tests of the other side.
fn fault(kind: &str) -> Result<String, String> {
    match kind {
        "none" => Ok("fine".into()),
        "refuse" => Err("refused as asked".into()),
        "abort" => std::process::abort(),
        "exit" => std::process::exit(7),
        "panic" => panic!("panicked as asked"),
        "hang" => loop {
            thread::sleep(Duration::from_secs(1));
        },
        "garble" => {
            let mut output = io::stdout();
            let _ = output.write_all(&[0xff; 64]);
            let _ = output.flush();
            loop {
                thread::sleep(Duration::from_secs(1));
            }
        }
        "eat" => {
            let mut eaten = Vec::new();
            loop {
                eaten.push(Vec::<u8>::with_capacity(64 << 20));
            }
        }
        _ => Err(format!("no such fault: {kind}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_survive_the_pipe() {
        let bytes = encode(&Request::Fault("grüße\0")).unwrap();
        let mut input = bytes.as_slice();
        let message = read_message(&mut input).unwrap().unwrap();
        assert!(matches!(postcard::from_bytes(&message), Ok(Request::Fault("grüße\0"))));
        assert!(read_message(&mut input).unwrap().is_none());
    }

    #[test]
    fn broken_messages_are_errors() {
        let whole = encode(&("abc", "defg")).unwrap();
        for length in 1..whole.len() {
            assert!(read_message(&mut &whole[..length]).is_err(), "{length} bytes");
        }
        assert!(read_message(&mut [0xff; 64].as_slice()).is_err());
        let false_length = read_message(&mut [4, 0, 0, 0, 1, 9, b'a', b'b'].as_slice()).unwrap().unwrap();
        assert!(postcard::from_bytes::<Request>(&false_length).is_err());
    }

    #[test]
    fn a_crash_is_told_by_its_reason() {
        let error = WorkerError::Crashed {
            signal: Some(6),
            stderr: "warning: x\nLLVM ERROR: Cannot select: t1: f32 = fsin t0\nStack dump:\n0.".into(),
        };
        assert_eq!(
            error.to_string(),
            "the compiler process was stopped by signal 6: LLVM ERROR: Cannot select: t1: f32 = fsin t0"
        );
    }

    #[test]
    fn a_missing_program_is_named_with_its_remedy() {
        let error = Pool::new("no-such-program".into()).fault("none").unwrap_err().to_string();
        assert!(error.starts_with("no-such-program (") && error.contains("TRITIUM_BIN"), "{error}");
    }
}
