//! What a launch costs: arithmetic, bytes, time, and what would make it less; of the kernel, of each loop and of each line.
//!
//! [`work`](self) says what an operation occupies, `runs` how often it runs, `addresses` where its accesses go, `traffic` which bytes DRAM
//! moves, `time` how long that takes, `advice` what would gain. **Invariant:** a figure that depends on something unknown is `None`, never
//! a guess; the assumptions behind the others are in [`ASSUMPTIONS`] and, for each tensor, in its [`Reuse`].

mod addresses;
mod advice;
mod functions;
mod runs;
mod scalars;
mod time;
mod traffic;
mod units;
mod work;

use indexmap::IndexMap;
use serde::Serialize;
use tritium_semantics::target::Gpu;
use tritium_tile::{Function, OpId, OpKind, ValueId};

use crate::{analyses::Analyses, occupancy::Occupancy};

pub use advice::Advice;
pub use time::{ASSUMPTIONS, ASSUMPTIONS_MEASURED, Prediction, Use, Waves};
pub use traffic::{Reuse, TensorTraffic};
pub use units::Unit;
pub use work::Work;

use runs::{Counter, Runs};
use scalars::trips_text;

/// The numbers of one launch.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Launch {
    pub grid: [u64; 3],
    /// By position among the kernel's parameters.
    pub arguments: Vec<Argument>,
}

/// What a launch passes for one parameter.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Argument {
    #[default]
    Unknown,
    Scalar(i64),
    /// The size of the tensor behind a pointer.
    TensorBytes(u64),
}

impl Launch {
    /// The argument that a parameter's value is.
    pub fn scalar(&self, function: &Function, value: ValueId) -> Option<i64> {
        match self.argument(function, value) {
            Argument::Scalar(n) => Some(n),
            Argument::TensorBytes(_) | Argument::Unknown => None,
        }
    }

    /// Bytes of the tensor that a parameter points to.
    pub fn tensor_bytes(&self, function: &Function, value: ValueId) -> Option<u64> {
        match self.argument(function, value) {
            Argument::TensorBytes(bytes) => Some(bytes),
            Argument::Scalar(_) | Argument::Unknown => None,
        }
    }

    fn argument(&self, function: &Function, value: ValueId) -> Argument {
        let position = function.params.iter().position(|p| p.value == value);
        position.and_then(|position| self.arguments.get(position)).copied().unwrap_or_default()
    }

    pub fn programs(&self) -> u64 {
        self.grid.iter().product()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    Memory,
    Compute,
}

/// One trip of a loop in one program.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LoopCost {
    pub origin: u32,
    /// On average over the programs; `None` where the launch does not say.
    pub trips: Option<f64>,
    /// In the names of the parameters.
    pub trips_text: Option<String>,
    /// `None` where a loop inside runs a number of times that nobody knows.
    pub trip: Option<Work>,
    /// What has the highest share of its peak in a trip.
    pub limiter: Option<Unit>,
}

impl LoopCost {
    /// FLOP per byte asked of global memory.
    pub fn intensity(&self) -> Option<f64> {
        self.trip.filter(|trip| trip.bytes() > 0.0).map(|trip| trip.flops / trip.bytes())
    }
}

/// All operations of one place in the source, over the launch.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlaceCost {
    pub origin: u32,
    pub flops: f64,
    pub loaded: f64,
    pub stored: f64,
    pub dram: f64,
    /// Of the limiter's work, 0 to 1; `None` where no limiter is known.
    pub share: Option<f64>,
}

/// What the bank conflicts of one place cost a launch.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Conflict {
    pub origin: u32,
    /// The launch's time over its time without them, as the model has it.
    pub gain: f64,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Cost {
    /// Of one program on average.
    pub flops_per_program: Option<f64>,
    pub bytes_per_program: Option<f64>,
    /// Of one program in the names of the parameters.
    pub flops_text: Option<String>,
    pub bytes_text: Option<String>,
    /// Of the launch; 0 without one.
    pub flops: Option<f64>,
    /// Of the launch, by the instructions that threads and tensor cores run: what a profiler counts.
    pub flops_executed: Option<f64>,
    pub bytes_requested: Option<f64>,
    /// Distinct bytes, where the sizes of all tensors are known.
    pub bytes_unique: Option<f64>,
    /// That DRAM moves while the launch runs.
    pub bytes: Option<f64>,
    /// Stored, and written back by DRAM only after the launch: L2 holds the last bytes that moved.
    pub bytes_left_in_l2: Option<f64>,
    /// FLOP per byte that DRAM moves, those included that it takes after the launch.
    pub intensity: Option<f64>,
    pub bound: Option<Bound>,
    pub predicted_us: Option<f64>,
    pub prediction: Option<Prediction>,
    pub waves: Option<Waves>,
    pub tensors: Vec<TensorTraffic>,
    pub loops: Vec<LoopCost>,
    /// In the order of the program.
    pub places: Vec<PlaceCost>,
    /// What bank conflicts cost the launch.
    pub conflicts: Vec<Conflict>,
    /// The greatest gain first.
    pub advice: Vec<Advice>,
}

