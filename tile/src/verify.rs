//! What is well formed: the rules of every operation, of control flow and of layouts.
//!
//! **Invariant:** total on any module, however broken; and a module without problems makes no later stage panic. Structure (indices,
//! ownership, dominance) is checked first, and only a function whose structure is sound has its operations looked at.

mod layouts;
mod operations;
mod unfinished;

use std::fmt;

use crate::{
    module::{BlockId, Function, FunctionId, Level, Module, OpId, ValueDef, ValueId},
    ops::OpKind,
    types::{Elem, Scalar, Type},
};

/// Regions nest at most this deep, calls too: recursion over a verified module is bounded.
pub const MAX_NESTING: usize = 64;

/// The most elements one tile may have.
pub const MAX_ELEMENTS: u64 = 1 << 20;

/// One broken rule: where, and what the rule asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub function: FunctionId,
    /// The operation at fault; `None` for the function or the module as a whole.
    pub op: Option<OpId>,
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.op {
            Some(op) => write!(f, "function {}, op {}: {}", self.function.0, op.0, self.message),
            None => write!(f, "function {}: {}", self.function.0, self.message),
        }
    }
}

pub fn verify(module: &Module) -> Vec<Problem> {
    let mut problems = Vec::new();
    module_rules(module, &mut problems);
    for index in 0..module.functions.len() {
        let id = FunctionId(index as u32);
        let mut checker = Checker { module, id, function: &module.functions[index], op: None, problems: &mut problems };
        if checker.structure() {
            let before = checker.problems.len();
            checker.parameters();
            // Shapes are multiplied by the rules of operations: types have to be sound first.
            if checker.problems.len() == before {
                checker.operations();
            }
        }
    }
    if problems.is_empty() {
        call_graph(module, &mut problems);
    }
    problems
}

fn module_rules(module: &Module, problems: &mut Vec<Problem>) {
    let mut problem =
        |function: usize, message| problems.push(Problem { function: FunctionId(function as u32), op: None, message });
    if module.functions.is_empty() {
        problem(0, "a module has at least one function".into());
    }
    let warps = module.num_warps;
    match module.level {
        Level::L0 if warps != 0 => problem(0, "a module at L0 has no num_warps".into()),
        Level::L1 | Level::L2 if !(warps.is_power_of_two() && warps <= 32) => {
            problem(0, format!("num_warps is a power of two up to 32, not {warps}"));
        }
        Level::L0 | Level::L1 | Level::L2 => {}
    }
    for index in 0..module.layouts.len() as u32 {
        if let Err(message) = layouts::well_formed(module, crate::layout::LayoutId(index)) {
            problem(0, format!("#l{index}: {message}"));
        }
    }
    let mut names = rustc_hash::FxHashSet::default();
    for (index, function) in module.functions.iter().enumerate() {
        if function.name.is_empty() || !names.insert(&function.name) {
            problem(index, format!("functions have names and each its own, not `{}`", function.name));
        }
    }
}

/// Calls form no cycle and no long chain.
fn call_graph(module: &Module, problems: &mut Vec<Problem>) {
    let callees: Vec<Vec<(OpId, usize)>> = module
        .functions
        .iter()
        .map(|function| {
            let mut found = Vec::new();
            function.walk(|_, op| {
                if let OpKind::Call { callee } = function.op(op).kind {
                    found.push((op, callee.index()));
                }
            });
            found
        })
        .collect();
    // The longest chain of calls below each function, by rounds; it grows beyond the limit only if the limit is broken.
    let mut depth = vec![0usize; module.functions.len()];
    for _ in 0..=MAX_NESTING {
        let mut changed = false;
        for (caller, callees) in callees.iter().enumerate() {
            for &(op, callee) in callees {
                if depth[caller] <= depth[callee] {
                    depth[caller] = depth[callee] + 1;
                    changed = true;
                    if depth[caller] > MAX_NESTING {
                        problems.push(Problem {
                            function: FunctionId(caller as u32),
                            op: Some(op),
                            message: format!("calls are recursive or nest deeper than {MAX_NESTING}"),
                        });
                        return;
                    }
                }
            }
        }
        if !changed {
            return;
        }
    }
}

