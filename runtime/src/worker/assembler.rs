//! ptxas in a worker: what it is asked for a kernel, and which answer is taken.
//!
//! Several calls work side by side. What is taken hangs on what they answer and never on when, so the calls that are begun before somebody asks for them
//! ([`likely`]) save time and change nothing.

mod calls;
mod likely;

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use tritium_codegen::ptx_strings::{Fence, noted_shared_bytes};
use tritium_semantics::{
    occupancy::{occupancy, registers_of_thread},
    target::Gpu,
};

use self::calls::{Call, Calls, Ptxas};
use self::likely::likely;
use super::WorkerError;
use super::ptxas::{AssembleRequest, Assembled};

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

/// Calls that one kernel is believed to take at a time.
const MOST_READY: usize = 2;

/// How long ptxas may take over one kernel.
pub(super) const TIME: Duration = Duration::from_secs(120);

/// The ptxas of one worker.
#[derive(Default)]
pub(super) struct Assembler {
    waiting: Vec<Ptxas>,
    /// How it was called for the last kernel, and how many times.
    last: Option<(Call, usize)>,
}

impl Assembler {
    /// Starts ptxas for a kernel whose PTX will follow, as it is most often called. What goes wrong is told when it is needed.
    pub(super) fn get_ready(&mut self, program: &Path, sm: &str, has_lines: bool) {
        calls::keep_ready(&mut self.waiting, &Call::new(program, sm, has_lines), 1);
    }

    /// Starts ptxas for a kernel like the one that has just been assembled, as many times as that one took.
    pub(super) fn get_ready_again(&mut self) {
        if let Some((call, times)) = self.last.take() {
            calls::keep_ready(&mut self.waiting, &call, times);
        }
    }

    /// Ends those that wait.
    pub(super) fn let_go(&mut self) {
        self.waiting.clear();
    }

    /// Assembles PTX. What is likely to be asked for next is begun beside the first call, as far as cores are idle.
    pub(super) fn assemble(&mut self, program: &Path, request: &AssembleRequest, idle: usize) -> Result<Assembled, WorkerError> {
        let call = Call::new(program, request.sm, request.ptx.contains(".loc"));
        let mut calls = Calls::new(call.clone(), &mut self.waiting);
        calls.begin(request.ptx);
        let beside = match enough_ctas(request) {
            Some(ctas) => for_ctas(request.ptx, ctas),
            None => likely(request).filter(|_| idle > 0),
        };
        if let Some(ptx) = beside {
            calls.begin(&ptx);
        }
        if may_be_asked_again(request.ptx) {
            calls.keep_ready();
        }
        let made = assembled(request, &mut calls, idle);
        self.last = Some((call, calls.begun().min(MOST_READY)));
        made
    }
}

