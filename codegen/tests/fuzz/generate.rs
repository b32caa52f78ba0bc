//! Random kernels from a seed: typed, free of undefined behaviour, and exact, so that any correct compilation gives the same bits.
//!
//! A float carries the largest magnitude it may have and the spacing of its values; sums whose order the compiler chooses (reductions, scans,
//! dots, atomics) are made only of numbers small enough that every order is exact. Divisors are positive, indices are masked or bounded, loads
//! have an `other`. **Invariant:** one seed, one module; every module verifies.

use tritium_tile::{
    Builder, Elem, Function, Level, Module, OpKind, Scalar, Shape, Type, ValueId,
    ops::{
        AtomicOp, BinaryOp, CacheOp, CastOp, Eviction, LoadAttrs, LoopAttrs, MemScope, MemSem, Predicate, StoreAttrs, UnaryOp,
    },
};

/// splitmix64: the same numbers on every machine.
#[derive(Clone)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.next() % n.max(1)
    }

    pub(crate) fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    pub(crate) fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len() as u64) as usize]
    }
}

/// Elements behind every input pointer; loads stay inside.
pub(crate) const INPUT: usize = 1 << 13;
/// Programs of every launch.
pub(crate) const PROGRAMS: u32 = 2;
/// Elements of a tile at most.
pub(crate) const LARGEST: u32 = 1 << 12;
/// Multiplications of a product at most, without a loop.
pub(crate) const WORK: u32 = 1 << 17;

/// What is known of a float's values: multiples of 2^-digits, at most so large.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Exact {
    pub(crate) largest: f64,
    pub(crate) digits: i32,
}

impl Exact {
    /// Every such number is one of the type's.
    pub(crate) fn fits(self, scalar: Scalar) -> bool {
        let precision = match scalar {
            Scalar::F8E4M3 => 4,
            Scalar::F8E5M2 => 3,
            Scalar::F16 => 11,
            Scalar::BF16 => 8,
            Scalar::F32 => 24,
            _ => 53,
        };
        let finest = if scalar == Scalar::F8E4M3 { 9 } else { 10 };
        self.digits <= finest
            && self.largest * f64::from(self.digits).exp2() <= f64::from(precision).exp2()
            && self.largest < 60000.0
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Value {
    pub(crate) id: ValueId,
    pub(crate) exact: Option<Exact>,
}

pub(crate) const INTS: [Scalar; 4] = [Scalar::I8, Scalar::I16, Scalar::I32, Scalar::I64];
/// What results and conversions may be.
#[rustfmt::skip]
const NUMBERS: [Scalar; 13] = [
    Scalar::I1, Scalar::I8, Scalar::I16, Scalar::I32, Scalar::I64, Scalar::F8E4M3, Scalar::F8E5M2, Scalar::F16, Scalar::F16,
    Scalar::BF16, Scalar::F32, Scalar::F32, Scalar::F64,
];
/// What inputs may be.
#[rustfmt::skip]
const INPUTS: [Scalar; 10] = [
    Scalar::F32, Scalar::F32, Scalar::F16, Scalar::F16, Scalar::BF16, Scalar::F8E4M3, Scalar::F8E5M2, Scalar::I32, Scalar::I16, Scalar::I8,
];

pub(crate) struct Generator<'f> {
    pub(crate) b: Builder<'f>,
    pub(crate) random: Random,
    /// What may be used where the builder stands.
    pub(crate) values: Vec<Value>,
    pub(crate) inputs: Vec<(ValueId, Scalar)>,
    /// Grow only at the top: every output is one pointer.
    outputs: Vec<ValueId>,
    /// Memory that the program reads and writes on its way, with what is in it.
    pub(crate) scratch: (ValueId, Scalar),
    /// Where programs add to the same places, whose type, and the only way in which they do.
    pub(crate) meeting: (ValueId, Scalar, AtomicOp),
    pub(crate) program: ValueId,
    pub(crate) bound: ValueId,
    pub(crate) left: u32,
    /// Approximate functions and roundings that hardware does in another way are left out.
    pub(crate) device: bool,
    pub(crate) depth: u32,
    /// The trip of the loop around, and how many there are at most.
    pub(crate) trip: Option<(ValueId, u32)>,
}

/// Parameters that are pointers to results: one for every element type, used once each way.
const OUTPUTS: usize = 6;

/// The kernel of a seed. With `device` it has only what is exact on a machine.
pub(crate) fn module(seed: u64, device: bool) -> Module {
    let mut random = Random(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ 0xdead_beef);
    let mut function = Function::new("fuzz");
    let mut inputs = Vec::new();
    for i in 0..1 + random.below(3) {
        let scalar = random.pick(&INPUTS);
        inputs.push((function.add_param(format!("x{i}"), Type::ptr(scalar), 16), scalar));
    }
    let kinds: Vec<Scalar> = (0..OUTPUTS).map(|_| random.pick(&NUMBERS)).collect();
    let outputs: Vec<ValueId> =
        kinds.iter().enumerate().map(|(i, &s)| function.add_param(format!("y{i}"), Type::ptr(s), 16)).collect();
    // Where the program keeps something, and where all meet.
    let kept = random.pick(&[Scalar::I32, Scalar::I64, Scalar::F32, Scalar::F16, Scalar::I8]);
    let scratch = (function.add_param("ys", Type::ptr(kept), 16), kept);
    let (added, op) = random.pick(&[
        (Scalar::I32, AtomicOp::Add),
        (Scalar::I32, AtomicOp::MinU),
        (Scalar::I32, AtomicOp::And),
        (Scalar::I32, AtomicOp::Or),
        (Scalar::I64, AtomicOp::Add),
        (Scalar::I64, AtomicOp::MinS),
        (Scalar::I64, AtomicOp::MaxU),
        (Scalar::I64, AtomicOp::Xor),
        (Scalar::F32, AtomicOp::AddF),
        (Scalar::F16, AtomicOp::AddF),
        (Scalar::BF16, AtomicOp::AddF),
        (Scalar::F64, AtomicOp::AddF),
    ]);
    // Integers are there already, floats start from zero.
    let name = if added.is_float() { "ym" } else { "m" };
    let meeting = (function.add_param(name, Type::ptr(added), 16), added, op);
    let divisibility = random.pick(&[1, 16]);
    let bound = function.add_param("n", Type::scalar(Scalar::I32), divisibility);
    let body = function.body;
    let mut b = Builder::at_end(&mut function, body);
    let program = b.value(OpKind::ProgramId { axis: 0 }, &[], Type::scalar(Scalar::I32));
    let left = 10 + random.below(50) as u32;
    let values = Vec::new();
    let mut g =
        Generator { b, random, values, inputs, outputs, scratch, meeting, program, bound, left, device, depth: 0, trip: None };
    g.load();
    while g.left > 0 {
        g.step();
    }
    g.store_all(&kinds);
    g.b.op(OpKind::Return, &[], [], &[]);
    let mut module = Module::new(Level::L0);
    module.functions.push(function);
    module
}

impl Generator<'_> {
    pub(crate) fn ty(&self, value: ValueId) -> Type {
        self.b.function.ty(value).clone()
    }

