//! Calls of ptxas: started before their input is there, while LLVM still works or behind the kernel before, as a fifth to a third of the time that one
//! takes over a small kernel goes into its start. Starting it from a process as large as Python with CUDA would take longer still.
//!
//! **Invariant:** one process makes one kernel, so no machine code hangs on what was made before it.

use std::fs::File;
use std::io::{self, Read as _, Seek as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::TIME;
use crate::worker::WorkerError;
use crate::worker::process::Tool;
use crate::worker::ptxas::{Assembled, REMEDY, STDIN, STDOUT, resources, settled};
use crate::{child, files};

/// What the C library reads its settings from.
const TUNABLES: &str = "GLIBC_TUNABLES";

/// Memory in large pages, taken 32 MiB at a time: over a small kernel ptxas first touches four thousand pages of the usual size. With these it takes 10.8 ms for
/// a softmax instead of 13.9, uses 39 MiB instead of 36, and gives the same machine code.
const LARGE_PAGES: &str = "glibc.malloc.hugetlb=1:glibc.malloc.top_pad=33554432";

/// How ptxas is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Call {
    program: PathBuf,
    sm: String,
    has_lines: bool,
}

impl Call {
    pub(super) fn new(program: &Path, sm: &str, has_lines: bool) -> Call {
        Call { program: program.into(), sm: sm.into(), has_lines }
    }
}

/// A ptxas that has been started: it waits for its input, or has it.
pub(super) struct Ptxas {
    call: Call,
    tool: Tool,
    /// Where it writes.
    cubin: File,
}

impl Ptxas {
    fn start(call: Call) -> Result<Ptxas, WorkerError> {
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
        Ok(Ptxas { call, tool, cubin })
    }

    /// Whether it is called so and nobody has ended it.
    fn is_ready_for(&mut self, call: &Call) -> bool {
        self.call == *call && self.tool.is_alive()
    }

    fn finish(mut self) -> Result<Assembled, WorkerError> {
        let finished = self.tool.finish(TIME)?;
        // The same machine code is the same entry, however long it took.
        let log: String = settled(finished)?.split_inclusive('\n').filter(|line| !line.contains("Compile time =")).collect();
        let mut bytes = Vec::new();
        self.cubin.rewind().and_then(|()| self.cubin.read_to_end(&mut bytes)).map_err(|error| no_room(&error))?;
        Ok(Assembled { cubin: bytes, ..resources(log) })
    }
}

/// Lets so many wait to be called so, and nobody else.
pub(super) fn keep_ready(waiting: &mut Vec<Ptxas>, call: &Call, count: usize) {
    waiting.retain_mut(|ptxas| ptxas.is_ready_for(call));
    while waiting.len() < count {
        let Ok(started) = Ptxas::start(call.clone()) else { return };
        waiting.push(started);
    }
}

/// The calls for one kernel, which work side by side. Those that nobody asks for are ended with it.
pub(super) struct Calls<'a> {
    call: Call,
    waiting: &'a mut Vec<Ptxas>,
    at_work: Vec<(String, Ptxas)>,
    begun: usize,
}

impl Calls<'_> {
    pub(super) fn new(call: Call, waiting: &mut Vec<Ptxas>) -> Calls<'_> {
        Calls { call, waiting, at_work: Vec::new(), begun: 0 }
    }

    /// How many there have been.
    pub(super) fn begun(&self) -> usize {
        self.begun
    }

    /// Starts one more, if none waits, while the others work.
    pub(super) fn keep_ready(&mut self) {
        keep_ready(self.waiting, &self.call, 1);
    }

    /// Begins with a text. What goes wrong is told when it is asked for.
    pub(super) fn begin(&mut self, ptx: &str) {
        if self.at_work.iter().all(|(text, _)| text != ptx)
            && let Ok(started) = self.given(ptx)
        {
            self.at_work.push((ptx.to_owned(), started));
        }
    }

    /// The machine code of a text.
    pub(super) fn finish(&mut self, ptx: &str) -> Result<Assembled, WorkerError> {
        match self.at_work.iter().position(|(text, _)| text == ptx) {
            Some(at) => self.at_work.swap_remove(at).1.finish(),
            None => self.given(ptx)?.finish(),
        }
    }

    fn given(&mut self, ptx: &str) -> Result<Ptxas, WorkerError> {
        self.waiting.retain_mut(|ptxas| ptxas.is_ready_for(&self.call));
        let mut given = self.waiting.pop().map_or_else(|| Ptxas::start(self.call.clone()), Ok)?;
        given.tool.hand_over(ptx.as_bytes());
        self.begun += 1;
        Ok(given)
    }
}

fn no_room(error: &io::Error) -> WorkerError {
    WorkerError::Refused(format!("there is no room for what comes from ptxas ({error})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn one_that_has_ended_is_not_asked() {
        let call = Call::new(Path::new("/bin/true"), "sm_90a", false);
        let mut waiting = Ptxas::start(call.clone()).unwrap();
        while waiting.tool.is_alive() {
            std::thread::yield_now();
        }
        assert!(!waiting.is_ready_for(&call));
    }
}
