//! Loops: compile-time and run-time `for`, `while`, and the names that live across trips.
//!
//! **Invariant:** a carried name has one type in every trip, or a problem says where it changes; what does not change is not carried.

use smol_str::SmolStr;
use tritium_tile::{BlockId, OpKind, Type, ValueDef, ValueId, ops::LoopAttrs};

use super::{
    control::merge_facts,
    evaluator::{Eval, Evaluator, Poisoned, ProblemExt, problem},
    scope::{Scope, Slot},
    statements::{Flow, Rest, Work},
    value::{Tile, Value},
};
use crate::{
    OrderedSet,
    body::{Expr, ExprId, StmtId},
    builtins::{Builtin, Python},
    constant::Const,
    diagnostics::Code,
    dtype::DType,
    problem::{Applicability, Edit, Place},
    types::{Element, TileType},
};

impl<'a> Evaluator<'a> {
    pub(super) fn for_statement(
        &mut self,
        id: StmtId,
        target: ExprId,
        iterable: ExprId,
        body: &[StmtId],
        rest: &Rest<'_>,
    ) -> Flow {
        let hir = self.body;
        let callee = match hir.expr(iterable) {
            Expr::Call { callee, .. } => Some(self.eval_path(*callee)),
            _ => None,
        };
        let Expr::Name(name) = hir.expr(target) else {
            let place = self.place(target);
            self.unsupported(place, "a loop over several names", "loop over one name");
            return Flow::Falls;
        };
        match callee {
            Some(Value::Unknown) => {
                self.eval(iterable);
                self.unknown_loop(id, Some((name, target)), body);
                Flow::Falls
            }
            Some(Value::Python(Python::Range)) | Some(Value::Builtin(Builtin::Range)) => {
                match self.loop_range(iterable) {
                    Ok(range) => self.run_time_loop((name, target), range, body),
                    Err(Poisoned) => self.unknown_loop(id, Some((name, target)), body),
                }
                Flow::Falls
            }
            Some(Value::Builtin(Builtin::StaticRange)) => match self.static_bounds(iterable) {
                Ok((start, end, step)) => {
                    let outer = self.budget.unrolling;
                    self.budget.unrolling = outer.or(Some(self.place(iterable)));
                    let flow = self.unrolled_loop(Trips { target, next: start, end, step, body }, Some(rest));
                    self.budget.unrolling = outer;
                    flow
                }
                Err(Poisoned) => {
                    self.unknown_loop(id, Some((name, target)), body);
                    Flow::Falls
                }
            },
            _ => {
                let place = self.place(iterable);
                let text = self.text(iterable);
                self.unsupported(
                    place,
                    &format!("a loop over `{text}`"),
                    "loop over `range(…)`, `tl.range(…)` or `tl.static_range(…)`",
                );
                self.unknown_loop(id, Some((name, target)), body);
                Flow::Falls
            }
        }
    }

    /// The body is walked once for its problems; what it binds is not known.
    fn unknown_loop(&mut self, id: StmtId, variable: Option<(&SmolStr, ExprId)>, body: &[StmtId]) {
        self.complete = false;
        let before = self.scope.clone();
        let changed = self.outline.assigned_names(self.body, body);
        for name in changed.clone() {
            if before.contains_key(&name) {
                self.forget(name, self.stmt_place(id));
            }
        }
        if let Some((name, target)) = variable {
            self.bind(name.clone(), target, Value::Unknown, None, false);
        }
        let block = self.out.add_block();
        self.loops += 1;
        self.inside(block, |s| s.run(body, None));
        // It may make no trip.
        self.stopped = false;
        self.loops -= 1;
        self.scope = before;
        for name in changed {
            self.forget(name, self.stmt_place(id));
        }
        if let Some((name, _)) = variable {
            self.forget(name.clone(), self.stmt_place(id));
        }
    }

    /// `(start, end, step)` of a call as values.
    fn loop_arguments(&mut self, call: ExprId) -> Eval<(Vec<(Value, ExprId)>, LoopAttrs)> {
        let arguments = self.range_arguments(call)?;
        if arguments.0.iter().any(|(v, _)| v.has_unknown()) {
            return Err(Poisoned);
        }
        Ok(arguments)
    }

