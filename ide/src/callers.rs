// Feature: Callers
//
//! Which files of the workspace call functions of another, and what they launch there: tests, benchmarks, modules.
//!
//! **Invariant:** who imports whom is read from texts alone, without making the files known; the answer depends on paths and texts, not on
//! the order in which files were opened; the files that are looked through, and those that are followed, are bounded.

mod imports;

use std::{
    collections::{BTreeSet, HashMap},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use rayon::prelude::*;
use tritium_semantics::{
    Db as _,
    host::{self, Called},
};

use crate::{Analysis, Host, guarded, workspace::FolderWalk};

use imports::Imports;

/// Files around those that are asked about that are looked through: those of their own packages first, then those near the top.
const MAX_SCANNED: usize = 4_000;
/// Callers of one file that are followed.
const MAX_CALLERS: usize = 12;
/// Files between a function and who calls it.
const MAX_DISTANCE: usize = 5;
/// Times that a name is handed on.
const MAX_HANDED: usize = 8;

/// What was read of the workspace, until it changes.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    /// Counts changes: what was read before one is not kept after it.
    epoch: u64,
    folders: HashMap<PathBuf, Arc<Vec<PathBuf>>>,
    imports: HashMap<PathBuf, Arc<Imports>>,
    /// The last that was made, of which folders, and the packages that come first if there are too many files, or if they are not among them.
    graph: Option<(Around, BTreeSet<PathBuf>, Arc<ImportGraph>)>,
}

/// Folders that are looked through with all that is in them, and those that are not.
type Around = (BTreeSet<PathBuf>, BTreeSet<PathBuf>);

impl Scan {
    pub(crate) fn text_changed(&mut self, path: &Path) {
        self.epoch += 1;
        self.graph = None;
        self.imports.remove(path);
    }

    pub(crate) fn tree_changed(&mut self) {
        self.epoch += 1;
        self.graph = None;
        self.folders.clear();
    }
}

pub(crate) type SharedScan = Arc<Mutex<Scan>>;

pub(crate) fn locked(scan: &SharedScan) -> std::sync::MutexGuard<'_, Scan> {
    scan.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Who imports whom.
#[derive(Debug, Default)]
pub struct ImportGraph {
    files: Vec<(PathBuf, Arc<Imports>)>,
    /// By the last part of a module's name.
    by_name: HashMap<String, Vec<usize>>,
    by_path: HashMap<PathBuf, usize>,
    /// The files that import something from each.
    users: Vec<BTreeSet<usize>>,
    /// There are more files than are looked through.
    pub is_cut: bool,
}

impl ImportGraph {
    fn new(files: Vec<(PathBuf, Arc<Imports>)>, is_cut: bool) -> ImportGraph {
        let mut graph = ImportGraph { files, is_cut, ..ImportGraph::default() };
        for (index, (path, _)) in graph.files.iter().enumerate() {
            graph.by_path.insert(path.clone(), index);
            if let Some(name) = module_parts(path).last() {
                graph.by_name.entry((*name).to_owned()).or_default().push(index);
            }
        }
        graph.users = vec![BTreeSet::new(); graph.files.len()];
        for index in 0..graph.files.len() {
            let imports = Arc::clone(&graph.files[index].1);
            for import in &imports.imports {
                let used = match &import.member {
                    Some(member) => graph.defined(index, import.level, &import.module, member, 0),
                    None => graph.modules(index, import.level, &import.module),
                };
                used.into_iter().filter(|&used| used != index).for_each(|used| {
                    graph.users[used].insert(index);
                });
            }
        }
        graph
    }

