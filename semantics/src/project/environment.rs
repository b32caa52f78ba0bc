//! A Python environment as files: where its packages lie, which folders they add, which Triton is among them.
//!
//! **Invariant:** nothing of it is run; what only running it would tell (`import` lines of `.pth` files) is read where its form is known.

use std::path::{Component, Path, PathBuf};

use crate::Db;

/// What projects call the environment in their folder: uv, poetry and `python -m venv`, then pixi.
pub(super) const NAMES: &[&str] = &[".venv", "venv", ".pixi/envs/default"];

/// Folders that `.pth` files and packages installed in place may add.
const MAX_ADDED_FOLDERS: usize = 64;

/// The `site-packages` of an environment, which is named by its folder or by its interpreter.
pub(super) fn site_packages(db: &dyn Db, environment: &Path) -> Vec<PathBuf> {
    let list = |folder: &Path| db.system().list(folder).unwrap_or_default();
    if environment.ends_with("site-packages") {
        return if list(environment).is_empty() { vec![] } else { vec![environment.to_owned()] };
    }
    // `…/bin/python3`, `…\Scripts\python.exe`; a conda environment on Windows has it in its own folder.
    let is_interpreter = environment.file_name().is_some_and(|n| n.to_string_lossy().starts_with("python"));
    let above = environment.parent().filter(|_| is_interpreter);
    let homes = [above.and_then(Path::parent), above].into_iter().flatten().chain(Some(environment).filter(|_| !is_interpreter));
    for home in homes {
        let mut found: Vec<PathBuf> = ["lib", "lib64"]
            .iter()
            .flat_map(|lib| list(&home.join(lib)))
            .filter(|p| p.file_name().is_some_and(|n| n.to_string_lossy().starts_with("python3")))
            .flat_map(|p| [p.join("site-packages"), p.join("dist-packages")])
            .chain([home.join("Lib").join("site-packages")])
            .filter(|p| !list(p).is_empty())
            .collect();
        found.dedup();
        if !found.is_empty() {
            return found;
        }
    }
    vec![]
}

/// The version in the name of `triton-3.6.0.dist-info`.
pub(super) fn installed_triton(db: &dyn Db, packages: &Path) -> Option<String> {
    db.system().list(packages).ok()?.iter().find_map(|entry| {
        let name = entry.file_name()?.to_str()?;
        let (package, version) = name.strip_suffix(".dist-info").or_else(|| name.strip_suffix(".egg-info"))?.split_once('-')?;
        let package = package.to_ascii_lowercase().replace('-', "_");
        let is_triton = matches!(package.as_str(), "triton" | "pytorch_triton" | "pytorch_triton_rocm" | "triton_windows");
        // `3.6.0+git1234` is 3.6.0, and so is `3.6.0-py3.11`.
        is_triton.then(|| version.split(['+', '-']).next().unwrap_or(version).to_owned())
    })
}

/// The version that uv, poetry, pdm or pip has pinned; `None` where they pin several.
pub(super) fn locked_triton(db: &dyn Db, root: &Path) -> Option<String> {
    let mut found: Option<String> = None;
    for name in ["uv.lock", "poetry.lock", "pdm.lock", "pylock.toml"] {
        let path = root.join(name);
        if !db.system().is_file(&path) {
            continue;
        }
        let text = db.system().read(&path).unwrap_or_default();
        let mut is_triton = false;
        for line in text.lines() {
            match line.split_once(" = ").map(|(key, value)| (key, value.trim().trim_matches('"'))) {
                Some(("name", name)) => is_triton = matches!(name, "triton" | "pytorch-triton" | "triton-windows"),
                Some(("version", version)) if is_triton => {
                    let version = version.split('+').next().unwrap_or(version);
                    if found.get_or_insert_with(|| version.to_owned()) != version {
                        return None;
                    }
                }
                _ => {}
            }
        }
    }
    found
}

/// The folders that packages installed in place add: through `.pth` files, through finders that map their names, and by where they say that
/// they come from.
pub(super) fn editable_roots(db: &dyn Db, packages: &Path) -> Vec<PathBuf> {
    let mut entries = db.system().list(packages).unwrap_or_default();
    entries.sort();
    let read = |path: &Path| db.system().read(path).unwrap_or_default();
    let mut found = Vec::new();
    for entry in &entries {
        let name = entry.file_name().unwrap_or_default().to_string_lossy();
        if name.ends_with(".pth") {
            let text = read(entry);
            let lines = text.lines().map(str::trim);
            let folders =
                lines.filter(|l| !l.is_empty() && !l.starts_with('#') && !l.starts_with("import ") && !l.starts_with("import\t"));
            found.extend(folders.map(|folder| normal(&packages.join(folder))));
        } else if name.starts_with("__editable__") && name.ends_with("_finder.py") {
            found.extend(mapped_folders(&read(entry)));
        } else if name.ends_with(".dist-info") {
            let folders = editable_source(&read(&entry.join("direct_url.json"))).into_iter();
            found.extend(folders.flat_map(|root| [root.join("src"), root]));
        }
    }
    let mut seen = std::collections::BTreeSet::new();
    found.retain(|folder| folder.is_absolute() && seen.insert(folder.clone()));
    found.truncate(MAX_ADDED_FOLDERS);
    found
}

/// `MAPPING = {'package': '/where/it/is/package'}` of the finders that setuptools writes: the folders in which packages have their own names.
fn mapped_folders(finder: &str) -> Vec<PathBuf> {
    let line = finder.lines().find(|l| l.starts_with("MAPPING"));
    let Some((_, mapping)) = line.and_then(|l| l.split_once('{')) else { return vec![] };
    let words: Vec<&str> = mapping.split(['\'', '"']).skip(1).step_by(2).collect();
    let pairs = words.chunks_exact(2).map(|pair| (pair[0], Path::new(pair[1])));
    pairs
        .filter(|(name, path)| path.file_name().is_some_and(|last| last == *name))
        .filter_map(|(_, p)| Some(p.parent()?.to_owned()))
        .collect()
}

/// Where a package that is installed in place comes from, by its `direct_url.json`.
fn editable_source(json: &str) -> Option<PathBuf> {
    let value: serde_json::Value = serde_json::from_str(json).ok()?;
    let is_editable = value.get("dir_info")?.get("editable")?.as_bool()?;
    let path = value.get("url")?.as_str()?.strip_prefix("file://")?;
    is_editable.then(|| PathBuf::from(path.replace("%20", " ")))
}

/// A path without `.` and `..`.
pub(crate) fn normal(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                if !out.pop() {
                    out.push("..");
                }
            }
            other => out.push(other),
        }
    }
    out
}
