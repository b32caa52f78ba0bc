//! `tritium tune`.

use std::{fs, path::PathBuf, process::ExitCode};

use tritium_ide::Analysis;
use tritium_runtime::{
    exec::{self, Job, Task, Verify},
    files, peer,
    tune::{TuneOptions, Tuning},
};

use crate::{
    args::{Analysing, BenchFormat},
    job::{self, Planned},
    session::{self, Failure},
};

pub(crate) struct Request {
    pub(crate) job: job::Request,
    pub(crate) options: TuneOptions,
    pub(crate) verify: bool,
    pub(crate) write: bool,
    pub(crate) prune: Option<PathBuf>,
    pub(crate) write_triton_cache: bool,
}

pub(crate) fn tune(request: Request, format: BenchFormat, analysing: &Analysing) -> Result<ExitCode, Failure> {
    let mut host = session::host(analysing)?;
    let file = request.job.only_file()?;
    if request.write_triton_cache && request.job.elsewhere.on.is_some() {
        return Err(Failure(
            "--write-triton-cache writes into Triton's cache on this machine, and --on tunes on another".to_owned(),
        ));
    }
    let analysis = request.job.analysis(&mut host, file)?;
    let verify = if request.verify { Verify::Required } else { Verify::Never };
    let mut all: Option<Tuning> = None;
    let went = request.job.each(file, request.job.jobs(&analysis, file, Task::Tune)?, |planned| {
        let (entered, Planned { job, .. }) = (planned.given(), planned);
        let job = Job { tune: request.options, verify, ..job };
        let tuning = match job::outcome(request.job.ask(|asking| exec::tune(&job, asking))?) {
            Ok(tuning) => tuning,
            Err(why) => return Ok(Err(why)),
        };
        if let Some(entered) = &entered {
            eprintln!("entered {entered}");
        }
        match &mut all {
            Some(all) => all.join(tuning),
            None => all = Some(tuning),
        }
        Ok(Ok(()))
    })?;
    let Some(tuning) = all else { return Ok(ExitCode::from(1)) };
    session::print(&match format {
        BenchFormat::Table => tuning.to_string(),
        BenchFormat::Json => session::pretty(&tuning),
        BenchFormat::Csv => csv(&tuning),
    })?;
    if request.write {
        write(&analysis, file, &tuning)?;
    }
    if let Some(path) = &request.prune {
        let functions = analysis.pruning_functions(file, &tuning).map_err(Failure)?;
        let text = format!("import triton\n\n\n{}", functions.trim_end().to_owned() + "\n");
        files::replace(path, |out| std::io::Write::write_all(out, text.as_bytes())).map_err(|error| Failure::io(path, &error))?;
    }
    if request.write_triton_cache {
        write_triton_cache(&request.job, file, &tuning, analysing)?;
    }
    Ok(if tuning.ok() && went.failed == 0 { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// Writes the best rows into the file in place of its tuners' lists.
fn write(analysis: &Analysis, file: &std::path::Path, tuning: &Tuning) -> Result<(), Failure> {
    let mut edits = analysis.tuned_edits(file, tuning).map_err(Failure)?;
    let mut text = fs::read_to_string(file).map_err(|error| Failure::io(file, &error))?;
    if analysis.text(file).is_none_or(|known| known != text) {
        return Err(Failure(format!("{}: not written, it is no Python file or has changed meanwhile", file.display())));
    }
    edits.sort_by_key(|one| std::cmp::Reverse(one.edit.range.start));
    for one in &edits {
        text.replace_range(one.edit.range.clone(), &one.edit.new_text);
    }
    files::replace(file, |out| std::io::Write::write_all(out, text.as_bytes())).map_err(|error| Failure::io(file, &error))
}

/// Has Triton keep the tunings, and tells which.
fn write_triton_cache(job: &job::Request, file: &std::path::Path, tuning: &Tuning, analysing: &Analysing) -> Result<(), Failure> {
    let environment = analysing.python_env.clone().or_else(|| std::env::var_os("VIRTUAL_ENV").map(PathBuf::from));
    let python = peer::interpreter(environment.as_deref());
    let kept = peer::keep_tunings(&python, file, tuning, job.bounds.timeout)
        .map_err(|why| Failure(format!("--write-triton-cache: {why}")))?;
    if let Some(error) = &kept.error {
        eprintln!("tritium: under Triton the program ended with {error}");
    }
    for peer::KeptTuning { launch, path, best, why } in &kept.kept {
        match (path, best) {
            (Some(path), Some(best)) => eprintln!("{launch}: {} keeps {best} in {}", kept.what, path.display()),
            _ => eprintln!("{launch}: nothing kept by {}: {}", kept.what, why.as_deref().unwrap_or("it does not say why")),
        }
    }
    Ok(())
}

fn csv(tuning: &Tuning) -> String {
    let mut out = "kernel,launch,row,configuration,time_us,p20_us,p80_us,samples,predicted_us,registers,spilled_bytes,shared_bytes,skipped\n".to_owned();
    let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
    let number = |value: Option<f64>| value.map_or_else(String::new, |value| format!("{value:.4}"));
    let whole = |value: Option<u32>| value.map_or_else(String::new, |value| value.to_string());
    for tuned in &tuning.launches {
        for row in &tuned.rows {
            let time = row.time;
            let fields = [
                quoted(&tuned.kernel),
                quoted(&tuned.launch),
                row.row.to_string(),
                quoted(&row.label()),
                number(time.map(|time| time.median_us)),
                number(time.map(|time| time.p20_us)),
                number(time.map(|time| time.p80_us)),
                whole(time.map(|time| time.samples)),
                number(row.predicted_us),
                whole(row.registers),
                whole(row.spilled_bytes),
                whole(row.shared_bytes),
                quoted(row.skipped.as_deref().unwrap_or_default()),
            ];
            out += &format!("{}\n", fields.join(","));
        }
    }
    out
}
