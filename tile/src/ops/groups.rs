//! Operations that most matches treat alike, as patterns.
//!
//! **Invariant:** groups do not overlap. A new operation joins one, or is named in every match that the compiler then points to; an arm `_` would
//! hide it.

/// The pattern of a group of [`OpKind`](crate::OpKind), or of [`BinaryOp`](crate::ops::BinaryOp) for `Integer` and `Float`.
#[macro_export]
macro_rules! kinds {
    // Numbers from numbers, element by element.
    (Arithmetic) => {
        $crate::OpKind::Unary(_)
            | $crate::OpKind::Binary(_)
            | $crate::OpKind::Compare(_)
            | $crate::OpKind::Select
            | $crate::OpKind::Choose
            | $crate::OpKind::Fma
            | $crate::OpKind::Cast(_)
            | $crate::OpKind::Libdevice(_)
    };
    // Elements of the operand in another shape.
    (Shape) => {
        $crate::OpKind::Splat
            | $crate::OpKind::ExpandDims { .. }
            | $crate::OpKind::Broadcast
            | $crate::OpKind::Reshape { .. }
            | $crate::OpKind::Transpose { .. }
    };
    // What a program knows of itself.
    (Program) => {
        $crate::OpKind::ProgramId { .. } | $crate::OpKind::NumPrograms { .. } | $crate::OpKind::SpecialRegister(_)
    };
    // Runs its regions as the program goes.
    (Control) => {
        $crate::OpKind::For(_) | $crate::OpKind::While { .. } | $crate::OpKind::If
    };
    // Hands values to another block or function.
    (Transfer) => {
        $crate::OpKind::Yield | $crate::OpKind::Condition | $crate::OpKind::Return | $crate::OpKind::Call { .. }
    };
    // Looks at values.
    (Observation) => {
        $crate::OpKind::Assert { .. } | $crate::OpKind::Assume | $crate::OpKind::Print { .. }
    };
    // Goes on while the program does other things.
    (Copying) => {
        $crate::OpKind::AsyncCopy(_) | $crate::OpKind::TmaLoad { .. } | $crate::OpKind::TmaStore { .. }
    };
    // Orders what threads, copies and tensor cores do.
    (Order) => {
        $crate::OpKind::Barrier
            | $crate::OpKind::GridWait
            | $crate::OpKind::GridLaunch
            | $crate::OpKind::AsyncCommit
            | $crate::OpKind::AsyncWait { .. }
            | $crate::OpKind::FenceAsync
            | $crate::OpKind::MbarrierInit { .. }
            | $crate::OpKind::MbarrierWait
            | $crate::OpKind::MbarrierInvalidate
            | $crate::OpKind::WgmmaWait { .. }
    };
    (Integer) => {
        $crate::ops::BinaryOp::AddI
            | $crate::ops::BinaryOp::SubI
            | $crate::ops::BinaryOp::MulI
            | $crate::ops::BinaryOp::MulHiU
            | $crate::ops::BinaryOp::DivS
            | $crate::ops::BinaryOp::DivU
            | $crate::ops::BinaryOp::RemS
            | $crate::ops::BinaryOp::RemU
            | $crate::ops::BinaryOp::And
            | $crate::ops::BinaryOp::Or
            | $crate::ops::BinaryOp::Xor
            | $crate::ops::BinaryOp::Shl
            | $crate::ops::BinaryOp::ShrS
            | $crate::ops::BinaryOp::ShrU
            | $crate::ops::BinaryOp::MinS
            | $crate::ops::BinaryOp::MaxS
            | $crate::ops::BinaryOp::MinU
            | $crate::ops::BinaryOp::MaxU
    };
    (Float) => {
        $crate::ops::BinaryOp::AddF
            | $crate::ops::BinaryOp::SubF
            | $crate::ops::BinaryOp::MulF
            | $crate::ops::BinaryOp::DivF
            | $crate::ops::BinaryOp::DivRn
            | $crate::ops::BinaryOp::RemF
            | $crate::ops::BinaryOp::MinF
            | $crate::ops::BinaryOp::MaxF
            | $crate::ops::BinaryOp::MinNan
            | $crate::ops::BinaryOp::MaxNan
    };
}
