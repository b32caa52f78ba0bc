//! Tiles to and from shared memory: conversions of layout, buffers, `ldmatrix` and `stmatrix`.
//!
//! **Invariant:** a buffer holds every element once, at the offset its layout says; the barrier between a conversion's writes and its
//! reads is written here, all other barriers stand in the module.

use tritium_semantics::target::Feature;
use tritium_tile::{
    Elem, OpId, OpKind, ValueId,
    layout::{
        Conversion, Distributed, SharedLayout,
        algebra::{apply, others, spread},
        convert::{Access, Exchange, conversion, scratch},
        matrices::Matrices,
    },
};

use super::{
    Emitted, Emitter, ins, line,
    memory::{stored, words},
    value::{Reg, type_name},
};
use crate::{ptx_strings::Instruction, scratch::element_bytes};

fn scaled<'c>(columns: impl IntoIterator<Item = &'c u32>, bytes: u32) -> Vec<u32> {
    columns.into_iter().map(|c| c * bytes).collect()
}

/// Where a buffer begins: an offset known now, and the bytes to its slot if it lies in a ring.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub(super) base: u32,
    pub(super) slot: Option<Reg>,
}

impl From<u32> for Place {
    fn from(base: u32) -> Place {
        Place { base, slot: None }
    }
}

