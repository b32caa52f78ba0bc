//! The operations of the tile IR.
//!
//! An operation is its kind (with typed attributes), its operands, its results and its regions; what each kind means is defined by
//! [`crate::interpret`] and what is well formed by [`crate::verify`]; what else is asked of it is its row in `table.rs`, and what matches treat
//! alike is a group of [`kinds`](crate::kinds). **Invariant:** nothing about a kind is stored outside its variant, its row, its group and the
//! functions that match on it exhaustively.
//!
//! Elementwise kinds take scalars or tiles; all operands and results then have one shape (splat and broadcast are explicit).

mod groups;
mod table;

use smallvec::SmallVec;

use crate::{
    libdevice::Symbol,
    module::{BlockId, FunctionId, ValueId},
    types::Shape,
};
pub use table::{Class, Effect};

/// Where an operation comes from: an index into the table its producer keeps. `Origin::NONE` for what a pass invents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Origin(pub u32);

impl Origin {
    pub const NONE: Origin = Origin(u32::MAX);
}

#[derive(Debug, Clone, PartialEq)]
pub struct Op {
    pub kind: OpKind,
    pub operands: SmallVec<[ValueId; 4]>,
    pub results: SmallVec<[ValueId; 2]>,
    pub regions: SmallVec<[BlockId; 2]>,
    /// Byte offset of this op's buffer or scratch in shared memory, once `assign_shared` has run.
    pub shared_offset: Option<u32>,
    pub origin: Origin,
}

#[derive(Debug, Clone, PartialEq)]
pub enum OpKind {
    // ---- values from nowhere
    /// A number, splat over the result type. Floats are kept as `f64`; the result type rounds.
    Constant(Constant),
    ProgramId {
        axis: u8,
    },
    NumPrograms {
        axis: u8,
    },
    SpecialRegister(SpecialRegister),
    /// `start, start+1, …, end-1` as `i32[end - start]`.
    Iota {
        start: i32,
        end: i32,
    },

    // ---- shape
    /// A scalar to every element of a tile.
    Splat,
    /// Inserts an extent of 1 at `axis`.
    ExpandDims {
        axis: u8,
    },
    /// Extents of 1 grow to the result's.
    Broadcast,
    /// Row-major order is kept unless `reorder`.
    Reshape {
        reorder: bool,
    },
    /// `result.shape[i] = operand.shape[order[i]]`.
    Transpose {
        order: SmallVec<[u8; 4]>,
    },

    // ---- elementwise
    Unary(UnaryOp),
    Binary(BinaryOp),
    Compare(Predicate),
    /// `condition ? a : b`; the condition is `i1`.
    Select,
    /// Operands: an `i32`, then values. Result: the value that stands where the number says, from 0; of a number beyond them it is undefined.
    Choose,
    /// `a * b + c` rounded once.
    Fma,
    Cast(CastOp),
    /// Pointer plus offset in elements; the offset is a signed `i32` or `i64`.
    AddPtr,
    /// The operand, of which the user promises something along each axis (a scalar has one). Nothing checks it.
    Promise {
        what: PromiseOp,
        values: SmallVec<[u32; 2]>,
    },
    /// A function of the device library, by its row in [`crate::libdevice`].
    Libdevice(Symbol),
    /// Machine instructions over `pack` neighbouring elements at a time. Any number of results; all operands and results have one shape.
    InlineAsm(Box<InlineAsm>),
    /// Operands: n tiles of one shape. Region: `n·pack` scalars (the `pack` elements of the first operand, then of the second, …),
    /// yields `m·pack` for m results. It may branch and loop.
    Map {
        pack: u32,
    },

    // ---- memory
    /// Operands: pointer, then optionally mask, then optionally other. A masked-off element without `other` is undefined.
    Load(LoadAttrs),
    /// Operands: pointer, value, then optionally mask.
    Store(StoreAttrs),
    /// Operands: pointer, value, then optionally mask. Result: the old value.
    AtomicRmw {
        op: AtomicOp,
        sem: MemSem,
        scope: MemScope,
        /// As [`LoadAttrs::vector`].
        vector: u8,
    },

    /// Operands: pointer, expected value, new value. Result: the old value; stored only where the old bits are the expected ones.
    AtomicCas {
        sem: MemSem,
        scope: MemScope,
    },

