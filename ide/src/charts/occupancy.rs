//! What if: the occupancy over warps, registers and shared memory, with the cliffs on both sides of where a kernel stands.
//!
//! **Invariant:** each curve varies one figure and keeps the others, and says so; the numbers are those of [`what_if`] and no others.

use std::fmt::Write as _;

use tritium_estimate::occupancy::{Axis, Curve, Use, what_if};
use tritium_semantics::target::Gpu;

use super::{Chart, Svg};
use crate::report::limiter_name;

const WIDTH: f64 = 720.0;
const PLOT: f64 = 150.0;
const LEFT: f64 = 56.0;

fn name(axis: Axis) -> &'static str {
    match axis {
        Axis::Warps => "warps per CTA",
        Axis::Registers => "registers per thread",
        Axis::Shared => "bytes of shared memory per CTA",
    }
}

/// One sentence on where the curve falls and rises.
fn cliffs(curve: &Curve) -> String {
    let percent = |fraction: f64| format!("{:.0} %", 100.0 * fraction);
    let mut out = Vec::new();
    if curve.axis == Axis::Warps {
        return String::new();
    }
    if let Some(step) = curve.better() {
        out.push(format!("{} or less: {}", step.to, percent(step.fraction)));
    }
    if let Some(step) = curve.worse() {
        let less = if step.ctas_per_sm == 0 { "does not fit".to_owned() } else { percent(step.fraction) };
        out.push(format!("{} or more: {less}", step.from));
    }
    out.join("; ")
}

/// `exact`: the register count is the compiler's, not an estimate.
pub fn chart(title: &str, gpu: Gpu, now: Use, exact: bool) -> Chart {
    let curves = what_if(gpu.sm, now);
    let found = now.occupancy(gpu.sm);
    let summary = match found {
        Some(o) => format!(
            "{:.0} % of {} warps: {} CTAs of {} warps an SM, limited by {}",
            100.0 * o.fraction,
            gpu.sm.max_warps_per_sm,
            o.ctas_per_sm,
            now.warps,
            limiter_name(o.limiter)
        ),
        None => "not even one CTA fits an SM".to_owned(),
    };
    let certainty = if exact { "exact" } else { "estimated" };
    let assumption = format!(
        "{}, Tritium's compiler; {} registers a thread ({certainty}), {} bytes of shared memory (exact). Each curve changes one figure and \
         keeps the others.",
        gpu.name(),
        now.registers,
        now.shared
    );
    Chart {
        title: title.to_owned(),
        svg: svg(title, &summary, &assumption, &curves),
        text: text(title, &summary, &assumption, &curves),
    }
}

fn svg(title: &str, summary: &str, assumption: &str, curves: &[Curve]) -> String {
    let each = PLOT + 62.0;
    let mut svg = Svg::new(WIDTH, 74.0 + each * curves.len() as f64, title);
    svg.text(12.0, 22.0, "title", title);
    svg.text(12.0, 42.0, "", summary);
    svg.text(12.0, 60.0, "faint", assumption.split("; ").next().unwrap_or_default());
    for (index, curve) in curves.iter().enumerate() {
        let top = 90.0 + each * index as f64;
        plot(&mut svg, curve, top, index);
    }
    svg.finish()
}

fn plot(svg: &mut Svg, curve: &Curve, top: f64, index: usize) {
    let (left, right, bottom) = (LEFT, WIDTH - 20.0, top + PLOT);
    let colour = format!("c{index}");
    let (first, last) = match (curve.steps.first(), curve.steps.last()) {
        (Some(first), Some(last)) => (f64::from(first.from), f64::from(last.to)),
        _ => return,
    };
    let x = |value: f64| match curve.axis {
        Axis::Warps => left + (right - left) * (value / first).log2() / (last / first).log2().max(1.0),
        _ => left + (right - left) * (value - first) / (last - first).max(1.0),
    };
    let y = |fraction: f64| bottom - PLOT * fraction;
    for percent in [0, 25, 50, 75, 100] {
        let at = y(f64::from(percent) / 100.0);
        svg.line((left, at), (right, at), "grid");
        svg.text(left - 6.0, at + 4.0, "faint end", &format!("{percent} %"));
    }
    let mut points = Vec::new();
    for step in &curve.steps {
        points.push((x(f64::from(step.from)), y(step.fraction)));
        points.push((x(f64::from(step.to)), y(step.fraction)));
    }
    if curve.axis == Axis::Warps {
        points.dedup();
    }
    let mut area = points.clone();
    area.push((right, bottom));
    area.insert(0, (left, bottom));
    svg.path(&area, &format!("area {colour}"));
    svg.path(&points, &format!("curve {colour}"));
    let here = x(f64::from(curve.now)).clamp(left, right);
    svg.line((here, top), (here, bottom), "now");
    let fraction = curve.here().map_or(0.0, |step| step.fraction);
    svg.circle((here, y(fraction)), 5.0, &format!("dot {colour}"), &format!("{}: {}", name(curve.axis), curve.now));
    for step in &curve.steps {
        let is_mark = curve.axis == Axis::Warps || curve.steps.len() < 14;
        if is_mark && curve.axis != Axis::Shared {
            svg.text(x(f64::from(step.from)), bottom + 14.0, "faint middle", &step.from.to_string());
        }
    }
    if curve.axis != Axis::Warps {
        for tick in 0..=4 {
            let value = first + (last - first) * f64::from(tick) / 4.0;
            let text = if curve.axis == Axis::Shared { format!("{:.0} KiB", value / 1024.0) } else { format!("{value:.0}") };
            if curve.axis == Axis::Shared || curve.steps.len() >= 14 {
                svg.text(x(value), bottom + 14.0, "faint middle", &text);
            }
        }
    }
    let note = cliffs(curve);
    let line = format!("{} (now {}){}{note}", name(curve.axis), curve.now, if note.is_empty() { "" } else { ": " });
    svg.text(left, bottom + 31.0, "", &line);
}

fn text(title: &str, summary: &str, assumption: &str, curves: &[Curve]) -> String {
    let mut out = format!("{title}\n{summary}\n");
    for curve in curves {
        let _ = writeln!(out, "\n{}, now {}", name(curve.axis), curve.now);
        let label = |step: &tritium_estimate::occupancy::Step| match curve.axis {
            Axis::Warps => step.from.to_string(),
            _ => format!("≤ {}", step.to),
        };
        let width = curve.steps.iter().map(|step| label(step).chars().count()).max().unwrap_or(0);
        for step in &curve.steps {
            let bar = "█".repeat((step.fraction * 32.0).round() as usize);
            let here = if step.from <= curve.now && curve.now <= step.to { "  ◀ now" } else { "" };
            let what = match step.ctas_per_sm {
                0 => "does not fit".to_owned(),
                n => format!("{:3.0} %  {n} CTA{}", 100.0 * step.fraction, if n == 1 { "" } else { "s" }),
            };
            let _ = writeln!(out, "  {:>width$}  {bar:32}  {what}{here}", label(step));
        }
    }
    let _ = writeln!(out, "\n{assumption}");
    out
}
