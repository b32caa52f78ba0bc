//! The operations of a program on numbers.

use ndarray::ArrayView2;
use rayon::prelude::*;
use tritium_semantics::program::{Binary, Op, Reduce, Scan, Unary, View};

/// What an operation makes, row by row, of the values of what it reads.
pub(super) fn compute(op: &Op, values: impl Fn(&View) -> Result<Vec<f64>, String>) -> Result<Vec<f64>, String> {
    Ok(match op {
        Op::Listed(numbers) => numbers.clone(),
        Op::Unary(f, x) => {
            let f = unary(*f);
            values(x)?.into_par_iter().map(f).collect()
        }
        Op::Binary(f, a, b) => {
            let f = binary(*f);
            values(a)?.into_par_iter().zip(values(b)?).map(|(a, b)| f(a, b)).collect()
        }
        Op::Select(condition, a, b) => {
            let (condition, a, b) = (values(condition)?, values(a)?, values(b)?);
            condition.into_par_iter().zip(a).zip(b).map(|((c, a), b)| if c != 0.0 { a } else { b }).collect()
        }
        Op::Reduce(f, x, axes) => {
            let len: u64 = x.shape[x.shape.len() - axes..].iter().product();
            let x_values = values(x)?;
            let f = reduce(*f);
            if len == 0 {
                let count: u64 = x.shape[..x.shape.len() - axes].iter().product();
                return Ok(vec![f(&[]); count as usize]);
            }
            x_values.par_chunks(len as usize).map(f).collect()
        }
        Op::Scan(f, x) => {
            let len = x.shape.last().map_or(1, |&len| len as usize).max(1);
            let mut out = values(x)?;
            let f: fn(f64, f64) -> f64 = match f {
                Scan::Sum => |a, b| a + b,
                Scan::Prod => |a, b| a * b,
                Scan::Max => larger,
                Scan::Min => smaller,
            };
            out.par_chunks_mut(len).for_each(|row| (1..row.len()).for_each(|i| row[i] = f(row[i - 1], row[i])));
            out
        }
        Op::MatMul(a, b) => {
            let (m, k, n) = (a.shape[1] as usize, a.shape[2] as usize, b.shape[2] as usize);
            let (left, right) = (values(a)?, values(b)?);
            let product = |(i, out): (usize, &mut [f64])| {
                let a = ArrayView2::from_shape((m, k), &left[i * m * k..][..m * k]);
                let b = ArrayView2::from_shape((k, n), &right[i * k * n..][..k * n]);
                if let (Ok(a), Ok(b)) = (a, b) {
                    out.iter_mut().zip(a.dot(&b).iter()).for_each(|(out, value)| *out = *value);
                }
            };
            let mut out = vec![0.0; a.shape[0] as usize * m * n];
            if m * n > 0 {
                out.par_chunks_mut(m * n).enumerate().for_each(product);
            }
            out
        }
        Op::Take { of, index } => {
            let (from, len) = (*of.shape.last().unwrap_or(&1) as usize, *index.shape.last().unwrap_or(&1) as usize);
            let (of, index) = (values(of)?, values(index)?);
            let mut out = Vec::with_capacity(index.len());
            for (row, at) in index.chunks(len.max(1)).enumerate() {
                for &at in at {
                    let inside = at >= 0.0 && at < from as f64;
                    if !inside {
                        return Err(format!("index {at} is out of range for {from} elements"));
                    }
                    out.push(of[row * from + at as usize]);
                }
            }
            out
        }
        Op::Argsort { of, descending } => {
            let len = of.shape.last().map_or(1, |&len| len as usize).max(1);
            let of = values(of)?;
            let sorted = |row: &[f64]| {
                let mut order: Vec<usize> = (0..row.len()).collect();
                order.sort_by(|&a, &b| {
                    let compared = row[a].total_cmp(&row[b]);
                    if *descending { compared.reverse() } else { compared }
                });
                order.into_iter().map(|at| at as f64).collect::<Vec<f64>>()
            };
            of.par_chunks(len).flat_map_iter(sorted).collect()
        }
        Op::Init(..) | Op::Launched { .. } | Op::Copy(_) | Op::Detached(_) | Op::Store { .. } | Op::Spread { .. } => {
            return Err("this is no operation on numbers".to_owned());
        }
    })
}

