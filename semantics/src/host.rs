//! Host code as far as it tells how kernels are launched.
//!
//! Module-level statements, and the plain functions they call, are evaluated in order: tensors with their shapes, strides, dtypes and
//! initialisers, grids, compile-time values. **Invariant:** what cannot be known makes no launch but an [`UnknownLaunch`] with the reason,
//! never a guess; places are chunks and expressions, so moving code recomputes nothing.

use std::ops::Range;

use smol_str::SmolStr;

use crate::{
    Db, Function, SourceFile,
    body::ExprId,
    diagnostics::{Code, Severity},
    items,
    launch::{Given, LaunchPlace, LaunchProblem, Launches, PartialLaunch},
    program::Program,
};

mod benchmarks;
mod budget;
mod callers;
mod calls;
mod checks;
mod contents;
mod device;
mod enter;
mod free;
mod functions;
mod gradients;
mod indexing;
mod interpret;
mod kinds;
mod launch;
mod library;
mod members;
mod operations;
mod statements;
mod survey;
mod tensors;
mod torch;
mod value;

pub use callers::{Called, called, called_in, launches_elsewhere};
pub(crate) use callers::{called_at, name_beside};
pub use enter::{
    Entered, Entrable, Entry, FreeName, Given as EnteredWith, enter, enter_kernel, enter_otherwise, entrable_around,
};
pub use free::Choice;
pub(crate) use launch::descriptor_problem;
pub use value::row_major;
pub use value::{Config, IndexMapOf, Kind};

/// An expression of a file's host code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct HostPlace {
    pub file: SourceFile,
    pub chunk: usize,
    pub expr: ExprId,
}

impl HostPlace {
    /// Bytes of the file as it is now.
    pub fn range(self, db: &dyn Db) -> Option<Range<usize>> {
        let map = items::chunk_map(db, self.file, self.chunk)?;
        Some(items::in_file(map.0, *map.1.exprs.get(self.expr.0 as usize)?))
    }

    /// Counted from 1; 0 for what is gone.
    pub fn line(self, db: &dyn Db) -> u32 {
        self.range(db).map_or(0, |range| items::line_number(db, self.file, range.start))
    }

    fn problem(self, code: Code, severity: Severity, message: String) -> LaunchProblem {
        LaunchProblem { code, severity, message, launch: None, place: LaunchPlace::Host(self) }
    }
}

/// `kernel[grid](…)` in the text, whether or not it is known to run: what it gives, as far as that is known.
#[derive(Debug, Clone, PartialEq)]
pub struct Site {
    pub place: HostPlace,
    pub partial: PartialLaunch,
    /// The programs along each axis, if they are written out.
    pub grid: Option<[u64; 3]>,
    /// The parameters, by position, whose arguments are not known, and why.
    pub open: Vec<(usize, SmolStr)>,
    /// A launch came of it.
    pub is_resolved: bool,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct HostLaunches {
    pub found: Launches,
    /// Each place and each different way to launch there once.
    pub sites: Vec<Site>,
    /// What the launches and their checks work on.
    pub program: Program,
}

/// The launches of a file's host code, in the order of evaluation.
#[salsa::tracked(returns(ref))]
pub fn host_launches(db: &dyn Db, file: SourceFile) -> HostLaunches {
    let entry = db.settings().chosen(db).entry.as_ref();
    if let Some(entered) = entry.and_then(|entry| enter::entered_launches(db, file, entry)) {
        return entered;
    }
    let mut host = interpret::Host::new(db, file);
    host.run();
    host.run_benchmarks();
    host.survey();
    let limits = limits(db, file, &host);
    host.found.problems.extend(limits);
    HostLaunches { found: host.found, sites: host.sites, program: host.recorder.program }
}

/// What of a file is not followed as it takes too long or grows too large: each kind once, where it begins.
fn limits(db: &dyn Db, file: SourceFile, host: &interpret::Host<'_>) -> Vec<LaunchProblem> {
    if !concerns_kernels(db, file) {
        return vec![];
    }
    let (steps, elements) = (interpret::FUEL, budget::MAX_ELEMENTS);
    let left = host.exceeded.map(|place| {
        let message = format!(
            "from here on the file's statements are not followed, and what they would make or launch is unknown: they take more than \
             {steps} steps or make more than {elements} elements; a launch block says what is launched all the same"
        );
        (place, message)
    });
    let outgrown = host.outgrown.map(|place| {
        let longest = interpret::MAX_LIST_ITEMS;
        (place, format!("this is longer than the {longest} elements that are followed, so it is unknown"))
    });
    let high = items::declared(db, file).too_high().map(|(chunk, expr)| {
        let most = items::MAX_VALUE_HEIGHT;
        let message =
            format!("more than {most} values hang on one another in a row before this one, so it is unknown to kernels");
        (HostPlace { file, chunk, expr }, message)
    });
    let all = left.into_iter().chain(outgrown).chain(high);
    all.map(|(place, message)| place.problem(Code::LIM003, Severity::Hint, message)).collect()
}

/// Whether a file has kernels or launches some, as far as its text shows.
fn concerns_kernels(db: &dyn Db, file: SourceFile) -> bool {
    !items::items(db, file).functions.is_empty()
        || (0..items::chunk_count(db, file))
            .filter_map(|chunk| items::chunk_body(db, file, chunk))
            .any(|body| body.exprs.iter().any(|expr| body.is_launch(expr)))
}

/// Whether running a file's statements takes longer than anybody waits who wants to know one of its values.
#[salsa::tracked(returns(copy), cycle_result = is_long)]
pub(crate) fn is_long_run(db: &dyn Db, file: SourceFile) -> bool {
    interpret::Host::new(db, file).runs_long()
}

fn is_long(_: &dyn Db, _: salsa::Id, _: SourceFile) -> bool {
    true
}

/// By axis: whether host code launches a kernel, and never more than one program along it.
#[salsa::tracked(returns(copy))]
pub(crate) fn lone_axes(db: &dyn Db, kernel: Function) -> [bool; 3] {
    let sites = host_launches(db, kernel.file(db)).sites.iter().filter(|site| site.partial.kernel == kernel);
    let elsewhere = called(db, kernel).iter().map(|called| called.grid);
    let grids: Option<Vec<[u64; 3]>> = sites.map(|site| site.grid).chain(elsewhere).collect();
    let grids = grids.filter(|grids| !grids.is_empty());
    [0, 1, 2].map(|axis| grids.as_ref().is_some_and(|grids| grids.iter().all(|grid| grid[axis] == 1)))
}

/// What host code gives a kernel wherever it launches it, each different launch once: what asks no more than this is not asked again with
/// every other change of the host code.
#[salsa::tracked(returns(ref))]
pub fn partial_launches(db: &dyn Db, kernel: Function) -> Vec<PartialLaunch> {
    let mut out: Vec<PartialLaunch> = Vec::new();
    for site in &host_launches(db, kernel.file(db)).sites {
        if site.partial.kernel == kernel && !out.contains(&site.partial) {
            out.push(site.partial.clone());
        }
    }
    out
}

/// What `@triton.autotune` says of a function.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Tuned {
    /// The rows of `configs`; empty where they are not known.
    pub configs: Vec<Config>,
    /// `prune_configs_by` may take some away.
    pub is_pruned: bool,
    /// Each row is possible; which of them there are hangs on what is not known.
    pub is_open: bool,
    /// Why `configs` are not known.
    pub unknown: Option<SmolStr>,
}

