//! Functions and constants of Python's `math`, and what torch says of its types, on compile-time values.
//!
//! **Invariant:** the answer is Python's, or `None` where Python raises or the function is not here.

use super::Const;
use crate::dtype::DType;

/// `math.pi`
pub(crate) fn math_constant(path: &str) -> Option<Const> {
    Some(Const::float(match path {
        "math.pi" => std::f64::consts::PI,
        "math.e" => std::f64::consts::E,
        "math.tau" => std::f64::consts::TAU,
        "math.inf" | "torch.inf" | "numpy.inf" => f64::INFINITY,
        "math.nan" | "torch.nan" | "numpy.nan" => f64::NAN,
        "torch.pi" | "numpy.pi" => std::f64::consts::PI,
        _ => return None,
    }))
}

/// `math.sqrt(x)`, by the function's name and its arguments.
pub(crate) fn math(name: &str, args: &[Const]) -> Option<Const> {
    if let Some(found) = on_integers(name, args) {
        return found;
    }
    let x: Vec<f64> = args.iter().map(Const::as_float).collect::<Option<_>>()?;
    let truth = |is_so| Some(Const::Bool(is_so));
    let whole = |x: f64| (x.abs() < 1e30).then_some(Const::Int(x as i128));
    let result = match (name, &x[..]) {
        ("ceil", [x]) => return whole(x.ceil()),
        ("floor", [x]) => return whole(x.floor()),
        ("trunc", [x]) => return whole(x.trunc()),
        ("isnan", [x]) => return truth(x.is_nan()),
        ("isinf", [x]) => return truth(x.is_infinite()),
        ("isfinite", [x]) => return truth(x.is_finite()),
        ("sqrt", [x]) => x.sqrt(),
        ("cbrt", [x]) => x.cbrt(),
        ("exp", [x]) => x.exp(),
        ("exp2", [x]) => x.exp2(),
        ("expm1", [x]) => x.exp_m1(),
        ("log", [x]) if *x > 0.0 => x.ln(),
        ("log", [x, base]) if *x > 0.0 && *base > 0.0 && *base != 1.0 => x.ln() / base.ln(),
        ("log2", [x]) if *x > 0.0 => x.log2(),
        ("log10", [x]) if *x > 0.0 => x.log10(),
        ("log1p", [x]) if *x > -1.0 => x.ln_1p(),
        ("pow", [x, y]) => x.powf(*y),
        ("sin", [x]) => x.sin(),
        ("cos", [x]) => x.cos(),
        ("tan", [x]) => x.tan(),
        ("asin", [x]) => x.asin(),
        ("acos", [x]) => x.acos(),
        ("atan", [x]) => x.atan(),
        ("atan2", [y, x]) => y.atan2(*x),
        ("sinh", [x]) => x.sinh(),
        ("cosh", [x]) => x.cosh(),
        ("tanh", [x]) => x.tanh(),
        ("fabs", [x]) => x.abs(),
        ("copysign", [x, y]) => x.copysign(*y),
        ("fmod", [x, y]) if *y != 0.0 => x % y,
        ("hypot", [x, y]) => x.hypot(*y),
        ("degrees", [x]) => x.to_degrees(),
        ("radians", [x]) => x.to_radians(),
        _ => return None,
    };
    // What is no number though its arguments are, or too large though they are not, is an error in Python.
    let is_error = result.is_nan() && !x.iter().any(|x| x.is_nan()) || result.is_infinite() && x.iter().all(|x| x.is_finite());
    (!is_error).then(|| Const::float(result))
}

/// The functions that need whole numbers; the outer `None`: another function.
fn on_integers(name: &str, args: &[Const]) -> Option<Option<Const>> {
    let int = |at: usize| match args.get(at) {
        Some(Const::Float(_)) | None => None,
        Some(other) => other.as_int(),
    };
    let pairs = |start: i128, step: fn(i128, i128) -> Option<i128>| {
        (0..args.len()).try_fold(start, |all, at| step(all, int(at)?)).map(Const::Int)
    };
    Some(match name {
        "gcd" => pairs(0, gcd),
        "lcm" => pairs(1, |a, b| if a == 0 || b == 0 { Some(0) } else { (a / gcd(a, b)?).checked_mul(b)?.checked_abs() }),
        "isqrt" if args.len() == 1 => int(0).and_then(|n| u128::try_from(n).ok()).map(|n| Const::Int(n.isqrt() as i128)),
        "factorial" if args.len() == 1 => {
            int(0).filter(|n| (0..34).contains(n)).and_then(|n| (1..=n).try_fold(1i128, i128::checked_mul)).map(Const::Int)
        }
        // A whole number is its own.
        "ceil" | "floor" | "trunc" if args.len() == 1 && int(0).is_some() => int(0).map(Const::Int),
        "prod" => match args {
            [Const::Tuple(items)] => {
                items.iter().try_fold(Const::Int(1), |all, item| super::binary(crate::body::BinaryOp::Mul, &all, item))
            }
            _ => None,
        },
        _ => return None,
    })
}

