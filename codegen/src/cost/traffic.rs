//! Bytes that DRAM must move, of those that programs ask for.
//!
//! The addresses of a load or store are a box: the tile's dimensions and the trips of the loops around it, from a base that depends on the
//! program. Programs that run at once (a wave) and have the same box share its bytes through L2; the next wave finds them there if both
//! waves' bytes fit [`KEPT`] of it. Where all tensors of a launch fit, each moves once.
//!
//! **Invariant:** never more than is asked for; what follows from data in memory moves once per tensor and says so.

use indexmap::IndexMap;
use rustc_hash::FxHashSet;
use serde::Serialize;
use smallvec::SmallVec;
use tritium_tile::{
    BlockId, Function, OpId, OpKind, ValueDef, ValueId,
    facts::{Affine, Facts, Symbol},
    layout::tma,
    rewrite, scratch,
};

use super::{Launch, runs::Runs, scalars::Program, work::Work};
use crate::passes::coalesce::unit_of;

/// The part of L2 that keeps what was read until it is read again.
const KEPT: f64 = 0.7;
/// Programs of a launch whose addresses are looked at.
const LOOKED_AT: u64 = 4096;

/// On what the bytes of a tensor rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reuse {
    /// Everything fits L2: each byte moves once.
    Once,
    /// Programs that run at once share what they read.
    Waves,
    /// Addresses follow from data: each byte of the tensor is taken to move once.
    DataDependent,
}

impl Reuse {
    pub fn describe(self) -> &'static str {
        match self {
            Reuse::Once => "moves once: all tensors of the launch fit L2",
            Reuse::Waves => "programs of one wave share it through L2",
            Reuse::DataDependent => "addresses depend on data: taken to move once",
        }
    }
}

/// One tensor in one direction, over the launch.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TensorTraffic {
    /// The parameter; `None` for addresses that come from elsewhere.
    pub tensor: Option<String>,
    pub is_store: bool,
    pub requested: f64,
    /// Distinct bytes; `None` where nobody knows the size.
    pub unique: Option<f64>,
    pub dram: f64,
    pub reuse: Reuse,
}

pub(super) struct Traffic {
    pub tensors: Vec<TensorTraffic>,
    /// Of what each operation asks for, the part that DRAM moves; by index, for loads and for stores.
    pub share: Vec<[f64; 2]>,
}

/// What a launch runs on.
pub(super) struct Machine {
    pub l2_bytes: f64,
    /// Programs that run at once.
    pub slots: u64,
}

/// Extents of a box's sides and the distances between neighbours.
type Sides = SmallVec<[(i64, u64); 4]>;

/// Forms and how often each counts: their sum is an address.
type Forms<'f> = SmallVec<[(&'f Affine, i64); 3]>;

struct Access<'f> {
    root: Option<ValueId>,
    is_store: bool,
    /// Bytes of a program, if the box is known.
    shape: Option<Shape<'f>>,
}

struct Shape<'f> {
    forms: Forms<'f>,
    bytes: f64,
    sides: Sides,
}

