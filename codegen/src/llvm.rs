//! LLVM IR text of a kernel whose every decision has been made: one function, layouts on all tiles, shared memory assigned, vectors chosen.
//!
//! A tile is one SSA scalar per register of its layout, in register order; vectors exist only at loads and stores. Values of the layout's
//! lane and warp bits are computed once, in the entry block. **Invariants:** the same module gives the same bytes; what cannot be
//! written is [`Unsupported`] with the origin of the operation, never a panic and never wrong code.
//!
//! The kernel's parameters are those of the function, in order: pointers, integers and floats as themselves, `i1` as a byte. Shared
//! memory is dynamic: the launcher passes `module.shared_bytes`.

mod asynchronous;
mod atomic;
mod batches;
mod behind_questions;
mod cast;
mod conditions;
mod control;
mod convert;
mod dot;
mod dot_fma;
mod early_loads;
mod elementwise;
mod index;
mod inline_asm;
mod lines;
mod loads_first;
mod lookup;
mod memory;
mod order;
mod origins;
mod print;
mod program;
mod reduce;
mod rounding;
mod rows_first;
mod scan;
mod small_arguments;
mod tensor_maps;
mod tma;
mod value;
mod walks;
mod wgmma;

use std::{collections::BTreeSet, fmt, fmt::Write, rc::Rc};

use rustc_hash::FxHashMap;
use tritium_semantics::{
    occupancy::registers_of_thread,
    target::{Feature, Sm},
};
use tritium_tile::{
    BlockId, Elem, Function, Module, OpId, OpKind, Origin, Scalar, Type, ValueId,
    facts::{self, Facts},
    kinds,
    layout::{Distributed, SharedLayout},
    ops::{Constant, SpecialRegister},
    rewrite::use_counts,
};

pub use crate::Unsupported;
use crate::{
    passes,
    ptx_strings::{Instruction, shared_note},
    tensor_map::TensorMap,
};
pub use control::{REDUCE_LOOPS, UNROLL_FULL};
use value::{Reg, float_constant, int_constant, memory_type, type_name};

type Emitted<T> = Result<T, Unsupported>;

/// The body of a CTA of one warp, whose lanes meet without a barrier's latency. Last, as to the order of lines it is a barrier.
fn warp_meets(body: &str) -> String {
    body.replace(&*Instruction::BarSync.text(), &Instruction::WarpSync.text())
}

/// What the kernel is called in PTX: its name with everything PTX does not allow replaced.
pub fn entry_name(module: &Module) -> String {
    let name: String = module.entry().name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect();
    if name.starts_with(|c: char| c.is_ascii_digit()) || name.is_empty() { format!("_{name}") } else { name }
}

/// What the text depends on beyond the module and the SM.
pub struct Emission<'e> {
    /// Registers a thread may have at most.
    pub max_registers: Option<u32>,
    /// The file that an operation comes from, for the messages of assertions.
    pub file_of: &'e dyn Fn(Origin) -> Option<String>,
}

impl Default for Emission<'_> {
    fn default() -> Self {
        Emission { max_registers: None, file_of: &|_| None }
    }
}

/// A kernel as LLVM text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    pub llvm: String,
    /// Of a program, in memory that a launch gives behind the kernel's own parameters if there are any.
    pub scratch_bytes: u32,
    /// Further parameters, in order.
    pub tensor_maps: Vec<TensorMap>,
}

/// Writes the kernel of a module at L1 as LLVM IR for this SM.
pub fn emit(module: &Module, sm: &Sm) -> Result<String, Unsupported> {
    emit_with(module, sm, &Emission::default()).map(|text| text.llvm)
}

