//! Functions that nothing calls, entered with arguments of free sizes: so what a library launches can run.
//!
//! A function is run as often as it takes: what a run shows that it needs (an axis that is read, sizes that are compared, a check that
//! fails) is followed in the next one. **Invariant:** this is worked out when somebody asks for it, and is no part of a check; a launch
//! counts as reached where everything that it takes is known.

mod kernel;
mod wants;

pub use kernel::enter_kernel;

use std::{fmt, path::PathBuf, rc::Rc};

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use super::{
    HostLaunches, HostPlace,
    free::{Argument, Choice, Demand, Free, is_block, usual_rank},
    interpret::{Frame, Host},
    torch::Args,
    value::{Closure, Doubt, Kind, Method, Storage, TensorValue, Value},
};
use crate::{
    Db, SourceFile,
    body::{Body, CompareOp, Expr, ExprId, FunctionDef, Param, ParamKind, Stmt, StmtId},
    constant::Const,
    dtype::DType,
    instance::{self, ArgType},
    items::{self, Annotation, FunctionItem, Node, chunk_body},
    launch::{Init, LaunchSource, Launches},
    specialise::{Role, roles, specialisations},
};

/// Runs of one function.
const MAX_RUNS: usize = 40;
/// Axes of a tensor that is chosen.
const MAX_RANK: usize = 8;
/// Functions through which a launch is looked for, where the one around it does not come to it.
const MAX_CALLERS: usize = 4;
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
/// Statements and expressions of one run.
const ENTRY_FUEL: u32 = 100_000;

/// A function that is entered, and what it is given. It travels to the process of a run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Entry {
    /// The name of the file, without its folder.
    pub file: PathBuf,
    /// `forward`, `LayerNorm.backward`
    pub function: String,
    /// Names with values in words: `M` is `4096`, `x` is `f16[M, N]`, `x.dtype` is `f16`, `eps` is `1e-6`.
    pub set: Vec<(String, String)>,
}

/// Something that a function is given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FreeName {
    pub name: String,
    pub value: String,
    /// Nobody gave it.
    pub is_default: bool,
}

/// A function with what it is given, in words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Given {
    pub function: String,
    pub names: Vec<FreeName>,
}

/// `forward with M = 40 (default), N = 4096, x = f32[M, N] (default)`
impl fmt::Display for Given {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.function)?;
        for (nth, FreeName { name, value, is_default }) in self.names.iter().enumerate() {
            let before = if nth == 0 { " with " } else { ", " };
            write!(f, "{before}{name} = {value}{}", if *is_default { " (default)" } else { "" })?;
        }
        Ok(())
    }
}

/// What a function launches when it is entered.
#[derive(Debug, Clone, PartialEq)]
pub struct Entered {
    pub entry: Entry,
    pub names: Vec<FreeName>,
    pub launches: HostLaunches,
    /// Where it launches something of which everything is known.
    pub reached: Vec<HostPlace>,
    /// No function around it could be entered to the end: the kernel's own parameters are asked for.
    pub of_kernel: bool,
    /// The launch that it is entered for.
    pub target: Option<HostPlace>,
    /// What was given and is no name of it.
    pub unasked: Vec<String>,
}

/// What an entry of a function needs to know while it runs.
pub(super) struct Entrance {
    free: Free,
    chunk: usize,
    stmt: StmtId,
    /// The launch that is wanted.
    target: Option<HostPlace>,
    demands: Vec<Demand>,
    /// The memories of tensors that are given, by parameter.
    given: Vec<(SmolStr, Rc<Storage>)>,
    /// Parameters of which nothing is known yet.
    unknown: Vec<SmolStr>,
    /// Expressions of which nothing is known, by their text: a function of another library, an attribute of `self`.
    unsaid: Vec<SmolStr>,
    /// What is asked for them, where the launch that is wanted is not reached without.
    late: Vec<Demand>,
    wrong: Option<String>,
}

