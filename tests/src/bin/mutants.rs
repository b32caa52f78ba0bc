//! `cargo xtask mutants`: many broken programs through `tritium`, see `tritium_tests::mutants`.

use std::{
    path::PathBuf,
    process::ExitCode,
    sync::atomic::{AtomicUsize, Ordering},
};

use tritium_tests::{
    mutants::{self, Campaign, Through, Where},
    repository,
};

const USAGE: &str = "usage: cargo xtask mutants --numbers A..B [--seed N] [--host] [--through check|ptx] [--threads N] [--out FOLDER] \
                     [FOLDER…]\nThe folders hold the files that mutants are made of: the examples and the tests' kernels, and the corpora if fetched.";

struct Request {
    campaign: Campaign,
    out: Option<PathBuf>,
    folders: Vec<PathBuf>,
}

fn request() -> Option<Request> {
    let mut campaign = Campaign { seed: 1, mutants: 0..0, place: Where::Anywhere, through: Through::Check, threads: 2 };
    let (mut out, mut folders) = (None, Vec::new());
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--numbers" => {
                let range = arguments.next()?;
                let (start, end) = range.split_once("..")?;
                campaign.mutants = start.parse().ok()?..end.parse().ok()?;
            }
            "--seed" => campaign.seed = arguments.next()?.parse().ok()?,
            "--threads" => campaign.threads = arguments.next()?.parse().ok()?,
            "--host" => campaign.place = Where::HostCode,
            "--through" => {
                campaign.through = match arguments.next()?.as_str() {
                    "check" => Through::Check,
                    "ptx" => Through::Ptx,
                    _ => return None,
                }
            }
            "--out" => out = Some(arguments.next()?.into()),
            folder if !folder.starts_with('-') => folders.push(folder.into()),
            _ => return None,
        }
    }
    if folders.is_empty() {
        let known = ["examples", "tests/run/kernels", ".cache/corpora/liger-kernel", ".cache/corpora/conch-triton-kernels"];
        folders = known.iter().map(|folder| repository().join(folder)).filter(|folder| folder.is_dir()).collect();
    }
    (!campaign.mutants.is_empty()).then_some(Request { campaign, out, folders })
}

fn main() -> ExitCode {
    let Some(Request { campaign, out, folders }) = request() else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let seeds = mutants::seeds(&folders);
    let count = campaign.mutants.len();
    eprintln!("{count} mutants of {} files", seeds.len());
    let tenth = AtomicUsize::new(0);
    let failures = mutants::run(&seeds, &campaign, &|done, failures| {
        for failure in failures {
            eprintln!("mutant {}: {}", failure.number, failure.why);
            if let Some(Err(error)) = out.as_ref().map(|folder| failure.keep(folder)) {
                eprintln!("it cannot be kept: {error}");
            }
        }
        let tenths = 10 * done / count;
        if tenth.fetch_max(tenths, Ordering::Relaxed) < tenths {
            eprintln!("{done} done");
        }
    });
    eprintln!("{} of {count} mutants failed", failures.len());
    if failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
