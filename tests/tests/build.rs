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

/// What to compile C with; a machine without it has no use for what is written in C.
fn c_compiler() -> Option<&'static str> {
    ["cc", "gcc", "clang"].into_iter().find(|name| Command::new(name).arg("--version").output().is_ok())
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

/// A program in C and one in Rust launch the same with a driver that says what it is told; both are held to the same text.
#[test]
fn programs_in_c_and_rust_launch_what_was_built() {
    let Some(compiler) = c_compiler() else { return };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let said = build(&[ADD, DESCRIBED, "--arch", "sm_90a,sm_80"], folder.path());
    assert_eq!((said.status, said.stderr.as_str()), (0, ""));
    let data = repository().join("tests/data/build");
    let compile = |arguments: &[&str], inputs: &[PathBuf], output: &Path| {
        let mut command = Command::new(compiler);
        command.args(arguments).args(["-Wall", "-Wextra", "-Werror", "-I"]).arg(folder.path()).args(inputs);
        succeeded("the C compiler", &command.arg("-o").arg(output).arg("-ldl").output().expect("it starts"));
    };
    let driver = folder.path().join("libcuda.so");
    compile(&["-shared", "-fPIC"], &[data.join("driver.c")], &driver);
    let in_c = folder.path().join("in_c");
    for standard in ["-std=c99", "-std=c11"] {
        compile(&[standard], &[data.join("main.c"), folder.path().join("tritium_kernels.c")], &in_c);
    }
    let cudarc = library("cudarc").expect("the runtime is linked with cudarc");
    let main = folder.path().join("main.rs");
    fs::copy(data.join("main.rs"), &main).expect("the folder is ours");
    let in_rust = folder.path().join("in_rust");
    let compiled = Command::new("rustc")
        .args(["--edition", "2024", "-D", "warnings", "--extern"])
        .arg(format!("cudarc={}", cudarc.display()))
        .args(["-L", &format!("dependency={}", cudarc.parent().expect("it lies in a folder").display()), "-o"])
        .args([&in_rust, &main])
        .current_dir(repository())
        .output();
    succeeded("rustc", &compiled.expect("rustc starts"));
    for capability in ["90", "86", "120"] {
        let run = |program: &Path| {
            let mut command = Command::new(program);
            command.arg(&driver).env("CAPABILITY", capability).env("LD_LIBRARY_PATH", folder.path());
            let output = command.output().expect("the program starts");
            succeeded(capability, &output);
            String::from_utf8(output.stdout).expect("it prints ASCII")
        };
        let expected = data.join(format!("on_{capability}.txt"));
        let in_c = run(&in_c);
        expect_file![expected].assert_eq(&in_c);
        // Without what has no counterpart: modules are numbered anew.
        let loading = in_c.rfind("the driver: 0\n").expect("it is loaded twice") + "the driver: 0\n".len();
        let in_rust = run(&in_rust);
        let numbered = |text: &str, less: u32| {
            let line = |line: &str| match line.strip_prefix("module ").and_then(|rest| rest.split_once(' ')) {
                Some((number, rest)) => format!("module {} {rest}", number.parse::<u32>().expect("a number") - less),
                None => line.to_owned(),
            };
            text.lines().map(line).collect::<Vec<_>>().join("\n")
        };
        let less = in_c[..loading].matches(" is unloaded").count() as u32;
        assert_eq!(numbered(&in_rust, 0), numbered(&in_c[loading..], less), "in Rust on {capability}");
    }
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
    assert_eq!(build(&[ADD], folder.path()).status, 0);
    let mut command = Command::new(tritium());
    command.args(["build", ADD, "--out"]).arg(folder.path()).current_dir(repository());
    let output = command.env("TRITIUM_CACHE", "off").env("TRITON_PTXAS_PATH", "/no/such/ptxas").output().expect("tritium starts");
    succeeded("build", &output);
    let stdout = String::from_utf8(output.stdout).expect("text");
    assert!(stdout.contains("There is no ptxas here, so images are PTX"), "{stdout}");
    let manifest: serde_json::Value =
        serde_json::from_slice(&fs::read(folder.path().join("manifest.json")).expect("it is written")).expect("a document");
    let image = &manifest["functions"][0]["variants"][0]["images"][0];
    // What was compiled before in its place is gone.
    let endings = |ending: &str| {
        fs::read_dir(folder.path())
            .expect("it is there")
            .flatten()
            .filter(|entry| entry.path().extension().is_some_and(|found| found == ending))
            .count()
    };
    assert_eq!((endings("cubin"), endings("ptx")), (0, 2));
    assert_eq!(image["form"], "ptx");
    let file = image["file"].as_str().expect("a name");
    let text = fs::read_to_string(folder.path().join(file)).expect("it is written");
    assert!(file.ends_with(".sm_90a.ptx") && text.contains(".visible .entry add("), "{file}");
}
