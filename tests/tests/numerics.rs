//! Every builtin in every type, and whole kernels, against references in NumPy: on the CPU device, and lane by lane as they are
//! after every pass. A word after `--` chooses files; `NUMERICS=exp_f32` chooses launches. `tests/run/refused.txt` lists the launches that have
//! no machine code; another one that is refused is a failure, and `UPDATE_EXPECT=1` with all files writes the list afresh.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use libtest_mimic::{Arguments, Failed, Trial};
use tritium_codegen::{Options, optimised};
use tritium_runtime::device::cpu;
use tritium_runtime::tensor::Tensor;
use tritium_semantics::launch::Launch;
use tritium_tests::numerics::{Case, Source, Suite};
use tritium_tests::repository;

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
    let whole = arguments.filter.is_none() && std::env::var_os("NUMERICS").is_none();
    let conclusion = libtest_mimic::run(&arguments, trials);
    drop(folder);
    if whole && std::env::var_os("UPDATE_EXPECT").is_some() {
        let refused = REFUSED.lock().expect("no trial panics while it holds the list");
        let lines: String = refused.iter().map(|id| format!("{id}\n")).collect();
        std::fs::write(repository().join(LIST), lines).expect("the list is writable");
    }
    conclusion.exit();
}

const LIST: &str = "tests/run/refused.txt";

/// Launches that this run found to have no machine code.
static REFUSED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// Runs a launch and leaves its tensors.
type Run = fn(&Source, &Launch, &mut [Tensor]) -> Result<(), Wrong>;

enum Wrong {
    Message(String),
    /// Compiled it is not, and why.
    Refused(String),
}

impl From<String> for Wrong {
    fn from(message: String) -> Wrong {
        Wrong::Message(message)
    }
}

fn all(suite: &Suite, cases: &[Case], run: Run) -> Result<(), Failed> {
    let source = suite.open(&cases[0].file, "sm_90");
    let chosen = std::env::var("NUMERICS").unwrap_or_default();
    let known = std::fs::read_to_string(repository().join(LIST)).unwrap_or_default();
    let update = std::env::var_os("UPDATE_EXPECT").is_some();
    let mut failures = Vec::new();
    for case in cases.iter().filter(|case| !case.gpu_only && case.id.contains(&chosen)) {
        let one = || {
            let launch = source.launch(case)?;
            let mut tensors = suite.tensors(case, launch)?;
            run(&source, launch, &mut tensors)?;
            suite.compare(case, &tensors).map_or(Ok(()), |message| Err(Wrong::Message(message)))
        };
        match one() {
            Ok(()) => {}
            Err(Wrong::Refused(why)) => {
                if !update && !known.lines().any(|id| id == case.id) {
                    failures.push(format!("{}: {why}", case.id));
                }
                REFUSED.lock().expect("no trial panics while it holds the list").insert(case.id.clone());
            }
            Err(Wrong::Message(message)) => failures.push(format!("{}: {message}", case.id)),
        }
    }
    if failures.is_empty() {
        Ok(())
    } else {
        Err(format!("{} of {}\n{}", failures.len(), cases.len(), failures.join("\n")).into())
    }
}

fn on_cpu(source: &Source, launch: &Launch, tensors: &mut [Tensor]) -> Result<(), Wrong> {
    let ready = source.prepare(launch)?;
    cpu::launch(&ready.module, launch.grid, &ready.values, tensors).map_err(|error| error.to_string().into())
}

fn in_lanes(source: &Source, launch: &Launch, tensors: &mut [Tensor]) -> Result<(), Wrong> {
    let ready = source.prepare(launch)?;
    let options = Options::new(&source.db, "sm_90".to_owned(), launch.num_warps, launch.num_stages, launch.max_registers);
    let module =
        optimised(&source.db, ready.instance, options).as_ref().map_err(|refused| Wrong::Refused(refused.message.clone()))?;
    cpu::simulate(module, launch.grid, &ready.values, tensors).map_err(|error| error.to_string().into())
}
