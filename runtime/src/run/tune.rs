//! Tuning: which row of a tuner a launch is fastest with.
//!
//! Rows that cannot be launched, that spill, or that the model expects to be far slower are put aside; the others are compiled side by side
//! and raced ([`crate::tune`]). On devices that are no GPU nothing is timed, and the model alone decides.
//! **Invariant:** a row that the file does not have is the best one only if its results are those of the file's first row.

mod propose;
mod station;

use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
    mem,
    sync::Arc,
    thread,
    time::Instant,
};

use rayon::prelude::*;
use tritium_codegen::CompileOptions;
use tritium_estimate::{self as estimate, ReportKey, resources::KernelReport};
use tritium_semantics::{
    DEEP_STACK_BYTES, Database, Instance, SourceFile, host,
    launch::{self, Init, Launch, LaunchId, LaunchOptions},
    program::Program,
    project,
    target::Gpu,
};

pub(super) use self::station::Source;
use self::station::Stations;
use super::{
    Compiled, Compiler, Doing, Ended, Launched, Ran, Refusal, Run, Site, Stores, all, cuda_grid, elaborated, launch_values,
};
use crate::{
    calibrate,
    device::{DeviceName, LaunchValue, cuda},
    exec::{Job, Task, Verify},
    tensor::Tensor,
    timing::Spread,
    tune::{FAR_SLOWER_AT_FIRST, FAR_SLOWER_BY_MODEL, FULL_SAMPLES, Heat, Race, TriedRow, TunedLaunch, Tuning},
    watch::Watched,
};

/// Tries the rows of the tuners of a job's launches.
pub fn tune(job: &Job, site: &Site, watched: &Watched) -> Result<Tuning, Ended> {
    let start = Instant::now();
    let _span = tracing::info_span!("tune", file = %job.path.display(), device = job.device).entered();
    let mut job = Job { task: Task::Tune, ..job.clone() };
    let verify = mem::replace(&mut job.verify, Verify::Never);
    // Opened beside the compiler and held until the end: that takes longer than to time a row.
    let context = match DeviceName::parse(&job.device) {
        Some(DeviceName::Cuda(ordinal)) => Some(thread::spawn(move || cuda::Cuda::open(ordinal))),
        _ => None,
    };
    if job.tune.propose > 0 {
        watched.enter(format!("looking for other rows for the tuners of {}", job.path.display()));
        job.chosen.proposed = propose::proposed(&job, site)?;
    }
    let trials = Trials::default();
    all(&job, site, watched, Doing::Tune(&trials))?;
    let (mut launches, compile_seconds) = (trials.found.into_inner(), trials.compile_seconds.get());
    if verify != Verify::Never {
        for tuned in &mut launches {
            let Some(best) = tuned.best() else { continue };
            let named = Some(LaunchId::new(&tuned.launch, Some(best.row)).to_string());
            let report = all(&Job { task: Task::Run, launch: named, verify, ..job.clone() }, site, watched, Doing::Run)?;
            let of_launches = report.launches.into_iter().flat_map(|launch| launch.comparisons);
            tuned.comparisons.extend(of_launches.chain(report.checks.into_iter().map(|check| check.comparison)));
        }
    }
    let gpus = if job.tune.all_gpus { cuda::count().max(1) } else { 1 };
    let (db, file) = super::open(&job.path, job.text.clone(), job.chosen.clone(), &site.files);
    let (gpu, device) = gpu_of(&job, &db, file)?;
    drop(context.map(thread::JoinHandle::join));
    let seconds = start.elapsed().as_secs_f64();
    Ok(Tuning {
        version: 1,
        file: job.path.clone(),
        device,
        gpu: gpu.name().to_owned(),
        gpus,
        launches,
        compile_seconds,
        seconds,
    })
}

/// What the launches of a tuning share.
#[derive(Default)]
pub(super) struct Trials {
    found: RefCell<Vec<TunedLaunch>>,
    /// By what decides the code, so that launches of several sizes share it.
    compiled: RefCell<HashMap<Code, Result<Arc<Compiled>, String>>>,
    compile_seconds: Cell<f64>,
}

