// Feature: Roofline
//
//! A point for every launch and configuration of a file under the roofs of the board: as numbers, as a chart (SVG), as text for a terminal.
//!
//! **Invariant:** a point is the time model's, drawn where its predicted rate is; a launch without figures is named with its reason, never
//! left out.

mod svg;
mod text;

use std::path::Path;

use serde::Serialize;
use tritium_estimate::cost::Unit;
use tritium_semantics::{configuration::configurations, target::Gpu};

use crate::{Analysis, report::si};

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Roofline {
    pub version: u32,
    pub file: String,
    pub gpu: String,
    pub compiler: &'static str,
    pub roofs: Vec<Roof>,
    pub points: Vec<Point>,
    /// `KERNEL LAUNCH: why there is no point`
    pub missing: Vec<String>,
    pub assumption: &'static str,
}

/// A slope up to a ceiling.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Roof {
    /// `f16 tensor`, `f32`.
    pub name: String,
    /// `datasheet` or `measured`.
    pub source: &'static str,
    /// Bytes a second.
    pub bandwidth: f64,
    /// FLOP a second.
    pub peak: f64,
}

impl Roof {
    /// FLOP a second at an intensity.
    pub fn at(&self, intensity: f64) -> f64 {
        (self.bandwidth * intensity).min(self.peak)
    }

