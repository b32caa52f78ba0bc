// Feature: Views
//
//! Any stage of a kernel beside its source: the text, and for each of its lines the lines of the file that it comes from.
//!
//! What needs a compiler process is made in two steps: [`Analysis::view`] reads the database and ends; [`Draft::finish`] waits for the
//! compiler and holds no snapshot, so nobody's typing waits for it. **Invariant:** a line is mapped only where the compiler's own
//! bookkeeping says where it comes from; what stands for nothing maps to nothing.

use std::{ops::Range, path::Path};

use rustc_hash::FxHashMap;
use salsa::Database as _;
use serde::Serialize;
use tritium_codegen::{self as codegen, SourceLines, passes, source_lines::Mapped};
use tritium_semantics::{
    Function, SourceFile,
    configuration::Configuration,
    items::{self, in_file},
    launch::{self, LaunchSource},
    target::Sm,
};
use tritium_syntax::{PythonVersion, WalkEvent};
use tritium_tile::print;

use crate::{
    Analysis, Artefacts,
    emit::{Choice, Refusal, Stage},
    triton_cache::Wanted,
};

/// A stage as text.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct View {
    /// `softmax · rows · PTX · H100`
    pub title: String,
    pub stage: Stage,
    pub kernel: Option<String>,
    /// [`Configuration::id`]
    pub configuration: Option<String>,
    /// Whose text it is: `tritium` or `triton`.
    pub compiler: &'static str,
    pub text: String,
    /// For each line of the text the lines of the file it comes from, 0-based: the place itself, then the call it was reached through.
    pub lines: Vec<Vec<u32>>,
}

/// A view that may still want a compiler, or Triton's cache.
#[derive(Debug)]
pub struct Draft {
    view: View,
    machine: Option<Machine>,
}

#[derive(Debug)]
enum Machine {
    Ours(Box<Ours>),
    Triton(Wanted),
}

#[derive(Debug)]
struct Ours {
    llvm: String,
    sm: &'static Sm,
    lines: SourceLines,
    file: String,
    header: String,
}

impl Draft {
    /// Waits for the compiler, if one is needed.
    pub fn finish(self, artefacts: &Artefacts) -> Result<View, String> {
        let Draft { mut view, machine } = self;
        let machine = match machine {
            None => return Ok(view),
            Some(Machine::Triton(wanted)) => {
                (view.text, view.lines) = wanted.text(view.stage)?;
                return Ok(view);
            }
            Some(Machine::Ours(machine)) => machine,
        };
        let ptx = artefacts.ptx(&machine.llvm, machine.sm)?;
        let mapped = match view.stage {
            Stage::Sass => machine.lines.in_sass(&artefacts.sass(&ptx, machine.sm)?),
            _ => machine.lines.in_ptx(&ptx),
        };
        if view.stage == Stage::Ptx {
            view.text.push_str(&machine.header);
            view.lines.extend(machine.header.lines().map(|_| Vec::new()));
        }
        view.lines.extend(lines_of(&mapped, &machine.lines, &machine.file));
        view.text.push_str(&mapped.text);
        Ok(view)
    }
}

impl Stage {
    /// What people call it.
    pub fn label(self) -> &'static str {
        match self {
            Stage::Tree => "Syntax Tree",
            Stage::Items => "Items",
            Stage::Types => "Types",
            Stage::Source => "Typed Source",
            Stage::Tile => "Tile IR",
            Stage::Passes => "Tile IR after Every Pass",
            Stage::Layout => "Tile IR with Layouts",
            Stage::Llvm => "LLVM IR",
            Stage::Ptx => "PTX",
            Stage::Sass => "SASS",
            Stage::TritonTtgir => "Triton's TTGIR",
            Stage::TritonPtx => "Triton's PTX",
            Stage::TritonSass => "Triton's SASS",
        }
    }

    pub fn compiler(self) -> &'static str {
        if matches!(self, Stage::TritonTtgir | Stage::TritonPtx | Stage::TritonSass) { "triton" } else { "tritium" }
    }
}

