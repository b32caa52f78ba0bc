//! Calls: which function is meant, which argument is which parameter, and what comes back.
//!
//! **Invariant:** a helper is elaborated once for what it is given, and its result has the type that every function that may stand in its
//! place gives; builtins are bound and reached in `builtin_calls`.

use smol_str::SmolStr;
use tritium_tile::{OpKind, ops::LoopAttrs};

use super::{
    Call, CallArgument,
    builtin_calls::Arguments,
    elaborate_call,
    evaluator::{Eval, Evaluator, Poisoned, problem},
    names,
    nesting::{MAX_CALL_DEPTH, nesting},
    value::{Constant, Value},
};
use crate::{
    Function,
    body::{Arg, ArgKind, Expr, ExprId, ParamKind},
    builtins::{self, Builtin, Class, Python},
    constant::Const,
    diagnostics::{Code, Severity},
    dtype::DType,
    globals,
    problem::{Applicability, Edit, Fix, Problem},
    types::{Element, TileType, same_shape},
};

/// Calls of functions that lead to themselves, within one another.
const MAX_RECURSION: u32 = 48;

pub(super) type Positional = Vec<(Value, ExprId)>;
pub(super) type Keywords = Vec<(SmolStr, Value, ExprId)>;

impl<'a> Evaluator<'a> {
    fn arguments(&mut self, args: &[Arg]) -> Eval<(Positional, Keywords)> {
        let mut positional = Vec::new();
        let mut keywords = Vec::new();
        let mut failed = false;
        for arg in args {
            let value = self.eval(arg.value);
            match &arg.kind {
                ArgKind::Positional => positional.push((value, arg.value)),
                ArgKind::Keyword(name) => keywords.push((name.clone(), value, arg.value)),
                ArgKind::Spread => match value.items() {
                    Some(items) => positional.extend(items.into_iter().map(|v| (v, arg.value))),
                    None => failed = true,
                },
                ArgKind::SpreadKeywords => {
                    let place = self.place(arg.value);
                    self.unsupported(place, "`**` in a call", "name each argument");
                    failed = true;
                }
            }
        }
        if failed {
            self.complete = false;
            return Err(Poisoned);
        }
        Ok((positional, keywords))
    }

    pub(super) fn call(&mut self, expr: ExprId, callee: ExprId, args: &[Arg]) -> Eval<Value> {
        let function = self.eval_path(callee);
        let (mut positional, keywords) = self.arguments(args)?;
        match function {
            Value::Unknown => {
                self.complete = false;
                Err(Poisoned)
            }
            Value::Builtin(Builtin::StaticAssert) if !keywords.is_empty() => {
                let place = self.place(expr);
                let message = "tl.static_assert takes its arguments by position: `tl.static_assert(condition, \"message\")`";
                Err(self.problem(Code::LNG011, place, message))
            }
            Value::Builtin(builtin) => self.call_builtin(builtin, expr, positional, keywords),
            Value::Method(receiver, builtin) => {
                let at = match self.body.expr(callee) {
                    Expr::Attribute { receiver, .. } => *receiver,
                    _ => callee,
                };
                positional.insert(0, (*receiver, at));
                self.call_builtin(builtin, expr, positional, keywords)
            }
            Value::Library(function) => self.call_library(function, expr, positional, keywords),
            Value::Python(python) => self.call_python(python, expr, positional),
            Value::Class(class) => self.call_class(class, expr, positional, keywords),
            Value::Const(Constant { value: Const::Function(function), .. }) => {
                self.call_function(expr, function, positional, keywords)
            }
            Value::Predicate(answer) => Ok(Value::bool(answer)),
            Value::RecordClass(class) => self.construct(&class, positional, keywords, expr),
            Value::Bound(receiver, method) => {
                positional.insert(0, (*receiver, callee));
                self.call_function(expr, method, positional, keywords)
            }
            Value::ConstexprFunction(function) => self.call_constexpr_function(function, &positional, &keywords),
            Value::Module(path) if super::constexpr::is_math(&path) => {
                let values: Vec<Value> = positional.into_iter().map(|(v, _)| v).collect();
                self.math_call(&path, &values, expr)
            }
            Value::Module(path) => Err(self.host_call(&path, expr)),
            Value::PythonFunction(name) => Err(self.call_of_python(expr, &name)),
            other => {
                let place = self.place(expr);
                let text = self.text(callee);
                Err(self.problem(Code::LNG003, place, format!("`{text}` is {} and cannot be called", other.ty())))
            }
        }
    }

