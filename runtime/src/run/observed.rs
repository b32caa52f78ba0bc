//! Launches on a GPU while `compute-sanitizer` looks on, and what it says at its place in the source.
//!
//! Each of its tools runs all launches once, in a process of its own. A launch's kernel has a name of its own, so that a report names the launch, and
//! its debug lines are numbers of operations, so that the report names the operation. **Invariant:** a memory is one allocation of exactly its
//! bytes, with nothing behind it.

use std::{
    collections::{BTreeMap, BTreeSet},
    process::Command,
};

use serde::{Deserialize, Serialize};
use tritium_codegen::{self as codegen, CompileOptions, source_lines::OPERATIONS};
use tritium_semantics::{
    Database, Instance,
    diagnostics::Code,
    launch::{self, Init, Launch},
    project,
    specialise::specialise,
    target::Gpu,
};
use tritium_tile::OpKind;

use super::{
    Compiler, Doing, Ended, Naming, Refusal, Run, Site, cuda_grid, open,
    sanitize::{self, Checked, CheckedLaunch, Collected, Found},
};
use crate::{
    device::{
        DeviceError, LaunchValue,
        compute_sanitizer::{self, Kind, Log, Report, Tool},
        cuda,
    },
    exec::{self, ExecError, Job, Task},
    tensor::Tensor,
    watch::Watched,
};

/// Stands between the name of a kernel and the number of the launch.
const NUMBERED: &str = "__launch_";
const REMEDY: &str = "it comes with the CUDA toolkit (CUDA_HOME, PATH), or `pip install nvidia-cuda-sanitizer-api` brings it";

/// What a process has launched while a tool looked on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Observed {
    launches: Vec<CheckedLaunch>,
    /// By number.
    observed: Vec<ObservedLaunch>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct ObservedLaunch {
    launch: String,
    memories: Vec<ObservedMemory>,
    /// By the number of a load: bits of the thread's number of which a thread that has one set holds what another holds, too.
    #[serde(default)]
    surplus: Vec<(u32, u32)>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct ObservedMemory {
    name: String,
    address: u64,
    bytes: u64,
    element_bytes: u32,
}

/// Makes a job's launches in this process, which a tool looks at.
pub fn observe(job: &Job, site: &Site, watched: &Watched) -> Result<Observed, Ended> {
    let Collected { launches, observed, .. } = sanitize::collected(job, site, watched)?;
    Ok(Observed { launches, observed })
}

/// Lets every tool look at a job's launches.
pub(super) fn collected(job: &Job, site: &Site, watched: &Watched, ordinal: u32) -> Result<Collected, Ended> {
    // Without a device there is nothing to look at.
    cuda::Cuda::open(ordinal).map_err(|error| Refusal::new(error.to_string()))?;
    let program = compute_sanitizer::find()
        .ok_or_else(|| Refusal::new(format!("compute-sanitizer was not found; {REMEDY}. `--device cpu` needs neither")))?;
    let (db, file) = open(&job.path, job.text.clone(), job.chosen.clone(), &site.files);
    let gpu = project::project(&db, file).target();
    let device = crate::device::DeviceName::Cuda(ordinal);
    let memory_bytes = job.limits.memory();
    let timed = Default::default();
    let run = Run { job, db: &db, file, device, gpu, watched, memory_bytes, doing: Doing::Run, site, timed };
    let mut all = Collected::default();
    for tool in Tool::ALL {
        watched.enter(format!("the launches of {} under {}", job.path.display(), tool.name()));
        let mut command = Command::new(&program);
        command.args(tool.arguments());
        let task = Task::Observe { leaves_empty: tool == Tool::Initcheck };
        match exec::observed(command, &Job { task, ..job.clone() }, &site.files) {
            Ok((observed, text)) => run.read(tool, observed, &compute_sanitizer::parse(&text), &mut all),
            Err(ExecError::Refused(refusal)) => return Err(Ended::Refused(refusal)),
            Err(ExecError::Stopped(stopped)) => return Err(Ended::Stopped(stopped)),
            Err(error) => return Err(Ended::Refused(Refusal::new(format!("{} under compute-sanitizer: {error}", tool.name())))),
        }
    }
    Ok(all)
}

/// Reports of one launch about one operation, of one kind.
struct Group<'a> {
    first: &'a Report,
    elements: u64,
    blocks: BTreeSet<[u32; 3]>,
}

