//! Agreement with what Triton itself said about probes and published kernels, as `tests/data/accuracy/` records it.
//!
//! **Fails when a verdict or a type that agreed no longer does**, and under CI when a corpus is missing, without which it is ignored;
//! `cargo xtask accuracy` records anew, `cargo xtask accuracy --list` shows both sides.

use std::process::Command;

use libtest_mimic::{Completion, Failed, Trial};
use tritium_tests::{repository, tritium};

fn main() {
    tritium_harness::run(vec![
        Trial::ignorable_test("no_worse_than_recorded", || check("accuracy")),
        // Of the model of registers whose constants the fit found.
        Trial::ignorable_test("the_model_says_what_its_constants_were_fitted_to", || check("fit")),
    ]);
}

fn check(chore: &str) -> Result<Completion, Failed> {
    let output = Command::new(env!("CARGO"))
        .args(["run", "--quiet", "--package", "xtask", "--", chore, "--check"])
        .env("TRITIUM_BIN", tritium())
        .current_dir(repository())
        .output()
        .expect("cargo runs");
    let said = String::from_utf8_lossy(&output.stderr);
    match said.trim().strip_suffix("; nothing was measured") {
        _ if !output.status.success() => Err(said.into()),
        Some(missing) => Ok(Completion::ignored_with(missing)),
        None => Ok(Completion::Completed),
    }
}
