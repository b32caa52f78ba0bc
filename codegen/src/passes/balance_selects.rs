//! A row of selects by one number becomes a tree over its bits, or one access to a table: `x == 3 ? c : x == 2 ? b : …` looks at each bit of `x` once.
//!
//! A kernel that is given a list of pointers chooses one so, and its loads wait for the choice: in a row every select waits for the one in front
//! of it and has a comparison of its own, 64 bits wide where indices are. ptxas even makes a load of the parameter of each, under its condition,
//! one after the other. In a tree they are side by side: about as many selects, and as many comparisons one after the other as `x` has bits.
//!
//! Pointers that are neighbours among the kernel's parameters, as those of a list are, need no selects: `choose` reads the one that the number says.
//!
//! Only scalars, and tiles that repeat one, are chosen: of other tiles a tree has to hold all that the row holds one at a time.
//! **Invariant:** the same value is chosen for every `x`. Where ranges do not bound it, one comparison more, in the type of `x`, keeps what the
//! row ends with for all that is beside the literals.

use std::collections::BTreeMap;

use tritium_tile::{
    Builder, Elem, Function, Module, OpId, OpKind, Scalar, ValueId, facts,
    ops::{BinaryOp, CastOp, Constant, Predicate},
    rewrite::{self, ValueMap},
};

use super::{CompileOptions, Pass, Unsupported};

pub static PASS: Pass =
    Pass { name: "balance_selects", summary: "Choose one of many values by a number at once.", needs: &[], gives: &[], run };

/// Selects of a row; of fewer nobody waits long.
const LEAST: usize = 4;
/// Bits of a literal at most: a tree has room for every number of so many.
const MOST_BITS: u32 = 5;

fn run(module: &mut Module, _options: &CompileOptions) -> Result<(), Unsupported> {
    for function in &mut module.functions {
        let mut replaced = ValueMap::default();
        for row in rows(function) {
            let last = function.op(row.last).results[0];
            let Some((block, at)) = rewrite::position(function, row.last) else { continue };
            let origin = function.op(row.last).origin;
            let scratch = function.add_block();
            let chosen = build(&mut Builder { function, block: scratch, origin }, &row);
            let ops = std::mem::take(&mut function.block_mut(scratch).ops);
            function.block_mut(block).ops.splice(at..at, ops);
            replaced.insert(last, chosen);
        }
        if !replaced.is_empty() {
            rewrite::replace_uses(function, &replaced);
            rewrite::erase_dead(function);
            rewrite::compact(function);
        }
    }
    Ok(())
}

/// Selects one after the other, each of whose conditions compares the same number with a literal.
struct Row {
    /// The select that stands last, which decides first.
    last: OpId,
    number: ValueId,
    /// What is chosen where the number is this.
    keys: BTreeMap<u32, ValueId>,
    /// What is chosen else.
    base: ValueId,
    /// How many selects.
    length: usize,
    /// The least and the greatest that the number may be, if no other may come.
    known: Option<(u32, u32)>,
}

fn rows(function: &Function) -> Vec<Row> {
    let mut selects = Vec::new();
    let parents = rewrite::parent_blocks(function);
    function.walk(|_, id| {
        if matches!(function.op(id).kind, OpKind::Select) {
            selects.push(id);
        }
    });
    if selects.len() < LEAST {
        return Vec::new();
    }
    let facts = facts::of_function(function);
    let uses = rewrite::use_counts(function);
    let mut taken = vec![false; function.ops.len()];
    let mut rows = Vec::new();
    // The last of a row comes first, so that it takes the others with it.
    for &last in selects.iter().rev() {
        if taken[last.index()] {
            continue;
        }
        let Some((number, ..)) = link(function, last) else { continue };
        let mut keys = BTreeMap::new();
        let mut links = Vec::new();
        let mut base = function.op(last).results[0];
        while let Some(id) = function.def_op(base)
            && parents[id.index()] == parents[last.index()]
            && (id == last || uses[base.index()] == 1)
            && let Some((x, key, value)) = link(function, id)
            && x == number
        {
            // Who decides first has the say.
            keys.entry(key).or_insert(value);
            links.push(id);
            base = function.op(id).operands[2];
        }
        let range = facts.range(number);
        let known = (range.min >= 0 && range.max < 1 << MOST_BITS).then_some((range.min as u32, range.max as u32));
        let row = Row { last, number, keys, base, length: links.len(), known };
        if row.length >= LEAST && is_worth_it(&row) {
            links.into_iter().for_each(|id| taken[id.index()] = true);
            rows.push(row);
        }
    }
    rows
}

/// Of a select that may be part of a row: the number, the literal and what is chosen if they are equal.
fn link(function: &Function, select: OpId) -> Option<(ValueId, u32, ValueId)> {
    let def = |value: ValueId| function.def_op(value).map(|op| function.op(op));
    let literal = |value: ValueId| match def(value)?.kind {
        OpKind::Constant(Constant::Int(key)) => u32::try_from(key).ok().filter(|&key| key < 1 << MOST_BITS),
        _ => None,
    };
    let op = function.op(select);
    let (OpKind::Select, &[condition, value, _]) = (&op.kind, &op.operands[..]) else { return None };
    let mut compare = def(condition)?;
    if matches!(compare.kind, OpKind::Splat) {
        compare = def(compare.operands[0])?;
    }
    let (OpKind::Compare(Predicate::Eq), &[a, b]) = (&compare.kind, &compare.operands[..]) else { return None };
    // Bytes have room for what is compared with.
    let is_wide_enough = function.ty(a).elem().scalar().is_some_and(|scalar| scalar.is_int() && scalar.bits() >= 8);
    let repeats = match def(value).map(|op| &op.kind) {
        // A literal is part of the instruction that chooses it.
        Some(OpKind::Constant(_)) => false,
        Some(OpKind::Splat) => true,
        _ => function.ty(value).is_scalar(),
    };
    let (number, key) = literal(b).map(|key| (a, key)).or_else(|| literal(a).map(|key| (b, key)))?;
    (is_wide_enough && repeats).then_some((number, key, value))
}

