//! Matrix products without tensor cores: a loop over the inner dimension.
//!
//! Full-precision `f32`, `f64`, and tiles that are smaller than a fragment. **Invariant:** the size of the code depends on the elements a
//! thread computes, not on the inner dimension; products are added in the order of the inner dimension, each fused into the sum.

use std::collections::{BTreeMap, BTreeSet};

use tritium_tile::{
    Elem, OpId, OpKind, Scalar, ValueId,
    layout::{
        Distributed, LayoutId, SharedLayout, Side,
        algebra::{apply, compose},
        fma::{depth, operand_index, staged},
    },
    ops::{DotPrecision, LoopAttrs},
    scratch::dot_operand_at,
};

use super::{
    Emitted, Emitter,
    index::reach,
    ins, line,
    value::{Reg, type_name},
};
use crate::{ptx_strings::Instruction, scratch::element_bytes};

/// Registers that both operands of a dot may take for all of them to be loaded in front of its products. ptxas keeps to the order of the text
/// where it can do with few registers, and each step of the sum would wait for its own loads.
const IN_FRONT: usize = 32;

/// Elements of an operand that a thread keeps for later products: the inner steps of the smallest product, of one row or column.
const MAX_KEPT: usize = 16;

/// Elements of all operands that a thread keeps for later products. With seven operands of 16 `merge_16x16_to_64x64` takes 135 registers with 8 warps,
/// and an SM holds one CTA of it instead of two; with two it takes 104.
const MAX_KEPT_TOGETHER: usize = 32;

/// What a thread reads of one operand: its own part of the address, and where each of its rows (columns) stands at inner step 0.
struct Operand {
    elem: Elem,
    base: u32,
    /// Bytes that each bit of the thread's index contributes.
    columns: Vec<u32>,
    /// Elements that each bit of the result's register number contributes, and all their sums.
    registers: Vec<u32>,
    offsets: BTreeSet<u32>,
    /// Neighbours read at once.
    vector: u32,
    /// Inner steps read at once.
    along: usize,
    /// Offsets in elements of the inner steps of one body.
    steps: Vec<u32>,
    /// Bytes between inner steps that are further apart than a body.
    stride: u32,
    /// It is kept for later products under this key.
    fragment: Option<FragmentKey>,
}

/// A buffer, the side of the product and the layout of its result: what decides what a thread reads.
pub(super) type FragmentKey = (ValueId, Side, LayoutId);

/// What a thread has read of an operand, by inner step and by the offset of its row (column) at step 0.
pub(super) type Fragment = Vec<BTreeMap<u32, Reg>>;

