//! The functions of the device library, by name.
//!
//! Functions of floats are computed in `f64` and rounded once, as in [`super::math`]; those with a rounding mode in their name are
//! rounded in that mode, exactly but for `f64` results below 2^-968, which are rounded to nearest. The device's approximations
//! (`fast_…`, `rcp64h`) are the functions they approximate. **Invariant:** every overload of [`crate::libdevice`] has a meaning here
//! (a test asks each), and it is the same bits on every host.

mod rounding;
mod special;

use super::value::Data;
use crate::libdevice::{Arg, Symbol};
use rounding::Mode;

/// An argument or a result: an integer by its value (unsigned ones are not negative), a float as `f64`.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Number {
    Int(i128),
    Float(f64),
}

use Number::{Float, Int};

impl Number {
    fn int(self) -> i128 {
        match self {
            Int(i) => i,
            Float(_) => 0,
        }
    }

    fn float(self) -> f64 {
        match self {
            Int(i) => i as f64,
            Float(f) => f,
        }
    }
}

/// The function on every element; `None` if the operands are not those of the overload.
pub(super) fn call(symbol: Symbol, operands: &[&Data]) -> Option<Data> {
    let overload = symbol.overload();
    let len = operands.first()?.len();
    let mut bits = Vec::with_capacity(len);
    let mut args = [Int(0); 4];
    for i in 0..len {
        for ((slot, data), arg) in args.iter_mut().zip(operands).zip(overload.args) {
            *slot = read(data, *arg, i)?;
        }
        bits.push(write(evaluate(symbol, &args[..overload.args.len()])?, overload.result));
    }
    Some(Data::from_bits(overload.result.scalar(), bits.into_iter()))
}

fn read(data: &Data, arg: Arg, i: usize) -> Option<Number> {
    Some(match (data, arg) {
        (Data::I32(v), Arg::I32) => Int(v[i].into()),
        (Data::I32(v), Arg::U32) => Int((v[i] as u32).into()),
        (Data::I64(v), Arg::I64) => Int(v[i].into()),
        (Data::I64(v), Arg::U64) => Int((v[i] as u64).into()),
        (Data::F32(v), Arg::F32) => Float(v[i].into()),
        (Data::F64(v), Arg::F64) => Float(v[i]),
        _ => return None,
    })
}

fn write(value: Number, result: Arg) -> u64 {
    match result {
        Arg::F32 => u64::from((value.float() as f32).to_bits()),
        Arg::F64 => value.float().to_bits(),
        Arg::I32 | Arg::U32 => u64::from(value.int() as u32),
        Arg::I64 | Arg::U64 => value.int() as u64,
    }
}

fn evaluate(symbol: Symbol, args: &[Number]) -> Option<Number> {
    let overload = symbol.overload();
    let name = symbol.function().name;
    if let Some((base, mode)) = name.rsplit_once('_').and_then(|(base, mode)| Some((base, Mode::find(mode)?))) {
        return rounding::evaluate(base, mode, overload, args);
    }
    let narrow = overload.args[0] == Arg::F32;
    match *args {
        [Int(x)] => int_unary(name, overload.args[0], x),
        [Int(x), Int(y)] => int_binary(name, overload.args[0], x, y),
        [Int(x), Int(y), Int(z)] => int_ternary(name, x, y, z),
        [Float(x)] => float_unary(name).map(|f| Float(f(x))).or_else(|| float_other(name, narrow, x)),
        [Float(x), Float(y)] => match name {
            "nextafter" if narrow => Some(Float(libm::nextafterf(x as f32, y as f32).into())),
            _ => float_binary(name).map(|f| Float(f(x, y))),
        },
        [Float(x), Int(n)] => match name {
            "ldexp" | "scalbn" => Some(Float(libm::scalbn(x, n.clamp(-10_000, 10_000) as i32))),
            "pow" => Some(Float(libm::pow(x, n as f64))),
            _ => None,
        },
        [Int(n), Float(x)] => {
            let n = n as i32;
            match name {
                "jn" => Some(Float(special::jn(n, x))),
                "yn" => Some(Float(special::yn(n, x))),
                _ => None,
            }
        }
        [Float(x), Float(y), Float(z)] => match name {
            "fma" if narrow => Some(Float((x as f32).mul_add(y as f32, z as f32).into())),
            "fma" => Some(Float(x.mul_add(y, z))),
            "norm3d" => Some(Float(special::norm(&[x, y, z]))),
            "rnorm3d" => Some(Float(1.0 / special::norm(&[x, y, z]))),
            _ => None,
        },
        [Float(a), Float(b), Float(c), Float(d)] => match name {
            "norm4d" => Some(Float(special::norm(&[a, b, c, d]))),
            "rnorm4d" => Some(Float(1.0 / special::norm(&[a, b, c, d]))),
            _ => None,
        },
        _ => None,
    }
}

