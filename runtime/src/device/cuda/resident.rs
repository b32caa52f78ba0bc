//! Kernels of a program that has a context and streams of its own: they are loaded into the context that is current on the thread, and
//! launched on the streams that the program names.

use std::{ffi::c_void, mem::MaybeUninit, ptr, sync::OnceLock};

use cudarc::driver::{result, sys};
use tritium_codegen::tensor_map::TensorMap;

use super::{Buffer, Geometry, Loaded, attribute, encode, failed};
use crate::device::{DeviceError, LaunchValue};

/// A kernel that stays loaded until the process ends: a program may keep graphs that launch it.
pub struct Resident {
    function: sys::CUfunction,
    /// Per thread.
    pub registers: u32,
    /// Bytes of local memory a thread owns.
    pub local_bytes: u32,
    /// Threads that a CTA of it may have.
    pub max_threads: u32,
}

// SAFETY: a function's handle is a name that the driver takes on any thread.
unsafe impl Send for Resident {}
// SAFETY: as above; nothing of it changes.
unsafe impl Sync for Resident {}

/// What a launch may ask of the driver beside its geometry.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ways {
    /// All CTAs run at the same time.
    pub cooperative: bool,
    /// It may begin before what is in front of it on the stream has ended (programmatic dependent launch).
    pub programmatic: bool,
}

/// An address that no kernel can read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotOnDevice;

/// The address by which kernels know what a program knows by `address`: another one for pinned host memory.
pub fn device_address(address: u64) -> Result<u64, NotOnDevice> {
    if address == 0 {
        return Ok(0);
    }
    let mut found = MaybeUninit::<u64>::uninit();
    // SAFETY: this attribute is one address; it is read only where the driver says that it was written.
    unsafe {
        let attribute = sys::CUpointer_attribute::CU_POINTER_ATTRIBUTE_DEVICE_POINTER;
        match sys::cuPointerGetAttribute(found.as_mut_ptr().cast(), attribute, address) {
            sys::CUresult::CUDA_SUCCESS => Ok(found.assume_init()),
            _ => Err(NotOnDevice),
        }
    }
}

/// Makes the first device's primary context current on this thread if none is.
pub fn enter_any_context() -> Result<(), DeviceError> {
    if matches!(result::ctx::get_current(), Ok(Some(_))) {
        return Ok(());
    }
    result::init().map_err(|e| failed("starting the driver", e))?;
    // SAFETY: the context is retained until the process ends.
    unsafe {
        let device = result::device::get(0).map_err(|e| failed("opening the device", e))?;
        let context = result::primary_ctx::retain(device).map_err(|e| failed("creating a context", e))?;
        result::ctx::set_current(context).map_err(|e| failed("entering the context", e))
    }
}

/// What a launch passes behind the parameters of the function.
#[derive(Debug, Clone, Copy)]
pub struct Passed<'m> {
    /// The address of memory for all programs of the grid, if the kernel takes some.
    pub scratch: Option<u64>,
    pub maps: &'m [TensorMap],
}

impl Resident {
    /// Loads a cubin or PTX into the current context. `shared_bytes`: dynamic shared memory of a CTA.
    pub fn load(image: &[u8], kernel: &str, shared_bytes: u32) -> Result<Resident, DeviceError> {
        // SAFETY: only asks whether the shared library can be opened.
        if !unsafe { sys::is_culib_present() } {
            return Err(DeviceError::Unavailable("no CUDA driver (libcuda) is installed here".to_owned()));
        }
        let Loaded { module: _, function } = Loaded::new(image, kernel, shared_bytes)?;
        let attribute = |which| attribute(function, which);
        Ok(Resident {
            function,
            registers: attribute(sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_NUM_REGS),
            local_bytes: attribute(sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES),
            max_threads: attribute(sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK),
        })
    }

    /// The driver's handle, as a number.
    pub fn handle(&self) -> u64 {
        self.function as u64
    }

