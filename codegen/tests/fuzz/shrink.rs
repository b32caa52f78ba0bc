//! A smaller kernel that fails in the same way.
//!
//! Operations are taken out one by one, what they gave becomes zeros; what nobody needs goes. **Invariant:** the answer still fails and still
//! verifies.

use tritium_tile::{
    BlockId, Module, OpId, OpKind,
    module::ValueDef,
    ops::Constant,
    rewrite::{self, ValueMap},
    verify,
};

/// The smallest that was found; `fails` decides.
pub(crate) fn shrink(module: &Module, fails: &dyn Fn(&Module) -> bool) -> Module {
    let mut best = module.clone();
    loop {
        let mut smaller = false;
        let mut ops: Vec<(BlockId, OpId)> = Vec::new();
        best.entry().walk(|block, op| ops.push((block, op)));
        // From the end: stores first, then what they needed.
        for &(block, op) in ops.iter().rev() {
            if !best.entry().blocks[block.index()].ops.contains(&op) {
                continue;
            }
            for trial in [without(&best, block, op), forwarded(&best, block, op)].into_iter().flatten() {
                if verify(&trial).is_empty() && fails(&trial) {
                    best = trial;
                    smaller = true;
                    break;
                }
            }
        }
        let mut clean = best.clone();
        rewrite::erase_dead(&mut clean.functions[0]);
        rewrite::compact(&mut clean.functions[0]);
        if verify(&clean).is_empty() && fails(&clean) {
            best = clean;
        }
        if !smaller {
            return best;
        }
    }
}

/// The operation gone, its results zeros.
fn without(module: &Module, block: BlockId, op: OpId) -> Option<Module> {
    let mut module = module.clone();
    let function = &mut module.functions[0];
    let old = function.op(op).clone();
    if old.kind.is_terminator() || matches!(old.kind, OpKind::Constant(_)) {
        return None;
    }
    let mut map = ValueMap::default();
    let mut zeros = Vec::new();
    for &result in &old.results {
        let ty = function.ty(result).clone();
        let constant = match ty.elem().scalar() {
            Some(s) if s.is_float() => Constant::Float(0.0),
            Some(_) => Constant::Int(0),
            None => return None,
        };
        let zero = function.create_op(OpKind::Constant(constant), &[], [ty], &[], old.origin);
        map.insert(result, function.op(zero).results[0]);
        zeros.push(zero);
    }
    let list = &mut function.block_mut(block).ops;
    let at = list.iter().position(|&o| o == op)?;
    list.splice(at..=at, zeros);
    rewrite::replace_uses(function, &map);
    Some(module)
}

/// The operation gone, its only result an operand of the same type.
fn forwarded(module: &Module, block: BlockId, op: OpId) -> Option<Module> {
    let mut module = module.clone();
    let function = &mut module.functions[0];
    let old = function.op(op).clone();
    let &[result] = &old.results[..] else { return None };
    let ty = function.ty(result).clone();
    let operand = old
        .operands
        .iter()
        .copied()
        .find(|&v| *function.ty(v) == ty && matches!(function.value(v).def, ValueDef::Result(..) | ValueDef::Argument(..)))?;
    let mut map = ValueMap::default();
    map.insert(result, operand);
    let list = &mut function.block_mut(block).ops;
    let at = list.iter().position(|&o| o == op)?;
    list.remove(at);
    rewrite::replace_uses(function, &map);
    Some(module)
}
