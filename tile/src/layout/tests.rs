//! Laws of the layout algebra and facts about the constructors.

use proptest::prelude::*;

use super::{
    algebra::*,
    banks::{ideal_wavefronts, wavefronts},
    blocked::blocked,
    convert::{Access, Conversion, conversion, scratch},
    matrices::Matrices,
    mma::{Side, dot_operand, is_accumulator, mma16816_accumulator},
    reshape::squeeze,
    shared::{row_major, swizzle_bytes, swizzled, swizzled_to, swizzled_words},
    *,
};

/// Random invertible columns: products of elementary steps.
fn bijection(bits: u32) -> impl Strategy<Value = Vec<u32>> {
    prop::collection::vec((0..bits, 0..bits), 0..40).prop_map(move |steps| {
        let mut columns: Vec<u32> = (0..bits).map(|b| 1 << b).collect();
        for (a, b) in steps {
            if a == b {
                columns.swap(a as usize, 0);
            } else {
                columns[a as usize] ^= columns[b as usize];
            }
        }
        columns
    })
}

fn distributed(bits: u32) -> impl Strategy<Value = Distributed> {
    (bijection(bits), 0..3usize).prop_map(move |(mut columns, zeros)| {
        for zero in 0..zeros {
            columns.insert(columns.len() / 2 + zero, 0);
        }
        let warp = columns.split_off(columns.len() - 2);
        let lane = columns.split_off(columns.len() - 5);
        Distributed {
            shape: Shape::from_slice(&[1 << (bits / 2), 1 << (bits - bits / 2)]),
            register: columns.into(),
            lane: lane.into(),
            warp: warp.into(),
        }
    })
}

fn shape2() -> impl Strategy<Value = Vec<u32>> {
    (0..8u32, 0..8u32).prop_map(|(a, b)| vec![1 << a, 1 << b])
}

fn any_blocked() -> impl Strategy<Value = Distributed> {
    (shape2(), 0..4u32, 0..6u32, 0..3u32, any::<bool>()).prop_map(|(shape, spt, t, w, flip)| {
        let order = if flip { [0, 1] } else { [1, 0] };
        blocked(&shape, &[1, 1 << spt], &[1 << t, 32 >> t], &[1 << w, 4 >> w], &order)
    })
}