pub(super) fn traffic(
    function: &Function,
    facts: &Facts,
    works: &[Work],
    runs: &Runs,
    launch: &Launch,
    machine: &Machine,
) -> Traffic {
    let programs = launch.programs() as f64;
    let owners = Owners::of(function);
    let mut accesses: Vec<(OpId, Access)> = Vec::new();
    let first = Program::new(function, Some(launch), 0);
    function.walk(|_, id| {
        let work = &works[id.index()];
        if work.bytes() == 0.0 || runs.of[id.index()] == 0.0 {
            return;
        }
        let pointer = function.op(id).operands[0];
        for (is_store, bytes) in [(false, work.loaded), (true, work.stored)] {
            if bytes > 0.0 {
                let shape = match function.op(id).kind {
                    OpKind::TmaLoad { .. } => block(function, facts, id, runs, &owners, &first),
                    _ => facts.affine(pointer).and_then(|form| {
                        let unit = unit_of(function, pointer);
                        shape(
                            function,
                            SmallVec::from_slice(&[(form, 1)]),
                            (function.ty(pointer).shape(), unit),
                            &[],
                            runs,
                            &owners,
                            &first,
                        )
                    }),
                };
                accesses.push((id, Access { root: root(function, pointer), is_store, shape }));
            }
        }
    });
    let mut groups: IndexMap<(Option<ValueId>, bool), Vec<usize>> = IndexMap::new();
    for (index, (_, access)) in accesses.iter().enumerate() {
        groups.entry((access.root, access.is_store)).or_default().push(index);
    }
    let requested = |members: &[usize]| -> f64 {
        let of = |&index: &usize| {
            let (id, access) = &accesses[index];
            let work = &works[id.index()];
            runs.of[id.index()] * programs * if access.is_store { work.stored } else { work.loaded }
        };
        members.iter().map(of).sum()
    };
    let name = |root: Option<ValueId>| function.params.iter().find(|p| Some(p.value) == root).map(|p| &p.name);
    let size = |root: Option<ValueId>| name(root).and_then(|name| launch.tensor_bytes.get(name)).map(|&n| n as f64);
    // A tensor that is read and written takes its place once.
    let mut resident: IndexMap<Option<ValueId>, f64> = IndexMap::new();
    for ((root, _), members) in &groups {
        let bytes = requested(members);
        let bytes = size(*root).map_or(bytes, |size| size.min(bytes));
        let kept = resident.entry(*root).or_default();
        *kept = kept.max(bytes);
    }
    let fits = resident.values().sum::<f64>() <= KEPT * machine.l2_bytes;
    let waves = if fits { None } else { waves(function, &accesses, launch, machine) };

    let mut traffic = Traffic { tensors: Vec::new(), share: vec![[0.0; 2]; function.ops.len()] };
    for ((root, is_store), members) in &groups {
        let requested = requested(members);
        let size = size(*root);
        let unique = size.map(|size| size.min(requested));
        let once = unique.unwrap_or(requested);
        let is_known = members.iter().all(|&index| accesses[index].1.shape.is_some());
        let box_bytes = members.iter().filter_map(|&index| accesses[index].1.shape.as_ref()).map(|s| s.bytes).fold(0.0, f64::max);
        let moved = waves.as_ref().filter(|_| is_known).and_then(|waves| waves.get(&(*root, *is_store)).copied());
        // Waves that are not looked at bring at least a box.
        let moved = moved.map(|moved| moved.max(box_bytes));
        let (dram, reuse) = match moved {
            // Tiles that stand out of the tensor move less than their box.
            Some(moved) if moved < 1.1 * once => (moved.min(once), Reuse::Waves),
            Some(moved) => (moved.min(requested), Reuse::Waves),
            None => (once, if fits && is_known { Reuse::Once } else { Reuse::DataDependent }),
        };
        for &index in members {
            let (id, _) = accesses[index];
            traffic.share[id.index()][usize::from(*is_store)] = if requested > 0.0 { dram / requested } else { 0.0 };
        }
        traffic.tensors.push(TensorTraffic { tensor: name(*root).cloned(), is_store: *is_store, requested, unique, dram, reuse });
    }
    traffic
}

/// Bytes that waves bring, by tensor and direction; `None` where the launch cannot be looked at.
fn waves(
    function: &Function,
    accesses: &[(OpId, Access)],
    launch: &Launch,
    machine: &Machine,
) -> Option<IndexMap<(Option<ValueId>, bool), f64>> {
    let programs = launch.programs();
    let slots = machine.slots.clamp(1, programs.max(1));
    let count = programs.div_ceil(slots);
    // Every wave, or pairs of neighbours spread over the launch.
    let looks = (LOOKED_AT / (2 * slots)).clamp(1, count);
    let pairs: Vec<u64> = if programs <= LOOKED_AT {
        (0..count).collect()
    } else {
        (0..looks).map(|look| (u128::from(look * 2 + 1) * u128::from(count) / u128::from(looks * 2)) as u64).collect()
    };
    let every = programs <= LOOKED_AT;
    let mut sums: IndexMap<(Option<ValueId>, bool), f64> = IndexMap::new();
    let mut before: Option<(FxHashSet<(u32, i64)>, f64)> = None;
    let signatures = signatures(accesses);
    let keys_of = |wave: u64| -> Option<(FxHashSet<(u32, i64)>, f64)> {
        let (mut keys, mut bytes) = (FxHashSet::default(), 0.0);
        for number in wave * slots..((wave + 1) * slots).min(programs) {
            let program = Program::new(function, Some(launch), number);
            for ((_, access), &signature) in accesses.iter().zip(&signatures) {
                let Some(shape) = &access.shape else { continue };
                if keys.insert((signature, base(function, &shape.forms, &program)?)) {
                    bytes += shape.bytes;
                }
            }
        }
        Some((keys, bytes))
    };
    for &wave in &pairs {
        if !every {
            before = if wave > 0 { Some(keys_of(wave - 1)?) } else { None };
        }
        let now = keys_of(wave)?;
        let kept = before.as_ref().filter(|(_, bytes)| bytes + now.1 <= KEPT * machine.l2_bytes).map(|(keys, _)| keys);
        let mut counted = FxHashSet::default();
        for ((_, access), &signature) in accesses.iter().zip(&signatures) {
            let Some(shape) = &access.shape else { continue };
            if !counted.insert(signature) {
                continue;
            }
            let new = now.0.iter().filter(|key| key.0 == signature && kept.is_none_or(|kept| !kept.contains(*key))).count();
            *sums.entry((access.root, access.is_store)).or_default() += new as f64 * shape.bytes;
        }
        before = Some(now);
    }
    let scale = count as f64 / pairs.len().max(1) as f64;
    sums.values_mut().for_each(|bytes| *bytes *= scale);
    Some(sums)
}

