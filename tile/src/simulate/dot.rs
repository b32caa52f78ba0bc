//! Matrix products as `mma.sync.m16n8*` does them: every lane brings its registers, and the fragment says which elements these are.
//!
//! With g = lane / 4, t = lane % 4 and e elements in 32 bits, word `w` of A is row `g + 8·(w & 1)`, columns `4e·(w >> 1) + e·t…`; word `w`
//! of B is column `g`, rows `4e·w + e·t…`; the accumulators are rows `g` and `g + 8`, columns `2t` and `2t + 1`. **Invariant:** what an
//! instruction multiplies is decided by where registers lie, never by what the layouts say they hold; sums run along k, in ascending order.

use std::collections::{BTreeMap, btree_map::Entry};

use super::{Frame, Lanes, Machine, Register, Run};
use crate::{
    interpret::{Data, float},
    layout::{
        Distributed,
        algebra::{apply, shift_of},
        mma,
    },
    module::OpId,
    ops::DotPrecision,
    types::{Elem, Scalar},
};

/// Register numbers of a thread by the flat index of what they hold, for lane 0 of warp 0.
fn by_index(layout: &Distributed) -> BTreeMap<u32, u32> {
    (0..layout.num_registers() as u32).rev().map(|r| (apply(&layout.register, r), r)).collect()
}

/// An operand of one instruction: numbers in row-major order, the mark of every row (of A) or column (of B).
#[derive(Clone)]
struct Operand {
    numbers: Vec<f64>,
    marks: Vec<u32>,
}

/// As `f64`, which holds every number of 32 bits and fewer.
pub(super) fn number(lanes: &Lanes, t: usize) -> f64 {
    match &lanes.data {
        Data::F32(v) => f64::from(v[t]),
        Data::F64(v) => v[t],
        _ => lanes.int(t) as f64,
    }
}

/// The accumulator of one instruction, row-major 16 × 8.
#[derive(Clone)]
enum Sums {
    Float([f32; 128]),
    Int([i32; 128]),
}

