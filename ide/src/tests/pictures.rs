//! Which value of a line a layout's picture is of, and what a sweep's shows.

use expect_test::{Expect, expect, expect_file};
use tritium_runtime::timing::{Spread, Timing};

use super::{Snippet, main_file};
use crate::{
    bench::{Against, Roof, Row, Size},
    charts::sweep::{self, Drawn},
    emit::Choice,
};

/// A product whose loads run ahead, copied into shared memory by each thread for itself.
const PIPELINED: &str = r#"
import triton
import triton.language as tl


@triton.jit
def product(A, B, C, K, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    a_tile = A + at[:, None] * K + at[None, :]
    b_tile = B + at[:, None] * BLOCK + at[None, :]
    total = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for start in range(0, K, BLOCK):
        a = tl.load(a_tile)
        b = tl.load(b_tile)
        total = tl.dot(a, b, total)
        a_tile += BLOCK
        b_tile += BLOCK * BLOCK
    tl.store(C + at[:, None] * BLOCK + at[None, :], total)


# /// tritium
# [launch.one]
# kernel = "product"
# grid = [1]
# sizes = { K = 512 }
# args = { A = "f16[64, K]", B = "f16[K, 64]", C = "f32[64, 64]", K = "K" }
# meta = { BLOCK = 64 }
# num_warps = 4
# num_stages = 3
# ///
"#;

/// What the picture is of, and the top left of it.
fn check(needle: &str, expected: Expect) {
    let snippet = Snippet::at(PIPELINED, needle, 0);
    let chart = snippet.analysis.layout_chart(main_file(), &Choice::default(), Some(snippet.cursor())).expect("a picture");
    let text: Vec<&str> = chart.text.lines().skip(2).take(4).collect();
    expected.assert_eq(&text.join("\n"));
}

#[test]
fn a_load_that_runs_ahead_is_its_copy() {
    check(
        "tl.load(a_tile)",
        expect![[r#"
            #l8: *f16[64, 64, #l8]
            32 registers in each of 128 threads; `async_copy` of line 13
                 0 │ w0 t0 r0…7   │ w0 t1 r0…7   │ w0 t2 r0…7   │ w0 t3 r0…7   │ w0 t4 r0…7   │ w0 t5 r0…7   │ …
                 1 │ w0 t8 r0…7   │ w0 t9 r0…7   │ w0 t10 r0…7  │ w0 t11 r0…7  │ w0 t12 r0…7  │ w0 t13 r0…7  │ …"#]],
    );
    check(
        "a = tl.load(a_tile)",
        expect![[r#"
            #l8: *f16[64, 64, #l8]
            32 registers in each of 128 threads; `async_copy` of line 13
                 0 │ w0 t0 r0…7   │ w0 t1 r0…7   │ w0 t2 r0…7   │ w0 t3 r0…7   │ w0 t4 r0…7   │ w0 t5 r0…7   │ …
                 1 │ w0 t8 r0…7   │ w0 t9 r0…7   │ w0 t10 r0…7  │ w0 t11 r0…7  │ w0 t12 r0…7  │ w0 t13 r0…7  │ …"#]],
    );
}

#[test]
fn inside_of_an_access_the_innermost_value_is_shown() {
    check(
        "at[:, None] * BLOCK + at[None, :], total)",
        expect![[r#"
            #l5: *f32[64, 1, #l5]
            8 registers in each of 128 threads, every element 16 times; `addptr` of line 18
                 0 │ w0 t0 r0  │
                 1 │ w0 t16 r0 │"#]],
    );
}

#[test]
fn a_store_shows_its_pointers_and_a_line_without_memory_its_last_value() {
    check(
        "tl.store(",
        expect![[r#"
            #l9: *f32[64, 64, #l9]
            32 registers in each of 128 threads; `store` of line 18
                 0 │ w0 t0 r0…3    │ w0 t1 r0…3    │ w0 t2 r0…3    │ w0 t3 r0…3    │ w0 t4 r0…3    │ w0 t5 r0…3    │ …
                 1 │ w0 t16 r0…3   │ w0 t17 r0…3   │ w0 t18 r0…3   │ w0 t19 r0…3   │ w0 t20 r0…3   │ w0 t21 r0…3   │ …"#]],
    );
    check(
        "total = tl.dot",
        expect![[r#"
            #l10: f32[64, 64, #l10]
            32 registers in each of 128 threads; `wgmma_wait` of line 15
                 0 │ w0 t0 r0…1    │ w0 t1 r0…1    │ w0 t2 r0…1    │ w0 t3 r0…1    │ w0 t0 r4…5    │ w0 t1 r4…5    │ …
                 1 │ w0 t4 r0…1    │ w0 t5 r0…1    │ w0 t6 r0…1    │ w0 t7 r0…1    │ w0 t4 r4…5    │ w0 t5 r4…5    │ …"#]],
    );
}

/// What a GPU was measured at, drawn: the rate that comes nearest to its roof, ours and that of something else; of a tuner the fastest row.
#[test]
fn a_sweep_is_drawn_under_its_roof() {
    let spread = |us: f64| Spread { median_us: us, p20_us: 0.97 * us, p80_us: 1.05 * us, samples: 20 };
    let row = |config: Option<u32>, n: i64, us: f64, other: f64| Row {
        kernel: "add".to_owned(),
        launch: "rows".to_owned(),
        config,
        device: "NVIDIA H100 80GB HBM3".to_owned(),
        timing: Some(Timing { cold: Some(spread(us)), warm: spread(0.8 * us) }),
        predicted_us: Some(5.0 + n as f64 * 12.0 / 3.0e6),
        bytes: Some(n as f64 * 12.0),
        flops: Some(n as f64),
        registers: Some(28),
        code: None,
        fault: None,
        size: Some(Size { name: "N".to_owned(), value: n }),
        roof: Some(Roof { gbps: 3350.0, tflops: 67.0, unit: "f32".to_owned(), source: "datasheet".to_owned() }),
        against: vec![Against { what: "git:main".to_owned(), time: spread(other) }],
    };
    let mut rows: Vec<Row> = (12..=24)
        .step_by(2)
        .flat_map(|power| {
            let n = 1i64 << power;
            let us = 4.8 + n as f64 * 12.0 / 2.9e6;
            [row(Some(0), n, us, 1.3 * us), row(Some(1), n, if power < 20 { 1.2 * us } else { 0.95 * us }, 1.3 * us)]
        })
        .collect();
    let chart = sweep::chart("add.py", &rows, None).expect("a chart");
    expect_file!["sweep.svg"].assert_eq(&chart.svg);
    expect![[r#"
        Bandwidth of DRAM over N on NVIDIA H100 80GB HBM3: add.py
        add rows, the fastest row of its tuner
          N = 4096: ~10.2 GB/s (~9.72 GB/s to ~10.5 GB/s)
          N = 16384: ~40.4 GB/s (~38.5 GB/s to ~41.6 GB/s)
          N = 65536: ~155 GB/s (~148 GB/s to ~160 GB/s)
          N = 262144: ~535 GB/s (~509 GB/s to ~551 GB/s)
          N = 1048576: ~1.45 TB/s (~1.38 TB/s to ~1.49 TB/s)
          N = 4194304: ~2.39 TB/s (~2.28 TB/s to ~2.47 TB/s)
          N = 16777216: ~2.86 TB/s (~2.72 TB/s to ~2.94 TB/s)
        add rows, the fastest row of its tuner: git:main
          N = 4096: ~7.85 GB/s (~7.48 GB/s to ~8.09 GB/s)
          N = 16384: ~31.1 GB/s (~29.6 GB/s to ~32.0 GB/s)
          N = 65536: ~119 GB/s (~114 GB/s to ~123 GB/s)
          N = 262144: ~411 GB/s (~392 GB/s to ~424 GB/s)
          N = 1048576: ~1.06 TB/s (~1.01 TB/s to ~1.09 TB/s)
          N = 4194304: ~1.75 TB/s (~1.66 TB/s to ~1.80 TB/s)
          N = 16777216: ~2.09 TB/s (~1.99 TB/s to ~2.15 TB/s)
    "#]]
    .assert_eq(&chart.text);
    // Asked for, another figure; without a model the time alone.
    let titles = |rows: &[Row], drawn: Option<Drawn>| sweep::chart("add.py", rows, drawn).map(|chart| chart.title);
    expect![[r#"[Some("Time over N on NVIDIA H100 80GB HBM3"), Some("FLOP/s over N on NVIDIA H100 80GB HBM3")]"#]]
        .assert_eq(&format!("{:?}", [Some(Drawn::Time), Some(Drawn::Flops)].map(|drawn| titles(&rows, drawn))));
    for row in &mut rows {
        (row.bytes, row.flops, row.roof, row.predicted_us) = (None, None, None, None);
    }
    assert_eq!(titles(&rows, None).as_deref(), Some("Time over N on NVIDIA H100 80GB HBM3"));
    assert_eq!(titles(&rows, Some(Drawn::Bandwidth)), None);
    // A single size, and none at all.
    let alone = sweep::chart("add.py", &rows[..1], None).expect("a chart");
    assert!(alone.svg.contains("class=\"point\"") && !alone.svg.contains("NaN"), "{}", alone.svg);
    rows.iter_mut().for_each(|row| row.size = None);
    assert_eq!(titles(&rows, None), None);
}
