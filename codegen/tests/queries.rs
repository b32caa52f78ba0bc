//! From Python text to LLVM text and reports, and what a keystroke makes run again.

use std::{
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use expect_test::{Expect, expect};
use tritium_codegen::{Options, llvm_text, report};
use tritium_semantics::{
    Database, SourceFile, System,
    launch::launches,
    specialise::{instances, specialise},
    target::Gpu,
};

struct Nothing;

impl System for Nothing {
    fn read(&self, _: &Path) -> io::Result<String> {
        Err(io::ErrorKind::NotFound.into())
    }

    fn list(&self, _: &Path) -> io::Result<Vec<PathBuf>> {
        Ok(Vec::new())
    }

    fn is_file(&self, _: &Path) -> bool {
        false
    }
}

fn options(db: &Database, num_warps: u32) -> Options {
    Options::new(db, "sm_90".to_string(), num_warps, 3, None)
}

/// One line for each launch of the examples.
fn summary(db: &Database, file: SourceFile) -> String {
    let mut out = String::new();
    for launch in &launches(db, file).launches {
        let instance = specialise(db, launch);
        let options = options(db, launch.num_warps);
        let gpu = Gpu::find("H200").expect("a board");
        let line = match (report(db, instance, options, gpu, Some(launch)), llvm_text(db, instance, options)) {
            (Ok(report), Ok(llvm)) => {
                assert!(llvm.text.contains(&format!("@{}(", llvm.kernel)), "{}", llvm.text);
                let widths: Vec<u32> = report.accesses.iter().map(|a| a.width_bytes).collect();
                format!(
                    "{}: {} bytes shared, widths {widths:?}, {:?} flops, {:?} bytes, {:?}",
                    launch.name, report.shared_bytes.value, report.cost.flops, report.cost.bytes, report.cost.bound
                )
            }
            (Err(refused), _) => format!("{}: {refused}", launch.name),
            (_, Err(refused)) => format!("{}: {refused}", launch.name),
        };
        out.push_str(&line);
        out.push('\n');
    }
    out
}

fn check(example: &str, expected: Expect) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples").join(example);
    let mut db = Database::new(Arc::new(Nothing));
    let file = db.set_text(&path, std::fs::read_to_string(&path).expect("an example"));
    expected.assert_eq(&summary(&db, file));
}

#[test]
fn vector_add() {
    check(
        "vector_add.py",
        expect![[r#"
            one_million: 0 bytes shared, widths [16, 16, 16], Some(1000448.0) flops, Some(12000000.0) bytes, Some(Memory)
            odd: 0 bytes shared, widths [4, 4, 4], Some(1000448.0) flops, Some(12000036.0) bytes, Some(Memory)
        "#]],
    );
}

#[test]
fn softmax() {
    check(
        "softmax.py",
        expect![[r#"
            announcement: 144 bytes shared, widths [4, 4], Some(2387385.0) flops, Some(4342184.0) bytes, Some(Memory)
            square_4096: 160 bytes shared, widths [16, 16], Some(67104768.0) flops, Some(134217728.0) bytes, Some(Memory)
        "#]],
    );
}

#[test]
fn layer_norm() {
    check(
        "layer_norm.py",
        expect![[r#"
            rows: 144 bytes shared, widths [4, 4, 4, 4], Some(3670528.0) flops, Some(4104000.0) bytes, Some(Memory)
            half: 160 bytes shared, widths [16, 16, 16, 16], Some(117444608.0) flops, Some(67125248.0) bytes, Some(Memory)
        "#]],
    );
}

#[test]
fn matmul() {
    check(
        "matmul.py",
        expect![[r#"
            small: 20480 bytes shared, widths [2, 16, 2], Some(9437184.0) flops, Some(118912.0) bytes, Some(Memory)
            square_1024: 65536 bytes shared, widths [16, 16, 16], Some(2147483648.0) flops, Some(6291456.0) bytes, Some(Compute)
        "#]],
    );
}

const TWO: &str = "\
import triton
import triton.language as tl

@triton.jit
def first(x, n, BLOCK: tl.constexpr = 128):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + i, tl.load(x + i, mask=i < n) + 1.0, mask=i < n)

@triton.jit
def second(x, n, BLOCK: tl.constexpr = 128):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + i, tl.load(x + i, mask=i < n) * 2.0, mask=i < n)
";

/// The queries of this crate that run again after an edit.
fn runs_after(edited: &str) -> Vec<String> {
    let log = Arc::new(Mutex::new(Vec::new()));
    let sink = log.clone();
    let on_event = move |event: salsa::Event| {
        if let salsa::EventKind::WillExecute { database_key } = event.kind {
            sink.lock().expect("no panic").push(format!("{database_key:?}"));
        }
    };
    let mut db = Database::with_events(Arc::new(Nothing), Some(Box::new(on_event)));
    let path = Path::new("two.py");
    let lower_all = |db: &Database, file: SourceFile| {
        for (_, specialisations) in instances(db, file) {
            for s in specialisations {
                llvm_text(db, s.instance, options(db, 4)).as_ref().expect("it compiles");
            }
        }
    };
    let file = db.set_text(path, TWO.to_string());
    lower_all(&db, file);
    log.lock().expect("no panic").clear();
    let file = db.set_text(path, edited.to_string());
    lower_all(&db, file);
    let ran = log.lock().expect("no panic");
    ran.iter().filter(|key| ["optimised", "llvm_text"].iter().any(|q| key.starts_with(q))).cloned().collect()
}

#[test]
fn a_comment_compiles_nothing() {
    assert_eq!(runs_after(&TWO.replace("@triton.jit\ndef second", "# doubles\n@triton.jit\ndef second")), Vec::<String>::new());
}

#[test]
fn one_kernel_s_body_compiles_that_kernel_only() {
    let ran = runs_after(&TWO.replace("* 2.0", "* 3.0"));
    let optimised = ran.iter().filter(|key| key.starts_with("optimised")).count();
    assert!(optimised > 0 && optimised == ran.len() - optimised, "{ran:?}");
    let all = runs_after(&TWO.replace("* 2.0", "* 3.0").replace("+ 1.0", "+ 4.0"));
    assert!(all.len() > ran.len(), "{all:?}");
}