    /// Runs a `@triton.constexpr_function` on compile-time values, as Python would.
    fn call_constexpr_function(
        &mut self,
        function: Function,
        given: &[(Value, ExprId)],
        keywords: &[(SmolStr, Value, ExprId)],
    ) -> Eval<Value> {
        let positional: Option<Vec<Const>> = given.iter().map(|(v, _)| v.to_const()).collect();
        let keywords: Option<Vec<(SmolStr, Const)>> =
            keywords.iter().map(|(name, v, _)| v.to_const().map(|known| (name.clone(), known))).collect();
        if let Some((param, at)) = self.computed_at_compile_time(function, given) {
            let place = self.place(at);
            let what = format!("what `{}` computes with (its parameter `{param}`)", function.name(self.db));
            return Err(self.not_constexpr(place, at, &what));
        }
        // It may look at a run-time value's type, and more than is followed here.
        let known = positional.zip(keywords).and_then(|(p, k)| crate::host::call_constexpr_function(self.db, function, p, k));
        self.complete &= known.is_some();
        known.map(Value::constant).ok_or(Poisoned)
    }

    /// A run-time argument that a compile-time function calculates with, which Python cannot; to look at its type is fine.
    fn computed_at_compile_time(&self, function: Function, given: &[(Value, ExprId)]) -> Option<(SmolStr, ExprId)> {
        let (body, stmt) = names::function_body(self.db, function)?;
        let def = names::definition(&body, stmt)?;
        let run_time = |e: ExprId| match body.expr(e) {
            Expr::Name(name) => {
                let index = def.params.iter().position(|p| p.name == *name)?;
                given.get(index).filter(|(v, _)| matches!(v, Value::Tile(_))).map(|(_, at)| (name.clone(), *at))
            }
            _ => None,
        };
        let mut found = None;
        crate::items::walk(&body, &def.body, &mut |node| {
            let crate::items::Node::Expr(e) = node else { return };
            let operands: Vec<ExprId> = match body.expr(e) {
                Expr::Binary { lhs, rhs, .. } => vec![*lhs, *rhs],
                Expr::Unary { operand, .. } => vec![*operand],
                _ => return,
            };
            found = found.take().or_else(|| operands.into_iter().find_map(run_time));
        });
        found
    }

    /// Calls a function value with positional arguments: a combine function.
    pub(super) fn call_value(&mut self, expr: ExprId, callee: ExprId, function: Value, positional: Positional) -> Eval<Value> {
        match function {
            Value::Unknown => Err(Poisoned),
            Value::Builtin(builtin) => {
                let place = self.place(callee);
                let name = builtin.spelling();
                let message = format!(
                    "{name} is built in, and a `@triton.jit` function is needed here: define one that returns {name} of its parameters"
                );
                Err(self.problem(Code::LNG003, place, message))
            }
            Value::Const(Constant { value: Const::Function(function), .. }) => {
                self.call_function(expr, function, positional, Vec::new())
            }
            other => {
                let place = self.place(callee);
                let text = self.text(callee);
                Err(self.problem(
                    Code::LNG003,
                    place,
                    format!("`{text}` is {}, and a `@triton.jit` function is needed here", other.ty()),
                ))
            }
        }
    }

    // ---- Python's functions and classes

