//! Running a launch: make its tensors, launch, look at what changed, verify.
//!
//! **Invariant:** inputs are made once and every device starts from the same bytes; a comparison is with a reference in `f64` on the values
//! the inputs really hold, in the norm ‖out − ref‖₂ / ‖ref‖₂ ≤ 4·eps·√(longest reduction); integers must agree exactly.

mod compare;
mod live;
mod memory;
mod observed;
mod program;
mod report;
mod sanitize;
mod tune;

use std::{
    cell::RefCell,
    collections::HashSet,
    io,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use smol_str::SmolStr;
use tritium_codegen::{self as codegen, CompileOptions};
use tritium_semantics::{
    Chosen, Database, Instance, SourceFile,
    diagnostics::Severity,
    host, items,
    launch::{self, Launch, LaunchArg, LaunchPlace, LaunchProblem},
    project,
    specialise::{run_time_values, specialise},
    target::{Gpu, MAX_PROGRAMS_YZ},
};
use tritium_tile::{Module, Type};

pub use live::{
    Live, LiveArgument, LiveCompiled, LiveConst, LiveFinding, LiveKernel, LiveLaunch, LiveOutcome, LiveProblem, LiveView,
    Original, Prepared, Slot,
};
pub use observed::{Observed, observe};
pub use report::{CheckReport, Comparison, LaunchReport, Output, Refusal, Report, Unwritten, Worst};
pub use sanitize::{CheckedLaunch, Findings, Found, Place, sanitize};
pub(crate) use tune::each;
pub use tune::tune;

use self::{
    compare::{Ran, Rounding, longest_reduction},
    sanitize::Collected,
    tune::Trials,
};
use crate::{
    bundle::{Beside, FileSource},
    device::{DeviceError, DeviceName, LaunchValue, Stores, cpu, cuda},
    exact,
    exec::{Job, Task, Verify},
    store::Store,
    tensor::Tensor,
    timing::{self, Timing},
    watch::{self, Stopped, Watched},
    worker::{self, Pool, PtxRequest},
};

/// CUDA's bound on the programs along x; along y and z it is [`MAX_PROGRAMS_YZ`].
const MAX_PROGRAMS_X: u64 = (1 << 31) - 1;

/// A file by itself, as a run sees it.
pub fn open(path: &Path, text: String, chosen: Chosen, files: &FileSource) -> (Database, SourceFile) {
    let mut db = Database::new(files.system());
    db.choose(chosen);
    let file = db.set_text(path, text);
    (db, file)
}

/// What a run reads beside its job, and where the tensors go that it saves.
pub struct Site<'a> {
    pub files: FileSource,
    pub save: &'a dyn Fn(&Path, &Tensor) -> io::Result<()>,
}

/// A launch that any device can run: the kernel free of errors, and the values of its run-time parameters in order.
pub struct Ready {
    pub instance: Instance,
    pub module: Module,
    pub values: Vec<LaunchValue>,
}

pub fn prepare(db: &Database, launch: &Launch) -> Result<Ready, Refusal> {
    let (instance, module) = elaborated(db, launch)?;
    let values = launch_values(db, launch, &module)?;
    Ok(Ready { instance, module, values })
}

/// Why a job has no report.
#[derive(Debug, Clone, PartialEq)]
pub enum Ended {
    Refused(Refusal),
    Stopped(Stopped),
}

impl From<Refusal> for Ended {
    fn from(refusal: Refusal) -> Ended {
        Ended::Refused(refusal)
    }
}

/// A job under way: what all of its launches share.
struct Run<'a> {
    job: &'a Job,
    db: &'a Database,
    file: SourceFile,
    device: DeviceName,
    gpu: Gpu,
    watched: &'a Watched,
    memory_bytes: u64,
    doing: Doing<'a>,
    site: &'a Site<'a>,
    /// Launches that have been timed.
    timed: RefCell<HashSet<(SmolStr, Option<u32>)>>,
}

