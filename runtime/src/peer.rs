//! What a program does under Triton itself, in the person's own Python: the times of its launches and of the expressions of PyTorch beside them, and
//! Triton's own file of a tuning.
//!
//! Nothing here is needed for anything else: where there is no Python, PyTorch or Triton, it says so. The program runs as it is, and each different
//! launch or expression is timed once by Triton's own `do_bench`, with a cold L2.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{child, timing::Spread, tune::Tuning};

const LAUNCHES: &str = include_str!("peer/launches.py");

/// Whose times are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    /// Of the launches, compiled by Triton.
    Triton,
    /// Of what the program holds their results against.
    Torch,
}

impl Whose {
    pub fn name(self) -> &'static str {
        match self {
            Whose::Triton => "triton",
            Whose::Torch => "torch",
        }
    }

    fn script(self) -> &'static str {
        match self {
            Whose::Triton => include_str!("peer/triton.py"),
            Whose::Torch => include_str!("peer/torch.py"),
        }
    }
}

/// What was needed.
#[derive(Debug, Clone, PartialEq)]
pub struct Peer {
    /// `triton 3.6.0`
    pub what: String,
    pub times: Vec<PeerTime>,
    /// Why the program did not end as it should.
    pub error: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct PeerTime {
    /// What takes this time, or what together does the same.
    pub launches: Vec<PeerLaunch>,
    pub time: Spread,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct PeerLaunch {
    pub kernel: String,
    /// `softmax`, `softmax#2`: launches of a kernel that differ, in the order in which the program makes them.
    pub launch: String,
}

/// What became of the tunings of a program's launches in Triton's cache.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Kept {
    /// `triton 3.6.0`
    pub what: String,
    pub kept: Vec<KeptTuning>,
    /// Why the program did not end as it should.
    pub error: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct KeptTuning {
    pub launch: String,
    /// The file, and the row that Triton will take.
    pub path: Option<PathBuf>,
    pub best: Option<String>,
    /// Why there is none.
    pub why: Option<String>,
}

#[derive(Deserialize)]
struct Timed {
    what: String,
    times: Vec<TimedLaunches>,
    error: Option<String>,
}

#[derive(Deserialize)]
struct TimedLaunches {
    launches: Vec<PeerLaunch>,
    us: Vec<f64>,
}

/// The rows of a launch that were timed, for Python.
#[derive(Serialize)]
struct Measured<'a> {
    launch: &'a str,
    rows: Vec<MeasuredRow>,
}

#[derive(Serialize)]
struct MeasuredRow {
    row: u32,
    num_warps: u32,
    num_stages: u32,
    /// Median, the fifth below and the fifth above.
    ms: [f64; 3],
}

/// The interpreter of an environment, which may be one itself; else the one that the shell has.
pub fn interpreter(environment: Option<&Path>) -> PathBuf {
    match environment {
        Some(folder) if folder.is_dir() => folder.join("bin").join("python"),
        Some(interpreter) => interpreter.to_owned(),
        None => PathBuf::from("python3"),
    }
}

/// Runs a program under Triton, and takes times.
pub fn times(whose: Whose, python: &Path, file: &Path, seconds: f64) -> Result<Peer, String> {
    let found: Timed = run(whose.script(), None, python, file, seconds)?;
    let times = found.times.into_iter().filter(|timed| !timed.us.is_empty());
    let times = times.map(|TimedLaunches { launches, us }| PeerTime { launches, time: Spread::of(us) }).collect();
    Ok(Peer { what: found.what, times, error: found.error })
}

/// Has Triton's tuners keep what a tuning has measured, where Triton looks for it with `TRITON_CACHE_AUTOTUNING=1`. Of rows that the file does not have,
/// and of times that were not measured, nothing is kept.
pub fn keep_tunings(python: &Path, file: &Path, tuning: &Tuning, seconds: f64) -> Result<Kept, String> {
    let of_row = |row: &crate::tune::TriedRow| {
        let Spread { median_us, p20_us, p80_us, .. } = row.time.filter(|_| !row.proposed)?;
        let ms = [median_us, p20_us, p80_us].map(|us| us / 1e3);
        Some(MeasuredRow { row: row.row, num_warps: row.num_warps, num_stages: row.num_stages, ms })
    };
    let measured = tuning.launches.iter().filter(|tuned| tuned.fault.is_none() && tuned.timed_launches > 0);
    let measured: Vec<Measured<'_>> =
        measured.map(|tuned| Measured { launch: &tuned.launch, rows: tuned.rows.iter().filter_map(of_row).collect() }).collect();
    if measured.is_empty() {
        return Err("nothing was timed".to_owned());
    }
    let given = serde_json::to_string(&measured).map_err(|error| error.to_string())?;
    run(include_str!("peer/tunings.py"), Some(&given), python, file, seconds)
}

/// Runs a script over a program. It finds what it is given in the file into which it writes its answer.
fn run<T: DeserializeOwned>(script: &str, given: Option<&str>, python: &Path, file: &Path, seconds: f64) -> Result<T, String> {
    let fail = |error: io::Error| format!("{}: {error}", python.display());
    let folder = tempfile::tempdir().map_err(fail)?;
    let out = folder.path().join("answer.json");
    if let Some(given) = given {
        fs::write(&out, given).map_err(fail)?;
    }
    let file = std::path::absolute(file).map_err(fail)?;
    let mut command = Command::new(python);
    let script = format!("{LAUNCHES}\n\n{script}");
    command.arg("-c").arg(script).arg(&file).arg(&out).current_dir(file.parent().unwrap_or(Path::new(".")));
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
    let answer = fs::read_to_string(&out).ok().filter(|answer| Some(answer.as_str()) != given);
    let Some(text) = answer else {
        let said = fs::read_to_string(&said).unwrap_or_default();
        let last = said.lines().rfind(|line| !line.trim().is_empty()).map_or_else(|| status.to_string(), str::to_owned);
        return Err(format!("{} does not run the program under Triton: {last}", python.display()));
    };
    serde_json::from_str(&text).map_err(|error| format!("{}: {error}", python.display()))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::json;

    use super::*;

    /// What Python is given of a tuning, and what it answers; a Python that answers nothing is told of.
    #[test]
    fn python_is_given_the_rows_that_were_timed() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let python = folder.path().join("python");
        let answers = |with: &str| {
            fs::write(&python, format!("#!/bin/sh\n{with}\n")).expect("a program");
            let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            fs::set_permissions(&python, executable).expect("its mode");
        };
        let row = |row: u32, proposed: bool, us: Option<f64>| {
            json!({ "row": row, "proposed": proposed, "meta": [["BLOCK", "64"]], "num_warps": 4, "num_stages": 3, "is_exact": true,
                "time": us.map(|us| json!({ "median_us": us, "p20_us": us, "p80_us": 2.0 * us, "samples": 60 })) })
        };
        let launch = |name: &str, timed: u32| {
            json!({ "launch": name, "kernel": "scale", "rows": [row(0, false, Some(2.0)), row(1, false, None), row(2, true, Some(1.0))],
                "timed_launches": timed, "full_launches": 120, "measure_seconds": 0.1, "comparisons": [] })
        };
        let tuning = |timed: u32| {
            let tuning = json!({ "version": 1, "file": "x.py", "device": "a GPU", "gpu": "H100", "gpus": 1, "compile_seconds": 0.1,
                "seconds": 0.2, "launches": [launch("scale", timed), launch("predicted", 0)] });
            serde_json::from_value::<Tuning>(tuning).expect("a tuning")
        };
        let file = folder.path().join("x.py");
        let keep = |timed| keep_tunings(&python, &file, &tuning(timed), 60.0);
        answers(
            "cp \"$4\" given; echo '{\"what\": \"triton 3.6\", \"error\": null, \"kept\": [{\"launch\": \"scale\", \"why\": \"one row\"}]}' >\"$4\"",
        );
        let kept = keep(30).expect("an answer");
        assert_eq!((kept.what.as_str(), kept.kept[0].why.as_deref()), ("triton 3.6", Some("one row")));
        let given = fs::read_to_string(folder.path().join("given")).expect("what it was given");
        expect![[r#"[{"launch":"scale","rows":[{"row":0,"num_warps":4,"num_stages":3,"ms":[0.002,0.002,0.004]}]}]"#]]
            .assert_eq(&given);
        answers("echo 'No module named triton' >&2; exit 1");
        let plain = |why: String| why.replace(&*folder.path().to_string_lossy(), "…");
        expect!["…/python does not run the program under Triton: No module named triton"]
            .assert_eq(&plain(keep(30).unwrap_err()));
        expect!["nothing was timed"].assert_eq(&keep(0).unwrap_err());
    }
}
