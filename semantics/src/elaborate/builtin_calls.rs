//! Calls of builtins: arguments bound by the signature that is printed, and the way from a row to what lowers it.
//!
//! **Invariant:** a builtin is reached through its row only; each parameter has its argument, its default, or is told as missing.

use tritium_tile::{
    OpKind,
    ops::{BinaryOp as TileOp, PromiseOp, SpecialRegister},
};

use super::{
    calls::{Keywords, Positional},
    evaluator::{Eval, Evaluator, Poisoned, ProblemExt, problem},
    value::{Constant, Value},
};
use crate::{
    body::{ArgKind, BinaryOp, Expr, ExprId},
    builtins::{self, Builtin, Effect, Lower},
    constant::Const,
    diagnostics::Code,
    dtype::DType,
    problem::{Applicability, Edit},
    types::Element,
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
                    self.unknown_keyword(builtin.spelling(), params.iter().map(|p| p.name), call, &name, expr);
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

    pub(super) fn unknown_keyword<'n>(
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
                report = report.fix(
                    format!("Change to `{nearest}`"),
                    Applicability::Suggested,
                    vec![Edit::Replace(self.place(call), new)],
                );
            }
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
        let result = match self.bind_builtin(builtin, at, positional, keywords) {
            Ok(arguments) => self.builtin(builtin, &arguments, at),
            Err(Poisoned) => Err(Poisoned),
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
            Builtin::GdcWait => {
                self.emit(OpKind::GridWait, &[], [], &[]);
                Ok(Value::Void)
            }
            Builtin::GdcLaunchDependents => {
                self.emit(OpKind::GridLaunch, &[], [], &[]);
                Ok(Value::Void)
            }
            Builtin::Split => self.call_split(arguments, at),
            Builtin::Item => self.call_item(arguments, at),
            Builtin::MultipleOf | Builtin::MaxContiguous | Builtin::MaxConstancy => self.call_promise(builtin, arguments, at),
            Builtin::Assume => {
                let expr = arguments.expr("cond").unwrap_or(at);
                let value = arguments.value("cond");
                match value {
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
                Err(Poisoned)
            }
            // Lowered by their kind, above.
            _ => Err(Poisoned),
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
    fn call_promise(&mut self, builtin: Builtin, arguments: &Arguments, at: ExprId) -> Eval<Value> {
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
