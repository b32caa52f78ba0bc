//! Triton's functions as rows: name, group, effect, lowering, signature; each with a page, `builtins/<name>.md`.
//!
//! The signature is a string in annotation syntax that one parser below reads, so what is printed is what is bound. Letters are the law:
//! `T` any element, `F` a float of 32 or 64 bits, `I` an integer, `S` a shape, `M N K` sizes; a letter used twice means the same thing
//! twice; `const` means known at compile time. **Invariant:** a fact about a builtin is in its row here or in its page, and nowhere else.

mod words;

use std::sync::LazyLock;

use rustc_hash::FxHashMap;
use tritium_tile::libdevice;

use crate::{constant::Const, dtype::DType, versions};

pub use words::{Word, words};

/// What a call does besides giving a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Effect {
    Pure,
    Read,
    Write,
    /// Orders or checks: may not be removed or moved.
    Sync,
    /// Nothing at run time.
    CompileTime,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Group {
    Program,
    Random,
    Create,
    Memory,
    Math,
    Matrix,
    Reduce,
    Shape,
    Atomic,
    Hint,
    CompileTime,
    Loop,
    Debug,
}

/// What a reduction or a scan combines with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fold {
    Sum,
    Product,
    Max,
    Min,
    ArgMax,
    ArgMin,
    Xor,
    Or,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Atomic {
    Add,
    Max,
    Min,
    And,
    Or,
    Xor,
    Exchange,
}

#[derive(Debug, PartialEq)]
pub struct BuiltinRow {
    pub name: &'static str,
    pub group: Group,
    pub effect: Effect,
    /// What it folds with, if it is a fold or a scan.
    pub fold: Option<Fold>,
    pub signature: &'static str,
    /// Also callable on a tile: `x.sum(axis=0)`.
    pub method: bool,
    pub page: &'static str,
}

macro_rules! rows {
    ($($variant:ident $name:literal $group:ident $effect:ident $method:ident $(($($given:tt)+))?, $kind:ident $signature:literal;)*) => {
        /// A function of the language.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Builtin { $($variant),* }

        impl Builtin {
            pub const ALL: &'static [Builtin] = &[$(Builtin::$variant),*];
        }

        static TABLE: &[BuiltinRow] = &[$(BuiltinRow {
            name: $name,
            group: Group::$group,
            effect: Effect::$effect,
            fold: rows!(@fold $method $($($given)+)?),
            signature: $signature,
            method: rows!(@method $kind),
            page: include_str!(concat!("builtins/", $name, ".md")),
        }),*];
    };
    (@method method) => { true };
    (@method function) => { false };
    (@fold call_fold Fold::$fold:ident) => { Some(Fold::$fold) };
    (@fold call_scan Fold::$fold:ident) => { Some(Fold::$fold) };
    (@fold $($other:tt)*) => { None };
}

