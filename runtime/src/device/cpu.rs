//! The CPU device: the reference interpreter, or the simulator of lanes, programs in parallel over the cores.
//!
//! **Invariant:** a run leaves in the tensors what every program wrote, and a fault of any program stops the others and is reported with
//! the operation it came from; of several faults the one of the lowest program is told.

use std::{
    cell::RefCell,
    io::Write as _,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use half::{bf16, f16};
use rayon::prelude::*;
use tritium_tile::{
    Elem, FunctionId, Level, Module, OpId, Origin, Scalar,
    interpret::{Arg, Fault, FaultKind, Interpreter, Limits, Memory},
    rewrite,
    sanitize::Sanitizer,
    simulate::Simulator,
};

use crate::{
    device::{DeviceError, LaunchValue, Stores},
    tensor::Tensor,
    watch::Watched,
};

/// More programs than any real launch; a larger grid is a mistake, and would run for years.
const MAX_PROGRAMS: u64 = 1 << 40;

/// How far a launch may go.
#[derive(Debug, Clone, Copy)]
pub struct Bounds<'a> {
    /// Says when to stop.
    pub watched: Option<&'a Watched>,
    /// For the tiles of all programs that run at once.
    pub memory_bytes: u64,
}

impl Default for Bounds<'_> {
    fn default() -> Self {
        Bounds { watched: None, memory_bytes: u64::MAX }
    }
}

/// Runs every program of a grid.
pub fn launch(
    module: &Module,
    grid: [u64; 3],
    values: &[LaunchValue],
    tensors: &mut [Tensor],
    bounds: Bounds<'_>,
) -> Result<Stores, DeviceError> {
    let interpreter = Interpreter::new(module);
    let run: Run<'_> =
        &|args, id, counts, memory, limits| interpreter.run(FunctionId(0), args, id, counts, memory, limits).map(drop);
    all(module, grid, values, tensors, bounds, run)
}

/// The same of a module whose layouts are decided, lane by lane.
pub fn simulate(
    module: &Module,
    grid: [u64; 3],
    values: &[LaunchValue],
    tensors: &mut [Tensor],
    bounds: Bounds<'_>,
) -> Result<Stores, DeviceError> {
    let simulator = Simulator::new(module);
    all(module, grid, values, tensors, bounds, &|args, id, counts, memory, limits| {
        simulator.run(args, id, counts, memory, limits)
    })
}

/// One program: arguments, its place, how many there are.
type Run<'a> = &'a (dyn Fn(&[Arg], [u32; 3], [u32; 3], &Memory, &Limits<'_>) -> Result<(), Fault> + Sync);

fn all(
    module: &Module,
    grid: [u64; 3],
    values: &[LaunchValue],
    tensors: &mut [Tensor],
    bounds: Bounds<'_>,
    run: Run<'_>,
) -> Result<Stores, DeviceError> {
    let Prepared { programs, memory, bases, args, limits } = Prepared::new(module, grid, values, tensors, bounds)?;
    let stop = Arc::new(AtomicBool::new(false));
    if let Some(watched) = bounds.watched {
        watched.programs(&stop);
    }
    let first = Mutex::new(None);
    let stopped = Mutex::new(None);
    (0..programs).into_par_iter().for_each(|linear| {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        let limits = Limits { cancel: Some(&stop), ..limits };
        if let Err(fault) = run(&args, program_at(grid, linear), grid.map(|extent| extent as u32), &memory, &limits) {
            stop.store(true, Ordering::Relaxed);
            let first = if fault.kind == FaultKind::Cancelled { &stopped } else { &first };
            let mut first = first.lock().unwrap_or_else(PoisonError::into_inner);
            if first.as_ref().is_none_or(|(other, _)| linear < *other) {
                *first = Some((linear, fault));
            }
        }
    });
    if let Some(watched) = bounds.watched {
        watched.programs_ended();
    }
    finish(&memory, &bases, tensors);
    if let Some((_, fault)) = first.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(DeviceError::Fault { origin: origin_of(module, &fault), message: fault.to_string() });
    }
    // Between two programs a stop has no place.
    let stopped = stopped.into_inner().unwrap_or_else(PoisonError::into_inner);
    if stopped.is_some() || stop.load(Ordering::Relaxed) {
        return Err(DeviceError::Stopped { origin: stopped.and_then(|(_, fault): (u64, Fault)| origin_of(module, &fault)) });
    }
    Ok(stores(&memory, &bases))
}

/// Runs the programs of a grid under checks, one after another, lane by lane where layouts are decided: what is found is the same every time. The
/// answer also says how many ran
/// to their end; a fault is what the checks cannot go on after.
pub fn sanitize(
    module: &Module,
    grid: [u64; 3],
    values: &[LaunchValue],
    tensors: &mut [Tensor],
    bounds: Bounds<'_>,
    sanitizer: &mut Sanitizer,
) -> (u64, Result<Stores, DeviceError>) {
    let Prepared { programs, memory, bases, args, limits } = match Prepared::new(module, grid, values, tensors, bounds) {
        Ok(prepared) => prepared,
        Err(error) => return (0, Err(error)),
    };
    let stop = Arc::new(AtomicBool::new(false));
    if let Some(watched) = bounds.watched {
        watched.programs(&stop);
    }
    let limits = Limits { cancel: Some(&stop), ..limits };
    let counts = grid.map(|extent| extent as u32);
    let checks = RefCell::new(std::mem::take(sanitizer));
    let (interpreter, simulator) = (Interpreter::new(module), Simulator::new(module));
    let run = |id: [u32; 3]| match module.level {
        Level::L0 => interpreter.run_checked(&args, id, counts, &memory, &limits, &mut checks.borrow_mut()),
        _ => simulator.run_checked(&args, id, counts, &memory, &limits, &checks),
    };
    let mut outcome = Ok(());
    let mut ended = 0;
    while ended < programs && outcome.is_ok() {
        outcome = run(program_at(grid, ended));
        ended += u64::from(outcome.is_ok());
    }
    *sanitizer = checks.into_inner();
    if let Some(watched) = bounds.watched {
        watched.programs_ended();
    }
    finish(&memory, &bases, tensors);
    let outcome = outcome.map(|()| stores(&memory, &bases)).map_err(|fault| match fault.kind {
        FaultKind::Cancelled => DeviceError::Stopped { origin: origin_of(module, &fault) },
        _ => DeviceError::Fault { origin: origin_of(module, &fault), message: fault.to_string() },
    });
    (ended, outcome)
}

/// A launch before its first program.
struct Prepared<'a> {
    programs: u64,
    memory: Memory,
    /// By tensor.
    bases: Vec<u64>,
    args: Vec<Arg>,
    /// Of each program.
    limits: Limits<'a>,
}

