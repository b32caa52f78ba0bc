//! What a kernel's parameters are, read off its body: pointers flow additively into loads and stores, flags into conditions.
//!
//! **Invariant:** no types and no values are needed, so this runs before there is any specialisation; a parameter whose use says nothing
//! is a number.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
};

use rustc_hash::{FxHashMap, FxHashSet};
use smol_str::SmolStr;

use crate::{
    Db, Function,
    body::{Arg, ArgKind, BinaryOp, Body, CompareOp, Expr, ExprId, Stmt, StmtId},
    builtins::{self, Builtin},
    constant::Const,
    globals::{self, Global},
    items::{self, Node, function_body, items as items_of, walk},
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Number,
    Pointer,
    /// A pointer to integers: what is loaded becomes an offset or a bound.
    IndexPointer,
    /// Tested by `if`.
    Flag,
    /// Given to `.to(…)` or `dtype=`.
    Dtype,
    /// How often a loop is unrolled.
    Trips,
    /// A tile's size, and how often a loop is unrolled.
    UnrolledSize,
    /// Called.
    Function,
    /// Compared with words or numbers: an index into [`Flow::choices`].
    Choice(u32),
    /// A tensor descriptor, whose own methods load and store, a tuple, or another object.
    Compound,
    /// The last stride of a tensor descriptor, which must be 1.
    One,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Flow {
    /// One for each parameter, and behind them for each of [`globals::captured`].
    pub(super) roles: Vec<Role>,
    /// What a parameter is compared with, in the order of the text.
    pub(super) choices: Vec<Vec<Const>>,
    /// Parameters of which `//`, an operation on bits or a range is made: integers, whatever they are called.
    pub(super) whole: BTreeSet<usize>,
    /// Parameters that conditions are made of: their values decide which way the kernel goes.
    pub(super) decides: BTreeSet<usize>,
    /// Parameters that what is returned may start from, if it is an address.
    pub(super) returned: BTreeSet<usize>,
}

#[salsa::tracked(returns(ref), cycle_result = nothing)]
pub(super) fn flow(db: &dyn Db, function: Function) -> Flow {
    let Some((body, stmt)) = function_body(db, function) else { return Flow::default() };
    let Stmt::Function(def) = body.stmt(stmt) else { return Flow::default() };
    let reader = Reader::new(db, function, &body);

    // Behind the parameters stand the names of functions around it that nothing says.
    let own = def.params.len();
    let mut roles = vec![Role::Number; own + globals::captured(db, function).len()];
    let mut choices: Vec<Vec<Const>> = Vec::new();
    // Who multiplies, divides or compares is no pointer, whatever it is added to.
    let mut numbers = BTreeSet::new();
    walk(&body, &def.body, &mut |node| {
        let Node::Expr(id) = node else { return };
        match body.expr(id) {
            Expr::Binary { op: BinaryOp::Add | BinaryOp::Sub, .. } => {}
            Expr::Binary { lhs, rhs, .. } => [lhs, rhs].iter().for_each(|e| numbers.extend(reader.param(**e))),
            Expr::Compare { first, rest } if rest.iter().all(|r| !matches!(r.0, CompareOp::Is | CompareOp::IsNot)) => {
                numbers.extend(reader.param(*first));
                rest.iter().for_each(|r| numbers.extend(reader.param(r.1)));
            }
            _ => {}
        }
    });
    let mut pointers = BTreeSet::new();
    let mut integers = Loaded::default();
    let (mut trips, mut sizes) = (BTreeSet::new(), BTreeSet::new());
    // What is written beside other numbers, or in a shape.
    let mut reckoned = BTreeSet::new();
    let (mut whole, mut decides, mut returned) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    walk(&body, &def.body, &mut |node| match node {
        Node::Stmt(id) => match body.stmt(id) {
            Stmt::If { condition, .. } | Stmt::While { condition, .. } => {
                reader.flags(*condition, &mut roles);
                decides.extend(reader.sources(*condition));
            }
            // `a, b = x`
            Stmt::Assign { targets, value } => {
                if let ([target], Some(param)) = (&targets[..], reader.param(*value))
                    && matches!(body.expr(*target), Expr::Tuple(_))
                {
                    roles[param] = Role::Compound;
                }
            }
            Stmt::Return(Some(value)) => {
                returned.extend(reader.roots(*value, &numbers, &mut BTreeSet::new()).into_iter().map(|root| root.0));
            }
            _ => {}
        },
        Node::Expr(id) => match body.expr(id) {
            Expr::If { condition, .. } => {
                reader.flags(*condition, &mut roles);
                decides.extend(reader.sources(*condition));
            }
            Expr::Call { callee, args } => {
                for address in reader.addresses(*callee, args) {
                    for (root, leaf) in reader.roots(address, &numbers, &mut BTreeSet::new()) {
                        pointers.insert(root);
                        reader.offsets(address, leaf, &mut integers, &mut FxHashSet::default());
                    }
                }
                for value in reader.integers(*callee, args) {
                    reader.loads(value, &mut integers);
                    whole.extend(reader.param(value));
                }
                for address in reader.helper_arguments(*callee, args, |role| role == Role::IndexPointer) {
                    reader.leads(address, &mut integers);
                }
                if let Some(name) = reader.builtin(*callee)
                    && matches!(name.as_str(), "range" | "static_range")
                {
                    args.iter().for_each(|a| reader.loaded(a.value, &mut integers));
                    args.iter().for_each(|a| reader.terms(a.value, &mut whole));
                    // With a step, the bounds are sizes; so is what tiles are made with.
                    if name == "static_range" && args.len() < 3 {
                        args.iter().for_each(|a| reader.terms(a.value, &mut trips));
                    }
                }
                if reader.builtin(*callee).is_some_and(|name| name == "arange") {
                    args.iter().for_each(|a| sizes.extend(reader.param(a.value)));
                }
                if let Some(param) = reader.param(*callee) {
                    roles[param] = Role::Function;
                }
                if let Expr::Attribute { receiver, name } = body.expr(*callee)
                    && let Some(param) = reader.param(*receiver)
                    && (matches!(name.as_str(), "load" | "store" | "gather" | "scatter") || takes_offsets(&body, name, args))
                {
                    roles[param] = Role::Compound;
                }
                for value in reader.compounds(*callee, args) {
                    if let Some(param) = reader.param(value) {
                        roles[param] = Role::Compound;
                    }
                }
                if let Some(param) = reader.last_stride(*callee, args) {
                    roles[param] = Role::One;
                }
                for (param, words) in reader.words(*callee, args) {
                    match roles[param] {
                        Role::Choice(known) => {
                            let known = &mut choices[known as usize];
                            let more: Vec<Const> = words.into_iter().filter(|word| !known.contains(word)).collect();
                            known.extend(more);
                        }
                        Role::Number => {
                            roles[param] = Role::Choice(choices.len() as u32);
                            choices.push(words);
                        }
                        _ => {}
                    }
                }
                for (param, role) in reader.handed_on(*callee, args) {
                    if roles[param] == Role::Number {
                        roles[param] = role;
                    }
                }
                // The place of the dtype among the arguments.
                let dtype_at = match body.expr(*callee) {
                    Expr::Attribute { name, .. } if name == "to" => Some(0),
                    _ => match reader.builtin(*callee).as_deref() {
                        Some("zeros" | "cast") => Some(1),
                        Some("full") => Some(2),
                        _ => None,
                    },
                };
                for (i, arg) in args.iter().enumerate() {
                    let names_a_dtype = matches!(&arg.kind, ArgKind::Keyword(k) if k.ends_with("dtype"));
                    if (names_a_dtype || dtype_at == Some(i))
                        && let Some(param) = reader.param(arg.value)
                    {
                        roles[param] = Role::Dtype;
                    }
                }
            }
            Expr::Tuple(items) | Expr::List(items) => items.iter().for_each(|&e| reckoned.extend(reader.param(e))),
            // An attribute that no number, pointer or type has is a field.
            Expr::Attribute { receiver, name } => {
                let is_common = || {
                    Builtin::method(name).is_some()
                        || builtins::find(&format!("triton.language.{name}")).is_some()
                        || matches!(name.as_str(), "shape" | "dtype" | "type" | "T" | "numel" | "value" | "to" | "element_ty")
                        || matches!(name.as_str(), "scalar" | "primitive_bitwidth" | "itemsize" | "name")
                        || name.starts_with("is_")
                        || name.starts_with("atomic_")
                };
                if let Some(param) = reader.param(*receiver)
                    && (param >= own || !is_common())
                {
                    roles[param] = Role::Compound;
                }
            }
            Expr::Binary { op: BinaryOp::Add | BinaryOp::Sub, lhs, rhs } => {
                [lhs, rhs].iter().for_each(|e| reckoned.extend(reader.param(**e)));
            }
            Expr::Starred(inner) => {
                if let Some(param) = reader.param(*inner) {
                    roles[param] = Role::Compound;
                }
            }
            // `x[0]`: a tuple of pointers, whose length nobody knows here.
            Expr::Subscript { receiver, index } => {
                let is_view = matches!(body.expr(*index), Expr::None | Expr::Slice { .. } | Expr::Tuple(_));
                if let (false, Some(param)) = (is_view, reader.param(*receiver)) {
                    roles[param] = Role::Compound;
                }
            }
            Expr::Binary {
                op:
                    op @ (BinaryOp::FloorDiv
                    | BinaryOp::Mod
                    | BinaryOp::BitAnd
                    | BinaryOp::BitOr
                    | BinaryOp::BitXor
                    | BinaryOp::Shl
                    | BinaryOp::Shr),
                lhs,
                rhs,
            } => {
                for operand in [lhs, rhs] {
                    reader.loaded(*operand, &mut integers);
                    if !matches!(op, BinaryOp::Mod) {
                        reader.terms(*operand, &mut whole);
                    }
                }
            }
            Expr::Compare { first, rest } => {
                if let ([(CompareOp::Eq | CompareOp::Ne, other)], Some(param)) = (&rest[..], reader.param(*first))
                    && let Some(choice) = match body.expr(*other) {
                        Expr::Str(word) => Some(Const::Str(word.clone())),
                        Expr::Int(number) => Some(Const::Int(*number)),
                        Expr::Name(name) => match globals::name_in(db, function, name.clone()) {
                            Some(Global::Constexpr(value @ (Const::Str(_) | Const::Int(_)))) => Some(value),
                            _ => None,
                        },
                        _ => None,
                    }
                {
                    match roles[param] {
                        Role::Choice(i) => choices[i as usize].push(choice),
                        Role::Number => {
                            roles[param] = Role::Choice(choices.len() as u32);
                            choices.push(vec![choice]);
                        }
                        _ => {}
                    }
                }
            }
            _ => {}
        },
    });
    for param in trips {
        if roles[param] == Role::Number {
            roles[param] = if sizes.contains(&param) { Role::UnrolledSize } else { Role::Trips };
        }
    }
    // A parameter is passed somehow; what is captured may be anything that a closure holds.
    for param in (own..roles.len()).filter(|param| ![&sizes, &numbers, &reckoned].iter().any(|known| known.contains(param))) {
        if roles[param] == Role::Number {
            roles[param] = Role::Compound;
        }
    }
    for (role, param) in roles.iter_mut().zip(&def.params) {
        if param.annotation.is_some_and(|a| reader.names_an_object(a)) {
            *role = Role::Compound;
        }
    }
    for &param in &pointers {
        if roles[param] == Role::Compound {
            continue;
        }
        roles[param] = if integers.pointers.contains(&param) { Role::IndexPointer } else { Role::Pointer };
    }
    Flow { roles, choices, whole, decides, returned }
}

/// Which pointers a function's own statements read and write, by position.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Effects {
    /// Read before anything is written there, and written: running it twice is not running it once.
    pub(crate) in_place: BTreeSet<usize>,
    /// Added to atomically: running it twice adds twice.
    pub(crate) atomic: BTreeSet<usize>,
}

