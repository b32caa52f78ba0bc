//! What a host program computes: the contents of its tensors, the launches between them, and what it checks of them.
//!
//! The evaluation of host code (`host/`) records it; `runtime` runs it. A node is the contents of one memory, a row-major sequence of
//! elements, and is never changed: a launch or a store makes a new node of the same memory. **Invariant:** a node reads only nodes before it.

use std::ops::Range;

use smol_str::SmolStr;

use crate::{dtype::DType, host::HostPlace, launch::Init};

/// Index into [`Program::nodes`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub u32);

impl NodeId {
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Program {
    pub nodes: Vec<Node>,
    pub steps: Vec<Step>,
    pub checks: Vec<Check>,
}

/// The contents of a memory.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    pub dtype: DType,
    pub shape: Vec<u64>,
    pub op: Op,
}

impl Node {
    pub fn numel(&self) -> u64 {
        self.shape.iter().fold(1, |n, &extent| n.saturating_mul(extent))
    }
}

/// Elements of a node as an array: strides count elements, and are 0 along axes that repeat.
#[derive(Debug, Clone, PartialEq)]
pub struct View {
    pub node: NodeId,
    pub shape: Vec<u64>,
    pub strides: Vec<u64>,
    pub offset: u64,
}

/// How contents come about. Floats are computed in `f64` and rounded only by [`Op::Copy`], by what stores them, and for a launch.
#[derive(Debug, Clone, PartialEq)]
pub enum Op {
    /// With the name that its stream of random numbers has.
    Init(Init, SmolStr),
    /// Numbers that the text lists.
    Listed(Vec<f64>),
    Unary(Unary, View),
    /// Of views of one shape.
    Binary(Binary, View, View),
    /// `condition ? then : otherwise`
    Select(View, View, View),
    /// Over the last axes of a view, so many of them.
    Reduce(Reduce, View, usize),
    /// Along the last axis of a view.
    Scan(Scan, View),
    /// `[B, M, K] × [B, K, N]`
    MatMul(View, View),
    /// Row-major, rounded to the node's dtype.
    Copy(View),
    /// The same, through which no gradient goes back.
    Detached(View),
    /// A memory after the elements of a view of it were set, whose node is what it was before.
    Store {
        into: View,
        value: View,
    },
    /// Zeros, to which a value is added at the elements of a view of the node: the adjoint of reading that view.
    Spread {
        shape: Vec<u64>,
        strides: Vec<u64>,
        offset: u64,
        value: View,
    },
    /// `of` at the indices that stand in the last axis of `index`, along its own last axis; the other axes agree.
    Take {
        of: View,
        index: View,
    },
    /// The order in which the last axis is sorted.
    Argsort {
        of: View,
        descending: bool,
    },
    /// A memory after a launch.
    Launched {
        step: usize,
        memory: usize,
    },
}

impl Op {
    pub fn reads(&self) -> Vec<&View> {
        match self {
            Op::Init(..) | Op::Listed(_) | Op::Launched { .. } => vec![],
            Op::Unary(_, x)
            | Op::Reduce(_, x, _)
            | Op::Scan(_, x)
            | Op::Copy(x)
            | Op::Detached(x)
            | Op::Argsort { of: x, .. } => vec![x],
            Op::Binary(_, a, b) | Op::MatMul(a, b) => vec![a, b],
            Op::Select(a, b, c) => vec![a, b, c],
            Op::Store { into, value } => vec![into, value],
            Op::Spread { value, .. } => vec![value],
            Op::Take { of, index } => vec![of, index],
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unary {
    Neg,
    Abs,
    Sign,
    Exp,
    Exp2,
    Log,
    Log2,
    Sqrt,
    Sin,
    Cos,
    Tan,
    Asin,
    Acos,
    Atan,
    Sinh,
    Cosh,
    Tanh,
    Erf,
    Sigmoid,
    Floor,
    Ceil,
    Round,
    Trunc,
    Not,
    IsNan,
    IsInf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Binary {
    Add,
    Sub,
    Mul,
    Div,
    FloorDiv,
    Remainder,
    Pow,
    Maximum,
    Minimum,
    Less,
    LessEqual,
    Equal,
    NotEqual,
    And,
    Or,
    Xor,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reduce {
    Sum,
    Prod,
    Max,
    Min,
    ArgMax,
    ArgMin,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scan {
    Sum,
    Prod,
    Max,
    Min,
}

/// A call of a kernel, with every row of its tuner that is followed.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    pub place: HostPlace,
    /// Those of the file's launches that it makes, one for each row; each begins with the same contents.
    pub launches: Vec<usize>,
    /// What each memory of the launch holds before; after it, node `after + index` does.
    pub before: Vec<NodeId>,
    pub after: u32,
}

impl Step {
    pub fn results(&self) -> Range<usize> {
        self.after as usize..self.after as usize + self.before.len()
    }
}

/// What the program asks of its results.
#[derive(Debug, Clone, PartialEq)]
pub struct Check {
    pub place: HostPlace,
    pub what: Checked,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Checked {
    /// One tensor beside another: `torch.allclose(y, reference)`.
    Close {
        left: View,
        right: View,
        /// As the text calls them.
        names: [String; 2],
        tolerance: Option<Tolerance>,
    },
    /// `assert (x >= 0).all()`: as the text has it.
    Holds(View, String),
    /// Why it is not known what is compared.
    Unknown(SmolStr),
}

/// `|left − right| ≤ absolute + relative · |right|`, as the text says it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tolerance {
    pub relative: f64,
    pub absolute: f64,
}
