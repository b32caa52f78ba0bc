//! The rules of the language that changed between versions of Triton, one field a rule, one row a version; and the names that each has.
//!
//! **Invariant:** nobody outside this file compares version numbers; everyone else asks a row for a rule.

mod names;

use crate::target::DEFAULT_TRITON;
use names::{Found, Span};

/// How one version of the language reads a kernel. Before 3.6 only the API names differ, so those versions share its row.
#[derive(Debug, PartialEq, Eq)]
pub struct Rules {
    pub version: &'static str,
    /// A local bound to a literal stays compile-time (dialect `1.0`).
    pub literals_stay_constexpr: bool,
    /// `tl.dot(a, b, trans_b=True)`
    pub dot_transposes: bool,
    /// What a helper returns keeps its compile-time value, and return types are joined.
    pub constexpr_returns: bool,
    /// `*args` of a helper are bound.
    pub rest_parameters: bool,
    pub keyword_only_parameters: bool,
    /// Unpacking more values than there are names is an error, not a silent loss.
    pub strict_unpacking: bool,
    /// A compile-time tuple is a tuple of compile-time values: its items are values of their own, and a plain name may hold it.
    pub constexpr_tuples: bool,
    /// A block pointer is pointers and masks under a name: stores cast, offsets may be 64-bit.
    pub block_pointer_aggregates: bool,
    /// Padding of a block pointer needs checked axes, and these are a tuple.
    pub strict_boundary_checks: bool,
    /// tl.fdiv joins two float types, tl.clamp takes integers.
    pub broad_math: bool,
    /// tl.topk refuses a `k` that is no power of two, which it rounded down before; tl.flip knows what no axis means.
    pub strict_topk: bool,
    /// The mask of an atomic may be a Python bool.
    pub atomic_constant_masks: bool,
    pub walrus: bool,
    pub nested_tuple_targets: bool,
    pub chained_comparison: bool,
    pub while_on_int: bool,
    /// Literals in comparisons, minimum, maximum and clamp take the tile's type.
    pub weak_comparisons: bool,
    /// minimum, maximum and clamp of bf16 stay bf16.
    pub native_bf16_minmax: bool,
    /// Non-zero literals combine with 8-bit floats.
    pub fp8_literals: bool,
    /// Extents of 0 pass.
    pub zero_extents: bool,
    /// `x[:, None, :]` on one dimension.
    pub surplus_slices: bool,
    /// `.cs` on a load.
    pub streaming_loads: bool,
    /// `evict_normal`
    pub evict_normal: bool,
    /// A tuner's `key` must name parameters.
    pub strict_tuner_keys: bool,
    /// `tl.cat` keeps the order and takes an axis.
    pub ordered_cat: bool,
    /// A product without `out_dtype` has its accumulator's type.
    pub dot_follows_accumulator: bool,
    /// The function of a reduction or a scan may come through a parameter.
    pub combine_parameters: bool,
    /// The scales of `tl.dot_scaled` have the batch's axes.
    pub batched_scales: bool,
    /// How many elements share a scale follows from the shape, not from the type, of the scales.
    pub scale_groups_by_shape: bool,
}

const V3_6: Rules = Rules {
    version: "3.6",
    literals_stay_constexpr: false,
    dot_transposes: false,
    constexpr_returns: false,
    rest_parameters: false,
    keyword_only_parameters: false,
    strict_unpacking: false,
    constexpr_tuples: false,
    block_pointer_aggregates: false,
    strict_boundary_checks: false,
    broad_math: false,
    strict_topk: false,
    atomic_constant_masks: false,
    walrus: false,
    nested_tuple_targets: false,
    chained_comparison: false,
    while_on_int: false,
    weak_comparisons: false,
    native_bf16_minmax: false,
    fp8_literals: false,
    zero_extents: true,
    surplus_slices: true,
    streaming_loads: false,
    evict_normal: false,
    strict_tuner_keys: false,
    ordered_cat: false,
    dot_follows_accumulator: false,
    combine_parameters: false,
    batched_scales: false,
    scale_groups_by_shape: false,
};

