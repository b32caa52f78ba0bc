//! What Python loads: launches of a running program's kernels, on the memory of its arrays and tensors.
//!
//! `tritium/launch.py` says what a launch is made of; here it is taken apart, and run. **Invariant:** Python can be interrupted while a launch
//! runs, and no memory of Python's is touched without its lock.

mod gpu;
mod values;

use std::{
    panic::{self, AssertUnwindSafe},
    path::PathBuf,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError},
    thread,
    time::Duration,
};

use pyo3::{
    exceptions::{PyRuntimeError, PyValueError},
    prelude::*,
};
use rayon::prelude::*;
use tritium_runtime::{
    device::DeviceName,
    run::{Compiler, Live, LiveLaunch, LiveOutcome, Original},
    store::Store,
    tensor::{self, Tensor},
    watch::Watched,
    worker::ptxas,
};
use tritium_semantics::{DEEP_STACK_BYTES, dtype::DType, target, versions};

use gpu::{Compiled, KernelRequest, Launcher, PaddingError};
use values::{Memory, Request};

/// How often Python is asked whether somebody has pressed Ctrl-C.
const PAUSE: Duration = Duration::from_millis(20);

/// The kernels of one process. A child of `fork` needs one of its own: threads do not survive there.
#[pyclass(frozen)]
struct Session {
    live: Mutex<Live>,
    threads: rayon::ThreadPool,
    /// `None` where the `tritium` program, which serves as worker, is not found.
    compiler: Option<Compiler>,
}

#[pymethods]
impl Session {
    #[new]
    #[pyo3(signature = (triton, device, program=None, packages=vec![]))]
    fn new(triton: Option<String>, device: &str, program: Option<PathBuf>, packages: Vec<PathBuf>) -> PyResult<Session> {
        let device = match DeviceName::parse(device) {
            Some(device @ (DeviceName::Cpu | DeviceName::Sim)) => device,
            _ => return Err(PyValueError::new_err(format!("`{device}` is no device of the CPU: `cpu` and `sim` are"))),
        };
        // Kernels may be nested deeply.
        let threads =
            rayon::ThreadPoolBuilder::new().stack_size(DEEP_STACK_BYTES).thread_name(|n| format!("tritium-{n}")).build();
        let threads = threads.map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
        ptxas::look_in(packages);
        let compiler = program.map(|program| Compiler::with(program, Store::open()));
        Ok(Session { live: Mutex::new(Live::new(triton, device)), threads, compiler })
    }

    /// Makes the text of a module known. `original`: the file that it is copied from, and how many lines further down and columns further right it
    /// stands there.
    #[pyo3(signature = (module, text, original=None))]
    fn add(&self, py: Python<'_>, module: &str, text: String, original: Option<(PathBuf, i64, u32)>) -> PyResult<()> {
        let original = original.map(|(file, lines, columns)| Original { file, lines, columns });
        self.live(py)?.add(module, text, original);
        Ok(())
    }

    /// Lets go of all modules.
    fn clear(&self, py: Python<'_>) -> PyResult<()> {
        self.live(py)?.clear();
        Ok(())
    }

    /// Writes what is to be recorded and is held back.
    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        self.live(py)?.flush();
        Ok(())
    }

    /// Compiles specialisations, several at once. For each a `Compiled`, or as JSON why there is none.
    fn compile<'py>(&self, py: Python<'py>, requests: Vec<KernelRequest>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let Some(compiler) = &self.compiler else {
            return Err(PyRuntimeError::new_err(
                "the `tritium` program was not found beside this module: install the whole wheel",
            ));
        };
        // The kernels are free for others once the functions are found.
        let mut live = self.live(py)?;
        let prepared: Vec<_> = requests.iter().map(|request| live.prepare(&request.0)).collect();
        drop(live);
        let compile = || prepared.into_par_iter().with_max_len(1).map(|one| one?.compile(compiler)).collect::<Vec<_>>();
        let compiled = py.detach(|| panic::catch_unwind(AssertUnwindSafe(|| self.threads.install(compile))));
        let compiled =
            compiled.map_err(|_| PyRuntimeError::new_err("the compiler failed inside of Tritium: please report the kernel"))?;
        let one = |outcome| match outcome {
            Ok(code) => Ok(Bound::new(py, Compiled(Arc::new(code)))?.into_any()),
            Err(problems) => {
                let told = serde_json::to_string(&problems).map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
                Ok(told.into_pyobject(py)?.into_any())
            }
        };
        compiled.into_iter().map(one).collect()
    }

    /// Runs a launch, and answers what came of it as JSON.
    fn launch(&self, py: Python<'_>, request: Request) -> PyResult<String> {
        let Request { launch, memories } = request;
        // Another thread's launch may be writing to the same memory: it is read once that has ended.
        let mut live = self.live(py)?;
        let mut tensors: Vec<Tensor> = memories.iter().map(Memory::read).collect();
        let outcome = self.run(py, &mut live, &launch, &mut tensors)?;
        for (memory, tensor) in memories.iter().zip(&tensors) {
            memory.write(&tensor.bytes)?;
        }
        serde_json::to_string(&outcome).map_err(|error| PyRuntimeError::new_err(error.to_string()))
    }
}