    fn static_bounds(&mut self, call: ExprId) -> Eval<(i128, i128, i128)> {
        let (values, _) = self.loop_arguments(call)?;
        let mut bounds = Vec::new();
        for (value, expr) in &values {
            match value.as_const().and_then(Const::as_int) {
                Some(i) => bounds.push(i),
                None => {
                    let text = self.text(*expr);
                    let message = format!(
                        "`{text}` is {}, and the bounds of tl.static_range must be known at compile time: use `tl.range`, or make it tl.constexpr",
                        value.ty()
                    );
                    let place = self.place(*expr);
                    let mut report = problem(Code::CTL007, place, message);
                    if let Expr::Call { callee, .. } = self.body.expr(call) {
                        report = report.fix(
                            "Use tl.range",
                            Applicability::Suggested,
                            vec![Edit::Replace(self.place(*callee), "tl.range".to_owned())],
                        );
                    }
                    self.report(report);
                    return Err(Poisoned);
                }
            }
        }
        let bounds = match bounds[..] {
            [end] => (0, end, 1),
            [start, end] => (start, end, 1),
            [start, end, step] => (start, end, step),
            _ => return Err(Poisoned),
        };
        if bounds.2 == 0 {
            let place = self.place(call);
            return Err(self.problem(Code::CTL009, place, "the step of a loop must not be 0"));
        }
        Ok(bounds)
    }

    /// The remaining trips of a compile-time loop, each with the ones after it as what follows.
    pub(super) fn unrolled_loop(&mut self, trips: Trips<'_>, rest: Option<&Rest<'_>>) -> Flow {
        let hir = self.body;
        let Expr::Name(name) = hir.expr(trips.target) else { return Flow::Falls };
        let mut trips = trips;
        while if trips.step > 0 { trips.next < trips.end } else { trips.next > trips.end } {
            if self.step().is_err() {
                return Flow::Falls;
            }
            self.bind(name.clone(), trips.target, Value::int(trips.next), None, false);
            let Some(next) = trips.next.checked_add(trips.step) else { break };
            trips.next = next;
            let after = Rest { work: Work::Trips(trips), next: rest };
            let flow = self.run(trips.body, Some(&after));
            if flow != Flow::Falls {
                return flow;
            }
        }
        Flow::Falls
    }

    fn loop_range(&mut self, call: ExprId) -> Eval<LoopRange> {
        let (values, attrs) = self.loop_arguments(call)?;
        let mut tiles = Vec::new();
        let mut negative = false;
        let mut values = values;
        let zero = (Value::int(0), call);
        let one = (Value::int(1), call);
        match values.len() {
            1 => {
                values.insert(0, zero);
                values.push(one);
            }
            2 => values.push(one),
            _ => {}
        }
        if let Some(step) = values[2].0.as_const().and_then(Const::as_int) {
            if step == 0 {
                let place = self.place(call);
                return Err(self.problem(Code::CTL009, place, "the step of a loop must not be 0"));
            }
            if step < 0 {
                negative = true;
                values[2].0 = Value::int(-step);
                values.swap(0, 1);
            }
        }
        for (value, expr) in &values {
            let tile = self.as_tile(value, *expr)?;
            let is_int = matches!(tile.ty.elem, Element::Scalar(d) if d.is_int());
            if !tile.ty.is_scalar() || !is_int {
                let place = self.place(*expr);
                let message = format!("`{}` is {}, and loop bounds and steps must be integer scalars", self.text(*expr), tile.ty);
                return Err(self.problem(Code::CTL009, place, message));
            }
            tiles.push(tile);
        }
        let dtypes: Vec<DType> = tiles.iter().filter_map(|t| t.ty.elem.scalar()).collect();
        let dtype = dtypes.into_iter().reduce(super::promote::integer_promotion).unwrap_or(DType::I32);
        let mut bounds = Vec::new();
        for tile in tiles {
            bounds.push(self.cast(tile, dtype.into(), call)?);
        }
        let step = bounds.pop().ok_or(Poisoned)?;
        let end = bounds.pop().ok_or(Poisoned)?;
        let start = bounds.pop().ok_or(Poisoned)?;
        Ok(LoopRange { start, end, step, dtype, negative, attrs })
    }

