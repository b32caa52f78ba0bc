//! Twins: right code, and the same with one line that makes it wrong, as sections of files.

use std::{fs, path::PathBuf};

use crate::repository;

const HEADER: &str = "import torch\nimport triton\nimport triton.language as tl\n\n\n";
/// Where the wrong twin is told if not on the line that differs.
const HERE: &str = "  # here";

/// A right kernel, its wrong twin, and what is said of that.
pub struct Pair {
    /// `random_numbers: dropout: every program draws the same numbers`
    pub name: String,
    pub right: String,
    pub wrong: String,
    pub code: String,
    /// Counted from 1, in the wrong twin.
    pub line: u64,
    /// Not found yet.
    pub is_missed: bool,
}

impl Pair {
    fn parse(name: String, section: &str) -> Pair {
        let (mut right, mut wrong) = (HEADER.to_owned(), HEADER.to_owned());
        let (mut found, mut here) = (None, None);
        let line_after = |text: &str| text.lines().count() as u64 + 1;
        for line in section.lines() {
            let (line, told_here) = line.strip_suffix(HERE).map_or((line, false), |line| (line, true));
            let (kept, change) = change(line).map_or((line, None), |(kept, change)| (kept, Some(change)));
            right += &format!("{kept}\n");
            if told_here {
                here = Some(line_after(&wrong));
            }
            let Some((is_missed, code, instead)) = change else {
                wrong += &format!("{kept}\n");
                continue;
            };
            assert!(found.is_none(), "{name}: two lines differ");
            found = Some((is_missed, code.to_owned(), line_after(&wrong)));
            if !instead.is_empty() {
                let indent = kept.len() - kept.trim_start().len();
                wrong += &format!("{}{instead}\n", &kept[..indent]);
            }
        }
        let (is_missed, code, differs) = found.unwrap_or_else(|| panic!("{name}: nothing differs"));
        Pair { name, right, wrong, code, line: here.unwrap_or(differs), is_missed }
    }
}

/// `CODE  # CODE: INSTEAD`, or `# missed CODE: INSTEAD`: what stands there, whether it is missed, the code, what stands in the wrong twin.
fn change(line: &str) -> Option<(&str, (bool, &str, &str))> {
    let (kept, comment) = line.rsplit_once("  # ")?;
    let (head, instead) = comment.split_once(':')?;
    let (is_missed, code) = head.strip_prefix("missed ").map_or((false, head), |code| (true, code));
    let is_code = code.len() == 6 && code.is_char_boundary(3) && code[..3].bytes().all(|b| b.is_ascii_uppercase());
    is_code.then(|| (kept, (is_missed, code, instead.trim())))
}

/// The twins of a folder of the repository.
pub fn pairs(folder: &str) -> Vec<Pair> {
    let folder = repository().join(folder);
    let mut files: Vec<PathBuf> = fs::read_dir(&folder).expect("the folder").flatten().map(|e| e.path()).collect();
    files.retain(|path| path.extension().is_some_and(|e| e == "py"));
    files.sort();
    let mut out = Vec::new();
    for file in files {
        let stem = file.file_stem().expect("a name").to_string_lossy();
        let text = fs::read_to_string(&file).expect("a text");
        for section in text.split("# == ").skip(1) {
            let (title, body) = section.split_once('\n').expect("a title and a kernel");
            out.push(Pair::parse(format!("{stem}: {title}"), body));
        }
    }
    out
}
