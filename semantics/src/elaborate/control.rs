//! Control flow: compile-time and run-time `if`, loops, and what becomes of names where ways join.
//!
//! **Invariant:** nothing is promoted at a join: a name keeps its type on every way, or a problem says which way differs.

use indexmap::IndexSet;
use smol_str::SmolStr;
use tritium_tile::{BlockId, OpKind, Type, ValueDef, ValueId, ops::LoopAttrs};

use super::{
    evaluator::{Eval, Evaluator, ProblemExt, Scope, Silenced, Slot, problem},
    scan::{assigned_names, contains_return},
    statements::{Flow, Rest, Work},
    value::{Tile, Value},
};
use crate::{
    body::{Expr, ExprId, StmtId},
    builtins::{Builtin, Python},
    constant::Const,
    diagnostics::Code,
    dtype::DType,
    problem::{Edit, Place},
    types::{Element, TileType},
};

/// A condition, evaluated.
pub(super) enum Condition {
    Known(bool),
    /// A scalar `i1`.
    Runtime(Tile),
    Unknown,
}

impl<'a> Evaluator<'a> {
    /// What `if` and the conditional expression ask.
    pub(super) fn condition(&mut self, expr: ExprId, value: Value, code: Code) -> Condition {
        match value {
            Value::Unknown => Condition::Unknown,
            Value::Const(c) => match c.value {
                Const::None | Const::Bool(_) | Const::Int(_) => Condition::Known(c.value.truth()),
                other => {
                    let place = self.place(expr);
                    let message = format!(
                        "`{}` is {other}, and a compile-time condition must be a bool, an int or None: compare it with something",
                        self.text(expr)
                    );
                    self.problem(Code::CTL010, place, message);
                    Condition::Unknown
                }
            },
            Value::Tile(tile) if tile.ty.num_elements() > 1 => {
                self.block_condition(expr, &tile, code);
                Condition::Unknown
            }
            Value::Tile(tile) => {
                let tile = if tile.ty.is_scalar() { tile } else { self.reshape_to(tile, Default::default(), false) };
                match self.truth(tile, expr) {
                    Ok(tile) => Condition::Runtime(tile),
                    Err(Silenced) => Condition::Unknown,
                }
            }
            other => {
                let place = self.place(expr);
                let message = format!("`{}` is {}, and a condition must be a bool, an int or None", self.text(expr), other.ty());
                self.problem(Code::CTL010, place, message);
                Condition::Unknown
            }
        }
    }

    fn block_condition(&mut self, expr: ExprId, tile: &Tile, code: Code) {
        let text = self.text(expr);
        let symbolic = crate::types::symbolic_shape(&tile.ty.shape).map(|s| format!(" ({s})")).unwrap_or_default();
        let word = if code == Code::CTL002 { "while" } else { "if" };
        let message = format!(
            "`{word} {text}` asks one question of {} elements: `{text}` is {}{symbolic}. Select with `tl.where`, or reduce it to a scalar (`tl.max({text}, 0)`)",
            tile.ty.num_elements(),
            tile.ty
        );
        let origin = tile.ty.shape.iter().find_map(|d| d.origin);
        let place = self.place(expr);
        self.report(problem(code, place, message).related(origin, "its shape comes from here".to_owned()));
    }

    /// A scalar as `i1`: `!= 0`.
    pub(super) fn truth(&mut self, tile: Tile, at: ExprId) -> Eval<Tile> {
        self.cast(tile, Element::Scalar(DType::I1), at)
    }

    // ---- if

    pub(super) fn if_statement(
        &mut self,
        id: StmtId,
        condition: ExprId,
        then: &[StmtId],
        otherwise: &[StmtId],
        rest: &Rest<'_>,
    ) -> Flow {
        let value = self.eval(condition);
        match self.condition(condition, value, Code::CTL001) {
            Condition::Known(taken) => self.run(if taken { then } else { otherwise }, Some(rest)),
            Condition::Unknown => {
                // Both ways are walked for their problems; what they bind is not known.
                self.complete = false;
                let before = self.scope.clone();
                for branch in [then, otherwise] {
                    let block = self.out.add_block();
                    let loops = std::mem::replace(&mut self.loops, 0);
                    self.inside(block, |s| s.run(branch, None));
                    self.loops = loops;
                    self.scope.clone_from(&before);
                }
                let mut changed = IndexSet::new();
                assigned_names(self.body, then, &mut changed);
                assigned_names(self.body, otherwise, &mut changed);
                for name in changed {
                    self.forget(name, self.stmt_place(id));
                }
                Flow::Falls
            }
            Condition::Runtime(test) => {
                let returns = contains_return(self.body, then) || contains_return(self.body, otherwise);
                if returns && self.loops == 0 {
                    return self.returning_if(id, test, then, otherwise, rest);
                }
                self.joining_if(id, test, then, otherwise);
                Flow::Falls
            }
        }
    }

