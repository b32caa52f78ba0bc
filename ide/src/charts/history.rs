//! What launches of a kernel were measured at, run after run: times, errors, registers, one panel each where there is any.
//!
//! **Invariant:** a point is one measurement and stands over its run; runs stand side by side in their order, however long lies between them.

use std::fmt::Write as _;

use tritium_runtime::history::Entry;

use super::{Chart, Svg, wrapped};
use crate::history::{age, error_words};

const WIDTH: f64 = 720.0;
const PLOT: f64 = 150.0;
const LEFT: f64 = 76.0;
const RIGHT: f64 = 24.0;
/// Above the first panel, and from the end of one to the begin of the next.
const TOP: f64 = 84.0;
const BETWEEN: f64 = 62.0;
const LINE: f64 = 18.0;
/// As many launches as there are colours: the last that were measured.
const MAX_SERIES: usize = 6;
/// Labels that stand side by side below a panel.
const MAX_LABELS: usize = 8;
/// Letters of a line of the legend.
const LETTERS: usize = 100;
/// In place of an error of 0, which no logarithm has: below all others.
const NO_ERROR: f64 = 1e-30;
/// What no measurement reaches.
const MOST: f64 = 1e30;
/// Where no error is any other.
const SMALL_ERROR: f64 = 1e-8;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Measure {
    Time,
    Registers,
    Error,
}

const MEASURES: [Measure; 3] = [Measure::Time, Measure::Registers, Measure::Error];

impl Measure {
    fn name(self) -> &'static str {
        match self {
            Measure::Time => "Time of a launch: medians, bars from the 20th to the 80th percentile (measured)",
            Measure::Registers => "Registers of a thread (exact)",
            Measure::Error => "Largest relative error of what was compared (measured); a ring: too large",
        }
    }

    /// What is drawn, and the spread around it. An error that is no number stands above all.
    fn of(self, entry: &Entry) -> Option<(f64, (f64, f64))> {
        let one = |value: f64| (value, (value, value));
        match self {
            Measure::Time => entry.time.map(|time| (time.median_us, (time.p20_us, time.p80_us))),
            Measure::Registers => entry.registers.map(|count| one(f64::from(count))),
            Measure::Error if entry.time.is_some() => None,
            Measure::Error => Some(one(entry.error.unwrap_or(f64::INFINITY).max(NO_ERROR))),
        }
    }

    fn words(self, value: f64) -> String {
        match self {
            Measure::Time if value >= 1e3 => format!("{:.2} ms", value / 1e3),
            Measure::Time => format!("{value:.2} µs"),
            Measure::Registers => format!("{value:.0}"),
            Measure::Error if value.is_infinite() => "not finite".to_owned(),
            Measure::Error => error_words(if value <= NO_ERROR { 0.0 } else { value }),
        }
    }
}

/// The measurements of one launch on one device, oldest first.
struct Series<'e> {
    name: String,
    entries: Vec<&'e Entry>,
}

/// From the least to the most of a measure: places between 0 and 1, and round values to label.
struct Axis {
    low: f64,
    high: f64,
    is_log: bool,
    ticks: Vec<f64>,
}

