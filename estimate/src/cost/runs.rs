//! How often each operation runs in a program, and how often that is in the names of the parameters.
//!
//! A launch is looked at in [`SAMPLES`] programs that are spread over its grid, a loop whose body depends on its induction variable in
//! [`LOOKS`] of its trips. A branch whose condition is not known counts as the costlier of its sides. **Invariant:** a loop that does work and
//! whose bounds are not known makes everything unknown.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use tritium_tile::{BlockId, Function, OpId, OpKind, ValueId};

use super::{
    Launch,
    scalars::{Program, trips, trips_text},
    work::Work,
};

/// Programs that are looked at when the work depends on the program id; a power of two.
const SAMPLES: u64 = 64;
/// Its multiples are spread evenly over a turn of 64 bits: the golden section.
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;
/// Trips of a loop that are looked at when its body depends on them.
const LOOKS: u64 = 8;

/// Averages over the programs of a launch.
#[derive(Debug, Clone)]
pub(super) struct Runs {
    /// By operation.
    pub of: Vec<f64>,
    /// Of a loop, each time it is reached.
    pub trips: IndexMap<OpId, f64>,
}

pub(super) struct Counter<'f> {
    pub function: &'f Function,
    pub works: &'f [Work],
    /// See [`crate::access::first_trips`].
    pub first_trips: &'f [bool],
    /// The operation or something in its regions does work.
    busy: Vec<bool>,
    /// Something in its regions is a busy loop or branch.
    varies: Vec<bool>,
}

