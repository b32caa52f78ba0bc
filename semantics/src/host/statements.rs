//! Statements of host code.
//!
//! **Invariant:** where it is not known which way the code goes, every way is walked, each from the same state: what they agree on is
//! known afterwards, what they do not is one of several values or unknown, and what they launch is in doubt.

use std::rc::Rc;

use indexmap::IndexMap;
use smol_str::SmolStr;

use super::{
    HostPlace, budget,
    interpret::{Frame, Host, reason},
    kinds,
    value::{Doubt, Kind, TOO_LARGE, Value},
};
use crate::{
    OrderedMap,
    body::{Body, BoolOp, CompareOp, Expr, ExprId, Stmt, StmtId, UnaryOp},
    constant::{Const, MAX_NODES},
    items::{self, Node},
};

/// A block that may run, and the condition under which it does, with whether that holds.
type Way<'a> = (&'a [StmtId], Option<(ExprId, bool)>);

/// How a block ends.
pub(super) enum Flow {
    Next,
    Break,
    Continue,
    Return(Value),
    /// An exception, or a way out that is not followed: the function's result is unknown.
    Abandon(SmolStr),
}

/// Functions that do not return.
pub(super) const ENDS: &[&str] = &["pytest.exit", "pytest.fail", "pytest.skip", "pytest.xfail", "sys.exit"];

/// Alternatives of one value that are kept apart.
const MAX_ALTERNATIVES: usize = 8;

