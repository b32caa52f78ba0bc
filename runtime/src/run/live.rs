//! Launches of a program that runs: kernels by their texts, on memory that somebody else holds.
//!
//! **Invariant:** a launch goes the way of one that stands in a file (specialise, elaborate, interpret); only where its arguments come from
//! differs. Memory is copied in before it and handed back after it, so nothing that a kernel does reaches what it was not given.

mod compile;

use std::{
    cell::RefCell,
    collections::BTreeMap,
    io::{self, ErrorKind},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use indexmap::IndexMap;
use serde::Serialize;
use smol_str::SmolStr;
use tritium_semantics::{
    Chosen, Database, FilePlace, Function, Instance, System, check,
    constant::Const,
    diagnostics::Severity,
    dtype::DType,
    elaborate::{Elaborated, elaborate},
    host::row_major,
    items,
    launch::{self, Init, Launch, LaunchArg, LaunchOptions, MemoryPlace, Tensor as Spec},
    places,
    problem::{self, Problem},
    project,
    specialise::specialise,
};

pub use self::compile::{LiveArgument, LiveCompiled, LiveKernel, Prepared, Slot};

use super::{Doing, Found, Run, Site, sanitize::Collected, sanitize::Place};
use crate::{
    bundle::FileSource,
    device::DeviceName,
    exec::{Job, Task, Verify},
    recorded::{Recorded, Recorder},
    tensor::Tensor,
    watch::{Limits, Watched},
};

/// Where the modules of a program lie. No disk has such a folder.
const FOLDER: &str = "/tritium-live";

/// Keys of a database (see [`Database::keys`]) after which a new one takes its place: a program that never ends may launch new
/// specialisations all the time.
const MAX_KEYS: usize = 1 << 20;

/// The kernels of a program.
pub struct Live {
    db: Database,
    modules: Arc<Modules>,
    device: DeviceName,
    recorder: Recorder,
}

/// A launch. `args` has a value for each run-time parameter and `meta` one for each compile-time parameter.
#[derive(Debug, Clone)]
pub struct LiveLaunch {
    pub module: String,
    pub kernel: String,
    /// The file that the kernel stands in, where the launch is to be recorded.
    pub record: Option<PathBuf>,
    pub grid: [u64; 3],
    pub args: IndexMap<SmolStr, LaunchArg>,
    pub meta: IndexMap<SmolStr, LiveConst>,
    pub options: LaunchOptions,
    /// How `f32` is multiplied where a product does not say.
    pub fp32_default: Option<String>,
    pub views: Vec<LiveView>,
    /// What is wrong although it runs is looked for.
    pub is_checked: bool,
}

/// A compile-time value.
#[derive(Debug, Clone)]
pub enum LiveConst {
    Plain(Const),
    /// By the module that it stands in.
    Function {
        module: String,
        name: String,
    },
    Tuple(Vec<LiveConst>),
}

/// A tensor argument: a part of a memory.
#[derive(Debug, Clone)]
pub struct LiveView {
    pub name: String,
    pub dtype: DType,
    pub shape: Vec<u64>,
    /// In elements.
    pub strides: Vec<u64>,
    pub memory: usize,
    /// From the start of the memory, in bytes.
    pub byte_offset: u64,
}

/// What came of a launch.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct LiveOutcome {
    /// Why the kernel does not compile.
    pub problems: Vec<LiveProblem>,
    /// Why it did not run, or not to its end.
    pub fault: Option<String>,
    pub findings: Vec<LiveFinding>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LiveProblem {
    pub code: String,
    pub message: String,
    pub place: Option<Place>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LiveFinding {
    #[serde(flatten)]
    pub found: Found,
    /// The message with the first element and how many there are.
    pub sentence: String,
}

impl LiveOutcome {
    fn fault(message: impl Into<String>) -> LiveOutcome {
        LiveOutcome { fault: Some(message.into()), ..LiveOutcome::default() }
    }
}

impl Live {
    /// `triton`: the version of the language, the project's own where nobody says.
    pub fn new(triton: Option<String>, device: DeviceName) -> Live {
        let modules = Arc::new(Modules::default());
        let mut db = Database::new(Arc::clone(&modules) as Arc<dyn System>);
        db.choose(Chosen { triton, ..Chosen::default() });
        Live { db, modules, device, recorder: Recorder::default() }
    }

    /// Makes a module known, before anything that imports it is launched. Its text never changes.
    pub fn add(&self, module: &str, text: String, original: Option<Original>) {
        self.modules.texts().insert(path_of(module), Module { text, original });
    }

    /// Lets go of all modules.
    pub fn clear(&mut self) {
        self.modules.texts().clear();
        self.db = self.db.renewed([]);
    }

    /// `memories` holds what the launch is given and, after it, what it has left. `watched` is how another thread ends it.
    pub fn launch(&mut self, launch: &LiveLaunch, memories: &mut Vec<Tensor>, watched: &Watched) -> LiveOutcome {
        self.renew_if_full();
        self.multiply_by_default(launch.fp32_default.as_deref());
        let (path, known) = match self.understood(launch, memories) {
            Ok(understood) => understood,
            Err(message) => return LiveOutcome::fault(message),
        };
        let outcome = self.run(&path, launch, &known, memories, watched);
        if let Some(file) = &launch.record
            && outcome.problems.is_empty()
            && let Some(block) = launch::spelled(&self.db, &known, "NAME", &[])
        {
            let found = outcome.findings.first().map(|finding| finding.sentence.clone());
            let wrong = found.or_else(|| outcome.fault.clone());
            self.recorder.add(file, Recorded::now(&launch.kernel, block, &self.device.to_string(), wrong));
        }
        outcome
    }

    /// Writes what is to be recorded and is held back.
    pub fn flush(&mut self) {
        self.recorder.flush();
    }

    fn renew_if_full(&mut self) {
        if self.db.keys() > MAX_KEYS {
            self.db = self.db.renewed([]);
        }
    }

    /// How `f32` is multiplied where a product does not say. Another word needs another database: who compiles holds on to the one there is.
    fn multiply_by_default(&mut self, fp32_default: Option<&str>) {
        if self.db.chosen().shell.fp32_default.as_deref() != fp32_default {
            let mut chosen = self.db.chosen().clone();
            chosen.shell.fp32_default = fp32_default.map(str::to_owned);
            self.db = self.db.renewed([]);
            self.db.choose(chosen);
        }
    }

    fn function(&self, module: &str, name: &str) -> Result<Function, String> {
        let file = tritium_semantics::Db::file(&self.db, &path_of(module));
        let functions = file.map(|file| &items::items(&self.db, file).functions);
        let is_it = |function: &&Function| function.name(&self.db) == name;
        let found = functions.and_then(|all| all.iter().map(|item| &item.function).find(is_it));
        found.copied().ok_or_else(|| format!("`{name}` is not found in its own text"))
    }

    fn constant(&self, value: &LiveConst) -> Result<Const, String> {
        Ok(match value {
            LiveConst::Plain(known) => known.clone(),
            LiveConst::Function { module, name } => Const::Function(self.function(module, name)?),
            LiveConst::Tuple(items) => Const::Tuple(items.iter().map(|item| self.constant(item)).collect::<Result<_, _>>()?),
        })
    }

    /// The launch as one that stands in a file.
    fn understood(&self, launch: &LiveLaunch, memories: &[Tensor]) -> Result<(PathBuf, Launch), String> {
        let tensors = launch.views.iter().map(|view| {
            let width = u64::from(view.dtype.bytes());
            let bytes = memories.get(view.memory).map_or(0, |memory| memory.bytes.len() as u64);
            if view.byte_offset % width != 0 {
                return Err(format!("`{}` does not begin at a multiple of its elements' {width} bytes", view.name));
            }
            let mut spec = Spec {
                name: view.name.as_str().into(),
                dtype: view.dtype,
                shape: view.shape.clone(),
                strides: view.strides.clone(),
                init: Init::Computed,
                memory: MemoryPlace { index: view.memory, offset: view.byte_offset / width, behind: 0 },
            };
            let end = spec.span().and_then(|span| span.checked_add(spec.memory.offset));
            let Some(behind) = end.and_then(|end| (bytes / width).checked_sub(end)) else {
                return Err(format!("the shape and strides of `{}` leave its memory", view.name));
            };
            spec.memory.behind = behind;
            Ok(spec)
        });
        let tensors: Vec<Spec> = tensors.collect::<Result<_, _>>()?;
        let meta = launch.meta.iter().map(|(name, value)| Ok((name.clone(), self.constant(value)?)));
        Ok((
            path_of(&launch.module),
            Launch {
                name: launch.kernel.as_str().into(),
                kernel: self.function(&launch.module, &launch.kernel)?,
                grid: launch.grid,
                args: launch.args.clone(),
                meta: meta.collect::<Result<_, String>>()?,
                options: launch.options,
                config: None,
                tensors,
                expect: IndexMap::new(),
                tolerance: None,
            },
        ))
    }

    fn run(
        &self,
        path: &Path,
        asked: &LiveLaunch,
        launch: &Launch,
        memories: &mut Vec<Tensor>,
        watched: &Watched,
    ) -> LiveOutcome {
        let problems = problems(&self.db, specialise(&self.db, launch));
        if !problems.is_empty() {
            return LiveOutcome { problems, ..LiveOutcome::default() };
        }
        let file = launch.kernel.file(&self.db);
        let limits = Limits::default();
        let job = Job {
            path: path.to_owned(),
            text: String::new(),
            task: if asked.is_checked { Task::Sanitize } else { Task::Run },
            launch: None,
            device: self.device.to_string(),
            verify: Verify::Never,
            save: None,
            chosen: self.db.chosen().clone(),
            expect: vec![],
            tune: crate::tune::TuneOptions::default(),
            limits,
            attended: false,
        };
        let site = Site { files: FileSource::Disk, save: &|_, _| Ok(()) };
        let checks = RefCell::<Collected>::default();
        let run = Run {
            job: &job,
            db: &self.db,
            file,
            device: self.device,
            gpu: project::project(&self.db, file).target(),
            watched,
            memory_bytes: limits.memory(),
            doing: if asked.is_checked { Doing::Check(&checks) } else { Doing::Run },
            site: &site,
            timed: RefCell::default(),
        };
        // A tensor for each memory, as all that looks at memories wants it.
        let specs: Vec<Spec> = memories.iter().enumerate().map(|(index, memory)| whole(index, memory)).collect();
        let outcome = run.launch(launch, &specs, std::mem::take(memories));
        let launched = match outcome {
            Ok(launched) => launched,
            Err(super::Ended::Refused(refusal)) => return LiveOutcome::fault(refusal.message),
            Err(super::Ended::Stopped(stopped)) => return LiveOutcome::fault(stopped.to_string()),
        };
        *memories = launched.after.unwrap_or_default();
        let findings = checks.into_inner().findings.into_iter();
        let findings = findings.map(|found| LiveFinding { sentence: found.sentence(), found });
        LiveOutcome { problems: vec![], fault: launched.report.fault, findings: findings.collect() }
    }
}

/// Why Triton would refuse the kernel, or what of it is not followed.
fn problems(db: &Database, instance: Instance) -> Vec<LiveProblem> {
    let elaborated = elaborate(db, instance);
    let mut told = told(db, elaborated, |problem| problem.severity() == Severity::Error);
    if told.is_empty() && !elaborated.complete {
        let gap = check::first_unknown(db, elaborated);
        told.push(LiveProblem {
            code: String::new(),
            message: gap.unwrap_or_else(|| "not all of the kernel is understood".to_owned()),
            place: elaborated.first_unknown.and_then(|place| place_of(db, place)),
        });
    }
    told
}

/// Those problems of a kernel that a test picks.
fn told(db: &Database, elaborated: &Elaborated, test: impl Fn(&Problem) -> bool) -> Vec<LiveProblem> {
    let told = elaborated.problems.iter().filter(|problem| test(problem)).map(|problem| LiveProblem {
        code: problem.code.as_str().to_owned(),
        message: problem.message.clone(),
        place: place_of(db, problem.place),
    });
    told.collect()
}

fn place_of(db: &Database, place: problem::Place) -> Option<Place> {
    let (file, range) = places::range_of(db, place)?;
    let line = items::line_number(db, file, range.start);
    Some(Place { file: file.path(db).to_path_buf(), start: range.start, end: range.end, line })
}

/// All of a memory, as a tensor of its launch.
fn whole(index: usize, memory: &Tensor) -> Spec {
    Spec {
        name: memory.name.as_str().into(),
        dtype: memory.dtype,
        shape: memory.shape.clone(),
        strides: row_major(&memory.shape),
        init: Init::Computed,
        memory: MemoryPlace { index, offset: 0, behind: 0 },
    }
}

fn path_of(module: &str) -> PathBuf {
    Path::new(FOLDER).join(format!("{module}.py"))
}

/// What a module has copied from a file of the program.
#[derive(Debug, Clone)]
pub struct Original {
    pub file: PathBuf,
    /// How many lines further down in the file.
    pub lines: i64,
    /// How many columns further right.
    pub columns: u32,
}

struct Module {
    text: String,
    original: Option<Original>,
}

/// The texts of a program's modules: a file system with nothing else.
#[derive(Default)]
struct Modules(Mutex<BTreeMap<PathBuf, Module>>);

impl Modules {
    fn texts(&self) -> MutexGuard<'_, BTreeMap<PathBuf, Module>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl System for Modules {
    fn read(&self, path: &Path) -> io::Result<String> {
        self.texts().get(path).map(|module| module.text.clone()).ok_or_else(|| ErrorKind::NotFound.into())
    }

    fn list(&self, _: &Path) -> io::Result<Vec<PathBuf>> {
        Err(ErrorKind::NotFound.into())
    }

    fn is_file(&self, path: &Path) -> bool {
        self.texts().contains_key(path)
    }

    fn original(&self, place: FilePlace) -> FilePlace {
        let texts = self.texts();
        let Some(original) = texts.get(&place.path).and_then(|module| module.original.as_ref()) else { return place };
        let line = u32::try_from(i64::from(place.line) + original.lines).unwrap_or(1).max(1);
        FilePlace { path: original.file.clone(), line, column: place.column + original.columns }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODULE: &str = "\
import triton
import triton.language as tl
from other import twice
@triton.jit
def kernel(X, Y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(Y + at, twice(tl.load(X + at, mask=at < n)))
";

    fn memory(name: &str, values: &[f64]) -> Tensor {
        Tensor::of_values(name, DType::F32, &[values.len() as u64], values)
    }

    fn launched(grid: u64, is_checked: bool) -> (LiveOutcome, Vec<Tensor>) {
        let mut live = Live::new(None, DeviceName::Cpu);
        live.add("other", "import triton\n@triton.jit\ndef twice(x):\n    return x + x\n".to_owned(), None);
        live.add("module", MODULE.to_owned(), None);
        let view = |memory: usize, name: &str| LiveView {
            name: name.to_owned(),
            dtype: DType::F32,
            shape: vec![6],
            strides: vec![1],
            memory,
            byte_offset: 0,
        };
        let launch = LiveLaunch {
            module: "module".to_owned(),
            kernel: "kernel".to_owned(),
            record: None,
            grid: [grid, 1, 1],
            args: [("X", LaunchArg::Tensor(0)), ("Y", LaunchArg::Tensor(1)), ("n", LaunchArg::Int(6))]
                .into_iter()
                .map(|(name, value)| (name.into(), value))
                .collect(),
            meta: [("BLOCK".into(), LiveConst::Plain(Const::Int(2)))].into_iter().collect(),
            options: LaunchOptions::default(),
            fp32_default: None,
            views: vec![view(0, "x"), view(1, "y")],
            is_checked,
        };
        let mut memories = vec![memory("x", &[1., 2., 3., 4., 5., 6.]), memory("y", &[0.; 6])];
        let outcome = live.launch(&launch, &mut memories, &Watched::default());
        (outcome, memories)
    }

    #[test]
    fn a_launch_leaves_its_results_in_the_memories() {
        for is_checked in [false, true] {
            let (outcome, memories) = launched(3, is_checked);
            assert_eq!(outcome, LiveOutcome::default());
            assert_eq!(memories[1].values(), [2., 4., 6., 8., 10., 12.]);
        }
    }

    #[test]
    fn a_store_outside_is_found_at_its_line() {
        let (outcome, memories) = launched(4, true);
        let found: Vec<(&str, u32)> = outcome
            .findings
            .iter()
            .map(|f| (f.found.code.as_str(), f.found.place.as_ref().map_or(0, |place| place.line)))
            .collect();
        assert_eq!(found, [("SAN001", 7)]);
        assert_eq!(memories[1].values(), [2., 4., 6., 8., 10., 12.]);
        let (outcome, _) = launched(4, false);
        assert!(outcome.fault.expect("it is a fault").contains("line 7"));
    }
}