type Code = (Instance, LaunchOptions);

/// The GPU that predictions are about, which is the one that launches if there is one; and the device's name.
fn gpu_of(job: &Job, db: &Database, file: SourceFile) -> Result<(Gpu, String), Refusal> {
    let chosen = project::project(db, file).target();
    let Some(DeviceName::Cuda(ordinal)) = DeviceName::parse(&job.device) else { return Ok((chosen, job.device.clone())) };
    let device = cuda::Listed::find(ordinal).map_err(|e| Refusal::new(e.to_string()))?;
    let of_board = calibrate::board_of(&device.name).and_then(|board| Gpu::find(board.name));
    Ok((of_board.or_else(|| Gpu::of_capability(device.compute_capability)).unwrap_or(chosen), device.name))
}

/// A row that can be launched.
struct Row {
    instance: Instance,
    values: Vec<LaunchValue>,
    geometry: cuda::Geometry,
    compiled: Option<Arc<Compiled>>,
}

/// Does the same for each item, on every core.
pub(crate) fn each<I: Send, T: Send>(db: &Database, items: Vec<I>, of: impl Fn(&Database, I) -> T + Sync) -> Vec<T> {
    let work: Vec<(Database, I)> = items.into_iter().map(|item| (db.clone(), item)).collect();
    let run = || work.into_par_iter().with_max_len(1).map(|(db, item)| of(&db, item)).collect();
    match rayon::ThreadPoolBuilder::new().stack_size(DEEP_STACK_BYTES).build() {
        Ok(pool) => pool.install(run),
        Err(_) => run(),
    }
}

fn report(db: &Database, launch: &Launch, instance: Instance, gpu: Gpu, registers: Option<u32>) -> Result<KernelReport, String> {
    let options = CompileOptions::new(gpu.sm, launch.options);
    let key = ReportKey::new(db, instance, options, gpu, Some(estimate::launch_values(db, launch)), registers);
    estimate::report(db, key).clone().map_err(|unsupported| unsupported.message)
}

/// What a row takes as the model has it; or why it cannot be launched.
fn assessed(db: &Database, launch: &Launch, gpu: Gpu) -> (TriedRow, Option<Row>) {
    let own = host::configs(db, launch.kernel).len() - proposed_of(db, launch);
    let number = launch.config.unwrap_or(0);
    let mut row = TriedRow {
        row: number,
        proposed: number as usize >= own,
        meta: vec![],
        num_warps: launch.options.num_warps,
        num_stages: launch.options.num_stages,
        max_registers: launch.options.max_registers,
        predicted_us: None,
        registers: None,
        spilled_bytes: None,
        is_exact: false,
        shared_bytes: None,
        time: None,
        skipped: None,
    };
    if let Some(config) = host::configs(db, launch.kernel).get(number as usize) {
        row.meta = config.meta.0.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
    }
    let ready = || -> Result<(Row, KernelReport), String> {
        let (instance, module) = elaborated(db, launch).map_err(|refusal| refusal.message)?;
        let values = launch_values(db, launch, &module).map_err(|refusal| refusal.message)?;
        let report = report(db, launch, instance, gpu, None)?;
        let grid = cuda_grid(launch.grid)?;
        let geometry = cuda::Geometry { grid, threads: launch.options.threads(), shared_bytes: report.shared_bytes.value };
        Ok((Row { instance, values, geometry, compiled: None }, report))
    };
    match ready() {
        Ok((ready, report)) => {
            row.fill(&report);
            let (bytes, most) = (report.shared_bytes.value, gpu.sm.shared_per_cta);
            if bytes > most {
                row.skipped = Some(format!("needs {bytes} bytes of shared memory, and a CTA has {most} on the {}", gpu.name()));
            }
            (row, Some(ready))
        }
        Err(message) => {
            // Behind the line that names the launch stands what is wrong.
            row.skipped = message.lines().nth(1).or(message.lines().next()).map(|line| line.trim().to_owned());
            (row, None)
        }
    }
}

