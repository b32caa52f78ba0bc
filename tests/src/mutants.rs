//! Programs that are almost right: tokens of real files deleted, doubled, swapped and replaced. **No mutant makes `tritium` panic, abort, hang or
//! take the machine's memory**, whatever it says of it.
//!
//! A mutant is known by the campaign's seed and its own number, so one that fails is made again without those before it.

use std::{
    fs,
    ops::Range,
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::Duration,
};

use tritium_runtime::random::Stream;
use tritium_syntax::{SyntaxKind, lexer};

use crate::limits::{self, Ended, Limits};

/// Which tokens of a file are mutated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Where {
    Anywhere,
    /// Everything but the kernels: module-level code, launches, launch blocks.
    HostCode,
}

/// What a mutant goes through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Through {
    Check,
    Ptx,
}

pub struct Campaign {
    pub seed: u64,
    pub mutants: Range<usize>,
    pub place: Where,
    pub through: Through,
    /// Processes at once.
    pub threads: usize,
}

/// A mutant that is not answered as it should be.
pub struct Failure {
    pub number: usize,
    pub why: String,
    pub text: String,
}

/// Files that one process looks at.
const BATCH: usize = 50;
/// What one process may hold, and how long all of its files may take on a machine that does other work.
const LIMITS: Limits = Limits { hangs_after: Duration::from_secs(60), address_space_bytes: 1 << 30 };
/// Processor time for one mutant.
const MAX_SECONDS: u64 = 5;
/// Longer files make slow mutants, and none of another kind.
const MAX_SEED_BYTES: u64 = 20_000;

/// The files that mutants are made of, below these folders, sorted.
pub fn seeds(folders: &[PathBuf]) -> Vec<String> {
    let mut files = Vec::new();
    let mut pending = folders.to_vec();
    while let Some(folder) = pending.pop() {
        for entry in fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())).flatten() {
            let (path, kind) = (entry.path(), entry.file_type().expect("an entry has a type"));
            let is_short = entry.metadata().is_ok_and(|found| found.len() <= MAX_SEED_BYTES);
            if kind.is_dir() {
                pending.push(path);
            } else if kind.is_file() && is_short && path.extension().is_some_and(|extension| extension == "py") {
                files.push(path);
            }
        }
    }
    files.sort();
    let texts = files.iter().filter_map(|path| fs::read_to_string(path).ok());
    texts.filter(|text| text.contains("@triton.jit") || text.contains("@jit")).collect()
}

/// The tokens of a file that are not blank, in order; those of comments one by one, for launch blocks are comments.
fn tokens(text: &str) -> Vec<Range<usize>> {
    let mut out = Vec::new();
    let all = lexer::lex(text);
    for index in 0..all.len() {
        let range = all.range(index);
        match all.kind(index) {
            SyntaxKind::WHITESPACE | SyntaxKind::NEWLINE => {}
            SyntaxKind::COMMENT => {
                let inside = lexer::lex(&text[range.start + 1..range.end]);
                let words = (0..inside.len()).filter(|&word| inside.kind(word) != SyntaxKind::WHITESPACE);
                out.extend(words.map(|word| inside.range(word)).map(|r| range.start + 1 + r.start..range.start + 1 + r.end));
            }
            _ => out.push(range),
        }
    }
    out
}

/// Where kernels stand: from a decorator that names `jit` to the next line at the margin that is none of theirs.
fn kernels(text: &str) -> Vec<Range<usize>> {
    let mut out: Vec<Range<usize>> = Vec::new();
    let (mut at, mut open) = (0, None);
    for line in text.split_inclusive('\n') {
        let is_outside = !line.starts_with([' ', '\t', ')', '\n', '\r', '#']);
        let goes_on = line.starts_with("def ") && text[..at].lines().last().is_some_and(|before| before.starts_with('@'));
        if let (Some(start), true, false) = (open, is_outside, goes_on) {
            out.push(start..at);
            open = None;
        }
        if line.starts_with('@') && line.contains("jit") {
            open = Some(at);
        }
        at += line.len();
    }
    out.extend(open.map(|start| start..at));
    out
}

/// What else people and tools put into a file.
const PIECES: &[&str] = &[
    "0",
    "1",
    "-1",
    "2**40",
    "None",
    "True",
    "()",
    "[]",
    "(1, 1)",
    "[x]",
    "{}",
    "tl",
    "triton",
    "tl.constexpr",
    "lambda x: x",
    "*",
    "**",
    "//",
    "%",
    "=",
    "==",
    ":",
    ",",
    ".",
    "(",
    ")",
    "[",
    "]",
    "@",
    "\n",
    "\n    ",
    "if",
    "else",
    "for",
    "while",
    "return",
    "class",
    "def",
    "import",
    "'a'",
    "1.5",
    "num_warps",
    "grid",
    "float('nan')",
    "...",
];

