//! From a kernel and a launch to the instance that Triton would compile; from a kernel alone to the instances assumed for it.
//!
//! **Invariant:** every kernel has at least one instance; instances from launches come first, assumed ones only where there is no launch.
//! Of an argument that cannot be assumed (a function, a tuple, a descriptor) nothing is known, and nothing that depends on it is checked.

use smol_str::SmolStr;

use crate::{
    ArgType, Argument, Db, Function, Instance, SourceFile,
    configuration::{MAX_DISTINCT, configurations, rows},
    constant::Const,
    diagnostics::{Code, Severity},
    dtype::DType,
    elaborate::elaborate,
    host,
    items::{Annotation, FunctionItem, ParamItem, items},
    launch::{Launch, LaunchArg},
    problem::Problem,
    project,
};

mod flow;
mod repair;

use flow::{Flow, Role};
use repair::Repairs;

pub(crate) use flow::{effects, sources};
pub(crate) use repair::hangs_on_arguments;

/// Rows of a tuning that are checked without a launch.
const MAX_ASSUMED_ROWS: usize = 6;

/// One specialisation of a kernel, and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Specialisation {
    pub instance: Instance,
    /// The launches of the kernel (by index) that make it; empty if it is assumed.
    pub launches: Vec<usize>,
    /// The row of the kernel's tuning.
    pub config: Option<u32>,
}

