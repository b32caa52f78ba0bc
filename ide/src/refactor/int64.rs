//! Make an index 64 bits wide, so that its product with a stride does not wrap: `row` becomes `row.to(tl.int64)`.

use tritium_semantics::{
    dtype::DType,
    types::{Element, Ty},
};
use tritium_syntax::{
    AstNode,
    ast::{self, BinaryOp, Expr},
};

use super::{Context, Refactor, RefactorKind};
use crate::TextEdit;

pub(super) fn refactor(context: &Context<'_>) -> Option<Refactor> {
    let is_i32 = |expr: &Expr| matches!(context.ty(expr), Some(Ty::Tile(ty)) if ty.elem == Element::Scalar(DType::I32));
    let expr =
        context.node.ancestors().take(3).filter_map(Expr::cast).find(|e| matches!(e, Expr::NameExpr(_) | Expr::CallExpr(_)))?;
    let assigned = expr.syntax().parent().and_then(ast::AssignStmt::cast);
    // At the place that binds the index all uses get it; else only this product does.
    let value = match &assigned {
        Some(assign) => {
            let value = assign.value()?;
            let bound = assign.targets().next()?;
            let is_index =
                matches!(value, Expr::CallExpr(_) | Expr::NameExpr(_)) && is_i32(&value) && matches!(bound, Expr::NameExpr(_));
            is_index.then_some(value)?
        }
        None => {
            let product = expr.syntax().parent().and_then(ast::BinaryExpr::cast)?;
            (product.op() == Some(BinaryOp::Mul) && is_i32(&expr)).then_some(expr)?
        }
    };
    let at = context.in_file(&value).end;
    let name = assigned.and_then(|a| a.targets().next()).map_or_else(|| context.source(&value), |t| context.source(&t));
    Some(Refactor {
        title: format!("Make `{}` an int64", name.split_whitespace().collect::<Vec<_>>().join(" ")),
        kind: RefactorKind::Rewrite,
        edits: vec![TextEdit { range: at..at, new_text: format!(".to({}.int64)", spelled_language(context)) }],
    })
}

/// `tl`, or what the file calls it.
fn spelled_language(context: &Context<'_>) -> String {
    let names = crate::naming::names(context.analysis.db(), context.file);
    let import = names.imports.iter().find(|i| {
        i.module == "triton.language" && i.member.is_none() || i.module == "triton" && i.member.as_deref() == Some("language")
    });
    import.map_or_else(|| "tl".to_owned(), |i| i.name.to_string())
}
