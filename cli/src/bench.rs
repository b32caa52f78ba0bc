//! `tritium bench`.

use std::{fs, path::PathBuf, process::ExitCode};

use comfy_table::{Table, presets::UTF8_FULL_CONDENSED};
use serde_json::json;
use tritium_ide::bench::{self, Row};
use tritium_runtime::{
    calibrate,
    exec::{self, Cancel, Task},
    files,
    timing::Spread,
};

use crate::{
    args::{Analysing, BenchFormat},
    job,
    session::{self, Failure},
};

pub(crate) struct Request {
    pub(crate) job: job::Request,
    pub(crate) launcher: Option<String>,
    pub(crate) baseline: Option<PathBuf>,
    pub(crate) write_baseline: Option<PathBuf>,
    pub(crate) fail_if_slower: Option<f64>,
}

pub(crate) fn bench(request: Request, format: BenchFormat, analysing: &Analysing) -> Result<ExitCode, Failure> {
    let before: Option<Vec<Row>> = request.baseline.as_ref().map(read).transpose()?;
    let host = session::host(analysing)?;
    let file = request.job.file();
    let job = request.job.job(&session::readable(&host, file)?, Task::Bench)?;
    let outcome = match &request.launcher {
        Some(launcher) => exec::through_launcher(launcher, &job, &Cancel::default()),
        None => exec::in_child(&job, &Cancel::default()),
    };
    let report = match job::outcome(outcome)? {
        Ok(report) => report,
        Err(status) => return Ok(status),
    };
    // What is predicted is predicted of the board that has run it.
    let board = report.launches.first().and_then(|launch| calibrate::board_of(&launch.device));
    let of_board = Analysing { gpu: board.map(|board| board.name.to_owned()).or(analysing.gpu.clone()), ..analysing.clone() };
    let host = session::host(&of_board)?;
    let rows = session::readable(&host, file)?.bench(file, &report);
    session::print(&match format {
        BenchFormat::Table => table(&rows),
        BenchFormat::Json => session::pretty(&json!({ "version": 1, "file": file, "rows": rows })),
        BenchFormat::Csv => csv(&rows),
    })?;
    if let Some(path) = &request.write_baseline {
        let text = session::pretty(&json!({ "version": 1, "file": file, "rows": rows }));
        files::replace(path, |out| std::io::Write::write_all(out, text.as_bytes()))
            .map_err(|e| Failure(format!("{}: {e}", path.display())))?;
    }
    let slower = before.map(|before| bench::slower(&rows, &before, request.fail_if_slower.unwrap_or(5.0))).unwrap_or_default();
    for slower in &slower {
        let row = &slower.row;
        eprintln!(
            "slower: {}  {:.2} µs, {:.2} µs before (+{:.1} %)",
            name(row),
            slower.now_us,
            slower.before_us,
            slower.percent()
        );
    }
    let fails = rows.iter().any(|row| row.fault.is_some()) || (request.fail_if_slower.is_some() && !slower.is_empty());
    Ok(if fails { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

fn read(path: &PathBuf) -> Result<Vec<Row>, Failure> {
    let fail = |what: String| Failure(format!("--baseline {}: {what}", path.display()));
    let text = fs::read_to_string(path).map_err(|error| fail(error.to_string()))?;
    let value: serde_json::Value = serde_json::from_str(&text).map_err(|error| fail(error.to_string()))?;
    let rows =
        value.get("rows").cloned().ok_or_else(|| fail("it has no `rows`; `--write-baseline` writes such files".to_owned()))?;
    serde_json::from_value(rows).map_err(|error| fail(error.to_string()))
}

/// `matmul:3`
fn name(row: &Row) -> String {
    row.config.map_or_else(|| row.launch.clone(), |config| format!("{}:{config}", row.launch))
}

fn table(rows: &[Row]) -> String {
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED);
    table.set_header(["kernel", "launch", "device", "cold µs", "warm µs", "predicted µs", "GB/s", "TFLOP/s"]);
    let spread =
        |of: Option<Spread>| of.map_or_else(String::new, |s| format!("{:.2} ({:.2}–{:.2})", s.median_us, s.p20_us, s.p80_us));
    let figure = |value: Option<f64>| value.map_or_else(String::new, |value| format!("~{value:.1}"));
    for row in rows {
        let cold = match &row.fault {
            Some(fault) => fault.clone(),
            None => spread(row.timing.and_then(|timing| timing.cold)),
        };
        table.add_row([
            row.kernel.clone(),
            name(row),
            row.device.clone(),
            cold,
            spread(row.timing.map(|timing| timing.warm)),
            figure(row.predicted_us),
            figure(row.bandwidth()),
            figure(row.rate()),
        ]);
    }
    format!(
        "{table}\nTimes are measured: medians, in brackets the fifths below and above. Cold: nothing of the launch lies in L2; warm: one launch after \
         the other.\nPredicted times, and the bytes and FLOP in the rates, are estimates (~) for a cold L2.\n"
    )
}

fn csv(rows: &[Row]) -> String {
    let mut out =
        "kernel,launch,device,cold_us,cold_p20_us,cold_p80_us,warm_us,warm_p20_us,warm_p80_us,predicted_us,gbps,tflops\n"
            .to_owned();
    let number = |value: Option<f64>| value.map_or_else(String::new, |value| format!("{value:.4}"));
    for row in rows {
        let (cold, warm) = (row.timing.and_then(|timing| timing.cold), row.timing.map(|timing| timing.warm));
        let spread =
            |of: Option<Spread>| [of.map(|s| s.median_us), of.map(|s| s.p20_us), of.map(|s| s.p80_us)].map(number).join(",");
        let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
        out += &format!(
            "{},{},{},{},{},{},{},{}\n",
            row.kernel,
            quoted(&name(row)),
            quoted(&row.device),
            spread(cold),
            spread(warm),
            number(row.predicted_us),
            number(row.bandwidth()),
            number(row.rate())
        );
    }
    out
}
