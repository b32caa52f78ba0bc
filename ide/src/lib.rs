//! What editors and the command line ask, as plain structs: one file a feature.
//!
//! [`Host`] owns the database and takes changes; [`Analysis`] is a snapshot that answers. **Invariant:** offsets are bytes into the file's
//! text; nothing here knows a protocol.

pub mod baseline;
pub mod batch;
pub mod bench;
pub mod build;
mod call_at;
pub mod call_hierarchy;
pub mod callers;
pub mod charts;
pub mod code_actions;
pub mod code_lens;
pub mod coexistence;
pub mod completion;
pub mod configurations;
mod cost;
mod cta_resources;
pub mod definition;
pub mod diagnostics;
pub mod emit;
pub mod enter;
pub mod exact;
pub mod folding;
pub mod history;
pub mod hover;
pub mod hover_range;
pub mod inlay_hints;
mod kernel_hover;
pub mod kernels;
mod naming;
pub mod recorded;
pub mod refactor;
pub mod references;
pub mod rename;
pub mod report;
pub mod request;
mod resource_diagnostics;
mod resources;
pub mod roofline;
pub mod sanitize;
pub mod semantic_tokens;
pub mod signature_help;
pub mod stats;
pub mod sweep;
pub mod symbols;
pub mod triton_cache;
mod tune;
pub mod views;
pub mod workspace;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::Arc,
    thread,
};

pub use call_hierarchy::{CallStep, Caller};
use callers::SharedScan;
pub use code_actions::{Action, ActionKind};
pub use code_lens::Lens;
pub use coexistence::{Feature, Python};
pub use completion::{Completion, CompletionKind};
pub use definition::Target;
pub use diagnostics::{Applicability, Diagnostic, Fix, Related, Severity, TextEdit};
pub use exact::Artefacts;
pub use folding::{Fold, FoldKind};
pub use hover::Hover;
pub use inlay_hints::InlayHint;
use recorded::RecordedLaunches;
pub use references::{Reference, ReferenceKind};
pub use rename::FileEdits;
pub use resource_diagnostics::ResourceDiagnostics;
use salsa::Database as _;
pub use semantic_tokens::{Token, TokenKind};
use serde_json::Value;
pub use signature_help::SignatureHelp;
pub use symbols::{Located, Outline, SymbolKind};
use tritium_runtime::calibrate;
pub use tritium_runtime::files::Disk;
use tritium_semantics::{
    Chosen, Database, Db as _, Shell, SourceFile, System, host,
    host::Called,
    items,
    project::{self, Project, Selector},
    target::{self, Gpu, Measured},
    versions,
};
use tritium_syntax::LineIndex;

/// What the person chose; editors send it as settings, the command line as flags.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Where these are not chosen, the project says.
    pub triton: Option<String>,
    /// A board or a bare SM.
    pub gpu: Option<String>,
    /// Show what changes under this version of Triton.
    pub upgrade: Option<String>,
    /// Of every tuning this row alone.
    pub config: Option<usize>,
    /// Of a file's kernel the configuration that answers for it, by [`Configuration::id`](tritium_semantics::configuration::Configuration::id).
    pub active: BTreeMap<(PathBuf, String), String>,
    /// Of every kernel's specialisations the first alone.
    pub only_first: bool,
    /// The function of a file that is entered, in place of the file's own statements.
    pub entry: Option<host::Entry>,
    /// Sizes that launch blocks have in place of their own.
    pub sizes: Vec<(String, i64)>,
    /// Benchmark functions are run with all of their sizes.
    pub every_benchmark: bool,
    /// A Python environment: its folder, or its interpreter.
    pub environment: Option<PathBuf>,
    /// What is active where the program was started.
    pub shell: Shell,
    /// Codes, families or names: only these. The project says where it is `None`.
    pub select: Option<Vec<Selector>>,
    /// Not these; beside what the project ignores.
    pub ignore: Vec<Selector>,
    /// The file of roofs that a calibration has measured.
    pub roofs: Option<PathBuf>,
    /// Where ▶ Run runs.
    pub device: String,
    /// The other machine that runs it.
    pub run_on: Option<String>,
    /// Whether this program is copied there if it is missing.
    pub send_program: bool,
    pub run_timeout_seconds: u64,
    pub hover: bool,
    pub shape_hints: bool,
    pub dtype_hints: bool,
    /// What operations on two element types give.
    pub promotion_hints: bool,
    pub roofline_hints: bool,
    pub code_lens: bool,
    pub completion: bool,
    /// Whether a Python server answers beside this one.
    pub python: Python,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            triton: None,
            gpu: None,
            upgrade: None,
            config: None,
            active: BTreeMap::new(),
            only_first: false,
            entry: None,
            sizes: Vec::new(),
            every_benchmark: false,
            environment: None,
            shell: Shell::of_process(),
            select: None,
            ignore: Vec::new(),
            roofs: tritium_runtime::calibrate::file(),
            device: "cpu".to_owned(),
            run_on: None,
            send_program: false,
            run_timeout_seconds: 60,
            hover: true,
            shape_hints: true,
            dtype_hints: true,
            promotion_hints: false,
            roofline_hints: true,
            code_lens: true,
            completion: true,
            python: Python::Served,
        }
    }
}

