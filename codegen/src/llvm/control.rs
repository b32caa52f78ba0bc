//! Loops, branches and assertions.
//!
//! Structured control flow becomes basic blocks with one phi per register. Conditions are uniform over the CTA, so barriers inside are
//! legal. **Invariant:** loops keep their shape: LLVM neither peels them nor, unless asked or short, unrolls them.

use tritium_tile::{
    BlockId, Function, Module, OpId, OpKind, Origin, ValueId,
    control::ForArgs,
    layout::Distributed,
    ops::{LoadAttrs, LoopAttrs, StoreAttrs},
    rewrite,
};

use super::{Emitted, Emitter, escaped, ins, line, value::Reg};
use crate::{
    passes,
    pressure::{is_heavy, registers_in_layout},
    ptx_strings::Instruction,
};

/// Says of a loop that LLVM unrolls it; a text that has it needs a pass more.
pub const UNROLL_FULL: &str = "llvm.loop.unroll.full";

/// Says of a text that LLVM reduces the strength of addresses in its loops; it needs a pass more.
pub const REDUCE_LOOPS: &str = "tritium-reduce-loops";

/// A loop carries a pointer for each of so many accesses to global memory whatever else it holds; of more as long as all of it together is no more than
/// this part of a thread's registers. A pointer is two of them.
const CARRIED_ANYHOW: u32 = 12;
const MOST_HELD: (u32, u32) = (3, 4);

/// Whether to carry a pointer of every address in a loop. Where nothing is multiplied there are registers for that as a rule, and each load then waits for
/// one addition. Loops with products hold too much else: theirs are a scalar pointer plus offsets that stay the same. `registers`: of a thread.
pub(super) fn reduces_loops(module: &Module, function: &Function, registers: u32) -> bool {
    let mut loops = Vec::new();
    Inside::of(module, function, function.body, &mut loops);
    let holds_too_much = |inside: &Inside| {
        let held = inside.loaded + inside.carried + 2 * inside.accesses;
        inside.accesses > CARRIED_ANYHOW && MOST_HELD.1 * held > MOST_HELD.0 * registers
    };
    !loops.is_empty() && !loops.iter().any(holds_too_much) && !passes::multiplies(function)
}

/// What a thread does on a trip of a loop, or in a block.
#[derive(Default)]
struct Inside {
    /// To global memory.
    accesses: u32,
    /// Registers that they fill.
    loaded: u32,
    /// Registers that the loop carries.
    carried: u32,
}

impl Inside {
    /// Of a block and the blocks inside; the loops among these are put into `loops`.
    fn of(module: &Module, function: &Function, block: BlockId, loops: &mut Vec<Inside>) -> Inside {
        let layouts = &module.layouts;
        let registers = |value: ValueId| {
            let ty = function.ty(value);
            registers_in_layout(layouts, ty).unwrap_or_else(|| ty.elem().bits().div_ceil(32))
        };
        let mut all = Inside::default();
        for &op in &function.block(block).ops {
            let op = function.op(op);
            let mut inside = Inside::default();
            for &region in &op.regions {
                let one = Inside::of(module, function, region, loops);
                inside.accesses += one.accesses;
                inside.loaded += one.loaded;
            }
            all.accesses += inside.accesses;
            all.loaded += inside.loaded;
            if op.kind.is_loop() {
                inside.carried = op.results.iter().map(|&result| registers(result)).sum();
                loops.push(inside);
            }
            let vector = match op.kind {
                OpKind::Load(LoadAttrs { vector, .. }) | OpKind::AtomicRmw { vector, .. } => vector,
                OpKind::Store(StoreAttrs { vector, .. }) => vector,
                _ => continue,
            };
            let layout = function.ty(op.operands[0]).layout().and_then(|id| layouts.distributed(id));
            all.accesses += layout.map_or(1, |layout| layout.num_registers() as u32).div_ceil(vector.max(1).into());
            all.loaded += op.results.iter().map(|&result| registers(result)).sum::<u32>();
        }
        all
    }
}

/// Instructions of a loop over all its trips, up to which it is unrolled whole: searches and chains of few scalars. What LLVM's own
/// passes would unroll at most.
const MAX_UNROLLED_INSTRUCTIONS: u64 = 300;

