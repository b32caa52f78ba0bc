// Feature: Batch requests
//
//! One request a line, one answer a line: what a script or a judge asks of many kernels. The contract is in `docs/architecture.md`.

use std::{collections::BTreeMap, path::Path, time::Instant};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tritium_codegen as codegen;
use tritium_estimate::{self as estimate, resources::Figure, spills::Pressure};
use tritium_semantics::{
    configuration::Configuration,
    diagnostics::Severity,
    items,
    launch::{self, GivenOptions},
    lints,
    target::Gpu,
};
use tritium_syntax::{Encoding, TextSize};

use crate::{
    Analysis, Host, Options,
    emit::Choice,
    guarded,
    request::{self, Arguments},
    stats::expressions,
};

/// How far a request goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Through {
    Types,
    Tile,
    Ptx,
    Sass,
}

#[derive(Debug, Clone, Deserialize)]
pub struct Request {
    #[serde(default)]
    pub id: Value,
    pub file: String,
    /// A helper is allowed.
    pub kernel: String,
    #[serde(default)]
    pub args: Value,
    #[serde(default)]
    pub constexprs: Value,
    /// The arguments and options of this launch of the file, in place of those above.
    pub launch: Option<String>,
    pub num_warps: Option<u32>,
    pub num_stages: Option<u32>,
    pub maxnreg: Option<u32>,
    pub gpu: Option<String>,
    pub triton: Option<String>,
    /// Also what is expected of ptxas; after the stage `tile`.
    #[serde(default)]
    pub estimates: bool,
    /// Also where Triton's code needs most registers, with all rules of the model and without each; after the same stage.
    #[serde(default)]
    pub places: bool,
    /// Also the bindings of the helpers that it calls, each with its function's name.
    #[serde(default)]
    pub helpers: bool,
}

#[derive(Debug, Clone, Default, Serialize)]
pub struct Answer {
    pub id: Value,
    /// The stage was reached without an error.
    pub ok: bool,
    pub diagnostics: Vec<Found>,
    pub values: Vec<Binding>,
    /// Nothing unknown reaches a side effect or decides control flow.
    pub complete: bool,
    /// In the bodies that the request reaches.
    pub expressions: usize,
    pub unreached: usize,
    pub typed_expressions: usize,
    /// What Triton is expected to take.
    pub triton: Option<Expected>,
    /// Shared memory of Tritium's own code.
    pub shared_bytes: Option<u32>,
    /// Exact, from ptxas.
    pub registers: Option<u32>,
    /// What was expected of ptxas before it was asked, what of it is live at once, and whether it was expected to spill.
    pub registers_estimated: Option<Figure<u32>>,
    pub registers_live: Option<f64>,
    pub spills_estimated: Option<bool>,
    pub spill_bytes: Option<u32>,
    /// Local memory of a thread: spilled registers and arrays that are indexed at run time.
    pub local_bytes: Option<u32>,
    pub ptx_bytes: Option<usize>,
    /// Milliseconds of the stages that were run: `tile`, `llvm`, `ptx`, `sass`.
    pub stage_ms: BTreeMap<&'static str, f64>,
    pub ms: f64,
}

