// Feature: Corpus statistics
//
//! How much of a body of code is understood, and how long that takes.

use std::{collections::BTreeMap, path::Path, time::Instant};

use indexmap::{IndexMap, IndexSet};
use serde::Serialize;
use tritium_codegen as codegen;
use tritium_semantics::{
    Argument, Db, Function, Instance, SourceFile,
    body::Stmt,
    check,
    configuration::Configuration,
    diagnostics::Severity,
    elaborate::{self, Elaborated},
    host, items, launch,
    specialise::{self, LeftOpen, specialisations},
};
use tritium_syntax::PythonVersion;

use crate::{Analysis, batch::Through};

#[derive(Debug, Clone, Default, Serialize)]
pub struct Stats {
    pub version: u32,
    pub files: usize,
    pub kernels: usize,
    pub helpers: usize,
    /// Kernels that nobody checks, by why.
    pub unchecked: BTreeMap<&'static str, usize>,
    pub parse_errors: usize,
    /// In kernel and helper bodies.
    pub expressions: usize,
    /// Of these: in code that no specialisation looked at enters.
    pub unreached: usize,
    pub typed_expressions: usize,
    /// Kernels in which nothing unknown reaches a side effect.
    pub elaborated: usize,
    /// Of the others: those with an error of their own, whatever they are given; they are followed as far as that goes.
    pub wrong: usize,
    /// Of the others: those in files for other devices, which use what no Triton for NVIDIA has or takes.
    pub other_devices: usize,
    /// Kernels under `@triton.autotune`, and those of them whose configurations are known.
    pub tuned: usize,
    pub tuned_known: usize,
    pub launches: LaunchSites,
    /// Kernels that reached the stage asked for.
    pub compiled: usize,
    pub panics: usize,
    pub ms: Milliseconds,
    pub peak_rss_mb: Option<f64>,
    /// Tunings and launches that are not known: the kernel, what and why.
    pub unknown: Vec<Row>,
    pub rows: Vec<Row>,
}

/// Places that launch a kernel, by what is left open there at the least.
#[derive(Debug, Clone, Default, Serialize)]
pub struct LaunchSites {
    pub all: usize,
    /// What runs is known: every argument, and the grid.
    pub whole: usize,
    /// Every argument is known.
    pub arguments: usize,
    /// Values are not: sizes, strides, other numbers, flags.
    pub but_values: usize,
    /// Nor are element types.
    pub but_element_types: usize,
    /// Of some argument nothing but what the kernel does with it.
    pub but_kinds: usize,
    /// Of some argument nothing.
    pub unknown: usize,
    /// Of at least one argument the type is known.
    pub some_type: usize,
    /// Not whole, but every argument's kind, dtype and shape is known or a free name: whole with the names' defaults.
    pub free: usize,
    /// Of the kernel's own parameters it is asked what they are given, as no function around the launch can be entered to it.
    pub of_kernel: usize,
    /// None of these, by what stops them.
    pub stopped: BTreeMap<String, usize>,
}

#[derive(Debug, Clone, Default, Serialize)]
pub struct Milliseconds {
    pub parse: f64,
    pub elaborate: f64,
    pub optimise: f64,
    pub llvm: f64,
}

#[derive(Debug, Clone, Serialize)]
pub struct Row {
    pub file: String,
    pub kernel: String,
    /// `elaborated`, `wrong`, `other device`, `problems`, `compiled`, `unsupported`, `panicked`
    pub status: &'static str,
    pub reason: String,
}

impl Analysis {
    /// Adds one file.
    pub fn count(&self, path: &Path, through: Through, stats: &mut Stats) {
        let Some(text) = self.text(path) else { return };
        stats.files += 1;
        let start = Instant::now();
        let parse = tritium_syntax::parse(&text, PythonVersion::default());
        stats.parse_errors += usize::from(!parse.errors().is_empty());
        stats.ms.parse += start.elapsed().as_secs_f64() * 1e3;
        let Some(file) = self.file(path) else { return };
        let kernels = items::kernels(self.db(), file).clone();
        stats.kernels += kernels.len();
        stats.helpers += items::items(self.db(), file).functions.len() - kernels.len();
        for (why, count) in self.unchecked_kernels(path) {
            *stats.unchecked.entry(why.name()).or_default() += count;
        }
        self.count_host_code(file, &kernels, stats);
        for function in kernels {
            let name = function.name(self.db()).to_string();
            let counted = crate::guarded(|| self.count_kernel(function, through, stats));
            let (status, reason) = counted.unwrap_or_else(|message| ("panicked", message));
            stats.panics += usize::from(status == "panicked");
            stats.elaborated += usize::from(matches!(status, "elaborated" | "compiled" | "unsupported"));
            stats.wrong += usize::from(status == "wrong");
            stats.other_devices += usize::from(status == "other device");
            stats.compiled += usize::from(status == "compiled");
            stats.rows.push(Row { file: path.display().to_string(), kernel: name, status, reason });
        }
    }

