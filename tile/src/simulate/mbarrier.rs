//! Mbarriers, their phases, and the blocks that the tensor memory accelerator copies of tensors that were described to it.
//!
//! A block holds its destination from its issue to the wait for the phase in which it was announced, and lands no earlier than that wait; it is
//! written box by box as the unit writes it, whatever the layout of the buffer says. **Invariant:** a phase ends when all its arrivals have
//! come and somebody waits for it; an arrival beyond them, a wait that nothing can end, and a destination with ordinary writes that no
//! fence stands behind are reported.

use std::collections::BTreeMap;

use super::{
    By, Frame, Machine, Run,
    global::{locate, outside},
};
use crate::{
    interpret::FaultKind,
    layout::{
        algebra::unflatten,
        tma::{self, Block, Boxes},
        wgmma,
    },
    module::{OpId, ValueId},
    ops::OpKind,
    sanitize::Touched,
    scratch::{ALIGNMENT, element_bytes},
    types::Shape,
};

/// Bytes of an mbarrier.
const BYTES: u32 = tma::MBARRIER_BYTES;

/// By address.
#[derive(Debug, Default)]
pub(super) struct Mbarriers(BTreeMap<u32, Mbarrier>);

#[derive(Debug)]
struct Mbarrier {
    /// Arrivals of a phase, and those that have come in this one.
    count: u32,
    arrived: u32,
    phase: u32,
    copies: Vec<Copy>,
}

/// A block under way.
#[derive(Debug)]
struct Copy {
    by: By,
    owner: OpId,
    destination: u32,
    block: Block,
    boxes: Boxes,
    bytes: Vec<u8>,
}

/// Base, extents and strides.
type Numbers = (i64, Vec<i64>, Vec<i64>);

/// What a program has told the unit of a tensor.
#[derive(Debug)]
pub(super) struct Described {
    tensor: Numbers,
    contiguous: u8,
    block: Shape,
}

/// A block and the buffer that it is copied to or from.
struct Place {
    block: Block,
    boxes: Boxes,
    owner: OpId,
    start: u32,
    size: u32,
}

impl<'r> Machine<'r> {
    fn slots(&self, frame: &Frame<'r>, id: OpId) -> Run<(OpId, Vec<u32>)> {
        let ring = frame.function.op(id).operands[0];
        let (owner, base) = self.buffer(frame, id, ring)?;
        let slots = self.module.layouts.ring_slots(frame.function.ty(ring)).unwrap_or(0);
        Ok((owner, (0..slots).map(|slot| base + slot * BYTES).collect()))
    }

    pub(super) fn mbarrier_init(&mut self, frame: &Frame<'r>, id: OpId, count: u32) -> Run<()> {
        let (owner, slots) = self.slots(frame, id)?;
        let by = By { op: id, thread: 0 };
        for at in slots {
            let written = self.shared.write(by, self.step, owner, at, &[0; BYTES as usize], &[0; BYTES as usize]);
            self.judge(frame, by, written)?;
            let new = Mbarrier { count, arrived: 0, phase: 0, copies: Vec::new() };
            if self.mbarriers.0.insert(at, new).is_some() {
                let message = format!("an mbarrier is made at byte {at} of shared memory, where one is already");
                return Err(self.fault(frame, id, (FaultKind::Race, message)));
            }
        }
        Ok(())
    }

    pub(super) fn mbarrier_invalidate(&mut self, frame: &Frame<'r>, id: OpId) -> Run<()> {
        let (owner, slots) = self.slots(frame, id)?;
        let by = By { op: id, thread: 0 };
        for at in slots {
            let written = self.shared.write(by, self.step, owner, at, &[0; BYTES as usize], &[0; BYTES as usize]);
            self.judge(frame, by, written)?;
            match self.mbarriers.0.remove(&at) {
                Some(old) if old.arrived == 0 => {}
                Some(_) => {
                    let message =
                        format!("the mbarrier at byte {at} of shared memory goes while copies announced to it are under way");
                    return Err(self.fault(frame, id, (FaultKind::Race, message)));
                }
                None => return Err(self.malformed(frame, id, "no mbarrier was made here")),
            }
        }
        Ok(())
    }

    /// The address of an mbarrier, which a thread looks at: who has made it must be ordered before.
    fn look_at(&mut self, frame: &Frame<'r>, id: OpId, mbarrier: ValueId, threads: u32) -> Run<u32> {
        let (owner, at) = self.buffer(frame, id, mbarrier)?;
        for thread in 0..threads {
            let by = By { op: id, thread };
            let (mut value, mut undefined) = ([0; BYTES as usize], [0; BYTES as usize]);
            let read = self.shared.read(by, owner, at, &mut value, &mut undefined);
            self.judge(frame, by, read)?;
        }
        if !self.mbarriers.0.contains_key(&at) {
            return Err(self.malformed(frame, id, "no mbarrier was made here"));
        }
        Ok(at)
    }

