//! From a kernel and a launch to the instance that Triton would compile; from a kernel alone to the instances assumed for it.
//!
//! **Invariant:** every kernel has at least one instance; instances from launches come first, assumed ones only where there is no launch.
//! Of an argument that cannot be assumed (a function, a tuple, a descriptor) nothing is known, and nothing that depends on it is checked.

use std::collections::BTreeSet;

use smol_str::SmolStr;

use crate::{
    ArgType, Argument, Db, Function, Instance, SourceFile,
    configuration::{MAX_DISTINCT, configurations, rows},
    constant::Const,
    dtype::DType,
    elaborate::{Elaborated, come_everywhere, elaborate},
    globals,
    host::{self, Kind},
    items::{Annotation, FunctionItem, ParamItem, items},
    launch::{Given, Launch, LaunchArg, PartialLaunch},
    problem::Problem,
    project,
};

mod flow;
mod left_open;
mod repair;

use flow::Flow;
use repair::Repairs;

pub(crate) use flow::{Role, effects, sources};
pub use left_open::{LeftOpen, left_open, says_some_type};
pub(crate) use repair::hangs_on_arguments;

/// Rows of a tuning that are checked without a launch.
const MAX_ASSUMED_ROWS: usize = 6;

/// Launches of a kernel in its own file that are known in part and that it is checked under.
const MAX_PARTIAL_LAUNCHES: usize = 4;
/// Launches of a kernel by other files that it is checked under.
const MAX_CALLED: usize = 6;
/// Of these, those that may not run.
const MAX_CONDITIONAL: usize = 2;

/// One specialisation of a kernel, and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Specialisation {
    pub instance: Instance,
    /// The launches of the kernel (by index) that make it; empty if it is assumed.
    pub launches: Vec<usize>,
    /// The row of the kernel's tuning.
    pub config: Option<u32>,
    /// The parameters, by position, whose arguments nothing says.
    pub open: Vec<usize>,
    /// The place among the kernel's partly known launches of the one that says the others.
    pub partial: Option<usize>,
    /// The place among [`host::called`] of the launch that another file makes for certain and that says all of it.
    pub called: Option<usize>,
    /// It is that of a launch by another file that may not run: nothing is wrong for that alone.
    pub is_conditional: bool,
}

impl Specialisation {
    pub fn is_assumed(&self) -> bool {
        self.launches.is_empty() && self.called.is_none()
    }
}

/// Everything a kernel is checked under.
#[salsa::tracked(returns(ref))]
pub fn specialisations(db: &dyn Db, kernel: Function) -> Vec<Specialisation> {
    let mut out: Vec<Specialisation> = Vec::new();
    for configuration in configurations(db, kernel) {
        let Some(index) = configuration.launch_index() else { continue };
        match out.iter().position(|s| s.instance == configuration.instance) {
            Some(known) => out[known].launches.push(index),
            None if out.len() < MAX_DISTINCT => {
                out.push(Specialisation {
                    instance: configuration.instance,
                    launches: vec![index],
                    config: configuration.row,
                    open: vec![],
                    partial: None,
                    called: None,
                    is_conditional: false,
                });
            }
            None => {}
        }
    }
    if out.is_empty() {
        for one in assumed(db, kernel) {
            if out.iter().all(|s| s.instance != one.instance) {
                out.push(one.clone());
            }
        }
    }
    out
}

/// The file's kernels with what they are checked under.
pub fn instances(db: &dyn Db, file: SourceFile) -> Vec<(Function, &[Specialisation])> {
    crate::items::kernels(db, file).iter().map(|&k| (k, specialisations(db, k).as_slice())).collect()
}

/// What Triton compiles for a launch: the types of its arguments, with the facts it specialises on.
pub fn specialise(db: &dyn Db, launch: &Launch) -> Instance {
    let arguments: Vec<Argument> = arguments(db, launch).into_iter().map(|(argument, _)| argument).collect();
    Instance::new(db, launch.kernel, arguments, version(db, launch.kernel))
}

/// The values of the compiled kernel's run-time parameters, in their order: one for each item of a tuple, and for a descriptor its base, its
/// extents and all its strides but the last. What is known at compile time has none.
pub fn run_time_values(db: &dyn Db, launch: &Launch) -> Vec<LaunchArg> {
    let mut out = Vec::new();
    for (argument, given) in arguments(db, launch) {
        if let Some(given) = given {
            add_values(launch, &argument, given, &mut out);
        }
    }
    out
}

