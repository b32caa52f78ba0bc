//! Writing the files that people get.
//!
//! **Invariant:** a file is there whole or not at all: neither a full disk nor a kill leaves half of it, or a temporary file beside it.

use std::{
    fs::{self, File, Metadata},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

/// As many links as Linux follows.
const MAX_LINKS: usize = 40;

/// Puts `bytes` into a file in place of what it held. Its mode stays, and a link goes on naming the same file.
pub fn write(path: &Path, bytes: impl AsRef<[u8]>) -> io::Result<()> {
    replace(path, |out| out.write_all(bytes.as_ref()))
}

/// The same with what `fill` writes.
pub fn replace(path: &Path, fill: impl Fn(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let target = named_by(path)?;
    let old = match fs::metadata(&target) {
        Ok(about) => Some(about),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    // A pipe, a terminal, an open file of this process: nothing that could be replaced.
    if old.as_ref().is_some_and(|about| !about.is_file()) || path.starts_with("/dev") || path.starts_with("/proc") {
        let mut out = BufWriter::new(File::create(path)?);
        return fill(&mut out).and_then(|()| out.flush());
    }
    let folder = match target.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let placed = Draft::new(folder).and_then(|mut draft| {
        let mut out = BufWriter::new(draft.file());
        fill(&mut out)?;
        out.flush()?;
        drop(out);
        draft.place(&target, old.as_ref(), Sync::Yes)
    });
    match placed {
        // The folder is not ours to change, or the file is mounted by itself; the file may be ours all the same.
        Err(error) if old.is_some() && cannot_replace(&error) => in_place(&target, &fill),
        placed => placed,
    }
}

/// Whether what was written must reach the disk before the name does.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sync {
    Yes,
    No,
}

/// Writes a new file whose content proves itself when it is read: it is not waited for until the disk has it.
pub(crate) fn keep(path: &Path, fill: impl Fn(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut draft = Draft::new(path.parent().unwrap_or(Path::new(".")))?;
    let mut out = BufWriter::new(draft.file());
    fill(&mut out)?;
    out.flush()?;
    drop(out);
    draft.place(path, None, Sync::No)
}

/// The file at the end of the links that begin at `path`; it need not be there.
fn named_by(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        match fs::read_link(&path) {
            Ok(next) => path = path.parent().unwrap_or(Path::new("")).join(next),
            Err(_) => return Ok(path),
        }
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "its links go round"))
}

fn cannot_replace(error: &io::Error) -> bool {
    use io::ErrorKind::{CrossesDevices, PermissionDenied, ReadOnlyFilesystem, ResourceBusy};
    matches!(error.kind(), PermissionDenied | ReadOnlyFilesystem | ResourceBusy | CrossesDevices)
}

/// Overwrites a file that cannot be replaced: its space is claimed first, so a full disk is met while the old content still stands.
fn in_place(path: &Path, fill: &dyn Fn(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut bytes = Vec::new();
    fill(&mut bytes)?;
    let mut file = File::options().write(true).open(path)?;
    let old = file.metadata()?.len();
    #[cfg(target_os = "linux")]
    if bytes.len() as u64 > old {
        use rustix::{fs::FallocateFlags, io::Errno};
        match rustix::fs::fallocate(&file, FallocateFlags::KEEP_SIZE, 0, bytes.len() as u64) {
            // Not every file system can promise space.
            Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => {}
            Err(error) => return Err(error.into()),
        }
    }
    file.write_all(&bytes)?;
    file.set_len(bytes.len() as u64)?;
    file.sync_all()
}

/// A file without a name, or with one that goes when the value does.
enum Draft {
    #[cfg(target_os = "linux")]
    Unnamed {
        file: File,
        folder: PathBuf,
    },
    Named(tempfile::NamedTempFile),
}

impl Draft {
    fn new(folder: &Path) -> io::Result<Draft> {
        #[cfg(target_os = "linux")]
        {
            use rustix::fs::{Mode, OFlags};
            let mode = Mode::from_raw_mode(0o666);
            let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
            // Its name is given to it by way of `/proc`.
            if let Ok(file) = rustix::fs::open(folder, flags, mode)
                && Path::new("/proc/self/fd").is_dir()
            {
                return Ok(Draft::Unnamed { file: file.into(), folder: folder.to_owned() });
            }
        }
        let mut named = tempfile::Builder::new();
        named.prefix(".tritium-");
        #[cfg(unix)]
        let readable = std::os::unix::fs::PermissionsExt::from_mode(0o666);
        #[cfg(unix)]
        named.permissions(readable);
        named.tempfile_in(folder).map(Draft::Named)
    }

    fn file(&mut self) -> &mut File {
        match self {
            #[cfg(target_os = "linux")]
            Draft::Unnamed { file, .. } => file,
            Draft::Named(named) => named.as_file_mut(),
        }
    }

    /// Gives the draft its name, in place of `old` if that was there.
    fn place(mut self, target: &Path, old: Option<&Metadata>, sync: Sync) -> io::Result<()> {
        if let Some(old) = old {
            keep_owner(self.file(), old);
            self.file().set_permissions(old.permissions())?;
        }
        if sync == Sync::Yes {
            self.file().sync_all()?;
        }
        match self {
            #[cfg(target_os = "linux")]
            Draft::Unnamed { file, folder } => name(&file, &folder, target),
            Draft::Named(named) => named.persist(target).map(drop).map_err(|error| error.error),
        }
    }
}

/// Only who may give files away can keep a foreign owner; for everybody else the file is the writer's.
fn keep_owner(file: &File, old: &Metadata) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt as _, fchown};
        if let Ok(new) = file.metadata()
            && (new.uid(), new.gid()) != (old.uid(), old.gid())
        {
            let _ = fchown(file, Some(old.uid()), Some(old.gid()));
        }
    }
    #[cfg(not(unix))]
    let _ = (file, old);
}