/// Hands the rows to a macro. The fifth column is the method of the evaluator that makes tile IR of a call, with what it is given between the
/// arguments and the place of the call.
#[rustfmt::skip]
macro_rules! builtins {
    ($rows:ident) => {
        $rows! {
            ProgramId     "program_id"     Program Pure  call_program_id(false), function "(axis: const int) -> i32";
            NumPrograms   "num_programs"   Program Pure  call_program_id(true), function "(axis: const int) -> i32";

            GlobalTimer   "extra.cuda.globaltimer" Program Sync call_special_register(SpecialRegister::GlobalTimer, DType::I64), function "() -> i64";
            SmId          "extra.cuda.smid" Program Pure call_special_register(SpecialRegister::SmId, DType::I32), function "() -> i32";
            IsCuda        "target_info.is_cuda" CompileTime CompileTime call_constant(true), function "() -> const bool";
            IsHip         "target_info.is_hip" CompileTime CompileTime call_constant(false), function "() -> const bool";
            IsHipCdna3    "target_info.is_hip_cdna3" CompileTime CompileTime call_constant(false), function "() -> const bool";
            IsHipCdna4    "target_info.is_hip_cdna4" CompileTime CompileTime call_constant(false), function "() -> const bool";
            CapabilityGeq "target_info.cuda_capability_geq" CompileTime CompileTime call_capability, function "(major: const int, minor: const int = 0) -> const bool";

            Rand          "rand"           Random Pure   call_rand, function "(seed: int, offset: tile[I, S], n_rounds: const int = 10) -> tile[f32, S]";
            Randn         "randn"          Random Pure   call_randn, function "(seed: int, offset: tile[I, S], n_rounds: const int = 10) -> tile[f32, S]";
            Randint       "randint"        Random Pure   call_randint, function "(seed: int, offset: tile[I, S], n_rounds: const int = 10) -> tile[u32, S]";
            Rand4x        "rand4x"         Random Pure   call_rand4x, function "(seed: int, offsets: tile[I, S], n_rounds: const int = 10) -> (tile[f32, S], tile[f32, S], tile[f32, S], tile[f32, S])";
            Randn4x       "randn4x"        Random Pure   call_randn4x, function "(seed: int, offset: tile[I, S], n_rounds: const int = 10) -> (tile[f32, S], tile[f32, S], tile[f32, S], tile[f32, S])";
            Randint4x     "randint4x"      Random Pure   call_randint4x, function "(seed: int, offset: tile[I, S], n_rounds: const int = 10) -> (tile[u32, S], tile[u32, S], tile[u32, S], tile[u32, S])";
            Philox        "philox"         Random Pure   call_philox, function "(seed: int, c0: tile[I, S], c1: tile[I, S], c2: tile[I, S], c3: tile[I, S], n_rounds: const int = 10) -> (tile[I, S], tile[I, S], tile[I, S], tile[I, S])";
            PhiloxImpl    "philox_impl"    Random Pure   call_philox_impl, function "(c0: tile[I, S], c1: tile[I, S], c2: tile[I, S], c3: tile[I, S], k0: tile[I, S], k1: tile[I, S], n_rounds: const int = 10) -> (tile[I, S], tile[I, S], tile[I, S], tile[I, S])";
            UintToUniformFloat "uint_to_uniform_float" Random Pure call_uint_to_uniform_float, function "(x: tile[I, S]) -> tile[f32, S]";
            PairUniformToNormal "pair_uniform_to_normal" Random Pure call_pair_uniform_to_normal, function "(u1: tile[F, S], u2: tile[F, S]) -> (tile[F, S], tile[F, S])";

            Arange        "arange"         Create Pure   call_arange, function "(start: const int, end: const int) -> tile[i32, (N,)]";
            Zeros         "zeros"          Create Pure   call_full(true), function "(shape: const shape, dtype: const dtype) -> tile[T, S]";
            ZerosLike     "zeros_like"     Create Pure   call_zeros_like, function "(input: tile[T, S]) -> tile[T, S]";
            Full          "full"           Create Pure   call_full(false), function "(shape: const shape, value: scalar[T], dtype: const dtype) -> tile[T, S]";
            ToTensor      "to_tensor"      Create Pure   call_to_tensor, function "(x: scalar[T]) -> tile[T, S]";

            Load          "load"           Memory Read   call_load, method "(pointer: ptr[T, S], mask: tile[i1, S] = None, other: tile[T, S] = None, boundary_check: const tuple = (), padding_option: const str = \"\", cache_modifier: const str = \"\", eviction_policy: const str = \"\", volatile: const bool = False) -> tile[T, S]";
            Store         "store"          Memory Write  call_store, method "(pointer: ptr[T, S], value: tile[T, S], mask: tile[i1, S] = None, boundary_check: const tuple = (), cache_modifier: const str = \"\", eviction_policy: const str = \"\") -> None";
            MakeBlockPtr  "make_block_ptr" Memory Pure   call_make_block_ptr, function "(base: ptr[T, ()], shape: tuple[i64], strides: tuple[i64], offsets: tuple[i32], block_shape: const shape, order: const tuple) -> block_ptr[T, S]";
            Advance       "advance"        Memory Pure   call_advance, method "(base: block_ptr[T, S], offsets: tuple[i32]) -> block_ptr[T, S]";

            MakeTensorDescriptor "make_tensor_descriptor" Memory Pure call_make_descriptor, function "(base: ptr[T, ()], shape: tuple[i32], strides: tuple[i64], block_shape: const shape, padding_option: const str = \"zero\") -> tensordesc[T, S]";
            LoadTensorDescriptor "load_tensor_descriptor" Memory Read call_descriptor_load, function "(desc: tensordesc[T, S], offsets: tuple[i32]) -> tile[T, S]";
            StoreTensorDescriptor "store_tensor_descriptor" Memory Write call_descriptor_store, function "(desc: tensordesc[T, S], offsets: tuple[i32], value: tile[T, S]) -> None";
            DescriptorLoad "tensor_descriptor.load" Memory Read call_descriptor_load, function "(desc: tensordesc[T, S], offsets: tuple[i32]) -> tile[T, S]";
            DescriptorStore "tensor_descriptor.store" Memory Write call_descriptor_store, function "(desc: tensordesc[T, S], offsets: tuple[i32], value: tile[T, S]) -> None";
            DescriptorGather "tensor_descriptor.gather" Memory Read call_descriptor_gather, function "(desc: tensordesc[T, (1, N)], x_offsets: tile[i32, (M,)], y_offset: i32) -> tile[T, (M, N)]";
            DescriptorScatter "tensor_descriptor.scatter" Memory Write call_descriptor_scatter, function "(desc: tensordesc[T, (1, N)], value: tile[T, (M, N)], x_offsets: tile[i32, (M,)], y_offset: i32) -> None";
            DescriptorAtomicAdd "tensor_descriptor.atomic_add" Atomic Write call_descriptor_atomic(Atomic::Add), function "(desc: tensordesc[T, S], offsets: tuple[i32], value: tile[T, S]) -> None";
            DescriptorAtomicMax "tensor_descriptor.atomic_max" Atomic Write call_descriptor_atomic(Atomic::Max), function "(desc: tensordesc[T, S], offsets: tuple[i32], value: tile[T, S]) -> None";
            DescriptorAtomicMin "tensor_descriptor.atomic_min" Atomic Write call_descriptor_atomic(Atomic::Min), function "(desc: tensordesc[T, S], offsets: tuple[i32], value: tile[T, S]) -> None";
            DescriptorAtomicAnd "tensor_descriptor.atomic_and" Atomic Write call_descriptor_atomic(Atomic::And), function "(desc: tensordesc[I, S], offsets: tuple[i32], value: tile[I, S]) -> None";
            DescriptorAtomicOr "tensor_descriptor.atomic_or" Atomic Write call_descriptor_atomic(Atomic::Or), function "(desc: tensordesc[I, S], offsets: tuple[i32], value: tile[I, S]) -> None";
            DescriptorAtomicXor "tensor_descriptor.atomic_xor" Atomic Write call_descriptor_atomic(Atomic::Xor), function "(desc: tensordesc[I, S], offsets: tuple[i32], value: tile[I, S]) -> None";

            Exp           "exp"            Math Pure     call_map(UnaryOp::Exp),   method "(x: tile[F, S]) -> tile[F, S]";
            Exp2          "exp2"           Math Pure     call_map(UnaryOp::Exp2),  method "(x: tile[F, S]) -> tile[F, S]";
            Log           "log"            Math Pure     call_map(UnaryOp::Log),   method "(x: tile[F, S]) -> tile[F, S]";
            Log2          "log2"           Math Pure     call_map(UnaryOp::Log2),  method "(x: tile[F, S]) -> tile[F, S]";
            Sqrt          "sqrt"           Math Pure     call_map(UnaryOp::Sqrt),  method "(x: tile[F, S]) -> tile[F, S]";
            SqrtRn        "sqrt_rn"        Math Pure     call_map(UnaryOp::SqrtRn), method "(x: tile[f32, S]) -> tile[f32, S]";
            Rsqrt         "rsqrt"          Math Pure     call_map(UnaryOp::Rsqrt), method "(x: tile[F, S]) -> tile[F, S]";
            Sin           "sin"            Math Pure     call_map(UnaryOp::Sin),   method "(x: tile[F, S]) -> tile[F, S]";
            Cos           "cos"            Math Pure     call_map(UnaryOp::Cos),   method "(x: tile[F, S]) -> tile[F, S]";
            Erf           "erf"            Math Pure     call_map(UnaryOp::Erf),   method "(x: tile[F, S]) -> tile[F, S]";
            Floor         "floor"          Math Pure     call_map(UnaryOp::Floor), method "(x: tile[F, S]) -> tile[F, S]";
            Ceil          "ceil"           Math Pure     call_map(UnaryOp::Ceil),  method "(x: tile[F, S]) -> tile[F, S]";
            Abs           "abs"            Math Pure     call_abs, method "(x: tile[T, S]) -> tile[T, S]";
            Sigmoid       "sigmoid"        Math Pure     call_sigmoid, method "(x: tile[F, S]) -> tile[F, S]";
            Softmax       "softmax"        Math Pure     call_softmax, method "(x: tile[F, S], dim: const int = None, keep_dims: const bool = False, ieee_rounding: const bool = False) -> tile[F, S]";
            Maximum       "maximum"        Math Pure     call_extremum(true), function "(x: tile[T, S], y: tile[T, S], propagate_nan: const nan = None) -> tile[T, S]";
            Minimum       "minimum"        Math Pure     call_extremum(false), function "(x: tile[T, S], y: tile[T, S], propagate_nan: const nan = None) -> tile[T, S]";
            Clamp         "clamp"          Math Pure     call_clamp, function "(x: tile[F, S], min: tile[F, S], max: tile[F, S], propagate_nan: const nan = None) -> tile[F, S]";
            Fma           "fma"            Math Pure     call_fma, function "(x: tile[F, S], y: tile[F, S], z: tile[F, S]) -> tile[F, S]";
            Fdiv          "fdiv"           Math Pure     call_division(TileOp::DivF), function "(x: tile[F, S], y: tile[F, S], ieee_rounding: const bool = False) -> tile[F, S]";
            DivRn         "div_rn"         Math Pure     call_division(TileOp::DivRn), function "(x: tile[f32, S], y: tile[f32, S]) -> tile[f32, S]";
            Umulhi        "umulhi"         Math Pure     call_umulhi, function "(x: tile[I, S], y: tile[I, S]) -> tile[I, S]";
            Swizzle2d     "swizzle2d"      Math Pure     call_swizzle, function "(i: int, j: int, size_i: int, size_j: int, size_g: int) -> (int, int)";
            InlineAsm     "inline_asm_elementwise" Math Sync call_inline_asm, function "(asm: const str, constraints: const str, args: tuple[tile[T, S]], dtype: const dtype, is_pure: const bool, pack: const int) -> tile[U, S]";
            MapElementwise "map_elementwise" Math Pure   call_map_elementwise, function "(scalar_fn: const function, *args: tile[T, S], pack: const int = 1) -> tile[U, S]";
            Cdiv          "cdiv"           Math Pure     call_cdiv, method "(x: tile[I, S], div: tile[I, S]) -> tile[I, S]";
            Add           "add"            Math Pure     call_operator(BinaryOp::Add), function "(x: tile[T, S], y: tile[T, S], sanitize_overflow: const bool = True) -> tile[T, S]";
            Sub           "sub"            Math Pure     call_operator(BinaryOp::Sub), function "(x: tile[T, S], y: tile[T, S], sanitize_overflow: const bool = True) -> tile[T, S]";
            Mul           "mul"            Math Pure     call_operator(BinaryOp::Mul), function "(x: tile[T, S], y: tile[T, S], sanitize_overflow: const bool = True) -> tile[T, S]";
            Where         "where"          Math Pure     call_where, function "(condition: tile[i1, S], x: tile[T, S], y: tile[T, S]) -> tile[T, S]";
            Cast          "cast"           Math Pure     call_cast, method "(input: tile[T, S], dtype: const dtype, fp_downcast_rounding: const str = None, bitcast: const bool = False) -> tile[U, S]";
            To            "to"             Math Pure     call_cast, method "(input: tile[T, S], dtype: const dtype, fp_downcast_rounding: const str = None, bitcast: const bool = False) -> tile[U, S]";
            IntType       "core.get_int_dtype" CompileTime CompileTime call_int_type, function "(bitwidth: const int, signed: const bool) -> const dtype";
            Log2OfSize    "standard._log2" CompileTime CompileTime call_log2_of_size, function "(i: const int) -> const int";
            IsPowerOf2    "standard._is_power_of_two" CompileTime CompileTime call_is_power_of_2, function "(i: const int) -> const bool";
            HostCdiv      "triton.cdiv"    CompileTime CompileTime call_host_cdiv, function "(x: const int, y: const int) -> const int";
            NextPowerOf2  "triton.next_power_of_2" CompileTime CompileTime call_next_power_of_2, function "(n: const int) -> const int";

            Dot           "dot"            Matrix Pure   call_dot, function "(input: tile[T, (M, K)], other: tile[T, (K, N)], acc: tile[A, (M, N)] = None, input_precision: const str = None, allow_tf32: const bool = None, max_num_imprecise_acc: const int = None, out_dtype: const dtype = f32) -> tile[A, (M, N)]";

            DotScaled     "dot_scaled"     Matrix Pure   call_dot_scaled, function "(lhs: tile[T, (M, K)], lhs_scale: tile[u8, (M, K / 32)], lhs_format: const str, rhs: tile[U, (K, N)], rhs_scale: tile[u8, (N, K / 32)], rhs_format: const str, acc: tile[f32, (M, N)] = None, fast_math: const bool = False, lhs_k_pack: const bool = True, rhs_k_pack: const bool = True, out_dtype: const dtype = f32) -> tile[f32, (M, N)]";

            Sum           "sum"            Reduce Pure   call_fold(Fold::Sum),    method "(input: tile[T, S], axis: const int = None, keep_dims: const bool = False, dtype: const dtype = None) -> tile[T, drop[S, axis]]";
            Max           "max"            Reduce Pure   call_fold(Fold::Max),    method "(input: tile[T, S], axis: const int = None, return_indices: const bool = False, return_indices_tie_break_left: const bool = True, keep_dims: const bool = False) -> tile[T, drop[S, axis]]";
            Min           "min"            Reduce Pure   call_fold(Fold::Min),    method "(input: tile[T, S], axis: const int = None, return_indices: const bool = False, return_indices_tie_break_left: const bool = True, keep_dims: const bool = False) -> tile[T, drop[S, axis]]";
            ArgMax        "argmax"         Reduce Pure   call_fold(Fold::ArgMax), method "(input: tile[T, S], axis: const int, tie_break_left: const bool = True, keep_dims: const bool = False) -> tile[i32, drop[S, axis]]";
            ArgMin        "argmin"         Reduce Pure   call_fold(Fold::ArgMin), method "(input: tile[T, S], axis: const int, tie_break_left: const bool = True, keep_dims: const bool = False) -> tile[i32, drop[S, axis]]";
            XorSum        "xor_sum"        Reduce Pure   call_fold(Fold::Xor),    method "(input: tile[I, S], axis: const int = None, keep_dims: const bool = False) -> tile[I, drop[S, axis]]";
            ReduceOr      "reduce_or"      Reduce Pure   call_fold(Fold::Or),     method "(input: tile[I, S], axis: const int, keep_dims: const bool = False) -> tile[I, drop[S, axis]]";
            Reduce        "reduce"         Reduce Pure   call_combine,                method "(input: tile[T, S], axis: const int, combine_fn: const function, keep_dims: const bool = False) -> tile[T, drop[S, axis]]";
            CumSum        "cumsum"         Reduce Pure   call_scan(Fold::Sum),    method "(input: tile[T, S], axis: const int = 0, reverse: const bool = False, dtype: const dtype = None) -> tile[T, S]";
            CumProd       "cumprod"        Reduce Pure   call_scan(Fold::Product), method "(input: tile[T, S], axis: const int = 0, reverse: const bool = False) -> tile[T, S]";
            AssociativeScan "associative_scan" Reduce Pure call_combine,              method "(input: tile[T, S], axis: const int, combine_fn: const function, reverse: const bool = False) -> tile[T, S]";

            Sort          "sort"           Reduce Pure   call_sort,                method "(x: tile[T, S], dim: const int = None, descending: const bool = False) -> tile[T, S]";
            Topk          "topk"           Reduce Pure   call_sort,                function "(x: tile[T, S], k: const int, dim: const int = None) -> tile[T, S]";
            BitonicMerge  "bitonic_merge"  Reduce Pure   call_sort,                function "(x: tile[T, S], dim: const int = None, descending: const bool = False) -> tile[T, S]";
            Histogram     "histogram"      Reduce Pure   call_histogram,                method "(input: tile[I, (N,)], num_bins: const int, mask: tile[i1, (N,)] = None) -> tile[i32, (M,)]";

            Gather        "gather"         Shape Pure    call_gather, method "(src: tile[T, S], index: tile[I, R], axis: const int) -> tile[T, R]";
            Flip          "flip"           Shape Pure    call_flip, method "(x: tile[T, S], dim: const int = None) -> tile[T, S]";
            Cat           "cat"            Shape Pure    call_cat, function "(input: tile[T, S], other: tile[T, S], can_reorder: const bool = False, dim: const int = 0) -> tile[T, R]";
            Interleave    "interleave"     Shape Pure    call_interleave, function "(a: tile[T, S], b: tile[T, S]) -> tile[T, R]";
            Trans         "trans"          Shape Pure    call_permute(true), method "(input: tile[T, S], *dims: const int) -> tile[T, permute[S, dims]]";
            Permute       "permute"        Shape Pure    call_permute(false), method "(input: tile[T, S], *dims: const int) -> tile[T, permute[S, dims]]";
            Broadcast     "broadcast"      Shape Pure    call_broadcast, function "(input: tile[T, S], other: tile[U, S]) -> (tile[T, S], tile[U, S])";
            BroadcastTo   "broadcast_to"   Shape Pure    call_broadcast_to, method "(input: tile[T, S], *shape: const shape) -> tile[T, shape]";
            ExpandDims    "expand_dims"    Shape Pure    call_expand_dims, method "(input: tile[T, S], axis: const int) -> tile[T, insert[S, axis]]";
            Reshape       "reshape"        Shape Pure    call_reshape, method "(input: tile[T, S], *shape: const shape, can_reorder: const bool = False) -> tile[T, shape]";
            Squeeze       "squeeze"        Shape Pure    call_squeeze, function "(x: tile[T, S], dim: const int) -> tile[T, drop[S, dim]]";
            Unsqueeze     "unsqueeze"      Shape Pure    call_unsqueeze, function "(x: tile[T, S], dim: const int) -> tile[T, insert[S, dim]]";
            View          "view"           Shape Pure    call_view, method "(input: tile[T, S], *shape: const shape) -> tile[T, shape]";
            Ravel         "ravel"          Shape Pure    call_ravel, method "(x: tile[T, S], can_reorder: const bool = False) -> tile[T, (N,)]";
            Join          "join"           Shape Pure    call_join, function "(a: tile[T, S], b: tile[T, S]) -> tile[T, append[S, 2]]";
            Split         "split"          Shape Pure    call_split, method "(a: tile[T, append[S, 2]]) -> (tile[T, S], tile[T, S])";
            LogicalAnd    "logical_and"    Math Pure     call_logical(BinaryOp::BitAnd), method "(x: tile[i1, S], y: tile[i1, S]) -> tile[i1, S]";
            LogicalOr     "logical_or"     Math Pure     call_logical(BinaryOp::BitOr), method "(x: tile[i1, S], y: tile[i1, S]) -> tile[i1, S]";
            Item          "item"           Shape Pure    call_item, method "(input: tile[T, S]) -> T";

            AtomicAdd     "atomic_add"     Atomic Write  call_atomic(Atomic::Add),      method "(pointer: ptr[T, S], val: tile[T, S], mask: tile[i1, S] = None, sem: const str = None, scope: const str = None) -> tile[T, S]";
            AtomicMax     "atomic_max"     Atomic Write  call_atomic(Atomic::Max),      method "(pointer: ptr[T, S], val: tile[T, S], mask: tile[i1, S] = None, sem: const str = None, scope: const str = None) -> tile[T, S]";
            AtomicMin     "atomic_min"     Atomic Write  call_atomic(Atomic::Min),      method "(pointer: ptr[T, S], val: tile[T, S], mask: tile[i1, S] = None, sem: const str = None, scope: const str = None) -> tile[T, S]";
            AtomicAnd     "atomic_and"     Atomic Write  call_atomic(Atomic::And),      method "(pointer: ptr[I, S], val: tile[I, S], mask: tile[i1, S] = None, sem: const str = None, scope: const str = None) -> tile[I, S]";
            AtomicOr      "atomic_or"      Atomic Write  call_atomic(Atomic::Or),       method "(pointer: ptr[I, S], val: tile[I, S], mask: tile[i1, S] = None, sem: const str = None, scope: const str = None) -> tile[I, S]";
            AtomicXor     "atomic_xor"     Atomic Write  call_atomic(Atomic::Xor),      method "(pointer: ptr[I, S], val: tile[I, S], mask: tile[i1, S] = None, sem: const str = None, scope: const str = None) -> tile[I, S]";
            AtomicXchg    "atomic_xchg"    Atomic Write  call_atomic(Atomic::Exchange), method "(pointer: ptr[T, S], val: tile[T, S], mask: tile[i1, S] = None, sem: const str = None, scope: const str = None) -> tile[T, S]";

            AtomicCas     "atomic_cas"     Atomic Write  call_atomic_cas, method "(pointer: ptr[T, S], cmp: tile[T, S], val: tile[T, S], sem: const str = None, scope: const str = None) -> tile[T, S]";

            MultipleOf    "multiple_of"    Hint Pure     call_promise(PromiseOp::Divisible), function "(input: tile[I, S], values: const tuple) -> tile[I, S]";
            MaxContiguous "max_contiguous" Hint Pure     call_promise(PromiseOp::Contiguous), function "(input: tile[I, S], values: const tuple) -> tile[I, S]";
            MaxConstancy  "max_constancy"  Hint Pure     call_promise(PromiseOp::Constant), function "(input: tile[I, S], values: const tuple) -> tile[I, S]";
            Assume        "assume"         Hint Pure     call_assume, function "(cond: tile[i1, ()]) -> None";

            StaticAssert  "static_assert"  CompileTime CompileTime call_static_assert, function "(cond: const bool, msg: const str = \"\") -> None";
            StaticPrint   "static_print"   CompileTime CompileTime call_static_print, function "(*values: any, sep: const str = \" \", end: const str = \"\\n\", file: any = None, flush: any = False) -> None";
            DeviceAssert  "device_assert"  Debug Sync    call_device_assert, function "(cond: tile[i1, S], msg: const str = \"\", mask: tile[i1, S] = None) -> None";
            DevicePrint   "device_print"   Debug Sync    call_device_print, function "(prefix: const str, *args: tile[T, S], hex: const bool = False) -> None";
            DebugBarrier  "debug_barrier"  Debug Sync    call_effect(OpKind::Barrier), function "() -> None";
            GdcWait       "extra.cuda.gdc_wait" Program Sync call_effect(OpKind::GridWait), function "() -> None";
            GdcLaunchDependents "extra.cuda.gdc_launch_dependents" Program Sync call_effect(OpKind::GridLaunch), function "() -> None";

            Range         "range"          Loop CompileTime call_outside_a_loop, function "(arg1: int, arg2: int = None, step: int = None, num_stages: const int = None, loop_unroll_factor: const int = None, disallow_acc_multi_buffer: const bool = False, flatten: const bool = False, warp_specialize: const bool = False, disable_licm: const bool = False) -> None";
            Condition     "condition"      Loop Pure     call_condition, function "(arg1: tile[i1, ()], disable_licm: const bool = False) -> tile[i1, ()]";
            StaticRange   "static_range"   Loop CompileTime call_outside_a_loop, function "(arg1: const int, arg2: const int = None, step: const int = None) -> None";
        }
    };
}

