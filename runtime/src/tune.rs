//! Choosing the fastest rows of tuners with few measurements: a race.
//!
//! All rows are timed in turn a few times; those that are clearly slower than the best drop out, the others are timed again, with a narrower
//! margin each round. What dropping out saves goes to those that are close. **Invariant:** all rounds together take at most [`SHARE`] of the launches
//! that it would take to time every row as [`FULL_SAMPLES`] says.

use std::{fmt, path::PathBuf};

use serde::{Deserialize, Serialize};

use crate::{run::Comparison, timing::Spread};

/// Timed launches of a row where every row is measured in full.
pub const FULL_SAMPLES: u32 = 60;
/// The part of them that a race takes.
const SHARE: f64 = 0.25;
/// After each round but the last: a row whose median is so many times the best one's drops out.
const MARGINS: [f64; 4] = [1.25, 1.12, 1.06, 1.03];
/// A row is not raced that takes so many times as long as the best by the model, or in its first launch.
pub(crate) const FAR_SLOWER_BY_MODEL: f64 = 2.5;
pub(crate) const FAR_SLOWER_AT_FIRST: f64 = 2.0;

/// What is asked of a tuning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct TuneOptions {
    /// Rows that are tried beside the tuner's own.
    pub propose: u32,
    /// Every row that can be launched is measured in full.
    pub exhaustive: bool,
    /// On all GPUs of the machine.
    pub all_gpus: bool,
}

/// The tuners of a file's launches, and what became of their rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tuning {
    pub version: u32,
    pub file: PathBuf,
    /// The GPU's name; `cpu` or `sim`, where nothing is timed.
    pub device: String,
    /// The board that predictions are about.
    pub gpu: String,
    pub gpus: u32,
    pub launches: Vec<TunedLaunch>,
    /// Of all rows.
    pub compile_seconds: f64,
    /// From the first compilation to the last measurement.
    pub seconds: f64,
}

/// A launch and the rows of its kernel's tuner.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TunedLaunch {
    pub launch: String,
    pub kernel: String,
    /// The best first; behind those that were timed those that were not.
    pub rows: Vec<TriedRow>,
    /// Launches that were timed, and those that would have been with every row measured in full.
    pub timed_launches: u32,
    pub full_launches: u32,
    pub measure_seconds: f64,
    /// Results of the best row, where something could be compared.
    pub comparisons: Vec<Comparison>,
    /// Why there is no best row.
    pub fault: Option<String>,
}

/// A row of a tuner.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TriedRow {
    pub row: u32,
    /// Not one of the file's.
    pub proposed: bool,
    /// Compile-time values, as Python writes them.
    pub meta: Vec<(String, String)>,
    pub num_warps: u32,
    pub num_stages: u32,
    pub max_registers: Option<u32>,
    /// Estimated, with nothing of the launch in L2.
    pub predicted_us: Option<f64>,
    /// Exact where ptxas is at hand, else estimated.
    pub registers: Option<u32>,
    pub spilled_bytes: Option<u32>,
    pub is_exact: bool,
    pub shared_bytes: Option<u32>,
    /// Measured with a cold L2.
    pub time: Option<Spread>,
    /// Why it was not timed to the end.
    pub skipped: Option<String>,
}

impl TriedRow {
    /// `BLOCK=128 warps=4 stages=3`
    pub fn label(&self) -> String {
        let meta = self.meta.iter().map(|(name, value)| format!("{name}={value} ")).collect::<String>();
        let registers = self.max_registers.map_or_else(String::new, |most| format!(" maxnreg={most}"));
        format!("{meta}warps={} stages={}{registers}", self.num_warps, self.num_stages)
    }
}

impl TunedLaunch {
    /// The best row: the fastest where rows were timed, else the one with the best prediction.
    pub fn best(&self) -> Option<&TriedRow> {
        self.rows.first().filter(|row| self.fault.is_none() && row.skipped.is_none())
    }

    /// How many times as long the file's first row takes.
    pub fn gain(&self) -> Option<f64> {
        let first = self.rows.iter().filter(|row| !row.proposed && row.time.is_some()).min_by_key(|row| row.row)?;
        Some(first.time?.median_us / self.best()?.time?.median_us)
    }
}

impl Tuning {
    /// Adds what another job of the same file has found.
    pub fn join(&mut self, other: Tuning) {
        self.launches.extend(other.launches);
        self.compile_seconds += other.compile_seconds;
        self.seconds += other.seconds;
    }