    pub(super) fn mbarrier_wait(&mut self, frame: &Frame<'r>, id: OpId) -> Run<()> {
        let op = frame.function.op(id);
        let parity = self.uniform(frame, id, op.operands[1], "a parity")?;
        let at = self.look_at(frame, id, op.operands[0], self.threads as u32)?;
        let Some(mbarrier) = self.mbarriers.0.get_mut(&at) else { return Ok(()) };
        if i64::from(mbarrier.phase & 1) != parity & 1 {
            return Ok(());
        }
        if mbarrier.arrived < mbarrier.count {
            let (has, wants) = (mbarrier.arrived, mbarrier.count);
            let message = format!("this waits for ever: {has} of {wants} arrivals have come to the mbarrier in this phase");
            return Err(self.fault(frame, id, (FaultKind::Limit, message)));
        }
        mbarrier.phase += 1;
        mbarrier.arrived = 0;
        for copy in std::mem::take(&mut mbarrier.copies) {
            if self.block_bytes(frame, &copy)? != copy.bytes {
                let message = "what is copied was stored to while the copy was under way".into();
                return Err(self.fault(frame, copy.by.op, (FaultKind::Race, message)));
            }
            let landed = self.shared.land(copy.by, copy.owner, copy.destination, &copy.bytes);
            self.judge(frame, copy.by, landed)?;
        }
        Ok(())
    }

    pub(super) fn tma_load(&mut self, frame: &Frame<'r>, id: OpId, contiguous: u8) -> Run<()> {
        let op = frame.function.op(id);
        let operands =
            tma::Operands::of(&op.operands).ok_or_else(|| self.malformed(frame, id, "`tma_load` without its operands"))?;
        if self.uniform(frame, id, operands.runs, "whether a block is copied")? == 0 {
            return Ok(());
        }
        let Place { block, boxes, owner, start: destination, size } =
            self.place_of_block(frame, id, &operands.copied, contiguous)?;
        let by = By { op: id, thread: 0 };
        if self.shared.written_since(self.fenced, destination, size) {
            let message = "a block is copied over bytes that were written, and no fence stands behind the write".into();
            return Err(self.fault(frame, id, (FaultKind::Race, message)));
        }
        for at in (destination..destination + size).step_by(tma::GRAIN as usize) {
            let outcome = self.shared.hold(by, at, tma::GRAIN);
            self.judge(frame, by, outcome)?;
        }
        let mut copy = Copy { by, owner, destination, block, boxes, bytes: vec![0; size as usize] };
        copy.bytes = self.block_bytes(frame, &copy)?;
        let at = self.look_at(frame, id, operands.barrier, 1)?;
        let Some(mbarrier) = self.mbarriers.0.get_mut(&at) else { return Ok(()) };
        if mbarrier.arrived == mbarrier.count {
            let message = "this arrives at an mbarrier whose phase is full: nobody has waited for what was announced".into();
            return Err(self.fault(frame, id, (FaultKind::Race, message)));
        }
        mbarrier.arrived += 1;
        mbarrier.copies.push(copy);
        Ok(())
    }

    pub(super) fn tma_store(&mut self, frame: &Frame<'r>, id: OpId, contiguous: u8) -> Run<()> {
        let op = frame.function.op(id);
        let copied =
            tma::Copied::of_store(&op.operands).ok_or_else(|| self.malformed(frame, id, "`tma_store` without its operands"))?;
        let Place { block, boxes, owner, start, size } = self.place_of_block(frame, id, &copied, contiguous)?;
        let by = By { op: id, thread: 0 };
        if self.shared.written_since(self.fenced, start, size) {
            let message = "a block is stored from bytes that were written, and no fence stands behind the write".into();
            return Err(self.fault(frame, id, (FaultKind::Race, message)));
        }
        let (mut bytes, mut undefined) = (vec![0; size as usize], vec![0; size as usize]);
        for at in (0..size as usize).step_by(tma::GRAIN as usize) {
            let range = at..at + tma::GRAIN as usize;
            let read = self.shared.read(by, owner, start + at as u32, &mut bytes[range.clone()], &mut undefined[range]);
            self.judge(frame, by, read)?;
        }
        for (place, address) in self.places(&block, &boxes) {
            let Some((allocation, first)) = locate(self.memory, address as u64, block.bytes) else {
                let message = outside(self.memory, address as u64, block.bytes);
                return Err(self.fault(frame, id, (FaultKind::OutOfBounds, message)));
            };
            let element = place..place + block.bytes as usize;
            if let Some(&source) = undefined[element.clone()].iter().find(|&&source| source != 0) {
                self.undefined(frame, id, 0, "what is stored", OpId(source - 1))?;
            }
            for (i, &byte) in bytes[element].iter().enumerate() {
                let touched = Touched::Write(allocation.read(first + i, 1) != u64::from(byte));
                if self.may_touch(frame, id, 0, address as u64 + i as u64, 1, touched) {
                    allocation.store::<1>(first + i, u64::from(byte));
                }
            }
        }
        Ok(())
    }

