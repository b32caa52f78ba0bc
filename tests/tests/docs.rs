//! The listings of `docs/architecture.md` are what the program prints (`UPDATE_EXPECT=1` writes them anew), and the recipes of `docs/adding.md`
//! name the files that their examples are in.

use std::{fs, path::Path, process::Command};

use expect_test::expect_file;
use tritium_tests::{repository, tritium};

/// The text that belongs under a marker such as `tritium emit FILE --stage tile | from load | first 12`.
fn listing(marker: &str) -> String {
    let mut parts = marker.split('|').map(str::trim);
    let command = parts.next().unwrap_or_default();
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
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for filter in parts {
        lines = filtered(&lines, filter);
    }
    lines.iter().map(|line| format!("{}\n", line.trim_end())).collect()
}

fn filtered(lines: &[String], filter: &str) -> Vec<String> {
    let gap = &["…".to_owned()][..];
    match filter.split_whitespace().collect::<Vec<_>>()[..] {
        // The first line that has a word, and what follows it.
        ["from", word] => {
            let start = lines.iter().position(|line| line.contains(word)).unwrap_or_else(|| panic!("no line has `{word}`"));
            [gap, &lines[start..]].concat()
        }
        ["first", count] => {
            let count: usize = count.parse().expect("a number of lines");
            let end = if lines.len() > count { gap } else { &[] };
            [&lines[..count.min(lines.len())], end].concat()
        }
        // A time is another one every time.
        ["without", "times"] => lines
            .iter()
            .map(|line| match line.trim_end().strip_suffix(" ms").and_then(|start| start.rsplit_once(' ')) {
                Some((start, _)) => format!("{start} … ms"),
                None => line.clone(),
            })
            .collect(),
        _ => panic!("unknown filter `{filter}`"),
    }
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
    expect_file![path].assert_eq(&new);
}

/// The words between backquotes.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2).filter(|word| !word.contains(char::is_whitespace))
}

/// The letters and digits of a name, the same in every way of writing it.
fn plain(text: &str) -> String {
    text.chars().filter(|c| c.is_ascii_alphanumeric()).map(|c| c.to_ascii_lowercase()).collect()
}

/// The text of a file; the names and texts of a folder's.
fn contents(path: &Path) -> String {
    if !path.is_dir() {
        return fs::read_to_string(path).unwrap_or_default();
    }
    let entries = fs::read_dir(path).expect("a folder").map(|entry| entry.expect("an entry").path());
    entries.map(|path| format!("{} {}\n", path.display(), contents(&path))).collect()
}

/// Each step of a recipe is there, and was taken for one of the examples that the recipe says to follow.
#[test]
fn recipes_name_the_files_of_their_examples() {
    let page = fs::read_to_string(repository().join("docs/adding.md")).expect("docs/adding.md is there");
    let mut wrong = Vec::new();
    let mut recipes = 0;
    for recipe in page.split("\n## ").skip(1) {
        recipes += 1;
        let title = recipe.lines().next().unwrap_or_default();
        let (steps, rest) = recipe.split_once("\nTo follow: ").unwrap_or_else(|| panic!("{title}: no line `To follow: `"));
        let examples: Vec<&str> = quoted(rest.split("\n\n").next().unwrap_or_default()).collect();
        let paths = quoted(steps).filter(|word| word.contains('/') || repository().join(word).is_file());
        for (index, path) in paths.enumerate() {
            let found = repository().join(path);
            if !found.exists() {
                wrong.push(format!("{title}: there is no {path}"));
                continue;
            }
            let text = plain(&contents(&found));
            let (with, without): (Vec<&str>, Vec<&str>) = examples.iter().partition(|example| text.contains(&plain(example)));
            if index == 0 && !without.is_empty() {
                wrong.push(format!("{title}: {path} does not have {}", without.join(", ")));
            }
            if with.is_empty() {
                wrong.push(format!("{title}: {path} has none of {}", examples.join(", ")));
            }
        }
    }
    assert!(recipes >= 7, "the recipes are missing");
    assert!(wrong.is_empty(), "docs/adding.md does not tell what was done:\n{}", wrong.join("\n"));
}