const V3_7: Rules = Rules {
    version: "3.7",
    constexpr_returns: true,
    fp8_literals: true,
    combine_parameters: true,
    batched_scales: true,
    ordered_cat: true,
    ..V3_6
};

const V3_8: Rules = Rules {
    version: "3.8",
    rest_parameters: true,
    constexpr_tuples: true,
    block_pointer_aggregates: true,
    strict_boundary_checks: true,
    atomic_constant_masks: true,
    walrus: true,
    nested_tuple_targets: true,
    zero_extents: false,
    streaming_loads: true,
    dot_follows_accumulator: true,
    scale_groups_by_shape: true,
    ..V3_7
};

const V3_9: Rules = Rules {
    version: "3.9",
    keyword_only_parameters: true,
    strict_unpacking: true,
    broad_math: true,
    strict_topk: true,
    chained_comparison: true,
    while_on_int: true,
    weak_comparisons: true,
    native_bf16_minmax: true,
    surplus_slices: false,
    evict_normal: true,
    strict_tuner_keys: true,
    ..V3_8
};

/// For code of which nobody says what it is written for: means what it means to the newest, and is wrong only where it is to all.
static UNSTATED: Rules = Rules {
    strict_unpacking: false,
    strict_topk: false,
    strict_tuner_keys: false,
    strict_boundary_checks: false,
    zero_extents: true,
    surplus_slices: true,
    ..V3_9
};

/// The oldest version that such code may be for.
const OLDEST_UNSTATED: &str = "3.6";

/// Oldest first.
pub static VERSIONS: &[Rules] =
    &[Rules { version: "1.0", literals_stay_constexpr: true, dot_transposes: true, ..V3_6 }, V3_6, V3_7, V3_8, V3_9];

/// The row a version is read under: its own, else the newest that is not newer; versions between the dialect and 3.6 share 3.6's.
/// `None` if it is no version number.
pub fn rules(version: &str) -> Option<&'static Rules> {
    if version == DEFAULT_TRITON {
        return Some(&UNSTATED);
    }
    let wanted = number(version)?;
    if let Some(exact) = VERSIONS.iter().find(|r| number(r.version) == Some(wanted)) {
        return Some(exact);
    }
    VERSIONS[1..].iter().rev().find(|r| number(r.version) <= Some(wanted)).or(VERSIONS.get(1))
}

/// What to use in the place of a name that is deprecated or gone.
struct Advice {
    /// Behind `triton.`.
    path: &'static str,
    /// The first version that warns of it.
    deprecated: Option<&'static str>,
    /// The first version that has it to say that it is gone.
    refused: Option<&'static str>,
    instead: &'static str,
}

const fn instead(path: &'static str, instead: &'static str) -> Advice {
    Advice { path, deprecated: None, refused: None, instead }
}

const DESCRIPTORS: &str = "`tl.make_tensor_descriptor`";
const MADE_IN_KERNEL: &str = "`tl.make_tensor_descriptor` in the kernel";
const BLOCKS: &str = "`tl.make_tensor_descriptor`, or a tile of pointers with a mask";