/// What is done with the launches of a job.
#[derive(Clone, Copy)]
enum Doing<'a> {
    /// They run, and are timed where the job asks for it.
    Run,
    /// They run under checks: what these find.
    Check(&'a RefCell<Collected>),
    /// Rows of their tuners are tried.
    Tune(&'a Trials),
}

/// Runs a job's launches in this process.
pub fn run(job: &Job, site: &Site, watched: &Watched) -> Result<Report, Ended> {
    all(job, site, watched, Doing::Run)
}

fn all(job: &Job, site: &Site, watched: &Watched, doing: Doing<'_>) -> Result<Report, Ended> {
    let _span = tracing::info_span!("run", file = %job.path.display(), device = job.device).entered();
    let device = DeviceName::parse(&job.device)
        .ok_or_else(|| Refusal::new(format!("`{}` is not a device; `cpu`, `sim` and `cuda:0` are", job.device)))?;
    let memory_bytes = job.limits.memory();
    if !matches!(device, DeviceName::Cuda(_)) {
        watch::refuse_beyond(memory_bytes);
    }
    watched.enter(format!("the launches of {}", job.path.display()));
    let (db, file) = open(&job.path, job.text.clone(), job.chosen.clone(), &site.files);
    let project = project::project(&db, file);
    if let Some(name) = job.chosen.gpu.as_ref().filter(|name| Gpu::find_among(name, &project.config.boards).is_none()) {
        return Err(Ended::Refused(Refusal::new(format!("unknown GPU `{name}`"))));
    }
    let gpu = project.target();
    let run = Run { job, db: &db, file, device, gpu, watched, memory_bytes, doing, site, timed: RefCell::default() };
    let chosen = run.chosen()?;
    let host = host::host_launches(&db, file);
    let has_reference = chosen.iter().any(|index| !run.with_expect(*index).expect.is_empty()) || !host.program.checks.is_empty();
    if job.verify == Verify::Required && device == DeviceName::Cpu && !has_reference {
        return Err(Ended::Refused(Refusal::new(
            "nothing to verify against: on the CPU device a launch needs a reference: `torch.testing.assert_close(y, torch.softmax(x, 1))` in \
             the file, `expect = { Y = \"softmax(X, axis=1)\" }` in its block, or `--expect 'Y=softmax(X, axis=1)'`",
        )));
    }
    let report = |launches, checks| Report {
        version: 1,
        file: job.path.clone(),
        entered: None,
        launches,
        checks,
        checked: device.checks().to_owned(),
    };
    let of_host = launch::launches(&db, file).launches.len() - host.found.launches.len();
    if let Doing::Tune(trials) = doing {
        run.try_rows(&chosen, of_host, &host.program, trials)?;
        return Ok(report(vec![], vec![]));
    }
    let (mut launches, mut of_program) = (Vec::new(), Vec::new());
    for index in chosen {
        match index.checked_sub(of_host) {
            Some(index) => of_program.push(index),
            None => {
                let launch = run.with_expect(index);
                let before = match run.made(&launch) {
                    // Others may be checked all the same.
                    Err(refusal) if matches!(doing, Doing::Check(_)) => {
                        launches.push(LaunchReport::of(&db, &launch, device.to_string(), Some(refusal.message)));
                        continue;
                    }
                    before => before?,
                };
                launches.push(run.launch(&launch, &launch.tensors, before)?.report);
            }
        }
    }
    let checks = match of_program.is_empty() {
        true => vec![],
        false => run.program(&host.program, of_host, &of_program, &mut launches)?,
    };
    Ok(report(launches, checks))
}

/// A launch on a device.
struct Done {
    seconds: f64,
    timing: Option<Timing>,
    stores: Stores,
}

/// A launch that has run, or faulted.
struct Launched {
    report: LaunchReport,
    /// What its memories hold after it.
    after: Option<Vec<Tensor>>,
    reduction: u64,
    rounding: Rounding,
}

impl Run<'_> {
    /// Those that the job names: by name, and by the row of a tuning.
    fn chosen(&self) -> Result<Vec<usize>, Refusal> {
        let found = launch::launches(self.db, self.file);
        let name = self.job.launch.as_deref();
        // A launch that is named and understood runs, whatever is wrong with others.
        let is_wrong = |problem: &&LaunchProblem| {
            let is_meant = |name: &str| problem.launch.as_ref().is_none_or(|launch| launch::is_of(name, launch));
            problem.severity == Severity::Error && name.is_none_or(is_meant)
        };
        if let Some(problem) = found.problems.iter().find(is_wrong) {
            return Err(Refusal::new(not_understood(self.db, self.file, problem)));
        }
        if found.launches.is_empty() {
            let mut message = "this file launches nothing that can be evaluated".to_owned();
            if let Some(unknown) = found.unknown.first() {
                message += &format!(" ({})", unknown.reason);
            }
            return Err(Refusal::new(message + ". A launch block says what to run: see \"Launch blocks\" in the documentation"));
        }
        let row = self.job.chosen.config;
        let all = found.launches.iter().enumerate().collect();
        let chosen = launch::select(all, |(_, launch)| launch.id(), name, row).map_err(Refusal::new)?;
        Ok(chosen.into_iter().map(|(index, _)| index).collect())
    }

    /// A launch of the file with the references that the job adds.
    fn with_expect(&self, index: usize) -> Launch {
        let mut launch = launch::launches(self.db, self.file).launches[index].clone();
        launch.expect.extend(self.job.expect.iter().map(|(name, text)| (name.as_str().into(), text.clone())));
        launch
    }

    /// The tensors of a launch by itself.
    fn made(&self, launch: &Launch) -> Result<Vec<Tensor>, Refusal> {
        self.enter(launch, "making the tensors of");
        let refused = |message: String| Refusal::new(format!("{}: {message}", self.name_of(launch)));
        memory::room(launch, self.device, self.sides(), self.memory_bytes).map_err(refused)?;
        let made: Result<Vec<Tensor>, _> = launch.tensors.iter().map(|t| Tensor::make(t, self.beside())).collect();
        made.map_err(|error| refused(error.to_string()))
    }

    fn beside(&self) -> Beside<'_> {
        Beside { folder: self.job.directory(), files: &self.site.files }
    }

    /// How many devices run a launch.
    fn sides(&self) -> u64 {
        if self.job.verify == Verify::Never || self.device == DeviceName::Cpu { 1 } else { 2 }
    }

    /// `softmax.py:3: launch `rows``
    fn name_of(&self, launch: &Launch) -> String {
        let line = launch::line_of(self.db, self.file, launch).map_or_else(String::new, |line| format!(":{line}"));
        format!("{}{line}: launch `{}`", self.job.path.display(), launch.name)
    }

    fn enter(&self, launch: &Launch, doing: &str) {
        let kernel = launch.kernel.name(self.db);
        self.watched.enter(format!("{}, {doing} kernel `{kernel}`", self.name_of(launch)));
    }

    /// What a limit has stopped is told with the line that the programs had come to.
    fn stopped(&self, launch: &Launch, place: Option<(PathBuf, u32)>) -> Ended {
        let limit = self.watched.stopped().unwrap_or(watch::Limit::Seconds(self.job.limits.seconds));
        let line = place.map_or_else(|| self.job.path.display().to_string(), |(path, line)| format!("{}:{line}", path.display()));
        let place = format!("{line}, in kernel `{}` (launch `{}`)", launch.kernel.name(self.db), launch.name);
        Ended::Stopped(Stopped { limit, place: Some(place) })
    }
}

