//! Kernels for a machine: LLVM text, inputs and what must come out, one folder.
//!
//! `INDEX.jsonl` has a line for each kernel: its files, the launch, its arguments. `codegen/tests/fuzz/device.py` makes PTX of them with the
//! `tritium` program and runs them through the CUDA driver. **Invariant:** only kernels whose results are exact on any machine.

use std::{fs, io::Write as _, path::Path};

use tritium_codegen::{llvm, passes};
use tritium_tile::{Arg, Scalar};

use crate::{generate, interpreted, launch, options, seeds};

const TARGETS: [(&str, u32, u32); 3] = [("sm_90", 4, 3), ("sm_90", 8, 2), ("sm_90", 1, 1)];

#[test]
fn kernels_for_a_machine() {
    let Some(folder) = std::env::var_os("TRITIUM_FUZZ_EXPORT") else { return };
    let folder = Path::new(&folder);
    fs::create_dir_all(folder).expect("a folder");
    let mut index = fs::File::create(folder.join("INDEX.jsonl")).expect("a file");
    let (from, to) = seeds();
    for seed in from..to {
        let module = generate::module(seed, true);
        let target = TARGETS[(seed % TARGETS.len() as u64) as usize];
        let options = options(target);
        let Ok(expected) = interpreted(&module, seed) else { continue };
        let Ok(lowered) = passes::lower_to_l1(&module, &options) else { continue };
        let Ok(text) = llvm::emit(&lowered, options.sm) else { continue };
        let start = launch(&module, seed);
        let mut bytes: Vec<u8> = Vec::new();
        let mut buffers = Vec::new();
        for ((scalar, base), after) in start.buffers.iter().zip(&expected) {
            let before = start.memory.bytes(*base);
            let float = generate::is_float(*scalar);
            buffers.push(serde_json::json!({
                "bytes": before.len(), "before": bytes.len(), "after": bytes.len() + before.len(),
                "float": if float { scalar.bytes() } else { 0 }, "type": scalar.name(),
            }));
            bytes.extend(before);
            bytes.extend(after);
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
        fs::write(folder.join(format!("{seed}.ll")), &text).expect("a file");
        fs::write(folder.join(format!("{seed}.tile")), module.to_string()).expect("a file");
        fs::write(folder.join(format!("{seed}.bin")), &bytes).expect("a file");
        let line = serde_json::json!({
            "seed": seed, "name": llvm::entry_name(&lowered), "threads": 32 * lowered.num_warps,
            "shared": lowered.shared_bytes.unwrap_or(0), "grid": generate::PROGRAMS, "buffers": buffers, "args": args,
            "cpu": options.sm.ptx_target, "features": options.sm.ptx_feature,
        });
        writeln!(index, "{line}").expect("it can be written");
    }
    assert!(Scalar::ALL.len() > 8);
}
