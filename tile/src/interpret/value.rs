//! What a value is while a program runs: one compact vector of elements, row-major.
//!
//! **Invariant:** the variant follows from the element type: narrow floats are held as `f32` (see [`super::float`]), pointers as `i64`.

use std::{cell::RefCell, rc::Rc};

use super::float;
use crate::{
    sanitize::Labels,
    types::{Elem, Scalar},
};

#[derive(Debug, Clone, PartialEq)]
pub enum Data {
    I1(Vec<bool>),
    I8(Vec<i8>),
    I16(Vec<i16>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    /// `f8e4m3`, `f8e5m2`, `f16`, `bf16` and `f32`.
    F32(Vec<f32>),
    F64(Vec<f64>),
}

/// What a value of the IR is bound to.
#[derive(Debug, Clone, Default)]
pub(crate) enum Slot {
    #[default]
    Empty,
    Tile(Rc<Data>, Labels),
    Shared(Rc<RefCell<Data>>),
    /// One buffer a slot.
    Ring(Rc<[Rc<RefCell<Data>>]>),
}

impl Slot {
    pub(crate) fn of(data: Data) -> Slot {
        Slot::Tile(Rc::new(data), Labels::CLEAN)
    }

    pub(crate) fn bytes(&self) -> u64 {
        match self {
            Slot::Empty => 0,
            Slot::Tile(data, labels) => data.bytes() + labels.bytes(),
            Slot::Shared(data) => data.borrow().bytes(),
            Slot::Ring(slots) => slots.iter().map(|data| data.borrow().bytes()).sum(),
        }
    }
}

impl From<Tile> for Slot {
    fn from(tile: Tile) -> Slot {
        Slot::Tile(Rc::new(tile.data), tile.labels)
    }
}

/// The elements of a value, and what is known to be wrong with them.
#[derive(Debug, Clone)]
pub(crate) struct Tile {
    pub(crate) data: Data,
    pub(crate) labels: Labels,
}

/// The same expression over the vector of every variant, giving `Data` of the same variant.
macro_rules! map_data {
    ($data:expr, $v:ident => $body:expr) => {
        match $data {
            Data::I1($v) => Data::I1($body),
            Data::I8($v) => Data::I8($body),
            Data::I16($v) => Data::I16($body),
            Data::I32($v) => Data::I32($body),
            Data::I64($v) => Data::I64($body),
            Data::F32($v) => Data::F32($body),
            Data::F64($v) => Data::F64($body),
        }
    };
}

/// The same expression over the vector of every variant.
macro_rules! with_data {
    ($data:expr, $v:ident => $body:expr) => {
        match $data {
            Data::I1($v) => $body,
            Data::I8($v) => $body,
            Data::I16($v) => $body,
            Data::I32($v) => $body,
            Data::I64($v) => $body,
            Data::F32($v) => $body,
            Data::F64($v) => $body,
        }
    };
}

pub(crate) use map_data;

/// How a masked-off element without `other` looks: NaN, or this byte repeated. Nobody may depend on it; it is chosen to be noticed.
pub const POISON_BYTE: u8 = 0xa5;

impl Data {
    pub fn len(&self) -> usize {
        with_data!(self, v => v.len())
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn bytes(&self) -> u64 {
        with_data!(self, v => std::mem::size_of_val(v.as_slice()) as u64)
    }

    /// `len` times an integer, truncated to the element's width.
    pub(crate) fn ints(elem: Elem, value: i64, len: usize) -> Data {
        match elem {
            Elem::Ptr(_) | Elem::Scalar(Scalar::I64) => Data::I64(vec![value; len]),
            Elem::Scalar(Scalar::I1) => Data::I1(vec![value & 1 != 0; len]),
            Elem::Scalar(Scalar::I8) => Data::I8(vec![value as i8; len]),
            Elem::Scalar(Scalar::I16) => Data::I16(vec![value as i16; len]),
            Elem::Scalar(Scalar::I32) => Data::I32(vec![value as i32; len]),
            Elem::Scalar(s) => Data::floats(s, value as f64, len),
        }
    }

    /// `len` times a float, rounded to the element.
    pub(crate) fn floats(scalar: Scalar, value: f64, len: usize) -> Data {
        match scalar {
            Scalar::F64 => Data::F64(vec![value; len]),
            scalar => Data::F32(vec![float::round_f64(scalar, value); len]),
        }
    }

    pub(crate) fn poison(elem: Elem, len: usize) -> Data {
        match elem {
            Elem::Scalar(s) if s.is_float() => Data::floats(s, f64::NAN, len),
            elem => Data::ints(elem, i64::from_ne_bytes([POISON_BYTE; 8]), len),
        }
    }

    /// The only or first element as an integer; floats give 0.
    pub(crate) fn first_int(&self) -> i64 {
        match self {
            Data::I1(v) => v.first().map_or(0, |&b| i64::from(b)),
            Data::I8(v) => v.first().map_or(0, |&x| i64::from(x)),
            Data::I16(v) => v.first().map_or(0, |&x| i64::from(x)),
            Data::I32(v) => v.first().map_or(0, |&x| i64::from(x)),
            Data::I64(v) => v.first().copied().unwrap_or(0),
            Data::F32(_) | Data::F64(_) => 0,
        }
    }

    /// Element `i` as the bits memory holds.
    pub(crate) fn bits(&self, scalar: Scalar, i: usize) -> u64 {
        match self {
            Data::I1(v) => u64::from(v[i]),
            Data::I8(v) => u64::from(v[i] as u8),
            Data::I16(v) => u64::from(v[i] as u16),
            Data::I32(v) => u64::from(v[i] as u32),
            Data::I64(v) => v[i] as u64,
            Data::F32(v) => u64::from(float::encode(scalar, v[i])),
            Data::F64(v) => v[i].to_bits(),
        }
    }

    /// The inverse of [`Data::bits`], for a whole tile.
    pub(crate) fn from_bits(scalar: Scalar, bits: impl Iterator<Item = u64>) -> Data {
        match scalar {
            Scalar::I1 => Data::I1(bits.map(|b| b & 1 != 0).collect()),
            Scalar::I8 => Data::I8(bits.map(|b| b as i8).collect()),
            Scalar::I16 => Data::I16(bits.map(|b| b as i16).collect()),
            Scalar::I32 => Data::I32(bits.map(|b| b as i32).collect()),
            Scalar::I64 => Data::I64(bits.map(|b| b as i64).collect()),
            Scalar::F64 => Data::F64(bits.map(f64::from_bits).collect()),
            scalar => Data::F32(bits.map(|b| float::decode(scalar, b as u32)).collect()),
        }
    }
}