    fn run_time_loop(&mut self, variable: (&SmolStr, ExprId), range: LoopRange, body: &[StmtId]) {
        let (name, target) = variable;
        let before_scope = self.scope.clone();
        let mut carried = self.carried(body, Some(name));
        let first_op = self.out.ops.len();
        let block = self.out.add_block();
        let ty = TileType::scalar(range.dtype);
        let induction = self.out.add_block_arg(block, ty.tile());
        self.enter(block, &mut carried);

        let mut induction = Tile { ty, id: induction, varies: 0, undefined: None };
        self.loops += 1;
        let yields = self.inside(block, |s| {
            if range.negative {
                // Mirrored: the bounds were swapped.
                let ty = induction.ty.clone();
                let down = s.emit_like(OpKind::Binary(tritium_tile::ops::BinaryOp::SubI), &[&range.end, &induction], ty.clone());
                induction = s.emit_like(OpKind::Binary(tritium_tile::ops::BinaryOp::AddI), &[&down, &range.start], ty);
            }
            s.bind(name.clone(), target, Value::Tile(induction.clone()), None, false);
            s.run(body, None);
            let mut assigned = s.outline.assigned_names(s.body, body);
            assigned.insert(name.clone());
            s.leave(&mut carried, &before_scope, assigned)
        });
        self.loops -= 1;
        self.inside(block, |s| s.emit(OpKind::Yield, &yields, [], &[]));

        self.drop_unchanged(&mut carried, first_op, &[block]);
        let mut operands = vec![range.start.id, range.end.id, range.step.id];
        operands.extend(carried.iter().flat_map(|c| c.changing().map(|t| t.id).collect::<Vec<_>>()));
        let op = self.emit(OpKind::For(range.attrs), &operands, carried_types(&carried), &[block]);
        self.after_loop(op, carried, before_scope, body);
        let ty = TileType::scalar(range.dtype);
        self.scope.insert(name.clone(), Slot::Stale { place: self.place(target), ty });
    }

    pub(super) fn while_statement(&mut self, id: StmtId, condition: ExprId, body: &[StmtId]) {
        let before_scope = self.scope.clone();
        let mut carried = self.carried(body, None);
        let first_op = self.out.ops.len();
        let test_block = self.out.add_block();
        self.enter(test_block, &mut carried);
        self.disable_licm = false;
        let test = self.inside(test_block, |s| {
            let value = s.eval(condition);
            s.while_condition(condition, value)
        });
        let disable_licm = self.disable_licm;
        let test_args: Vec<ValueId> = self.out.block(test_block).args.to_vec();

        let block = self.out.add_block();
        self.scope = before_scope.clone();
        self.enter(block, &mut carried);
        self.loops += 1;
        let yields = self.inside(block, |s| {
            s.run(body, None);
            s.leave(&mut carried, &before_scope, s.outline.assigned_names(s.body, body))
        });
        self.loops -= 1;
        self.inside(block, |s| s.emit(OpKind::Yield, &yields, [], &[]));

        let Ok(test) = test else {
            self.complete = false;
            self.scope = before_scope;
            for name in self.outline.assigned_names(self.body, body) {
                self.forget(name, self.stmt_place(id));
            }
            return;
        };
        let mut operands = vec![test.id];
        operands.extend(&test_args);
        self.inside(test_block, |s| s.emit(OpKind::Condition, &operands, [], &[]));
        self.drop_unchanged(&mut carried, first_op, &[test_block, block]);
        let operands: Vec<ValueId> = carried.iter().flat_map(|c| c.changing().map(|t| t.id).collect::<Vec<_>>()).collect();
        let op = self.emit(OpKind::While { disable_licm }, &operands, carried_types(&carried), &[test_block, block]);
        self.after_loop(op, carried, before_scope, body);
    }

