// Feature: Stages
//
//! Any stage of a kernel as text: what `emit` prints. Editors show the same with the lines it comes from ([`crate::views`]).

use std::path::Path;

use serde::{Deserialize, Serialize};
use tritium_codegen::CompileOptions;
use tritium_semantics::{
    Argument, Function, SourceFile, check,
    configuration::{Configuration, configurations},
    items::{self, Annotation, FunctionKind},
    launch::{self, GivenOptions},
    specialise,
};
use tritium_syntax::{Encoding, TextSize};

use crate::{
    Analysis,
    request::{self, Arguments},
};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Stage {
    Tree,
    Items,
    Types,
    /// The kernel's own text with the types of what it binds.
    Source,
    Tile,
    /// Tile IR after every pass that changes it.
    Passes,
    /// Tile IR with layouts; into a file called `*.svg` the layouts as a picture.
    Layout,
    Llvm,
    Ptx,
    Sass,
    /// What Triton made of the kernel when it last ran here, from its cache.
    TritonTtgir,
    TritonPtx,
    TritonSass,
}

/// Which specialisation of which kernel.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Choice {
    pub kernel: Option<String>,
    /// A launch, or a configuration by [`Configuration::id`].
    pub launch: Option<String>,
    /// `NAME=TYPE`
    pub args: Vec<String>,
    /// `NAME=VALUE`
    pub sets: Vec<String>,
    pub options: GivenOptions,
}

/// Why there is no text; a complete message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// What was asked for does not exist.
    Request(String),
    /// The kernel does not come that far.
    Kernel(String),
}

impl From<String> for Refusal {
    fn from(message: String) -> Refusal {
        Refusal::Kernel(message)
    }
}

impl Analysis {
    /// The text of a stage, whatever it takes to make it.
    pub fn emit(&self, path: &Path, stage: Stage, choice: &Choice) -> Result<String, Refusal> {
        let view = self.view(path, stage, choice)?.finish(self.artefacts())?;
        Ok(view.text)
    }

    /// The specialisation, if nothing is wrong with it.
    pub(crate) fn complete(&self, active: Configuration) -> Result<&tritium_semantics::elaborate::Elaborated, String> {
        let elaborated = self.elaborated(active.instance);
        if elaborated.complete {
            return Ok(elaborated);
        }
        let name = active.instance.function(self.db()).name(self.db());
        let mut message = format!("`{name}` does not compile:");
        let item = items::items(self.db(), active.instance.function(self.db()).file(self.db()));
        let params = item.function(active.instance.function(self.db())).map(|item| &item.params);
        for (param, argument) in params.into_iter().flatten().zip(active.instance.arguments(self.db())) {
            if *argument == Argument::Unknown {
                message += &format!("\n  nothing is known of `{}`: give a launch, or say what is passed", param.name);
            }
        }
        for problem in &elaborated.problems {
            message += &format!("\n  {}: {}", problem.code.as_str(), problem.message);
        }
        match check::first_unknown(self.db(), elaborated) {
            Some(gap) if !message.contains('\n') => return Err(format!("{message}\n  {gap}")),
            _ => {}
        }
        Err(message + "\n`tritium check` shows where")
    }

    pub(crate) fn compile_options(&self, active: Configuration) -> CompileOptions {
        CompileOptions::new(self.gpu().sm, active.options)
    }

    pub(crate) fn choose(&self, file: SourceFile, choice: &Choice) -> Result<Configuration, String> {
        let db = self.db();
        let function = self.choose_function(file, choice)?;
        let mut active = if choice.args.is_empty() && choice.sets.is_empty() {
            let chosen = match &choice.launch {
                Some(name) => {
                    let all = configurations(db, function).clone();
                    launch::select(all, |one| one.id(db), Some(name), None)?.into_iter().next()
                }
                None => self.active(function),
            };
            chosen.ok_or_else(|| {
                format!("nothing is known about the arguments of `{}`; give them with --arg and --set", function.name(db))
            })?
        } else {
            let mut arguments = Arguments::default();
            choice.args.iter().try_for_each(|text| arguments.add_type(text))?;
            choice.sets.iter().try_for_each(|text| arguments.add_value(db, file, text))?;
            let instance = arguments.instance(db, file, function)?;
            Configuration::assumed(instance)
        };
        if let Some(warps) = choice.options.num_warps.filter(|warps| !warps.is_power_of_two() || *warps > 32) {
            return Err(format!("--num-warps {warps}: a CTA has 1, 2, 4, 8, 16 or 32 warps"));
        }
        active.options = choice.options.over(active.options);
        Ok(active)
    }

