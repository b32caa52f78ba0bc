//! A loop of two trips that multiplies is its body twice.
//!
//! Running loads ahead costs a prologue, and in each trip the addresses of copies that never come. Two trips do not earn that: written out, the loads
//! of both stand in front of the first product, and nothing of the loop is left.
//!
//! **Invariant:** only loops whose bounds are numbers, and for which nobody asked for stages or for another unrolling.

use tritium_tile::{
    Function, Module, OpId, OpKind, Type, ValueId,
    control::ForLoop,
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
const TRIPS: u64 = 2;

/// Registers of a thread for what all trips load, at most: it is loaded at once.
const MAX_REGISTERS_LOADED: usize = 32;

fn run(module: &mut Module, options: &CompileOptions) -> Result<(), Unsupported> {
    let function = &mut module.functions[0];
    let mut loops: Vec<OpId> = Vec::new();
    function.walk(|_, id| {
        if is_short(function, id, options) {
            loops.push(id);
        }
    });
    for &id in loops.iter().rev() {
        write_out(function, id);
    }
    if !loops.is_empty() {
        rewrite::erase_dead(function);
        rewrite::compact(function);
    }
    Ok(())
}

/// A loop of two trips that multiplies, holds no other loop and loads little. What warpgroups multiply is copied to shared memory on its own.
fn is_short(function: &Function, id: OpId, options: &CompileOptions) -> bool {
    let OpKind::For(attrs) = function.op(id).kind else { return false };
    let Some(ForLoop { bounds, body, .. }) = function.for_loop(id) else { return false };
    let [Some(lower), Some(upper), Some(step)] = bounds.map(|bound| constant(function, bound)) else { return false };
    let twice = step > 0 && upper > lower && upper.abs_diff(lower).div_ceil(step.unsigned_abs()) == TRIPS;
    if !twice || attrs.num_stages.is_some() || attrs.unroll.is_some() {
        return false;
    }
    let (mut multiplies, mut simple, mut loaded) = (false, true, 0);
    for &inside in &function.block(body).ops {
        let op = function.op(inside);
        multiplies |= matches!(op.kind, OpKind::Dot { .. });
        simple &= op.regions.is_empty() && use_wgmma::grouping(function, inside, options).is_none();
        if matches!(op.kind, OpKind::Load(_)) {
            loaded += TRIPS as usize * pressure::registers(function.ty(op.results[0]), options.launch.num_warps);
        }
    }
    multiplies && simple && loaded <= MAX_REGISTERS_LOADED
}

fn write_out(function: &mut Function, id: OpId) {
    let Some((block, at)) = rewrite::position(function, id) else { return };
    let Some(around) = function.for_loop(id) else { return };
    let (body, induction, args) = (around.body, around.induction, around.args.to_vec());
    let (mut passed, results) = (around.init.to_vec(), around.results.to_vec());
    let [Some(lower), Some(upper), Some(step)] = around.bounds.map(|bound| constant(function, bound)) else { return };
    let (ty, origin) = (function.ty(induction).clone(), function.op(id).origin);
    let mut ops = Vec::new();
    let mut counter = lower;
    while counter < upper {
        let number = function.create_op(OpKind::Constant(Constant::Int(counter)), &[], [Type::clone(&ty)], &[], origin);
        ops.push(number);
        let mut map: ValueMap = args.iter().copied().zip(passed).collect();
        map.insert(induction, function.op(number).results[0]);
        let (copies, next): (Vec<OpId>, Vec<ValueId>) = rewrite::clone_ops(function, body, &mut map);
        ops.extend(copies);
        passed = next;
        counter += step;
    }
    for (&result, &value) in results.iter().zip(&passed) {
        rewrite::replace_all_uses(function, result, value);
    }
    function.block_mut(block).ops.splice(at..=at, ops);
}
