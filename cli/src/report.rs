//! `tritium report`.

use std::{path::PathBuf, process::ExitCode};

use comfy_table::{Table, presets::UTF8_FULL_CONDENSED};
use serde_json::json;
use tritium_ide::{
    Host,
    report::{Row, si, spills_legend},
};

use crate::{
    args::TableFormat,
    session::{self, Failure},
};

pub(crate) fn report(host: &Host, paths: &[PathBuf], format: TableFormat) -> Result<ExitCode, Failure> {
    let (files, mut failures) = session::python_files(host, paths)?;
    let mut rows = Vec::new();
    let mut answered = 0;
    for path in &files {
        let Some(analysis) = failures.keep(session::readable(host, path)) else { continue };
        answered += 1;
        if analysis.is_triton(path) {
            rows.extend(analysis.report(path));
        }
    }
    failures.unless_all(answered)?;
    match format {
        TableFormat::Json => session::print(&session::pretty(&json!({ "version": 1, "rows": rows })))?,
        TableFormat::Table => session::print(&table(&rows))?,
    }
    // What Triton would not do is told, and no fault of what was asked for.
    let clean = rows.iter().filter(|row| row.compiler == "tritium").all(|row| row.problems.is_empty());
    Ok(failures.tell(if clean { ExitCode::SUCCESS } else { ExitCode::from(1) }))
}

fn table(rows: &[Row]) -> String {
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED);
    table.set_header([
        "kernel",
        "launch",
        "GPU",
        "compiler",
        "registers",
        "spills",
        "shared",
        "occupancy",
        "FLOP",
        "DRAM bytes",
        "FLOP/B",
        "bound",
        "µs",
        "limiter",
        "second",
        "waves",
    ]);
    let text = |value: Option<String>| value.unwrap_or_else(|| "?".to_owned());
    for row in rows {
        let exact = if row.registers_source == Some("exact") { "" } else { "~" };
        let occupancy = row.occupancy.map(|o| {
            format!(
                "{}{:.0} % ({})",
                if row.occupancy_is_most { "≤ " } else { "" },
                100.0 * o,
                row.occupancy_limiter.unwrap_or("")
            )
        });
        table.add_row([
            row.kernel.clone(),
            row.launch.clone().unwrap_or_else(|| "assumed".to_owned()),
            row.gpu.clone(),
            row.compiler.to_owned(),
            text(row.registers.map(|r| format!("{exact}{r}"))),
            text(
                row.spill_bytes.map(|b| format!("{exact}{b} B")).or(row.spills.map(|pressure| format!("~{}", pressure.short()))),
            ),
            text(row.shared_bytes.map(|b| format!("{}{b} B", if row.shared_source == Some("exact") { "" } else { "~" }))),
            text(occupancy),
            text(row.flops.map(si)),
            text(row.bytes.map(si)),
            text(row.intensity.map(|i| format!("{i:.2}"))),
            text(row.bound.map(|b| format!("{b:?}").to_lowercase())),
            text(row.predicted_us.map(|t| format!("~{t:.1}"))),
            text(row.limiter.map(str::to_owned)),
            text(row.second_limiter.map(|unit| format!("{unit} {:.0} %", 100.0 * row.second_share.unwrap_or_default()))),
            text(row.waves.map(|w| format!("{w:.2}"))),
        ]);
    }
    let mut out = format!(
        "{table}\nEach row is about one compiler. Registers, spills and shared memory are exact (ptxas) unless marked ~; times and traffic are estimated.\n\
         DRAM bytes move while the launch runs; stores that L2 still holds at its end follow later, and FLOP/B and times count them too.\n\
         The limiter has the highest share of its peak; beside the second one stands its share.\n\
         {}.\n",
        spills_legend()
    );
    if let Some(remedy) = rows.iter().find_map(|row| row.registers_remedy.as_ref()) {
        out += &format!("Registers and spills are not exact here: {remedy}.\n");
    }
    for row in rows {
        let place = |line: Option<u32>| {
            let line = line.map(|l| format!("{}:{l}", row.file)).unwrap_or_else(|| row.file.clone());
            row.launch.as_ref().map(|launch| format!("{line} ({launch})")).unwrap_or(line)
        };
        for access in row.accesses.iter().filter(|a| a.reason.is_some()) {
            let line = place(access.line);
            let what = if access.store { "store" } else { "load" };
            let reason = access.reason.as_deref().unwrap_or_default();
            out += &format!("{line}: {what} of {} bytes per thread: {reason}\n", access.width_bytes);
        }
        for passage in row.passages.iter().filter(|p| p.ways > 1.0) {
            let line = place(passage.line);
            let what = if passage.store { "written to" } else { "read from" };
            out += &format!(
                "{line}: {what} shared memory with {:.0}-way bank conflicts: {} wavefronts a request where {} would do\n",
                passage.ways, passage.wavefronts, passage.ideal
            );
        }
        for advice in row.advice.iter().take(3) {
            let launch = row.launch.as_deref().unwrap_or("assumed");
            out += &format!("{} ({launch}): would gain {:.2}×: {}\n", row.kernel, advice.gain, advice.text);
        }
        for problem in &row.problems {
            out += &format!("{}: {}: {}\n", row.file, row.kernel, problem.replace('\n', "\n  "));
        }
    }
    out
}