    fn call_python(&mut self, python: Python, at: ExprId, positional: Positional) -> Eval<Value> {
        if positional.iter().any(|(v, _)| v.has_unknown()) {
            return Err(Poisoned);
        }
        let place = self.place(at);
        match (python, positional.as_slice()) {
            (Python::Min | Python::Max, [first, rest @ ..]) => {
                let mut values = vec![first.clone()];
                values.extend(rest.iter().cloned());
                if let [(only, expr)] = values.as_slice() {
                    let items = only.items().filter(|items| items.len() >= 2);
                    match items {
                        Some(items) => values = items.into_iter().map(|v| (v, *expr)).collect(),
                        None => {
                            let message = format!("`{}` takes at least two values, and this is {}", python.name(), only.ty());
                            return Err(self.problem(Code::LNG011, place, message));
                        }
                    }
                }
                let mut values = values.into_iter();
                let (mut best, expr) = values.next().ok_or(Poisoned)?;
                for (value, next) in values {
                    best = match (&best, &value) {
                        (Value::Const(a), Value::Const(b)) => {
                            let better = crate::constant::compare(
                                if python == Python::Max { crate::body::CompareOp::Gt } else { crate::body::CompareOp::Lt },
                                &b.value,
                                &a.value,
                            );
                            if better == Some(true) { value } else { best }
                        }
                        _ => self.extremum(python == Python::Max, false, (expr, &best), (next, &value), at)?,
                    };
                }
                if let Value::Tile(tile) = &best
                    && !tile.ty.is_scalar()
                {
                    self.remark_python_extremum(python == Python::Max, at);
                }
                Ok(best)
            }
            (Python::Len, [(value, _)]) => match (value.items(), value.as_const()) {
                (Some(items), _) => Ok(Value::int(items.len() as i128)),
                (None, Some(Const::Str(text))) => Ok(Value::int(text.chars().count() as i128)),
                _ => Err(self.problem(Code::LNG011, place, format!("{} has no length", value.ty()))),
            },
            (Python::IsInstance, [(value, _), (class, _)]) => {
                let classes = class.items().unwrap_or_else(|| vec![class.clone()]);
                Ok(Value::bool(classes.iter().any(|c| is_instance(value, c))))
            }
            (Python::List, [(value, _)]) => value.items().map(Value::Tuple).ok_or(Poisoned),
            (Python::GetAttr, [(value, _), (name, _)]) => match name.to_const() {
                Some(Const::Str(name)) => Ok(self.attribute(at, value.clone(), &name.into())),
                _ => Err(Poisoned),
            },
            (Python::GetAttr, [(value, _), (name, _), (default, _)]) => match name.to_const() {
                Some(Const::Str(name)) => {
                    let found = self.attribute_if_any(at, value, &name);
                    Ok(found.unwrap_or_else(|| default.clone()))
                }
                _ => Err(Poisoned),
            },
            (Python::HasAttr, [(value, _), (name, _)]) => match name.to_const() {
                Some(Const::Str(name)) => Ok(Value::bool(self.attribute_if_any(at, value, &name).is_some())),
                _ => Err(Poisoned),
            },
            (Python::Range, _) => {
                self.unsupported(place, "`range` outside a `for`", "loop over it: `for i in range(…)`");
                Err(Poisoned)
            }
            _ => Err(self.problem(
                Code::LNG011,
                place,
                format!("`{}` does not take {} arguments", python.name(), positional.len()),
            )),
        }
    }

    /// An attribute, or `None` and no message where there is none.
    fn attribute_if_any(&mut self, at: ExprId, value: &Value, name: &str) -> Option<Value> {
        let (problems, complete, first_unknown) = (self.problems.len(), self.complete, self.first_unknown);
        let found = self.attribute(at, value.clone(), &name.into());
        let missing = self.problems.len() > problems;
        self.problems.truncate(problems);
        (self.complete, self.first_unknown) = (complete, first_unknown);
        (!missing).then_some(found)
    }

