//! Simplification of a function: constants folded, identities and loops of at most one iteration gone, equal values computed once, invariant ones
//! outside their loops, what is done to a repeated row done to the row, sums of products accumulated by the product.
//!
//! Works at every level and knows no target; a [`Policy`] says how far it goes. **Invariant:** no loop does more than before, no layout changes, and
//! it ends: every rewrite removes an op, makes a branch of a loop or fewer elements of a tile op, or moves an op outward.

mod integers;
mod literals;
mod settled;

use rustc_hash::FxHashMap;

use crate::{
    facts::{self, Facts},
    module::{BlockId, Function, Module, OpId, ValueId},
    ops::{BinaryOp, CastOp, Constant, Op, OpKind, Origin, Predicate},
    rewrite::{self, ValueMap},
    types::{Elem, Scalar, Type},
};

/// How far a compiler simplifies.
pub struct Policy<'a> {
    /// A value whose range is one number is that number; otherwise only literals are. `x * 1.0` is `x`, here and where literals of floats fold.
    pub folds_ranges: bool,
    /// Arithmetic on literals of floats folds.
    pub folds_floats: bool,
    /// Accesses whose mask is false go.
    pub drops_masked_accesses: bool,
    /// Equal ops with regions, such as reductions, are done once.
    pub merges_regions: bool,
    /// Of two products from zero that are added, the first and the second, which one starts at the other.
    pub accumulator: &'a dyn Fn(&Function, &Op, &Op) -> Accumulator,
    /// Whether an invariant op may leave its loop.
    pub may_hoist: &'a dyn Fn(&Function, OpId) -> bool,
}

/// The product of `a + b` that accumulates: it stands where the sum is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accumulator {
    Left,
    Right,
}

impl Policy<'_> {
    /// The only number that a value can be.
    fn known(&self, function: &Function, facts: &Facts, value: ValueId) -> Option<i64> {
        let is_literal = || def(function, value).is_some_and(|op| matches!(op.kind, OpKind::Constant(_)));
        (self.folds_ranges || is_literal()).then(|| facts.range(value).constant()).flatten()
    }
}

/// Rounds until nothing changes; kernels need three or four.
const MAX_ROUNDS: usize = 12;

/// Simplifies every function of a module.
pub fn simplify(module: &mut Module, policy: &Policy<'_>) {
    for function in &mut module.functions {
        for _ in 0..MAX_ROUNDS {
            let mut changed = rewrite_ops(function, policy);
            changed |= merge_equal(function, policy);
            changed |= hoist(function, policy);
            changed |= rewrite::erase_dead(function) > 0;
            if !changed {
                break;
            }
        }
        rewrite::compact(function);
    }
}

/// What a rewrite does to an op.
enum Change {
    /// Its only result is this value.
    Use(ValueId),
    /// Its only result is this constant.
    Constant(Constant),
    /// It becomes this kind with these operands, at the place in the source that this says.
    Become(OpKind, Vec<ValueId>, Origin),
    /// It repeats what this op makes of fewer elements, which have this type but for the element's: of scalars, or of a row.
    Fewer {
        kind: OpKind,
        operands: Vec<Fewer>,
        ty: Type,
        repeat: OpKind,
    },
    Erase,
}

/// The part of a tile that the tile repeats.
#[derive(Clone, Copy)]
enum Fewer {
    Value(ValueId),
    Splat(ValueId),
    Constant(Constant),
}

