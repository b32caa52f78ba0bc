//! Expressions: what each kind evaluates to. The type of every one that is reached is noted.
//!
//! **Invariant:** evaluation never fails: what cannot be said is [`Value::Unknown`], and why was reported.

use super::{
    control::Condition,
    evaluator::{Eval, Evaluator, Poisoned, ProblemExt, problem},
    lint_hints::text,
    python,
    value::{Constant, Value},
};
use crate::{
    body::{Body, BoolOp, Clause, CompareOp, ComprehensionKind, Expr, ExprId, FStringPart, UnaryOp},
    constant::Const,
    diagnostics::Code,
    problem::{Applicability, Edit, Piece},
};

impl<'a> Evaluator<'a> {
    pub(super) fn eval(&mut self, expr: ExprId) -> Value {
        match self.eval_path(expr) {
            // What a module binds that is not at hand may be anything.
            Value::Module(path) if python::is_unknown_module(&path) => {
                self.complete = false;
                Value::Unknown
            }
            value => value,
        }
    }

    /// What is called, or has an attribute: a module that is not at hand is one by its path.
    pub(super) fn eval_path(&mut self, expr: ExprId) -> Value {
        if self.pay(1).is_err() {
            return Value::Unknown;
        }
        let value = stacker::maybe_grow(128 * 1024, 2 * 1024 * 1024, || self.expression(expr)).unwrap_or(Value::Unknown);
        let value = self.pay_for_value(expr, value);
        self.note_gap(self.place(expr));
        self.note(expr, &value);
        value
    }

    /// Remembers the type of an expression; its last visit stays.
    pub(super) fn note(&mut self, expr: ExprId, value: &Value) {
        self.types.insert(expr, value.ty());
    }

    fn expression(&mut self, expr: ExprId) -> Eval<Value> {
        let body = self.body;
        match body.expr(expr) {
            Expr::Missing => {
                self.complete = false;
                Ok(Value::Unknown)
            }
            Expr::Name(name) => Ok(self.name(expr, name)),
            Expr::Int(i) => Ok(Value::int(*i)),
            Expr::HugeInt => {
                let place = self.place(expr);
                Err(self.problem(Code::DTY004, place, "an integer beyond 64 bits has no type on the GPU"))
            }
            Expr::Float(f) => Ok(Value::constant(Const::float(*f))),
            Expr::Str(s) => Ok(Value::constant(Const::Str(s.clone()))),
            Expr::Bool(b) => Ok(Value::bool(*b)),
            Expr::None => Ok(Value::none()),
            Expr::FString(parts) => self.fstring(expr, parts),
            Expr::Tuple(items) | Expr::List(items) => {
                let mut values = Vec::new();
                for &item in items {
                    match body.expr(item) {
                        Expr::Starred(inner) => match self.eval(*inner).items() {
                            Some(items) => values.extend(items),
                            None => return Err(Poisoned),
                        },
                        _ => values.push(self.eval(item)),
                    }
                }
                Ok(Value::Tuple(values))
            }
            Expr::Unary { op, operand } => {
                let value = self.eval(*operand);
                self.unary(*op, value, *operand, expr)
            }
            Expr::Binary { op, lhs, rhs } => {
                let a = self.eval(*lhs);
                let b = self.eval(*rhs);
                let place = self.place(expr);
                let outer = self.at(place);
                let result = self.binary(*op, *lhs, a, *rhs, b, expr);
                self.origin = outer;
                result
            }
            Expr::Bool2 { op, lhs, rhs } => self.boolean(*op, *lhs, *rhs, expr),
            Expr::Compare { first, rest } => self.comparison(expr, *first, rest),
            Expr::If { condition, then, otherwise } => self.conditional(expr, *condition, *then, *otherwise),
            Expr::Named { name, value } => {
                let result = self.eval(*value);
                if !self.rules.walrus {
                    let place = self.place(expr);
                    self.unsupported(place, "`:=`", "assign in a statement of its own (Triton 3.8 accepts it)");
                }
                let result = self.decay(result, *value)?;
                self.bind(name.clone(), expr, result.clone(), Some(*value), false);
                Ok(result)
            }
            Expr::Call { callee, args } => {
                let place = self.place(expr);
                self.step()?;
                let outer = self.at(place);
                let result = self.call(expr, *callee, args);
                self.origin = outer;
                result
            }
            Expr::Attribute { receiver, name } => {
                if let Some(value) = self.type_info(*receiver, name) {
                    return Ok(value);
                }
                let value = self.eval_path(*receiver);
                let place = self.place(expr);
                let outer = self.at(place);
                let result = self.attribute(expr, value, name);
                self.origin = outer;
                Ok(result)
            }
            Expr::Subscript { receiver, index } => {
                let value = self.eval_path(*receiver);
                let place = self.place(expr);
                let outer = self.at(place);
                let result = self.subscript(expr, *receiver, value, *index);
                self.origin = outer;
                result
            }
            Expr::Comprehension { kind: ComprehensionKind::List, element, clauses, .. } => {
                self.list_comprehension(expr, *element, clauses)
            }
            Expr::Slice { .. } | Expr::Starred(_) | Expr::Ellipsis => Err(self.not_allowed(expr, "this expression here")),
            Expr::Imaginary(_) => Err(self.not_allowed(expr, "a complex number")),
            Expr::Bytes(_) => Err(self.not_allowed(expr, "a bytes literal")),
            Expr::Set(_) => Err(self.no_collection(expr, "a set")),
            Expr::Dict(_) => Err(self.no_collection(expr, "a dictionary")),
            Expr::Comprehension { kind: ComprehensionKind::Set, .. } => Err(self.no_collection(expr, "a set")),
            Expr::Comprehension { kind: ComprehensionKind::Dict, .. } => Err(self.no_collection(expr, "a dictionary")),
            Expr::Comprehension { .. } => Err(self.not_allowed(expr, "a generator")),
            Expr::Lambda { .. } => Err(self.not_allowed(expr, "`lambda`")),
            Expr::Await(_) => Err(self.not_allowed(expr, "`await`")),
            Expr::Yield(_) => Err(self.not_allowed(expr, "`yield`")),
        }
    }

