//! The lossless tree.
//!
//! **The only file that names rowan**, and the only place where text enters a tree: what is pushed is what comes out.

use rowan::{GreenNode, GreenNodeBuilder};

pub use rowan::{Direction, NodeOrToken, TextRange, TextSize, TokenAtOffset, WalkEvent};

pub use crate::kind::SyntaxKind;

/// The language tag of the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Python {}

impl rowan::Language for Python {
    type Kind = SyntaxKind;

    fn kind_from_raw(raw: rowan::SyntaxKind) -> SyntaxKind {
        SyntaxKind::ALL[raw.0 as usize]
    }

    fn kind_to_raw(kind: SyntaxKind) -> rowan::SyntaxKind {
        rowan::SyntaxKind(kind as u16)
    }
}

pub type SyntaxNode = rowan::SyntaxNode<Python>;
pub type SyntaxToken = rowan::SyntaxToken<Python>;
pub type SyntaxElement = rowan::SyntaxElement<Python>;
pub type SyntaxNodeChildren = rowan::SyntaxNodeChildren<Python>;

fn raw(kind: SyntaxKind) -> rowan::SyntaxKind {
    rowan::SyntaxKind(kind as u16)
}

/// A tree without positions or parents: shared, immutable, comparable by content and movable between threads.
#[derive(Clone, Debug)]
pub struct Green(GreenNode);

impl Green {
    /// A tree that can be walked.
    pub fn syntax(&self) -> SyntaxNode {
        SyntaxNode::new_root(self.0.clone())
    }

    pub fn text_len(&self) -> TextSize {
        self.0.text_len()
    }

    /// One node of this kind that owns the children of all the trees, in order.
    pub(crate) fn concatenate<'a>(kind: SyntaxKind, trees: impl IntoIterator<Item = &'a Green>) -> Green {
        let children: Vec<_> = trees.into_iter().flat_map(|tree| tree.0.children().map(|child| child.to_owned())).collect();
        Green(GreenNode::new(raw(kind), children))
    }
}

impl PartialEq for Green {
    fn eq(&self, other: &Green) -> bool {
        // Memoised trees are mostly the very same tree.
        std::ptr::eq::<rowan::GreenNodeData>(&*self.0, &*other.0) || self.0 == other.0
    }
}

impl Eq for Green {}

impl std::hash::Hash for Green {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

/// A place among finished siblings where a node may yet be opened around them.
#[derive(Clone, Copy)]
pub(crate) struct Checkpoint {
    rowan: rowan::Checkpoint,
    heights: usize,
}

/// Builds a tree in text order and knows how high it has grown.
pub(crate) struct TreeBuilder {
    rowan: GreenNodeBuilder<'static>,
    /// Heights of the finished nodes that wait for their parent.
    heights: Vec<u32>,
    /// Where the children of each open node begin in `heights`.
    open: Vec<usize>,
}

impl TreeBuilder {
    pub(crate) fn new() -> TreeBuilder {
        TreeBuilder { rowan: GreenNodeBuilder::new(), heights: Vec::new(), open: Vec::new() }
    }

    pub(crate) fn token(&mut self, kind: SyntaxKind, text: &str) {
        self.rowan.token(raw(kind), text);
    }

    pub(crate) fn start(&mut self, kind: SyntaxKind) {
        self.rowan.start_node(raw(kind));
        self.open.push(self.heights.len());
    }

    pub(crate) fn checkpoint(&self) -> Checkpoint {
        Checkpoint { rowan: self.rowan.checkpoint(), heights: self.heights.len() }
    }

    pub(crate) fn start_at(&mut self, checkpoint: Checkpoint, kind: SyntaxKind) {
        self.rowan.start_node_at(checkpoint.rowan, raw(kind));
        self.open.push(checkpoint.heights);
    }

    pub(crate) fn finish(&mut self) {
        self.rowan.finish_node();
        if let Some(first) = self.open.pop() {
            let height = self.heights.drain(first..).max().unwrap_or(0) + 1;
            self.heights.push(height);
        }
    }

    /// Height of what was finished since the checkpoint.
    pub(crate) fn height_since(&self, checkpoint: Checkpoint) -> u32 {
        self.heights[checkpoint.heights..].iter().copied().max().unwrap_or(0)
    }

    pub(crate) fn build(self) -> Green {
        Green(self.rowan.finish())
    }
}