impl Cost {
    pub fn limiter(&self) -> Option<Unit> {
        self.prediction.as_ref()?.limiter()
    }

    /// In words, on what the bytes of DRAM rest.
    pub fn bytes_assumption(&self) -> Option<String> {
        traffic::assumption(&self.tensors)
    }
}

/// The cost of a module (any level) under a launch; without one, of a program whose loops have constant bounds.
pub fn cost(analyses: &Analyses<'_>, launch: Option<&Launch>, gpu: Gpu, occupancy: Option<&Occupancy>) -> Cost {
    let &Analyses { module, function, ref facts, ref first_trips, .. } = analyses;
    let works = work::works(module, function, facts, launch, gpu.sm);
    let counter = Counter::new(function, &works, first_trips);
    let runs = counter.runs(launch);
    let average = runs.as_ref().map(|runs| sum(&works, |id| runs.of[id]));
    let mut out = Cost {
        flops_per_program: average.map(|work| work.flops),
        bytes_per_program: average.map(|work| work.bytes()),
        flops_text: counter.symbolic(|work| work.flops),
        bytes_text: counter.symbolic(Work::bytes),
        ..Cost::default()
    };
    let mut share = vec![[1.0; 2]; function.ops.len()];
    if let (Some(launch), Some(runs), Some(average)) = (launch.filter(|l| l.programs() > 0), &runs, &average) {
        let programs = launch.programs();
        let board = gpu.board;
        let slots = board.map_or(1, |b| u64::from(b.sm_count)) * u64::from(occupancy.map_or(1, |o| o.ctas_per_sm));
        let l2_bytes = board.map_or(0.0, |b| f64::from(b.l2) * f64::from(1 << 20));
        let machine = traffic::Machine { l2_bytes, slots };
        let traffic = traffic::traffic(function, facts, &works, runs, launch, &machine);
        let mut total = Work::default();
        total.add(average, programs as f64);
        let (dram, left) = (traffic.dram(), traffic.left());
        // Meanwhile DRAM takes what the launch before has left in L2: from one to the next it moves all.
        total.give(Unit::Dram, dram + left);
        out.flops = Some(total.flops);
        out.flops_executed = Some(total.executed);
        out.bytes_requested = Some(total.bytes());
        out.bytes_unique = traffic.tensors.iter().map(|t| t.unique).sum();
        out.bytes = Some(dram);
        out.bytes_left_in_l2 = Some(left);
        out.intensity = (dram + left > 0.0).then(|| total.flops / (dram + left));
        out.bound = bound(&total, &gpu);
        out.waves = Waves::of(programs, &gpu, occupancy);
        out.prediction = time::predict(&total, programs, &gpu);
        out.predicted_us = out.prediction.as_ref().map(|p| p.us);
        share = traffic.share;
        out.places = places(function, &works, runs, &share, programs as f64, out.limiter().map(|unit| (unit, total.of(unit))));
        if let Some(now) = &out.prediction {
            out.conflicts = conflicts(function, &works, runs, &total, launch, &gpu, now.us);
            let situation = advice::Situation {
                total: &total,
                programs,
                gpu: &gpu,
                occupancy,
                waves: out.waves,
                tensors: &traffic.tensors,
                now,
            };
            out.advice = advice::advice(&situation);
        }
        out.tensors = traffic.tensors;
    }
    out.loops = counter.loops().into_iter().map(|id| loop_cost(&counter, runs.as_ref(), &share, &gpu, id)).collect();
    out
}