    fn forget(&mut self, name: SmolStr, place: Place) {
        self.scope.insert(name, Slot::Bound { value: Value::Unknown, place, from: None, decayed: false });
    }

    /// A branch returns: both ways run to the end of the function.
    fn returning_if(&mut self, id: StmtId, test: Tile, then: &[StmtId], otherwise: &[StmtId], rest: &Rest<'_>) -> Flow {
        let before = self.scope.clone();
        let mut ways = Vec::new();
        for branch in [then, otherwise] {
            let block = self.out.add_block();
            let other = if std::ptr::eq(branch, then) { otherwise } else { then };
            let flow = self.inside(block, |s| match s.run(branch, Some(rest)) {
                Flow::Falls => {
                    s.leave_branch(&before, other);
                    match s.run_rest(rest) {
                        Flow::Falls | Flow::Ended => Flow::Ended,
                        Flow::Returned { value, .. } => Flow::Returned { value, seen: true },
                    }
                }
                flow => flow,
            });
            ways.push((block, flow));
            self.scope.clone_from(&before);
        }
        let (Some((else_block, else_flow)), Some((then_block, then_flow))) = (ways.pop(), ways.pop()) else { return Flow::Falls };
        let seen = [&then_flow, &else_flow].iter().any(|f| !matches!(f, Flow::Returned { seen: false, .. }));
        let (then_value, else_value) = match (then_flow, else_flow) {
            _ if self.is_entry => (Value::none(), Value::none()),
            (Flow::Returned { value: a, .. }, Flow::Returned { value: b, .. }) => {
                self.join_returns(self.stmt_place(id), (then_block, a), (else_block, b))
            }
            (Flow::Returned { value, .. }, Flow::Falls | Flow::Ended) => {
                let missing = self.missing_return(&value, else_block);
                (value, missing)
            }
            (Flow::Falls | Flow::Ended, Flow::Returned { value, .. }) => {
                let missing = self.missing_return(&value, then_block);
                (missing, value)
            }
            (Flow::Falls | Flow::Ended, Flow::Falls | Flow::Ended) => {
                self.close_if(&test, (then_block, &Value::none()), (else_block, &Value::none()));
                return Flow::Ended;
            }
        };
        let value = self.close_if(&test, (then_block, &then_value), (else_block, &else_value));
        Flow::Returned { value, seen }
    }

    /// At the end of a branch whose other side returns: what only this side binds is not bound after the `if`.
    fn leave_branch(&mut self, before: &Scope, other: &[StmtId]) {
        let mut bound_there = IndexSet::new();
        assigned_names(self.body, other, &mut bound_there);
        let lost: Vec<(SmolStr, Place)> = self
            .scope
            .iter()
            .filter(|(name, slot)| {
                matches!(slot, Slot::Bound { .. }) && !before.contains_key(*name) && !bound_there.contains(*name)
            })
            .map(|(name, slot)| (name.clone(), slot.place()))
            .collect();
        for (name, place) in lost {
            self.scope.insert(name, Slot::Lost { place, why: "it is bound in one branch of a run-time `if` only" });
        }
    }

    /// The end of a function that returns a value elsewhere: Triton returns an undefined one without a word.
    fn missing_return(&mut self, value: &Value, block: BlockId) -> Value {
        if value.is_none() || value.has_unknown() {
            return value.clone();
        }
        let place = Place { function: self.function, at: crate::problem::At::Name };
        let name = self.function.name(self.db);
        let message = format!(
            "`{name}` returns {} on one way and reaches its end on another: the value is undefined there. Return one on every way",
            value.ty()
        );
        self.problem(Code::CTL013, place, message);
        self.inside(block, |s| s.undefined_like(value))
    }

