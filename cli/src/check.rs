//! `tritium check`.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use annotate_snippets::{AnnotationKind, Group, Level, Patch, Renderer, Snippet};
use rayon::prelude::*;
use serde_json::{Value, json};
use tritium_ide::{
    Analysis, Applicability, Diagnostic, Host, Severity, TextEdit,
    baseline::Baseline,
    code_actions::{Fixable, applied},
    guarded,
};
use tritium_runtime::files;
use tritium_semantics::{items::Unchecked, notebook};
use tritium_syntax::{Encoding, LineIndex, TextSize};

use crate::{
    args::CheckFormat,
    session::{self, Failure, Failures},
};

struct Checked {
    path: PathBuf,
    text: String,
    kernels: usize,
    /// Distinct ones of its kernels that were looked at.
    specialisations: usize,
    unchecked: BTreeMap<Unchecked, usize>,
    diagnostics: Vec<Diagnostic>,
}

pub(crate) struct Request {
    pub(crate) paths: Vec<PathBuf>,
    pub(crate) format: CheckFormat,
    pub(crate) fix: bool,
    pub(crate) baseline: Option<PathBuf>,
    pub(crate) write_baseline: Option<PathBuf>,
}

pub(crate) fn check(mut host: Host, request: &Request) -> Result<ExitCode, Failure> {
    let Request { paths, format, fix, .. } = request;
    let (files, mut failures) = session::python_files(&host, paths)?;
    let mut baseline = request.baseline.as_deref().map(read_baseline).transpose()?;
    let mut checked = check_files(&mut host, &files, paths, &mut failures)?;
    failures.unless_all(checked.len())?;
    let mut fixed = 0;
    if *fix {
        for result in &mut checked {
            fixed += fix_file(&mut host, result)?;
        }
    }
    if let Some(path) = &request.write_baseline {
        return write_baseline(path, &checked).map(|code| failures.tell(code));
    }
    let mut hidden = 0;
    if let (Some(path), Some(baseline)) = (&request.baseline, &mut baseline) {
        let mut looked_at = Vec::new();
        for file in &mut checked {
            let name = beside(path, &file.path);
            hidden += baseline.hide(&name, &file.text, &mut file.diagnostics);
            looked_at.push(name);
        }
        for stale in baseline.stale(&looked_at) {
            eprintln!(
                "{}: {} is not found in {} any more: write the baseline again",
                path.display(),
                plural(stale.count, &format!("finding {}", stale.code)),
                stale.file
            );
        }
    }
    let text = match format {
        CheckFormat::Full => full(&checked),
        CheckFormat::Concise => concise(&checked),
        CheckFormat::Json => session::pretty(&to_json(&checked)),
        CheckFormat::Sarif => session::pretty(&sarif(&checked)),
        CheckFormat::Github => github(&checked),
    };
    session::print(&text)?;
    if matches!(format, CheckFormat::Full | CheckFormat::Concise) {
        if fixed > 0 {
            eprintln!("{fixed} fixed");
        }
        if hidden > 0 {
            eprintln!("{} hidden by the baseline", plural(hidden, "finding"));
        }
        eprintln!("{}", summary(&checked));
    }
    // The process ends here: taking the database apart object by object would only delay that.
    std::mem::forget(host);
    let remaining =
        checked.iter().flat_map(|c| &c.diagnostics).any(|d| matches!(d.severity, Severity::Error | Severity::Warning));
    Ok(failures.tell(if remaining { ExitCode::from(1) } else { ExitCode::SUCCESS }))
}

/// Files that are read at once; between batches memory is given back. More fit where every kernel is looked at once.
fn batch_size(only_first: bool) -> usize {
    if only_first { 32 } else { 12 }
}

/// Files side by side; the answers are in the order given. What cannot be answered is left out and kept among the failures.
fn check_files(host: &mut Host, files: &[PathBuf], named: &[PathBuf], failures: &mut Failures) -> Result<Vec<Checked>, Failure> {
    let pool = session::pool()?;
    session::find_callers(host, files, named, &pool);
    let mut checked: Vec<(usize, Checked)> = Vec::with_capacity(files.len());
    let most = batch_size(host.snapshot().options().only_first);
    for (number, batch) in batches(files, most).into_iter().enumerate() {
        if number > 0 {
            host.forget();
        }
        let snapshot = host.snapshot();
        let results: Vec<Result<(usize, Checked), Failure>> = pool.install(move || {
            // A bridge hands the files out one by one in this order: nobody waits at the end for a large one.
            let each = batch.into_iter().par_bridge();
            each.map_with(snapshot, |analysis, index| {
                let path = &files[index];
                // One file that breaks us must not cost the others their answer.
                let answer = guarded(|| {
                    // A file of heavy kernels would keep one thread busy while the others wait for the end of its batch.
                    let kernels = analysis.kernels_to_check(path).into_par_iter();
                    kernels.for_each_with(analysis.clone(), |analysis, kernel| analysis.look_at(kernel));
                    check_file(analysis.clone(), path, named.contains(path))
                });
                let answer = answer.unwrap_or_else(|m| Err(Failure::broken(path, &m)));
                answer.map(|checked| (index, checked))
            })
            .collect()
        });
        checked.extend(results.into_iter().filter_map(|result| failures.keep(result)));
    }
    checked.sort_by_key(|(index, _)| *index);
    Ok(checked.into_iter().map(|(_, checked)| checked).collect())
}