    pub(crate) fn scalar_of(&self, value: ValueId) -> Scalar {
        self.b.function.ty(value).elem().scalar().expect("a number")
    }

    pub(crate) fn push(&mut self, id: ValueId, exact: Option<Exact>) -> ValueId {
        self.values.push(Value { id, exact });
        id
    }

    pub(crate) fn shape(&mut self) -> Shape {
        let rank = self.random.pick(&[1usize, 1, 2, 2, 2, 3]);
        let mut left = LARGEST.ilog2();
        (0..rank)
            .map(|_| {
                let bits = self.random.below(u64::from(left.min(8)) + 1) as u32;
                left -= bits;
                1 << bits
            })
            .collect()
    }

    /// A value that fits, one of the newer ones more often.
    pub(crate) fn some(&mut self, fits: impl Fn(&Self, &Value) -> bool) -> Option<Value> {
        let all: Vec<Value> = self.values.iter().copied().filter(|v| fits(self, v)).collect();
        if all.is_empty() {
            return None;
        }
        let a = self.random.below(all.len() as u64);
        let b = self.random.below(all.len() as u64);
        Some(all[a.max(b) as usize])
    }

    pub(crate) fn any_tile(&mut self) -> Option<Value> {
        self.some(|g, v| !g.ty(v.id).is_scalar())
    }