fn rewrite_ops(function: &mut Function, policy: &Policy<'_>) -> bool {
    let facts = facts::of_function(function);
    let uses = rewrite::use_counts(function);
    let mut sites: Vec<(BlockId, OpId)> = Vec::new();
    function.walk(|block, op| sites.push((block, op)));
    let mut replaced = ValueMap::default();
    let mut new_before: FxHashMap<OpId, Vec<OpId>> = FxHashMap::default();
    let mut erased = vec![false; function.ops.len()];
    let mut changed = false;
    for (block, id) in sites {
        if inline_known_branch(function, &facts, block, id, policy, &mut replaced)
            || settle_short_loop(function, &facts, block, id, policy, &mut replaced)
        {
            changed = true;
            // The block lists have moved; the next round sees the rest.
            break;
        }
        if policy.folds_ranges {
            let is_used = |&(value, _): &(ValueId, ValueId)| uses[value.index()] > 0;
            for (value, same) in settled::settled(function, id).into_iter().filter(is_used) {
                changed = true;
                replaced.insert(value, same);
            }
        }
        if let Some((base, shared, rest)) = share_base(function, &facts, id) {
            changed = true;
            let op = function.op(id).clone();
            let pointer = function.ty(base).clone();
            let scalar = function.create_op(OpKind::AddPtr, &[base, shared], [pointer], &[], op.origin);
            let scalar_value = function.op(scalar).results[0];
            let ty = function.ty(op.operands[0]).clone();
            let splat = function.create_op(OpKind::Splat, &[scalar_value], [ty], &[], op.origin);
            let splat_value = function.op(splat).results[0];
            function.op_mut(id).operands = [splat_value, rest].into_iter().collect();
            new_before.entry(id).or_default().extend([scalar, splat]);
            continue;
        }
        let change = change(function, &facts, id, policy).or_else(|| accumulate(function, &uses, id, policy));
        let Some(change) = change else { continue };
        changed = true;
        let op = function.op(id).clone();
        match change {
            Change::Use(value) => {
                replaced.insert(op.results[0], value);
            }
            Change::Constant(constant) => {
                let op = function.op_mut(id);
                op.kind = OpKind::Constant(constant);
                op.operands.clear();
                op.regions.clear();
            }
            Change::Become(kind, operands, origin) => {
                let op = function.op_mut(id);
                op.kind = kind;
                op.origin = origin;
                op.operands = operands.into_iter().collect();
            }
            Change::Fewer { kind, operands, ty, repeat } => {
                let before = new_before.entry(id).or_default();
                let mut make = |function: &mut Function, kind: OpKind, operands: &[ValueId], elem: Elem| {
                    let new = function.create_op(kind, operands, [ty.with_elem(elem)], &[], op.origin);
                    before.push(new);
                    function.op(new).results[0]
                };
                let mut values = Vec::new();
                for (&tile, fewer) in op.operands.iter().zip(operands) {
                    let elem = function.ty(tile).elem();
                    values.push(match fewer {
                        Fewer::Value(value) => value,
                        Fewer::Splat(value) => make(function, OpKind::Splat, &[value], elem),
                        Fewer::Constant(constant) => make(function, OpKind::Constant(constant), &[], elem),
                    });
                }
                let elem = function.ty(op.results[0]).elem();
                let value = make(function, kind, &values, elem);
                let op = function.op_mut(id);
                op.kind = repeat;
                op.operands = [value].into_iter().collect();
            }
            Change::Erase => erased[id.index()] = true,
        }
    }
    if changed {
        for block in &mut function.blocks {
            let old = std::mem::take(&mut block.ops);
            for op in old {
                if let Some(before) = new_before.get(&op) {
                    block.ops.extend(before);
                }
                if !erased.get(op.index()).copied().unwrap_or(false) {
                    block.ops.push(op);
                }
            }
        }
        rewrite::replace_uses(function, &replaced);
    }
    changed
}

/// `if true`: its region takes its place.
fn inline_known_branch(
    function: &mut Function,
    facts: &Facts,
    block: BlockId,
    id: OpId,
    policy: &Policy<'_>,
    replaced: &mut ValueMap,
) -> bool {
    let op = function.op(id).clone();
    let OpKind::If = op.kind else { return false };
    let Some(taken) = policy.known(function, facts, op.operands[0]) else { return false };
    let region = op.regions[usize::from(taken == 0)];
    let mut ops = std::mem::take(&mut function.block_mut(region).ops);
    let Some(last) = ops.pop() else { return false };
    let passed = function.op(last).operands.clone();
    for (&old, &new) in op.results.iter().zip(&passed) {
        replaced.insert(old, new);
    }
    let list = &mut function.block_mut(block).ops;
    if let Some(at) = list.iter().position(|&other| other == id) {
        list.splice(at..=at, ops);
    }
    true
}