/// In the order of the versions that took them.
static ADVICE: &[Advice] = &[
    instead("language.libdevice", "`tl.extra.cuda.libdevice`"),
    instead("language.printf", "`tl.device_print`"),
    instead("language.float8", "`tl.float8e5` or `tl.float8e4nv`"),
    instead("language.float8e4", "`tl.float8e4nv`"),
    instead("language.uint32_to_uniform_float", "`tl.uint_to_uniform_float`"),
    instead("language.const_pointer_type", "`tl.pointer_type`"),
    instead("language.math.max", "`tl.maximum`"),
    instead("language.math.min", "`tl.minimum`"),
    instead("language.nv_tma_desc_type", "`tl.tensor_descriptor`"),
    instead("language._experimental_descriptor_load", "`tl.make_tensor_descriptor` and its `.load`"),
    instead("language._experimental_descriptor_store", "`tl.make_tensor_descriptor` and its `.store`"),
    instead("language._experimental_make_tensor_descriptor", DESCRIPTORS),
    instead("language._experimental_reinterpret_tensor_descriptor", DESCRIPTORS),
    instead("language._experimental_tensor_descriptor", "`tl.tensor_descriptor`"),
    instead("language.extra.cuda.experimental_device_tensormap_create1d", MADE_IN_KERNEL),
    instead("language.extra.cuda.experimental_device_tensormap_create2d", MADE_IN_KERNEL),
    instead("language.extra.cuda.experimental_tensormap_fenceproxy_acquire", MADE_IN_KERNEL),
    instead("tools.experimental_descriptor", "`triton.tools.tensor_descriptor`"),
    instead("language.constexpr_function", "`triton.constexpr_function`"),
    instead("language.async_task", "`tl.range(…, warp_specialize=True)`"),
    Advice { deprecated: Some("2.2"), ..instead("language.view", "`tl.reshape(…, can_reorder=True)`") },
    Advice { deprecated: Some("3.7"), refused: Some("3.9"), ..instead("language.make_block_ptr", BLOCKS) },
    Advice { deprecated: Some("3.7"), ..instead("language.advance", BLOCKS) },
];

/// What a version says to a module of Triton's or a member of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Availability {
    Present,
    Deprecated {
        instead: &'static str,
    },
    Removed {
        version: &'static str,
        instead: Option<&'static str>,
    },
    NotYet {
        version: &'static str,
    },
    /// Where no version is stated: some that may be meant have it, and the newest lacks it.
    Leaving {
        version: &'static str,
        instead: Option<&'static str>,
    },
    /// No version has it.
    Never,
    /// Not known: private to a module, or a back end's own.
    Unknown,
}

/// Whether a version has what a full path names (`triton.language.squeeze`); a version nobody can read is the newest, and what was before
/// the table is not known to lack anything.
pub fn availability(path: &str, triton: &str) -> Availability {
    if triton != DEFAULT_TRITON {
        return availability_in(path, triton);
    }
    match (availability_in(path, newest().version), availability_in(path, OLDEST_UNSTATED)) {
        (Availability::Removed { version, instead }, Availability::Present | Availability::Deprecated { .. }) => {
            Availability::Leaving { version, instead }
        }
        (Availability::Deprecated { .. }, Availability::Present) => Availability::Present,
        (newest, _) => newest,
    }
}

fn availability_in(path: &str, triton: &str) -> Availability {
    let span = match names::find(path) {
        Found::Span(span) => span,
        Found::NoMember => return Availability::Never,
        Found::Unlisted => return Availability::Unknown,
    };
    let own = path.strip_prefix("triton.").unwrap_or_default();
    let advice =
        ADVICE.iter().find(|advice| own.strip_prefix(advice.path).is_some_and(|rest| rest.is_empty() || rest.starts_with('.')));
    if advice.is_none() && span == Span::default() {
        return Availability::Present;
    }
    let Some(wanted) = number(triton).or_else(|| number(newest().version)) else { return Availability::Unknown };
    let reached = |version: Option<&'static str>| version.filter(|v| number(v).is_some_and(|v| v <= wanted));
    if let Some(version) = span.since.filter(|v| number(v).is_some_and(|v| wanted < v)) {
        return Availability::NotYet { version };
    }
    if let Some(version) = reached(span.gone.or(advice.and_then(|a| a.refused))) {
        return Availability::Removed { version, instead: advice.map(|a| a.instead) };
    }
    match advice {
        Some(advice) if reached(advice.deprecated).is_some() => Availability::Deprecated { instead: advice.instead },
        _ => Availability::Present,
    }
}

/// Whether a module of Triton's has a member, as `hasattr` says; `None` if it is not known.
pub fn has(path: &str, triton: &str) -> Option<bool> {
    match availability(path, triton) {
        Availability::Present | Availability::Deprecated { .. } | Availability::Leaving { .. } => Some(true),
        Availability::Removed { .. } => {
            // What is kept to say that it is gone is there.
            let is_refused = ADVICE.iter().any(|a| a.refused.is_some() && path.strip_prefix("triton.") == Some(a.path));
            Some(is_refused)
        }
        Availability::NotYet { .. } | Availability::Never => Some(false),
        Availability::Unknown => None,
    }
}

