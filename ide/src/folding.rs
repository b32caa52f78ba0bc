// Feature: Folding and selection
//
//! Blocks, brackets, comments and imports that fold; and the row of ever larger pieces of syntax around a place.

use std::{ops::Range, path::Path};

use tritium_semantics::items;
use tritium_syntax::{NodeOrToken, SyntaxKind::*, SyntaxNode, TextSize};

use crate::Analysis;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FoldKind {
    Code,
    Comment,
    Imports,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fold {
    pub range: Range<usize>,
    pub kind: FoldKind,
}

impl Analysis {
    /// In the order of the text; each is longer than a line.
    pub fn folds(&self, path: &Path) -> Vec<Fold> {
        let (db, Some(file)) = (self.db(), self.file(path)) else { return Vec::new() };
        let text = file.text(db);
        let mut out = Vec::new();
        // Rows of comments and of imports go on from one statement to the next.
        let mut comments: Option<Range<usize>> = None;
        let mut imports: Option<Range<usize>> = None;
        let mut keep = |run: &mut Option<Range<usize>>, kind| {
            if let Some(range) = run.take() {
                out.push(Fold { range, kind });
            }
        };
        let mut blocks = Vec::new();
        for (start, chunk) in items::chunks(db, file) {
            for element in items::chunk_tree(db, *chunk).syntax().descendants_with_tokens() {
                let range = items::in_file(*start, element.text_range());
                match element {
                    NodeOrToken::Token(token) if token.kind() == COMMENT => {
                        let own_line = text[..range.start].rsplit(['\n', '\r']).next().is_some_and(|line| line.trim().is_empty());
                        let goes_on = |run: &Range<usize>| text.get(run.end..range.start).is_some_and(|t| t.trim().is_empty());
                        match &mut comments {
                            Some(run) if own_line && goes_on(run) => run.end = range.end,
                            run => {
                                keep(run, FoldKind::Comment);
                                *run = own_line.then_some(range);
                            }
                        }
                    }
                    NodeOrToken::Token(_) => {}
                    NodeOrToken::Node(node) => match node.kind() {
                        IMPORT_STMT | IMPORT_FROM_STMT => {
                            let goes_on =
                                |run: &Range<usize>| text.get(run.end..range.start).is_some_and(|t| t.trim().is_empty());
                            match &mut imports {
                                Some(run) if goes_on(run) => run.end = range.end,
                                run => {
                                    keep(run, FoldKind::Imports);
                                    *run = Some(range);
                                }
                            }
                        }
                        FUNCTION_DEF | CLASS_DEF | IF_STMT | ELIF_CLAUSE | ELSE_CLAUSE | FOR_STMT | WHILE_STMT | WITH_STMT
                        | TRY_STMT | EXCEPT_CLAUSE | FINALLY_CLAUSE | MATCH_STMT | CASE_CLAUSE => {
                            blocks.extend(block_of(&node, *start))
                        }
                        ARG_LIST | PARAM_LIST | TUPLE_EXPR | LIST_EXPR | SET_EXPR | DICT_EXPR | LIST_COMP | STRING_EXPR => {
                            blocks.push(range);
                        }
                        _ => {}
                    },
                }
            }
        }
        keep(&mut comments, FoldKind::Comment);
        keep(&mut imports, FoldKind::Imports);
        out.extend(blocks.into_iter().map(|range| Fold { range, kind: FoldKind::Code }));
        for fold in &mut out {
            fold.range.end = fold.range.start + text[fold.range.clone()].trim_end().len();
        }
        out.retain(|fold| text[fold.range.clone()].contains(['\n', '\r']));
        out.sort_by_key(|fold| (fold.range.start, std::cmp::Reverse(fold.range.end)));
        out.dedup();
        out
    }

    /// The pieces of syntax around an offset, the smallest first.
    pub fn selections(&self, path: &Path, offset: usize) -> Vec<Range<usize>> {
        let (db, Some(file)) = (self.db(), self.file(path)) else { return Vec::new() };
        let mut out: Vec<Range<usize>> = Vec::new();
        let chunks = items::chunks(db, file);
        let found = chunks.iter().rev().find(|(start, _)| *start as usize <= offset);
        if let Some((start, chunk)) = found {
            let tree = items::chunk_tree(db, *chunk).syntax();
            let at = TextSize::try_from(offset - *start as usize).unwrap_or_default();
            if at <= tree.text_range().end() {
                let tokens = tree.token_at_offset(at);
                // Between two, the word rather than what separates it.
                let token = tokens.max_by_key(|t| match t.kind() {
                    WHITESPACE | NEWLINE => 0,
                    COMMENT => 1,
                    IDENT | STRING => 3,
                    _ => 2,
                });
                if let Some(token) = token {
                    out.push(items::in_file(*start, token.text_range()));
                    out.extend(token.parent_ancestors().map(|node| items::in_file(*start, node.text_range())));
                }
            }
        }
        let text = file.text(db);
        for range in &mut out {
            range.end = range.start + text.get(range.clone()).map_or(0, |t| t.trim_end().len());
        }
        out.push(0..text.len());
        out.retain(|range| range.start <= offset && offset <= range.end);
        out.dedup();
        // Each holds the one before.
        out.dedup_by(|next, before| next.start > before.start || next.end < before.end);
        out
    }
}

/// From the line that opens a block to its end.
fn block_of(node: &SyntaxNode, start: u32) -> Option<Range<usize>> {
    let block = node.children().find(|c| c.kind() == BLOCK || c.kind() == CASE_CLAUSE)?;
    // Decorators stay in sight.
    let head = node.children_with_tokens().find(|e| !matches!(e.kind(), DECORATOR | WHITESPACE | NEWLINE | COMMENT))?;
    let range = tritium_syntax::TextRange::new(head.text_range().start(), block.text_range().end());
    let range = if node.kind() == MATCH_STMT { node.text_range() } else { range };
    Some(items::in_file(start, range))
}
