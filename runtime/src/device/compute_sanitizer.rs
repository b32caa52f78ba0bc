//! NVIDIA's `compute-sanitizer`: where it is, what it is asked, and what its text says.
//!
//! **Invariant:** what is not understood of its text is kept as a note, and never taken for a finding.

use std::path::{Path, PathBuf};

use crate::worker::ptxas;

/// Folders, inside a site-packages folder, where wheels put it; the newest first.
const WHEELS: &[&str] = &["nvidia/cu13/bin", "nvidia/cuda_sanitizer_api/bin"];
/// Where its installer puts it.
const TOOLKIT: &str = "/usr/local/cuda/bin";
/// Bytes of nothing behind each allocation, so that who leaves one does not meet the next.
const PADDING_BYTES: u32 = 1 << 16;
/// Reports of one tool that are read.
const MAX_REPORTS: u32 = 1000;

/// One of its tools, each a run of the program by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tool {
    Memcheck,
    Initcheck,
    Racecheck,
    Synccheck,
}

impl Tool {
    pub(crate) const ALL: [Tool; 4] = [Tool::Memcheck, Tool::Initcheck, Tool::Racecheck, Tool::Synccheck];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Tool::Memcheck => "memcheck",
            Tool::Initcheck => "initcheck",
            Tool::Racecheck => "racecheck",
            Tool::Synccheck => "synccheck",
        }
    }

    /// What stands before the program that it runs.
    pub(crate) fn arguments(self) -> Vec<String> {
        let limit = MAX_REPORTS.to_string();
        let mut all = vec!["--tool", self.name(), "--show-backtrace", "no", "--print-limit", &limit];
        // Compilers that the program starts are none of its business.
        all.extend(["--target-processes", "application-only", "--demangle", "no"]);
        let padding = PADDING_BYTES.to_string();
        if self == Tool::Memcheck {
            all.extend(["--padding", &padding, "--destroy-on-device-error", "kernel"]);
        }
        all.into_iter().map(str::to_owned).collect()
    }
}

/// What it said.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Log {
    pub(crate) reports: Vec<Report>,
    /// Why it could not do its work, as far as it says.
    pub(crate) notes: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    OutOfBounds,
    Misaligned,
    Uninitialised,
    Race,
    Barrier,
}

/// What one thread has done wrong; of a race, what two instructions do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Report {
    pub(crate) kind: Kind,
    /// `Invalid __global__ read of size 4 bytes`
    pub(crate) headline: String,
    pub(crate) place: Place,
    /// Other accesses, with what they do.
    pub(crate) others: Vec<(String, Place)>,
    /// Along x; ours have no other threads.
    pub(crate) thread: Option<u32>,
    pub(crate) block: Option<[u32; 3]>,
    pub(crate) address: Option<u64>,
    /// Where the nearest allocation begins.
    pub(crate) nearest: Option<u64>,
}

/// An instruction.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Place {
    /// The kernel.
    pub(crate) function: String,
    pub(crate) file: Option<String>,
    pub(crate) line: Option<u32>,
}

/// The program: with Tritium's own tools, on the path, in a toolkit, in the user's Python.
pub(crate) fn find() -> Option<PathBuf> {
    let program = std::env::current_exe().ok();
    let mut folders = ptxas::folders(program.as_deref(), WHEELS);
    folders.push(Path::new(TOOLKIT).to_owned());
    let file = format!("compute-sanitizer{}", std::env::consts::EXE_SUFFIX);
    folders.into_iter().map(|folder| folder.join(&file)).find(|path| path.is_file())
}

/// Reads its text among what the program itself prints.
pub(crate) fn parse(text: &str) -> Log {
    let mut log = Log::default();
    let mut group: Vec<&str> = Vec::new();
    for line in text.lines().filter_map(|line| line.trim_start().strip_prefix("=========")) {
        let continues = line.starts_with("    ");
        if !continues {
            log.add(&group);
            group.clear();
        }
        if !line.trim().is_empty() {
            group.push(line.trim());
        }
    }
    log.add(&group);
    log
}

impl Log {
    fn add(&mut self, group: &[&str]) {
        let [headline, rest @ ..] = group else { return };
        let is_known = ["COMPUTE-SANITIZER", "ERROR SUMMARY", "RACECHECK SUMMARY", "Target application returned an error"];
        if is_known.iter().any(|known| headline.starts_with(known)) {
            return;
        }
        match Report::read(headline, rest) {
            Some(report) => self.reports.push(report),
            None if rest.is_empty() => self.notes.push((*headline).to_owned()),
            None => self.notes.push(format!("{headline} {}", rest.join(" "))),
        }
    }
}

