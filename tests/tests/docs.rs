//! The listings of `docs/architecture.md` are what the program prints. `UPDATE_EXPECT=1` writes them anew.

use std::{fs, process::Command};

use tritium_tests::{repository, tritium};

/// The text that belongs under a marker such as `tritium emit FILE --stage tile | first 12`.
fn listing(marker: &str) -> String {
    let (command, filter) = marker.split_once('|').map_or((marker, ""), |(c, f)| (c.trim(), f.trim()));
    let words: Vec<&str> = command.split_whitespace().collect();
    let text = match words[0] {
        "kernel" => {
            let file = fs::read_to_string(repository().join(words[1])).expect("the example is there");
            file[file.find("@triton.jit").expect("it has a kernel")..].to_owned()
        }
        "tritium" => {
            let output = Command::new(tritium()).args(&words[1..]).current_dir(repository()).output().expect("tritium starts");
            assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
            String::from_utf8(output.stdout).expect("tritium prints UTF-8")
        }
        other => panic!("unknown listing `{other}`"),
    };
    let keep: Vec<&str> = match filter.split_whitespace().collect::<Vec<_>>()[..] {
        ["first", count] => {
            let count: usize = count.parse().expect("a number of lines");
            let mut lines: Vec<&str> = text.lines().take(count).collect();
            if text.lines().count() > count {
                lines.push("…");
            }
            lines
        }
        // A time is another one every time.
        ["without", "times"] => text.lines().filter(|line| !line.trim_end().ends_with(" ms")).collect(),
        _ => text.lines().collect(),
    };
    keep.iter().map(|line| format!("{}\n", line.trim_end())).collect()
}

#[test]
fn listings_are_fresh() {
    let path = repository().join("docs/architecture.md");
    let old = fs::read_to_string(&path).expect("docs/architecture.md is there");
    let mut new = String::new();
    let mut lines = old.lines();
    let mut listings = 0;
    while let Some(line) = lines.next() {
        new += &format!("{line}\n");
        let Some(marker) = line.strip_prefix("<!-- listing: ").and_then(|l| l.strip_suffix(" -->")) else { continue };
        listings += 1;
        let fence = lines.next().expect("a fence follows a marker");
        assert!(fence.starts_with("```"), "a fence follows `{line}`");
        new += &format!("{fence}\n{}```\n", listing(marker));
        for inside in lines.by_ref() {
            if inside == "```" {
                break;
            }
        }
    }
    assert!(listings >= 9, "the walk has nine stages");
    if new != old && std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(&path, &new).expect("docs/architecture.md is writable");
    } else {
        assert!(new == old, "docs/architecture.md is out of date: run this test with UPDATE_EXPECT=1 and read the difference");
    }
}
