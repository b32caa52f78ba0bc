//! The lane-level simulator: what the machine does with a kernel whose every decision has been made, one thread beside the other.
//!
//! Where [`crate::interpret`] computes tiles, this computes the registers of every thread: a tile is `layout.num_registers()` of them in each
//! thread, elements that several threads hold exist several times, and nothing moves between threads but by the shuffles and the bytes of
//! shared memory that the emitted code uses, at the same offsets ([`crate::scratch`], `shared_offset`) and in the same layouts. It reports
//! what a machine would only sometimes show: accesses of two threads to shared memory that no barrier orders, bytes that nobody wrote or
//! that another buffer has taken, threads that disagree about an element they share or about a branch, vectors that are not contiguous.
//! Values that nothing defines (masked-off elements of a load without `other`) may be computed with, but not stored or decided on. Under the checks of
//! [`crate::sanitize`] what it reports does not stop the program.
//!
//! Operations run in program order, each for all threads. **Invariants:** a verified module gives its effects or a [`Fault`], never a panic;
//! the same inputs give the same bits; the element functions are the interpreter's, so without a change of order the results are too.

mod asynchronous;
mod collective;
mod convert;
mod dot;
mod dot_fma;
mod global;
mod lanes;
mod lookup;
mod mbarrier;
mod scan;
mod shared;
mod wgmma;

use std::{
    cell::RefCell,
    rc::Rc,
    sync::atomic::{AtomicBool, Ordering},
};

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::{
    interpret::{Arg, Data, Fault, FaultKind, Limits, Memory, Plan, access::Failure},
    kinds,
    layout::{Distributed, SharedLayout, algebra::apply, convert::rename, reshape},
    module::{BlockId, Function, FunctionId, Level, Module, OpId, ValueId},
    ops::{Constant, OpKind, Origin, SpecialRegister},
    print::print_op,
    sanitize::{At, Check, Sanitizer},
    types::{Elem, Type},
};
use asynchronous::Copies;
use lanes::{Lanes, Register};
use mbarrier::{Described, Mbarriers};
use shared::{By, SharedMemory, Wrong};
use wgmma::Multiplications;

/// Regions and calls together nest at most this deep while running.
const MAX_DEPTH: usize = 256;

/// A module prepared for running; shared by the threads that run its programs.
#[derive(Debug)]
pub struct Simulator<'m> {
    module: &'m Module,
    plans: Vec<Plan>,
}

/// Runs one program once. For many programs of one module make a [`Simulator`] first.
pub fn simulate(
    module: &Module,
    args: &[Arg],
    program_id: [u32; 3],
    num_programs: [u32; 3],
    memory: &Memory,
    limits: &Limits<'_>,
) -> Result<(), Fault> {
    Simulator::new(module).run(args, program_id, num_programs, memory, limits)
}

