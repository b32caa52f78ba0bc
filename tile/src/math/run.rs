//! Programs on the CPU: a batch of elements goes through every operation before the next.
//!
//! **Invariant:** total, and the same bits on every host: what the processor has no instruction for is computed without one.

use std::array;

use super::tape::{Approx, Compare, Convert, FloatOp, IntOp, Node, Op, Program};
use crate::{interpret::float::flushed, types::Scalar};

/// Elements of a batch.
pub const LANES: usize = 32;

/// One value of a batch.
#[derive(Debug, Clone, Copy)]
pub enum Lanes {
    I1([bool; LANES]),
    I32([i32; LANES]),
    I64([i64; LANES]),
    F32([f32; LANES]),
    F64([f64; LANES]),
}

use Lanes::{F32, F64, I1, I32, I64};

impl Lanes {
    /// Elements from their bits.
    pub fn from_bits(ty: Scalar, bits: impl Fn(usize) -> u64) -> Lanes {
        match ty {
            Scalar::I1 => I1(array::from_fn(|i| bits(i) & 1 != 0)),
            Scalar::I64 => I64(array::from_fn(|i| bits(i) as i64)),
            Scalar::F32 => F32(array::from_fn(|i| f32::from_bits(bits(i) as u32))),
            Scalar::F64 => F64(array::from_fn(|i| f64::from_bits(bits(i)))),
            _ => I32(array::from_fn(|i| bits(i) as i32)),
        }
    }

    /// The bits of an element.
    pub fn bits(&self, i: usize) -> u64 {
        match self {
            I1(v) => v[i].into(),
            I32(v) => u64::from(v[i] as u32),
            I64(v) => v[i] as u64,
            F32(v) => v[i].to_bits().into(),
            F64(v) => v[i].to_bits(),
        }
    }
}

#[inline(always)]
fn map<A: Copy, R>(a: &[A; LANES], f: impl Fn(A) -> R) -> [R; LANES] {
    array::from_fn(|i| f(a[i]))
}

#[inline(always)]
fn zip<A: Copy, R>(a: &[A; LANES], b: &[A; LANES], f: impl Fn(A, A) -> R) -> [R; LANES] {
    array::from_fn(|i| f(a[i], b[i]))
}

/// The results of a program.
pub fn run(program: &Program, args: &[Lanes]) -> Vec<Lanes> {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("fma") && std::arch::is_x86_feature_detected!("avx2") {
        #[target_feature(enable = "fma,avx2")]
        fn with_fma(program: &Program, args: &[Lanes]) -> Vec<Lanes> {
            execute(program, args)
        }
        // SAFETY: the processor has been asked for both features.
        return unsafe { with_fma(program, args) };
    }
    execute(program, args)
}

#[inline(always)]
fn execute(program: &Program, args: &[Lanes]) -> Vec<Lanes> {
    let mut values: Vec<Lanes> = Vec::with_capacity(program.nodes.len());
    // The results of calls, by node.
    let mut calls: Vec<(u32, Vec<Lanes>)> = Vec::new();
    for (id, node) in program.nodes.iter().enumerate() {
        let operand = |i: usize| &values[node.args[i] as usize];
        let value = match node.op {
            Op::Param(index) => args[index as usize],
            Op::Const(bits) => Lanes::from_bits(node.ty, |_| bits),
            Op::Call(_) | Op::CallIf(_) | Op::Loop(_) => {
                let operands: Vec<Lanes> = (0..node.args.len()).map(|i| *operand(i)).collect();
                let results = call(node.op, operands);
                let first = results[0];
                calls.push((id as u32, results));
                first
            }
            Op::Part(index) => {
                let found = calls.iter().find(|(call, _)| *call == node.args[0]);
                found.map_or(*operand(0), |(_, results)| results[index as usize])
            }
            Op::Lookup(table) => lookup(node.ty, table, operand(0)),
            Op::Select => select(operand(0), operand(1), operand(2)),
            Op::Approx(op) => approx(op, operand(0), node.args.get(1).map(|_| operand(1))),
            Op::Float(op) => float(op, operand(0), operand(node.args.len().min(2) - 1), operand(node.args.len() - 1)),
            Op::Int(op) => int(op, operand(0), operand(node.args.len() - 1)),
            Op::Compare(op) => I1(compare(op, operand(0), operand(1))),
            Op::Convert(op) => convert(op, node, operand(0)),
        };
        values.push(value);
    }
    program.results.iter().map(|&id| values[id as usize]).collect()
}

fn call(op: Op, operands: Vec<Lanes>) -> Vec<Lanes> {
    match op {
        Op::CallIf(program) => {
            let (args, otherwise) = operands[1..].split_at(program.params.len());
            let I1(wanted) = operands[0] else { return otherwise.to_vec() };
            if !wanted.contains(&true) {
                return otherwise.to_vec();
            }
            let results = run(program, args);
            results.iter().zip(otherwise).map(|(a, b)| select(&I1(wanted), a, b)).collect()
        }
        Op::Loop(program) => {
            let mut state = operands;
            let mut active = [true; LANES];
            while active.contains(&true) {
                let mut next = run(program, &state);
                let again = next.pop();
                for (old, new) in state.iter_mut().zip(&next) {
                    *old = select(&I1(active), new, old);
                }
                let Some(I1(again)) = again else { break };
                active = zip(&active, &again, |a, b| a & b);
            }
            state
        }
        Op::Call(program) => run(program, &operands),
        _ => operands,
    }
}

