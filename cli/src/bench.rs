//! `tritium bench`.

use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use serde_json::json;
use tritium_ide::{
    Options,
    bench::{self, Row, Size},
    charts::sweep::{self, Drawn},
    history,
    sweep::Sweep,
};
use tritium_runtime::{
    exec::{self, Job, Task},
    files, git,
    peer::{self, Whose},
    timing::Spread,
};

use crate::{
    args::{Analysing, BenchDraw, BenchFormat},
    charts::is_picture,
    job::{self, Outcome, Planned},
    session::{self, Failure},
};

pub(crate) struct Request {
    pub(crate) job: job::Request,
    pub(crate) baseline: Option<PathBuf>,
    pub(crate) write_baseline: Option<PathBuf>,
    pub(crate) fail_if_slower: Option<f64>,
    pub(crate) against: Vec<String>,
    pub(crate) rounds: u32,
    pub(crate) sweep: Option<Sweep>,
    pub(crate) draw: Option<BenchDraw>,
    pub(crate) output: Option<PathBuf>,
}

/// What launches are held against.
enum Other {
    /// Triton or PyTorch, in the person's Python.
    Peer(Whose),
    /// A program that launches the same.
    Program { what: String, path: PathBuf, text: String },
}

impl Other {
    /// `triton`, `torch`, `git:REVISION` or a file.
    fn find(what: &str, file: &Path) -> Result<Other, Failure> {
        let fail = |why: &str| Failure(format!("--against {what}: {}", why.trim()));
        let what = what.to_owned();
        match what.as_str() {
            "triton" => Ok(Other::Peer(Whose::Triton)),
            "torch" => Ok(Other::Peer(Whose::Torch)),
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
    let file = request.job.only_file()?;
    let others = request.against.iter().map(|what| Other::find(what, file)).collect::<Result<Vec<_>, _>>()?;
    let peers: Vec<Whose> =
        others.iter().filter_map(|other| if let Other::Peer(whose) = other { Some(*whose) } else { None }).collect();
    if let Some(name) = peers.first().map(|whose| whose.name()) {
        if request.job.elsewhere.on.is_some() {
            return Err(Failure(format!(
                "--against {name} takes its times on this machine, and --on those of the launches on another"
            )));
        }
        if request.sweep.is_some() {
            return Err(Failure(format!("--against {name} runs the program as it is, without the sizes of a --sweep")));
        }
    }
    let is_picture = request.output.as_deref().is_some_and(is_picture);
    if is_picture && request.sweep.is_none() {
        return Err(Failure("--output FILE.svg draws a --sweep".to_owned()));
    }
    let (mut rows, mut is_whole) = (Vec::new(), true);
    match &request.sweep {
        None => is_whole &= request.timed(file, &others, None, analysing, &mut rows)?,
        Some(sweep) => {
            for &value in &sweep.values {
                let size = Size { name: sweep.name.clone(), value };
                let mut timed = Vec::new();
                is_whole &= request.timed(file, &others, Some(&size), analysing, &mut timed)?;
                rows.extend(timed.into_iter().map(|row| Row { size: Some(size.clone()), ..row }));
            }
            bench::by_launch(&mut rows);
        }
    }
    if rows.is_empty() && !is_whole {
        return Ok(ExitCode::from(1));
    }
    let mut together = Vec::new();
    for whose in peers {
        let name = whose.name();
        let environment = analysing.python_env.clone().or_else(|| std::env::var_os("VIRTUAL_ENV").map(PathBuf::from));
        let python = peer::interpreter(environment.as_deref());
        let found = peer::times(whose, &python, file, request.job.bounds.timeout)
            .map_err(|why| Failure(format!("--against {name}: {why}")))?;
        if let Some(error) = &found.error {
            eprintln!("tritium: under Triton the program ended with {error}");
        }
        if found.times.is_empty() && whose == Whose::Torch {
            eprintln!("tritium: --against torch: the program holds no result of a launch against an expression of PyTorch");
        }
        together.extend(bench::hold_against_peer(&mut rows, &found));
    }
    // What a launch takes at other sizes is not its history.
    if request.sweep.is_none() {
        history::keep_times(file, &rows);
    }
    let json = || session::pretty(&json!({ "version": 1, "file": file, "rows": rows, "together": together }));
    session::print(&match format {
        BenchFormat::Table => bench::table(&rows, &together),
        BenchFormat::Json => json(),
        BenchFormat::Csv => csv(&rows),
    })?;
    if let Some(path) = &request.output {
        let name = path.extension().map(|extension| extension.to_ascii_lowercase());
        let text = match name.as_ref().and_then(|name| name.to_str()) {
            Some("svg") => {
                let drawn = request.draw.map(|draw| match draw {
                    BenchDraw::Time => Drawn::Time,
                    BenchDraw::Bandwidth => Drawn::Bandwidth,
                    BenchDraw::Flops => Drawn::Flops,
                });
                let name = file.file_name().unwrap_or_default().to_string_lossy();
                let chart = sweep::chart(&name, &rows, drawn);
                chart.ok_or_else(|| Failure(format!("{}: nothing was timed of which this is known", path.display())))?.svg
            }
            Some("csv") => csv(&rows),
            Some("json") => json(),
            _ => bench::table(&rows, &together),
        };
        files::write(path, text).map_err(|error| Failure::io(path, &error))?;
    }
    if let Some(path) = &request.write_baseline {
        files::replace(path, |out| std::io::Write::write_all(out, json().as_bytes()))
            .map_err(|e| Failure(format!("{}: {e}", path.display())))?;
    }
    let slower = before.map(|before| bench::slower(&rows, &before, request.fail_if_slower.unwrap_or(5.0))).unwrap_or_default();
    for slower in &slower {
        let row = &slower.row;
        let size = row.size.as_ref().map_or_else(String::new, |size| format!(", {} = {}", size.name, size.value));
        eprintln!(
            "slower: {}{size}  {:.2} µs, {:.2} µs before (+{:.1} %)",
            row.name(),
            slower.now_us,
            slower.before_us,
            slower.percent()
        );
    }
    let fails =
        !is_whole || rows.iter().any(|row| row.fault.is_some()) || (request.fail_if_slower.is_some() && !slower.is_empty());
    Ok(if fails { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

impl Request {
    /// Adds the launches of a file, at a size of a sweep where there is one. Whether every job gave something.
    fn timed(
        &self,
        file: &Path,
        others: &[Other],
        size: Option<&Size>,
        analysing: &Analysing,
        rows: &mut Vec<Row>,
    ) -> Result<bool, Failure> {
        let (options, jobs, stopped) = self.planned(file, size, analysing)?;
        let went = self.job.each(file, (jobs, stopped), |planned| {
            let (entered, Planned { job, .. }) = (planned.given(), planned);
            let options = Options { entry: job.chosen.entry.clone(), ..options.clone() };
            let timed = |job: &Job| -> Result<Outcome<Vec<Row>>, Failure> {
                let report = job::outcome(self.job.ask(|asking| exec::run(job, asking))?);
                Ok(report.map(|report| bench::timed(options.clone(), &job.path, job.text.clone(), &report)))
            };
            let programs = others.iter().filter_map(|other| match other {
                Other::Program { what, path, text } => Some((what, path, text)),
                Other::Peer(_) => None,
            });
            let mut own = Vec::new();
            let mut theirs: Vec<_> = programs.map(|program| (program, Vec::new())).collect();
            // In turn, so that what changes on the machine meanwhile is everybody's.
            let rounds = if theirs.is_empty() { 1 } else { self.rounds.max(1) };
            for _ in 0..rounds {
                match timed(&job)? {
                    Ok(rows) => own.push(rows),
                    Err(why) => return Ok(Err(why)),
                }
                for ((_, path, text), taken) in &mut theirs {
                    match timed(&Job { path: (*path).clone(), text: (*text).clone(), ..job.clone() })? {
                        Ok(rows) => taken.push(rows),
                        Err(why) => return Ok(Err(why)),
                    }
                }
            }
            if let Some(entered) = &entered {
                eprintln!("entered {entered}");
            }
            let mut own = bench::of_rounds(&own);
            for ((what, ..), taken) in &theirs {
                bench::hold_against(&mut own, what, &bench::of_rounds(taken));
            }
            rows.extend(own);
            Ok(Ok(()))
        })?;
        Ok(went.failed == 0)
    }

    /// What is to be timed: at a size of launch blocks those that have it, at another what a function launches that is entered with it.
    fn planned(
        &self,
        file: &Path,
        size: Option<&Size>,
        analysing: &Analysing,
    ) -> Result<(Options, Vec<Planned>, Vec<String>), Failure> {
        let options = Options { every_benchmark: true, ..session::options(analysing)? };
        let mut host = session::host_with(options.clone());
        let analysis = self.job.analysis(&mut host, file)?;
        let Some(Size { name, value }) = size else {
            let (jobs, stopped) = self.job.jobs(&analysis, file, Task::Bench)?;
            return Ok((options, jobs, stopped));
        };
        let with_size = analysis.launches_with_size(file, name, self.job.launching.launch.as_deref());
        // Who gives names of a function means that function.
        if with_size.is_empty() || !self.job.launching.set.is_empty() {
            let no_name = |why: Failure| {
                let none = if with_size.is_empty() { "no launch block has a size of this name, and " } else { "" };
                Failure(format!("--sweep {name}: {none}{}", why.0.trim_start_matches("--set: ")))
            };
            let entering = self.job.with_set(format!("{name}={value}"));
            let (jobs, stopped) = entering.jobs(&analysis, file, Task::Bench).map_err(no_name)?;
            let each = jobs.into_iter().flat_map(|planned| match (&planned.job.launch, planned.launches()) {
                (None, launches) if !launches.is_empty() => launches.into_iter().map(|launch| planned.only(launch)).collect(),
                _ => vec![planned],
            });
            return Ok((options, each.collect(), stopped));
        }
        let options = Options { sizes: vec![(name.clone(), *value)], ..options };
        let host = session::host_with(options.clone());
        let own = self.job.job(&session::readable(&host, file)?, file, Task::Bench)?;
        // With the row that is named.
        let row = self.job.launching.launch.as_deref().and_then(|launch| launch.rsplit_once(':')).map(|(_, row)| row.to_owned());
        let named = |launch: String| row.as_ref().map_or(launch.clone(), |row| format!("{launch}:{row}"));
        let one = |launch: String| Planned { entered: None, job: Job { launch: Some(named(launch)), ..own.clone() } };
        Ok((options, with_size.into_iter().map(one).collect(), vec![]))
    }
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
    let mut out = "kernel,launch,device,cold_us,cold_p20_us,cold_p80_us,warm_us,warm_p20_us,warm_p80_us,predicted_us,gbps,tflops"
        .to_owned();
    // A column for what was asked for first, whether or not it is known of a launch, and one more for each of the others.
    let whats = bench::held_against(rows);
    out += ",against_us";
    whats.iter().skip(1).for_each(|what| out += &format!(",{}_us", what.replace([' ', '.'], "_")));
    // The size of a sweep stands last, under its name.
    let size = rows.iter().find_map(|row| row.size.as_ref());
    out += &size.map_or_else(|| "\n".to_owned(), |size| format!(",{}\n", size.name));
    let number = |value: Option<f64>| value.map_or_else(String::new, |value| format!("{value:.4}"));
    for row in rows {
        let (cold, warm) = (row.timing.and_then(|timing| timing.cold), row.timing.map(|timing| timing.warm));
        let spread =
            |of: Option<Spread>| [of.map(|s| s.median_us), of.map(|s| s.p20_us), of.map(|s| s.p80_us)].map(number).join(",");
        let of = |what: &&str| number(row.held_against(what).map(|against| against.time.median_us));
        let against = whats.iter().map(of).collect::<Vec<_>>().join(",");
        let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
        let size = row.size.as_ref().map_or_else(String::new, |size| format!(",{}", size.value));
        out += &format!(
            "{},{},{},{},{},{},{},{},{against}{size}\n",
            row.kernel,
            quoted(&row.name()),
            quoted(&row.device),
            spread(cold),
            spread(warm),
            number(row.predicted_us),
            number(row.bandwidth()),
            number(row.rate()),
        );
    }
    out
}
