//! `tritium bench`.

use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use serde_json::json;
use tritium_ide::{
    Options,
    bench::{self, Row},
    history,
};
use tritium_runtime::{
    exec::{self, Job, Task},
    files, git, peer,
    timing::Spread,
};

use crate::{
    args::{Analysing, BenchFormat},
    job::{self, Planned},
    session::{self, Failure},
};

pub(crate) struct Request {
    pub(crate) job: job::Request,
    pub(crate) baseline: Option<PathBuf>,
    pub(crate) write_baseline: Option<PathBuf>,
    pub(crate) fail_if_slower: Option<f64>,
    pub(crate) against: Option<String>,
    pub(crate) rounds: u32,
}

/// What launches are held against.
enum Other {
    /// Triton, in the person's Python.
    Triton,
    /// A program that launches the same.
    Program { what: String, path: PathBuf, text: String },
}

impl Other {
    /// `triton`, `git:REVISION` or a file.
    fn find(what: &str, file: &Path) -> Result<Other, Failure> {
        let fail = |why: &str| Failure(format!("--against {what}: {}", why.trim()));
        let what = what.to_owned();
        match what.as_str() {
            "triton" => Ok(Other::Triton),
            _ => match what.strip_prefix("git:") {
                Some(revision) => {
                    let text = git::at_revision(file, revision).map_err(|why| fail(&why))?;
                    Ok(Other::Program { what, path: file.to_owned(), text })
                }
                None => {
                    let path = PathBuf::from(&what);
                    let text = fs::read_to_string(&path).map_err(|error| fail(&error.to_string()))?;
                    Ok(Other::Program { what, path, text })
                }
            },
        }
    }
}

pub(crate) fn bench(request: Request, format: BenchFormat, analysing: &Analysing) -> Result<ExitCode, Failure> {
    let before: Option<Vec<Row>> = request.baseline.as_ref().map(read).transpose()?;
    let host = session::host(analysing)?;
    let file = request.job.only_file()?;
    let other = request.against.as_deref().map(|what| Other::find(what, file)).transpose()?;
    if matches!(other, Some(Other::Triton)) && request.job.elsewhere.on.is_some() {
        return Err(Failure("--against triton times Triton on this machine, and --on the launches on another".to_owned()));
    }
    let (jobs, stopped) = request.job.jobs(&session::readable(&host, file)?, file, Task::Bench)?;
    stopped.iter().for_each(|why| eprintln!("tritium: {why}"));
    let mut rows = Vec::new();
    for planned in jobs {
        let (entered, Planned { job, .. }) = (planned.given(), planned);
        let options = Options { entry: job.chosen.entry.clone(), ..session::options(analysing)? };
        let timed = |job: &Job| -> Result<Result<Vec<Row>, ExitCode>, Failure> {
            let report = job::outcome(request.job.ask(|asking| exec::run(job, asking))?)?;
            Ok(report.map(|report| bench::timed(options.clone(), &job.path, job.text.clone(), &report)))
        };
        let (mut own, mut others) = (Vec::new(), Vec::new());
        // In turn, so that what changes on the machine meanwhile is everybody's.
        let rounds = if matches!(other, Some(Other::Program { .. })) { request.rounds.max(1) } else { 1 };
        for _ in 0..rounds {
            match timed(&job)? {
                Ok(rows) => own.push(rows),
                Err(status) => return Ok(status),
            }
            if let Some(Other::Program { path, text, .. }) = &other {
                match timed(&Job { path: path.clone(), text: text.clone(), ..job.clone() })? {
                    Ok(rows) => others.push(rows),
                    Err(status) => return Ok(status),
                }
            }
        }
        if let Some(entered) = &entered {
            eprintln!("entered {entered}");
        }
        let mut own = bench::of_rounds(&own);
        if let Some(Other::Program { what, .. }) = &other {
            bench::hold_against(&mut own, what, &bench::of_rounds(&others));
        }
        rows.extend(own);
    }
    if let Some(Other::Triton) = other {
        let environment = analysing.python_env.clone().or_else(|| std::env::var_os("VIRTUAL_ENV").map(PathBuf::from));
        let python = peer::interpreter(environment.as_deref());
        let found =
            peer::under_triton(&python, file, request.job.timeout).map_err(|why| Failure(format!("--against triton: {why}")))?;
        if let Some(error) = &found.error {
            eprintln!("tritium: under Triton the program ended with {error}");
        }
        bench::hold_against_peer(&mut rows, &found);
    }
    history::keep_times(file, &rows);
    session::print(&match format {
        BenchFormat::Table => bench::table(&rows),
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
            row.name(),
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

fn csv(rows: &[Row]) -> String {
    let mut out =
        "kernel,launch,device,cold_us,cold_p20_us,cold_p80_us,warm_us,warm_p20_us,warm_p80_us,predicted_us,gbps,tflops,against_us\n"
            .to_owned();
    let number = |value: Option<f64>| value.map_or_else(String::new, |value| format!("{value:.4}"));
    for row in rows {
        let (cold, warm) = (row.timing.and_then(|timing| timing.cold), row.timing.map(|timing| timing.warm));
        let spread =
            |of: Option<Spread>| [of.map(|s| s.median_us), of.map(|s| s.p20_us), of.map(|s| s.p80_us)].map(number).join(",");
        let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
        out += &format!(
            "{},{},{},{},{},{},{},{},{}\n",
            row.kernel,
            quoted(&row.name()),
            quoted(&row.device),
            spread(cold),
            spread(warm),
            number(row.predicted_us),
            number(row.bandwidth()),
            number(row.rate()),
            number(row.against.as_ref().map(|against| against.time.median_us))
        );
    }
    out
}
