//! The language server as an editor sees it: a real process, its pipes, JSON-RPC.

use std::fs;
use std::path::{Path, PathBuf};

use expect_test::expect;
use serde_json::{Value, json};
use tritium_semantics::diagnostics::Code;
use tritium_tests::client::{Client, position};
use tritium_tests::pages::example as example_of;
use tritium_tests::{repository, tritium};

fn example(name: &str) -> (PathBuf, String) {
    let path = repository().join("examples").join(name);
    let text = fs::read_to_string(&path).expect("the example is there");
    (path, text)
}

/// `CODE line` of each, 1-based.
fn codes(diagnostics: &[Value]) -> Vec<String> {
    let line = |d: &Value| d["range"]["start"]["line"].as_u64().expect("a line") + 1;
    diagnostics.iter().map(|d| format!("{} {}", d["code"].as_str().expect("a code"), line(d))).collect()
}

fn whole_document(uri: &str) -> Value {
    let end = json!({ "line": 10_000, "character": 0 });
    json!({ "textDocument": { "uri": uri }, "range": { "start": { "line": 0, "character": 0 }, "end": end } })
}

#[test]
fn diagnostics_are_pushed_for_a_version_and_pulled() {
    let mut client = Client::start(&[], &json!({}));
    let (path, text) = example("five_mistakes.py");
    let uri = client.open(&path, &text);
    let pushed = client.diagnostics(&uri, 1);
    let mut found: Vec<String> = codes(&pushed).iter().map(|c| c[..6].to_owned()).collect();
    found.sort();
    assert_eq!(found, ["CTL005", "CXP001", "DOT001", "MSK001", "SHP001"]);
    assert!(pushed.iter().all(|d| d["source"] == json!("tritium") && d["codeDescription"]["href"].is_string()));
    let pulled = client.request("textDocument/diagnostic", json!({ "textDocument": { "uri": uri } }));
    assert_eq!(pulled["items"].as_array().expect("a full report").len(), 5);
    let fixed = text.replace("x + cols", "x");
    client.change(&uri, 2, &fixed);
    assert_eq!(client.diagnostics(&uri, 2).len(), 4);
    client.stop();
}

/// What is found where code is generated comes after what is found while typing, for the same version; it goes when it is put right.
#[test]
fn what_a_launch_takes_follows_the_quick_diagnostics() {
    let mut client = Client::start(&[], &json!({}));
    let text = example_of(Code::RES001, "Wrong").text;
    let uri = client.open(Path::new("/nowhere/matmul.py"), &text);
    let first = client.notification("textDocument/publishDiagnostics", |p| p["uri"] == json!(uri));
    assert_eq!(codes(first["diagnostics"].as_array().expect("a list")), Vec::<String>::new());
    let found = client.diagnostics(&uri, 1);
    assert_eq!(codes(&found), ["RES001 16"]);
    let message = found[0]["message"].as_str().expect("a message");
    assert!(message.contains("Triton takes ~245,760 bytes") && message.contains("num_stages=4 fits"), "{message}");
    assert_eq!(found[0]["relatedInformation"].as_array().map(Vec::len), Some(3), "{}", found[0]);
    let pulled = client.request("textDocument/diagnostic", json!({ "textDocument": { "uri": uri } }));
    assert_eq!(codes(pulled["items"].as_array().expect("a full report")), ["RES001 16"]);
    client.change(&uri, 2, &text.replace("num_stages = 5", "num_stages = 4"));
    assert_eq!(codes(&client.diagnostics(&uri, 2)), Vec::<String>::new());
    // Asked afterwards, so that whatever would follow has come.
    let pulled = client.request("textDocument/diagnostic", json!({ "textDocument": { "uri": uri } }));
    assert_eq!(pulled["items"].as_array().map(Vec::len), Some(0));
    client.stop();
}