    fn call_class(&mut self, class: Class, at: ExprId, positional: Positional, keywords: Keywords) -> Eval<Value> {
        let place = self.place(at);
        let mut values: Vec<(Value, ExprId)> = positional;
        values.extend(keywords.into_iter().map(|(_, v, e)| (v, e)));
        let Some((value, expr)) = values.first().cloned() else {
            return Err(self.problem(Code::LNG011, place, "an argument is missing"));
        };
        if value.has_unknown() {
            return Err(Poisoned);
        }
        match class {
            Class::Constexpr if value.has_tile() => Err(self.not_constexpr(place, expr, "what tl.constexpr takes")),
            Class::Constexpr | Class::Tuple => Ok(value),
            Class::Int | Class::Float => {
                let name = if class == Class::Int { "int" } else { "float" };
                let converted = match (class, value.to_const()) {
                    (Class::Float, Some(Const::Str(text))) => crate::items::python_float(&text),
                    (Class::Float, Some(known)) => known.as_float().map(Const::float),
                    (_, Some(Const::Float(f))) if f.get().is_finite() && f.get().abs() < 1e30 => {
                        Some(Const::Int(f.get().trunc() as i128))
                    }
                    (_, Some(Const::Str(text))) => text.trim().parse().ok().map(Const::Int),
                    (_, Some(known)) => known.as_int().map(Const::Int),
                    (_, None) => None,
                };
                match converted {
                    Some(known) => Ok(Value::constant(known)),
                    None if value.has_tile() => {
                        let to = if class == Class::Int { "tl.int32" } else { "tl.float32" };
                        let text = self.text(expr);
                        let message = format!(
                            "`{name}` converts compile-time values, and `{text}` is {}: use `{text}.to({to})`",
                            value.ty()
                        );
                        Err(self.problem(Code::LNG003, place, message))
                    }
                    None => Err(self.problem(Code::LNG011, place, format!("`{name}` of {} has no value", value.ty()))),
                }
            }
            Class::PointerType => {
                let element = self.dtype_argument(&value, expr)?;
                match element.scalar() {
                    Some(pointee) => Ok(Value::Type(TileType::scalar(Element::Ptr { pointee, is_const: false }))),
                    None => Err(self.problem(
                        Code::LIM002,
                        place,
                        "a pointer to pointers is part of Triton, but Tritium does not know it yet: what depends on it is not checked",
                    )),
                }
            }
            Class::BlockType => {
                let element = self.dtype_argument(&value, expr)?;
                let shape =
                    values.get(1).cloned().ok_or_else(|| self.problem(Code::LNG011, place, "a block type has a shape"))?;
                let shape = self.shape_argument(&[shape])?;
                Ok(Value::Type(TileType { elem: element, shape }))
            }
            Class::Tensor
            | Class::DType
            | Class::PropagateNan
            | Class::Descriptor
            | Class::Const
            | Class::ConstexprType
            | Class::TupleType
            | Class::Slice
            | Class::VoidType => Err(self.problem(
                Code::LNG003,
                place,
                "this class is for annotations and isinstance; it is not called in a kernel",
            )),
        }
    }

    /// `(start, end, step)` as given, and the hints of `tl.range`.
    pub(super) fn range_arguments(&mut self, call: ExprId) -> Eval<(Positional, LoopAttrs)> {
        let body = self.body;
        let Expr::Call { callee, args } = body.expr(call) else { return Err(Poisoned) };
        let function = self.eval_path(*callee);
        let (positional, keywords) = self.arguments(args)?;
        let Value::Builtin(builtin) = function else {
            if let Some((name, _, expr)) = keywords.first() {
                let place = self.place(*expr);
                let message = format!("Triton ignores `{name}=` of Python's `range`: say `tl.range(…, {name}=…)`");
                self.report(Problem { level: Some(Severity::Warning), ..problem(Code::LNG011, place, message) });
            }
            if !(1..=3).contains(&positional.len()) {
                let place = self.place(call);
                return Err(self.problem(
                    Code::LNG011,
                    place,
                    format!("`range` takes 1 to 3 arguments, not {}", positional.len()),
                ));
            }
            return Ok((positional, LoopAttrs::default()));
        };
        let arguments = self.bind_builtin(builtin, call, positional, keywords)?;
        let mut attrs = LoopAttrs::default();
        if builtin == Builtin::Range {
            attrs.num_stages = self.hint(&arguments, "num_stages")?;
            attrs.unroll = self.hint(&arguments, "loop_unroll_factor")?;
            attrs.disallow_acc_multi_buffer = self.flag(&arguments, "disallow_acc_multi_buffer")?;
            attrs.flatten = self.flag(&arguments, "flatten")?;
            attrs.disable_licm = self.flag(&arguments, "disable_licm")?;
            self.flag(&arguments, "warp_specialize")?;
        }
        let given = |name: &str| (arguments.value(name).clone(), arguments.expr(name).unwrap_or(call));
        let mut values = vec![given("arg1")];
        let step_given = !arguments.value("step").is_none();
        if !arguments.value("arg2").is_none() {
            values.push(given("arg2"));
        } else if step_given {
            values.insert(0, (Value::int(0), call));
        }
        if step_given {
            values.push(given("step"));
        }
        Ok((values, attrs))
    }