/// Accesses with equal boxes of one tensor in one direction have one number.
fn signatures(accesses: &[(OpId, Access)]) -> Vec<u32> {
    let mut known: IndexMap<(Option<ValueId>, bool, Sides), u32> = IndexMap::new();
    let mut out = Vec::new();
    for (_, access) in accesses {
        let sides = access.shape.as_ref().map(|shape| shape.sides.clone()).unwrap_or_default();
        let next = known.len() as u32;
        out.push(*known.entry((access.root, access.is_store, sides)).or_insert(next));
    }
    out
}

/// The loops around every block.
struct Owners {
    block: Vec<Option<OpId>>,
}

impl Owners {
    fn of(function: &Function) -> Owners {
        Owners { block: rewrite::owner_ops(function) }
    }

    fn loop_of(&self, body: BlockId) -> Option<OpId> {
        self.block.get(body.index()).copied().flatten()
    }
}

/// The box that the tensor memory accelerator copies, on every trip.
fn block<'f>(
    function: &Function,
    facts: &'f Facts,
    load: OpId,
    runs: &Runs,
    owners: &Owners,
    program: &Program,
) -> Option<Shape<'f>> {
    let operands = tma::Operands::of(&function.op(load).operands)?;
    let buffer = function.ty(operands.buffer);
    let unit = scratch::element_bytes(buffer.elem());
    let mut forms: Forms = SmallVec::from_slice(&[(facts.affine(operands.base)?, 1)]);
    let mut sides: Sides = SmallVec::new();
    for ((&stride, &start), &extent) in operands.strides.iter().zip(operands.starts).zip(buffer.shape().iter()) {
        let step = program.scalar(stride)?.wrapping_mul(i64::from(unit));
        forms.push((facts.affine(start)?, step));
        sides.push((step, u64::from(extent)));
    }
    shape(function, forms, (&[], unit), &sides, runs, owners, program)
}

/// The box of an address, beside the sides of it that are known; `None` if a part of it depends on what no launch says.
fn shape<'f>(
    function: &Function,
    forms: Forms<'f>,
    (extents, unit): (&[u32], u32),
    known: &[(i64, u64)],
    runs: &Runs,
    owners: &Owners,
    program: &Program,
) -> Option<Shape<'f>> {
    let mut steps: IndexMap<(Option<u8>, Option<BlockId>), i64> = IndexMap::new();
    for (term, factor) in forms.iter().flat_map(|&(form, factor)| form.terms.iter().map(move |term| (term, factor))) {
        let mut step = term.coefficient.wrapping_mul(factor);
        let mut trip = None;
        for &symbol in &term.symbols {
            match symbol {
                // A product of two loops' trips is no box.
                Symbol::Trip(body) if trip.is_none() && term.dim.is_none() => trip = Some(body),
                Symbol::Trip(_) => return None,
                _ => step = step.wrapping_mul(number(function, symbol, program)?),
            }
        }
        if term.dim.is_some() || trip.is_some() {
            let sum = steps.entry((term.dim, trip)).or_default();
            *sum = sum.wrapping_add(step);
        }
    }
    let mut sides: Sides = known.iter().map(|&(step, extent)| (step.saturating_abs(), extent)).collect();
    sides.retain(|&mut (step, extent)| step != 0 && extent > 1);
    for ((dim, trip), step) in steps {
        let extent = match (dim, trip) {
            (Some(dim), _) => u64::from(*extents.get(usize::from(dim))?),
            (None, Some(body)) => runs.trips.get(&owners.loop_of(body)?)?.ceil().max(1.0) as u64,
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
    Some(Shape { forms, bytes, sides })
}

/// Where a program's box begins, from the start of its tensor.
fn base(function: &Function, forms: &Forms, program: &Program) -> Option<i64> {
    let mut sum = 0i64;
    for (term, factor) in forms.iter().flat_map(|&(form, factor)| form.terms.iter().map(move |term| (term, factor))) {
        if term.dim.is_some() || term.symbols.iter().any(|s| matches!(s, Symbol::Trip(_))) {
            continue;
        }
        let mut product = term.coefficient.wrapping_mul(factor);
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

/// The pointer parameter that an address is computed from.
pub(super) fn root(function: &Function, mut pointer: ValueId) -> Option<ValueId> {
    // Every step goes to a value defined earlier or to a loop's operand; this many steps is more than any kernel takes.
    for _ in 0..function.values.len() {
        match function.value(pointer).def {
            ValueDef::Result(id, index) => {
                let op = function.op(id);
                pointer = match &op.kind {
                    kind if kind.keeps_tensor() => op.operands[0],
                    OpKind::For(_) => op.operands[3 + index as usize],
                    _ => return None,
                };
            }
            ValueDef::Argument(block, index) if block == function.body => {
                return function.block(block).args.get(index as usize).copied();
            }
            ValueDef::Argument(block, index) => {
                let owner = function.ops.iter().find(|op| op.regions.contains(&block))?;
                pointer = match owner.kind {
                    OpKind::For(_) if index > 0 => owner.operands[2 + index as usize],
                    OpKind::While if owner.regions[0] == block => owner.operands[index as usize],
                    _ => return None,
                };
            }
        }
    }
    None
}
