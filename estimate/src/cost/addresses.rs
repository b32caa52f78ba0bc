//! Where a program's loads and stores go: a box of bytes, from a base that depends on the program.
//!
//! An address is a sum of [`Part`]s, found once; a program gives each its numbers. What is taken modulo something (`rows % M`) is a part
//! whose own base wraps: a tile that reaches over the end is as large as any other. **Invariant:** an address that follows from data or
//! from arithmetic that is not followed has no parts, never wrong ones.

use indexmap::IndexMap;
use smallvec::SmallVec;
use tritium_tile::{
    BlockId, Function, OpId, OpKind, ValueDef, ValueId,
    effects::pointee_bytes,
    facts::{Affine, Facts, Symbol},
    layout::tma,
    ops::{BinaryOp, CastOp},
    rewrite, scratch,
};

use super::{Launch, runs::Runs, scalars::Program};

/// Definitions that an address may follow from.
const MAX_DEFINITIONS: u32 = 64;

/// Extents of a box's sides and the distances between neighbours.
pub(super) type Sides = SmallVec<[(i64, u64); 4]>;
/// By a dimension of a form, the access's dimension that it runs along; `None` where its extent is 1.
type Dims = SmallVec<[Option<u8>; 4]>;

/// A form and how often it counts.
#[derive(Clone)]
struct Part<'f> {
    form: &'f Affine,
    /// Factors: a number, and numbers of the program.
    factor: i64,
    factors: SmallVec<[&'f Affine; 1]>,
    dims: Dims,
    modulus: Option<&'f Affine>,
    /// It counts once for every trip of this loop that has run.
    trip: Option<BlockId>,
}

/// The bytes of an access in a program.
pub(super) struct Tile<'f> {
    parts: Vec<Part<'f>>,
    pub bytes: f64,
    pub sides: Sides,
    /// Of the loop whose trips are a side.
    pub body: Option<BlockId>,
}

/// What addresses are looked up in.
pub(super) struct Addresses<'f> {
    pub function: &'f Function,
    pub facts: &'f Facts,
    pub runs: &'f Runs,
    /// The loops around every block.
    owners: Vec<Option<OpId>>,
    /// A program like every other, for what is the same in all of them.
    first: Program<'f>,
}

