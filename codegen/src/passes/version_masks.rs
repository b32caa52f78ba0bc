//! Two versions of a store whose mask, not its addresses, keeps it from moving 16 bytes at once: a block that lies wholly inside is stored
//! without the mask, any other one as before.
//!
//! The rows of a tensor descriptor begin at multiples of 16 bytes and may end anywhere, so its blocks are stored element by element unless it is
//! known that this one ends inside. That is a comparison of scalars: of the first index, the extent of the block and the bound.
//!
//! Only stores of kernels that multiply are versioned: what comes of a product changes its layout in front of the store anyway, so the wide
//! layout costs nothing elsewhere.
//!
//! **Invariant:** the version without the mask runs only where every element of the mask is true.

use smallvec::SmallVec;
use tritium_tile::{
    Function, Module, OpId, OpKind, Scalar, Type, ValueId,
    effects::{mask_of, pointee_bytes},
    facts::{self, Facts},
    module::Builder,
    ops::{BinaryOp, CastOp, Constant, Predicate},
    rewrite,
};

use super::{
    self as passes, CompileOptions, Fact, Pass, Unsupported, coalesce,
    pipeline_loops::window::{self, Number},
    vectorise, versions,
};

pub static PASS: Pass = Pass {
    name: "version_masks",
    summary: "Store blocks that lie wholly inside without their mask.",
    needs: &[Fact::HasLayouts],
    gives: &[],
    run,
};

/// A store of narrower rows has nothing to gain.
const ROW_BYTES: u32 = 32;
/// Operations between a mask and its comparisons, at most.
const DEPTH: u32 = 16;

fn run(module: &mut Module, options: &CompileOptions) -> Result<(), Unsupported> {
    let facts = facts::of_function(module.entry());
    let function = module.entry();
    if !passes::multiplies(function) {
        return Ok(());
    }
    // The tensor memory accelerator heeds the bounds itself.
    let never_negative = |value| facts.range(value).min >= 0;
    let mut plans = Vec::new();
    function.walk(|_, store| {
        if window::of_store(function, &never_negative, store, options).is_some() {
            return;
        }
        if let Some(conditions) = conditions(function, store)
            && vectorise::width(module, function, &facts, store) < vectorise::width_without_mask(module, function, &facts, store)
        {
            plans.push((store, conditions));
        }
    });
    let function = &mut module.functions[0];
    for (store, conditions) in plans {
        version(function, store, &conditions);
    }
    rewrite::compact(function);
    Ok(())
}

/// Elements along a dimension that one access of the version without the mask may take, if the store gets one and it is worth it.
pub(super) fn whole_run(function: &Function, facts: &Facts, store: OpId, d: usize) -> Option<u64> {
    let run = coalesce::address_run(function, facts, store, d);
    let wider = run > coalesce::access_run(function, facts, store, d);
    (wider && conditions(function, store).is_some()).then_some(run)
}

/// A scalar truth that a mask is made of.
#[derive(Debug, Clone, Copy)]
enum Condition {
    /// The scalar itself.
    Holds(ValueId),
    /// `first + extent <= bound`.
    Ends { first: Number, extent: u32, bound: Number },
    /// `first >= bound`.
    Begins { first: Number, bound: Number },
}

/// What all together say that every element of a store's mask is true; `None` if scalars do not say it, or it is not worth asking.
fn conditions(function: &Function, store: OpId) -> Option<SmallVec<[Condition; 4]>> {
    let op = function.op(store);
    if !matches!(op.kind, OpKind::Store(_)) {
        return None;
    }
    let shape = function.ty(op.operands[0]).shape();
    let row = shape.last()? * pointee_bytes(function, op.operands[0]);
    if shape.len() < 2 || row < ROW_BYTES {
        return None;
    }
    let mut found = SmallVec::new();
    collect(function, mask_of(function, store)?, 0, &mut found)?;
    Some(found)
}

