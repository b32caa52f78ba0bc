//! What `print` writes: one line an element, `pid (0, 0, 0) idx (3) prefix: value`.
//!
//! **Invariant:** a value is written by its type alone, so equal programs write equal lines.

use super::value::Data;
use crate::types::{Elem, Scalar, Type};

/// The lines of one operand; `number` tells several operands apart.
pub(crate) fn lines(
    program: [u32; 3],
    prefix: &str,
    number: Option<usize>,
    ty: &Type,
    data: &Data,
    hex: bool,
    signed: bool,
) -> Vec<String> {
    let [x, y, z] = program;
    let operand = number.map_or_else(String::new, |n| format!("(operand {n}) "));
    (0..data.len())
        .map(|i| {
            format!(
                "pid ({x}, {y}, {z}) idx ({}){prefix}{operand}{}",
                index(ty.shape(), i),
                value(ty.elem(), data, i, hex, signed)
            )
        })
        .collect()
}

/// The line of a print without operands.
pub(crate) fn bare(program: [u32; 3], prefix: &str) -> String {
    let [x, y, z] = program;
    format!("pid ({x}, {y}, {z}){prefix}")
}

fn index(shape: &[u32], flat: usize) -> String {
    let mut rest = flat;
    let mut places: Vec<String> = Vec::new();
    for &extent in shape.iter().rev() {
        // As wide as the largest place, so that columns line up.
        let width = ((extent - 1).max(1).ilog10() + 1) as usize;
        places.push(format!("{:>width$}", rest % extent as usize));
        rest /= extent as usize;
    }
    places.reverse();
    places.join(", ")
}

fn value(elem: Elem, data: &Data, i: usize, hex: bool, signed: bool) -> String {
    let scalar = elem.scalar().unwrap_or(Scalar::I64);
    let bits = data.bits(scalar, i);
    if hex || elem.pointee().is_some() {
        return format!("0x{bits:0width$x}", width = scalar.bits().div_ceil(4) as usize);
    }
    match data {
        Data::F32(v) => format!("{:.6}", v[i]),
        Data::F64(v) => format!("{:.6}", v[i]),
        Data::I1(v) => u8::from(v[i]).to_string(),
        Data::I8(v) if signed => v[i].to_string(),
        Data::I16(v) if signed => v[i].to_string(),
        Data::I32(v) if signed => v[i].to_string(),
        Data::I64(v) if signed => v[i].to_string(),
        Data::I8(_) | Data::I16(_) | Data::I32(_) | Data::I64(_) => bits.to_string(),
    }
}
