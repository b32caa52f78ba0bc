//! The reference interpreter: what every operation means, by doing it.
//!
//! Runs one program of a launch over a verified module at L0 or L1; layouts are ignored, conversions and shared memory are copies.
//! Programs of one launch may run on many threads over one [`Memory`]. **Invariant:** a verified module gives its effects or a
//! [`Fault`] that names the operation, never a panic; it stops when its [`Limits`] say so; the same inputs give the same bits.

pub(crate) mod access;
mod asynchronous;
mod checked;
mod collective;
mod dot;
pub(crate) mod elementwise;
pub(crate) mod float;
pub(crate) mod index;
pub(crate) mod libdevice;
mod math;
pub(crate) mod memory;
pub(crate) mod output;
mod shape;
pub(crate) mod value;

use std::{
    cell::RefCell,
    rc::Rc,
    sync::atomic::{AtomicBool, Ordering},
};

use smallvec::SmallVec;
use thiserror::Error;

pub use memory::{Allocation, Memory};
pub use value::{Data, POISON_BYTE};

use crate::{
    kinds,
    layout::tma::{self, Block},
    module::{BlockId, Function, FunctionId, Module, OpId, ValueDef, ValueId},
    ops::{Constant, DotPrecision, OpKind, Origin, SpecialRegister},
    rewrite,
    sanitize::{Labels, Sanitizer},
    types::{Elem, Scalar, Shape, Type},
};
use access::Failure;
use asynchronous::Copies;
use value::{Slot, Tile, map_data};

/// Regions and calls together nest at most this deep while running.
const MAX_DEPTH: usize = 256;

/// A parameter's value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Arg {
    /// An address, usually one that [`Memory::allocate`] gave.
    Pointer(u64),
    /// Truncated to the parameter's width.
    Int(i64),
    /// Rounded to the parameter's type.
    Float(f64),
}

/// When a run stops by itself.
#[derive(Debug, Clone, Copy)]
pub struct Limits<'a> {
    /// Elements computed, all operations together; an operation counts at least 1.
    pub elements: u64,
    /// Bytes of live tiles of one program.
    pub bytes: u64,
    /// Looked at before every operation.
    pub cancel: Option<&'a AtomicBool>,
}

impl Default for Limits<'_> {
    fn default() -> Self {
        Limits { elements: 1 << 36, bytes: 2 << 30, cancel: None }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    OutOfBounds,
    Misaligned,
    /// An `assert` failed.
    Assert,
    /// The interpreter has no meaning for it: machine instructions in a string.
    Unsupported,
    /// A limit was reached.
    Limit,
    Cancelled,
    /// The arguments are not those of the function, or the module does not verify.
    Malformed,
    /// Two threads touch the same bytes of shared memory, one of them writes, and nothing orders them. Found by the simulator, as are the
    /// next two.
    Race,
    /// A value that nothing has defined is stored, or decides something.
    Undefined,
    /// Threads that hold the same element hold different values for it.
    Disagreement,
}

/// Why a program stopped.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("program ({}, {}, {}): {message}", .program_id[0], .program_id[1], .program_id[2])]
pub struct Fault {
    pub kind: FaultKind,
    pub origin: Origin,
    pub function: FunctionId,
    /// `None` before the first operation.
    pub op: Option<OpId>,
    pub program_id: [u32; 3],
    pub message: String,
}

/// Runs one program once. For many programs of one module make an [`Interpreter`] first.
pub fn interpret(
    module: &Module,
    function: FunctionId,
    args: &[Arg],
    program_id: [u32; 3],
    num_programs: [u32; 3],
    memory: &Memory,
    limits: &Limits<'_>,
) -> Result<(), Fault> {
    Interpreter::new(module).run(function, args, program_id, num_programs, memory, limits).map(drop)
}

/// A module prepared for running; shared by the threads that run its programs.
#[derive(Debug)]
pub struct Interpreter<'m> {
    module: &'m Module,
    plans: Vec<Plan>,
}

/// What is known of a function before it runs.
#[derive(Debug)]
pub(crate) struct Plan {
    /// By op: the values that nothing needs after it.
    pub(crate) dying: Vec<SmallVec<[ValueId; 2]>>,
    /// By op: is its first region free of branches?
    pub(crate) straight: Vec<bool>,
}

