//! Calls of functions, kernels, classes and methods.
//!
//! **Invariant:** a call of what is not known gives what is not known, and names it.

use std::{cell::RefCell, collections::HashMap, rc::Rc};

use indexmap::IndexMap;
use smol_str::SmolStr;

use super::{
    budget,
    interpret::{DEPTH, Frame, Host, MAX_LIST_ITEMS, ONE_OR_ANOTHER, reason},
    kinds,
    operations::python_str,
    statements::Flow,
    torch::Args,
    value::{Class, Closure, Code, Doubt, Kind, Method, Object, Scope, Value},
};
use crate::{
    Function,
    body::{Expr, FunctionDef, Param, ParamKind, Stmt, StmtId},
    constant::Const,
    items::{self, items as items_of},
};

impl Host<'_> {
    // ---- calls

    pub(crate) fn call(&mut self, callee: Value, args: Args) -> Value {
        match callee {
            Value::Closure(closure) => self.call_closure(&closure, &args, &[]),
            Value::Path(path) => self.call_path(&path, &args),
            Value::Gridded(kernel, grid) => {
                self.launch(kernel, &grid, &args);
                Value::NONE
            }
            Value::Method(method) => self.call_method(&method.0, &method.1, &args),
            Value::Const(Const::Function(f)) => match items_of(self.db, f.file(self.db)).function(f).map(|i| i.kind) {
                Some(items::FunctionKind::Constexpr) => self.call_constexpr_function(f, &args),
                _ => Value::unknown(format!("`{}` is called without a grid", f.name(self.db))),
            },
            Value::Partial(partial) => {
                let (callee, first) = (&partial.0, &partial.1);
                let mut all = first.clone();
                all.keywords.retain(|(name, _)| args.keyword(name).is_none());
                all.positional.extend(args.positional);
                all.keywords.extend(args.keywords);
                self.call(callee.clone(), all)
            }
            Value::Class(class) => self.instantiate(&class, &args),
            // A module of PyTorch's calls its `forward`.
            Value::Object(ref object) => {
                let class = object.class.clone();
                let member = |name: &str| class.as_ref().and_then(|class| class.members.get(name).cloned());
                match member("__call__").or_else(|| member("forward")) {
                    Some(Value::Closure(method)) => self.call_closure(&method, &args, std::slice::from_ref(&callee)),
                    _ => Value::Unknown(reason(&callee, "what is called").into()),
                }
            }
            // One of several functions or kernels: each may run.
            Value::Either(all) => {
                self.path_conditions.push(ONE_OR_ANOTHER.into());
                let callable = all.iter().filter(|callee| !callee.is_none());
                let results: Vec<Value> = callable.map(|callee| self.call(callee.clone(), args.clone())).collect();
                self.path_conditions.pop();
                results.into_iter().reduce(|a, b| a.or(b, ONE_OR_ANOTHER)).unwrap_or_else(|| Value::unknown(ONE_OR_ANOTHER))
            }
            Value::Unknown(doubt) => Value::unknown(doubt.why),
            other => Value::Unknown(reason(&other, "what is called").into()),
        }
    }

    /// `Class(…)`
    fn instantiate(&mut self, class: &Rc<Class>, args: &Args) -> Value {
        let object = Value::Object(budget::keep(Object { class: Some(class.clone()), fields: RefCell::default() }));
        if let Some(Value::Closure(init)) = class.members.get("__init__") {
            self.call_closure(&init.clone(), args, std::slice::from_ref(&object));
        } else if let (Some(names), Value::Object(made)) = (&class.fields, &object) {
            let is_field = |keyword: &SmolStr| names.iter().any(|(name, _)| name == keyword);
            if args.positional.len() > names.len() || args.keywords.iter().any(|(keyword, _)| !is_field(keyword)) {
                return Value::unknown("the class takes other arguments");
            }
            for (at, (name, _)) in names.iter().enumerate() {
                let given = args.positional.get(at).or_else(|| args.keyword(name)).or_else(|| class.members.get(name));
                let Some(given) = given else { return Value::unknown(format!("`{name}` is not given")) };
                made.fields.borrow_mut().insert(name.clone(), given.clone());
            }
            if let Some(Value::Closure(after)) = class.members.get("__post_init__") {
                self.call_closure(&after.clone(), &Args::default(), std::slice::from_ref(&object));
            }
        } else if !args.positional.is_empty() || !args.keywords.is_empty() {
            return Value::unknown("what the class makes of its arguments is not followed");
        }
        object
    }

    /// Runs the body of a `@triton.constexpr_function`.
    pub(crate) fn call_constexpr_function(&mut self, function: Function, args: &Args) -> Value {
        let Some((body, stmt)) = items::function_body(self.db, function) else { return Value::unknown("the function is gone") };
        let file = function.file(self.db);
        let chunk = items_of(self.db, file).function(function).map_or(0, |i| i.chunk);
        let scope = self.module(file);
        self.call_closure(
            &Closure { file, chunk, body, code: Code::Function(stmt), scope, method: Method::Plain, wraps: None },
            args,
            &[],
        )
    }

    pub(super) fn call_closure(&mut self, closure: &Closure, args: &Args, first: &[Value]) -> Value {
        if self.entered_now >= DEPTH {
            return Value::unknown("calls nest too deeply");
        }
        self.entered_now += 1;
        let result = self.run_closure(closure, args, first);
        self.entered_now -= 1;
        result
    }

    fn run_closure(&mut self, closure: &Closure, args: &Args, first: &[Value]) -> Value {
        let body = closure.body.clone();
        let (params, code): (&[Param], _) = match closure.code {
            Code::Function(id) => match body.stmt(id) {
                Stmt::Function(def) => {
                    self.entered.insert((closure.file, closure.chunk, id));
                    (&def.params, Ok(&def.body))
                }
                _ => return Value::unknown("the function is gone"),
            },
            Code::Opaque(id) => {
                let name = if let Stmt::Function(def) = body.stmt(id) { def.name.as_str() } else { "" };
                return closure.as_annotated(Value::unknown(format!("the decorators of `{name}` are not followed")));
            }
            Code::Lambda(id) => match body.expr(id) {
                Expr::Lambda { params, body } => (params, Err(*body)),
                _ => return Value::unknown("the function is gone"),
            },
        };
        let scope = Scope::new(Some(closure.scope.clone()));
        let frame = Frame::new(closure.file, closure.chunk, body.clone(), scope.clone());
        let mut positional = first.iter().chain(&args.positional).cloned();
        let mut keywords = args.keywords.clone();
        let is_open = std::mem::take(&mut self.is_open_call);
        let used = match code {
            Ok(stmts) if is_open => kinds::tensors_by_use(&body, stmts),
            _ => HashMap::new(),
        };
        for param in params {
            let value = match param.kind {
                // The object, or the context, that comes first.
                _ if is_open => match positional.next().or_else(|| args.keyword(&param.name).cloned()) {
                    Some(given) => given,
                    None if self.entrance.is_some() => self.entry_argument(closure, param, used.get(&param.name).copied()),
                    None => self.open_argument(closure, param, &used),
                },
                ParamKind::Rest => Value::tuple(positional.by_ref().collect()),
                ParamKind::RestKeywords => Value::dict(keywords.drain(..).map(|(k, v)| (Const::Str(k.to_string()), v)).collect()),
                ParamKind::KeywordOnly | ParamKind::Normal | ParamKind::PositionalOnly => {
                    let given = if param.kind == ParamKind::KeywordOnly { None } else { positional.next() };
                    let named = keywords.iter().position(|(k, _)| *k == param.name);
                    match given.or_else(|| named.map(|i| keywords.remove(i).1)) {
                        Some(value) => value,
                        None => match param.default {
                            Some(default) => {
                                let outer = Frame::new(frame.file, frame.chunk, body.clone(), closure.scope.clone());
                                self.expr(&outer, default)
                            }
                            // Python raises: what would come after it never is.
                            None => return Value::unknown(format!("no argument for `{}`", param.name)),
                        },
                    }
                }
            };
            scope.set(&param.name, value);
        }
        match code {
            Err(expr) => self.expr(&frame, expr),
            Ok(stmts) => {
                // What is in doubt in the function is not in doubt after it.
                let path_conditions = self.path_conditions.len();
                let last = match self.block(&frame, stmts) {
                    Flow::Return(value) => value,
                    Flow::Next | Flow::Break | Flow::Continue => Value::NONE,
                    Flow::Abandon(why) => Value::unknown(why),
                };
                self.path_conditions.truncate(path_conditions);
                // All of it at once: what it does between two steps is seen before the first.
                let yielded = frame.yielded.take();
                if !yielded.is_empty() {
                    return match last {
                        Value::Unknown(_) => last,
                        _ => Value::list(yielded),
                    };
                }
                closure.as_annotated(Host::returned(&frame, last))
            }
        }
    }

    fn call_method(&mut self, receiver: &Value, name: &str, args: &Args) -> Value {
        let found = match receiver {
            Value::Tensor(t) => {
                let made = self.tensor_method(t, name, args);
                if made.is_none() && self.entrance.is_some() {
                    self.not_possible(t, name, args);
                }
                self.possible(name, args, made)
            }
            Value::Class(class) if name == "apply" => {
                let context = Value::Object(budget::keep(Object::default()));
                match class.members.get("forward") {
                    Some(Value::Closure(forward)) => {
                        let result = self.call_closure(&forward.clone(), args, std::slice::from_ref(&context));
                        self.applied(class, context.clone(), args, &result);
                        self.differentiate(class, context, &result);
                        Some(result)
                    }
                    _ => None,
                }
            }
            Value::Class(class) => match class.members.get(name) {
                Some(Value::Closure(method)) => {
                    let first = if method.method == Method::Class { vec![receiver.clone()] } else { vec![] };
                    Some(self.call_closure(&method.clone(), args, &first))
                }
                _ => None,
            },
            // Of `torch.nn.Module`: its parameters are others then.
            Value::Object(object) if MOVES.contains(&name) && is_module(object) => {
                self.move_module(object, name, args, 0);
                Some(receiver.clone())
            }
            Value::Object(report) if name == "run" && self.is_made_report(report) => Some(self.run_report(report, args)),
            // Of `unittest`.
            Value::Object(_) if matches!(name, "skipTest" | "fail") => {
                self.raised = Some("the test ends here".into());
                Some(Value::NONE)
            }
            Value::Object(object) => match object.class.as_ref().map(|c| c.members.get(name)) {
                Some(Some(Value::Closure(method))) => {
                    let first = match (method.method, &object.class) {
                        (Method::Plain, _) => vec![receiver.clone()],
                        (Method::Class, Some(class)) => vec![Value::Class(class.clone())],
                        _ => vec![],
                    };
                    Some(self.call_closure(&method.clone(), args, &first))
                }
                Some(_) => None,
                // The context of a `torch.autograd.Function`.
                None => {
                    if name == "save_for_backward" {
                        let saved = Value::tuple(args.positional.clone());
                        object.fields.borrow_mut().insert("saved_tensors".into(), saved);
                    }
                    Some(Value::NONE)
                }
            },
            Value::Config(config) => match (name, &args.positional[..]) {
                ("all_kwargs", []) => Some(config.all_kwargs()),
                _ => None,
            },
            Value::Const(Const::Str(text)) => string_method(text, name, args),
            Value::List(items) => match (name, &args.positional[..]) {
                ("append" | "insert" | "extend", [.., more]) if !has_room(items, name, more) => None,
                ("index" | "count", [_]) if !budget::visit(items.borrow().len()) => None,
                ("append", [item]) => {
                    items.borrow_mut().push(item.clone());
                    Some(Value::NONE)
                }
                ("index", [item]) => items.borrow().iter().position(|i| i.same(item)).map(|i| Value::int(i as i128)),
                ("count", [item]) => Some(Value::int(items.borrow().iter().filter(|i| i.same(item)).count() as i128)),
                ("copy", []) => Some(Value::list(items.borrow().clone())),
                ("insert", [at, item]) => at.as_int().and_then(|at| usize::try_from(at).ok()).map(|at| {
                    let mut items = items.borrow_mut();
                    let at = at.min(items.len());
                    items.insert(at, item.clone());
                    Value::NONE
                }),
                ("pop", []) => items.borrow_mut().pop(),
                ("extend", [more]) => more.items().map(|more| {
                    items.borrow_mut().extend(more);
                    Value::NONE
                }),
                _ => None,
            },
            Value::Tuple(items) if name == "numel" => {
                let dims = Value::as_shape(&[Value::Tuple(items.clone())]);
                dims.map(|d| Value::int(d.iter().product::<u64>()))
            }
            Value::Dict(items) => match (name, &args.positional[..]) {
                ("get", [key, rest @ ..]) => key
                    .to_const()
                    .map(|k| items.borrow().get(&k).cloned().unwrap_or_else(|| rest.first().cloned().unwrap_or(Value::NONE))),
                ("keys", []) => receiver.items().map(Value::list),
                ("values", []) => Some(Value::list(items.borrow().values().cloned().collect())),
                ("items", []) => Some(Value::list(
                    items.borrow().iter().map(|(k, v)| Value::tuple(vec![Value::from_const(k.clone()), v.clone()])).collect(),
                )),
                ("copy", []) => Some(Value::dict(items.borrow().clone())),
                ("update", given)
                    if !budget::take(2 * (given.first().and_then(Value::len).unwrap_or(0) + args.keywords.len())) =>
                {
                    None
                }
                ("update", given) => match given {
                    [] | [Value::Dict(_)] => {
                        let more =
                            given.first().map(|g| if let Value::Dict(d) = g { d.borrow().clone() } else { IndexMap::new() });
                        items.borrow_mut().extend(more.unwrap_or_default());
                        items.borrow_mut().extend(args.keywords.iter().map(|(k, v)| (Const::Str(k.to_string()), v.clone())));
                        Some(Value::NONE)
                    }
                    _ => None,
                },
                ("setdefault", [key, default]) => {
                    budget::take(2);
                    key.to_const().map(|k| items.borrow_mut().entry(k).or_insert_with(|| default.clone()).clone())
                }
                ("pop", [key, rest @ ..]) => {
                    key.to_const().and_then(|k| items.borrow_mut().shift_remove(&k).or_else(|| rest.first().cloned()))
                }
                _ => None,
            },
            Value::Const(Const::Int(i)) if name == "bit_length" => Some(Value::int(128 - i.unsigned_abs().leading_zeros())),
            Value::Const(Const::Function(kernel)) if name == "run" || name == "warmup" => match args.keyword("grid") {
                Some(grid) if name == "run" => {
                    let grid = grid.clone();
                    let mut rest = args.clone();
                    rest.keywords.retain(|(k, _)| k != "grid" && k != "warmup");
                    self.launch(*kernel, &grid, &rest);
                    Some(Value::NONE)
                }
                _ => Some(Value::NONE),
            },
            _ => None,
        };
        found.unwrap_or_else(|| {
            let kind = kinds::method(receiver.kind(), name, args).unwrap_or_default();
            match receiver {
                Value::Unknown(doubt) => Value::some(kind, doubt.why.clone()),
                _ => Value::some(kind, format!("`.{name}(…)` is not followed here")),
            }
        })
    }

    /// Makes others of a module's parameters; floats alone change their type.
    fn move_module(&mut self, object: &Object, name: &str, args: &Args, depth: usize) {
        let fields: Vec<(SmolStr, Value)> =
            object.fields.borrow().iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        for (field, value) in fields {
            let moved = match &value {
                Value::Tensor(tensor) if tensor.dtype.is_float() => self.tensor_method(tensor, name, args),
                Value::Unknown(doubt) => match doubt.kind {
                    Kind::Tensor(Some(dtype)) if !dtype.is_float() => None,
                    Kind::Tensor(_) => Some(Value::Unknown(Doubt { kind: Kind::Tensor(None), ..doubt.clone() })),
                    _ => None,
                },
                Value::Object(inner) if depth < MAX_MODULE_DEPTH && is_module(inner) => {
                    self.move_module(inner, name, args, depth + 1);
                    None
                }
                _ => None,
            };
            if let Some(moved) = moved {
                object.fields.borrow_mut().insert(field, moved);
            }
        }
    }

    /// Runs what a gradient needs, under gradients of which no more is known than their types: it runs if somebody asks for it.
    fn differentiate(&mut self, class: &Class, context: Value, made: &Value) {
        let Some(Value::Closure(backward)) = class.members.get("backward").filter(|_| self.called.is_some()) else { return };
        let gradient = |made: &Value| match made.kind() {
            kind @ Kind::Tensor(_) => Value::some(kind, "a gradient is not known"),
            _ => Value::NONE,
        };
        let gradients = match made {
            Value::Tuple(all) => all.iter().map(gradient).collect(),
            made => vec![gradient(made)],
        };
        let raised = self.raised.take();
        self.path_conditions.push("whether a gradient is wanted is not known".into());
        self.call_closure(&backward.clone(), &Args { positional: gradients, keywords: vec![] }, &[context]);
        self.path_conditions.pop();
        self.raised = raised;
    }

    /// What somebody gives for a parameter of a function that is entered without a call: anything that it takes.
    fn open_argument(&mut self, closure: &Closure, param: &Param, used: &HashMap<SmolStr, Kind>) -> Value {
        let why = SmolStr::from(format!("`{}` is not known", param.name));
        let outer = Frame::new(closure.file, closure.chunk, closure.body.clone(), closure.scope.clone());
        let default = param.default.map(|default| self.expr(&outer, default));
        let usual = default.and_then(|default| default.to_const());
        let (kind, may_be_none) = match param.annotation {
            Some(annotation) => kinds::annotated(&closure.body, annotation),
            None => (Kind::Any, true),
        };
        // A whole number may stand for a float.
        let as_default = || match usual {
            Some(Const::Float(_)) => Kind::Float,
            Some(Const::Bool(_)) => Kind::Bool,
            Some(Const::Str(_)) => Kind::Str,
            _ => Kind::Any,
        };
        let kind = if kind == Kind::Any { used.get(&param.name).copied().unwrap_or_else(as_default) } else { kind };
        // `x: torch.Tensor = None`; and who writes no annotation may mean `None` too.
        let may_be_none = kind == Kind::Any || may_be_none || usual == Some(Const::None);
        if kind == Kind::Any
            && let Some(annotation) = param.annotation
            && let Value::Class(class) = self.expr(&outer, annotation)
            && let Some(fields) = &class.fields
        {
            let field = |(name, kind): &(SmolStr, Kind)| {
                (name.clone(), Value::some(*kind, format!("`{}.{name}` is not known", param.name)))
            };
            let fields = RefCell::new(fields.iter().map(field).collect());
            return Value::Object(budget::keep(Object { class: Some(class.clone()), fields }));
        }
        let usual = usual.filter(|usual| *usual != Const::None).map(Rc::new);
        let value = Value::Unknown(Doubt { why, kind, may_be_none, usual });
        match param.annotation {
            Some(annotation) => kinds::refined(value, &closure.body, annotation),
            None => value,
        }
    }
}

