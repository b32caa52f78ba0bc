//! MEM008 redundant-reload: what was loaded is loaded again, though nothing that the kernel means to change lies between.
//!
//! Equal loads are one for Triton where they stand in one block and nothing is written between them; after a store, or under an `if`, the second is
//! another. **Invariant:** only said where the first has surely run with the same address, mask and filling, nothing between the two writes
//! through their parameter, and what would be kept instead is small.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use tritium_tile::{BlockId, OpId, OpKind};

use super::{
    invariant_load::{MAX_KEPT_ELEMENTS, elements},
    kernel::{Kernel, ProblemExt},
    writes::{Writes, root},
};
use crate::{
    diagnostics::Code,
    problem::{Applicability, At, Edit, Place},
};

/// The numbers of what a load is given.
type Key = SmallVec<[u32; 3]>;

pub(super) fn rule(kernel: &mut Kernel<'_>) {
    let mut search = Search { kernel, known: FxHashMap::default(), path: Vec::new(), found: Vec::new() };
    search.block(search.kernel.function.body);
    for (first, second, writes) in search.found {
        tell(kernel, first, second, &writes);
    }
}

struct Search<'k, 'a> {
    kernel: &'k Kernel<'a>,
    /// The load that ran last, and how deep it stands.
    known: FxHashMap<Key, (OpId, usize)>,
    /// The blocks around this one and how far each of them has run.
    path: Vec<(BlockId, usize)>,
    found: Vec<(OpId, OpId, Writes)>,
}

impl Search<'_, '_> {
    fn block(&mut self, block: BlockId) {
        let function = self.kernel.function;
        let mut before: Vec<(Key, Option<(OpId, usize)>)> = Vec::new();
        for (at, &id) in function.block(block).ops.iter().enumerate() {
            let op = function.op(id);
            self.path.push((block, at));
            for &region in &op.regions {
                self.block(region);
            }
            if let OpKind::Load(attrs) = op.kind
                && !attrs.volatile
            {
                let key: Key = op.operands.iter().map(|&v| self.kernel.numbers.of(v)).collect();
                let first = self.known.get(&key).copied();
                if let Some((first, depth)) = first {
                    self.pair(first, depth, id);
                }
                let old = self.known.insert(key.clone(), (id, self.path.len()));
                before.push((key, old));
            }
            self.path.pop();
        }
        // What this block has loaded may not have been loaded where it did not run.
        for (key, old) in before.into_iter().rev() {
            match old {
                Some(old) => self.known.insert(key, old),
                None => self.known.remove(&key),
            };
        }
    }

    /// `depth` counts the blocks around the first, which are around the second as well.
    fn pair(&mut self, first: OpId, depth: usize, second: OpId) {
        let kernel = self.kernel;
        let function = kernel.function;
        let result = function.op(second).results[0];
        let Some(root) = root(kernel, function.op(second).operands[0]) else { return };
        if function.ty(result) != function.ty(function.op(first).results[0]) || elements(kernel, result) > MAX_KEPT_ELEMENTS {
            return;
        }
        let mut writes = Writes::default();
        let mut may_be_left_out = false;
        for (level, &(block, at)) in self.path.iter().enumerate().skip(depth - 1) {
            let ops = &function.block(block).ops;
            let from = if level + 1 == depth { ops.iter().position(|&op| op == first).map_or(at, |p| p + 1) } else { 0 };
            let between = &ops[from.min(at)..at];
            writes.add(kernel, between);
            // To keep a tile through a loop takes registers from it, and to load it again may be meant.
            let loops = |op: &OpId| function.op(*op).kind.is_loop();
            if !function.ty(result).is_scalar() && between.iter().any(loops) {
                return;
            }
            if level + 1 < self.path.len() {
                match function.op(ops[at]).kind {
                    // The second trip comes after all of the first.
                    OpKind::For(_) | OpKind::While { .. } => {
                        let around = Writes::of(kernel, &ops[at..=at]);
                        // Which leaves the loop by itself, or is kept for what the loop needs.
                        if around.stores.is_empty() || !function.ty(result).is_scalar() {
                            return;
                        }
                        writes.add(kernel, &ops[at..=at]);
                    }
                    OpKind::If => may_be_left_out = true,
                    _ => return,
                }
            }
        }
        if !writes.change(root) && (may_be_left_out || !writes.stores.is_empty()) {
            self.found.push((first, second, writes));
        }
    }
}

fn tell(kernel: &mut Kernel<'_>, first: OpId, second: OpId, writes: &Writes) {
    let (Some(one), Some(other)) = (kernel.origin(first), kernel.origin(second)) else { return };
    // A helper that is called twice does not know what the other call has loaded.
    if one.inlined_at != other.inlined_at {
        return;
    }
    // Which of the conditions that nobody has decided hold together is assumed.
    if let (false, Some((first, _, one)), Some((second, _, other))) =
        (kernel.is_launched, kernel.expr(first), kernel.expr(second))
    {
        let around = second.conditions(other);
        if first.conditions(one).iter().any(|condition| !around.contains(condition)) {
            return;
        }
    }
    // A name that is bound again may be something else by now.
    let name = kernel.expr(first).and_then(|(written, _, expr)| written.name(expr).filter(|name| written.is_bound_once(name)));
    let again = name.as_ref().map_or_else(|| "use what it gave again".to_owned(), |name| format!("use `{name}` again"));
    let message = match (writes.stores.first(), one.place == other.place) {
        (Some(&(_, stored)), is_unrolled) => format!(
            "{}, and neither Triton nor Tritium leaves this load out: in between the kernel stores through {}, which they must take for memory that may be the same. If it is not, {}",
            if is_unrolled { "an earlier round of the unrolled loop loaded the same here" } else { "this was loaded before" },
            kernel.say(stored, "another pointer"),
            if is_unrolled { "load it before the loop".to_owned() } else { again },
        ),
        (None, false) => {
            format!("this was loaded before, and Triton loads it again, as this runs only under a condition: {again}")
        }
        (None, true) => return,
    };
    let Some(problem) = kernel.problem(Code::MEM008, second, message) else { return };
    let store = writes.stores.first().and_then(|&(store, _)| kernel.place(store));
    let mut problem = problem.with(Some(one.place), "loaded here first").with(store, "stored in between");
    if let (Some(name), Some((_, place, expr))) = (name, kernel.expr(second))
        && one.place.function == place.function
    {
        let edit = Edit::Replace(Place { function: place.function, at: At::Expr(expr) }, name.clone());
        problem = problem.fix(format!("Use `{name}`"), Applicability::Suggested, vec![edit]);
    }
    kernel.report(problem);
}