/// Which launch cannot be followed, where it stands, and why.
fn not_understood(db: &Database, file: SourceFile, problem: &LaunchProblem) -> String {
    let place = match &problem.place {
        // Its message names a line of its own.
        LaunchPlace::Sidecar => None,
        place => place.range(db, file).map(|range| format!("line {}: ", items::line_number(db, file, range.start))),
    };
    let place = place.unwrap_or_default();
    let launch = problem.launch.as_ref().map_or_else(|| "a launch of this file".to_owned(), |name| format!("launch `{name}`"));
    format!("{place}{launch} is not understood: {}", problem.message)
}

/// The kernel specialised for a launch, elaborated and free of errors.
fn elaborated(db: &Database, launch: &Launch) -> Result<(Instance, Module), Refusal> {
    let instance = specialise(db, launch);
    let elaborated = tritium_semantics::elaborate::elaborate(db, instance);
    let errors: Vec<String> = elaborated
        .problems
        .iter()
        .filter(|p| p.code.severity() == Severity::Error)
        .map(|p| format!("{}: {}", p.code.as_str(), p.message))
        .collect();
    if !errors.is_empty() || !elaborated.complete {
        let name = launch.kernel.name(db);
        let mut message = format!("`{name}` does not compile for launch `{}`", launch.name);
        for error in &errors {
            message += &format!("\n  {error}");
        }
        if let Some(gap) = tritium_semantics::check::first_unknown(db, elaborated).filter(|_| errors.is_empty()) {
            return Err(Refusal::kernel(format!("{message}\n  {gap}")));
        }
        return Err(Refusal::kernel(message + "\n`tritium check` shows where"));
    }
    Ok((instance, elaborated.module.clone()))
}

