//! A place in shared memory for every buffer and every op's scratch.
//!
//! Live intervals over the order of the text, then first fit, largest first. Scratch lives for its op alone; where an SM has room for as many CTAs
//! nevertheless, each op has its own, and the next one need not wait until all threads have read theirs. A small operand of a product without
//! tensor cores lives until the next such product, whose barrier then frees it.
//!
//! **Invariant:** buffers that live at the same time do not overlap; every offset is a multiple of its [`alignment`]; the kernel fits a CTA or
//! is refused with the bytes it needs.

use tritium_tile::{BlockId, Function, Module, OpId, OpKind};

use super::{CompileOptions, Fact, Pass, Unsupported};
use crate::scratch::{alignment, bytes};

pub static PASS: Pass = Pass {
    name: "assign_shared",
    summary: "Give every buffer and scratch its place in shared memory.",
    needs: &[Fact::HasLayouts],
    gives: &[Fact::SharedAssigned],
    run,
};

/// Bytes of scratch that is not shared with anything.
const MAX_UNSHARED_SCRATCH_BYTES: u32 = 256;

/// Bytes of an operand that is kept for a product more: 16 × 16 elements of f32, whose product takes little longer than a barrier.
const MAX_KEPT_BYTES: u32 = 1 << 10;

struct Interval {
    op: OpId,
    bytes: u32,
    alignment: u32,
    first: usize,
    last: usize,
}

/// Who shares scratch with whom.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scratch {
    /// Ops of which one is done before the other begins.
    Shared,
    /// Nobody.
    Apart,
}

/// Where everything would go, and the bytes that takes.
fn layout(module: &Module, scratch: Scratch) -> (Vec<(Interval, u32)>, u64) {
    let mut intervals = intervals(module, scratch);
    intervals.sort_by_key(|i| (std::cmp::Reverse(i.bytes), i.first));
    let mut placed: Vec<(Interval, u32)> = Vec::new();
    for interval in intervals {
        let mut taken: Vec<(u32, u32)> = placed
            .iter()
            .filter(|(other, _)| other.first <= interval.last && interval.first <= other.last)
            .map(|(other, at)| (*at, at + other.bytes))
            .collect();
        taken.sort_unstable();
        let mut at = 0u32;
        for (start, end) in taken {
            if at.saturating_add(interval.bytes) <= start {
                break;
            }
            at = at.max(end.next_multiple_of(interval.alignment));
        }
        placed.push((interval, at));
    }
    let total = placed.iter().map(|(i, at)| u64::from(*at) + u64::from(i.bytes)).max().unwrap_or(0);
    (placed, total)
}

/// Whether the kernel fits a CTA as it is now.
pub(super) fn fits(module: &Module, options: &CompileOptions) -> bool {
    needed(module) <= options.sm.shared_per_cta.into()
}

/// Bytes of shared memory that the kernel takes as it is now.
pub(super) fn needed(module: &Module) -> u64 {
    layout(module, Scratch::Shared).1
}

/// The part of an SM's shared memory that scratch may take apart: the rest caches what is loaded and spilled.
const APART: u32 = 4;

/// Bytes of a CTA that leave room for as many CTAs as an SM has threads for.
fn bytes_without_loss(options: &CompileOptions) -> u32 {
    let sm = options.sm;
    let ctas = (sm.max_warps_per_sm / options.launch.num_warps).clamp(1, sm.max_ctas_per_sm);
    (sm.shared_per_sm / APART / ctas).saturating_sub(sm.shared_reserved)
}

fn run(module: &mut Module, options: &CompileOptions) -> Result<(), Unsupported> {
    let apart = Some(layout(module, Scratch::Apart)).filter(|&(_, total)| total <= u64::from(bytes_without_loss(options)));
    let (placed, total) = apart.unwrap_or_else(|| layout(module, Scratch::Shared));
    let limit = options.sm.shared_per_cta;
    if total > u64::from(limit) {
        let largest = placed.iter().max_by_key(|(i, _)| i.bytes);
        let origin = largest.map_or(tritium_tile::Origin::NONE, |(i, _)| module.entry().op(i.op).origin);
        return Err(Unsupported::new(
            origin,
            format!(
                "the kernel needs {total} bytes of shared memory, a CTA of {} has {limit}; use smaller blocks or fewer stages",
                options.sm.name
            ),
        ));
    }
    for (interval, at) in placed {
        module.functions[0].op_mut(interval.op).shared_offset = Some(at);
    }
    module.shared_bytes = Some(total as u32);
    Ok(())
}

