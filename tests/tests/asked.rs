//! Launches of published packages of which no text says enough: what is asked for is filled in, and each runs on the CPU.
//!
//! `tests/data/asked/launches.txt` has those that `tritium stats` counts as of the kernel's own parameters, a line each: file, line, kernel, and what is
//! set where the defaults do not go together. `asked.txt` beside it tells what was asked for and what became of it. Without the packages
//! (`cargo xtask corpora`) this is ignored; under CI it fails.

use std::{fmt::Write as _, fs, process::Command};

use expect_test::expect_file;
use tritium_harness::test_with;
use tritium_tests::{repository, tritium};

fn main() {
    let corpora = || {
        let folder = repository().join(".cache/corpora");
        let missing =
            ["liger-kernel", "fla-core", "conch-triton-kernels", "torchao"].into_iter().find(|name| !folder.join(name).is_dir());
        missing.map_or(Ok(folder), |name| Err(format!("no {name}: `cargo xtask corpora` fetches it")))
    };
    tritium_harness::run(vec![test_with("launches_run_once_what_they_ask_for_is_filled_in", corpora, |folder| {
        let list = fs::read_to_string(repository().join("tests/data/asked/launches.txt")).expect("the list");
        let mut out = String::new();
        for line in list.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let words: Vec<&str> = line.split_whitespace().collect();
            let [place, kernel, set @ ..] = &words[..] else { panic!("{line}") };
            let (file, number) = place.rsplit_once(':').expect("file:line");
            let mut run = Command::new(tritium());
            run.arg("run").arg(folder.join(file)).args(["--launch", kernel, "--device", "cpu"]);
            set.iter().for_each(|given| {
                run.args(["--set", given]);
            });
            let done = run.output().expect("tritium starts");
            let (text, said) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
            let _ = writeln!(out, "{place} {kernel}");
            // What is told of this place: the same kernel may be launched at others.
            let here = format!("on line {number} with ");
            let entered = text.lines().find_map(|line| Some(line.split_once(&here)?.1));
            let is_default = |given: &&str| given.ends_with("(default)");
            for (what, wanted) in [("asked for", true), ("set", false)] {
                let names = entered.into_iter().flat_map(names).filter(|given| is_default(given) == wanted);
                let names: Vec<&str> = names.map(|given| given.trim_end_matches(" (default)")).collect();
                if !names.is_empty() {
                    let _ = writeln!(out, "  {what}: {}", names.join("; "));
                }
            }
            let ran = text.lines().filter_map(|line| line.strip_suffix(" ms").and_then(|line| line.rsplit_once(", ")));
            match ran.map(|(line, _)| line).next() {
                Some(ran) if done.status.success() => drop(writeln!(out, "  {}", ran.trim_start_matches(*kernel).trim_start())),
                _ => drop(writeln!(out, "  does not run: {}", said.lines().nth(1).unwrap_or_default().trim())),
            }
        }
        expect_file![repository().join("tests/data/asked/asked.txt")].assert_eq(&out);
    })]);
}

/// `M = 8 (default), x = f32[M, N], grid = (1, 1, 1)` as its parts.
fn names(given: &str) -> Vec<&str> {
    let (mut depth, mut from, mut out) = (0, 0, Vec::new());
    for (at, c) in given.char_indices() {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            ',' if depth == 0 => {
                out.push(given[from..at].trim());
                from = at + 1;
            }
            _ => {}
        }
    }
    out.push(given[from..].trim());
    out
}
