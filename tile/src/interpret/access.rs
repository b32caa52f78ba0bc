//! Loads, stores and atomics of tiles of pointers.
//!
//! **Invariant:** elements are accessed in row-major order; a masked-off element is not touched, whatever its pointer; an active one
//! outside every allocation, or not aligned to its size, is a fault and never an access.

use super::{
    FaultKind, float,
    memory::{Allocation, Memory},
    value::Data,
};
use crate::{ops::AtomicOp, types::Scalar};

pub(crate) type Failure = (FaultKind, String);

struct Access<'a> {
    memory: &'a Memory,
    pointers: &'a [i64],
    mask: Option<&'a [bool]>,
    scalar: Scalar,
    verb: &'static str,
}

impl<'a> Access<'a> {
    fn new(
        memory: &'a Memory,
        pointers: &'a Data,
        mask: Option<&'a Data>,
        scalar: Scalar,
        verb: &'static str,
    ) -> Result<Access<'a>, Failure> {
        let Data::I64(pointers) = pointers else { return Err(malformed()) };
        let mask = match mask {
            Some(Data::I1(mask)) => Some(mask.as_slice()),
            Some(_) => return Err(malformed()),
            None => None,
        };
        Ok(Access { memory, pointers, mask, scalar, verb })
    }

    /// Visits every active element: its number, its allocation, its offset there.
    #[inline(always)]
    fn each<const SIZE: usize>(&self, mut visit: impl FnMut(usize, &'a Allocation, usize)) -> Result<(), Failure> {
        let mut recent: Option<&Allocation> = None;
        for (index, &pointer) in self.pointers.iter().enumerate() {
            if self.mask.is_some_and(|mask| !mask[index]) {
                continue;
            }
            let address = pointer as u64;
            let (allocation, offset) = match recent.and_then(|a| Some((a, a.offset::<SIZE>(address)?))) {
                Some(found) => found,
                None => {
                    let nearest = self.memory.nearest(address);
                    match nearest.and_then(|a| Some((a, a.offset::<SIZE>(address)?))) {
                        Some(found) => found,
                        None => return Err(self.outside(index, address)),
                    }
                }
            };
            if !offset.is_multiple_of(SIZE) {
                return Err(self.misaligned(index, address, allocation));
            }
            recent = Some(allocation);
            visit(index, allocation, offset);
        }
        Ok(())
    }

    #[cold]
    fn outside(&self, index: usize, address: u64) -> Failure {
        let size = u64::from(self.scalar.bytes());
        let what = format!("{} of {}", self.verb, self.scalar);
        let message = match self.memory.left_by(address) {
            Some(a) => {
                let offset = address.wrapping_sub(a.base()) as i64;
                let elements = a.len() as u64 / size;
                format!(
                    "{what} at element {} of `{}`, which has {elements} (tile element {index})",
                    offset.div_euclid(size as i64),
                    a.name()
                )
            }
            None => format!("{what} at address {address:#x}, where nothing is allocated (tile element {index})"),
        };
        (FaultKind::OutOfBounds, message)
    }

    #[cold]
    fn misaligned(&self, index: usize, address: u64, allocation: &Allocation) -> Failure {
        let message = format!(
            "{} of {} at byte {} of `{}`, which is not a multiple of {} (tile element {index})",
            self.verb,
            self.scalar,
            address - allocation.base(),
            allocation.name(),
            self.scalar.bytes()
        );
        (FaultKind::Misaligned, message)
    }
}

pub(crate) fn malformed() -> Failure {
    (FaultKind::Malformed, "the module does not verify".into())
}

pub(crate) fn load(
    memory: &Memory,
    scalar: Scalar,
    pointers: &Data,
    mask: Option<&Data>,
    mut out: Data,
) -> Result<Data, Failure> {
    let access = Access::new(memory, pointers, mask, scalar, "load")?;
    match &mut out {
        Data::I1(out) => access.each::<1>(|i, a, o| out[i] = a.load::<1>(o) != 0)?,
        Data::I8(out) => access.each::<1>(|i, a, o| out[i] = a.load::<1>(o) as i8)?,
        Data::I16(out) => access.each::<2>(|i, a, o| out[i] = a.load::<2>(o) as i16)?,
        Data::I32(out) => access.each::<4>(|i, a, o| out[i] = a.load::<4>(o) as i32)?,
        Data::I64(out) => access.each::<8>(|i, a, o| out[i] = a.load::<8>(o) as i64)?,
        Data::F64(out) => access.each::<8>(|i, a, o| out[i] = f64::from_bits(a.load::<8>(o)))?,
        Data::F32(out) => match scalar {
            Scalar::F16 => access.each::<2>(|i, a, o| out[i] = float::decode(Scalar::F16, a.load::<2>(o) as u32))?,
            Scalar::BF16 => access.each::<2>(|i, a, o| out[i] = float::decode(Scalar::BF16, a.load::<2>(o) as u32))?,
            Scalar::F32 => access.each::<4>(|i, a, o| out[i] = f32::from_bits(a.load::<4>(o) as u32))?,
            scalar => access.each::<1>(|i, a, o| out[i] = float::decode(scalar, a.load::<1>(o) as u32))?,
        },
    }
    Ok(out)
}

