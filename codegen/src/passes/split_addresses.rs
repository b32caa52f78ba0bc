//! Addresses as one scalar pointer and a tile of small offsets; index arithmetic of 64 bits in 32 where it fits.
//!
//! What all elements of an offset share (a program's share of the rows, a batch's stride) is added to the scalar pointer, once. What is
//! left counts from the tile's first element: it needs 32 bits, and is one thread's part plus constants that fit into instructions. Offsets of 64 bits
//! of few elements outside loops stay whole.
//! A comparison of 64-bit indices with a bound is one of 32 bits if both fit. Else it compares what is left with what is left of the bound, which
//! is cut to 32 bits first where a thread compares so many numbers that it is worth it. A quotient of a sum of 64 bits by a number that does not
//! divide what is shared is that of the shared part, once, and one of 32 bits of what is left. Loads that `pipeline_loops` finds to be
//! blocks keep their addresses and masks: it finds them by these, and nothing computes them in the end.
//!
//! **Invariant:** every address and every comparison is what it was: 64-bit sums are taken apart exactly, 32-bit ones where they do not wrap
//! (as [`tritium_tile::facts`] understands it: sums of natural numbers, and their parts, do not), and narrowing is proved by ranges.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use tritium_tile::{
    BlockId, Elem, Function, Module, OpId, OpKind, Scalar, Shape, Type, ValueId,
    facts::{self, Facts},
    ops::{BinaryOp, CastOp, Constant, DescriptorSource, Op, Origin, Predicate},
    rewrite,
};

use super::{CompileOptions, Pass, Unsupported, pipeline_loops::window, use_wgmma};

pub static PASS: Pass = Pass {
    name: "split_addresses",
    summary: "Take what a tile of offsets shares into its scalar pointer.",
    needs: &[],
    gives: &[],
    run,
};

/// Sums deeper than this are left as they are.
const DEPTH: u32 = 24;
/// More than any memory has elements.
const LOADED_INDEX: i128 = 1 << 48;
/// Operations between a bound and what it is loaded by, at most: each may have two operands.
const INDEX_DEPTH: u32 = 8;
/// Elements of a mask for each thread from which on a bound of 64 bits is cut to 32. That takes about ten instructions, one after the other, before
/// the first load can start; a comparison of 64 bits has one more than one of 32, and several elements share one.
const CUT_FROM: u64 = 16;
/// Elements for each thread up to which offsets and comparisons of 64 bits outside loops stay whole: what a program shares is a second chain of 64-bit
/// arithmetic, and so few elements save nothing by it (`bench/ablations.py`). In a loop the scalar pointer is what moves.
const WHOLE_UP_TO: u64 = 4;
/// Elements for each thread from which on a quotient of 64 bits is taken apart where the divisor does not divide what is shared: that is one division
/// of 64 bits more, and all the others have 32 bits.
const DIVIDED_FROM: u64 = 4;
/// Operations between a part of a tile and the whole, at most.
const TILE_DEPTH: u32 = 6;

fn run(module: &mut Module, options: &CompileOptions) -> Result<(), Unsupported> {
    for function in &mut module.functions {
        let facts = facts::of_function(function);
        let known = function.values.len();
        let kept = kept(function, &facts, options);
        let body = function.body;
        let wide_only = feeds_warpgroups(function, options);
        let users = rewrite::users(function);
        let mut rebase = Rebase {
            function,
            wide_only,
            facts,
            known,
            kept,
            bases: FxHashMap::default(),
            shares: FxHashMap::default(),
            quotients: FxHashMap::default(),
            wide: FxHashMap::default(),
            loops: 0,
            placed: Vec::new(),
            origin: Origin::NONE,
            users,
            threads: u64::from(options.launch.num_warps) * 32,
        };
        rebase.block(body);
        rewrite::erase_dead(function);
        rewrite::compact(function);
    }
    Ok(())
}

/// Whether some dot is for warpgroups. They wait for the copies of their trip, and an address that is put together in the loop stands in front
/// of every copy: on an H200 a matrix product of 4096³ takes 12 % longer so. Offsets of 64 bits are taken apart all the same: as they are,
/// they take more registers than a warpgroup's accumulators leave.
fn feeds_warpgroups(function: &Function, options: &CompileOptions) -> bool {
    let mut found = false;
    function.walk(|_, op| {
        found |= matches!(function.op(op).kind, OpKind::Dot { .. }) && use_wgmma::grouping(function, op, options).is_some();
    });
    found
}

