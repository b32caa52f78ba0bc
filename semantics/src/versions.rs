//! The rules of the language that changed between versions of Triton: one field a rule, one row a version.
//!
//! **Invariant:** nobody outside this file compares version numbers; everyone else asks a row for a rule.

/// How one version of the language reads a kernel. Before 3.6 only the API names differ, so those versions share its row.
#[derive(Debug, PartialEq, Eq)]
pub struct Rules {
    pub version: &'static str,
    /// A local bound to a literal stays compile-time (dialect `1.0`).
    pub literals_stay_constexpr: bool,
    /// What a helper returns keeps its compile-time value, and return types are joined.
    pub constexpr_returns: bool,
    /// `*args` of a helper are bound.
    pub rest_parameters: bool,
    pub keyword_only_parameters: bool,
    /// Unpacking more values than there are names is an error, not a silent loss.
    pub strict_unpacking: bool,
    /// A compile-time tuple is a tuple of compile-time values: its items are values of their own, and a plain name may hold it.
    pub constexpr_tuples: bool,
    /// A block pointer is pointers and masks under a name: stores cast, offsets may be 64-bit, padding needs checked axes.
    pub block_pointer_aggregates: bool,
    /// tl.fdiv joins two float types, tl.clamp takes integers.
    pub broad_math: bool,
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
    /// `tl.cat` keeps the order and takes an axis.
    pub ordered_cat: bool,
    /// `tl.make_block_ptr` and `tl.advance` exist.
    pub block_pointers: bool,
    /// A product without `out_dtype` has its accumulator's type.
    pub dot_follows_accumulator: bool,
    /// The scales of `tl.dot_scaled` have the batch's axes.
    pub batched_scales: bool,
    /// How many elements share a scale follows from the shape, not from the type, of the scales.
    pub scale_groups_by_shape: bool,
}

const V3_6: Rules = Rules {
    version: "3.6",
    literals_stay_constexpr: false,
    constexpr_returns: false,
    rest_parameters: false,
    keyword_only_parameters: false,
    strict_unpacking: false,
    constexpr_tuples: false,
    block_pointer_aggregates: false,
    broad_math: false,
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
    ordered_cat: false,
    block_pointers: true,
    dot_follows_accumulator: false,
    batched_scales: false,
    scale_groups_by_shape: false,
};

const V3_7: Rules =
    Rules { version: "3.7", constexpr_returns: true, fp8_literals: true, batched_scales: true, ordered_cat: true, ..V3_6 };

const V3_8: Rules = Rules {
    version: "3.8",
    rest_parameters: true,
    constexpr_tuples: true,
    block_pointer_aggregates: true,
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
    chained_comparison: true,
    while_on_int: true,
    weak_comparisons: true,
    native_bf16_minmax: true,
    surplus_slices: false,
    evict_normal: true,
    block_pointers: false,
    ..V3_8
};

/// Oldest first.
pub static VERSIONS: &[Rules] = &[Rules { version: "1.0", literals_stay_constexpr: true, ..V3_6 }, V3_6, V3_7, V3_8, V3_9];

/// The row a version is read under: its own, else the newest that is not newer; versions between the dialect and 3.6 share 3.6's.
/// `None` if it is no version number.
pub fn rules(version: &str) -> Option<&'static Rules> {
    let wanted = number(version)?;
    if let Some(exact) = VERSIONS.iter().find(|r| number(r.version) == Some(wanted)) {
        return Some(exact);
    }
    VERSIONS[1..].iter().rev().find(|r| number(r.version) <= Some(wanted)).or(VERSIONS.get(1))
}

/// The row for a version nobody can read.
pub fn newest() -> &'static Rules {
    &VERSIONS[VERSIONS.len() - 1]
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
    fn rows_are_in_order() {
        assert!(VERSIONS.windows(2).all(|w| number(w[0].version) < number(w[1].version)));
        assert!(rules(crate::target::DEFAULT_TRITON).is_some());
    }
}
