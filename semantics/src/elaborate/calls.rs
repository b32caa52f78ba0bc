//! Calls: which function is meant, which argument is which parameter, and what comes back.
//!
//! **Invariant:** arguments are bound by the signature that is printed; a builtin is reached through its row only.

use smol_str::SmolStr;
use tritium_tile::{
    OpKind,
    ops::{BinaryOp as TileOp, LoopAttrs, PromiseOp, SpecialRegister},
};

use super::{
    Call, CallArgument, elaborate_call,
    evaluator::{Eval, Evaluator, MAX_DEPTH, ProblemExt, Silenced, problem},
    names,
    value::{Constant, Value},
};
use crate::{
    Function,
    body::{Arg, ArgKind, BinaryOp, Expr, ExprId, ParamKind},
    builtins::{self, Builtin, Class, Effect, Lower, Python},
    constant::Const,
    diagnostics::Code,
    dtype::DType,
    problem::{Edit, Fix},
    types::{Element, TileType, same_shape},
};

/// The arguments of a builtin, by the parameters of its signature.
pub(super) struct Arguments {
    builtin: Builtin,
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

type Positional = Vec<(Value, ExprId)>;
type Keywords = Vec<(SmolStr, Value, ExprId)>;

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
            return Err(Silenced);
        }
        Ok((positional, keywords))
    }

    pub(super) fn call(&mut self, expr: ExprId, callee: ExprId, args: &[Arg]) -> Eval<Value> {
        let function = self.eval(callee);
        let (mut positional, keywords) = self.arguments(args)?;
        match function {
            Value::Unknown => {
                self.complete = false;
                Err(Silenced)
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
            Value::Module(path) => {
                let values: Vec<Value> = positional.into_iter().map(|(v, _)| v).collect();
                Err(self.host_call(&path, expr, &values))
            }
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
        known.map(Value::constant).ok_or(Silenced)
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
            Value::Unknown => Err(Silenced),
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

    // ---- builtins

    fn bind_builtin(&mut self, builtin: Builtin, call: ExprId, positional: Positional, keywords: Keywords) -> Eval<Arguments> {
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
                    self.unknown_keyword(&builtin.spelling(), params.iter().map(|p| p.name), call, &name, expr);
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
        if failed { Err(Silenced) } else { Ok(arguments) }
    }

    fn unknown_keyword<'n>(
        &mut self,
        callee: &str,
        names: impl Iterator<Item = &'n str>,
        call: ExprId,
        name: &str,
        value: ExprId,
    ) {
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
        if let (Some(nearest), Expr::Call { callee, args }) = (nearest, self.body.expr(call)) {
            let args: Vec<String> = args
                .iter()
                .map(|a| match &a.kind {
                    ArgKind::Positional => self.text(a.value),
                    ArgKind::Keyword(n) if n == name => format!("{nearest}={}", self.text(a.value)),
                    ArgKind::Keyword(n) => format!("{n}={}", self.text(a.value)),
                    ArgKind::Spread => format!("*{}", self.text(a.value)),
                    ArgKind::SpreadKeywords => format!("**{}", self.text(a.value)),
                })
                .collect();
            let new = format!("{}({})", self.text(*callee), args.join(", "));
            if !new.contains('…') {
                report = report.fix(format!("Change to `{nearest}`"), true, vec![Edit::Replace(self.place(call), new)]);
            }
        }
        self.report(report);
    }

    fn call_builtin(&mut self, builtin: Builtin, at: ExprId, positional: Positional, keywords: Keywords) -> Eval<Value> {
        let result = match self.bind_builtin(builtin, at, positional, keywords) {
            Ok(arguments) => self.builtin(builtin, &arguments, at),
            Err(Silenced) => Err(Silenced),
        };
        if result.is_err() && !matches!(builtin.row().effect, Effect::Pure | Effect::Read) {
            self.complete = false;
        }
        result
    }

    fn builtin(&mut self, builtin: Builtin, arguments: &Arguments, at: ExprId) -> Eval<Value> {
        match builtin.row().lower {
            Lower::Map(op) => return self.call_map(builtin, op, arguments, at),
            Lower::Fold(fold) => return self.call_fold(builtin, fold, arguments, at),
            Lower::Scan(fold) => return self.call_scan(builtin, fold, arguments, at),
            Lower::Atomic(atomic) => return self.call_atomic(builtin, atomic, arguments, at),
            Lower::DescriptorAtomic(atomic) => return self.call_descriptor_atomic(builtin, atomic, arguments, at),
            Lower::Random => return self.call_random(builtin, arguments, at),
            Lower::Own => {}
        }
        let operator = |s: &mut Self, op: BinaryOp| {
            let (x, y) = (arguments.expr("x").unwrap_or(at), arguments.expr("y").unwrap_or(at));
            s.binary(op, x, arguments.value("x").clone(), y, arguments.value("y").clone(), at)
        };
        match builtin {
            Builtin::ProgramId => self.call_program_id(arguments, false, at),
            Builtin::NumPrograms => self.call_program_id(arguments, true, at),
            Builtin::GlobalTimer => Ok(self.special_register(SpecialRegister::GlobalTimer, DType::I64)),
            Builtin::SmId => Ok(self.special_register(SpecialRegister::SmId, DType::I32)),
            Builtin::IsCuda => Ok(Value::bool(true)),
            Builtin::IsHip | Builtin::IsHipCdna3 | Builtin::IsHipCdna4 => Ok(Value::bool(false)),
            Builtin::CapabilityGeq => self.call_capability(arguments, at),
            Builtin::Arange => self.call_arange(arguments, at),
            Builtin::Zeros => self.call_full(arguments, true, at),
            Builtin::Full => self.call_full(arguments, false, at),
            Builtin::ZerosLike => self.call_zeros_like(arguments, at),
            Builtin::ToTensor => self.as_tile(arguments.value("x"), arguments.expr("x").unwrap_or(at)).map(Value::Tile),
            Builtin::Load => self.call_load(arguments, at),
            Builtin::Store => self.call_store(arguments, at),
            Builtin::Abs => self.call_abs(arguments, at),
            Builtin::Sigmoid => self.call_sigmoid(arguments, at),
            Builtin::Softmax => self.call_softmax(arguments, at),
            Builtin::Maximum => self.call_extremum(true, arguments, at),
            Builtin::Minimum => self.call_extremum(false, arguments, at),
            Builtin::Clamp => self.call_clamp(arguments, at),
            Builtin::Fma => self.call_fma(arguments, at),
            Builtin::Fdiv => self.call_division(builtin, TileOp::DivF, arguments, at),
            Builtin::DivRn => self.call_division(builtin, TileOp::DivRn, arguments, at),
            Builtin::LogicalAnd => self.call_logical(BinaryOp::BitAnd, arguments, at),
            Builtin::LogicalOr => self.call_logical(BinaryOp::BitOr, arguments, at),
            Builtin::Umulhi => self.call_umulhi(arguments, at),
            Builtin::Swizzle2d => self.call_swizzle(arguments, at),
            Builtin::InlineAsm => self.call_inline_asm(arguments, at),
            Builtin::MapElementwise => self.call_map_elementwise(arguments, at),
            Builtin::AtomicCas => self.call_atomic_cas(arguments, at),
            Builtin::Gather => self.call_gather(arguments, at),
            Builtin::Histogram => self.call_histogram(arguments, at),
            Builtin::Sort | Builtin::Topk | Builtin::BitonicMerge => self.call_sort(builtin, arguments, at),
            Builtin::Squeeze => self.call_squeeze(arguments, at),
            Builtin::Unsqueeze => self.call_unsqueeze(arguments, at),
            Builtin::Flip => self.call_flip(arguments, at),
            Builtin::Cat => self.call_cat(arguments, at),
            Builtin::Interleave => self.call_interleave(arguments, at),
            Builtin::DevicePrint => self.call_device_print(arguments, at),
            Builtin::Condition => Ok(arguments.value("arg1").clone()),
            Builtin::Cdiv => self.call_cdiv(arguments, at),
            Builtin::Add => operator(self, BinaryOp::Add),
            Builtin::Sub => operator(self, BinaryOp::Sub),
            Builtin::Mul => operator(self, BinaryOp::Mul),
            Builtin::Where => self.call_where(arguments, at),
            Builtin::Cast | Builtin::To => self.call_cast(arguments, at),
            Builtin::Dot => self.call_dot(arguments, at),
            Builtin::Reduce | Builtin::AssociativeScan => self.call_combine(builtin, arguments, at),
            Builtin::Trans => self.call_permute(arguments, true, at),
            Builtin::Permute => self.call_permute(arguments, false, at),
            Builtin::Broadcast => self.call_broadcast(arguments, at),
            Builtin::BroadcastTo => self.call_broadcast_to(arguments, at),
            Builtin::ExpandDims => self.call_expand_dims(arguments, at),
            Builtin::Reshape => {
                let reorder = self.flag(arguments, "can_reorder")?;
                self.call_reshape(arguments, reorder, at)
            }
            Builtin::View => self.call_reshape(arguments, true, at),
            Builtin::Ravel => self.call_ravel(arguments, at),
            Builtin::Join => self.call_join(arguments, at),
            Builtin::MakeBlockPtr => self.call_make_block_ptr(arguments, at),
            Builtin::Advance => self.call_advance(arguments, at),
            Builtin::MakeTensorDescriptor => self.call_make_descriptor(arguments, at),
            Builtin::LoadTensorDescriptor | Builtin::DescriptorLoad => self.call_descriptor_load(arguments, at),
            Builtin::StoreTensorDescriptor | Builtin::DescriptorStore => self.call_descriptor_store(arguments, at),
            Builtin::DescriptorGather => self.call_descriptor_gather(arguments, at),
            Builtin::DescriptorScatter => self.call_descriptor_scatter(arguments, at),
            Builtin::DotScaled => self.call_dot_scaled(arguments, at),
            // A launch of ours waits for the one before it, so there is nothing to wait for.
            Builtin::GdcWait | Builtin::GdcLaunchDependents => Ok(Value::Void),
            Builtin::Split => self.call_split(arguments, at),
            Builtin::Item => self.call_item(arguments, at),
            Builtin::MultipleOf | Builtin::MaxContiguous | Builtin::MaxConstancy => self.call_promise(builtin, arguments, at),
            Builtin::Assume => {
                let expr = arguments.expr("cond").unwrap_or(at);
                let value = arguments.value("cond");
                match value {
                    Value::Unknown => Err(Silenced),
                    Value::Const(_) => Ok(Value::Void),
                    Value::Tile(tile) if tile.ty.is_scalar() && tile.ty.elem == Element::Scalar(DType::I1) => {
                        let condition = tile.id;
                        self.emit(OpKind::Assume, &[condition], [], &[]);
                        Ok(Value::Void)
                    }
                    other => {
                        let text = self.text(expr);
                        let place = self.place(expr);
                        let message = format!("{} takes one condition (i1), and `{text}` is {}", builtin.spelling(), other.ty());
                        Err(self.problem(Code::DTY017, place, message))
                    }
                }
            }
            Builtin::StaticPrint => Ok(Value::Void),
            Builtin::DebugBarrier => {
                self.emit(OpKind::Barrier, &[], [], &[]);
                Ok(Value::Void)
            }
            Builtin::StaticAssert => self.call_static_assert(arguments, at),
            Builtin::DeviceAssert => self.call_device_assert(arguments, at),
            Builtin::IntType => self.call_int_type(arguments, at),
            Builtin::Log2OfSize => self.host_function(arguments, &["i"], at, |n| Some(n[0].max(1).ilog2().into())),
            Builtin::IsPowerOf2 => {
                let power =
                    self.host_function(arguments, &["i"], at, |n| Some(i128::from(n[0] > 0 && n[0] & (n[0] - 1) == 0)))?;
                Ok(Value::bool(power.as_const() == Some(&Const::Int(1))))
            }
            Builtin::HostCdiv => self.host_function(arguments, &["x", "y"], at, |n| {
                let (a, b) = (n[0], n[1]);
                if b == 0 { None } else { crate::items::cdiv(a, b) }
            }),
            Builtin::NextPowerOf2 => self.host_function(arguments, &["n"], at, |n| crate::items::next_power_of_2(n[0])),
            Builtin::Range | Builtin::StaticRange => {
                let place = self.place(at);
                self.unsupported(place, &format!("{} outside a `for`", builtin.spelling()), "loop over it: `for i in …`");
                Err(Silenced)
            }
            // Lowered by their kind, above.
            _ => Err(Silenced),
        }
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
                None if value.has_unknown() => return Err(Silenced),
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
    fn call_promise(&mut self, builtin: Builtin, arguments: &Arguments, at: ExprId) -> Eval<Value> {
        let (input, values) = (arguments.value("input").clone(), arguments.value("values").clone());
        if input.has_unknown() || values.has_unknown() {
            return Err(Silenced);
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
        let wanted = if builtin == Builtin::MultipleOf { rank.max(1) } else { rank };
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
        let what = match builtin {
            Builtin::MaxContiguous => PromiseOp::Contiguous,
            Builtin::MaxConstancy => PromiseOp::Constant,
            _ => PromiseOp::Divisible,
        };
        let Some(values) = promised.filter(|_| !numbers.is_empty()) else { return Ok(Value::Tile(tile)) };
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
            Value::Unknown => Err(Silenced),
            Value::Const(Constant { value: Const::Bool(true), .. }) => Ok(Value::Void),
            Value::Const(Constant { value: Const::Bool(false), .. }) => {
                let said = match arguments.value("msg").to_const() {
                    Some(Const::Str(said)) if !said.is_empty() => format!(": {said}"),
                    _ => String::new(),
                };
                let place = self.place(at);
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
            Value::Unknown => Err(Silenced),
            value => match value.to_const() {
                Some(known) => Ok(known.truth()),
                None => {
                    let expr = arguments.expr(name).ok_or(Silenced)?;
                    let place = self.place(expr);
                    Err(self.not_constexpr(place, expr, &format!("`{name}`")))
                }
            },
        }
    }

    // ---- Python's functions and classes

    fn call_python(&mut self, python: Python, at: ExprId, positional: Positional) -> Eval<Value> {
        if positional.iter().any(|(v, _)| v.has_unknown()) {
            return Err(Silenced);
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
                let (mut best, expr) = values.next().ok_or(Silenced)?;
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
            (Python::List, [(value, _)]) => value.items().map(Value::Tuple).ok_or(Silenced),
            (Python::GetAttr, [(value, _), (name, _)]) => match name.to_const() {
                Some(Const::Str(name)) => Ok(self.attribute(at, value.clone(), &name.into())),
                _ => Err(Silenced),
            },
            (Python::GetAttr, [(value, _), (name, _), (default, _)]) => match name.to_const() {
                Some(Const::Str(name)) => {
                    let found = self.attribute_if_any(at, value, &name);
                    Ok(found.unwrap_or_else(|| default.clone()))
                }
                _ => Err(Silenced),
            },
            (Python::HasAttr, [(value, _), (name, _)]) => match name.to_const() {
                Some(Const::Str(name)) => Ok(Value::bool(self.attribute_if_any(at, value, &name).is_some())),
                _ => Err(Silenced),
            },
            (Python::Range, _) => {
                self.unsupported(place, "`range` outside a `for`", "loop over it: `for i in range(…)`");
                Err(Silenced)
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
        let (problems, complete) = (self.problems.len(), self.complete);
        let found = self.attribute(at, value.clone(), &name.into());
        let missing = self.problems.len() > problems;
        self.problems.truncate(problems);
        self.complete = complete;
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
            return Err(Silenced);
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
        let Expr::Call { callee, args } = body.expr(call) else { return Err(Silenced) };
        let function = self.eval(*callee);
        let (positional, keywords) = self.arguments(args)?;
        let Value::Builtin(builtin) = function else {
            if let Some((name, _, expr)) = keywords.first() {
                let place = self.place(*expr);
                let message = format!("`range` takes positional arguments only, not `{name}=`");
                return Err(self.problem(Code::LNG011, place, message));
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
            for name in ["disallow_acc_multi_buffer", "flatten", "warp_specialize", "disable_licm"] {
                self.flag(&arguments, name)?;
            }
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
                let expr = arguments.expr(name).ok_or(Silenced)?;
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
            return Err(Silenced);
        };
        let Some(def) = names::definition(&callee_body, stmt) else { return Err(Silenced) };
        if let Some(param) = def.params.iter().find(|p| p.kind == ParamKind::KeywordOnly)
            && !self.rules.keyword_only_parameters
        {
            let place = self.place(at);
            let what = format!("a call of `{name}`, whose parameter `{}` is keyword-only,", param.name);
            self.unsupported(place, &what, "remove the `*` from its signature (Triton 3.9 accepts it)");
            return Err(Silenced);
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
        for (index, (value, expr)) in positional.into_iter().enumerate() {
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
                    self.unknown_keyword(&format!("`{name}`"), names.iter().map(String::as_str), at, &keyword, expr);
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
                return Err(Silenced);
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
            return Err(Silenced);
        }
        if self.depth >= MAX_DEPTH {
            self.complete = false;
            let place = self.place(at);
            let message =
                format!("`{name}` is called {MAX_DEPTH} calls deep: does it call itself? Triton has no recursion, so use a loop");
            return Err(self.problem(Code::LIM001, place, message));
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
        // Functions that may stand in its place must give the same, or nobody knows what this gives.
        let alternatives = crate::items::alternatives(self.db, function).iter();
        let others: Vec<Call> =
            alternatives.map(|&f| Call::new(self.db, f, key.clone(), self.triton.clone(), self.depth + 1)).collect();
        let call = Call::new(self.db, function, key, self.triton.clone(), self.depth + 1);
        let callee = elaborate_call(self.db, call);
        let id = self.splice(call, callee, at);
        if callee.returns.has_unknown() {
            return Err(Silenced);
        }
        if others.into_iter().any(|other| !elaborate_call(self.db, other).returns.same_type(&callee.returns)) {
            self.complete = false;
            return Err(Silenced);
        }
        let operands: Vec<_> = leaves.iter().map(|t| t.id).collect();
        let mut results = Vec::new();
        callee.returns.leaves(&mut results);
        let types: Vec<_> = results.iter().map(|t| t.ty.tile()).collect();
        let op = self.emit(OpKind::Call { callee: id }, &operands, types, &[]);
        let ids = self.out.op(op).results.clone();
        Ok(callee.returns.with_ids(&mut ids.into_iter()))
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
        Some(Fix { title, safe: true, edits: vec![edit] })
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
        Value::Descriptor(d) => CallArgument::Descriptor(d.parts.iter().map(|t| t.ty.plain()).collect(), d.ty().plain(), d.nan),
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
