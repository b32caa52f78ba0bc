//! Checks of a program while the reference interpreter runs it: what is wrong although it runs.
//!
//! Every element of a value may carry *labels*: sites where it became undefined, not a number, too large, … ([`labels`]). They follow the
//! element through the operations, and are told where they decide something: what is stored, where, under which condition. Global memory has
//! a shadow that knows who has touched an element ([`race`]) and whether it holds anything ([`access`]). **Invariant:** a finding never stops the
//! program: what cannot be read is 0, what cannot be stored is dropped; the same launch gives the same findings, in the order of its programs.

mod access;
mod labels;
mod numeric;
mod race;
mod shadow;
mod threads;
mod within;

use std::collections::HashMap;

pub(crate) use access::GlobalAccess;
pub(crate) use labels::Labels;
pub use shadow::{MemoryShape, TensorShape};
pub(crate) use threads::{ThreadAccess, Touched};

use crate::{
    interpret::Data,
    module::{FunctionId, OpId},
};
use labels::{Kind, Site, Sites};
use race::Order;
use shadow::Shadow;
use threads::Threads;
use within::Within;

/// What is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Check {
    OutOfBounds,
    Misaligned,
    /// A value that a mask left undefined decides something.
    Undefined,
    /// The same, where the zeros that a GPU fills in change nothing.
    ZeroFill,
    Race,
    /// Between the warps of one program.
    RaceWithin,
    Uninitialised,
    IntegerWrap,
    NotFinite,
    DivisionByZero,
    Assertion,
}

/// An operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct At {
    pub function: FunctionId,
    pub op: OpId,
}

/// What one operation does wrong, in all programs and elements; the texts are about the first.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    pub check: Check,
    pub at: At,
    /// What is wrong, whatever the element.
    pub message: String,
    /// Other operations that have to do with it.
    pub related: Vec<(At, String)>,
    pub first: Instance,
    pub programs: u64,
    pub elements: u64,
}

/// The first element in which something is wrong.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Instance {
    pub program_id: [u32; 3],
    /// Place in the tile of the operation that told it; empty for a scalar.
    pub tile_index: Vec<u32>,
    /// Of the program, where threads are told apart.
    pub thread: Option<u32>,
    /// The allocation, and the index of its element.
    pub tensor: Option<(String, Vec<u64>)>,
}

/// Elements that nobody has written.
#[derive(Debug, Clone, PartialEq)]
pub struct Unwritten {
    /// The tensor, and the index in it.
    pub first: (String, Vec<u64>),
    pub count: u64,
    pub of: u64,
}

/// An element of an operation's tile.
#[derive(Clone, Copy)]
struct Lane<'a> {
    at: At,
    shape: &'a [u32],
    element: usize,
    thread: Option<u32>,
}

impl<'a> Lane<'a> {
    fn of(at: At, shape: &'a [u32], element: usize) -> Lane<'a> {
        Lane { at, shape, element, thread: None }
    }
}

/// The checks of one launch.
#[derive(Debug, Default)]
pub struct Sanitizer {
    shadow: Shadow,
    order: Order,
    within: Within,
    threads: Threads,
    sites: Sites,
    findings: Vec<Finding>,
    /// By check and operation: the finding, and the last program that it was found in.
    known: HashMap<(Check, At), (usize, u64)>,
    program_id: [u32; 3],
    counts: [u32; 3],
    /// Counted from 1.
    program: u64,
}

impl Sanitizer {
    /// `memories`: by allocation of the memory that programs will run on.
    pub fn new(memories: Vec<MemoryShape>, num_warps: u32) -> Sanitizer {
        let within = Within::new(num_warps as usize);
        Sanitizer { shadow: Shadow::new(memories), within, ..Sanitizer::default() }
    }

    /// In the order in which they were met.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// The operations that have stored to an allocation.
    pub fn writers(&self, allocation: usize) -> &[At] {
        self.shadow.writers(allocation)
    }

    /// How many elements of a memory's views hold nothing yet, of how many, and the first of them.
    pub fn unwritten(&self, allocation: usize) -> Option<Unwritten> {
        let memory = self.shadow.memories.get(allocation)?;
        let all = (0..memory.cells.len()).filter(|&element| memory.is_in_view(element));
        let mut lacking = all.clone().filter(|&element| !memory.is_initialised(element)).peekable();
        let first = self.shadow.spelled(allocation, *lacking.peek()?);
        Some(Unwritten { first, count: lacking.count() as u64, of: all.count() as u64 })
    }

    /// Programs are not told apart beyond some number: whether more ran.
    pub fn has_untold_races(&self) -> bool {
        self.program >= race::MAX_PROGRAMS
    }

    pub(crate) fn begin(&mut self, program_id: [u32; 3], counts: [u32; 3]) {
        let [x, y, z] = program_id.map(u64::from);
        let [width, height, _] = counts.map(u64::from);
        self.program_id = program_id;
        self.counts = counts;
        self.program = 1 + x + width * (y + height * z);
        self.order.begin();
        self.within.meet();
        self.threads.begin();
    }

    /// The warps of the program meet.
    pub(crate) fn meet(&mut self) {
        self.within.meet();
    }

