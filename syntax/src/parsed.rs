//! What parsing gives: a tree and its problems.

use std::sync::Arc;

use crate::{
    ast,
    tree::{Green, SyntaxNode, TextRange},
};

/// A place where the text is not Python, with one sentence about it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SyntaxError {
    pub message: String,
    pub range: TextRange,
}

/// A tree and its problems. Comparable and cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parse {
    green: Green,
    pub(crate) errors: Arc<[SyntaxError]>,
}

impl Parse {
    pub(crate) fn new(green: Green, errors: Vec<SyntaxError>) -> Parse {
        Parse { green, errors: errors.into() }
    }

    /// The root of the tree; its kind is `MODULE`.
    pub fn syntax(&self) -> SyntaxNode {
        self.green.syntax()
    }

    /// The typed root.
    pub fn tree(&self) -> ast::Module {
        ast::Module { syntax: self.syntax() }
    }

    /// In text order.
    pub fn errors(&self) -> &[SyntaxError] {
        &self.errors
    }

    pub fn green(&self) -> &Green {
        &self.green
    }
}