impl<'r> Machine<'r> {
    pub(super) fn dot(&mut self, frame: &mut Frame<'r>, id: OpId, precision: DotPrecision) -> Run<()> {
        let op = frame.function.op(id);
        let (a, b, c, result) = (op.operands[0], op.operands[1], op.operands[2], op.results[0]);
        let lc = self.tile_layout(frame, id, c)?;
        let rank = lc.shape.len();
        let elem = |v| frame.function.ty(v).elem().scalar().unwrap_or(Scalar::F32);
        let (element, accumulator) = (elem(a), elem(c));
        if !mma::is_accumulator(lc) {
            return self.dot_fma(frame, id, precision);
        }
        let (la, lb) = (self.tile_layout(frame, id, a)?, self.tile_layout(frame, id, b)?);
        if self.layout(frame, id, result)? != Some(lc) || rank < 2 || element.bits() > 32 {
            return Err(self.malformed(frame, id, "a dot whose layouts are not those of mma.sync"));
        }
        let refuse = |m: &Self| m.malformed(frame, id, "a thread does not hold what mma.sync wants of it");
        let e = 32 / element.bits();
        let (k, k_tile) = (la.shape[rank - 1], mma::k_of(element.bits()));
        if k < k_tile {
            return Err(refuse(self));
        }
        let (ra, rb) = (self.tile(frame, id, a)?, self.tile(frame, id, b)?);
        let mut sums: Vec<Register> = self.tile(frame, id, c)?.to_vec();
        let (in_a, in_b, in_c) = (by_index(la), by_index(lb), by_index(lc));
        // A tile that is smaller than the instruction is repeated.
        let (rows, columns) = (lc.shape[rank - 2], lc.shape[rank - 1]);
        let (row, column) = (|at: u32| at & (rows - 1), |at: u32| at & (columns - 1));
        let (n_bits, mn_bits) = (columns.ilog2(), shift_of(&lc.shape, rank - 2) + rows.ilog2());
        let tiles: Vec<(u32, u32, u32)> = in_c
            .keys()
            .map(|&index| (index >> mn_bits, row(index >> n_bits), column(index)))
            .filter(|(_, m, n)| m % mma::M == 0 && n % mma::N == 0)
            .collect();
        let batch_stride = |l: &Distributed| shift_of(&l.shape, rank - 2) + l.shape[rank - 2].ilog2();
        let width = lb.shape[rank - 1].ilog2();
        let tf32 = element == Scalar::F32 && !matches!(precision, DotPrecision::Ieee);
        let split = precision == DotPrecision::Tf32x3 && element == Scalar::F32;
        // The registers that bring the words of one instruction.
        let of_a = |batch: u32, m: u32, k0: u32| -> Option<Vec<u32>> {
            let at = |w: u32, j: u32| batch << batch_stride(la) | row(m + 8 * (w & 1)) << k.ilog2() | (k0 + 4 * e * (w >> 1) + j);
            (0..4).flat_map(|w| (0..e).map(move |j| (w, j))).map(|(w, j)| in_a.get(&at(w, j)).copied()).collect()
        };
        let of_b = |batch: u32, n: u32, k0: u32| -> Option<Vec<u32>> {
            let at = |w: u32, j: u32| batch << batch_stride(lb) | (k0 + 4 * e * w + j) << width | n;
            (0..2).flat_map(|w| (0..e).map(move |j| (w, j))).map(|(w, j)| in_b.get(&at(w, j)).copied()).collect()
        };
        let warps = self.threads / 32;
        // By (batch, row or column, k), what every warp multiplies.
        let mut operands_a: BTreeMap<(u32, u32, u32), Vec<Operand>> = BTreeMap::new();
        let mut operands_b: BTreeMap<(u32, u32, u32), Vec<Operand>> = BTreeMap::new();
        for k0 in (0..k).step_by(k_tile as usize) {
            for &(batch, m, n) in &tiles {
                if let Entry::Vacant(place) = operands_a.entry((batch, m, k0)) {
                    let registers = of_a(batch, m, k0).ok_or_else(|| refuse(self))?;
                    place.insert((0..warps).map(|w| fragment_a(&ra, &registers, w, e, k_tile)).collect());
                }
                if let Entry::Vacant(place) = operands_b.entry((batch, n, k0)) {
                    let registers = of_b(batch, n, k0).ok_or_else(|| refuse(self))?;
                    place.insert((0..warps).map(|w| fragment_b(&rb, &registers, w, e, k_tile)).collect());
                }
                let at = |m, n| batch << mn_bits | row(m) << n_bits | column(n);
                let places = [at(m, n), at(m, n + 1), at(m + 8, n), at(m + 8, n + 1)];
                let registers: Vec<usize> =
                    places.iter().map(|i| in_c.get(i).map(|&r| r as usize)).collect::<Option<_>>().ok_or_else(|| refuse(self))?;
                let (all_a, all_b) = (&operands_a[&(batch, m, k0)], &operands_b[&(batch, n, k0)]);
                let mut bits: Vec<Vec<u64>> = vec![vec![0; self.threads]; 4];
                let mut marks: Vec<Vec<u32>> = vec![vec![0; self.threads]; 4];
                for warp in 0..warps {
                    let (a, b) = (&all_a[warp], &all_b[warp]);
                    let place = |lane: usize, i: usize| ((lane >> 2) + 8 * (i >> 1)) * 8 + 2 * (lane & 3) + (i & 1);
                    let each = || (0..32).flat_map(|lane| (0..4).map(move |i| (lane, i)));
                    let mut start = if accumulator.is_int() { Sums::Int([0; 128]) } else { Sums::Float([0.0; 128]) };
                    for (lane, i) in each() {
                        let held = &sums[registers[i]];
                        match &mut start {
                            Sums::Float(v) => v[place(lane, i)] = number(held, warp * 32 + lane) as f32,
                            Sums::Int(v) => v[place(lane, i)] = held.int(warp * 32 + lane) as i32,
                        }
                    }
                    let done = if split {
                        let (a, b) = (halves(a), halves(b));
                        // The small products first.
                        let mut sum = start;
                        for (x, y) in [(&a[1], &b[0]), (&a[0], &b[1]), (&a[0], &b[0])] {
                            sum = multiply(&x.numbers, &y.numbers, sum, k_tile as usize);
                        }
                        sum
                    } else if tf32 {
                        let (a, b) = (halves(a), halves(b));
                        multiply(&a[0].numbers, &b[0].numbers, start, k_tile as usize)
                    } else {
                        multiply(&a.numbers, &b.numbers, start, k_tile as usize)
                    };
                    for (lane, i) in each() {
                        let t = warp * 32 + lane;
                        let at = place(lane, i);
                        bits[i][t] = match &done {
                            Sums::Float(v) => match accumulator {
                                Scalar::F32 => u64::from(v[at].to_bits()),
                                narrow => {
                                    let mut one = [v[at]];
                                    float::round_all(narrow, &mut one);
                                    u64::from(float::encode(narrow, one[0]))
                                }
                            },
                            Sums::Int(v) => u64::from(v[at] as u32),
                        };
                        let sources = [sums[registers[i]].mark(t), a.marks[at / 8], b.marks[at % 8]];
                        marks[i][t] = sources.into_iter().find(|&u| u != 0).unwrap_or(0);
                    }
                }
                for ((&r, bits), marks) in registers.iter().zip(&bits).zip(marks) {
                    sums[r] = Lanes::from_bits(Elem::Scalar(accumulator), bits, marks);
                }
            }
        }
        // Duplicate registers of the accumulator follow their twins.
        for r in 0..sums.len() {
            sums[r] = sums[in_c[&apply(&lc.register, r as u32)] as usize].clone();
        }
        self.set_agreed(frame, id, result, sums)
    }
}

