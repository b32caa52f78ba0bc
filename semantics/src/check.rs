//! All diagnostics of a file.
//!
//! Each kernel is elaborated under all of its specialisations; what they find at one place is one diagnostic. **Invariant:** one
//! diagnostic per (code, range), in the order of the text; an error of assumed specialisations is told only where every one of them that
//! reaches the place has it.

mod assembly;
mod findings;
mod imports;
mod suppressions;

use std::ops::Range;

use smol_str::SmolStr;
use tritium_syntax::SyntaxError;

use crate::{
    Db, Function, SourceFile,
    diagnostics::{Code, Severity},
    elaborate::Elaborated,
    items::{self, Unchecked, UncheckedKernels, chunks, in_file, is_triton_file, items as items_of, lowered},
    launch::launches,
    lints,
    places::range_of,
    problem::Applicability,
};

use assembly::Found;
pub(crate) use assembly::file_fix;
pub use assembly::{has_error, place_of_row, removal_of_row};
pub use findings::{Look, label_of, look_at, visited, work_out_rest};
pub use suppressions::{Suppression, is_silenced, silence, suppressions};

/// A problem with its place in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    pub code: Code,
    pub severity: Severity,
    pub message: String,
    /// Bytes of the file.
    pub range: Range<usize>,
    /// The kernel whose elaboration found it.
    pub kernel: Option<SmolStr>,
    /// The launches or configurations that have it, by name; empty if all do.
    pub configs: Vec<String>,
    /// The kernel stands in a string literal.
    pub in_string: bool,
    /// Some assumed specialisation has it, but not all.
    pub assumed: bool,
    /// The parameters that it then comes from, where a launch says the others.
    pub rests_on: Vec<SmolStr>,
    pub related: Vec<Related>,
    pub fixes: Vec<FileFix>,
}

/// Another place that takes part, with its own sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Related {
    pub file: SourceFile,
    pub range: Range<usize>,
    pub message: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileFix {
    pub title: String,
    pub applicability: Applicability,
    pub edits: Vec<FileEdit>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileEdit {
    pub file: SourceFile,
    pub range: Range<usize>,
    pub new_text: String,
}

/// Everything that is wrong with a file, as far as no code is generated for it.
#[salsa::tracked(returns(ref))]
pub fn check(db: &dyn Db, file: SourceFile) -> Vec<Diagnostic> {
    let mut out = unsilenced(db, file).clone();
    silence(db, file, &mut out, |code| code.is_resource() || code.is_of_runs());
    out
}

/// The same with what comments silence.
#[salsa::tracked(returns(ref))]
pub fn unsilenced(db: &dyn Db, file: SourceFile) -> Vec<Diagnostic> {
    collect(db, file, |_| None)
}

/// As [`unsilenced`], as far as it is known where some kernels have only been looked at under one of their specialisations.
pub fn unsilenced_partly(db: &dyn Db, file: SourceFile, looks: &[&Look]) -> Vec<Diagnostic> {
    collect(db, file, |kernel| looks.iter().find(|look| look.kernel == kernel).copied())
}

fn collect<'a>(db: &dyn Db, file: SourceFile, look: impl Fn(Function) -> Option<&'a Look>) -> Vec<Diagnostic> {
    let undecodable: Option<Diagnostic> = file.undecodable(db).as_ref().map(|problem| undecodable(file.text(db), problem));
    if !is_triton_file(db, file) {
        return undecodable.into_iter().collect();
    }
    let mut out = undecodable.map_or_else(|| syntax_errors(db, file), |problem| vec![problem]);
    for problem in &launches(db, file).problems {
        let Some(range) = problem.place.range(db, file) else { continue };
        let found = plain(problem.code, problem.message.clone(), range);
        out.push(Diagnostic { severity: problem.severity, ..found });
    }
    out.extend(imports::failing_imports(db, file));
    for found in items::unchecked_kernels(db, file) {
        let (code, message) = match found.why {
            Unchecked::Lambda if !found.may_be_caught => (Code::LNG020, refused_lambda()),
            _ => (Code::LIM004, not_checked(found)),
        };
        out.push(plain(code, message, found.range.clone()));
    }
    let mut found = Found::default();
    let kernels = items::kernels(db, file);
    for &kernel in kernels {
        db.unwind_if_revision_cancelled();
        match look(kernel) {
            Some(look) => look.findings(db).iter().for_each(|finding| found.add(db, kernel, finding)),
            None => findings::findings(db, kernel).iter().for_each(|finding| found.add(db, kernel, finding)),
        }
    }
    for item in &items_of(db, file).functions {
        for problem in lints::of_function(db, item.function, kernels.contains(&item.function)) {
            found.add_certain(db, item.function, problem.clone());
        }
    }
    out.extend(found.into_diagnostics(db, file));
    out.extend(in_strings(db, file));
    out.sort_by_key(|d| (d.range.start, d.range.end, d.code));
    out.dedup_by(|b, a| a.code == b.code && a.range == b.range);
    // It is about the file.
    let mut is_told = false;
    out.retain(|found| found.code != Code::VER005 || !std::mem::replace(&mut is_told, true));
    out
}

