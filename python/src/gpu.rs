//! Kernels of the running program on its GPU: compiled in the background, loaded into its context, launched on its streams.

use std::sync::Arc;

use pyo3::{
    Borrowed, create_exception,
    exceptions::{PyException, PyRuntimeError, PyTypeError, PyValueError},
    intern,
    prelude::*,
    types::{PyBool, PyBytes, PyDict, PyInt, PyTuple},
};
use tritium_runtime::{
    device::cuda::{Geometry, Passed, Resident, Ways, device_address, enter_any_context},
    run::{LiveArgument, LiveCompiled, LiveKernel, Slot},
};
use tritium_semantics::{dtype::DType, launch::LaunchOptions, target};

use crate::values::{constant, parts};

/// What Python asks to compile.
pub(crate) struct KernelRequest(pub(crate) LiveKernel);

impl<'py> FromPyObject<'_, 'py> for KernelRequest {
    type Error = PyErr;

    fn extract(request: Borrowed<'_, 'py, PyAny>) -> PyResult<KernelRequest> {
        let request = request.cast::<PyDict>()?;
        let get = |name: &str| request.get_item(name)?.ok_or_else(|| PyValueError::new_err(format!("a kernel needs `{name}`")));
        let arguments = get("arguments")?.extract::<Vec<Bound<'py, PyTuple>>>()?;
        let (num_warps, num_stages, max_registers) = get("options")?.extract()?;
        let sm: String = get("sm")?.extract()?;
        Ok(KernelRequest(LiveKernel {
            module: get("module")?.extract()?,
            kernel: get("kernel")?.extract()?,
            arguments: arguments.iter().map(argument).collect::<PyResult<_>>()?,
            options: LaunchOptions { num_warps, num_stages, max_registers },
            sm: target::sm(&sm).ok_or_else(|| PyValueError::new_err(format!("`{sm}` is an architecture that is not known")))?,
            name: get("name")?.extract()?,
            has_lines: get("lines")?.extract()?,
            assertions: get("assertions")?.extract()?,
            fp32_default: get("fp32_default")?.extract()?,
        }))
    }
}

/// `("typed", "*fp16:16")`, `("tuple", […])`, or a constant.
fn argument(value: &Bound<'_, PyTuple>) -> PyResult<LiveArgument> {
    let (kind, held) = parts(value)?;
    Ok(match kind.as_str() {
        "typed" => LiveArgument::Typed(held.extract()?),
        "arguments" => {
            LiveArgument::Tuple(held.extract::<Vec<Bound<'_, PyTuple>>>()?.iter().map(argument).collect::<PyResult<_>>()?)
        }
        _ => LiveArgument::Const(constant(value)?),
    })
}

/// Machine code, not loaded yet.
#[pyclass(frozen)]
pub(crate) struct Compiled(pub(crate) Arc<LiveCompiled>);

#[pymethods]
impl Compiled {
    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    /// A cubin, or PTX where there is no ptxas.
    #[getter]
    fn image<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.image)
    }

    #[getter]
    fn is_cubin(&self) -> bool {
        self.0.is_cubin
    }

    #[getter]
    fn ptx(&self) -> &str {
        &self.0.ptx
    }

    #[getter]
    fn llvm(&self) -> &str {
        &self.0.llvm
    }

    /// What Triton would warn of, as JSON.
    #[getter]
    fn warnings(&self) -> PyResult<String> {
        serde_json::to_string(&self.0.warnings).map_err(|error| PyRuntimeError::new_err(error.to_string()))
    }

    /// How long making it took, beside others that were made at the same time.
    #[getter]
    fn seconds(&self) -> f64 {
        self.0.taken.as_secs_f64()
    }

    /// Dynamic shared memory of a CTA, in bytes.
    #[getter]
    fn shared(&self) -> u32 {
        self.0.shared_bytes
    }

    /// Bytes for each program of a grid, in memory that a launch gives.
    #[getter]
    fn scratch(&self) -> u32 {
        self.0.scratch_bytes
    }

    /// Tensor maps that its launcher makes: parameters behind those of the function.
    #[getter]
    fn tensor_maps(&self) -> usize {
        self.0.tensor_maps.len()
    }

    /// Whether it uses what atomic operations of a tile give back, whose order nobody promises.
    #[getter]
    fn uses_atomic_results(&self) -> bool {
        self.0.uses_atomic_results
    }

    /// How far results of a type may lie from another compiler's, as ‖a − b‖₂ / ‖b‖₂, where `extent` is the largest of a tensor's axis; `None`
    /// of a type that Triton does not have.
    fn bound(&self, dtype: &str, extent: u64) -> Option<f64> {
        DType::from_name(dtype).map(|dtype| self.0.bound(dtype, extent))
    }

    /// Loads it into the context that is current on this thread.
    fn load(&self, num_warps: u32, cooperative: bool, programmatic: bool) -> PyResult<Launcher> {
        enter_any_context().map_err(driver_error)?;
        let code = Arc::clone(&self.0);
        let kernel = Resident::load(&code.image, &code.name, code.shared_bytes).map_err(driver_error)?;
        Ok(Launcher { code, kernel, threads: 32 * num_warps, ways: Ways { cooperative, programmatic } })
    }
}