impl Prepared<'_> {
    fn new(
        module: &Module,
        grid: [u64; 3],
        values: &[LaunchValue],
        tensors: &[Tensor],
        bounds: Bounds<'_>,
    ) -> Result<Self, DeviceError> {
        let programs = grid.iter().try_fold(1u64, |n, &extent| n.checked_mul(extent)).filter(|&n| n <= MAX_PROGRAMS);
        let fits = grid.iter().all(|&extent| u32::try_from(extent).is_ok());
        let Some(programs) = programs.filter(|_| fits) else {
            return Err(DeviceError::Fault { origin: None, message: format!("a grid of {grid:?} programs is too large") });
        };
        let mut memory = Memory::new();
        let bases: Vec<u64> = tensors.iter().map(|t| memory.allocate_from(&t.name, &t.bytes)).collect();
        for (tensor, base) in tensors.iter().zip(&bases) {
            memory.watch_stores(*base, tensor.dtype.bytes() as usize);
        }
        let entry = module.entry();
        let args: Vec<Arg> = entry
            .params
            .iter()
            .zip(values)
            .map(|(param, &value)| match (value, entry.ty(param.value).elem()) {
                (LaunchValue::Tensor { index, byte_offset }, _) => Arg::Pointer(bases[index] + byte_offset),
                (LaunchValue::Scalar { bits, .. }, Elem::Scalar(scalar)) => scalar_arg(scalar, bits),
                (LaunchValue::Scalar { bits, .. }, Elem::Ptr(_)) => Arg::Pointer(bits),
            })
            .collect();
        let defaults = Limits::default();
        let bytes = defaults.bytes.min(bounds.memory_bytes / rayon::current_num_threads() as u64);
        Ok(Prepared { programs, memory, bases, args, limits: Limits { bytes, ..defaults } })
    }
}

fn program_at(grid: [u64; 3], linear: u64) -> [u32; 3] {
    [(linear % grid[0]) as u32, (linear / grid[0] % grid[1]) as u32, (linear / grid[0] / grid[1]) as u32]
}

/// What the programs printed, and what they left in the tensors.
fn finish(memory: &Memory, bases: &[u64], tensors: &mut [Tensor]) {
    let printed = memory.printed();
    if !printed.is_empty() {
        // Nobody may be listening: that is no failure of the launch.
        let _ = writeln!(std::io::stderr().lock(), "{}", printed.join("\n"));
    }
    for (tensor, base) in tensors.iter_mut().zip(bases) {
        tensor.bytes = memory.bytes(*base);
    }
}

fn stores(memory: &Memory, bases: &[u64]) -> Stores {
    Stores::Seen(bases.iter().map(|base| memory.stored(*base).unwrap_or_default()).collect())
}

/// The place of an operation; of one that the compiler has added, that of what stands before it or around it.
fn origin_of(module: &Module, fault: &Fault) -> Option<u32> {
    origin_at(module, fault.function, fault.op)
}

/// The same of any operation.
pub(crate) fn origin_at(module: &Module, function: FunctionId, op: Option<OpId>) -> Option<u32> {
    let function = &module.functions[function.index()];
    let (owners, parents) = (rewrite::owner_ops(function), rewrite::parent_blocks(function));
    let known = |id: OpId| Some(function.op(id).origin).filter(|origin| *origin != Origin::NONE).map(|origin| origin.0);
    let mut at = op;
    while let Some(id) = at {
        let block = parents[id.index()]?;
        let ops = &function.block(block).ops;
        let behind = ops.iter().position(|op| *op == id).map_or(0, |index| index + 1);
        if let Some(origin) = ops[..behind].iter().rev().find_map(|&op| known(op)) {
            return Some(origin);
        }
        at = owners[block.index()];
    }
    None
}

fn scalar_arg(scalar: Scalar, bits: u64) -> Arg {
    match scalar {
        Scalar::I1 => Arg::Int((bits & 1) as i64),
        Scalar::I8 => Arg::Int(i64::from(bits as i8)),
        Scalar::I16 => Arg::Int(i64::from(bits as i16)),
        Scalar::I32 => Arg::Int(i64::from(bits as i32)),
        Scalar::I64 => Arg::Int(bits as i64),
        Scalar::F16 => Arg::Float(f16::from_bits(bits as u16).to_f64()),
        Scalar::BF16 => Arg::Float(bf16::from_bits(bits as u16).to_f64()),
        Scalar::F32 => Arg::Float(f64::from(f32::from_bits(bits as u32))),
        // No kernel has a parameter of an 8-bit float; the launch refuses it before.
        Scalar::F64 | Scalar::F8E4M3 | Scalar::F8E5M2 => Arg::Float(f64::from_bits(bits)),
    }
}
