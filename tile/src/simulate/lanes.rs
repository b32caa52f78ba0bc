//! One register of every thread, and which of them hold nothing defined.
//!
//! **Invariant:** `undefined`, where present, is as long as the data; it holds 0 for a defined element, else the number of the operation that
//! left it undefined, plus 1.

use std::rc::Rc;

use crate::{
    interpret::{
        Data,
        elementwise::{elementwise, gather},
        value::map_data,
    },
    module::OpId,
    ops::{BinaryOp, OpKind},
    types::{Elem, Scalar},
};

#[derive(Debug, Clone)]
pub(super) struct Lanes {
    pub(super) data: Data,
    undefined: Option<Box<[u32]>>,
}

/// A register of the whole CTA: element `t` is thread `t`'s.
pub(super) type Register = Rc<Lanes>;

impl Lanes {
    pub(super) fn new(data: Data) -> Register {
        Rc::new(Lanes { data, undefined: None })
    }

    /// From bits as memory holds them, and marks as in `undefined`.
    pub(super) fn from_bits(elem: Elem, bits: &[u64], undefined: Vec<u32>) -> Register {
        let data = match elem {
            Elem::Scalar(s) => Data::from_bits(s, bits.iter().copied()),
            Elem::Ptr(_) => Data::I64(bits.iter().map(|&b| b as i64).collect()),
        };
        let undefined = undefined.iter().any(|&u| u != 0).then(|| undefined.into());
        Rc::new(Lanes { data, undefined })
    }

    /// Of any value, as an operation has left them.
    pub(super) fn undefined_by(op: OpId, elem: Elem, len: usize) -> Register {
        Rc::new(Lanes { data: Data::poison(elem, len), undefined: Some(vec![op.0 + 1; len].into()) })
    }

    /// Other data, as far as these are defined.
    pub(super) fn with(&self, data: Data) -> Register {
        Rc::new(Lanes { data, undefined: self.undefined.clone() })
    }