/// Of each place with conflicts that take time: in the order of the program.
fn conflicts(
    function: &Function,
    works: &[Work],
    runs: &Runs,
    total: &Work,
    launch: &Launch,
    gpu: &Gpu,
    now: f64,
) -> Vec<Conflict> {
    let mut bytes: IndexMap<u32, f64> = IndexMap::new();
    function.walk(|_, id| {
        let own = works[id.index()].conflicted * runs.of[id.index()] * launch.programs() as f64;
        if own > 0.0 {
            *bytes.entry(function.op(id).origin.0).or_default() += own;
        }
    });
    let of = |(origin, bytes): (u32, f64)| {
        let mut without = *total;
        without.give(Unit::Shared, -bytes);
        let then = time::predict(&without, launch.programs(), gpu)?;
        Some(Conflict { origin, gain: now / then.us })
    };
    bytes.into_iter().filter_map(of).filter(|conflict| conflict.gain > 1.0).collect()
}

fn sum(works: &[Work], times: impl Fn(usize) -> f64) -> Work {
    let mut out = Work::default();
    for (id, work) in works.iter().enumerate() {
        let times = times(id);
        if times > 0.0 {
            out.add(work, times);
        }
    }
    out
}

/// Which roof of the datasheet is met first.
fn bound(total: &Work, gpu: &Gpu) -> Option<Bound> {
    let arithmetic = |unit: &&Unit| unit.is_tensor() || matches!(unit, Unit::Fma | Unit::F64);
    let time = |unit: Unit| if total.of(unit) > 0.0 { unit.rate(gpu).map(|rate| total.of(unit) / rate) } else { Some(0.0) };
    let compute: f64 = Unit::ALL.iter().filter(arithmetic).map(|&unit| time(unit)).sum::<Option<f64>>()?;
    Some(if time(Unit::Dram)? >= compute { Bound::Memory } else { Bound::Compute })
}

/// With what DRAM moves of it.
fn with_dram(work: &Work, share: [f64; 2]) -> Work {
    let mut work = *work;
    work.give(Unit::Dram, work.loaded * share[0] + work.stored * share[1]);
    work
}

fn places(
    function: &Function,
    works: &[Work],
    runs: &Runs,
    share: &[[f64; 2]],
    programs: f64,
    limiter: Option<(Unit, f64)>,
) -> Vec<PlaceCost> {
    let mut sums: IndexMap<u32, Work> = IndexMap::new();
    function.walk(|_, id| {
        let times = runs.of[id.index()] * programs;
        if times > 0.0 && !works[id.index()].is_nothing() {
            let work = with_dram(&works[id.index()], share[id.index()]);
            sums.entry(function.op(id).origin.0).or_default().add(&work, times);
        }
    });
    let place = |(origin, work): (u32, Work)| PlaceCost {
        origin,
        flops: work.flops,
        loaded: work.loaded,
        stored: work.stored,
        dram: work.of(Unit::Dram),
        share: limiter.filter(|&(_, all)| all > 0.0).map(|(unit, all)| work.of(unit) / all),
    };
    sums.into_iter().map(place).collect()
}

fn loop_cost(counter: &Counter, runs: Option<&Runs>, share: &[[f64; 2]], gpu: &Gpu, id: OpId) -> LoopCost {
    let function = counter.function;
    let op = function.op(id);
    let is_for = matches!(op.kind, OpKind::For(_));
    let trips = runs.and_then(|runs| runs.trips.get(&id).copied()).filter(|_| is_for);
    let entered = runs.map_or(0.0, |runs| runs.of[id.index()]) * trips.unwrap_or(0.0);
    let mut inside = Vec::new();
    op.regions.iter().for_each(|&region| work::gather(function, region, &mut inside));
    let trip = match runs {
        Some(runs) if entered > 0.0 => {
            let mut trip = Work::default();
            for op in &inside {
                let times = runs.of[op.index()] / entered;
                if times > 0.0 {
                    trip.add(&with_dram(&counter.works[op.index()], share[op.index()]), times);
                }
            }
            Some(trip)
        }
        // One trip is known even where their number is not.
        _ if !counter.is_nested(id) => {
            let mut trip = Work::default();
            for op in inside.iter().filter(|op| !counter.first_trips[op.index()]) {
                trip.add(&with_dram(&counter.works[op.index()], share[op.index()]), 1.0);
            }
            Some(trip)
        }
        _ => None,
    };
    let time = |trip: &Work, unit: Unit| time::at_peak(trip, unit, gpu).unwrap_or(0.0);
    let limiter = trip.and_then(|trip| {
        let longest = Unit::ALL.into_iter().max_by(|&a, &b| time(&trip, a).total_cmp(&time(&trip, b)))?;
        (time(&trip, longest) > 0.0).then_some(longest)
    });
    LoopCost {
        origin: op.origin.0,
        trips,
        trips_text: function.for_loop(id).and_then(|around| trips_text(function, around.bounds)),
        trip,
        limiter,
    }
}