fn intervals(module: &Module, scratch: Scratch) -> Vec<Interval> {
    let function = module.entry();
    let mut order = Order {
        position: vec![0; function.ops.len()],
        loops: Vec::new(),
        waits: Vec::new(),
        retired: Vec::new(),
        products: Vec::new(),
        next: 0,
    };
    order.block(function, function.body);
    let mut last_use = vec![0usize; function.values.len()];
    let mut intervals = Vec::new();
    let end = order.next;
    function.walk(|_, id| {
        let op = function.op(id);
        for &v in &op.operands {
            if !function.ty(v).is_buffer() {
                continue;
            }
            let v = crate::scratch::buffer_of(function, v);
            // A buffer handed on by a terminator or into a region lives under other names: keep it to the end.
            let handed_on = op.kind.is_terminator() || !op.regions.is_empty();
            let here = order.position[id.index()];
            let at = match op.kind {
                _ if handed_on => end,
                // It goes on until somebody waits for all copies.
                OpKind::AsyncCopy(_) => order.waits.iter().copied().find(|&wait| wait > here).unwrap_or(end),
                OpKind::Wgmma { .. } => order.retired.iter().copied().find(|&wait| wait > here).unwrap_or(end),
                OpKind::Dot { .. } if function.def_op(v).is_some_and(|op| bytes(module, function, op) <= MAX_KEPT_BYTES) => {
                    order.products.iter().copied().find(|&product| product > here).unwrap_or(here)
                }
                _ => here,
            };
            last_use[v.index()] = last_use[v.index()].max(at);
        }
    });
    function.walk(|_, id| {
        let bytes = bytes(module, function, id);
        if bytes == 0 {
            return;
        }
        let op = function.op(id);
        let first = order.position[id.index()];
        let mut last = first;
        let mut first = first;
        let is_buffer = matches!(op.kind, OpKind::LocalAlloc);
        let is_little = bytes <= MAX_UNSHARED_SCRATCH_BYTES && matches!(op.kind, OpKind::Reduce { .. } | OpKind::Scan { .. });
        if is_little || scratch == Scratch::Apart && !is_buffer {
            // Sharing would save nothing and cost a barrier between each op and the next.
            (first, last) = (0, end);
        }
        if is_buffer {
            last = last.max(last_use[op.results[0].index()]);
            // A use inside a loop that does not contain the allocation happens on every trip.
            for &(start, finish) in &order.loops {
                if first < start && last > start && last < finish {
                    last = finish;
                }
            }
        }
        intervals.push(Interval { op: id, bytes, alignment: alignment(module, function, id), first, last });
    });
    intervals
}

/// Numbers ops in the order of the text; a loop's interval covers its regions.
struct Order {
    position: Vec<usize>,
    loops: Vec<(usize, usize)>,
    /// For all copies.
    waits: Vec<usize>,
    /// For all multiplications of warpgroups.
    retired: Vec<usize>,
    /// Products that read their operands from buffers.
    products: Vec<usize>,
    next: usize,
}

impl Order {
    fn block(&mut self, function: &Function, block: BlockId) {
        for &id in &function.block(block).ops {
            let start = self.next;
            self.position[id.index()] = start;
            self.next += 1;
            if matches!(function.op(id).kind, OpKind::AsyncWait { pending: 0 }) {
                self.waits.push(start);
            }
            if matches!(function.op(id).kind, OpKind::WgmmaWait { pending: 0 }) {
                self.retired.push(start);
            }
            let op = function.op(id);
            if matches!(op.kind, OpKind::Dot { .. }) && op.operands.iter().any(|&v| function.ty(v).is_buffer()) {
                self.products.push(start);
            }
            for &region in &function.op(id).regions {
                self.block(function, region);
            }
            if function.op(id).kind.is_loop() {
                self.loops.push((start, self.next));
            }
        }
    }
}
