//! A client that does not keep to the protocol: no message ends the server without a word, and how it ends is told.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tritium_tests::client::{Client, position};

const KERNEL: &str = "import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef fill(x):\n    at = tl.arange(0, 64)\n    \
                      tl.store(x + at, 1.0)\n";

fn framed(body: &[u8]) -> Vec<u8> {
    [format!("Content-Length: {}\r\n\r\n", body.len()).as_bytes(), body].concat()
}

fn code(answer: &Value) -> Option<i64> {
    answer["error"]["code"].as_i64()
}

#[test]
fn a_malformed_message_is_answered_and_the_next_one_too() {
    let hover = |uri: &str| json!({ "textDocument": { "uri": uri }, "position": position(KERNEL, "at = ") });
    let request = br#"{"jsonrpc":"2.0","id":"x","method":"textDocument/hover"}"#;
    let lengthy = [format!("Content-Length: {}\r\n\r\n", request.len() + 10).as_bytes(), request].concat();
    let brief = [format!("Content-Length: {}\r\n\r\n", request.len() - 10).as_bytes(), request].concat();
    let mut client = Client::start(&[], &json!({}));
    let uri = client.open(Path::new("/nowhere/fill.py"), KERNEL);
    client.diagnostics(&uri, 1);
    for (bytes, wanted) in [
        (framed(b"{\"jsonrpc\":\"2.0\",\"id\":"), -32700),
        (framed(b"\"\xff\xfe\""), -32700),
        (framed(b"nonsense"), -32700),
        (framed(b"[]"), -32600),
        (framed(b"{\"id\":\"mine\"}"), -32600),
        (framed(format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000)).as_bytes()), -32700),
        (lengthy, -32700),
        (brief, -32700),
        (b"Content-Length: 99999999999999\r\n\r\n{}".to_vec(), -32700),
        (b"Content-Length: many\r\n\r\n{}".to_vec(), -32700),
        (b"Content-Type: text/plain\r\n\r\n{}".to_vec(), -32700),
        (b"GET / HTTP/1.1\r\n\r\n".to_vec(), -32700),
        (b"{}\n".to_vec(), -32700),
    ] {
        client.send_bytes(&bytes);
        let said = String::from_utf8_lossy(&bytes[..bytes.len().min(60)]).into_owned();
        // What is too long swallows no request after it.
        let answer = client.request("textDocument/hover", hover(&uri));
        assert!(answer["contents"]["value"].as_str().is_some_and(|text| text.contains("i32[64]")), "{said}: {answer}");
        let errors = client.take_errors();
        assert!(!errors.is_empty() && errors.iter().all(|error| code(error) == Some(wanted)), "{said}: {errors:?}");
    }
    // Parameters of another kind are an error of their request alone.
    for params in [json!(3), json!({ "textDocument": 3 }), json!({ "position": { "line": -1 } })] {
        assert_eq!(code(&client.try_request("textDocument/hover", params)), Some(-32602));
    }
    client.notify("textDocument/didChange", json!({ "textDocument": 3 }));
    let outside = json!({ "start": { "line": 9, "character": 4_000_000 }, "end": { "line": 0, "character": 0 } });
    let change = json!([{ "range": outside, "text": KERNEL }]);
    client.notify("textDocument/didChange", json!({ "textDocument": { "uri": uri, "version": 2 }, "contentChanges": change }));
    assert_eq!(client.diagnostics(&uri, 2), Vec::<Value>::new());
    assert_eq!(code(&client.try_request("textDocument/nothing", json!({}))), Some(-32601));
    client.stop();
}

#[test]
fn requests_out_of_turn_are_refused() {
    let mut client = Client::connect(&[]);
    assert_eq!(code(&client.try_request("textDocument/hover", json!({}))), Some(-32002));
    assert_eq!(code(&client.try_request("shutdown", Value::Null)), Some(-32002));
    client.notify("textDocument/didOpen", json!({}));
    client.request("initialize", json!({ "capabilities": {} }));
    assert_eq!(code(&client.try_request("initialize", json!({ "capabilities": {} }))), Some(-32600));
    client.request("shutdown", Value::Null);
    assert_eq!(code(&client.try_request("textDocument/hover", json!({}))), Some(-32600));
    client.notify("exit", Value::Null);
    assert_eq!(client.ended(), (Some(0), String::new()));
}