impl Report {
    fn read(headline: &str, rest: &[&str]) -> Option<Report> {
        let find = |word: &str| rest.iter().find(|line| line.starts_with(word));
        if let Some((what, place)) = headline.split_once("Race reported between ").and_then(|(_, race)| race.split_once(" at ")) {
            let others = rest.iter().filter_map(|line| {
                let (what, place) = line.strip_prefix("and ")?.split_once(" at ")?;
                Some((what.to_owned(), Place::read(place)))
            });
            let others = others.collect();
            let (headline, place) = (what.to_owned(), Place::read(place));
            return Some(Report {
                kind: Kind::Race,
                headline,
                place,
                others,
                thread: None,
                block: None,
                address: None,
                nearest: None,
            });
        }
        let is_misaligned = rest.iter().any(|line| line.contains("is misaligned"));
        let kind = match headline {
            h if h.starts_with("Invalid __") && is_misaligned => Kind::Misaligned,
            h if h.starts_with("Invalid __") => Kind::OutOfBounds,
            h if h.starts_with("Uninitialized __") => Kind::Uninitialised,
            h if h.starts_with("Barrier error detected") => Kind::Barrier,
            _ => return None,
        };
        let place = find("at ").map(|line| Place::read(&line["at ".len()..]))?;
        let by = find("by thread ").map(|line| numbers(line)).unwrap_or_default();
        let address = find("Address ").or_else(|| find("Access ")).and_then(|line| hexadecimal(line));
        let nearest = rest.iter().find_map(|line| hexadecimal(line.split_once("nearest allocation at ")?.1));
        Some(Report {
            kind,
            headline: headline.to_owned(),
            place,
            others: Vec::new(),
            thread: by.first().copied(),
            block: by.get(3..6).and_then(|block| block.try_into().ok()),
            address,
            nearest,
        })
    }
}

impl Place {
    /// `kernel+0xec0 in kernel.py:43`, and as earlier releases have it, `0xec0 in /home/me/kernel.py:43:kernel(int *)`.
    fn read(text: &str) -> Place {
        let text = text.split_once(" [").map_or(text, |(text, _)| text).trim();
        let name = |text: &str| text.split('(').next().unwrap_or_default().to_owned();
        let (before, location) = text.split_once(" in ").map_or((text, None), |(before, location)| (before, Some(location)));
        if !before.starts_with("0x") {
            let function = name(before.rsplit_once("+0x").map_or(before, |(function, _)| function));
            let (file, line) = location.map_or((None, None), file_and_line);
            return Place { function, file, line };
        }
        // No name of a kernel has a colon.
        match location.map(|location| (location, location.rsplit_once(':'))) {
            Some((_, Some((location, function)))) => {
                let (file, line) = file_and_line(location);
                Place { function: name(function), file, line }
            }
            Some((function, None)) => Place { function: name(function), ..Place::default() },
            None => Place::default(),
        }
    }
}

fn file_and_line(text: &str) -> (Option<String>, Option<u32>) {
    match text.rsplit_once(':') {
        Some((file, line)) => (Some(file.to_owned()), line.trim().parse().ok()),
        None => (Some(text.to_owned()), None),
    }
}

fn numbers(text: &str) -> Vec<u32> {
    text.split(|c: char| !c.is_ascii_digit()).filter_map(|digits| digits.parse().ok()).collect()
}

