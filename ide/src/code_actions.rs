// Feature: Code actions
//
//! The fixes of the diagnostics that touch a range, every safe fix of the file at once, and [refactorings](super::refactor).

use std::{collections::HashMap, ops::Range, path::Path};

use crate::{Analysis, Applicability, Diagnostic, Fix, ResourceDiagnostics, TextEdit, refactor::RefactorKind};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ActionKind {
    QuickFix,
    Extract,
    Rewrite,
    FixAll,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Action {
    pub title: String,
    pub kind: ActionKind,
    pub applicability: Applicability,
    pub edits: Vec<TextEdit>,
    /// What it puts right.
    pub diagnostic: Option<Diagnostic>,
}

impl Analysis {
    /// `wants`: of which kinds the asker would take an action; the others are not worked out. `remarks`: what the rules about resources are
    /// known to find.
    pub fn code_actions(
        &self,
        path: &Path,
        range: Range<usize>,
        remarks: &ResourceDiagnostics,
        wants: impl Fn(ActionKind) -> bool,
    ) -> Vec<Action> {
        let mut actions = Vec::new();
        if wants(ActionKind::QuickFix) || wants(ActionKind::FixAll) {
            let diagnostics = self.diagnostics_with(path, remarks);
            if wants(ActionKind::QuickFix) {
                for diagnostic in diagnostics.iter().filter(|d| d.range.start <= range.end && range.start <= d.range.end) {
                    for fix in &diagnostic.fixes {
                        actions.push(Action {
                            title: fix.title.clone(),
                            kind: ActionKind::QuickFix,
                            applicability: fix.applicability,
                            edits: fix.edits.clone(),
                            diagnostic: Some(diagnostic.clone()),
                        });
                    }
                }
                // What is certainly right comes first.
                actions.sort_by_key(|action| action.applicability != Applicability::Safe);
            }
            let (edits, fixed) = safe_fixes(&diagnostics);
            if wants(ActionKind::FixAll) && fixed > 0 {
                actions.push(Action {
                    title: format!("Fix all of Tritium's {fixed} safely fixable problems"),
                    kind: ActionKind::FixAll,
                    applicability: Applicability::Safe,
                    edits,
                    diagnostic: None,
                });
            }
        }
        if wants(ActionKind::Extract) || wants(ActionKind::Rewrite) {
            for refactor in self.refactors(path, range) {
                let kind = match refactor.kind {
                    RefactorKind::Extract => ActionKind::Extract,
                    RefactorKind::Rewrite => ActionKind::Rewrite,
                };
                if wants(kind) {
                    actions.push(Action {
                        title: refactor.title,
                        kind,
                        applicability: Applicability::Suggested,
                        edits: refactor.edits,
                        diagnostic: None,
                    });
                }
            }
        }
        actions
    }
}

/// Every safe fix that overlaps none before it, in the order of the text, and how many they are.
pub fn safe_fixes(diagnostics: &[Diagnostic]) -> (Vec<TextEdit>, usize) {
    let mut known = Fixable::of(diagnostics);
    known.take(diagnostics)
}

/// What was safely fixable before any fix was made: fixes that overlap are made in turn, and what a fix uncovers is not among them.
pub struct Fixable(HashMap<(&'static str, String), usize>);

impl Fixable {
    pub fn of(diagnostics: &[Diagnostic]) -> Fixable {
        let mut left = HashMap::new();
        for diagnostic in diagnostics.iter().filter(|d| safe_fix(d).is_some()) {
            *left.entry((diagnostic.code, diagnostic.message.clone())).or_default() += 1;
        }
        Fixable(left)
    }

    /// The edits that can be made to the text that these diagnostics are about, in its order, and of how many fixes they are.
    pub fn take(&mut self, diagnostics: &[Diagnostic]) -> (Vec<TextEdit>, usize) {
        let mut taken: Vec<TextEdit> = Vec::new();
        let mut count = 0;
        for diagnostic in diagnostics {
            let Some(fix) = safe_fix(diagnostic) else { continue };
            let Some(left) = self.0.get_mut(&(diagnostic.code, diagnostic.message.clone())).filter(|left| **left > 0) else {
                continue;
            };
            let overlaps = |edit: &TextEdit| {
                taken.iter().any(|t| t.range == edit.range || (t.range.start < edit.range.end && edit.range.start < t.range.end))
            };
            if !fix.edits.iter().any(overlaps) {
                *left -= 1;
                taken.extend(fix.edits.iter().cloned());
                count += 1;
            }
        }
        taken.sort_by_key(|edit| (edit.range.start, edit.range.end));
        (taken, count)
    }
}

fn safe_fix(diagnostic: &Diagnostic) -> Option<&Fix> {
    diagnostic.fixes.iter().find(|fix| fix.applicability == Applicability::Safe && !fix.edits.is_empty())
}

/// The text after edits that do not overlap, in the order of the text.
pub fn applied(text: &str, edits: &[TextEdit]) -> String {
    let mut out = text.to_owned();
    for edit in edits.iter().rev() {
        out.replace_range(edit.range.clone(), &edit.new_text);
    }
    out
}