impl Plan {
    pub(crate) fn new(module: &Module, function: &Function) -> Plan {
        let owners = rewrite::owner_ops(function);
        let parents = rewrite::parent_blocks(function);
        let mut last: Vec<Option<OpId>> = vec![None; function.values.len()];
        let mut straight = vec![false; function.ops.len()];
        function.walk(|block, id| {
            let op = function.op(id);
            if let Some(&region) = op.regions.first().filter(|_| op.kind.is_combining()) {
                straight[id.index()] = collective::is_straight(module, function, region, 0);
            }
            for &result in &op.results {
                last[result.index()] = Some(id);
            }
            for &operand in &op.operands {
                let home = match function.value(operand).def {
                    ValueDef::Argument(home, _) => Some(home),
                    ValueDef::Result(def, _) => parents[def.index()],
                };
                // Climbs to the op that stands where the value is defined: only there is its last use.
                let (mut at, mut user) = (block, id);
                while Some(at) != home {
                    match owners[at.index()].and_then(|owner| Some((parents[owner.index()]?, owner))) {
                        Some((outer, owner)) => (at, user) = (outer, owner),
                        None => break,
                    }
                }
                last[operand.index()] = Some(user);
            }
        });
        let mut dying = vec![SmallVec::new(); function.ops.len()];
        for (index, last) in last.into_iter().enumerate() {
            if let Some(op) = last {
                let dying: &mut SmallVec<[ValueId; 2]> = &mut dying[op.index()];
                dying.push(ValueId(index as u32));
            }
        }
        Plan { dying, straight }
    }
}

impl<'m> Interpreter<'m> {
    /// The module must verify.
    pub fn new(module: &'m Module) -> Interpreter<'m> {
        Interpreter { module, plans: module.functions.iter().map(|f| Plan::new(module, f)).collect() }
    }

    /// Runs one program; the answer is what the function returns, which for a kernel is nothing.
    pub fn run(
        &self,
        function: FunctionId,
        args: &[Arg],
        program_id: [u32; 3],
        num_programs: [u32; 3],
        memory: &Memory,
        limits: &Limits<'_>,
    ) -> Result<Vec<Data>, Fault> {
        self.start(function, args, [program_id, num_programs], memory, limits, None)
    }

    /// Runs one program of a kernel under checks; what they find does not stop it.
    pub fn run_checked(
        &self,
        args: &[Arg],
        program_id: [u32; 3],
        num_programs: [u32; 3],
        memory: &Memory,
        limits: &Limits<'_>,
        sanitizer: &mut Sanitizer,
    ) -> Result<(), Fault> {
        sanitizer.begin(program_id, num_programs);
        self.start(FunctionId(0), args, [program_id, num_programs], memory, limits, Some(sanitizer)).map(drop)
    }

    fn start(
        &self,
        function: FunctionId,
        args: &[Arg],
        [program_id, num_programs]: [[u32; 3]; 2],
        memory: &Memory,
        limits: &Limits<'_>,
        sanitizer: Option<&mut Sanitizer>,
    ) -> Result<Vec<Data>, Fault> {
        let malformed =
            |message: String| Fault { kind: FaultKind::Malformed, origin: Origin::NONE, function, op: None, program_id, message };
        let Some(callee) = self.module.functions.get(function.index()) else {
            return Err(malformed(format!("function {} does not exist", function.0)));
        };
        if args.len() != callee.params.len() {
            let (has, given) = (callee.params.len(), args.len());
            return Err(malformed(format!("`{}` has {has} parameters, {given} values were given", callee.name)));
        }
        let mut slots = Vec::with_capacity(args.len());
        for (param, &arg) in callee.params.iter().zip(args) {
            let ty = callee.ty(param.value);
            let data = match (arg, ty.elem()) {
                (Arg::Pointer(address), elem @ Elem::Ptr(_)) => Data::ints(elem, address as i64, 1),
                (Arg::Int(value), elem @ Elem::Scalar(s)) if s.is_int() => Data::ints(elem, value, 1),
                (Arg::Float(value), Elem::Scalar(s)) if s.is_float() => Data::floats(s, value, 1),
                (arg, _) => return Err(malformed(format!("`{}` is {ty}, not {arg:?}", param.name))),
            };
            if !ty.is_scalar() {
                return Err(malformed(format!("`{}` is {ty}; only scalars come from outside", param.name)));
            }
            slots.push(Slot::of(data));
        }
        let mut machine = Machine {
            module: self.module,
            plans: &self.plans,
            memory,
            program_id,
            num_programs,
            cancel: limits.cancel,
            elements: limits.elements,
            elements_left: limits.elements,
            bytes_left: limits.bytes,
            depth: 0,
            copies: Copies::default(),
            sanitizer,
        };
        let results = machine.call(function, slots, 1)?;
        Ok(results
            .into_iter()
            .map(|slot| match slot {
                Slot::Tile(data, _) => (*data).clone(),
                Slot::Shared(data) => data.borrow().clone(),
                Slot::Ring(_) | Slot::Empty => Data::I1(Vec::new()),
            })
            .collect())
    }
}

/// One run of one program.
struct Machine<'r> {
    module: &'r Module,
    plans: &'r [Plan],
    memory: &'r Memory,
    program_id: [u32; 3],
    num_programs: [u32; 3],
    cancel: Option<&'r AtomicBool>,
    elements: u64,
    elements_left: u64,
    bytes_left: u64,
    depth: usize,
    copies: Copies,
    sanitizer: Option<&'r mut Sanitizer>,
}

