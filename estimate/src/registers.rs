//! The registers of a thread before ptxas counts them: what is live at each operation, by what it is.
//!
//! A tile takes the registers that its layout gives a thread; names of other values (splats, broadcasts, …) take none and keep what they name
//! alive. Addresses and indices with an affine form differ by constants within a thread, so that one register serves along every dimension
//! whose stride is a number. **Invariant:** everything is counted at the level that code is generated from. How far what ptxas takes is from that
//! was measured ([`Profile::registers`]); nothing is fitted.

use serde::Serialize;
use tritium_tile::{
    BlockId, Elem, Function, OpId, OpKind, Type, ValueDef, ValueId,
    facts::Facts,
    kinds,
    layout::{Distributed, algebra::shift_of, mma, wgmma},
    rewrite,
};

use crate::{
    analyses::Analyses,
    fitted::{BESIDE_LIVE, WITHIN},
};

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
}

impl Profile {
    /// Registers that ptxas is expected to take, before any limit: as likely too few as too many, and between the other two in nine of ten kernels.
    pub fn registers(&self) -> (f64, f64, f64) {
        let expected = self.live + BESIDE_LIVE;
        (expected * (1.0 - WITHIN), expected, expected * (1.0 + WITHIN))
    }
}

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
    Profile { points, worst, live: most.max(0.0) }
}

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
            let is_loop = function.op(op).kind.is_loop();
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
                if self.function.op(outer).kind.is_loop() {
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
                        && (mma::is_whole_accumulator(layout) || wgmma::tiles(layout).is_some()));
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

/// The result is the operand by another name.
pub(crate) fn is_name(kind: &OpKind) -> bool {
    matches!(kind, kinds!(Shape) | OpKind::Promise { .. })
}