impl Host<'_> {
    pub(super) fn block(&mut self, frame: &Frame, stmts: &[StmtId]) -> Flow {
        // `elif` nests as deep as it is long.
        stacker::maybe_grow(256 << 10, 4 << 20, || self.statements(frame, stmts))
    }

    fn statements(&mut self, frame: &Frame, stmts: &[StmtId]) -> Flow {
        for &id in stmts {
            self.db.unwind_if_revision_cancelled();
            if !self.burn() {
                return Flow::Abandon("host code ran for too long".into());
            }
            let flow = self.stmt(frame, id);
            if let Some(why) = self.raised.take() {
                return Flow::Abandon(why);
            }
            match flow {
                Flow::Next => {}
                other => return other,
            }
        }
        Flow::Next
    }

    fn stmt(&mut self, frame: &Frame, id: StmtId) -> Flow {
        let body = &frame.body;
        match body.stmt(id) {
            Stmt::Missing | Stmt::Pass => {}
            Stmt::Assert { test, .. } => {
                // What an assertion about a tensor says is seen when the program runs.
                let place = HostPlace { file: frame.file, chunk: frame.chunk, expr: *test };
                let value = self.expr(frame, *test);
                if self.entrance.is_some() && value.truth() == Some(false) {
                    self.want(frame, *test, true);
                    return Flow::Abandon("an assertion fails".into());
                }
                self.asserted(place, &value, || body.text_of(*test));
                self.raised = None;
                // A test that is to show what is refused.
                if self.called.is_some() && value.truth() == Some(false) {
                    return Flow::Abandon("an assertion fails".into());
                }
                self.narrow(frame, *test, true);
            }
            Stmt::Expr(e) => {
                self.expr(frame, *e);
            }
            Stmt::Assign { targets, value: from } => {
                let value = self.expr(frame, *from);
                if self.entrance.is_some() {
                    self.seen_assigned(frame, targets, *from, &value);
                }
                for &target in targets {
                    self.assign(frame, target, value.clone());
                }
            }
            Stmt::AnnAssign { target, value, .. } => {
                if let Some(value) = value {
                    let value = self.expr(frame, *value);
                    self.assign(frame, *target, value);
                }
            }
            Stmt::AugAssign { target, op, value } => {
                let (old, by) = (self.expr(frame, *target), self.expr(frame, *value));
                let new = self.binary(*op, old, by);
                self.assign(frame, *target, new);
            }
            Stmt::Return(value) => {
                let value = value.map_or(Value::NONE, |v| self.expr(frame, v));
                return Flow::Return(value);
            }
            Stmt::If { condition, then, otherwise } => {
                let value = self.expr(frame, *condition);
                if self.entrance.is_some() {
                    let ways = (&then[..], &otherwise[..]);
                    let known = self.said_of_condition(frame, *condition).or_else(|| value.truth());
                    let holds = known.unwrap_or_else(|| self.decided(frame, *condition, &value, Some(ways)));
                    self.taken(frame, *condition, holds, ways);
                    return self.block(frame, if holds { then } else { otherwise });
                }
                match value.truth() {
                    Some(true) => return self.block(frame, then),
                    Some(false) => return self.block(frame, otherwise),
                    None => {
                        let ways = [(&then[..], Some((*condition, true))), (&otherwise[..], Some((*condition, false)))];
                        return self.either(frame, &ways, &reason(&value, "the condition"));
                    }
                }
            }
            Stmt::For { target, iterable, body: inner, otherwise, .. } => {
                let iterable = self.expr(frame, *iterable);
                let items = iterable.items().or_else(|| {
                    // Where a function is entered, a loop of which nothing is known runs once, over what is a free name.
                    self.entrance.is_some().then(|| vec![Value::unknown("what the loop runs over is not known")])
                });
                let Some(values) = items else {
                    let why = reason(&iterable, "what the loop runs over");
                    self.doubt(frame, *target, kinds::part(iterable.kind(), false), &why);
                    return self.perhaps_repeated(frame, &[inner, otherwise], &why);
                };
                for value in values {
                    if !self.burn() {
                        return Flow::Abandon("host code ran for too long".into());
                    }
                    self.assign(frame, *target, value);
                    match self.block(frame, inner) {
                        Flow::Next | Flow::Continue => {}
                        Flow::Break => return Flow::Next,
                        other => return other,
                    }
                    if frame.may_have_exited.replace(false) {
                        self.forget_all(frame, inner, "a loop ends or goes on under a condition that is not known");
                        return Flow::Next;
                    }
                }
                return self.block(frame, otherwise);
            }
            Stmt::While { condition, body: inner, otherwise } => loop {
                let value = self.expr(frame, *condition);
                match value.truth() {
                    Some(true) if self.burn() => {}
                    Some(true) => {
                        self.exceed(frame, *condition);
                        return Flow::Abandon("host code ran for too long".into());
                    }
                    Some(false) => return self.block(frame, otherwise),
                    None => return self.perhaps_repeated(frame, &[inner, otherwise], &reason(&value, "the condition")),
                }
                match self.block(frame, inner) {
                    Flow::Next | Flow::Continue => {}
                    Flow::Break => break,
                    other => return other,
                }
                if frame.may_have_exited.replace(false) {
                    self.forget_all(frame, inner, "a loop ends or goes on under a condition that is not known");
                    return Flow::Next;
                }
            },
            Stmt::With { items, body: inner } => {
                for (context, target) in items {
                    self.expr(frame, *context);
                    if let Some(target) = target {
                        self.assign(frame, *target, Value::unknown("what `with` binds is not followed"));
                    }
                }
                if !items.iter().any(|(context, _)| self.expects_failure(frame, *context)) {
                    return self.block(frame, inner);
                }
                self.expected_failures += 1;
                let flow = self.block(frame, inner);
                self.expected_failures -= 1;
                return if let Flow::Abandon(_) = flow { Flow::Next } else { flow };
            }
            Stmt::Try { body: inner, handlers, otherwise, finally } => {
                // What is tried is taken to succeed, unless it raises outright: then a handler runs, and nobody knows which.
                let level = self.path_conditions.len();
                if self.called.is_some() && !handlers.is_empty() {
                    self.path_conditions.push("what is tried may fail".into());
                }
                let tried = self.block(frame, inner);
                self.path_conditions.truncate(level);
                let flow = match tried {
                    Flow::Next => self.block(frame, otherwise),
                    Flow::Abandon(why) => {
                        let blocks: Vec<&[StmtId]> = handlers.iter().map(|h| h.1.as_slice()).collect();
                        match &blocks[..] {
                            [] => Flow::Abandon(why),
                            [one] => self.block(frame, one),
                            _ => {
                                let ways: Vec<Way> = blocks.iter().map(|&block| (block, None)).collect();
                                self.either(frame, &ways, &why)
                            }
                        }
                    }
                    flow => flow,
                };
                return match self.block(frame, finally) {
                    Flow::Next => flow,
                    out => out,
                };
            }
            Stmt::Function(def) => {
                let value = self.define(frame, id, &def.decorators);
                frame.scope.set(&def.name, value);
            }
            Stmt::Class { name, .. } => {
                let class = self.class(frame, id);
                frame.scope.set(name, class);
            }
            // Names from the module's imports are looked up when they are used; a function's own are here.
            Stmt::Import { modules } => {
                for import in modules {
                    if let Some(name) = &import.alias {
                        frame.scope.set(name, self.imported(frame, 0, &import.path, None));
                    }
                }
            }
            Stmt::ImportFrom { level, module, names } => {
                for import in names {
                    let name = import.alias.as_ref().unwrap_or(&import.path);
                    let is_known = frame.scope.parent.is_none() && items::declared(self.db, frame.file).names.contains_key(name);
                    if !is_known {
                        let value = self.imported(frame, *level, module, Some(&import.path));
                        frame.scope.set(name, value);
                    }
                }
            }
            Stmt::Other { keyword, body: inner, exprs } => match *keyword {
                "break" => return Flow::Break,
                "continue" => return Flow::Continue,
                "raise" => return Flow::Abandon("an exception is raised".into()),
                "match" => return self.either(frame, &[(inner, None), (&[], None)], "`match` is not followed"),
                _ => exprs.iter().for_each(|&e| {
                    self.expr(frame, e);
                }),
            },
        }
        Flow::Next
    }

    /// What an entered function calls its sizes.
    fn seen_assigned(&mut self, frame: &Frame, targets: &[ExprId], from: ExprId, value: &Value) {
        let [target] = targets else { return };
        match (frame.body.expr(*target), frame.body.expr(from)) {
            (Expr::Tuple(targets) | Expr::List(targets), Expr::Tuple(items)) if targets.len() == items.len() => {
                let values = value.items().unwrap_or_default();
                for ((&target, &item), value) in targets.iter().zip(items).zip(&values) {
                    self.seen_assigned(frame, &[target], item, value);
                }
            }
            (Expr::Tuple(targets) | Expr::List(targets), from) => {
                if let Expr::Tuple(items) = from {
                    self.starred(frame, targets, items);
                }
                self.unpacked(frame, targets, value);
            }
            (Expr::Name(_), Expr::Subscript { .. } | Expr::Call { .. }) => self.named(frame, *target, value),
            _ => {}
        }
    }

    /// Blocks of which one runs, nobody knows which; what decides it is known within them.
    fn either(&mut self, frame: &Frame, ways: &[Way], why: &str) -> Flow {
        let Some(before) = State::of(frame) else { return Flow::Abandon(TOO_LARGE.into()) };
        let mut ends: Vec<State> = Vec::new();
        let mut raised = 0;
        // A block that only raises is a check of the arguments: it is taken to pass.
        let checks = |block: &[StmtId]| match block {
            [only] => match frame.body.stmt(*only) {
                Stmt::Other { keyword, .. } => *keyword == "raise",
                Stmt::Expr(call) => self.ends_test(frame, *call),
                _ => false,
            },
            _ => false,
        };
        let checks: Vec<bool> = ways.iter().map(|way| checks(way.0)).collect();
        let doubtful = checks.iter().filter(|checks| !**checks).count() > 1;
        let mut leaves = false;
        for ((block, condition), checks) in ways.iter().zip(checks) {
            if let Some((condition, holds)) = condition {
                self.narrow(frame, *condition, *holds);
            }
            if doubtful {
                self.path_conditions.push(why.into());
            }
            let level = self.path_conditions.len();
            match self.block(frame, block) {
                Flow::Next => ends.extend(State::of(frame)),
                Flow::Return(value) => {
                    frame.early.borrow_mut().push(value);
                    leaves = true;
                }
                Flow::Abandon(_) => {
                    raised += 1;
                    leaves |= !checks;
                }
                Flow::Break | Flow::Continue => {
                    frame.may_have_exited.set(true);
                    leaves = true;
                }
            }
            self.path_conditions.truncate(level);
            if doubtful {
                self.path_conditions.pop();
            }
            if budget::is_exhausted() {
                return Flow::Abandon(TOO_LARGE.into());
            }
            before.restore(frame);
        }
        if ends.is_empty() {
            // Every way leaves.
            let early = frame.early.borrow();
            return match (early.last(), raised == ways.len(), frame.may_have_exited.get()) {
                (_, _, true) => Flow::Break,
                (Some(value), _, _) => Flow::Return(value.clone()),
                _ => Flow::Abandon(why.into()),
            };
        }
        State::merge(frame, ends, why);
        if leaves {
            // Whether the rest runs is not known: until the function ends.
            self.path_conditions.push(why.into());
        }
        Flow::Next
    }

    /// `with pytest.raises(…):`
    fn expects_failure(&self, frame: &Frame, context: ExprId) -> bool {
        let Expr::Call { callee, .. } = frame.body.expr(context) else { return false };
        matches!(frame.body.expr(*callee), Expr::Attribute { name, .. } if name.starts_with("assertRaises"))
            || items::path(self.db, frame.file, &frame.body, *callee).is_some_and(|path| path == "pytest.raises")
    }

    /// `pytest.skip(…)`
    fn ends_test(&self, frame: &Frame, call: ExprId) -> bool {
        let Expr::Call { callee, .. } = frame.body.expr(call) else { return false };
        matches!(frame.body.expr(*callee), Expr::Attribute { name, .. } if name == "skipTest")
            || items::path(self.db, frame.file, &frame.body, *callee).is_some_and(|path| ENDS.contains(&path.as_str()))
    }

    /// What is known of names where a condition holds, or does not: `x is None`, `x is not None`, `x`.
    pub(super) fn narrow(&mut self, frame: &Frame, condition: ExprId, holds: bool) {
        // `a and b and c` nests as deep as it is long.
        stacker::maybe_grow(64 << 10, 1 << 20, || self.narrow_within(frame, condition, holds));
    }

    fn narrow_within(&mut self, frame: &Frame, condition: ExprId, holds: bool) {
        let bound = |name: &SmolStr| frame.scope.names.borrow().get(name).cloned();
        match frame.body.expr(condition) {
            Expr::Unary { op: UnaryOp::Not, operand } => self.narrow(frame, *operand, !holds),
            Expr::Bool2 { op, lhs, rhs } if (*op == BoolOp::And) == holds => {
                self.narrow(frame, *lhs, holds);
                self.narrow(frame, *rhs, holds);
            }
            Expr::Name(name) if holds => {
                if let Some(value) = bound(name) {
                    frame.scope.set(name, value.unless_none());
                }
            }
            Expr::Compare { first, rest } => {
                let [(op, rhs)] = rest[..] else { return };
                let (Expr::Name(name), Expr::None) = (frame.body.expr(*first), frame.body.expr(rhs)) else { return };
                let is_none = match op {
                    CompareOp::Is | CompareOp::Eq => holds,
                    CompareOp::IsNot | CompareOp::Ne => !holds,
                    _ => return,
                };
                if let Some(value) = bound(name) {
                    frame.scope.set(name, if is_none { Value::NONE } else { value.unless_none() });
                }
            }
            _ => {}
        }
    }

    /// Blocks that run an unknown number of times, or not at all.
    fn perhaps_repeated(&mut self, frame: &Frame, blocks: &[&[StmtId]], why: &str) -> Flow {
        blocks.iter().for_each(|block| self.forget_all(frame, block, why));
        let level = self.path_conditions.len();
        self.path_conditions.push(why.into());
        for block in blocks {
            match self.block(frame, block) {
                Flow::Return(value) => frame.early.borrow_mut().push(value),
                Flow::Next | Flow::Break | Flow::Continue | Flow::Abandon(_) => {}
            }
            frame.may_have_exited.set(false);
        }
        self.path_conditions.truncate(level);
        blocks.iter().for_each(|block| self.forget_all(frame, block, why));
        Flow::Next
    }

    /// Everything that a block may change is unknown.
    fn forget_all(&mut self, frame: &Frame, block: &[StmtId], why: &str) {
        let body = frame.body.clone();
        let name_of = |e: ExprId| match body.expr(e) {
            Expr::Name(name) => Some(name.clone()),
            Expr::Subscript { receiver, .. } | Expr::Attribute { receiver, .. } => match body.expr(*receiver) {
                Expr::Name(name) => Some(name.clone()),
                _ => None,
            },
            _ => None,
        };
        items::walk(&body, block, &mut |node| match node {
            Node::Stmt(id) => match body.stmt(id) {
                Stmt::Assign { targets, .. } => targets.iter().for_each(|&t| self.forget(frame, t, why)),
                Stmt::AugAssign { target, .. } | Stmt::AnnAssign { target, .. } | Stmt::For { target, .. } => {
                    self.forget(frame, *target, why);
                }
                _ => {}
            },
            Node::Expr(id) => {
                if let Expr::Call { callee, .. } = body.expr(id)
                    && let Expr::Attribute { name: method, .. } = body.expr(*callee)
                    && CHANGES.contains(&method.as_str())
                    && let Some(name) = name_of(*callee)
                {
                    frame.scope.set(&name, Value::unknown(why));
                }
            }
        });
    }

    fn forget(&mut self, frame: &Frame, target: ExprId, why: &str) {
        self.doubt(frame, target, Kind::Any, why);
    }

    /// Binds to what is not known but its kind.
    fn doubt(&mut self, frame: &Frame, target: ExprId, kind: Kind, why: &str) {
        match frame.body.expr(target) {
            Expr::Name(name) => frame.scope.set(name, Value::some(kind, why)),
            Expr::Tuple(items) | Expr::List(items) => {
                items.iter().for_each(|&i| self.doubt(frame, i, kinds::part(kind, false), why));
            }
            Expr::Starred(inner) => self.doubt(frame, *inner, kinds::part(kind, true), why),
            // A part of it changes: the rest may be read by other names, so what holds it is not known either.
            Expr::Subscript { receiver, .. } => {
                if let Expr::Name(name) = frame.body.expr(*receiver) {
                    frame.scope.set(name, Value::unknown(why));
                }
            }
            _ => {}
        }
    }

    pub(super) fn assign(&mut self, frame: &Frame, target: ExprId, value: Value) {
        let body = frame.body.clone();
        match body.expr(target) {
            Expr::Name(name) => frame.scope.set(name, value),
            Expr::Tuple(targets) | Expr::List(targets) => self.unpack(frame, &body, targets, &value),
            Expr::Starred(inner) => self.forget(frame, *inner, "a starred target is not followed"),
            Expr::Subscript { receiver, index } => {
                let holder = self.expr(frame, *receiver);
                if let Value::Tensor(tensor) = &holder {
                    return self.set_tensor_part(frame, tensor, *index, &value);
                }
                let index = self.expr(frame, *index);
                match (&holder, index.to_const()) {
                    (Value::Dict(items), Some(key)) if budget::take(2) => {
                        items.borrow_mut().insert(key, value);
                    }
                    (Value::List(items), Some(Const::Int(i))) => {
                        let len = items.borrow().len() as i128;
                        let at = usize::try_from(if i < 0 { i + len } else { i }).unwrap_or(usize::MAX);
                        if let Some(slot) = items.borrow_mut().get_mut(at) {
                            *slot = value;
                        }
                    }
                    (Value::Dict(_) | Value::List(_), None) => {
                        self.forget(frame, target, "an element is set whose place is not known");
                    }
                    _ => {}
                }
            }
            Expr::Attribute { receiver, name } => {
                match self.expr(frame, *receiver) {
                    Value::Object(object) => {
                        object.fields.borrow_mut().insert(name.clone(), value);
                    }
                    // `x.data = x.data.cuda()`
                    Value::Tensor(_) if name == "data" => self.assign(frame, *receiver, value),
                    Value::Tensor(t) if name == "grad" => self.set_gradient(&t, value),
                    _ => {}
                }
            }
            _ => {}
        }
    }

    fn unpack(&mut self, frame: &Frame, body: &Body, targets: &[ExprId], value: &Value) {
        let star = targets.iter().position(|&t| matches!(body.expr(t), Expr::Starred(_)));
        match (value.items(), star) {
            (Some(values), None) if values.len() == targets.len() => {
                for (&t, v) in targets.iter().zip(values) {
                    self.assign(frame, t, v);
                }
            }
            // `a, *rest, b = values`
            (Some(values), Some(at)) if values.len() + 1 >= targets.len() => {
                let after = targets.len() - at - 1;
                for (&t, v) in targets[..at].iter().zip(&values) {
                    self.assign(frame, t, v.clone());
                }
                for (&t, v) in targets[at + 1..].iter().zip(&values[values.len() - after..]) {
                    self.assign(frame, t, v.clone());
                }
                if let Expr::Starred(inner) = body.expr(targets[at]) {
                    self.assign(frame, *inner, Value::list(values[at..values.len() - after].to_vec()));
                }
            }
            // One sequence or another, each of them as long.
            _ if let Value::Either(all) = value
                && star.is_none()
                && let Some(rows) = all.iter().map(Value::items).collect::<Option<Vec<_>>>()
                && rows.iter().all(|row| row.len() == targets.len()) =>
            {
                for (at, &target) in targets.iter().enumerate() {
                    let column = rows.iter().map(|row| row[at].clone());
                    let either = column.reduce(|a, b| a.or(b, "it is unpacked from one thing or another"));
                    either.into_iter().for_each(|value| self.assign(frame, target, value));
                }
            }
            _ => {
                let (why, kind) = (reason(value, "what is unpacked"), value.kind());
                let part = |t: ExprId| kinds::part(kind, matches!(body.expr(t), Expr::Starred(_)));
                targets.iter().for_each(|&t| self.doubt(frame, t, part(t), &why));
            }
        }
    }

    /// What a function returns: its last value, unless it may have returned another before.
    pub(super) fn returned(frame: &Frame, last: Value) -> Value {
        let early = frame.early.take();
        early.into_iter().rev().fold(last, |known, other| known.or(other, "the function returns one thing or another"))
    }
}

