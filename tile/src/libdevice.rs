//! The device library: the elementwise functions that `libdevice` gives kernels, with the types each is defined for.
//!
//! **Invariant:** one row a function, one overload a symbol; typing, verification, the text form and the interpreter all read this table.

use crate::types::Scalar;

/// An argument or a result; the signs of integers tell overloads apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Arg {
    I32,
    U32,
    I64,
    U64,
    F32,
    F64,
}

impl Arg {
    pub fn scalar(self) -> Scalar {
        match self {
            Arg::I32 | Arg::U32 => Scalar::I32,
            Arg::I64 | Arg::U64 => Scalar::I64,
            Arg::F32 => Scalar::F32,
            Arg::F64 => Scalar::F64,
        }
    }
}

#[derive(Debug, PartialEq)]
pub struct Overload {
    /// The library's own name: `__nv_tanf`.
    pub symbol: &'static str,
    pub args: &'static [Arg],
    pub result: Arg,
}

#[derive(Debug, PartialEq)]
pub struct Function {
    /// As kernels write it: `tan`.
    pub name: &'static str,
    /// What it computes, as a phrase.
    pub summary: &'static str,
    pub overloads: &'static [Overload],
}

/// One overload of one function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Symbol {
    function: u16,
    overload: u16,
}

impl Symbol {
    pub fn function(self) -> &'static Function {
        &FUNCTIONS[usize::from(self.function)]
    }

    pub fn overload(self) -> &'static Overload {
        &self.function().overloads[usize::from(self.overload)]
    }

    /// Its row and its place in that.
    pub(crate) fn place(self) -> (usize, usize) {
        (self.function.into(), self.overload.into())
    }

    /// By the library's name.
    pub fn from_name(name: &str) -> Option<Symbol> {
        all().find(|s| s.overload().symbol == name)
    }

    /// The overload of a function for these arguments.
    pub fn find(function: &str, args: &[Arg]) -> Option<Symbol> {
        all().find(|s| s.function().name == function && s.overload().args == args)
    }
}

/// Every overload of every function.
pub fn all() -> impl Iterator<Item = Symbol> {
    FUNCTIONS.iter().enumerate().flat_map(|(function, row)| {
        (0..row.overloads.len()).map(move |overload| Symbol { function: function as u16, overload: overload as u16 })
    })
}

/// A function by the name that kernels use.
pub fn function(name: &str) -> Option<&'static Function> {
    FUNCTIONS.iter().find(|f| f.name == name)
}

macro_rules! functions {
    ($($name:literal $summary:literal { $($symbol:literal [$($arg:ident)+] $result:ident),+ })+) => {
        pub static FUNCTIONS: &[Function] = &[$(Function {
            name: $name,
            summary: $summary,
            overloads: &[$(Overload { symbol: $symbol, args: &[$(Arg::$arg),+], result: Arg::$result }),+],
        }),+];
    };
}

