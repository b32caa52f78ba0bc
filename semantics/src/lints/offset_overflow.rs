//! DTY012 i32-offset-overflow: an offset is multiplied in 32 bits, and a large tensor needs more.
//!
//! A hint as long as nothing is known of the sizes; a warning where the launches in the file pass 2³¹, an error where every
//! factor is known to get that far. Where they stay below, silence. **Invariant:** said of a product of an index that grows with the
//! tensor and a stride that arrives at run time. A hint speaks of the outermost axis of a tensor that may be large; one that is taken number
//! by number, or written by a few programs, is none.

use rustc_hash::FxHashSet;
use tritium_tile::{
    OpId, OpKind, Scalar, ValueDef, ValueId,
    facts::Range,
    ops::{BinaryOp, CastOp},
};

use super::{
    kernel::{Kernel, ProblemExt},
    memo::Memo,
};
use crate::{
    body::{BinaryOp as Operator, Expr, ExprId},
    diagnostics::{Code, Severity},
    problem::{Applicability, Problem},
};

pub(super) fn rule(kernel: &mut Kernel<'_>) {
    let mut seen: Vec<OpId> = Vec::new();
    for op in kernel.ops() {
        if let OpKind::AddPtr = kernel.function.op(op).kind {
            for product in products(kernel, kernel.operands(op)[1]) {
                if !seen.contains(&product) {
                    seen.push(product);
                    if let Some(problem) = check(kernel, product, op).filter(|problem| problem.level.is_some()) {
                        kernel.report(problem);
                    }
                }
            }
        }
    }
    for (product, access) in outermost_products(kernel) {
        if let Some(hint) = check(kernel, product, access).filter(|hint| hint.level.is_none()) {
            kernel.report(hint);
        }
    }
}

/// What an access adds up to its address.
struct Address {
    terms: Vec<ValueId>,
    /// A loop advances it.
    moves: bool,
}

impl Address {
    fn of(kernel: &Kernel<'_>, pointer: ValueId) -> Address {
        let mut address = Address { terms: Vec::new(), moves: false };
        let mut seen = FxHashSet::default();
        let mut pending = vec![pointer];
        while let Some(value) = pending.pop() {
            if !seen.insert(value) || seen.len() > MAX_PARTS {
                continue;
            }
            match kernel.function.value(value).def {
                ValueDef::Argument(block, place) => {
                    let owner = kernel.owners[block.index()].and_then(|owner| kernel.function.for_loop(owner));
                    let carried = owner.and_then(|around| around.carried((place as usize).checked_sub(1)?));
                    match carried {
                        Some(carried) => {
                            address.moves = true;
                            pending.push(carried.init);
                        }
                        None => address.terms.push(value),
                    }
                }
                ValueDef::Result(op, place) => match kernel.function.op(op).kind {
                    OpKind::AddPtr
                    | OpKind::Binary(BinaryOp::AddI | BinaryOp::SubI)
                    | OpKind::Splat
                    | OpKind::Broadcast
                    | OpKind::Promise { .. }
                    | OpKind::ExpandDims { .. }
                    | OpKind::Cast(CastOp::ExtS) => pending.extend(kernel.operands(op)),
                    OpKind::If => {
                        let regions = &kernel.function.op(op).regions;
                        pending.extend(regions.iter().filter_map(|&region| kernel.function.passed(region).get(place as usize)));
                    }
                    OpKind::For(_) => {
                        address.moves = true;
                        let carried = kernel.function.for_loop(op).and_then(|around| around.carried(place as usize));
                        pending.extend(carried.map(|carried| carried.init));
                    }
                    _ => address.terms.push(value),
                },
            }
        }
        address
    }
}

/// Values that an address is followed through.
const MAX_PARTS: usize = 256;

