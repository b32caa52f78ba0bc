//! Matrix multiplication.
//!
//! **Invariant:** element (i, j) is `((c + a[i,0]·b[0,j]) + a[i,1]·b[1,j]) + …`, k ascending, whatever the shapes: products and sums in
//! `f32` (`f64` for `f64`, wrapping `i32` for `i8`), rounded to the accumulator's type once at the end. `tf32` rounds `f32` operands to
//! ten digits first; `tf32x3`, `bf16x3` and `bf16x6`, which recover nearly all of them, are computed as `ieee`.

use std::borrow::Cow;

use super::{float, value::Data};
use crate::{
    ops::DotPrecision,
    types::{Scalar, Shape},
};

/// `batch` matrices `[m, k]` times `[k, n]`.
struct Extents {
    m: usize,
    k: usize,
    n: usize,
}

/// Rows of the result grow by whole rows of `b`, which lie side by side in memory.
fn accumulate<A: Copy, C: Copy>(extents: &Extents, a: &[A], b: &[A], c: &mut [C], step: impl Fn(C, A, A) -> C) {
    let Extents { m, k, n } = *extents;
    for ((a, b), c) in a.chunks_exact(m * k).zip(b.chunks_exact(k * n)).zip(c.chunks_exact_mut(m * n)) {
        for (a, c) in a.chunks_exact(k).zip(c.chunks_exact_mut(n)) {
            for (&x, b) in a.iter().zip(b.chunks_exact(n)) {
                for (c, &y) in c.iter_mut().zip(b) {
                    *c = step(*c, x, y);
                }
            }
        }
    }
}

pub(super) fn dot(
    precision: DotPrecision,
    operand: Scalar,
    result: Scalar,
    shapes: (&Shape, &Shape),
    a: &Data,
    b: &Data,
    c: &Data,
) -> Option<Data> {
    let rank = shapes.0.len();
    let extents = Extents { m: shapes.0[rank - 2] as usize, k: shapes.0[rank - 1] as usize, n: shapes.1[rank - 1] as usize };
    Some(match (a, b, c) {
        (Data::F32(a), Data::F32(b), Data::F32(c)) => {
            let rounded = |v: &[f32]| v.iter().map(|&x| float::tf32(x)).collect::<Vec<f32>>();
            let (a, b): (Cow<[f32]>, Cow<[f32]>) = match precision {
                DotPrecision::Tf32 if operand == Scalar::F32 => (rounded(a).into(), rounded(b).into()),
                DotPrecision::Tf32 | DotPrecision::Tf32x3 | DotPrecision::Bf16x3 | DotPrecision::Bf16x6 | DotPrecision::Ieee => {
                    (a.into(), b.into())
                }
            };
            let mut out = c.clone();
            accumulate(&extents, &a, &b, &mut out, |c, x, y| c + x * y);
            float::round_all(result, &mut out);
            Data::F32(out)
        }
        (Data::F64(a), Data::F64(b), Data::F64(c)) => {
            let mut out = c.clone();
            accumulate(&extents, a, b, &mut out, |c, x, y| c + x * y);
            Data::F64(out)
        }
        (Data::I8(a), Data::I8(b), Data::I32(c)) => {
            let mut out = c.clone();
            accumulate(&extents, a, b, &mut out, |c: i32, x, y| c.wrapping_add(i32::from(x) * i32::from(y)));
            Data::I32(out)
        }
        _ => return None,
    })
}