fn add_values(launch: &Launch, argument: &Argument, given: &LaunchArg, out: &mut Vec<LaunchArg>) {
    match (argument, given) {
        (Argument::Tuple(arguments), LaunchArg::Tuple(items)) => {
            arguments.iter().zip(items).for_each(|(argument, item)| add_values(launch, argument, item, out));
        }
        (Argument::Descriptor { .. }, LaunchArg::Descriptor { tensor: index, .. }) => {
            let tensor = &launch.tensors[*index];
            let strides = &tensor.strides[..tensor.strides.len().saturating_sub(1)];
            out.push(LaunchArg::Tensor(*index));
            out.extend(tensor.shape.iter().chain(strides).map(|&n| LaunchArg::Int(i128::from(n))));
        }
        (Argument::Runtime { .. }, _) => out.push(given.clone()),
        (Argument::Constexpr(_) | Argument::Unknown | Argument::Tuple(_) | Argument::Descriptor { .. }, _) => {}
    }
}

/// By parameter, what Triton specialises for and what the launch gives; nothing where that is known at compile time.
fn arguments<'l>(db: &dyn Db, launch: &'l Launch) -> Vec<(Argument, Option<&'l LaunchArg>)> {
    let item = items(db, launch.kernel.file(db)).function(launch.kernel);
    let params: &[ParamItem] = item.map_or(&[], |i| &i.params);
    let one = |(i, param): (usize, &ParamItem)| {
        if let Some(value) = launch.meta.get(&param.name) {
            return (Argument::Constexpr(value.clone()), None);
        }
        let special = item.is_none_or(|item| !item.unspecialised.contains(&i));
        match launch.args.get(&param.name) {
            Some(arg) => (argument(launch, arg, param.annotation, special), Some(arg)),
            None => (Argument::Constexpr(Const::None), None),
        }
    };
    params.iter().enumerate().map(one).collect()
}

fn argument(launch: &Launch, arg: &LaunchArg, annotation: Annotation, special: bool) -> Argument {
    match arg {
        LaunchArg::Tensor(t) => {
            let tensor = &launch.tensors[*t];
            let is_aligned = tensor.memory.offset.wrapping_mul(u64::from(tensor.dtype.bytes())) % 16 == 0;
            match pointer(tensor.dtype, annotation) {
                Argument::Runtime { ty, divisible_by_16 } => {
                    Argument::Runtime { ty, divisible_by_16: divisible_by_16 && is_aligned }
                }
                other => other,
            }
        }
        LaunchArg::Int(value) => integer(*value, annotation, special),
        LaunchArg::Float(_) => fixed(annotation, DType::F32),
        LaunchArg::Bool(_) => fixed(annotation, DType::I1),
        LaunchArg::None => Argument::Constexpr(Const::None),
        // The items of a tuple have no annotation, and are always specialised.
        LaunchArg::Tuple(items) => {
            Argument::Tuple(items.iter().map(|item| argument(launch, item, Annotation::None, true)).collect())
        }
        LaunchArg::Descriptor { tensor, block, nan } => {
            Argument::Descriptor { elem: launch.tensors[*tensor].dtype, block: block.clone(), nan: *nan }
        }
    }
}

fn version(db: &dyn Db, kernel: Function) -> SmolStr {
    project::triton(db, kernel.file(db)).into()
}

fn fixed(annotation: Annotation, inferred: DType) -> Argument {
    let dtype = if let Annotation::Scalar(dtype) = annotation { dtype } else { inferred };
    Argument::Runtime { ty: ArgType::Scalar(dtype), divisible_by_16: false }
}

/// The base of a tensor is aligned to 256 bytes.
fn pointer(elem: DType, annotation: Annotation) -> Argument {
    let (elem, is_const) = match annotation {
        Annotation::Pointer { elem, is_const } => (elem, is_const),
        Annotation::ConstPointer => (elem, true),
        Annotation::None | Annotation::Constexpr | Annotation::Scalar(_) => (elem, false),
    };
    Argument::Runtime { ty: ArgType::Ptr { elem, is_const }, divisible_by_16: true }
}

fn integer(value: i128, annotation: Annotation, special: bool) -> Argument {
    let divisible_by_16 = special && value % 16 == 0;
    if let Annotation::Scalar(dtype) = annotation {
        let divisible_by_16 = divisible_by_16 && dtype.is_int() && dtype != DType::I1;
        return Argument::Runtime { ty: ArgType::Scalar(dtype), divisible_by_16 };
    }
    if value == 1 && special {
        return Argument::Constexpr(Const::Int(1));
    }
    let dtype = if i32::try_from(value).is_ok() {
        DType::I32
    } else if i64::try_from(value).is_ok() {
        DType::I64
    } else {
        DType::U64
    };
    Argument::Runtime { ty: ArgType::Scalar(dtype), divisible_by_16 }
}

/// An assumed specialisation with other element types behind its assumed pointers: what is wrong under all of them is wrong whatever is
/// passed.
pub(crate) fn with_other_elements(db: &dyn Db, specialisation: &Specialisation) -> Vec<Instance> {
    let is_open = |i: usize| specialisation.open.contains(&i);
    with_elements_where(
        db,
        specialisation.instance,
        &[DType::F16, DType::I32, DType::I8, DType::U8, DType::I64, DType::I1],
        &is_open,
    )
}