fn lookup(ty: Scalar, table: &[u64], index: &Lanes) -> Lanes {
    let I32(index) = index else { return *index };
    let bits = map(index, |i| table[(i as u32 as usize).min(table.len() - 1)]);
    match ty {
        Scalar::F32 => F32(map(&bits, |b| f32::from_bits(b as u32))),
        Scalar::F64 => F64(map(&bits, f64::from_bits)),
        Scalar::I64 => I64(map(&bits, |b| b as i64)),
        _ => I32(map(&bits, |b| b as i32)),
    }
}

#[inline(always)]
fn select(condition: &Lanes, a: &Lanes, b: &Lanes) -> Lanes {
    let I1(c) = condition else { return *b };
    macro_rules! pick {
        ($($variant:ident),+) => {
            match (a, b) {
                $(($variant(a), $variant(b)) => $variant(array::from_fn(|i| if c[i] { a[i] } else { b[i] })),)+
                _ => *b,
            }
        };
    }
    pick!(I1, I32, I64, F32, F64)
}

fn approx(op: Approx, a: &Lanes, b: Option<&Lanes>) -> Lanes {
    let F32(a) = a else { return *a };
    let through = |f: fn(f64) -> f64| F32(map(a, |x| f(x.into()) as f32));
    match (op, b) {
        (Approx::Div | Approx::DivFull, Some(F32(b))) => F32(zip(a, b, |x, y| x / y)),
        (Approx::Ex2, _) => through(libm::exp2),
        (Approx::Ex2Ftz, _) => F32(map(a, |x| flushed(libm::exp2(x.into()) as f32))),
        (Approx::Lg2, _) => through(libm::log2),
        (Approx::Sin, _) => through(libm::sin),
        (Approx::Cos, _) => through(libm::cos),
        (Approx::Sqrt, _) => F32(map(a, |x| flushed(x).sqrt())),
        (Approx::Rsqrt, _) => F32(map(a, |x| (1.0 / f64::from(flushed(x)).sqrt()) as f32)),
        (Approx::RcpFtz, _) => F32(map(a, |x| flushed((1.0 / f64::from(flushed(x))) as f32))),
        (Approx::Div | Approx::DivFull, _) => F32(*a),
    }
}

#[inline(always)]
fn float(op: FloatOp, a: &Lanes, b: &Lanes, c: &Lanes) -> Lanes {
    macro_rules! floats {
        ($variant:ident, $a:expr, $b:expr, $c:expr) => {{
            let (a, b, c) = ($a, $b, $c);
            $variant(match op {
                FloatOp::Add => zip(a, b, |x, y| x + y),
                FloatOp::Sub => zip(a, b, |x, y| x - y),
                FloatOp::Mul => zip(a, b, |x, y| x * y),
                FloatOp::Div => zip(a, b, |x, y| x / y),
                FloatOp::Fma => array::from_fn(|i| a[i].mul_add(b[i], c[i])),
                FloatOp::Sqrt => map(a, |x| x.sqrt()),
                FloatOp::Neg => map(a, |x| -x),
                FloatOp::Abs => map(a, |x| x.abs()),
                FloatOp::CopySign => zip(a, b, |x, y| x.copysign(y)),
                FloatOp::Rint => map(a, |x| x.round_ties_even()),
                FloatOp::Trunc => map(a, |x| x.trunc()),
                FloatOp::Floor => map(a, |x| x.floor()),
                FloatOp::Ceil => map(a, |x| x.ceil()),
            })
        }};
    }
    match (a, b, c) {
        (F32(a), F32(b), F32(c)) => floats!(F32, a, b, c),
        (F64(a), F64(b), F64(c)) => floats!(F64, a, b, c),
        _ => *a,
    }
}

