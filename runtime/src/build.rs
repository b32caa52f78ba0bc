//! Ahead-of-time builds: every specialisation that known launches need, compiled, with what a program must know to launch it.
//!
//! A *function* of a build is a kernel with its compile-time values and options: what a caller means by name, with run-time arguments in order.
//! Its *variants* are what Triton would specialise it for; the functions in C and Rust choose among them by what they are given.
//! **Invariant:** what is written says of every argument what its variant takes for granted, so a launch that fits none is an error and never
//! another kernel's launch.

mod c;
mod names;
mod rust;
#[cfg(test)]
mod tests;

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
};

use serde::Serialize;
use tritium_codegen::{CompileOptions, tensor_map::TensorMap};
use tritium_semantics::{
    ArgType, Argument, Database, Function, Instance, SourceFile,
    configuration::configurations,
    constant::Const,
    diagnostics::Severity,
    dtype::DType,
    elaborate::elaborate,
    items::{self, Annotation, ParamItem},
    launch::{self, Launch, LaunchArg, LaunchOptions},
    places,
    problem::{At, Place},
    target::Sm,
};

use crate::{
    files,
    run::{Compiled, Compiler, each},
    store::{IN_BUILD, Store},
    worker,
};

/// What is told of a build to programs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Manifest {
    pub version: u32,
    pub tritium: String,
    pub functions: Vec<Entry>,
    /// What no part of this build runs: it would still be compiled at run time.
    pub compiled_at_run_time: Vec<Left>,
}

/// A kernel with its compile-time values and options.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Entry {
    /// `tritium_NAME` in C, `launch_NAME` in Rust.
    pub name: String,
    pub kernel: String,
    pub file: String,
    pub line: u32,
    pub compile_time: Vec<Value>,
    pub num_warps: u32,
    pub num_stages: u32,
    pub max_registers: Option<u32>,
    /// Of a CTA.
    pub threads: u32,
    pub arguments: Vec<Taken>,
    /// The most specialised first.
    pub variants: Vec<Variant>,
}

/// A compile-time value.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub struct Value {
    pub name: String,
    /// As Python spells it.
    pub value: String,
    /// If it is a whole number that C and Rust can name.
    #[serde(skip)]
    pub number: Option<i64>,
}

/// A run-time argument of a function.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub struct Taken {
    pub name: String,
    #[serde(flatten)]
    pub kind: Kind,
}

/// What a caller passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Kind {
    /// A device address.
    Address {
        #[serde(serialize_with = "by_name")]
        of: DType,
    },
    /// Any whole number: the variant must have the bits for it.
    Integer,
    /// A number of exactly this type. Floats of 16 and 8 bits are passed as their bits.
    Scalar {
        #[serde(serialize_with = "by_name")]
        of: DType,
    },
}

fn by_name<S: serde::Serializer>(dtype: &DType, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(dtype.name())
}

/// One specialisation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Variant {
    /// `add-1f2e3d4c`
    pub name: String,
    /// What the driver finds it by in its images.
    pub symbol: String,
    /// One for each argument of the function.
    pub parameters: Vec<Need>,
    /// Those that need it; none if it was only asked for with `--all-variants`.
    pub launches: Vec<Launched>,
    pub images: Vec<Image>,
}

/// What a variant takes for granted of an argument.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub struct Need {
    pub name: String,
    /// In the kernel, such as `i32`, `*f16`.
    #[serde(rename = "type")]
    pub ty: String,
    pub c_type: &'static str,
    /// Of the kernel's parameter; 0 where it is no parameter, as it is known to be 1.
    pub bytes: u32,
    pub is_one: bool,
    /// The value, or the address in bytes, is a multiple of this; 1 if nothing is known.
    pub divisible_by: u32,
    /// The value fits a signed number of 32 bits.
    #[serde(skip)]
    pub is_narrow: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Launched {
    pub name: String,
    pub grid: [u64; 3],
}

