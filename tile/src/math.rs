//! The mathematical functions, each written once for the interpreter and for the machine.
//!
//! A function is a [`Program`]: the interpreter runs it and the emitters write it out, so both give the same bits, but for those that use
//! the special-function unit (`fast_…`, and `tanh` and `erf` of `f32`). Largest errors, in units of the last digit, are measured by the
//! tests beside this file. **Invariant:** every overload of [`crate::libdevice`] that names no rounding mode is here.

mod basic;
mod bessel;
#[rustfmt::skip]
mod coefficients;
mod error;
mod exponential;
mod gamma;
mod logarithm;
mod narrow;
mod root;
mod run;
pub mod tape;
mod trigonometric;

use std::{f64::consts, sync::OnceLock};

pub use run::{LANES, Lanes, run};
pub use tape::Program;
use tape::{Approx, V, record};

use crate::{
    libdevice::{Arg, FUNCTIONS, Overload, Symbol},
    ops::{OpKind, UnaryOp},
    types::Scalar,
};

type Kept = OnceLock<Option<Program>>;

/// The program of a library function; `None` for those with a rounding mode in their name.
pub fn library(symbol: Symbol) -> Option<&'static Program> {
    static PROGRAMS: OnceLock<Vec<Vec<Kept>>> = OnceLock::new();
    let programs = PROGRAMS.get_or_init(|| FUNCTIONS.iter().map(|f| f.overloads.iter().map(|_| Kept::new()).collect()).collect());
    let (function, overload) = symbol.place();
    programs[function][overload].get_or_init(|| define(symbol.function().name, symbol.overload())).as_ref()
}

/// The program of an operation on `f32` or, if `wide`, `f64`; `None` for those that the machine has an instruction for.
pub fn unary(op: UnaryOp, wide: bool) -> Option<&'static Program> {
    macro_rules! kept {
        ($narrow:expr, $wide:expr) => {{
            static NARROW: Kept = Kept::new();
            static WIDE: Kept = Kept::new();
            if wide { WIDE.get_or_init(|| $wide) } else { NARROW.get_or_init(|| $narrow) }.as_ref()
        }};
    }
    macro_rules! both {
        ($name:literal, $f:path) => {
            kept!(
                Some(record(concat!($name, "_f32"), $f as fn(V<f32>) -> V<f32>)),
                Some(record(concat!($name, "_f64"), $f as fn(V<f64>) -> V<f64>))
            )
        };
    }
    match op {
        UnaryOp::Exp => kept!(None, Some(record("exp_f64", exponential::exp::<f64>))),
        UnaryOp::Exp2 => kept!(None, Some(record("exp2_f64", exponential::exp2::<f64>))),
        UnaryOp::Log => kept!(Some(record("log_f32", logarithm::log_fast)), Some(record("log_f64", logarithm::log::<f64>))),
        UnaryOp::Log2 => both!("log2", logarithm::log2),
        UnaryOp::Sin => both!("sin", trigonometric::sin),
        UnaryOp::Cos => both!("cos", trigonometric::cos),
        UnaryOp::Tanh => {
            kept!(Some(record("tanh_f32", error::tanh_fast)), Some(record("tanh_f64", exponential::tanh::<f64>)))
        }
        UnaryOp::Erf => kept!(Some(record("erf_f32", error::erf_fast)), Some(record("erf_f64", error::erf::<f64>))),
        UnaryOp::NegF
        | UnaryOp::AbsF
        | UnaryOp::AbsI
        | UnaryOp::Floor
        | UnaryOp::Ceil
        | UnaryOp::Sqrt
        | UnaryOp::SqrtRn
        | UnaryOp::Rsqrt => None,
    }
}

/// A function of `f32` that is a shorter program while its argument is small.
#[derive(Debug, Clone, Copy)]
pub struct Small {
    pub below: f32,
    /// Gives the same bits there.
    pub program: &'static Program,
}