pub(crate) fn store(memory: &Memory, scalar: Scalar, pointers: &Data, value: &Data, mask: Option<&Data>) -> Result<(), Failure> {
    let access = Access::new(memory, pointers, mask, scalar, "store")?;
    match value {
        Data::I1(v) => access.each::<1>(|i, a, o| a.store::<1>(o, u64::from(v[i]))),
        Data::I8(v) => access.each::<1>(|i, a, o| a.store::<1>(o, v[i] as u64)),
        Data::I16(v) => access.each::<2>(|i, a, o| a.store::<2>(o, v[i] as u64)),
        Data::I32(v) => access.each::<4>(|i, a, o| a.store::<4>(o, v[i] as u64)),
        Data::I64(v) => access.each::<8>(|i, a, o| a.store::<8>(o, v[i] as u64)),
        Data::F64(v) => access.each::<8>(|i, a, o| a.store::<8>(o, v[i].to_bits())),
        Data::F32(v) => match scalar {
            Scalar::F16 => access.each::<2>(|i, a, o| a.store::<2>(o, u64::from(float::encode(Scalar::F16, v[i])))),
            Scalar::BF16 => access.each::<2>(|i, a, o| a.store::<2>(o, u64::from(float::encode(Scalar::BF16, v[i])))),
            Scalar::F32 => access.each::<4>(|i, a, o| a.store::<4>(o, u64::from(v[i].to_bits()))),
            scalar => access.each::<1>(|i, a, o| a.store::<1>(o, u64::from(float::encode(scalar, v[i])))),
        },
    }
}

/// Every atomic is at least as strong as asked for: acquire and release, for the whole machine.
pub(crate) fn atomic(
    memory: &Memory,
    op: AtomicOp,
    scalar: Scalar,
    pointers: &Data,
    value: &Data,
    mask: Option<&Data>,
    poison: Data,
) -> Result<Data, Failure> {
    let access = Access::new(memory, pointers, mask, scalar, "atomic")?;
    let mut old: Vec<u64> = (0..poison.len()).map(|i| poison.bits(scalar, i)).collect();
    let operand: Vec<u64> = (0..value.len()).map(|i| value.bits(scalar, i)).collect();
    let next = |x: u64, y: u64| apply(op, scalar, x, y);
    match scalar.bytes() {
        1 => access.each::<1>(|i, a, o| old[i] = a.update::<1>(o, |x| next(x, operand[i])))?,
        2 => access.each::<2>(|i, a, o| old[i] = a.update::<2>(o, |x| next(x, operand[i])))?,
        4 => access.each::<4>(|i, a, o| old[i] = a.update::<4>(o, |x| next(x, operand[i])))?,
        _ => access.each::<8>(|i, a, o| old[i] = a.update::<8>(o, |x| next(x, operand[i])))?,
    }
    Ok(Data::from_bits(scalar, old.into_iter()))
}

/// Stores where the old bits are the expected ones.
pub(crate) fn compare_and_swap(
    memory: &Memory,
    scalar: Scalar,
    pointers: &Data,
    mask: Option<&Data>,
    expected: &Data,
    value: &Data,
) -> Result<Data, Failure> {
    let access = Access::new(memory, pointers, mask, scalar, "atomic")?;
    let mut old = vec![0u64; value.len()];
    let next = |i: usize, x: u64| if x == expected.bits(scalar, i) { value.bits(scalar, i) } else { x };
    match scalar.bytes() {
        2 => access.each::<2>(|i, a, o| old[i] = a.update::<2>(o, |x| next(i, x)))?,
        4 => access.each::<4>(|i, a, o| old[i] = a.update::<4>(o, |x| next(i, x)))?,
        _ => access.each::<8>(|i, a, o| old[i] = a.update::<8>(o, |x| next(i, x)))?,
    }
    Ok(Data::from_bits(scalar, old.into_iter()))
}

/// What an atomic operation makes of the bits in memory and its operand's.
pub(crate) fn apply(op: AtomicOp, scalar: Scalar, x: u64, y: u64) -> u64 {
    let wide = scalar.bits() == 64;
    let signed = |x: u64| if wide { x as i64 } else { i64::from(x as i32) };
    // Which of two numbers it is; the bits of a number do not change on the way.
    let chosen = |goes_first: fn(f32, f32) -> bool| {
        let (a, b) = (float::decode(scalar, x as u32), float::decode(scalar, y as u32));
        if b.is_nan() || goes_first(a, b) { x } else { y }
    };
    match op {
        AtomicOp::Add => x.wrapping_add(y),
        AtomicOp::AddF => match scalar {
            Scalar::F64 => (f64::from_bits(x) + f64::from_bits(y)).to_bits(),
            scalar => {
                let mut sum = [float::decode(scalar, x as u32) + float::decode(scalar, y as u32)];
                float::round_all(scalar, &mut sum);
                u64::from(float::encode(scalar, sum[0]))
            }
        },
        AtomicOp::MinS => signed(x).min(signed(y)) as u64,
        AtomicOp::MaxS => signed(x).max(signed(y)) as u64,
        AtomicOp::MinU => x.min(y),
        AtomicOp::MaxU => x.max(y),
        AtomicOp::MinF => chosen(|a, b| a < b || a == b && a.is_sign_negative()),
        AtomicOp::MaxF => chosen(|a, b| a > b || a == b && a.is_sign_positive()),
        AtomicOp::And => x & y,
        AtomicOp::Or => x | y,
        AtomicOp::Xor => x ^ y,
        AtomicOp::Exchange => y,
    }
}
