//! ptxas in a worker: it is started before its input is there, while LLVM still works or behind the kernel before, as a fifth to a third of
//! the time that it takes over a small kernel goes into its start. Starting it from a process as large as Python with CUDA would take longer still.
//!
//! **Invariant:** one process makes one kernel, so no machine code hangs on what was made before it.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read as _, Seek as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use tritium_codegen::ptx_strings::{Fence, noted_shared_bytes};
use tritium_semantics::{
    occupancy::{occupancy, registers_of_thread},
    target::Gpu,
};

use super::WorkerError;
use super::process::Tool;
use super::ptxas::{AssembleRequest, Assembled, REMEDY, STDIN, STDOUT, resources, settled};
use crate::{child, files};

/// Registers fewer spilled from which on loads may stand where ptxas likes instead of in front: fewer are no reason to wait for one load after the
/// other (`bench/ablations.py`).
const LEAST_FREED: u32 = 8;

/// Warps of an SM that are enough for rows that are loaded and then exchanged between lanes: what one waits for, others do not hide in either case, and with more
/// registers ptxas computes elements side by side. With loops, which stream, more warps are better, but for CTAs of one warp whose steps exchange rows
/// (`bench/ablations.py`).
const ENOUGH_WARPS: u32 = 16;

/// Registers more that CTAs must leave a thread for ptxas to be asked to use them: they are given out in eights, and where fewer are left another call gives
/// no better code.
const LEAST_ROOM: u32 = 8;

/// The directive of a kernel that says how many threads a CTA has.
const MAX_THREADS: &str = ".maxntid ";

/// What the C library reads its settings from.
const TUNABLES: &str = "GLIBC_TUNABLES";

/// Memory in large pages, taken 32 MiB at a time: over a small kernel ptxas first touches four thousand pages of the usual size. With these it takes 10.8 ms for
/// a softmax instead of 13.9, uses 39 MiB instead of 36, and gives the same machine code.
const LARGE_PAGES: &str = "glibc.malloc.hugetlb=1:glibc.malloc.top_pad=33554432";

/// How long ptxas may take over one kernel.
pub(super) const TIME: Duration = Duration::from_secs(120);

/// How ptxas is called.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Call {
    program: PathBuf,
    sm: String,
    has_lines: bool,
}

/// A ptxas that waits for its input.
struct Waiting {
    call: Call,
    tool: Tool,
    /// Where it writes.
    cubin: File,
}

/// The ptxas of one worker.
#[derive(Default)]
pub(super) struct Assembler {
    waiting: Vec<Waiting>,
    /// How it was called for the last kernel, and how many times at least.
    last: Option<(Call, usize)>,
}

impl Assembler {
    /// Starts ptxas for a kernel whose PTX will follow, as it is most often called. What goes wrong is told when it is needed.
    pub(super) fn get_ready(&mut self, program: &Path, sm: &str, has_lines: bool) {
        self.keep_ready(&Call { program: program.into(), sm: sm.into(), has_lines }, 1);
    }

    /// Starts ptxas for a kernel like the one that has just been assembled, as many times as that one took.
    pub(super) fn get_ready_again(&mut self) {
        if let Some((call, times)) = self.last.take() {
            self.keep_ready(&call, times);
        }
    }

    /// Ends those that wait.
    pub(super) fn let_go(&mut self) {
        self.waiting.clear();
    }

    fn keep_ready(&mut self, call: &Call, count: usize) {
        self.waiting.retain_mut(|waiting| waiting.is_ready_for(call));
        while self.waiting.len() < count {
            let Ok(waiting) = Waiting::start(call.clone()) else { return };
            self.waiting.push(waiting);
        }
    }

    /// One that waits to be called so.
    fn ready(&mut self, call: &Call) -> Option<Waiting> {
        self.waiting.retain_mut(|waiting| waiting.is_ready_for(call));
        self.waiting.pop()
    }

