//! Work that may crash, hang or eat memory, done in other processes.
//!
//! LLVM ends the whole process when it meets something it cannot select, and no handler can stop it; so LLVM runs in
//! warm child processes (`tritium worker`), and so are ptxas, which a worker starts, and nvdisasm. Every piece of work has a
//! time limit and a memory limit. **Whatever a child does (abort, hang, exit, garble its answer), the caller gets one
//! [`WorkerError`] that says so, and the next request works.**
//!
//! On the pipe a message is its length, a `u32` in little-endian order, and then its bytes as `postcard` writes them. A worker first says who
//! it is; then it answers every request in turn.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

mod assembler;
mod llvm;
mod process;
mod ptx;
pub mod ptxas;

pub use llvm::version as llvm_version;

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use thiserror::Error;
use tritium_codegen::llvm::{REDUCE_LOOPS, UNROLL_FULL};

use self::{
    assembler::Assembler,
    process::Process,
    ptxas::{AssembleRequest, Assembled},
};
use crate::child;

/// Our own IR arrives optimised, so these are a sixth of the time of `default<O2>` and leave alone what `O2` spoils: loops are not peeled,
/// warp-uniform branches are not threaded. Two parts only pay where there is something for them.
macro_rules! passes {
    ($unroll:literal, $reduce:literal) => {
        concat!(
            "function(sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg,loop-mssa(licm),",
            $unroll,
            "gvn,",
            $reduce,
            "adce,simplifycfg<hoist-common-insts>)"
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
/// A worker is replaced after this many requests, so that what LLVM leaks stays bounded.
const REQUESTS_PER_WORKER: usize = 1000;
/// How long a worker that nothing is asked of keeps a ptxas ready: programs compile their kernels one soon after the other.
const PATIENCE: Duration = Duration::from_secs(5);
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
#[derive(Clone, Debug, PartialEq, Eq, Error, Serialize, Deserialize)]
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
        self.worker().ptx(request, false)
    }

    /// Makes machine code of PTX.
    pub fn assemble(&self, request: &AssembleRequest) -> Result<Assembled, WorkerError> {
        self.worker().assemble(request)
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
        self.worker().ask(&Request::Fault(kind), self.time)
    }

    /// The right to a worker for several requests: one that lives, or one to be started. Waits until there are fewer than cores at work.
    pub fn worker(&self) -> Lease<'_> {
        let mut workers = self.lock();
        loop {
            while let Some(mut worker) = workers.idle.pop() {
                if worker.is_alive() {
                    return Lease { pool: self, worker: Some(worker) };
                }
                workers.alive -= 1;
            }
            if workers.alive < self.most {
                workers.alive += 1;
                return Lease { pool: self, worker: None };
            }
            workers = self.freed.wait(workers).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Cores that no worker uses. Half of them, as those that the system counts work in pairs: beside another, a call of ptxas takes up to half as long again.
    fn idle_cores(&self) -> usize {
        let workers = self.lock();
        (self.most + workers.idle.len()).saturating_sub(workers.alive) / 2
    }

    fn lock(&self) -> MutexGuard<'_, Workers> {
        self.workers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The right to one worker of the pool. Dropping it gives the worker back if it is still good, and wakes one that waits.
pub struct Lease<'a> {
    pool: &'a Pool,
    worker: Option<Worker>,
}

impl Lease<'_> {
    /// Makes PTX of LLVM text. With `and_code`, ptxas is started meanwhile for what [`Lease::assemble`] will be asked.
    pub fn ptx(&mut self, request: &PtxRequest, and_code: bool) -> Result<String, WorkerError> {
        let assembler = if and_code { ptxas::find("ptxas").ok() } else { None };
        self.ask(&Request::Ptx(*request, assembler), self.pool.time)
    }

    /// Makes machine code of PTX.
    pub fn assemble(&mut self, request: &AssembleRequest) -> Result<Assembled, WorkerError> {
        let program = ptxas::find("ptxas")?;
        // A worker ends a ptxas that takes too long itself, and waits three times at most, one after the other.
        self.ask(&Request::Assemble(program, *request, self.pool.idle_cores()), 3 * assembler::TIME)
    }

    fn ask<T: DeserializeOwned>(&mut self, request: &Request, limit: Duration) -> Result<T, WorkerError> {
        let Pool { binary, memory, faults, .. } = self.pool;
        let worker = match &mut self.worker {
            Some(worker) => worker,
            none => none.insert(Worker::start(binary, *memory, *faults)?),
        };
        match worker.ask(request, limit) {
            Ok(answer) => answer,
            Err(error) => {
                self.worker = None;
                Err(error)
            }
        }
    }
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        let mut workers = self.pool.lock();
        match self.worker.take().filter(|worker| worker.requests_done < REQUESTS_PER_WORKER) {
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

    /// Sends a request and waits for its answer. After an error of ours the worker is of no more use.
    fn ask<T: DeserializeOwned>(&mut self, request: &Request, limit: Duration) -> Result<Answer<T>, WorkerError> {
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
        self.answer(deadline, limit)
    }

    fn answer<T: DeserializeOwned>(&mut self, deadline: Instant, limit: Duration) -> Result<T, WorkerError> {
        match self.answers.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(Ok(Some(message))) => postcard::from_bytes(&message).map_err(|_| self.process.crashed()),
            Err(RecvTimeoutError::Timeout) => Err(WorkerError::TimedOut { what: "LLVM".into(), limit }),
            Ok(Ok(None) | Err(_)) | Err(RecvTimeoutError::Disconnected) => Err(self.process.crashed()),
        }
    }
}

/// What is asked of a worker.
#[derive(Serialize, Deserialize)]
enum Request<'a> {
    /// With the ptxas that is to be asked next, if one is.
    Ptx(#[serde(borrow)] PtxRequest<'a>, Option<PathBuf>),
    Fault(&'a str),
    /// By this ptxas, on so many cores beside the worker's.
    Assemble(PathBuf, #[serde(borrow)] AssembleRequest<'a>, usize),
}

/// What was asked for, text or machine code, or why there is none.
type Answer<T> = Result<T, WorkerError>;

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

/// The whole life of `tritium worker`: answers requests from standard input until it closes.
pub fn serve() -> ExitCode {
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
    let mut assembler = Assembler::default();
    loop {
        let request = match requests.recv_timeout(PATIENCE) {
            Ok(request) => request,
            Err(RecvTimeoutError::Timeout) => {
                assembler.let_go();
                continue;
            }
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        };
        let text = |made: Result<String, String>| encode(&made.map_err(WorkerError::Refused));
        let answer = match postcard::from_bytes(&request) {
            Ok(Request::Ptx(request, ptxas)) => {
                if let Some(ptxas) = ptxas {
                    assembler.get_ready(&ptxas, request.cpu, request.llvm.contains("!DILocation"));
                }
                text(llvm::ptx(&request))
            }
            Ok(Request::Assemble(ptxas, request, idle)) => encode(&assembler.assemble(&ptxas, &request, idle)),
            Ok(Request::Fault(kind)) if std::env::var_os(FAULTS).is_some() => text(fault(kind)),
            Ok(Request::Fault(_)) | Err(_) => text(Err("the worker does not know this request".into())),
        };
        say(answer.map_err(io::Error::other)?)?;
        assembler.get_ready_again();
    }
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