/// How often a loop runs that does not run twice.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Trips {
    Never,
    Once,
    AtMostOnce,
}

fn trips(function: &Function, facts: &Facts, bounds: [ValueId; 3], policy: &Policy<'_>) -> Option<Trips> {
    if !policy.folds_ranges && bounds.iter().any(|&bound| policy.known(function, facts, bound).is_none()) {
        return None;
    }
    let [lower, upper, step] = bounds.map(|bound| facts.range(bound));
    let [begin, end, _] = bounds;
    if lower.min >= upper.max || integers::is_behind_by_at_most(function, facts, begin, end, 0) {
        return Some(Trips::Never);
    }
    if lower.max < upper.min && upper.max.saturating_sub(lower.min) <= step.min {
        return Some(Trips::Once);
    }
    if !policy.folds_ranges || step.min < 1 || !integers::is_behind_by_at_most(function, facts, begin, end, step.min) {
        return None;
    }
    let is_further = integers::distance(function, facts, begin, end).is_some_and(|distance| distance.min > 0);
    Some(if is_further { Trips::Once } else { Trips::AtMostOnce })
}

/// A loop that runs once is its body, and one that never runs passes on what it is given; where it is one of both it is a branch.
fn settle_short_loop(
    function: &mut Function,
    facts: &Facts,
    block: BlockId,
    id: OpId,
    policy: &Policy<'_>,
    replaced: &mut ValueMap,
) -> bool {
    let op = function.op(id).clone();
    let OpKind::For(_) = op.kind else { return false };
    let operands = op.for_operands();
    let Some(trips) = trips(function, facts, operands.bounds(), policy) else { return false };
    let region = op.regions[0];
    let args = std::mem::take(&mut function.block_mut(region).args);
    let initial = std::iter::once(operands.lower).chain(operands.init.iter().copied());
    replaced.extend(args.into_iter().zip(initial));
    let instead = match trips {
        Trips::Never => {
            replaced.extend(op.results.iter().copied().zip(operands.init.iter().copied()));
            Vec::new()
        }
        Trips::Once => {
            let mut ops = std::mem::take(&mut function.block_mut(region).ops);
            let Some(last) = ops.pop() else { return false };
            replaced.extend(op.results.iter().copied().zip(function.op(last).operands.iter().copied()));
            ops
        }
        Trips::AtMostOnce => {
            let bounds = [operands.lower, operands.upper];
            let compare =
                function.create_op(OpKind::Compare(Predicate::LtS), &bounds, [Type::scalar(Scalar::I1)], &[], op.origin);
            let passed = function.create_op(OpKind::Yield, operands.init, [], &[], op.origin);
            let otherwise = function.add_block();
            function.block_mut(otherwise).ops = vec![passed];
            let condition = function.op(compare).results[0];
            let branch = function.op_mut(id);
            branch.kind = OpKind::If;
            branch.operands = [condition].into_iter().collect();
            branch.regions = [region, otherwise].into_iter().collect();
            vec![compare, id]
        }
    };
    let list = &mut function.block_mut(block).ops;
    if let Some(at) = list.iter().position(|&other| other == id) {
        list.splice(at..=at, instead);
    }
    true
}

fn def(function: &Function, value: ValueId) -> Option<&Op> {
    function.def_op(value).map(|op| function.op(op))
}

