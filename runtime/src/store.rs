//! The content-addressed store: exact artefacts (PTX, machine code, resource numbers) that were dear to make, on disk.
//!
//! An entry's name is the hash of everything it depends on, so an entry is never wrong and never updated. **What cannot
//! be read back whole is as good as absent; no failure of the disk is an error of the work.**

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use crate::files;

/// How large the store may become, in bytes.
const LIMIT: u64 = 512 << 20;
/// Bytes written between two looks at the size of the whole.
const LOOK_EVERY: u64 = 16 << 20;
/// Changes when the form of entries does; older ones are then forgotten and aged out.
const FORM: &[u8; 8] = b"tritium1";

/// The folder of what is kept: `$TRITIUM_CACHE`, else `tritium` in the cache folder of the system; `TRITIUM_CACHE=off` is none.
pub(crate) fn folder() -> Option<PathBuf> {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    match variable("TRITIUM_CACHE") {
        Some(value) if value == "off" => None,
        Some(value) => Some(PathBuf::from(value)),
        None => variable("XDG_CACHE_HOME")
            .or_else(|| variable("LOCALAPPDATA"))
            .map(PathBuf::from)
            .or_else(|| variable("HOME").map(|home| PathBuf::from(home).join(".cache")))
            .map(|caches| caches.join("tritium")),
    }
}

/// The folder of entries that somebody hands over: `$TRITIUM_STORE`, or `store` in it, as `tritium build` leaves it.
fn given() -> Option<PathBuf> {
    let named = PathBuf::from(std::env::var_os("TRITIUM_STORE").filter(|value| !value.is_empty())?);
    let inside = named.join(IN_BUILD);
    Some(if inside.is_dir() { inside } else { named })
}

/// What the folder of entries is called in that of a build.
pub const IN_BUILD: &str = "store";

/// The name of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key(blake3::Hash);

impl Key {
    /// The name for what depends on exactly these parts, in this order.
    pub fn of(parts: &[&str]) -> Self {
        let mut hasher = blake3::Hasher::new();
        for part in parts {
            // With its length before it, no two lists of parts look alike.
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
        Self(hasher.finalize())
    }

    fn path_in(self, folder: &Path) -> PathBuf {
        let name = self.0.to_hex();
        folder.join(&name[..2]).join(&name[2..])
    }
}

/// The content of an entry that is there whole.
fn read(path: &Path, limit: u64) -> Option<Vec<u8>> {
    let bytes = files::read_regular(path, limit).ok()?;
    let (form, rest) = bytes.split_first_chunk::<8>()?;
    let (hash, content) = rest.split_first_chunk::<32>()?;
    (form == FORM && blake3::hash(content) == *hash).then(|| content.to_vec())
}

fn write(path: &Path, content: &[u8]) -> Option<()> {
    fs::create_dir_all(path.parent()?).ok()?;
    let hash = blake3::hash(content);
    files::keep(path, |out| [FORM.as_slice(), hash.as_bytes(), content].into_iter().try_for_each(|part| out.write_all(part))).ok()
}

/// A folder of entries, shared by all processes of the user.
#[derive(Debug)]
pub struct Store {
    folder: Option<PathBuf>,
    /// Looked in first, and never written to.
    given: Option<PathBuf>,
    /// What is got or kept is put here too.
    copies: Option<PathBuf>,
    limit: u64,
    written: AtomicU64,
}

impl Store {
    /// The user's store.
    pub fn open() -> Self {
        Self { folder: folder(), given: given(), copies: None, limit: LIMIT, written: AtomicU64::new(LOOK_EVERY) }
    }

    /// The user's store, of which another folder gets what is used from now on.
    pub fn copied_to(copies: PathBuf) -> Self {
        Self { copies: Some(copies), ..Self::open() }
    }

    /// A store in a folder of its own, of at most `limit` bytes.
    pub fn at(folder: PathBuf, limit: u64) -> Self {
        Self { folder: Some(folder), given: None, copies: None, limit, written: AtomicU64::new(LOOK_EVERY) }
    }

    /// A store that keeps nothing.
    pub fn none() -> Self {
        Self { folder: None, given: None, copies: None, limit: 0, written: AtomicU64::new(0) }
    }

    /// What was kept under this name.
    pub fn get(&self, key: Key) -> Option<Vec<u8>> {
        self.get_given(key).or_else(|| {
            let path = key.path_in(self.folder.as_ref()?);
            let content = read(&path, self.limit)?;
            // What is used stays young; failing that it is only thrown away too early.
            if let Ok(file) = fs::File::options().append(true).open(&path) {
                let _ = file.set_modified(SystemTime::now());
            }
            Some(content)
        })
    }

    /// The same of what was handed over alone.
    pub fn get_given(&self, key: Key) -> Option<Vec<u8>> {
        read(&key.path_in(self.given.as_ref()?), LIMIT)
    }

