//! Which scope a piece of code runs in.
//!
//! **Headers run outside**: decorators, defaults, annotations and bases belong to the scope around their definition, and the
//! first iterable of a comprehension to the scope around it.

use crate::ast::{AstNode, ForStmt, FunctionDef};
use crate::kind::SyntaxKind::*;
use crate::tree::SyntaxNode;

/// A node that opens a scope.
#[derive(Clone, Debug)]
pub(super) enum Scope {
    Module(SyntaxNode),
    Class(SyntaxNode),
    Function(FunctionDef),
    Lambda(SyntaxNode),
    /// A comprehension or generator expression.
    Comprehension(SyntaxNode),
}

impl Scope {
    pub(super) fn node(&self) -> &SyntaxNode {
        match self {
            Scope::Module(node) | Scope::Class(node) | Scope::Lambda(node) | Scope::Comprehension(node) => node,
            Scope::Function(function) => function.syntax(),
        }
    }
}

/// The scope that the node runs in.
pub(super) fn scope_of(node: &SyntaxNode) -> Scope {
    let mut child = node.clone();
    while let Some(parent) = child.parent() {
        match parent.kind() {
            FUNCTION_DEF if child.kind() == BLOCK => {
                if let Some(function) = FunctionDef::cast(parent.clone()) {
                    return Scope::Function(function);
                }
            }
            CLASS_DEF if child.kind() == BLOCK => return Scope::Class(parent),
            LAMBDA_EXPR if child.kind() != LAMBDA_PARAMS => return Scope::Lambda(parent),
            LIST_COMP | SET_COMP | DICT_COMP | GENERATOR_EXPR => {
                let first = parent.children().find(|node| node.kind() == COMP_FOR);
                let from_first_iterable = first.as_ref() == Some(&child) && in_iterable(&child, node);
                if !from_first_iterable {
                    return Scope::Comprehension(parent);
                }
            }
            _ => {}
        }
        child = parent;
    }
    Scope::Module(child)
}

/// Whether a node lies behind the `in` of a `for` clause.
pub(super) fn in_iterable(clause: &SyntaxNode, node: &SyntaxNode) -> bool {
    let behind = clause.children_with_tokens().find(|element| element.kind() == IN_KW);
    behind.is_some_and(|word| node.text_range().start() >= word.text_range().end())
}

/// The nearest function, past comprehensions but not past lambdas and classes.
pub(super) fn function_of(node: &SyntaxNode) -> Option<FunctionDef> {
    let mut at = node.clone();
    loop {
        match scope_of(&at) {
            Scope::Function(function) => return Some(function),
            Scope::Comprehension(comprehension) => at = comprehension,
            Scope::Lambda(_) | Scope::Class(_) | Scope::Module(_) => return None,
        }
    }
}

pub(super) fn is_async(function: &FunctionDef) -> bool {
    function.async_token().is_some()
}

pub(super) fn is_async_for(node: &SyntaxNode) -> bool {
    ForStmt::can_cast(node.kind()) && node.children_with_tokens().any(|element| element.kind() == ASYNC_KW)
}
