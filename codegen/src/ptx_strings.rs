//! Every PTX instruction we write ourselves, as inline assembly.
//!
//! **Invariant:** no PTX text stands anywhere else, so that whoever simulates a kernel decodes exactly this table. Operands are numbered
//! outputs first, in the order of the constraints.

pub mod wgmma;

use tritium_tile::layout::tma::MAP_BYTES;
use tritium_tile::ops::{AtomicOp, CacheOp, Eviction, MemScope, MemSem};
use tritium_tile::types::Scalar;

use crate::source_lines::LINE_MARK;

/// ptxas schedules what is in front of it and what is behind it apart from each other. It is an event that no counter counts, spelt by what it is for:
/// whoever assembles may take it back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fence {
    /// Behind loads that go first.
    Loads,
    /// Behind rows that lanes exchange.
    Rows,
}

impl Fence {
    pub const fn text(self) -> &'static str {
        match self {
            Fence::Loads => "pmevent.mask 0;",
            Fence::Rows => "pmevent.mask 0x0;",
        }
    }

    pub fn is_in(self, ptx: &str) -> bool {
        ptx.contains(self.text())
    }
}

const SHARED_NOTE: &str = "// bytes of shared memory of a CTA: ";

/// A comment in a kernel's PTX. Shared memory is dynamic, so PTX does not say how much a CTA takes, and whoever assembles asks how many CTAs an SM holds.
pub fn shared_note(bytes: u32) -> String {
    format!("{SHARED_NOTE}{bytes}")
}

/// What [`shared_note`] says; none where it says nothing.
pub fn noted_shared_bytes(ptx: &str) -> u32 {
    let rest = ptx.split_once(SHARED_NOTE).and_then(|(_, rest)| rest.lines().next());
    rest.and_then(|bytes| bytes.trim().parse().ok()).unwrap_or(0)
}

/// i32 → the pointer that is so many parameters of the kernel behind the first. The driver lays parameters out one behind the other, each at a
/// multiple of its size, so pointers that are neighbours in the signature are a row of 64-bit words, of which this reads one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadParameter<'k> {
    pub kernel: &'k str,
    pub first: u32,
}

impl ReadParameter<'_> {
    pub const CONSTRAINTS: &'static str = "=l,r";

    pub fn text(self) -> String {
        let ReadParameter { kernel, first } = self;
        let address = format!("mov.b64 place, {kernel}_param_{first}; mad.wide.u32 place, $1, 8, place;");
        format!("{{ .reg .b64 place; {address} ld.param.b64 $0, [place]; }}")
    }
}