impl Axis {
    fn of(measure: Measure, values: &[f64]) -> Axis {
        // What is beyond stays at the ends.
        let usual = values.iter().copied().filter(|value| (NO_ERROR..MOST).contains(value) && *value > NO_ERROR);
        let (low, high) = usual.fold((f64::MAX, 0.0f64), |(low, high), value| (low.min(value), high.max(value)));
        let (low, high) = if low > high { (SMALL_ERROR, SMALL_ERROR) } else { (low, high) };
        match measure {
            Measure::Error => {
                let (first, last) = (low.log10().floor(), high.log10().ceil().max(low.log10().floor() + 1.0));
                let step = ((last - first) / 4.0).ceil();
                let decades = (0..=4).map(|nth| first + step * f64::from(nth)).take_while(|tick| *tick <= last);
                let mut ticks: Vec<f64> = decades.map(|tick| 10f64.powf(tick)).collect();
                // Below stands 0, above what is no number.
                let has = |is_it: fn(&f64) -> bool| values.iter().any(is_it);
                let (mut low, mut high) = (first, last);
                if has(|value| *value <= NO_ERROR) {
                    low -= step;
                    ticks.insert(0, NO_ERROR);
                }
                if has(|value| value.is_infinite()) {
                    high += step;
                    ticks.push(f64::INFINITY);
                }
                Axis { low, high, is_log: true, ticks }
            }
            Measure::Time if high > 10.0 * low && low > 0.0 => {
                let (from, to) = (low.log10().floor(), high.log10().ceil());
                let decades = (0..=(to - from) as i32).map(|nth| 10f64.powf(from + f64::from(nth)));
                Axis { low: from, high: to, is_log: true, ticks: decades.collect() }
            }
            _ => {
                // What differs by little looks even.
                let least = if measure == Measure::Registers { 16.0 } else { 0.2 * high };
                let room = ((least - (high - low)) / 2.0).max(0.08 * (high - low));
                let (low, high) = ((low - room).max(0.0), high + room);
                let step = round_step((high - low) / 4.0);
                let step = if measure == Measure::Registers { step.max(1.0).round() } else { step };
                let (first, last) = ((low / step).floor() as i64, (high / step).ceil() as i64);
                let ticks: Vec<f64> = (first..=last).map(|nth| nth as f64 * step).collect();
                Axis { low: first as f64 * step, high: last as f64 * step, is_log: false, ticks }
            }
        }
    }

    fn share(&self, value: f64) -> f64 {
        let value = if self.is_log { value.max(f64::MIN_POSITIVE).log10() } else { value };
        ((value - self.low) / (self.high - self.low).max(f64::MIN_POSITIVE)).clamp(0.0, 1.0)
    }
}

/// 1, 2 or 5 of a decade, at least as much.
fn round_step(step: f64) -> f64 {
    let decade = 10f64.powf(step.max(1e-12).log10().floor());
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|times| times * decade).find(|round| *round >= step * 0.999).unwrap_or(step)
}

/// `None`: nothing was measured of the kernel.
pub fn chart(kernel: &str, all: &[Entry], now: u64) -> Option<Chart> {
    let of_kernel: Vec<&Entry> = all.iter().filter(|entry| entry.kernel == kernel).collect();
    let (series, left_out) = series(&of_kernel);
    let shown = || series.iter().flat_map(|one| one.entries.iter().copied());
    let mut runs: Vec<u64> = shown().map(|entry| entry.at).collect();
    runs.sort_unstable();
    runs.dedup();
    runs.first()?;
    let measures: Vec<Measure> =
        MEASURES.into_iter().filter(|measure| shown().any(|entry| measure.of(entry).is_some())).collect();
    let title = format!("{kernel} · History");
    let times = if runs.len() == 1 {
        "1 run".to_owned()
    } else {
        format!("{} runs, the newest on the right; below, the newest and, in brackets, the least and the most", runs.len())
    };
    let mut legend: Vec<(Option<usize>, String)> = Vec::new();
    for (index, one) in series.iter().enumerate() {
        let lines = wrapped(&format!("{}: {}", one.name, summary(one)), LETTERS);
        legend.extend(lines.into_iter().enumerate().map(|(nth, line)| ((nth == 0).then_some(index), line)));
    }
    if left_out > 0 {
        legend.push((None, format!("{left_out} more that were measured longer ago are not drawn.")));
    }
    let each = PLOT + BETWEEN;
    let height = TOP + each * measures.len() as f64 + LINE * legend.len() as f64 + 4.0;
    let mut svg = Svg::new(WIDTH, height, &title);
    svg.text(12.0, 22.0, "title", &title);
    svg.text(12.0, 42.0, "", &times);
    for (nth, &measure) in measures.iter().enumerate() {
        panel(&mut svg, measure, &series, &runs, now, TOP + each * nth as f64);
    }
    let mut y = TOP + each * measures.len() as f64 - 8.0;
    for (series, line) in &legend {
        if let Some(index) = series {
            svg.circle((18.0, y - 4.0), 5.0, &format!("dot c{index}"), "");
        }
        svg.text(32.0, y, "", line);
        y += LINE;
    }
    let mut text = format!("{title}\n{times}\n");
    for one in &series {
        let _ = writeln!(text, "\n{}", one.name);
        for entry in one.entries.iter().rev() {
            let of = |measure: Measure| {
                let (value, (low, high)) = measure.of(entry)?;
                let spread = format!(" ({} to {})", measure.words(low), measure.words(high));
                Some(match measure {
                    Measure::Time => measure.words(value) + &spread,
                    Measure::Registers => format!("{value:.0} registers"),
                    Measure::Error => {
                        format!("error {}{}", measure.words(value), if entry.ok { "" } else { ", too large" })
                    }
                })
            };
            let told: Vec<String> = MEASURES.into_iter().filter_map(of).collect();
            let commit = entry.commit.as_deref().unwrap_or("-");
            let _ = writeln!(text, "  {commit:<9} {:>12}  {}", age(now.saturating_sub(entry.at)), told.join(", "));
        }
    }
    if left_out > 0 {
        let _ = writeln!(text, "\n{left_out} more that were measured longer ago are left out.");
    }
    Some(Chart { title, svg: svg.finish(), text })
}

