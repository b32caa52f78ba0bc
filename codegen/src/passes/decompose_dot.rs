//! Dots that nothing multiplies as they are become ones that a tensor core, or single threads, take.
//!
//! - Accumulators other than `f32` go through `f32`, except `f16` where tensor cores add it; 8-bit floats are exact in `f16`.
//! - `tf32x3` is three dots: with `a = a' + a''`, `a'` exact in tf32, it is `a''·b' + a'·b'' + a'·b'`.
//! - `bf16x3` and `bf16x6` are sums of products of two or three `bf16` parts, the small ones first.
//!
//! What is left (`ieee`, `f64`, tiles of one column or of fewer steps than an instruction) is multiplied without tensor cores.
//!
//! **Invariant:** afterwards [`super::pick_mma::unit`] knows what takes each dot.

use tritium_tile::{
    BlockId, Builder, Elem, Level, Module, OpId, OpKind, Scalar, Type, ValueId,
    ops::{BinaryOp, CastOp, DotPrecision},
    rewrite::{self, ValueMap},
};

use super::{CompileOptions, Fact, Pass, Unsupported, pick_mma};

pub static PASS: Pass = Pass {
    name: "decompose_dot",
    summary: "Rewrite dots that no tensor core takes.",
    needs: &[Fact::OneFunction],
    gives: &[Fact::DotsFit],
    run,
};

fn run(module: &mut Module, options: &CompileOptions) -> Result<(), Unsupported> {
    debug_assert_eq!(module.level, Level::L0);
    let function = &mut module.functions[0];
    // A rewritten dot may need another rewrite (an 8-bit float accumulated in f16): four rules, so four rounds.
    for _ in 0..4 {
        let mut dots: Vec<(BlockId, OpId)> = Vec::new();
        function.walk(|block, op| {
            if matches!(function.op(op).kind, OpKind::Dot { .. }) {
                dots.push((block, op));
            }
        });
        let mut results = ValueMap::default();
        for (block, dot) in dots {
            // The new ops are made at the end of a scratch block and then take the dot's place.
            let scratch = function.add_block();
            let origin = function.op(dot).origin;
            let mut b = Builder { function, block: scratch, origin };
            let Some(value) = rewrite_dot(&mut b, dot, options)? else { continue };
            results.insert(function.op(dot).results[0], value);
            let ops = std::mem::take(&mut function.block_mut(scratch).ops);
            let list = &mut function.block_mut(block).ops;
            if let Some(at) = list.iter().position(|&op| op == dot) {
                list.splice(at..=at, ops);
            }
        }
        if results.is_empty() {
            break;
        }
        rewrite::replace_uses(function, &results);
    }
    rewrite::compact(function);
    Ok(())
}

/// The value that stands for the dot's result, unless the dot is fine.
fn rewrite_dot(b: &mut Builder<'_>, dot: OpId, options: &CompileOptions) -> Result<Option<ValueId>, Unsupported> {
    let op = b.function.op(dot).clone();
    let OpKind::Dot { precision, .. } = op.kind else { return Ok(None) };
    if pick_mma::unit(b.function, dot, precision, options).is_some() {
        return Ok(None);
    }
    let (x, y, acc) = (op.operands[0], op.operands[1], op.operands[2]);
    let of = |b: &Builder<'_>, v: ValueId| b.function.ty(v).elem().scalar().unwrap_or(Scalar::I64);
    let (xs, ys, accs) = (of(b, x), of(b, y), of(b, acc));
    let result = b.function.ty(op.results[0]).clone();
    let eight_bit = |s: Scalar| matches!(s, Scalar::F8E4M3 | Scalar::F8E5M2);
    if eight_bit(xs) || eight_bit(ys) {
        let x = convert(b, x, Scalar::F16);
        let y = convert(b, y, Scalar::F16);
        return Ok(Some(b.value(op.kind, &[x, y, acc], result)));
    }
    if xs == ys && xs.is_float() && accs.is_float() && accs.bits() < 32 {
        let wide = convert(b, acc, Scalar::F32);
        let sum = b.value(op.kind, &[x, y, wide], result.with_elem(Elem::Scalar(Scalar::F32)));
        return Ok(Some(convert(b, sum, accs)));
    }
    match precision {
        DotPrecision::Tf32x3 if xs == Scalar::F32 => Ok(Some(three_dots(b, x, y, acc, result))),
        DotPrecision::Bf16x3 if xs == Scalar::F32 => Ok(Some(dots_of_parts(b, [x, y, acc], result, 2))),
        DotPrecision::Bf16x6 if xs == Scalar::F32 => Ok(Some(dots_of_parts(b, [x, y, acc], result, 3))),
        _ => Err(Unsupported::new(b.origin, format!("a dot of {xs} by {ys} into {accs}: nothing multiplies these"))),
    }
}