/// One instruction; what varies of it is in the variant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Instruction {
    /// f32 → f32.
    Ex2Approx,
    Ex2ApproxFtz,
    Lg2Approx,
    SinApprox,
    CosApprox,
    SqrtApprox,
    RsqrtApprox,
    RcpApproxFtz,
    /// (f32, f32) → f32, within 2 ulp for divisors of ordinary size.
    DivApprox,
    /// (f32, f32) → f32, within 2 ulp.
    DivFull,
    /// Integer → its size; the smallest number stays.
    Abs {
        bits: u8,
    },
    /// (address, i32) → address + i32 · bytes.
    MadWide {
        bytes: u8,
    },
    /// i32 → the same number, of which LLVM knows nothing.
    Opaque,
    /// The same `f32`, in this basic block: LLVM would compute it in the block of its only user, behind loops, and hold all that it is made of until then.
    Here,
    /// f32 → b16, toward zero.
    CvtRzF16,
    CvtRzBf16,
    /// f32 → tf32 in 32 bits, to nearest, ties away.
    CvtRnaTf32,
    /// f32 → 8-bit float in the low byte of 16 bits, to nearest even, saturating.
    CvtE4m3,
    CvtE5m2,
    /// Two of them in 16 bits → two f16 in 32 bits.
    CvtFromE4m3,
    /// Waits for all threads of the CTA.
    BarSync,
    /// The lanes of a warp meet. Nothing of it is left in machine code, but ptxas moves no access to memory across it.
    WarpSync,
    SchedulingFence(Fence),
    /// Waits for the grid in front of this one.
    GridWait,
    GridLaunch,
    /// → the number of the operation it stands for, for which the line in the source is put in when somebody reads it.
    SourceLine {
        operation: u32,
    },
    /// (address, [predicate, words…]) → words. A false predicate gives the words passed in.
    LoadGlobal {
        words: u8,
        word_bits: u8,
        predicated: bool,
        cache: CacheOp,
        eviction: Eviction,
        volatile: bool,
    },
    /// (address, words…, [predicate]).
    StoreGlobal {
        words: u8,
        word_bits: u8,
        predicated: bool,
        cache: CacheOp,
        eviction: Eviction,
    },
    /// (address, words…, [predicate]) → old words. ptxas makes a reduction of one whose old words nobody uses.
    Atomic(AtomicUpdate),
    /// Orders this thread's accesses before it against those after it, for threads of the scope.
    Fence {
        scope: MemScope,
    },
    /// (address, expected, new, [predicate]) → old value.
    CompareAndSwap {
        bits: u8,
        sem: MemSem,
        scope: MemScope,
        predicated: bool,
    },
    /// (32-bit shared address, number, [predicate]): adds atomically.
    CountShared {
        predicated: bool,
    },
    /// (32-bit shared address) → `count` words.
    LdMatrix {
        count: u8,
        transposed: bool,
    },
    /// (32-bit shared address, `count` words).
    StMatrix {
        count: u8,
        transposed: bool,
    },
    /// (A words ×4, B words ×2, accumulator) → accumulator.
    Mma(Mma),
    /// Predicate → the bytes that an asynchronous copy reads: all or none. As a select of LLVM a mask of several conditions would become one each.
    CopySize {
        bytes: u8,
    },
    /// (32-bit shared address, address, [bytes to read; the others become 0], [predicate]).
    CopyAsync {
        bytes: u8,
        through_l1: bool,
        sized: bool,
        predicated: bool,
    },
    /// (32-bit shared address, predicate): an mbarrier whose phases take so many arrivals.
    MbarrierInit {
        count: u32,
    },
    /// (32-bit shared address, predicate).
    MbarrierInvalidate,
    /// Mbarriers that this thread has made are there for the units that arrive at them.
    FenceMbarrierInit,
    /// (predicate of this lane) → that of all lanes together.
    VoteAll,
    /// (32-bit shared address, parity): until the phase of that parity is complete.
    MbarrierWait,
    /// (32-bit shared address, predicate): arrives, and announces so many bytes.
    MbarrierExpect {
        bytes: u32,
    },
    /// (32-bit shared address, tensor map, 32-bit address of an mbarrier, coordinates…, predicate).
    CopyBlock {
        rank: u8,
    },
    /// (32-bit shared address, tensor map, coordinates…, predicate).
    StoreBlock {
        rank: u8,
    },
    /// Until the blocks that this thread has stored are read, for `visible` also written.
    StoreBlockWait {
        visible: bool,
    },
    /// (32-bit shared address of 128 bytes, address in global memory, the shared address of this thread's word of the 128 bytes, predicates of the first
    /// thread and of the first warp, base, extents…, distances in bytes… but of the first axis). Extents of a box.
    WriteTensorMap {
        rank: u8,
        extents: [u32; 5],
        element_bytes: u8,
        swizzle: u8,
    },
    /// Orders this thread's accesses to shared memory before those of the asynchronous proxy.
    FenceAsync,
}

/// Element types of `mma.sync.m16n8*`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mma {
    F16F32,
    F16F16,
    Bf16F32,
    Tf32F32,
    I8I32,
    E4m3F32,
    E5m2F32,
}