pub(crate) use builtins;

builtins!(rows);

impl Builtin {
    pub fn row(self) -> &'static BuiltinRow {
        &TABLE[self as usize]
    }

    /// As users write it: `tl.load`, `tl.extra.cuda.gdc_wait`, `triton.cdiv`.
    pub fn spelling(self) -> &'static str {
        static SPELLINGS: LazyLock<Vec<String>> = LazyLock::new(|| {
            let spell = |name: &str| if name.starts_with("triton.") { name.to_owned() } else { format!("tl.{name}") };
            TABLE.iter().map(|row| spell(row.name)).collect()
        });
        &SPELLINGS[self as usize]
    }

    pub fn signature(self) -> &'static Signature {
        static SIGNATURES: LazyLock<Vec<Signature>> = LazyLock::new(|| {
            TABLE
                .iter()
                .map(|row| Signature::parse(row.signature).unwrap_or_else(|| Signature { params: Vec::new(), result: "" }))
                .collect()
        });
        &SIGNATURES[self as usize]
    }

    fn named(name: &str) -> Option<Builtin> {
        static BY_NAME: LazyLock<FxHashMap<&str, Builtin>> =
            // Of two rows with one name the first holds.
            LazyLock::new(|| Builtin::ALL.iter().rev().map(|&b| (b.row().name, b)).collect());
        BY_NAME.get(name).copied()
    }

    /// `d.name(…)` on a tensor descriptor.
    pub fn descriptor_method(name: &str) -> Option<Builtin> {
        Builtin::ALL.iter().copied().find(|b| b.row().name.strip_prefix("tensor_descriptor.") == Some(name))
    }

    /// `x.name(…)` on a tile.
    pub fn method(name: &str) -> Option<Builtin> {
        Builtin::named(name).filter(|b| b.row().method)
    }
}