fn float_unary(name: &str) -> Option<fn(f64) -> f64> {
    Some(match name {
        "abs" => f64::abs,
        "floor" => f64::floor,
        "ceil" => f64::ceil,
        "trunc" => f64::trunc,
        "rint" | "nearbyint" => libm::rint,
        "round" => f64::round,
        "sqrt" => f64::sqrt,
        "rsqrt" => |x| 1.0 / x.sqrt(),
        "saturatef" => |x| if x.is_nan() { 0.0 } else { x.clamp(0.0, 1.0) },
        "exp" | "fast_expf" => libm::exp,
        "exp2" => libm::exp2,
        "exp10" | "fast_exp10f" => libm::exp10,
        "expm1" => libm::expm1,
        "log" | "fast_logf" => libm::log,
        "log2" | "fast_log2f" => libm::log2,
        "log10" | "fast_log10f" => libm::log10,
        "log1p" => libm::log1p,
        "logb" => special::logb,
        "sin" | "fast_sinf" => libm::sin,
        "cos" | "fast_cosf" => libm::cos,
        "tan" | "fast_tanf" => libm::tan,
        "sinpi" => special::sinpi,
        "cospi" => special::cospi,
        "asin" => libm::asin,
        "acos" => libm::acos,
        "atan" => libm::atan,
        "sinh" => libm::sinh,
        "cosh" => libm::cosh,
        "tanh" => libm::tanh,
        "asinh" => libm::asinh,
        "acosh" => libm::acosh,
        "atanh" => libm::atanh,
        "cbrt" => libm::cbrt,
        "rcbrt" => |x| 1.0 / libm::cbrt(x),
        "erf" => libm::erf,
        "erfc" => libm::erfc,
        "erfcx" => special::erfcx,
        "erfinv" => special::erfinv,
        "erfcinv" => special::erfcinv,
        "normcdf" => |x| 0.5 * libm::erfc(-x * std::f64::consts::FRAC_1_SQRT_2),
        "normcdfinv" => |p| -std::f64::consts::SQRT_2 * special::erfcinv(2.0 * p),
        "lgamma" => libm::lgamma,
        "tgamma" => libm::tgamma,
        "j0" => libm::j0,
        "j1" => libm::j1,
        "y0" => libm::y0,
        "y1" => libm::y1,
        "cyl_bessel_i0" => |x| special::modified_bessel(0, x),
        "cyl_bessel_i1" => |x| special::modified_bessel(1, x),
        // The low word of the approximation is 0.
        "rcp64h" => |x| f64::from_bits((1.0 / x).to_bits() & !0xffff_ffff),
        _ => return None,
    })
}

