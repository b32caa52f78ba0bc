//! Every builtin in every type, and whole kernels, against references in NumPy: on the CPU device, and lane by lane as they are
//! after every pass. A word after `--` chooses files; `NUMERICS=exp_f32` chooses launches.

use std::sync::Arc;

use libtest_mimic::{Arguments, Failed, Trial};
use tritium_codegen::{CompileOptions, optimised};
use tritium_runtime::device::cpu;
use tritium_runtime::tensor::Tensor;
use tritium_semantics::{launch::Launch, target::sm};
use tritium_tests::numerics::{Case, Source, Suite};

fn main() {
    let arguments = Arguments::from_args();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let suite = Arc::new(Suite::write(folder.path(), &[]));
    let mut trials = Vec::new();
    for cases in suite.files() {
        // Small enough that the trials of a large file spread over the cores.
        for (part, cases) in cases.chunks(100).enumerate() {
            for (device, run) in [("cpu", on_cpu as Run), ("lanes", in_lanes)] {
                let (suite, cases) = (suite.clone(), cases.to_vec());
                let name = format!("{device}::{}::{part}", cases[0].file.trim_end_matches(".py"));
                trials.push(Trial::test(name, move || all(&suite, &cases, run)));
            }
        }
    }
    let conclusion = libtest_mimic::run(&arguments, trials);
    drop(folder);
    conclusion.exit();
}

/// Runs a launch and leaves its tensors.
type Run = fn(&Source, &Launch, &mut [Tensor]) -> Result<(), String>;

fn all(suite: &Suite, cases: &[Case], run: Run) -> Result<(), Failed> {
    let source = suite.open(&cases[0].file, "sm_90");
    let chosen = std::env::var("NUMERICS").unwrap_or_default();
    let mut failures = Vec::new();
    for case in cases.iter().filter(|case| !case.gpu_only && case.id.contains(&chosen)) {
        let one = || {
            let launch = source.launch(case)?;
            let mut tensors = suite.tensors(case, launch)?;
            run(&source, launch, &mut tensors)?;
            suite.compare(case, &tensors).map_or(Ok(()), Err)
        };
        if let Err(message) = one() {
            failures.push(format!("{}: {message}", case.id));
        }
    }
    if failures.is_empty() {
        Ok(())
    } else {
        Err(format!("{} of {}\n{}", failures.len(), cases.len(), failures.join("\n")).into())
    }
}

fn on_cpu(source: &Source, launch: &Launch, tensors: &mut [Tensor]) -> Result<(), String> {
    let ready = source.prepare(launch)?;
    cpu::launch(&ready.module, launch.grid, &ready.values, tensors, cpu::Bounds::default())
        .map(drop)
        .map_err(|error| error.to_string())
}

fn in_lanes(source: &Source, launch: &Launch, tensors: &mut [Tensor]) -> Result<(), String> {
    let ready = source.prepare(launch)?;
    let options = CompileOptions::new(sm("sm_90").ok_or("no such SM")?, launch.options);
    let module = optimised(&source.db, ready.instance, options).as_ref().map_err(|refused| refused.message.clone())?;
    cpu::simulate(module, launch.grid, &ready.values, tensors, cpu::Bounds::default())
        .map(drop)
        .map_err(|error| error.to_string())
}