    fn undefined_like(&mut self, value: &Value) -> Value {
        match value {
            Value::Tile(tile) => match tile.ty.elem {
                Element::Scalar(dtype) => Value::Tile(self.constant_tile(&Const::Int(0), dtype, tile.ty.shape.clone())),
                Element::Ptr { .. } => Value::Unknown,
            },
            Value::Tuple(items) => Value::Tuple(items.iter().map(|item| self.undefined_like(item)).collect()),
            Value::Const(_) => value.clone(),
            _ => Value::Unknown,
        }
    }

    /// Returned values must agree; from 3.7 on a compile-time number meets a run-time one.
    pub(super) fn join_returns(&mut self, place: Place, then: (BlockId, Value), otherwise: (BlockId, Value)) -> (Value, Value) {
        let (then_block, a) = then;
        let (else_block, b) = otherwise;
        if a.has_unknown() || b.has_unknown() {
            return (Value::Unknown, Value::Unknown);
        }
        if a.same_type(&b) {
            return (a, b);
        }
        if self.rules.constexpr_returns
            && let Some((a, b)) = self.join_constants((then_block, &a), (else_block, &b))
        {
            return (a, b);
        }
        let name = self.function.name(self.db);
        let message = if a.is_none() || b.is_none() {
            let known = if a.is_none() { &b } else { &a };
            format!("`{name}` returns {} on one way and nothing on another: return a value of that type on every way", known.ty())
        } else {
            format!(
                "`{name}` returns {} on one way and {} on another: all returns must have one type, so cast one of them",
                a.ty(),
                b.ty()
            )
        };
        self.problem(Code::CTL004, place, message);
        (Value::Unknown, Value::Unknown)
    }

    fn join_constants(&mut self, then: (BlockId, &Value), otherwise: (BlockId, &Value)) -> Option<(Value, Value)> {
        let convert = |s: &mut Self, block: BlockId, constant: &Const, like: Option<&TileType>| {
            let dtype = match like {
                Some(ty) => ty.elem.scalar()?,
                None => super::promote::literal_type(constant).ok()?,
            };
            constant.as_float()?;
            let shape = like.map(|ty| ty.shape.clone()).unwrap_or_default();
            Some(Value::Tile(s.inside(block, |s| s.constant_tile(constant, dtype, shape))))
        };
        match (then.1, otherwise.1) {
            (Value::Const(a), Value::Tile(b)) => Some((convert(self, then.0, &a.value, Some(&b.ty))?, otherwise.1.clone())),
            (Value::Tile(a), Value::Const(b)) => Some((then.1.clone(), convert(self, otherwise.0, &b.value, Some(&a.ty))?)),
            (Value::Const(a), Value::Const(b)) => {
                let types = (super::promote::literal_type(&a.value).ok()?, super::promote::literal_type(&b.value).ok()?);
                if types.0 != types.1 {
                    return None;
                }
                Some((convert(self, then.0, &a.value, None)?, convert(self, otherwise.0, &b.value, None)?))
            }
            (Value::Tuple(a), Value::Tuple(b)) if a.len() == b.len() => {
                let mut ways = (Vec::new(), Vec::new());
                for (a, b) in a.iter().zip(b) {
                    let (a, b) =
                        if a.same_type(b) { (a.clone(), b.clone()) } else { self.join_constants((then.0, a), (otherwise.0, b))? };
                    ways.0.push(a);
                    ways.1.push(b);
                }
                Some((Value::Tuple(ways.0), Value::Tuple(ways.1)))
            }
            _ => None,
        }
    }

    /// Yields one value from each branch and emits the `if`.
    pub(super) fn close_if(&mut self, test: &Tile, then: (BlockId, &Value), otherwise: (BlockId, &Value)) -> Value {
        let mut sides = Vec::new();
        for (block, value) in [then, otherwise] {
            let mut leaves = Vec::new();
            value.leaves(&mut leaves);
            let ids: Vec<ValueId> = leaves.iter().map(|t| t.id).collect();
            self.inside(block, |s| s.emit(OpKind::Yield, &ids, [], &[]));
            sides.push(leaves);
        }
        let types: Vec<Type> = sides[0].iter().map(|t| t.ty.tile()).collect();
        let op = self.emit(OpKind::If, &[test.id], types, &[then.0, otherwise.0]);
        let results = self.out.op(op).results.clone();
        let merged = merge_facts(then.1, otherwise.1);
        merged.with_ids(&mut results.into_iter())
    }