/// What a dotted path of an imported module means to the language.
#[derive(Debug, Clone, PartialEq)]
pub enum Known {
    Builtin(Builtin),
    Library(Library),
    DType(DType),
    /// A type of pointers.
    Pointer(DType),
    CustomFloat(CustomFloat),
    /// A module, by its full path.
    Module,
    Class(Class),
    Constant(Const),
    /// `tl.PropagateNan.ALL` is true, `.NONE` false.
    PropagateNan(bool),
    /// A public name that this compiler has no meaning for yet.
    Unsupported,
}

/// 8-bit floats that the hardware compiled for does not have: compile-time values to compare with, and nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CustomFloat {
    /// Converted in software by Triton.
    E4B15,
    /// AMD's.
    E4B8,
    E5B16,
}

impl CustomFloat {
    pub const ALL: [CustomFloat; 3] = [CustomFloat::E4B15, CustomFloat::E4B8, CustomFloat::E5B16];

    /// Behind `tl.float` and `fp`.
    pub fn name(self) -> &'static str {
        match self {
            CustomFloat::E4B15 => "8e4b15",
            CustomFloat::E4B8 => "8e4b8",
            CustomFloat::E5B16 => "8e5b16",
        }
    }

    fn named(name: &str) -> Option<CustomFloat> {
        let name = name.strip_prefix("float")?;
        CustomFloat::ALL.into_iter().find(|f| f.name() == name)
    }
}

