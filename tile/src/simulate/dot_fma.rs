//! Matrix products without tensor cores: both operands in buffers or in scratch, every thread adds up its elements.
//!
//! **Invariant:** products are added in the order of the inner dimension, each fused into the sum.

use std::collections::{BTreeMap, btree_map::Entry};

use super::{Frame, Lanes, Machine, Register, Run};
use crate::{
    interpret::{Data, float},
    layout::{
        Side,
        algebra::{apply, compose, shift_of},
        fma::staged,
    },
    module::OpId,
    ops::{BinaryOp, CastOp, DotPrecision, OpKind},
    scratch::{dot_operand_at, element_bytes},
    types::{Elem, Scalar},
};

/// Where the row (`side` 0) or column (1) of the result's element `flat` stands in the operand, at this inner step.
fn operand_index(side: usize, result: &[u32], operand: &[u32], flat: u32, inner: u32) -> u32 {
    let rank = result.len();
    let rows = shift_of(result, rank - 2);
    let batch = flat >> (rows + result[rank - 2].ilog2());
    let (row, column) = (flat >> rows & (result[rank - 2] - 1), flat & (result[rank - 1] - 1));
    let (row, column) = if side == 0 { (row, inner) } else { (inner, column) };
    let width = shift_of(operand, rank - 2);
    batch << (width + operand[rank - 2].ilog2()) | row << width | column
}

impl<'r> Machine<'r> {
    pub(super) fn dot_fma(&mut self, frame: &mut Frame<'r>, id: OpId, precision: DotPrecision) -> Run<()> {
        let op = frame.function.op(id);
        let (c, result) = (op.operands[2], op.results[0]);
        let lc = self.tile_layout(frame, id, c)?;
        let to = frame.function.ty(c).elem();
        let fits = matches!(to, Elem::Scalar(Scalar::F32 | Scalar::F64 | Scalar::I32));
        if self.layout(frame, id, result)? != Some(lc) || !fits {
            return Err(self.malformed(frame, id, "a dot whose result has another layout than its sum"));
        }
        let k = frame.function.ty(op.operands[0]).shape()[lc.shape.len() - 1];
        let mut stores = false;
        // For each operand: its element, whose memory it is in and where it begins, what threads and registers contribute to an offset, and
        // what inner steps do.
        let mut sides = Vec::new();
        for side in 0..2 {
            let value = op.operands[side];
            let ty = frame.function.ty(value);
            let elem = ty.elem();
            let (owner, at, buffer) = if ty.is_buffer() {
                let (owner, at) = self.buffer(frame, id, value)?;
                (owner, at, self.buffer_layout(frame, id, value)?.clone())
            } else {
                let layout = self.tile_layout(frame, id, value)?;
                let buffer = staged(if side == 0 { Side::A } else { Side::B }, &layout.shape, lc);
                let mut registers = self.tile(frame, id, value)?.to_vec();
                if precision == DotPrecision::Tf32 && elem == Elem::Scalar(Scalar::F32) {
                    registers = registers.iter().map(|r| r.with(rounded(&r.data))).collect();
                }
                let at = self.shared_offset(frame, id)? + dot_operand_at(frame.function, id, side);
                self.store_tile(frame, id, id, at, &buffer, layout, elem, &registers)?;
                stores = true;
                (id, at, buffer)
            };
            let Some(inverse) = buffer.inverse() else {
                return Err(self.malformed(frame, id, "an operand's scratch does not give every element one place"));
            };
            let of = |bases: &[u32]| {
                let places: Vec<u32> = bases.iter().map(|&b| operand_index(side, &lc.shape, &buffer.shape, b, 0)).collect();
                compose(&inverse, &places)
            };
            let threads = self.linear(&of(&lc.lane), &of(&lc.warp));
            let steps: Vec<u32> = (0..k).map(|i| apply(&inverse, operand_index(side, &lc.shape, &buffer.shape, 0, i))).collect();
            sides.push((elem, (owner, at), threads, of(&lc.register), steps));
        }
        if stores {
            self.shared.barrier();
        }
        let mut sums: Vec<Register> = self.tile(frame, id, c)?.to_vec();
        let surplus = lc.free_bits().0 as usize;
        for step in 0..k as usize {
            let mut factors: [BTreeMap<u32, Register>; 2] = Default::default();
            for r in (0..sums.len()).filter(|r| r & surplus == 0) {
                let mut pair = Vec::with_capacity(2);
                for (side, (elem, (owner, at), threads, columns, steps)) in sides.iter().enumerate() {
                    let offset = apply(columns, r as u32) ^ steps[step];
                    let factor = match factors[side].entry(offset) {
                        Entry::Occupied(known) => known.into_mut(),
                        Entry::Vacant(place) => {
                            let address = |t: usize| at + (threads[t] ^ offset) * element_bytes(*elem);
                            place.insert(self.read_shared(frame, id, *owner, *elem, address, 1)?.remove(0))
                        }
                    };
                    pair.push((*elem, factor.clone()));
                }
                let sum = fused(to, &pair, &sums[r]);
                sums[r] = sum.ok_or_else(|| self.malformed(frame, id, "the operation does not fit its operands"))?;
            }
        }
        for r in 0..sums.len() {
            sums[r] = sums[r & !surplus].clone();
        }
        self.set_agreed(frame, id, result, sums)
    }
}

fn rounded(data: &Data) -> Data {
    match data {
        Data::F32(v) => Data::F32(v.iter().map(|&x| float::tf32(x)).collect()),
        other => other.clone(),
    }
}

/// One step of the sum.
fn fused(to: Elem, pair: &[(Elem, Register)], sum: &Lanes) -> Option<Register> {
    let [(from, a), (_, b)] = pair else { return None };
    if to != Elem::Scalar(Scalar::I32) {
        // Narrow floats are held as f32 already.
        return Lanes::elementwise(&OpKind::Fma, &[to; 3], to, &[a, b, sum]);
    }
    let wide = |x: &Lanes| Lanes::elementwise(&OpKind::Cast(CastOp::ExtS), &[*from], to, &[x]);
    let product = Lanes::elementwise(&OpKind::Binary(BinaryOp::MulI), &[to; 2], to, &[&*wide(a)?, &*wide(b)?])?;
    Lanes::elementwise(&OpKind::Binary(BinaryOp::AddI), &[to; 2], to, &[&*product, sum])
}
