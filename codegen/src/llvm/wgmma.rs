//! Warpgroup matrix multiply: descriptors from layouts, accumulators through one block of assembly.
//!
//! **Invariant:** the plan is read off the layouts of the accumulator and of the buffers; a buffer that matches no canonical layout is
//! refused.

use tritium_semantics::target::Feature;
use tritium_tile::{
    Elem, OpId, Scalar, ValueId,
    layout::{Distributed, Side, algebra::shift_of, wgmma},
};

use super::{Emitted, Emitter, dot, ins, value::Reg};
use crate::ptx_strings::wgmma::{LEFT_WORDS, Step, Wgmma, WgmmaBlock, WgmmaWait};

/// Words of a left operand in registers, by the first row of the instruction.
type Fragments = Vec<(u32, Vec<Reg>)>;

impl Emitter<'_> {
    /// `sum_depth`: after how many products of 8-bit floats sums leave the tensor core, which keeps fewer bits of them, and are added in f32.
    pub(super) fn wgmma(&mut self, op: OpId, turned: [bool; 2], sum_depth: Option<u32>) -> Emitted<()> {
        if !self.sm.has(Feature::Wgmma) {
            return Err(self.unsupported(format!("{} has no `wgmma`", self.sm.name)));
        }
        let operation = self.function.op(op);
        let (a, b, c, result) = (operation.operands[0], operation.operands[1], operation.operands[2], operation.results[0]);
        let of = |e: &Self, v: ValueId| e.ty(v).elem().scalar().unwrap_or(Scalar::I64);
        let (left, right, acc) = (of(self, a), of(self, b), of(self, c));
        let kind = Wgmma::of(left, right, acc)
            .ok_or_else(|| self.unsupported(format!("a warpgroup multiplication of {left} by {right} into {acc}")))?;
        let refuse = |e: &Self, what: &str| {
            e.unsupported(format!("{what} of a `wgmma` is in a layout that the instruction does not take"))
        };
        let layout = self.tile_layout(c)?;
        if self.layout(result)? != Some(layout) {
            return Err(refuse(self, "the result"));
        }
        let tiles = wgmma::tiles(layout).ok_or_else(|| refuse(self, "the accumulator"))?;
        let bits = left.bits();
        let right_matrix =
            wgmma::Matrix::of(&wgmma::as_matrix(self.buffer_layout(b)?, turned[1]), Side::B, right.bits(), tiles.n);
        let right_matrix = right_matrix.ok_or_else(|| refuse(self, "the right operand"))?;
        let (depth, step) = (wgmma::matrix_shape(self.ty(a).shape(), turned[0])[1], wgmma::k_of(bits));
        let ks = || (0..depth).step_by(step as usize);

        let mut inputs: Vec<(&'static str, Reg)> = Vec::new();
        let (mut left_words, mut left_transposed) = (0, false);
        // For each row of instructions and each step: the addend of the descriptor, or the number of the first word.
        let mut left_at: Vec<(u32, Vec<u32>)> = Vec::new();
        let mut rows: Vec<u32> = tiles.origins.iter().map(|o| o.0).collect();
        rows.sort_unstable();
        rows.dedup();
        if self.ty(a).is_buffer() {
            let matrix = wgmma::Matrix::of(&wgmma::as_matrix(self.buffer_layout(a)?, turned[0]), Side::A, bits, wgmma::M);
            let matrix = matrix.ok_or_else(|| refuse(self, "the left operand"))?;
            left_transposed = matrix.transposed;
            let columns: Vec<u32> = tiles.groups.iter().map(|&(row, _)| matrix.start(row, 0)).collect();
            inputs.push(("i64", self.descriptor(a, &matrix, &columns)?));
            left_at.extend(rows.iter().map(|&row| (row, ks().map(|k| matrix.start(row, k) >> 4).collect())));
        } else {
            let words = self.left_fragments(a, layout, &rows, step)?.ok_or_else(|| refuse(self, "the left operand"))?;
            for (row, words) in words {
                left_at.push((row, (0..words.len() as u32 / LEFT_WORDS).map(|i| inputs.len() as u32 + i * LEFT_WORDS).collect()));
                inputs.extend(words.into_iter().map(|word| ("i32", word)));
            }
            left_words = inputs.len() as u32;
        }
        let columns: Vec<u32> = tiles.groups.iter().map(|&(_, column)| right_matrix.start(column, 0)).collect();
        inputs.push(("i64", self.descriptor(b, &right_matrix, &columns)?));

        let old = self.regs(c)?;
        let is_zero = |reg: &Reg| matches!(reg, Reg::Int(0) | Reg::Float(0) | Reg::Half(0));
        let fresh = old.iter().all(is_zero);
        // The steps of each tile, and its accumulators.
        let mut plan: Vec<(Vec<Step>, Vec<Reg>)> = Vec::new();
        for (tile, &(row, column, first)) in tiles.origins.iter().enumerate() {
            let registers = &old[first as usize..(first + tiles.n / 2) as usize];
            let accumulators = if fresh { vec![] } else { self.accumulator_words(acc, registers) };
            let left =
                left_at.iter().find(|(r, _)| *r == row).map(|(_, at)| at).ok_or_else(|| refuse(self, "the left operand"))?;
            let steps =
                ks().zip(left).map(|(k, &left)| Step { tile: tile as u32, left, right: right_matrix.start(column, k) >> 4 });
            plan.push((steps.collect(), accumulators));
        }
        let block = WgmmaBlock {
            kind,
            n: tiles.n,
            tiles: tiles.origins.len() as u32,
            fresh,
            left_words,
            left_transposed,
            right_transposed: right_matrix.transposed,
            steps: vec![],
        };
        let words = match sum_depth {
            Some(depth) if kind.sums_in_fewer_bits() => {
                let steps_of_a_sum = depth.div_ceil(step).max(1) as usize;
                plan.into_iter()
                    .flat_map(|(steps, sums)| self.sums_outside(&block, &steps, steps_of_a_sum, sums, &inputs))
                    .collect()
            }
            _ => {
                let (steps, accumulators): (Vec<_>, Vec<_>) = plan.into_iter().unzip();
                let block = WgmmaBlock { steps: steps.concat(), ..block };
                self.multiplications(&block, accumulators.concat(), &inputs)
            }
        };
        let each = kind.words(tiles.n) as usize;
        let mut regs = vec![Reg::Int(0); old.len()];
        for (tile, &(_, _, first)) in tiles.origins.iter().enumerate() {
            let unpacked = self.accumulator_registers(acc, &words[tile * each..(tile + 1) * each]);
            for (i, reg) in unpacked.into_iter().enumerate() {
                regs[first as usize + i] = reg;
            }
        }
        self.set(result, regs);
        Ok(())
    }

    /// The accumulators of a block. `accumulators`: what they begin with, unless that is zero.
    fn multiplications(&mut self, block: &WgmmaBlock, accumulators: Vec<Reg>, inputs: &[(&'static str, Reg)]) -> Vec<Reg> {
        let (_, word) = block.kind.word();
        let outputs = vec![word; (block.tiles * block.kind.words(block.n)) as usize];
        let args: Vec<(&str, Reg)> = accumulators.into_iter().map(|reg| (word, reg)).chain(inputs.iter().copied()).collect();
        self.asm_block(&block.text(), &block.constraints(), &outputs, &args)
    }

    /// The accumulators of one tile in f32, where those of a tensor core hold the sums of a few steps alone. Each of these is waited for.
    fn sums_outside(
        &mut self,
        block: &WgmmaBlock,
        steps: &[Step],
        steps_of_a_sum: usize,
        mut sums: Vec<Reg>,
        inputs: &[(&'static str, Reg)],
    ) -> Vec<Reg> {
        for steps in steps.chunks(steps_of_a_sum) {
            let steps = steps.iter().map(|step| Step { tile: 0, ..*step }).collect();
            let block = WgmmaBlock { tiles: 1, fresh: true, steps, ..block.clone() };
            let parts = self.multiplications(&block, vec![], inputs);
            let count = parts.len();
            // With what was there before, which may be under way as well.
            let waited = self.wait_for_words(0, parts.into_iter().chain(sums).map(|reg| ("float", reg)).collect());
            let (parts, before) = waited.split_at(count);
            sums = match before {
                [] => parts.to_vec(),
                _ => before.iter().zip(parts).map(|(&sum, &part)| ins!(self, "fadd contract float {sum}, {part}")).collect(),
            };
        }
        sums
    }

    /// Words of accumulators behind a wait.
    fn wait_for_words(&mut self, pending: u32, words: Vec<(&str, Reg)>) -> Vec<Reg> {
        let constraints = words.iter().map(|(ty, _)| if *ty == "float" { 'f' } else { 'r' }).collect();
        let wait = WgmmaWait { pending, words: constraints };
        let types: Vec<&str> = words.iter().map(|(ty, _)| *ty).collect();
        self.asm_block(&wait.text(), &wait.constraints(), &types, &words)
    }

    /// The descriptor of a buffer for this thread's warpgroup; `groups` are the bytes that the warp bits beyond a warpgroup add.
    fn descriptor(&mut self, buffer: ValueId, matrix: &wgmma::Matrix, groups: &[u32]) -> Emitted<Reg> {
        let place = self.place_of(buffer)?;
        let address = self.address_in(place, &[], 0);
        let mut address = ins!(self, "ptrtoint ptr addrspace(3) {address} to i32");
        if groups.iter().any(|&bytes| bytes != 0) {
            let group = self.warp_linear(&[&[0, 0], groups].concat());
            address = ins!(self, "add i32 {address}, {group}");
        }
        let field = ins!(self, "lshr exact i32 {address}, 4");
        let field = ins!(self, "and i32 {field}, 16383");
        let wide = ins!(self, "zext i32 {field} to i64");
        Ok(ins!(self, "or disjoint i64 {wide}, {}", matrix.descriptor() as i64))
    }

    /// The words of a left operand in registers, for each row of instructions: four for each step along k.
    fn left_fragments(&mut self, a: ValueId, accumulator: &Distributed, rows: &[u32], step: u32) -> Emitted<Option<Fragments>> {
        let layout = self.tile_layout(a)?;
        let elem = self.ty(a).elem();
        let e = 32 / elem.bits();
        let depth = layout.shape[1];
        let row_of = |l: &Distributed, basis: u32| basis >> shift_of(&l.shape, 0);
        let fits = dot::lanes(layout) == [(0, e), (0, 2 * e), (1, 0), (2, 0), (4, 0)]
            && layout
                .warp
                .iter()
                .zip(&accumulator.warp)
                .all(|(&mine, &theirs)| mine == row_of(accumulator, theirs) << depth.ilog2());
        if !fits {
            return Ok(None);
        }
        let regs = self.regs(a)?;
        let by_index = dot::by_index(layout);
        let mut out = Vec::new();
        for &row in rows {
            let mut words = Vec::new();
            for k in (0..depth).step_by(step as usize) {
                for w in 0..LEFT_WORDS {
                    let first = (row + 8 * (w & 1)) << depth.ilog2() | (k + 4 * e * (w >> 1));
                    let element: Option<Vec<Reg>> =
                        (0..e).map(|j| by_index.get(&(first + j)).map(|&r| regs[r as usize])).collect();
                    let Some(element) = element else { return Ok(None) };
                    words.extend(self.operand_words(elem, vec![element], false).remove(0));
                }
            }
            out.push((row, words));
        }
        Ok(Some(out))
    }

    fn accumulator_words(&mut self, acc: Scalar, registers: &[Reg]) -> Vec<Reg> {
        match acc {
            Scalar::F16 => registers.chunks(2).flat_map(|pair| self.pack(Elem::Scalar(acc), pair)).collect(),
            _ => registers.to_vec(),
        }
    }

    fn accumulator_registers(&mut self, acc: Scalar, words: &[Reg]) -> Vec<Reg> {
        match acc {
            Scalar::F16 => words.iter().flat_map(|&word| self.unpack(Elem::Scalar(acc), 2, &[word])).collect(),
            _ => words.to_vec(),
        }
    }

    pub(super) fn wgmma_wait(&mut self, op: OpId, pending: u32) -> Emitted<()> {
        if !self.sm.has(Feature::Wgmma) {
            return Err(self.unsupported(format!("{} has no `wgmma`", self.sm.name)));
        }
        let operation = self.function.op(op);
        let mut args: Vec<(&str, Reg)> = Vec::new();
        for &operand in &operation.operands {
            let elem = self.ty(operand).elem();
            let acc = elem.scalar().filter(|s| matches!(s, Scalar::F32 | Scalar::F16 | Scalar::I32));
            let acc = acc.ok_or_else(|| self.unsupported(format!("a `wgmma_wait` for a tile of {elem}")))?;
            let ty = if acc == Scalar::F32 { "float" } else { "i32" };
            let regs = self.regs(operand)?;
            args.extend(self.accumulator_words(acc, &regs).into_iter().map(|reg| (ty, reg)));
        }
        let out = self.wait_for_words(pending, args);
        let mut out = &out[..];
        for (&operand, &result) in operation.operands.iter().zip(&operation.results) {
            let acc = self.scalar(operand)?;
            let count = self.num_registers(operand)? / if acc == Scalar::F16 { 2 } else { 1 };
            let (mine, rest) = out.split_at(count);
            out = rest;
            let regs = self.accumulator_registers(acc, mine);
            self.set(result, regs);
        }
        Ok(())
    }
}
