//! The words that string-valued parameters take, for those who offer them.
//!
//! **Invariant:** every word listed is accepted by the elaboration of its function (a test elaborates each).

use super::Builtin;

/// One value of a string-valued parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Word {
    pub value: &'static str,
    /// What it means, in a few words.
    pub means: &'static str,
}

const fn word(value: &'static str, means: &'static str) -> Word {
    Word { value, means }
}

const LOAD_CACHE: &[Word] =
    &[word(".ca", "cache in L1 and L2"), word(".cg", "cache in L2 only"), word(".cv", "do not cache, fetch again")];
const STORE_CACHE: &[Word] = &[
    word(".wb", "write back, cache in all levels"),
    word(".cg", "cache in L2 only"),
    word(".cs", "streaming: likely used once"),
    word(".wt", "write through to memory"),
];
const EVICTION: &[Word] = &[word("evict_first", "leaves the cache first"), word("evict_last", "stays in the cache longest")];
const BLOCK_PADDING: &[Word] = &[word("zero", "zeros outside the tensor"), word("nan", "NaN outside the tensor")];
const PRECISION: &[Word] = &[
    word("tf32", "one pass with 10 bits of mantissa"),
    word("tf32x3", "three passes, nearly f32"),
    word("ieee", "exact f32, without tensor cores"),
];
const SEM: &[Word] = &[
    word("relaxed", "no order"),
    word("acquire", "later accesses stay after it"),
    word("release", "earlier accesses stay before it"),
    word("acq_rel", "both; the default"),
];
const SCOPE: &[Word] =
    &[word("gpu", "the whole device; the default"), word("cta", "this program"), word("sys", "other devices and the host too")];
const ROUNDING: &[Word] = &[word("rtne", "to nearest, ties to even; the default"), word("rtz", "toward zero")];
const FORMAT: &[Word] = &[
    word("e2m1", "4 bits, two to a byte"),
    word("e4m3", "8 bits"),
    word("e5m2", "8 bits, wider range"),
    word("bf16", "16 bits"),
    word("fp16", "16 bits"),
];

/// The words of a parameter; empty where it takes none, or any.
pub fn words(builtin: Builtin, parameter: &str) -> &'static [Word] {
    match (builtin, parameter) {
        (Builtin::Store, "cache_modifier") => STORE_CACHE,
        (_, "cache_modifier") => LOAD_CACHE,
        (_, "eviction_policy") => EVICTION,
        (_, "padding_option") => BLOCK_PADDING,
        (_, "input_precision") => PRECISION,
        (_, "sem") => SEM,
        (_, "scope") => SCOPE,
        (_, "fp_downcast_rounding") => ROUNDING,
        (_, "lhs_format" | "rhs_format") => FORMAT,
        _ => &[],
    }
}