    /// Puts something where copies go, if they go anywhere.
    pub fn copy(&self, key: Key, content: &[u8]) {
        let Some(copies) = &self.copies else { return };
        let path = key.path_in(copies);
        if read(&path, LIMIT).as_deref() != Some(content) && write(&path, content).is_none() {
            tracing::debug!(path = %path.display(), "cannot copy this entry");
        }
    }

    /// Keeps something under this name. Another process sees all of it or nothing.
    pub fn put(&self, key: Key, content: &[u8]) {
        let Some(folder) = &self.folder else { return };
        let path = key.path_in(folder);
        if write(&path, content).is_none() {
            tracing::debug!(path = %path.display(), "cannot keep this entry");
        }
        let size = content.len() as u64;
        if self.written.fetch_add(size, Ordering::Relaxed) + size >= LOOK_EVERY.min(self.limit / 8) {
            self.written.store(0, Ordering::Relaxed);
            self.shrink();
        }
    }

    /// Throws away what was not used for longest, until a quarter of the limit is free.
    fn shrink(&self) {
        let Some(folder) = &self.folder else { return };
        let mut entries: Vec<(SystemTime, u64, PathBuf)> = Vec::new();
        for shelf in fs::read_dir(folder).into_iter().flatten().flatten() {
            // Only what this store makes: two hexadecimal digits, then files.
            if shelf.file_name().len() != 2 {
                continue;
            }
            for entry in fs::read_dir(shelf.path()).into_iter().flatten().flatten() {
                if let Ok(about) = entry.metadata()
                    && about.is_file()
                {
                    let used = about.modified().unwrap_or(SystemTime::UNIX_EPOCH);
                    entries.push((used, about.len(), entry.path()));
                }
            }
        }
        let mut total: u64 = entries.iter().map(|(_, size, _)| size).sum();
        if total <= self.limit {
            return;
        }
        entries.sort();
        for (_, size, path) in entries {
            if total <= self.limit / 4 * 3 {
                break;
            }
            if fs::remove_file(path).is_ok() {
                total -= size;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn store(limit: u64) -> (tempfile::TempDir, Store) {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::at(folder.path().join("new"), limit);
        (folder, store)
    }

    #[test]
    fn what_is_put_is_got() {
        let (_folder, store) = store(1 << 20);
        let key = Key::of(&["ptx", "text"]);
        assert_eq!(store.get(key), None);
        store.put(key, b"content");
        assert_eq!(store.get(key).as_deref(), Some(b"content".as_slice()));
        assert_eq!(store.get(Key::of(&["ptxt", "ext"])), None);
        store.put(key, b"");
        assert_eq!(store.get(key).as_deref(), Some(b"".as_slice()));
    }

    #[test]
    fn a_damaged_entry_is_absent_and_is_replaced() {
        let (_folder, store) = store(1 << 20);
        let key = Key::of(&["a"]);
        store.put(key, b"content");
        let path = key.path_in(store.folder.as_ref().unwrap());
        let whole = fs::read(&path).unwrap();
        for damaged in [&whole[..whole.len() - 1], &whole[..20], b"", &[0; 64]] {
            fs::write(&path, damaged).unwrap();
            assert_eq!(store.get(key), None);
        }
        store.put(key, b"content");
        assert!(store.get(key).is_some());
    }

    #[test]
    fn the_store_stays_within_its_limit() {
        let (_folder, store) = store(10_000);
        for number in 0..100 {
            store.put(Key::of(&[&number.to_string()]), &[7; 500]);
        }
        let kept = (0..100).filter(|number| store.get(Key::of(&[&number.to_string()])).is_some()).count();
        assert!((1..=22).contains(&kept), "{kept} entries of 540 bytes");
    }

    #[test]
    fn what_is_handed_over_is_read_and_never_written() {
        let (folder, user) = store(1 << 20);
        let (kept, made) = (Key::of(&["kept"]), Key::of(&["made"]));
        let handed = folder.path().join("handed");
        user.put(kept, b"one");
        let copying = Store { copies: Some(handed.clone()), ..user };
        copying.copy(kept, b"one");
        let other = Store { given: Some(handed), folder: Some(folder.path().join("other")), copies: None, ..copying };
        assert_eq!(other.get(kept).as_deref(), Some(b"one".as_slice()));
        assert_eq!(other.get_given(kept).as_deref(), Some(b"one".as_slice()));
        other.put(made, b"two");
        assert_eq!(other.get(made).as_deref(), Some(b"two".as_slice()));
        assert_eq!(other.get_given(made), None);
    }

    #[test]
    fn without_a_folder_nothing_is_kept() {
        let store = Store::none();
        store.put(Key::of(&["a"]), b"content");
        assert_eq!(store.get(Key::of(&["a"])), None);
        // A folder that cannot be made is no error.
        let file = tempfile::NamedTempFile::new().unwrap();
        let store = Store::at(file.path().to_owned(), 1000);
        store.put(Key::of(&["a"]), b"content");
        assert_eq!(store.get(Key::of(&["a"])), None);
    }
}
