//! `tritium run`.

use std::{path::PathBuf, process::ExitCode};

use serde_json::json;
use tritium_ide::history;
use tritium_runtime::{
    exec::{self, Job, Task, Verify},
    run::Report,
};

use crate::{
    args::{Analysing, TextFormat},
    job::{self, Planned},
    session::{self, Failure},
};

pub(crate) struct Request {
    pub(crate) job: job::Request,
    pub(crate) verify: bool,
    pub(crate) expect: Vec<String>,
    pub(crate) save: Option<PathBuf>,
}

pub(crate) fn run(request: Request, format: TextFormat, analysing: &Analysing) -> Result<ExitCode, Failure> {
    let mut host = session::host(analysing)?;
    let reference = |text: &String| match text.split_once('=') {
        Some((name, expression)) => Ok((name.trim().to_owned(), expression.trim().to_owned())),
        None => {
            Err(Failure(format!("--expect {text}: a reference is given as NAME=EXPRESSION, for example Y=softmax(X, axis=1)")))
        }
    };
    let expect: Vec<(String, String)> = request.expect.iter().map(reference).collect::<Result<_, _>>()?;
    let verify = if request.verify { Verify::Required } else { Verify::Never };
    let (files, mut failures) = request.job.files(&host)?;
    let mut reports: Vec<Report> = Vec::new();
    let (mut is_ok, mut failed) = (true, 0);
    let mut told = 0;
    for file in &files {
        let Some(analysis) = failures.keep(request.job.analysis(&mut host, file)) else { continue };
        let went = request.job.each(file, request.job.jobs(&analysis, file, Task::Run)?, |planned| {
            let (entered, Planned { job, .. }) = (planned.given(), planned);
            let job = Job { verify, save: request.save.clone(), expect: expect.clone(), ..job };
            let report = match job::outcome(request.job.ask(|asking| exec::run(&job, asking))?) {
                Ok(report) => Report { entered, ..report },
                Err(why) => return Ok(Err(why)),
            };
            history::keep_errors(file, &report);
            is_ok &= report.ok();
            if format == TextFormat::Text {
                let before = if told > 0 { "\n" } else { "" };
                let name = if files.len() > 1 { format!("{}\n", file.display()) } else { String::new() };
                session::print(&format!("{before}{name}{report}"))?;
                told += 1;
            }
            reports.push(report);
            Ok(Ok(()))
        })?;
        is_ok &= went.ok();
        failed += went.failed;
    }
    match (format, &reports[..]) {
        (TextFormat::Json, [report]) if request.job.is_one() => session::print(&session::pretty(report))?,
        (TextFormat::Json, reports) if !reports.is_empty() || !request.job.is_one() => {
            session::print(&session::pretty(&json!({ "version": 1, "reports": reports })))?;
        }
        _ => {}
    }
    if !request.job.is_one() {
        let launches = reports.iter().flat_map(|report| &report.launches);
        let faults = launches.clone().filter(|launch| launch.fault.is_some()).count();
        eprintln!("{} launches ran, {faults} of them with a fault; {failed} jobs gave nothing", launches.count());
    }
    Ok(failures.tell(if is_ok { ExitCode::SUCCESS } else { ExitCode::from(1) }))
}