fn gcd(a: i128, b: i128) -> Option<i128> {
    let (mut a, mut b) = (a.checked_abs()?, b.checked_abs()?);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    Some(a)
}

/// What `torch.finfo(dtype)` or `torch.iinfo(dtype)` says of a type.
pub(crate) fn type_info(function: &str, dtype: DType) -> Option<Vec<(&'static str, Const)>> {
    let bits = ("bits", Const::Int(i128::from(dtype.bits())));
    match function {
        "iinfo" if dtype.is_int() && dtype != DType::I1 => {
            let bits_of = dtype.bits();
            let (min, max) = match dtype.is_signed_int() {
                true => (-(1i128 << (bits_of - 1)), (1i128 << (bits_of - 1)) - 1),
                false => (0, (1i128 << bits_of) - 1),
            };
            Some(vec![("min", Const::Int(min)), ("max", Const::Int(max)), bits])
        }
        "finfo" if dtype.is_float() => {
            // Bits of the fraction, the least exponent of a normal number, the largest number.
            let (fraction, least, max) = match dtype {
                DType::F8E4M3 => (3, -6, 448.0),
                DType::F8E5M2 => (2, -14, 57_344.0),
                DType::F16 => (10, -14, 65_504.0),
                DType::BF16 => (7, -126, (2.0 - 2f64.powi(-7)) * 2f64.powi(127)),
                DType::F32 => (23, -126, f64::from(f32::MAX)),
                _ => (52, -1022, f64::MAX),
            };
            let float = Const::float;
            Some(vec![
                ("min", float(-max)),
                ("max", float(max)),
                ("eps", float(2f64.powi(-fraction))),
                ("tiny", float(2f64.powi(least))),
                ("smallest_normal", float(2f64.powi(least))),
                bits,
            ])
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(name: &str, args: &[Const]) -> String {
        math(name, args).map_or_else(|| "nothing".to_owned(), |value| value.to_string())
    }

    #[test]
    fn as_python_computes() {
        let (int, float) = (Const::Int, Const::float);
        assert_eq!(said("gcd", &[int(12), int(-18)]), "6");
        assert_eq!(said("lcm", &[int(4), int(6)]), "12");
        assert_eq!(said("isqrt", &[int(17)]), "4");
        assert_eq!(said("ceil", &[int(7)]), "7");
        assert_eq!(said("ceil", &[float(2.1)]), "3");
        assert_eq!(said("log2", &[int(1024)]), "10.0");
        assert_eq!(said("prod", &[Const::Tuple(vec![int(2), int(8)])]), "16");
        for (name, args) in [
            ("sqrt", vec![int(-1)]),
            ("log", vec![int(0)]),
            ("exp", vec![int(1000)]),
            ("gcd", vec![float(2.0)]),
            ("sqrt", vec![]),
        ] {
            assert_eq!(said(name, &args), "nothing", "{name}");
        }
        let of = |function: &str, dtype, what: &str| {
            type_info(function, dtype)
                .and_then(|all| all.into_iter().find(|(name, _)| *name == what))
                .map(|found| found.1.to_string())
        };
        assert_eq!(of("finfo", DType::F16, "max").as_deref(), Some("65504.0"));
        assert_eq!(of("finfo", DType::BF16, "max").as_deref(), Some("3.3895313892515355e+38"));
        assert_eq!(of("finfo", DType::F32, "eps").as_deref(), Some("1.1920928955078125e-07"));
        assert_eq!(of("iinfo", DType::I32, "min").as_deref(), Some("-2147483648"));
        assert_eq!(of("iinfo", DType::U8, "max").as_deref(), Some("255"));
        assert_eq!(of("finfo", DType::I32, "max"), None);
    }
}