    /// The files that a module's name may mean, seen from a file: those that lie nearest to it.
    fn modules(&self, from: usize, level: usize, module: &str) -> Vec<usize> {
        let parts: Vec<&str> = module.split('.').filter(|part| !part.is_empty()).collect();
        let own = &self.files[from].0;
        if level > 0 {
            let Some(folder) = own.ancestors().nth(level) else { return vec![] };
            let path = parts.iter().fold(folder.to_owned(), |path, part| path.join(part));
            let candidates = [path.join("__init__.py"), path.with_extension("py")];
            return candidates.iter().filter_map(|path| self.by_path.get(path)).take(1).copied().collect();
        }
        let Some(named) = parts.last().and_then(|last| self.by_name.get(*last)) else { return vec![] };
        let is_meant = |&&index: &&usize| module_parts(&self.files[index].0).ends_with(&parts);
        let shared = |index: usize| self.files[index].0.components().zip(own.components()).take_while(|(a, b)| a == b).count();
        let nearest = named.iter().filter(is_meant).map(|&index| shared(index)).max();
        named.iter().filter(is_meant).copied().filter(|&index| Some(shared(index)) == nearest).collect()
    }

    /// The files that define what an import brings, as far as it is handed on from file to file.
    fn defined(&self, from: usize, level: usize, module: &str, member: &str, handed: usize) -> Vec<usize> {
        let mut out = Vec::new();
        for file in self.modules(from, level, module) {
            match self.followed(file, member, handed) {
                Some(found) => out.extend(found),
                None => {
                    let inside = self.submodule(file, member);
                    out.push(inside.unwrap_or(file));
                }
            }
        }
        if out.is_empty() {
            // A folder without `__init__.py`.
            let whole = if module.is_empty() { member.to_owned() } else { format!("{module}.{member}") };
            out = self.modules(from, level, &whole);
        }
        out
    }

    fn submodule(&self, file: usize, member: &str) -> Option<usize> {
        let path = &self.files[file].0;
        let folder = path.parent().filter(|_| path.file_name().is_some_and(|name| name == "__init__.py"))?;
        let candidates = [folder.join(member).join("__init__.py"), folder.join(format!("{member}.py"))];
        candidates.iter().find_map(|path| self.by_path.get(path)).copied()
    }

    /// Where a name of a file is defined; `None` where the file is not seen to bind it.
    fn followed(&self, file: usize, name: &str, handed: usize) -> Option<Vec<usize>> {
        let imports = &self.files[file].1;
        if imports.defines.contains(name) || handed > MAX_HANDED {
            return Some(vec![file]);
        }
        let handed = handed + 1;
        let bound = imports.imports.iter().find(|import| import.bound == name);
        if let Some(import) = bound {
            let found = match &import.member {
                Some(member) => self.defined(file, import.level, &import.module, member, handed),
                None => self.modules(file, import.level, &import.module),
            };
            return Some(found);
        }
        let stars = imports.imports.iter().filter(|import| import.bound == "*");
        stars
            .flat_map(|import| self.modules(file, import.level, &import.module))
            .find_map(|other| if other == file { None } else { self.followed(other, name, handed) })
    }

    /// The files that may call functions of one, those first that say most of it; and how many more there are.
    pub fn callers(&self, path: &Path) -> (Vec<PathBuf>, usize) {
        let Some(&start) = self.by_path.get(path) else { return (vec![], 0) };
        let mut distances: HashMap<usize, usize> = HashMap::from([(start, 0)]);
        let mut last = vec![start];
        for distance in 1..=MAX_DISTANCE {
            let mut next = Vec::new();
            for user in last.iter().flat_map(|&file| &self.users[file]) {
                if !distances.contains_key(user) {
                    distances.insert(*user, distance);
                    next.push(*user);
                }
            }
            last = next;
        }
        distances.remove(&start);
        let own: Vec<&str> = module_parts(path).into_iter().rev().take(2).filter(|name| name.len() > 2).collect();
        let rank = |index: usize, distance: usize| {
            let name = self.files[index].0.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
            let is_test = name.starts_with("test_") || name.ends_with("_test");
            // A test of its own says what it is called with.
            (!(is_test && own.iter().any(|own| name.contains(own))), distance + usize::from(!is_test), index)
        };
        let is_empty = |index: &usize| self.files[*index].0.file_name().is_some_and(|name| name == "__init__.py");
        let mut ranked: Vec<_> =
            distances.into_iter().filter(|(index, _)| !is_empty(index)).map(|(index, distance)| rank(index, distance)).collect();
        ranked.sort_unstable();
        let left_out = ranked.len().saturating_sub(MAX_CALLERS);
        (ranked.into_iter().take(MAX_CALLERS).map(|(.., index)| self.files[index].0.clone()).collect(), left_out)
    }
}

