//! What is known of integer and pointer values before a kernel runs.
//!
//! Three views of each value: its [`Axis`] (divisibility, contiguity, constancy along each dimension), its [`Range`], and its
//! [`Affine`] form. They exist once, for diagnostics, for code generation and for the cost model. Facts are recomputed, never patched.
//!
//! **Invariant:** a fact holds for every run of the function whose arguments keep what its parameters promise, with one assumption: an
//! index built from natural numbers (program ids, sizes, `iota`) by `+ * / %` does not wrap past 2^31 and is divided by positive numbers
//! only ([`Facts::is_natural`]). The affine form holds modulo the width of the type.

mod affine;
mod axis;
mod meaning;
mod number;
mod range;

use std::fmt::Write as _;

pub use affine::{Affine, Symbol, Term};
pub use axis::Axis;
pub use meaning::{Index, Meanings, meanings};
pub use number::{Numbers, numbers};
pub use range::Range;

use crate::{
    control::{ForLoop, WhileLoop},
    module::{BlockId, Function, FunctionId, Module, OpId, ValueId},
    ops::{BinaryOp, CastOp, OpKind, Predicate},
};

/// Rounds of a loop's fixpoint before its carried values are given up.
const ROUNDS: usize = 8;

#[derive(Debug, Clone)]
pub struct Facts {
    axes: Vec<Axis>,
    ranges: Vec<Range>,
    natural: Vec<bool>,
    affine: Vec<Option<Affine>>,
}

/// The facts of one function of a module.
pub fn facts(module: &Module, function: FunctionId) -> Facts {
    of_function(&module.functions[function.index()])
}

pub fn of_function(function: &Function) -> Facts {
    of_launched(function, &Launched::default())
}

/// What is known of the launches that run a function.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Launched {
    /// By the parameter's position; what is missing is not known.
    pub params: Vec<Option<Range>>,
    /// Programs along each axis.
    pub grid: [Option<Range>; 3],
    /// The tensors that pointers begin at, by the parameter's position.
    pub tensors: Vec<Option<Extent>>,
}

/// How far the tensor behind a pointer parameter reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Extent {
    pub bytes: u64,
    /// Nothing has written it before the launch.
    pub is_unwritten: bool,
}

impl Launched {
    /// What holds of both.
    pub fn join(&self, other: &Launched) -> Launched {
        let join = |a: Option<Range>, b: Option<Range>| Some(a?.join(b?));
        Launched {
            params: self.params.iter().zip(&other.params).map(|(a, b)| join(*a, *b)).collect(),
            grid: std::array::from_fn(|i| join(self.grid[i], other.grid[i])),
            tensors: self.tensors.iter().zip(&other.tensors).map(|(a, b)| a.filter(|_| a == b)).collect(),
        }
    }
}

/// The facts of a function under the launches that run it.
pub fn of_launched(function: &Function, launched: &Launched) -> Facts {
    let axes = function.values.iter().map(|v| Axis::unknown(v.ty.shape())).collect();
    let ranges = function.values.iter().map(|v| Range::of_type(&v.ty)).collect();
    let mut walk = Walk {
        function,
        here: function.body,
        grid: launched.grid,
        facts: Facts { axes, ranges, natural: vec![false; function.values.len()], affine: vec![None; function.values.len()] },
    };
    for (position, param) in function.params.iter().enumerate() {
        let i = param.value.index();
        if let Some(range) = launched.params.get(position).copied().flatten() {
            walk.facts.ranges[i] = range;
        }
        walk.facts.axes[i].divide_all(u64::from(param.divisibility));
        walk.facts.natural[i] = true;
    }
    walk.block(function.body);
    let Walk { facts: Facts { axes, ranges, natural, .. }, .. } = walk;
    let affine = affine::forms(function);
    Facts { axes, ranges, natural, affine }
}

impl Facts {
    pub fn axis(&self, value: ValueId) -> &Axis {
        &self.axes[value.index()]
    }

    pub fn range(&self, value: ValueId) -> Range {
        self.ranges[value.index()]
    }

    /// Not negative, if index arithmetic on natural numbers does not wrap.
    pub fn is_natural(&self, value: ValueId) -> bool {
        self.natural[value.index()] || self.range(value).min >= 0
    }

