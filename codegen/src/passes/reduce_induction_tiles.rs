//! A tile that every trip of a loop moves by the same amount everywhere is carried as that amount, a scalar.
//!
//! Pointers that walk along a matrix and indices that count along a row then cost one register instead of one or two for each element;
//! where the walk began stays outside, and `split_addresses` adds the amount to the scalar pointer. **Invariant:** only what a `for` carries changes;
//! offsets of pointers are summed in 64 bits, indices in their own, both exactly.

use tritium_tile::{
    BlockId, Elem, Function, Module, OpId, OpKind, Scalar, Type, ValueId,
    control::Carried,
    ops::{BinaryOp, CastOp, Constant, Origin},
    rewrite,
};

use super::{CompileOptions, Pass, Unsupported};

pub static PASS: Pass = Pass {
    name: "reduce_induction_tiles",
    summary: "Carry how far a tile has moved, not the tile.",
    needs: &[],
    gives: &[],
    run,
};

/// Steps of one trip; nobody writes more.
const MAX_STEPS: usize = 8;

fn run(module: &mut Module, _options: &CompileOptions) -> Result<(), Unsupported> {
    for function in &mut module.functions {
        let mut loops: Vec<(BlockId, OpId)> = Vec::new();
        function.walk(|block, op| {
            if matches!(function.op(op).kind, OpKind::For(_)) {
                loops.push((block, op));
            }
        });
        for (block, id) in loops {
            for carried in 0..function.op(id).results.len() {
                if let Some(steps) = steps(function, id, carried) {
                    carry(function, block, id, carried, &steps);
                }
            }
        }
        rewrite::erase_dead(function);
        rewrite::compact(function);
    }
    Ok(())
}

/// One step of a trip: a scalar amount, added or taken away.
#[derive(Clone, Copy)]
struct Step {
    amount: Amount,
    negative: bool,
}

#[derive(Clone, Copy)]
enum Amount {
    Value(ValueId),
    Number(i64, Scalar),
}

/// What the body adds to a carried tile on its way from argument to yield; `None` if it does anything else.
fn steps(function: &Function, id: OpId, carried: usize) -> Option<Vec<Step>> {
    let Carried { arg, next, .. } = function.for_loop(id)?.carried(carried)?;
    let ty = function.ty(arg);
    let moves = ty.elem().pointee().is_some() || ty.elem().scalar().is_some_and(|scalar| scalar.is_int());
    if ty.is_scalar() || !moves || ty.is_buffer() {
        return None;
    }
    let mut value = next;
    let mut steps = Vec::new();
    while value != arg {
        let op = function.op(function.def_op(value)?);
        let (a, b) = (*op.operands.first()?, *op.operands.get(1)?);
        let (next, step, negative) = match op.kind {
            OpKind::AddPtr | OpKind::Binary(BinaryOp::AddI) if amount(function, b).is_some() => (a, b, false),
            OpKind::Binary(BinaryOp::AddI) => (b, a, false),
            OpKind::Binary(BinaryOp::SubI) => (a, b, true),
            _ => return None,
        };
        steps.push(Step { amount: amount(function, step)?, negative });
        value = next;
        if steps.len() > MAX_STEPS {
            return None;
        }
    }
    steps.reverse();
    Some(steps)
}

fn amount(function: &Function, tile: ValueId) -> Option<Amount> {
    let op = function.op(function.def_op(tile)?);
    match op.kind {
        OpKind::Splat => Some(Amount::Value(op.operands[0])),
        OpKind::Constant(Constant::Int(n)) => Some(Amount::Number(n, function.ty(tile).elem().scalar()?)),
        _ => None,
    }
}

fn carry(function: &mut Function, block: BlockId, id: OpId, carried: usize, steps: &[Step]) {
    let Some((region, Carried { init: initial, arg, result, .. })) =
        function.for_loop(id).and_then(|around| Some((around.body, around.carried(carried)?)))
    else {
        return;
    };
    let tile = function.ty(arg).clone();
    let pointer = tile.elem().pointee().is_some();
    let scalar = if pointer { Scalar::I64 } else { tile.elem().scalar().unwrap_or(Scalar::I64) };
    let origin = function.op(id).origin;
    let mut make = Make { function, origin, made: Vec::new() };

    let zero = make.op(OpKind::Constant(Constant::Int(0)), &[], Type::scalar(scalar));
    let before = std::mem::take(&mut make.made);

    // What the argument and the result were, from what they are now.
    let kind = if pointer { OpKind::AddPtr } else { OpKind::Binary(BinaryOp::AddI) };
    let mut moved: Vec<Vec<OpId>> = Vec::new();
    for distance in [arg, result] {
        let shape = tile.shape().clone();
        make.function.values[distance.index()].ty = Type::scalar(scalar);
        let splat = make.op(OpKind::Splat, &[distance], Type::tile(Elem::Scalar(scalar), shape.as_slice()));
        let place = make.op(kind.clone(), &[initial, splat], tile.clone());
        let ops = std::mem::take(&mut make.made);
        rewrite::replace_all_uses(make.function, distance, place);
        make.function.op_mut(ops[0]).operands[0] = distance;
        moved.push(ops);
    }

    let mut sum = arg;
    for step in steps {
        let mut amount = match step.amount {
            Amount::Value(value) => value,
            Amount::Number(n, scalar) => make.op(OpKind::Constant(Constant::Int(n)), &[], Type::scalar(scalar)),
        };
        if make.function.ty(amount).elem() != Elem::Scalar(scalar) {
            amount = make.op(OpKind::Cast(CastOp::ExtS), &[amount], Type::scalar(scalar));
        }
        let kind = OpKind::Binary(if step.negative { BinaryOp::SubI } else { BinaryOp::AddI });
        sum = make.op(kind, &[sum, amount], Type::scalar(scalar));
    }
    let next = make.made;

    function.op_mut(id).for_init_mut()[carried] = zero;
    let list = &mut function.block_mut(region).ops;
    let Some(last) = list.pop() else { return };
    list.splice(0..0, moved.swap_remove(0));
    list.extend(next);
    list.push(last);
    function.op_mut(last).operands[carried] = sum;
    let list = &mut function.block_mut(block).ops;
    let at = list.iter().position(|&other| other == id).unwrap_or(list.len());
    list.splice(at + 1..at + 1, moved.swap_remove(0));
    list.splice(at..at, before);
}

struct Make<'f> {
    function: &'f mut Function,
    origin: Origin,
    made: Vec<OpId>,
}

impl Make<'_> {
    fn op(&mut self, kind: OpKind, operands: &[ValueId], ty: Type) -> ValueId {
        let op = self.function.create_op(kind, operands, [ty], &[], self.origin);
        self.made.push(op);
        self.function.op(op).results[0]
    }
}
