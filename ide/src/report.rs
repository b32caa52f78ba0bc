// Feature: Resources and roofline
//
//! What a kernel needs and what bounds it: registers, shared memory, occupancy, traffic, roofline. Every figure says whether it is exact
//! or estimated, and whose compiler it is about.

use std::{collections::BTreeMap, path::Path};

use serde::Serialize;
use tritium_codegen::{self as codegen, Unsupported};
use tritium_estimate::{
    self as estimate, ReportKey, cost,
    occupancy::{Limiter, occupancy},
    registers::Point,
    resources::{Buffer, KernelReport},
    spills::Pressure,
    triton::Footprint,
};
use tritium_semantics::{
    SourceFile,
    configuration::{Configuration, configurations},
    elaborate::OriginData,
    items, notebook,
    problem::Place,
};
use tritium_tile::layout::Distributed;

pub use tritium_estimate::spills::legend as spills_legend;

use crate::{Analysis, exact::State, kernels::Kernel};

/// A kernel's figures under one specialisation.
pub struct Figures {
    /// Its occupancy and its cost are of the exact registers once ptxas has said them.
    pub report: KernelReport,
    /// What ptxas says, if it has been asked and has answered.
    pub exact: State,
}

impl Figures {
    pub fn registers(&self) -> (u32, bool) {
        match &self.exact {
            State::Ready(exact) => (exact.code.registers, true),
            State::Pending | State::Failed(_) | State::Absent(_) => (self.report.registers.value, false),
        }
    }

    pub fn spill_bytes(&self) -> (u32, bool) {
        match &self.exact {
            State::Ready(exact) => (exact.code.spilled(), true),
            State::Pending | State::Failed(_) | State::Absent(_) => (self.report.spill_bytes.value, false),
        }
    }
}

/// One row of `tritium report`; what is unknown is null.
#[derive(Debug, Clone, Serialize)]
pub struct Row {
    pub kernel: String,
    pub file: String,
    pub launch: Option<String>,
    pub config: Option<u32>,
    pub gpu: String,
    pub compiler: &'static str,
    pub registers: Option<u32>,
    /// `exact` (ptxas) or `estimated`.
    pub registers_source: Option<&'static str>,
    /// What would make them exact, where there is no ptxas.
    pub registers_remedy: Option<String>,
    /// Whatever the source.
    pub registers_estimated: Option<u32>,
    /// Where most registers are live, and what for.
    pub pressure_line: Option<u32>,
    pub pressure: Option<String>,
    pub spill_bytes: Option<u32>,
    /// Of Triton's code, of whose spills no bytes are known.
    pub spills: Option<Pressure>,
    pub shared_bytes: Option<u32>,
    /// `exact` or `estimated`.
    pub shared_source: Option<&'static str>,
    pub buffers: Vec<Buffer>,
    pub accesses: Vec<AccessRow>,
    /// What threads write to shared memory and read from it.
    pub passages: Vec<PassageRow>,
    pub blocks_per_sm: Option<u32>,
    pub occupancy: Option<f64>,
    pub occupancy_limiter: Option<&'static str>,
    /// Registers are not known: fewer may fit.
    pub occupancy_is_most: bool,
    /// Useful.
    pub flops: Option<f64>,
    /// By the instructions that run: what a profiler counts.
    pub flops_executed: Option<f64>,
    /// That DRAM moves while the launch runs.
    pub bytes: Option<f64>,
    /// Stored, and written back by DRAM only after the launch.
    pub bytes_left_in_l2: Option<f64>,
    /// On what `bytes` rests.
    pub bytes_assumption: Option<String>,
    pub intensity: Option<f64>,
    pub bound: Option<cost::Bound>,
    pub predicted_us: Option<f64>,
    /// The unit with the highest share of its peak, and the one after it with that share (0–1).
    pub limiter: Option<&'static str>,
    pub second_limiter: Option<&'static str>,
    pub second_share: Option<f64>,
    /// Programs over those that run at once, and the part of the last wave that is empty.
    pub waves: Option<f64>,
    pub idle_in_tail: Option<f64>,
    /// How long each unit would take alone, and its share of its peak; the highest share first.
    pub units: Vec<cost::Use>,
    /// `datasheet` or `measured`.
    pub roof: &'static str,
    /// Of one program, in the names of the parameters.
    pub flops_text: Option<String>,
    pub bytes_text: Option<String>,
    pub bytes_requested: Option<f64>,
    pub bytes_unique: Option<f64>,
    pub tensors: Vec<cost::TensorTraffic>,
    pub loops: Vec<LoopRow>,
    /// Where it costs: every line of the file that does work, in order.
    pub lines: Vec<LineRow>,
    pub advice: Vec<cost::Advice>,
    pub problems: Vec<String>,
}

