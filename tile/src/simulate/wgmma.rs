//! Warpgroup matrix products as the tensor core reads them: operands through the bits of their descriptors, not through the layouts.
//!
//! A descriptor names strides and a swizzle of addresses; what lies there is multiplied, whatever the layout of the buffer says.
//! **Invariants:** the bytes are held from the issue to the wait that covers it, so that who writes them is reported; bytes that were
//! written, and not fenced since, are reported too.

use std::collections::VecDeque;

use super::{By, Frame, Lanes, Machine, Register, Run, dot::number};
use crate::{
    interpret::{FaultKind, float},
    layout::{Side, algebra::apply, wgmma},
    module::{OpId, ValueId},
    scratch::element_bytes,
    types::{Elem, Scalar},
};

/// The address that the unit reads for row (or column) `outer` and step `k` of an operand, from the bits of its descriptor: the "canonical
/// layouts" of the PTX manual.
fn address(descriptor: u64, transposed: bool, bytes: u32, outer: u32, k: u32) -> u32 {
    let field = |at: u32| (descriptor >> at & 0x3fff) as u32 * 16;
    let (start, leading, stride) = (field(0), field(16), field(32));
    // Bits that are mixed, and 16-byte chunks of a row.
    let (mixed, chunks) = match descriptor >> 62 {
        0 => (0, 1),
        1 => (3, 8),
        2 => (2, 4),
        _ => (1, 2),
    };
    let t = 16 / bytes;
    let linear = match (transposed, mixed) {
        (false, 0) => outer % 8 * 16 + outer / 8 * stride + k % t * bytes + k / t * leading,
        (false, _) => outer % 8 * 16 * chunks + outer / 8 * stride + k * bytes,
        (true, 0) => outer % t * bytes + outer / t * stride + k % 8 * 16 + k / 8 * leading,
        (true, _) => {
            let wide = t * chunks;
            outer % wide * bytes + outer / wide * leading + k % 8 * 16 * chunks + k / 8 * stride
        }
    };
    let address = start + linear;
    address ^ (address >> 7 & ((1 << mixed) - 1)) << 4
}

/// What multiplications under way read: (by, address, bytes).
#[derive(Debug, Default)]
pub(super) struct Multiplications(VecDeque<Vec<(By, u32, u32)>>);

/// An operand of one instruction: `outer × k` numbers, and a mark for each row or column.
struct Operand {
    numbers: Vec<f64>,
    marks: Vec<u32>,
}

impl<'r> Machine<'r> {
    pub(super) fn wgmma(&mut self, frame: &mut Frame<'r>, id: OpId, turned: [bool; 2]) -> Run<()> {
        let op = frame.function.op(id);
        let (a, b, c, result) = (op.operands[0], op.operands[1], op.operands[2], op.results[0]);
        let elem = |v: ValueId| frame.function.ty(v).elem().scalar().unwrap_or(Scalar::F32);
        let (left, right, acc) = (elem(a), elem(b), elem(c));
        let layout = self.tile_layout(frame, id, c)?;
        let refuse = |m: &Self| m.malformed(frame, id, "a `wgmma` on layouts that the instruction does not take");
        if self.layout(frame, id, result)? != Some(layout) || left.bits() > 32 || left.bits() != right.bits() {
            return Err(refuse(self));
        }
        let tiles = wgmma::tiles(layout).ok_or_else(|| refuse(self))?;
        let step = wgmma::k_of(left.bits());
        let depth = wgmma::matrix_shape(frame.function.ty(a).shape(), turned[0])[1];
        let mut sums: Vec<Register> = self.tile(frame, id, c)?.to_vec();
        let mut held = Vec::new();
        for group in 0..self.threads as u32 / 128 {
            let bits = tiles.groups.iter().enumerate().filter(|(bit, _)| group >> bit & 1 == 1);
            let (row, column) = bits.fold((0, 0), |(r, c), (_, &(row, column))| (r ^ row, c ^ column));
            for &(row0, column0, first) in &tiles.origins {
                for k in (0..depth).step_by(step as usize) {
                    let x = if frame.function.ty(a).is_buffer() {
                        self.operand(frame, id, a, turned[0], Side::A, wgmma::M, (row ^ row0, k), group, &mut held)?
                    } else {
                        self.left_registers(frame, id, a, row0, k, group)?
                    };
                    let y = self.operand(frame, id, b, turned[1], Side::B, tiles.n, (column ^ column0, k), group, &mut held)?;
                    accumulate(&mut sums[first as usize..], acc, group, tiles.n, step as usize, &x, &y);
                }
            }
        }
        for &(by, address, bytes) in &held {
            let outcome = self.shared.hold_reads(by, address, bytes);
            self.judge(frame, by, outcome)?;
        }
        self.multiplications.0.push_back(held);
        self.set(frame, result, sums);
        Ok(())
    }