impl Row {
    /// What is chosen by each number from 0; `None` where the number cannot come here.
    fn leaves(&self) -> Vec<Option<ValueId>> {
        let greatest = self.keys.keys().last().copied().unwrap_or(0);
        let (first, last) = self.known.unwrap_or((0, greatest));
        let leaf = |key: u32| *self.keys.get(&key).unwrap_or(&self.base);
        (0..(last + 1).next_power_of_two()).map(|key| (first..=last).contains(&key).then(|| leaf(key))).collect()
    }

    /// What is chosen by each number from 0, where these are neighbours among the kernel's parameters and what is chosen by others is one of them.
    fn parameters(&self, function: &Function) -> Option<Vec<ValueId>> {
        let mut leaves = self.leaves();
        leaves.truncate(leaves.iter().rposition(Option::is_some)? + 1);
        let values = leaves.into_iter().collect::<Option<Vec<_>>>()?;
        function.parameters_in_a_row(&values)?;
        (self.known.is_some() || values.contains(&self.base)).then_some(values)
    }
}

/// Takes two leaves together for every bit, from the lowest; `join` is given the bit, what is chosen where it is clear, and where it is set.
fn fold<T: Copy + PartialEq>(mut leaves: Vec<Option<T>>, mut join: impl FnMut(usize, T, T) -> T) -> Option<T> {
    for bit in 0..leaves.len().ilog2() as usize {
        let joined = leaves.chunks(2).map(|pair| match (pair[0], pair[1]) {
            (Some(clear), Some(set)) if clear != set => Some(join(bit, clear, set)),
            (clear, set) => clear.or(set),
        });
        leaves = joined.collect();
    }
    leaves[0]
}

/// A tree has one select more than the row at most, and fewer one after the other: literals with gaps between them stay in a row.
fn is_worth_it(row: &Row) -> bool {
    let leaves = row.leaves();
    let check = usize::from(row.known.is_none());
    let depth = leaves.len().ilog2() as usize + check;
    let mut selects = check;
    let values = leaves.into_iter().map(|leaf| leaf.map(|value| (value, 0))).collect();
    fold(values, |_, (value, _), _| {
        selects += 1;
        (value, selects)
    });
    selects <= row.length + 1 && depth < row.length
}

fn build(b: &mut Builder<'_>, row: &Row) -> ValueId {
    let leaves = row.leaves();
    let wide = b.function.ty(row.number).clone();
    let chosen = b.function.ty(row.base).clone();
    let one_bit = Elem::Scalar(Scalar::I1);
    let truth = wide.with_elem(one_bit);
    // A number may decide for a whole tile.
    let spread = |b: &mut Builder<'_>, holds: ValueId| {
        if wide.shape() == chosen.shape() { holds } else { b.value(OpKind::Splat, &[holds], chosen.with_elem(one_bit)) }
    };
    let (mut narrow, mut number) = (wide.clone(), row.number);
    if wide.elem().bits() > 32 {
        narrow = wide.with_elem(Elem::Scalar(Scalar::I32));
        number = b.value(OpKind::Cast(CastOp::Trunc), &[number], narrow.clone());
    }
    if let Some(values) = row.parameters(b.function) {
        if row.known.is_none() {
            let end = b.int(values.len() as i64, wide.clone());
            let inside = b.value(OpKind::Compare(Predicate::LtU), &[row.number, end], truth);
            let beyond = values.iter().position(|&value| value == row.base).unwrap_or(0);
            let beyond = b.int(beyond as i64, narrow.clone());
            number = b.value(OpKind::Select, &[inside, number, beyond], narrow.clone());
        }
        if narrow.elem().bits() < 32 {
            narrow = narrow.with_elem(Elem::Scalar(Scalar::I32));
            number = b.value(OpKind::Cast(CastOp::ExtU), &[number], narrow.clone());
        }
        if narrow.shape() != chosen.shape() {
            number = b.value(OpKind::Splat, &[number], chosen.with_elem(narrow.elem()));
        }
        let operands = std::iter::once(number).chain(values).collect::<Vec<_>>();
        return b.value(OpKind::Choose, &operands, chosen);
    }
    let zero = b.int(0, narrow.clone());
    let mut bits = Vec::new();
    for bit in 0..leaves.len().ilog2() {
        let mask = b.int(1 << bit, narrow.clone());
        let masked = b.value(OpKind::Binary(BinaryOp::And), &[number, mask], narrow.clone());
        let is_set = b.value(OpKind::Compare(Predicate::Ne), &[masked, zero], truth.clone());
        bits.push(spread(b, is_set));
    }
    let value = fold(leaves, |bit, clear, set| b.value(OpKind::Select, &[bits[bit], set, clear], chosen.clone()));
    let value = value.unwrap_or(row.base);
    if row.known.is_some() {
        return value;
    }
    let greatest = row.keys.keys().last().copied().unwrap_or(0);
    let end = b.int(i64::from(greatest) + 1, wide.clone());
    let inside = b.value(OpKind::Compare(Predicate::LtU), &[row.number, end], truth.clone());
    let inside = spread(b, inside);
    b.value(OpKind::Select, &[inside, value, row.base], chosen.clone())
}
