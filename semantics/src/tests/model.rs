//! From places in the text to what is known there.

use std::fmt::Write as _;

use expect_test::expect;

use super::database;
use crate::model::{active_instance, bindings, expr_at, facts_at, function_at, name_range};

const TEXT: &str = r#"
import triton
import triton.language as tl

SCALE = tl.constexpr(2.0)

@triton.jit
def double(v):
    return v * SCALE

@triton.jit
def kernel(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0)
    for k in range(4):
        v = double(v)
    tl.store(out + i, v, mask=i < n)
"#;

#[test]
fn places() {
    let (db, file) = database(TEXT);
    let mut out = String::new();
    for needle in [
        "SCALE\n\n",
        "x, out",
        "BLOCK:",
        "BLOCK)\n",
        "tl.load",
        "load(x",
        "x + i, mask",
        "+ i, mask",
        "i < n, other",
        "v = double",
        "double(v)\n ",
        "out + i",
    ] {
        let offset = TEXT.find(needle).expect(needle) + usize::from(needle.starts_with(['+']));
        match facts_at(&db, file, offset, None) {
            None => {
                let _ = writeln!(out, "{needle:?}: nothing");
            }
            Some(f) => {
                let _ = writeln!(
                    out,
                    "{:?} in {}: {} = {} {}",
                    &TEXT[f.range],
                    f.function.name(&db),
                    f.name.unwrap_or_default(),
                    f.ty.map_or("?".to_owned(), |t| t.to_string()),
                    match f.global {
                        Some(crate::items::Global::Function(g)) => format!("(function {})", g.name(&db)),
                        Some(g) => format!("({g:?})"),
                        None => String::new(),
                    }
                );
            }
        }
    }
    expect![[r#"
        "SCALE" in double: SCALE = constexpr[2.0] (Constexpr(Float(2.0)))
        "x" in kernel: x = *f32 
        "BLOCK" in kernel: BLOCK = constexpr[128] 
        "BLOCK" in kernel: BLOCK = constexpr[128] 
        "tl" in kernel: tl = triton.language (Module("triton.language"))
        "tl.load" in kernel: tl.load = tl.load (Builtin("triton.language.load"))
        "x" in kernel: x = *f32 
        "x + i" in kernel:  = *f32[128] 
        "i" in kernel: i = i32[128] 
        "v" in kernel: v = f32[128] 
        "double" in kernel: double = constexpr[<function>] (function double)
        "out" in kernel: out = *f32 
    "#]]
    .assert_eq(&out);
    assert!(function_at(&db, file, 3).is_none());
    assert!(expr_at(&db, file, TEXT.len() + 100).is_none());
}

#[test]
fn all_bindings() {
    let (db, file) = database(TEXT);
    let kernel = function_at(&db, file, TEXT.find("tl.load").expect("it is there")).expect("a kernel");
    assert_eq!(name_range(&db, kernel).map(|r| &TEXT[r]), Some("kernel"));
    let instance = active_instance(&db, kernel).expect("it can be assumed");
    let mut out = String::new();
    for b in bindings(&db, instance) {
        let line = TEXT[..b.range.start].matches('\n').count() + 1;
        let _ = writeln!(out, "{line} {:?} {}: {}", &TEXT[b.range], b.name, b.ty);
    }
    expect![[r#"
        8 "v" v: f32[128]
        12 "x" x: *f32
        12 "out" out: *f32
        12 "n" n: i32
        12 "BLOCK" BLOCK: constexpr[128]
        13 "i" i: i32[128]
        14 "v" v: f32[128]
        15 "k" k: i32
        16 "v" v: f32[128]
    "#]]
    .assert_eq(&out);
}
