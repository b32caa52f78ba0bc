//! Charts and the configuration matrix from the command line.

use std::fs;
use std::path::Path;
use std::process::Command;

use tritium_tests::{repository, say, tritium};

const TUNED: &str = "editors/fixtures/ws/tuned.py";

#[test]
fn every_configuration_is_a_column() {
    let said = say(&["configs", TUNED]);
    assert_eq!((said.status, said.stderr.as_str()), (0, ""));
    for words in [
        "matmul on H100: 4 configurations",
        "BM=128",
        "BN=256",
        "shared bytes",
        "limited by",
        "time, µs",
        "* is the configuration",
    ] {
        assert!(said.stdout.contains(words), "no `{words}` in\n{}", said.stdout);
    }
    let json = say(&["configs", TUNED, "--output-format", "json"]).json();
    let matrix = &json["kernels"][0]["matrix"];
    assert_eq!(matrix["columns"].as_array().map(Vec::len), Some(4));
    assert_eq!(matrix["pending"], 0);
    for row in matrix["rows"].as_array().expect("rows") {
        assert_eq!(row["cells"].as_array().map(Vec::len), Some(4), "{row}");
    }
    // What Triton would take is beside what we do, and never said to be exact.
    let triton: Vec<_> = matrix["rows"].as_array().expect("rows").iter().filter(|row| row["compiler"] == "triton").collect();
    assert_eq!(
        triton.iter().map(|row| row["name"].as_str().unwrap_or_default()).collect::<Vec<_>>(),
        ["triton: shared bytes", "triton: spills"]
    );
    for cell in triton.iter().flat_map(|row| row["cells"].as_array().expect("cells")) {
        assert!(cell.as_str().is_some_and(|cell| cell.starts_with('~')), "{cell}");
    }
    // Asked of ptxas, registers are exact.
    let registers = matrix["rows"].as_array().and_then(|rows| rows.iter().find(|r| r["name"] == "registers")).expect("a row");
    assert!(
        registers["cells"].as_array().expect("cells").iter().all(|c| c.as_str().is_some_and(|c| !c.contains(['~', '?']))),
        "{registers}"
    );
}

#[test]
fn without_ptxas_estimates_stand_and_nothing_is_wrong() {
    let said = |arguments: &[&str]| {
        let mut command = Command::new(tritium());
        command.current_dir(repository()).args(arguments).env("TRITON_PTXAS_PATH", "/no/such/ptxas");
        let done = command.env("TRITIUM_CACHE", "off").output().expect("the program starts");
        assert_eq!((done.status.code(), String::from_utf8_lossy(&done.stderr).as_ref()), (Some(0), ""), "{arguments:?}");
        String::from_utf8_lossy(&done.stdout).into_owned()
    };
    let remedy = "the ptxas named by TRITON_PTXAS_PATH (/no/such/ptxas) was not found; correct it or unset it.";
    let matrix: serde_json::Value = serde_json::from_str(&said(&["configs", TUNED, "--output-format", "json"])).expect("JSON");
    let matrix = &matrix["kernels"][0]["matrix"];
    assert!(
        matrix["note"].as_str().is_some_and(|note| note.contains(&format!("There are no exact ones here: {remedy}"))),
        "{matrix}"
    );
    for column in matrix["columns"].as_array().expect("columns") {
        assert_eq!(column["problem"], serde_json::Value::Null, "{column}");
    }
    let report = said(&["report", "examples/softmax.py"]);
    assert_eq!(report.matches(&format!("Registers and spills are not exact here: {remedy}\n")).count(), 1, "{report}");
    assert!(report.contains("~0 B"), "{report}");
}

/// What is compared on the command line is kept, and told run after run.
#[test]
fn what_was_measured_is_told_and_drawn() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (file, picture) = (folder.path().join("add.py"), folder.path().join("x.svg"));
    fs::copy(repository().join("examples/vector_add.py"), &file).expect("a copy");
    let said = |arguments: &[&str]| {
        let mut command = Command::new(tritium());
        command.current_dir(folder.path()).args(arguments).env("TRITIUM_CACHE", folder.path().join("cache"));
        let done = command.output().expect("the program starts");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (done.status.code(), text(&done.stdout), text(&done.stderr))
    };
    let (status, _, why) = said(&["history", "add.py"]);
    assert_eq!(status, Some(1), "{why}");
    assert!(why.contains("nothing was measured of `add` so far"), "{why}");
    for _ in 0..2 {
        assert_eq!(said(&["run", "add.py", "--verify"]).0, Some(0));
    }
    let (status, text, why) = said(&["history", "add.py"]);
    assert_eq!((status, why.as_str()), (Some(0), ""));
    for (words, times) in [("add · History", 1), ("one_million on cpu", 1), ("odd on cpu", 1), ("error 2.7e-8", 4)] {
        assert_eq!(text.matches(words).count(), times, "{words}\n{text}");
    }
    assert_eq!(
        said(&["history", "add.py", "-o", picture.to_str().expect("a plain path")]),
        (Some(0), String::new(), String::new())
    );
    let drawn = fs::read_to_string(&picture).expect("a picture");
    assert!(drawn.starts_with("<svg ") && drawn.contains("Largest relative error"), "{drawn}");
}

