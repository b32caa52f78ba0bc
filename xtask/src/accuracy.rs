//! `cargo xtask accuracy [MEASURE…] [--check] [--list] [--record[=PART]]`: how far Tritium agrees with recorded answers of Triton itself.
//!
//! Every measure drives the real `tritium batch` (`$TRITIUM_BIN`, else the debug build), gives a section of text, and knows which rows
//! disagree. The disagreements are recorded by name and verdict in `tests/data/accuracy/`; `--check` fails when one is new, `--list` prints
//! them, and without either the record and its part of `docs/accuracy.md` are written anew. **A measure only compares; nothing that it finds is decided here.**

pub(crate) mod ask;
mod compiled;
mod corpus;
mod findings;
pub(crate) mod footprints;
mod probes;
mod registers;
mod sanitized;
mod types;

use std::{
    collections::BTreeSet,
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use flate2::read::GzDecoder;

/// What a measure found.
pub(crate) struct Measured {
    /// Markdown: a heading and a table.
    pub section: String,
    /// One line for each disagreement: names and verdicts, tab-separated. Sorted.
    pub disagreements: BTreeSet<String>,
    /// The same, with what both sides say.
    pub details: String,
    /// What it falls short of.
    pub below: Vec<String>,
}

/// What a measure is run with.
pub(crate) struct Judge {
    pub tritium: PathBuf,
    /// The folder of the recorded tables (`$TRITIUM_EXTERNAL_KERNELS/language`).
    pub tables: PathBuf,
    /// The folder with one folder a package.
    pub corpora: PathBuf,
    pub root: PathBuf,
    /// What would take minutes may be asked of a fixed sample: only to find what has become worse.
    pub quick: bool,
}

type Measure = fn(&Judge) -> Result<Measured, String>;

/// By name.
const MEASURES: &[(&str, Measure)] = &[
    ("probes", probes::measure),
    ("corpus", corpus::measure),
    ("types", types::measure),
    ("compiled", compiled::measure),
    ("footprints", footprints::measure),
    ("findings", findings::measure),
    ("registers", registers::measure),
    ("sanitized", sanitized::measure),
];

pub(crate) fn run(arguments: impl Iterator<Item = String>) -> Result<(), String> {
    let (mut names, mut check, mut list, mut record) = (Vec::new(), false, false, None);
    for argument in arguments {
        match argument.as_str() {
            "--check" => check = true,
            "--list" => list = true,
            "--record" => record = Some(String::new()),
            part if part.starts_with("--record=") => record = part.strip_prefix("--record=").map(str::to_owned),
            name if MEASURES.iter().any(|(known, _)| *known == name) => names.push(argument),
            other => {
                let known: Vec<&str> = MEASURES.iter().map(|(name, _)| *name).collect();
                return Err(format!("`{other}` is no measure; they are {}", known.join(", ")));
            }
        }
    }
    let Some(judge) = judge(check)? else { return Ok(()) };
    if let Some(part) = record {
        // Other records are made by `tests/judge`, with Triton.
        if names != ["registers"] {
            return Err("--record is for `registers` alone".to_owned());
        }
        registers::record(&judge, &part)?;
    }
    let mut worse = Vec::new();
    for (name, measure) in MEASURES.iter().filter(|(name, _)| names.is_empty() || names.iter().any(|n| n == name)) {
        let measured = measure(&judge)?;
        say(&measured.section)?;
        let record = judge.root.join("tests/data/accuracy").join(format!("{name}.tsv"));
        if list {
            say(&measured.details)?;
        } else if check {
            worse.extend(measured.below.iter().map(|below| format!("{name}: {below}")));
            let text = fs::read_to_string(&record).map_err(|e| format!("{}: {e}", record.display()))?;
            let known: BTreeSet<&str> = text.lines().collect();
            let new = measured.disagreements.iter().filter(|row| !known.contains(row.as_str()));
            worse.extend(new.map(|row| format!("{name}: {}", row.replace('\t', " | "))));
        } else {
            let text: String = measured.disagreements.iter().flat_map(|row| [row, "\n"]).collect();
            fs::write(&record, text).map_err(|e| format!("{}: {e}", record.display()))?;
            publish(&judge, name, &measured.section)?;
            if *name == "findings" {
                publish(&judge, "understood", &findings::understood(&judge)?)?;
            }
        }
    }
    if worse.is_empty() {
        return Ok(());
    }
    Err(format!("worse than recorded in tests/data/accuracy (`cargo xtask accuracy` records anew):\n{}", worse.join("\n")))
}

/// The page that publishes what was measured, one part a measure.
const PAGE: &str = "docs/accuracy.md";

/// Puts a section in its place on the page; the others stay as they are.
pub(crate) fn publish(judge: &Judge, name: &str, section: &str) -> Result<(), String> {
    let path = judge.root.join(PAGE);
    let old = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    let (begin, end) = (format!("<!-- {name} -->\n"), format!("<!-- end of {name} -->"));
    let place = old.split_once(&begin).and_then(|(before, rest)| Some((before, rest.split_once(&end)?.1)));
    let Some((before, after)) = place else { return Err(format!("{PAGE} has no place for {name}: `{begin}{end}`")) };
    let new = format!("{before}{begin}\n{}\n\n{end}{after}", section.trim());
    fs::write(&path, new).map_err(|e| format!("{}: {e}", path.display()))
}

pub(crate) fn say(text: &str) -> Result<(), String> {
    writeln!(io::stdout(), "{text}").map_err(|e| e.to_string())
}

/// `None` where the recorded tables are not at hand and need not be.
pub(crate) fn judge(quick: bool) -> Result<Option<Judge>, String> {
    let root = crate::root();
    let ci = std::env::var_os("CI").is_some();
    let missing = |what: String| {
        if ci {
            return Err(what);
        }
        eprintln!("{what}; nothing was measured");
        Ok(None)
    };
    let Some(folder) = std::env::var_os("TRITIUM_EXTERNAL_KERNELS") else {
        return missing("TRITIUM_EXTERNAL_KERNELS does not name the folder of the recorded tables".to_owned());
    };
    let tables = Path::new(&folder).join("language");
    let corpora = std::env::var_os("TRITIUM_CORPORA").map_or_else(|| root.join(".cache/corpora"), PathBuf::from);
    let found = PACKAGES.iter().find(|package| !corpora.join(package).is_dir());
    if let Some(package) = found {
        return missing(format!("{} is missing: `cargo xtask corpora` brings it", corpora.join(package).display()));
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let tritium = std::env::var_os("TRITIUM_BIN")
        .map_or_else(|| target.join("debug").join(format!("tritium{}", std::env::consts::EXE_SUFFIX)), PathBuf::from);
    if !tritium.is_file() {
        return Err(format!("{}: build it first: `cargo build -p tritium-cli`", tritium.display()));
    }
    Ok(Some(Judge { tritium, tables, corpora, root, quick }))
}

/// The corpora with recorded verdicts that everybody can fetch.
const PACKAGES: &[&str] = &["conch-triton-kernels", "fla-core", "liger-kernel", "torchao"];

/// The text of a record. One of many lines lies there compressed, its name with `.gz` behind it; gzip's checksum tells whether it is whole.
pub(crate) fn record(path: &Path) -> Result<String, String> {
    let packed = || io::read_to_string(GzDecoder::new(fs::File::open(path.with_added_extension("gz"))?));
    fs::read_to_string(path).or_else(|_| packed()).map_err(|e| format!("{}: {e}", path.display()))
}

/// A recorded table: its rows, by column.
pub(crate) fn table(path: &Path) -> Result<Vec<Vec<String>>, String> {
    let text = record(path)?;
    Ok(text.lines().skip(1).map(|line| line.split('\t').map(unquoted).collect()).collect())
}

/// A cell of a table that quotes as CSV does.
fn unquoted(cell: &str) -> String {
    match cell.strip_prefix('"').and_then(|c| c.strip_suffix('"')) {
        Some(inner) => inner.replace("\"\"", "\""),
        None => cell.to_owned(),
    }
}

/// `97.4 %`
pub(crate) fn percent(part: usize, whole: usize) -> String {
    format!("{:.1} %", share(part, whole))
}

pub(crate) fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 { 100.0 } else { 100.0 * part as f64 / whole as f64 }
}
