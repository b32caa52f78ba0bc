//! Runs every `tests/tile/<pass>/<hazard>.tile`: the module above the line, through the pass, is the module below it.
//! `UPDATE_EXPECT=1` writes what comes out. A pass that needs layouts is shown a module at L0 after the passes in front of it. The directory
//! `pipeline` runs all passes, `report` prints the report of what comes out of them.

use std::path::{Path, PathBuf};

use tritium_codegen::{
    cost::Launch,
    passes::{self, CompileOptions},
};
use tritium_semantics::target::Gpu;
use tritium_tile::Module;

const LINE: &str = "; ---- becomes\n";

fn directive<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    text.lines().find_map(|line| line.strip_prefix("; ")?.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
}

fn module_text(text: &str) -> String {
    text.lines().filter(|line| !line.starts_with(';')).fold(String::new(), |out, line| out + line + "\n")
}

fn run(path: &Path, text: &str) -> Lowered {
    let name = path.display();
    let options = CompileOptions {
        sm: Gpu::find(directive(text, "sm").unwrap_or("sm_90")).unwrap_or_else(|| panic!("{name}: sm")).sm,
        num_warps: directive(text, "warps").map_or(4, |n| n.parse().unwrap_or_else(|e| panic!("{name}: warps: {e}"))),
        num_stages: 1,
    };
    let mut module = tritium_tile::parse::parse(&module_text(text)).unwrap_or_else(|e| panic!("{name}: {e}"));
    let problems = tritium_tile::verify::verify(&module);
    assert!(problems.is_empty(), "{name}: {problems:?}");
    let pass = path.parent().and_then(Path::file_name).and_then(|n| n.to_str()).unwrap_or_default();
    let whole = pass == "pipeline" || pass == "report";
    let l0 = ["inline", "canonicalise", "decompose_dot", "coalesce"].contains(&pass);
    let mut before = module.clone();
    let mut result = Ok(());
    for step in passes::pipeline(options.sm) {
        let last = step.name == pass;
        if whole || last || !l0 {
            if last {
                before = module.clone();
            }
            result = result.and_then(|()| passes::run(step, &mut module, &options));
        }
        if last {
            break;
        }
    }
    let shown = match result {
        Ok(()) if pass == "report" => report(&module, text),
        Ok(()) => module.to_string(),
        Err(refused) => format!("; refused: {refused}\n"),
    };
    Lowered { before, after: module, shown }
}

struct Lowered {
    before: Module,
    after: Module,
    shown: String,
}

/// `name=1 other=2`
fn numbers(text: &str, name: &str) -> Vec<(String, u64)> {
    let list = directive(text, name).unwrap_or("");
    list.split_whitespace()
        .filter_map(|pair| pair.split_once('='))
        .map(|(k, v)| (k.to_string(), v.parse().expect("a number")))
        .collect()
}

fn report(module: &Module, text: &str) -> String {
    let grid: Vec<u64> = directive(text, "grid").expect("a grid").split(' ').map(|n| n.parse().expect("a number")).collect();
    let launch = Launch {
        grid: [grid[0], grid[1], grid[2]],
        scalars: numbers(text, "args").into_iter().map(|(k, v)| (k, v as i64)).collect(),
        tensor_bytes: numbers(text, "bytes").into_iter().collect(),
    };
    let gpu = Gpu::find(directive(text, "gpu").expect("a gpu")).expect("a known gpu");
    let report = tritium_codegen::resources::report(module, gpu, Some(&launch));
    serde_json::to_string_pretty(&report).expect("a plain structure") + "\n"
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
        let Lowered { shown: actual, .. } = run(&path, source);
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
