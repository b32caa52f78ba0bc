//! Names and the scopes that they belong to: `global`, `nonlocal`, `import *`, and `:=` in comprehensions.

use std::collections::HashMap;
use std::rc::Rc;

use super::Findings;
use super::scope::{Scope, in_iterable, scope_of};
use super::targets::is_target;
use crate::ast::{AstNode, FunctionDef, GlobalStmt, NonlocalStmt};
use crate::kind::SyntaxKind::*;
use crate::tree::{SyntaxNode, TextRange, TextSize, WalkEvent};

/// `from x import *` inside a function or class.
pub(super) fn star_import(f: &mut Findings, node: &SyntaxNode) {
    let Some(star) = node.children_with_tokens().find(|element| element.kind() == STAR) else { return };
    if !matches!(scope_of(node), Scope::Module(_)) {
        f.report(star.text_range(), "`import *` can stand only outside functions and classes");
    }
}

/// `:=` that would rebind a loop variable of its comprehension, or that stands where a comprehension takes none.
pub(super) fn named_in_comprehension(f: &mut Findings, node: &SyntaxNode) {
    let Some(target) = node.children().find(|child| child.kind() == NAME) else { return };
    let name = target.text().to_string();
    let mut in_comprehension = false;
    let mut child = node.clone();
    while let Some(parent) = child.parent() {
        match parent.kind() {
            LIST_COMP | SET_COMP | DICT_COMP | GENERATOR_EXPR => {
                if child.kind() == COMP_FOR && in_iterable(&child, node) {
                    return f.report(node.text_range(), "`:=` cannot stand in the iterable of a comprehension");
                }
                in_comprehension = true;
                if loop_variables(&parent).contains(&name) {
                    let message = format!("`:=` cannot rebind `{name}`, a loop variable of this comprehension");
                    return f.report(target.text_range(), message);
                }
            }
            // What a lambda binds is its own, but in an iterable it still may not bind.
            LAMBDA_EXPR if child.kind() != LAMBDA_PARAMS => {
                in_comprehension = false;
                if !inside_iterable(&parent) {
                    return;
                }
            }
            BLOCK => {
                let in_class = parent.parent().is_some_and(|outer| outer.kind() == CLASS_DEF);
                let nearest = in_comprehension && matches!(scope_past_comprehensions(node), Scope::Class(_));
                if in_class && nearest {
                    f.report(node.text_range(), "`:=` in a comprehension cannot bind a name of a class");
                }
                return;
            }
            _ => {}
        }
        child = parent;
    }
}

fn inside_iterable(node: &SyntaxNode) -> bool {
    node.ancestors().take_while(|outer| outer.kind() != BLOCK).any(|outer| outer.kind() == COMP_FOR && in_iterable(&outer, node))
}

fn scope_past_comprehensions(node: &SyntaxNode) -> Scope {
    let mut scope = scope_of(node);
    while let Scope::Comprehension(comprehension) = &scope {
        scope = scope_of(comprehension);
    }
    scope
}

fn loop_variables(comprehension: &SyntaxNode) -> Vec<String> {
    let clauses = comprehension.children().filter(|child| child.kind() == COMP_FOR);
    let targets = clauses.filter_map(|clause| clause.first_child());
    let names = targets.flat_map(|target| target.descendants().filter(|node| node.kind() == NAME_EXPR));
    names.filter(is_target).map(|name| name.text().to_string()).collect()
}

/// How a scope mentions a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mention {
    Use,
    Bind,
    Parameter,
    Annotation,
    Global,
    Nonlocal,
}

/// The names that a scope mentions, each with the first place of every way.
pub(super) type Mentions = HashMap<String, Vec<(Mention, TextRange)>>;

fn first_of(mentions: &Mentions, name: &str, mention: Mention) -> Option<TextRange> {
    mentions.get(name)?.iter().find(|(other, _)| *other == mention).map(|(_, range)| *range)
}

fn mentions(f: &mut Findings, scope: &SyntaxNode) -> Rc<Mentions> {
    f.mentions.entry(scope.clone()).or_insert_with(|| Rc::new(mentions_of(scope))).clone()
}

