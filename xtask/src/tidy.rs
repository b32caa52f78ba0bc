//! The house rules that a compiler cannot check. **A complaint says the file, the line, the rule and what to do.**

use std::collections::BTreeSet;
use std::process::Command;

use cargo_metadata::MetadataCommand;

use crate::root;

/// From left to right; a crate imports only from its left. `xtask` and `tests` stand outside.
const CRATES: &[&str] = &["syntax", "tile", "semantics", "codegen", "estimate", "runtime", "ide", "lsp", "cli", "python"];

/// What may be named where, and why. A place is the start of a path.
const ONLY_IN: &[(&str, &[&str], &str)] = &[
    ("rowan", &["syntax/src/tree.rs"], "the tree library is wrapped once"),
    ("tower_lsp", &["lsp/src", "tests/tests/conformance.rs"], "features speak in plain structs; the protocol is the server's"),
    ("ls_types", &["lsp/src", "tests/tests/conformance.rs"], "features speak in plain structs; the protocol is the server's"),
    ("inkwell", &["runtime/src/worker/llvm.rs"], "LLVM may abort, so only a worker touches it"),
    // Programs over a build are nobody's part.
    (
        "cudarc",
        &["runtime/src/device/cuda", "tests/data/build", "bench/build"],
        "everything else must build and run without a GPU",
    ),
];

/// The model of Triton, which no pass of ours may move.
const MODEL_OF_TRITON: &str = "estimate/src/triton";

const CHECKS: &[fn(&Repository) -> Vec<String>] = &[
    edges,
    names_in_their_places,
    model_of_triton,
    subprocesses,
    paths_in_documents,
    generated_files,
    features_are_named,
    pages,
    architectures,
    unwanted_code,
    module_documents,
    machine_paths,
];

/// Runs every check and prints all complaints.
pub(crate) fn run() -> Result<(), String> {
    let repository = Repository::read()?;
    for file in repository.rust().filter(|file| !file.path.ends_with("/generated.rs") && file.text.lines().count() > 1000) {
        eprintln!("warning: {} has {} lines; split it near 1000", file.path, file.text.lines().count());
    }
    let complaints: Vec<String> = CHECKS.iter().flat_map(|check| check(&repository)).collect();
    match complaints.len() {
        0 => Ok(()),
        count => Err(format!("{}\n{count} complaint(s)", complaints.join("\n"))),
    }
}

struct File {
    /// From the top of the repository, with `/`.
    path: String,
    text: String,
}

impl File {
    /// Lines with their numbers, without comments, for rules that are about code.
    fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().enumerate().map(|(index, line)| (index + 1, line.split("//").next().unwrap_or_default()))
    }
}

/// Every text file that git knows or would add.
struct Repository {
    files: Vec<File>,
}

impl Repository {
    fn read() -> Result<Self, String> {
        let listing = Command::new("git")
            .args(["ls-files", "--cached", "--others", "--exclude-standard", "--deduplicate", "-z"])
            .current_dir(root())
            .output()
            .map_err(|error| format!("cannot run git: {error}"))?;
        let listing = String::from_utf8_lossy(&listing.stdout).into_owned();
        let read = |path: &str| Some(File { path: path.to_owned(), text: std::fs::read_to_string(root().join(path)).ok()? });
        Ok(Self { files: listing.split('\0').filter(|path| !path.is_empty()).filter_map(read).collect() })
    }

    /// Rust files but this one, which names what it forbids.
    fn rust(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|file| file.path.ends_with(".rs") && file.path != "xtask/src/tidy.rs")
    }

    fn text(&self, path: &str) -> Option<&str> {
        self.files.iter().find(|file| file.path == path).map(|file| file.text.as_str())
    }

    /// The stems of the pages in a folder.
    fn pages(&self, folder: &str) -> BTreeSet<&str> {
        let stem = |file: &'_ File| -> Option<(usize, usize)> {
            let name = file.path.strip_prefix(folder)?.strip_suffix(".md")?;
            Some((folder.len(), folder.len() + name.len()))
        };
        self.files.iter().filter_map(|file| stem(file).map(|(from, to)| &file.path[from..to])).collect()
    }
}

fn edges(_: &Repository) -> Vec<String> {
    let metadata = match MetadataCommand::new().current_dir(root()).no_deps().exec() {
        Ok(metadata) => metadata,
        Err(error) => return vec![format!("cargo metadata: {error}")],
    };
    let place = |name: &str| CRATES.iter().position(|known| name.strip_prefix("tritium-") == Some(known));
    let mut complaints = Vec::new();
    for package in &metadata.packages {
        let Some(at) = place(&package.name) else { continue };
        for dependency in &package.dependencies {
            if place(&dependency.name).is_some_and(|to| to >= at) {
                complaints.push(format!(
                    "{}/Cargo.toml: depends on {}, which is not to its left ({})",
                    CRATES[at],
                    dependency.name,
                    CRATES.join(" -> ")
                ));
            }
        }
    }
    complaints
}

