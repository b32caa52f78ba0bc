//! The arguments of calls and classes.

use std::collections::HashSet;

use super::Findings;
use crate::ast::{ArgList, AstNode, Expr};
use crate::kind::SyntaxKind::*;
use crate::tree::SyntaxNode;

/// Their order, names given twice, and generators without parentheses.
pub(super) fn arguments(f: &mut Findings, node: &SyntaxNode) {
    if node.ancestors().any(|outer| outer.kind() == PATTERN) {
        // A class pattern; patterns have rules of their own.
        return;
    }
    let Some(list) = ArgList::cast(node.clone()) else { return };
    let of_class = node.parent().is_some_and(|parent| parent.kind() == CLASS_DEF);
    let args: Vec<_> = list.args().collect();
    let commas = node.children_with_tokens().filter(|element| element.kind() == COMMA).count();
    let (mut named, mut unpacked) = (false, false);
    let mut names: HashSet<String> = HashSet::new();
    for arg in &args {
        let range = arg.range();
        if arg.star2_token().is_some() {
            unpacked = true;
        } else if arg.star_token().is_some() {
            if unpacked {
                f.report(range, "`*` arguments must stand before `**` arguments");
            }
        } else if let Some(name) = arg.name() {
            named = true;
            let name = name.text();
            if names.contains(&name) {
                f.report(range, format!("the argument `{name}` is given twice"));
            }
            names.insert(name);
        } else {
            if unpacked {
                f.report(range, "an argument without a name must stand before `**` arguments");
            } else if named {
                f.report(range, "an argument without a name must stand before those with one");
            }
            let bare = matches!(arg.value(), Some(Expr::GeneratorExpr(generator)) if generator.l_paren_token().is_none());
            if bare && (of_class || args.len() > 1 || commas > 0) {
                f.report(range, "a generator expression needs parentheses unless it is the only argument");
            }
        }
    }
}
