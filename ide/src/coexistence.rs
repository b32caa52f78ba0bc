// Feature: Coexistence
//
//! Which features are on beside a Python server, and which only where there is none (`tritium.python = "none"`).
//!
//! **Invariant:** every feature has a row here; what is off answers nothing and is not offered.

use std::path::Path;

use tritium_semantics::{diagnostics::Code, python_names};

use crate::{Analysis, Diagnostic, Options};

/// Who else answers for Python.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Python {
    /// A Python language server runs beside this one.
    #[default]
    Served,
    /// Nobody: this server answers what one would.
    None,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Feature {
    Diagnostics,
    Hover,
    InlayHints,
    CodeLens,
    CodeActions,
    SemanticTokens,
    SignatureHelp,
    /// What only Triton's meaning can offer.
    Completion,
    /// Definitions of strings that name parameters, and of shapes.
    ShapeDefinition,
    /// Names in scope and members of modules.
    GenericCompletion,
    GenericDefinition,
    References,
    Highlight,
    Rename,
    DocumentSymbols,
    WorkspaceSymbols,
    CallHierarchy,
    Folding,
    Selection,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum On {
    Always,
    WithoutPython,
}

#[rustfmt::skip]
const TABLE: &[(Feature, On)] = &[
    (Feature::Diagnostics,       On::Always),
    (Feature::Hover,             On::Always),
    (Feature::InlayHints,        On::Always),
    (Feature::CodeLens,          On::Always),
    (Feature::CodeActions,       On::Always),
    (Feature::SemanticTokens,    On::Always),
    (Feature::SignatureHelp,     On::Always),
    (Feature::Completion,        On::Always),
    (Feature::ShapeDefinition,   On::Always),
    (Feature::GenericCompletion, On::WithoutPython),
    (Feature::GenericDefinition, On::WithoutPython),
    (Feature::References,        On::WithoutPython),
    (Feature::Highlight,         On::WithoutPython),
    (Feature::Rename,            On::WithoutPython),
    (Feature::DocumentSymbols,   On::WithoutPython),
    (Feature::WorkspaceSymbols,  On::WithoutPython),
    (Feature::CallHierarchy,     On::WithoutPython),
    (Feature::Folding,           On::WithoutPython),
    (Feature::Selection,         On::WithoutPython),
];

impl Options {
    pub fn offers(&self, feature: Feature) -> bool {
        let on = TABLE.iter().find(|(f, _)| *f == feature).map(|(_, on)| *on);
        on == Some(On::Always) || self.python == Python::None && on.is_some()
    }
}

impl Analysis {
    /// What is wrong in a file and not told by a Python server too: one marks every mistake of syntax and every name that nothing defines,
    /// in the same places.
    pub fn diagnostics_to_show(&self, path: &Path) -> Vec<Diagnostic> {
        self.to_show(path, self.diagnostics(path))
    }

    /// Those of some diagnostics of a file.
    pub fn to_show(&self, path: &Path, mut found: Vec<Diagnostic>) -> Vec<Diagnostic> {
        if self.options().python == Python::Served {
            let text = self.text(path).unwrap_or_default();
            found.retain(|d| !is_told_by_python(d, text.get(d.range.clone()).unwrap_or_default()));
        }
        found
    }
}

fn is_told_by_python(diagnostic: &Diagnostic, place: &str) -> bool {
    let is_name = !place.is_empty() && place.chars().all(|c| c == '_' || c.is_alphanumeric());
    // Python knows its own names; that kernels cannot use them, only this server does.
    let is_undefined = diagnostic.code == Code::LNG018.as_str() && is_name && !python_names::is_known(place);
    is_undefined || diagnostic.code == Code::SYN001.as_str()
}