/// Whether some version of Triton has what a full path names.
pub fn has_ever(path: &str) -> bool {
    matches!(names::find(path), Found::Span(_))
}

/// Whether some version of Triton has a module of this path.
pub fn is_module(path: &str) -> bool {
    names::is_module(path)
}

/// The row for a version nobody can read.
pub fn newest() -> &'static Rules {
    &VERSIONS[VERSIONS.len() - 1]
}

/// The version to compare with another: where none is stated, the oldest that may be meant.
pub fn oldest_of(triton: &str) -> &str {
    if triton == DEFAULT_TRITON { OLDEST_UNSTATED } else { triton }
}

/// What `triton.__version__` is: `3.6.0`.
pub fn package_version(triton: &str) -> String {
    let version = if triton == DEFAULT_TRITON { newest().version } else { triton };
    if version.matches('.').count() < 2 { format!("{version}.0") } else { version.to_owned() }
}

/// Major and minor: `3.7.1` is `(3, 7)`.
fn number(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.split('.');
    let major = parts.next()?.parse().ok()?;
    let minor = parts.next().unwrap_or("0").parse().ok()?;
    Some((major, minor))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_version_finds_its_row() {
        let rows: Vec<&str> = ["1.0", "1.1", "2.1", "3.5", "3.6", "3.6.0", "3.7.1", "3.9", "3.12", "4.0"]
            .iter()
            .filter_map(|v| rules(v))
            .map(|r| r.version)
            .collect();
        assert_eq!(rows, ["1.0", "3.6", "3.6", "3.6", "3.6", "3.6", "3.7", "3.9", "3.9", "3.9"]);
        assert!(rules("latest").is_none());
    }

    #[test]
    fn names_come_and_go() {
        let of = |name: &str, triton: &str| availability(&format!("triton.{name}"), triton);
        assert_eq!(of("language.load", "3.6"), Availability::Present);
        assert_eq!(of("language.squeeze", "3.6"), Availability::NotYet { version: "3.7" });
        assert_eq!(of("language.squeeze", "3.7.1"), Availability::Present);
        assert_eq!(of("language.make_block_ptr", "3.6"), Availability::Present);
        assert_eq!(of("language.make_block_ptr", "3.8"), Availability::Deprecated { instead: BLOCKS });
        assert_eq!(of("language.make_block_ptr", "3.9"), Availability::Removed { version: "3.9", instead: Some(BLOCKS) });
        // The dialect is old, but its kernels are told nothing about names that came before.
        assert_eq!(of("language.view", "1.0"), Availability::Present);
        assert_eq!(of("ops.matmul", "3.6"), Availability::Removed { version: "3.2", instead: None });
        assert_eq!(of("ops.matmul", "3.1"), Availability::Present);
        assert_eq!(of("language.lod", "3.6"), Availability::Never);
        assert_eq!(of("language.extra.xpu.libdevice", "3.6"), Availability::Unknown);
        assert_eq!(
            (has("triton.language.make_block_ptr", "3.9"), has("triton.language.advance", "3.9")),
            (Some(true), Some(false))
        );
        assert_eq!((has("triton.language.gather", "3.2"), has("triton.language.gather", "3.3")), (Some(false), Some(true)));
    }

    #[test]
    fn advice_is_for_names_that_there_were() {
        for advice in ADVICE {
            let found = names::find(&format!("triton.{}", advice.path));
            assert!(matches!(found, Found::Span(_)), "{}", advice.path);
        }
    }

    #[test]
    fn rows_are_in_order() {
        assert!(VERSIONS.windows(2).all(|w| number(w[0].version) < number(w[1].version)));
        assert!(rules(crate::target::DEFAULT_TRITON).is_some());
    }
}