impl Entered {
    pub fn given(&self) -> Given {
        Given { function: self.entry.function.clone(), names: self.names.clone() }
    }
}

/// A function of a file that somebody may enter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Entrable {
    pub file: SourceFile,
    /// Among the file's definitions.
    index: usize,
}

/// The function of a file around a place of its host code: the outermost one.
pub fn entrable_around(db: &dyn Db, place: HostPlace) -> Option<Entrable> {
    let definitions = &items::declared(db, place.file).definitions;
    let of_definition = &items::items(db, place.file).of_definition;
    let body = chunk_body(db, place.file, place.chunk)?;
    let is_around = |(index, definition): (usize, &items::Definition)| {
        let is_wanted =
            definition.chunk == place.chunk && definition.outer.is_none() && of_definition.get(index).is_none_or(Option::is_none);
        (is_wanted && holds(&body, &[definition.stmt], place.expr)).then_some(index)
    };
    let index = definitions.iter().enumerate().find_map(is_around)?;
    Some(Entrable { file: place.file, index })
}

/// Whether an expression stands in some statements.
fn holds(body: &Body, stmts: &[StmtId], expr: ExprId) -> bool {
    let mut found = false;
    items::walk(body, stmts, &mut |node| found |= matches!(node, Node::Expr(id) if id == expr));
    found
}

impl Entrable {
    /// `forward`, `LayerNorm.backward`
    pub fn name(self, db: &dyn Db) -> String {
        let Some(definition) = items::declared(db, self.file).definitions.get(self.index) else { return String::new() };
        let class = definition.class.and_then(|class| {
            let body = chunk_body(db, self.file, definition.chunk)?;
            let Stmt::Class { name, .. } = body.stmt(class) else { return None };
            Some(name.clone())
        });
        class.map_or_else(|| definition.name.to_string(), |class| format!("{class}.{}", definition.name))
    }

    /// Parameters that its text compares with `None`.
    fn tested_for_none(self, db: &dyn Db) -> Vec<SmolStr> {
        let mut out = Vec::new();
        let Some(definition) = items::declared(db, self.file).definitions.get(self.index) else { return out };
        let Some(body) = chunk_body(db, self.file, definition.chunk) else { return out };
        items::walk(&body, &[definition.stmt], &mut |node| {
            if let Node::Expr(id) = node
                && let Expr::Compare { first, rest } = body.expr(id)
                && let (Expr::Name(name), [(CompareOp::Is | CompareOp::IsNot, other)]) = (body.expr(*first), &rest[..])
                && matches!(body.expr(*other), Expr::None)
            {
                out.push(name.clone());
            }
        });
        if let Stmt::Function(def) = body.stmt(definition.stmt) {
            let may_be_none =
                |param: &&Param| param.annotation.is_some_and(|annotation| super::kinds::annotated(&body, annotation).1);
            out.extend(def.params.iter().filter(may_be_none).map(|param| param.name.clone()));
        }
        out
    }

    /// Functions of the file that call this one by its name, directly.
    pub fn callers(self, db: &dyn Db) -> Vec<Entrable> {
        let definitions = &items::declared(db, self.file).definitions;
        let of_definition = &items::items(db, self.file).of_definition;
        let Some(own) = definitions.get(self.index) else { return vec![] };
        let calls = |index: &usize| {
            let Some(body) = chunk_body(db, self.file, definitions[*index].chunk) else { return false };
            let mut found = false;
            items::walk(&body, &[definitions[*index].stmt], &mut |node| {
                if let Node::Expr(id) = node
                    && let Expr::Call { callee, .. } = body.expr(id)
                {
                    found |= match body.expr(*callee) {
                        Expr::Name(name) | Expr::Attribute { name, .. } => *name == own.name,
                        _ => false,
                    };
                }
            });
            found
        };
        let others = (0..definitions.len()).filter(|&index| {
            index != self.index && definitions[index].outer.is_none() && of_definition.get(index).is_none_or(Option::is_none)
        });
        others.filter(calls).take(MAX_CALLERS).map(|index| Entrable { file: self.file, index }).collect()
    }

