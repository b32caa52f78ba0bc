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
//! CTA's shared memory, there are fewer stages, then rings without the buffer more; the loop says how many stages it was given and how many
//! it wanted.
//!
//! **Invariant:** a loop gives the same results for any number of trips, also for none and for fewer than stages; nothing is read from
//! global memory that the loop would not have read; no load moves across a store that may write what it reads.

mod expand;
mod schedule;
pub(super) mod window;

use tritium_semantics::target::Feature;
use tritium_tile::{Level, Module, OpKind, rewrite};

use super::{CompileOptions, Fact, Pass, Unsupported, assign_shared};

pub static PASS: Pass = Pass {
    name: "pipeline_loops",
    summary: "Run the loads of a loop ahead of its arithmetic.",
    needs: &[Fact::HasLayouts, Fact::OperandsStaged, Fact::Vectorised],
    gives: &[Fact::HasLayouts, Fact::OperandsStaged, Fact::Vectorised],
    run,
};

fn run(module: &mut Module, options: &CompileOptions) -> Result<(), Unsupported> {
    if !options.sm.has(Feature::CpAsync) {
        return Ok(());
    }
    for spare in [true, false] {
        let mut most = u32::MAX;
        while most >= 2 {
            let mut trial = module.clone();
            let Some(deepest) = pipeline(&mut trial, options, most, spare) else { return Ok(()) };
            if assign_shared::needed(&trial) <= u64::from(options.sm.shared_per_cta) {
                *module = trial;
                return Ok(());
            }
            most = deepest - 1;
        }
    }
    Ok(())
}

/// Expands every loop that has something to gain, with at most so many stages; the most that one was given, if any was expanded.
fn pipeline(module: &mut Module, options: &CompileOptions, most: u32, spare: bool) -> Option<u32> {
    let mut loops = Vec::new();
    let function = module.entry();
    function.walk(|_, id| {
        if matches!(function.op(id).kind, OpKind::For(_)) {
            loops.push(id);
        }
    });
    let mut deepest = None;
    for id in loops {
        if let Some(schedule) = schedule::of_loop(module, id, options, most, spare) {
            deepest = deepest.max(Some(schedule.given));
            if expand::expand(module, &schedule) {
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