#[derive(Debug, Clone, Serialize)]
pub struct LoopRow {
    /// 1-based.
    pub line: Option<u32>,
    pub trips: Option<f64>,
    pub trips_text: Option<String>,
    /// Of one trip of one program.
    pub flops: Option<f64>,
    pub loaded: Option<f64>,
    pub stored: Option<f64>,
    pub intensity: Option<f64>,
    pub limiter: Option<&'static str>,
}

/// A line's part of the launch; a helper's line is the call's.
#[derive(Debug, Clone, Default, Serialize)]
pub struct LineRow {
    pub line: u32,
    pub flops: f64,
    pub loaded: f64,
    pub stored: f64,
    pub dram: f64,
    /// Of the limiter's work, 0–1.
    pub share: Option<f64>,
    /// The most that a thread holds there, estimated, and what for: `acc 128, values 16`.
    pub live_registers: Option<f64>,
    pub live: Option<String>,
}

#[derive(Debug, Clone, Serialize)]
pub struct AccessRow {
    /// 1-based.
    pub line: Option<u32>,
    pub store: bool,
    pub width_bytes: u32,
    pub reason: Option<String>,
    pub sectors_per_request: Option<u32>,
}

/// See [`tritium_estimate::banks::Passage`].
#[derive(Debug, Clone, Serialize)]
pub struct PassageRow {
    /// 1-based.
    pub line: Option<u32>,
    pub store: bool,
    pub width_bytes: u32,
    pub wavefronts: u32,
    pub ideal: u32,
    pub ways: f64,
}

pub fn limiter_name(limiter: Limiter) -> &'static str {
    match limiter {
        Limiter::Warps => "warps",
        Limiter::Ctas => "CTAs",
        Limiter::Registers => "registers",
        Limiter::Shared => "shared memory",
        Limiter::Barriers => "barriers",
    }
}

pub(crate) fn bound_name(bound: cost::Bound) -> &'static str {
    match bound {
        cost::Bound::Memory => "memory bound",
        cost::Bound::Compute => "compute bound",
    }
}

/// Three digits and a prefix that the unit follows: `1.31 M`, `43.0 k`, `12 `.
pub fn si(value: f64) -> String {
    for (scale, unit) in [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")] {
        let scaled = value / scale;
        if scaled >= 0.9995 {
            let digits = if scaled < 9.995 { 2 } else { usize::from(scaled < 99.95) };
            return format!("{scaled:.digits$} {unit}");
        }
    }
    format!("{value:.0} ")
}

pub(crate) fn bytes_text(bytes: u32) -> String {
    if bytes >= 1024 { format!("{:.1} KiB", f64::from(bytes) / 1024.0) } else { format!("{bytes} bytes") }
}

impl Analysis {
    /// What Tritium's code takes, and its launch costs.
    pub(crate) fn report_of(&self, active: Configuration) -> &Result<KernelReport, Unsupported> {
        let db = self.db();
        estimate::report(db, ReportKey::of(db, active, self.gpu()))
    }

    /// `wait`: until ptxas has answered; editors never do.
    pub fn figures(&self, active: Configuration, wait: bool) -> Result<Figures, String> {
        self.complete(active)?;
        let (db, options, gpu) = (self.db(), self.compile_options(active), self.gpu());
        let llvm = codegen::llvm_text(db, active.instance, options).as_ref().map_err(|e| e.message.clone())?;
        let artefacts = self.artefacts();
        let exact = if wait { artefacts.wait(&llvm.text, gpu.sm) } else { artefacts.get(&llvm.text, gpu.sm) };
        let key = ReportKey::of(db, active, gpu);
        let key = match &exact {
            State::Ready(exact) => key.assembled(db, exact.code.registers),
            State::Pending | State::Failed(_) | State::Absent(_) => key,
        };
        let report = estimate::report(db, key).as_ref().map_err(|e| e.message.clone())?.clone();
        Ok(Figures { report, exact })
    }