    /// The flat row-major index of every element of a shape, as `i32`.
    pub(crate) fn flat(&mut self, shape: &Shape) -> ValueId {
        let ty = Type::tile(Elem::Scalar(Scalar::I32), shape.clone());
        if shape.is_empty() {
            return self.b.i32(0);
        }
        let mut sum: Option<ValueId> = None;
        let mut stride = 1i64;
        for axis in (0..shape.len()).rev() {
            let extent = shape[axis];
            let line = Type::tile(Elem::Scalar(Scalar::I32), Shape::from_slice(&[extent]));
            let mut at = self.b.value(OpKind::Iota { start: 0, end: extent as i32 }, &[], line.clone());
            let mut now: Vec<u32> = vec![extent];
            if stride != 1 {
                let factor = self.b.int(stride, line.clone());
                at = self.b.value(OpKind::Binary(BinaryOp::MulI), &[at, factor], line);
            }
            for other in 0..shape.len() {
                if other != axis {
                    let place = if other < axis { 0 } else { now.len() };
                    now.insert(place, 1);
                    let wide = Type::tile(Elem::Scalar(Scalar::I32), Shape::from_slice(&now));
                    at = self.b.value(OpKind::ExpandDims { axis: place as u8 }, &[at], wide);
                }
            }
            if now[..] != shape[..] {
                at = self.b.value(OpKind::Broadcast, &[at], ty.clone());
            }
            sum = Some(match sum {
                None => at,
                Some(old) => self.b.value(OpKind::Binary(BinaryOp::AddI), &[old, at], ty.clone()),
            });
            stride *= i64::from(extent);
        }
        sum.expect("a tile has an axis")
    }

    pub(crate) fn splat(&mut self, scalar: ValueId, shape: &Shape) -> ValueId {
        if shape.is_empty() {
            return scalar;
        }
        let ty = Type::tile(self.ty(scalar).elem(), shape.clone());
        self.b.value(OpKind::Splat, &[scalar], ty)
    }

    pub(crate) fn constant(&mut self, ty: &Type) -> Value {
        let scalar = ty.elem().scalar().expect("a number");
        if scalar.is_float() {
            let value = (self.random.below(17) as f64 - 8.0) / 4.0;
            return Value {
                id: self.b.float(value, ty.clone()),
                exact: Some(Exact { largest: value.abs().max(0.25), digits: 2 }),
            };
        }
        let value = match self.random.below(4) {
            0 => self.random.next() as i64 >> self.random.below(60),
            _ => self.random.below(40) as i64 - 8,
        };
        let bits = scalar.bits();
        let value = if bits == 64 { value } else { value << (64 - bits) >> (64 - bits) };
        let value = if scalar == Scalar::I1 { value & 1 } else { value };
        Value { id: self.b.int(value, ty.clone()), exact: None }
    }

    /// A tile from an input: a contiguous piece, a strided one or one chosen by values; masked in one case of two.
    pub(crate) fn load(&mut self) {
        let shape = self.shape();
        let (base, scalar) = {
            let at = self.random.below(self.inputs.len() as u64) as usize;
            self.inputs[at]
        };
        let i32s = Type::tile(Elem::Scalar(Scalar::I32), shape.clone());
        let flat = self.flat(&shape);
        let elements = shape.iter().product::<u32>();
        let offset = match self.random.below(5) {
            // Each trip of the loop its own piece.
            0..3 if self.trip.is_some_and(|(_, most)| (most * elements) as usize <= INPUT) => {
                let (trip, _) = self.trip.expect("there is a loop");
                let size = self.b.i32(elements as i32);
                let start = self.b.value(OpKind::Binary(BinaryOp::MulI), &[trip, size], Type::scalar(Scalar::I32));
                let start = self.splat(start, &shape);
                self.b.value(OpKind::Binary(BinaryOp::AddI), &[start, flat], i32s.clone())
            }
            // Each program its own piece: two of LARGEST fit.
            0 | 1 => {
                let size = self.b.i32(elements as i32);
                let start = self.b.value(OpKind::Binary(BinaryOp::MulI), &[self.program, size], Type::scalar(Scalar::I32));
                let start = self.splat(start, &shape);
                self.b.value(OpKind::Binary(BinaryOp::AddI), &[start, flat], i32s.clone())
            }
            2 => flat,
            3 => {
                let shift = self.b.int(self.random.below(7) as i64 + 1, i32s.clone());
                self.b.value(OpKind::Binary(BinaryOp::AddI), &[flat, shift], i32s.clone())
            }
            _ => {
                let chosen = self.some(|g, v| g.ty(v.id) == i32s).map_or(flat, |v| v.id);
                let limit = self.b.int(INPUT as i64 / 2 - 1, i32s.clone());
                self.b.value(OpKind::Binary(BinaryOp::And), &[chosen, limit], i32s.clone())
            }
        };
        let pointers = Type::tile(Elem::Ptr(scalar), shape.clone());
        let base = self.splat(base, &shape);
        let at = self.b.value(OpKind::AddPtr, &[base, offset], pointers);
        let result = Type::tile(Elem::Scalar(scalar), shape.clone());
        let mut operands = vec![at];
        if self.random.chance(50) {
            let limit = self.splat(self.bound, &shape);
            let mask = Type::tile(Elem::Scalar(Scalar::I1), shape.clone());
            operands.push(self.b.value(OpKind::Compare(Predicate::LtS), &[flat, limit], mask));
            operands.push(self.constant(&result).id);
        }
        let cache = self.random.pick(&[CacheOp::Default, CacheOp::Default, CacheOp::Default, CacheOp::Ca, CacheOp::Cg]);
        let eviction = self.random.pick(&[Eviction::Normal, Eviction::Normal, Eviction::First, Eviction::Last]);
        let loaded = self.b.value(OpKind::Load(LoadAttrs { cache, eviction, ..LoadAttrs::default() }), &operands, result);
        self.push(loaded, input(scalar));
        self.left = self.left.saturating_sub(1);
    }

