//! SHP008 implicit-rank-broadcast: a vector of rows meets a matrix and is stretched as a row.
//!
//! Shapes align at the right, so `[B]` against `[B, B]` is a row, whatever it means. Square blocks let it pass. **Invariant:** only said
//! where the vector runs along the matrix's rows and not along its columns, or is what a reduction left of the rows of that very matrix.

use tritium_tile::{OpId, OpKind, ValueId};

use super::kernel::{Kernel, ProblemExt};
use crate::{
    body::{Expr, ExprId, Stmt},
    diagnostics::Code,
    problem::{Applicability, At, Place},
};

pub(super) fn rule(kernel: &mut Kernel<'_>) {
    for op in kernel.ops() {
        if let OpKind::ExpandDims { axis: 0 } = kernel.function.op(op).kind
            && kernel.function.ty(kernel.operands(op)[0]).shape().len() == 1
            && let Some((place, vector, matrix)) = operands_as_written(kernel, op)
        {
            check(kernel, op, place, vector, matrix);
        }
    }
}

/// The vector's and the matrix's expressions, if the axis was put in by an operator and not by hand.
fn operands_as_written(kernel: &Kernel<'_>, op: OpId) -> Option<(Place, ExprId, ExprId)> {
    let place = kernel.place(op)?;
    let written = kernel.written(place.function)?;
    let sides = match place.at {
        At::Expr(expr) => match written.body.expr(expr) {
            Expr::Binary { lhs, rhs, .. } => vec![*lhs, *rhs],
            Expr::Compare { first, rest } => std::iter::once(*first).chain(rest.iter().map(|r| r.1)).collect(),
            Expr::Call { args, .. } => args.iter().map(|a| a.value).collect(),
            _ => return None,
        },
        At::Argument(_) => return None,
        At::Stmt(stmt) => match written.body.stmt(stmt) {
            Stmt::AugAssign { target, value, .. } => vec![*target, *value],
            _ => return None,
        },
        At::Param(_) | At::Name => return None,
    };
    let of_rank = |rank: usize| sides.iter().copied().find(|&e| kernel.ty(place.function, e).is_some_and(|t| t.rank() == rank));
    Some((place, of_rank(1)?, of_rank(2)?))
}

fn check(kernel: &mut Kernel<'_>, op: OpId, place: Place, vector: ExprId, matrix: ExprId) {
    let value = kernel.operands(op)[0];
    let Some((other, user)) = met(kernel, kernel.function.op(op).results[0]) else { return };
    let along = kernel.meanings.along(value, 0);
    let (rows, columns) = (kernel.meanings.along(other, 0), kernel.meanings.along(other, 1));
    let shared = |dim: &[ValueId]| dim.iter().any(|i| along.contains(i));
    let by_meaning = !columns.is_empty() && shared(rows) && !shared(columns);
    let reduced = reduced_rows(kernel, value);
    let by_descent = || {
        // The same index on both sides, or none known: the matrix itself must say it.
        (shared(rows) || rows.is_empty() || along.is_empty())
            && (shared(columns) || columns.is_empty() || along.is_empty())
            && reduced.is_some_and(|(_, source)| is_made_from(kernel, other, source))
    };
    if !by_meaning && !by_descent() {
        return;
    }
    let Some(written) = kernel.written(place.function) else { return };
    let (v, m) = (written.text(vector), written.text(matrix));
    let shape = |e: ExprId| kernel.shape(place.function, e).unwrap_or_default();
    let what = match reduced {
        Some(_) => format!("`{v}` has shape {}: one number for each row of `{m}`", shape(vector)),
        None => {
            format!("`{v}` has shape {} and runs along {}, as the rows of `{m}` do", shape(vector), name(kernel, along, rows))
        }
    };
    let message = format!(
        "{what} ({}), but shapes align at the right, so it meets the columns: element [i, j] takes `{v}`[j]. Make it a column, `{v}[:, None]`",
        shape(matrix)
    );
    let Some(problem) = kernel.problem(Code::SHP008, op, message) else { return };
    let problem = problem
        .with(reduced.and_then(|(r, _)| kernel.place(r)), "the last axis is folded here, which leaves the rows")
        .with(kernel.place_of(other).filter(|_| kernel.place_of(other) != kernel.place(user)), "the matrix is made here")
        .fix(format!("Make `{v}` a column"), Applicability::Suggested, written.append(place.function, vector, "[:, None]"));
    kernel.report(problem);
}

fn name(kernel: &Kernel<'_>, along: &[ValueId], rows: &[ValueId]) -> String {
    rows.iter().find(|i| along.contains(i)).map_or_else(|| "an index".to_owned(), |&i| kernel.index_words(i))
}

/// The matrix that a stretched vector meets, and the op where they do.
fn met(kernel: &Kernel<'_>, mut value: ValueId) -> Option<(ValueId, OpId)> {
    for _ in 0..4 {
        let &[user, ..] = &kernel.users[value.index()][..] else { return None };
        match kernel.function.op(user).kind {
            OpKind::Broadcast | OpKind::Cast(_) => value = kernel.function.op(user).results[0],
            ref kind if kind.is_elementwise() => {
                let others = kernel.operands(user).iter().filter(|&&v| v != value && kernel.function.ty(v).shape().len() == 2);
                // The one that says most of its dimensions.
                let said = |v: &ValueId| (0..2).filter(|&d| !kernel.meanings.along(*v, d).is_empty()).count();
                return others.max_by_key(|v| said(v)).map(|&v| (v, user));
            }
            _ => return None,
        }
    }
    None
}

/// The reduction over the last axis of a matrix that a vector comes from, and the matrix.
fn reduced_rows(kernel: &Kernel<'_>, value: ValueId) -> Option<(OpId, ValueId)> {
    let (op, kind) = kernel.def(value)?;
    match kind {
        OpKind::Reduce { axis: 1 } => Some((op, kernel.operands(op)[0])),
        kind if kind.is_elementwise() => kernel.operands(op).iter().find_map(|&v| reduced_rows(kernel, v)),
        _ => None,
    }
}

/// Whether two tiles share what was loaded or multiplied, element by element.
fn is_made_from(kernel: &Kernel<'_>, tile: ValueId, source: ValueId) -> bool {
    let (a, b) = (made_of(kernel, tile), made_of(kernel, source));
    a.iter().any(|v| b.contains(v))
}

fn made_of(kernel: &Kernel<'_>, tile: ValueId) -> Vec<u32> {
    let mut out = Vec::new();
    let mut pending = vec![tile];
    while let Some(value) = pending.pop() {
        if out.len() > 64 || kernel.function.ty(value).shape().len() != 2 {
            continue;
        }
        match kernel.def(value) {
            Some((op, kind)) if kind.is_elementwise() => pending.extend(kernel.operands(op)),
            Some((_, OpKind::Load(_) | OpKind::Dot { .. })) | None => out.push(kernel.numbers.of(value)),
            Some(_) => {}
        }
    }
    out
}
