//! Evaluates host code: statements and expressions of ordinary Python.
//!
//! **Invariant:** total and fuelled. What is not followed is unknown, and so is everything that may depend on it: the names that a branch
//! of unknown condition binds, the result of a call of an unknown function.

use std::{collections::HashMap, rc::Rc, sync::Arc};

use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;
use smol_str::SmolStr;

use super::{
    HostLaunch, HostPlace, HostProblem, HostUnknown,
    torch::{self, Args},
    value::{Class, Closure, Code, Scope, Value},
};
use crate::{
    Db, Function, SourceFile,
    body::{ArgKind, BinaryOp, Body, BoolOp, Clause, CompareOp, ComprehensionKind, Expr, ExprId, Param, ParamKind, Stmt, StmtId},
    constant::{self, Const},
    items::{self, Global, Item, Node, chunk_body, items as items_of},
};

/// Statements and expressions evaluated before the rest is unknown.
const FUEL: u32 = 400_000;
/// Calls within calls.
const DEPTH: usize = 48;
/// Items of a list that host code may build.
pub(super) const LONGEST: usize = 1 << 16;

pub(crate) struct Host<'db> {
    pub(crate) db: &'db dyn Db,
    pub(crate) file: SourceFile,
    fuel: u32,
    modules: HashMap<SourceFile, Rc<Scope>, FxBuildHasher>,
    /// The calls being evaluated, outermost first.
    calls: Vec<HostPlace>,
    /// Names being looked up lazily, so that one defined by itself ends.
    looking_up: Vec<(SourceFile, SmolStr)>,
    pub(crate) launches: Vec<HostLaunch>,
    pub(crate) problems: Vec<HostProblem>,
    pub(crate) unknown: Vec<HostUnknown>,
}

/// Where evaluation stands.
pub(crate) struct Frame {
    file: SourceFile,
    chunk: usize,
    body: Arc<Body>,
    scope: Rc<Scope>,
}

/// How a block ends.
enum Flow {
    Next,
    Break,
    Continue,
    Return(Value),
    /// An exception, or a way out that is not followed: the function's result is unknown.
    Abandon(SmolStr),
}