/// The last that were measured come first; and how many are left out.
fn series<'e>(all: &[&'e Entry]) -> (Vec<Series<'e>>, usize) {
    let mut keys: Vec<(&str, &str)> = Vec::new();
    for entry in all.iter().rev() {
        let key = (entry.launch.as_str(), entry.device.as_str());
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    let left_out = keys.len().saturating_sub(MAX_SERIES);
    let one = |(launch, device): (&str, &str)| {
        let is_of = |entry: &&&Entry| (entry.launch.as_str(), entry.device.as_str()) == (launch, device);
        Series { name: format!("{launch} on {device}"), entries: all.iter().filter(is_of).copied().collect() }
    };
    (keys.into_iter().take(MAX_SERIES).map(one).collect(), left_out)
}

/// `12.30 µs (11.90 µs to 20.10 µs), 32 registers, error 0 (0 to 2.0e-7)`: of the newest run, and of all.
fn summary(one: &Series<'_>) -> String {
    let of = |measure: Measure| {
        let values: Vec<f64> = one.entries.iter().filter_map(|entry| Some(measure.of(entry)?.0)).collect();
        let last = measure.words(*values.last()?);
        let (low, high) = values.iter().fold((f64::INFINITY, 0.0f64), |(low, high), &value| (low.min(value), high.max(value)));
        let last = match measure {
            Measure::Time => last,
            Measure::Registers => format!("{last} registers"),
            Measure::Error => format!("error {last}"),
        };
        let range = format!(" ({} to {})", measure.words(low), measure.words(high));
        Some(if low == high { last } else { last + &range })
    };
    MEASURES.into_iter().filter_map(of).collect::<Vec<_>>().join(", ")
}

fn panel(svg: &mut Svg, measure: Measure, series: &[Series<'_>], runs: &[u64], now: u64, top: f64) {
    let (right, bottom) = (WIDTH - RIGHT, top + PLOT);
    let all = series.iter().flat_map(|one| &one.entries);
    let values: Vec<f64> = all.clone().filter_map(|entry| measure.of(entry)).flat_map(|(value, (a, b))| [value, a, b]).collect();
    let axis = Axis::of(measure, &values);
    let x = |at: u64| {
        let nth = runs.iter().position(|run| *run == at).unwrap_or(0) as f64;
        LEFT + (right - LEFT) * (nth + 0.5) / runs.len() as f64
    };
    let y = |value: f64| bottom - PLOT * axis.share(value);
    svg.text(12.0, top - 14.0, "", measure.name());
    for &tick in &axis.ticks {
        svg.line((LEFT, y(tick)), (right, y(tick)), "grid");
        let words = match measure {
            Measure::Time if tick >= 1e3 => format!("{} ms", tick / 1e3),
            Measure::Time => format!("{} µs", (tick * 1e6).round() / 1e6),
            Measure::Error if tick.is_finite() && tick > NO_ERROR => format!("1e{:.0}", tick.log10()),
            _ => measure.words(tick),
        };
        svg.text(LEFT - 6.0, y(tick) + 4.0, "faint end", &words);
    }
    let step = runs.len().div_ceil(MAX_LABELS);
    // From the newest on, which always has its own.
    for &at in runs.iter().rev().step_by(step) {
        let commit = all.clone().find(|entry| entry.at == at).and_then(|entry| entry.commit.as_deref());
        svg.text(x(at), bottom + 15.0, "faint middle", commit.unwrap_or("no commit"));
        svg.text(x(at), bottom + 29.0, "faint middle", &age(now.saturating_sub(at)));
    }
    for (index, one) in series.iter().enumerate() {
        let points: Vec<(&Entry, f64, (f64, f64))> =
            one.entries.iter().filter_map(|entry| measure.of(entry).map(|(value, spread)| (*entry, value, spread))).collect();
        let curve: Vec<(f64, f64)> = points.iter().map(|(entry, value, _)| (x(entry.at), y(*value))).collect();
        svg.path(&curve, &format!("curve c{index}"));
        for (entry, value, (low, high)) in points {
            let at = (x(entry.at), y(value));
            if low < high {
                svg.line((at.0, y(low)), (at.0, y(high)), &format!("curve c{index}"));
            }
            let commit = entry.commit.as_ref().map(|commit| format!("{commit}, ")).unwrap_or_default();
            let about = format!("{}: {} ({commit}{})", one.name, measure.words(value), age(now.saturating_sub(entry.at)));
            svg.circle(at, 4.0, &format!("dot c{index}"), &about);
            if measure == Measure::Error && !entry.ok {
                svg.circle(at, 7.0, "ring", &about);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect_file;
    use tritium_runtime::timing::Spread;

    use super::*;

    const NOW: u64 = 1_000_000;

    fn entry(ago: u64, launch: &str) -> Entry {
        Entry {
            at: NOW - ago,
            commit: (ago > 100).then(|| format!("{ago:07x}")),
            kernel: "add".to_owned(),
            launch: launch.to_owned(),
            device: "NVIDIA <H100>".to_owned(),
            time: None,
            error: None,
            ok: true,
            registers: None,
            code: None,
        }
    }

    fn timed(ago: u64, launch: &str, us: f64, registers: u32) -> Entry {
        let time = Spread { median_us: us, p20_us: 0.98 * us, p80_us: 1.03 * us, samples: 60 };
        Entry { time: Some(time), registers: Some(registers), ..entry(ago, launch) }
    }

    fn compared(ago: u64, error: Option<f64>, ok: bool) -> Entry {
        Entry { error, ok, ..entry(ago, "rows") }
    }

    /// Runs stand in their order; a wrong result has a ring, one that is no number stands above all, and 0 below.
    #[test]
    fn a_history_is_a_picture_and_a_list() {
        let all = [
            timed(400_000, "rows", 20.0, 40),
            timed(200_000, "rows", 12.0, 32),
            timed(200_000, "odd", 13.0, 32),
            compared(150_000, Some(2e-7), true),
            compared(140_000, Some(0.0), true),
            compared(130_000, Some(0.25), false),
            compared(120_000, None, false),
            timed(7_000, "rows", 11.5, 32),
            timed(5, "odd", 13.2, 36),
            Entry { kernel: "another".to_owned(), ..timed(1, "rows", 1.0, 1) },
        ];
        let drawn = chart("add", &all, NOW).expect("a chart");
        expect_file!["../tests/history.svg"].assert_eq(&drawn.svg);
        expect_file!["../tests/history.txt"].assert_eq(&drawn.text);
        assert!(chart("none", &all, NOW).is_none());
    }

    /// Whatever was kept, every place is a number within the picture.
    #[test]
    fn odd_figures_have_places() {
        let of = |us: f64| timed(9, "rows", us, 0);
        for all in [
            vec![of(0.0)],
            vec![of(1e-9), of(1e12)],
            vec![of(f64::MAX), of(f64::MIN_POSITIVE)],
            vec![compared(9, Some(0.0), true)],
            vec![compared(9, None, false)],
            vec![compared(9, Some(1e300), true), compared(8, Some(1e-300), true)],
        ] {
            let svg = chart("add", &all, NOW).expect("a chart").svg;
            assert!(!svg.contains("NaN") && !svg.contains("inf\""), "{svg}");
        }
        let many: Vec<Entry> = (0..9).map(|nth| timed(9, &format!("rows{nth}"), 5.0, 32)).collect();
        assert!(
            chart("add", &many, NOW).expect("a chart").text.ends_with("\n3 more that were measured longer ago are left out.\n")
        );
    }
}
