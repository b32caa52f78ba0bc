//! `tritium tune` without a GPU: which rows of a tuner are put aside and why, in which order the others come, and what is written of it.

use std::{fs, path::Path, process::Command};

use expect_test::{expect, expect_file};
use serde_json::{Value, json};
use tritium_syntax::{Encoding, LineColumn, LineIndex};
use tritium_tests::{client::Client, repository, tritium};

const FILE: &str = "tests/data/tune/scale.py";

fn tune(file: &str, arguments: &[&str]) -> (i32, String) {
    let mut command = Command::new(tritium());
    command.args(["tune", file, "--device", "cpu", "--gpu", "H100"]).args(arguments);
    let done = command.current_dir(repository()).output().expect("tritium starts");
    let out = String::from_utf8_lossy(&done.stdout).into_owned() + &String::from_utf8_lossy(&done.stderr);
    // How long it took stands in the last line.
    let said = |line: &str| line.split_once(" s. ").map_or(line, |(_, rest)| rest).to_owned() + "\n";
    (done.status.code().unwrap_or(-1), out.lines().map(said).collect())
}

#[test]
fn rows_come_in_the_order_of_their_predicted_times() {
    let (status, out) = tune(FILE, &["--verify"]);
    assert_eq!(status, 0, "{out}");
    expect_file![repository().join("tests/data/tune/scale.txt")].assert_eq(&out);
    // In full nothing is put aside but what cannot be launched.
    let (_, out) = tune(FILE, &["--exhaustive", "--launch", "scale", "--output-format", "csv"]);
    assert_eq!(out.lines().filter(|line| line.ends_with("\"\"")).count(), 3, "{out}");
}

