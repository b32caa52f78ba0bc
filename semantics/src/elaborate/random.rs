//! Random numbers: counters through Philox, as the language defines them, so that they are the same bits everywhere.
//!
//! **Invariant:** composed of the operators of the language only; their typing is the typing of these functions.

use tritium_tile::{
    OpKind,
    ops::{BinaryOp as TileOp, UnaryOp as TileUnary},
};

use super::{
    builtin_calls::Arguments,
    evaluator::{Eval, Evaluator, Poisoned},
    promote::Arithmetic,
    value::{Tile, Value},
};
use crate::{
    body::{BinaryOp, CompareOp, ExprId},
    constant::Const,
    diagnostics::Code,
    dtype::DType,
    types::{Dim, Dims, Element},
};

/// What one width of Philox adds to its keys and multiplies its counters by.
struct Constants {
    keys: [i128; 2],
    rounds: [i128; 2],
}

const NARROW: Constants = Constants { keys: [0x9E37_79B9, 0xBB67_AE85], rounds: [0xD251_1F53, 0xCD9E_8D57] };
const WIDE: Constants =
    Constants { keys: [0x9E37_79B9_7F4A_7C15, 0xBB67_AE85_84CA_A73B], rounds: [0xD2E7_470E_E14C_6C93, 0xCA5A_8263_9512_1157] };

impl<'a> Evaluator<'a> {
    pub(super) fn call_philox_impl(&mut self, arguments: &Arguments, at: ExprId) -> Eval<Value> {
        let counters = self.philox_arguments(arguments, &["c0", "c1", "c2", "c3"], at)?;
        let keys = self.philox_arguments(arguments, &["k0", "k1"], at)?;
        let rounds = self.rounds(arguments, at)?;
        self.philox_rounds(counters, keys, rounds, at).map(Value::Tuple)
    }

    pub(super) fn call_philox(&mut self, arguments: &Arguments, at: ExprId) -> Eval<Value> {
        let seed = self.seed(arguments, at)?;
        let counters = self.philox_arguments(arguments, &["c0", "c1", "c2", "c3"], at)?;
        let rounds = self.rounds(arguments, at)?;
        self.philox(seed, counters, rounds, at).map(Value::Tuple)
    }

    pub(super) fn call_uint_to_uniform_float(&mut self, arguments: &Arguments, at: ExprId) -> Eval<Value> {
        let expr = arguments.expr("x").unwrap_or(at);
        let tile = self.as_tile(arguments.value("x"), expr)?;
        self.uniform(tile, expr)
    }

    pub(super) fn call_pair_uniform_to_normal(&mut self, arguments: &Arguments, at: ExprId) -> Eval<Value> {
        let pair = [arguments.value("u1").clone(), arguments.value("u2").clone()];
        self.normal_pair(&pair, at).map(|pair| Value::Tuple(pair.into()))
    }

    pub(super) fn call_randint(&mut self, arguments: &Arguments, at: ExprId) -> Eval<Value> {
        self.random_integers(arguments, at).map(|mut four| four.swap_remove(0))
    }

    pub(super) fn call_randint4x(&mut self, arguments: &Arguments, at: ExprId) -> Eval<Value> {
        self.random_integers(arguments, at).map(Value::Tuple)
    }

    pub(super) fn call_rand(&mut self, arguments: &Arguments, at: ExprId) -> Eval<Value> {
        let first = self.random_integers(arguments, at)?.swap_remove(0);
        let tile = self.as_tile(&first, at)?;
        self.uniform(tile, at)
    }

    pub(super) fn call_rand4x(&mut self, arguments: &Arguments, at: ExprId) -> Eval<Value> {
        self.uniforms(arguments, at).map(Value::Tuple)
    }

    pub(super) fn call_randn(&mut self, arguments: &Arguments, at: ExprId) -> Eval<Value> {
        let four = self.uniforms(arguments, at)?;
        let (r, theta) = self.polar(four[0].clone(), four[1].clone(), at)?;
        self.turned(TileUnary::Cos, &r, &theta, at)
    }

    pub(super) fn call_randn4x(&mut self, arguments: &Arguments, at: ExprId) -> Eval<Value> {
        let four = self.uniforms(arguments, at)?;
        let mut normal = Vec::new();
        for pair in four.chunks(2) {
            normal.extend(self.normal_pair(pair, at)?);
        }
        Ok(Value::Tuple(normal))
    }

    /// Two normal numbers of two uniform ones.
    fn normal_pair(&mut self, uniform: &[Value], at: ExprId) -> Eval<[Value; 2]> {
        let (r, theta) = self.polar(uniform[0].clone(), uniform[1].clone(), at)?;
        let x = self.turned(TileUnary::Cos, &r, &theta, at)?;
        Ok([x, self.turned(TileUnary::Sin, &r, &theta, at)?])
    }

    fn philox_arguments(&mut self, arguments: &Arguments, names: &[&str], at: ExprId) -> Eval<Vec<Value>> {
        names
            .iter()
            .map(|name| self.as_tile(arguments.value(name), arguments.expr(name).unwrap_or(at)).map(Value::Tile))
            .collect()
    }

