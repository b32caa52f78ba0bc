//! Mbarriers, their phases, and the blocks that the tensor memory accelerator copies.
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
    scratch::{ALIGNMENT, element_bytes},
};

/// Bytes of an mbarrier.
const BYTES: u32 = 8;

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
        let numbers = |values: &[ValueId], what: &str| -> Run<Vec<i64>> {
            values.iter().map(|&v| self.uniform(frame, id, v, what)).collect()
        };
        let elem = frame.function.ty(operands.buffer).elem();
        let block = Block {
            base: self.uniform(frame, id, operands.base, "the base of a tensor")?,
            extents: numbers(operands.extents, "an extent")?,
            strides: numbers(operands.strides, "a stride")?,
            starts: numbers(operands.starts, "where a block begins")?,
            bytes: element_bytes(elem),
        };
        if block.misaligned(contiguous) || block.strides.get(usize::from(contiguous)) != Some(&1) {
            let message =
                "the base and the distances of a tensor are multiples of 16 bytes, its contiguous axis has the stride 1";
            return Err(self.fault(frame, id, (FaultKind::Misaligned, message.into())));
        }
        let layout = self.buffer_layout(frame, id, operands.buffer)?;
        let boxes = tma::boxes(layout, elem, contiguous)
            .ok_or_else(|| self.malformed(frame, id, "a buffer matches no layout in which a block is left"))?;
        let (owner, destination) = self.buffer(frame, id, operands.buffer)?;
        if !destination.is_multiple_of(wgmma::alignment(layout, elem.bits()).max(ALIGNMENT)) {
            return Err(self.malformed(frame, id, "a buffer that a block is copied to is not aligned to its swizzle"));
        }
        let by = By { op: id, thread: 0 };
        let size = layout.bytes(element_bytes(elem));
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

    /// What the unit writes, box by box.
    fn block_bytes(&self, frame: &Frame<'r>, copy: &Copy) -> Run<Vec<u8>> {
        let size = copy.block.bytes;
        let mut bytes = vec![0; copy.bytes.len()];
        for (start, offset) in &copy.boxes.places {
            for flat in 0..copy.boxes.extent.iter().product::<u32>() {
                let within = unflatten(&copy.boxes.extent, flat);
                let place = (offset + tma::byte_of(&copy.boxes, size, &within)) as usize;
                let index: Vec<u32> = start.iter().zip(&within).map(|(a, b)| a + b).collect();
                let Some(address) = copy.block.address(&index) else { continue };
                let Some((allocation, first)) = locate(self.memory, address as u64, size) else {
                    let message = outside(self.memory, address as u64, size);
                    return Err(self.fault(frame, copy.by.op, (FaultKind::OutOfBounds, message)));
                };
                for i in 0..size as usize {
                    bytes[place + i] = allocation.load::<1>(first + i) as u8;
                }
            }
        }
        Ok(bytes)
    }
}
