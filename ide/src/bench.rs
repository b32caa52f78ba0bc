// Feature: Measured times beside predicted ones
//
//! Measured times of launches beside what was predicted of them.

use std::path::Path;

use comfy_table::{Table, presets::UTF8_FULL_CONDENSED};
use serde::{Deserialize, Serialize};
use tritium_runtime::{
    calibrate,
    peer::{Peer, PeerLaunch},
    run::Report,
    timing::Timing,
};

use tritium_semantics::{
    configuration::{Configuration, configurations},
    launch::LaunchId,
};

pub use tritium_runtime::timing::Spread;

use crate::{Analysis, Host, Options, roofline};

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
    /// Of a thread, exact.
    #[serde(default)]
    pub registers: Option<u32>,
    /// Of the code and the work that were timed.
    #[serde(default)]
    pub code: Option<String>,
    pub fault: Option<String>,
    /// What a sweep has set for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<Size>,
    /// What the board can do at most of what the kernel does.
    #[serde(default)]
    pub roof: Option<Roof>,
    /// The same launch of something else, timed in turn with this one; of several, in the order in which they were asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub against: Vec<Against>,
}

/// A size of a sweep.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Size {
    pub name: String,
    pub value: i64,
}

/// The peaks of a board.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Roof {
    /// Of DRAM.
    pub gbps: f64,
    /// Of the unit that the kernel's arithmetic needs: `f16 tensor`.
    pub tflops: f64,
    pub unit: String,
    /// `datasheet` or `measured`.
    pub source: String,
}

/// What a launch is held against.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Against {
    /// `git:main`, `other.py`, `triton 3.6.0`, `torch 2.10.0`
    pub what: String,
    /// Cold where there is a cold one.
    pub time: Spread,
}

/// What takes the place of several launches together: an expression of PyTorch's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Together {
    pub launches: Vec<String>,
    /// All of them, each with its fastest row; unknown if one was not timed.
    pub own_us: Option<f64>,
    pub against: Against,
}

impl Row {
    /// How many times as long the other takes; and whether the spreads of both are apart.
    pub fn ratio(&self, against: &Against) -> Option<(f64, bool)> {
        let (own, other) = (self.timing.map(|timing| timing.cold.unwrap_or(timing.warm))?, against.time);
        let is_certain = own.p80_us < other.p20_us || other.p80_us < own.p20_us;
        Some((other.median_us / own.median_us, is_certain))
    }

    pub fn held_against(&self, what: &str) -> Option<&Against> {
        self.against.iter().find(|against| against.what == what)
    }

    /// GB/s
    pub fn bandwidth(&self) -> Option<f64> {
        Some(self.bytes? / self.timing?.median_us() / 1e3)
    }

    /// TFLOP/s
    pub fn rate(&self) -> Option<f64> {
        Some(self.flops? / self.timing?.median_us() / 1e6)
    }

    /// `matmul:3`
    pub fn name(&self) -> String {
        LaunchId::new(&self.launch, self.config).to_string()
    }

    fn is_same(&self, other: &Row) -> bool {
        (&self.kernel, &self.launch, self.config, &self.size) == (&other.kernel, &other.launch, other.config, &other.size)
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

/// The launches of a report, with what the model says of them on the board that has run them.
pub fn timed(options: Options, path: &Path, text: String, report: &Report) -> Vec<Row> {
    let board = report.launches.first().and_then(|launch| calibrate::board_of(&launch.device));
    let mut host = Host::default();
    host.configure(Options { gpu: board.map(|board| board.name.to_owned()).or(options.gpu.clone()), ..options });
    host.set_text(path, text);
    host.snapshot().at(path).bench(path, report)
}

/// What rows are held against.
pub fn held_against<'r>(rows: impl IntoIterator<Item = &'r Row>) -> Vec<&'r str> {
    let mut all: Vec<&str> = Vec::new();
    for against in rows.into_iter().flat_map(|row| &row.against) {
        if !all.contains(&against.what.as_str()) {
            all.push(&against.what);
        }
    }
    all
}

