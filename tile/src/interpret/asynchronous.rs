//! Asynchronous copies under way. What they read is read at once; what they write is undefined until they are waited for.
//!
//! **Invariant:** a buffer gets its contents from the wait that covers its copy: for a group, or for the phase of an mbarrier in which the
//! copy was announced.

use std::{cell::RefCell, collections::VecDeque, rc::Rc};

use super::{FaultKind, access::Failure, value::Data};

type Buffer = Rc<RefCell<Data>>;

#[derive(Default)]
pub(super) struct Copies {
    /// Since the last commit.
    pub(super) open: Vec<(Buffer, Data)>,
    /// Oldest first.
    pub(super) groups: VecDeque<Vec<(Buffer, Data)>>,
    mbarriers: Vec<Mbarrier>,
}

struct Mbarrier {
    cell: Buffer,
    phase: i64,
    announced: Vec<(Buffer, Data)>,
}

fn failure(kind: FaultKind, message: &str) -> Failure {
    (kind, message.into())
}

impl Copies {
    fn mbarrier(&mut self, cell: &Buffer) -> Result<&mut Mbarrier, Failure> {
        let found = self.mbarriers.iter_mut().find(|m| Rc::ptr_eq(&m.cell, cell));
        found.ok_or_else(|| failure(FaultKind::Undefined, "no mbarrier was made here"))
    }

    /// The slots of a ring become mbarriers, or are no more.
    pub(super) fn make_mbarriers(&mut self, ring: &[Buffer], make: bool) -> Result<(), Failure> {
        for cell in ring {
            if make {
                if self.mbarrier(cell).is_ok() {
                    return Err(failure(FaultKind::Race, "an mbarrier is made where one is already"));
                }
                self.mbarriers.push(Mbarrier { cell: cell.clone(), phase: 0, announced: Vec::new() });
            } else {
                if !self.mbarrier(cell)?.announced.is_empty() {
                    return Err(failure(
                        FaultKind::Race,
                        "an mbarrier goes while copies that were announced to it are under way",
                    ));
                }
                self.mbarriers.retain(|m| !Rc::ptr_eq(&m.cell, cell));
            }
        }
        Ok(())
    }

    pub(super) fn announce(&mut self, cell: &Buffer, buffer: Buffer, data: Data) -> Result<(), Failure> {
        self.mbarrier(cell)?.announced.push((buffer, data));
        Ok(())
    }

    /// Bytes that are no longer under way.
    pub(super) fn wait(&mut self, cell: &Buffer, parity: i64) -> Result<u64, Failure> {
        let mbarrier = self.mbarrier(cell)?;
        if mbarrier.phase & 1 != parity & 1 {
            return Ok(0);
        }
        if mbarrier.announced.is_empty() {
            return Err(failure(FaultKind::Limit, "this waits for ever: nothing was announced to the mbarrier in this phase"));
        }
        mbarrier.phase += 1;
        let mut landed = 0;
        for (buffer, data) in mbarrier.announced.drain(..) {
            landed += data.bytes();
            *buffer.borrow_mut() = data;
        }
        Ok(landed)
    }
}
