//! Exact artefacts of a kernel: LLVM text to PTX to machine code, each step looked up in the store first.
//! **The same text, options and tools give the same artefact, from the store or not.**

use crate::store::{Key, Store};
use crate::worker::ptxas::{self, AssembleRequest, Assembled};
use crate::worker::{Pool, PtxRequest, WorkerError, llvm_version};

/// Changes when how we call the tools, or what we do to their output, does.
const REVISION: &str = "3";

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
    if let Some(code) = store.get(key).as_deref().and_then(decode) {
        return Ok(code);
    }
    let code = ptxas::assemble(request)?;
    store.put(key, &encode(&code));
    Ok(code)
}

/// Both, from an LLVM module.
pub fn compile_exact(pool: &Pool, store: &Store, request: &PtxRequest) -> Result<Exact, WorkerError> {
    let ptx = compile_ptx(pool, store, request)?;
    let code = compile_code(store, &AssembleRequest { ptx: &ptx, sm: request.cpu })?;
    Ok(Exact { ptx, code })
}

/// Six numbers, the length of the log, the log, the machine code; numbers are `u32`, little-endian.
fn encode(code: &Assembled) -> Vec<u8> {
    let Assembled { cubin, registers, spill_stores, spill_loads, stack, barriers, static_shared, log } = code;
    let length = log.len() as u32;
    let mut bytes = Vec::with_capacity(28 + log.len() + cubin.len());
    for number in [registers, spill_stores, spill_loads, stack, barriers, static_shared, &length] {
        bytes.extend(number.to_le_bytes());
    }
    bytes.extend(log.as_bytes());
    bytes.extend(cubin);
    bytes
}

fn decode(bytes: &[u8]) -> Option<Assembled> {
    let (numbers, rest) = bytes.split_first_chunk::<28>()?;
    let number = |index: usize| u32::from_le_bytes(std::array::from_fn(|byte| numbers[index * 4 + byte]));
    let (log, cubin) = rest.split_at_checked(number(6) as usize)?;
    Some(Assembled {
        registers: number(0),
        spill_stores: number(1),
        spill_loads: number(2),
        stack: number(3),
        barriers: number(4),
        static_shared: number(5),
        log: String::from_utf8(log.to_vec()).ok()?,
        cubin: cubin.to_vec(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_survives_the_store() {
        let code = Assembled {
            cubin: vec![0x7f, b'E', b'L', b'F', 0],
            registers: 40,
            spill_stores: 520,
            spill_loads: 484,
            stack: 200,
            barriers: 1,
            static_shared: 1024,
            log: "grüße".into(),
        };
        let bytes = encode(&code);
        assert_eq!(decode(&bytes), Some(code));
        for length in 0..28 + "grüße".len() {
            assert_eq!(decode(&bytes[..length]), None);
        }
    }
}
