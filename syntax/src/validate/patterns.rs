//! The patterns of `match`, which the grammar reads as expressions.

use std::collections::{BTreeSet, HashSet};

use super::Findings;
use crate::ast::{Arg, AstNode, Expr, Literal, MatchStmt};
use crate::kind::SyntaxKind::{self, *};
use crate::tree::{SyntaxNode, TextRange};

/// Every pattern of a `match`: shape, names bound twice, and cases that can never be reached.
pub(super) fn cases(f: &mut Findings, node: &SyntaxNode) {
    let Some(statement) = MatchStmt::cast(node.clone()) else { return };
    let cases: Vec<_> = statement.case_clauses().collect();
    for (index, case) in cases.iter().enumerate() {
        let Some(root) = case.pattern() else { continue };
        let mut names = Names::default();
        let takes_all = pattern(f, root.syntax(), &mut names);
        if takes_all && case.guard().is_none() && index + 1 < cases.len() {
            f.report(root.range(), "this pattern takes everything, so that the cases below are never reached");
        }
    }
}

/// The names that a pattern binds.
#[derive(Default)]
struct Names(BTreeSet<String>);

impl Names {
    fn bind(&mut self, f: &mut Findings, range: TextRange, name: String) {
        if self.0.contains(&name) {
            f.report(range, format!("this pattern binds `{name}` twice"));
        }
        self.0.insert(name);
    }
}

/// Checks one pattern; whether it takes every value.
fn pattern(f: &mut Findings, node: &SyntaxNode, names: &mut Names) -> bool {
    match node.kind() {
        PATTERN => named(f, node, names),
        NAME_EXPR => {
            let name = node.text().to_string();
            if name != "_" {
                names.bind(f, node.text_range(), name);
            }
            true
        }
        PAREN_EXPR => node.first_child().is_some_and(|inner| pattern(f, &inner, names)),
        BINARY_EXPR if operator(node) == Some(PIPE) => alternatives(f, node, names),
        TUPLE_EXPR | LIST_EXPR => {
            sequence(f, node, names);
            false
        }
        DICT_EXPR => {
            mapping(f, node, names);
            false
        }
        CALL_EXPR => {
            class(f, node, names);
            false
        }
        _ => {
            if !is_value(node) {
                f.report(node.text_range(), "a pattern holds names, constants and attributes; compute other values in the guard");
            }
            false
        }
    }
}

/// A whole pattern, or one with `as`.
fn named(f: &mut Findings, node: &SyntaxNode, names: &mut Names) -> bool {
    let mut children = node.children();
    let Some(inner) = children.next() else { return false };
    let takes_all = pattern(f, &inner, names);
    let Some(name) = children.next().filter(|child| child.kind() == NAME) else { return takes_all };
    let text = name.text().to_string();
    if text == "_" {
        f.report(name.text_range(), "`_` binds nothing and cannot follow `as`");
    } else {
        names.bind(f, name.text_range(), text);
    }
    takes_all
}

fn alternatives(f: &mut Findings, node: &SyntaxNode, names: &mut Names) -> bool {
    let mut parts = Vec::new();
    let mut at = node.clone();
    while at.kind() == BINARY_EXPR && operator(&at) == Some(PIPE) {
        parts.extend(at.last_child());
        let Some(left) = at.first_child() else { break };
        at = left;
    }
    parts.push(at);
    parts.reverse();
    let mut first: Option<BTreeSet<String>> = None;
    let mut takes_all = false;
    for part in &parts {
        if takes_all {
            f.report(part.text_range(), "the alternative before takes everything, so that this one is never reached");
        }
        let mut own = Names::default();
        takes_all = pattern(f, part, &mut own);
        let bound = own.0;
        match &first {
            Some(first) if *first != bound => {
                f.report(part.text_range(), "the alternatives of a pattern must bind the same names")
            }
            Some(_) => {}
            None => first = Some(bound),
        }
    }
    for name in first.into_iter().flatten() {
        names.bind(f, node.text_range(), name);
    }
    takes_all
}

fn sequence(f: &mut Findings, node: &SyntaxNode, names: &mut Names) {
    let mut stars = 0;
    for element in node.children() {
        if element.kind() != STARRED_EXPR {
            pattern(f, &element, names);
            continue;
        }
        stars += 1;
        if stars > 1 {
            f.report(element.text_range(), "only one `*` can stand in a pattern of a sequence");
        }
        match element.first_child() {
            Some(name) if name.kind() == NAME_EXPR => {
                pattern(f, &name, names);
            }
            _ => f.report(element.text_range(), "only a name can follow `*` in a pattern"),
        }
    }
}

fn mapping(f: &mut Findings, node: &SyntaxNode, names: &mut Names) {
    let items: Vec<_> = node.children().collect();
    let mut keys: HashSet<String> = HashSet::new();
    for (index, item) in items.iter().enumerate() {
        let mut parts = item.children();
        let unpacks = item.first_token().is_some_and(|token| token.kind() == STAR2);
        let (Some(key), value) = (parts.next(), parts.next()) else { continue };
        if unpacks {
            match key.kind() {
                NAME_EXPR if key.text() != "_" => names.bind(f, key.text_range(), key.text().to_string()),
                _ => f.report(key.text_range(), "only a name other than `_` can follow `**` in a pattern"),
            }
            if index + 1 < items.len() {
                f.report(item.text_range(), "`**` must be the last in a pattern of a mapping");
            }
            continue;
        }
        if !is_value(&key) {
            f.report(key.text_range(), "a key in a pattern must be a constant or an attribute");
        } else if key.kind() != ATTRIBUTE_EXPR {
            let text = constant(&key);
            if keys.contains(&text) {
                f.report(key.text_range(), format!("this pattern has the key {text} twice"));
            }
            keys.insert(text);
        }
        if let Some(value) = value {
            pattern(f, &value, names);
        }
    }
}