impl Run<'_> {
    /// `memories`: a tensor for each memory of the launch, whose contents `before` has.
    fn launch(&self, launch: &Launch, memories: &[launch::Tensor], before: Vec<Tensor>) -> Result<Launched, Ended> {
        if let Doing::Check(checks) = self.doing {
            return Ok(self.under_checks(launch, memories, before, checks));
        }
        let Run { job, db, device, .. } = *self;
        self.enter(launch, "understanding");
        let refused = |message: String| Refusal::new(format!("{}: {message}", self.name_of(launch)));
        let (instance, module) = elaborated(db, launch)?;
        let values = launch_values(db, launch, &module).map_err(|refusal| refused(refusal.message))?;
        let left_bytes = memory::room(launch, device, self.sides(), self.memory_bytes).map_err(refused)?;
        self.save(".in", &before)?;
        let mut after = before.clone();
        let (name, outcome) = match device {
            DeviceName::Cpu => ("cpu".to_owned(), self.on_cpu(&module, launch, &values, &mut after)),
            DeviceName::Sim => ("sim".to_owned(), self.on_sim(instance, launch, &values, &mut after)?),
            DeviceName::Cuda(n) => {
                let open = cuda::Cuda::open(n).map_err(|e| Refusal::new(e.to_string()))?;
                let name = open.name.clone();
                let target = Gpu::of_capability(open.compute_capability).unwrap_or(self.gpu);
                (name, self.on_cuda(&open, instance, target, launch, &values, &mut after)?)
            }
        };
        let mut report = LaunchReport::of(db, launch, name, None);
        let stores = match outcome {
            Ok(Done { seconds, timing, stores }) => {
                (report.seconds, report.timing) = (seconds, timing);
                stores
            }
            Err(DeviceError::Stopped { origin }) => return Err(self.stopped(launch, self.place_of(instance, origin))),
            Err(error) => {
                report.fault = Some(self.located(instance, &error));
                return Ok(Launched { report, after: None, reduction: 1, rounding: Rounding::default() });
            }
        };
        self.enter(launch, "looking at what was written by");
        self.save("", &after)?;
        let ran = Ran { launch, memories, before: &before, after: &after, stores: &stores };
        report.outputs = ran.outputs();
        let (reduction, rounding) = (longest_reduction(&module, launch), Rounding::of(&module));
        if job.verify == Verify::Never {
            return Ok(Launched { report, after: Some(after), reduction, rounding });
        }
        report.comparisons.extend(ran.expectations(reduction, left_bytes));
        let has_checks = !host::host_launches(db, self.file).program.checks.is_empty();
        if device == DeviceName::Cpu && launch.expect.is_empty() && !has_checks {
            report.note = Some("the launch has no reference: nothing is compared".to_owned());
        }
        if device != DeviceName::Cpu {
            let mut reference = before.clone();
            match self.on_cpu(&module, launch, &values, &mut reference) {
                Ok(Done { stores, .. }) => {
                    let cpu = Ran { launch, memories, before: &before, after: &reference, stores: &stores };
                    report.comparisons.extend(ran.against(&cpu, "the CPU device", rounding));
                }
                Err(DeviceError::Stopped { origin }) => return Err(self.stopped(launch, self.place_of(instance, origin))),
                Err(error) => report.fault = Some(format!("the CPU device, run for comparison: {error}")),
            }
            if job.verify == Verify::Required && report.comparisons.is_empty() && report.fault.is_none() {
                let nothing =
                    "nothing was compared: no tensor changed, here or on the CPU device, and the launch has no `expect`";
                report.fault = Some(nothing.to_owned());
            }
        }
        Ok(Launched { report, after: Some(after), reduction, rounding })
    }

    fn save(&self, suffix: &str, tensors: &[Tensor]) -> Result<(), Refusal> {
        let Some(folder) = &self.job.save else { return Ok(()) };
        for tensor in tensors {
            let path = folder.join(format!("{}{suffix}.npy", tensor.name));
            (self.site.save)(&path, tensor).map_err(|e| Refusal::new(format!("{}: {e}", path.display())))?;
        }
        Ok(())
    }

    /// A device's error with the line of the kernel it came from.
    fn located(&self, instance: Instance, error: &DeviceError) -> String {
        let DeviceError::Fault { origin, .. } = error else { return error.to_string() };
        match self.place_of(instance, *origin) {
            Some((path, line)) if path == self.job.path => format!("line {line}: {error}"),
            Some((path, line)) => format!("{}:{line}: {error}", path.display()),
            None => error.to_string(),
        }
    }

    /// The file and line that an operation comes from; a helper may stand in another file.
    fn place_of(&self, instance: Instance, origin: Option<u32>) -> Option<(PathBuf, u32)> {
        let place = tritium_semantics::elaborate::elaborate(self.db, instance).origins.get(origin? as usize)?.place;
        let (file, range) = tritium_semantics::places::range_of(self.db, place)?;
        let path = if file == self.file { self.job.path.clone() } else { file.path(self.db).to_path_buf() };
        Some((path, items::line_number(self.db, file, range.start)))
    }

    /// Whether a launch is timed: once, however often the program makes it.
    fn is_to_time(&self, launch: &Launch) -> bool {
        self.job.task == Task::Bench && self.timed.borrow_mut().insert((launch.name.clone(), launch.config))
    }

    fn bounds(&self) -> cpu::Bounds<'_> {
        cpu::Bounds { watched: Some(self.watched), memory_bytes: self.memory_bytes }
    }

    fn on_cpu(
        &self,
        module: &Module,
        launch: &Launch,
        values: &[LaunchValue],
        tensors: &mut [Tensor],
    ) -> Result<Done, DeviceError> {
        self.enter(launch, "running");
        let before = (self.job.task == Task::Bench).then(|| tensors.to_vec());
        let start = Instant::now();
        let stores = cpu::launch(module, launch.grid, values, tensors, self.bounds())?;
        let seconds = start.elapsed().as_secs_f64();
        let again = |before: &Vec<Tensor>| {
            let mut tensors = before.clone();
            cpu::launch(module, launch.grid, values, &mut tensors, self.bounds()).map(drop)
        };
        let timing = match before.filter(|_| self.device == DeviceName::Cpu && self.is_to_time(launch)) {
            Some(before) => Some(timing::by_clock(|| again(&before))?),
            None => None,
        };
        Ok(Done { seconds, timing, stores })
    }

    fn on_sim(
        &self,
        instance: Instance,
        launch: &Launch,
        values: &[LaunchValue],
        tensors: &mut [Tensor],
    ) -> Result<Result<Done, DeviceError>, Refusal> {
        self.enter(launch, "compiling");
        let options = CompileOptions::new(self.gpu.sm, launch.options);
        let module = codegen::optimised(self.db, instance, options).as_ref().map_err(|e| Refusal::kernel(e.message.clone()))?;
        self.enter(launch, "running");
        let start = Instant::now();
        let done = cpu::simulate(module, launch.grid, values, tensors, self.bounds());
        Ok(done.map(|stores| Done { seconds: start.elapsed().as_secs_f64(), timing: None, stores }))
    }

    fn on_cuda(
        &self,
        device: &cuda::Cuda,
        instance: Instance,
        gpu: Gpu,
        launch: &Launch,
        values: &[LaunchValue],
        tensors: &mut [Tensor],
    ) -> Result<Result<Done, DeviceError>, Refusal> {
        let refused = |message: String| Refusal::new(format!("{}: {message}", self.name_of(launch)));
        let grid = cuda_grid(launch.grid).map_err(refused)?;
        self.enter(launch, "compiling");
        let options = CompileOptions::new(gpu.sm, launch.options);
        let compiled = Compiler::new().and_then(|compiler| compiler.compile(self.db, instance, options)).map_err(|message| {
            Refusal::kernel(format!("{}: kernel `{}`: {message}", self.name_of(launch), launch.kernel.name(self.db)))
        })?;
        self.enter(launch, &format!("on {}, running", device.name));
        let mut attempt = || -> Result<Done, DeviceError> {
            let kernel = device.load(&compiled.image, &compiled.kernel, compiled.shared_bytes)?;
            let buffers = device.upload_all(tensors)?;
            let geometry = cuda::Geometry { grid, threads: launch.options.threads(), shared_bytes: compiled.shared_bytes };
            let maps = device.maps(compiled.behind(), geometry, &buffers, values)?;
            let start = Instant::now();
            device.launch(&kernel, geometry, &buffers, values, &maps)?;
            let seconds = start.elapsed().as_secs_f64();
            for (buffer, tensor) in buffers.iter().zip(tensors.iter_mut()) {
                device.download(buffer, &mut tensor.bytes)?;
            }
            let timing = match self.is_to_time(launch) {
                true => {
                    let launch = cuda::Prepared { kernel: &kernel, geometry, buffers: &buffers, args: values, maps: &maps };
                    Some(cuda::Stopwatch::new(device)?.time(launch)?)
                }
                false => None,
            };
            Ok(Done { seconds, timing, stores: Stores::Unseen })
        };
        Ok(attempt())
    }
}

