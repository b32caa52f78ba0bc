//! The state of one walk: the function being built, the names in scope, what was found out.
//!
//! **Invariant:** every operation that is emitted goes through [`Evaluator::emit`], every problem through [`Evaluator::report`].

use std::{sync::Arc, vec::IntoIter};

use indexmap::map;
use rustc_hash::{FxHashMap, FxHashSet};
use smol_str::SmolStr;
use tritium_tile::{self as tile, BlockId, OpId, OpKind, Origin, ValueId, ops::Constant as TileConstant};

use super::{
    Call, CallArgument, Elaboration, OrderedMap, OriginData, Types, TypesOf, names,
    scope::{Scope, Slot},
    statements::Flow,
    value::{Constant, Tile, Value},
};
use crate::{
    Db, Function,
    body::{Body, ExprId, FunctionDef, ParamKind, StmtId},
    constant::Const,
    diagnostics::Code,
    dtype::DType,
    problem::{Applicability, At, Edit, Fix, Place, Problem},
    types::{Dim, Dims, TileType, Ty},
    versions::Rules,
};

/// Steps (statements, loop trips, calls) one function may take.
const FUEL: u32 = 50_000;
/// Calls within calls.
pub(super) const MAX_DEPTH: u32 = 48;

/// A problem was reported, or an unknown value met: there is nothing to say any more.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Silenced;

pub(super) type Eval<T> = Result<T, Silenced>;

pub(super) struct Entry {
    pub argument: CallArgument,
    /// Of its run-time parts, in order; 1 where nothing is said.
    pub divisibility: Vec<u32>,
}

impl Entry {
    pub(super) fn plain(argument: CallArgument) -> Entry {
        Entry { argument, divisibility: Vec::new() }
    }
}

pub(super) struct Evaluator<'a> {
    pub db: &'a dyn Db,
    pub function: Function,
    pub body: &'a Body,
    pub def: &'a FunctionDef,
    pub rules: &'static Rules,
    pub triton: SmolStr,
    pub depth: u32,
    pub is_entry: bool,

    pub out: tile::Function,
    pub block: BlockId,
    pub origin: Origin,
    pub callees: OrderedMap<Call, tile::Function>,
    origins: Vec<OriginData>,
    /// By the number of this function's own expressions, which are most, and by place; `u32::MAX` is none yet.
    origin_of_own: Vec<u32>,
    origin_of: FxHashMap<Place, u32>,

    pub scope: Scope,
    pub loops: u32,
    /// Of this function's expressions, and of its callees'.
    pub own_types: Types,
    types: TypesOf,
    pub bindings: OrderedMap<Place, (SmolStr, Ty)>,
    pub(super) problems: OrderedMap<(Code, Place), Problem>,
    /// Names already told to be compile-time: one message each.
    pub blamed: FxHashSet<Place>,
    fuel: u32,
    pub complete: bool,
    /// Where `complete` was lost first.
    pub gap: Option<Place>,
}

/// Walks a function.
pub(super) fn evaluate(
    db: &dyn Db,
    function: Function,
    arguments: Vec<Entry>,
    triton: &SmolStr,
    depth: u32,
    is_entry: bool,
) -> Elaboration {
    let nothing = || Elaboration {
        functions: vec![(None, tile::Function::new(function.name(db).as_str()))],
        origins: Vec::new(),
        types: TypesOf::default(),
        bindings: Vec::new(),
        problems: Vec::new(),
        returns: Value::Unknown,
        complete: false,
        gap: Some(Place { function, at: At::Name }),
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
        rules,
        triton: triton.clone(),
        depth,
        is_entry,
        out: tile::Function::with_room(function.name(db).as_str(), body.exprs.len()),
        block: BlockId(0),
        origin: Origin::NONE,
        callees: OrderedMap::default(),
        origins: Vec::new(),
        origin_of_own: vec![u32::MAX; body.exprs.len()],
        origin_of: FxHashMap::default(),
        scope: Scope::default(),
        loops: 0,
        own_types: Types::with_room(body.exprs.len()),
        types: TypesOf::default(),
        bindings: OrderedMap::default(),
        problems: OrderedMap::default(),
        blamed: FxHashSet::default(),
        fuel: FUEL,
        complete: true,
        gap: None,
    };
    evaluator.bind_parameters(arguments);
    let flow = evaluator.run(&def.body, None);
    let returns = match flow {
        Flow::Falls | Flow::Ended => Value::none(),
        Flow::Returned { value, .. } => value,
    };
    evaluator.finish(returns)
}

