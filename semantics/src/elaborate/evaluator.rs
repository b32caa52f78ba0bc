//! The state of one walk: the function being built, the names in scope, what was found out.
//!
//! **Invariant:** every operation that is emitted goes through [`Evaluator::emit`], every problem through [`Evaluator::report`].

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use smol_str::SmolStr;
use tritium_tile::{self as tile, BlockId, OpId, OpKind, Origin, ValueId, ops::Constant as TileConstant};

use super::{
    Call, CallArgument, Elaboration, Types,
    budget::Budget,
    link::Reached,
    names,
    scan::{MAX_NESTED_LOOPS, Outline},
    scope::{Scope, Slot},
    statements::Flow,
    value::{Constant, Tile, Value},
};
use crate::{
    Db, Function, OrderedMap,
    body::{Body, ExprId, FunctionDef, ParamKind, StmtId},
    constant::Const,
    diagnostics::Code,
    dtype::DType,
    globals::{self, Global},
    problem::{Applicability, At, Edit, Fix, Place, Problem},
    types::{Dim, Dims, TileType, Ty},
    versions::Rules,
};

/// Blocks within blocks, loops and conditions of called functions included.
const MAX_BLOCKS: u32 = 60;

/// A problem was reported, or an unknown value met: there is nothing to say any more.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Poisoned;

pub(super) type Eval<T> = Result<T, Poisoned>;

pub(super) struct Entry {
    pub argument: CallArgument,
    /// Divisibility of its run-time parts, in order; 1 where nothing is said.
    pub divisibility: Vec<u32>,
}

impl Entry {
    pub(super) fn plain(argument: CallArgument) -> Entry {
        Entry { argument, divisibility: Vec::new() }
    }
}

/// What parameters of the tile function are given beside their types.
#[derive(Default)]
struct ParamFacts {
    /// Divisibility of the run-time parts of one argument, in order; what is missing is 1.
    divisibility: std::vec::IntoIter<u32>,
    /// Those that are taken: two parameters never share one.
    names: FxHashSet<SmolStr>,
}

impl ParamFacts {
    /// The name of a part of a compound argument, and of the function's parameters none.
    fn free_name(&mut self, name: String) -> SmolStr {
        let mut free = SmolStr::from(&name);
        for number in 2.. {
            if self.names.insert(free.clone()) {
                break;
            }
            free = format!("{name}_{number}").into();
        }
        free
    }
}

pub(super) struct Evaluator<'a> {
    pub db: &'a dyn Db,
    pub function: Function,
    pub body: &'a Body,
    pub def: &'a FunctionDef,
    pub(super) outline: Outline,
    pub rules: &'static Rules,
    pub triton: SmolStr,
    /// See [`Call::recursion`].
    pub recursion: u32,
    pub is_entry: bool,

    pub out: tile::Function,
    pub block: BlockId,
    pub origin: Origin,
    pub calls: OrderedMap<Call, Reached>,
    /// How many statements around what is walked never run.
    pub dead: u32,
    origins: Vec<Place>,
    /// By the number of this function's own expressions, which are most, and by place; `u32::MAX` is none yet.
    origin_of_own: Vec<u32>,
    origin_of: FxHashMap<Place, u32>,

    pub scope: Scope,
    /// What names that are not in scope mean, as far as they were asked for.
    pub globals: FxHashMap<SmolStr, Option<Global>>,
    pub loops: u32,
    /// What the last `tl.condition` has said.
    pub(super) disable_licm: bool,
    /// Blocks of the tile IR around what is emitted, and the most there were.
    blocks: u32,
    blocks_below: u32,
    calls_below: u32,
    pub types: Types,
    pub bindings: OrderedMap<Place, (SmolStr, Ty)>,
    pub(super) problems: OrderedMap<(Code, Place), Problem>,
    /// Names already told to be compile-time: one message each.
    pub reported: FxHashSet<Place>,
    pub(super) budget: Budget,
    pub complete: bool,
    /// Where `complete` was lost first.
    pub first_unknown: Option<Place>,
    /// An assertion has failed at compile time: Triton goes no further.
    pub stopped: bool,
    /// Conditions around what is walked of which nobody knows whether they hold.
    pub doubtful: u32,
}

