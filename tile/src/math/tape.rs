//! Straight-line programs over floats and integers, and the notation they are written in.
//!
//! A function of the library is written once, with operators, on values that record what is done to them; what is recorded is run by
//! the interpreter and written out by the emitters. **Invariant:** every operation is rounded once, as IEEE 754 says, and none is fused
//! or reordered, so a program gives the same bits wherever it runs (but for NaN, which is one value, and [`Op::Approx`]).

use std::{
    cell::RefCell,
    marker::PhantomData,
    ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Shl, Sub},
};

use smallvec::SmallVec;

use crate::types::Scalar;

/// A recorded function.
#[derive(Debug, PartialEq, Eq)]
pub struct Program {
    /// Unique in the library, and a name LLVM accepts.
    pub name: String,
    pub params: Vec<Scalar>,
    pub nodes: Vec<Node>,
    /// The nodes that are returned.
    pub results: Vec<u32>,
}

/// One operation; its operands are nodes before it.
#[derive(Debug, PartialEq, Eq)]
pub struct Node {
    pub op: Op,
    pub ty: Scalar,
    pub args: SmallVec<[u32; 4]>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    Param(u32),
    /// The bits.
    Const(u64),
    Float(FloatOp),
    Approx(Approx),
    Int(IntOp),
    Compare(Compare),
    /// (condition, then, else)
    Select,
    Convert(Convert),
    /// The entry of a table (bits of the type) at an unsigned `i32` index, the last one beyond its end.
    Lookup(&'static [u64]),
    /// All results of a program; parts of it are taken with `Part`. Its type is that of the first.
    Call(&'static Program),
    /// (condition, arguments…, one value per result): those values where the condition is false. Meant for what is rarely true.
    CallIf(&'static Program),
    /// A program from its parameters to the same and a bool: run on its own results until the bool is false, once at least.
    Loop(&'static Program),
    /// A result of the call or loop that is its operand.
    Part(u32),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FloatOp {
    Add,
    Sub,
    Mul,
    Div,
    Fma,
    Sqrt,
    Neg,
    Abs,
    CopySign,
    /// To nearest, ties to even.
    Rint,
    Trunc,
    Floor,
    Ceil,
}

/// The special-function unit's, of `f32`; the CPU gives the nearest float.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Approx {
    Ex2,
    Ex2Ftz,
    Lg2,
    Sin,
    Cos,
    /// A root, and a root's reciprocal, of which denormals are 0.
    Sqrt,
    Rsqrt,
    /// A reciprocal; denormals are 0.
    RcpFtz,
    /// Of two, within 2 ulp.
    DivFull,
    /// Of two, for divisors of ordinary size.
    Div,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IntOp {
    Add,
    Sub,
    Mul,
    /// The high halves of products.
    MulHiS,
    MulHiU,
    /// Unsigned; of 0 as divisor the dividend.
    RemU,
    And,
    Or,
    Xor,
    /// By the operand modulo the width.
    Shl,
    ShrU,
    ShrS,
    /// Leading zeros.
    Clz,
    Popc,
    Brev,
}

/// Float comparisons are ordered but for `Uno`: one of them is NaN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compare {
    Eq,
    Lt,
    Le,
    Uno,
    IntEq,
    LtS,
    LtU,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Convert {
    /// Float to float.
    Float,
    IntToFloat,
    UIntToFloat,
    /// Toward zero, saturating, NaN to 0.
    FloatToInt,
    Bits,
    ExtS,
    ExtU,
    Trunc,
}

/// What a program is recorded on.
#[derive(Debug, Default)]
pub struct Tape {
    nodes: RefCell<Vec<Node>>,
}

impl Tape {
    fn push(&'static self, op: Op, ty: Scalar, args: &[u32]) -> u32 {
        let mut nodes = self.nodes.borrow_mut();
        nodes.push(Node { op, ty, args: SmallVec::from_slice(args) });
        nodes.len() as u32 - 1
    }

    fn param<T: Elem>(&'static self, index: u32) -> V<T> {
        self.value(self.push(Op::Param(index), T::SCALAR, &[]))
    }

    fn value<T>(&'static self, id: u32) -> V<T> {
        V { tape: self, id, kind: PhantomData }
    }
}

/// A value of a program being written.
#[derive(Debug)]
pub struct V<T> {
    tape: &'static Tape,
    id: u32,
    kind: PhantomData<T>,
}

impl<T> Clone for V<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for V<T> {}

pub trait Elem: Copy + 'static {
    const SCALAR: Scalar;
}

pub trait Number: Elem {}

pub trait Int: Number + Bitwise {}

pub trait Float: Number {
    type Bits: Int;
    /// Digits behind the point.
    const DIGITS: i64;
    /// Of the exponent.
    const BIAS: i64;
    /// What is written for this format: `f32`'s or `f64`'s.
    fn pick<X>(narrow: X, wide: X) -> X;
}

macro_rules! elements {
    ($($ty:ident $scalar:ident),+) => { $(impl Elem for $ty { const SCALAR: Scalar = Scalar::$scalar; })+ };
}
elements!(bool I1, i32 I32, i64 I64, f32 F32, f64 F64);
impl Number for i32 {}
impl Number for i64 {}
impl Number for f32 {}
impl Number for f64 {}
impl Int for i32 {}
impl Int for i64 {}

impl Float for f32 {
    type Bits = i32;
    const DIGITS: i64 = 23;
    const BIAS: i64 = 127;
    fn pick<X>(narrow: X, _: X) -> X {
        narrow
    }
}

impl Float for f64 {
    type Bits = i64;
    const DIGITS: i64 = 52;
    const BIAS: i64 = 1023;
    fn pick<X>(_: X, wide: X) -> X {
        wide
    }
}

/// What stands to the right of an operator: a value or a constant.
pub trait Operand<T> {
    fn on(self, tape: &'static Tape) -> V<T>;
}

impl<T> Operand<T> for V<T> {
    fn on(self, _: &'static Tape) -> V<T> {
        self
    }
}

impl<F: Float> Operand<F> for f64 {
    fn on(self, tape: &'static Tape) -> V<F> {
        let bits = F::pick(u64::from((self as f32).to_bits()), self.to_bits());
        tape.value(tape.push(Op::Const(bits), F::SCALAR, &[]))
    }
}

impl<I: Int> Operand<I> for i64 {
    fn on(self, tape: &'static Tape) -> V<I> {
        let bits = if I::SCALAR == Scalar::I32 { u64::from(self as u32) } else { self as u64 };
        tape.value(tape.push(Op::Const(bits), I::SCALAR, &[]))
    }
}

impl Operand<bool> for bool {
    fn on(self, tape: &'static Tape) -> V<bool> {
        tape.value(tape.push(Op::Const(u64::from(self)), Scalar::I1, &[]))
    }
}

macro_rules! operators {
    ($($trait:ident $method:ident $bound:ident $op:expr;)+) => { $(
        impl<T: $bound, O: Operand<T>> $trait<O> for V<T> {
            type Output = V<T>;
            fn $method(self, other: O) -> V<T> {
                let other = other.on(self.tape);
                #[allow(clippy::redundant_closure_call)]
                self.record(($op)(T::SCALAR), &[self.id, other.id])
            }
        }
    )+ };
}

fn arithmetic(scalar: Scalar, float: FloatOp, int: IntOp) -> Op {
    if scalar.is_float() { Op::Float(float) } else { Op::Int(int) }
}

operators! {
    Add add Number |s| arithmetic(s, FloatOp::Add, IntOp::Add);
    Sub sub Number |s| arithmetic(s, FloatOp::Sub, IntOp::Sub);
    Mul mul Number |s| arithmetic(s, FloatOp::Mul, IntOp::Mul);
    Div div Float |_| Op::Float(FloatOp::Div);
    BitAnd bitand Bitwise |_| Op::Int(IntOp::And);
    BitOr bitor Bitwise |_| Op::Int(IntOp::Or);
    BitXor bitxor Bitwise |_| Op::Int(IntOp::Xor);
    Shl shl Int |_| Op::Int(IntOp::Shl);
}

pub trait Bitwise: Elem {}
impl Bitwise for bool {}
impl Bitwise for i32 {}
impl Bitwise for i64 {}

impl<T: Number> Neg for V<T> {
    type Output = V<T>;
    fn neg(self) -> V<T> {
        if T::SCALAR.is_float() {
            return self.record(Op::Float(FloatOp::Neg), &[self.id]);
        }
        let zero: V<T> = self.record(Op::Const(0), &[]);
        self.record(Op::Int(IntOp::Sub), &[zero.id, self.id])
    }
}

impl Not for V<bool> {
    type Output = V<bool>;
    fn not(self) -> V<bool> {
        self ^ true
    }
}

impl<T> V<T> {
    fn record<R: Elem>(self, op: Op, args: &[u32]) -> V<R> {
        self.tape.value(self.tape.push(op, R::SCALAR, args))
    }

    /// A constant beside this value.
    pub fn constant<R>(self, value: impl Operand<R>) -> V<R> {
        value.on(self.tape)
    }
}

impl V<bool> {
    pub fn select<R: Elem>(self, a: impl Operand<R>, b: impl Operand<R>) -> V<R> {
        let (a, b) = (a.on(self.tape), b.on(self.tape));
        self.record(Op::Select, &[self.id, a.id, b.id])
    }

    /// 1 or 0.
    pub fn int<I: Int>(self) -> V<I> {
        self.record(Op::Convert(Convert::ExtU), &[self.id])
    }
}

impl<T: Number> V<T> {
    pub fn is(self, other: impl Operand<T>) -> V<bool> {
        let other = other.on(self.tape);
        let op = if T::SCALAR.is_float() { Compare::Eq } else { Compare::IntEq };
        self.record(Op::Compare(op), &[self.id, other.id])
    }

    /// Another width: integers with their sign.
    pub fn cast<R: Number>(self) -> V<R> {
        let op = match (T::SCALAR, R::SCALAR) {
            (from, to) if from == to => Convert::Bits,
            (Scalar::I32, Scalar::I64) => Convert::ExtS,
            (Scalar::I64, Scalar::I32) => Convert::Trunc,
            (Scalar::F32 | Scalar::F64, _) => Convert::Float,
            _ => Convert::IntToFloat,
        };
        self.record(Op::Convert(op), &[self.id])
    }
}

impl<I: Int> V<I> {
    fn with(self, op: IntOp, other: impl Operand<I>) -> V<I> {
        let other = other.on(self.tape);
        self.record(Op::Int(op), &[self.id, other.id])
    }

    fn against(self, compare: Compare, other: impl Operand<I>) -> V<bool> {
        let other = other.on(self.tape);
        self.record(Op::Compare(compare), &[self.id, other.id])
    }

    pub fn shr_u(self, by: impl Operand<I>) -> V<I> {
        self.with(IntOp::ShrU, by)
    }

    pub fn shr_s(self, by: impl Operand<I>) -> V<I> {
        self.with(IntOp::ShrS, by)
    }

    pub fn mul_hi_s(self, other: impl Operand<I>) -> V<I> {
        self.with(IntOp::MulHiS, other)
    }

    pub fn mul_hi_u(self, other: impl Operand<I>) -> V<I> {
        self.with(IntOp::MulHiU, other)
    }

    pub fn rem_u(self, other: impl Operand<I>) -> V<I> {
        self.with(IntOp::RemU, other)
    }

    pub fn leading_zeros(self) -> V<I> {
        self.record(Op::Int(IntOp::Clz), &[self.id])
    }

    pub fn count_ones(self) -> V<I> {
        self.record(Op::Int(IntOp::Popc), &[self.id])
    }

    pub fn reverse_bits(self) -> V<I> {
        self.record(Op::Int(IntOp::Brev), &[self.id])
    }

    pub fn lt_s(self, other: impl Operand<I>) -> V<bool> {
        self.against(Compare::LtS, other)
    }

    pub fn lt_u(self, other: impl Operand<I>) -> V<bool> {
        self.against(Compare::LtU, other)
    }

    pub fn gt_s(self, other: impl Operand<I>) -> V<bool> {
        let other = other.on(self.tape);
        other.lt_s(self)
    }

    /// The other integer type, unsigned.
    pub fn cast_u<R: Int>(self) -> V<R> {
        let op = match (I::SCALAR, R::SCALAR) {
            (Scalar::I32, Scalar::I64) => Convert::ExtU,
            (Scalar::I64, Scalar::I32) => Convert::Trunc,
            _ => Convert::Bits,
        };
        self.record(Op::Convert(op), &[self.id])
    }

    pub fn float<F: Float>(self) -> V<F> {
        self.record(Op::Convert(Convert::IntToFloat), &[self.id])
    }

    pub fn float_u<F: Float>(self) -> V<F> {
        self.record(Op::Convert(Convert::UIntToFloat), &[self.id])
    }

    /// The float of these bits.
    pub fn as_float<F: Float<Bits = I>>(self) -> V<F> {
        self.record(Op::Convert(Convert::Bits), &[self.id])
    }
}

impl V<i32> {
    /// The entry of a table at this index.
    pub fn lookup<R: Elem>(self, table: &'static [u64]) -> V<R> {
        self.record(Op::Lookup(table), &[self.id])
    }
}

impl<F: Float> V<F> {
    fn float_op(self, op: FloatOp) -> V<F> {
        self.record(Op::Float(op), &[self.id])
    }

    fn compared(self, compare: Compare, other: impl Operand<F>) -> V<bool> {
        let other = other.on(self.tape);
        self.record(Op::Compare(compare), &[self.id, other.id])
    }

    /// `self · b + c`, rounded once.
    pub fn fma(self, b: impl Operand<F>, c: impl Operand<F>) -> V<F> {
        let (b, c) = (b.on(self.tape), c.on(self.tape));
        self.record(Op::Float(FloatOp::Fma), &[self.id, b.id, c.id])
    }

    pub fn sqrt(self) -> V<F> {
        self.float_op(FloatOp::Sqrt)
    }

    pub fn abs(self) -> V<F> {
        self.float_op(FloatOp::Abs)
    }

    pub fn rint(self) -> V<F> {
        self.float_op(FloatOp::Rint)
    }

    pub fn trunc(self) -> V<F> {
        self.float_op(FloatOp::Trunc)
    }

    pub fn floor(self) -> V<F> {
        self.float_op(FloatOp::Floor)
    }

    pub fn ceil(self) -> V<F> {
        self.float_op(FloatOp::Ceil)
    }

    pub fn copysign(self, sign: impl Operand<F>) -> V<F> {
        let sign = sign.on(self.tape);
        self.record(Op::Float(FloatOp::CopySign), &[self.id, sign.id])
    }

    pub fn lt(self, other: impl Operand<F>) -> V<bool> {
        self.compared(Compare::Lt, other)
    }

    pub fn le(self, other: impl Operand<F>) -> V<bool> {
        self.compared(Compare::Le, other)
    }

    pub fn gt(self, other: impl Operand<F>) -> V<bool> {
        let other = other.on(self.tape);
        other.lt(self)
    }

    pub fn ge(self, other: impl Operand<F>) -> V<bool> {
        let other = other.on(self.tape);
        other.le(self)
    }

    pub fn is_nan(self) -> V<bool> {
        self.compared(Compare::Uno, self)
    }

    pub fn is_infinite(self) -> V<bool> {
        self.abs().is(f64::INFINITY)
    }

    pub fn bits(self) -> V<F::Bits> {
        self.record(Op::Convert(Convert::Bits), &[self.id])
    }

    pub fn int<I: Int>(self) -> V<I> {
        self.record(Op::Convert(Convert::FloatToInt), &[self.id])
    }

    /// The larger, or the other if this one is NaN.
    pub fn max(self, other: impl Operand<F>) -> V<F> {
        let other = other.on(self.tape);
        self.gt(other).select(self, other)
    }

    /// The smaller, or the other if this one is NaN.
    pub fn min(self, other: impl Operand<F>) -> V<F> {
        let other = other.on(self.tape);
        self.lt(other).select(self, other)
    }

    /// The polynomial with these coefficients, the constant term first.
    pub fn polynomial(self, coefficients: &[f64]) -> V<F> {
        let mut rest = coefficients.iter().rev();
        let mut sum: V<F> = self.constant(rest.next().copied().unwrap_or(0.0));
        for &c in rest {
            sum = sum.fma(self, c);
        }
        sum
    }

    /// [`V::polynomial`] with `f32`'s or `f64`'s coefficients.
    pub fn series(self, narrow: &[f64], wide: &[f64]) -> V<F> {
        self.polynomial(F::pick(narrow, wide))
    }

    /// 2 to a power that is in the range of normal numbers.
    pub fn power_of_two(exponent: V<F::Bits>) -> V<F> {
        ((exponent + F::BIAS) << F::DIGITS).as_float()
    }
}

impl V<f32> {
    pub fn approx(self, op: Approx) -> V<f32> {
        self.record(Op::Approx(op), &[self.id])
    }

    pub fn approx_with(self, op: Approx, other: impl Operand<f32>) -> V<f32> {
        let other = other.on(self.tape);
        self.record(Op::Approx(op), &[self.id, other.id])
    }
}

/// The parameters or the results of a program: one value or several.
pub trait Values: Copy {
    const COUNT: usize;
    fn scalars() -> Vec<Scalar>;
    fn params(tape: &'static Tape, first: u32) -> Self;
    fn ids(self) -> Vec<u32>;
    fn parts(tape: &'static Tape, call: u32, first: u32) -> Self;
    fn tape(self) -> &'static Tape;
}

impl<T: Elem> Values for V<T> {
    const COUNT: usize = 1;
    fn scalars() -> Vec<Scalar> {
        vec![T::SCALAR]
    }
    fn params(tape: &'static Tape, first: u32) -> Self {
        tape.param(first)
    }
    fn ids(self) -> Vec<u32> {
        vec![self.id]
    }
    fn parts(tape: &'static Tape, call: u32, first: u32) -> Self {
        tape.value(tape.push(Op::Part(first), T::SCALAR, &[call]))
    }
    fn tape(self) -> &'static Tape {
        self.tape
    }
}

macro_rules! tuples {
    ($($name:ident)+) => {
        impl<$($name: Values),+> Values for ($($name,)+) {
            const COUNT: usize = 0 $(+ $name::COUNT)+;
            fn scalars() -> Vec<Scalar> {
                [$($name::scalars()),+].concat()
            }
            fn params(tape: &'static Tape, mut first: u32) -> Self {
                ($({ let value = $name::params(tape, first); first += $name::COUNT as u32; let _ = first; value },)+)
            }
            #[allow(non_snake_case)]
            fn ids(self) -> Vec<u32> {
                let ($($name,)+) = self;
                [$($name.ids()),+].concat()
            }
            fn parts(tape: &'static Tape, call: u32, mut first: u32) -> Self {
                ($({ let value = $name::parts(tape, call, first); first += $name::COUNT as u32; let _ = first; value },)+)
            }
            fn tape(self) -> &'static Tape {
                self.0.tape()
            }
        }
    };
}
tuples!(A B);
tuples!(A B C);
tuples!(A B C D);
tuples!(A B C D E);
tuples!(A B C D E G);

impl Program {
    /// Calls on the values; each result is a value.
    pub fn call<P: Values, R: Values>(&'static self, args: P) -> R {
        let tape = args.tape();
        debug_assert!(self.params == P::scalars() && self.result_types() == R::scalars(), "{}", self.name);
        let call = tape.push(Op::Call(self), self.nodes[self.results[0] as usize].ty, &args.ids());
        R::parts(tape, call, 0)
    }

    /// Calls where the condition holds, and gives `otherwise` elsewhere.
    pub fn call_if<P: Values, R: Values>(&'static self, condition: V<bool>, args: P, otherwise: R) -> R {
        let tape = args.tape();
        debug_assert!(self.params == P::scalars() && self.result_types() == R::scalars(), "{}", self.name);
        let operands = [vec![condition.id], args.ids(), otherwise.ids()].concat();
        let call = tape.push(Op::CallIf(self), self.nodes[self.results[0] as usize].ty, &operands);
        R::parts(tape, call, 0)
    }

    /// Repeats from these values on.
    pub fn repeat<P: Values>(&'static self, start: P) -> P {
        let tape = start.tape();
        debug_assert!(self.params == P::scalars() && self.results.len() == P::COUNT + 1, "{}", self.name);
        let call = tape.push(Op::Loop(self), self.params[0], &start.ids());
        P::parts(tape, call, 0)
    }

    pub fn result_types(&self) -> Vec<Scalar> {
        self.results.iter().map(|&id| self.nodes[id as usize].ty).collect()
    }
}

/// Records a function. Its tape outlives it, a few bytes a program, so that values need not name it; programs are kept for good anyway.
pub fn record<P: Values, R: Values>(name: &str, body: impl FnOnce(P) -> R) -> Program {
    let tape: &'static Tape = Box::leak(Box::default());
    let results = body(P::params(tape, 0)).ids();
    Program { name: name.to_owned(), params: P::scalars(), nodes: tape.nodes.take(), results }
}
