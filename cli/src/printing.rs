//! What is found in files, printed: with source excerpts, as one line each, as SARIF, as annotations of GitHub.

use std::path::PathBuf;

use annotate_snippets::{AnnotationKind, Group, Level, Patch, Renderer, Snippet};
use serde_json::{Value, json};
use tritium_ide::{Applicability, Diagnostic, Severity, TextEdit};
use tritium_semantics::notebook;
use tritium_syntax::{Encoding, LineIndex, TextSize};

use crate::session;

/// A file and what is found in it.
pub(crate) struct Told {
    pub(crate) path: PathBuf,
    pub(crate) text: String,
    pub(crate) diagnostics: Vec<Diagnostic>,
}

pub(crate) fn plural(n: usize, one: &str) -> String {
    format!("{n} {one}{}", if n == 1 { "" } else { "s" })
}

/// What a place is told in: a file, or a cell of a notebook.
struct Holder {
    cell: Option<u32>,
    range: std::ops::Range<usize>,
    /// Lines of the text before it.
    lines: u32,
}

impl Holder {
    fn of(file: &Told, index: &LineIndex, offset: usize) -> Holder {
        let cell = if notebook::is_notebook(&file.path) { notebook::cell_at(&file.text, offset) } else { None };
        match cell {
            Some(cell) => Holder { cell: Some(cell.number), lines: point(index, cell.range.start).0, range: cell.range },
            None => Holder { cell: None, range: 0..file.text.len(), lines: 0 },
        }
    }

    /// `x.py`, `x.ipynb:cell 3`
    fn name(&self, file: &Told) -> String {
        match self.cell {
            Some(cell) => format!("{}:cell {cell}", file.path.display()),
            None => file.path.display().to_string(),
        }
    }

    /// A range as its own text counts.
    fn inside(&self, range: &std::ops::Range<usize>) -> Option<std::ops::Range<usize>> {
        let Holder { range: own, .. } = self;
        (own.start <= range.start && range.end <= own.end).then(|| range.start - own.start..range.end - own.start)
    }

    /// 0-based line and code point.
    fn point(&self, index: &LineIndex, offset: usize) -> (u32, u32) {
        let (line, column) = point(index, offset);
        (line.saturating_sub(self.lines), column)
    }
}

pub(crate) fn full<'t>(told: impl Iterator<Item = &'t Told>) -> String {
    let renderer = if session::colour() { Renderer::styled() } else { Renderer::plain() };
    let mut out = String::new();
    for file in told {
        let index = LineIndex::new(&file.text);
        for d in &file.diagnostics {
            let holder = Holder::of(file, &index, d.range.start);
            let (path, text) = (holder.name(file), &file.text[holder.range.clone()]);
            let Some(range) = holder.inside(&d.range) else { continue };
            let level = match d.severity {
                Severity::Error => Level::ERROR,
                Severity::Warning => Level::WARNING,
                Severity::Performance => Level::WARNING.with_name("performance"),
                Severity::Hint => Level::HELP.with_name("hint"),
            };
            let mut snippet = Snippet::source(text).path(&path).annotation(AnnotationKind::Primary.span(range));
            for related in &d.related {
                let Some(range) = holder.inside(&related.range) else { continue };
                snippet = snippet.annotation(AnnotationKind::Context.span(range).label(&related.message));
            }
            let mut groups = vec![level.primary_title(&d.message).id(d.code).element(snippet)];
            if let Some(note) = d.note() {
                let title = Level::NOTE.secondary_title(note);
                groups.push(Group::with_title(title));
            }
            for fix in &d.fixes {
                let mut patched = Snippet::source(text).path(&path);
                for edit in &fix.edits {
                    let Some(range) = holder.inside(&edit.range) else { continue };
                    patched = patched.patch(Patch::new(range, edit.new_text.as_str()));
                }
                groups.push(Level::HELP.secondary_title(fix.title.as_str()).element(patched));
            }
            out.push_str(&renderer.render(&groups));
            out.push_str("\n\n");
        }
    }
    out
}

pub(crate) fn concise<'t>(told: impl Iterator<Item = &'t Told>) -> String {
    let mut out = String::new();
    for file in told {
        let index = LineIndex::new(&file.text);
        for d in &file.diagnostics {
            let holder = Holder::of(file, &index, d.range.start);
            let (line, column) = holder.point(&index, d.range.start);
            out.push_str(&format!("{}:{}:{}: {} {}\n", holder.name(file), line + 1, column + 1, d.code, d.message));
        }
    }
    out
}

/// 0-based line and code point.
fn point(index: &LineIndex, offset: usize) -> (u32, u32) {
    let at = index.line_column(TextSize::try_from(offset).unwrap_or_default(), Encoding::CodePoints);
    (at.line, at.column)
}

/// With the cell that the lines are counted in, in a notebook.
fn json_range(file: &Told, index: &LineIndex, range: &std::ops::Range<usize>) -> Value {
    let holder = Holder::of(file, index, range.start);
    let at = |offset| {
        let (line, character) = holder.point(index, offset);
        json!({ "line": line, "character": character })
    };
    let mut out = json!({ "start": at(range.start), "end": at(range.end) });
    if let Some(cell) = holder.cell {
        out["cell"] = cell.into();
    }
    out
}

