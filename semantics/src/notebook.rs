//! Notebooks as Python: the code cells one after the other, so names flow from cell to cell.
//!
//! **Invariant:** each cell follows a line that says which it is ([`cell_at`] finds it again), and has exactly the lines that an editor shows;
//! what is no Python there (magics, shell commands) does nothing here.

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
    let sources = notebook.cells.into_iter().filter(|cell| cell.cell_type == "code").map(|cell| match cell.source {
        Lines::Text(text) => text,
        Lines::Lines(lines) => lines.concat(),
    });
    let mut python = NotebookPython::default();
    sources.for_each(|source| python.push(&source));
    Ok(python.text)
}

/// Code cells as one text.
#[derive(Debug, Default)]
pub struct NotebookPython {
    pub text: String,
    pub cells: Vec<CellLines>,
    lines: u32,
}

/// Where a code cell stands in the Python of its notebook; lines count from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CellLines {
    pub lines: Range<u32>,
    /// Those that are no Python, in order.
    pub foreign: Vec<u32>,
}

impl NotebookPython {
    pub fn push(&mut self, source: &str) {
        let _ = writeln!(self.text, "{MARK}{}", self.cells.len() + 1);
        // The rest of a cell in another language, or of one that only measures.
        let is_foreign = source.trim_start().strip_prefix("%%").is_some_and(|magic| {
            let name = magic.split_whitespace().next().unwrap_or_default();
            !matches!(name, "time" | "timeit" | "capture" | "prun" | "writefile" | "python" | "python3")
        });
        let first = self.lines + 1;
        let (mut end, mut foreign) = (first, Vec::new());
        for line in source.split('\n').flat_map(|line| line.strip_suffix('\r').unwrap_or(line).split('\r')) {
            let (indent, rest) = line.split_at(line.len() - line.trim_start().len());
            self.text += indent;
            if !rest.is_empty() && (is_foreign || is_command(line)) {
                match measured(rest).filter(|_| !is_foreign) {
                    // In the columns that it has.
                    Some(statement) => {
                        let _ = write!(self.text, "{:1$};{statement}", "pass", rest.len() - statement.len() - 1);
                    }
                    None => {
                        foreign.push(end);
                        self.text += "pass";
                    }
                }
            } else {
                self.text += rest;
            }
            self.text.push('\n');
            end += 1;
        }
        self.cells.push(CellLines { lines: first..end, foreign });
        self.lines = end;
    }
}

const MARK: &str = "# %% code cell ";

/// The statement that a line only measures: `%time f(x)`, `%timeit -n 10 f(x)`. What has a block of its own is none.
fn measured(line: &str) -> Option<&str> {
    let mut rest = line.strip_prefix("%timeit ").or_else(|| line.strip_prefix("%time "))?.trim_start();
    while let Some(option) = rest.strip_prefix('-') {
        let (name, after) = option.split_once(' ').filter(|(name, _)| name.is_ascii())?;
        // `-n 10` and `-n10`; of the others none has a value.
        let value = after.trim_start();
        rest = if matches!(name, "n" | "r" | "p") { value.split_once(' ')?.1.trim_start() } else { value };
    }
    let word = rest.split(|c| !is_word(c)).next().unwrap_or_default();
    let has_block = matches!(word, "for" | "while" | "if" | "with" | "def" | "class" | "try" | "async");
    (!rest.is_empty() && !has_block).then_some(rest)
}

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

    use super::{CellLines, NotebookPython, cell_at, python};

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
                pass ;f(3)
            x = 7 %2
            y = x != 3
            # %% code cell 3
            pass
            pass
            # %% code cell 4

        "#]]
        .assert_eq(&python);
        let cell = cell_at(&python, python.find("x = 7").expect("it is there")).expect("in a cell");
        assert_eq!((cell.number, &python[cell.range]), (2, "if True:\n    pass ;f(3)\nx = 7 %2\ny = x != 3\n"));
        assert_eq!(cell_at("x = 1\n", 3), None);
    }

    #[test]
    fn what_is_measured_is_python() {
        let shown = |line: &str| {
            let mut python = NotebookPython::default();
            python.push(line);
            python.text.lines().nth(1).unwrap_or_default().to_owned()
        };
        let lines = [
            "  %time x = f(3)",
            "%timeit -n 10 -r3 -q f(3)",
            "%timeit",
            "%time ",
            "%timeit -n 10",
            "%time for x in y: f(x)",
            "%time é()",
            "%prun f(3)",
        ];
        let all: Vec<String> = lines.iter().map(|line| format!("{line}\n{}\n", shown(line))).collect();
        expect![[r#"
              %time x = f(3)
              pass ;x = f(3)
            %timeit -n 10 -r3 -q f(3)
            pass                ;f(3)
            %timeit
            pass
            %time 
            pass
            %timeit -n 10
            pass
            %time for x in y: f(x)
            pass
            %time é()
            pass ;é()
            %prun f(3)
            pass
        "#]]
        .assert_eq(&all.concat());
    }

    #[test]
    fn lines_are_those_an_editor_shows() {
        let mut python = NotebookPython::default();
        for source in ["", "a = 1\r\n!ls\rb\n", "%%bash\n\nls"] {
            python.push(source);
        }
        let lines: Vec<&str> = python.text.lines().collect();
        let shown = |cell: &CellLines| lines[cell.lines.start as usize..cell.lines.end as usize].join("|");
        let shown: Vec<_> = python.cells.iter().map(|cell| (shown(cell), cell.foreign.clone())).collect();
        expect![[r#"[("", []), ("a = 1|pass|b|", [4]), ("pass||pass", [8, 10])]"#]].assert_eq(&format!("{shown:?}"));
    }

    #[test]
    fn what_is_no_notebook_says_so() {
        expect!["this is no notebook: expected value at line 1 column 1"].assert_eq(&python("import triton\n").unwrap_err());
    }
}