/// An update of neighbouring elements in so many words, each element by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AtomicUpdate {
    pub op: AtomicOp,
    pub element: Scalar,
    pub sem: MemSem,
    pub scope: MemScope,
    pub predicated: bool,
    pub words: u8,
    pub word_bits: u8,
}

impl AtomicUpdate {
    /// Scope and semantics in the order in which Triton writes them.
    fn text(self) -> String {
        let n = usize::from(self.words);
        let guard = if self.predicated { format!("@${} ", 2 * n + 1) } else { String::new() };
        let operation = atomic_operation(self.op, self.element).unwrap_or_default();
        let (operation, element) = operation.rsplit_once('.').unwrap_or_default();
        let pair = if u32::from(self.word_bits) > self.element.bits() { "x2" } else { "" };
        let (scope, sem, vector) = (scope(self.scope), sem(self.sem), vector(self.words));
        let (old, values) = (list(0, n), list(n + 1, n));
        format!("{guard}atom.global.{scope}.{sem}.{operation}{vector}.{element}{pair} {old}, [${n}], {values};")
    }

    fn constraints(self) -> Vec<String> {
        let (n, w) = (usize::from(self.words), word(self.word_bits));
        let mut parts = vec![format!("={w}"); n];
        parts.push("l".into());
        parts.extend(vec![w.to_string(); n]);
        if self.predicated {
            parts.push("b".into());
        }
        parts.push("~{memory}".into());
        parts
    }
}

impl Mma {
    fn name(self) -> &'static str {
        match self {
            Mma::F16F32 => "m16n8k16.row.col.f32.f16.f16.f32",
            Mma::F16F16 => "m16n8k16.row.col.f16.f16.f16.f16",
            Mma::Bf16F32 => "m16n8k16.row.col.f32.bf16.bf16.f32",
            Mma::Tf32F32 => "m16n8k8.row.col.f32.tf32.tf32.f32",
            // Sums that leave 32 bits stay at the bound, as with Triton.
            Mma::I8I32 => "m16n8k32.row.col.satfinite.s32.s8.s8.s32",
            Mma::E4m3F32 => "m16n8k32.row.col.f32.e4m3.e4m3.f32",
            Mma::E5m2F32 => "m16n8k32.row.col.f32.e5m2.e5m2.f32",
        }
    }

    /// Accumulator words and their constraint.
    pub fn accumulator(self) -> (usize, char) {
        match self {
            Mma::F16F16 => (2, 'r'),
            // Sums that leave 32 bits stay at the bound, as with Triton.
            Mma::I8I32 => (4, 'r'),
            Mma::F16F32 | Mma::Bf16F32 | Mma::Tf32F32 | Mma::E4m3F32 | Mma::E5m2F32 => (4, 'f'),
        }
    }
}

/// `$a, $a+1, …` in braces when there are several.
fn list(first: usize, count: usize) -> String {
    let names: Vec<String> = (first..first + count).map(|i| format!("${i}")).collect();
    if count == 1 { names[0].clone() } else { format!("{{{}}}", names.join(", ")) }
}

fn braces(first: usize, count: usize) -> String {
    let text = list(first, count);
    if count == 1 { format!("{{{text}}}") } else { text }
}

fn word(bits: u8) -> char {
    match bits {
        64 => 'l',
        32 => 'r',
        _ => 'h',
    }
}

fn vector(words: u8) -> &'static str {
    match words {
        2 => ".v2",
        4 => ".v4",
        _ => "",
    }
}

fn cache_suffix(cache: CacheOp, eviction: Eviction) -> &'static str {
    match (eviction, cache) {
        (Eviction::First, _) => ".L1::evict_first",
        (Eviction::Last, _) => ".L1::evict_last",
        (Eviction::Normal, CacheOp::Default) => "",
        (Eviction::Normal, CacheOp::Ca) => ".ca",
        (Eviction::Normal, CacheOp::Cg) => ".cg",
        (Eviction::Normal, CacheOp::Cs) => ".cs",
        (Eviction::Normal, CacheOp::Cv) => ".cv",
        (Eviction::Normal, CacheOp::Wb) => ".wb",
        (Eviction::Normal, CacheOp::Wt) => ".wt",
    }
}

