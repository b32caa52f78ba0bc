//! Functions that nothing calls with known arguments: entered with those that pytest gives a test, or with anything that they take.
//!
//! **Invariant:** what is launched where arguments are not known is no launch, but known in part.

use std::cell::RefCell;

use indexmap::IndexMap;
use smol_str::SmolStr;

use super::{
    budget,
    interpret::{FUEL, Frame, Host, written_method},
    torch::Args,
    value::{Closure, Doubt, Kind, Method, Object, Value},
};
use crate::{
    body::{Body, Expr, ExprId, FunctionDef, Param, Stmt, StmtId},
    constant::Const,
    items::{self, Meaning, Node, chunk_body, items as items_of},
};

/// Statements and expressions of one function that are evaluated before the rest of it is unknown.
const SURVEY_FUEL: u32 = 20_000;
/// The same of one that is entered for what it launches elsewhere: a test calls the whole of an operator.
const CALLER_FUEL: u32 = 60_000;
/// Sets of arguments with which a test is entered.
const MAX_PARAMETER_SETS: usize = 8;

/// The arguments of one run of a test, by name.
type ParameterSet = Vec<(SmolStr, Value)>;

impl Host<'_> {
    /// Enters the functions that nothing has called with known arguments.
    pub(crate) fn survey(&mut self) {
        self.is_survey = true;
        budget::refill();
        let mut fuel_left = FUEL;
        // Who calls them may have chosen a default device.
        self.default_is_cpu = false;
        let is_caller = self.called.is_some();
        let most = if is_caller { CALLER_FUEL } else { SURVEY_FUEL };
        let definitions = &items::declared(self.db, self.file).definitions;
        let of_definition = &items_of(self.db, self.file).of_definition;
        let has_kernels = of_definition.iter().any(Option::is_some);
        for (definition, function) in definitions.iter().zip(of_definition) {
            // What stands in a function is defined when that one is entered.
            if function.is_some()
                || definition.outer.is_some()
                || self.entered.contains(&(self.file, definition.chunk, definition.stmt))
            {
                continue;
            }
            let Some(body) = chunk_body(self.db, self.file, definition.chunk) else { continue };
            let Stmt::Function(def) = body.stmt(definition.stmt) else { continue };
            // Most functions of a library launch nothing.
            let is_test = (has_kernels || is_caller) && def.name.starts_with("test");
            let is_wanted = is_test
                || if is_caller { self.calls_elsewhere(&body, definition.stmt) } else { may_launch(&body, definition.stmt) };
            if !is_wanted || is_test && self.is_not_run(&body, def) {
                continue;
            }
            self.db.unwind_if_revision_cancelled();
            let scope = self.module(self.file);
            let frame = Frame::new(self.file, definition.chunk, body.clone(), scope);
            let closure = Closure::of_definition(&frame, definition.stmt, Method::Plain);
            let sets = if is_test { self.parameter_sets(&frame, def) } else { vec![vec![]] };
            for keywords in sets {
                self.fuel = most.min(fuel_left);
                let before = self.fuel;
                let is_given = |param: &Param| {
                    keywords.iter().any(|(keyword, _)| *keyword == param.name) || param.name == "self" || param.default.is_some()
                };
                let is_open = !is_test || !def.params.iter().all(is_given);
                if is_open {
                    self.path_conditions = vec!["the arguments of the function around it are not known".into()];
                }
                let first = definition
                    .class
                    .and_then(|class| self.receiver(definition.chunk, class, definition.stmt))
                    .map(|first| first.0);
                (self.is_open_call, self.is_open_entry) = (is_open, is_open);
                self.call_closure(&closure, &Args { positional: vec![], keywords }, first.as_slice());
                self.is_open_call = false;
                fuel_left -= before - self.fuel;
                self.path_conditions.clear();
                (self.raised, self.is_open_entry) = (None, false);
            }
        }
    }

    /// Whether nobody runs a test, or it is expected to fail.
    fn is_not_run(&self, body: &Body, def: &FunctionDef) -> bool {
        let says_so = |&decorator: &ExprId| {
            let of = match body.expr(decorator) {
                Expr::Call { callee, .. } => *callee,
                _ => decorator,
            };
            let path = items::path(self.db, self.file, body, of).unwrap_or_default();
            matches!(&*path, "pytest.mark.skip" | "pytest.mark.xfail" | "unittest.skip" | "unittest.expectedFailure")
        };
        def.decorators.iter().any(says_so)
    }

    /// Whether a function calls what another file of the workspace has.
    fn calls_elsewhere(&self, body: &Body, stmt: StmtId) -> bool {
        let mut found = false;
        items::walk(body, &[stmt], &mut |node| {
            let Node::Expr(id) = node else { return };
            let Expr::Call { callee, .. } = body.expr(id) else { return };
            if found {
                return;
            }
            let mut of = *callee;
            while let Expr::Attribute { receiver, .. } | Expr::Subscript { receiver, .. } = body.expr(of) {
                of = *receiver;
            }
            let Expr::Name(name) = body.expr(of) else { return };
            found = items::meanings::<items::Folding>(self.db, self.file, name.clone()).iter().any(|meaning| match meaning {
                Meaning::File(file) | Meaning::Definition(file, _) | Meaning::Class(file, ..) | Meaning::Value(file, ..) => {
                    *file != self.file
                }
                Meaning::Path(_) | Meaning::Opaque => false,
            });
        });
        found
    }

    /// What `@pytest.mark.parametrize(…)` gives a test: every value of every parameter at least once, as far as they are known.
    fn parameter_sets(&mut self, frame: &Frame, def: &FunctionDef) -> Vec<ParameterSet> {
        let body = frame.body.clone();
        let mut columns: Vec<Vec<ParameterSet>> = Vec::new();
        for &decorator in &def.decorators {
            let Expr::Call { callee, args } = body.expr(decorator) else { continue };
            let path = items::path(self.db, frame.file, &body, *callee).unwrap_or_default();
            let [names, values, ..] = &args[..] else { continue };
            // Of pytest, and of PyTorch's own tests.
            if !path.ends_with(".parametrize") {
                continue;
            }
            let names: Vec<SmolStr> = match self.expr(frame, names.value) {
                Value::Const(Const::Str(names)) => names.split(',').map(|name| name.trim().into()).collect(),
                other => {
                    let name = |name: Value| match name {
                        Value::Const(Const::Str(name)) => Some(SmolStr::from(name)),
                        _ => None,
                    };
                    other.items().unwrap_or_default().into_iter().filter_map(name).collect()
                }
            };
            let rows = self.expr(frame, values.value).items().unwrap_or_default();
            let set = |row: Value| match &names[..] {
                [name] => Some(vec![(name.clone(), row)]),
                _ => {
                    let values = row.items().filter(|values| values.len() == names.len())?;
                    Some(names.iter().cloned().zip(values).collect())
                }
            };
            let sets: Vec<ParameterSet> = rows.into_iter().take(MAX_PARAMETER_SETS).filter_map(set).collect();
            if !sets.is_empty() {
                columns.push(sets);
            }
        }
        let count = columns.iter().map(Vec::len).max().unwrap_or(1);
        (0..count).map(|nth| columns.iter().flat_map(|sets| sets[nth % sets.len()].clone()).collect()).collect()
    }

    /// What a method that is entered without a call gets first: an object as `__init__` leaves it, or the context that `forward` fills for
    /// `backward`, each called with anything; and what `forward` has returned then. `None` where the method takes neither.
    pub(super) fn receiver(&mut self, chunk: usize, class: StmtId, method: StmtId) -> Option<(Value, Option<Value>)> {
        let body = chunk_body(self.db, self.file, chunk)?;
        let Stmt::Function(def) = body.stmt(method) else { return None };
        let frame = self.frame(self.file, chunk, body.clone());
        let Stmt::Class { body: members, .. } = body.stmt(class) else { return None };
        let member = |name: &str| {
            members.iter().copied().find(|&member| matches!(body.stmt(member), Stmt::Function(def) if def.name == name))
        };
        let is_context = member("forward").is_some() && member("backward").is_some();
        let (class_of, maker) = match (is_context, def.name.as_str(), written_method(&body, &def.decorators)) {
            (true, "forward", _) => return Some((Value::object(IndexMap::new()), None)),
            (true, "backward", _) => (None, "forward"),
            (_, "__init__", _) | (_, _, Method::Class | Method::Static) => return None,
            _ => match self.class(&frame, class) {
                Value::Class(class) => (Some(class), "__init__"),
                _ => return None,
            },
        };
        let made = budget::keep(Object { class: class_of, fields: RefCell::default() });
        let mut returned = None;
        if let Some(maker) = member(maker) {
            let maker = Closure::of_definition(&frame, maker, Method::Plain);
            self.is_open_call = true;
            returned = Some(self.call_closure(&maker, &Args::default(), &[Value::Object(made.clone())]));
            self.is_open_call = false;
        }
        // An attribute is whatever it was set to last, here or elsewhere.
        if !is_context && self.entrance.is_none() {
            for (name, value) in made.fields.borrow_mut().iter_mut() {
                let unknown = value.clone().usually(&format!("`.{name}` is not known"));
                // `module.half()` makes others of its parameters.
                *value = match unknown {
                    Value::Unknown(doubt) if matches!(doubt.kind, Kind::Tensor(Some(dtype)) if dtype.is_float()) => {
                        Value::Unknown(Doubt { kind: Kind::Tensor(None), ..doubt })
                    }
                    other => other,
                };
            }
        }
        Some((Value::Object(made), returned.filter(|_| is_context)))
    }
}

/// Whether a function holds what looks like a launch.
fn may_launch(body: &Body, stmt: StmtId) -> bool {
    let mut found = false;
    items::walk(body, &[stmt], &mut |node| {
        if let Node::Expr(id) = node {
            found |= body.is_launch(body.expr(id));
        }
    });
    found
}