    pub(crate) fn step(&mut self) {
        self.left = self.left.saturating_sub(1);
        match self.random.below(120) {
            0..8 => self.load(),
            8..34 => self.binary(),
            34..42 => self.unary(),
            42..48 => self.compare_select(),
            48..58 => self.cast(),
            58..70 => self.reshape(),
            70..79 => self.reduce(),
            79..83 => self.scan(),
            83..89 => self.dot(),
            89..93 if self.depth < 2 => self.for_loop(),
            93..95 if self.depth < 2 => self.branch(),
            95..97 => self.gather(),
            97..98 => self.histogram(),
            98..102 if self.depth < 2 => self.product_loop(),
            102..104 if self.depth < 2 => self.while_loop(),
            104..106 => self.fma(),
            106..108 => self.meet(),
            108..110 => self.exchange(),
            110..112 => self.join_split(),
            112..113 => self.sort(),
            113..115 => self.recurrence(),
            115..116 => self.map(),
            116..117 => self.splat_scalar(),
            117..118 => self.statistics(),
            _ => {
                let shape = self.shape();
                let flat = self.flat(&shape);
                self.push(flat, None);
            }
        }
    }

    fn binary(&mut self) {
        let Some(a) = self.some(|_, _| true) else { return };
        let a = self.plain(a);
        let ty = self.ty(a.id);
        let same = self.some(|g, v| g.ty(v.id) == ty);
        let b = match same {
            Some(b) if self.random.chance(75) => b,
            _ => self.constant(&ty),
        };
        let scalar = self.scalar_of(a.id);
        if !scalar.is_float() {
            let op = self.random.pick(&[
                BinaryOp::AddI,
                BinaryOp::SubI,
                BinaryOp::MulI,
                BinaryOp::MulHiU,
                BinaryOp::DivS,
                BinaryOp::DivU,
                BinaryOp::RemS,
                BinaryOp::RemU,
                BinaryOp::And,
                BinaryOp::Or,
                BinaryOp::Xor,
                BinaryOp::Shl,
                BinaryOp::ShrS,
                BinaryOp::ShrU,
                BinaryOp::MinS,
                BinaryOp::MaxS,
                BinaryOp::MinU,
                BinaryOp::MaxU,
            ]);
            let mut right = b.id;
            if matches!(op, BinaryOp::DivS | BinaryOp::DivU | BinaryOp::RemS | BinaryOp::RemU) {
                if scalar == Scalar::I1 {
                    return;
                }
                // From 1 to 8: neither 0 nor an overflow.
                let (seven, one) = (self.b.int(7, ty.clone()), self.b.int(1, ty.clone()));
                right = self.b.value(OpKind::Binary(BinaryOp::And), &[right, seven], ty.clone());
                right = self.b.value(OpKind::Binary(BinaryOp::AddI), &[right, one], ty.clone());
            }
            let id = self.b.value(OpKind::Binary(op), &[a.id, right], ty);
            self.push(id, None);
            return;
        }
        let known = a.exact.zip(b.exact);
        let sum = known.map(|(a, b)| Exact { largest: a.largest + b.largest, digits: a.digits.max(b.digits) });
        let product = known.map(|(a, b)| Exact { largest: a.largest * b.largest, digits: a.digits + b.digits });
        let larger = known.map(|(a, b)| Exact { largest: a.largest.max(b.largest), digits: a.digits.max(b.digits) });
        let fits = |e: Option<Exact>| e.is_some_and(|e| e.fits(scalar));
        let (op, exact) = match self.random.below(8) {
            0 | 1 if fits(sum) => (BinaryOp::AddF, sum),
            2 if fits(sum) => (BinaryOp::SubF, sum),
            3 | 4 if fits(product) => (BinaryOp::MulF, product),
            5 => (self.random.pick(&[BinaryOp::MinF, BinaryOp::MinNan]), larger),
            6 => (self.random.pick(&[BinaryOp::MaxF, BinaryOp::MaxNan]), larger),
            // Rounding happens: the same for every element, wherever it lies.
            _ if !self.device => {
                (self.random.pick(&[BinaryOp::AddF, BinaryOp::MulF, BinaryOp::DivF, BinaryOp::DivRn, BinaryOp::RemF]), None)
            }
            7 if matches!(scalar, Scalar::F32 | Scalar::F64) => (self.random.pick(&[BinaryOp::DivRn, BinaryOp::RemF]), None),
            _ => return self.quantise(a),
        };
        let id = self.b.value(OpKind::Binary(op), &[a.id, b.id], ty);
        self.push(id, exact.filter(|e| e.fits(scalar)));
    }

