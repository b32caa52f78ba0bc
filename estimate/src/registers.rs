//! The registers of a thread before ptxas counts them: what is live at each operation, by what it is, and the estimate fitted to it.
//!
//! A tile takes the registers that its layout gives a thread; names of other values (splats, broadcasts, …) take none and keep what they name
//! alive. Addresses and indices with an affine form differ by constants within a thread, so that one register serves along every dimension
//! whose stride is a number. **Invariant:** everything is counted at the level that code is generated from; the constants are in [`WEIGHTS`]
//! and nowhere else, fitted to every other row of `tests/data/accuracy/registers.exact.tsv`; `docs/accuracy.md` publishes all of them.

use serde::Serialize;
use tritium_tile::{
    BlockId, Elem, Function, OpId, OpKind, Type, ValueDef, ValueId,
    facts::Facts,
    layout::{Distributed, algebra::shift_of, mma, wgmma},
    ops::{BinaryOp, UnaryOp},
    rewrite,
};

use crate::analyses::Analyses;

/// What a register is needed for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Holds {
    /// Results that dots add to.
    Accumulator,
    /// Fragments that a dot multiplies.
    Operand,
    /// What was loaded or computed.
    Value,
    /// Pointers.
    Address,
    /// Integers.
    Index,
    /// Conditions.
    Mask,
    /// One number for all threads.
    Scalar,
}

impl Holds {
    pub const COUNT: usize = 7;
    pub const ALL: [Holds; Holds::COUNT] =
        [Holds::Accumulator, Holds::Operand, Holds::Value, Holds::Address, Holds::Index, Holds::Mask, Holds::Scalar];

    /// As people abbreviate it.
    pub fn name(self) -> &'static str {
        match self {
            Holds::Accumulator => "acc",
            Holds::Operand => "operands",
            Holds::Value => "values",
            Holds::Address => "ptrs",
            Holds::Index => "indices",
            Holds::Mask => "masks",
            Holds::Scalar => "scalars",
        }
    }
}

/// 32-bit registers by what they hold.
pub type Live = [f64; Holds::COUNT];

/// One place of the source and the most that is live at it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Point {
    pub origin: u32,
    pub live: Live,
}

impl Point {
    pub fn registers(&self) -> f64 {
        self.live.iter().sum()
    }

    /// `acc 128, values 16, ptrs 24`; what is less than a register is left out.
    pub fn describe(&self) -> String {
        let parts = Holds::ALL.iter().zip(self.live).filter(|(_, live)| *live >= 0.5);
        parts.map(|(holds, live)| format!("{} {live:.0}", holds.name())).collect::<Vec<_>>().join(", ")
    }
}

/// The pressure of a kernel.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Profile {
    /// In the order of the program, one for each place.
    pub points: Vec<Point>,
    /// Index of the worst of them.
    pub worst: Option<usize>,
    /// Registers live at once, of those of which each needs its own.
    pub live: f64,
    /// Registers that ptxas is expected to give, before any limit.
    pub estimate: f64,
}

/// What the count of registers follows from, each a number that is not negative.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trait {
    /// Live at once: all but masks, operands and scalars by half.
    Together,
    /// Most of a kind at once.
    Accumulators,
    /// Beside the accumulators.
    Values,
    Operands,
    Addresses,
    Indices,
    Masks,
    Scalars,
    /// Registers that one load fills, one store empties.
    LargestLoad,
    LargestStore,
    /// That loads fill which nothing separates: ptxas lets them wait together.
    LoadsInARow,
    /// 1 where there is one.
    Loops,
    Scans,
    Reduces,
    Multiplies,
    Warpgroups,
    /// Logarithms, to base 2, of operations, and of loads and stores and one.
    Size,
    Loads,
    Stores,
    /// Asynchronous copies.
    Copies,
    /// Parameters.
    Parameters,
    /// Live at once in the innermost loop.
    Innermost,
    /// Dots by fragments, up to 8, and by warpgroups, up to 4.
    Dots,
    Groups,
    /// Registers of the largest fragment from shared memory, and of the largest conversion on both sides.
    LargestFragment,
    LargestConversion,
    /// Registers that functions of many instructions fill, and that divisions do.
    Slow,
    Divisions,
    /// Registers of numbers that are computed, loaded and stored, all together.
    Computed,
    Loaded,
    Stored,
    /// Loops in one another.
    Depth,
    /// Operations of a kind.
    LoopCount,
    Branches,
    Reductions,
    ScanCount,
    Conversions,
    Atomics,
    Barriers,
    /// Registers of a kind that a loop carries, and those that stay through it: of the loop with most.
    Carried(Holds),
    Kept(Holds),
    /// Live at once: all but masks.
    All,
    /// Registers of the widest load or copy, without what addresses share.
    Widest,
    /// Values of 64 bits that are no pointers.
    Wide,
    /// Loads, stores and copies; loads under a mask.
    Transfers,
    Masked,
    /// Elements of a thread that loads and stores reach.
    Accessed,
    /// Registers of their pointers: all together, and at most.
    Pointed,
    LargestPointers,
}

