//! Choosing the fastest rows of tuners with few measurements: a race.
//!
//! All rows are timed in turn a few times; those that are clearly slower than the best drop out, the others are timed again, with a narrower
//! margin each round. More than half of the launches are kept for a final among those that are closest: each is launched a few times in a row, as who
//! uses it launches it, then the next one, there and back, so that a drift of the clock is everybody's. Only the final decides among them.
//! **Invariant:** all of it together takes at most [`SHARE`] of the launches that it would take to time every row as [`FULL_SAMPLES`] says.

use std::{fmt, path::PathBuf};

use serde::{Deserialize, Serialize};

use crate::{run::Comparison, timing::Spread};

/// Timed launches of a row where every row is measured in full.
pub const FULL_SAMPLES: u32 = 60;
/// The part of them that a race takes.
const SHARE: f64 = 0.25;
/// After each round: a row whose median is so many times the best one's drops out, and is so much slower as events may err by themselves.
const MARGINS: [f64; 3] = [1.25, 1.12, 1.08];
const EVENTS_ERR_US: f64 = 0.4;
/// Of the launches behind the first of each row, those that are kept for the final.
const FINAL_SHARE: f64 = 0.6;
/// Who comes to the final, how many at most, and the launches that each must be able to have there.
const FINAL_MARGIN: f64 = 1.06;
const FINALISTS: usize = 8;
const FINAL_SAMPLES: u32 = 24;
/// Launches of a finalist in a row, and how often each has been there before anybody drops out.
const IN_A_ROW: u32 = 8;
const PASSES: usize = 3;
/// Then a finalist drops out that is behind the best by this.
const BEHIND: f64 = 1.01;
const BEHIND_US: f64 = 0.1;
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
    /// Launches that may still be timed before the final, and in it.
    left: u32,
    left_for_final: u32,
    stage: Stage,
    exhaustive: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Round(usize),
    /// The final, in which every finalist has had so many turns.
    Pass(usize),
}

/// What is timed next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Heat {
    /// Each row once, so many times.
    InTurn(u32),
    /// Each row so many times, then the next row.
    InARow { samples: u32, backwards: bool },
}

impl Race {
    /// Of the rows that could be measured in full, some of which have been timed once.
    pub(crate) fn new(could_run: usize, timed: usize, exhaustive: bool) -> Race {
        let full = could_run as u32 * FULL_SAMPLES;
        if exhaustive {
            return Race { left: full.saturating_sub(timed as u32), left_for_final: 0, stage: Stage::Round(0), exhaustive };
        }
        let all = ((f64::from(full) * SHARE) as u32).saturating_sub(timed as u32);
        let left_for_final = (f64::from(all) * FINAL_SHARE) as u32;
        Race { left: all - left_for_final, left_for_final, stage: Stage::Round(0), exhaustive }
    }

    pub(crate) fn is_final(&self) -> bool {
        matches!(self.stage, Stage::Pass(_))
    }

    /// How the rows that are left are timed next; those that drop out are put into `out`. `None`: the race is over, and the first row has won.
    pub(crate) fn next(&mut self, alive: &mut Vec<usize>, samples: &mut [Vec<f64>], out: &mut Vec<usize>) -> Option<Heat> {
        if self.exhaustive {
            by_median(alive, samples);
            return (std::mem::take(&mut self.left) > 0).then_some(Heat::InARow { samples: FULL_SAMPLES - 1, backwards: false });
        }
        if let Stage::Round(round) = self.stage {
            by_median(alive, samples);
            if let Some(margin) = round.checked_sub(1).and_then(|round| MARGINS.get(round)) {
                drop_out(alive, samples, *margin, EVENTS_ERR_US, out);
            }
            let rounds = MARGINS.len().saturating_sub(round) as u32;
            // Two are told apart by the final alone.
            if alive.len() > 2 && rounds > 0 {
                let each = (self.left / (alive.len() as u32 * rounds)).min(FULL_SAMPLES);
                if each > 0 {
                    self.left -= each * alive.len() as u32;
                    self.stage = Stage::Round(round + 1);
                    return Some(Heat::InTurn(each));
                }
            }
            drop_out(alive, samples, FINAL_MARGIN, EVENTS_ERR_US, out);
            self.left_for_final += std::mem::take(&mut self.left);
            let most = (self.left_for_final / FINAL_SAMPLES).clamp(2, FINALISTS as u32) as usize;
            out.extend(alive.drain(most.min(alive.len())..));
            // What was timed otherwise says nothing of who is the best of these.
            if alive.len() > 1 {
                alive.iter().for_each(|&row| samples[row].clear());
            }
            self.stage = Stage::Pass(0);
        }
        let Stage::Pass(pass) = self.stage else { return None };
        by_median(alive, samples);
        if pass >= PASSES {
            drop_out(alive, samples, BEHIND, BEHIND_US, out);
        }
        let known = samples[*alive.first()?].len() as u32;
        // Nobody is left to be told apart from.
        let wanted = if alive.len() == 1 { FINAL_SAMPLES } else { FULL_SAMPLES };
        let each = IN_A_ROW.min(wanted.saturating_sub(known)).min(self.left_for_final / alive.len() as u32);
        self.left_for_final -= each * alive.len() as u32;
        self.stage = Stage::Pass(pass + 1);
        (each > 0).then_some(Heat::InARow { samples: each, backwards: pass % 2 == 1 })
    }
}