/// The rows for people.
pub fn table(rows: &[Row], together: &[Together]) -> String {
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED);
    let against = held_against(rows);
    let mut head =
        ["kernel", "launch", "device", "cold µs", "warm µs", "predicted µs", "GB/s", "TFLOP/s"].map(str::to_owned).to_vec();
    let size = rows.iter().find_map(|row| Some(row.size.as_ref()?.name.clone()));
    if let Some(name) = &size {
        head.insert(2, name.clone());
    }
    for what in &against {
        head.extend([format!("{what}, µs"), "ratio".to_owned()]);
    }
    table.set_header(head);
    let spread =
        |of: Option<Spread>| of.map_or_else(String::new, |s| format!("{:.2} ({:.2}–{:.2})", s.median_us, s.p20_us, s.p80_us));
    let figure = |value: Option<f64>| value.map_or_else(String::new, |value| format!("~{value:.1}"));
    for row in rows {
        let cold = match &row.fault {
            Some(fault) => fault.clone(),
            None => spread(row.timing.and_then(|timing| timing.cold)),
        };
        let mut cells = vec![
            row.kernel.clone(),
            row.name(),
            row.device.clone(),
            cold,
            spread(row.timing.map(|timing| timing.warm)),
            figure(row.predicted_us),
            figure(row.bandwidth()),
            figure(row.rate()),
        ];
        if size.is_some() {
            cells.insert(2, row.size.as_ref().map_or_else(String::new, |size| size.value.to_string()));
        }
        for what in &against {
            let other = row.held_against(what);
            cells.push(spread(other.map(|against| against.time)));
            let ratio = other.and_then(|against| row.ratio(against));
            cells
                .push(ratio.map_or_else(String::new, |(ratio, is_certain)| {
                    format!("{}{ratio:.2}×", if is_certain { "" } else { "≈ " })
                }));
        }
        table.add_row(cells);
    }
    let mut notes = String::new();
    for Together { launches, own_us, against } in together {
        let own = own_us.map_or_else(String::new, |us| format!(", {us:.2} µs together, {:.2}×", against.time.median_us / us));
        notes += &format!("{} for what {} do{own}: {} µs\n", against.what, launches.join(", "), spread(Some(against.time)));
    }
    if !against.is_empty() {
        let what = against.join(" or ");
        notes += &format!("Ratio: how many times as long {what} takes; ≈ where the spreads of both overlap.\n");
    }
    format!(
        "{table}\nTimes are measured: medians, in brackets the fifths below and above. Cold: nothing of the launch lies in L2; warm: one launch after \
         the other.\nPredicted times, and the bytes and FLOP in the rates, are estimates (~) for a cold L2.\n{notes}"
    )
}

/// One line: the launch that takes longest, or what went wrong.
pub fn summary(rows: &[Row]) -> String {
    if let Some((row, fault)) = rows.iter().find_map(|row| Some((row, row.fault.as_ref()?))) {
        return format!("{}: {fault}", row.name());
    }
    let timed = rows.iter().filter_map(|row| Some((row, row.timing?)));
    match timed.max_by(|(_, a), (_, b)| a.median_us().total_cmp(&b.median_us())) {
        Some((row, timing)) => {
            let of = if rows.len() == 1 { String::new() } else { format!("{} launches, the longest ", rows.len()) };
            let spread = timing.cold.unwrap_or(timing.warm);
            format!(
                "{of}{}: {:.2} µs on {} ({:.2}–{:.2})",
                row.name(),
                spread.median_us,
                row.device,
                spread.p20_us,
                spread.p80_us
            )
        }
        None => "nothing was timed".to_owned(),
    }
}

impl Analysis {
    /// The launches of a report with what the model says of them.
    fn bench(&self, path: &Path, report: &Report) -> Vec<Row> {
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
                registers: model.filter(|row| row.registers_source == Some("exact")).and_then(|row| row.registers),
                code: self.launched(path, &run.kernel, &run.id()).and_then(|active| self.mark(active)),
                fault: run.fault.clone(),
                size: None,
                roof: model.and_then(|_| self.peaks(path, &run.kernel)),
                against: vec![],
            }
        };
        report.launches.iter().map(row).collect()
    }
}