/// Walks a function.
pub(super) fn evaluate(
    db: &dyn Db,
    function: Function,
    arguments: Vec<Entry>,
    triton: &SmolStr,
    recursion: u32,
    is_entry: bool,
) -> Elaboration {
    let nothing = || Elaboration {
        function: tile::Function::new(function.name(db).as_str()),
        calls: OrderedMap::default(),
        origins: Vec::new(),
        types: None,
        bindings: Vec::new(),
        problems: Vec::new(),
        returns: Value::Unknown,
        complete: false,
        first_unknown: Some(Place { function, at: At::Name }),
        work: 0,
        whole_work: 0,
        calls_below: 0,
        blocks_below: 0,
        exhausted: false,
        stopped: false,
    };
    let Some((body, stmt)) = names::function_body(db, function) else { return nothing() };
    let body: &Body = &body;
    let Some(def) = names::definition(body, stmt) else { return nothing() };
    let rules = crate::versions::rules(triton).unwrap_or_else(|| crate::versions::newest());
    let mut evaluator = Evaluator {
        db,
        function,
        body,
        def,
        outline: Outline::new(body, &def.body),
        rules,
        triton: triton.clone(),
        recursion,
        is_entry,
        out: tile::Function::with_room(function.name(db).as_str(), body.exprs.len()),
        block: BlockId(0),
        origin: Origin::NONE,
        calls: OrderedMap::default(),
        dead: 0,
        origins: Vec::new(),
        origin_of_own: vec![u32::MAX; body.exprs.len()],
        origin_of: FxHashMap::default(),
        scope: Scope::default(),
        globals: FxHashMap::default(),
        loops: 0,
        disable_licm: false,
        blocks: 0,
        blocks_below: 0,
        calls_below: 0,
        types: Types::with_room(body.exprs.len()),
        bindings: OrderedMap::default(),
        problems: OrderedMap::default(),
        reported: FxHashSet::default(),
        budget: Budget::default(),
        // A file that is being typed in may lack the name, or say one name twice.
        complete: !function.name(db).is_empty() && has_distinct_parameters(def),
        first_unknown: None,
        stopped: false,
        doubtful: 0,
    };
    evaluator.bind_parameters(arguments);
    if let Some(inner) = evaluator.outline.too_deep {
        let what = format!("a loop inside {MAX_NESTED_LOOPS} others");
        evaluator.unsupported(
            evaluator.stmt_place(inner),
            &what,
            "Python refuses the file; move the inner loops into a function",
        );
    }
    let flow = evaluator.run(&def.body, None);
    let returns = match flow {
        Flow::Falls | Flow::Ended => Value::none(),
        Flow::Returned { value, .. } => value,
    };
    // A program ends where its last statement does.
    if evaluator.is_entry
        && let Some(&last) = def.body.last()
    {
        evaluator.at(evaluator.stmt_place(last));
    }
    evaluator.finish(returns)
}

fn has_distinct_parameters(def: &FunctionDef) -> bool {
    let mut names = FxHashSet::default();
    def.params.iter().all(|param| names.insert(&param.name))
}

impl<'a> Evaluator<'a> {
    fn bind_parameters(&mut self, arguments: Vec<Entry>) {
        let def = self.def;
        let mut arguments = arguments.into_iter();
        let mut facts =
            ParamFacts { names: def.params.iter().map(|param| param.name.clone()).collect(), ..ParamFacts::default() };
        let unspecialised = names::unspecialised(self.body, def);
        for (index, param) in def.params.iter().enumerate() {
            let place = Place { function: self.function, at: At::Param(index as u32) };
            if unspecialised.contains(&index)
                && param.annotation.is_some_and(|annotation| names::is_constexpr_annotation(self.body, annotation))
            {
                let message = format!(
                    "`{}` is a tl.constexpr, for whose value the kernel is compiled, and the decorator says not to: Triton refuses \
                     both. Take it out of the list, or drop the annotation",
                    param.name
                );
                self.problem(Code::LNG011, place, message);
            }
            let Entry { argument, divisibility } = arguments.next().unwrap_or_else(|| Entry::plain(CallArgument::Default));
            facts.divisibility = divisibility.into_iter();
            let value = match argument {
                CallArgument::Default => match param.default {
                    Some(default) => self.eval(default),
                    None if param.kind == ParamKind::Rest => Value::Tuple(Vec::new()),
                    None => {
                        self.complete = false;
                        Value::Unknown
                    }
                },
                other => self.parameter(&param.name, place, other, &mut facts),
            };
            let value = match value.nodes() {
                Some(nodes) if self.pay(nodes).is_ok() => value,
                _ => Value::Unknown,
            };
            let ty = value.ty();
            self.scope.insert(param.name.clone(), Slot::Bound { value, place, from: None, decayed: false });
            self.bindings.insert(place, (param.name.clone(), ty));
        }
        // What is assumed of names that functions around it bind. Of the others nothing is known.
        let mut left = arguments.peekable();
        if left.peek().is_some() {
            for (name, Entry { argument, .. }) in globals::captured(self.db, self.function).iter().zip(left) {
                if let CallArgument::Const(value) = argument {
                    self.globals.insert(name.clone(), Some(Global::Constexpr(value)));
                }
            }
        }
    }

