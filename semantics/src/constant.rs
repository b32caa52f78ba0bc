//! Values known at compile time: what a `tl.constexpr` parameter may hold, what host code computes.
//!
//! **Invariant:** evaluation is total and the same at check and at compile time; what cannot be known is absent, never guessed. Values are
//! trees, so what would outgrow [`MAX_NODES`] is never built.

use std::fmt;

use crate::{Function, dtype::DType};

mod fold;
pub(crate) mod python;

pub use fold::{binary, compare, unary};

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Const {
    None,
    Bool(bool),
    Int(i128),
    Float(Float),
    Str(String),
    DType(DType),
    Tuple(Vec<Const>),
    /// A `@triton.jit` function.
    Function(Function),
}

/// A float compared and hashed by its bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Float(u64);

impl Float {
    pub fn new(value: f64) -> Float {
        Float(value.to_bits())
    }

    pub fn get(self) -> f64 {
        f64::from_bits(self.0)
    }
}

impl fmt::Debug for Float {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.get(), f)
    }
}

/// Tuples and their items, counted at all depths, that one value holds.
pub const MAX_NODES: usize = 1 << 12;

/// A tuple of values; `None` where one is not known or all are too many.
pub fn tuple(items: impl Iterator<Item = Option<Const>>) -> Option<Const> {
    let mut left = MAX_NODES - 1;
    let mut out = Vec::new();
    for item in items {
        let item = item?;
        left = left.checked_sub(item.nodes())?;
        out.push(item);
    }
    Some(Const::Tuple(out))
}

impl Const {
    /// Tuples and their items at all depths, the value itself among them.
    pub fn nodes(&self) -> usize {
        match self {
            Const::Tuple(items) => items.iter().map(Const::nodes).sum::<usize>() + 1,
            _ => 1,
        }
    }

    pub fn float(value: f64) -> Const {
        Const::Float(Float::new(value))
    }

    /// Python's truth.
    pub fn truth(&self) -> bool {
        match self {
            Const::None => false,
            Const::Bool(b) => *b,
            Const::Int(i) => *i != 0,
            Const::Float(f) => f.get() != 0.0,
            Const::Str(s) => !s.is_empty(),
            Const::Tuple(t) => !t.is_empty(),
            Const::DType(_) | Const::Function(_) => true,
        }
    }

    /// An `int` or a `bool`, as Python's `int()` sees it.
    pub fn as_int(&self) -> Option<i128> {
        match self {
            Const::Int(i) => Some(*i),
            Const::Bool(b) => Some(i128::from(*b)),
            _ => None,
        }
    }

    pub fn as_float(&self) -> Option<f64> {
        match self {
            Const::Float(f) => Some(f.get()),
            _ => self.as_int().map(|i| i as f64),
        }
    }
}

/// `1e-05`, `1e+16`, `nan`: Rust writes the same shortest digits and another exponent.
fn python_float(value: f64) -> String {
    let text = format!("{value:?}");
    if value.is_nan() {
        return "nan".to_owned();
    }
    match text.split_once('e') {
        Some((digits, exponent)) => {
            let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |e| ('-', e));
            format!("{}e{sign}{exponent:0>2}", digits.trim_end_matches(".0"))
        }
        None => text,
    }
}

/// As Python's `repr`, dtypes in our spelling.
impl fmt::Display for Const {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Const::None => f.write_str("None"),
            Const::Bool(true) => f.write_str("True"),
            Const::Bool(false) => f.write_str("False"),
            Const::Int(i) => write!(f, "{i}"),
            Const::Float(x) => f.write_str(&python_float(x.get())),
            Const::Str(s) => write!(f, "{s:?}"),
            Const::DType(d) => write!(f, "{d}"),
            Const::Tuple(items) => {
                f.write_str("(")?;
                for (i, item) in items.iter().enumerate() {
                    if i > 0 {
                        f.write_str(", ")?;
                    }
                    write!(f, "{item}")?;
                }
                f.write_str(if items.len() == 1 { ",)" } else { ")" })
            }
            Const::Function(_) => f.write_str("<function>"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Const;

    #[test]
    fn floats_are_spelled_as_in_python() {
        let spelled = [0.0, 1.5, -2.0, 0.0001, 1e-5, 1.25e-7, 1e16, 123456789012345680.0, 1e300, f64::INFINITY, f64::NAN]
            .map(|x| Const::float(x).to_string());
        let wanted =
            ["0.0", "1.5", "-2.0", "0.0001", "1e-05", "1.25e-07", "1e+16", "1.2345678901234568e+17", "1e+300", "inf", "nan"];
        assert_eq!(spelled, wanted);
    }
}