    /// With the one NaN that a GPU's arithmetic gives: the host's keeps the sign of an operand, and lanes of a butterfly have them the other way
    /// round.
    pub(super) fn with_one_nan(register: Register) -> Register {
        match &register.data {
            Data::F32(values) if values.iter().any(|v| v.is_nan()) => {
                register.with(Data::F32(values.iter().map(|&v| if v.is_nan() { f32::NAN } else { v }).collect()))
            }
            Data::F64(values) if values.iter().any(|v| v.is_nan()) => {
                register.with(Data::F64(values.iter().map(|&v| if v.is_nan() { f64::NAN } else { v }).collect()))
            }
            _ => register,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.data.len()
    }

    /// The bits memory would hold.
    pub(super) fn bits(&self, elem: Elem, t: usize) -> u64 {
        self.data.bits(elem.scalar().unwrap_or(Scalar::I64), t)
    }

    /// 0, or who left thread `t`'s element undefined, plus 1.
    pub(super) fn mark(&self, t: usize) -> u32 {
        self.undefined.as_ref().map_or(0, |u| u[t])
    }

    /// The operation that left thread `t`'s element undefined.
    pub(super) fn undefined(&self, t: usize) -> Option<OpId> {
        match self.mark(t) {
            0 => None,
            op => Some(OpId(op - 1)),
        }
    }

    pub(super) fn is_defined(&self) -> bool {
        self.undefined.is_none()
    }

    pub(super) fn int(&self, t: usize) -> i64 {
        match &self.data {
            Data::I1(v) => i64::from(v[t]),
            Data::I8(v) => i64::from(v[t]),
            Data::I16(v) => i64::from(v[t]),
            Data::I32(v) => i64::from(v[t]),
            Data::I64(v) => v[t],
            Data::F32(_) | Data::F64(_) => 0,
        }
    }

    pub(super) fn bool(&self, t: usize) -> bool {
        self.int(t) & 1 != 0
    }

    /// Thread `t` gets what thread `from(t)` has.
    pub(super) fn moved(&self, len: usize, from: impl Fn(usize) -> usize) -> Register {
        let data = gather(&self.data, (0..len).map(&from));
        let undefined = self.undefined.as_ref().map(|u| (0..len).map(|t| u[from(t)]).collect());
        Rc::new(Lanes { data, undefined })
    }

    /// Element `t` of `a` where `first(t)`, else of `b`.
    pub(super) fn mix(a: &Lanes, b: &Lanes, first: impl Fn(usize) -> bool) -> Option<Register> {
        let condition = Data::I1((0..a.len()).map(&first).collect());
        let data = elementwise(&OpKind::Select, &[], Elem::Scalar(Scalar::I1), &[&condition, &a.data, &b.data])?;
        let undefined = (a.undefined.is_some() || b.undefined.is_some())
            .then(|| (0..a.len()).map(|t| if first(t) { a.mark(t) } else { b.mark(t) }).collect());
        Some(Rc::new(Lanes { data, undefined }))
    }

    /// One thread behind the other.
    pub(super) fn joined(parts: &[Register]) -> Option<Register> {
        let first = parts.first()?;
        let mut ends = Vec::with_capacity(parts.len());
        let mut total = 0;
        for part in parts {
            total += part.len();
            ends.push(total);
        }
        macro_rules! join {
            ($($variant:ident),+) => {
                match &first.data {
                    $(Data::$variant(_) => Data::$variant(
                        parts
                            .iter()
                            .map(|p| match &p.data { Data::$variant(v) => Some(v.as_slice()), _ => None })
                            .collect::<Option<Vec<_>>>()?
                            .concat(),
                    ),)+
                }
            };
        }
        let data = join!(I1, I8, I16, I32, I64, F32, F64);
        let undefined = parts
            .iter()
            .any(|p| p.undefined.is_some())
            .then(|| parts.iter().flat_map(|p| (0..p.len()).map(|t| p.mark(t))).collect());
        Some(Rc::new(Lanes { data, undefined }))
    }

    /// Threads `a` and `b` hold the same; two NaN are the same.
    pub(super) fn same(x: &Lanes, a: usize, y: &Lanes, b: usize) -> bool {
        if (x.mark(a) == 0) != (y.mark(b) == 0) {
            return false;
        }
        if x.mark(a) != 0 {
            return true;
        }
        match (&x.data, &y.data) {
            (Data::I1(x), Data::I1(y)) => x[a] == y[b],
            (Data::I8(x), Data::I8(y)) => x[a] == y[b],
            (Data::I16(x), Data::I16(y)) => x[a] == y[b],
            (Data::I32(x), Data::I32(y)) => x[a] == y[b],
            (Data::I64(x), Data::I64(y)) => x[a] == y[b],
            (Data::F32(x), Data::F32(y)) => x[a].to_bits() == y[b].to_bits() || x[a].is_nan() && y[b].is_nan(),
            (Data::F64(x), Data::F64(y)) => x[a].to_bits() == y[b].to_bits() || x[a].is_nan() && y[b].is_nan(),
            _ => false,
        }
    }

    /// The operation on every thread. An undefined operand leaves the result undefined, unless the others decide it.
    pub(super) fn elementwise(kind: &OpKind, from: &[Elem], to: Elem, operands: &[&Lanes]) -> Option<Register> {
        let data: Vec<&Data> = operands.iter().map(|o| &o.data).collect();
        let data = elementwise(kind, from, to, &data)?;
        if operands.iter().all(|o| o.is_defined()) {
            return Some(Lanes::new(data));
        }
        let first = |t: usize| operands.iter().map(|o| o.mark(t)).find(|&u| u != 0).unwrap_or(0);
        let all_ones = |o: &Lanes, t: usize| o.mark(t) == 0 && if let Data::I1(v) = &o.data { v[t] } else { o.int(t) == -1 };
        let zero = |o: &Lanes, t: usize| o.mark(t) == 0 && o.int(t) == 0;
        let undefined: Box<[u32]> = (0..data.len())
            .map(|t| match (kind, operands) {
                (OpKind::Select, [condition, a, b]) => match condition.mark(t) {
                    0 if condition.bool(t) => a.mark(t),
                    0 => b.mark(t),
                    op => op,
                },
                (OpKind::Binary(BinaryOp::And), [a, b]) if zero(a, t) || zero(b, t) => 0,
                (OpKind::Binary(BinaryOp::Or), [a, b]) if all_ones(a, t) || all_ones(b, t) => 0,
                _ => first(t),
            })
            .collect();
        Some(Rc::new(Lanes { data, undefined: undefined.iter().any(|&u| u != 0).then_some(undefined) }))
    }

    /// The same for every thread.
    pub(super) fn splat(&self, t: usize, len: usize) -> Register {
        let data = map_data!(&self.data, v => vec![v[t]; len]);
        let undefined = (self.mark(t) != 0).then(|| vec![self.mark(t); len].into());
        Rc::new(Lanes { data, undefined })
    }
}