/// A variant for one architecture.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Image {
    pub arch: &'static str,
    pub file: String,
    /// `cubin`, or `ptx` where it was made without ptxas.
    pub form: Form,
    /// Dynamic, of a CTA.
    pub shared_bytes: u32,
    /// Of a thread.
    pub registers: Option<u32>,
    pub spill_bytes: Option<u32>,
    /// Parameters behind those of the kernel, in order.
    pub tensor_maps: Vec<Map>,
    #[serde(skip)]
    pub bytes: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    Cubin,
    Ptx,
}

/// A tensor map; numbers of arguments are places among those of the function. Axes count from the contiguous one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Map {
    pub base: usize,
    /// In elements.
    pub extents: Vec<Part>,
    /// In elements, without the contiguous axis.
    pub strides: Vec<Part>,
    #[serde(rename = "box")]
    pub boxes: Vec<u32>,
    pub element_bytes: u32,
    pub swizzle: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    Argument(usize),
    Constant(i64),
}

/// What is not in a build, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Left {
    pub file: String,
    pub line: u32,
    pub kernel: String,
    pub why: String,
}

/// A file to build.
pub struct Source {
    pub path: PathBuf,
    pub file: SourceFile,
    pub archs: Vec<&'static Sm>,
}

/// What is to be compiled.
pub struct Plan {
    functions: Vec<Planned>,
    left: Vec<Left>,
    /// Launches that are not understood: complete messages.
    failures: Vec<String>,
}

struct Planned {
    entry: Entry,
    function: Function,
    options: LaunchOptions,
    archs: Vec<&'static Sm>,
    variants: Vec<(Instance, Variant)>,
}

/// A build in memory.
pub struct Built {
    pub manifest: Manifest,
    /// Complete messages.
    pub failures: Vec<String>,
}

/// An argument as one launch has it.
struct Leaf {
    taken: Taken,
    need: Need,
}

impl Plan {
    /// Of the launches of these files, all or those of one kernel. `all_variants`: also what a launch needs whose integers differ.
    pub fn new(db: &Database, sources: &[Source], kernel: Option<&str>, all_variants: bool) -> Plan {
        let mut plan = Plan { functions: Vec::new(), left: Vec::new(), failures: Vec::new() };
        for source in sources {
            plan.add(db, source, kernel, all_variants);
        }
        plan.give_names();
        plan
    }