#[inline(always)]
fn int(op: IntOp, a: &Lanes, b: &Lanes) -> Lanes {
    macro_rules! ints {
        ($variant:ident, $a:expr, $b:expr, $signed:ident $unsigned:ident $wide:ident $wide_unsigned:ident) => {{
            let (a, b) = ($a, $b);
            const BITS: u32 = $signed::BITS;
            $variant(match op {
                IntOp::Add => zip(a, b, $signed::wrapping_add),
                IntOp::Sub => zip(a, b, $signed::wrapping_sub),
                IntOp::Mul => zip(a, b, $signed::wrapping_mul),
                IntOp::MulHiS => zip(a, b, |x, y| ((x as $wide * y as $wide) >> BITS) as $signed),
                IntOp::MulHiU => {
                    zip(a, b, |x, y| ((x as $unsigned as $wide_unsigned * y as $unsigned as $wide_unsigned) >> BITS) as $signed)
                }
                IntOp::RemU => {
                    zip(a, b, |x, y| (x as $unsigned).checked_rem(y as $unsigned).unwrap_or(x as $unsigned) as $signed)
                }
                IntOp::And => zip(a, b, |x, y| x & y),
                IntOp::Or => zip(a, b, |x, y| x | y),
                IntOp::Xor => zip(a, b, |x, y| x ^ y),
                IntOp::Shl => zip(a, b, |x, y| x.wrapping_shl(y as u32)),
                IntOp::ShrU => zip(a, b, |x, y| (x as $unsigned).wrapping_shr(y as u32) as $signed),
                IntOp::ShrS => zip(a, b, |x, y| x.wrapping_shr(y as u32)),
                IntOp::Clz => map(a, |x| x.leading_zeros() as $signed),
                IntOp::Popc => map(a, |x| x.count_ones() as $signed),
                IntOp::Brev => map(a, |x| x.reverse_bits()),
            })
        }};
    }
    match (a, b) {
        (I32(a), I32(b)) => ints!(I32, a, b, i32 u32 i64 u64),
        (I64(a), I64(b)) => ints!(I64, a, b, i64 u64 i128 u128),
        (I1(a), I1(b)) => match op {
            IntOp::And => I1(zip(a, b, |x, y| x & y)),
            IntOp::Or => I1(zip(a, b, |x, y| x | y)),
            _ => I1(zip(a, b, |x, y| x ^ y)),
        },
        _ => *a,
    }
}

#[inline(always)]
fn compare(op: Compare, a: &Lanes, b: &Lanes) -> [bool; LANES] {
    macro_rules! floats {
        ($a:expr, $b:expr) => {
            match op {
                Compare::Lt => zip($a, $b, |x, y| x < y),
                Compare::Le => zip($a, $b, |x, y| x <= y),
                Compare::Uno => zip($a, $b, |x, y| x.is_nan() | y.is_nan()),
                _ => zip($a, $b, |x, y| x == y),
            }
        };
    }
    macro_rules! ints {
        ($a:expr, $b:expr, $unsigned:ident) => {
            match op {
                Compare::LtS => zip($a, $b, |x, y| x < y),
                Compare::LtU => zip($a, $b, |x, y| (x as $unsigned) < (y as $unsigned)),
                _ => zip($a, $b, |x, y| x == y),
            }
        };
    }
    match (a, b) {
        (F32(a), F32(b)) => floats!(a, b),
        (F64(a), F64(b)) => floats!(a, b),
        (I32(a), I32(b)) => ints!(a, b, u32),
        (I64(a), I64(b)) => ints!(a, b, u64),
        _ => [false; LANES],
    }
}

#[inline(always)]
fn convert(op: Convert, node: &Node, a: &Lanes) -> Lanes {
    match (op, a, node.ty) {
        (Convert::Float, F32(a), _) => F64(map(a, f64::from)),
        (Convert::Float, F64(a), _) => F32(map(a, |x| x as f32)),
        (Convert::IntToFloat, I32(a), Scalar::F32) => F32(map(a, |x| x as f32)),
        (Convert::IntToFloat, I32(a), _) => F64(map(a, f64::from)),
        (Convert::IntToFloat, I64(a), Scalar::F32) => F32(map(a, |x| x as f32)),
        (Convert::IntToFloat, I64(a), _) => F64(map(a, |x| x as f64)),
        (Convert::UIntToFloat, I32(a), Scalar::F32) => F32(map(a, |x| x as u32 as f32)),
        (Convert::UIntToFloat, I32(a), _) => F64(map(a, |x| f64::from(x as u32))),
        (Convert::UIntToFloat, I64(a), Scalar::F32) => F32(map(a, |x| x as u64 as f32)),
        (Convert::UIntToFloat, I64(a), _) => F64(map(a, |x| x as u64 as f64)),
        (Convert::FloatToInt, F32(a), Scalar::I64) => I64(map(a, |x| x as i64)),
        (Convert::FloatToInt, F32(a), _) => I32(map(a, |x| x as i32)),
        (Convert::FloatToInt, F64(a), Scalar::I64) => I64(map(a, |x| x as i64)),
        (Convert::FloatToInt, F64(a), _) => I32(map(a, |x| x as i32)),
        (Convert::Bits, F32(a), Scalar::I32) => I32(map(a, |x| x.to_bits() as i32)),
        (Convert::Bits, F64(a), Scalar::I64) => I64(map(a, |x| x.to_bits() as i64)),
        (Convert::Bits, I32(a), Scalar::F32) => F32(map(a, |x| f32::from_bits(x as u32))),
        (Convert::Bits, I64(a), Scalar::F64) => F64(map(a, |x| f64::from_bits(x as u64))),
        (Convert::ExtS, I32(a), _) => I64(map(a, i64::from)),
        (Convert::ExtU, I32(a), _) => I64(map(a, |x| i64::from(x as u32))),
        (Convert::ExtU, I1(a), Scalar::I32) => I32(map(a, i32::from)),
        (Convert::ExtU, I1(a), _) => I64(map(a, i64::from)),
        (Convert::Trunc, I64(a), _) => I32(map(a, |x| x as i32)),
        (_, a, _) => *a,
    }
}