/// The logarithm of the count: for each trait a share of the logarithm of one more, and a share of itself.
const BASE: f64 = 1.7083;
const WEIGHTS: &[(Trait, f64, f64)] = &[
    (Trait::Together, 0.07707, 0.00023),
    (Trait::Accumulators, 0.02957, 0.00104),
    (Trait::Values, 0.02931, -0.00017),
    (Trait::Operands, -0.02523, 0.00143),
    (Trait::Addresses, 0.05736, 0.00192),
    (Trait::Indices, 0.07064, -0.00106),
    (Trait::Masks, 0.04185, 0.00085),
    (Trait::Scalars, -0.00713, -0.00192),
    (Trait::LargestLoad, -0.03884, -0.00312),
    (Trait::LargestStore, 0.04427, -0.00071),
    (Trait::LoadsInARow, 0.04166, 0.00309),
    (Trait::Loops, 0.19064, 0.00000),
    (Trait::Scans, 0.09269, 0.00000),
    (Trait::Reduces, 0.10867, 0.00000),
    (Trait::Multiplies, 0.14513, 0.00000),
    (Trait::Warpgroups, -0.36233, 0.00000),
    (Trait::Size, 0.08001, 0.02704),
    (Trait::Loads, -0.05855, -0.01356),
    (Trait::Stores, 0.00946, 0.02071),
    (Trait::Copies, -0.06368, 0.01078),
    (Trait::Parameters, 0.12995, -0.00665),
    (Trait::Innermost, 0.02989, 0.00064),
    (Trait::Dots, 0.04262, 0.01523),
    (Trait::Groups, 0.05410, 0.08747),
    (Trait::LargestFragment, -0.01030, 0.00312),
    (Trait::LargestConversion, 0.03544, 0.00339),
    (Trait::Slow, 0.01521, 0.00071),
    (Trait::Divisions, 0.01783, -0.00051),
    (Trait::Computed, -0.00334, 0.00001),
    (Trait::Loaded, 0.01948, -0.00012),
    (Trait::Stored, 0.01536, 0.00139),
    (Trait::Depth, 0.09875, 0.05479),
    (Trait::LoopCount, -0.03455, 0.00822),
    (Trait::Branches, 0.00375, -0.00504),
    (Trait::Reductions, -0.03279, 0.00127),
    (Trait::ScanCount, 0.04686, 0.03144),
    (Trait::Conversions, -0.01099, -0.00455),
    (Trait::Atomics, -0.01973, 0.05109),
    (Trait::Barriers, 0.03391, -0.00031),
    (Trait::Carried(Holds::Accumulator), 0.00763, 0.00144),
    (Trait::Kept(Holds::Operand), -0.08185, 0.01733),
    (Trait::Carried(Holds::Value), -0.05370, 0.01384),
    (Trait::Kept(Holds::Value), -0.00017, 0.00018),
    (Trait::Kept(Holds::Address), -0.05022, 0.00273),
    (Trait::Kept(Holds::Index), -0.04473, 0.00359),
    (Trait::Kept(Holds::Mask), -0.06420, 0.00542),
    (Trait::Carried(Holds::Scalar), 0.01651, -0.00511),
    (Trait::Kept(Holds::Scalar), -0.02723, -0.00019),
    (Trait::All, 0.10531, 0.00032),
    (Trait::Widest, 0.04350, 0.00035),
    (Trait::Wide, -0.02151, -0.00012),
    (Trait::Transfers, 0.04693, 0.00005),
    (Trait::Masked, -0.01458, -0.00027),
    (Trait::Accessed, -0.00076, -0.00007),
    (Trait::Pointed, 0.00515, -0.00005),
    (Trait::LargestPointers, -0.07240, -0.00115),
];