/// Indices of files, at most so many in a batch, large ones first in every batch, and every batch with its share of them: so batches take the same time and memory.
fn batches(files: &[PathBuf], most: usize) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..files.len()).collect();
    // A file that cannot be read says so when it is looked at.
    let sizes: Vec<u64> = files.iter().map(|path| fs::metadata(path).map_or(0, |found| found.len())).collect();
    order.sort_by_key(|&index| std::cmp::Reverse(sizes[index]));
    let count = files.len().div_ceil(most);
    (0..count).map(|first| order.iter().copied().skip(first).step_by(count).collect()).collect()
}

/// Finds everything in a file that is about Triton; of one that the person named that it is no Python text; nothing in others.
fn check_file(analysis: Analysis, path: &Path, is_named: bool) -> Result<Checked, Failure> {
    let analysis = session::settled(analysis, path)?;
    let text = analysis.text(path).ok_or_else(|| Failure::unreadable(path))?;
    let is_no_text = || analysis.file(path).is_some_and(|file| file.undecodable(analysis.db()).is_some());
    let is_wanted = analysis.is_triton(path) || is_named && is_no_text();
    let diagnostics = if is_wanted { analysis.diagnostics(path) } else { Vec::new() };
    let (kernels, specialisations) = (analysis.kernel_count(path), analysis.specialisation_count(path));
    let unchecked = analysis.unchecked_kernels(path);
    Ok(Checked { path: path.to_owned(), kernels, specialisations, unchecked, text, diagnostics })
}

/// A new text of a file in the encoding that the file has; `None` if its bytes are no text, which a fix would lose.
fn encoded(path: &Path, text: &str) -> Result<Option<Vec<u8>>, Failure> {
    let bytes = files::read_regular(path, files::MAX_SOURCE_BYTES).map_err(|e| Failure::io(path, &e))?;
    let mut source = tritium_syntax::source::decode(&bytes);
    if source.problem.is_some() {
        return Ok(None);
    }
    source.text = text.into();
    Ok(Some(source.encode()))
}

/// Makes the safe fixes of what is found in a file, and looks at it again; what they uncover is told and left. A text without an error
/// never becomes one with an error. How many fixes were made.
fn fix_file(host: &mut Host, file: &mut Checked) -> Result<usize, Failure> {
    // Its text is not the file's.
    if notebook::is_notebook(&file.path) {
        return Ok(0);
    }
    let mut left = Fixable::of(&file.diagnostics);
    let mut fixed = 0;
    loop {
        // Of fixes that overlap one is made, and the others when their places are known anew.
        let (edits, count) = left.take(&file.diagnostics);
        if count == 0 {
            return Ok(fixed);
        }
        let text = applied(&file.text, &edits);
        let Some(bytes) = encoded(&file.path, &text)? else { return Ok(fixed) };
        host.set_text(&file.path, text);
        let after = check_file(host.snapshot(), &file.path, true)?;
        if let (None, Some(new)) = (error_of(&file.diagnostics), error_of(&after.diagnostics)) {
            host.set_text(&file.path, file.text.clone());
            eprintln!("{}: left as it is, as its fixes bring an error: {}", file.path.display(), new.message);
            return Ok(fixed);
        }
        files::write(&file.path, bytes).map_err(|e| Failure::io(&file.path, &e))?;
        fixed += count;
        *file = after;
    }
}

fn error_of(diagnostics: &[Diagnostic]) -> Option<&Diagnostic> {
    diagnostics.iter().find(|d| d.severity == Severity::Error)
}

fn plural(n: usize, one: &str) -> String {
    format!("{n} {one}{}", if n == 1 { "" } else { "s" })
}

fn read_baseline(path: &Path) -> Result<Baseline, Failure> {
    let text = files::read_record(path).map_err(|e| Failure::io(path, &e))?;
    Baseline::read(&text).map_err(|message| Failure(format!("{}: {message}", path.display())))
}