/// An instance with each of some element types behind all of its pointers that no annotation types; without itself.
pub(crate) fn with_elements(db: &dyn Db, instance: Instance, elements: &[DType]) -> Vec<Instance> {
    let item = items(db, instance.function(db).file(db)).function(instance.function(db));
    let is_free =
        |i: usize| item.and_then(|f| f.params.get(i)).is_some_and(|p| !matches!(p.annotation, Annotation::Pointer { .. }));
    with_elements_where(db, instance, elements, &is_free)
}

fn with_elements_where(db: &dyn Db, instance: Instance, elements: &[DType], is_free: &dyn Fn(usize) -> bool) -> Vec<Instance> {
    let under = |other: DType| {
        let arguments = instance.arguments(db).iter().enumerate().map(|(i, argument)| match argument {
            Argument::Runtime { ty: ArgType::Ptr { is_const, .. }, divisible_by_16 } if is_free(i) => {
                Argument::Runtime { ty: ArgType::Ptr { elem: other, is_const: *is_const }, divisible_by_16: *divisible_by_16 }
            }
            _ => argument.clone(),
        });
        Instance::new(db, instance.function(db), arguments.collect::<Vec<_>>(), instance.triton(db).clone())
    };
    elements.iter().copied().map(under).filter(|i| *i != instance).collect()
}

/// The instance of an assumed specialisation with nothing known of those of its assumed arguments that a test picks, by position; `None`
/// if there are none.
pub(crate) fn without(
    db: &dyn Db,
    specialisation: &Specialisation,
    positions: &BTreeSet<usize>,
    test: impl Fn(&Argument) -> bool,
) -> Option<Instance> {
    with_open(db, specialisation, positions, |argument| test(argument).then_some(Argument::Unknown))
}

/// The instance of an assumed specialisation with those of its assumed arguments changed, by position, for which there is another; `None` if
/// there are none.
pub(crate) fn with_open(
    db: &dyn Db,
    specialisation: &Specialisation,
    positions: &BTreeSet<usize>,
    other: impl Fn(&Argument) -> Option<Argument>,
) -> Option<Instance> {
    let instance = specialisation.instance;
    let mut arguments = instance.arguments(db).clone();
    for (i, argument) in arguments.iter_mut().enumerate() {
        if positions.contains(&i)
            && specialisation.open.contains(&i)
            && let Some(other) = other(argument)
        {
            *argument = other;
        }
    }
    (arguments != *instance.arguments(db))
        .then(|| Instance::new(db, instance.function(db), arguments, instance.triton(db).clone()))
}

/// The parameters of an assumed specialisation that nothing says and that a problem may come from, by position.
pub(crate) fn open_sources(db: &dyn Db, specialisation: &Specialisation, problem: &Problem) -> BTreeSet<usize> {
    let mut out = repair::sources(db, specialisation.instance.function(db), problem);
    out.retain(|i| specialisation.open.contains(i));
    out
}

/// How the compile-time parameters that no launch gives are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Assumption {
    /// Which of them this is.
    nth: usize,
    /// The value of the flags at even and at odd positions: two flags meet in all four ways.
    flags: [bool; 2],
    /// All block sizes are the same.
    equal_blocks: bool,
}

/// Flags meet in all four ways.
const ASSUMPTIONS: [Assumption; 4] = [
    Assumption { nth: 0, flags: [true, true], equal_blocks: false },
    Assumption { nth: 2, flags: [false, false], equal_blocks: false },
    Assumption { nth: 3, flags: [false, true], equal_blocks: true },
    Assumption { nth: 1, flags: [true, false], equal_blocks: true },
];

/// So many of them show both arms of what hangs on one flag.
const BOTH_ARMS: usize = 2;

/// What each argument is taken to be of which nothing is known.
struct Guess<'a> {
    db: &'a dyn Db,
    item: &'a FunctionItem,
    flow: &'a Flow,
    /// What it captures of which nothing is known: behind the parameters.
    captured: &'a [SmolStr],
    /// What a launch gives, one for each parameter; `None` where none is known.
    given: Option<&'a [Given]>,
    /// What a row of the tuning says.
    row: Option<&'a host::Config>,
    /// What the rules of the kernel's heuristics make of what is known, by parameter.
    ruled: Vec<(SmolStr, Given)>,
    assumption: Assumption,
}

/// One set of arguments that one launch and one row of the tuning were looked at under.
struct Seen {
    launch: Option<usize>,
    row: Option<u32>,
    /// As they were assumed, before they were repaired.
    arguments: Vec<Argument>,
    instance: Instance,
    /// Nothing is wrong with them that others could make right.
    is_right: bool,
}

