//! Text in, text out: what is written of a small file. The images are not of any compiler, so that no version of one changes the text.

use std::path::Path;

use expect_test::{expect, expect_file};
use tritium_codegen::tensor_map::{Part as Of, TensorMap};
use tritium_semantics::{Chosen, target::Gpu};

use super::{Plan, Source, c, rust};
use crate::{
    bundle::FileSource,
    run::{self, Compiled},
};

const FILE: &str = r#"# /// tritium
# [launch.even]
# kernel = "scale"
# grid = ["cdiv(N, BLOCK)"]
# sizes = { N = 4096, BLOCK = 128 }
# args = { X = "f16[N]", restrict = "N", step = 1, alpha = 0.5, flag = true }
# meta = { BLOCK = "BLOCK", WORD = "'a*/b'" }
#
# [launch.odd]
# kernel = "scale"
# grid = [3, 2]
# sizes = { N = 4099 }
# args = { X = "f16[N]", restrict = "N", step = 5_000_000_000, alpha = 0.5, flag = true }
# meta = { BLOCK = 128, WORD = "'a*/b'" }
#
# [launch.wide]
# kernel = "scale"
# grid = [3]
# sizes = { N = 4096 }
# args = { X = "f16[N]", restrict = "N", step = 1, alpha = 0.5, flag = true }
# meta = { BLOCK = 256, WORD = "'a*/b'" }
# num_warps = 8
#
# [launch.rows]
# kernel = "rows"
# grid = [1]
# args = { D = { tensor = "f16[64, 32]", block = [16, 32] }, pair = [7, "f32[4]"] }
# ///
import triton
import triton.language as tl


@triton.jit
def scale(X, restrict, step, alpha, flag, BLOCK: tl.constexpr, WORD: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(X + offsets * step, alpha, mask=(offsets < restrict) & flag)


@triton.jit
def rows(D, pair):
    tl.store(pair[1], tl.sum(D.load([0, 0]).to(tl.float32)) + pair[0])


@triton.jit
def nobody(X):
    tl.store(X, 1)
"#;

fn plan(all_variants: bool) -> Plan {
    let (db, file) = run::open(Path::new("k.py"), FILE.to_owned(), Chosen::default(), &FileSource::Disk);
    let archs = ["sm_90", "sm_80"].map(|name| Gpu::find(name).expect("it is known").sm).to_vec();
    Plan::new(&db, &[Source { path: "k.py".into(), file, archs }], None, all_variants)
}

/// The same with images that no compiler has made.
fn built(all_variants: bool) -> super::Built {
    let plan = plan(all_variants);
    let mut compiled = Vec::new();
    for (at, planned) in plan.functions.iter().enumerate() {
        for nth in 0..planned.variants.len() {
            for &sm in &planned.archs {
                let has_maps = planned.entry.kernel == "rows" && sm.name == "sm_90";
                let map = TensorMap {
                    base: 0,
                    extents: vec![Of::Parameter(2), Of::Parameter(1)],
                    strides: vec![Of::Parameter(3)],
                    boxes: vec![32, 16],
                    element_bytes: 2,
                    swizzle: 64,
                };
                let image = Compiled {
                    ptx: String::new(),
                    image: format!("image {nth}").into_bytes(),
                    kernel: planned.entry.kernel.clone(),
                    shared_bytes: 1024,
                    registers: (sm.name == "sm_90").then_some((32, 0)),
                    scratch_bytes: 0,
                    tensor_maps: if has_maps { vec![map] } else { vec![] },
                };
                compiled.push((at, nth, sm, Ok(image)));
            }
        }
    }
    plan.finish(compiled)
}

/// What is written of these kernels alone, without what is the same in every build.
fn without(text: String, constant: &[&str]) -> String {
    constant.iter().fold(text, |text, part| {
        assert!(text.contains(part));
        text.replace(part, "\u{2026}\n")
    })
}

#[test]
fn a_build_is_written_in_c_and_rust() {
    let manifest = super::Manifest { tritium: String::new(), ..built(false).manifest };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/build/tests");
    expect_file![folder.join("manifest.json")].assert_eq(&(serde_json::to_string_pretty(&manifest).unwrap() + "\n"));
    expect_file![folder.join("kernels.h")].assert_eq(&without(c::header(&manifest), &[include_str!("launcher.h")]));
    let constant = [include_str!("launcher.c"), include_str!("launcher_tail.c")];
    expect_file![folder.join("kernels.c")].assert_eq(&without(c::source(&manifest), &constant));
    expect_file![folder.join("kernels.rs.txt")].assert_eq(&without(rust::module(&manifest), &[include_str!("launcher.rs.txt")]));
}

#[test]
fn names_are_free_in_c_and_rust() {
    let names = super::names::parameters(["self", "X", "n.0", "n_0", "__x", "é", "int", "int_"].into_iter());
    assert_eq!(names.join(" "), "self_ X n_0 n_0_2 x k int_ int__2");
    assert_eq!(super::names::capability("sm_100a"), (100, true));
    assert_eq!(super::names::capability("sm_86"), (86, false));
}

#[test]
fn variants_are_the_launches_own_or_one_integer_away() {
    let list = |all_variants| {
        let mut out = String::new();
        for entry in built(all_variants).manifest.functions {
            out += &format!("{}\n", entry.name);
            for variant in &entry.variants {
                let launches: Vec<&str> = variant.launches.iter().map(|launch| launch.name.as_str()).collect();
                let needs: Vec<String> = variant.parameters.iter().filter_map(super::Need::words).collect();
                let needs = if needs.is_empty() { "any arguments".to_owned() } else { needs.join(", ") };
                let launches: String = launches.iter().map(|name| format!(" <- {name}")).collect();
                out += &format!("  {needs}{launches}\n");
            }
        }
        out
    };
    expect![[r#"
        scale_even
          X % 16 == 0, restrict % 16 == 0, step == 1 <- even
          X % 16 == 0, step % 16 == 0 <- odd
        scale_wide
          X % 16 == 0, restrict % 16 == 0, step == 1 <- wide
        rows
          D % 16 == 0, D_stride_0 % 8 == 0, pair_1 % 16 == 0 <- rows
    "#]]
    .assert_eq(&list(false));
    expect![[r#"
        scale_even
          X % 16 == 0, restrict % 16 == 0, step == 1 <- even
          X % 16 == 0, restrict == 1, step == 1
          X % 16 == 0, restrict % 16 == 0, step % 16 == 0
          X % 16 == 0, step == 1
          X % 16 == 0, restrict % 16 == 0
          X % 16 == 0, restrict % 16 == 0, step % 16 == 0
          X % 16 == 0, restrict == 1, step % 16 == 0
          X % 16 == 0, step % 16 == 0 <- odd
          X % 16 == 0
          any arguments
          X % 16 == 0
          any arguments
        scale_wide
          X % 16 == 0, restrict % 16 == 0, step == 1 <- wide
          X % 16 == 0, restrict == 1, step == 1
          X % 16 == 0, restrict % 16 == 0, step % 16 == 0
          X % 16 == 0, step == 1
          X % 16 == 0, restrict % 16 == 0
          X % 16 == 0
          any arguments
        rows
          D % 16 == 0, D_stride_0 % 8 == 0, pair_1 % 16 == 0 <- rows
    "#]]
    .assert_eq(&list(true));
}
