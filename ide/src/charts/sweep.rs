//! A sweep: what launches take, or which rates they reach, over a size, ours beside what they are held against, under the roof of the board.
//!
//! **Invariant:** lines through numbered points are measured; what is estimated is dotted and says so. Of a tuner the fastest row of each size counts.

use std::fmt::Write as _;

use super::{
    Chart,
    plot::{LETTERS, Plot, SMALL_LETTERS, Scale},
    wrapped,
};
use crate::{
    bench::{Roof, Row, held_against},
    report::si,
};

/// What is drawn over the size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drawn {
    /// µs
    Time,
    /// B/s
    Bandwidth,
    /// FLOP/s
    Flops,
}

impl Drawn {
    /// What limits the rows, where it is known; else their time.
    fn of(rows: &[&Row]) -> Drawn {
        let share = |rate: fn(&Row) -> Option<f64>, roof: fn(&Roof) -> f64| {
            let of = |row: &&Row| Some(rate(row)? / roof(row.roof.as_ref()?));
            rows.iter().filter_map(of).fold(None, |most: Option<f64>, share| Some(most.map_or(share, |most| most.max(share))))
        };
        match (share(Row::bandwidth, |roof| roof.gbps), share(Row::rate, |roof| roof.tflops)) {
            (Some(bytes), Some(flops)) if flops > bytes => Drawn::Flops,
            (Some(_), _) => Drawn::Bandwidth,
            (None, _) => Drawn::Time,
        }
    }

    /// What a time means for a launch.
    fn value(self, row: &Row, us: f64) -> Option<f64> {
        match self {
            Drawn::Time => Some(us),
            Drawn::Bandwidth => Some(row.bytes? / us * 1e6),
            Drawn::Flops => Some(row.flops? / us * 1e6),
        }
        .filter(|value| value.is_finite() && *value > 0.0)
    }

    fn roof(self, roof: &Roof) -> Option<(f64, String)> {
        match self {
            Drawn::Time => None,
            Drawn::Bandwidth => Some((roof.gbps * 1e9, format!("DRAM {}B/s ({})", si(roof.gbps * 1e9), roof.source))),
            Drawn::Flops => {
                Some((roof.tflops * 1e12, format!("{} {}FLOP/s ({})", roof.unit, si(roof.tflops * 1e12), roof.source)))
            }
        }
    }

    fn name(self) -> &'static str {
        match self {
            Drawn::Time => "Time",
            Drawn::Bandwidth => "Bandwidth of DRAM",
            Drawn::Flops => "FLOP/s",
        }
    }

    fn shown(self, value: f64) -> String {
        match self {
            Drawn::Time if value < 1e3 => format!("{} µs", plain(value)),
            Drawn::Time => format!("{} ms", plain(value / 1e3)),
            Drawn::Bandwidth => format!("{}B/s", si(value)),
            Drawn::Flops => format!("{}FLOP/s", si(value)),
        }
    }
}

impl Drawn {
    /// A measured figure; the bytes and FLOP in a rate are the model's.
    fn figure(self, value: f64) -> String {
        format!("{}{}", if self == Drawn::Time { "" } else { "~" }, self.shown(value))
    }
}