/// Methods that change what they are called on.
const CHANGES: &[&str] =
    &["append", "extend", "insert", "pop", "remove", "clear", "update", "setdefault", "sort", "reverse", "add"];

type Contents = Vec<(Value, Elements)>;

/// What a list or a dictionary held.
#[derive(Clone)]
enum Elements {
    List(Vec<Value>),
    Dict(IndexMap<Const, Value>),
    Object(IndexMap<SmolStr, Value>),
}

/// The names of a function or module at one time, and what the lists and dictionaries among them held.
struct State {
    names: OrderedMap<SmolStr, Value>,
    contents: Contents,
}

impl State {
    /// `None` where there is no room for it.
    fn of(frame: &Frame) -> Option<State> {
        let held_elements = |value: &Value| match value {
            Value::List(_) | Value::Dict(_) => value.len().unwrap_or(0),
            Value::Object(object) => object.fields.borrow().len(),
            _ => 0,
        };
        if !budget::take(frame.scope.names.borrow().values().map(|value| 1 + held_elements(value)).sum()) {
            return None;
        }
        let names = frame.scope.names.borrow().clone();
        let contents = names.values().filter_map(|value| Some((value.clone(), elements_of(value)?))).collect();
        Some(State { names, contents })
    }

    fn restore(&self, frame: &Frame) {
        *frame.scope.names.borrow_mut() = self.names.clone();
        for (holder, held) in &self.contents {
            match (holder, held) {
                (Value::List(list), Elements::List(items)) => list.borrow_mut().clone_from(items),
                (Value::Dict(dict), Elements::Dict(items)) => dict.borrow_mut().clone_from(items),
                (Value::Object(object), Elements::Object(fields)) => object.fields.borrow_mut().clone_from(fields),
                _ => {}
            }
        }
    }