/// Machine code. Where ptxas spills a few registers so that more blocks run at once, it is asked again to spill none. Where loads that were
/// put in front of what is computed from them make it spill more, or leave an SM room for a single CTA where two would fit otherwise, it may put
/// them where it likes: of one CTA, nothing runs while its loads are waited for. Straight-line code that exchanges rows may use more registers than it
/// takes by itself ([`ENOUGH_WARPS`]). Where there are loops or products, it is asked for as many CTAs as it has chosen, if these leave threads more
/// registers ([`roomy_ctas`]).
fn assembled(request: &AssembleRequest, calls: &mut Calls, idle: usize) -> Result<Assembled, WorkerError> {
    let weighed = calls.finish(request.ptx)?;
    let fences: Vec<Fence> = [Fence::Loads, Fence::Rows].into_iter().filter(|fence| fence.is_in(request.ptx)).collect();
    if weighed.spilled() == 0 && (fences.is_empty() || fits_twice(&weighed, request)) {
        if let Some(ptx) = enough_ctas(request).and_then(|ctas| for_ctas(request.ptx, ctas)) {
            let enough = calls.finish(&ptx)?;
            return Ok(if enough.spilled() == 0 && enough.registers > weighed.registers { enough } else { weighed });
        }
        let again = roomy_ctas(request, weighed.registers).and_then(|ctas| for_ctas(request.ptx, ctas));
        let roomy = again.and_then(|ptx| calls.finish(&ptx).ok()).filter(|code| code.spilled() == 0);
        return Ok(roomy.unwrap_or(weighed));
    }
    // Rows that are exchanged one after the other wait longer than for what is spilled.
    let taken_back = if weighed.spilled() > 0 { &[Fence::Loads][..] } else { &fences };
    let is_fenced = taken_back.iter().any(|fence| fences.contains(fence));
    let free = is_fenced.then(|| without(taken_back, request.ptx));
    if let Some(free) = &free {
        calls.begin(free);
    }
    if may_spill_less(&weighed, request) {
        let texts = [Some(request.ptx), free.as_deref().filter(|_| idle > 1)];
        texts.into_iter().flatten().filter_map(|ptx| for_ctas(ptx, 1)).for_each(|ptx| calls.begin(&ptx));
    }
    let code = without_spills(request, weighed, calls)?;
    let Some(free) = free.filter(|_| code.spilled() > 0 || !fits_twice(&code, request)) else { return Ok(code) };
    let first = calls.finish(&free)?;
    let free = without_spills(&AssembleRequest { ptx: &free, ..*request }, first, calls)?;
    let roomier = !fits_twice(&code, request) && fits_twice(&free, request);
    // Rows are exchanged when all of them is there, so one load after the other is a latency after the other.
    let frees = !exchanges_rows(request.ptx) && frees_registers(&code, &free);
    Ok(if frees || roomier { free } else { code })
}

/// PTX whose loads or rows stand where ptxas likes.
fn without(fences: &[Fence], ptx: &str) -> String {
    fences.iter().fold(ptx.to_owned(), |ptx, fence| ptx.replace(fence.text(), ""))
}

/// What has been made, or what is made of the same text for one CTA, for which every register may be used before one is spilled.
fn without_spills(request: &AssembleRequest, weighed: Assembled, calls: &mut Calls) -> Result<Assembled, WorkerError> {
    let Some(ptx) = for_ctas(request.ptx, 1).filter(|_| may_spill_less(&weighed, request)) else { return Ok(weighed) };
    let one = calls.finish(&ptx)?;
    Ok(if one.spilled() < weighed.spilled() { one } else { weighed })
}

/// With all registers that a thread can have, one block more or less is no question.
fn may_spill_less(code: &Assembled, request: &AssembleRequest) -> bool {
    code.spilled() > 0 && !has_all_registers(code, request)
}

