//! `tritium run`.

use std::{path::PathBuf, process::ExitCode, time::Duration};

use tritium_runtime::{
    exec::{self, Cancel, ExecError, Job, Task, Verify},
    watch::Limits,
};

use crate::{
    args::{Analysing, TextFormat},
    session::{self, Failure},
};

pub(crate) struct Request {
    pub(crate) file: PathBuf,
    pub(crate) launch: Option<String>,
    pub(crate) device: String,
    pub(crate) verify: bool,
    pub(crate) expect: Vec<String>,
    pub(crate) save: Option<PathBuf>,
    pub(crate) timeout: f64,
    pub(crate) memory_bytes: Option<u64>,
    pub(crate) launcher: Option<String>,
}

pub(crate) fn run(request: Request, format: TextFormat, analysing: &Analysing) -> Result<ExitCode, Failure> {
    let host = session::host(analysing)?;
    Duration::try_from_secs_f64(request.timeout)
        .map_err(|_| Failure(format!("--timeout {} is not a number of seconds", request.timeout)))?;
    let reference = |text: &String| match text.split_once('=') {
        Some((name, expression)) => Ok((name.trim().to_owned(), expression.trim().to_owned())),
        None => {
            Err(Failure(format!("--expect {text}: a reference is given as NAME=EXPRESSION, for example Y=softmax(X, axis=1)")))
        }
    };
    let expect = request.expect.iter().map(reference).collect::<Result<_, _>>()?;
    let analysis = session::readable(&host, &request.file)?;
    let chosen = analysis.chosen_elsewhere(&request.file).ok_or_else(|| Failure::unreadable(&request.file))?;
    // Of a notebook, the Python of its cells.
    let text = analysis.text(&request.file).ok_or_else(|| Failure::unreadable(&request.file))?;
    let job = Job {
        path: request.file,
        text,
        task: Task::Run,
        launch: request.launch,
        device: request.device,
        verify: if request.verify { Verify::Required } else { Verify::Never },
        save: request.save,
        chosen,
        expect,
        limits: Limits { seconds: request.timeout, memory_bytes: request.memory_bytes },
        attended: true,
    };
    // Ctrl-C ends this process, and the child with it.
    let cancel = Cancel::default();
    let outcome = match &request.launcher {
        Some(launcher) => exec::through_launcher(launcher, &job, &cancel),
        None => exec::in_child(&job, &cancel),
    };
    match outcome {
        Ok(report) => {
            match format {
                TextFormat::Text => session::print(&report.to_string())?,
                TextFormat::Json => session::print(&session::pretty(&report))?,
            }
            Ok(if report.ok() { ExitCode::SUCCESS } else { ExitCode::from(1) })
        }
        Err(ExecError::Refused(refusal)) if refusal.usage => Err(Failure(refusal.message)),
        Err(error) => {
            eprintln!("tritium: {error}");
            Ok(ExitCode::from(1))
        }
    }
}