    /// What several ways agree on.
    fn merge(frame: &Frame, ends: Vec<State>, why: &str) {
        let Some((first, rest)) = ends.split_first() else { return };
        first.restore(frame);
        if rest.is_empty() {
            return;
        }
        if !budget::visit(rest.len() * first.names.len() + first.contents.len() * first.contents.len()) {
            return;
        }
        let mut merged = first.names.clone();
        for end in rest {
            for (name, value) in &end.names {
                let known = merged.get(name).cloned();
                merged.insert(
                    name.clone(),
                    match known {
                        Some(known) => known.or(value.clone(), why),
                        // Bound on one way alone: on the other, reading it is an error.
                        None => value.clone(),
                    },
                );
            }
        }
        // A list that the ways fill differently.
        for value in merged.values_mut() {
            let Some(now) = elements_of(value) else { continue };
            if let (Value::Object(object), Elements::Object(now)) = (&*value, &now) {
                let ends = rest.iter().filter_map(|end| end.contents.iter().find(|(holder, _)| holder.same(value)));
                let fields = ends.fold(now.clone(), |known, (_, held)| match held {
                    Elements::Object(held) => merge_fields(known, held, why),
                    _ => known,
                });
                *object.fields.borrow_mut() = fields;
                continue;
            }
            let differs = |end: &State| {
                let then = end.contents.iter().find(|(holder, _)| holder.same(value));
                then.is_some_and(|(_, then)| !then.same(&now))
            };
            if rest.iter().any(differs) {
                *value = Value::unknown(why);
            }
        }
        *frame.scope.names.borrow_mut() = merged;
    }
}

