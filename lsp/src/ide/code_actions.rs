// Feature: Code actions
//
//! The fixes of the diagnostics that touch a range.

use std::{ops::Range, path::Path};

use crate::ide::{Analysis, Diagnostic, TextEdit};

#[derive(Debug, Clone, PartialEq)]
pub struct Action {
    pub title: String,
    pub safe: bool,
    pub edits: Vec<TextEdit>,
    pub diagnostic: Diagnostic,
}

impl Analysis {
    pub fn code_actions(&self, path: &Path, range: Range<usize>) -> Vec<Action> {
        let touching = self.diagnostics(path).into_iter().filter(|d| d.range.start <= range.end && range.start <= d.range.end);
        let mut actions = Vec::new();
        for diagnostic in touching {
            for fix in &diagnostic.fixes {
                actions.push(Action {
                    title: fix.title.clone(),
                    safe: fix.safe,
                    edits: fix.edits.clone(),
                    diagnostic: diagnostic.clone(),
                });
            }
        }
        // What is certainly right comes first.
        actions.sort_by_key(|action| !action.safe);
        actions
    }
}
