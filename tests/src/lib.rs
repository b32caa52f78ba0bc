//! What the tests of the whole line share. **Every test runs the program of this very build.**

pub mod client;
pub mod limits;
pub mod mutants;
pub mod numerics;
pub mod pages;
#[cfg(target_os = "linux")]
pub mod processes;
pub mod project;
pub mod twins;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

pub use tritium_harness::repository;

/// The `tritium` program: `$TRITIUM_BIN` where the caller has built it (`./x test` has), else built now.
pub fn tritium() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| match std::env::var_os("TRITIUM_BIN") {
        Some(path) => PathBuf::from(path),
        None => build(),
    })
}

/// What a command said and how it ended.
pub struct Said {
    pub status: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Said {
    /// The one JSON document on standard output.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error} in:\n{}\n{}", self.stdout, self.stderr))
    }
}

/// Runs `tritium` in the top folder of the repository; what it compiles is compiled now, not found in a store.
pub fn say(arguments: &[&str]) -> Said {
    let output = Command::new(tritium())
        .args(arguments)
        .env("TRITIUM_CACHE", "off")
        .current_dir(repository())
        .output()
        .expect("tritium starts");
    Said {
        status: output.status.code().unwrap_or_else(|| panic!("{arguments:?}: {}", output.status)),
        stdout: String::from_utf8(output.stdout).expect("tritium prints UTF-8"),
        stderr: String::from_utf8(output.stderr).expect("tritium prints UTF-8"),
    }
}

fn build() -> PathBuf {
    let status = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--package", "tritium-cli"])
        .current_dir(repository())
        .status()
        .expect("cargo runs");
    assert!(status.success(), "the tritium program does not build");
    // Test programs lie in target/debug/deps.
    let test = std::env::current_exe().expect("a test knows its own path");
    let profile = test.ancestors().nth(2).expect("a test lies in the folder of its profile");
    profile.join(format!("tritium{}", std::env::consts::EXE_SUFFIX))
}