    /// Enqueues a launch. `words`: one for each parameter, as many low bytes of it as the parameter has; `sizes`: these; behind them the
    /// scratch is passed, and maps that are made of them.
    pub fn launch(
        &self,
        geometry: Geometry,
        stream: u64,
        words: &mut [u64],
        sizes: &[u32],
        Passed { mut scratch, maps }: Passed<'_>,
        ways: Ways,
    ) -> Result<(), DeviceError> {
        let encoded: Vec<sys::CUtensorMap> = match maps {
            [] => vec![],
            maps => {
                let values: Vec<LaunchValue> =
                    words.iter().zip(sizes).map(|(&bits, &bytes)| LaunchValue::Scalar { bits, bytes }).collect();
                let nothing = nothing()?;
                maps.iter().map(|map| encode(map, &[], &values, nothing)).collect::<Result<_, _>>()?
            }
        };
        let mut pointers: Vec<*mut c_void> = Vec::with_capacity(words.len() + 1 + encoded.len());
        pointers.extend(words.iter_mut().map(|word| ptr::from_mut(word).cast::<c_void>()));
        pointers.extend(scratch.iter_mut().map(|word| ptr::from_mut(word).cast::<c_void>()));
        pointers.extend(encoded.iter().map(|map| ptr::from_ref(map).cast_mut().cast::<c_void>()));
        let [x, y, z] = geometry.grid;
        let stream = stream as sys::CUstream;
        // SAFETY: `pointers` names one readable word, or one map, per parameter of the kernel, all alive until the call returns (the driver
        // copies them); the stream is the caller's.
        let launched = unsafe {
            if ways == Ways::default() {
                sys::cuLaunchKernel(
                    self.function,
                    x,
                    y,
                    z,
                    geometry.threads,
                    1,
                    1,
                    geometry.shared_bytes,
                    stream,
                    pointers.as_mut_ptr(),
                    ptr::null_mut(),
                )
            } else {
                let mut attributes = attributes(ways);
                let config = sys::CUlaunchConfig {
                    gridDimX: x,
                    gridDimY: y,
                    gridDimZ: z,
                    blockDimX: geometry.threads,
                    blockDimY: 1,
                    blockDimZ: 1,
                    sharedMemBytes: geometry.shared_bytes,
                    hStream: stream,
                    attrs: attributes.as_mut_ptr(),
                    numAttrs: attributes.len() as u32,
                };
                sys::cuLaunchKernelEx(&config, self.function, pointers.as_mut_ptr(), ptr::null_mut())
            }
        };
        launched.result().map_err(|e| failed("launching the kernel", e))
    }
}

fn attributes(ways: Ways) -> Vec<sys::CUlaunchAttribute> {
    let on = |id, value| sys::CUlaunchAttribute { id, pad: [0; 4], value };
    let mut out = Vec::new();
    if ways.programmatic {
        let value = sys::CUlaunchAttributeValue { programmaticStreamSerializationAllowed: 1 };
        out.push(on(sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION, value));
    }
    if ways.cooperative {
        let value = sys::CUlaunchAttributeValue { cooperative: 1 };
        out.push(on(sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_COOPERATIVE, value));
    }
    out
}

/// 16 bytes of zeros on the device, which the maps of empty tensors point to.
fn nothing() -> Result<sys::CUdeviceptr, DeviceError> {
    static ZEROS: OnceLock<Buffer> = OnceLock::new();
    if let Some(known) = ZEROS.get() {
        return Ok(known.address);
    }
    // SAFETY: a fresh allocation of 16 bytes, kept until the process ends.
    let buffer = unsafe {
        let address = result::malloc_sync(16).map_err(|e| failed("allocating 16 bytes of device memory", e))?;
        result::memcpy_htod_sync(address, &[0u8; 16]).map_err(|e| failed("copying to the device", e))?;
        Buffer { address, bytes: 16 }
    };
    Ok(ZEROS.get_or_init(|| buffer).address)
}