fn collect(function: &Function, mask: ValueId, depth: u32, found: &mut SmallVec<[Condition; 4]>) -> Option<()> {
    let op = function.op(function.def_op(mask)?);
    if depth > DEPTH {
        return None;
    }
    match &op.kind {
        OpKind::Constant(Constant::Int(value)) if *value != 0 => {}
        OpKind::Splat => found.push(Condition::Holds(op.operands[0])),
        OpKind::Binary(BinaryOp::And) => {
            for &operand in &op.operands {
                collect(function, operand, depth + 1, found)?;
            }
        }
        OpKind::Broadcast | OpKind::ExpandDims { .. } | OpKind::ConvertLayout => {
            collect(function, op.operands[0], depth + 1, found)?;
        }
        OpKind::Compare(Predicate::LtS) => {
            let (first, extent) = counted(function, op.operands[0])?;
            found.push(Condition::Ends { first, extent, bound: everywhere(function, op.operands[1])? });
        }
        // Numbers of 32 bits might wrap behind the first.
        OpKind::Compare(Predicate::GeS) if function.ty(op.operands[0]).elem().scalar() == Some(Scalar::I64) => {
            let (first, _) = counted(function, op.operands[0])?;
            found.push(Condition::Begins { first, bound: everywhere(function, op.operands[1])? });
        }
        _ => return None,
    }
    Some(())
}

/// The number in every element of a tile.
fn everywhere(function: &Function, value: ValueId) -> Option<Number> {
    let op = function.op(function.def_op(value)?);
    match op.kind {
        OpKind::Splat => Some(Number::Value(op.operands[0])),
        OpKind::Constant(Constant::Int(number)) => Some(Number::Constant(number)),
        OpKind::ConvertLayout | OpKind::ExpandDims { .. } | OpKind::Broadcast => everywhere(function, op.operands[0]),
        _ => None,
    }
}

/// The first of numbers `first, first + 1, …`, which have 32 bits or are such in 64, and how many there are.
fn counted(function: &Function, value: ValueId) -> Option<(Number, u32)> {
    let op = function.op(function.def_op(value)?);
    match op.kind {
        OpKind::Iota { start: 0, end } => Some((Number::Constant(0), end as u32)),
        OpKind::ConvertLayout | OpKind::ExpandDims { .. } | OpKind::Broadcast => counted(function, op.operands[0]),
        // A sum that wrapped in 32 bits would not count on in 64.
        OpKind::Cast(CastOp::ExtS) => counted(function, op.operands[0]).filter(|(first, _)| *first == Number::Constant(0)),
        OpKind::Binary(BinaryOp::AddI) => {
            let [left, right] = op.operands[..] else { return None };
            [(left, right), (right, left)].into_iter().find_map(|(first, steps)| {
                let (Number::Constant(0), extent) = counted(function, steps)? else { return None };
                Some((everywhere(function, first).filter(|&first| is_narrow(function, first))?, extent))
            })
        }
        _ => None,
    }
}

/// The number has 32 bits.
fn is_narrow(function: &Function, number: Number) -> bool {
    let Number::Value(value) = number else { return matches!(number, Number::Constant(number) if i32::try_from(number).is_ok()) };
    let widened = function.def_op(value).map(|op| function.op(op)).filter(|op| matches!(op.kind, OpKind::Cast(CastOp::ExtS)));
    let value = widened.map_or(value, |op| op.operands[0]);
    function.ty(value).elem().bits() <= 32
}

/// `if` the block lies inside, the store without the mask; else the store.
fn version(function: &mut Function, store: OpId, conditions: &[Condition]) {
    let op = function.op(store).clone();
    let before = function.add_block();
    let mut build = Builder { function, block: before, origin: op.origin };
    let truths = conditions.iter().map(|&condition| truth(&mut build, condition)).collect();
    let Some(all) = versions::all(&mut build, truths) else { return };
    let unmasked = function.create_op(op.kind, &op.operands[..2], [], &[], op.origin);
    versions::choose(function, store, before, all, unmasked);
}

fn truth(build: &mut Builder<'_>, condition: Condition) -> ValueId {
    let wide = || Type::scalar(Scalar::I64);
    let number = |build: &mut Builder<'_>, number: Number| match number {
        Number::Constant(number) => build.int(number, wide()),
        Number::Value(value) => versions::widened(build, value),
    };
    let (predicate, left, right) = match condition {
        Condition::Holds(value) => return value,
        Condition::Ends { first, extent, bound } => {
            let (first, extent) = (number(build, first), build.int(extent.into(), wide()));
            let end = build.value(OpKind::Binary(BinaryOp::AddI), &[first, extent], wide());
            (Predicate::LeS, end, number(build, bound))
        }
        Condition::Begins { first, bound } => (Predicate::GeS, number(build, first), number(build, bound)),
    };
    build.value(OpKind::Compare(predicate), &[left, right], Type::scalar(Scalar::I1))
}
