// Feature: A kernel's hover
//
//! What a kernel takes and costs, as the hover of its name and the report behind it say it.
//!
//! Three lines first: what bounds it and how long it takes, what a CTA holds and how many fit, and the one change that would gain most. The rest
//! is behind them. **Invariant:** every figure says whether it is exact, estimated (~) or measured, and what was measured on the board that is
//! looked at stands before what was estimated for it.

use std::path::Path;

use serde::Serialize;
use tritium_estimate::{cost, occupancy::Occupancy};
use tritium_runtime::{calibrate, history::Entry};
use tritium_semantics::items;

use crate::{
    Analysis,
    emit::{Choice, Refusal},
    exact::State,
    history,
    kernels::Kernel,
    report::{Figures, bound_name, bytes_text, limiter_name, si},
};

/// Pieces of advice that are given.
const MAX_ADVICE: usize = 3;

/// Characters of a hover's code that no editor cuts.
const SIGNATURE_WIDTH: usize = 76;

/// A kernel's hover: the lines that are read, and those behind them.
pub(crate) struct KernelText {
    pub first: String,
    pub rest: String,
    /// An exact figure is being compiled that is given as an estimate.
    pub awaits_exact: bool,
}

/// Everything that is known of what a kernel takes and costs, as Markdown.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KernelReport {
    pub title: String,
    pub kernel: String,
    pub text: String,
}

/// The whole, for editors that fold nothing and for the report: the rest below a rule.
pub(crate) fn whole(first: &str, rest: &str) -> String {
    if rest.is_empty() { first.to_owned() } else { format!("{first}\n---\n\n{rest}") }
}

impl Analysis {
    /// What is said of a kernel, and whether an exact figure in it is still being compiled.
    pub fn kernel_report(&self, path: &Path, choice: &Choice) -> Result<(KernelReport, bool), Refusal> {
        let file = self.file(path).ok_or_else(|| Refusal::Request("the file is gone".to_owned()))?;
        let active = self.choose(file, choice).map_err(Refusal::Request)?;
        let function = active.instance.function(self.db());
        let kernel = self.kernel(function).ok_or_else(|| Refusal::Request("no kernel".to_owned()))?;
        let kernel = Kernel { active, ..kernel };
        let text = self.kernel_text(&kernel);
        let report = KernelReport {
            title: format!("{} · Report", kernel.name),
            text: whole(&text.first, &text.rest),
            kernel: kernel.name,
        };
        Ok((report, text.awaits_exact))
    }

    pub(crate) fn kernel_text(&self, kernel: &Kernel) -> KernelText {
        let path = kernel.function.file(self.db()).path(self.db());
        let measured = tritium_runtime::history::read(path);
        let now = history::now();
        let signature = format!("```python\n(kernel) {}\n```\n", self.signature(kernel));
        let past = history::lines(&measured, &kernel.name, now) + &self.recorded_lines(kernel.function, now);
        let figures = match self.figures(kernel.active, false) {
            Ok(figures) => figures,
            Err(message) => {
                // The editor itself shows where a problem is; the last line tells that to people on the command line.
                let lines = message.lines().map(str::trim).filter(|line| !line.starts_with("`tritium check`"));
                let message = lines.collect::<Vec<_>>().join("\n  - ");
                return KernelText {
                    first: format!("{signature}- no figures: {message}\n{past}"),
                    rest: String::new(),
                    awaits_exact: false,
                };
            }
        };
        let time = self.measured(kernel, &measured).map(|entry| {
            let bars = history::bars_of(&measured, entry).map_or_else(String::new, |bars| format!(" `{bars}`"));
            history::told(entry, now) + &bars
        });
        let lines = [
            Some(self.bound_line(kernel, &figures, time)),
            Some(self.resources_line(&figures)),
            self.advice_line(kernel, &figures),
        ];
        // Two spaces end a line within a paragraph.
        let first = lines.into_iter().flatten().collect::<Vec<_>>().join("  \n") + "\n";
        let rest = past + &self.details(kernel, &figures) + &signature + &assumptions(kernel, &figures);
        KernelText { first, rest, awaits_exact: figures.exact == State::Pending }
    }

