//! The salsa database and its inputs.
//!
//! **Invariant:** everything else is derived from these inputs; a path becomes an input on first request, is known by its absolute form
//! alone, and files are read through [`System`] only.

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use rustc_hash::FxHashMap;
use salsa::Setter as _;
use serde::{Deserialize, Serialize};
use tritium_syntax::{Chunk, Split, SyntaxError, TextRange};

use crate::{
    host::{self, Called},
    items, notebook,
};

/// A file or a folder.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    pub path: PathBuf,
    pub is_folder: bool,
}

/// The world outside: the real file system, an editor's open files, or a test's map.
pub trait System: Send + Sync {
    fn read(&self, path: &Path) -> io::Result<String>;
    /// A file's text, and why Python would refuse its bytes.
    fn source(&self, path: &Path) -> io::Result<(String, Option<SyntaxError>)> {
        Ok((self.read(path)?, None))
    }
    fn list(&self, directory: &Path) -> io::Result<Vec<PathBuf>>;
    /// The same with what each is, sorted; symbolic links, devices and pipes are left out.
    fn entries(&self, directory: &Path) -> io::Result<Vec<Entry>> {
        let entries = self.list(directory)?.into_iter();
        Ok(entries.map(|path| Entry { is_folder: !self.is_file(&path), path }).collect())
    }
    fn is_file(&self, path: &Path) -> bool;
    /// The same place, from the root; folders above the current one are found by it.
    fn absolute(&self, path: &Path) -> PathBuf {
        path.to_owned()
    }
    /// Where people find a place, if the text is a copy of a part of another file.
    fn original(&self, place: FilePlace) -> FilePlace {
        place
    }
}

/// A place in a file; line and column (in bytes) from 1.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FilePlace {
    pub path: PathBuf,
    pub line: u32,
    pub column: u32,
}

/// One text file.
#[salsa::input(debug)]
pub struct SourceFile {
    #[returns(ref)]
    pub path: PathBuf,
    #[returns(ref)]
    pub text: String,
    /// The `<file>.launch.toml` beside it, if there is one.
    #[returns(ref)]
    pub sidecar: Option<String>,
    /// Why Python would refuse the file's bytes, whatever they say.
    #[returns(ref)]
    pub undecodable: Option<SyntaxError>,
}

/// What the user chose by flag or editor setting; it goes before what `[tool.tritium]` says. It travels to the process of a run as it is.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Chosen {
    /// The version of the Triton language: `1.0`, `3.6`, …
    pub triton: Option<String>,
    /// A row of [`crate::target::BOARDS`] or [`crate::target::SMS`], by name.
    pub gpu: Option<String>,
    /// A Python environment: its folder, or its interpreter.
    pub environment: Option<PathBuf>,
    /// Row that alone counts of every tuning; the last one where there are fewer.
    pub config: Option<usize>,
    /// Only the first specialisation of every kernel counts.
    pub only_first: bool,
    /// The function of a file that is entered, in place of the file's own statements.
    pub entry: Option<host::Entry>,
    /// Sizes that launch blocks have in place of their own, by name.
    pub sizes: Vec<(String, i64)>,
    /// Benchmark functions are run with all of their sizes.
    pub every_benchmark: bool,
    /// Rows that tuners are to have behind their own.
    pub proposed: Vec<Proposed>,
    /// Launches that programs have made of a file's kernels, by its path: launch blocks that nobody has written.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub recorded: BTreeMap<PathBuf, String>,
    pub shell: Shell,
}

/// A row for a kernel's tuner: one of its own, changed.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Proposed {
    /// By name, in whatever file.
    pub kernel: String,
    pub row: u32,
    /// Compile-time numbers that are others.
    pub meta: Vec<(String, i64)>,
    pub num_warps: Option<u32>,
    pub num_stages: Option<u32>,
}

/// What the user's shell says about Python and Triton; it counts only where nothing else does.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Shell {
    /// The environment that is active: `VIRTUAL_ENV`.
    pub virtual_env: Option<PathBuf>,
    /// The conda environment that is active, which the base one always is: `CONDA_PREFIX`. A project's own goes before it.
    pub conda: Option<PathBuf>,
    /// `PYTHONPATH`
    pub python_path: Vec<PathBuf>,
    /// How `f32` is multiplied where a product does not say: `TRITON_F32_DEFAULT`, whose word goes before `allow_tf32`.
    pub fp32_default: Option<String>,
}