    fn count_host_code(&self, file: SourceFile, kernels: &[Function], stats: &mut Stats) {
        let mut unknown = |kernel: Function, status: &'static str, reason: &str| {
            let (file, kernel) = (file.path(self.db()).display().to_string(), kernel.name(self.db()).to_string());
            stats.unknown.push(Row { file, kernel, status, reason: reason.to_owned() });
        };
        for kernel in kernels {
            if let Some(why) = host::tuned(self.db(), *kernel).as_ref().and_then(|t| t.unknown.as_ref()) {
                unknown(*kernel, "configs", why);
            }
        }
        for launch in &host::host_launches(self.db(), file).found.unknown {
            unknown(launch.kernel, "launch", &launch.reason);
        }
        for site in &host::host_launches(self.db(), file).sites {
            let kernel = site.partial.kernel;
            let params = items::items(self.db(), kernel.file(self.db())).function(kernel).map(|item| &item.params);
            for (index, why) in &site.open {
                let given = site.partial.given.get(*index).map_or("anything", launch::Given::description);
                if let Some(param) = params.and_then(|params| params.get(*index)) {
                    unknown(kernel, "argument", &format!("`{}` is {given}: {why}", param.name));
                }
            }
        }
        for tuned in kernels.iter().filter_map(|&k| host::tuned(self.db(), k).as_ref()) {
            stats.tuned += 1;
            stats.tuned_known += usize::from(!tuned.configs.is_empty());
        }
        let mut places: IndexMap<host::HostPlace, (Option<LeftOpen>, bool)> = IndexMap::new();
        let sites = &host::host_launches(self.db(), file).sites;
        for site in sites {
            // `None`, which comes first, is a whole launch.
            let left = if site.is_resolved { None } else { Some(specialise::left_open(self.db(), &site.partial, &site.open)) };
            let some_type = specialise::says_some_type(&site.partial);
            let best = places.entry(site.place).or_insert((left, some_type));
            *best = (best.0.min(left), best.1 | some_type);
        }
        // Other files may say more of the same place.
        let called = kernels.iter().chain(sites.iter().map(|site| &site.partial.kernel)).collect::<IndexSet<_>>();
        for called in called.into_iter().flat_map(|&kernel| host::called(self.db(), kernel)) {
            let left = if called.is_whole { None } else { Some(specialise::left_open(self.db(), &called.partial, &called.open)) };
            let some_type = specialise::says_some_type(&called.partial);
            let known = places.get_mut(&called.at);
            match known {
                Some(best) => *best = (best.0.min(left), best.1 | some_type),
                None if called.at.file == file => {
                    places.insert(called.at, (left, some_type));
                }
                None => {}
            }
        }
        for (place, _) in places.iter().filter(|(_, (left, _))| left.is_some()) {
            match self.entered_for(*place, &[]) {
                Ok(entered) if entered.of_kernel => {
                    let line = place.line(self.db());
                    stats.unknown.push(Row {
                        file: file.path(self.db()).display().to_string(),
                        kernel: format!("line {line}"),
                        status: "of kernel",
                        reason: entered.given().to_string(),
                    });
                    stats.launches.of_kernel += 1;
                }
                Ok(_) => stats.launches.free += 1,
                Err(why) => {
                    let line = place.line(self.db());
                    let file = file.path(self.db()).display().to_string();
                    stats.unknown.push(Row { file, kernel: format!("line {line}"), status: "stopped", reason: why.clone() });
                    *stats.launches.stopped.entry(why).or_default() += 1;
                }
            }
        }
        let counts = &mut stats.launches;
        for (left, some_type) in places.into_values() {
            counts.all += 1;
            counts.some_type += usize::from(some_type);
            *match left {
                None => &mut counts.whole,
                Some(LeftOpen::Nothing) => &mut counts.arguments,
                Some(LeftOpen::Values) => &mut counts.but_values,
                Some(LeftOpen::ElementTypes) => &mut counts.but_element_types,
                Some(LeftOpen::Kinds) => &mut counts.but_kinds,
                Some(LeftOpen::Everything) => &mut counts.unknown,
            } += 1;
        }
    }

    fn count_kernel(&self, function: Function, through: Through, stats: &mut Stats) -> (&'static str, String) {
        let db = self.db();
        let Some(found) = specialisations(db, function).first() else {
            return ("problems", "no specialisation could be assumed".to_owned());
        };
        let start = Instant::now();
        let elaborated = elaborate::elaborate(db, found.instance);
        stats.ms.elaborate += start.elapsed().as_secs_f64() * 1e3;
        let counted = expressions(db, elaborated);
        stats.expressions += counted.all;
        stats.unreached += counted.unreached;
        stats.typed_expressions += counted.typed;
        if !elaborated.complete {
            let status = match () {
                () if check::has_error(db, function) => "wrong",
                () if items::is_for_other_device(db, function.file(db)) => "other device",
                () => "problems",
            };
            return (status, self.why_incomplete(found.instance, elaborated));
        }
        if through <= Through::Tile {
            return ("elaborated", String::new());
        }
        let active = Configuration::assumed(found.instance);
        let options = self.compile_options(active);
        let start = Instant::now();
        if let Err(error) = codegen::optimised(db, active.instance, options) {
            return ("unsupported", error.message.clone());
        }
        stats.ms.optimise += start.elapsed().as_secs_f64() * 1e3;
        let start = Instant::now();
        let llvm = match codegen::llvm_text(db, active.instance, options) {
            Ok(llvm) => llvm,
            Err(error) => return ("unsupported", error.message.clone()),
        };
        let compiled = self.artefacts().wait(&llvm.text, self.gpu().sm).known();
        stats.ms.llvm += start.elapsed().as_secs_f64() * 1e3;
        match compiled {
            Ok(_) => ("compiled", String::new()),
            Err(message) => ("unsupported", message.to_string()),
        }
    }
}

