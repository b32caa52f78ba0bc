//! `tritium stats`.

use std::{io::IsTerminal as _, path::PathBuf, process::ExitCode};

use indicatif::{ProgressBar, ProgressStyle};
use tritium_ide::{Host, batch::Through, stats::Stats};

use crate::{
    args::TextFormat,
    session::{self, Failure},
};

pub(crate) fn stats(mut host: Host, paths: &[PathBuf], through: Through, format: TextFormat) -> Result<ExitCode, Failure> {
    let (files, mut failures) = session::python_files(&host, paths)?;
    let bar = if std::io::stderr().is_terminal() { ProgressBar::new(files.len() as u64) } else { ProgressBar::hidden() };
    if let Ok(style) = ProgressStyle::with_template("{bar:40} {pos}/{len} {msg}") {
        bar.set_style(style);
    }
    let mut stats = Stats { version: 1, ..Stats::default() };
    let pool = session::pool()?;
    session::find_callers(&mut host, &files, paths, &pool);
    for path in &files {
        bar.set_message(path.display().to_string());
        if let Some(analysis) = failures.keep(session::readable(&host, path)) {
            analysis.count(path, through, &mut stats);
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    failures.unless_all(stats.files)?;
    stats.peak_rss_mb = peak_rss_mb();
    match format {
        TextFormat::Json => session::print(&session::pretty(&stats))?,
        TextFormat::Text => session::print(&text(&stats))?,
    }
    Ok(failures.tell(if stats.panics == 0 { ExitCode::SUCCESS } else { ExitCode::from(1) }))
}

fn text(stats: &Stats) -> String {
    let share = |part: usize, whole: usize| if whole == 0 { 0.0 } else { 100.0 * part as f64 / whole as f64 };
    let reached = stats.expressions - stats.unreached;
    let (elaborated, compiled) = (share(stats.elaborated, stats.kernels), share(stats.compiled, stats.kernels));
    let whole = share(stats.elaborated, stats.kernels - stats.wrong - stats.other_devices);
    let (typed, ms) = (share(stats.typed_expressions, reached), &stats.ms);
    let launches = &stats.launches;
    let free = share(launches.whole + launches.arguments + launches.free, launches.all);
    let asked = share(launches.whole + launches.arguments + launches.free + launches.of_kernel, launches.all);
    let unchecked: Vec<String> = stats.unchecked.iter().map(|(why, count)| format!("{why} {count}")).collect();
    let mut out = [
        format!("files               {:>8}  ({} with syntax errors)\n", stats.files, stats.parse_errors),
        format!("kernels, helpers    {:>8}  {}\n", stats.kernels, stats.helpers),
        format!("not checked         {:>8}  {}\n", stats.unchecked.values().sum::<usize>(), unchecked.join(", ")),
        format!("elaborated          {:>8}  {elaborated:.1} %, {whole:.1} % without the next two\n", stats.elaborated),
        format!("  wrong             {:>8}  with an error of their own, whatever they are given\n", stats.wrong),
        format!("  other devices     {:>8}  with what no Triton for NVIDIA has or takes\n", stats.other_devices),
        format!("compiled            {:>8}  {compiled:.1} %\n", stats.compiled),
        format!("autotuned           {:>8}  {} with known configurations\n", stats.tuned, stats.tuned_known),
        format!("launches            {:>8}  of at least one argument the type is known: {}\n", launches.all, launches.some_type),
        format!("  whole             {:>8}\n", launches.whole),
        format!("  but the grid      {:>8}\n", launches.arguments),
        format!("  but values        {:>8}\n", launches.but_values),
        format!("  but element types {:>8}\n", launches.but_element_types),
        format!("  but kinds         {:>8}  of some argument nothing but its use is known\n", launches.but_kinds),
        format!("  unknown           {:>8}\n", launches.unknown),
        format!("  free names        {:>8}  {free:.1} % are whole, or would be with the defaults of free names\n", launches.free),
        format!(
            "  of the kernel     {:>8}  {asked:.1} % with those whose kernels' own parameters are asked for\n",
            launches.of_kernel
        ),
        format!("expressions         {:>8}  {} not reached\n", stats.expressions, stats.unreached),
        format!("  typed             {:>8}  {typed:.1} % of those reached\n", stats.typed_expressions),
        format!("panics              {:>8}\n", stats.panics),
        format!("ms: parse {:.0}, elaborate {:.0}, optimise {:.0}, llvm {:.0}\n", ms.parse, ms.elaborate, ms.optimise, ms.llvm),
    ]
    .concat();
    let mut stopped: Vec<(&String, &usize)> = launches.stopped.iter().collect();
    stopped.sort_by_key(|(why, count)| (std::cmp::Reverse(**count), *why));
    for (why, count) in stopped {
        out += &format!("stopped {count:>4}  {why}\n");
    }
    for row in stats.rows.iter().filter(|row| !row.reason.is_empty()) {
        out += &format!("{} {}: {} {}\n", row.status, row.file, row.kernel, row.reason);
    }
    out
}

/// The kernel's own account of this process, where there is one.
fn peak_rss_mb() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse::<f64>().ok().map(|kib| kib / 1024.0)
}