#[test]
fn one_configuration_can_be_looked_at() {
    let of = |words: &[&str]| say(&[&["emit", TUNED, "--stage", "layout"], words].concat()).stdout;
    assert!(of(&[]).starts_with("module L1 num_warps=4") || of(&[]).starts_with("module L2 num_warps=4"), "{}", of(&[]));
    assert!(of(&["--config", "2"]).contains("num_warps=8"));
    assert_eq!(of(&["--launch", "matmul:2"]), of(&["--config", "2"]));
}

#[test]
fn pictures_are_written_where_the_name_says_so() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (name, command) in [
        ("layout.svg", &["emit", TUNED, "--stage", "layout", "-o"][..]),
        ("occupancy.svg", &["occupancy", TUNED, "--launch", "matmul:1", "-o"]),
    ] {
        let path = folder.path().join(name);
        let said = say(&[command, &[path.to_str().expect("a plain path")]].concat());
        assert_eq!((said.status, said.stderr.as_str()), (0, ""));
        let svg = fs::read_to_string(&path).expect("it is written");
        assert!(svg.starts_with("<svg xmlns=") && svg.ends_with("</svg>\n"), "{svg}");
        // As XML: every tag that opens closes, and nothing stands unescaped.
        assert_eq!(svg.matches("<text").count(), svg.matches("</text>").count());
    }
    let text = say(&["occupancy", TUNED]).stdout;
    for words in ["registers per thread, now", "◀ now", "limited by", "Each curve changes one figure"] {
        assert!(text.contains(words), "no `{words}` in\n{text}");
    }
}

/// What Triton keeps of a kernel: its options, and texts whose locations name the file.
fn entry(cache: &Path, name: &str, arch: u32, num_warps: u32, file: &Path) {
    let folder = cache.join(name);
    fs::create_dir_all(&folder).expect("the folder is ours");
    let options = serde_json::json!({ "target": { "backend": "cuda", "arch": arch }, "num_warps": num_warps, "num_stages": 3, "shared": 16 });
    fs::write(folder.join("softmax.json"), options.to_string()).expect("written");
    let ttgir = format!("// made with {num_warps}\n  tt.return loc(#loc1)\n#loc1 = loc(\"{}\":17:4)\n", file.display());
    fs::write(folder.join("softmax.ttgir"), ttgir).expect("written");
}

#[test]
fn what_triton_made_is_found_in_its_cache() {
    let cache = tempfile::tempdir().expect("a temporary folder");
    let ask = || {
        let mut command = Command::new(tritium());
        command.args(["emit", "editors/fixtures/ws/softmax.py", "--stage", "triton-ttgir"]).env("TRITON_CACHE_DIR", cache.path());
        let output = command.current_dir(repository()).output().expect("tritium starts");
        (
            output.status.code(),
            String::from_utf8_lossy(&output.stdout).into_owned(),
            String::from_utf8_lossy(&output.stderr).into_owned(),
        )
    };
    let (status, _, told) = ask();
    assert_eq!(status, Some(1));
    assert!(told.contains("Triton has not compiled `softmax` of softmax.py for sm_90 here: run it once"), "{told}");
    let file = repository().join("editors/fixtures/ws/softmax.py");
    // Of another GPU, of another file: neither is this kernel's.
    entry(cache.path(), "a", 80, 4, &file);
    entry(cache.path(), "b", 90, 4, Path::new("/elsewhere/softmax.py"));
    assert_eq!(ask().0, Some(1));
    entry(cache.path(), "c", 90, 8, &file);
    let (status, text, _) = ask();
    assert_eq!(status, Some(0));
    assert!(
        text.starts_with("// triton: kernel softmax, num_warps 8, num_stages 3, 16 bytes of shared memory: not the options"),
        "{text}"
    );
    entry(cache.path(), "d", 90, 4, &file);
    let (_, text, _) = ask();
    assert!(
        text.starts_with("// triton: kernel softmax, num_warps 4, num_stages 3, 16 bytes of shared memory\n// made with 4"),
        "{text}"
    );
}