    fn not_allowed(&mut self, expr: ExprId, what: &str) -> Poisoned {
        let place = self.place(expr);
        self.unsupported(place, what, "kernels compute with tiles, numbers and tuples");
        Poisoned
    }

    fn fstring(&mut self, expr: ExprId, parts: &[FStringPart]) -> Eval<Value> {
        let mut text = String::new();
        for part in parts {
            match part {
                FStringPart::Text(piece) => text.push_str(piece),
                FStringPart::Value { value, format, .. } => {
                    let result = self.eval(*value);
                    if result.has_unknown() {
                        return Err(Poisoned);
                    }
                    match result.to_const() {
                        // A format specification changes the text only, and the text is for messages.
                        Some(Const::Str(piece)) if format.is_none() => text.push_str(&piece),
                        Some(piece) => text.push_str(&piece.to_string()),
                        None => {
                            return Err(self.run_time_fstring(expr, *value, &result));
                        }
                    }
                }
            }
        }
        Ok(Value::constant(Const::Str(text)))
    }

    /// One generator over a tuple.
    fn list_comprehension(&mut self, expr: ExprId, element: ExprId, clauses: &[Clause]) -> Eval<Value> {
        let body = self.body;
        let [Clause::For { target, iterable }] = clauses else {
            return Err(self.not_allowed(expr, "a list comprehension with a filter or several generators"));
        };
        let iterable = self.eval(*iterable);
        let items = iterable.items().ok_or(Poisoned)?;
        let Expr::Name(name) = body.expr(*target) else {
            return Err(self.not_allowed(expr, "a comprehension over several names"));
        };
        let before = self.scope.get(name).cloned();
        let mut results = Vec::new();
        for item in items {
            self.bind(name.clone(), *target, item, None, false);
            results.push(self.eval(element));
        }
        match before {
            Some(slot) => {
                self.scope.insert(name.clone(), slot);
            }
            None => {
                self.scope.remove(name);
            }
        }
        Ok(Value::Tuple(results))
    }

    // ---- conditions

    fn boolean(&mut self, op: BoolOp, lhs: ExprId, rhs: ExprId, expr: ExprId) -> Eval<Value> {
        let a = self.eval(lhs);
        // Compile-time operands decide at compile time, and then the other side is not looked at.
        if let Some(known) = a.to_const() {
            let stops = known.truth() == (op == BoolOp::Or);
            return if stops { Ok(a) } else { Ok(self.eval(rhs)) };
        }
        let b = self.eval(rhs);
        if a.has_unknown() || b.has_unknown() {
            return Err(Poisoned);
        }
        if let Some(known) = b.to_const() {
            let stops = known.truth() == (op == BoolOp::Or);
            return Ok(if stops { b } else { a });
        }
        for (value, side) in [(&a, lhs), (&b, rhs)] {
            if let Value::Tile(tile) = value
                && tile.ty.elem.bits() != 1
            {
                let text = self.text(side);
                let place = self.place(side);
                let message = format!("`{text}` is {}, and `{op}` needs i1: compare it (`{text} != 0`)", tile.ty);
                return Err(self.problem(Code::LNG005, place, message));
            }
        }
        self.remark_logical(op, (lhs, &a), (rhs, &b), expr);
        let op = if op == BoolOp::And { crate::body::BinaryOp::BitAnd } else { crate::body::BinaryOp::BitOr };
        self.binary(op, lhs, a, rhs, b, expr)
    }

