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
            let rows = report["rows"].as_array().expect("rows");
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