/// The grid as the driver takes it.
fn cuda_grid(grid: [u64; 3]) -> Result<[u32; 3], String> {
    let mut out = [0; 3];
    for (i, (slot, extent)) in out.iter_mut().zip(grid).enumerate() {
        let most = if i == 0 { MAX_PROGRAMS_X } else { MAX_PROGRAMS_YZ };
        if !(1..=most).contains(&extent) {
            let axis = ["x", "y", "z"][i];
            return Err(format!("its grid has {extent} programs along {axis}; CUDA launches 1 to {most} there"));
        }
        *slot = extent as u32;
    }
    Ok(out)
}

/// The kernel's run-time parameters in order.
fn launch_values(db: &Database, launch: &Launch, module: &Module) -> Result<Vec<LaunchValue>, Refusal> {
    let entry = module.entry();
    let mut given = run_time_values(db, launch).into_iter();
    let value = |param: &tritium_tile::Param| {
        let ty = entry.ty(param.value);
        match given.next() {
            Some(LaunchArg::Tensor(index)) => {
                let tensor = &launch.tensors[index];
                let byte_offset = tensor.memory.offset * u64::from(tensor.dtype.bytes());
                Ok(LaunchValue::Tensor { index: tensor.memory.index, byte_offset })
            }
            Some(LaunchArg::Int(value)) => scalar_value(ty, value as f64, Some(value)),
            Some(LaunchArg::Float(value)) => scalar_value(ty, value, None),
            Some(LaunchArg::Bool(value)) => scalar_value(ty, f64::from(u8::from(value)), Some(i128::from(value))),
            Some(LaunchArg::None | LaunchArg::Tuple(_) | LaunchArg::Descriptor { .. }) | None => {
                Err(Refusal::new(format!("no value is given for `{}`", param.name)))
            }
        }
    };
    entry.params.iter().map(value).collect()
}