    /// Where the slope meets the ceiling.
    pub fn ridge(&self) -> f64 {
        self.peak / self.bandwidth
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Point {
    pub kernel: String,
    pub launch: String,
    pub config: Option<u32>,
    /// Values of the configuration: `BLOCK_M=128 BLOCK_N=256`.
    pub meta: String,
    pub num_warps: u32,
    pub num_stages: u32,
    /// FLOP per byte of DRAM.
    pub intensity: f64,
    /// A second, as predicted.
    pub flops: f64,
    pub predicted_us: f64,
    pub limiter: Option<&'static str>,
    /// The roof that is over it.
    pub roof: String,
}

impl Point {
    /// In lists.
    pub fn describe(&self) -> String {
        let limiter = self.limiter.map(|limiter| format!(" · {limiter}")).unwrap_or_default();
        format!("{:.2} FLOP/B · {}FLOP/s · ~{:.1} µs{limiter}", self.intensity, si(self.flops), self.predicted_us)
    }

    pub fn name(&self) -> String {
        if self.launch == self.kernel { self.kernel.clone() } else { format!("{} {}", self.kernel, self.launch) }
    }
}

impl Roofline {
    /// A whole SVG file; it follows a dark theme by itself.
    pub fn svg(&self) -> String {
        svg::chart(self)
    }

    pub fn text(&self) -> String {
        text::chart(self)
    }

    /// The decades that the axes span: intensity, then FLOP a second; `None` without a point.
    fn decades(&self) -> Option<[(i32, i32); 2]> {
        // Enough of the slope that it is seen as one.
        let xs = self.points.iter().map(|p| p.intensity).chain(self.roofs.iter().flat_map(|r| [r.ridge(), r.ridge() / 12.0]));
        let ys = self.points.iter().map(|p| p.flops).chain(self.roofs.iter().flat_map(|r| [r.peak, r.peak / 12.0]));
        let span = |values: &mut dyn Iterator<Item = f64>| {
            let (low, high) = values.fold((f64::MAX, f64::MIN_POSITIVE), |(low, high), value| (low.min(value), high.max(value)));
            (low.log10().floor() as i32, high.log10().ceil() as i32)
        };
        let is_drawn = !self.points.is_empty() && !self.roofs.is_empty();
        is_drawn.then(|| [span(&mut { xs }), span(&mut { ys })])
    }
}

/// The roofs that matter for these units.
fn roofs(gpu: &Gpu, units: &[Unit]) -> Vec<Roof> {
    let Some(board) = gpu.board else { return Vec::new() };
    let rows = [
        (Unit::TensorFp8, "fp8 tensor", board.fp8_tflops, None),
        (Unit::TensorInt8, "int8 tensor", board.int8_tops, None),
        (Unit::TensorF16, "f16 tensor", Some(board.f16_tflops), gpu.measured.and_then(|m| m.f16_tflops)),
        (Unit::TensorTf32, "tf32 tensor", Some(board.tf32_tflops), gpu.measured.and_then(|m| m.tf32_tflops)),
        (Unit::Fma, "f32", Some(board.f32_tflops), gpu.measured.and_then(|m| m.f32_tflops)),
        (Unit::F64, "f64", board.f64_tflops, None),
    ];
    let bandwidth = board.dram_bandwidth * 1e9;
    let mut out = Vec::new();
    for (_, name, sheet, measured) in rows.into_iter().filter(|row| units.contains(&row.0)) {
        let Some(sheet) = sheet else { continue };
        out.push(Roof { name: name.to_owned(), source: "datasheet", bandwidth, peak: sheet * 1e12 });
        if let Some(slope) = gpu.measured.and_then(|m| m.dram_bandwidth) {
            let peak = measured.unwrap_or(sheet) * 1e12;
            out.push(Roof { name: name.to_owned(), source: "measured", bandwidth: slope * 1e9, peak });
        }
    }
    out
}

impl Analysis {
    /// `kernel`: only of this one.
    pub fn roofline(&self, path: &Path, kernel: Option<&str>) -> Roofline {
        let gpu = self.gpu();
        let mut out = Roofline {
            version: 1,
            file: path.display().to_string(),
            gpu: gpu.name().to_owned(),
            compiler: "tritium",
            roofs: Vec::new(),
            points: Vec::new(),
            missing: Vec::new(),
            assumption: if gpu.measured.is_some() {
                tritium_estimate::cost::ASSUMPTIONS_MEASURED
            } else {
                tritium_estimate::cost::ASSUMPTIONS
            },
        };
        let mut units = Vec::new();
        for found in self.kernels(path) {
            if kernel.is_some_and(|name| name != found.name) {
                continue;
            }
            for &active in configurations(self.db(), found.function) {
                let Some(launch) = active.launch(self.db()) else {
                    out.missing.push(format!("{}: no launch of it is known, so that its work and bytes are not", found.name));
                    continue;
                };
                let name = format!("{} {}", found.name, launch.name);
                if let Err(message) = self.complete(active) {
                    out.missing.push(format!("{name}: {}", message.lines().next().unwrap_or_default()));
                    continue;
                }
                let at = crate::kernels::Kernel { active, ..found.clone() };
                let Some(report) = self.estimates(&at) else {
                    out.missing.push(format!("{name}: it is not compiled for {}; `tritium report` says why", gpu.name()));
                    continue;
                };
                let cost = &report.cost;
                let (Some(flops), Some(intensity), Some(us)) = (cost.flops, cost.intensity, cost.predicted_us) else {
                    let why = if gpu.board.is_none() {
                        "a bare SM has no roofline; name a board"
                    } else {
                        "work or bytes depend on data"
                    };
                    out.missing.push(format!("{name}: {why}"));
                    continue;
                };
                if flops <= 0.0 || intensity <= 0.0 {
                    out.missing.push(format!("{name}: it adds and multiplies nothing"));
                    continue;
                }
                let uses = cost.prediction.iter().flat_map(|p| &p.uses);
                let arithmetic = uses.filter(|used| used.unit.is_tensor() || matches!(used.unit, Unit::Fma | Unit::F64));
                let unit = arithmetic.max_by(|a, b| a.us.total_cmp(&b.us)).map_or(Unit::Fma, |used| used.unit);
                units.push(unit);
                let meta: Vec<String> = launch.meta.iter().map(|(name, value)| format!("{name}={value}")).collect();
                out.points.push(Point {
                    kernel: found.name.clone(),
                    launch: launch.name.to_string(),
                    config: at.active.row,
                    meta: meta.join(" "),
                    num_warps: at.active.options.num_warps,
                    num_stages: at.active.options.num_stages,
                    intensity,
                    flops: flops / us * 1e6,
                    predicted_us: us,
                    limiter: cost.limiter().map(Unit::name),
                    roof: unit.name().to_owned(),
                });
            }
        }
        out.roofs = roofs(&gpu, &units);
        out
    }
}