/// By op: addresses and comparisons of what `pipeline_loops`, `load_blocks` and `store_blocks` give to the tensor memory accelerator, which computes them
/// itself.
fn kept(function: &Function, facts: &Facts, options: &CompileOptions) -> Vec<bool> {
    let mut kept = vec![false; function.ops.len()];
    let never_negative = |value| facts.range(value).min >= 0;
    let users = rewrite::users(function);
    let is_operand = |load: OpId| match function.op(load).kind {
        OpKind::Load(attrs) if attrs.descriptor != DescriptorSource::None => {
            let multiplies = |&user: &OpId| matches!(function.op(user).kind, OpKind::Dot { .. } | OpKind::Transpose { .. });
            users[function.op(load).results[0].index()].iter().all(multiplies)
        }
        _ => false,
    };
    let mut keep = |access: OpId| {
        let mut pending: Vec<ValueId> = function.op(access).operands.to_vec();
        if matches!(function.op(access).kind, OpKind::Store(_)) {
            // Not what is stored.
            pending.remove(1);
        }
        while let Some(value) = pending.pop() {
            let Some(def) = function.def_op(value) else { continue };
            let op = function.op(def);
            if function.ty(op.results[0]).is_scalar() || std::mem::replace(&mut kept[def.index()], true) {
                continue;
            }
            pending.extend(&op.operands);
        }
    };
    function.walk(|_, id| {
        let op = function.op(id);
        if window::of_store(function, &never_negative, id, options).is_some() {
            keep(id);
        }
        // Of products outside of such loops.
        if is_operand(id) && window::of_load(function, &never_negative, id, options).is_some() {
            keep(id);
        }
        let (OpKind::For(attrs), Some(&region)) = (&op.kind, op.regions.first()) else { return };
        let body = &function.block(region).ops;
        let dots = body.iter().any(|&op| matches!(function.op(op).kind, OpKind::Dot { .. }));
        if !dots || attrs.num_stages.unwrap_or(options.launch.num_stages) < 2 {
            return;
        }
        for &load in body {
            if window::of_load(function, &never_negative, load, options).is_some() {
                keep(load);
            }
        }
    });
    kept
}

/// A pointer tile: a scalar, and the offsets that are added to it one after the other.
#[derive(Clone)]
struct Base {
    pointer: ValueId,
    offsets: SmallVec<[ValueId; 2]>,
}

/// An integer tile as the sum of what its elements share and the rest; an absent part is 0.
#[derive(Clone, Copy)]
struct Parts {
    shared: Option<ValueId>,
    rest: Option<ValueId>,
}

/// A quotient or a remainder of `shared + rest`.
#[derive(Clone, Copy)]
struct Parted {
    /// A scalar.
    shared: ValueId,
    rest: ValueId,
    divisor: i64,
    /// The divisor divides what is shared.
    divides: bool,
}

struct Rebase<'f> {
    function: &'f mut Function,
    /// Leave offsets of 32 bits as they are.
    wide_only: bool,
    facts: Facts,
    /// Values below this number are known to `facts`; the others are made here, of those.
    known: usize,
    /// By op, of those known.
    kept: Vec<bool>,
    bases: FxHashMap<ValueId, Base>,
    /// Answers of [`Self::has_shared`].
    shares: FxHashMap<ValueId, bool>,
    /// What is left of a quotient without its shared part: the sum that is divided, and the number.
    quotients: FxHashMap<ValueId, (ValueId, i64)>,
    /// By an offset that was narrowed, what it was.
    wide: FxHashMap<ValueId, ValueId>,
    /// By value, of those known.
    users: Vec<Vec<OpId>>,
    /// Of a CTA.
    threads: u64,
    /// Loops around the op that is looked at.
    loops: u32,
    /// Ops to stand in front of the op that is looked at.
    placed: Vec<OpId>,
    origin: Origin,
}

/// The sums, differences or products of numbers from two intervals.
fn combined(kind: BinaryOp, (a0, a1): (i128, i128), (b0, b1): (i128, i128)) -> (i128, i128) {
    match kind {
        BinaryOp::AddI => (a0 + b0, a1 + b1),
        BinaryOp::SubI => (a0 - b1, a1 - b0),
        _ => {
            let corners = [a0 * b0, a0 * b1, a1 * b0, a1 * b1];
            (corners.into_iter().fold(i128::MAX, i128::min), corners.into_iter().fold(i128::MIN, i128::max))
        }
    }
}