/// Classes that kernels name in annotations and `isinstance`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    Constexpr,
    Tensor,
    DType,
    Tuple,
    Int,
    Float,
    PropagateNan,
    /// `tl.pointer_type`
    PointerType,
    /// `tl.tensor_descriptor`
    Descriptor,
    /// `tl.block_type`
    BlockType,
    /// `tl.const`, for annotations.
    Const,
    ConstexprType,
    TupleType,
    Slice,
    /// `tl.void`, the type of nothing.
    VoidType,
}

/// Functions of Python that kernels may call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Python {
    Range,
    Min,
    Max,
    Len,
    IsInstance,
    List,
    GetAttr,
    HasAttr,
}

const PYTHON: &[(&str, Python)] = &[
    ("range", Python::Range),
    ("min", Python::Min),
    ("max", Python::Max),
    ("len", Python::Len),
    ("isinstance", Python::IsInstance),
    ("list", Python::List),
    ("getattr", Python::GetAttr),
    ("hasattr", Python::HasAttr),
];

impl Python {
    pub fn find(name: &str) -> Option<Python> {
        PYTHON.iter().find(|(n, _)| *n == name).map(|(_, p)| *p)
    }

    pub fn name(self) -> &'static str {
        PYTHON.iter().find(|(_, p)| *p == self).map_or("", |(n, _)| n)
    }
}