    fn rounds(&mut self, arguments: &Arguments, at: ExprId) -> Eval<usize> {
        let value = arguments.value("n_rounds");
        let expr = arguments.expr("n_rounds").unwrap_or(at);
        let place = self.place(expr);
        match value.as_const().and_then(Const::as_int) {
            Some(rounds @ 0..=64) => Ok(rounds as usize),
            Some(rounds) => Err(self.problem(Code::LNG011, place, format!("{rounds} rounds: 0 to 64 are taken, 10 are usual"))),
            None if value.has_unknown() => Err(Poisoned),
            None => Err(self.not_constexpr(place, expr, "the number of rounds")),
        }
    }

    /// As `u64`.
    fn seed(&mut self, arguments: &Arguments, at: ExprId) -> Eval<Value> {
        let expr = arguments.expr("seed").unwrap_or(at);
        let seed = self.as_tile(arguments.value("seed"), expr)?;
        if !seed.ty.elem.scalar().is_some_and(DType::is_int) {
            let place = self.place(expr);
            let message = format!("a seed is an integer, and `{}` is {}", self.text(expr), seed.ty);
            return Err(self.problem(Code::DTY017, place, message));
        }
        self.cast(seed, DType::U64.into(), expr).map(Value::Tile)
    }

    fn philox(&mut self, seed: Value, counters: Vec<Value>, rounds: usize, at: ExprId) -> Eval<Vec<Value>> {
        let width = match &counters[0] {
            Value::Tile(tile) => tile.ty.elem.bits(),
            _ => return Err(Poisoned),
        };
        let word = match width {
            32 => DType::U32,
            64 => DType::U64,
            _ => {
                let place = self.place(at);
                let message = format!("Philox counts in 32 or 64 bits, and the first counter has {width}");
                return Err(self.problem(Code::DTY017, place, message));
            }
        };
        let keys = if word == DType::U32 {
            let low = self.binary(BinaryOp::BitAnd, at, seed.clone(), at, Value::int(0xffff_ffff), at)?;
            let high = self.binary(BinaryOp::Shr, at, seed, at, Value::int(32), at)?;
            let mut keys = Vec::new();
            for half in [low, high] {
                let half = self.as_tile(&half, at)?;
                keys.push(Value::Tile(self.cast(half, word.into(), at)?));
            }
            keys
        } else {
            vec![seed, Value::Tile(self.constant_tile(&Const::Int(0), word, Dims::from_iter([Dim::known(1)])))]
        };
        let mut words = Vec::new();
        for counter in counters {
            let counter = self.as_tile(&counter, at)?;
            words.push(Value::Tile(self.bitcast(counter, word.into(), at)?));
        }
        self.philox_rounds(words, keys, rounds, at)
    }

    fn philox_rounds(&mut self, counters: Vec<Value>, keys: Vec<Value>, rounds: usize, at: ExprId) -> Eval<Vec<Value>> {
        let word = match &counters[0] {
            Value::Tile(Tile { ty, .. }) => ty.elem,
            _ => return Err(Poisoned),
        };
        let constants = match word {
            Element::Scalar(DType::U32) => &NARROW,
            Element::Scalar(DType::U64) => &WIDE,
            _ => {
                let place = self.place(at);
                let message =
                    format!("Philox counts in u32 or u64, and the first counter is {word}: cast it with `.to(tl.uint32)`");
                return Err(self.problem(Code::DTY017, place, message));
            }
        };
        let factors: Vec<Value> = constants
            .rounds
            .iter()
            .map(|&n| Value::Tile(self.constant_tile(&Const::Int(n), word.scalar().unwrap_or(DType::U32), Dims::new())))
            .collect();
        let (mut c, mut k) = (counters, keys);
        for _ in 0..rounds {
            let mixed = |s: &mut Self, factor: usize, by: usize, with: usize, key: usize| {
                let high = s.high_product(&factors[factor], &c[by], at)?;
                let mixed = s.binary(BinaryOp::BitXor, at, high, at, c[with].clone(), at)?;
                s.binary(BinaryOp::BitXor, at, mixed, at, k[key].clone(), at)
            };
            let first = mixed(self, 1, 2, 1, 0)?;
            let third = mixed(self, 0, 0, 3, 1)?;
            let second = self.binary(BinaryOp::Mul, at, factors[1].clone(), at, c[2].clone(), at)?;
            let fourth = self.binary(BinaryOp::Mul, at, factors[0].clone(), at, c[0].clone(), at)?;
            c = vec![first, second, third, fourth];
            for (key, &by) in k.iter_mut().zip(&constants.keys) {
                *key = self.binary(BinaryOp::Add, at, key.clone(), at, Value::int(by), at)?;
            }
        }
        Ok(c)
    }

    /// The high half of the product, in the common type.
    pub(super) fn high_product(&mut self, a: &Value, b: &Value, at: ExprId) -> Eval<Value> {
        let (a, b, _) = self.operands(Arithmetic::Plain, "tl.umulhi", (at, a), (at, b), at)?;
        let ty = a.ty.clone();
        Ok(Value::Tile(self.emit_like(OpKind::Binary(TileOp::MulHiU), &[&a, &b], ty)))
    }

