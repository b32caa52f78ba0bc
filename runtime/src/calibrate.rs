//! Roofs as a machine has them: kernels that do nothing but one thing, run on a GPU, and the file that keeps what they reached.
//!
//! **Invariant:** a rate is work that was done over time that was measured; a launch that faults gives no rate, and no file is written for a
//! board that has no row.

use std::path::{Path, PathBuf};

use tritium_semantics::{
    Chosen,
    target::{BOARDS, Board, DEFAULT_BOARD, DEFAULT_TRITON, Measured},
};

use crate::{
    exec::{self, Cancel, Job, Task, Verify},
    files,
    run::LaunchReport,
    tune::TuneOptions,
    watch::Limits,
};

/// Launch blocks and kernels; `@SMS@` stands for the board's SMs.
pub const KERNELS: &str = include_str!("calibrate/kernels.py");

/// Work on a board of so many SMs.
type Amount = fn(f64) -> f64;

/// A launch, what it works on, and how much.
const LAUNCHES: &[(&str, Amount)] = &[
    // Two sides of 512 MiB, 16 times.
    ("dram", |_| 2.0 * 4.0 * 134_217_728.0 * 16.0),
    ("f16", |sms| 2.0 * 128.0 * 256.0 * 64.0 * 2048.0 * 4.0 * sms),
    ("tf32", |sms| 2.0 * 128.0 * 128.0 * 32.0 * 4096.0 * 4.0 * sms),
    ("f32", |sms| 2.0 * 4096.0 * 8192.0 * 16.0 * sms),
];

/// Each launch is run this often in a process of its own; the fastest counts.
const RUNS: usize = 3;
const LIMIT_SECONDS: f64 = 120.0;

/// What was measured of one board.
#[derive(Debug, Clone, PartialEq)]
pub struct Roofs {
    /// The row's name.
    pub board: &'static str,
    /// As the driver calls it.
    pub device: String,
    pub measured: Measured,
}

/// The text of the kernels for a board of so many SMs.
pub fn kernels(sms: u32) -> String {
    KERNELS.replace("@SMS@", &sms.to_string())
}

/// The row of a device: `NVIDIA GeForce RTX 4090` is `RTX4090`.
pub fn board_of(device: &str) -> Option<&'static Board> {
    let plain = |text: &str| text.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    let device = plain(device);
    BOARDS.iter().find(|board| device.contains(&plain(board.name)))
}

/// Runs the kernels on `cuda:N`.
pub fn measure(device: &str) -> Result<Roofs, String> {
    // Who it is follows from a first, short run.
    let first = best(device, "f32", 1)?;
    let board = board_of(&first.device).ok_or_else(|| {
        let known: Vec<&str> = BOARDS.iter().map(|b| b.name).collect();
        format!("{device} is a {}, which has no row; roofs are kept for {}", first.device, known.join(", "))
    })?;
    let mut rates = [0.0; 4];
    for (rate, (launch, work)) in rates.iter_mut().zip(LAUNCHES) {
        let run = best(device, launch, board.sm_count)?;
        *rate = work(f64::from(board.sm_count)) / run.seconds;
    }
    let [dram, f16, tf32, f32] = rates;
    let measured = Measured {
        dram_bandwidth: Some(dram / 1e9),
        f16_tflops: Some(f16 / 1e12),
        tf32_tflops: Some(tf32 / 1e12),
        f32_tflops: Some(f32 / 1e12),
    };
    Ok(Roofs { board: board.name, device: first.device, measured })
}

fn best(device: &str, launch: &str, sms: u32) -> Result<LaunchReport, String> {
    let job = Job {
        path: PathBuf::from("calibration.py"),
        text: kernels(sms),
        task: Task::Run,
        launch: Some(launch.to_owned()),
        device: device.to_owned(),
        verify: Verify::Never,
        save: None,
        chosen: Chosen { triton: Some(DEFAULT_TRITON.to_owned()), gpu: Some(DEFAULT_BOARD.to_owned()), ..Chosen::default() },
        expect: Vec::new(),
        tune: TuneOptions::default(),
        limits: Limits { seconds: LIMIT_SECONDS, memory_bytes: None },
        attended: true,
    };
    let mut fastest: Option<LaunchReport> = None;
    for _ in 0..RUNS {
        let report = exec::in_child(&job, &Cancel::default()).map_err(|e| format!("{launch}: {e}"))?;
        let run = report.launches.into_iter().next().ok_or_else(|| format!("{launch}: nothing was run"))?;
        if let Some(fault) = run.fault {
            return Err(format!("{launch}: {fault}"));
        }
        if fastest.as_ref().is_none_or(|known| run.seconds < known.seconds) {
            fastest = Some(run);
        }
    }
    fastest.filter(|run| run.seconds > 0.0).ok_or_else(|| format!("{launch}: it took no time"))
}