/// The attributes of an object after one way or another; one that is set on one way alone is read where it was.
fn merge_fields(mut known: IndexMap<SmolStr, Value>, other: &IndexMap<SmolStr, Value>, why: &str) -> IndexMap<SmolStr, Value> {
    for (name, value) in other {
        let merged = match known.get(name) {
            Some(known) => known.clone().or(value.clone(), why),
            None => value.clone(),
        };
        known.insert(name.clone(), merged);
    }
    known
}

fn elements_of(value: &Value) -> Option<Elements> {
    match value {
        Value::List(items) => Some(Elements::List(items.borrow().clone())),
        Value::Dict(items) => Some(Elements::Dict(items.borrow().clone())),
        Value::Object(object) => Some(Elements::Object(object.fields.borrow().clone())),
        _ => None,
    }
}

impl Elements {
    fn same(&self, other: &Elements) -> bool {
        match (self, other) {
            (Elements::List(a), Elements::List(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.same(b)),
            (Elements::Dict(a), Elements::Dict(b)) => {
                a.len() == b.len() && a.iter().all(|(k, v)| b.get(k).is_some_and(|other| v.same(other)))
            }
            _ => false,
        }
    }
}

impl Value {
    /// Whether two values are the same one, as far as is known.
    pub(super) fn same(&self, other: &Value) -> bool {
        self.same_within(other, &mut MAX_NODES.clone())
    }