impl Analysis {
    fn launched(&self, path: &Path, kernel: &str, launch: &str) -> Option<Configuration> {
        let db = self.db();
        let is_it = |active: &Configuration| active.launch(db).is_some_and(|one| one.id().to_string() == launch);
        let mut kernels = self.kernels(path).into_iter().filter(|found| found.name == kernel);
        kernels.find_map(|found| configurations(db, found.function).iter().copied().find(is_it))
    }

    /// The roof that is over a kernel, a measured one where there is one.
    fn peaks(&self, path: &Path, kernel: &str) -> Option<Roof> {
        let roofs = self.roofline(path, Some(kernel)).roofs;
        let is_better = |a: &&roofline::Roof, b: &&roofline::Roof| {
            (a.source == "measured").cmp(&(b.source == "measured")).then(a.peak.total_cmp(&b.peak))
        };
        let roof = roofs.iter().max_by(is_better)?;
        Some(Roof {
            gbps: roof.bandwidth / 1e9,
            tflops: roof.peak / 1e12,
            unit: roof.name.clone(),
            source: roof.source.to_owned(),
        })
    }
}

/// Rows of the same launches timed several times in turn, as one.
pub fn of_rounds(rounds: &[Vec<Row>]) -> Vec<Row> {
    let one = |row: &Row| {
        let same = rounds.iter().filter_map(|rows| rows.iter().find(|other| other.is_same(row))?.timing);
        Row { timing: Timing::of_rounds(&same.collect::<Vec<_>>()), ..row.clone() }
    };
    rounds.first().into_iter().flatten().map(one).collect()
}

/// The rows of a sweep, a launch after the other, each with its sizes ascending.
pub fn by_launch(rows: &mut [Row]) {
    let mut order: Vec<(String, String)> = Vec::new();
    for row in rows.iter() {
        let one = (row.kernel.clone(), row.launch.clone());
        if !order.contains(&one) {
            order.push(one);
        }
    }
    rows.sort_by_key(|row| order.iter().position(|one| (&one.0, &one.1) == (&row.kernel, &row.launch)));
}

/// Holds each launch against the same one of something else.
pub fn hold_against(rows: &mut [Row], what: &str, others: &[Row]) {
    for row in rows {
        let other = others.iter().find(|other| other.is_same(row)).and_then(|other| other.timing);
        row.against.extend(other.map(|timing| Against { what: what.to_owned(), time: timing.cold.unwrap_or(timing.warm) }));
    }
}

/// Holds the fastest row of each launch against what Triton's tuner chose, or against an expression of PyTorch's. What takes the place of
/// several launches is returned.
pub fn hold_against_peer(rows: &mut [Row], peer: &Peer) -> Vec<Together> {
    let mut together = Vec::new();
    let us = |row: &Row| row.timing.map_or(f64::INFINITY, |timing| timing.median_us());
    for timed in &peer.times {
        let against = Against { what: peer.what.clone(), time: timed.time };
        let fastest = |rows: &mut [Row], launch: &PeerLaunch| {
            let is_it = |row: &Row| (row.kernel.as_str(), row.launch.as_str()) == (&*launch.kernel, &*launch.launch);
            let of_launch = rows.iter().enumerate().filter(|(_, row)| is_it(row) && row.timing.is_some());
            of_launch.min_by(|(_, a), (_, b)| us(a).total_cmp(&us(b))).map(|(at, _)| at)
        };
        let found: Vec<Option<usize>> = timed.launches.iter().map(|launch| fastest(rows, launch)).collect();
        match (timed.launches.as_slice(), found.as_slice()) {
            ([_], &[Some(at)]) => rows[at].against.push(against),
            ([_], _) => {}
            (launches, _) => {
                // Of launches that were not asked for nothing is told.
                if found.iter().any(Option::is_some) {
                    let own_us = found.iter().map(|at| at.map(|at| us(&rows[at]))).sum();
                    let launches = launches.iter().map(|launch| launch.launch.clone()).collect();
                    together.push(Together { launches, own_us, against });
                }
            }
        }
    }
    together
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
