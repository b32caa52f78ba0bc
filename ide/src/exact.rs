// Feature: Exact figures
//
//! Exact artefacts beside estimates: PTX and what ptxas says of it.
//!
//! Compiling takes tens of milliseconds to seconds and happens in other processes, so an editor never waits for it: it shows the estimate,
//! and the exact figure once it is there. **Invariant:** an artefact is never an input of the database; it is looked up by the LLVM text
//! it was made of.

use std::{
    collections::HashMap,
    sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError},
    thread,
};

use tritium_runtime::{
    exact::{self, Exact},
    store::Store,
    worker::{self, Pool, PtxRequest, WorkerError},
};
use tritium_semantics::target::Sm;

/// What is known of one kernel's machine code.
#[derive(Debug, Clone, PartialEq)]
pub enum State {
    /// Being compiled in the background.
    Pending,
    Ready(Arc<Exact>),
    /// The compiler refused, crashed or hung; the message says which.
    Failed(Arc<str>),
    /// There is no ptxas here: estimates stay, and that is no fault of the kernel's.
    Absent(Arc<str>),
}

impl State {
    /// The figures, or why there are none.
    pub fn known(self) -> Result<Arc<Exact>, Arc<str>> {
        match self {
            State::Ready(exact) => Ok(exact),
            State::Failed(message) | State::Absent(message) => Err(message),
            State::Pending => Err("still being compiled".into()),
        }
    }
}

/// Kernels remembered in memory; older ones are found again in the store on disk.
const REMEMBERED: usize = 256;

#[derive(PartialEq, Eq, Hash, Clone)]
struct Key {
    llvm: Arc<str>,
    cpu: &'static str,
}

#[derive(Default)]
struct Known {
    states: HashMap<Key, State>,
    /// In the order they were first asked for.
    order: Vec<Key>,
}

#[derive(Default)]
struct Shared {
    known: Mutex<Known>,
    changed: Condvar,
    compiler: OnceLock<Result<(Pool, Store), String>>,
}

/// Told when an exact figure has arrived, so that editors ask again.
pub type OnArrival = Arc<dyn Fn() + Send + Sync>;

#[derive(Default)]
pub struct Artefacts {
    shared: Arc<Shared>,
    on_arrival: OnceLock<OnArrival>,
}

impl Artefacts {
    /// Once; later calls are ignored.
    pub fn on_arrival(&self, tell: OnArrival) {
        let _ = self.on_arrival.set(tell);
    }

    /// What is known now. The first question starts the compilation.
    pub fn get(&self, llvm: &str, sm: &'static Sm) -> State {
        let key = Key { llvm: llvm.into(), cpu: sm.ptx_target };
        let mut known = self.shared.lock();
        if let Some(state) = known.states.get(&key) {
            return state.clone();
        }
        while known.order.len() >= REMEMBERED {
            let oldest = known.order.remove(0);
            known.states.remove(&oldest);
        }
        known.order.push(key.clone());
        known.states.insert(key.clone(), State::Pending);
        drop(known);
        let (shared, tell) = (Arc::clone(&self.shared), self.on_arrival.get().cloned());
        let task = move || {
            let state = shared.compile(&key, sm.ptx_feature);
            // It may be forgotten by now.
            if let Some(known) = shared.lock().states.get_mut(&key) {
                *known = state;
            }
            shared.changed.notify_all();
            if let Some(tell) = tell {
                tell();
            }
        };
        match thread::Builder::new().name("exact".to_owned()).spawn(task) {
            Ok(_) => State::Pending,
            Err(error) => State::Failed(format!("no thread could be started: {error}").into()),
        }
    }

    /// Waits for the compiler; its time limits bound the wait. Never [`State::Pending`].
    pub fn wait(&self, llvm: &str, sm: &'static Sm) -> State {
        let key = Key { llvm: llvm.into(), cpu: sm.ptx_target };
        let mut state = self.get(llvm, sm);
        let mut known = self.shared.lock();
        loop {
            if state != State::Pending {
                return state;
            }
            state = match known.states.get(&key) {
                Some(State::Pending) => {
                    known = self.shared.changed.wait(known).unwrap_or_else(PoisonError::into_inner);
                    continue;
                }
                Some(state) => state.clone(),
                None => State::Failed("forgotten: more kernels were asked for at once than are remembered".into()),
            };
        }
    }

    /// PTX's machine code as text, made while the caller waits.
    pub fn sass(&self, ptx: &str, sm: &'static Sm) -> Result<String, String> {
        let (pool, store) = self.shared.compiler()?;
        let code = exact::compile_code(pool, store, &worker::ptxas::AssembleRequest { ptx, sm: sm.ptx_target });
        worker::ptxas::disassemble(&code.map_err(|e| e.to_string())?.cubin).map_err(|e| e.to_string())
    }

    /// PTX alone, made while the caller waits.
    pub fn ptx(&self, llvm: &str, sm: &'static Sm) -> Result<String, String> {
        let (pool, store) = self.shared.compiler()?;
        let request = PtxRequest { llvm, cpu: sm.ptx_target, features: sm.ptx_feature, passes: worker::passes_for(llvm) };
        exact::compile_ptx(pool, store, &request).map_err(|error| error.to_string())
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn compiler(&self) -> Result<&(Pool, Store), String> {
        let compiler = self.compiler.get_or_init(|| {
            let binary = worker::binary().map_err(|e| e.to_string())?;
            Ok((Pool::new(binary), Store::open()))
        });
        compiler.as_ref().map_err(Clone::clone)
    }

    fn compile(&self, key: &Key, features: &str) -> State {
        let (pool, store) = match self.compiler() {
            Ok(compiler) => compiler,
            Err(message) => return State::Failed(message.into()),
        };
        let request = PtxRequest { llvm: &key.llvm, cpu: key.cpu, features, passes: worker::passes_for(&key.llvm) };
        match exact::compile_exact(pool, store, &request) {
            Ok(exact) => State::Ready(Arc::new(exact)),
            Err(error @ WorkerError::Missing { .. }) => State::Absent(error.to_string().into()),
            Err(error) => State::Failed(error.to_string().into()),
        }
    }
}