    /// The value of a parameter; run-time parts become parameters of the tile function.
    fn parameter(&mut self, name: &SmolStr, place: Place, argument: CallArgument, facts: &mut ParamFacts) -> Value {
        match argument {
            CallArgument::Default => Value::Unknown,
            CallArgument::Unknown => {
                self.complete = false;
                Value::Unknown
            }
            CallArgument::Tile(ty) => {
                let shape: Dims =
                    ty.shape.iter().map(|d| Dim { size: d.size, symbol: d.symbol.clone(), origin: Some(place) }).collect();
                let ty = TileType { elem: ty.elem, shape };
                let id = self.out.add_param(name.as_str(), ty.tile(), facts.divisibility.next().unwrap_or(1));
                Value::Tile(Tile { varies: Tile::all_axes(ty.rank()), ty, id, undefined: None })
            }
            CallArgument::Const(Const::Tuple(items)) if self.rules.constexpr_tuples => {
                Value::Tuple(items.into_iter().map(Value::constant).collect())
            }
            CallArgument::Const(value) => Value::Const(Constant { value, symbol: Some(name.clone()) }),
            CallArgument::Tuple(items) => Value::Tuple(
                items
                    .into_iter()
                    .enumerate()
                    .map(|(i, item)| self.parameter(&facts.free_name(format!("{name}_{i}")), place, item, facts))
                    .collect(),
            ),
            CallArgument::Record(class, items) => {
                let items = items
                    .into_iter()
                    .zip(&class.fields)
                    .map(|(item, field)| {
                        // A compile-time field is named in messages, a run-time one in the tile IR.
                        let dot = if matches!(item, CallArgument::Const(_)) { '.' } else { '_' };
                        self.parameter(&facts.free_name(format!("{name}{dot}{}", field.name)), place, item, facts)
                    })
                    .collect();
                Value::Record(super::value::Record { class, items })
            }
            CallArgument::Type(ty) => Value::Type(ty),
            CallArgument::DescriptorType(ty) => Value::DescriptorType(ty),
            CallArgument::Builtin(builtin) => Value::Builtin(builtin),
            CallArgument::Library(function) => Value::Library(function),
            CallArgument::CustomFloat(float) => Value::CustomFloat(float),
            CallArgument::Module(path) => Value::Module(path),
            CallArgument::BlockPointer(parts, ty) => {
                let tiles = self.part_parameters(name, place, parts, facts);
                match ty.elem.scalar() {
                    Some(pointee) => Value::BlockPointer(super::value::BlockPointer { parts: tiles, block: ty.shape, pointee }),
                    None => Value::Unknown,
                }
            }
            CallArgument::Descriptor(parts, ty, nan, source) => {
                let parts = self.part_parameters(name, place, parts, facts);
                match ty.elem.scalar() {
                    Some(pointee) => Value::Descriptor(super::value::Descriptor { parts, block: ty.shape, pointee, nan, source }),
                    None => Value::Unknown,
                }
            }
            CallArgument::Void => Value::Void,
        }
    }