    /// A row for every kernel and launch of a file; a kernel without a launch has one under assumed arguments.
    pub fn report(&self, path: &Path) -> Vec<Row> {
        let kernels = self.kernels(path);
        let of = |kernel: &Kernel| configurations(self.db(), kernel.function);
        let each = || kernels.iter().flat_map(|kernel| of(kernel).iter().map(move |&active| (kernel, active)));
        let ours = each().map(|(kernel, active)| self.row(path, kernel, active));
        // What Triton would take follows, in the same order.
        ours.chain(each().map(|(kernel, active)| self.triton_row(path, kernel, active))).collect()
    }

    fn blank(&self, path: &Path, kernel: &Kernel, active: Configuration, compiler: &'static str) -> Row {
        Row {
            kernel: kernel.name.clone(),
            file: path.display().to_string(),
            launch: active.launch(self.db()).map(|l| l.name.to_string()),
            config: active.row,
            gpu: self.gpu().name().to_owned(),
            compiler,
            registers: None,
            registers_source: None,
            registers_remedy: None,
            registers_estimated: None,
            pressure_line: None,
            pressure: None,
            spill_bytes: None,
            spills: None,
            shared_bytes: None,
            shared_source: None,
            buffers: Vec::new(),
            accesses: Vec::new(),
            passages: Vec::new(),
            blocks_per_sm: None,
            occupancy: None,
            occupancy_limiter: None,
            occupancy_is_most: false,
            flops: None,
            bytes: None,
            intensity: None,
            bound: None,
            predicted_us: None,
            limiter: None,
            second_limiter: None,
            second_share: None,
            waves: None,
            idle_in_tail: None,
            units: Vec::new(),
            roof: if self.gpu().measured.is_some() { "measured" } else { "datasheet" },
            flops_text: None,
            bytes_text: None,
            bytes_requested: None,
            bytes_unique: None,
            flops_executed: None,
            bytes_left_in_l2: None,
            bytes_assumption: None,
            tensors: Vec::new(),
            loops: Vec::new(),
            lines: Vec::new(),
            advice: Vec::new(),
            problems: Vec::new(),
        }
    }

    /// What Triton would take: of it nothing is exact here, and registers and time are not known.
    fn triton_row(&self, path: &Path, kernel: &Kernel, active: Configuration) -> Row {
        let mut row = self.blank(path, kernel, active, "triton");
        // What is not understood is said once, of Tritium's own code.
        let Some(footprint) = self.footprint(active) else { return row };
        row.spills = Some(footprint.pressure);
        row.shared_bytes = Some(footprint.shared_bytes.value);
        row.shared_source = Some("estimated");
        let parts = footprint.parts.iter();
        row.buffers = parts.map(|p| Buffer { origin: p.origin, what: p.what, offset: p.offset, bytes: p.bytes }).collect();
        self.shared_facts(active, footprint, &mut row);
        let limit = self.gpu().sm.shared_per_cta;
        if footprint.shared_bytes.value > limit {
            let gpu = self.gpu().name();
            row.problems.push(format!("Triton needs {} bytes of shared memory, {gpu} has {limit}", footprint.shared_bytes.value));
        }
        row
    }

    /// What the kernel asks for whoever compiles it, and how many of its thread blocks fit an SM at most: registers are not known.
    fn shared_facts(&self, active: Configuration, footprint: &Footprint, row: &mut Row) {
        let gpu = self.gpu();
        let most = occupancy(gpu.sm, active.options.threads(), 1, footprint.shared_bytes.value, 0);
        row.blocks_per_sm = most.map(|o| o.ctas_per_sm);
        row.occupancy = most.map(|o| o.fraction);
        row.occupancy_limiter = most.map(|o| limiter_name(o.limiter));
        row.occupancy_is_most = true;
        let Ok(report) = self.report_of(active) else { return };
        let cost = &report.cost;
        (row.flops_text, row.bytes_text) = (cost.flops_text.clone(), cost.bytes_text.clone());
        if !active.is_assumed() {
            (row.flops, row.bytes, row.intensity, row.bound) = (cost.flops, cost.bytes, cost.intensity, cost.bound);
            (row.bytes_unique, row.bytes_left_in_l2) = (cost.bytes_unique, cost.bytes_left_in_l2);
        }
    }