/// A kernel whose results nobody stores is nothing to ptxas.
const NOTHING: f64 = 4.0;
/// Operands and scalars are not all in registers at once.
const BY_HALF: f64 = 0.5;

/// The live registers of a module at L1 and the estimate.
pub fn profile(analyses: &Analyses<'_>) -> Profile {
    let &Analyses { module, function, ref facts, .. } = analyses;
    let layouts = (0..function.values.len() as u32).map(|n| {
        let layout = function.ty(ValueId(n)).layout();
        layout.and_then(|l| module.layouts.distributed(l)).cloned()
    });
    let lives = Lives { function, facts, layouts: layouts.collect() };
    let order = lives.order();
    let spans = lives.spans(&order, &lives.uses(&order));
    let walked = lives.walk(&order, &spans);
    let seen = Seen { order: &order, walked: &walked, spans: &spans };
    let mut points: Vec<Point> = Vec::new();
    let (mut most, mut worst) = (-1.0, None);
    let mut index_of = rustc_hash::FxHashMap::default();
    for &(id, live) in &walked {
        let origin = function.op(id).origin.0;
        let index = *index_of.entry(origin).or_insert_with(|| {
            points.push(Point { origin, live: [0.0; Holds::COUNT] });
            points.len() - 1
        });
        if together(&live) > together(&points[index].live) {
            points[index].live = live;
        }
        if together(&live) > most {
            (most, worst) = (together(&live), Some(index));
        }
    }
    let stores = |id: &OpId| {
        matches!(
            function.op(*id).kind,
            OpKind::Store(_) | OpKind::AtomicRmw { .. } | OpKind::AtomicCas { .. } | OpKind::Print { .. } | OpKind::Assert { .. }
        )
    };
    let estimate = if order.ops.iter().any(stores) {
        let exponent: f64 = WEIGHTS
            .iter()
            .map(|&(of, logarithm, itself)| {
                let value = lives.value_of(of, &seen).max(0.0);
                logarithm * value.ln_1p() + itself * value
            })
            .sum();
        (BASE + exponent).min(MAX_LOG_REGISTERS).exp()
    } else {
        NOTHING
    };
    Profile { points, worst, live: most.max(0.0), estimate }
}

/// The logarithm of more registers than a spill of everything would take.
const MAX_LOG_REGISTERS: f64 = 9.0;

/// Registers at once, masks left out: predicates have their own.
fn together(live: &Live) -> f64 {
    let weight = |holds: Holds| match holds {
        Holds::Operand | Holds::Scalar => BY_HALF,
        Holds::Mask => 0.0,
        Holds::Accumulator | Holds::Value | Holds::Address | Holds::Index => 1.0,
    };
    Holds::ALL.iter().zip(live).map(|(&holds, live)| weight(holds) * live).sum()
}

/// What is live where, of a function whose tiles lie in registers as [`Lives::layouts`] says.
pub(crate) struct Lives<'m> {
    pub function: &'m Function,
    pub facts: &'m Facts,
    /// Of every value; `None` for scalars and for tiles that take no registers.
    pub layouts: Vec<Option<Distributed>>,
}

/// What traits are read from.
struct Seen<'s> {
    order: &'s Order,
    walked: &'s [(OpId, Live)],
    spans: &'s [Span],
}

/// A value is alive from before one operation until another, by their places in the order.
#[derive(Clone, Copy)]
pub(crate) struct Span {
    pub value: ValueId,
    pub from: usize,
    pub to: usize,
}

