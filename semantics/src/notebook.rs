//! Notebooks as Python: the code cells of an `.ipynb` file one after the other, so names flow from cell to cell.
//!
//! **Invariant:** each cell follows a line that says which it is ([`cell_at`] finds it again), and has as many lines as in the notebook; what
//! is no Python there (magics, shell commands) does nothing here.

use std::{fmt::Write as _, ops::Range, path::Path};

use serde::Deserialize;

/// Whether a file is a notebook, by its name.
pub fn is_notebook(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "ipynb")
}

#[derive(Deserialize)]
struct Notebook {
    cells: Vec<CellSource>,
}

#[derive(Deserialize)]
struct CellSource {
    cell_type: String,
    source: Lines,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Lines {
    Text(String),
    Lines(Vec<String>),
}

/// The Python of a notebook's text, or why it is none.
pub fn python(text: &str) -> Result<String, String> {
    let notebook: Notebook = serde_json::from_str(text).map_err(|error| format!("this is no notebook: {error}"))?;
    let mut out = String::new();
    let cells = notebook.cells.into_iter().filter(|cell| cell.cell_type == "code");
    for (cell, number) in cells.zip(1..) {
        let source = match cell.source {
            Lines::Text(text) => text,
            Lines::Lines(lines) => lines.concat(),
        };
        let _ = writeln!(out, "{MARK}{number}");
        // The rest of a cell in another language, or of one that only measures.
        let is_foreign = source.trim_start().strip_prefix("%%").is_some_and(|magic| {
            let name = magic.split_whitespace().next().unwrap_or_default();
            !matches!(name, "time" | "timeit" | "capture" | "prun" | "writefile" | "python" | "python3")
        });
        for line in source.lines() {
            match is_foreign || is_command(line) {
                true => out.extend([&line[..line.len() - line.trim_start().len()], "pass\n"]),
                false => out.extend([line, "\n"]),
            }
        }
    }
    Ok(out)
}

const MARK: &str = "# %% code cell ";

/// Whether a line is for IPython: `%matplotlib inline`, `!pip install …`, `name = !ls`, `thing?`.
fn is_command(line: &str) -> bool {
    let line = line.trim();
    let assigned =
        line.split_once('=').map_or(line, |(name, value)| if name.trim().chars().all(is_word) { value.trim() } else { line });
    let begins = |text: &str| {
        let mut chars = text.chars();
        matches!(chars.next(), Some('%' | '!')) && chars.next().is_some_and(|c| is_word(c) || matches!(c, '%' | ' ' | '{' | '/'))
    };
    let asks = || line.strip_suffix('?').is_some_and(|name| name.trim_end_matches('?').chars().all(|c| is_word(c) || c == '.'));
    begins(assigned) || asks() || line.starts_with('?')
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// A code cell of a notebook's Python.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    /// Among the code cells, from 1.
    pub number: u32,
    /// Its text, in bytes of the whole.
    pub range: Range<usize>,
}

/// The cell that holds a byte of a notebook's Python.
pub fn cell_at(python: &str, offset: usize) -> Option<Cell> {
    let before = python.get(..offset)?;
    let line = format!("\n{MARK}");
    let mark = before.rfind(&line).map(|at| at + 1).or_else(|| python.starts_with(MARK).then_some(0))?;
    let start = mark + python[mark..].find('\n')? + 1;
    let number = python[mark + MARK.len()..start].trim().parse().ok()?;
    let end = python[start..].find(&line).map_or(python.len(), |at| start + at + 1);
    Some(Cell { number, range: start..end.max(start) })
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::{cell_at, python};

    #[test]
    fn code_cells_follow_one_another() {
        let notebook = r##"{"cells": [
            {"cell_type": "markdown", "source": ["# Title\n", "import this"]},
            {"cell_type": "code", "source": ["%load_ext autoreload\n", "import triton\n", "!pip install x\n", "names = !ls\n", "triton?"]},
            {"cell_type": "code", "source": "if True:\n    %time f(3)\nx = 7 %2\ny = x != 3"},
            {"cell_type": "code", "source": "%%bash\necho if"},
            {"cell_type": "code", "source": []}
        ], "nbformat": 4}"##;
        let python = python(notebook).expect("a notebook");
        expect![[r#"
            # %% code cell 1
            pass
            import triton
            pass
            pass
            pass
            # %% code cell 2
            if True:
                pass
            x = 7 %2
            y = x != 3
            # %% code cell 3
            pass
            pass
            # %% code cell 4
        "#]]
        .assert_eq(&python);
        let cell = cell_at(&python, python.find("x = 7").expect("it is there")).expect("in a cell");
        assert_eq!((cell.number, &python[cell.range]), (2, "if True:\n    pass\nx = 7 %2\ny = x != 3\n"));
        assert_eq!(cell_at("x = 1\n", 3), None);
    }

    #[test]
    fn what_is_no_notebook_says_so() {
        expect!["this is no notebook: expected value at line 1 column 1"].assert_eq(&python("import triton\n").unwrap_err());
    }
}