/// The rules about resources answer last; until then what they said of the same text stays, in its new place.
#[test]
fn remarks_do_not_flicker() {
    let mut client = Client::start(&[], &json!({}));
    let text = example_of(Code::RES001, "Wrong").text;
    let path = Path::new("/nowhere/flicker.py");
    let uri = client.open(path, &text);
    assert_eq!(codes(&client.diagnostics(&uri, 1)), ["RES001 16"]);
    let first_of = |client: &mut Client, version: i32, text: &str| {
        client.change(&uri, version, text);
        let first =
            client.notification("textDocument/publishDiagnostics", |p| p["uri"] == json!(uri) && p["version"] == json!(version));
        let first = first["diagnostics"].as_array().cloned().expect("a list");
        // What follows is what stays.
        let pulled = client.request("textDocument/diagnostic", json!({ "textDocument": { "uri": uri } }));
        (codes(&first), codes(pulled["items"].as_array().expect("a full report")))
    };
    let same = |found: &(Vec<String>, Vec<String>), line: &str| assert_eq!(*found, (vec![line.into()], vec![line.into()]));
    // Above the kernel; a line of the kernel itself; its name, which is what the remark marks.
    let moved = format!("# Typed just now.\n{text}");
    same(&first_of(&mut client, 2, &moved), "RES001 17");
    let name = text.split_once("\ndef ").and_then(|(_, rest)| rest.split_once('(')).expect("a kernel").0;
    let typed = moved.replacen("    ", "    # And in it.\n    ", 2);
    let line = typed[..typed.find(&format!("def {name}")).expect("the kernel")].matches('\n').count();
    let found = first_of(&mut client, 3, &typed);
    assert_eq!(found.0.len(), 1, "{found:?} of a kernel on line {line}");
    assert_eq!(found.0, found.1);
    // What is not so any more goes at the latest when the rules have looked again; what is not there any more, at once.
    let found = first_of(&mut client, 4, &typed.replace("num_stages = 5", "num_stages = 4"));
    assert_eq!((found.0.len(), found.1.len()), (1, 0), "{found:?}");
    assert_eq!(codes(&client.diagnostics(&uri, 4)), Vec::<String>::new());
    client.change(&uri, 5, &text);
    assert_eq!(codes(&client.diagnostics(&uri, 5)), ["RES001 16"]);
    assert_eq!(first_of(&mut client, 6, "import triton\n"), (vec![], vec![]));
    // A file that is closed is not remembered.
    client.change(&uri, 7, &text);
    assert_eq!(codes(&client.diagnostics(&uri, 7)), ["RES001 16"]);
    client.notify("textDocument/didClose", json!({ "textDocument": { "uri": uri } }));
    client.take_notifications("textDocument/publishDiagnostics");
    client.open(path, &moved);
    let first = client.notification("textDocument/publishDiagnostics", |p| p["uri"] == json!(uri) && p["version"] == json!(1));
    assert_eq!(first["diagnostics"].as_array().map(Vec::len), Some(0), "{first}");
    client.stop();
}

/// A row of a tuner that cannot launch can be taken out; a light bulb is shown for it, too, without any code being generated for that.
#[test]
fn a_configuration_that_cannot_launch_is_named_and_removed() {
    let mut client = Client::start(&[], &json!({}));
    let text = example_of(Code::TUN004, "Wrong").text;
    let uri = client.open(Path::new("/nowhere/tuned.py"), &text);
    let found = client.diagnostics(&uri, 1);
    assert_eq!(found.len(), 1, "{found:?}");
    let message = found[0]["message"].as_str().expect("a message");
    assert!(message.ends_with("\nonly under matmul[1]"), "{message}");
    // At the row itself.
    let line = text.lines().position(|line| line.contains("num_stages=5")).expect("the row");
    assert_eq!(found[0]["range"]["start"]["line"], json!(line));
    for trigger in [1, 2] {
        let context = json!({ "diagnostics": [], "only": ["quickfix"], "triggerKind": trigger });
        let params = json!({ "textDocument": { "uri": uri }, "range": found[0]["range"], "context": context });
        let actions = client.request("textDocument/codeAction", params);
        assert_eq!(actions[0]["title"], json!("Remove matmul[1]"), "{actions}");
        assert_eq!(actions[0]["isPreferred"], json!(false), "a row may be meant for another board");
        let edits = actions[0]["edit"]["changes"][&uri].as_array().cloned().expect("edits of the file");
        assert_eq!(edits.len(), 1);
        let lines: Vec<&str> = text.lines().collect();
        let range = &edits[0]["range"];
        let at = |end: &str, part: &str| range[end][part].as_u64().expect("a number") as usize;
        // From the comma after the row before it to its end.
        assert_eq!((at("start", "line") + 1, at("end", "character")), (at("end", "line"), lines[at("end", "line")].len() - 1));
        assert!(lines[at("end", "line")].contains("num_stages=5"), "{range}");
        assert_eq!(edits[0]["newText"], json!(""));
    }
    client.stop();
}

