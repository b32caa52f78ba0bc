//! The files that a job reads: those of this machine's disk, or those that another machine has sent along.
//!
//! Before a job leaves this machine its launches are understood here once, and whatever is looked at on the way is written down: texts, folders,
//! and also what was looked for and is not there. **Invariant:** what reads a bundle sees what was written down and nothing of the disk it
//! runs beside, so a job means the same on both machines.

use std::{
    collections::BTreeMap,
    io::{self, ErrorKind, Read},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use serde::{Deserialize, Serialize};
use tritium_semantics::{
    DEEP_STACK_BYTES, Database, Entry, System,
    elaborate::elaborate,
    host,
    launch::{self, Init},
    program::Op,
    project,
    specialise::specialise,
};
use tritium_syntax::SyntaxError;

use crate::{
    exec::Job,
    files::{Disk, MAX_RECORD_BYTES, MAX_SOURCE_BYTES, read_regular},
};

/// Where a job reads its files.
#[derive(Debug, Clone)]
pub enum FileSource {
    Disk,
    Bundle(Arc<Bundle>),
}

impl FileSource {
    pub fn system(&self) -> Arc<dyn System> {
        match self {
            FileSource::Disk => Arc::new(Disk),
            FileSource::Bundle(bundle) => Arc::clone(bundle) as Arc<dyn System>,
        }
    }

    /// The bytes of a file that has at most `max_bytes`.
    pub fn read(&self, path: &Path, max_bytes: u64) -> io::Result<Vec<u8>> {
        match self {
            FileSource::Disk => read_regular(path, max_bytes),
            FileSource::Bundle(bundle) => bundle.bytes(path).map(<[u8]>::to_vec),
        }
    }
}

/// The folder of a job's file, as its tensors are read from it.
#[derive(Debug, Clone, Copy)]
pub struct Beside<'a> {
    pub folder: &'a Path,
    pub files: &'a FileSource,
}

impl Beside<'_> {
    pub fn read(&self, name: &str, max_bytes: u64) -> io::Result<Vec<u8>> {
        self.files.read(&self.folder.join(name), max_bytes)
    }
}

/// What was seen of a file system.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Bundle {
    folder: PathBuf,
    files: BTreeMap<PathBuf, Result<Vec<u8>, Missing>>,
    folders: BTreeMap<PathBuf, Option<Vec<PathBuf>>>,
    entries: BTreeMap<PathBuf, Option<Vec<(PathBuf, bool)>>>,
    is_file: BTreeMap<PathBuf, bool>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Missing {
    NotFound,
    Otherwise(String),
}

impl Missing {
    fn of(error: &io::Error) -> Missing {
        match error.kind() {
            ErrorKind::NotFound => Missing::NotFound,
            _ => Missing::Otherwise(error.to_string()),
        }
    }

    fn error(&self) -> io::Error {
        match self {
            Missing::NotFound => ErrorKind::NotFound.into(),
            Missing::Otherwise(message) => io::Error::other(message.clone()),
        }
    }
}

/// What stands before the bytes of a bundle's files, which follow in this order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Contents {
    /// The folder that relative paths begin in.
    folder: PathBuf,
    files: Vec<(PathBuf, Result<u64, Missing>)>,
    folders: BTreeMap<PathBuf, Option<Vec<PathBuf>>>,
    entries: BTreeMap<PathBuf, Option<Vec<(PathBuf, bool)>>>,
    is_file: BTreeMap<PathBuf, bool>,
}

impl Bundle {
    /// Everything that the job's launches are made of.
    pub fn of(job: &Job) -> io::Result<Bundle> {
        let recorder = Arc::new(Recorder::default());
        let collected = std::thread::scope(|scope| {
            let collect = || collect(job, &recorder);
            std::thread::Builder::new()
                .stack_size(DEEP_STACK_BYTES)
                .spawn_scoped(scope, collect)?
                .join()
                .map_err(|_| io::Error::other(format!("{}: understanding it failed", job.path.display())))
        });
        collected?;
        let mut bundle = recorder.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        bundle.folder = std::env::current_dir()?;
        Ok(bundle)
    }

    pub(crate) fn contents(&self) -> Contents {
        let length = |bytes: &Result<Vec<u8>, Missing>| bytes.as_ref().map(|bytes| bytes.len() as u64).map_err(Clone::clone);
        Contents {
            folder: self.folder.clone(),
            files: self.files.iter().map(|(path, bytes)| (path.clone(), length(bytes))).collect(),
            folders: self.folders.clone(),
            entries: self.entries.clone(),
            is_file: self.is_file.clone(),
        }
    }

