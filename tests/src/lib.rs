//! What the tests of the whole line share. **Every test runs the program of this very build.**

pub mod client;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The `tritium` program: `$TRITIUM_BIN` where the caller has built it (`./x test` has), else built now.
pub fn tritium() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| match std::env::var_os("TRITIUM_BIN") {
        Some(path) => PathBuf::from(path),
        None => build(),
    })
}

/// The top folder of the repository.
pub fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the tests live in the repository")
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