/// `0.5`, `20`
fn plain(value: f64) -> String {
    let digits = if value >= 99.95 {
        0
    } else if value >= 9.995 {
        1
    } else {
        2
    };
    let text = format!("{value:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// One line: a launch, or the same of something else.
struct Series<'r> {
    name: String,
    /// Ours.
    is_own: bool,
    rows: Vec<&'r Row>,
    /// Size, median, and the fifths below and above, in the unit of the axis.
    points: Vec<(f64, f64, (f64, f64))>,
}

/// `None`: nothing that was timed has a size, or what is to be drawn is not known of it.
pub fn chart(file: &str, rows: &[Row], drawn: Option<Drawn>) -> Option<Chart> {
    let swept: Vec<&Row> = rows.iter().filter(|row| row.size.is_some() && row.timing.is_some()).collect();
    let size = &swept.first()?.size.as_ref()?.name;
    let drawn = drawn.unwrap_or_else(|| Drawn::of(&swept));
    let series = series(&swept, drawn);
    let values = || series.iter().flat_map(|one| &one.points);
    let (low, high) = values().fold((f64::MAX, 0f64), |(low, high), (_, _, (a, b))| (low.min(*a), high.max(*b)));
    if high <= 0.0 {
        return None;
    }
    let mut roofs: Vec<(f64, String, &str)> = Vec::new();
    for roof in swept.iter().filter_map(|row| row.roof.as_ref()) {
        if let Some((value, label)) = drawn.roof(roof).filter(|(_, label)| roofs.iter().all(|(_, known, _)| known != label)) {
            roofs.push((value, label, &roof.source));
        }
    }
    let high = roofs.iter().fold(high, |high, (value, ..)| high.max(*value));
    let sizes: Vec<i64> = {
        let mut all: Vec<i64> = swept.iter().filter_map(|row| Some(row.size.as_ref()?.value)).collect();
        all.sort_unstable();
        all.dedup();
        all
    };
    let (first, last) = (*sizes.first()? as f64, *sizes.last()? as f64);
    // So that the labels of both ends have room.
    let margin = (last / first).max(2.0).powf(0.04);
    let (left, right) = (first / margin, last * margin);
    let ticks = ticks(low, high);
    let bottom = ticks.first().map_or(low, |tick| tick.min(low));
    let top = ticks.last().map_or(high, |tick| tick.max(high));
    let devices: Vec<&str> = swept.iter().map(|row| row.device.as_str()).collect();
    let device = devices.first().copied().unwrap_or_default();
    let legend = legend(&series, drawn, &roofs);
    let below: Vec<(&str, Vec<String>)> = legend
        .iter()
        .enumerate()
        .map(
            |(index, line)| {
                if index < series.len() { ("", wrapped(line, LETTERS)) } else { ("small", wrapped(line, SMALL_LETTERS)) }
            },
        )
        .collect();
    let lines = below.iter().map(|(_, lines)| lines.len()).sum();
    let title = format!("{} over {size} on {device}", drawn.name());
    let mut plot = Plot::new(
        &format!("{title}: {file}"),
        &title,
        file,
        lines,
        Scale::across(left.log10(), right.log10()),
        Scale::up(bottom.log10(), top.log10()),
    );
    let label = |value: i64| (value as f64, value.to_string());
    // As many as can stand side by side.
    let step = sizes.len().div_ceil(12);
    let xs: Vec<(f64, String)> = sizes.iter().step_by(step).copied().map(label).collect();
    let ys: Vec<(f64, String)> = ticks.iter().map(|&tick| (tick, drawn.shown(tick))).collect();
    plot.axes(&xs, &ys, size);
    for (value, label, source) in &roofs {
        plot.line(&format!("roof {source}"), [(left, *value), (right, *value)].into_iter());
        plot.roof_label(*value, source, label);
    }
    for (index, one) in series.iter().enumerate() {
        let class = if one.is_own { "own" } else { "other" };
        let predicted = one
            .rows
            .iter()
            .filter(|_| one.is_own)
            .filter_map(|row| Some((row.size.as_ref()?.value as f64, drawn.value(row, row.predicted_us?)?)));
        let predicted: Vec<(f64, f64)> = predicted.collect();
        if !predicted.is_empty() {
            plot.line("predicted", predicted.into_iter());
        }
        plot.line(class, one.points.iter().map(|(x, y, _)| (*x, *y)));
        for (x, y, (a, b)) in &one.points {
            plot.line(class, [(*x, *a), (*x, *b)].into_iter());
            let title = format!("{}, {size} = {x}: {}", one.name, drawn.figure(*y));
            let class = if one.is_own { "point" } else { "point other" };
            plot.mark(class, "", &title, (*x, *y), index + 1);
        }
    }
    let mut text = format!("{title}: {file}\n");
    for one in &series {
        let _ = writeln!(text, "{}", one.name);
        for (x, y, (a, b)) in &one.points {
            let _ = writeln!(text, "  {size} = {x}: {} ({} to {})", drawn.figure(*y), drawn.figure(*a), drawn.figure(*b));
        }
    }
    Some(Chart { title, svg: plot.finish(&below), text })
}

/// The fastest row of each launch and size, and what it is held against.
fn series<'r>(rows: &[&'r Row], drawn: Drawn) -> Vec<Series<'r>> {
    let us = |row: &Row| row.timing.map_or(f64::INFINITY, |timing| timing.median_us());
    let mut launches: Vec<(&str, &str)> = Vec::new();
    for row in rows {
        let one = (row.kernel.as_str(), row.launch.as_str());
        if !launches.contains(&one) {
            launches.push(one);
        }
    }
    let mut out = Vec::new();
    for (kernel, launch) in launches {
        let mut best: Vec<&Row> = Vec::new();
        for row in rows.iter().filter(|row| (row.kernel.as_str(), row.launch.as_str()) == (kernel, launch)) {
            match best.iter_mut().find(|known| known.size == row.size) {
                Some(known) if us(row) < us(known) => *known = row,
                Some(_) => {}
                None => best.push(row),
            }
        }
        best.sort_by_key(|row| row.size.as_ref().map(|size| size.value));
        let is_tuned = best.iter().any(|row| row.config.is_some());
        let name = if kernel == launch { kernel.to_owned() } else { format!("{kernel} {launch}") };
        let name = if is_tuned { format!("{name}, the fastest row of its tuner") } else { name };
        let points = |time: &dyn Fn(&Row) -> Option<crate::bench::Spread>| -> Vec<(f64, f64, (f64, f64))> {
            let point = |row: &&Row| {
                let time = time(row)?;
                let (a, b) = (drawn.value(row, time.p20_us)?, drawn.value(row, time.p80_us)?);
                Some((row.size.as_ref()?.value as f64, drawn.value(row, time.median_us)?, (a.min(b), a.max(b))))
            };
            best.iter().filter_map(point).collect()
        };
        let own = points(&|row| row.timing.map(|timing| timing.cold.unwrap_or(timing.warm)));
        if !own.is_empty() {
            out.push(Series { name: name.clone(), is_own: true, rows: best.clone(), points: own });
        }
        for what in held_against(best.iter().copied()) {
            let other = points(&|row| row.held_against(what).map(|against| against.time));
            if !other.is_empty() {
                out.push(Series { name: format!("{name}: {what}"), is_own: false, rows: best.clone(), points: other });
            }
        }
    }
    out
}