impl Emitter<'_> {
    pub(super) fn dot_fma(&mut self, op: OpId, precision: DotPrecision) -> Emitted<()> {
        let operation = self.function.op(op);
        let (a, b, c, result) = (operation.operands[0], operation.operands[1], operation.operands[2], operation.results[0]);
        let lc = self.tile_layout(c)?;
        let to = self.scalar(c)?;
        if self.layout(result)? != Some(lc) || !matches!(to, Scalar::F32 | Scalar::F64 | Scalar::I32) {
            return Err(self.unsupported(format!("a dot of {} into {to}", self.scalar(a)?)));
        }
        let rank = lc.shape.len();
        let k = self.ty(a).shape()[rank - 1];
        let body = depth(lc, k);
        let mut operands = Vec::new();
        let mut stores = false;
        for (side, value) in [(Side::A, a), (Side::B, b)] {
            let elem = self.ty(value).elem();
            if self.ty(value).is_buffer() {
                let (at, buffer) = (self.place_of(value)?.base, self.buffer_layout(value)?);
                let mut operand = self.operand(side, elem, at, buffer, lc, body)?;
                operand.fragment = self.kept_fragment(op, side, operand.offsets.len() * k as usize);
                operands.push(operand);
                continue;
            }
            let (layout, mut regs) = (self.tile_layout(value)?, self.regs(value)?.to_vec());
            if precision == DotPrecision::Tf32 && elem == Elem::Scalar(Scalar::F32) {
                for reg in &mut regs {
                    let word = self.asm(Instruction::CvtRnaTf32, &["i32"], &[("float", *reg)])[0];
                    *reg = ins!(self, "bitcast i32 {word} to float");
                }
            }
            let at = self.shared_offset(op)? + dot_operand_at(self.function, op, side as usize);
            let buffer = staged(side, &layout.shape, lc);
            self.store_tile(at, &buffer, layout, elem, &regs)?;
            operands.push(self.operand(side, elem, at, &buffer, lc, body)?);
            stores = true;
        }
        if stores {
            self.barrier();
        }

        let mut acc = self.regs(c)?.to_vec();
        let trips = k / body;
        if trips == 1 {
            self.inner_steps(&operands, lc, to, body, None, &mut acc)?;
        } else {
            let ty = type_name(Elem::Scalar(to));
            let before = self.label;
            let (head, exit) = (self.new_label(), self.new_label());
            line!(self, "br label %b{head}");
            let (counter, next) = (self.fresh(), self.fresh());
            let phis: Vec<Reg> = acc.iter().map(|_| self.fresh()).collect();
            let outer = std::mem::take(&mut self.body);
            let mut sums = phis.clone();
            self.inner_steps(&operands, lc, to, body, Some(counter), &mut sums)?;
            let inner = std::mem::replace(&mut self.body, outer);
            self.start_block(head);
            line!(self, "{counter} = phi i32 [ 0, %b{before} ], [ {next}, %b{head} ]");
            for ((phi, old), sum) in phis.iter().zip(&acc).zip(&sums) {
                line!(self, "{phi} = phi {ty} [ {old}, %b{before} ], [ {sum}, %b{head} ]");
            }
            self.body.push_str(&inner);
            line!(self, "{next} = add i32 {counter}, 1");
            let again = ins!(self, "icmp ult i32 {next}, {trips}");
            let metadata = self.loop_metadata(LoopAttrs::default(), &[]);
            line!(self, "br i1 {again}, label %b{head}, label %b{exit}, !llvm.loop !{metadata}");
            self.start_block(exit);
            acc = sums;
        }
        if to == Scalar::F32 && self.origins.is_read_behind_loops(result) {
            acc = acc.into_iter().map(|sum| self.asm(Instruction::Here, &["float"], &[("float", sum)])[0]).collect();
        }
        self.set(result, acc);
        Ok(())
    }

    fn operand(
        &self,
        side: Side,
        elem: Elem,
        base: u32,
        buffer: &SharedLayout,
        acc: &Distributed,
        body: u32,
    ) -> Emitted<Operand> {
        let inverse =
            buffer.inverse().ok_or_else(|| self.unsupported("an operand's scratch does not give every element one place"))?;
        let place = |flat: u32| operand_index(side, &acc.shape, &buffer.shape, flat, 0);
        let of = |bases: &[u32]| compose(&inverse, &bases.iter().map(|&b| place(b)).collect::<Vec<u32>>());
        let bytes = element_bytes(elem);
        let inner = buffer.shape[buffer.shape.len() - if side == Side::A { 1 } else { 2 }];
        let thread: Vec<u32> = of(&acc.lane).into_iter().chain(of(&acc.warp)).collect();
        let registers = of(&acc.register);
        let offsets: BTreeSet<u32> = (0..acc.num_registers() as u32).map(|r| apply(&registers, r)).collect();
        let mut vector = 1;
        // Groups of four rows may have traded places; within four they lie in order.
        while vector < 4
            && 2 * vector * bytes <= 16
            && reach(&thread) & (2 * vector - 1) == 0
            && offsets.iter().all(|o| offsets.contains(&(o ^ vector)))
        {
            vector *= 2;
        }
        let step = |inner: u32| apply(&inverse, operand_index(side, &acc.shape, &buffer.shape, 0, inner));
        let steps: Vec<u32> = (0..body).map(step).collect();
        let mut along = 1;
        while along < 4
            && 2 * along * bytes <= 16
            && 2 * along <= body
            && (reach(&thread) | reach(&registers)) & (2 * along - 1) == 0
            && steps.chunks(2 * along as usize).all(|group| group.iter().zip(group[0]..).all(|(&at, next)| at == next))
        {
            along *= 2;
        }
        Ok(Operand {
            elem,
            base,
            columns: thread.iter().map(|o| o * bytes).collect(),
            registers: registers.to_vec(),
            offsets,
            vector,
            along: along as usize,
            steps,
            // With one trip there is no further step.
            stride: if body < inner { step(body) * bytes } else { 0 },
            fragment: None,
        })
    }

    /// The key under which an operand of so many elements a thread is kept in registers: it is small, a later product reads the same of it, and
    /// all that are kept leave most of a thread's registers to others. Barriers between the products would let LLVM read it once for each.
    fn kept_fragment(&self, op: OpId, side: Side, elements: usize) -> Option<FragmentKey> {
        let operation = self.function.op(op);
        let value = operation.operands[side as usize];
        let layout = self.ty(operation.results[0]).layout()?;
        let mut uses = 0;
        self.function.walk(|_, id| {
            let other = self.function.op(id);
            uses += usize::from(
                matches!(other.kind, OpKind::Dot { .. })
                    && other.operands[side as usize] == value
                    && self.ty(other.results[0]).layout() == Some(layout),
            );
        });
        let key = (value, side, layout);
        let is_first = !self.fragments.contains_key(&key);
        let kept: usize = self.fragments.values().flatten().map(BTreeMap::len).sum();
        let fits = kept + elements <= MAX_KEPT_TOGETHER.min(self.registers as usize / 4);
        (uses > 1 && elements <= MAX_KEPT && (!is_first || fits)).then_some(key)
    }

    /// The rows (columns) of the inner steps that are read with this one, by step and by their offset at step 0, as the result's type.
    fn fetch(
        &mut self,
        operand: &Operand,
        step: usize,
        moved: Option<Reg>,
        pointers: &mut BTreeMap<(u32, u32), Reg>,
        to: Scalar,
    ) -> Emitted<Vec<BTreeMap<u32, Reg>>> {
        let bytes = element_bytes(operand.elem);
        let thread = reach(&operand.columns);
        let mut values = vec![BTreeMap::new(); operand.along];
        for &first in operand.offsets.iter().filter(|&&o| o & (operand.vector - 1) == 0) {
            let at = (first ^ operand.steps[step]) * bytes;
            let key = (operand.base, at & thread);
            let pointer = match pointers.get(&key) {
                Some(&pointer) => pointer,
                None => {
                    let pointer = self.shared_address(0, &operand.columns, at & thread);
                    let pointer = match moved {
                        Some(moved) => ins!(self, "getelementptr i8, ptr addrspace(3) {pointer}, i32 {moved}"),
                        None => pointer,
                    };
                    pointers.insert(key, pointer);
                    pointer
                }
            };
            let address = ins!(self, "getelementptr i8, ptr addrspace(3) {pointer}, i32 {}", operand.base + (at & !thread));
            let count = (operand.vector as usize).max(operand.along);
            for (i, reg) in self.load_words(address, operand.elem, count).into_iter().enumerate() {
                let reg = self.as_factor(operand.elem, reg, to)?;
                let (step, offset) = if operand.along > 1 { (i, first) } else { (0, first | i as u32) };
                values[step].insert(offset, reg);
            }
        }
        Ok(values)
    }

    fn as_factor(&mut self, elem: Elem, reg: Reg, to: Scalar) -> Emitted<Reg> {
        match elem.scalar() {
            Some(s) if s == to => Ok(reg),
            Some(s) if s.is_float() && to == Scalar::F32 => self.float_cast(s, Scalar::F32, reg, false),
            Some(Scalar::I8) if to == Scalar::I32 => Ok(ins!(self, "sext i8 {reg} to i32")),
            _ => Err(self.unsupported(format!("a dot of {elem} into {to}"))),
        }
    }

    fn inner_steps(
        &mut self,
        operands: &[Operand],
        layout: &Distributed,
        to: Scalar,
        body: u32,
        counter: Option<Reg>,
        acc: &mut [Reg],
    ) -> Emitted<()> {
        let [left, right] = operands else { return Err(self.unsupported("a dot has two operands")) };
        let moved: Vec<Option<Reg>> =
            operands.iter().map(|operand| counter.map(|i| ins!(self, "mul i32 {i}, {}", operand.stride))).collect();
        let mut pointers = BTreeMap::new();
        let surplus = layout.free_bits().0 as usize;
        let ty = type_name(Elem::Scalar(to));
        // Which row and which column each register of the result takes.
        let pairs: Vec<(u32, u32)> =
            (0..layout.num_registers() as u32).map(|r| (apply(&left.registers, r), apply(&right.registers, r))).collect();
        let words = (left.offsets.len() + right.offsets.len()) * body as usize * to.bits().div_ceil(32) as usize;
        let at_once = if counter.is_none() && words <= IN_FRONT { body as usize } else { 1 };
        // By step.
        let known = |this: &Self, operand: &Operand| {
            operand.fragment.and_then(|key| this.fragments.get(&key)).cloned().unwrap_or_default()
        };
        let (mut rows, mut columns): (Fragment, Fragment) = (known(self, left), known(self, right));
        for step in 0..body as usize {
            let until = (step + 1).next_multiple_of(at_once);
            while rows.len() < until {
                rows.extend(self.fetch(left, rows.len(), moved[0], &mut pointers, to)?);
            }
            while columns.len() < until {
                columns.extend(self.fetch(right, columns.len(), moved[1], &mut pointers, to)?);
            }
            let (rows, columns) = (&rows[step], &columns[step]);
            for (r, (row, column)) in pairs.iter().enumerate() {
                if r & surplus != 0 {
                    acc[r] = acc[r & !surplus];
                    continue;
                }
                let (Some(&x), Some(&y)) = (rows.get(row), columns.get(column)) else {
                    return Err(self.unsupported("a dot whose result is not the product of rows and columns"));
                };
                acc[r] = match to {
                    Scalar::I32 => {
                        let product = ins!(self, "mul i32 {x}, {y}");
                        ins!(self, "add i32 {}, {product}", acc[r])
                    }
                    _ => {
                        let name = if to == Scalar::F64 { "llvm.fma.f64" } else { "llvm.fma.f32" };
                        self.call(ty, name, &[(ty, x), (ty, y), (ty, acc[r])])
                    }
                };
            }
        }
        for (operand, read) in [(left, rows), (right, columns)] {
            if let Some(key) = operand.fragment.filter(|_| counter.is_none()) {
                self.fragments.insert(key, read);
            }
        }
        Ok(())
    }
}
