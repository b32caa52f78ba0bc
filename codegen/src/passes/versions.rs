//! Two versions of an operation and the scalar that chooses between them, for the passes that make some.

use tritium_tile::{
    BlockId, Function, OpId, OpKind, Scalar, Type, ValueId,
    module::Builder,
    ops::{BinaryOp, CastOp},
    rewrite,
};

/// A scalar in 64 bits, so that no sum of 32 wraps; a pointer as its address.
pub(super) fn widened(build: &mut Builder<'_>, value: ValueId) -> ValueId {
    let kind = match build.function.ty(value).elem().scalar() {
        Some(Scalar::I64) => return value,
        Some(_) => CastOp::ExtS,
        None => CastOp::PtrToInt,
    };
    build.value(OpKind::Cast(kind), &[value], Type::scalar(Scalar::I64))
}

/// Whether all of these scalars hold; `None` if there are none.
pub(super) fn all(build: &mut Builder<'_>, truths: Vec<ValueId>) -> Option<ValueId> {
    truths.into_iter().reduce(|a, b| build.value(OpKind::Binary(BinaryOp::And), &[a, b], Type::scalar(Scalar::I1)))
}

/// In the place of `op` comes what the condition is computed from, then `if condition { preferred } else { op }`. `preferred` stands in no block
/// and has the results of `op`.
pub(super) fn choose(function: &mut Function, op: OpId, computed: BlockId, condition: ValueId, preferred: OpId) {
    let Some((home, at)) = rewrite::position(function, op) else { return };
    let (origin, results) = (function.op(op).origin, function.op(op).results.clone());
    let counts = rewrite::use_counts(function);
    let used: Vec<usize> = (0..results.len()).filter(|&place| counts[results[place].index()] > 0).collect();
    let types: Vec<Type> = used.iter().map(|&place| function.ty(results[place]).clone()).collect();
    let regions = [function.add_block(), function.add_block()];
    let choice = function.create_op(OpKind::If, &[condition], types, &regions, origin);
    let chosen = function.op(choice).results.clone();
    for (&place, &new) in used.iter().zip(&chosen) {
        rewrite::replace_all_uses(function, results[place], new);
    }
    for (region, version) in regions.into_iter().zip([preferred, op]) {
        let passed: Vec<ValueId> = used.iter().map(|&place| function.op(version).results[place]).collect();
        let end = function.create_op(OpKind::Yield, &passed, [], &[], origin);
        function.block_mut(region).ops = vec![version, end];
    }
    let before = std::mem::take(&mut function.block_mut(computed).ops);
    function.block_mut(home).ops.splice(at..=at, before.into_iter().chain([choice]));
}
