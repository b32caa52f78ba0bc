//! Labels: which sites an element comes from where something went wrong, as a set of bits beside every element.
//!
//! An element is as wrong as what decides it: a `where` takes the labels of what it picks, an `&` with false is false whatever the other side
//! is. **Invariant:** labels say nothing wrong of an element that no wrong element decides; of more sites than there are bits for, the later ones
//! are not followed.

use std::{collections::HashMap, ops::Range, rc::Rc};

use super::{At, Operand};
use crate::{
    interpret::Data,
    ops::{BinaryOp, CastOp, OpKind},
};

/// A set of sites for each element; `None` where all are empty.
#[derive(Debug, Clone, Default)]
pub(crate) struct Labels(Option<Rc<Data>>);

/// What went wrong at a site.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    Undefined,
    /// Of a way that returns nothing.
    Missing,
    ZeroFill,
    Uninitialised,
    /// Read from between the elements of a view.
    Outside,
    /// An integer that did not fit.
    Wrap,
    NotFinite,
    Division,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Site {
    pub(super) kind: Kind,
    pub(super) at: At,
    /// Where what is combined at the site became undefined.
    pub(super) via: Option<At>,
}

/// The sites that were met, by bit.
#[derive(Debug, Default)]
pub(super) struct Sites {
    bits: HashMap<Site, u32>,
    sites: HashMap<u32, Site>,
    /// The first element that was read at a site.
    tensors: HashMap<u32, (String, Vec<u64>)>,
}

impl Kind {
    const fn range(self) -> Range<u32> {
        match self {
            Kind::Undefined => 0..18,
            Kind::Missing => 18..20,
            Kind::ZeroFill => 20..26,
            Kind::Uninitialised => 26..32,
            Kind::Outside => 32..34,
            Kind::Wrap => 34..44,
            Kind::NotFinite => 44..58,
            Kind::Division => 58..64,
        }
    }

    pub(super) const fn bits(self) -> u64 {
        let Range { start, end } = self.range();
        (u64::MAX >> (64 - (end - start))) << start
    }

    /// The earliest site of this kind.
    pub(super) fn first_of(self, labels: u64) -> Option<u32> {
        let own = labels & self.bits();
        (own != 0).then(|| own.trailing_zeros())
    }
}

/// What stands for any value at all.
pub(super) const UNKNOWN: u64 = Kind::Undefined.bits()
    | Kind::Missing.bits()
    | Kind::ZeroFill.bits()
    | Kind::Uninitialised.bits()
    | Kind::Outside.bits()
    | Kind::Division.bits();

impl Sites {
    /// The bit of a site; none if there are too many of its kind.
    pub(super) fn label(&mut self, site: Site) -> u64 {
        if let Some(bit) = self.bits.get(&site) {
            return 1 << bit;
        }
        let Range { start, end } = site.kind.range();
        let used = self.sites.values().filter(|other| other.kind == site.kind).count() as u32;
        let bit = start + used;
        if bit >= end {
            return 0;
        }
        self.bits.insert(site, bit);
        self.sites.insert(bit, site);
        1 << bit
    }

    pub(super) fn of(&self, bit: u32) -> Site {
        self.sites[&bit]
    }

    pub(super) fn note_tensor(&mut self, label: u64, tensor: impl FnOnce() -> (String, Vec<u64>)) {
        if label != 0 {
            self.tensors.entry(label.trailing_zeros()).or_insert_with(tensor);
        }
    }

    pub(super) fn tensor(&self, bit: u32) -> Option<(String, Vec<u64>)> {
        self.tensors.get(&bit).cloned()
    }
}

impl Labels {
    pub(crate) const CLEAN: Labels = Labels(None);

    pub(crate) fn new(bits: Vec<i64>) -> Labels {
        if bits.iter().all(|&bits| bits == 0) { Labels::CLEAN } else { Labels(Some(Rc::new(Data::I64(bits)))) }
    }

    pub(crate) fn is_clean(&self) -> bool {
        self.0.is_none()
    }

    pub(crate) fn bits(&self) -> Option<&[i64]> {
        match self.0.as_deref() {
            Some(Data::I64(bits)) => Some(bits),
            _ => None,
        }
    }

    pub(crate) fn at(&self, element: usize) -> u64 {
        self.bits().and_then(|bits| bits.get(element)).map_or(0, |&bits| bits as u64)
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.0.as_ref().map_or(0, |data| data.bytes())
    }

    /// Those of the elements moved as `f` moves elements.
    pub(crate) fn map(&self, f: impl FnOnce(&Data) -> Data) -> Labels {
        Labels(self.0.as_deref().map(|data| Rc::new(f(data))))
    }

