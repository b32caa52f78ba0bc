//! What all commands share: failures, settings from flags, and the files that paths mean.

use std::{
    fs,
    io::{self, ErrorKind, IsTerminal as _, Write as _},
    path::{Path, PathBuf},
};

use tritium_lsp::ide::{Analysis, Host, Options};
use tritium_semantics::{project::Selector, target::Gpu};

use crate::args::{Analysing, ConfigChoice};

/// Deeply nested programs recurse; the main thread's stack is whatever the shell allows.
pub(crate) const STACK: usize = 64 << 20;

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

    pub(crate) fn unreadable(path: &Path) -> Failure {
        Failure(format!("{}: cannot be read", path.display()))
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

pub(crate) fn version(text: &str) -> Result<(), Failure> {
    match tritium_semantics::versions::rules(text) {
        Some(_) => Ok(()),
        None => Err(Failure(format!("`{text}` is no version of Triton; 3.6 is one"))),
    }
}

pub(crate) fn selectors(words: &[String]) -> Result<Vec<Selector>, Failure> {
    words.iter().map(|word| Selector::parse(word).map_err(Failure)).collect()
}

/// Folders that hold other people's or generated files.
const SKIPPED: &[&str] = &["node_modules", "__pycache__", "site-packages", "target"];

/// The Python files under the paths, sorted; a file named outright is taken whatever its name and its project say. Hidden folders are not
/// entered.
pub(crate) fn python_files(host: &Host, paths: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let analysis = host.snapshot();
    let mut files = Vec::new();
    for path in paths {
        let meta = fs::metadata(path).map_err(|e| Failure::io(path, &e))?;
        if meta.is_dir() {
            let mut found = Vec::new();
            walk(path, &mut found)?;
            files.extend(found.into_iter().filter(|file| !analysis.is_excluded(file)));
        } else {
            files.push(path.clone());
        }
    }
    files.sort();
    files.dedup();
    Ok(files)
}

fn walk(root: &Path, files: &mut Vec<PathBuf>) -> Result<(), Failure> {
    let mut pending = vec![root.to_owned()];
    while let Some(directory) = pending.pop() {
        for entry in fs::read_dir(&directory).map_err(|e| Failure::io(&directory, &e))? {
            let entry = entry.map_err(|e| Failure::io(&directory, &e))?;
            let (path, name) = (entry.path(), entry.file_name());
            let name = name.to_string_lossy();
            // Links are not followed: a cycle would never end.
            let kind = entry.file_type().map_err(|e| Failure::io(&path, &e))?;
            if kind.is_dir() {
                if !name.starts_with('.') && !SKIPPED.contains(&&*name) {
                    pending.push(path);
                }
            } else if kind.is_file() && name.ends_with(".py") {
                files.push(path);
            }
        }
    }
    Ok(())
}
