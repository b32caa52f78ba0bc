//! The bytes of shared memory and their history.
//!
//! Every byte knows which buffer it belongs to, who wrote it and who read it since when. Barriers of the whole CTA cut time into epochs:
//! accesses of two threads in one epoch are not ordered. An asynchronous operation holds its bytes from its issue to the wait that retires
//! it; until then nobody else may touch what it writes, nor write what it reads. **Invariant:** a byte is never read unless its last writer
//! is ordered before the reader, and never written unless all its readers and writers are.

use crate::module::OpId;

/// Who and what touches a byte.
#[derive(Debug, Clone, Copy)]
pub(super) struct By {
    pub(super) op: OpId,
    pub(super) thread: u32,
}

/// What is wrong with an access, for a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Wrong {
    /// The address lies outside shared memory.
    Outside {
        address: u32,
        size: u32,
    },
    Misaligned {
        address: u32,
        size: u32,
    },
    /// Not ordered with what `op` does to the same byte; `thread` is `None` for an asynchronous operation.
    Race {
        address: u32,
        op: OpId,
        thread: Option<u32>,
        writes: bool,
    },
    /// The bytes of a buffer were taken by another operation's.
    Overwritten {
        address: u32,
        op: OpId,
    },
    /// Two threads write different bits to one byte with one operation.
    Disagree {
        address: u32,
        thread: u32,
    },
}

/// Nobody.
const NONE: u32 = u32::MAX;

#[derive(Debug, Clone, Copy)]
struct Byte {
    value: u8,
    /// As in [`super::lanes::Lanes`]: 0 if defined.
    undefined: u32,
    /// The operation whose buffer or scratch the last write went through.
    owner: u32,
    writer: u32,
    write_op: u32,
    write_epoch: u32,
    /// Tells several runs of one operation apart.
    write_step: u64,
    reader: u32,
    /// Another thread that has read in the same epoch.
    second_reader: u32,
    read_op: u32,
    read_epoch: u32,
    /// The asynchronous operation under way that writes it, reads it.
    writing: u32,
    reading: u32,
}

impl Byte {
    fn may_write(&self, address: u32, by: By, epoch: u32) -> Result<(), Wrong> {
        let race = |op: u32, thread: Option<u32>, writes| Err(Wrong::Race { address, op: OpId(op), thread, writes });
        if self.writing != NONE {
            return race(self.writing, None, true);
        }
        if self.reading != NONE {
            return race(self.reading, None, false);
        }
        if self.write_epoch == epoch && self.writer != by.thread {
            return race(self.write_op, Some(self.writer), true);
        }
        if self.read_epoch == epoch {
            let other = if self.reader != by.thread { self.reader } else { self.second_reader };
            if other != NONE && other != by.thread {
                return race(self.read_op, Some(other), false);
            }
        }
        Ok(())
    }
}

#[derive(Debug)]
pub(super) struct SharedMemory {
    bytes: Vec<Byte>,
    epoch: u32,
}

impl SharedMemory {
    pub(super) fn new(size: u32) -> SharedMemory {
        let byte = Byte {
            value: 0xa5,
            undefined: NONE,
            owner: NONE,
            writer: NONE,
            write_op: NONE,
            write_epoch: 0,
            write_step: 0,
            reader: NONE,
            second_reader: NONE,
            read_op: NONE,
            read_epoch: 0,
            writing: NONE,
            reading: NONE,
        };
        SharedMemory { bytes: vec![byte; size as usize], epoch: 1 }
    }

    /// How often all threads have met.
    pub(super) fn epoch(&self) -> u32 {
        self.epoch
    }

    /// All threads have met: what was before is ordered before what follows.
    pub(super) fn barrier(&mut self) {
        self.epoch += 1;
    }

    fn inside(&self, address: u32, size: u32) -> Result<std::ops::Range<usize>, Wrong> {
        let end = u64::from(address) + u64::from(size);
        if end > self.bytes.len() as u64 {
            return Err(Wrong::Outside { address, size });
        }
        Ok(address as usize..end as usize)
    }

    fn range(&self, address: u32, size: u32) -> Result<std::ops::Range<usize>, Wrong> {
        if !address.is_multiple_of(size.max(1)) {
            return Err(Wrong::Misaligned { address, size });
        }
        self.inside(address, size)
    }

    /// A fresh buffer: what it held before is gone.
    pub(super) fn forget(&mut self, op: OpId, address: u32, size: u32) -> Result<(), Wrong> {
        for i in self.inside(address, size)? {
            self.bytes[i].undefined = op.0 + 1;
            self.bytes[i].owner = op.0;
        }
        Ok(())
    }

    /// An asynchronous operation begins that will write these bytes: for the race it is a write by the thread that issues it.
    pub(super) fn hold(&mut self, by: By, address: u32, size: u32) -> Result<(), Wrong> {
        let mut outcome = Ok(());
        for i in self.range(address, size)? {
            outcome = outcome.and(self.bytes[i].may_write(i as u32, by, self.epoch));
            self.bytes[i].writing = by.op.0;
        }
        outcome
    }

    /// It has been waited for.
    pub(super) fn release(&mut self, address: u32, size: u32) {
        for i in self.inside(address, size).unwrap_or_default() {
            self.bytes[i].writing = NONE;
        }
    }

