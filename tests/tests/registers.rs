//! Registers of the whole suite: nothing that a thread holds goes to local memory but where Triton's code does it too, and ptxas warns of
//! nothing.
//!
//! `tests/run/local.tsv` says for which launches Triton uses local memory; `tests/judge/record_suite_spills.py` records it. **A launch that has no line there has
//! none.**

use std::collections::HashMap;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use tritium_codegen as codegen;
use tritium_runtime::exact::compile_exact;
use tritium_runtime::store::Store;
use tritium_runtime::worker::ptxas::Assembled;
use tritium_runtime::worker::{Pool, PtxRequest, passes_for};
use tritium_semantics::target::Gpu;
use tritium_tests::numerics::{Case, Source, Suite};
use tritium_tests::{repository, tritium};

/// Whole kernels are compiled for both.
const GPUS: [&str; 2] = ["sm_90", "sm_80"];

/// Bytes of one thread.
#[derive(Default)]
struct Local {
    spilled: u32,
    all: u32,
}

#[test]
fn local_memory_is_used_where_triton_uses_it() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let suite = Suite::write(folder.path(), &[]);
    let theirs = recorded();
    let pieces: Vec<(&[Case], &str)> = suite
        .files()
        .into_iter()
        .flat_map(|cases| {
            let count = if is_whole(&cases[0]) { 2 } else { 1 };
            GPUS[..count].iter().flat_map(move |&gpu| cases.chunks(25).map(move |cases| (cases, gpu)))
        })
        .collect();
    let pool = Pool::new(tritium().to_owned()).time_limit(Duration::from_secs(120));
    let (next, count, problems) = (AtomicUsize::new(0), AtomicUsize::new(0), Mutex::new(Vec::new()));
    let worker = || {
        while let Some(&(cases, gpu)) = pieces.get(next.fetch_add(1, Ordering::Relaxed)) {
            let source = suite.open(&cases[0].file, gpu);
            for case in cases {
                // What has no machine code for this GPU is another test's business.
                let Ok(code) = assembled(&source, case, gpu, &pool) else { continue };
                count.fetch_add(1, Ordering::Relaxed);
                let name = format!("{}\t{gpu}", case.id);
                let none = Local::default();
                let theirs = theirs.get(&name).unwrap_or(&none);
                if let Some(problem) = problem(&code, theirs) {
                    problems.lock().expect("no thread panics while it holds the list").push(format!("{name}\t{problem}"));
                }
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(worker);
        }
    });
    let mut problems = problems.into_inner().expect("no thread panics while it holds the list");
    problems.sort();
    assert!(problems.is_empty(), "Triton uses none here, or `tests/run/local.tsv` does not know it:\n{}", problems.join("\n"));
    assert!(count.into_inner() > 2500, "the suite is there and compiles");
}

/// A kernel as people write them, not one operation.
fn is_whole(case: &Case) -> bool {
    repository().join("tests/run/kernels").join(&case.file).is_file()
}

fn problem(code: &Assembled, theirs: &Local) -> Option<String> {
    let spilled = code.spilled();
    if let Some(warning) = code.warnings().next() {
        return Some(warning.to_owned());
    }
    if spilled > 0 && theirs.spilled == 0 {
        return Some(format!("{} registers, {spilled} bytes spilled", code.registers));
    }
    (code.stack > 0 && theirs.all == 0).then(|| format!("{} registers, {} bytes of local memory", code.registers, code.stack))
}

fn assembled(source: &Source, case: &Case, gpu: &str, pool: &Pool) -> Result<Assembled, String> {
    let launch = source.launch(case)?;
    let ready = source.prepare(launch)?;
    let gpu = Gpu::find(gpu).ok_or("no such GPU")?;
    let options = codegen::CompileOptions::new(gpu.sm, launch.options);
    let llvm = codegen::llvm_text(&source.db, ready.instance, options).as_ref().map_err(|refused| refused.message.clone())?;
    let request =
        PtxRequest { llvm: &llvm.text, cpu: gpu.sm.ptx_target, features: gpu.sm.ptx_feature, passes: passes_for(&llvm.text) };
    Ok(compile_exact(pool, &Store::open(), &request).map_err(|error| error.to_string())?.code)
}

/// By launch and GPU.
fn recorded() -> HashMap<String, Local> {
    let path = repository().join("tests/run/local.tsv");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.lines().skip(1).map(|line| row(line, &path)).collect()
}

fn row(line: &str, path: &Path) -> (String, Local) {
    let cells: Vec<&str> = line.split('\t').collect();
    let number = |n: usize| cells.get(n).and_then(|cell| cell.parse().ok());
    let (Some(spilled), Some(all)) = (number(2), number(3)) else {
        panic!("{}: not a line of four cells: {line}", path.display())
    };
    (format!("{}\t{}", cells[0], cells[1]), Local { spilled, all })
}
