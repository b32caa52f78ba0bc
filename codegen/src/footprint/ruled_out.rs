//! What a comparison with a constant rules out: the end of a block that is wider than the row it covers.
//!
//! LLVM and ptxas see that `arange(0, 4096) < 100` is false in most registers of a thread. What is loaded there is the number instead, what is
//! computed from it is one number for all, and nothing is stored. **Invariant:** an extent is never less than what some thread needs.

use rustc_hash::FxHashMap;
use tritium_tile::{
    Function, OpId, OpKind, Shape, ValueId,
    facts::{Facts, Range, Symbol},
    layout::{Distributed, algebra::shift_of},
    ops::{BinaryOp, Predicate},
};

/// Of tiles the leading part along every dimension beyond which nothing needs a register; of others, all.
pub(super) struct RuledOut(FxHashMap<ValueId, Shape>);

impl RuledOut {
    pub(super) fn new(function: &Function, facts: &Facts, ops: &[OpId]) -> RuledOut {
        let mut made: FxHashMap<ValueId, Shape> = FxHashMap::default();
        for &id in ops {
            let op = function.op(id);
            for &result in &op.results {
                let shape = function.ty(result).shape();
                if !shape.is_empty()
                    && let Some(extents) = of_result(function, facts, &made, id, result)
                    && extents.iter().zip(shape).any(|(part, whole)| part < whole)
                {
                    made.insert(result, extents);
                }
            }
        }
        if made.is_empty() {
            return RuledOut(made);
        }
        // Nor is needed what only goes into accesses that are not made.
        let mut asked: FxHashMap<ValueId, Shape> = FxHashMap::default();
        for &id in ops.iter().rev() {
            let op = function.op(id);
            let of_mask = |n: usize| op.operands.get(n).and_then(|mask| made.get(mask)).cloned();
            let wanted = op.results.first().and_then(|result| asked.get(result)).cloned();
            for (n, &operand) in op.operands.iter().enumerate() {
                let shape = function.ty(operand).shape();
                let part = match &op.kind {
                    OpKind::Load(_) if n == 0 => of_mask(1),
                    OpKind::Store(_) if n < 2 => of_mask(2),
                    OpKind::Broadcast => wanted.as_ref().map(|part| {
                        let grown = function.ty(op.results[0]).shape();
                        (0..shape.len()).map(|d| if shape[d] == grown[d] { part[d] } else { 1 }).collect()
                    }),
                    OpKind::ExpandDims { axis } => wanted.clone().map(|mut part| {
                        part.remove(usize::from(*axis));
                        part
                    }),
                    kind if kind.is_elementwise() => wanted.clone(),
                    _ => None,
                };
                let part = part.filter(|part| part.len() == shape.len()).unwrap_or_else(|| shape.clone());
                let known = asked.entry(operand).or_insert_with(|| Shape::from_elem(0, shape.len()));
                known.iter_mut().zip(&part).for_each(|(known, part)| *known = (*known).max(*part));
            }
        }
        for (value, part) in asked {
            let shape = function.ty(value).shape();
            if part.iter().zip(shape).any(|(part, whole)| part < whole) {
                let known = made.entry(value).or_insert_with(|| shape.clone());
                known.iter_mut().zip(&part).for_each(|(known, part)| *known = (*known).min(*part));
            }
        }
        RuledOut(made)
    }

    /// The share of a value's registers that some thread needs.
    pub(super) fn share(&self, value: ValueId, layout: Option<&Distributed>) -> f64 {
        let (Some(extents), Some(layout)) = (self.0.get(&value), layout) else { return 1.0 };
        let count = 1u32 << layout.register.len();
        let needed = (0..count).filter(|register| {
            let place = layout.register.iter().enumerate().fold(0, |place, (bit, base)| place ^ ((register >> bit & 1) * base));
            extents.iter().enumerate().all(|(d, &extent)| place >> shift_of(&layout.shape, d) & (layout.shape[d] - 1) < extent)
        });
        needed.count() as f64 / f64::from(count)
    }
}