/// The elements of which an elementwise op can be done instead, if its operands repeat fewer than it has: all of them one, or all of them the
/// same row or column.
fn fewer(function: &Function, op: &Op) -> Option<Change> {
    let of = |value: ValueId| {
        let op = def(function, value)?;
        match op.kind {
            OpKind::Splat => Some((Fewer::Splat(op.operands[0]), None)),
            OpKind::Constant(constant) => Some((Fewer::Constant(constant), None)),
            OpKind::Broadcast => Some((Fewer::Value(op.operands[0]), Some(function.ty(op.operands[0])))),
            _ => None,
        }
    };
    let operands: Vec<_> = op.operands.iter().map(|&value| of(value)).collect::<Option<_>>()?;
    let mut rows = operands.iter().filter_map(|&(_, row)| row);
    let kind = op.kind.clone();
    if let Some(row) = rows.next() {
        // Indices stay whole: accesses are known by their forms.
        let is_float = function.ty(op.results[0]).elem().scalar().is_some_and(Scalar::is_float);
        let ty = row.clone();
        let same = is_float && rows.all(|other| (other.shape(), other.layout()) == (row.shape(), row.layout()));
        let operands = operands.into_iter().map(|(fewer, _)| fewer).collect();
        return same.then_some(Change::Fewer { kind, operands, ty, repeat: OpKind::Broadcast });
    }
    if operands.iter().all(|(fewer, _)| matches!(fewer, Fewer::Constant(_))) {
        return None;
    }
    let scalar = |(fewer, _)| if let Fewer::Splat(value) = fewer { Fewer::Value(value) } else { fewer };
    let operands = operands.into_iter().map(scalar).collect();
    let ty = Type::tile(function.ty(op.results[0]).elem(), &[][..]);
    Some(Change::Fewer { kind, operands, ty, repeat: OpKind::Splat })
}

fn change(function: &Function, facts: &Facts, id: OpId, policy: &Policy<'_>) -> Option<Change> {
    let op = function.op(id);
    let result = *op.results.first().unwrap_or(&ValueId(u32::MAX));
    match &op.kind {
        OpKind::Load(_) => return load(function, facts, id, policy),
        OpKind::Store(_) if op.operands.len() > 2 => {
            return match policy.known(function, facts, op.operands[2]) {
                Some(0) => policy.drops_masked_accesses.then_some(Change::Erase),
                Some(_) => Some(Change::Become(op.kind.clone(), op.operands[..2].to_vec(), op.origin)),
                None => None,
            };
        }
        // Kept for what it promises, which vectorising asks for.
        OpKind::Constant(_) | OpKind::Promise { .. } => return None,
        kind if !kind.is_pure() || op.results.len() != 1 => return None,
        _ => {}
    }
    if policy.folds_ranges
        && let Some(constant) = literals::exact(function, op, &|value| literals::literal(function, value))
    {
        return Some(Change::Constant(constant));
    }
    if !op.regions.is_empty() {
        return None;
    }
    let ty = function.ty(result);
    let int = ty.elem().scalar().is_some_and(Scalar::is_int);
    let folds = policy.folds_ranges || op.operands.iter().all(|&operand| policy.known(function, facts, operand).is_some());
    if int
        && folds
        && let Some(n) = facts.range(result).constant()
    {
        return Some(Change::Constant(Constant::Int(n)));
    }
    if op.kind.is_elementwise() {
        if policy.folds_floats
            && let Some(change) = literals::as_mlir_folds(function, op)
        {
            return Some(change);
        }
        if (policy.folds_ranges || policy.folds_floats)
            && let Some(change) = literals::kept_operand(function, op)
        {
            return Some(change);
        }
        if let Some(change) = identity(function, facts, id, policy) {
            return Some(change);
        }
        return fewer(function, op).filter(|_| !ty.is_scalar());
    }
    let source = *op.operands.first()?;
    match &op.kind {
        OpKind::Splat => match def(function, source)?.kind {
            OpKind::Constant(c) => Some(Change::Constant(c)),
            _ => None,
        },
        OpKind::ConvertLayout if function.ty(source) == ty => Some(Change::Use(source)),
        OpKind::ExpandDims { .. }
        | OpKind::Broadcast
        | OpKind::Reshape { .. }
        | OpKind::Transpose { .. }
        | OpKind::ConvertLayout => {
            if function.ty(source) == ty && !matches!(op.kind, OpKind::Transpose { .. }) {
                return Some(Change::Use(source));
            }
            let repeated = def(function, source)?;
            match repeated.kind {
                OpKind::Splat => Some(Change::Become(OpKind::Splat, repeated.operands.to_vec(), op.origin)),
                OpKind::Constant(constant) => Some(Change::Constant(constant)),
                _ => None,
            }
        }
        _ => None,
    }
}