    /// A number that there is arithmetic for.
    pub(crate) fn plain(&mut self, value: Value) -> Value {
        match self.scalar_of(value.id) {
            Scalar::F8E4M3 | Scalar::F8E5M2 => self.converted(value, Scalar::F16),
            _ => value,
        }
    }

    /// Whole numbers from -8 to 8, of the same type.
    fn quantise(&mut self, value: Value) {
        let ty = self.ty(value.id);
        if !self.scalar_of(value.id).is_float() {
            return;
        }
        let id = self.whole(value.id, &ty);
        self.push(id, Some(Exact { largest: 8.0, digits: 0 }));
    }

    pub(crate) fn whole(&mut self, value: ValueId, ty: &Type) -> ValueId {
        let ints = ty.with_elem(Elem::Scalar(Scalar::I32));
        let int = self.b.value(OpKind::Cast(CastOp::FToS), &[value], ints.clone());
        let (low, high) = (self.b.int(-8, ints.clone()), self.b.int(8, ints.clone()));
        let int = self.b.value(OpKind::Binary(BinaryOp::MaxS), &[int, low], ints.clone());
        let int = self.b.value(OpKind::Binary(BinaryOp::MinS), &[int, high], ints);
        self.b.value(OpKind::Cast(CastOp::SToF), &[int], ty.clone())
    }

    /// Small enough that `count` of them, multiplied by others such, add up exactly.
    pub(crate) fn summable(&mut self, value: Value, count: u32, products: bool) -> Value {
        let scalar = self.scalar_of(value.id);
        let enough = |e: Exact| {
            let (largest, digits) = if products { (e.largest * e.largest, 2 * e.digits) } else { (e.largest, e.digits) };
            let total = Exact { largest: largest * f64::from(count), digits };
            let sum_of = if products { Scalar::F32 } else { scalar };
            total.fits(sum_of) && e.fits(scalar)
        };
        if value.exact.is_some_and(enough) {
            return value;
        }
        let ty = self.ty(value.id);
        let id = self.whole(value.id, &ty);
        Value { id, exact: Some(Exact { largest: 8.0, digits: 0 }) }
    }

    fn unary(&mut self) {
        let Some(a) = self.some(|_, _| true) else { return };
        let a = self.plain(a);
        let ty = self.ty(a.id);
        let scalar = self.scalar_of(a.id);
        if !scalar.is_float() {
            if scalar != Scalar::I1 {
                let id = self.b.value(OpKind::Unary(UnaryOp::AbsI), &[a.id], ty);
                self.push(id, None);
            }
            return;
        }
        let whole = a.exact.map(|e| Exact { largest: e.largest + 1.0, digits: 0 });
        let (op, exact) = match self.random.below(7) {
            0 => (UnaryOp::NegF, a.exact),
            1 | 2 => (UnaryOp::AbsF, a.exact),
            3 => (UnaryOp::Floor, whole),
            4 => (UnaryOp::Ceil, whole),
            5 if self.device && matches!(scalar, Scalar::F32 | Scalar::F64) => (UnaryOp::SqrtRn, None),
            _ if self.device || scalar == Scalar::F64 => return self.quantise(a),
            5 => (self.random.pick(&[UnaryOp::Exp, UnaryOp::Exp2, UnaryOp::Sin, UnaryOp::Tanh, UnaryOp::Erf]), None),
            _ => (self.random.pick(&[UnaryOp::Sqrt, UnaryOp::SqrtRn, UnaryOp::Rsqrt, UnaryOp::Log, UnaryOp::Log2]), None),
        };
        let id = self.b.value(OpKind::Unary(op), &[a.id], ty);
        self.push(id, exact.filter(|e| e.fits(scalar)));
    }