fn scalar_value(ty: &Type, float: f64, int: Option<i128>) -> Result<LaunchValue, Refusal> {
    let scalar = ty.elem().scalar().ok_or_else(|| Refusal::new("a number is given where the kernel wants a tensor"))?;
    let bytes = scalar.bytes();
    let bits = match scalar {
        s if s.is_int() => int.unwrap_or(float as i128) as u64,
        tritium_tile::Scalar::F16 => u64::from(half::f16::from_f64(float).to_bits()),
        tritium_tile::Scalar::BF16 => u64::from(half::bf16::from_f64(float).to_bits()),
        tritium_tile::Scalar::F32 => u64::from((float as f32).to_bits()),
        _ => float.to_bits(),
    };
    let mask = if bytes >= 8 { u64::MAX } else { (1 << (8 * bytes)) - 1 };
    Ok(LaunchValue::Scalar { bits: bits & mask, bytes })
}

/// A kernel ready to load.
pub struct Compiled {
    /// A cubin, or PTX where there is no ptxas (then the driver compiles it).
    pub image: Vec<u8>,
    pub ptx: String,
    pub kernel: String,
    pub shared_bytes: u32,
    /// Registers of a thread, and bytes that it spills, as ptxas says.
    pub registers: Option<(u32, u32)>,
    /// Bytes for each program of the grid, in memory that a launch gives behind the kernel's own parameters if there are any.
    pub scratch_bytes: u32,
    /// Parameters behind that.
    pub tensor_maps: Vec<codegen::tensor_map::TensorMap>,
}

