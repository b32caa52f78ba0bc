//! What a run of a function that is entered shows that it needs: what it is given, and what is done with that.
//!
//! **Invariant:** nothing is chosen here but what a parameter is given first; what a use asks for is a [`Demand`], followed in the next run.

use smol_str::SmolStr;

use super::{Entrance, MAX_RANK, holds, why_unknown};
use crate::{
    body::{Body, Expr, ExprId, FunctionDef, Param, ParamKind, Stmt, StmtId},
    constant::Const,
    dtype::DType,
    host::{
        free::{Argument, Demand, is_block, usual_rank},
        interpret::{Frame, Host},
        kinds, row_major,
        torch::Args,
        value::{Closure, Doubt, Kind, TensorValue, Value},
    },
    instance::{self, ArgType},
    items::{Annotation, FunctionItem},
    launch::Init,
    specialise::{Role, roles, specialisations},
};

/// Methods that tensors have and hardly anything else of what a function is given.
const METHODS: &[&str] = &[
    "dim",
    "expand",
    "flatten",
    "new_ones",
    "permute",
    "reshape",
    "size",
    "squeeze",
    "sum",
    "transpose",
    "unbind",
    "unsqueeze",
    "view_as",
];
impl Host<'_> {
    /// What a function is given for a parameter when it is entered.
    pub(in crate::host) fn entry_argument(&mut self, closure: &Closure, param: &Param, kind_by_use: Option<Kind>) -> Value {
        match param.kind {
            ParamKind::Rest => return Value::tuple(vec![]),
            ParamKind::RestKeywords => return Value::dict(Default::default()),
            _ => {}
        }
        let outer = Frame::new(closure.file, closure.chunk, closure.body.clone(), closure.scope.clone());
        let default = param.default.map(|default| self.expr(&outer, default));
        let (mut kind, _) = param.annotation.map_or((Kind::Any, true), |annotation| kinds::annotated(&closure.body, annotation));
        if kind == Kind::Any {
            kind = kind_by_use.unwrap_or_default();
        }
        let name = &param.name;
        let Some(entrance) = &mut self.entrance else { return Value::unknown(why_unknown(name)) };
        if !entrance.free.arguments.contains_key(name) {
            let chosen = match entrance.free.wished(name) {
                Err(wrong) => {
                    entrance.wrong = Some(wrong);
                    None
                }
                Ok(Some(given)) => Some(given),
                Ok(None) => match &default {
                    // It stays what it is unless somebody gives another.
                    Some(value) => return value.clone(),
                    None => match kind {
                        Kind::Tensor(dtype) => Some(entrance.free.tensor(name, dtype, usual_rank(name))),
                        Kind::Int | Kind::Any if matches!(name.as_str(), "dim" | "axis") => {
                            Some(Argument::Value { value: Const::Int(-1), is_given: false })
                        }
                        Kind::Int => Some(entrance.free.integer(name)),
                        Kind::Float => Some(Argument::Value { value: Const::float(0.5), is_given: false }),
                        Kind::Bool => Some(Argument::Value { value: Const::Bool(false), is_given: false }),
                        Kind::DType => Some(Argument::Value { value: Const::DType(DType::F32), is_given: false }),
                        Kind::Any | Kind::Str | Kind::Ints => None,
                    },
                },
            };
            match chosen {
                Some(chosen) => entrance.free.arguments.insert(name.clone(), chosen),
                None => {
                    entrance.unknown.push(name.clone());
                    return Value::Unknown(Doubt { why: why_unknown(name), kind, may_be_none: kind == Kind::Any, usual: None });
                }
            };
        }
        let made = entrance.free.value(name);
        if let Value::Tensor(t) = &made {
            entrance.given.push((name.clone(), t.storage.clone()));
        }
        made
    }

    /// An expression of which nothing is known, where a function is entered: a free name by its text.
    pub(in crate::host) fn unsaid(&mut self, frame: &Frame, id: ExprId, doubt: Doubt) -> Value {
        let body = &frame.body;
        let Some(entrance) = &mut self.entrance else { return Value::Unknown(doubt) };
        let is = |text: &SmolStr| doubt.why == why_unknown(text);
        let is_same = |of: ExprId| doubt.why == why_unknown(&body.text_of(of));
        let is_own = match body.expr(id) {
            // What a function has that is not known is asked for as it stands, not the function.
            Expr::Attribute { name, .. } => doubt.kind == Kind::Any && !kinds::OF_TENSORS.contains(&name.as_str()),
            Expr::Call { callee: of, .. } | Expr::Subscript { receiver: of, .. } => is_same(*of),
            _ => false,
        };
        let comes_from_other = entrance.unknown.iter().any(is) || entrance.unsaid.iter().any(is);
        let has_value = matches!(
            body.expr(id),
            Expr::Name(_)
                | Expr::Attribute { .. }
                | Expr::Call { .. }
                | Expr::Subscript { .. }
                | Expr::Binary { .. }
                | Expr::Unary { .. }
                | Expr::Comprehension { .. }
        );
        if !has_value || (comes_from_other && !is_own) {
            return Value::Unknown(doubt);
        }
        let text = SmolStr::from(body.text_of(id));
        if !entrance.free.arguments.contains_key(&text) {
            match entrance.free.wished(&text) {
                Ok(Some(given)) => {
                    entrance.free.arguments.insert(text.clone(), given);
                }
                Ok(None) => {
                    if !entrance.unsaid.contains(&text) {
                        entrance.unsaid.push(text.clone());
                    }
                    return Value::Unknown(Doubt { why: why_unknown(&text), ..doubt });
                }
                Err(wrong) => {
                    entrance.wrong = Some(wrong);
                    return Value::Unknown(doubt);
                }
            }
        }
        if let Some((text, storage)) = entrance.given.iter().find(|(given, _)| *given == text)
            && let Some(Argument::Tensor { dims, .. }) = entrance.free.arguments.get(text)
        {
            // Every reading of it is the same memory.
            let shape = entrance.free.shape(dims);
            let strides = row_major(&shape);
            let dtype = storage.dtype;
            return Value::Tensor(TensorValue { storage: storage.clone(), dtype, shape, strides, offset: 0, on_cpu: false });
        }
        let made = entrance.free.value(&text);
        if let Value::Tensor(t) = &made {
            entrance.given.push((text, t.storage.clone()));
        }
        made
    }

    /// What an option, a size of the grid or a library's function is given as an integer.
    pub(in crate::host) fn used_as_integer(&mut self, value: &Value) {
        if let Some(entrance) = &mut self.entrance {
            entrance.demand_of(value, Demand::Integer);
        }
    }

    /// A tensor has as many axes as the block of its descriptor, and so has the parameter that it is a part of.
    pub(in crate::host) fn used_with_block(&mut self, t: &TensorValue, block: &[u32]) {
        let Some(entrance) = &mut self.entrance else { return };
        let whole = entrance.given_as(t).and_then(|parameter| match entrance.free.arguments.get(&parameter)? {
            Argument::Tensor { dims, .. } => Some(entrance.free.shape(dims)),
            _ => None,
        });
        let shape = whole.unwrap_or_else(|| t.shape.clone());
        let wanted = (shape.len() + block.len()).checked_sub(t.shape.len());
        if let Some(wanted) = wanted.filter(|wanted| (1..=MAX_RANK).contains(wanted) && *wanted != shape.len()) {
            entrance.demand(Demand::Rank(shape, wanted));
        }
    }

    /// What an option of a launch is given.
    pub(in crate::host) fn used_as_option(&mut self, value: &Value, usual: i128) {
        if let Some(entrance) = &mut self.entrance {
            entrance.demand_of(value, |key| Demand::Value(key, Const::Int(usual)));
        }
    }

    /// Gradients of what `forward` has made, for the parameters of `backward`.
    pub(super) fn gradients(&mut self, def: &FunctionDef, made: &Value) -> Vec<Value> {
        let made = match made {
            Value::Tuple(all) => all.to_vec(),
            one => vec![one.clone()],
        };
        let params = def.params.iter().skip(1).filter(|param| param.kind != ParamKind::Rest);
        let mut out = Vec::new();
        for (param, made) in params.zip(&made) {
            match made {
                Value::Tensor(t) => {
                    let gradient = TensorValue::new(t.dtype, t.shape.clone(), Some(Init::Normal { mean: 0.0, std: 1.0 }));
                    gradient.storage.name.borrow_mut().replace(param.name.clone());
                    out.push(Value::Tensor(gradient));
                }
                Value::Unknown(_) => break,
                _ => out.push(Value::NONE),
            }
        }
        out
    }

    /// Whether a condition holds of which nothing says it: so that the launch that is wanted is reached and no check fails.
    pub(in crate::host) fn decided(
        &mut self,
        frame: &Frame,
        condition: ExprId,
        value: &Value,
        ways: Option<(&[StmtId], &[StmtId])>,
    ) -> bool {
        let Some(entrance) = &mut self.entrance else { return false };
        if let Some(unknown) = entrance.unknown_of(value) {
            // A value, if it is tested for itself.
            if let Expr::Name(_) = frame.body.expr(condition) {
                entrance.demand(Demand::Value(unknown, Const::Bool(false)));
                return false;
            }
        }
        let text = frame.body.text_of(condition);
        if let Some((holds, _)) = entrance.free.texts.get(&text) {
            return holds.truth();
        }
        let leads = |block: &[StmtId]| {
            entrance.target.is_some_and(|t| t.file == frame.file && t.chunk == frame.chunk && holds(&frame.body, block, t.expr))
        };
        let holds = match ways {
            None => false,
            Some((then, _)) if leads(then) => true,
            Some((_, otherwise)) if leads(otherwise) => false,
            Some((then, otherwise)) => !raises(&frame.body, then) && raises(&frame.body, otherwise),
        };
        entrance.free.texts.insert(text, (Const::Bool(holds), false));
        holds
    }

    /// A way that is known to be taken, where another leads to the launch that is wanted or this one ends in an exception.
    pub(in crate::host) fn taken(
        &mut self,
        frame: &Frame,
        condition: ExprId,
        way: bool,
        (then, otherwise): (&[StmtId], &[StmtId]),
    ) {
        let Some(Entrance { target, .. }) = self.entrance else { return };
        let (taken, other) = if way { (then, otherwise) } else { (otherwise, then) };
        let target = target.filter(|target| target.file == frame.file && target.chunk == frame.chunk);
        let leads = target.is_some_and(|target| holds(&frame.body, other, target.expr));
        let raises = raises(&frame.body, taken);
        if leads || raises {
            self.want(frame, condition, !way);
        }
        // What comes after a block that returns is not reached either.
        let returns = target.is_some() && taken.last().is_some_and(|&last| matches!(frame.body.stmt(last), Stmt::Return(_)));
        if leads || raises || returns {
            let text = frame.body.text_of(condition);
            if let Some(entrance) = &mut self.entrance {
                entrance.late.push(Demand::Condition(text, !way));
            }
        }
    }

    /// What somebody says of a condition, by its text, or what it has to be although nothing that is chosen makes it that.
    pub(in crate::host) fn said_of_condition(&self, frame: &Frame, condition: ExprId) -> Option<bool> {
        let texts = &self.entrance.as_ref()?.free.texts;
        // Most functions ask for none.
        if texts.is_empty() { None } else { texts.get(&frame.body.text_of(condition)).map(|(holds, _)| holds.truth()) }
    }

    /// Names that sizes get, and numbers of axes, where a shape is taken apart: `M, N = x.shape`.
    pub(in crate::host) fn unpacked(&mut self, frame: &Frame, targets: &[ExprId], value: &Value) {
        let body = frame.body.clone();
        let Some(entrance) = &mut self.entrance else { return };
        if targets.iter().any(|&target| matches!(body.expr(target), Expr::Starred(_))) {
            return;
        }
        if let Value::Unknown(Doubt { kind: Kind::Any, .. }) = value {
            entrance.demand_of(value, |name| Demand::Tensor(name, None));
        }
        let Some(parts) = value.items() else { return };
        if parts.len() != targets.len() {
            if let Some(shape) = Value::as_shape(&parts) {
                entrance.demand(Demand::Rank(shape, targets.len()));
            }
            return;
        }
        for (&target, part) in targets.iter().zip(&parts) {
            self.named(frame, target, part);
        }
    }

    /// A name that a size gets: `N = x.shape[1]`.
    pub(in crate::host) fn named(&mut self, frame: &Frame, target: ExprId, value: &Value) {
        let Expr::Name(name) = frame.body.expr(target) else { return };
        let place = (frame.chunk, frame.body.exprs.len());
        if let (Some(value), Some(entrance)) = (value.as_int().and_then(|v| u64::try_from(v).ok()), &mut self.entrance)
            && !name.starts_with('_')
            && entrance.free.has(value)
        {
            entrance.demand(Demand::Named(value, name.clone(), place));
        }
    }

    /// `B, T, H, K, V = *k.shape, v.shape[-1]`
    pub(in crate::host) fn starred(&mut self, frame: &Frame, targets: &[ExprId], items: &[ExprId]) {
        let is_starred = |&item: &ExprId| matches!(frame.body.expr(item), Expr::Starred(_));
        let mut stars = items.iter().copied().filter(is_starred);
        let (Some(star), None) = (stars.next(), stars.next()) else { return };
        let (Expr::Starred(inner), Some(wanted)) = (frame.body.expr(star), (targets.len() + 1).checked_sub(items.len())) else {
            return;
        };
        if let Some(shape) = self.expr(frame, *inner).items().and_then(|parts| Value::as_shape(&parts))
            && shape.len() != wanted
            && let Some(entrance) = &mut self.entrance
        {
            entrance.demand(Demand::Rank(shape, wanted));
        }
    }

    /// An axis that is asked for and that a tensor lacks.
    pub(in crate::host) fn lacks_axis(&mut self, shape: &[Value], axis: &Value) {
        let (Some(axis), Some(shape), Some(entrance)) = (axis.as_int(), Value::as_shape(shape), &mut self.entrance) else {
            return;
        };
        let wanted = if axis < 0 { axis.checked_neg() } else { axis.checked_add(1) };
        if let Some(wanted) =
            wanted.and_then(|wanted| usize::try_from(wanted).ok()).filter(|&wanted| wanted > shape.len() && wanted <= MAX_RANK)
        {
            entrance.demand(Demand::RankAtLeast(shape, wanted));
        }
    }

    /// A method of a tensor that was not possible.
    pub(in crate::host) fn not_possible(&mut self, t: &TensorValue, name: &str, args: &Args) {
        let shape: Vec<Value> = t.shape.iter().map(|&extent| Value::int(extent)).collect();
        match (name, &args.positional[..]) {
            ("size" | "stride" | "transpose" | "unbind" | "select", axes) => {
                axes.iter().for_each(|axis| self.lacks_axis(&shape, axis));
            }
            ("permute", order) if order.len() > 1 => {
                if let Some(entrance) = &mut self.entrance {
                    entrance.demand(Demand::Rank(t.shape.clone(), order.len()));
                }
            }
            ("view" | "reshape", sizes_of) => {
                let wanted = sizes_of.iter().rev().zip(t.shape.iter().rev());
                let differing: Vec<(u64, u64)> =
                    wanted.map_while(|(wanted, &extent)| Some((extent, u64::try_from(wanted.as_int()?).ok()?))).collect();
                if let Some(entrance) = &mut self.entrance {
                    differing.into_iter().filter(|(a, b)| a != b).for_each(|(a, b)| entrance.demand(Demand::Same(a, b)));
                }
            }
            _ => {}
        }
    }

    /// A table that is asked for what a parameter of which nothing is known says: one of its keys.
    pub(in crate::host) fn used_as_key(&mut self, index: &Value, first: Option<Const>) {
        let Some(entrance) = &mut self.entrance else { return };
        if let Some(first) = first {
            entrance.demand_of(index, |key| Demand::Value(key, first.clone()));
        }
    }

    /// A parameter that is `None` and of which an attribute is read that only tensors have.
    pub(in crate::host) fn none_used_as_tensor(&mut self, frame: &Frame, receiver: ExprId, name: &str) {
        if let Expr::Name(parameter) = frame.body.expr(receiver)
            && kinds::OF_TENSORS.contains(&name)
        {
            self.demand_of_parameter(parameter, Demand::Tensor(parameter.clone(), None));
        }
    }

    /// `lengths.max().item()`: a number that nothing says.
    pub(in crate::host) fn number_of_tensor(&mut self, frame: &Frame, call: ExprId, of: &Value) -> Option<Value> {
        let is_float = matches!(of.kind(), Kind::Tensor(Some(dtype)) if dtype.is_float());
        let entrance = self.entrance.as_mut()?;
        Some(Value::from_const(entrance.free.number(frame.body.text_of(call), is_float)))
    }

    /// An attribute that only tensors have, of a parameter of which nothing is known.
    pub(in crate::host) fn used_as_tensor(&mut self, value: &Value, name: &str) {
        let Some(entrance) = &mut self.entrance else { return };
        if kinds::OF_TENSORS.contains(&name) || METHODS.contains(&name) {
            entrance.demand_of(value, |key| Demand::Tensor(key, None));
        }
    }

    /// What a kernel does with its arguments.
    pub(in crate::host) fn passed(&mut self, item: &FunctionItem, args: &Args) {
        if self.entrance.is_none() {
            return;
        }
        let roles = roles(self.db, item.function);
        // What the kernel is checked under where nothing says otherwise; what is run again has been given all of it.
        let assumed = match &self.entrance {
            Some(Entrance { target: Some(_), .. }) => specialisations(self.db, item.function).first(),
            _ => None,
        };
        let element = |index: usize| match assumed?.instance.arguments(self.db).get(index)? {
            instance::Argument::Runtime { ty: ArgType::Ptr { elem, .. }, .. } => Some(*elem),
            _ => None,
        };
        let Some(entrance) = &mut self.entrance else { return };
        for (index, param) in item.params.iter().enumerate() {
            let (Some(value), Some(role)) = (args.get(index, &param.name), roles.get(index)) else { continue };
            match value {
                Value::Tensor(t) if *role == Role::IndexPointer && t.dtype.is_float() => {
                    if let Some(parameter) = entrance.given_as(t) {
                        entrance.demand(Demand::Dtype(parameter, DType::I64));
                    }
                }
                // The kernel computes with what it loads as only integers can be.
                Value::Tensor(t) if t.dtype == DType::F32 && element(index).is_some_and(DType::is_int) => {
                    if let (Some(parameter), Some(elem)) = (entrance.given_as(t), element(index)) {
                        entrance.demand(Demand::Dtype(parameter, elem));
                    }
                }
                Value::Const(Const::Int(size)) if param.annotation == Annotation::Constexpr && is_block(&param.name) => {
                    if let Some(size) = u64::try_from(*size).ok().filter(|size| !size.is_power_of_two()) {
                        entrance.demand(Demand::Power(size));
                    }
                }
                Value::Unknown(_) => {
                    entrance.demand_of(value, |key| match role {
                        Role::Pointer => Demand::Tensor(key, None),
                        Role::IndexPointer => Demand::Tensor(key, Some(DType::I64)),
                        Role::Flag => Demand::Value(key, Const::Bool(false)),
                        Role::Dtype => Demand::Value(key, Const::DType(DType::F32)),
                        _ => Demand::Integer(key),
                    });
                }
                _ => {}
            }
        }
    }
}

/// Whether a block ends in an exception.
fn raises(body: &Body, block: &[StmtId]) -> bool {
    block.last().is_some_and(|&last| match body.stmt(last) {
        Stmt::Other { keyword, .. } => *keyword == "raise",
        Stmt::If { then, otherwise, .. } => raises(body, then) && raises(body, otherwise),
        _ => false,
    })
}
