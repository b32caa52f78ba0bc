//! `tritium build`.

use std::{
    fmt::Write as _,
    io::IsTerminal as _,
    path::{Path, PathBuf},
    process::ExitCode,
};

use indicatif::{ProgressBar, ProgressStyle};
use tritium_ide::Host;
use tritium_runtime::build::{self, Built};
use tritium_semantics::target::{Gpu, Sm};

use crate::{
    args::TextFormat,
    printing::plural,
    session::{self, Failure},
};

pub(crate) struct Request {
    pub(crate) paths: Vec<PathBuf>,
    pub(crate) out: PathBuf,
    pub(crate) archs: Vec<String>,
    pub(crate) kernel: Option<String>,
    pub(crate) all_variants: bool,
}

pub(crate) fn build(host: &Host, request: &Request, format: TextFormat) -> Result<ExitCode, Failure> {
    let Request { paths, out, kernel, all_variants, .. } = request;
    let mut archs: Vec<&'static Sm> = Vec::new();
    for name in &request.archs {
        let gpu =
            Gpu::find(name).ok_or_else(|| Failure(format!("--arch {name}: no such architecture; `tritium gpus` lists them")))?;
        if !archs.contains(&gpu.sm) {
            archs.push(gpu.sm);
        }
    }
    let (files, mut failures) = session::python_files(host, paths)?;
    let mut read = Vec::new();
    for path in &files {
        if let Some(analysis) = failures.keep(session::readable(host, path)) {
            read.extend(analysis.to_build(path, &archs));
        }
    }
    failures.unless_all(read.len())?;
    let analysis = host.snapshot();
    let plan = analysis.plan_build(&read, kernel.as_deref(), *all_variants);
    if let Some(name) = kernel.as_ref().filter(|_| plan.is_empty() && !plan.has_left()) {
        return Err(Failure(format!("no kernel `{name}` in these files")));
    }
    let store = build::open_folder(out).map_err(|error| Failure::io(out, &error))?;
    let bar = if std::io::stderr().is_terminal() { ProgressBar::new(plan.len() as u64) } else { ProgressBar::hidden() };
    if let Ok(style) = ProgressStyle::with_template("{bar:40} {pos}/{len} {msg}") {
        bar.set_style(style);
    }
    let progress = |done: usize, name: &str| {
        bar.set_message(name.to_owned());
        bar.set_position(done as u64);
    };
    let built = plan.compile(analysis.db(), &store, &progress).map_err(Failure)?;
    bar.finish_and_clear();
    let is_whole = built.failures.is_empty() && !built.manifest.functions.is_empty();
    if !built.manifest.functions.is_empty() {
        built.write(out).map_err(|error| Failure::io(out, &error))?;
    }
    built.failures.iter().for_each(|message| eprintln!("tritium: {message}"));
    match format {
        TextFormat::Json => session::print(&session::pretty(&built.manifest))?,
        TextFormat::Text => session::print(&text(&built, out))?,
    }
    Ok(failures.tell(if is_whole { ExitCode::SUCCESS } else { ExitCode::from(1) }))
}

fn text(built: &Built, out: &Path) -> String {
    let manifest = &built.manifest;
    let mut text = String::new();
    for entry in &manifest.functions {
        let _ = writeln!(text, "{} ({}:{}, {} warps)", entry.name, entry.file, entry.line, entry.num_warps);
        for variant in &entry.variants {
            for image in &variant.images {
                let mut facts = vec![format!("{} bytes shared", image.shared_bytes)];
                facts.extend(image.registers.map(|registers| format!("{registers} registers")));
                facts.extend(image.spill_bytes.filter(|bytes| *bytes > 0).map(|bytes| format!("{bytes} bytes spilled")));
                let _ = writeln!(text, "  {}: {}", image.file, facts.join(", "));
            }
        }
    }
    let functions = plural(manifest.functions.len(), "function");
    let _ = writeln!(text, "{functions}, {} in {}", plural(built.images().count(), "image"), out.display());
    if built.ptx_images() > 0 {
        text += "There is no ptxas here, so images are PTX, which the driver of each machine compiles as it loads them.\n";
    }
    if !manifest.compiled_at_run_time.is_empty() {
        text += "Not in it, and compiled at run time:\n";
        for left in &manifest.compiled_at_run_time {
            let _ = writeln!(text, "  {}:{}: `{}`: {}", left.file, left.line, left.kernel, left.why);
        }
    }
    text
}