/// The file with the best rows alone; what a tuner reads elsewhere stays.
#[test]
fn the_best_rows_are_written_into_the_file() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let copy = folder.path().join("scale.py");
    let before = fs::read_to_string(repository().join(FILE)).expect("the program");
    fs::write(&copy, &before).expect("a copy");
    let pruned = folder.path().join("prune.py");
    let text = |path: &Path| path.to_str().expect("a plain path").to_owned();
    let (status, out) = tune(&text(&copy), &["--write", "--prune", &text(&pruned), "--output-format", "json"]);
    assert_eq!(status, 0, "{out}");
    let after = fs::read_to_string(&copy).expect("it was written");
    let changed: String = after.lines().filter(|line| !before.contains(line)).map(|line| format!("{line}\n")).collect();
    expect![[r#"
            configs=[triton.Config({"BLOCK": 64}, num_warps=1)],
        @triton.autotune(configs=[triton.Config({"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 32}, num_warps=4, num_stages=3)], key=["K"])
    "#]].assert_eq(&changed);
    expect![[r#"
        import triton


        def prune_scale(configs, named_args, **kwargs):
            """The best configuration on H100 where it is known; for `prune_configs_by={"early_config_prune": prune_scale}`."""
            sizes = {**named_args, **kwargs}
            best = {
                (100000,): triton.Config({"BLOCK": 64}, num_warps=1, num_stages=3),  # ~5.3 µs, estimated
            }.get(tuple(sizes.get(name) for name in ("n",)))
            return [best] if best else configs


        def prune_product(configs, named_args, **kwargs):
            """The best configuration on H100 where it is known; for `prune_configs_by={"early_config_prune": prune_product}`."""
            sizes = {**named_args, **kwargs}
            best = {
                (256,): triton.Config({"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 32}, num_warps=4, num_stages=3),  # ~6.2 µs, estimated
            }.get(tuple(sizes.get(name) for name in ("K",)))
            return [best] if best else configs
    "#]].assert_eq(&fs::read_to_string(&pruned).expect("it was written"));
    // What was written has one row each, and tunes to it.
    let (status, out) = tune(&text(&copy), &[]);
    assert!(status == 0 && out.matches("best: ").count() == 2, "{out}");
}

/// What was not timed is not kept for Triton.
#[test]
fn predicted_times_do_not_come_into_the_cache_of_triton() {
    let (status, out) = tune(FILE, &["--launch", "scale", "--write-triton-cache"]);
    assert!(status == 2 && out.contains("--write-triton-cache: nothing was timed"), "{out}");
    let (status, out) = tune(FILE, &["--write-triton-cache", "--on", "sh -c"]);
    assert!(status == 2 && out.contains("writes into Triton's cache on this machine"), "{out}");
}

#[test]
fn rows_that_the_tuner_lacks_are_proposed() {
    let (status, out) = tune(FILE, &["--launch", "product", "--propose", "3"]);
    assert_eq!(status, 0, "{out}");
    assert_eq!(out.matches(" new ").count(), 3, "{out}");
}

#[test]
fn what_cannot_be_tuned_says_why() {
    let (status, out) = tune("examples/vector_add.py", &[]);
    assert!(status == 2 && out.contains("no launch has a tuner"), "{status} {out}");
    let (status, out) = tune(FILE, &["--launch", "nothing"]);
    assert!(status == 2 && out.contains("nothing"), "{status} {out}");
    let done = Command::new(tritium()).args(["tune", FILE]).current_dir(repository()).output().expect("tritium starts");
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success() || said.contains("cuda:0 cannot be used"), "{said}");
}

/// The same from an editor, with times as a GPU would have them: the answer of a tuning says what can be written, and its edit is of the text as it
/// is by then.
#[test]
fn an_editor_writes_the_best_rows_as_an_edit() {
    let path = repository().join(FILE);
    let text = fs::read_to_string(&path).expect("the program");
    let mut client = Client::start(&[], &json!({ "gpu": "H100" }));
    let uri = client.open(&path, &text);
    let command = |client: &mut Client, command: &str, argument: Value| {
        client.request("workspace/executeCommand", json!({ "command": command, "arguments": [argument] }))
    };
    let mut tuning = command(&mut client, "tritium.server.tune", json!({ "uri": uri, "kernel": "scale", "launch": "scale" }));
    assert_eq!((&tuning["ok"], &tuning["write"]), (&json!(true), &json!("Write 1 predicted row into scale.py")), "{tuning}");
    // What was recorded of a GPU: the third row is the fastest.
    let rows = tuning["launches"][0]["rows"].as_array_mut().expect("rows");
    rows.sort_by_key(|row| row["row"] != json!(2));
    for (place, row) in rows.iter_mut().enumerate().filter(|(_, row)| row["skipped"].is_null()) {
        let us = 5.0 + place as f64;
        row["time"] = json!({ "median_us": us, "p20_us": us, "p80_us": us, "samples": 15 });
    }
    tuning["launches"][0]["timed_launches"] = json!(45);
    let write = |client: &mut Client, text: &str| -> Result<String, String> {
        let answer = command(client, "tritium.server.writeTuned", json!({ "uri": uri, "tuning": tuning }));
        match answer["ok"] == json!(true) {
            true => Ok(edited(text, answer["edit"]["changes"][&uri].as_array().expect("edits"))),
            false => Err(answer["text"].as_str().unwrap_or_default().to_owned()),
        }
    };
    let changed = |before: &str, after: &str| {
        let lines = after.lines().filter(|line| !before.contains(line)).map(|line| format!("{}\n", line.trim()));
        lines.collect::<String>()
    };
    let written = write(&mut client, &text).expect("an edit");
    expect![[r#"
            configs=[triton.Config({"BLOCK": 1024})],
    "#]]
    .assert_eq(&changed(&text, &written));
    assert_eq!(fs::read_to_string(&path).expect("the program"), text, "nothing is written behind the editor");
    // Typing elsewhere moves the edit; another list is left alone.
    let below = format!("# Typed meanwhile.\n{text}");
    client.change(&uri, 2, &below);
    assert_eq!(write(&mut client, &below).expect("an edit"), format!("# Typed meanwhile.\n{written}"));
    client.change(&uri, 3, &text.replace("        triton.Config({\"BLOCK\": 4096}, num_warps=8),\n", ""));
    let refused = write(&mut client, &text).expect_err("another list");
    assert_eq!(refused, "the configurations of `scale` are others than those that were tuned: tune again");
    // Once it is written there is nothing to write.
    client.change(&uri, 4, &written);
    let tuning = command(&mut client, "tritium.server.tune", json!({ "uri": uri, "kernel": "scale", "launch": "scale" }));
    assert!(tuning["ok"] == json!(true) && tuning["write"].is_null(), "{tuning}");
    client.stop();
}

/// A text with the protocol's edits made, the last first.
fn edited(text: &str, edits: &[Value]) -> String {
    let index = LineIndex::new(text);
    let at = |place: &Value| {
        let number = |key: &str| place[key].as_u64().expect("a number") as u32;
        usize::from(index.offset(LineColumn { line: number("line"), column: number("character") }, Encoding::Utf16))
    };
    let mut edits: Vec<_> = edits
        .iter()
        .map(|edit| (at(&edit["range"]["start"])..at(&edit["range"]["end"]), edit["newText"].as_str().expect("text")))
        .collect();
    edits.sort_by_key(|(range, _)| std::cmp::Reverse(range.start));
    let mut out = text.to_owned();
    edits.into_iter().for_each(|(range, new)| out.replace_range(range, new));
    out
}
