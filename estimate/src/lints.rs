//! Rules about resources: what a launch takes of its GPU, as Triton compiles it, and what is slow about it.
//!
//! A rule reads the [`Ground`] of one launch and says what it finds; one file a rule, one row each in [`RULES`]. **Invariant:** a rule speaks only of
//! launches whose arguments are all known, and stays silent where it does not know; figures name their compiler and their limit.

mod access;
mod bank_conflicts;
mod compile_time;
mod occupancy;
mod partial_wave;
mod pipelining;
mod registers;
mod shared;
mod tensor_core;
mod tensor_memory;

use tritium_semantics::{
    diagnostics::{Code, Severity},
    launch::LaunchOptions,
    target::Gpu,
};

use tritium_tile::Module;

use crate::{
    access::Access,
    cost::{Cost, Launch},
    resources::KernelReport,
    triton::Footprint,
};

/// One launch of a kernel and what is known of it.
pub struct Ground<'a> {
    /// As the kernel is written, before any pass.
    pub module: &'a Module,
    pub footprint: &'a Footprint,
    /// Of the layouts that Tritium gives; Triton coalesces alike.
    pub accesses: &'a [Access],
    pub gpu: Gpu,
    pub options: LaunchOptions,
    /// The row of the tuner that the launch comes from.
    pub config: Option<u32>,
    pub launch: &'a Launch,
    /// What Tritium's code takes and costs, where it has bank conflicts; and what it would cost with other options.
    pub report: Option<&'a KernelReport>,
    pub report_with: &'a dyn Fn(LaunchOptions) -> Option<Cost>,
    /// The footprint with other options.
    pub with: &'a dyn Fn(LaunchOptions) -> Option<Footprint>,
}

/// What a rule says; the place is an origin of the elaborated kernel, or the kernel's name.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    pub code: Code,
    /// How much it matters here, where that is not what its row says.
    pub level: Option<Severity>,
    pub message: String,
    pub origin: Option<u32>,
    pub related: Vec<(u32, String)>,
}

impl Finding {
    fn of_kernel(code: Code, message: String) -> Finding {
        Finding { code, level: None, message, origin: None, related: Vec::new() }
    }

    fn at(code: Code, origin: u32, message: String) -> Finding {
        Finding { code, level: None, message, origin: Some(origin), related: Vec::new() }
    }
}

type Rule = fn(&Ground<'_>, &mut Vec<Finding>);

/// In the order of their codes' families.
const RULES: &[Rule] = &[
    tensor_core::rule,
    tensor_memory::rule,
    shared::rule,
    registers::rule,
    occupancy::rule,
    partial_wave::rule,
    compile_time::rule,
    pipelining::rule,
    access::rule,
    bank_conflicts::rule,
];

pub fn lint(ground: &Ground<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for rule in RULES {
        rule(ground, &mut found);
    }
    // What does not compile takes nothing.
    if found.iter().any(|f| f.code == Code::RES008) {
        found.retain(|f| f.code == Code::RES008);
    }
    if ground.is_trial() {
        found.retain(|f| f.code == Code::RES006 || f.level.unwrap_or(f.code.severity()) < Severity::Performance);
    }
    // Why a load does not run ahead, or takes long to compile, says why it is narrow, too.
    let explained: Vec<Option<u32>> =
        found.iter().filter(|f| matches!(f.code, Code::RES006 | Code::RES007)).map(|f| f.origin).collect();
    found.retain(|f| !(matches!(f.code, Code::MEM001 | Code::MEM002 | Code::MEM003) && explained.contains(&f.origin)));
    // What is copied ahead does not go through threads on its way to shared memory.
    if found.iter().any(|f| f.code == Code::RES007) {
        found.retain(|f| f.code != Code::MEM004);
    }
    found
}

/// A launch on a smaller part of a board's multiprocessors tries a kernel out: nobody waits for it.
const TRIAL: u64 = 8;

impl Ground<'_> {
    fn is_trial(&self) -> bool {
        self.gpu.board.is_some_and(|board| self.launch.programs() * TRIAL < u64::from(board.sm_count))
    }
}

/// `232,448`
fn grouped(n: u32) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    #[test]
    fn thousands_are_parted() {
        assert_eq!(["7", "999", "1,000", "232,448"], [7, 999, 1000, 232_448].map(super::grouped).each_ref().map(String::as_str));
    }
}
