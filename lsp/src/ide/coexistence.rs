// Feature: Coexistence
//
//! Which features are on beside a Python server, and which only where there is none (`tritium.python = "none"`).
//!
//! **Invariant:** every feature has a row here; what is off answers nothing and is not offered.

use crate::ide::Options;

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
    /// Of strings that name parameters, and of shapes.
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