create_exception!(
    tritium,
    PaddingError,
    PyException,
    "A descriptor reads another value beyond its end than the kernel was compiled for."
);

/// A loaded kernel. A call launches it: three extents of the grid, stream, then what Triton passes to every launcher, then the arguments. `scratch` is
/// memory for all programs of the grid, if the kernel needs some.
#[pyclass(frozen)]
pub(crate) struct Launcher {
    code: Arc<LiveCompiled>,
    kernel: Resident,
    threads: u32,
    ways: Ways,
}

/// Three extents of the grid, stream, function, packed metadata, launch metadata, two hooks.
const BEFORE_ARGUMENTS: usize = 9;

#[pymethods]
impl Launcher {
    #[getter]
    fn registers(&self) -> u32 {
        self.kernel.registers
    }

    /// Bytes of local memory that a thread owns.
    #[getter]
    fn local_bytes(&self) -> u32 {
        self.kernel.local_bytes
    }

    #[getter]
    fn max_threads(&self) -> u32 {
        self.kernel.max_threads
    }

    #[getter]
    fn function(&self) -> u64 {
        self.kernel.handle()
    }

    #[pyo3(signature = (*call, scratch=None))]
    fn __call__(&self, py: Python<'_>, call: &Bound<'_, PyTuple>, scratch: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        if call.len() != BEFORE_ARGUMENTS + self.code.slots.len() {
            let wanted = self.code.slots.len();
            return Err(PyTypeError::new_err(format!(
                "the kernel takes {wanted} arguments, {} are given",
                call.len() - BEFORE_ARGUMENTS
            )));
        }
        let item = |at: usize| call.get_borrowed_item(at);
        let grid = [extent(item(0)?)?, extent(item(1)?)?, extent(item(2)?)?];
        let (metadata, enter, exit) = (item(6)?, item(7)?, item(8)?);
        if is_hooked(&enter) {
            enter.call1((metadata,))?;
        }
        if !grid.contains(&0) {
            let stream: u64 = item(3)?.extract()?;
            enter_any_context().map_err(driver_error)?;
            let mut words = Vec::with_capacity(self.code.sizes.len());
            for (at, slot) in self.code.slots.iter().enumerate() {
                add(slot, &call.get_item(BEFORE_ARGUMENTS + at)?, at, &mut words)?;
            }
            let scratch = match scratch {
                Some(memory) => Some(pointer(memory, self.code.slots.len())?),
                None if self.code.scratch_bytes > 0 => return Err(PyTypeError::new_err("the kernel needs scratch")),
                None => None,
            };
            let geometry = Geometry { grid, threads: self.threads, shared_bytes: self.code.shared_bytes };
            let passed = Passed { scratch, maps: &self.code.tensor_maps };
            // A full queue makes the driver wait.
            let launched = py.detach(|| self.kernel.launch(geometry, stream, &mut words, &self.code.sizes, passed, self.ways));
            launched.map_err(driver_error)?;
        }
        if is_hooked(&exit) {
            exit.call1((metadata,))?;
        }
        Ok(())
    }
}

