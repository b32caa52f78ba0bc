//! Launches under checks: what [`tritium_tile::sanitize`] finds, at its places in the source.
//!
//! **Invariant:** a finding is one for each place and code, over all launches, and the same every time; a launch that cannot be run, or that a
//! limit stops, is told and keeps no other from being checked.

use std::{
    cell::RefCell,
    collections::{BTreeSet, HashMap},
    fmt,
    path::PathBuf,
};

use serde::{Deserialize, Serialize};
use tritium_codegen::{self as codegen, CompileOptions};
use tritium_semantics::{
    Instance,
    diagnostics::{Code, Severity},
    elaborate,
    host::{self, EnteredWith},
    items,
    launch::{self, Init, Launch},
    places,
    program::{NodeId, Op},
};
use tritium_tile::{
    Function, FunctionId, Module, OpId, OpKind, ValueId,
    sanitize::{At, Check, Finding, MemoryShape, Sanitizer, TensorShape, Unwritten},
};

use super::{
    Doing, Ended, LaunchReport, Launched, Refusal, Run, Site, elaborated, launch_values, memory,
    observed::{self, ObservedLaunch},
};
use crate::{
    device::{DeviceError, DeviceName, LaunchValue, cpu},
    exec::Job,
    tensor::Tensor,
    watch::{self, Stopped, Watched},
};

/// What the checks of a file's launches found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Findings {
    pub version: u32,
    pub file: PathBuf,
    /// Functions that were entered, as nobody calls them with known arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub entered: Vec<EnteredWith>,
    pub launches: Vec<CheckedLaunch>,
    /// In the order in which they were met.
    pub findings: Vec<Found>,
    /// What the device has looked for.
    pub checked: String,
}

/// A launch, and how far it was checked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CheckedLaunch {
    pub launch: String,
    pub kernel: String,
    pub device: String,
    pub grid: [u64; 3],
    /// Programs that have run to their end.
    pub programs: u64,
    /// Why not all of it was checked.
    pub gap: Option<String>,
    /// What was found in it; another launch of the file may have its name.
    #[serde(default)]
    pub findings: usize,
}

/// What is wrong at one place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Found {
    /// `SAN001`
    pub code: String,
    pub severity: String,
    pub message: String,
    /// `None` where the compiler has made the operation.
    pub place: Option<Place>,
    pub related: Vec<(Place, String)>,
    pub kernel: String,
    /// Those that have it; the rest is about the first element in the first of them.
    pub launches: Vec<String>,
    pub program: [u32; 3],
    pub tile_index: Vec<u32>,
    /// The warp of the program and its lane, where threads are told apart.
    pub warp: Option<u32>,
    pub lane: Option<u32>,
    pub tensor: Option<String>,
    pub index: Vec<u64>,
    /// Of all launches.
    pub programs: u64,
    pub elements: u64,
    /// What nobody gave the function around the launch.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rests_on: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Place {
    pub file: PathBuf,
    /// Bytes of its text.
    pub start: usize,
    pub end: usize,
    /// Counted from 1.
    pub line: u32,
}

/// Programs of launches that are checked again under other sizes; more take long.
const MOST_PROGRAMS: u64 = 1 << 13;

/// Stands before what shows that the sizes of a launch do not go together.
const MISFIT: &str = "the sizes that were chosen do not go together";

impl Findings {
    /// Those of the launches of a function that was entered. Where something leaves a tensor, the sizes that were chosen do not go together, and
    /// nothing else is told of the launch; what is found otherwise rests on what was chosen.
    pub fn of_entered(mut self, entered: EnteredWith) -> Findings {
        let chosen = entered.names.iter().filter(|free| free.is_default);
        let names: Vec<String> = chosen.map(|free| free.name.clone()).collect();
        self.entered.push(entered);
        if names.is_empty() {
            return self;
        }
        let outside = Code::SAN001.as_str();
        let (misfits, rest): (Vec<Found>, Vec<Found>) = self.findings.into_iter().partition(|found| found.code == outside);
        let misfit = |launch: &String| misfits.iter().find(|found| found.launches.contains(launch));
        for launch in self.launches.iter_mut().filter(|launch| launch.gap.is_none()) {
            let shown = misfit(&launch.launch).map(|found| {
                let line = found.place.as_ref().map_or_else(String::new, |place| format!("line {}: ", place.line));
                format!("{MISFIT} ({line}{}); `--set` gives others", found.message)
            });
            launch.gap = shown;
        }
        self.findings = rest;
        for found in &mut self.findings {
            found.launches.retain(|launch| misfit(launch).is_none());
            found.severity = Severity::Hint.name().to_owned();
            found.rests_on.clone_from(&names);
        }
        self.findings.retain(|found| !found.launches.is_empty());
        self
    }

