//! Statements: assignment in all its forms, and what kernels cannot hold.
//!
//! **Invariant:** a statement list is walked with what follows it ([`Rest`]), so that a return inside a run-time `if` becomes two
//! structured branches that both run to the end of the function.

use smol_str::SmolStr;

use super::{
    evaluator::{Eval, Evaluator, ProblemExt, problem},
    loops::Trips,
    scope::Slot,
    value::{Constant, Value},
};
use crate::{
    body::{BinaryOp, Expr, ExprId, Stmt, StmtId},
    builtins::Builtin,
    constant::Const,
    diagnostics::Code,
    problem::{Applicability, Edit, Place},
    types::Ty,
};

/// What a statement list leads to.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Flow {
    Falls,
    /// What follows was walked too, to the end of the function, and no way returns a value.
    Ended,
    /// Every way through it, and through what follows, ends in a return of this.
    Returned {
        value: Value,
        /// What follows has been walked.
        seen: bool,
    },
}

/// What follows, innermost first.
#[derive(Clone, Copy)]
pub(super) struct Rest<'a> {
    pub work: Work<'a>,
    pub next: Option<&'a Rest<'a>>,
}

#[derive(Clone, Copy)]
pub(super) enum Work<'a> {
    Stmts(&'a [StmtId]),
    /// The remaining trips of a compile-time loop.
    Trips(Trips<'a>),
}

impl<'a> Evaluator<'a> {
    pub(super) fn run(&mut self, stmts: &[StmtId], rest: Option<&Rest<'_>>) -> Flow {
        stacker::maybe_grow(128 * 1024, 2 * 1024 * 1024, || {
            for (index, &id) in stmts.iter().enumerate() {
                let place = self.stmt_place(id);
                if self.step().is_err() {
                    return Flow::Falls;
                }
                let outer = self.at(place);
                let after = Rest { work: Work::Stmts(&stmts[index + 1..]), next: rest };
                let flow = self.statement(id, &after);
                self.origin = outer;
                self.note_gap(place);
                match flow {
                    Flow::Falls => {}
                    // Only a `return` of this very list ends it for Triton; after a compile-time `if` that returns it compiles on.
                    Flow::Returned { value, seen: false } if !matches!(self.body.stmt(id), Stmt::Return(_)) => {
                        let value = self.dead_code(place, value, &after);
                        return Flow::Returned { value, seen: true };
                    }
                    ended => return ended,
                }
            }
            Flow::Falls
        })
    }

    /// Checks what never runs, and joins what it returns with what is returned before it.
    fn dead_code(&mut self, place: Place, value: Value, rest: &Rest<'_>) -> Value {
        let (complete, scope) = (self.complete, self.scope.clone());
        let emitted = self.out.arena_lengths();
        let block = self.out.add_block();
        self.dead += 1;
        let flow = self.inside(block, |s| s.run_rest(rest));
        self.dead -= 1;
        self.out.truncate_arenas(emitted);
        self.complete = complete;
        self.scope = scope;
        match flow {
            Flow::Returned { value: other, .. } if !self.is_entry && !value.has_unknown() && !other.has_unknown() => {
                let nowhere = self.out.add_block();
                self.join_returns(place, (self.block, value), (nowhere, other)).0
            }
            Flow::Returned { .. } | Flow::Falls | Flow::Ended => value,
        }
    }

    /// Everything that follows, to the end of the function.
    pub(super) fn run_rest(&mut self, rest: &Rest<'_>) -> Flow {
        let mut rest = Some(rest);
        while let Some(here) = rest {
            let flow = match here.work {
                Work::Stmts(stmts) => self.run(stmts, here.next),
                Work::Trips(trips) => self.unrolled_loop(trips, here.next),
            };
            if flow != Flow::Falls {
                return flow;
            }
            rest = here.next;
        }
        Flow::Falls
    }

    fn statement(&mut self, id: StmtId, rest: &Rest<'_>) -> Flow {
        let body = self.body;
        let place = self.stmt_place(id);
        match body.stmt(id) {
            Stmt::Missing => self.complete = false,
            Stmt::Pass => {}
            Stmt::Expr(expr) => {
                self.eval(*expr);
                self.check_used(*expr);
            }
            Stmt::Assign { targets, value } => {
                let result = self.eval(*value);
                if let [target] = targets.as_slice() {
                    self.assign(*target, result, Some(*value));
                } else {
                    self.unsupported(
                        place,
                        "`a = b = x` (one assignment with several targets)",
                        "write one assignment for each name",
                    );
                    for &target in targets {
                        self.assign(target, Value::Unknown, None);
                    }
                }
            }
            Stmt::AugAssign { target, op, value } => self.augmented(*target, *op, *value),
            Stmt::AnnAssign { target, annotation, value } => self.annotated(*target, *annotation, *value),
            Stmt::Return(value) => return self.return_value(place, *value),
            Stmt::If { condition, then, otherwise } => return self.if_statement(id, *condition, then, otherwise, rest),
            Stmt::For { target, iterable, body, otherwise, .. } => {
                if !otherwise.is_empty() {
                    self.unsupported(place, "`else` after a loop", "move its statements after the loop");
                }
                return self.for_statement(id, *target, *iterable, body, rest);
            }
            Stmt::While { condition, body, otherwise } => {
                if !otherwise.is_empty() {
                    self.unsupported(place, "`else` after a loop", "move its statements after the loop");
                }
                self.while_statement(id, *condition, body);
            }
            Stmt::Assert { test, message } => self.assert_statement(*test, *message),
            Stmt::With { .. } => self.unsupported(place, "`with`", "it has no meaning on the GPU; remove it"),
            Stmt::Function(def) => {
                let what = format!("a nested function (`{}`)", def.name);
                self.unsupported(place, &what, "move it to the top level and decorate it with `@triton.jit`");
            }
            Stmt::Class { .. } => self.unsupported(place, "a class", "move it out of the kernel"),
            Stmt::Import { .. } | Stmt::ImportFrom { .. } => {
                self.unsupported(place, "`import`", "import at the top of the file");
            }
            Stmt::Try { .. } => {
                self.unsupported(place, "`try`", "kernels hold assignments, `if`, `for`, `while`, `return` and calls");
            }
            Stmt::Other { keyword, .. } => {
                let remedy = match *keyword {
                    "break" | "continue" => {
                        "a run-time loop always finishes its trips: use `while condition`, bound the range, or mask the work"
                    }
                    _ => "kernels hold assignments, `if`, `for`, `while`, `return` and calls",
                };
                self.unsupported(place, &format!("`{keyword}`"), remedy);
            }
        }
        Flow::Falls
    }

    pub(super) fn unsupported(&mut self, place: Place, what: &str, remedy: &str) {
        self.complete = false;
        let name = self.function.name(self.db);
        self.problem(Code::LNG001, place, format!("{what} cannot be used in a Triton function (`{name}`): {remedy}"));
    }

    // ---- assignment

    /// Binds a target by plain assignment: a compile-time number becomes a run-time value.
    pub(super) fn assign(&mut self, target: ExprId, value: Value, from: Option<ExprId>) {
        let body = self.body;
        match body.expr(target) {
            Expr::Name(name) => {
                let keeps = self.rules.literals_stay_constexpr && from.is_some_and(|e| is_literal(self, e));
                let decayed = value.as_const().is_some();
                let value = if keeps { value } else { self.decay_for(target, from, value) };
                self.bind(name.clone(), target, value, from, decayed && !keeps);
            }
            Expr::Tuple(targets) => self.unpack(target, targets, value),
            Expr::List(targets) => {
                let place = self.place(target);
                self.unsupported(place, "a list as an assignment target", "write a tuple: `a, b = …`");
                self.unpack(target, targets, Value::Unknown);
            }
            Expr::Subscript { receiver, index } => self.item_assignment(target, *receiver, *index, from),
            Expr::Attribute { .. } => {
                let place = self.place(target);
                self.unsupported(place, "assignment to an attribute", "assign to a name");
            }
            Expr::Missing => self.complete = false,
            _ => {
                let place = self.place(target);
                self.unsupported(place, "this assignment target", "assign to a name or to a tuple of names");
            }
        }
    }

    fn unpack(&mut self, target: ExprId, targets: &[ExprId], value: Value) {
        let items = match value {
            Value::Unknown => vec![Value::Unknown; targets.len()],
            other => match other.items() {
                Some(items) => items,
                None => {
                    let message = format!(
                        "`{}` cannot be unpacked into {} names: it is {}, not a tuple",
                        self.text(target),
                        targets.len(),
                        other.ty()
                    );
                    let place = self.place(target);
                    self.problem(Code::LNG011, place, message);
                    vec![Value::Unknown; targets.len()]
                }
            },
        };
        if items.len() != targets.len() {
            let place = self.place(target);
            if items.len() > targets.len() && !self.rules.strict_unpacking {
                let message = format!(
                    "{} names for a tuple of {} values: Triton drops the last {} without a word until 3.9, where it is an error",
                    targets.len(),
                    items.len(),
                    items.len() - targets.len()
                );
                self.problem(Code::LNG019, place, message);
            } else {
                self.problem(Code::LNG011, place, format!("{} names for a tuple of {} values", targets.len(), items.len()));
            }
        }
        let mut items = items.into_iter();
        for &target in targets {
            if matches!(self.body.expr(target), Expr::Tuple(_)) && !self.rules.nested_tuple_targets {
                let place = self.place(target);
                self.unsupported(place, "a tuple inside an assignment target", "unpack in two steps (Triton 3.8 accepts it)");
            }
            self.assign(target, items.next().unwrap_or(Value::Unknown), None);
        }
    }

    pub(super) fn bind(&mut self, name: SmolStr, target: ExprId, value: Value, from: Option<ExprId>, decayed: bool) {
        let place = self.place(target);
        let ty = value.ty();
        self.note(target, &value);
        self.bindings.insert(place, (name.clone(), ty));
        self.scope.insert(name, Slot::Bound { value, place, from, decayed });
    }

    /// A compile-time value as plain assignment keeps it.
    fn decay_for(&mut self, target: ExprId, from: Option<ExprId>, value: Value) -> Value {
        let bad = match value.as_const() {
            Some(Const::Str(_)) => "a string",
            Some(Const::Function(_)) => "a function",
            Some(Const::Tuple(_)) if !self.rules.constexpr_tuples => "a compile-time tuple",
            _ => match value {
                Value::Tuple(ref items) if items.iter().any(only_compile_time) => {
                    "a tuple with a type, a string or a function in it"
                }
                Value::Builtin(_) | Value::Library(_) | Value::Method(..) | Value::Bound(..) | Value::ConstexprFunction(_) => {
                    "a function"
                }
                Value::RecordClass(_) => "a class",
                Value::Module(_) | Value::File(_) => "a module",
                _ => return self.decay(value, from.unwrap_or(target)).unwrap_or(Value::Unknown),
            },
        };
        let name = self.text(target);
        let place = self.place(target);
        self.report(
            problem(
                Code::CXP001,
                place,
                format!("`{name}` is bound to {bad}, which exists at compile time only: annotate it `{name}: tl.constexpr`"),
            )
            .fix(
                format!("Annotate `{name}` as tl.constexpr"),
                Applicability::Suggested,
                vec![Edit::InsertAfter(place, ": tl.constexpr".to_owned())],
            ),
        );
        Value::Unknown
    }

    /// Numbers become run-time scalars; `None` and types stay; tuples element by element.
    pub(super) fn decay(&mut self, value: Value, at: ExprId) -> Eval<Value> {
        match &value {
            Value::Const(c) => match &c.value {
                Const::Bool(_) | Const::Int(_) | Const::Float(_) => Ok(Value::Tile(self.as_tile(&value, at)?)),
                Const::Tuple(_) => {
                    let items = value.items().unwrap_or_default();
                    Ok(Value::Tuple(items.into_iter().map(|v| self.decay(v, at)).collect::<Eval<_>>()?))
                }
                _ => Ok(value),
            },
            Value::Record(record) if value.items().is_some() => {
                let items = record.items.iter().map(|v| self.decay(v.clone(), at)).collect::<Eval<_>>()?;
                Ok(Value::Record(super::value::Record { class: record.class.clone(), items }))
            }
            Value::Tuple(items) => Ok(Value::Tuple(items.clone().into_iter().map(|v| self.decay(v, at)).collect::<Eval<_>>()?)),
            _ => Ok(value),
        }
    }

    fn augmented(&mut self, target: ExprId, op: BinaryOp, value: ExprId) {
        let body = self.body;
        let current = self.eval(target);
        let operand = self.eval(value);
        let result = self.binary(op, target, current, value, operand, target).unwrap_or(Value::Unknown);
        match body.expr(target) {
            Expr::Name(_) => self.assign(target, result, None),
            _ => self.assign(target, Value::Unknown, None),
        }
    }

    fn annotated(&mut self, target: ExprId, annotation: ExprId, value: Option<ExprId>) {
        let body = self.body;
        let Expr::Name(name) = body.expr(target) else {
            let place = self.place(target);
            self.unsupported(place, "an annotation on anything but a name", "annotate a name");
            return;
        };
        let result = value.map_or(Value::none(), |v| self.eval(v));
        if !super::names::is_constexpr_annotation(body, annotation) {
            self.eval(annotation);
            if value.is_some() {
                self.assign(target, result, value);
            }
            return;
        }
        if let Some(Slot::Bound { place: first, .. }) = self.scope.get(name) {
            let first = *first;
            let place = self.place(target);
            self.report(
                problem(
                    Code::CXP002,
                    place,
                    format!("`{name}` already has a value; a tl.constexpr name is bound once: use another name"),
                )
                .related(Some(first), format!("`{name}` is first bound here")),
            );
        }
        // A run-time value stays one, as in Triton; where a compile-time value is needed, that is said there.
        let result = match result {
            Value::Tuple(_) if !self.rules.constexpr_tuples && result.to_const().is_some() => {
                let value = result.to_const().unwrap_or(Const::None);
                Value::Const(Constant { value, symbol: Some(name.clone()) })
            }
            Value::Const(mut constant) => {
                constant.symbol = Some(name.clone());
                Value::Const(constant)
            }
            other => other,
        };
        self.bind(name.clone(), target, result, value, false);
    }

    // ---- return

    fn return_value(&mut self, place: Place, value: Option<ExprId>) -> Flow {
        let mut result = value.map_or(Value::none(), |v| self.eval(v));
        if self.loops > 0 {
            self.complete = false;
            self.problem(
                Code::LNG002,
                place,
                "`return` inside a run-time loop: every trip runs. Keep the result in a variable, and skip the work of later trips with a mask or `while`",
            );
            return Flow::Falls;
        }
        if let Some(value) = value {
            if !self.rules.constexpr_returns {
                result = self.returnable(result, value);
            } else if matches!(self.body.expr(value), Expr::Attribute { .. })
                && (matches!(result, Value::Type(_)) || matches!(result.as_const(), Some(Const::DType(_))))
            {
                // A compile-time parameter that holds a type may be returned, the type itself may not.
                let message =
                    format!("`{}` is a type and cannot be returned as it is: return `tl.constexpr({0})`", self.text(value));
                self.problem(Code::DTY017, place, message);
                result = Value::Unknown;
            }
        }
        Flow::Returned { value: result, seen: false }
    }

    /// Before 3.7 only what exists at run time is returned.
    fn returnable(&mut self, value: Value, at: ExprId) -> Value {
        // What a function gives that returns nothing is nothing again.
        if value.is_none() && matches!(self.body.expr(at), Expr::Call { .. }) {
            return value;
        }
        let refused = matches!(value.as_const(), Some(Const::None | Const::Str(_) | Const::DType(_) | Const::Function(_)))
            || matches!(value, Value::Type(_));
        if refused {
            let place = self.place(at);
            let name = self.function.name(self.db).clone();
            let message =
                format!("`{name}` returns {}, and before Triton 3.7 a function returns run-time values only", value.ty());
            self.problem(Code::DTY017, place, message);
            return Value::Unknown;
        }
        self.decay(value, at).unwrap_or(Value::Unknown)
    }

    /// `tl.advance(p, …)` alone moves nothing, and a function may say that of itself.
    fn check_used(&mut self, expr: ExprId) {
        let Expr::Call { callee, args } = self.body.expr(expr) else { return };
        let name = match self.types.get(*callee) {
            Some(Ty::Callable(name)) => name,
            Some(&Ty::Constexpr(Const::Function(function))) => {
                if let Some(words) = super::names::must_use(self.db, function) {
                    let why = if words.is_empty() { String::new() } else { format!(": {words}") };
                    let message = format!("the result of `{}` must be used{why}", self.text(*callee));
                    self.problem(Code::LNG011, self.place(expr), message);
                }
                return;
            }
            _ => return,
        };
        // A method's receiver is no argument.
        let Some(first) = args.first().filter(|_| *name == Builtin::Advance.spelling()) else { return };
        if matches!(self.body.expr(*callee), Expr::Attribute { receiver, .. } if self.is_block_pointer(*receiver)) {
            return;
        }
        let place = self.place(expr);
        let pointer = self.text(first.value);
        let call = self.text(expr);
        let message = format!("this gives a moved block pointer and changes nothing: write `{pointer} = {call}`");
        self.problem(Code::LNG011, place, message);
    }

    fn is_block_pointer(&self, expr: ExprId) -> bool {
        matches!(self.types.get(expr), Some(Ty::BlockPointer(_)))
    }

    fn assert_statement(&mut self, test: ExprId, message: Option<ExprId>) {
        let condition = self.eval(test);
        self.remark_assert(self.place(test), &condition);
        let text = message.map(|m| self.eval(m)).and_then(|m| match m.to_const() {
            Some(Const::Str(text)) => Some(text),
            _ => None,
        });
        let _ = self.device_assert(test, condition, text.unwrap_or_else(|| self.text(test)));
    }
}

/// What a tuple that is bound to a name cannot hold.
fn only_compile_time(value: &Value) -> bool {
    match value {
        Value::Tuple(items) => items.iter().any(only_compile_time),
        Value::Type(_)
        | Value::Builtin(_)
        | Value::Library(_)
        | Value::CustomFloat(_)
        | Value::Method(..)
        | Value::Module(_)
        | Value::File(_) => true,
        other => matches!(other.as_const(), Some(Const::Str(_) | Const::Function(_) | Const::DType(_))),
    }
}

/// A number as written, perhaps with a sign.
fn is_literal(evaluator: &Evaluator<'_>, expr: ExprId) -> bool {
    match evaluator.body.expr(expr) {
        Expr::Int(_) | Expr::Float(_) | Expr::Bool(_) => true,
        Expr::Unary { operand, .. } => is_literal(evaluator, *operand),
        _ => false,
    }
}
