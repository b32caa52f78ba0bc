//! Whole programs as people write them: their host code makes the tensors, launches the kernels and holds the results against PyTorch's
//! functions. Every one of `examples/programs` runs and verifies from that host code alone.

use std::{fs, process::Command};

use expect_test::expect_file;
use tritium_tests::{repository, tritium};

/// What a run says, without times and the numbers of tensors.
fn said(file: &str, arguments: &[&str]) -> String {
    let mut command = Command::new(tritium());
    let done =
        command.args(["run", file, "--verify"]).args(arguments).current_dir(repository()).output().expect("tritium starts");
    let out = String::from_utf8_lossy(&done.stdout).into_owned() + &String::from_utf8_lossy(&done.stderr);
    let lines = out.lines().filter(|line| {
        (!line.starts_with("  ") || line.starts_with("  FAULT")) && !line.is_empty() && !line.starts_with("checked")
    });
    let lines: Vec<&str> = lines
        .map(|line| line.rsplit_once(", ").filter(|(_, time)| time.ends_with(" ms")).map_or(line, |(head, _)| head))
        .collect();
    format!("{}\nexit status {}\n", lines.join("\n"), done.status.code().unwrap_or(-1))
}

#[test]
fn every_program_runs_and_verifies_from_its_own_host_code() {
    let folder = repository().join("examples/programs");
    let mut names: Vec<String> = fs::read_dir(&folder)
        .expect("the examples")
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.strip_suffix(".py").map(str::to_owned))
        .collect();
    names.sort();
    assert!(names.len() >= 20, "{names:?}");
    let mut all = String::new();
    for name in names {
        let said = said(&format!("examples/programs/{name}.py"), &[]);
        assert!(
            said.ends_with("exit status 0\n") && said.contains("verified") && !said.contains("NOT VERIFIED"),
            "{name}: {said}"
        );
        all += &format!("{name}\n{said}\n");
    }
    expect_file![repository().join("tests/data/programs/examples.txt")].assert_eq(&all);
}

/// PyTorch's functions, whose values on small inputs PyTorch has written into the file.
#[test]
fn functions_give_what_pytorch_gives() {
    let said = said("tests/data/programs/functions.py", &[]);
    let wrong: Vec<&str> = said.lines().filter(|line| line.starts_with("NOT") || line.starts_with("MISMATCH")).collect();
    assert!(said.ends_with("exit status 0\n"), "{}", wrong.join("\n"));
    assert!(said.matches("verified").count() > 150, "{}", said.matches("verified").count());
}

/// A program that is wrong says where, and what it holds beside the reference.
#[test]
fn programs_that_are_wrong_say_where() {
    let all: String = ["wrong_result.py", "not_followed.py", "faults.py"]
        .iter()
        .map(|name| format!("{name}\n{}\n", said(&format!("tests/data/programs/{name}"), &[])))
        .collect();
    expect_file![repository().join("tests/data/programs/wrong.txt")].assert_eq(&all);
}