/// Every name that a scope mentions itself, in text order; scopes inside it have their own.
fn mentions_of(scope: &SyntaxNode) -> Mentions {
    let mut out = Mentions::new();
    let own_function = FunctionDef::can_cast(scope.kind());
    let mut walk = scope.preorder();
    while let Some(event) = walk.next() {
        let WalkEvent::Enter(node) = event else { continue };
        if node == *scope {
            continue;
        }
        let parent = node.parent();
        let parent_kind = parent.as_ref().map_or(MODULE, |parent| parent.kind());
        let of_scope = parent.as_ref() == Some(scope);
        let is_definition = matches!(parent_kind, FUNCTION_DEF | CLASS_DEF);
        if of_scope && is_definition {
            // Of the scope's own definition, only the body and the names of the parameters are inside.
            match node.kind() {
                BLOCK => continue,
                PARAM_LIST if own_function => {
                    for param in node.children().filter_map(|param| param.children().find(|child| child.kind() == NAME)) {
                        push(&mut out, &param, Mention::Parameter);
                    }
                }
                TYPE_PARAMS if own_function => {}
                _ => {}
            }
            walk.skip_subtree();
            continue;
        }
        match node.kind() {
            BLOCK if is_definition => walk.skip_subtree(),
            LIST_COMP | SET_COMP | DICT_COMP | GENERATOR_EXPR => {
                // Its first iterable runs here, and `:=` in it binds here.
                for inner in node.descendants() {
                    let here = || scope_past_comprehensions(&inner).node() == scope;
                    if inner.kind() == NAMED_EXPR && here() {
                        if let Some(name) = inner.children().find(|child| child.kind() == NAME) {
                            push(&mut out, &name, Mention::Bind);
                        }
                    } else if inner.kind() == NAME_EXPR && scope_of(&inner).node() == scope {
                        push(&mut out, &inner, Mention::Use);
                    }
                }
                walk.skip_subtree();
            }
            LAMBDA_EXPR => {
                for inner in node.descendants().filter(|inner| inner.kind() == NAME_EXPR) {
                    if scope_of(&inner).node() == scope {
                        push(&mut out, &inner, Mention::Use);
                    }
                }
                walk.skip_subtree();
            }
            NAME_EXPR => {
                let annotated = parent
                    .as_ref()
                    .is_some_and(|parent| parent.kind() == ANN_ASSIGN_STMT && parent.first_child().as_ref() == Some(&node));
                let in_pattern = node.ancestors().take_while(|outer| outer.kind() != BLOCK).any(|outer| outer.kind() == PATTERN);
                let mention = match () {
                    () if annotated => Mention::Annotation,
                    () if in_pattern || is_target(&node) => Mention::Bind,
                    () => Mention::Use,
                };
                push(&mut out, &node, mention);
            }
            NAME => match parent_kind {
                FUNCTION_DEF | CLASS_DEF | EXCEPT_CLAUSE | NAMED_EXPR | PATTERN | TYPE_ALIAS_STMT => {
                    push(&mut out, &node, Mention::Bind);
                }
                IMPORT_ALIAS => push(&mut out, &node, Mention::Bind),
                DOTTED_NAME => {
                    let alias = parent.as_ref().and_then(|path| path.parent()).filter(|alias| alias.kind() == IMPORT_ALIAS);
                    let first = parent.as_ref().and_then(|path| path.first_child()).as_ref() == Some(&node);
                    let renamed = alias.as_ref().is_some_and(|alias| alias.children().any(|child| child.kind() == NAME));
                    if alias.is_some() && first && !renamed {
                        push(&mut out, &node, Mention::Bind);
                    }
                }
                GLOBAL_STMT => push(&mut out, &node, Mention::Global),
                NONLOCAL_STMT => push(&mut out, &node, Mention::Nonlocal),
                _ => {}
            },
            _ => {}
        }
    }
    out
}

fn push(out: &mut Mentions, node: &SyntaxNode, mention: Mention) {
    let seen = out.entry(node.text().to_string()).or_default();
    if seen.iter().all(|(other, _)| *other != mention) {
        seen.push((mention, node.text_range()));
    }
}

/// `global x` after `x` was used, or of a parameter.
pub(super) fn global(f: &mut Findings, node: &SyntaxNode) {
    let Some(statement) = GlobalStmt::cast(node.clone()) else { return };
    let names: Vec<_> = statement.names().map(|name| (name.text(), name.range())).collect();
    declared(f, node, "global", &names);
}

