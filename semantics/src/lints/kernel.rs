//! A kernel as rules see it: tile IR with facts, and the way back from values to the user's words.
//!
//! **Invariant:** a value's words are what the user wrote for it or the name it was given, never an invention; `None` if there are none.

use std::{cell::RefCell, sync::Arc};

use rustc_hash::{FxHashMap, FxHashSet};
use smol_str::SmolStr;
use tritium_tile::{
    Function as TileFunction, OpId, OpKind, ValueDef, ValueId,
    facts::{self, Facts, Index, Launched, Meanings, Numbers},
    ops::CastOp,
    rewrite,
};

use crate::{
    Db, Function,
    body::{Body, Expr, ExprId, Stmt, StmtId},
    diagnostics::Code,
    elaborate::{Elaborated, OriginData, source_text, times_bound},
    items,
    problem::{Applicability, At, Edit, Fix, Place, Problem},
    types::{TileType, Ty, shape_text, symbolic_shape},
};

pub(super) struct Kernel<'a> {
    pub db: &'a dyn Db,
    pub function: &'a TileFunction,
    pub facts: Facts,
    pub numbers: Numbers,
    pub meanings: Meanings,
    pub users: Vec<Vec<OpId>>,
    /// Nothing was left out of the IR: what is absent there is absent.
    pub complete: bool,
    /// Whether launches are known that make this specialisation.
    pub is_launched: bool,
    /// What is known of them.
    pub launched: &'a Launched,
    elaborated: &'a Elaborated,
    /// In program order; every rule goes through them.
    ops: Vec<OpId>,
    pub owners: Vec<Option<OpId>>,
    bodies: RefCell<FxHashMap<Function, Option<Arc<Written>>>>,
    problems: Vec<Problem>,
}

/// A body and the names its expressions' values are given.
pub(super) struct Written {
    pub body: Arc<Body>,
    names: FxHashMap<ExprId, SmolStr>,
}