    /// Assembles PTX. Where ptxas spills a few registers so that more blocks run at once, it is asked again to spill none. Where loads that were
    /// put in front of what is computed from them make it spill more, or leave an SM room for a single CTA where two would fit otherwise, it may put
    /// them where it likes: of one CTA, nothing runs while its loads are waited for. Straight-line code that exchanges rows may use more registers than it
    /// takes by itself ([`ENOUGH_WARPS`]). All are asked at the same time. Behind them, where there are loops or
    /// products, it is asked for as many CTAs as it has chosen, if these leave threads more registers ([`roomy_ctas`]).
    pub(super) fn assemble(&mut self, program: &Path, request: &AssembleRequest) -> Result<Assembled, WorkerError> {
        let call = Call::of(program, request);
        let start = |ready: Option<Waiting>| ready.map_or_else(|| Waiting::start(call.clone()), Ok);
        let first = start(self.ready(&call))?;
        let roomy = enough_ctas(request).and_then(|ctas| for_ctas(request.ptx, ctas)).map(|ptx| (self.ready(&call), ptx));
        // It starts while the first works.
        let second = may_be_asked_again(request.ptx).then(|| start(self.ready(&call)).ok()).flatten();
        self.last = Some((call.clone(), 1 + usize::from(roomy.is_some() || second.is_some())));
        let (weighed, enough) =
            beside(|| first.finish(request.ptx), roomy.map(|(ready, ptx)| move || start(ready)?.finish(&ptx)));
        let weighed = weighed?;
        let fences: Vec<Fence> = [Fence::Loads, Fence::Rows].into_iter().filter(|fence| fence.is_in(request.ptx)).collect();
        if weighed.spilled() == 0 && (fences.is_empty() || fits_twice(&weighed, request)) {
            let uses_more = |code: &Assembled| code.spilled() == 0 && code.registers > weighed.registers;
            let code = enough.transpose()?.filter(uses_more).unwrap_or(weighed);
            let again = roomy_ctas(request, &code).and_then(|ctas| for_ctas(request.ptx, ctas));
            return Ok(match (second, again) {
                (Some(second), Some(ptx)) => second.finish(&ptx).ok().filter(|code| code.spilled() == 0).unwrap_or(code),
                (second, _) => {
                    // It is there for the next kernel.
                    self.waiting.extend(second);
                    code
                }
            });
        }
        self.waiting.extend(second);
        // Rows that are exchanged one after the other wait longer than for what is spilled.
        let taken_back = if weighed.spilled() > 0 { &[Fence::Loads][..] } else { &fences };
        let is_fenced = taken_back.iter().any(|fence| fences.contains(fence));
        let ptx = taken_back.iter().fold(request.ptx.to_owned(), |ptx, fence| ptx.replace(fence.text(), ""));
        let free = || without_spills(program, &AssembleRequest { ptx: &ptx, ..*request }, None);
        let (code, free) = beside(|| without_spills(program, request, Some(weighed)), is_fenced.then_some(free));
        let code = code?;
        let Some(free) = free.filter(|_| code.spilled() > 0 || !fits_twice(&code, request)) else { return Ok(code) };
        let free = free?;
        let roomier = !fits_twice(&code, request) && fits_twice(&free, request);
        // Rows are exchanged when all of them is there, so one load after the other is a latency after the other.
        let frees = !exchanges_rows(request.ptx) && frees_registers(&code, &free);
        Ok(if frees || roomier { free } else { code })
    }
}

impl Call {
    fn of(program: &Path, request: &AssembleRequest) -> Call {
        Call { program: program.into(), sm: request.sm.into(), has_lines: request.ptx.contains(".loc") }
    }
}

impl Waiting {
    fn start(call: Call) -> Result<Waiting, WorkerError> {
        let mut command = Command::new(&call.program);
        command.arg("-v").arg("--gpu-name").arg(&call.sm);
        if call.has_lines {
            command.arg("-lineinfo");
        }
        command.arg(STDIN).arg("-o").arg(STDOUT);
        if std::env::var_os(TUNABLES).is_none() {
            command.env(TUNABLES, LARGE_PAGES);
        }
        child::ends_with_this_process(&mut command, child::Ending::Kill);
        let cubin = files::in_memory(&[]).map_err(|error| no_room(&error))?;
        let output = cubin.try_clone().map_err(|error| no_room(&error))?;
        let tool = Tool::start(command, None, Some(output), REMEDY)?;
        Ok(Waiting { call, tool, cubin })
    }

    /// Whether it is called so and nobody has ended it.
    fn is_ready_for(&mut self, call: &Call) -> bool {
        self.call == *call && self.tool.is_alive()
    }