impl Analysis {
    /// A stage of a file or of one of its kernels.
    pub fn view(&self, path: &Path, stage: Stage, choice: &Choice) -> Result<Draft, Refusal> {
        let unreadable = || Refusal::Request(format!("{}: cannot be read", path.display()));
        let file = self.file(path).ok_or_else(unreadable)?;
        let mut view = View {
            title: stage.label().to_owned(),
            stage,
            kernel: None,
            configuration: None,
            compiler: stage.compiler(),
            text: String::new(),
            lines: Vec::new(),
        };
        match stage {
            Stage::Tree => {
                (view.text, view.lines) = self.tree_view(file);
                return Ok(Draft { view, machine: None });
            }
            Stage::Items => {
                view.text = self.items_text(file);
                view.lines = self.items_lines(file, &view.text);
                return Ok(Draft { view, machine: None });
            }
            _ => {}
        }
        let active = self.choose(file, choice).map_err(Refusal::Request)?;
        let kernel = active.instance.function(self.db()).name(self.db()).to_string();
        view.title = format!("{kernel} · {} · {} · {}", active.id(self.db()), stage.label(), self.gpu().name());
        view.configuration = Some(active.id(self.db()).to_string());
        let own_file = file.path(self.db()).display().to_string();
        let mut machine = None;
        match stage {
            Stage::Tree | Stage::Items => {}
            Stage::Types => {
                view.text = self.types_text(active);
                view.lines = view.text.lines().map(|l| first_number(l).map(|n| n - 1).into_iter().collect()).collect();
            }
            Stage::Source => (view.text, view.lines) = self.typed_source(file, active),
            Stage::Tile => {
                view.text = print::print(&self.complete(active)?.module);
                view.lines = self.tile_lines(active, &view.text, &own_file);
            }
            Stage::Passes => {
                view.text = self.passes_text(active)?;
                view.lines = self.tile_lines(active, &view.text, &own_file);
            }
            Stage::Layout => {
                self.complete(active)?;
                let module = codegen::optimised(self.db(), active.instance, self.compile_options(active));
                view.text = module.as_ref().map(print::print).map_err(|e| Refusal::Kernel(e.message.clone()))?;
                view.lines = self.tile_lines(active, &view.text, &own_file);
            }
            Stage::Llvm | Stage::Ptx | Stage::Sass => {
                self.complete(active)?;
                let llvm = codegen::llvm_text(self.db(), active.instance, self.compile_options(active));
                let llvm = llvm.as_ref().map_err(|e| Refusal::Kernel(e.message.clone()))?;
                let lines = codegen::source_lines(self.db(), active.instance);
                if stage == Stage::Llvm {
                    view.lines = llvm_lines(&llvm.text, &lines, &own_file);
                    view.text = llvm.text.clone();
                } else {
                    let parameters: Vec<&str> = llvm.parameters.iter().map(String::as_str).collect();
                    let scratch = Some(llvm.scratch_bytes).filter(|&bytes| bytes > 0);
                    let scratch = scratch.map(|bytes| format!("// scratch: {bytes} bytes for each program\n"));
                    let maps = llvm.tensor_maps.iter().map(|map| format!("// tensor map: {}\n", map.line(&llvm.parameters)));
                    let behind: String = scratch.into_iter().chain(maps).collect();
                    let header = format!(
                        "// tritium: kernel {}, {} warps, {} bytes of shared memory, parameters {}\n{behind}",
                        llvm.kernel,
                        active.options.num_warps,
                        llvm.shared_bytes,
                        parameters.join(" ")
                    );
                    let ours = Ours { llvm: llvm.text.clone(), sm: self.gpu().sm, lines, file: own_file, header };
                    machine = Some(Machine::Ours(Box::new(ours)));
                }
            }
            Stage::TritonTtgir | Stage::TritonPtx | Stage::TritonSass => {
                machine = Some(Machine::Triton(Wanted::new(&kernel, &own_file, self.compile_options(active))));
            }
        }
        view.kernel = Some(kernel);
        Ok(Draft { view, machine })
    }