fn hexadecimal(text: &str) -> Option<u64> {
    let digits = text.split_once("0x")?.1;
    let end = digits.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(digits.len());
    u64::from_str_radix(&digits[..end], 16).ok()
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;

    /// What is read, a line each.
    fn read(text: &str) -> String {
        let place = |place: &Place| {
            let Place { function, file, line } = place;
            format!("{function} {}:{}", file.as_deref().unwrap_or("?"), line.map_or("?".to_owned(), |line| line.to_string()))
        };
        let Log { reports, notes } = parse(text);
        let mut out = String::new();
        for report in &reports {
            let _ = write!(out, "{:?}: {} at {}", report.kind, report.headline, place(&report.place));
            for (what, other) in &report.others {
                let _ = write!(out, ", {what} at {}", place(other));
            }
            if let (Some(thread), Some([x, y, z])) = (report.thread, report.block) {
                let _ = write!(out, ", thread {thread} of ({x}, {y}, {z})");
            }
            if let Some(address) = report.address {
                let _ = write!(out, ", {address:#x}");
            }
            if let Some(nearest) = report.nearest {
                let _ = write!(out, " near {nearest:#x}");
            }
            out.push('\n');
        }
        notes.iter().for_each(|note| out += &format!("note: {note}\n"));
        out
    }

    #[test]
    fn reports_of_its_tools_are_read() {
        let text = "\
========= COMPUTE-SANITIZER
========= Invalid __global__ read of size 16 bytes
=========     at copy__launch_0+0xec0 in operations:43
=========     by thread (18,0,0) in block (2,1,0)
=========     Access to 0x74505bccc8a0 is out of bounds
=========     and is 161 bytes after the nearest allocation at 0x74505bccc400 of size 1,024 bytes
=========
{\"findings\":{}}
========= Invalid __global__ write of size 4 bytes
=========     at scale__launch_1(float *)+0x160 in operations:6
=========     by thread (0,0,0) in block (0,0,0)
=========     Address 0x7f6510c00001 is misaligned
========= Invalid __global__ write of size 8 bytes
=========     at 0xda0 in /home/me/operations:175:old_kernel(float *)
=========     by thread (96,0,0) in block (44,0,0)
=========     Address 0x763995f9f000 is out of bounds
=========     and is 1,241,911,296 bytes before the nearest allocation at 0x7639e0000000 of size 5,033,164,800 bytes
========= Invalid __shared__ read of size 4 bytes
=========     at 0x70 in bare(int *)
=========     by thread (0,0,0) in block (0,0,0)
=========     Address 0x8 is out of bounds
========= Uninitialized __global__ memory read of size 4 bytes
=========     at sums+0x70 in operations:41
=========     by thread (31,0,0) in block (1,0,0)
=========     Address 0x7f3c7ec000fc
========= Error: Race reported between Write access at turn+0x90 in operations:12
=========     and Read access at turn+0x100 in operations:30 [508 hazards]
=========     and Read access at turn+0x1a0 [16 hazards]
=========
========= Barrier error detected. Divergent thread(s) in warp
=========     at fork+0xf0 in operations:79
=========     by thread (37,0,0) in block (0,0,0)
========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)
========= ERROR SUMMARY: 7 errors
";
        let expected = "\
OutOfBounds: Invalid __global__ read of size 16 bytes at copy__launch_0 operations:43, thread 18 of (2, 1, 0), 0x74505bccc8a0 near 0x74505bccc400
Misaligned: Invalid __global__ write of size 4 bytes at scale__launch_1 operations:6, thread 0 of (0, 0, 0), 0x7f6510c00001
OutOfBounds: Invalid __global__ write of size 8 bytes at old_kernel /home/me/operations:175, thread 96 of (44, 0, 0), 0x763995f9f000 near 0x7639e0000000
OutOfBounds: Invalid __shared__ read of size 4 bytes at bare ?:?, thread 0 of (0, 0, 0), 0x8
Uninitialised: Uninitialized __global__ memory read of size 4 bytes at sums operations:41, thread 31 of (1, 0, 0), 0x7f3c7ec000fc
Race: Write access at turn operations:12, Read access at turn operations:30, Read access at turn ?:?
Barrier: Barrier error detected. Divergent thread(s) in warp at fork operations:79, thread 37 of (0, 0, 0)
";
        assert_eq!(read(text), expected);
    }

    #[test]
    fn what_is_no_report_is_a_note() {
        let text = "\
========= COMPUTE-SANITIZER
========= Unable to find injection library libsanitizer-collection.so
========= Program hit CUDA_ERROR_LAUNCH_FAILED (error 719) due to \"unspecified launch failure\" on CUDA API call to cuCtxSynchronize.
========= Error: process didn't terminate successfully
=========     The application may have hit an error.
========= Target application returned an error
========= ERROR SUMMARY: 1 error
";
        let expected = "\
note: Unable to find injection library libsanitizer-collection.so
note: Program hit CUDA_ERROR_LAUNCH_FAILED (error 719) due to \"unspecified launch failure\" on CUDA API call to cuCtxSynchronize.
note: Error: process didn't terminate successfully The application may have hit an error.
";
        assert_eq!(read(text), expected);
    }

    #[test]
    fn garbage_gives_nothing() {
        for text in [
            "",
            "=========",
            "=========     at",
            "========= Invalid __",
            "========= Race reported between",
            "===== x\n=========  y",
        ] {
            assert!(parse(text).reports.is_empty(), "{text}");
        }
    }
}