#[rustfmt::skip]
const DTYPES: &[(&str, DType)] = &[
    ("int1", DType::I1), ("int8", DType::I8), ("int16", DType::I16), ("int32", DType::I32), ("int64", DType::I64),
    ("uint8", DType::U8), ("uint16", DType::U16), ("uint32", DType::U32), ("uint64", DType::U64),
    ("float8e4nv", DType::F8E4M3), ("float8e5", DType::F8E5M2), ("float16", DType::F16), ("bfloat16", DType::BF16),
    ("float32", DType::F32), ("float64", DType::F64),
];

/// Every public name of `triton.language` that has a meaning here, types included.
pub fn language_names() -> impl Iterator<Item = &'static str> {
    let rows = Builtin::ALL.iter().map(|b| b.row().name).filter(|n| !n.contains('.') && !matches!(*n, "to" | "item"));
    rows.chain(DTYPES.iter().map(|(n, _)| *n)).chain(CLASSES.iter().map(|(n, _)| *n))
}

/// The element types as kernels spell them after `tl.`.
pub fn dtype_names() -> impl Iterator<Item = &'static str> {
    DTYPES.iter().map(|(n, _)| *n)
}

/// How a kernel spells a type: `tl.float32`.
pub fn dtype_spelling(dtype: DType) -> String {
    DTYPES.iter().find(|(_, d)| *d == dtype).map_or_else(|| dtype.to_string(), |(name, _)| format!("tl.{name}"))
}

const CLASSES: &[(&str, Class)] = &[
    ("constexpr", Class::Constexpr),
    ("tensor", Class::Tensor),
    ("dtype", Class::DType),
    ("tuple", Class::Tuple),
    ("PropagateNan", Class::PropagateNan),
    ("pointer_type", Class::PointerType),
    ("tensor_descriptor", Class::Descriptor),
    ("tensor_descriptor_base", Class::Descriptor),
    ("block_type", Class::BlockType),
    ("const", Class::Const),
    ("constexpr_type", Class::ConstexprType),
    ("tuple_type", Class::TupleType),
    ("slice", Class::Slice),
    ("void", Class::VoidType),
];

/// A function of the device library; its types and its meaning are [`libdevice`]'s.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Library(u16);

/// The page of all of them.
pub const LIBRARY_PAGE: &str = include_str!("library.md");

impl Library {
    pub fn find(name: &str) -> Option<Library> {
        libdevice::FUNCTIONS.iter().position(|f| f.name == name).map(|index| Library(index as u16))
    }

    pub fn all() -> impl Iterator<Item = Library> {
        (0..libdevice::FUNCTIONS.len()).map(|index| Library(index as u16))
    }

    pub fn row(self) -> &'static libdevice::Function {
        &libdevice::FUNCTIONS[usize::from(self.0)]
    }

    pub fn spelling(self) -> String {
        format!("libdevice.{}", self.row().name)
    }

    /// Behind `tl.`, where `import triton.language` alone makes it known.
    pub fn full_spelling(self) -> String {
        format!("extra.cuda.libdevice.{}", self.row().name)
    }

    /// It answers a question: the library's integer is given as `i1`.
    pub fn is_predicate(self) -> bool {
        matches!(self.row().name, "isnan" | "isinf" | "finitef" | "isfinited")
    }

    /// Every overload: `(f32) -> f32, (f64) -> f64`.
    pub fn signature(self) -> String {
        let result = |o: &libdevice::Overload| if self.is_predicate() { "i1" } else { library_type(o.result) };
        let overloads: Vec<String> =
            self.row().overloads.iter().map(|o| format!("{} -> {}", library_arguments(o), result(o))).collect();
        overloads.join(", ")
    }
}

