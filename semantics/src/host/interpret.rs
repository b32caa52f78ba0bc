//! Evaluates host code: statements and expressions of ordinary Python.
//!
//! **Invariant:** total and fuelled. What is not followed is unknown, and so is everything that may depend on it: the names that a branch
//! of unknown condition binds, the result of a call of an unknown function.

use std::{
    cell::{Cell, RefCell},
    collections::{HashMap, HashSet},
    rc::Rc,
    sync::Arc,
};

use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;
use smol_str::SmolStr;

use super::{
    Called, HostPlace, Site, benchmarks,
    budget::{self, Evaluation},
    calls::MAX_TEXT_BYTES,
    contents::Recorder,
    device,
    enter::Entrance,
    gradients::Autograd,
    is_long_run, kinds,
    operations::{compare, distinct, outgrows, python_str},
    statements::Flow,
    torch::Args,
    value::{Class, Closure, Code, Doubt, Kind, Method, Object, Scope, Value},
};
use crate::{
    Db, Function, SourceFile,
    body::{Arg, ArgKind, BinaryOp, Body, BoolOp, Clause, CompareOp, ComprehensionKind, Expr, ExprId, FStringPart, Stmt, StmtId},
    constant::{self, Const},
    dtype::DType,
    items::{self, Meaning, chunk_body, items as items_of},
    launch::{Launches, UnknownLaunch},
    program::Unary,
};

/// Statements and expressions evaluated before the rest is unknown.
pub(super) const FUEL: u32 = 400_000;
/// Values that wait for one another.
const MAX_LOOKUPS: usize = 256;
/// Calls within calls.
pub(super) const DEPTH: usize = 48;
/// Statements and expressions of a module that are run to know one of its values; a longer run is made once, for launches.
const LONG_RUN: u32 = 50_000;
/// Items of a list that host code may build.
pub(super) const MAX_LIST_ITEMS: usize = 1 << 16;

pub(crate) struct Host<'db> {
    pub(crate) db: &'db dyn Db,
    pub(crate) file: SourceFile,
    pub(super) fuel: u32,
    modules: HashMap<SourceFile, Rc<Scope>, FxBuildHasher>,
    /// Modules whose statements have begun to run.
    ran: HashSet<SourceFile, FxBuildHasher>,
    /// The file is run as a script.
    is_main: bool,
    /// Where kernels were defined last, as far as that is not their module.
    defined_in: HashMap<Function, Rc<Scope>, FxBuildHasher>,
    /// Functions whose bodies were entered.
    pub(super) entered: HashSet<(SourceFile, usize, StmtId), FxBuildHasher>,
    /// Why what runs now may not run at all, outermost first; empty: it does.
    pub(super) path_conditions: Vec<SmolStr>,
    pub(crate) sites: Vec<Site>,
    /// What tensors hold.
    pub(super) recorder: Recorder,
    pub(super) autograd: Autograd,
    /// What is launched in other files, where that is what is asked for.
    pub(super) called: Option<Vec<Called>>,
    /// What `triton.testing.perf_report` has made, and whether it has run.
    pub(super) benchmarks: Vec<(Rc<Object>, bool)>,
    /// Blocks around what runs now that are expected to fail.
    pub(super) expected_failures: usize,
    /// An exception that an expression raises for sure.
    pub(super) raised: Option<SmolStr>,
    /// What is made without a device is on the CPU for certain.
    pub(super) default_is_cpu: bool,
    /// Kernels may run where tensors of the CPU are right.
    pub(super) takes_cpu_tensors: bool,
    /// Functions are entered that nothing is known to call.
    pub(super) is_survey: bool,
    /// The next function that is entered may get anything.
    pub(super) is_open_call: bool,
    /// The function that was entered got anything: the first of the path's conditions.
    pub(super) is_open_entry: bool,
    /// A function is entered with arguments that are chosen.
    pub(super) entrance: Option<Entrance>,
    /// The calls being evaluated, outermost first.
    pub(super) calls: Vec<HostPlace>,
    /// Functions being run, by whatever calls them.
    pub(super) entered_now: usize,
    /// Names being looked up lazily, so that one defined by itself ends.
    looking_up: Vec<(SourceFile, SmolStr)>,
    /// Gives back what was made.
    _evaluation: Evaluation,
    /// Where the file's own statements were left, as they take too long or make too much.
    pub(crate) exceeded: Option<HostPlace>,
    /// A value of the file's own statements that is larger than is followed.
    pub(crate) outgrown: Option<HostPlace>,
    pub(crate) found: Launches,
}