fn names_in_their_places(repository: &Repository) -> Vec<String> {
    let mut complaints = Vec::new();
    for (name, places, why) in ONLY_IN {
        for file in repository.rust().filter(|file| !places.iter().any(|place| file.path.starts_with(place))) {
            for (line, code) in file.code() {
                if is_used(code, name) {
                    let places = places.join(", ");
                    complaints.push(format!("{}:{line}: `{name}` is named only in {places}: {why}", file.path));
                }
            }
        }
    }
    complaints
}

fn model_of_triton(repository: &Repository) -> Vec<String> {
    let mut complaints = Vec::new();
    for file in repository.rust().filter(|file| file.path.starts_with(MODEL_OF_TRITON)) {
        for (line, _) in file.code().filter(|(_, code)| is_used(code, "passes")) {
            complaints.push(format!(
                "{}:{line}: the model of Triton names a pass of ours, so a change there would change Triton's figures",
                file.path
            ));
        }
    }
    complaints
}

/// `name::…` or `use name`, as a whole word.
fn is_used(code: &str, name: &str) -> bool {
    code.match_indices(name).any(|(at, _)| {
        let before = &code[..at];
        let free = !before.ends_with(|c: char| c.is_alphanumeric() || "_\"-".contains(c));
        free && (code[at + name.len()..].starts_with("::") || before.trim_end().ends_with("use"))
    })
}

fn subprocesses(repository: &Repository) -> Vec<String> {
    let allowed = |path: &str| {
        ["runtime/", "xtask/", "tests/", "bench/"].iter().any(|place| path.starts_with(place)) || path.contains("/tests/")
    };
    let mut complaints = Vec::new();
    for file in repository.rust().filter(|file| !allowed(&file.path)) {
        for (line, code) in file.code() {
            if code.contains("process::") && code.contains("Command") && !code.contains("clap") {
                complaints.push(format!("{}:{line}: only `runtime` starts processes, with its limits on them", file.path));
            }
        }
    }
    complaints
}

fn paths_in_documents(repository: &Repository) -> Vec<String> {
    let tops: BTreeSet<&str> = repository.files.iter().filter_map(|file| file.path.split_once('/')).map(|(top, _)| top).collect();
    let exists = |path: &str| {
        let folder = format!("{}/", path.trim_end_matches('/'));
        repository.files.iter().any(|file| file.path == path || file.path.starts_with(&folder)) || root().join(path).exists()
    };
    let mut complaints = Vec::new();
    for file in &repository.files {
        let is_document = file.path == "README.md" || (file.path.starts_with("docs/") && file.path.ends_with(".md"));
        for (index, line) in file.text.lines().enumerate().filter(|_| is_document) {
            for word in line.split(|c: char| c.is_whitespace() || "`()[]\"',;|".contains(c)) {
                // A line and a column may follow, as in `a/b.py:28:5`.
                let path = word.trim_start_matches("./").split(':').next().unwrap_or_default().trim_end_matches('.');
                let Some((top, _)) = path.split_once('/') else { continue };
                // A pattern or a placeholder is no path.
                if tops.contains(top) && !path.contains(['*', '<', '{', '…']) && !exists(path) {
                    complaints.push(format!("{}:{}: there is no {path}", file.path, index + 1));
                }
            }
        }
    }
    complaints
}

fn generated_files(_: &Repository) -> Vec<String> {
    crate::codegen::check().err().into_iter().collect()
}

fn features_are_named(repository: &Repository) -> Vec<String> {
    let features = repository.rust().filter(|file| {
        file.path.strip_prefix("ide/src/").is_some_and(|name| !name.contains('/') && !["lib.rs", "tests.rs"].contains(&name))
    });
    let nameless = features.filter(|file| !file.text.starts_with("// Feature: "));
    nameless.map(|file| format!("{}:1: starts without a `// Feature: ` line, which says what the user gets", file.path)).collect()
}

fn pages(repository: &Repository) -> Vec<String> {
    let mut complaints = Vec::new();
    if let Some(table) = repository.text("semantics/src/diagnostics.rs") {
        // A row starts with its code and then its name in quotes.
        let rows = table.lines().filter_map(|line| line.trim().split_once(" \"")).map(|(code, _)| code);
        let rows = rows.filter(|code| code.len() == 6 && code.ends_with(|c: char| c.is_ascii_digit())).collect();
        compare("semantics/src/diagnostics", &rows, &repository.pages("semantics/src/diagnostics/"), &mut complaints);
    }
    if let Some(table) = repository.text("semantics/src/builtins.rs") {
        let pages = repository.pages("semantics/src/builtins/");
        // A row without a page does not compile; a page without a row does.
        let rows = pages.iter().copied().filter(|name| table.contains(&format!("\"{name}\""))).collect();
        compare("semantics/src/builtins", &rows, &pages, &mut complaints);
    }
    complaints
}

fn compare(folder: &str, rows: &BTreeSet<&str>, pages: &BTreeSet<&str>, complaints: &mut Vec<String>) {
    complaints.extend(rows.difference(pages).map(|name| format!("{folder}.rs: {name} has no page {folder}/{name}.md")));
    complaints.extend(pages.difference(rows).map(|name| format!("{folder}/{name}.md: there is no row for it in {folder}.rs")));
}

