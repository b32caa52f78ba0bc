// Feature: Charts
//
//! Pictures as SVG and as text: the occupancy, a layout, a sweep of times, what was measured run after run, and for editors the roofline ([`crate::roofline`]).
//!
//! The SVG stands alone and follows a theme: colours are those of the editor where it has set them, else light or dark as the reader
//! prefers. **Invariant:** a picture is a pure function of its figures: the same figures, the same bytes; text is escaped.

pub mod history;
pub mod layout;
pub mod occupancy;
pub(crate) mod plot;
pub mod sweep;

use std::{fmt::Write as _, path::Path};

use serde::Serialize;
use tritium_codegen::{self as codegen};
use tritium_estimate::occupancy::Use;
use tritium_semantics::configuration::Configuration;
use tritium_tile::{OpKind, layout::LayoutId, print};

use crate::{
    Analysis,
    emit::{Choice, Refusal},
    exact::State,
    views::{line_at, line_starts},
};
use layout::Shown;

/// A picture, and what says the same where there are none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Chart {
    pub title: String,
    pub svg: String,
    pub text: String,
}

/// Colours by role; an editor's own where it has set them.
const STYLE: &str = "\
.tritium{--ink:var(--vscode-foreground,#24292f);--faint:var(--vscode-descriptionForeground,#6e7781);\
--line:var(--vscode-widget-border,var(--vscode-panel-border,#d0d7de));--c0:var(--vscode-charts-blue,#1a6fd4);\
--c1:var(--vscode-charts-green,#2d8a46);--c2:var(--vscode-charts-orange,#c46a13);--c3:var(--vscode-charts-purple,#8250df);\
--c4:var(--vscode-charts-red,#cf222e);--c5:var(--vscode-charts-yellow,#b08800);font:12px var(--vscode-font-family,system-ui,sans-serif)}\
@media(prefers-color-scheme:dark){.tritium{--ink:var(--vscode-foreground,#d4d4d4);--faint:var(--vscode-descriptionForeground,#9da5ae);\
--line:var(--vscode-widget-border,var(--vscode-panel-border,#454c54));--c0:var(--vscode-charts-blue,#4fa3ff);\
--c1:var(--vscode-charts-green,#6fc482);--c2:var(--vscode-charts-orange,#e8954a);--c3:var(--vscode-charts-purple,#b794f6);\
--c4:var(--vscode-charts-red,#ff7b72);--c5:var(--vscode-charts-yellow,#e3c14e)}}\
.tritium text{fill:var(--ink)}.tritium .faint{fill:var(--faint)}.tritium .title{font-size:14px;font-weight:600}\
.tritium .grid{stroke:var(--line);stroke-width:1;fill:none}.tritium .frame{stroke:var(--faint);stroke-width:1;fill:none}\
.tritium .end{text-anchor:end}.tritium .middle{text-anchor:middle}\
.tritium .c0{--c:var(--c0)}.tritium .c1{--c:var(--c1)}.tritium .c2{--c:var(--c2)}.tritium .c3{--c:var(--c3)}\
.tritium .c4{--c:var(--c4)}.tritium .c5{--c:var(--c5)}.tritium .curve{stroke:var(--c);stroke-width:2;fill:none}\
.tritium .area{fill:var(--c);stroke:none;opacity:.18}.tritium .dot{fill:var(--c)}.tritium .cell{fill:var(--c);stroke:var(--line)}\
.tritium .now{stroke:var(--c4);stroke-width:1.5;stroke-dasharray:4 3;fill:none}.tritium text.on{fill:var(--c)}\
.tritium .ring{stroke:var(--ink);stroke-width:1.5;fill:none}";

/// An SVG being written.
struct Svg {
    out: String,
}

