//! `tritium sanitize`.

use std::{path::PathBuf, process::ExitCode, time::Duration};

use serde_json::{Value, json};
use tritium_runtime::{
    exec::{self, Cancel, ExecError, Job, Task, Verify},
    run::Findings,
    watch::Limits,
};

use crate::{
    args::{Analysing, CheckFormat},
    printing::{self, Told},
    session::{self, Failure},
};

pub(crate) struct Request {
    pub(crate) file: PathBuf,
    pub(crate) launch: Option<String>,
    pub(crate) device: String,
    pub(crate) timeout: f64,
    pub(crate) memory_bytes: Option<u64>,
    pub(crate) select: Vec<String>,
    pub(crate) ignore: Vec<String>,
}

pub(crate) fn sanitize(request: Request, format: CheckFormat, analysing: &Analysing) -> Result<ExitCode, Failure> {
    let mut options = session::options(analysing)?;
    options.select = if request.select.is_empty() { None } else { Some(session::selectors(&request.select)?) };
    options.ignore = session::selectors(&request.ignore)?;
    let host = session::host_with(options);
    Duration::try_from_secs_f64(request.timeout)
        .map_err(|_| Failure(format!("--timeout {} is not a number of seconds", request.timeout)))?;
    if request.device != "cpu" {
        let other = "`tritium run --device sim` looks for races in shared memory, and compute-sanitizer for what a GPU does";
        return Err(Failure(format!("checks run on `cpu`, not on `{}`; {other}", request.device)));
    }
    let analysis = session::readable(&host, &request.file)?;
    let chosen = analysis.chosen_elsewhere(&request.file).ok_or_else(|| Failure::unreadable(&request.file))?;
    let text = analysis.text(&request.file).ok_or_else(|| Failure::unreadable(&request.file))?;
    let job = Job {
        path: request.file.clone(),
        text,
        task: Task::Sanitize,
        launch: request.launch,
        device: request.device,
        verify: Verify::Never,
        save: None,
        chosen,
        expect: Vec::new(),
        limits: Limits { seconds: request.timeout, memory_bytes: request.memory_bytes },
        attended: true,
    };
    // Ctrl-C ends this process, and the child with it.
    let findings = match exec::sanitize_in_child(&job, &Cancel::default()) {
        Ok(findings) => findings,
        Err(ExecError::Refused(refusal)) if refusal.usage => return Err(Failure(refusal.message)),
        Err(error) => {
            eprintln!("tritium: {error}");
            return Ok(ExitCode::from(1));
        }
    };
    let (findings, found) = analysis.located(&request.file, findings);
    let told: Vec<Told> =
        found.into_iter().map(|file| Told { path: file.path, text: file.text, diagnostics: file.diagnostics }).collect();
    session::print(&match format {
        CheckFormat::Full => printing::full(told.iter()),
        CheckFormat::Concise => printing::concise(told.iter()),
        CheckFormat::Json => session::pretty(&to_json(&findings, &told)),
        CheckFormat::Sarif => session::pretty(&printing::sarif(told.iter())),
        CheckFormat::Github => printing::github(told.iter()),
    })?;
    if matches!(format, CheckFormat::Full | CheckFormat::Concise) {
        findings.launches.iter().for_each(|launch| eprintln!("{launch}"));
        eprintln!("{}", findings.summary());
    }
    Ok(if findings.ok() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// The findings with their places as `check` writes them.
fn to_json(findings: &Findings, told: &[Told]) -> Value {
    let diagnostics: Vec<Value> = told.iter().flat_map(printing::to_json).collect();
    json!({ "version": 1, "file": findings.file, "launches": findings.launches, "findings": findings.findings,
        "diagnostics": diagnostics, "checked": findings.checked })
}
