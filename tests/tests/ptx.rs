//! Every launch of the examples becomes PTX that ptxas assembles without spilling a register, for every SM that is announced.

use std::fs;

use tritium_tests::{repository, say};

/// The name as users give it and the target that its PTX must name.
const TARGETS: &[(&str, &str)] = &[("sm_80", ".target sm_80"), ("sm_89", ".target sm_89"), ("sm_90", ".target sm_90a")];

/// An example with the names of its launches and of the kernels that these launch, in order, but for the five mistakes, which do not compile.
fn examples() -> Vec<(String, Vec<(String, String)>)> {
    let mut out = Vec::new();
    for entry in fs::read_dir(repository().join("examples")).expect("the examples are there") {
        let path = entry.expect("a file").path();
        if path.is_dir() {
            continue;
        }
        let text = fs::read_to_string(&path).expect("the example is a text");
        let named = |start: &str, end: &str| -> Vec<String> {
            text.lines().filter_map(|line| line.strip_prefix(start)?.strip_suffix(end)).map(str::to_owned).collect()
        };
        let launches: Vec<(String, String)> = named("# [launch.", "]").into_iter().zip(named("# kernel = \"", "\"")).collect();
        if !launches.is_empty() && !path.ends_with("five_mistakes.py") {
            let name = path.file_name().expect("a file has a name").to_str().expect("a plain name");
            out.push((format!("examples/{name}"), launches));
        }
    }
    out.sort();
    assert!(out.len() >= 4, "only {} examples have launches", out.len());
    out
}

#[test]
fn every_launch_assembles_without_spills() {
    for (path, launches) in examples() {
        for (sm, _) in TARGETS {
            let said = say(&["report", &path, "--gpu", sm, "--output-format", "json"]);
            assert_eq!(said.status, 0, "{path} {sm}: {}{}", said.stdout, said.stderr);
            let report = said.json();
            let rows: Vec<_> =
                report["rows"].as_array().expect("rows").iter().filter(|row| row["compiler"] == "tritium").collect();
            let names: Vec<_> = rows.iter().filter_map(|row| Some((row["launch"].as_str()?, row["kernel"].as_str()?))).collect();
            let wanted: Vec<_> = launches.iter().map(|(launch, kernel)| (launch.as_str(), kernel.as_str())).collect();
            assert_eq!(names, wanted, "{path} {sm}");
            for row in rows {
                assert_eq!(row["registers_source"], "exact", "{path} {sm}: {row}");
                assert!(row["registers"].as_u64().is_some_and(|count| (1..=255).contains(&count)), "{path} {sm}: {row}");
                assert_eq!((&row["spill_bytes"], &row["gpu"], &row["compiler"]), (&0.into(), &(*sm).into(), &"tritium".into()));
                assert!(row["problems"].as_array().is_some_and(Vec::is_empty), "{path} {sm}: {row}");
            }
        }
    }
}

/// `tests/data/operations`: every operation over element types and shapes down to a single element, for one SM or another.
#[test]
fn every_operation_assembles() {
    let requests = "tests/data/operations/requests.jsonl";
    let said = say(&["batch", "--through", "sass", requests]);
    let mut refused = Vec::new();
    let mut answered = 0;
    for line in said.stdout.lines() {
        let answer: serde_json::Value = serde_json::from_str(line).expect("an answer is JSON");
        answered += 1;
        if answer["ok"] != true || answer["registers"].is_null() {
            refused.push(format!("{}: {}", answer["id"], answer["diagnostics"]));
        }
    }
    let asked = fs::read_to_string(repository().join(requests)).expect("the requests are there").lines().count();
    assert_eq!((answered, asked > 90), (asked, true), "{}", said.stderr);
    assert!(refused.is_empty(), "{}", refused.join("\n"));
}

/// The lines of a helper carry the line that calls it, in PTX that ptxas takes and in machine code.
#[test]
fn lines_lead_through_helpers() {
    let file = "tests/data/operations/kernels.py";
    let source = fs::read_to_string(repository().join(file)).expect("the kernels are there");
    let line = |text: &str| source.lines().position(|l| l.contains(text)).expect("it is there") + 1;
    let inside = format!("{file}:{}:", line("z = x + y"));
    let arguments = ["--kernel", "noinl", "--arg", "p=*f32", "--arg", "q=*f32", "--set", "N=32", "--gpu", "sm_90"];
    for stage in ["ptx", "sass"] {
        let said = say(&[&["emit", file, "--stage", stage], &arguments[..]].concat());
        assert_eq!(said.status, 0, "{}", said.stderr);
        let found = said.stdout.lines().any(|l| {
            let at = l.find("kernels.py:").map(|at| &l[at..]).unwrap_or_default();
            at.starts_with(inside.rsplit('/').next().unwrap_or_default())
                && at.contains(" in nohelp, called at ")
                && at.contains(" in noinl")
        });
        assert!(found, "{stage}:\n{}", said.stdout);
        assert!(!said.stdout.contains(", debug"), "{stage}");
    }
}

#[test]
fn ptx_names_its_target_and_its_kernel() {
    for (path, launches) in examples() {
        for (sm, target) in TARGETS {
            for (launch, kernel) in &launches {
                let said = say(&["emit", &path, "--stage", "ptx", "--launch", launch, "--gpu", sm]);
                assert_eq!(said.status, 0, "{path} {launch} {sm}: {}", said.stderr);
                let has = |line: &str| said.stdout.lines().any(|l| l.trim_end().starts_with(line));
                assert!(has(target) && has(&format!(".visible .entry {kernel}(")), "{path} {launch} {sm}:\n{}", said.stdout);
            }
        }
    }
}
