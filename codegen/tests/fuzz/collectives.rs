//! What random kernels do with whole tiles: reductions, scans, products, gathers, histograms.
//!
//! **Invariant:** as in [`super::generate`]: sums whose order is the compiler's choice are exact.

use tritium_tile::{
    Elem, OpKind, Scalar, Shape, Type,
    ops::{BinaryOp, Constant, DotPrecision, Predicate},
};

use crate::generate::{Exact, Generator, INTS, LARGEST, Value, WORK, sum_of};

impl Generator<'_> {
    fn combination(&mut self, a: Value, count: u32) -> (Value, BinaryOp, Option<Exact>) {
        let a = self.plain(a);
        let scalar = self.scalar_of(a.id);
        if !scalar.is_float() {
            let op = self.random.pick(&[
                BinaryOp::AddI,
                BinaryOp::AddI,
                BinaryOp::MaxS,
                BinaryOp::MinU,
                BinaryOp::Xor,
                BinaryOp::And,
                BinaryOp::Or,
                BinaryOp::MulI,
            ]);
            return (a, op, None);
        }
        match self.random.below(4) {
            0 => (a, BinaryOp::MaxF, a.exact),
            1 => (a, BinaryOp::MinF, a.exact),
            _ => {
                let wide = match scalar {
                    Scalar::F16 | Scalar::BF16 => self.converted(a, Scalar::F32),
                    _ => a,
                };
                let small = self.summable(wide, count, false);
                let exact = small.exact.map(|e| Exact { largest: e.largest * f64::from(count), digits: e.digits });
                (small, BinaryOp::AddF, exact)
            }
        }
    }

    pub(crate) fn reduce(&mut self) {
        let Some(a) = self.any_tile() else { return };
        let shape = self.ty(a.id).shape().clone();
        let axis = self.random.below(shape.len() as u64) as usize;
        let mut reduced = shape.clone();
        let count = reduced.remove(axis);
        if self.random.chance(20) && self.scalar_of(a.id) != Scalar::I1 {
            return self.arg_reduce(a, axis, &reduced);
        }
        let (a, op, exact) = self.combination(a, count);
        let scalar = self.scalar_of(a.id);
        let region = self.region(&[scalar], |b, args| vec![b.value(OpKind::Binary(op), args, Type::scalar(scalar))]);
        let ty = Type::tile(Elem::Scalar(scalar), reduced);
        let done = self.b.op(OpKind::Reduce { axis: axis as u8 }, &[a.id], [ty], &[region]);
        let id = self.b.function.op(done).results[0];
        self.push(id, exact);
    }

    /// The largest element and the first place where it stands.
    fn arg_reduce(&mut self, a: Value, axis: usize, reduced: &Shape) {
        let a = self.plain(a);
        let scalar = self.scalar_of(a.id);
        let shape = self.ty(a.id).shape().clone();
        let places = self.flat(&shape);
        let (greater, equal) = if scalar.is_float() { (Predicate::GtF, Predicate::EqF) } else { (Predicate::GtS, Predicate::Eq) };
        // NaN would make the order matter.
        let a = if scalar.is_float() { self.summable(a, 1, false) } else { a };
        let region = self.region(&[scalar, Scalar::I32], |b, args| {
            let i1 = Type::scalar(Scalar::I1);
            let more = b.value(OpKind::Compare(greater), &[args[0], args[2]], i1.clone());
            let same = b.value(OpKind::Compare(equal), &[args[0], args[2]], i1.clone());
            let before = b.value(OpKind::Compare(Predicate::LtS), &[args[1], args[3]], i1.clone());
            let first = b.value(OpKind::Binary(BinaryOp::And), &[same, before], i1.clone());
            let left = b.value(OpKind::Binary(BinaryOp::Or), &[more, first], i1);
            let value = b.value(OpKind::Select, &[left, args[0], args[2]], Type::scalar(scalar));
            let place = b.value(OpKind::Select, &[left, args[1], args[3]], Type::scalar(Scalar::I32));
            vec![value, place]
        });
        let types = [Type::tile(Elem::Scalar(scalar), reduced.clone()), Type::tile(Elem::Scalar(Scalar::I32), reduced.clone())];
        let done = self.b.op(OpKind::Reduce { axis: axis as u8 }, &[a.id, places], types, &[region]);
        let results = self.b.function.op(done).results.clone();
        self.push(results[0], a.exact);
        self.push(results[1], None);
    }

    pub(crate) fn scan(&mut self) {
        let Some(a) = self.any_tile() else { return };
        let shape = self.ty(a.id).shape().clone();
        let axis = self.random.below(shape.len() as u64) as usize;
        let (a, op, exact) = self.combination(a, shape[axis]);
        let scalar = self.scalar_of(a.id);
        let region = self.region(&[scalar], |b, args| vec![b.value(OpKind::Binary(op), args, Type::scalar(scalar))]);
        let reverse = self.random.chance(30);
        let ty = self.ty(a.id);
        let done = self.b.op(OpKind::Scan { axis: axis as u8, reverse }, &[a.id], [ty], &[region]);
        let id = self.b.function.op(done).results[0];
        self.push(id, exact);
    }

    pub(crate) fn dot(&mut self) {
        let element = self.element();
        let least = if element.bits() == 8 { 32 } else { 16 };
        let extent = |g: &mut Self, low: u32| low << g.random.below(3);
        let (mut m, mut k, mut n) = (extent(self, 16), extent(self, least), extent(self, 8).max(16));
        // Several products at once, and some that no tensor core takes.
        let batch: &[u32] = if self.random.chance(20) { &[1, 2, 4, 16][self.random.below(4) as usize..][..1] } else { &[] };
        if !batch.is_empty() {
            (m, k, n) = (m.min(32), k.min(32), n.min(32));
        }
        if self.random.chance(20) {
            (m, n) = (1 << self.random.below(5), 1 << self.random.below(5));
        }
        let many = batch.iter().product::<u32>() * m.max(k) * n.max(k);
        if many > LARGEST || m * n * k * batch.iter().product::<u32>() > WORK {
            return;
        }
        let shaped = |rows: u32, columns: u32| -> Shape { batch.iter().copied().chain([rows, columns]).collect() };
        let operand = |g: &mut Self, rows: u32, columns: u32| -> Value {
            let shape = shaped(rows, columns);
            let count = shape.iter().product::<u32>();
            // Something of this size, or something new.
            let known = g.some(|g, v| {
                let ty = g.ty(v.id);
                ty.num_elements() == u64::from(count) && g.scalar_of(v.id) != Scalar::I1
            });
            let value = match known {
                Some(v) => {
                    let scalar = g.scalar_of(v.id);
                    if *g.ty(v.id).shape() == shape {
                        v
                    } else {
                        let ty = Type::tile(Elem::Scalar(scalar), shape.clone());
                        Value { id: g.b.value(OpKind::Reshape { reorder: false }, &[v.id], ty), exact: v.exact }
                    }
                }
                None => {
                    let flat = g.flat(&shape);
                    let ty = g.ty(flat);
                    let mask = g.b.int(15, ty.clone());
                    Value { id: g.b.value(OpKind::Binary(BinaryOp::And), &[flat, mask], ty), exact: None }
                }
            };
            let value = g.converted(value, element);
            if element.is_float() { g.summable(value, k, true) } else { value }
        };
        let (a, b) = (operand(self, m, k), operand(self, k, n));
        let sum = sum_of(element);
        let ty = Type::tile(Elem::Scalar(sum), shaped(m, n));
        let acc = match self.some(|g, v| g.ty(v.id) == ty) {
            Some(acc) if sum == Scalar::I32 => acc,
            Some(acc) => self.summable(acc, 1, false),
            None => Value {
                id: self.b.value(
                    OpKind::Constant(if sum == Scalar::I32 { Constant::Int(0) } else { Constant::Float(0.0) }),
                    &[],
                    ty.clone(),
                ),
                exact: Some(Exact { largest: 0.0, digits: 0 }),
            },
        };
        let exact = a.exact.zip(b.exact).zip(acc.exact).map(|((a, b), c)| Exact {
            largest: a.largest * b.largest * f64::from(k) + c.largest,
            digits: (a.digits + b.digits).max(c.digits),
        });
        let exact = exact.filter(|e| e.fits(sum));
        if sum != Scalar::I32 && exact.is_none() {
            return;
        }
        let precision = self.precision();
        let id = self.b.value(OpKind::Dot { precision, sum_depth: None }, &[a.id, b.id, acc.id], ty);
        self.push(id, exact);
    }

    /// What is multiplied.
    pub(crate) fn element(&mut self) -> Scalar {
        self.random.pick(&[
            Scalar::F16,
            Scalar::F16,
            Scalar::BF16,
            Scalar::F32,
            Scalar::I8,
            Scalar::F8E4M3,
            Scalar::F8E5M2,
            Scalar::F64,
        ])
    }

    /// All are exact for the few digits that factors have.
    pub(crate) fn precision(&mut self) -> DotPrecision {
        use DotPrecision::{Bf16x3, Bf16x6, Ieee, Tf32, Tf32x3};
        self.random.pick(&[Tf32, Tf32, Tf32x3, Bf16x3, Bf16x6, Ieee])
    }

    pub(crate) fn gather(&mut self) {
        let Some(a) = self.any_tile() else { return };
        let source = self.ty(a.id).shape().clone();
        let mut shape = source.clone();
        let axis = self.random.below(shape.len() as u64) as usize;
        if self.random.chance(30) {
            // As many as there are elsewhere, or more, or fewer.
            shape[axis] = 1 << self.random.below(7);
            if shape.iter().product::<u32>() > LARGEST {
                return;
            }
        }
        let ty = Type::tile(Elem::Scalar(Scalar::I32), shape.clone());
        let index = match self.some(|g, v| g.ty(v.id) == ty) {
            Some(v) => v.id,
            None => self.flat(&shape),
        };
        let limit = self.b.int(i64::from(source[axis]) - 1, ty.clone());
        let index = self.b.value(OpKind::Binary(BinaryOp::And), &[index, limit], ty);
        let result = Type::tile(self.ty(a.id).elem(), shape);
        let id = self.b.value(OpKind::Gather { axis: axis as u8 }, &[a.id, index], result);
        self.push(id, a.exact);
    }

    pub(crate) fn histogram(&mut self) {
        let Some(a) = self.some(|g, v| g.ty(v.id).shape().len() == 1 && INTS.contains(&g.scalar_of(v.id))) else { return };
        let bins = 1 << (1 + self.random.below(7));
        let result = Type::tile(Elem::Scalar(Scalar::I32), Shape::from_slice(&[bins]));
        let mut operands = vec![a.id];
        let bools = self.ty(a.id).with_elem(Elem::Scalar(Scalar::I1));
        if let Some(mask) = self.some(|g, v| g.ty(v.id) == bools)
            && self.random.chance(50)
        {
            operands.push(mask.id);
        }
        let id = self.b.value(OpKind::Histogram, &operands, result);
        self.push(id, None);
    }
}