impl<'f> Counter<'f> {
    pub(super) fn new(function: &'f Function, works: &'f [Work], first_trips: &'f [bool]) -> Counter<'f> {
        let (busy, varies) = (vec![false; function.ops.len()], vec![false; function.ops.len()]);
        let mut counter = Counter { function, works, first_trips, busy, varies };
        counter.mark(function.body);
        counter
    }

    fn mark(&mut self, block: BlockId) -> (bool, bool) {
        let (mut busy, mut controls) = (false, false);
        let function = self.function;
        for &id in &function.block(block).ops {
            let op = function.op(id);
            let control = op.kind.is_control();
            let (mut own, mut inner) = (!self.works[id.index()].is_nothing(), false);
            if control {
                for &region in &op.regions {
                    let (region_busy, region_controls) = self.mark(region);
                    own |= region_busy;
                    inner |= region_controls;
                }
            }
            self.busy[id.index()] = own;
            self.varies[id.index()] = inner;
            busy |= own;
            controls |= control && own;
        }
        (busy, controls)
    }

    /// `None` where something that counts is not known.
    pub(super) fn runs(&self, launch: Option<&Launch>) -> Option<Runs> {
        let programs = launch.map_or(1, Launch::programs).max(1);
        let samples = programs.clamp(1, SAMPLES);
        let grid = launch.map_or([1; 3], |launch| launch.grid.map(|size| size.max(1)));
        let mut sum = Sum { of: vec![0.0; self.function.ops.len()], entered: IndexMap::new() };
        for sample in 0..samples {
            let mut program = Program::new(self.function, launch, number(sample, samples, grid));
            self.block(self.function.body, 1.0 / samples as f64, &mut program, &mut sum)?;
        }
        let trips =
            sum.entered.into_iter().map(|(id, (times, trips))| (id, if times > 0.0 { trips / times } else { 0.0 })).collect();
        Some(Runs { of: sum.of, trips })
    }

    fn block(&self, block: BlockId, times: f64, program: &mut Program, sum: &mut Sum) -> Option<()> {
        for &id in &self.function.block(block).ops {
            if self.first_trips[id.index()] {
                continue;
            }
            sum.of[id.index()] += times;
            let op = self.function.op(id);
            match &op.kind {
                OpKind::For(_) => {
                    let (lower, step, count) = match op.for_operands().bounds().map(|bound| program.scalar(bound)) {
                        [Some(lower), Some(upper), Some(step)] => (lower, step, trips(lower, upper, step)),
                        _ if self.busy[id.index()] => return None,
                        _ => continue,
                    };
                    let entry = sum.entered.entry(id).or_default();
                    entry.0 += times;
                    entry.1 += times * count as f64;
                    self.trips(id, (lower, step, count), times, program, sum)?;
                }
                OpKind::If => {
                    let (first, second) = (op.regions[0], op.regions.get(1).copied());
                    let chosen = match program.scalar(op.operands[0]) {
                        Some(0) => second,
                        Some(_) => Some(first),
                        None => self.costlier(first, second),
                    };
                    if let Some(region) = chosen {
                        self.block(region, times, program, sum)?;
                    }
                }
                // Nobody knows how often, so it must not matter.
                OpKind::While { .. } if self.busy[id.index()] => return None,
                _ => {}
            }
        }
        Some(())
    }

    fn trips(
        &self,
        id: OpId,
        (lower, step, count): (i64, i64, u64),
        times: f64,
        program: &mut Program,
        sum: &mut Sum,
    ) -> Option<()> {
        let region = self.function.op(id).regions[0];
        let variable = self.function.block(region).args.first().copied();
        let looks = if self.varies[id.index()] { count.min(LOOKS) } else { count.min(1) };
        for look in 0..looks {
            let trip = (u128::from(look * 2 + 1) * u128::from(count) / u128::from(looks * 2)) as i64;
            if let Some(variable) = variable.filter(|_| self.varies[id.index()]) {
                program.inside.insert(variable, lower.wrapping_add(trip.wrapping_mul(step)));
            }
            self.block(region, times * count as f64 / looks as f64, program, sum)?;
        }
        variable.and_then(|variable| program.inside.remove(&variable));
        Some(())
    }

    fn costlier(&self, first: BlockId, second: Option<BlockId>) -> Option<BlockId> {
        let cost = |block: BlockId| {
            let mut sum = Work::default();
            self.once(block, &mut sum);
            sum.flops + sum.bytes()
        };
        match second {
            Some(second) if cost(second) > cost(first) => Some(second),
            _ => Some(first),
        }
    }

    /// The work of a block if every loop in it ran once.
    pub(super) fn once(&self, block: BlockId, sum: &mut Work) {
        for &id in &self.function.block(block).ops {
            let op = self.function.op(id);
            sum.add(&self.works[id.index()], 1.0);
            if op.kind.is_control() {
                op.regions.iter().for_each(|&region| self.once(region, sum));
            }
        }
    }

    /// Every loop that does work, outer ones first.
    pub(super) fn loops(&self) -> Vec<OpId> {
        let mut out = Vec::new();
        self.function.walk(|_, id| {
            if self.function.op(id).kind.is_loop() && self.busy[id.index()] {
                out.push(id);
            }
        });
        out
    }

    /// Something in the loop runs a number of times that the loop alone does not say.
    pub(super) fn is_nested(&self, id: OpId) -> bool {
        self.varies[id.index()]
    }

    /// FLOP and bytes of a program as sums over loops: `8192 + 4194304·cdiv(K, 64)`.
    pub(super) fn symbolic(&self, amount: impl Fn(&Work) -> f64) -> Option<String> {
        let mut sum = BTreeMap::new();
        self.add_symbolic(self.function.body, (1.0, &mut Vec::new()), &amount, &mut sum)?;
        let mut terms = Vec::new();
        for (factors, coefficient) in &sum {
            if *coefficient == 0.0 {
                continue;
            }
            let number = format!("{coefficient:.0}");
            terms.push(factors.iter().fold(number, |text, factor| format!("{text}·{factor}")));
        }
        Some(if terms.is_empty() { "0".to_owned() } else { terms.join(" + ") })
    }

    fn add_symbolic(
        &self,
        block: BlockId,
        (scale, factors): (f64, &mut Vec<String>),
        amount: &impl Fn(&Work) -> f64,
        sum: &mut BTreeMap<Vec<String>, f64>,
    ) -> Option<()> {
        for &id in &self.function.block(block).ops {
            if self.first_trips[id.index()] {
                continue;
            }
            *sum.entry(factors.clone()).or_default() += scale * amount(&self.works[id.index()]);
            let op = self.function.op(id);
            match &op.kind {
                OpKind::For(_) if self.busy[id.index()] => {
                    let factor = factor(self.function, op.for_operands().bounds())?;
                    if let Ok(number) = factor.parse::<u32>() {
                        self.add_symbolic(op.regions[0], (scale * f64::from(number), &mut *factors), amount, sum)?;
                    } else {
                        factors.push(factor);
                        self.add_symbolic(op.regions[0], (scale, &mut *factors), amount, sum)?;
                        factors.pop();
                    }
                }
                OpKind::If if self.busy[id.index()] => {
                    if let Some(region) = self.costlier(op.regions[0], op.regions.get(1).copied()) {
                        self.add_symbolic(region, (scale, &mut *factors), amount, sum)?;
                    }
                }
                OpKind::While { .. } if self.busy[id.index()] => return None,
                _ => {}
            }
        }
        Some(())
    }
}

/// The linear number of one of `samples` programs that are spread over a grid, all of them where there are no more. Each axis is spread over
/// by itself, so that none is seen at a few of its places only; within the parts of the first one the place differs from part to part, because
/// kernels make axes of their own from it.
fn number(sample: u64, samples: u64, grid: [u64; 3]) -> u64 {
    if samples < SAMPLES {
        return sample;
    }
    let place =
        |numerator: u64, denominator: u64, size: u64| (u128::from(numerator) * u128::from(size) / u128::from(denominator)) as u64;
    let first = place((sample << 32) + (sample.wrapping_mul(GOLDEN) >> 32), SAMPLES << 32, grid[0]);
    let second = place(2 * (sample.reverse_bits() >> (u64::BITS - SAMPLES.ilog2())) + 1, 2 * SAMPLES, grid[1]);
    // Four digits to the base of three, backwards.
    let digits = (0..4).fold(0, |digits, at| digits * 3 + sample / 3u64.pow(at) % 3);
    let third = place(2 * digits + 1, 2 * 81, grid[2]);
    first + grid[0] * (second + grid[1] * third)
}

/// The trips of a loop as a factor of a product.
fn factor(function: &Function, bounds: [ValueId; 3]) -> Option<String> {
    let text = trips_text(function, bounds)?;
    let simple = text.ends_with(')') && text.starts_with("cdiv(") || text.chars().all(|c| c.is_alphanumeric() || c == '_');
    Some(if simple { text } else { format!("({text})") })
}

struct Sum {
    of: Vec<f64>,
    /// How often a loop is reached, and its trips altogether.
    entered: IndexMap<OpId, (f64, f64)>,
}

#[cfg(test)]
mod tests {
    use super::{SAMPLES, number};

