//! `# tritium: ignore[CODE] reason`: what comments silence, and comments that silence nothing.
//!
//! **Invariant:** a suppression that is of no use any more is told, with the edit that takes it away.

use std::ops::Range;

use super::{Diagnostic, FileEdit, FileFix, assembly::tell_once, plain};
use crate::{Db, SourceFile, diagnostics::Code, items::is_triton_file, problem::Applicability};

/// Takes out what comments silence, and tells of comments that silence nothing; those of codes that were not looked for may. What is left
/// of what a file or a kernel is full of is told once.
pub fn silence(db: &dyn Db, file: SourceFile, found: &mut Vec<Diagnostic>, is_not_looked_for: fn(Code) -> bool) {
    silence_lines(db, file, found, is_not_looked_for);
    tell_once(file, found);
}

/// Whether a comment silences a code at a place of a text.
pub fn is_silenced(text: &str, code: Code, offset: usize) -> bool {
    let is_meant = |s: &Suppression| s.lines.contains(&offset) && s.codes.iter().any(|name| Code::find(name) == Some(code));
    suppressions(text).iter().any(is_meant)
}

fn silence_lines(db: &dyn Db, file: SourceFile, found: &mut Vec<Diagnostic>, is_not_looked_for: fn(Code) -> bool) {
    let text = file.text(db);
    if !is_triton_file(db, file) {
        return;
    }
    let suppressions = suppressions(text);
    if suppressions.is_empty() {
        return;
    }
    let spared = |code: &String| Code::find(code).is_some_and(is_not_looked_for);
    let mut used: Vec<Vec<bool>> = suppressions.iter().map(|s| s.codes.iter().map(spared).collect()).collect();
    found.retain(|d| {
        let mut silenced = false;
        for (suppression, used) in suppressions.iter().zip(&mut used) {
            if !suppression.lines.contains(&d.range.start) {
                continue;
            }
            for (code, used) in suppression.codes.iter().zip(used) {
                if Code::find(code) == Some(d.code) {
                    (*used, silenced) = (true, true);
                }
            }
        }
        !silenced
    });
    for (suppression, used) in suppressions.iter().zip(&used) {
        if let Some(diagnostic) = unused_suppression(file, text, suppression, used) {
            found.push(diagnostic);
        }
        if suppression.reason.is_empty() {
            let message = "this suppression says no reason: add one after the bracket".to_owned();
            found.push(plain(Code::SUP002, message, suppression.comment.clone()));
        }
    }
    found.sort_by_key(|d| (d.range.start, d.range.end, d.code));
}

fn unused_suppression(file: SourceFile, text: &str, suppression: &Suppression, used: &[bool]) -> Option<Diagnostic> {
    let (kept, unused): (Vec<_>, Vec<_>) = suppression.codes.iter().zip(used).partition(|(_, used)| **used);
    if unused.is_empty() && !suppression.codes.is_empty() {
        return None;
    }
    let list = unused.iter().map(|(code, _)| format!("`{code}`")).collect::<Vec<_>>().join(" and ");
    let message = match unused.iter().find(|(code, _)| Code::find(code).is_none()) {
        _ if suppression.codes.is_empty() => "this suppression names no code: write `ignore[CODE] reason`".to_owned(),
        Some((code, _)) => format!("`{code}` is no diagnostic of Tritium, so this suppression silences nothing"),
        None if suppression.lines.end > text.len() => {
            format!("{list} is not found in this file any more: the suppression silences nothing")
        }
        None => format!("{list} is not found on this line any more: the suppression silences nothing"),
    };
    let comment = suppression.comment.clone();
    let edit = if kept.is_empty() {
        // With the blanks before it, or with its line.
        let range = with_line(text, comment.clone()).unwrap_or_else(|| {
            let before = text.get(..comment.start).unwrap_or_default().trim_end_matches([' ', '\t']);
            before.len()..comment.end
        });
        FileEdit { file, range, new_text: String::new() }
    } else {
        let kept: Vec<&str> = kept.iter().map(|(code, _)| code.as_str()).collect();
        let new_text = format!("{SUPPRESSION}{}] {}", kept.join(", "), suppression.reason);
        FileEdit { file, range: comment.clone(), new_text: new_text.trim_end().to_owned() }
    };
    let mut diagnostic = plain(Code::SUP001, message, comment);
    diagnostic.fixes.push(FileFix {
        title: "Remove what is unused".to_owned(),
        applicability: Applicability::Safe,
        edits: vec![edit],
    });
    Some(diagnostic)
}

/// `# tritium: ignore[CODE, …] reason` at the end of a line, or on a line of its own above.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suppression {
    /// Bytes of the line it speaks of.
    pub lines: Range<usize>,
    /// The comment's own bytes.
    pub comment: Range<usize>,
    /// Codes or names as written.
    pub codes: Vec<String>,
    pub reason: String,
}

/// How the comment of a suppression begins.
const SUPPRESSION: &str = "# tritium: ignore[";

/// How the comment of a suppression begins that speaks of the whole file.
const FILE_SUPPRESSION: &str = "# tritium: ignore-file[";

/// The suppressions of a text, in order: those of lines and those of the file.
pub fn suppressions(text: &str) -> Vec<Suppression> {
    let mut out = Vec::new();
    if !text.contains(SUPPRESSION) && !text.contains(FILE_SUPPRESSION) {
        return out;
    }
    let mut start = 0;
    let mut waiting: Vec<Suppression> = Vec::new();
    for line in text.split_inclusive('\n') {
        let whole = start..start + line.len();
        let content = line.trim_end();
        let mut alone = false;
        let of_file = content.find(FILE_SUPPRESSION).map(|at| (at, FILE_SUPPRESSION));
        if let Some((at, mark)) = of_file.or_else(|| content.find(SUPPRESSION).map(|at| (at, SUPPRESSION)))
            && let Some((codes, reason)) = content[at + mark.len()..].split_once(']')
        {
            let suppression = Suppression {
                lines: if of_file.is_some() { 0..text.len() + 1 } else { whole.clone() },
                comment: start + at..start + content.len(),
                codes: codes.split(',').map(|c| c.trim().to_owned()).filter(|c| !c.is_empty()).collect(),
                reason: reason.trim().to_owned(),
            };
            alone = of_file.is_none() && content[..at].trim().is_empty();
            if alone { waiting.push(suppression) } else { out.push(suppression) }
        }
        if !alone && of_file.is_none() && !content.is_empty() {
            out.extend(waiting.drain(..).map(|s| Suppression { lines: whole.clone(), ..s }));
        }
        start = whole.end;
    }
    out
}

/// A statement and the rest of its lines, if there is nothing else on them.
pub(super) fn with_line(text: &str, range: Range<usize>) -> Option<Range<usize>> {
    let start = text.get(..range.start)?.rfind('\n').map_or(0, |at| at + 1);
    let end = text.get(range.end..)?.find('\n').map_or(text.len(), |at| range.end + at + 1);
    let alone = text.get(start..range.start)?.trim().is_empty() && text.get(range.end..end)?.trim().is_empty();
    alone.then_some(start..end)
}
