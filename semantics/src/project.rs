//! The project that a file belongs to: its configuration, its Python environment, the version of Triton it is written for.
//!
//! `[tool.tritium]` of the nearest `pyproject.toml` that has one; what was chosen by flag or setting goes before it. **Invariant:** nothing
//! is crawled: the folders above the file are asked for `pyproject.toml` and `.venv`, the environment for its `site-packages` and the
//! names in it; what is wrong with a configuration is a [`ConfigProblem`], and the rest of it still counts.

use std::path::{Path, PathBuf};

use crate::{
    Db, SourceFile,
    target::{self, DEFAULT_BOARD, DEFAULT_TRITON, Gpu},
    versions,
};

mod config;
mod environment;
mod glob;

pub use config::{Config, ConfigProblem, Selector, read as read_config};
pub use glob::Glob;

pub(crate) use environment::normal;

use environment::{editable_roots, installed_triton, site_packages};

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Project {
    /// The folder that paths of the configuration count from.
    pub root: Option<PathBuf>,
    pub config: Config,
    pub problems: Vec<ConfigProblem>,
    pub triton: String,
    pub triton_from: Source,
    /// A board or a bare SM that has a row.
    pub gpu: String,
    /// Folders that imports are looked up in after those above the file.
    pub packages: Vec<PathBuf>,
}

impl Project {
    /// The row that [`Project::gpu`] names.
    pub fn target(&self) -> Gpu {
        let default = || Gpu::find(DEFAULT_BOARD).expect("the default board has a row");
        Gpu::find_among(&self.gpu, &self.config.boards).unwrap_or_else(default)
    }

    /// A name that another process understands: that of a project's own board is its SM's.
    pub fn known_everywhere(&self) -> &str {
        if Gpu::find(&self.gpu).is_some() { &self.gpu } else { self.target().sm.name }
    }
}

/// Where a setting comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Source {
    /// A flag or an editor's setting.
    Chosen,
    /// `[tool.tritium]`
    Configured,
    /// The metadata of the package in the environment.
    Installed,
    /// What the project's lock file pins.
    Locked,
    #[default]
    Default,
}

/// A folder that files lie in.
#[salsa::interned(debug)]
struct Folder<'db> {
    #[returns(ref)]
    path: PathBuf,
}

/// The project of a file.
pub fn project(db: &dyn Db, file: SourceFile) -> &Project {
    project_at(db, file.path(db).parent().unwrap_or(Path::new("")))
}

/// The project of the files in a folder.
pub fn project_at<'db>(db: &'db dyn Db, folder: &Path) -> &'db Project {
    of_folder(db, Folder::new(db, folder.to_owned()))
}

/// The version of Triton that a file is checked against.
pub fn triton(db: &dyn Db, file: SourceFile) -> &str {
    &project(db, file).triton
}

#[salsa::tracked(returns(ref))]
fn of_folder<'db>(db: &'db dyn Db, folder: Folder<'db>) -> Project {
    let settings = db.settings();
    // Files that come and go change the answer.
    let _ = settings.tree(db);
    let chosen = settings.chosen(db);
    let mut project = Project::default();
    let mut nearest = None;
    for above in folder.path(db).ancestors() {
        let path = above.join("pyproject.toml");
        if !db.system().is_file(&path) {
            continue;
        }
        let Some(file) = db.file(&path) else { continue };
        nearest.get_or_insert_with(|| above.to_owned());
        if let Some((config, problems)) = config::read(&path, file.text(db)) {
            project.root = Some(above.to_owned());
            (project.config, project.problems) = (config, problems);
            break;
        }
    }
    let root = project.root.clone().or(nearest);

    let named = chosen.environment.clone().or_else(|| {
        let written = project.config.environment.as_deref()?;
        Some(project.root.as_deref().unwrap_or(Path::new("")).join(written))
    });
    let environment = match &named {
        Some(environment) => {
            let found = site_packages(db, environment);
            if found.is_empty() {
                let message = format!(
                    "{} is no Python environment: it has no lib/python3.*/site-packages; name the environment's folder or its interpreter",
                    environment.display()
                );
                project.problems.push(ConfigProblem { path: environment.clone(), line: 0, message });
            }
            found
        }
        None => {
            let shell = &chosen.shell;
            let above = root.iter().map(PathBuf::as_path).chain(folder.path(db).ancestors());
            let beside = above.flat_map(|folder| environment::NAMES.iter().map(|name| folder.join(name)));
            let candidates = shell.virtual_env.iter().cloned().chain(beside).chain(shell.conda.iter().cloned());
            candidates.map(|c| site_packages(db, &c)).find(|found| !found.is_empty()).unwrap_or_default()
        }
    };

    let known = |version: &&String| versions::rules(version).is_some();
    let installed =
        || environment.iter().find_map(|folder| installed_triton(db, folder)).filter(|v| versions::rules(v).is_some());
    (project.triton, project.triton_from) = if let Some(version) = chosen.triton.as_ref().filter(known) {
        (version.clone(), Source::Chosen)
    } else if let Some(version) = &project.config.triton {
        (version.clone(), Source::Configured)
    } else if let Some(version) = installed() {
        (version, Source::Installed)
    } else if let Some(version) = root.as_ref().and_then(|root| locked_triton(db, Folder::new(db, root.clone()))) {
        (version, Source::Locked)
    } else {
        (DEFAULT_TRITON.to_owned(), Source::Default)
    };
    let named = chosen.gpu.as_deref().or(project.config.gpu.as_deref());
    let gpu = named.and_then(|name| Gpu::find_among(name, &project.config.boards));
    if let (Some(name), None) = (chosen.gpu.as_deref(), gpu) {
        let own = project.config.boards.iter().copied();
        let known = target::BOARDS.iter().chain(own).map(|b| b.name).chain(target::SMS.iter().map(|s| s.name));
        let known = known.collect::<Vec<_>>().join(", ");
        let message =
            format!("unknown GPU `{name}`; known are {known}, and a project may add boards (`[tool.tritium.boards.NAME]`)");
        project.problems.push(ConfigProblem { path: PathBuf::new(), line: 0, message });
    }
    project.gpu = gpu.map_or(DEFAULT_BOARD, |gpu| gpu.name()).to_owned();

    project.packages.extend(chosen.shell.python_path.iter().cloned());
    if let Some(root) = root {
        project.packages.extend([root.clone(), root.join("src")]);
    }
    for folder in environment {
        let editable = editable_roots(db, &folder);
        project.packages.push(folder);
        project.packages.extend(editable);
    }
    project.packages.dedup();
    project
}

/// The version of Triton that the lock file of a project's folder pins, if it pins one.
#[salsa::tracked(returns(clone))]
fn locked_triton<'db>(db: &'db dyn Db, root: Folder<'db>) -> Option<String> {
    let _ = db.settings().tree(db);
    let version = environment::locked_triton(db, root.path(db))?;
    versions::rules(&version).is_some().then_some(version)
}