    fn comparison(&mut self, expr: ExprId, first: ExprId, rest: &[(CompareOp, ExprId)]) -> Eval<Value> {
        let a = self.eval(first);
        if rest.len() > 1 && !self.rules.chained_comparison {
            for (_, operand) in rest {
                self.eval(*operand);
            }
            let place = self.place(expr);
            let mut pieces = Vec::new();
            let mut left = first;
            for (op, right) in rest {
                pieces.push(format!("({} {op} {})", self.text(left), self.text(*right)));
                left = *right;
            }
            let new = pieces.join(" & ");
            let (message, pieces) = match self.unchained(first, rest) {
                Some((bits, pieces)) => (
                    format!(
                        "`{bits}` binds tighter than comparisons, so this is a chained comparison, which a Triton function cannot hold before 3.9: put each comparison in parentheses"
                    ),
                    pieces,
                ),
                None => (
                    format!("a chained comparison cannot be used in a Triton function before 3.9: write `{new}`"),
                    self.chain_pieces(first, rest),
                ),
            };
            // What stands in the middle is worked out twice then; Triton refuses the chain whatever it compares.
            let is_worked_out_freely = rest[..rest.len() - 1].iter().all(|(_, middle)| self.has_no_effect(*middle));
            let applicability = if is_worked_out_freely { Applicability::Safe } else { Applicability::Suggested };
            self.report(problem(Code::LNG012, place, message).fix(
                "Split the comparison",
                applicability,
                vec![Edit::Rewrite(place, pieces)],
            ));
            return Err(Poisoned);
        }
        if rest.len() > 1 {
            self.remark_chained_precedence(first, rest, expr);
        }
        let mut result: Option<Value> = None;
        let (mut left, mut left_value) = (first, a);
        for (op, right) in rest {
            let right_value = self.eval(*right);
            let place = self.place(expr);
            let outer = self.at(place);
            let one = self.compare(*op, left, left_value, *right, right_value.clone(), expr);
            let joined = match (result.take(), one) {
                (Some(all), Ok(one)) => self.binary(crate::body::BinaryOp::BitAnd, left, all, *right, one, expr),
                (None, one) => one,
                (Some(_), Err(silenced)) => Err(silenced),
            };
            self.origin = outer;
            result = Some(joined?);
            (left, left_value) = (*right, right_value);
        }
        result.ok_or(Poisoned)
    }

    /// `(a <= b) & (b < c)` for `a <= b < c`.
    /// Whether an expression is made of names and numbers alone, so that it may be worked out once more.
    fn has_no_effect(&self, expr: ExprId) -> bool {
        match self.body.expr(expr) {
            Expr::Name(_) | Expr::Int(_) | Expr::Float(_) | Expr::Bool(_) => true,
            Expr::Attribute { receiver, .. } => self.has_no_effect(*receiver),
            Expr::Unary { operand, .. } => self.has_no_effect(*operand),
            Expr::Binary { lhs, rhs, .. } => self.has_no_effect(*lhs) && self.has_no_effect(*rhs),
            _ => false,
        }
    }

    fn chain_pieces(&self, first: ExprId, rest: &[(CompareOp, ExprId)]) -> Vec<Piece> {
        let mut pieces = Vec::new();
        let mut left = first;
        for (op, right) in rest {
            pieces.push(text(if pieces.is_empty() { "(" } else { " & (" }));
            pieces.extend([self.source(left), text(format!(" {op} ")), self.source(*right), text(")")]);
            left = *right;
        }
        pieces
    }

