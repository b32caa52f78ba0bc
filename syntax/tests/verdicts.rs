//! CPython as the judge of what is Python. **The tables say what two versions of it said; nothing here asks them again.**
//!
//! `cargo xtask verdicts` makes the tables, `cargo xtask corpora` fetches the files.

use rayon::prelude::*;
use tritium_harness::{files, repository, test_with, tests};
use tritium_syntax::{PythonVersion, parse, source};

const VERSIONS: [(&str, PythonVersion); 2] = [("3.11", PythonVersion::Py311), ("3.14", PythonVersion::Py314)];

fn main() {
    let mut tests = tests![mutated_statements_are_judged_as_by_cpython];
    tests.extend([
        test_with("every_file_of_the_corpora_is_judged_as_by_cpython", corpora, |files| are_judged_as_by_cpython(&files)),
        test_with("broken_files_keep_their_text", corpora, |files| broken_files_keep_their_text(&files)),
    ]);
    tritium_harness::run(tests);
}

fn data(name: &str) -> String {
    let path = repository().join("tests/data/syntax").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Statements and what broken statements became, with the verdict of each version in front.
fn mutated_statements_are_judged_as_by_cpython() {
    let table = data("mutated.tsv");
    let mut problems = Vec::new();
    let mut count = 0;
    for line in table.lines() {
        let (verdicts, escaped) = line.split_once('\t').unwrap();
        let text = unescape(escaped);
        count += 1;
        for ((name, version), verdict) in VERSIONS.iter().zip(verdicts.split(' ')) {
            let parse = parse(&text, *version);
            assert_eq!(parse.syntax().text().to_string(), text);
            match (verdict, parse.errors().first()) {
                ("ok", Some(error)) => problems.push(format!("{name} takes   {escaped}  ({})", error.message)),
                ("no", None) => problems.push(format!("{name} refuses {escaped}")),
                _ => {}
            }
        }
    }
    eprintln!("{} of {} verdicts differ:\n{}", problems.len(), 2 * count, problems.join("\n"));
    assert!(count > 1000 && problems.len() * 100 <= 2 * count, "{} of {} verdicts differ", problems.len(), 2 * count);
}

fn unescape(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => out.push(match chars.next().unwrap() {
                'n' => '\n',
                't' => '\t',
                'r' => '\r',
                other => other,
            }),
            c => out.push(c),
        }
    }
    out
}

/// What a table says: of how many files with which digest, and which of them the version rejects.
struct Table {
    files: usize,
    digest: String,
    rejected: Vec<String>,
}

fn table(name: &str) -> Table {
    let text = data(&format!("rejected-{name}.txt"));
    let field = |word: &str| text.lines().find_map(|line| line.strip_prefix(word)).unwrap().trim().to_owned();
    let rejected = text.lines().skip_while(|line| *line != "rejected").skip(1);
    Table {
        files: field("files ").parse().unwrap(),
        digest: field("digest "),
        rejected: rejected.map(|line| line.split('\t').next().unwrap().to_owned()).collect(),
    }
}

/// Files whose verdict is known to differ, with the reason.
const EXCEPTIONS: &[(&str, &str)] = &[];

fn are_judged_as_by_cpython(files: &[(String, Vec<u8>)]) {
    let tables = VERSIONS.map(|(name, _)| table(name));
    let mut digest = blake3::Hasher::new();
    for (name, bytes) in files {
        digest.update(name.as_bytes()).update(&[0]).update(blake3::hash(bytes).as_bytes());
    }
    let digest = digest.finalize().to_hex().to_string();
    for table in &tables {
        let found = (files.len(), digest.as_str());
        assert_eq!(found, (table.files, table.digest.as_str()), "the corpora are not those of the table: `cargo xtask corpora`");
    }
    let mut problems: Vec<String> = files
        .par_iter()
        .flat_map_iter(|(name, bytes)| {
            let source = source::decode(bytes);
            let mut problems = Vec::new();
            if source.problem.is_none() && source.encode() != *bytes {
                problems.push(format!("{name}: its text does not encode to its bytes"));
            }
            for ((version_name, version), table) in VERSIONS.iter().zip(&tables) {
                let parse = parse(&source.text, *version);
                if parse.syntax().text() != *source.text {
                    problems.push(format!("{name}: the text of the tree is not the text of the file"));
                }
                let error = source.problem.as_ref().or(parse.errors().first());
                match (table.rejected.contains(name), error) {
                    (true, None) => problems.push(format!("{name}: {version_name} rejects this")),
                    (false, Some(error)) => {
                        let line = source.text[..usize::from(error.range.start())].lines().count();
                        problems.push(format!("{name}:{line}: {version_name} takes this: {}", error.message));
                    }
                    (true, Some(_)) | (false, None) => {}
                }
            }
            problems
        })
        .collect();
    problems.retain(|problem| !EXCEPTIONS.iter().any(|(name, _)| problem.starts_with(name)));
    assert!(problems.is_empty(), "{} of {} files:\n{}", problems.len(), files.len(), problems.join("\n"));
}

/// Real files with bytes removed, doubled and moved: nothing panics, and the tree has the text that the bytes decode to.
fn broken_files_keep_their_text(files: &[(String, Vec<u8>)]) {
    let files: Vec<&(String, Vec<u8>)> = files.iter().filter(|(_, bytes)| (200..40_000).contains(&bytes.len())).collect();
    (0..600u64).into_par_iter().for_each(|seed| {
        // A linear congruential generator: the same breaks in every run.
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut below = |limit: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % limit.max(1)
        };
        let (name, bytes) = files[below(files.len())];
        let mut bytes = bytes.clone();
        for _ in 0..=below(6) {
            let (from, len) = (below(bytes.len()), 1 + below(40));
            let piece: Vec<u8> = bytes[from..(from + len).min(bytes.len())].to_vec();
            let (at, removed) = (below(bytes.len()), below(2) * below(60));
            let end = (at + removed).min(bytes.len());
            match below(3) {
                0 => drop(bytes.splice(at..end, piece)),
                1 => drop(bytes.splice(at..end, [below(256) as u8])),
                _ => drop(bytes.drain(at..end)),
            }
            if bytes.is_empty() {
                return;
            }
        }
        let source = source::decode(&bytes);
        for (_, version) in VERSIONS {
            let parse = parse(&source.text, version);
            assert!(parse.syntax().text() == *source.text, "{name}, seed {seed}: the tree has another text");
            for error in parse.errors() {
                let range = usize::from(error.range.start())..usize::from(error.range.end());
                assert!(source.text.get(range).is_some(), "{name}, seed {seed}: {error:?}");
            }
        }
    });
}

/// The names and bytes of every Python file, sorted.
fn corpora() -> Result<Vec<(String, Vec<u8>)>, String> {
    let folder = repository().join(".cache/corpora");
    let mut all = Vec::new();
    for name in ["conch-triton-kernels", "cpython-3.11", "cpython-3.14", "fla-core", "liger-kernel", "torchao"] {
        let corpus = folder.join(name);
        let found = if corpus.is_dir() { files(&corpus, "py") } else { Vec::new() };
        if found.is_empty() {
            return Err(format!("{name} is missing in .cache/corpora: run `cargo xtask corpora`"));
        }
        all.extend(found.into_iter().map(|path| {
            let name = path.strip_prefix(&folder).unwrap().to_string_lossy().replace('\\', "/");
            (name, std::fs::read(&path).unwrap())
        }));
    }
    all.sort();
    Ok(all)
}