    fn hint(&mut self, arguments: &Arguments, name: &str) -> Eval<Option<u32>> {
        let value = arguments.value(name);
        match value.to_const() {
            Some(Const::None) => Ok(None),
            Some(known) => Ok(known.as_int().and_then(|i| u32::try_from(i).ok())),
            None if value.has_unknown() => Ok(None),
            None => {
                let expr = arguments.expr(name).ok_or(Poisoned)?;
                let place = self.place(expr);
                Err(self.not_constexpr(place, expr, &format!("`{name}`")))
            }
        }
    }

    // ---- helpers

    fn call_function(&mut self, at: ExprId, function: Function, positional: Positional, keywords: Keywords) -> Eval<Value> {
        let name = function.name(self.db).clone();
        let Some((callee_body, stmt)) = names::function_body(self.db, function) else {
            self.complete = false;
            return Err(Poisoned);
        };
        let Some(def) = names::definition(&callee_body, stmt) else { return Err(Poisoned) };
        if let Some(param) = def.params.iter().find(|p| p.kind == ParamKind::KeywordOnly)
            && !self.rules.keyword_only_parameters
        {
            let place = self.place(at);
            let what = format!("a call of `{name}`, whose parameter `{}` is keyword-only,", param.name);
            self.unsupported(place, &what, "remove the `*` from its signature (Triton 3.9 accepts it)");
            return Err(Poisoned);
        }
        let mut bound: Vec<Option<Value>> = vec![None; def.params.len()];
        let mut rest: Option<(usize, Vec<Value>)> =
            def.params.iter().position(|p| p.kind == ParamKind::Rest).map(|index| (index, Vec::new()));
        let places: Vec<usize> = def
            .params
            .iter()
            .enumerate()
            .filter(|(_, p)| matches!(p.kind, ParamKind::PositionalOnly | ParamKind::Normal))
            .map(|(i, _)| i)
            .collect();
        let mut failed = false;
        let is_noinline = names::is_noinline(&callee_body, def);
        for (index, (value, expr)) in positional.into_iter().enumerate() {
            if let Value::Tile(tile) = &value
                && is_noinline
                && !failed
                && tile.ty.shape.iter().any(|dim| dim.size != 1)
            {
                let place = self.place(expr);
                let message = format!(
                    "`{name}` is marked `noinline` and given a tile ({}): Triton passes it scalars alone. Drop the mark",
                    tile.ty
                );
                self.problem(Code::LNG011, place, message);
                failed = true;
            }
            match (places.get(index), &mut rest) {
                (Some(&param), _) => bound[param] = Some(value),
                (None, Some((_, gathered))) => gathered.push(value),
                (None, None) => {
                    let place = self.place(expr);
                    self.problem(Code::LNG011, place, format!("`{name}` takes {} arguments", places.len()));
                    failed = true;
                    break;
                }
            }
        }
        for (keyword, value, expr) in keywords {
            match def
                .params
                .iter()
                .position(|p| p.name == keyword && !matches!(p.kind, ParamKind::Rest | ParamKind::RestKeywords))
            {
                Some(index) if bound[index].is_some() => {
                    let place = self.place(expr);
                    self.problem(Code::LNG011, place, format!("`{name}` is given `{keyword}` twice"));
                    failed = true;
                }
                Some(index) => bound[index] = Some(value),
                None => {
                    let names: Vec<String> = def.params.iter().map(|p| p.name.to_string()).collect();
                    self.unknown_keyword(&format!("`{name}`"), names.iter().map(String::as_str), &keyword, expr);
                    failed = true;
                }
            }
        }
        if let Some((index, gathered)) = rest {
            if !self.rules.rest_parameters {
                let place = self.place(at);
                self.unsupported(
                    place,
                    &format!("a call of `{name}`, which has `*args`,"),
                    "name its parameters (Triton 3.8 accepts it)",
                );
                return Err(Poisoned);
            }
            bound[index] = Some(Value::Tuple(gathered));
        }
        let missing: Vec<String> = def
            .params
            .iter()
            .zip(&bound)
            .filter(|(p, b)| b.is_none() && p.default.is_none() && !matches!(p.kind, ParamKind::RestKeywords))
            .map(|(p, _)| format!("`{}`", p.name))
            .collect();
        if !missing.is_empty() && !failed {
            let place = self.place(at);
            self.problem(Code::LNG011, place, format!("`{name}` misses {}", missing.join(" and ")));
            failed = true;
        }
        if failed || bound.iter().flatten().any(Value::has_unknown) {
            self.complete = false;
            return Err(Poisoned);
        }
        let nesting = nesting(self.db, function);
        if nesting.depth > MAX_CALL_DEPTH {
            return Err(self.calls_too_deep(&name, at));
        }
        let mut key = Vec::new();
        let mut leaves = Vec::new();
        for value in &bound {
            key.push(match value {
                None => CallArgument::Default,
                Some(value) => {
                    value.leaves(&mut leaves);
                    match call_argument(value) {
                        Some(argument) => argument,
                        None => {
                            self.complete = false;
                            let place = self.place(at);
                            let message = format!("{} cannot be passed to a function", value.ty());
                            return Err(self.problem(Code::LNG011, place, message));
                        }
                    }
                }
            });
        }
        let recursion = if nesting.recursive || key.iter().any(CallArgument::holds_functions) { self.recursion + 1 } else { 0 };
        if recursion > MAX_RECURSION {
            self.complete = false;
            let place = self.place(at);
            let message = format!(
                "`{name}` is called {MAX_RECURSION} calls deep: does it call itself? Triton has no recursion, so use a loop"
            );
            return Err(self.problem(Code::LIM001, place, message));
        }
        // Functions that may stand in its place must give the same, or nobody knows what this gives.
        let alternatives = globals::alternatives(self.db, function).iter();
        let others: Vec<Call> =
            alternatives.map(|&f| Call::new(self.db, f, key.clone(), self.triton.clone(), recursion)).collect();
        let call = Call::new(self.db, function, key, self.triton.clone(), recursion);
        let callee = elaborate_call(self.db, call);
        if callee.calls_below >= MAX_CALL_DEPTH {
            return Err(self.calls_too_deep(&name, at));
        }
        let id = self.reach(call, callee, at);
        self.pay_for_call(call, callee)?;
        if callee.returns.has_unknown() {
            return Err(Poisoned);
        }
        if others.into_iter().any(|other| !elaborate_call(self.db, other).returns.same_type(&callee.returns)) {
            self.complete = false;
            return Err(Poisoned);
        }
        let operands: Vec<_> = leaves.iter().map(|t| t.id).collect();
        let mut results = Vec::new();
        callee.returns.leaves(&mut results);
        let types: Vec<_> = results.iter().map(|t| t.ty.tile()).collect();
        let op = self.emit(OpKind::Call { callee: id }, &operands, types, &[]);
        let ids = self.out.op(op).results.clone();
        Ok(callee.returns.with_ids(&mut ids.into_iter()))
    }