/// Where evaluation stands.
pub(crate) struct Frame {
    pub(super) file: SourceFile,
    pub(super) chunk: usize,
    pub(super) body: Arc<Body>,
    pub(super) scope: Rc<Scope>,
    /// What the function may already have returned.
    pub(super) early: RefCell<Vec<Value>>,
    /// What it has given to whoever runs over it.
    pub(super) yielded: RefCell<Vec<Value>>,
    /// A loop may already have ended, or gone on: what it binds is not known.
    pub(super) may_have_exited: Cell<bool>,
}

impl Frame {
    pub(super) fn new(file: SourceFile, chunk: usize, body: Arc<Body>, scope: Rc<Scope>) -> Frame {
        Frame {
            file,
            chunk,
            body,
            scope,
            early: RefCell::default(),
            yielded: RefCell::default(),
            may_have_exited: Cell::new(false),
        }
    }
}

impl<'db> Host<'db> {
    pub(crate) fn new(db: &'db dyn Db, file: SourceFile) -> Host<'db> {
        Host {
            db,
            file,
            fuel: FUEL,
            modules: HashMap::default(),
            ran: HashSet::default(),
            is_main: false,
            defined_in: HashMap::default(),
            entered: HashSet::default(),
            path_conditions: vec![],
            sites: vec![],
            recorder: Recorder::default(),
            autograd: Autograd::default(),
            called: None,
            expected_failures: 0,
            raised: None,
            default_is_cpu: false,
            takes_cpu_tensors: device::facts(db, file).runs_on_host,
            is_survey: false,
            is_open_call: false,
            is_open_entry: false,
            entrance: None,
            calls: vec![],
            entered_now: 0,
            looking_up: vec![],
            _evaluation: Evaluation::begin(),
            exceeded: None,
            outgrown: None,
            benchmarks: Vec::new(),
            found: Launches::default(),
        }
    }

    /// Whether the statements of the file run for longer than anybody waits who wants to know one value.
    pub(crate) fn runs_long(&mut self) -> bool {
        self.fuel = LONG_RUN;
        self.run();
        self.fuel == 0 || budget::is_exhausted()
    }

    /// Runs the file's own statements, in order, as a script.
    pub(crate) fn run(&mut self) {
        self.is_main = true;
        self.default_is_cpu = !device::facts(self.db, self.file).changes_default;
        self.run_module(self.file);
    }

    /// Runs the file's own statements as those of a module.
    pub(super) fn run_as_import(&mut self) {
        self.run_module(self.file);
    }

    /// Runs the statements of a module once.
    fn run_module(&mut self, file: SourceFile) {
        if !self.ran.insert(file) {
            return;
        }
        let scope = self.module(file);
        let functions = &items_of(self.db, file).functions;
        let alone: HashSet<usize, FxBuildHasher> = functions.iter().map(|f| f.chunk).collect();
        for chunk in 0..items::chunk_count(self.db, file) {
            // A chunk that is a kernel is not read here, so that typing in a kernel does not run the host code again.
            if alone.contains(&chunk) {
                continue;
            }
            let Some(body) = chunk_body(self.db, file, chunk) else { continue };
            let frame = Frame::new(file, chunk, body.clone(), scope.clone());
            if let Flow::Abandon(_) = self.block(&frame, &body.root) {
                if (self.fuel == 0 || budget::is_exhausted()) && !body.exprs.is_empty() {
                    self.exceed(&frame, ExprId(0));
                }
                break;
            }
        }
    }

    pub(super) fn module(&mut self, file: SourceFile) -> Rc<Scope> {
        let (modules, db) = (&mut self.modules, self.db);
        let (default_is_cpu, takes_cpu_tensors) = (&mut self.default_is_cpu, &mut self.takes_cpu_tensors);
        let enter = || {
            let facts = device::facts(db, file);
            *default_is_cpu &= !facts.changes_default;
            *takes_cpu_tensors |= facts.runs_on_host;
            Scope::new(None)
        };
        modules.entry(file).or_insert_with(enter).clone()
    }

    /// A frame where a kernel is defined, to evaluate what stands above its statements.
    pub(super) fn frame_around(&mut self, function: Function, chunk: usize, head: Arc<Body>) -> Frame {
        let file = function.file(self.db);
        let scope = self.defined_in.get(&function).cloned();
        Frame::new(file, chunk, head, scope.unwrap_or_else(|| self.module(file)))
    }

    /// A frame at module level, to evaluate an expression of a chunk.
    pub(crate) fn frame(&mut self, file: SourceFile, chunk: usize, body: Arc<Body>) -> Frame {
        Frame::new(file, chunk, body, self.module(file))
    }

    /// Remembers where the run was left, as the file's own text has it.
    pub(super) fn exceed(&mut self, frame: &Frame, expr: ExprId) {
        if self.is_survey || self.exceeded.is_some() {
            return;
        }
        let here = HostPlace { file: frame.file, chunk: frame.chunk, expr };
        let place = if frame.file == self.file { Some(here) } else { self.place() };
        self.exceeded = place;
    }

    pub(super) fn burn(&mut self) -> bool {
        self.fuel = self.fuel.saturating_sub(1);
        self.fuel > 0 && !budget::is_exhausted()
    }

    /// The value of a `def`: a kernel, a function, or unknown under decorators that are not followed.
    pub(super) fn define(&mut self, frame: &Frame, id: StmtId, decorators: &[ExprId]) -> Value {
        if let Some(function) = self.function_at(frame, id) {
            self.defined_in.insert(function, frame.scope.clone());
            return Value::Const(Const::Function(function));
        }
        let wraps = decorators.iter().find_map(|&decorator| match frame.body.expr(decorator) {
            Expr::Call { callee, args } if items::path(self.db, frame.file, &frame.body, *callee)? == "functools.wraps" => {
                match self.expr(frame, args.first()?.value) {
                    Value::Closure(wrapped) => Some(wrapped),
                    _ => None,
                }
            }
            _ => None,
        });
        let method = written_method(&frame.body, decorators);
        let mut value = Value::Closure(budget::keep(Closure { wraps, ..Closure::of_definition(frame, id, method) }));
        // Under decorators that are not followed it does what nobody knows, and returns what it says.
        let opaque = || {
            let code = Code::Opaque(id);
            Value::Closure(budget::keep(Closure { code, ..Closure::of_definition(frame, id, method) }))
        };
        for &decorator in decorators.iter().rev() {
            let callee = match frame.body.expr(decorator) {
                Expr::Call { callee, .. } => *callee,
                _ => decorator,
            };
            if let Expr::Name(n) = frame.body.expr(callee)
                && (n == "staticmethod" || n == "property" || n == "classmethod")
            {
                continue;
            }
            value = match self.expr(frame, callee) {
                report if benchmarks::is_report(&report) => {
                    let report = self.expr(frame, decorator);
                    self.call(report, Args { positional: vec![value.clone()], keywords: vec![] })
                }
                // What a library adds (caching, compilation, no gradients) does not change what is launched.
                Value::Path(_) => value,
                Value::Partial(partial) if matches!(partial.0, Value::Path(_)) => value,
                // A function that is entered is taken to be what its text says.
                Value::Unknown(_) if self.entrance.is_some() => value,
                Value::Unknown(_) => return opaque(),
                _ => {
                    let decorator = self.expr(frame, decorator);
                    match self.call(decorator, Args { positional: vec![value.clone()], keywords: vec![] }) {
                        Value::Unknown(_) if self.entrance.is_some() => value,
                        Value::Unknown(_) => return opaque(),
                        decorated => decorated,
                    }
                }
            };
        }
        value
    }

    // ---- names

    pub(super) fn name(&mut self, frame: &Frame, name: &SmolStr) -> Option<Value> {
        frame.scope.get(name).or_else(|| self.global(frame.file, name))
    }

    /// A module-level name that no statement run so far has bound.
    pub(super) fn global(&mut self, file: SourceFile, name: &SmolStr) -> Option<Value> {
        let module = self.module(file);
        if let Some(found) = module.names.borrow().get(name) {
            return Some(found.clone());
        }
        // A list that later statements fill is only known once they have run.
        if items::declared(self.db, file).changes.contains(name) && !self.ran.contains(&file) {
            if is_long_run(self.db, file) {
                return Some(Value::unknown(format!("`{name}` is known after too many statements")));
            }
            self.run_module(file);
            if let Some(found) = module.names.borrow().get(name) {
                return Some(found.clone());
            }
        }
        let found = items::meanings::<items::Folding>(self.db, file, name.clone());
        let value = match found {
            [] => return None,
            [one] => self.meaning(file, name, one),
            // Bound one way or another: modules and kernels are known by the likeliest, values are not.
            [first, ..] => match self.meaning(file, name, first) {
                known @ (Value::Path(_) | Value::File(_) | Value::Const(Const::Function(_))) => known,
                _ => Value::unknown(format!("`{name}` is bound one way or another")),
            },
        };
        module.names.borrow_mut().insert(name.clone(), value.clone());
        Some(value)
    }

    fn meaning(&mut self, file: SourceFile, name: &SmolStr, meaning: &Meaning) -> Value {
        let key = (file, name.clone());
        if self.looking_up.contains(&key) {
            return Value::unknown(format!("`{name}` is defined by itself"));
        }
        if self.looking_up.len() >= MAX_LOOKUPS {
            return Value::unknown(format!("too many values come before `{name}`"));
        }
        self.looking_up.push(key);
        let found = self.value_meant(file, name, meaning);
        self.looking_up.pop();
        found
    }

    fn value_meant(&mut self, file: SourceFile, name: &SmolStr, meaning: &Meaning) -> Value {
        match meaning {
            Meaning::Path(path) => Value::Path(path.clone()),
            Meaning::File(other) => Value::File(*other),
            Meaning::Definition(other, index) => {
                // A kernel is known by its name: its body is not read.
                if let Some(function) = items_of(self.db, *other).of_definition.get(*index).copied().flatten() {
                    return Value::Const(Const::Function(function));
                }
                let Some(definition) = items::declared(self.db, *other).definitions.get(*index) else { return Value::NONE };
                let Some(body) = chunk_body(self.db, *other, definition.chunk) else { return Value::NONE };
                let frame = self.frame(*other, definition.chunk, body.clone());
                match body.stmt(definition.stmt) {
                    Stmt::Function(def) => self.define(&frame, definition.stmt, &def.decorators),
                    _ => Value::NONE,
                }
            }
            Meaning::Class(other, chunk, stmt) => {
                let Some(body) = chunk_body(self.db, *other, *chunk) else { return Value::NONE };
                let frame = self.frame(*other, *chunk, body.clone());
                match body.stmt(*stmt) {
                    Stmt::Class { .. } => self.class(&frame, *stmt),
                    _ => Value::NONE,
                }
            }
            Meaning::Value(other, chunk, value) => {
                // A list of another file that its later statements fill.
                if *other != file
                    && let Some(own) = items::name_of_value(self.db, *other, *chunk, *value)
                    && items::declared(self.db, *other).changes.contains(own)
                {
                    return self.global(*other, own).unwrap_or_else(|| Value::unknown(format!("`{own}` is not known")));
                }
                let Some(body) = chunk_body(self.db, *other, *chunk) else { return Value::NONE };
                let frame = self.frame(*other, *chunk, body);
                self.expr(&frame, *value)
            }
            Meaning::Opaque => Value::unknown(format!("`{name}` is not followed")),
        }
    }

    /// The kernel or helper that a `def` makes.
    fn function_at(&self, frame: &Frame, stmt: StmtId) -> Option<Function> {
        let index = *items::declared(self.db, frame.file).definition_at.get(&(frame.chunk, stmt))?;
        items_of(self.db, frame.file).of_definition.get(index).copied().flatten()
    }

    pub(super) fn class(&mut self, frame: &Frame, stmt: StmtId) -> Value {
        let body = frame.body.clone();
        let Stmt::Class { body: members, decorators, bases, .. } = body.stmt(stmt) else { return Value::NONE };
        let path = |expr: ExprId| match body.expr(expr) {
            Expr::Call { callee, .. } => items::path(self.db, frame.file, &body, *callee),
            _ => items::path(self.db, frame.file, &body, expr),
        };
        let is_tuple = |base: &Arg| path(base.value).is_some_and(|path| path == "typing.NamedTuple");
        let is_data = |decorator: &ExprId| path(*decorator).is_some_and(|path| path == "dataclasses.dataclass");
        // Those of a base come before.
        let has_fields = match bases.len() {
            0 => decorators.iter().any(is_data),
            1 => is_tuple(&bases[0]),
            _ => false,
        };
        let field = |&member: &StmtId| match body.stmt(member) {
            Stmt::AnnAssign { target, annotation, .. } => match body.expr(*target) {
                Expr::Name(name) => (!body.text_of(*annotation).contains("ClassVar"))
                    .then(|| (name.clone(), kinds::annotated(&body, *annotation).0)),
                _ => None,
            },
            _ => None,
        };
        let fields = has_fields.then(|| members.iter().filter_map(field).collect());
        let scope = Scope::new(Some(frame.scope.clone()));
        let within = Frame::new(frame.file, frame.chunk, frame.body.clone(), scope.clone());
        self.block(&within, members);
        let members = scope.names.take();
        Value::Class(budget::keep(Class { members, fields }))
    }

    // ---- expressions

    pub(crate) fn expr(&mut self, frame: &Frame, id: ExprId) -> Value {
        if !self.burn() {
            self.exceed(frame, id);
            return Value::unknown("host code ran for too long");
        }
        self.db.unwind_if_revision_cancelled();
        // Calls within calls, and expressions as deep as the parser allows, need more than a thread's stack.
        let value = stacker::maybe_grow(256 << 10, 4 << 20, || self.expression(frame, id));
        match value {
            Value::Unknown(doubt) if self.entrance.is_some() => self.unsaid(frame, id, doubt),
            value => value,
        }
    }

    fn expression(&mut self, frame: &Frame, id: ExprId) -> Value {
        let body = frame.body.clone();
        match body.expr(id) {
            Expr::Missing => Value::unknown("a syntax error"),
            Expr::Name(name) => match self.name(frame, name) {
                Some(value) => value,
                None if name == "__name__" => {
                    let is_main = self.is_main && frame.file == self.file;
                    Value::Const(Const::Str(if is_main { "__main__" } else { "imported" }.into()))
                }
                None if BUILTINS.contains(&name.as_str()) => Value::Path(format!("builtins.{name}").into()),
                None => items::conventional(name)
                    .map_or_else(|| Value::unknown(format!("`{name}` is not known")), |path| Value::Path(path.into())),
            },
            Expr::Int(i) => Value::int(*i),
            Expr::Float(f) => Value::Const(Const::float(*f)),
            Expr::Str(s) => Value::text(s.clone()),
            Expr::Bool(b) => Value::bool(*b),
            Expr::None => Value::NONE,
            Expr::HugeInt | Expr::Imaginary(_) | Expr::Bytes(_) | Expr::Ellipsis | Expr::Slice { .. } => {
                Value::unknown("a value of this kind is not followed")
            }
            Expr::Set(items) => self.sequence(frame, items).map_or_else(Value::Unknown, |items| Value::list(distinct(items))),
            Expr::FString(parts) => self.f_string(frame, parts),
            Expr::Yield(Some(value)) if self.entrance.is_some() && frame.yielded.borrow().len() < MAX_LIST_ITEMS => {
                let value = self.expr(frame, *value);
                frame.yielded.borrow_mut().push(value);
                Value::NONE
            }
            Expr::Await(_) | Expr::Yield(_) => Value::unknown("`await` and `yield` are not followed"),
            Expr::Tuple(items) => self.sequence(frame, items).map_or_else(Value::Unknown, Value::tuple),
            Expr::List(items) => self.sequence(frame, items).map_or_else(Value::Unknown, Value::list),
            Expr::Dict(entries) => {
                let mut out = IndexMap::new();
                for (key, value) in entries {
                    let value = self.expr(frame, *value);
                    match key {
                        Some(key) => match self.expr(frame, *key).to_const() {
                            Some(key) => {
                                out.insert(key, value);
                            }
                            // A library's member that is not followed is none of the keys that are.
                            None if matches!(self.expr(frame, *key), Value::Path(_)) => {}
                            None => return Value::unknown("a key of a dictionary is not known"),
                        },
                        None => match value {
                            Value::Dict(more) => out.extend(more.borrow().iter().map(|(k, v)| (k.clone(), v.clone()))),
                            other => return Value::Unknown(reason(&other, "what `**` unpacks").into()),
                        },
                    }
                }
                Value::dict(out)
            }
            Expr::Comprehension { kind, key, element, clauses } => {
                let scope = Scope::new(Some(frame.scope.clone()));
                let within = Frame::new(frame.file, frame.chunk, frame.body.clone(), scope);
                let mut out = Vec::new();
                match self.comprehend(&within, clauses, *key, *element, &mut out) {
                    Err(why) => Value::unknown(why),
                    Ok(()) => match kind {
                        ComprehensionKind::List | ComprehensionKind::Generator => {
                            Value::list(out.into_iter().map(|e| e.1).collect())
                        }
                        ComprehensionKind::Dict => {
                            let entries: Option<IndexMap<Const, Value>> =
                                out.into_iter().map(|(k, v)| Some((k?.to_const()?, v))).collect();
                            entries.map_or_else(|| Value::unknown("a key is not known"), Value::dict)
                        }
                        ComprehensionKind::Set => Value::list(distinct(out.into_iter().map(|e| e.1).collect())),
                    },
                }
            }
            Expr::Unary { op, operand } => {
                let operand = self.expr(frame, *operand);
                match (op, &operand) {
                    (crate::body::UnaryOp::Not, value) => {
                        value.truth().map_or_else(|| Value::some(Kind::Bool, reason(value, "an operand")), |t| Value::bool(!t))
                    }
                    (_, Value::Const(c)) => {
                        constant::unary(*op, c).map_or_else(|| Value::unknown("the operand has no number"), Value::Const)
                    }
                    (crate::body::UnaryOp::Invert, Value::Tensor(t)) if t.dtype == DType::I1 => {
                        Value::Tensor(self.unary(Unary::Not, t))
                    }
                    (crate::body::UnaryOp::Neg, Value::Tensor(_)) => self.binary(BinaryOp::Mul, operand, Value::int(-1)),
                    _ => Value::some(
                        Some(operand.kind()).filter(|kind| !matches!(kind, Kind::Bool | Kind::Ints)).unwrap_or_default(),
                        reason(&operand, "an operand"),
                    ),
                }
            }
            Expr::Binary { op, lhs, rhs } => {
                let (lhs, rhs) = (self.expr(frame, *lhs), self.expr(frame, *rhs));
                if frame.file == self.file && !self.is_survey && self.outgrown.is_none() && outgrows(*op, &lhs, &rhs) {
                    self.outgrown = Some(HostPlace { file: frame.file, chunk: frame.chunk, expr: id });
                }
                if self.entrance.is_some() && *op == BinaryOp::FloorDiv {
                    self.holds_whole(&lhs, &rhs);
                }
                self.binary(*op, lhs, rhs)
            }
            Expr::Bool2 { op, lhs: left, rhs } => {
                let lhs = self.expr(frame, *left);
                match (lhs.truth(), op) {
                    (Some(true), BoolOp::And) | (Some(false), BoolOp::Or) => self.expr(frame, *rhs),
                    (Some(_), _) => lhs,
                    (None, _) if self.entrance.is_some() && !matches!(lhs.kind(), Kind::Bool) => {
                        match (self.decided(frame, *left, &lhs, None), op) {
                            (true, BoolOp::And) | (false, BoolOp::Or) => self.expr(frame, *rhs),
                            _ => lhs,
                        }
                    }
                    // Whatever the left side is, the right one may decide.
                    (None, _) => {
                        let rhs = self.expr(frame, *rhs);
                        match (rhs.truth(), op) {
                            (Some(true), BoolOp::Or) if rhs.kind() == Kind::Bool => Value::bool(true),
                            (Some(false), BoolOp::And) if rhs.kind() == Kind::Bool => Value::bool(false),
                            _ => {
                                let why = reason(&lhs, "an operand");
                                // What is left of `or` is not `None` where it is the value.
                                if *op == BoolOp::Or { lhs.unless_none() } else { lhs }.or(rhs, &why).in_doubt(&why)
                            }
                        }
                    }
                }
            }
            Expr::Compare { first, rest } => {
                let mut lhs = self.expr(frame, *first);
                for (op, rhs) in rest {
                    let rhs = self.expr(frame, *rhs);
                    // `x == y` of tensors is a tensor.
                    if let Some(compared) = self.tensor_comparison(*op, &lhs, &rhs) {
                        return compared;
                    }
                    match compare(*op, &lhs, &rhs) {
                        Some(true) => lhs = rhs,
                        Some(false) => return Value::bool(false),
                        None => {
                            return Value::some(
                                // `x == y` of tensors is a tensor.
                                if !matches!(op, CompareOp::Is | CompareOp::IsNot | CompareOp::In | CompareOp::NotIn)
                                    && matches!((lhs.kind(), rhs.kind()), (Kind::Tensor(_), _) | (_, Kind::Tensor(_)))
                                {
                                    Kind::Any
                                } else {
                                    Kind::Bool
                                },
                                reason(if lhs.to_const().is_none() { &lhs } else { &rhs }, "an operand"),
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
                    None if self.entrance.is_some() => match self.decided(frame, *condition, &value, None) {
                        true => self.expr(frame, *then),
                        false => self.expr(frame, *otherwise),
                    },
                    None => {
                        let why = reason(&value, "the condition");
                        self.path_conditions.push(why.as_str().into());
                        let raised = self.raised.take();
                        let both = [(*then, true), (*otherwise, false)].map(|(arm, holds)| {
                            let names = frame.scope.names.borrow().clone();
                            self.narrow(frame, *condition, holds);
                            let value = self.expr(frame, arm);
                            *frame.scope.names.borrow_mut() = names;
                            value
                        });
                        self.raised = raised;
                        self.path_conditions.pop();
                        let [then, otherwise] = both;
                        then.or(otherwise, &why)
                    }
                }
            }
            Expr::Lambda { .. } => Value::Closure(budget::keep(Closure {
                file: frame.file,
                chunk: frame.chunk,
                body: frame.body.clone(),
                code: Code::Lambda(id),
                scope: frame.scope.clone(),
                method: Method::Plain,
                wraps: None,
            })),
            Expr::Named { name, value } => {
                let value = self.expr(frame, *value);
                frame.scope.set(name, value.clone());
                value
            }
            Expr::Starred(_) => Value::unknown("an unpacked value"),
            Expr::Attribute { receiver, name } => {
                let of = *receiver;
                let receiver = self.expr(frame, of);
                if self.entrance.is_some() && receiver.is_none() {
                    self.none_used_as_tensor(frame, of, name);
                }
                self.attribute(receiver, name)
            }
            Expr::Subscript { receiver, index } => {
                let receiver = self.expr(frame, *receiver);
                self.subscript(frame, receiver, *index)
            }
            Expr::Call { callee, args } => {
                let callee = self.expr(frame, *callee);
                let mut given = Args::default();
                // Why more is given that is not known.
                let mut more: Option<String> = None;
                for arg in args {
                    let value = self.expr(
                        frame,
                        match body.expr(arg.value) {
                            Expr::Starred(inner) if arg.kind == ArgKind::Positional => *inner,
                            _ => arg.value,
                        },
                    );
                    match &arg.kind {
                        // After what may be of any length places are not known.
                        ArgKind::Positional if !matches!(body.expr(arg.value), Expr::Starred(_)) && more.is_some() => {}
                        ArgKind::Positional if !matches!(body.expr(arg.value), Expr::Starred(_)) => given.positional.push(value),
                        ArgKind::Keyword(name) => given.keywords.push((name.clone(), value)),
                        ArgKind::Positional | ArgKind::Spread => match value.items() {
                            Some(_) if more.is_some() => {}
                            Some(items) => given.positional.extend(items),
                            None => more = Some(reason(&value, "what `*` unpacks")),
                        },
                        ArgKind::SpreadKeywords => match &value {
                            Value::Dict(items) => {
                                for (key, value) in items.borrow().iter() {
                                    if let Const::Str(key) = key {
                                        given.keywords.push((key.into(), value.clone()));
                                    }
                                }
                            }
                            _ => more = Some(reason(&value, "what `**` unpacks")),
                        },
                    }
                }
                if let Some(why) = more {
                    if let Value::Gridded(kernel, _) = callee {
                        self.not_launched(frame, id, kernel, &why);
                        self.calls.push(HostPlace { file: frame.file, chunk: frame.chunk, expr: id });
                        self.launch_in_part(kernel, &given);
                        self.calls.pop();
                    }
                    return Value::unknown(why);
                }
                self.calls.push(HostPlace { file: frame.file, chunk: frame.chunk, expr: id });
                let method = match &callee {
                    Value::Method(method) => Some(method.clone()),
                    _ => None,
                };
                let result =
                    if self.calls.len() > DEPTH { Value::unknown("calls nest too deeply") } else { self.call(callee, given) };
                self.calls.pop();
                match (&result, &method) {
                    (Value::Unknown(_), Some(method)) if self.entrance.is_some() && method.1 == "item" => {
                        self.number_of_tensor(frame, id, &method.0).unwrap_or(result)
                    }
                    _ => result,
                }
            }
        }
    }

    /// `import module as …`, `from module import member`, where a function or a branch does it.
    pub(super) fn imported(&mut self, frame: &Frame, level: u32, module: &SmolStr, member: Option<&SmolStr>) -> Value {
        match items::imported(self.db, frame.file, level, module, member) {
            Some(meaning) => self.meaning(frame.file, member.unwrap_or(module), &meaning),
            None => Value::unknown(format!("`{module}` is not found")),
        }
    }

    fn f_string(&mut self, frame: &Frame, parts: &[FStringPart]) -> Value {
        let mut text = String::new();
        for part in parts {
            match part {
                FStringPart::Text(piece) => text += piece,
                FStringPart::Value { value, conversion: None, format: None } => {
                    let value = self.expr(frame, *value);
                    match value.to_const().and_then(|c| python_str(&c)) {
                        Some(piece) if text.len() + piece.len() <= MAX_TEXT_BYTES => text += &piece,
                        Some(_) => return Value::unknown("a string grows too long"),
                        None => return Value::Unknown(reason(&value, "a part of a string").into()),
                    }
                }
                FStringPart::Value { .. } => return Value::unknown("a formatted value is not followed"),
            }
        }
        Value::text(text)
    }

    pub(super) fn not_launched(&mut self, frame: &Frame, call: ExprId, kernel: Function, why: &str) {
        let place = self.calls.iter().find(|p| p.file == self.file).copied().unwrap_or(HostPlace {
            file: frame.file,
            chunk: frame.chunk,
            expr: call,
        });
        let unknown = UnknownLaunch { place, kernel, reason: why.to_owned() };
        if place.file == self.file && !self.found.unknown.contains(&unknown) {
            self.found.unknown.push(unknown);
        }
    }

    /// Where the innermost call stands.
    pub(super) fn innermost_call(&self) -> Option<HostPlace> {
        self.calls.last().copied()
    }

    /// Where the innermost call in this file stands.
    pub(crate) fn place(&self) -> Option<HostPlace> {
        self.calls.iter().rev().find(|p| p.file == self.file).copied()
    }

    /// The items that a display lists; of which at least the kind is known where an unknown number of them is unpacked into it.
    fn sequence(&mut self, frame: &Frame, items: &[ExprId]) -> Result<Vec<Value>, Doubt> {
        let mut out = Vec::with_capacity(items.len());
        let mut unpacked: Option<Doubt> = None;
        for &item in items {
            match frame.body.expr(item) {
                Expr::Starred(inner) => {
                    let inner = self.expr(frame, *inner);
                    match inner.items() {
                        Some(items) => out.extend(items),
                        None => {
                            out.push(Value::some(kinds::part(inner.kind(), false), ""));
                            unpacked = Some(reason(&inner, "an unpacked value").into());
                        }
                    }
                }
                _ => out.push(self.expr(frame, item)),
            }
        }
        match unpacked {
            None => Ok(out),
            Some(doubt) if out.iter().all(|item| item.kind() == Kind::Int) => {
                Err(Doubt { kind: Kind::Ints, may_be_none: false, ..doubt })
            }
            Some(doubt) => Err(doubt),
        }
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
                if out.len() >= MAX_LIST_ITEMS {
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

    pub(super) fn binary(&mut self, op: BinaryOp, lhs: Value, rhs: Value) -> Value {
        if let (Value::List(a), Value::List(b)) = (&lhs, &rhs)
            && op == BinaryOp::Add
        {
            if a.borrow().len() + b.borrow().len() > MAX_LIST_ITEMS {
                return Value::unknown("a list grows too long");
            }
            return Value::list(a.borrow().iter().chain(b.borrow().iter()).cloned().collect());
        }
        if matches!(lhs, Value::Either(_)) || matches!(rhs, Value::Either(_)) {
            let (lhs, rhs) = (lhs.alternatives(), rhs.alternatives());
            let all = lhs.iter().flat_map(|l| rhs.iter().map(move |r| (l.clone(), r.clone())));
            let all: Vec<Value> = all.map(|(l, r)| self.binary(op, l, r)).collect();
            return all.into_iter().reduce(|a, b| a.or(b, ONE_OR_ANOTHER)).unwrap_or_else(|| Value::unknown(ONE_OR_ANOTHER));
        }
        let kind = kinds::binary(op, lhs.kind(), rhs.kind());
        let known = match (&lhs, &rhs) {
            (Value::Tuple(a), Value::Tuple(b)) if op == BinaryOp::Add => {
                (a.len() + b.len() <= MAX_LIST_ITEMS).then(|| Value::tuple(a.iter().chain(b.iter()).cloned().collect()))
            }
            (Value::Tensor(_), _) | (_, Value::Tensor(_)) => self.tensor_arithmetic(op, &lhs, &rhs),
            (Value::List(items), times) | (times, Value::List(items)) if op == BinaryOp::Mul => {
                let times = times
                    .as_int()
                    .and_then(|t| usize::try_from(t).ok())
                    .filter(|t| t.saturating_mul(items.borrow().len()) <= MAX_LIST_ITEMS && budget::visit(items.borrow().len()));
                times.map(|t| Value::list(std::iter::repeat_n(items.borrow().clone(), t).flatten().collect()))
            }
            _ => lhs.to_const().zip(rhs.to_const()).and_then(|(a, b)| constant::binary(op, &a, &b)).map(Value::from_const),
        };
        known.unwrap_or_else(|| {
            Value::some(kind, reason(if matches!(lhs, Value::Unknown(_)) { &lhs } else { &rhs }, "an operand"))
        })
    }
}

/// What the decorators of a class's function make it.
pub(super) fn written_method(body: &Body, decorators: &[ExprId]) -> Method {
    let is = |word: &str| decorators.iter().any(|&d| matches!(body.expr(d), Expr::Name(n) if n == word));
    match (is("staticmethod"), is("classmethod")) {
        (true, _) => Method::Static,
        (_, true) => Method::Class,
        _ => Method::Plain,
    }
}

/// Why a value is not known that is one of several.
pub(super) const ONE_OR_ANOTHER: &str = "it may be one thing or another";

/// Python's own functions that host code may call.
const BUILTINS: &[&str] = &[
    "abs",
    "all",
    "any",
    "bool",
    "dict",
    "enumerate",
    "filter",
    "float",
    "frozenset",
    "getattr",
    "hasattr",
    "int",
    "isinstance",
    "len",
    "list",
    "map",
    "max",
    "min",
    "pow",
    "print",
    "range",
    "reversed",
    "round",
    "set",
    "sorted",
    "str",
    "sum",
    "tuple",
    "zip",
];

/// Why a value stops evaluation: its own reason, or that it is of no use here.
pub(crate) fn reason(value: &Value, what: &str) -> String {
    match value {
        Value::Unknown(doubt) => doubt.why.to_string(),
        _ => format!("{what} is not known"),
    }
}