/// What an operation on `f32` is while its argument is small.
pub fn small(op: &OpKind) -> Option<Small> {
    let tanh = match op {
        OpKind::Unary(op) => *op == UnaryOp::Tanh,
        OpKind::Libdevice(symbol) => symbol.function().name == "tanh" && symbol.overload().args[0] == Arg::F32,
        _ => false,
    };
    static TANH: OnceLock<Program> = OnceLock::new();
    tanh.then(|| Small { below: error::TANH_SMALL, program: TANH.get_or_init(|| record("tanh_small", error::tanh_small)) })
}

/// From `f32` to the code of an 8-bit float, in an `i32`: to nearest even or toward zero. `None` for other types.
pub fn to_f8(to: Scalar, toward_zero: bool) -> Option<&'static Program> {
    macro_rules! kept {
        ($name:literal, $format:path) => {{
            static NEAREST: Kept = Kept::new();
            static TRUNCATED: Kept = Kept::new();
            let (kept, name) = if toward_zero { (&TRUNCATED, concat!($name, "_rz")) } else { (&NEAREST, concat!($name, "_rn")) };
            kept.get_or_init(|| Some(record(name, |x| narrow::encode(x, &$format, toward_zero)))).as_ref()
        }};
    }
    match to {
        Scalar::F8E4M3 => kept!("f8e4m3", narrow::E4M3),
        Scalar::F8E5M2 => kept!("f8e5m2", narrow::E5M2),
        _ => None,
    }
}