    pub fn find(db: &dyn Db, file: SourceFile, name: &str) -> Option<Entrable> {
        let count = items::declared(db, file).definitions.len();
        (0..count).map(|index| Entrable { file, index }).find(|entrable| entrable.name(db) == name)
    }
}

/// Enters a function with what is given and chooses the rest, so that it comes to a launch, if one is named.
pub fn enter(db: &dyn Db, function: Entrable, target: Option<HostPlace>, set: &[(String, String)]) -> Result<Entered, String> {
    enter_by(db, function, target, set, Choice::default())
}

/// The same function entered for the same launches, with what is chosen chosen otherwise; if it comes to them all the same.
pub fn enter_otherwise(db: &dyn Db, entered: &Entered, set: &[(String, String)], choice: Choice) -> Option<Entered> {
    let target = entered.target?;
    let function = Entrable::find(db, target.file, &entered.entry.function)?;
    let other = enter_by(db, function, Some(target), set, choice).ok()?;
    let is_as_far = entered.reached.iter().all(|place| other.reached.contains(place));
    (is_as_far && other.entry != entered.entry).then_some(other)
}

fn enter_by(
    db: &dyn Db,
    function: Entrable,
    target: Option<HostPlace>,
    set: &[(String, String)],
    choice: Choice,
) -> Result<Entered, String> {
    let (mut free, mut found) = settled(db, function, target, Free::new(set)?)?;
    // What the text tests for being nothing may be nothing.
    if target.is_some() && !found.score(target).0 {
        let tested = function.tested_for_none(db);
        let mut next = free.clone();
        for parameter in free.chosen_tensors().into_iter().filter(|name| tested.contains(name)) {
            next = next.without(&parameter);
            let (other, run) = settled(db, function, target, next.clone())?;
            let is_reached = run.score(target).0;
            if run.score(target) > found.score(target) {
                (free, found) = (other, run);
            }
            if is_reached {
                break;
            }
        }
    }
    let shared = if choice.has_room { free.with_room() } else { free.with_shared_sizes() };
    if shared != free {
        let run = run(db, function, target, shared)?;
        let is_settled = !run.free.clone().follow(run.demands.clone());
        if is_settled && run.score(target) >= found.score(target) {
            (free, found) = (run.free.clone(), run);
        }
    }
    let other = free.chosen_by(choice);
    if other != free {
        found = run(db, function, target, other)?;
        free = found.free.clone();
    }
    let names: Vec<FreeName> =
        free.names().into_iter().map(|(name, value, is_given)| FreeName { name, value, is_default: !is_given }).collect();
    let set = names.iter().map(|free| (free.name.clone(), free.value.clone())).collect();
    let unasked = free.unasked().into_iter().map(str::to_owned).collect();
    Ok(Entered {
        entry: Entry { file: file_name(db, function.file), function: function.name(db), set },
        names,
        of_kernel: false,
        target,
        reached: found.reached(),
        launches: found.launches,
        unasked,
    })
}

fn file_name(db: &dyn Db, file: SourceFile) -> PathBuf {
    file.path(db).file_name().map(PathBuf::from).unwrap_or_default()
}

/// Runs a function until nothing more is asked for, and keeps the run that came furthest.
fn settled(db: &dyn Db, function: Entrable, target: Option<HostPlace>, mut free: Free) -> Result<(Free, Run), String> {
    let mut best: Option<(Free, Run)> = None;
    let start = free.clone();
    for nth in 0..MAX_RUNS {
        let run = run(db, function, target, free.clone())?;
        free = run.free.clone();
        let mut next = free.clone();
        let changes = next.follow(run.demands.clone()) || (!run.score(target).0 && next.follow(run.late.clone()));
        if best.as_ref().is_none_or(|(_, known)| run.score(target) >= known.score(target)) {
            best = Some((free.clone(), run));
        }
        if !changes {
            break;
        }
        free = next;
        // What makes one condition hold may make it fail again, and so on: then it is said to hold.
        if nth == MAX_RUNS / 2 && best.as_ref().is_some_and(|(_, run)| !run.score(target).0) {
            let late = best.as_ref().map(|(_, run)| run.late.clone()).unwrap_or_default();
            free = start.clone();
            free.follow(late);
        }
    }
    best.ok_or_else(|| "there is no such function".to_owned())
}

