//! Requests that the protocol has no name for: views, charts, the configuration matrix, and what is looked at.
//!
//! | request | answers |
//! |---|---|
//! | `tritium/view` | a stage of a kernel as text, with the lines of the source for each of its lines |
//! | `tritium/configurations` | every launch and autotune configuration of a kernel as a column |
//! | `tritium/occupancy`, `tritium/roofline`, `tritium/layout`, `tritium/history` | a chart as SVG and as text |
//! | `tritium/report` | what a kernel takes and costs, as Markdown: its hover and all that is behind it |
//! | `tritium/choices` | the configurations, boards and versions of Triton to choose from, the chosen ones, and what is not checked |
//! | `tritium/launches` | what a file launches, by kernel and with its range; without a document, the files of the workspace that mention Triton |
//!
//! All others take `{textDocument, position?, kernel?, configuration?}`; the kernel is the one at the position where none is named.
//! **Invariant:** what cannot be shown is an answer with a `problem`, never an error: an editor shows it in the place of the view. No
//! request holds a snapshot while a compiler runs.

use std::{
    str::FromStr as _,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};
use tower_lsp::{
    LspServiceBuilder,
    jsonrpc::{Error, Result},
    ls_types as lsp,
};

use tritium_ide::{
    Options,
    code_lens::Runnable,
    emit::{Choice, Refusal, Stage},
};

use crate::{
    analysis::Task,
    backend::{Backend, Document, to_error},
    convert,
};

/// Makes a configuration the one that answers for its kernel: `{uri, kernel, configuration}`; without a configuration the first does again.
pub(crate) const ACTIVATE: &str = "tritium.server.activate";

/// How long a request that waits for exact figures waits at most; who wants more asks again.
const PATIENCE: Duration = Duration::from_secs(10);

/// Adds the requests to the service.
pub(crate) fn serve(service: LspServiceBuilder<Backend>) -> LspServiceBuilder<Backend> {
    service
        .custom_method("tritium/view", Backend::view)
        .custom_method("tritium/configurations", Backend::configurations)
        .custom_method("tritium/occupancy", Backend::occupancy)
        .custom_method("tritium/roofline", Backend::roofline)
        .custom_method("tritium/layout", Backend::layout)
        .custom_method("tritium/history", Backend::history)
        .custom_method("tritium/report", Backend::report)
        .custom_method("tritium/choices", Backend::choices)
        .custom_method("tritium/launches", Backend::launches)
}

