//! What `run`, `sanitize`, `bench` and `tune` ask to be run, and where.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use tritium_ide::{
    Analysis, Host,
    enter::{Plan, Wanted},
};
use tritium_runtime::{
    exec::{Asking, Cancel, ExecError, Job, On, Task, Told, Verify},
    tune::TuneOptions,
    watch::Limits,
};
use tritium_semantics::{
    Chosen,
    host::{Entered, EnteredWith},
};

use crate::{
    args::{Bounds, Elsewhere, Launching},
    session::{self, Failure, Failures},
};

/// What each of these commands takes.
#[derive(Clone)]
pub(crate) struct Request {
    pub(crate) launching: Launching,
    pub(crate) device: String,
    pub(crate) bounds: Bounds,
    pub(crate) elsewhere: Elsewhere,
}

/// A job, and the function that it enters, if it enters one.
pub(crate) struct Planned {
    pub(crate) job: Job,
    pub(crate) entered: Option<Entered>,
}

/// How the jobs of a file went.
#[derive(Default)]
pub(crate) struct Went {
    /// Launches that are not known.
    pub(crate) stopped: usize,
    /// Jobs that gave nothing.
    pub(crate) failed: usize,
}

impl Went {
    pub(crate) fn ok(&self) -> bool {
        self.stopped + self.failed == 0
    }
}

impl Planned {
    pub(crate) fn given(&self) -> Option<EnteredWith> {
        self.entered.as_ref().map(Entered::given)
    }

    /// The same launches with other sizes and contents in place of those that nobody gave.
    pub(crate) fn others<'a>(&'a self, analysis: &'a Analysis, request: &Request) -> impl Iterator<Item = Planned> + use<'a> {
        let set: Vec<_> = request.launching.set.iter().filter_map(|text| given(text).ok()).collect();
        let planned = move |other: Entered| {
            let chosen = Chosen { entry: Some(other.entry.clone()), ..self.job.chosen.clone() };
            Planned { job: Job { chosen, ..self.job.clone() }, entered: Some(other) }
        };
        self.entered.iter().flat_map(move |entered| analysis.entered_otherwise(entered, set.clone())).map(planned)
    }

    /// Of one launch alone.
    pub(crate) fn only(&self, launch: String) -> Planned {
        Planned { job: Job { launch: Some(launch), ..self.job.clone() }, entered: self.entered.clone() }
    }

    /// What the function that is entered launches, by name: a job without a launch makes those of launch blocks too.
    pub(crate) fn launches(&self) -> Vec<String> {
        let found = self.entered.iter().flat_map(|entered| &entered.launches.found.launches);
        let mut names: Vec<String> = found.map(|launch| launch.name.to_string()).collect();
        names.dedup();
        names
    }
}

impl Request {
    /// The files that are meant, and those that cannot be read.
    pub(crate) fn files(&self, host: &Host) -> Result<(Vec<PathBuf>, Failures), Failure> {
        let (files, failures) = session::python_files(host, &self.launching.paths)?;
        failures.unless_all(files.len())?;
        // Where nothing was run, nothing has succeeded.
        if files.is_empty() {
            let paths: Vec<String> = self.launching.paths.iter().map(|path| path.display().to_string()).collect();
            return Err(Failure(format!("{}: no Python file lies in this folder", paths.join(", "))));
        }
        Ok((files, failures))
    }

    /// Whether only one file is meant, which is named.
    pub(crate) fn is_one(&self) -> bool {
        matches!(&self.launching.paths[..], [path] if !path.is_dir())
    }

    /// The one file of a command that takes no others.
    pub(crate) fn only_file(&self) -> Result<&Path, Failure> {
        match &self.launching.paths[..] {
            [path] if !path.is_dir() => Ok(path),
            _ => Err(Failure("name one file".to_owned())),
        }
    }

    /// A file to be run. Other files are looked through where its own text leads to nothing that is meant.
    pub(crate) fn analysis(&self, host: &mut Host, file: &Path) -> Result<Analysis, Failure> {
        let analysis = session::readable(host, file)?;
        if !self.plan(&analysis, file).is_ok_and(|plan| plan.is_empty()) {
            return Ok(analysis);
        }
        // Nothing is told to the database while somebody reads it.
        drop(analysis);
        session::find_callers(host, &[file.to_owned()], &[], &session::pool()?);
        session::readable(host, file)
    }

    fn plan(&self, analysis: &Analysis, file: &Path) -> Result<Plan, Failure> {
        let Launching { launch, set, all_launches, .. } = &self.launching;
        let set = set.iter().map(|text| given(text)).collect::<Result<Vec<_>, _>>()?;
        let wanted = Wanted { launch: launch.as_deref(), set: &set, all: *all_launches || !self.is_one() };
        analysis.plan(file, wanted).map_err(|why| Failure(format!("--set: {why}")))
    }

