//! Loads that feed the arithmetic of a loop run ahead of it: the one pipelining expander.
//!
//! A loop is given a [`schedule`]: which loads run how many trips ahead. [`expand`] then builds the loop: in front of it the first trips'
//! loads, each behind "is there such a trip?"; in the loop the wait for this trip's data, the loads of a later trip, and the rest as it
//! was. A load that `cp.async` can do goes into a ring of buffers in shared memory, in the layout its reader wants; one that it cannot do
//! goes into registers, one trip ahead.
//!
//! A ring of `num_stages` buffers holds the trip that is computed on and the `num_stages - 1` after it, so one barrier a trip suffices: it
//! publishes what was waited for, and frees the buffer that the trip before has read. Where a warpgroup's multiplication may run into the
//! next trip, a ring has one buffer more, and the barrier frees the one that the trip before the last has read. If the rings do not fit a
//! CTA's shared memory, there are fewer stages, then rings without the buffer more, then rings for the first loads only; these without the buffer
//! more also where an SM has room for a second CTA so, which fills the tensor cores better than the next trip does (`bench/results/h200.md`,
//! 128×128×64). The loop says how many stages it was given and how many it wanted.
//!
//! **Invariant:** a loop gives the same results for any number of trips, also for none and for fewer than stages; nothing is read from
//! global memory that the loop would not have read; no load moves across a store that may write what it reads.

mod expand;
pub(super) mod schedule;
pub(super) mod window;

use tritium_semantics::{occupancy::occupancy, target::Feature};
use tritium_tile::{Level, Module, OpKind, rewrite};

use super::{CompileOptions, Fact, Pass, Unsupported, assign_shared};
use crate::pressure;

pub static PASS: Pass = Pass {
    name: "pipeline_loops",
    summary: "Run the loads of a loop ahead of its arithmetic.",
    needs: &[Fact::HasLayouts, Fact::OperandsStaged, Fact::Vectorised],
    gives: &[Fact::HasLayouts, Fact::OperandsStaged, Fact::Vectorised],
    run,
};

/// What a loop may have at most.
#[derive(Debug, Clone, Copy)]
struct Limits {
    stages: u32,
    rings: usize,
    /// A ring may have a buffer more.
    spare: bool,
}

fn run(module: &mut Module, options: &CompileOptions) -> Result<(), Unsupported> {
    if !options.sm.has(Feature::CpAsync) {
        return Ok(());
    }
    let with_spare = Limits { stages: u32::MAX, rings: usize::MAX, spare: true };
    let without = Limits { spare: false, ..with_spare };
    let chosen = deepest(module, options, with_spare)
        .or_else(|| deepest(module, options, without))
        .or_else(|| some_rings(module, options));
    let Some((chosen, spare)) = chosen else { return Ok(()) };
    let bare = if spare { deepest(module, options, without) } else { None };
    *module = match bare {
        Some((bare, _)) if has_room_for_two(&bare, options) && !has_room_for_two(&chosen, options) => bare,
        _ => chosen,
    };
    Ok(())
}

/// The loops with as many stages as fit, and whether a ring has a buffer more; `None` if none has anything to gain.
fn deepest(module: &Module, options: &CompileOptions, mut limits: Limits) -> Option<(Module, bool)> {
    while limits.stages >= 2 {
        let mut trial = module.clone();
        let (given, spared) = pipeline(&mut trial, options, limits)?;
        if assign_shared::fits(&trial, options) {
            return Some((trial, spared));
        }
        limits.stages = given - 1;
    }
    None
}

/// The loops with two stages, of which each has as many rings as fit, the first of its loads before the others.
fn some_rings(module: &Module, options: &CompileOptions) -> Option<(Module, bool)> {
    (1..=MOST_RINGS).rev().find_map(|rings| {
        let mut trial = module.clone();
        let (_, spared) = pipeline(&mut trial, options, Limits { stages: 2, rings, spare: false })?;
        assign_shared::fits(&trial, options).then_some((trial, spared))
    })
}

/// Of a loop whose rings do not all fit.
const MOST_RINGS: usize = 7;

/// An SM has room for two CTAs, with registers for what the loops carry and [`REGISTERS_BESIDE`].
fn has_room_for_two(module: &Module, options: &CompileOptions) -> bool {
    let (function, num_warps) = (module.entry(), options.launch.num_warps);
    let mut carried = 0;
    function.walk(|_, id| {
        let op = function.op(id);
        if matches!(op.kind, OpKind::For(_)) {
            carried = carried.max(op.results.iter().map(|&value| pressure::registers(function.ty(value), num_warps)).sum());
        }
    });
    let registers = (carried as u32).saturating_add(REGISTERS_BESIDE).min(options.sm.max_registers_per_thread);
    let shared = assign_shared::needed(module).try_into().unwrap_or(u32::MAX);
    occupancy(options.sm, 32 * num_warps, registers, shared, 0).is_some_and(|held| held.ctas_per_sm > 1)
}

/// Registers of a thread beside what a loop carries: addresses, and what is computed on.
const REGISTERS_BESIDE: u32 = 40;

/// Expands every loop that has something to gain; the most stages that one was given, and whether a ring has a buffer more, if any was expanded.
fn pipeline(module: &mut Module, options: &CompileOptions, limits: Limits) -> Option<(u32, bool)> {
    let mut loops = Vec::new();
    let function = module.entry();
    function.walk(|_, id| {
        if matches!(function.op(id).kind, OpKind::For(_)) {
            loops.push(id);
        }
    });
    let mut deepest: Option<(u32, bool)> = None;
    for id in loops {
        if let Some(schedule) = schedule::of_loop(module, id, options, limits) {
            let (given, spared) = deepest.unwrap_or_default();
            deepest = Some((given.max(schedule.given), spared | schedule.spare));
            if expand::expand(module, &schedule, options) {
                module.level = Level::L2;
            }
        }
    }
    if deepest.is_some() {
        rewrite::erase_dead(&mut module.functions[0]);
        rewrite::compact(&mut module.functions[0]);
    }
    deepest
}