/// What happens on every run: statements under an `if` do not count.
pub(crate) fn effects(db: &dyn Db, function: Function) -> Effects {
    let Some((body, stmt)) = function_body(db, function) else { return Effects::default() };
    let Stmt::Function(def) = body.stmt(stmt) else { return Effects::default() };
    let reader = Reader::new(db, function, &body);
    let mut out = Effects::default();
    let (mut read, mut written) = (BTreeSet::new(), BTreeSet::new());
    reader.effects(&def.body, &mut read, &mut written, &mut out);
    out
}

fn nothing(_: &dyn Db, _: salsa::Id, _: Function) -> Flow {
    Flow::default()
}

fn is_object(name: &str) -> bool {
    matches!(name, "tensor_descriptor" | "tensor_descriptor_base" | "TensorDescriptor" | "tuple" | "Tuple")
}

/// `d.atomic_add([0, 0], x)`: the first argument is a list of offsets.
fn takes_offsets(body: &Body, name: &str, args: &[Arg]) -> bool {
    name.starts_with("atomic_") && args.first().is_some_and(|a| matches!(body.expr(a.value), Expr::List(_) | Expr::Tuple(_)))
}

struct Reader<'a> {
    db: &'a dyn Db,
    function: Function,
    body: &'a Body,
    bindings: &'a Bindings,
    /// What callees were found to be in Triton's language.
    builtins: RefCell<FxHashMap<ExprId, Option<SmolStr>>>,
}