impl<'m> Simulator<'m> {
    /// The module must verify.
    pub fn new(module: &'m Module) -> Simulator<'m> {
        Simulator { module, plans: module.functions.iter().map(|f| Plan::new(module, f)).collect() }
    }

    /// Runs one program of the kernel: of the module's first function.
    pub fn run(
        &self,
        args: &[Arg],
        program_id: [u32; 3],
        num_programs: [u32; 3],
        memory: &Memory,
        limits: &Limits<'_>,
    ) -> Result<(), Fault> {
        self.start(args, program_id, num_programs, memory, limits, None)
    }

    /// The same under checks; what they find does not stop it. What it cannot go on after is found, too.
    pub fn run_checked(
        &self,
        args: &[Arg],
        program_id: [u32; 3],
        num_programs: [u32; 3],
        memory: &Memory,
        limits: &Limits<'_>,
        checks: &RefCell<Sanitizer>,
    ) -> Result<(), Fault> {
        checks.borrow_mut().begin(program_id, num_programs);
        let Err(fault) = self.start(args, program_id, num_programs, memory, limits, Some(checks)) else { return Ok(()) };
        let (Some(check), Some(op)) = (check_of(fault.kind), fault.op) else { return Err(fault) };
        let message = fault.message.lines().next().unwrap_or_default().to_owned();
        checks.borrow_mut().fault(check, At { function: fault.function, op }, None, message, Vec::new());
        Ok(())
    }

    fn start(
        &self,
        args: &[Arg],
        program_id: [u32; 3],
        num_programs: [u32; 3],
        memory: &Memory,
        limits: &Limits<'_>,
        checks: Option<&RefCell<Sanitizer>>,
    ) -> Result<(), Fault> {
        let function = FunctionId(0);
        let malformed =
            |message: String| Fault { kind: FaultKind::Malformed, origin: Origin::NONE, function, op: None, program_id, message };
        let module = self.module;
        let Some(kernel) = module.functions.first() else {
            return Err(malformed("the module has no function".into()));
        };
        if module.level < Level::L1 || !module.num_warps.is_power_of_two() || module.num_warps > 32 {
            return Err(malformed("the simulator runs modules with layouts, for a power of two of warps up to 32".into()));
        }
        if args.len() != kernel.params.len() {
            let (has, given) = (kernel.params.len(), args.len());
            return Err(malformed(format!("`{}` has {has} parameters, {given} values were given", kernel.name)));
        }
        let threads = 32 * module.num_warps as usize;
        let mut slots = Vec::with_capacity(args.len());
        for (param, &arg) in kernel.params.iter().zip(args) {
            let ty = kernel.ty(param.value);
            let data = match (arg, ty.elem()) {
                (Arg::Pointer(address), elem @ Elem::Ptr(_)) => Data::ints(elem, address as i64, threads),
                (Arg::Int(value), elem @ Elem::Scalar(s)) if s.is_int() => Data::ints(elem, value, threads),
                (Arg::Float(value), Elem::Scalar(s)) if s.is_float() => Data::floats(s, value, threads),
                (arg, _) => return Err(malformed(format!("`{}` is {ty}, not {arg:?}", param.name))),
            };
            if !ty.is_scalar() {
                return Err(malformed(format!("`{}` is {ty}; only scalars come from outside", param.name)));
            }
            slots.push(Slot::Tile(Rc::new([Lanes::new(data)])));
        }
        let mut machine = Machine {
            module,
            plans: &self.plans,
            memory,
            program_id,
            num_programs,
            cancel: limits.cancel,
            elements_left: limits.elements,
            threads,
            shared: SharedMemory::new(module.shared_bytes.unwrap_or(0)),
            copies: Copies::default(),
            multiplications: Multiplications::default(),
            mbarriers: Mbarriers::default(),
            described: FxHashMap::default(),
            fenced: 0,
            depth: 0,
            step: 0,
            checks,
        };
        machine.call(function, slots, threads).map(drop)
    }
}

/// What a value of the IR is bound to.
#[derive(Debug, Clone, Default)]
enum Slot {
    #[default]
    Empty,
    /// Its registers, as many as its layout has; one of a scalar.
    Tile(Rc<[Register]>),
    /// The buffer of this allocation, or the part of it that begins so many bytes behind its beginning.
    Buffer(OpId, u32),
}

/// One run of one program.
struct Machine<'r> {
    module: &'r Module,
    plans: &'r [Plan],
    memory: &'r Memory,
    program_id: [u32; 3],
    num_programs: [u32; 3],
    cancel: Option<&'r AtomicBool>,
    elements_left: u64,
    threads: usize,
    shared: SharedMemory,
    copies: Copies,
    multiplications: Multiplications,
    mbarriers: Mbarriers,
    /// Tensors, by what has described them.
    described: FxHashMap<OpId, Described>,
    /// When the last fence of the asynchronous proxy was, in steps.
    fenced: u64,
    depth: usize,
    /// Counts operations run.
    step: u64,
    /// Where what is found goes, if it does not stop the program.
    checks: Option<&'r RefCell<Sanitizer>>,
}

/// What a fault is to who looks for mistakes; nothing where the program cannot go on.
fn check_of(kind: FaultKind) -> Option<Check> {
    match kind {
        FaultKind::OutOfBounds => Some(Check::OutOfBounds),
        FaultKind::Misaligned => Some(Check::Misaligned),
        FaultKind::Assert => Some(Check::Assertion),
        FaultKind::Undefined => Some(Check::Undefined),
        FaultKind::Race | FaultKind::Disagreement => Some(Check::RaceWithin),
        FaultKind::Unsupported | FaultKind::Limit | FaultKind::Cancelled | FaultKind::Malformed => None,
    }
}

/// One call of one function.
struct Frame<'r> {
    id: FunctionId,
    function: &'r Function,
    plan: &'r Plan,
    values: Vec<Slot>,
    /// Lanes of a scalar: one a thread, or others inside a region that combines elements.
    width: usize,
}

type Run<T> = Result<T, Fault>;

impl<'r> Machine<'r> {
    fn fault(&self, frame: &Frame<'r>, op: OpId, (kind, message): Failure) -> Fault {
        let text = print_op(frame.function, op);
        Fault {
            kind,
            origin: frame.function.op(op).origin,
            function: frame.id,
            op: Some(op),
            program_id: self.program_id,
            message: format!("{message}\n  in {text}"),
        }
    }