    fn conditional(&mut self, expr: ExprId, condition: ExprId, then: ExprId, otherwise: ExprId) -> Eval<Value> {
        let value = self.eval(condition);
        match self.condition(condition, value, Code::CTL001) {
            Condition::Known(taken) => Ok(self.eval(if taken { then } else { otherwise })),
            Condition::Unknown => {
                self.eval(then);
                self.eval(otherwise);
                self.complete = false;
                Err(Poisoned)
            }
            Condition::Runtime(test) => {
                let mut ways = Vec::new();
                for arm in [then, otherwise] {
                    let block = self.out.add_block();
                    let value = self.inside(block, |s| {
                        let value = s.eval(arm);
                        match value {
                            // `tl.store(a, x) if c else tl.store(b, x)`
                            Value::Void => Ok(value),
                            value if value.has_unknown() => Err(Poisoned),
                            value => s.as_tile(&value, arm).map(Value::Tile),
                        }
                    });
                    ways.push((block, value));
                }
                let (else_block, b) = ways.pop().ok_or(Poisoned)?;
                let (then_block, a) = ways.pop().ok_or(Poisoned)?;
                let (a, b) = (a?, b?);
                if !a.same_type(&b) {
                    return Err(self.ternary_mismatch(expr, (then, &a), (otherwise, &b)));
                }
                Ok(self.close_if(&test, (then_block, &a), (else_block, &b)))
            }
        }
    }

    fn ternary_mismatch(&mut self, expr: ExprId, then: (ExprId, &Value), otherwise: (ExprId, &Value)) -> Poisoned {
        let place = self.place(expr);
        let message = format!(
            "`{}` is {} and `{}` is {}: both arms of a run-time condition must have one type",
            self.text(then.0),
            then.1.ty(),
            self.text(otherwise.0),
            otherwise.1.ty()
        );
        let mut report = problem(Code::CTL006, place, message);
        // `1.0 if c else 2`: the integer is written as a float.
        for (arm, other) in [(then.0, otherwise.1), (otherwise.0, then.1)] {
            if let Expr::Int(i) = self.body.expr(arm)
                && let Value::Tile(other) = other
                && other.ty.elem.scalar().is_some_and(|d| d.is_float())
            {
                let new = format!("{i}.0");
                report =
                    report.fix(format!("Write `{new}`"), Applicability::Suggested, vec![Edit::Replace(self.place(arm), new)]);
            }
        }
        self.report(report);
        Poisoned
    }

    /// A tuple or a type may be indexed at compile time; a tile only with `None` and `:`.
    fn subscript(&mut self, expr: ExprId, receiver: ExprId, value: Value, index: ExprId) -> Eval<Value> {
        match value {
            Value::Unknown => {
                self.eval_index(index);
                Err(Poisoned)
            }
            Value::Tile(tile) => self.index_tile(expr, receiver, tile, index).map(Value::Tile),
            other => self.index_tuple(expr, other, index),
        }
    }

    fn eval_index(&mut self, index: ExprId) {
        let body = self.body;
        match body.expr(index) {
            Expr::Slice { .. } | Expr::Ellipsis => {}
            Expr::Tuple(items) => items.iter().for_each(|&i| self.eval_index(i)),
            _ => {
                self.eval(index);
            }
        }
    }

    fn index_tuple(&mut self, expr: ExprId, value: Value, index: ExprId) -> Eval<Value> {
        let Some(items) = value.items() else {
            let place = self.place(expr);
            let ty = value.ty();
            return Err(self.problem(Code::LNG016, place, format!("{ty} cannot be indexed")));
        };
        let body = self.body;
        if let Expr::Slice { lower, upper, step } = body.expr(index) {
            let bound = |s: &mut Self, e: Option<ExprId>, default: i128| match e {
                Some(e) => s.eval(e).as_const().and_then(Const::as_int).ok_or(Poisoned),
                None => Ok(default),
            };
            let count = items.len() as i128;
            let step = bound(self, *step, 1)?;
            if step == 0 {
                let place = self.place(index);
                return Err(self.problem(Code::LNG016, place, "the step of a slice must not be 0"));
            }
            // Backwards, a slice goes from the last item to before the first.
            let (first, last, low, high) = if step > 0 { (0, count, 0, count) } else { (count - 1, -1, -1, count - 1) };
            let at = |given: Option<i128>, default: i128| match given {
                None => default,
                Some(i) => (if i < 0 { i.saturating_add(count) } else { i }).clamp(low, high),
            };
            let lower = lower.map(|e| bound(self, Some(e), 0)).transpose()?;
            let upper = upper.map(|e| bound(self, Some(e), 0)).transpose()?;
            let (mut next, end) = (at(lower, first), at(upper, last));
            let mut taken = Vec::new();
            while if step > 0 { next < end } else { next > end } {
                taken.extend(usize::try_from(next).ok().and_then(|i| items.get(i)).cloned());
                next = next.saturating_add(step);
            }
            return Ok(Value::Tuple(taken));
        }
        let at = self.eval(index);
        let Some(position) = at.as_const().and_then(Const::as_int) else {
            if at.has_unknown() {
                return Err(Poisoned);
            }
            let place = self.place(index);
            return Err(self.not_constexpr(place, index, "the index of a tuple"));
        };
        let count = items.len() as i128;
        let wrapped = if position < 0 { position + count } else { position };
        match usize::try_from(wrapped).ok().and_then(|i| items.get(i)) {
            Some(item) => Ok(item.clone()),
            None => {
                let place = self.place(index);
                Err(self.problem(Code::LNG016, place, format!("index {position} is outside a tuple of {count}")))
            }
        }
    }

