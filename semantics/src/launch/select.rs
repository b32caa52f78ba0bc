//! Which launches are meant, of those there are: `rows`, `matmul` (every row of its tuner), `matmul:3`, or a row alone.
//!
//! **Invariant:** the one reading of such names for every command and every editor; a selection is never empty, but an error that says what
//! there is.

use std::fmt;

use smol_str::SmolStr;

use super::Launch;

/// Names that an error lists.
const MAX_LISTED: usize = 16;

/// Name of a launch among those of its file.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct LaunchId {
    pub name: SmolStr,
    /// The row of its kernel's tuner.
    pub row: Option<u32>,
}

impl LaunchId {
    pub fn new(name: &str, row: Option<u32>) -> LaunchId {
        LaunchId { name: name.into(), row }
    }
}

/// `rows`, `matmul:3`
impl fmt::Display for LaunchId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.row {
            None => f.write_str(&self.name),
            Some(row) => write!(f, "{}:{row}", self.name),
        }
    }
}

/// Whether a name is that of a launch, alone or with a row.
pub fn is_of(name: &str, launch: &str) -> bool {
    let row = name.strip_prefix(launch).and_then(|rest| rest.strip_prefix(':'));
    name == launch || row.is_some_and(|row| row.parse::<u32>().is_ok())
}

impl Launch {
    pub fn id(&self) -> LaunchId {
        LaunchId { name: self.name.clone(), row: self.config }
    }
}

/// The launches of a name and of a row; what no tuner makes has every row.
pub fn select<T>(all: Vec<T>, id: impl Fn(&T) -> LaunchId, name: Option<&str>, row: Option<usize>) -> Result<Vec<T>, String> {
    let ids: Vec<LaunchId> = all.iter().map(&id).collect();
    // The name of a launch means every row.
    let is_named = |id: &LaunchId| name.is_none_or(|name| id.name == name || id.to_string() == name);
    let is_row = |id: &LaunchId| row.is_none_or(|wanted| id.row.is_none_or(|row| row as usize == wanted));
    let chosen: Vec<T> = all.into_iter().zip(&ids).filter(|(_, id)| is_named(id) && is_row(id)).map(|(one, _)| one).collect();
    if !chosen.is_empty() {
        return Ok(chosen);
    }
    let missing = match (name, row) {
        (Some(name), Some(row)) if ids.iter().any(is_named) => format!("no launch `{name}` with configuration {row}"),
        (None, Some(row)) => format!("no launch with configuration {row}"),
        (Some(name), _) => format!("no launch `{name}`"),
        (None, None) => "no launch".to_owned(),
    };
    let mut listed: Vec<String> = ids.iter().take(MAX_LISTED).map(LaunchId::to_string).collect();
    if let more @ 1.. = ids.len() - listed.len() {
        listed.push(format!("{more} more"));
    }
    Err(if listed.is_empty() { missing } else { format!("{missing} here; there are: {}", listed.join(", ")) })
}
