//! CUDA devices through the driver, loaded at run time.
//!
//! **Invariant:** nothing here is called before [`Cuda::open`] has seen that the driver library is there, so a machine without a GPU
//! builds and runs everything else. The only file that names cudarc.

mod resident;
mod timing;

use std::{ffi::CString, ffi::c_void, fmt, ptr};

use cudarc::driver::{
    result::{self, DriverError},
    sys,
};

pub use self::{
    resident::{NotOnDevice, Passed, Resident, Ways, device_address, enter_any_context},
    timing::{Prepared, Stopwatch},
};

use tritium_codegen::tensor_map::{Part, TensorMap};

use crate::{
    device::{DeviceError, LaunchValue},
    tensor::Tensor,
};

/// A device's primary context, current on this thread while the value lives.
pub struct Cuda {
    device: sys::CUdevice,
    pub name: String,
    /// `(9, 0)` for an H100.
    pub compute_capability: (u32, u32),
}

/// How a kernel is launched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Geometry {
    pub grid: [u32; 3],
    pub threads: u32,
    pub shared_bytes: u32,
}

/// A loaded kernel and the resources the driver reports for it (exact).
pub struct Kernel {
    module: sys::CUmodule,
    function: sys::CUfunction,
    pub registers: u32,
    pub local_bytes: u32,
}

/// Device memory, freed when dropped.
#[derive(Debug)]
pub struct Buffer {
    address: sys::CUdeviceptr,
    bytes: usize,
}

/// What a kernel takes behind its own parameters.
#[derive(Debug, Clone, Copy)]
pub struct Behind<'d> {
    /// Of each program of the grid.
    pub scratch_bytes: u32,
    pub maps: &'d [TensorMap],
}

/// Scratch and encoded tensor maps.
#[derive(Debug)]
pub struct Maps {
    scratch: Option<Buffer>,
    encoded: Vec<sys::CUtensorMap>,
    /// What the map of an empty tensor points to.
    _nothing: Buffer,
}

/// A tensor map of a launch. An empty tensor becomes one zero, at `nothing`.
fn encode(
    map: &TensorMap,
    buffers: &[Buffer],
    args: &[LaunchValue],
    nothing: sys::CUdeviceptr,
) -> Result<sys::CUtensorMap, DeviceError> {
    let wrong =
        |message: String| DeviceError::Fault { origin: None, message: format!("a tensor that is read by blocks {message}") };
    let number = |part: &Part| match *part {
        Part::Constant(number) => Ok(number),
        Part::Parameter(index) => match args.get(index as usize) {
            Some(&LaunchValue::Scalar { bits, bytes: 4 }) => Ok(i64::from(bits as u32 as i32)),
            Some(&LaunchValue::Scalar { bits, bytes: 8 }) => Ok(bits as i64),
            _ => Err(wrong(format!("takes parameter {index} as a number, and it is none"))),
        },
    };
    let numbers = |parts: &[Part]| parts.iter().map(number).collect::<Result<Vec<i64>, DeviceError>>();
    let (mut extents, strides) = (numbers(&map.extents)?, numbers(&map.strides)?);
    let mut base = match args.get(map.base as usize) {
        Some(&LaunchValue::Tensor { index, byte_offset }) => buffers[index].address + byte_offset,
        Some(&LaunchValue::Scalar { bits, .. }) => bits,
        None => return Err(wrong(format!("begins at parameter {}, which is not there", map.base))),
    };
    if extents.iter().any(|&extent| extent <= 0) {
        extents.fill(1);
        base = nothing;
    }
    let extents: Vec<u64> = extents.into_iter().map(|extent| extent as u64).collect();
    let bytes = i64::from(map.element_bytes);
    let strides: Option<Vec<u64>> =
        strides.iter().map(|stride| stride.checked_mul(bytes).and_then(|n| u64::try_from(n).ok())).collect();
    let strides = strides.ok_or_else(|| wrong("has rows that lie backwards in memory, or too far apart".into()))?;
    let steps = vec![1u32; extents.len()];
    let element = match map.element_bytes {
        1 => sys::CUtensorMapDataType::CU_TENSOR_MAP_DATA_TYPE_UINT8,
        2 => sys::CUtensorMapDataType::CU_TENSOR_MAP_DATA_TYPE_UINT16,
        _ => sys::CUtensorMapDataType::CU_TENSOR_MAP_DATA_TYPE_UINT32,
    };
    let swizzle = match map.swizzle {
        0 => sys::CUtensorMapSwizzle::CU_TENSOR_MAP_SWIZZLE_NONE,
        32 => sys::CUtensorMapSwizzle::CU_TENSOR_MAP_SWIZZLE_32B,
        64 => sys::CUtensorMapSwizzle::CU_TENSOR_MAP_SWIZZLE_64B,
        _ => sys::CUtensorMapSwizzle::CU_TENSOR_MAP_SWIZZLE_128B,
    };
    let mut encoded = sys::CUtensorMap { opaque: [0; 16] };
    // SAFETY: every array has one element an axis (`strides` one less, as the driver reads it); the driver writes one map.
    let result = unsafe {
        sys::cuTensorMapEncodeTiled(
            &mut encoded,
            element,
            extents.len() as u32,
            base as *mut c_void,
            extents.as_ptr(),
            strides.as_ptr(),
            map.boxes.as_ptr(),
            steps.as_ptr(),
            sys::CUtensorMapInterleave::CU_TENSOR_MAP_INTERLEAVE_NONE,
            swizzle,
            sys::CUtensorMapL2promotion::CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
            sys::CUtensorMapFloatOOBfill::CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
        )
    };
    let told = || wrong(format!("has extents {extents:?} and rows {strides:?} bytes apart, for which the driver makes no map"));
    result.result().map_err(|_| told())?;
    Ok(encoded)
}