    /// Values of more than some nodes are taken to differ.
    fn same_within(&self, other: &Value, nodes_left: &mut usize) -> bool {
        let Some(left) = nodes_left.checked_sub(1) else { return false };
        *nodes_left = left;
        let mut all = |a: &[Value], b: &[Value]| {
            a.len() == b.len() && budget::visit(a.len()) && a.iter().zip(b).all(|(a, b)| a.same_within(b, nodes_left))
        };
        match (self, other) {
            (Value::List(a), Value::List(b)) => Rc::ptr_eq(a, b),
            (Value::Dict(a), Value::Dict(b)) => Rc::ptr_eq(a, b),
            (Value::Tuple(a), Value::Tuple(b)) => Rc::ptr_eq(a, b) || all(a, b),
            (Value::Const(a), Value::Const(b)) => a == b,
            (Value::Path(a), Value::Path(b)) => a == b,
            (Value::File(a), Value::File(b)) => a == b,
            (Value::Tensor(a), Value::Tensor(b)) => {
                Rc::ptr_eq(&a.storage, &b.storage) && a.dtype == b.dtype && a.shape == b.shape && a.strides == b.strides
            }
            (Value::Closure(a), Value::Closure(b)) => Rc::ptr_eq(a, b),
            (Value::Class(a), Value::Class(b)) => Rc::ptr_eq(a, b),
            (Value::Object(a), Value::Object(b)) => Rc::ptr_eq(a, b),
            (Value::Config(a), Value::Config(b)) => a == b,
            (Value::Either(a), Value::Either(b)) => Rc::ptr_eq(a, b) || all(a, b),
            (Value::Unknown(a), Value::Unknown(b)) => a == b,
            (Value::Range { start, stop, step }, Value::Range { start: s, stop: t, step: u }) => (start, stop, step) == (s, t, u),
            _ => false,
        }
    }

