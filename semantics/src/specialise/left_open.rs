//! How much host code says of a launch.

use smol_str::SmolStr;

use super::flow::{self, Role};
use crate::{
    Db, Function,
    host::Kind,
    items::{Annotation, items},
    launch::{Given, PartialLaunch},
};

/// What is left open of a launch, from nothing to everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LeftOpen {
    /// Every argument is known, though host code may not say whether and on which grid it runs.
    Nothing,
    /// Sizes, strides and other numbers, flags and words; whether an optional argument is given.
    Values,
    /// Element types as well: of some tensor the dtype is not known.
    ElementTypes,
    /// Of some argument nothing but what the kernel does with it: it loads through it, tests it, reckons with it.
    Kinds,
    /// Of some argument nothing at all: it is called, or is an object.
    Everything,
}

/// What a launch in host code leaves open.
pub fn left_open(db: &dyn Db, partial: &PartialLaunch, open: &[(usize, SmolStr)]) -> LeftOpen {
    let kernel = partial.kernel;
    let open = open.iter().map(|(index, _)| {
        let given = partial.given.get(*index).unwrap_or(&Given::UNKNOWN);
        left_open_of(db, kernel, *index, given)
    });
    open.max().unwrap_or(LeftOpen::Nothing)
}

fn left_open_of(db: &dyn Db, kernel: Function, index: usize, given: &Given) -> LeftOpen {
    match given {
        Given::Known(_) | Given::Descriptor { .. } => LeftOpen::Nothing,
        Given::OneOf(_) => LeftOpen::Values,
        Given::Tuple(items) => items.iter().map(|item| left_open_of(db, kernel, index, item)).max().unwrap_or(LeftOpen::Nothing),
        Given::Open { kind: Kind::Int | Kind::Float | Kind::Bool | Kind::Str | Kind::Ints | Kind::Tensor(Some(_)), .. } => {
            LeftOpen::Values
        }
        Given::Open { kind: Kind::Tensor(None) | Kind::DType, .. } => LeftOpen::ElementTypes,
        Given::Open { kind: Kind::Any, .. } => {
            let annotation =
                items(db, kernel.file(db)).function(kernel).and_then(|item| item.params.get(index)).map(|p| p.annotation);
            match (annotation, flow::flow(db, kernel).roles.get(index)) {
                (Some(Annotation::Scalar(_) | Annotation::Pointer { .. }), _) => LeftOpen::Values,
                (_, None | Some(Role::Function | Role::Compound)) => LeftOpen::Everything,
                _ => LeftOpen::Kinds,
            }
        }
    }
}

/// Whether of some argument of a launch the type is known.
pub fn says_some_type(partial: &PartialLaunch) -> bool {
    partial.given.iter().any(|given| !matches!(given, Given::Open { kind: Kind::Any | Kind::Tensor(None), .. }))
}