    /// These, with each launch told how many of them are its own.
    pub fn counted(mut self) -> Findings {
        for launch in &mut self.launches {
            launch.findings = self.findings.iter().filter(|found| found.launches.contains(&launch.launch)).count();
        }
        self
    }

    /// Sizes that nobody gave may not go together: of those under others, which are made only as long as something is doubtful, the first of which
    /// least is.
    pub fn or_of_others(self, others: impl Iterator<Item = Findings>) -> Findings {
        let programs: u64 = self.launches.iter().map(|launch| launch.grid.iter().product::<u64>()).sum();
        if programs > MOST_PROGRAMS {
            return self;
        }
        let mut best = self;
        let mut others = others;
        while best.doubtful() > (0, 0)
            && let Some(other) = others.next()
        {
            if other.doubtful() < best.doubtful() {
                best = other;
            }
        }
        best
    }

    /// Launches that were not checked to their end, and those with findings that tell as well that the sizes of a function that was entered do not go
    /// together: who writes what, and whether all of it.
    fn doubtful(&self) -> (usize, usize) {
        let of_sizes = [Code::SAN004, Code::SAN006, Code::SAN009].map(|code| code.as_str());
        let is_doubtful = |launch: &&CheckedLaunch| {
            let mut found = self.findings.iter().filter(|found| of_sizes.contains(&found.code.as_str()));
            found.any(|found| !found.rests_on.is_empty() && found.launches.contains(&launch.launch))
        };
        (self.launches.iter().filter(|launch| launch.gap.is_some()).count(), self.launches.iter().filter(is_doubtful).count())
    }

    /// These, and those of other launches of the file; what is found at one place more than once is told once.
    pub fn and(mut self, other: Findings) -> Findings {
        self.entered.extend(other.entered);
        self.launches.extend(other.launches);
        for found in other.findings {
            let is_same =
                |known: &&mut Found| (&known.code, &known.place, &known.kernel) == (&found.code, &found.place, &found.kernel);
            match self.findings.iter_mut().find(is_same) {
                None => self.findings.push(found),
                Some(known) => {
                    known.programs += found.programs;
                    known.elements += found.elements;
                    known
                        .launches
                        .extend(found.launches.into_iter().filter(|launch| !known.launches.contains(launch)).collect::<Vec<_>>());
                }
            }
        }
        self
    }

    /// Nothing is wrong, and every launch was checked to its end.
    pub fn ok(&self) -> bool {
        let hint = Severity::Hint.name();
        self.findings.iter().all(|found| found.severity == hint) && self.launches.iter().all(|launch| launch.gap.is_none())
    }

    /// One line.
    pub fn summary(&self) -> String {
        let count = |n: usize, one: &str| format!("{n} {one}{}", if n == 1 { "" } else { "s" });
        let checked = self.launches.iter().filter(|launch| launch.gap.is_none()).count();
        let partly = self.launches.len() - checked;
        let partly = if partly == 0 { String::new() } else { format!(", {partly} not or not wholly") };
        let found = if self.findings.is_empty() { "nothing found".to_owned() } else { count(self.findings.len(), "finding") };
        format!("{found} ({} checked{partly})", count(checked, "launch").replace("launchs", "launches"))
    }
}

