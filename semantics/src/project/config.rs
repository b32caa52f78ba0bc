//! `[tool.tritium]`, read and checked.
//!
//! **Invariant:** every key is in [`KEYS`]; a key, a kind or a value that is not known is a problem that says what was meant, never
//! silently nothing.

use std::path::{Path, PathBuf};

use toml::Value;

use super::Glob;
use crate::{
    builtins,
    diagnostics::Code,
    target::{self, Board, Gpu},
    versions,
};

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Config {
    pub triton: Option<String>,
    pub gpu: Option<String>,
    pub environment: Option<String>,
    /// Only these; all where it is empty.
    pub select: Vec<Selector>,
    pub ignore: Vec<Selector>,
    pub per_file_ignores: Vec<(Glob, Vec<Selector>)>,
    pub exclude: Vec<Glob>,
    /// `[tool.tritium.boards.NAME]`
    pub boards: Vec<&'static Board>,
}

/// What is wrong with a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigProblem {
    pub path: PathBuf,
    /// 1-based; 0 where no line is known.
    pub line: usize,
    pub message: String,
}

impl std::fmt::Display for ConfigProblem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.line {
            0 => f.write_str(&self.message),
            line => write!(f, "{}:{line}: {}", self.path.display(), self.message),
        }
    }
}

/// A code (`SHP001`), a family (`SHP`) or a name (`incompatible-broadcast`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selector(String);

impl Selector {
    /// `Err`: no diagnostic is meant by it; the message says which may be.
    pub fn parse(text: &str) -> Result<Selector, String> {
        let text = text.trim();
        if let Some(code) = Code::find(text) {
            return Ok(Selector(code.as_str().to_owned()));
        }
        let family = text.to_ascii_uppercase();
        if !family.is_empty()
            && family.bytes().all(|b| b.is_ascii_alphabetic())
            && Code::ALL.iter().any(|c| c.as_str().starts_with(&family))
        {
            return Ok(Selector(family));
        }
        let known = Code::ALL.iter().flat_map(|c| [c.as_str(), c.name()]);
        let nearest = builtins::closest(&family, known.clone()).or_else(|| builtins::closest(text, known));
        Err(match nearest {
            Some(nearest) => format!("`{text}` is no diagnostic; did you mean `{nearest}`?"),
            None => format!("`{text}` is no diagnostic: codes are written `SHP001`, families `SHP`"),
        })
    }

    pub fn matches(&self, code: Code) -> bool {
        code.as_str().starts_with(&self.0)
    }
}

/// The keys, in the order of the documentation.
const KEYS: &[&str] = &["triton", "gpu", "environment", "select", "ignore", "per-file-ignores", "exclude", "boards"];

/// What says a board, in the order of the documentation, and whether a row must have it.
const BOARD_KEYS: &[(&str, bool)] = &[
    ("sm", true),
    ("sm-count", true),
    ("clock", true),
    ("dram-bandwidth", true),
    ("l2", true),
    ("f16-tflops", true),
    ("tf32-tflops", true),
    ("f32-tflops", true),
    ("fp8-tflops", false),
    ("int8-tops", false),
    ("f64-tflops", false),
];

/// The configuration of a `pyproject.toml`; `None` if it has none.
pub fn read(path: &Path, text: &str) -> Option<(Config, Vec<ConfigProblem>)> {
    if !text.contains("tool") || !text.contains("tritium") {
        return None;
    }
    let mut reader = Reader { path, text, problems: vec![] };
    let table: toml::Table = match toml::from_str(text) {
        Ok(table) => table,
        Err(error) => {
            let line = error.span().map_or(0, |span| text[..span.start.min(text.len())].lines().count().max(1));
            let message = format!("this is not TOML: {}", error.message().lines().next().unwrap_or_default());
            reader.problems.push(ConfigProblem { path: path.to_owned(), line, message });
            return Some((Config::default(), reader.problems));
        }
    };
    let own = table.get("tool")?.get("tritium")?;
    let Value::Table(own) = own else {
        reader.problem("tritium", "`tool.tritium` is a table: `[tool.tritium]`".to_owned());
        return Some((Config::default(), reader.problems));
    };
    let mut config = Config::default();
    // `gpu` may name one of the boards.
    if let Some(boards) = own.get("boards") {
        config.boards = reader.boards(boards);
    }
    for (key, value) in own {
        reader.key(key, value, &mut config);
    }
    Some((config, reader.problems))
}

