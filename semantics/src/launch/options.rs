//! What a launch tells the compiler beside its arguments: warps, stages, registers.
//!
//! **Invariant:** the one place that knows what Triton takes where nobody says.

/// Options that a kernel is compiled with for a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LaunchOptions {
    pub num_warps: u32,
    pub num_stages: u32,
    /// Registers a thread may have at most (`maxnreg`).
    pub max_registers: Option<u32>,
}

/// Triton's defaults.
impl Default for LaunchOptions {
    fn default() -> LaunchOptions {
        LaunchOptions { num_warps: 4, num_stages: 3, max_registers: None }
    }
}

impl LaunchOptions {
    /// Threads of a CTA.
    pub fn threads(self) -> u32 {
        32 * self.num_warps
    }
}

/// The same as far as a row of a tuner, a launch block, a request or a flag says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct GivenOptions {
    pub num_warps: Option<u32>,
    pub num_stages: Option<u32>,
    pub max_registers: Option<u32>,
}

impl GivenOptions {
    /// These options, and those of `base` where nothing is given.
    pub fn over(self, base: LaunchOptions) -> LaunchOptions {
        LaunchOptions {
            num_warps: self.num_warps.unwrap_or(base.num_warps),
            num_stages: self.num_stages.unwrap_or(base.num_stages),
            max_registers: self.max_registers.or(base.max_registers),
        }
    }

    /// These options, and Triton's defaults where nothing is given.
    pub fn or_default(self) -> LaunchOptions {
        self.over(LaunchOptions::default())
    }
}
