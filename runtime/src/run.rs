//! Running a launch: make its tensors, launch, look at what changed, verify.
//!
//! **Invariant:** inputs are made once and every device starts from the same bytes; a comparison is with a reference in `f64` on the values
//! the inputs really hold, in the norm ‖out − ref‖₂ / ‖ref‖₂ ≤ 4·eps·√(longest reduction); integers must agree exactly.

use std::{
    fmt, fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use ndarray::{ArrayD, IxDyn};
use serde::{Deserialize, Serialize};
use tritium_codegen as codegen;
use tritium_semantics::{
    Database, Instance, SourceFile,
    diagnostics::Severity,
    dtype::DType,
    items,
    launch::{self, Launch, LaunchArg, LaunchProblem},
    problem::At,
    specialise::specialise,
    target::Gpu,
};
use tritium_syntax::{Encoding, LineIndex, TextSize};
use tritium_tile::{Module, OpKind, Type};

use crate::{
    device::{DeviceError, DeviceName, LaunchValue, cpu, cuda},
    exact,
    exec::{Job, Verify},
    expect,
    files::Disk,
    store::Store,
    tensor::Tensor,
    worker::{self, Pool, PtxRequest},
};

/// What a run says: for people through `Display`, for scripts as JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    pub version: u32,
    pub file: PathBuf,
    pub launches: Vec<LaunchReport>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LaunchReport {
    pub launch: String,
    pub kernel: String,
    /// `cpu`, or the GPU's name.
    pub device: String,
    pub grid: [u64; 3],
    pub num_warps: u32,
    /// Seconds from launch to finish, copies not counted; on a GPU the first launch, not a benchmark.
    pub seconds: f64,
    /// Tensors the launch changed.
    pub outputs: Vec<Output>,
    pub comparisons: Vec<Comparison>,
    /// Of the tensors that neither changed nor were compared: nothing is said.
    pub fault: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Output {
    pub name: String,
    /// `f32[583, 931]`
    pub ty: String,
    pub min: f64,
    pub max: f64,
    pub mean: f64,
    /// Elements that are NaN, among them those never written.
    pub nan: u64,
    pub first: Vec<f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    pub tensor: String,
    /// What it was compared with: the `expect` expression, or `the CPU device`.
    pub reference: String,
    /// ‖out − ref‖₂ / ‖ref‖₂; for integers the number of elements that differ.
    pub error: f64,
    pub bound: f64,
    pub ok: bool,
    /// Where the largest difference is, and both values.
    pub worst: Option<Worst>,
    /// Why it could not be made, or what was assumed.
    pub note: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Worst {
    pub index: Vec<u64>,
    pub value: f64,
    pub reference: f64,
}

/// A run that could not be made: wrong use, or a kernel that does not compile.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Refusal {
    pub message: String,
    /// Wrong use of the program (exit 2), rather than a fault of the kernel (exit 1).
    pub usage: bool,
}

impl Refusal {
    pub fn new(message: impl Into<String>) -> Refusal {
        Refusal { message: message.into(), usage: true }
    }

    fn kernel(message: impl Into<String>) -> Refusal {
        Refusal { message: message.into(), usage: false }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Report {
    /// One line: the first fault or mismatch, else what was verified.
    pub fn summary(&self) -> String {
        let bad = |l: &&LaunchReport| l.fault.is_some() || l.comparisons.iter().any(|c| !c.ok);
        if let Some(launch) = self.launches.iter().find(bad) {
            if let Some(fault) = &launch.fault {
                return format!("{}: fault: {fault}", launch.launch);
            }
            let wrong = launch.comparisons.iter().find(|c| !c.ok);
            return wrong
                .map_or_else(String::new, |c| format!("{}: mismatch in {} against {}", launch.launch, c.tensor, c.reference));
        }
        let of = |l: &LaunchReport| {
            let verified: Vec<String> =
                l.comparisons.iter().map(|c| format!("verified {}, relative error {:.1e}", c.tensor, c.error)).collect();
            if verified.is_empty() {
                format!("{}: ran, nothing compared", l.launch)
            } else {
                format!("{}: {}", l.launch, verified.join(", "))
            }
        };
        self.launches.iter().map(of).collect::<Vec<_>>().join("; ")
    }

    /// Nothing faulted and every comparison held.
    pub fn ok(&self) -> bool {
        self.launches.iter().all(|l| l.fault.is_none() && l.comparisons.iter().all(|c| c.ok))
    }
}

/// A file by itself, as a run sees it.
pub fn open(path: &Path, text: String, triton: &str, gpu: &str) -> (Database, SourceFile) {
    let mut db = Database::new(Arc::new(Disk));
    db.set_triton(triton);
    db.set_gpu(gpu);
    let file = db.set_text(path, text);
    (db, file)
}

/// A launch that any device can run: the kernel free of errors, and the values of its run-time parameters in order.
pub struct Ready {
    pub instance: Instance,
    pub module: Module,
    pub values: Vec<LaunchValue>,
}

pub fn prepare(db: &Database, launch: &Launch) -> Result<Ready, Refusal> {
    let (instance, module) = elaborated(db, launch)?;
    let values = launch_values(launch, &module)?;
    Ok(Ready { instance, module, values })
}

/// Runs a job's launches in this process.
pub fn run(job: &Job) -> Result<Report, Refusal> {
    let _span = tracing::info_span!("run", file = %job.path.display(), device = job.device).entered();
    let device = DeviceName::parse(&job.device)
        .ok_or_else(|| Refusal::new(format!("`{}` is not a device; `cpu`, `sim` and `cuda:0` are", job.device)))?;
    let gpu = Gpu::find(&job.gpu).ok_or_else(|| Refusal::new(format!("unknown GPU `{}`", job.gpu)))?;
    let (db, file) = open(&job.path, job.text.clone(), &job.triton, &job.gpu);
    let mut launches = chosen(&db, file, job.launch.as_deref())?;
    launches.retain(|launch| job.config.is_none() || launch.config.is_none() || launch.config.map(|c| c as usize) == job.config);
    for launch in &mut launches {
        launch.expect.extend(job.expect.iter().map(|(name, text)| (name.as_str().into(), text.clone())));
    }
    if job.verify == Verify::Required && device == DeviceName::Cpu && launches.iter().all(|l| l.expect.is_empty()) {
        return Err(Refusal::new(
            "nothing to verify against: on the CPU device a launch needs a reference: `expect = { Y = \"softmax(X, axis=1)\" }` in its block, or \
             `--expect 'Y=softmax(X, axis=1)'`",
        ));
    }
    let mut reports = Vec::new();
    for launch in &launches {
        reports.push(run_launch(&db, launch, device, gpu, job)?);
    }
    Ok(Report { version: 1, file: job.path.clone(), launches: reports })
}

fn chosen(db: &Database, file: SourceFile, name: Option<&str>) -> Result<Vec<Launch>, Refusal> {
    let found = launch::launches(db, file);
    let is_wrong = |problem: &&LaunchProblem| {
        problem.severity == Severity::Error
            && name.is_none_or(|name| problem.launch.as_deref().is_none_or(|launch| launch == name))
    };
    if let Some(problem) = found.problems.iter().find(is_wrong) {
        return Err(Refusal::new(not_understood(db, file, problem)));
    }
    let names = || found.launches.iter().map(|l| l.name.as_str()).collect::<Vec<_>>().join(", ");
    match name {
        Some(name) => match found.launches.iter().find(|l| l.name == name) {
            Some(launch) => Ok(vec![launch.clone()]),
            None => Err(Refusal::new(format!("no launch `{name}` here; there are: {}", names()))),
        },
        None if found.launches.is_empty() => {
            let mut message = "this file launches nothing that can be evaluated".to_owned();
            if let Some(unknown) = found.unknown.first() {
                message += &format!(" ({})", unknown.reason);
            }
            Err(Refusal::new(message + ". A launch block says what to run: see \"Launch blocks\" in the documentation"))
        }
        None => Ok(found.launches.clone()),
    }
}

/// Which launch cannot be followed, where it stands, and why.
fn not_understood(db: &Database, file: SourceFile, problem: &LaunchProblem) -> String {
    let line = file.text(db).get(..problem.range.start).map_or(1, |before| before.matches('\n').count() + 1);
    // A problem of a `.launch.toml` names its own line.
    let place = if problem.range.is_empty() && problem.range.start == 0 { String::new() } else { format!("line {line}: ") };
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
        if let Some(gap) = tritium_semantics::check::gap(db, elaborated).filter(|_| errors.is_empty()) {
            return Err(Refusal::kernel(format!("{message}\n  {gap}")));
        }
        return Err(Refusal::kernel(message + "\n`tritium check` shows where"));
    }
    Ok((instance, elaborated.module.clone()))
}

fn run_launch(db: &Database, launch: &Launch, device: DeviceName, gpu: Gpu, job: &Job) -> Result<LaunchReport, Refusal> {
    let Ready { instance, module, values } = prepare(db, launch)?;
    let directory = job.path.parent().unwrap_or(Path::new("."));
    let inputs: Result<Vec<Tensor>, _> = launch.tensors.iter().map(|t| Tensor::make(t, directory)).collect();
    let inputs = inputs.map_err(|e| Refusal::new(e.to_string()))?;
    let save = |suffix: &str, tensors: &[Tensor]| -> Result<(), Refusal> {
        let Some(folder) = &job.save else { return Ok(()) };
        fs::create_dir_all(folder).map_err(|e| Refusal::new(format!("{}: {e}", folder.display())))?;
        for tensor in tensors {
            let path = folder.join(format!("{}{suffix}.npy", tensor.name));
            tensor.save_npy(&path).map_err(|e| Refusal::new(format!("{}: {e}", path.display())))?;
        }
        Ok(())
    };
    save(".in", &inputs)?;
    let mut tensors = inputs.clone();
    let (name, outcome) = match device {
        DeviceName::Cpu => ("cpu".to_owned(), run_cpu(&module, launch, &values, &mut tensors)),
        DeviceName::Sim => ("sim".to_owned(), run_sim(db, instance, gpu, launch, &values, &mut tensors)?),
        DeviceName::Cuda(n) => {
            let open = cuda::Cuda::open(n).map_err(|e| Refusal::new(e.to_string()))?;
            let name = open.name.clone();
            let target = Gpu::find(&format!("sm_{}{}", open.compute_capability.0, open.compute_capability.1)).unwrap_or(gpu);
            (name, run_cuda(db, &open, instance, target, launch, &values, &mut tensors)?)
        }
    };
    let mut report = LaunchReport {
        launch: launch.name.to_string(),
        kernel: launch.kernel.name(db).to_string(),
        device: name,
        grid: launch.grid,
        num_warps: launch.num_warps,
        seconds: 0.0,
        outputs: Vec::new(),
        comparisons: Vec::new(),
        fault: None,
    };
    match outcome {
        Ok(seconds) => report.seconds = seconds,
        Err(error) => {
            report.fault = Some(located(db, instance, &error));
            return Ok(report);
        }
    }
    save("", &tensors)?;
    let changed = |i: usize| tensors[i].bytes != inputs[i].bytes;
    report.outputs = (0..tensors.len()).filter(|&i| changed(i)).map(|i| summary(&tensors[i])).collect();
    if job.verify != Verify::Never {
        let reduction = longest_reduction(&module, launch);
        report.comparisons.extend(compare_with_expectations(launch, &inputs, &tensors, reduction));
        if device != DeviceName::Cpu {
            let mut reference = inputs.clone();
            match run_cpu(&module, launch, &values, &mut reference) {
                Ok(_) => {
                    let outputs = (0..tensors.len()).filter(|&i| changed(i) || reference[i].bytes != inputs[i].bytes);
                    report.comparisons.extend(outputs.map(|i| {
                        compare(
                            &tensors[i],
                            &reference[i].values(),
                            "the CPU device".to_owned(),
                            bound(tensors[i].dtype, reduction),
                        )
                    }));
                }
                Err(error) => report.fault = Some(format!("the CPU device, run for comparison: {error}")),
            }
        }
    }
    Ok(report)
}

/// A device's error with the line of the kernel it came from.
fn located(db: &Database, instance: Instance, error: &DeviceError) -> String {
    let line = || {
        let DeviceError::Fault { origin: Some(origin), .. } = error else { return None };
        let place = tritium_semantics::elaborate::elaborate(db, instance).origins.get(*origin as usize)?.place;
        let At::Expr(expr) = place.at else { return None };
        let (start, map) = items::source_map(db, place.function)?;
        let range = items::in_file(start, *map.exprs.get(expr.0 as usize)?);
        let index = LineIndex::new(place.function.file(db).text(db));
        Some(index.line_column(TextSize::try_from(range.start).ok()?, Encoding::CodePoints).line + 1)
    };
    line().map_or_else(|| error.to_string(), |line| format!("line {line}: {error}"))
}

/// The kernel's run-time parameters in order.
fn launch_values(launch: &Launch, module: &Module) -> Result<Vec<LaunchValue>, Refusal> {
    let entry = module.entry();
    // Both are in the order of the kernel's parameters; parts known at compile time are passed over.
    let mut parts = launch.parts().into_iter();
    let value = |param: &tritium_tile::Param| {
        let missing = || Refusal::new(format!("launch `{}` gives no value for `{}`", launch.name, param.name));
        let ty = entry.ty(param.value);
        match parts.find(|(name, _)| *name == param.name).ok_or_else(missing)?.1 {
            LaunchArg::Tensor(index) => Ok(LaunchValue::Tensor { index, byte_offset: 0 }),
            LaunchArg::Int(value) => scalar_value(ty, value as f64, Some(value)),
            LaunchArg::Float(value) => scalar_value(ty, value, None),
            LaunchArg::Bool(value) => scalar_value(ty, f64::from(u8::from(value)), Some(i128::from(value))),
            LaunchArg::None | LaunchArg::Tuple(_) | LaunchArg::Descriptor { .. } => Err(missing()),
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

fn run_cpu(module: &Module, launch: &Launch, values: &[LaunchValue], tensors: &mut [Tensor]) -> Result<f64, DeviceError> {
    let start = Instant::now();
    cpu::launch(module, launch.grid, values, tensors)?;
    Ok(start.elapsed().as_secs_f64())
}

fn run_sim(
    db: &Database,
    instance: Instance,
    gpu: Gpu,
    launch: &Launch,
    values: &[LaunchValue],
    tensors: &mut [Tensor],
) -> Result<Result<f64, DeviceError>, Refusal> {
    let options = codegen::Options::new(db, gpu.sm.name.to_owned(), launch.num_warps, launch.num_stages, launch.max_registers);
    let module = codegen::optimised(db, instance, options).as_ref().map_err(|e| Refusal::kernel(e.message.clone()))?;
    let start = Instant::now();
    let done = cpu::simulate(module, launch.grid, values, tensors);
    Ok(done.map(|()| start.elapsed().as_secs_f64()))
}

fn run_cuda(
    db: &Database,
    device: &cuda::Cuda,
    instance: Instance,
    gpu: Gpu,
    launch: &Launch,
    values: &[LaunchValue],
    tensors: &mut [Tensor],
) -> Result<Result<f64, DeviceError>, Refusal> {
    let compiled =
        compile(db, instance, gpu, (launch.num_warps, launch.num_stages, launch.max_registers)).map_err(Refusal::kernel)?;
    let mut attempt = || -> Result<f64, DeviceError> {
        let kernel = device.load(&compiled.image, &compiled.kernel, compiled.shared_bytes)?;
        let buffers = device.upload_all(tensors)?;
        let grid = launch.grid.map(|g| g.min(u64::from(u32::MAX)) as u32);
        let geometry = cuda::Geometry { grid, threads: launch.num_warps * 32, shared_bytes: compiled.shared_bytes };
        let maps = device.maps(&compiled.tensor_maps, &buffers, values)?;
        let start = Instant::now();
        device.launch(&kernel, geometry, &buffers, values, &maps)?;
        let seconds = start.elapsed().as_secs_f64();
        for (buffer, tensor) in buffers.iter().zip(tensors.iter_mut()) {
            device.download(buffer, &mut tensor.bytes)?;
        }
        Ok(seconds)
    };
    Ok(attempt())
}

/// A kernel ready to load.
pub struct Compiled {
    /// A cubin, or PTX where there is no ptxas (then the driver compiles it).
    pub image: Vec<u8>,
    pub kernel: String,
    pub shared_bytes: u32,
    /// Parameters behind the kernel's own.
    pub tensor_maps: Vec<codegen::tensor_map::TensorMap>,
}

/// Compiles for one GPU; the message of an error is complete.
pub fn compile(
    db: &Database,
    instance: Instance,
    gpu: Gpu,
    (num_warps, num_stages, max_registers): (u32, u32, Option<u32>),
) -> Result<Compiled, String> {
    let options = codegen::Options::new(db, gpu.sm.name.to_owned(), num_warps, num_stages, max_registers);
    let llvm = codegen::llvm_text(db, instance, options).as_ref().map_err(|e| e.message.clone())?;
    let pool = Pool::new(worker::binary().map_err(|e| e.to_string())?).time_limit(Duration::from_secs(120));
    let store = Store::open();
    let request =
        PtxRequest { llvm: &llvm.text, cpu: gpu.sm.ptx_target, features: gpu.sm.ptx_feature, passes: worker::LEAN_PASSES };
    let mut ptx = exact::compile_ptx(&pool, &store, &request).map_err(|e| e.to_string())?;
    // An assertion that fails says the line it has now.
    if ptx.contains("__assertfail") {
        ptx = codegen::source_lines(db, instance).in_ptx(&ptx).text;
    }
    let assembled = exact::compile_code(&store, &worker::ptxas::AssembleRequest { ptx: &ptx, sm: gpu.sm.ptx_target });
    let image = match assembled {
        Ok(code) => code.cubin,
        Err(worker::WorkerError::Missing { .. }) => ptx.into_bytes(),
        Err(error) => return Err(error.to_string()),
    };
    Ok(Compiled { image, kernel: llvm.kernel.clone(), shared_bytes: llvm.shared_bytes, tensor_maps: llvm.tensor_maps.clone() })
}

fn summary(tensor: &Tensor) -> Output {
    let values = tensor.values();
    let numbers = values.iter().copied().filter(|x| !x.is_nan());
    let (mut min, mut max, mut sum, mut count) = (f64::INFINITY, f64::NEG_INFINITY, 0.0, 0u64);
    for x in numbers {
        (min, max, sum, count) = (min.min(x), max.max(x), sum + x, count + 1);
    }
    // JSON has no infinities; a tensor of NaN alone has no extremes.
    let finite = |x: f64| if x.is_finite() { x } else { 0.0 };
    Output {
        name: tensor.name.clone(),
        ty: spelled(tensor),
        min: finite(min),
        max: finite(max),
        mean: if count == 0 { 0.0 } else { finite(sum / count as f64) },
        nan: values.len() as u64 - count,
        first: values.iter().copied().filter(|x| x.is_finite()).take(4).collect(),
    }
}

fn spelled(tensor: &Tensor) -> String {
    let dims: Vec<String> = tensor.shape.iter().map(u64::to_string).collect();
    format!("{}[{}]", tensor.dtype, dims.join(", "))
}

/// Elements that one output element may sum: the widest reduction or dot of the kernel, times the trips of the loops around it. Trips are
/// bounded by the largest extent of the launch's tensors, since a loop walks along one of them.
fn longest_reduction(module: &Module, launch: &Launch) -> u64 {
    let extent = launch.tensors.iter().flat_map(|t| &t.shape).copied().max().unwrap_or(1);
    let mut longest = 1;
    for function in &module.functions {
        let mut loops = false;
        function.walk(|_, op| {
            let op = function.op(op);
            let along = |operand: usize, axis: usize| u64::from(function.ty(op.operands[operand]).shape()[axis]);
            match &op.kind {
                OpKind::Reduce { axis } | OpKind::Scan { axis, .. } => longest = longest.max(along(0, usize::from(*axis))),
                OpKind::Dot { .. } | OpKind::Wgmma { .. } => {
                    // The inner extent; a batch may stand in front.
                    longest = longest.max(along(0, function.ty(op.operands[0]).shape().len() - 1));
                }
                OpKind::For(_) | OpKind::While => loops = true,
                _ => {}
            }
        });
        if loops {
            longest = longest.max(extent);
        }
    }
    longest
}

fn eps(dtype: DType) -> f64 {
    match dtype {
        DType::F8E4M3 => 2f64.powi(-3),
        DType::F8E5M2 => 2f64.powi(-2),
        DType::BF16 => 2f64.powi(-7),
        DType::F16 => 2f64.powi(-10),
        DType::F32 => f64::from(f32::EPSILON),
        DType::F64 => f64::EPSILON,
        _ => 0.0,
    }
}

fn bound(dtype: DType, longest_reduction: u64) -> f64 {
    4.0 * eps(dtype) * (longest_reduction as f64).sqrt()
}

fn compare_with_expectations(launch: &Launch, inputs: &[Tensor], outputs: &[Tensor], reduction: u64) -> Vec<Comparison> {
    let mut names = expect::Names::new();
    for tensor in inputs {
        let shape: Vec<usize> = tensor.shape.iter().map(|&d| d as usize).collect();
        if let Ok(array) = ArrayD::from_shape_vec(IxDyn(&shape), tensor.values()) {
            names.insert(tensor.name.clone(), array);
        }
    }
    for (name, arg) in launch.parts() {
        let value = match arg {
            LaunchArg::Int(value) => value as f64,
            LaunchArg::Float(value) => value,
            LaunchArg::Bool(_) | LaunchArg::Tensor(_) | LaunchArg::None | LaunchArg::Tuple(_) | LaunchArg::Descriptor { .. } => {
                continue;
            }
        };
        names.entry(name).or_insert_with(|| ArrayD::from_elem(IxDyn(&[]), value));
    }
    let one = |(name, text): (&smol_str::SmolStr, &String)| {
        let failed = |note: String| Comparison {
            tensor: name.to_string(),
            reference: text.clone(),
            error: 0.0,
            bound: 0.0,
            ok: false,
            worst: None,
            note: Some(note),
        };
        let Some(tensor) = outputs.iter().find(|t| t.name == *name) else {
            return failed(format!("this launch has no tensor `{name}`"));
        };
        let reference = match expect::evaluate(text, &names) {
            Ok(reference) => reference,
            Err(message) => return failed(message),
        };
        let shape: Vec<u64> = reference.shape().iter().map(|&d| d as u64).collect();
        if shape != tensor.shape {
            return failed(format!("the expression has shape {shape:?}, `{name}` has {:?}", tensor.shape));
        }
        let values: Vec<f64> = reference.iter().copied().collect();
        compare(tensor, &values, text.clone(), launch.tolerance.unwrap_or_else(|| bound(tensor.dtype, reduction)))
    };
    launch.expect.iter().map(one).collect()
}

fn compare(tensor: &Tensor, reference: &[f64], what: String, bound: f64) -> Comparison {
    let values = tensor.values();
    let exact = tensor.dtype.is_int();
    let (mut difference, mut norm, mut differing) = (0.0f64, 0.0f64, 0u64);
    let mut worst: Option<(usize, f64)> = None;
    for (i, (&value, &expected)) in values.iter().zip(reference).enumerate() {
        // Equal infinities agree; a NaN agrees with a NaN only.
        let delta = if value == expected || (value.is_nan() && expected.is_nan()) { 0.0 } else { (value - expected).abs() };
        let delta = if delta.is_nan() { f64::INFINITY } else { delta };
        if delta > 0.0 {
            differing += 1;
            if worst.is_none_or(|(_, d)| delta > d) {
                worst = Some((i, delta));
            }
        }
        difference += delta * delta;
        norm += if expected.is_finite() { expected * expected } else { 0.0 };
    }
    let error = match exact {
        true => differing as f64,
        false if difference == 0.0 => 0.0,
        false if norm == 0.0 => difference.sqrt(),
        false => (difference / norm).sqrt(),
    };
    let bound = if exact { 0.0 } else { bound };
    let finite = |x: f64| if x.is_finite() { x } else { f64::MAX.copysign(if x.is_nan() { 1.0 } else { x }) };
    Comparison {
        tensor: tensor.name.clone(),
        reference: what,
        error: finite(error),
        bound,
        ok: error <= bound,
        worst: worst.map(|(i, _)| Worst {
            index: index_of(i as u64, &tensor.shape),
            value: finite(values[i]),
            reference: finite(reference[i]),
        }),
        note: None,
    }
}

fn index_of(mut flat: u64, shape: &[u64]) -> Vec<u64> {
    let mut index: Vec<u64> = shape
        .iter()
        .rev()
        .map(|&extent| {
            let i = flat % extent.max(1);
            flat /= extent.max(1);
            i
        })
        .collect();
    index.reverse();
    index
}

/// Six digits that matter: `0.0637309`, `4.61e-6`, `1024`.
fn short(x: f64) -> String {
    if x != 0.0 && !(1e-4..1e7).contains(&x.abs()) {
        return format!("{x:.2e}");
    }
    let before = x.abs().max(1.0).log10() as usize;
    let text = format!("{x:.*}", 6usize.saturating_sub(before));
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, launch) in self.launches.iter().enumerate() {
            if i > 0 {
                writeln!(f)?;
            }
            write!(f, "{launch}")?;
        }
        Ok(())
    }
}

impl fmt::Display for LaunchReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Trailing axes of extent 1 say nothing.
        let axes = self.grid.iter().rposition(|&n| n != 1).map_or(1, |last| last + 1);
        let grid: Vec<String> = self.grid[..axes].iter().map(u64::to_string).collect();
        let grid = grid.join("×");
        write!(f, "{}  {} on {}, {grid} programs of {} warps", self.launch, self.kernel, self.device, self.num_warps)?;
        if let Some(fault) = &self.fault {
            writeln!(f, "\n  FAULT  {fault}")?;
            return Ok(());
        }
        writeln!(f, ", {:.1} ms", self.seconds * 1e3)?;
        // The verdict is what the run was made for, so it stands before the numbers.
        for c in &self.comparisons {
            let verdict = if c.ok { "verified" } else { "MISMATCH" };
            match &c.note {
                Some(note) => writeln!(f, "  {verdict}  {} against {}: {note}", c.tensor, c.reference)?,
                None => {
                    writeln!(
                        f,
                        "  {verdict}  {} against {}: relative error {:.2e}, allowed {:.2e}",
                        c.tensor, c.reference, c.error, c.bound
                    )?;
                }
            }
            if let (false, Some(worst)) = (c.ok, &c.worst) {
                writeln!(f, "     worst at {:?}: {} instead of {}", worst.index, worst.value, worst.reference)?;
            }
        }
        for output in &self.outputs {
            let first: Vec<String> = output.first.iter().map(|&x| short(x)).collect();
            let (min, max, mean) = (short(output.min), short(output.max), short(output.mean));
            writeln!(f, "  {}  {}", output.name, output.ty)?;
            writeln!(f, "     min {min}  max {max}  mean {mean}  first {} …", first.join(" "))?;
            if output.nan > 0 {
                writeln!(f, "     {} elements are NaN (an element that was never written is NaN)", output.nan)?;
            }
        }
        Ok(())
    }
}
