//! `tritium build` as a person meets it: what it writes compiles in C and in Rust, launches what was meant, and keeps others from compiling.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use expect_test::{Expect, expect, expect_file};
use tritium_tests::{Said, repository, say, tritium};

const ADD: &str = "examples/vector_add.py";
const DESCRIBED: &str = "examples/programs/descriptor_matmul.py";

fn build(arguments: &[&str], folder: &Path) -> Said {
    let folder = folder.to_str().expect("a plain path");
    say(&[&["build", "--out", folder], arguments].concat())
}

fn succeeded(what: &str, output: &Output) {
    assert!(output.status.success(), "{what}: {}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_program_in_c_launches_what_was_built() {
    let Some(compiler) = ["cc", "gcc", "clang"].into_iter().find(|name| Command::new(name).arg("--version").output().is_ok())
    else {
        return;
    };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let said = build(&[ADD, DESCRIBED, "--arch", "sm_90a,sm_80"], folder.path());
    assert_eq!((said.status, said.stderr.as_str()), (0, ""));
    let program = folder.path().join("program");
    for standard in ["-std=c99", "-std=c11"] {
        let compiled = Command::new(compiler)
            .args([standard, "-Wall", "-Wextra", "-Werror", "-I"])
            .arg(folder.path())
            .arg(repository().join("tests/data/build/main.c"))
            .arg(folder.path().join("tritium_kernels.c"))
            .arg("-o")
            .arg(&program)
            .output();
        succeeded(standard, &compiled.expect("the compiler starts"));
    }
    for capability in ["90", "86", "120"] {
        let output = Command::new(&program).arg(capability).output().expect("the program starts");
        succeeded(capability, &output);
        let expected = repository().join(format!("tests/data/build/on_{capability}.txt"));
        expect_file![expected].assert_eq(&String::from_utf8(output.stdout).expect("it prints ASCII"));
    }
}

/// The newest library of this name among those that this test was linked from.
fn library(name: &str) -> Option<PathBuf> {
    let own = std::env::current_exe().expect("a test knows its own path");
    let folder = own.parent().expect("it lies in a folder");
    let found = fs::read_dir(folder).expect("the folder is there").flatten().map(|entry| entry.path()).filter(|path| {
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        file.starts_with(&format!("lib{name}-")) && file.ends_with(".rlib")
    });
    found.max_by_key(|path| path.metadata().and_then(|about| about.modified()).ok())
}

#[test]
fn the_module_in_rust_compiles() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let said = build(&[ADD, DESCRIBED, "examples/softmax.py", "--arch", "sm_90a,sm_80"], folder.path());
    assert_eq!((said.status, said.stderr.as_str()), (0, ""));
    let cudarc = library("cudarc").expect("the runtime is linked with cudarc");
    let main = folder.path().join("lib.rs");
    let text = "#![deny(warnings)]\n//! A user of it.\npub mod tritium_kernels;\n\npub fn odd(kernels: &tritium_kernels::Kernels) -> bool {\n    \
                // SAFETY: no program runs.\n    let done = unsafe { kernels.launch_add((0, 1, 1), std::ptr::null_mut(), 0, 0, 0, 3) };\n    \
                tritium_kernels::ADD_BLOCK == 1024 && done.is_ok()\n}\n";
    fs::write(&main, text).expect("the folder is ours");
    let dependencies = cudarc.parent().expect("it lies in a folder").display().to_string();
    let compiled = Command::new("rustc")
        .args(["--edition", "2024", "--crate-type", "lib", "--emit", "metadata", "--extern"])
        .arg(format!("cudarc={}", cudarc.display()))
        .args(["-L", &format!("dependency={dependencies}"), "--out-dir"])
        .arg(folder.path())
        .arg(&main)
        .current_dir(repository())
        .output();
    succeeded("rustc", &compiled.expect("rustc starts"));
}

/// `tritium` without a compiler: neither ptxas nor a worker that has LLVM.
fn without_compilers(arguments: &[&str], store: &str) -> Output {
    let mut command = Command::new(tritium());
    command.args(arguments).current_dir(repository()).env("TRITIUM_CACHE", "off").env("TRITIUM_STORE", store);
    command.env("TRITON_PTXAS_PATH", "/no/such/ptxas").env("TRITIUM_BIN", "/bin/false");
    command.output().expect("tritium starts")
}

#[test]
fn with_a_build_nothing_is_compiled() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    assert_eq!(build(&[ADD], folder.path()).status, 0);
    let registers = |store: &str| {
        let output = without_compilers(&["report", ADD, "--output-format", "json"], store);
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("a document");
        (json["rows"][0]["registers_source"].to_string(), json["rows"][0]["registers"].clone())
    };
    let built = folder.path().to_str().expect("a plain path");
    let inside = folder.path().join("store");
    let exact = registers(built);
    assert_eq!(exact.0, "\"exact\"");
    assert_eq!(registers(inside.to_str().expect("a plain path")), exact);
    assert_ne!(registers("").0, exact.0);
    // It is read and never written.
    let entries = || walk(&inside);
    let before = entries();
    let ptx = |file: &str| without_compilers(&["emit", file, "--stage", "ptx", "--launch", "odd"], built);
    assert!(ptx(ADD).status.success(), "{}", String::from_utf8_lossy(&ptx(ADD).stderr));
    assert!(!ptx("examples/softmax.py").status.success());
    assert_eq!(entries(), before);
}

