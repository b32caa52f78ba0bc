//! From Python text to LLVM text and reports, and what a keystroke makes run again.

use std::{
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use expect_test::{Expect, expect};
use tritium_codegen::{CompileOptions, llvm_text};
use tritium_estimate::{ReportKey, report, triton::Footprint, triton_footprint};
use tritium_semantics::{
    Database, SourceFile, System,
    configuration::{Configuration, configurations},
    items::kernels,
    launch::{Launch, LaunchOptions},
    specialise::instances,
    target::{Gpu, sm},
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

fn options(launch: LaunchOptions) -> CompileOptions {
    CompileOptions::new(sm("sm_90").expect("an SM"), launch)
}

/// The launches of a file, and what they are compiled for.
fn launched(db: &Database, file: SourceFile) -> Vec<(&Launch, Configuration)> {
    let all = kernels(db, file).iter().flat_map(|&kernel| configurations(db, kernel));
    all.filter_map(|&configuration| Some((configuration.launch(db)?, configuration))).collect()
}

/// One line for each launch of the examples.
fn summary(db: &Database, file: SourceFile) -> String {
    let mut out = String::new();
    for (launch, configuration) in launched(db, file) {
        let gpu = Gpu::find("H200").expect("a board");
        let text = llvm_text(db, configuration.instance, options(configuration.options));
        let line = match (report(db, ReportKey::of(db, configuration, gpu)), text) {
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
            one_million: 0 bytes shared, widths [16, 16, 16], Some(1000448.0) flops, Some(8000000.0) bytes, Some(Memory)
            odd: 0 bytes shared, widths [4, 4, 4], Some(1000448.0) flops, Some(8000024.0) bytes, Some(Memory)
        "#]],
    );
}

#[test]
fn softmax() {
    check(
        "softmax.py",
        expect![[r#"
            announcement: 144 bytes shared, widths [4, 4], Some(2387385.0) flops, Some(2171092.0) bytes, Some(Memory)
            square_4096: 160 bytes shared, widths [16, 16], Some(67104768.0) flops, Some(108003328.0) bytes, Some(Memory)
        "#]],
    );
}

#[test]
fn layer_norm() {
    check(
        "layer_norm.py",
        expect![[r#"
            rows: 144 bytes shared, widths [4, 4, 4, 4], Some(3670528.0) flops, Some(2056000.0) bytes, Some(Memory)
            half: 160 bytes shared, widths [16, 16, 16, 16], Some(117444608.0) flops, Some(40917246.43788138) bytes, Some(Memory)
        "#]],
    );
}

#[test]
fn matmul() {
    check(
        "matmul.py",
        expect![[r#"
            small: 20480 bytes shared, widths [2, 16, 2], Some(9437184.0) flops, Some(64512.0) bytes, Some(Memory)
            square_1024: 65536 bytes shared, widths [16, 16, 16], Some(2147483648.0) flops, Some(4194304.0) bytes, Some(Compute)
        "#]],
    );
}

/// What a profiler counts of launches on an H200, in the order of a file of `bench`: executed FLOP, bytes of DRAM, the busiest unit.
fn counted(file: &str, launches_as_toml: &str, expected: Expect) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../bench").join(file);
    let header: String = launches_as_toml.lines().map(|line| format!("# {line}\n")).collect();
    let text = format!("# /// tritium\n{header}# ///\n{}", std::fs::read_to_string(&path).expect("a file of kernels"));
    let mut db = Database::new(Arc::new(Nothing));
    let file = db.set_text(&path, text);
    let mut out = String::new();
    for (launch, configuration) in launched(&db, file) {
        let gpu = Gpu::find("H200").expect("a board");
        let report = report(&db, ReportKey::of(&db, configuration, gpu)).as_ref().expect("a report");
        let cost = &report.cost;
        let million = |n: Option<f64>| n.map_or_else(|| "?".to_owned(), |n| format!("{:.1}", n / 1e6));
        out += &format!(
            "{}: {} MFLOP; {} MB and {} MB left in L2; {}",
            launch.name,
            million(cost.flops_executed),
            million(cost.bytes),
            million(cost.bytes_left_in_l2),
            cost.limiter().map_or("?", |unit| unit.name()),
        );
        for tensor in &cost.tensors {
            let direction = if tensor.is_store { "to" } else { "from" };
            let moved = million(Some(tensor.dram + tensor.left));
            out += &format!("; {direction} {} {moved} ({:?})", tensor.tensor.as_deref().unwrap_or("?"), tensor.reuse);
        }
        out += "\n";
    }
    expected.assert_eq(&out);
}

/// `tl.arange(…) % M` is followed: tiles of grouped programs are shared by the wave they are in.
#[test]
fn waves_of_a_product_share_tiles() {
    let launch = |size: u32, (m, n, k): (u32, u32, u32), warps: u32| {
        format!(
            "[launch.of_{size}_by_{m}x{n}x{k}]\nkernel = \"matmul\"\ngrid = [{}]\n\
             args = {{ A = \"f16[{size}, {size}]\", B = \"f16[{size}, {size}]\", C = \"f16[{size}, {size}]\", M = {size}, N = {size}, K = {size}, \
             stride_am = {size}, stride_ak = 1, stride_bk = {size}, stride_bn = 1, stride_cm = {size}, stride_cn = 1 }}\n\
             meta = {{ BLOCK_M = {m}, BLOCK_N = {n}, BLOCK_K = {k}, GROUP_M = 8 }}\nnum_warps = {warps}\n",
            size / m * (size / n)
        )
    };
    let launches = [
        launch(4096, (128, 128, 32), 4),
        launch(4096, (128, 128, 64), 8),
        launch(4096, (128, 256, 64), 8),
        launch(8192, (128, 256, 64), 8),
        launch(2048, (128, 128, 64), 8),
    ];
    // Counted: 218, 211, 215 and 1627 MB.
    counted(
        "tensor_kernels.py",
        &launches.concat(),
        expect![[r#"
            of_4096_by_128x128x32: 137439.0 MFLOP; 215.5 MB and 7.9 MB left in L2; tensor; from A 58.7 (Waves); from B 131.1 (Waves); to C 33.6 (Waves)
            of_4096_by_128x128x64: 137439.0 MFLOP; 213.6 MB and 7.9 MB left in L2; tensor; from A 57.4 (Waves); from B 130.5 (Waves); to C 33.6 (Waves)
            of_4096_by_128x256x64: 137439.0 MFLOP; 212.2 MB and 8.0 MB left in L2; tensor; from A 54.5 (Waves); from B 132.1 (Waves); to C 33.6 (Waves)
            of_8192_by_128x256x64: 1099511.6 MFLOP; 1623.1 MB and 4.3 MB left in L2; tensor; from A 385.9 (Waves); from B 1107.3 (Waves); to C 134.2 (Waves)
            of_2048_by_128x128x64: 17179.9 MFLOP; 16.8 MB and 8.4 MB left in L2; tensor; from A 8.4 (Once); from B 8.4 (Once); to C 8.4 (Once)
        "#]],
    );
}

/// Every lane adds in a butterfly, every thread adds what warps found, a mean is multiplied into every difference; rows that do not fit L2
/// come twice where they are read twice.
#[test]
fn threads_execute_more_than_is_useful() {
    let rows = |name: &str, kernel: &str, (rows, columns): (u32, u32), elem: &str, more: &str, meta: &str, warps: u32| {
        format!(
            "[launch.{name}]\nkernel = \"{kernel}\"\ngrid = [{rows}]\n\
             args = {{ OUT = \"{elem}[{rows}, {columns}]\", X = \"{elem}[{rows}, {columns}]\", stride = {columns}, {more} }}\n\
             meta = {{ BLOCK = {meta} }}\nnum_warps = {warps}\n"
        )
    };
    let launches = [
        rows("norm", "rms_norm", (16384, 4096), "f16", "WEIGHT = \"f16[4096]\", n_cols = 4096, eps = 1e-5", "4096", 8),
        rows("narrow", "wide_softmax", (16384, 2048), "f32", "columns = 2048", "512", 4),
        rows("wide", "wide_softmax", (1024, 131072), "f32", "columns = 131072", "4096", 8),
    ];
    counted(
        "affine_kernels.py",
        &launches.concat(),
        expect![[r#"
            norm: 323.0 MFLOP; 242.2 MB and 26.2 MB left in L2; DRAM; from X 134.2 (Waves); from WEIGHT 0.0 (Waves); to OUT 134.2 (Waves)
            narrow: 352.3 MFLOP; 242.2 MB and 26.2 MB left in L2; DRAM; from X 134.2 (Waves); to OUT 134.2 (Waves)
            wide: 1227.9 MFLOP; 1593.1 MB and 17.5 MB left in L2; DRAM; from X 1073.7 (Waves); to OUT 536.9 (Waves)
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
                llvm_text(db, s.instance, options(LaunchOptions::default())).as_ref().expect("it compiles");
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

fn footprint_of(text: &str) -> Footprint {
    let mut db = Database::new(Arc::new(Nothing));
    let file = db.set_text(Path::new("sums.py"), text.to_string());
    let (_, first) = launched(&db, file)[0];
    triton_footprint(&db, first.instance, options(first.options)).clone().expect("it is understood")
}

const PRODUCT: &str = "\
import triton
import triton.language as tl

# /// tritium
# [launch.product]
# kernel = \"product\"
# grid = [1]
# args = { x = \"f16[64, 64]\", y = \"f16[64, 64]\", z = \"f32[64, 64]\" }
# num_warps = NUM_WARPS
# ///
@triton.jit
def product(x, y, z):
    i = tl.arange(0, 64)
    at = i[:, None] * 64 + i[None, :]
    a = tl.load(x + at)
    c = tl.dot(a, tl.load(y + at))
    tl.store(z + at, RESULT)
";

#[test]
fn a_value_takes_registers_in_every_layout_that_it_exists_in() {
    let needs = |result: &str| footprint_of(&PRODUCT.replace("NUM_WARPS", "1").replace("RESULT", result)).pressure.needed;
    // The product reads it from shared memory as it goes; what is added to its result waits beside it.
    let (once, twice) = (needs("c"), needs("c + a"));
    assert!(twice > once + 40, "{once} {twice}");
}

#[test]
fn equal_reductions_are_done_once() {
    let reductions = |result: &str| {
        let footprint = footprint_of(&PRODUCT.replace("NUM_WARPS", "4").replace("RESULT", result));
        footprint.parts.iter().filter(|part| part.what == "reduction").count()
    };
    let columns = |of: &str| format!("tl.sum({of}, axis=0)[None, :]");
    assert_eq!(reductions(&format!("{} + {}", columns("c"), columns("c * c"))), 2);
    assert_eq!(reductions(&format!("{} + c * {}", columns("c"), columns("c"))), 1);
}
