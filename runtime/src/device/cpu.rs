//! The CPU device: the reference interpreter, or the simulator of lanes, programs in parallel over the cores.
//!
//! **Invariant:** a run leaves in the tensors what every program wrote, and a fault of any program stops the others and is reported with
//! the operation it came from; of several faults the one of the lowest program is told.

use std::{
    io::Write as _,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use half::{bf16, f16};
use rayon::prelude::*;
use tritium_tile::{
    Elem, FunctionId, Module, Scalar,
    interpret::{Arg, Fault, FaultKind, Interpreter, Limits, Memory},
    simulate::Simulator,
};

use crate::{
    device::{DeviceError, LaunchValue},
    tensor::Tensor,
};

/// More programs than any real launch; a larger grid is a mistake, and would run for years.
const MAX_PROGRAMS: u64 = 1 << 40;

/// Runs every program of a grid.
pub fn launch(module: &Module, grid: [u64; 3], values: &[LaunchValue], tensors: &mut [Tensor]) -> Result<(), DeviceError> {
    let interpreter = Interpreter::new(module);
    let run: Run<'_> =
        &|args, id, counts, memory, limits| interpreter.run(FunctionId(0), args, id, counts, memory, limits).map(drop);
    all(module, grid, values, tensors, run)
}

/// The same of a module whose layouts are decided, lane by lane.
pub fn simulate(module: &Module, grid: [u64; 3], values: &[LaunchValue], tensors: &mut [Tensor]) -> Result<(), DeviceError> {
    let simulator = Simulator::new(module);
    all(module, grid, values, tensors, &|args, id, counts, memory, limits| simulator.run(args, id, counts, memory, limits))
}

/// One program: arguments, its place, how many there are.
type Run<'a> = &'a (dyn Fn(&[Arg], [u32; 3], [u32; 3], &Memory, &Limits<'_>) -> Result<(), Fault> + Sync);

fn all(module: &Module, grid: [u64; 3], values: &[LaunchValue], tensors: &mut [Tensor], run: Run<'_>) -> Result<(), DeviceError> {
    let programs = grid.iter().try_fold(1u64, |n, &extent| n.checked_mul(extent)).filter(|&n| n <= MAX_PROGRAMS);
    let fits = grid.iter().all(|&extent| u32::try_from(extent).is_ok());
    let Some(programs) = programs.filter(|_| fits) else {
        return Err(DeviceError::Fault { origin: None, message: format!("a grid of {grid:?} programs is too large") });
    };
    let mut memory = Memory::new();
    let bases: Vec<u64> = tensors.iter().map(|t| memory.allocate_from(&t.name, &t.bytes)).collect();
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
    let stop = AtomicBool::new(false);
    let first = Mutex::new(None);
    let counts = grid.map(|extent| extent as u32);
    (0..programs).into_par_iter().for_each(|linear| {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        let id = [(linear % grid[0]) as u32, (linear / grid[0] % grid[1]) as u32, (linear / grid[0] / grid[1]) as u32];
        let limits = Limits { cancel: Some(&stop), ..Limits::default() };
        if let Err(fault) = run(&args, id, counts, &memory, &limits)
            && fault.kind != FaultKind::Cancelled
        {
            stop.store(true, Ordering::Relaxed);
            let mut first = first.lock().unwrap_or_else(PoisonError::into_inner);
            if first.as_ref().is_none_or(|(other, _)| linear < *other) {
                *first = Some((linear, fault));
            }
        }
    });
    let printed = memory.printed();
    if !printed.is_empty() {
        // Nobody may be listening: that is no failure of the launch.
        let _ = writeln!(std::io::stderr().lock(), "{}", printed.join("\n"));
    }
    for (tensor, base) in tensors.iter_mut().zip(&bases) {
        tensor.bytes = memory.bytes(*base);
    }
    match first.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some((_, fault)) => Err(DeviceError::Fault { origin: Some(fault.origin.0), message: fault.to_string() }),
        None => Ok(()),
    }
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
