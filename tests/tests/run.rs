//! `tritium run` as a person calls it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tritium_tests::{repository, tritium};

fn run(arguments: &[&str]) -> Output {
    Command::new(tritium()).arg("run").args(arguments).current_dir(repository()).output().expect("tritium starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The fused softmax of Triton's announcement, which is not ours to publish: where it lies is told by the environment.
fn announcement() -> Option<PathBuf> {
    let file = std::env::var_os("TRITIUM_EXTERNAL_KERNELS").map(|folder| Path::new(&folder).join("seed_softmax.py"));
    let file = file.filter(|file| file.is_file());
    assert!(file.is_some() || std::env::var_os("CI").is_none(), "TRITIUM_EXTERNAL_KERNELS names no folder with seed_softmax.py");
    if file.is_none() {
        eprintln!("not run: TRITIUM_EXTERNAL_KERNELS names no folder with seed_softmax.py");
    }
    file
}

/// Untouched, in its own dialect: its host code is evaluated, and the result agrees with a softmax in float64.
#[test]
fn the_announcement_runs_in_dialect_1_0() {
    let Some(file) = announcement() else { return };
    let file = file.to_str().expect("a plain path");
    let done = run(&[file, "--triton", "1.0", "--verify", "--expect", "Y=softmax(X, axis=1)"]);
    let out = text(&done.stdout);
    assert!(done.status.success(), "{out}{}", text(&done.stderr));
    assert!(out.contains("verified") && out.contains("f32[583, 931]"), "{out}");
}

/// Under 3.6 the same file has one mistake, and its fix makes it run.
#[test]
fn the_announcement_needs_one_fix_under_3_6() {
    let Some(file) = announcement() else { return };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let copy = folder.path().join("softmax.py");
    std::fs::copy(&file, &copy).expect("it can be copied");
    let copy = copy.to_str().expect("a plain path");
    let refused = run(&[copy, "--verify", "--expect", "Y=softmax(X, axis=1)"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(text(&refused.stderr).contains("CXP001"), "{}", text(&refused.stderr));
    let fixed = Command::new(tritium()).args(["check", "--fix", copy]).output().expect("tritium starts");
    assert!(fixed.status.success(), "{}", text(&fixed.stdout));
    let done = run(&[copy, "--verify", "--expect", "Y=softmax(X, axis=1)"]);
    assert!(done.status.success() && text(&done.stdout).contains("verified"), "{}{}", text(&done.stdout), text(&done.stderr));
}

/// Descriptors, tuples and named tuples as arguments; products of batches and of packed floats: what they give is asserted in the file.
#[test]
fn compound_arguments_and_small_floats() {
    let done = run(&["tests/data/run/objects.py", "--verify"]);
    let out = text(&done.stdout);
    assert!(done.status.success(), "{out}{}", text(&done.stderr));
    assert_eq!(out.matches("verified").count(), 5, "{out}");
}

/// A wrong reference is a mismatch with the worst element, and exit status 1.
#[test]
fn a_mismatch_says_where() {
    let done = run(&["examples/vector_add.py", "--launch", "odd", "--verify", "--expect", "OUT=X - Y"]);
    assert_eq!(done.status.code(), Some(1));
    let out = text(&done.stdout);
    assert!(out.contains("MISMATCH") && out.contains("worst at ["), "{out}");
}

#[test]
fn tensors_are_saved_before_and_after() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let place = folder.path().to_str().expect("a plain path");
    let done = run(&["examples/softmax.py", "--launch", "announcement", "--save", place]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    let bytes = |name: &str| std::fs::read(folder.path().join(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
    // A header of 128 bytes or so, then 583 × 931 floats.
    assert!(bytes("Y.npy").len() > 583 * 931 * 4 && bytes("Y.npy") != bytes("Y.in.npy"));
    assert_eq!(bytes("X.npy"), bytes("X.in.npy"));
}

/// Every launch of the examples as it is compiled, lane by lane, on sizes that take no time.
#[test]
fn every_example_runs_in_the_simulator() {
    let smaller = [
        ("layer_norm.py", "M = 512, N = 1000", "M = 5, N = 1000", "rows"),
        ("layer_norm.py", "M = 4096, N = 4096", "M = 2, N = 4096", "half"),
        ("matmul.py", "M = 200, N = 136, K = 96", "M = 70, N = 136, K = 96", "small"),
        ("matmul.py", "M = 1024, N = 1024, K = 1024", "M = 128, N = 256, K = 192", "square_1024"),
        ("softmax.py", "M = 583, N = 931", "M = 3, N = 931", "announcement"),
        ("softmax.py", "M = 4096, N = 4096", "M = 2, N = 4096", "square_4096"),
        ("vector_add.py", "N = 1_000_000,", "N = 10_000,", "one_million"),
        ("vector_add.py", "N = 1_000_003,", "N = 10_003,", "odd"),
    ];
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (name, sizes, small, launch) in smaller {
        let text = std::fs::read_to_string(repository().join("examples").join(name)).expect("an example");
        assert!(text.contains(sizes), "{name} has other sizes than {sizes}");
        let copy = folder.path().join(format!("{launch}_{name}"));
        std::fs::write(&copy, text.replace(sizes, small)).expect("it can be written");
        let copy = copy.to_str().expect("a plain path");
        for gpu in ["sm_80", "sm_90"] {
            let done = run(&[copy, "--launch", launch, "--device", "sim", "--gpu", gpu, "--verify"]);
            let out = text_of(&done);
            assert!(done.status.success() && out.contains("verified"), "{name} {launch} {gpu}: {out}");
        }
    }
}

fn text_of(done: &Output) -> String {
    format!("{}{}", text(&done.stdout), text(&done.stderr))
}