    /// Every launch has a best row, whose results are right as far as they were compared.
    pub fn ok(&self) -> bool {
        let is_right = |tuned: &TunedLaunch| tuned.best().is_some() && tuned.comparisons.iter().all(|comparison| comparison.ok);
        self.launches.iter().all(is_right)
    }

    /// One line.
    pub fn summary(&self) -> String {
        let one = |tuned: &TunedLaunch| match tuned.best() {
            Some(best) => {
                let gain = tuned.gain().map_or_else(String::new, |gain| format!(" ({gain:.2}× as fast as the first row)"));
                format!("{}: {}{gain}", tuned.launch, best.label())
            }
            None => format!("{}: {}", tuned.launch, tuned.conclusion()),
        };
        self.launches.iter().map(one).collect::<Vec<_>>().join("; ")
    }
}

impl TunedLaunch {
    fn conclusion(&self) -> String {
        if let Some(fault) = &self.fault {
            return format!("no best row: {fault}");
        }
        let Some(best) = self.best() else { return "no row can be launched".to_owned() };
        let gain = self.gain().map_or_else(String::new, |gain| format!(", {gain:.2}× as fast as the first row"));
        let share = 100.0 * f64::from(self.timed_launches) / f64::from(self.full_launches.max(1));
        let measured = match self.timed_launches {
            0 => String::new(),
            timed => format!(
                "; {timed} launches timed, {share:.0} % of what every row in full would take, in {:.1} s",
                self.measure_seconds
            ),
        };
        format!("best: {}{gain}{measured}", best.label())
    }
}

impl TriedRow {
    fn cells(&self) -> [String; 8] {
        let figure =
            |value: Option<u32>| value.map_or_else(String::new, |n| format!("{}{n}", if self.is_exact { "" } else { "~" }));
        [
            format!("{}{}", self.row, if self.proposed { " new" } else { "" }),
            self.label(),
            self.time.map_or_else(String::new, |time| format!("{:.2}", time.median_us)),
            self.predicted_us.map_or_else(String::new, |us| format!("~{us:.1}")),
            figure(self.registers),
            figure(self.spilled_bytes),
            self.shared_bytes.map_or_else(String::new, |bytes| bytes.to_string()),
            self.skipped.clone().unwrap_or_default(),
        ]
    }
}

impl fmt::Display for Tuning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for tuned in &self.launches {
            writeln!(f, "{}  {} on {}", tuned.launch, tuned.kernel, self.device)?;
            let head = ["row", "configuration", "µs", "predicted", "registers", "spilled", "shared", ""].map(str::to_owned);
            let lines: Vec<[String; 8]> = std::iter::once(head).chain(tuned.rows.iter().map(TriedRow::cells)).collect();
            let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
            for line in &lines {
                let columns = line.iter().enumerate().map(|(column, cell)| match (column, width(column)) {
                    (_, 0) => String::new(),
                    // Words lean left and numbers right.
                    (1, width) => format!("  {cell:width$}"),
                    (7, _) => format!("  {cell}"),
                    (_, width) => format!("  {cell:>width$}"),
                });
                writeln!(f, "{}", columns.collect::<String>().trim_end())?;
            }
            writeln!(f, "  {}", tuned.conclusion())?;
            for comparison in &tuned.comparisons {
                let (word, verdict) = (comparison.word(), comparison.verdict());
                writeln!(f, "  {word}  {} against {}: {verdict}", comparison.tensor, comparison.reference)?;
            }
            writeln!(f)?;
        }
        let gpus = if self.gpus > 1 { format!(" on {} GPUs", self.gpus) } else { String::new() };
        match self.launches.iter().any(|tuned| tuned.timed_launches > 0) {
            true => writeln!(
                f,
                "{:.1} s{gpus}, {:.1} s of it to compile. Times are measured: medians in µs with nothing of the launch in L2. Predicted times are estimates for the {}; \
                 registers, spilled and shared bytes are exact unless marked ~.",
                self.seconds, self.compile_seconds, self.gpu
            ),
            false => writeln!(
                f,
                "{:.1} s. Nothing was timed, as {} is no GPU: the order is that of the times that the model predicts for the {}.",
                self.seconds, self.device, self.gpu
            ),
        }
    }
}