/// The launches of a file that an entry makes.
pub(super) fn entered_launches(db: &dyn Db, file: SourceFile, entry: &Entry) -> Option<HostLaunches> {
    file.path(db).ends_with(&entry.file).then_some(())?;
    if let Some(launches) = kernel::launches_of(db, file, entry) {
        return Some(launches);
    }
    let function = Entrable::find(db, file, &entry.function)?;
    Some(enter(db, function, None, &entry.set).ok()?.launches)
}

/// One run of a function.
struct Run {
    free: Free,
    launches: HostLaunches,
    demands: Vec<Demand>,
    /// Followed where a launch is wanted that is not reached, and no demand changes anything.
    late: Vec<Demand>,
}

impl Run {
    fn reached(&self) -> Vec<HostPlace> {
        let mut out: Vec<HostPlace> = Vec::new();
        for source in &self.launches.found.sources {
            if let LaunchSource::Host(place) = source
                && !out.contains(place)
            {
                out.push(*place);
            }
        }
        out
    }

    fn score(&self, target: Option<HostPlace>) -> (bool, usize) {
        let reached = self.reached();
        (target.is_some_and(|target| reached.contains(&target)), reached.len())
    }
}

fn run(db: &dyn Db, function: Entrable, target: Option<HostPlace>, free: Free) -> Result<Run, String> {
    const GONE: &str = "the function is gone";
    let file = function.file;
    let definition = items::declared(db, file).definitions.get(function.index).ok_or(GONE)?;
    let body = chunk_body(db, file, definition.chunk).ok_or(GONE)?;
    let Stmt::Function(def) = body.stmt(definition.stmt) else { return Err(GONE.to_owned()) };
    let mut host = Host::new(db, file);
    host.run_as_import();
    host.is_survey = true;
    host.fuel = ENTRY_FUEL;
    (host.found, host.sites) = (Default::default(), vec![]);
    host.recorder = Default::default();
    host.entrance = Some(Entrance {
        free,
        chunk: definition.chunk,
        stmt: definition.stmt,
        target,
        demands: vec![],
        given: vec![],
        unknown: vec![],
        unsaid: vec![],
        late: vec![],
        wrong: None,
    });
    let scope = host.module(file);
    let frame = Frame::new(file, definition.chunk, body.clone(), scope);
    let closure = Closure::of_definition(&frame, definition.stmt, Method::Plain);
    let mut args = Args::default();
    let first = definition.class.and_then(|class| {
        let (first, made) = host.receiver(definition.chunk, class, definition.stmt)?;
        if let Some(made) = made {
            args.positional = host.gradients(def, &made);
        }
        Some(first)
    });
    host.is_open_call = true;
    host.call_closure(&closure, &args, first.as_slice());
    host.is_open_call = false;
    let Some(entrance) = host.entrance.take() else { return Err(GONE.to_owned()) };
    if let Some(wrong) = entrance.wrong {
        return Err(wrong);
    }
    let launches = HostLaunches {
        found: std::mem::take(&mut host.found),
        sites: std::mem::take(&mut host.sites),
        program: std::mem::take(&mut host.recorder.program),
    };
    let late = entrance.late_demands(&launches.found);
    Ok(Run { demands: entrance.all_demands(), free: entrance.free, launches, late })
}