impl Run<'_> {
    /// One launch, made while a tool looks on.
    pub(super) fn observed(
        &self,
        ordinal: u32,
        (launch, instance): (&Launch, Instance),
        memories: &[launch::Tensor],
        values: &[LaunchValue],
        before: Vec<Tensor>,
        all: &mut Collected,
    ) -> Result<Checked, Refusal> {
        let grid = cuda_grid(launch.grid).map_err(Refusal::new)?;
        let device = cuda::Cuda::open(ordinal).map_err(|error| Refusal::new(error.to_string()))?;
        let gpu = Gpu::of_capability(device.compute_capability).unwrap_or(self.gpu);
        self.enter(launch, "compiling");
        let name = format!("{}{NUMBERED}{}", launch.kernel.name(self.db), all.observed.len());
        let options = CompileOptions::new(gpu.sm, launch.options);
        let compiler = Compiler::new().map_err(Refusal::kernel)?;
        let naming = Naming { entry: Some(name), lines: None };
        let compiled = compiler.compile_as(self.db, instance, options, &naming).map_err(Refusal::kernel)?;
        self.enter(launch, &format!("on {}, running", device.name));
        let leaves_empty = self.job.task == Task::Observe { leaves_empty: true };
        let mut after = before;
        let mut attempt = || -> Result<(), DeviceError> {
            let kernel = device.load(&compiled.image, &compiled.kernel, compiled.shared_bytes)?;
            let buffers = memories.iter().zip(&after).map(|(memory, tensor)| match memory.init {
                Init::Empty if leaves_empty => device.allocate(tensor.bytes.len()),
                _ => device.upload(&tensor.bytes),
            });
            let buffers: Vec<cuda::Buffer> = buffers.collect::<Result<_, _>>()?;
            let seen = |(buffer, tensor): (&cuda::Buffer, &Tensor)| ObservedMemory {
                name: tensor.name.to_string(),
                address: buffer.address(),
                bytes: tensor.bytes.len() as u64,
                element_bytes: tensor.dtype.bytes(),
            };
            let memories = buffers.iter().zip(&after).map(seen).collect();
            let surplus = surplus_of_loads(self.db, instance, options);
            all.observed.push(ObservedLaunch { launch: launch.id().to_string(), memories, surplus });
            let geometry = cuda::Geometry { grid, threads: launch.options.threads(), shared_bytes: compiled.shared_bytes };
            let maps = device.maps(compiled.behind(), geometry, &buffers, values)?;
            device.launch(&kernel, geometry, &buffers, values, &maps)?;
            buffers.iter().zip(&mut after).try_for_each(|(buffer, tensor)| device.download(buffer, &mut tensor.bytes))
        };
        match attempt() {
            Ok(()) => Ok(Checked { programs: launch.grid.iter().product(), gap: None, after: Some(after) }),
            Err(error) => Ok(Checked { programs: 0, gap: Some(self.located(instance, &error)), after: None }),
        }
    }

    /// Adds what a tool has said.
    fn read(&self, tool: Tool, observed: Observed, log: &Log, all: &mut Collected) {
        let mut groups: BTreeMap<(usize, Code, Option<u32>), Group<'_>> = BTreeMap::new();
        for report in &log.reports {
            let number = report.place.function.rsplit_once(NUMBERED).and_then(|(_, number)| number.parse().ok());
            let Some(number) = number.filter(|&number| number < observed.observed.len()) else { continue };
            if is_harmless(report, &observed.observed[number]) {
                continue;
            }
            let key = (number, code(report.kind), operation(&report.place));
            let group = groups.entry(key).or_insert(Group { first: report, elements: 0, blocks: BTreeSet::new() });
            group.elements += 1;
            group.blocks.extend(report.block);
        }
        for ((number, code, _), group) in &groups {
            all.extend_with(self.found_by(&observed.observed[*number], *code, group));
        }
        // What the tool has not followed is not checked.
        let is_lost = |note: &&String| note.contains("didn't track") || note.contains("Internal Sanitizer Error");
        let lost = log.notes.iter().find(is_lost);
        for mut launch in observed.launches {
            if let Some(lost) = lost {
                launch.gap.get_or_insert_with(|| lost.clone());
            }
            launch.gap = launch.gap.map(|gap| format!("{}: {gap}", tool.name()));
            match all.launches.iter_mut().find(|known| known.launch == launch.launch) {
                Some(known) if known.gap.is_none() && launch.gap.is_some() => *known = launch,
                Some(_) => {}
                None => all.launches.push(launch),
            }
        }
    }

    fn found_by(&self, observed: &ObservedLaunch, code: Code, group: &Group<'_>) -> Option<Found> {
        let report = group.first;
        let all = &launch::launches(self.db, self.file).launches;
        let launch = all.iter().find(|launch| launch.id().to_string() == observed.launch)?;
        let instance = specialise(self.db, launch);
        let place = |place: &compute_sanitizer::Place| self.place_of_origin(instance, operation(place)?.checked_sub(1)?);
        let own = place(&report.place);
        let mut told: BTreeSet<(usize, usize)> = own.iter().map(|place| (place.start, place.end)).collect();
        let others = report.others.iter().filter_map(|(what, other)| Some((place(other)?, format!("{what} here"))));
        let related = others.filter(|(place, _)| told.insert((place.start, place.end))).collect();
        let memory = observed.of(report);
        let element = memory.zip(report.address).map(|(memory, address)| {
            let bytes = i64::from(memory.element_bytes.max(1));
            (memory, (address.wrapping_sub(memory.address) as i64).div_euclid(bytes))
        });
        let is_named = matches!(code, Code::SAN001 | Code::SAN005);
        let (tensor, index) = match element.filter(|_| is_named).map(|(memory, element)| (memory, u64::try_from(element))) {
            Some((memory, Ok(element))) => (Some(memory.name.clone()), vec![element]),
            _ => (None, Vec::new()),
        };
        Some(Found {
            code: code.as_str().to_owned(),
            severity: code.severity().name().to_owned(),
            message: message(report, element),
            place: own,
            related,
            kernel: launch.kernel.name(self.db).to_string(),
            launches: vec![observed.launch.clone()],
            program: report.block.unwrap_or_default(),
            tile_index: Vec::new(),
            warp: report.thread.map(|thread| thread / 32),
            lane: report.thread.map(|thread| thread % 32),
            tensor,
            index,
            programs: group.blocks.len() as u64,
            elements: group.elements,
            rests_on: Vec::new(),
        })
    }
}