/// One call of one function.
struct Frame<'r> {
    id: FunctionId,
    function: &'r Function,
    plan: &'r Plan,
    values: Vec<Slot>,
    /// How many elements a scalar has: 1, or more inside a region that is run on vectors.
    width: usize,
}

impl<'r> Machine<'r> {
    fn fault(&self, frame: &Frame<'r>, op: OpId, (kind, message): Failure) -> Fault {
        Fault {
            kind,
            origin: frame.function.op(op).origin,
            function: frame.id,
            op: Some(op),
            program_id: self.program_id,
            message,
        }
    }

    fn malformed(&self, frame: &Frame<'r>, op: OpId) -> Fault {
        self.fault(frame, op, access::malformed())
    }

    fn call(&mut self, id: FunctionId, args: Vec<Slot>, width: usize) -> Result<Vec<Slot>, Fault> {
        let module = self.module;
        let function = &module.functions[id.index()];
        let values = vec![Slot::Empty; function.values.len()];
        let mut frame = Frame { id, function, plan: &self.plans[id.index()], values, width };
        for (&param, slot) in function.block(function.body).args.iter().zip(args) {
            self.bytes_left = self.bytes_left.saturating_sub(slot.bytes());
            frame.values[param.index()] = slot;
        }
        let results = self.block(&mut frame, function.body)?;
        for index in 0..frame.values.len() as u32 {
            self.clear(&mut frame, ValueId(index));
        }
        Ok(results)
    }

    /// Binds a value, within the limit on live bytes.
    fn set(&mut self, frame: &mut Frame<'r>, op: OpId, value: ValueId, slot: Slot) -> Result<(), Fault> {
        self.clear(frame, value);
        match self.bytes_left.checked_sub(slot.bytes()) {
            Some(left) => self.bytes_left = left,
            None => {
                let message = "the live tiles of this program take more memory than its limit".into();
                return Err(self.fault(frame, op, (FaultKind::Limit, message)));
            }
        }
        frame.values[value.index()] = slot;
        Ok(())
    }

    fn clear(&mut self, frame: &mut Frame<'r>, value: ValueId) {
        let slot = std::mem::take(&mut frame.values[value.index()]);
        self.bytes_left = self.bytes_left.saturating_add(slot.bytes());
    }

    fn tile(&self, frame: &Frame<'r>, op: OpId, value: ValueId) -> Result<Rc<Data>, Fault> {
        match &frame.values[value.index()] {
            Slot::Tile(data, _) => Ok(data.clone()),
            Slot::Shared(_) | Slot::Ring(_) | Slot::Empty => Err(self.malformed(frame, op)),
        }
    }

    fn shared(&self, frame: &Frame<'r>, op: OpId, value: ValueId) -> Result<Rc<RefCell<Data>>, Fault> {
        match &frame.values[value.index()] {
            Slot::Shared(data) => Ok(data.clone()),
            Slot::Tile(..) | Slot::Ring(_) | Slot::Empty => Err(self.malformed(frame, op)),
        }
    }

