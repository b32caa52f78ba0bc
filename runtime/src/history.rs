//! What launches were measured at, day after day, beside the store.

use std::{
    path::Path,
    time::{SystemTime, UNIX_EPOCH},
};

use serde::{Deserialize, Serialize};

use crate::{git, kept::Kept, timing::Spread};

const KEPT: Kept = Kept("history");
/// Of one launch on one device.
const MAX_ENTRIES: usize = 50;
/// Of all launches of a file.
const MAX_ENTRIES_OF_FILE: usize = 2_000;
/// A launch that was timed, or verified, once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Seconds since 1970.
    pub at: u64,
    /// The commit that was checked out, in short.
    pub commit: Option<String>,
    pub kernel: String,
    /// `matmul:3`
    pub launch: String,
    pub device: String,
    #[serde(default)]
    pub time: Option<Spread>,
    /// The largest relative error of what was compared.
    #[serde(default)]
    pub error: Option<f64>,
    /// Nothing was wrong.
    pub ok: bool,
    /// Of a thread, exact.
    #[serde(default)]
    pub registers: Option<u32>,
    /// Of the code and the work that were measured ([`mark`]).
    #[serde(default)]
    pub code: Option<String>,
}

impl Entry {
    /// Of now, and of what is checked out where the file lies.
    pub fn now(file: &Path) -> impl Fn(&str, String, &str) -> Entry {
        let at = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let commit = git::commit(file);
        move |kernel, launch, device| Entry {
            at,
            commit: commit.clone(),
            kernel: kernel.to_owned(),
            launch,
            device: device.to_owned(),
            time: None,
            error: None,
            ok: true,
            registers: None,
            code: None,
        }
    }

    fn is_of(&self, other: &Entry) -> bool {
        (&self.kernel, &self.launch, &self.device, self.time.is_some())
            == (&other.kernel, &other.launch, &other.device, other.time.is_some())
    }
}

/// Tells what was measured from what has changed since.
pub fn mark(parts: &[&str]) -> String {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes()).update(part.as_bytes());
    }
    hasher.finalize().to_hex()[..16].to_owned()
}

/// What was measured of a file's launches, oldest first.
pub fn read(file: &Path) -> Vec<Entry> {
    KEPT.read(file)
}

/// Adds what was measured now.
pub fn add(file: &Path, new: Vec<Entry>) {
    if !new.is_empty() {
        KEPT.change(file, |all| joined(all, new));
    }
}

/// Bounded for each launch, and as a whole.
fn joined(mut all: Vec<Entry>, new: Vec<Entry>) -> Vec<Entry> {
    for entry in new {
        while all.iter().filter(|known| known.is_of(&entry)).count() >= MAX_ENTRIES
            && let Some(oldest) = all.iter().position(|known| known.is_of(&entry))
        {
            all.remove(oldest);
        }
        all.push(entry);
    }
    all.drain(..all.len().saturating_sub(MAX_ENTRIES_OF_FILE));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(launch: &str, at: u64) -> Entry {
        Entry { at, ..Entry::now(Path::new("/none"))("k", launch.to_owned(), "cpu") }
    }

    #[test]
    fn the_newest_of_each_launch_are_kept() {
        let mut all = Vec::new();
        for at in 0..200 {
            all = joined(all, vec![entry("a", at), entry(&format!("b{at}"), at)]);
        }
        let times: Vec<u64> = all.iter().filter(|e| e.launch == "a").map(|e| e.at).collect();
        assert_eq!(times, (150..200).collect::<Vec<_>>());
        assert_eq!(all.len(), 250);
        let all = joined(all, (0..5_000).map(|at| entry(&format!("c{at}"), at)).collect());
        assert_eq!(all.len(), MAX_ENTRIES_OF_FILE);
    }
}
