//! The spelling of every attribute and operation of the text form.
//!
//! **Invariant:** each variant has one name, each name one variant, and names stand nowhere else: printing, parsing, listings and
//! messages ask here.

use crate::{module::Level, ops::*};

macro_rules! names {
    ($($(#[$doc:meta])* $ty:ident { $($variant:ident $name:literal),+ $(,)? })+) => {$(
        impl $ty {
            pub const ALL: &'static [$ty] = &[$($ty::$variant),+];

            pub fn name(self) -> &'static str {
                match self {
                    $($ty::$variant => $name,)+
                }
            }

            pub fn from_name(name: &str) -> Option<$ty> {
                match name {
                    $($name => Some($ty::$variant),)+
                    _ => None,
                }
            }
        }
    )+};
}

names! {
    Level { L0 "L0", L1 "L1", L2 "L2" }

    UnaryOp {
        NegF "neg.f", AbsF "abs.f", AbsI "abs.i", Floor "floor", Ceil "ceil", Sqrt "sqrt", SqrtRn "sqrt.rn", Rsqrt "rsqrt",
        Exp "exp", Exp2 "exp2", Log "log", Log2 "log2", Sin "sin", Cos "cos", Tanh "tanh", Erf "erf",
    }

    BinaryOp {
        AddI "add.i", SubI "sub.i", MulI "mul.i", MulHiU "mulhi.u", DivS "div.s", DivU "div.u", RemS "rem.s", RemU "rem.u",
        And "and", Or "or", Xor "xor", Shl "shl", ShrS "shr.s", ShrU "shr.u",
        MinS "min.s", MaxS "max.s", MinU "min.u", MaxU "max.u",
        AddF "add.f", SubF "sub.f", MulF "mul.f", DivF "div.f", DivRn "div.rn", RemF "rem.f",
        MinF "min.f", MaxF "max.f", MinNan "min.nan", MaxNan "max.nan",
    }

    PromiseOp { Divisible "promise.divisible", Contiguous "promise.contiguous", Constant "promise.constant" }

    Predicate {
        Eq "eq", Ne "ne", LtS "lt.s", LeS "le.s", GtS "gt.s", GeS "ge.s", LtU "lt.u", LeU "le.u", GtU "gt.u", GeU "ge.u",
        EqF "eq.f", NeF "ne.f", LtF "lt.f", LeF "le.f", GtF "gt.f", GeF "ge.f",
    }

    CastOp {
        Trunc "trunc", ExtS "ext.s", ExtU "ext.u", Float "float", FloatRtz "float.rtz", SToF "s_to_f", UToF "u_to_f",
        FToS "f_to_s", FToU "f_to_u", Bitcast "bitcast", PtrToInt "ptr_to_int", IntToPtr "int_to_ptr", PtrCast "ptr_cast",
    }

    CacheOp { Default "default", Ca "ca", Cg "cg", Cs "cs", Cv "cv", Wb "wb", Wt "wt" }

    Eviction { Normal "normal", First "first", Last "last" }

    AtomicOp {
        Add "atomic.add", AddF "atomic.add.f", MinS "atomic.min.s", MaxS "atomic.max.s", MinU "atomic.min.u", MaxU "atomic.max.u",
        And "atomic.and", Or "atomic.or", Xor "atomic.xor", Exchange "atomic.exchange",
    }

    SpecialRegister { GlobalTimer "globaltimer", SmId "smid" }

    MemSem { Relaxed "relaxed", Acquire "acquire", Release "release", AcqRel "acq_rel" }

    MemScope { Cta "cta", Gpu "gpu", Sys "sys" }

    DotPrecision { Tf32 "tf32", Tf32x3 "tf32x3", Bf16x3 "bf16x3", Bf16x6 "bf16x6", Ieee "ieee" }
}

impl OpKind {
    /// The word an operation of this kind begins with in the text.
    pub fn name(&self) -> &'static str {
        match self {
            OpKind::Constant(_) => "constant",
            OpKind::ProgramId { .. } => "program_id",
            OpKind::NumPrograms { .. } => "num_programs",
            OpKind::SpecialRegister(_) => "special_register",
            OpKind::Iota { .. } => "iota",
            OpKind::Splat => "splat",
            OpKind::ExpandDims { .. } => "expand_dims",
            OpKind::Broadcast => "broadcast",
            OpKind::Reshape { .. } => "reshape",
            OpKind::Transpose { .. } => "transpose",
            OpKind::Unary(op) => op.name(),
            OpKind::Binary(op) => op.name(),
            OpKind::Compare(op) => op.name(),
            OpKind::Select => "select",
            OpKind::Fma => "fma",
            OpKind::Cast(op) => op.name(),
            OpKind::AddPtr => "addptr",
            OpKind::Promise { what, .. } => what.name(),
            OpKind::Libdevice(_) => "libdevice",
            OpKind::InlineAsm(_) => "inline_asm",
            OpKind::Map { .. } => "map",
            OpKind::Load(_) => "load",
            OpKind::Store(_) => "store",
            OpKind::AtomicRmw { op, .. } => op.name(),
            OpKind::AtomicCas { .. } => "atomic.cas",
            OpKind::Gather { .. } => "gather",
            OpKind::Histogram => "histogram",
            OpKind::Reduce { .. } => "reduce",
            OpKind::Scan { .. } => "scan",
            OpKind::Dot { .. } => "dot",
            OpKind::For(_) => "for",
            OpKind::While => "while",
            OpKind::If => "if",
            OpKind::Yield => "yield",
            OpKind::Condition => "condition",
            OpKind::Return => "return",
            OpKind::Call { .. } => "call",
            OpKind::Assert { .. } => "assert",
            OpKind::Assume => "assume",
            OpKind::Print { .. } => "print",
            OpKind::ConvertLayout => "convert_layout",
            OpKind::LocalAlloc => "local_alloc",
            OpKind::LocalIndex => "local_index",
            OpKind::LocalLoad => "local_load",
            OpKind::LocalStore => "local_store",
            OpKind::Barrier => "barrier",
            OpKind::GridWait => "grid_wait",
            OpKind::GridLaunch => "grid_launch",
            OpKind::AsyncCopy(_) => "async_copy",
            OpKind::AsyncCommit => "async_commit",
            OpKind::AsyncWait { .. } => "async_wait",
            OpKind::FenceAsync => "fence_async",
            OpKind::MbarrierInit { .. } => "mbarrier_init",
            OpKind::MbarrierWait => "mbarrier_wait",
            OpKind::MbarrierInvalidate => "mbarrier_invalidate",
            OpKind::TmaLoad { .. } => "tma_load",
            OpKind::Wgmma { .. } => "wgmma",
            OpKind::WgmmaWait { .. } => "wgmma_wait",
        }
    }
}

/// The axes of the launch grid, by number.
pub const AXES: [&str; 3] = ["x", "y", "z"];