proptest! {
    #[test]
    fn inverse_undoes(columns in bijection(11), x in 0..1u32 << 11) {
        let inverse = invert(&columns).unwrap();
        prop_assert_eq!(apply(&inverse, apply(&columns, x)), x);
        prop_assert_eq!(apply(&compose(&columns, &inverse), x), x);
    }

    #[test]
    fn apply_is_linear(columns in bijection(10), x in 0..1u32 << 10, y in 0..1u32 << 10) {
        prop_assert_eq!(apply(&columns, x) ^ apply(&columns, y), apply(&columns, x ^ y));
    }

    #[test]
    fn solving_a_conversion_reaches_every_element(source in distributed(12), target in distributed(12), at in 0..1u64 << 12) {
        let (a, b) = (source.columns(), target.columns());
        let x = invert_and_compose(&a, &b).unwrap();
        let at = at & ((1 << b.len()) - 1);
        let through = x.iter().enumerate().filter(|(i, _)| at >> i & 1 == 1).fold(0, |sum, (_, column)| sum ^ column);
        prop_assert_eq!(apply(&a, through as u32), apply(&b, at as u32));
    }

    #[test]
    fn blocked_covers_its_tile_without_duplicate_registers(layout in any_blocked()) {
        prop_assert!(layout.is_surjective(), "{layout:?}");
        prop_assert_eq!(layout.free_bits().0, 0);
        prop_assert_eq!(layout.num_warps(), 4);
    }

    #[test]
    fn free_bits_leave_one_holder_each(layout in any_blocked()) {
        let (r, l, w) = layout.free_bits();
        let mut holders = vec![0; 1 << layout.index_bits()];
        for register in (0..layout.num_registers() as u32).filter(|x| x & r == 0) {
            for lane in (0..32).filter(|x| x & l == 0) {
                for warp in (0..layout.num_warps()).filter(|x| x & w == 0) {
                    holders[layout.apply(register, lane, warp) as usize] += 1;
                }
            }
        }
        prop_assert!(holders.iter().all(|&h| h == 1));
    }

    #[test]
    fn slices_keep_elements_in_their_threads(layout in any_blocked(), axis in 0..2usize, lane in 0..32u32, warp in 0..4u32) {
        let slice = layout.slice(axis);
        prop_assert!(slice.is_surjective());
        for register in 0..layout.num_registers() as u32 {
            let kept = squeeze(&layout.shape, axis, layout.apply(register, lane, warp));
            prop_assert!((0..slice.num_registers() as u32).any(|r| slice.apply(r, lane, warp) == kept));
        }
        let mut one = layout.shape.clone();
        one[axis] = 1;
        prop_assert_eq!(slice.expand_dims(axis), layout.broadcast_source(&one));
    }

    #[test]
    fn transposing_moves_indices(layout in any_blocked(), register in 0..4u32, lane in 0..32u32, warp in 0..4u32) {
        let transposed = layout.transpose(&[1, 0]);
        let register = register & (layout.num_registers() as u32 - 1);
        let (a, b) = (unflatten(&layout.shape, layout.apply(register, lane, warp)), unflatten(&transposed.shape, transposed.apply(register, lane, warp)));
        prop_assert_eq!((a[0], a[1]), (b[1], b[0]));
        prop_assert_eq!(transposed.transpose(&[1, 0]), layout);
    }

    #[test]
    fn lanes_exchange_what_the_layouts_say(layout in distributed(8), turn in 0..7usize) {
        let mut within = [&layout.register[..], &layout.lane].concat();
        let turn = turn % within.len();
        within.rotate_left(turn);
        let lane = within.split_off(within.len() - 5);
        let other = Distributed { register: within.into_iter().collect(), lane: lane.into_iter().collect(), ..layout.clone() };
        match conversion(&layout, &other) {
            Conversion::Exchange(exchange) => {
                for register in 0..other.num_registers() {
                    for lane in 0..32 {
                        let (from, of) = exchange.taken(register, lane);
                        prop_assert_eq!(other.apply(register as u32, lane, 1), layout.apply(from, of, 1));
                    }
                }
            }
            found => prop_assert!(found != Conversion::Shared),
        }
    }

    #[test]
    fn renaming_is_exact(layout in distributed(11), target in distributed(11)) {
        for (a, b) in [(&layout, &target), (&layout, &layout)] {
            if let Conversion::Rename(registers) = conversion(a, b) {
                for (r, &from) in registers.iter().enumerate() {
                    for lane in 0..32 {
                        prop_assert_eq!(b.apply(r as u32, lane, 1), a.apply(from, lane, 1));
                    }
                }
            } else {
                prop_assert!(a != b);
            }
        }
    }

    #[test]
    fn scratch_holds_every_element_once(a in distributed(12), b in distributed(12), bits in prop::sample::select(vec![8u32, 16, 32, 64])) {
        let scratch = scratch(&a, &b, bits);
        let inverse = scratch.inverse();
        prop_assert!(inverse.is_some(), "{scratch:?}");
        for tile in [&a, &b] {
            let access = Access::new(tile, &scratch, bits).unwrap();
            prop_assert!((1 << access.vector.len()) * bits <= 128);
            for lane in 0..32 {
                let offset = apply(&access.lane, lane);
                prop_assert_eq!(scratch.apply(offset), tile.apply(0, lane, 0));
                prop_assert_eq!(offset & ((1 << access.vector.len()) - 1), 0);
            }
        }
    }

    #[test]
    fn swizzles_are_bijections(shape in shape2(), bits in prop::sample::select(vec![8u32, 16, 32]), flip in any::<bool>()) {
        let order = if flip { [0, 1] } else { [1, 0] };
        prop_assert!(swizzled(&shape, bits, &order).is_bijective());
        prop_assert!(swizzled_words(&shape, &order).is_bijective());
        prop_assert!(row_major(&shape).is_bijective());
    }
}

#[test]
fn fragments_match_the_ptx_formulas() {
    let acc = mma16816_accumulator(&[16, 8], 1, 1);
    assert!(is_accumulator(&acc));
    for lane in 0..32 {
        let (g, t) = (lane >> 2, lane & 3);
        for i in 0..4 {
            assert_eq!(unflatten(&acc.shape, acc.apply(i, lane, 0))[..], [g + 8 * (i >> 1), t * 2 + (i & 1)]);
        }
        for (bits, k) in [(8, 32), (16, 16), (32, 8)] {
            let e = 32 / bits;
            let a = dot_operand(Side::A, &acc, &[16, k], bits);
            let b = dot_operand(Side::B, &acc, &[k, 8], bits);
            assert!(a.is_surjective() && b.is_surjective());
            for word in 0..4 {
                for j in 0..e {
                    let at = unflatten(&a.shape, a.apply(word * e + j, lane, 0));
                    assert_eq!(at[..], [g + 8 * (word & 1), 4 * e * (word >> 1) + e * t + j]);
                    if word < 2 {
                        let at = unflatten(&b.shape, b.apply(word * e + j, lane, 0));
                        assert_eq!(at[..], [4 * e * word + e * t + j, g]);
                    }
                }
            }
        }
    }
}

#[test]
fn accumulators_and_operands_share_their_warps() {
    let acc = mma16816_accumulator(&[64, 64], 2, 2);
    assert_eq!(acc.warp[..], [8, 16 * 64]);
    assert_eq!(acc.register[..], [1, 8 * 64, 16, 32, 32 * 64]);
    let a = dot_operand(Side::A, &acc, &[64, 32], 16);
    let b = dot_operand(Side::B, &acc, &[32, 64], 16);
    assert_eq!(a.warp[..], [0, 16 * 32]);
    assert_eq!(b.warp[..], [8, 0]);
    assert!(a.is_surjective() && b.is_surjective() && acc.is_surjective());
}