pub fn emit_with(module: &Module, sm: &Sm, emission: &Emission<'_>) -> Result<Text, Unsupported> {
    let Some(function) = module.functions.first() else {
        return Err(Unsupported { origin: Origin::NONE, message: "the module has no function".into() });
    };
    let mut emitter = Emitter::new(module, function, sm, emission);
    if !module.num_warps.is_power_of_two() || module.num_warps > 32 {
        return Err(
            emitter.unsupported(format!("a CTA of {} warps: their number must be a power of two up to 32", module.num_warps))
        );
    }
    if !function.results.is_empty() {
        return Err(emitter.unsupported("a kernel cannot return values; only helpers can"));
    }
    emitter.parameters()?;
    emitter.block(function.body)?;
    emitter.tensor_map_parameters();
    let (scratch_bytes, tensor_maps) = (emitter.scratch_bytes(), std::mem::take(&mut emitter.tensor_maps));
    Ok(Text { llvm: emitter.finish(), scratch_bytes, tensor_maps })
}

/// A text as LLVM spells it between quotes.
fn escaped(text: &str) -> String {
    text.bytes()
        .map(|b| {
            if (b.is_ascii_graphic() || b == b' ') && b != b'"' && b != b'\\' {
                (b as char).to_string()
            } else {
                format!("\\{b:02X}")
            }
        })
        .collect()
}

struct Emitter<'m> {
    module: &'m Module,
    function: &'m Function,
    sm: &'m Sm,
    emission: &'m Emission<'m>,
    /// That a thread may have.
    registers: u32,
    /// Of the operation being written.
    origin: Origin,
    /// The debug location of what is being written: a number of metadata; and those there are, by origin. Looked up only.
    location: Option<usize>,
    locations: FxHashMap<u32, usize>,
    subprogram: Option<usize>,
    /// Lines of `metadata` that define no number.
    unnumbered: usize,
    signature: Vec<String>,
    /// What is computed once per thread; it dominates everything.
    entry: String,
    body: String,
    next: u32,
    labels: u32,
    /// The basic block being written, for phis.
    label: u32,
    /// The registers of every value written so far.
    values: Vec<Option<Rc<[Reg]>>>,
    uses: Vec<u32>,
    /// Loads of global memory were written that no later access keeps in front of it yet.
    loads_may_sink: bool,
    facts: Facts,
    origins: origins::Origins,
    /// LLVM makes a pointer to carry of every address in a loop.
    reduces_loops: bool,
    /// There are products.
    multiplies: bool,
    /// How the registers of a value follow from its first; see [`walks`].
    walks: Vec<Option<walks::Walk>>,
    /// How conditions were made, and those that a block has asked again. Looked up only.
    conditions: FxHashMap<Reg, conditions::Condition>,
    asked_again: FxHashMap<(u32, Reg), Reg>,
    declarations: BTreeSet<String>,
    globals: Vec<String>,
    tensor_maps: Vec<TensorMap>,
    written_maps: Vec<passes::write_tensor_maps::DescribedTensor>,
    /// Where a program's scratch begins, once that is known.
    scratch: Option<Reg>,
    /// The tables of constants among the globals, in the order of their numbers.
    tables: Vec<&'static [u64]>,
    /// Functions of the mathematical library that are called, and their names.
    functions: Vec<String>,
    defined: BTreeSet<&'static str>,
    metadata: Vec<String>,
    /// Linear functions of the thread's index that the entry block computes. Looked up only.
    linear: FxHashMap<(Vec<u32>, u32), Reg>,
    /// Of [`Emitter::warp_linear`].
    warp_linear: FxHashMap<Vec<u32>, Reg>,
    /// Predicates of the entry block: "my surplus bits are 0".
    leader: FxHashMap<u32, Reg>,
    /// Operands that products without tensor cores have read and later ones will; see [`dot_fma`].
    fragments: FxHashMap<dot_fma::FragmentKey, dot_fma::Fragment>,
}

/// Writes one instruction with a result and names the result.
macro_rules! ins {
    ($emitter:expr, $($arg:tt)*) => { $emitter.instruction(format_args!($($arg)*)) };
}
/// Writes one instruction without a result.
macro_rules! line {
    ($emitter:expr, $($arg:tt)*) => { $emitter.line(format_args!($($arg)*)) };
}
use {ins, line};