/// How many CTAs to ask for again: as many as an SM holds of what has been made, if they leave a thread more registers. Left to itself, ptxas aims at fewer
/// registers than the CTAs that it settles on leave; told how many, it schedules for all of them (`bench/ablations.py`). An SM that is full of
/// warps has what it needs, and 14 of 18 such kernels are the same machine code if asked again. Of one warp that
/// exchanges rows in each step, [`ENOUGH_WARPS`] CTAs: a recurrence goes from one step to the next, and what a warp computes side by side is all that
/// it has to do while it waits.
fn roomy_ctas(request: &AssembleRequest, registers: u32) -> Option<u32> {
    if !may_be_asked_again(request.ptx) {
        return None;
    }
    let (sm, threads) = (Gpu::find(request.sm)?.sm, threads(request)?);
    let held = occupancy(sm, threads, registers, noted_shared_bytes(request.ptx), 0)?;
    if held.warps_per_sm == sm.max_warps_per_sm {
        return None;
    }
    let held = held.ctas_per_sm;
    let is_enough = threads <= 32 && exchanges_rows_in_loops(request.ptx);
    let ctas = if is_enough { held.min(ENOUGH_WARPS) } else { held };
    (registers_of_thread(sm, threads.div_ceil(32) * ctas, None) >= registers + LEAST_ROOM).then_some(ctas)
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

#[cfg(test)]
mod tests {
    use tritium_codegen::ptx_strings::shared_note;

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
        let ctas =
            |registers, ptx: &str| roomy_ctas(&AssembleRequest { ptx: &format!("{ptx}mma.sync"), sm: "sm_90a" }, registers);
        // Ten CTAs of four warps leave 48 registers, and four of them 128.
        assert_eq!((ctas(41, ".maxntid 128, 1, 1\n"), ctas(48, ".maxntid 128, 1, 1\n")), (None, None));
        assert_eq!((ctas(105, ".maxntid 128, 1, 1\n"), ctas(121, ".maxntid 128, 1, 1\n")), (Some(4), None));
        // Sixteen CTAs of four warps fill an SM.
        assert_eq!(ctas(20, ".maxntid 128, 1, 1\n"), None);
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

    /// What is made of a kernel by a ptxas that is a shell script and knows `$ptx`; how often it is asked, how many wait behind it, and how many for the next.
    #[cfg(unix)]
    fn asked(script: &str, ptx: &str, idle: usize) -> (Assembled, usize, [usize; 2]) {
        let folder = tempfile::tempdir().unwrap();
        let (program, calls) = (folder.path().join("ptxas"), folder.path().join("calls"));
        std::fs::write(&program, format!("#!/bin/sh\nptx=$(cat)\necho call >>{}\n{script}\n", calls.display())).unwrap();
        std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let mut assembler = Assembler::default();
        // A child that another test has just forked may have the script open for a moment yet.
        while assembler.waiting.is_empty() {
            assembler.get_ready(&program, "sm_90a", false);
        }
        let code = assembler.assemble(&program, &AssembleRequest { ptx, sm: "sm_90a" }, idle).unwrap();
        let left = assembler.waiting.len();
        assembler.get_ready_again();
        (code, std::fs::read_to_string(calls).unwrap().lines().count(), [left, assembler.waiting.len()])
    }

    #[cfg(unix)]
    #[test]
    fn who_is_not_asked_again_waits_for_the_next_kernel() {
        let calls = |registers: u32, shared: u32| {
            let ptx = format!(".maxntid 128, 1, 1\n{}\n$L__BB0_1:\n@%p1 bra $L__BB0_1;\n", shared_note(shared));
            let (code, calls, waiting) = asked(&format!("echo 'Used {registers} registers' >&2"), &ptx, 1);
            assert_eq!(code.registers, registers);
            (calls, waiting)
        };
        assert_eq!(calls(48, 0), (1, [1, 1]));
        assert_eq!(calls(105, 0), (2, [0, 2]));
        // Three CTAs are as many as the shared memory is enough for, and that was begun beside the first.
        assert_eq!(calls(105, 60 << 10), (2, [1, 2]));
    }

    #[cfg(unix)]
    #[test]
    fn loads_stand_where_fewer_registers_are_spilled() {
        let script = "echo 'Used 64 registers' >&2
            case $ptx in
                *minnctapersm*pmevent*) echo '8 bytes stack frame, 80 bytes spill stores, 80 bytes spill loads' >&2 ;;
                *pmevent*) echo '8 bytes stack frame, 100 bytes spill stores, 100 bytes spill loads' >&2 ;;
            esac";
        let ptx = format!(".maxntid 512, 1, 1\n{}\n", Fence::Loads.text());
        let (code, calls, _) = asked(script, &ptx, 0);
        assert_eq!((code.spilled(), calls), (0, 3));
        // What is begun beside them is ended before it has answered, or behind it, and changes nothing.
        assert_eq!(asked(script, &ptx, 2).0, code);
        // With a fence for rows only, one CTA is all that can be asked for.
        let rows = ptx.replace(Fence::Loads.text(), Fence::Rows.text());
        let (code, calls, _) = asked(script, &rows, 2);
        assert_eq!((code.spilled(), calls), (160, 2));
    }
}