    fn part_parameters(&mut self, name: &SmolStr, place: Place, parts: Vec<TileType>, facts: &mut ParamFacts) -> Vec<Tile> {
        let mut tiles = Vec::new();
        for (i, part) in parts.into_iter().enumerate() {
            let part_name = facts.free_name(format!("{name}_{i}"));
            if let Value::Tile(tile) = self.parameter(&part_name, place, CallArgument::Tile(part), facts) {
                tiles.push(tile);
            }
        }
        tiles
    }

    fn finish(mut self, returns: Value) -> Elaboration {
        let mut leaves = Vec::new();
        let returns = if self.is_entry && !returns.has_tile() { Value::none() } else { returns };
        returns.leaves(&mut leaves);
        // A kernel's result goes nowhere.
        let operands: Vec<ValueId> = if self.is_entry { Vec::new() } else { leaves.iter().map(|t| t.id).collect() };
        if returns.has_unknown() {
            self.complete = false;
        }
        let work = self.own_work();
        self.emit(OpKind::Return, &operands, [], &[]);
        self.out.results = operands.iter().map(|&id| self.out.ty(id).clone()).collect();
        if self.blocks_below <= MAX_BLOCKS {
            super::promises::hang_on_makers(&mut self.out);
            // Numbers that were looked at and not needed.
            tile::rewrite::erase_dead(&mut self.out);
        }
        // There was room for what the walk might emit; what is kept has none.
        self.out.ops.shrink_to_fit();
        self.out.values.shrink_to_fit();
        Elaboration {
            function: self.out,
            calls: self.calls,
            origins: self.origins,
            types: (!self.types.is_empty()).then(|| (self.function, Arc::new(self.types))),
            bindings: self.bindings.into_iter().map(|(place, (name, ty))| (place, name, ty)).collect(),
            problems: self.problems.into_values().collect(),
            returns,
            complete: self.complete,
            first_unknown: self.first_unknown,
            work,
            whole_work: work + self.budget.spent_by_calls(),
            calls_below: self.calls_below,
            blocks_below: self.blocks_below,
            exhausted: self.budget.is_exhausted(),
            stopped: self.stopped,
        }
    }

    // ---- emitting

    pub(super) fn emit(
        &mut self,
        kind: OpKind,
        operands: &[ValueId],
        results: impl IntoIterator<Item = tile::Type>,
        regions: &[BlockId],
    ) -> OpId {
        let id = self.out.create_op(kind, operands, results, regions, self.origin);
        self.out.block_mut(self.block).ops.push(id);
        id
    }

    /// An operation with one result.
    pub(super) fn emit_value(&mut self, kind: OpKind, operands: &[ValueId], ty: &TileType) -> ValueId {
        let op = self.emit(kind, operands, [ty.tile()], &[]);
        self.out.op(op).results[0]
    }

    /// An operation with one result whose elements vary and are defined as its operands' are.
    pub(super) fn emit_like(&mut self, kind: OpKind, operands: &[&Tile], ty: TileType) -> Tile {
        let ids: Vec<ValueId> = operands.iter().map(|t| t.id).collect();
        let varies = operands.iter().fold(0, |bits, t| bits | t.varies);
        let undefined = operands.iter().find_map(|t| t.undefined);
        Tile { id: self.emit_value(kind, &ids, &ty), ty, varies, undefined }
    }

    pub(super) fn constant_tile(&mut self, value: &Const, dtype: DType, shape: Dims) -> Tile {
        let ty = TileType { elem: dtype.into(), shape };
        let constant = match value {
            Const::Float(f) if dtype.is_float() => TileConstant::Float(f.get()),
            Const::Float(f) => TileConstant::Int(f.get() as i64),
            other if dtype.is_float() => TileConstant::Float(other.as_float().unwrap_or(0.0)),
            other => TileConstant::Int(other.as_int().unwrap_or(0) as i64),
        };
        Tile { id: self.emit_value(OpKind::Constant(constant), &[], &ty), ty, varies: 0, undefined: None }
    }

    /// Emits into another block; the body must end it itself.
    pub(super) fn inside<T>(&mut self, block: BlockId, work: impl FnOnce(&mut Self) -> T) -> T {
        let outer = std::mem::replace(&mut self.block, block);
        self.blocks += 1;
        self.note_nesting(0);
        let result = work(self);
        self.blocks -= 1;
        self.block = outer;
        result
    }