fn median(row: usize, samples: &[Vec<f64>]) -> f64 {
    Spread::of(samples[row].clone()).median_us
}

/// The best first; of those of which nothing is known the order stays.
fn by_median(alive: &mut [usize], samples: &[Vec<f64>]) {
    alive.sort_by(|&a, &b| median(a, samples).total_cmp(&median(b, samples)));
}

/// Of rows with the best first.
fn drop_out(alive: &mut Vec<usize>, samples: &[Vec<f64>], margin: f64, more_us: f64, out: &mut Vec<usize>) {
    let Some(best) = alive.first().map(|&row| median(row, samples)) else { return };
    let (stay, go) = alive.iter().partition(|&&row| median(row, samples) <= margin * best + more_us);
    *alive = stay;
    out.extend::<Vec<usize>>(go);
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    /// Times that scatter by a few percent, the same in every run. What is launched in turn with others takes longer, some rows more than others.
    fn launch(row: usize, number: usize, us: f64, in_turn: bool) -> f64 {
        let mixed = |of: u64| (of.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) as f64 / f64::from(1 << 24);
        let scatter = 0.04 * mixed(row as u64 * 7919 + number as u64 * 104_729 + 17);
        let beside = if in_turn { 0.03 * mixed(row as u64 * 31 + 5) } else { 0.0 };
        us * (1.0 + scatter + beside)
    }

    #[test]
    fn close_rows_are_timed_most_and_all_of_it_is_a_quarter() {
        let mut out = String::new();
        for (rows, step) in [(1, 0.0), (2, 0.02), (4, 0.5), (20, 0.01), (32, 0.1), (64, 0.003)] {
            let us = |row: usize| 20.0 * (1.0 + step * ((row * 7 + 3) % rows) as f64);
            let mut samples: Vec<Vec<f64>> = (0..rows).map(|row| vec![launch(row, 0, us(row), true)]).collect();
            let mut alive: Vec<usize> = (0..rows).collect();
            let (mut race, mut rounds, mut timed) = (Race::new(rows, rows, false), Vec::new(), rows);
            while let Some(heat) = race.next(&mut alive, &mut samples, &mut vec![]) {
                let (each, in_turn) = match heat {
                    Heat::InTurn(each) => (each as usize, true),
                    Heat::InARow { samples, .. } => (samples as usize, false),
                };
                rounds.push(format!("{}{}{each}", alive.len(), if in_turn { "×" } else { "∙" }));
                for &row in &alive {
                    samples[row].extend((0..each).map(|number| launch(row, timed + number, us(row), in_turn)));
                    timed += each;
                }
            }
            let share = timed as f64 / (rows * FULL_SAMPLES as usize) as f64;
            assert!(share <= SHARE, "{rows} rows: {share}");
            let loss = 100.0 * (us(alive[0]) / us((0..rows).min_by(|&a, &b| us(a).total_cmp(&us(b))).expect("rows")) - 1.0);
            out += &format!("{rows}: {} = {:.0} %, loss {loss:.1} %\n", rounds.join(" "), 100.0 * share);
        }
        expect![[r#"
            1: 1∙8 1∙6 = 25 %, loss 0.0 %
            2: 2∙8 2∙6 = 25 %, loss 0.0 %
            4: 4×1 1∙8 1∙8 1∙6 = 12 %, loss 0.0 %
            20: 20×1 20×2 16×3 7∙8 7∙8 7∙8 2∙2 = 25 %, loss 0.0 %
            32: 32×1 3×24 = 7 %, loss 0.0 %
            64: 64×1 64×2 44×3 8∙8 8∙8 8∙8 5∙8 5∙8 5∙8 5∙8 5∙4 = 20 %, loss 0.3 %
        "#]]
        .assert_eq(&out);
    }
}