    fn compare_select(&mut self) {
        let Some(a) = self.some(|g, v| g.scalar_of(v.id) != Scalar::I1) else { return };
        let a = self.plain(a);
        let ty = self.ty(a.id);
        let b = self.some(|g, v| g.ty(v.id) == ty).unwrap_or(a);
        let b = if b.id == a.id { self.constant(&ty) } else { b };
        use Predicate::*;
        let predicate = match self.scalar_of(a.id).is_float() {
            true => self.random.pick(&[EqF, NeF, LtF, LeF, GtF, GeF]),
            false => self.random.pick(&[Eq, Ne, LtS, LeS, GtS, GeS, LtU, LeU, GtU, GeU]),
        };
        let bools = ty.with_elem(Elem::Scalar(Scalar::I1));
        let condition = self.b.value(OpKind::Compare(predicate), &[a.id, b.id], bools);
        self.push(condition, None);
        let shape = ty.shape().clone();
        let Some(x) = self.some(|g, v| *g.ty(v.id).shape() == shape) else { return };
        let of_x = self.ty(x.id);
        let y = self.some(|g, v| g.ty(v.id) == of_x).unwrap_or(x);
        let exact =
            x.exact.zip(y.exact).map(|(x, y)| Exact { largest: x.largest.max(y.largest), digits: x.digits.max(y.digits) });
        let id = self.b.value(OpKind::Select, &[condition, x.id, y.id], of_x);
        self.push(id, exact);
    }

    fn cast(&mut self) {
        let Some(a) = self.some(|_, _| true) else { return };
        let to = self.random.pick(&NUMBERS);
        let rounding = self.rounding(a, to);
        let converted = rounding.unwrap_or_else(|| self.converted(a, to));
        self.values.push(converted);
    }

    /// A conversion that may change the number, or keep the bits of another: the rounding is the format's, on every machine.
    fn rounding(&mut self, a: Value, to: Scalar) -> Option<Value> {
        let (ty, from) = (self.ty(a.id), self.scalar_of(a.id));
        let kind = match (from.is_float(), to.is_float()) {
            _ if from == to || from == Scalar::I1 || to == Scalar::I1 || self.random.chance(50) => return None,
            (true, true) if from.bits() > to.bits() => self.random.pick(&[CastOp::Float, CastOp::FloatRtz]),
            (true, true) => return None,
            (true, false) => self.random.pick(&[CastOp::FToS, CastOp::FToU]),
            (false, true) if from.bits() == to.bits() && !self.device && self.random.chance(30) => CastOp::Bitcast,
            (false, true) => self.random.pick(&[CastOp::SToF, CastOp::UToF]),
            (false, false) => return None,
        };
        let id = self.b.value(OpKind::Cast(kind), &[a.id], ty.with_elem(Elem::Scalar(to)));
        Some(Value { id, exact: None })
    }

    pub(crate) fn converted(&mut self, a: Value, to: Scalar) -> Value {
        let ty = self.ty(a.id);
        let from = self.scalar_of(a.id);
        let target = ty.with_elem(Elem::Scalar(to));
        if from == to {
            return a;
        }
        let mut source = a.id;
        let mut exact = None;
        let kind = match (from.is_float(), to.is_float()) {
            (true, true) => {
                exact = a.exact.filter(|e| e.fits(to));
                CastOp::Float
            }
            (true, false) if to == Scalar::I1 => {
                let a = self.plain(a);
                let ty = self.ty(a.id);
                let zero = self.b.float(0.0, ty);
                let id = self.b.value(OpKind::Compare(Predicate::NeF), &[a.id, zero], target);
                return Value { id, exact: None };
            }
            (true, false) => CastOp::FToS,
            (false, true) if from == Scalar::I1 => {
                exact = Some(Exact { largest: 1.0, digits: 0 });
                CastOp::UToF
            }
            (false, true) => {
                // Seven bits are exact in every float.
                let few = self.b.int(127, ty.clone());
                source = self.b.value(OpKind::Binary(BinaryOp::And), &[source, few], ty.clone());
                exact = Some(Exact { largest: 127.0, digits: 0 });
                self.random.pick(&[CastOp::SToF, CastOp::UToF])
            }
            (false, false) if from.bits() > to.bits() => CastOp::Trunc,
            (false, false) if from == Scalar::I1 => CastOp::ExtU,
            (false, false) => self.random.pick(&[CastOp::ExtS, CastOp::ExtU]),
        };
        Value { id: self.b.value(OpKind::Cast(kind), &[source], target), exact }
    }