impl<'a> Evaluator<'a> {
    fn bind_parameters(&mut self, arguments: Vec<Entry>) {
        let def = self.def;
        let mut arguments = arguments.into_iter();
        for (index, param) in def.params.iter().enumerate() {
            let place = Place { function: self.function, at: At::Param(index as u32) };
            let Entry { argument, divisibility } = arguments.next().unwrap_or_else(|| Entry::plain(CallArgument::Default));
            let value = match argument {
                CallArgument::Default => match param.default {
                    Some(default) => self.eval(default),
                    None if param.kind == ParamKind::Rest => Value::Tuple(Vec::new()),
                    None => {
                        self.complete = false;
                        Value::Unknown
                    }
                },
                other => self.parameter(&param.name, place, other, &mut divisibility.into_iter()),
            };
            let ty = value.ty();
            self.scope.insert(param.name.clone(), Slot::Bound { value, place, from: None, decayed: false });
            self.bindings.insert(place, (param.name.clone(), ty));
        }
    }

    /// The value of a parameter; run-time parts become parameters of the tile function.
    fn parameter(&mut self, name: &SmolStr, place: Place, argument: CallArgument, divisibility: &mut IntoIter<u32>) -> Value {
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
                let id = self.out.add_param(name.as_str(), ty.tile(), divisibility.next().unwrap_or(1));
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
                    .map(|(i, item)| self.parameter(&SmolStr::from(format!("{name}_{i}")), place, item, divisibility))
                    .collect(),
            ),
            CallArgument::Record(class, items) => {
                let items = items
                    .into_iter()
                    .zip(&class.fields)
                    .map(|(item, field)| {
                        // A compile-time field is named in messages, a run-time one in the tile IR.
                        let dot = if matches!(item, CallArgument::Const(_)) { '.' } else { '_' };
                        self.parameter(&SmolStr::from(format!("{name}{dot}{}", field.name)), place, item, divisibility)
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
                let tiles = self.part_parameters(name, place, parts, divisibility);
                match ty.elem.scalar() {
                    Some(pointee) => Value::BlockPointer(super::value::BlockPointer { parts: tiles, block: ty.shape, pointee }),
                    None => Value::Unknown,
                }
            }
            CallArgument::Descriptor(parts, ty, nan) => {
                let parts = self.part_parameters(name, place, parts, divisibility);
                match ty.elem.scalar() {
                    Some(pointee) => Value::Descriptor(super::value::Descriptor { parts, block: ty.shape, pointee, nan }),
                    None => Value::Unknown,
                }
            }
            CallArgument::Void => Value::Void,
        }
    }