struct Reader<'a> {
    path: &'a Path,
    text: &'a str,
    problems: Vec<ConfigProblem>,
}

impl Reader<'_> {
    fn problem(&mut self, word: &str, message: String) {
        let line = self.line(word);
        self.problems.push(ConfigProblem { path: self.path.to_owned(), line, message });
    }

    /// The line below `[tool.tritium` that first has a word.
    fn line(&self, word: &str) -> usize {
        let lines = || self.text.lines().enumerate().map(|(i, l)| (i + 1, l));
        let header = lines().find(|(_, l)| l.contains("tritium")).map_or(1, |l| l.0);
        lines().filter(|l| l.0 >= header).find(|(_, l)| l.contains(word)).map_or(header, |l| l.0)
    }

    fn key(&mut self, key: &str, value: &Value, config: &mut Config) {
        match key {
            "triton" => {
                config.triton = self.string(key, value).filter(|version| {
                    let known = versions::rules(version).is_some();
                    if !known {
                        self.problem(version, format!("`{version}` is no version of Triton; \"3.6\" is one"));
                    }
                    known
                });
            }
            "gpu" => {
                config.gpu = self.string(key, value).filter(|name| {
                    let known = Gpu::find_among(name, &config.boards).is_some();
                    if !known {
                        self.problem(name, format!("unknown GPU `{name}`; `tritium gpus` lists those that are known"));
                    }
                    known
                });
            }
            "boards" => {}
            "environment" => config.environment = self.string(key, value),
            "select" => config.select = self.selectors(key, value),
            "ignore" => config.ignore = self.selectors(key, value),
            "exclude" => config.exclude = self.strings(key, value).iter().filter_map(|pattern| self.glob(pattern)).collect(),
            "per-file-ignores" => match value {
                Value::Table(rows) => {
                    for (pattern, codes) in rows {
                        let codes = self.selectors(pattern, codes);
                        config.per_file_ignores.extend(self.glob(pattern).map(|glob| (glob, codes)));
                    }
                }
                _ => self.problem(key, "`per-file-ignores` is a table: `\"tests/*.py\" = [\"MSK\"]`".to_owned()),
            },
            _ => {
                let message = match builtins::closest(key, KEYS.iter().copied()) {
                    Some(nearest) => format!("unknown key `tool.tritium.{key}`; did you mean `{nearest}`?"),
                    None => format!("unknown key `tool.tritium.{key}`; known are {}", KEYS.join(", ")),
                };
                self.problem(key, message);
            }
        }
    }

    fn boards(&mut self, value: &Value) -> Vec<&'static Board> {
        let Value::Table(rows) = value else {
            self.problem("boards", "`boards` is a table of boards: `[tool.tritium.boards.NAME]`".to_owned());
            return vec![];
        };
        let mut out = Vec::new();
        for (name, row) in rows {
            match board(row).and_then(|row| target::add_board(name, row)) {
                Ok(board) => out.push(board),
                Err(message) => self.problem(&format!("boards.{name}"), format!("board `{name}`: {message}")),
            }
        }
        out
    }

    fn glob(&mut self, pattern: &str) -> Option<Glob> {
        Glob::new(pattern).map_err(|error| self.problem(pattern, format!("`{pattern}` is no pattern: {}", error.kind()))).ok()
    }

    fn string(&mut self, key: &str, value: &Value) -> Option<String> {
        match value {
            Value::String(text) => Some(text.clone()),
            _ => {
                self.problem(key, format!("`{key}` is a string, and this is {}", kind(value)));
                None
            }
        }
    }

    fn strings(&mut self, key: &str, value: &Value) -> Vec<String> {
        let items = match value {
            Value::Array(items) => items.iter().map(|i| i.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>(),
            _ => None,
        };
        items.unwrap_or_else(|| {
            self.problem(key, format!("`{key}` is a list of strings, and this is {}", kind(value)));
            vec![]
        })
    }

    fn selectors(&mut self, key: &str, value: &Value) -> Vec<Selector> {
        let mut out = Vec::new();
        for text in self.strings(key, value) {
            match Selector::parse(&text) {
                Ok(selector) => out.push(selector),
                Err(message) => self.problem(&text, message),
            }
        }
        out
    }
}