/// A line for each series, and what the lines mean.
fn legend(series: &[Series<'_>], drawn: Drawn, roofs: &[(f64, String, &str)]) -> Vec<String> {
    let one = |(index, one): (usize, &Series<'_>)| {
        let most = one.points.iter().map(|(_, value, _)| *value).fold(0f64, f64::max);
        let share = |(roof, label, _): &(f64, String, &str)| format!("{:.0} % of {label}", 100.0 * most / roof);
        let shares = roofs.iter().map(share).collect::<Vec<_>>().join(", ");
        let shares = if shares.is_empty() { shares } else { format!(": at most {}, {shares}", drawn.figure(most)) };
        format!("{}  {}{shares}", index + 1, one.name)
    };
    let mut out: Vec<String> = series.iter().enumerate().map(one).collect();
    let is_cold = series.iter().flat_map(|one| &one.rows).any(|row| row.timing.is_some_and(|timing| timing.cold.is_some()));
    let cold = if is_cold { "with nothing of the launch in L2" } else { "one launch after the other" };
    let rates = match drawn {
        Drawn::Time => String::new(),
        Drawn::Bandwidth => "; bytes of DRAM in the rates are estimated (~)".to_owned(),
        Drawn::Flops => "; FLOP in the rates are the useful ones, estimated (~)".to_owned(),
    };
    out.push(format!("Measured: medians {cold}; bars reach from the 20th to the 80th percentile{rates}."));
    if series.iter().flat_map(|one| &one.rows).any(|row| row.predicted_us.is_some()) {
        out.push("Dotted: what the model predicts for a cold L2 (estimated).".to_owned());
    }
    out
}

/// Round values from below the least to above the most: 1, 2 and 5 of each decade, or the decades alone where there are many.
fn ticks(low: f64, high: f64) -> Vec<f64> {
    let (from, to) = (low.log10().floor() as i32, high.log10().ceil() as i32);
    let steps: &[f64] = if to - from <= 3 { &[1.0, 2.0, 5.0] } else { &[1.0] };
    let all: Vec<f64> = (from..=to).flat_map(|decade| steps.iter().map(move |step| step * 10f64.powi(decade))).collect();
    let first = all.iter().rposition(|&tick| tick <= low).unwrap_or(0);
    let last = all.iter().position(|&tick| tick >= high).unwrap_or(all.len().saturating_sub(1));
    all[first..=last.max(first)].to_vec()
}
