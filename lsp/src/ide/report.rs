// Feature: Resources and roofline
//
//! What a kernel needs and what bounds it: registers, shared memory, occupancy, traffic, roofline. Every figure says whether it is exact
//! or estimated, and whose compiler it is about.

use std::path::Path;

use serde::Serialize;
use tritium_codegen::{
    self as codegen, cost,
    occupancy::{Limiter, Occupancy, occupancy},
    resources::{Buffer, KernelReport},
};
use tritium_semantics::{elaborate::OriginData, items, problem::Place};
use tritium_syntax::{Encoding, LineIndex, TextSize};
use tritium_tile::layout::Distributed;

use crate::ide::{
    Analysis,
    exact::State,
    kernels::{Active, Kernel},
};

/// A kernel's figures under one specialisation.
pub struct Figures {
    pub report: KernelReport,
    /// What ptxas says, if it has been asked and has answered.
    pub exact: State,
    /// Of the exact register count if there is one, else of the estimate.
    pub occupancy: Option<Occupancy>,
}

impl Figures {
    pub fn registers(&self) -> (u32, bool) {
        match &self.exact {
            State::Ready(exact) => (exact.code.registers, true),
            State::Pending | State::Failed(_) => (self.report.registers.value, false),
        }
    }

    pub fn spill_bytes(&self) -> (u32, bool) {
        match &self.exact {
            State::Ready(exact) => (exact.code.spill_stores + exact.code.spill_loads, true),
            State::Pending | State::Failed(_) => (self.report.spill_bytes.value, false),
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
    pub spill_bytes: Option<u32>,
    pub shared_bytes: Option<u32>,
    pub buffers: Vec<Buffer>,
    pub accesses: Vec<AccessRow>,
    pub blocks_per_sm: Option<u32>,
    pub occupancy: Option<f64>,
    pub occupancy_limiter: Option<&'static str>,
    pub flops: Option<f64>,
    /// That DRAM must move.
    pub bytes: Option<f64>,
    pub intensity: Option<f64>,
    pub bound: Option<cost::Bound>,
    pub predicted_us: Option<f64>,
    pub problems: Vec<String>,
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

fn bytes_text(bytes: u32) -> String {
    if bytes >= 1024 { format!("{:.1} KiB", f64::from(bytes) / 1024.0) } else { format!("{bytes} bytes") }
}

/// Characters of a hover's code that no editor cuts.
const SIGNATURE_WIDTH: usize = 76;

impl Analysis {
    /// `wait`: until ptxas has answered; editors never do.
    pub fn figures(&self, active: &Active, wait: bool) -> Result<Figures, String> {
        self.complete(active)?;
        let options = self.codegen_options(active);
        let module = codegen::optimised(self.db(), active.instance, options).as_ref().map_err(|e| e.message.clone())?;
        let gpu = self.gpu();
        let report = codegen::resources::report(module, gpu, active.launch.as_ref().map(codegen::launch_values).as_ref());
        let llvm = codegen::llvm_text(self.db(), active.instance, options).as_ref().map_err(|e| e.message.clone())?;
        let exact = if wait {
            self.artefacts().wait(&llvm.text, gpu.sm).map_or_else(State::Failed, State::Ready)
        } else {
            self.artefacts().get(&llvm.text, gpu.sm)
        };
        let mut figures = Figures { occupancy: report.occupancy, report, exact };
        if let (registers, true) = figures.registers() {
            let (threads, shared) = (32 * active.num_warps, figures.report.shared_bytes.value);
            figures.occupancy = occupancy(gpu.sm, threads, registers, shared, figures.report.barriers.min(1));
        }
        Ok(figures)
    }

    /// A row for every kernel and launch of a file; a kernel without a launch has one under assumed arguments.
    pub fn report(&self, path: &Path, config: Option<usize>) -> Vec<Row> {
        let mut rows = Vec::new();
        for kernel in self.kernels(path) {
            let own = self.configurations(kernel.function);
            let own = own.iter().filter(|active| config.is_none_or(|wanted| active.config.is_none_or(|c| c as usize == wanted)));
            rows.extend(own.map(|active| self.row(path, &kernel, active)));
        }
        rows
    }

    fn row(&self, path: &Path, kernel: &Kernel, active: &Active) -> Row {
        let mut row = Row {
            kernel: kernel.name.clone(),
            file: path.display().to_string(),
            launch: active.launch.as_ref().map(|l| l.name.to_string()),
            config: active.config,
            gpu: self.gpu().name().to_owned(),
            compiler: "tritium",
            registers: None,
            registers_source: None,
            spill_bytes: None,
            shared_bytes: None,
            buffers: Vec::new(),
            accesses: Vec::new(),
            blocks_per_sm: None,
            occupancy: None,
            occupancy_limiter: None,
            flops: None,
            bytes: None,
            intensity: None,
            bound: None,
            predicted_us: None,
            problems: Vec::new(),
        };
        let figures = match self.figures(active, true) {
            Ok(figures) => figures,
            Err(message) => {
                row.problems.push(message);
                return row;
            }
        };
        match &figures.exact {
            State::Failed(message) => row.problems.push(message.to_string()),
            State::Ready(exact) => row.problems.extend(exact.code.warnings().map(str::to_owned)),
            State::Pending => {}
        }
        let (registers, exact) = figures.registers();
        row.registers = Some(registers);
        row.registers_source = Some(if exact { "exact" } else { "estimated" });
        row.spill_bytes = Some(figures.spill_bytes().0);
        row.shared_bytes = Some(figures.report.shared_bytes.value);
        row.blocks_per_sm = figures.occupancy.map(|o| o.ctas_per_sm);
        row.occupancy = figures.occupancy.map(|o| o.fraction);
        row.occupancy_limiter = figures.occupancy.map(|o| limiter_name(o.limiter));
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
        let cost = &figures.report.cost;
        row.buffers = figures.report.buffers;
        // Without a launch there are no totals.
        if active.launch.is_some() {
            (row.flops, row.bytes, row.intensity) = (cost.flops, cost.bytes, cost.intensity);
            (row.bound, row.predicted_us) = (cost.bound, cost.predicted_us);
        }
        row
    }

    fn line(&self, origins: &[OriginData], origin: u32) -> Option<u32> {
        let place = origins.get(origin as usize)?.place;
        let range = self.range(place)?;
        let text = self.text(place.function.file(self.db()).path(self.db()))?;
        Some(LineIndex::new(&text).line_column(TextSize::try_from(range.start).ok()?, Encoding::CodePoints).line + 1)
    }

    /// The hover of a kernel's name, and whether an exact figure in it is still being compiled. What bounds the kernel stands first,
    /// where it is read even when the rest is cut off.
    pub(crate) fn kernel_markdown(&self, kernel: &Kernel) -> (String, bool) {
        let signature = format!("```python\n(kernel) {}\n```\n", self.signature(kernel));
        let figures = match self.figures(&kernel.active, false) {
            Ok(figures) => figures,
            Err(message) => {
                // The editor itself shows where a problem is; the last line tells that to people on the command line.
                let lines = message.lines().map(str::trim).filter(|line| !line.starts_with("`tritium check`"));
                let message = lines.collect::<Vec<_>>().join("\n  - ");
                return (format!("{signature}- no figures: {message}\n"), false);
            }
        };
        let gpu = self.gpu();
        let source = if figures.registers().1 { "exact" } else { "estimated" };
        let occupancy = figures.occupancy.map(|o| format!("{:.0} %", 100.0 * o.fraction));
        let cost = &figures.report.cost;
        let launched = kernel.active.launch.is_some();
        let mut out = match (launched, cost.bound, cost.predicted_us) {
            (true, Some(bound), Some(time)) => {
                let intensity = cost.intensity.map(|i| format!(" · {i:.2} FLOP/byte")).unwrap_or_default();
                format!("**{}** · ~{time:.1} µs on {}{intensity}\n\n", bound_name(bound), gpu.name())
            }
            _ => match &occupancy {
                Some(occupancy) => format!("**{occupancy} occupancy** on {} ({source})\n\n", gpu.name()),
                None => String::new(),
            },
        };
        out += &match &figures.exact {
            State::Ready(exact) => {
                let spills = exact.code.spill_stores + exact.code.spill_loads;
                let spills = if spills == 0 { "no spills".to_owned() } else { format!("{spills} bytes of spills") };
                format!("- registers: {} per thread, {spills} (exact, ptxas)\n", exact.code.registers)
            }
            State::Pending | State::Failed(_) => {
                let r = &figures.report.registers;
                format!("- registers: ~{} per thread, {} to {} (estimated)\n", r.value, r.low, r.high)
            }
        };
        let shared = figures.report.shared_bytes.value;
        out += &format!("- shared memory: {} of {} per CTA (exact)\n", bytes_text(shared), bytes_text(gpu.sm.shared_per_cta));
        out += &match figures.occupancy.zip(occupancy) {
            Some((o, percent)) => format!(
                "- occupancy: {percent}, {} CTAs of {} warps per SM, limited by {} ({source})\n",
                o.ctas_per_sm,
                kernel.active.num_warps,
                limiter_name(o.limiter)
            ),
            None => format!("- occupancy: not even one CTA fits an SM ({source})\n"),
        };
        if let (true, Some(flops), Some(bytes)) = (launched, cost.flops, cost.bytes) {
            let intensity = cost.intensity.map(|i| format!("; intensity: {i:.2} FLOP/byte")).unwrap_or_default();
            out += &format!("- work: {}FLOP; bytes to and from DRAM: {}B{intensity} (estimated)\n", si(flops), si(bytes));
        }
        out += &format!("- for {}, by Tritium's compiler\n", kernel.active.describe());
        out += &match &figures.exact {
            State::Ready(_) => String::new(),
            State::Pending => "- the exact figure is being compiled: hover again\n".to_owned(),
            State::Failed(message) => format!("- no exact figure: {message}\n"),
        };
        out += &signature;
        if launched && cost.predicted_us.is_some() {
            out += &format!("*The time assumes: {}.*\n", figures.report.cost_assumption);
        }
        (out, figures.exact == State::Pending)
    }

    /// `softmax(Y: *f32, n: i32, BLOCK: constexpr[1024])`; broken where a hover would cut it.
    fn signature(&self, kernel: &Kernel) -> String {
        let db = self.db();
        let arguments = kernel.active.instance.arguments(db);
        let item = items::items(db, kernel.function.file(db)).function(kernel.function);
        let names = item.map(|item| item.params.iter().map(|p| p.name.as_str()).collect::<Vec<_>>()).unwrap_or_default();
        let params: Vec<String> = names.iter().zip(arguments).map(|(name, argument)| format!("{name}: {argument}")).collect();
        let mut out = format!("{}(", kernel.name);
        // The hover puts `(kernel) ` before the first line.
        let mut column = "(kernel) ".len() + out.len();
        for (i, param) in params.iter().enumerate() {
            let (separator, width) = (if i == 0 { "" } else { ", " }, param.chars().count() + 2);
            if i > 0 && column + width > SIGNATURE_WIDTH {
                out += ",\n    ";
                column = 4;
            } else {
                out += separator;
            }
            out += param;
            column += width;
        }
        out + ")"
    }

    /// The remark on the `def` line and its explanation. VS Code cuts the hints of a line after 43 characters.
    pub(crate) fn roofline_hint(&self, kernel: &Kernel) -> Option<(String, String)> {
        kernel.active.launch.as_ref()?;
        let options = self.codegen_options(&kernel.active);
        self.complete(&kernel.active).ok()?;
        let module = codegen::optimised(self.db(), kernel.active.instance, options).as_ref().ok()?;
        let numbers = kernel.active.launch.as_ref().map(codegen::launch_values);
        let report = codegen::resources::report(module, self.gpu(), numbers.as_ref());
        let (bound, time) = (report.cost.bound?, report.cost.predicted_us?);
        let intensity = report.cost.intensity.map(|i| format!("{i:.2} FLOP/byte; ")).unwrap_or_default();
        let label = format!("{} · ~{time:.1} µs on {}", bound_name(bound), self.gpu().name());
        let tooltip = format!("{intensity}estimated for {}: {}", kernel.active.describe(), report.cost_assumption);
        Some((label, tooltip))
    }

    /// Which thread holds what of a value, from the passes.
    pub(crate) fn layout_facts(&self, kernel: &Kernel, place: Place) -> Option<Vec<String>> {
        let elaborated = self.complete(&kernel.active).ok()?;
        let options = self.codegen_options(&kernel.active);
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