impl Svg {
    fn new(width: f64, height: f64, title: &str) -> Svg {
        let mut svg = Svg { out: String::new() };
        let _ = write!(
            svg.out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"tritium\" role=\"img\" viewBox=\"0 0 {width:.0} {height:.0}\" \
             width=\"{width:.0}\" height=\"{height:.0}\">\n<style>{STYLE}</style>\n<title>{}</title>\n",
            escape(title)
        );
        svg
    }

    fn text(&mut self, x: f64, y: f64, class: &str, text: &str) {
        let _ = writeln!(self.out, "<text x=\"{x:.1}\" y=\"{y:.1}\" class=\"{class}\">{}</text>", escape(text));
    }

    fn line(&mut self, (x1, y1): (f64, f64), (x2, y2): (f64, f64), class: &str) {
        let _ = writeln!(self.out, "<path class=\"{class}\" d=\"M{x1:.1} {y1:.1}L{x2:.1} {y2:.1}\"/>");
    }

    fn path(&mut self, points: &[(f64, f64)], class: &str) {
        let mut data = String::new();
        for (index, (x, y)) in points.iter().enumerate() {
            let _ = write!(data, "{}{x:.1} {y:.1}", if index == 0 { "M" } else { "L" });
        }
        let _ = writeln!(self.out, "<path class=\"{class}\" d=\"{data}\"/>");
    }

    fn rect(&mut self, (x, y): (f64, f64), (width, height): (f64, f64), class: &str, opacity: f64, title: &str) {
        let _ = write!(
            self.out,
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" class=\"{class}\" fill-opacity=\"{opacity:.2}\""
        );
        match title {
            "" => self.out.push_str("/>\n"),
            _ => {
                let _ = writeln!(self.out, "><title>{}</title></rect>", escape(title));
            }
        }
    }

    fn circle(&mut self, (x, y): (f64, f64), radius: f64, class: &str, title: &str) {
        let title = escape(title);
        let _ = writeln!(
            self.out,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius:.1}\" class=\"{class}\"><title>{title}</title></circle>"
        );
    }

    fn finish(mut self) -> String {
        self.out.push_str("</svg>\n");
        self.out
    }
}

