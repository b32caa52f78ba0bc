//! The parameters of functions and lambdas, and type parameters.

use std::collections::HashSet;

use super::Findings;
use crate::ast::{AstNode, Param, TypeParam, TypeParams};
use crate::tree::SyntaxNode;

/// Their order, the marks `/` and `*`, defaults, and names given twice.
pub(super) fn parameters(f: &mut Findings, node: &SyntaxNode) {
    let params: Vec<Param> = node.children().filter_map(Param::cast).collect();
    let mut names: HashSet<String> = HashSet::new();
    let (mut slash, mut star, mut bare_star, mut star2, mut defaulted) = (false, false, false, false, false);
    for (index, param) in params.iter().enumerate() {
        let range = param.range();
        let name = param.name().map(|name| name.text());
        let extra = param.default().is_some() || param.annotation().is_some();
        if star2 {
            f.report(range, "nothing may follow the `**` parameter");
        }
        if param.slash_token().is_some() {
            match () {
                () if index == 0 => f.report(range, "a parameter must stand before `/`"),
                () if slash => f.report(range, "`/` may stand only once"),
                () if star => f.report(range, "`/` must stand before `*`"),
                () if extra => f.report(range, "`/` is no parameter: it takes no annotation and no default"),
                () => {}
            }
            slash = true;
        } else if param.star2_token().is_some() {
            if bare_star && !star2 {
                f.report(range, "a parameter with a name must stand between `*` and this");
            }
            if param.default().is_some() {
                f.report(range, "the `**` parameter cannot have a default");
            }
            (star2, bare_star) = (true, false);
        } else if param.star_token().is_some() {
            match () {
                () if star => f.report(range, "`*` may stand only once"),
                () if param.default().is_some() => f.report(range, "the `*` parameter cannot have a default"),
                () if name.is_none() && extra => f.report(range, "a lone `*` is no parameter: it takes no annotation"),
                () => {}
            }
            (star, bare_star) = (true, name.is_none());
        } else {
            bare_star = false;
            if param.default().is_some() {
                defaulted = true;
            } else if defaulted && !star {
                f.report(range, "a parameter without a default cannot follow one that has a default");
            }
        }
        if let Some(name) = name {
            if names.contains(&name) {
                f.report(range, format!("there are two parameters `{name}`"));
            }
            names.insert(name);
        }
    }
    if let (true, Some(last)) = (bare_star, params.last()) {
        f.report(last.range(), "a parameter with a name must follow `*`");
    }
}

/// Names given twice, and the order of defaults.
pub(super) fn type_parameters(f: &mut Findings, node: &SyntaxNode) {
    let Some(list) = TypeParams::cast(node.clone()) else { return };
    let mut names: HashSet<String> = HashSet::new();
    let mut defaulted = false;
    for param in list.syntax().children().filter_map(TypeParam::cast) {
        let Some(name) = param.name().map(|name| name.text()) else { continue };
        if names.contains(&name) {
            f.report(param.range(), format!("there are two type parameters `{name}`"));
        }
        if param.default().is_some() {
            defaulted = true;
        } else if defaulted {
            f.report(param.range(), format!("the type parameter `{name}` needs a default, as one before it has one"));
        }
        names.insert(name);
    }
}