    fn malformed(&self, frame: &Frame<'r>, op: OpId, what: &str) -> Fault {
        self.fault(frame, op, (FaultKind::Malformed, what.into()))
    }

    /// What is wrong with an operation: under checks it is noted and the program goes on, otherwise it ends here. `other`: an operation that has
    /// to do with it, and the words before it.
    fn report(
        &self,
        frame: &Frame<'r>,
        op: OpId,
        thread: Option<u32>,
        (kind, message): Failure,
        other: Option<(&str, OpId)>,
    ) -> Run<()> {
        if let (Some(checks), Some(check)) = (self.checks, check_of(kind)) {
            let at = |op| At { function: frame.id, op };
            let word = if kind == FaultKind::Undefined { "left undefined here" } else { "the other access" };
            let related = other.map(|(_, other)| (at(other), word.to_owned())).into_iter().collect();
            checks.borrow_mut().fault(check, at(op), thread, message, related);
            return Ok(());
        }
        let thread = thread.map_or_else(String::new, |thread| format!("thread {thread}: "));
        let other = other.map_or_else(String::new, |(words, other)| format!("{words}\n     {}", print_op(frame.function, other)));
        Err(self.fault(frame, op, (kind, format!("{thread}{message}{other}"))))
    }

    /// Something undefined is stored, or decides.
    fn undefined(&self, frame: &Frame<'r>, op: OpId, thread: usize, what: &str, source: OpId) -> Run<()> {
        let failure = (FaultKind::Undefined, format!("{what} is undefined"));
        self.report(frame, op, Some(thread as u32), failure, Some((", as it was left by", source)))
    }

    /// Judges what shared memory says of an access.
    fn judge(&self, frame: &Frame<'r>, by: By, outcome: Result<(), Wrong>) -> Run<()> {
        let Err(wrong) = outcome else { return Ok(()) };
        let (kind, message, other) = match wrong {
            Wrong::Outside { address, size } => {
                let total = self.module.shared_bytes.unwrap_or(0);
                (FaultKind::OutOfBounds, format!("{size} bytes at {address} of shared memory, which has {total}"), None)
            }
            Wrong::Misaligned { address, size } => {
                let message = format!("{size} bytes at {address} of shared memory, which is not a multiple of {size}");
                (FaultKind::Misaligned, message, None)
            }
            Wrong::Race { address, op, thread, writes } => {
                let who = thread.map_or("an operation under way".to_string(), |other| format!("thread {other}"));
                let what = if writes { "writes" } else { "reads" };
                let message = format!("byte {address} of shared memory, which {who} {what}, and nothing orders them");
                (FaultKind::Race, message, Some((":", op)))
            }
            Wrong::Overwritten { address, op } => {
                let message = format!("reads byte {address} of shared memory, which belongs by now to another operation");
                (FaultKind::Race, message, Some((":", op)))
            }
            Wrong::Disagree { address, thread } => {
                let message = format!("writes other bits than thread {thread} to byte {address} of shared memory");
                (FaultKind::Disagreement, message, None)
            }
        };
        self.report(frame, by.op, Some(by.thread), (kind, message), other)
    }

    fn call(&mut self, id: FunctionId, args: Vec<Slot>, width: usize) -> Run<Vec<Slot>> {
        let module = self.module;
        let function = &module.functions[id.index()];
        let values = vec![Slot::Empty; function.values.len()];
        let mut frame = Frame { id, function, plan: &self.plans[id.index()], values, width };
        for (&param, slot) in function.block(function.body).args.iter().zip(args) {
            frame.values[param.index()] = slot;
        }
        self.block(&mut frame, function.body)
    }

    /// Runs a block whose arguments are bound; the answer is what its terminator passes on.
    fn block(&mut self, frame: &mut Frame<'r>, block: BlockId) -> Run<Vec<Slot>> {
        let function = frame.function;
        self.depth += 1;
        for &id in &function.block(block).ops {
            let op = function.op(id);
            self.charge(frame, id)?;
            let end = op.kind.is_terminator();
            let passed: Vec<Slot> = if end {
                op.operands.iter().map(|v| frame.values[v.index()].clone()).collect()
            } else {
                self.step += 1;
                self.op(frame, id)?;
                Vec::new()
            };
            for &value in &frame.plan.dying[id.index()] {
                frame.values[value.index()] = Slot::Empty;
            }
            if end {
                self.depth -= 1;
                return Ok(passed);
            }
        }
        self.depth -= 1;
        Ok(Vec::new())
    }