/// The errors of kernels in string literals, most of which a program writes. Which names whoever executes them has at hand is not known.
fn in_strings(db: &dyn Db, file: SourceFile) -> Vec<Diagnostic> {
    let mut out = Vec::new();
    for module in items::string_modules(db, file) {
        for found in unsilenced(db, module.file) {
            let is_mistake = found.severity == Severity::Error && found.code != Code::LNG018;
            let Some(range) = module.outside(&found.range).filter(|_| is_mistake) else { continue };
            let outside = |related: &Related| match related.file == module.file {
                true => Some(Related { file, range: module.outside(&related.range)?, message: related.message.clone() }),
                false => Some(related.clone()),
            };
            let related = found.related.iter().filter_map(outside).collect();
            out.push(Diagnostic { range, related, fixes: vec![], in_string: true, ..found.clone() });
        }
    }
    out
}

fn refused_lambda() -> String {
    "Triton reads the text of a `def` and finds none in a `lambda`, so this call fails: write a function".to_owned()
}

fn not_checked(found: &UncheckedKernels) -> String {
    let what = match (&found.name, found.count) {
        (Some(name), _) => format!("`{name}` is"),
        (None, 1) => "the kernel here is".to_owned(),
        (None, count) => format!("the {count} kernels here are"),
    };
    let why = match found.why {
        Unchecked::Gluon => "its language is Gluon, which Tritium does not elaborate yet",
        Unchecked::Text => "a string holds its text",
        Unchecked::Template => "a string with parts to be filled in holds its text",
        Unchecked::Lambda => "Triton reads the text of a `def`, and this is a `lambda`",
    };
    format!("{what} not checked: {}", if found.count > 1 { why.replace("its text", "their text") } else { why.to_owned() })
}

/// Why a specialisation without an error is not the whole kernel: the place whose value is not known, as the user wrote it.
pub fn first_unknown(db: &dyn Db, elaborated: &Elaborated) -> Option<String> {
    let (file, range) = range_of(db, elaborated.first_unknown?)?;
    let text = file.text(db);
    let line = text.get(..range.start)?.lines().count().max(1);
    let written: Vec<&str> = text.get(range)?.split_whitespace().collect();
    let written = written.join(" ");
    let short: String = written.chars().take(60).collect();
    let dots = if short.len() < written.len() { "…" } else { "" };
    Some(format!("line {line}: what `{short}{dots}` gives is not known at compile time, or is not followed"))
}

fn plain(code: Code, message: String, range: Range<usize>) -> Diagnostic {
    Diagnostic {
        code,
        severity: code.severity(),
        message,
        range,
        kernel: None,
        configs: vec![],
        in_string: false,
        assumed: false,
        rests_on: vec![],
        related: vec![],
        fixes: vec![],
    }
}

/// The bytes are not those of any text; what replaces them is no mistake of its own.
fn undecodable(text: &str, problem: &SyntaxError) -> Diagnostic {
    // The place counts the bytes before they were decoded.
    let start = text.floor_char_boundary(problem.range.start().into());
    let end = text.ceil_char_boundary(problem.range.end().into());
    plain(Code::SYN001, problem.message.clone(), start..end)
}

/// Those of the chunks that hold kernels; the rest of the file is other tools' business.
fn syntax_errors(db: &dyn Db, file: SourceFile) -> Vec<Diagnostic> {
    let functions = &items_of(db, file).functions;
    let mut out = Vec::new();
    for (index, (start, chunk)) in chunks(db, file).iter().enumerate() {
        let errors = &lowered(db, *chunk).errors;
        if errors.is_empty() {
            continue;
        }
        let Some(kernel) = functions.iter().find(|f| f.holder == index) else { continue };
        for error in errors.iter() {
            let mut diagnostic = plain(Code::SYN001, error.message.clone(), in_file(*start, error.range));
            diagnostic.kernel = Some(kernel.function.name(db).clone());
            out.push(diagnostic);
        }
    }
    out
}