fn sem(sem: MemSem) -> &'static str {
    match sem {
        MemSem::Relaxed => "relaxed",
        MemSem::Acquire => "acquire",
        MemSem::Release => "release",
        MemSem::AcqRel => "acq_rel",
    }
}

fn scope(scope: MemScope) -> &'static str {
    match scope {
        MemScope::Cta => "cta",
        MemScope::Gpu => "gpu",
        MemScope::Sys => "sys",
    }
}

/// `add.f32` and the like; `None` if the hardware has no such atomic.
pub fn atomic_operation(op: AtomicOp, element: Scalar) -> Option<&'static str> {
    use AtomicOp::*;
    Some(match (op, element) {
        (Add, Scalar::I32) => "add.u32",
        (Add, Scalar::I64) => "add.u64",
        (AddF, Scalar::F16) => "add.noftz.f16",
        (AddF, Scalar::BF16) => "add.noftz.bf16",
        (AddF, Scalar::F32) => "add.f32",
        (AddF, Scalar::F64) => "add.f64",
        (MinS, Scalar::I32) => "min.s32",
        (MinS, Scalar::I64) => "min.s64",
        (MaxS, Scalar::I32) => "max.s32",
        (MaxS, Scalar::I64) => "max.s64",
        (MinU, Scalar::I32) => "min.u32",
        (MinU, Scalar::I64) => "min.u64",
        (MaxU, Scalar::I32) => "max.u32",
        (MaxU, Scalar::I64) => "max.u64",
        (And, Scalar::I32) => "and.b32",
        (And, Scalar::I64) => "and.b64",
        (Or, Scalar::I32) => "or.b32",
        (Or, Scalar::I64) => "or.b64",
        (Xor, Scalar::I32) => "xor.b32",
        (Xor, Scalar::I64) => "xor.b64",
        (Exchange, Scalar::I32 | Scalar::F32) => "exch.b32",
        (Exchange, Scalar::I64 | Scalar::F64) => "exch.b64",
        _ => return None,
    })
}

