// Feature: History of measurements
//
//! What launches took and how far they were off, time after time: kept when they are timed or run, shown where the kernel is hovered over.

use std::{
    path::Path,
    time::{SystemTime, UNIX_EPOCH},
};

use tritium_runtime::{
    history::{self, Entry},
    run::Report,
};

use tritium_codegen as codegen;
use tritium_semantics::configuration::Configuration;

use crate::{Analysis, bench::Row};

/// Bars of a sparkline, from the least to the most.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// As many of the newest are shown.
const SHOWN: usize = 16;
/// Of those as many in numbers.
const IN_NUMBERS: usize = 4;

/// Keeps what was measured of a file's launches.
pub fn keep_times(path: &Path, rows: &[Row]) {
    let now = Entry::now(path);
    let entry = |row: &Row| {
        let time = row.timing.map(|timing| timing.cold.unwrap_or(timing.warm))?;
        Some(Entry {
            time: Some(time),
            registers: row.registers,
            code: row.code.clone(),
            ..now(&row.kernel, row.name(), &row.device)
        })
    };
    history::add(path, rows.iter().filter_map(entry).collect());
}

/// Keeps how far the results of a file's launches were off.
pub fn keep_errors(path: &Path, report: &Report) {
    let now = Entry::now(path);
    let compared = report.launches.iter().filter(|launch| !launch.comparisons.is_empty());
    let entry = |launch: &tritium_runtime::run::LaunchReport| {
        let errors = launch.comparisons.iter().map(|comparison| comparison.error);
        let error = errors.fold(0.0, |a: f64, b| if b.is_nan() { f64::INFINITY } else { a.max(b) });
        let ok = launch.fault.is_none() && launch.comparisons.iter().all(|comparison| comparison.ok);
        Entry { error: error.is_finite().then_some(error), ok, ..now(&launch.kernel, launch.id(), &launch.device) }
    };
    history::add(path, compared.map(entry).collect());
}

impl Analysis {
    /// Of the code that a launch runs and of the work it does: another one is another measurement, though the launch's name be the same.
    pub(crate) fn mark(&self, active: Configuration) -> Option<String> {
        let (db, launch) = (self.db(), active.launch(self.db())?);
        self.complete(active).ok()?;
        let llvm = codegen::llvm_text(db, active.instance, self.compile_options(active)).as_ref().ok()?;
        let tensors: Vec<_> = launch.tensors.iter().map(|tensor| (tensor.dtype, &tensor.shape, &tensor.strides)).collect();
        Some(history::mark(&[&llvm.text, &format!("{:?} {tensors:?} {:?}", launch.grid, launch.args)]))
    }
}

/// Seconds since 1970.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// `12.30 µs (measured on NVIDIA H100, 1a2b3c4, 2 h ago)`
pub(crate) fn told(entry: &Entry, now: u64) -> String {
    let time = entry.time.map_or_else(String::new, |time| format!("{:.2} µs ", time.median_us));
    format!("{time}(measured on {}, {})", entry.device, when(entry, now))
}

/// The times of a launch on a device as bars, newest first; `None` of one alone.
pub(crate) fn bars_of(all: &[Entry], of: &Entry) -> Option<String> {
    let is_of = |entry: &&Entry| (&entry.kernel, &entry.launch, &entry.device) == (&of.kernel, &of.launch, &of.device);
    let times: Vec<f64> = all.iter().rev().filter(is_of).filter_map(|entry| Some(entry.time?.median_us)).take(SHOWN).collect();
    (times.len() > 1).then(|| bars(&times))
}

/// A line for each launch and device of a kernel, and for each of time, error and registers: newest first.
pub(crate) fn lines(all: &[Entry], kernel: &str, now: u64) -> String {
    let all: Vec<&Entry> = all.iter().rev().filter(|entry| entry.kernel == kernel).collect();
    let mut told: Vec<(&str, &str)> = Vec::new();
    for entry in &all {
        let one = (entry.launch.as_str(), entry.device.as_str());
        if !told.contains(&one) {
            told.push(one);
        }
    }
    let mut out = String::new();
    for (launch, device) in told {
        let entries = || all.iter().copied().filter(|entry| (entry.launch.as_str(), entry.device.as_str()) == (launch, device));
        let times = entries().filter_map(|entry| Some((entry, entry.time?.median_us)));
        out += &line(&format!("measured {launch} on {device}"), times.collect(), now, |us| format!("{us:.2} µs"));
        let registers: Vec<(&Entry, f64)> = entries().filter_map(|entry| Some((entry, f64::from(entry.registers?)))).collect();
        if registers.windows(2).any(|pair| pair[0].1 != pair[1].1) {
            out += &line(&format!("registers of {launch} on {device}"), registers, now, |count| format!("{count:.0}"));
        }
        let errors: Vec<(&Entry, f64)> = entries().filter_map(|entry| Some((entry, entry.error?))).collect();
        if errors.len() > 1 {
            out += &line(&format!("error of {launch} on {device}"), errors, now, error_words);
        }
    }
    out
}