    // ---- collective
    /// Operands: source, which may be a `Shared` buffer in row-major order, index. `result[.., i, ..] = source[.., index[.., i, ..], ..]` along `axis`; an index outside is undefined.
    Gather {
        axis: u8,
    },
    /// Operands: a vector of integers, then optionally a mask. Result: `i32[bins]`; elements outside `0..bins` count nowhere.
    Histogram,
    /// Operands: n tiles of one shape. Region: 2n scalar arguments (left…, right…), yields n. Results drop `axis`.
    Reduce {
        axis: u8,
    },
    /// As `Reduce`, results keep the shape: inclusive scan along `axis`.
    Scan {
        axis: u8,
        reverse: bool,
    },
    /// Operands: a `[M, K]`, b `[K, N]`, accumulator `[M, N]`. Result: `a @ b + accumulator`. Without tensor cores a and b may be buffers that
    /// lie as [`staged`](crate::layout::fma::staged) says.
    Dot {
        precision: DotPrecision,
        /// Of 8-bit floats: as many products, of those that a sum has, may be added with fewer bits than f32 has before they are added in f32. `None`
        /// sets no limit.
        sum_depth: Option<u32>,
    },

    // ---- control
    /// Operands: lower, upper, step, then initial carried values. Region: (induction variable, carried…) yields carried.
    /// Results: carried. The trip count is `max(0, ceil((upper - lower) / step))`, step > 0, signed comparison.
    For(LoopAttrs),
    /// Operands: initial carried values. Region 0: (carried…) ends in `Condition` (i1, carried…); region 1: (carried…) yields carried.
    While {
        /// As in [`LoopAttrs`].
        disable_licm: bool,
    },
    /// Operand: scalar `i1`. Region 0 and region 1 yield the results.
    If,
    /// Terminator of a region: its values.
    Yield,
    /// Terminator of a `While`'s first region: an `i1`, then the values passed on.
    Condition,
    /// Terminator of a function: its results.
    Return,
    Call {
        callee: FunctionId,
    },
    /// Operand: `i1` scalar or tile. A false element stops the program with the message.
    Assert {
        message: String,
    },
    /// Operand: scalar `i1`. The user promises that it holds wherever this runs; nothing checks it.
    Assume,
    /// Operands: any number of scalars or tiles, written out behind the prefix; bit `i` of `signed` says that operand `i` is signed.
    Print {
        prefix: String,
        hex: bool,
        signed: u64,
    },

    // ---- L1: layouts and shared memory
    /// The same tile in the result's layout.
    ConvertLayout,
    /// Operand: optionally a tile. Result: a `Shared` buffer that holds it, undefined contents without one. Without operand it may be
    /// a ring: its type then has one more extent than its layout, in front, of any size: so many buffers of that layout.
    LocalAlloc,
    /// Operands: a ring, an `i32` slot inside it. Result: the buffer in that slot, by another name.
    LocalIndex,
    /// Operand: a `Shared` buffer, no ring. Result: a tile.
    LocalLoad,
    /// Operands: tile, `Shared` buffer.
    LocalStore,
    /// All threads of the CTA; orders their accesses to memory. At L0 the user's own; shared memory's are placed at L1.
    Barrier,
    /// Waits until the grid launched before this one has ended, where the launch said that they may overlap; orders accesses to memory.
    GridWait,
    /// The grid launched after this one may start. A hint.
    GridLaunch,