    /// Runs a block whose arguments are bound; the answer is what its terminator passes on.
    fn block(&mut self, frame: &mut Frame<'r>, block: BlockId) -> Result<Vec<Slot>, Fault> {
        let function = frame.function;
        let ops = &function.block(block).ops;
        self.depth += 1;
        for &id in ops {
            let op = function.op(id);
            self.charge(frame, id)?;
            if op.kind.is_terminator() {
                let passed = op.operands.iter().map(|v| frame.values[v.index()].clone()).collect();
                self.depth -= 1;
                for &value in &frame.plan.dying[id.index()] {
                    self.clear(frame, value);
                }
                return Ok(passed);
            }
            let results = if self.sanitizer.is_some() { self.checked_op(frame, id)? } else { self.op(frame, id)? };
            if results.len() != op.results.len() {
                return Err(self.malformed(frame, id));
            }
            for (&value, slot) in op.results.iter().zip(results) {
                self.set(frame, id, value, slot)?;
            }
            for &value in &frame.plan.dying[id.index()] {
                self.clear(frame, value);
            }
        }
        self.depth -= 1;
        Ok(Vec::new())
    }

    /// Pays for an operation before it runs.
    fn charge(&mut self, frame: &Frame<'r>, id: OpId) -> Result<(), Fault> {
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
            ty => ty.num_elements(),
        };
        let mut cost = op.operands.iter().chain(&op.results).map(elements).max().unwrap_or(1);
        if let OpKind::Dot { .. } | OpKind::Wgmma { .. } = op.kind {
            // A multiplication is much cheaper than an element of other operations.
            let inner = op.operands.first().and_then(|&a| frame.function.ty(a).shape().last().copied()).unwrap_or(1);
            cost = cost.saturating_mul(u64::from(inner / 8).max(1));
        }
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

