//! Calls of builtins: arguments bound by the signature that is printed, and the way from a row to what lowers it.
//!
//! **Invariant:** a builtin is reached through its row only; each parameter has its argument, its default, or is told as missing.

use tritium_tile::{
    OpKind,
    ops::{BinaryOp as TileOp, PromiseOp, SpecialRegister, UnaryOp},
};

use super::{
    calls::{Keywords, Positional},
    evaluator::{Eval, Evaluator, Poisoned, ProblemExt, problem},
    value::{Constant, Value},
};
use crate::{
    body::{BinaryOp, Expr, ExprId},
    builtins::{self, Atomic, Builtin, Effect, Fold},
    constant::Const,
    diagnostics::Code,
    dtype::DType,
    problem::{Applicability, Edit, Piece},
    types::Element,
};

/// The arguments of a builtin, by the parameters of its signature.
pub(super) struct Arguments {
    pub(super) builtin: Builtin,
    values: Vec<Value>,
    exprs: Vec<Option<ExprId>>,
    rest: Vec<(Value, ExprId)>,
    unknown: Value,
}

impl Arguments {
    fn index(&self, name: &str) -> Option<usize> {
        self.builtin.signature().params.iter().position(|p| p.name == name)
    }

    /// The signature has this parameter.
    pub(super) fn has(&self, name: &str) -> bool {
        self.index(name).is_some()
    }

    pub(super) fn value(&self, name: &str) -> &Value {
        self.index(name).map_or(&self.unknown, |i| &self.values[i])
    }

    /// The argument as written; `None` where the default holds.
    pub(super) fn expr(&self, name: &str) -> Option<ExprId> {
        self.index(name).and_then(|i| self.exprs[i])
    }

    /// What `*name` gathered.
    pub(super) fn rest(&self, name: &str) -> Vec<(Value, ExprId)> {
        debug_assert!(self.has(name));
        self.rest.clone()
    }
}

macro_rules! lowerings {
    ($($variant:ident $name:literal $group:ident $effect:ident $method:ident $(($($given:tt)+))?, $kind:ident $signature:literal;)*) => {
        /// The method of a builtin's row on the arguments.
        fn lower(evaluator: &mut Evaluator<'_>, arguments: &Arguments, at: ExprId) -> Eval<Value> {
            match arguments.builtin {
                $(Builtin::$variant => evaluator.$method(arguments, $($($given)+,)? at),)*
            }
        }
    };
}

builtins::builtins!(lowerings);