/// Estimates about Triton's own code.
#[derive(Debug, Clone, Serialize)]
pub struct Expected {
    pub shared_bytes: u32,
    /// What a thread block of the GPU may have.
    pub limit_bytes: u32,
    pub pressure: Pressure,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<(&'static str, Vec<estimate::triton::Counts>)>,
    /// Matrix products.
    pub products: usize,
    /// What takes the bytes.
    pub parts: Vec<estimate::triton::Part>,
}

#[derive(Debug, Clone, Serialize)]
pub struct Found {
    pub code: String,
    pub severity: &'static str,
    pub message: String,
    /// 1-based; 0 where there is no place.
    pub line: u32,
}

#[derive(Debug, Clone, Serialize)]
pub struct Binding {
    /// 1-based.
    pub line: u32,
    pub name: String,
    #[serde(rename = "type")]
    pub ty: String,
    /// Helper that binds it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
}

/// Answers one line.
pub fn answer(host: &mut Host, defaults: &Options, line: &str, through: Through) -> Answer {
    let start = Instant::now();
    let mut answer = Answer::default();
    let outcome = serde_json::from_str::<Request>(line).map_err(|e| format!("this is not a request: {e}")).and_then(|request| {
        answer.id = request.id.clone();
        configure(host, defaults, &request)?;
        // One bad kernel takes nothing from the next.
        guarded(|| host.snapshot_at(Path::new(&request.file)).fill(&request, through, &mut answer))
            .unwrap_or_else(|panic| Err(format!("a defect in Tritium: it panicked: {panic}")))
    });
    if let Err(message) = outcome {
        answer.ok = false;
        answer.diagnostics.push(Found { code: "REQUEST".to_owned(), severity: Severity::Error.name(), message, line: 0 });
    }
    answer.ms = start.elapsed().as_secs_f64() * 1e3;
    answer
}

fn configure(host: &mut Host, defaults: &Options, request: &Request) -> Result<(), String> {
    let mut options = defaults.clone();
    if let Some(gpu) = &request.gpu {
        options.gpu = Some(Gpu::find(gpu).ok_or_else(|| format!("unknown GPU `{gpu}`"))?.name().to_owned());
    }
    if let Some(triton) = &request.triton {
        tritium_semantics::versions::rules(triton).ok_or_else(|| format!("unknown Triton version `{triton}`"))?;
        options.triton = Some(triton.clone());
    }
    host.configure(options);
    Ok(())
}

impl Request {
    fn options(&self) -> GivenOptions {
        GivenOptions { num_warps: self.num_warps, num_stages: self.num_stages, max_registers: self.maxnreg }
    }
}

/// What a request asks of the compiler that no launch can have.
fn impossible(request: &Request) -> Option<String> {
    let GivenOptions { num_warps, num_stages, max_registers } = request.options();
    let options = [("num_warps", num_warps), ("num_stages", num_stages), ("maxnreg", max_registers)];
    let mut given = options.into_iter().filter_map(|(name, value)| launch::impossible_option(name, i128::from(value?)));
    given.find(|found| found.severity == Severity::Error).map(|found| found.message)
}

impl Analysis {
    fn fill(&self, request: &Request, through: Through, answer: &mut Answer) -> Result<(), String> {
        let start = Instant::now();
        let db = self.db();
        let path = Path::new(&request.file);
        let file = self.file(path).ok_or_else(|| format!("{}: cannot be read", request.file))?;
        let function = request::find_function(db, file, &request.kernel)
            .ok_or_else(|| format!("no `@triton.jit` function `{}` in {}", request.kernel, request.file))?;
        if let Some(message) = impossible(request).filter(|_| request.launch.is_none()) {
            return Err(message);
        }
        let active = match &request.launch {
            Some(name) => {
                let choice = Choice { kernel: Some(request.kernel.clone()), launch: Some(name.clone()), ..Choice::default() };
                self.choose(file, &choice)?
            }
            None => {
                let arguments = Arguments::from_json(db, file, &request.args, &request.constexprs)?;
                let mut active = Configuration::assumed(arguments.instance(db, file, function)?);
                active.options = request.options().or_default();
                active
            }
        };
        let elaborated = self.elaborated(active.instance);
        let index = items::line_index(db, file);
        let line_of = |place| {
            let range = self.range(place)?;
            Some(index.line_column(TextSize::try_from(range.start).ok()?, Encoding::CodePoints).line + 1)
        };
        let of_target = lints::of_target(db, elaborated);
        for problem in elaborated.problems.iter().chain(&of_target) {
            answer.diagnostics.push(Found {
                code: problem.code.as_str().to_owned(),
                severity: problem.code.severity().name(),
                message: problem.message.clone(),
                line: line_of(problem.place).unwrap_or(0),
            });
        }
        let mut values: Vec<Binding> = elaborated
            .bindings
            .iter()
            .filter(|(place, ..)| request.helpers || place.function == function)
            .map(|(place, name, ty)| Binding {
                line: line_of(*place).unwrap_or(0),
                name: name.to_string(),
                ty: ty.to_string(),
                function: (place.function != function).then(|| place.function.name(db).to_string()),
            })
            .collect();
        values.sort_by_key(|binding| binding.line);
        answer.values = values;
        let counted = expressions(db, elaborated);
        answer.complete = elaborated.complete;
        answer.expressions = counted.all;
        answer.unreached = counted.unreached;
        answer.typed_expressions = counted.typed;
        answer.ok = elaborated.problems.iter().chain(&of_target).all(|p| p.code.severity() != Severity::Error);
        if through == Through::Types || !answer.ok {
            return Ok(());
        }
        self.complete(active)?;
        let mut clock = Clock { start, stages: &mut answer.stage_ms };
        clock.stage("tile");
        if request.estimates {
            let report = self.report_of(active).as_ref().map_err(|e| e.message.clone())?;
            answer.registers_estimated = Some(report.registers);
            answer.registers_live = Some(report.live_registers);
            answer.spills_estimated = Some(report.spill_bytes.value > 0);
        }
        let expected = estimate::triton_footprint(db, active.instance, self.compile_options(active)).as_ref().ok();
        let places = match request.places {
            true => estimate::triton_places(db, active.instance, self.compile_options(active)).map_err(|e| e.message)?,
            false => Vec::new(),
        };
        answer.triton = expected.map(|footprint| Expected {
            shared_bytes: footprint.shared_bytes.value,
            limit_bytes: self.gpu().sm.shared_per_cta,
            pressure: footprint.pressure,
            places,
            products: footprint.products.len(),
            parts: footprint.parts.clone(),
        });
        if through == Through::Tile {
            return Ok(());
        }
        let llvm = codegen::llvm_text(db, active.instance, self.compile_options(active));
        let llvm = llvm.as_ref().map_err(|e| e.message.clone())?;
        answer.shared_bytes = Some(llvm.shared_bytes);
        clock.stage("llvm");
        let ptx = self.artefacts().ptx(&llvm.text, self.gpu().sm)?;
        answer.ptx_bytes = Some(ptx.len());
        clock.stage("ptx");
        if through == Through::Ptx {
            return Ok(());
        }
        let exact = self.artefacts().wait(&llvm.text, self.gpu().sm).known().map_err(|e| e.to_string())?;
        answer.registers = Some(exact.code.registers);
        answer.spill_bytes = Some(exact.code.spilled());
        answer.local_bytes = Some(exact.code.stack);
        clock.stage("sass");
        Ok(())
    }
}

struct Clock<'a> {
    start: Instant,
    stages: &'a mut BTreeMap<&'static str, f64>,
}

impl Clock<'_> {
    /// A stage has ended.
    fn stage(&mut self, name: &'static str) {
        let now = Instant::now();
        self.stages.insert(name, now.duration_since(self.start).as_secs_f64() * 1e3);
        self.start = now;
    }
}