    fn finish(mut self, ptx: &str) -> Result<Assembled, WorkerError> {
        let finished = self.tool.finish(ptx.as_bytes(), TIME)?;
        // The same machine code is the same entry, however long it took.
        let log: String = settled(finished)?.split_inclusive('\n').filter(|line| !line.contains("Compile time =")).collect();
        let mut bytes = Vec::new();
        self.cubin.rewind().and_then(|()| self.cubin.read_to_end(&mut bytes)).map_err(|error| no_room(&error))?;
        Ok(Assembled { cubin: bytes, ..resources(log) })
    }
}

/// `weighed` is what has been made of it already.
fn without_spills(program: &Path, request: &AssembleRequest, weighed: Option<Assembled>) -> Result<Assembled, WorkerError> {
    let made = |ptx: &str| Waiting::start(Call::of(program, request))?.finish(ptx);
    let weighed = weighed.map_or_else(|| made(request.ptx), Ok)?;
    // With all registers that a thread can have, one block more or less is no question.
    if weighed.spilled() == 0 || has_all_registers(&weighed, request) {
        return Ok(weighed);
    }
    // For one CTA, every register may be used before one is spilled.
    let Some(ptx) = for_ctas(request.ptx, 1) else { return Ok(weighed) };
    let one = made(&ptx)?;
    Ok(if one.spilled() < weighed.spilled() { one } else { weighed })
}

/// How many CTAs to ask for again: as many as an SM holds of what has been made, if they leave a thread more registers. Left to itself, ptxas aims at fewer
/// registers than the CTAs that it settles on leave; told how many, it schedules for all of them (`bench/ablations.py`). Of one warp that
/// exchanges rows in each step, [`ENOUGH_WARPS`] CTAs: a recurrence goes from one step to the next, and what a warp computes side by side is all that
/// it has to do while it waits.
fn roomy_ctas(request: &AssembleRequest, code: &Assembled) -> Option<u32> {
    let (sm, threads) = (Gpu::find(request.sm)?.sm, threads(request)?);
    let held = occupancy(sm, threads, code.registers, noted_shared_bytes(request.ptx), 0)?.ctas_per_sm;
    let is_enough = threads <= 32 && exchanges_rows_in_loops(request.ptx);
    let ctas = if is_enough { held.min(ENOUGH_WARPS) } else { held };
    (registers_of_thread(sm, threads.div_ceil(32) * ctas, None) >= code.registers + LEAST_ROOM).then_some(ctas)
}

/// Whether lanes exchange what they have between a label and a branch back to it.
fn exchanges_rows_in_loops(ptx: &str) -> bool {
    let mut labels: HashMap<&str, usize> = HashMap::new();
    let mut exchanges = 0;
    for line in ptx.lines().map(str::trim) {
        if let Some(label) = line.strip_suffix(':') {
            labels.insert(label, exchanges);
        } else if line.starts_with("shfl.sync") {
            exchanges += 1;
        } else if let Some(target) = line.strip_suffix(';').and_then(|branch| branch.split_whitespace().last())
            && labels.get(target).is_some_and(|&before| before < exchanges)
        {
            return true;
        }
    }
    false
}

/// PTX of a kernel of which an SM shall hold so many CTAs at least. Left to itself, ptxas weighs more of them against spilled registers. It is said in the
/// line of the number of threads, without which it means nothing, so that whatever ptxas tells of a line is of the same one.
fn for_ctas(ptx: &str, ctas: u32) -> Option<String> {
    ptx.contains(MAX_THREADS).then(|| ptx.replacen(MAX_THREADS, &format!(".minnctapersm {ctas} {MAX_THREADS}"), 1))
}

/// Whether there are loops or products, and nobody has limited the registers.
fn may_be_asked_again(ptx: &str) -> bool {
    has_loops_or_products(ptx) && !ptx.contains(".maxnreg")
}

fn has_loops_or_products(ptx: &str) -> bool {
    ["$L__BB", "mma.sync", "wgmma"].iter().any(|work| ptx.contains(work))
}

/// What two calls give that are made at the same time, if there is a second.
fn beside<A, B: Send>(first: impl FnOnce() -> A, second: Option<impl FnOnce() -> B + Send>) -> (A, Option<B>) {
    std::thread::scope(|scope| {
        let second = second.map(|second| scope.spawn(second));
        (first(), second.map(|second| second.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))))
    })
}

