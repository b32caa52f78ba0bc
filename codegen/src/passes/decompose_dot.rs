//! Dots that no tensor core takes become ones that it takes, or multiplications and a sum.
//!
//! - Accumulators other than `f32` go through `f32`; 8-bit floats are exact in `f16`, 8-bit integers too, and their sums are exact in `f32`
//!   up to 2^24.
//! - `tf32x3` is three dots: with `a = a' + a''`, `a'` exact in tf32, it is `a''·b' + a'·b'' + a'·b'`.
//! - What is left (`ieee`, `f64`, tiles below a fragment) is multiplied out if the product fits the registers, and refused otherwise.
//!
//! **Invariant:** afterwards every dot passes [`super::pick_mma::refusal`].

use tritium_semantics::target::Feature;
use tritium_tile::{
    BlockId, Builder, Elem, Level, Module, OpId, OpKind, Scalar, Shape, Type, ValueId,
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

/// Products each thread may hold when a dot is multiplied out.
const MAX_PRODUCTS_PER_THREAD: u64 = 512;

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
    let OpKind::Dot { precision } = op.kind else { return Ok(None) };
    let Some(refusal) = pick_mma::refusal(b.function, dot, precision, options.sm.has(Feature::MmaSync)) else { return Ok(None) };
    let (x, y, acc) = (op.operands[0], op.operands[1], op.operands[2]);
    let of = |b: &Builder<'_>, v: ValueId| b.function.ty(v).elem().scalar().unwrap_or(Scalar::I64);
    let (xs, ys, accs) = (of(b, x), of(b, y), of(b, acc));
    let result = b.function.ty(op.results[0]).clone();
    let eight_bit = |s: Scalar| matches!(s, Scalar::F8E4M3 | Scalar::F8E5M2);
    let half = |s: Scalar| matches!(s, Scalar::F16 | Scalar::BF16);
    let shape = b.function.ty(x).shape().clone();
    if refusal.shape_fits {
        if eight_bit(xs) || eight_bit(ys) {
            let x = convert(b, x, Scalar::F16);
            let y = convert(b, y, Scalar::F16);
            return Ok(Some(b.value(op.kind, &[x, y, acc], result)));
        }
        if (half(xs) && xs == ys || xs == Scalar::F32 && ys == Scalar::F32) && accs.is_float() && accs.bits() < 32 {
            let wide = convert(b, acc, Scalar::F32);
            let sum = b.value(op.kind, &[x, y, wide], result.with_elem(Elem::Scalar(Scalar::F32)));
            return Ok(Some(convert(b, sum, accs)));
        }
        let exact_depth = shape.last().is_some_and(|&k| k <= 1024);
        if xs == Scalar::I8 && ys == Scalar::I8 && accs == Scalar::I32 && exact_depth {
            let x = convert(b, x, Scalar::F16);
            let y = convert(b, y, Scalar::F16);
            let float = result.with_elem(Elem::Scalar(Scalar::F32));
            let zero = b.float(0.0, float.clone());
            let sum = b.value(OpKind::Dot { precision: DotPrecision::Tf32 }, &[x, y, zero], float);
            let sum = b.value(OpKind::Cast(CastOp::FToS), &[sum], result.clone());
            return Ok(Some(b.value(OpKind::Binary(BinaryOp::AddI), &[sum, acc], result)));
        }
        if xs == Scalar::F32 && ys == Scalar::F32 && accs == Scalar::F32 && precision == DotPrecision::Tf32x3 {
            return Ok(Some(three_dots(b, x, y, acc, result)));
        }
    }
    multiply_out(b, [x, y, acc], result, options, &refusal.message).map(Some)
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
    let kind = OpKind::Dot { precision: DotPrecision::Tf32 };
    let acc = b.value(kind.clone(), &[x_low, y_high, acc], result.clone());
    let acc = b.value(kind.clone(), &[x_high, y_low, acc], result.clone());
    b.value(kind, &[x_high, y_high, acc], result)
}

/// `sum over k of a[m, k, ·] · b[·, k, n]`.
fn multiply_out(
    b: &mut Builder<'_>,
    [x, y, acc]: [ValueId; 3],
    result: Type,
    options: &CompileOptions,
    why: &str,
) -> Result<ValueId, Unsupported> {
    let (left, right) = (b.function.ty(x).shape().clone(), b.function.ty(y).shape().clone());
    let (&[m, k], &[_, n]) = (&left[..], &right[..]) else {
        return Err(Unsupported::new(b.origin, format!("{why}; dots of tiles with a batch dimension are not supported")));
    };
    let products = u64::from(m) * u64::from(k) * u64::from(n);
    let limit = MAX_PRODUCTS_PER_THREAD * 32 * u64::from(options.num_warps);
    if products > limit.min(1 << 20) {
        return Err(Unsupported::new(
            b.origin,
            format!(
                "{why}, and [{m}, {k}] by [{k}, {n}] is too large to multiply out in registers; use smaller blocks, 16-bit operands, \
                 or `input_precision=\"tf32x3\"` for f32"
            ),
        ));
    }
    let elem = b.function.ty(acc).elem();
    let Some(scalar) = elem.scalar() else { return Ok(acc) };
    let wide = match scalar {
        Scalar::F16 | Scalar::BF16 | Scalar::F8E4M3 | Scalar::F8E5M2 => Scalar::F32,
        other => other,
    };
    let full: Shape = [m, k, n].into_iter().collect();
    let mut spread = |value: ValueId, axis: u8, shape: [u32; 3]| {
        let value = convert(b, value, wide);
        let value = b.value(OpKind::ExpandDims { axis }, &[value], Type::tile(Elem::Scalar(wide), &shape[..]));
        b.value(OpKind::Broadcast, &[value], Type::tile(Elem::Scalar(wide), full.clone()))
    };
    let x = spread(x, 2, [m, k, 1]);
    let y = spread(y, 0, [1, k, n]);
    let (mul, add) = if wide.is_float() { (BinaryOp::MulF, BinaryOp::AddF) } else { (BinaryOp::MulI, BinaryOp::AddI) };
    let product = b.value(OpKind::Binary(mul), &[x, y], Type::tile(Elem::Scalar(wide), full));
    let region = b.function.add_block();
    let p = b.function.add_block_arg(region, Type::scalar(wide));
    let q = b.function.add_block_arg(region, Type::scalar(wide));
    let origin = b.origin;
    let mut inner = Builder { function: &mut *b.function, block: region, origin };
    let sum = inner.value(OpKind::Binary(add), &[p, q], Type::scalar(wide));
    inner.op(OpKind::Yield, &[sum], [], &[]);
    let wide_result = result.with_elem(Elem::Scalar(wide));
    let reduce = b.op(OpKind::Reduce { axis: 1 }, &[product], [wide_result.clone()], &[region]);
    let sum = b.function.op(reduce).results[0];
    let acc = convert(b, acc, wide);
    let sum = b.value(OpKind::Binary(add), &[sum, acc], wide_result);
    Ok(convert(b, sum, scalar))
}
