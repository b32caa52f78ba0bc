//! Named tuples and aggregates: values with fields.
//!
//! Nothing of them is left in the tile IR: each field is a value of its own. **Invariant:** an object has one value for each field of its
//! class.

use std::sync::Arc;

use smol_str::SmolStr;

use super::{
    evaluator::{Eval, Evaluator, Poisoned},
    value::{Record, Value},
};
use crate::{
    body::{ArgKind, Body, Expr, ExprId, Param, Stmt},
    builtins::Known,
    constant::Const,
    diagnostics::Code,
    globals::{self, Global},
    items::{self, RecordClass, RecordKind, chunk_body},
};

type Keywords = Vec<(SmolStr, Value, ExprId)>;

impl<'a> Evaluator<'a> {
    /// Calls the class: the arguments are its fields, or those of its `__init__`.
    pub(super) fn construct(
        &mut self,
        class: &Arc<RecordClass>,
        positional: Vec<(Value, ExprId)>,
        keywords: Keywords,
        at: ExprId,
    ) -> Eval<Value> {
        let Some(body) = chunk_body(self.db, class.file, class.chunk) else { return Err(Poisoned) };
        let items = match class.kind {
            RecordKind::NamedTuple => {
                let params: Vec<(SmolStr, Option<ExprId>)> = class.fields.iter().map(|f| (f.name.clone(), f.default)).collect();
                let bound = self.bind_fields(class, &body, &params, positional, keywords, at)?;
                bound.into_iter().map(|(_, value)| value).collect()
            }
            RecordKind::Aggregate { init: None } => {
                let place = self.place(at);
                let message = format!("the aggregate `{}` has no `__init__` that fills its fields", class.name);
                return Err(self.problem(Code::LNG011, place, message));
            }
            RecordKind::Aggregate { init: Some(init) } => {
                let Stmt::Function(def) = body.stmt(init) else { return Err(Poisoned) };
                if def.decorators.is_empty() {
                    let place = self.place(at);
                    let message = format!(
                        "`{}.__init__` is a plain Python function: decorate it with `@triton.constexpr_function` to call it from a kernel",
                        class.name
                    );
                    return Err(self.problem(Code::LNG003, place, message));
                }
                let [own, params @ ..] = &def.params[..] else { return Err(Poisoned) };
                // Triton's own handles are passed by Triton.
                let params: Vec<&Param> = params.iter().filter(|p| !p.name.starts_with('_')).collect();
                let named: Vec<(SmolStr, Option<ExprId>)> = params.iter().map(|p| (p.name.clone(), p.default)).collect();
                let bound = self.bind_fields(class, &body, &named, positional, keywords, at)?;
                let mut fields: Vec<Option<Value>> = vec![None; class.fields.len()];
                for &stmt in &def.body {
                    let (target, value) = match body.stmt(stmt) {
                        Stmt::Assign { targets, value } if targets.len() == 1 => (targets[0], *value),
                        Stmt::AnnAssign { target, value: Some(value), .. } => (*target, *value),
                        Stmt::Pass | Stmt::Expr(_) | Stmt::Assert { .. } => continue,
                        _ => {
                            self.complete = false;
                            return Err(Poisoned);
                        }
                    };
                    if let Expr::Attribute { receiver, name } = body.expr(target)
                        && matches!(body.expr(*receiver), Expr::Name(n) if *n == own.name)
                        && let Some(index) = class.field(name)
                    {
                        fields[index] = Some(self.plain_value(class, &body, value, &bound));
                    }
                }
                fields.into_iter().map(|f| f.unwrap_or(Value::Unknown)).collect()
            }
        };
        let record = Value::Record(Record { class: class.clone(), items });
        self.complete &= !record.has_unknown();
        Ok(record)
    }

