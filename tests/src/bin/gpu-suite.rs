//! Packs the numerics suite for a machine that has a GPU and nothing of ours: `gpu-suite OUT [FAMILY…]`.
//!
//! OUT then holds what `tests/run/write.py` writes, `code.bin` (machine code and PTX of every launch, one after the other), `launches.jsonl`
//! (how to launch each) and `gpu.py`, which runs them there. **A launch that does not compile is in `refused.jsonl`, with the reason.**

use std::collections::HashMap;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use tritium_codegen as codegen;
use tritium_runtime::device::LaunchValue;
use tritium_runtime::exact::{Exact, compile_exact};
use tritium_runtime::store::Store;
use tritium_runtime::worker::{Pool, PtxRequest, passes_for};
use tritium_semantics::target::Gpu;
use tritium_tests::numerics::{Case, Source, Suite};
use tritium_tests::{repository, tritium};

const GPU: &str = "sm_90";

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(out) = arguments.next() else {
        eprintln!("usage: gpu-suite OUT [FAMILY…]");
        return ExitCode::from(2);
    };
    let (out, families) = (Path::new(&out), arguments.collect::<Vec<_>>());
    let suite = Suite::write(out, &families.iter().map(String::as_str).collect::<Vec<_>>());
    match pack(&suite, out) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{}: {error}", out.display());
            ExitCode::FAILURE
        }
    }
}

/// How to launch, and the code.
type Answer = Result<(Value, Exact), String>;

fn pack(suite: &Suite, out: &Path) -> std::io::Result<()> {
    let pieces: Vec<&[Case]> = suite.files().into_iter().flat_map(|cases| cases.chunks(25)).collect();
    let answers: Vec<Mutex<Vec<Answer>>> = pieces.iter().map(|_| Mutex::default()).collect();
    let next = AtomicUsize::new(0);
    let pool = Pool::new(tritium().to_owned()).time_limit(Duration::from_secs(120));
    let worker = || {
        while let Some(cases) = pieces.get(next.fetch_add(1, Ordering::Relaxed)) {
            let at = pieces.iter().position(|piece| std::ptr::eq(*piece, *cases)).unwrap_or(0);
            let source = suite.open(&cases[0].file, GPU);
            let done = cases.iter().map(|case| compiled(suite, &source, case, &pool)).collect();
            if let Ok(mut slot) = answers[at].lock() {
                *slot = done;
            }
            eprint!(".");
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(worker);
        }
    });
    let (mut code, mut launches, mut refused) = (Vec::new(), Vec::new(), Vec::new());
    let mut known: HashMap<Vec<u8>, usize> = HashMap::new();
    let answers = answers.into_iter().flat_map(|slot| slot.into_inner().unwrap_or_default());
    for (case, answer) in pieces.iter().flat_map(|cases| cases.iter()).zip(answers) {
        match answer {
            Err(why) => writeln!(refused, "{}", json!({ "id": case.id, "why": why }))?,
            Ok((mut line, exact)) => {
                line["spill_bytes"] = exact.code.spilled().into();
                for (what, bytes) in [("cubin", exact.code.cubin), ("ptx", exact.ptx.into_bytes())] {
                    let length = bytes.len();
                    let start = *known.entry(bytes).or_insert_with_key(|bytes| {
                        code.extend_from_slice(bytes);
                        code.len() - length
                    });
                    line[what] = json!([start, length]);
                }
                line["registers"] = exact.code.registers.into();
                line["stack"] = exact.code.stack.into();
                writeln!(launches, "{line}")?;
            }
        }
    }
    let count = |lines: &[u8]| lines.iter().filter(|&&b| b == b'\n').count();
    eprintln!("\n{} launches compile, {} do not", count(&launches), count(&refused));
    fs::write(out.join("code.bin"), code)?;
    fs::write(out.join("launches.jsonl"), launches)?;
    fs::write(out.join("refused.jsonl"), refused)?;
    fs::copy(repository().join("tests/run/gpu.py"), out.join("gpu.py"))?;
    fs::copy(repository().join("bench/tensor_maps.py"), out.join("tensor_maps.py"))?;
    Ok(())
}

fn compiled(suite: &Suite, source: &Source, case: &Case, pool: &Pool) -> Answer {
    let launch = source.launch(case)?;
    let ready = source.prepare(launch)?;
    let tensors = suite.tensors(case, launch)?;
    let gpu = Gpu::find(GPU).ok_or("no such GPU")?;
    let options = codegen::CompileOptions::new(gpu.sm, launch.options);
    let llvm = codegen::llvm_text(&source.db, ready.instance, options).as_ref().map_err(|refused| refused.message.clone())?;
    let request =
        PtxRequest { llvm: &llvm.text, cpu: gpu.sm.ptx_target, features: gpu.sm.ptx_feature, passes: passes_for(&llvm.text) };
    let exact = compile_exact(pool, &Store::open(), &request).map_err(|error| error.to_string())?;
    let argument = |value: &LaunchValue| match *value {
        LaunchValue::Tensor { index, byte_offset } => json!({ "tensor": tensors[index].name, "offset": byte_offset }),
        LaunchValue::Scalar { bits, bytes } => json!({ "bits": bits, "bytes": bytes }),
    };
    // Of a tensor map, parameters by their places.
    let places: Vec<String> = (0..ready.values.len()).map(|at| format!("p{at}")).collect();
    let line = json!({
        "id": case.id,
        "kernel": llvm.kernel,
        "grid": launch.grid,
        "threads": launch.options.threads(),
        "shared": llvm.shared_bytes,
        "tensors": tensors.iter().map(|t| json!([t.name, t.dtype.to_string(), t.bytes.len()])).collect::<Vec<_>>(),
        "args": ready.values.iter().map(argument).collect::<Vec<_>>(),
        "scratch": llvm.scratch_bytes,
        "maps": llvm.tensor_maps.iter().map(|map| map.line(&places)).collect::<Vec<_>>(),
    });
    Ok((line, exact))
}