/// What is found in a file, as the JSON of `check` and of `sanitize` has it.
pub(crate) fn to_json(file: &Told) -> Vec<Value> {
    let mut diagnostics = Vec::new();
    let index = LineIndex::new(&file.text);
    let path = file.path.display().to_string();
    let range = |r: &std::ops::Range<usize>| json_range(file, &index, r);
    for d in &file.diagnostics {
        let related: Vec<Value> =
            d.related.iter().map(|r| json!({ "message": r.message, "file": path, "range": range(&r.range) })).collect();
        let edits = |edits: &[TextEdit]| -> Vec<Value> {
            edits.iter().map(|e| json!({ "file": path, "range": range(&e.range), "new_text": e.new_text })).collect()
        };
        let fixes: Vec<Value> = d
            .fixes
            .iter()
            .map(|f| {
                let safe = f.applicability == Applicability::Safe;
                json!({ "title": f.title, "safe": safe, "edits": edits(&f.edits) })
            })
            .collect();
        diagnostics.push(json!({
            "code": d.code, "name": d.name, "severity": d.severity.name(), "message": d.message,
            "file": path, "range": range(&d.range), "kernel": d.kernel, "configs": d.configs, "in_string": d.in_string, "assumed": d.assumed, "rests_on": d.rests_on,
            "related": related, "fixes": fixes,
        }));
    }
    diagnostics
}

pub(crate) fn sarif<'t>(told: impl Iterator<Item = &'t Told>) -> Value {
    let mut rules: Vec<(&str, &Diagnostic)> = Vec::new();
    let mut results = Vec::new();
    for file in told {
        let index = LineIndex::new(&file.text);
        for d in &file.diagnostics {
            if rules.iter().all(|(code, _)| *code != d.code) {
                rules.push((d.code, d));
            }
            let region = |range: &std::ops::Range<usize>| {
                let holder = Holder::of(file, &index, range.start);
                let ((l0, c0), (l1, c1)) = (holder.point(&index, range.start), holder.point(&index, range.end));
                json!({ "startLine": l0 + 1, "startColumn": c0 + 1, "endLine": l1 + 1, "endColumn": c1 + 1 })
            };
            let location = |range: &std::ops::Range<usize>| {
                let artifact = json!({ "uri": file.path.display().to_string() });
                let mut out = json!({ "physicalLocation": { "artifactLocation": artifact, "region": region(range) } });
                if let Some(cell) = Holder::of(file, &index, range.start).cell {
                    out["logicalLocations"] = json!([{ "name": format!("cell {cell}"), "kind": "cell" }]);
                }
                out
            };
            let related: Vec<Value> = d
                .related
                .iter()
                .map(|r| {
                    let mut at = location(&r.range);
                    at["message"] = json!({ "text": r.message });
                    at
                })
                .collect();
            results.push(json!({
                "ruleId": d.code,
                "level": sarif_level(d.severity),
                "message": { "text": d.message },
                "locations": [location(&d.range)],
                "relatedLocations": related,
            }));
        }
    }
    rules.sort_unstable_by_key(|(code, _)| *code);
    let rules: Vec<Value> = rules.into_iter().map(|(_, d)| sarif_rule(d)).collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": { "name": "tritium", "version": env!("CARGO_PKG_VERSION"), "rules": rules } },
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    })
}

fn sarif_level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Performance | Severity::Hint => "note",
    }
}

/// What a code means, for those who show results without Tritium at hand.
fn sarif_rule(diagnostic: &Diagnostic) -> Value {
    let page = tritium_ide::diagnostics::page(diagnostic.code).unwrap_or_default();
    let summary = page.split("\n\n").nth(1).unwrap_or_default().replace('\n', " ");
    let severity = tritium_ide::diagnostics::severity(diagnostic.code).unwrap_or(diagnostic.severity);
    json!({
        "id": diagnostic.code,
        "name": diagnostic.name,
        "shortDescription": { "text": summary },
        "help": { "text": page, "markdown": page },
        "helpUri": diagnostic.href,
        "defaultConfiguration": { "level": sarif_level(severity) },
    })
}

pub(crate) fn github<'t>(told: impl Iterator<Item = &'t Told>) -> String {
    // GitHub's workflow commands escape these in messages, and two more in properties.
    let escape = |s: &str| s.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A");
    let property = |s: &str| escape(s).replace(':', "%3A").replace(',', "%2C");
    let mut out = String::new();
    for file in told {
        let index = LineIndex::new(&file.text);
        for d in &file.diagnostics {
            let holder = Holder::of(file, &index, d.range.start);
            let ((line, column), (end_line, end_column)) =
                (holder.point(&index, d.range.start), holder.point(&index, d.range.end));
            let cell = holder.cell.map(|cell| format!("cell {cell}: ")).unwrap_or_default();
            let command = match d.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
                Severity::Performance | Severity::Hint => "notice",
            };
            out.push_str(&format!(
                "::{command} file={},line={},col={},endLine={},endColumn={},title={} {}::{cell}{}\n",
                property(&file.path.display().to_string()),
                line + 1,
                column + 1,
                end_line + 1,
                end_column + 1,
                d.code,
                d.name,
                escape(&d.message)
            ));
        }
    }
    out
}