impl Rebase<'_> {
    fn block(&mut self, block: BlockId) {
        let ops = std::mem::take(&mut self.function.block_mut(block).ops);
        let mut out = Vec::with_capacity(ops.len());
        for id in ops {
            let op = self.function.op(id).clone();
            self.origin = op.origin;
            match &op.kind {
                _ if self.kept.get(id.index()) == Some(&true) => {}
                OpKind::Splat => self.splat(&op),
                OpKind::AddPtr => self.add_pointer(id, &op),
                OpKind::Broadcast | OpKind::ExpandDims { .. } => self.reshape_pointer(&op),
                OpKind::Compare(predicate) => self.compare(id, &op, *predicate),
                _ => {}
            }
            out.append(&mut self.placed);
            out.push(id);
            let loops = u32::from(matches!(op.kind, OpKind::For(_) | OpKind::While { .. }));
            self.loops += loops;
            for &region in &op.regions {
                self.block(region);
            }
            self.loops -= loops;
        }
        self.function.block_mut(block).ops = out;
    }

    fn make(&mut self, kind: OpKind, operands: &[ValueId], ty: Type) -> ValueId {
        let op = self.function.create_op(kind, operands, [ty], &[], self.origin);
        self.placed.push(op);
        self.function.op(op).results[0]
    }

    fn number(&mut self, n: i64, elem: Elem) -> ValueId {
        self.make(OpKind::Constant(Constant::Int(n)), &[], Type::tile(elem, &[][..]))
    }

    fn def(&self, value: ValueId) -> Option<&Op> {
        self.function.def_op(value).map(|op| self.function.op(op))
    }

    fn shape(&self, value: ValueId) -> Shape {
        self.function.ty(value).shape().clone()
    }

    fn like(&self, value: ValueId, elem: Scalar) -> Type {
        Type::tile(Elem::Scalar(elem), self.function.ty(value).shape().as_slice())
    }

    fn is_natural(&self, value: ValueId) -> bool {
        value.index() < self.known && self.facts.is_natural(value)
    }

    // ---- pointers

    fn is_pointer_tile(&self, value: ValueId) -> bool {
        let ty = self.function.ty(value);
        !ty.is_scalar() && ty.elem().pointee().is_some()
    }

    fn splat(&mut self, op: &Op) {
        if self.is_pointer_tile(op.results[0]) {
            self.bases.insert(op.results[0], Base { pointer: op.operands[0], offsets: SmallVec::new() });
        }
    }

    /// The same pointers, more of them.
    fn reshape_pointer(&mut self, op: &Op) {
        let Some(base) = self.bases.get(&op.operands[0]).cloned() else { return };
        let shape = self.shape(op.results[0]);
        let mut offsets = SmallVec::new();
        for offset in base.offsets {
            let ty = Type::tile(self.function.ty(offset).elem(), shape.as_slice());
            offsets.push(self.make(op.kind.clone(), &[offset], ty));
        }
        self.bases.insert(op.results[0], Base { offsets, ..base });
    }

    fn add_pointer(&mut self, id: OpId, op: &Op) {
        let result = op.results[0];
        if !self.is_pointer_tile(result) {
            return;
        }
        let offset = op.operands[1];
        let wide = self.function.ty(offset).elem() == Elem::Scalar(Scalar::I64);
        if self.wide_only && !wide {
            return;
        }
        let is_few = self.loops == 0 && self.elements_per_thread(result) <= WHOLE_UP_TO;
        let stays_whole = wide && is_few && !self.has_narrow_quotient(offset, 0);
        let Some(mut base) = self.bases.get(&op.operands[0]).filter(|_| !stays_whole).cloned() else {
            if let Some(narrow) = self.narrow(offset).filter(|_| wide) {
                self.function.op_mut(id).operands[1] = narrow;
            }
            return;
        };
        // A 32-bit sum is taken apart only if it does not wrap on its way to 64.
        let parts = match wide || self.is_natural(offset) {
            true => self.split(offset),
            false => Parts { shared: None, rest: Some(offset) },
        };
        if let Some(shared) = parts.shared {
            let ty = self.function.ty(base.pointer).clone();
            base.pointer = self.make(OpKind::AddPtr, &[base.pointer, shared], ty);
        }
        if let Some(mut rest) = parts.rest {
            // The columns first: what a thread has of them is one address for all its elements, and constants.
            if let Some((rows, columns)) = base.offsets.last().copied().and_then(|last| self.joined(last, rest)) {
                base.offsets.pop();
                let columns = self.narrowed(columns);
                base.offsets.push(columns);
                rest = rows;
            }
            let rest = self.narrowed(rest);
            match base.offsets.last().copied() {
                // Both count from the tile's first element.
                Some(last) if self.is_relative(last, 0) && self.is_relative(rest, 0) => {
                    let ty = self.function.ty(last).clone();
                    base.offsets.pop();
                    base.offsets.push(self.make(OpKind::Binary(BinaryOp::AddI), &[last, rest], ty));
                }
                _ => base.offsets.push(rest),
            }
        }
        let ty = self.function.ty(result).clone();
        let mut operands: SmallVec<[ValueId; 4]> = SmallVec::from_slice(&[base.pointer]);
        let mut kind = OpKind::Splat;
        for &offset in &base.offsets {
            let pointers = self.make(kind, &operands, ty.clone());
            kind = OpKind::AddPtr;
            operands = SmallVec::from_slice(&[pointers, offset]);
        }
        let op = self.function.op_mut(id);
        op.kind = kind;
        op.operands = operands;
        self.bases.insert(result, base);
    }

    // ---- sums

    /// There is something that all elements share, beside something that they do not or nothing.
    fn has_shared(&mut self, value: ValueId, depth: u32) -> bool {
        if let Some(&answer) = self.shares.get(&value) {
            return answer;
        }
        let Some(op) = self.def(value).cloned().filter(|_| depth < DEPTH) else { return false };
        let answer = match &op.kind {
            OpKind::Splat => true,
            OpKind::Constant(Constant::Int(n)) => *n != 0,
            OpKind::Binary(BinaryOp::AddI | BinaryOp::SubI) => {
                self.has_shared(op.operands[0], depth + 1) || self.has_shared(op.operands[1], depth + 1)
            }
            OpKind::Binary(BinaryOp::MulI) => {
                (self.is_uniform(op.operands[1]) && self.has_shared(op.operands[0], depth + 1))
                    || (self.is_uniform(op.operands[0]) && self.has_shared(op.operands[1], depth + 1))
            }
            OpKind::Broadcast | OpKind::ExpandDims { .. } => self.has_shared(op.operands[0], depth + 1),
            OpKind::Binary(BinaryOp::DivS | BinaryOp::RemS) => self.parted(&op).is_some(),
            // The sum must not wrap in 32 bits.
            OpKind::Cast(CastOp::ExtS) => {
                let source = op.operands[0];
                (self.is_uniform(source) || self.is_natural(source))
                    && self.function.ty(source).elem().bits() >= 32
                    && self.has_shared(source, depth + 1)
            }
            _ => false,
        };
        self.shares.insert(value, answer);
        answer
    }

    fn is_uniform(&self, value: ValueId) -> bool {
        matches!(self.def(value).map(|op| &op.kind), Some(OpKind::Splat | OpKind::Constant(_)))
    }

    fn split(&mut self, value: ValueId) -> Parts {
        let opaque = Parts { shared: None, rest: Some(value) };
        if !self.has_shared(value, 0) {
            return opaque;
        }
        let Some(op) = self.def(value).cloned() else { return opaque };
        let ty = self.function.ty(value).clone();
        let elem = ty.elem();
        let scalar = Type::tile(elem, &[][..]);
        match &op.kind {
            OpKind::Splat => Parts { shared: Some(op.operands[0]), rest: None },
            OpKind::Constant(Constant::Int(n)) => Parts { shared: Some(self.number(*n, elem)), rest: None },
            OpKind::Binary(kind @ (BinaryOp::AddI | BinaryOp::SubI)) => {
                let (a, b) = (self.split(op.operands[0]), self.split(op.operands[1]));
                Parts { shared: self.combine(*kind, a.shared, b.shared, &scalar), rest: self.combine(*kind, a.rest, b.rest, &ty) }
            }
            OpKind::Binary(BinaryOp::MulI) => {
                let (sum, factor) = if self.is_uniform(op.operands[1]) { (0, 1) } else { (1, 0) };
                let sum = self.split(op.operands[sum]);
                let factor = op.operands[factor];
                let Some(scale) = self.split_uniform(factor) else { return opaque };
                Parts {
                    shared: sum.shared.map(|s| self.make(OpKind::Binary(BinaryOp::MulI), &[s, scale], scalar)),
                    rest: sum.rest.map(|r| self.make(OpKind::Binary(BinaryOp::MulI), &[r, factor], ty)),
                }
            }
            OpKind::Binary(kind @ (BinaryOp::DivS | BinaryOp::RemS)) => {
                let Some(parted) = self.parted(&op) else { return opaque };
                if !parted.divides {
                    return self.split_quotient(*kind, &op, parted).unwrap_or(opaque);
                }
                let Parted { shared, rest, divisor, .. } = parted;
                let rest = self.make(op.kind.clone(), &[rest, op.operands[1]], ty);
                if *kind == BinaryOp::RemS {
                    return Parts { shared: None, rest: Some(rest) };
                }
                let divisor = self.number(divisor, elem);
                Parts { shared: Some(self.make(op.kind.clone(), &[shared, divisor], scalar)), rest: Some(rest) }
            }
            OpKind::Broadcast | OpKind::ExpandDims { .. } => {
                let source = self.split(op.operands[0]);
                Parts { rest: source.rest.map(|r| self.make(op.kind.clone(), &[r], ty)), ..source }
            }
            OpKind::Cast(CastOp::ExtS) => {
                let source = self.split(op.operands[0]);
                Parts {
                    shared: source.shared.map(|s| self.make(op.kind.clone(), &[s], scalar)),
                    rest: source.rest.map(|r| self.make(op.kind.clone(), &[r], ty)),
                }
            }
            _ => opaque,
        }
    }

    /// `(s + r) / d` as `s / d + (s % d + r) / d`: one quotient of 64 bits for all elements, and for each one of 32. The remainder is what is left over
    /// of `s` and `r` without so many divisors.
    fn split_quotient(&mut self, kind: BinaryOp, op: &Op, Parted { shared, rest, divisor, .. }: Parted) -> Option<Parts> {
        let ty = self.function.ty(rest).clone();
        let scalar = Type::scalar(Scalar::I64);
        let number = self.number(divisor, ty.elem());
        let over = self.make(OpKind::Binary(BinaryOp::RemS), &[shared, number], scalar.clone());
        let overs = self.make(OpKind::Splat, &[over], ty.clone());
        let sum = self.make(OpKind::Binary(BinaryOp::AddI), &[overs, rest], ty.clone());
        let quotient = self.make(OpKind::Binary(BinaryOp::DivS), &[sum, op.operands[1]], ty.clone());
        let narrow = self.narrow(quotient)?;
        let quotient = self.make(OpKind::Cast(CastOp::ExtS), &[narrow], ty.clone());
        self.quotients.insert(quotient, (op.operands[0], divisor));
        if kind == BinaryOp::DivS {
            let shared = self.make(op.kind.clone(), &[shared, number], scalar);
            return Some(Parts { shared: Some(shared), rest: Some(quotient) });
        }
        let whole = self.make(OpKind::Binary(BinaryOp::MulI), &[quotient, op.operands[1]], ty.clone());
        let rest = self.make(OpKind::Binary(BinaryOp::SubI), &[rest, whole], ty);
        Some(Parts { shared: Some(over), rest: Some(rest) })
    }

    /// Rows `q·s` and columns `r - q·d` of the same quotient as `q·(s - d)` and `r`: neither is multiplied by the divisor.
    fn joined(&mut self, rows: ValueId, columns: ValueId) -> Option<(ValueId, ValueId)> {
        let rows = self.wide.get(&rows).copied().unwrap_or(rows);
        let (row, column) = (self.def(rows)?.clone(), self.def(columns)?.clone());
        if row.kind != OpKind::Binary(BinaryOp::MulI) || column.kind != OpKind::Binary(BinaryOp::SubI) {
            return None;
        }
        let whole = self.def(column.operands[1])?.clone();
        let quotient = row.operands[0];
        let &(sum, divisor) = self.quotients.get(&quotient)?;
        if whole.kind != OpKind::Binary(BinaryOp::MulI) || self.quotients.get(&whole.operands[0]) != Some(&(sum, divisor)) {
            return None;
        }
        let ty = self.function.ty(rows).clone();
        let step = self.split_uniform(row.operands[1])?;
        let divisor = self.number(divisor, ty.elem());
        let step = self.make(OpKind::Binary(BinaryOp::SubI), &[step, divisor], Type::scalar(Scalar::I64));
        let step = self.make(OpKind::Splat, &[step], ty.clone());
        Some((self.make(OpKind::Binary(BinaryOp::MulI), &[quotient, step], ty), column.operands[0]))
    }

    /// A sum has a quotient or a remainder in it that is taken apart to be one of 32 bits.
    fn has_narrow_quotient(&self, value: ValueId, depth: u32) -> bool {
        let Some(op) = self.def(value).filter(|_| depth < INDEX_DEPTH) else { return false };
        match &op.kind {
            OpKind::Binary(BinaryOp::DivS | BinaryOp::RemS) => self.parted(op).is_some_and(|parted| !parted.divides),
            OpKind::Binary(BinaryOp::AddI | BinaryOp::SubI | BinaryOp::MulI) | OpKind::Broadcast | OpKind::ExpandDims { .. } => {
                op.operands.iter().any(|&operand| self.has_narrow_quotient(operand, depth + 1))
            }
            _ => false,
        }
    }

    /// The parts of a quotient or a remainder of `shared + rest` by a number that divides what is shared. Neither is negative, so the quotient is the
    /// sum of both quotients, and the remainder is that of the rest. Or by one that does not, if it is worth it: what is left over of `shared` and the
    /// rest have 32 bits together. Powers of two are no divisions.
    fn parted(&self, op: &Op) -> Option<Parted> {
        let OpKind::Constant(Constant::Int(divisor)) = self.def(op.operands[1])?.kind else { return None };
        let sum = op.operands[0];
        let OpKind::Binary(BinaryOp::AddI) = self.def(sum)?.kind else { return None };
        let whole = self.function.ty(sum).elem() == Elem::Scalar(Scalar::I64) || self.is_natural(sum);
        let [a, b] = self.def(sum)?.operands[..] else { return None };
        let natural = |value: ValueId| value.index() < self.known && self.facts.range(value).min >= 0;
        let of = |shared: ValueId, rest: ValueId| {
            let scalar = self.def(shared).filter(|op| matches!(op.kind, OpKind::Splat))?.operands[0];
            if divisor <= 0 || !natural(shared) || !natural(rest) {
                return None;
            }
            let divides = self.facts.axis(shared).divisibility[0].is_multiple_of(divisor as u64);
            let most = i128::from(self.facts.range(rest).max);
            let narrows = || {
                !(divisor as u64).is_power_of_two()
                    && i128::from(self.facts.range(shared).max) + most <= i64::MAX.into()
                    && i128::from(divisor) - 1 + most <= i32::MAX.into()
                    && self.function.ty(rest).elem() == Elem::Scalar(Scalar::I64)
                    && self.can_truncate(rest, 0)
                    && self.elements_per_thread(op.results[0]) >= DIVIDED_FROM
            };
            (divides || narrows()).then_some(Parted { shared: scalar, rest, divisor, divides })
        };
        whole.then(|| of(a, b).or_else(|| of(b, a)))?
    }

    /// The scalar that a uniform tile repeats.
    fn split_uniform(&mut self, value: ValueId) -> Option<ValueId> {
        let op = self.def(value)?.clone();
        match op.kind {
            OpKind::Splat => Some(op.operands[0]),
            OpKind::Constant(Constant::Int(n)) => Some(self.number(n, self.function.ty(value).elem())),
            _ => None,
        }
    }

    fn combine(&mut self, kind: BinaryOp, a: Option<ValueId>, b: Option<ValueId>, ty: &Type) -> Option<ValueId> {
        match (a, b) {
            (Some(a), Some(b)) if kind == BinaryOp::AddI => {
                let (a, b) = self.joined(a, b).or_else(|| self.joined(b, a)).unwrap_or((a, b));
                Some(self.make(OpKind::Binary(kind), &[a, b], ty.clone()))
            }
            (Some(a), Some(b)) => Some(self.make(OpKind::Binary(kind), &[a, b], ty.clone())),
            (None, Some(b)) if kind == BinaryOp::SubI => {
                let zero = self.make(OpKind::Constant(Constant::Int(0)), &[], ty.clone());
                Some(self.make(OpKind::Binary(kind), &[zero, b], ty.clone()))
            }
            (a, b) => a.or(b),
        }
    }

    /// A 32-bit tile that is 0 at its first element and counts from there, in steps of anything.
    fn is_relative(&self, value: ValueId, depth: u32) -> bool {
        let Some(op) = self.def(value).filter(|_| depth < DEPTH) else { return false };
        if self.function.ty(value).elem() != Elem::Scalar(Scalar::I32) {
            return false;
        }
        let of = |n: usize| self.is_relative(op.operands[n], depth + 1);
        match &op.kind {
            OpKind::Iota { start, .. } => *start == 0,
            OpKind::Binary(BinaryOp::AddI) => of(0) && of(1),
            OpKind::Binary(BinaryOp::MulI) => {
                of(0) && self.is_uniform(op.operands[1]) || self.is_uniform(op.operands[0]) && of(1)
            }
            OpKind::Binary(BinaryOp::DivS | BinaryOp::RemS) => of(0) && self.is_uniform(op.operands[1]),
            OpKind::Broadcast | OpKind::ExpandDims { .. } => of(0),
            _ => false,
        }
    }

    // ---- narrowing

    /// The numbers a value can be.
    fn interval(&self, value: ValueId, depth: u32) -> (i128, i128) {
        if value.index() < self.known {
            let range = self.facts.range(value);
            return (range.min.into(), range.max.into());
        }
        let unknown = (i64::MIN.into(), i64::MAX.into());
        let Some(op) = self.def(value).filter(|_| depth < DEPTH) else { return unknown };
        let of = |n: usize| self.interval(op.operands[n], depth + 1);
        let full = facts::Range::of_type(self.function.ty(value));
        let interval = match &op.kind {
            OpKind::Constant(Constant::Int(n)) => ((*n).into(), (*n).into()),
            OpKind::Splat | OpKind::Broadcast | OpKind::ExpandDims { .. } | OpKind::Cast(CastOp::ExtS | CastOp::Trunc) => of(0),
            OpKind::Binary(kind @ (BinaryOp::AddI | BinaryOp::SubI | BinaryOp::MulI)) => combined(*kind, of(0), of(1)),
            OpKind::Binary(kind @ (BinaryOp::DivS | BinaryOp::RemS)) => {
                let ((low, high), (least, most)) = (of(0), of(1));
                if low < 0 || least <= 0 {
                    return unknown;
                }
                if *kind == BinaryOp::DivS { (low / most, high / least) } else { (0, high.min(most - 1)) }
            }
            _ => return unknown,
        };
        // What may wrap can be anything.
        let fits = interval.0 >= full.min.into() && interval.1 <= full.max.into();
        if fits { interval } else { (full.min.into(), full.max.into()) }
    }

    /// The numbers a value can be where what is loaded is an index into memory.
    fn plausible(&self, value: ValueId, depth: u32) -> (i128, i128) {
        let known = self.interval(value, 0);
        let full = facts::Range::of_type(self.function.ty(value));
        let full: (i128, i128) = (full.min.into(), full.max.into());
        let Some(op) = self.def(value).filter(|_| depth < INDEX_DEPTH && known == full) else { return known };
        let of = |n: usize| self.plausible(op.operands[n], depth + 1);
        let (min, max) = match &op.kind {
            OpKind::Load(_) => (-LOADED_INDEX, LOADED_INDEX),
            OpKind::Splat | OpKind::Broadcast | OpKind::ExpandDims { .. } | OpKind::Cast(CastOp::ExtS) => of(0),
            OpKind::Binary(kind @ (BinaryOp::AddI | BinaryOp::SubI | BinaryOp::MulI)) => combined(*kind, of(0), of(1)),
            _ => known,
        };
        (min.max(full.0), max.min(full.1))
    }

    /// The same numbers in 32 bits, if it can be had without touching every element.
    fn narrow(&mut self, value: ValueId) -> Option<ValueId> {
        if self.function.ty(value).elem() != Elem::Scalar(Scalar::I64) {
            return None;
        }
        let (min, max) = self.interval(value, 0);
        if min < i32::MIN.into() || max > i32::MAX.into() || !self.can_truncate(value, 0) {
            return None;
        }
        self.truncate(value)
    }

    /// An offset in 32 bits if it can be had so.
    fn narrowed(&mut self, offset: ValueId) -> ValueId {
        let Some(narrow) = self.narrow(offset) else { return offset };
        self.wide.insert(narrow, offset);
        narrow
    }

    fn can_truncate(&self, value: ValueId, depth: u32) -> bool {
        let Some(op) = self.def(value).filter(|_| depth < DEPTH) else { return false };
        let of = |n: usize| self.can_truncate(op.operands[n], depth + 1);
        match &op.kind {
            OpKind::Splat | OpKind::Constant(Constant::Int(_)) => true,
            OpKind::Cast(CastOp::ExtS) => self.function.ty(op.operands[0]).elem() == Elem::Scalar(Scalar::I32),
            OpKind::Binary(BinaryOp::AddI | BinaryOp::SubI | BinaryOp::MulI) => of(0) && of(1),
            // Of natural numbers that have no high half.
            OpKind::Binary(BinaryOp::DivS | BinaryOp::RemS) => {
                let low = |n: usize| {
                    let (min, max) = self.interval(op.operands[n], depth + 1);
                    min >= 0 && max <= i32::MAX.into()
                };
                of(0) && of(1) && low(0) && low(1)
            }
            OpKind::Broadcast | OpKind::ExpandDims { .. } => of(0),
            _ => false,
        }
    }

    /// The low half of each number: sums and products of low halves have the low half of the sum or product, and where there is no high half
    /// quotients do as well.
    fn truncate(&mut self, value: ValueId) -> Option<ValueId> {
        let op = self.def(value)?.clone();
        let ty = self.like(value, Scalar::I32);
        Some(match &op.kind {
            OpKind::Splat => {
                let wide = self.def(op.operands[0]);
                let source = wide.filter(|d| matches!(d.kind, OpKind::Cast(CastOp::ExtS))).map(|d| d.operands[0]);
                let source = source.filter(|&s| self.function.ty(s).elem() == Elem::Scalar(Scalar::I32));
                let scalar = match source {
                    Some(source) => source,
                    None => self.make(OpKind::Cast(CastOp::Trunc), &[op.operands[0]], Type::scalar(Scalar::I32)),
                };
                self.make(OpKind::Splat, &[scalar], ty)
            }
            OpKind::Constant(Constant::Int(n)) => self.make(OpKind::Constant(Constant::Int((*n as i32).into())), &[], ty),
            OpKind::Cast(CastOp::ExtS) => op.operands[0],
            OpKind::Binary(_) => {
                let (a, b) = (self.truncate(op.operands[0])?, self.truncate(op.operands[1])?);
                self.make(op.kind.clone(), &[a, b], ty)
            }
            OpKind::Broadcast | OpKind::ExpandDims { .. } => {
                let source = self.truncate(op.operands[0])?;
                self.make(op.kind.clone(), &[source], ty)
            }
            _ => return None,
        })
    }

    /// How many elements a thread has of the largest tile that a comparison or a tile of pointers becomes part of.
    fn elements_per_thread(&self, part: ValueId) -> u64 {
        let mut most = 0;
        let mut pending: SmallVec<[(ValueId, u32); 4]> = SmallVec::from_slice(&[(part, 0)]);
        while let Some((value, depth)) = pending.pop() {
            most = most.max(self.function.ty(value).num_elements());
            if depth == TILE_DEPTH {
                continue;
            }
            for &user in self.users.get(value.index()).into_iter().flatten() {
                let op = self.function.op(user);
                let grows = matches!(op.kind, OpKind::ExpandDims { .. } | OpKind::Broadcast);
                if grows || matches!(op.kind, OpKind::AddPtr | OpKind::Binary(BinaryOp::And)) {
                    pending.push((op.results[0], depth + 1));
                }
            }
        }
        most.div_ceil(self.threads)
    }

    /// `shared + rest < bound`, in 64 bits, as `rest < bound - shared`, in 32.
    fn compare(&mut self, id: OpId, op: &Op, predicate: Predicate) {
        let [left, right] = op.operands[..] else { return };
        let ty = self.function.ty(left);
        if ty.is_scalar() || ty.elem() != Elem::Scalar(Scalar::I64) {
            return;
        }
        // The side that varies goes left.
        let (sum, bound, predicate) = match self.is_uniform(right) {
            true => (left, right, predicate),
            false if self.is_uniform(left) => {
                let turned = match predicate {
                    Predicate::LtS => Predicate::GtS,
                    Predicate::LeS => Predicate::GeS,
                    Predicate::GtS => Predicate::LtS,
                    Predicate::GeS => Predicate::LeS,
                    Predicate::Eq | Predicate::Ne => predicate,
                    _ => return,
                };
                (right, left, turned)
            }
            false => return self.compare_sums(id, op, predicate),
        };
        // A bound beyond all that is compared with it may be brought to its edge.
        let above: i128 = match predicate {
            Predicate::LtS | Predicate::GeS => 1,
            Predicate::LeS | Predicate::GtS => 0,
            Predicate::Eq | Predicate::Ne => return self.compare_equal(id, op, sum, bound, predicate),
            _ => return,
        };
        let few = self.elements_per_thread(op.results[0]) < CUT_FROM;
        if few && let (Some(left), Some(right)) = (self.narrow(sum), self.narrow(bound)) {
            let op = self.function.op_mut(id);
            op.kind = OpKind::Compare(predicate);
            op.operands = SmallVec::from_slice(&[left, right]);
            return;
        }
        let parts = self.split(sum);
        let (Some(rest), Some(bound)) = (parts.rest, self.split_uniform(bound)) else { return };
        let apart = parts.shared.map_or((0, 0), |s| self.interval(s, 0));
        let (min, max) = self.interval(rest, 0);
        let full = (i128::from(i32::MIN) + 1, i128::from(i32::MAX) - 1);
        let small = |value| self.is_small(value);
        if !small(sum) || !parts.shared.is_none_or(small) || !small(bound) || min < full.0 || max > full.1 {
            return;
        }
        let Some(narrow) = self.narrow(rest) else { return };
        let wide = Elem::Scalar(Scalar::I64);
        let scalar = Type::scalar(Scalar::I64);
        // Where all elements agree the first one, whose rest is 0, speaks for all.
        let result = op.results[0];
        let constancy = &self.facts.axis(result).constancy;
        let agree = constancy.iter().zip(self.function.ty(result).shape()).all(|(&run, &extent)| run >= u64::from(extent));
        if let Some(shared) = parts.shared.filter(|_| agree && self.is_relative(narrow, 0)) {
            let first = self.make(OpKind::Compare(predicate), &[shared, bound], Type::scalar(Scalar::I1));
            let op = self.function.op_mut(id);
            op.kind = OpKind::Splat;
            op.operands = SmallVec::from_slice(&[first]);
            return;
        }
        if self.loops == 0 && self.elements_per_thread(result) <= WHOLE_UP_TO && !self.has_narrow_quotient(sum, 0) {
            return;
        }
        let mut left_of_bound = bound;
        if let Some(shared) = parts.shared {
            left_of_bound = self.make(OpKind::Binary(BinaryOp::SubI), &[bound, shared], scalar.clone());
        }
        // What the block has beyond every bound is cut off while compiling, once the bound says so.
        let most = self.interval(bound, 0).1 - apart.0;
        if few {
            if parts.shared.is_some() && predicate == Predicate::LtS && most <= max {
                let edge = self.number(most as i64, wide);
                left_of_bound = self.make(OpKind::Binary(BinaryOp::MinS), &[left_of_bound, edge], scalar);
            }
            let ty = self.like(sum, Scalar::I64);
            let left = self.make(OpKind::Cast(CastOp::ExtS), &[narrow], ty.clone());
            let right = self.make(OpKind::Splat, &[left_of_bound], ty);
            let op = self.function.op_mut(id);
            op.kind = OpKind::Compare(predicate);
            op.operands = SmallVec::from_slice(&[left, right]);
            return;
        }
        let low = self.cut(left_of_bound, min - 1 + above, (max + above).min(most));
        let ty = self.like(sum, Scalar::I32);
        let bound = self.make(OpKind::Splat, &[low], ty);
        let op = self.function.op_mut(id);
        op.kind = OpKind::Compare(predicate);
        op.operands = SmallVec::from_slice(&[narrow, bound]);
    }

    /// `shared + rest == bound`, in 64 bits, as `rest == bound - shared`, in 32: that holds however the sum wraps. Beyond all elements, the distance is
    /// brought to where none is.
    fn compare_equal(&mut self, id: OpId, op: &Op, sum: ValueId, bound: ValueId, predicate: Predicate) {
        if self.elements_per_thread(op.results[0]) < CUT_FROM {
            return;
        }
        let parts = self.split(sum);
        let (Some(rest), Some(bound)) = (parts.rest, self.split_uniform(bound)) else { return };
        let (min, max) = self.interval(rest, 0);
        if min <= i32::MIN.into() || max >= i32::MAX.into() {
            return;
        }
        let Some(narrow) = self.narrow(rest) else { return };
        let apart = match parts.shared {
            Some(shared) => self.make(OpKind::Binary(BinaryOp::SubI), &[bound, shared], Type::scalar(Scalar::I64)),
            None => bound,
        };
        let apart = self.cut(apart, min - 1, max + 1);
        let ty = self.like(sum, Scalar::I32);
        let apart = self.make(OpKind::Splat, &[apart], ty);
        let op = self.function.op_mut(id);
        op.kind = OpKind::Compare(predicate);
        op.operands = SmallVec::from_slice(&[narrow, apart]);
    }

    /// A number of 64 bits brought to the nearer edge where it is beyond them, in 32 bits. In loops LLVM is not told what it is made of
    /// (`llvm/elementwise.rs`, which knows it by these operations).
    fn cut(&mut self, mut number: ValueId, least: i128, most: i128) -> ValueId {
        for (kind, edge) in [(BinaryOp::MinS, most), (BinaryOp::MaxS, least)] {
            let edge = self.number(edge as i64, Elem::Scalar(Scalar::I64));
            number = self.make(OpKind::Binary(kind), &[number, edge], Type::scalar(Scalar::I64));
        }
        self.make(OpKind::Cast(CastOp::Trunc), &[number], Type::scalar(Scalar::I32))
    }

    /// Whether sums and differences of such numbers do not wrap.
    fn is_small(&self, value: ValueId) -> bool {
        let (min, max) = self.plausible(value, 0);
        min >= -(1 << 61) && max <= 1 << 61
    }

    /// In a loop `a + x < b + y`, in 64 bits, as `x + (a - b) < y`, in 32: how far both begin from one another is cut to where no element is beyond all
    /// of the other side any more. Outside loops that chain of scalars would be waited for.
    fn compare_sums(&mut self, id: OpId, op: &Op, predicate: Predicate) {
        let [left, right] = op.operands[..] else { return };
        let is_order = matches!(predicate, Predicate::LtS | Predicate::LeS | Predicate::GtS | Predicate::GeS);
        let is_worth_it = self.loops > 0 && self.elements_per_thread(op.results[0]) >= CUT_FROM;
        if !is_order || !is_worth_it || !self.is_small(left) || !self.is_small(right) {
            return;
        }
        let (a, b) = (self.split(left), self.split(right));
        let (Some(x), Some(y)) = (a.rest, b.rest) else { return };
        let wide = Elem::Scalar(Scalar::I64);
        let [begin, end] = [a.shared, b.shared].map(|shared| shared.unwrap_or_else(|| self.number(0, wide)));
        let (of_x, of_y) = (self.interval(x, 0), self.interval(y, 0));
        let (least, most) = (of_y.0 - of_x.1 - 1, of_y.1 - of_x.0 + 1);
        // The sum of what is left and the cut distance fits as well.
        let fits = |value: i128| i32::try_from(value).is_ok();
        if ![least + of_x.0, most + of_x.1, least, most].into_iter().all(fits) || !self.is_small(begin) || !self.is_small(end) {
            return;
        }
        let (Some(x), Some(y)) = (self.narrow(x), self.narrow(y)) else { return };
        let apart = self.make(OpKind::Binary(BinaryOp::SubI), &[begin, end], Type::scalar(Scalar::I64));
        let apart = self.cut(apart, least, most);
        let ty = self.like(left, Scalar::I32);
        let apart = self.make(OpKind::Splat, &[apart], ty.clone());
        let x = self.make(OpKind::Binary(BinaryOp::AddI), &[x, apart], ty);
        let op = self.function.op_mut(id);
        op.kind = OpKind::Compare(predicate);
        op.operands = SmallVec::from_slice(&[x, y]);
    }
}