impl Shell {
    /// That which started this program.
    pub fn of_process() -> Shell {
        let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        let python_path = variable("PYTHONPATH").map(|all| std::env::split_paths(&all).collect::<Vec<_>>()).unwrap_or_default();
        Shell {
            virtual_env: variable("VIRTUAL_ENV").map(PathBuf::from),
            conda: variable("CONDA_PREFIX").map(PathBuf::from),
            python_path: python_path.into_iter().filter_map(|path| std::path::absolute(path).ok()).collect(),
            fp32_default: variable("TRITON_F32_DEFAULT").and_then(|word| word.into_string().ok()),
        }
    }
}

#[salsa::input(singleton, debug)]
pub struct Settings {
    #[returns(ref)]
    pub chosen: Chosen,
    /// Counts up whenever files may have come or gone: what looked for a file looks again.
    #[returns(copy)]
    pub tree: u64,
    /// What other files' host code launches of a file's kernels, by the file's path: worked out beside everything else, as far as it was
    /// looked for.
    #[returns(ref)]
    pub called: BTreeMap<PathBuf, Vec<Called>>,
}

#[salsa::db]
pub trait Db: salsa::Database {
    fn system(&self) -> &dyn System;
    /// The input for a path; reads the file on first request. `None` if it cannot be read.
    fn file(&self, path: &Path) -> Option<SourceFile>;
    /// The input for the `nth` module in a file's string literals, which has this text.
    fn string_file(&self, file: SourceFile, nth: usize, text: &str) -> SourceFile;
    fn settings(&self) -> Settings;
    /// How a text of a file falls into chunks. It is [`tritium_syntax::split`]'s answer; that of the text before makes it quick.
    fn split(&self, file: SourceFile, text: &str) -> Resplit;
}

/// The chunks of a file's text, and those that the text before had in the place of a few of them.
#[derive(Debug, Default)]
pub struct Resplit {
    pub chunks: Vec<Chunk>,
    /// Texts that an edit has displaced. Which they are decides nothing but what is still at hand when the edit is taken back.
    pub displaced: Vec<String>,
}

/// Chunks that a keystroke may displace; an edit of more is no typing, and leaves nothing behind.
const MAX_DISPLACED_CHUNKS: usize = 3;

/// Files whose last split is kept: somebody types in one or two at a time.
const MAX_KEPT_SPLITS: usize = 8;

/// The last text and split of files, most recent last.
type Splits = Vec<(SourceFile, Arc<(String, Split)>)>;

/// The one database. Clones share storage: a clone is a snapshot for a reader.
#[salsa::db]
#[derive(Clone)]
pub struct Database {
    storage: salsa::Storage<Database>,
    system: Arc<dyn System>,
    files: Arc<Mutex<BTreeMap<PathBuf, SourceFile>>>,
    /// By the file and the place among its modules in string literals.
    strings: Arc<Mutex<FxHashMap<(SourceFile, usize), SourceFile>>>,
    splits: Arc<Mutex<Splits>>,
    keys: Arc<AtomicUsize>,
}

impl Database {
    pub fn new(system: Arc<dyn System>) -> Database {
        Database::with_events(system, None)
    }

    /// `on_event` sees every query that runs: tests list them.
    pub fn with_events(system: Arc<dyn System>, on_event: Option<Box<dyn Fn(salsa::Event) + Send + Sync + 'static>>) -> Database {
        let keys = Arc::new(AtomicUsize::new(0));
        let made = Arc::clone(&keys);
        let count = move |event: salsa::Event| {
            if matches!(event.kind, salsa::EventKind::DidInternValue { .. }) {
                made.fetch_add(1, Ordering::Relaxed);
            }
            if let Some(on_event) = &on_event {
                on_event(event);
            }
        };
        let storage = salsa::Storage::new(Some(Box::new(count)));
        let db = Database { storage, system, files: Arc::default(), strings: Arc::default(), splits: Arc::default(), keys };
        Settings::new(&db, Chosen::default(), 0, BTreeMap::new());
        db
    }

    /// Number of interned values, the arguments of queries among them. Salsa keeps nearly all of them, and what was worked out of each, as
    /// long as there is the database, wanted or not.
    pub fn keys(&self) -> usize {
        self.keys.load(Ordering::Relaxed)
    }

