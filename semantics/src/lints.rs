//! Rules about kernels that Triton accepts: what is likely wrong, or silently not what it looks like.
//!
//! A rule reads the whole kernel as tile IR (L0, helpers inlined) with its value facts, and says what it finds in the user's words. One
//! file a rule. **Invariant:** a rule reads nothing but the [`Kernel`] it is given, so it runs again only when that kernel, a helper it
//! calls, or the launches that run it change; it stays silent where it does not know.

mod allow_tf32;
mod asymmetric_mask;
mod chained_boolean;
mod dependence;
mod described;
mod extents;
mod filled;
mod folds;
mod fp8_target;
mod guarded_load;
mod implicit_broadcast;
mod invariant_load;
mod kernel;
mod leftover_print;
mod lone_mask;
mod lost_in_loop;
mod mask_axis;
mod masks;
mod memo;
mod negative_division;
mod negative_offset;
mod offset_overflow;
mod program_overlap;
mod program_store;
mod repeated_load;
mod repeated_random;
mod shallow;
mod softmax_shift;
mod step_sign;
mod tile_step;
mod tuner;
mod unused_mask;
mod unused_parameter;
mod wrapped_store;
mod writes;
mod wrong_identity;

use std::borrow::Cow;

use tritium_tile::{
    facts::{Extent, Launched, Range},
    inline, verify,
};

use crate::{
    Db, Instance,
    elaborate::{Elaborated, elaborate},
    host,
    launch::{Init, Launch, LaunchArg, Tensor, launches_of},
    problem::Problem,
    specialise::{Specialisation, run_time_values},
};

pub use described::described;
use kernel::Kernel;
pub(crate) use shallow::of_function;
pub use shallow::of_target;
pub(crate) use tuner::row as row_of_tuner;

type Rule = fn(&mut Kernel<'_>);

/// All rules, in the order of their codes' families.
const RULES: &[Rule] = &[
    implicit_broadcast::rule,
    tile_step::rule,
    step_sign::rule,
    lost_in_loop::rule,
    wrong_identity::rule,
    mask_axis::rule,
    guarded_load::rule,
    unused_mask::rule,
    asymmetric_mask::rule,
    lone_mask::rule,
    wrapped_store::rule,
    negative_offset::rule,
    extents::rule,
    offset_overflow::rule,
    negative_division::rule,
    program_store::rule,
    program_overlap::rule,
    softmax_shift::rule,
    repeated_random::rule,
    invariant_load::rule,
    repeated_load::rule,
];

/// Operations of a kernel and its helpers; past that it was unrolled beyond what anybody compiles.
const MAX_OPS: usize = 1 << 15;

/// What is likely wrong with a kernel under one specialisation, by what is known of the launches that make it.
#[salsa::tracked(returns(ref))]
pub fn lint(db: &dyn Db, instance: Instance, launched: Launched) -> Vec<Problem> {
    let elaborated = elaborate(db, instance);
    let Some(function) = whole(elaborated) else { return vec![] };
    let mut kernel = Kernel::new(db, elaborated, &function, &launched);
    for rule in RULES {
        db.unwind_if_revision_cancelled();
        rule(&mut kernel);
    }
    kernel.into_problems()
}

/// The kernel with its helpers in it. Where an unknown value left something out the rest may still be whole; rules that draw on absence
/// ask.
fn whole(elaborated: &Elaborated) -> Option<Cow<'_, tritium_tile::Function>> {
    let module = &elaborated.module;
    let ops: usize = module.functions.iter().map(|f| f.ops.len()).sum();
    if ops > MAX_OPS || !elaborated.complete && !verify(module).is_empty() {
        return None;
    }
    inline::inlined(module, MAX_OPS).ok()
}

/// What is known of the launches of a specialisation.
pub fn launched(db: &dyn Db, specialisation: &Specialisation) -> Launched {
    let kernel = specialisation.instance.function(db);
    if specialisation.launches.is_empty() {
        let grid = host::lone_axes(db, kernel).map(|is_lone| is_lone.then_some(Range::new(1, 1)));
        return Launched { grid, ..Launched::default() };
    }
    let all = launches_of(db, kernel);
    let mine = specialisation.launches.iter().filter_map(|&index| all.get(index));
    mine.map(|launch| of_launch(db, launch)).reduce(|a, b| a.join(&b)).unwrap_or_default()
}

/// The numbers of one launch, as far as the kernel takes them at run time.
pub fn of_launch(db: &dyn Db, launch: &Launch) -> Launched {
    let exactly = |n: i64| Range::new(n, n);
    let values = run_time_values(db, launch);
    let number = |value: &LaunchArg| match value {
        LaunchArg::Int(n) => Some(exactly(i64::try_from(*n).ok()?)),
        _ => None,
    };
    let extent = |value: &LaunchArg| match value {
        LaunchArg::Tensor(index) => extent(launch.tensors.get(*index)?),
        _ => None,
    };
    Launched {
        params: values.iter().map(number).collect(),
        grid: launch.grid.map(|n| i64::try_from(n).ok().map(exactly)),
        tensors: values.iter().map(extent).collect(),
    }
}

/// Up to the last element; nothing of a tensor without elements.
fn extent(tensor: &Tensor) -> Option<Extent> {
    // Around a part of a memory lies the rest of it.
    let span = tensor.span().filter(|&span| span > 0 && tensor.is_whole())?;
    let bytes = span.checked_mul(u64::from(tensor.dtype.bits().div_ceil(8)))?;
    Some(Extent { bytes, is_unwritten: tensor.init == Init::Empty })
}