/// Whether enough registers less are spilled for loads to stand where ptxas likes.
fn frees_registers(first: &Assembled, free: &Assembled) -> bool {
    free.spilled_registers() + LEAST_FREED <= first.spilled_registers()
}

/// How many CTAs are [`ENOUGH_WARPS`] of rows whose loads go in front; of one, nothing runs while it waits.
fn enough_ctas(request: &AssembleRequest) -> Option<u32> {
    let is_fenced = [Fence::Loads, Fence::Rows].iter().any(|fence| fence.is_in(request.ptx));
    let warps = threads(request).filter(|_| exchanges_rows(request.ptx) && is_fenced)?.div_ceil(32);
    Some(ENOUGH_WARPS.div_ceil(warps).max(2))
}

/// Straight-line code in which lanes exchange what they have and nothing is multiplied.
fn exchanges_rows(ptx: &str) -> bool {
    ptx.contains("shfl.sync") && !has_loops_or_products(ptx)
}

/// Threads of a CTA.
fn threads(request: &AssembleRequest) -> Option<u32> {
    request.ptx.split_once(MAX_THREADS).and_then(|(_, rest)| rest.split([',', '\n']).next()?.trim().parse().ok())
}

/// Whether each thread has all registers that it can have where an SM holds a single CTA.
fn has_all_registers(code: &Assembled, request: &AssembleRequest) -> bool {
    let (Some(gpu), Some(threads)) = (Gpu::find(request.sm), threads(request)) else { return false };
    code.registers >= registers_of_thread(gpu.sm, threads.div_ceil(32), None)
}

/// Whether an SM has registers for two CTAs.
fn fits_twice(code: &Assembled, request: &AssembleRequest) -> bool {
    let (Some(gpu), Some(threads)) = (Gpu::find(request.sm), threads(request)) else { return true };
    occupancy(gpu.sm, threads, code.registers, 0, 0).is_some_and(|held| held.ctas_per_sm > 1)
}