    /// What Triton would take of the GPU.
    pub fn footprint(&self, active: Configuration) -> Option<&Footprint> {
        estimate::triton_footprint(self.db(), active.instance, self.compile_options(active)).as_ref().ok()
    }

    fn row(&self, path: &Path, kernel: &Kernel, active: Configuration) -> Row {
        let mut row = self.blank(path, kernel, active, "tritium");
        let figures = match self.figures(active, true) {
            Ok(figures) => figures,
            Err(message) => {
                row.problems.push(message);
                return row;
            }
        };
        match &figures.exact {
            State::Failed(message) => row.problems.push(message.to_string()),
            State::Absent(message) => row.registers_remedy = Some(message.to_string()),
            State::Ready(exact) => row.problems.extend(exact.code.warnings().map(str::to_owned)),
            State::Pending => {}
        }
        let (registers, exact) = figures.registers();
        row.registers = Some(registers);
        row.registers_source = Some(if exact { "exact" } else { "estimated" });
        row.spill_bytes = Some(figures.spill_bytes().0);
        row.shared_source = Some("exact");
        row.shared_bytes = Some(figures.report.shared_bytes.value);
        row.blocks_per_sm = figures.report.occupancy.map(|o| o.ctas_per_sm);
        row.occupancy = figures.report.occupancy.map(|o| o.fraction);
        row.occupancy_limiter = figures.report.occupancy.map(|o| limiter_name(o.limiter));
        let origins = &self.elaborated(active.instance).origins;
        for access in &figures.report.accesses {
            row.accesses.push(AccessRow {
                line: self.line(origins, access.origin),
                store: access.is_store,
                width_bytes: access.width_bytes,
                reason: access.reason.clone(),
                sectors_per_request: access.sectors_per_request,
            });
        }
        for passage in &figures.report.passages {
            row.passages.push(PassageRow {
                line: self.line(origins, passage.origin),
                store: passage.is_store,
                width_bytes: passage.width_bytes,
                wavefronts: passage.wavefronts,
                ideal: passage.ideal,
                ways: passage.ways(),
            });
        }
        row.pressure = figures.report.worst().map(Point::describe);
        let cost = figures.report.cost;
        row.buffers = figures.report.buffers;
        row.loops = cost.loops.iter().map(|l| self.loop_row(origins, l)).collect();
        row.lines = self.lines(path, origins, &cost.places, &figures.report.pressure);
        row.registers_estimated = Some(figures.report.registers.value);
        row.pressure_line = self.line(origins, figures.report.pressure_origin);
        row.bytes_assumption = cost.bytes_assumption();
        (row.flops_text, row.bytes_text) = (cost.flops_text, cost.bytes_text);
        // Without a launch there are no totals.
        if !active.is_assumed() {
            (row.flops, row.bytes, row.intensity) = (cost.flops, cost.bytes, cost.intensity);
            (row.bound, row.predicted_us) = (cost.bound, cost.predicted_us);
            (row.bytes_requested, row.bytes_unique) = (cost.bytes_requested, cost.bytes_unique);
            (row.flops_executed, row.bytes_left_in_l2) = (cost.flops_executed, cost.bytes_left_in_l2);
            row.limiter = cost.prediction.as_ref().and_then(cost::Prediction::limiter).map(cost::Unit::name);
            let second = cost.prediction.as_ref().and_then(cost::Prediction::second);
            row.second_limiter = second.map(|used| used.unit.name());
            row.second_share = second.map(|used| used.of_peak);
            row.waves = cost.waves.map(|waves| waves.waves);
            row.idle_in_tail = cost.waves.map(|waves| waves.idle_in_tail);
            row.units = cost.prediction.map(|prediction| prediction.uses).unwrap_or_default();
            row.tensors = cost.tensors;
            row.advice = cost.advice;
        }
        row
    }

    fn loop_row(&self, origins: &[OriginData], cost: &cost::LoopCost) -> LoopRow {
        LoopRow {
            line: self.line(origins, cost.origin),
            trips: cost.trips,
            trips_text: cost.trips_text.clone(),
            flops: cost.trip.map(|trip| trip.flops),
            loaded: cost.trip.map(|trip| trip.loaded),
            stored: cost.trip.map(|trip| trip.stored),
            intensity: cost.intensity(),
            limiter: cost.limiter.map(cost::Unit::name),
        }
    }

