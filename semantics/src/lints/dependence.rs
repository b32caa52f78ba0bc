//! What values depend on, of what tells programs of a grid apart.
//!
//! **Invariant:** a value that may differ between two programs of an axis depends on that axis; what comes of an atomic, or of memory that
//! the kernel writes, may be anything and depends on [`ANY`].

use tritium_tile::{BlockId, OpId, OpKind, ValueId};

use super::kernel::Kernel;

/// Bit `i`: `tl.program_id(i)`.
pub(super) type Programs = u8;

pub(super) const ANY: Programs = 1 << 7;

pub(super) struct Dependence {
    values: Vec<Programs>,
    /// For each block, what decides whether it runs, and how often.
    blocks: Vec<Programs>,
    stands_in: Vec<Option<BlockId>>,
}

impl Dependence {
    pub(super) fn of(&self, value: ValueId) -> Programs {
        self.values[value.index()]
    }

    /// What decides whether an op runs.
    pub(super) fn guard(&self, op: OpId) -> Programs {
        self.stands_in[op.index()].map_or(0, |block| self.blocks[block.index()])
    }
}

pub(super) fn dependence(kernel: &Kernel<'_>) -> Dependence {
    let function = kernel.function;
    let mut walk = Tracer {
        kernel,
        out: Dependence {
            values: vec![0; function.values.len()],
            blocks: vec![0; function.blocks.len()],
            stands_in: vec![None; function.ops.len()],
        },
        changed: true,
    };
    // Dependences only grow: what loops carry settles after a few rounds.
    while std::mem::take(&mut walk.changed) {
        walk.block(function.body, 0);
    }
    walk.out
}

struct Tracer<'k, 'a> {
    kernel: &'k Kernel<'a>,
    out: Dependence,
    changed: bool,
}

impl Tracer<'_, '_> {
    fn add(&mut self, value: ValueId, programs: Programs) {
        let own = &mut self.out.values[value.index()];
        if *own | programs != *own {
            *own |= programs;
            self.changed = true;
        }
    }

    fn all(&self, values: &[ValueId]) -> Programs {
        values.iter().fold(0, |bits, &v| bits | self.out.of(v))
    }

    fn block(&mut self, block: BlockId, guard: Programs) {
        let function = self.kernel.function;
        self.out.blocks[block.index()] |= guard;
        for &id in &function.block(block).ops {
            self.out.stands_in[id.index()] = Some(block);
            let op = function.op(id);
            let inputs = self.all(&op.operands);
            let own = match op.kind {
                OpKind::ProgramId { axis } if self.kernel.facts.range(op.results[0]).constant().is_none() => 1 << axis.min(6),
                OpKind::ProgramId { .. } | OpKind::NumPrograms { .. } => 0,
                OpKind::AtomicRmw { .. } | OpKind::AtomicCas { .. } | OpKind::SpecialRegister(_) | OpKind::InlineAsm(_) => ANY,
                OpKind::Call { .. } => ANY,
                _ => 0,
            };
            if op.regions.is_empty() {
                op.results.iter().for_each(|&r| self.add(r, inputs | own));
                continue;
            }
            for &region in &op.regions {
                for (index, &arg) in function.block(region).args.iter().enumerate() {
                    // A carried value also depends on how often the loop runs.
                    let initial = match op.kind {
                        OpKind::For(_) if index > 0 => self.out.of(op.for_operands().init[index - 1]),
                        _ => inputs,
                    };
                    self.add(arg, initial);
                }
                let inner = match op.kind {
                    OpKind::For(_) => self.all(&op.for_operands().bounds()),
                    OpKind::While { .. } => function.while_loop(id).map_or(0, |around| self.out.of(around.condition)),
                    OpKind::If => inputs,
                    _ => 0,
                };
                self.block(region, guard | inner);
                let passed = function.passed(region);
                let carried = match op.kind {
                    OpKind::For(_) => function.block(region).for_args().carried,
                    OpKind::While { .. } => &function.block(op.regions[0]).args[..],
                    _ => &[],
                };
                for (&from, &to) in passed.iter().zip(carried) {
                    self.add(to, self.out.of(from));
                }
                for (&from, &to) in passed.iter().zip(&op.results) {
                    self.add(to, self.out.of(from) | inner);
                }
                if let OpKind::While { .. } = op.kind {
                    for (&from, &to) in passed.iter().zip(&function.block(*op.regions.last().unwrap_or(&region)).args) {
                        self.add(to, self.out.of(from));
                    }
                }
            }
            if !op.kind.is_control() {
                op.results.iter().for_each(|&r| self.add(r, inputs));
            } else if let OpKind::For(_) = op.kind {
                for (&init, &result) in op.for_operands().init.iter().zip(&op.results) {
                    self.add(result, self.out.of(init));
                }
            }
        }
    }
}