impl<'m> Emitter<'m> {
    fn new(module: &'m Module, function: &'m Function, sm: &'m Sm, emission: &'m Emission<'m>) -> Emitter<'m> {
        // More warps are refused.
        let registers = registers_of_thread(sm, module.num_warps.min(32), emission.max_registers);
        Emitter {
            module,
            function,
            sm,
            emission,
            registers,
            origin: Origin::NONE,
            location: None,
            locations: FxHashMap::default(),
            subprogram: None,
            unnumbered: 0,
            signature: Vec::new(),
            entry: String::new(),
            body: String::new(),
            next: 0,
            labels: 0,
            label: 0,
            values: vec![None; function.values.len()],
            uses: use_counts(function),
            loads_may_sink: false,
            facts: facts::of_function(function),
            origins: origins::Origins::of(function),
            reduces_loops: control::reduces_loops(module, function, registers),
            multiplies: passes::multiplies(function),
            walks: vec![None; function.values.len()],
            conditions: FxHashMap::default(),
            asked_again: FxHashMap::default(),
            declarations: BTreeSet::new(),
            globals: Vec::new(),
            tensor_maps: Vec::new(),
            written_maps: tensor_maps::written(function),
            scratch: None,
            tables: Vec::new(),
            functions: Vec::new(),
            defined: BTreeSet::new(),
            metadata: vec!["!0 = !{!\"llvm.loop.unroll.disable\"}".into(), "!1 = !{!\"llvm.loop.peeled.count\", i32 0}".into()],
            linear: FxHashMap::default(),
            warp_linear: FxHashMap::default(),
            leader: FxHashMap::default(),
            fragments: FxHashMap::default(),
        }
    }

    fn unsupported(&self, message: impl Into<String>) -> Unsupported {
        Unsupported { origin: self.origin, message: message.into() }
    }

    fn threads(&self) -> u32 {
        32 * self.module.num_warps
    }

    // ---- text

    fn fresh(&mut self) -> Reg {
        self.next += 1;
        Reg::Tmp(self.next - 1)
    }

    fn instruction(&mut self, text: fmt::Arguments<'_>) -> Reg {
        let reg = self.fresh();
        // Writing to a string cannot fail.
        let _ = write!(self.body, "  {reg} = {text}");
        self.end_line();
        reg
    }

    fn line(&mut self, text: fmt::Arguments<'_>) {
        let _ = write!(self.body, "  {text}");
        self.end_line();
    }

    /// Behind an instruction: where it comes from.
    fn end_line(&mut self) {
        let _ = match self.location {
            Some(location) => writeln!(self.body, ", !dbg !{location}"),
            None => writeln!(self.body),
        };
    }

    /// What follows comes from this operation; what a pass has invented belongs to what is in front of it.
    fn set_origin(&mut self, origin: Origin) {
        self.origin = origin;
        if origin == Origin::NONE {
            return;
        }
        if self.locations.is_empty() {
            // One past what is there: the unit, its file, the function and its type.
            let first = self.metadata.len();
            self.subprogram = Some(first + 2);
            let (file, name) = (crate::source_lines::OPERATIONS, entry_name(self.module));
            self.metadata.extend([
                format!(
                    "!{first} = distinct !DICompileUnit(language: DW_LANG_C, file: !{}, producer: \"tritium\", isOptimized: true, \
                     runtimeVersion: 0, emissionKind: DebugDirectivesOnly)",
                    first + 1
                ),
                format!("!{} = !DIFile(filename: \"{file}\", directory: \"\")", first + 1),
                format!(
                    "!{} = distinct !DISubprogram(name: \"{name}\", scope: !{file}, file: !{file}, line: 1, type: !{}, unit: !{first}, \
                     spFlags: DISPFlagDefinition | DISPFlagOptimized)",
                    first + 2,
                    first + 3,
                    file = first + 1,
                ),
                format!("!{} = !DISubroutineType(types: !{})", first + 3, first + 4),
                format!("!{} = !{{}}", first + 4),
                format!("!{} = !{{i32 2, !\"Debug Info Version\", i32 3}}", first + 5),
                format!("!llvm.dbg.cu = !{{!{first}}}"),
                format!("!llvm.module.flags = !{{!{}}}", first + 5),
            ]);
            // Two of these lines have no number.
            self.unnumbered = 2;
        }
        let next = self.metadata.len() - self.unnumbered;
        let location = *self.locations.entry(origin.0).or_insert(next);
        if location == next {
            let scope = self.subprogram.unwrap_or(0);
            self.metadata
                .push(format!("!{next} = !DILocation(line: {}, column: 0, scope: !{scope})", origin.0.saturating_add(1)));
        }
        self.location = Some(location);
    }

    fn new_label(&mut self) -> u32 {
        self.labels += 1;
        self.labels
    }

    fn start_block(&mut self, label: u32) {
        let _ = writeln!(self.body, "b{label}:");
        self.label = label;
    }

    /// Runs `write` with its text going to the entry block.
    fn in_entry(&mut self, write: impl FnOnce(&mut Emitter<'m>) -> Reg) -> Reg {
        std::mem::swap(&mut self.body, &mut self.entry);
        // What all operations share comes from none.
        let location = self.location.take();
        let reg = write(self);
        self.location = location;
        std::mem::swap(&mut self.body, &mut self.entry);
        reg
    }

    /// A call of an intrinsic, which is declared on the way.
    fn call(&mut self, result: &str, name: &str, args: &[(&str, Reg)]) -> Reg {
        let types: Vec<&str> = args.iter().map(|(ty, _)| *ty).collect();
        let convergent = if name.contains(".shfl.") { " #1" } else { "" };
        self.declarations.insert(format!("declare {result} @{name}({}){convergent}", types.join(", ")));
        let args: Vec<String> = args.iter().map(|(ty, reg)| format!("{ty} {reg}")).collect();
        ins!(self, "call {result} @{name}({}){convergent}", args.join(", "))
    }

    /// A call of an intrinsic that gives nothing.
    fn void_call(&mut self, name: &str, types: &str, args: &str) {
        self.declarations.insert(format!("declare void @{name}({types})"));
        line!(self, "call void @{name}({args})");
    }

    /// Inline PTX; one result per entry of `results`.
    fn asm(&mut self, instruction: Instruction, results: &[&str], args: &[(&str, Reg)]) -> Vec<Reg> {
        let effect = if instruction.has_effects() { " sideeffect" } else { "" };
        let attributes = if instruction.is_convergent() { "#1" } else { "#2" };
        self.asm_call(&instruction.text(), &instruction.constraints(), (effect, attributes), results, args)
    }

    /// Inline PTX with effects.
    fn asm_block(&mut self, text: &str, constraints: &str, results: &[&str], args: &[(&str, Reg)]) -> Vec<Reg> {
        self.asm_call(text, constraints, (" sideeffect", "#1"), results, args)
    }

    fn asm_call(
        &mut self,
        text: &str,
        constraints: &str,
        (effect, attributes): (&str, &str),
        results: &[&str],
        args: &[(&str, Reg)],
    ) -> Vec<Reg> {
        let result = match results {
            [] => "void".to_string(),
            [one] => one.to_string(),
            many => format!("{{{}}}", many.join(", ")),
        };
        let args: Vec<String> = args.iter().map(|(ty, reg)| format!("{ty} {reg}")).collect();
        // `$` names operands in the text, so nothing needs escaping.
        let text = format!("call {result} asm{effect} \"{text}\", \"{constraints}\"({}) {attributes}", args.join(", "));
        match results.len() {
            0 => {
                line!(self, "{text}");
                Vec::new()
            }
            1 => vec![ins!(self, "{text}")],
            n => {
                let tuple = ins!(self, "{text}");
                (0..n).map(|i| ins!(self, "extractvalue {result} {tuple}, {i}")).collect()
            }
        }
    }

    fn barrier(&mut self) {
        self.asm(Instruction::BarSync, &[], &[]);
        self.loads_may_sink = false;
    }

    /// Keeps the loads that were written so far in front of the writes that follow. Where ptxas can tell their addresses apart it would put
    /// each load behind the stores of what is in its way, to save registers, and few would be under way at a time.
    fn keep_loads_ahead(&mut self) {
        if std::mem::take(&mut self.loads_may_sink) {
            // It comes from no line: who looks for a store's instructions would find it, far in front of them.
            let location = self.location.take();
            self.asm(Instruction::WarpSync, &[], &[]);
            self.location = location;
        }
    }

    // ---- values

    fn ty(&self, value: ValueId) -> &'m Type {
        self.function.ty(value)
    }

    fn regs(&self, value: ValueId) -> Emitted<Rc<[Reg]>> {
        self.values[value.index()].clone().ok_or_else(|| self.unsupported("a value is used before it is defined"))
    }

    fn reg(&self, value: ValueId) -> Emitted<Reg> {
        let regs = self.regs(value)?;
        regs.first().copied().ok_or_else(|| self.unsupported("a shared buffer is used as a scalar"))
    }

    fn set(&mut self, value: ValueId, regs: Vec<Reg>) {
        debug_assert_eq!(Some(regs.len()), self.num_registers(value).ok());
        self.values[value.index()] = Some(regs.into());
    }

    /// The layout of a tile; `None` for a scalar.
    fn layout(&self, value: ValueId) -> Emitted<Option<&'m Distributed>> {
        match self.ty(value) {
            Type::Tile { shape, .. } if shape.is_empty() => Ok(None),
            Type::Tile { layout: Some(id), .. } => {
                let layout = self.module.layouts.distributed(*id);
                let layout = layout.ok_or_else(|| self.unsupported("a tile has a layout of shared memory"))?;
                if layout.num_warps() != self.module.num_warps || layout.lane.len() != 5 {
                    return Err(self.unsupported("a tile's layout is made for another number of threads than the CTA has"));
                }
                Ok(Some(layout))
            }
            Type::Tile { layout: None, .. } => Err(self.unsupported("a tile has no layout: the module is not at level L1")),
            Type::Shared { .. } => Err(self.unsupported("a shared buffer is used as a tile")),
        }
    }

