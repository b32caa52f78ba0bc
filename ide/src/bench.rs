// Feature: Measured times beside predicted ones
//
//! Measured times of launches beside what was predicted of them.

use std::path::Path;

use serde::{Deserialize, Serialize};
use tritium_runtime::{
    run::Report,
    timing::{Spread, Timing},
};

use crate::Analysis;

/// A launch, or a row of its tuner, that was timed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    pub kernel: String,
    pub launch: String,
    /// The row of its tuner.
    pub config: Option<u32>,
    pub device: String,
    /// Measured.
    pub timing: Option<Timing>,
    /// Estimated, with nothing of the launch in L2.
    pub predicted_us: Option<f64>,
    /// Estimated bytes that DRAM moves, and useful FLOP; over the measured time they are rates.
    pub bytes: Option<f64>,
    pub flops: Option<f64>,
    pub fault: Option<String>,
}

impl Row {
    /// GB/s
    pub fn bandwidth(&self) -> Option<f64> {
        Some(self.bytes? / self.timing?.median_us() / 1e3)
    }

    /// TFLOP/s
    pub fn rate(&self) -> Option<f64> {
        Some(self.flops? / self.timing?.median_us() / 1e6)
    }

    fn is_same(&self, other: &Row) -> bool {
        (&self.kernel, &self.launch, self.config) == (&other.kernel, &other.launch, other.config)
    }
}

/// A launch that takes longer than in an earlier measurement.
#[derive(Debug, Clone, PartialEq)]
pub struct Slower {
    pub row: Row,
    pub before_us: f64,
    pub now_us: f64,
}

impl Slower {
    pub fn percent(&self) -> f64 {
        (self.now_us / self.before_us - 1.0) * 100.0
    }
}

impl Analysis {
    /// The launches of a report with what the model says of them.
    pub fn bench(&self, path: &Path, report: &Report) -> Vec<Row> {
        let predicted = self.report(path);
        let row = |run: &tritium_runtime::run::LaunchReport| {
            let of_tritium = |row: &&crate::report::Row| row.compiler == "tritium";
            let is_it = |row: &&crate::report::Row| row.launch.as_deref() == Some(run.launch.as_str()) && row.config == run.row;
            let model = predicted.iter().filter(of_tritium).find(is_it);
            // The model is about GPUs.
            let model = model.filter(|_| run.timing.is_some_and(|timing| timing.cold.is_some()));
            Row {
                kernel: run.kernel.clone(),
                launch: run.launch.clone(),
                config: run.row,
                device: run.device.clone(),
                timing: run.timing,
                predicted_us: model.and_then(|row| row.predicted_us),
                bytes: model.and_then(|row| row.bytes),
                flops: model.and_then(|row| row.flops),
                fault: run.fault.clone(),
            }
        };
        report.launches.iter().map(row).collect()
    }
}

/// Launches that are slower than before by more than `percent`, and by more than the measurements spread.
pub fn slower(now: &[Row], before: &[Row], percent: f64) -> Vec<Slower> {
    let spread = |timing: &Timing| timing.cold.unwrap_or(timing.warm);
    let one = |row: &Row| {
        let earlier = before.iter().find(|other| other.is_same(row) && other.device == row.device)?;
        let (now, then): (Spread, Spread) = (spread(&row.timing?), spread(&earlier.timing?));
        let is_slower = now.median_us > then.median_us * (1.0 + percent / 100.0) && now.p20_us > then.p80_us;
        is_slower.then(|| Slower { row: row.clone(), before_us: then.median_us, now_us: now.median_us })
    };
    now.iter().filter_map(one).collect()
}
