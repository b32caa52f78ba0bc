//! Charts and the configuration matrix from the command line.

use std::fs;

use tritium_tests::say;

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
    // Asked of ptxas, registers are exact.
    let registers = matrix["rows"].as_array().and_then(|rows| rows.iter().find(|r| r["name"] == "registers")).expect("a row");
    assert!(
        registers["cells"].as_array().expect("cells").iter().all(|c| c.as_str().is_some_and(|c| !c.contains(['~', '?']))),
        "{registers}"
    );
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