/// The threads that load what others load, too: of a tile with fewer elements than threads, for example.
fn surplus_of_loads(db: &Database, instance: Instance, options: CompileOptions) -> Vec<(u32, u32)> {
    let Ok(module) = codegen::optimised(db, instance, options) else { return Vec::new() };
    let mut out = BTreeMap::new();
    for function in &module.functions {
        for op in function.ops.iter().filter(|op| matches!(op.kind, OpKind::Load(_))) {
            let layout = op.results.first().and_then(|&result| function.ty(result).layout());
            let Some(layout) = layout.and_then(|id| module.layouts.distributed(id)) else { continue };
            let (_, lanes, warps) = layout.free_bits();
            out.entry(op.origin.0).and_modify(|known| *known &= lanes | warps << 5).or_insert(lanes | warps << 5);
        }
    }
    out.into_iter().collect()
}

/// What a tool tells of the code and is no mistake of the kernel: threads that hold the same element as another read and write as it does. What
/// such a thread reads early is used by nobody, and what two of them write is equal.
fn is_harmless(report: &Report, observed: &ObservedLaunch) -> bool {
    let surplus = || {
        let load = operation(&report.place)?.checked_sub(1)?;
        observed.surplus.iter().find(|(known, _)| *known == load).map(|(_, surplus)| *surplus)
    };
    match report.kind {
        Kind::Uninitialised => report.thread.zip(surplus()).is_some_and(|(thread, surplus)| thread & surplus != 0),
        Kind::Race => {
            let writes = |what: &str| what.to_lowercase().contains("write");
            writes(&report.headline) && !report.others.is_empty() && report.others.iter().all(|(what, _)| writes(what))
        }
        Kind::OutOfBounds | Kind::Misaligned | Kind::Barrier => false,
    }
}

