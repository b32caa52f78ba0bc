//! `tritium run`.

use std::{path::PathBuf, process::ExitCode};

use tritium_runtime::exec::{self, Cancel, Job, Task, Verify};

use crate::{
    args::{Analysing, TextFormat},
    job,
    session::{self, Failure},
};

pub(crate) struct Request {
    pub(crate) job: job::Request,
    pub(crate) verify: bool,
    pub(crate) expect: Vec<String>,
    pub(crate) save: Option<PathBuf>,
    pub(crate) launcher: Option<String>,
}

pub(crate) fn run(request: Request, format: TextFormat, analysing: &Analysing) -> Result<ExitCode, Failure> {
    let host = session::host(analysing)?;
    let reference = |text: &String| match text.split_once('=') {
        Some((name, expression)) => Ok((name.trim().to_owned(), expression.trim().to_owned())),
        None => {
            Err(Failure(format!("--expect {text}: a reference is given as NAME=EXPRESSION, for example Y=softmax(X, axis=1)")))
        }
    };
    let expect = request.expect.iter().map(reference).collect::<Result<_, _>>()?;
    let analysis = session::readable(&host, request.job.file())?;
    let verify = if request.verify { Verify::Required } else { Verify::Never };
    let job = Job { verify, save: request.save, expect, ..request.job.job(&analysis, Task::Run)? };
    // Ctrl-C ends this process, and the child with it.
    let cancel = Cancel::default();
    let outcome = match &request.launcher {
        Some(launcher) => exec::through_launcher(launcher, &job, &cancel),
        None => exec::in_child(&job, &cancel),
    };
    let report = match job::outcome(outcome)? {
        Ok(report) => report,
        Err(status) => return Ok(status),
    };
    match format {
        TextFormat::Text => session::print(&report.to_string())?,
        TextFormat::Json => session::print(&session::pretty(&report))?,
    }
    Ok(if report.ok() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}
