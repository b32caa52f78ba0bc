//! Runs every `tests/tile/<pass>/<hazard>.tile`: the module above the line, through the pass, is the module below it.
//! `UPDATE_EXPECT=1` writes what comes out. The directory `pipeline` runs all passes.

use std::path::{Path, PathBuf};

use tritium_codegen::passes::{self, CompileOptions};
use tritium_semantics::target::Gpu;
use tritium_tile::Module;

const LINE: &str = "; ---- becomes\n";

fn directive<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    text.lines().find_map(|line| line.strip_prefix("; ")?.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
}

fn module_text(text: &str) -> String {
    text.lines().filter(|line| !line.starts_with(';')).fold(String::new(), |out, line| out + line + "\n")
}

fn run(path: &Path, text: &str) -> (Module, String) {
    let name = path.display();
    let options = CompileOptions {
        sm: Gpu::find(directive(text, "sm").unwrap_or("sm_90")).unwrap_or_else(|| panic!("{name}: sm")).sm,
        num_warps: directive(text, "warps").map_or(4, |n| n.parse().unwrap_or_else(|e| panic!("{name}: warps: {e}"))),
        num_stages: 1,
    };
    let mut module = tritium_tile::parse::parse(&module_text(text)).unwrap_or_else(|e| panic!("{name}: {e}"));
    let problems = tritium_tile::verify::verify(&module);
    assert!(problems.is_empty(), "{name}: {problems:?}");
    let before = module.clone();
    let pass = path.parent().and_then(Path::file_name).and_then(|n| n.to_str()).unwrap_or_default();
    let result = if pass == "pipeline" {
        passes::lower_to_l1(&module, &options).map(|lowered| module = lowered)
    } else {
        let pass = passes::pass(pass).unwrap_or_else(|| panic!("{name}: no pass `{pass}`"));
        passes::run(pass, &mut module, &options)
    };
    let text = match result {
        Ok(()) => module.to_string(),
        Err(refused) => format!("; refused: {refused}\n"),
    };
    (before, text)
}

fn files(directory: &Path, out: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(directory).expect("tests/tile").map(|e| e.expect("an entry").path()).collect();
    entries.sort();
    for entry in entries {
        if entry.is_dir() {
            files(&entry, out);
        } else if entry.extension().is_some_and(|e| e == "tile") {
            out.push(entry);
        }
    }
}

#[test]
fn passes_do_what_their_tests_say() {
    let mut all = Vec::new();
    files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/tile"), &mut all);
    assert!(!all.is_empty());
    let mut wrong = Vec::new();
    for path in all {
        let text = std::fs::read_to_string(&path).expect("a readable file");
        let (source, expected) = text.split_once(LINE).unwrap_or((&text, ""));
        let (_before, actual) = run(&path, source);
        if actual == expected {
            continue;
        }
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            std::fs::write(&path, format!("{source}{LINE}{actual}")).expect("a writable file");
        } else {
            wrong.push(format!("{}:\n{actual}", path.display()));
        }
    }
    assert!(wrong.is_empty(), "run with UPDATE_EXPECT=1 to accept:\n{}", wrong.join("\n"));
}