fn convert(b: &mut Builder<'_>, value: ValueId, to: Scalar) -> ValueId {
    let ty = b.function.ty(value).clone();
    let Some(from) = ty.elem().scalar() else { return value };
    let kind = match (from.is_float(), to.is_float()) {
        _ if from == to => return value,
        (true, true) => CastOp::Float,
        (true, false) => CastOp::FToS,
        (false, true) => CastOp::SToF,
        (false, false) if from.bits() < to.bits() => CastOp::ExtS,
        (false, false) => CastOp::Trunc,
    };
    b.value(OpKind::Cast(kind), &[value], ty.with_elem(Elem::Scalar(to)))
}

fn three_dots(b: &mut Builder<'_>, x: ValueId, y: ValueId, acc: ValueId, result: Type) -> ValueId {
    let mut split = |value: ValueId| {
        let ty = b.function.ty(value).clone();
        let bits = ty.with_elem(Elem::Scalar(Scalar::I32));
        let word = b.value(OpKind::Cast(CastOp::Bitcast), &[value], bits.clone());
        // tf32 has 10 bits of mantissa, f32 has 23.
        let mask = b.int(!0x1fff, bits.clone());
        let word = b.value(OpKind::Binary(BinaryOp::And), &[word, mask], bits);
        let high = b.value(OpKind::Cast(CastOp::Bitcast), &[word], ty.clone());
        let low = b.value(OpKind::Binary(BinaryOp::SubF), &[value, high], ty);
        (high, low)
    };
    let (x_high, x_low) = split(x);
    let (y_high, y_low) = split(y);
    let kind = OpKind::Dot { precision: DotPrecision::Tf32, sum_depth: None };
    let acc = b.value(kind.clone(), &[x_low, y_high, acc], result.clone());
    let acc = b.value(kind.clone(), &[x_high, y_low, acc], result.clone());
    b.value(kind, &[x_high, y_high, acc], result)
}

/// `sum over i + j < parts of x_i · y_j`, where `x = x_0 + x_1 + …` and each part is a `bf16`.
fn dots_of_parts(b: &mut Builder<'_>, [x, y, acc]: [ValueId; 3], result: Type, parts: usize) -> ValueId {
    let mut split = |value: ValueId| {
        let ty = b.function.ty(value).clone();
        let mut rest = value;
        let mut all = Vec::new();
        for part in 0..parts {
            let rounded = convert(b, rest, Scalar::BF16);
            all.push(rounded);
            if part + 1 < parts {
                let back = convert(b, rounded, Scalar::F32);
                rest = b.value(OpKind::Binary(BinaryOp::SubF), &[rest, back], ty.clone());
            }
        }
        all
    };
    let (x, y) = (split(x), split(y));
    let mut sum = acc;
    for order in (0..parts).rev() {
        for i in (0..=order).rev() {
            sum = b.value(
                OpKind::Dot { precision: DotPrecision::Tf32, sum_depth: None },
                &[x[i], y[order - i], sum],
                result.clone(),
            );
        }
    }
    sum
}