impl ObservedLaunch {
    /// The memory that an access is about: the one that it leaves, or lies in.
    fn of(&self, report: &Report) -> Option<&ObservedMemory> {
        let address = report.address?;
        let begins = |memory: &&ObservedMemory| Some(memory.address) == report.nearest;
        let holds = |memory: &&ObservedMemory| (memory.address..memory.address + memory.bytes).contains(&address);
        self.memories.iter().find(begins).or_else(|| self.memories.iter().find(holds))
    }
}

/// The number of the operation that an instruction comes from.
fn operation(place: &compute_sanitizer::Place) -> Option<u32> {
    place.line.filter(|_| place.file.as_deref().is_some_and(|file| file.ends_with(OPERATIONS)))
}

fn code(kind: Kind) -> Code {
    match kind {
        Kind::OutOfBounds => Code::SAN001,
        Kind::Misaligned => Code::SAN002,
        Kind::Uninitialised => Code::SAN005,
        Kind::Race | Kind::Barrier => Code::SAN012,
    }
}

/// What is wrong, in the words of the other devices.
fn message(report: &Report, element: Option<(&ObservedMemory, i64)>) -> String {
    let headline = &report.headline;
    let verb = [("read", "load"), ("write", "store"), ("atomic", "atomic")].into_iter().find(|(word, _)| headline.contains(word));
    let verb = verb.map_or("access", |(_, verb)| verb);
    let size = headline.split_once("of size ").and_then(|(_, rest)| rest.split(' ').next()).unwrap_or("some");
    match (report.kind, element) {
        (Kind::OutOfBounds, Some((memory, element))) => {
            let elements = memory.bytes / u64::from(memory.element_bytes.max(1));
            let place = if element < 0 { format!(": at element {element}") } else { String::new() };
            format!("{verb} of {size} bytes outside of `{}`, which has {elements} elements{place}", memory.name)
        }
        (Kind::Misaligned, Some((memory, _))) => {
            let offset = report.address.unwrap_or_default().wrapping_sub(memory.address);
            format!("{verb} of {size} bytes at byte {offset} of `{}`, which is not a multiple of {size}", memory.name)
        }
        (Kind::Uninitialised, _) => "an element is read that nobody has written".to_owned(),
        (Kind::Race, _) => {
            let what = headline.to_lowercase().replace(" access", "");
            format!("other threads access what this {what}s in shared memory, and no barrier is between them")
        }
        (Kind::OutOfBounds | Kind::Misaligned, None) => {
            let address = report.address.map_or_else(String::new, |address| format!(" at {address:#x}"));
            format!("compute-sanitizer: {headline}{address}")
        }
        (Kind::Barrier, _) => format!("compute-sanitizer: {headline}"),
    }
}