/// How many rows were proposed for the tuner of a launch's kernel.
fn proposed_of(db: &Database, launch: &Launch) -> usize {
    let kernel = launch.kernel.name(db);
    db.chosen().proposed.iter().filter(|proposed| proposed.kernel == **kernel).count()
}

impl TriedRow {
    fn fill(&mut self, report: &KernelReport) {
        self.predicted_us = report.cost.predicted_us;
        self.registers = Some(report.registers.value);
        self.spilled_bytes = Some(report.spill_bytes.value);
        self.shared_bytes = Some(report.shared_bytes.value);
    }

    fn spills(&self) -> bool {
        self.spilled_bytes.is_some_and(|bytes| bytes > 0)
    }
}

/// Puts aside what spills, where something does not, and what is expected to be far slower than the best.
fn put_aside(rows: &mut [TriedRow]) {
    let left = |rows: &[TriedRow]| rows.iter().filter(|row| row.skipped.is_none()).cloned().collect::<Vec<_>>();
    if left(rows).iter().any(|row| !row.spills()) {
        for row in rows.iter_mut().filter(|row| row.skipped.is_none() && row.spills()) {
            let about = if row.is_exact { "" } else { "~" };
            row.skipped = Some(format!("spills {about}{} bytes of registers", row.spilled_bytes.unwrap_or(0)));
        }
    }
    let best = left(rows).iter().filter_map(|row| row.predicted_us).min_by(f64::total_cmp);
    let Some(best) = best else { return };
    for row in rows.iter_mut().filter(|row| row.skipped.is_none()) {
        if let Some(us) = row.predicted_us.filter(|us| *us > FAR_SLOWER_BY_MODEL * best) {
            row.skipped = Some(format!("~{us:.1} µs by the model, {:.1} times the best", us / best));
        }
    }
}