    /// The jobs that make the launches of a file, and what stops the others.
    pub(crate) fn jobs(&self, analysis: &Analysis, file: &Path, task: Task) -> Result<(Vec<Planned>, Vec<String>), Failure> {
        let launch = &self.launching.launch;
        let plan = self.plan(analysis, file)?;
        let own = self.job(analysis, file, task)?;
        let mut jobs = Vec::new();
        for entered in plan.entered {
            // The launches of a kernel have its name and a number.
            let names = entered.launches.found.launches.iter().map(|one| one.id());
            let is_named = |name: &String| names.clone().any(|id| id.name == *name || id.to_string() == *name);
            let launch = launch.clone().filter(is_named);
            let chosen = Chosen { entry: Some(entered.entry.clone()), ..own.chosen.clone() };
            jobs.push(Planned { job: Job { launch, chosen, ..own.clone() }, entered: Some(entered) });
        }
        let stopped: Vec<String> = plan
            .stopped
            .iter()
            .map(|s| format!("{}:{}: `{}` is not launched: {}", file.display(), s.line, s.kernel, s.why))
            .collect();
        // A file that launches nothing says so itself, where it is the only one.
        if plan.own || (self.is_one() && jobs.is_empty()) {
            jobs.insert(0, Planned { job: own, entered: None });
        }
        Ok((jobs, stopped))
    }

    /// Does something with each job of a file in turn; what stops some launches, or keeps a job from giving anything, is told and costs the others
    /// nothing. Of one file it is a failure where what is asked of it is wrong.
    pub(crate) fn each(
        &self,
        file: &Path,
        (jobs, stopped): (Vec<Planned>, Vec<String>),
        mut act: impl FnMut(Planned) -> Result<Outcome<()>, Failure>,
    ) -> Result<Went, Failure> {
        stopped.iter().for_each(|why| eprintln!("tritium: {why}"));
        let mut failed = 0;
        for planned in jobs {
            match act(planned)? {
                Ok(()) => continue,
                Err(Some(failure)) if self.is_one() => return Err(failure),
                Err(Some(Failure(why))) => eprintln!("tritium: {}: {why}", file.display()),
                Err(None) => {}
            }
            failed += 1;
        }
        Ok(Went { stopped: stopped.len(), failed })
    }

    /// The same with one more value for a name.
    pub(crate) fn with_set(&self, given: String) -> Request {
        let mut more = self.clone();
        more.launching.set.push(given);
        more
    }

    /// The job of a file's own launches, with the text as it is read here.
    pub(crate) fn job(&self, analysis: &Analysis, file: &Path, task: Task) -> Result<Job, Failure> {
        Duration::try_from_secs_f64(self.bounds.timeout)
            .map_err(|_| Failure(format!("--timeout {} is not a number of seconds", self.bounds.timeout)))?;
        let unreadable = || Failure::unreadable(file);
        Ok(Job {
            path: file.to_owned(),
            // Of a notebook, the Python of its cells.
            text: analysis.text(file).ok_or_else(unreadable)?,
            task,
            launch: self.launching.launch.clone(),
            device: self.device.clone(),
            verify: Verify::Never,
            save: None,
            chosen: analysis.chosen_elsewhere(file).ok_or_else(unreadable)?,
            expect: Vec::new(),
            tune: TuneOptions::default(),
            limits: Limits { seconds: self.bounds.timeout, memory_bytes: self.bounds.memory.map(|memory| memory.bytes) },
            attended: true,
        })
    }

    /// What comes of a job where it is to run. That there is no way to that place is wrong for all jobs.
    pub(crate) fn ask<T>(&self, ask: impl FnOnce(&Asking) -> Result<T, ExecError>) -> Result<Result<T, ExecError>, Failure> {
        let Elsewhere { on, send_program } = &self.elsewhere;
        let on =
            on.as_ref().map(|on| On::parse(on, *send_program).map_err(|e| Failure(format!("--on {on}: {e}")))).transpose()?;
        let told = |told: Told| {
            if let Told::Notice(text) = told {
                eprintln!("tritium: {text}");
            }
        };
        // Ctrl-C ends this process, and what it has asked with it.
        match ask(&Asking { on: on.as_ref(), cancel: &Cancel::default(), told: &told }) {
            Err(error @ ExecError::Far { .. }) => Err(Failure(error.to_string())),
            outcome => Ok(outcome),
        }
    }
}

/// `M=4096`
fn given(text: &str) -> Result<(String, String), Failure> {
    // A condition is named by its text, which may compare, and a call by its text, which may name arguments.
    let bytes = text.as_bytes();
    let mut depth = 0i32;
    let mut is_sign = |at: &usize| {
        let beside = |at: Option<usize>, signs: &[u8]| at.and_then(|at| bytes.get(at)).is_some_and(|sign| signs.contains(sign));
        depth += match bytes[*at] {
            b'(' | b'[' | b'{' => 1,
            b')' | b']' | b'}' => -1,
            _ => 0,
        };
        depth <= 0 && bytes[*at] == b'=' && !beside(at.checked_sub(1), b"=<>!") && !beside(Some(at + 1), b"=")
    };
    let (name, value) = (0..bytes.len())
        .find(|at| is_sign(at))
        .map(|at| (&text[..at], &text[at + 1..]))
        .ok_or_else(|| Failure(format!("--set {text}: a value is given as NAME=VALUE, for example M=4096 or x.dtype=f16")))?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

/// What a job has given; or what is wrong with what was asked of it, or `None` where it has given nothing and that was told.
pub(crate) type Outcome<T> = Result<T, Option<Failure>>;

pub(crate) fn outcome<T>(outcome: Result<T, ExecError>) -> Outcome<T> {
    outcome.map_err(|error| match error {
        ExecError::Refused(refusal) if refusal.usage => Some(Failure(refusal.message)),
        error => {
            eprintln!("tritium: {error}");
            None
        }
    })
}