/// The tuning of a function; `None` where it has none.
#[salsa::tracked(returns(ref))]
pub fn tuned(db: &dyn Db, function: Function) -> Option<Tuned> {
    let tuning = interpret::Host::new(db, function.file(db)).tuning(function);
    let launch::Tuning { is_tuned, configs, is_pruned, is_open, unknown, .. } = tuning;
    is_tuned.then_some(Tuned { configs, is_pruned, is_open, unknown })
}

/// The rows of `@triton.autotune(configs=…)` of a function; empty where there is none or it is not followed.
pub fn configs(db: &dyn Db, function: Function) -> &[Config] {
    tuned(db, function).as_ref().map_or(&[], |t| &t.configs)
}

/// Whether a module-level condition holds, as far as running the file's statements tells.
#[salsa::tracked(returns(copy))]
pub(crate) fn condition(db: &dyn Db, file: SourceFile, chunk: usize, expr: ExprId) -> Option<bool> {
    let body = items::chunk_body(db, file, chunk)?;
    let mut host = interpret::Host::new(db, file);
    let frame = host.frame(file, chunk, body);
    host.expr(&frame, expr).truth()
}

/// The value of a module-level expression, as far as running the file's statements tells.
#[salsa::tracked(returns(clone))]
pub(crate) fn constant(db: &dyn Db, file: SourceFile, chunk: usize, expr: ExprId) -> Option<crate::constant::Const> {
    let body = items::chunk_body(db, file, chunk)?;
    let mut host = interpret::Host::new(db, file);
    let frame = host.frame(file, chunk, body);
    host.expr(&frame, expr).to_const()
}

/// The rules of a function's `@triton.heuristics`, to ask what they make of one set of arguments after another.
pub(crate) struct Rules<'db> {
    host: interpret::Host<'db>,
    rules: Vec<(SmolStr, value::Value)>,
    /// What was asked, with the answers: many sets of arguments differ in what no rule is told.
    answered: Vec<(Named, Named)>,
}

/// Values by name.
type Named = Vec<(SmolStr, Given)>;

impl<'db> Rules<'db> {
    /// `None` where there are none.
    pub(crate) fn of(db: &'db dyn Db, function: Function) -> Option<Rules<'db>> {
        items::items(db, function.file(db)).function(function).filter(|item| item.is_tuned)?;
        let mut host = interpret::Host::new(db, function.file(db));
        let rules = host.heuristics(function);
        (!rules.is_empty()).then_some(Rules { host, rules, answered: Vec::new() })
    }

    /// The compile-time values that they add to arguments, by name, as far as they can be evaluated.
    pub(crate) fn values(&mut self, known: Named) -> Named {
        if let Some((_, values)) = self.answered.iter().find(|(asked, _)| *asked == known) {
            return values.clone();
        }
        let values = self.host.heuristic_values(&self.rules, known.clone());
        self.answered.push((known, values.clone()));
        values
    }
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
pub fn default_of(db: &dyn Db, function: Function, param: usize) -> Option<crate::constant::Const> {
    // Most have none.
    items::items(db, function.file(db)).function(function)?.params.get(param)?.default?;
    value_of_default(db, function, param)
}

#[salsa::tracked(returns(clone))]
fn value_of_default(db: &dyn Db, function: Function, param: usize) -> Option<crate::constant::Const> {
    interpret::Host::new(db, function.file(db)).default_value(function, param)?.to_const()
}