struct Checker<'m> {
    module: &'m Module,
    id: FunctionId,
    function: &'m Function,
    op: Option<OpId>,
    problems: &'m mut Vec<Problem>,
}

impl<'m> Checker<'m> {
    fn problem(&mut self, message: impl Into<String>) {
        self.problems.push(Problem { function: self.id, op: self.op, message: message.into() });
    }

    /// Indices in range, every block and op in one place, nesting, terminators, dominance, result numbering.
    fn structure(&mut self) -> bool {
        let function = self.function;
        let before = self.problems.len();
        if function.body.index() >= function.blocks.len() {
            self.problem("the body is no block of the function");
            return false;
        }
        let mut walk = Structure {
            block_seen: vec![false; function.blocks.len()],
            op_seen: vec![false; function.ops.len()],
            visible: vec![false; function.values.len()],
            defined: vec![false; function.values.len()],
        };
        self.block_structure(&mut walk, function.body, 0);
        self.op = None;
        for (index, value) in function.values.iter().enumerate() {
            let lives = match value.def {
                ValueDef::Result(op, _) => walk.op_seen.get(op.index()).copied().unwrap_or(false),
                ValueDef::Argument(block, _) => walk.block_seen.get(block.index()).copied().unwrap_or(false),
            };
            if lives && !walk.defined[index] {
                self.problem(format!("value {index} names a definition that does not list it"));
            }
        }
        for (index, op) in function.ops.iter().enumerate() {
            let in_range = op.operands.iter().chain(&op.results).all(|v| v.index() < function.values.len())
                && op.regions.iter().all(|b| b.index() < function.blocks.len());
            if !in_range {
                self.op = Some(OpId(index as u32));
                self.problem("the operation names a value or a block that does not exist");
                self.op = None;
            }
        }
        self.problems.len() == before
    }

    fn define(&mut self, walk: &mut Structure, value: ValueId, def: ValueDef) {
        match self.function.values.get(value.index()) {
            Some(v) if v.def == def && !walk.defined[value.index()] => {
                walk.defined[value.index()] = true;
                walk.visible[value.index()] = true;
            }
            _ => self.problem(format!("value {} is not defined here", value.0)),
        }
    }

    fn block_structure(&mut self, walk: &mut Structure, block: BlockId, depth: usize) {
        let function = self.function;
        if depth > MAX_NESTING {
            return self.problem(format!("regions nest deeper than {MAX_NESTING}"));
        }
        match walk.block_seen.get_mut(block.index()) {
            Some(seen @ false) => *seen = true,
            _ => return self.problem("a block is the region of one operation and exists"),
        }
        let owner = self.op;
        let source = function.block(block);
        for (index, &arg) in source.args.iter().enumerate() {
            self.define(walk, arg, ValueDef::Argument(block, index as u32));
        }
        for (index, &id) in source.ops.iter().enumerate() {
            self.op = Some(id);
            match walk.op_seen.get_mut(id.index()) {
                Some(seen @ false) => *seen = true,
                _ => {
                    self.op = owner;
                    self.problem("an operation stands in one place and exists");
                    continue;
                }
            }
            let op = function.op(id);
            for &operand in &op.operands {
                if !walk.visible.get(operand.index()).copied().unwrap_or(false) {
                    self.problem(format!("value {} is used where it is not defined", operand.0));
                }
            }
            let last = index + 1 == source.ops.len();
            if op.kind.is_terminator() != last {
                self.problem(if last { "a block ends in a terminator" } else { "a terminator stands last in its block" });
            }
            for (index, &result) in op.results.iter().enumerate() {
                self.define(walk, result, ValueDef::Result(id, index as u32));
            }
            // An op's own results are not visible in its regions.
            let hide = |walk: &mut Structure, visible| {
                for result in &op.results {
                    if let Some(v) = walk.visible.get_mut(result.index()) {
                        *v = visible;
                    }
                }
            };
            hide(walk, false);
            for &region in &op.regions {
                self.block_structure(walk, region, depth + 1);
                self.op = Some(id);
            }
            hide(walk, true);
        }
        self.op = owner;
        if source.ops.is_empty() {
            self.problem("a block ends in a terminator");
        }
        // What a block defines ends with it.
        for arg in &source.args {
            if let Some(v) = walk.visible.get_mut(arg.index()) {
                *v = false;
            }
        }
        for op in source.ops.iter().filter_map(|op| function.ops.get(op.index())) {
            for result in &op.results {
                if let Some(v) = walk.visible.get_mut(result.index()) {
                    *v = false;
                }
            }
        }
    }