/// The trips of a loop whose bounds are numbers.
fn known_trips(lower: Reg, upper: Reg, step: Reg) -> Option<u64> {
    let (Reg::Int(lower), Reg::Int(upper), Reg::Int(step)) = (lower, upper, step) else { return None };
    let (extent, step) = (upper.checked_sub(lower)?, u64::try_from(step).ok().filter(|&step| step > 0)?);
    Some(u64::try_from(extent).ok()?.div_ceil(step))
}

impl Emitter<'_> {
    /// Fresh registers for a block's arguments.
    fn fresh_like(&mut self, value: ValueId) -> Emitted<Vec<Reg>> {
        let n = self.num_registers(value)?;
        Ok((0..n).map(|_| self.fresh()).collect())
    }

    fn shared_carried(&self, values: &[ValueId]) -> Emitted<()> {
        match values.iter().any(|&v| self.ty(v).is_buffer()) {
            true => Err(self.unsupported("a shared buffer is carried by control flow")),
            false => Ok(()),
        }
    }

    /// Phi text: each of `phis` is `from.0[i]` coming from block `from.1`.
    fn phis(&mut self, values: &[ValueId], phis: &[Vec<Reg>], incoming: &[(&[Vec<Reg>], u32)]) -> Emitted<()> {
        for (i, &value) in values.iter().enumerate() {
            let ty = self.type_of(value);
            for (r, phi) in phis[i].iter().enumerate() {
                let mut arms = Vec::with_capacity(incoming.len());
                for (regs, label) in incoming {
                    let reg = regs[i].get(r).ok_or_else(|| self.unsupported("control flow carries a value in two layouts"))?;
                    arms.push(format!("[ {reg}, %b{label} ]"));
                }
                line!(self, "{phi} = phi {ty} {}", arms.join(", "));
            }
        }
        Ok(())
    }

    fn all_regs(&self, values: &[ValueId]) -> Emitted<Vec<Vec<Reg>>> {
        values.iter().map(|&v| Ok(self.regs(v)?.to_vec())).collect()
    }

    /// What LLVM is told of a loop with these bodies.
    pub(super) fn loop_metadata(&mut self, attrs: LoopAttrs, bodies: &[BlockId]) -> usize {
        let id = self.metadata.len() - self.unnumbered;
        // LLVM would move all of a large tile in front of the loop, whatever becomes of the registers.
        let has_heavy = self.has_heavy(bodies);
        let mut properties = Vec::new();
        if has_heavy || attrs.disable_licm {
            properties.push("!{!\"llvm.licm.disable\"}".to_owned());
        }
        let unrolled = attrs.unroll.filter(|&n| n > 1 && !has_heavy);
        properties.extend(unrolled.map(|n| format!("!{{!\"llvm.loop.unroll.count\", i32 {n}}}")));
        let mut list = vec![id];
        list.extend(unrolled.is_none().then_some(0));
        list.push(1);
        list.extend((1..=properties.len()).map(|at| id + at));
        let list: Vec<String> = list.iter().map(|node| format!("!{node}")).collect();
        self.metadata.push(format!("!{id} = distinct !{{{}}}", list.join(", ")));
        self.metadata.extend(properties.into_iter().zip(id + 1..).map(|(property, node)| format!("!{node} = {property}")));
        id
    }

    fn unrolled_whole(&mut self) -> usize {
        let id = self.metadata.len() - self.unnumbered;
        self.metadata.push(format!("!{id} = distinct !{{!{id}, !{}}}", id + 1));
        self.metadata.push(format!("!{} = !{{!\"{UNROLL_FULL}\"}}", id + 1));
        id
    }

    /// Something in these bodies gives the same large tile at every trip.
    fn has_heavy(&self, bodies: &[BlockId]) -> bool {
        let function = self.function;
        let mut inside = rewrite::values_inside(function, bodies);
        bodies.iter().flat_map(|&body| &function.block(body).ops).any(|&id| {
            let op = function.op(id);
            let invariant = op.kind.is_pure() && op.regions.is_empty() && op.operands.iter().all(|v| !inside[v.index()]);
            if invariant {
                op.results.iter().for_each(|r| inside[r.index()] = false);
            }
            invariant && is_heavy(function, id, self.module.num_warps)
        })
    }

    pub(super) fn for_loop(&mut self, op: OpId, attrs: LoopAttrs) -> Emitted<()> {
        let operation = self.function.op(op);
        let operands = operation.for_operands();
        let region = operation.regions[0];
        let ForArgs { induction: counter, carried } = self.function.block(region).for_args();
        self.shared_carried(carried)?;
        let (lower, upper, step) = (self.reg(operands.lower)?, self.reg(operands.upper)?, self.reg(operands.step)?);
        let ty = self.type_of(counter);
        let initial = self.all_regs(operands.init)?;
        let before = self.label;
        let (head, body, exit) = (self.new_label(), self.new_label(), self.new_label());
        line!(self, "br label %b{head}");

        let i = self.fresh();
        let next = self.fresh();
        self.set(counter, vec![i]);
        let mut phis = Vec::new();
        for &value in carried {
            let regs = self.fresh_like(value)?;
            self.set(value, regs.clone());
            phis.push(regs);
        }
        // The body first: the phis need its results and its last block.
        let outer = std::mem::take(&mut self.body);
        self.start_block(body);
        let yielded = self.block(region)?;
        let yielded = self.all_regs(&yielded)?;
        let latch = self.label;
        let is_work = |line: &&str| line.contains(" = ") && !line.contains(" = phi ");
        let instructions = self.body.lines().filter(is_work).count() as u64;
        let short = known_trips(lower, upper, step)
            .is_some_and(|trips| trips.saturating_mul(instructions.max(1)) <= MAX_UNROLLED_INSTRUCTIONS);
        let metadata = match short && attrs.unroll.is_none() {
            true => self.unrolled_whole(),
            false => self.loop_metadata(attrs, &operation.regions),
        };
        line!(self, "{next} = add {ty} {i}, {step}");
        line!(self, "br label %b{head}, !llvm.loop !{metadata}");
        let inner = std::mem::replace(&mut self.body, outer);

        self.start_block(head);
        line!(self, "{i} = phi {ty} [ {lower}, %b{before} ], [ {next}, %b{latch} ]");
        self.phis(carried, &phis, &[(&initial, before), (&yielded, latch)])?;
        let again = ins!(self, "icmp slt {ty} {i}, {upper}");
        line!(self, "br i1 {again}, label %b{body}, label %b{exit}");
        self.body.push_str(&inner);
        self.start_block(exit);
        for (&result, regs) in operation.results.iter().zip(phis) {
            self.set(result, regs);
        }
        Ok(())
    }

    pub(super) fn while_loop(&mut self, op: OpId, disable_licm: bool) -> Emitted<()> {
        let operation = self.function.op(op);
        let (test, region) = (operation.regions[0], operation.regions[1]);
        let carried = &self.function.block(test).args;
        self.shared_carried(carried)?;
        let initial = self.all_regs(&operation.operands)?;
        let before = self.label;
        let (head, body, exit) = (self.new_label(), self.new_label(), self.new_label());
        line!(self, "br label %b{head}");
        let mut phis = Vec::new();
        for &value in carried {
            let regs = self.fresh_like(value)?;
            self.set(value, regs.clone());
            phis.push(regs);
        }
        let outer = std::mem::take(&mut self.body);
        self.label = head;
        let condition = self.block(test)?;
        let (&condition, passed) = condition.split_first().ok_or_else(|| self.unsupported("a loop without condition"))?;
        let condition = self.reg(condition)?;
        let passed = self.all_regs(passed)?;
        line!(self, "br i1 {condition}, label %b{body}, label %b{exit}");
        self.start_block(body);
        for (&arg, regs) in self.function.block(region).args.iter().zip(&passed) {
            self.set(arg, regs.clone());
        }
        let yielded = self.block(region)?;
        let yielded = self.all_regs(&yielded)?;
        let latch = self.label;
        let metadata = self.loop_metadata(LoopAttrs { disable_licm, ..LoopAttrs::default() }, &operation.regions);
        line!(self, "br label %b{head}, !llvm.loop !{metadata}");
        let inner = std::mem::replace(&mut self.body, outer);
        self.start_block(head);
        self.phis(carried, &phis, &[(&initial, before), (&yielded, latch)])?;
        self.body.push_str(&inner);
        self.start_block(exit);
        for (&result, regs) in operation.results.iter().zip(passed) {
            self.set(result, regs);
        }
        Ok(())
    }

    pub(super) fn if_else(&mut self, op: OpId) -> Emitted<()> {
        let operation = self.function.op(op);
        self.shared_carried(&operation.results)?;
        let condition = self.reg(operation.operands[0])?;
        let (yes, no, after) = (self.new_label(), self.new_label(), self.new_label());
        line!(self, "br i1 {condition}, label %b{yes}, label %b{no}");
        let (then, then_end) = self.branch(yes, operation.regions.first().copied(), after)?;
        let (other, other_end) = self.branch(no, operation.regions.get(1).copied(), after)?;
        self.start_block(after);
        let mut phis = Vec::new();
        for &result in &operation.results {
            phis.push(self.fresh_like(result)?);
        }
        if then.len() != phis.len() || other.len() != phis.len() {
            return Err(self.unsupported("the branches of an `if` yield different numbers of values"));
        }
        self.phis(&operation.results, &phis, &[(&then, then_end), (&other, other_end)])?;
        for (&result, regs) in operation.results.iter().zip(phis) {
            self.set(result, regs);
        }
        Ok(())
    }

    fn branch(&mut self, label: u32, region: Option<BlockId>, after: u32) -> Emitted<(Vec<Vec<Reg>>, u32)> {
        self.start_block(label);
        let yielded = match region {
            Some(region) => self.block(region)?,
            None => Vec::new(),
        };
        let regs = self.all_regs(&yielded)?;
        let end = self.label;
        line!(self, "br label %b{after}");
        Ok((regs, end))
    }

    /// A false element reports through the driver's `__assertfail`, which stops the kernel.
    pub(super) fn assert(&mut self, op: OpId, message: &str) -> Emitted<()> {
        let operand = self.function.op(op).operands[0];
        let regs = self.regs(operand)?;
        let surplus = self.layout(operand)?.map_or(0, |layout: &Distributed| layout.free_bits().0) as usize;
        let mut all: Option<Reg> = None;
        for (_, &reg) in regs.iter().enumerate().filter(|(r, _)| r & surplus == 0) {
            all = Some(match all {
                None => reg,
                Some(old) => ins!(self, "and i1 {old}, {reg}"),
            });
        }
        let Some(all) = all else { return Ok(()) };
        let text = self.text_constant(message);
        let name = self.text_constant(&self.function.name);
        let file = (self.emission.file_of)(self.origin).unwrap_or_else(|| self.function.name.clone());
        let file = self.text_constant(&file);
        let (fail, after) = (self.new_label(), self.new_label());
        line!(self, "br i1 {all}, label %b{after}, label %b{fail}");
        self.start_block(fail);
        self.declarations.insert("declare void @__assertfail(ptr, ptr, i32, ptr, i64)".into());
        let line = match self.origin {
            Origin::NONE => Reg::Int(0),
            Origin(index) => self.asm(Instruction::SourceLine { operation: index.saturating_add(1) }, &["i32"], &[])[0],
        };
        let [text, name, file] = [text, name, file].map(|global| ins!(self, "addrspacecast ptr addrspace(1) @{global} to ptr"));
        line!(self, "call void @__assertfail(ptr {text}, ptr {file}, i32 {line}, ptr {name}, i64 1)");
        line!(self, "br label %b{after}");
        self.start_block(after);
        Ok(())
    }

    /// A zero-terminated string in global memory; its name.
    pub(super) fn text_constant(&mut self, text: &str) -> String {
        let bytes = escaped(text);
        let definition = format!(" = private addrspace(1) constant [{} x i8] c\"{bytes}\\00\"", text.len() + 1);
        // One copy of each text.
        if let Some(name) = self.globals.iter().find_map(|global| global.strip_prefix('@')?.strip_suffix(&*definition)) {
            return name.to_owned();
        }
        let name = format!("text{}", self.globals.len());
        self.globals.push(format!("@{name}{definition}"));
        name
    }
}