/// What a kernel does with each of its parameters.
pub(crate) fn roles(db: &dyn Db, kernel: Function) -> &[Role] {
    &flow::flow(db, kernel).roles
}

/// The specialisations of a kernel that no known launch runs: for each launch that is known in part, at most four beside the first rows of
/// its tuning; so many without one.
#[salsa::tracked(returns(ref))]
pub(crate) fn assumed(db: &dyn Db, kernel: Function) -> Vec<Specialisation> {
    let Some(item) = items(db, kernel.file(db)).function(kernel) else { return vec![] };
    let flow = flow::flow(db, kernel);
    let captured = globals::captured(db, kernel);
    let (configs, rows) = (host::configs(db, kernel), rows(db, kernel));
    let partial = partial_launches(db, kernel);
    let launches: Vec<Option<usize>> = if partial.is_empty() { vec![None] } else { (0..partial.len()).map(Some).collect() };
    let mut rules = host::Rules::of(db, kernel);
    let mut out: Vec<Specialisation> = Vec::new();
    let mut tried: Vec<Vec<Argument>> = Vec::new();
    let mut seen: Vec<Seen> = Vec::new();
    let only_first = db.settings().chosen(db).only_first;
    let mut repairs = Repairs::new(!partial.is_empty());
    // How flags meet is tried last: what both arms of each and the other launches show may be everything.
    let mut rest: Vec<(Option<usize>, Assumption)> = Vec::new();
    for launch in launches.into_iter().map(Some).chain([None]) {
        let sets = match launch {
            // What one launch leaves open is tried in every way; the others show what they say differently.
            Some(launch) => {
                let is_wide = out.iter().all(|s| s.open.is_empty());
                let (first, others) = ASSUMPTIONS.split_at(if is_wide { BOTH_ARMS } else { 1 });
                rest.extend(others.iter().filter(|_| is_wide).map(|&assumption| (launch, assumption)));
                first.iter().map(|&assumption| (launch, assumption)).collect()
            }
            None => std::mem::take(&mut rest),
        };
        let is_last = launch.is_none();
        for (launch, assumption) in sets {
            let written = launch.and_then(|launch| partial.get(launch));
            let given = written.map(|written| written.launch.given.as_slice());
            // A tuning gives the blocks; all its rows are tried under the first assumption alone.
            let rows_tried = if out.is_empty() { MAX_ASSUMED_ROWS } else { 1 };
            for &row in rows.iter().take(rows_tried) {
                let mut guess = Guess {
                    db,
                    item,
                    flow,
                    captured,
                    given,
                    row: row.and_then(|row| configs.get(row as usize)),
                    ruled: vec![],
                    assumption,
                };
                let arguments = guess.arguments(rules.as_mut());
                let is_conditional = written.is_some_and(|written| written.is_conditional);
                if let Some(known) = tried.iter().position(|known| *known == arguments) {
                    out[known].is_conditional &= is_conditional;
                    continue;
                }
                let shown = || seen.iter().filter(|seen| (seen.launch, seen.row) == (launch, row));
                // Other sizes than those under which nothing is wrong show nothing: they are there to refute.
                if shown().any(|seen| seen.is_right && guess.differs_by_sizes(&seen.arguments, &arguments)) {
                    continue;
                }
                // Nor do flags that meet otherwise where nothing was wrong and everything was seen: an error that only they have is at a place that
                // is right under the others.
                let shows_all = |group: &[&Seen]| {
                    let all: Vec<&Elaborated> = group.iter().map(|seen| elaborate(db, seen.instance)).collect();
                    group.iter().all(|seen| seen.is_right) && come_everywhere(db, &all)
                };
                if is_last
                    && shown().next().is_some_and(|first| guess.differs_by_flags(&first.arguments, &arguments))
                    && (shows_all(&shown().collect::<Vec<_>>()) || shows_all(&seen.iter().collect::<Vec<_>>()))
                {
                    continue;
                }
                tried.push(arguments.clone());
                let open: Vec<usize> = (0..guess.count()).filter(|&i| guess.is_open(i)).collect();
                let is_free = |i: usize, argument: &Argument| open.contains(&i) && guess.may_be(i, argument);
                let instance = Instance::new(db, kernel, arguments, version(db, kernel));
                let instance = repairs.repair(db, instance, flow, &is_free);
                let called = written.and_then(|written| written.called).filter(|_| open.is_empty());
                out.push(Specialisation {
                    instance,
                    launches: vec![],
                    config: row,
                    open,
                    partial: launch,
                    called,
                    is_conditional,
                });
                let is_right = repair::errors(db, elaborate(db, instance)).next().is_none();
                let arguments = tried.last().cloned().unwrap_or_default();
                seen.push(Seen { launch, row, arguments, instance, is_right });
                // What one set of guesses does not bring to an end the others need not try.
                if elaborate(db, instance).exhausted {
                    return out;
                }
                // The others are there to refute: where nothing is wrong, who wants one set gets one.
                if only_first && is_right {
                    return out;
                }
            }
        }
    }
    out
}

