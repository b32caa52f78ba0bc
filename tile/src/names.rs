//! The spelling of every attribute of the text form; operations have theirs in their row of [`crate::ops`].
//!
//! **Invariant:** each variant has one name, each name one variant, and names stand nowhere else: printing, parsing, listings and
//! messages ask here.

use crate::{module::Level, ops::*};

/// What has names.
pub(crate) trait Named: Copy + PartialEq + 'static {
    fn all() -> &'static [Self];
    fn spelling(self) -> &'static str;
}

macro_rules! names {
    ($($(#[$doc:meta])* $ty:ident { $($variant:ident $name:literal),+ $(,)? })+) => {$(
        impl Named for $ty {
            fn all() -> &'static [$ty] {
                $ty::ALL
            }

            fn spelling(self) -> &'static str {
                self.name()
            }
        }

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

    DescriptorSource { None "none", Given "given", Made "made" }
    CacheOp { Default "default", Ca "ca", Cg "cg", Cs "cs", Cv "cv", Wb "wb", Wt "wt" }

    Eviction { Normal "normal", First "first", Last "last" }

    AtomicOp {
        Add "atomic.add", AddF "atomic.add.f", MinS "atomic.min.s", MaxS "atomic.max.s", MinU "atomic.min.u", MaxU "atomic.max.u",
        MinF "atomic.min.f", MaxF "atomic.max.f",
        And "atomic.and", Or "atomic.or", Xor "atomic.xor", Exchange "atomic.exchange",
    }

    SpecialRegister { GlobalTimer "globaltimer", SmId "smid" }

    MemSem { Relaxed "relaxed", Acquire "acquire", Release "release", AcqRel "acq_rel" }

    MemScope { Cta "cta", Gpu "gpu", Sys "sys" }

    DotPrecision { Tf32 "tf32", Tf32x3 "tf32x3", Bf16x3 "bf16x3", Bf16x6 "bf16x6", Ieee "ieee" }
}

/// A constant that may be anything.
pub const UNDEFINED: &str = "undefined";

/// The axes of the launch grid, by number.
pub const AXES: [&str; 3] = ["x", "y", "z"];
