//! Times of a program's launches under Triton itself, in the person's own Python.
//!
//! Nothing here is needed for anything else: where there is no Python, PyTorch or Triton, it says so. The program runs as it is, and
//! each different launch is timed once by Triton's own `do_bench`, with a cold L2.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use serde::Deserialize;

use crate::{child, timing::Spread};

const SCRIPT: &str = include_str!("peer.py");

/// What Triton needed.
#[derive(Debug, Clone, PartialEq)]
pub struct Peer {
    /// Its version.
    pub triton: String,
    pub times: Vec<PeerTime>,
    /// Why the program did not end as it should.
    pub error: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct PeerTime {
    pub kernel: String,
    /// `softmax`, `softmax#2`: launches of a kernel that differ, in the order in which the program makes them.
    pub launch: String,
    pub time: Spread,
}

#[derive(Deserialize)]
struct Document {
    triton: String,
    times: Vec<Launched>,
    error: Option<String>,
}

#[derive(Deserialize)]
struct Launched {
    kernel: String,
    launch: String,
    us: Vec<f64>,
}

/// The interpreter of an environment, which may be one itself; else the one that the shell has.
pub fn interpreter(environment: Option<&Path>) -> PathBuf {
    match environment {
        Some(folder) if folder.is_dir() => folder.join("bin").join("python"),
        Some(interpreter) => interpreter.to_owned(),
        None => PathBuf::from("python3"),
    }
}

/// Runs a program under Triton.
pub fn under_triton(python: &Path, file: &Path, seconds: f64) -> Result<Peer, String> {
    let fail = |error: io::Error| format!("{}: {error}", python.display());
    let folder = tempfile::tempdir().map_err(fail)?;
    let out = folder.path().join("times.json");
    let file = std::path::absolute(file).map_err(fail)?;
    let mut command = Command::new(python);
    command.arg("-c").arg(SCRIPT).arg(&file).arg(&out).current_dir(file.parent().unwrap_or(Path::new(".")));
    child::ends_with_this_process(&mut command, child::Ending::Kill);
    let said = folder.path().join("said");
    let log = fs::File::create(&said).map_err(fail)?;
    let mut process = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().map_err(fail)?;
    let begin = Instant::now();
    let status = loop {
        if let Some(status) = process.try_wait().map_err(fail)? {
            break status;
        }
        if begin.elapsed() > Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX) {
            process.kill().and_then(|()| process.wait()).map_err(fail)?;
            return Err(format!("{} was stopped after {seconds} s", python.display()));
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    let Ok(text) = fs::read_to_string(&out) else {
        let said = fs::read_to_string(&said).unwrap_or_default();
        let last = said.lines().rfind(|line| !line.trim().is_empty()).map_or_else(|| status.to_string(), str::to_owned);
        return Err(format!("{} does not run the program under Triton: {last}", python.display()));
    };
    let document: Document = serde_json::from_str(&text).map_err(|error| format!("{}: {error}", python.display()))?;
    let times = document.times.into_iter().filter(|launched| !launched.us.is_empty());
    let times = times.map(|Launched { kernel, launch, us }| PeerTime { kernel, launch, time: Spread::of(us) }).collect();
    Ok(Peer { triton: document.triton, times, error: document.error })
}