impl fmt::Display for CheckedLaunch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CheckedLaunch { launch, kernel, device, grid, programs, gap, findings: _ } = self;
        let of = grid.iter().product::<u64>();
        let all = if of == 1 { "1 program".to_owned() } else { format!("{of} programs") };
        match gap {
            Some(gap) => write!(f, "{launch}  {kernel} on {device}, {programs} of {all} checked: {gap}"),
            None => write!(f, "{launch}  {kernel} on {device}, {all} checked"),
        }
    }
}

impl Found {
    /// The message with the first element and how many there are.
    pub fn sentence(&self) -> String {
        let Found { message, tensor, index, program: [x, y, z], tile_index, warp, lane, programs, elements, launches, .. } = self;
        let tensor = tensor.as_ref().map_or_else(String::new, |name| format!("`{name}`{index:?}, "));
        let tile = if tile_index.is_empty() { String::new() } else { format!(", tile element {tile_index:?}") };
        let thread = match (warp, lane) {
            (Some(warp), Some(lane)) => format!(", warp {warp}, lane {lane}"),
            _ => String::new(),
        };
        let count = |n: u64, one: &str| format!("{n} {one}{}", if n == 1 { "" } else { "s" });
        let program = if *programs == 0 { String::new() } else { format!("program ({x}, {y}, {z})") };
        let counts = match (*elements, *programs) {
            (0 | 1, _) | (_, 0) => String::new(),
            (n, p) => format!("; {} in {}", count(n, "element"), count(p, "program")),
        };
        let others = if launches.len() > 1 { format!(" and {} more", launches.len() - 1) } else { String::new() };
        let launch = launches.first().map_or("", String::as_str);
        let place = format!("{tensor}{program}{tile}{thread}{counts}");
        let place = place.trim_end_matches(", ").trim_start_matches("; ");
        let place = if place.is_empty() { String::new() } else { format!("{place}; ") };
        format!("{message} ({place}launch `{launch}`{others})")
    }
}

fn code(check: Check) -> Code {
    match check {
        Check::OutOfBounds => Code::SAN001,
        Check::Misaligned => Code::SAN002,
        Check::Undefined => Code::SAN003,
        Check::Race => Code::SAN004,
        Check::Uninitialised => Code::SAN005,
        Check::IntegerWrap => Code::SAN007,
        Check::NotFinite => Code::SAN008,
        Check::DivisionByZero => Code::SAN009,
        Check::Assertion => Code::SAN010,
        Check::ZeroFill => Code::SAN011,
        Check::RaceWithin => Code::SAN012,
    }
}

/// Runs a job's launches under checks in this process.
pub fn sanitize(job: &Job, site: &Site, watched: &Watched) -> Result<Findings, Ended> {
    let device = DeviceName::parse(&job.device).unwrap_or(DeviceName::Cpu);
    let Collected { launches, findings, .. } = match device {
        DeviceName::Cpu | DeviceName::Sim => collected(job, site, watched)?,
        DeviceName::Cuda(ordinal) => observed::collected(job, site, watched, ordinal)?,
    };
    let checked = device.sanitized().to_owned();
    Ok(Findings { version: 1, file: job.path.clone(), entered: vec![], launches, findings, checked })
}

/// What the launches of a job give, each run once.
pub(super) fn collected(job: &Job, site: &Site, watched: &Watched) -> Result<Collected, Ended> {
    let checks = RefCell::<Collected>::default();
    let report = super::all(job, site, watched, Doing::Check(&checks))?;
    let mut collected = checks.into_inner();
    // What could not be launched at all has not come so far.
    for report in report.launches {
        let launch = report.id();
        if collected.launches.iter().all(|known| known.launch != launch) {
            let LaunchReport { kernel, device, grid, fault, .. } = report;
            collected.launches.push(CheckedLaunch { launch, kernel, device, grid, programs: 0, gap: fault, findings: 0 });
        }
    }
    Ok(collected)
}

/// What the launches of a job have given so far.
#[derive(Default)]
pub(super) struct Collected {
    pub(super) launches: Vec<CheckedLaunch>,
    pub(super) findings: Vec<Found>,
    /// Where a tool looks on: the launches in the order in which they were made.
    pub(super) observed: Vec<ObservedLaunch>,
    /// By code and place.
    known: HashMap<(String, Option<Place>), usize>,
}