/// A launch that host code writes, as far as it is known.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Written<'db> {
    pub(crate) launch: &'db PartialLaunch,
    /// The place among [`host::called`], where another file makes it for certain.
    pub(crate) called: Option<usize>,
    /// Another file makes it under a condition that is not known.
    pub(crate) is_conditional: bool,
}

/// The launches of a kernel that host code writes, those of other files first, without those that say no more than another.
pub(crate) fn partial_launches(db: &dyn Db, kernel: Function) -> Vec<Written<'_>> {
    let Some(item) = items(db, kernel.file(db)).function(kernel) else { return vec![] };
    let called = host::called(db, kernel);
    let mut out: Vec<Written<'_>> = Vec::new();
    let mut left: Vec<usize> = Vec::new();
    let mut order: Vec<usize> = (0..called.len()).collect();
    order.sort_by_key(|&index| (called[index].is_conditional, !called[index].is_certain, called[index].open.len()));
    for index in order {
        if !left.iter().any(|&known| says_all_of(item, &called[known].partial, &called[index].partial)) {
            left.push(index);
        }
    }
    // Each says something that those before it do not: more than any other does.
    while !left.is_empty() && out.len() < MAX_CALLED {
        let is_new = |index: usize, at: &usize| {
            let seen =
                |known: &Written<'_>| is_same(item, *at, known.launch.given.get(*at), called[index].partial.given.get(*at));
            !out.iter().any(seen)
        };
        let news = |&index: &usize| (0..item.params.len()).filter(|at| is_new(index, at)).count();
        let is_full = out.iter().filter(|known| known.is_conditional).count() >= MAX_CONDITIONAL;
        left.retain(|&index| !is_full || !called[index].is_conditional);
        let most = left.iter().map(news).max();
        let Some(next) = left.iter().position(|index| Some(news(index)) == most) else { break };
        let index = left.remove(next);
        out.push(Written {
            launch: &called[index].partial,
            called: called[index].is_certain.then_some(index),
            is_conditional: called[index].is_conditional,
        });
    }
    let own = host::partial_launches(db, kernel);
    let is_covered = |index: usize| {
        let one = &own[index];
        // Who calls the function around it knows what it is called with.
        called.iter().any(|called| !called.is_conditional && says_all_of(item, &called.partial, one))
            || own.iter().enumerate().any(|(other, more)| {
                let says_more = one.given.iter().zip(&more.given).all(|(a, b)| a == b || *a == Given::UNKNOWN);
                other != index && says_more && one.options == more.options && (one.given != more.given || other < index)
            })
    };
    let left = (0..own.len()).filter(|&index| !is_covered(index)).take(MAX_PARTIAL_LAUNCHES);
    out.extend(left.map(|index| Written { launch: &own[index], called: None, is_conditional: false }));
    out
}

/// Whether Triton compiles the same for two arguments, as it does for most integers.
fn is_same(item: &FunctionItem, at: usize, one: Option<&Given>, other: Option<&Given>) -> bool {
    match (one, other, item.params.get(at)) {
        (Some(Given::Known(one)), Some(Given::Known(other)), Some(param)) => {
            let special = !item.unspecialised.contains(&at);
            argument_of(one, param.annotation, special) == argument_of(other, param.annotation, special)
        }
        (one, other, _) => one == other,
    }
}

/// Whether a launch says everything that another does, and nothing that speaks against it.
fn says_all_of(item: &FunctionItem, more: &PartialLaunch, less: &PartialLaunch) -> bool {
    let options = [
        (more.options.num_warps, less.options.num_warps),
        (more.options.num_stages, less.options.num_stages),
        (more.options.max_registers, less.options.max_registers),
    ];
    let says = |at: usize| {
        let (more, less) = (more.given.get(at), less.given.get(at));
        is_same(item, at, more, less) || more.zip(less).is_some_and(|(more, less)| less.admits(more))
    };
    options.iter().all(|(more, less)| less.is_none() || more == less) && (0..item.params.len()).all(says)
}