fn no_room(error: &io::Error) -> WorkerError {
    WorkerError::Refused(format!("there is no room for what comes from ptxas ({error})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_ctas_fit_by_their_registers() {
        let fits =
            |registers, ptx| fits_twice(&Assembled { registers, ..Assembled::default() }, &AssembleRequest { ptx, sm: "sm_90a" });
        assert!(fits(58, ".maxntid 512, 1, 1\n"));
        assert!(!fits(81, ".maxntid 512, 1, 1\n"));
        // Eight registers at a time: 33 are 40.
        assert!(fits(32, ".maxntid 1024\n") && !fits(33, ".maxntid 1024\n"));
    }

    #[test]
    fn sixteen_warps_are_enough_for_rows() {
        let ctas = |ptx: &str| enough_ctas(&AssembleRequest { ptx: &format!("{}\n{ptx}", Fence::Rows.text()), sm: "sm_90a" });
        let exchange = "shfl.sync.bfly.b32 %r1;\n";
        assert_eq!(ctas(&format!(".maxntid 64, 1, 1\n{exchange}")), Some(8));
        assert_eq!(ctas(&format!(".maxntid 1024, 1, 1\n{exchange}")), Some(2));
        assert_eq!(ctas(".maxntid 64, 1, 1\nadd.f32 %f1;\n"), None);
        assert_eq!(ctas(&format!(".maxntid 64, 1, 1\n{exchange}@%p1 bra $L__BB0_1;\n")), None);
        let unfenced = AssembleRequest { ptx: &format!(".maxntid 64, 1, 1\n{exchange}"), sm: "sm_90a" };
        assert_eq!(enough_ctas(&unfenced), None);
    }

    #[test]
    fn ctas_are_asked_for_in_the_line_of_the_threads() {
        assert_eq!(for_ctas("f()\n.maxntid 64, 1, 1\n{", 3).as_deref(), Some("f()\n.minnctapersm 3 .maxntid 64, 1, 1\n{"));
        assert_eq!(for_ctas("f()\n{", 3), None);
    }

    #[test]
    fn loops_and_products_may_be_asked_for_again() {
        assert!(may_be_asked_again("mma.sync.aligned;\n") && may_be_asked_again("@%p1 bra $L__BB0_1;\n"));
        assert!(!may_be_asked_again("shfl.sync.bfly.b32 %r1;\n"));
        // Who limits registers has said what is wanted.
        assert!(!may_be_asked_again(".maxnreg 64\n@%p1 bra $L__BB0_1;\n"));
    }

    #[test]
    fn ptxas_is_asked_again_where_registers_are_left() {
        let ctas = |registers, ptx: &str| {
            roomy_ctas(&AssembleRequest { ptx, sm: "sm_90a" }, &Assembled { registers, ..Assembled::default() })
        };
        // Ten CTAs of four warps leave 48 registers, and four of them 128.
        assert_eq!((ctas(41, ".maxntid 128, 1, 1\n"), ctas(48, ".maxntid 128, 1, 1\n")), (None, None));
        assert_eq!((ctas(105, ".maxntid 128, 1, 1\n"), ctas(121, ".maxntid 128, 1, 1\n")), (Some(4), None));
        // 28 CTAs of one warp leave 72, and 16 leave 128.
        assert_eq!(ctas(72, ".maxntid 32, 1, 1\n"), None);
        assert_eq!(ctas(72, ".maxntid 32, 1, 1\n$L__BB0_1:\nshfl.sync.bfly.b32 %r1;\n@%p1 bra $L__BB0_1;\n"), Some(16));
    }

    #[test]
    fn rows_are_exchanged_in_loops() {
        let (exchange, back) = ("\tshfl.sync.bfly.b32 \t%r2, %r1, 1, 31, -1;\n", "\t@%p1 bra \t$L__BB0_1;\n");
        let exchanges = |ptx: &str| exchanges_rows_in_loops(ptx);
        assert!(exchanges(&format!("$L__BB0_1:\n{exchange}{back}")));
        assert!(exchanges(&format!("$L__BB0_1:\n{exchange}\tbra.uni \t$L__BB0_1;\n")));
        // In front of the loop, behind it, and between a branch forwards and its label.
        assert!(!exchanges(&format!("{exchange}$L__BB0_1:\n{back}{exchange}")));
        assert!(!exchanges(&format!("{back}{exchange}$L__BB0_1:\n")));
    }

    #[test]
    fn eight_registers_fewer_are_worth_it() {
        let spilling =
            |registers: u32| Assembled { spill_stores: 4 * registers, spill_loads: 4 * registers, ..Assembled::default() };
        assert!(!frees_registers(&spilling(43), &spilling(40)) && !frees_registers(&spilling(7), &spilling(0)));
        assert!(frees_registers(&spilling(43), &spilling(35)) && frees_registers(&spilling(8), &spilling(0)));
    }

    /// How often a ptxas that always answers with so many registers is asked for a kernel, how many wait behind it, and how many for the next.
    #[cfg(unix)]
    fn calls(registers: u32) -> (usize, usize, usize) {
        let folder = tempfile::tempdir().unwrap();
        let (program, calls) = (folder.path().join("ptxas"), folder.path().join("calls"));
        let text = format!("cat >/dev/null\necho call >>{}\necho 'Used {registers} registers' >&2", calls.display());
        std::fs::write(&program, format!("#!/bin/sh\n{text}\n")).unwrap();
        std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let mut assembler = Assembler::default();
        // A child that another test has just forked may have the script open for a moment yet.
        while assembler.waiting.is_empty() {
            assembler.get_ready(&program, "sm_90a", false);
        }
        let ptx = ".maxntid 128, 1, 1\n$L__BB0_1:\n@%p1 bra $L__BB0_1;\n";
        assert_eq!(assembler.assemble(&program, &AssembleRequest { ptx, sm: "sm_90a" }).unwrap().registers, registers);
        let left = assembler.waiting.len();
        assembler.get_ready_again();
        (std::fs::read_to_string(calls).unwrap().lines().count(), left, assembler.waiting.len())
    }

    #[cfg(unix)]
    #[test]
    fn who_is_not_asked_again_waits_for_the_next_kernel() {
        assert_eq!(calls(48), (1, 1, 2));
        assert_eq!(calls(105), (2, 0, 2));
    }

    #[cfg(unix)]
    #[test]
    fn one_that_has_ended_is_not_asked() {
        let call = Call { program: "/bin/true".into(), sm: "sm_90a".into(), has_lines: false };
        let mut waiting = Waiting::start(call.clone()).unwrap();
        while waiting.tool.is_alive() {
            std::thread::yield_now();
        }
        assert!(!waiting.is_ready_for(&call));
    }
}