impl Collected {
    pub(super) fn add(&mut self, found: Found) {
        let key = (found.code.clone(), found.place.clone());
        if let Some(&index) = self.known.get(&key) {
            let known = &mut self.findings[index];
            known.programs += found.programs;
            known.elements += found.elements;
            if known.launches.last() != found.launches.last() {
                known.launches.extend(found.launches);
            }
            return;
        }
        self.known.insert(key, self.findings.len());
        self.findings.push(found);
    }
}

/// What is known of the memories of a launch before and after it.
enum Judged {
    /// It stands by itself, in a launch block.
    Alone,
    /// It is a step of a host program. By memory: whether something writes there after it.
    InOrder { goes_on: Vec<bool> },
    /// It stands in host code that is not followed.
    Unknown,
}

impl Judged {
    /// Whether nothing writes into a memory after the launch.
    fn is_last(&self, memory: usize) -> bool {
        match self {
            Judged::Alone => true,
            Judged::InOrder { goes_on } => !goes_on.get(memory).copied().unwrap_or(false),
            Judged::Unknown => false,
        }
    }
}

/// A launch that has run under checks.
pub(super) struct Checked {
    pub(super) programs: u64,
    pub(super) gap: Option<String>,
    pub(super) after: Option<Vec<Tensor>>,
}