impl Evaluator<'_> {
    pub(super) fn bind_builtin(
        &mut self,
        builtin: Builtin,
        call: ExprId,
        positional: Positional,
        keywords: Keywords,
    ) -> Eval<Arguments> {
        let params = &builtin.signature().params;
        let mut arguments = Arguments {
            builtin,
            values: vec![Value::Unknown; params.len()],
            exprs: vec![None; params.len()],
            rest: Vec::new(),
            unknown: Value::Unknown,
        };
        let mut given = vec![false; params.len()];
        let mut failed = false;
        let mut next = 0;
        for (value, expr) in positional {
            match params.get(next) {
                Some(param) if param.rest => {
                    given[next] = true;
                    arguments.rest.push((value, expr));
                }
                Some(_) => {
                    given[next] = true;
                    arguments.values[next] = value;
                    arguments.exprs[next] = Some(expr);
                    next += 1;
                }
                None => {
                    let place = self.place(expr);
                    let message = format!(
                        "{} takes {} arguments: `{}{}`",
                        builtin.spelling(),
                        params.len(),
                        builtin.spelling(),
                        builtin.row().signature
                    );
                    self.problem(Code::LNG011, place, message);
                    failed = true;
                    break;
                }
            }
        }
        for (name, value, expr) in keywords {
            match params.iter().position(|p| p.name == name) {
                Some(index) if given[index] => {
                    let place = self.place(expr);
                    self.problem(Code::LNG011, place, format!("{} is given `{name}` twice", builtin.spelling()));
                    failed = true;
                }
                Some(index) => {
                    given[index] = true;
                    if params[index].rest {
                        arguments.rest.push((value, expr));
                    } else {
                        arguments.values[index] = value;
                        arguments.exprs[index] = Some(expr);
                    }
                }
                None => {
                    self.unknown_keyword(builtin.spelling(), params.iter().map(|p| p.name), &name, expr);
                    failed = true;
                }
            }
        }
        let mut missing = Vec::new();
        for (index, param) in params.iter().enumerate() {
            if given[index] {
                continue;
            }
            match &param.default {
                Some(default) => arguments.values[index] = Value::constant(default.clone()),
                None if param.rest => {}
                None => missing.push(param.name),
            }
        }
        if !missing.is_empty() && !failed {
            let place = self.place(call);
            let missing: Vec<String> = missing.iter().map(|m| format!("`{m}`")).collect();
            self.problem(Code::LNG011, place, format!("{} misses {}", builtin.spelling(), missing.join(" and ")));
            failed = true;
        }
        if failed { Err(Poisoned) } else { Ok(arguments) }
    }

    pub(super) fn unknown_keyword<'n>(&mut self, callee: &str, names: impl Iterator<Item = &'n str>, name: &str, value: ExprId) {
        let names: Vec<&str> = names.collect();
        // `masked` for `mask`: a word that continues the other counts as near too.
        let nearest = builtins::closest(name, names.iter().copied())
            .or_else(|| names.iter().copied().find(|n| n.len() >= 3 && (name.starts_with(n) || n.starts_with(name))));
        let place = self.place(value);
        let hint = match nearest {
            Some(nearest) => format!("did you mean `{nearest}`?"),
            None => format!("it takes {}", names.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ")),
        };
        let mut report = problem(Code::LNG011, place, format!("{callee} has no parameter `{name}`; {hint}"));
        if let Some(nearest) = nearest {
            let renamed = vec![Piece::Text(format!("{nearest}=")), self.source(value)];
            let edits = vec![Edit::Rewrite(self.argument_place(value), renamed)];
            report = report.fix(format!("Change to `{nearest}`"), Applicability::Suggested, edits);
        }
        self.report(report);
    }

    pub(super) fn call_builtin(
        &mut self,
        builtin: Builtin,
        at: ExprId,
        positional: Positional,
        keywords: Keywords,
    ) -> Eval<Value> {
        let (mut positional, mut keywords) = (positional, keywords);
        if builtin == Builtin::Dot && !keywords.is_empty() {
            self.transpose_operands(at, &mut positional, &mut keywords)?;
        }
        let result = match self.bind_builtin(builtin, at, positional, keywords) {
            Ok(arguments) => lower(self, &arguments, at),
            Err(Poisoned) => Err(Poisoned),
        };
        if result.is_err() && !matches!(builtin.row().effect, Effect::Pure | Effect::Read) {
            self.complete = false;
        }
        result
    }

    /// Takes `trans_a` and `trans_b` of the first dialect out of the keywords of a product, doing what they say.
    fn transpose_operands(&mut self, call: ExprId, positional: &mut Positional, keywords: &mut Keywords) -> Eval<()> {
        for (index, keyword) in ["trans_a", "trans_b"].into_iter().enumerate() {
            let Some(at) = keywords.iter().position(|(name, ..)| name == keyword) else { continue };
            let (_, value, flag) = keywords.remove(at);
            let is_transposed = value.as_const().map(Const::truth);
            let operand = positional.get(index).cloned();
            if !self.rules.dot_transposes {
                let tl = match self.body.expr(call) {
                    Expr::Call { callee, .. } => match self.body.expr(*callee) {
                        Expr::Attribute { receiver, .. } => self.text(*receiver),
                        _ => "tl".to_owned(),
                    },
                    _ => "tl".to_owned(),
                };
                let place = self.argument_place(flag);
                let message = format!("tl.dot has no `{keyword}` since Triton 2.0: transpose the operand, `{tl}.trans(…)`");
                let mut report = problem(Code::VER001, place, message);
                if let (Expr::Bool(is_transposed), Some((_, operand))) = (self.body.expr(flag), &operand) {
                    let operand = self.place(*operand);
                    let pieces = vec![Piece::Text(format!("{tl}.trans(")), Piece::Source(operand), Piece::Text(")".to_owned())];
                    let mut edits = vec![Edit::RemoveArgument(place)];
                    edits.extend(is_transposed.then(|| Edit::Rewrite(operand, pieces)));
                    report = report.fix("Transpose the operand", Applicability::Suggested, edits);
                }
                self.report(report);
            }
            match (is_transposed, operand) {
                (Some(false), _) => {}
                (Some(true), Some((Value::Tile(tile), expr))) => {
                    positional[index].0 = Value::Tile(self.transpose_last(tile, expr)?);
                }
                _ => return Err(Poisoned),
            }
        }
        Ok(())
    }

    fn call_constant(&mut self, _: &Arguments, value: bool, _: ExprId) -> Eval<Value> {
        Ok(Value::bool(value))
    }

    /// An operation without operands or results.
    fn call_effect(&mut self, _: &Arguments, kind: OpKind, _: ExprId) -> Eval<Value> {
        self.emit(kind, &[], [], &[]);
        Ok(Value::Void)
    }

    fn call_operator(&mut self, arguments: &Arguments, op: BinaryOp, at: ExprId) -> Eval<Value> {
        let (x, y) = (arguments.expr("x").unwrap_or(at), arguments.expr("y").unwrap_or(at));
        self.binary(op, x, arguments.value("x").clone(), y, arguments.value("y").clone(), at)
    }

    fn call_to_tensor(&mut self, arguments: &Arguments, at: ExprId) -> Eval<Value> {
        self.as_tile(arguments.value("x"), arguments.expr("x").unwrap_or(at)).map(Value::Tile)
    }

    fn call_condition(&mut self, arguments: &Arguments, _: ExprId) -> Eval<Value> {
        self.disable_licm = self.flag(arguments, "disable_licm")?;
        Ok(arguments.value("arg1").clone())
    }

    fn call_static_print(&mut self, _: &Arguments, _: ExprId) -> Eval<Value> {
        Ok(Value::Void)
    }

    fn call_assume(&mut self, arguments: &Arguments, at: ExprId) -> Eval<Value> {
        let expr = arguments.expr("cond").unwrap_or(at);
        match arguments.value("cond") {
            Value::Unknown => Err(Poisoned),
            Value::Const(_) => Ok(Value::Void),
            Value::Tile(tile) if tile.ty.is_scalar() && tile.ty.elem == Element::Scalar(DType::I1) => {
                let condition = tile.id;
                self.emit(OpKind::Assume, &[condition], [], &[]);
                Ok(Value::Void)
            }
            other => {
                let text = self.text(expr);
                let place = self.place(expr);
                let name = arguments.builtin.spelling();
                let message = format!("{name} takes one condition (i1), and `{text}` is {}", other.ty());
                Err(self.problem(Code::DTY017, place, message))
            }
        }
    }

    fn call_outside_a_loop(&mut self, arguments: &Arguments, at: ExprId) -> Eval<Value> {
        let place = self.place(at);
        self.unsupported(place, &format!("{} outside a `for`", arguments.builtin.spelling()), "loop over it: `for i in …`");
        Err(Poisoned)
    }

    fn call_log2_of_size(&mut self, arguments: &Arguments, at: ExprId) -> Eval<Value> {
        self.host_function(arguments, &["i"], at, |n| Some(n[0].max(1).ilog2().into()))
    }

    fn call_is_power_of_2(&mut self, arguments: &Arguments, at: ExprId) -> Eval<Value> {
        let power = self.host_function(arguments, &["i"], at, |n| Some(i128::from(n[0] > 0 && n[0] & (n[0] - 1) == 0)))?;
        Ok(Value::bool(power.as_const() == Some(&Const::Int(1))))
    }

    fn call_host_cdiv(&mut self, arguments: &Arguments, at: ExprId) -> Eval<Value> {
        self.host_function(arguments, &["x", "y"], at, |n| {
            let (a, b) = (n[0], n[1]);
            if b == 0 { None } else { crate::items::cdiv(a, b) }
        })
    }

    fn call_next_power_of_2(&mut self, arguments: &Arguments, at: ExprId) -> Eval<Value> {
        self.host_function(arguments, &["n"], at, |n| crate::items::next_power_of_2(n[0]))
    }

    /// A function of the host that also works on compile-time integers.
    fn host_function(
        &mut self,
        arguments: &Arguments,
        names: &[&str],
        at: ExprId,
        compute: impl Fn(&[i128]) -> Option<i128>,
    ) -> Eval<Value> {
        let mut numbers = Vec::new();
        for name in names {
            let value = arguments.value(name);
            match value.as_const().and_then(Const::as_int) {
                Some(i) => numbers.push(i),
                None if value.has_unknown() => return Err(Poisoned),
                None => {
                    let expr = arguments.expr(name).unwrap_or(at);
                    let place = self.place(expr);
                    return Err(self.not_constexpr(place, expr, &format!("what {} takes", arguments.builtin.spelling())));
                }
            }
        }
        let place = self.place(at);
        compute(&numbers).map(Value::int).ok_or_else(|| self.problem(Code::LNG005, place, "this has no value in Python"))
    }

    /// A promise about values: one known number for each axis. The facts are for the compiler to find; the value is the same.
    fn call_promise(&mut self, arguments: &Arguments, what: PromiseOp, at: ExprId) -> Eval<Value> {
        let builtin = arguments.builtin;
        let (input, values) = (arguments.value("input").clone(), arguments.value("values").clone());
        if input.has_unknown() || values.has_unknown() {
            return Err(Poisoned);
        }
        let expr = arguments.expr("values").unwrap_or(at);
        let place = self.place(expr);
        let numbers = values.items().unwrap_or_else(|| vec![values]);
        if numbers.iter().any(|v| v.as_const().and_then(Const::as_int).is_none()) {
            return Err(self.not_constexpr(place, expr, &format!("what {} promises", builtin.spelling())));
        }
        let rank = match &input {
            Value::Tile(tile) => tile.ty.rank(),
            _ => 0,
        };
        let wanted = if what == PromiseOp::Divisible { rank.max(1) } else { rank };
        if numbers.len() != wanted {
            let message = format!(
                "{} takes one number for each axis: {wanted} for {}, not {}",
                builtin.spelling(),
                input.ty(),
                numbers.len()
            );
            return Err(self.problem(Code::LNG011, place, message));
        }
        let Value::Tile(tile) = input else { return Ok(input) };
        let promised: Option<_> =
            numbers.iter().map(|v| u32::try_from(v.as_const()?.as_int()?).ok().filter(|&n| n > 0)).collect();
        let Some(values) = promised.filter(|_| !numbers.is_empty() && self.keeps_promises(tile.id)) else {
            return Ok(Value::Tile(tile));
        };
        let ty = tile.ty.clone();
        let mut result = self.emit_like(OpKind::Promise { what, values }, &[&tile], ty);
        result.undefined = tile.undefined;
        Ok(Value::Tile(result))
    }

    fn call_static_assert(&mut self, arguments: &Arguments, at: ExprId) -> Eval<Value> {
        let expr = arguments.expr("cond").unwrap_or(at);
        let place = self.place(expr);
        let text = self.text(expr);
        match arguments.value("cond") {
            Value::Unknown => Err(Poisoned),
            Value::Const(Constant { value: Const::Bool(true), .. }) => Ok(Value::Void),
            Value::Const(Constant { value: Const::Bool(false), .. }) => {
                let said = match arguments.value("msg").to_const() {
                    Some(Const::Str(said)) if !said.is_empty() => format!(": {said}"),
                    _ => String::new(),
                };
                let place = self.place(at);
                self.complete = false;
                self.stopped = true;
                // Nobody knows whether it is asked at all.
                if self.doubtful > 0 {
                    return Err(Poisoned);
                }
                Err(self.problem(Code::LNG017, place, format!("static_assert fails: `{text}` is False{said}")))
            }
            Value::Tile(_) => Err(self.not_constexpr(place, expr, "the condition of tl.static_assert")),
            other => {
                Err(self.problem(Code::LNG011, place, format!("`{text}` is {}, and tl.static_assert takes a bool", other.ty())))
            }
        }
    }

    pub(super) fn device_assert(&mut self, expr: ExprId, condition: Value, message: String) -> Eval<()> {
        if condition.to_const().is_some_and(|known| known.truth()) {
            return Ok(());
        }
        let tile = self.as_tile(&condition, expr)?;
        let tile = self.cast(tile, Element::Scalar(DType::I1), expr)?;
        self.emit(OpKind::Assert { message }, &[tile.id], [], &[]);
        Ok(())
    }

    /// A bool known at compile time.
    pub(super) fn flag(&mut self, arguments: &Arguments, name: &str) -> Eval<bool> {
        match arguments.value(name) {
            Value::Unknown => Err(Poisoned),
            value => match value.to_const() {
                Some(known) => Ok(known.truth()),
                None => {
                    let expr = arguments.expr(name).ok_or(Poisoned)?;
                    let place = self.place(expr);
                    Err(self.not_constexpr(place, expr, &format!("`{name}`")))
                }
            },
        }
    }
}