    fn reshape(&mut self) {
        let Some(a) = self.any_tile() else { return };
        let ty = self.ty(a.id);
        let elem = ty.elem();
        let shape = ty.shape().clone();
        let id = match self.random.below(4) {
            0 if shape.len() < 4 => {
                let axis = self.random.below(shape.len() as u64 + 1) as usize;
                let mut to = shape.clone();
                to.insert(axis, 1);
                let wide = self.b.value(OpKind::ExpandDims { axis: axis as u8 }, &[a.id], Type::tile(elem, to.clone()));
                let room = (LARGEST / to.iter().product::<u32>()).min(64);
                if room < 2 {
                    wide
                } else {
                    to[axis] = 1 << (1 + self.random.below(u64::from(room.ilog2())));
                    self.b.value(OpKind::Broadcast, &[wide], Type::tile(elem, to))
                }
            }
            1 if shape.len() > 1 => {
                let mut order: Vec<u8> = (0..shape.len() as u8).collect();
                for i in (1..order.len()).rev() {
                    order.swap(i, self.random.below(i as u64 + 1) as usize);
                }
                let to: Shape = order.iter().map(|&d| shape[usize::from(d)]).collect();
                self.b.value(OpKind::Transpose { order: order.into_iter().collect() }, &[a.id], Type::tile(elem, to))
            }
            2 if ty.is_scalar() => return,
            _ => {
                let total = shape.iter().product::<u32>().ilog2();
                let first = self.random.below(u64::from(total) + 1) as u32;
                let to: Shape = match self.random.below(3) {
                    0 => Shape::from_slice(&[1 << total]),
                    1 => Shape::from_slice(&[1 << first, 1 << (total - first)]),
                    _ => {
                        let second = self.random.below(u64::from(total - first) + 1) as u32;
                        Shape::from_slice(&[1 << first, 1 << second, 1 << (total - first - second)])
                    }
                };
                self.b.value(OpKind::Reshape { reorder: false }, &[a.id], Type::tile(elem, to))
            }
        };
        self.push(id, a.exact);
    }