/// The pointers whose loaded values expressions are made of, and what has been looked through for them.
#[derive(Default)]
struct Loaded<'a> {
    pointers: BTreeSet<usize>,
    names: FxHashSet<&'a str>,
}

/// What the names of a function are bound to, by its own statements.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Bindings {
    /// What each local was ever bound to.
    assigned: BTreeMap<SmolStr, Vec<ExprId>>,
    /// What was ever added to it in place: never where a pointer comes from.
    added: BTreeMap<SmolStr, Vec<ExprId>>,
    /// The parameters, and behind them what is captured of which nothing is known.
    params: BTreeMap<SmolStr, usize>,
    /// How many of these are parameters.
    own: usize,
}

/// The parameters that an expression is made of, and what is captured, through every binding of the names in it.
pub(crate) fn sources(db: &dyn Db, function: Function, expr: ExprId) -> BTreeSet<usize> {
    let Some((body, _)) = function_body(db, function) else { return BTreeSet::new() };
    sources_in(&body, bindings(db, function), expr)
}

fn sources_in(body: &Body, Bindings { assigned, added, params, .. }: &Bindings, expr: ExprId) -> BTreeSet<usize> {
    let mut out = BTreeSet::new();
    let (mut pending, mut seen) = (vec![expr], FxHashSet::default());
    while let Some(id) = pending.pop() {
        if let Expr::Name(name) = body.expr(id) {
            if seen.insert(name) {
                out.extend(params.get(name));
                pending.extend(assigned.get(name).into_iter().chain(added.get(name)).flatten());
            }
        } else {
            pending.extend(items::children(body, id));
        }
    }
    out
}

