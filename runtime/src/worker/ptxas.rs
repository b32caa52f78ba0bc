//! ptxas and nvdisasm: PTX to machine code, and machine code to text. **Numbers come from ptxas at its highest level.**
//!
//! Neither needs a GPU or a driver. A lower level saves little time and changes the register count, so there is none.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::WorkerError;
use super::process::{Finished, Tool};
use crate::{child, files};

/// How long a tool may take that only prints.
const TIME: Duration = Duration::from_secs(120);
/// Folders, inside a site-packages folder, where wheels put NVIDIA's tools; the newest tools first.
const WHEELS: &[&str] = &["nvidia/cu13/bin", "nvidia/cuda_nvcc/bin", "triton/backends/nvidia/bin"];

/// Input and output of a tool are pipes and files in memory: it sees their names alone, and a tool that is killed leaves nothing behind.
pub(super) const STDIN: &str = "/dev/stdin";
pub(super) const STDOUT: &str = "/dev/stdout";

/// PTX to be assembled.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct AssembleRequest<'a> {
    pub ptx: &'a str,
    /// The processor in ptxas's spelling, such as `sm_90a`.
    pub sm: &'a str,
}

/// Machine code and what it needs, as ptxas reports it. Where a module has several kernels, each number is the largest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Assembled {
    pub cubin: Vec<u8>,
    /// Per thread.
    pub registers: u32,
    /// Bytes a thread writes to local memory because registers ran out, counted once per instruction.
    pub spill_stores: u32,
    /// Bytes a thread reads back.
    pub spill_loads: u32,
    /// Bytes of local memory a thread owns.
    pub stack: u32,
    /// Named barriers of a CTA.
    pub barriers: u32,
    /// Bytes of shared memory known at compile time.
    pub static_shared: u32,
    /// All that ptxas said.
    pub log: String,
}

impl Assembled {
    /// Bytes that a thread writes and reads because registers ran out.
    pub fn spilled(&self) -> u32 {
        self.spill_stores + self.spill_loads
    }

    /// Registers that a thread writes to local memory.
    pub fn spilled_registers(&self) -> u32 {
        self.spill_stores / 4
    }

    /// What ptxas warns of, and where it says that it runs asynchronous multiplications one after the other (C7510 to C7519).
    pub fn warnings(&self) -> impl Iterator<Item = &str> {
        let serialised = |line: &str| line.split("(C75").skip(1).any(|rest| rest.starts_with('1'));
        self.log
            .lines()
            .map(str::trim)
            .filter(move |line| line.starts_with("ptxas") && (line.contains("warning") || serialised(line)))
    }
}

/// The machine code of a cubin as text.
pub fn disassemble(cubin: &[u8]) -> Result<String, WorkerError> {
    let nvdisasm = find("nvdisasm")?;
    let mut command = Command::new(&nvdisasm);
    command.arg("--print-code").arg("--print-line-info-inline").arg(STDIN);
    child::ends_with_this_process(&mut command, child::Ending::Kill);
    let room = |error| WorkerError::Refused(format!("there is no room for what goes to nvdisasm ({error})"));
    // It wants to go back and forth in its input.
    let input = files::in_memory(cubin).map_err(room)?;
    let finished = Tool::start(command, Some(input), None, REMEDY)?.finish(TIME)?;
    let text = finished.stdout.clone();
    settled(finished)?;
    Ok(text)
}

/// What `ptxas --version` says last, which names the build. Asked once for each program file.
pub fn version() -> Result<String, WorkerError> {
    static KNOWN: Mutex<Vec<(PathBuf, String)>> = Mutex::new(Vec::new());
    let ptxas = find("ptxas")?;
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, version)) = known.iter().find(|(path, _)| *path == ptxas) {
        return Ok(version.clone());
    }
    let mut command = Command::new(&ptxas);
    command.arg("--version");
    let finished = Tool::start(command, None, None, REMEDY)?.finish(TIME)?;
    let version = finished.stdout.trim().lines().last().unwrap_or_default().to_owned();
    settled(finished)?;
    known.push((ptxas, version.clone()));
    Ok(version)
}