    /// A region of two or more scalars that combines `elems`.
    pub(crate) fn region(
        &mut self,
        elems: &[Scalar],
        write: impl FnOnce(&mut Builder<'_>, &[ValueId]) -> Vec<ValueId>,
    ) -> tritium_tile::BlockId {
        let block = self.b.function.add_block();
        let args: Vec<ValueId> =
            elems.iter().chain(elems).map(|&s| self.b.function.add_block_arg(block, Type::scalar(s))).collect();
        let mut b = Builder::at_end(self.b.function, block);
        let yielded = write(&mut b, &args);
        b.op(OpKind::Yield, &yielded, [], &[]);
        block
    }

    /// A loop that carries up to three values, each computed anew from what the body has.
    fn for_loop(&mut self) {
        let mut carried = Vec::new();
        for _ in 0..1 + self.random.below(3) {
            if let Some(v) = self.any_tile()
                && !carried.iter().any(|c: &Value| c.id == v.id)
            {
                carried.push(v);
            }
        }
        if carried.is_empty() {
            return;
        }
        let (lower, step) = (self.b.i32(0), self.b.i32(1));
        let (upper, most) = self.trips();
        let block = self.b.function.add_block();
        let trip = self.b.function.add_block_arg(block, Type::scalar(Scalar::I32));
        let types: Vec<Type> = carried.iter().map(|c| self.ty(c.id)).collect();
        let args: Vec<ValueId> = types.iter().map(|ty| self.b.function.add_block_arg(block, ty.clone())).collect();
        let (outer, known) = (std::mem::replace(&mut self.b.block, block), self.values.len());
        self.push(trip, None);
        for &arg in &args {
            // Nothing is known of a number after so many trips.
            self.push(arg, None);
        }
        self.depth += 1;
        let around = self.trip.replace((trip, most));
        for _ in 0..2 + self.random.below(6) {
            if self.left > 0 {
                self.step();
            }
        }
        self.trip = around;
        self.depth -= 1;
        let yielded: Vec<ValueId> =
            types.iter().zip(&args).map(|(ty, &arg)| self.some(|g, v| g.ty(v.id) == *ty).map_or(arg, |v| v.id)).collect();
        self.b.op(OpKind::Yield, &yielded, [], &[]);
        self.b.block = outer;
        self.values.truncate(known);
        let mut operands = vec![lower, upper, step];
        operands.extend(carried.iter().map(|c| c.id));
        let hints = self.hints();
        let done = self.b.op(OpKind::For(hints), &operands, types, &[block]);
        for result in self.b.function.op(done).results.clone() {
            self.push(result, None);
        }
    }

    /// How many trips a loop makes, and how many it makes at most.
    pub(crate) fn trips(&mut self) -> (ValueId, u32) {
        match self.random.below(4) {
            0 | 1 => {
                let count = 1 + self.random.below(4) as u32;
                (self.b.i32(count as i32), count)
            }
            // None or one.
            2 => (self.program, 1),
            // By the argument, which is below 300.
            _ => {
                let size = self.b.i32(64);
                (self.b.value(OpKind::Binary(BinaryOp::DivS), &[self.bound, size], Type::scalar(Scalar::I32)), 4)
            }
        }
    }

    pub(crate) fn hints(&mut self) -> LoopAttrs {
        LoopAttrs {
            num_stages: self.random.chance(30).then(|| 1 + self.random.below(4) as u32),
            unroll: self.random.chance(10).then_some(2),
            flatten: self.random.chance(10),
            ..LoopAttrs::default()
        }
    }

    /// The program decides which of two ways a value comes about.
    fn branch(&mut self) {
        let Some(kept) = self.any_tile() else { return };
        let ty = self.ty(kept.id);
        let zero = self.b.i32(0);
        let condition = self.b.value(OpKind::Compare(Predicate::Eq), &[self.program, zero], Type::scalar(Scalar::I1));
        let mut regions = Vec::new();
        for _ in 0..2 {
            let block = self.b.function.add_block();
            let (outer, known) = (std::mem::replace(&mut self.b.block, block), self.values.len());
            self.depth += 1;
            for _ in 0..1 + self.random.below(4) {
                if self.left > 0 {
                    self.step();
                }
            }
            self.depth -= 1;
            let yielded = self.some(|g, v| g.ty(v.id) == ty).map_or(kept.id, |v| v.id);
            self.b.op(OpKind::Yield, &[yielded], [], &[]);
            self.b.block = outer;
            self.values.truncate(known);
            regions.push(block);
        }
        let done = self.b.op(OpKind::If, &[condition], [ty], &regions);
        let result = self.b.function.op(done).results[0];
        self.push(result, None);
    }

    /// The newest values go out, each program to its own piece; the last output is added to atomically where its type allows.
    fn store_all(&mut self, kinds: &[Scalar]) {
        let newest: Vec<Value> = self.values.iter().rev().copied().take(OUTPUTS).collect();
        for (value, (i, &scalar)) in newest.into_iter().zip(kinds.iter().enumerate()) {
            let mut value = self.converted(value, scalar);
            let shape = self.ty(value.id).shape().clone();
            let atomic = i + 1 == OUTPUTS && matches!(scalar, Scalar::I32 | Scalar::I64 | Scalar::F32);
            if atomic && scalar.is_float() {
                value = self.summable(value, 64, false);
            }
            let i32s = Type::tile(Elem::Scalar(Scalar::I32), shape.clone());
            let flat = self.flat(&shape);
            let at = if atomic {
                // Several elements meet in one place.
                let few = self.b.int(63, i32s.clone());
                self.b.value(OpKind::Binary(BinaryOp::And), &[flat, few], i32s)
            } else {
                let size = self.b.i32(LARGEST as i32);
                let start = self.b.value(OpKind::Binary(BinaryOp::MulI), &[self.program, size], Type::scalar(Scalar::I32));
                let start = self.splat(start, &shape);
                self.b.value(OpKind::Binary(BinaryOp::AddI), &[start, flat], i32s)
            };
            let base = self.splat(self.outputs[i], &shape);
            let pointers = Type::tile(Elem::Ptr(scalar), shape.clone());
            let at = self.b.value(OpKind::AddPtr, &[base, at], pointers);
            let mut operands = vec![at, value.id];
            if self.random.chance(40) {
                let limit = self.splat(self.bound, &shape);
                let mask = Type::tile(Elem::Scalar(Scalar::I1), shape.clone());
                operands.push(self.b.value(OpKind::Compare(Predicate::LtS), &[flat, limit], mask));
            }
            if atomic {
                let op = if scalar.is_float() {
                    AtomicOp::AddF
                } else {
                    self.random.pick(&[AtomicOp::Add, AtomicOp::MaxS, AtomicOp::Xor])
                };
                let kind = OpKind::AtomicRmw { op, sem: MemSem::Relaxed, scope: MemScope::Gpu, vector: 0 };
                let old = self.ty(value.id);
                self.b.value(kind, &operands, old);
            } else {
                self.b.op(OpKind::Store(StoreAttrs::default()), &operands, [], &[]);
            }
        }
    }
}

/// What is known of the numbers that inputs hold (`element` in `main.rs`).
pub(crate) fn input(scalar: Scalar) -> Option<Exact> {
    let digits = if scalar == Scalar::F8E4M3 { 3 } else { 2 };
    scalar.is_float().then_some(Exact { largest: 2.0, digits })
}

/// What products of this are added up in.
pub(crate) fn sum_of(element: Scalar) -> Scalar {
    match element {
        Scalar::I8 => Scalar::I32,
        Scalar::F64 => Scalar::F64,
        _ => Scalar::F32,
    }
}