fn write_baseline(path: &Path, checked: &[Checked]) -> Result<ExitCode, Failure> {
    let mut baseline = Baseline { version: 1, findings: vec![] };
    for file in checked {
        baseline.add(&beside(path, &file.path), &file.text, &file.diagnostics);
    }
    files::write(path, session::pretty(&baseline)).map_err(|e| Failure::io(path, &e))?;
    let count = checked.iter().map(|c| c.diagnostics.len()).sum();
    eprintln!("{} written to {}", plural(count, "finding"), path.display());
    Ok(ExitCode::SUCCESS)
}

/// A file as the baseline names it: from the baseline's own folder.
fn beside(baseline: &Path, file: &Path) -> String {
    let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let (baseline, file) = (absolute(baseline), absolute(file));
    let inside = baseline.parent().and_then(|folder| file.strip_prefix(folder).ok());
    inside.unwrap_or(&file).to_string_lossy().replace('\\', "/")
}

fn summary(checked: &[Checked]) -> String {
    let count = |s: Severity| checked.iter().flat_map(|c| &c.diagnostics).filter(|d| d.severity == s).count();
    let kernels: usize = checked.iter().map(|c| c.kernels).sum();
    let mut parts = Vec::new();
    for (severity, name) in [
        (Severity::Error, "error"),
        (Severity::Warning, "warning"),
        (Severity::Performance, "performance remark"),
        (Severity::Hint, "hint"),
    ] {
        if count(severity) > 0 {
            parts.push(plural(count(severity), name));
        }
    }
    let found = if parts.is_empty() { "nothing to report".to_owned() } else { parts.join(", ") };
    let unchecked: Vec<String> = unchecked(checked).into_iter().map(|(why, count)| why.counted(count)).collect();
    let unchecked = if unchecked.is_empty() { String::new() } else { format!("; not checked: {}", unchecked.join(", ")) };
    format!("{found} in {} ({}{unchecked})", plural(checked.len(), "file"), plural(kernels, "kernel"))
}

/// Kernels that are not checked, by why.
fn unchecked(checked: &[Checked]) -> BTreeMap<Unchecked, usize> {
    let mut all = BTreeMap::new();
    for (why, count) in checked.iter().flat_map(|file| &file.unchecked) {
        *all.entry(*why).or_default() += count;
    }
    all
}

/// What a place is told in: a file, or a cell of a notebook.
struct Holder {
    cell: Option<u32>,
    range: std::ops::Range<usize>,
    /// Lines of the text before it.
    lines: u32,
}

impl Holder {
    fn of(file: &Checked, index: &LineIndex, offset: usize) -> Holder {
        let cell = if notebook::is_notebook(&file.path) { notebook::cell_at(&file.text, offset) } else { None };
        match cell {
            Some(cell) => Holder { cell: Some(cell.number), lines: point(index, cell.range.start).0, range: cell.range },
            None => Holder { cell: None, range: 0..file.text.len(), lines: 0 },
        }
    }

    /// `x.py`, `x.ipynb:cell 3`
    fn name(&self, file: &Checked) -> String {
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

fn full(checked: &[Checked]) -> String {
    let renderer = if session::colour() { Renderer::styled() } else { Renderer::plain() };
    let mut out = String::new();
    for file in checked {
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

fn concise(checked: &[Checked]) -> String {
    let mut out = String::new();
    for file in checked {
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
fn json_range(file: &Checked, index: &LineIndex, range: &std::ops::Range<usize>) -> Value {
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

fn to_json(checked: &[Checked]) -> Value {
    let mut diagnostics = Vec::new();
    for file in checked {
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
    }
    let kernels: usize = checked.iter().map(|c| c.kernels).sum();
    let specialisations: usize = checked.iter().map(|c| c.specialisations).sum();
    let unchecked: BTreeMap<&str, usize> = unchecked(checked).into_iter().map(|(why, count)| (why.name(), count)).collect();
    json!({
        "version": 1, "files": checked.len(), "kernels": kernels, "unchecked": unchecked, "specialisations": specialisations,
        "diagnostics": diagnostics,
    })
}

fn sarif(checked: &[Checked]) -> Value {
    let mut rules: Vec<(&str, &Diagnostic)> = Vec::new();
    let mut results = Vec::new();
    for file in checked {
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

fn github(checked: &[Checked]) -> String {
    // GitHub's workflow commands escape these in messages, and two more in properties.
    let escape = |s: &str| s.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A");
    let property = |s: &str| escape(s).replace(':', "%3A").replace(',', "%2C");
    let mut out = String::new();
    for file in checked {
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