impl Run<'_> {
    /// Tries the rows of the tuners of launches. Those of host code, which come last, run as the program makes them.
    pub(super) fn try_rows(&self, chosen: &[usize], of_host: usize, program: &Program, trials: &Trials) -> Result<(), Ended> {
        if matches!(self.device, DeviceName::Cuda(_)) {
            self.compile_rows(chosen, trials)?;
            let (alone, of_program): (Vec<usize>, Vec<usize>) = chosen.iter().partition(|&&index| index < of_host);
            self.tune_alone(alone.into_iter().map(|index| self.with_expect(index)).collect(), trials)?;
            let of_program: Vec<usize> = of_program.into_iter().map(|index| index - of_host).collect();
            if !of_program.is_empty() {
                self.program(program, of_host, &of_program, &mut vec![])?;
            }
        } else {
            let launches: Vec<Launch> = chosen.iter().map(|&index| self.with_expect(index)).collect();
            trials.found.borrow_mut().extend(tuners(launches).iter().map(|rows| self.tuned_by_model(rows)));
        }
        self.found_some(trials)
    }

    fn found_some(&self, trials: &Trials) -> Result<(), Ended> {
        if !trials.found.borrow().is_empty() {
            return Ok(());
        }
        Err(Ended::Refused(Refusal::new(format!(
            "{}: no launch has a tuner to choose rows of: `@triton.autotune(configs=[…], key=[…])` above its kernel gives it one",
            self.job.path.display()
        ))))
    }

    fn tuned_by_model(&self, launches: &[Launch]) -> TunedLaunch {
        let (mut tuned, _) = self.assessed(launches, self.gpu);
        if !self.job.tune.exhaustive {
            put_aside(&mut tuned.rows);
        }
        tuned.sort();
        tuned
    }

    fn assessed(&self, launches: &[Launch], gpu: Gpu) -> (TunedLaunch, Vec<Option<Row>>) {
        self.enter(&launches[0], "choosing among the rows of");
        let (rows, ready) = each(self.db, launches.iter().collect(), |db, launch| assessed(db, launch, gpu)).into_iter().unzip();
        let tuned = TunedLaunch {
            launch: launches[0].name.to_string(),
            kernel: launches[0].kernel.name(self.db).to_string(),
            rows,
            timed_launches: 0,
            full_launches: 0,
            measure_seconds: 0.0,
            comparisons: vec![],
            fault: None,
        };
        (tuned, ready)
    }

    /// Compiles the rows of all launches side by side, before the first is timed.
    fn compile_rows(&self, chosen: &[usize], trials: &Trials) -> Result<(), Ended> {
        let start = Instant::now();
        let (gpu, _) = gpu_of(self.job, self.db, self.file)?;
        let compiler = Compiler::new().map_err(Refusal::new)?;
        let mut wanted: Vec<(Code, Launch)> = Vec::new();
        for launches in tuners(chosen.iter().map(|&index| self.with_expect(index)).collect()) {
            let (tuned, ready) = self.worth_compiling(&launches, gpu);
            for ((launch, row), ready) in launches.into_iter().zip(tuned.rows).zip(ready) {
                let Some(code) = ready.map(|ready| (ready.instance, launch.options)).filter(|_| row.skipped.is_none()) else {
                    continue;
                };
                if !wanted.iter().any(|(known, _)| *known == code) {
                    wanted.push((code, launch));
                }
            }
        }
        let (codes, launches): (Vec<Code>, Vec<Launch>) = wanted.into_iter().unzip();
        let Some(first) = launches.first() else { return Ok(()) };
        self.enter(first, "compiling the rows of");
        let compile = |db: &Database, (instance, launch): Code| {
            compiler.compile(db, instance, CompileOptions::new(gpu.sm, launch)).map(Arc::new)
        };
        let compiled = each(self.db, codes.clone(), compile);
        trials.compiled.borrow_mut().extend(codes.iter().copied().zip(compiled));
        trials.compile_seconds.set(start.elapsed().as_secs_f64());
        Ok(())
    }

    /// What the model says of rows. What it says of spills is no verdict: ptxas will give one.
    fn worth_compiling(&self, launches: &[Launch], gpu: Gpu) -> (TunedLaunch, Vec<Option<Row>>) {
        let (mut tuned, ready) = self.assessed(launches, gpu);
        if !self.job.tune.exhaustive {
            let mut by_time = tuned.rows.clone();
            by_time.iter_mut().for_each(|row| row.spilled_bytes = None);
            put_aside(&mut by_time);
            tuned.rows.iter_mut().zip(by_time).for_each(|(row, other)| row.skipped = other.skipped);
        }
        (tuned, ready)
    }

    /// Times the rows of a launch on GPUs; the place of the best among them.
    fn tuned_on_gpu(
        &self,
        launches: &[Launch],
        memories: &[Source],
        trials: &Trials,
        made: Made<'_>,
    ) -> Result<(TunedLaunch, usize), Ended> {
        let (gpu, _) = gpu_of(self.job, self.db, self.file)?;
        let (mut tuned, mut ready) = self.worth_compiling(launches, gpu);
        for ((launch, row), ready) in launches.iter().zip(&mut tuned.rows).zip(&mut ready) {
            let Some(ready) = ready.as_mut().filter(|_| row.skipped.is_none()) else { continue };
            match trials.compiled.borrow().get(&(ready.instance, launch.options)) {
                Some(Ok(compiled)) => self.take(row, ready, compiled, launch, gpu),
                Some(Err(message)) => row.skipped = Some(message.clone()),
                None => row.skipped = Some("it was not compiled".to_owned()),
            }
        }
        if !self.job.tune.exhaustive {
            put_aside(&mut tuned.rows);
        }
        let start = Instant::now();
        let is_first = trials.found.borrow().is_empty();
        self.measure(&mut tuned, &ready, memories, launches, is_first);
        tuned.measure_seconds = start.elapsed().as_secs_f64();
        tuned.sort();
        let best = self.best_that_is_right(&mut tuned, launches, made)?;
        Ok((tuned, best))
    }

    fn take(&self, row: &mut TriedRow, ready: &mut Row, compiled: &Arc<Compiled>, launch: &Launch, gpu: Gpu) {
        let registers = compiled.registers.map(|(registers, _)| registers);
        if let Ok(report) = report(self.db, launch, ready.instance, gpu, registers) {
            row.fill(&report);
        }
        if let Some((registers, spilled)) = compiled.registers {
            (row.registers, row.spilled_bytes, row.is_exact) = (Some(registers), Some(spilled), true);
        }
        row.shared_bytes = Some(compiled.shared_bytes);
        ready.geometry.shared_bytes = compiled.shared_bytes;
        ready.compiled = Some(Arc::clone(compiled));
    }

    fn measure(&self, tuned: &mut TunedLaunch, ready: &[Option<Row>], memories: &[Source], launches: &[Launch], is_first: bool) {
        self.enter(&launches[0], "timing the rows of");
        let DeviceName::Cuda(first) = self.device else { return };
        let ordinals = if self.job.tune.all_gpus { (0..cuda::count().max(1)).collect() } else { vec![first] };
        let exhaustive = self.job.tune.exhaustive;
        let mut alive: Vec<usize> = (0..launches.len()).filter(|&at| tuned.rows[at].skipped.is_none()).collect();
        let predicted = |at: &usize| tuned.rows[*at].predicted_us.unwrap_or(f64::INFINITY);
        alive.sort_by(|a, b| predicted(a).total_cmp(&predicted(b)));
        let could_run = tuned.rows.iter().filter(|row| row.registers.is_some() && row.shared_bytes.is_some()).count();
        tuned.full_launches = could_run as u32 * FULL_SAMPLES;
        let mut samples: Vec<Vec<f64>> = vec![vec![]; launches.len()];
        let fault = Stations::with(&ordinals, ready, memories, is_first, |stations| {
            // Each alone at first: a row that faults is known by name.
            for (at, first) in stations.alone(&alive)? {
                samples[at] = vec![first];
                tuned.timed_launches += 1;
            }
            let best = alive.iter().map(|&at| samples[at][0]).fold(f64::INFINITY, f64::min);
            let timed_once = alive.len();
            if !exhaustive {
                for &at in alive.iter().filter(|&&at| samples[at][0] > FAR_SLOWER_AT_FIRST * best) {
                    tuned.rows[at].skipped = Some(format!("its first launch took {:.1} times the best", samples[at][0] / best));
                }
                alive.retain(|&at| tuned.rows[at].skipped.is_none());
            }
            let mut race = Race::new(could_run, timed_once, exhaustive);
            loop {
                let mut out = vec![];
                let heat = race.next(&mut alive, &mut samples, &mut out);
                for at in out {
                    tuned.rows[at].skipped = Some(match race.is_final() {
                        true => "slower among those that are close".to_owned(),
                        false => format!("slower in the first {} launches", samples[at].len()),
                    });
                }
                let Some(heat) = heat else { break };
                // What decides is measured on one GPU.
                let on_one = race.is_final();
                let at_once = if on_one { 1 } else { ordinals.len() };
                let (groups, each): (Vec<Vec<usize>>, u32) = match heat {
                    Heat::InTurn(each) => (vec![alive.clone()], each),
                    Heat::InARow { samples, backwards } => {
                        let mut groups: Vec<_> = alive.chunks(at_once).map(<[usize]>::to_vec).collect();
                        if backwards {
                            groups.reverse();
                        }
                        (groups, samples)
                    }
                };
                for group in groups {
                    for (at, more) in stations.together(&group, each, on_one)? {
                        tuned.timed_launches += more.len() as u32;
                        samples[at].extend(more);
                    }
                }
            }
            Ok(())
        });
        for (row, us) in tuned.rows.iter_mut().zip(samples) {
            row.time = (!us.is_empty()).then(|| Spread::of(us));
        }
        tuned.fault = fault.err().map(|(at, message)| match at {
            Some(at) => format!("{} ({}): {message}", launches[at].id(), tuned.rows[at].label()),
            None => message,
        });
    }

    /// Passes over proposed rows whose results are others than those of the file's first row.
    fn best_that_is_right(&self, tuned: &mut TunedLaunch, launches: &[Launch], made: Made<'_>) -> Result<usize, Ended> {
        let place = |row: u32| launches.iter().position(|launch| launch.config == Some(row)).unwrap_or(0);
        while let Some((row, true)) = tuned.best().map(|best| (best.row, best.proposed)) {
            let (own, other) = (&launches[0], &launches[place(row)]);
            let (memories, before) = made()?;
            let (memories, before) = (memories.as_slice(), before.as_slice());
            let of_own = self.launch(own, memories, before.to_vec())?;
            let Launched { after: Some(expected), rounding, .. } = of_own else { break };
            let got = self.launch(other, memories, before.to_vec())?.after;
            let ran = |launch, after| Ran { launch, memories, before, after, stores: &Stores::Unseen };
            let compared =
                got.as_ref().map(|got| ran(other, got).against(&ran(own, &expected), "the file's first row", rounding));
            match compared {
                Some(compared) if compared.iter().all(|comparison| comparison.ok) => {
                    tuned.comparisons = compared;
                    break;
                }
                _ => tuned.rows[0].skipped = Some("its results are not those of the file's first row".to_owned()),
            }
            tuned.sort();
        }
        Ok(tuned.best().map_or(0, |best| place(best.row)))
    }

    /// Tries the rows of launches that are made by themselves.
    fn tune_alone(&self, launches: Vec<Launch>, trials: &Trials) -> Result<(), Ended> {
        for rows in tuners(launches) {
            let tensors = &rows[0].tensors;
            let mut made = || Ok((tensors.clone(), self.made(&rows[0])?));
            let memories = match tensors.iter().any(|tensor| matches!(tensor.init, Init::File(_) | Init::Computed)) {
                true => self.made(&rows[0])?.into_iter().map(Source::Held).collect(),
                false => tensors.iter().map(|tensor| Source::made(tensor, tensor.span().unwrap_or(0))).collect::<Vec<_>>(),
            };
            let (tuned, _) = self.tuned_on_gpu(&rows, &memories, trials, &mut made)?;
            trials.found.borrow_mut().push(tuned);
        }
        Ok(())
    }

    /// The best of the rows of one launch, which is tried once, however often the program makes it.
    pub(super) fn best_row(
        &self,
        trials: &Trials,
        launches: &[Launch],
        memories: impl FnOnce() -> Result<Vec<Source>, Ended>,
        made: Made<'_>,
    ) -> Result<usize, Ended> {
        let known = trials
            .found
            .borrow()
            .iter()
            .find(|tuned| launches[0].name == *tuned.launch)
            .map(|tuned| tuned.best().map(|best| best.row));
        if let Some(row) = known {
            return Ok(launches.iter().position(|launch| launch.config == row).unwrap_or(0));
        }
        let (tuned, best) = self.tuned_on_gpu(launches, &memories()?, trials, made)?;
        trials.found.borrow_mut().push(tuned);
        Ok(best)
    }
}

