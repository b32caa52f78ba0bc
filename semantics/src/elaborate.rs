//! Elaboration: one walk of a function's body, once per specialisation, yields its tile IR (L0), the type of every expression and the
//! problems, together; so the checker cannot disagree with the compiler.
//!
//! **Invariants:** a problem yields an unknown value that silences its users and the walk goes on (one mistake, one message); the module
//! verifies whenever [`Elaborated::complete`]; no position is read, so a comment recomputes nothing.
//!
//! The walk is [`evaluator`]; [`statements`] and [`control`] are about control flow, [`expressions`] and [`operators`] about values,
//! [`calls`] about functions, and one file each about a family of builtins.

mod atomics;
mod block_pointers;
mod budget;
mod builtin_calls;
mod calls;
mod casts;
mod constexpr;
mod control;
mod create;
mod debug;
mod descriptors;
mod dot;
mod dot_scaled;
mod evaluator;
mod expressions;
mod indexing;
mod inline;
mod library;
mod link;
mod lint_hints;
mod lookup;
mod loops;
mod math;
mod memory;
mod names;
mod nesting;
mod operators;
mod promises;
pub(crate) mod promote;
mod python;
mod random;
mod reached;
mod records;
mod reduce;
mod scan;
mod scope;
mod shapes;
mod sort;
mod statements;
mod types;
mod undefined;
mod value;

pub(crate) use expressions::source_text;
pub(crate) use scan::times_bound;

use std::sync::Arc;

use smol_str::SmolStr;
use tritium_tile as tile;

pub(crate) use python::removal_of;
pub(crate) use reached::come_everywhere;
pub use types::Types;

use crate::{
    Db, Function, Instance, OrderedMap,
    constant::Const,
    instance::Argument,
    items::RecordClass,
    problem::{Place, Problem},
    types::{Dim, Element, TileType, Ty},
};

/// The type of every expression that was reached, function by function. Kernels share those of their helpers.
pub type TypesOf = OrderedMap<Function, Arc<Types>>;

/// Everything a specialisation means.
#[derive(Debug, Clone, PartialEq)]
pub struct Elaborated {
    /// L0; the function asked for is the entry, its callees follow.
    pub module: tile::Module,
    /// [`tile::Origin`] indexes it.
    pub origins: Vec<OriginData>,
    /// The type of every expression that was reached, helpers included; of its last visit.
    pub types: TypesOf,
    /// Every binding of a name, in order of its last visit: the target, the name, the type.
    pub bindings: Vec<(Place, SmolStr, Ty)>,
    pub problems: Vec<Problem>,
    /// No unknown value reaches a side effect or decides control flow: the module is the whole kernel.
    pub complete: bool,
    /// The first place whose value is not known, where the module is not the whole kernel and no problem tells why.
    pub first_unknown: Option<Place>,
    /// What it took, of the most that is spent on one; see [`budget`].
    pub work: usize,
    /// It was not enough: some of the walk ended early.
    pub exhausted: bool,
}

/// Where an operation comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct OriginData {
    pub place: Place,
    /// The call it was reached through: an index into the same table.
    pub inlined_at: Option<u32>,
}

/// One argument of a helper, as far as its meaning depends on it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum CallArgument {
    /// Not given: the parameter's default.
    Default,
    Tile(TileType),
    Const(Const),
    Tuple(Vec<CallArgument>),
    Type(TileType),
    Builtin(crate::builtins::Builtin),
    Library(crate::builtins::Library),
    CustomFloat(crate::builtins::CustomFloat),
    Module(SmolStr),
    /// The types of its parts, its block and its element.
    BlockPointer(Vec<TileType>, TileType),
    /// The types of its parts, its block and element, whether it pads with NaN, and who made it.
    Descriptor(Vec<TileType>, TileType, bool, tile::ops::DescriptorSource),
    /// `d.type` of a descriptor, by its block.
    DescriptorType(TileType),
    /// A named tuple or an aggregate, field by field.
    Record(Arc<RecordClass>, Vec<CallArgument>),
    /// Nothing is known of it.
    Unknown,
    /// The result of a call that gives nothing.
    Void,
}