/// For each tensor that is accessed, the 32-bit product of its outermost axis, whose stride comes first among the parameters, if the tensor
/// may be large: a program takes a tile of it, along another axis than that of the product.
fn outermost_products(kernel: &Kernel<'_>) -> Vec<(OpId, OpId)> {
    let varying = varying_in_program(kernel);
    let walked = walked_axes(kernel);
    let mut out: Vec<(OpId, OpId)> = Vec::new();
    for access in kernel.ops() {
        let kind = &kernel.function.op(access).kind;
        if !matches!(kind, OpKind::Load(_) | OpKind::Store(_) | OpKind::AtomicRmw { .. } | OpKind::AtomicCas { .. }) {
            continue;
        }
        let pointer = kernel.operands(access)[0];
        let address = Address::of(kernel, pointer);
        // Single numbers come from tables, and whoever has widened one part of an address has thought of the others.
        let is_wide = |&term: &ValueId| kernel.function.ty(term).elem().scalar() == Some(Scalar::I64);
        if kernel.function.ty(pointer).shape().is_empty() || address.terms.iter().any(is_wide) {
            continue;
        }
        let product_of = |&term: &ValueId| match kernel.def(term) {
            Some((op, OpKind::Binary(BinaryOp::MulI))) => {
                index_and_stride(kernel, op).map(|(index, stride)| (term, op, index, stride))
            }
            _ => None,
        };
        let products = || address.terms.iter().filter_map(product_of);
        let Some((term, product, index, _)) = products().min_by_key(|&(.., stride)| first_parameter(kernel, stride)) else {
            continue;
        };
        // The programs of a kernel whose programs walk on by themselves are few.
        let is_of_few = matches!(kernel.def(kernel.core(index)), Some((_, OpKind::ProgramId { axis })) if walked.contains(axis));
        let others = address.terms.iter().filter(|&&other| other != term);
        let is_large = address.moves
            || others.clone().any(|other| varying[other.index()])
            || varying[term.index()] && products().count() > 1;
        if is_large && !is_of_few && out.iter().all(|&(other, _)| other != product) {
            out.push((product, access));
        }
    }
    out
}

/// By value: whether it is more than one number in a program.
fn varying_in_program(kernel: &Kernel<'_>) -> Vec<bool> {
    let function = kernel.function;
    let mut varies = vec![false; function.values.len()];
    for id in kernel.ops() {
        let op = function.op(id);
        let is_many = matches!(op.kind, OpKind::Iota { .. } | OpKind::Load(_)) || !op.regions.is_empty();
        if is_many || op.operands.iter().any(|v| varies[v.index()]) {
            op.results.iter().for_each(|r| varies[r.index()] = true);
        }
        for &region in &op.regions {
            function.block(region).args.iter().for_each(|arg| varies[arg.index()] = true);
        }
    }
    varies
}

/// The axes of the grid whose programs begin a loop each at a place of its own.
fn walked_axes(kernel: &Kernel<'_>) -> Vec<u8> {
    let mut axes = Vec::new();
    for op in kernel.ops() {
        let Some(around) = kernel.function.for_loop(op) else { continue };
        let mut pending = vec![around.bounds[0]];
        for _ in 0..MAX_PARTS {
            match pending.pop().and_then(|value| kernel.def(value)) {
                Some((_, OpKind::ProgramId { axis })) => axes.push(*axis),
                Some((op, OpKind::Binary(_) | OpKind::Cast(_))) => pending.extend(kernel.operands(op)),
                _ => {}
            }
        }
    }
    axes
}

/// The place of the first parameter that a stride is made of.
fn first_parameter(kernel: &Kernel<'_>, stride: ValueId) -> usize {
    let stride = kernel.core(stride);
    if let Some(place) = kernel.function.params.iter().position(|p| p.value == stride) {
        return place;
    }
    match kernel.def(stride) {
        Some((op, OpKind::Binary(_))) => {
            kernel.operands(op).iter().map(|&v| first_parameter(kernel, v)).min().unwrap_or(usize::MAX)
        }
        _ => usize::MAX,
    }
}

fn is_i32(kernel: &Kernel<'_>, value: ValueId) -> bool {
    kernel.function.ty(value).elem().scalar() == Some(Scalar::I32)
}

/// The 32-bit products that an offset is a sum of.
fn products(kernel: &Kernel<'_>, offset: ValueId) -> Vec<OpId> {
    let mut out = Vec::new();
    for term in Address::of(kernel, offset).terms {
        if let Some((op, OpKind::Binary(BinaryOp::MulI))) = kernel.def(term)
            && is_i32(kernel, term)
        {
            out.push(op);
        }
    }
    out
}

/// Of a product, the index that grows with the tensor and the stride that arrives at run time.
fn index_and_stride(kernel: &Kernel<'_>, product: OpId) -> Option<(ValueId, ValueId)> {
    let (a, b) = (kernel.operands(product)[0], kernel.operands(product)[1]);
    let is_index = |value| is_index(kernel, value, 0, &mut Memo::default());
    match (is_index(a), is_index(b)) {
        (true, _) if is_stride(kernel, b) => Some((a, b)),
        (_, true) if is_stride(kernel, a) => Some((b, a)),
        _ => None,
    }
}