    /// The kernel that a place belongs to: the last one that starts before it, else the first.
    pub fn kernel_at(&self, path: &Path, offset: usize) -> Option<String> {
        let kernels = self.kernels(path);
        let found = kernels.iter().rfind(|kernel| self.extent(kernel.function).is_some_and(|r| r.start <= offset));
        found.or(kernels.first()).map(|kernel| kernel.name.clone())
    }

    /// A function's whole definition, decorators included.
    pub(crate) fn extent(&self, function: Function) -> Option<Range<usize>> {
        let (_, stmt) = items::function_body(self.db(), function)?;
        let (start, map) = items::source_map(self.db(), function)?;
        Some(in_file(start, *map.stmts.get(stmt.0 as usize)?))
    }

    fn tree_view(&self, file: SourceFile) -> (String, Vec<Vec<u32>>) {
        let text = file.text(self.db());
        let root = tritium_syntax::parse(text, PythonVersion::default()).syntax();
        let starts = line_starts(text);
        // The dump writes a line for everything that the walk enters.
        let entered = root.preorder_with_tokens().filter_map(|event| match event {
            WalkEvent::Enter(element) => Some(vec![line_at(&starts, element.text_range().start().into())]),
            WalkEvent::Leave(_) => None,
        });
        (tritium_syntax::dump(&root), entered.collect())
    }

    fn items_lines(&self, file: SourceFile, text: &str) -> Vec<Vec<u32>> {
        let db = self.db();
        let starts = line_starts(file.text(db));
        let mut functions = items::items(db, file).functions.iter().map(|item| item.function);
        let mut sources = launch::launches(db, file).sources.iter();
        let place = |line: &str| {
            if line.starts_with(' ') {
                return None;
            }
            if line.starts_with("launch ") {
                let LaunchSource::Host(place) = *sources.next()? else { return None };
                return Some(line_at(&starts, place.range(db)?.start));
            }
            Some(line_at(&starts, self.extent(functions.next()?)?.start))
        };
        text.lines().map(place).map(|line| line.into_iter().collect()).collect()
    }

    /// The kernel, and what it calls in its file, with the types of what every line binds.
    fn typed_source(&self, file: SourceFile, active: Configuration) -> (String, Vec<Vec<u32>>) {
        let db = self.db();
        let text = file.text(db);
        let starts = line_starts(text);
        let mut notes: FxHashMap<u32, Vec<String>> = FxHashMap::default();
        let elaborated = self.elaborated(active.instance);
        for (place, name, ty) in &elaborated.bindings {
            if place.function.file(db) == file
                && let Some(range) = self.range(*place)
            {
                let on_line = notes.entry(line_at(&starts, range.start)).or_default();
                let note = format!("{name}: {ty}");
                if !on_line.contains(&note) {
                    on_line.push(note);
                }
            }
        }
        let reached = |f: &Function| *f == active.instance.function(db) || elaborated.types.contains_key(f);
        let functions = items::items(db, file).functions.iter().map(|item| item.function).filter(reached);
        let (mut out, mut lines) = (String::new(), Vec::new());
        for range in functions.filter_map(|function| self.extent(function)) {
            if !out.is_empty() {
                out.push('\n');
                lines.push(Vec::new());
            }
            let first = line_at(&starts, range.start);
            let whole = starts[first as usize]..range.end.min(text.len());
            for (line, number) in text.get(whole).unwrap_or_default().lines().zip(first..) {
                out += line;
                if let Some(notes) = notes.get(&number) {
                    out += &format!("  # {}", notes.join("; "));
                }
                out.push('\n');
                lines.push(vec![number]);
            }
        }
        (out, lines)
    }

