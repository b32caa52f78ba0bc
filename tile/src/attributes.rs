//! The attributes of operations in the text form: what stands behind the operands, a word or `key=value`.
//!
//! **Invariant:** [`visit`] describes each attribute once, and both ways go through it, so what is written is what is read.

use smallvec::SmallVec;

use crate::{names::Named, ops::*};

/// Writes attributes, or reads them.
pub(crate) trait Visitor {
    type Error;

    /// Given always.
    fn axis(&mut self, axis: &mut u8) -> Result<(), Self::Error>;

    /// Written always; what is left out is `default`.
    fn number<T: Number>(&mut self, key: &str, number: &mut T, default: T) -> Result<(), Self::Error>;

    /// Left out where it is `default`.
    fn number_beside<T: Number>(&mut self, key: &str, number: &mut T, default: T) -> Result<(), Self::Error>;

    fn optional(&mut self, key: &str, number: &mut Option<u32>) -> Result<(), Self::Error>;

    fn flag(&mut self, key: &str, flag: &mut bool) -> Result<(), Self::Error>;

    /// Left out where it is the default.
    fn name<T: Named + Default>(&mut self, key: &str, name: &mut T) -> Result<(), Self::Error>;

    /// Given always.
    fn numbers<A: smallvec::Array>(&mut self, key: &str, numbers: &mut SmallVec<A>) -> Result<(), Self::Error>
    where
        A::Item: Number;
}

/// An unsigned number of any width.
pub(crate) trait Number: Copy + PartialEq + TryFrom<u64> + Into<u64> {}

impl<T: Copy + PartialEq + TryFrom<u64> + Into<u64>> Number for T {}

pub(crate) fn visit<V: Visitor>(kind: &mut OpKind, v: &mut V) -> Result<(), V::Error> {
    match kind {
        OpKind::ExpandDims { axis } | OpKind::Reduce { axis } | OpKind::Gather { axis } => v.axis(axis),
        OpKind::Scan { axis, reverse } => {
            v.axis(axis)?;
            v.flag("reverse", reverse)
        }
        OpKind::Reshape { reorder } => v.flag("reorder", reorder),
        OpKind::Transpose { order } => v.numbers("order", order),
        OpKind::Promise { what: _, values } => v.numbers("values", values),
        OpKind::Load(LoadAttrs { vector, cache, eviction, volatile, descriptor }) => {
            access(v, vector, cache, eviction)?;
            v.flag("volatile", volatile)?;
            v.name("descriptor", descriptor)
        }
        OpKind::Store(StoreAttrs { vector, cache, eviction, descriptor }) => {
            access(v, vector, cache, eviction)?;
            v.name("descriptor", descriptor)
        }
        OpKind::AsyncCopy(AsyncCopyAttrs { vector, cache, eviction }) => access(v, vector, cache, eviction),
        OpKind::AtomicRmw { op: _, sem, scope, vector } => {
            v.number_beside("vector", vector, 0)?;
            v.name("sem", sem)?;
            v.name("scope", scope)
        }
        OpKind::AtomicCas { sem, scope } => {
            v.name("sem", sem)?;
            v.name("scope", scope)
        }
        OpKind::InlineAsm(asm) => {
            let InlineAsm { asm: _, constraints: _, pure, pack } = &mut **asm;
            v.number_beside("pack", pack, 1)?;
            let mut impure = !*pure;
            v.flag("impure", &mut impure)?;
            *pure = !impure;
            Ok(())
        }
        OpKind::Map { pack } => v.number_beside("pack", pack, 1),
        OpKind::Print { prefix: _, hex, signed } => {
            v.number_beside("signed", signed, 0)?;
            v.flag("hex", hex)
        }
        OpKind::Dot { precision, sum_depth } => {
            v.name("precision", precision)?;
            v.optional("sum_depth", sum_depth)
        }
        OpKind::Wgmma { turned: [a, b], sum_depth } => {
            v.flag("turn_a", a)?;
            v.flag("turn_b", b)?;
            v.optional("sum_depth", sum_depth)
        }
        OpKind::AsyncWait { pending } | OpKind::WgmmaWait { pending } => v.number("pending", pending, 0),
        OpKind::MbarrierInit { count } => v.number("count", count, 1),
        OpKind::TmaLoad { contiguous, own_map } => {
            v.number("contiguous", contiguous, 0)?;
            v.flag("own_map", own_map)
        }
        OpKind::TmaStore { contiguous, own_map, visible } => {
            v.number("contiguous", contiguous, 0)?;
            v.flag("own_map", own_map)?;
            v.flag("visible", visible)
        }
        OpKind::WriteTensorMap { contiguous, block } => {
            v.number("contiguous", contiguous, 0)?;
            v.numbers("block", block)
        }
        OpKind::For(LoopAttrs { num_stages, stages, unroll, flatten, disallow_acc_multi_buffer, disable_licm, apart }) => {
            v.optional("num_stages", num_stages)?;
            v.optional("stages", stages)?;
            v.optional("unroll", unroll)?;
            v.flag("flatten", flatten)?;
            v.flag("disallow_acc_multi_buffer", disallow_acc_multi_buffer)?;
            v.flag("disable_licm", disable_licm)?;
            v.flag("apart", apart)
        }
        OpKind::While { disable_licm } => v.flag("disable_licm", disable_licm),
        // What these have stands before the operands.
        OpKind::Constant(_)
        | OpKind::ProgramId { axis: _ }
        | OpKind::NumPrograms { axis: _ }
        | OpKind::SpecialRegister(_)
        | OpKind::Iota { start: _, end: _ }
        | OpKind::Libdevice(_)
        | OpKind::Call { callee: _ }
        | OpKind::Assert { message: _ } => Ok(()),
        OpKind::Splat
        | OpKind::Broadcast
        | OpKind::Unary(_)
        | OpKind::Binary(_)
        | OpKind::Compare(_)
        | OpKind::Select
        | OpKind::Choose
        | OpKind::Fma
        | OpKind::Cast(_)
        | OpKind::AddPtr
        | OpKind::Histogram
        | OpKind::If
        | OpKind::Yield
        | OpKind::Condition
        | OpKind::Return
        | OpKind::Assume
        | OpKind::ConvertLayout
        | OpKind::LocalAlloc
        | OpKind::LocalLoad
        | OpKind::LocalIndex
        | OpKind::LocalStore
        | OpKind::Barrier
        | OpKind::GridWait
        | OpKind::GridLaunch
        | OpKind::AsyncCommit
        | OpKind::FenceAsync
        | OpKind::MbarrierWait
        | OpKind::MbarrierInvalidate => Ok(()),
    }
}

/// How memory is accessed, where it is not as usual.
fn access<V: Visitor>(v: &mut V, vector: &mut u8, cache: &mut CacheOp, eviction: &mut Eviction) -> Result<(), V::Error> {
    v.number_beside("vector", vector, 0)?;
    v.name("cache", cache)?;
    v.name("eviction", eviction)
}