fn load(function: &Function, facts: &Facts, id: OpId, policy: &Policy<'_>) -> Option<Change> {
    let op = function.op(id);
    let OpKind::Load(attrs) = op.kind else { return None };
    let mask = policy.known(function, facts, *op.operands.get(1)?)?;
    if mask != 0 {
        return Some(Change::Become(op.kind.clone(), vec![op.operands[0]], op.origin));
    }
    let other = *op.operands.get(2).filter(|_| policy.drops_masked_accesses)?;
    (!attrs.volatile && function.ty(other) == function.ty(op.results[0])).then_some(Change::Use(other))
}

fn identity(function: &Function, facts: &Facts, id: OpId, policy: &Policy<'_>) -> Option<Change> {
    let op = function.op(id);
    let ty = function.ty(op.results[0]);
    let constant = |n: usize| match function.ty(op.operands[n]).elem() {
        Elem::Scalar(s) if s.is_int() => policy.known(function, facts, op.operands[n]),
        _ => None,
    };
    let operand = |n: usize| Some(Change::Use(op.operands[n]));
    match &op.kind {
        OpKind::Binary(binary) => {
            let (a, b) = (constant(0), constant(1));
            match binary {
                BinaryOp::AddI | BinaryOp::Or | BinaryOp::Xor if a == Some(0) => operand(1),
                BinaryOp::AddI
                | BinaryOp::SubI
                | BinaryOp::Or
                | BinaryOp::Xor
                | BinaryOp::Shl
                | BinaryOp::ShrS
                | BinaryOp::ShrU
                    if b == Some(0) =>
                {
                    operand(0)
                }
                BinaryOp::MulI if a == Some(1) => operand(1),
                BinaryOp::MulI | BinaryOp::DivS | BinaryOp::DivU if b == Some(1) => operand(0),
                BinaryOp::MulI if a == Some(0) || b == Some(0) => Some(Change::Constant(Constant::Int(0))),
                BinaryOp::Or | BinaryOp::MinS | BinaryOp::MaxS | BinaryOp::MinU | BinaryOp::MaxU
                    if op.operands[0] == op.operands[1] =>
                {
                    operand(0)
                }
                BinaryOp::MulI if policy.folds_ranges => {
                    integers::rounded_down(function, facts, op.operands[0], op.operands[1]).map(Change::Use)
                }
                BinaryOp::MinS | BinaryOp::MaxS if policy.folds_ranges && ty.elem().bits() > 1 => {
                    let (a, b) = (facts.range(op.operands[0]), facts.range(op.operands[1]));
                    let (least, most) = if *binary == BinaryOp::MinS { (a, b) } else { (b, a) };
                    if least.max <= most.min {
                        operand(0)
                    } else if most.max <= least.min {
                        operand(1)
                    } else {
                        None
                    }
                }
                BinaryOp::And => {
                    let all = |n: i64| n == -1 || ty.elem() == Elem::Scalar(Scalar::I1) && n == 1;
                    let never = || policy.folds_ranges && integers::exclude_one_another(function, facts, op.results[0]);
                    if a == Some(0) || b == Some(0) || never() {
                        Some(Change::Constant(Constant::Int(0)))
                    } else if a.is_some_and(all) || op.operands[0] == op.operands[1] {
                        operand(1)
                    } else if b.is_some_and(all) {
                        operand(0)
                    } else {
                        None
                    }
                }
                _ => None,
            }
        }
        OpKind::Select => match constant(0) {
            Some(0) => operand(2),
            Some(_) => operand(1),
            None if op.operands[1] == op.operands[2] => operand(1),
            None => None,
        },
        OpKind::Cast(cast) => {
            let same = function.ty(op.operands[0]) == ty;
            let free = matches!(
                cast,
                CastOp::Bitcast
                    | CastOp::Float
                    | CastOp::FloatRtz
                    | CastOp::ExtS
                    | CastOp::ExtU
                    | CastOp::Trunc
                    | CastOp::PtrCast
            );
            (same && free).then_some(Change::Use(op.operands[0]))
        }
        OpKind::AddPtr => {
            if constant(1) == Some(0) {
                return operand(0);
            }
            None
        }
        _ => None,
    }
}