/// Operations in the order of the program, and where each ends with its regions.
pub(crate) struct Order {
    pub ops: Vec<OpId>,
    pub start: Vec<usize>,
    pub end: Vec<usize>,
    owners: Vec<Option<OpId>>,
    parents: Vec<Option<BlockId>>,
}

impl Order {
    /// The op whose region a block is.
    pub(crate) fn owner_of(&self, block: BlockId) -> Option<OpId> {
        self.owners[block.index()]
    }

    pub(crate) fn owner(&self, op: OpId) -> Option<OpId> {
        self.parents[op.index()].and_then(|block| self.owners[block.index()])
    }
}

impl Lives<'_> {
    fn value_of(&self, of: Trait, seen: &Seen<'_>) -> f64 {
        let &Seen { order, walked, .. } = seen;
        let function = self.function;
        let kind = |id: &OpId| &function.op(*id).kind;
        let count = |is: &dyn Fn(&OpKind) -> bool| order.ops.iter().filter(|id| is(kind(id))).count() as f64;
        let flag = |is: &dyn Fn(&OpKind) -> bool| if count(is) > 0.0 { 1.0 } else { 0.0 };
        let largest = |is: &dyn Fn(&OpKind) -> bool, registers: &dyn Fn(&OpId) -> f64| {
            order.ops.iter().filter(|id| is(kind(id))).map(registers).fold(0.0, f64::max)
        };
        let results = |id: &OpId| function.op(*id).results.iter().map(|&v| self.weight(v).1).sum::<f64>();
        let operands = |id: &OpId| function.op(*id).operands.iter().map(|&v| self.weight(v).1).sum::<f64>();
        let most = |live: &dyn Fn(&Live) -> f64| walked.iter().map(|(_, now)| live(now)).fold(0.0, f64::max);
        let of_kind = |holds: Holds| most(&|live: &Live| live[holds as usize]);
        let is_load = |kind: &OpKind| matches!(kind, OpKind::Load(_));
        let is_store = |kind: &OpKind| matches!(kind, OpKind::Store(_));
        let is_loop = |kind: &OpKind| matches!(kind, OpKind::For(_) | OpKind::While);
        let transfers = |kind: &OpKind| matches!(kind, OpKind::Load(_) | OpKind::Store(_) | OpKind::AsyncCopy(_));
        let pointer = |id: &OpId| self.weight(function.op(*id).operands[0]).1;
        match of {
            Trait::Together => most(&together),
            Trait::Accumulators => of_kind(Holds::Accumulator),
            Trait::Values => {
                most(&|live: &Live| live[Holds::Accumulator as usize] + live[Holds::Value as usize]) - of_kind(Holds::Accumulator)
            }
            Trait::Operands => of_kind(Holds::Operand),
            Trait::Addresses => of_kind(Holds::Address),
            Trait::Indices => of_kind(Holds::Index),
            Trait::Masks => of_kind(Holds::Mask),
            Trait::Scalars => of_kind(Holds::Scalar),
            Trait::LargestLoad => largest(&is_load, &results),
            Trait::LargestStore => largest(&is_store, &operands),
            Trait::LoadsInARow => self.loads_in_a_row(order),
            Trait::Loops => flag(&|kind| matches!(kind, OpKind::For(_) | OpKind::While)),
            Trait::Scans => flag(&|kind| matches!(kind, OpKind::Scan { .. })),
            Trait::Reduces => flag(&|kind| matches!(kind, OpKind::Reduce { .. })),
            Trait::Multiplies => flag(&|kind| matches!(kind, OpKind::Dot { .. })),
            Trait::Warpgroups => flag(&|kind| matches!(kind, OpKind::Wgmma { .. })),
            Trait::Size => (order.ops.len().max(1) as f64).log2(),
            Trait::Loads => (1.0 + count(&is_load)).log2(),
            Trait::Stores => (1.0 + count(&is_store)).log2(),
            Trait::Copies => count(&|kind| matches!(kind, OpKind::AsyncCopy(_))),
            Trait::Parameters => function.params.len() as f64,
            Trait::Innermost => {
                let depth = |id: &OpId| std::iter::successors(order.owner(*id), |&outer| order.owner(outer)).count();
                let deepest = order.ops.iter().map(depth).max().unwrap_or(0);
                let inside = walked.iter().filter(|(id, _)| deepest > 0 && depth(id) == deepest);
                inside.map(|(_, live)| together(live)).fold(0.0, f64::max)
            }
            Trait::Dots => count(&|kind| matches!(kind, OpKind::Dot { .. })).min(8.0),
            Trait::Groups => count(&|kind| matches!(kind, OpKind::Wgmma { .. })).min(4.0),
            Trait::LargestFragment => largest(&|kind| matches!(kind, OpKind::LocalLoad), &results),
            Trait::Slow => order.ops.iter().filter(|id| is_slow(kind(id))).map(|id| self.held_first(id)).sum(),
            Trait::Divisions => order.ops.iter().filter(|id| divides(kind(id))).map(|id| self.held_first(id).max(1.0)).sum(),
            Trait::Computed => order.ops.iter().filter(|id| computes(kind(id))).map(|id| self.floats_first(id)).sum(),
            Trait::Loaded => order.ops.iter().filter(|id| is_load(kind(id))).map(results).sum(),
            Trait::Stored => {
                let stored = order.ops.iter().filter(|id| is_store(kind(id)));
                stored.map(|id| self.weight(function.op(*id).operands[1]).1).sum()
            }
            Trait::Depth => order.ops.iter().map(|id| self.loops_around(order, *id).count()).max().unwrap_or(0) as f64,
            Trait::LoopCount => count(&is_loop),
            Trait::Branches => count(&|kind| matches!(kind, OpKind::If)),
            Trait::Reductions => count(&|kind| matches!(kind, OpKind::Reduce { .. })),
            Trait::ScanCount => count(&|kind| matches!(kind, OpKind::Scan { .. })),
            Trait::Conversions => count(&|kind| matches!(kind, OpKind::ConvertLayout)),
            Trait::Atomics => count(&|kind| matches!(kind, OpKind::AtomicRmw { .. } | OpKind::AtomicCas { .. })),
            Trait::Barriers => count(&|kind| matches!(kind, OpKind::Barrier)),
            Trait::Carried(holds) => largest(&is_loop, &|id| {
                let args = function.op(*id).regions.first().map(|&region| &function.block(region).args);
                args.into_iter().flatten().map(|&arg| self.weight(arg)).filter(|w| w.0 == holds).map(|w| w.1).sum()
            }),
            Trait::Kept(holds) => largest(&is_loop, &|id| {
                let (start, end) = (order.start[id.index()], order.end[id.index()]);
                let through = seen.spans.iter().filter(|span| {
                    span.from <= start && span.to >= end && matches!(function.value(span.value).def, ValueDef::Result(..))
                });
                through.map(|span| self.weight(span.value)).filter(|w| w.0 == holds).map(|w| w.1).sum()
            }),
            Trait::All => most(&|live: &Live| live.iter().sum::<f64>() - live[Holds::Mask as usize]),
            Trait::Widest => largest(&|kind| matches!(kind, OpKind::Load(_) | OpKind::AsyncCopy(_)), &|id| {
                let op = function.op(*id);
                let values = if op.results.is_empty() { &op.operands[..1] } else { &op.results[..] };
                values.iter().map(|&value| self.words(value)).fold(0.0, f64::max)
            }),
            Trait::Wide => {
                let wide = |ty: &Type| matches!(ty, Type::Tile { elem: Elem::Scalar(s), .. } if s.bits() == 64);
                function.values.iter().filter(|value| wide(&value.ty)).count() as f64
            }
            Trait::Transfers => count(&transfers),
            Trait::Masked => {
                order.ops.iter().filter(|id| is_load(kind(id)) && function.op(**id).operands.len() > 1).count() as f64
            }
            Trait::Accessed => {
                let accesses = order.ops.iter().filter(|id| is_load(kind(id)) || is_store(kind(id)));
                accesses.map(|id| self.held(function.op(*id).operands[0])).sum()
            }
            Trait::Pointed => order.ops.iter().filter(|id| transfers(kind(id))).map(pointer).sum(),
            Trait::LargestPointers => largest(&transfers, &pointer),
            Trait::LargestConversion => largest(&|kind| matches!(kind, OpKind::ConvertLayout), &|id| results(id) + operands(id)),
        }
    }

    /// Elements of a value that a thread has for itself.
    fn held(&self, value: ValueId) -> f64 {
        self.layouts[value.index()].as_ref().map_or(0.0, held)
    }

    fn words(&self, value: ValueId) -> f64 {
        match self.function.ty(value) {
            Type::Shared { .. } => 0.0,
            ty => self.held(value) * f64::from(ty.elem().bits()) / 32.0,
        }
    }

    fn held_first(&self, id: &OpId) -> f64 {
        self.function.op(*id).results.first().map_or(0.0, |&result| self.held(result))
    }

    /// Registers of the first result if it is of floats.
    fn floats_first(&self, id: &OpId) -> f64 {
        let Some(&result) = self.function.op(*id).results.first() else { return 0.0 };
        let is_float = matches!(self.function.ty(result), Type::Tile { elem: Elem::Scalar(s), .. } if !s.is_int());
        if is_float { self.words(result) } else { 0.0 }
    }

    pub(crate) fn loops_around<'o>(&'o self, order: &'o Order, id: OpId) -> impl Iterator<Item = OpId> + 'o {
        let owners = std::iter::successors(order.owner(id), |&outer| order.owner(outer));
        owners.filter(|&outer| matches!(self.function.op(outer).kind, OpKind::For(_) | OpKind::While))
    }

    /// Registers that loads of one block fill before anything makes their threads wait.
    fn loads_in_a_row(&self, order: &Order) -> f64 {
        let (mut now, mut most) = (0.0, 0.0f64);
        let mut block = None;
        for id in &order.ops {
            let op = self.function.op(*id);
            match op.kind {
                OpKind::Load(_) => {
                    let filled: f64 = op.results.iter().map(|&v| self.weight(v).1).sum();
                    let depth = std::iter::successors(order.owner(*id), |&outer| order.owner(outer)).count();
                    now = if block.is_none_or(|known| known == depth) { now + filled } else { filled };
                    block = Some(depth);
                }
                OpKind::For(_)
                | OpKind::While
                | OpKind::If
                | OpKind::Yield
                | OpKind::Reduce { .. }
                | OpKind::Barrier
                | OpKind::Store(_) => {
                    (now, block) = (0.0, None);
                }
                _ => {}
            }
            most = most.max(now);
        }
        most
    }

    pub(crate) fn order(&self) -> Order {
        let function = self.function;
        let (mut ops, mut start) = (Vec::new(), vec![0usize; function.ops.len()]);
        function.walk(|_, op| {
            start[op.index()] = ops.len();
            ops.push(op);
        });
        let (owners, parents) = (rewrite::owner_ops(function), rewrite::parent_blocks(function));
        let mut order = Order { ops, end: start.clone(), start, owners, parents };
        for at in (0..order.ops.len()).rev() {
            let op = order.ops[at];
            let last = order.end[op.index()];
            if let Some(outer) = order.owner(op) {
                order.end[outer.index()] = order.end[outer.index()].max(last);
            }
        }
        order
    }

    /// What is live before each operation runs to its end.
    fn walk(&self, order: &Order, spans: &[Span]) -> Vec<(OpId, Live)> {
        let mut change = vec![[0.0; Holds::COUNT]; order.ops.len() + 2];
        for &Span { value, from, to } in spans {
            let (holds, registers) = self.weight(value);
            change[from][holds as usize] += registers;
            change[to + 1][holds as usize] -= registers;
        }
        let mut now = [0.0; Holds::COUNT];
        let mut out = Vec::with_capacity(order.ops.len());
        for (index, &op) in order.ops.iter().enumerate() {
            now.iter_mut().zip(&change[index]).for_each(|(now, change)| *now += change);
            out.push((op, now));
        }
        out
    }

    /// Where values are alive. Parameters are in constant memory: they take no registers.
    pub(crate) fn spans(&self, order: &Order, uses: &[Vec<OpId>]) -> Vec<Span> {
        let function = self.function;
        let mut spans = Vec::new();
        let mut alive = |value: ValueId, from: usize, to: Option<usize>| {
            spans.extend(to.filter(|&to| to >= from).map(|to| Span { value, from, to }));
        };
        for &op in &order.ops {
            let is_loop = matches!(function.op(op).kind, OpKind::For(_) | OpKind::While);
            for &result in &function.op(op).results {
                // A result takes the registers of operands that die; what a loop carries is counted as its arguments while it runs.
                let from = if is_loop { order.end[op.index()] + 1 } else { order.start[op.index()] + 1 };
                alive(result, from, self.last_use(order, &uses[result.index()], order.owner(op)));
            }
            if let Some(&region) = function.op(op).regions.first()
                && is_loop
            {
                for &arg in &function.block(region).args {
                    // From its last use on a trip, what the trip passes on takes its registers.
                    alive(arg, order.start[op.index()] + 1, self.last_use(order, &uses[arg.index()], Some(op)));
                }
            }
        }
        spans
    }

    /// The operations that use a value, by another name of it too.
    pub(crate) fn uses(&self, order: &Order) -> Vec<Vec<OpId>> {
        let mut uses = rewrite::users(self.function);
        // Names come after what they name, so that going backwards passes every use on.
        for &op in order.ops.iter().rev() {
            let renames = is_name(&self.function.op(op).kind);
            if let (true, [operand], [result]) = (renames, &self.function.op(op).operands[..], &self.function.op(op).results[..])
            {
                let further = std::mem::take(&mut uses[result.index()]);
                uses[operand.index()].extend(further.iter().copied());
                uses[result.index()] = further;
            }
        }
        uses
    }

    pub(crate) fn last_use(&self, order: &Order, uses: &[OpId], defined_in: Option<OpId>) -> Option<usize> {
        let mut last = None;
        for &user in uses {
            let mut at = order.start[user.index()];
            // A use in a loop that the value comes from outside of keeps it alive on every trip.
            let mut inside = order.owner(user);
            while let Some(outer) = inside
                && Some(outer) != defined_in
            {
                if matches!(self.function.op(outer).kind, OpKind::For(_) | OpKind::While) {
                    at = at.max(order.end[outer.index()]);
                }
                inside = order.owner(outer);
            }
            last = last.max(Some(at));
        }
        last
    }

    /// Registers that a value takes and what for: none for what is made again at its use or is another name.
    pub(crate) fn weight(&self, value: ValueId) -> (Holds, f64) {
        self.weight_in(value, self.layouts[value.index()].as_ref())
    }

    /// The same in a layout.
    pub(crate) fn weight_in(&self, value: ValueId, layout: Option<&Distributed>) -> (Holds, f64) {
        let function = self.function;
        let ty = function.ty(value);
        let def = function.def_op(value).map(|id| &function.op(id).kind);
        if matches!(ty, Type::Shared { .. })
            || def.is_some_and(|kind| is_name(kind) || matches!(kind, OpKind::Constant(_) | OpKind::Iota { .. }))
        {
            return (Holds::Value, 0.0);
        }
        let elem = ty.elem();
        let each = f64::from(elem.bits()) / 32.0;
        let Some(layout) = layout else {
            if !ty.is_scalar() {
                return (Holds::Value, 0.0);
            }
            let is_mask = elem.bits() == 1;
            return (if is_mask { Holds::Mask } else { Holds::Scalar }, if is_mask { 1.0 } else { each.ceil() });
        };
        let held = held(layout);
        match elem {
            Elem::Ptr(_) => (Holds::Address, each * self.distinct(value, layout).unwrap_or(held).max(1.0)),
            Elem::Scalar(s) if s.bits() == 1 => (Holds::Mask, (held / self.run(value, layout)).max(1.0)),
            Elem::Scalar(s) if s.is_int() => {
                let shared = held / self.run(value, layout);
                (Holds::Index, each * self.distinct(value, layout).unwrap_or(shared).max(1.0))
            }
            Elem::Scalar(_) => {
                let multiplies = matches!(def, Some(OpKind::Dot { .. } | OpKind::Wgmma { .. } | OpKind::WgmmaWait { .. }))
                    || (matches!(function.value(value).def, ValueDef::Argument(..))
                        && (mma::is_accumulator(layout) || wgmma::tiles(layout).is_some()));
                let holds = if multiplies {
                    Holds::Accumulator
                } else if matches!(def, Some(OpKind::LocalLoad)) {
                    Holds::Operand
                } else {
                    Holds::Value
                };
                (holds, (each * held).max(1.0))
            }
        }
    }

    /// Registers of an affine value that do not differ from another one by a number.
    fn distinct(&self, value: ValueId, layout: &Distributed) -> Option<f64> {
        let form = self.facts.affine(value)?;
        let mut distinct = 1.0;
        for axis in 0..layout.shape.len() {
            let strided = form.terms.iter().any(|t| t.dim == Some(axis as u8) && !t.symbols.is_empty());
            if strided {
                let mask = ((layout.shape[axis].max(1) - 1) as u64) << shift_of(&layout.shape, axis);
                let along = layout.register.iter().filter(|&&base| u64::from(base) & mask != 0).count();
                distinct *= 2f64.powi(along as i32);
            }
        }
        Some(distinct)
    }

    /// Neighbours in a thread that follow from one of them, where that is all that is known of them.
    pub(crate) fn unknown_run(&self, value: ValueId, layout: Option<&Distributed>) -> f64 {
        layout.filter(|layout| self.distinct(value, layout).is_none()).map_or(1.0, |layout| self.run(value, layout))
    }

    /// Neighbours in a thread that are equal.
    pub(crate) fn equal_run(&self, value: ValueId, layout: &Distributed) -> f64 {
        let axis = self.facts.axis(value);
        let run = |d: usize| u64::from(layout.contiguous_registers(d)).min(axis.constancy[d]);
        (0..layout.shape.len()).map(run).max().unwrap_or(1).max(1) as f64
    }

    /// Neighbours in a thread that count up or stay equal: one is kept, the others follow from it.
    fn run(&self, value: ValueId, layout: &Distributed) -> f64 {
        let axis = self.facts.axis(value);
        let run = |d: usize| u64::from(layout.contiguous_registers(d)).min(axis.contiguity[d].max(axis.constancy[d]));
        (0..layout.shape.len()).map(run).max().unwrap_or(1).max(1) as f64
    }
}