impl Entrance {
    /// What is still not known of parameters at the end is an integer, if nothing else.
    fn all_demands(&self) -> Vec<Demand> {
        let mut all = self.demands.clone();
        if all.is_empty() {
            all.extend(self.unknown.iter().cloned().map(Demand::Integer));
        }
        all
    }

    /// What expressions have to be of which nothing is known: the first thing that is asked of each, and an integer where no launch is known
    /// for want of it.
    fn late_demands(&self, found: &Launches) -> Vec<Demand> {
        let mut asked: Vec<&SmolStr> = Vec::new();
        let mut all: Vec<Demand> = Vec::new();
        for demand in &self.late {
            if let Demand::Tensor(key, _) | Demand::Integer(key) | Demand::Value(key, _) = demand
                && !asked.contains(&key)
            {
                asked.push(key);
                all.push(demand.clone());
            } else if let Demand::Condition(..) = demand {
                all.push(demand.clone());
            }
        }
        let stops = |key: &&SmolStr| found.unknown.iter().any(|unknown| unknown.reason == why_unknown(key));
        all.extend(self.unsaid.iter().filter(stops).filter(|key| !asked.contains(key)).cloned().map(Demand::Integer));
        all
    }

    /// The expression that a value of which nothing is known comes from, by its text.
    fn unsaid_of(&self, value: &Value) -> Option<SmolStr> {
        let Value::Unknown(doubt) = value else { return None };
        self.unsaid.iter().find(|text| doubt.why == why_unknown(text)).cloned()
    }

    /// What a value comes from that is not known is something, unless that is known otherwise.
    fn demand_of(&mut self, value: &Value, demand: impl Fn(SmolStr) -> Demand) {
        if let Some(parameter) = self.unknown_of(value) {
            self.demand(demand(parameter));
        } else if let Some(text) = self.unsaid_of(value) {
            self.late.push(demand(text));
        }
    }

    fn demand(&mut self, demand: Demand) {
        if !self.demands.contains(&demand) {
            self.demands.push(demand);
        }
    }

    /// The parameter that a value comes from of which nothing is known.
    fn unknown_of(&self, value: &Value) -> Option<SmolStr> {
        // What is made of it has a kind.
        let Value::Unknown(doubt) = value else { return None };
        (doubt.kind == Kind::Any).then_some(())?;
        self.unknown.iter().find(|name| doubt.why == why_unknown(name)).cloned()
    }

    /// The parameter that a tensor is.
    fn given_as(&self, t: &TensorValue) -> Option<SmolStr> {
        self.given.iter().find(|(_, storage)| Rc::ptr_eq(storage, &t.storage)).map(|(name, _)| name.clone())
    }
}

fn why_unknown(parameter: &str) -> SmolStr {
    format!("`{parameter}` is not known").into()
}