    /// No branch returns: names are joined.
    fn joining_if(&mut self, id: StmtId, test: Tile, then: &[StmtId], otherwise: &[StmtId]) {
        let before = self.scope.clone();
        let mut ways: Vec<(BlockId, Scope)> = Vec::new();
        for branch in [then, otherwise] {
            let block = self.out.add_block();
            self.inside(block, |s| s.run(branch, None));
            ways.push((block, std::mem::replace(&mut self.scope, before.clone())));
        }
        let place = self.stmt_place(id);
        let (Some((else_block, else_scope)), Some((then_block, then_scope))) = (ways.pop(), ways.pop()) else { return };

        let mut joined: Vec<(SmolStr, Place, Value, Value)> = Vec::new();
        let names: IndexSet<&SmolStr> = then_scope.keys().chain(else_scope.keys()).collect();
        for name in names {
            match self.join_name(name, before.get(name), then_scope.get(name), else_scope.get(name), place) {
                Joined::Keep => {}
                Joined::Slot(slot) => {
                    self.scope.insert(name.clone(), slot);
                }
                Joined::Values(place, a, b) => joined.push((name.clone(), place, a, b)),
            }
        }
        let then_value = Value::Tuple(joined.iter().map(|(_, _, a, _)| a.clone()).collect());
        let else_value = Value::Tuple(joined.iter().map(|(_, _, _, b)| b.clone()).collect());
        let merged = self.close_if(&test, (then_block, &then_value), (else_block, &else_value));
        for ((name, place, _, _), value) in joined.into_iter().zip(merged.items().unwrap_or_default()) {
            self.scope.insert(name, Slot::Bound { value, place, from: None, decayed: false });
        }
    }

    fn join_name(
        &mut self,
        name: &SmolStr,
        before: Option<&Slot>,
        then: Option<&Slot>,
        otherwise: Option<&Slot>,
        at: Place,
    ) -> Joined {
        let lost = |slot: &Slot, why| Joined::Slot(Slot::Lost { place: slot.place(), why });
        match (then, otherwise) {
            (Some(Slot::Bound { value: a, place: a_place, .. }), Some(Slot::Bound { value: b, place: b_place, .. })) => {
                let unknown = |place| Joined::Slot(Slot::Bound { value: Value::Unknown, place, from: None, decayed: false });
                if let Some(Slot::Bound { value: old, place: old_place, .. }) = before {
                    let (then_changed, else_changed) = (!a.unchanged(old), !b.unchanged(old));
                    if !then_changed && !else_changed {
                        return Joined::Keep;
                    }
                    // `None` and types are not values to Triton: changed in one branch they stay what they were, in both they are joined.
                    let plain = old.is_none() || matches!(old, Value::Type(_)) || matches!(old.as_const(), Some(Const::DType(_)));
                    if plain && !matches!(old_place.at, crate::problem::At::Param(_)) {
                        if then_changed && else_changed {
                            return self.join_name(name, None, then, otherwise, at);
                        }
                        let (changed, place) = if then_changed { (a, *a_place) } else { (b, *b_place) };
                        self.kept_after_branch(name, (old, *old_place), (changed, place));
                        return Joined::Slot(Slot::Bound { value: old.clone(), place: *old_place, from: None, decayed: false });
                    }
                    if old.has_unknown() || a.has_unknown() || b.has_unknown() {
                        return unknown(*old_place);
                    }
                    let (changed, changed_place, word) = if then_changed && !a.same_type(old) {
                        (a, a_place, "this branch")
                    } else if else_changed && !b.same_type(old) {
                        (b, b_place, "the else branch")
                    } else {
                        return Joined::Values(if then_changed { *a_place } else { *b_place }, a.clone(), b.clone());
                    };
                    self.branch_mismatch(name, (old, *old_place), (changed, *changed_place), word);
                    return unknown(*old_place);
                }
                if a.has_unknown() || b.has_unknown() {
                    return unknown(*a_place);
                }
                if !a.has_tile() && !b.has_tile() {
                    // Compile-time values first bound in a run-time branch do not outlive it.
                    return match (a, b) {
                        (Value::Const(_), _) | (_, Value::Const(_)) => Joined::Slot(Slot::Lost {
                            place: *a_place,
                            why: "a compile-time value first bound inside a run-time `if` ends with it",
                        }),
                        _ if a == b => {
                            Joined::Slot(Slot::Bound { value: a.clone(), place: *a_place, from: None, decayed: false })
                        }
                        _ => Joined::Slot(Slot::Lost {
                            place: *a_place,
                            why: "it differs between the branches of a run-time `if`",
                        }),
                    };
                }
                if !a.same_type(b) {
                    let message = format!(
                        "`{name}` is {} after the then branch and {} after the else branch: nothing is converted where branches join, so cast one of them",
                        a.ty(),
                        b.ty()
                    );
                    self.report(
                        problem(Code::CTL004, *b_place, message)
                            .related(Some(*a_place), format!("{} here", a.ty()))
                            .related(Some(at), "the `if` joins them".to_owned()),
                    );
                    return unknown(*a_place);
                }
                Joined::Values(*a_place, a.clone(), b.clone())
            }
            (Some(slot @ Slot::Bound { .. }), _) if before.is_none() => {
                lost(slot, "it is bound in one branch of a run-time `if` only")
            }
            (_, Some(slot @ Slot::Bound { .. })) if before.is_none() => {
                lost(slot, "it is bound in one branch of a run-time `if` only")
            }
            (Some(slot @ Slot::Lost { .. }), _) | (_, Some(slot @ Slot::Lost { .. })) => Joined::Slot(slot.clone()),
            (Some(slot @ Slot::Stale { .. }), _) | (_, Some(slot @ Slot::Stale { .. })) => Joined::Slot(slot.clone()),
            _ => Joined::Keep,
        }
    }