/// Elements that a thread has for itself.
pub(crate) fn held(layout: &Distributed) -> f64 {
    let (free, ..) = layout.free_bits();
    layout.num_registers() as f64 / 2f64.powi(free.count_ones() as i32)
}

pub(crate) fn is_slow(kind: &OpKind) -> bool {
    match kind {
        OpKind::Libdevice(_) => true,
        OpKind::Unary(unary) => !matches!(unary, UnaryOp::NegF | UnaryOp::AbsF | UnaryOp::AbsI),
        _ => false,
    }
}

fn divides(kind: &OpKind) -> bool {
    use BinaryOp::{DivF, DivRn, DivS, DivU, RemF, RemS, RemU};
    matches!(kind, OpKind::Binary(DivF | DivRn | DivS | DivU | RemF | RemS | RemU))
}

fn computes(kind: &OpKind) -> bool {
    matches!(kind, OpKind::Binary(_) | OpKind::Fma | OpKind::Select | OpKind::Unary(_) | OpKind::Cast(_))
}

/// The result is the operand by another name.
pub(crate) fn is_name(kind: &OpKind) -> bool {
    matches!(
        kind,
        OpKind::Splat
            | OpKind::Broadcast
            | OpKind::ExpandDims { .. }
            | OpKind::Reshape { .. }
            | OpKind::Transpose { .. }
            | OpKind::Promise { .. }
    )
}
