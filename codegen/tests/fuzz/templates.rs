//! Longer pieces of random kernels, as people write them: products in loops, loops without a known end, sorting, memory that comes back.
//!
//! **Invariant:** as in [`super::generate`]: no undefined behaviour, and sums whose order is the compiler's choice are exact.

use tritium_tile::{
    BlockId, Builder, Elem, OpKind, Scalar, Shape, Type, ValueId,
    ops::{AtomicOp, BinaryOp, CastOp, Constant, LoadAttrs, MemScope, MemSem, Predicate, StoreAttrs},
};

use crate::generate::{Exact, Generator, INPUT, LARGEST, Value, input, sum_of};

/// A matrix that a loop reads one piece a trip along its inner axis.
struct Pieces {
    scalar: Scalar,
    /// The whole piece, and which axis the loop goes along.
    shape: Shape,
    along: usize,
    strides: [u32; 2],
    /// Positions along `along` that are read at all.
    masked: bool,
    other: f64,
    /// The pointers of the first piece.
    start: ValueId,
}

fn i32s(shape: &[u32]) -> Type {
    Type::tile(Elem::Scalar(Scalar::I32), Shape::from_slice(shape))
}

impl Generator<'_> {
    fn binary_of(&mut self, op: BinaryOp, a: ValueId, b: ValueId) -> ValueId {
        let ty = self.ty(a);
        self.b.value(OpKind::Binary(op), &[a, b], ty)
    }

    /// `0, 1, …` along one axis of a shape.
    fn position(&mut self, shape: &Shape, axis: usize) -> ValueId {
        let extent = shape[axis];
        let mut at = self.b.value(OpKind::Iota { start: 0, end: extent as i32 }, &[], i32s(&[extent]));
        let mut now: Vec<u32> = vec![extent];
        for other in 0..shape.len() {
            if other != axis {
                let place = if other < axis { 0 } else { now.len() };
                now.insert(place, 1);
                at = self.b.value(OpKind::ExpandDims { axis: place as u8 }, &[at], i32s(&now));
            }
        }
        if now[..] != shape[..] {
            at = self.b.value(OpKind::Broadcast, &[at], i32s(shape));
        }
        at
    }

    /// An input as a matrix of pieces; `None` if it is too small for them.
    fn pieces(&mut self, rows: u32, columns: u32, along: usize, trips: u32) -> Option<Pieces> {
        let (base, scalar) = self.random_input();
        let shape = Shape::from_slice(&[rows, columns]);
        let (across, step) = (shape[1 - along], shape[along]);
        let length = step * trips;
        let inner_first = self.random.chance(60);
        let (stride_along, stride_across) = match inner_first {
            true => (1, self.random.pick(&[length, step, 100, 64, 36])),
            false => (self.random.pick(&[across, 64, 20, 16]), 1),
        };
        if ((across - 1) * stride_across + (length - 1) * stride_along) as usize >= INPUT {
            return None;
        }
        let mut strides = [stride_along; 2];
        strides[1 - along] = stride_across;
        let mut offset = None;
        for (axis, stride) in strides.into_iter().enumerate() {
            let at = self.position(&shape, axis);
            let factor = self.b.int(i64::from(stride), i32s(&shape));
            let part = self.binary_of(BinaryOp::MulI, at, factor);
            offset = Some(match offset {
                None => part,
                Some(sum) => self.binary_of(BinaryOp::AddI, sum, part),
            });
        }
        let wide = self.splat(base, &shape);
        let start =
            self.b.value(OpKind::AddPtr, &[wide, offset.expect("two axes")], Type::tile(Elem::Ptr(scalar), shape.clone()));
        let (masked, other) = (self.random.chance(50), if self.random.chance(80) { 0.0 } else { 1.0 });
        Some(Pieces { scalar, shape, along, strides, masked, other, start })
    }

    fn random_input(&mut self) -> (ValueId, Scalar) {
        let at = self.random.below(self.inputs.len() as u64) as usize;
        self.inputs[at]
    }

    /// The piece of a trip, from pointers that stand there already or from the start of all.
    fn piece(&mut self, pieces: &Pieces, trip: ValueId, pointers: Option<ValueId>) -> Value {
        let step = self.b.i32(pieces.shape[pieces.along] as i32);
        let first = self.b.value(OpKind::Binary(BinaryOp::MulI), &[trip, step], Type::scalar(Scalar::I32));
        let at = match pointers {
            Some(at) => at,
            None => {
                let stride = self.b.i32(pieces.strides[pieces.along] as i32);
                let offset = self.b.value(OpKind::Binary(BinaryOp::MulI), &[first, stride], Type::scalar(Scalar::I32));
                let offset = self.splat(offset, &pieces.shape);
                let ty = self.ty(pieces.start);
                self.b.value(OpKind::AddPtr, &[pieces.start, offset], ty)
            }
        };
        let result = Type::tile(Elem::Scalar(pieces.scalar), pieces.shape.clone());
        let mut operands = vec![at];
        if pieces.masked {
            let first = self.splat(first, &pieces.shape);
            let place = self.position(&pieces.shape, pieces.along);
            let place = self.binary_of(BinaryOp::AddI, place, first);
            let limit = self.splat(self.bound, &pieces.shape);
            let bools = Type::tile(Elem::Scalar(Scalar::I1), pieces.shape.clone());
            operands.push(self.b.value(OpKind::Compare(Predicate::LtS), &[place, limit], bools));
            operands.push(match pieces.scalar.is_float() {
                true => self.b.float(pieces.other, result.clone()),
                false => self.b.int(pieces.other as i64, result.clone()),
            });
        }
        let id = self.b.value(OpKind::Load(LoadAttrs::default()), &operands, result);
        Value { id, exact: input(pieces.scalar) }
    }

    /// The next piece's pointers.
    fn advanced(&mut self, pieces: &Pieces, pointers: ValueId) -> ValueId {
        let step = pieces.shape[pieces.along] * pieces.strides[pieces.along];
        let step = self.b.int(i64::from(step), i32s(&pieces.shape));
        let ty = self.ty(pointers);
        self.b.value(OpKind::AddPtr, &[pointers, step], ty)
    }

    fn zeros(&mut self, ty: &Type) -> ValueId {
        let float = ty.elem().scalar().is_some_and(Scalar::is_float);
        self.b.value(OpKind::Constant(if float { Constant::Float(0.0) } else { Constant::Int(0) }), &[], ty.clone())
    }

    fn factor(&mut self, value: Value, element: Scalar, count: u32) -> Value {
        let value = self.converted(value, element);
        if element.is_float() { self.summable(value, count, true) } else { value }
    }

    /// `sum of a piece of A times a piece of B`, and sometimes that product's product with a third, as attention has it.
    pub(crate) fn product_loop(&mut self) {
        let element = self.element();
        let sum = sum_of(element);
        let least = if element.bits() == 8 { 32 } else { 16 };
        let small = |g: &mut Self| 16 << g.random.below(if element == Scalar::F64 { 1 } else { 3 });
        let (mut m, n, k) = (small(self), small(self), least << self.random.below(2));
        if element != Scalar::F64 && self.random.chance(25) {
            // Rows for two warpgroups.
            m = 128.min(LARGEST / n.max(k));
        }
        let (upper, most) = self.trips();
        let total = k * most.max(1);
        let Some(left) = self.pieces(m, k, 1, most.max(1)) else { return };
        let chain = self.random.chance(30) && n >= least && sum != Scalar::I32;
        // In a chain the second matrix goes along its columns: new keys every trip.
        let Some(right) = self.pieces(k, n, if chain { 1 } else { 0 }, most.max(1)) else { return };
        let third = if chain { self.pieces(n, 16, 0, most.max(1)) } else { None };
        let carry_pointers = self.random.chance(50);
        let sum_ty = Type::tile(Elem::Scalar(sum), Shape::from_slice(&[m, n]));
        let result_ty = if third.is_some() { Type::tile(sum_ty.elem(), Shape::from_slice(&[m, 16])) } else { sum_ty.clone() };
        let rows_ty = Type::tile(Elem::Scalar(Scalar::I32), Shape::from_slice(&[m]));
        let (zero, no_rows) = (self.zeros(&result_ty), self.zeros(&rows_ty));
        let count_rows = self.random.chance(30);

        let mut initial = vec![zero];
        if count_rows {
            initial.push(no_rows);
        }
        if carry_pointers {
            initial.extend([left.start, right.start]);
        }
        let block = self.b.function.add_block();
        let trip = self.b.function.add_block_arg(block, Type::scalar(Scalar::I32));
        let types: Vec<Type> = initial.iter().map(|&v| self.ty(v)).collect();
        let args: Vec<ValueId> = types.iter().map(|ty| self.b.function.add_block_arg(block, ty.clone())).collect();
        let (lower, step) = (self.b.i32(0), self.b.i32(1));
        let (outer, known) = (std::mem::replace(&mut self.b.block, block), self.values.len());
        let at_pointers = usize::from(count_rows) + 1;
        let pointers = |n: usize| carry_pointers.then(|| args[at_pointers + n]);

        let zero_trip = self.b.i32(0);
        let a = self.piece(&left, if chain && !carry_pointers { zero_trip } else { trip }, pointers(0));
        let b = self.piece(&right, trip, pointers(1));
        let (a, b) = (self.factor(a, element, total), self.factor(b, element, total));
        let precision = self.precision();
        let mut next = Vec::new();
        let exact;
        if let Some(third) = &third {
            let fresh = self.zeros(&sum_ty);
            let scores = self.b.value(OpKind::Dot { precision, sum_depth: None }, &[a.id, b.id, fresh], sum_ty.clone());
            let scores = self.factor(Value { id: scores, exact: None }, element, 64 * most);
            let v = self.piece(third, trip, None);
            let v = self.factor(v, element, 64 * most);
            next.push(self.b.value(OpKind::Dot { precision, sum_depth: None }, &[scores.id, v.id, args[0]], result_ty.clone()));
            exact = product(scores, v, n * most);
        } else {
            next.push(self.b.value(OpKind::Dot { precision, sum_depth: None }, &[a.id, b.id, args[0]], sum_ty));
            exact = product(a, b, total);
        }
        if count_rows {
            let ints = self.converted(a, Scalar::I32);
            let region = self
                .region(&[Scalar::I32], |b, args| vec![b.value(OpKind::Binary(BinaryOp::AddI), args, Type::scalar(Scalar::I32))]);
            let sums = self.b.op(OpKind::Reduce { axis: 1 }, &[ints.id], [rows_ty], &[region]);
            let sums = self.b.function.op(sums).results[0];
            next.push(self.binary_of(BinaryOp::AddI, args[1], sums));
        }
        if carry_pointers {
            next.push(self.advanced(&left, args[at_pointers]));
            next.push(self.advanced(&right, args[at_pointers + 1]));
        }
        self.b.op(OpKind::Yield, &next, [], &[]);
        self.b.block = outer;
        self.values.truncate(known);
        let mut operands = vec![lower, upper, step];
        operands.extend(initial);
        let hints = self.hints();
        let done = self.b.op(OpKind::For(hints), &operands, types, &[block]);
        let results = self.b.function.op(done).results.clone();
        self.push(results[0], exact.filter(|e| e.fits(sum)));
        if count_rows {
            self.push(results[1], None);
        }
        self.left = self.left.saturating_sub(3);
    }

    /// Up to five trips; how many is known only on the way.
    pub(crate) fn while_loop(&mut self) {
        let Some(carried) = self.any_tile() else { return };
        let ty = self.ty(carried.id);
        let scalar = Type::scalar(Scalar::I32);
        let zero = self.b.i32(0);
        let types = [scalar.clone(), ty.clone()];
        let (before, after) = (self.b.function.add_block(), self.b.function.add_block());
        let mut args = |block: BlockId| -> Vec<ValueId> {
            types.iter().map(|ty| self.b.function.add_block_arg(block, ty.clone())).collect()
        };
        let (first, second) = (args(before), args(after));
        let outer = std::mem::replace(&mut self.b.block, before);
        let most = self.b.i32(1 + self.random.below(3) as i32);
        let most = self.b.value(OpKind::Binary(BinaryOp::AddI), &[most, self.program], scalar.clone());
        let mut more = self.b.value(OpKind::Compare(Predicate::LtS), &[first[0], most], Type::scalar(Scalar::I1));
        if self.random.chance(50) && self.scalar_of(first[1]) != Scalar::I1 {
            // And while an element of the tile is odd.
            let ints = self.plain(Value { id: first[1], exact: None });
            let ints = match self.scalar_of(ints.id).is_float() {
                true => self.b.value(OpKind::Cast(CastOp::FToS), &[ints.id], ty.with_elem(Elem::Scalar(Scalar::I32))),
                false => self.converted(ints, Scalar::I32).id,
            };
            let odd = self.all_or(ints);
            let one = self.b.i32(1);
            let odd = self.b.value(OpKind::Binary(BinaryOp::And), &[odd, one], scalar.clone());
            let odd = self.b.value(OpKind::Compare(Predicate::Eq), &[odd, one], Type::scalar(Scalar::I1));
            more = self.b.value(OpKind::Binary(BinaryOp::And), &[more, odd], Type::scalar(Scalar::I1));
        }
        self.b.op(OpKind::Condition, &[more, first[0], first[1]], [], &[]);
        self.b.block = after;
        let known = self.values.len();
        self.push(second[0], None);
        self.push(second[1], None);
        self.depth += 1;
        let around = self.trip.replace((second[0], 5));
        for _ in 0..1 + self.random.below(4) {
            if self.left > 0 {
                self.step();
            }
        }
        self.trip = around;
        self.depth -= 1;
        let value = self.some(|g, v| g.ty(v.id) == ty).map_or(second[1], |v| v.id);
        let one = self.b.i32(1);
        let next = self.b.value(OpKind::Binary(BinaryOp::AddI), &[second[0], one], scalar);
        self.b.op(OpKind::Yield, &[next, value], [], &[]);
        self.b.block = outer;
        self.values.truncate(known);
        let done = self.b.op(OpKind::While { disable_licm: false }, &[zero, carried.id], types, &[before, after]);
        for result in self.b.function.op(done).results.clone() {
            self.push(result, None);
        }
    }

    /// The bits that any element has.
    fn all_or(&mut self, tile: ValueId) -> ValueId {
        let mut value = tile;
        while !self.ty(value).is_scalar() {
            let ty = self.ty(value);
            let scalar = self.scalar_of(value);
            let mut shape = ty.shape().clone();
            shape.remove(0);
            let region =
                self.region(&[scalar], |b, args| vec![b.value(OpKind::Binary(BinaryOp::Or), args, Type::scalar(scalar))]);
            let done = self.b.op(OpKind::Reduce { axis: 0 }, &[value], [Type::tile(ty.elem(), shape)], &[region]);
            value = self.b.function.op(done).results[0];
        }
        value
    }

    /// A product and a sum, rounded once.
    pub(crate) fn fma(&mut self) {
        let Some(a) = self.some(|g, v| g.scalar_of(v.id).is_float()) else { return };
        let a = self.plain(a);
        let ty = self.ty(a.id);
        let other = |g: &mut Self| match g.some(|g, v| g.ty(v.id) == ty) {
            Some(v) => v,
            None => g.constant(&ty),
        };
        let (b, c) = (other(self), other(self));
        let exact = a
            .exact
            .zip(b.exact)
            .zip(c.exact)
            .map(|((a, b), c)| Exact { largest: a.largest * b.largest + c.largest, digits: (a.digits + b.digits).max(c.digits) });
        let scalar = self.scalar_of(a.id);
        let exact = exact.filter(|e| e.fits(scalar));
        let id = self.b.value(OpKind::Fma, &[a.id, b.id, c.id], ty);
        self.push(id, exact);
    }

    /// All programs add to (or otherwise combine with) the same few places.
    pub(crate) fn meet(&mut self) {
        let Some(a) = self.any_tile() else { return };
        let (base, scalar, op) = self.meeting;
        let a = self.plain(a);
        let mut value = self.converted(a, scalar);
        let shape = self.ty(value.id).shape().clone();
        let ty = self.ty(value.id);
        if scalar.is_float() {
            // -1, 0 or 1: sums of hundreds of them are exact even in bf16.
            value = Value { id: self.whole(value.id, &ty), exact: None };
            let (low, high) = (self.b.float(-1.0, ty.clone()), self.b.float(1.0, ty.clone()));
            let above = self.b.value(OpKind::Binary(BinaryOp::MaxF), &[value.id, low], ty.clone());
            value.id = self.b.value(OpKind::Binary(BinaryOp::MinF), &[above, high], ty.clone());
        }
        let flat = self.flat(&shape);
        let places = self.b.int(if scalar.bits() == 16 { 2047 } else { 63 }, i32s(&shape));
        let at = self.binary_of(BinaryOp::And, flat, places);
        let wide = self.splat(base, &shape);
        let at = self.b.value(OpKind::AddPtr, &[wide, at], Type::tile(Elem::Ptr(scalar), shape.clone()));
        let mut operands = vec![at, value.id];
        if self.random.chance(40) {
            let limit = self.splat(self.bound, &shape);
            let bools = Type::tile(Elem::Scalar(Scalar::I1), shape);
            operands.push(self.b.value(OpKind::Compare(Predicate::LtS), &[flat, limit], bools));
        }
        let sem = self.random.pick(&[MemSem::Relaxed, MemSem::AcqRel, MemSem::Release]);
        self.b.value(OpKind::AtomicRmw { op, sem, scope: MemScope::Gpu, vector: 0 }, &operands, ty);
    }

    /// A tile goes to the program's own memory and comes back in another order, or is exchanged there for what was in it.
    pub(crate) fn exchange(&mut self) {
        let Some(a) = self.any_tile() else { return };
        let (base, scalar) = self.scratch;
        let a = self.converted(a, scalar);
        let ty = self.ty(a.id);
        let shape = ty.shape().clone();
        let elements = shape.iter().product::<u32>();
        let flat = self.flat(&shape);
        let pointers = |g: &mut Self, place: ValueId| {
            let size = g.b.i32(LARGEST as i32);
            let start = g.b.value(OpKind::Binary(BinaryOp::MulI), &[g.program, size], Type::scalar(Scalar::I32));
            let start = g.splat(start, &shape);
            let at = g.binary_of(BinaryOp::AddI, start, place);
            let wide = g.splat(base, &shape);
            g.b.value(OpKind::AddPtr, &[wide, at], Type::tile(Elem::Ptr(scalar), shape.clone()))
        };
        let at = pointers(self, flat);
        let (sem, scope) = (MemSem::default(), self.random.pick(&[MemScope::Cta, MemScope::Gpu]));
        let (id, exact) = match self.random.below(4) {
            0 if matches!(scalar, Scalar::I32 | Scalar::I64) => {
                use AtomicOp::*;
                let op = self.random.pick(&[Add, MinS, MaxS, MinU, MaxU, And, Or, Xor, Exchange]);
                (self.b.value(OpKind::AtomicRmw { op, sem, scope, vector: 0 }, &[at, a.id], ty), None)
            }
            1 if scalar.bits() >= 16 => {
                let expected = self.zeros(&ty);
                (self.b.value(OpKind::AtomicCas { sem, scope }, &[at, expected, a.id], ty), None)
            }
            _ => {
                self.b.op(OpKind::Store(StoreAttrs::default()), &[at, a.id], [], &[]);
                self.b.op(OpKind::Barrier, &[], [], &[]);
                let turn = self.b.int(self.random.below(u64::from(elements)) as i64, i32s(&shape));
                let place = self.binary_of(BinaryOp::Xor, flat, turn);
                let from = pointers(self, place);
                (self.b.value(OpKind::Load(LoadAttrs::default()), &[from], ty), a.exact)
            }
        };
        self.b.op(OpKind::Barrier, &[], [], &[]);
        self.push(id, exact);
    }

    /// Two tiles side by side along a new last axis; or the halves of one, apart.
    pub(crate) fn join_split(&mut self) {
        let Some(a) = self.any_tile() else { return };
        let ty = self.ty(a.id);
        let shape = ty.shape().clone();
        let Some(b) = self.some(|g, v| g.ty(v.id) == ty) else { return };
        if shape.len() < 4 && ty.num_elements() * 2 <= u64::from(LARGEST) && self.random.chance(60) {
            let (mut one, mut pair) = (shape.clone(), shape.clone());
            one.push(1);
            pair.push(2);
            let wide = |g: &mut Self, v: ValueId| {
                let v = g.b.value(OpKind::ExpandDims { axis: shape.len() as u8 }, &[v], Type::tile(ty.elem(), one.clone()));
                g.b.value(OpKind::Broadcast, &[v], Type::tile(ty.elem(), pair.clone()))
            };
            let (x, y) = (wide(self, a.id), wide(self, b.id));
            let place = self.position(&pair, shape.len());
            let zero = self.b.int(0, i32s(&pair));
            let bools = Type::tile(Elem::Scalar(Scalar::I1), pair.clone());
            let first = self.b.value(OpKind::Compare(Predicate::Eq), &[place, zero], bools);
            let mut id = self.b.value(OpKind::Select, &[first, x, y], Type::tile(ty.elem(), pair.clone()));
            if self.random.chance(50) {
                // By turns along the last axis.
                let mut flat = shape.clone();
                *flat.last_mut().expect("a tile has an axis") *= 2;
                id = self.b.value(OpKind::Reshape { reorder: false }, &[id], Type::tile(ty.elem(), flat));
            }
            let exact =
                a.exact.zip(b.exact).map(|(a, b)| Exact { largest: a.largest.max(b.largest), digits: a.digits.max(b.digits) });
            self.push(id, exact);
        } else if shape.last().is_some_and(|&n| n >= 2) {
            let a = self.plain(a);
            let elem = self.ty(a.id).elem();
            let mut pair = shape.clone();
            *pair.last_mut().expect("a tile has an axis") /= 2;
            pair.push(2);
            let ty = Type::tile(elem, pair.clone());
            let x = self.b.value(OpKind::Reshape { reorder: false }, &[a.id], ty.clone());
            let place = self.position(&pair, shape.len());
            let which = self.b.int(self.random.below(2) as i64, i32s(&pair));
            let bools = Type::tile(Elem::Scalar(Scalar::I1), pair.clone());
            let wanted = self.b.value(OpKind::Compare(Predicate::Eq), &[place, which], bools);
            let zero = self.zeros(&ty);
            let kept = self.b.value(OpKind::Select, &[wanted, x, zero], ty);
            let scalar = elem.scalar().expect("a number");
            let op = if scalar.is_float() { BinaryOp::AddF } else { BinaryOp::Or };
            let region = self.region(&[scalar], |b, args| vec![b.value(OpKind::Binary(op), args, Type::scalar(scalar))]);
            pair.pop();
            let done = self.b.op(OpKind::Reduce { axis: shape.len() as u8 }, &[kept], [Type::tile(elem, pair)], &[region]);
            let id = self.b.function.op(done).results[0];
            self.push(id, a.exact);
        }
    }

    /// A sorting network along the last axis, of reshapes, xor reductions and selections.
    pub(crate) fn sort(&mut self) {
        let found = self.some(|g, v| {
            let ty = g.ty(v.id);
            ty.shape().last().is_some_and(|&n| (2..=16).contains(&n))
                && matches!(g.scalar_of(v.id), Scalar::I8 | Scalar::I32 | Scalar::I64)
        });
        let Some(a) = found else { return };
        let ty = self.ty(a.id);
        let (scalar, elements) = (self.scalar_of(a.id), ty.num_elements() as u32);
        let length = ty.shape().last().expect("it has an axis").ilog2();
        let mut tile = a.id;
        for stage in 1..=length {
            for bit in (0..stage).rev() {
                let pairs = Shape::from_slice(&[elements >> (bit + 1), 2, 1 << bit]);
                let (wide, ints) = (Type::tile(ty.elem(), pairs.clone()), i32s(&pairs));
                let bools = Type::tile(Elem::Scalar(Scalar::I1), pairs.clone());
                let x = self.b.value(OpKind::Reshape { reorder: false }, &[tile], wide.clone());
                let region =
                    self.region(&[scalar], |b, args| vec![b.value(OpKind::Binary(BinaryOp::Xor), args, Type::scalar(scalar))]);
                let narrow = Type::tile(ty.elem(), Shape::from_slice(&[pairs[0], pairs[2]]));
                let both = self.b.op(OpKind::Reduce { axis: 1 }, &[x], [narrow], &[region]);
                let both = self.b.function.op(both).results[0];
                let one = Type::tile(ty.elem(), Shape::from_slice(&[pairs[0], 1, pairs[2]]));
                let both = self.b.value(OpKind::ExpandDims { axis: 1 }, &[both], one);
                let both = self.b.value(OpKind::Broadcast, &[both], wide.clone());
                let partner = self.binary_of(BinaryOp::Xor, x, both);
                let wrong = self.b.value(OpKind::Compare(Predicate::GtS), &[x, partner], bools.clone());
                let flat = self.flat(&pairs);
                let bit_of = |g: &mut Self, bit: u32| {
                    let (mask, zero) = (g.b.int(1 << bit, ints.clone()), g.b.int(0, ints.clone()));
                    let set = g.binary_of(BinaryOp::And, flat, mask);
                    g.b.value(OpKind::Compare(Predicate::Ne), &[set, zero], bools.clone())
                };
                let mut larger = bit_of(self, bit);
                if stage < length {
                    let flips = bit_of(self, stage);
                    larger = self.binary_of(BinaryOp::Xor, larger, flips);
                }
                let swap = self.binary_of(BinaryOp::Xor, wrong, larger);
                tile = self.b.value(OpKind::Select, &[swap, partner, x], wide);
            }
        }
        let id = self.b.value(OpKind::Reshape { reorder: false }, &[tile], ty);
        self.push(id, None);
    }

    /// `x[i] = a[i] x[i-1] + b[i]`: a scan of pairs that keeps their order.
    pub(crate) fn recurrence(&mut self) {
        let found = self.some(|g, v| {
            !g.ty(v.id).is_scalar() && matches!(g.scalar_of(v.id), Scalar::I8 | Scalar::I16 | Scalar::I32 | Scalar::I64)
        });
        let Some(a) = found else { return };
        let ty = self.ty(a.id);
        let scalar = self.scalar_of(a.id);
        let Some(b) = self.some(|g, v| g.ty(v.id) == ty) else { return };
        let region = self.region(&[scalar, scalar], |b, args| {
            let ty = Type::scalar(scalar);
            let factor = b.value(OpKind::Binary(BinaryOp::MulI), &[args[0], args[2]], ty.clone());
            let carried = b.value(OpKind::Binary(BinaryOp::MulI), &[args[2], args[1]], ty.clone());
            let value = b.value(OpKind::Binary(BinaryOp::AddI), &[carried, args[3]], ty);
            vec![factor, value]
        });
        let axis = self.random.below(ty.shape().len() as u64) as u8;
        let reverse = self.random.chance(30);
        let done = self.b.op(OpKind::Scan { axis, reverse }, &[a.id, b.id], [ty.clone(), ty], &[region]);
        for result in self.b.function.op(done).results.clone() {
            self.push(result, None);
        }
    }

    /// The sum and the largest, of two types, in one reduction.
    pub(crate) fn statistics(&mut self) {
        let Some(a) = self.any_tile() else { return };
        let x = self.converted(a, Scalar::I32);
        let y = self.plain(a);
        let y = self.converted(y, Scalar::F32);
        // The order of NaN among others is nobody's.
        let y = self.summable(y, 1, false);
        let region = self.region(&[Scalar::I32, Scalar::F32], |b, args| {
            let sum = b.value(OpKind::Binary(BinaryOp::AddI), &[args[0], args[2]], Type::scalar(Scalar::I32));
            let most = b.value(OpKind::Binary(BinaryOp::MaxF), &[args[1], args[3]], Type::scalar(Scalar::F32));
            vec![sum, most]
        });
        let ty = self.ty(x.id);
        let axis = self.random.below(ty.shape().len() as u64) as usize;
        let mut shape = ty.shape().clone();
        shape.remove(axis);
        let types = [Scalar::I32, Scalar::F32].map(|s| Type::tile(Elem::Scalar(s), shape.clone()));
        let done = self.b.op(OpKind::Reduce { axis: axis as u8 }, &[x.id, y.id], types, &[region]);
        let results = self.b.function.op(done).results.clone();
        self.push(results[0], None);
        self.push(results[1], y.exact);
    }

    /// A function of neighbouring elements, with a branch in it.
    pub(crate) fn map(&mut self) {
        let Some(a) = self.any_tile() else { return };
        let a = self.converted(a, Scalar::I32);
        let ty = self.ty(a.id);
        let pack = (1 << self.random.below(3)).min(ty.num_elements() as u32);
        let int = Type::scalar(Scalar::I32);
        let block = self.b.function.add_block();
        let args: Vec<ValueId> = (0..pack).map(|_| self.b.function.add_block_arg(block, int.clone())).collect();
        let mut b = Builder::at_end(self.b.function, block);
        let zero = b.i32(0);
        let positive = b.value(OpKind::Compare(Predicate::GtS), &[args[0], zero], Type::scalar(Scalar::I1));
        let mut arms = Vec::new();
        for op in [BinaryOp::AddI, BinaryOp::MulI] {
            let arm = b.function.add_block();
            let mut inner = Builder::at_end(b.function, arm);
            let results: Vec<ValueId> = (0..args.len())
                .map(|i| inner.value(OpKind::Binary(op), &[args[i], args[(i + 1) % args.len()]], int.clone()))
                .collect();
            inner.op(OpKind::Yield, &results, [], &[]);
            arms.push(arm);
        }
        let chosen = b.op(OpKind::If, &[positive], vec![int; pack as usize], &arms);
        let results = b.function.op(chosen).results.clone();
        b.op(OpKind::Yield, &results, [], &[]);
        let id = self.b.op(OpKind::Map { pack }, &[a.id], [ty], &[block]);
        let id = self.b.function.op(id).results[0];
        self.push(id, None);
    }

    /// A number that the kernel has, as a tile.
    pub(crate) fn splat_scalar(&mut self) {
        let Some(a) = self.some(|g, v| g.ty(v.id).is_scalar()) else { return };
        let shape = self.shape();
        let id = self.splat(a.id, &shape);
        self.push(id, a.exact);
    }
}

/// What is known of a sum of so many products.
fn product(a: Value, b: Value, count: u32) -> Option<Exact> {
    let (a, b) = a.exact.zip(b.exact)?;
    Some(Exact { largest: a.largest * b.largest * f64::from(count), digits: a.digits + b.digits })
}