    fn choose_function(&self, file: SourceFile, choice: &Choice) -> Result<Function, String> {
        let db = self.db();
        if let Some(name) = &choice.kernel {
            return request::find_function(db, file, name).ok_or_else(|| format!("no kernel `{name}` in this file"));
        }
        if let Some(name) = &choice.launch {
            let name =
                name.rsplit_once(':').filter(|(_, row)| row.parse::<u32>().is_ok()).map_or(name.as_str(), |(name, _)| name);
            let launch = launch::launches(db, file).launches.iter().find(|l| l.name == name);
            return launch.map(|l| l.kernel).ok_or_else(|| format!("no launch `{name}` in this file"));
        }
        match items::kernels(db, file)[..] {
            [] => Err("no kernel in this file".to_owned()),
            [only] => Ok(only),
            ref several => {
                let names: Vec<&str> = several.iter().map(|f| f.name(db).as_str()).collect();
                Err(format!("several kernels in this file ({}); choose one with --kernel", names.join(", ")))
            }
        }
    }

    pub(crate) fn items_text(&self, file: SourceFile) -> String {
        let db = self.db();
        let mut out = String::new();
        let kernels = items::kernels(db, file);
        for item in &items::items(db, file).functions {
            let kind = match item.kind {
                FunctionKind::Constexpr => "constexpr function",
                FunctionKind::Jit if kernels.contains(&item.function) => "kernel",
                FunctionKind::Jit => "helper",
            };
            let params: Vec<String> = item
                .params
                .iter()
                .map(|p| match p.annotation {
                    Annotation::None => p.name.to_string(),
                    Annotation::Constexpr => format!("{}: constexpr", p.name),
                    Annotation::Scalar(dtype) => format!("{}: {dtype}", p.name),
                    Annotation::Pointer { elem, is_const } => format!("{}: *{}{elem}", p.name, if is_const { "k" } else { "" }),
                    Annotation::ConstPointer => format!("{}: const pointer", p.name),
                })
                .collect();
            out += &format!("{kind} {}({})\n", item.function.name(db), params.join(", "));
            // A body prints the whole top-level statement, which is the function unless it is nested in another.
            if let Some((body, stmt)) = items::function_body(db, item.function)
                && body.root == [stmt]
            {
                out.extend(body.to_string().lines().map(|line| format!("    {line}\n")));
            }
        }
        for launch in &launch::launches(db, file).launches {
            let instance = specialise::specialise(db, launch);
            let parameters = items::items(db, file).function(launch.kernel).map(|item| &item.params);
            let arguments: Vec<String> = parameters
                .into_iter()
                .flatten()
                .zip(instance.arguments(db))
                .map(|(p, a)| match a {
                    Argument::Runtime { divisible_by_16: true, .. } => format!("{}: {a} divisible by 16", p.name),
                    _ => format!("{}: {a}", p.name),
                })
                .collect();
            let grid: Vec<String> = launch.grid.iter().map(u64::to_string).collect();
            out += &format!(
                "launch {} of {}, grid {}, {} warps\n",
                launch.name,
                launch.kernel.name(db),
                grid.join("×"),
                launch.options.num_warps
            );
            out += &format!("  {}\n", arguments.join(", "));
        }
        out
    }

    /// `line:col name: type` for every binding, 1-based.
    pub(crate) fn types_text(&self, active: Configuration) -> String {
        let mut lines = Vec::new();
        for (place, name, ty) in &self.elaborated(active.instance).bindings {
            let Some(range) = self.range(*place) else { continue };
            let index = items::line_index(self.db(), place.function.file(self.db()));
            let at = index.line_column(TextSize::try_from(range.start).unwrap_or_default(), Encoding::CodePoints);
            lines.push((at, format!("{}:{} {name}: {ty}\n", at.line + 1, at.column + 1)));
        }
        lines.sort_by_key(|(at, _)| *at);
        lines.into_iter().map(|(_, line)| line).collect()
    }
}