impl Instruction {
    pub fn text(self) -> String {
        match self {
            Instruction::Ex2Approx => "ex2.approx.f32 $0, $1;".into(),
            Instruction::Ex2ApproxFtz => "ex2.approx.ftz.f32 $0, $1;".into(),
            Instruction::Lg2Approx => "lg2.approx.ftz.f32 $0, $1;".into(),
            Instruction::SinApprox => "sin.approx.ftz.f32 $0, $1;".into(),
            Instruction::CosApprox => "cos.approx.ftz.f32 $0, $1;".into(),
            Instruction::DivApprox => "div.approx.ftz.f32 $0, $1, $2;".into(),
            Instruction::SqrtApprox => "sqrt.approx.ftz.f32 $0, $1;".into(),
            Instruction::RsqrtApprox => "rsqrt.approx.ftz.f32 $0, $1;".into(),
            Instruction::RcpApproxFtz => "rcp.approx.ftz.f32 $0, $1;".into(),
            Instruction::DivFull => "div.full.f32 $0, $1, $2;".into(),
            Instruction::Abs { bits } => format!("abs.s{bits} $0, $1;"),
            Instruction::MadWide { bytes } => format!("mad.wide.s32 $0, $2, {bytes}, $1;"),
            Instruction::Opaque | Instruction::Here => "mov.b32 $0, $1;".into(),
            Instruction::CvtRzF16 => "cvt.rz.f16.f32 $0, $1;".into(),
            Instruction::CvtRzBf16 => "cvt.rz.bf16.f32 $0, $1;".into(),
            Instruction::CvtRnaTf32 => "cvt.rna.tf32.f32 $0, $1;".into(),
            Instruction::CvtE4m3 => "cvt.rn.satfinite.e4m3x2.f32 $0, $1, $2;".into(),
            Instruction::CvtE5m2 => "cvt.rn.satfinite.e5m2x2.f32 $0, $1, $2;".into(),
            Instruction::CvtFromE4m3 => "cvt.rn.f16x2.e4m3x2 $0, $1;".into(),
            Instruction::BarSync => "bar.sync 0;".into(),
            Instruction::WarpSync => "bar.warp.sync 0xffffffff;".into(),
            Instruction::SchedulingFence(fence) => fence.text().into(),
            Instruction::GridWait => "griddepcontrol.wait;".into(),
            Instruction::GridLaunch => "griddepcontrol.launch_dependents;".into(),
            Instruction::SourceLine { operation } => format!("mov.b32 $0, {operation}; {LINE_MARK}"),
            Instruction::LoadGlobal { words, word_bits, predicated, cache, eviction, volatile } => {
                let n = words as usize;
                let (moves, guard) = if predicated {
                    let moves: String = (0..n).map(|i| format!("mov.b{} ${i}, ${}; ", word_bits.max(16), n + 2 + i)).collect();
                    (moves, format!("@${} ", n + 1))
                } else {
                    (String::new(), String::new())
                };
                let kind = if volatile { ".volatile" } else { "" };
                let modifiers = if volatile { "" } else { cache_suffix(cache, eviction) };
                format!("{moves}{guard}ld{kind}.global{modifiers}{}.b{word_bits} {}, [${n}];", vector(words), list(0, n))
            }
            Instruction::StoreGlobal { words, word_bits, predicated, cache, eviction } => {
                let n = words as usize;
                let guard = if predicated { format!("@${} ", n + 1) } else { String::new() };
                format!("{guard}st.global{}{}.b{word_bits} [$0], {};", cache_suffix(cache, eviction), vector(words), list(1, n))
            }
            Instruction::Atomic(update) => update.text(),
            Instruction::Fence { scope: c } => format!("fence.acq_rel.{};", scope(c)),
            Instruction::CompareAndSwap { bits, sem: s, scope: c, predicated } => {
                let guard = if predicated { "@$4 " } else { "" };
                format!("{guard}atom.global.{}.{}.cas.b{bits} $0, [$1], $2, $3;", sem(s), scope(c))
            }
            Instruction::CountShared { predicated } => {
                let guard = if predicated { "@$2 " } else { "" };
                format!("{guard}red.relaxed.cta.shared.add.u32 [$0], $1;")
            }
            Instruction::LdMatrix { count, transposed } => {
                let trans = if transposed { ".trans" } else { "" };
                let n = count as usize;
                format!("ldmatrix.sync.aligned.m8n8.x{n}{trans}.shared.b16 {}, [${n}];", braces(0, n))
            }
            Instruction::StMatrix { count, transposed } => {
                let trans = if transposed { ".trans" } else { "" };
                format!("stmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 [$0], {};", braces(1, count as usize))
            }
            Instruction::Mma(mma) => {
                let (c, _) = mma.accumulator();
                format!("mma.sync.aligned.{} {}, {}, {}, {};", mma.name(), list(0, c), list(c, 4), list(c + 4, 2), list(c + 6, c))
            }
            Instruction::CopySize { bytes } => format!("selp.b32 $0, {bytes}, 0, $1;"),
            Instruction::CopyAsync { bytes, through_l1, sized, predicated } => {
                let cache = if through_l1 { "ca" } else { "cg" };
                let size = if sized { ", $2" } else { "" };
                let guard = if predicated { format!("@${} ", 2 + u8::from(sized)) } else { String::new() };
                format!("{guard}cp.async.{cache}.shared.global [$0], [$1], {bytes}{size};")
            }
            Instruction::MbarrierInit { count } => format!("@$1 mbarrier.init.shared::cta.b64 [$0], {count};"),
            Instruction::MbarrierInvalidate => "@$1 mbarrier.inval.shared::cta.b64 [$0];".into(),
            Instruction::VoteAll => "vote.sync.all.pred $0, $1, 0xffffffff;".into(),
            Instruction::FenceMbarrierInit => "fence.mbarrier_init.release.cluster;".into(),
            Instruction::MbarrierWait => "{ .reg .pred done; again: mbarrier.try_wait.parity.shared::cta.b64 done, [$0], $1; \
                 @!done bra again; }"
                .into(),
            Instruction::MbarrierExpect { bytes } => format!("@$1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], {bytes};"),
            Instruction::CopyBlock { rank } => {
                let n = rank as usize;
                format!(
                    "@${} cp.async.bulk.tensor.{n}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [$0], [$1, {}], [$2];",
                    3 + n,
                    braces(3, n)
                )
            }
            Instruction::StoreBlock { rank } => {
                let n = rank as usize;
                format!("@${} cp.async.bulk.tensor.{n}d.global.shared::cta.tile.bulk_group [$1, {}], [$0];", 2 + n, braces(2, n))
            }
            Instruction::StoreBlockWait { visible } => {
                let read = if visible { "" } else { ".read" };
                format!("cp.async.bulk.commit_group; cp.async.bulk.wait_group{read} 0;")
            }
            Instruction::WriteTensorMap { rank, extents, element_bytes, swizzle } => {
                tensor_map(rank as usize, &extents, element_bytes, swizzle)
            }
            Instruction::FenceAsync => "fence.proxy.async.shared::cta;".into(),
        }
    }