/// Makes the memories of a launch, and what they hold before it.
pub(super) type Made<'a> = &'a mut dyn FnMut() -> Result<Memories, Ended>;

/// A tensor for each memory of a launch, and what it holds.
pub(super) type Memories = (Vec<launch::Tensor>, Vec<Tensor>);

/// Launches of the same name, which differ in the rows of their tuner.
fn tuners(launches: Vec<Launch>) -> Vec<Vec<Launch>> {
    let mut out: Vec<Vec<Launch>> = Vec::new();
    for launch in launches.into_iter().filter(|launch| launch.config.is_some()) {
        match out.iter_mut().find(|rows| rows[0].name == launch.name) {
            Some(rows) => rows.push(launch),
            None => out.push(vec![launch]),
        }
    }
    out
}

impl TunedLaunch {
    /// Those that were timed to the end by their times, then the others.
    fn sort(&mut self) {
        let timed = self.rows.iter().any(|row| row.time.is_some());
        let order = |row: &TriedRow| {
            let time = if timed { row.time.map(|time| time.median_us) } else { row.predicted_us };
            (row.skipped.is_some(), time.is_none(), time.unwrap_or(f64::INFINITY))
        };
        self.rows.sort_by(|a, b| order(a).partial_cmp(&order(b)).unwrap_or(std::cmp::Ordering::Equal));
    }
}