fn fragment_a(registers: &[Register], numbers: &[u32], warp: usize, e: u32, k: u32) -> Operand {
    let (e, k) = (e as usize, k as usize);
    let mut operand = Operand { numbers: vec![0.0; 16 * k], marks: vec![0; 16] };
    for lane in 0..32 {
        for (i, &r) in numbers.iter().enumerate() {
            let (w, j) = (i / e, i % e);
            let (row, column) = ((lane >> 2) + 8 * (w & 1), 4 * e * (w >> 1) + e * (lane & 3) + j);
            let held = &registers[r as usize];
            operand.numbers[row * k + column] = number(held, warp * 32 + lane);
            if held.mark(warp * 32 + lane) != 0 {
                operand.marks[row] = held.mark(warp * 32 + lane);
            }
        }
    }
    operand
}

fn fragment_b(registers: &[Register], numbers: &[u32], warp: usize, e: u32, k: u32) -> Operand {
    let e = e as usize;
    let mut operand = Operand { numbers: vec![0.0; k as usize * 8], marks: vec![0; 8] };
    for lane in 0..32 {
        for (i, &r) in numbers.iter().enumerate() {
            let (w, j) = (i / e, i % e);
            let (row, column) = (4 * e * w + e * (lane & 3) + j, lane >> 2);
            let held = &registers[r as usize];
            operand.numbers[row * 8 + column] = number(held, warp * 32 + lane);
            if held.mark(warp * 32 + lane) != 0 {
                operand.marks[column] = held.mark(warp * 32 + lane);
            }
        }
    }
    operand
}

/// Rounded to tf32, and what that leaves over, rounded too.
fn halves(operand: &Operand) -> [Operand; 2] {
    let high: Vec<f64> = operand.numbers.iter().map(|&x| f64::from(float::tf32(x as f32))).collect();
    let low = operand.numbers.iter().zip(&high).map(|(&x, &h)| f64::from(float::tf32(x as f32 - h as f32))).collect();
    [high, low].map(|numbers| Operand { numbers, marks: operand.marks.clone() })
}

fn multiply(a: &[f64], b: &[f64], sums: Sums, k: usize) -> Sums {
    match sums {
        Sums::Float(mut sums) => {
            for row in 0..16 {
                for i in 0..k {
                    let x = a[row * k + i] as f32;
                    for column in 0..8 {
                        sums[row * 8 + column] += x * b[i * 8 + column] as f32;
                    }
                }
            }
            Sums::Float(sums)
        }
        Sums::Int(mut sums) => {
            for row in 0..16 {
                for i in 0..k {
                    let x = a[row * k + i] as i32;
                    for column in 0..8 {
                        let sum = &mut sums[row * 8 + column];
                        *sum = sum.wrapping_add(x * b[i * 8 + column] as i32);
                    }
                }
            }
            Sums::Int(sums)
        }
    }
}