    fn kept_after_branch(&mut self, name: &SmolStr, old: (&Value, Place), new: (&Value, Place)) {
        let message = format!(
            "`{name}` is {} before the run-time `if`, and after it again: what this branch binds ({}) is lost without a word. Start with a run-time value of that type",
            old.0.ty(),
            new.0.ty()
        );
        self.report(problem(Code::CTL011, new.1, message).related(Some(old.1), format!("`{name}` is {} here", old.0.ty())));
    }

    fn branch_mismatch(&mut self, name: &SmolStr, old: (&Value, Place), new: (&Value, Place), word: &str) {
        let message = if !old.0.has_tile() {
            format!(
                "`{name}` is {} before the run-time `if` and {} in {word}: a compile-time value cannot change at run time (Triton would silently keep the old one). Start with a run-time value of the same type",
                old.0.ty(),
                new.0.ty()
            )
        } else {
            format!(
                "`{name}` is {} before the `if`, but {word} makes it {}: nothing is converted where branches join, so cast it",
                old.0.ty(),
                new.0.ty()
            )
        };
        self.report(problem(Code::CTL004, new.1, message).related(Some(old.1), format!("`{name}` is {} here", old.0.ty())));
    }

    // ---- loops

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
            Expr::Call { callee, .. } => Some(self.eval(*callee)),
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
                    Err(Silenced) => self.unknown_loop(id, Some((name, target)), body),
                }
                Flow::Falls
            }
            Some(Value::Builtin(Builtin::StaticRange)) => match self.static_bounds(iterable) {
                Ok((start, end, step)) => {
                    let place = self.stmt_place(id);
                    self.unrolled_loop(Trips { place, target, next: start, end, step, body }, Some(rest))
                }
                Err(Silenced) => {
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
        let mut changed = IndexSet::new();
        assigned_names(self.body, body, &mut changed);
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
            return Err(Silenced);
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
                        report =
                            report.fix("Use tl.range", true, vec![Edit::Replace(self.place(*callee), "tl.range".to_owned())]);
                    }
                    self.report(report);
                    return Err(Silenced);
                }
            }
        }
        let bounds = match bounds[..] {
            [end] => (0, end, 1),
            [start, end] => (start, end, 1),
            [start, end, step] => (start, end, step),
            _ => return Err(Silenced),
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
            if self.step(trips.place).is_err() {
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
        let step = bounds.pop().ok_or(Silenced)?;
        let end = bounds.pop().ok_or(Silenced)?;
        let start = bounds.pop().ok_or(Silenced)?;
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
            s.leave(&mut carried, &before_scope)
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
        let test = self.inside(test_block, |s| {
            let value = s.eval(condition);
            s.while_condition(condition, value)
        });
        let test_args: Vec<ValueId> = self.out.block(test_block).args.to_vec();

        let block = self.out.add_block();
        self.scope = before_scope.clone();
        self.enter(block, &mut carried);
        self.loops += 1;
        let yields = self.inside(block, |s| {
            s.run(body, None);
            s.leave(&mut carried, &before_scope)
        });
        self.loops -= 1;
        self.inside(block, |s| s.emit(OpKind::Yield, &yields, [], &[]));

        let Ok(test) = test else {
            self.complete = false;
            self.scope = before_scope;
            let mut changed = IndexSet::new();
            assigned_names(self.body, body, &mut changed);
            for name in changed {
                self.forget(name, self.stmt_place(id));
            }
            return;
        };
        let mut operands = vec![test.id];
        operands.extend(&test_args);
        self.inside(test_block, |s| s.emit(OpKind::Condition, &operands, [], &[]));
        self.drop_unchanged(&mut carried, first_op, &[test_block, block]);
        let operands: Vec<ValueId> = carried.iter().flat_map(|c| c.changing().map(|t| t.id).collect::<Vec<_>>()).collect();
        let op = self.emit(OpKind::While, &operands, carried_types(&carried), &[test_block, block]);
        self.after_loop(op, carried, before_scope, body);
    }

    fn while_condition(&mut self, expr: ExprId, value: Value) -> Eval<Tile> {
        let tile = match &value {
            Value::Unknown => return Err(Silenced),
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
            return Err(Silenced);
        }
        if tile.ty.elem != Element::Scalar(DType::I1) && !self.rules.while_on_int {
            let text = self.text(expr);
            let place = self.place(expr);
            let message = format!(
                "`while {text}`: `{text}` is {}, and the condition of a run-time loop must be i1: compare it (`{text} != 0`)",
                tile.ty
            );
            self.report(problem(Code::CTL010, place, message).fix(
                "Compare with 0",
                true,
                vec![Edit::InsertAfter(place, " != 0".to_owned())],
            ));
            return Err(Silenced);
        }
        self.truth(tile, expr)
    }

    // ---- carried names

    /// Names that live before a loop and may change in it.
    fn carried(&mut self, body: &[StmtId], variable: Option<&SmolStr>) -> Vec<Carried> {
        let mut names = IndexSet::new();
        assigned_names(self.body, body, &mut names);
        let mut carried = Vec::new();
        for name in names {
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
    fn leave(&mut self, carried: &mut [Carried], before: &Scope) -> Vec<ValueId> {
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
        let names: Vec<SmolStr> = before.keys().cloned().collect();
        for name in names {
            if carried.iter().any(|c| c.name == name) {
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
        let mut assigned = IndexSet::new();
        assigned_names(self.body, body, &mut assigned);
        for name in assigned {
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
    place: Place,
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

enum Joined {
    Keep,
    Slot(Slot),
    /// From each branch.
    Values(Place, Value, Value),
}

impl Slot {
    pub(super) fn place(&self) -> Place {
        match self {
            Slot::Bound { place, .. } | Slot::Lost { place, .. } | Slot::Stale { place, .. } => *place,
        }
    }
}

/// What holds of a value that comes from one of two ways.
fn merge_facts(a: &Value, b: &Value) -> Value {
    match (a, b) {
        (Value::Tile(a), Value::Tile(b)) => {
            Value::Tile(Tile { varies: a.varies | b.varies, undefined: a.undefined.or(b.undefined), ..a.clone() })
        }
        (Value::Tuple(a), Value::Tuple(b)) if a.len() == b.len() => {
            Value::Tuple(a.iter().zip(b).map(|(a, b)| merge_facts(a, b)).collect())
        }
        (Value::Record(a), Value::Record(b)) if a.class == b.class => {
            let mut others = b.items.iter();
            a.map(|item| others.next().map_or(Value::Unknown, |other| merge_facts(item, other)))
        }
        _ => a.clone(),
    }
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