/// From a float to an integer, or by the bits.
fn float_other(name: &str, narrow: bool, x: f64) -> Option<Number> {
    let flag = |b: bool| Some(Int(b.into()));
    let least = i128::from(i64::MIN);
    let saturated = |x: f64| if x.is_nan() { least } else { (x as i128).clamp(least, i64::MAX.into()) };
    match name {
        "isnan" => flag(x.is_nan()),
        "isinf" => flag(x.is_infinite()),
        "finitef" | "isfinited" => flag(x.is_finite()),
        "signbit" => flag(x.is_sign_negative()),
        "llrint" => Some(Int(saturated(libm::rint(x)))),
        "llround" => Some(Int(saturated(x.round()))),
        "ilogb" => Some(Int(match special::logb(x) {
            e if e.is_nan() || e == f64::NEG_INFINITY => i32::MIN.into(),
            e if e.is_infinite() => i32::MAX.into(),
            e => e as i128,
        })),
        "float_as_int" | "float_as_uint" => Some(Int((x as f32).to_bits().into())),
        "double_as_longlong" => Some(Int(x.to_bits().into())),
        "double2loint" => Some(Int((x.to_bits() as u32).into())),
        "double2hiint" => Some(Int((x.to_bits() >> 32).into())),
        _ if narrow => None,
        _ => None,
    }
}

fn float_binary(name: &str) -> Option<fn(f64, f64) -> f64> {
    Some(match name {
        "atan2" => libm::atan2,
        "copysign" => f64::copysign,
        "fmod" => |x, y| x % y,
        "remainder" => libm::remainder,
        "hypot" => libm::hypot,
        "rhypot" => |x, y| 1.0 / libm::hypot(x, y),
        "pow" | "fast_powf" => libm::pow,
        "fdim" => libm::fdim,
        "nextafter" => libm::nextafter,
        "fast_dividef" => |x, y| x / y,
        _ => return None,
    })
}

fn int_unary(name: &str, arg: Arg, x: i128) -> Option<Number> {
    let wide = arg.scalar().bits() == 64;
    let bits = x as u64;
    Some(Int(match name {
        "clz" if wide => bits.leading_zeros().into(),
        "clz" => (bits as u32).leading_zeros().into(),
        "popc" if wide => bits.count_ones().into(),
        "popc" => (bits as u32).count_ones().into(),
        "brev" if wide => bits.reverse_bits().into(),
        "brev" => (bits as u32).reverse_bits().into(),
        "ffs" if x == 0 => 0,
        "ffs" => i128::from(bits.trailing_zeros()) + 1,
        "abs" if wide => (x as i64).wrapping_abs().into(),
        "abs" => (x as i32).wrapping_abs().into(),
        "int_as_float" | "uint_as_float" => return Some(Float(f32::from_bits(bits as u32).into())),
        "longlong_as_double" => return Some(Float(f64::from_bits(bits))),
        _ => return None,
    }))
}

fn int_binary(name: &str, arg: Arg, x: i128, y: i128) -> Option<Number> {
    Some(match name {
        // The product of two unsigned numbers of 64 bits is one of 128.
        "mulhi" if arg == Arg::U64 => Int(((x as u128 * y as u128) >> 64) as i128),
        "mulhi" => Int((x * y) >> arg.scalar().bits()),
        "mul24" if arg == Arg::U32 => Int((x & 0xff_ffff) * (y & 0xff_ffff)),
        "mul24" => {
            let low = |v: i128| i128::from(((v as i32) << 8) >> 8);
            Int(low(x) * low(y))
        }
        "hadd" => Int((x + y) >> 1),
        "rhadd" => Int((x + y + 1) >> 1),
        "hiloint2double" => Float(f64::from_bits(((x as u32 as u64) << 32) | u64::from(y as u32))),
        _ => return None,
    })
}

