//! What may write between two moments of a kernel, and through which of its parameters.
//!
//! **Invariant:** a write through a parameter that is not named here goes elsewhere for sure only if no two parameters are the same memory; what may
//! write anything, or lets other threads' writes show, is opaque.

use std::collections::BTreeSet;

use tritium_tile::{OpId, OpKind, ValueDef, ValueId};

use super::kernel::Kernel;

/// What some operations write.
#[derive(Debug, Default)]
pub(super) struct Writes {
    /// A store, and the parameter it goes through.
    pub stores: Vec<(OpId, ValueId)>,
    /// Something may write anything.
    pub opaque: bool,
}

impl Writes {
    /// Writes of operations and of all that is in them.
    pub(super) fn of(kernel: &Kernel<'_>, ops: &[OpId]) -> Writes {
        let mut out = Writes::default();
        out.add(kernel, ops);
        out
    }

    pub(super) fn add(&mut self, kernel: &Kernel<'_>, ops: &[OpId]) {
        let mut pending = ops.to_vec();
        while let Some(id) = pending.pop() {
            let op = kernel.function.op(id);
            match &op.kind {
                OpKind::Store(_) => match root(kernel, op.operands[0]) {
                    Some(root) => self.stores.push((id, root)),
                    None => self.opaque = true,
                },
                OpKind::Load(attrs) if !attrs.volatile => {}
                OpKind::For(_)
                | OpKind::While { .. }
                | OpKind::If
                | OpKind::Assume
                | OpKind::Assert { .. }
                | OpKind::Print { .. } => {}
                kind => self.opaque |= !(kind.is_pure() || kind.is_terminator()),
            }
            for &region in &op.regions {
                pending.extend(&kernel.function.block(region).ops);
            }
        }
        // In the order of the text, whatever the order of the walk.
        self.stores.sort_unstable();
    }

    /// A read through this parameter may find something else afterwards, even if no two parameters are the same memory.
    pub(super) fn change(&self, parameter: ValueId) -> bool {
        self.opaque || self.stores.iter().any(|&(_, root)| root == parameter)
    }
}

/// The parameter that an address is made of; nothing where there may be several, or none.
pub(super) fn root(kernel: &Kernel<'_>, pointer: ValueId) -> Option<ValueId> {
    let function = kernel.function;
    let mut roots = BTreeSet::new();
    let mut seen = BTreeSet::new();
    let mut pending = vec![pointer];
    while let Some(value) = pending.pop() {
        if !seen.insert(value) {
            continue;
        }
        if seen.len() > 256 {
            return None;
        }
        match function.value(value).def {
            ValueDef::Argument(block, _) if block == function.body => {
                roots.insert(value);
            }
            ValueDef::Argument(block, index) => {
                let owner = kernel.owners[block.index()]?;
                match function.while_loop(owner) {
                    Some(around) if around.before == block => {
                        pending.extend([*around.init.get(index as usize)?, *around.next.get(index as usize)?]);
                    }
                    Some(around) => pending.push(*around.passed.get(index as usize)?),
                    None => {
                        let carried = function.for_loop(owner)?.of_argument(index)?;
                        pending.extend([carried.init, carried.next]);
                    }
                }
            }
            ValueDef::Result(id, index) => {
                let (op, index) = (function.op(id), index as usize);
                match &op.kind {
                    kind if kind.keeps_tensor() => pending.push(op.operands[0]),
                    OpKind::Select => pending.extend(&op.operands[1..]),
                    OpKind::For(_) => {
                        let carried = function.for_loop(id)?.carried(index)?;
                        pending.extend([carried.init, carried.next]);
                    }
                    OpKind::While { .. } => pending.push(*function.while_loop(id)?.passed.get(index)?),
                    OpKind::If => {
                        for &region in &op.regions {
                            pending.push(*function.passed(region).get(index)?);
                        }
                    }
                    _ => return None,
                }
            }
        }
    }
    match roots.len() {
        1 => roots.first().copied(),
        _ => None,
    }
}