    /// What was measured last of the launch that is looked at, on the board that is looked at.
    fn measured<'e>(&self, kernel: &Kernel, all: &'e [Entry]) -> Option<&'e Entry> {
        let launch = kernel.active.launch(self.db())?.id().to_string();
        // What has changed since is told below, as what it was.
        let code = self.mark(kernel.active)?;
        let is_it = |entry: &&Entry| {
            let board = || calibrate::board_of(&entry.device).map(|board| board.name);
            entry.time.is_some()
                && entry.kernel == kernel.name
                && entry.launch == launch
                && entry.code.as_ref() == Some(&code)
                && board() == Some(self.gpu().name())
        };
        all.iter().rev().find(is_it)
    }

    /// `**memory bound** (estimated) · 12.30 µs (measured on NVIDIA H100, 2 h ago) · ~11.9 µs on H100 (estimated) · launch `rows``
    fn bound_line(&self, kernel: &Kernel, figures: &Figures, measured: Option<String>) -> String {
        let (cost, gpu) = (&figures.report.cost, self.gpu().name());
        if kernel.active.is_assumed() {
            let program = cost.flops_text.as_ref().zip(cost.bytes_text.as_ref());
            let program = program
                .map(|(flops, bytes)| format!(": one program computes ~{flops} FLOP and asks for ~{bytes} bytes (estimated)"));
            return format!("**no launch is known**{}", program.unwrap_or_default());
        }
        let time = cost.predicted_us.map(|time| format!("~{time:.1} µs on {gpu} (estimated)"));
        let mut parts = Vec::new();
        match (cost.bound.map(bound_name), measured) {
            (Some(bound), Some(measured)) => parts.extend([Some(format!("**{bound}** (estimated)")), Some(measured), time]),
            // Of both it is said once that they are estimates.
            (Some(bound), None) => parts.push(time.map(|time| format!("**{bound}**, {time}"))),
            (None, measured) => parts.extend([measured, time]),
        }
        parts.push(Some(kernel.active.describe(self.db())));
        parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
    }

    /// `26 registers, no spills (exact, ptxas) · 144 bytes shared (exact) · 100 % occupancy by warps (exact)`
    fn resources_line(&self, figures: &Figures) -> String {
        let (registers, is_exact) = figures.registers();
        let (mark, source) = if is_exact { ("", "exact, ptxas") } else { ("~", "estimated") };
        let spills = match (figures.spill_bytes(), is_exact) {
            ((0, _), true) => ", no spills".to_owned(),
            ((0, _), false) => String::new(),
            ((bytes, _), _) => format!(", {mark}{bytes} bytes of spills"),
        };
        let shared = figures.report.shared_bytes.value;
        let limit = self.gpu().sm.shared_per_cta;
        let too_much = if shared > limit { format!(", of {} that there are", bytes_text(limit)) } else { String::new() };
        let source_of_occupancy = if is_exact { "exact" } else { "estimated" };
        let occupancy = match figures.report.occupancy {
            Some(Occupancy { fraction, limiter, .. }) => {
                format!("{mark}{:.0} % occupancy, limited by {} ({source_of_occupancy})", 100.0 * fraction, limiter_name(limiter))
            }
            None => format!("not even one CTA fits an SM ({source_of_occupancy})"),
        };
        let shared = if shared == 0 { "no".to_owned() } else { bytes_text(shared) };
        format!("{mark}{registers} registers{spills} ({source}) · {shared} shared memory{too_much} (exact) · {occupancy}")
    }

    /// The change that gains most, or what there is to know where none gains anything.
    fn advice_line(&self, kernel: &Kernel, figures: &Figures) -> Option<String> {
        let cost = &figures.report.cost;
        if kernel.active.is_assumed() {
            return Some("a launch block, or host code that launches it, tells its time and what would gain".to_owned());
        }
        if let Some(advice) = cost.advice.first() {
            return Some(gain(advice));
        }
        let limiter = cost.prediction.as_ref()?.uses.first()?;
        Some(format!(
            "no change is known that would gain: {} is used most, to ~{:.0} % of its peak (estimated)",
            limiter.unit.name(),
            100.0 * limiter.of_peak
        ))
    }

    fn details(&self, kernel: &Kernel, figures: &Figures) -> String {
        let cost = &figures.report.cost;
        let launched = !kernel.active.is_assumed();
        let mut out = match &figures.exact {
            // Said above.
            State::Ready(_) => String::new(),
            State::Pending | State::Failed(_) | State::Absent(_) => {
                let r = &figures.report.registers;
                format!("- registers: ~{} per thread, {} to {} (estimated, {})\n", r.value, r.low, r.high, r.assumption)
            }
        };
        if let Some(worst) = figures.report.worst() {
            let origins = &self.elaborated(kernel.active.instance).origins;
            let line = self.line(origins, worst.origin).map(|line| self.line_words(kernel.function.file(self.db()), line));
            let line = line.map(|line| format!(" in {line}")).unwrap_or_default();
            out += &format!("- most registers are live{line}: {} (estimated)\n", worst.describe());
        }
        out += &self.cta_resources(kernel, figures);
        if let (true, Some(flops), Some(bytes)) = (launched, cost.flops, cost.bytes) {
            let intensity = cost.intensity.map(|i| format!("; intensity: {i:.2} FLOP/byte")).unwrap_or_default();
            let executed = cost.flops_executed.filter(|&executed| executed > 1.01 * flops);
            let executed = executed.map(|executed| format!(" ({}FLOP executed)", si(executed))).unwrap_or_default();
            let left = cost.bytes_left_in_l2.filter(|&left| left >= 1.0);
            let left = left.map(|left| format!(", and {}B that L2 still holds at the end", si(left))).unwrap_or_default();
            let dram = format!("bytes to and from DRAM: {}B{left}", si(bytes));
            out += &format!("- work: {}FLOP{executed}; {dram}{intensity} (estimated)\n", si(flops));
            if let (Some(asked), Some(unique)) = (cost.bytes_requested, cost.bytes_unique) {
                out += &format!("- loads and stores ask for {}B, {}B of them different (estimated)\n", si(asked), si(unique));
            }
        }
        // In numbers it is said above; without a launch it is the first line.
        if let Some((flops, bytes)) = cost.flops_text.as_ref().zip(cost.bytes_text.as_ref())
            && launched
            && bytes.contains(char::is_alphabetic)
        {
            out += &format!("- one program: {flops} FLOP, {bytes} bytes asked for (estimated)\n");
        }
        if launched {
            out += &time_facts(cost);
        }
        out += &format!("- for {}, by Tritium's compiler\n", kernel.active.describe(self.db()));
        out += &self.triton_line(kernel);
        out + &match &figures.exact {
            State::Ready(_) => String::new(),
            State::Pending => "- the exact figure is being compiled: hover again\n".to_owned(),
            State::Failed(message) | State::Absent(message) => format!("- no exact figure: {message}\n"),
        }
    }

    /// What Triton would take.
    fn triton_line(&self, kernel: &Kernel) -> String {
        let Some(footprint) = self.footprint(kernel.active) else { return String::new() };
        let limit = self.gpu().sm.shared_per_cta;
        let shared = footprint.shared_bytes.value;
        let fits = if shared <= limit { "" } else { ", which does not fit" };
        let mut units: Vec<&str> = footprint.products.iter().map(|product| product.unit).collect();
        units.dedup();
        let units = if units.is_empty() { String::new() } else { format!(", {}", units.join(" and ")) };
        format!(
            "- by Triton's: {} of {} shared memory{fits}, {}{units} (estimated)\n",
            bytes_text(shared),
            bytes_text(limit),
            footprint.pressure
        )
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
}

