//! A block pointer becomes a tensor descriptor: `tl.make_block_ptr` and its loads, stores and advances are rewritten together.
//!
//! Offered where the last dimension is contiguous as written (stride 1, descending order) and every use of the pointer is understood.

use tritium_semantics::builtins::Builtin;
use tritium_syntax::{
    AstNode,
    ast::{self, Expr},
};

use super::{Context, Refactor, RefactorKind, argument, language};
use crate::TextEdit;

pub(super) fn refactor(context: &Context<'_>) -> Option<Refactor> {
    let source = |e: &Expr| context.source(e).to_owned();
    let assign = context.node.ancestors().find_map(ast::AssignStmt::cast)?;
    let Expr::CallExpr(make) = assign.value()? else { return None };
    let targets: Vec<Expr> = assign.targets().collect();
    let [Expr::NameExpr(pointer)] = &targets[..] else { return None };
    if context.builtin(&make)?.0 != Builtin::MakeBlockPtr {
        return None;
    }
    let tl = language(&make, source)?;
    let part = |name: &str, position: usize| items_of(&argument(&make, name, position)?);
    let base = argument(&make, "base", 0)?;
    let (shape, strides) = (part("shape", 1)?, part("strides", 2)?);
    let (offsets, block, order) = (part("offsets", 3)?, part("block_shape", 4)?, part("order", 5)?);
    let rank = block.len();
    let is_row_major = order.iter().enumerate().all(|(i, e)| context.source(e) == (rank - 1 - i).to_string());
    if strides.last().map(|e| context.source(e)) != Some("1")
        || !is_row_major
        || [&shape, &strides, &offsets, &order].iter().any(|p| p.len() != rank)
    {
        return None;
    }
    let name = pointer.text();
    let joined = |exprs: &[Expr]| exprs.iter().map(source).collect::<Vec<_>>().join(", ");
    let place: Vec<String> = (0..rank).map(|d| format!("{name}_{d}")).collect();
    let at = context.in_file(&assign);
    let indent = context.indentation(at.start);
    let mut made = format!(
        "{name} = {tl}.make_tensor_descriptor({}, shape=[{}], strides=[{}], block_shape=[{}])",
        source(&base),
        joined(&shape),
        joined(&strides),
        joined(&block)
    );
    for (variable, offset) in place.iter().zip(&offsets) {
        made += &format!("\n{indent}{variable} = {}", source(offset));
    }
    let mut edits = vec![TextEdit { range: at.clone(), new_text: made }];
    let def = context.def()?;
    let uses = def
        .syntax()
        .descendants()
        .filter_map(ast::NameExpr::cast)
        .filter(|n| n.text() == name && !at.contains(&context.in_file(n).start));
    let mut done: Vec<std::ops::Range<usize>> = Vec::new();
    for used in uses {
        let range = context.in_file(&used);
        if done.iter().any(|d| d.start <= range.start && range.end <= d.end) {
            continue;
        }
        let (whole, new_text) = rewritten(context, &used, &name, &place)?;
        done.push(whole.clone());
        edits.push(TextEdit { range: whole, new_text });
    }
    edits.sort_by_key(|e| e.range.start);
    Some(Refactor { title: format!("Make `{name}` a tensor descriptor"), kind: RefactorKind::Rewrite, edits })
}

/// A use of the pointer as a use of the descriptor.
fn rewritten(
    context: &Context<'_>,
    used: &ast::NameExpr,
    name: &str,
    place: &[String],
) -> Option<(std::ops::Range<usize>, String)> {
    // `p = tl.advance(p, (0, K))`
    if let Some(assign) = used.syntax().parent().and_then(ast::AssignStmt::cast) {
        let targets: Vec<Expr> = assign.targets().collect();
        let (1, Expr::CallExpr(call)) = (targets.len(), assign.value()?) else { return None };
        let (builtin, method) = context.builtin(&call)?;
        let moved = if method { argument(&call, "offsets", 0)? } else { argument(&call, "offsets", 1)? };
        let steps = items_of(&moved)?;
        if builtin != Builtin::Advance || steps.len() != place.len() {
            return None;
        }
        let at = context.in_file(&assign);
        let indent = context.indentation(at.start);
        let moved = place.iter().zip(&steps).filter(|(_, step)| context.source(*step) != "0");
        let lines: Vec<String> = moved.map(|(variable, step)| format!("{variable} += {}", context.source(step))).collect();
        let text = if lines.is_empty() { "pass".to_owned() } else { lines.join(&format!("\n{indent}")) };
        return Some((at, text));
    }
    let call = used.syntax().ancestors().find_map(ast::CallExpr::cast)?;
    let (builtin, method) = context.builtin(&call)?;
    let is_first =
        !method && matches!(argument(&call, "pointer", 0), Some(Expr::NameExpr(first)) if first.range() == used.range());
    let list = place.join(", ");
    let text = match builtin {
        Builtin::Load if is_first => format!("{name}.load([{list}])"),
        Builtin::Store if is_first => format!("{name}.store([{list}], {})", context.source(&argument(&call, "value", 1)?)),
        _ => return None,
    };
    Some((context.in_file(&call), text))
}

/// The items of a tuple or a list as written.
fn items_of(expr: &Expr) -> Option<Vec<Expr>> {
    match expr {
        Expr::ParenExpr(paren) => items_of(&paren.expr()?),
        Expr::TupleExpr(_) | Expr::ListExpr(_) => Some(expr.syntax().children().filter_map(Expr::cast).collect()),
        _ => None,
    }
}