    pub fn constraints(self) -> String {
        let repeat = |text: &str, n: u8| vec![text.to_string(); n as usize];
        let parts: Vec<String> = match self {
            Instruction::Ex2Approx
            | Instruction::Ex2ApproxFtz
            | Instruction::Lg2Approx
            | Instruction::SinApprox
            | Instruction::CosApprox
            | Instruction::SqrtApprox
            | Instruction::RsqrtApprox
            | Instruction::RcpApproxFtz => {
                vec!["=f".into(), "f".into()]
            }
            Instruction::DivFull | Instruction::DivApprox => vec!["=f".into(), "f".into(), "f".into()],
            Instruction::Abs { bits } => {
                let register = ["h", "r", "l"][bits as usize / 32];
                vec![format!("={register}"), register.into()]
            }
            Instruction::MadWide { .. } => vec!["=l".into(), "l".into(), "r".into()],
            Instruction::Opaque => vec!["=r".into(), "r".into()],
            Instruction::Here => vec!["=f".into(), "f".into()],
            Instruction::CvtRzF16 | Instruction::CvtRzBf16 => vec!["=h".into(), "f".into()],
            Instruction::CvtRnaTf32 => vec!["=r".into(), "f".into()],
            Instruction::CvtE4m3 | Instruction::CvtE5m2 => vec!["=h".into(), "f".into(), "f".into()],
            Instruction::CvtFromE4m3 => vec!["=r".into(), "h".into()],
            Instruction::BarSync
            | Instruction::WarpSync
            | Instruction::SchedulingFence(_)
            | Instruction::GridWait
            | Instruction::GridLaunch => {
                vec!["~{memory}".into()]
            }
            Instruction::SourceLine { .. } => vec!["=r".into()],
            Instruction::VoteAll => vec!["=b".into(), "b".into()],
            Instruction::LoadGlobal { words, word_bits, predicated, .. } => {
                let w = word(word_bits).to_string();
                let mut parts = repeat(&format!("={w}"), words);
                parts.push("l".into());
                if predicated {
                    parts.push("b".into());
                    parts.extend(repeat(&w, words));
                }
                parts.push("~{memory}".into());
                parts
            }
            Instruction::StoreGlobal { words, word_bits, predicated, .. } => {
                let mut parts = vec!["l".to_string()];
                parts.extend(repeat(&word(word_bits).to_string(), words));
                if predicated {
                    parts.push("b".into());
                }
                parts.push("~{memory}".into());
                parts
            }
            Instruction::Atomic(update) => update.constraints(),
            Instruction::CompareAndSwap { bits, predicated, .. } => {
                let w = word(bits);
                let mut parts = vec![format!("={w}"), "l".into(), w.to_string(), w.to_string()];
                if predicated {
                    parts.push("b".into());
                }
                parts.push("~{memory}".into());
                parts
            }
            Instruction::CountShared { predicated } => {
                let mut parts = vec!["r".to_string(), "r".to_string()];
                if predicated {
                    parts.push("b".into());
                }
                parts.push("~{memory}".into());
                parts
            }
            Instruction::LdMatrix { count, .. } => {
                let mut parts = repeat("=r", count);
                parts.push("r".into());
                parts.push("~{memory}".into());
                parts
            }
            Instruction::StMatrix { count, .. } => {
                let mut parts = repeat("r", 1 + count);
                parts.push("~{memory}".into());
                parts
            }
            Instruction::Mma(mma) => {
                let (c, w) = mma.accumulator();
                let mut parts = repeat(&format!("={w}"), c as u8);
                parts.extend(repeat("r", 6));
                parts.extend(repeat(&w.to_string(), c as u8));
                parts
            }
            Instruction::CopySize { .. } => vec!["=r".into(), "b".into()],
            Instruction::CopyAsync { sized, predicated, .. } => {
                let mut parts = vec!["r".to_string(), "l".into()];
                if sized {
                    parts.push("r".into());
                }
                if predicated {
                    parts.push("b".into());
                }
                parts.push("~{memory}".into());
                parts
            }
            Instruction::MbarrierInit { .. } | Instruction::MbarrierInvalidate | Instruction::MbarrierExpect { .. } => {
                vec!["r".into(), "b".into(), "~{memory}".into()]
            }
            Instruction::MbarrierWait => vec!["r".into(), "r".into(), "~{memory}".into()],
            Instruction::CopyBlock { rank } => {
                let mut parts = vec!["r".to_string(), "l".into(), "r".into()];
                parts.extend(repeat("r", rank));
                parts.extend(["b".into(), "~{memory}".into()]);
                parts
            }
            Instruction::StoreBlock { rank } => {
                let mut parts = vec!["r".to_string(), "l".into()];
                parts.extend(repeat("r", rank));
                parts.extend(["b".into(), "~{memory}".into()]);
                parts
            }
            Instruction::WriteTensorMap { rank, .. } => {
                let mut parts: Vec<String> = ["r", "l", "r", "b", "b", "l"].map(String::from).into();
                parts.extend(repeat("r", rank));
                parts.extend(repeat("l", rank - 1));
                parts.push("~{memory}".into());
                parts
            }
            Instruction::Fence { .. }
            | Instruction::StoreBlockWait { .. }
            | Instruction::FenceMbarrierInit
            | Instruction::FenceAsync => {
                vec!["~{memory}".into()]
            }
        };
        parts.join(",")
    }