/// `(f32, i32)`
pub fn library_arguments(overload: &libdevice::Overload) -> String {
    let args: Vec<&str> = overload.args.iter().map(|a| library_type(*a)).collect();
    format!("({})", args.join(", "))
}

fn library_type(arg: libdevice::Arg) -> &'static str {
    match arg {
        libdevice::Arg::I32 => "i32",
        libdevice::Arg::U32 => "u32",
        libdevice::Arg::I64 => "i64",
        libdevice::Arg::U64 => "u64",
        libdevice::Arg::F32 => "f32",
        libdevice::Arg::F64 => "f64",
    }
}

/// Functions that `tl.math` also holds.
#[rustfmt::skip]
const MATH: &[Builtin] = &[
    Builtin::Abs, Builtin::Ceil, Builtin::Cos, Builtin::DivRn, Builtin::Erf, Builtin::Exp, Builtin::Exp2, Builtin::Fdiv,
    Builtin::Floor, Builtin::Fma, Builtin::Log, Builtin::Log2, Builtin::Rsqrt, Builtin::Sin, Builtin::Sqrt, Builtin::SqrtRn,
    Builtin::Umulhi,
];

const LANGUAGE: &str = "triton.language";

/// What a full path (`triton.language.exp`) names; `None` if the language has no such name.
pub fn find(path: &str) -> Option<Known> {
    if path == "triton" || path == LANGUAGE {
        return Some(Known::Module);
    }
    if let Some(name) = path.strip_prefix(LANGUAGE).and_then(|p| p.strip_prefix('.')) {
        return PUBLIC.get(name).cloned().or_else(|| find_in_language(name));
    }
    // Code for NVIDIA's processors: PyTorch was built for no other.
    if path == "torch.version.hip" || path == "torch.version.xpu" {
        return Some(Known::Constant(Const::None));
    }
    if path.starts_with("triton.") {
        return Builtin::named(path).map(Known::Builtin).or(Some(Known::Unsupported));
    }
    None
}

/// What kernels name most, each looked for once.
static PUBLIC: LazyLock<FxHashMap<&str, Known>> =
    LazyLock::new(|| language_names().filter_map(|name| Some((name, find_in_language(name)?))).collect());

fn find_in_language(name: &str) -> Option<Known> {
    if versions::is_module(&format!("{LANGUAGE}.{name}")) {
        return Some(Known::Module);
    }
    if let Some(function) = LIBRARY_MODULES.iter().find_map(|module| name.strip_prefix(module)).and_then(Library::find) {
        return Some(Known::Library(function));
    }
    if let Some(builtin) = Builtin::named(name).filter(|b| b.row().name.contains('.')) {
        return Some(Known::Builtin(builtin));
    }
    if let Some(name) = name.strip_prefix("math.") {
        let own = MATH.iter().copied().find(|b| b.row().name == name).map(Known::Builtin);
        // Before 3.0 it held the library.
        return own.or_else(|| Library::find(name).map(Known::Library)).or_else(|| unsupported(&["math.", name].concat()));
    }
    let short = ["core.", "standard.", "random."].iter().find_map(|module| name.strip_prefix(module)).unwrap_or(name);
    match short {
        "PropagateNan.ALL" => return Some(Known::PropagateNan(true)),
        "PropagateNan.NONE" => return Some(Known::PropagateNan(false)),
        "pi32_t" => return Some(Known::Pointer(DType::I32)),
        "CONSTEXPR_0" => return Some(Known::Constant(Const::Int(0))),
        "N_ROUNDS_DEFAULT" => return Some(Known::Constant(Const::Int(10))),
        "TRITON_MAX_TENSOR_NUMEL" => return Some(Known::Constant(Const::Int(i128::from(MAX_ELEMENTS)))),
        _ => {}
    }
    if let Some(builtin) =
        Builtin::named(short).filter(|b| !matches!(b, Builtin::To | Builtin::Item | Builtin::LogicalAnd | Builtin::LogicalOr))
    {
        return Some(Known::Builtin(builtin));
    }
    if let Some((_, dtype)) = DTYPES.iter().find(|(n, _)| *n == short) {
        return Some(Known::DType(*dtype));
    }
    if let Some(float) = CustomFloat::named(short) {
        return Some(Known::CustomFloat(float));
    }
    if let Some((_, class)) = CLASSES.iter().find(|(n, _)| *n == short) {
        return Some(Known::Class(*class));
    }
    unsupported(name)
}

/// Where the device library is or was.
const LIBRARY_MODULES: &[&str] = &["extra.cuda.libdevice.", "extra.libdevice.", "libdevice."];

/// What some version has, and has no meaning here.
fn unsupported(name: &str) -> Option<Known> {
    versions::has_ever(&format!("{LANGUAGE}.{name}")).then_some(Known::Unsupported)
}

/// The most elements a tile may have.
pub const MAX_ELEMENTS: u64 = 1 << 20;

/// The public name of the language closest to a mistyped one, if any is close; `tanh` and the like live in libdevice.
pub fn nearest(name: &str) -> Option<String> {
    if let Some(function) = Library::find(name) {
        return Some(function.full_spelling());
    }
    let candidates = Builtin::ALL
        .iter()
        .map(|b| b.row().name)
        .filter(|n| !n.contains('.'))
        .chain(DTYPES.iter().map(|(n, _)| *n))
        .chain(CLASSES.iter().map(|(n, _)| *n));
    closest(name, candidates).map(str::to_owned)
}

/// The method of a tile closest to a mistyped one.
pub fn nearest_method(name: &str) -> Option<&'static str> {
    closest(name, Builtin::ALL.iter().map(|b| b.row()).filter(|r| r.method).map(|r| r.name))
}