/// `dot(a, b, 0) + c` becomes `dot(a, b, c)`: the tensor core adds on its policy.
fn accumulate(function: &Function, uses: &[u32], id: OpId, policy: &Policy<'_>) -> Option<Change> {
    let op = function.op(id);
    if !matches!(op.kind, OpKind::Binary(BinaryOp::AddF | BinaryOp::AddI)) {
        return None;
    }
    let zero = |v: ValueId| match def(function, v).map(|d| &d.kind) {
        Some(OpKind::Constant(Constant::Float(x))) => *x == 0.0,
        Some(OpKind::Constant(Constant::Int(n))) => *n == 0,
        _ => false,
    };
    let product = |place: usize| {
        let value = op.operands[place];
        let dot = def(function, value).filter(|d| matches!(d.kind, OpKind::Dot { .. }) && zero(d.operands[2]))?;
        (uses[value.index()] == 1).then_some(dot)
    };
    let (dot, other) = match (product(0), product(1)) {
        (Some(first), Some(second)) => match (policy.accumulator)(function, first, second) {
            Accumulator::Left => (first, 1),
            Accumulator::Right => (second, 0),
        },
        (Some(dot), None) => (dot, 1),
        (None, Some(dot)) => (dot, 0),
        (None, None) => return None,
    };
    Some(Change::Become(dot.kind.clone(), vec![dot.operands[0], dot.operands[1], op.operands[other]], dot.origin))
}

/// `splat(p) + (splat(s) + t)` becomes `splat(p + s) + t`: the part that all threads share is added once, as a scalar.
fn share_base(function: &Function, facts: &Facts, id: OpId) -> Option<(ValueId, ValueId, ValueId)> {
    let op = function.op(id);
    if !matches!(op.kind, OpKind::AddPtr) || function.ty(op.results[0]).is_scalar() {
        return None;
    }
    let splat_of = |v: ValueId| def(function, v).filter(|d| matches!(d.kind, OpKind::Splat)).map(|d| d.operands[0]);
    let base = splat_of(op.operands[0])?;
    let sum = op.operands[1];
    // Sums of natural numbers do not wrap (see `facts`), so the parts may be widened to addresses one by one.
    let add = def(function, sum).filter(|d| matches!(d.kind, OpKind::Binary(BinaryOp::AddI)) && facts.is_natural(sum))?;
    let (a, b) = (add.operands[0], add.operands[1]);
    match (splat_of(a), splat_of(b)) {
        (Some(shared), None) => Some((base, shared, b)),
        (None, Some(shared)) => Some((base, shared, a)),
        _ => None,
    }
}

/// Equal pure ops become one, along the tree of regions.
fn merge_equal(function: &mut Function, policy: &Policy<'_>) -> bool {
    let mut replaced = ValueMap::default();
    let mut scopes: Vec<FxHashMap<String, OpId>> = Vec::new();
    merge_block(function, function.body, policy, &mut scopes, &mut replaced);
    rewrite::replace_uses(function, &replaced);
    !replaced.is_empty()
}