#[salsa::tracked(returns(ref))]
fn bindings(db: &dyn Db, function: Function) -> Bindings {
    let Some((body, stmt)) = function_body(db, function) else { return Bindings::default() };
    let Stmt::Function(def) = body.stmt(stmt) else { return Bindings::default() };
    let names = def.params.iter().map(|p| &p.name).chain(globals::captured(db, function));
    let params = names.enumerate().map(|(i, name)| (name.clone(), i)).collect();
    let mut out = Bindings { params, own: def.params.len(), ..Bindings::default() };
    walk(&body, &def.body, &mut |node| {
        if let Node::Stmt(id) = node {
            match body.stmt(id) {
                Stmt::Assign { targets, value } => targets.iter().for_each(|&t| out.bind(&body, t, *value)),
                Stmt::AugAssign { target, value, .. } => {
                    if let Expr::Name(name) = body.expr(*target) {
                        out.added.entry(name.clone()).or_default().push(*value);
                    }
                }
                Stmt::AnnAssign { target, value: Some(value), .. } => out.bind(&body, *target, *value),
                _ => {}
            }
        }
    });
    out
}

impl Bindings {
    fn bind(&mut self, body: &Body, target: ExprId, value: ExprId) {
        match (body.expr(target), body.expr(value)) {
            (Expr::Name(name), _) => self.assigned.entry(name.clone()).or_default().push(value),
            (Expr::Tuple(targets), Expr::Tuple(values)) if targets.len() == values.len() => {
                for (&t, &v) in targets.iter().zip(values) {
                    self.bind(body, t, v);
                }
            }
            _ => {}
        }
    }
}