impl Guess<'_> {
    /// Of parameters and what is captured.
    fn count(&self) -> usize {
        self.item.params.len() + self.captured.len()
    }

    fn arguments(&mut self, rules: Option<&mut host::Rules<'_>>) -> Vec<Argument> {
        let count = self.count();
        let Some(rules) = rules else { return (0..count).map(|i| self.argument(i)).collect() };
        // First by what is known, then by what is assumed to go with it.
        let names = || self.item.params.iter().map(|param| param.name.clone());
        let known: Vec<(SmolStr, Given)> = names().zip((0..count).map(|i| self.given(i))).collect();
        let mut ruled = rules.values(known.clone());
        if ruled.iter().any(|(_, value)| !value.is_known()) {
            let assumed = known.into_iter().enumerate().map(|(i, (name, given))| match (&given, self.argument(i)) {
                (
                    Given::Open { .. } | Given::OneOf(_),
                    Argument::Constexpr(value @ (Const::Int(_) | Const::Float(_) | Const::Str(_))),
                ) if self.item.params[i].annotation == Annotation::Constexpr => (name, Given::Known(value)),
                _ => (name, given),
            });
            let assumed = rules.values(assumed.collect());
            for ((_, value), (_, assumed)) in ruled.iter_mut().zip(assumed) {
                if let (Given::Open { kind, may_be_none, .. }, Given::Known(usual)) = (&*value, assumed) {
                    *value = Given::Open { kind: *kind, may_be_none: *may_be_none, usual: Some(usual) };
                }
            }
        }
        self.ruled = ruled;
        (0..count).map(|i| self.argument(i)).collect()
    }

    /// What is said of a parameter: by the row, by the rules, by the launch, in this order.
    fn given(&self, index: usize) -> Given {
        let Some(ParamItem { name, .. }) = self.item.params.get(index) else { return Given::UNKNOWN };
        if let Some(value) = self.row.and_then(|row| row.meta.get(name)) {
            return Given::Known(value.clone());
        }
        let ruled = self.ruled.iter().find(|(ruled, _)| ruled == name).map(|(_, value)| value);
        ruled.or(self.given.and_then(|given| given.get(index))).cloned().unwrap_or(Given::UNKNOWN)
    }

    /// Whether nothing says what the argument is.
    fn is_open(&self, index: usize) -> bool {
        let Some(param) = self.item.params.get(index) else { return true };
        let is_typed = !matches!(param.annotation, Annotation::None | Annotation::Constexpr | Annotation::ConstPointer);
        let has_default = self.given.is_none() && host::default_of(self.db, self.item.function, index).is_some();
        !is_typed && !has_default && !self.given(index).is_known()
    }

    /// Whether two sets of arguments differ in numbers alone that nothing says and that decide no condition.
    fn differs_by_sizes(&self, one: &[Argument], other: &[Argument]) -> bool {
        self.differs_by(one, other, &|_, _| false)
    }

    /// The same, or in what is true or false.
    fn differs_by_flags(&self, one: &[Argument], other: &[Argument]) -> bool {
        let is_truth = |argument: &Argument| matches!(argument, Argument::Constexpr(Const::Bool(_)));
        self.differs_by(one, other, &|one, other| is_truth(one) && is_truth(other))
    }

    fn differs_by(&self, one: &[Argument], other: &[Argument], allowed: &dyn Fn(&Argument, &Argument) -> bool) -> bool {
        let is_size = |index: usize, argument: &Argument| {
            matches!(argument, Argument::Constexpr(Const::Int(_)))
                && !matches!(self.role(index), Role::Flag | Role::Choice(_))
                && !matches!(self.given(index), Given::OneOf(_))
                && !self.flow.decides.contains(&index)
        };
        let is_allowed = |(i, (one, other)): (usize, (&Argument, &Argument))| {
            one == other || is_size(i, one) && is_size(i, other) || allowed(one, other)
        };
        one.iter().zip(other).enumerate().all(is_allowed)
    }

    /// Whether what is known of an argument allows for another that was assumed.
    fn may_be(&self, index: usize, argument: &Argument) -> bool {
        match self.given(index) {
            Given::Known(_) | Given::Tuple(_) | Given::Descriptor { .. } => false,
            Given::OneOf(values) => matches!(argument, Argument::Constexpr(value) if values.contains(value)),
            Given::Open { may_be_none: true, .. } if *argument == Argument::Constexpr(Const::None) => true,
            Given::Open { kind, .. } => matches!(
                (kind, argument),
                (Kind::Any, _)
                    | (Kind::Tensor(None), Argument::Runtime { ty: ArgType::Ptr { .. }, .. })
                    | (
                        Kind::Int,
                        Argument::Constexpr(Const::Int(_))
                            | Argument::Runtime { ty: ArgType::Scalar(DType::I32 | DType::I64), .. }
                    )
                    | (Kind::Bool, Argument::Constexpr(Const::Bool(_)))
                    | (Kind::Str, Argument::Constexpr(Const::Str(_)))
                    | (Kind::DType, Argument::Constexpr(Const::DType(_)))
            ),
        }
    }

    fn argument(&self, index: usize) -> Argument {
        let Some(param) = self.item.params.get(index) else {
            let value = self.constexpr(index, Kind::Any, None);
            return value.map_or(Argument::Unknown, Argument::Constexpr);
        };
        let special = !self.item.unspecialised.contains(&index);
        let given = self.given(index);
        match &given {
            Given::Known(value) => argument_of(value, param.annotation, special),
            Given::OneOf(values) => match values.get(self.assumption.nth % values.len().max(1)) {
                Some(value) => argument_of(value, param.annotation, special),
                None => Argument::Unknown,
            },
            Given::Tuple(items) => tuple_of(items),
            Given::Descriptor { elem, block, nan } => Argument::Descriptor { elem: *elem, block: block.clone(), nan: *nan },
            Given::Open { kind: Kind::Tensor(Some(elem)), .. } => pointer(*elem, param.annotation),
            Given::Open { kind, usual, .. } => self.assume(index, *kind, usual.as_ref()),
        }
    }

    fn assume(&self, index: usize, kind: Kind, usual: Option<&Const>) -> Argument {
        let Guess { db, item, .. } = *self;
        let param = &item.params[index];
        let role = self.role(index);
        let runtime = |dtype: DType, divisible_by_16: bool| Argument::Runtime { ty: ArgType::Scalar(dtype), divisible_by_16 };
        match (param.annotation, kind) {
            (Annotation::Constexpr, _) => {
                let value = self.constexpr(index, kind, usual);
                value.map_or(Argument::Unknown, Argument::Constexpr)
            }
            (Annotation::Scalar(dtype), _) => runtime(dtype, false),
            (Annotation::Pointer { elem, .. }, _) => pointer(elem, param.annotation),
            (Annotation::ConstPointer, _) => pointer(DType::F32, param.annotation),
            // A descriptor has a shape too: what is used as one is none of the tensors that are pointers.
            (Annotation::None, Kind::Tensor(None)) if role == Role::Compound => Argument::Unknown,
            (Annotation::None, Kind::Tensor(_)) => {
                pointer(if role == Role::IndexPointer { DType::I32 } else { DType::F32 }, param.annotation)
            }
            (Annotation::None, Kind::Int) if role == Role::One => Argument::Constexpr(Const::Int(1)),
            (Annotation::None, Kind::Int) => runtime(DType::I32, true),
            (Annotation::None, Kind::Float) => runtime(DType::F32, false),
            (Annotation::None, Kind::Bool) => runtime(DType::I1, false),
            (Annotation::None, Kind::Any | Kind::Str | Kind::DType | Kind::Ints) => match role {
                Role::Pointer => pointer(DType::F32, param.annotation),
                Role::IndexPointer => pointer(DType::I32, param.annotation),
                Role::Compound => Argument::Unknown,
                Role::One => Argument::Constexpr(Const::Int(1)),
                Role::Number | Role::Trips | Role::UnrolledSize | Role::Flag | Role::Dtype | Role::Function | Role::Choice(_) => {
                    match host::default_of(db, item.function, index) {
                        Some(Const::Float(_)) => runtime(DType::F32, false),
                        Some(Const::None) => Argument::Constexpr(Const::None),
                        Some(Const::Bool(_)) => runtime(DType::I1, false),
                        _ if sounds_like_a_float(&param.name) && !self.flow.whole.contains(&index) => runtime(DType::F32, false),
                        _ => runtime(DType::I32, true),
                    }
                }
            },
        }
    }

    fn role(&self, index: usize) -> Role {
        self.flow.roles.get(index).copied().unwrap_or(Role::Number)
    }

    /// What a compile-time value is taken to be.
    fn constexpr(&self, index: usize, kind: Kind, usual: Option<&Const>) -> Option<Const> {
        let Guess { db, item, flow, assumption, .. } = *self;
        let role = self.role(index);
        let own = item.params.get(index);
        let name = own.map(|param| &param.name).or_else(|| self.captured.get(index - item.params.len()))?;
        // Its place among the flags.
        let is_flag = |at: &usize| {
            flow.roles.get(*at) == Some(&Role::Flag) && item.params.get(*at).is_none_or(|p| p.annotation == Annotation::Constexpr)
        };
        let before = (0..index).filter(is_flag);
        let flag = assumption.flags[before.count() % 2] && !speaks_of_other_hardware(name);
        let default = own.and_then(|_| host::default_of(db, item.function, index));
        // What somebody may say otherwise is not always what it usually is.
        let is_usual = kind == Kind::Str || assumption.nth.is_multiple_of(2) && !matches!(role, Role::Choice(_));
        let default = usual.filter(|_| is_usual).or(default.as_ref());
        match (role, default) {
            (Role::Flag, None | Some(Const::Bool(_))) => return Some(Const::Bool(flag)),
            _ if kind == Kind::Bool => return Some(Const::Bool(flag)),
            (_, Some(value)) => return Some(value.clone()),
            _ if kind == Kind::Float => return Some(Const::float(1.0)),
            _ if kind == Kind::DType => return Some(Const::DType(DType::F32)),
            (Role::Dtype, None) => return Some(Const::DType(DType::F32)),
            (Role::Function | Role::Compound, None) => return None,
            (Role::One, None) => return Some(Const::Int(1)),
            (Role::Choice(i), None) => {
                let choices = flow.choices.get(i as usize).map_or(&[][..], Vec::as_slice);
                match (choices, flag) {
                    ([_, _, _, ..], _) => return Some(choices[assumption.nth % choices.len()].clone()),
                    ([first, ..], true) => return Some(first.clone()),
                    ([Const::Str(_)], false) => return Some(Const::Str(String::new())),
                    ([_, .., last], false) => return Some(last.clone()),
                    _ => {}
                }
            }
            // Unrolled: what holds of a few trips holds of many.
            (Role::Trips, None) => return Some(Const::Int(4)),
            // A trip for every element: as few as a tile of a product may have.
            (Role::UnrolledSize, None) => return Some(Const::Int(16)),
            _ if kind == Kind::Str => return None,
            (Role::Pointer | Role::IndexPointer | Role::Number, None) => {}
        }
        let name = name.to_ascii_uppercase();
        let has = |part: &str| name.contains(part);
        // `BLOCK_M`, `BLOCK_SIZE_M`, `BLOCKM`, `BM`, `M`
        let along = |axis: &str| {
            name.strip_suffix(axis).is_some_and(|rest| rest.ends_with('_') || matches!(rest, "" | "B" | "BLOCK" | "TILE"))
        };
        let value = if has("WARPS") {
            4
        } else if has("STAGES") {
            3
        } else if has("GROUP") {
            8
        } else if has("SPLIT") || has("STRIDE") {
            1
        } else if has("NUM_") || has("ITERS") {
            4
        } else if assumption.equal_blocks {
            64
        } else if along("M") {
            128
        } else if along("K") {
            32
        } else if has("BLOCK") && !along("N") {
            128
        } else {
            64
        };
        Some(Const::Int(value))
    }
}