    fn op(&mut self, frame: &mut Frame<'r>, id: OpId) -> Result<SmallVec<[Slot; 2]>, Fault> {
        let function = frame.function;
        let op = function.op(id);
        let ty = |index: usize| function.ty(op.operands[index]);
        let result = op.results.first().map(|&r| function.ty(r));
        let elem = result.map_or(Elem::Scalar(Scalar::I1), Type::elem);
        let len = match result {
            Some(ty) if !ty.is_scalar() => ty.num_elements() as usize,
            _ => frame.width,
        };
        let tile = |machine: &Machine<'r>, frame: &Frame<'r>, index: usize| machine.tile(frame, id, op.operands[index]);
        let tile_or_buffer =
            |machine: &Machine<'r>, frame: &Frame<'r>, index: usize| match &frame.values[op.operands[index].index()] {
                Slot::Shared(data) => Ok(Rc::new(data.borrow().clone())),
                _ => tile(machine, frame, index),
            };
        let optional = |machine: &Machine<'r>, frame: &Frame<'r>, index: usize| {
            op.operands.get(index).map(|&v| machine.tile(frame, id, v)).transpose()
        };
        let one = |data: Data| SmallVec::from_iter([Slot::of(data)]);
        let many = |data: Vec<Tile>| data.into_iter().map(Slot::from).collect();
        let same = |data: Rc<Data>| SmallVec::from_iter([Slot::Tile(data, Labels::CLEAN)]);
        let pointee = || ty(0).elem().pointee().unwrap_or(Scalar::I8);
        let computed: Option<Data> = match &op.kind {
            OpKind::Constant(Constant::Int(value)) => Some(Data::ints(elem, *value, len)),
            OpKind::Constant(Constant::Undefined) => Some(Data::poison(elem, len)),
            OpKind::Constant(Constant::Float(value)) => elem.scalar().map(|s| Data::floats(s, *value, len)),
            OpKind::ProgramId { axis } => Some(Data::ints(elem, i64::from(self.program_id[usize::from(*axis).min(2)]), len)),
            OpKind::NumPrograms { axis } => Some(Data::ints(elem, i64::from(self.num_programs[usize::from(*axis).min(2)]), len)),
            OpKind::SpecialRegister(register) => Some(match register {
                SpecialRegister::GlobalTimer => Data::ints(elem, (self.elements - self.elements_left) as i64, len),
                SpecialRegister::SmId => Data::ints(elem, 0, len),
            }),
            OpKind::Iota { start, end } => Some(Data::I32((*start..*end).collect())),
            OpKind::Splat => Some(map_data!(&*tile(self, frame, 0)?, v => vec![v[0]; len])),
            OpKind::ExpandDims { .. } | OpKind::Reshape { .. } | OpKind::Promise { .. } | OpKind::ConvertLayout => {
                return Ok(same(tile(self, frame, 0)?));
            }
            OpKind::Broadcast => {
                result.map(|r| tile(self, frame, 0).map(|t| shape::broadcast(&t, ty(0).shape(), r.shape()))).transpose()?
            }
            OpKind::Transpose { order } => {
                result.map(|r| tile(self, frame, 0).map(|t| shape::transpose(&t, ty(0).shape(), r.shape(), order))).transpose()?
            }
            kind if kind.is_elementwise() => {
                let operands = op.operands.iter().map(|&v| self.tile(frame, id, v)).collect::<Result<Vec<_>, _>>()?;
                let from: SmallVec<[Elem; 4]> = op.operands.iter().map(|&v| function.ty(v).elem()).collect();
                let operands: SmallVec<[&Data; 4]> = operands.iter().map(Rc::as_ref).collect();
                elementwise::elementwise(kind, &from, elem, &operands)
            }
            kinds!(Arithmetic) | OpKind::AddPtr => None,
            OpKind::InlineAsm(_) => {
                let message = "inline assembly runs on a GPU only; the CPU device does not read machine instructions";
                return Err(self.fault(frame, id, (FaultKind::Unsupported, message.into())));
            }
            OpKind::Map { pack } => return self.map(frame, id, *pack as usize).map(many),
            OpKind::AtomicCas { sem: _, scope: _ } => {
                let (pointers, expected, value) = (tile(self, frame, 0)?, tile(self, frame, 1)?, tile(self, frame, 2)?);
                let old = access::compare_and_swap(self.memory, pointee(), &pointers, None, &expected, &value);
                Some(old.map_err(|failure| self.fault(frame, id, failure))?)
            }
            OpKind::Gather { axis } => {
                let (source, index) = (tile_or_buffer(self, frame, 0)?, tile(self, frame, 1)?);
                index::gather(&source, ty(0).shape(), &index, ty(1).shape(), usize::from(*axis))
            }
            OpKind::Assume => return Ok(SmallVec::new()),
            OpKind::Histogram => {
                let mask = optional(self, frame, 1)?;
                index::histogram(&*tile(self, frame, 0)?, mask.as_deref(), len)
            }
            OpKind::Print { prefix, hex, signed } => {
                if op.operands.is_empty() {
                    self.memory.print(self.program_id, [output::bare(self.program_id, prefix)]);
                }
                for (i, &operand) in op.operands.iter().enumerate() {
                    let data = self.tile(frame, id, operand)?;
                    let number = (op.operands.len() > 1).then_some(i);
                    let ty = function.ty(operand);
                    let lines = output::lines(self.program_id, prefix, number, ty, &data, *hex, (signed >> i) & 1 != 0);
                    self.memory.print(self.program_id, lines);
                }
                return Ok(SmallVec::new());
            }
            OpKind::Load(_) => {
                let mask = optional(self, frame, 1)?;
                let start = match optional(self, frame, 2)? {
                    Some(other) => (*other).clone(),
                    None => Data::poison(elem, len),
                };
                let loaded = access::load(self.memory, pointee(), &*tile(self, frame, 0)?, mask.as_deref(), start);
                Some(loaded.map_err(|failure| self.fault(frame, id, failure))?)
            }
            OpKind::Store(_) => {
                let mask = optional(self, frame, 2)?;
                let (pointers, value) = (tile(self, frame, 0)?, tile(self, frame, 1)?);
                access::store(self.memory, pointee(), &pointers, &value, mask.as_deref())
                    .map_err(|failure| self.fault(frame, id, failure))?;
                return Ok(SmallVec::new());
            }
            OpKind::AtomicRmw { op: atomic, .. } => {
                let mask = optional(self, frame, 2)?;
                let (pointers, value) = (tile(self, frame, 0)?, tile(self, frame, 1)?);
                let poison = Data::poison(elem, len);
                let old = access::atomic(self.memory, *atomic, pointee(), &pointers, &value, mask.as_deref(), poison);
                Some(old.map_err(|failure| self.fault(frame, id, failure))?)
            }
            OpKind::Reduce { axis } => return self.reduce(frame, id, *axis).map(many),
            OpKind::Scan { axis, reverse } => return self.scan(frame, id, *axis, *reverse).map(many),
            OpKind::Dot { precision, .. } => {
                let (a, b, c) = (tile_or_buffer(self, frame, 0)?, tile_or_buffer(self, frame, 1)?, tile(self, frame, 2)?);
                let operand = ty(0).elem().scalar().unwrap_or(Scalar::F32);
                let shapes = (ty(0).shape(), ty(1).shape());
                elem.scalar().and_then(|result| dot::dot(*precision, operand, result, shapes, &a, &b, &c))
            }
            OpKind::For(_) => return self.for_loop(frame, id),
            OpKind::While { .. } => return self.while_loop(frame, id),
            OpKind::If => {
                let taken = tile(self, frame, 0)?.first_int() != 0;
                return self.block(frame, op.regions[usize::from(!taken)]).map(SmallVec::from_vec);
            }
            OpKind::Call { callee } => {
                let args = op.operands.iter().map(|v| frame.values[v.index()].clone()).collect();
                return self.call(*callee, args, frame.width).map(SmallVec::from_vec);
            }
            OpKind::Assert { message } => {
                let Data::I1(conditions) = &*tile(self, frame, 0)? else { return Err(self.malformed(frame, id)) };
                return match conditions.iter().position(|c| !c) {
                    None => Ok(SmallVec::new()),
                    Some(_) if conditions.len() == 1 => {
                        Err(self.fault(frame, id, (FaultKind::Assert, format!("assertion failed: {message}"))))
                    }
                    Some(at) => {
                        let message = format!("assertion failed at tile element {at}: {message}");
                        Err(self.fault(frame, id, (FaultKind::Assert, message)))
                    }
                };
            }
            OpKind::LocalAlloc if op.operands.is_empty() => {
                let Some(ty) = result else { return Err(self.malformed(frame, id)) };
                let slots = self.module.layouts.ring_slots(ty);
                let buffer = || Rc::new(RefCell::new(Data::poison(elem, len / slots.unwrap_or(1).max(1) as usize)));
                return Ok(SmallVec::from_iter([match slots {
                    None => Slot::Shared(buffer()),
                    Some(slots) => Slot::Ring((0..slots).map(|_| buffer()).collect()),
                }]));
            }
            OpKind::LocalIndex => {
                let slot = tile(self, frame, 1)?.first_int();
                let Slot::Ring(ring) = &frame.values[op.operands[0].index()] else { return Err(self.malformed(frame, id)) };
                let buffer = usize::try_from(slot).ok().and_then(|slot| ring.get(slot)).cloned();
                let outside = || (FaultKind::OutOfBounds, format!("slot {slot} of a ring of {}", ring.len()));
                return buffer.map(|b| SmallVec::from_iter([Slot::Shared(b)])).ok_or_else(|| self.fault(frame, id, outside()));
            }
            OpKind::LocalAlloc => {
                let data = (*tile(self, frame, 0)?).clone();
                return Ok(SmallVec::from_iter([Slot::Shared(Rc::new(RefCell::new(data)))]));
            }
            OpKind::LocalLoad => Some(self.shared(frame, id, op.operands[0])?.borrow().clone()),
            OpKind::LocalStore => {
                let data = tile(self, frame, 0)?;
                *self.shared(frame, id, op.operands[1])?.borrow_mut() = (*data).clone();
                return Ok(SmallVec::new());
            }
            OpKind::Barrier | OpKind::GridWait | OpKind::GridLaunch | OpKind::FenceAsync => return Ok(SmallVec::new()),
            OpKind::AsyncCopy(_) => {
                let buffer = self.shared(frame, id, op.operands[1])?;
                let mask = optional(self, frame, 2)?;
                let (elem, len) = (Elem::Scalar(pointee()), ty(0).num_elements() as usize);
                let zero = Data::ints(elem, 0, len);
                let data = access::load(self.memory, pointee(), &*tile(self, frame, 0)?, mask.as_deref(), zero)
                    .map_err(|failure| self.fault(frame, id, failure))?;
                match self.bytes_left.checked_sub(data.bytes()) {
                    Some(left) => self.bytes_left = left,
                    None => {
                        let message = "the copies under way take more memory than the program's limit".into();
                        return Err(self.fault(frame, id, (FaultKind::Limit, message)));
                    }
                }
                *buffer.borrow_mut() = Data::poison(elem, len);
                self.copies.open.push((buffer, data));
                return Ok(SmallVec::new());
            }
            OpKind::AsyncCommit => {
                let group = std::mem::take(&mut self.copies.open);
                self.copies.groups.push_back(group);
                return Ok(SmallVec::new());
            }
            OpKind::AsyncWait { pending } => {
                while self.copies.groups.len() > *pending as usize {
                    for (buffer, data) in self.copies.groups.pop_front().into_iter().flatten() {
                        self.bytes_left = self.bytes_left.saturating_add(data.bytes());
                        *buffer.borrow_mut() = data;
                    }
                }
                return Ok(SmallVec::new());
            }
            OpKind::MbarrierInit { .. } | OpKind::MbarrierInvalidate => {
                let Slot::Ring(ring) = &frame.values[op.operands[0].index()] else { return Err(self.malformed(frame, id)) };
                let init = matches!(op.kind, OpKind::MbarrierInit { .. });
                self.copies.make_mbarriers(ring, init).map_err(|failure| self.fault(frame, id, failure))?;
                return Ok(SmallVec::new());
            }
            OpKind::MbarrierWait => {
                let parity = tile(self, frame, 1)?.first_int();
                let mbarrier = self.shared(frame, id, op.operands[0])?;
                let landed = self.copies.wait(&mbarrier, parity).map_err(|failure| self.fault(frame, id, failure))?;
                self.bytes_left = self.bytes_left.saturating_add(landed);
                return Ok(SmallVec::new());
            }
            OpKind::TmaLoad { .. } => {
                let operands = tma::Operands::of(&op.operands).ok_or_else(|| self.malformed(frame, id))?;
                let one = |this: &Self, value: ValueId| Ok(this.tile(frame, id, value)?.first_int());
                if one(self, operands.runs)? == 0 {
                    return Ok(SmallVec::new());
                }
                let ty = function.ty(operands.copied.buffer);
                let scalar = ty.elem().scalar().unwrap_or(Scalar::I8);
                let (pointers, mask) = self.tensor_block(frame, id, &operands.copied)?;
                let zero = Data::ints(ty.elem(), 0, mask.len());
                let data = access::load(self.memory, scalar, &Data::I64(pointers), Some(&Data::I1(mask)), zero)
                    .map_err(|failure| self.fault(frame, id, failure))?;
                match self.bytes_left.checked_sub(data.bytes()) {
                    Some(left) => self.bytes_left = left,
                    None => {
                        let message = "the copies under way take more memory than the program's limit".into();
                        return Err(self.fault(frame, id, (FaultKind::Limit, message)));
                    }
                }
                let (buffer, mbarrier) =
                    (self.shared(frame, id, operands.copied.buffer)?, self.shared(frame, id, operands.barrier)?);
                *buffer.borrow_mut() = Data::poison(ty.elem(), data.len());
                self.copies.announce(&mbarrier, buffer, data).map_err(|failure| self.fault(frame, id, failure))?;
                return Ok(SmallVec::new());
            }
            OpKind::TmaStore { .. } => {
                let copied = tma::Copied::of_store(&op.operands).ok_or_else(|| self.malformed(frame, id))?;
                let (pointers, mask) = self.tensor_block(frame, id, &copied)?;
                let value = self.shared(frame, id, copied.buffer)?;
                let scalar = function.ty(copied.buffer).elem().scalar().unwrap_or(Scalar::I8);
                access::store(self.memory, scalar, &Data::I64(pointers), &value.borrow(), Some(&Data::I1(mask)))
                    .map_err(|failure| self.fault(frame, id, failure))?;
                return Ok(SmallVec::new());
            }
            // Copies name the tensor themselves.
            OpKind::WriteTensorMap { .. } => return Ok(SmallVec::new()),
            OpKind::Wgmma { turned, .. } => {
                let read = |this: &Self, frame: &Frame<'r>, n: usize| -> Result<(Rc<Data>, Shape), Fault> {
                    let data = match &frame.values[op.operands[n].index()] {
                        Slot::Shared(data) => Rc::new(data.borrow().clone()),
                        _ => tile(this, frame, n)?,
                    };
                    let shape = ty(n).shape().clone();
                    if !turned[n] {
                        return Ok((data, shape));
                    }
                    let turned: Shape = shape.iter().rev().copied().collect();
                    Ok((Rc::new(shape::transpose(&data, &shape, &turned, &[1, 0])), turned))
                };
                let ((a, left), (b, right)) = (read(self, frame, 0)?, read(self, frame, 1)?);
                let (c, operand) = (tile(self, frame, 2)?, ty(0).elem().scalar().unwrap_or(Scalar::F32));
                let dot = |result| dot::dot(DotPrecision::Tf32, operand, result, (&left, &right), &a, &b, &c);
                elem.scalar().and_then(dot)
            }
            OpKind::WgmmaWait { .. } => return Ok(op.operands.iter().map(|v| frame.values[v.index()].clone()).collect()),
            // Blocks end before they come here.
            OpKind::Yield | OpKind::Condition | OpKind::Return => None,
        };
        computed.map(one).ok_or_else(|| self.malformed(frame, id))
    }

    /// The addresses of a block of a tensor, and which are inside.
    fn tensor_block(&self, frame: &Frame<'r>, id: OpId, copied: &tma::Copied<'_>) -> Result<(Vec<i64>, Vec<bool>), Fault> {
        let one = |value: ValueId| Ok(self.tile(frame, id, value)?.first_int());
        let all = |values: &[ValueId]| values.iter().map(|&v| one(v)).collect::<Result<Vec<i64>, Fault>>();
        let ty = frame.function.ty(copied.buffer);
        let block = Block {
            base: one(copied.tensor.base)?,
            extents: all(copied.tensor.extents)?,
            strides: all(copied.tensor.strides)?,
            starts: all(copied.starts)?,
            bytes: ty.elem().scalar().unwrap_or(Scalar::I8).bytes(),
        };
        Ok(block.window(ty.shape()))
    }

    fn for_loop(&mut self, frame: &mut Frame<'r>, id: OpId) -> Result<SmallVec<[Slot; 2]>, Fault> {
        let function = frame.function;
        let op = function.op(id);
        let operands = op.for_operands();
        let mut bounds = [0i64; 3];
        for (bound, operand) in bounds.iter_mut().zip(operands.bounds()) {
            *bound = self.tile(frame, id, operand)?.first_int();
        }
        let [lower, upper, step] = bounds;
        if step <= 0 {
            let message = format!("the step of a loop is positive, not {step}");
            return Err(self.fault(frame, id, (FaultKind::Malformed, message)));
        }
        let elem = function.ty(operands.lower).elem();
        let args = function.block(op.regions[0]).for_args();
        let mut carried: Vec<Slot> = operands.init.iter().map(|v| frame.values[v.index()].clone()).collect();
        let mut at = lower;
        while at < upper {
            self.charge(frame, id)?;
            self.set(frame, id, args.induction, Slot::of(Data::ints(elem, at, 1)))?;
            for (&arg, slot) in args.carried.iter().zip(std::mem::take(&mut carried)) {
                self.set(frame, id, arg, slot)?;
            }
            carried = self.block(frame, op.regions[0])?;
            match at.checked_add(step) {
                Some(next) => at = next,
                None => break,
            }
        }
        Ok(SmallVec::from_vec(carried))
    }

    fn while_loop(&mut self, frame: &mut Frame<'r>, id: OpId) -> Result<SmallVec<[Slot; 2]>, Fault> {
        let function = frame.function;
        let op = function.op(id);
        let mut carried: Vec<Slot> = op.operands.iter().map(|v| frame.values[v.index()].clone()).collect();
        loop {
            for (&arg, slot) in function.block(op.regions[0]).args.iter().zip(carried) {
                self.set(frame, id, arg, slot)?;
            }
            let mut passed = self.block(frame, op.regions[0])?;
            if passed.is_empty() {
                return Err(self.malformed(frame, id));
            }
            let Slot::Tile(condition, labels) = passed.remove(0) else { return Err(self.malformed(frame, id)) };
            self.decided(frame, id, &labels);
            if condition.first_int() == 0 {
                return Ok(SmallVec::from_vec(passed));
            }
            for (&arg, slot) in function.block(op.regions[1]).args.iter().zip(passed) {
                self.set(frame, id, arg, slot)?;
            }
            carried = self.block(frame, op.regions[1])?;
        }
    }
}
