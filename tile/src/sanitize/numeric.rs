//! Arithmetic: where a NaN or an infinity begins, an integer does not fit, a divisor is 0, and what becomes of labels on the way.

use super::{
    At, Operand, Sanitizer,
    labels::{self, Kind, Labels, Site, UNKNOWN},
};
use crate::{
    interpret::{Data, value::Tile},
    module::{BlockId, Function},
    ops::{BinaryOp, CastOp, OpKind},
    types::Shape,
};

impl Sanitizer {
    /// The labels of what an elementwise operation has computed.
    pub(crate) fn computed(&mut self, at: At, kind: &OpKind, operands: &[Operand<'_>], result: &Data) -> Labels {
        let from = labels::elementwise(kind, operands, result.len());
        let (begins, made): (Kind, Vec<usize>) = match kind {
            OpKind::Binary(BinaryOp::DivS | BinaryOp::DivU | BinaryOp::RemS | BinaryOp::RemU) => {
                let divisor = operands[1].data;
                (Kind::Division, (0..result.len()).filter(|&i| labels::is_zero(divisor, i)).collect())
            }
            OpKind::Binary(op @ (BinaryOp::AddI | BinaryOp::SubI | BinaryOp::MulI)) => {
                (Kind::Wrap, wrapping(*op, operands[0].data, operands[1].data))
            }
            // These give what they are given.
            OpKind::Select | OpKind::Promise { .. } | OpKind::Cast(CastOp::Bitcast) => return from,
            _ => (Kind::NotFinite, beginning(operands.iter().map(|operand| operand.data), result)),
        };
        self.with(from, at, begins, result.len(), &made)
    }

    /// The labels of a value that may be anything.
    pub(crate) fn missing(&mut self, at: At, len: usize) -> Labels {
        let label = self.sites.label(Site { kind: Kind::Missing, at, via: None });
        Labels::new(vec![label as i64; len])
    }

    /// A further site for some elements, where they are known.
    fn with(&mut self, from: Labels, at: At, kind: Kind, len: usize, elements: &[usize]) -> Labels {
        if elements.is_empty() {
            return from;
        }
        let label = self.sites.label(Site { kind, at, via: None });
        let mut bits: Vec<i64> = (0..len).map(|i| from.at(i) as i64).collect();
        for &element in elements {
            if bits[element] as u64 & UNKNOWN == 0 {
                bits[element] |= label as i64;
            }
        }
        Labels::new(bits)
    }

    pub(crate) fn multiplied(&mut self, at: At, shapes: (&Shape, &Shape), operands: [Operand<'_>; 3], result: &Data) -> Labels {
        let [a, b, c] = operands;
        let rank = shapes.0.len();
        let (m, k, n) = (shapes.0[rank - 2] as usize, shapes.0[rank - 1] as usize, shapes.1[rank - 1] as usize);
        let len = result.len();
        // Of every row of a and column of b: its labels, and whether all its numbers are finite.
        let fold = |operand: Operand<'_>, lines: usize, place: &dyn Fn(usize, usize) -> usize| -> Vec<(u64, bool)> {
            (0..lines)
                .map(|line| {
                    (0..k).map(|i| place(line, i)).fold((0, true), |(labels, finite), i| {
                        (labels | operand.labels.at(i), finite && is_finite(operand.data, i))
                    })
                })
                .collect()
        };
        let batches = len / (m * n).max(1);
        let rows = fold(a, batches * m, &|line, i| line * k + i);
        let columns = fold(b, batches * n, &|line, i| (line / n * k + i) * n + line % n);
        let of = |i: usize| (rows[i / n], columns[i / (m * n) * n + i % n]);
        let mut combined = Labels::CLEAN;
        if !a.labels.is_clean() || !b.labels.is_clean() {
            let bits = (0..len).map(|i| (of(i).0.0 | of(i).1.0) as i64).collect();
            let zeros = [a, b].iter().all(|operand| undefined_are_zero(*operand));
            combined = self.combined(at, Labels::new(bits), zeros);
        }
        let labels = Labels::union(len, &[&combined, c.labels]);
        let made: Vec<usize> =
            (0..len).filter(|&i| !is_finite(result, i) && of(i).0.1 && of(i).1.1 && is_finite(c.data, i)).collect();
        self.with(labels, at, Kind::NotFinite, len, &made)
    }

    /// The labels of what a combination of many elements gives: of undefined ones, it is the place where they decide.
    pub(crate) fn combined(&mut self, at: At, labels: Labels, are_harmless: bool) -> Labels {
        let Some(bits) = labels.bits() else { return labels };
        let kind = if are_harmless { Kind::ZeroFill } else { Kind::Undefined };
        let bits = bits.iter().map(|&bits| {
            let bits = bits as u64;
            let Some(first) = Kind::Undefined.first_of(bits) else { return bits as i64 };
            let site = self.sites.of(first);
            let label = self.sites.label(Site { kind, at, via: Some(site.via.unwrap_or(site.at)) });
            (bits & !Kind::Undefined.bits() | label) as i64
        });
        Labels::new(bits.collect())
    }

    /// What a reduction or a scan has made of its operands.
    pub(crate) fn reduced(&mut self, at: At, function: &Function, region: BlockId, operands: &[Operand<'_>], result: &mut Tile) {
        if !result.labels.is_clean() {
            let are_harmless = match operands {
                [operand] => undefined_are_zero(*operand) && zero_changes_nothing(function, region, operand.data),
                _ => false,
            };
            result.labels = self.combined(at, result.labels.clone(), are_harmless);
        }
    }

    pub(crate) fn counted(&mut self, at: At, values: Operand<'_>, mask: Option<Operand<'_>>, bins: usize) -> Labels {
        let is_active = |i: usize| !matches!(mask.map(|mask| mask.data), Some(Data::I1(mask)) if !mask[i]);
        let bits = (0..values.data.len()).filter(|&i| is_active(i)).fold(0, |bits, i| bits | values.labels.at(i));
        let bits = bits | mask.map_or(0, |mask| (0..mask.data.len()).fold(0, |bits, i| bits | mask.labels.at(i)));
        self.combined(at, Labels::new(vec![bits as i64; bins]), false)
    }
}

/// The elements whose exact result does not fit, as signed numbers.
fn wrapping(op: BinaryOp, a: &Data, b: &Data) -> Vec<usize> {
    macro_rules! overflowing {
        ($a:expr, $b:expr) => {
            $a.iter()
                .zip($b)
                .enumerate()
                .filter(|(_, (x, y))| match op {
                    BinaryOp::AddI => x.checked_add(**y).is_none(),
                    BinaryOp::SubI => x.checked_sub(**y).is_none(),
                    _ => x.checked_mul(**y).is_none(),
                })
                .map(|(i, _)| i)
                .collect()
        };
    }
    match (a, b) {
        (Data::I8(a), Data::I8(b)) => overflowing!(a, b),
        (Data::I16(a), Data::I16(b)) => overflowing!(a, b),
        (Data::I32(a), Data::I32(b)) => overflowing!(a, b),
        (Data::I64(a), Data::I64(b)) => overflowing!(a, b),
        _ => Vec::new(),
    }
}

fn is_finite(data: &Data, i: usize) -> bool {
    match data {
        Data::F32(v) => v[i].is_finite(),
        Data::F64(v) => v[i].is_finite(),
        _ => true,
    }
}

fn is_nan(data: &Data, i: usize) -> bool {
    match data {
        Data::F32(v) => v[i].is_nan(),
        Data::F64(v) => v[i].is_nan(),
        _ => false,
    }
}

/// The elements that are NaN though no operand is, or infinite though every operand is finite.
fn beginning<'a>(operands: impl Iterator<Item = &'a Data> + Clone, result: &Data) -> Vec<usize> {
    let begins = |&i: &usize| {
        if is_nan(result, i) {
            operands.clone().all(|data| !is_nan(data, i))
        } else {
            !is_finite(result, i) && operands.clone().all(|data| is_finite(data, i))
        }
    };
    match result {
        Data::F32(_) | Data::F64(_) => (0..result.len()).filter(begins).collect(),
        _ => Vec::new(),
    }
}

fn undefined_are_zero(operand: Operand<'_>) -> bool {
    (0..operand.data.len()).all(|i| Kind::Undefined.first_of(operand.labels.at(i)).is_none() || labels::is_zero(operand.data, i))
}

/// Whether a 0 more changes nothing: in a sum, and in the maximum of what is not negative.
fn zero_changes_nothing(function: &Function, region: BlockId, data: &Data) -> bool {
    let [op, _] = function.block(region).ops[..] else { return false };
    match function.op(op).kind {
        OpKind::Binary(BinaryOp::AddI | BinaryOp::AddF | BinaryOp::Or | BinaryOp::Xor) => true,
        OpKind::Binary(BinaryOp::MaxF | BinaryOp::MaxNan | BinaryOp::MaxS) => match data {
            Data::F32(v) => v.iter().all(|&x| x >= 0.0),
            Data::F64(v) => v.iter().all(|&x| x >= 0.0),
            Data::I32(v) => v.iter().all(|&x| x >= 0),
            Data::I64(v) => v.iter().all(|&x| x >= 0),
            _ => false,
        },
        _ => false,
    }
}