#[rustfmt::skip]
functions! {
    "clz" "leading zero bits" { "__nv_clz" [I32] I32, "__nv_clzll" [I64] I32 }
    "popc" "bits that are one" { "__nv_popc" [I32] I32, "__nv_popcll" [I64] I32 }
    "byte_perm" "four bytes picked from the eight of two words" { "__nv_byte_perm" [I32 I32 I32] I32 }
    "mulhi" "high half of the product" { "__nv_mulhi" [I32 I32] I32, "__nv_umulhi" [U32 U32] U32, "__nv_mul64hi" [I64 I64] I64, "__nv_umul64hi" [U64 U64] U64 }
    "mul24" "low 32 bits of the product of the low 24 bits" { "__nv_mul24" [I32 I32] I32, "__nv_umul24" [U32 U32] U32 }
    "brev" "bits in reverse order" { "__nv_brev" [I32] I32, "__nv_brevll" [I64] I64 }
    "sad" "|x - y| + z" { "__nv_sad" [I32 I32 U32] I32, "__nv_usad" [U32 U32 U32] U32 }
    "abs" "absolute value" { "__nv_abs" [I32] I32, "__nv_llabs" [I64] I64, "__nv_fabsf" [F32] F32, "__nv_fabs" [F64] F64 }
    "floor" "next integer downward" { "__nv_floorf" [F32] F32, "__nv_floor" [F64] F64 }
    "rcp64h" "high word of an approximate reciprocal" { "__nv_rcp64h" [F64] F64 }
    "rsqrt" "reciprocal square root" { "__nv_rsqrtf" [F32] F32, "__nv_rsqrt" [F64] F64 }
    "ceil" "next integer upward" { "__nv_ceil" [F64] F64, "__nv_ceilf" [F32] F32 }
    "trunc" "integer part" { "__nv_trunc" [F64] F64, "__nv_truncf" [F32] F32 }
    "exp2" "2 to the power x" { "__nv_exp2f" [F32] F32, "__nv_exp2" [F64] F64 }
    "saturatef" "clamped to [0, 1], NaN to 0" { "__nv_saturatef" [F32] F32 }
    "fma_rn" "x times y plus z, rounded to nearest" { "__nv_fmaf_rn" [F32 F32 F32] F32, "__nv_fma_rn" [F64 F64 F64] F64 }
    "fma_rz" "x times y plus z, rounded toward zero" { "__nv_fmaf_rz" [F32 F32 F32] F32, "__nv_fma_rz" [F64 F64 F64] F64 }
    "fma_rd" "x times y plus z, rounded downward" { "__nv_fmaf_rd" [F32 F32 F32] F32, "__nv_fma_rd" [F64 F64 F64] F64 }
    "fma_ru" "x times y plus z, rounded upward" { "__nv_fmaf_ru" [F32 F32 F32] F32, "__nv_fma_ru" [F64 F64 F64] F64 }
    "fast_dividef" "approximate quotient" { "__nv_fast_fdividef" [F32 F32] F32 }
    "div_rn" "quotient, rounded to nearest" { "__nv_fdiv_rn" [F32 F32] F32, "__nv_ddiv_rn" [F64 F64] F64 }
    "div_rz" "quotient, rounded toward zero" { "__nv_fdiv_rz" [F32 F32] F32, "__nv_ddiv_rz" [F64 F64] F64 }
    "div_rd" "quotient, rounded downward" { "__nv_fdiv_rd" [F32 F32] F32, "__nv_ddiv_rd" [F64 F64] F64 }
    "div_ru" "quotient, rounded upward" { "__nv_fdiv_ru" [F32 F32] F32, "__nv_ddiv_ru" [F64 F64] F64 }
    "rcp_rn" "reciprocal, rounded to nearest" { "__nv_frcp_rn" [F32] F32, "__nv_drcp_rn" [F64] F64 }
    "rcp_rz" "reciprocal, rounded toward zero" { "__nv_frcp_rz" [F32] F32, "__nv_drcp_rz" [F64] F64 }
    "rcp_rd" "reciprocal, rounded downward" { "__nv_frcp_rd" [F32] F32, "__nv_drcp_rd" [F64] F64 }
    "rcp_ru" "reciprocal, rounded upward" { "__nv_frcp_ru" [F32] F32, "__nv_drcp_ru" [F64] F64 }
    "sqrt_rn" "square root, rounded to nearest" { "__nv_fsqrt_rn" [F32] F32, "__nv_dsqrt_rn" [F64] F64 }
    "sqrt_rz" "square root, rounded toward zero" { "__nv_fsqrt_rz" [F32] F32, "__nv_dsqrt_rz" [F64] F64 }
    "sqrt_rd" "square root, rounded downward" { "__nv_fsqrt_rd" [F32] F32, "__nv_dsqrt_rd" [F64] F64 }
    "sqrt_ru" "square root, rounded upward" { "__nv_fsqrt_ru" [F32] F32, "__nv_dsqrt_ru" [F64] F64 }
    "sqrt" "square root" { "__nv_sqrtf" [F32] F32, "__nv_sqrt" [F64] F64 }
    "add_rn" "sum, rounded to nearest" { "__nv_dadd_rn" [F64 F64] F64, "__nv_fadd_rn" [F32 F32] F32 }
    "add_rz" "sum, rounded toward zero" { "__nv_dadd_rz" [F64 F64] F64, "__nv_fadd_rz" [F32 F32] F32 }
    "add_rd" "sum, rounded downward" { "__nv_dadd_rd" [F64 F64] F64, "__nv_fadd_rd" [F32 F32] F32 }
    "add_ru" "sum, rounded upward" { "__nv_dadd_ru" [F64 F64] F64, "__nv_fadd_ru" [F32 F32] F32 }
    "mul_rn" "product, rounded to nearest" { "__nv_dmul_rn" [F64 F64] F64, "__nv_fmul_rn" [F32 F32] F32 }
    "mul_rz" "product, rounded toward zero" { "__nv_dmul_rz" [F64 F64] F64, "__nv_fmul_rz" [F32 F32] F32 }
    "mul_rd" "product, rounded downward" { "__nv_dmul_rd" [F64 F64] F64, "__nv_fmul_rd" [F32 F32] F32 }
    "mul_ru" "product, rounded upward" { "__nv_dmul_ru" [F64 F64] F64, "__nv_fmul_ru" [F32 F32] F32 }
    "double2float_rn" "f64 to f32, rounded to nearest" { "__nv_double2float_rn" [F64] F32 }
    "double2float_rz" "f64 to f32, rounded toward zero" { "__nv_double2float_rz" [F64] F32 }
    "double2float_rd" "f64 to f32, rounded downward" { "__nv_double2float_rd" [F64] F32 }
    "double2float_ru" "f64 to f32, rounded upward" { "__nv_double2float_ru" [F64] F32 }
    "double2int_rn" "f64 to i32, rounded to nearest" { "__nv_double2int_rn" [F64] I32 }
    "double2int_rz" "f64 to i32, rounded toward zero" { "__nv_double2int_rz" [F64] I32 }
    "double2int_rd" "f64 to i32, rounded downward" { "__nv_double2int_rd" [F64] I32 }
    "double2int_ru" "f64 to i32, rounded upward" { "__nv_double2int_ru" [F64] I32 }
    "double2uint_rn" "f64 to u32, rounded to nearest" { "__nv_double2uint_rn" [F64] I32 }
    "double2uint_rz" "f64 to u32, rounded toward zero" { "__nv_double2uint_rz" [F64] I32 }
    "double2uint_rd" "f64 to u32, rounded downward" { "__nv_double2uint_rd" [F64] I32 }
    "double2uint_ru" "f64 to u32, rounded upward" { "__nv_double2uint_ru" [F64] I32 }
    "int2double_rn" "i32 to f64, rounded to nearest" { "__nv_int2double_rn" [I32] F64 }
    "uint2double_rn" "u32 to f64, rounded to nearest" { "__nv_uint2double_rn" [U32] F64 }
    "float2int_rn" "f32 to i32, rounded to nearest" { "__nv_float2int_rn" [F32] I32 }
    "float2int_rz" "f32 to i32, rounded toward zero" { "__nv_float2int_rz" [F32] I32 }
    "float2int_rd" "f32 to i32, rounded downward" { "__nv_float2int_rd" [F32] I32 }
    "float2int_ru" "f32 to i32, rounded upward" { "__nv_float2int_ru" [F32] I32 }
    "float2uint_rn" "f32 to u32, rounded to nearest" { "__nv_float2uint_rn" [F32] I32 }
    "float2uint_rz" "f32 to u32, rounded toward zero" { "__nv_float2uint_rz" [F32] I32 }
    "float2uint_rd" "f32 to u32, rounded downward" { "__nv_float2uint_rd" [F32] I32 }
    "float2uint_ru" "f32 to u32, rounded upward" { "__nv_float2uint_ru" [F32] I32 }
    "int2float_rn" "i32 to f32, rounded to nearest" { "__nv_int2float_rn" [I32] F32 }
    "int2float_rz" "i32 to f32, rounded toward zero" { "__nv_int2float_rz" [I32] F32 }
    "int2float_rd" "i32 to f32, rounded downward" { "__nv_int2float_rd" [I32] F32 }
    "int2float_ru" "i32 to f32, rounded upward" { "__nv_int2float_ru" [I32] F32 }
    "uint2float_rn" "u32 to f32, rounded to nearest" { "__nv_uint2float_rn" [U32] F32 }
    "uint2float_rz" "u32 to f32, rounded toward zero" { "__nv_uint2float_rz" [U32] F32 }
    "uint2float_rd" "u32 to f32, rounded downward" { "__nv_uint2float_rd" [U32] F32 }
    "uint2float_ru" "u32 to f32, rounded upward" { "__nv_uint2float_ru" [U32] F32 }
    "hiloint2double" "float of a high and a low word" { "__nv_hiloint2double" [I32 I32] F64 }
    "double2loint" "low word" { "__nv_double2loint" [F64] I32 }
    "double2hiint" "high word" { "__nv_double2hiint" [F64] I32 }
    "float2ll_rn" "f32 to i64, rounded to nearest" { "__nv_float2ll_rn" [F32] I64 }
    "float2ll_rz" "f32 to i64, rounded toward zero" { "__nv_float2ll_rz" [F32] I64 }
    "float2ll_rd" "f32 to i64, rounded downward" { "__nv_float2ll_rd" [F32] I64 }
    "float2ll_ru" "f32 to i64, rounded upward" { "__nv_float2ll_ru" [F32] I64 }
    "float2ull_rn" "f32 to u64, rounded to nearest" { "__nv_float2ull_rn" [F32] I64 }
    "float2ull_rz" "f32 to u64, rounded toward zero" { "__nv_float2ull_rz" [F32] I64 }
    "float2ull_rd" "f32 to u64, rounded downward" { "__nv_float2ull_rd" [F32] I64 }
    "float2ull_ru" "f32 to u64, rounded upward" { "__nv_float2ull_ru" [F32] I64 }
    "double2ll_rn" "f64 to i64, rounded to nearest" { "__nv_double2ll_rn" [F64] I64 }
    "double2ll_rz" "f64 to i64, rounded toward zero" { "__nv_double2ll_rz" [F64] I64 }
    "double2ll_rd" "f64 to i64, rounded downward" { "__nv_double2ll_rd" [F64] I64 }
    "double2ll_ru" "f64 to i64, rounded upward" { "__nv_double2ll_ru" [F64] I64 }
    "double2ull_rn" "f64 to u64, rounded to nearest" { "__nv_double2ull_rn" [F64] I64 }
    "double2ull_rz" "f64 to u64, rounded toward zero" { "__nv_double2ull_rz" [F64] I64 }
    "double2ull_rd" "f64 to u64, rounded downward" { "__nv_double2ull_rd" [F64] I64 }
    "double2ull_ru" "f64 to u64, rounded upward" { "__nv_double2ull_ru" [F64] I64 }
    "ll2float_rn" "i64 to f32, rounded to nearest" { "__nv_ll2float_rn" [I64] F32 }
    "ll2float_rz" "i64 to f32, rounded toward zero" { "__nv_ll2float_rz" [I64] F32 }
    "ll2float_rd" "i64 to f32, rounded downward" { "__nv_ll2float_rd" [I64] F32 }
    "ll2float_ru" "i64 to f32, rounded upward" { "__nv_ll2float_ru" [I64] F32 }
    "ull2float_rn" "u64 to f32, rounded to nearest" { "__nv_ull2float_rn" [U64] F32 }
    "ull2float_rz" "u64 to f32, rounded toward zero" { "__nv_ull2float_rz" [U64] F32 }
    "ull2float_rd" "u64 to f32, rounded downward" { "__nv_ull2float_rd" [U64] F32 }
    "ull2float_ru" "u64 to f32, rounded upward" { "__nv_ull2float_ru" [U64] F32 }
    "ll2double_rn" "i64 to f64, rounded to nearest" { "__nv_ll2double_rn" [I64] F64 }
    "ll2double_rz" "i64 to f64, rounded toward zero" { "__nv_ll2double_rz" [I64] F64 }
    "ll2double_rd" "i64 to f64, rounded downward" { "__nv_ll2double_rd" [I64] F64 }
    "ll2double_ru" "i64 to f64, rounded upward" { "__nv_ll2double_ru" [I64] F64 }
    "ull2double_rn" "u64 to f64, rounded to nearest" { "__nv_ull2double_rn" [U64] F64 }
    "ull2double_rz" "u64 to f64, rounded toward zero" { "__nv_ull2double_rz" [U64] F64 }
    "ull2double_rd" "u64 to f64, rounded downward" { "__nv_ull2double_rd" [U64] F64 }
    "ull2double_ru" "u64 to f64, rounded upward" { "__nv_ull2double_ru" [U64] F64 }
    "int_as_float" "bits as a float" { "__nv_int_as_float" [I32] F32 }
    "float_as_int" "bits as an integer" { "__nv_float_as_int" [F32] I32 }
    "uint_as_float" "bits as a float" { "__nv_uint_as_float" [U32] F32 }
    "float_as_uint" "bits as an integer" { "__nv_float_as_uint" [F32] I32 }
    "longlong_as_double" "bits as a float" { "__nv_longlong_as_double" [I64] F64 }
    "double_as_longlong" "bits as an integer" { "__nv_double_as_longlong" [F64] I64 }
    "fast_sinf" "approximate sine" { "__nv_fast_sinf" [F32] F32 }
    "fast_cosf" "approximate cosine" { "__nv_fast_cosf" [F32] F32 }
    "fast_log2f" "approximate base-2 logarithm" { "__nv_fast_log2f" [F32] F32 }
    "fast_logf" "approximate natural logarithm" { "__nv_fast_logf" [F32] F32 }
    "fast_expf" "approximate exponential" { "__nv_fast_expf" [F32] F32 }
    "fast_tanf" "approximate tangent" { "__nv_fast_tanf" [F32] F32 }
    "fast_exp10f" "approximate power of 10" { "__nv_fast_exp10f" [F32] F32 }
    "fast_log10f" "approximate base-10 logarithm" { "__nv_fast_log10f" [F32] F32 }
    "fast_powf" "approximate power" { "__nv_fast_powf" [F32 F32] F32 }
    "hadd" "average, rounded downward" { "__nv_hadd" [I32 I32] I32, "__nv_uhadd" [U32 U32] U32 }
    "rhadd" "average, rounded upward" { "__nv_rhadd" [I32 I32] I32, "__nv_urhadd" [U32 U32] U32 }
    "sub_rn" "difference, rounded to nearest" { "__nv_fsub_rn" [F32 F32] F32, "__nv_dsub_rn" [F64 F64] F64 }
    "sub_rz" "difference, rounded toward zero" { "__nv_fsub_rz" [F32 F32] F32, "__nv_dsub_rz" [F64 F64] F64 }
    "sub_rd" "difference, rounded downward" { "__nv_fsub_rd" [F32 F32] F32, "__nv_dsub_rd" [F64 F64] F64 }
    "sub_ru" "difference, rounded upward" { "__nv_fsub_ru" [F32 F32] F32, "__nv_dsub_ru" [F64 F64] F64 }
    "rsqrt_rn" "reciprocal square root, rounded to nearest" { "__nv_frsqrt_rn" [F32] F32 }
    "ffs" "place of the lowest bit that is one, from 1; 0 for 0" { "__nv_ffs" [I32] I32, "__nv_ffsll" [I64] I32 }
    "rint" "nearest integer, ties to even" { "__nv_rintf" [F32] F32, "__nv_rint" [F64] F64 }
    "llrint" "nearest integer, ties to even" { "__nv_llrintf" [F32] I64, "__nv_llrint" [F64] I64 }
    "nearbyint" "nearest integer, ties to even" { "__nv_nearbyintf" [F32] F32, "__nv_nearbyint" [F64] F64 }
    "isnan" "not 0 for NaN" { "__nv_isnanf" [F32] I32, "__nv_isnand" [F64] I32 }
    "signbit" "not 0 for negative numbers" { "__nv_signbitf" [F32] I32, "__nv_signbitd" [F64] I32 }
    "copysign" "magnitude of x with the sign of y" { "__nv_copysignf" [F32 F32] F32, "__nv_copysign" [F64 F64] F64 }
    "finitef" "not 0 for finite numbers" { "__nv_finitef" [F32] I32 }
    "isinf" "not 0 for infinities" { "__nv_isinff" [F32] I32, "__nv_isinfd" [F64] I32 }
    "nextafter" "next float from x toward y" { "__nv_nextafterf" [F32 F32] F32, "__nv_nextafter" [F64 F64] F64 }
    "sin" "sine" { "__nv_sinf" [F32] F32, "__nv_sin" [F64] F64 }
    "cos" "cosine" { "__nv_cosf" [F32] F32, "__nv_cos" [F64] F64 }
    "sinpi" "sine of pi times x" { "__nv_sinpif" [F32] F32, "__nv_sinpi" [F64] F64 }
    "cospi" "cosine of pi times x" { "__nv_cospif" [F32] F32, "__nv_cospi" [F64] F64 }
    "tan" "tangent" { "__nv_tanf" [F32] F32, "__nv_tan" [F64] F64 }
    "log2" "base-2 logarithm" { "__nv_log2f" [F32] F32, "__nv_log2" [F64] F64 }
    "exp" "exponential" { "__nv_expf" [F32] F32, "__nv_exp" [F64] F64 }
    "exp10" "10 to the power x" { "__nv_exp10f" [F32] F32, "__nv_exp10" [F64] F64 }
    "cosh" "hyperbolic cosine" { "__nv_coshf" [F32] F32, "__nv_cosh" [F64] F64 }
    "sinh" "hyperbolic sine" { "__nv_sinhf" [F32] F32, "__nv_sinh" [F64] F64 }
    "tanh" "hyperbolic tangent" { "__nv_tanhf" [F32] F32, "__nv_tanh" [F64] F64 }
    "atan2" "angle of the point (y, x)" { "__nv_atan2f" [F32 F32] F32, "__nv_atan2" [F64 F64] F64 }
    "atan" "arc tangent" { "__nv_atanf" [F32] F32, "__nv_atan" [F64] F64 }
    "asin" "arc sine" { "__nv_asinf" [F32] F32, "__nv_asin" [F64] F64 }
    "acos" "arc cosine" { "__nv_acosf" [F32] F32, "__nv_acos" [F64] F64 }
    "log" "natural logarithm" { "__nv_logf" [F32] F32, "__nv_log" [F64] F64 }
    "log10" "base-10 logarithm" { "__nv_log10f" [F32] F32, "__nv_log10" [F64] F64 }
    "log1p" "logarithm of 1 + x" { "__nv_log1pf" [F32] F32, "__nv_log1p" [F64] F64 }
    "acosh" "inverse hyperbolic cosine" { "__nv_acoshf" [F32] F32, "__nv_acosh" [F64] F64 }
    "asinh" "inverse hyperbolic sine" { "__nv_asinhf" [F32] F32, "__nv_asinh" [F64] F64 }
    "atanh" "inverse hyperbolic tangent" { "__nv_atanhf" [F32] F32, "__nv_atanh" [F64] F64 }
    "expm1" "exponential minus 1" { "__nv_expm1f" [F32] F32, "__nv_expm1" [F64] F64 }
    "hypot" "square root of the sum of squares" { "__nv_hypotf" [F32 F32] F32, "__nv_hypot" [F64 F64] F64 }
    "rhypot" "reciprocal of the square root of the sum of squares" { "__nv_rhypotf" [F32 F32] F32, "__nv_rhypot" [F64 F64] F64 }
    "norm3d" "length of a vector of three" { "__nv_norm3df" [F32 F32 F32] F32, "__nv_norm3d" [F64 F64 F64] F64 }
    "rnorm3d" "reciprocal length of a vector of three" { "__nv_rnorm3df" [F32 F32 F32] F32, "__nv_rnorm3d" [F64 F64 F64] F64 }
    "norm4d" "length of a vector of four" { "__nv_norm4df" [F32 F32 F32 F32] F32, "__nv_norm4d" [F64 F64 F64 F64] F64 }
    "rnorm4d" "reciprocal length of a vector of four" { "__nv_rnorm4df" [F32 F32 F32 F32] F32, "__nv_rnorm4d" [F64 F64 F64 F64] F64 }
    "cbrt" "cube root" { "__nv_cbrtf" [F32] F32, "__nv_cbrt" [F64] F64 }
    "rcbrt" "reciprocal cube root" { "__nv_rcbrtf" [F32] F32, "__nv_rcbrt" [F64] F64 }
    "j0" "Bessel function of the first kind, order 0" { "__nv_j0f" [F32] F32, "__nv_j0" [F64] F64 }
    "j1" "Bessel function of the first kind, order 1" { "__nv_j1f" [F32] F32, "__nv_j1" [F64] F64 }
    "y0" "Bessel function of the second kind, order 0" { "__nv_y0f" [F32] F32, "__nv_y0" [F64] F64 }
    "y1" "Bessel function of the second kind, order 1" { "__nv_y1f" [F32] F32, "__nv_y1" [F64] F64 }
    "yn" "Bessel function of the second kind, order n" { "__nv_ynf" [I32 F32] F32, "__nv_yn" [I32 F64] F64 }
    "jn" "Bessel function of the first kind, order n" { "__nv_jnf" [I32 F32] F32, "__nv_jn" [I32 F64] F64 }
    "cyl_bessel_i0" "modified Bessel function, order 0" { "__nv_cyl_bessel_i0f" [F32] F32, "__nv_cyl_bessel_i0" [F64] F64 }
    "cyl_bessel_i1" "modified Bessel function, order 1" { "__nv_cyl_bessel_i1f" [F32] F32, "__nv_cyl_bessel_i1" [F64] F64 }
    "erf" "error function" { "__nv_erff" [F32] F32, "__nv_erf" [F64] F64 }
    "erfinv" "inverse error function" { "__nv_erfinvf" [F32] F32, "__nv_erfinv" [F64] F64 }
    "erfc" "1 minus the error function" { "__nv_erfcf" [F32] F32, "__nv_erfc" [F64] F64 }
    "erfcx" "scaled complementary error function" { "__nv_erfcxf" [F32] F32, "__nv_erfcx" [F64] F64 }
    "erfcinv" "inverse complementary error function" { "__nv_erfcinvf" [F32] F32, "__nv_erfcinv" [F64] F64 }
    "normcdfinv" "inverse of the standard normal distribution" { "__nv_normcdfinvf" [F32] F32, "__nv_normcdfinv" [F64] F64 }
    "normcdf" "standard normal distribution" { "__nv_normcdff" [F32] F32, "__nv_normcdf" [F64] F64 }
    "lgamma" "logarithm of the absolute gamma function" { "__nv_lgammaf" [F32] F32, "__nv_lgamma" [F64] F64 }
    "ldexp" "x times 2 to the power n" { "__nv_ldexpf" [F32 I32] F32, "__nv_ldexp" [F64 I32] F64 }
    "scalbn" "x times 2 to the power n" { "__nv_scalbnf" [F32 I32] F32, "__nv_scalbn" [F64 I32] F64 }
    "fmod" "remainder with the sign of x" { "__nv_fmodf" [F32 F32] F32, "__nv_fmod" [F64 F64] F64 }
    "remainder" "remainder of the nearest quotient" { "__nv_remainderf" [F32 F32] F32, "__nv_remainder" [F64 F64] F64 }
    "fma" "x times y plus z, rounded once" { "__nv_fmaf" [F32 F32 F32] F32, "__nv_fma" [F64 F64 F64] F64 }
    "pow" "x to the power y" { "__nv_powif" [F32 I32] F32, "__nv_powi" [F64 I32] F64, "__nv_powf" [F32 F32] F32, "__nv_pow" [F64 F64] F64 }
    "tgamma" "gamma function" { "__nv_tgammaf" [F32] F32, "__nv_tgamma" [F64] F64 }
    "round" "nearest integer, ties away from zero" { "__nv_roundf" [F32] F32, "__nv_round" [F64] F64 }
    "llround" "nearest integer, ties away from zero" { "__nv_llroundf" [F32] I64, "__nv_llround" [F64] I64 }
    "fdim" "x - y if positive, else 0" { "__nv_fdimf" [F32 F32] F32, "__nv_fdim" [F64 F64] F64 }
    "ilogb" "exponent as an integer" { "__nv_ilogbf" [F32] I32, "__nv_ilogb" [F64] I32 }
    "logb" "exponent as a float" { "__nv_logbf" [F32] F32, "__nv_logb" [F64] F64 }
    "isfinited" "not 0 for finite numbers" { "__nv_isfinited" [F64] I32 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_symbols_are_unique() {
        let mut names: Vec<&str> = FUNCTIONS.iter().map(|f| f.name).collect();
        names.sort_unstable();
        assert!(names.windows(2).all(|w| w[0] != w[1]));
        for symbol in all() {
            assert_eq!(Symbol::from_name(symbol.overload().symbol), Some(symbol));
            assert_eq!(Symbol::find(symbol.function().name, symbol.overload().args), Some(symbol));
        }
    }
}
