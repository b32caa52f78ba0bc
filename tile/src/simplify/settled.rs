//! Values that loops and branches pass on, and that are one value whichever way the program comes: a tensor descriptor that a loop makes again.

use super::literals;
use crate::{
    control::Carried,
    module::{Function, OpId, ValueId},
    ops::OpKind,
};

/// What a loop or a branch gives or carries, and the value in front of it that it is.
pub(super) fn settled(function: &Function, id: OpId) -> Vec<(ValueId, ValueId)> {
    let op = function.op(id);
    match op.kind {
        OpKind::For(_) => {
            let unchanged = literals::unchanged(function, id).into_iter();
            unchanged.flat_map(|carried| [(carried.arg, carried.init), (carried.result, carried.init)]).collect()
        }
        OpKind::While { .. } => of_while(function, id),
        OpKind::If if op.regions.len() == 2 => {
            let [then, otherwise] = [0, 1].map(|region| function.passed(op.regions[region]));
            let both = op.results.iter().zip(then.iter().zip(otherwise));
            // What both regions see is made in front of them.
            both.filter(|(_, (then, otherwise))| then == otherwise).map(|(&result, (&value, _))| (result, value)).collect()
        }
        _ => Vec::new(),
    }
}

fn of_while(function: &Function, id: OpId) -> Vec<(ValueId, ValueId)> {
    let Some(around) = function.while_loop(id) else { return Vec::new() };
    let mut settled = Vec::new();
    for (place, (&init, &arg)) in around.init.iter().zip(around.args).enumerate() {
        // The second region knows it by another name.
        let passed_on = around.passed.iter().position(|&passed| passed == arg);
        let inside = passed_on.and_then(|place| around.after_args.get(place)).copied().unwrap_or(arg);
        let is_same = around.next.get(place).is_some_and(|&next| is_one_of(function, next, &[init, arg, inside]));
        settled.extend(is_same.then_some((arg, init)));
    }
    let in_front = |value: ValueId| around.init.contains(&value);
    for ((&passed, &inside), &result) in around.passed.iter().zip(around.after_args).zip(around.results) {
        if in_front(passed) {
            settled.extend([(inside, passed), (result, passed)]);
        }
    }
    settled
}

/// Whether what a `For` carries stays what it begins with: each iteration passes it on, or what it began with.
pub(super) fn passes_on(function: &Function, carried: &Carried) -> bool {
    is_one_of(function, carried.next, &[carried.init, carried.arg])
}

/// Whether a value is one of these on every way on which branches and selects make it.
fn is_one_of(function: &Function, value: ValueId, these: &[ValueId]) -> bool {
    if these.contains(&value) {
        return true;
    }
    let Some((op, place)) = function.def_op(value).map(|id| {
        let op = function.op(id);
        (op, op.results.iter().position(|&result| result == value))
    }) else {
        return false;
    };
    match op.kind {
        OpKind::Select => op.operands[1..].iter().all(|&way| is_one_of(function, way, these)),
        OpKind::If if op.regions.len() == 2 => op.regions.iter().all(|&region| {
            let passed = place.and_then(|place| function.passed(region).get(place).copied());
            passed.is_some_and(|way| is_one_of(function, way, these))
        }),
        _ => false,
    }
}
