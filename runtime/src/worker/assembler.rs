//! ptxas in a worker: it is started before its input is there, while LLVM still works or behind the kernel before, as half of the time that it
//! takes over a small kernel goes into its start. Starting it from a process as large as Python with CUDA would take longer still.
//!
//! **Invariant:** one process makes one kernel, so no machine code hangs on what was made before it.

use std::fs::File;
use std::io::{self, Read as _, Seek as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use tritium_codegen::ptx_strings::Fence;
use tritium_semantics::{
    occupancy::{occupancy, registers_of_thread},
    target::Gpu,
};

use super::WorkerError;
use super::machine_code;
use super::process::Tool;
use super::ptxas::{AssembleRequest, Assembled, REMEDY, STDIN, STDOUT, resources, settled};
use crate::{child, files};

/// Registers fewer spilled from which on loads may stand where ptxas likes instead of in front: fewer are no reason to wait for one load after the
/// other (`bench/ablations.py`).
const LEAST_FREED: u32 = 8;

/// Warps of an SM that are enough for rows that are loaded and then exchanged between lanes: what one waits for, others do not hide in either case, and with more
/// registers ptxas computes elements side by side. With loops, which stream, more warps are better (`bench/ablations.py`).
const ENOUGH_WARPS: u32 = 16;

/// How long ptxas may take over one kernel.
pub(super) const TIME: Duration = Duration::from_secs(120);

/// What ptxas is told about the blocks that a multiprocessor shall hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Occupancy {
    /// Nothing: it weighs more of them against spilled registers.
    Weighed,
    /// So many are enough. With one, every register may be used before one is spilled.
    AtLeast(u32),
}

/// How ptxas is called.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Call {
    program: PathBuf,
    sm: String,
    has_lines: bool,
    occupancy: Occupancy,
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
    waiting: Option<Waiting>,
    last: Option<Call>,
}

impl Assembler {
    /// Starts ptxas for a kernel whose PTX will follow, as it is most often called. What goes wrong is told when it is needed.
    pub(super) fn get_ready(&mut self, program: &Path, sm: &str, has_lines: bool) {
        self.start(Call { program: program.into(), sm: sm.into(), has_lines, occupancy: Occupancy::Weighed });
    }

    /// Starts ptxas for a kernel like the one that has just been assembled.
    pub(super) fn get_ready_again(&mut self) {
        if let Some(call) = self.last.take() {
            self.start(call);
        }
    }

    /// Ends the one that waits.
    pub(super) fn let_go(&mut self) {
        self.waiting = None;
    }

    fn start(&mut self, call: Call) {
        self.waiting = self.waiting.take().and_then(|waiting| waiting.ready_for(&call)).or_else(|| Waiting::start(call).ok());
    }

    /// Assembles PTX. Where ptxas spills a few registers so that more blocks run at once, it is asked again to spill none. Where loads were put in front
    /// of what is computed from them, it is asked without as well, and may have its way where that costs nothing ([`gains_freedom`]), spills less, or
    /// leaves an SM room for two CTAs instead of one: of one CTA, nothing runs while its loads are waited for. Straight-line code that exchanges rows
    /// may use more registers than it takes by itself ([`ENOUGH_WARPS`]). All are asked at the same time.
    pub(super) fn assemble(&mut self, program: &Path, request: &AssembleRequest) -> Result<Assembled, WorkerError> {
        let call = Call::of(program, request, Occupancy::Weighed);
        self.last = Some(call.clone());
        let waiting = match self.waiting.take().and_then(|waiting| waiting.ready_for(&call)) {
            Some(waiting) => waiting,
            None => Waiting::start(call)?,
        };
        let made =
            |request: &AssembleRequest, occupancy| Waiting::start(Call::of(program, request, occupancy))?.finish(request.ptx);
        let is_fenced = Fence::Loads.is_in(request.ptx);
        let ptx = request.ptx.replace(Fence::Loads.text(), "");
        let bare = AssembleRequest { ptx: &ptx, ..*request };
        let enough = enough_ctas(request);
        let others = || {
            let enough = enough.map(|ctas| move || made(request, Occupancy::AtLeast(ctas)));
            beside(|| is_fenced.then(|| made(&bare, Occupancy::Weighed)), enough)
        };
        let (weighed, others) = beside(|| waiting.finish(request.ptx), (is_fenced || enough.is_some()).then_some(others));
        let (free, enough) = others.unwrap_or_default();
        let (weighed, free, enough) = (weighed?, free.transpose()?, enough.transpose()?);
        let settled = |free| move || without_spills(program, &bare, free);
        let (code, free) = beside(|| without_spills(program, request, weighed), free.map(settled));
        let (code, free) = (code?, free.transpose()?);
        let Some(free) = free else { return Ok(with_enough(code, enough)) };
        if gains_freedom(&code, &free, request) {
            return Ok(free);
        }
        if code.spilled() == 0 && fits_twice(&code, request) {
            return Ok(with_enough(code, enough));
        }
        let roomier = !fits_twice(&code, request) && fits_twice(&free, request);
        // Rows are exchanged when all of them is there, so one load after the other is a latency after the other.
        let frees = !exchanges_rows(request.ptx) && frees_registers(&code, &free);
        Ok(if frees || roomier { free } else { code })
    }
}