impl Collected {
    fn extend_with(&mut self, found: Option<Found>) {
        if let Some(found) = found {
            self.add(found);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{cell::RefCell, path::Path};

    use super::*;
    use crate::bundle::FileSource;
    use crate::{device::DeviceName, exec::Verify, watch::Limits};

    const TEXT: &str = r#"import triton
import triton.language as tl
# /// tritium
# [launch.one]
# grid = [2]
# args = { X = "f32[100] = normal(0, 1)", Y = "f32[100]" }
# ///
@triton.jit
def copy(X, Y):
    i = tl.program_id(0) * 64 + tl.arange(0, 64)
    x = tl.load(X + i)
    tl.store(Y + i, x)
"#;

    /// The line of an operation's number.
    fn number_of(run: &Run<'_>, line: u32) -> u32 {
        let launch = &launch::launches(run.db, run.file).launches[0];
        let instance = specialise(run.db, launch);
        let at = |origin: &u32| run.place_of_origin(instance, *origin).is_some_and(|place| place.line == line);
        (0..100).rev().find(at).expect("an operation of the line") + 1
    }

    #[test]
    fn reports_are_told_at_their_lines() {
        let path = Path::new("/nowhere/copy.py");
        let chosen = tritium_semantics::Chosen::default();
        let job = Job {
            path: path.to_owned(),
            text: TEXT.to_owned(),
            task: Task::Sanitize,
            launch: None,
            device: "cuda:0".to_owned(),
            verify: Verify::Never,
            save: None,
            chosen: chosen.clone(),
            expect: Vec::new(),
            tune: crate::tune::TuneOptions::default(),
            limits: Limits::default(),
            attended: false,
        };
        let (db, file) = open(path, TEXT.to_owned(), chosen, &FileSource::Disk);
        let watched = Watched::default();
        let (device, gpu) = (DeviceName::Cuda(0), project::project(&db, file).target());
        let timed = RefCell::default();
        let site = Site { files: FileSource::Disk, save: &|_, _| Ok(()) };
        let memory_bytes = 1 << 30;
        let run =
            Run { job: &job, db: &db, file, device, gpu, watched: &watched, memory_bytes, doing: Doing::Run, site: &site, timed };
        let memory = |name: &str, address| ObservedMemory { name: name.to_owned(), address, bytes: 400, element_bytes: 4 };
        let (load, store) = (number_of(&run, 11), number_of(&run, 12));
        // The second warp loads what the first one does.
        let launch = ObservedLaunch {
            launch: "one".to_owned(),
            memories: vec![memory("X", 0x1000), memory("Y", 0x2000)],
            surplus: vec![(load - 1, 1 << 5)],
        };
        let checked = CheckedLaunch {
            launch: "one".to_owned(),
            kernel: "copy".to_owned(),
            device: "cuda:0".to_owned(),
            grid: [2, 1, 1],
            programs: 2,
            gap: None,
            findings: 0,
        };
        let observed = Observed { launches: vec![checked], observed: vec![launch] };
        let text = format!(
            "\
========= Invalid __global__ read of size 4 bytes
=========     at copy__launch_0+0xec0 in operations:{load}
=========     by thread (36,0,0) in block (1,0,0)
=========     Access to 0x1190 is out of bounds
=========     and is 1 bytes after the nearest allocation at 0x1000 of size 400 bytes
========= Invalid __global__ read of size 4 bytes
=========     at copy__launch_0+0xec0 in operations:{load}
=========     by thread (37,0,0) in block (1,0,0)
=========     Access to 0x1194 is out of bounds
=========     and is 5 bytes after the nearest allocation at 0x1000 of size 400 bytes
========= Invalid __global__ write of size 4 bytes
=========     at copy__launch_0+0xf00 in operations:{store}
=========     by thread (0,0,0) in block (0,0,0)
=========     Access to 0x2002 is misaligned
========= Invalid __global__ write of size 4 bytes
=========     at somebody_else+0xf00 in operations:{store}
=========     by thread (0,0,0) in block (0,0,0)
=========     Access to 0x2002 is misaligned
========= Uninitialized __global__ memory read of size 4 bytes
=========     at copy__launch_0+0xec0 in operations:{load}
=========     by thread (2,0,0) in block (0,0,0)
=========     Address 0x1008
========= Uninitialized __global__ memory read of size 4 bytes
=========     at copy__launch_0+0xec0 in operations:{load}
=========     by thread (35,0,0) in block (0,0,0)
=========     Address 0x100c
========= Error: Race reported between Write access at copy__launch_0+0x90 in operations:{store}
=========     and Write access at copy__launch_0+0x90 in operations:{store} [2 hazards]
========= Error: Race reported between Write access at copy__launch_0+0x90 in operations:{load}
=========     and Read access at copy__launch_0+0x100 in operations:{store} [4 hazards]
"
        );
        let mut all = Collected::default();
        run.read(Tool::Memcheck, observed, &compute_sanitizer::parse(&text), &mut all);
        let told: Vec<String> = all
            .findings
            .iter()
            .map(|found| {
                let line = found.place.as_ref().map_or(0, |place| place.line);
                let related: Vec<u32> = found.related.iter().map(|(place, _)| place.line).collect();
                format!("{line} {} {} {related:?}", found.code, found.sentence())
            })
            .collect();
        let expected = [
            "11 SAN001 load of 4 bytes outside of `X`, which has 100 elements (`X`[100], program (1, 0, 0), warp 1, lane 4; 2 elements in 1 program; launch `one`) []",
            "12 SAN002 store of 4 bytes at byte 2 of `Y`, which is not a multiple of 4 (program (0, 0, 0), warp 0, lane 0; launch `one`) []",
            "11 SAN005 an element is read that nobody has written (`X`[2], program (0, 0, 0), warp 0, lane 2; launch `one`) []",
            "11 SAN012 other threads access what this writes in shared memory, and no barrier is between them (launch `one`) [12]",
        ];
        assert_eq!(told, expected);
        assert_eq!(all.launches.len(), 1);
    }
}
