//! Copies that run beside the program.
//!
//! A copy holds its destination from its issue to the wait that covers its group, and lands no earlier than that wait: what reads in between
//! is reported, as is a source that changes meanwhile. **Invariant:** after a wait a copy's bytes count as written by the thread that issued
//! it, at the time of the wait: other threads need a barrier.

use std::collections::VecDeque;

use super::{By, Frame, Machine, Run};
use crate::{
    interpret::FaultKind,
    layout::{algebra::apply, convert::Access},
    module::OpId,
    ops::AsyncCopyAttrs,
    sanitize::Touched,
    scratch::{async_copy_fits, element_bytes},
    types::{Elem, Scalar},
};

/// One thread's `cp.async`.
#[derive(Debug)]
struct Copy {
    by: By,
    owner: OpId,
    /// In shared memory.
    destination: u32,
    /// In global memory; `None` if the mask is off.
    source: Option<u64>,
    bytes: Vec<u8>,
}

#[derive(Debug, Default)]
pub(super) struct Copies {
    /// Not committed yet.
    open: Vec<Copy>,
    groups: VecDeque<Vec<Copy>>,
}

impl<'r> Machine<'r> {
    pub(super) fn async_copy(&mut self, frame: &Frame<'r>, id: OpId, attrs: AsyncCopyAttrs) -> Run<()> {
        let op = frame.function.op(id);
        let (pointer, buffer) = (op.operands[0], op.operands[1]);
        let scalar = frame.function.ty(pointer).elem().pointee().unwrap_or(Scalar::I8);
        let elem = Elem::Scalar(scalar);
        let size = element_bytes(elem);
        let pointers = self.tile(frame, id, pointer)?;
        let n = pointers.len();
        let mask = self.beside(frame, id, 2, n)?;
        let width = self.width(frame, id, attrs.vector, size, n)?;
        let (tile, layout) = (self.tile_layout(frame, id, pointer)?, self.buffer_layout(frame, id, buffer)?);
        let (owner, base) = self.buffer(frame, id, buffer)?;
        if !async_copy_fits(tile, layout, elem.bits(), width as u32) {
            return Err(self.malformed(frame, id, "an asynchronous copy moves 4, 8 or 16 contiguous bytes"));
        }
        let Some(access) = Access::new(tile, layout, elem.bits()) else {
            return Err(self.malformed(frame, id, "a buffer's layout does not give every element of the tile one place"));
        };
        let threads = self.linear(&access.lane, &access.warp);
        let surplus = tile.free_bits().0 as usize;
        let holders = self.holders(Some(tile));
        let size = width as u32 * size;
        for first in (0..n).step_by(width).filter(|first| first & surplus == 0) {
            let at = apply(&access.register, first as u32);
            let range = first..first + width;
            for t in (0..self.threads).filter(|&t| holders[t]) {
                let mask = mask.as_ref().map(|m| &m[range.clone()]);
                let source = self.address(frame, id, &pointers[range.clone()], mask, element_bytes(elem), t)?;
                if let Some(source) = source {
                    self.may_touch(frame, id, t, source, size, Touched::Read);
                }
                let destination = base + (threads[t] ^ at) * element_bytes(elem);
                let by = By { op: id, thread: t as u32 };
                let outcome = self.shared.hold(by, destination, size);
                self.judge(frame, by, outcome)?;
                let bytes = source.map_or_else(|| vec![0; size as usize], |source| self.global_bytes(source, size));
                self.copies.open.push(Copy { by, owner, destination, source, bytes });
            }
        }
        Ok(())
    }

    pub(super) fn async_commit(&mut self) {
        let group = std::mem::take(&mut self.copies.open);
        self.copies.groups.push_back(group);
    }

    pub(super) fn async_wait(&mut self, frame: &Frame<'r>, id: OpId, pending: u32) -> Run<()> {
        while self.copies.groups.len() > pending as usize {
            for copy in self.copies.groups.pop_front().into_iter().flatten() {
                if let Some(source) = copy.source
                    && self.global_bytes(source, copy.bytes.len() as u32) != copy.bytes
                {
                    let message = format!("thread {}: what is copied was stored to while the copy was under way", copy.by.thread);
                    return Err(self.fault(frame, copy.by.op, (FaultKind::Race, message)));
                }
                self.step += 1;
                self.shared.release(copy.destination, copy.bytes.len() as u32);
                let marks = vec![0; copy.bytes.len()];
                let landed = self.shared.write(copy.by, self.step, copy.owner, copy.destination, &copy.bytes, &marks);
                self.judge(frame, By { op: id, ..copy.by }, landed)?;
                self.shared.publish(copy.destination, copy.bytes.len() as u32);
            }
        }
        Ok(())
    }

    fn global_bytes(&self, address: u64, size: u32) -> Vec<u8> {
        (address..address + u64::from(size))
            .map(|at| self.memory.nearest(at).and_then(|a| Some(a.load::<1>(a.offset::<1>(at)?) as u8)).unwrap_or(0))
            .collect()
    }
}
