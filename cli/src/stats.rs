//! `tritium stats`.

use std::{io::IsTerminal as _, path::PathBuf, process::ExitCode};

use indicatif::{ProgressBar, ProgressStyle};
use tritium_lsp::ide::{Host, stats::Stats};

use crate::{
    args::{TextFormat, Through},
    session::{self, Failure},
};

pub(crate) fn stats(host: &Host, paths: &[PathBuf], through: Through, format: TextFormat) -> Result<ExitCode, Failure> {
    let files = session::python_files(paths)?;
    let bar = if std::io::stderr().is_terminal() { ProgressBar::new(files.len() as u64) } else { ProgressBar::hidden() };
    if let Ok(style) = ProgressStyle::with_template("{bar:40} {pos}/{len} {msg}") {
        bar.set_style(style);
    }
    let mut stats = Stats { version: 1, ..Stats::default() };
    for path in &files {
        bar.set_message(path.display().to_string());
        host.snapshot().count(path, through.into(), &mut stats);
        bar.inc(1);
    }
    bar.finish_and_clear();
    stats.peak_rss_mb = peak_rss_mb();
    match format {
        TextFormat::Json => println!("{}", serde_json::to_string_pretty(&stats).unwrap_or_default()),
        TextFormat::Text => print_text(&stats),
    }
    Ok(if stats.panics == 0 { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn print_text(stats: &Stats) {
    let share = |part: usize, whole: usize| if whole == 0 { 0.0 } else { 100.0 * part as f64 / whole as f64 };
    println!("files               {:>8}  ({} with syntax errors)", stats.files, stats.parse_errors);
    println!("kernels, helpers    {:>8}  {}", stats.kernels, stats.helpers);
    println!("elaborated          {:>8}  {:.1} %", stats.elaborated, share(stats.elaborated, stats.kernels));
    println!("compiled            {:>8}  {:.1} %", stats.compiled, share(stats.compiled, stats.kernels));
    println!("expressions         {:>8}  {} not reached", stats.expressions, stats.unreached);
    let reached = stats.expressions - stats.unreached;
    println!(
        "  typed             {:>8}  {:.1} % of those reached",
        stats.typed_expressions,
        share(stats.typed_expressions, reached)
    );
    println!("panics              {:>8}", stats.panics);
    let ms = &stats.ms;
    println!("ms: parse {:.0}, elaborate {:.0}, optimise {:.0}, llvm {:.0}", ms.parse, ms.elaborate, ms.optimise, ms.llvm);
    for row in stats.rows.iter().filter(|row| !row.reason.is_empty()) {
        println!("{} {}: {} {}", row.status, row.file, row.kernel, row.reason);
    }
}

/// The kernel's own account of this process, where there is one.
fn peak_rss_mb() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse::<f64>().ok().map(|kib| kib / 1024.0)
}