    fn calls_too_deep(&mut self, name: &str, at: ExprId) -> Poisoned {
        self.complete = false;
        let place = self.place(at);
        let message = format!(
            "`{name}` leads to calls more than {MAX_CALL_DEPTH} deep, and Triton follows some 70: put the bodies of some into others"
        );
        self.problem(Code::LIM001, place, message)
    }

    // ---- fixes

    /// How the first value of a carried name would have the type it gets in the loop.
    pub(super) fn fix_initialiser(&self, from: Option<ExprId>, old: &TileType, new: &TileType) -> Option<Fix> {
        let from = from?;
        let dtype = new.elem.scalar()?;
        let spelled = builtins::dtype_spelling(dtype);
        let edit = match self.body.expr(from) {
            Expr::Call { args, .. } if same_shape(&old.shape, &new.shape) => {
                let is_dtype = |a: &&Arg| matches!(&a.kind, ArgKind::Keyword(name) if name == "dtype");
                let by_name = args.iter().find(is_dtype);
                // `tl.zeros(shape, dtype)`
                let by_place = args.get(1).filter(|a| a.kind == ArgKind::Positional && args.len() == 2);
                Edit::Replace(self.place(by_name.or(by_place)?.value), spelled)
            }
            Expr::Int(i) if new.is_scalar() && dtype == DType::F32 => Edit::Replace(self.place(from), format!("{i}.0")),
            Expr::Int(0) if !new.is_scalar() => self.zeros(from, new, &spelled),
            Expr::Float(f) if !new.is_scalar() && *f == 0.0 => self.zeros(from, new, &spelled),
            _ => return None,
        };
        let title =
            if same_shape(&old.shape, &new.shape) { format!("Start it as {dtype}") } else { format!("Start it as {new}") };
        Some(Fix { title, applicability: Applicability::Suggested, edits: vec![edit] })
    }

