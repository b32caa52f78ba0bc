//! A language client without an editor: JSON-RPC over the pipes of a real server process.
//!
//! **Every wait has a limit, and the process is gone when the client is.**

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

const LIMIT: Duration = Duration::from_secs(60);

pub struct Client {
    child: Child,
    stdin: Option<ChildStdin>,
    stderr: Option<JoinHandle<String>>,
    messages: Receiver<Value>,
    notifications: VecDeque<Value>,
    /// What the server asked of the client, in order; each was answered.
    pub asked: Vec<Value>,
    /// The answer to `initialize`.
    pub offered: Value,
    settings: Value,
    next_id: i64,
}

impl Client {
    /// Starts `tritium lsp` and initialises it. `environment` is added to the server's.
    pub fn start(environment: &[(&str, &str)], settings: &Value) -> Client {
        let capabilities =
            json!({ "general": { "positionEncodings": ["utf-16"] }, "textDocument": { "publishDiagnostics": {} } });
        Client::start_as(environment, json!({ "capabilities": capabilities, "initializationOptions": settings }))
    }

    /// As a client that initialises with these parameters.
    pub fn start_as(environment: &[(&str, &str)], parameters: Value) -> Client {
        let mut client = Client::connect(environment);
        client.settings = parameters.get("initializationOptions").cloned().unwrap_or_default();
        client.offered = client.request("initialize", parameters);
        client.notify("initialized", json!({}));
        client
    }

