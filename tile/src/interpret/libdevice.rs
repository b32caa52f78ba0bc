//! The functions of the device library.
//!
//! They are the programs of [`crate::math`]; those with a rounding mode in their name are rounded in that mode by [`rounding`], exactly.
//! **Invariant:** every overload of [`crate::libdevice`] has a meaning here (a test asks each), and it is the same bits on every host.

mod rounding;

use super::value::Data;
use crate::{
    libdevice::{Arg, Symbol},
    math::{self, LANES, Lanes, Program},
};

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
    if let Some(program) = math::library(symbol) {
        return run(program, operands);
    }
    let overload = symbol.overload();
    let (base, mode) = rounding::named(symbol.function().name)?;
    let len = operands.first()?.len();
    let mut bits = Vec::with_capacity(len);
    let mut args = [Int(0); 4];
    for i in 0..len {
        for ((slot, data), arg) in args.iter_mut().zip(operands).zip(overload.args) {
            *slot = read(data, *arg, i)?;
        }
        bits.push(write(rounding::evaluate(base, mode, overload, &args[..overload.args.len()])?, overload.result));
    }
    Some(Data::from_bits(overload.result.scalar(), bits.into_iter()))
}

/// A program of one result on every element, a batch at a time; the last batch is filled up with its first element.
pub(super) fn run(program: &Program, operands: &[&Data]) -> Option<Data> {
    let len = operands.first()?.len();
    let result = *program.result_types().first()?;
    let mut bits = Vec::with_capacity(len);
    for first in (0..len).step_by(LANES) {
        let place = |i: usize| if first + i < len { first + i } else { first };
        let args = program.params.iter().zip(operands);
        let args: Vec<Lanes> = args.map(|(&ty, data)| Lanes::from_bits(ty, |i| data.bits(ty, place(i)))).collect();
        if args.len() != program.params.len() {
            return None;
        }
        let results = math::run(program, &args);
        bits.extend((0..LANES.min(len - first)).map(|i| results[0].bits(i)));
    }
    Some(Data::from_bits(result, bits.into_iter()))
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

    /// Results too small for what they leave out to be a number.
    #[test]
    fn directed_rounding_sees_what_underflows() {
        let of = |name: &str, args: &[f64]| {
            let symbol = Symbol::find(name, &vec![Arg::F64; args.len()]).unwrap_or_else(|| panic!("{name}"));
            let operands: Vec<Data> = args.iter().map(|x| Data::F64(vec![*x])).collect();
            match call(symbol, &operands.iter().collect::<Vec<_>>()) {
                Some(Data::F64(v)) => v[0],
                other => panic!("{other:?}"),
            }
        };
        let least = f64::from_bits(1);
        for factor in [1.1, 1.3, 1.7, 1.9] {
            for (x, y) in [(1e-200 * factor, 1.3e-250), (1e-300 * factor, 1e-300), (1e-150 * factor, 1.7e-180)] {
                assert_eq!(
                    [of("mul_ru", &[x, y]), of("mul_rd", &[x, y]), of("mul_rz", &[x, y])],
                    [least, 0.0, 0.0],
                    "{x:e} {y:e}"
                );
                assert_eq!(
                    [of("mul_rd", &[-x, y]), of("mul_ru", &[-x, y])].map(f64::to_bits),
                    [(-least).to_bits(), (-0.0f64).to_bits()]
                );
                // A product far below the sum only says on which side of it the exact result lies.
                for c in [1.0, 1e-160, 1e-300] {
                    let up = [of("fma_ru", &[x, y, c]), of("fma_rd", &[x, y, c]), of("fma_rz", &[-x, y, c])];
                    assert_eq!(up, [c.next_up(), c, c.next_down()], "{x:e} {y:e} {c:e}");
                }
            }
        }
        assert_eq!(of("fma_rd", &[1.5, 2.0, -3.0]).to_bits(), (-0.0f64).to_bits());
        assert_eq!(of("fma_rd", &[0.0, 2.0, 0.0]).to_bits(), 0);
        assert_eq!(of("div_ru", &[least, 3.0]), least);
        let (down, up) = (of("div_rd", &[1e-310, 1.7]), of("div_ru", &[1e-310, 1.7]));
        assert!(up == down.next_up() && [down, up].contains(&(1e-310 / 1.7)));
        assert_eq!(of("mul_rz", &[f64::MAX, f64::MAX]), f64::MAX);
        assert_eq!(of("fma_rz", &[f64::MAX, -f64::MAX, f64::MAX]), -f64::MAX);
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