/// Where roofs are kept: `$TRITIUM_ROOFS`, else `tritium/roofs.toml` in the configuration folder of the system. `TRITIUM_ROOFS=off` is nowhere.
pub fn file() -> Option<PathBuf> {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    match variable("TRITIUM_ROOFS") {
        Some(value) if value == "off" => None,
        Some(value) => Some(PathBuf::from(value)),
        None => variable("XDG_CONFIG_HOME")
            .or_else(|| variable("APPDATA"))
            .map(PathBuf::from)
            .or_else(|| variable("HOME").map(|home| PathBuf::from(home).join(".config")))
            .map(|folder| folder.join("tritium").join("roofs.toml")),
    }
}

/// The roofs of a file, by board. A file that is not there has none; one that cannot be read is an error with its place.
pub fn read(path: &Path) -> Result<Vec<(String, Measured)>, String> {
    let text = match files::read_record(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(format!("{}: {error}", path.display())),
    };
    let table: toml::Table = toml::from_str(&text)
        .map_err(|e| format!("{}: this is not TOML: {}", path.display(), e.message().lines().next().unwrap_or_default()))?;
    let mut out = Vec::new();
    for (board, row) in table {
        let rate = |key: &str| match row.get(key) {
            None => Ok(None),
            Some(value) => {
                match value.as_float().or_else(|| value.as_integer().map(|n| n as f64)).filter(|&rate| rate > 0.0 && rate < 1e6) {
                    Some(rate) => Ok(Some(rate)),
                    None => Err(format!("{}: `{key}` of {board} is {value}; a positive number is meant", path.display())),
                }
            }
        };
        let measured = Measured {
            dram_bandwidth: rate("dram-bandwidth")?,
            f16_tflops: rate("f16-tflops")?,
            tf32_tflops: rate("tf32-tflops")?,
            f32_tflops: rate("f32-tflops")?,
        };
        out.push((board, measured));
    }
    Ok(out)
}

/// Adds a board's roofs to a file, in place of older ones.
pub fn write(path: &Path, roofs: &Roofs) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", path.display());
    let mut table: toml::Table = match files::read_record(path) {
        Ok(text) => toml::from_str(&text).map_err(|_| format!("{}: this is not TOML; move it away", path.display()))?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => toml::Table::new(),
        Err(error) => return Err(failed(error)),
    };
    let mut row = toml::Table::new();
    row.insert("device".to_owned(), toml::Value::String(roofs.device.clone()));
    let rates = [
        ("dram-bandwidth", roofs.measured.dram_bandwidth),
        ("f16-tflops", roofs.measured.f16_tflops),
        ("tf32-tflops", roofs.measured.tf32_tflops),
        ("f32-tflops", roofs.measured.f32_tflops),
    ];
    for (key, rate) in rates {
        row.extend(rate.map(|rate| (key.to_owned(), toml::Value::Float((rate * 10.0).round() / 10.0))));
    }
    table.insert(roofs.board.to_owned(), toml::Value::Table(row));
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(failed)?;
    }
    let text = "# Roofs that `tritium calibrate` has measured on this machine.\n".to_owned() + &table.to_string();
    files::write(path, text).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_have_rows() {
        let name = |device| board_of(device).map(|b| b.name);
        assert_eq!(name("NVIDIA H200"), Some("H200"));
        assert_eq!(name("NVIDIA A100-SXM4-80GB"), Some("A100"));
        assert_eq!(name("NVIDIA GeForce RTX 4090"), Some("RTX4090"));
        assert_eq!(name("NVIDIA T4"), None);
    }

    #[test]
    fn roofs_are_kept_board_by_board() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("deep/roofs.toml");
        assert_eq!(read(&path), Ok(Vec::new()));
        let measured = Measured { dram_bandwidth: Some(4312.04), f16_tflops: Some(788.0), ..Measured::default() };
        for board in ["H200", "A100", "H200"] {
            write(&path, &Roofs { board, device: "a device".to_owned(), measured }).expect("it is written");
        }
        let known = read(&path).expect("it is read");
        assert_eq!(known.len(), 2);
        let rounded = Measured { dram_bandwidth: Some(4312.0), ..measured };
        assert_eq!(known.iter().find(|(board, _)| board == "H200"), Some(&("H200".to_owned(), rounded)));
        std::fs::write(&path, "[H200]\nf16-tflops = -1\n").expect("the folder is ours");
        let problem = read(&path).expect_err("a negative rate");
        assert!(problem.ends_with("`f16-tflops` of H200 is -1; a positive number is meant"), "{problem}");
    }
}
