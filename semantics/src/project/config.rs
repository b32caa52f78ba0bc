//! `[tool.tritium]`, read and checked.
//!
//! **Invariant:** every key is in [`KEYS`]; a key, a kind or a value that is not known is a problem that says what was meant, never
//! silently nothing.

use std::path::{Path, PathBuf};

use toml::Value;

use super::Glob;
use crate::{builtins, diagnostics::Code, target::Gpu, versions};

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
const KEYS: &[&str] = &["triton", "gpu", "environment", "select", "ignore", "per-file-ignores", "exclude"];

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
                    let known = Gpu::find(name).is_some();
                    if !known {
                        self.problem(name, format!("unknown GPU `{name}`; `tritium gpus` lists those that are known"));
                    }
                    known
                });
            }
            "environment" => config.environment = self.string(key, value),
            "select" => config.select = self.selectors(key, value),
            "ignore" => config.ignore = self.selectors(key, value),
            "exclude" => config.exclude = self.strings(key, value).iter().map(|p| Glob::new(p)).collect(),
            "per-file-ignores" => match value {
                Value::Table(rows) => {
                    for (pattern, codes) in rows {
                        let codes = self.selectors(pattern, codes);
                        config.per_file_ignores.push((Glob::new(pattern), codes));
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