impl Options {
    /// From an editor's `tritium.*` settings; what is absent or of the wrong kind keeps its default.
    pub fn from_json(settings: &Value) -> Options {
        let mut options = Options::default();
        let text = |keys: &[&str]| lookup(settings, keys).and_then(Value::as_str).filter(|s| !s.is_empty()).map(str::to_owned);
        let flag = |keys: &[&str], default| lookup(settings, keys).and_then(Value::as_bool).unwrap_or(default);
        options.triton = text(&["triton"]).filter(|version| versions::rules(version).is_some());
        options.gpu = text(&["gpu"]);
        options.environment = text(&["environment"]).map(PathBuf::from);
        options.device = text(&["device"]).unwrap_or(options.device);
        options.run_on = text(&["run", "on"]);
        options.send_program = flag(&["run", "sendProgram"], false);
        options.run_timeout_seconds =
            lookup(settings, &["run", "timeout"]).and_then(Value::as_u64).unwrap_or(options.run_timeout_seconds);
        options.hover = flag(&["hover", "enable"], true);
        options.shape_hints = flag(&["inlayHints", "shapes"], true);
        options.dtype_hints = flag(&["inlayHints", "dtypes"], true);
        options.promotion_hints = flag(&["inlayHints", "promotions"], false);
        options.roofline_hints = flag(&["inlayHints", "roofline"], true);
        options.code_lens = flag(&["codeLens", "enable"], true);
        options.completion = flag(&["completion", "enable"], true);
        options.python = if text(&["python"]).as_deref() == Some("none") { Python::None } else { Python::Served };
        options
    }
}

impl Options {
    /// Those that decide what a file means.
    fn chosen(&self) -> Chosen {
        Chosen {
            triton: self.triton.clone(),
            gpu: self.gpu.clone(),
            environment: self.environment.clone(),
            config: self.config,
            only_first: self.only_first,
            entry: self.entry.clone(),
            sizes: self.sizes.clone(),
            every_benchmark: self.every_benchmark,
            proposed: Vec::new(),
            recorded: BTreeMap::new(),
            shell: self.shell.clone(),
        }
    }
}

fn lookup<'v>(value: &'v Value, keys: &[&str]) -> Option<&'v Value> {
    keys.iter().try_fold(value, |value, key| value.get(key))
}

/// Changes of texts after which a new database is taken to have seen what the open files need.
const CHANGES_TO_SETTLE: usize = 50;

/// Keys that a settled database may make at least before another takes its place, some three megabytes; it may make as many as it needed.
/// Whatever salsa interns (functions, instances, numbers of launches, names asked for) it keeps with all that was worked out of it, and
/// people type names and numbers that are gone a moment later. What stays as it is makes no keys, so typing that makes none never costs a
/// new look at everything open, and typing that makes many costs one look for as much work again.
const MIN_SPARE_KEYS: usize = 4_096;