/// Broken at spaces into lines of so many letters; a word that is longer has a line of its own.
pub(crate) fn wrapped(text: &str, most: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= most => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// As the text of an element or of an attribute.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

impl Analysis {
    /// The occupancy of a configuration and what would change it.
    pub fn occupancy_chart(&self, path: &Path, choice: &Choice, wait: bool) -> Result<(Chart, bool), Refusal> {
        let (kernel, active) = self.chosen(path, choice)?;
        let figures = self.figures(active, wait)?;
        let ((registers, exact), shared) = (figures.registers(), figures.report.shared_bytes.value);
        let now = Use { warps: active.options.num_warps, registers, shared, barriers: figures.report.barriers.min(1) };
        let chart = occupancy::chart(&format!("{kernel} · {} · Occupancy", active.id(self.db())), self.gpu(), now, exact);
        Ok((chart, figures.exact == State::Pending))
    }

    /// The roofline of a board with every configuration of a kernel under it, and the name of the active one.
    pub fn roofline_chart(&self, path: &Path, choice: &Choice) -> Result<(Chart, String), Refusal> {
        let (kernel, active) = self.chosen(path, choice)?;
        let mut roofline = self.roofline(path, Some(&kernel));
        roofline.file = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        if roofline.points.is_empty() {
            return Err(Refusal::Kernel(format!("no point for `{kernel}`:\n{}", roofline.missing.join("\n"))));
        }
        let title = format!("{kernel} · Roofline · {}", self.gpu().name());
        Ok((Chart { title, svg: roofline.svg(), text: roofline.text() }, active.id(self.db()).to_string()))
    }

    /// Which thread and register holds which element: of the value at an offset, or of every layout of the kernel.
    pub fn layout_chart(&self, path: &Path, choice: &Choice, offset: Option<usize>) -> Result<Chart, Refusal> {
        let (kernel, active) = self.chosen(path, choice)?;
        let elaborated = self.complete(active)?;
        let module = codegen::optimised(self.db(), active.instance, self.compile_options(active));
        let module = module.as_ref().map_err(|e| Refusal::Kernel(e.message.clone()))?;
        let function = module.entry();
        // The layouts in the order of the text, each with what has it first.
        let mut found: Vec<(LayoutId, Shown)> = Vec::new();
        // Of the innermost expression at the offset, else of the last on its line, what goes to memory first.
        let mut smallest: Option<(usize, Shown)> = None;
        let mut on_line: Option<(bool, Shown)> = None;
        let text = self.text(path).unwrap_or_default();
        let (file, starts) = (self.file(path), line_starts(&text));
        function.walk(|_, id| {
            let op = function.op(id);
            // What gives nothing to threads, a store or a copy that runs ahead, has the layout of its pointers.
            let is_memory = matches!(op.kind, OpKind::Load(_) | OpKind::Store(_) | OpKind::AsyncCopy(_));
            let values = if is_memory && op.results.is_empty() { &op.operands[..1] } else { &op.results[..] };
            for ty in values.iter().map(|&value| function.ty(value)) {
                let Some(layout) = ty.layout() else { continue };
                let Some(distributed) = module.layouts.distributed(layout) else { continue };
                let range = elaborated.origins.get(op.origin.0 as usize).and_then(|origin| self.range(origin.place));
                let line = range.as_ref().map(|r| line_at(&starts, r.start));
                let place = file.zip(line).map(|(file, line)| format!(" of {}", self.line_words(file, line + 1)));
                let place = place.unwrap_or_default();
                let name = format!("#l{}: {}", layout.0, print::TypeText(ty));
                let of = |rank: &str| {
                    let detail = format!("{rank}`{}`{place}", op.kind.name());
                    Shown { name: name.clone(), detail, layout: distributed.clone() }
                };
                if let (Some(offset), Some(range)) = (offset, &range) {
                    let is_inside = range.start <= offset && offset <= range.end;
                    let is_here = line == Some(line_at(&starts, offset));
                    if is_inside && is_here && smallest.as_ref().is_none_or(|(length, _)| range.len() <= *length) {
                        smallest = Some((range.len(), of("")));
                    }
                    if is_here && (is_memory || on_line.as_ref().is_none_or(|(memory, _)| !memory)) {
                        on_line = Some((is_memory, of("")));
                    }
                }
                if found.iter().all(|(known, _)| *known != layout) {
                    found.push((layout, of("first the ")));
                }
            }
        });
        let only = smallest.map(|(_, shown)| shown).or(on_line.map(|(_, shown)| shown));
        let shown: Vec<Shown> = only.map_or_else(|| found.into_iter().map(|(_, shown)| shown).collect(), |only| vec![only]);
        if shown.is_empty() {
            return Err(Refusal::Kernel(format!("`{kernel}` has no tiles: nothing is spread over threads")));
        }
        Ok(layout::chart(&format!("{kernel} · {} · Layout", active.id(self.db())), &shown))
    }

    /// What launches of a kernel were measured at, run after run.
    pub fn history_chart(&self, path: &Path, choice: &Choice) -> Result<Chart, Refusal> {
        let (kernel, _) = self.chosen(path, choice)?;
        let chart = history::chart(&kernel, &tritium_runtime::history::read(path), crate::history::now());
        chart.ok_or_else(|| {
            Refusal::Kernel(format!("nothing was measured of `{kernel}` so far: it is kept when launches are timed or compared"))
        })
    }

    fn chosen(&self, path: &Path, choice: &Choice) -> Result<(String, Configuration), Refusal> {
        let unreadable = || Refusal::Request(format!("{}: cannot be read", path.display()));
        let active = self.choose(self.file(path).ok_or_else(unreadable)?, choice).map_err(Refusal::Request)?;
        Ok((active.instance.function(self.db()).name(self.db()).to_string(), active))
    }
}