    /// Pays for an operation before it runs.
    fn charge(&mut self, frame: &Frame<'r>, id: OpId) -> Run<()> {
        let op = frame.function.op(id);
        if self.cancel.is_some_and(|flag| flag.load(Ordering::Relaxed)) {
            return Err(self.fault(frame, id, (FaultKind::Cancelled, "the run was cancelled".into())));
        }
        if self.depth > MAX_DEPTH {
            let message = format!("regions and calls nest deeper than {MAX_DEPTH}");
            return Err(self.fault(frame, id, (FaultKind::Limit, message)));
        }
        let elements = |&v: &ValueId| match frame.function.ty(v) {
            ty if ty.is_scalar() => frame.width as u64,
            ty => ty.num_elements().max(self.threads as u64),
        };
        let cost = op.operands.iter().chain(&op.results).map(elements).max().unwrap_or(1);
        match self.elements_left.checked_sub(cost) {
            Some(left) => {
                self.elements_left = left;
                Ok(())
            }
            None => {
                let message = "the program computes more elements than its limit; does its loop end?".into();
                Err(self.fault(frame, id, (FaultKind::Limit, message)))
            }
        }
    }

    // ---- values

    fn tile(&self, frame: &Frame<'r>, op: OpId, value: ValueId) -> Run<Rc<[Register]>> {
        match &frame.values[value.index()] {
            Slot::Tile(registers) => Ok(registers.clone()),
            Slot::Buffer(..) | Slot::Empty => Err(self.malformed(frame, op, "an operand is not a tile")),
        }
    }

    fn scalar(&self, frame: &Frame<'r>, op: OpId, value: ValueId) -> Run<Register> {
        let tile = self.tile(frame, op, value)?;
        tile.first().cloned().ok_or_else(|| self.malformed(frame, op, "an operand has no registers"))
    }

    fn operand_tiles(&self, frame: &Frame<'r>, op: OpId) -> Run<Vec<Rc<[Register]>>> {
        frame.function.op(op).operands.iter().map(|&v| self.tile(frame, op, v)).collect()
    }

    fn set(&self, frame: &mut Frame<'r>, value: ValueId, registers: Vec<Register>) {
        frame.values[value.index()] = Slot::Tile(registers.into());
    }

    /// Binds what has come from other threads or from memory: everyone who holds an element must hold the same.
    fn set_agreed(&self, frame: &mut Frame<'r>, op: OpId, value: ValueId, registers: Vec<Register>) -> Run<()> {
        self.agree(frame, op, value, &registers)?;
        self.set(frame, value, registers);
        Ok(())
    }

    fn agree(&self, frame: &Frame<'r>, op: OpId, value: ValueId, registers: &[Register]) -> Run<()> {
        let disagreement = |(r, t): (usize, usize), (r2, t2): (usize, usize), what: String| {
            let message = format!("thread {t} (register {r}) and thread {t2} (register {r2}) hold different values for {what}");
            self.report(frame, op, None, (FaultKind::Disagreement, message), None)
        };
        let Some(layout) = self.layout(frame, op, value)? else {
            let one = &registers[0];
            return match (1..one.len()).find(|&t| !Lanes::same(one, 0, one, t)) {
                Some(t) => disagreement((0, 0), (0, t), "one scalar".into()),
                None => Ok(()),
            };
        };
        if layout.free_bits() == (0, 0, 0) {
            return Ok(());
        }
        let threads = self.thread_indices(layout);
        let mut holders: Vec<Option<(usize, usize)>> = vec![None; 1 << layout.index_bits()];
        for (r, register) in registers.iter().enumerate() {
            let base = apply(&layout.register, r as u32);
            for (t, &thread) in threads.iter().enumerate() {
                let index = base ^ thread;
                match holders[index as usize] {
                    None => holders[index as usize] = Some((r, t)),
                    Some((r0, t0)) if !Lanes::same(&registers[r0], t0, register, t) => {
                        return disagreement((r0, t0), (r, t), format!("element {index}"));
                    }
                    Some(_) => {}
                }
            }
        }
        Ok(())
    }