/// `nonlocal x` after `x` was used, of a parameter, or of a name that no function around has.
pub(super) fn nonlocal(f: &mut Findings, node: &SyntaxNode) {
    let Some(statement) = NonlocalStmt::cast(node.clone()) else { return };
    let scope = scope_of(node);
    if let Scope::Module(_) = scope {
        return f.report(node.text_range(), "`nonlocal` stands outside a function");
    }
    let names: Vec<_> = statement.names().map(|name| (name.text(), name.range())).collect();
    declared(f, node, "nonlocal", &names);
    for (name, range) in names {
        match binding_around(f, scope.node(), &name) {
            Around::Function => {}
            Around::TypeParameter => {
                f.report(range, format!("`nonlocal` cannot bind the type parameter `{name}`"));
            }
            Around::Nothing => f.report(range, format!("no function around this one binds `{name}`")),
        }
    }
}

enum Around {
    Function,
    TypeParameter,
    Nothing,
}

/// What the nearest function or list of type parameters around a scope says of a name.
fn binding_around(f: &mut Findings, scope: &SyntaxNode, name: &str) -> Around {
    let has_type_param = |definition: &SyntaxNode| {
        let params = definition.children().filter(|child| child.kind() == TYPE_PARAMS);
        let names = params.flat_map(|params| params.descendants().filter(|node| node.kind() == NAME && is_type_param(node)));
        names.into_iter().any(|node| node.text() == name)
    };
    let mut at = scope.clone();
    loop {
        if matches!(at.kind(), FUNCTION_DEF | CLASS_DEF) && has_type_param(&at) {
            return Around::TypeParameter;
        }
        let outer = scope_of(&at);
        match &outer {
            Scope::Module(_) => return Around::Nothing,
            Scope::Class(_) if name == "__class__" => return Around::Function,
            Scope::Class(_) => {}
            Scope::Function(function) => {
                let mentions = mentions(f, function.syntax());
                let has = |mention| first_of(&mentions, name, mention).is_some();
                let (is_global, is_nonlocal) = (has(Mention::Global), has(Mention::Nonlocal));
                let binds = has(Mention::Bind) || has(Mention::Parameter) || has(Mention::Annotation);
                if is_global {
                    return Around::Nothing;
                }
                if binds && !is_nonlocal {
                    return Around::Function;
                }
            }
            Scope::Lambda(_) | Scope::Comprehension(_) => {}
        }
        at = outer.node().clone();
    }
}

fn is_type_param(name: &SyntaxNode) -> bool {
    name.parent().is_some_and(|parent| parent.kind() == TYPE_PARAM)
}

/// What a declaration of names may not follow.
fn declared(f: &mut Findings, node: &SyntaxNode, word: &str, names: &[(String, TextRange)]) {
    let scope = scope_of(node);
    let mentions = mentions(f, scope.node());
    for (name, range) in names {
        let in_module = matches!(scope, Scope::Module(_));
        before(f, &mentions, in_module, node.text_range().start(), word, name, *range);
    }
}

/// The same over the statements of a whole file, which is one scope.
pub(super) fn global_in_file(f: &mut Findings, module: &SyntaxNode) {
    let mentions = mentions(f, module);
    let globals = module.descendants().filter_map(GlobalStmt::cast);
    for statement in globals.filter(|statement| matches!(scope_of(statement.syntax()), Scope::Module(_))) {
        let at = statement.range().start();
        for name in statement.names() {
            before(f, &mentions, true, at, "global", &name.text(), name.range());
        }
    }
}

fn before(f: &mut Findings, mentions: &Mentions, in_module: bool, at: TextSize, word: &str, name: &str, range: TextRange) {
    let earlier = |mention| first_of(mentions, name, mention).is_some_and(|first| first.end() <= at);
    let ever = |mention| first_of(mentions, name, mention).is_some();
    let problem = match () {
        () if ever(Mention::Parameter) => format!("`{name}` is a parameter and cannot be `{word}`"),
        () if earlier(Mention::Annotation) || (ever(Mention::Annotation) && !in_module) => {
            format!("`{name}` has an annotation in this scope and cannot be `{word}`")
        }
        () if earlier(Mention::Use) => format!("`{name}` is used before it is declared `{word}`"),
        () if earlier(Mention::Bind) => format!("`{name}` is assigned to before it is declared `{word}`"),
        () if word == "nonlocal" && ever(Mention::Global) => format!("`{name}` is both `global` and `nonlocal`"),
        () => return,
    };
    f.report(range, problem);
}
