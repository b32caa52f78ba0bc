//! What is told of a function without walking it: from its statements, or from the types that a walk found.
//!
//! **Invariant:** one file a lint; a lint changes nothing and only adds problems.

use super::{allow_tf32, chained_boolean, fp8_target, leftover_print, tuner, unused_parameter};
use crate::{Db, Function, elaborate::Elaborated, problem::Problem};

/// What the statements of a `@triton.jit` function say.
#[salsa::tracked(returns(ref))]
pub(crate) fn of_function(db: &dyn Db, function: Function, is_kernel: bool) -> Vec<Problem> {
    let Some((body, stmt)) = crate::items::function_body(db, function) else { return vec![] };
    let crate::body::Stmt::Function(def) = body.stmt(stmt) else { return vec![] };
    let mut out = Vec::new();
    allow_tf32::lint(db, &mut out, function, &body, def);
    chained_boolean::lint(db, &mut out, function, &body, def);
    leftover_print::lint(db, &mut out, function, &body, def);
    tuner::lint(db, &mut out, function, &body, def);
    if is_kernel {
        unused_parameter::lint(db, &mut out, function, &body, def);
    }
    out
}

/// What the types of one specialisation say about the GPU that is meant.
pub fn of_target(db: &dyn Db, elaborated: &Elaborated) -> Vec<Problem> {
    let mut out = Vec::new();
    fp8_target::lint(db, &mut out, elaborated);
    out
}