    /// A database with the same settings and, of the files, these alone, in which nothing was worked out yet. Its ids are others.
    #[must_use]
    pub fn renewed<'p>(&self, paths: impl IntoIterator<Item = &'p PathBuf>) -> Database {
        let mut fresh = Database::new(Arc::clone(&self.system));
        fresh.choose(self.settings().chosen(self).clone());
        for (path, file) in paths.into_iter().filter_map(|path| Some((path, self.known(path)?))) {
            let (text, sidecar) = (file.text(self).clone(), file.sidecar(self).clone());
            let same = SourceFile::new(&fresh, file.path(self).clone(), text, sidecar, file.undecodable(self).clone());
            fresh.files().insert(self.system.absolute(path), same);
        }
        fresh
    }

    /// Sets a file's text (an editor's buffer), making the file known.
    pub fn set_text(&mut self, path: &Path, text: String) -> SourceFile {
        let path = self.system.absolute(path);
        let known = self.files().get(&path).copied();
        match known {
            Some(file) => {
                self.change_text(file, text);
                if file.undecodable(self).is_some() {
                    file.set_undecodable(self).to(None);
                }
                file
            }
            None => {
                let file = SourceFile::new(self, path.clone(), text, self.read_sidecar(&path), None);
                self.files().insert(path, file);
                file
            }
        }
    }

    /// Reads a file and its sidecar again, if the file is known. Of a sidecar's path the sidecar alone: an editor may hold the file.
    pub fn reload(&mut self, path: &Path) {
        let path = self.system.absolute(path);
        if let Some(owner) = owner_of_sidecar(&path) {
            return self.reload_sidecar(&owner);
        }
        let Some(file) = self.files().get(&path).copied() else { return };
        if let Ok((text, undecodable)) = self.source(&path) {
            self.change_text(file, text);
            if file.undecodable(self) != &undecodable {
                file.set_undecodable(self).to(undecodable);
            }
        }
        self.reload_sidecar(&path);
    }

    fn change_text(&mut self, file: SourceFile, text: String) {
        if file.text(self) == &text {
            return;
        }
        file.set_text(self).to(text);
        let mut inside: Vec<((SourceFile, usize), SourceFile)> =
            self.strings().iter().map(|(key, module)| (*key, *module)).collect();
        inside.retain(|((outer, _), _)| *outer == file);
        if inside.is_empty() {
            return;
        }
        let texts = items::strings::texts(self, file).clone();
        for ((_, nth), module) in inside {
            self.change_text(module, texts.get(nth).cloned().unwrap_or_default());
        }
    }

    fn reload_sidecar(&mut self, path: &Path) {
        let Some(file) = self.files().get(path).copied() else { return };
        let sidecar = self.read_sidecar(path);
        if file.sidecar(self) != &sidecar {
            file.set_sidecar(self).to(sidecar);
        }
    }

    /// Files have come or gone: imports and configuration are looked for again.
    pub fn tree_changed(&mut self) {
        let settings = self.settings();
        let next = settings.tree(self) + 1;
        settings.set_tree(self).to(next);
    }

    pub fn chosen(&self) -> &Chosen {
        self.settings().chosen(self)
    }

    pub fn choose(&mut self, chosen: Chosen) {
        let settings = self.settings();
        if settings.chosen(self) != &chosen {
            settings.set_chosen(self).to(chosen);
        }
    }

    /// Says what other files launch of the kernels of one; whether that is anything new.
    pub fn set_called(&mut self, path: &Path, called: Vec<Called>) -> bool {
        let path = self.system.absolute(path);
        let settings = self.settings();
        if settings.called(self).get(&path).map_or(called.is_empty(), |known| *known == called) {
            return false;
        }
        let mut all = settings.called(self).clone();
        if called.is_empty() {
            all.remove(&path);
        } else {
            all.insert(path, called);
        }
        settings.set_called(self).to(all);
        true
    }

    /// A file that was asked for before.
    pub fn known(&self, path: &Path) -> Option<SourceFile> {
        let path = self.system.absolute(path);
        self.files().get(&path).copied()
    }

    pub fn set_triton(&mut self, version: &str) {
        let chosen = Chosen { triton: Some(version.to_owned()), ..self.settings().chosen(self).clone() };
        self.choose(chosen);
    }

    pub fn set_gpu(&mut self, gpu: &str) {
        let chosen = Chosen { gpu: Some(gpu.to_owned()), ..self.settings().chosen(self).clone() };
        self.choose(chosen);
    }

    fn files(&self) -> std::sync::MutexGuard<'_, BTreeMap<PathBuf, SourceFile>> {
        self.files.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn strings(&self) -> std::sync::MutexGuard<'_, FxHashMap<(SourceFile, usize), SourceFile>> {
        self.strings.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn splits(&self) -> std::sync::MutexGuard<'_, Splits> {
        self.splits.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// The Python of a file, and why there is none.
    fn source(&self, path: &Path) -> io::Result<(String, Option<SyntaxError>)> {
        let (text, undecodable) = self.system.source(path)?;
        if undecodable.is_some() || !notebook::is_notebook(path) {
            return Ok((text, undecodable));
        }
        Ok(match notebook::python(&text) {
            Ok(python) => (python, None),
            Err(message) => (String::new(), Some(SyntaxError { message, range: TextRange::default() })),
        })
    }

    fn read_sidecar(&self, path: &Path) -> Option<String> {
        let sidecar = sidecar_of(path)?;
        if self.system.is_file(&sidecar) { self.system.read(&sidecar).ok() } else { None }
    }
}

