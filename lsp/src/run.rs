//! Running a kernel for the editor.
//!
//! The run happens in a child process with limits of time and memory, on the buffer's text as it is: a kernel that hangs, faults or takes its process
//! down costs the child, never the server. **Invariant:** the answer always says what happened, in `text`; a request that is cancelled, a
//! client that is gone and a server that shuts down leave no child.

use std::{path::PathBuf, str::FromStr};

use serde::Serialize;
use serde_json::{Value, json};
use tower_lsp::{NotCancellable, Unbounded, ls_types::Uri};
use tritium_ide::{Analysis, Options, bench, history};
use tritium_runtime::{
    exec::{self, Asking, Cancel, On, Runs, Told},
    run::Findings,
    tune::{TuneOptions, Tuning},
    watch::Limits,
};
use tritium_semantics::{Chosen, host::EnteredWith, launch::Launch};

use crate::progress::Shown;

/// The argument of the command.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) uri: Uri,
    pub(crate) kernel: Option<String>,
    pub(crate) launch: Option<String>,
    /// Values by name, for a function that is entered so that it launches the kernel.
    pub(crate) set: Option<Vec<(String, String)>>,
}

impl Request {
    pub(crate) fn from_json(value: &Value) -> Result<Request, String> {
        let uri = value.get("uri").and_then(Value::as_str).ok_or("the argument needs a `uri`")?;
        let uri = Uri::from_str(uri).map_err(|e| format!("`{uri}` is not a URI: {e}"))?;
        let text = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
        let value_of = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let set = value.get("set").and_then(Value::as_object);
        let set = set.map(|set| {
            let mut set: Vec<_> = set.iter().map(|(name, value)| (name.clone(), value_of(value))).collect();
            // Tables of Lua have no order.
            set.sort();
            set
        });
        Ok(Request { uri, kernel: text("kernel"), launch: text("launch"), set })
    }
}

/// A launch that is to be run, with the file as it is now.
pub(crate) struct Asked {
    pub(crate) path: PathBuf,
    pub(crate) text: String,
    pub(crate) launch: Option<String>,
    pub(crate) chosen: Chosen,
}

impl Asked {
    /// `None`: the file cannot be read.
    pub(crate) fn of(analysis: &Analysis, path: PathBuf, launch: Option<String>) -> Option<Asked> {
        let (text, chosen) = (analysis.text(&path)?, analysis.chosen_elsewhere(&path)?);
        Some(Asked { path, text, launch, chosen })
    }
}

/// A launch that a function makes when it is entered with free sizes.
pub(crate) struct Entered {
    pub(crate) asked: Asked,
    pub(crate) options: Options,
    pub(crate) given: EnteredWith,
    /// A launch block that says the same.
    pub(crate) block: Option<String>,
}

impl Entered {
    pub(crate) fn of(
        analysis: &Analysis,
        path: PathBuf,
        kernel: Option<&str>,
        set: &[(String, String)],
    ) -> Result<Entered, String> {
        let entered = analysis.entry_of(&path, kernel, set)?;
        let block = analysis.launch_block(&path, &entered, kernel);
        let is_meant = |launch: &&Launch| kernel.is_none_or(|name| launch.kernel.name(analysis.db()) == name);
        let launch = entered.launches.found.launches.iter().find(is_meant).map(|launch| launch.id().to_string());
        let mut asked = Asked::of(analysis, path, launch).ok_or("the file cannot be read")?;
        asked.chosen.entry = Some(entered.entry.clone());
        Ok(Entered { asked, options: analysis.options().clone(), given: entered.given(), block })
    }
}

/// What a request to run something is answered with.
pub(crate) struct Runner<'a> {
    pub(crate) options: &'a Options,
    pub(crate) runs: &'a Runs,
    pub(crate) progress: &'a Shown<Unbounded, NotCancellable>,
}

