//! `cargo xtask fuzz --seeds A..B [--threads N] [--seconds S] [--out FOLDER] [--export FOLDER]`: random kernels through compiler and
//! simulator, or for a machine.
//!
//! The kernels, the comparison and the shrinking are `codegen/tests/fuzz`; this only builds it optimised and says which seeds. **Invariant:**
//! what fails here fails there with the same seed.

use std::process::Command;

const USAGE: &str = "usage: cargo xtask fuzz --seeds A..B [--threads N] [--seconds S] [--out FOLDER] [--export FOLDER]";

pub(crate) fn run(mut arguments: impl Iterator<Item = String>) -> Result<(), String> {
    let mut command = Command::new(env!("CARGO"));
    command.args(["test", "--release", "--quiet", "-p", "tritium-codegen", "--test", "fuzz", "--"]);
    let (mut seeds, mut export) = (None, None);
    while let Some(argument) = arguments.next() {
        let value = arguments.next().ok_or(USAGE)?;
        match argument.as_str() {
            "--seeds" => seeds = Some(value),
            "--threads" => drop(command.env("TRITIUM_FUZZ_THREADS", value)),
            "--seconds" => drop(command.env("TRITIUM_FUZZ_SECONDS", value)),
            // The test runs in its package's folder.
            "--out" => drop(command.env("TRITIUM_FUZZ_OUT", absolute(&value)?)),
            "--export" => export = Some(value),
            _ => return Err(USAGE.to_owned()),
        }
    }
    let seeds = seeds.filter(|seeds| is_range(seeds)).ok_or(USAGE)?;
    command.env("TRITIUM_FUZZ_SEEDS", seeds);
    match export {
        Some(folder) => command.env("TRITIUM_FUZZ_EXPORT", absolute(&folder)?).arg("kernels_for_a_machine"),
        None => command.arg("random_kernels_give_the_same_results"),
    };
    match command.arg("--nocapture").current_dir(super::root()).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => Err("some kernels fail: each is printed with its seed; mended, it belongs to tests/tile/fuzz".to_owned()),
        Err(error) => Err(format!("cannot run cargo: {error}")),
    }
}

fn absolute(folder: &str) -> Result<std::path::PathBuf, String> {
    std::path::absolute(folder).map_err(|error| format!("{folder}: {error}"))
}

fn is_range(text: &str) -> bool {
    text.split_once("..").is_some_and(|(a, b)| a.parse::<u64>().is_ok() && b.parse::<u64>().is_ok())
}