    /// Notes one element; what is told of an operation is told of its first one.
    fn tell(&mut self, check: Check, lane: Lane<'_>, at: At, tell: impl FnOnce(&Sanitizer) -> Told) {
        let program = self.program;
        if let Some((index, last)) = self.known.get_mut(&(check, at)) {
            let finding = &mut self.findings[*index];
            finding.elements += 1;
            if *last != program {
                *last = program;
                finding.programs += 1;
            }
            return;
        }
        let Told { message, related, tensor } = tell(self);
        let tile_index = tile_index(lane.shape, lane.element);
        let first = Instance { program_id: self.program_id, tile_index, thread: lane.thread, tensor };
        self.known.insert((check, at), (self.findings.len(), program));
        let related = related.into_iter().filter(|(other, _)| *other != at).collect();
        self.findings.push(Finding { check, at, message, related, first, programs: 1, elements: 1 });
    }

    /// An element decides something that is seen: `what`, "what this stores". Whether it may not be judged further.
    fn decides(&mut self, lane: Lane<'_>, labels: u64, what: &str, tensor: Option<(usize, usize)>) -> bool {
        let mut is_told = false;
        for kind in [Kind::Undefined, Kind::Missing, Kind::ZeroFill, Kind::Uninitialised, Kind::Outside, Kind::Division] {
            // What comes from several sites is told of the first.
            let Some(bit) = kind.first_of(labels) else { continue };
            is_told = true;
            let Site { at, via, .. } = self.sites.of(bit);
            let place = |this: &Sanitizer| tensor.map(|(allocation, element)| this.shadow.spelled(allocation, element));
            let decides = (lane.at, format!("decides {what}"));
            match kind {
                Kind::Undefined if let Some(load) = via => self.tell(Check::Undefined, lane, at, |this| Told {
                    message: format!("undefined elements are combined here, and the result decides {what}"),
                    related: vec![(load, "left undefined here: the mask is off and there is no `other`".into()), decides],
                    tensor: place(this),
                }),
                Kind::Undefined => self.tell(Check::Undefined, lane, lane.at, |this| Told {
                    message: format!("an undefined element decides {what}"),
                    related: vec![(at, "left undefined here: the mask is off and there is no `other`".into())],
                    tensor: place(this),
                }),
                Kind::Missing => self.tell(Check::Undefined, lane, lane.at, |this| Told {
                    message: format!("an undefined value decides {what}"),
                    related: vec![(at, "left undefined here: one of its ways returns nothing".into())],
                    tensor: place(this),
                }),
                Kind::ZeroFill => self.tell(Check::ZeroFill, lane, at, |this| Told {
                    message: "undefined elements are combined here: right only because a GPU fills in 0".into(),
                    related: via.map(|load| (load, "left undefined here: give it `other=0`".into())).into_iter().collect(),
                    tensor: place(this),
                }),
                Kind::Uninitialised => {
                    let source = self.sites.tensor(bit);
                    self.tell(Check::Uninitialised, lane, at, |_| Told {
                        message: format!("an element is read that nobody has written, and it decides {what}"),
                        related: vec![decides],
                        tensor: source,
                    });
                }
                Kind::Outside => {
                    let source = self.sites.tensor(bit);
                    self.tell(Check::OutOfBounds, lane, at, |_| Told {
                        message: format!("an element is read from between those of its view, and it decides {what}"),
                        related: vec![decides],
                        tensor: source,
                    });
                }
                Kind::Division => self.tell(Check::DivisionByZero, lane, at, |this| Told {
                    message: format!("an integer is divided by 0, and the result decides {what}"),
                    related: vec![decides],
                    tensor: place(this),
                }),
                Kind::Wrap | Kind::NotFinite => {}
            }
        }
        is_told
    }

    /// A condition of control flow, of one element.
    pub(crate) fn condition(&mut self, at: At, labels: &Labels, what: &str) {
        self.decides(Lane::of(at, &[], 0), labels.at(0), what, None);
    }

    /// An assertion, which does not stop the program here.
    pub(crate) fn assertion(&mut self, at: At, shape: &[u32], conditions: &[bool], labels: &Labels, message: &str) {
        for (element, holds) in conditions.iter().enumerate() {
            let lane = Lane::of(at, shape, element);
            if !self.decides(lane, labels.at(element), "an assertion", None) && !holds {
                let told =
                    |_: &Sanitizer| Told { message: format!("assertion failed: {message}"), related: vec![], tensor: None };
                self.tell(Check::Assertion, lane, at, told);
            }
        }
    }

    fn mask(&mut self, at: At, shape: &[u32], mask: Option<&Operand<'_>>) {
        let Some(bits) = mask.and_then(|mask| mask.labels.bits()) else { return };
        for (element, &labels) in bits.iter().enumerate() {
            self.decides(Lane::of(at, shape, element), labels as u64, "a mask", None);
        }
    }
}

/// What is told of the first element.
struct Told {
    message: String,
    related: Vec<(At, String)>,
    tensor: Option<(String, Vec<u64>)>,
}

/// A value that an operation takes.
#[derive(Clone, Copy)]
pub(crate) struct Operand<'a> {
    pub(crate) data: &'a Data,
    pub(crate) labels: &'a Labels,
}

fn tile_index(shape: &[u32], element: usize) -> Vec<u32> {
    let mut rest = element;
    let mut index: Vec<u32> = shape
        .iter()
        .rev()
        .map(|&extent| {
            let extent = extent.max(1) as usize;
            let at = rest % extent;
            rest /= extent;
            at as u32
        })
        .collect();
    index.reverse();
    index
}
