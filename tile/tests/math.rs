//! How far the mathematical functions are from the exact ones.
//!
//! `math/references.tsv` has exact results (function, width, arguments as bits, the result as bits of the nearest f64), made with 60 digits by
//! `math/references.py`; besides, the functions of f32 are compared with another library's f64 ones on floats of every size.

use std::collections::BTreeMap;

use tritium_tile::{
    Scalar,
    libdevice::{Arg, Symbol, all},
    math::{LANES, Lanes, Program, Small, library, run, small},
    ops::{OpKind, UnaryOp},
};

/// The function of this name and width (of the floats).
fn function(name: &str, width: u32) -> &'static Program {
    let float = if width == 32 { Arg::F32 } else { Arg::F64 };
    let found = all().find(|s: &Symbol| s.function().name == name && s.overload().args.iter().all(|a| *a == float));
    found.and_then(library).unwrap_or_else(|| panic!("{name} of {width} bits"))
}

/// A program on rows of arguments, as bits.
fn apply(program: &Program, rows: &[Vec<u64>]) -> Vec<u64> {
    let mut out = Vec::new();
    for batch in rows.chunks(LANES) {
        let args: Vec<Lanes> = (0..program.params.len())
            .map(|a| Lanes::from_bits(program.params[a], |i| batch.get(i).unwrap_or(&batch[0])[a]))
            .collect();
        let results = run(program, &args);
        out.extend((0..batch.len()).map(|i| results[0].bits(i)));
    }
    out
}

/// The distance in units of the last digit of the exact result.
fn ulps(width: u32, got: u64, exact: f64) -> f64 {
    let got = if width == 32 { f64::from(f32::from_bits(got as u32)) } else { f64::from_bits(got) };
    if got == exact || got.is_nan() && exact.is_nan() || width == 32 && got == f64::from(exact as f32) {
        return if got.is_infinite() || exact == 0.0 { 0.0 } else { ((got - exact) / unit(width, exact)).abs().min(0.5) };
    }
    let error = ((got - exact) / unit(width, exact)).abs();
    if error.is_nan() { f64::INFINITY } else { error }
}

fn unit(width: u32, exact: f64) -> f64 {
    let exponent = if exact == 0.0 || !exact.is_finite() { -1100 } else { libm::ilogb(exact) };
    let (digits, least) = if width == 32 { (23, -149) } else { (52, -1074) };
    libm::scalbn(1.0, (exponent - digits).max(least))
}

/// The largest error allowed, of f32 and of f64. Bessel functions are measured beside 1, or the result if that is larger.
const BOUNDS: &[(&str, f64, f64)] = &[
    ("exp", 1.0, 1.0),
    ("exp2", 1.0, 1.0),
    ("exp10", 1.5, 1.5),
    ("expm1", 1.5, 1.5),
    ("log", 1.0, 1.0),
    ("log2", 1.0, 1.0),
    ("log10", 1.0, 1.0),
    ("log1p", 1.5, 1.5),
    ("sin", 2.0, 2.0),
    ("cos", 2.0, 2.0),
    ("tan", 4.0, 4.0),
    ("sinpi", 1.0, 1.0),
    ("cospi", 1.0, 1.0),
    ("asin", 2.0, 2.0),
    ("acos", 2.0, 2.0),
    ("atan", 2.0, 2.0),
    ("atan2", 3.0, 3.0),
    ("sinh", 3.0, 3.0),
    ("cosh", 2.0, 2.0),
    ("tanh", 2.0, 3.0),
    ("asinh", 3.0, 3.0),
    ("acosh", 3.0, 3.0),
    ("atanh", 3.0, 3.0),
    ("cbrt", 1.0, 1.0),
    ("rcbrt", 1.0, 1.0),
    ("rsqrt", 1.5, 1.5),
    ("hypot", 1.0, 1.0),
    ("rhypot", 1.0, 1.0),
    ("norm3d", 1.0, 1.0),
    ("norm4d", 1.0, 1.0),
    ("rnorm3d", 1.0, 1.0),
    ("rnorm4d", 1.0, 1.0),
    ("pow", 1.0, 1.0),
    ("erf", 2.0, 2.0),
    ("erfc", 4.0, 4.0),
    ("erfcx", 4.0, 4.0),
    ("normcdf", 5.0, 5.0),
    ("erfinv", 0.6, 4.0),
    ("erfcinv", 0.6, 4.0),
    ("normcdfinv", 0.6, 4.0),
    ("lgamma", 1.0, 4.0),
    ("tgamma", 0.6, 6.0),
    ("j0", 0.6, 8.0),
    ("j1", 0.6, 8.0),
    ("y0", 0.6, 8.0),
    ("y1", 0.6, 8.0),
    ("cyl_bessel_i0", 0.6, 4.0),
    ("cyl_bessel_i1", 0.6, 4.0),
];

