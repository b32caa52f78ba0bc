//! What Python says of a launch, as plain values: tuples that begin with the name of their kind.

use indexmap::IndexMap;
use pyo3::{
    Borrowed,
    exceptions::PyValueError,
    prelude::*,
    types::{PyDict, PyTuple},
};
use smol_str::SmolStr;
use tritium_runtime::{
    run::{LiveConst, LiveLaunch, LiveView},
    tensor::Tensor,
};
use tritium_semantics::{
    constant::{Const, Float},
    dtype::DType,
    launch::{LaunchArg, LaunchOptions},
};

/// A launch, and the memory that it is about.
pub(crate) struct Request {
    pub(crate) launch: LiveLaunch,
    pub(crate) memories: Vec<Memory>,
}

/// An allocation that Python keeps alive while it waits for the launch.
pub(crate) struct Memory {
    name: String,
    dtype: DType,
    address: usize,
    bytes: usize,
    is_writable: bool,
}

impl Memory {
    /// As a row of elements.
    pub(crate) fn read(&self) -> Tensor {
        let width = self.dtype.bytes() as usize;
        let bytes = self.bytes / width * width;
        // SAFETY: `launch.py` passes the address and size of an allocation whose owner it holds, and Python's lock is held: no
        // thread of Python's writes meanwhile.
        let held = match bytes {
            0 => vec![],
            _ => unsafe { std::slice::from_raw_parts(self.address as *const u8, bytes) }.to_vec(),
        };
        Tensor { name: self.name.clone(), dtype: self.dtype, shape: vec![(bytes / width) as u64], strides: vec![1], bytes: held }
    }

    /// Nothing is written where nothing has changed: what is only read may be memory that cannot be written.
    pub(crate) fn write(&self, new: &[u8]) -> PyResult<()> {
        if new.is_empty() || new == self.read().bytes {
            return Ok(());
        }
        if !self.is_writable {
            return Err(PyValueError::new_err(format!("the kernel stores to `{}`, which is read-only", self.name)));
        }
        // SAFETY: as above; `new` is as long as what was read, which is at most `bytes`.
        unsafe { std::ptr::copy_nonoverlapping(new.as_ptr(), self.address as *mut u8, new.len().min(self.bytes)) };
        Ok(())
    }
}

impl<'py> FromPyObject<'_, 'py> for Request {
    type Error = PyErr;

    fn extract(request: Borrowed<'_, 'py, PyAny>) -> PyResult<Request> {
        let request = request.cast::<PyDict>()?;
        let get = |name: &str| request.get_item(name)?.ok_or_else(|| PyValueError::new_err(format!("a launch needs `{name}`")));
        let memories = get("memories")?.extract::<Vec<(String, String, usize, usize, bool)>>()?;
        let memories = memories.into_iter().map(|(name, dtype, address, bytes, is_writable)| {
            Ok(Memory { name, dtype: self::dtype(&dtype)?, address, bytes, is_writable })
        });
        type View = (String, String, Vec<u64>, Vec<u64>, usize, u64);
        let views = get("views")?.extract::<Vec<View>>()?.into_iter();
        let views = views.map(|(name, dtype, shape, strides, memory, byte_offset)| {
            Ok(LiveView { name, dtype: self::dtype(&dtype)?, shape, strides, memory, byte_offset })
        });
        let mut args = IndexMap::new();
        for (name, value) in get("args")?.extract::<Vec<(String, Bound<'py, PyTuple>)>>()? {
            args.insert(SmolStr::from(name), argument(&value)?);
        }
        let mut meta = IndexMap::new();
        for (name, value) in get("meta")?.extract::<Vec<(String, Bound<'py, PyTuple>)>>()? {
            meta.insert(SmolStr::from(name), constant(&value)?);
        }
        let (num_warps, num_stages, max_registers) = get("options")?.extract()?;
        let launch = LiveLaunch {
            module: get("module")?.extract()?,
            kernel: get("kernel")?.extract()?,
            record: get("record")?.extract()?,
            grid: get("grid")?.extract()?,
            args,
            meta,
            options: LaunchOptions { num_warps, num_stages, max_registers },
            fp32_default: get("fp32_default")?.extract()?,
            views: views.collect::<PyResult<_>>()?,
            is_checked: get("is_checked")?.extract()?,
        };
        Ok(Request { launch, memories: memories.collect::<PyResult<_>>()? })
    }
}

/// `("int", 3)`, `("tensor", view)`, …
fn argument(value: &Bound<'_, PyTuple>) -> PyResult<LaunchArg> {
    let (kind, held) = parts(value)?;
    Ok(match kind.as_str() {
        "tensor" => LaunchArg::Tensor(held.extract()?),
        "int" => LaunchArg::Int(held.extract()?),
        "float" => LaunchArg::Float(held.extract()?),
        "bool" => LaunchArg::Bool(held.extract()?),
        "none" => LaunchArg::None,
        "tuple" => LaunchArg::Tuple(held.extract::<Vec<Bound<'_, PyTuple>>>()?.iter().map(argument).collect::<PyResult<_>>()?),
        "descriptor" => {
            let (tensor, block, nan) = held.extract()?;
            LaunchArg::Descriptor { tensor, block, nan }
        }
        kind => return Err(PyValueError::new_err(format!("no argument is a `{kind}`"))),
    })
}

/// `("int", 3)`, `("function", (module, name))`, …
pub(crate) fn constant(value: &Bound<'_, PyTuple>) -> PyResult<LiveConst> {
    let (kind, held) = parts(value)?;
    Ok(LiveConst::Plain(match kind.as_str() {
        "int" => Const::Int(held.extract()?),
        "float" => Const::Float(Float::new(held.extract()?)),
        "bool" => Const::Bool(held.extract()?),
        "none" => Const::None,
        "str" => Const::Str(held.extract()?),
        "dtype" => Const::DType(dtype(&held.extract::<String>()?)?),
        "function" => {
            let (module, name) = held.extract()?;
            return Ok(LiveConst::Function { module, name });
        }
        "tuple" => {
            let items = held.extract::<Vec<Bound<'_, PyTuple>>>()?;
            return Ok(LiveConst::Tuple(items.iter().map(constant).collect::<PyResult<_>>()?));
        }
        kind => return Err(PyValueError::new_err(format!("no compile-time value is a `{kind}`"))),
    }))
}

pub(crate) fn parts<'py>(value: &Bound<'py, PyTuple>) -> PyResult<(String, Bound<'py, PyAny>)> {
    Ok((value.get_item(0)?.extract()?, value.get_item(1)?))
}

fn dtype(name: &str) -> PyResult<DType> {
    DType::from_name(name).ok_or_else(|| PyValueError::new_err(format!("`{name}` is no type of Triton's")))
}
