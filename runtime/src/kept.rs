//! What is kept of a source file beside the store: a file of the cache for each, never in a workspace, so never committed.
//!
//! **What cannot be read is as good as absent; no failure of the disk is an error of the work, and nothing grows without bound.**

use std::{
    fs,
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

use serde::{Serialize, de::DeserializeOwned};

use crate::{files, store};

/// Source files of which something is kept; those that were not added to for longest go.
const MAX_FILES: usize = 1_000;
const MAX_BYTES: u64 = 4 << 20;

/// A folder of the cache.
pub(crate) struct Kept(pub(crate) &'static str);

impl Kept {
    pub(crate) fn read<T: DeserializeOwned>(&self, file: &Path) -> Vec<T> {
        self.place(file).map(|place| parse(&place)).unwrap_or_default()
    }

    /// When something was added last.
    pub(crate) fn changed_at(&self, file: &Path) -> Option<SystemTime> {
        fs::metadata(self.place(file)?).and_then(|about| about.modified()).ok()
    }

    /// Replaces what is kept by what is made of it.
    pub(crate) fn change<T: DeserializeOwned + Serialize>(&self, file: &Path, change: impl FnOnce(Vec<T>) -> Vec<T>) {
        let Some(place) = self.place(file) else { return };
        let all = change(parse(&place));
        let Some(folder) = place.parent() else { return };
        let written = serde_json::to_vec(&all).map_err(Into::into).and_then(|bytes| {
            fs::create_dir_all(folder)?;
            files::keep(&place, |out| out.write_all(&bytes))
        });
        if let Err(error) = written {
            tracing::debug!(place = %place.display(), %error, "cannot be kept");
        }
        forget_oldest(folder);
    }

    fn place(&self, file: &Path) -> Option<PathBuf> {
        let file = std::path::absolute(file).ok()?;
        let name = blake3::hash(file.as_os_str().as_encoded_bytes()).to_hex();
        Some(store::folder()?.join(self.0).join(format!("{}.json", &name[..32])))
    }
}

fn parse<T: DeserializeOwned>(place: &Path) -> Vec<T> {
    let text = files::read_regular(place, MAX_BYTES).unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or_default()
}

fn forget_oldest(folder: &Path) {
    let age = |path: &PathBuf| fs::metadata(path).and_then(|about| about.modified()).unwrap_or(UNIX_EPOCH);
    let mut all: Vec<PathBuf> = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    if all.len() > MAX_FILES {
        all.sort_by_cached_key(age);
        all.iter().take(all.len() - MAX_FILES).for_each(|path| drop(fs::remove_file(path)));
    }
}
