//! Shared memory of small kernels, byte for byte what Triton 3.6 takes of them.

use tritium_semantics::{launch::LaunchOptions, target::Gpu};

use super::{CompileOptions, footprint};

/// `what buffers×bytes@offset`, in order.
fn parts(tile: &str) -> String {
    let l0 = tritium_tile::parse::parse(tile).expect("tile IR");
    let options = CompileOptions::new(Gpu::find("sm_80").expect("a known GPU").sm, LaunchOptions::default());
    let found = footprint(&l0, &options).expect("a footprint");
    let mut out = format!("{} bytes\n", found.shared_bytes.value);
    for part in found.parts {
        out += &format!("{} {}×{}@{}\n", part.what, part.buffers, part.bytes, part.offset);
    }
    out
}

#[test]
fn small_loads_run_ahead_in_every_layout_and_scalars_too() {
    expect_test::expect![[r#"
        8712 bytes
        layout conversion 1×4096@0
        pipelined load 2×4096@0
        pipelined load 2×4096@4096
        pipelined load 2×256@8192
        pipelined load 2×256@8448
        pipelined load 2×8@8704
    "#]]
    .assert_eq(&parts(include_str!("../../tests/footprint/flat.tile")));
}

#[test]
fn a_branch_that_ranges_decide_stays() {
    expect_test::expect![[r#"
        10240 bytes
        layout conversion 1×4096@0
        pipelined load 2×4096@0
        pipelined load 2×4096@4096
        operand 1×2048@8192
    "#]]
    .assert_eq(&parts(include_str!("../../tests/footprint/gated.tile")));
}

#[test]
fn products_share_a_buffer_whatever_the_width_that_was_loaded() {
    expect_test::expect![[r#"
        16384 bytes
        operand 1×16384@0
        operand 1×8192@0
        layout conversion 1×16384@0
    "#]]
    .assert_eq(&parts(include_str!("../../tests/footprint/wide.tile")));
}

#[test]
fn products_of_threads_that_read_one_value_alike_read_it_once() {
    expect_test::expect![[r#"
        4096 bytes
        operand 1×4096@0
        operand 1×4096@0
    "#]]
    .assert_eq(&parts(include_str!("../../tests/footprint/single.tile")));
}

#[test]
fn blocks_of_descriptors_run_ahead_however_they_are_aligned() {
    let l0 = tritium_tile::parse::parse(include_str!("../../tests/footprint/described.tile")).expect("tile IR");
    let launch = LaunchOptions { num_warps: 8, num_stages: 3, ..LaunchOptions::default() };
    let loops = |gpu: &str| {
        let options = CompileOptions::new(Gpu::find(gpu).expect("a known GPU").sm, launch);
        footprint(&l0, &options).expect("a footprint").loops
    };
    let hopper = loops("sm_90");
    assert!(hopper.iter().all(|found| found.ahead == 2 && found.kept_back.is_empty()), "{hopper:?}");
    let ampere = loops("sm_80");
    assert!(
        ampere.iter().all(|found| !found.kept_back.is_empty()),
        "without tensor memory accelerator they are pointers: {ampere:?}"
    );
}

#[test]
fn blocks_of_descriptors_have_buffers_and_mbarriers() {
    // The bytes are Triton's: `bench/results/descriptors.md`, of `stores` what Triton 3.6 said without a GPU.
    let cases = [
        ("given", include_str!("../../tests/footprint/described.tile"), 8, 3, 98328),
        ("given", include_str!("../../tests/footprint/described.tile"), 4, 4, 131104),
        ("given", include_str!("../../tests/footprint/described.tile"), 8, 1, 32776),
        ("product", include_str!("../../tests/footprint/described_product.tile"), 4, 4, 65568),
        ("persistent", include_str!("../../tests/footprint/described_persistent.tile"), 8, 3, 131096),
        ("groups", include_str!("../../tests/footprint/described_groups.tile"), 8, 3, 131096),
        ("attention", include_str!("../../tests/footprint/described_attention.tile"), 8, 3, 65592),
        ("stores", include_str!("../../tests/footprint/described_stores.tile"), 4, 3, 32776),
        ("sum", include_str!("../../tests/footprint/described_sum.tile"), 4, 3, 16392),
    ];
    for (name, tile, num_warps, num_stages, bytes) in cases {
        let l0 = tritium_tile::parse::parse(tile).expect("tile IR");
        let launch = LaunchOptions { num_warps, num_stages, ..LaunchOptions::default() };
        let options = CompileOptions::new(Gpu::find("sm_90").expect("a known GPU").sm, launch);
        let found = footprint(&l0, &options).expect("a footprint");
        assert_eq!(found.shared_bytes.value, bytes, "{name}, {num_warps} warps, {num_stages} stages: {:#?}", found.parts);
    }
}

#[test]
fn a_block_is_stored_from_any_layout() {
    for tile in [
        include_str!("../../tests/footprint/described.tile"),
        include_str!("../../tests/footprint/described_product.tile"),
        include_str!("../../tests/footprint/described_persistent.tile"),
        include_str!("../../tests/footprint/described_groups.tile"),
        include_str!("../../tests/footprint/described_stores.tile"),
        include_str!("../../tests/footprint/described_sum.tile"),
    ] {
        let l0 = tritium_tile::parse::parse(tile).expect("tile IR");
        let options = CompileOptions::new(Gpu::find("sm_90").expect("a known GPU").sm, LaunchOptions::default());
        let found = footprint(&l0, &options).expect("a footprint");
        assert!(found.parts.iter().all(|part| part.what != "layout conversion"), "{:#?}", found.parts);
    }
}