    /// Whether LLVM must leave it in its basic block.
    pub fn is_convergent(self) -> bool {
        self.has_effects() || matches!(self, Instruction::Here)
    }

    /// Whether it touches memory or must be reached by all threads together; the others may be moved, merged or dropped.
    pub fn has_effects(self) -> bool {
        match self {
            Instruction::Ex2Approx
            | Instruction::Ex2ApproxFtz
            | Instruction::Lg2Approx
            | Instruction::SinApprox
            | Instruction::CosApprox
            | Instruction::DivApprox
            | Instruction::SqrtApprox
            | Instruction::RsqrtApprox
            | Instruction::RcpApproxFtz
            | Instruction::DivFull
            | Instruction::Abs { .. }
            | Instruction::MadWide { .. }
            | Instruction::Opaque
            | Instruction::Here
            | Instruction::CvtRzF16
            | Instruction::CvtRzBf16
            | Instruction::CvtRnaTf32
            | Instruction::CvtE4m3
            | Instruction::CvtE5m2
            | Instruction::CvtFromE4m3
            | Instruction::CopySize { .. }
            | Instruction::SourceLine { .. } => false,
            Instruction::BarSync
            | Instruction::WarpSync
            | Instruction::SchedulingFence(_)
            | Instruction::GridWait
            | Instruction::GridLaunch
            | Instruction::LoadGlobal { .. }
            | Instruction::StoreGlobal { .. }
            | Instruction::Atomic(_)
            | Instruction::Fence { .. }
            | Instruction::CompareAndSwap { .. }
            | Instruction::CountShared { .. }
            | Instruction::LdMatrix { .. }
            | Instruction::StMatrix { .. }
            | Instruction::Mma(_)
            | Instruction::CopyAsync { .. }
            | Instruction::MbarrierInit { .. }
            | Instruction::MbarrierInvalidate
            | Instruction::FenceMbarrierInit
            | Instruction::VoteAll
            | Instruction::MbarrierWait
            | Instruction::MbarrierExpect { .. }
            | Instruction::CopyBlock { .. }
            | Instruction::StoreBlock { .. }
            | Instruction::StoreBlockWait { .. }
            | Instruction::WriteTensorMap { .. }
            | Instruction::FenceAsync => true,
        }
    }
}