    /// Compilations.
    pub fn len(&self) -> usize {
        self.functions.iter().map(|planned| planned.variants.len() * planned.archs.len()).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether something of what is meant stays out.
    pub fn has_left(&self) -> bool {
        !self.left.is_empty() || !self.failures.is_empty()
    }

    fn add(&mut self, db: &Database, source: &Source, kernel: Option<&str>, all_variants: bool) {
        let file = source.path.display().to_string();
        let found = launch::launches(db, source.file);
        let is_meant = |function: Function| kernel.is_none_or(|name| function.name(db) == name);
        for problem in found.problems.iter().filter(|problem| problem.severity == Severity::Error) {
            let line = problem.place.range(db, source.file).map(|range| items::line_number(db, source.file, range.start));
            let line = line.map_or_else(String::new, |line| format!(":{line}"));
            self.failures.push(format!("{file}{line}: a launch is not understood: {}", problem.message));
        }
        for unknown in found.unknown.iter().filter(|unknown| is_meant(unknown.kernel)) {
            let line = unknown.place.range(db).map_or(0, |range| items::line_number(db, source.file, range.start));
            let kernel = unknown.kernel.name(db).to_string();
            self.left.push(Left { file: file.clone(), line, kernel, why: unknown.reason.clone() });
        }
        for &function in items::kernels(db, source.file).iter().filter(|&&function| is_meant(function)) {
            let line = places::range_of(db, Place { function, at: At::Name });
            let line = line.map_or(0, |(_, range)| items::line_number(db, source.file, range.start));
            let Some(item) = items::items(db, source.file).function(function) else { continue };
            let first = self.functions.len();
            for &configuration in configurations(db, function) {
                match configuration.launch(db) {
                    Some(launch) => {
                        self.add_launch(db, source, (function, line), &item.params, launch, configuration.instance);
                    }
                    None if found.unknown.iter().any(|unknown| unknown.kernel == function) => break,
                    None => {
                        let why = "no launch of it is known, only assumed arguments".to_owned();
                        self.left.push(Left { file: file.clone(), line, kernel: function.name(db).to_string(), why });
                        break;
                    }
                }
            }
            if all_variants {
                let free = |index: usize| !item.unspecialised.contains(&index);
                for planned in &mut self.functions[first..] {
                    planned.vary(db, &item.params, &free);
                }
            }
        }
    }

    fn add_launch(
        &mut self,
        db: &Database,
        source: &Source,
        (function, line): (Function, u32),
        params: &[ParamItem],
        launch: &Launch,
        instance: Instance,
    ) {
        let (leaves, compile_time) = leaves(params, launch, instance.arguments(db));
        let (arguments, parameters): (Vec<Taken>, Vec<Need>) = leaves.into_iter().map(|leaf| (leaf.taken, leaf.need)).unzip();
        let launched = Launched { name: launch.id().to_string(), grid: launch.grid };
        let options = launch.options;
        let is_same = |planned: &&mut Planned| {
            planned.function == function
                && planned.options == options
                && planned.entry.arguments == arguments
                && planned.entry.compile_time == compile_time
        };
        let planned = match self.functions.iter_mut().find(is_same) {
            Some(planned) => planned,
            None => {
                let entry = Entry {
                    name: String::new(),
                    kernel: function.name(db).to_string(),
                    file: source.path.display().to_string(),
                    line,
                    compile_time,
                    num_warps: options.num_warps,
                    num_stages: options.num_stages,
                    max_registers: options.max_registers,
                    threads: options.threads(),
                    arguments,
                    variants: Vec::new(),
                };
                self.functions.push(Planned { entry, function, options, archs: source.archs.clone(), variants: Vec::new() });
                let last = self.functions.len() - 1;
                &mut self.functions[last]
            }
        };
        planned.add(instance, parameters, Some(launched));
    }

    /// Of functions of one kernel, and of kernels of one name, each gets that of the first launch that needs it too.
    fn give_names(&mut self) {
        let kernels: Vec<String> = self.functions.iter().map(|planned| names::identifier(&planned.entry.kernel)).collect();
        let mut taken: Vec<String> = names::OWN_FUNCTIONS.iter().map(|&name| name.to_owned()).collect();
        for (planned, kernel) in self.functions.iter_mut().zip(&kernels) {
            let is_alone = kernels.iter().filter(|other| *other == kernel).count() == 1;
            let launch = planned.variants.iter().flat_map(|(_, variant)| &variant.launches).next();
            let name = match launch.map(|launch| names::identifier(&launch.name)).filter(|_| !is_alone) {
                Some(launch) if launch == *kernel || launch.starts_with(&format!("{kernel}_")) => launch,
                Some(launch) => format!("{kernel}_{launch}"),
                None => kernel.clone(),
            };
            planned.entry.name = names::distinct(name, &taken);
            taken.push(planned.entry.name.clone());
            for (_, variant) in &mut planned.variants {
                let key = format!(
                    "{} {:?} {:?} {:?}",
                    planned.entry.name, planned.entry.compile_time, planned.options, variant.parameters
                );
                let hash = blake3::hash(key.as_bytes()).to_hex();
                variant.name = format!("{kernel}-{}", &hash[..8]);
            }
        }
    }

    /// Compiles all of it, side by side. `progress` is told what is done, of how much.
    pub fn compile(self, db: &Database, store: &Path, progress: &(dyn Fn(usize, &str) + Sync)) -> Result<Built, String> {
        let program = worker::binary().map_err(|e| e.to_string())?;
        let compiler = Compiler::with(program, Store::copied_to(store.to_owned()));
        let mut tasks = Vec::new();
        for (at, planned) in self.functions.iter().enumerate() {
            for (nth, (instance, _)) in planned.variants.iter().enumerate() {
                tasks.extend(planned.archs.iter().map(|&sm| {
                    (at, nth, *instance, CompileOptions { global_scratch: false, ..CompileOptions::new(sm, planned.options) })
                }));
            }
        }
        let done = AtomicUsize::new(0);
        let compile = |db: &Database, (at, nth, instance, options): (usize, usize, Instance, CompileOptions)| {
            let compiled = compiler.compile(db, instance, options).and_then(|compiled| {
                let parameters = &self.functions[at].variants[nth].1.parameters;
                agree(db, instance, parameters)?;
                Ok(compiled)
            });
            progress(done.fetch_add(1, Ordering::Relaxed) + 1, &self.functions[at].entry.name);
            (at, nth, options.sm, compiled)
        };
        let compiled = each(db, tasks, compile);
        Ok(self.finish(compiled))
    }

    /// With what came of each compilation.
    fn finish(self, compiled: Vec<(usize, usize, &'static Sm, Result<Compiled, String>)>) -> Built {
        let Plan { mut functions, mut left, mut failures } = self;
        let mut refused: Vec<(String, Vec<&str>, String)> = Vec::new();
        for (at, nth, sm, compiled) in compiled {
            let Planned { entry, variants, .. } = &mut functions[at];
            let variant = &mut variants[nth].1;
            match compiled {
                Ok(compiled) => variant.take(sm, compiled),
                // Nobody launches it so.
                Err(why) if variant.launches.is_empty() => {
                    let why = format!("a variant of `{}` does not compile for {}: {why}", entry.name, sm.ptx_target);
                    left.push(Left { file: entry.file.clone(), line: entry.line, kernel: entry.kernel.clone(), why });
                }
                Err(why) => {
                    let Entry { file, line, kernel, .. } = entry;
                    let launch = &variant.launches[0].name;
                    let (what, arch) = (format!("{file}:{line}: `{kernel}` for launch `{launch}` on "), sm.ptx_target);
                    // Mostly it is the kernel that is wrong, wherever it is to run.
                    match refused.iter_mut().find(|(other, _, reason)| *other == what && *reason == why) {
                        Some((_, archs, _)) => archs.push(arch),
                        None => refused.push((what, vec![arch], why)),
                    }
                }
            }
        }
        failures.extend(refused.into_iter().map(|(what, archs, why)| format!("{what}{}: {why}", archs.join(", "))));
        let functions = functions.into_iter().map(|planned| {
            let mut variants: Vec<Variant> = planned.variants.into_iter().map(|(_, variant)| variant).collect();
            variants.retain(|variant| !variant.images.is_empty());
            variants.sort_by_key(|variant| std::cmp::Reverse(variant.strictness()));
            Entry { variants, ..planned.entry }
        });
        let functions = functions.filter(|entry| !entry.variants.is_empty()).collect();
        let tritium = env!("CARGO_PKG_VERSION").to_owned();
        Built { manifest: Manifest { version: 1, tritium, functions, compiled_at_run_time: left }, failures }
    }
}

/// Whether the compiled kernel takes what a variant says: another number of parameters would be read from nowhere.
fn agree(db: &Database, instance: Instance, parameters: &[Need]) -> Result<(), String> {
    let entry = elaborate(db, instance).module.entry();
    let of_kernel: Vec<(u32, u32)> =
        entry.params.iter().map(|param| (entry.parameter_bytes(param), param.divisibility)).collect();
    let told: Vec<(u32, u32)> =
        parameters.iter().filter(|need| !need.is_one).map(|need| (need.bytes, need.divisible_by)).collect();
    if of_kernel == told {
        return Ok(());
    }
    Err(format!("a mistake in tritium itself: the kernel's parameters are {of_kernel:?}, those of its launch {told:?}"))
}

impl Planned {
    fn add(&mut self, instance: Instance, parameters: Vec<Need>, launched: Option<Launched>) {
        match self.variants.iter_mut().find(|(known, _)| *known == instance) {
            Some((_, variant)) => variant.launches.extend(launched),
            None => {
                let variant = Variant {
                    name: String::new(),
                    symbol: String::new(),
                    parameters,
                    launches: launched.into_iter().collect(),
                    images: Vec::new(),
                };
                self.variants.push((instance, variant));
            }
        }
    }

    /// Adds what the same launches need where one integer is 1, divisible by 16 or neither, where none is special, and where no address is aligned
    /// either, which fits whatever is passed. `free`: Triton specialises for a parameter, by its place.
    fn vary(&mut self, db: &Database, params: &[ParamItem], free: &dyn Fn(usize) -> bool) {
        for (instance, variant) in self.variants.clone() {
            let arguments = instance.arguments(db);
            let mut others: Vec<Vec<Argument>> = Vec::new();
            let (mut plain, mut nothing) = (arguments.clone(), arguments.clone());
            for (at, param) in params.iter().enumerate().filter(|(at, _)| free(*at)) {
                // An integer that is 1 is no parameter of the kernel, but an argument of the function.
                let is_one = variant.parameters.iter().any(|need| need.is_one && need.name == *param.name);
                let ty = match &arguments[at] {
                    Argument::Runtime { ty: ArgType::Scalar(dtype), .. } if dtype.is_int() && *dtype != DType::I1 => {
                        ArgType::Scalar(*dtype)
                    }
                    Argument::Constexpr(_) if is_one => ArgType::Scalar(DType::I32),
                    _ => continue,
                };
                let neither = Argument::Runtime { ty: ty.clone(), divisible_by_16: false };
                let divisible = Argument::Runtime { ty, divisible_by_16: true };
                let one = Argument::Constexpr(Const::Int(1));
                let can_be_one = !matches!(param.annotation, Annotation::Scalar(_));
                for other in [Some(&neither), Some(&divisible), Some(&one).filter(|_| can_be_one)].into_iter().flatten() {
                    let mut varied = arguments.clone();
                    varied[at] = other.clone();
                    others.push(varied);
                }
                plain[at] = neither.clone();
                nothing[at] = neither;
            }
            for argument in &mut nothing {
                if let Argument::Runtime { divisible_by_16, .. } = argument {
                    *divisible_by_16 = false;
                }
            }
            for varied in others.into_iter().chain([plain, nothing]) {
                let other = Instance::new(db, instance.function(db), varied, instance.triton(db).clone());
                if self.variants.iter().any(|(known, _)| *known == other) {
                    continue;
                }
                let needs = variant.parameters.iter().map(|need| {
                    let place = params.iter().position(|param| *param.name == *need.name);
                    match place.and_then(|at| other.arguments(db).get(at)) {
                        Some(Argument::Runtime { ty, divisible_by_16 }) => need_of(&need.name, ty, *divisible_by_16),
                        Some(Argument::Constexpr(Const::Int(1))) => need_of_one(&need.name),
                        _ => need.clone(),
                    }
                });
                let needs = needs.collect();
                self.add(other, needs, None);
            }
        }
    }
}

impl Variant {
    /// How much it takes for granted: what fits several variants is launched as the one that knows most.
    fn strictness(&self) -> usize {
        self.parameters
            .iter()
            .map(|need| usize::from(need.divisible_by > 1) + 2 * usize::from(need.is_one) + usize::from(need.is_narrow))
            .sum()
    }

    fn take(&mut self, sm: &'static Sm, compiled: Compiled) {
        // Arguments that are no parameters have no place among those of the kernel.
        let places: Vec<usize> = (0..self.parameters.len()).filter(|&at| !self.parameters[at].is_one).collect();
        let form = if compiled.registers.is_some() { Form::Cubin } else { Form::Ptx };
        let ending = if form == Form::Cubin { "cubin" } else { "ptx" };
        self.symbol = compiled.kernel;
        self.images.push(Image {
            arch: sm.ptx_target,
            file: format!("{}.{}.{ending}", self.name, sm.ptx_target),
            form,
            shared_bytes: compiled.shared_bytes,
            registers: compiled.registers.map(|(registers, _)| registers),
            spill_bytes: compiled.registers.map(|(_, spilled)| spilled),
            tensor_maps: compiled.tensor_maps.iter().map(|map| Map::new(map, &places)).collect(),
            bytes: compiled.image,
        });
    }
}

impl Map {
    fn new(map: &TensorMap, places: &[usize]) -> Map {
        use tritium_codegen::tensor_map::Part as Of;
        let parts = |parts: &[Of]| {
            let part = |part: &Of| match *part {
                Of::Parameter(index) => Part::Argument(places[index as usize]),
                Of::Constant(number) => Part::Constant(number),
            };
            parts.iter().map(part).collect()
        };
        Map {
            base: places[map.base as usize],
            extents: parts(&map.extents),
            strides: parts(&map.strides),
            boxes: map.boxes.clone(),
            element_bytes: map.element_bytes,
            swizzle: map.swizzle,
        }
    }
}

/// The run-time arguments of a launch in order, and its compile-time values.
fn leaves(params: &[ParamItem], launch: &Launch, arguments: &[Argument]) -> (Vec<Leaf>, Vec<Value>) {
    let (mut out, mut values) = (Vec::new(), Vec::new());
    for (param, argument) in params.iter().zip(arguments) {
        let given = if launch.meta.contains_key(&param.name) { None } else { launch.args.get(&param.name) };
        let is_typed = matches!(param.annotation, Annotation::Scalar(_));
        walk(&param.name, argument, given, is_typed, &mut out, &mut values);
    }
    (out, values)
}

fn walk(
    name: &str,
    argument: &Argument,
    given: Option<&LaunchArg>,
    is_typed: bool,
    out: &mut Vec<Leaf>,
    values: &mut Vec<Value>,
) {
    let mut add = |name: String, kind: Kind, need: Need| out.push(Leaf { taken: Taken { name, kind }, need });
    let integer = |name: String, dtype: DType, divisible_by: u32| {
        let need = Need { divisible_by, ..need_of(&name, &ArgType::Scalar(dtype), false) };
        (name, Kind::Integer, need)
    };
    match argument {
        Argument::Runtime { ty, divisible_by_16 } => {
            let kind = match ty {
                ArgType::Ptr { elem, .. } => Kind::Address { of: *elem },
                ArgType::Scalar(DType::I32 | DType::I64) if !is_typed => Kind::Integer,
                ArgType::Scalar(dtype) => Kind::Scalar { of: *dtype },
            };
            let narrow = kind == Kind::Integer;
            let need = need_of(name, ty, *divisible_by_16);
            add(name.to_owned(), kind, Need { is_narrow: narrow && need.is_narrow, ..need });
        }
        Argument::Constexpr(Const::Int(1)) if matches!(given, Some(LaunchArg::Int(_))) => {
            add(name.to_owned(), Kind::Integer, need_of_one(name));
        }
        Argument::Constexpr(value) => values.push(Value {
            name: name.to_owned(),
            value: value.to_string(),
            number: match value {
                Const::Int(number) => i64::try_from(*number).ok(),
                Const::Bool(flag) => Some(i64::from(*flag)),
                _ => None,
            },
        }),
        Argument::Tuple(arguments) => {
            let items = match given {
                Some(LaunchArg::Tuple(items)) => items.as_slice(),
                _ => &[],
            };
            for (at, argument) in arguments.iter().enumerate() {
                walk(&format!("{name}_{at}"), argument, items.get(at), false, out, values);
            }
        }
        Argument::Descriptor { elem, block, nan } => {
            let pointer = ArgType::Ptr { elem: *elem, is_const: false };
            add(name.to_owned(), Kind::Address { of: *elem }, need_of(name, &pointer, true));
            // The host promises that rows begin at multiples of 16 bytes.
            let in_elements = 16 / elem.bytes().max(1);
            let extents = (0..block.len()).map(|axis| integer(format!("{name}_shape_{axis}"), DType::I32, 1));
            let strides =
                (0..block.len().saturating_sub(1)).map(|axis| integer(format!("{name}_stride_{axis}"), DType::I64, in_elements));
            extents.chain(strides).for_each(|(name, kind, need)| add(name, kind, need));
            values.push(Value { name: format!("{name}.block"), value: format!("{block:?}"), number: None });
            if *nan {
                values.push(Value { name: format!("{name}.padding"), value: "\"nan\"".to_owned(), number: None });
            }
        }
        // Of a launch that is known whole, nothing is unknown.
        Argument::Unknown => {}
    }
}

fn need_of(name: &str, ty: &ArgType, divisible_by_16: bool) -> Need {
    let (c_type, bytes) = match ty {
        ArgType::Ptr { .. } => ("uint64_t", 8),
        ArgType::Scalar(dtype) => (names::c_type(*dtype), dtype.bytes()),
    };
    Need {
        name: name.to_owned(),
        ty: ty.to_string(),
        c_type,
        bytes,
        is_one: false,
        divisible_by: if divisible_by_16 { 16 } else { 1 },
        is_narrow: *ty == ArgType::Scalar(DType::I32),
    }
}

impl Need {
    /// What it takes for granted, as a phrase; nothing where it takes nothing.
    fn words(&self) -> Option<String> {
        match self {
            Need { is_one: true, .. } => Some(format!("{} == 1", self.name)),
            Need { divisible_by: 2.., .. } => Some(format!("{} % {} == 0", self.name, self.divisible_by)),
            Need { .. } => None,
        }
    }
}

fn need_of_one(name: &str) -> Need {
    Need { bytes: 0, is_one: true, is_narrow: false, ..need_of(name, &ArgType::Scalar(DType::I32), false) }
}

impl Built {
    /// Files that were made without ptxas, which is not here: the driver of each machine compiles them as it loads them.
    pub fn ptx_images(&self) -> usize {
        self.images().filter(|image| image.form == Form::Ptx).count()
    }

    pub fn images(&self) -> impl Iterator<Item = &Image> {
        self.manifest.functions.iter().flat_map(|entry| &entry.variants).flat_map(|variant| &variant.images)
    }

    /// Writes everything but the store, which compiling has filled. Images of the build that was there before go.
    pub fn write(&self, folder: &Path) -> io::Result<()> {
        let is_written = |name: &str| self.images().any(|image| image.file == name);
        for name in images_of(&folder.join(MANIFEST)).iter().filter(|name| !is_written(name)) {
            match fs::remove_file(folder.join(name)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                Ok(()) | Err(_) => {}
            }
        }
        for image in self.images() {
            files::write(&folder.join(&image.file), &image.bytes)?;
        }
        let mut manifest = serde_json::to_string_pretty(&self.manifest)?;
        manifest.push('\n');
        for (name, text) in [
            (MANIFEST, manifest),
            ("tritium_kernels.h", c::header(&self.manifest)),
            ("tritium_kernels.c", c::source(&self.manifest)),
            ("tritium_kernels.rs", rust::module(&self.manifest)),
        ] {
            files::write(&folder.join(name), text)?;
        }
        Ok(())
    }
}

const MANIFEST: &str = "manifest.json";

/// The images that a manifest names, if it is one: files that lie beside it.
fn images_of(manifest: &Path) -> Vec<String> {
    let Ok(bytes) = files::read_regular(manifest, files::MAX_SOURCE_BYTES) else { return Vec::new() };
    let Ok(json) = serde_json::from_slice::<serde_json::Value>(&bytes) else { return Vec::new() };
    let list = |value: &serde_json::Value, key: &str| value[key].as_array().cloned().unwrap_or_default();
    let variants = list(&json, "functions").into_iter().flat_map(|function| list(&function, "variants"));
    let names =
        variants.flat_map(|variant| list(&variant, "images")).filter_map(|image| Some(image["file"].as_str()?.to_owned()));
    names.filter(|name| !name.contains(['/', '\\']) && (name.ends_with(".cubin") || name.ends_with(".ptx"))).collect()
}

impl Manifest {
    /// For each function, the compile-time values that C and Rust can name.
    fn constants(&self) -> Vec<Vec<(String, i64)>> {
        let mut taken: Vec<String> = names::OWN_CONSTANTS.iter().map(|&name| name.to_owned()).collect();
        let mut of = |entry: &Entry| {
            let numbers = entry.compile_time.iter().filter_map(|value| Some((&value.name, value.number?)));
            let named = numbers.map(|(name, number)| {
                let name = format!("{}_{}", entry.name, names::identifier(name)).to_uppercase();
                let name = names::distinct(name, &taken);
                taken.push(name.clone());
                (name, number)
            });
            named.collect()
        };
        self.functions.iter().map(&mut of).collect()
    }
}

/// Makes the folder of a build; the store of entries in it.
pub fn open_folder(folder: &Path) -> io::Result<PathBuf> {
    let store = folder.join(IN_BUILD);
    fs::create_dir_all(&store)?;
    Ok(store)
}
