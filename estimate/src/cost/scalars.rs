//! Scalars of one program: their numbers under a launch, and trips of loops in the names of the parameters.
//!
//! **Invariant:** what depends on memory has no number, and what has no number is unknown, never a guess.

use rustc_hash::FxHashMap;
use tritium_tile::{
    Function, OpKind, ValueDef, ValueId,
    ops::{BinaryOp, CastOp, Constant, Predicate},
};

use super::Launch;

/// Definitions that a number may follow from.
const MAX_DEFINITIONS: u32 = 64;

/// One program of a launch.
pub(super) struct Program<'a> {
    pub function: &'a Function,
    pub launch: Option<&'a Launch>,
    pub pid: [u64; 3],
    pub grid: [u64; 3],
    /// Induction variables of the loops that are being looked into.
    pub inside: FxHashMap<ValueId, i64>,
}

impl<'a> Program<'a> {
    /// The program of this linear number; the first axis runs fastest.
    pub(super) fn new(function: &'a Function, launch: Option<&'a Launch>, number: u64) -> Program<'a> {
        let grid = launch.map_or([1, 1, 1], |l| l.grid.map(|n| n.max(1)));
        let pid = [number % grid[0], number / grid[0] % grid[1], number / grid[0] / grid[1]];
        Program { function, launch, pid, grid, inside: FxHashMap::default() }
    }

    pub(super) fn scalar(&self, value: ValueId) -> Option<i64> {
        self.deep(value, 0)
    }

    fn deep(&self, value: ValueId, depth: u32) -> Option<i64> {
        if depth > MAX_DEFINITIONS {
            return None;
        }
        let id = match self.function.value(value).def {
            ValueDef::Result(op, _) => op,
            ValueDef::Argument(..) => {
                let given = || self.launch?.scalar(self.function, value);
                return self.inside.get(&value).copied().or_else(given);
            }
        };
        let op = self.function.op(id);
        let operand = |n: usize| self.deep(op.operands[n], depth + 1);
        let bits = self.function.ty(value).elem().bits();
        let wrap = |n: i64| if bits >= 64 || bits == 0 { n } else { n << (64 - bits) >> (64 - bits) };
        Some(match &op.kind {
            OpKind::Constant(Constant::Int(n)) => *n,
            OpKind::ProgramId { axis } => self.launch.and(self.pid.get(usize::from(*axis)).map(|&n| n as i64))?,
            OpKind::NumPrograms { axis } => self.launch.and(self.grid.get(usize::from(*axis)).map(|&n| n as i64))?,
            OpKind::Promise { .. } => operand(0)?,
            OpKind::Cast(CastOp::ExtS | CastOp::Trunc) => wrap(operand(0)?),
            OpKind::Cast(CastOp::ExtU) => {
                let narrow = self.function.ty(op.operands[0]).elem().bits();
                let number = operand(0)?;
                if narrow == 1 { number & 1 } else { Some(number).filter(|&n| n >= 0)? }
            }
            OpKind::Select => {
                if operand(0)? != 0 {
                    operand(1)?
                } else {
                    operand(2)?
                }
            }
            OpKind::Binary(binary) => {
                let (a, b) = (operand(0)?, operand(1)?);
                wrap(match binary {
                    BinaryOp::AddI => a.wrapping_add(b),
                    BinaryOp::SubI => a.wrapping_sub(b),
                    BinaryOp::MulI => a.wrapping_mul(b),
                    BinaryOp::DivS => a.checked_div(b)?,
                    BinaryOp::RemS => a.checked_rem(b)?,
                    BinaryOp::DivU if a >= 0 && b > 0 => a / b,
                    BinaryOp::RemU if a >= 0 && b > 0 => a % b,
                    BinaryOp::And => a & b,
                    BinaryOp::Or => a | b,
                    BinaryOp::Xor => a ^ b,
                    BinaryOp::MinS => a.min(b),
                    BinaryOp::MaxS => a.max(b),
                    BinaryOp::Shl => a.checked_shl(u32::try_from(b).ok()?)?,
                    BinaryOp::ShrS => a.checked_shr(u32::try_from(b).ok()?)?,
                    BinaryOp::ShrU if a >= 0 => a.checked_shr(u32::try_from(b).ok()?)?,
                    _ => return None,
                })
            }
            OpKind::Compare(predicate) => {
                let (a, b) = (operand(0)?, operand(1)?);
                i64::from(match predicate {
                    Predicate::Eq => a == b,
                    Predicate::Ne => a != b,
                    Predicate::LtS => a < b,
                    Predicate::LeS => a <= b,
                    Predicate::GtS => a > b,
                    Predicate::GeS => a >= b,
                    _ => return None,
                })
            }
            _ => return None,
        })
    }
}

