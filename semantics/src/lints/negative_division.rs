//! DTY019 negative-division: `//` and `%` of a number that is negative at first round toward 0, not down as in Python.
//!
//! `(i - 1) // 2` is 0 for `i = 0` on the GPU, `-1` in Python; `(i - 1) % n` is `-1`, not `n - 1`. **Invariant:** only said where the number
//! surely is negative in the first program, trip or element, and nothing picks another value there.

use tritium_tile::{
    OpKind, ValueId,
    facts::Symbol,
    ops::{BinaryOp, Predicate},
};

use super::{
    kernel::Kernel,
    masks::{conditions, mask_of},
};
use crate::diagnostics::Code;

/// How far the quotient is followed to where it is used.
const MAX_USES: usize = 64;

pub(super) fn rule(kernel: &mut Kernel<'_>) {
    let mut guarded = None;
    for op in kernel.ops() {
        let (sign, python) = match kernel.function.op(op).kind {
            OpKind::Binary(BinaryOp::DivS) => ("//", "rounds down"),
            OpKind::Binary(BinaryOp::RemS) => ("%", "is never negative"),
            _ => continue,
        };
        let [dividend, divisor] = *kernel.operands(op) else { continue };
        let Some(first) = first_value(kernel, dividend) else { continue };
        if first >= 0
            || guarded.get_or_insert_with(|| kernel.guarded())[op.index()]
            || kernel.facts.range(divisor).min < 1 && !is_param(kernel, divisor)
        {
            continue;
        }
        if is_put_right(kernel, kernel.function.op(op).results[0], divisor) {
            continue;
        }
        let what = kernel.say(dividend, "this number");
        let message = format!(
            "{what} begins at {first}, and `{sign}` of a negative number {} in a kernel, where Python's {python}: add a multiple of the divisor first",
            if sign == "//" { "rounds toward 0" } else { "is negative or 0" },
        );
        let Some(problem) = kernel.problem(Code::DTY019, op, message) else { continue };
        kernel.report(problem);
    }
}

fn is_param(kernel: &Kernel<'_>, value: ValueId) -> bool {
    let value = kernel.core(value);
    kernel.function.params.iter().any(|p| p.value == value) || matches!(kernel.def(value), Some((_, OpKind::NumPrograms { .. })))
}

/// The value in the first program, trip and element, where everything else vanishes.
fn first_value(kernel: &Kernel<'_>, value: ValueId) -> Option<i64> {
    let form = kernel.facts.affine(value)?;
    let mut first = 0;
    let mut moves = false;
    for term in &form.terms {
        if term.symbols.is_empty() && term.dim.is_none() {
            first = term.coefficient;
            continue;
        }
        let vanishes = term.dim.is_some() || term.symbols.iter().any(|s| matches!(s, Symbol::Program(_) | Symbol::Trip(_)));
        if !vanishes {
            return None;
        }
        moves = true;
    }
    moves.then_some(first)
}

/// Whether something picks another value where the number is negative: a `tl.where`, a mask with a lower bound, a sum with the divisor.
fn is_put_right(kernel: &Kernel<'_>, quotient: ValueId, divisor: ValueId) -> bool {
    let mut pending = vec![quotient];
    let mut seen = 0;
    while let Some(value) = pending.pop() {
        seen += 1;
        if seen > MAX_USES {
            return true;
        }
        for &user in &kernel.users[value.index()] {
            match &kernel.function.op(user).kind {
                OpKind::Select | OpKind::Compare(_) | OpKind::If | OpKind::While { .. } | OpKind::For(_) => return true,
                OpKind::Binary(BinaryOp::MaxS | BinaryOp::MinS | BinaryOp::And) => return true,
                OpKind::Binary(BinaryOp::AddI) if kernel.operands(user).iter().any(|&v| kernel.numbers.same(v, divisor)) => {
                    return true;
                }
                OpKind::Load(_) | OpKind::Store(_) | OpKind::AtomicRmw { .. } => {
                    if mask_of(kernel, user).is_some_and(|mask| has_lower_bound(kernel, mask)) {
                        return true;
                    }
                }
                _ => pending.extend(&kernel.function.op(user).results),
            }
        }
    }
    false
}

fn has_lower_bound(kernel: &Kernel<'_>, mask: ValueId) -> bool {
    conditions(kernel, mask).iter().any(|condition| {
        !matches!(
            kernel.def(condition.value),
            Some((_, OpKind::Compare(Predicate::LtS | Predicate::LeS | Predicate::LtU | Predicate::LeU)))
        )
    })
}
