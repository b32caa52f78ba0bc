//! How an argument is written by hand: in requests, on the command line, in tests.
//!
//! A type is spelled as everywhere (`f32`, `*f16`, `(*f32, i32)`, `tensordesc<f16[64, 64]>`; Triton's own spellings are accepted), `*k…` is
//! a pointer to const; `:16` says that the value or address is a multiple of 16, `:1` that an integer is specialised to the constant 1.
//! **Invariant:** what is printed for an argument can be read again, facts aside.

use super::{ArgType, Argument};
use crate::{constant::Const, dtype::DType};

/// One argument; an error says what cannot be read.
pub fn parse_argument(text: &str) -> Result<Argument, String> {
    let text = text.trim();
    if let Some(inside) = text.strip_prefix('(').and_then(|t| t.strip_suffix(')')) {
        return pieces(inside).into_iter().map(parse_argument).collect::<Result<_, _>>().map(Argument::Tuple);
    }
    if let Some(inside) = text.strip_prefix("tensordesc<") {
        return descriptor(inside).ok_or_else(|| format!("`{text}` is not a tensor descriptor; `tensordesc<f16[64, 64]>` is"));
    }
    if let Some(value) = text.strip_prefix("constexpr[").and_then(|t| t.strip_suffix(']')) {
        return literal(value).map(Argument::Constexpr).ok_or_else(|| format!("`{value}` is not a compile-time value"));
    }
    if text == "unknown" {
        return Ok(Argument::Unknown);
    }
    let (ty, fact) = match text.rsplit_once(':') {
        Some((ty, fact)) => (ty, Some(fact)),
        None => (text, None),
    };
    let named = |name: &str| DType::from_name(name).ok_or_else(|| format!("`{name}` is not a type"));
    let ty = match ty.strip_prefix('*') {
        // No type starts with k, so `*k` can only be a pointer to const.
        Some(pointee) => match pointee.strip_prefix('k') {
            Some(pointee) => ArgType::Ptr { elem: named(pointee)?, is_const: true },
            None => ArgType::Ptr { elem: named(pointee)?, is_const: false },
        },
        None => ArgType::Scalar(named(ty)?),
    };
    match fact {
        None => Ok(Argument::Runtime { ty, divisible_by_16: false }),
        Some("16") => Ok(Argument::Runtime { ty, divisible_by_16: true }),
        Some("1") if matches!(ty, ArgType::Scalar(dtype) if dtype.is_int()) => Ok(Argument::Constexpr(Const::Int(1))),
        Some(fact) => Err(format!("`:{fact}` is not a fact of `{text}`; `:16` and, for integers, `:1` are")),
    }
}

/// `f16[64, 64]>`, perhaps with the layout that other tools write after the shape, perhaps `, nan`.
fn descriptor(text: &str) -> Option<Argument> {
    let (elem, rest) = text.strip_suffix('>')?.split_once('[')?;
    let (block, rest) = rest.split_once(']')?;
    let block: Vec<u32> = block.split(',').map(|n| n.trim().parse().ok()).collect::<Option<_>>()?;
    let is_fine = (1..=5).contains(&block.len()) && block.iter().all(|n| n.is_power_of_two());
    let nan = rest.split(',').any(|word| word.trim() == "nan");
    is_fine.then_some(Argument::Descriptor { elem: DType::from_name(elem.trim())?, block, nan })
}

fn literal(text: &str) -> Option<Const> {
    Some(match text {
        "None" => Const::None,
        "True" => Const::Bool(true),
        "False" => Const::Bool(false),
        _ if text.starts_with('(') && text.ends_with(')') => {
            Const::Tuple(pieces(&text[1..text.len() - 1]).into_iter().map(literal).collect::<Option<_>>()?)
        }
        _ => match (text.parse::<i128>(), text.parse::<f64>()) {
            (Ok(int), _) => Const::Int(int),
            (_, Ok(float)) => Const::float(float),
            _ => match text.strip_prefix('"').and_then(|t| t.strip_suffix('"')) {
                Some(word) => Const::Str(word.to_owned()),
                None => Const::DType(DType::from_name(text.trim_start_matches("tl."))?),
            },
        },
    })
}

/// What stands between commas that no bracket holds.
fn pieces(text: &str) -> Vec<&str> {
    let (mut out, mut depth, mut start) = (Vec::new(), 0i32, 0);
    for (at, c) in text.char_indices() {
        match c {
            '(' | '[' | '<' => depth += 1,
            ')' | ']' | '>' => depth -= 1,
            ',' if depth == 0 => {
                out.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    out.push(text[start..].trim());
    out.retain(|piece| !piece.is_empty());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_is_read() {
        for text in [
            "*f16",
            "u64",
            "(*f32, i32)",
            "(*f32,)",
            "((i1, *bf16), constexpr[4], constexpr[None])",
            "tensordesc<f16[64, 64]>",
            "unknown",
            "constexpr[\"relu\"]",
            "constexpr[0.5]",
            "constexpr[(1, 2)]",
        ] {
            assert_eq!(parse_argument(text).map(|a| a.to_string()).as_deref(), Ok(text));
        }
    }

    #[test]
    fn facts_and_other_spellings() {
        let spelled = |text| match parse_argument(text) {
            Ok(a) => format!("{a:?}"),
            Err(e) => e,
        };
        for (text, expected) in [
            ("*fp16:16", "Runtime { ty: Ptr { elem: F16, is_const: false }, divisible_by_16: true }"),
            ("*kfp32", "Runtime { ty: Ptr { elem: F32, is_const: true }, divisible_by_16: false }"),
            ("i32:1", "Constexpr(Int(1))"),
            ("u64", "Runtime { ty: Scalar(U64), divisible_by_16: false }"),
            ("tensordesc<fp16[128,64]>", "Descriptor { elem: F16, block: [128, 64], nan: false }"),
            ("tensordesc<fp16[128,60]>", "`tensordesc<fp16[128,60]>` is not a tensor descriptor; `tensordesc<f16[64, 64]>` is"),
            ("f32:1", "`:1` is not a fact of `f32:1`; `:16` and, for integers, `:1` are"),
            ("fp17", "`fp17` is not a type"),
        ] {
            assert_eq!(spelled(text), expected);
        }
    }
}