/// A row as it is written; whether it makes sense is [`Board::problem`]'s business.
fn board(value: &Value) -> Result<Board, String> {
    let Value::Table(row) = value else { return Err(format!("a table is meant, and this is {}", kind(value))) };
    if let Some(key) = row.keys().find(|key| !BOARD_KEYS.iter().any(|(known, _)| known == key)) {
        let names = BOARD_KEYS.iter().map(|(name, _)| *name);
        return Err(match builtins::closest(key, names.clone()) {
            Some(nearest) => format!("unknown key `{key}`; did you mean `{nearest}`?"),
            None => format!("unknown key `{key}`; known are {}", names.collect::<Vec<_>>().join(", ")),
        });
    }
    let missing: Vec<&str> =
        BOARD_KEYS.iter().filter(|(name, needed)| *needed && !row.contains_key(*name)).map(|(name, _)| *name).collect();
    if !missing.is_empty() {
        return Err(format!("{} {} missing", missing.join(", "), if missing.len() == 1 { "is" } else { "are" }));
    }
    let rate = |key: &str| match row.get(key) {
        None => Ok(None),
        Some(Value::Float(number)) => Ok(Some(*number)),
        Some(Value::Integer(number)) => Ok(Some(*number as f64)),
        Some(other) => Err(format!("`{key}` is a number, and this is {}", kind(other))),
    };
    let needed = |key: &str| rate(key).map(Option::unwrap_or_default);
    let count = |key: &str| match row.get(key) {
        Some(Value::Integer(number)) => {
            u32::try_from(*number).map_err(|_| format!("`{key}` is {number}; a natural number is meant"))
        }
        other => Err(format!("`{key}` is a whole number, and this is {}", other.map_or("missing", kind))),
    };
    let sm = row.get("sm").and_then(Value::as_str).ok_or("`sm` is a string: `\"sm_90\"`")?;
    // Names of rows live as long as the program; an unknown one gets no row.
    let sm = target::SMS.iter().find(|known| known.name == sm).map(|known| known.name).ok_or_else(|| {
        let known: Vec<&str> = target::SMS.iter().map(|known| known.name).collect();
        format!("`{sm}` is no SM generation; known are {}", known.join(", "))
    })?;
    Ok(Board {
        name: "",
        sm,
        sm_count: count("sm-count")?,
        clock: count("clock")?,
        dram_bandwidth: needed("dram-bandwidth")?,
        l2: count("l2")?,
        f16_tflops: needed("f16-tflops")?,
        tf32_tflops: needed("tf32-tflops")?,
        f32_tflops: needed("f32-tflops")?,
        fp8_tflops: rate("fp8-tflops")?,
        int8_tops: rate("int8-tops")?,
        f64_tflops: rate("f64-tflops")?,
    })
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::String(_) => "a string",
        Value::Integer(_) | Value::Float(_) => "a number",
        Value::Boolean(_) => "true or false",
        Value::Datetime(_) => "a date",
        Value::Array(_) => "a list with something else in it",
        Value::Table(_) => "a table",
    }
}