impl Compiled {
    /// What a launch passes behind the kernel's own parameters.
    pub(crate) fn behind(&self) -> cuda::Behind<'_> {
        cuda::Behind { scratch_bytes: self.scratch_bytes, maps: &self.tensor_maps }
    }
}

/// What profilers and sanitizers read in code.
pub(crate) struct Naming {
    /// The kernel's name there; the function's own, if none is given.
    pub entry: Option<String>,
    /// What debug lines stand for; numbers of operations ([`codegen::source_lines`]), if nothing is given.
    pub lines: Option<codegen::SourceLines>,
}

/// What compiles for GPUs.
pub struct Compiler {
    pool: Pool,
    store: Store,
}

impl Compiler {
    pub fn new() -> Result<Compiler, String> {
        Ok(Compiler::with(worker::binary().map_err(|e| e.to_string())?, Store::open()))
    }

    /// With workers of this program.
    pub fn with(program: PathBuf, store: Store) -> Compiler {
        Compiler { pool: Pool::new(program).time_limit(Duration::from_secs(120)), store }
    }

    /// The message of an error is complete.
    pub fn compile(&self, db: &Database, instance: Instance, options: CompileOptions) -> Result<Compiled, String> {
        let naming = Naming { entry: None, lines: Some(codegen::source_lines(db, instance)) };
        self.compile_as(db, instance, options, &naming)
    }

    fn compile_as(
        &self,
        db: &Database,
        instance: Instance,
        options: CompileOptions,
        naming: &Naming,
    ) -> Result<Compiled, String> {
        let sm = options.sm;
        let llvm = codegen::llvm_text(db, instance, options).as_ref().map_err(|e| e.message.clone())?;
        let request =
            PtxRequest { llvm: &llvm.text, cpu: sm.ptx_target, features: sm.ptx_feature, passes: worker::passes_for(&llvm.text) };
        let mut compilation = exact::Compilation::new(&self.pool, &self.store);
        let mut ptx = compilation.ptx(&request).map_err(|e| e.to_string())?;
        let Naming { entry, lines } = naming;
        let kernel = entry.as_ref().unwrap_or(&llvm.kernel).clone();
        if kernel != llvm.kernel {
            ptx = ptx.replace(&format!(".entry {}(", llvm.kernel), &format!(".entry {kernel}("));
        }
        // Machine code is kept with numbers of operations. But an assertion that fails says its line itself.
        let placed = lines.as_ref().map(|lines| lines.in_ptx(&ptx).text);
        let kept = placed.as_ref().filter(|_| ptx.contains("__assertfail")).unwrap_or(&ptx);
        let assembled = compilation.code(&worker::ptxas::AssembleRequest { ptx: kept, sm: sm.ptx_target });
        let ptx = placed.unwrap_or(ptx);
        let (image, registers) = match assembled {
            Ok(code) => {
                let image = lines.as_ref().and_then(|lines| lines.in_cubin(&code.cubin)).unwrap_or(code.cubin);
                (image, Some((code.registers, code.spill_stores + code.spill_loads)))
            }
            Err(worker::WorkerError::Missing { .. }) => (ptx.clone().into_bytes(), None),
            Err(error) => return Err(error.to_string()),
        };
        let (scratch_bytes, tensor_maps) = (llvm.scratch_bytes, llvm.tensor_maps.clone());
        Ok(Compiled { image, ptx, kernel, shared_bytes: llvm.shared_bytes, registers, scratch_bytes, tensor_maps })
    }
}