    fn while_condition(&mut self, expr: ExprId, value: Value) -> Eval<Tile> {
        let tile = match &value {
            Value::Unknown => return Err(Poisoned),
            Value::Tile(tile) => tile.clone(),
            other => {
                let message = format!(
                    "`while {}` is decided at compile time ({}); the condition of a run-time loop must be a run-time bool",
                    self.text(expr),
                    other.ty()
                );
                let place = self.place(expr);
                return Err(self.problem(Code::CTL010, place, message));
            }
        };
        if !tile.ty.is_scalar() {
            self.block_condition(expr, &tile, Code::CTL002);
            return Err(Poisoned);
        }
        if tile.ty.elem != Element::Scalar(DType::I1) && !self.rules.while_on_int {
            let text = self.text(expr);
            let place = self.place(expr);
            let message = format!(
                "`while {text}`: `{text}` is {}, and the condition of a run-time loop must be i1: compare it (`{text} != 0`)",
                tile.ty
            );
            let edits = self.append_comparison(expr);
            self.report(problem(Code::CTL010, place, message).fix("Compare with 0", Applicability::Suggested, edits));
            return Err(Poisoned);
        }
        self.truth(tile, expr)
    }

    // ---- carried names

    /// Names that live before a loop and may change in it.
    fn carried(&mut self, body: &[StmtId], variable: Option<&SmolStr>) -> Vec<Carried> {
        let mut carried = Vec::new();
        for name in self.outline.assigned_names(self.body, body) {
            if Some(&name) == variable {
                continue;
            }
            let Some(Slot::Bound { value, place, from, .. }) = self.scope.get(&name) else { continue };
            let (mut init, place, from) = (value.clone(), *place, *from);
            // A literal that this dialect kept compile-time becomes a value where it starts to change.
            if self.rules.literals_stay_constexpr
                && let Some(Const::Int(_) | Const::Float(_) | Const::Bool(_)) = init.as_const()
                && let Some(constant) = init.as_const().cloned()
                && let Ok(dtype) = super::promote::literal_type(&constant)
                && !matches!(place.at, crate::problem::At::Param(_))
            {
                init = Value::Tile(self.constant_tile(&constant, dtype, Default::default()));
            }
            if init.has_tile() {
                carried.push(Carried {
                    name,
                    init: init.clone(),
                    place,
                    from,
                    args: Vec::new(),
                    last: init,
                    broken: false,
                    fixed: Vec::new(),
                });
            }
        }
        carried
    }

    /// Gives a region an argument for every carried value, and the names those arguments.
    fn enter(&mut self, block: BlockId, carried: &mut [Carried]) {
        for item in carried {
            let mut leaves = Vec::new();
            item.init.leaves(&mut leaves);
            let args: Vec<ValueId> = leaves.iter().map(|t| self.out.add_block_arg(block, t.ty.tile())).collect();
            let inside = forget_facts(&item.init.with_ids(&mut args.iter().copied()));
            item.args.push(args);
            self.scope.insert(item.name.clone(), Slot::Bound { value: inside, place: item.place, from: None, decayed: false });
        }
    }