/// A key as its value: equal numbers are one key, however they are written.
fn constant(key: &SyntaxNode) -> String {
    if let Some(Expr::StringExpr(string)) = Expr::cast(key.clone()) {
        return string.value().map_or_else(|| key.text().to_string(), |value| format!("{value:?}"));
    }
    number(key).map_or_else(|| key.text().to_string(), |(real, imaginary)| format!("{real} + {imaginary}j"))
}

/// The value of a number as floats, where it fits; `True` and `False` are numbers too.
fn number(node: &SyntaxNode) -> Option<(f64, f64)> {
    let plain = |(real, imaginary): (f64, f64)| (real + 0.0, imaginary + 0.0);
    match Expr::cast(node.clone())? {
        Expr::LiteralExpr(literal) => match literal.kind()? {
            Literal::True => Some((1.0, 0.0)),
            Literal::False => Some((0.0, 0.0)),
            Literal::Int(_) => {
                let value = literal.int_value()?;
                (value.unsigned_abs() < 1 << 53).then_some((value as f64, 0.0))
            }
            Literal::Float(_) => Some((literal.float_value()?, 0.0)),
            Literal::Imaginary(text) => Some((0.0, text.trim_end_matches(['j', 'J']).replace('_', "").parse().ok()?)),
            Literal::None | Literal::Ellipsis => None,
        },
        Expr::UnaryExpr(_) => number(&node.first_child()?).map(|(real, imaginary)| plain((-real, -imaginary))),
        Expr::BinaryExpr(_) => {
            let (left, right) = (number(&node.first_child()?)?, number(&node.last_child()?)?);
            let sign = if operator(node) == Some(MINUS) { -1.0 } else { 1.0 };
            Some(plain((left.0 + sign * right.0, left.1 + sign * right.1)))
        }
        _ => None,
    }
}

fn class(f: &mut Findings, node: &SyntaxNode, names: &mut Names) {
    let mut parts = node.children();
    let (Some(callee), Some(list)) = (parts.next(), parts.next()) else { return };
    if callee.kind() != NAME_EXPR && !is_dotted(&callee) {
        f.report(callee.text_range(), "a class in a pattern must be a name or an attribute");
    }
    let mut keywords: HashSet<String> = HashSet::new();
    for arg in list.children().filter_map(Arg::cast) {
        let range = arg.range();
        if arg.star_token().is_some() || arg.star2_token().is_some() {
            f.report(range, "`*` and `**` cannot stand in a class pattern");
            continue;
        }
        let inner = arg.syntax().children().find(|child| child.kind() != NAME);
        match arg.name().map(|name| name.text()) {
            Some(name) => {
                if keywords.contains(&name) {
                    f.report(range, format!("this pattern has the attribute `{name}` twice"));
                }
                keywords.insert(name);
            }
            None if !keywords.is_empty() => f.report(range, "a pattern without a name must stand before those with one"),
            None => {}
        }
        if let Some(inner) = inner {
            pattern(f, &inner, names);
        }
    }
}

fn operator(node: &SyntaxNode) -> Option<SyntaxKind> {
    node.children_with_tokens()
        .filter_map(|element| element.into_token())
        .map(|token| token.kind())
        .find(|kind| !matches!(kind, WHITESPACE | COMMENT))
}

fn is_dotted(node: &SyntaxNode) -> bool {
    let mut at = node.clone();
    while at.kind() == ATTRIBUTE_EXPR {
        let Some(receiver) = at.first_child() else { return false };
        if receiver.kind() == NAME_EXPR {
            return true;
        }
        at = receiver;
    }
    false
}

/// A constant or an attribute: what a pattern compares with.
fn is_value(node: &SyntaxNode) -> bool {
    let token = |node: &SyntaxNode| node.first_token().map(|token| token.kind());
    let is_number = |node: &SyntaxNode| {
        node.kind() == LITERAL_EXPR && matches!(token(node), Some(INT_NUMBER | FLOAT_NUMBER | IMAGINARY_NUMBER))
    };
    let is_signed = |node: &SyntaxNode| {
        let negated = node.kind() == UNARY_EXPR && operator(node) == Some(MINUS);
        is_number(node) || (negated && node.first_child().is_some_and(|operand| is_number(&operand)))
    };
    let is_imaginary = |node: &SyntaxNode| node.last_token().is_some_and(|token| token.kind() == IMAGINARY_NUMBER);
    match node.kind() {
        LITERAL_EXPR => token(node) != Some(ELLIPSIS),
        STRING_EXPR => node.children().all(|part| part.kind() == STRING_LITERAL),
        UNARY_EXPR => is_signed(node),
        ATTRIBUTE_EXPR => is_dotted(node),
        BINARY_EXPR => {
            let (Some(left), Some(right)) = (node.first_child(), node.last_child()) else { return false };
            matches!(operator(node), Some(PLUS | MINUS))
                && is_signed(&left)
                && !is_imaginary(&left)
                && is_number(&right)
                && is_imaginary(&right)
        }
        _ => false,
    }
}
