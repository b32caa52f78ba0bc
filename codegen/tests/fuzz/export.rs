//! Kernels for a machine: LLVM text, inputs and what must come out, one folder.
//!
//! `INDEX.jsonl` has a line for each kernel: its launch, its arguments, its buffers. `codegen/tests/fuzz/device.py` makes PTX of them with the
//! `tritium` program, packs all into one file and runs that through the CUDA driver. **Invariant:** only kernels whose results are exact on
//! any machine, and on which interpreter and simulator agree.

use std::{
    fs,
    path::Path,
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use tritium_codegen::{llvm, passes};
use tritium_tile::Arg;

use crate::{Checker, Target, generate, given, interpreted, launch, options, seeds};

const TARGETS: [Target; 6] =
    [("sm_90", 4, 3), ("sm_90", 8, 2), ("sm_90", 1, 1), ("sm_90", 4, 4), ("sm_90", 2, 2), ("sm_90", 8, 4)];

pub(crate) fn run(folder: &Path) {
    fs::create_dir_all(folder).expect("a folder");
    let (from, to) = seeds();
    let (next, lines, failures) = (AtomicU64::new(from), Mutex::<Vec<(u64, String)>>::default(), AtomicU64::new(0));
    let threads = given("THREADS").and_then(|n| n.parse().ok()).unwrap_or(2);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= to {
                        return;
                    }
                    match one(folder, seed) {
                        Ok(Some(line)) => lines.lock().expect("nobody panicked").push((seed, line)),
                        Ok(None) => {}
                        Err(message) => {
                            eprintln!("seed {seed}: {message}");
                            failures.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                }
            });
        }
    });
    let mut lines = lines.into_inner().expect("nobody panicked");
    lines.sort();
    eprintln!("{} kernels of seeds {from}..{to} are in {}", lines.len(), folder.display());
    let text: String = lines.into_iter().map(|(_, line)| line + "\n").collect();
    fs::write(folder.join("INDEX.jsonl"), text).expect("a file");
    assert_eq!(failures.into_inner(), 0, "interpreter and simulator do not agree on some");
}

/// Writes one kernel's files; its line of the index, unless it is refused.
fn one(folder: &Path, seed: u64) -> Result<Option<String>, String> {
    let module = generate::module(seed, true);
    let target = TARGETS[(seed % TARGETS.len() as u64) as usize];
    let options = options(target);
    let (refusals, cancel) = (Mutex::default(), AtomicBool::new(false));
    if (Checker { refusals: &refusals, operations: &Mutex::default(), cancel: &cancel }).check(&module, seed, &[target])? == 0 {
        return Ok(None);
    }
    let expected = interpreted(&module, seed, &cancel)?;
    let lowered = passes::lower(&module, &options).map_err(|why| why.message)?;
    let llvm::Text { llvm: text, tensor_maps, .. } =
        llvm::emit_with(&lowered, options.sm, &llvm::Emission::default()).map_err(|why| why.message)?;
    if !tensor_maps.is_empty() {
        return Err("the kernel reads tensors by blocks, and the script that launches it makes no tensor maps".into());
    }
    let start = launch(&module, seed);
    let mut bytes: Vec<u8> = Vec::new();
    let mut buffers = Vec::new();
    for ((scalar, base), after) in start.buffers.iter().zip(&expected) {
        let before = start.memory.bytes(*base);
        let mut put = |data: &[u8], known: bool| {
            let at = (!known).then_some(bytes.len());
            if !known {
                bytes.extend(data);
            }
            at
        };
        let zero = before.iter().all(|&b| b == 0);
        buffers.push(serde_json::json!({
            "bytes": before.len(),
            // Nothing for zeros, and for what stays as it was.
            "before": put(&before, zero), "after": put(after, *after == before),
            "type": scalar.name(),
        }));
    }
    let mut pointers = 0..buffers.len();
    let args: Vec<serde_json::Value> = start
        .args
        .iter()
        .map(|arg| match arg {
            Arg::Pointer(_) => serde_json::json!({ "buffer": pointers.next() }),
            Arg::Int(value) => serde_json::json!({ "int": value }),
            Arg::Float(value) => serde_json::json!({ "float": value }),
        })
        .collect();
    let write = |end: &str, data: &[u8]| fs::write(folder.join(format!("{seed}.{end}")), data).map_err(|e| e.to_string());
    write("ll", text.as_bytes())?;
    write("bin", &bytes)?;
    Ok(Some(
        serde_json::json!({
            "seed": seed, "name": llvm::entry_name(&lowered), "threads": 32 * lowered.num_warps,
            "shared": lowered.shared_bytes.unwrap_or(0), "grid": generate::PROGRAMS, "buffers": buffers, "args": args,
            "cpu": options.sm.ptx_target, "features": options.sm.ptx_feature, "target": format!("{target:?}"),
        })
        .to_string(),
    ))
}