    fn part_parameters(
        &mut self,
        name: &SmolStr,
        place: Place,
        parts: Vec<TileType>,
        divisibility: &mut IntoIter<u32>,
    ) -> Vec<Tile> {
        let mut tiles = Vec::new();
        for (i, part) in parts.into_iter().enumerate() {
            let part_name = SmolStr::from(format!("{name}_{i}"));
            if let Value::Tile(tile) = self.parameter(&part_name, place, CallArgument::Tile(part), divisibility) {
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
        let operands: Vec<ValueId> =
            if self.is_entry && self.depth == 0 { Vec::new() } else { leaves.iter().map(|t| t.id).collect() };
        if returns.has_unknown() {
            self.complete = false;
        }
        self.emit(OpKind::Return, &operands, [], &[]);
        self.out.results = operands.iter().map(|&id| self.out.ty(id).clone()).collect();
        // Numbers that were looked at and not needed.
        tile::rewrite::erase_dead(&mut self.out);
        // There was room for what the walk might emit; what is kept has none.
        self.out.ops.shrink_to_fit();
        self.out.values.shrink_to_fit();
        let mut functions = vec![(None, self.out)];
        functions.extend(self.callees.into_iter().map(|(call, function)| (Some(call), function)));
        let own = (!self.own_types.is_empty()).then(|| (self.function, Arc::new(self.own_types)));
        let types = own.into_iter().chain(self.types).collect();
        Elaboration {
            functions,
            origins: self.origins,
            types,
            bindings: self.bindings.into_iter().map(|(place, (name, ty))| (place, name, ty)).collect(),
            problems: self.problems.into_values().collect(),
            returns,
            complete: self.complete,
            gap: self.gap,
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
        let result = work(self);
        self.block = outer;
        result
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
            self.origins.push(OriginData { place, inlined_at: None });
        }
        std::mem::replace(&mut self.origin, Origin(*known))
    }

    /// Takes in what a callee found: its functions (once each), origins, types and problems. Returns the index of its entry.
    pub(super) fn splice(&mut self, call: Call, callee: &Elaboration, site: ExprId) -> tile::FunctionId {
        let call_place = self.place(site);
        let at = self.origin.0;
        for (&function, types) in &callee.types {
            if function == self.function {
                self.own_types.extend(types);
                continue;
            }
            match self.types.entry(function) {
                map::Entry::Vacant(entry) => _ = entry.insert(types.clone()),
                map::Entry::Occupied(known) if Arc::ptr_eq(known.get(), types) => {}
                map::Entry::Occupied(mut known) => Arc::make_mut(known.get_mut()).extend(types),
            }
        }
        for (place, name, ty) in &callee.bindings {
            self.bindings.insert(*place, (name.clone(), ty.clone()));
        }
        for problem in &callee.problems {
            let mut problem = problem.clone();
            problem.calls.push(call_place);
            self.report(problem);
        }
        self.complete &= callee.complete;
        self.gap = self.gap.or(callee.gap);
        if let Some(index) = self.callees.get_index_of(&call) {
            return tile::FunctionId(index as u32 + 1);
        }
        // Reserve places first, so that callees can name each other.
        let mut indices = Vec::new();
        for (i, (key, function)) in callee.functions.iter().enumerate() {
            let key = if i == 0 { call } else { key.unwrap_or(call) };
            let fresh = !self.callees.contains_key(&key);
            let index = self.callees.insert_full_if_absent(key, function);
            indices.push((index, fresh));
        }
        let base = self.origins.len() as u32;
        self.origins.extend(
            callee
                .origins
                .iter()
                .map(|o| OriginData { place: o.place, inlined_at: Some(o.inlined_at.map_or(at, |inner| inner + base)) }),
        );
        for &(index, fresh) in &indices {
            if !fresh {
                continue;
            }
            let mut name = self.callees[index].name.clone();
            let taken = |name: &str, all: &OrderedMap<Call, tile::Function>, own: &str| {
                own == name || all.values().enumerate().any(|(i, f)| i != index && f.name == name)
            };
            let mut number = 1;
            while taken(&name, &self.callees, &self.out.name) {
                number += 1;
                name = format!("{}_{number}", self.callees[index].name);
            }
            let function = &mut self.callees[index];
            function.name = name;
            for op in &mut function.ops {
                if op.origin != Origin::NONE {
                    op.origin = Origin(op.origin.0 + base);
                }
                if let OpKind::Call { callee } = &mut op.kind {
                    *callee = tile::FunctionId(indices[callee.index()].0 as u32 + 1);
                }
            }
        }
        tile::FunctionId(indices[0].0 as u32 + 1)
    }

    // ---- places and problems

    /// Notes where the walk stopped being complete: the innermost place says so first.
    pub(super) fn note_gap(&mut self, place: Place) {
        if !self.complete {
            self.gap.get_or_insert(place);
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

    pub(super) fn problem(&mut self, code: Code, place: Place, message: impl Into<String>) -> Silenced {
        self.report(problem(code, place, message));
        Silenced
    }

    /// A check per statement, loop trip and call: has the text changed meanwhile, and is there fuel left?
    pub(super) fn step(&mut self, place: Place) -> Eval<()> {
        self.db.unwind_if_revision_cancelled();
        if self.fuel == 0 {
            self.complete = false;
            let name = self.function.name(self.db);
            let message = format!(
                "`{name}` takes more than {FUEL} steps to evaluate; the rest of it is not checked. Shorten its compile-time loops, or use `tl.range`"
            );
            // One message for the whole function, wherever it ran out.
            return Err(self.problem(Code::LIM001, Place { function: place.function, at: At::Name }, message));
        }
        self.fuel -= 1;
        Ok(())
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

trait InsertIfAbsent {
    fn insert_full_if_absent(&mut self, key: Call, function: &tile::Function) -> usize;
}

impl InsertIfAbsent for OrderedMap<Call, tile::Function> {
    fn insert_full_if_absent(&mut self, key: Call, function: &tile::Function) -> usize {
        let entry = self.entry(key);
        let index = entry.index();
        entry.or_insert_with(|| function.clone());
        index
    }
}
