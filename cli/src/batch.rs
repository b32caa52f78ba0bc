//! `tritium batch`.

use std::{
    fs::File,
    io::{self, BufRead as _, BufReader, Write as _},
    path::Path,
    process::ExitCode,
};

use tritium_ide::batch::{self, Through};

use crate::{
    args::Analysing,
    session::{self, Failure},
};

pub(crate) fn batch(analysing: &Analysing, requests: &Path, through: Through) -> Result<ExitCode, Failure> {
    let defaults = session::options(analysing)?;
    let mut host = session::host(analysing)?;
    let input: Box<dyn io::Read> = match requests.to_str() {
        Some("-") => Box::new(io::stdin()),
        _ => Box::new(File::open(requests).map_err(|e| Failure::io(requests, &e))?),
    };
    let mut all_ok = true;
    let mut out = io::stdout().lock();
    for line in BufReader::new(input).lines() {
        let line = line.map_err(|e| Failure::io(requests, &e))?;
        if line.trim().is_empty() {
            continue;
        }
        let answer = batch::answer(&mut host, &defaults, &line, through);
        all_ok &= answer.ok;
        let text = serde_json::to_string(&answer).unwrap_or_default();
        writeln!(out, "{text}").map_err(|e| Failure::io(Path::new("standard output"), &e))?;
    }
    Ok(if all_ok { ExitCode::SUCCESS } else { ExitCode::from(1) })
}
