//! Extract a helper: the selected expression or statements become a `@triton.jit` function of their own, above the kernel.

use std::ops::Range;

use smol_str::SmolStr;
use tritium_semantics::types::Ty;
use tritium_syntax::{
    AstNode,
    SyntaxKind::*,
    SyntaxNode,
    ast::{self, Expr},
};

use super::{Context, Refactor, RefactorKind};
use crate::{
    TextEdit,
    naming::{Names, Role, ScopeId, ScopeKind, names},
};

pub(super) fn refactor(context: &Context<'_>) -> Option<Refactor> {
    if context.range.is_empty() {
        return None;
    }
    let selected = selection(context)?;
    let def = context.def()?;
    let names = names(context.analysis.db(), context.file);
    let def_name = context.in_file(&def.name()?);
    let scope = names.scopes.iter().position(|s| s.name.as_ref().is_some_and(|(_, range)| *range == def_name))?;
    let flow = Flow { names: &names, scope };
    let range = selected.range();
    let inputs = flow.read_before_written(&range);
    let outputs =
        if selected.is_expression() { vec![] } else { flow.written_and_read_after(&range, enclosing_loop(context, &range)) };
    let name = unused_name(&names);
    let param = |n: &SmolStr| {
        if is_constexpr(context, &names, scope, n) { format!("{n}: {}.constexpr", tl(&names)) } else { n.to_string() }
    };
    let params: Vec<String> = inputs.iter().map(param).collect();
    let text = &context.text[range.clone()];
    let indent = context.indentation(range.start);
    let outer = context.indentation(context.in_file(&def).start);
    let dedented: Vec<String> = text
        .lines()
        .enumerate()
        .map(|(i, line)| {
            let line = if i == 0 { line } else { line.strip_prefix(indent).unwrap_or(line) };
            if line.trim().is_empty() { String::new() } else { format!("{outer}    {line}") }
        })
        .collect();
    let called = format!("{name}({})", inputs.iter().map(SmolStr::as_str).collect::<Vec<_>>().join(", "));
    let results = outputs.iter().map(SmolStr::as_str).collect::<Vec<_>>().join(", ");
    let (body, call) = if selected.is_expression() {
        // A line break inside an expression needs brackets around it.
        let text = if text.contains('\n') { format!("({text})") } else { text.to_owned() };
        (format!("{outer}    return {text}"), called)
    } else if outputs.is_empty() {
        (dedented.join("\n"), called)
    } else {
        (format!("{}\n{outer}    return {results}", dedented.join("\n")), format!("{results} = {called}"))
    };
    let jit = jit_spelling(context, &def);
    let helper = format!("{outer}@{jit}\n{outer}def {name}({}):\n{body}\n\n\n", params.join(", "));
    // Above the decorators; comments that belong to the kernel stay with it.
    let start = def.decorators().next().map_or_else(|| context.in_file(&def).start, |d| context.in_file(&d).start);
    let start = context.text[..start].rfind('\n').map_or(0, |at| at + 1);
    Some(Refactor {
        title: format!("Extract helper `{name}`"),
        kind: RefactorKind::Extract,
        edits: vec![TextEdit { range: start..start, new_text: helper }, TextEdit { range, new_text: call }],
    })
}

enum Selection {
    Expression(Range<usize>),
    Statements(Range<usize>),
}

impl Selection {
    fn range(&self) -> Range<usize> {
        match self {
            Selection::Expression(range) | Selection::Statements(range) => range.clone(),
        }
    }

    fn is_expression(&self) -> bool {
        matches!(self, Selection::Expression(_))
    }
}

/// A whole expression, or whole statements of one block.
fn selection(context: &Context<'_>) -> Option<Selection> {
    let raw = &context.text[context.range.clone()];
    let start = context.range.start + (raw.len() - raw.trim_start().len());
    let wanted = start..start + raw.trim().len();
    if wanted.is_empty() {
        return None;
    }
    let of = |node: &SyntaxNode| {
        let range = tritium_semantics::items::in_file(context.base, node.text_range());
        range.start..range.start + context.text[range.clone()].trim_end().len()
    };
    for node in context.node.ancestors() {
        if of(&node) == wanted && Expr::can_cast(node.kind()) {
            // A target, a keyword or a bare name is no computation.
            let is_value = !matches!(node.kind(), NAME_EXPR | LITERAL_EXPR | STRING_EXPR | SLICE_EXPR | ERROR_EXPR)
                && !node.parent().is_some_and(|p| matches!(p.kind(), EXPR_STMT | DECORATOR | PARAM));
            let in_body = node.ancestors().any(|a| a.kind() == BLOCK);
            return (is_value && in_body).then_some(Selection::Expression(wanted));
        }
    }
    let block = context.node.ancestors().find(|n| n.kind() == BLOCK)?;
    block.ancestors().find(|n| n.kind() == FUNCTION_DEF)?;
    let inside: Vec<SyntaxNode> = block.children().filter(|s| of(s).start < wanted.end && wanted.start < of(s).end).collect();
    let (first, last) = (inside.first()?, inside.last()?);
    if of(first).start != wanted.start || of(last).end != wanted.end {
        return None;
    }
    let leaves =
        |n: SyntaxNode| matches!(n.kind(), RETURN_STMT | BREAK_STMT | CONTINUE_STMT | GLOBAL_STMT | NONLOCAL_STMT | FUNCTION_DEF);
    if inside.iter().any(|s| s.descendants().any(leaves)) {
        return None;
    }
    Some(Selection::Statements(wanted))
}