/// Terms deeper than this are not read by anybody.
const WRITTEN: u32 = 6;

/// What a scalar is in the names of the parameters (`(K + 63) // 64`), and whether it must be put in brackets as an operand.
fn written(function: &Function, value: ValueId, depth: u32) -> Option<(String, bool)> {
    if depth > WRITTEN {
        return None;
    }
    let id = match function.value(value).def {
        ValueDef::Result(op, _) => op,
        ValueDef::Argument(..) => return function.params.iter().find(|p| p.value == value).map(|p| (p.name.clone(), false)),
    };
    let op = function.op(id);
    let operand = |n: usize| written(function, op.operands[n], depth + 1);
    let bracketed = |(text, compound): (String, bool)| if compound { format!("({text})") } else { text };
    Some(match &op.kind {
        OpKind::Constant(Constant::Int(n)) => (n.to_string(), *n < 0),
        OpKind::ProgramId { axis } => (format!("program_id({axis})"), false),
        OpKind::NumPrograms { axis } => (format!("num_programs({axis})"), false),
        OpKind::Promise { .. } | OpKind::Cast(CastOp::ExtS | CastOp::ExtU | CastOp::Trunc) => operand(0)?,
        OpKind::Binary(binary) => {
            let sign = match binary {
                BinaryOp::AddI => "+",
                BinaryOp::SubI => "-",
                BinaryOp::MulI => "·",
                BinaryOp::DivS | BinaryOp::DivU => {
                    if let Some(text) = rounded_up(function, op.operands[0], op.operands[1], depth) {
                        return Some((text, false));
                    }
                    "//"
                }
                BinaryOp::RemS | BinaryOp::RemU => "%",
                BinaryOp::MinS => return Some((format!("min({}, {})", operand(0)?.0, operand(1)?.0), false)),
                BinaryOp::MaxS => return Some((format!("max({}, {})", operand(0)?.0, operand(1)?.0), false)),
                _ => return None,
            };
            (format!("{} {sign} {}", bracketed(operand(0)?), bracketed(operand(1)?)), true)
        }
        _ => return None,
    })
}

/// `(x + (d - 1)) / d` is `cdiv(x, d)`.
fn rounded_up(function: &Function, dividend: ValueId, divisor: ValueId, depth: u32) -> Option<String> {
    let constant = |value: ValueId| match function.def_op(value).map(|id| &function.op(id).kind) {
        Some(OpKind::Constant(Constant::Int(n))) => Some(*n),
        _ => None,
    };
    let (d, sum) = (constant(divisor)?, function.op(function.def_op(dividend)?));
    let (OpKind::Binary(BinaryOp::AddI), [x, rest]) = (&sum.kind, &sum.operands[..]) else { return None };
    (constant(*rest)? == d - 1).then_some(())?;
    Some(format!("cdiv({}, {d})", written(function, *x, depth + 1)?.0))
}

/// How often `for i in range(lower, upper, step)` runs.
pub(super) fn trips_text(function: &Function, [lower, upper, step]: [ValueId; 3]) -> Option<String> {
    let (upper, step) = (written(function, upper, 0)?, written(function, step, 0)?.0);
    let bracketed = |(text, compound): (String, bool)| if compound { format!("({text})") } else { text };
    let length = match written(function, lower, 0)?.0.as_str() {
        "0" => upper,
        lower => (format!("{} - {lower}", bracketed(upper)), true),
    };
    Some(if step == "1" { length.0 } else { format!("cdiv({}, {step})", length.0) })
}

pub(super) fn trips(lower: i64, upper: i64, step: i64) -> u64 {
    if step <= 0 {
        return 0;
    }
    let (lower, upper, step) = (i128::from(lower), i128::from(upper), i128::from(step));
    u64::try_from(((upper - lower) + step - 1).div_euclid(step).max(0)).unwrap_or(u64::MAX)
}