impl<'a> Kernel<'a> {
    pub(super) fn new(
        db: &'a dyn Db,
        elaborated: &'a Elaborated,
        function: &'a TileFunction,
        launched: &'a Launched,
    ) -> Kernel<'a> {
        let facts = facts::of_launched(function, launched);
        let meanings = facts::meanings(function, &facts);
        let mut ops = Vec::new();
        function.walk(|_, op| ops.push(op));
        Kernel {
            db,
            function,
            numbers: facts::numbers(function),
            meanings,
            users: rewrite::users(function),
            complete: elaborated.complete,
            is_launched: !launched.params.is_empty(),
            launched,
            facts,
            elaborated,
            ops,
            owners: rewrite::owner_ops(function),
            bodies: RefCell::default(),
            problems: Vec::new(),
        }
    }

    pub(super) fn into_problems(self) -> Vec<Problem> {
        self.problems
    }

    // ---- the IR

    /// Every op that stands in a block, in program order.
    pub(super) fn ops(&self) -> Vec<OpId> {
        self.ops.clone()
    }

    /// The op that defines a value with its kind.
    pub(super) fn def(&self, value: ValueId) -> Option<(OpId, &'a OpKind)> {
        let op = self.function.def_op(value)?;
        Some((op, &self.function.op(op).kind))
    }

    pub(super) fn operands(&self, op: OpId) -> &'a [ValueId] {
        &self.function.op(op).operands
    }

    /// By op: whether an `if` decides that it runs.
    pub(super) fn guarded(&self) -> Vec<bool> {
        let mut out = vec![false; self.function.ops.len()];
        let mut pending = vec![(self.function.body, false)];
        while let Some((block, guarded)) = pending.pop() {
            for &op in &self.function.block(block).ops {
                out[op.index()] = guarded;
                let inner = guarded || matches!(self.function.op(op).kind, OpKind::If | OpKind::While { .. });
                pending.extend(self.function.op(op).regions.iter().map(|&r| (r, inner)));
            }
        }
        out
    }

    /// The value before it was stretched, turned or widened.
    pub(super) fn core(&self, mut value: ValueId) -> ValueId {
        while let Some((op, kind)) = self.def(value) {
            match kind {
                OpKind::Splat
                | OpKind::Broadcast
                | OpKind::ExpandDims { .. }
                | OpKind::Promise { .. }
                | OpKind::ConvertLayout => {}
                OpKind::Cast(CastOp::ExtS | CastOp::ExtU) => {}
                _ => break,
            }
            value = self.operands(op)[0];
        }
        value
    }

    // ---- the user's words

    pub(super) fn origin(&self, op: OpId) -> Option<OriginData> {
        self.elaborated.origins.get(self.function.op(op).origin.0 as usize).copied()
    }

    pub(super) fn place(&self, op: OpId) -> Option<Place> {
        Some(self.origin(op)?.place)
    }

    pub(super) fn written(&self, function: Function) -> Option<Arc<Written>> {
        let mut bodies = self.bodies.borrow_mut();
        let entry = bodies.entry(function).or_insert_with(|| {
            let (body, _) = items::function_body(self.db, function)?;
            let mut names = FxHashMap::default();
            for stmt in &body.stmts {
                if let Stmt::Assign { targets, value } = stmt
                    && let [target] = targets[..]
                    && let Expr::Name(name) = body.expr(target)
                {
                    names.insert(*value, name.clone());
                }
            }
            Some(Arc::new(Written { body, names }))
        });
        entry.clone()
    }

    /// The expression an op was emitted for.
    pub(super) fn expr(&self, op: OpId) -> Option<(Arc<Written>, Place, ExprId)> {
        let place = self.place(op)?;
        match place.at {
            At::Expr(expr) => Some((self.written(place.function)?, place, expr)),
            At::Argument(_) | At::Stmt(_) | At::Param(_) | At::Name => None,
        }
    }

    /// A value as the user calls it: its name, or the expression that makes it.
    pub(super) fn words(&self, value: ValueId) -> Option<String> {
        let value = self.core(value);
        match self.function.value(value).def {
            ValueDef::Argument(block, _) if block == self.function.body => {
                self.function.params.iter().find(|p| p.value == value).map(|p| p.name.clone())
            }
            ValueDef::Argument(block, 0) => {
                // The variable of a loop.
                let owner = self.owners[block.index()]?;
                let place = self.place(owner)?;
                let At::Stmt(stmt) = place.at else { return None };
                let written = self.written(place.function)?;
                let Stmt::For { target, .. } = written.body.stmt(stmt) else { return None };
                matches!(self.function.op(owner).kind, OpKind::For(_)).then(|| written.text(*target))
            }
            ValueDef::Argument(..) => None,
            ValueDef::Result(op, _) => match &self.function.op(op).kind {
                OpKind::Constant(tritium_tile::ops::Constant::Int(n)) => Some(n.to_string()),
                OpKind::Constant(tritium_tile::ops::Constant::Float(x)) => Some(crate::constant::Const::float(*x).to_string()),
                OpKind::ProgramId { axis } => {
                    Some(self.expr(op).and_then(|(w, _, e)| w.name(e)).unwrap_or_else(|| format!("tl.program_id({axis})")))
                }
                kind => {
                    let (written, _, expr) = self.expr(op)?;
                    // A conversion inside an operator is not what the user wrote; `.to()` is.
                    if matches!(kind, OpKind::Cast(_)) && !matches!(written.body.expr(expr), Expr::Call { .. }) {
                        return self.words(self.operands(op)[0]);
                    }
                    Some(written.name(expr).unwrap_or_else(|| written.text(expr)))
                }
            },
        }
    }

    /// As [`Kernel::words`], in backticks, or what to say instead.
    pub(super) fn say(&self, value: ValueId, otherwise: &str) -> String {
        match self.words(value) {
            Some(words) if !words.contains('…') && words.len() <= 60 => format!("`{words}`"),
            _ => otherwise.to_owned(),
        }
    }

    /// The place that made a value.
    pub(super) fn place_of(&self, value: ValueId) -> Option<Place> {
        match self.function.value(self.core(value)).def {
            ValueDef::Result(op, _) => self.place(op),
            ValueDef::Argument(..) => None,
        }
    }

    /// What an index is called: the first name on its way into addresses, such as `offs_m`.
    pub(super) fn index_words(&self, index: Index) -> String {
        let mut value = index;
        for _ in 0..6 {
            let named = self.def(value).and_then(|(op, _)| self.expr(op)).and_then(|(w, _, e)| w.name(e));
            if let Some(name) = named {
                return format!("`{name}`");
            }
            let next = self.users[value.index()].iter().find_map(|&op| match self.function.op(op).kind {
                OpKind::Binary(_) | OpKind::Cast(_) => Some(self.function.op(op).results[0]),
                _ => None,
            });
            match next.filter(|&n| self.function.ty(n).shape().len() == 1) {
                Some(next) => value = next,
                None => break,
            }
        }
        self.say(index, "an index")
    }

    /// The type of an expression, as it was written.
    pub(super) fn ty(&self, function: Function, expr: ExprId) -> Option<&'a TileType> {
        match self.elaborated.types.get(&function)?.get(expr)? {
            Ty::Tile(ty) => Some(ty),
            _ => None,
        }
    }

    /// The shape of an expression as the user calls it: `[BLOCK_M, 64]`.
    pub(super) fn shape(&self, function: Function, expr: ExprId) -> Option<String> {
        let ty = self.ty(function, expr)?;
        Some(symbolic_shape(&ty.shape).unwrap_or_else(|| shape_text(&ty.shape)))
    }

    // ---- saying it

    /// A problem where an op stands; nothing if it stands nowhere in the text.
    pub(super) fn problem(&self, code: Code, op: OpId, message: impl Into<String>) -> Option<Problem> {
        let origin = self.origin(op)?;
        Some(Problem {
            code,
            level: None,
            message: message.into(),
            place: origin.place,
            related: Vec::new(),
            fixes: Vec::new(),
            calls: self.calls(origin),
        })
    }

    /// The calls an origin was reached through, innermost first.
    fn calls(&self, mut origin: OriginData) -> Vec<Place> {
        let mut calls = Vec::new();
        while let Some(&above) = origin.inlined_at.and_then(|i| self.elaborated.origins.get(i as usize)) {
            calls.push(above.place);
            if calls.len() > 64 {
                break;
            }
            origin = above;
        }
        calls
    }

    pub(super) fn has_said(&self, code: Code, place: Place) -> bool {
        self.problems.iter().any(|p| (p.code, p.place) == (code, place))
    }

    /// Whether a problem of a code says that this place takes part in it.
    pub(super) fn has_pointed_at(&self, code: Code, place: Place) -> bool {
        self.problems.iter().any(|p| p.code == code && p.related.iter().any(|(at, _)| *at == place))
    }

    /// One message per code and place: the first stays.
    pub(super) fn report(&mut self, problem: Problem) {
        if self.problems.iter().all(|p| (p.code, p.place) != (problem.code, problem.place)) {
            self.problems.push(problem);
        }
    }
}