    /// Keeps blocks within blocks, those of callees included, to what every later stage follows.
    fn note_nesting(&mut self, below: u32) {
        let blocks = self.blocks + below;
        if blocks > MAX_BLOCKS && self.blocks_below <= MAX_BLOCKS {
            self.complete = false;
            if let Some(&place) = self.origins.get(self.origin.0 as usize) {
                let message = format!(
                    "conditions and loops, those of called functions included, are nested more than {MAX_BLOCKS} deep here: Tritium does not compile that"
                );
                self.tell_limit(place, message);
            }
        }
        self.blocks_below = self.blocks_below.max(blocks);
    }

    /// What is emitted from here on comes from this place.
    pub(super) fn at(&mut self, place: Place) -> Origin {
        let next = self.origins.len() as u32;
        let known = match place.at {
            At::Expr(expr) if place.function == self.function => &mut self.origin_of_own[expr.0 as usize],
            _ => self.origin_of.entry(place).or_insert(u32::MAX),
        };
        if *known == u32::MAX {
            *known = next;
            self.origins.push(place);
        }
        std::mem::replace(&mut self.origin, Origin(*known))
    }

    /// Remembers that a call is made. Returns what its operation names.
    pub(super) fn reach(&mut self, call: Call, callee: &Elaboration, site: ExprId) -> tile::FunctionId {
        self.note_nesting(callee.blocks_below);
        self.calls_below = self.calls_below.max(callee.calls_below + 1);
        let live = self.dead == 0;
        let reached = Reached {
            site: self.place(site),
            origin: self.origin.0,
            live,
            problems_before: self.problems.len(),
            bindings_before: self.bindings.len(),
            origins_before: self.origins.len(),
        };
        let entry = self.calls.entry(call);
        let index = entry.index();
        let known = entry.or_insert(reached);
        if live && !known.live {
            (known.live, known.origin, known.origins_before) = (true, reached.origin, reached.origins_before);
        }
        tile::FunctionId(index as u32 + 1)
    }

    // ---- places and problems

    /// Notes where the walk stopped being complete: the innermost place says so first.
    pub(super) fn note_gap(&mut self, place: Place) {
        if !self.complete {
            self.first_unknown.get_or_insert(place);
        }
    }

    pub(super) fn place(&self, expr: ExprId) -> Place {
        Place { function: self.function, at: At::Expr(expr) }
    }

    pub(super) fn stmt_place(&self, stmt: StmtId) -> Place {
        Place { function: self.function, at: At::Stmt(stmt) }
    }

    /// One message per code and place: the first stays.
    pub(super) fn report(&mut self, problem: Problem) {
        // Of several at one place the one that matters most is told.
        match self.problems.get_mut(&(problem.code, problem.place)) {
            Some(told) if told.severity() <= problem.severity() => {}
            Some(told) => *told = problem,
            None => _ = self.problems.insert((problem.code, problem.place), problem),
        }
    }

    pub(super) fn problem(&mut self, code: Code, place: Place, message: impl Into<String>) -> Poisoned {
        self.report(problem(code, place, message));
        Poisoned
    }

    /// How the user wrote it, shortened.
    pub(super) fn text(&self, expr: ExprId) -> String {
        super::expressions::source_text(self.body, expr, 0)
    }
}

pub(super) fn problem(code: Code, place: Place, message: impl Into<String>) -> Problem {
    Problem { code, level: None, message: message.into(), place, related: Vec::new(), fixes: Vec::new(), calls: Vec::new() }
}

pub(super) trait ProblemExt: Sized {
    fn related(self, place: Option<Place>, text: impl Into<String>) -> Self;
    fn fix(self, title: impl Into<String>, applicability: Applicability, edits: Vec<Edit>) -> Self;
}

impl ProblemExt for Problem {
    fn related(mut self, place: Option<Place>, text: impl Into<String>) -> Problem {
        if let Some(place) = place {
            self.related.push((place, text.into()));
        }
        self
    }

    fn fix(mut self, title: impl Into<String>, applicability: Applicability, edits: Vec<Edit>) -> Problem {
        self.fixes.push(Fix { title: title.into(), applicability, edits });
        self
    }
}
