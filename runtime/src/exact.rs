//! Exact artefacts of a kernel: LLVM text to PTX to machine code, each step looked up in the store first.
//! **The same text, options and tools give the same artefact, from the store or not.**

use crate::store::{Key, Store};
use crate::worker::ptxas::{self, AssembleRequest, Assembled};
use crate::worker::{Pool, PtxRequest, WorkerError, llvm_version};

/// Changes when how we call the tools, or what we do to their output, does.
const REVISION: &str = "4";

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
    if let Some(ptx) = store.get(key).and_then(|bytes| String::from_utf8(bytes).ok()) {
        return Ok(ptx);
    }
    let ptx = pool.ptx(request)?;
    store.put(key, ptx.as_bytes());
    Ok(ptx)
}

/// The machine code of PTX.
pub fn compile_code(store: &Store, request: &AssembleRequest) -> Result<Assembled, WorkerError> {
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