fn define(name: &str, overload: &Overload) -> Option<Program> {
    let unsigned = matches!(overload.args[0], Arg::U32 | Arg::U64);
    let narrow = match overload.args.iter().find(|a| a.scalar().is_float()) {
        Some(float) => *float == Arg::F32,
        None => overload.args[0].scalar().bits() == 32,
    };
    let symbol = overload.symbol.trim_start_matches('_');
    // One definition for both widths, of so many arguments.
    macro_rules! one {
        ($body:expr, $wide:expr) => {
            Some(if narrow { record(symbol, $body) } else { record(symbol, $wide) })
        };
    }
    macro_rules! float {
        ($f:path) => {
            one!($f as fn(V<f32>) -> V<f32>, $f as fn(V<f64>) -> V<f64>)
        };
    }
    macro_rules! floats {
        (|$x:ident| $body:expr) => {
            one!(|$x: V<f32>| $body, |$x: V<f64>| $body)
        };
        (|$($x:ident),+| $body:expr) => {
            one!(|($($x),+): floats!(@f32 $($x)+)| $body, |($($x),+): floats!(@f64 $($x)+)| $body)
        };
        (@$ty:ident $a:ident $b:ident) => { (V<$ty>, V<$ty>) };
        (@$ty:ident $a:ident $b:ident $c:ident) => { (V<$ty>, V<$ty>, V<$ty>) };
        (@$ty:ident $a:ident $b:ident $c:ident $d:ident) => { (V<$ty>, V<$ty>, V<$ty>, V<$ty>) };
    }
    macro_rules! ints {
        (|$x:ident| $body:expr) => {
            one!(|$x: V<i32>| $body, |$x: V<i64>| $body)
        };
        (|$($x:ident),+| $body:expr) => {
            one!(|($($x),+): floats!(@i32 $($x)+)| $body, |($($x),+): floats!(@i64 $($x)+)| $body)
        };
    }
    // Computed in f64 for both.
    macro_rules! through_f64 {
        ($f:path) => {
            one!(|x: V<f32>| $f(x.cast::<f64>()).cast::<f32>(), $f)
        };
    }
    macro_rules! fast {
        (|$x:ident| $body:expr) => {
            Some(record(symbol, |$x: V<f32>| $body))
        };
    }
    match name {
        // Bits and integers.
        "clz" => one!(|x: V<i32>| x.leading_zeros(), |x: V<i64>| x.leading_zeros().cast::<i32>()),
        "popc" => one!(|x: V<i32>| x.count_ones(), |x: V<i64>| x.count_ones().cast::<i32>()),
        "ffs" => one!(basic::ffs::<i32>, |x: V<i64>| basic::ffs(x).cast::<i32>()),
        "brev" => ints!(|x| x.reverse_bits()),
        "byte_perm" => Some(record(symbol, basic::byte_perm)),
        "mulhi" if unsigned => ints!(|x, y| x.mul_hi_u(y)),
        "mulhi" => ints!(|x, y| x.mul_hi_s(y)),
        "mul24" => Some(record(symbol, |(x, y): (V<i32>, V<i32>)| basic::mul24(!unsigned, x, y))),
        "sad" => Some(record(symbol, |(x, y, z): (V<i32>, V<i32>, V<i32>)| basic::sad(!unsigned, x, y, z))),
        "hadd" => Some(record(symbol, |(x, y): (V<i32>, V<i32>)| basic::average(!unsigned, 0, x, y))),
        "rhadd" => Some(record(symbol, |(x, y): (V<i32>, V<i32>)| basic::average(!unsigned, 1, x, y))),
        "abs" if !overload.args[0].scalar().is_float() => ints!(|x| basic::abs(x)),
        "int_as_float" | "uint_as_float" => Some(record(symbol, |x: V<i32>| x.as_float::<f32>())),
        "float_as_int" | "float_as_uint" => Some(record(symbol, |x: V<f32>| x.bits())),
        "longlong_as_double" => Some(record(symbol, |x: V<i64>| x.as_float::<f64>())),
        "double_as_longlong" => Some(record(symbol, |x: V<f64>| x.bits())),
        "hiloint2double" => Some(record(symbol, basic::from_words)),
        "double2loint" => Some(record(symbol, |x: V<f64>| basic::word(x, 0))),
        "double2hiint" => Some(record(symbol, |x: V<f64>| basic::word(x, 32))),
        // Exact functions of floats.
        "abs" => floats!(|x| x.abs()),
        "floor" => floats!(|x| x.floor()),
        "ceil" => floats!(|x| x.ceil()),
        "trunc" => floats!(|x| x.trunc()),
        "rint" | "nearbyint" => floats!(|x| x.rint()),
        "round" => float!(basic::round),
        "llrint" => floats!(|x| basic::to_i64(x.rint())),
        "llround" => floats!(|x| basic::to_i64(basic::round(x))),
        "isnan" => floats!(|x| x.is_nan().int::<i32>()),
        "isinf" => floats!(|x| x.is_infinite().int::<i32>()),
        "finitef" | "isfinited" => floats!(|x| basic::is_finite(x)),
        "signbit" => floats!(|x| basic::sign_bit(x)),
        "copysign" => floats!(|x, y| x.copysign(y)),
        "saturatef" => Some(record(symbol, basic::saturate)),
        "fdim" => floats!(|x, y| basic::fdim((x, y))),
        "nextafter" => floats!(|x, y| basic::next_after((x, y))),
        "ldexp" | "scalbn" => one!(basic::ldexp::<f32>, basic::ldexp::<f64>),
        "logb" => float!(basic::logb),
        "ilogb" => floats!(|x| basic::ilogb(x)),
        "rcp64h" => Some(record(symbol, basic::rcp64h)),
        "fmod" => one!(|(x, y): (V<f32>, V<f32>)| basic::fmod((x.cast(), y.cast())).cast::<f32>(), basic::fmod),
        "remainder" => one!(|(x, y): (V<f32>, V<f32>)| basic::remainder((x.cast(), y.cast())).cast::<f32>(), basic::remainder),
        "fma" => floats!(|x, y, z| x.fma(y, z)),
        // Roots.
        "sqrt" => floats!(|x| x.sqrt()),
        "rsqrt" => float!(root::rsqrt),
        "cbrt" => float!(root::cbrt),
        "rcbrt" => float!(root::rcbrt),
        "hypot" => floats!(|x, y| root::length(&[x, y])),
        "rhypot" => floats!(|x, y| root::inverse_length(&[x, y])),
        "norm3d" => floats!(|x, y, z| root::length(&[x, y, z])),
        "rnorm3d" => floats!(|x, y, z| root::inverse_length(&[x, y, z])),
        "norm4d" => floats!(|x, y, z, w| root::length(&[x, y, z, w])),
        "rnorm4d" => floats!(|x, y, z, w| root::inverse_length(&[x, y, z, w])),
        // Powers and logarithms.
        "exp" => float!(exponential::exp),
        "exp2" => float!(exponential::exp2),
        "exp10" => float!(exponential::exp10),
        "expm1" => float!(exponential::expm1),
        "log" => one!(logarithm::log_fast, logarithm::log::<f64>),
        "log2" => float!(logarithm::log2),
        "log10" => float!(logarithm::log10),
        "log1p" => float!(logarithm::log1p),
        "pow" if overload.args[1] == Arg::I32 => {
            one!(|(x, n): (V<f32>, V<i32>)| logarithm::powi(x, n), |(x, n): (V<f64>, V<i32>)| logarithm::powi(x, n))
        }
        "pow" => floats!(|x, y| logarithm::pow(x, y)),
        // Trigonometric and hyperbolic functions.
        "sin" => float!(trigonometric::sin),
        "cos" => float!(trigonometric::cos),
        "tan" => float!(trigonometric::tan),
        "sinpi" => float!(trigonometric::sinpi),
        "cospi" => float!(trigonometric::cospi),
        "asin" => float!(trigonometric::asin),
        "acos" => float!(trigonometric::acos),
        "atan" => float!(trigonometric::atan),
        "atan2" => floats!(|x, y| trigonometric::atan2(x, y)),
        "sinh" => float!(exponential::sinh),
        "cosh" => float!(exponential::cosh),
        "tanh" => one!(error::tanh_fast, exponential::tanh::<f64>),
        "asinh" => float!(logarithm::asinh),
        "acosh" => float!(logarithm::acosh),
        "atanh" => float!(logarithm::atanh),
        // Special functions.
        "erf" => float!(error::erf),
        "erfc" => float!(error::erfc),
        "erfcx" => float!(error::erfcx),
        "normcdf" => float!(error::normcdf),
        "erfinv" => through_f64!(error::erfinv),
        "erfcinv" => through_f64!(error::erfcinv),
        "normcdfinv" => through_f64!(error::normcdfinv),
        "lgamma" => through_f64!(gamma::lgamma),
        "tgamma" => through_f64!(gamma::tgamma),
        "j0" => through_f64!(bessel::j0),
        "j1" => through_f64!(bessel::j1),
        "y0" => through_f64!(bessel::y0),
        "y1" => through_f64!(bessel::y1),
        "cyl_bessel_i0" => through_f64!(bessel::i0),
        "cyl_bessel_i1" => through_f64!(bessel::i1),
        "jn" => one!(|(n, x): (V<i32>, V<f32>)| bessel::jn((n, x.cast())).cast::<f32>(), bessel::jn),
        "yn" => one!(|(n, x): (V<i32>, V<f32>)| bessel::yn((n, x.cast())).cast::<f32>(), bessel::yn),
        // Through the special-function unit.
        "fast_sinf" => fast!(|x| x.approx(Approx::Sin)),
        "fast_cosf" => fast!(|x| x.approx(Approx::Cos)),
        "fast_tanf" => fast!(|x| x.approx(Approx::Sin).approx_with(Approx::Div, x.approx(Approx::Cos))),
        "fast_log2f" => fast!(|x| x.approx(Approx::Lg2)),
        "fast_logf" => fast!(|x| x.approx(Approx::Lg2) * consts::LN_2),
        "fast_log10f" => fast!(|x| x.approx(Approx::Lg2) * consts::LOG10_2),
        "fast_expf" => fast!(|x| (x * consts::LOG2_E).approx(Approx::Ex2)),
        "fast_exp10f" => fast!(|x| (x * consts::LOG2_10).approx(Approx::Ex2)),
        "fast_powf" => Some(record(symbol, |(x, y): (V<f32>, V<f32>)| (y * x.approx(Approx::Lg2)).approx(Approx::Ex2))),
        "fast_dividef" => Some(record(symbol, |(x, y): (V<f32>, V<f32>)| x.approx_with(Approx::Div, y))),
        _ => None,
    }
}
