// Feature: Diagnostics
//
//! Everything wrong in a file, in text order, each with its origins, the configurations it holds in, and its fixes.

use std::{
    cmp::Reverse,
    collections::HashMap,
    ops::Range,
    panic,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use tritium_semantics::{
    Db, Function, SourceFile,
    check::{self, Look},
    diagnostics::Code,
    items,
    project::Selector,
    upgrade,
};

pub use tritium_semantics::{diagnostics::Severity, problem::Applicability};

use crate::{Analysis, ResourceDiagnostics};

#[derive(Debug, Clone, PartialEq)]
pub struct Diagnostic {
    /// `SHP001`
    pub code: &'static str,
    /// `incompatible-broadcast`
    pub name: &'static str,
    pub severity: Severity,
    pub message: String,
    pub range: Range<usize>,
    /// The kernel it was found in, if in one.
    pub kernel: Option<String>,
    /// The launches or configurations it holds in, by name; empty means all.
    pub configs: Vec<String>,
    /// The kernel stands in a string literal.
    pub in_string: bool,
    /// Found under assumed arguments only.
    pub assumed: bool,
    /// The parameters that it then comes from, where a launch says the others.
    pub rests_on: Vec<String>,
    pub related: Vec<Related>,
    pub fixes: Vec<Fix>,
    /// The page of the code.
    pub href: String,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Related {
    pub range: Range<usize>,
    pub message: String,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Fix {
    pub title: String,
    pub applicability: Applicability,
    pub edits: Vec<TextEdit>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct TextEdit {
    pub range: Range<usize>,
    pub new_text: String,
}

/// Where the pages of the codes are read.
const PAGES: &str = "https://tritium.invalid/diagnostics";

/// Where the page of a code is read.
fn href(code: Code) -> String {
    format!("{PAGES}/{}", code.as_str())
}

/// The page of a code, as Markdown.
pub fn page(code: &str) -> Option<&'static str> {
    Code::find(code).map(Code::page)
}

/// How much a code matters where nothing softens it.
pub fn severity(code: &str) -> Option<Severity> {
    Code::find(code).map(Code::severity)
}

impl Diagnostic {
    /// What a reader should know beside the message.
    pub fn note(&self) -> Option<String> {
        let of_string = self.in_string.then(|| "the kernel stands in a string".to_owned());
        let parts: Vec<String> = of_string.into_iter().chain(self.rests()).collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }

    /// What it rests on.
    fn rests(&self) -> Option<String> {
        if self.assumed {
            let names: Vec<String> = self.rests_on.iter().map(|name| format!("`{name}`")).collect();
            return Some(match &names[..] {
                [] => "found under assumed arguments: no launch of this kernel is known".to_owned(),
                names => format!("found with {} assumed: no launch that is known says what is passed", names.join(", ")),
            });
        }
        if self.configs.is_empty() {
            return None;
        }
        Some(format!("only under {}", self.configs.join(", ")))
    }
}

/// What is remembered of a file's kernels, to answer the next keystroke soon.
#[derive(Clone, Default)]
pub struct Known {
    /// The database that its ids are of.
    generation: u64,
    kernels: HashMap<Function, Remembered>,
}

#[derive(Clone)]
struct Remembered {
    /// Of the kernel and of the helpers in its file.
    texts: Vec<(Function, u64)>,
    /// The active specialisation.
    look: Look,
    /// The longest look at all of it: after a first answer there is less left to do, which says nothing of the next keystroke.
    took: Duration,
}

impl Remembered {
    fn has_changed(&self, db: &dyn Db) -> bool {
        self.texts.iter().any(|&(function, text)| text != items::text_hash(db, function))
    }
}

/// Where what has changed took longer, kernels are looked at under their active specialisations first.
const SLOW: Duration = Duration::from_millis(5);

impl Analysis {
    pub fn diagnostics(&self, path: &Path) -> Vec<Diagnostic> {
        self.diagnostics_with(path, &self.remarks(path))
    }

    /// Those for which no code is generated: at hand while somebody types.
    pub fn quick_diagnostics(&self, path: &Path) -> Vec<Diagnostic> {
        self.diagnostics_with(path, &ResourceDiagnostics::default())
    }

    /// What the rules about resources find.
    pub fn remarks(&self, path: &Path) -> ResourceDiagnostics {
        let Some(file) = self.file(path) else { return ResourceDiagnostics::default() };
        ResourceDiagnostics::new(file, file.text(self.db()), self.resource_diagnostics(path))
    }

    /// Those for which no code is generated, and these remarks.
    pub fn diagnostics_with(&self, path: &Path, remarks: &ResourceDiagnostics) -> Vec<Diagnostic> {
        let Some(file) = self.file(path) else { return Vec::new() };
        let found = check::unsilenced(self.db(), file).clone();
        self.shown(path, file, &self.all_of(file, found, remarks))
    }

    fn all_of(
        &self,
        file: SourceFile,
        mut found: Vec<check::Diagnostic>,
        remarks: &ResourceDiagnostics,
    ) -> Vec<check::Diagnostic> {
        found.extend(remarks.of(file));
        found.sort_by_key(|d| (d.range.start, d.range.end, d.code));
        // A comment that silences a remark that is not at hand is no idle one.
        let is_not_looked_for =
            if remarks.is_whole { Code::is_of_runs } else { |code: Code| code.is_resource() || code.is_of_runs() };
        check::silence(self.db(), file, &mut found, is_not_looked_for);
        found
    }

    fn shown(&self, path: &Path, file: SourceFile, found: &[check::Diagnostic]) -> Vec<Diagnostic> {
        let mut out = self.wanted(path, file, found);
        if let Some(version) = &self.options().upgrade
            && self.wants(path, Code::VER004)
        {
            out.extend(upgrade::changes(self.db(), file, version.as_str().into()).iter().map(from_change));
            out.sort_by_key(|d| (d.range.start, d.range.end));
        }
        out
    }

    /// What the active specialisations find in kernels whose text has changed since and that took long, and everything else. `None` where
    /// there is no such kernel, so that [`Analysis::diagnostics`] answers soon.
    pub fn first_diagnostics(&self, path: &Path, known: &Known, remarks: &ResourceDiagnostics) -> Option<Vec<Diagnostic>> {
        let (db, file) = (self.db(), self.file(path)?);
        if known.generation != self.generation {
            return None;
        }
        let kernels = items::kernels(db, file).iter().filter_map(|kernel| known.kernels.get(kernel));
        let changed: Vec<&Remembered> = kernels.filter(|old| old.has_changed(db) && old.look.fits(db)).collect();
        if changed.iter().map(|old| old.took).sum::<Duration>() <= SLOW {
            return None;
        }
        let looks: Vec<&Look> = changed.iter().map(|old| &old.look).collect();
        thread::scope(|scope| {
            let (beside, looks) = (self.clone(), &looks);
            let looking = scope.spawn(move || looks.iter().for_each(|look| look.work_out(beside.db())));
            check::work_out_rest(db, file, looks);
            // A newer text unwinds both.
            looking.join().unwrap_or_else(|unwound| panic::resume_unwind(unwound));
        });
        let found = check::unsilenced_partly(db, file, &looks);
        Some(self.wanted(path, file, &self.all_of(file, found, remarks)))
    }

    /// Looks at all kernels, and remembers what the next keystroke wants to know.
    pub fn look_at_all(&self, path: &Path, known: &mut Known) {
        let db = self.db();
        let Some(file) = self.file(path) else { return };
        let mut old = std::mem::take(known);
        if old.generation != self.generation {
            old.kernels.clear();
        }
        known.generation = self.generation;
        for &kernel in items::kernels(db, file) {
            let start = Instant::now();
            check::look_at(db, kernel);
            let took = start.elapsed().max(old.kernels.get(&kernel).map_or(Duration::ZERO, |old| old.took));
            let look = self.active(kernel).and_then(|active| Look::new(db, kernel, active.instance));
            if let Some(look) = look {
                let functions = items::with_helpers(db, kernel).into_iter();
                let texts = functions.map(|function| (function, items::text_hash(db, function))).collect();
                known.kernels.insert(kernel, Remembered { texts, look, took });
            }
        }
    }

    fn wanted(&self, path: &Path, file: SourceFile, found: &[check::Diagnostic]) -> Vec<Diagnostic> {
        found.iter().filter(|found| self.wants(path, found.code)).map(|found| from_check(file, found)).collect()
    }

    /// The kernels of a file, long ones first, to be looked at side by side before [`Analysis::diagnostics`] collects what was found.
    pub fn kernels_to_check(&self, path: &Path) -> Vec<Function> {
        let db = self.db();
        let Some(file) = self.file(path).filter(|&file| items::is_triton_file(db, file)) else { return Vec::new() };
        let mut kernels = items::kernels(db, file).clone();
        kernels.sort_by_key(|&kernel| Reverse(items::source_map(db, kernel).map_or(0, |(_, map)| map.exprs.len())));
        kernels
    }

    /// Works out what the diagnostics need of one kernel.
    pub fn look_at(&self, kernel: Function) {
        check::look_at(self.db(), kernel);
    }

    /// Whether a code is selected for a file: by what was chosen, else by its project; per-file ignores always hold.
    pub(crate) fn wants(&self, path: &Path, code: Code) -> bool {
        let named = |list: &[Selector]| list.iter().any(|s| s.matches(code));
        let options = self.options();
        let Some(project) = self.project(path) else { return true };
        let (selected, ignored) = match &options.select {
            Some(select) => (named(select), false),
            // Some are told only to those who ask for them.
            None if project.config.select.is_empty() => (code.is_default(), named(&project.config.ignore)),
            None => (named(&project.config.select), named(&project.config.ignore)),
        };
        let here = || {
            let path = self.in_project(path)?;
            Some(project.config.per_file_ignores.iter().any(|(glob, codes)| glob.matches(&path) && named(codes)))
        };
        selected && !ignored && !named(&options.ignore) && !here().unwrap_or(false)
    }

    /// The path as the project's patterns see it.
    fn in_project(&self, path: &Path) -> Option<PathBuf> {
        let path = self.db().system().absolute(path);
        let root = self.project_of_folder(path.parent()?).root.as_ref()?;
        path.strip_prefix(root).ok().map(Path::to_owned)
    }

    /// Whether the project leaves a file out; one that is named outright is checked all the same.
    pub fn is_excluded(&self, path: &Path) -> bool {
        let Some(inside) = self.in_project(path) else { return false };
        let Some(folder) = path.parent() else { return false };
        self.project_of_folder(folder).config.exclude.iter().any(|glob| glob.matches(&inside))
    }
}

fn from_change(change: &upgrade::Change) -> Diagnostic {
    let code = Code::VER004;
    Diagnostic {
        code: code.as_str(),
        name: code.name(),
        severity: code.severity(),
        message: change.message.clone(),
        range: change.range.clone(),
        kernel: Some(change.kernel.to_string()),
        configs: vec![],
        assumed: false,
        in_string: false,
        rests_on: vec![],
        related: vec![],
        fixes: change.fix.iter().map(fix_of).collect(),
        href: href(code),
    }
}

fn fix_of(fix: &check::FileFix) -> Fix {
    let edits = fix.edits.iter().map(|e| TextEdit { range: e.range.clone(), new_text: e.new_text.clone() }).collect();
    Fix { title: fix.title.clone(), applicability: fix.applicability, edits }
}

/// What lies in other files (a helper's own line) is told there.
pub(crate) fn from_check(file: SourceFile, found: &check::Diagnostic) -> Diagnostic {
    let related = found.related.iter().filter(|r| r.file == file);
    let fixes = found.fixes.iter().filter(|f| f.edits.iter().all(|e| e.file == file));
    Diagnostic {
        code: found.code.as_str(),
        name: found.code.name(),
        severity: found.severity,
        message: found.message.clone(),
        range: found.range.clone(),
        kernel: found.kernel.as_ref().map(ToString::to_string),
        configs: found.configs.clone(),
        assumed: found.assumed,
        in_string: found.in_string,
        rests_on: found.rests_on.iter().map(ToString::to_string).collect(),
        related: related.map(|r| Related { range: r.range.clone(), message: r.message.clone() }).collect(),
        fixes: fixes.map(fix_of).collect(),
        href: href(found.code),
    }
}