/// `["package", "module"]`, from the root of the file system on.
fn module_parts(path: &Path) -> Vec<&str> {
    let path = path.to_str().unwrap_or_default();
    let mut parts: Vec<&str> = path.strip_suffix(".py").unwrap_or(path).split(['/', '\\']).collect();
    if parts.last() == Some(&"__init__") {
        parts.pop();
    }
    parts
}

/// What says that a folder is a project's.
const MARKS: &[&str] = &["pyproject.toml", "setup.py", "setup.cfg", ".git/HEAD"];

impl Host {
    /// Finds out what other files launch of the kernels of these, file by file on the threads of the pool that it is called in. Whether all
    /// files around were looked through.
    pub fn find_callers(&mut self, files: &[PathBuf], folders: &[PathBuf]) -> bool {
        let snapshot = self.snapshot();
        let generation = snapshot.generation();
        let has_kernels = |analysis: &mut Analysis, path: &PathBuf| {
            let has = guarded(|| analysis.kernel_count(path)).is_ok_and(|count| count > 0);
            has.then(|| path.clone())
        };
        let with_kernels: Vec<PathBuf> = files.par_iter().map_with(snapshot.clone(), has_kernels).flatten().collect();
        if with_kernels.is_empty() {
            return true;
        }
        let graph = snapshot.import_graph(&with_kernels, folders);
        let of_file = |analysis: &mut Analysis, path: PathBuf| {
            let (callers, _) = graph.callers(&analysis.db().system().absolute(&path));
            let called = guarded(|| analysis.called(&path, &callers)).unwrap_or_default();
            (path, called)
        };
        let found: Vec<_> = with_kernels.into_par_iter().map_with(snapshot, of_file).collect();
        for (path, called) in found {
            self.set_called(generation, &path, called);
        }
        !graph.is_cut
    }
}

impl Analysis {
    /// Who imports whom around some files: in the folders that the editor has open, in these, and in the files' projects.
    pub fn import_graph(&self, files: &[PathBuf], named: &[PathBuf]) -> Arc<ImportGraph> {
        let system = self.db().system();
        let mut folders: BTreeSet<PathBuf> = named.iter().map(|folder| system.absolute(folder)).collect();
        let mut alone: BTreeSet<PathBuf> = BTreeSet::new();
        let mut packages: BTreeSet<PathBuf> = BTreeSet::new();
        let absolute: Vec<PathBuf> = files.iter().map(|path| system.absolute(path)).collect();
        for path in &absolute {
            // An installed package has no tests beside it.
            let above = || path.ancestors().skip(1).take_while(|folder| !folder.ends_with("site-packages"));
            let package = above().take_while(|folder| system.is_file(&folder.join("__init__.py"))).last();
            packages.extend(package.map(Path::to_owned));
            if let Some(root) = self.roots().iter().find(|root| path.starts_with(root)) {
                folders.insert(root.clone());
                continue;
            }
            let marked = above().find(|folder| MARKS.iter().any(|mark| system.is_file(&folder.join(mark))));
            match (marked.or(package), path.parent()) {
                (Some(folder), _) => {
                    folders.insert(folder.to_owned());
                }
                (None, Some(folder)) => {
                    alone.insert(folder.to_owned());
                }
                (None, None) => {}
            }
        }
        // What lies within another is looked through with it.
        let outer: Vec<PathBuf> =
            folders.iter().filter(|folder| folder.ancestors().skip(1).all(|above| !folders.contains(above))).cloned().collect();
        alone.retain(|folder| !folder.ancestors().any(|above| folders.contains(above)));
        let around = (outer.into_iter().collect(), alone);
        let epoch = {
            let scan = locked(self.scan());
            if let Some((of, first, graph)) = &scan.graph
                && *of == around
                && (packages.is_subset(first) || !graph.is_cut && absolute.iter().all(|path| graph.by_path.contains_key(path)))
            {
                return Arc::clone(graph);
            }
            scan.epoch
        };
        let mut paths = BTreeSet::<PathBuf>::new();
        for folder in &around.0 {
            paths.extend(self.below(folder, usize::MAX).iter().cloned());
        }
        for folder in &around.1 {
            paths.extend(self.below(folder, 1).iter().cloned());
        }
        let is_cut = paths.len() > MAX_SCANNED;
        // A package may lie where nobody looks: in a hidden folder, in one that git ignores.
        if is_cut || absolute.iter().any(|path| !paths.contains(path)) {
            let near: BTreeSet<PathBuf> = packages.iter().flat_map(|folder| self.below(folder, usize::MAX).to_vec()).collect();
            let others = paths.into_iter().filter(|path| !near.contains(path));
            let kept: Vec<PathBuf> = near.iter().cloned().chain(others).take(MAX_SCANNED).collect();
            paths = kept.into_iter().collect();
        }
        let imports = paths.into_iter().filter_map(|path| Some((path.clone(), self.imports_of(&path)?)));
        let graph = Arc::new(ImportGraph::new(imports.collect(), is_cut));
        let mut scan = locked(self.scan());
        if scan.epoch == epoch {
            scan.graph = Some((around, packages, Arc::clone(&graph)));
        }
        graph
    }