    fn to_bits(&self, len: usize) -> Vec<i64> {
        self.bits().map_or_else(|| vec![0; len], <[i64]>::to_vec)
    }

    pub(crate) fn append(&mut self, len: usize, from: &Labels, added: usize) {
        if !self.is_clean() || !from.is_clean() {
            let mut bits = self.to_bits(len);
            bits.extend(from.to_bits(added));
            *self = Labels::new(bits);
        }
    }

    pub(crate) fn scatter(&mut self, len: usize, from: &Labels, indices: impl Iterator<Item = usize>) {
        if !self.is_clean() || !from.is_clean() {
            let mut bits = self.to_bits(len);
            indices.enumerate().for_each(|(i, at)| bits[at] = from.at(i) as i64);
            *self = Labels::new(bits);
        }
    }

    pub(super) fn union(len: usize, all: &[&Labels]) -> Labels {
        if all.iter().all(|labels| labels.is_clean()) {
            return Labels::CLEAN;
        }
        Labels::new((0..len).map(|i| all.iter().fold(0, |bits, labels| bits | labels.at(i)) as i64).collect())
    }
}

/// The labels that an elementwise operation's results take from its operands.
pub(super) fn elementwise(kind: &OpKind, operands: &[Operand<'_>], len: usize) -> Labels {
    if operands.iter().all(|operand| operand.labels.is_clean()) {
        return Labels::CLEAN;
    }
    let all = |i: usize| operands.iter().fold(0, |bits, operand| bits | operand.labels.at(i));
    // What remains where the other side decides alone.
    let unless = |decides: &dyn Fn(&Data, usize) -> bool, keep: u64| {
        let bits = (0..len).map(|i| {
            let decided = operands.iter().any(|operand| operand.labels.at(i) & UNKNOWN == 0 && decides(operand.data, i));
            (if decided { all(i) & keep } else { all(i) }) as i64
        });
        bits.collect::<Vec<i64>>()
    };
    let mut bits = match (kind, operands) {
        (OpKind::Select, [condition, a, b]) => {
            let Data::I1(taken) = condition.data else { return Labels::CLEAN };
            let pick = |i: usize| match condition.labels.at(i) {
                0 if taken[i] => a.labels.at(i),
                0 => b.labels.at(i),
                labels => labels | a.labels.at(i) | b.labels.at(i),
            };
            (0..len).map(|i| pick(i) as i64).collect()
        }
        (OpKind::Binary(BinaryOp::And), _) => unless(&is_zero, 0),
        (OpKind::Binary(BinaryOp::Or), _) => unless(&is_all_ones, 0),
        (OpKind::Binary(BinaryOp::MulI | BinaryOp::MulF), _) => unless(&is_zero, Kind::NotFinite.bits()),
        _ => (0..len).map(|i| all(i) as i64).collect(),
    };
    if !keeps_wrap(kind) {
        bits.iter_mut().for_each(|bits| *bits &= !Kind::Wrap.bits() as i64);
    }
    Labels::new(bits)
}

/// Arithmetic of offsets. What mixes bits on purpose, as a hash does, wraps on purpose.
fn keeps_wrap(kind: &OpKind) -> bool {
    match kind {
        OpKind::Binary(op) => !matches!(
            op,
            BinaryOp::And
                | BinaryOp::Or
                | BinaryOp::Xor
                | BinaryOp::ShrS
                | BinaryOp::ShrU
                | BinaryOp::RemS
                | BinaryOp::RemU
                | BinaryOp::MulHiU
        ),
        // Read as unsigned, the sum may have fitted.
        OpKind::Cast(op) => matches!(op, CastOp::ExtS | CastOp::Trunc | CastOp::IntToPtr | CastOp::PtrCast),
        OpKind::AddPtr | OpKind::Select | OpKind::Promise { .. } => true,
        _ => false,
    }
}

pub(super) fn is_zero(data: &Data, i: usize) -> bool {
    match data {
        Data::I1(v) => !v[i],
        Data::I8(v) => v[i] == 0,
        Data::I16(v) => v[i] == 0,
        Data::I32(v) => v[i] == 0,
        Data::I64(v) => v[i] == 0,
        Data::F32(v) => v[i] == 0.0,
        Data::F64(v) => v[i] == 0.0,
    }
}

fn is_all_ones(data: &Data, i: usize) -> bool {
    match data {
        Data::I1(v) => v[i],
        Data::I8(v) => v[i] == -1,
        Data::I16(v) => v[i] == -1,
        Data::I32(v) => v[i] == -1,
        Data::I64(v) => v[i] == -1,
        Data::F32(_) | Data::F64(_) => false,
    }
}
