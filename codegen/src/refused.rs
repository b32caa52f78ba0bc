//! Operations that are understood and interpreted, and that no machine code is written for.
//!
//! **Invariant:** asked before the first pass, so no later stage meets one; the match is exhaustive, so a new kind is decided here.

use tritium_tile::{Module, OpKind};

use crate::passes::Unsupported;

fn reason(kind: &OpKind) -> Option<String> {
    let plain = |what: &str| Some(format!("{what} is checked and runs on the CPU device, but has no machine code yet"));
    match kind {
        OpKind::Libdevice(symbol) => plain(&format!("the library function `{}`", symbol.function().name)),
        OpKind::Constant(_)
        | OpKind::ProgramId { .. }
        | OpKind::NumPrograms { .. }
        | OpKind::SpecialRegister(_)
        | OpKind::Iota { .. }
        | OpKind::Splat
        | OpKind::ExpandDims { .. }
        | OpKind::Broadcast
        | OpKind::Reshape { .. }
        | OpKind::Transpose { .. }
        | OpKind::Unary(_)
        | OpKind::Binary(_)
        | OpKind::Compare(_)
        | OpKind::Select
        | OpKind::Fma
        | OpKind::Cast(_)
        | OpKind::AddPtr
        | OpKind::Promise { .. }
        | OpKind::Load(_)
        | OpKind::Store(_)
        | OpKind::InlineAsm(_)
        | OpKind::Map { .. }
        | OpKind::AtomicCas { .. }
        | OpKind::Gather { .. }
        | OpKind::Histogram
        | OpKind::Print { .. }
        | OpKind::AtomicRmw { .. }
        | OpKind::Reduce { .. }
        | OpKind::Scan { .. }
        | OpKind::Dot { .. }
        | OpKind::For(_)
        | OpKind::While
        | OpKind::If
        | OpKind::Yield
        | OpKind::Condition
        | OpKind::Return
        | OpKind::Call { .. }
        | OpKind::Assert { .. }
        | OpKind::Assume
        | OpKind::ConvertLayout
        | OpKind::LocalAlloc
        | OpKind::LocalLoad
        | OpKind::LocalIndex
        | OpKind::LocalStore
        | OpKind::Barrier
        | OpKind::AsyncCopy(_)
        | OpKind::AsyncCommit
        | OpKind::AsyncWait { .. }
        | OpKind::FenceAsync => None,
    }
}

/// The first operation of a module that cannot be compiled.
pub(crate) fn first(module: &Module) -> Result<(), Unsupported> {
    for function in &module.functions {
        let mut refused = None;
        function.walk(|_, id| {
            let op = function.op(id);
            if refused.is_none() {
                refused = reason(&op.kind).map(|message| Unsupported::new(op.origin, message));
            }
        });
        if let Some(refused) = refused {
            return Err(refused);
        }
    }
    Ok(())
}