/// The loop around a range: what it assigns may be read by the next trip.
fn enclosing_loop(context: &Context<'_>, range: &Range<usize>) -> Option<Range<usize>> {
    let around = context.node.ancestors().filter(|n| matches!(n.kind(), FOR_STMT | WHILE_STMT));
    let ranges = around.map(|n| tritium_semantics::items::in_file(context.base, n.text_range()));
    ranges.filter(|r| r.start < range.start).last()
}

struct Flow<'a> {
    names: &'a Names,
    scope: ScopeId,
}

impl Flow<'_> {
    /// Names of the function in a range, in the order of the text, each with its role.
    fn inside<'s>(&'s self, range: &'s Range<usize>) -> impl Iterator<Item = (&'s SmolStr, Role)> + 's {
        let here = self.names.occurrences.iter().filter(move |o| range.start <= o.range.start && o.range.end <= range.end);
        here.filter(|o| {
            self.names.resolve(o.scope, &o.name) == self.scope && self.names.scopes[self.scope].bound.contains(&o.name)
        })
        .map(|o| (&o.name, o.role))
    }

    fn read_before_written(&self, range: &Range<usize>) -> Vec<SmolStr> {
        let mut out: Vec<SmolStr> = Vec::new();
        let mut written: Vec<SmolStr> = Vec::new();
        // `a = a + 1`: the walk meets the target first, Python the value.
        for (name, role) in self.inside(range) {
            match role {
                Role::Read if !out.contains(name) => out.push(name.clone()),
                Role::Write => written.push(name.clone()),
                _ => {}
            }
        }
        // Read, and never written before: kept if some read comes first, or if it is bound before the range at all.
        let is_bound_before = |name: &SmolStr| {
            let before = self.names.occurrences.iter().filter(|o| &o.name == name && o.range.end <= range.start);
            before
                .filter(|o| matches!(o.role, Role::Write | Role::Declaration))
                .any(|o| self.names.resolve(o.scope, &o.name) == self.scope)
        };
        out.retain(|name| !written.contains(name) || is_bound_before(name));
        // What is only changed in place (`acc += x`) is read too.
        for name in written {
            if !out.contains(&name) && is_bound_before(&name) {
                out.push(name);
            }
        }
        out
    }

    fn written_and_read_after(&self, range: &Range<usize>, around: Option<Range<usize>>) -> Vec<SmolStr> {
        let mut out: Vec<SmolStr> = Vec::new();
        let is_read_later = |name: &SmolStr| {
            let reads = self.names.occurrences.iter().filter(|o| &o.name == name && o.role != Role::Declaration);
            reads.filter(|o| self.names.resolve(o.scope, &o.name) == self.scope).any(|o| {
                let again = around.as_ref().is_some_and(|l| l.start <= o.range.start && o.range.end <= range.start);
                o.range.start >= range.end || again
            })
        };
        for (name, role) in self.inside(range) {
            if role == Role::Write && !out.contains(name) && is_read_later(name) {
                out.push(name.clone());
            }
        }
        out
    }
}

fn is_constexpr(context: &Context<'_>, names: &Names, scope: ScopeId, name: &SmolStr) -> bool {
    let db = context.analysis.db();
    let Some((start, map)) = tritium_semantics::items::source_map(db, context.function) else { return false };
    let Some(types) = context.analysis.elaborated(context.kernel.active.instance).types.get(&context.function) else {
        return false;
    };
    let at: Vec<&Range<usize>> = names
        .occurrences
        .iter()
        .filter(|o| &o.name == name && names.resolve(o.scope, &o.name) == scope && o.role == Role::Read)
        .map(|o| &o.range)
        .collect();
    types.iter().any(|(id, ty)| {
        let range = map.exprs.get(id.0 as usize).map(|r| tritium_semantics::items::in_file(start, *r));
        matches!(ty, Ty::Constexpr(_)) && range.is_some_and(|r| at.contains(&&r))
    })
}

fn unused_name(names: &Names) -> String {
    let taken = |n: &str| names.scopes.iter().any(|s| s.kind != ScopeKind::Class && s.bound.contains(n));
    let mut number = 1;
    let mut name = "helper".to_owned();
    while taken(&name) {
        number += 1;
        name = format!("helper_{number}");
    }
    name
}

/// `triton.jit`, or as the kernel's own decorator has it.
fn jit_spelling(context: &Context<'_>, def: &ast::FunctionDef) -> String {
    let spelled = def.decorators().filter_map(|d| match d.expr()? {
        Expr::CallExpr(call) => call.callee(),
        other => Some(other),
    });
    let texts: Vec<&str> = spelled.map(|e| context.source(&e)).collect();
    texts.iter().find(|t| t.rsplit('.').next() == Some("jit")).map_or_else(|| "triton.jit".to_owned(), |t| (*t).to_owned())
}

fn tl(names: &Names) -> String {
    let import = names.imports.iter().find(|i| {
        i.module == "triton.language" && i.member.is_none() || i.module == "triton" && i.member.as_deref() == Some("language")
    });
    import.map_or_else(|| "tl".to_owned(), |i| i.name.to_string())
}