impl Session {
    /// Waits for its turn with Python's lock given back.
    fn live(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, Live>> {
        loop {
            match self.live.try_lock() {
                Ok(live) => return Ok(live),
                Err(TryLockError::Poisoned(poisoned)) => return Ok(poisoned.into_inner()),
                Err(TryLockError::WouldBlock) => {
                    py.detach(|| thread::sleep(PAUSE));
                    py.check_signals()?;
                }
            }
        }
    }

    /// On another thread, while this one listens to Python's signals.
    fn run(&self, py: Python<'_>, live: &mut Live, launch: &LiveLaunch, tensors: &mut Vec<Tensor>) -> PyResult<LiveOutcome> {
        let watched = Watched::default();
        let (answer, answered) = (Mutex::new(None), Condvar::new());
        thread::scope(|scope| {
            let worker = scope.spawn(|| {
                let outcome = self.threads.install(|| live.launch(launch, tensors, &watched));
                *lock(&answer) = Some(outcome);
                answered.notify_one();
            });
            let mut interrupted = None;
            // One that panics answers nothing.
            while !worker.is_finished() && lock(&answer).is_none() {
                py.detach(|| drop(answered.wait_timeout_while(lock(&answer), PAUSE, |answer| answer.is_none())));
                if let Err(signal) = py.check_signals() {
                    watched.cancel();
                    interrupted = Some(signal);
                }
            }
            let has_failed = worker.join().is_err();
            match interrupted {
                Some(signal) => Err(signal),
                None if has_failed => {
                    Err(PyRuntimeError::new_err("the launch failed inside of Tritium: please report the kernel"))
                }
                None => Ok(lock(&answer).take().unwrap_or_default()),
            }
        })
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether a version of Triton has a name (`triton.language.load`); `None` if the version is not known.
#[pyfunction]
fn has_name(path: &str, triton: &str) -> Option<bool> {
    versions::has(path, triton)
}

/// Whether a path is that of one of Triton's modules.
#[pyfunction]
fn is_module(path: &str) -> bool {
    versions::is_module(path)
}

/// The version of the language that counts where nothing says otherwise.
#[pyfunction]
fn default_triton() -> &'static str {
    target::DEFAULT_TRITON
}

/// What `triton.__version__` is for a version of the language.
#[pyfunction]
fn package_version(triton: &str) -> String {
    versions::package_version(triton)
}

/// What the elements of a type hold where nobody has written; `None` where arithmetic may leave the same, or the type is none of Triton's.
#[pyfunction]
fn pattern(dtype: &str) -> Option<Vec<u8>> {
    let dtype = DType::from_name(dtype).filter(|dtype| dtype.bytes() >= 4)?;
    Some(tensor::pattern(dtype).to_vec())
}

#[pymodule]
mod _tritium {
    #[pymodule_export]
    use super::{Compiled, Launcher, PaddingError, Session, default_triton, has_name, is_module, package_version, pattern};

    #[pymodule_init]
    fn init(module: &pyo3::Bound<'_, pyo3::types::PyModule>) -> pyo3::PyResult<()> {
        pyo3::types::PyModuleMethods::add(module, "__version__", env!("CARGO_PKG_VERSION"))
    }
}
