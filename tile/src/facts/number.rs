//! Which values are the same, whatever names they were computed under.
//!
//! **Invariant:** two values of one number are equal wherever both exist; loads, atomics and what loops carry have numbers of their own.

use rustc_hash::{FxBuildHasher, FxHashMap};
use smallvec::SmallVec;

use crate::{
    module::{Function, OpId, ValueId},
    ops::{BinaryOp, OpKind},
};

#[derive(Debug, Clone)]
pub struct Numbers(Vec<u32>);

impl Numbers {
    /// Equal for values that are equal.
    pub fn of(&self, value: ValueId) -> u32 {
        self.0[value.index()]
    }

    pub fn same(&self, a: ValueId, b: ValueId) -> bool {
        self.of(a) == self.of(b)
    }
}

/// The kind and the operands' numbers; attributes are compared where keys meet.
type Key = (std::mem::Discriminant<OpKind>, SmallVec<[u32; 4]>);

pub fn numbers(function: &Function) -> Numbers {
    let mut numbers: Vec<u32> = (0..function.values.len() as u32).collect();
    let mut seen: FxHashMap<Key, SmallVec<[OpId; 1]>> = FxHashMap::with_capacity_and_hasher(function.ops.len(), FxBuildHasher);
    function.walk(|_, id| {
        let op = function.op(id);
        let [result] = op.results[..] else { return };
        if !op.kind.is_pure() || !op.regions.is_empty() {
            return;
        }
        // What is promised of a value does not make it another one.
        if let OpKind::Promise { .. } = op.kind {
            numbers[result.index()] = numbers[op.operands[0].index()];
            return;
        }
        let mut operands: SmallVec<[u32; 4]> = op.operands.iter().map(|v| numbers[v.index()]).collect();
        if let OpKind::Binary(BinaryOp::AddI | BinaryOp::MulI | BinaryOp::And | BinaryOp::Or | BinaryOp::Xor) = op.kind {
            operands.sort_unstable();
        }
        let alike = seen.entry((std::mem::discriminant(&op.kind), operands)).or_default();
        let equal = alike.iter().find(|&&other| {
            let other = function.op(other);
            other.kind == op.kind && function.ty(other.results[0]) == function.ty(result)
        });
        match equal {
            Some(&other) => numbers[result.index()] = numbers[function.op(other).results[0].index()],
            None => alike.push(id),
        }
    });
    Numbers(numbers)
}