/// The log of a tool that succeeded, or the error of one that did not.
pub(super) fn settled(finished: Finished) -> Result<String, WorkerError> {
    let Finished { success, signal, stdout, stderr } = finished;
    match (success, signal) {
        (true, _) => Ok(stderr),
        (false, Some(_)) => Err(WorkerError::Crashed { signal, stderr }),
        (false, None) => {
            let said = if stderr.trim().is_empty() { stdout } else { stderr };
            // What is wrong, without what went well.
            let wrong: Vec<&str> = said.lines().filter(|line| !line.starts_with("ptxas info")).collect();
            Err(WorkerError::Refused(wrong.join("\n").replace(STDIN, "kernel.ptx")))
        }
    }
}

/// Reads the lines that `ptxas -v` prints for every function:
///
/// ```text
/// ptxas info    : Function properties for gemm
///     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
/// ptxas info    : Used 30 registers, used 1 barriers, 1024 bytes smem, 400 bytes cmem[0]
/// ```
pub(super) fn resources(log: String) -> Assembled {
    let mut found = Assembled::default();
    for line in log.lines() {
        let line = line.trim().strip_prefix("ptxas info    :").unwrap_or(line).trim();
        if !line.starts_with("Used ") && !line.contains("bytes stack frame") {
            continue;
        }
        for part in line.split(',') {
            let mut words = part.split_whitespace().skip_while(|word| !word.starts_with(|c: char| c.is_ascii_digit()));
            let Some(number) = words.next().and_then(|word| word.parse::<u32>().ok()) else {
                continue;
            };
            let unit: Vec<&str> = words.collect();
            let place = match unit.as_slice() {
                ["registers"] => &mut found.registers,
                ["barriers"] => &mut found.barriers,
                ["bytes", "smem"] => &mut found.static_shared,
                ["bytes", "stack", "frame"] => &mut found.stack,
                ["bytes", "spill", "stores"] => &mut found.spill_stores,
                ["bytes", "spill", "loads"] => &mut found.spill_loads,
                _ => continue,
            };
            *place = number.max(*place);
        }
    }
    Assembled { log, ..found }
}

/// Folders of Python packages beside those that are looked for.
static PACKAGES: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Makes the folders known where a program's Python packages lie: it knows its own better than its environment says.
pub fn look_in(packages: Vec<PathBuf>) {
    *PACKAGES.lock().unwrap_or_else(PoisonError::into_inner) = packages;
}

pub(super) const REMEDY: &str = "`pip install nvidia-cuda-nvcc nvidia-cuda-nvdisasm` brings it, or set TRITON_PTXAS_PATH";

/// The path of `ptxas` or `nvdisasm`. Nothing is looked for in the current folder: that may be anybody's.
pub(super) fn find(tool: &str) -> Result<PathBuf, WorkerError> {
    let file = format!("{tool}{}", std::env::consts::EXE_SUFFIX);
    if let Some(named) = variable("TRITON_PTXAS_PATH") {
        let named = if tool == "ptxas" { named } else { named.with_file_name(&file) };
        if named.is_file() {
            return Ok(named);
        }
        if tool == "ptxas" {
            return Err(WorkerError::Missing {
                what: format!("the ptxas named by TRITON_PTXAS_PATH ({})", named.display()),
                remedy: "correct it or unset it".into(),
            });
        }
    }
    let program = std::env::current_exe().ok();
    folders(program.as_deref(), WHEELS)
        .into_iter()
        .map(|folder| folder.join(&file))
        .find(|path| path.is_file())
        .ok_or_else(|| WorkerError::Missing { what: tool.to_owned(), remedy: REMEDY.into() })
}

/// The folders that may hold tools of ours: that of the program, where it is installed or unpacked, and the repository, where the program
/// lies as Cargo builds it (`target/release/tritium`, for tests `target/debug/deps/…`). No folder above them is ours.
fn own_folders(program: &Path) -> Vec<PathBuf> {
    let Some(folder) = program.parent() else { return Vec::new() };
    let profile = if folder.ends_with("deps") { folder.parent() } else { Some(folder) };
    let target = profile.and_then(Path::parent).filter(|target| target.ends_with("target"));
    [Some(folder), target.and_then(Path::parent)].into_iter().flatten().map(|owner| owner.join(".deps/ptxas")).collect()
}

