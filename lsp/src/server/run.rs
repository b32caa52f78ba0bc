//! Running a kernel for the editor.
//!
//! The run happens in a child process with a time limit, on the buffer's text as it is: a kernel that hangs, faults or takes its process
//! down costs the child, never the server. **Invariant:** the answer always says what happened, in `text`.

use std::{path::PathBuf, str::FromStr, time::Duration};

use serde_json::{Value, json};
use tower_lsp::ls_types::Uri;
use tritium_runtime::exec;
use tritium_semantics::project::Project;

use crate::ide::Options;

/// The argument of the command.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) uri: Uri,
    pub(crate) launch: Option<String>,
}

impl Request {
    pub(crate) fn from_json(value: &Value) -> Result<Request, String> {
        let uri = value.get("uri").and_then(Value::as_str).ok_or("the argument needs a `uri`")?;
        let uri = Uri::from_str(uri).map_err(|e| format!("`{uri}` is not a URI: {e}"))?;
        Ok(Request { uri, launch: value.get("launch").and_then(Value::as_str).map(str::to_owned) })
    }
}

/// `{ok, summary, text, …}`: `summary` is one line and `text` the whole, for people; a finished run adds the fields of `tritium run --output-format json`.
pub(crate) async fn run(path: PathBuf, text: String, request: Request, options: &Options, project: &Project) -> Value {
    let job = exec::Job {
        path,
        text,
        launch: request.launch,
        device: options.device.clone(),
        verify: exec::Verify::WherePossible,
        save: None,
        triton: project.triton.clone(),
        gpu: project.known_everywhere().to_owned(),
        config: None,
        expect: Vec::new(),
    };
    let limit = Duration::from_secs(options.run_timeout_seconds);
    let outcome = tokio::task::spawn_blocking(move || exec::in_child(&job, limit)).await;
    match outcome {
        Ok(Ok(report)) => {
            let mut value = serde_json::to_value(&report).unwrap_or_default();
            if let Value::Object(fields) = &mut value {
                fields.insert("ok".to_owned(), json!(report.ok()));
                fields.insert("summary".to_owned(), json!(report.summary()));
                fields.insert("text".to_owned(), json!(report.to_string()));
            }
            value
        }
        Ok(Err(error)) => failed(error.to_string()),
        Err(error) => failed(format!("the run could not be started: {error}")),
    }
}

fn failed(text: String) -> Value {
    let summary = text.lines().next().unwrap_or_default();
    json!({ "ok": false, "summary": summary, "text": text })
}