/// A module of the context that is current on the thread, and its kernel.
struct Loaded {
    module: sys::CUmodule,
    function: sys::CUfunction,
}

impl Loaded {
    /// `shared_bytes`: dynamic shared memory of a CTA.
    fn new(image: &[u8], kernel: &str, shared_bytes: u32) -> Result<Loaded, DeviceError> {
        // The driver reads PTX up to a NUL; cubins carry their own size.
        let image = [image, &[0]].concat();
        let name =
            CString::new(kernel).map_err(|_| DeviceError::Fault { origin: None, message: format!("bad name {kernel:?}") })?;
        // SAFETY: the image outlives the call, handles come from the driver and are used while the module is loaded.
        unsafe {
            let module =
                result::module::load_data(image.as_ptr().cast::<c_void>()).map_err(|e| failed("loading the kernel", e))?;
            let function = result::module::get_function(module, name).map_err(|e| failed("finding the kernel", e))?;
            if shared_bytes > 48 * 1024 {
                result::function::set_function_attribute(
                    function,
                    sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                    shared_bytes as i32,
                )
                .map_err(|e| failed(&format!("asking for {shared_bytes} bytes of shared memory"), e))?;
            }
            Ok(Loaded { module, function })
        }
    }
}

/// What the driver says of a loaded kernel; 0 where it says nothing.
fn attribute(function: sys::CUfunction, which: sys::CUfunction_attribute) -> u32 {
    // SAFETY: the handle is of a loaded module.
    unsafe { result::function::get_function_attribute(function, which) }.unwrap_or(0) as u32
}

fn failed(what: &str, error: DriverError) -> DeviceError {
    let text = error.error_string().ok().map(|s| s.to_string_lossy().into_owned());
    DeviceError::Fault { origin: None, message: format!("{what}: {}", text.unwrap_or_else(|| format!("{error:?}"))) }
}

impl Buffer {
    pub fn address(&self) -> u64 {
        self.address
    }
}

/// How many devices the driver has.
pub fn count() -> u32 {
    // SAFETY: only asks whether the shared library can be opened.
    if !unsafe { sys::is_culib_present() } || result::init().is_err() {
        return 0;
    }
    result::device::get_count().map_or(0, |count| u32::try_from(count).unwrap_or(0))
}

/// A device as the driver lists it, without a context, which takes a while to make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    device: sys::CUdevice,
    pub name: String,
    /// `(9, 0)` for an H100.
    pub compute_capability: (u32, u32),
}