fn flag(b: bool) -> f64 {
    f64::from(u8::from(b))
}

fn unary(f: Unary) -> fn(f64) -> f64 {
    match f {
        Unary::Neg => |x| -x,
        Unary::Abs => f64::abs,
        Unary::Sign => |x| if x == 0.0 || x.is_nan() { x } else { x.signum() },
        Unary::Exp => f64::exp,
        Unary::Exp2 => f64::exp2,
        Unary::Log => f64::ln,
        Unary::Log2 => f64::log2,
        Unary::Sqrt => f64::sqrt,
        Unary::Sin => f64::sin,
        Unary::Cos => f64::cos,
        Unary::Tan => f64::tan,
        Unary::Asin => f64::asin,
        Unary::Acos => f64::acos,
        Unary::Atan => f64::atan,
        Unary::Sinh => f64::sinh,
        Unary::Cosh => f64::cosh,
        Unary::Tanh => f64::tanh,
        Unary::Erf => libm::erf,
        Unary::Sigmoid => |x| 1.0 / (1.0 + (-x).exp()),
        Unary::Floor => f64::floor,
        Unary::Ceil => f64::ceil,
        Unary::Round => f64::round_ties_even,
        Unary::Trunc => f64::trunc,
        Unary::Not => |x| flag(x == 0.0),
        Unary::IsNan => |x| flag(x.is_nan()),
        Unary::IsInf => |x| flag(x.is_infinite()),
    }
}

fn binary(f: Binary) -> fn(f64, f64) -> f64 {
    match f {
        Binary::Add => |a, b| a + b,
        Binary::Sub => |a, b| a - b,
        Binary::Mul => |a, b| a * b,
        Binary::Div => |a, b| a / b,
        Binary::FloorDiv => |a, b| (a / b).floor(),
        Binary::Remainder => |a, b| a - b * (a / b).floor(),
        Binary::Pow => f64::powf,
        Binary::Maximum => larger,
        Binary::Minimum => smaller,
        Binary::Less => |a, b| flag(a < b),
        Binary::LessEqual => |a, b| flag(a <= b),
        Binary::Equal => |a, b| flag(a == b),
        Binary::NotEqual => |a, b| flag(a != b),
        Binary::And => |a, b| (a as i64 & b as i64) as f64,
        Binary::Or => |a, b| (a as i64 | b as i64) as f64,
        Binary::Xor => |a, b| (a as i64 ^ b as i64) as f64,
    }
}

/// A NaN wins, as in PyTorch.
fn larger(a: f64, b: f64) -> f64 {
    if a.is_nan() || a > b { a } else { b }
}

fn smaller(a: f64, b: f64) -> f64 {
    if a.is_nan() || a < b { a } else { b }
}

fn reduce(f: Reduce) -> fn(&[f64]) -> f64 {
    /// The first of the best.
    fn place(row: &[f64], is_better: impl Fn(f64, f64) -> bool) -> f64 {
        let mut best = 0;
        for (at, &value) in row.iter().enumerate() {
            if is_better(value, row[best]) && !row[best].is_nan() || value.is_nan() && !row[best].is_nan() {
                best = at;
            }
        }
        best as f64
    }
    match f {
        Reduce::Sum => |row| row.iter().sum(),
        Reduce::Prod => |row| row.iter().product(),
        Reduce::Max => |row| row.iter().copied().reduce(larger).unwrap_or(f64::NEG_INFINITY),
        Reduce::Min => |row| row.iter().copied().reduce(smaller).unwrap_or(f64::INFINITY),
        Reduce::ArgMax => |row| place(row, |a, b| a > b),
        Reduce::ArgMin => |row| place(row, |a, b| a < b),
    }
}