/// The mutant of this number: one to three changes to one of the files.
pub fn mutant(seeds: &[String], campaign: &Campaign, number: usize) -> String {
    let stream = Stream::named(&format!("mutant {} {number}", campaign.seed));
    let mut drawn = 0;
    let mut below = |count: usize| {
        drawn += 1;
        usize::try_from(stream.int(drawn, 0, count as i64)).unwrap_or_default()
    };
    let mut text = seeds[below(seeds.len())].clone();
    for _ in 0..=below(3) {
        let mut places = tokens(&text);
        if campaign.place == Where::HostCode {
            let kernels = kernels(&text);
            places.retain(|place| kernels.iter().all(|kernel| !kernel.contains(&place.start)));
        }
        if places.is_empty() {
            continue;
        }
        let place = places[below(places.len())].clone();
        let other = text[places[below(places.len())].clone()].to_owned();
        match below(7) {
            0 => text.replace_range(place, ""),
            1 => text.insert_str(place.end, &format!(" {}", &text[place.clone()])),
            2 => text.replace_range(place, &other),
            3 => {
                let second = places[below(places.len())].clone();
                let (first, second) = if place.start <= second.start { (place, second) } else { (second, place) };
                let (one, two) = (text[first.clone()].to_owned(), text[second.clone()].to_owned());
                if first != second {
                    text.replace_range(second, &one);
                    text.replace_range(first, &two);
                }
            }
            4 => text.replace_range(place, PIECES[below(PIECES.len())]),
            5 => text.insert_str(place.start, &format!("{} ", PIECES[below(PIECES.len())])),
            _ => {
                let from = &seeds[below(seeds.len())];
                let theirs = tokens(from);
                if !theirs.is_empty() {
                    text.replace_range(place, &from[theirs[below(theirs.len())].clone()]);
                }
            }
        }
    }
    text
}

/// Sends every mutant through `tritium`; those that fail, in order. `told` hears of every batch how many are done and what failed.
pub fn run(seeds: &[String], campaign: &Campaign, told: &(dyn Fn(usize, &[Failure]) + Sync)) -> Vec<Failure> {
    assert!(!seeds.is_empty(), "there is no file to make mutants of");
    let batches: Vec<Range<usize>> =
        campaign.mutants.clone().step_by(BATCH).map(|start| start..(start + BATCH).min(campaign.mutants.end)).collect();
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let work = || {
        let mut failures = Vec::new();
        while let Some(batch) = batches.get(next.fetch_add(1, Ordering::Relaxed)) {
            let before = failures.len();
            look(seeds, campaign, batch.clone(), &mut failures);
            told(done.fetch_add(batch.len(), Ordering::Relaxed) + batch.len(), &failures[before..]);
        }
        failures
    };
    let mut failures: Vec<Failure> = thread::scope(|scope| {
        let threads: Vec<_> = (0..campaign.threads.max(1)).map(|_| scope.spawn(work)).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("a thread of ours")).collect()
    });
    failures.sort_by_key(|failure| failure.number);
    failures
}

/// Looks at some mutants in one process, and where that fails at each half of them.
fn look(seeds: &[String], campaign: &Campaign, batch: Range<usize>, failures: &mut Vec<Failure>) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for number in batch.clone() {
        let path = folder.path().join(format!("m{number}.py"));
        fs::write(path, mutant(seeds, campaign, number)).expect("the folder is ours");
    }
    let command: &[&str] = match campaign.through {
        Through::Check => &["check", "--output-format", "concise", "."],
        Through::Ptx => &["stats", "--through", "ptx", "."],
    };
    let Some(why) = wrong(&limits::run(command, folder.path(), LIMITS)) else { return };
    if batch.len() == 1 {
        let text = mutant(seeds, campaign, batch.start);
        failures.push(Failure { number: batch.start, why, text });
        return;
    }
    drop(folder);
    let middle = batch.start + batch.len() / 2;
    look(seeds, campaign, batch.start..middle, failures);
    look(seeds, campaign, middle..batch.end, failures);
}

/// Why a process was no good one. Each of its mutants may take as long as one.
fn wrong(ended: &Ended) -> Option<String> {
    if let Some(defect) = ended.defect() {
        return Some(defect);
    }
    if ended.processor_time > Duration::from_secs(MAX_SECONDS) {
        return Some(format!("took {:.1} s", ended.processor_time.as_secs_f64()));
    }
    ended.stdout.lines().find(|line| line.starts_with("panicked ")).map(str::to_owned)
}

impl Failure {
    /// Writes the mutant into a folder, with the reason in its last line.
    pub fn keep(&self, folder: &Path) -> std::io::Result<()> {
        fs::create_dir_all(folder)?;
        let why = self.why.replace('\n', " ");
        fs::write(folder.join(format!("m{}.py", self.number)), format!("{}\n# {why}\n", self.text))
    }
}