impl<'a> Reader<'a> {
    fn new(db: &'a dyn Db, function: Function, body: &'a Body) -> Reader<'a> {
        Reader { db, function, body, bindings: bindings(db, function), builtins: RefCell::default() }
    }

    fn effects(&self, stmts: &[StmtId], read: &mut BTreeSet<usize>, written: &mut BTreeSet<usize>, out: &mut Effects) {
        for &id in stmts {
            let blocks: Vec<&[StmtId]> = match self.body.stmt(id) {
                Stmt::If { .. } => continue,
                Stmt::For { body, otherwise, .. } | Stmt::While { body, otherwise, .. } => vec![body, otherwise],
                stmt => {
                    let exprs: Vec<ExprId> = match stmt {
                        Stmt::Expr(e) | Stmt::Return(Some(e)) => vec![*e],
                        Stmt::Assign { value, .. } | Stmt::AugAssign { value, .. } => vec![*value],
                        Stmt::AnnAssign { value, .. } => value.iter().copied().collect(),
                        _ => vec![],
                    };
                    for expr in exprs {
                        // What is inside is evaluated first.
                        let mut calls = Vec::new();
                        items::walk_expr(self.body, expr, &mut |node| {
                            if let Node::Expr(e) = node
                                && let Expr::Call { callee, args } = self.body.expr(e)
                                && let Some(name) = self.builtin(*callee)
                            {
                                calls.push((name, self.addresses(*callee, args)));
                            }
                        });
                        for (name, addresses) in calls.into_iter().rev() {
                            let roots = addresses.into_iter().flat_map(|a| self.roots(a, &BTreeSet::new(), &mut BTreeSet::new()));
                            let params: BTreeSet<usize> = roots.map(|(param, _)| param).collect();
                            // Where it may be one pointer or another, neither is surely meant.
                            if params.len() > 1 {
                                continue;
                            }
                            for param in params {
                                match name.as_str() {
                                    "load" if !written.contains(&param) => {
                                        read.insert(param);
                                    }
                                    "store" => {
                                        written.insert(param);
                                        if read.contains(&param) {
                                            out.in_place.insert(param);
                                        }
                                    }
                                    // The largest of the largest is the largest: the others may run again.
                                    "atomic_add" | "atomic_xor" => {
                                        out.atomic.insert(param);
                                    }
                                    _ => {}
                                }
                            }
                        }
                    }
                    vec![]
                }
            };
            blocks.into_iter().for_each(|block| self.effects(block, read, written, out));
        }
    }

    fn sources(&self, id: ExprId) -> BTreeSet<usize> {
        sources_in(self.body, self.bindings, id)
    }

    fn param(&self, id: ExprId) -> Option<usize> {
        match self.body.expr(id) {
            Expr::Name(name) => self.bindings.params.get(name).copied(),
            _ => None,
        }
    }

    /// The last word of a callee's path in Triton's language, or Python's `range`.
    fn builtin(&self, callee: ExprId) -> Option<SmolStr> {
        if let Some(known) = self.builtins.borrow().get(&callee) {
            return known.clone();
        }
        let found = match self.body.expr(callee) {
            Expr::Name(name) if name == "range" => Some(name.clone()),
            _ => {
                let path = items::path(self.db, self.function.file(self.db), self.body, callee);
                path.and_then(|path| path.strip_prefix("triton.language.").map(SmolStr::new))
            }
        };
        self.builtins.borrow_mut().insert(callee, found.clone());
        found
    }

    /// The arguments of a call that are addresses.
    fn addresses(&self, callee: ExprId, args: &[Arg]) -> Vec<ExprId> {
        let argument = |index: usize, names: &[&str]| {
            let keyword = args.iter().find(|a| matches!(&a.kind, ArgKind::Keyword(k) if names.contains(&k.as_str())));
            keyword.or_else(|| args.get(index).filter(|a| a.kind == ArgKind::Positional)).map(|a| a.value)
        };
        if let Some(name) = self.builtin(callee) {
            let takes_address = matches!(name.as_str(), "load" | "store" | "make_block_ptr" | "make_tensor_descriptor")
                || name.starts_with("atomic_");
            return if takes_address { argument(0, &["pointer", "base"]).into_iter().collect() } else { vec![] };
        }
        // A helper's own pointers.
        self.helper_arguments(callee, args, |role| matches!(role, Role::Pointer | Role::IndexPointer))
    }

    /// The arguments of a call that are integers: what random numbers are made from, what a helper shifts or divides.
    fn integers(&self, callee: ExprId, args: &[Arg]) -> Vec<ExprId> {
        if let Some(name) = self.builtin(callee) {
            let is_seed = |(at, arg): &(usize, &Arg)| match &arg.kind {
                ArgKind::Positional => *at < 2,
                ArgKind::Keyword(name) => matches!(name.as_str(), "seed" | "offset" | "offsets"),
                _ => false,
            };
            let seeds = args.iter().enumerate().filter(|_| name.starts_with("rand")).filter(is_seed);
            return seeds.map(|(_, arg)| arg.value).collect();
        }
        let Some(helper) = self.helper(callee) else { return vec![] };
        flow(self.db, helper).whole.iter().filter_map(|&i| self.helper_argument(helper, i, args)).collect()
    }

    /// An annotation that says: a tuple, a descriptor, or an object of a class of the file.
    fn names_an_object(&self, annotation: ExprId) -> bool {
        match self.body.expr(annotation) {
            Expr::Subscript { receiver, .. } => self.names_an_object(*receiver),
            Expr::Attribute { name, .. } => is_object(name),
            Expr::Name(name) => {
                is_object(name) || matches!(globals::name_in(self.db, self.function, name.clone()), Some(Global::Record(_)))
            }
            Expr::Str(text) => is_object(text.rsplit('.').next().unwrap_or(text)),
            _ => false,
        }
    }

    /// The arguments of a call that are descriptors, tuples or other objects.
    fn compounds(&self, callee: ExprId, args: &[Arg]) -> Vec<ExprId> {
        let first = || args.first().map(|a| a.value).into_iter().collect();
        if matches!(self.body.expr(callee), Expr::Name(name) if name == "len") {
            return first();
        }
        if let Some(name) = self.builtin(callee) {
            let takes_object = name.ends_with("_tensor_descriptor") && name != "make_tensor_descriptor";
            // Only tiles are, and no kernel is given one: the function is a helper.
            let takes_tile = matches!(name.as_str(), "reshape" | "permute" | "trans");
            return if takes_object || takes_tile { first() } else { vec![] };
        }
        let spread = args.iter().filter(|a| a.kind == ArgKind::Spread).map(|a| a.value);
        spread.chain(self.helper_arguments(callee, args, |role| role == Role::Compound)).collect()
    }

    /// What a call of a helper gives for its parameters of some roles.
    fn helper_arguments(&self, callee: ExprId, args: &[Arg], wanted: impl Fn(Role) -> bool) -> Vec<ExprId> {
        let Some(helper) = self.helper(callee) else { return vec![] };
        let roles = &flow(self.db, helper).roles;
        (0..roles.len()).filter(|&i| wanted(roles[i])).filter_map(|i| self.helper_argument(helper, i, args)).collect()
    }

    /// The parameters that a call takes as one of a few words, each with those words; one that means nothing special is all of them.
    fn words(&self, callee: ExprId, args: &[Arg]) -> Vec<(usize, Vec<Const>)> {
        let word = |keyword: &str| match keyword {
            "input_precision" | "fp_downcast_rounding" | "sem" | "scope" => Some(Const::None),
            "cache_modifier" | "eviction_policy" | "padding_option" => Some(Const::Str(String::new())),
            _ => None,
        };
        let mut out = Vec::new();
        for arg in args {
            if let ArgKind::Keyword(keyword) = &arg.kind
                && let (Some(param), Some(word)) = (self.param(arg.value), word(keyword))
            {
                out.push((param, vec![word.clone(), word]));
            }
        }
        let Some(helper) = self.helper(callee) else { return out };
        let flow = flow(self.db, helper);
        for (index, role) in flow.roles.iter().enumerate() {
            if let Role::Choice(choice) = role
                && let Some(words) = flow.choices.get(*choice as usize)
                && let Some(param) = self.helper_argument(helper, index, args).and_then(|value| self.param(value))
            {
                out.push((param, words.clone()));
            }
        }
        out
    }

    /// The parameters that a helper is given as they are, with what they are to the helper.
    fn handed_on(&self, callee: ExprId, args: &[Arg]) -> Vec<(usize, Role)> {
        let Some(helper) = self.helper(callee) else { return vec![] };
        let is_handed_on = |role: &Role| match role {
            Role::One | Role::Flag | Role::Dtype | Role::Trips | Role::UnrolledSize | Role::Function => true,
            // Pointers and compounds are followed through arithmetic, choices with their words.
            Role::Number | Role::Pointer | Role::IndexPointer | Role::Compound | Role::Choice(_) => false,
        };
        let roles = flow(self.db, helper).roles.iter().enumerate().filter(|(_, role)| is_handed_on(role));
        roles.filter_map(|(i, role)| Some((self.param(self.helper_argument(helper, i, args)?)?, *role))).collect()
    }

    fn helper(&self, callee: ExprId) -> Option<Function> {
        let Expr::Name(name) = self.body.expr(callee) else { return None };
        match globals::name_in(self.db, self.function, name.clone()) {
            Some(Global::Function(helper)) => Some(helper),
            _ => None,
        }
    }

    /// What a call gives for a helper's parameter.
    fn helper_argument(&self, helper: Function, index: usize, args: &[Arg]) -> Option<ExprId> {
        let name = &items_of(self.db, helper.file(self.db)).function(helper)?.params.get(index)?.name;
        let keyword = args.iter().find(|a| matches!(&a.kind, ArgKind::Keyword(k) if k == name));
        keyword.or_else(|| args.get(index).filter(|a| a.kind == ArgKind::Positional)).map(|a| a.value)
    }

    /// The parameter that is the last stride in a call of `make_tensor_descriptor`.
    fn last_stride(&self, callee: ExprId, args: &[Arg]) -> Option<usize> {
        // A wrapper of it is named alike.
        let named = match self.body.expr(callee) {
            Expr::Name(name) | Expr::Attribute { name, .. } => name.contains("make_tensor_desc"),
            _ => false,
        };
        let keyword = args.iter().find(|a| matches!(&a.kind, ArgKind::Keyword(k) if k == "strides"));
        let strides = keyword.or_else(|| args.get(2).filter(|a| a.kind == ArgKind::Positional)).filter(|_| named)?.value;
        match self.body.expr(strides) {
            Expr::List(items) | Expr::Tuple(items) => self.param(*items.last()?),
            _ => None,
        }
    }

    /// The parameters that an address may start from, each with the leaf of the sum that leads to it.
    fn roots(&self, id: ExprId, numbers: &BTreeSet<usize>, seen: &mut BTreeSet<SmolStr>) -> Vec<(usize, ExprId)> {
        stacker::maybe_grow(128 << 10, 2 << 20, || self.roots_of(id, numbers, seen))
    }

    fn roots_of(&self, id: ExprId, numbers: &BTreeSet<usize>, seen: &mut BTreeSet<SmolStr>) -> Vec<(usize, ExprId)> {
        match self.body.expr(id) {
            Expr::Name(name) => {
                // A parameter keeps its own meaning where it is bound again: `X = X + …`.
                if let Some(&param) = self.bindings.params.get(name) {
                    let is_number = param >= self.bindings.own || numbers.contains(&param);
                    return if is_number { vec![] } else { vec![(param, id)] };
                }
                if !seen.insert(name.clone()) {
                    return vec![];
                }
                let values = self.bindings.assigned.get(name).into_iter().flatten();
                values.flat_map(|&v| self.roots(v, numbers, seen)).map(|(param, _)| (param, id)).collect()
            }
            // Of a sum, one side is the pointer; by custom the left one.
            Expr::Binary { op: BinaryOp::Add | BinaryOp::Sub, lhs, rhs } => {
                let found = self.roots(*lhs, numbers, seen);
                if found.is_empty() { self.roots(*rhs, numbers, seen) } else { found }
            }
            Expr::Subscript { receiver, .. } => self.roots(*receiver, numbers, seen),
            Expr::If { then, otherwise, .. } => {
                [self.roots(*then, numbers, seen), self.roots(*otherwise, numbers, seen)].concat()
            }
            Expr::Call { callee, args } => match self.body.expr(*callee) {
                Expr::Attribute { receiver, name } if name == "to" => self.roots(*receiver, numbers, seen),
                _ => match self.builtin(*callee).as_deref() {
                    Some("where") => args.iter().skip(1).flat_map(|a| self.roots(a.value, numbers, seen)).collect(),
                    Some("multiple_of" | "max_contiguous" | "max_constancy" | "broadcast_to" | "cast" | "advance") => {
                        args.first().map_or_else(Vec::new, |a| self.roots(a.value, numbers, seen))
                    }
                    // What a helper makes of an address it is given.
                    None => self.helper(*callee).map_or_else(Vec::new, |helper| {
                        let returned = flow(self.db, helper).returned.iter();
                        let given = returned.filter_map(|&index| self.helper_argument(helper, index, args));
                        given.flat_map(|value| self.roots(value, numbers, seen)).map(|(param, _)| (param, id)).collect()
                    }),
                    Some(_) => vec![],
                },
            },
            _ => vec![],
        }
    }

    /// Everything in an address but its root is an offset: what is loaded for it are integers.
    fn offsets(&self, address: ExprId, leaf: ExprId, integers: &mut Loaded<'a>, seen: &mut FxHashSet<ExprId>) {
        if !seen.insert(address) {
            return;
        }
        if address == leaf {
            if let Expr::Name(name) = self.body.expr(address) {
                for &value in self.bindings.added.get(name).into_iter().flatten() {
                    self.loaded(value, integers);
                }
                for &value in self.bindings.assigned.get(name).into_iter().flatten() {
                    for (_, leaf) in self.roots(value, &BTreeSet::new(), &mut BTreeSet::new()) {
                        if value != address && leaf != value {
                            self.offsets(value, leaf, integers, seen);
                        }
                    }
                }
            }
            return;
        }
        match self.body.expr(address) {
            Expr::Binary { lhs, rhs, .. } => {
                self.offsets(*lhs, leaf, integers, seen);
                self.offsets(*rhs, leaf, integers, seen);
            }
            Expr::Subscript { receiver, .. } => self.offsets(*receiver, leaf, integers, seen),
            _ => self.loaded(address, integers),
        }
    }

    /// Adds the pointers that an address may start from.
    fn leads(&self, address: ExprId, out: &mut Loaded<'a>) {
        let roots = self.roots(address, &BTreeSet::new(), &mut BTreeSet::new());
        out.pointers.extend(roots.into_iter().map(|root| root.0));
    }

    /// Adds the pointers of what is a load as it stands, or was bound to one.
    fn loads(&self, id: ExprId, out: &mut Loaded<'a>) {
        let of_name = match self.body.expr(id) {
            Expr::Name(name) => self.bindings.assigned.get(name).map_or(&[][..], Vec::as_slice),
            _ => &[],
        };
        for &value in of_name.iter().chain([&id]) {
            if let Expr::Call { callee, .. } = self.body.expr(value)
                && self.builtin(*callee).is_some_and(|name| name == "load")
            {
                self.loaded(value, out);
            }
        }
    }

    /// Adds the pointers whose loaded values an expression is made of.
    fn loaded(&self, id: ExprId, out: &mut Loaded<'a>) {
        stacker::maybe_grow(128 << 10, 2 << 20, || self.loaded_of(id, out));
    }

    fn loaded_of(&self, id: ExprId, out: &mut Loaded<'a>) {
        match self.body.expr(id) {
            Expr::Name(name) => {
                if out.names.insert(name) {
                    let values = self.bindings.assigned.get(name).into_iter().chain(self.bindings.added.get(name)).flatten();
                    values.for_each(|&v| self.loaded(v, out));
                }
            }
            // A comparison makes truth, whatever it compares.
            Expr::Compare { .. } => {}
            Expr::Call { callee, args } => {
                if self.builtin(*callee).is_some_and(|n| n == "load" || n.starts_with("atomic_")) {
                    self.addresses(*callee, args).into_iter().for_each(|address| self.leads(address, out));
                } else if let Expr::Attribute { receiver, name } = self.body.expr(*callee) {
                    // `.to(tl.int32)` may come from anything.
                    if name != "to" {
                        self.loaded(*receiver, out);
                    }
                    args.iter().for_each(|a| self.loaded(a.value, out));
                } else {
                    args.iter().for_each(|a| self.loaded(a.value, out));
                }
            }
            _ => items::children(self.body, id).into_iter().for_each(|c| self.loaded(c, out)),
        }
    }

    /// The parameters that a sum of products is made of.
    fn terms(&self, sum: ExprId, out: &mut BTreeSet<usize>) {
        let mut left = vec![sum];
        while let Some(id) = left.pop() {
            match self.body.expr(id) {
                Expr::Name(_) => out.extend(self.param(id)),
                Expr::Unary { operand, .. } => left.push(*operand),
                Expr::Binary { op: BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul, lhs, rhs } => left.extend([*lhs, *rhs]),
                _ => {}
            }
        }
    }

    fn flags(&self, condition: ExprId, roles: &mut [Role]) {
        match self.body.expr(condition) {
            Expr::Name(_) => {
                if let Some(param) = self.param(condition)
                    && roles[param] == Role::Number
                {
                    roles[param] = Role::Flag;
                }
            }
            Expr::Unary { operand, .. } => self.flags(*operand, roles),
            Expr::Bool2 { lhs, rhs, .. } => {
                self.flags(*lhs, roles);
                self.flags(*rhs, roles);
            }
            _ => {}
        }
    }
}