fn gain(advice: &cost::Advice) -> String {
    format!("would gain ~{:.2}×: {} (estimated)", advice.gain, advice.text)
}

/// Waves, limiter and the advice that is not said above, as items of a list.
fn time_facts(cost: &cost::Cost) -> String {
    let mut out = String::new();
    if let Some(prediction) = &cost.prediction
        && let Some(limiter) = prediction.uses.first()
    {
        let second = prediction.second().map(|used| format!(", then {} ({:.0} %)", used.unit.name(), 100.0 * used.of_peak));
        out += &format!(
            "- limiter: {} ({:.0} % of its peak){} (estimated)\n",
            limiter.unit.name(),
            100.0 * limiter.of_peak,
            second.unwrap_or_default()
        );
    }
    if let Some(waves) = cost.waves {
        let tail = format!(", {:.0} % of the last one idle", 100.0 * waves.idle_in_tail);
        let tail = if waves.idle_in_tail < 0.005 { String::new() } else { tail };
        out += &format!("- waves: {:.2} of {} programs{tail} (estimated)\n", waves.waves, waves.slots);
    }
    for advice in cost.advice.iter().take(MAX_ADVICE).skip(1) {
        out += &format!("- {}\n", gain(advice));
    }
    out
}

fn assumptions(kernel: &Kernel, figures: &Figures) -> String {
    let cost = &figures.report.cost;
    if kernel.active.is_assumed() || cost.predicted_us.is_none() {
        return String::new();
    }
    let time = format!("*The time assumes: {}.*\n", figures.report.cost_assumption);
    time + &cost.bytes_assumption().map(|text| format!("*The bytes assume: {text}.*\n")).unwrap_or_default()
}