impl Host<'_> {
    /// What a function is given for a parameter when it is entered.
    pub(super) fn entry_argument(&mut self, closure: &Closure, param: &Param, kind_by_use: Option<Kind>) -> Value {
        match param.kind {
            ParamKind::Rest => return Value::tuple(vec![]),
            ParamKind::RestKeywords => return Value::dict(Default::default()),
            _ => {}
        }
        let outer = Frame::new(closure.file, closure.chunk, closure.body.clone(), closure.scope.clone());
        let default = param.default.map(|default| self.expr(&outer, default));
        let (mut kind, _) =
            param.annotation.map_or((Kind::Any, true), |annotation| super::kinds::annotated(&closure.body, annotation));
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
    pub(super) fn unsaid(&mut self, frame: &Frame, id: ExprId, doubt: Doubt) -> Value {
        let body = &frame.body;
        let Some(entrance) = &mut self.entrance else { return Value::Unknown(doubt) };
        let is = |text: &SmolStr| doubt.why == why_unknown(text);
        let is_same = |of: ExprId| doubt.why == why_unknown(&body.text_of(of));
        let is_own = match body.expr(id) {
            // What a function has that is not known is asked for as it stands, not the function.
            Expr::Attribute { name, .. } => doubt.kind == Kind::Any && !super::kinds::OF_TENSORS.contains(&name.as_str()),
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
            let strides = super::row_major(&shape);
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
    pub(super) fn used_as_integer(&mut self, value: &Value) {
        if let Some(entrance) = &mut self.entrance {
            entrance.demand_of(value, Demand::Integer);
        }
    }

    /// A tensor has as many axes as the block of its descriptor, and so has the parameter that it is a part of.
    pub(super) fn used_with_block(&mut self, t: &TensorValue, block: &[u32]) {
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
    pub(super) fn used_as_option(&mut self, value: &Value, usual: i128) {
        if let Some(entrance) = &mut self.entrance {
            entrance.demand_of(value, |key| Demand::Value(key, Const::Int(usual)));
        }
    }

    /// Gradients of what `forward` has made, for the parameters of `backward`.
    fn gradients(&mut self, def: &FunctionDef, made: &Value) -> Vec<Value> {
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
    pub(super) fn decided(
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
    pub(super) fn taken(&mut self, frame: &Frame, condition: ExprId, way: bool, (then, otherwise): (&[StmtId], &[StmtId])) {
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
    pub(super) fn said_of_condition(&self, frame: &Frame, condition: ExprId) -> Option<bool> {
        let texts = &self.entrance.as_ref()?.free.texts;
        // Most functions ask for none.
        if texts.is_empty() { None } else { texts.get(&frame.body.text_of(condition)).map(|(holds, _)| holds.truth()) }
    }

    /// Names that sizes get, and numbers of axes, where a shape is taken apart: `M, N = x.shape`.
    pub(super) fn unpacked(&mut self, frame: &Frame, targets: &[ExprId], value: &Value) {
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
    pub(super) fn named(&mut self, frame: &Frame, target: ExprId, value: &Value) {
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
    pub(super) fn starred(&mut self, frame: &Frame, targets: &[ExprId], items: &[ExprId]) {
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
    pub(super) fn lacks_axis(&mut self, shape: &[Value], axis: &Value) {
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
    pub(super) fn not_possible(&mut self, t: &TensorValue, name: &str, args: &Args) {
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
    pub(super) fn used_as_key(&mut self, index: &Value, first: Option<Const>) {
        let Some(entrance) = &mut self.entrance else { return };
        if let Some(first) = first {
            entrance.demand_of(index, |key| Demand::Value(key, first.clone()));
        }
    }

    /// A parameter that is `None` and of which an attribute is read that only tensors have.
    pub(super) fn none_used_as_tensor(&mut self, frame: &Frame, receiver: ExprId, name: &str) {
        if let Expr::Name(parameter) = frame.body.expr(receiver)
            && super::kinds::OF_TENSORS.contains(&name)
        {
            self.demand_of_parameter(parameter, Demand::Tensor(parameter.clone(), None));
        }
    }

    /// `lengths.max().item()`: a number that nothing says.
    pub(super) fn number_of_tensor(&mut self, frame: &Frame, call: ExprId, of: &Value) -> Option<Value> {
        let is_float = matches!(of.kind(), Kind::Tensor(Some(dtype)) if dtype.is_float());
        let entrance = self.entrance.as_mut()?;
        Some(Value::from_const(entrance.free.number(frame.body.text_of(call), is_float)))
    }

    /// An attribute that only tensors have, of a parameter of which nothing is known.
    pub(super) fn used_as_tensor(&mut self, value: &Value, name: &str) {
        let Some(entrance) = &mut self.entrance else { return };
        if super::kinds::OF_TENSORS.contains(&name) || METHODS.contains(&name) {
            entrance.demand_of(value, |key| Demand::Tensor(key, None));
        }
    }

    /// What a kernel does with its arguments.
    pub(super) fn passed(&mut self, item: &FunctionItem, args: &Args) {
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