    fn unary(&mut self, op: UnaryOp, value: Value, operand: ExprId, expr: ExprId) -> Eval<Value> {
        match value {
            Value::Unknown => Err(Poisoned),
            Value::Const(Constant { ref value, .. }) if op == UnaryOp::Not => Ok(Value::bool(!value.truth())),
            Value::Const(constant) => self.constant_unary(op, &constant, expr),
            Value::Predicate(_) | Value::Void | Value::Tuple(_) if op == UnaryOp::Not => {
                let place = self.place(operand);
                Err(self.problem(Code::LNG005, place, format!("`not` needs i1, and `{}` is {}", self.text(operand), value.ty())))
            }
            Value::Tile(tile) => self.unary_tile(op, tile, operand, expr).map(Value::Tile),
            other => {
                let place = self.place(expr);
                Err(self.problem(Code::LNG005, place, format!("`{op}` cannot be applied to {}", other.ty())))
            }
        }
    }
}

/// An expression as Python, shortened where it is long: for messages.
pub(crate) fn source_text(body: &Body, expr: ExprId, depth: u32) -> String {
    if depth > 4 {
        return "…".to_owned();
    }
    let go = |e: ExprId| source_text(body, e, depth + 1);
    let list = |items: &[ExprId]| items.iter().map(|&e| go(e)).collect::<Vec<_>>().join(", ");
    let operand = |e: ExprId| match body.expr(e) {
        Expr::Binary { .. } | Expr::Compare { .. } | Expr::Bool2 { .. } | Expr::If { .. } => format!("({})", go(e)),
        _ => go(e),
    };
    match body.expr(expr) {
        Expr::Missing => "…".to_owned(),
        Expr::Name(name) => name.to_string(),
        Expr::Int(i) => i.to_string(),
        Expr::Float(f) => Const::float(*f).to_string(),
        Expr::Str(s) => format!("{s:?}"),
        Expr::Bool(b) => Const::Bool(*b).to_string(),
        Expr::None => "None".to_owned(),
        Expr::Ellipsis => "...".to_owned(),
        Expr::Tuple(items) => {
            if items.len() == 1 {
                format!("({},)", list(items))
            } else {
                format!("({})", list(items))
            }
        }
        Expr::List(items) => format!("[{}]", list(items)),
        Expr::Unary { op: UnaryOp::Not, operand: e } => format!("not {}", operand(*e)),
        Expr::Unary { op, operand: e } => format!("{op}{}", operand(*e)),
        Expr::Binary { op, lhs, rhs } => format!("{} {op} {}", operand(*lhs), operand(*rhs)),
        Expr::Bool2 { op, lhs, rhs } => format!("{} {op} {}", operand(*lhs), operand(*rhs)),
        Expr::Compare { first, rest } => {
            let mut text = operand(*first);
            for (op, right) in rest {
                text.push_str(&format!(" {op} {}", operand(*right)));
            }
            text
        }
        Expr::If { condition, then, otherwise } => format!("{} if {} else {}", go(*then), go(*condition), go(*otherwise)),
        Expr::Call { callee, args } => {
            let args: Vec<String> = args
                .iter()
                .map(|a| match &a.kind {
                    crate::body::ArgKind::Positional => go(a.value),
                    crate::body::ArgKind::Keyword(name) => format!("{name}={}", go(a.value)),
                    crate::body::ArgKind::Spread => format!("*{}", go(a.value)),
                    crate::body::ArgKind::SpreadKeywords => format!("**{}", go(a.value)),
                })
                .collect();
            format!("{}({})", go(*callee), args.join(", "))
        }
        Expr::Attribute { receiver, name } => format!("{}.{name}", operand(*receiver)),
        Expr::Subscript { receiver, index } => {
            let index = match body.expr(*index) {
                Expr::Tuple(items) => list(items),
                _ => go(*index),
            };
            format!("{}[{index}]", operand(*receiver))
        }
        Expr::Slice { lower, upper, .. } => {
            format!("{}:{}", lower.map(go).unwrap_or_default(), upper.map(go).unwrap_or_default())
        }
        Expr::Starred(inner) => format!("*{}", go(*inner)),
        _ => "…".to_owned(),
    }
}