/// The owner of the database.
pub struct Host {
    db: Database,
    /// Files whose texts were set: these are open in an editor.
    open: BTreeSet<PathBuf>,
    /// Changes of texts that this database has seen.
    changes: usize,
    /// Keys that it had made when it was settled; before that, those it has.
    settled_keys: usize,
    /// Databases before this one: ids of one mean nothing in another.
    generation: u64,
    options: Options,
    /// The folders that the editor has open.
    roots: Arc<[PathBuf]>,
    /// What was read of the workspace to find who calls what.
    scan: SharedScan,
    artefacts: Arc<Artefacts>,
    /// Roofs by board, as [`Options::roofs`] has them.
    roofs: Arc<[(String, Measured)]>,
    recorded: Arc<RecordedLaunches>,
}

impl Default for Host {
    fn default() -> Host {
        Host::new(Arc::new(Disk))
    }
}

impl Host {
    pub fn new(system: Arc<dyn System>) -> Host {
        Host {
            db: Database::new(system),
            open: BTreeSet::new(),
            changes: 0,
            settled_keys: 0,
            generation: 0,
            options: Options::default(),
            roots: Arc::default(),
            scan: Arc::default(),
            artefacts: Arc::default(),
            roofs: Arc::default(),
            recorded: Arc::default(),
        }
    }

    pub fn set_text(&mut self, path: &Path, text: String) {
        self.db.set_text(path, text);
        // No snapshot of the text before is left that could be read as the new one.
        callers::locked(&self.scan).text_changed(path);
        if !self.open.contains(path) {
            self.open.insert(path.to_owned());
        }
        self.changes += 1;
        if self.changes <= CHANGES_TO_SETTLE {
            self.settled_keys = self.db.keys();
        } else if self.db.keys() > self.settled_keys + self.settled_keys.max(MIN_SPARE_KEYS) {
            self.renew();
        }
    }

    /// Lets go of everything but the texts.
    fn renew(&mut self) {
        let fresh = self.db.renewed(&self.open);
        let old = std::mem::replace(&mut self.db, fresh);
        (self.changes, self.generation) = (0, self.generation + 1);
        // A keystroke need not wait until all of it is given back.
        thread::spawn(move || drop(old));
    }

    /// The file on disk is the truth, again or still.
    pub fn reload(&mut self, path: &Path) {
        self.open.remove(path);
        self.db.reload(path);
        callers::locked(&self.scan).text_changed(path);
    }

    /// Files have come or gone: imports and configuration are looked for again.
    pub fn tree_changed(&mut self) {
        self.db.tree_changed();
        callers::locked(&self.scan).tree_changed();
    }

    pub fn configure(&mut self, options: Options) {
        self.options = options;
        self.choose();
        // A file that cannot be read leaves the datasheet's roofs.
        self.roofs = self.options.roofs.as_deref().and_then(|path| calibrate::read(path).ok()).unwrap_or_default().into();
    }

    /// Says what other files launch of the kernels of one, as a snapshot of a generation of databases has found it; whether that is anything
    /// new.
    pub fn set_called(&mut self, generation: u64, path: &Path, called: Vec<Called>) -> bool {
        generation == self.generation && self.db.set_called(path, called)
    }

    pub fn set_roots(&mut self, roots: Vec<PathBuf>) {
        callers::locked(&self.scan).tree_changed();
        self.roots = roots.into();
    }

    pub fn artefacts(&self) -> &Arc<Artefacts> {
        &self.artefacts
    }

    /// Lets go of what is cheap to work out again. Waits until no snapshot is left.
    pub fn forget(&mut self) {
        self.db.trigger_lru_eviction();
    }

    /// Whether a snapshot is still at work; each shares the folders.
    pub fn is_read(&self) -> bool {
        Arc::strong_count(&self.roots) > 1
    }

    pub fn snapshot(&self) -> Analysis {
        let gpu = self.options.gpu.as_deref().and_then(Gpu::find);
        Analysis {
            db: self.db.clone(),
            generation: self.generation,
            options: self.options.clone(),
            roots: Arc::clone(&self.roots),
            scan: Arc::clone(&self.scan),
            artefacts: Arc::clone(&self.artefacts),
            gpu: with_roofs(gpu.unwrap_or_else(default_gpu), &self.roofs),
            roofs: Arc::clone(&self.roofs),
            recorded: Arc::clone(&self.recorded),
        }
    }