/// A helper with its arguments' types and compile-time values: its own query, so that kernels share it.
#[salsa::interned(unsafe(no_lifetime), revisions = usize::MAX, debug)]
pub struct Call {
    pub function: Function,
    /// One for each parameter, in order.
    #[returns(ref)]
    pub arguments: Vec<CallArgument>,
    #[returns(ref)]
    pub triton: SmolStr,
    /// Calls above it that may lead to it again; recursion ends at a limit instead of never.
    #[returns(copy)]
    pub recursion: u32,
}

/// What one function body means by itself; a kernel's or a helper's. [`link`] makes a whole of it and of what it calls.
#[derive(Debug, Clone, PartialEq)]
pub struct Elaboration {
    /// Its calls name `calls` by index, counted from 1.
    pub(crate) function: tile::Function,
    /// In the order in which they are made first.
    pub(crate) calls: OrderedMap<Call, link::Reached>,
    pub(crate) origins: Vec<Place>,
    pub(crate) types: Option<(Function, Arc<Types>)>,
    pub(crate) bindings: Vec<(Place, SmolStr, Ty)>,
    pub(crate) problems: Vec<Problem>,
    /// Ids inside are the results of the function, in order.
    pub(crate) returns: value::Value,
    pub(crate) complete: bool,
    pub(crate) first_unknown: Option<Place>,
    /// Work of its own body, without that of what it calls.
    pub(crate) work: usize,
    /// Calls below it, and blocks around its innermost operation, those of its callees included.
    pub(crate) calls_below: u32,
    pub(crate) blocks_below: u32,
    /// With that of what it calls.
    pub(crate) whole_work: usize,
    /// Its walk, or that of something it calls, ended early.
    pub(crate) exhausted: bool,
    /// An assertion in it fails at compile time.
    pub(crate) stopped: bool,
}

/// A kernel, or a helper asked for directly, under one specialisation.
#[salsa::tracked(returns(ref), lru = 16)]
pub fn elaborate(db: &dyn Db, instance: Instance) -> Elaborated {
    elaborate_once(db, instance.function(db), instance.arguments(db), instance.triton(db))
}

/// The same for one that is asked for once, such as a trial: nothing keeps it.
pub(crate) fn elaborate_once(db: &dyn Db, kernel: Function, arguments: &[Argument], triton: &SmolStr) -> Elaborated {
    let arguments = arguments.iter().map(entry).collect();
    link::link(db, evaluator::evaluate(db, kernel, arguments, triton, 0, true))
}

/// What a launch passes for one parameter, and the multiples it promises: one number for each run-time part.
fn entry(argument: &Argument) -> evaluator::Entry {
    match argument {
        Argument::Runtime { ty, divisible_by_16 } => evaluator::Entry {
            argument: CallArgument::Tile(TileType::scalar(Element::from(ty))),
            divisibility: vec![if *divisible_by_16 { 16 } else { 1 }],
        },
        Argument::Constexpr(value) => evaluator::Entry::plain(CallArgument::Const(value.clone())),
        Argument::Unknown => evaluator::Entry::plain(CallArgument::Unknown),
        Argument::Tuple(items) => {
            let mut parts = Vec::new();
            let mut divisibility = Vec::new();
            for item in items.iter().map(entry) {
                parts.push(item.argument);
                divisibility.extend(item.divisibility);
            }
            evaluator::Entry { argument: CallArgument::Tuple(parts), divisibility }
        }
        Argument::Descriptor { elem, block, nan } => {
            let ty = TileType { elem: (*elem).into(), shape: block.iter().map(|&size| Dim::known(size)).collect() };
            let parts = descriptors::part_types(*elem, block.len());
            // The host checks the base, and all strides but the last, for 16 bytes.
            let in_elements = (16 / (elem.bits() / 8).max(1)).max(1);
            let divisibility = (0..parts.len())
                .map(|i| match i {
                    0 => 16,
                    _ if i > block.len() => in_elements,
                    _ => 1,
                })
                .collect();
            evaluator::Entry {
                argument: CallArgument::Descriptor(parts, ty, *nan, tile::ops::DescriptorSource::Given),
                divisibility,
            }
        }
    }
}

/// A helper as one call reaches it.
#[salsa::tracked(returns(ref), lru = 64)]
pub fn elaborate_call(db: &dyn Db, call: Call) -> Elaboration {
    let arguments = call.arguments(db).iter().map(|argument| evaluator::Entry::plain(argument.clone())).collect();
    evaluator::evaluate(db, *call.function(db), arguments, call.triton(db), call.recursion(db), false)
}

#[cfg(test)]
mod tests;
