//! What all commands share: failures, settings from flags, and the files that paths mean.

use std::{
    fs,
    io::{self, ErrorKind, IsTerminal as _, Write as _},
    path::{Path, PathBuf},
    process::ExitCode,
};

use rayon::{ThreadPool, ThreadPoolBuilder};
use tritium_ide::{Analysis, Host, Options, workspace::FolderWalk};
use tritium_runtime::files::{MAX_SOURCE_BYTES, read_regular};
use tritium_semantics::{DEEP_STACK_BYTES, Db as _, project::Selector, target::Gpu};

use crate::args::{Analysing, ConfigChoice};

/// Wrong use or failed I/O: exit status 2.
#[derive(Debug)]
pub(crate) struct Failure(pub(crate) String);

impl Failure {
    pub(crate) fn io(path: &Path, error: &io::Error) -> Failure {
        Failure(format!("{}: {error}", path.display()))
    }

    pub(crate) fn broken(path: &Path, message: &str) -> Failure {
        Failure(format!("{}: a mistake in tritium itself: {message}", path.display()))
    }

    /// Why the database does not have a file: it is read again, for the reason.
    pub(crate) fn unreadable(path: &Path) -> Failure {
        match read_regular(path, MAX_SOURCE_BYTES) {
            Err(error) => Failure::io(path, &error),
            Ok(_) => Failure(format!("{}: cannot be read", path.display())),
        }
    }
}

/// What kept some of the files from being answered, while the others are: a line each on standard error, and exit status 2.
#[derive(Default)]
pub(crate) struct Failures(Vec<String>);

impl Failures {
    /// What keeps several files is told once.
    pub(crate) fn add(&mut self, Failure(message): Failure) {
        if !self.0.contains(&message) {
            self.0.push(message);
        }
    }

    pub(crate) fn keep<T>(&mut self, outcome: Result<T, Failure>) -> Option<T> {
        outcome.map_err(|failure| self.add(failure)).ok()
    }

    /// Tells them; `code` is what the answered files end with.
    pub(crate) fn tell(self, code: ExitCode) -> ExitCode {
        self.0.iter().for_each(|message| eprintln!("tritium: {message}"));
        if self.0.is_empty() { code } else { ExitCode::from(2) }
    }

    /// Fails where no file is left to be answered.
    pub(crate) fn unless_all(&self, answered: usize) -> Result<(), Failure> {
        if answered > 0 || self.0.is_empty() { Ok(()) } else { Err(Failure(self.0.join("\ntritium: "))) }
    }
}

/// Writes a command's whole answer to standard output. A reader that stops reading (a pager, `head`) is no failure; a full disk is.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(Failure::io(Path::new("standard output"), &error)),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// One JSON document and the end of its line.
pub(crate) fn pretty(value: &impl serde::Serialize) -> String {
    let mut text = serde_json::to_string_pretty(value).unwrap_or_default();
    text.push('\n');
    text
}

pub(crate) fn colour() -> bool {
    io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none()
}

pub(crate) fn options(analysing: &Analysing) -> Result<Options, Failure> {
    let mut options = Options::default();
    if let Some(name) = &analysing.gpu {
        // A board that is not built in is the file's project's, or a mistake that its project tells.
        options.gpu = Some(Gpu::find(name).map_or(name.as_str(), |gpu| gpu.name()).to_owned());
    }
    if let Some(version) = &analysing.triton {
        self::version(version)?;
        options.triton = Some(version.clone());
    }
    options.config = analysing.config.index();
    options.only_first = analysing.config == ConfigChoice::First;
    if let Some(environment) = &analysing.python_env {
        options.environment = Some(std::path::absolute(environment).map_err(|e| Failure::io(environment, &e))?);
    }
    Ok(options)
}

/// A file's analysis under its project's settings. A configuration that cannot be followed is wrong use, told once.
pub(crate) fn at(host: &Host, path: &Path) -> Result<Analysis, Failure> {
    settled(host.snapshot(), path)
}

/// The same of a file that is there.
pub(crate) fn readable(host: &Host, path: &Path) -> Result<Analysis, Failure> {
    let analysis = at(host, path)?;
    if analysis.file(path).is_some() { Ok(analysis) } else { Err(Failure::unreadable(path)) }
}

/// The same from a snapshot.
pub(crate) fn settled(snapshot: Analysis, path: &Path) -> Result<Analysis, Failure> {
    let analysis = snapshot.at(path);
    if let Some(problem) = analysis.project(path).and_then(|p| p.problems.first()) {
        return Err(Failure(problem.to_string()));
    }
    Ok(analysis)
}

pub(crate) fn host(analysing: &Analysing) -> Result<Host, Failure> {
    Ok(host_with(options(analysing)?))
}

pub(crate) fn host_with(options: Options) -> Host {
    let mut host = Host::default();
    host.configure(options);
    host
}

/// Deeply nested programs recurse.
pub(crate) fn pool() -> Result<ThreadPool, Failure> {
    ThreadPoolBuilder::new().stack_size(DEEP_STACK_BYTES).build().map_err(|e| Failure(format!("cannot start threads: {e}")))
}

/// Finds out what other files launch of the kernels of these.
pub(crate) fn find_callers(host: &mut Host, files: &[PathBuf], named: &[PathBuf], pool: &ThreadPool) {
    let folders: Vec<PathBuf> = named.iter().filter(|path| path.is_dir()).cloned().collect();
    if !pool.install(|| host.find_callers(files, &folders)) {
        eprintln!("tritium: there are more Python files around than are looked through for callers of kernels");
    }
}

pub(crate) fn version(text: &str) -> Result<(), Failure> {
    match tritium_semantics::versions::rules(text) {
        Some(_) => Ok(()),
        None => Err(Failure(format!("`{text}` is no version of Triton; 3.6 is one"))),
    }
}

pub(crate) fn selectors(words: &[String]) -> Result<Vec<Selector>, Failure> {
    words.iter().map(|word| Selector::parse(word).map_err(Failure)).collect()
}

/// The Python files under the paths, sorted, and what cannot be looked into; a file named outright is taken whatever its name and its project
/// say. Hidden folders are not entered.
pub(crate) fn python_files(host: &Host, paths: &[PathBuf]) -> Result<(Vec<PathBuf>, Failures), Failure> {
    let analysis = host.snapshot();
    let (mut files, mut failures) = (Vec::new(), Failures::default());
    for path in paths {
        match fs::metadata(path) {
            Err(error) => failures.add(Failure::io(path, &error)),
            Ok(found) if found.is_dir() => {
                for (folder, found) in FolderWalk::new(analysis.db().system(), [path.clone()]).with_notebooks() {
                    let found = failures.keep(found.map_err(|e| Failure::io(&folder, &e))).unwrap_or_default();
                    files.extend(found.into_iter().filter(|file| !analysis.is_excluded(file)));
                }
            }
            Ok(_) => files.push(path.clone()),
        }
    }
    files.sort();
    files.dedup();
    failures.unless_all(files.len())?;
    Ok((files, failures))
}