    fn tile_layout(&self, value: ValueId) -> Emitted<&'m Distributed> {
        self.layout(value)?.ok_or_else(|| self.unsupported("a scalar stands where a tile is needed"))
    }

    fn buffer_layout(&self, value: ValueId) -> Emitted<&'m SharedLayout> {
        let layout = match self.ty(value) {
            Type::Shared { layout, .. } => self.module.layouts.shared(*layout),
            Type::Tile { .. } => None,
        };
        layout.ok_or_else(|| self.unsupported("a tile stands where a shared buffer is needed"))
    }

    fn num_registers(&self, value: ValueId) -> Emitted<usize> {
        match self.ty(value) {
            Type::Shared { .. } => Ok(0),
            Type::Tile { .. } => Ok(self.layout(value)?.map_or(1, Distributed::num_registers)),
        }
    }

    fn scalar(&self, value: ValueId) -> Emitted<Scalar> {
        self.ty(value).elem().scalar().ok_or_else(|| self.unsupported("a pointer stands where a number is needed"))
    }

    fn type_of(&self, value: ValueId) -> &'static str {
        type_name(self.ty(value).elem())
    }

    fn shared_offset(&self, op: OpId) -> Emitted<u32> {
        self.function
            .op(op)
            .shared_offset
            .ok_or_else(|| self.unsupported("an operation needs shared memory but none was assigned to it"))
    }

    // ---- the function

    fn parameters(&mut self) -> Emitted<()> {
        for (index, param) in self.function.params.iter().enumerate() {
            let arg = Reg::Arg(index as u32);
            let elem = self.ty(param.value).elem();
            if !self.ty(param.value).is_scalar() {
                return Err(self.unsupported(format!("parameter `{}` is a tile; kernels take scalars and pointers", param.name)));
            }
            let (text, reg) = match elem {
                Elem::Ptr(_) => {
                    let alignment = 1u32 << param.divisibility.max(1).trailing_zeros().min(10);
                    (format!("ptr addrspace(1) align {alignment} {arg}"), arg)
                }
                Elem::Scalar(Scalar::I1) => (format!("i8 {arg}"), self.in_entry(|e| ins!(e, "icmp ne i8 {arg}, 0"))),
                Elem::Scalar(s) => (format!("{} {arg}", memory_type(s)), arg),
            };
            self.signature.push(text);
            self.set(param.value, vec![reg]);
        }
        Ok(())
    }

    fn finish(self) -> String {
        let name = entry_name(self.module);
        let mut text = String::with_capacity(self.body.len() + self.entry.len() + 2048);
        let mut put = |line: fmt::Arguments<'_>| {
            let _ = writeln!(text, "{line}");
        };
        put(format_args!("target triple = \"nvptx64-nvidia-cuda\"\n"));
        // A kernel that only names it is given a kilobyte of shared memory, and its CTAs start more slowly.
        if self.entry.contains("@shared") || self.body.contains("@shared") {
            put(format_args!("@shared = external addrspace(3) global [0 x i8], align 1024"));
        }
        if let Some(bytes) = self.module.shared_bytes.filter(|&bytes| bytes > 0) {
            put(format_args!("module asm \"{}\"", shared_note(bytes)));
        }
        for global in &self.globals {
            put(format_args!("{global}"));
        }
        let subprogram = self.subprogram.map_or_else(String::new, |number| format!(" !dbg !{number}"));
        put(format_args!("\ndefine ptx_kernel void @{name}({}) #0{subprogram} {{", self.signature.join(", ")));
        put(format_args!("entry:"));
        put(format_args!("  %tid = call range(i32 0, {}) i32 @llvm.nvvm.read.ptx.sreg.tid.x()", 32 * self.module.num_warps));
        let registers = self.registers;
        let body = batches::batches(&early_loads::early_loads(&self.body, registers), registers, self.multiplies);
        // A single warp has nobody beside it while it waits for both.
        let body = loads_first::loads_first(&body, registers, self.multiplies, self.module.num_warps > 1);
        let body = order::depth_first(&rows_first::rows_first(&body, self.multiplies), registers);
        let body = behind_questions::behind_questions(body);
        let body = if self.module.num_warps == 1 { warp_meets(&body) } else { body };
        put(format_args!("{}  br label %b0\nb0:\n{body}}}\n", self.entry));
        for function in &self.functions {
            put(format_args!("{function}"));
        }
        put(format_args!("declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()"));
        for declaration in &self.declarations {
            put(format_args!("{declaration}"));
        }
        let limit = self.emission.max_registers.map_or_else(String::new, |n| format!(" \"nvvm.maxnreg\"=\"{n}\""));
        let reduced = if self.reduces_loops { format!(" \"{REDUCE_LOOPS}\"") } else { String::new() };
        put(format_args!(
            "\nattributes #0 = {{ nounwind \"nvvm.maxntid\"=\"{},1,1\"{limit}{reduced} }}",
            32 * self.module.num_warps
        ));
        put(format_args!("attributes #1 = {{ convergent nounwind }}"));
        put(format_args!("attributes #2 = {{ nounwind }}"));
        put(format_args!("attributes #3 = {{ noinline nounwind willreturn memory(none) }}\n"));
        for node in &self.metadata {
            put(format_args!("{node}"));
        }
        text
    }

    /// The operations of a block; the operands of its terminator.
    fn block(&mut self, block: BlockId) -> Emitted<Vec<ValueId>> {
        let function = self.function;
        for &op in &function.block(block).ops {
            let operation = function.op(op);
            if operation.kind.is_terminator() {
                if matches!(operation.kind, OpKind::Return) {
                    self.set_origin(operation.origin);
                    line!(self, "ret void");
                }
                return Ok(operation.operands.to_vec());
            }
            let outer = (self.origin, self.location);
            self.set_origin(operation.origin);
            self.op(op)?;
            (self.origin, self.location) = outer;
        }
        Err(self.unsupported("a block has no terminator"))
    }

    /// The operations of a region with its arguments bound to single registers; the registers it yields.
    fn inline_scalars(&mut self, block: BlockId, args: &[Reg]) -> Emitted<Vec<Reg>> {
        for (&value, &reg) in self.function.block(block).args.iter().zip(args) {
            self.set(value, vec![reg]);
        }
        let yielded = self.block(block)?;
        yielded.into_iter().map(|value| self.reg(value)).collect()
    }

    fn op(&mut self, op: OpId) -> Emitted<()> {
        let operation = self.function.op(op);
        match &operation.kind {
            OpKind::Constant(constant) => {
                self.constant(op, *constant)?;
                self.note_walk(op)
            }
            OpKind::ProgramId { axis } => self.special_register(op, "ctaid", *axis),
            OpKind::NumPrograms { axis } => self.special_register(op, "nctaid", *axis),
            OpKind::SpecialRegister(register) => self.machine_register(op, *register),
            OpKind::Iota { start, .. } => {
                self.iota(op, *start)?;
                self.note_walk(op)
            }
            OpKind::Splat => {
                let reg = self.reg(operation.operands[0])?;
                let n = self.num_registers(operation.results[0])?;
                self.set(operation.results[0], vec![reg; n]);
                self.note_walk(op)
            }
            OpKind::ExpandDims { .. } | OpKind::Broadcast | OpKind::Reshape { .. } | OpKind::Transpose { .. } => self.rename(op),
            kinds!(Arithmetic) | OpKind::AddPtr | OpKind::Promise { .. } => self.elementwise(op),
            OpKind::Assume => self.assume(op),
            OpKind::Load(attrs) => self.load(op, *attrs),
            OpKind::Store(attrs) => self.store(op, *attrs),
            OpKind::AtomicRmw { op: kind, sem, scope, vector } => self.atomic(op, *kind, (*sem, *scope), *vector),
            OpKind::Reduce { axis } => self.reduce(op, *axis as usize),
            OpKind::Scan { axis, reverse } => self.scan(op, *axis as usize, *reverse),
            OpKind::Dot { precision, .. } => self.dot(op, *precision),
            OpKind::For(attrs) => self.for_loop(op, *attrs),
            OpKind::While { disable_licm } => self.while_loop(op, *disable_licm),
            OpKind::If => self.if_else(op),
            OpKind::Assert { message } => self.assert(op, message),
            OpKind::ConvertLayout => self.convert_layout(op),
            OpKind::LocalAlloc => self.local_alloc(op),
            OpKind::LocalIndex => self.local_index(op),
            OpKind::LocalLoad => self.local_load(op),
            OpKind::LocalStore => self.local_store(op),
            OpKind::Barrier => {
                self.barrier();
                Ok(())
            }
            OpKind::GridWait | OpKind::GridLaunch => {
                // A GPU that cannot overlap grids has nothing to wait for.
                if self.sm.has(Feature::GridDependency) {
                    let wait = matches!(operation.kind, OpKind::GridWait);
                    self.asm(if wait { Instruction::GridWait } else { Instruction::GridLaunch }, &[], &[]);
                }
                Ok(())
            }
            OpKind::MbarrierInit { count } => self.mbarrier_init(op, *count),
            OpKind::MbarrierWait => self.mbarrier_wait(op),
            OpKind::MbarrierInvalidate => self.mbarrier_invalidate(op),
            OpKind::TmaLoad { contiguous, own_map } => self.tma_load(op, *contiguous, *own_map),
            OpKind::TmaStore { contiguous, own_map, visible } => self.tma_store(op, *contiguous, *own_map, *visible),
            OpKind::WriteTensorMap { .. } => self.write_tensor_map(op),
            OpKind::Wgmma { turned, sum_depth } => self.wgmma(op, *turned, *sum_depth),
            OpKind::WgmmaWait { pending } => self.wgmma_wait(op, *pending),
            OpKind::AsyncCopy(attrs) => self.async_copy(op, *attrs),
            OpKind::AsyncCommit => {
                self.void_call("llvm.nvvm.cp.async.commit.group", "", "");
                Ok(())
            }
            OpKind::AsyncWait { pending } => {
                self.void_call("llvm.nvvm.cp.async.wait.group", "i32 immarg", &format!("i32 {pending}"));
                Ok(())
            }
            OpKind::FenceAsync => {
                if !self.sm.has(Feature::Tma) {
                    return Err(self.unsupported(format!("{} has no asynchronous proxy to fence", self.sm.name)));
                }
                self.asm(Instruction::FenceAsync, &[], &[]);
                Ok(())
            }
            OpKind::InlineAsm(asm) => self.inline_asm(op, asm),
            OpKind::Map { pack } => self.map(op, *pack as usize),
            OpKind::AtomicCas { sem, scope } => self.atomic_cas(op, *sem, *scope),
            OpKind::Gather { axis } => self.gather(op, *axis as usize),
            OpKind::Histogram => self.histogram(op),
            OpKind::Print { prefix, hex, signed } => self.print(op, prefix, *hex, *signed),
            OpKind::Call { .. } => Err(self.unsupported("a call is left; helpers must be inlined before code is written")),
            OpKind::Yield | OpKind::Condition | OpKind::Return => Err(self.unsupported("a terminator stands inside a block")),
        }
    }

    fn constant(&mut self, op: OpId, constant: Constant) -> Emitted<()> {
        let result = self.function.op(op).results[0];
        let reg = match (self.ty(result).elem(), constant) {
            (_, Constant::Undefined) => Some(Reg::Poison),
            (Elem::Scalar(s), Constant::Float(value)) => float_constant(s, value),
            (Elem::Scalar(s), Constant::Int(value)) if s.is_int() => Some(int_constant(s, value)),
            (Elem::Scalar(s), Constant::Int(value)) => float_constant(s, value as f64),
            (Elem::Ptr(_), Constant::Int(0)) => Some(Reg::Null),
            (Elem::Ptr(_), _) => None,
        };
        let reg = reg.ok_or_else(|| self.unsupported("a constant does not fit its type"))?;
        let n = self.num_registers(result)?;
        self.set(result, vec![reg; n]);
        Ok(())
    }

    /// LLVM knows what the user promises, too.
    fn assume(&mut self, op: OpId) -> Emitted<()> {
        let condition = self.reg(self.function.op(op).operands[0])?;
        self.void_call("llvm.assume", "i1", &format!("i1 {condition}"));
        Ok(())
    }

    fn machine_register(&mut self, op: OpId, register: SpecialRegister) -> Emitted<()> {
        let (ty, name) = match register {
            SpecialRegister::GlobalTimer => ("i64", "globaltimer"),
            SpecialRegister::SmId => ("i32", "smid"),
        };
        let reg = self.call(ty, &format!("llvm.nvvm.read.ptx.sreg.{name}"), &[]);
        self.set(self.function.op(op).results[0], vec![reg]);
        Ok(())
    }

    fn special_register(&mut self, op: OpId, name: &str, axis: u8) -> Emitted<()> {
        let Some(letter) = ["x", "y", "z"].get(axis as usize) else {
            return Err(self.unsupported(format!("a grid has no axis {axis}")));
        };
        let intrinsic = format!("llvm.nvvm.read.ptx.sreg.{name}.{letter}");
        let reg = self.call("i32", &intrinsic, &[]);
        self.set(self.function.op(op).results[0], vec![reg]);
        Ok(())
    }
}
