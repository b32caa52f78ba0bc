//! What launches were measured at, day after day: a file of the cache for each source file.
//!
//! It lies beside the store, never in a workspace, so it is never committed. **What cannot be read is as good as absent; no failure of the disk is an
//! error of the work, and nothing grows without bound.**

use std::{
    fs,
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

use serde::{Deserialize, Serialize};

use crate::{files, git, store, timing::Spread};

/// Of one launch on one device.
const MAX_ENTRIES: usize = 50;
/// Of all launches of a file.
const MAX_ENTRIES_OF_FILE: usize = 2_000;
/// Files with a history; those that were not measured for longest go.
const MAX_FILES: usize = 1_000;
const MAX_BYTES: u64 = 4 << 20;

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
        }
    }

    fn is_of(&self, other: &Entry) -> bool {
        (&self.kernel, &self.launch, &self.device, self.time.is_some())
            == (&other.kernel, &other.launch, &other.device, other.time.is_some())
    }
}

/// What was measured of a file's launches, oldest first.
pub fn read(file: &Path) -> Vec<Entry> {
    place(file).map(|place| parse(&place)).unwrap_or_default()
}

fn parse(place: &Path) -> Vec<Entry> {
    let text = files::read_regular(place, MAX_BYTES).unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or_default()
}

/// Adds what was measured now.
pub fn add(file: &Path, new: Vec<Entry>) {
    let Some(place) = place(file).filter(|_| !new.is_empty()) else { return };
    let all = joined(parse(&place), new);
    let Some(folder) = place.parent() else { return };
    let written = serde_json::to_vec(&all).map_err(Into::into).and_then(|bytes| {
        fs::create_dir_all(folder)?;
        files::keep(&place, |out| out.write_all(&bytes))
    });
    if let Err(error) = written {
        tracing::debug!(place = %place.display(), %error, "cannot keep this history");
    }
    forget_oldest(folder);
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

fn forget_oldest(folder: &Path) {
    let age = |path: &PathBuf| fs::metadata(path).and_then(|about| about.modified()).unwrap_or(UNIX_EPOCH);
    let mut all: Vec<PathBuf> = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    if all.len() > MAX_FILES {
        all.sort_by_cached_key(age);
        all.iter().take(all.len() - MAX_FILES).for_each(|path| drop(fs::remove_file(path)));
    }
}

fn place(file: &Path) -> Option<PathBuf> {
    let file = std::path::absolute(file).ok()?;
    let name = blake3::hash(file.as_os_str().as_encoded_bytes()).to_hex();
    Some(store::folder()?.join("history").join(format!("{}.json", &name[..32])))
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