/// Whether somebody wants to hear of launches. Triton's chains of hooks are there also when they are empty.
fn is_hooked(hook: &Borrowed<'_, '_, PyAny>) -> bool {
    if hook.is_none() {
        return false;
    }
    let calls = hook.getattr(intern!(hook.py(), "calls")).and_then(|calls| calls.len());
    calls.map_or(true, |calls| calls > 0)
}

fn extent(value: Borrowed<'_, '_, PyAny>) -> PyResult<u32> {
    let extent: i64 = value.extract()?;
    u32::try_from(extent.max(0)).map_err(|_| PyValueError::new_err(format!("a grid cannot have {extent} programs along an axis")))
}

/// Programs look for these words.
fn driver_error(error: impl std::fmt::Display) -> PyErr {
    PyRuntimeError::new_err(format!("Triton Error [CUDA]: {error}"))
}

/// An argument as the parameters that it fills; `at` is its place.
fn add(slot: &Slot, value: &Bound<'_, PyAny>, at: usize, words: &mut Vec<u64>) -> PyResult<()> {
    let py = value.py();
    match slot {
        Slot::Skip => {}
        Slot::Pointer => words.push(pointer(value, at)?),
        Slot::Int => words.push(integer(value)?),
        Slot::Float(dtype) => {
            let value: f64 = value.extract()?;
            words.push(match dtype {
                DType::F16 => u64::from(half::f16::from_f64(value).to_bits()),
                // Triton cuts off what does not fit.
                DType::BF16 => u64::from((value as f32).to_bits() >> 16),
                DType::F32 => u64::from((value as f32).to_bits()),
                _ => value.to_bits(),
            });
        }
        Slot::Tuple(items) => {
            for (slot, value) in items.iter().zip(value.try_iter()?) {
                add(slot, &value?, at, words)?;
            }
        }
        Slot::Descriptor { rank, nan } => {
            if (value.getattr(intern!(py, "padding"))?.extract::<String>()? == "nan") != *nan {
                return Err(PaddingError::new_err("the descriptor's padding is not the one that was compiled in"));
            }
            words.push(pointer(&value.getattr(intern!(py, "base"))?, at)?);
            for extent in value.getattr(intern!(py, "shape"))?.try_iter()?.take(*rank) {
                words.push(integer(&extent?)?);
            }
            for stride in value.getattr(intern!(py, "strides"))?.try_iter()?.take(rank - 1) {
                words.push(integer(&stride?)?);
            }
        }
    }
    Ok(())
}

/// The low bits of an integer.
fn integer(value: &Bound<'_, PyAny>) -> PyResult<u64> {
    if let Ok(truth) = value.cast::<PyBool>() {
        return Ok(u64::from(truth.is_true()));
    }
    match value.extract::<i64>() {
        Ok(number) => Ok(number as u64),
        Err(_) => value.extract::<u64>(),
    }
}

/// `None`, an address, or what has one.
fn pointer(value: &Bound<'_, PyAny>, at: usize) -> PyResult<u64> {
    let py = value.py();
    if value.is_none() {
        return Ok(0);
    }
    if value.is_instance_of::<PyInt>() {
        return value.extract();
    }
    let address: u64 = match value.call_method0(intern!(py, "data_ptr")) {
        Ok(address) => address.extract()?,
        Err(error) => match value.getattr(intern!(py, "__cuda_array_interface__")) {
            Ok(interface) => interface.get_item("data")?.get_item(0)?.extract()?,
            Err(_) => return Err(error),
        },
    };
    device_address(address)
        .map_err(|_| PyValueError::new_err(format!("Pointer argument (at {at}) cannot be accessed from Triton (cpu tensor?)")))
}