impl Specialisation {
    pub fn is_assumed(&self) -> bool {
        self.launches.is_empty()
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
                out.push(Specialisation { instance: configuration.instance, launches: vec![index], config: configuration.row });
            }
            None => {}
        }
    }
    if out.is_empty() {
        for &(instance, config) in assumed(db, kernel) {
            if out.iter().all(|s| s.instance != instance) {
                out.push(Specialisation { instance, launches: vec![], config });
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
        LaunchArg::Tensor(t) => pointer(launch.tensors[*t].dtype, annotation),
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

/// An assumed instance with other element types behind its pointers: what is wrong under all of them is wrong whatever is passed.
pub(crate) fn with_other_elements(db: &dyn Db, instance: Instance) -> Vec<Instance> {
    with_elements(db, instance, &[DType::F16, DType::I32, DType::I8, DType::I64])
}

/// An instance with each of some element types behind all of its pointers that no annotation types; without itself.
pub(crate) fn with_elements(db: &dyn Db, instance: Instance, elements: &[DType]) -> Vec<Instance> {
    let item = items(db, instance.function(db).file(db)).function(instance.function(db));
    let is_free =
        |i: usize| item.and_then(|f| f.params.get(i)).is_some_and(|p| !matches!(p.annotation, Annotation::Pointer { .. }));
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

/// The instance of an assumed specialisation with nothing known of the numbers that were assumed for what a problem is made of; `None` if
/// there are none.
pub(crate) fn without_assumed_values(db: &dyn Db, specialisation: &Specialisation, problem: &Problem) -> Option<Instance> {
    let instance = specialisation.instance;
    let kernel = instance.function(db);
    let item = items(db, kernel.file(db)).function(kernel)?;
    let row = specialisation.config.and_then(|row| host::configs(db, kernel).get(row as usize));
    let mut arguments = instance.arguments(db).clone();
    for i in repair::sources(db, kernel, problem) {
        let (Some(param), Some(argument)) = (item.params.get(i), arguments.get_mut(i)) else { continue };
        let is_assumed = matches!(param.annotation, Annotation::None | Annotation::Constexpr)
            && row.is_none_or(|row| row.meta.get(&param.name).is_none())
            && host::default_of(db, kernel, i).is_none();
        let is_number = match argument {
            Argument::Constexpr(_) => true,
            // That it is known at run time only is no assumption of a value.
            Argument::Runtime { ty: ArgType::Scalar(_), .. } => problem.code != Code::CXP001,
            _ => false,
        };
        if is_assumed && is_number {
            *argument = Argument::Unknown;
        }
    }
    (arguments != *instance.arguments(db)).then(|| Instance::new(db, kernel, arguments, instance.triton(db).clone()))
}

/// How the compile-time parameters that no launch gives are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Assumption {
    /// The value of the flags at even and at odd positions: two flags meet in all four ways.
    flags: [bool; 2],
    /// All block sizes are the same.
    equal_blocks: bool,
}

/// The instances of a kernel that no known launch runs, at most four beside the first rows of its tuning.
#[salsa::tracked(returns(ref))]
pub(crate) fn assumed(db: &dyn Db, kernel: Function) -> Vec<(Instance, Option<u32>)> {
    let Some(item) = items(db, kernel.file(db)).function(kernel) else { return vec![] };
    let flow = flow::flow(db, kernel);
    let (configs, rows) = (host::configs(db, kernel), rows(db, kernel));
    let mut out = Vec::new();
    let only_first = db.settings().chosen(db).only_first;
    let mut repairs = Repairs::new(host::is_run(db, kernel));
    for (flags, equal_blocks) in [([true, true], false), ([true, false], true), ([false, false], false), ([false, true], true)] {
        let assumption = Assumption { flags, equal_blocks };
        // A tuning gives the blocks; all its rows are tried under the first assumption alone.
        let tried = if out.is_empty() { MAX_ASSUMED_ROWS } else { 1 };
        for &row in rows.iter().take(tried) {
            let tuned = |name: &str| configs.get(row? as usize)?.meta.get(name).cloned();
            let arguments: Vec<Argument> =
                (0..item.params.len()).map(|i| assume(db, item, i, flow, assumption, &tuned)).collect();
            let is_free = |i: usize| {
                let param = &item.params[i];
                let is_open = matches!(param.annotation, Annotation::None | Annotation::Constexpr | Annotation::ConstPointer);
                is_open && tuned(&param.name).is_none() && host::default_of(db, kernel, i).is_none()
            };
            let instance = Instance::new(db, kernel, arguments, version(db, kernel));
            let instance = repairs.repair(db, instance, flow, &is_free);
            out.push((instance, row));
            // What one set of guesses does not bring to an end the others need not try.
            if elaborate(db, instance).exhausted {
                return out;
            }
            // The others are there to refute: where nothing is wrong, who wants one set gets one.
            if only_first && !elaborate(db, instance).problems.iter().any(|p| p.severity() == Severity::Error) {
                return out;
            }
        }
    }
    out
}

fn assume(
    db: &dyn Db,
    item: &FunctionItem,
    index: usize,
    flow: &Flow,
    assumption: Assumption,
    tuned: &dyn Fn(&str) -> Option<Const>,
) -> Argument {
    let param = &item.params[index];
    if let Some(value) = tuned(&param.name) {
        return Argument::Constexpr(value);
    }
    let role = flow.roles.get(index).copied().unwrap_or(Role::Number);
    let runtime = |dtype: DType, divisible_by_16: bool| Argument::Runtime { ty: ArgType::Scalar(dtype), divisible_by_16 };
    match param.annotation {
        Annotation::Constexpr => {
            constexpr(db, item, index, role, flow, assumption).map_or(Argument::Unknown, Argument::Constexpr)
        }
        Annotation::Scalar(dtype) => runtime(dtype, false),
        Annotation::Pointer { elem, .. } => pointer(elem, param.annotation),
        Annotation::ConstPointer => pointer(DType::F32, param.annotation),
        Annotation::None => match role {
            Role::Pointer => pointer(DType::F32, param.annotation),
            Role::IndexPointer => pointer(DType::I32, param.annotation),
            Role::Compound => Argument::Unknown,
            Role::One => Argument::Constexpr(Const::Int(1)),
            Role::Number | Role::Trips | Role::UnrolledSize | Role::Flag | Role::Dtype | Role::Function | Role::Choice(_) => {
                match host::default_of(db, item.function, index) {
                    Some(Const::Float(_)) => runtime(DType::F32, false),
                    Some(Const::None) => Argument::Constexpr(Const::None),
                    Some(Const::Bool(_)) => runtime(DType::I1, false),
                    _ if sounds_like_a_float(&param.name) => runtime(DType::F32, false),
                    _ => runtime(DType::I32, true),
                }
            }
        },
    }
}

fn constexpr(db: &dyn Db, item: &FunctionItem, index: usize, role: Role, flow: &Flow, assumption: Assumption) -> Option<Const> {
    let param = &item.params[index];
    // Its place among the flags.
    let before = item
        .params
        .iter()
        .zip(&flow.roles)
        .take(index)
        .filter(|(p, r)| p.annotation == Annotation::Constexpr && **r == Role::Flag);
    let flag = assumption.flags[before.count() % 2] && !speaks_of_other_hardware(&param.name);
    let default = host::default_of(db, item.function, index);
    match (role, &default) {
        (Role::Flag, None | Some(Const::Bool(_))) => return Some(Const::Bool(flag)),
        (_, Some(value)) => return Some(value.clone()),
        (Role::Dtype, None) => return Some(Const::DType(DType::F32)),
        (Role::Function | Role::Compound, None) => return None,
        (Role::One, None) => return Some(Const::Int(1)),
        (Role::Choice(i), None) => {
            let choices = flow.choices.get(i as usize).map_or(&[][..], Vec::as_slice);
            match (choices, flag) {
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
        (Role::Pointer | Role::IndexPointer | Role::Number, None) => {}
    }
    let name = param.name.to_ascii_uppercase();
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
    ["scale", "eps", "alpha", "beta", "momentum", "slope", "dropout", "prob", "decay", "temperature"]
        .iter()
        .any(|part| name.contains(part))
        || matches!(name.as_str(), "p" | "lr" | "gamma" | "theta")
}
