//! Options of a compilation, and the refusal of a kernel.

use thiserror::Error;
use tritium_semantics::{launch::LaunchOptions, target::Sm};
use tritium_tile::{Origin, inline::NotInlined};

/// What a kernel is compiled for, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CompileOptions {
    pub sm: &'static Sm,
    pub launch: LaunchOptions,
    /// Whether `tl.device_assert` is compiled, as under Triton's `debug`.
    pub assertions: bool,
    /// Whether launches give memory that the programs of a grid write for themselves.
    pub global_scratch: bool,
}

/// Loads of one loop that may run ahead; Triton's own limit is the shared memory they take.
const MAX_STAGES: u32 = 256;

impl CompileOptions {
    /// With assertions and global scratch.
    pub fn new(sm: &'static Sm, launch: LaunchOptions) -> CompileOptions {
        CompileOptions { sm, launch, assertions: true, global_scratch: true }
    }

    /// What the SM and the compiler allow.
    pub fn check(&self) -> Result<(), Unsupported> {
        let LaunchOptions { num_warps, num_stages, .. } = self.launch;
        let max_warps = self.sm.max_threads_per_cta / 32;
        if !num_warps.is_power_of_two() || num_warps > max_warps {
            let message = format!("num_warps is {num_warps}; it must be a power of two from 1 to {max_warps}");
            return Err(Unsupported::new(Origin::NONE, message));
        }
        if num_stages > MAX_STAGES {
            let message = format!("num_stages is {num_stages}; at most {MAX_STAGES} are compiled");
            return Err(Unsupported::new(Origin::NONE, message));
        }
        Ok(())
    }
}

/// A kernel that cannot be compiled: where, and why, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct Unsupported {
    pub origin: Origin,
    pub message: String,
}

impl Unsupported {
    pub fn new(origin: Origin, message: impl Into<String>) -> Unsupported {
        Unsupported { origin, message: message.into() }
    }
}

impl From<NotInlined> for Unsupported {
    fn from(why: NotInlined) -> Unsupported {
        Unsupported::new(why.origin(), why.to_string())
    }
}
