//! How a reduction combines its elements.

use tritium_tile::{
    OpId, OpKind, ValueId,
    ops::{BinaryOp, Predicate},
};

use super::kernel::Kernel;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fold {
    Sum,
    Product,
    Max,
    Min,
}

/// `None` for what is not one of the four.
pub(super) fn fold(kernel: &Kernel<'_>, reduce: OpId) -> Option<Fold> {
    let region = kernel.function.op(reduce).regions[0];
    let &last = kernel.function.block(region).ops.last()?;
    let first = *kernel.operands(last).first()?;
    let (op, kind) = kernel.def(first)?;
    match kind {
        OpKind::Binary(BinaryOp::AddF) => Some(Fold::Sum),
        OpKind::Binary(BinaryOp::MulF) => Some(Fold::Product),
        OpKind::Binary(BinaryOp::MaxF | BinaryOp::MaxNan) => Some(Fold::Max),
        OpKind::Binary(BinaryOp::MinF | BinaryOp::MinNan) => Some(Fold::Min),
        // With indices: the better one is picked.
        OpKind::Select => better(kernel, kernel.operands(op)[0]),
        _ => None,
    }
}

fn better(kernel: &Kernel<'_>, condition: ValueId) -> Option<Fold> {
    match kernel.def(condition)? {
        (_, OpKind::Compare(Predicate::GtF | Predicate::GeF)) => Some(Fold::Max),
        (_, OpKind::Compare(Predicate::LtF | Predicate::LeF)) => Some(Fold::Min),
        (op, OpKind::Binary(BinaryOp::Or | BinaryOp::And)) => kernel.operands(op).iter().find_map(|&v| better(kernel, v)),
        _ => None,
    }
}