impl<'db> Host<'db> {
    pub(crate) fn new(db: &'db dyn Db, file: SourceFile) -> Host<'db> {
        Host {
            db,
            file,
            fuel: FUEL,
            modules: HashMap::default(),
            calls: vec![],
            looking_up: vec![],
            launches: vec![],
            problems: vec![],
            unknown: vec![],
        }
    }

    /// Runs the file's own statements, in order.
    pub(crate) fn run(&mut self) {
        let scope = self.module(self.file);
        let functions = &items_of(self.db, self.file).functions;
        for chunk in 0..items::chunk_count(self.db, self.file) {
            // A chunk that is a kernel is not read here, so that typing in a kernel does not run the host code again.
            if functions.iter().any(|f| f.chunk == chunk && f.is_alone) {
                continue;
            }
            let Some(body) = chunk_body(self.db, self.file, chunk) else { continue };
            let frame = Frame { file: self.file, chunk, body: body.clone(), scope: scope.clone() };
            if let Flow::Abandon(_) = self.block(&frame, &body.root) {
                break;
            }
        }
    }

    fn module(&mut self, file: SourceFile) -> Rc<Scope> {
        self.modules.entry(file).or_insert_with(|| Scope::new(None)).clone()
    }

    /// A frame at module level, to evaluate an expression of a chunk.
    pub(crate) fn frame(&mut self, file: SourceFile, chunk: usize, body: Arc<Body>) -> Frame {
        Frame { file, chunk, body, scope: self.module(file) }
    }

    // ---- statements

    fn block(&mut self, frame: &Frame, stmts: &[StmtId]) -> Flow {
        for &id in stmts {
            self.db.unwind_if_revision_cancelled();
            if !self.burn() {
                return Flow::Abandon("host code ran for too long".into());
            }
            match self.stmt(frame, id) {
                Flow::Next => {}
                other => return other,
            }
        }
        Flow::Next
    }

    fn burn(&mut self) -> bool {
        self.fuel = self.fuel.saturating_sub(1);
        self.fuel > 0
    }

    fn stmt(&mut self, frame: &Frame, id: StmtId) -> Flow {
        let body = &frame.body;
        match body.stmt(id) {
            Stmt::Missing | Stmt::Pass | Stmt::Assert { .. } => {}
            Stmt::Expr(e) => {
                self.expr(frame, *e);
            }
            Stmt::Assign { targets, value } => {
                let value = self.expr(frame, *value);
                for &target in targets {
                    self.assign(frame, target, value.clone());
                }
            }
            Stmt::AnnAssign { target, value, .. } => {
                if let Some(value) = value {
                    let value = self.expr(frame, *value);
                    self.assign(frame, *target, value);
                }
            }
            Stmt::AugAssign { target, op, value } => {
                let (old, by) = (self.expr(frame, *target), self.expr(frame, *value));
                let new = self.binary(*op, old, by);
                self.assign(frame, *target, new);
            }
            Stmt::Return(value) => {
                let value = value.map_or(Value::NONE, |v| self.expr(frame, v));
                return Flow::Return(value);
            }
            Stmt::If { condition, then, otherwise } => {
                let value = self.expr(frame, *condition);
                match value.truth() {
                    Some(true) => return self.block(frame, then),
                    Some(false) => return self.block(frame, otherwise),
                    None => return self.either(frame, &[then, otherwise], &reason(&value, "the condition")),
                }
            }
            Stmt::For { target, iterable, body: inner, otherwise, .. } => {
                let iterable = self.expr(frame, *iterable);
                let Some(values) = iterable.items() else {
                    return self.either(frame, &[inner, otherwise], &reason(&iterable, "what the loop runs over"));
                };
                for value in values {
                    self.assign(frame, *target, value);
                    match self.block(frame, inner) {
                        Flow::Next | Flow::Continue => {}
                        Flow::Break => return Flow::Next,
                        other => return other,
                    }
                }
                return self.block(frame, otherwise);
            }
            Stmt::While { condition, body: inner, otherwise } => loop {
                let value = self.expr(frame, *condition);
                match value.truth() {
                    Some(true) if self.burn() => {}
                    Some(true) => return Flow::Abandon("host code ran for too long".into()),
                    Some(false) => return self.block(frame, otherwise),
                    None => return self.either(frame, &[inner, otherwise], &reason(&value, "the condition")),
                }
                match self.block(frame, inner) {
                    Flow::Next | Flow::Continue => {}
                    Flow::Break => break,
                    other => return other,
                }
            },
            Stmt::With { items, body: inner } => {
                for (context, target) in items {
                    self.expr(frame, *context);
                    if let Some(target) = target {
                        self.assign(frame, *target, Value::unknown("what `with` binds is not followed"));
                    }
                }
                return self.block(frame, inner);
            }
            Stmt::Function(def) => {
                let value = self.define(frame, id, &def.name, &def.decorators);
                frame.scope.set(&def.name, value);
            }
            Stmt::Class { name, body: inner, .. } => {
                let scope = Scope::new(Some(frame.scope.clone()));
                let within = Frame { file: frame.file, chunk: frame.chunk, body: frame.body.clone(), scope: scope.clone() };
                self.block(&within, inner);
                let members = scope.names.take();
                frame.scope.set(name, Value::Class(Rc::new(Class { members })));
            }
            // Names from imports are looked up when they are used.
            Stmt::Import { .. } | Stmt::ImportFrom { .. } => {}
            Stmt::Other { keyword, body: inner, exprs } => match *keyword {
                "break" => return Flow::Break,
                "continue" => return Flow::Continue,
                "raise" => return Flow::Abandon("an exception is raised".into()),
                "try" | "match" => return self.either(frame, &[inner], &format!("`{keyword}` is not followed")),
                _ => exprs.iter().for_each(|&e| {
                    self.expr(frame, e);
                }),
            },
        }
        Flow::Next
    }

    /// Blocks that may run or not: what they bind is unknown, and so is what they launch.
    fn either(&mut self, frame: &Frame, blocks: &[&[StmtId]], why: &str) -> Flow {
        let body = frame.body.clone();
        let mut leaves = false;
        for block in blocks {
            // A block that only raises is a check of the arguments: it is taken to pass.
            let checks_only =
                matches!(block, [only] if matches!(body.stmt(*only), Stmt::Other { keyword: "raise", .. } | Stmt::Pass));
            items::walk(&body, block, &mut |node| match node {
                Node::Stmt(id) => match body.stmt(id) {
                    Stmt::Assign { targets, .. } => targets.iter().for_each(|&t| self.forget(frame, t, why)),
                    Stmt::AugAssign { target, .. } | Stmt::AnnAssign { target, .. } | Stmt::For { target, .. } => {
                        self.forget(frame, *target, why);
                    }
                    Stmt::Function(def) => frame.scope.set(&def.name, Value::unknown(why)),
                    Stmt::Return(_) => leaves = true,
                    Stmt::Other { keyword: "raise", .. } => leaves |= !checks_only,
                    _ => {}
                },
                Node::Expr(id) => {
                    if let Expr::Call { callee, .. } = body.expr(id)
                        && let Expr::Subscript { receiver, .. } = body.expr(*callee)
                        && let Expr::Name(name) = body.expr(*receiver)
                        && let Some(Value::Const(Const::Function(kernel))) = self.name(frame, name)
                    {
                        self.not_launched(frame, id, kernel, why);
                    }
                }
            });
        }
        if leaves { Flow::Abandon(why.into()) } else { Flow::Next }
    }

    fn forget(&mut self, frame: &Frame, target: ExprId, why: &str) {
        match frame.body.expr(target) {
            Expr::Name(name) => frame.scope.set(name, Value::unknown(why)),
            Expr::Tuple(items) | Expr::List(items) => items.iter().for_each(|&i| self.forget(frame, i, why)),
            Expr::Starred(inner) => self.forget(frame, *inner, why),
            _ => {}
        }
    }

    fn assign(&mut self, frame: &Frame, target: ExprId, value: Value) {
        let body = frame.body.clone();
        match body.expr(target) {
            Expr::Name(name) => frame.scope.set(name, value),
            Expr::Tuple(targets) | Expr::List(targets) => match value.items() {
                Some(values) if values.len() == targets.len() => {
                    for (&t, v) in targets.iter().zip(values) {
                        self.assign(frame, t, v);
                    }
                }
                _ => {
                    let why = reason(&value, "what is unpacked");
                    targets.iter().for_each(|&t| self.forget(frame, t, &why));
                }
            },
            Expr::Starred(inner) => self.forget(frame, *inner, "a starred target is not followed"),
            Expr::Subscript { receiver, index } => {
                let (receiver, index) = (self.expr(frame, *receiver), self.expr(frame, *index));
                match (&receiver, index.to_const()) {
                    (Value::Dict(items), Some(key)) => {
                        items.borrow_mut().insert(key, value);
                    }
                    (Value::List(items), Some(key)) => {
                        let at = key.as_int().and_then(|i| usize::try_from(i).ok());
                        if let Some(slot) =
                            at.and_then(|i| items.borrow_mut().get_mut(i).map(|slot| std::mem::replace(slot, value)))
                        {
                            drop(slot);
                        }
                    }
                    (Value::Tensor(t), _) => *t.storage.init.borrow_mut() = None,
                    _ => {}
                }
            }
            Expr::Attribute { receiver, name } => {
                if let Value::Object(fields) = self.expr(frame, *receiver) {
                    fields.borrow_mut().insert(name.clone(), value);
                }
            }
            _ => {}
        }
    }

    /// The value of a `def`: a kernel, a function, or unknown under decorators that are not followed.
    fn define(&mut self, frame: &Frame, id: StmtId, name: &SmolStr, decorators: &[ExprId]) -> Value {
        let items = items_of(self.db, frame.file);
        for &decorator in decorators {
            let callee = match frame.body.expr(decorator) {
                Expr::Call { callee, .. } => *callee,
                _ => decorator,
            };
            let path = items.path(&frame.body, callee).unwrap_or_default();
            let keeps = matches!(frame.body.expr(callee), Expr::Name(n) if n == "staticmethod" || n == "property")
                || path.starts_with("torch.")
                || path.starts_with("functools.");
            if !keeps {
                if let Some(Item::Function(f) | Item::ConstexprFunction(f)) = items.names.get(name) {
                    return Value::Const(Const::Function(*f));
                }
                return Value::unknown(format!("the decorators of `{name}` are not followed"));
            }
        }
        Value::Closure(Rc::new(Closure {
            file: frame.file,
            chunk: frame.chunk,
            body: frame.body.clone(),
            code: Code::Function(id),
            scope: frame.scope.clone(),
        }))
    }

    // ---- names

    fn name(&mut self, frame: &Frame, name: &SmolStr) -> Option<Value> {
        frame.scope.get(name).or_else(|| self.global(frame.file, name))
    }

    /// A module-level name that no statement run so far has bound.
    fn global(&mut self, file: SourceFile, name: &SmolStr) -> Option<Value> {
        let module = self.module(file);
        if let Some(found) = module.names.borrow().get(name) {
            return Some(found.clone());
        }
        let key = (file, name.clone());
        if self.looking_up.contains(&key) {
            return Some(Value::unknown(format!("`{name}` is defined by itself")));
        }
        let items = items_of(self.db, file);
        let value = match items.names.get(name)? {
            Item::PythonFunction { chunk, stmt } => {
                let body = chunk_body(self.db, file, *chunk)?;
                let Stmt::Function(def) = body.stmt(*stmt) else { return None };
                let frame = Frame { file, chunk: *chunk, body: body.clone(), scope: module.clone() };
                self.define(&frame, *stmt, &def.name, &def.decorators)
            }
            Item::Value { chunk, value } => {
                let body = chunk_body(self.db, file, *chunk)?;
                let frame = Frame { file, chunk: *chunk, body, scope: module.clone() };
                self.looking_up.push(key);
                let found = self.expr(&frame, *value);
                self.looking_up.pop();
                found
            }
            _ => match items::resolve(self.db, file, name.clone())? {
                Global::Module(path) | Global::Builtin(path) | Global::External(path) => Value::Path(path),
                Global::File(other) => Value::File(other),
                Global::Function(f) | Global::ConstexprFunction(f) => Value::Const(Const::Function(f)),
                Global::Constexpr(known) | Global::Value(Some(known)) => Value::from_const(known),
                Global::PythonFunction => match items.names.get(name) {
                    Some(Item::Member { member, .. }) => return self.member_of_import(file, name, member),
                    _ => Value::unknown(format!("`{name}` is not followed")),
                },
                Global::Value(None) | Global::Record(_) | Global::Class | Global::Opaque => {
                    Value::unknown(format!("`{name}` is not followed"))
                }
            },
        };
        module.names.borrow_mut().insert(name.clone(), value.clone());
        Some(value)
    }

    /// A plain function imported from a file of the workspace.
    fn member_of_import(&mut self, file: SourceFile, name: &SmolStr, member: &SmolStr) -> Option<Value> {
        match items::imported_file(self.db, file, name) {
            Some(other) if other != file => self.global(other, member),
            _ => Some(Value::unknown(format!("`{name}` is not followed"))),
        }
    }

    // ---- expressions

    pub(crate) fn expr(&mut self, frame: &Frame, id: ExprId) -> Value {
        if !self.burn() {
            return Value::unknown("host code ran for too long");
        }
        // Calls within calls, and expressions as deep as the parser allows, need more than a thread's stack.
        stacker::maybe_grow(256 << 10, 4 << 20, || self.expression(frame, id))
    }

    fn expression(&mut self, frame: &Frame, id: ExprId) -> Value {
        let body = frame.body.clone();
        match body.expr(id) {
            Expr::Missing => Value::unknown("a syntax error"),
            Expr::Name(name) => match self.name(frame, name) {
                Some(value) => value,
                None if name == "__name__" => Value::Const(Const::Str("__main__".into())),
                None if BUILTINS.contains(&name.as_str()) => Value::Path(format!("builtins.{name}").into()),
                None => items::conventional(name)
                    .map_or_else(|| Value::unknown(format!("`{name}` is not known")), |path| Value::Path(path.into())),
            },
            Expr::Int(i) => Value::int(*i),
            Expr::Float(f) => Value::Const(Const::float(*f)),
            Expr::Str(s) => Value::Const(Const::Str(s.clone())),
            Expr::Bool(b) => Value::bool(*b),
            Expr::None => Value::NONE,
            Expr::HugeInt | Expr::Imaginary(_) | Expr::Bytes(_) | Expr::Ellipsis | Expr::Set(_) | Expr::Slice { .. } => {
                Value::unknown("a value of this kind is not followed")
            }
            Expr::FString(_) => Value::unknown("an f-string is not followed"),
            Expr::Await(_) | Expr::Yield(_) => Value::unknown("`await` and `yield` are not followed"),
            Expr::Tuple(items) => self.sequence(frame, items).map_or_else(|| Value::unknown("an unpacked value"), Value::tuple),
            Expr::List(items) => self.sequence(frame, items).map_or_else(|| Value::unknown("an unpacked value"), Value::list),
            Expr::Dict(entries) => {
                let mut out = IndexMap::new();
                for (key, value) in entries {
                    let value = self.expr(frame, *value);
                    match key {
                        Some(key) => match self.expr(frame, *key).to_const() {
                            Some(key) => {
                                out.insert(key, value);
                            }
                            None => return Value::unknown("a key of a dictionary is not known"),
                        },
                        None => match value {
                            Value::Dict(more) => out.extend(more.borrow().iter().map(|(k, v)| (k.clone(), v.clone()))),
                            other => return Value::Unknown(reason(&other, "what `**` unpacks").into()),
                        },
                    }
                }
                Value::Dict(Rc::new(out.into()))
            }
            Expr::Comprehension { kind, key, element, clauses } => {
                let scope = Scope::new(Some(frame.scope.clone()));
                let within = Frame { file: frame.file, chunk: frame.chunk, body: frame.body.clone(), scope };
                let mut out = Vec::new();
                match self.comprehend(&within, clauses, *key, *element, &mut out) {
                    Err(why) => Value::Unknown(why),
                    Ok(()) => match kind {
                        ComprehensionKind::List | ComprehensionKind::Generator => {
                            Value::list(out.into_iter().map(|e| e.1).collect())
                        }
                        ComprehensionKind::Dict => {
                            let entries: Option<IndexMap<Const, Value>> =
                                out.into_iter().map(|(k, v)| Some((k?.to_const()?, v))).collect();
                            entries.map_or_else(|| Value::unknown("a key is not known"), |e| Value::Dict(Rc::new(e.into())))
                        }
                        ComprehensionKind::Set => Value::unknown("sets are not followed"),
                    },
                }
            }
            Expr::Unary { op, operand } => {
                let operand = self.expr(frame, *operand);
                match (op, &operand) {
                    (crate::body::UnaryOp::Not, value) => {
                        value.truth().map_or_else(|| Value::Unknown(reason(value, "an operand").into()), |t| Value::bool(!t))
                    }
                    (_, Value::Const(c)) => {
                        constant::unary(*op, c).map_or_else(|| Value::unknown("the operand has no number"), Value::Const)
                    }
                    (crate::body::UnaryOp::Neg, Value::Tensor(_)) => self.binary(BinaryOp::Mul, operand, Value::int(-1)),
                    _ => Value::Unknown(reason(&operand, "an operand").into()),
                }
            }
            Expr::Binary { op, lhs, rhs } => {
                let (lhs, rhs) = (self.expr(frame, *lhs), self.expr(frame, *rhs));
                self.binary(*op, lhs, rhs)
            }
            Expr::Bool2 { op, lhs, rhs } => {
                let lhs = self.expr(frame, *lhs);
                match (lhs.truth(), op) {
                    (Some(true), BoolOp::And) | (Some(false), BoolOp::Or) => self.expr(frame, *rhs),
                    (Some(_), _) => lhs,
                    (None, _) => Value::Unknown(reason(&lhs, "an operand").into()),
                }
            }
            Expr::Compare { first, rest } => {
                let mut lhs = self.expr(frame, *first);
                for (op, rhs) in rest {
                    let rhs = self.expr(frame, *rhs);
                    match compare(*op, &lhs, &rhs) {
                        Some(true) => lhs = rhs,
                        Some(false) => return Value::bool(false),
                        None => {
                            return Value::Unknown(
                                reason(if lhs.to_const().is_none() { &lhs } else { &rhs }, "an operand").into(),
                            );
                        }
                    }
                }
                Value::bool(true)
            }
            Expr::If { condition, then, otherwise } => {
                let value = self.expr(frame, *condition);
                match value.truth() {
                    Some(true) => self.expr(frame, *then),
                    Some(false) => self.expr(frame, *otherwise),
                    None => Value::Unknown(reason(&value, "the condition").into()),
                }
            }
            Expr::Lambda { .. } => Value::Closure(Rc::new(Closure {
                file: frame.file,
                chunk: frame.chunk,
                body: frame.body.clone(),
                code: Code::Lambda(id),
                scope: frame.scope.clone(),
            })),
            Expr::Named { name, value } => {
                let value = self.expr(frame, *value);
                frame.scope.set(name, value.clone());
                value
            }
            Expr::Starred(_) => Value::unknown("an unpacked value"),
            Expr::Attribute { receiver, name } => {
                let receiver = self.expr(frame, *receiver);
                self.attribute(receiver, name)
            }
            Expr::Subscript { receiver, index } => {
                let receiver = self.expr(frame, *receiver);
                self.subscript(frame, receiver, *index)
            }
            Expr::Call { callee, args } => {
                let callee = self.expr(frame, *callee);
                let mut given = Args::default();
                for arg in args {
                    let value = self.expr(
                        frame,
                        match body.expr(arg.value) {
                            Expr::Starred(inner) if arg.kind == ArgKind::Positional => *inner,
                            _ => arg.value,
                        },
                    );
                    match &arg.kind {
                        ArgKind::Positional if !matches!(body.expr(arg.value), Expr::Starred(_)) => given.positional.push(value),
                        ArgKind::Keyword(name) => given.keywords.push((name.clone(), value)),
                        ArgKind::Positional | ArgKind::Spread => match value.items() {
                            Some(items) => given.positional.extend(items),
                            None => return self.spread_of_unknown(frame, id, &callee, &value),
                        },
                        ArgKind::SpreadKeywords => match &value {
                            Value::Dict(items) => {
                                for (key, value) in items.borrow().iter() {
                                    if let Const::Str(key) = key {
                                        given.keywords.push((key.into(), value.clone()));
                                    }
                                }
                            }
                            _ => return self.spread_of_unknown(frame, id, &callee, &value),
                        },
                    }
                }
                self.calls.push(HostPlace { file: frame.file, chunk: frame.chunk, expr: id });
                let result =
                    if self.calls.len() > DEPTH { Value::unknown("calls nest too deeply") } else { self.call(callee, given) };
                self.calls.pop();
                result
            }
        }
    }

    fn spread_of_unknown(&mut self, frame: &Frame, call: ExprId, callee: &Value, value: &Value) -> Value {
        let why = reason(value, "what `*` unpacks");
        if let Value::Gridded(kernel, _) = callee {
            self.not_launched(frame, call, *kernel, &why);
        }
        Value::Unknown(why.into())
    }

    fn not_launched(&mut self, frame: &Frame, call: ExprId, kernel: Function, why: &str) {
        let place = self.calls.iter().find(|p| p.file == self.file).copied().unwrap_or(HostPlace {
            file: frame.file,
            chunk: frame.chunk,
            expr: call,
        });
        let unknown = HostUnknown { place, kernel, reason: why.to_owned() };
        if place.file == self.file && !self.unknown.contains(&unknown) {
            self.unknown.push(unknown);
        }
    }

    /// Where the innermost call in this file stands.
    pub(crate) fn place(&self) -> Option<HostPlace> {
        self.calls.iter().rev().find(|p| p.file == self.file).copied()
    }

    fn sequence(&mut self, frame: &Frame, items: &[ExprId]) -> Option<Vec<Value>> {
        let mut out = Vec::with_capacity(items.len());
        for &item in items {
            match frame.body.expr(item) {
                Expr::Starred(inner) => out.extend(self.expr(frame, *inner).items()?),
                _ => out.push(self.expr(frame, item)),
            }
        }
        Some(out)
    }

    fn comprehend(
        &mut self,
        frame: &Frame,
        clauses: &[Clause],
        key: Option<ExprId>,
        element: ExprId,
        out: &mut Vec<(Option<Value>, Value)>,
    ) -> Result<(), SmolStr> {
        match clauses.split_first() {
            None => {
                if out.len() >= LONGEST {
                    return Err("a list grows too long".into());
                }
                let key = key.map(|k| self.expr(frame, k));
                out.push((key, self.expr(frame, element)));
                Ok(())
            }
            Some((Clause::For { target, iterable }, rest)) => {
                let iterable = self.expr(frame, *iterable);
                let values = iterable.items().ok_or_else(|| reason(&iterable, "what the loop runs over"))?;
                for value in values {
                    self.assign(frame, *target, value);
                    self.comprehend(frame, rest, key, element, out)?;
                }
                Ok(())
            }
            Some((Clause::If(condition), rest)) => {
                let value = self.expr(frame, *condition);
                match value.truth() {
                    Some(true) => self.comprehend(frame, rest, key, element, out),
                    Some(false) => Ok(()),
                    None => Err(reason(&value, "a condition").into()),
                }
            }
        }
    }

    fn binary(&mut self, op: BinaryOp, lhs: Value, rhs: Value) -> Value {
        if let (Value::List(a), Value::List(b)) = (&lhs, &rhs)
            && op == BinaryOp::Add
        {
            let joined: Vec<Value> = a.borrow().iter().chain(b.borrow().iter()).cloned().collect();
            return if joined.len() > LONGEST { Value::unknown("a list grows too long") } else { Value::list(joined) };
        }
        let known = match (&lhs, &rhs) {
            (Value::Tuple(a), Value::Tuple(b)) if op == BinaryOp::Add => {
                let joined: Vec<Value> = a.iter().chain(b.iter()).cloned().collect();
                (joined.len() <= LONGEST).then(|| Value::tuple(joined))
            }
            (Value::Tensor(_), _) | (_, Value::Tensor(_)) => torch::arithmetic(op, &lhs, &rhs),
            (Value::List(items), times) | (times, Value::List(items)) if op == BinaryOp::Mul => {
                let times = times
                    .as_int()
                    .and_then(|t| usize::try_from(t).ok())
                    .filter(|t| t.saturating_mul(items.borrow().len()) <= LONGEST);
                times.map(|t| Value::list(std::iter::repeat_n(items.borrow().clone(), t).flatten().collect()))
            }
            _ => lhs.to_const().zip(rhs.to_const()).and_then(|(a, b)| constant::binary(op, &a, &b)).map(Value::from_const),
        };
        known.unwrap_or_else(|| {
            Value::Unknown(reason(if matches!(lhs, Value::Unknown(_)) { &lhs } else { &rhs }, "an operand").into())
        })
    }

    pub(crate) fn attribute(&mut self, receiver: Value, name: &SmolStr) -> Value {
        match &receiver {
            Value::Unknown(_) => receiver,
            Value::Path(path) => {
                let path = if path.is_empty() { name.to_string() } else { format!("{path}.{name}") };
                match &path[..] {
                    "math.pi" => Value::Const(Const::float(std::f64::consts::PI)),
                    "math.inf" | "torch.inf" => Value::Const(Const::float(f64::INFINITY)),
                    "torch.version.hip" => Value::NONE,
                    // Tritium speaks to NVIDIA's devices.
                    TARGET_BACKEND => Value::Const(Const::Str("cuda".into())),
                    _ => Value::Path(path.into()),
                }
            }
            Value::File(file) => self.global(*file, name).unwrap_or_else(|| Value::unknown(format!("`{name}` is not known"))),
            Value::Tensor(t) => {
                torch::attribute(t, name).unwrap_or_else(|| Value::Method(Rc::new((receiver.clone(), name.clone()))))
            }
            Value::Class(class) => match class.members.get(name) {
                Some(member) => member.clone(),
                None => Value::Method(Rc::new((receiver.clone(), name.clone()))),
            },
            Value::Object(fields) => match fields.borrow().get(name) {
                Some(field) => field.clone(),
                None => Value::Method(Rc::new((receiver.clone(), name.clone()))),
            },
            Value::Const(Const::DType(d)) if name == "itemsize" => Value::int(d.bytes()),
            Value::Const(Const::DType(d)) if name == "is_floating_point" => Value::bool(d.is_float()),
            _ => Value::Method(Rc::new((receiver.clone(), name.clone()))),
        }
    }

    fn subscript(&mut self, frame: &Frame, receiver: Value, index: ExprId) -> Value {
        if let Value::Const(Const::Function(kernel)) = receiver {
            let grid = self.expr(frame, index);
            return Value::Gridded(kernel, Rc::new(grid));
        }
        if let Expr::Slice { lower, upper, step: None } = frame.body.expr(index).clone() {
            let (lower, upper) = (lower.map(|e| self.expr(frame, e)), upper.map(|e| self.expr(frame, e)));
            let Some(items) = receiver.items().filter(|_| matches!(receiver, Value::Tuple(_) | Value::List(_))) else {
                return Value::Unknown(reason(&receiver, "a slice").into());
            };
            let bound = |value: Option<Value>, default: usize| match value {
                None => Some(default),
                Some(value) => {
                    let i = value.as_int()?;
                    let i = if i < 0 { i + items.len() as i128 } else { i };
                    Some(i.clamp(0, items.len() as i128) as usize)
                }
            };
            return match (bound(lower, 0), bound(upper, items.len())) {
                (Some(from), Some(to)) => Value::tuple(items.get(from..to).unwrap_or_default().to_vec()),
                _ => Value::unknown("the bounds of a slice"),
            };
        }
        let index = self.expr(frame, index);
        let at = |len: usize| {
            let i = index.as_int()?;
            usize::try_from(if i < 0 { i + len as i128 } else { i }).ok()
        };
        let found = match &receiver {
            Value::Tuple(items) => at(items.len()).and_then(|i| items.get(i).cloned()),
            Value::List(items) => at(items.borrow().len()).and_then(|i| items.borrow().get(i).cloned()),
            Value::Dict(items) => index.to_const().and_then(|k| items.borrow().get(&k).cloned()),
            _ => None,
        };
        found.unwrap_or_else(|| Value::Unknown(reason(&receiver, "an element").into()))
    }

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
            Value::Unknown(why) => Value::Unknown(why),
            other => Value::Unknown(reason(&other, "what is called").into()),
        }
    }

    /// Runs the body of a `@triton.constexpr_function`.
    pub(crate) fn call_constexpr_function(&mut self, function: Function, args: &Args) -> Value {
        let Some((body, stmt)) = items::function_body(self.db, function) else { return Value::unknown("the function is gone") };
        let file = function.file(self.db);
        let chunk = items_of(self.db, file).function(function).map_or(0, |i| i.chunk);
        let scope = self.module(file);
        self.call_closure(&Closure { file, chunk, body, code: Code::Function(stmt), scope }, args, &[])
    }

    fn call_closure(&mut self, closure: &Closure, args: &Args, first: &[Value]) -> Value {
        let body = closure.body.clone();
        let (params, code): (&[Param], _) = match closure.code {
            Code::Function(id) => match body.stmt(id) {
                Stmt::Function(def) => (&def.params, Ok(&def.body)),
                _ => return Value::unknown("the function is gone"),
            },
            Code::Lambda(id) => match body.expr(id) {
                Expr::Lambda { params, body } => (params, Err(*body)),
                _ => return Value::unknown("the function is gone"),
            },
        };
        let scope = Scope::new(Some(closure.scope.clone()));
        let frame = Frame { file: closure.file, chunk: closure.chunk, body: body.clone(), scope: scope.clone() };
        let mut positional = first.iter().chain(&args.positional).cloned();
        let mut keywords = args.keywords.clone();
        for param in params {
            let value = match param.kind {
                ParamKind::Rest => Value::tuple(positional.by_ref().collect()),
                ParamKind::RestKeywords => Value::Dict(Rc::new(
                    keywords.drain(..).map(|(k, v)| (Const::Str(k.to_string()), v)).collect::<IndexMap<_, _>>().into(),
                )),
                ParamKind::KeywordOnly | ParamKind::Normal | ParamKind::PositionalOnly => {
                    let given = if param.kind == ParamKind::KeywordOnly { None } else { positional.next() };
                    let named = keywords.iter().position(|(k, _)| *k == param.name);
                    match given.or_else(|| named.map(|i| keywords.remove(i).1)) {
                        Some(value) => value,
                        None => match param.default {
                            Some(default) => {
                                let outer = Frame {
                                    file: frame.file,
                                    chunk: frame.chunk,
                                    body: body.clone(),
                                    scope: closure.scope.clone(),
                                };
                                self.expr(&outer, default)
                            }
                            None => Value::unknown(format!("no argument for `{}`", param.name)),
                        },
                    }
                }
            };
            scope.set(&param.name, value);
        }
        match code {
            Err(expr) => self.expr(&frame, expr),
            Ok(stmts) => match self.block(&frame, stmts) {
                Flow::Return(value) => value,
                Flow::Next | Flow::Break | Flow::Continue => Value::NONE,
                Flow::Abandon(why) => Value::Unknown(why),
            },
        }
    }

    fn call_method(&mut self, receiver: &Value, name: &str, args: &Args) -> Value {
        let found = match receiver {
            Value::Tensor(t) => torch::method(t, name, args),
            Value::Class(class) if name == "apply" => {
                let context = Value::Object(Rc::default());
                match class.members.get("forward") {
                    Some(Value::Closure(forward)) => Some(self.call_closure(&forward.clone(), args, &[context])),
                    _ => None,
                }
            }
            // What a context is told to keep does not matter here.
            Value::Object(_) => Some(Value::NONE),
            Value::List(items) => match (name, &args.positional[..]) {
                ("append", [item]) if items.borrow().len() < LONGEST => {
                    items.borrow_mut().push(item.clone());
                    Some(Value::NONE)
                }
                ("extend", [more]) => more.items().filter(|m| m.len() + items.borrow().len() <= LONGEST).map(|more| {
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
                ("copy", []) => Some(Value::Dict(Rc::new(items.borrow().clone().into()))),
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
        found.unwrap_or_else(|| Value::unknown(format!("`.{name}(…)` is not followed here")))
    }
}

const TARGET_BACKEND: &str = "triton.runtime.driver.active.get_current_target.backend";

/// Python's own functions that host code may call.
const BUILTINS: &[&str] = &[
    "abs",
    "bool",
    "dict",
    "enumerate",
    "float",
    "int",
    "len",
    "list",
    "max",
    "min",
    "print",
    "range",
    "reversed",
    "sum",
    "tuple",
    "zip",
];

fn compare(op: CompareOp, lhs: &Value, rhs: &Value) -> Option<bool> {
    // A tensor, a function, a list is never `None`.
    let is_something = |v: &Value| {
        matches!(v, Value::Tensor(_) | Value::Closure(_) | Value::Class(_) | Value::List(_) | Value::Dict(_) | Value::Tuple(_))
    };
    let is_none = |v: &Value| matches!(v, Value::Const(Const::None));
    if (is_something(lhs) && is_none(rhs)) || (is_none(lhs) && is_something(rhs)) {
        return match op {
            CompareOp::Is | CompareOp::Eq => Some(false),
            CompareOp::IsNot | CompareOp::Ne => Some(true),
            _ => None,
        };
    }
    if let (CompareOp::In | CompareOp::NotIn, Value::Dict(items)) = (op, rhs) {
        let found = items.borrow().contains_key(&lhs.to_const()?);
        return Some(found == (op == CompareOp::In));
    }
    constant::compare(op, &lhs.to_const()?, &rhs.to_const()?)
}

/// Why a value stops evaluation: its own reason, or that it is of no use here.
pub(crate) fn reason(value: &Value, what: &str) -> String {
    match value {
        Value::Unknown(why) => why.to_string(),
        _ => format!("{what} is not known"),
    }
}
