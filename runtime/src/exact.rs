//! Exact artefacts of a kernel: LLVM text to PTX to machine code, each step looked up in the store first.
//! **The same text, options and tools give the same artefact, from the store or not.**

use crate::store::{Key, Store};
use crate::worker::ptxas::{self, AssembleRequest, Assembled};
use crate::worker::{Pool, PtxRequest, WorkerError, llvm_version};

/// Changes when how we call the tools, or what we do to their output, does.
const REVISION: &str = "5";

/// A kernel as it would be loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exact {
    pub ptx: String,
    /// Machine code and its resources.
    pub code: Assembled,
}

/// The PTX of an LLVM module.
pub fn compile_ptx(pool: &Pool, store: &Store, request: &PtxRequest) -> Result<String, WorkerError> {
    let PtxRequest { llvm, cpu, features, passes } = *request;
    let key = Key::of(&["ptx", REVISION, &llvm_version(), cpu, features, passes, llvm]);
    let known = store.get(key).and_then(|bytes| String::from_utf8(bytes).ok());
    let ptx = match known {
        Some(ptx) => ptx,
        None => {
            let ptx = pool.ptx(request)?;
            store.put(key, ptx.as_bytes());
            ptx
        }
    };
    store.copy(key, ptx.as_bytes());
    Ok(ptx)
}

/// The machine code of PTX. What was handed over ([`Store::get_given`]) is good whichever ptxas has made it: it is there for machines that have none.
pub fn compile_code(store: &Store, request: &AssembleRequest) -> Result<Assembled, WorkerError> {
    let of_any = Key::of(&["code of any ptxas", REVISION, request.sm, request.ptx]);
    let code = match store.get_given(of_any).and_then(|bytes| postcard::from_bytes(&bytes).ok()) {
        Some(code) => code,
        None => code_of_this_ptxas(store, request)?,
    };
    if let Ok(bytes) = postcard::to_allocvec(&code) {
        store.copy(of_any, &bytes);
    }
    Ok(code)
}

fn code_of_this_ptxas(store: &Store, request: &AssembleRequest) -> Result<Assembled, WorkerError> {
    let key = Key::of(&["code", REVISION, &ptxas::version()?, request.sm, request.ptx]);
    if let Some(code) = store.get(key).and_then(|bytes| postcard::from_bytes(&bytes).ok()) {
        return Ok(code);
    }
    let code = ptxas::assemble(request)?;
    if let Ok(bytes) = postcard::to_allocvec(&code) {
        store.put(key, &bytes);
    }
    Ok(code)
}

/// Both, from an LLVM module.
pub fn compile_exact(pool: &Pool, store: &Store, request: &PtxRequest) -> Result<Exact, WorkerError> {
    let ptx = compile_ptx(pool, store, request)?;
    let code = compile_code(store, &AssembleRequest { ptx: &ptx, sm: request.cpu })?;
    Ok(Exact { ptx, code })
}