    /// The bytes of its files, one after the other.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.files.into_values().filter_map(Result::ok).collect::<Vec<_>>().concat()
    }

    pub(crate) fn read(contents: Contents, mut input: impl Read) -> io::Result<Bundle> {
        let Contents { folder, files, folders, entries, is_file } = contents;
        let mut read = BTreeMap::new();
        for (path, length) in files {
            let bytes = match length {
                Ok(length) => {
                    let mut bytes = Vec::new();
                    if input.by_ref().take(length).read_to_end(&mut bytes)? as u64 != length {
                        return Err(ErrorKind::UnexpectedEof.into());
                    }
                    Ok(bytes)
                }
                Err(missing) => Err(missing),
            };
            read.insert(path, bytes);
        }
        Ok(Bundle { folder, files: read, folders, entries, is_file })
    }

    fn bytes(&self, path: &Path) -> io::Result<&[u8]> {
        match self.files.get(path).or_else(|| self.files.get(&self.absolute(path))) {
            Some(Ok(bytes)) => Ok(bytes),
            Some(Err(missing)) => Err(missing.error()),
            None => Err(ErrorKind::NotFound.into()),
        }
    }
}

impl System for Bundle {
    fn read(&self, path: &Path) -> io::Result<String> {
        Ok(self.source(path)?.0)
    }

    fn source(&self, path: &Path) -> io::Result<(String, Option<SyntaxError>)> {
        let source = tritium_syntax::source::decode(self.bytes(path)?);
        Ok((source.text.into_owned(), source.problem))
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<PathBuf>> {
        self.folders.get(directory).cloned().flatten().ok_or_else(|| ErrorKind::NotFound.into())
    }

    fn entries(&self, directory: &Path) -> io::Result<Vec<Entry>> {
        let found = self.entries.get(directory).cloned().flatten().ok_or(ErrorKind::NotFound)?;
        Ok(found.into_iter().map(|(path, is_folder)| Entry { path, is_folder }).collect())
    }

    fn is_file(&self, path: &Path) -> bool {
        self.is_file.get(path).copied().unwrap_or_else(|| self.bytes(path).is_ok())
    }

    fn absolute(&self, path: &Path) -> PathBuf {
        std::path::absolute(self.folder.join(path)).unwrap_or_else(|_| path.to_owned())
    }
}

/// The disk, and what was seen of it.
#[derive(Default)]
struct Recorder(Mutex<Bundle>);

impl Recorder {
    fn record(&self, note: impl FnOnce(&mut Bundle)) {
        note(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn bytes(&self, path: &Path, max_bytes: u64) -> io::Result<Vec<u8>> {
        let found = read_regular(path, max_bytes);
        let kept = found.as_ref().map(Vec::clone).map_err(Missing::of);
        self.record(|bundle| drop(bundle.files.insert(path.to_owned(), kept)));
        found
    }
}

impl System for Recorder {
    fn read(&self, path: &Path) -> io::Result<String> {
        Ok(self.source(path)?.0)
    }

    fn source(&self, path: &Path) -> io::Result<(String, Option<SyntaxError>)> {
        let bytes = self.bytes(path, MAX_SOURCE_BYTES)?;
        let source = tritium_syntax::source::decode(&bytes);
        Ok((source.text.into_owned(), source.problem))
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<PathBuf>> {
        let found = Disk.list(directory);
        let kept = found.as_ref().ok().cloned();
        self.record(|bundle| drop(bundle.folders.insert(directory.to_owned(), kept)));
        found
    }

    fn entries(&self, directory: &Path) -> io::Result<Vec<Entry>> {
        let found = Disk.entries(directory);
        let kept = found.as_ref().ok().map(|all| all.iter().map(|entry| (entry.path.clone(), entry.is_folder)).collect());
        self.record(|bundle| drop(bundle.entries.insert(directory.to_owned(), kept)));
        found
    }

    fn is_file(&self, path: &Path) -> bool {
        let found = Disk.is_file(path);
        self.record(|bundle| {
            bundle.is_file.insert(path.to_owned(), found);
        });
        found
    }

    fn absolute(&self, path: &Path) -> PathBuf {
        Disk.absolute(path)
    }
}

/// Understands what the job would run, as a run does. What is wrong with it is told where it runs.
fn collect(job: &Job, recorder: &Arc<Recorder>) {
    let mut db = Database::new(Arc::clone(recorder) as Arc<dyn System>);
    db.choose(job.chosen.clone());
    let file = db.set_text(&job.path, job.text.clone());
    project::project(&db, file);
    let npy = |init: &Init| {
        if let Init::File(name) = init {
            // Who makes the tensor says what is wrong with its file.
            let _ = recorder.bytes(&job.directory().join(name), MAX_RECORD_BYTES);
        }
    };
    for node in &host::host_launches(&db, file).program.nodes {
        if let Op::Init(init, _) = &node.op {
            npy(init);
        }
    }
    let found = &launch::launches(&db, file).launches;
    let chosen = launch::select(found.iter().collect(), |launch| launch.id(), job.launch.as_deref(), job.chosen.config);
    for launch in chosen.unwrap_or_default() {
        elaborate(&db, specialise(&db, launch));
        launch.tensors.iter().for_each(|tensor| npy(&tensor.init));
    }
}