    /// Four words for every offset.
    fn random_integers(&mut self, arguments: &Arguments, at: ExprId) -> Eval<Vec<Value>> {
        let seed = self.seed(arguments, at)?;
        let name = if arguments.has("offset") { "offset" } else { "offsets" };
        let expr = arguments.expr(name).unwrap_or(at);
        let given = arguments.value(name);
        if given.as_const().is_some() {
            let place = self.place(expr);
            let message = format!("an offset is a tile or a run-time integer, and `{}` is {}", self.text(expr), given.ty());
            return Err(self.problem(Code::LNG011, place, message));
        }
        let offset = self.as_tile(given, expr)?;
        let rounds = self.rounds(arguments, at)?;
        let low = self.cast(offset.clone(), DType::U32.into(), expr)?;
        let zero = self.constant_tile(&Const::Int(0), DType::U32, low.ty.shape.clone());
        let high = if offset.ty.elem.bits() > 32 {
            let high = self.binary(BinaryOp::Shr, expr, Value::Tile(offset), at, Value::int(32), at)?;
            let high = self.as_tile(&high, expr)?;
            self.cast(high, DType::U32.into(), expr)?
        } else {
            zero.clone()
        };
        let counters = [low, high, zero.clone(), zero].map(Value::Tile).to_vec();
        self.philox(seed, counters, rounds, at)
    }

    fn uniforms(&mut self, arguments: &Arguments, at: ExprId) -> Eval<Vec<Value>> {
        let mut uniform = Vec::new();
        for word in self.random_integers(arguments, at)? {
            let tile = self.as_tile(&word, at)?;
            uniform.push(self.uniform(tile, at)?);
        }
        Ok(uniform)
    }

    /// Words as f32 from 0 up to 1: folded at the sign, then scaled.
    fn uniform(&mut self, tile: Tile, at: ExprId) -> Eval<Value> {
        let (signed, scale) = match tile.ty.elem.scalar() {
            Some(DType::U32 | DType::I32) => (DType::I32, 4.656_612_734_2e-10),
            Some(DType::U64 | DType::I64) => (DType::I64, 1.084_202_043_238_533_7e-19),
            _ => {
                let place = self.place(at);
                let message =
                    format!("uniform numbers are made of words of 32 or 64 bits, and `{}` is {}", self.text(at), tile.ty);
                return Err(self.problem(Code::DTY017, place, message));
            }
        };
        let x = self.bitcast(tile, signed.into(), at)?;
        let zero = self.constant_tile(&Const::Int(0), signed, x.ty.shape.clone());
        let ones = self.constant_tile(&Const::Int(-1), signed, x.ty.shape.clone());
        let negative = self.compare_tiles(CompareOp::Lt, x.clone(), zero, signed);
        let ty = x.ty.clone();
        // `-x - 1` is every bit the other way.
        let folded = self.emit_like(OpKind::Binary(TileOp::Xor), &[&x, &ones], ty.clone());
        let x = self.emit_like(OpKind::Select, &[&negative, &folded, &x], ty);
        let x = self.cast(x, DType::F32.into(), at)?;
        let scale = self.constant_tile(&Const::float(scale), DType::F32, x.ty.shape.clone());
        let ty = x.ty.clone();
        Ok(Value::Tile(self.emit_like(OpKind::Binary(TileOp::MulF), &[&x, &scale], ty)))
    }

    /// The radius and the angle of a pair of normal numbers.
    fn polar(&mut self, u1: Value, u2: Value, at: ExprId) -> Eval<(Value, Value)> {
        let least = Value::constant(Const::float(1.0e-7));
        let u1 = self.extremum(true, false, (at, &least), (at, &u1), at)?;
        let theta = self.binary(BinaryOp::Mul, at, Value::constant(Const::float(std::f64::consts::TAU)), at, u2, at)?;
        let log = self.map_float(TileUnary::Log, &u1, at)?;
        let square = self.binary(BinaryOp::Mul, at, Value::constant(Const::float(-2.0)), at, log, at)?;
        Ok((self.map_float(TileUnary::Sqrt, &square, at)?, theta))
    }

    fn turned(&mut self, function: TileUnary, radius: &Value, theta: &Value, at: ExprId) -> Eval<Value> {
        let part = self.map_float(function, theta, at)?;
        self.binary(BinaryOp::Mul, at, radius.clone(), at, part, at)
    }

    fn map_float(&mut self, function: TileUnary, value: &Value, at: ExprId) -> Eval<Value> {
        let tile = self.as_tile(value, at)?;
        if !matches!(tile.ty.elem, Element::Scalar(DType::F32 | DType::F64)) {
            let place = self.place(at);
            let message = format!("normal numbers are made of f32 or f64, and this is {}", tile.ty);
            return Err(self.problem(Code::DTY017, place, message));
        }
        let ty = tile.ty.clone();
        Ok(Value::Tile(self.emit_like(OpKind::Unary(function), &[&tile], ty)))
    }
}