    pub(super) fn write_tensor_map(&mut self, frame: &Frame<'r>, id: OpId) -> Run<()> {
        let at = self.shared_offset(frame, id)?;
        let by = By { op: id, thread: 0 };
        let op = frame.function.op(id);
        let OpKind::WriteTensorMap { contiguous, block } = &op.kind else { return Ok(()) };
        let tensor =
            tma::Tensor::of(&op.operands).ok_or_else(|| self.malformed(frame, id, "`write_tensor_map` without its operands"))?;
        let described = Described { tensor: self.tensor(frame, id, &tensor)?, contiguous: *contiguous, block: block.clone() };
        self.described.insert(id, described);
        for at in (at..at + tma::MAP_BYTES).step_by(BYTES as usize) {
            let written = self.shared.write(by, self.step, id, at, &[0; BYTES as usize], &[0; BYTES as usize]);
            self.judge(frame, by, written)?;
        }
        Ok(())
    }

    fn place_of_block(&self, frame: &Frame<'r>, id: OpId, copied: &tma::Copied<'_>, contiguous: u8) -> Run<Place> {
        let elem = frame.function.ty(copied.buffer).elem();
        let tensor = self.tensor(frame, id, &copied.tensor)?;
        if let OpKind::TmaLoad { own_map: true, .. } | OpKind::TmaStore { own_map: true, .. } = frame.function.op(id).kind {
            let shape = frame.function.ty(copied.buffer).shape();
            let is_it = |map: &Described| map.tensor == tensor && map.contiguous == contiguous && map.block == *shape;
            if !self.described.values().any(is_it) {
                return Err(self.malformed(frame, id, "a block of a tensor is copied that nothing has described"));
            }
        }
        let (base, extents, strides) = tensor;
        let starts = self.numbers(frame, id, copied.starts, "where a block begins")?;
        let block = Block { base, extents, strides, starts, bytes: element_bytes(elem) };
        if block.misaligned(contiguous) || block.strides.get(usize::from(contiguous)) != Some(&1) {
            let message =
                "the base and the distances of a tensor are multiples of 16 bytes, its contiguous axis has the stride 1";
            return Err(self.fault(frame, id, (FaultKind::Misaligned, message.into())));
        }
        let layout = self.buffer_layout(frame, id, copied.buffer)?;
        let boxes = tma::boxes(layout, elem, contiguous)
            .ok_or_else(|| self.malformed(frame, id, "a buffer matches no layout in which a block is left"))?;
        let (owner, start) = self.buffer(frame, id, copied.buffer)?;
        if !start.is_multiple_of(wgmma::alignment(layout, elem.bits()).max(ALIGNMENT)) {
            return Err(self.malformed(frame, id, "the buffer of a block is not aligned to its swizzle"));
        }
        let size = layout.bytes(element_bytes(elem));
        Ok(Place { block, boxes, owner, start, size })
    }

    fn numbers(&self, frame: &Frame<'r>, id: OpId, values: &[ValueId], what: &str) -> Run<Vec<i64>> {
        values.iter().map(|&value| self.uniform(frame, id, value, what)).collect()
    }

    fn tensor(&self, frame: &Frame<'r>, id: OpId, tensor: &tma::Tensor<'_>) -> Run<Numbers> {
        Ok((
            self.uniform(frame, id, tensor.base, "the base of a tensor")?,
            self.numbers(frame, id, tensor.extents, "an extent")?,
            self.numbers(frame, id, tensor.strides, "a stride")?,
        ))
    }

    /// Where the elements of a block that are inside its tensor are: from the beginning of the buffer, and in memory.
    fn places(&self, block: &Block, boxes: &Boxes) -> Vec<(usize, i64)> {
        let mut places = Vec::new();
        for (start, offset) in &boxes.places {
            for flat in 0..boxes.extent.iter().product::<u32>() {
                let within = unflatten(&boxes.extent, flat);
                let index: Vec<u32> = start.iter().zip(&within).map(|(a, b)| a + b).collect();
                let address = block.address(&index);
                places.extend(address.map(|address| ((offset + tma::byte_of(boxes, block.bytes, &within)) as usize, address)));
            }
        }
        places
    }

    /// What the unit writes, box by box.
    fn block_bytes(&self, frame: &Frame<'r>, copy: &Copy) -> Run<Vec<u8>> {
        let size = copy.block.bytes;
        let mut bytes = vec![0; copy.bytes.len()];
        for (place, address) in self.places(&copy.block, &copy.boxes) {
            let Some((allocation, first)) = locate(self.memory, address as u64, size) else {
                let message = outside(self.memory, address as u64, size);
                return Err(self.fault(frame, copy.by.op, (FaultKind::OutOfBounds, message)));
            };
            for i in 0..size as usize {
                bytes[place + i] = allocation.load::<1>(first + i) as u8;
            }
        }
        Ok(bytes)
    }
}
