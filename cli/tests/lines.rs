//! Machine code that is launched names lines of the source, as the code that ptxas itself makes of PTX with such lines.

use std::{fs, path::Path, process::Command};

use tritium_codegen::SourceLines;
use tritium_runtime::worker::{Pool, ptxas};

/// A helper within a helper, and a loop.
const KERNEL: &str = r#"import torch
import triton
import triton.language as tl


@triton.jit
def twice(x):
    return x + x


@triton.jit
def doubled(X, at):
    x = tl.load(X + at)
    return twice(x) * twice(x + 1.0)


@triton.jit
def kernel(X, Y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for i in range(n):
        total += doubled(X, at + i * BLOCK)
    tl.store(Y + at, twice(total))


x = torch.randn(8192, device="cuda")
y = torch.empty(1024, device="cuda")
kernel[(8,)](x, y, 7, BLOCK=128)
"#;

/// Each instruction behind its place, the innermost call first.
fn places(cubin: &[u8]) -> Vec<String> {
    let text = ptxas::disassemble(cubin).unwrap();
    let (mut place, mut is_whole) = (String::new(), true);
    let mut places = Vec::new();
    for line in text.lines().map(str::trim) {
        if let Some(named) = line.strip_prefix("//## File ") {
            if is_whole {
                place.clear();
            }
            is_whole = false;
            place += &format!("{named}; ");
        } else if line.starts_with("/*") && line.contains(';') {
            is_whole = true;
            places.push(format!("{place}{line}"));
        }
    }
    places
}

fn tritium(folder: &Path, arguments: &[&str]) -> String {
    let done = Command::new(env!("CARGO_BIN_EXE_tritium")).args(arguments).current_dir(folder).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

#[test]
fn machine_code_names_the_lines_that_ptxas_would() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("k.py"), KERNEL).unwrap();
    tritium(folder.path(), &["build", "k.py", "--out", "built", "--arch", "sm_90a"]);
    let images = fs::read_dir(folder.path().join("built")).unwrap().map(|entry| entry.unwrap().path());
    let cubin = images.filter(|path| path.extension().is_some_and(|kind| kind == "cubin")).map(|path| fs::read(path).unwrap());
    let [cubin] = &cubin.collect::<Vec<_>>()[..] else { panic!("one image") };

    let given = ["--arg", "X=*f32:16", "--arg", "Y=*f32:16", "--arg", "n=i32", "--set", "BLOCK=128"];
    let ptx = tritium(folder.path(), &[&["emit", "k.py", "--kernel", "kernel", "--stage", "ptx"], &given[..]].concat());
    let pool = Pool::new(env!("CARGO_BIN_EXE_tritium").into());
    let theirs = pool.assemble(&ptxas::AssembleRequest { ptx: &ptx, sm: "sm_90a" }).unwrap();
    let ours = places(cubin);
    assert_eq!(ours, places(&theirs.cubin));

    let name = format!("{:?}", folder.path().join("k.py"));
    for (from, instruction) in [
        (
            format!("{name}, line 8 inlined at {name}, line 14; {name}, line 14 inlined at {name}, line 22; {name}, line 22; "),
            "FADD",
        ),
        (format!("{name}, line 13 inlined at {name}, line 22; {name}, line 22; "), "LDGSTS"),
        (format!("{name}, line 23; "), "STG"),
    ] {
        let is_it = |line: &String| line.strip_prefix(&from).is_some_and(|rest| rest.contains(instruction));
        assert!(ours.iter().any(is_it), "{from}{instruction} in\n{}", ours.join("\n"));
    }
}

#[test]
fn any_bytes_are_taken() {
    let ptx = ".version 8.3\n.target sm_90a\n.address_size 64\n.visible .entry f(.param .u64 p)\n{\n.reg .b64 %p;\n\
               .loc 1 1 0\nld.param.u64 %p, [p];\n.loc 1 2 0\nst.global.b64 [%p], %p;\nret;\n}\n.file 1 \"operations\"\n";
    let pool = Pool::new(env!("CARGO_BIN_EXE_tritium").into());
    let mut cubin = pool.assemble(&ptxas::AssembleRequest { ptx, sm: "sm_90a" }).unwrap().cubin;
    let lines = SourceLines::default();
    let whole = lines.in_cubin(&cubin).unwrap();
    assert_eq!(lines.in_cubin(&whole), None, "its lines are no numbers of operations");
    for at in 0..cubin.len() {
        lines.in_cubin(&cubin[..at]);
        for change in [0x01, 0x80, 0xff] {
            cubin[at] ^= change;
            lines.in_cubin(&cubin);
            cubin[at] ^= change;
        }
    }
}