impl Run<'_> {
    /// `memories` as [`Run::launch`] takes them.
    pub(super) fn under_checks(
        &self,
        launch: &Launch,
        memories: &[launch::Tensor],
        before: Vec<Tensor>,
        checks: &RefCell<Collected>,
    ) -> Launched {
        let mut all = checks.borrow_mut();
        let checked = self.check(launch, memories, before, &mut all);
        let Checked { programs, gap, after } =
            checked.unwrap_or_else(|refusal| Checked { programs: 0, gap: Some(refusal.message), after: None });
        let report = LaunchReport::of(self.db, launch, self.device.to_string(), gap.clone());
        let name = launch.id().to_string();
        // A launch in a loop is one.
        if all.launches.last().is_none_or(|last| last.launch != name || last.gap.is_some()) {
            let (kernel, device) = (report.kernel.clone(), report.device.clone());
            all.launches.push(CheckedLaunch { launch: name, kernel, device, grid: launch.grid, programs, gap, findings: 0 });
        }
        Launched { report, after, reduction: 1, rounding: super::compare::Rounding::default() }
    }

    fn check(
        &self,
        launch: &Launch,
        memories: &[launch::Tensor],
        before: Vec<Tensor>,
        all: &mut Collected,
    ) -> Result<Checked, Refusal> {
        self.enter(launch, "understanding");
        let (instance, module) = elaborated(self.db, launch)?;
        let values = launch_values(self.db, launch, &module)?;
        if let DeviceName::Cuda(ordinal) = self.device {
            return self.observed(ordinal, (launch, instance), memories, &values, before, all);
        }
        let module = match self.device {
            DeviceName::Sim => {
                let options = CompileOptions::new(self.gpu.sm, launch.options);
                codegen::optimised(self.db, instance, options).as_ref().map_err(|e| Refusal::kernel(e.message.clone()))?.clone()
            }
            DeviceName::Cpu | DeviceName::Cuda(_) => module,
        };
        let left = memory::room(launch, DeviceName::Cpu, 1, self.memory_bytes).map_err(Refusal::new)?;
        if memory::shadow_bytes(&before) > left {
            return Err(Refusal::new(
                "what the checks remember of its tensors takes more memory than a run may: `--memory` sets the limit",
            ));
        }
        let mut after = before;
        let judged = self.judged(launch);
        let mut sanitizer = Sanitizer::new(
            memories.iter().zip(&after).enumerate().map(|(index, (spec, held))| shape_of(launch, index, spec, held)).collect(),
            launch.options.num_warps,
        );
        self.enter(launch, "checking");
        let (programs, outcome) = cpu::sanitize(&module, launch.grid, &values, &mut after, self.bounds(), &mut sanitizer);
        let place = |at: At| self.place_at(instance, &module, at);
        // What looks as if nobody had written it may have been written by what is not followed; nothing else is judged by it either.
        let is_judged = |finding: &&Finding| finding.check != Check::Uninitialised || !matches!(judged, Judged::Unknown);
        for finding in sanitizer.findings().iter().filter(is_judged) {
            all.add(self.found(launch, finding, &place));
        }
        let gap = match outcome {
            Ok(_) => {
                for (index, memory) in memories.iter().enumerate() {
                    let is_judged = memory.init == Init::Empty && judged.is_last(index);
                    let unwritten = sanitizer.unwritten(index).filter(|_| is_judged);
                    let store = || {
                        let param =
                            values.iter().position(|v| matches!(v, LaunchValue::Tensor { index: i, .. } if *i == index))?;
                        let op = store_through(module.entry(), module.entry().params[param].value)?;
                        Some(At { function: FunctionId(0), op })
                    };
                    // A memory that is not meant to be written is no output.
                    if let Some(unwritten) = unwritten
                        && let Some(at) = sanitizer.writers(index).last().copied().or_else(store)
                    {
                        all.add(self.unwritten(launch, &unwritten, place(at)));
                    }
                }
                sanitizer.has_untold_races().then(|| "races of programs beyond the first four million are not told".to_owned())
            }
            Err(DeviceError::Stopped { .. }) => {
                let limit = self.watched.stopped().unwrap_or(watch::Limit::Seconds(self.job.limits.seconds));
                Some(Stopped { limit, place: None }.to_string())
            }
            Err(error) => Some(self.located(instance, &error)),
        };
        Ok(Checked { programs, gap, after: Some(after) })
    }

    /// What of a launch's memories is judged: whether it holds anything, and whether all of it was written in the end.
    fn judged(&self, launch: &Launch) -> Judged {
        let all = &launch::launches(self.db, self.file).launches;
        let host = host::host_launches(self.db, self.file);
        let of_host = all.len() - host.found.launches.len();
        let is_same = |other: &Launch| other.kernel == launch.kernel && other.id() == launch.id();
        let Some(index) = all.iter().skip(of_host).position(is_same) else { return Judged::Alone };
        let program = &host.program;
        let steps: Vec<_> = program.steps.iter().filter(|step| step.launches.contains(&index)).collect();
        if steps.is_empty() {
            return Judged::Unknown;
        }
        let goes_on = |node: NodeId| {
            let is_written = |op: &Op| matches!(op, Op::Store { into, .. } if into.node == node);
            program.steps.iter().any(|step| step.before.contains(&node)) || program.nodes.iter().any(|node| is_written(&node.op))
        };
        let left =
            |memory: usize| steps.iter().filter_map(move |step| step.results().nth(memory)).map(|node| NodeId(node as u32));
        let memories = steps.iter().map(|step| step.before.len()).max().unwrap_or(0);
        Judged::InOrder { goes_on: (0..memories).map(|memory| left(memory).any(goes_on)).collect() }
    }

    fn found(&self, launch: &Launch, finding: &Finding, place: &dyn Fn(At) -> Option<Place>) -> Found {
        let code = code(finding.check);
        let (tensor, index) = finding.first.tensor.clone().map_or((None, Vec::new()), |(name, index)| (Some(name), index));
        let own = place(finding.at);
        // A place that is told is not told again beside itself.
        let mut told: BTreeSet<(usize, usize)> = own.iter().map(|place| (place.start, place.end)).collect();
        let related = finding.related.iter().filter_map(|(at, text)| Some((place(*at)?, text.clone())));
        let related = related.filter(|(place, _)| told.insert((place.start, place.end))).collect();
        Found {
            code: code.as_str().to_owned(),
            severity: code.severity().name().to_owned(),
            message: finding.message.clone(),
            place: own,
            related,
            kernel: launch.kernel.name(self.db).to_string(),
            launches: vec![launch.id().to_string()],
            program: finding.first.program_id,
            tile_index: finding.first.tile_index.clone(),
            warp: finding.first.thread.map(|thread| thread / 32),
            lane: finding.first.thread.map(|thread| thread % 32),
            tensor,
            index,
            programs: finding.programs,
            elements: finding.elements,
            rests_on: Vec::new(),
        }
    }

    /// An output that nobody has written, or not all of.
    fn unwritten(&self, launch: &Launch, unwritten: &Unwritten, place: Option<Place>) -> Found {
        let Unwritten { first: (tensor, index), count, of } = unwritten;
        let code = Code::SAN006;
        Found {
            code: code.as_str().to_owned(),
            severity: code.severity().name().to_owned(),
            message: format!("`{tensor}` held nothing before the launch, and {count} of its {of} elements were never written"),
            place,
            related: Vec::new(),
            kernel: launch.kernel.name(self.db).to_string(),
            launches: vec![launch.id().to_string()],
            program: [0; 3],
            tile_index: Vec::new(),
            warp: None,
            lane: None,
            tensor: Some(tensor.clone()),
            index: index.clone(),
            programs: 0,
            elements: *count,
            rests_on: Vec::new(),
        }
    }

    fn place_at(&self, instance: Instance, module: &Module, at: At) -> Option<Place> {
        self.place_of_origin(instance, cpu::origin_at(module, at.function, Some(at.op))?)
    }

    pub(super) fn place_of_origin(&self, instance: Instance, origin: u32) -> Option<Place> {
        let origin = elaborate::elaborate(self.db, instance).origins.get(origin as usize)?;
        let (file, range) = places::range_of(self.db, origin.place)?;
        let path = if file == self.file { self.job.path.clone() } else { file.path(self.db).to_path_buf() };
        Some(Place { file: path, start: range.start, end: range.end, line: items::line_number(self.db, file, range.start) })
    }
}

