//! What `run`, `sanitize` and `bench` ask to be run, and where.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

use tritium_ide::Analysis;
use tritium_runtime::{
    exec::{ExecError, Job, Task, Verify},
    watch::Limits,
};

use crate::session::Failure;

/// What each of these commands takes.
pub(crate) struct Request {
    pub(crate) file: PathBuf,
    pub(crate) launch: Option<String>,
    pub(crate) device: String,
    pub(crate) timeout: f64,
    pub(crate) memory_bytes: Option<u64>,
}

impl Request {
    /// The job that says it all, with the text as it is read here.
    pub(crate) fn job(&self, analysis: &Analysis, task: Task) -> Result<Job, Failure> {
        Duration::try_from_secs_f64(self.timeout)
            .map_err(|_| Failure(format!("--timeout {} is not a number of seconds", self.timeout)))?;
        let unreadable = || Failure::unreadable(&self.file);
        Ok(Job {
            path: self.file.clone(),
            // Of a notebook, the Python of its cells.
            text: analysis.text(&self.file).ok_or_else(unreadable)?,
            task,
            launch: self.launch.clone(),
            device: self.device.clone(),
            verify: Verify::Never,
            save: None,
            chosen: analysis.chosen_elsewhere(&self.file).ok_or_else(unreadable)?,
            expect: Vec::new(),
            limits: Limits { seconds: self.timeout, memory_bytes: self.memory_bytes },
            attended: true,
        })
    }

    pub(crate) fn file(&self) -> &Path {
        &self.file
    }
}

/// What a job has given; or the exit status where it has given nothing, which is told.
pub(crate) fn outcome<T>(outcome: Result<T, ExecError>) -> Result<Result<T, ExitCode>, Failure> {
    match outcome {
        Ok(given) => Ok(Ok(given)),
        Err(ExecError::Refused(refusal)) if refusal.usage => Err(Failure(refusal.message)),
        Err(error) => {
            eprintln!("tritium: {error}");
            Ok(Err(ExitCode::from(1)))
        }
    }
}