/// What Triton makes of a value of the host.
fn argument_of(value: &Const, annotation: Annotation, special: bool) -> Argument {
    match (annotation, value) {
        (Annotation::Constexpr, value) => Argument::Constexpr(value.clone()),
        (_, Const::Int(value)) => integer(*value, annotation, special),
        (_, Const::Float(_)) => fixed(annotation, DType::F32),
        (_, Const::Bool(_)) => fixed(annotation, DType::I1),
        (_, Const::Tuple(items)) => Argument::Tuple(items.iter().map(|item| argument_of(item, Annotation::None, true)).collect()),
        (_, value @ (Const::None | Const::Str(_) | Const::DType(_) | Const::Function(_))) => Argument::Constexpr(value.clone()),
    }
}

/// A tuple of which each item is known; nothing is assumed of the others.
fn tuple_of(items: &[Given]) -> Argument {
    let item = |item: &Given| match item {
        Given::Known(value) => Some(argument_of(value, Annotation::None, true)),
        Given::Open { kind: Kind::Tensor(Some(elem)), may_be_none: false, .. } => Some(pointer(*elem, Annotation::None)),
        Given::Descriptor { elem, block, nan } => Some(Argument::Descriptor { elem: *elem, block: block.clone(), nan: *nan }),
        Given::Tuple(items) => Some(tuple_of(items)),
        Given::OneOf(_) | Given::Open { .. } => None,
    };
    items.iter().map(item).collect::<Option<Vec<Argument>>>().map_or(Argument::Unknown, Argument::Tuple)
}

/// A flag that is off wherever this program's targets are: `IS_ROCM`.
fn speaks_of_other_hardware(name: &str) -> bool {
    name.split('_').any(|word| {
        ["rocm", "hip", "amd", "cdna", "npu", "ascend", "xpu", "musa"].iter().any(|other| word.eq_ignore_ascii_case(other))
    })
}

fn sounds_like_a_float(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    if ["stride", "size", "row", "col", "num", "idx", "index", "offset", "len", "dim"].iter().any(|part| name.contains(part)) {
        return false;
    }
    is_epsilon(&name)
        || ["scale", "alpha", "beta", "momentum", "slope", "dropout", "prob", "decay", "temperature"]
            .iter()
            .any(|part| name.contains(part))
        || matches!(name.as_str(), "p" | "lr" | "gamma" | "theta")
}

/// `eps`, `rms_eps`, `epsilon`; not `steps`.
pub(crate) fn is_epsilon(name: &str) -> bool {
    name.split('_').any(|word| word.starts_with("eps")) || name.ends_with("epsilon")
}