    /// A snapshot with the settings of a file's project.
    pub fn snapshot_at(&self, path: &Path) -> Analysis {
        self.snapshot().at(path)
    }
}

fn default_gpu() -> Gpu {
    Gpu::find(target::DEFAULT_BOARD).expect("the default board has a row")
}

/// A snapshot: reads of it are consistent, and unwind with [`salsa::Cancelled`] when the host changes.
#[derive(Clone)]
pub struct Analysis {
    db: Database,
    /// Which of the host's databases it is.
    generation: u64,
    options: Options,
    roots: Arc<[PathBuf]>,
    scan: SharedScan,
    artefacts: Arc<Artefacts>,
    gpu: Gpu,
    roofs: Arc<[(String, Measured)]>,
    recorded: Arc<RecordedLaunches>,
}

fn with_roofs(gpu: Gpu, roofs: &[(String, Measured)]) -> Gpu {
    let measured = roofs.iter().find(|(board, _)| gpu.board.is_some_and(|b| b.name == board)).map(|(_, measured)| *measured);
    Gpu { measured, ..gpu }
}

impl Analysis {
    /// With the settings of a file's project.
    pub fn at(mut self, path: &Path) -> Analysis {
        self.gpu = with_roofs(self.project(path).map_or(self.gpu, Project::target), &self.roofs);
        self
    }

    /// The project of a file; `None` if the file cannot be read.
    pub fn project(&self, path: &Path) -> Option<&Project> {
        Some(project::project(&self.db, self.file(path)?))
    }

    /// What another process must be told to read a file as it is read here: it may stand where the project's configuration does not.
    pub fn chosen_elsewhere(&self, path: &Path) -> Option<Chosen> {
        let project = self.project(path)?;
        let (triton, gpu) = (project.triton.clone(), project.known_everywhere().to_owned());
        let own = self.db.system().absolute(path);
        let recorded = self.db.chosen().recorded.get(&own).map(|text| (own.clone(), text.clone()));
        Some(Chosen { triton: Some(triton), gpu: Some(gpu), recorded: recorded.into_iter().collect(), ..self.options.chosen() })
    }

    /// The project of a folder's files.
    pub fn project_of_folder(&self, folder: &Path) -> &Project {
        project::project_at(&self.db, &self.db.system().absolute(folder))
    }

    pub fn db(&self) -> &Database {
        &self.db
    }

    pub fn roots(&self) -> &[PathBuf] {
        &self.roots
    }

    fn scan(&self) -> &SharedScan {
        &self.scan
    }

    /// Which of its host's databases it is of.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    pub fn options(&self) -> &Options {
        &self.options
    }

    pub fn artefacts(&self) -> &Artefacts {
        &self.artefacts
    }

    /// To be used after the snapshot.
    pub fn shared_artefacts(&self) -> Arc<Artefacts> {
        Arc::clone(&self.artefacts)
    }

    pub fn gpu(&self) -> Gpu {
        self.gpu
    }

    pub fn file(&self, path: &Path) -> Option<SourceFile> {
        self.db.file(path)
    }

    pub fn line_index(&self, path: &Path) -> Option<&LineIndex> {
        Some(items::line_index(&self.db, self.file(path)?))
    }

    pub fn text(&self, path: &Path) -> Option<String> {
        Some(self.file(path)?.text(&self.db).clone())
    }
}

/// Catches a panic: one broken kernel must not cost the others. A cancelled read goes on unwinding.
pub fn guarded<T>(read: impl FnOnce() -> T) -> Result<T, String> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(read)).map_err(|payload| {
        if payload.is::<salsa::Cancelled>() {
            std::panic::resume_unwind(payload);
        }
        let text = payload.downcast_ref::<&str>().map(|s| (*s).to_owned());
        text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_else(|| "unknown".to_owned())
    })
}

#[cfg(test)]
mod tests;