    /// For a pointer in bytes, otherwise in units.
    pub fn affine(&self, value: ValueId) -> Option<&Affine> {
        self.affine[value.index()].as_ref()
    }
}

/// One line for each integer or pointer value that something is known of, in program order.
pub fn listing(function: &Function, facts: &Facts) -> String {
    let mut out = String::new();
    let mut line = |name: String, value: ValueId| {
        let ty = function.ty(value);
        if ty.elem().scalar().is_some_and(|s| s.is_float()) {
            return;
        }
        let axis = facts.axis(value);
        let _ = write!(out, "{name}: {ty} {axis}");
        let range = facts.range(value);
        if range != Range::of_type(ty) {
            let _ = write!(out, " in {range}");
        }
        if let Some(form) = facts.affine(value) {
            let _ = write!(out, " = {}", form.display(function));
        }
        out.push('\n');
    };
    for param in &function.params {
        line(param.name.clone(), param.value);
    }
    function.walk(|_, op| {
        for (index, &result) in function.op(op).results.iter().enumerate() {
            line(format!("{}.{index}", affine::name_of(function, result)), result);
        }
        for &region in &function.op(op).regions {
            for (index, &arg) in function.block(region).args.iter().enumerate() {
                line(format!("{}.{index}", affine::name_of(function, arg)), arg);
            }
        }
    });
    out
}

/// The forward walk that fills axes, ranges and naturals.
struct Walk<'f> {
    function: &'f Function,
    here: BlockId,
    grid: [Option<Range>; 3],
    facts: Facts,
}