#[test]
fn hover_hints_and_lenses_of_softmax() {
    let mut client = Client::start(&[], &json!({}));
    let (path, text) = example("softmax.py");
    let uri = client.open(&path, &text);
    assert_eq!(codes(&client.diagnostics(&uri, 1)), Vec::<String>::new());
    let value = client.hover(&uri, &text, "numerator = tl.exp");
    assert!(value.contains("numerator: f32[1024]") && value.contains("[BLOCK]"), "{value}");
    assert!(value.contains("layout: 8 elements per thread"), "{value}");
    let used = client.hover(&uri, &text, "numerator, axis");
    assert!(used.contains("layout: 8 elements per thread"), "{used}");
    let kernel = client.hover(&uri, &text, "softmax(Y, X");
    for part in [
        "shared memory",
        "(exact",
        "registers",
        "occupancy",
        "limited by",
        "FLOP/byte",
        "memory bound",
        "(estimated",
        "Tritium's compiler",
    ] {
        assert!(kernel.contains(part), "`{part}` is missing in:\n{kernel}");
    }
    let hints = client.request("textDocument/inlayHint", whole_document(&uri));
    let labels: Vec<&str> = hints.as_array().expect("hints").iter().filter_map(|h| h["label"].as_str()).collect();
    assert!(labels.contains(&": f32[1024]") && labels.iter().any(|l| l.starts_with("memory bound")), "{labels:?}");
    let lenses = client.request("textDocument/codeLens", json!({ "textDocument": { "uri": uri } }));
    assert_eq!(lenses[0]["command"]["command"], json!("tritium.run"));
    assert_eq!(lenses[0]["command"]["title"], json!("▶ Run announcement"));
    client.stop();
}

/// What a run under checks finds is shown beside the rest, until the text that it is about changes.
#[test]
fn findings_of_a_run_are_diagnostics() {
    let mut client = Client::start(&[], &json!({}));
    let (path, text) = example("softmax.py");
    let unmasked = text.replace("M = 583, N = 931", "M = 5, N = 931");
    let store = unmasked.lines().position(|line| line.contains("tl.store(")).expect("it stores");
    let line = unmasked.lines().nth(store).expect("it is there");
    let open = line.rfind(", mask=").map_or(line.to_owned(), |at| format!("{})", &line[..at]));
    let unmasked = unmasked.replace(line, &open);
    let uri = client.open(&path, &unmasked);
    client.diagnostics(&uri, 1);
    let argument = json!({ "uri": uri, "kernel": "softmax", "launch": "announcement" });
    let params = json!({ "command": "tritium.server.sanitize", "arguments": [argument] });
    let outcome = client.request("workspace/executeCommand", params);
    assert_eq!(outcome["ok"], json!(false), "{outcome}");
    assert!(outcome["text"].as_str().is_some_and(|text| text.contains("SAN001")), "{outcome}");
    let is_told = |params: &Value| {
        let all = params["diagnostics"].as_array().expect("diagnostics");
        all.iter().any(|d| d["code"] == "SAN001" && d["range"]["start"]["line"] == json!(store))
    };
    let of_file = |params: &Value| params["uri"] == json!(uri);
    client.notification("textDocument/publishDiagnostics", |params| of_file(params) && is_told(params));
    let whole = json!({ "textDocument": { "uri": uri, "version": 2 }, "contentChanges": [{ "text": text }] });
    client.notify("textDocument/didChange", whole);
    client.notification("textDocument/publishDiagnostics", |params| of_file(params) && !is_told(params));
    client.stop();
}