    /// A causal attention's trips follow its first axis, 32 blocks of each of 64 heads; other grids do not divide, or make axes of one.
    #[test]
    fn samples_see_every_place_of_an_axis() {
        let mean = |grid: [u64; 3], of: &dyn Fn(u64) -> u64| {
            let sum: u64 = (0..SAMPLES).map(|sample| of(number(sample, SAMPLES, grid)) + 1).sum();
            sum as f64 / SAMPLES as f64
        };
        for grid in [[32, 64, 1], [16, 1024, 1], [2, 4096, 1], [48, 48, 1], [100, 1, 1], [31, 64, 3], [3, 3, 64]] {
            let axes: [&dyn Fn(u64) -> u64; 3] = [&|n| n % grid[0], &|n| n / grid[0] % grid[1], &|n| n / grid[0] / grid[1]];
            for (axis, size) in axes.into_iter().zip(grid) {
                let (seen, whole) = (mean(grid, axis), (size + 1) as f64 / 2.0);
                assert!((seen / whole - 1.0).abs() < 0.04, "{size} of {grid:?}: {seen} for {whole}");
            }
        }
        assert_eq!(mean([32, 64, 1], &|n| n % 32), 16.5);
        let (seen, whole) = (mean([2048, 1, 1], &|n| n % 32), 16.5);
        assert!((seen / whole - 1.0).abs() < 0.03, "{seen} for {whole}");
        let all: Vec<u64> = (0..5).map(|sample| number(sample, 5, [5, 1, 1])).collect();
        assert_eq!(all, [0, 1, 2, 3, 4]);
    }
}