    /// Places by line of this file; what a helper does counts where it is called.
    fn lines(&self, path: &Path, origins: &[OriginData], places: &[cost::PlaceCost], pressure: &[Point]) -> Vec<LineRow> {
        let (file, mut rows) = (self.file(path), BTreeMap::<u32, LineRow>::new());
        let line_here = |mut origin: u32| {
            // An inlined call always comes from an earlier one.
            while let Some(at) = origins.get(origin as usize).and_then(|o| o.inlined_at).filter(|&at| at < origin) {
                origin = at;
            }
            let is_here = |o: &OriginData| Some(o.place.function.file(self.db())) == file;
            if origins.get(origin as usize).is_some_and(is_here) { self.line(origins, origin) } else { None }
        };
        for place in places {
            let Some(line) = line_here(place.origin) else { continue };
            let row = rows.entry(line).or_insert_with(|| LineRow { line, ..LineRow::default() });
            row.flops += place.flops;
            row.loaded += place.loaded;
            row.stored += place.stored;
            row.dram += place.dram;
            row.share = place.share.map(|share| row.share.unwrap_or_default() + share);
        }
        for point in pressure {
            if let Some(row) = line_here(point.origin).and_then(|line| rows.get_mut(&line))
                && row.live_registers.is_none_or(|known| known < point.registers())
            {
                row.live_registers = Some(point.registers());
                row.live = Some(point.describe());
            }
        }
        rows.into_values().collect()
    }

    pub(crate) fn line(&self, origins: &[OriginData], origin: u32) -> Option<u32> {
        let place = origins.get(origin as usize)?.place;
        let range = self.range(place)?;
        Some(items::line_number(self.db(), place.function.file(self.db()), range.start))
    }

    /// `line 3`; in a notebook `line 3 of cell 2`, as nobody sees the lines of its whole Python.
    pub(crate) fn line_words(&self, file: SourceFile, line: u32) -> String {
        let db = self.db();
        let start = items::line_index(db, file).line_range(line.saturating_sub(1)).map_or(0, |range| range.start().into());
        let cell = if notebook::is_notebook(file.path(db)) { notebook::cell_at(file.text(db), start) } else { None };
        match cell {
            Some(cell) => {
                let first = items::line_number(db, file, cell.range.start);
                format!("line {} of cell {}", (line + 1).saturating_sub(first), cell.number)
            }
            None => format!("line {line}"),
        }
    }

    /// The remark on the `def` line and its explanation. VS Code cuts the hints of a line after 43 characters.
    pub(crate) fn roofline_hint(&self, kernel: &Kernel, report: &KernelReport) -> Option<(String, String)> {
        kernel.active.launch(self.db())?;
        let (bound, time) = (report.cost.bound?, report.cost.predicted_us?);
        let intensity = report.cost.intensity.map(|i| format!("{i:.2} FLOP/byte; ")).unwrap_or_default();
        let label = format!("{} · ~{time:.1} µs on {}", bound_name(bound), self.gpu().name());
        let tooltip = format!("{intensity}estimated for {}: {}", kernel.active.describe(self.db()), report.cost_assumption);
        Some((label, tooltip))
    }

    /// Which thread holds what of a value, from the passes.
    pub(crate) fn layout_facts(&self, kernel: &Kernel, place: Place) -> Option<Vec<String>> {
        let elaborated = self.complete(kernel.active).ok()?;
        let options = self.compile_options(kernel.active);
        let module = codegen::optimised(self.db(), kernel.active.instance, options).as_ref().ok()?;
        let function = module.entry();
        let mut layout = None;
        // The last op of an expression makes its value.
        function.walk(|_, id| {
            let op = function.op(id);
            if elaborated.origins.get(op.origin.0 as usize).is_some_and(|o| o.place == place)
                && let Some(found) = op.results.first().and_then(|&v| function.ty(v).layout())
            {
                layout = Some(found);
            }
        });
        let layout: &Distributed = module.layouts.distributed(layout?)?;
        let per_thread = layout.num_registers();
        let run = (0..layout.shape.len()).map(|d| layout.contiguous_registers(d)).max().unwrap_or(1);
        Some(vec![format!(
            "layout: {per_thread} element{} per thread in runs of {run}, over 32 lanes × {} warps (Tritium's compiler, exact)",
            if per_thread == 1 { "" } else { "s" },
            module.num_warps
        )])
    }
}