/// A launch that is not wholly known asks what it takes, runs with the answer, and gives the block that says so.
#[test]
fn a_launch_of_free_sizes_asks() {
    let text = "\
import torch, triton
import triton.language as tl

@triton.jit
def twice(X, Y, stride, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(X + tl.program_id(0) * stride + i, mask=i < n)
    tl.store(Y + tl.program_id(0) * stride + i, 2 * x, mask=i < n)

def doubled(x: torch.Tensor):
    M, N = x.shape
    y = torch.empty_like(x)
    twice[(M,)](x, y, x.stride(0), N, BLOCK=triton.next_power_of_2(N))
    return y
";
    let mut client = Client::start(&[], &json!({}));
    let uri = client.open(Path::new("/nowhere/doubled.py"), text);
    let lenses = client.request("textDocument/codeLens", json!({ "textDocument": { "uri": uri } }));
    assert_eq!(lenses[0]["command"]["title"], json!("▶ Run…"));
    let argument = lenses[0]["command"]["arguments"][0].clone();
    assert_eq!(argument, json!({ "uri": uri, "kernel": "twice", "launch": null, "ask": true }));
    let execute = |client: &mut Client, command: &str, argument: &Value| {
        client.request("workspace/executeCommand", json!({ "command": command, "arguments": [argument] }))
    };
    let question = execute(&mut client, "tritium.server.ask", &argument);
    let free = |name: &str, value: &str| json!({ "name": name, "value": value, "is_default": true });
    assert_eq!(question["names"], json!([free("M", "40"), free("N", "64"), free("x", "f32[M, N]")]), "{question}");
    let answered = json!({ "uri": uri, "kernel": "twice", "set": { "M": 3, "x.dtype": "f16" } });
    let outcome = execute(&mut client, "tritium.server.run", &answered);
    assert_eq!(outcome["ok"], json!(true), "{outcome}");
    assert_eq!(outcome["launches"][0]["outputs"][0]["ty"], json!("f16[3, 64]"));
    let block = "\
# /// tritium
# [launch.twice_as_asked]
# kernel = \"twice\"
# grid = [3, 1, 1]
# sizes = { M = 3, N = 64 }
# args = { X = \"f16[M, N] = normal(0, 1)\", Y = \"f16[M, N]\", stride = 64, n = 64 }
# meta = { BLOCK = 64 }
# num_warps = 4
# ///
";
    assert_eq!(outcome["block"], json!(block));
    let wrong = json!({ "uri": uri, "kernel": "twice", "set": { "Q": 3 } });
    let outcome = execute(&mut client, "tritium.server.run", &wrong);
    assert_eq!(outcome["summary"], json!("`Q` is no free name here; there are: M, N, x"));
    let kept =
        json!({ "textDocument": { "uri": uri, "version": 2 }, "contentChanges": [{ "text": format!("{text}\n{block}") }] });
    client.notify("textDocument/didChange", kept);
    let lenses = client.request("textDocument/codeLens", json!({ "textDocument": { "uri": uri } }));
    assert_eq!(lenses[0]["command"]["title"], json!("▶ Run"));
    client.stop();
}

/// The lens of a tuner's kernel names the row it runs: that of the configuration that the person looks at.
#[test]
fn the_lens_runs_the_active_configuration() {
    let text = r#"# /// tritium
# [launch.short]
# grid = [1]
# args = { X = "f32[16]" }
#
# [launch.long]
# grid = [1]
# args = { X = "f32[32]" }
# ///
import triton
import triton.language as tl


@triton.autotune(configs=[triton.Config({"BLOCK": 8}), triton.Config({"BLOCK": 16})], key=[])
@triton.jit
def scale(X, BLOCK: tl.constexpr):
    tl.store(X + tl.arange(0, BLOCK), 1.0)
"#;
    let mut client = Client::start(&[], &json!({}));
    let uri = client.open(Path::new("/nowhere/scale.py"), text);
    let lenses = |client: &mut Client| -> Vec<Value> {
        let lenses = client.request("textDocument/codeLens", json!({ "textDocument": { "uri": uri } }));
        let commands = lenses.as_array().expect("lenses").iter().map(|lens| lens["command"].clone());
        commands.filter(|command| command["command"] == "tritium.run").collect()
    };
    let titles = |client: &mut Client| -> Vec<Value> { lenses(client).iter().map(|command| command["title"].clone()).collect() };
    let execute = |client: &mut Client, command: &str, argument: &Value| {
        client.request("workspace/executeCommand", json!({ "command": command, "arguments": [argument] }))
    };
    // How many elements nobody wrote, of how many: the row and the launch.
    let unwritten = |client: &mut Client, argument: &Value| -> Vec<(u64, String)> {
        let outcome = execute(client, "tritium.server.run", argument);
        let outputs = outcome["launches"].as_array().unwrap_or_else(|| panic!("{outcome}")).iter();
        let outputs = outputs.flat_map(|launch| launch["outputs"].as_array().expect("outputs"));
        let number = |output: &Value| output["unwritten"]["count"].as_u64().unwrap_or(0);
        outputs.map(|output| (number(output), output["ty"].as_str().expect("a type").to_owned())).collect()
    };
    assert_eq!(titles(&mut client), [json!("▶ Run short:0"), json!("▶ Run long:0")]);
    let all = json!({ "uri": uri });
    assert_eq!(unwritten(&mut client, &all), [(8, "f32[16]".to_owned())]);
    let chosen = json!({ "uri": uri, "kernel": "scale", "configuration": "long:1" });
    execute(&mut client, "tritium.server.activate", &chosen);
    assert_eq!(titles(&mut client), [json!("▶ Run short:1"), json!("▶ Run long:1")]);
    let carried: Vec<Value> = lenses(&mut client).iter().map(|command| command["arguments"][0].clone()).collect();
    assert_eq!(unwritten(&mut client, &carried[0]), [(0, "f32[16]".to_owned())]);
    assert_eq!(unwritten(&mut client, &carried[1]), [(16, "f32[32]".to_owned())]);
    // A name without a row, and no name at all.
    assert_eq!(unwritten(&mut client, &json!({ "uri": uri, "launch": "short" })), [(0, "f32[16]".to_owned())]);
    assert_eq!(unwritten(&mut client, &json!({ "uri": uri, "kernel": "scale" })), [(16, "f32[32]".to_owned())]);
    assert_eq!(unwritten(&mut client, &all), [(16, "f32[32]".to_owned())]);
    // A row that is named is that row.
    assert_eq!(unwritten(&mut client, &json!({ "uri": uri, "launch": "long:0" })), [(24, "f32[32]".to_owned())]);
    client.stop();
}

#[test]
fn the_lens_runs_and_verifies_the_buffer_as_it_is() {
    let mut client = Client::start(&[], &json!({}));
    let (path, text) = example("softmax.py");
    let uri = client.open(&path, &text);
    let run = |client: &mut Client| {
        let argument = json!({ "uri": uri, "launch": "announcement", "kernel": "softmax" });
        client.request("workspace/executeCommand", json!({ "command": "tritium.server.run", "arguments": [argument] }))
    };
    let good = run(&mut client);
    assert_eq!(good["ok"], json!(true), "{good}");
    assert!(good["text"].as_str().expect("text").contains("verified"), "{good}");
    client.change(&uri, 2, &text.replace("y = numerator /", "y = 2.0 * numerator /"));
    let wrong = run(&mut client);
    assert_eq!(wrong["ok"], json!(false), "{wrong}");
    assert!(wrong["text"].as_str().expect("text").contains("MISMATCH"), "{wrong}");
    client.stop();
}

#[test]
fn the_lens_runs_a_launch_that_has_nothing_to_compare_with() {
    let mut client = Client::start(&[], &json!({}));
    let (path, text) = example("vector_add.py");
    let text: String = text.split_inclusive('\n').filter(|line| !line.starts_with("# expect")).collect();
    let uri = client.open(&path, &text);
    let argument = json!({ "uri": uri, "launch": null, "kernel": "add" });
    let answer = client.request("workspace/executeCommand", json!({ "command": "tritium.server.run", "arguments": [argument] }));
    assert_eq!(answer["ok"], json!(true), "{answer}");
    assert!(answer["summary"].as_str().expect("a summary").contains("ran, nothing compared"), "{answer}");
    client.stop();
}

#[test]
fn a_quick_fix_repairs_the_mistake() {
    let mut client = Client::start(&[], &json!({}));
    let (path, text) = example("five_mistakes.py");
    let uri = client.open(&path, &text);
    client.diagnostics(&uri, 1);
    let at = position(&text, "tl.zeros((BLOCK,)");
    let params = json!({ "textDocument": { "uri": uri }, "range": { "start": at, "end": at }, "context": { "diagnostics": [] } });
    let mut line_end = params;
    line_end["range"]["end"]["character"] = json!(60);
    let actions = client.request("textDocument/codeAction", line_end);
    let edit = &actions[0]["edit"]["changes"][&uri][0];
    assert_eq!(edit["newText"], json!(": tl.constexpr"), "{actions}");
    client.stop();
}

#[test]
fn files_without_triton_get_nothing() {
    let mut client = Client::start(&[], &json!({}));
    let text = "import numpy as np\n\ndef f(x):\n    return x +\n";
    let uri = client.open(Path::new("/nowhere/plain.py"), text);
    assert!(client.diagnostics(&uri, 1).is_empty());
    assert_eq!(client.hover(&uri, text, "np"), "");
    client.stop();
}

/// A program that stands where `tritium` does as worker, and fails in one way.
#[cfg(unix)]
fn failing_worker(folder: &Path, script: &str) -> PathBuf {
    use std::os::unix::fs::PermissionsExt as _;
    let path = folder.join("worker");
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("the folder is ours");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("the file is ours");
    path
}

/// A worker that is killed, aborts or hangs costs the exact figure and nothing else, and the hover says what happened.
#[cfg(unix)]
#[test]
fn a_failing_worker_costs_one_figure() {
    for (script, said) in [
        ("kill -KILL $$", "no exact figure: the compiler process was stopped by signal 9"),
        ("kill -ABRT $$", "no exact figure: the compiler process was stopped by signal 6"),
        ("exec sleep 600", "the exact figure is being compiled"),
    ] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let worker = failing_worker(folder.path(), script);
        let worker = worker.to_str().expect("a plain path");
        let mut client = Client::start(&[("TRITIUM_BIN", worker), ("TRITIUM_CACHE", "off")], &json!({}));
        let (path, text) = example("softmax.py");
        let uri = client.open(&path, &text);
        let mut hover = String::new();
        for _ in 0..200 {
            hover = client.hover(&uri, &text, "softmax(Y, X");
            if hover.contains(said) {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        assert!(hover.contains(said), "{script}:\n{hover}");
        assert!(hover.contains("estimated"), "{script}:\n{hover}");
        assert!(client.hover(&uri, &text, "numerator = tl.exp").contains("f32[1024]"), "{script}");
        client.stop();
    }
}

/// The same for a run: killed, aborted or hung, the server answers, says what happened, and runs the next.
#[cfg(unix)]
#[test]
fn a_failing_run_costs_one_run() {
    let real = tritium().to_str().expect("a plain path");
    for (script, said) in [
        ("kill -KILL $$", "ended without an answer (signal: 9"),
        ("kill -ABRT $$", "ended without an answer (signal: 6"),
        ("exec sleep 600", "stopped after 2 s: the run had not finished"),
    ] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let broken = folder.path().join("broken");
        fs::write(&broken, "").expect("the folder is ours");
        // Fails while the file `broken` is there, and is the real program afterwards.
        let script = format!("if [ -e {} ]; then {script}; fi\nexec {real} \"$@\"", broken.display());
        let worker = failing_worker(folder.path(), &script);
        let settings = json!({ "run": { "timeout": 2 } });
        let mut client = Client::start(&[("TRITIUM_BIN", worker.to_str().expect("a plain path"))], &settings);
        let (path, text) = example("vector_add.py");
        let uri = client.open(&path, &text);
        let run = |client: &mut Client| {
            let argument = json!({ "uri": uri, "launch": null, "kernel": "add" });
            client.request("workspace/executeCommand", json!({ "command": "tritium.server.run", "arguments": [argument] }))
        };
        let answer = run(&mut client);
        assert_eq!(answer["ok"], json!(false));
        assert!(answer["text"].as_str().expect("text").contains(said), "{answer}");
        assert!(client.hover(&uri, &text, "x + y").contains("f32[1024]"));
        fs::remove_file(&broken).expect("it is ours");
        client.notify("workspace/didChangeConfiguration", json!({ "settings": { "tritium": { "run": { "timeout": 60 } } } }));
        let answer = run(&mut client);
        assert_eq!(answer["ok"], json!(true), "{answer}");
        client.stop();
    }
}

/// What a launch was measured at is kept beside the store, and told where its kernel is hovered over.
#[test]
fn what_was_measured_is_told_later() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (cache, path) = (folder.path().join("cache"), folder.path().join("add.py"));
    let (_, text) = example("vector_add.py");
    fs::write(&path, &text).expect("the folder is ours");
    let environment = [("TRITIUM_CACHE", cache.to_str().expect("a plain path"))];
    let mut client = Client::start(&environment, &json!({}));
    let uri = client.open(&path, &text);
    assert!(!client.hover(&uri, &text, "add(X").contains("measured"));
    let argument = json!({ "uri": uri, "launch": "odd", "kernel": "add" });
    let ask = |client: &mut Client, command: &str| {
        let answer = client.request("workspace/executeCommand", json!({ "command": command, "arguments": [argument] }));
        assert_eq!(answer["ok"], json!(true), "{answer}");
    };
    ask(&mut client, "tritium.server.bench");
    let told = client.hover(&uri, &text, "add(X");
    let line = told.lines().find(|line| line.starts_with("- measured odd on cpu: ")).expect(&told);
    assert!(line.ends_with("µs (just now)") && !line.contains('`'), "{line}");
    for command in ["bench", "run", "run"] {
        ask(&mut client, &format!("tritium.server.{command}"));
    }
    client.stop();
    // Another server knows it, too.
    let mut client = Client::start(&environment, &json!({}));
    let uri = client.open(&path, &text);
    let told = client.hover(&uri, &text, "add(X");
    let line = |title: &str| told.lines().find(|line| line.starts_with(title)).unwrap_or_else(|| panic!("{title} in:\n{told}"));
    assert_eq!(line("- measured odd on cpu: `").matches("µs (").count(), 2);
    assert!(line("- error of odd on cpu: `").contains("e-8"));
    // Of the board that is looked at it stands in the first line; what the interpreter takes does not.
    let first = |told: &str| told.lines().next().unwrap_or_default().to_owned();
    assert!(!first(&told).contains("measured"), "{told}");
    let kept: Vec<_> = fs::read_dir(cache.join("history")).expect("it is there").flatten().collect();
    assert_eq!(kept.len(), 1);
    let mut recorded: Value = serde_json::from_slice(&fs::read(kept[0].path()).expect("it is there")).expect("JSON");
    for entry in recorded.as_array_mut().expect("entries") {
        entry["device"] = json!("NVIDIA H100 80GB HBM3");
        entry["commit"] = json!("1a2b3c4");
        if entry["time"].is_object() {
            entry["time"]["median_us"] = json!(7.25);
        }
    }
    fs::write(kept[0].path(), recorded.to_string()).expect("it is ours");
    // Not of another launch, and not of another board.
    assert!(!first(&client.hover(&uri, &text, "add(X")).contains("measured"));
    let activate = json!({ "uri": uri, "kernel": "add", "configuration": "odd" });
    client.request("workspace/executeCommand", json!({ "command": "tritium.server.activate", "arguments": [activate] }));
    let told = first(&client.hover(&uri, &text, "add(X"));
    let (measured, estimated) =
        told.split_once(')').and_then(|(bound, rest)| Some((bound, rest.split_once(')')?))).map_or(("", ""), |(_, parts)| parts);
    assert!(measured.starts_with(" · 7.25 µs (measured on NVIDIA H100 80GB HBM3, 1a2b3c4, "), "{told}");
    // Both runs as bars behind the newer one.
    assert!(estimated.starts_with(" `██` · ~") && estimated.ends_with(" µs on H100 (estimated) · launch `odd`  "), "{told}");
    // Of another kernel by the same name it says nothing; a comment makes no other.
    for (edited, says) in [(text.replace("x + y", "x - y"), false), (format!("# A comment.\n{text}"), true)] {
        client.change(&uri, if says { 3 } else { 2 }, &edited);
        let told = client.hover(&uri, &edited, "add(X");
        assert_eq!(first(&told).contains("measured"), says, "{told}");
        assert!(told.contains("- measured odd on NVIDIA H100"), "{told}");
    }
    client.change(&uri, 4, &text);
    client.notify("workspace/didChangeConfiguration", json!({ "settings": { "tritium": { "gpu": "A100" } } }));
    let told = first(&client.hover(&uri, &text, "add(X"));
    assert!(told.contains("A100 (estimated)") && !told.contains("measured"), "{told}");
    client.stop();
}