fn merge_block(
    function: &Function,
    block: BlockId,
    policy: &Policy<'_>,
    scopes: &mut Vec<FxHashMap<String, OpId>>,
    replaced: &mut ValueMap,
) {
    scopes.push(FxHashMap::default());
    for &id in &function.block(block).ops {
        let op = function.op(id);
        for &region in &op.regions {
            merge_block(function, region, policy, scopes, replaced);
        }
        if !op.kind.is_pure() || op.results.is_empty() || !policy.merges_regions && !op.regions.is_empty() {
            continue;
        }
        let operands: Vec<ValueId> = op.operands.iter().map(|v| *replaced.get(v).unwrap_or(v)).collect();
        let mut key = format!("{:?} {:?} {:?}", op.kind, operands, function.ty(op.results[0]));
        for &region in &op.regions {
            write_region(function, region, replaced, &mut FxHashMap::default(), &mut key);
        }
        match scopes.iter().rev().find_map(|scope| scope.get(&key)) {
            Some(&first) => {
                for (&old, &new) in op.results.iter().zip(&function.op(first).results) {
                    replaced.insert(old, new);
                }
            }
            None => {
                if let Some(scope) = scopes.last_mut() {
                    scope.insert(key, id);
                }
            }
        }
    }
    scopes.pop();
}

/// A region in words that are the same for another one that does the same: what it makes itself is numbered from its start.
fn write_region(
    function: &Function,
    region: BlockId,
    replaced: &ValueMap,
    names: &mut FxHashMap<ValueId, usize>,
    out: &mut String,
) {
    use std::fmt::Write;
    let block = function.block(region);
    for &arg in &block.args {
        let name = names.len();
        names.insert(arg, name);
        let _ = write!(out, " ({:?})", function.ty(arg));
    }
    for op in block.ops.iter().map(|&id| function.op(id)) {
        let _ = write!(out, " {:?}", op.kind);
        for operand in &op.operands {
            let operand = replaced.get(operand).unwrap_or(operand);
            let _ = match names.get(operand) {
                Some(name) => write!(out, " %{name}"),
                None => write!(out, " {operand:?}"),
            };
        }
        for &inner in &op.regions {
            write_region(function, inner, replaced, names, out);
        }
        for &result in &op.results {
            let name = names.len();
            names.insert(result, name);
        }
    }
}

/// Pure ops whose operands come from outside a loop move in front of it.
fn hoist(function: &mut Function, policy: &Policy<'_>) -> bool {
    let facts = facts::of_function(function);
    let mut loops: Vec<(BlockId, OpId)> = Vec::new();
    function.walk(|block, op| {
        if function.op(op).kind.is_loop() {
            loops.push((block, op));
        }
    });
    let mut changed = false;
    // Inner loops first, so that an op can leave several in one round.
    for (block, id) in loops.into_iter().rev() {
        let mut inside = rewrite::values_inside(function, &function.op(id).regions);
        let mut hoisted = Vec::new();
        for &region in &function.op(id).regions.clone() {
            let ops = std::mem::take(&mut function.block_mut(region).ops);
            let mut kept = Vec::with_capacity(ops.len());
            for op in ops {
                let this = function.op(op);
                let safe = match this.kind {
                    // A division that the loop may never reach must not be reached by zero.
                    OpKind::Binary(BinaryOp::DivS | BinaryOp::DivU | BinaryOp::RemS | BinaryOp::RemU) => {
                        let divisor = facts.range(this.operands[1]);
                        divisor.min > 0 || divisor.max < -1
                    }
                    _ => true,
                };
                let is_invariant = !this.operands.iter().any(|v| inside[v.index()]);
                if safe && this.kind.is_pure() && is_invariant && (policy.may_hoist)(function, op) {
                    this.results.iter().for_each(|r| inside[r.index()] = false);
                    hoisted.push(op);
                } else {
                    kept.push(op);
                }
            }
            function.block_mut(region).ops = kept;
        }
        if !hoisted.is_empty() {
            changed = true;
            let list = &mut function.block_mut(block).ops;
            if let Some(at) = list.iter().position(|&other| other == id) {
                list.splice(at..at, hoisted);
            }
        }
    }
    changed
}