fn check(kernel: &Kernel<'_>, product: OpId, address: OpId) -> Option<Problem> {
    let result = kernel.function.op(product).results[0];
    let full = Range::of_type(kernel.function.ty(result));
    if kernel.facts.range(result) != full {
        return None;
    }
    let (index, stride) = index_and_stride(kernel, product)?;
    // What the launches of the file say.
    let (x, y) = (kernel.facts.range(index), kernel.facts.range(stride));
    let is_known = |r: Range| r.max < i64::from(i32::MAX) - 1 && r.min > i64::from(i32::MIN);
    let most = i128::from(x.max) * i128::from(y.max);
    let level = match kernel.is_launched {
        true if is_known(x) && is_known(y) && most > i128::from(i32::MAX) => {
            Some(if is_reached(kernel, index) { Severity::Error } else { Severity::Warning })
        }
        _ => None,
    };
    let (written, place, expr) = kernel.expr(product)?;
    let Expr::Binary { op: Operator::Mul, lhs, rhs } = written.body.expr(expr) else { return None };
    let (i, s) = (kernel.say(index, "the index"), kernel.say(stride, "the stride"));
    let message = match level {
        None => format!(
            "{i} * {s} is computed in 32 bits and wraps past 2^31 elements of a large tensor: widen the index, {}",
            advice(kernel, index)
        ),
        Some(_) => format!(
            "{i} * {s} is computed in 32 bits and reaches {most} in this file's launches, past 2^31: it wraps, and the address is wrong. Widen the index, {}",
            advice(kernel, index)
        ),
    };
    let mut problem = kernel.problem(Code::DTY012, product, message)?;
    problem.level = level;
    let taken = if level.is_none() { "in the address here" } else { "added to a pointer here" };
    let problem = problem.with(kernel.place(address), taken);
    let side: ExprId = if index == kernel.operands(product)[0] { *lhs } else { *rhs };
    let edits = written.append(place.function, side, ".to(tl.int64)");
    Some(problem.fix("Widen the index to 64 bits", Applicability::Suggested, edits))
}

fn advice(kernel: &Kernel<'_>, index: ValueId) -> String {
    match kernel.words(index) {
        Some(words) if words.chars().all(|c| c.is_alphanumeric() || c == '_') => format!("`{words}.to(tl.int64)`"),
        _ => "`.to(tl.int64)`".to_owned(),
    }
}

/// Grows with the tensor: a program id, or a number that was loaded.
fn is_index(kernel: &Kernel<'_>, value: ValueId, depth: usize, memo: &mut Memo<ValueId, bool>) -> bool {
    if depth > 24 {
        return false;
    }
    match memo.get(&value, depth, false) {
        Some(known) => known,
        None => {
            let answer = is_index_by_operands(kernel, value, depth, memo);
            memo.put(value, depth, answer)
        }
    }
}

fn is_index_by_operands(kernel: &Kernel<'_>, value: ValueId, depth: usize, memo: &mut Memo<ValueId, bool>) -> bool {
    let Some((op, kind)) = kernel.def(value) else { return false };
    match kind {
        OpKind::ProgramId { .. } | OpKind::Load(_) => true,
        OpKind::Splat
        | OpKind::Broadcast
        | OpKind::Promise { .. }
        | OpKind::ExpandDims { .. }
        | OpKind::Cast(CastOp::Trunc | CastOp::ExtS)
        | OpKind::Binary(BinaryOp::AddI | BinaryOp::SubI | BinaryOp::MulI) => {
            kernel.operands(op).iter().any(|&v| is_index(kernel, v, depth + 1, memo))
        }
        // A program id taken apart: the quotient grows, the remainder stays below its divisor.
        OpKind::Binary(BinaryOp::DivS | BinaryOp::DivU) => is_index(kernel, kernel.operands(op)[0], depth + 1, memo),
        OpKind::Binary(BinaryOp::RemS | BinaryOp::RemU) => {
            is_index(kernel, kernel.operands(op)[0], depth + 1, memo)
                && !super::masks::is_constant(kernel, kernel.operands(op)[1])
        }
        _ => false,
    }
}

/// Arrives at run time: a parameter, or a product with one.
fn is_stride(kernel: &Kernel<'_>, value: ValueId) -> bool {
    let value = kernel.core(value);
    if kernel.function.params.iter().any(|p| p.value == value) {
        return true;
    }
    match kernel.def(value) {
        Some((op, OpKind::Binary(BinaryOp::MulI | BinaryOp::AddI))) => kernel.operands(op).iter().any(|&v| is_stride(kernel, v)),
        _ => false,
    }
}

/// Some program gets as far as the range says: the index is made of program ids, arguments and numbers alone.
fn is_reached(kernel: &Kernel<'_>, index: ValueId) -> bool {
    use tritium_tile::facts::Symbol;
    let is_param = |v: ValueId| kernel.function.params.iter().any(|p| p.value == v);
    kernel.facts.affine(index).is_some_and(|form| {
        form.terms.iter().all(|t| {
            t.dim.is_none()
                && t.coefficient > 0
                && t.symbols.iter().all(|s| match s {
                    Symbol::Program(_) => true,
                    Symbol::Value(v) => is_param(*v),
                    Symbol::Programs(_) | Symbol::Trip(_) => false,
                })
        })
    })
}