/// Links a file without a name into its folder. Only a name that is free can be given to it, so one that is taken is reached by a second
/// name and a rename, which nothing that could fail stands between.
#[cfg(target_os = "linux")]
fn name(file: &File, folder: &Path, target: &Path) -> io::Result<()> {
    use std::{
        os::fd::AsRawFd as _,
        sync::atomic::{AtomicU64, Ordering},
    };

    use rustix::{
        fs::{AtFlags, CWD, linkat},
        io::Errno,
    };
    static TURN: AtomicU64 = AtomicU64::new(0);
    let own = format!("/proc/self/fd/{}", file.as_raw_fd());
    let link = |path: &Path| linkat(CWD, &own, CWD, path, AtFlags::SYMLINK_FOLLOW);
    match link(target) {
        Ok(()) => return Ok(()),
        Err(Errno::EXIST) => {}
        Err(error) => return Err(error.into()),
    }
    loop {
        let second = folder.join(format!(".tritium-{}-{}", std::process::id(), TURN.fetch_add(1, Ordering::Relaxed)));
        match link(&second) {
            Ok(()) => return fs::rename(&second, target).inspect_err(|_| drop(fs::remove_file(&second))),
            // Left by a process of the same number.
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// A regular file that lies in memory and has no name: input or output of a program that wants files.
pub(crate) fn in_memory(bytes: &[u8]) -> io::Result<File> {
    use io::Seek as _;
    #[cfg(target_os = "linux")]
    let mut file: File = rustix::fs::memfd_create("tritium", rustix::fs::MemfdFlags::CLOEXEC)?.into();
    #[cfg(not(target_os = "linux"))]
    let mut file = tempfile::tempfile()?;
    file.write_all(bytes)?;
    file.rewind()?;
    Ok(file)
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn folder() -> tempfile::TempDir {
        tempfile::tempdir().expect("a temporary folder")
    }

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(folder)
            .expect("it is ours")
            .map(|entry| entry.expect("it is there").file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_replaced_with_its_mode_and_its_links() {
        let folder = folder();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&file, "old").expect("written");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o751)).expect("ours");
        std::os::unix::fs::symlink("file", &link).expect("a link");
        write(&link, "new").expect("replaced");
        assert_eq!(fs::read_to_string(&file).expect("there"), "new");
        assert_eq!(fs::metadata(&file).expect("there").permissions().mode() & 0o777, 0o751);
        assert!(fs::symlink_metadata(&link).expect("there").is_symlink());
        let fresh = folder.path().join("fresh");
        std::os::unix::fs::symlink("fresh", folder.path().join("dangling")).expect("a link");
        write(&folder.path().join("dangling"), "made").expect("written");
        assert_eq!(fs::read_to_string(&fresh).expect("there"), "made");
        assert_eq!(names(folder.path()), ["dangling", "file", "fresh", "link"]);
    }

    #[test]
    fn what_fails_leaves_the_old_content_and_nothing_else() {
        let folder = folder();
        let file = folder.path().join("file");
        fs::write(&file, "old").expect("written");
        let failing = |out: &mut dyn Write| {
            out.write_all(&[b'x'; 100_000])?;
            Err(io::Error::from(io::ErrorKind::StorageFull))
        };
        assert_eq!(replace(&file, failing).expect_err("it fails").kind(), io::ErrorKind::StorageFull);
        assert_eq!(fs::read_to_string(&file).expect("there"), "old");
        assert_eq!(names(folder.path()), ["file"]);
    }
}
