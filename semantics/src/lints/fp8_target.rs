//! DTY014: an 8-bit float that the GPU does not have.

use crate::{
    Db,
    diagnostics::Code,
    dtype::DType,
    elaborate::Elaborated,
    problem::{At, Place, Problem},
    target::Feature,
    types::{Element, Ty},
};

pub(super) fn lint(db: &dyn Db, out: &mut Vec<Problem>, elaborated: &Elaborated) {
    let holds = |ty: &Ty| match ty {
        Ty::Tile(tile) => matches!(tile.elem, Element::Scalar(DType::F8E4M3) | Element::Ptr { pointee: DType::F8E4M3, .. }),
        _ => false,
    };
    // The first place of each function: one reason, one message.
    for (&function, types) in &elaborated.types {
        let Some((expr, ty)) = types.iter().find(|(_, ty)| holds(ty)) else { continue };
        let gpu = crate::project::project(db, function.file(db)).target();
        if gpu.sm.has(Feature::Fp8) {
            return;
        }
        out.push(Problem {
            code: Code::DTY014,
            message: format!(
                "this is {ty}, and {} has no `float8e4nv`: use `float8e5`, or a GPU of sm_89 or later (`--gpu` says which is meant)",
                gpu.name()
            ),
            place: Place { function, at: At::Expr(expr) },
            related: vec![],
            fixes: vec![],
            calls: vec![],
            level: None,
        });
    }
}
