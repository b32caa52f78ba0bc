//! Prints the report of every `tests/tile/report/*.tile` after all passes: the module above the line has the report below it.
//! `UPDATE_EXPECT=1` writes what comes out.

use std::{fs, path::Path};

use tritium_codegen::{CompileOptions, passes};
use tritium_estimate::{
    cost::{Argument, Launch},
    resources,
};
use tritium_semantics::target::Gpu;

const LINE: &str = "; ---- becomes\n";

fn directive<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    text.lines().find_map(|line| line.strip_prefix("; ")?.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
}

/// `name=1 other=2`
fn numbers(text: &str, name: &str) -> Vec<(String, u64)> {
    let pairs = directive(text, name).unwrap_or("").split_whitespace().filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, number)| (name.to_owned(), number.parse().expect("a number"))).collect()
}

fn report(text: &str) -> String {
    let source = text.lines().filter(|line| !line.starts_with(';')).fold(String::new(), |out, line| out + line + "\n");
    let module = tritium_tile::parse(&source).expect("a module");
    let number = |name: &str, default: u32| directive(text, name).map_or(default, |n| n.parse().expect("a number"));
    let options = CompileOptions {
        sm: Gpu::find(directive(text, "sm").unwrap_or("sm_90")).expect("a known SM").sm,
        num_warps: number("warps", 4),
        num_stages: number("stages", 1),
    };
    let lowered = passes::lower(&module, &options).expect("it compiles");
    let grid: Vec<u64> = directive(text, "grid").expect("a grid").split(' ').map(|n| n.parse().expect("a number")).collect();
    let (scalars, bytes) = (numbers(text, "args"), numbers(text, "bytes"));
    let argument = |name: &str| {
        let of = |all: &[(String, u64)]| all.iter().find(|(n, _)| n == name).map(|(_, number)| *number);
        of(&scalars).map(|n| Argument::Scalar(n as i64)).or(of(&bytes).map(Argument::TensorBytes)).unwrap_or_default()
    };
    let arguments = module.entry().params.iter().map(|param| argument(&param.name)).collect();
    let launch = Launch { grid: [grid[0], grid[1], grid[2]], arguments };
    let gpu = Gpu::find(directive(text, "gpu").expect("a GPU")).expect("a known GPU");
    let report = resources::report(&lowered, gpu, Some(&launch), None);
    serde_json::to_string_pretty(&report).expect("a plain structure") + "\n"
}

#[test]
fn reports_are_as_blessed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/tile/report");
    let mut wrong = Vec::new();
    let mut count = 0;
    for entry in fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("an entry").path();
        let text = fs::read_to_string(&path).expect("a readable file");
        let (source, expected) = text.split_once(LINE).unwrap_or((&text, ""));
        let found = report(source);
        count += 1;
        if found == expected {
            continue;
        }
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            fs::write(&path, format!("{source}{LINE}{found}")).expect("a writable file");
        } else {
            wrong.push(format!("{}:\n{found}", path.display()));
        }
    }
    assert!(count > 0, "the modules are missing");
    assert!(wrong.is_empty(), "run with UPDATE_EXPECT=1 to accept:\n{}", wrong.join("\n"));
}