    /// The Python files of a folder and of those within, as many folders as are looked through.
    fn below(&self, folder: &Path, most: usize) -> Arc<Vec<PathBuf>> {
        let (epoch, known) = {
            let scan = locked(self.scan());
            (scan.epoch, scan.folders.get(folder).cloned())
        };
        if let Some(known) = known {
            return known;
        }
        let mut out = Vec::new();
        for (_, files) in FolderWalk::new(self.db().system(), [folder.to_owned()]).take(most) {
            salsa::Database::unwind_if_revision_cancelled(self.db());
            out.extend(files.unwrap_or_default());
            if out.len() > MAX_SCANNED {
                break;
            }
        }
        let out = Arc::new(out);
        let mut scan = locked(self.scan());
        if scan.epoch == epoch {
            scan.folders.insert(folder.to_owned(), Arc::clone(&out));
        }
        out
    }

    fn imports_of(&self, path: &Path) -> Option<Arc<Imports>> {
        salsa::Database::unwind_if_revision_cancelled(self.db());
        let (epoch, known) = {
            let scan = locked(self.scan());
            (scan.epoch, scan.imports.get(path).cloned())
        };
        if known.is_some() {
            return known;
        }
        let found = Arc::new(Imports::of(&self.glance(path)?));
        let mut scan = locked(self.scan());
        if scan.epoch == epoch {
            scan.imports.insert(path.to_owned(), Arc::clone(&found));
        }
        Some(found)
    }

    /// What the files around one launch of its kernels.
    pub fn launches_by_callers(&self, path: &Path) -> Vec<Called> {
        if !self.is_triton(path) || self.kernel_count(path) == 0 {
            return Vec::new();
        }
        let graph = self.import_graph(&[path.to_owned()], &[]);
        let (callers, left_out) = graph.callers(&self.db().system().absolute(path));
        if graph.is_cut || left_out > 0 {
            tracing::info!(path = %path.display(), left_out, is_cut = graph.is_cut, "not all callers are followed");
        }
        self.called(path, &callers)
    }

    /// What these files launch of a file's kernels.
    pub fn called(&self, path: &Path, callers: &[PathBuf]) -> Vec<Called> {
        let Some(file) = self.file(path) else { return Vec::new() };
        let callers = callers.iter().filter_map(|caller| self.file(caller)).filter(|caller| *caller != file);
        let all = callers.flat_map(|caller| host::launches_elsewhere(self.db(), caller));
        all.filter(|called| called.partial.kernel.file(self.db()) == file).cloned().collect()
    }
}