impl Listed {
    pub fn find(ordinal: u32) -> Result<Listed, DeviceError> {
        let unavailable = |why: &str| {
            DeviceError::Unavailable(format!(
                "cuda:{ordinal} cannot be used: {why}. `--device cpu` runs the same kernels without a GPU"
            ))
        };
        // SAFETY: only asks whether the shared library can be opened.
        if !unsafe { sys::is_culib_present() } {
            return Err(unavailable("no CUDA driver (libcuda) is installed here"));
        }
        result::init().map_err(|e| unavailable(&format!("the driver does not start ({e:?})")))?;
        let count = result::device::get_count().map_err(|e| failed("counting devices", e))?;
        let index = i32::try_from(ordinal).ok().filter(|&i| i < count);
        let Some(index) = index else { return Err(unavailable(&format!("this machine has {count} CUDA device(s)"))) };
        let device = result::device::get(index).map_err(|e| failed("opening the device", e))?;
        let name = result::device::get_name(device).map_err(|e| failed("asking the device's name", e))?;
        let attribute = |which| {
            // SAFETY: `device` is valid.
            unsafe { result::device::get_attribute(device, which) }.map_err(|e| failed("asking an attribute", e))
        };
        let compute_capability = (
            attribute(sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)? as u32,
            attribute(sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)? as u32,
        );
        Ok(Listed { device, name, compute_capability })
    }
}

impl Cuda {
    pub fn open(ordinal: u32) -> Result<Cuda, DeviceError> {
        let Listed { device, name, compute_capability } = Listed::find(ordinal)?;
        // SAFETY: `device` is valid; the context is retained once here and released once in `drop`.
        unsafe {
            let context = result::primary_ctx::retain(device).map_err(|e| failed("creating a context", e))?;
            result::ctx::set_current(context).map_err(|e| failed("entering the context", e))?;
        }
        Ok(Cuda { device, name, compute_capability })
    }

    /// Loads PTX text or a cubin and finds the kernel.
    pub fn load(&self, image: &[u8], kernel: &str, shared_bytes: u32) -> Result<Kernel, DeviceError> {
        let Loaded { module, function } = Loaded::new(image, kernel, shared_bytes)?;
        let attribute = |which| attribute(function, which);
        Ok(Kernel {
            module,
            function,
            registers: attribute(sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_NUM_REGS),
            local_bytes: attribute(sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES),
        })
    }

    /// Memory that nobody has written.
    pub fn allocate(&self, bytes: usize) -> Result<Buffer, DeviceError> {
        // SAFETY: a fresh allocation of at least one byte, freed when the buffer is dropped.
        let address = unsafe { result::malloc_sync(bytes.max(1)) }
            .map_err(|e| failed(&format!("allocating {bytes} bytes of device memory"), e))?;
        Ok(Buffer { address, bytes })
    }

    pub fn upload(&self, bytes: &[u8]) -> Result<Buffer, DeviceError> {
        let buffer = self.allocate(bytes.len())?;
        if !bytes.is_empty() {
            // SAFETY: the allocation has as many bytes.
            unsafe { result::memcpy_htod_sync(buffer.address, bytes) }.map_err(|e| failed("copying to the device", e))?;
        }
        Ok(buffer)
    }

    /// Memory in which the same bytes come again and again.
    pub fn upload_repeated(&self, block: &[u8], bytes: usize) -> Result<Buffer, DeviceError> {
        // SAFETY: a fresh allocation of at least one byte; each copy begins and ends within it, and reads what was written before.
        unsafe {
            let address = result::malloc_sync(bytes.max(1))
                .map_err(|e| failed(&format!("allocating {bytes} bytes of device memory"), e))?;
            let buffer = Buffer { address, bytes };
            let mut filled = block.len().min(bytes);
            if filled > 0 {
                result::memcpy_htod_sync(address, &block[..filled]).map_err(|e| failed("copying to the device", e))?;
                while filled < bytes {
                    let more = filled.min(bytes - filled);
                    result::memcpy_dtod_sync(address + filled as u64, address, more)
                        .map_err(|e| failed("copying on the device", e))?;
                    filled += more;
                }
            }
            Ok(buffer)
        }
    }