    /// What one instruction reads from shared memory.
    #[expect(clippy::too_many_arguments, reason = "an operand of an instruction is all of these")]
    fn operand(
        &mut self,
        frame: &Frame<'r>,
        id: OpId,
        buffer: ValueId,
        turned: bool,
        side: Side,
        extent: u32,
        (outer0, k0): (u32, u32),
        group: u32,
        held: &mut Vec<(By, u32, u32)>,
    ) -> Run<Operand> {
        let elem = frame.function.ty(buffer).elem();
        let (bits, bytes) = (elem.bits(), element_bytes(elem));
        let layout = wgmma::as_matrix(self.buffer_layout(frame, id, buffer)?, turned);
        let refuse = |m: &Self| m.malformed(frame, id, "a buffer matches no layout that `wgmma` reads");
        let matrix = wgmma::Matrix::of(&layout, side, bits, extent).ok_or_else(|| refuse(self))?;
        let (owner, base) = self.buffer(frame, id, buffer)?;
        let start = base + matrix.start(outer0, k0);
        if !start.is_multiple_of(16) || !base.is_multiple_of(wgmma::alignment(&layout, bits)) {
            return Err(self.malformed(frame, id, "a buffer that `wgmma` reads is not aligned to its swizzle"));
        }
        let descriptor = matrix.descriptor() | u64::from(start >> 4);
        let by = By { op: id, thread: group * 128 };
        let k = wgmma::k_of(bits);
        let (mut values, mut marks) = (Vec::new(), Vec::new());
        for outer in 0..extent {
            for k in 0..k {
                let at = address(descriptor, matrix.transposed, bytes, outer, k);
                let (mut value, mut undefined) = (vec![0u8; bytes as usize], vec![0u32; bytes as usize]);
                let outcome = self.shared.read(by, owner, at, &mut value, &mut undefined);
                self.judge(frame, by, outcome)?;
                if self.shared.written_since(self.fenced, at, bytes) {
                    let message = format!(
                        "byte {at} of shared memory is read by the tensor core, and no fence stands behind the write of it"
                    );
                    return Err(self.fault(frame, id, (FaultKind::Race, message)));
                }
                held.push((by, at, bytes));
                values.push(value.iter().rev().fold(0u64, |word, &byte| word << 8 | u64::from(byte)));
                marks.push(undefined.into_iter().find(|&u| u != 0).unwrap_or(0));
            }
        }
        let per_row = marks.chunks(k as usize).map(|row| row.iter().copied().find(|&u| u != 0).unwrap_or(0)).collect();
        let lanes = Lanes::from_bits(elem, &values, marks);
        Ok(Operand { numbers: (0..values.len()).map(|i| rounded(number(&lanes, i), elem)).collect(), marks: per_row })
    }