#[test]
fn how_the_server_ends_is_told() {
    let started = || Client::start(&[], &json!({}));

    let mut client = started();
    client.notify("exit", Value::Null);
    assert_eq!(client.ended(), (Some(1), "tritium: the client said `exit` without `shutdown`\n".to_owned()));

    let mut client = Client::connect(&[]);
    client.notify("exit", Value::Null);
    assert_eq!(client.ended().0, Some(1));

    let mut client = started();
    client.close_input();
    assert_eq!(client.ended(), (Some(1), "tritium: the input ended without `shutdown`\n".to_owned()));

    let mut client = started();
    client.request("shutdown", Value::Null);
    client.close_input();
    assert_eq!(client.ended(), (Some(0), String::new()));

    let mut client = started();
    client.send_bytes(b"Content-Length: 4000\r\n\r\n{\"jsonrpc\":");
    client.close_input();
    let (code, said) = client.ended();
    assert_eq!(
        (code, said.as_str()),
        (Some(1), "tritium: the input ends after 11 of the 4000 bytes that `Content-Length` announces\n")
    );

    let mut client = started();
    client.send_bytes(b"Content-Length: 9999999999999\r\n\r\n{\"jsonrpc\":");
    client.close_input();
    let (code, said) = client.ended();
    assert_eq!(code, Some(1));
    assert!(said.contains("the input ends without another message after one that cannot be read"), "{said}");
}

/// A hover in one file is answered while another is looked at for long.
#[test]
fn a_file_that_takes_long_holds_up_no_hover() {
    let mut client = Client::start(&[], &json!({}));
    let quick = client.open(Path::new("/nowhere/fill.py"), KERNEL);
    client.diagnostics(&quick, 1);
    let mut text = "import triton\nimport triton.language as tl\n".to_owned();
    for n in 0..1000 {
        text += &format!("\n\n@triton.jit\ndef kernel_{n}(x, y):\n    at = tl.arange(0, 1024)\n    total = tl.load(x + at)\n");
        for i in 0..30 {
            text += &format!("    total += tl.exp(tl.load(x + at * {i} + {n})) * tl.load(y + at)\n");
        }
        text += "    tl.store(y + at, total)\n";
    }
    let slow = client.open(Path::new("/nowhere/slow.py"), &text);
    for _ in 0..3 {
        assert!(client.hover(&quick, KERNEL, "at = ").contains("i32[64]"));
    }
    let pushed = client.take_notifications("textDocument/publishDiagnostics");
    assert!(pushed.iter().all(|push| push["uri"] != json!(slow)), "the file did not take long");
    client.stop();
}

/// Links lead nowhere, be it in circles or out of the workspace.
#[cfg(unix)]
#[test]
fn links_are_not_followed() {
    use std::os::unix::fs::symlink;

    let (inside, outside) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let folder = inside.path();
    for name in ["one", "two", ".hidden", "env"] {
        fs::create_dir(folder.join(name)).expect("the folder is ours");
        fs::write(folder.join(name).join("fill.py"), KERNEL.replace("fill", &format!("fill_{name}")))
            .expect("the folder is ours");
    }
    fs::write(folder.join("env/pyvenv.cfg"), "").expect("the folder is ours");
    fs::write(outside.path().join("far.py"), KERNEL.replace("fill", "fill_far")).expect("the folder is ours");
    for (target, link) in [(folder, "again"), (folder, "one/again"), (outside.path(), "two/out")] {
        symlink(target, folder.join(link)).expect("the folder is ours");
    }
    symlink(outside.path().join("far.py"), folder.join("far.py")).expect("the folder is ours");
    let root = format!("file://{}", folder.display());
    let capabilities = json!({ "textDocument": { "diagnostic": {} } });
    let parameters = json!({
        "capabilities": capabilities, "rootUri": root, "workspaceFolders": [{ "uri": root, "name": "w" }],
        "initializationOptions": { "python": "none" },
    });
    let mut client = Client::start_as(&[], parameters);
    let symbols = client.request("workspace/symbol", json!({ "query": "fill" }));
    let names = |items: &Value, key: &str| -> Vec<String> {
        let all = items.as_array().expect("a list").iter();
        all.map(|item| item[key].as_str().expect("text").replace(&format!("{root}/"), "")).collect()
    };
    assert_eq!(names(&symbols, "name"), ["fill_one", "fill_two"]);
    let report = client.request("workspace/diagnostic", json!({ "previousResultIds": [] }));
    assert_eq!(names(&report["items"], "uri"), ["one/fill.py", "two/fill.py"]);
    let one = KERNEL.replace("fill", "fill_one");
    let uri = client.open(&folder.join("one/fill.py"), &one);
    let mut place = json!({ "textDocument": { "uri": uri }, "position": position(&one, "fill_one") });
    place["context"] = json!({ "includeDeclaration": true });
    let references = client.request("textDocument/references", place);
    assert_eq!(names(&references, "uri"), ["one/fill.py"]);
    client.stop();

    let said = tritium_tests::say(&["stats", folder.to_str().expect("a plain path"), "--output-format", "json"]);
    assert!(said.stdout.contains("one/fill.py") && said.stdout.contains("two/fill.py"), "{}", said.stdout);
    for absent in ["again", "far", "hidden", "env"] {
        assert!(!said.stdout.replace(folder.to_str().expect("a plain path"), "").contains(absent), "{absent}: {}", said.stdout);
    }
}