    /// At the end of the body: what each carried name is now. Reports names whose type changed.
    fn leave(&mut self, carried: &mut [Carried], before: &Scope, assigned: OrderedSet<SmolStr>) -> Vec<ValueId> {
        let mut yields = Vec::new();
        for item in carried.iter_mut() {
            let args = item.args.last().cloned().unwrap_or_default();
            let (value, place) = match self.scope.get(&item.name) {
                Some(Slot::Bound { value, place, .. }) => (value.clone(), *place),
                _ => (Value::Unknown, item.place),
            };
            if value.has_unknown() || item.init.has_unknown() {
                item.broken = true;
                yields.extend(args);
                continue;
            }
            if !value.same_type(&item.init) {
                self.loop_type_change(&item.name, item.from, (&item.init, item.place), (&value, place));
                item.broken = true;
                yields.extend(args);
                continue;
            }
            let mut leaves = Vec::new();
            value.leaves(&mut leaves);
            yields.extend(leaves.iter().map(|t| t.id));
            item.last = value;
        }
        // Compile-time names cannot change at run time.
        for name in assigned {
            if before.shares(&self.scope, &name) || carried.iter().any(|c| c.name == name) {
                continue;
            }
            let (Some(Slot::Bound { value: old, place: old_place, .. }), Some(Slot::Bound { value: new, place, .. })) =
                (before.get(&name), self.scope.get(&name))
            else {
                continue;
            };
            if old.unchanged(new) || old.has_unknown() || new.has_unknown() || old.has_tile() {
                continue;
            }
            let (old_ty, new_ty, old_place, place) = (old.ty(), new.ty(), *old_place, *place);
            let message = format!(
                "`{name}` is {old_ty} before the loop and {new_ty} after a trip: a compile-time value cannot change at run time. Use another name, started with a run-time value"
            );
            self.report(problem(Code::CXP002, place, message).related(Some(old_place), format!("`{name}` is {old_ty} here")));
        }
        yields
    }

    fn loop_type_change(&mut self, name: &SmolStr, from: Option<ExprId>, old: (&Value, Place), new: (&Value, Place)) {
        let (old_ty, new_ty) = (old.0.ty(), new.0.ty());
        let mut message = format!(
            "`{name}` enters the loop as {old_ty} and is {new_ty} after a trip: the type of a carried value must stay the same"
        );
        let mut fixes = Vec::new();
        if let (Value::Tile(a), Value::Tile(b)) = (old.0, new.0) {
            if crate::types::same_shape(&a.ty.shape, &b.ty.shape) {
                message.push_str(&format!(". Start it as {}, or cast it back with `.to(…)`", b.ty.elem));
            } else {
                message.push_str(". Start it with that shape");
            }
            if let Some(fix) = self.fix_initialiser(from, &a.ty, &b.ty) {
                fixes.push(fix);
            }
        }
        let mut report = problem(Code::CTL005, new.1, message).related(Some(old.1), format!("`{name}` starts as {old_ty} here"));
        report.fixes = fixes;
        self.report(report);
    }

    /// Parts of carried values that never change need not be carried: inside, the first value is used.
    fn drop_unchanged(&mut self, carried: &mut [Carried], first_op: usize, blocks: &[BlockId]) {
        let mut replaced: Vec<(ValueId, ValueId)> = Vec::new();
        for item in carried.iter_mut() {
            let inits = item.inits();
            let last_args = item.args.last().cloned().unwrap_or_default();
            let mut leaves = Vec::new();
            item.last.leaves(&mut leaves);
            item.fixed = (0..inits.len())
                .map(|i| item.broken || leaves.get(i).is_some_and(|t| t.id == last_args[i] || t.id == inits[i]))
                .collect();
            for (block, args) in blocks.iter().zip(&item.args) {
                for (i, (arg, init)) in args.iter().zip(&inits).enumerate() {
                    let Some(position) = self.out.block(*block).args.iter().position(|a| a == arg).filter(|_| item.fixed[i])
                    else {
                        continue;
                    };
                    self.out.block_mut(*block).args.remove(position);
                    // The value itself stays in the arena, as an argument of a block that nothing reaches.
                    let nowhere = self.out.add_block();
                    self.out.values[arg.index()].def = ValueDef::Argument(nowhere, 0);
                    let rest: Vec<ValueId> = self.out.block(*block).args[position..].to_vec();
                    for (offset, value) in rest.into_iter().enumerate() {
                        self.out.values[value.index()].def = ValueDef::Argument(*block, (position + offset) as u32);
                    }
                    if let Some(&terminator) = self.out.block(*block).ops.last() {
                        // Before its values the test block's terminator has the condition, and the loop's block has the induction variable.
                        let op = self.out.op_mut(terminator);
                        let operand = match op.kind {
                            OpKind::Condition => position + 1,
                            _ if blocks.len() == 1 => position - 1,
                            _ => position,
                        };
                        op.operands.remove(operand);
                    }
                    replaced.push((*arg, *init));
                }
            }
        }
        for op in &mut self.out.ops[first_op..] {
            for operand in &mut op.operands {
                if let Some((_, init)) = replaced.iter().find(|(arg, _)| arg == operand) {
                    *operand = *init;
                }
            }
        }
    }