    pub fn download(&self, buffer: &Buffer, bytes: &mut [u8]) -> Result<(), DeviceError> {
        assert_eq!(buffer.bytes, bytes.len(), "a buffer is read back into the tensor it came from");
        if bytes.is_empty() {
            return Ok(());
        }
        // SAFETY: both sides hold exactly `bytes.len()` bytes.
        unsafe { result::memcpy_dtoh_sync(bytes, buffer.address) }.map_err(|e| failed("copying from the device", e))
    }

    /// Launches and waits.
    pub fn launch(
        &self,
        kernel: &Kernel,
        geometry: Geometry,
        buffers: &[Buffer],
        args: &[LaunchValue],
        maps: &Maps,
    ) -> Result<(), DeviceError> {
        self.enqueue(kernel, geometry, buffers, args, maps)?;
        result::ctx::synchronize().map_err(|e| failed("running the kernel", e))
    }

    /// Launches.
    fn enqueue(
        &self,
        kernel: &Kernel,
        geometry: Geometry,
        buffers: &[Buffer],
        args: &[LaunchValue],
        maps: &Maps,
    ) -> Result<(), DeviceError> {
        // Every parameter is at most 8 bytes and little-endian, so a pointer to 8 bytes serves all sizes.
        let mut words: Vec<u64> = args
            .iter()
            .map(|arg| match *arg {
                LaunchValue::Tensor { index, byte_offset } => buffers[index].address + byte_offset,
                LaunchValue::Scalar { bits, .. } => bits,
            })
            .chain(maps.scratch.as_ref().map(Buffer::address))
            .collect();
        let mut pointers: Vec<*mut c_void> = words.iter_mut().map(|w| ptr::from_mut(w).cast()).collect();
        pointers.extend(maps.encoded.iter().map(|map| ptr::from_ref(map).cast_mut().cast()));
        let [x, y, z] = geometry.grid;
        // SAFETY: `pointers` names one readable word, or one map, per parameter of the kernel, all alive until the call returns (the driver copies them).
        unsafe {
            result::launch_kernel(
                kernel.function,
                (x, y, z),
                (geometry.threads, 1, 1),
                geometry.shared_bytes,
                result::stream::null(),
                &mut pointers,
            )
        }
        .map_err(|e| failed("launching the kernel", e))
    }

    /// What a launch passes behind its arguments.
    pub fn maps(
        &self,
        Behind { scratch_bytes, maps }: Behind<'_>,
        geometry: Geometry,
        buffers: &[Buffer],
        args: &[LaunchValue],
    ) -> Result<Maps, DeviceError> {
        let programs: u64 = geometry.grid.iter().map(|&extent| u64::from(extent)).product();
        let scratch = match usize::try_from(programs.saturating_mul(scratch_bytes.into())) {
            Ok(0) => None,
            Ok(bytes) => Some(self.allocate(bytes)?),
            Err(_) => {
                return Err(DeviceError::Fault {
                    origin: None,
                    message: format!("{programs} programs need more scratch than there is memory"),
                });
            }
        };
        // An empty tensor has no map; one number that is zero reads as what is outside of it.
        let nothing = self.upload(&[0; 16])?;
        let encoded = maps.iter().map(|map| encode(map, buffers, args, nothing.address)).collect::<Result<Vec<_>, _>>()?;
        Ok(Maps { scratch, encoded, _nothing: nothing })
    }

    /// Uploads every tensor.
    pub fn upload_all(&self, tensors: &[Tensor]) -> Result<Vec<Buffer>, DeviceError> {
        tensors.iter().map(|t| self.upload(&t.bytes)).collect()
    }
}

impl Drop for Cuda {
    fn drop(&mut self) {
        // SAFETY: retained once in `open`.
        let _ = unsafe { result::primary_ctx::release(self.device) };
    }
}

impl Drop for Kernel {
    fn drop(&mut self) {
        // SAFETY: loaded once in `load`; a failed context makes this fail, which no longer matters.
        let _ = unsafe { result::module::unload(self.module) };
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: allocated once in `upload`.
        let _ = unsafe { result::free_sync(self.address) };
    }
}

impl fmt::Debug for Cuda {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cuda").field("name", &self.name).field("compute_capability", &self.compute_capability).finish()
    }
}
