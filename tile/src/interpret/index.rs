//! Operations whose elements choose places: gather and histogram.
//!
//! **Invariant:** an index outside its axis gives an undefined element, never an access.

use super::{
    elementwise::widened,
    value::{Data, POISON_BYTE},
};

/// `source[.., index, ..]` along `axis`.
pub(crate) fn gather(source: &Data, from: &[u32], index: &Data, to: &[u32], axis: usize) -> Option<Data> {
    let product = |extents: &[u32]| extents.iter().map(|&d| d as usize).product::<usize>();
    let inner = product(&to[axis + 1..]);
    let (extent, count) = (from[axis] as usize, to[axis] as usize);
    // An index counts from 0: narrow ones have no sign.
    let indices = widened(index, false)?;
    let place = |i: usize, at: i64| {
        let at = usize::try_from(at).ok().filter(|at| *at < extent)?;
        Some((i / (inner * count) * extent + at) * inner + i % inner)
    };
    macro_rules! pick {
        ($($variant:ident $poison:expr),+) => {
            match source {
                $(Data::$variant(v) => Data::$variant(
                    indices.iter().enumerate().map(|(i, &at)| place(i, at).map_or($poison, |p| v[p])).collect(),
                ),)+
            }
        };
    }
    let byte = i64::from_ne_bytes([POISON_BYTE; 8]);
    Some(pick!(I1 true, I8 byte as i8, I16 byte as i16, I32 byte as i32, I64 byte, F32 f32::NAN, F64 f64::NAN))
}

/// How many active elements have each number from 0 on.
pub(crate) fn histogram(values: &Data, mask: Option<&Data>, bins: usize) -> Option<Data> {
    let mut counts = vec![0i32; bins];
    for (i, value) in widened(values, false)?.into_iter().enumerate() {
        let active = match mask {
            Some(Data::I1(mask)) => mask[i],
            Some(_) => return None,
            None => true,
        };
        if active && let Some(count) = usize::try_from(value).ok().and_then(|bin| counts.get_mut(bin)) {
            *count = count.wrapping_add(1);
        }
    }
    Some(Data::I32(counts))
}
