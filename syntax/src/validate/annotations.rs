//! Expressions that are evaluated later or not at all: annotations, type aliases, bounds of type parameters.

use super::Findings;
use super::scope::scope_of;
use crate::PythonVersion;
use crate::kind::SyntaxKind::*;
use crate::tree::SyntaxNode;

/// `yield`, `await` and `:=` in such a place.
pub(super) fn forbidden(f: &mut Findings, node: &SyntaxNode) {
    let scope = scope_of(node);
    let mut child = node.clone();
    while let Some(parent) = child.parent() {
        if &parent == scope.node() && !matches!(parent.kind(), FUNCTION_DEF | CLASS_DEF) {
            return;
        }
        let place = match parent.kind() {
            TYPE_PARAM => Some("a type parameter"),
            TYPE_ALIAS_STMT => Some("a type alias"),
            PARAM | ANN_ASSIGN_STMT if f.version >= PythonVersion::Py314 && behind(&parent, &child, COLON, EQ) => {
                Some("an annotation")
            }
            FUNCTION_DEF if f.version >= PythonVersion::Py314 && behind(&parent, &child, THIN_ARROW, COLON) => {
                Some("an annotation")
            }
            CLASS_DEF if child.kind() == ARG_LIST && parent.children().any(|node| node.kind() == TYPE_PARAMS) => {
                Some("the bases of a generic class")
            }
            BLOCK => return,
            _ => None,
        };
        if let Some(place) = place {
            let word = match node.kind() {
                YIELD_EXPR => "yield",
                AWAIT_EXPR => "await",
                _ => ":=",
            };
            return f.report(node.text_range(), format!("`{word}` cannot stand in {place}"));
        }
        child = parent;
    }
}

/// Whether `child` stands behind the token `after` and before the token `until`, if there is one.
fn behind(parent: &SyntaxNode, child: &SyntaxNode, after: crate::SyntaxKind, until: crate::SyntaxKind) -> bool {
    let mut elements = parent.children_with_tokens().skip_while(|element| element.kind() != after).skip(1);
    elements.by_ref().take_while(|element| element.kind() != until).any(|element| element.as_node() == Some(child))
}