impl Call {
    fn of(program: &Path, request: &AssembleRequest, occupancy: Occupancy) -> Call {
        Call { program: program.into(), sm: request.sm.into(), has_lines: request.ptx.contains(".loc"), occupancy }
    }
}

impl Waiting {
    fn start(call: Call) -> Result<Waiting, WorkerError> {
        let mut command = Command::new(&call.program);
        command.arg("-v").arg("--gpu-name").arg(&call.sm);
        if call.has_lines {
            command.arg("-lineinfo");
        }
        if let Occupancy::AtLeast(ctas) = call.occupancy {
            command.arg("-minnctapersm").arg(ctas.to_string());
        }
        command.arg(STDIN).arg("-o").arg(STDOUT);
        child::ends_with_this_process(&mut command, child::Ending::Kill);
        let cubin = files::in_memory(&[]).map_err(|error| no_room(&error))?;
        let output = cubin.try_clone().map_err(|error| no_room(&error))?;
        let tool = Tool::start(command, None, Some(output), REMEDY)?;
        Ok(Waiting { call, tool, cubin })
    }

    /// Itself, if it is called so and nobody has ended it.
    fn ready_for(mut self, call: &Call) -> Option<Waiting> {
        (self.call == *call && self.tool.is_alive()).then_some(self)
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

/// `weighed`, or what spills less than it.
fn without_spills(program: &Path, request: &AssembleRequest, weighed: Assembled) -> Result<Assembled, WorkerError> {
    // With all registers that a thread can have, one block more or less is no question.
    if weighed.spilled() == 0 || has_all_registers(&weighed, request) {
        return Ok(weighed);
    }
    let one = Waiting::start(Call::of(program, request, Occupancy::AtLeast(1)))?.finish(request.ptx)?;
    Ok(if one.spilled() < weighed.spilled() { one } else { weighed })
}

/// The code for enough warps, where it uses more registers than this one.
fn with_enough(code: Assembled, enough: Option<Assembled>) -> Assembled {
    let uses_more = |enough: &Assembled| code.spilled() + enough.spilled() == 0 && enough.registers > code.registers;
    enough.filter(uses_more).unwrap_or(code)
}

/// Whether loads may stand where ptxas likes, as it puts them in front by itself, or, beside products and where an SM holds few warps, makes room for
/// a CTA more. A fence shows it one scoreboard for all of the loads, so whoever needs the first waits for the last. Rows without spills have a rule of
/// their own.
fn gains_freedom(code: &Assembled, free: &Assembled, request: &AssembleRequest) -> bool {
    let has_own_rule = exchanges_rows(request.ptx) && code.spilled() == 0;
    let makes_room = || {
        let (Some(held), Some(room), Some(threads)) = (ctas(code, request), ctas(free, request), threads(request)) else {
            return false;
        };
        multiplies(request.ptx) && room > held && held * threads.div_ceil(32) <= ENOUGH_WARPS
    };
    !has_own_rule && free.spilled() <= code.spilled() && (machine_code::loads_are_under_way(&free.cubin) || makes_room())
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
    ptx.contains("shfl.sync") && !ptx.contains("$L__BB") && !multiplies(ptx)
}

fn multiplies(ptx: &str) -> bool {
    ["mma.sync", "wgmma"].iter().any(|product| ptx.contains(product))
}

/// Threads of a CTA.
fn threads(request: &AssembleRequest) -> Option<u32> {
    request.ptx.split_once(".maxntid ").and_then(|(_, rest)| rest.split([',', '\n']).next()?.trim().parse().ok())
}

/// Whether each thread has all registers that it can have where an SM holds a single CTA.
fn has_all_registers(code: &Assembled, request: &AssembleRequest) -> bool {
    let (Some(gpu), Some(threads)) = (Gpu::find(request.sm), threads(request)) else { return false };
    code.registers >= registers_of_thread(gpu.sm, threads.div_ceil(32), None)
}

/// CTAs that an SM has registers for.
fn ctas(code: &Assembled, request: &AssembleRequest) -> Option<u32> {
    let held = occupancy(Gpu::find(request.sm)?.sm, threads(request)?, code.registers, 0, 0);
    Some(held.map_or(0, |held| held.ctas_per_sm))
}

/// Whether an SM has registers for two CTAs.
fn fits_twice(code: &Assembled, request: &AssembleRequest) -> bool {
    ctas(code, request).is_none_or(|ctas| ctas > 1)
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
    fn eight_registers_fewer_are_worth_it() {
        let spilling =
            |registers: u32| Assembled { spill_stores: 4 * registers, spill_loads: 4 * registers, ..Assembled::default() };
        assert!(!frees_registers(&spilling(43), &spilling(40)) && !frees_registers(&spilling(7), &spilling(0)));
        assert!(frees_registers(&spilling(43), &spilling(35)) && frees_registers(&spilling(8), &spilling(0)));
    }

    #[cfg(unix)]
    #[test]
    fn one_that_has_ended_is_not_asked() {
        let call = Call { program: "/bin/true".into(), sm: "sm_90a".into(), has_lines: false, occupancy: Occupancy::Weighed };
        let mut waiting = Waiting::start(call.clone()).unwrap();
        while waiting.tool.is_alive() {
            std::thread::yield_now();
        }
        assert!(waiting.ready_for(&call).is_none());
    }
}