    fn zeros(&self, at: ExprId, ty: &TileType, dtype: &str) -> Edit {
        let dims: Vec<String> = ty.shape.iter().map(ToString::to_string).collect();
        let comma = if dims.len() == 1 { "," } else { "" };
        let text = format!("{}(({}{comma}), dtype={dtype})", Builtin::Zeros.spelling(), dims.join(", "));
        Edit::Replace(self.place(at), text)
    }
}

/// What a helper is specialised for; `None` for what cannot be passed.
fn call_argument(value: &Value) -> Option<CallArgument> {
    Some(match value {
        Value::Tile(tile) => CallArgument::Tile(tile.ty.plain()),
        Value::Const(constant) => CallArgument::Const(constant.value.clone()),
        Value::Tuple(items) => CallArgument::Tuple(items.iter().map(call_argument).collect::<Option<_>>()?),
        Value::Record(record) => {
            CallArgument::Record(record.class.clone(), record.items.iter().map(call_argument).collect::<Option<_>>()?)
        }
        Value::Type(ty) => CallArgument::Type(ty.plain()),
        Value::DescriptorType(ty) => CallArgument::DescriptorType(ty.plain()),
        Value::Builtin(builtin) => CallArgument::Builtin(*builtin),
        Value::Library(function) => CallArgument::Library(*function),
        Value::CustomFloat(float) => CallArgument::CustomFloat(*float),
        Value::Module(path) => CallArgument::Module(path.clone()),
        Value::BlockPointer(pointer) => {
            CallArgument::BlockPointer(pointer.parts.iter().map(|t| t.ty.plain()).collect(), pointer.ty().plain())
        }
        Value::Descriptor(d) => {
            CallArgument::Descriptor(d.parts.iter().map(|t| t.ty.plain()).collect(), d.ty().plain(), d.nan, d.source)
        }
        Value::Void => CallArgument::Void,
        _ => return None,
    })
}

fn is_instance(value: &Value, class: &Value) -> bool {
    let Value::Class(class) = class else { return false };
    match class {
        Class::Tensor => matches!(value, Value::Tile(_)),
        Class::Tuple => value.items().is_some(),
        Class::Int => matches!(value.as_const(), Some(Const::Int(_) | Const::Bool(_))),
        Class::Float => matches!(value.as_const(), Some(Const::Float(_))),
        Class::Descriptor => matches!(value, Value::Descriptor(_)),
        Class::DType => {
            matches!(value, Value::Type(_) | Value::CustomFloat(_)) || matches!(value.as_const(), Some(Const::DType(_)))
        }
        // Compile-time values are unwrapped before they are asked.
        Class::PointerType => matches!(value, Value::Type(ty) if ty.is_scalar() && ty.elem.is_ptr()),
        Class::BlockType => matches!(value, Value::Type(ty) if !ty.is_scalar()),
        Class::Constexpr
        | Class::PropagateNan
        | Class::Const
        | Class::ConstexprType
        | Class::TupleType
        | Class::Slice
        | Class::VoidType => false,
    }
}