/// How an argument type is spelled: `fp32`, `i1`.
pub fn dtype_signature(dtype: DType) -> String {
    match dtype {
        DType::I1 => "int1".to_owned(),
        DType::BF16 => "bf16".to_owned(),
        DType::F8E4M3 => "fp8e4nv".to_owned(),
        DType::F8E5M2 => "fp8e5".to_owned(),
        DType::F16 | DType::F32 | DType::F64 => format!("fp{}", dtype.bits()),
        _ => DTYPES.iter().find(|(_, d)| *d == dtype).map_or_else(|| dtype.to_string(), |(name, _)| (*name).to_owned()),
    }
}

/// Nobody mistypes a longer word for another; comparing two words takes the product of their lengths.
const MAX_MISTYPED_CHARS: usize = 100;

/// The candidate at the least edit distance, if that is at most a third of the word.
pub fn closest<'a>(word: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let length = word.chars().count();
    if length > MAX_MISTYPED_CHARS {
        return None;
    }
    let limit = (length / 3).max(1);
    // Lengths that differ by more need as many insertions.
    let candidates = candidates.filter(|c| c.chars().count().abs_diff(length) <= limit);
    candidates.map(|c| (strsim::osa_distance(word, c), c)).filter(|(d, _)| *d <= limit).min().map(|(_, c)| c)
}

/// A signature, read once.
#[derive(Debug, Clone, PartialEq)]
pub struct Signature {
    pub params: Vec<Parameter>,
    pub result: &'static str,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Parameter {
    pub name: &'static str,
    /// `*name`: takes all remaining positional arguments.
    pub rest: bool,
    /// As written: `tile[F, S]`, `const int`.
    pub annotation: &'static str,
    pub default: Option<Const>,
}

impl Signature {
    /// `(name: annotation = default, *rest: annotation) -> result`
    fn parse(text: &'static str) -> Option<Signature> {
        let open = text.strip_prefix('(')?;
        let (inside, result) = split_closing(open)?;
        let result = result.trim().strip_prefix("->")?.trim();
        let mut params = Vec::new();
        for piece in split_commas(inside) {
            let (name, annotation) = piece.split_once(':')?;
            let (annotation, default) = match annotation.split_once(" = ") {
                Some((annotation, default)) => (annotation, Some(parse_default(default.trim())?)),
                None => (annotation, None),
            };
            let name = name.trim();
            let rest = name.starts_with('*');
            params.push(Parameter { name: name.trim_start_matches('*'), rest, annotation: annotation.trim(), default });
        }
        Some(Signature { params, result })
    }
}

/// Up to the parenthesis that closes the one already read, and what follows it. Quotes hide parentheses.
fn split_closing(text: &'static str) -> Option<(&'static str, &'static str)> {
    let mut depth = 0;
    let mut quoted = false;
    for (at, c) in text.char_indices() {
        match c {
            '"' => quoted = !quoted,
            '(' | '[' if !quoted => depth += 1,
            ')' if !quoted && depth == 0 => return Some((&text[..at], &text[at + 1..])),
            ')' | ']' if !quoted => depth -= 1,
            _ => {}
        }
    }
    None
}

fn split_commas(text: &'static str) -> Vec<&'static str> {
    let mut pieces = Vec::new();
    let (mut depth, mut quoted, mut start) = (0, false, 0);
    for (at, c) in text.char_indices() {
        match c {
            '"' => quoted = !quoted,
            '(' | '[' if !quoted => depth += 1,
            ')' | ']' if !quoted => depth -= 1,
            ',' if !quoted && depth == 0 => {
                pieces.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    pieces.push(text[start..].trim());
    pieces.retain(|p| !p.is_empty());
    pieces
}

fn parse_default(text: &str) -> Option<Const> {
    Some(match text {
        "None" => Const::None,
        "True" => Const::Bool(true),
        "False" => Const::Bool(false),
        "()" => Const::Tuple(Vec::new()),
        _ => match text.strip_prefix('"').and_then(|t| t.strip_suffix('"')) {
            Some(inner) => Const::Str(inner.replace("\\n", "\n")),
            None => match text.parse() {
                Ok(i) => Const::Int(i),
                Err(_) => Const::DType(DType::from_name(text)?),
            },
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_signature_is_read() {
        for row in TABLE {
            assert!(Signature::parse(row.signature).is_some(), "{}: {}", row.name, row.signature);
        }
    }

    #[test]
    fn every_page_has_its_parts() {
        for row in TABLE {
            assert!(row.page.starts_with(&format!("# {}\n", row.name)), "{}", row.name);
            let sentence = row.page.lines().nth(2).unwrap_or_default();
            assert!(sentence.ends_with('.'), "{}: {sentence:?}", row.name);
            assert_eq!(row.page.matches("```python").count(), 1, "{}", row.name);
            assert!(row.page.contains("## On the GPU"), "{}", row.name);
        }
    }

    #[test]
    fn names_are_found() {
        assert_eq!(find("triton.language.load"), Some(Known::Builtin(Builtin::Load)));
        assert_eq!(find("triton.language.math.exp2"), Some(Known::Builtin(Builtin::Exp2)));
        assert_eq!(find("triton.language.float32"), Some(Known::DType(DType::F32)));
        assert_eq!(find("triton.language.topk"), Some(Known::Builtin(Builtin::Topk)));
        assert_eq!(find("triton.language.random.rand"), Some(Known::Builtin(Builtin::Rand)));
        assert_eq!(find("triton.language.extra.cuda.smid"), Some(Known::Builtin(Builtin::SmId)));
        assert_eq!(find("triton.language.extra.libdevice.tan"), Library::find("tan").map(Known::Library));
        assert_eq!(find("triton.language.extra.cuda.libdevice.tann"), None);
        assert_eq!(find("triton.language.math.tanh"), Library::find("tanh").map(Known::Library));
        assert_eq!(find("triton.language.math.tann"), None);
        assert_eq!(find("triton.language.dot_precision"), None);
        assert_eq!(find("triton.language.lod"), None);
        assert_eq!(find("triton.language.to"), None);
        assert_eq!(nearest("lod").as_deref(), Some("load"));
        assert_eq!(nearest("cidv").as_deref(), Some("cdiv"));
        assert_eq!(nearest("tanh").as_deref(), Some("extra.cuda.libdevice.tanh"));
        assert_eq!(nearest("zzzzzz"), None);
    }
}