/// `- measured rows on H100: ▃▃█ 12.30 µs (1a2b3c4, 2 h ago), 12.41 µs (0d695a7, 3 d ago)`, newest first.
fn line(title: &str, values: Vec<(&Entry, f64)>, now: u64, shown: impl Fn(f64) -> String) -> String {
    if values.is_empty() {
        return String::new();
    }
    let values = &values[..values.len().min(SHOWN)];
    let spark = if values.len() > 1 { bars(&values.iter().map(|(_, value)| *value).collect::<Vec<_>>()) } else { String::new() };
    let number = |(entry, value): &(&Entry, f64)| format!("{} ({})", shown(*value), when(entry, now));
    let numbers: Vec<String> = values.iter().take(IN_NUMBERS).map(number).collect();
    let spark = if spark.is_empty() { spark } else { format!("`{spark}` ") };
    format!("- {title}: {spark}{}\n", numbers.join(", "))
}

fn bars(values: &[f64]) -> String {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(0.0, f64::max);
    // What differs by little looks even: the lowest bar is 0, or half of the most.
    let floor = if least >= most / 2.0 { most / 2.0 } else { 0.0 };
    let bar = |value: &f64| {
        let share = if most > floor { (value - floor) / (most - floor) } else { 0.0 };
        BARS[((share * 7.0).round() as usize).min(7)]
    };
    values.iter().map(bar).collect()
}

/// `0`, `2.0e-7`
pub(crate) fn error_words(error: f64) -> String {
    if error == 0.0 { "0".to_owned() } else { format!("{error:.1e}") }
}

/// `1a2b3c4, 2 h ago`
fn when(entry: &Entry, now: u64) -> String {
    let commit = entry.commit.as_ref().map(|commit| format!("{commit}, ")).unwrap_or_default();
    format!("{commit}{}", age(now.saturating_sub(entry.at)))
}

pub(crate) fn age(seconds: u64) -> String {
    match seconds {
        0..60 => "just now".to_owned(),
        60..3_600 => format!("{} min ago", seconds / 60),
        3_600..86_400 => format!("{} h ago", seconds / 3_600),
        _ => format!("{} d ago", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use tritium_runtime::timing::Spread;

    use super::*;

    #[test]
    fn the_newest_come_first() {
        let now = 1_000_000;
        let entry = |ago: u64, launch: &str, us: f64, registers: u32, error: Option<f64>| Entry {
            at: now - ago,
            commit: (ago > 100).then(|| "1a2b3c4".to_owned()),
            kernel: "k".to_owned(),
            launch: launch.to_owned(),
            device: "H100".to_owned(),
            time: error.is_none().then_some(Spread { median_us: us, p20_us: us, p80_us: us, samples: 9 }),
            error,
            ok: true,
            registers: error.is_none().then_some(registers),
            code: None,
        };
        let all = [
            entry(200_000, "rows", 20.0, 40, None),
            entry(90_000, "rows", 12.0, 32, None),
            entry(8_000, "rows", 12.5, 32, None),
            entry(7_000, "rows", 0.0, 0, Some(2e-7)),
            entry(6_000, "rows", 0.0, 0, Some(0.0)),
            entry(500, "other", 3.0, 16, None),
            entry(5, "rows", 11.0, 32, None),
            Entry { kernel: "another".to_owned(), ..entry(1, "rows", 1.0, 1, None) },
        ];
        expect![[r#"
            - measured rows on H100: `▂▃▂█` 11.00 µs (just now), 12.50 µs (1a2b3c4, 2 h ago), 12.00 µs (1a2b3c4, 1 d ago), 20.00 µs (1a2b3c4, 2 d ago)
            - registers of rows on H100: `▅▅▅█` 32 (just now), 32 (1a2b3c4, 2 h ago), 32 (1a2b3c4, 1 d ago), 40 (1a2b3c4, 2 d ago)
            - error of rows on H100: `▁█` 0 (1a2b3c4, 1 h ago), 2.0e-7 (1a2b3c4, 1 h ago)
            - measured other on H100: 3.00 µs (1a2b3c4, 8 min ago)
        "#]]
        .assert_eq(&lines(&all, "k", now));
        // Beside what was measured last; one run alone has no bars.
        assert_eq!(bars_of(&all, &all[6]).as_deref(), Some("▂▃▂█"));
        assert_eq!(bars_of(&all, &all[5]), None);
    }
}