    /// Each value that it may be.
    pub(super) fn alternatives(self) -> Vec<Value> {
        match self {
            Value::Either(all) => all.to_vec(),
            one => vec![one],
        }
    }

    /// One value or another.
    pub(super) fn or(self, other: Value, why: &str) -> Value {
        if self.same(&other) {
            return self;
        }
        let mut all = self.alternatives();
        for value in other.alternatives() {
            if !all.iter().any(|known| known.same(&value)) {
                all.push(value);
            }
        }
        // Lists are worth knowing in part; of one number or another there is nothing to say.
        let is_list = |v: &Value| matches!(v, Value::List(_) | Value::Tuple(_));
        let unknown = all.iter().filter(|v| matches!(v, Value::Unknown(_))).count();
        if all.len() > MAX_ALTERNATIVES || (unknown > 0 && !all.iter().any(is_list)) {
            let something = all.iter().filter(|value| !value.is_none());
            let kind = something.map(Value::kind).reduce(Kind::or).unwrap_or_default();
            let may_be_none = kind == Kind::Any || !all.iter().all(Value::is_something);
            let usual = all.iter().find_map(|value| match value {
                Value::Unknown(doubt) => doubt.usual.clone(),
                other => other.to_const().filter(|usual| *usual != Const::None).map(Rc::new),
            });
            return Value::Unknown(Doubt { why: why.into(), kind, may_be_none, usual });
        }
        if unknown > 0 {
            all.retain(|v| !matches!(v, Value::Unknown(_)));
            all.push(Value::unknown(why));
        }
        Value::Either(budget::keep(all))
    }
}