impl Written {
    /// Writes `suffix` after an expression, in parentheses where precedence asks for them.
    pub(super) fn append(&self, function: Function, expr: ExprId, suffix: &str) -> Vec<Edit> {
        let place = Place { function, at: At::Expr(expr) };
        match self.body.expr(expr) {
            Expr::Name(_) | Expr::Attribute { .. } | Expr::Call { .. } | Expr::Subscript { .. } => {
                vec![Edit::InsertAfter(place, suffix.to_owned())]
            }
            _ => vec![Edit::InsertBefore(place, "(".to_owned()), Edit::InsertAfter(place, format!("){suffix}"))],
        }
    }

    pub(super) fn name(&self, expr: ExprId) -> Option<String> {
        self.names.get(&expr).map(SmolStr::to_string)
    }

    /// Whether a name is bound by one assignment and nothing else, and so is what that made it wherever it is seen after it.
    pub(super) fn is_bound_once(&self, name: &str) -> bool {
        times_bound(&self.body, name) == 1
    }

    /// The conditions of the `if` statements that an expression stands in, and whether they hold there.
    pub(super) fn conditions(&self, expr: ExprId) -> Vec<(String, bool)> {
        let mut out = Vec::new();
        let mut pending: Vec<StmtId> = self.body.root.clone();
        while let Some(stmt) = pending.pop() {
            let is_in = |stmts: &[StmtId]| {
                let mut is_in = false;
                items::walk(&self.body, stmts, &mut |node| is_in |= matches!(node, items::Node::Expr(id) if id == expr));
                is_in
            };
            if !is_in(&[stmt]) {
                continue;
            }
            pending.clear();
            match self.body.stmt(stmt) {
                Stmt::If { condition, then, otherwise } => {
                    for (block, holds) in [(then, true), (otherwise, false)] {
                        if is_in(block) {
                            out.push((self.text(*condition), holds));
                            pending.extend(block);
                        }
                    }
                }
                Stmt::Function(def) => pending.extend(&def.body),
                other => items::module_blocks(other).into_iter().for_each(|block| pending.extend(block)),
            }
        }
        out
    }

    /// The names in an expression.
    pub(super) fn names_in(&self, expr: ExprId) -> FxHashSet<SmolStr> {
        let mut names = FxHashSet::default();
        items::walk_expr(&self.body, expr, &mut |node| {
            if let items::Node::Expr(id) = node
                && let Expr::Name(name) = self.body.expr(id)
            {
                names.insert(name.clone());
            }
        });
        names
    }

    pub(super) fn text(&self, expr: ExprId) -> String {
        source_text(&self.body, expr, 0)
    }

    /// The argument of a call: by position, or by keyword.
    pub(super) fn argument(&self, call: ExprId, position: usize, keyword: &str) -> Option<ExprId> {
        use crate::body::ArgKind;
        let Expr::Call { callee, args } = self.body.expr(call) else { return None };
        // A method's receiver is its first argument; modules are short names in front of functions.
        if let Some(arg) = args.iter().find(|a| matches!(&a.kind, ArgKind::Keyword(k) if k == keyword)) {
            return Some(arg.value);
        }
        if let Expr::Attribute { receiver, .. } = self.body.expr(*callee)
            && !matches!(self.body.expr(*receiver), Expr::Name(_) | Expr::Attribute { .. })
        {
            return None;
        }
        args.iter().filter(|a| a.kind == ArgKind::Positional).nth(position).map(|a| a.value)
    }
}

/// Adds to a problem.
pub(super) trait ProblemExt: Sized {
    fn with(self, place: Option<Place>, text: impl Into<String>) -> Self;
    fn fix(self, title: impl Into<String>, applicability: Applicability, edits: Vec<Edit>) -> Self;
}

impl ProblemExt for Problem {
    fn with(mut self, place: Option<Place>, text: impl Into<String>) -> Problem {
        if let Some(place) = place.filter(|&p| p != self.place) {
            self.related.push((place, text.into()));
        }
        self
    }

    fn fix(mut self, title: impl Into<String>, applicability: Applicability, edits: Vec<Edit>) -> Problem {
        self.fixes.push(Fix { title: title.into(), applicability, edits });
        self
    }
}
