//! Conditions: compile-time and run-time `if`, and what becomes of names where ways join.
//!
//! **Invariant:** nothing is promoted at a join: a name keeps its type on every way, or a problem says which way differs.

use smol_str::SmolStr;
use tritium_tile::{BlockId, OpKind, Type, ValueId, ops::Constant};

use super::{
    evaluator::{Eval, Evaluator, Poisoned, ProblemExt, problem},
    scope::{Scope, Slot},
    statements::{Flow, Rest},
    value::{Tile, Value},
};
use crate::{
    OrderedSet,
    body::{ExprId, StmtId},
    constant::Const,
    diagnostics::Code,
    dtype::DType,
    problem::Place,
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
                    Err(Poisoned) => Condition::Unknown,
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

    pub(super) fn block_condition(&mut self, expr: ExprId, tile: &Tile, code: Code) {
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
                let mut stopped = true;
                self.doubtful += 1;
                for branch in [then, otherwise] {
                    let block = self.out.add_block();
                    let loops = std::mem::replace(&mut self.loops, 0);
                    self.inside(block, |s| s.run(branch, None));
                    self.loops = loops;
                    self.scope.clone_from(&before);
                    stopped &= std::mem::take(&mut self.stopped);
                }
                self.doubtful -= 1;
                self.stopped = stopped;
                let mut changed = self.outline.assigned_names(self.body, then);
                changed.extend(self.outline.assigned_names(self.body, otherwise));
                for name in changed {
                    self.forget(name, self.stmt_place(id));
                }
                // One way may have returned, and nobody knows what.
                if self.outline.returns(id) && !self.is_entry {
                    self.doubtful += 1;
                    self.run_rest(rest);
                    self.doubtful -= 1;
                    return Flow::Returned { value: Value::Unknown, seen: true };
                }
                Flow::Falls
            }
            Condition::Runtime(test) => {
                if self.outline.returns(id) && self.loops == 0 {
                    return self.returning_if(id, test, then, otherwise, rest);
                }
                self.joining_if(id, test, then, otherwise);
                Flow::Falls
            }
        }
    }

    pub(super) fn forget(&mut self, name: SmolStr, place: Place) {
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
        let bound_there = self.outline.assigned_names(self.body, other);
        let lost: Vec<(SmolStr, Place)> = self
            .scope
            .iter()
            .filter(|(name, slot)| {
                matches!(slot, Slot::Bound { .. }) && !before.contains_key(name) && !bound_there.contains(*name)
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
            Value::Tile(tile) => {
                let id = self.emit_value(OpKind::Constant(Constant::Undefined), &[], &tile.ty);
                Value::Tile(Tile { id, ty: tile.ty.clone(), varies: 0, undefined: None })
            }
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
        let names: OrderedSet<&SmolStr> = then_scope.keys().chain(else_scope.keys()).collect();
        for name in names {
            if then_scope.shares(&before, name) && else_scope.shares(&before, name) {
                continue;
            }
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
}

enum Joined {
    Keep,
    Slot(Slot),
    /// From each branch.
    Values(Place, Value, Value),
}

/// What holds of a value that comes from one of two ways.
pub(super) fn merge_facts(a: &Value, b: &Value) -> Value {
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
