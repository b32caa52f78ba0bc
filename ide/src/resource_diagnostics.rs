// Feature: Resource diagnostics while typing
//
//! What the rules about resources found, held at its places while the text around it changes: the rules answer after the rest, and what they
//! say would otherwise go and come with every keystroke.
//!
//! **Invariant:** a remark is held only while the text that it marks is still there; what the rules find when they have looked again
//! replaces all that is held.

use std::{ops::Range, sync::Arc};

use tritium_semantics::{
    SourceFile,
    check::{Diagnostic, FileEdit},
};

/// The remarks of one file and the text that they are about. All their places are in that file.
#[derive(Debug, Clone, Default)]
pub struct ResourceDiagnostics {
    text: Arc<str>,
    pub(crate) found: Vec<Diagnostic>,
    /// Nothing that the rules found is missing.
    pub(crate) is_whole: bool,
}

impl ResourceDiagnostics {
    pub(crate) fn new(file: SourceFile, text: &str, mut found: Vec<Diagnostic>) -> ResourceDiagnostics {
        for remark in &mut found {
            remark.related.retain(|related| related.file == file);
            remark.fixes.retain(|fix| fix.edits.iter().all(|edit| edit.file == file));
        }
        ResourceDiagnostics { text: text.into(), found, is_whole: true }
    }

    /// As those of this file, which may be known by another id by now.
    pub(crate) fn of(&self, file: SourceFile) -> impl Iterator<Item = Diagnostic> {
        self.found.iter().cloned().map(move |mut remark| {
            remark.related.iter_mut().for_each(|related| related.file = file);
            remark.fixes.iter_mut().flat_map(|fix| &mut fix.edits).for_each(|edit| edit.file = file);
            remark
        })
    }

    /// These, and those of runs that are about the same text.
    #[must_use]
    pub fn with_findings(mut self, findings: &ResourceDiagnostics) -> ResourceDiagnostics {
        if self.text.is_empty() || *self.text == *findings.text {
            self.found.extend(findings.found.iter().cloned());
        }
        self
    }

    /// The same in a newer text.
    #[must_use]
    pub fn in_text(mut self, text: &str) -> ResourceDiagnostics {
        if *self.text == *text {
            return self;
        }
        if !self.found.is_empty() {
            let change = Change::between(&self.text, text);
            let before = self.found.len();
            self.found = self.found.into_iter().filter_map(|remark| change.apply(remark)).collect();
            self.is_whole &= self.found.len() == before;
        }
        self.text = text.into();
        self
    }
}

/// The one part of a text that differs from another.
struct Change {
    /// In the older text.
    range: Range<usize>,
    /// Bytes that stand there now.
    len: usize,
}

impl Change {
    fn between(old: &str, new: &str) -> Change {
        let start = old.bytes().zip(new.bytes()).take_while(|(a, b)| a == b).count();
        let tail = old.bytes().skip(start).rev().zip(new.bytes().skip(start).rev()).take_while(|(a, b)| a == b).count();
        Change { range: start..old.len() - tail, len: new.len() - tail - start }
    }

    /// `None` where a part of the range is written anew; what is written inside it makes it longer.
    fn moved(&self, range: &Range<usize>) -> Option<Range<usize>> {
        let after = |offset: usize| offset - self.range.end + self.range.start + self.len;
        if range.end <= self.range.start {
            Some(range.clone())
        } else if range.start >= self.range.end {
            Some(after(range.start)..after(range.end))
        } else if range.start < self.range.start && self.range.end < range.end {
            Some(range.start..after(range.end))
        } else {
            None
        }
    }

    fn apply(&self, mut remark: Diagnostic) -> Option<Diagnostic> {
        // What a run has found is about exactly the text that ran.
        let touches = |range: &Range<usize>| range.start <= self.range.end && self.range.start <= range.end;
        if remark.code.is_of_runs() && (touches(&remark.range) || remark.related.iter().any(|related| touches(&related.range))) {
            return None;
        }
        remark.range = self.moved(&remark.range)?;
        remark.related.retain_mut(|related| self.moved(&related.range).map(|range| related.range = range).is_some());
        remark.fixes.retain_mut(|fix| {
            let moved = |edit: &mut FileEdit| self.moved(&edit.range).map(|range| edit.range = range).is_some();
            fix.edits.iter_mut().all(moved)
        });
        Some(remark)
    }
}

#[cfg(test)]
mod tests {
    use super::Change;

    /// The marked text before and after, `-` where it is not held.
    fn moved(old: &str, marked: &str, new: &str) -> String {
        let start = old.find(marked).expect("it is there");
        let range = Change::between(old, new).moved(&(start..start + marked.len()));
        range.map_or("-".to_owned(), |range| new[range].to_owned())
    }

    #[test]
    fn a_mark_stays_with_its_text() {
        assert_eq!(moved("a = dot(b)\n", "dot(b)", "# é\na = dot(b)\n"), "dot(b)");
        assert_eq!(moved("a = dot(b)\n", "dot(b)", "a = dot(b)\n# after"), "dot(b)");
        assert_eq!(moved("a = dot(b)\n", "dot(b)", "a = dot(b, c)\n"), "dot(b, c)");
        assert_eq!(moved("aa = dot(b)\n", "dot(b)", "a = dot(b)\n"), "dot(b)");
        assert_eq!(moved("é = dot(b)\n", "dot(b)", "è = dot(b)\n"), "dot(b)");
    }

    #[test]
    fn a_mark_goes_with_its_text() {
        assert_eq!(moved("a = dot(b)\nc\n", "dot(b)", "c\n"), "-");
        assert_eq!(moved("a = dot(b)\n", "dot(b)", "a = sum(b)\n"), "-");
        assert_eq!(moved("a = dot(b)\n", "dot(b)", ""), "-");
    }
}