/// A memory as the checks see it. What is allocated and not made holds nothing; what a launch before has left holds nothing where it still has the
/// pattern of that, of types in which hardly anything else has.
fn shape_of(launch: &Launch, index: usize, spec: &launch::Tensor, held: &Tensor) -> MemoryShape {
    let element_bytes = held.dtype.bytes();
    let elements = held.bytes.len() / element_bytes.max(1) as usize;
    let initialised = match spec.init {
        Init::Empty => Some(vec![false; elements]),
        Init::Computed if element_bytes >= 4 => Some((0..elements).map(|at| held.slot(at) != held.pattern()).collect()),
        _ => None,
    };
    let views = launch.tensors.iter().filter(|tensor| tensor.memory.index == index).map(|tensor| {
        let (mut shape, mut strides, mut offset) = (tensor.shape.clone(), tensor.strides.clone(), tensor.memory.offset);
        // One of wider elements has each of them as a row.
        let parts = u64::from(tensor.dtype.bytes() / element_bytes.max(1));
        if parts > 1 {
            strides.iter_mut().chain([&mut offset]).for_each(|step| *step *= parts);
            shape.push(parts);
            strides.push(1);
        }
        TensorShape { name: tensor.name.to_string(), shape, strides, offset }
    });
    MemoryShape { element_bytes, elements, views: views.collect(), initialised }
}

/// A store whose address is made of a parameter.
fn store_through(function: &Function, param: ValueId) -> Option<OpId> {
    let mut derived = vec![false; function.values.len()];
    derived[param.index()] = true;
    let mut store = None;
    // Values that a loop carries are met before what they come from: twice reaches all.
    for _ in 0..2 {
        function.walk(|_, id| {
            let op = function.op(id);
            let takes = op.operands.iter().any(|value| derived[value.index()] && is_pointer(function, *value));
            if !takes {
                return;
            }
            match op.kind {
                OpKind::Store(_) if derived[op.operands[0].index()] => store = Some(id),
                _ => {
                    let arguments = op.regions.iter().flat_map(|&region| &function.block(region).args);
                    for &value in op.results.iter().chain(arguments).filter(|value| is_pointer(function, **value)) {
                        derived[value.index()] = true;
                    }
                }
            }
        });
    }
    store
}

fn is_pointer(function: &Function, value: ValueId) -> bool {
    function.ty(value).elem().pointee().is_some()
}
