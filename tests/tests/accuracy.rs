//! Agreement with what Triton itself said about probes and published kernels, as `tests/data/accuracy/` records it.
//!
//! **Fails when a verdict or a type that agreed no longer does**, and under CI when a corpus is missing; `cargo xtask accuracy` records
//! anew, `cargo xtask accuracy --list` shows both sides.

use std::process::Command;

use tritium_tests::{repository, tritium};

#[test]
fn no_worse_than_recorded() {
    let output = Command::new(env!("CARGO"))
        .args(["run", "--quiet", "--package", "xtask", "--", "accuracy", "--check"])
        .env("TRITIUM_BIN", tritium())
        .current_dir(repository())
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
