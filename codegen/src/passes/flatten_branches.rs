//! A branch that only decides what a trip of a loop loads becomes both loads, each masked off where the other side is taken, and a choice.
//!
//! A recurrence that reads the state before its step reads the initial one on its first step: `if i > 0: load(…) else: load(…)`. What stands in a
//! branch waits for what stands in front of it, so a trip waits for memory twice, and no load runs ahead (`version_loops`, `pipeline_loops`).
//! Masked off, a load asks memory for nothing.
//!
//! **Invariant:** what is now computed on both ways has no effect and is defined for any operands (no integer is divided by what may be zero), it is
//! chosen only where it was computed before, and a load reads only where it did.

use tritium_tile::{
    BlockId, Elem, Function, Module, OpId, OpKind, Scalar, Type, ValueId,
    effects::pointee_bytes,
    kinds,
    ops::{BinaryOp, Constant},
    rewrite::{self, ValueMap},
};

use super::{CompileOptions, Fact, Pass, Unsupported, load_cse};

pub static PASS: Pass = Pass {
    name: "flatten_branches",
    summary: "Load under masks what a loop without a product loads in branches.",
    needs: &[Fact::OneFunction],
    gives: &[],
    run,
};

/// Bytes that a program loads in the branches of a trip, at most: no more are loaded ahead (`version_loops`).
const MAX_BYTES: u64 = 4096;
/// Elements that the branches of a trip compute, at most: 256 instructions of a single warp, less than it waits for memory (reckoned, not measured).
const MAX_ELEMENTS: u64 = 8192;

/// Warps of a CTA, at most: where loads run ahead, all of them meet on each trip. Token shifts of 8 warps became as fast or faster, of 16 and 32 up to
/// 0.6 of what they were (`docs/log.md`).
const MAX_WARPS: u32 = 8;

fn run(module: &mut Module, options: &CompileOptions) -> Result<(), Unsupported> {
    if options.launch.num_warps > MAX_WARPS {
        return Ok(());
    }
    let function = &mut module.functions[0];
    let mut bodies = Vec::new();
    function.walk(|_, id| bodies.extend(body_to_flatten(function, id)));
    if bodies.is_empty() {
        return Ok(());
    }
    let mut replaced = ValueMap::default();
    for body in bodies {
        let mut flat = Vec::new();
        for op in std::mem::take(&mut function.block_mut(body).ops) {
            match function.op(op).kind {
                OpKind::If => flatten(function, op, &mut flat, &mut replaced),
                _ => flat.push(op),
            }
        }
        function.block_mut(body).ops = flat;
    }
    rewrite::replace_uses(function, &replaced);
    rewrite::erase_dead(function);
    rewrite::compact(function);
    Ok(())
}

/// What the branches of one trip do, both sides of each.
#[derive(Default)]
struct Work {
    bytes: u64,
    elements: u64,
}

/// The body of a loop in which there is no product and no other control than branches that can be flattened.
fn body_to_flatten(function: &Function, id: OpId) -> Option<BlockId> {
    let (OpKind::For(_), &[body]) = (&function.op(id).kind, &function.op(id).regions[..]) else { return None };
    let mut work = Work::default();
    for &inner in &function.block(body).ops {
        match &function.op(inner).kind {
            OpKind::Dot { .. } => return None,
            OpKind::If => work.add(function, inner)?,
            kind if kind.is_control() => return None,
            _ => {}
        }
    }
    let is_little = work.bytes <= MAX_BYTES && work.elements <= MAX_ELEMENTS;
    (work.bytes > 0 && is_little).then_some(body)
}

impl Work {
    /// `None` if a side does what must not be done, or costs too much, where it is not taken.
    fn add(&mut self, function: &Function, branch: OpId) -> Option<()> {
        let &[_, _] = &function.op(branch).regions[..] else { return None };
        for &id in function.op(branch).regions.iter().flat_map(|&side| &function.block(side).ops) {
            let op = function.op(id);
            match &op.kind {
                OpKind::Yield | OpKind::Constant(_) | kinds!(Shape) => {}
                OpKind::Load(attrs) if load_cse::is_plain(*attrs) => {
                    let pointer = op.operands[0];
                    self.bytes += function.ty(pointer).num_elements() * u64::from(pointee_bytes(function, pointer));
                }
                OpKind::Binary(BinaryOp::DivS | BinaryOp::DivU | BinaryOp::RemS | BinaryOp::RemU)
                    if !is_harmless(function, op.operands[1]) =>
                {
                    return None;
                }
                kind if kind.is_cheap() => {
                    self.elements += op.results.iter().map(|&result| function.ty(result).num_elements()).sum::<u64>();
                }
                _ => return None,
            }
        }
        Some(())
    }
}

/// Every integer can be divided by it: it is a number, neither 0 nor -1, by which the least one cannot.
fn is_harmless(function: &Function, divisor: ValueId) -> bool {
    let Some(op) = function.def_op(divisor).map(|op| function.op(op)) else { return false };
    match op.kind {
        OpKind::Constant(Constant::Int(number)) => number > 0,
        OpKind::Splat => is_harmless(function, op.operands[0]),
        _ => false,
    }
}

/// Both sides of a branch, and of its results which is chosen.
fn flatten(function: &mut Function, branch: OpId, flat: &mut Vec<OpId>, replaced: &mut ValueMap) {
    let op = function.op(branch).clone();
    let condition = op.operands[0];
    let put = |function: &mut Function, flat: &mut Vec<OpId>, kind: OpKind, operands: &[ValueId], ty: Type| {
        let new = function.create_op(kind, operands, [ty], &[], op.origin);
        flat.push(new);
        function.op(new).results[0]
    };
    let truth = Type::scalar(Scalar::I1);
    let one = put(function, flat, OpKind::Constant(Constant::Int(1)), &[], truth.clone());
    let otherwise = put(function, flat, OpKind::Binary(BinaryOp::Xor), &[condition, one], truth);
    let passed: Vec<_> = op.regions.iter().map(|&side| function.passed(side).to_vec()).collect();
    for (&side, taken) in op.regions.iter().zip([condition, otherwise]) {
        for inner in std::mem::take(&mut function.block_mut(side).ops) {
            match function.op(inner).kind {
                OpKind::Yield => continue,
                OpKind::Load(_) => load_cse::guard(function, inner, taken, flat),
                _ => {}
            }
            flat.push(inner);
        }
    }
    for ((&result, &then), &instead) in op.results.iter().zip(&passed[0]).zip(&passed[1]) {
        let ty = function.ty(result).clone();
        let mut choice = condition;
        if !ty.is_scalar() {
            choice = put(function, flat, OpKind::Splat, &[condition], ty.with_elem(Elem::Scalar(Scalar::I1)));
        }
        let chosen = put(function, flat, OpKind::Select, &[choice, then, instead], ty);
        replaced.insert(result, chosen);
    }
}
