//! Pointers to nodes that outlive a tree.
//!
//! **A pointer is a kind and a range; it finds its node in any tree of the same text** and nothing in other trees.

use std::hash::{Hash, Hasher};
use std::marker::PhantomData;

use super::AstNode;
use crate::kind::SyntaxKind;
use crate::tree::{SyntaxNode, TextRange};

/// A pointer to a node of any kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SyntaxNodePtr {
    kind: SyntaxKind,
    start: u32,
    end: u32,
}

impl SyntaxNodePtr {
    pub fn new(node: &SyntaxNode) -> SyntaxNodePtr {
        let range = node.text_range();
        SyntaxNodePtr { kind: node.kind(), start: range.start().into(), end: range.end().into() }
    }

    pub fn kind(&self) -> SyntaxKind {
        self.kind
    }

    pub fn range(&self) -> TextRange {
        TextRange::new(self.start.into(), self.end.into())
    }

    /// The outermost node of this kind and range.
    pub fn to_node(&self, root: &SyntaxNode) -> Option<SyntaxNode> {
        let range = self.range();
        let mut node = root.clone();
        loop {
            if node.text_range() == range && node.kind() == self.kind {
                return Some(node);
            }
            if !node.text_range().contains_range(range) {
                return None;
            }
            node = node.child_or_token_at_range(range)?.into_node()?;
        }
    }
}

/// A pointer to a node of one type.
pub struct AstPtr<N> {
    ptr: SyntaxNodePtr,
    node: PhantomData<fn() -> N>,
}

impl<N: AstNode> AstPtr<N> {
    pub fn new(node: &N) -> AstPtr<N> {
        AstPtr { ptr: SyntaxNodePtr::new(node.syntax()), node: PhantomData }
    }

    pub fn range(&self) -> TextRange {
        self.ptr.range()
    }

    pub fn untyped(&self) -> SyntaxNodePtr {
        self.ptr
    }

    pub fn to_node(&self, root: &SyntaxNode) -> Option<N> {
        self.ptr.to_node(root).and_then(N::cast)
    }
}

impl<N> Clone for AstPtr<N> {
    fn clone(&self) -> AstPtr<N> {
        *self
    }
}

impl<N> Copy for AstPtr<N> {}

impl<N> std::fmt::Debug for AstPtr<N> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.ptr.fmt(f)
    }
}

impl<N> PartialEq for AstPtr<N> {
    fn eq(&self, other: &AstPtr<N>) -> bool {
        self.ptr == other.ptr
    }
}

impl<N> Eq for AstPtr<N> {}

impl<N> Hash for AstPtr<N> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.ptr.hash(state);
    }
}
