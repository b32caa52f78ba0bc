//! What is computed from converted tiles is computed in their layout, instead of being converted as well.
//!
//! A kernel that stores what a product gives and something computed from it moves both to the layout of the stores. The second is as well computed
//! from what has been moved: that is one passage through shared memory, and its barriers, less.
//!
//! **Invariant:** a conversion is replaced only if all that its tile hangs on is converted anyhow, in the same block, or made from nothing; what
//! computed the tile computed it for this conversion alone.

use rustc_hash::FxHashMap;
use tritium_tile::{
    BlockId, Function, Module, OpId, OpKind, ValueId,
    layout::LayoutId,
    rewrite::{self, ValueMap},
};

use super::{CompileOptions, Fact, Pass, Unsupported, place_operands_in_shared::is_costly_conversion};

pub static PASS: Pass = Pass {
    name: "compute_converted",
    summary: "Compute from converted tiles instead of converting what is computed.",
    needs: &[Fact::HasLayouts],
    gives: &[Fact::HasLayouts],
    run,
};

/// Operations of a tile that are computed elsewhere, at most.
const MAX_OPERATIONS: usize = 32;

fn run(module: &mut Module, _options: &CompileOptions) -> Result<(), Unsupported> {
    let mut passages: Vec<(BlockId, OpId)> = Vec::new();
    module.entry().walk(|block, id| {
        if module.entry().op(id).results.first().is_some_and(|&value| is_costly_conversion(module, module.entry(), value)) {
            passages.push((block, id));
        }
    });
    let function = &mut module.functions[0];
    let mut replaced: Vec<OpId> = Vec::new();
    for &(block, convert) in &passages {
        let Some(to) = layout_of(function, convert) else { continue };
        let here: FxHashMap<ValueId, OpId> = passages
            .iter()
            .filter(|&&(other, id)| {
                other == block && id != convert && !replaced.contains(&id) && layout_of(function, id) == Some(to)
            })
            .map(|&(_, id)| (function.op(id).operands[0], id))
            .collect();
        let mut tree = Tree { block, here: &here, computed: Vec::new(), converted: Vec::new() };
        let found = tree.visit(function, function.op(convert).operands[0]);
        if found && !tree.converted.is_empty() && is_for_itself(function, &tree.computed, convert) {
            rebuild(function, &tree, convert, to);
            replaced.push(convert);
        }
    }
    rewrite::erase_dead(function);
    rewrite::compact(function);
    Ok(())
}

fn layout_of(function: &Function, convert: OpId) -> Option<LayoutId> {
    function.ty(function.op(convert).results[0]).layout()
}

/// What a tile is computed from, down to what is converted anyhow.
struct Tree<'t> {
    block: BlockId,
    /// By what they convert.
    here: &'t FxHashMap<ValueId, OpId>,
    /// Operations that are not converted, operands first.
    computed: Vec<OpId>,
    converted: Vec<ValueId>,
}

impl Tree<'_> {
    /// Whether the value can be had in the other layout.
    fn visit(&mut self, function: &Function, value: ValueId) -> bool {
        if function.ty(value).is_scalar() || self.converted.contains(&value) {
            return true;
        }
        if self.here.contains_key(&value) && function.def_op(value).is_some() {
            self.converted.push(value);
            return true;
        }
        let Some(def) = function.def_op(value) else { return false };
        if self.computed.contains(&def) {
            return true;
        }
        let op = function.op(def);
        let from_nothing = matches!(op.kind, OpKind::Constant(_) | OpKind::Splat | OpKind::Iota { .. });
        let computed = op.kind.is_elementwise() && op.kind.is_pure() && function.block(self.block).ops.contains(&def);
        if !from_nothing && !computed || self.computed.len() == MAX_OPERATIONS {
            return false;
        }
        let of_operands = op.operands.iter().all(|&operand| self.visit(function, operand));
        self.computed.push(def);
        of_operands
    }
}

/// Nobody else uses what is computed. What is made from nothing may be made twice.
fn is_for_itself(function: &Function, computed: &[OpId], convert: OpId) -> bool {
    let users = rewrite::users(function);
    computed.iter().filter(|&&op| function.op(op).kind.is_elementwise()).all(|&op| {
        let results = &function.op(op).results;
        results.iter().flat_map(|result| &users[result.index()]).all(|user| *user == convert || computed.contains(user))
    })
}

fn rebuild(function: &mut Function, tree: &Tree<'_>, convert: OpId, to: LayoutId) {
    let mut map = ValueMap::default();
    for &value in &tree.converted {
        let first = tree.here[&value];
        map.insert(value, function.op(first).results[0]);
        if let (Some(def), true) = (function.def_op(value), comes_behind(function, tree.block, first, convert)) {
            rewrite::detach(function, first);
            rewrite::insert_after(function, def, first);
        }
    }
    for &id in &tree.computed {
        let op = function.op(id).clone();
        let operands: Vec<ValueId> = op.operands.iter().map(|value| *map.get(value).unwrap_or(value)).collect();
        let ty = function.ty(op.results[0]).with_layout(to);
        let made = function.create_op(op.kind, &operands, [ty], &[], op.origin);
        map.insert(op.results[0], function.op(made).results[0]);
        rewrite::insert_before(function, convert, made);
    }
    let (source, result) = (function.op(convert).operands[0], function.op(convert).results[0]);
    if let Some(&computed) = map.get(&source) {
        rewrite::replace_all_uses(function, result, computed);
    }
}

fn comes_behind(function: &Function, block: BlockId, later: OpId, earlier: OpId) -> bool {
    let place = |id: OpId| function.block(block).ops.iter().position(|&other| other == id);
    place(later) > place(earlier)
}