impl Walk<'_> {
    fn block(&mut self, block: BlockId) {
        let outer = std::mem::replace(&mut self.here, block);
        for &op in &self.function.block(block).ops {
            self.op(op);
        }
        self.here = outer;
    }

    /// A condition that the user promises: bounds and divisors of what it compares.
    fn assume(&mut self, condition: ValueId) {
        let function = self.function;
        let Some(op) = function.def_op(condition).map(|op| function.op(op)) else { return };
        match op.kind {
            OpKind::Binary(BinaryOp::And) => op.operands.iter().for_each(|&v| self.assume(v)),
            OpKind::Compare(predicate) => {
                let (a, b) = (op.operands[0], op.operands[1]);
                let (x, y) = (self.facts.range(a), self.facts.range(b));
                match predicate {
                    Predicate::LtS => self.bound(a, i64::MIN, y.max.saturating_sub(1), b, x.min.saturating_add(1), i64::MAX),
                    Predicate::LeS => self.bound(a, i64::MIN, y.max, b, x.min, i64::MAX),
                    Predicate::GtS => self.bound(b, i64::MIN, x.max.saturating_sub(1), a, y.min.saturating_add(1), i64::MAX),
                    Predicate::GeS => self.bound(b, i64::MIN, x.max, a, y.min, i64::MAX),
                    Predicate::Eq => {
                        self.bound(a, y.min, y.max, b, x.min, x.max);
                        for (remainder, zero) in [(a, y), (b, x)] {
                            self.divides(remainder, zero);
                        }
                    }
                    _ => {}
                }
            }
            _ => {}
        }
    }

    /// `a` is from `a0` to `a1`, and `b` from `b0` to `b1`, beside what is known.
    fn bound(&mut self, a: ValueId, a0: i64, a1: i64, b: ValueId, b0: i64, b1: i64) {
        for (value, min, max) in [(a, a0, a1), (b, b0, b1)] {
            let range = &mut self.facts.ranges[value.index()];
            let (min, max) = (range.min.max(min), range.max.min(max));
            // A promise that cannot be kept says nothing.
            if min <= max {
                *range = Range::new(min, max);
                self.facts.natural[value.index()] |= min >= 0;
            }
        }
    }

    /// `x % n == 0`
    fn divides(&mut self, remainder: ValueId, other: Range) {
        let function = self.function;
        if other.constant() == Some(0)
            && let Some(op) = function.def_op(remainder).map(|op| function.op(op))
            && let OpKind::Binary(BinaryOp::RemS | BinaryOp::RemU) = op.kind
            && let Some(n @ 1..) = self.facts.range(op.operands[1]).constant()
            && function.ty(op.operands[0]).is_scalar()
        {
            let known = self.facts.axis(op.operands[0]).divisibility[0];
            let power = 1u64 << n.trailing_zeros();
            self.facts.axes[op.operands[0].index()].divide_all(known.max(power));
        }
    }

    fn copy(&mut self, from: ValueId, to: ValueId) {
        let (f, t) = (from.index(), to.index());
        self.facts.axes[t] = self.facts.axes[f].clone();
        self.facts.ranges[t] = self.facts.ranges[f];
        self.facts.natural[t] = self.facts.natural[f];
    }

    /// Weakens `to` to what holds of both; says whether that changed it.
    fn join(&mut self, from: ValueId, to: ValueId) -> bool {
        let (f, t) = (from.index(), to.index());
        let axis = self.facts.axes[t].join(&self.facts.axes[f]);
        let range = self.facts.ranges[t].join(self.facts.ranges[f]);
        let natural = self.facts.natural[t] && self.facts.is_natural(from);
        let changed = axis != self.facts.axes[t] || range != self.facts.ranges[t] || natural != self.facts.natural[t];
        self.facts.axes[t] = axis;
        self.facts.ranges[t] = range;
        self.facts.natural[t] = natural;
        changed
    }

    fn forget(&mut self, value: ValueId) {
        let ty = self.function.ty(value);
        self.facts.axes[value.index()] = Axis::unknown(ty.shape());
        self.facts.ranges[value.index()] = Range::of_type(ty);
        self.facts.natural[value.index()] = false;
    }

    /// Optimistic fixpoint: carried values start as what they are initially and are weakened by what each trip passes on.
    fn fixpoint(&mut self, carried: &[ValueId], passed_in: BlockId, mut body: impl FnMut(&mut Self)) {
        for round in 0.. {
            if round == ROUNDS {
                carried.iter().for_each(|&v| self.forget(v));
                body(self);
                return;
            }
            body(self);
            let mut changed = false;
            for (&arg, &value) in carried.iter().zip(self.function.passed(passed_in)) {
                let before = self.facts.ranges[arg.index()];
                if self.join(value, arg) {
                    changed = true;
                    // A bound that still moves after two trips is a count: give it up rather than count along.
                    if round >= 2 && self.facts.ranges[arg.index()] != before {
                        let full = Range::of_type(self.function.ty(arg));
                        self.facts.ranges[arg.index()] = self.facts.ranges[arg.index()].widen(before, full);
                    }
                }
            }
            if !changed {
                return;
            }
        }
    }

    fn op(&mut self, id: OpId) {
        let function = self.function;
        let op = function.op(id);
        match &op.kind {
            OpKind::For(_) => {
                let Some(ForLoop { bounds: [lower, upper, step], body, induction, init, args, results, .. }) =
                    function.for_loop(id)
                else {
                    return;
                };
                let mut axis = Axis::unknown(&[]);
                let start = self.facts.axis(lower).divisibility[0];
                axis.divide_all(start.min(self.facts.axis(step).divisibility[0]));
                self.facts.axes[induction.index()] = axis;
                let (low, high) = (self.facts.range(lower), self.facts.range(upper));
                self.facts.ranges[induction.index()] = Range { min: low.min, max: high.max.saturating_sub(1).max(low.min) };
                self.facts.natural[induction.index()] = self.facts.is_natural(lower);
                for (&init, &arg) in init.iter().zip(args) {
                    self.copy(init, arg);
                    self.facts.natural[arg.index()] = self.facts.is_natural(init);
                }
                self.fixpoint(args, body, |walk| walk.block(body));
                for (&arg, &result) in args.iter().zip(results) {
                    self.copy(arg, result);
                }
            }
            OpKind::While { .. } => {
                let Some(WhileLoop { init, before, args, passed, after, after_args, results, .. }) = function.while_loop(id)
                else {
                    return;
                };
                for (&init, &arg) in init.iter().zip(args) {
                    self.copy(init, arg);
                    self.facts.natural[arg.index()] = self.facts.is_natural(init);
                }
                self.fixpoint(args, after, |walk| {
                    walk.block(before);
                    for (&value, &arg) in passed.iter().zip(after_args) {
                        walk.copy(value, arg);
                    }
                    walk.block(after);
                });
                for (&value, &result) in passed.iter().zip(results) {
                    self.copy(value, result);
                }
            }
            OpKind::If => {
                for &region in &op.regions {
                    self.block(region);
                }
                let first = function.passed(op.regions[0]);
                let second = op.regions.get(1).map_or(&[][..], |&r| function.passed(r));
                for (index, &result) in op.results.iter().enumerate() {
                    if let (Some(&a), Some(&b)) = (first.get(index), second.get(index)) {
                        self.copy(a, result);
                        self.facts.natural[result.index()] = self.facts.is_natural(a);
                        self.join(b, result);
                    }
                }
            }
            // What holds wherever the function runs holds of its values.
            OpKind::Assume if self.here == function.body => self.assume(op.operands[0]),
            OpKind::Reduce { .. } | OpKind::Scan { .. } | OpKind::Map { .. } => {
                // The region's arguments are any elements: nothing is known of them, nor of what comes out.
                op.regions.iter().for_each(|&r| self.block(r));
            }
            _ => {
                if let [result] = op.results[..] {
                    let axis = axis::transfer(function, &self.facts, op, result);
                    let range = match op.kind {
                        OpKind::ProgramId { axis } => {
                            self.grid.get(usize::from(axis)).copied().flatten().map(|n| Range::new(0, (n.max - 1).max(0)))
                        }
                        OpKind::NumPrograms { axis } => self.grid.get(usize::from(axis)).copied().flatten(),
                        _ => None,
                    };
                    let range = range.unwrap_or_else(|| range::transfer(function, &self.facts, op, result));
                    let natural = self.natural(op);
                    self.facts.axes[result.index()] = axis;
                    self.facts.ranges[result.index()] = range;
                    self.facts.natural[result.index()] = natural;
                }
            }
        }
    }

    fn natural(&self, op: &crate::ops::Op) -> bool {
        let all = |n: usize| op.operands.iter().take(n).all(|&v| self.facts.is_natural(v));
        match &op.kind {
            OpKind::ProgramId { .. } | OpKind::NumPrograms { .. } => true,
            OpKind::Iota { start, .. } => *start >= 0,
            kind if kind.is_view() => all(1),
            OpKind::Select | OpKind::Choose => op.operands[1..].iter().all(|&v| self.facts.is_natural(v)),
            OpKind::Cast(CastOp::ExtS) => all(1),
            OpKind::Cast(CastOp::ExtU) => true,
            OpKind::Binary(BinaryOp::AddI | BinaryOp::MulI | BinaryOp::MinS | BinaryOp::Or | BinaryOp::Xor) => all(2),
            // A divisor that is a difference of sizes, such as the height of the last group of programs, is positive where it divides.
            OpKind::Binary(BinaryOp::DivS | BinaryOp::RemS | BinaryOp::ShrS | BinaryOp::Shl) => all(1),
            OpKind::Binary(BinaryOp::MaxS | BinaryOp::And) => op.operands.iter().any(|&v| self.facts.is_natural(v)),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;
    use crate::{
        module::Builder,
        types::{Elem, Scalar, Type},
    };

    fn check(function: &Function, expected: Expect) {
        expected.assert_eq(&listing(function, &of_function(function)));
    }

    fn ints(n: u32) -> Type {
        Type::tile(Elem::Scalar(Scalar::I32), [n].as_slice())
    }

    #[test]
    fn a_block_of_a_vector_is_contiguous_and_its_mask_constant_in_runs() {
        let mut f = Function::new("add");
        let x = f.add_param("x", Type::ptr(Scalar::F32), 16);
        let n = f.add_param("n", Type::scalar(Scalar::I32), 16);
        let body = f.body;
        let mut b = Builder::at_end(&mut f, body);
        let pid = b.value(OpKind::ProgramId { axis: 0 }, &[], Type::scalar(Scalar::I32));
        let block = b.i32(1024);
        let base = b.value(OpKind::Binary(BinaryOp::MulI), &[pid, block], Type::scalar(Scalar::I32));
        let iota = b.value(OpKind::Iota { start: 0, end: 1024 }, &[], ints(1024));
        let base = b.value(OpKind::Splat, &[base], ints(1024));
        let offsets = b.value(OpKind::Binary(BinaryOp::AddI), &[base, iota], ints(1024));
        let bound = b.value(OpKind::Splat, &[n], ints(1024));
        let flags = Type::tile(Elem::Scalar(Scalar::I1), [1024].as_slice());
        b.value(OpKind::Compare(Predicate::LtS), &[offsets, bound], flags);
        b.value(OpKind::Binary(BinaryOp::RemS), &[offsets, bound], ints(1024));
        let pointers = Type::tile(Elem::Ptr(Scalar::F32), [1024].as_slice());
        let base = b.value(OpKind::Splat, &[x], pointers.clone());
        b.value(OpKind::AddPtr, &[base, offsets], pointers);
        b.op(OpKind::Return, &[], [], &[]);
        check(
            &f,
            expect![[r#"
                x: *f32 divisible 16 contiguous 1 constant 1 = x
                n: i32 divisible 16 contiguous 1 constant 1 = n
                programid0.0: i32 divisible 1 contiguous 1 constant 1 in [0, 2147483646] = pid0
                constant1.0: i32 divisible 1024 contiguous 1 constant 1 in [1024, 1024] = 1024
                muli2.0: i32 divisible 1024 contiguous 1 constant 1 = 1024·pid0
                iota3.0: i32[1024] divisible any contiguous 1024 constant 1 in [0, 1023] = i0
                splat4.0: i32[1024] divisible 1024 contiguous 1 constant 1024 = 1024·pid0
                addi5.0: i32[1024] divisible 1024 contiguous 1024 constant 1 = i0 + 1024·pid0
                splat6.0: i32[1024] divisible 16 contiguous 1 constant 1024 = n
                lts7.0: i1[1024] divisible 1 contiguous 1 constant 16
                rems8.0: i32[1024] divisible 16 contiguous 16 constant 1
                splat9.0: *f32[1024] divisible 16 contiguous 1 constant 1024 = x
                addptr10.0: *f32[1024] divisible 16 contiguous 1024 constant 1 = 4·i0 + 4096·pid0 + x
            "#]],
        );
    }

    #[test]
    fn a_pointer_carried_through_a_loop_keeps_what_every_trip_keeps() {
        let mut f = Function::new("walk");
        let x = f.add_param("x", Type::ptr(Scalar::F16), 16);
        let n = f.add_param("n", Type::scalar(Scalar::I32), 1);
        let body = f.body;
        let mut b = Builder::at_end(&mut f, body);
        let zero = b.i32(0);
        let step = b.i32(32);
        let iota = b.value(OpKind::Iota { start: 0, end: 64 }, &[], ints(64));
        let pointers = Type::tile(Elem::Ptr(Scalar::F16), [64].as_slice());
        let base = b.value(OpKind::Splat, &[x], pointers.clone());
        let first = b.value(OpKind::AddPtr, &[base, iota], pointers.clone());
        let region = b.function.add_block();
        b.function.add_block_arg(region, Type::scalar(Scalar::I32));
        let carried = b.function.add_block_arg(region, pointers.clone());
        let mut inner = Builder::at_end(b.function, region);
        let by = inner.int(32, ints(64));
        let next = inner.value(OpKind::AddPtr, &[carried, by], pointers.clone());
        inner.op(OpKind::Yield, &[next], [], &[]);
        b.op(OpKind::For(Default::default()), &[zero, n, step, first], [pointers], &[region]);
        b.op(OpKind::Return, &[], [], &[]);
        check(
            &f,
            expect![[r#"
                x: *f16 divisible 16 contiguous 1 constant 1 = x
                n: i32 divisible 1 contiguous 1 constant 1 = n
                constant0.0: i32 divisible any contiguous 1 constant 1 in [0, 0] = 0
                constant1.0: i32 divisible 32 contiguous 1 constant 1 in [32, 32] = 32
                iota2.0: i32[64] divisible any contiguous 64 constant 1 in [0, 63] = i0
                splat3.0: *f16[64] divisible 16 contiguous 1 constant 64 = x
                addptr4.0: *f16[64] divisible 16 contiguous 64 constant 1 = 2·i0 + x
                for8.0: *f16[64] divisible 16 contiguous 64 constant 1
                arg1#0.0: i32 divisible 32 contiguous 1 constant 1 in [0, 2147483646] = 32·trip1
                arg1#1.1: *f16[64] divisible 16 contiguous 64 constant 1 = 2·i0 + 64·trip1 + x
                constant5.0: i32[64] divisible 32 contiguous 1 constant 64 in [32, 32] = 32
                addptr6.0: *f16[64] divisible 16 contiguous 64 constant 1 = 64 + 2·i0 + 64·trip1 + x
            "#]],
        );
    }
}