impl Closure {
    /// What it returns, as far as its annotation says more of it than is known.
    fn as_annotated(&self, value: Value) -> Value {
        // A wrapper has the annotations of what it wraps.
        let mut closure = self;
        while let Some(wrapped) = &closure.wraps {
            closure = wrapped;
        }
        match closure.code {
            Code::Function(stmt) | Code::Opaque(stmt) => match closure.body.stmt(stmt) {
                Stmt::Function(FunctionDef { returns: Some(returns), .. }) => kinds::refined(value, &closure.body, *returns),
                _ => value,
            },
            Code::Lambda(_) => value,
        }
    }

    /// A `def` of a frame, without what its decorators make of it.
    pub(super) fn of_definition(frame: &Frame, stmt: StmtId, method: Method) -> Closure {
        Closure {
            file: frame.file,
            chunk: frame.chunk,
            body: frame.body.clone(),
            code: Code::Function(stmt),
            scope: frame.scope.clone(),
            method,
            wraps: None,
        }
    }
}

/// Methods that give a module of a network back, with other parameters or none.
pub(super) const MOVES: &[&str] =
    &["to", "cuda", "cpu", "half", "bfloat16", "float", "double", "train", "eval", "requires_grad_"];
/// Modules within modules that are moved.
const MAX_MODULE_DEPTH: usize = 16;

