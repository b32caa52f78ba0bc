//! Costs as a person meets them: the chart, the report's columns, hints and hovers of loops and lines, boards of a project.

use std::fs;
use std::process::Command;

use serde_json::json;
use tritium_tests::client::Client;
use tritium_tests::{Said, repository, say, tritium};

const MATMUL: &str = "examples/matmul.py";

#[test]
fn the_chart_has_a_point_for_every_launch() {
    let said = say(&["roofline", MATMUL, "--gpu", "H200"]);
    assert_eq!(said.status, 0, "{}", said.stderr);
    for part in [
        "Roofline on H200",
        "FLOP per byte of DRAM",
        "f16 tensor 989 TFLOP/s, DRAM 4.80 TB/s (datasheet)",
        "1 matmul small",
        "2 matmul square_1024",
    ] {
        assert!(said.stdout.contains(part), "`{part}` is missing in:\n{}", said.stdout);
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let chart = folder.path().join("chart.svg");
    let chart = chart.to_str().expect("a plain path");
    let said = say(&["roofline", MATMUL, "--gpu", "H200", "-o", chart, "--output-format", "json"]);
    let numbers = said.json();
    assert_eq!(numbers["points"].as_array().map(Vec::len), Some(2), "{numbers}");
    let point = &numbers["points"][1];
    // 2·1024³ operations over three matrices of 2 MiB.
    assert!((point["intensity"].as_f64().expect("a number") - 341.33).abs() < 0.1, "{point}");
    assert_eq!(numbers["roofs"][0]["peak"], json!(989e12));
    let svg = fs::read_to_string(chart).expect("the chart is written");
    assert!(svg.starts_with("<svg ") && svg.trim_end().ends_with("</svg>"), "{svg}");
    assert_eq!(svg.matches("class=\"point\"").count(), 2);
    assert!(svg.contains("data-launch=\"square_1024\"") && svg.contains("class=\"roof datasheet\""), "{svg}");
}

#[test]
fn what_has_no_point_says_why() {
    let said = say(&["roofline", MATMUL, "--gpu", "sm_90"]);
    assert_eq!(said.status, 1);
    assert!(said.stdout.contains("– matmul small: a bare SM has no roofline; name a board"), "{}", said.stdout);
    let said = say(&["roofline", MATMUL, "--kernel", "nope"]);
    assert_eq!((said.status, said.stdout.as_str()), (2, ""));
    assert!(said.stderr.contains("no kernel `nope` in this file"), "{}", said.stderr);
}

#[test]
fn the_report_says_where_it_costs() {
    let said = say(&["report", MATMUL, "--gpu", "H200", "--output-format", "json"]);
    let rows = said.json();
    let row = &rows["rows"][1];
    assert_eq!(row["launch"], json!("square_1024"));
    let trips = &row["loops"][0];
    let text = fs::read_to_string(repository().join(MATMUL)).expect("the example is there");
    let line_of = |needle: &str| text.lines().position(|line| line.contains(needle)).expect("the line is there") as u64 + 1;
    assert_eq!(trips["line"].as_u64(), Some(line_of("for k in range")));
    assert!(trips["trips_text"].as_str().is_some_and(|text| text.starts_with("cdiv(K, ")), "{trips}");
    assert!(row["flops_text"].as_str().is_some_and(|text| text.contains("·cdiv(K, ")), "{row}");
    assert!(row["waves"].as_f64().is_some_and(|waves| waves > 0.0) && row["second_limiter"].is_string(), "{row}");
    let lines = row["lines"].as_array().expect("lines");
    let dot = lines.iter().find(|l| l["line"].as_u64() == Some(line_of("tl.dot"))).expect("the dot costs");
    assert_eq!(dot["flops"].as_f64(), Some(2.0 * 1024f64.powi(3)));
    assert!(dot["live"].as_str().is_some_and(|live| live.starts_with("acc ")), "{dot}");
    // What lines take of the limiter is all of it.
    let shares: f64 = lines.iter().filter_map(|line| line["share"].as_f64()).sum();
    assert!((shares - 1.0).abs() < 1e-6, "{shares}");
    assert!(row["advice"].as_array().is_some_and(|all| all.iter().all(|a| a["gain"].as_f64() > Some(1.0))), "{row}");
}

#[test]
fn loops_and_lines_say_their_cost_in_the_editor() {
    let text = fs::read_to_string(repository().join(MATMUL)).expect("the example is there");
    // The launch that fills tiles comes first, so that it answers.
    let text = text.replacen("[launch.small]", "[launch.z]", 1);
    let mut client = Client::start(&[], &json!({ "gpu": "H200" }));
    let path = repository().join(MATMUL);
    let uri = client.open(&path, &text);
    let end = json!({ "line": 10_000, "character": 0 });
    let whole = json!({ "textDocument": { "uri": uri }, "range": { "start": { "line": 0, "character": 0 }, "end": end } });
    let hints = client.request("textDocument/inlayHint", whole.clone());
    let labels: Vec<&str> = hints.as_array().expect("hints").iter().filter_map(|h| h["label"].as_str()).collect();
    let of_loop = labels.iter().find(|label| label.contains(" trip")).unwrap_or_else(|| panic!("{labels:?}"));
    let parts: Vec<&str> = of_loop.split(" · ").collect();
    assert_eq!(parts.len(), 5, "{of_loop}");
    assert!(
        parts[0].ends_with("trips") && parts[1].ends_with("FLOP") && parts[2].ends_with("iB") && parts[3].ends_with("FLOP/B"),
        "{of_loop}"
    );
    let of_loop = client.hover(&uri, &text, "for k in range");
    for part in
        ["one trip of one program: ", "all trips of one program: ", "limiter of a trip: ", "(estimated)", "loads run ahead in "]
    {
        assert!(of_loop.contains(part), "`{part}` is missing in:\n{of_loop}");
    }
    let of_load = client.hover(&uri, &text, "tl.load(a_ptrs");
    for part in [
        "load: ",
        " bytes an instruction and thread",
        "sectors a request",
        "this line, whole launch: ",
        "% of the limiter",
        "live registers here: ",
    ] {
        assert!(of_load.contains(part), "`{part}` is missing in:\n{of_load}");
    }
    let of_dot = client.hover(&uri, &text, "tl.dot(");
    for part in ["product: wgmma m64n", "(Tritium's compiler, exact)", "product: wgmma (Triton, by its rules)"] {
        assert!(of_dot.contains(part), "`{part}` is missing in:\n{of_dot}");
    }
    let of_store = client.hover(&uri, &text, "tl.store(");
    assert!(of_store.contains("written to shared memory: ") && of_store.contains("bank conflicts"), "{of_store}");
    let kernel = client.hover(&uri, &text, "matmul(\n");
    for part in ["- limiter: ", "- waves: ", "most registers are live in line "] {
        assert!(kernel.contains(part), "`{part}` is missing in:\n{kernel}");
    }
    client.notify(
        "workspace/didChangeConfiguration",
        json!({ "settings": { "tritium": { "inlayHints": { "roofline": false } } } }),
    );
    let hints = client.request("textDocument/inlayHint", whole);
    let labels: Vec<&str> = hints.as_array().expect("hints").iter().filter_map(|h| h["label"].as_str()).collect();
    assert!(!labels.is_empty() && labels.iter().all(|label| label.starts_with(':')), "{labels:?}");
    client.stop();
}

const BOARD: &str = "\
[tool.tritium]
gpu = \"lab\"

[tool.tritium.boards.lab]
sm = \"sm_90\"
sm-count = 100
clock = 1500
dram-bandwidth = 1000
l2 = 50
f16-tflops = 600
tf32-tflops = 300
f32-tflops = 38.0
";

/// Runs `tritium` in a folder that holds the matrix product and a configuration.
fn in_project(configuration: &str, arguments: &[&str]) -> Said {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::copy(repository().join(MATMUL), folder.path().join("k.py")).expect("the folder is ours");
    fs::write(folder.path().join("pyproject.toml"), configuration).expect("the folder is ours");
    let output = Command::new(tritium())
        .args(arguments)
        .env("TRITIUM_CACHE", "off")
        .env_remove("VIRTUAL_ENV")
        .current_dir(folder.path())
        .output()
        .expect("tritium starts");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("tritium prints UTF-8");
    Said {
        status: output.status.code().expect("tritium ends by itself"),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    }
}

#[test]
fn a_project_adds_boards() {
    let said = in_project(BOARD, &["roofline", "k.py"]);
    assert_eq!(said.status, 0, "{}", said.stderr);
    assert!(
        said.stdout.contains("Roofline on lab") && said.stdout.contains("f16 tensor 600 TFLOP/s, DRAM 1.00 TB/s"),
        "{}",
        said.stdout
    );
    let said = in_project(&BOARD.replace("gpu = \"lab\"\n", ""), &["roofline", "k.py", "--gpu", "LAB"]);
    assert!(said.stdout.contains("Roofline on lab"), "{}{}", said.stdout, said.stderr);
    let said = in_project(BOARD, &["gpus"]);
    assert!(said.stdout.contains("│ lab "), "{}", said.stdout);
    for (from, to, reason) in [
        ("sm = \"sm_90\"", "sm = \"sm_13\"", "pyproject.toml:4: board `lab`: `sm_13` is no SM generation; known are sm_80, "),
        (
            "f16-tflops = 600",
            "f16-tflops = 6000",
            "board `lab`: `f16-tflops` is 6000, and 100 SMs of sm_90 at 1500 MHz do no more than ",
        ),
        ("l2 = 50\n", "", "board `lab`: l2 is missing"),
        ("sm-count = 100", "sm-counts = 100", "board `lab`: unknown key `sm-counts`; did you mean `sm-count`?"),
        ("clock = 1500", "clock = \"fast\"", "board `lab`: `clock` is a whole number, and this is a string"),
        ("boards.lab", "boards.H100", "board `H100`: H100 is built in; another name is needed"),
    ] {
        let said = in_project(&BOARD.replace(from, to), &["roofline", "k.py"]);
        assert_eq!((said.status, said.stdout.as_str()), (2, ""), "{to}: {}", said.stderr);
        assert!(said.stderr.contains(reason), "{to}: {}", said.stderr);
    }
}