/// The settings, and among them the configurations that the person chose by command.
#[derive(Default)]
pub(crate) struct ViewOptions(Mutex<Options>);

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Params {
    text_document: lsp::TextDocumentIdentifier,
    position: Option<lsp::Position>,
    kernel: Option<String>,
    configuration: Option<String>,
    stage: Option<Stage>,
    /// Wait until the compiler has answered, as long as that is sensible.
    #[serde(default)]
    wait: bool,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LaunchesParams {
    text_document: Option<lsp::TextDocumentIdentifier>,
}

/// What was asked about, found in a document.
struct Asked {
    choice: Choice,
    offset: Option<usize>,
}

impl Params {
    fn asked(&self, document: &Document) -> Asked {
        let offset = self.position.and_then(|position| document.offset(position));
        let first = || document.offsets(lsp::Range::default()).start;
        let kernel = self.kernel.clone().or_else(|| document.analysis.kernel_at(&document.path, offset.unwrap_or_else(first)));
        Asked { choice: Choice { kernel, launch: self.configuration.clone(), ..Choice::default() }, offset }
    }
}

fn problem(message: impl Into<String>) -> Value {
    json!({ "problem": message.into() })
}

fn told<T: Serialize>(answer: std::result::Result<T, Refusal>) -> Value {
    match answer {
        Ok(value) => serde_json::to_value(value).unwrap_or_default(),
        Err(Refusal::Request(message) | Refusal::Kernel(message)) => problem(message),
    }
}

const NO_TRITON: &str = "this file has no Triton kernel";

impl Backend {
    /// Settings of the editor; what was chosen by command stays chosen.
    pub(crate) fn configure(&self, mut options: Options) {
        let mut view_options = self.view_options.0.lock().unwrap_or_else(PoisonError::into_inner);
        options.active = std::mem::take(&mut view_options.active);
        *view_options = options.clone();
        // They speak of another board, perhaps.
        self.cache.forget_remarks();
        self.owner.send(Task::Configure(Box::new(options)));
    }

    pub(crate) fn activate(&self, argument: Value) -> Result<Option<Value>> {
        let text = |key: &str| argument.get(key).and_then(Value::as_str);
        let (Some(uri), Some(kernel)) = (text("uri"), text("kernel")) else {
            return Err(Error::invalid_params("the argument needs a `uri` and a `kernel`"));
        };
        let path = lsp::Uri::from_str(uri).ok().and_then(|uri| self.files.path(&uri));
        let path = path.ok_or_else(|| Error::invalid_params(format!("`{uri}` is no file")))?;
        let key = (path, kernel.to_owned());
        let mut view_options = self.view_options.0.lock().unwrap_or_else(PoisonError::into_inner);
        match text("configuration") {
            Some(configuration) => view_options.active.insert(key, configuration.to_owned()),
            None => view_options.active.remove(&key),
        };
        self.owner.send(Task::Configure(Box::new(view_options.clone())));
        drop(view_options);
        self.refresh();
        Ok(Some(Value::Null))
    }

    pub(crate) async fn view(&self, params: Params) -> Result<Value> {
        let uri = params.text_document.uri.clone();
        let Some(stage) = params.stage else { return Err(Error::invalid_params("a view needs a `stage`")) };
        let drafted = self.document(&uri, move |document| {
            let Asked { choice, .. } = params.asked(document);
            let draft = document.analysis.view(&document.path, stage, &choice)?;
            Ok((draft, document.analysis.shared_artefacts(), document.part.clone()))
        });
        let (draft, artefacts, part) = match drafted.await? {
            None => return Ok(problem(NO_TRITON)),
            Some(Err(refusal)) => return Ok(told::<Value>(Err(refusal))),
            Some(Ok(drafted)) => drafted,
        };
        let finished = tokio::task::spawn_blocking(move || draft.finish(&artefacts)).await;
        let view = finished.unwrap_or_else(|error| Err(format!("a mistake in Tritium: the view was not made ({error})")));
        let view = view.map(|mut view| {
            for lines in &mut view.lines {
                *lines = lines.iter().filter_map(|line| part.own_line(*line)).collect();
            }
            view
        });
        Ok(told(view.map_err(Refusal::Kernel)))
    }

    pub(crate) async fn configurations(&self, params: Params) -> Result<Value> {
        let wait = params.wait;
        self.until_exact(wait, &params, |document, asked| {
            let kernel = asked.choice.kernel.as_deref()?;
            let matrix = document.analysis.matrix(&document.path, kernel, false)?;
            let mut value = serde_json::to_value(&matrix).unwrap_or_default();
            if let Value::Object(fields) = &mut value {
                fields.insert("text".to_owned(), json!(matrix.text()));
            }
            Some((value, matrix.pending > 0))
        })
        .await
    }

    pub(crate) async fn occupancy(&self, params: Params) -> Result<Value> {
        self.until_exact(params.wait, &params, |document, asked| {
            Some(match document.analysis.occupancy_chart(&document.path, &asked.choice, false) {
                Ok((chart, pending)) => (serde_json::to_value(chart).unwrap_or_default(), pending),
                Err(refusal) => (told::<Value>(Err(refusal)), false),
            })
        })
        .await
    }

    pub(crate) async fn roofline(&self, params: Params) -> Result<Value> {
        self.until_exact(false, &params, |document, asked| {
            let chart = document.analysis.roofline_chart(&document.path, &asked.choice);
            let mut active = None;
            let chart = chart.map(|(chart, id)| (chart, active = Some(id)).0);
            let mut value = told(chart);
            if let Value::Object(fields) = &mut value {
                fields.extend(active.map(|id| ("active".to_owned(), json!(id))));
            }
            Some((value, false))
        })
        .await
    }

    pub(crate) async fn layout(&self, params: Params) -> Result<Value> {
        self.until_exact(false, &params, |document, asked| {
            Some((told(document.analysis.layout_chart(&document.path, &asked.choice, asked.offset)), false))
        })
        .await
    }

    pub(crate) async fn history(&self, params: Params) -> Result<Value> {
        self.until_exact(false, &params, |document, asked| {
            Some((told(document.analysis.history_chart(&document.path, &asked.choice)), false))
        })
        .await
    }

    pub(crate) async fn report(&self, params: Params) -> Result<Value> {
        self.until_exact(params.wait, &params, |document, asked| {
            Some(match document.analysis.kernel_report(&document.path, &asked.choice) {
                Ok((report, pending)) => (serde_json::to_value(report).unwrap_or_default(), pending),
                Err(refusal) => (told::<Value>(Err(refusal)), false),
            })
        })
        .await
    }

    pub(crate) async fn choices(&self, params: Params) -> Result<Value> {
        self.until_exact(false, &params, |document, asked| {
            let choices = document.analysis.choices(&document.path, asked.choice.kernel.as_deref());
            Some((serde_json::to_value(choices).unwrap_or_default(), false))
        })
        .await
    }

    pub(crate) async fn launches(&self, params: LaunchesParams) -> Result<Value> {
        let Some(document) = params.text_document else {
            let files = self.owner.read(|analysis| analysis.files_with_kernels());
            let uris =
                files.await.map_err(to_error)?.iter().filter_map(|path| convert::uri(path)).map(|uri| json!(uri)).collect();
            return Ok(json!({ "files": Value::Array(uris) }));
        };
        let found = self.document(&document.uri, |document| {
            let runnables = document.analysis.runnables(&document.path).into_iter();
            let one = |found: Runnable| {
                Some(json!({ "kernel": found.kernel, "launch": found.launch, "range": document.range(&found.range)? }))
            };
            runnables.filter_map(one).collect::<Vec<Value>>()
        });
        Ok(json!({ "launches": found.await?.unwrap_or_default() }))
    }

    /// Reads again whenever an exact figure arrives, until none is awaited, if the asker waits.
    async fn until_exact(
        &self,
        wait: bool,
        params: &Params,
        read: impl Fn(&Document, &Asked) -> Option<(Value, bool)> + Clone + Send + Sync + 'static,
    ) -> Result<Value> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            // Made before the question, so that no arrival after it is missed.
            let arrival = self.arrivals.notified();
            let (asked, read) = (params.clone(), read.clone());
            let answer = self.document(&params.text_document.uri, move |document| read(document, &asked.asked(document)));
            let Some(answer) = answer.await? else { return Ok(problem(NO_TRITON)) };
            let Some((value, pending)) = answer else { return Ok(problem(NO_TRITON)) };
            if !pending || !wait || timeout_at(deadline, arrival).await.is_err() {
                return Ok(value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, ReadHalf, WriteHalf};

    use super::*;
    use tritium_ide::Host;

    /// A client in this very process.
    struct Client {
        input: WriteHalf<DuplexStream>,
        output: BufReader<ReadHalf<DuplexStream>>,
        requests: i64,
    }

    impl Client {
        async fn start() -> Client {
            let (ours, theirs) = tokio::io::duplex(1 << 20);
            let (server_input, server_output) = tokio::io::split(theirs);
            tokio::spawn(crate::serve(server_input, server_output, Host::default()));
            let (output, input) = tokio::io::split(ours);
            let mut client = Client { input, output: BufReader::new(output), requests: 0 };
            client.request("initialize", json!({ "capabilities": {} })).await;
            client.notify("initialized", json!({})).await;
            client
        }

        async fn send(&mut self, message: Value) {
            let body = message.to_string();
            let framed = format!("Content-Length: {}\r\n\r\n{body}", body.len());
            self.input.write_all(framed.as_bytes()).await.expect("the server reads");
        }

        async fn notify(&mut self, method: &str, params: Value) {
            self.send(json!({ "jsonrpc": "2.0", "method": method, "params": params })).await;
        }

        /// The result; an answer that a change made pointless is asked for again.
        async fn request(&mut self, method: &str, params: Value) -> Value {
            loop {
                self.requests += 1;
                let id = self.requests;
                self.send(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })).await;
                let answer = loop {
                    let message = self.read().await;
                    if message["id"] == json!(id) {
                        break message;
                    }
                };
                match answer["error"]["code"].as_i64() {
                    None => return answer["result"].clone(),
                    Some(-32801) => {}
                    Some(_) => panic!("{method}: {answer}"),
                }
            }
        }

        async fn read(&mut self) -> Value {
            let mut length = 0;
            loop {
                let mut line = String::new();
                self.output.read_line(&mut line).await.expect("the server writes");
                match line.trim().strip_prefix("Content-Length: ") {
                    Some(n) => length = n.parse().expect("a number"),
                    None if line.trim().is_empty() => break,
                    None => {}
                }
            }
            let mut body = vec![0; length];
            self.output.read_exact(&mut body).await.expect("the whole message");
            serde_json::from_slice(&body).expect("JSON")
        }

        async fn open(&mut self, text: &str) -> Value {
            let document = json!({ "uri": "file:///nowhere/k.py", "languageId": "python", "version": 1, "text": text });
            self.notify("textDocument/didOpen", json!({ "textDocument": document })).await;
            json!({ "uri": "file:///nowhere/k.py" })
        }
    }

    const TUNED: &str = r#"import torch
import triton
import triton.language as tl


@triton.autotune(
    configs=[
        triton.Config({"BLOCK": 128}, num_warps=4),
        triton.Config({"BLOCK": 1024}, num_warps=8),
    ],
    key=["n"],
)
@triton.jit
def scale(X, Y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    x = tl.load(X + at, mask=inside)
    tl.store(Y + at, x * 2.0, mask=inside)


x = torch.empty(4096, device="cuda")
y = torch.empty_like(x)
scale[lambda meta: (triton.cdiv(4096, meta["BLOCK"]),)](x, y, 4096)
"#;

    fn on_runtime<T>(act: impl std::future::Future<Output = T>) -> T {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().thread_stack_size(16 << 20).build();
        runtime.expect("threads can be started").block_on(act)
    }

    fn line_of(text: &str, needle: &str) -> u64 {
        text.lines().position(|line| line.contains(needle)).expect(needle) as u64
    }

    #[test]
    fn a_view_maps_its_lines_to_the_source_and_back() {
        on_runtime(async {
            let mut client = Client::start().await;
            let document = client.open(TUNED).await;
            let load = line_of(TUNED, "tl.load");
            for (stage, word) in
                [("tile", "load"), ("layout", "load"), ("llvm", "ld.global"), ("source", "tl.load"), ("types", "x: f32[128]")]
            {
                let view = client.request("tritium/view", json!({ "textDocument": document, "stage": stage })).await;
                let text = view["text"].as_str().unwrap_or_else(|| panic!("{stage}: {view}"));
                let lines = view["lines"].as_array().expect("a map");
                assert_eq!(lines.len(), text.lines().count(), "{stage}");
                let at = line_of(text, word) as usize;
                assert_eq!(lines[at], json!([load]), "{stage}: {}", text.lines().nth(at).unwrap_or_default());
            }
            for (stage, line) in [("tree", 0), ("items", line_of(TUNED, "@triton.autotune"))] {
                let view = client.request("tritium/view", json!({ "textDocument": document, "stage": stage })).await;
                assert_eq!(view["lines"][0], json!([line]), "{view}");
            }
            let passes = client.request("tritium/view", json!({ "textDocument": document, "stage": "passes" })).await;
            assert!(passes["text"].as_str().is_some_and(|t| t.contains("// after coalesce")), "{passes}");
        });
    }

    #[test]
    fn what_cannot_be_shown_is_a_problem_and_no_error() {
        on_runtime(async {
            let mut client = Client::start().await;
            let document = client.open(&TUNED.replace("mask=inside)\n    tl.store", "mask=nothing)\n    tl.store")).await;
            let view = client.request("tritium/view", json!({ "textDocument": document, "stage": "layout" })).await;
            assert!(view["problem"].as_str().is_some_and(|p| p.contains("`scale` does not compile")), "{view}");
            let plain = client
                .request("tritium/view", json!({ "textDocument": { "uri": "file:///nowhere/p.py" }, "stage": "ptx" }))
                .await;
            assert_eq!(plain, json!({ "problem": NO_TRITON }));
        });
    }

    #[test]
    fn every_configuration_is_a_column_and_one_is_active() {
        on_runtime(async {
            let mut client = Client::start().await;
            let document = client.open(TUNED).await;
            let ask = json!({ "textDocument": document, "position": { "line": line_of(TUNED, "tl.load"), "character": 4 } });
            let matrix = client.request("tritium/configurations", ask.clone()).await;
            let labels: Vec<&str> =
                matrix["columns"].as_array().expect("columns").iter().filter_map(|c| c["label"].as_str()).collect();
            assert_eq!(labels, ["BLOCK=128 warps=4", "BLOCK=1024 warps=8"], "{matrix}");
            let programs =
                matrix["rows"].as_array().and_then(|rows| rows.iter().find(|r| r["name"] == "programs")).expect("a row");
            assert_eq!(programs["cells"], json!(["32", "4"]));
            assert_eq!(matrix["columns"][0]["is_active"], json!(true));
            let argument = json!({ "uri": document["uri"], "kernel": "scale", "configuration": matrix["columns"][1]["id"] });
            client.request("workspace/executeCommand", json!({ "command": ACTIVATE, "arguments": [argument] })).await;
            // A change of settings keeps the choice.
            client.notify("workspace/didChangeConfiguration", json!({ "settings": { "tritium": { "gpu": "A100" } } })).await;
            let choices = client.request("tritium/choices", ask.clone()).await;
            assert_eq!(choices["configurations"][1]["is_active"], json!(true), "{choices}");
            let gpu = choices["gpus"].as_array().and_then(|all| all.iter().find(|g| g["is_active"] == true)).expect("a board");
            assert_eq!(gpu["id"], json!("A100"));
            let hover =
                json!({ "textDocument": document, "position": { "line": line_of(TUNED, "x = tl.load"), "character": 4 } });
            let hover = client.request("textDocument/hover", hover).await;
            assert!(hover["contents"]["value"].as_str().is_some_and(|t| t.contains("f32[1024]")), "{hover}");
        });
    }

    #[test]
    fn what_is_not_understood_is_counted() {
        on_runtime(async {
            let mut client = Client::start().await;
            let gluon = "from triton.experimental import gluon\n\n\n@gluon.jit\ndef copy(x):\n    pass\n\n\n";
            for (text, expected) in [
                (TUNED.to_owned(), json!([])),
                (format!("{gluon}{TUNED}"), json!(["1 Gluon kernel"])),
                // With an escape its places are not those of the file.
                (format!("{gluon}{gluon}SOURCE = '''\n{TUNED}\\n'''\n"), json!(["2 Gluon kernels", "1 kernel in a string"])),
            ] {
                let document = client.open(&text).await;
                let choices = client.request("tritium/choices", json!({ "textDocument": document })).await;
                assert_eq!(choices["unchecked"], expected, "{text}");
            }
        });
    }

    #[test]
    fn charts_are_pictures_and_text() {
        on_runtime(async {
            let mut client = Client::start().await;
            let document = client.open(TUNED).await;
            for (method, words) in [
                ("tritium/roofline", vec!["FLOP per byte of DRAM", "BLOCK=1024", "data-config=\"1\""]),
                ("tritium/occupancy", vec!["registers per thread", "limited by", "◀ now"]),
                ("tritium/layout", vec!["w0 t0", "of 128 threads"]),
            ] {
                let ask = json!({ "textDocument": document, "position": { "line": line_of(TUNED, "tl.load"), "character": 8 } });
                let chart = client.request(method, ask).await;
                let (svg, text) = (chart["svg"].as_str().unwrap_or_default(), chart["text"].as_str().unwrap_or_default());
                assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"), "{method}: {chart}");
                for word in words {
                    assert!(svg.contains(word) || text.contains(word), "{method} does not say `{word}`:\n{text}\n{svg}");
                }
            }
            let ask = json!({ "textDocument": document, "position": { "line": line_of(TUNED, "tl.load"), "character": 8 } });
            let history = client.request("tritium/history", ask).await;
            assert!(history["problem"].as_str().is_some_and(|why| why.starts_with("nothing was measured of `")), "{history}");
        });
    }
}