/// What makes flash attention's probabilities stay in registers.
#[test]
fn an_accumulator_becomes_an_operand_by_renaming() {
    let p = mma16816_accumulator(&[128, 64], 4, 1);
    let o = mma16816_accumulator(&[128, 128], 4, 1);
    let operand = dot_operand(Side::A, &o, &[128, 64], 16);
    assert_eq!(conversion(&p, &operand), Conversion::Rename((0..p.num_registers() as u32).collect()));
    assert_eq!(conversion(&p, &blocked(&[128, 64], &[1, 8], &[4, 8], &[4, 1], &[1, 0])), Conversion::Shared);
}

#[test]
fn swizzled_rows_are_read_without_conflicts() {
    for (columns, bits) in [(16, 16), (32, 16), (64, 16), (128, 16), (256, 16), (32, 32), (64, 8)] {
        let shape = [32, columns];
        let buffer = swizzled(&shape, bits, &[1, 0]);
        let inverse = buffer.inverse().unwrap();
        let chunk = 128 / bits;
        for row in (0..32).step_by(8) {
            for column in (0..columns).step_by(chunk as usize) {
                // One phase of ldmatrix: eight rows of 16 bytes. The other lanes repeat it and must not add a wavefront.
                let address: [u32; 32] =
                    std::array::from_fn(|lane| apply(&inverse, flatten(&shape, &[row + lane as u32 % 8, column])) * bits / 8);
                assert!(address.iter().all(|a| a % 16 == 0));
                assert_eq!(wavefronts(&address, 16), 4, "{columns} columns of {bits} bits");
            }
        }
        // A warp storing rows with 16 bytes a thread.
        let threads = (columns / chunk).min(32);
        let rows = blocked(&shape, &[1, chunk], &[32 / threads, threads], &[1, 1], &[1, 0]);
        let access = Access::new(&rows, &buffer, bits).unwrap();
        assert_eq!(1 << access.vector.len(), chunk);
        assert_eq!(wavefronts(&access.lane_addresses(bits / 8), 16), ideal_wavefronts(16));
    }
}

#[test]
fn words_of_a_right_operand_are_read_without_conflicts() {
    for columns in [8, 16, 32, 64, 128] {
        let shape = [32, columns];
        let fragment = dot_operand(Side::B, &mma16816_accumulator(&[16, columns], 1, 1), &shape, 32);
        let access = Access::new(&fragment, &swizzled_words(&shape, &[1, 0]), 32).unwrap();
        assert_eq!(wavefronts(&access.lane_addresses(4), 4), 1, "{columns} columns");
        // By columns, and by eight rows of 16 bytes.
        let matrix = swizzled_words(&shape, &[0, 1]).inverse().unwrap();
        let address: [u32; 32] = std::array::from_fn(|lane| apply(&matrix, flatten(&shape, &[0, lane as u32 % 8])) * 4);
        assert_eq!(wavefronts(&address, 16), 4, "{columns} columns");
    }
}

/// The byte-address form of the swizzles: `a ^ ((a >> 7) & (2^n - 1)) << 4`.
#[test]
fn swizzles_equal_their_address_form() {
    for (width, n) in [(32, 1), (64, 2), (128, 3)] {
        let shape = [64, width / 2];
        assert_eq!(swizzle_bytes(&shape, 16, &[1, 0]), width);
        let inverse = swizzled_to(&shape, 16, &[1, 0], width).inverse().unwrap();
        for flat in 0..64 * width / 2 {
            let address = flat * 2;
            assert_eq!(apply(&inverse, flat) * 2, address ^ ((address >> 7) & ((1 << n) - 1)) << 4);
        }
    }
}

#[test]
fn unswizzled_columns_conflict() {
    let inverse = row_major(&[32, 64]).inverse().unwrap();
    let address: [u32; 32] = std::array::from_fn(|lane| apply(&inverse, flatten(&[32, 64], &[lane as u32 % 8, 0])) * 2);
    assert_eq!(wavefronts(&address, 16), 32);
}

#[test]
fn conversions_of_accumulators_use_conflict_free_scratch() {
    let acc = mma16816_accumulator(&[128, 128], 2, 2);
    let rows = blocked(&[128, 128], &[1, 8], &[2, 16], &[4, 1], &[1, 0]);
    for (from, to) in [(&acc, &rows), (&rows, &acc)] {
        let buffer = scratch(from, to, 16);
        for tile in [from, to] {
            let access = Access::new(tile, &buffer, 16).unwrap();
            let width = 2 << access.vector.len();
            assert_eq!(wavefronts(&access.lane_addresses(2), width), ideal_wavefronts(width));
        }
        // The accumulators' side moves whole matrices, the other one 16 bytes a thread.
        let matrices = Matrices::of(&Access::new(&acc, &buffer, 16).unwrap(), 16).unwrap();
        assert_eq!((matrices.transposed, matrices.matrices.len()), (false, 2));
        assert_eq!(wavefronts(&matrices.row_addresses(), 16), 4);
        assert_eq!(Access::new(&rows, &buffer, 16).unwrap().vector.len(), 3);
    }
}