    /// The module whenever a pass has changed it.
    fn passes_text(&self, active: Configuration) -> Result<String, String> {
        let module = &self.complete(active)?.module;
        let options = self.compile_options(active);
        let mut before = print::print(module);
        let mut out = format!("// from the source\n{before}");
        let lowered = passes::lower_observed(module, &options, &mut |pass, module| {
            self.db().unwind_if_revision_cancelled();
            let after = print::print(module);
            if after != before {
                out += &format!("\n// after {}: {}\n{after}", pass.name, pass.summary);
                before = after;
            }
        });
        lowered.map_err(|e| e.message)?;
        Ok(out)
    }

    /// Of tile IR as text: operations end with the number of their origin.
    fn tile_lines(&self, active: Configuration, text: &str, file: &str) -> Vec<Vec<u32>> {
        let lines = codegen::source_lines(self.db(), active.instance);
        let origin = |line: &str| {
            line.match_indices(" @").find_map(|(at, mark)| {
                let rest = &line[at + mark.len()..];
                let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
                let (number, behind) = rest.split_at(digits);
                if behind.is_empty() || behind.starts_with(" {") { number.parse::<u32>().ok() } else { None }
            })
        };
        text.lines().map(|line| origin(line).map_or_else(Vec::new, |o| in_source(&lines, o.saturating_add(1), file))).collect()
    }
}

/// Lines in a row that stand for nothing and are still inside of a place.
const MAX_REMARKS: usize = 6;

/// The lines of a file, 0-based, that an operation comes from.
fn in_source(lines: &SourceLines, operation: u32, file: &str) -> Vec<u32> {
    let mut found: Vec<u32> =
        lines.stack(operation).iter().filter(|frame| frame.file == file).map(|frame| frame.line.saturating_sub(1)).collect();
    found.dedup();
    found
}

fn lines_of(mapped: &Mapped, lines: &SourceLines, file: &str) -> Vec<Vec<u32>> {
    let count = mapped.text.lines().count() as u32;
    let mut found: Vec<Vec<u32>> =
        (1..=count).map(|line| mapped.operation(line).map_or_else(Vec::new, |o| in_source(lines, o, file))).collect();
    // A remark or an empty line between two lines of one place belongs to it.
    let mut last: Option<usize> = None;
    for index in 0..found.len() {
        if found[index].is_empty() {
            continue;
        }
        if let Some(last) = last
            && index - last <= MAX_REMARKS
            && found[last] == found[index]
        {
            let (before, after) = found.split_at_mut(last + 1);
            after[..index - last - 1].fill(before[last].clone());
        }
        last = Some(index);
    }
    found
}

/// `…, !dbg !14` and `!14 = !DILocation(line: 3, …)`, where 3 is an operation.
fn llvm_lines(text: &str, lines: &SourceLines, file: &str) -> Vec<Vec<u32>> {
    let location = |line: &str| {
        let (name, rest) = line.split_once(" = !DILocation(line: ")?;
        Some((name.strip_prefix('!')?.parse::<u32>().ok()?, first_number(rest)?))
    };
    let operations: FxHashMap<u32, u32> = text.lines().filter_map(location).collect();
    let operation = |line: &str| {
        let (_, name) = line.rsplit_once("!dbg !")?;
        operations.get(&first_number(name)?).copied()
    };
    text.lines().map(|line| operation(line).map_or_else(Vec::new, |o| in_source(lines, o, file))).collect()
}

fn first_number(text: &str) -> Option<u32> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text[..digits].parse().ok()
}

pub(crate) fn line_starts(text: &str) -> Vec<usize> {
    std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect()
}

/// 0-based.
pub(crate) fn line_at(starts: &[usize], offset: usize) -> u32 {
    starts.partition_point(|&start| start <= offset).saturating_sub(1) as u32
}