/// Where tools are looked for, in order; `wheels`: where wheels put them. With this program, in the packages of the Python that it is part of,
/// on the path, in a CUDA toolkit, in the user's Python.
pub(crate) fn folders(program: Option<&Path>, wheels: &[&str]) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    for own in program.into_iter().flat_map(own_folders) {
        folders.extend(wheels.iter().map(|wheel| own.join(wheel)));
    }
    for packages in PACKAGES.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        folders.extend(wheels.iter().map(|wheel| packages.join(wheel)));
    }
    let path: OsString = std::env::var_os("PATH").unwrap_or_default();
    // An empty entry means the current folder.
    folders.extend(std::env::split_paths(&path).filter(|folder| folder.is_absolute()));
    folders.extend(["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(variable).map(|home| home.join("bin")));
    let pythons = ["VIRTUAL_ENV", "CONDA_PREFIX"].into_iter().filter_map(variable);
    for python in pythons.chain(variable("HOME").map(|home| home.join(".local"))) {
        for packages in site_packages(&python) {
            folders.extend(wheels.iter().map(|wheel| packages.join(wheel)));
        }
    }
    folders
}

/// `lib/python3.*/site-packages`, the highest version first.
fn site_packages(python: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(python.join("lib")).into_iter().flatten().flatten();
    let mut versions: Vec<(u32, PathBuf)> = entries
        .filter_map(|entry| {
            let minor = entry.file_name().to_str()?.strip_prefix("python3.")?.parse().ok()?;
            Some((minor, entry.path().join("site-packages")))
        })
        .collect();
    versions.sort_by(|a, b| b.cmp(a));
    versions.into_iter().map(|(_, path)| path).collect()
}

fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_from_the_log() {
        let log = "\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'gemm' for 'sm_90a'
ptxas info    : Function properties for gemm
    200 bytes stack frame, 520 bytes spill stores, 484 bytes spill loads
ptxas info    : Used 40 registers, used 1 barriers, 200 bytes cumulative stack size, 1024 bytes smem, 400 bytes cmem[0]
ptxas info    : Compile time = 12.3 ms
";
        let Assembled { cubin: _, registers, spill_stores, spill_loads, stack, barriers, static_shared, log: _ } =
            resources(log.into());
        assert_eq!((registers, spill_stores, spill_loads, stack, barriers, static_shared), (40, 520, 484, 200, 1, 1024));
    }

    #[test]
    fn warnings_are_found_among_what_is_said() {
        let log = "\
ptxas info    : 0 bytes gmem
ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized due to insufficient register resources
ptxas warning : Value of threads per SM for entry f is out of range
ptxas info    : Used 40 registers
";
        let found: Vec<String> = resources(log.into()).warnings().map(str::to_owned).collect();
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].contains("(C7510)") && found[1].contains("out of range"), "{found:?}");
    }

    #[test]
    fn the_largest_of_several_kernels_counts() {
        let log = "ptxas info    : Used 40 registers\nptxas info    : Used 12 registers, 16 bytes smem\n";
        let found = resources(log.into());
        assert_eq!((found.registers, found.static_shared), (40, 16));
    }

    #[test]
    fn tools_of_ours_lie_in_two_places() {
        let places = |program: &str| own_folders(Path::new(program));
        let paths = |places: &[&str]| places.iter().map(PathBuf::from).collect::<Vec<_>>();
        assert_eq!(places("/opt/tritium/tritium"), paths(&["/opt/tritium/.deps/ptxas"]));
        assert_eq!(places("/home/me/code/deep/bin/tritium"), paths(&["/home/me/code/deep/bin/.deps/ptxas"]));
        assert_eq!(places("/src/target/release/tritium"), paths(&["/src/target/release/.deps/ptxas", "/src/.deps/ptxas"]));
        assert_eq!(places("/src/target/debug/deps/run-0af"), paths(&["/src/target/debug/deps/.deps/ptxas", "/src/.deps/ptxas"]));
    }

    #[test]
    fn only_the_reason_of_a_refusal_is_told() {
        let finished = Finished {
            success: false,
            signal: None,
            stdout: String::new(),
            stderr: "ptxas info    : 0 bytes gmem\nptxas /dev/stdin, line 21; fatal   : Parsing error near 'not'".into(),
        };
        let said = settled(finished).unwrap_err().to_string();
        assert_eq!(said, "ptxas kernel.ptx, line 21; fatal   : Parsing error near 'not'");
    }
}