fn of_result(function: &Function, facts: &Facts, made: &FxHashMap<ValueId, Shape>, id: OpId, result: ValueId) -> Option<Shape> {
    let op = function.op(id);
    let shape = function.ty(result).shape();
    let of = |value: ValueId| made.get(&value).cloned().unwrap_or_else(|| function.ty(value).shape().clone());
    let is_one = |value: ValueId| {
        function.ty(value).is_scalar()
            || function.def_op(value).is_some_and(|def| matches!(function.op(def).kind, OpKind::Constant(_) | OpKind::Splat))
    };
    let all = |operands: &[ValueId]| {
        let mut extents = Shape::from_elem(0, shape.len());
        for &operand in operands.iter().filter(|&&operand| !is_one(operand)) {
            extents.iter_mut().zip(&of(operand)).for_each(|(known, part)| *known = (*known).max(*part));
        }
        extents
    };
    Some(match &op.kind {
        OpKind::Compare(predicate) => {
            let (less, more, inclusive) = match predicate {
                Predicate::LtS | Predicate::LtU => (op.operands[0], op.operands[1], 0),
                Predicate::LeS | Predicate::LeU => (op.operands[0], op.operands[1], 1),
                Predicate::GtS | Predicate::GtU => (op.operands[1], op.operands[0], 0),
                Predicate::GeS | Predicate::GeU => (op.operands[1], op.operands[0], 1),
                _ => return None,
            };
            let (d, first) = along(function, facts, less)?;
            // Read without a sign a negative number is a huge one.
            let is_signed = matches!(predicate, Predicate::LtS | Predicate::LeS | Predicate::GtS | Predicate::GeS);
            let bound = facts.affine(more)?.as_constant().filter(|&bound| is_signed || bound >= 0)?;
            let mut extents = shape.clone();
            let most = extents.get_mut(usize::from(d))?;
            *most = u32::try_from(bound.saturating_add(inclusive).saturating_sub(first).max(0)).unwrap_or(u32::MAX).min(*most);
            extents
        }
        OpKind::Binary(BinaryOp::And | BinaryOp::MulI) if function.ty(result).elem().bits() == 1 => {
            let (mut a, b) = (of(op.operands[0]), of(op.operands[1]));
            a.iter_mut().zip(&b).for_each(|(a, b)| *a = (*a).min(*b));
            a
        }
        OpKind::Load(_) => {
            let mut extents = of(*op.operands.get(1)?);
            if let Some(&other) = op.operands.get(2) {
                extents.iter_mut().zip(&all(&[other])).for_each(|(known, part)| *known = (*known).max(*part));
            }
            extents
        }
        OpKind::ExpandDims { axis } => {
            let mut extents = of(op.operands[0]);
            extents.insert(usize::from(*axis), 1);
            extents
        }
        OpKind::Broadcast => {
            let source = function.ty(op.operands[0]).shape();
            let part = of(op.operands[0]);
            (0..shape.len()).map(|d| if source[d] == shape[d] { part[d] } else { shape[d] * part[d].min(1) }).collect()
        }
        OpKind::Transpose { order } => {
            let part = of(op.operands[0]);
            order.iter().map(|&d| part[usize::from(d)]).collect()
        }
        OpKind::Reduce { axis } => {
            let mut extents = of(op.operands[0]);
            extents.remove(usize::from(*axis));
            extents
        }
        OpKind::AddPtr => return None,
        kind if kind.is_elementwise() => all(&op.operands),
        _ => return None,
    })
}

/// The dimension along which a value counts up by one, and where it begins at least.
fn along(function: &Function, facts: &Facts, value: ValueId) -> Option<(u8, i64)> {
    let form = facts.affine(value)?;
    let mut dim = None;
    for term in &form.terms {
        match (term.dim, term.coefficient) {
            // How far a loop comes whose step is not known nobody knows.
            (None, _) if term.symbols.len() > 1 && term.symbols.iter().any(|symbol| matches!(symbol, Symbol::Trip(_))) => {
                return None;
            }
            (None, _) => {}
            (Some(d), 1) if dim.is_none() && term.symbols.is_empty() => dim = Some(d),
            _ => return None,
        }
    }
    let range = facts.range(value);
    let may_wrap = range == Range::of_type(function.ty(value));
    Some((dim?, range.min)).filter(|_| !may_wrap)
}