    /// A left operand in registers: with g = lane / 4, t = lane % 4 and e elements in a word, word `w` is row `16·warp + g + 8·(w & 1)`,
    /// columns `4e·(w >> 1) + e·t…`.
    fn left_registers(&self, frame: &Frame<'r>, id: OpId, a: ValueId, row0: u32, k0: u32, group: u32) -> Run<Operand> {
        let layout = self.tile_layout(frame, id, a)?;
        let registers = self.tile(frame, id, a)?;
        let elem = frame.function.ty(a).elem();
        let (e, k) = (32 / elem.bits(), wgmma::k_of(elem.bits()));
        let width = layout.shape[1].ilog2();
        let mut operand = Operand { numbers: vec![0.0; (wgmma::M * k) as usize], marks: vec![0; wgmma::M as usize] };
        for (w, j) in (0..4u32).flat_map(|w| (0..e).map(move |j| (w, j))) {
            let index = (row0 + 8 * (w & 1)) << width | (k0 + 4 * e * (w >> 1) + j);
            let register = (0..registers.len()).find(|&r| apply(&layout.register, r as u32) == index);
            let register =
                register.ok_or_else(|| self.malformed(frame, id, "a thread does not hold what `wgmma` wants of it"))?;
            for thread in 0..128u32 {
                let (warp, lane) = (thread / 32, thread % 32);
                let row = (16 * warp + lane / 4 + 8 * (w & 1)) as usize;
                let column = 4 * e * (w >> 1) + e * (lane % 4) + j;
                let held = &registers[register];
                let t = (group * 128 + thread) as usize;
                operand.numbers[row * k as usize + column as usize] = rounded(number(held, t), elem);
                if held.mark(t) != 0 {
                    operand.marks[row] = held.mark(t);
                }
            }
        }
        Ok(operand)
    }

    pub(super) fn wgmma_wait(&mut self, frame: &mut Frame<'r>, id: OpId, pending: u32) -> Run<()> {
        while self.multiplications.0.len() > pending as usize {
            for (by, address, bytes) in self.multiplications.0.pop_front().into_iter().flatten() {
                self.shared.release_reads(by, address, bytes);
            }
        }
        // What others still read stays theirs.
        for &(by, address, bytes) in self.multiplications.0.iter().flatten() {
            let outcome = self.shared.hold_reads(by, address, bytes);
            self.judge(frame, by, outcome)?;
        }
        let op = frame.function.op(id);
        for (&operand, &result) in op.operands.iter().zip(&op.results) {
            frame.values[result.index()] = frame.values[operand.index()].clone();
        }
        Ok(())
    }
}

/// f32 operands are tf32.
fn rounded(number: f64, elem: Elem) -> f64 {
    if elem == Elem::Scalar(Scalar::F32) { f64::from(float::tf32(number as f32)) } else { number }
}

/// Adds the product to a warpgroup's registers: register `i` of lane `l` of warp `w` is row `16w + l/4 + 8·(i/2 % 2)`, column
/// `8·(i/4) + 2·(l%4) + i%2`.
fn accumulate(sums: &mut [Register], acc: Scalar, group: u32, n: u32, k: usize, x: &Operand, y: &Operand) {
    for (i, register) in sums.iter_mut().enumerate().take(n as usize / 2) {
        let threads = register.len();
        let mut bits: Vec<u64> = (0..threads).map(|t| register.bits(Elem::Scalar(acc), t)).collect();
        let mut marks: Vec<u32> = (0..threads).map(|t| register.mark(t)).collect();
        for thread in 0..128usize {
            let (warp, lane) = (thread / 32, thread % 32);
            let row = 16 * warp + lane / 4 + 8 * (i / 2 % 2);
            let column = 8 * (i / 4) + 2 * (lane % 4) + i % 2;
            let t = group as usize * 128 + thread;
            let pairs = x.numbers[row * k..][..k].iter().zip(&y.numbers[column * k..][..k]);
            bits[t] = match acc {
                Scalar::I32 => {
                    let start = register.int(t) as i32;
                    let sum = pairs.fold(start, |sum, (&x, &y)| sum.wrapping_add((x as i32).wrapping_mul(y as i32)));
                    u64::from(sum as u32)
                }
                _ => {
                    let start = number(register, t) as f32;
                    let mut sum = [pairs.fold(start, |sum, (&x, &y)| sum + x as f32 * y as f32)];
                    if acc == Scalar::F32 {
                        u64::from(sum[0].to_bits())
                    } else {
                        float::round_all(acc, &mut sum);
                        u64::from(float::encode(acc, sum[0]))
                    }
                }
            };
            marks[t] = [marks[t], x.marks[row], y.marks[column]].into_iter().find(|&u| u != 0).unwrap_or(0);
        }
        *register = Lanes::from_bits(Elem::Scalar(acc), &bits, marks);
    }
}