fn architectures(repository: &Repository) -> Vec<String> {
    const NAMES: &[&str] = &["sm", "cc", "arch", "capability", "compute_capability"];
    let mut complaints = Vec::new();
    for file in repository.rust().filter(|file| file.path != "semantics/src/target.rs" && !file.path.contains("/tests/")) {
        for (line, code) in file.code() {
            let words: Vec<&str> = code.split_whitespace().collect();
            let compares = words.windows(3).any(|three| {
                let name = three[0].trim_end_matches("()").rsplit(['.', '(', '!', '&', '*']).next().unwrap_or_default();
                let number = three[2].trim_start_matches('(').starts_with(|c: char| c.is_ascii_digit());
                NAMES.contains(&name) && ["<", ">", "<=", ">=", "==", "!="].contains(&three[1]) && number
            });
            if compares {
                let path = &file.path;
                complaints
                    .push(format!("{path}:{line}: ask `sm.has(Feature::…)`; only semantics/src/target.rs compares numbers"));
            }
        }
    }
    complaints
}

fn unwanted_code(repository: &Repository) -> Vec<String> {
    const UNWANTED: &[(&str, &str)] = &[
        ("#[ignore", "a test runs or is not there"),
        ("#[should_panic", "assert on the error instead"),
        ("dbg!(", "for a day, not for the repository"),
        ("todo!(", "finish it, or leave it out"),
        ("unimplemented!(", "finish it, or leave it out"),
    ];
    let mut complaints = Vec::new();
    for file in repository.rust() {
        for (line, code) in file.code() {
            for (unwanted, why) in UNWANTED.iter().filter(|(unwanted, _)| code.contains(unwanted)) {
                complaints.push(format!("{}:{line}: no `{unwanted}`: {why}", file.path));
            }
        }
    }
    complaints
}

fn module_documents(repository: &Repository) -> Vec<String> {
    // A feature's name stands above its document.
    let body = |text: &'_ str| -> usize {
        let named = text.starts_with("// Feature: ");
        text.lines()
            .take_while(|line| named && line.starts_with("//") && !line.starts_with("//!"))
            .map(|line| line.len() + 1)
            .sum()
    };
    let bare = repository.rust().filter(|file| !file.text.get(body(&file.text)..).unwrap_or_default().starts_with("//!"));
    bare.map(|file| format!("{}:1: starts without `//!`: say its job and its invariant", file.path)).collect()
}

fn machine_paths(repository: &Repository) -> Vec<String> {
    let mut complaints = Vec::new();
    for file in repository.files.iter().filter(|file| file.path != "xtask/src/tidy.rs") {
        for (index, line) in file.text.lines().enumerate() {
            // Between word characters these letters are part of a longer path, as in `a/work/b`.
            let named = ["/work/", "/root/"].iter().any(|path| {
                line.match_indices(path)
                    .any(|(at, _)| !line[..at].ends_with(|c: char| c.is_alphanumeric() || "_.-}~".contains(c)))
            });
            if named {
                complaints.push(format!("{}:{}: names a folder of one machine", file.path, index + 1));
            }
        }
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repository(path: &str, text: &str) -> Repository {
        Repository { files: vec![File { path: path.into(), text: text.into() }] }
    }

    #[test]
    fn every_rule_finds_its_violation_and_only_that() {
        type Check = fn(&Repository) -> Vec<String>;
        let cases: &[(Check, &str, &str, &str)] = &[
            (names_in_their_places, "tile/src/lib.rs", "use inkwell::x;", "use my_inkwell::x; // inkwell::x"),
            (names_in_their_places, "ide/src/hover.rs", "fn f(x: tower_lsp::X) {}", "fn tower_lsp_free() {}"),
            (model_of_triton, "estimate/src/triton/fold.rs", "codegen::passes::run()", "compasses::run()"),
            (subprocesses, "lsp/src/lib.rs", "use std::process::Command;", "use std::process::ExitCode;"),
            (
                paths_in_documents,
                "docs/a.md",
                "see `docs/b.md`.",
                "see `docs/a.md`, docs/a.md:3:1, docs/<name>.md and https://docs/x",
            ),
            (features_are_named, "ide/src/hover.rs", "//! Feature: Hover", "// Feature: Hover"),
            (pages, "semantics/src/diagnostics.rs", "    SHP001 \"shape\" Error;", "    let x = \"y\";"),
            (architectures, "codegen/src/a.rs", "if target.sm >= 90 {", "if self.rank >= 90 {"),
            (unwanted_code, "codegen/src/a.rs", "todo!()", "// no todo!() here"),
            (module_documents, "codegen/src/a.rs", "// Job.\n//! Job.", "//! Job."),
            (module_documents, "ide/src/hover.rs", "// Feature: Hover\n//\nfn f() {}", "// Feature: Hover\n//\n//! Job."),
            (machine_paths, "README.md", "in /root/x", "in build/work/x"),
        ];
        for (check, path, wrong, right) in cases {
            assert_eq!(check(&repository(path, wrong)).len(), 1, "{wrong}");
            assert_eq!(check(&repository(path, right)), Vec::<String>::new(), "{right}");
        }
    }
}