/// Writes a map in shared memory and copies it to where the unit reads it. Elements are whole numbers of their size, as they are only copied; what lies
/// outside of the tensor reads as zeros. Distances are in bytes: assemblers before CUDA 12.5 took sixteenths of them.
fn tensor_map(rank: usize, extents: &[u32; 5], element_bytes: u8, swizzle: u8) -> String {
    let mut text = String::from("{ .reg .b32 n; @$4 st.shared.b32 [$2], 0; bar.warp.sync 0xffffffff; ");
    let mut set = |what: &str, bits: u32, value: &str| {
        text.push_str(&format!("@$3 tensormap.replace.tile.{what}.shared::cta.b1024.b{bits} [$0], {value}; "));
    };
    set("global_address", 64, "$5");
    set("rank", 32, &(rank - 1).to_string());
    for axis in 0..rank {
        set("global_dim", 32, &format!("{axis}, ${}", 6 + axis));
    }
    for axis in 0..rank - 1 {
        set("global_stride", 64, &format!("{axis}, ${}", 6 + rank + axis));
    }
    set("elemtype", 32, &element_bytes.ilog2().to_string());
    set("interleave_layout", 32, "0");
    set("swizzle_mode", 32, &(swizzle / 16).checked_ilog2().unwrap_or(0).to_string());
    set("fill_mode", 32, "0");
    for (axis, extent) in extents[..rank].iter().enumerate() {
        text.push_str(&format!(
            "mov.b32 n, {extent}; @$3 tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [$0], {axis}, n; "
        ));
    }
    text.push_str("mov.b32 n, 1; ");
    for axis in 0..rank {
        text.push_str(&format!("@$3 tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [$0], {axis}, n; "));
    }
    text.push_str(&format!(
        "bar.warp.sync 0xffffffff; \
         @$4 tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [$1], [$0], {MAP_BYTES}; \
         @$4 fence.proxy.tensormap::generic.acquire.gpu [$1], {MAP_BYTES}; \
         @$4 cp.async.bulk.commit_group; @$4 cp.async.bulk.wait_group.read 0; }}"
    ));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_memory_is_noted() {
        assert_eq!(noted_shared_bytes(&format!("{}\n.version 8.4\n", shared_note(29440))), 29440);
        assert_eq!(noted_shared_bytes(".version 8.4\n"), 0);
    }
}
