//! `tritium check`.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use rayon::prelude::*;
use serde_json::{Value, json};
use tritium_ide::{
    Analysis, Diagnostic, Host, Severity,
    baseline::Baseline,
    code_actions::{Fixable, applied},
    guarded,
};
use tritium_runtime::files;
use tritium_semantics::{items::Unchecked, notebook};

use crate::{
    args::CheckFormat,
    printing::{self, Told, plural},
    session::{self, Failure, Failures},
};

struct Checked {
    told: Told,
    kernels: usize,
    /// Distinct ones of its kernels that were looked at.
    specialisations: usize,
    unchecked: BTreeMap<Unchecked, usize>,
}

fn told(checked: &[Checked]) -> impl Iterator<Item = &Told> {
    checked.iter().map(|file| &file.told)
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
            let name = beside(path, &file.told.path);
            hidden += baseline.hide(&name, &file.told.text, &mut file.told.diagnostics);
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
        CheckFormat::Json => session::pretty(&to_json(&checked)),
        CheckFormat::Full => printing::full(told(&checked)),
        CheckFormat::Concise => printing::concise(told(&checked)),
        CheckFormat::Sarif => session::pretty(&printing::sarif(told(&checked))),
        CheckFormat::Github => printing::github(told(&checked)),
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
        checked.iter().flat_map(|c| &c.told.diagnostics).any(|d| matches!(d.severity, Severity::Error | Severity::Warning));
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
    let told = Told { path: path.to_owned(), text, diagnostics };
    Ok(Checked { told, kernels, specialisations, unchecked })
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
    if notebook::is_notebook(&file.told.path) {
        return Ok(0);
    }
    let mut left = Fixable::of(&file.told.diagnostics);
    let mut fixed = 0;
    loop {
        // Of fixes that overlap one is made, and the others when their places are known anew.
        let (edits, count) = left.take(&file.told.diagnostics);
        if count == 0 {
            return Ok(fixed);
        }
        let text = applied(&file.told.text, &edits);
        let Some(bytes) = encoded(&file.told.path, &text)? else { return Ok(fixed) };
        host.set_text(&file.told.path, text);
        let after = check_file(host.snapshot(), &file.told.path, true)?;
        if let (None, Some(new)) = (error_of(&file.told.diagnostics), error_of(&after.told.diagnostics)) {
            host.set_text(&file.told.path, file.told.text.clone());
            eprintln!("{}: left as it is, as its fixes bring an error: {}", file.told.path.display(), new.message);
            return Ok(fixed);
        }
        files::write(&file.told.path, bytes).map_err(|e| Failure::io(&file.told.path, &e))?;
        fixed += count;
        *file = after;
    }
}

fn error_of(diagnostics: &[Diagnostic]) -> Option<&Diagnostic> {
    diagnostics.iter().find(|d| d.severity == Severity::Error)
}

fn read_baseline(path: &Path) -> Result<Baseline, Failure> {
    let text = files::read_record(path).map_err(|e| Failure::io(path, &e))?;
    Baseline::read(&text).map_err(|message| Failure(format!("{}: {message}", path.display())))
}

fn write_baseline(path: &Path, checked: &[Checked]) -> Result<ExitCode, Failure> {
    let mut baseline = Baseline { version: 1, findings: vec![] };
    for file in checked {
        baseline.add(&beside(path, &file.told.path), &file.told.text, &file.told.diagnostics);
    }
    files::write(path, session::pretty(&baseline)).map_err(|e| Failure::io(path, &e))?;
    let count = checked.iter().map(|c| c.told.diagnostics.len()).sum();
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
    let count = |s: Severity| checked.iter().flat_map(|c| &c.told.diagnostics).filter(|d| d.severity == s).count();
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

fn to_json(checked: &[Checked]) -> Value {
    let diagnostics: Vec<Value> = told(checked).flat_map(printing::to_json).collect();
    let kernels: usize = checked.iter().map(|c| c.kernels).sum();
    let specialisations: usize = checked.iter().map(|c| c.specialisations).sum();
    let unchecked: BTreeMap<&str, usize> = unchecked(checked).into_iter().map(|(why, count)| (why.name(), count)).collect();
    json!({
        "version": 1, "files": checked.len(), "kernels": kernels, "unchecked": unchecked, "specialisations": specialisations,
        "diagnostics": diagnostics,
    })
}