/// The bits of the arguments, and the exact result.
type Row = (Vec<u64>, f64);

#[test]
fn functions_are_within_their_bounds() {
    let mut rows: BTreeMap<(&str, u32), Vec<Row>> = BTreeMap::new();
    for line in include_str!("math/references.tsv").lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let bits: Vec<u64> = fields[2..].iter().map(|f| u64::from_str_radix(f, 16).expect("bits")).collect();
        let (exact, args) = bits.split_last().expect("a result");
        rows.entry((fields[0], fields[1].parse().expect("a width"))).or_default().push((args.to_vec(), f64::from_bits(*exact)));
    }
    assert_eq!(rows.len(), 2 * BOUNDS.len());
    let mut wrong = Vec::new();
    for ((name, width), rows) in rows {
        let args: Vec<Vec<u64>> = rows.iter().map(|(args, _)| args.clone()).collect();
        let got = apply(function(name, width), &args);
        let bessel = matches!(name, "j0" | "j1" | "y0" | "y1");
        let bound = BOUNDS.iter().find(|(n, ..)| *n == name).expect("a bound");
        let bound = if width == 32 { bound.1 } else { bound.2 };
        for ((args, exact), got) in rows.iter().zip(got) {
            let error = ulps(width, got, *exact) * if bessel { exact.abs().min(1.0) } else { 1.0 };
            if error > bound {
                let shown: Vec<f64> =
                    args.iter().map(|&b| if width == 32 { f32::from_bits(b as u32).into() } else { f64::from_bits(b) }).collect();
                wrong.push(format!("{name} {width} {shown:?}: {error:.2} of {bound} ulp from {exact:e}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", few(&wrong));
}

/// The first few of what is wrong with each function, and how many there are.
fn few(wrong: &[String]) -> String {
    let start = |line: &str| line.split_once(' ').and_then(|(name, rest)| Some(format!("{name} {}", rest.split(' ').next()?)));
    let mut seen: BTreeMap<Option<String>, usize> = BTreeMap::new();
    let mut lines = Vec::new();
    for line in wrong {
        let count = seen.entry(start(line)).or_default();
        *count += 1;
        if *count <= 4 {
            lines.push(line.clone());
        }
    }
    format!("{}\n{seen:?}", lines.join("\n"))
}

/// Bits of numbers of every size, and the special ones.
fn sample(width: u32) -> Vec<u64> {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let random = std::iter::from_fn(move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        Some((state >> 32) ^ (state << 20))
    });
    let mut out: Vec<u64> = random.take(6000).map(|b| if width == 32 { b & 0xffff_ffff } else { b }).collect();
    let plain = [0.0, 1.0, 0.5, 2.0, 3.0, 10.0, 0.1, 1e-10, 1e10, f64::INFINITY, 1e30, 1e-30, 5e-45];
    let both = plain.iter().flat_map(|&x| [x, -x]).chain([f64::NAN]);
    out.extend(both.map(|x| if width == 32 { (x as f32).to_bits().into() } else { x.to_bits() }));
    // And the usual range, densely.
    out.extend((0..6000).map(|i| {
        let x = f64::from(i) * 0.004 - 12.0 + 1e-5;
        if width == 32 { (x as f32).to_bits().into() } else { x.to_bits() }
    }));
    out
}

/// A function's name, another library's answer, and the largest error beside it.
type Other = (&'static str, fn(f64) -> f64, f64);

const OTHERS: &[Other] = &[
    ("exp", libm::exp, 1.0),
    ("exp2", libm::exp2, 1.0),
    ("exp10", libm::exp10, 1.5),
    ("expm1", libm::expm1, 1.5),
    ("log", libm::log, 1.0),
    ("log2", libm::log2, 1.0),
    ("log10", libm::log10, 1.0),
    ("log1p", libm::log1p, 1.5),
    ("sin", libm::sin, 2.0),
    ("cos", libm::cos, 2.0),
    ("tan", libm::tan, 4.0),
    ("asin", libm::asin, 2.0),
    ("acos", libm::acos, 2.0),
    ("atan", libm::atan, 2.0),
    ("sinh", libm::sinh, 3.0),
    ("cosh", libm::cosh, 2.0),
    ("tanh", libm::tanh, 2.0),
    ("asinh", libm::asinh, 3.0),
    ("acosh", libm::acosh, 3.0),
    ("atanh", libm::atanh, 3.0),
    ("cbrt", libm::cbrt, 1.0),
    ("erf", libm::erf, 2.0),
    ("erfc", libm::erfc, 4.0),
    ("lgamma", libm::lgamma, 1.0),
    ("tgamma", libm::tgamma, 1.0),
    ("j0", libm::j0, 1e9),
    ("y1", libm::y1, 1e9),
    ("rint", libm::rint, 0.0),
    ("round", f64::round, 0.0),
    ("trunc", f64::trunc, 0.0),
    ("floor", f64::floor, 0.0),
    ("ceil", f64::ceil, 0.0),
    ("sqrt", f64::sqrt, 0.5),
];

/// In f64 the other library is as far off as ours may be.
const SLACK: f64 = 1.5;

#[test]
fn another_library_agrees_on_numbers_of_every_size() {
    let mut wrong = Vec::new();
    for width in [32, 64] {
        let bits = sample(width);
        let rows: Vec<Vec<u64>> = bits.iter().map(|&b| vec![b]).collect();
        for &(name, other, bound) in OTHERS {
            // Its own error is many digits there.
            if width == 64 && matches!(name, "lgamma" | "tgamma" | "j0" | "y1") {
                continue;
            }
            let bound = if width == 64 && bound > 0.0 { bound + SLACK } else { bound };
            for (b, got) in bits.iter().zip(apply(function(name, width), &rows)) {
                let x = if width == 32 { f32::from_bits(*b as u32).into() } else { f64::from_bits(*b) };
                let exact = other(x);
                // What the functions are at their poles is a matter of taste for the other one.
                if name == "tgamma" && x < 0.0 && x == x.trunc() || name == "acosh" && x < 1.0 {
                    continue;
                }
                let finite = if width == 32 { f64::from(exact as f32).is_finite() } else { exact.is_finite() };
                let value = if width == 32 { f32::from_bits(got as u32).into() } else { f64::from_bits(got) };
                let error = if finite {
                    ulps(width, got, exact)
                } else if value == exact || value.is_nan() && exact.is_nan() || value == f64::from(exact as f32) {
                    0.0
                } else {
                    f64::INFINITY
                };
                let signed = exact != 0.0 || value.is_sign_negative() == exact.is_sign_negative() || value != 0.0;
                if error > bound || !signed {
                    wrong.push(format!("{name} {width} {x:e}: {value:e} is {error:.2} of {bound} ulp from {exact:e}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", few(&wrong));
}

type Exact = (&'static str, fn(f64, f64) -> f64);

#[test]
fn exact_functions_of_two_are_exact() {
    let mut wrong = Vec::new();
    for width in [32, 64] {
        let bits = sample(width);
        let rows: Vec<Vec<u64>> = bits.iter().zip(bits.iter().rev().chain(&bits[7..])).map(|(a, b)| vec![*a, *b]).collect();
        let others: [Exact; 4] =
            [("fmod", |x, y| x % y), ("remainder", libm::remainder), ("fdim", libm::fdim), ("copysign", f64::copysign)];
        for (name, other) in others {
            for (row, got) in rows.iter().zip(apply(function(name, width), &rows)) {
                let value = |b: u64| if width == 32 { f64::from(f32::from_bits(b as u32)) } else { f64::from_bits(b) };
                let (x, y, got) = (value(row[0]), value(row[1]), value(got));
                let exact = other(x, y);
                let exact = if width == 32 { f64::from(exact as f32) } else { exact };
                if got.to_bits() != exact.to_bits() && !(got.is_nan() && exact.is_nan()) {
                    wrong.push(format!("{name} {width} {x:e} {y:e}: {got:e}, not {exact:e}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", few(&wrong));
}

/// The operations of f32 that go through the special-function unit, with its exact values.
#[test]
fn fast_tanh_and_erf_are_close() {
    for (op, other) in [(UnaryOp::Tanh, libm::tanh as fn(f64) -> f64), (UnaryOp::Erf, libm::erf)] {
        let program = tritium_tile::math::unary(op, false).expect("a program");
        assert_eq!(program.params, [Scalar::F32]);
        let bits = sample(32);
        let rows: Vec<Vec<u64>> = bits.iter().map(|&b| vec![b]).collect();
        for (b, got) in bits.iter().zip(apply(program, &rows)) {
            let x = f64::from(f32::from_bits(*b as u32));
            let error = ulps(32, got, other(x));
            assert!(error <= 2.0, "{op:?} of {x:e}: {error:.2} ulp");
        }
    }
}

#[test]
fn powers_at_the_edges() {
    let values = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        -0.5,
        2.0,
        -2.0,
        3.0,
        -3.0,
        1e300,
        -1e300,
        1e-300,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        0.1,
    ];
    let pairs: Vec<[f64; 2]> = values.iter().flat_map(|&x| values.iter().map(move |&y| [x, y])).collect();
    for (name, other) in [("pow", libm::pow as fn(f64, f64) -> f64), ("atan2", libm::atan2), ("hypot", libm::hypot)] {
        let rows: Vec<Vec<u64>> = pairs.iter().map(|p| p.iter().map(|x| x.to_bits()).collect()).collect();
        for ([x, y], got) in pairs.iter().zip(apply(function(name, 64), &rows)) {
            let (got, exact) = (f64::from_bits(got), other(*x, *y));
            let same = got.to_bits() == exact.to_bits()
                || got.is_nan() && exact.is_nan()
                || ulps(64, got.to_bits(), exact) <= 1.5 && exact != 0.0;
            assert!(same, "{name}({x:e}, {y:e}) is {got:e}, not {exact:e}");
        }
    }
}

/// Every 97th float below the bound, of both signs.
#[test]
fn programs_for_small_arguments_give_the_same_bits() {
    let whole = function("tanh", 32);
    let kinds =
        [OpKind::Unary(UnaryOp::Tanh), OpKind::Libdevice(all().find(|s| s.overload().symbol == "__nv_tanhf").expect("tanhf"))];
    for kind in kinds {
        let Small { below, program } = small(&kind).expect("tanh has one");
        let sizes = (0..below.to_bits()).step_by(97);
        let rows: Vec<Vec<u64>> = sizes.flat_map(|bits| [bits, bits | 1 << 31]).map(|bits| vec![bits.into()]).collect();
        assert_eq!(apply(program, &rows), apply(whole, &rows));
    }
}