    fn bind_fields(
        &mut self,
        class: &Arc<RecordClass>,
        body: &Body,
        params: &[(SmolStr, Option<ExprId>)],
        positional: Vec<(Value, ExprId)>,
        keywords: Keywords,
        at: ExprId,
    ) -> Eval<Vec<(SmolStr, Value)>> {
        let mut bound: Vec<Option<Value>> = vec![None; params.len()];
        let given = positional.len();
        for (slot, (value, _)) in bound.iter_mut().zip(positional) {
            *slot = Some(value);
        }
        let place = self.place(at);
        if given > params.len() {
            let message = format!("`{}` takes {} values, not {given}", class.name, params.len());
            return Err(self.problem(Code::LNG011, place, message));
        }
        for (name, value, expr) in keywords {
            match params.iter().position(|(n, _)| *n == name) {
                Some(index) if bound[index].is_none() => bound[index] = Some(value),
                Some(_) => {
                    let place = self.place(expr);
                    return Err(self.problem(Code::LNG011, place, format!("`{}` is given `{name}` twice", class.name)));
                }
                None => {
                    let known: Vec<&str> = params.iter().map(|(n, _)| n.as_str()).collect();
                    let place = self.place(expr);
                    let message = format!("`{}` has no `{name}`; it has {}", class.name, known.join(", "));
                    return Err(self.problem(Code::LNG011, place, message));
                }
            }
        }
        let mut missing = Vec::new();
        let mut out = Vec::new();
        for ((name, default), value) in params.iter().zip(bound) {
            let value = match (value, default) {
                (Some(value), _) => value,
                (None, Some(default)) => self.plain_value(class, body, *default, &[]),
                (None, None) => {
                    missing.push(format!("`{name}`"));
                    Value::Unknown
                }
            };
            out.push((name.clone(), value));
        }
        if !missing.is_empty() {
            return Err(self.problem(Code::LNG011, place, format!("`{}` misses {}", class.name, missing.join(" and "))));
        }
        Ok(out)
    }

    /// A simple expression of the class's own file, over the constructor's arguments.
    fn plain_value(&mut self, class: &RecordClass, body: &Body, expr: ExprId, names: &[(SmolStr, Value)]) -> Value {
        match body.expr(expr) {
            Expr::Int(i) => Value::int(*i),
            Expr::Float(f) => Value::constant(Const::float(*f)),
            Expr::Bool(b) => Value::bool(*b),
            Expr::Str(s) => Value::constant(Const::Str(s.clone())),
            Expr::None => Value::none(),
            Expr::Tuple(items) => Value::Tuple(items.iter().map(|&i| self.plain_value(class, body, i, names)).collect()),
            Expr::Name(name) => match names.iter().find(|(n, _)| n == name) {
                Some((_, value)) => value.clone(),
                None => match globals::resolve(self.db, class.file, name.clone()) {
                    Some(Global::Constexpr(known) | Global::Value(Some(known))) => Value::constant(known),
                    Some(Global::Function(function)) => Value::constant(Const::Function(function)),
                    _ => Value::Unknown,
                },
            },
            Expr::Attribute { receiver, name } => match self.plain_value(class, body, *receiver, names) {
                Value::Record(record) => record.field(name).cloned().unwrap_or(Value::Unknown),
                known @ Value::Const(_) if name == "value" => known,
                _ => Value::Unknown,
            },
            // `tl.constexpr(x)`, `_unwrap_if_constexpr(x)`
            Expr::Call { callee, args } => {
                let path = items::path(self.db, class.file, body, *callee).unwrap_or_default();
                let wraps = path.ends_with("constexpr") && crate::builtins::find(&path) != Some(Known::Module);
                match &args[..] {
                    [arg] if wraps && arg.kind == ArgKind::Positional => self.plain_value(class, body, arg.value, names),
                    _ => Value::Unknown,
                }
            }
            _ => Value::Unknown,
        }
    }

    pub(super) fn record_attribute(&mut self, expr: ExprId, record: Record, name: &SmolStr) -> Value {
        if let Some(value) = record.field(name) {
            return value.clone();
        }
        if let Some(&method) = record.class.methods.iter().find(|m| m.name(self.db) == name) {
            return Value::Bound(Box::new(Value::Record(record)), method);
        }
        if matches!(record.class.kind, RecordKind::Aggregate { .. }) && name != "type" {
            // Plain methods of the class run in Python.
            self.complete = false;
            let has = chunk_body(self.db, record.class.file, record.class.chunk).is_some_and(|body| {
                body.root.iter().any(|&s| match body.stmt(s) {
                    Stmt::Class { body: members, .. } => {
                        members.iter().any(|&m| matches!(body.stmt(m), Stmt::Function(def) if def.name == *name))
                    }
                    _ => false,
                })
            });
            if has {
                return Value::Unknown;
            }
        }
        self.no_attribute(expr, &Value::Record(record), name)
    }
}

impl Record {
    pub(super) fn field(&self, name: &str) -> Option<&Value> {
        self.class.field(name).and_then(|i| self.items.get(i))
    }
}