    // ---- L2: asynchronous
    /// Operands: pointers, a `Shared` buffer, then optionally a mask; masked-off elements become 0. The buffer's contents are undefined
    /// until an `AsyncWait` covers the group that the copy is committed to; each thread waits for its own copies, so other threads need
    /// a barrier after that.
    AsyncCopy(AsyncCopyAttrs),
    /// The copies since the last commit become one group, which may be empty.
    AsyncCommit,
    /// Until at most `pending` of the newest groups are under way.
    AsyncWait {
        pending: u32,
    },
    /// What this thread has written to shared memory becomes visible to the asynchronous proxy (bulk copies, `wgmma`). Threads that
    /// did not write need a barrier behind the writers' fence.
    FenceAsync,
    /// Operand: a ring of `i64[1]`, each slot of which becomes an mbarrier in phase 0 that `count` arrivals complete.
    MbarrierInit {
        count: u32,
    },
    /// Operand: a slot of such a ring, an `i32` parity. Until the phase of that parity is complete: the arrivals have come and what they
    /// announced is copied. Every thread that waits sees it.
    MbarrierWait,
    /// Operand: such a ring. The mbarriers are no more, and their bytes may be used for something else.
    MbarrierInvalidate,
    /// A block of a tensor to shared memory, by the tensor memory accelerator. Operands as in [`crate::layout::tma::Operands`]: the base,
    /// extents, strides (i32 or i64, in elements) and starts (i32) for each axis, the buffer, an mbarrier, and a scalar `i1` without which
    /// nothing happens. What lies outside the extents becomes 0. Axis `contiguous` has the stride 1. One thread arrives at the mbarrier
    /// and announces the bytes; the buffer's contents are undefined until an `MbarrierWait` for that phase.
    TmaLoad {
        contiguous: u8,
        /// A [`OpKind::WriteTensorMap`] describes the tensor, and not the launch.
        own_map: bool,
    },
    /// A block of a tensor from shared memory, by the tensor memory accelerator. Operands as in [`crate::layout::tma::Copied`]. What lies
    /// outside the extents is not written. When it ends, one thread has waited until the buffer is read, and for `visible` until what was written
    /// is there for it; the others know of neither before a barrier.
    TmaStore {
        contiguous: u8,
        own_map: bool,
        visible: bool,
    },
    /// Describes a tensor to the tensor memory accelerator, for copies of blocks of this shape whose tensor no launch has described. Operands as in
    /// [`crate::layout::tma::Tensor`]; copies that name the same values read it. One warp writes it, and that warp's first thread issues copies.
    WriteTensorMap {
        contiguous: u8,
        block: Shape,
    },
    /// Operands: a (`[M, K]`, a tile or a `Shared` buffer), b (`[K, N]`, a `Shared` buffer), accumulator `[M, N]`; `turned` says which
    /// of a and b is read as its transpose, a buffer in that case. Result: `a @ b + accumulator`, f32 operands as tf32. Asynchronous: the buffers are read and the result is written until a `WgmmaWait`
    /// covers it; until then only another `Wgmma` may take the result, as its accumulator. Each is a group of its own.
    Wgmma {
        turned: [bool; 2],
        /// As of a `Dot`; one with a limit is finished at once.
        sum_depth: Option<u32>,
    },
    /// Waits until at most `pending` of the newest `Wgmma` are under way. The operands, unfinished or not, pass through; with 0
    /// the results are finished.
    WgmmaWait {
        pending: u32,
    },
}

/// What a thread can ask the machine about itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SpecialRegister {
    /// Nanoseconds, as `i64`. The interpreter counts elements instead, so that equal runs agree.
    GlobalTimer,
    /// The multiprocessor it runs on, as `i32`. The interpreter has one, number 0.
    SmId,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct InlineAsm {
    pub asm: String,
    /// As LLVM writes them: `=r,r,r`.
    pub constraints: String,
    /// It may be removed, merged or moved.
    pub pure: bool,
    pub pack: u32,
}

impl Default for InlineAsm {
    fn default() -> InlineAsm {
        InlineAsm { asm: String::new(), constraints: String::new(), pure: true, pack: 1 }
    }
}

#[derive(Debug, Clone, Copy)]
pub enum Constant {
    /// Two's complement, truncated to the result's width.
    Int(i64),
    Float(f64),
    /// Of any type; it may be anything. Interpreted, it is NaN or a pattern.
    Undefined,
}

impl Constant {
    /// Floats compare by their bits: a NaN equals itself and the zeros differ, as a pass that merges constants needs.
    fn key(self) -> (u8, u64) {
        match self {
            Constant::Int(value) => (0, value as u64),
            Constant::Float(value) => (1, value.to_bits()),
            Constant::Undefined => (2, 0),
        }
    }
}