const SIDECAR: &str = ".launch.toml";

/// Where launches of a file are written down beside it: `<file>.launch.toml`.
pub fn sidecar_of(path: &Path) -> Option<PathBuf> {
    let mut name = path.file_name()?.to_owned();
    name.push(SIDECAR);
    Some(path.with_file_name(name))
}

fn owner_of_sidecar(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_str()?.strip_suffix(SIDECAR)?;
    Some(path.with_file_name(name))
}

#[salsa::db]
impl salsa::Database for Database {}

#[salsa::db]
impl Db for Database {
    fn system(&self) -> &dyn System {
        &*self.system
    }

    fn file(&self, path: &Path) -> Option<SourceFile> {
        let path = self.system.absolute(path);
        // One asker at a time makes the input, so that two readers never know one file as two.
        let mut files = self.files();
        if let Some(&file) = files.get(&path) {
            return Some(file);
        }
        let (text, undecodable) = self.source(&path).ok()?;
        let file = SourceFile::new(self, path.clone(), text, self.read_sidecar(&path), undecodable);
        files.insert(path, file);
        Some(file)
    }

    fn string_file(&self, file: SourceFile, nth: usize, text: &str) -> SourceFile {
        let make = || SourceFile::new(self, file.path(self).clone(), text.to_owned(), None, None);
        *self.strings().entry((file, nth)).or_insert_with(make)
    }

    fn settings(&self) -> Settings {
        Settings::get(self)
    }

    fn split(&self, file: SourceFile, text: &str) -> Resplit {
        let known = self.splits().iter().find(|(of, _)| *of == file).map(|(_, split)| Arc::clone(split));
        let (split, displaced) = match known {
            Some(known) => {
                let split = tritium_syntax::split_again(&known.0, &known.1, text);
                let displaced = displaced(&known.0, &known.1.chunks, text, &split.chunks);
                (split, displaced)
            }
            None => (tritium_syntax::split(text), Vec::new()),
        };
        let chunks = split.chunks.clone();
        let mut splits = self.splits();
        splits.retain(|(of, _)| *of != file);
        if splits.len() == MAX_KEPT_SPLITS {
            splits.remove(0);
        }
        splits.push((file, Arc::new((text.to_owned(), split))));
        Resplit { chunks, displaced }
    }
}

/// The texts of the old chunks between those that both splits begin with and those that both end with; none if they are many.
fn displaced(old_text: &str, old: &[Chunk], text: &str, new: &[Chunk]) -> Vec<String> {
    let same = |(a, b): &(&Chunk, &Chunk)| a.text(old_text) == b.text(text);
    let head = old.iter().zip(new).take_while(same).count();
    let (old, new) = (&old[head..], &new[head..]);
    let tail = old.iter().rev().zip(new.iter().rev()).take_while(same).count();
    let gone = &old[..old.len() - tail];
    if gone.len() > MAX_DISPLACED_CHUNKS {
        Vec::new()
    } else {
        gone.iter().map(|chunk| chunk.text(old_text).to_owned()).collect()
    }
}
