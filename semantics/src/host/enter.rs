//! Functions that nothing calls, entered with arguments of free sizes: so what a library launches can run.
//!
//! A function is run as often as it takes: what a run shows that it needs (an axis that is read, sizes that are compared, a check that
//! fails) is followed in the next one. **Invariant:** this is worked out when somebody asks for it, and is no part of a check; a launch
//! counts as reached where everything that it takes is known.

mod kernel;
mod uses;
mod wants;

pub use kernel::enter_kernel;

use std::{fmt, path::PathBuf, rc::Rc};

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use super::{
    HostLaunches, HostPlace,
    free::{Choice, Demand, Free},
    interpret::{Frame, Host},
    torch::Args,
    value::{Closure, Kind, Method, Storage, TensorValue, Value},
};
use crate::{
    Db, SourceFile,
    body::{Body, CompareOp, Expr, ExprId, Param, Stmt, StmtId},
    items::{self, Node, chunk_body},
    launch::{LaunchSource, Launches},
};

/// Runs of one function.
const MAX_RUNS: usize = 40;
/// Axes of a tensor that is chosen.
const MAX_RANK: usize = 8;
/// Functions through which a launch is looked for, where the one around it does not come to it.
const MAX_CALLERS: usize = 4;
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