impl PartialEq for Constant {
    fn eq(&self, other: &Constant) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Constant {}

impl std::hash::Hash for Constant {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum UnaryOp {
    NegF,
    AbsF,
    AbsI,
    Floor,
    Ceil,
    /// `sqrt.approx`, within 1 ulp; `SqrtRn` rounds to nearest.
    Sqrt,
    SqrtRn,
    /// `rsqrt.approx`, within 2 ulp.
    Rsqrt,
    /// `2^(x·log2 e)` through `ex2.approx`.
    Exp,
    Exp2,
    Log,
    Log2,
    Sin,
    Cos,
    Tanh,
    Erf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    AddI,
    SubI,
    MulI,
    /// The high half of the product of two unsigned numbers.
    MulHiU,
    DivS,
    DivU,
    RemS,
    RemU,
    And,
    Or,
    Xor,
    Shl,
    ShrS,
    ShrU,
    MinS,
    MaxS,
    MinU,
    MaxU,
    AddF,
    SubF,
    MulF,
    /// `div.full.f32`: within 2 ulp for f32; f64 rounds to nearest.
    DivF,
    /// Rounded to nearest.
    DivRn,
    /// `x - trunc(x / y)·y`, fused, and `x` for infinite `y`; in `f32` for what is narrower. A zero is positive, unlike that of C's `fmod`.
    RemF,
    /// The other operand if one is NaN.
    MinF,
    MaxF,
    /// NaN if either operand is.
    MinNan,
    MaxNan,
}

impl BinaryOp {
    /// Of floats; else of integers.
    pub fn is_float(self) -> bool {
        match self {
            crate::kinds!(Integer) => false,
            crate::kinds!(Float) => true,
        }
    }
}

/// What is promised; the numbers are those of [`crate::facts::Axis`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PromiseOp {
    Divisible,
    Contiguous,
    Constant,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Predicate {
    Eq,
    Ne,
    LtS,
    LeS,
    GtS,
    GeS,
    LtU,
    LeU,
    GtU,
    GeU,
    /// Ordered float comparisons; `NeF` is true if an operand is NaN.
    EqF,
    NeF,
    LtF,
    LeF,
    GtF,
    GeF,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CastOp {
    Trunc,
    ExtS,
    ExtU,
    /// Float to float, any width, to nearest even.
    Float,
    /// Float to float, toward zero.
    FloatRtz,
    SToF,
    UToF,
    /// Toward zero; out of range saturates, NaN gives 0.
    FToS,
    FToU,
    Bitcast,
    PtrToInt,
    IntToPtr,
    /// Pointer to pointer of another element.
    PtrCast,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum CacheOp {
    #[default]
    Default,
    Ca,
    Cg,
    Cs,
    Cv,
    Wb,
    Wt,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Eviction {
    #[default]
    Normal,
    First,
    Last,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct LoadAttrs {
    /// Consecutive elements one thread reads with one instruction; 0 until `vectorise` has decided.
    pub vector: u8,
    pub cache: CacheOp,
    pub eviction: Eviction,
    pub volatile: bool,
    pub descriptor: DescriptorSource,
}

/// The tensor descriptor that an access is made through: its base and strides are multiples of 16 bytes, as the hardware wants them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum DescriptorSource {
    #[default]
    None,
    /// An argument of the kernel.
    Given,
    /// Made in the kernel.
    Made,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct StoreAttrs {
    /// As [`LoadAttrs::vector`].
    pub vector: u8,
    pub cache: CacheOp,
    pub eviction: Eviction,
    pub descriptor: DescriptorSource,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct AsyncCopyAttrs {
    /// As [`LoadAttrs::vector`]; together they make 4, 8 or 16 bytes.
    pub vector: u8,
    pub cache: CacheOp,
    pub eviction: Eviction,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AtomicOp {
    Add,
    AddF,
    MinS,
    MaxS,
    MinU,
    MaxU,
    /// The other number if one is NaN.
    MinF,
    MaxF,
    And,
    Or,
    Xor,
    Exchange,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum MemSem {
    Relaxed,
    Acquire,
    Release,
    #[default]
    AcqRel,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum MemScope {
    Cta,
    #[default]
    Gpu,
    Sys,
}

/// How `f32` operands of a dot are multiplied; other element types ignore it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum DotPrecision {
    #[default]
    Tf32,
    Tf32x3,
    /// The sum of three (six) products of bf16 parts.
    Bf16x3,
    Bf16x6,
    Ieee,
}

/// What the user asks of a loop, and what has been found of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct LoopAttrs {
    /// Trips in flight at once; `None` leaves it to the kernel's option.
    pub num_stages: Option<u32>,
    /// Trips in flight at once, once loads run ahead.
    pub stages: Option<u32>,
    pub unroll: Option<u32>,
    /// Fused with the loop around it where that is possible.
    pub flatten: bool,
    /// An accumulator that the loop carries has one copy, not one a stage.
    pub disallow_acc_multi_buffer: bool,
    /// LLVM leaves in the loop what is the same on every trip.
    pub disable_licm: bool,
    /// No byte that the loop stores is one that it loads, on any trips.
    pub apart: bool,
}