impl<'f> Addresses<'f> {
    pub(super) fn new(function: &'f Function, facts: &'f Facts, runs: &'f Runs, launch: &'f Launch) -> Addresses<'f> {
        let first = Program::new(function, Some(launch), 0);
        Addresses { function, facts, runs, owners: rewrite::owner_ops(function), first }
    }

    /// `None` if a part of the address depends on what no launch says.
    pub(super) fn tile(&self, access: OpId) -> Option<Tile<'f>> {
        let op = self.function.op(access);
        if matches!(op.kind, OpKind::TmaLoad { .. } | OpKind::TmaStore { .. }) {
            return self.block(access);
        }
        let pointer = op.operands[0];
        let rank = self.function.ty(pointer).shape().len() as u8;
        let mut parts = Vec::new();
        self.gather(pointer, &Part::whole(rank), 0, &mut parts)?;
        self.boxed(parts, (self.function.ty(pointer).shape(), pointee_bytes(self.function, pointer)), &[])
    }

    /// The box that the tensor memory accelerator copies, on every trip.
    fn block(&self, copy: OpId) -> Option<Tile<'f>> {
        let copied = tma::Copied::of(self.function.op(copy))?;
        let buffer = self.function.ty(copied.buffer);
        let unit = scratch::element_bytes(buffer.elem());
        let mut parts = vec![Part { form: self.facts.affine(copied.tensor.base)?, ..Part::whole(0) }];
        let mut sides: Sides = SmallVec::new();
        for ((&stride, &start), &extent) in copied.tensor.strides.iter().zip(copied.starts).zip(buffer.shape().iter()) {
            let step = self.first.scalar(stride)?.wrapping_mul(i64::from(unit));
            parts.push(Part { form: self.facts.affine(start)?, factor: step, ..Part::whole(0) });
            sides.push((step, u64::from(extent)));
        }
        self.boxed(parts, (&[], unit), &sides)
    }

    /// The parts of `value`, which is a part of the access as `like` says.
    fn gather(&self, value: ValueId, like: &Part<'f>, depth: u32, out: &mut Vec<Part<'f>>) -> Option<()> {
        if let Some(form) = self.facts.affine(value) {
            out.push(Part { form, ..like.clone() });
            return Some(());
        }
        if depth > MAX_DEFINITIONS {
            return None;
        }
        let function = self.function;
        let id = match function.value(value).def {
            ValueDef::Result(id, _) => id,
            ValueDef::Argument(block, index) => return self.carried(value, (block, index), like, depth, out),
        };
        let op = function.op(id);
        let mut part = |operand: usize, like: &Part<'f>| self.gather(op.operands[operand], like, depth + 1, out);
        let scaled = |factor: i64| Part { factor: like.factor.wrapping_mul(factor), ..like.clone() };
        match &op.kind {
            OpKind::AddPtr => {
                part(0, like)?;
                let unit = function.ty(value).elem().pointee()?.bytes();
                part(1, &scaled(i64::from(unit)))
            }
            OpKind::Binary(BinaryOp::AddI) => {
                part(0, like)?;
                part(1, like)
            }
            OpKind::Binary(BinaryOp::SubI) => {
                part(0, like)?;
                part(1, &scaled(-1))
            }
            OpKind::Binary(BinaryOp::MulI) => {
                let (side, factor) = match (self.same(op.operands[0]), self.same(op.operands[1])) {
                    (_, Some(factor)) => (0, factor),
                    (Some(factor), None) => (1, factor),
                    (None, None) => return None,
                };
                let mut like = like.clone();
                like.factors.push(factor);
                part(side, &like)
            }
            OpKind::Binary(BinaryOp::RemS | BinaryOp::RemU) if like.modulus.is_none() => {
                let form = self.facts.affine(op.operands[0])?;
                // Trips that wrap are no side of a box.
                if form.terms.iter().flat_map(|term| &term.symbols).any(|s| matches!(s, Symbol::Trip(_))) {
                    return None;
                }
                let modulus = Some(self.same(op.operands[1])?);
                out.push(Part { form, modulus, ..like.clone() });
                Some(())
            }
            OpKind::Splat => part(0, &Part { dims: SmallVec::new(), ..like.clone() }),
            OpKind::Promise { .. } | OpKind::ConvertLayout => part(0, like),
            OpKind::Cast(CastOp::ExtS | CastOp::ExtU | CastOp::PtrCast) => part(0, like),
            OpKind::Broadcast => {
                let from = function.ty(op.operands[0]).shape();
                let grown = from.iter().zip(&like.dims).map(|(&extent, &dim)| dim.filter(|_| extent != 1));
                part(0, &Part { dims: grown.collect(), ..like.clone() })
            }
            OpKind::ExpandDims { axis } => {
                let mut dims = like.dims.clone();
                (usize::from(*axis) < dims.len()).then(|| dims.remove(usize::from(*axis)))?;
                part(0, &Part { dims, ..like.clone() })
            }
            OpKind::Transpose { order } => {
                let mut dims: Dims = SmallVec::from_elem(None, order.len());
                for (&from, &dim) in order.iter().zip(&like.dims) {
                    *dims.get_mut(usize::from(from))? = dim;
                }
                part(0, &Part { dims, ..like.clone() })
            }
            _ => None,
        }
    }

    /// What a loop carries and adds the same to on every trip.
    fn carried(
        &self,
        value: ValueId,
        (block, index): (BlockId, u32),
        like: &Part<'f>,
        depth: u32,
        out: &mut Vec<Part<'f>>,
    ) -> Option<()> {
        let function = self.function;
        let owner = self.owners.get(block.index()).copied().flatten()?;
        let carried = function.for_loop(owner)?.of_argument(index)?;
        if like.trip.is_some() || like.modulus.is_some() {
            return None;
        }
        let next = function.op(function.def_op(carried.next)?);
        let unit = match next.kind {
            OpKind::AddPtr => i64::from(function.ty(value).elem().pointee()?.bytes()),
            OpKind::Binary(BinaryOp::AddI) => 1,
            _ => return None,
        };
        let amount = self.facts.affine(next.operands[1]).filter(|_| next.operands[0] == value)?;
        // Only what the same amount is added to grows evenly.
        if amount.terms.iter().any(|term| term.dim.is_some() || term.symbols.iter().any(|s| matches!(s, Symbol::Trip(_)))) {
            return None;
        }
        out.push(Part { form: amount, factor: like.factor.wrapping_mul(unit), trip: Some(block), ..like.clone() });
        self.gather(carried.init, like, depth + 1, out)
    }

    /// A number that is one for all elements and trips.
    fn same(&self, value: ValueId) -> Option<&'f Affine> {
        let is_same = |form: &&Affine| {
            form.terms.iter().all(|term| term.dim.is_none() && !term.symbols.iter().any(|s| matches!(s, Symbol::Trip(_))))
        };
        self.facts.affine(value).filter(is_same)
    }

    /// The box of parts, beside the sides of it that are known.
    fn boxed(&self, parts: Vec<Part<'f>>, (extents, unit): (&[u32], u32), known: &[(i64, u64)]) -> Option<Tile<'f>> {
        let mut steps: IndexMap<(Option<u8>, Option<BlockId>), i64> = IndexMap::new();
        for part in &parts {
            let factor = part.factor(self.function, &self.first)?;
            for term in &part.form.terms {
                let mut step = term.coefficient.wrapping_mul(factor);
                let (mut trip, dim) = (part.trip, part.dim(term.dim));
                for &symbol in &term.symbols {
                    match symbol {
                        // A product of two loops' trips is no box.
                        Symbol::Trip(body) if trip.is_none() && term.dim.is_none() => trip = Some(body),
                        Symbol::Trip(_) => return None,
                        _ => step = step.wrapping_mul(number(self.function, symbol, &self.first)?),
                    }
                }
                if dim.is_some() || trip.is_some() {
                    let sum = steps.entry((dim, trip)).or_default();
                    *sum = sum.wrapping_add(step);
                }
            }
        }
        let mut sides: Sides = known.iter().map(|&(step, extent)| (step.saturating_abs(), extent)).collect();
        sides.retain(|&mut (step, extent)| step != 0 && extent > 1);
        let body = steps.keys().find_map(|&(_, trip)| trip);
        for ((dim, trip), step) in steps {
            let extent = match (dim, trip) {
                (Some(dim), _) => u64::from(*extents.get(usize::from(dim))?),
                (None, Some(body)) => {
                    let owner = self.owners.get(body.index()).copied().flatten()?;
                    self.runs.trips.get(&owner)?.ceil().max(1.0) as u64
                }
                (None, None) => continue,
            };
            if step != 0 && extent > 1 {
                sides.push((step.saturating_abs(), extent));
            }
        }
        sides.sort_unstable();
        let (mut bytes, mut span) = (f64::from(unit), f64::from(unit));
        for &(step, extent) in &sides {
            let (step, extent) = (step as f64, extent as f64);
            let reach = span + step * (extent - 1.0);
            // Neighbours that overlap or touch fill their span.
            bytes = if step <= span { (bytes * extent).min(reach) } else { bytes * extent };
            span = reach;
        }
        Some(Tile { parts, bytes, sides, body })
    }
}