    /// Starts `tritium lsp` and says nothing to it.
    pub fn connect(environment: &[(&str, &str)]) -> Client {
        let mut command = Command::new(crate::tritium());
        command.arg("lsp").envs(environment.iter().copied());
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the server starts");
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take().expect("piped"));
        let stderr = child.stderr.take().map(|stderr| {
            thread::spawn(move || {
                let lines = BufReader::new(stderr).lines().map_while(Result::ok);
                lines.inspect(|line| eprintln!("{line}")).map(|line| line + "\n").collect()
            })
        });
        let (sender, messages) = channel();
        thread::spawn(move || {
            let mut reader = BufReader::new(stdout);
            while let Some(message) = read_message(&mut reader) {
                if sender.send(message).is_err() {
                    break;
                }
            }
        });
        let (notifications, asked, settings) = (VecDeque::new(), Vec::new(), Value::Null);
        Client { child, stdin, stderr, messages, notifications, asked, offered: Value::Null, settings, next_id: 1 }
    }

    pub fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    /// The result; an error answer fails the test.
    pub fn request(&mut self, method: &str, params: Value) -> Value {
        let answer = self.try_request(method, params);
        assert!(answer.get("error").is_none(), "{method}: {}", answer["error"]);
        answer["result"].clone()
    }

    /// The whole answer, error or result.
    pub fn try_request(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params);
        self.answer(id)
    }

    /// Sends a request and does not wait.
    pub fn ask(&mut self, method: &str, params: Value) -> i64 {
        let id = self.next_id;
        self.next_id += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    /// The whole answer to a request that was sent before.
    pub fn answer(&mut self, id: i64) -> Value {
        let is_answer = |message: &Value| message["id"] == json!(id) && message.get("method").is_none();
        if let Some(at) = self.notifications.iter().position(is_answer) {
            return self.notifications.remove(at).expect("it was just found");
        }
        self.wait(&format!("request {id}"), is_answer)
    }

    /// Gives up on a request; the server still answers it.
    pub fn cancel(&mut self, id: i64) {
        self.notify("$/cancelRequest", json!({ "id": id }));
    }

    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// Everything that has come and was not asked for yet.
    pub fn take_notifications(&mut self, method: &str) -> Vec<Value> {
        while let Ok(message) = self.messages.try_recv() {
            self.keep(message);
        }
        let (taken, left) = std::mem::take(&mut self.notifications).into_iter().partition(|m| m["method"] == json!(method));
        self.notifications = left;
        let taken: VecDeque<Value> = taken;
        taken.into_iter().map(|m| m["params"].clone()).collect()
    }

    /// What the server asks is answered at once; the rest waits to be looked for.
    fn keep(&mut self, message: Value) {
        if message.get("method").is_some() && message.get("id").is_some() {
            let result = match message["method"].as_str() {
                Some("workspace/configuration") => {
                    let items = message["params"]["items"].as_array().map_or(0, Vec::len);
                    json!(vec![self.settings.clone(); items])
                }
                _ => Value::Null,
            };
            self.send(&json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }));
            self.asked.push(message);
            return;
        }
        self.notifications.push_back(message);
    }

    /// The next notification of a method that satisfies `wanted`.
    pub fn notification(&mut self, method: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let fits = |message: &Value| message["method"] == json!(method) && wanted(&message["params"]);
        if let Some(at) = self.notifications.iter().position(fits) {
            return self.notifications.remove(at).expect("it was just found")["params"].clone();
        }
        self.wait(method, fits)["params"].clone()
    }

    /// The next notification of a method, if one comes in time.
    pub fn notification_within(&mut self, method: &str, limit: Duration) -> Option<Value> {
        let fits = |message: &Value| message["method"] == json!(method);
        if let Some(at) = self.notifications.iter().position(fits) {
            return self.notifications.remove(at).map(|message| message["params"].clone());
        }
        let deadline = Instant::now() + limit;
        loop {
            let message = self.messages.recv_timeout(deadline.saturating_duration_since(Instant::now())).ok()?;
            if fits(&message) {
                return Some(message["params"].clone());
            }
            self.keep(message);
        }
    }

    /// What the server is told from now on when it asks for its settings.
    pub fn answer_settings(&mut self, settings: &Value) {
        self.settings = settings.clone();
    }

    /// The errors that have come, and that answer no request of ours.
    pub fn take_errors(&mut self) -> Vec<Value> {
        let (taken, left) = std::mem::take(&mut self.notifications).into_iter().partition(|m| m.get("error").is_some());
        self.notifications = left;
        let taken: VecDeque<Value> = taken;
        taken.into()
    }

    /// Sends bytes as they are.
    pub fn send_bytes(&mut self, bytes: &[u8]) {
        let input = self.stdin.as_mut().expect("it was not closed");
        input.write_all(bytes).and_then(|()| input.flush()).expect("the server reads");
    }

    /// Closes the server's input.
    pub fn close_input(&mut self) {
        self.stdin = None;
    }

    /// Waits until the server ends: its exit code, and what it said on standard error.
    pub fn ended(mut self) -> (Option<i32>, String) {
        let deadline = Instant::now() + LIMIT;
        loop {
            if let Some(status) = self.child.try_wait().expect("it is our child") {
                let said = self.stderr.take().and_then(|reading| reading.join().ok());
                return (status.code(), said.unwrap_or_default());
            }
            assert!(Instant::now() < deadline, "the server does not end");
            thread::sleep(Duration::from_millis(10));
        }
    }

    fn wait(&mut self, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + LIMIT;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let message = self.messages.recv_timeout(left).unwrap_or_else(|_| panic!("{what}: no answer within {LIMIT:?}"));
            if fits(&message) {
                return message;
            }
            self.keep(message);
        }
    }

    fn send(&mut self, message: &Value) {
        let body = message.to_string();
        self.send_bytes(format!("Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes());
    }

    pub fn open(&mut self, path: &Path, text: &str) -> String {
        let uri = format!("file://{}", path.display());
        let document = json!({ "uri": uri, "languageId": "python", "version": 1, "text": text });
        self.notify("textDocument/didOpen", json!({ "textDocument": document }));
        uri
    }

    pub fn change(&mut self, uri: &str, version: i32, text: &str) {
        let document = json!({ "uri": uri, "version": version });
        self.notify("textDocument/didChange", json!({ "textDocument": document, "contentChanges": [{ "text": text }] }));
    }

    /// The diagnostics of one version.
    pub fn diagnostics(&mut self, uri: &str, version: i32) -> Vec<Value> {
        let of = |p: &Value| p["uri"] == json!(uri) && p["version"] == json!(version);
        loop {
            let pushed = self.notification("textDocument/publishDiagnostics", of)["diagnostics"].clone();
            // What the active specialisations find may come before the rest.
            let pulled = self.request("textDocument/diagnostic", json!({ "textDocument": { "uri": uri } }));
            if pulled["items"] == pushed {
                return pushed.as_array().cloned().unwrap_or_default();
            }
        }
    }

    /// Hover text where `needle` first stands.
    pub fn hover(&mut self, uri: &str, text: &str, needle: &str) -> String {
        let params = json!({ "textDocument": { "uri": uri }, "position": position(text, needle) });
        let hover = self.request("textDocument/hover", params);
        hover["contents"]["value"].as_str().unwrap_or_default().to_owned()
    }

    /// Asks the server to end, and sees that it does.
    pub fn stop(mut self) {
        self.request("shutdown", Value::Null);
        self.notify("exit", Value::Null);
        let deadline = Instant::now() + LIMIT;
        while self.child.try_wait().expect("it is our child").is_none() {
            assert!(Instant::now() < deadline, "the server does not end");
            thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Where `needle` first stands; the tests' kernels are ASCII.
pub fn position(text: &str, needle: &str) -> Value {
    let at = text.find(needle).unwrap_or_else(|| panic!("`{needle}` is not in the text"));
    let line = text[..at].matches('\n').count();
    let column = at - text[..at].rfind('\n').map_or(0, |n| n + 1);
    json!({ "line": line, "character": column })
}

fn read_message(reader: &mut impl BufRead) -> Option<Value> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if line == "\r\n" {
            break;
        }
        if let Some(value) = line.strip_prefix("Content-Length: ") {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    serde_json::from_slice(&body).ok()
}