impl Analysis {
    /// What keeps a specialisation from being the whole kernel: an error, an argument of which nothing is known, or the first value that is
    /// not followed.
    fn why_incomplete(&self, instance: Instance, elaborated: &Elaborated) -> String {
        let db = self.db();
        let error = elaborated.problems.iter().find(|problem| problem.severity() == Severity::Error);
        if let Some(error) = error {
            return format!("{}: {}", error.code.as_str(), error.message);
        }
        let params = items::items(db, instance.function(db).file(db)).function(instance.function(db)).map(|item| &item.params);
        let arguments = instance.arguments(db).iter().zip(params.into_iter().flatten());
        let unknown: Vec<String> =
            arguments.filter(|(a, _)| **a == Argument::Unknown).map(|(_, param)| format!("`{}`", param.name)).collect();
        match check::first_unknown(db, elaborated) {
            _ if !unknown.is_empty() => format!("nothing is known of {}", unknown.join(", ")),
            Some(gap) => gap,
            None => "it is not followed to its end".to_owned(),
        }
    }
}

/// The expressions of every body that a specialisation reaches.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Expressions {
    pub all: usize,
    /// In code that the specialisation does not enter.
    pub unreached: usize,
    pub typed: usize,
}

pub(crate) fn expressions(db: &dyn Db, elaborated: &Elaborated) -> Expressions {
    let mut counted = Expressions::default();
    for (function, types) in &elaborated.types {
        let all = expression_count(db, *function);
        counted.all += all.max(types.len());
        counted.unreached += all.saturating_sub(types.len());
        counted.typed += types.iter().filter(|(_, ty)| ty.is_known()).count();
    }
    counted
}

/// Every expression in a function's body.
fn expression_count(db: &dyn Db, function: Function) -> usize {
    let Some((body, stmt)) = items::function_body(db, function) else { return 0 };
    let Stmt::Function(def) = body.stmt(stmt) else { return 0 };
    let mut count = 0;
    items::walk(&body, &def.body, &mut |node| count += usize::from(matches!(node, items::Node::Expr(_))));
    count
}