fn int_ternary(name: &str, x: i128, y: i128, z: i128) -> Option<Number> {
    Some(Int(match name {
        "sad" => (x - y).abs() + z,
        "byte_perm" => {
            let bytes = (u64::from(y as u32) << 32) | u64::from(x as u32);
            let pick = |n: u32| (bytes >> (8 * ((z as u32 >> (4 * n)) & 7))) & 0xff;
            (0..4).map(|n| i128::from(pick(n)) << (8 * n)).sum()
        }
        _ => return None,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{libdevice, types::Scalar};

    fn sample(arg: Arg, place: usize) -> Data {
        match arg {
            Arg::I32 | Arg::U32 => Data::I32(vec![[12, 5, 2, 1][place], -7, 0]),
            Arg::I64 | Arg::U64 => Data::I64(vec![[12, 5, 2, 1][place], -7, i64::MIN]),
            Arg::F32 => Data::F32(vec![[0.25, 0.5, 1.5, 2.0][place], f32::NAN, f32::INFINITY]),
            Arg::F64 => Data::F64(vec![[0.25, 0.5, 1.5, 2.0][place], f64::NAN, f64::NEG_INFINITY]),
        }
    }

    #[test]
    fn every_overload_has_a_meaning() {
        for symbol in libdevice::all() {
            let overload = symbol.overload();
            let operands: Vec<Data> = overload.args.iter().enumerate().map(|(i, a)| sample(*a, i)).collect();
            let operands: Vec<&Data> = operands.iter().collect();
            let result = call(symbol, &operands);
            assert_eq!(result.map(|r| r.len()), Some(3), "{}", overload.symbol);
        }
    }

    /// One number through a function of `f64`, to 12 digits.
    fn f64_of(name: &str, args: &[f64]) -> String {
        let symbol = Symbol::find(name, &vec![Arg::F64; args.len()]).unwrap_or_else(|| panic!("{name}"));
        let operands: Vec<Data> = args.iter().map(|x| Data::F64(vec![*x])).collect();
        match call(symbol, &operands.iter().collect::<Vec<_>>()) {
            Some(Data::F64(v)) => format!("{:.11e}", v[0]),
            Some(other) => format!("{other:?}"),
            None => "nothing".to_owned(),
        }
    }

    /// Against tables of the functions (16 digits, from another library).
    #[test]
    fn special_functions_agree_with_tables() {
        let cases: &[(&str, &[f64], &str)] = &[
            ("erfinv", &[0.5], "4.76936276204e-1"),
            ("erfinv", &[-0.999], "-2.32675376551e0"),
            ("erfcinv", &[1e-10], "4.57282496739e0"),
            ("erfcinv", &[1.5], "-4.76936276204e-1"),
            ("erfcx", &[0.5], "6.15690344193e-1"),
            ("erfcx", &[10.0], "5.61409927438e-2"),
            ("normcdf", &[1.96], "9.75002104852e-1"),
            ("normcdfinv", &[0.025], "-1.95996398454e0"),
            ("cyl_bessel_i0", &[2.5], "3.28983914405e0"),
            ("cyl_bessel_i1", &[-2.5], "-2.51671624529e0"),
            ("sinpi", &[1.25], "-7.07106781187e-1"),
            ("cospi", &[0.5], "0.00000000000e0"),
            ("rhypot", &[3.0, 4.0], "2.00000000000e-1"),
            ("norm4d", &[1e200, 1e200, 1e200, 1e200], "2.00000000000e200"),
            ("rcbrt", &[27.0], "3.33333333333e-1"),
            ("remainder", &[5.5, 2.0], "-5.00000000000e-1"),
            ("logb", &[0.1], "-4.00000000000e0"),
        ];
        let found: Vec<(&str, &[f64], String)> = cases.iter().map(|(n, a, _)| (*n, *a, f64_of(n, a))).collect();
        let expected: Vec<(&str, &[f64], String)> = cases.iter().map(|(n, a, e)| (*n, *a, e.to_string())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn directed_rounding_brackets_the_exact_result() {
        let of = |name: &str, args: &[f32]| {
            let symbol = Symbol::find(name, &vec![Arg::F32; args.len()]).unwrap_or_else(|| panic!("{name}"));
            let operands: Vec<Data> = args.iter().map(|x| Data::F32(vec![*x])).collect();
            match call(symbol, &operands.iter().collect::<Vec<_>>()) {
                Some(Data::F32(v)) => v[0],
                other => panic!("{other:?}"),
            }
        };
        let third = 1.0f32 / 3.0;
        // 1/3 rounds upward to nearest.
        assert_eq!([of("div_rd", &[1.0, 3.0]), of("div_ru", &[1.0, 3.0])], [third.next_down(), third]);
        assert_eq!([of("rcp_rz", &[-3.0]), of("rcp_rd", &[-3.0])], [-third.next_down(), -third]);
        assert_eq!([of("add_rd", &[1.0, 1e-30]), of("add_ru", &[1.0, 1e-30])], [1.0, 1.0f32.next_up()]);
        assert_eq!(of("add_rd", &[1.0, -1.0]).to_bits(), (-0.0f32).to_bits());
        assert_eq!(of("mul_rz", &[f32::MAX, 2.0]), f32::MAX);
        assert_eq!(of("mul_ru", &[f32::MIN_POSITIVE, f32::MIN_POSITIVE]), f32::from_bits(1));
        let (down, up) = (of("sqrt_rd", &[2.0]), of("sqrt_ru", &[2.0]));
        assert!(f64::from(down) * f64::from(down) < 2.0 && f64::from(up) * f64::from(up) > 2.0 && up == down.next_up());
        assert_eq!(of("fma_rd", &[1.0, 1.0, -1e-30]), 1.0f32.next_down());
    }

    #[test]
    fn conversions_saturate_and_round_as_named() {
        let to = |name: &str, x: f64| {
            let symbol = Symbol::find(name, &[Arg::F64]).unwrap_or_else(|| panic!("{name}"));
            let data = call(symbol, &[&Data::F64(vec![x])]);
            data.map(|d| d.bits(symbol.overload().result.scalar(), 0) as i64)
        };
        assert_eq!(to("double2int_rn", 2.5), Some(2));
        assert_eq!(to("double2int_ru", 2.5), Some(3));
        assert_eq!(to("double2int_rd", -2.5), Some(i64::from(-3i32 as u32)));
        assert_eq!(to("double2ll_rz", -2.5), Some(-2));
        assert_eq!(to("double2uint_rn", -1.0), Some(0));
        assert_eq!(to("double2ll_rn", 1e300), Some(i64::MAX));
        let symbol = Symbol::find("ll2float_ru", &[Arg::I64]).expect("ll2float_ru");
        let above = call(symbol, &[&Data::I64(vec![(1 << 24) + 1])]);
        assert_eq!(above, Some(Data::from_bits(Scalar::F32, [u64::from(16_777_218f32.to_bits())].into_iter())));
    }

    #[test]
    fn bits_and_bytes() {
        let int = |name: &str, args: &[i32]| {
            let symbol = Symbol::find(name, &vec![Arg::I32; args.len()]).unwrap_or_else(|| panic!("{name}"));
            let operands: Vec<Data> = args.iter().map(|x| Data::I32(vec![*x])).collect();
            match call(symbol, &operands.iter().collect::<Vec<_>>()) {
                Some(Data::I32(v)) => v[0],
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(int("clz", &[1]), 31);
        assert_eq!(int("popc", &[-1]), 32);
        assert_eq!(int("ffs", &[8]), 4);
        assert_eq!(int("brev", &[1]), i32::MIN);
        assert_eq!(int("mulhi", &[-1, 5]), -1);
        assert_eq!(int("mul24", &[0x0100_0002, 3]), 6);
        assert_eq!(int("hadd", &[i32::MAX, i32::MAX - 1]), i32::MAX - 1);
        assert_eq!(int("byte_perm", &[0x3322_1100, 0x7766_5544, 0x7041]), 0x7700_4411);
    }
}