    fn after_loop(&mut self, op: tritium_tile::OpId, carried: Vec<Carried>, before: Scope, body: &[StmtId]) {
        let results = self.out.op(op).results.clone();
        let mut results = results.into_iter();
        let inside = std::mem::replace(&mut self.scope, before);
        for name in self.outline.assigned_names(self.body, body) {
            if let Some(item) = carried.iter().find(|c| c.name == name && c.fixed.contains(&false)) {
                let parts: Vec<ValueId> = item
                    .inits()
                    .into_iter()
                    .zip(&item.fixed)
                    .map(|(init, &fixed)| if fixed { init } else { results.next().unwrap_or(init) })
                    .collect();
                let value = merge_facts(&item.init, &item.last).with_ids(&mut parts.into_iter());
                self.scope.insert(name, Slot::Bound { value, place: item.place, from: None, decayed: false });
                continue;
            }
            match (self.scope.get(&name), inside.get(&name)) {
                // Live before and not carried: unchanged, or already reported.
                (Some(Slot::Bound { value: old, place, .. }), Some(Slot::Bound { value: new, .. })) => {
                    if !old.has_tile() && !old.unchanged(new) || new.has_unknown() || !old.same_type(new) {
                        let place = *place;
                        self.forget(name, place);
                    }
                }
                (Some(Slot::Bound { .. }), _) => {}
                (_, Some(slot)) => {
                    let place = slot.place();
                    self.scope.insert(
                        name,
                        Slot::Lost { place, why: "it is first bound inside a run-time loop, which may make no trip" },
                    );
                }
                (_, None) => {}
            }
        }
    }
}

/// Trips of a compile-time loop that are still to be made.
#[derive(Clone, Copy)]
pub(super) struct Trips<'a> {
    target: ExprId,
    next: i128,
    end: i128,
    step: i128,
    body: &'a [StmtId],
}

struct LoopRange {
    start: Tile,
    end: Tile,
    step: Tile,
    dtype: DType,
    negative: bool,
    attrs: LoopAttrs,
}

/// A name that lives across trips.
struct Carried {
    name: SmolStr,
    init: Value,
    place: Place,
    /// The expression it starts as.
    from: Option<ExprId>,
    /// For each region, its arguments.
    args: Vec<Vec<ValueId>>,
    /// At the end of the body.
    last: Value,
    /// A problem was reported, or its value is not known: not carried.
    broken: bool,
    /// Which of its parts never change.
    fixed: Vec<bool>,
}

impl Carried {
    fn inits(&self) -> Vec<ValueId> {
        let mut leaves = Vec::new();
        self.init.leaves(&mut leaves);
        leaves.iter().map(|t| t.id).collect()
    }

    /// The parts that really change.
    fn changing(&self) -> impl Iterator<Item = Tile> {
        let mut leaves = Vec::new();
        self.init.leaves(&mut leaves);
        let fixed = self.fixed.clone();
        leaves.into_iter().enumerate().filter(move |(i, _)| !fixed.get(*i).copied().unwrap_or(false)).map(|(_, t)| t)
    }
}

fn carried_types(carried: &[Carried]) -> Vec<Type> {
    carried.iter().flat_map(|c| c.changing().map(|t| t.ty.tile()).collect::<Vec<_>>()).collect()
}

/// A carried value may become anything of its type.
fn forget_facts(value: &Value) -> Value {
    match value {
        Value::Tile(tile) => Value::Tile(Tile { varies: Tile::all_axes(tile.ty.rank()), ..tile.clone() }),
        Value::Tuple(items) => Value::Tuple(items.iter().map(forget_facts).collect()),
        Value::Record(record) => record.map(forget_facts),
        other => other.clone(),
    }
}