    /// What another unit writes lands: it is there for every thread that has waited for it, and no ordinary write to be fenced.
    pub(super) fn land(&mut self, by: By, owner: OpId, address: u32, values: &[u8]) -> Result<(), Wrong> {
        for (i, &value) in self.inside(address, values.len() as u32)?.zip(values) {
            let byte = &mut self.bytes[i];
            (byte.value, byte.undefined, byte.owner, byte.write_op) = (value, 0, owner.0, by.op.0);
            (byte.writer, byte.write_epoch, byte.write_step, byte.writing) = (NONE, 0, 0, NONE);
        }
        Ok(())
    }

    /// An asynchronous operation begins that reads these bytes until it is waited for.
    pub(super) fn hold_reads(&mut self, by: By, address: u32, size: u32) -> Result<(), Wrong> {
        for i in self.inside(address, size)? {
            self.bytes[i].reading = by.op.0;
        }
        Ok(())
    }

    /// It has been waited for: for others it is a read of now.
    pub(super) fn release_reads(&mut self, by: By, address: u32, size: u32) {
        let epoch = self.epoch;
        for i in self.inside(address, size).unwrap_or_default() {
            let byte = &mut self.bytes[i];
            byte.reading = NONE;
            if byte.read_epoch != epoch {
                (byte.read_epoch, byte.reader, byte.second_reader) = (epoch, by.thread, NONE);
            } else if byte.reader != by.thread {
                byte.second_reader = by.thread;
            }
            byte.read_op = by.op.0;
        }
    }

    /// What asynchronous copies wrote needs no fence once they have been waited for.
    pub(super) fn publish(&mut self, address: u32, size: u32) {
        for i in self.inside(address, size).unwrap_or_default() {
            self.bytes[i].write_step = 0;
        }
    }

    /// Whether one of these bytes was written later than at this step.
    pub(super) fn written_since(&self, step: u64, address: u32, size: u32) -> bool {
        let range = self.inside(address, size).unwrap_or_default();
        self.bytes[range].iter().any(|byte| byte.write_step > step)
    }

    /// One access of one thread through the buffer or scratch of `owner`, of an aligned power of two bytes; `undefined[i]` marks byte `i`.
    pub(super) fn write(
        &mut self,
        by: By,
        step: u64,
        owner: OpId,
        address: u32,
        values: &[u8],
        undefined: &[u32],
    ) -> Result<(), Wrong> {
        let (epoch, mut outcome) = (self.epoch, Ok(()));
        for (offset, i) in self.range(address, values.len() as u32)?.enumerate() {
            let at = i as u32;
            let byte = &mut self.bytes[i];
            if byte.write_step == step && byte.write_epoch == epoch && byte.writer != by.thread {
                // Copies of one element: whoever comes last, the same bits stay.
                let both_undefined = byte.undefined != 0 && undefined[offset] != 0;
                if !both_undefined && (byte.value != values[offset] || byte.undefined != undefined[offset]) {
                    outcome = outcome.and(Err(Wrong::Disagree { address: at, thread: byte.writer }));
                }
                continue;
            }
            outcome = outcome.and(byte.may_write(at, by, epoch));
            byte.value = values[offset];
            byte.undefined = undefined[offset];
            byte.owner = owner.0;
            byte.writer = by.thread;
            byte.write_op = by.op.0;
            byte.write_epoch = epoch;
            byte.write_step = step;
        }
        outcome
    }

    /// An atomic addition of 1 to a word: such additions are ordered among themselves.
    pub(super) fn count(&mut self, address: u32) -> Result<(), Wrong> {
        let range = self.range(address, 4)?;
        let old = self.bytes[range.clone()].iter().rev().fold(0u32, |word, byte| word << 8 | u32::from(byte.value));
        for (byte, value) in self.bytes[range].iter_mut().zip(old.wrapping_add(1).to_le_bytes()) {
            byte.value = value;
        }
        Ok(())
    }

    /// The bytes and their marks.
    pub(super) fn read(
        &mut self,
        by: By,
        owner: OpId,
        address: u32,
        values: &mut [u8],
        undefined: &mut [u32],
    ) -> Result<(), Wrong> {
        let (epoch, mut outcome) = (self.epoch, Ok(()));
        for (offset, i) in self.range(address, values.len() as u32)?.enumerate() {
            let at = i as u32;
            let byte = &mut self.bytes[i];
            let wrong = if byte.writing != NONE {
                Some(Wrong::Race { address: at, op: OpId(byte.writing), thread: None, writes: true })
            } else if byte.write_epoch == epoch && byte.writer != by.thread && byte.writer != NONE {
                Some(Wrong::Race { address: at, op: OpId(byte.write_op), thread: Some(byte.writer), writes: true })
            } else if byte.owner != NONE && byte.owner != owner.0 {
                Some(Wrong::Overwritten { address: at, op: OpId(byte.owner) })
            } else {
                None
            };
            outcome = outcome.and(wrong.map_or(Ok(()), Err));
            values[offset] = byte.value;
            undefined[offset] = if byte.undefined == NONE { owner.0 + 1 } else { byte.undefined };
            if byte.read_epoch == epoch {
                if byte.reader != by.thread {
                    byte.second_reader = by.thread;
                }
            } else {
                byte.read_epoch = epoch;
                byte.reader = by.thread;
                byte.second_reader = NONE;
            }
            byte.read_op = by.op.0;
        }
        outcome
    }
}