fn is_module(object: &Object) -> bool {
    object.class.as_ref().is_some_and(|class| class.members.get("forward").is_some() && class.members.get("backward").is_none())
}

fn string_method(text: &str, name: &str, args: &Args) -> Option<Value> {
    match (name, &args.positional[..]) {
        ("format", _) => return Some(Value::text(formatted(text, args)?)),
        ("join", [items]) => {
            let items: Option<Vec<String>> = items.items()?.iter().map(|item| python_str(&item.to_const()?)).collect();
            let items = items?;
            let bytes: usize = items.iter().map(|item| item.len() + text.len()).sum();
            return (bytes <= MAX_TEXT_BYTES).then(|| Value::text(items.join(text)));
        }
        _ => {}
    }
    let strings: Option<Vec<String>> = args.positional.iter().map(|v| python_str(&v.to_const()?)).collect();
    let strings = strings?;
    let strings: Vec<&str> = strings.iter().map(String::as_str).collect();
    let str = |text: String| Some(Value::text(text));
    let list = |parts: Vec<&str>| Some(Value::list(parts.into_iter().map(|p| Value::Const(Const::Str(p.to_owned()))).collect()));
    match (name, &strings[..]) {
        ("lower", []) => str(text.to_lowercase()),
        ("upper", []) => str(text.to_uppercase()),
        ("strip", []) => str(text.trim().to_owned()),
        ("replace", [from, to]) if !from.is_empty() => {
            let bytes = text.len() + text.matches(from).count() * to.len();
            if bytes <= MAX_TEXT_BYTES { str(text.replace(from, to)) } else { None }
        }
        ("startswith", [prefix]) => Some(Value::bool(text.starts_with(prefix))),
        ("endswith", [suffix]) => Some(Value::bool(text.ends_with(suffix))),
        ("isdigit", []) => Some(Value::bool(!text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()))),
        ("split", []) => list(text.split_whitespace().collect()),
        ("split", [by]) if !by.is_empty() => list(text.split(by).collect()),
        _ => None,
    }
}

