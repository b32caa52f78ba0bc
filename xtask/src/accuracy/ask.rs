//! Asks `tritium batch` many questions at once.
//!
//! **A question that the program did not live to answer has no answer; nothing is made up for it.**

use std::{
    collections::HashMap,
    io::{self, Write as _},
    process::{Command, Output, Stdio},
    thread::JoinHandle,
};

use serde_json::Value;

use super::Judge;

/// The Triton whose answers are recorded.
pub(crate) const TRITON: &str = "3.6";

pub(crate) struct Answer {
    pub ok: bool,
    pub complete: bool,
    /// `CODE message` of every error.
    pub errors: Vec<String>,
    /// The errors say only that something is not known yet.
    pub unknown: bool,
    /// `(function, line, name, type)`; the function of a helper's binding only.
    pub values: Vec<(Option<String>, u64, String, String)>,
    pub expressions: usize,
    pub unreached: usize,
    pub typed: usize,
}

/// One answer a request, in their order.
pub(crate) fn ask(judge: &Judge, requests: Vec<Value>) -> Result<Vec<Option<Answer>>, String> {
    let answers = batch(judge, requests, "types")?;
    Ok(answers.iter().map(|value| value.as_ref().map(answer)).collect())
}

/// The same as they are written, after this stage; as many programs answer as there are cores.
pub(crate) fn batch(judge: &Judge, requests: Vec<Value>, through: &str) -> Result<Vec<Option<Value>>, String> {
    let count = requests.len();
    let jobs = std::thread::available_parallelism().map_or(1, usize::from).clamp(1, 8);
    let mut texts = vec![String::new(); jobs];
    for (id, mut request) in requests.into_iter().enumerate() {
        request["id"] = id.into();
        if request["triton"].is_null() {
            request["triton"] = TRITON.into();
        }
        texts[id % jobs] += &format!("{request}\n");
    }
    let running: Vec<_> = texts.into_iter().map(|text| start(judge, text, through)).collect::<Result<_, _>>()?;
    let mut answers: HashMap<u64, Value> = HashMap::new();
    for child in running {
        let output = child.join().map_err(|_| "a thread that waits ended early")?.map_err(|e| e.to_string())?;
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            let value: Value = serde_json::from_str(line).map_err(|e| format!("not an answer: {e}: {line}"))?;
            if let Some(id) = value["id"].as_u64() {
                answers.insert(id, value);
            }
        }
    }
    Ok((0..count as u64).map(|id| answers.remove(&id)).collect())
}

/// One program with its questions, and who waits for it.
fn start(judge: &Judge, text: String, through: &str) -> Result<JoinHandle<io::Result<Output>>, String> {
    let mut child = Command::new(&judge.tritium)
        .args(["batch", "-", "--through", through])
        .current_dir(&judge.corpora)
        .env("TRITIUM_BIN", &judge.tritium)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|e| format!("{}: {e}", judge.tritium.display()))?;
    let mut stdin = child.stdin.take().ok_or("no way to ask")?;
    // Its answers would fill the pipe before all questions are asked.
    let asking = std::thread::spawn(move || stdin.write_all(text.as_bytes()));
    Ok(std::thread::spawn(move || {
        let output = child.wait_with_output();
        let _ = asking.join();
        output
    }))
}

fn answer(value: &Value) -> Answer {
    let text = |v: &Value| v.as_str().unwrap_or_default().to_owned();
    let count = |v: &Value| v.as_u64().unwrap_or(0) as usize;
    let list = |v: &Value| v.as_array().cloned().unwrap_or_default();
    let found = list(&value["diagnostics"]);
    let of = |severity: &'static str| found.iter().filter(move |d| d["severity"] == severity);
    let complete = value["complete"].as_bool() == Some(true);
    let limits =
        of("error").any(|d| d["code"] == "LIM002") || found.iter().any(|d| d["code"] == "LIM002" || d["code"] == "REQUEST");
    Answer {
        ok: value["ok"].as_bool() == Some(true),
        complete,
        errors: of("error").map(|d| format!("{} {} (line {})", text(&d["code"]), text(&d["message"]), d["line"])).collect(),
        unknown: limits,
        values: list(&value["values"])
            .iter()
            .map(|v| {
                (v["function"].as_str().map(str::to_owned), v["line"].as_u64().unwrap_or(0), text(&v["name"]), text(&v["type"]))
            })
            .collect(),
        expressions: count(&value["expressions"]),
        unreached: count(&value["unreached"]),
        typed: count(&value["typed_expressions"]),
    }
}
