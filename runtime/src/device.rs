//! Where kernels run: the CPU device, which needs nothing, and CUDA devices, opened at run time if a driver is there.
//!
//! **Invariant:** both take the same arguments and leave the same tensors behind; a fault names its cause and never takes the process down
//! (a CUDA launch that hangs is ended by the process that started this one, see [`crate::run`]).

pub(crate) mod compute_sanitizer;
pub mod cpu;
pub mod cuda;

use std::fmt;

use thiserror::Error;

/// One argument of a launch, in the order of the specialised kernel's run-time parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LaunchValue {
    /// Index of a tensor, and an offset in bytes.
    Tensor { index: usize, byte_offset: u64 },
    /// The bits of a scalar, and its size in bytes.
    Scalar { bits: u64, bytes: u32 },
}

/// Which elements of each tensor's storage a launch has stored to.
#[derive(Debug, Clone, PartialEq)]
pub enum Stores {
    Seen(Vec<Vec<bool>>),
    /// The device does not tell.
    Unseen,
}

impl Stores {
    pub fn of(&self, tensor: usize) -> Option<&[bool]> {
        match self {
            Stores::Seen(stores) => stores.get(tensor).map(Vec::as_slice),
            Stores::Unseen => None,
        }
    }
}

/// What a person may ask for: `cpu`, `sim`, `cuda`, `cuda:1`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeviceName {
    Cpu,
    /// What the compiler has decided (layouts, shared memory, barriers), lane by lane on the CPU: slow.
    Sim,
    Cuda(u32),
}

impl DeviceName {
    pub fn parse(text: &str) -> Option<DeviceName> {
        match text {
            "cpu" => Some(DeviceName::Cpu),
            "sim" => Some(DeviceName::Sim),
            "cuda" => Some(DeviceName::Cuda(0)),
            _ => text.strip_prefix("cuda:")?.parse().ok().map(DeviceName::Cuda),
        }
    }
}

impl DeviceName {
    /// What a run looks for beside its results. Whether programs race in global memory no device tells.
    pub fn checks(self) -> &'static str {
        match self {
            DeviceName::Cpu => "accesses stay inside their tensors and are aligned, assertions hold; races are not looked for",
            DeviceName::Sim => {
                "accesses stay inside their tensors and are aligned, assertions hold, shared memory has no races, lanes agree on what \
                 they share, and no register is used undefined; races in global memory are not looked for"
            }
            DeviceName::Cuda(_) => "what the driver reports; accesses within its allocations and races are not looked for",
        }
    }
}

impl DeviceName {
    /// What is looked for where a launch runs under checks.
    pub fn sanitized(self) -> &'static str {
        match self {
            DeviceName::Cpu => {
                "accesses outside of tensors and misaligned ones, undefined and uninitialised values that decide something, races in global \
                 memory, outputs never written, integers that wrap on the way to an address, where NaN and infinities begin, integer \
                 divisions by 0, assertions"
            }
            DeviceName::Sim => {
                "accesses outside of tensors and misaligned ones, undefined values that decide something, races in global and in shared memory, \
                 between programs and between the warps of one, threads that disagree about what they share, outputs never written, assertions"
            }
            DeviceName::Cuda(_) => {
                "what compute-sanitizer finds: accesses outside of tensors and misaligned ones, elements read that nobody has written, races in \
                 shared memory, barriers that not every thread reaches; accesses between the elements of a view and races in global memory are not \
                 looked for"
            }
        }
    }
}

impl fmt::Display for DeviceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DeviceName::Cpu => f.write_str("cpu"),
            DeviceName::Sim => f.write_str("sim"),
            DeviceName::Cuda(n) => write!(f, "cuda:{n}"),
        }
    }
}

/// Why a run stopped.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum DeviceError {
    /// No such device; the remedy is part of the message.
    #[error("{0}")]
    Unavailable(String),
    /// The kernel did something wrong: place in the tile IR if known, and what.
    #[error("{message}")]
    Fault { origin: Option<u32>, message: String },
    /// A limit was reached: place in the tile IR, if known.
    #[error("stopped: the kernel had not finished")]
    Stopped { origin: Option<u32> },
}