/// The rounds of one launch.
#[derive(Debug)]
pub(crate) struct Race {
    /// Launches that may still be timed.
    left: u32,
    round: usize,
    exhaustive: bool,
}

impl Race {
    /// Of so many rows, each of which has been timed once.
    pub(crate) fn new(rows: usize, exhaustive: bool) -> Race {
        let full = rows as u32 * FULL_SAMPLES;
        let left = if exhaustive { full } else { (f64::from(full) * SHARE) as u32 };
        Race { left: left.saturating_sub(rows as u32), round: 0, exhaustive }
    }

    /// Whether the next round is the last.
    pub(crate) fn is_last(&self) -> bool {
        self.exhaustive || self.round == MARGINS.len()
    }

    /// How often each row of the next round is launched; those that dropped out are put into `out`. `None`: the race is over.
    pub(crate) fn next(&mut self, alive: &mut Vec<usize>, samples: &[Vec<f64>], out: &mut Vec<usize>) -> Option<u32> {
        let median = |row: &usize| Spread::of(samples[*row].clone()).median_us;
        alive.sort_by(|a, b| median(a).total_cmp(&median(b)));
        let best = median(alive.first()?);
        if self.exhaustive {
            return (std::mem::take(&mut self.left) > 0).then_some(FULL_SAMPLES - 1);
        }
        if let Some(margin) = self.round.checked_sub(1).and_then(|round| MARGINS.get(round)) {
            alive.retain(|row| {
                let stays = median(row) <= margin * best;
                if !stays {
                    out.push(*row);
                }
                stays
            });
        }
        // Nobody is left to be told apart from.
        if alive.len() == 1 && samples[alive[0]].len() >= (f64::from(FULL_SAMPLES) * SHARE) as usize {
            return None;
        }
        let rounds = (MARGINS.len() + 1).checked_sub(self.round).filter(|&rounds| rounds > 0)? as u32;
        self.round += 1;
        let each = (self.left / (alive.len() as u32 * rounds)).min(FULL_SAMPLES);
        self.left -= each * alive.len() as u32;
        (each > 0).then_some(each)
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    /// Times that scatter by a few percent, the same in every run.
    fn launch(row: usize, number: usize, us: f64) -> f64 {
        let mixed = (row as u64 * 7919 + number as u64 * 104_729 + 17).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
        us * (1.0 + 0.04 * (mixed as f64 / f64::from(1 << 24)))
    }

    #[test]
    fn close_rows_are_timed_most_and_all_of_it_is_a_quarter() {
        let mut out = String::new();
        for (rows, step) in [(2, 0.02), (4, 0.5), (20, 0.01), (32, 0.1), (64, 0.003)] {
            let us = |row: usize| 20.0 * (1.0 + step * ((row * 7 + 3) % rows) as f64);
            let mut samples: Vec<Vec<f64>> = (0..rows).map(|row| vec![launch(row, 0, us(row))]).collect();
            let mut alive: Vec<usize> = (0..rows).collect();
            let (mut race, mut rounds) = (Race::new(rows, false), Vec::new());
            while let Some(each) = race.next(&mut alive, &samples, &mut vec![]) {
                rounds.push(format!("{}×{each}", alive.len()));
                for &row in &alive {
                    let known = samples[row].len();
                    samples[row].extend((0..each as usize).map(|number| launch(row, known + number, us(row))));
                }
            }
            let timed: usize = samples.iter().map(Vec::len).sum();
            let share = timed as f64 / (rows * FULL_SAMPLES as usize) as f64;
            assert!(share <= SHARE, "{rows} rows: {share}");
            let loss = 100.0 * (us(alive[0]) / 20.0 - 1.0);
            out += &format!("{rows}: {} = {:.0} %, loss {loss:.1} %\n", rounds.join(" "), 100.0 * share);
        }
        expect![[r#"
            2: 2×2 2×3 2×3 2×3 2×3 = 25 %, loss 0.0 %
            4: 4×2 1×12 = 10 %, loss 0.0 %
            20: 20×2 20×3 13×4 6×10 3×22 = 25 %, loss 0.0 %
            32: 32×2 3×32 2×48 = 15 %, loss 0.0 %
            64: 64×2 64×3 38×5 22×8 9×23 = 25 %, loss 0.0 %
        "#]]
        .assert_eq(&out);
    }
}
