//! Answers of one question about values, kept while it is asked of a value's operands and theirs.
//!
//! **Invariant:** values form a graph, so a question is asked of each once, or again only nearer to its start: never once for every way
//! that leads to it, which are two to the power of the depth.

use std::hash::Hash;

use rustc_hash::FxHashMap;

/// By what is asked about: how deep the question stood, and the answer.
pub(super) struct Memo<K, A>(FxHashMap<K, (usize, A)>);

impl<K, A> Default for Memo<K, A> {
    fn default() -> Memo<K, A> {
        Memo(FxHashMap::default())
    }
}

impl<K: Hash + Eq, A: Copy + PartialEq> Memo<K, A> {
    /// The answer, where it would be the same from here. `none` may only mean that the question stood too deep.
    pub(super) fn get(&self, key: &K, depth: usize, none: A) -> Option<A> {
        self.0.get(key).filter(|(at, answer)| *answer != none || depth >= *at).map(|(_, answer)| *answer)
    }

    pub(super) fn put(&mut self, key: K, depth: usize, answer: A) -> A {
        self.0.insert(key, (depth, answer));
        answer
    }
}