impl Emitter<'_> {
    fn access(&self, tile: &Distributed, buffer: &SharedLayout, elem: Elem) -> Emitted<Access> {
        Access::new(tile, buffer, elem.bits())
            .ok_or_else(|| self.unsupported("a shared buffer's layout does not give every element of the tile one place"))
    }

    /// Writes a tile to the buffer at `place`.
    pub(super) fn store_tile(
        &mut self,
        place: impl Into<Place>,
        buffer: &SharedLayout,
        tile: &Distributed,
        elem: Elem,
        regs: &[Reg],
    ) -> Emitted<()> {
        let place = place.into();
        let access = self.access(tile, buffer, elem)?;
        if let Some(plan) = Matrices::of(&access, elem.bits())
            && self.sm.has(Feature::MatrixStores)
        {
            self.store_matrices(place, &access, &plan, elem, regs);
            return Ok(());
        }
        let bytes = element_bytes(elem);
        let columns = scaled(access.lane.iter().chain(&access.warp), bytes);
        for (at, moved) in access.moves(tile) {
            let vector: Vec<Reg> = moved.iter().map(|&register| regs[register]).collect();
            let address = self.address_in(place, &columns, at * bytes);
            self.store_words(address, elem, &vector);
        }
        Ok(())
    }

    /// Reads a tile from the buffer at `place`.
    pub(super) fn load_tile(
        &mut self,
        place: impl Into<Place>,
        buffer: &SharedLayout,
        tile: &Distributed,
        elem: Elem,
    ) -> Emitted<Vec<Reg>> {
        let place = place.into();
        let access = self.access(tile, buffer, elem)?;
        if let Some(plan) = Matrices::of(&access, elem.bits()) {
            return Ok(self.load_matrices(place, &access, &plan, elem));
        }
        let bytes = element_bytes(elem);
        let columns = scaled(access.lane.iter().chain(&access.warp), bytes);
        let mut regs = vec![Reg::Int(0); tile.num_registers()];
        for (at, moved) in access.moves(tile) {
            let address = self.address_in(place, &columns, at * bytes);
            let vector = self.load_words(address, elem, moved.len());
            for (register, reg) in moved.into_iter().zip(vector) {
                regs[register] = reg;
            }
        }
        Ok(tile.first_holders().into_iter().map(|first| regs[first]).collect())
    }

    fn load_matrices(&mut self, place: Place, access: &Access, plan: &Matrices, elem: Elem) -> Vec<Reg> {
        let mut regs = vec![Reg::Int(0); 1 << access.register.len()];
        for (first, address) in self.matrix_addresses(place, access, plan) {
            let count = 1 << plan.matrices.len();
            let instruction = Instruction::LdMatrix { count, transposed: plan.transposed };
            let loaded = self.asm(instruction, &vec!["i32"; count as usize], &[("i32", address)]);
            for (registers, &word) in plan.pairs(first).zip(&loaded) {
                for (register, element) in registers.into_iter().zip(self.unpack(elem, 2, &[word])) {
                    regs[register] = element;
                }
            }
        }
        regs
    }

    fn store_matrices(&mut self, place: Place, access: &Access, plan: &Matrices, elem: Elem, regs: &[Reg]) {
        for (first, address) in self.matrix_addresses(place, access, plan) {
            let mut operands = vec![("i32", address)];
            for registers in plan.pairs(first) {
                let word = self.pack(elem, &registers.map(|register| regs[register]))[0];
                operands.push(("i32", word));
            }
            let count = 1 << plan.matrices.len();
            self.asm(Instruction::StMatrix { count, transposed: plan.transposed }, &[], &operands);
        }
    }

    /// For each instruction its first register and the address that a lane gives it.
    fn matrix_addresses(&mut self, place: Place, access: &Access, plan: &Matrices) -> Vec<(u32, Reg)> {
        let mut columns = scaled(&plan.lane, 2);
        columns.extend(scaled(&access.warp, 2));
        let mut taken = plan.matrices.clone();
        taken.push(plan.within);
        let rest = others(access.register.len(), &taken);
        let firsts = (0..1u32 << rest.len()).map(|index| spread(&rest, index));
        let addresses = firsts.map(|first| {
            let address = self.address_in(place, &columns, apply(&access.register, first) * 2);
            (first, ins!(self, "ptrtoint ptr addrspace(3) {address} to i32"))
        });
        addresses.collect()
    }

    /// One store of consecutive elements to shared memory.
    pub(super) fn store_words(&mut self, address: Reg, elem: Elem, regs: &[Reg]) {
        let shape = words(elem, regs.len());
        let packed = self.pack(elem, regs);
        let align = stored(elem).0 * regs.len() as u32 / 8;
        if shape.bits == 8 {
            let byte = ins!(self, "trunc i16 {} to i8", packed[0]);
            line!(self, "store i8 {byte}, ptr addrspace(3) {address}, align 1");
        } else if let [word] = packed[..] {
            line!(self, "store {} {word}, ptr addrspace(3) {address}, align {align}", shape.ty());
        } else {
            let (n, ty) = (packed.len(), shape.ty());
            let mut vector: Option<Reg> = None;
            for (i, word) in packed.iter().enumerate() {
                vector = Some(match vector {
                    None => ins!(self, "insertelement <{n} x {ty}> poison, {ty} {word}, i32 {i}"),
                    Some(old) => ins!(self, "insertelement <{n} x {ty}> {old}, {ty} {word}, i32 {i}"),
                });
            }
            if let Some(vector) = vector {
                line!(self, "store <{n} x {ty}> {vector}, ptr addrspace(3) {address}, align {align}");
            }
        }
    }

    /// One load of consecutive elements from shared memory.
    pub(super) fn load_words(&mut self, address: Reg, elem: Elem, vector: usize) -> Vec<Reg> {
        let shape = words(elem, vector);
        let align = stored(elem).0 * vector as u32 / 8;
        let packed: Vec<Reg> = if shape.bits == 8 {
            let byte = ins!(self, "load i8, ptr addrspace(3) {address}, align 1");
            vec![ins!(self, "zext i8 {byte} to i16")]
        } else if shape.count == 1 {
            vec![ins!(self, "load {}, ptr addrspace(3) {address}, align {align}", shape.ty())]
        } else {
            let (n, ty) = (shape.count, shape.ty());
            let loaded = ins!(self, "load <{n} x {ty}>, ptr addrspace(3) {address}, align {align}");
            (0..n).map(|i| ins!(self, "extractelement <{n} x {ty}> {loaded}, i32 {i}")).collect()
        };
        self.unpack(elem, vector, &packed)
    }

    pub(super) fn convert_layout(&mut self, op: OpId) -> Emitted<()> {
        let operation = self.function.op(op);
        let (operand, result) = (operation.operands[0], operation.results[0]);
        let regs = self.regs(operand)?;
        let (Some(from), Some(to)) = (self.layout(operand)?, self.layout(result)?) else {
            return Err(self.unsupported("a scalar has no layout to convert"));
        };
        let converted = match conversion(from, to) {
            Conversion::Rename(plan) => plan.into_iter().map(|r| regs[r as usize]).collect(),
            Conversion::Exchange(exchange) => self.exchange_lanes(&exchange, to, self.ty(operand).elem(), &regs),
            Conversion::Shuffle | Conversion::Shared => {
                let elem = self.ty(operand).elem();
                let base = self.shared_offset(op)?;
                let buffer = scratch(from, to, elem.bits());
                self.store_tile(base, &buffer, from, elem, &regs)?;
                self.barrier();
                self.load_tile(base, &buffer, to, elem)?
            }
        };
        self.set(result, converted);
        Ok(())
    }

    /// A lane that takes one of several registers of another takes all of them and keeps one: the other does not know which.
    fn exchange_lanes(&mut self, exchange: &Exchange, to: &Distributed, elem: Elem, regs: &[Reg]) -> Vec<Reg> {
        let columns = exchange.lanes.map(|(_, lane)| lane);
        let choices = exchange.choices();
        let mut converted: Vec<Reg> = Vec::with_capacity(to.num_registers());
        for (register, first) in to.first_holders().into_iter().enumerate() {
            if first < register {
                converted.push(converted[first]);
                continue;
            }
            let (from, lane) = exchange.registers[register];
            let lane = self.linear(&columns, lane);
            let mut candidates: Vec<Reg> = (0..1u32 << choices.len())
                .map(|choice| {
                    let chosen = choices.iter().enumerate().filter(|(n, _)| choice >> n & 1 == 1);
                    let from = chosen.fold(from, |from, (_, &bit)| from ^ exchange.lanes[bit].0);
                    self.shuffle(elem, regs[from as usize], "idx", lane)
                })
                .collect();
            for &bit in choices.iter().rev() {
                let is_set = self.linear(&[0, 1, 2, 3, 4].map(|other| u32::from(other == bit)), 0);
                let is_set = ins!(self, "icmp ne i32 {is_set}, 0");
                let set = candidates.split_off(candidates.len() / 2);
                let ty = type_name(elem);
                let picked = candidates
                    .into_iter()
                    .zip(set)
                    .map(|(unset, set)| ins!(self, "select i1 {is_set}, {ty} {set}, {ty} {unset}"));
                candidates = picked.collect();
            }
            converted.extend(candidates);
        }
        converted
    }

    /// Where the buffer of a shared value begins.
    pub(super) fn place_of(&self, value: ValueId) -> Emitted<Place> {
        let unknown = || self.unsupported("a shared buffer that is not an allocation of this kernel");
        let op = self.function.def_op(value).ok_or_else(unknown)?;
        let operation = self.function.op(op);
        match operation.kind {
            OpKind::LocalAlloc => Ok(self.shared_offset(op)?.into()),
            OpKind::LocalIndex => {
                let ring = self.place_of(operation.operands[0])?;
                Ok(match self.regs(value)?.first() {
                    Some(&Reg::Int(bytes)) => Place { base: ring.base + bytes as u32, slot: ring.slot },
                    slot => Place { base: ring.base, slot: slot.copied() },
                })
            }
            _ => Err(unknown()),
        }
    }

    /// The register of a view is the bytes from the beginning of its ring.
    pub(super) fn local_index(&mut self, op: OpId) -> Emitted<()> {
        let operation = self.function.op(op);
        let view = operation.results[0];
        let bytes = self.buffer_layout(view)?.bytes(element_bytes(self.ty(view).elem()));
        let offset = match self.reg(operation.operands[1])? {
            Reg::Int(slot) => Reg::Int(slot * i64::from(bytes)),
            slot => ins!(self, "mul i32 {slot}, {bytes}"),
        };
        self.values[view.index()] = Some(vec![offset].into());
        Ok(())
    }

    pub(super) fn local_alloc(&mut self, op: OpId) -> Emitted<()> {
        let operation = self.function.op(op);
        let buffer = operation.results[0];
        self.values[buffer.index()] = Some(Vec::new().into());
        match operation.operands.first() {
            Some(&tile) => self.store_to_buffer(tile, buffer),
            None => Ok(()),
        }
    }

    pub(super) fn local_store(&mut self, op: OpId) -> Emitted<()> {
        let operands = &self.function.op(op).operands;
        self.store_to_buffer(operands[0], operands[1])
    }

    fn store_to_buffer(&mut self, tile: ValueId, buffer: ValueId) -> Emitted<()> {
        let regs = self.regs(tile)?;
        let (base, layout) = (self.place_of(buffer)?, self.buffer_layout(buffer)?);
        let from = self.tile_layout(tile)?;
        self.store_tile(base, layout, from, self.ty(tile).elem(), &regs)
    }

    pub(super) fn local_load(&mut self, op: OpId) -> Emitted<()> {
        let operation = self.function.op(op);
        let (buffer, result) = (operation.operands[0], operation.results[0]);
        let (base, layout) = (self.place_of(buffer)?, self.buffer_layout(buffer)?);
        let to = self.tile_layout(result)?;
        let regs = self.load_tile(base, layout, to, self.ty(result).elem())?;
        self.set(result, regs);
        Ok(())
    }
}
