//! The file system: reading files that somebody else wrote, and writing files that people get. **Only regular files are read, and only up to a limit**: a FIFO would wait for a writer that never
//! comes, a device never ends, and a folder or a socket has no text.

use std::{
    fs::{self, File, Metadata},
    io::{self, ErrorKind, Read as _},
    path::{Path, PathBuf},
};

mod write;

pub(crate) use write::{in_memory, keep};
pub use write::{replace, write};

use tritium_semantics::{Entry, System};
use tritium_syntax::SyntaxError;

/// Longer files are no source text that anybody wrote.
pub const MAX_SOURCE_BYTES: u64 = 16 << 20;
/// Nor is this what a program has written for another, such as a baseline or an entry of a cache.
pub const MAX_RECORD_BYTES: u64 = 512 << 20;

/// The bytes of a regular file that has at most `max_bytes`; links are followed.
pub fn read_regular(path: &Path, max_bytes: u64) -> io::Result<Vec<u8>> {
    // Asked before the file is opened: opening a FIFO waits.
    let size = regular(&fs::metadata(path)?)?;
    let too_long = || {
        let limit = max_bytes as f64 / f64::from(1 << 20);
        io::Error::new(ErrorKind::FileTooLarge, format!("it is too long: files of up to {limit} MiB are read"))
    };
    if size > max_bytes {
        return Err(too_long());
    }
    let mut options = File::options();
    options.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, rustix::fs::OFlags::NONBLOCK.bits() as i32);
    let file = options.open(path)?;
    // And again: another file may have come in its place.
    regular(&file.metadata()?)?;
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or_default());
    // The size of a file below /proc is said to be 0, and others grow while they are read.
    file.take(max_bytes.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max_bytes { Err(too_long()) } else { Ok(bytes) }
}

/// A record, as UTF-8.
pub fn read_record(path: &Path) -> io::Result<String> {
    String::from_utf8(read_regular(path, MAX_RECORD_BYTES)?)
        .map_err(|_| io::Error::new(ErrorKind::InvalidData, "it is not UTF-8"))
}

/// `1.5 GiB`, `640 MiB`, `12 bytes`.
pub fn size(bytes: u64) -> String {
    let units = [(1u64 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    match units.iter().find(|(unit, _)| bytes >= *unit) {
        Some((unit, name)) => {
            let text = format!("{:.1}", bytes as f64 / *unit as f64);
            format!("{} {name}", text.trim_end_matches(".0"))
        }
        None => format!("{bytes} bytes"),
    }
}

/// The size of a file that is a regular one.
fn regular(found: &Metadata) -> io::Result<u64> {
    match found.file_type() {
        kind if kind.is_file() => Ok(found.len()),
        kind if kind.is_dir() => Err(io::Error::new(ErrorKind::IsADirectory, "it is a folder, not a file")),
        _ => Err(io::Error::new(ErrorKind::InvalidInput, "it is no regular file but a device, a pipe or a socket")),
    }
}

/// The real file system.
pub struct Disk;

impl System for Disk {
    fn read(&self, path: &Path) -> io::Result<String> {
        Ok(self.source(path)?.0)
    }

    fn source(&self, path: &Path) -> io::Result<(String, Option<SyntaxError>)> {
        // What cannot be decoded is shown with replacement characters rather than not at all.
        let bytes = read_regular(path, MAX_SOURCE_BYTES)?;
        let source = tritium_syntax::source::decode(&bytes);
        Ok((source.text.into_owned(), source.problem))
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<PathBuf>> {
        let mut entries: Vec<PathBuf> = fs::read_dir(directory)?.filter_map(Result::ok).map(|entry| entry.path()).collect();
        entries.sort();
        Ok(entries)
    }

    fn entries(&self, directory: &Path) -> io::Result<Vec<Entry>> {
        let known = |entry: fs::DirEntry| {
            // Not of what a link leads to.
            let kind = entry.file_type().ok()?;
            (kind.is_dir() || kind.is_file()).then(|| Entry { path: entry.path(), is_folder: kind.is_dir() })
        };
        let mut entries: Vec<Entry> = fs::read_dir(directory)?.filter_map(|entry| known(entry.ok()?)).collect();
        entries.sort();
        Ok(entries)
    }

    fn is_file(&self, path: &Path) -> bool {
        path.is_file()
    }

    fn absolute(&self, path: &Path) -> PathBuf {
        std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_short_regular_file_is_refused_at_once() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("eight");
        fs::write(&path, "12345678").expect("the folder is ours");
        assert_eq!(read_regular(&path, 8).expect("it is short enough"), b"12345678");
        let refused = |path: &Path, limit| read_regular(path, limit).expect_err("it is refused").to_string();
        assert!(refused(&path, 7).contains("too long"));
        assert!(refused(folder.path(), 8).contains("folder"));
        assert!(refused(Path::new("/dev/zero"), 8).contains("device"));
        // Its size is not told beforehand.
        assert!(refused(Path::new("/proc/self/maps"), 8).contains("too long"));
        assert!(refused(&folder.path().join("none"), 8).contains("No such file"));
    }

    #[cfg(unix)]
    #[test]
    fn pipes_and_sockets_are_not_waited_for() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (pipe, socket) = (folder.path().join("pipe"), folder.path().join("socket"));
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::from_raw_mode(0o600)).expect("a pipe");
        let _listening = std::os::unix::net::UnixListener::bind(&socket).expect("a socket");
        for path in [pipe, socket] {
            assert!(read_regular(&path, 8).expect_err("it is refused").to_string().contains("no regular file"));
        }
    }

    #[test]
    fn sizes_are_spelled() {
        let spelled: Vec<String> = [12, 1 << 10, 3 << 29, 40 << 30].map(size).into();
        assert_eq!(spelled, ["12 bytes", "1 KiB", "1.5 GiB", "40 GiB"]);
    }
}