    /// The layout of a tile; `None` for a scalar.
    fn layout(&self, frame: &Frame<'r>, op: OpId, value: ValueId) -> Run<Option<&'r Distributed>> {
        let module = self.module;
        match frame.function.ty(value) {
            ty if ty.is_scalar() => Ok(None),
            Type::Tile { layout: Some(id), .. } => match module.layouts.distributed(*id) {
                Some(layout) if layout.num_warps() == module.num_warps && layout.lane.len() == 5 => Ok(Some(layout)),
                _ => Err(self.malformed(frame, op, "a tile's layout is not one of this CTA's threads")),
            },
            _ => Err(self.malformed(frame, op, "a tile has no layout")),
        }
    }

    fn tile_layout(&self, frame: &Frame<'r>, op: OpId, value: ValueId) -> Run<&'r Distributed> {
        self.layout(frame, op, value)?.ok_or_else(|| self.malformed(frame, op, "a scalar stands where a tile is needed"))
    }

    fn buffer_layout(&self, frame: &Frame<'r>, op: OpId, value: ValueId) -> Run<&'r SharedLayout> {
        let module = self.module;
        match frame.function.ty(value) {
            Type::Shared { layout, .. } => module.layouts.shared(*layout),
            Type::Tile { .. } => None,
        }
        .ok_or_else(|| self.malformed(frame, op, "a tile stands where a shared buffer is needed"))
    }

    fn num_registers(&self, frame: &Frame<'r>, op: OpId, value: ValueId) -> Run<usize> {
        Ok(self.layout(frame, op, value)?.map_or(1, Distributed::num_registers))
    }

    /// What each thread contributes to the index of the elements it holds.
    fn thread_indices(&self, layout: &Distributed) -> Vec<u32> {
        self.linear(&layout.lane, &layout.warp)
    }

    /// The linear function of the thread's index with these columns, for every thread.
    fn linear(&self, lane: &[u32], warp: &[u32]) -> Vec<u32> {
        (0..self.threads as u32).map(|t| apply(lane, t & 31) ^ apply(warp, t >> 5)).collect()
    }

    /// The threads that stand for all that hold the same elements.
    fn holders(&self, layout: Option<&Distributed>) -> Vec<bool> {
        let mask = match layout {
            None => u32::MAX,
            Some(layout) => {
                let (_, lane, warp) = layout.free_bits();
                lane | warp << 5
            }
        };
        (0..self.threads as u32).map(|t| t & mask == 0).collect()
    }

    fn shared_offset(&self, frame: &Frame<'r>, op: OpId) -> Run<u32> {
        let offset = frame.function.op(op).shared_offset;
        offset.ok_or_else(|| self.malformed(frame, op, "an operation needs shared memory but none was assigned to it"))
    }

    /// A scalar that decides for all threads.
    fn uniform(&self, frame: &Frame<'r>, op: OpId, value: ValueId, what: &str) -> Run<i64> {
        let lanes = self.scalar(frame, op, value)?;
        if let Some((t, source)) = (0..lanes.len()).find_map(|t| Some((t, lanes.undefined(t)?))) {
            self.undefined(frame, op, t, what, source)?;
        }
        if let Some(t) = (1..lanes.len()).find(|&t| lanes.int(t) != lanes.int(0)) {
            let message = format!("threads 0 and {t} disagree about {what}");
            self.report(frame, op, None, (FaultKind::Disagreement, message), None)?;
        }
        Ok(lanes.int(0))
    }

    /// A tile's elements in row-major order, each from one of its holders.
    fn gathered(&self, frame: &Frame<'r>, op: OpId, value: ValueId) -> Run<Register> {
        let registers = self.tile(frame, op, value)?;
        let Some(layout) = self.layout(frame, op, value)? else { return Ok(registers[0].splat(0, 1)) };
        let all = Lanes::joined(&registers).ok_or_else(|| self.malformed(frame, op, "an operand has no registers"))?;
        let threads = self.thread_indices(layout);
        let mut place = vec![0; 1 << layout.index_bits()];
        for r in (0..registers.len()).rev() {
            let base = apply(&layout.register, r as u32);
            for (t, &thread) in threads.iter().enumerate().rev() {
                place[(base ^ thread) as usize] = r * self.threads + t;
            }
        }
        Ok(all.moved(place.len(), |i| place[i]))
    }

    // ---- operations

    fn op(&mut self, frame: &mut Frame<'r>, id: OpId) -> Run<()> {
        let function = frame.function;
        let op = function.op(id);
        match &op.kind {
            OpKind::Constant(constant) => {
                let result = op.results[0];
                let elem = function.ty(result).elem();
                let lanes = match (constant, elem) {
                    (Constant::Undefined, elem) => Lanes::undefined_by(id, elem, frame.width),
                    (Constant::Int(value), elem) => Lanes::new(Data::ints(elem, *value, frame.width)),
                    (Constant::Float(value), Elem::Scalar(s)) => Lanes::new(Data::floats(s, *value, frame.width)),
                    (Constant::Float(_), Elem::Ptr(_)) => return Err(self.malformed(frame, id, "a pointer is no float")),
                };
                let n = self.num_registers(frame, id, result)?;
                self.set(frame, result, vec![lanes; n]);
                Ok(())
            }
            OpKind::ProgramId { axis } => self.everywhere(frame, id, i64::from(self.program_id[usize::from(*axis).min(2)])),
            OpKind::NumPrograms { axis } => self.everywhere(frame, id, i64::from(self.num_programs[usize::from(*axis).min(2)])),
            OpKind::SpecialRegister(register) => {
                let value = match register {
                    SpecialRegister::GlobalTimer => self.step as i64,
                    SpecialRegister::SmId => 0,
                };
                self.everywhere(frame, id, value)
            }
            OpKind::Iota { start, .. } => {
                let layout = self.tile_layout(frame, id, op.results[0])?;
                let threads = self.thread_indices(layout);
                let at = |r: u32| {
                    let base = apply(&layout.register, r);
                    Data::I32(threads.iter().map(|t| start.wrapping_add((base ^ t) as i32)).collect())
                };
                let registers = (0..layout.num_registers() as u32).map(|r| Lanes::new(at(r))).collect();
                self.set(frame, op.results[0], registers);
                Ok(())
            }
            OpKind::Splat => {
                let one = self.scalar(frame, id, op.operands[0])?;
                let n = self.num_registers(frame, id, op.results[0])?;
                self.set(frame, op.results[0], vec![one; n]);
                Ok(())
            }
            OpKind::ExpandDims { .. } | OpKind::Broadcast | OpKind::Reshape { .. } | OpKind::Transpose { .. } => {
                self.rename(frame, id)
            }
            kinds!(Arithmetic) | OpKind::AddPtr | OpKind::Promise { .. } => self.elementwise(frame, id),
            OpKind::InlineAsm(_) => {
                let message = "inline assembly runs on a GPU only; the simulator does not read machine instructions";
                Err(self.fault(frame, id, (FaultKind::Unsupported, message.into())))
            }
            OpKind::Map { pack } => self.map(frame, id, *pack as usize),
            OpKind::Load(attrs) => self.load(frame, id, *attrs),
            OpKind::Store(attrs) => self.store(frame, id, *attrs),
            OpKind::AtomicRmw { op: kind, .. } => self.atomic(frame, id, Some(*kind)),
            OpKind::AtomicCas { .. } => self.atomic(frame, id, None),
            OpKind::Gather { axis } => self.gather(frame, id, usize::from(*axis)),
            OpKind::Histogram => self.histogram(frame, id),
            OpKind::Reduce { axis } => self.reduce(frame, id, usize::from(*axis)),
            OpKind::Scan { axis, reverse } => self.scan(frame, id, usize::from(*axis), *reverse),
            OpKind::Dot { precision, .. } => self.dot(frame, id, *precision),
            OpKind::For(_) => self.for_loop(frame, id),
            OpKind::While { .. } => self.while_loop(frame, id),
            OpKind::If => {
                let taken = self.uniform(frame, id, op.operands[0], "a condition")? != 0;
                let yielded = self.block(frame, op.regions[usize::from(!taken)])?;
                self.bind(frame, &op.results, yielded);
                Ok(())
            }
            OpKind::Call { callee } => {
                let args = op.operands.iter().map(|v| frame.values[v.index()].clone()).collect();
                let returned = self.call(*callee, args, frame.width)?;
                self.bind(frame, &op.results, returned);
                Ok(())
            }
            OpKind::Assume => Ok(()),
            OpKind::Assert { message } => self.assert(frame, id, message),
            OpKind::Print { prefix, hex, signed } => self.print(frame, id, prefix, *hex, *signed),
            OpKind::ConvertLayout => self.convert_layout(frame, id),
            OpKind::LocalAlloc => self.local_alloc(frame, id),
            OpKind::LocalIndex => self.local_index(frame, id),
            OpKind::LocalLoad => self.local_load(frame, id),
            OpKind::LocalStore => self.local_store(frame, id, op.operands[0], op.operands[1]),
            OpKind::Barrier => {
                self.shared.barrier();
                Ok(())
            }
            // Grids run one after the other here.
            OpKind::GridWait | OpKind::GridLaunch => Ok(()),
            OpKind::AsyncCopy(attrs) => self.async_copy(frame, id, *attrs),
            OpKind::AsyncCommit => {
                self.async_commit();
                Ok(())
            }
            OpKind::AsyncWait { pending } => self.async_wait(frame, id, *pending),
            OpKind::FenceAsync => {
                self.fenced = self.step;
                Ok(())
            }
            OpKind::MbarrierInit { count } => self.mbarrier_init(frame, id, *count),
            OpKind::MbarrierWait => self.mbarrier_wait(frame, id),
            OpKind::MbarrierInvalidate => self.mbarrier_invalidate(frame, id),
            OpKind::TmaLoad { contiguous, .. } => self.tma_load(frame, id, *contiguous),
            OpKind::TmaStore { contiguous, .. } => self.tma_store(frame, id, *contiguous),
            OpKind::WriteTensorMap { .. } => self.write_tensor_map(frame, id),
            OpKind::Wgmma { turned, .. } => self.wgmma(frame, id, *turned),
            OpKind::WgmmaWait { pending } => self.wgmma_wait(frame, id, *pending),
            // Blocks end before they come here.
            OpKind::Yield | OpKind::Condition | OpKind::Return => Err(self.malformed(frame, id, "a terminator inside a block")),
        }
    }

    /// A number that every thread knows.
    fn everywhere(&self, frame: &mut Frame<'r>, op: OpId, value: i64) -> Run<()> {
        let result = frame.function.op(op).results[0];
        let data = Data::ints(frame.function.ty(result).elem(), value, frame.width);
        self.set(frame, result, vec![Lanes::new(data)]);
        Ok(())
    }

    fn bind(&self, frame: &mut Frame<'r>, values: &[ValueId], slots: Vec<Slot>) {
        for (&value, slot) in values.iter().zip(slots) {
            frame.values[value.index()] = slot;
        }
    }

    fn elementwise(&self, frame: &mut Frame<'r>, id: OpId) -> Run<()> {
        let op = frame.function.op(id);
        let operands = self.operand_tiles(frame, id)?;
        let from: SmallVec<[Elem; 4]> = op.operands.iter().map(|&v| frame.function.ty(v).elem()).collect();
        let to = frame.function.ty(op.results[0]).elem();
        let n = self.num_registers(frame, id, op.results[0])?;
        if operands.iter().any(|registers| registers.len() != n) {
            return Err(self.malformed(frame, id, "an elementwise operation mixes layouts"));
        }
        let mut registers: Vec<Register> = Vec::with_capacity(n);
        for r in 0..n {
            // Registers that are copies of each other stay so.
            if r > 0 && operands.iter().all(|o| Rc::ptr_eq(&o[r], &o[r - 1])) {
                registers.push(registers[r - 1].clone());
                continue;
            }
            let lanes: SmallVec<[&Lanes; 4]> = operands.iter().map(|o| &*o[r]).collect();
            let computed = Lanes::elementwise(&op.kind, &from, to, &lanes);
            registers.push(computed.ok_or_else(|| self.malformed(frame, id, "the operation does not fit its operands"))?);
        }
        self.set(frame, op.results[0], registers);
        Ok(())
    }

    /// Shape operations: every result register is some operand register of the same thread.
    fn rename(&self, frame: &mut Frame<'r>, id: OpId) -> Run<()> {
        let op = frame.function.op(id);
        let (operand, result) = (op.operands[0], op.results[0]);
        let registers = self.tile(frame, id, operand)?;
        let (Some(source), Some(target)) = (self.layout(frame, id, operand)?, self.layout(frame, id, result)?) else {
            // A scalar and a tile of one element: everyone holds it.
            let n = self.num_registers(frame, id, result)?;
            self.set(frame, result, vec![registers[0].clone(); n]);
            return Ok(());
        };
        let plan = match &op.kind {
            OpKind::Broadcast => rename(source, target, |b| reshape::broadcast_index(&target.shape, &source.shape, b)),
            OpKind::Transpose { order } => rename(source, target, |b| reshape::transpose_index(&source.shape, order, b)),
            _ => rename(source, target, |b| b),
        };
        let Some(plan) = plan else {
            return Err(self.malformed(frame, id, "a shape operation moves elements between threads"));
        };
        self.set(frame, result, plan.into_iter().map(|r| registers[r as usize].clone()).collect());
        Ok(())
    }

    fn for_loop(&mut self, frame: &mut Frame<'r>, id: OpId) -> Run<()> {
        let function = frame.function;
        let op = function.op(id);
        let operands = op.for_operands();
        let mut bounds = [0i64; 3];
        for (bound, operand) in bounds.iter_mut().zip(operands.bounds()) {
            *bound = self.uniform(frame, id, operand, "a loop's bound")?;
        }
        let [lower, upper, step] = bounds;
        if step <= 0 {
            let message = format!("the step of a loop is positive, not {step}");
            return Err(self.malformed(frame, id, &message));
        }
        let elem = function.ty(operands.lower).elem();
        let args = function.block(op.regions[0]).for_args();
        let mut carried: Vec<Slot> = operands.init.iter().map(|v| frame.values[v.index()].clone()).collect();
        let mut at = lower;
        while at < upper {
            self.charge(frame, id)?;
            self.set(frame, args.induction, vec![Lanes::new(Data::ints(elem, at, frame.width))]);
            self.bind(frame, args.carried, std::mem::take(&mut carried));
            carried = self.block(frame, op.regions[0])?;
            match at.checked_add(step) {
                Some(next) => at = next,
                None => break,
            }
        }
        self.bind(frame, &op.results, carried);
        Ok(())
    }

    fn while_loop(&mut self, frame: &mut Frame<'r>, id: OpId) -> Run<()> {
        let function = frame.function;
        let op = function.op(id);
        let mut carried: Vec<Slot> = op.operands.iter().map(|v| frame.values[v.index()].clone()).collect();
        loop {
            self.bind(frame, &function.block(op.regions[0]).args, carried);
            let condition =
                function.block(op.regions[0]).ops.last().and_then(|&last| Some((last, *function.op(last).operands.first()?)));
            // The terminator's operand dies with it, so it is read from what is passed on.
            let mut passed = self.block(frame, op.regions[0])?;
            let Some((terminator, value)) = condition.filter(|_| !passed.is_empty()) else {
                return Err(self.malformed(frame, id, "a loop without a condition"));
            };
            frame.values[value.index()] = passed.remove(0);
            if self.uniform(frame, terminator, value, "a loop's condition")? == 0 {
                self.bind(frame, &op.results, passed);
                return Ok(());
            }
            self.bind(frame, &function.block(op.regions[1]).args, passed);
            carried = self.block(frame, op.regions[1])?;
        }
    }

    fn assert(&self, frame: &Frame<'r>, id: OpId, message: &str) -> Run<()> {
        let op = frame.function.op(id);
        let registers = self.tile(frame, id, op.operands[0])?;
        for register in registers.iter() {
            for t in 0..register.len() {
                if let Some(source) = register.undefined(t) {
                    self.undefined(frame, id, t, "what is asserted", source)?;
                } else if !register.bool(t) {
                    let failure = (FaultKind::Assert, format!("assertion failed: {message}"));
                    self.report(frame, id, Some(t as u32), failure, None)?;
                }
            }
        }
        Ok(())
    }

    /// Every element once, as the interpreter prints it.
    fn print(&self, frame: &Frame<'r>, id: OpId, prefix: &str, hex: bool, signed: u64) -> Run<()> {
        use crate::interpret::output;
        let op = frame.function.op(id);
        if op.operands.is_empty() {
            self.memory.print(self.program_id, [output::bare(self.program_id, prefix)]);
        }
        for (i, &operand) in op.operands.iter().enumerate() {
            let elements = self.gathered(frame, id, operand)?;
            let number = (op.operands.len() > 1).then_some(i);
            let ty = frame.function.ty(operand);
            let lines = output::lines(self.program_id, prefix, number, ty, &elements.data, hex, (signed >> i) & 1 != 0);
            self.memory.print(self.program_id, lines);
        }
        Ok(())
    }

    /// The allocation behind a shared value, and where it begins.
    fn buffer(&self, frame: &Frame<'r>, op: OpId, value: ValueId) -> Run<(OpId, u32)> {
        match frame.values[value.index()] {
            Slot::Buffer(alloc, start) => Ok((alloc, self.shared_offset(frame, alloc)? + start)),
            Slot::Tile(_) | Slot::Empty => Err(self.malformed(frame, op, "an operand is no shared buffer")),
        }
    }
}

/// Every program of a grid in an order that depends on the seed; 0 is the order of the grid. Programs of a launch may run in any.
pub fn order(num_programs: [u32; 3], seed: u64) -> Vec<[u32; 3]> {
    let [x, y, z] = num_programs;
    let mut all: Vec<[u32; 3]> = (0..z).flat_map(|k| (0..y).flat_map(move |j| (0..x).map(move |i| [i, j, k]))).collect();
    let mut state = seed;
    if seed != 0 {
        for i in (1..all.len()).rev() {
            // xorshift: the same order on every machine.
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            all.swap(i, (state % (i as u64 + 1)) as usize);
        }
    }
    all
}
