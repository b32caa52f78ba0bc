//! Running a kernel for the editor.
//!
//! The run happens in a child process with limits of time and memory, on the buffer's text as it is: a kernel that hangs, faults or takes its process
//! down costs the child, never the server. **Invariant:** the answer always says what happened, in `text`; a request that is cancelled, a
//! client that is gone and a server that shuts down leave no child.

use std::{path::PathBuf, str::FromStr};

use serde::Serialize;
use serde_json::{Value, json};
use tokio::task::JoinError;
use tower_lsp::ls_types::Uri;
use tritium_runtime::{
    exec::{self, Cancel, Runs},
    run::Findings,
    watch::Limits,
};
use tritium_semantics::Chosen;

use tritium_ide::Options;

/// The argument of the command.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) uri: Uri,
    pub(crate) kernel: Option<String>,
    pub(crate) launch: Option<String>,
}

impl Request {
    pub(crate) fn from_json(value: &Value) -> Result<Request, String> {
        let uri = value.get("uri").and_then(Value::as_str).ok_or("the argument needs a `uri`")?;
        let uri = Uri::from_str(uri).map_err(|e| format!("`{uri}` is not a URI: {e}"))?;
        let text = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
        Ok(Request { uri, kernel: text("kernel"), launch: text("launch") })
    }
}

/// `{ok, summary, text, …}`: `summary` is one line and `text` the whole, for people; a finished run adds the fields of `tritium run --output-format json`.
pub(crate) async fn run(
    path: PathBuf,
    text: String,
    launch: Option<String>,
    chosen: Chosen,
    options: &Options,
    runs: &Runs,
) -> Value {
    let job = job(path, text, launch, options.device.clone(), chosen, options);
    let outcome = watched(runs, move |cancel| exec::in_child(&job, cancel)).await;
    match given(outcome) {
        Ok(report) => answer(&report, report.ok(), report.summary(), report.to_string()),
        Err(failure) => failure,
    }
}

/// What a job has given, or what is said instead.
fn given<T>(outcome: Result<Result<T, exec::ExecError>, JoinError>) -> Result<T, Value> {
    match outcome {
        Ok(Ok(given)) => Ok(given),
        Ok(Err(error)) => Err(failed(error.to_string())),
        Err(error) => Err(failed(format!("the run could not be started: {error}"))),
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

/// The same under checks, with what they found; the fields are those of `tritium sanitize --output-format json` but for places in lines.
pub(crate) async fn sanitize(
    path: PathBuf,
    text: String,
    launch: Option<String>,
    chosen: Chosen,
    options: &Options,
    runs: &Runs,
) -> (Value, Option<Findings>) {
    let job = job(path, text, launch, "cpu".to_owned(), chosen, options);
    let outcome = watched(runs, move |cancel| exec::sanitize_in_child(&job, cancel)).await;
    match given(outcome) {
        Ok(findings) => (answer(&findings, findings.ok(), findings.summary(), account(&findings)), Some(findings)),
        Err(failure) => (failure, None),
    }
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

fn job(path: PathBuf, text: String, launch: Option<String>, device: String, chosen: Chosen, options: &Options) -> exec::Job {
    exec::Job {
        path,
        text,
        task: exec::Task::Run,
        launch,
        device,
        verify: exec::Verify::WherePossible,
        save: None,
        chosen,
        expect: Vec::new(),
        limits: Limits { seconds: options.run_timeout_seconds as f64, memory_bytes: None },
        attended: true,
    }
}

/// Runs a job beside the server, for as long as somebody waits for it.
async fn watched<T: Send + 'static>(runs: &Runs, work: impl FnOnce(&Cancel) -> T + Send + 'static) -> Result<T, JoinError> {
    let own = Ends(runs.begin());
    let cancel = own.0.clone();
    let outcome = tokio::task::spawn_blocking(move || work(&cancel)).await;
    drop(own);
    outcome
}

/// Ends its run when dropped: with the future of a request that is cancelled.
struct Ends(Cancel);

impl Drop for Ends {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

fn failed(text: String) -> Value {
    let summary = text.lines().next().unwrap_or_default();
    json!({ "ok": false, "summary": summary, "text": text })
}
