//! A loop of two trips that multiplies is its body twice.
//!
//! Running loads ahead costs a prologue, and in each trip the addresses of copies that never come. Two trips do not earn that: written out, the loads
//! of both stand in front of the first product, and nothing of the loop is left.
//!
//! **Invariant:** only loops whose bounds are numbers, and for which nobody asked for stages or for another unrolling.

use tritium_tile::{
    Function, Module, OpId, OpKind,
    ops::Constant,
    rewrite::{self, ValueMap},
};

use super::{CompileOptions, Fact, Pass, Unsupported, pipeline_loops::schedule::constant, use_wgmma};
use crate::pressure;

pub static PASS: Pass = Pass {
    name: "unroll_loops",
    summary: "Write out loops of two trips that multiply.",
    needs: &[Fact::OneFunction],
    gives: &[],
    run,
};

/// Of the loops that are written out.
const TRIPS: usize = 2;

/// Registers of a thread for what all trips load, at most: it is loaded at once.
const MAX_REGISTERS_LOADED: usize = 32;

fn run(module: &mut Module, options: &CompileOptions) -> Result<(), Unsupported> {
    let function = &mut module.functions[0];
    let mut loops: Vec<(OpId, [i64; TRIPS])> = Vec::new();
    function.walk(|_, id| {
        if let Some(counters) = counters(function, id).filter(|_| is_worth_it(function, id, options)) {
            loops.push((id, counters));
        }
    });
    for &(id, counters) in loops.iter().rev() {
        write_out(function, id, counters);
    }
    if !loops.is_empty() {
        rewrite::erase_dead(function);
        rewrite::compact(function);
    }
    Ok(())
}

/// The induction variable of each trip of a loop that has so many.
fn counters(function: &Function, id: OpId) -> Option<[i64; TRIPS]> {
    let bounds = function.for_loop(id)?.bounds.map(|bound| constant(function, bound));
    let [Some(lower), Some(upper), Some(step)] = bounds else { return None };
    let has_so_many = step > 0 && upper > lower && upper.abs_diff(lower).div_ceil(step.unsigned_abs()) == TRIPS as u64;
    // The last one is below the upper bound, so no sum wraps.
    has_so_many.then(|| std::array::from_fn(|trip| lower + step * trip as i64))
}

/// It multiplies, holds no other loop, loads little, and nobody asked for anything else. What warpgroups multiply is copied to shared memory on its own.
fn is_worth_it(function: &Function, id: OpId, options: &CompileOptions) -> bool {
    let (OpKind::For(attrs), &[body]) = (&function.op(id).kind, &function.op(id).regions[..]) else { return false };
    if attrs.num_stages.is_some() || attrs.unroll.is_some() {
        return false;
    }
    let (mut multiplies, mut simple, mut loaded) = (false, true, 0);
    for &inside in &function.block(body).ops {
        let op = function.op(inside);
        multiplies |= matches!(op.kind, OpKind::Dot { .. });
        simple &= op.regions.is_empty() && use_wgmma::grouping(function, inside, options).is_none();
        if matches!(op.kind, OpKind::Load(_)) {
            loaded += TRIPS * pressure::registers(function.ty(op.results[0]), options.launch.num_warps);
        }
    }
    multiplies && simple && loaded <= MAX_REGISTERS_LOADED
}

fn write_out(function: &mut Function, id: OpId, counters: [i64; TRIPS]) {
    let (Some((block, at)), Some(around)) = (rewrite::position(function, id), function.for_loop(id)) else { return };
    let (body, induction, args) = (around.body, around.induction, around.args.to_vec());
    let (mut passed, results) = (around.init.to_vec(), around.results.to_vec());
    let (ty, origin) = (function.ty(induction).clone(), function.op(id).origin);
    let mut ops = Vec::new();
    for counter in counters {
        let number = function.create_op(OpKind::Constant(Constant::Int(counter)), &[], [ty.clone()], &[], origin);
        ops.push(number);
        let mut map: ValueMap = args.iter().copied().zip(passed).collect();
        map.insert(induction, function.op(number).results[0]);
        let (copies, next) = rewrite::clone_ops(function, body, &mut map);
        ops.extend(copies);
        passed = next;
    }
    for (&result, &value) in results.iter().zip(&passed) {
        rewrite::replace_all_uses(function, result, value);
    }
    function.block_mut(block).ops.splice(at..=at, ops);
}
