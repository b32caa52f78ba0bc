//! The project's own chores: `cargo xtask setup`, `cargo xtask tidy`, `cargo xtask codegen`, `cargo xtask accuracy`,
//! `cargo xtask corpora`, `cargo xtask verdicts`, `cargo xtask gpu-suite`, `cargo xtask fit`, `cargo xtask fuzz`, `cargo xtask mutants`.
//! **A chore changes nothing outside the repository folder, and says on stderr what is wrong and where.**

mod accuracy;
mod codegen;
mod corpora;
mod fit;
mod fuzz;
mod syntax_verdicts;
mod tidy;

use std::path::PathBuf;
use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    match arguments.next().as_deref() {
        Some("setup") => setup(),
        Some("tidy") => finish(tidy::run()),
        Some("codegen") => finish(match arguments.next().as_deref() {
            None => codegen::write(),
            Some("--check") => codegen::check(),
            Some(_) => Err("usage: cargo xtask codegen [--check]".to_owned()),
        }),
        Some("accuracy") => finish(accuracy::run(arguments)),
        Some("corpora") => finish(corpora::run()),
        Some("fit") => finish(fit::run(arguments)),
        Some("fuzz") => finish(fuzz::run(arguments)),
        Some("verdicts") => finish(syntax_verdicts::run()),
        Some("gpu-suite") => finish(with_compiler("gpu-suite", arguments)),
        Some("mutants") => finish(with_compiler("mutants", arguments)),
        _ => {
            eprintln!(
                "usage: cargo xtask setup | tidy | codegen [--check] | accuracy [MEASURE…] [--check | --list] | corpora | fit [--check] | verdicts | fuzz --seeds A..B | gpu-suite OUT [FAMILY…] | mutants --numbers A..B"
            );
            ExitCode::from(2)
        }
    }
}

fn finish(outcome: Result<(), String>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

/// The top folder of the repository.
fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lives in the repository").to_owned()
}

/// `gpu-suite` packs the numerics suite for a machine with a GPU (see `tests/run/gpu.py`), `mutants` sends broken programs through `tritium`:
/// programs of their own, because they need the compiler and chores do not.
fn with_compiler(program: &str, arguments: impl Iterator<Item = String>) -> Result<(), String> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["run", "--quiet", "--package", "tritium-tests", "--bin", program, "--"]).args(arguments);
    match cargo.current_dir(root()).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{program}: {status}")),
        Err(error) => Err(format!("cannot run cargo: {error}")),
    }
}

/// Runs `setup.sh`, which is the one list of what a build needs because it must work before cargo exists.
fn setup() -> ExitCode {
    match Command::new("sh").arg(root().join("setup.sh")).status() {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("cannot run setup.sh: {error}");
            ExitCode::from(2)
        }
    }
}