/// Three lines are read: what bounds the kernel and its time, what it takes, and what would gain most. All else is behind them: below a rule, or
/// behind a link where the editor has a command for it.
#[test]
fn a_kernels_hover_is_three_lines_and_the_rest_behind_them() {
    // Estimates alone, so that no version of ptxas decides.
    let environment = [("TRITON_PTXAS_PATH", "/no/such/ptxas"), ("TRITIUM_CACHE", "off")];
    let path = repository().join("editors/fixtures/ws/tuned.py");
    let text = fs::read_to_string(&path).expect("a fixture");
    let assumed = "import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef fill(X, n, BLOCK: tl.constexpr):\n    at = tl.arange(0, BLOCK)\n    tl.store(X + at, 1.0, mask=at < n)\n";
    let mut client = Client::start(&environment, &json!({}));
    let uri = client.open(&path, &text);
    let whole = loop {
        // Until it is known that there is no ptxas.
        let told = client.hover(&uri, &text, "matmul(A");
        if told.contains("no exact figure") {
            break told;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    };
    let (first, rest) = whole.split_once("\n---\n\n").expect("a rule");
    expect![[r#"
        **compute bound**, ~486.5 µs on H100 (estimated) · launch `matmul`, configuration 0  
        ~67 registers (estimated) · 24.0 KiB shared memory (exact) · ~44 % occupancy, limited by registers (estimated)  
        would gain ~1.33×: make the tile of the product twice as wide: L2 moves its operands less often; registers limit the occupancy, so with more warps (estimated)
    "#]]
    .assert_eq(first);
    assert!(rest.starts_with("- registers: ~") && rest.matches("would gain").count() == 1, "{rest}");
    let report = json!({ "textDocument": { "uri": uri }, "kernel": "matmul" });
    let report = client.request("tritium/report", report);
    assert_eq!((&report["title"], &report["text"]), (&json!("matmul · Report"), &json!(whole)));
    let other = client.open(Path::new("/nowhere/fill.py"), assumed);
    let told = client.hover(&other, assumed, "fill(X");
    expect![[r#"
        **no launch is known**: one program computes ~0 FLOP and asks for ~512 bytes (estimated)  
        ~14 registers (estimated) · no shared memory (exact) · ~100 % occupancy, limited by warps (estimated)  
        a launch block, or host code that launches it, tells its time and what would gain
    "#]]
    .assert_eq(told.split("\n---").next().unwrap_or_default());
    client.stop();
    let mut client =
        Client::start_as(&environment, json!({ "capabilities": { "experimental": { "reportCommand": "some.report" } } }));
    let uri = client.open(&path, &text);
    let told = client.hover(&uri, &text, "matmul(A");
    let (short, link) = told.split_once("\n\n").expect("a link behind the lines");
    assert_eq!(short.trim_end(), first.trim_end());
    let argument =
        format!("%5B%7B%22uri%22%3A%22{}%22%2C%22kernel%22%3A%22matmul%22%7D%5D", uri.replace(':', "%3A").replace('/', "%2F"));
    assert_eq!(link, format!("[Report](command:some.report?{argument})\n"));
    // Of other words everything is told as before.
    assert!(!client.hover(&uri, &text, "total = tl.zeros").contains("command:"));
    client.stop();
}