/// `template.format(…)`, whose fields are names and numbers without a format of their own.
fn formatted(template: &str, args: &Args) -> Option<String> {
    let (mut out, mut next, mut chars) = (String::new(), 0, template.chars().peekable());
    while let Some(c) = chars.next() {
        match c {
            '{' | '}' if chars.next_if_eq(&c).is_some() => out.push(c),
            '{' => {
                let field: String = chars.by_ref().take_while(|&c| c != '}').collect();
                let value = match field.as_str() {
                    "" => {
                        next += 1;
                        args.positional.get(next - 1)?
                    }
                    number if number.bytes().all(|b| b.is_ascii_digit()) => args.positional.get(number.parse::<usize>().ok()?)?,
                    name => args.keyword(name)?,
                };
                out += &python_str(&value.to_const()?)?;
            }
            '}' => return None,
            c => out.push(c),
        }
        if out.len() > MAX_TEXT_BYTES {
            return None;
        }
    }
    Some(out)
}

/// A text that host code makes and that is followed.
pub(super) const MAX_TEXT_BYTES: usize = 1 << 16;

/// Whether a list may grow; where it may not nothing is known any more, as it would be too short.
fn has_room(items: &RefCell<Vec<Value>>, method: &str, more: &Value) -> bool {
    let more = if method == "extend" { more.len().unwrap_or(0) } else { 1 };
    let has = items.borrow().len() + more <= MAX_LIST_ITEMS && budget::take(more);
    if !has {
        budget::exhaust();
    }
    has
}