impl<'f> Part<'f> {
    /// All of an access of this rank.
    fn whole(rank: u8) -> Part<'f> {
        static NOTHING: Affine = Affine { terms: Vec::new() };
        let dims = (0..rank).map(Some).collect();
        Part { form: &NOTHING, factor: 1, factors: SmallVec::new(), dims, modulus: None, trip: None }
    }

    fn dim(&self, dim: Option<u8>) -> Option<u8> {
        self.dims.get(usize::from(dim?)).copied().flatten()
    }

    fn factor(&self, function: &Function, program: &Program) -> Option<i64> {
        let mut product = self.factor;
        for factor in &self.factors {
            product = product.wrapping_mul(start(function, factor, program)?);
        }
        Some(product)
    }
}

impl Tile<'_> {
    /// Where a program's box begins, from the start of its tensor.
    pub(super) fn base(&self, function: &Function, program: &Program) -> Option<i64> {
        let mut sum = 0i64;
        for part in self.parts.iter().filter(|part| part.trip.is_none()) {
            let mut own = start(function, part.form, program)?;
            if let Some(modulus) = part.modulus {
                own = own.checked_rem(start(function, modulus, program)?)?;
            }
            sum = sum.wrapping_add(own.wrapping_mul(part.factor(function, program)?));
        }
        Some(sum)
    }
}

/// A form at index 0 on the first trip.
fn start(function: &Function, form: &Affine, program: &Program) -> Option<i64> {
    let mut sum = 0i64;
    for term in &form.terms {
        if term.dim.is_some() || term.symbols.iter().any(|s| matches!(s, Symbol::Trip(_))) {
            continue;
        }
        let mut product = term.coefficient;
        for &symbol in &term.symbols {
            product = product.wrapping_mul(number(function, symbol, program)?);
        }
        sum = sum.wrapping_add(product);
    }
    Some(sum)
}

fn number(function: &Function, symbol: Symbol, program: &Program) -> Option<i64> {
    match symbol {
        Symbol::Program(axis) => program.pid.get(usize::from(axis)).map(|&n| n as i64),
        Symbol::Programs(axis) => program.grid.get(usize::from(axis)).map(|&n| n as i64),
        Symbol::Trip(_) => None,
        // A tensor starts at its own 0.
        Symbol::Value(value) if function.ty(value).elem().pointee().is_some() => {
            function.params.iter().any(|p| p.value == value).then_some(0)
        }
        Symbol::Value(value) => program.scalar(value),
    }
}
