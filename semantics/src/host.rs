//! Host code as far as it tells how kernels are launched.
//!
//! Module-level statements, and the plain functions they call, are evaluated in order: tensors with their shapes, strides, dtypes and
//! initialisers, grids, compile-time values. **Invariant:** what cannot be known makes no launch but an [`HostUnknown`] with the reason,
//! never a guess; places are chunks and expressions, so moving code recomputes nothing.

use smol_str::SmolStr;

use crate::{Db, Function, SourceFile, body::ExprId, diagnostics::Code, launch::Launch};

mod interpret;
mod launch;
mod library;
mod torch;
mod value;

pub(crate) use launch::descriptor_problem;
pub(crate) use value::row_major;
pub use value::{Config, IndexMapOf};

/// An expression of a file's host code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct HostPlace {
    pub file: SourceFile,
    pub chunk: usize,
    pub expr: ExprId,
}

/// A launch, before its `source` has a position.
#[derive(Debug, Clone, PartialEq)]
pub struct HostLaunch {
    pub place: HostPlace,
    pub launch: Launch,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostProblem {
    pub place: HostPlace,
    pub code: Code,
    pub message: String,
}

/// A launch that is there, but not known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostUnknown {
    pub place: HostPlace,
    pub kernel: Function,
    pub reason: String,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct HostLaunches {
    pub launches: Vec<HostLaunch>,
    pub problems: Vec<HostProblem>,
    pub unknown: Vec<HostUnknown>,
}

/// The launches of a file's host code, in the order of evaluation.
#[salsa::tracked(returns(ref))]
pub fn host_launches(db: &dyn Db, file: SourceFile) -> HostLaunches {
    let mut host = interpret::Host::new(db, file);
    host.run();
    HostLaunches { launches: host.launches, problems: host.problems, unknown: host.unknown }
}

/// The rows of `@triton.autotune(configs=…)` of a function; empty where there is none or it is not followed.
#[salsa::tracked(returns(ref))]
pub fn configs(db: &dyn Db, function: Function) -> Vec<Config> {
    interpret::Host::new(db, function.file(db)).tuning(function).configs
}

/// What `@triton.heuristics` add to known arguments: compile-time values by name, as far as they can be evaluated.
pub fn heuristics(
    db: &dyn Db,
    function: Function,
    known: &[(SmolStr, crate::constant::Const)],
) -> Vec<(SmolStr, crate::constant::Const)> {
    let mut host = interpret::Host::new(db, function.file(db));
    let tuning = host.tuning(function);
    host.heuristic_values(&tuning, known)
}

/// What a `@triton.constexpr_function` gives for compile-time values, as far as it can be evaluated.
pub(crate) fn call_constexpr_function(
    db: &dyn Db,
    function: Function,
    positional: Vec<crate::constant::Const>,
    keywords: Vec<(SmolStr, crate::constant::Const)>,
) -> Option<crate::constant::Const> {
    use value::Value;
    let args = torch::Args {
        positional: positional.into_iter().map(Value::from_const).collect(),
        keywords: keywords.into_iter().map(|(name, known)| (name, Value::from_const(known))).collect(),
    };
    interpret::Host::new(db, function.file(db)).call_constexpr_function(function, &args).to_const()
}

/// The value of a parameter's default, as far as it can be evaluated.
#[salsa::tracked(returns(clone))]
pub fn default_of(db: &dyn Db, function: Function, param: usize) -> Option<crate::constant::Const> {
    interpret::Host::new(db, function.file(db)).default_value(function, param)?.to_const()
}
