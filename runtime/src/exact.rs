//! Exact artefacts of a kernel: LLVM text to PTX to machine code, each step looked up in the store first.
//! **The same text, options and tools give the same artefact, from the store or not.**

use crate::store::{Key, Store};
use crate::worker::ptxas::{self, AssembleRequest, Assembled};
use crate::worker::{Lease, Pool, PtxRequest, WorkerError, llvm_version};

/// Changes when how we call the tools, or what we do to their output, does.
const REVISION: &str = "10";

/// A kernel as it would be loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exact {
    pub ptx: String,
    /// Machine code and its resources.
    pub code: Assembled,
}

/// One kernel's way through the tools. Both steps go to the same worker, which starts ptxas while LLVM works.
pub struct Compilation<'a> {
    pool: &'a Pool,
    store: &'a Store,
    worker: Option<Lease<'a>>,
}

impl<'a> Compilation<'a> {
    pub fn new(pool: &'a Pool, store: &'a Store) -> Compilation<'a> {
        Compilation { pool, store, worker: None }
    }

    /// The PTX of an LLVM module, whose machine code will be wanted.
    pub fn ptx(&mut self, request: &PtxRequest) -> Result<String, WorkerError> {
        let worker = || self.worker.get_or_insert_with(|| self.pool.worker()).ptx(request, true);
        ptx(self.store, request, worker)
    }

    /// The machine code of PTX. What was handed over ([`Store::get_given`]) is good whichever ptxas has made it: it is there for machines that have
    /// none.
    pub fn code(&mut self, request: &AssembleRequest) -> Result<Assembled, WorkerError> {
        let of_any = Key::of(&["code of any ptxas", REVISION, request.sm, request.ptx]);
        let code = match self.store.get_given(of_any).and_then(|bytes| postcard::from_bytes(&bytes).ok()) {
            Some(code) => code,
            None => self.code_of_this_ptxas(request)?,
        };
        if let Ok(bytes) = postcard::to_allocvec(&code) {
            self.store.copy(of_any, &bytes);
        }
        Ok(code)
    }

    fn code_of_this_ptxas(&mut self, request: &AssembleRequest) -> Result<Assembled, WorkerError> {
        let key = Key::of(&["code", REVISION, &ptxas::version()?, request.sm, request.ptx]);
        if let Some(code) = self.store.get(key).and_then(|bytes| postcard::from_bytes(&bytes).ok()) {
            return Ok(code);
        }
        let code = self.worker.get_or_insert_with(|| self.pool.worker()).assemble(request)?;
        if let Ok(bytes) = postcard::to_allocvec(&code) {
            self.store.put(key, &bytes);
        }
        Ok(code)
    }
}

fn ptx(store: &Store, request: &PtxRequest, make: impl FnOnce() -> Result<String, WorkerError>) -> Result<String, WorkerError> {
    let PtxRequest { llvm, cpu, features, passes } = *request;
    let key = Key::of(&["ptx", REVISION, &llvm_version(), cpu, features, passes, llvm]);
    let known = store.get(key).and_then(|bytes| String::from_utf8(bytes).ok());
    let ptx = match known {
        Some(ptx) => ptx,
        None => {
            let ptx = make()?;
            store.put(key, ptx.as_bytes());
            ptx
        }
    };
    store.copy(key, ptx.as_bytes());
    Ok(ptx)
}

/// The PTX of an LLVM module, and nothing else.
pub fn compile_ptx(pool: &Pool, store: &Store, request: &PtxRequest) -> Result<String, WorkerError> {
    ptx(store, request, || pool.ptx(request))
}

/// The machine code of PTX that has been made.
pub fn compile_code(pool: &Pool, store: &Store, request: &AssembleRequest) -> Result<Assembled, WorkerError> {
    Compilation::new(pool, store).code(request)
}

/// Both, from an LLVM module.
pub fn compile_exact(pool: &Pool, store: &Store, request: &PtxRequest) -> Result<Exact, WorkerError> {
    let mut compilation = Compilation::new(pool, store);
    let ptx = compilation.ptx(request)?;
    let code = compilation.code(&AssembleRequest { ptx: &ptx, sm: request.cpu })?;
    Ok(Exact { ptx, code })
}