    fn parameters(&mut self) {
        let function = self.function;
        let args = &function.block(function.body).args;
        if function.params.len() != args.len() || function.params.iter().zip(args).any(|(p, &a)| p.value != a) {
            self.problem("the parameters are the arguments of the body, in order");
        }
        let mut names = rustc_hash::FxHashSet::default();
        for param in &function.params {
            if !names.insert(&param.name)
                || param.name.is_empty()
                || param.name.starts_with(|c: char| c.is_ascii_digit() || c == '?')
            {
                self.problem(format!("parameters have names and each its own, not `{}`", param.name));
            }
            if param.divisibility == 0 {
                self.problem(format!("`{}` is divisible by at least 1", param.name));
            }
        }
        for value in &function.values {
            if let Err(message) = self.type_rules(&value.ty) {
                self.problem(message);
            }
        }
        for ty in &function.results {
            if let Err(message) = self.type_rules(ty) {
                self.problem(message);
            }
        }
    }

    fn type_rules(&self, ty: &Type) -> Result<(), String> {
        let shape = ty.shape();
        // The number of a ring's slots is free; whether this is a ring is a matter of its layout.
        let ring = usize::from(ty.is_buffer() && !shape.is_empty() && shape[0] > 0);
        if shape.len() > 8 || shape[ring..].iter().any(|extent| !extent.is_power_of_two()) {
            return Err(format!("`{ty}`: at most 8 extents, each a power of two"));
        }
        // Checked one by one: the product of unchecked extents may not fit.
        let mut elements = 1u64;
        for &extent in shape {
            elements = elements.saturating_mul(u64::from(extent));
        }
        if elements > MAX_ELEMENTS {
            return Err(format!("`{ty}` has {elements} elements; the most is {MAX_ELEMENTS}"));
        }
        layouts::type_rules(self.module, ty)
    }

    fn operations(&mut self) {
        let function = self.function;
        let mut ops = Vec::new();
        function.walk(|block, op| ops.push((block, op)));
        let owners = crate::rewrite::owner_ops(function);
        for (block, id) in ops {
            self.op = Some(id);
            if let Err(message) = self.operation(id, block, &owners) {
                self.problem(message);
            }
        }
        self.op = None;
        for (op, message) in unfinished::problems(function) {
            self.op = Some(op);
            self.problem(message);
        }
        self.op = None;
    }

    fn ty(&self, value: ValueId) -> &'m Type {
        self.function.ty(value)
    }
}

struct Structure {
    block_seen: Vec<bool>,
    op_seen: Vec<bool>,
    visible: Vec<bool>,
    defined: Vec<bool>,
}

/// A scalar or a tile of these, not a shared buffer.
fn tile_elem(ty: &Type) -> Option<Elem> {
    match ty {
        Type::Tile { elem, .. } => Some(*elem),
        Type::Shared { .. } => None,
    }
}

fn tile_scalar(ty: &Type) -> Option<Scalar> {
    tile_elem(ty)?.scalar()
}
