//! `tritium sanitize`.

use std::process::ExitCode;

use serde_json::{Value, json};
use tritium_runtime::{
    exec::{self, Cancel, Task},
    run::Findings,
};

use crate::{
    args::{Analysing, CheckFormat},
    job,
    printing::{self, Told},
    session::{self, Failure},
};

pub(crate) struct Request {
    pub(crate) job: job::Request,
    pub(crate) select: Vec<String>,
    pub(crate) ignore: Vec<String>,
}

pub(crate) fn sanitize(request: Request, format: CheckFormat, analysing: &Analysing) -> Result<ExitCode, Failure> {
    let mut options = session::options(analysing)?;
    options.select = if request.select.is_empty() { None } else { Some(session::selectors(&request.select)?) };
    options.ignore = session::selectors(&request.ignore)?;
    let host = session::host_with(options);
    let file = request.job.file();
    let analysis = session::readable(&host, file)?;
    let job = request.job.job(&analysis, Task::Sanitize)?;
    // Ctrl-C ends this process, and the child with it.
    let findings = match job::outcome(exec::sanitize_in_child(&job, &Cancel::default()))? {
        Ok(findings) => findings,
        Err(status) => return Ok(status),
    };
    let (findings, found) = analysis.located(file, findings);
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