fn walk(folder: &Path) -> Vec<PathBuf> {
    let mut out = Vec::new();
    for entry in fs::read_dir(folder).expect("it is there").flatten() {
        if entry.path().is_dir() { out.extend(walk(&entry.path())) } else { out.push(entry.path()) }
    }
    out.sort();
    out
}

/// What a build says, with its folder as `DIR`.
fn told(arguments: &[&str], expected: &Expect) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let said = build(arguments, folder.path());
    let path = folder.path().display().to_string();
    let registers = |line: &str| match line.split_once(" registers") {
        // ptxas of another version may need others.
        Some((before, after)) => format!("{}N registers{after}", before.trim_end_matches(|c: char| c.is_ascii_digit())),
        None => line.to_owned(),
    };
    let stdout: Vec<String> = said.stdout.lines().map(registers).collect();
    expected.assert_eq(&format!("{}{}\nstatus {}\n", said.stderr, stdout.join("\n"), said.status).replace(&path, "DIR"));
}

const MIXED: &str = r#"# /// tritium
# [launch.known]
# kernel = "double"
# grid = [1]
# args = { X = "f32[64]", n = 64 }
#
# [launch.wrong]
# kernel = "broken"
# grid = [1]
# args = { X = "f32[64]" }
# ///
import triton
import triton.language as tl


@triton.jit
def double(X, n):
    i = tl.arange(0, 64)
    tl.store(X + i, 2 * tl.load(X + i, mask=i < n), mask=i < n)


@triton.jit
def broken(X):
    tl.store(X + tl.arange(0, 64), tl.zeros((32,), tl.float32))


@triton.jit
def nobody(X):
    tl.store(X, 1.0)


@triton.jit
def open_sizes(X, n):
    tl.store(X, n)


def run(x):
    open_sizes[(1,)](x, x.shape[0])
"#;

#[test]
fn what_is_left_out_is_told() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("mixed.py");
    fs::write(&file, MIXED).expect("the folder is ours");
    let file = file.to_str().expect("a plain path");
    let path = folder.path().display().to_string();
    let out = folder.path().join("out");
    let said = build(&[file], &out);
    let registers = said.stdout.find(" registers").expect("registers are told");
    let digits = said.stdout[..registers].trim_end_matches(|c: char| c.is_ascii_digit()).len();
    let stdout = format!("{}N{}", &said.stdout[..digits], &said.stdout[registers..]);
    let text = format!("{}{stdout}status {}\n", said.stderr, said.status).replace(&path, "DIR");
    expect![[r#"
        tritium: DIR/mixed.py:23: `broken` for launch `wrong` on sm_90a: the kernel has errors; `tritium check` shows where
        double (DIR/mixed.py:17, 4 warps)
          double-e8ca9449.sm_90a.cubin: 0 bytes shared, N registers
        1 function, 1 image in DIR/out
        Not in it, and compiled at run time:
          DIR/mixed.py:38: `open_sizes`: the arguments of the function around it are not known
          DIR/mixed.py:28: `nobody`: no launch of it is known, only assumed arguments
        status 1
    "#]]
    .assert_eq(&text);
    told(
        &[ADD, "--kernel", "nope"],
        &expect![[r#"
        tritium: no kernel `nope` in these files

        status 2
    "#]],
    );
    told(
        &[ADD, "--arch", "sm_12"],
        &expect![[r#"
        tritium: --arch sm_12: no such architecture; `tritium gpus` lists them

        status 2
    "#]],
    );
    told(
        &[ADD, "--all-variants"],
        &expect![[r#"
        add (examples/vector_add.py:25, 4 warps)
          add-dfde35c8.sm_90a.cubin: 0 bytes shared, N registers
          add-eb82ae51.sm_90a.cubin: 0 bytes shared, N registers
          add-a02ffc11.sm_90a.cubin: 0 bytes shared, N registers
          add-5cfbae95.sm_90a.cubin: 0 bytes shared, N registers
        1 function, 4 images in DIR
        status 0
    "#]],
    );
}

#[test]
fn without_ptxas_images_are_ptx() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut command = Command::new(tritium());
    command.args(["build", ADD, "--out"]).arg(folder.path()).current_dir(repository());
    let output = command.env("TRITIUM_CACHE", "off").env("TRITON_PTXAS_PATH", "/no/such/ptxas").output().expect("tritium starts");
    succeeded("build", &output);
    let stdout = String::from_utf8(output.stdout).expect("text");
    assert!(stdout.contains("There is no ptxas here, so images are PTX"), "{stdout}");
    let manifest: serde_json::Value =
        serde_json::from_slice(&fs::read(folder.path().join("manifest.json")).expect("it is written")).expect("a document");
    let image = &manifest["functions"][0]["variants"][0]["images"][0];
    assert_eq!(image["form"], "ptx");
    let file = image["file"].as_str().expect("a name");
    let text = fs::read_to_string(folder.path().join(file)).expect("it is written");
    assert!(file.ends_with(".sm_90a.ptx") && text.contains(".visible .entry add("), "{file}");
}