/// `{ok, summary, text, …}`: `summary` is one line and `text` the whole, for people; what has ended adds the fields that the command line writes with
/// `--output-format json`.
impl Runner<'_> {
    pub(crate) async fn run(&self, asked: Asked) -> Value {
        let path = asked.path.clone();
        let run = self.given(self.job(asked, exec::Task::Run), move |job, asking| {
            exec::run(job, asking).inspect(|report| history::keep_errors(&path, report))
        });
        match run.await {
            Ok(report) => answer(&report, report.ok(), report.summary(), report.to_string()),
            Err(failure) => failure,
        }
    }

    pub(crate) async fn bench(&self, asked: Asked) -> Value {
        let job = self.job(asked, exec::Task::Bench);
        let (path, text, options) = (job.path.clone(), job.text.clone(), self.options.clone());
        let timed = self.given(job, move |job, asking| {
            let rows = bench::timed(options, &path, text, &exec::run(job, asking)?);
            history::keep_times(&path, &rows);
            Ok(rows)
        });
        match timed.await {
            Ok(rows) => {
                let ok = rows.iter().all(|row| row.fault.is_none());
                answer(&json!({ "version": 1, "rows": rows }), ok, bench::summary(&rows), bench::table(&rows, &[]))
            }
            Err(failure) => failure,
        }
    }

    /// All rows of the tuner, whichever is the active one.
    pub(crate) async fn tune(&self, asked: Asked) -> (Value, Option<Tuning>) {
        let launch = asked.launch.map(|launch| launch.split(':').next().unwrap_or_default().to_owned());
        let job = self.job(Asked { launch, ..asked }, exec::Task::Tune);
        match self.given(job, exec::tune).await {
            Ok(tuning) => (answer(&tuning, tuning.ok(), tuning.summary(), tuning.to_string()), Some(tuning)),
            Err(failure) => (failure, None),
        }
    }

    /// With what the checks found, whose places are those of the text.
    pub(crate) async fn sanitize(&self, asked: Asked) -> (Value, Option<Findings>) {
        match self.given(self.job(asked, exec::Task::Sanitize), exec::sanitize).await {
            Ok(findings) => (answer(&findings, findings.ok(), findings.summary(), account(&findings)), Some(findings)),
            Err(failure) => (failure, None),
        }
    }

    fn job(&self, asked: Asked, task: exec::Task) -> exec::Job {
        let Asked { path, text, launch, chosen } = asked;
        exec::Job {
            path,
            text,
            task,
            launch,
            // Checks are the interpreter's.
            device: if task == exec::Task::Sanitize { "cpu".to_owned() } else { self.options.device.clone() },
            verify: if task == exec::Task::Run { exec::Verify::WherePossible } else { exec::Verify::Never },
            save: None,
            chosen,
            expect: Vec::new(),
            tune: TuneOptions::default(),
            limits: Limits { seconds: self.options.run_timeout_seconds as f64, memory_bytes: None },
            attended: true,
        }
    }

    /// What a job gives beside the server, for as long as somebody waits for it; or what is said instead.
    async fn given<T: Send + 'static>(
        &self,
        job: exec::Job,
        work: impl FnOnce(&exec::Job, &Asking) -> Result<T, exec::ExecError> + Send + 'static,
    ) -> Result<T, Value> {
        let on = self.options.run_on.as_ref().map(|on| On::parse(on, self.options.send_program)).transpose();
        let on = on.map_err(|message| failed(format!("`tritium.run.on`: {message}")))?;
        let own = Ends(self.runs.begin());
        let cancel = own.0.clone();
        let (told, mut said) = tokio::sync::mpsc::unbounded_channel();
        let mut work = tokio::task::spawn_blocking(move || {
            let told = |what: Told| drop(told.send(message(what)));
            work(&job, &Asking { on: on.as_ref(), cancel: &cancel, told: &told })
        });
        let outcome = loop {
            tokio::select! {
                outcome = &mut work => break outcome,
                Some(message) = said.recv() => {
                    if let Some(progress) = self.progress.ongoing() {
                        progress.report(message).await;
                    }
                }
            }
        };
        drop(own);
        match outcome {
            Ok(Ok(given)) => Ok(given),
            Ok(Err(error)) => Err(failed(error.to_string())),
            Err(error) => Err(failed(format!("the run could not be started: {error}"))),
        }
    }
}

/// Without the file, which who asked knows.
fn message(told: Told) -> String {
    match told {
        Told::Notice(text) => text.to_owned(),
        Told::Doing(place) => place.split_once(": ").map_or(place, |(_, doing)| doing).to_owned(),
    }
}

/// What a job has given as JSON, with what people read of it.
fn answer(given: &impl Serialize, ok: bool, summary: String, text: String) -> Value {
    let mut value = serde_json::to_value(given).unwrap_or_default();
    if let Value::Object(fields) = &mut value {
        fields.extend([("ok".to_owned(), json!(ok)), ("summary".to_owned(), json!(summary)), ("text".to_owned(), json!(text))]);
    }
    value
}

/// A line for each finding, and how far the launches came.
fn account(findings: &Findings) -> String {
    let mut lines = Vec::new();
    for found in &findings.findings {
        let place = found.place.as_ref().map_or_else(String::new, |place| format!("{}:{}: ", place.file.display(), place.line));
        lines.push(format!("{place}{} {}", found.code, found.sentence()));
    }
    lines.extend(findings.launches.iter().map(ToString::to_string));
    lines.push(findings.summary());
    lines.join("\n") + "\n"
}

/// Ends its run when dropped: with the future of a request that is cancelled.
struct Ends(Cancel);

impl Drop for Ends {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

pub(crate) fn failed(text: String) -> Value {
    let summary = text.lines().next().unwrap_or_default();
    json!({ "ok": false, "summary": summary, "text": text })
}
