//! What is judged by files that are not ours to publish: the kernel of Triton's announcement, and tables of what Triton itself said.
//!
//! `$TRITIUM_EXTERNAL_KERNELS` names their folder. Without it these tests say `ignored`; under CI they fail.

use std::{
    collections::HashMap,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use smol_str::SmolStr;
use tritium_harness::{external, test_with};
use tritium_runtime::{bundle::FileSource, run};
use tritium_semantics::{
    Argument, Chosen, Database, Instance, SourceFile, builtins,
    check::check,
    dtype::DType,
    elaborate::{Elaborated, elaborate},
    instance::parse_argument,
    items::items,
    types::Ty,
};
use tritium_tests::{repository, tritium};

fn main() {
    let file = |name: &'static str| move || external(name);
    let text = |name: &'static str| move || external(name).map(|path| read(&path));
    tritium_harness::run(vec![
        test_with("announcement/runs_in_dialect_1_0", file("seed_softmax.py"), runs_in_dialect_1_0),
        test_with("announcement/needs_one_fix_under_3_6", file("seed_softmax.py"), needs_one_fix_under_3_6),
        test_with("announcement/problems", text("seed_softmax.py"), |text| problems(&text)),
        test_with("every_public_name_is_known", text("language/builtins.tsv"), |table| every_public_name_is_known(&table)),
        test_with("promotion/tiles_with_tiles", text("language/promotion_tensor_tensor.tsv"), |table| tiles_with_tiles(&table)),
        test_with("promotion/tiles_with_literals", text("language/promotion_literal.tsv"), |table| tiles_with_literals(&table)),
        test_with(
            "whole_probes_verify",
            || Ok((external("language/probes.tsv")?, external("language/probe_prelude.py")?)),
            |(table, prelude)| whole_probes_verify(&read(&table), &read(&prelude)),
        ),
    ])
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn database(text: &str, triton: &str) -> (Database, SourceFile) {
    let chosen = Chosen { triton: Some(triton.to_owned()), ..Chosen::default() };
    run::open(Path::new("kernel.py"), text.to_owned(), chosen, &FileSource::Disk)
}

fn tritium_run(arguments: &[&str]) -> Output {
    Command::new(tritium()).arg("run").args(arguments).current_dir(repository()).output().expect("tritium starts")
}

fn said(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Untouched, in its own dialect: its host code is evaluated, and the result agrees with a softmax in float64.
fn runs_in_dialect_1_0(file: PathBuf) {
    let file = file.to_str().expect("a plain path");
    let done = tritium_run(&[file, "--triton", "1.0", "--verify", "--expect", "Y=softmax(X, axis=1)"]);
    let out = said(&done.stdout);
    assert!(done.status.success(), "{out}{}", said(&done.stderr));
    assert!(out.contains("verified") && out.contains("f32[583, 931]"), "{out}");
}

/// Under 3.6 the same file has one mistake, and its fix makes it run.
fn needs_one_fix_under_3_6(file: PathBuf) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let copy = folder.path().join("softmax.py");
    fs::copy(&file, &copy).expect("it can be copied");
    let copy = copy.to_str().expect("a plain path");
    let refused = tritium_run(&[copy, "--verify", "--expect", "Y=softmax(X, axis=1)"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(said(&refused.stderr).contains("CXP001"), "{}", said(&refused.stderr));
    // The fix is offered, not made: nobody but its author knows that the number is meant to be known at compile time.
    assert!(said(&refused.stderr).contains("annotate it `BLOCK_SIZE: tl.constexpr`"), "{}", said(&refused.stderr));
    let wrong = fs::read_to_string(copy).expect("the copy is ours");
    fs::write(copy, wrong.replace("BLOCK_SIZE = 1024", "BLOCK_SIZE: tl.constexpr = 1024")).expect("the folder is ours");
    let fixed = Command::new(tritium()).args(["check", copy]).output().expect("tritium starts");
    assert!(fixed.status.success(), "{}", said(&fixed.stdout));
    let done = tritium_run(&[copy, "--verify", "--expect", "Y=softmax(X, axis=1)"]);
    assert!(done.status.success() && said(&done.stdout).contains("verified"), "{}{}", said(&done.stdout), said(&done.stderr));
}

/// It takes a number of rows that it never reads, and under 3.6 a number that must be known at compile time.
fn problems(text: &str) {
    let codes = |text: &str, triton: &str| -> Vec<String> {
        let (db, file) = database(text, triton);
        check(&db, file).iter().filter(|found| found.code.is_default()).map(|found| found.code.to_string()).collect()
    };
    assert_eq!(codes(text, "1.0"), ["CXP004"]);
    assert_eq!(codes(text, "3.6"), ["CXP004", "CXP001"]);
    let (db, file) = database(text, "3.6");
    let found = check(&db, file);
    let missing = found.iter().find(|found| found.code.as_str() == "CXP001").expect("found above");
    let mut fixed = text.to_owned();
    for edit in missing.fixes[0].edits.iter().rev() {
        fixed.replace_range(edit.range.clone(), &edit.new_text);
    }
    assert!(fixed.contains("BLOCK_SIZE: tl.constexpr = 1024"));
    assert_eq!(codes(&fixed, "3.6"), ["CXP004"]);
}

fn every_public_name_is_known(table: &str) {
    let names = table.lines().filter_map(|line| line.split('\t').next()?.strip_prefix("tl."));
    let unknown: Vec<&str> = names.filter(|name| builtins::find(&format!("triton.language.{name}")).is_none()).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}

fn elaborated<'db>(
    db: &'db Database,
    file: SourceFile,
    kernel: &str,
    arguments: Vec<Argument>,
    triton: &str,
) -> Option<&'db Elaborated> {
    let function = items(db, file).functions.iter().find(|function| function.function.name(db) == kernel)?.function;
    Some(elaborate(db, Instance::new(db, function, arguments, SmolStr::from(triton))))
}

/// One operation of a table.
struct Row<'t> {
    /// Where it stands in the table.
    line: &'t str,
    op: &'t str,
    left: String,
    right: String,
    /// The type of the result; anything else is an error.
    result: &'t str,
}

impl Row<'_> {
    fn expression(&self) -> String {
        let Row { op, left, right, .. } = self;
        match *op {
            "where" => format!("tl.where(condition, {left}, {right})"),
            "minimum" | "fdiv" => format!("tl.{op}({left}, {right})"),
            _ => format!("{left} {op} {right}"),
        }
    }
}

/// The tile of a type.
fn tile(ty: &str) -> String {
    format!("x_{}", DType::from_name(ty).unwrap_or_else(|| panic!("{ty}")))
}

/// The results of all rows in one kernel, where every type has a tile, are of the types that the table says, and no others are wrong.
fn promotes(rows: &[Row]) {
    let mut text = "import triton\nimport triton.language as tl\n\n@triton.jit\ndef kernel():\n".to_owned();
    for ty in DType::ALL {
        let name = match ty.name().split_at(1) {
            ("i", bits) => format!("int{bits}"),
            ("u", bits) => format!("uint{bits}"),
            ("b", _) => "bfloat16".to_owned(),
            (_, "8e4m3") => "float8e4nv".to_owned(),
            (_, "8e5m2") => "float8e5".to_owned(),
            (_, bits) => format!("float{bits}"),
        };
        let _ = writeln!(text, "    x_{} = tl.full([4], 0, tl.{name})", ty.name());
    }
    text += "    condition = tl.full([4], 1, tl.int1)\n";
    for (number, row) in rows.iter().enumerate() {
        let _ = writeln!(text, "    r_{number} = {}", row.expression());
    }
    let (db, file) = database(&text, "3.6");
    let kernel = elaborated(&db, file, "kernel", Vec::new(), "3.6").expect("it is in the file");
    let found: HashMap<&str, Option<DType>> = kernel
        .bindings
        .iter()
        .map(|(_, name, ty)| (name.as_str(), if let Ty::Tile(ty) = ty { ty.elem.scalar() } else { None }))
        .collect();
    let mut wrong = Vec::new();
    for (number, row) in rows.iter().enumerate() {
        let found = found.get(format!("r_{number}").as_str()).copied().flatten();
        if found != DType::from_name(row.result) {
            wrong.push(format!("{}: {}", row.line, found.map_or("error", DType::name)));
        }
    }
    assert!(wrong.is_empty(), "{} of {} differ:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
}

fn tiles_with_tiles(table: &str) {
    let row = |line| {
        let [op, left, right, result, ..] = cells(line)[..] else { panic!("{line}") };
        Row { line, op, left: tile(left), right: tile(right), result }
    };
    promotes(&table.lines().skip(1).map(row).collect::<Vec<_>>());
}

fn tiles_with_literals(table: &str) {
    let rows = table.lines().skip(1).flat_map(|line| {
        let [op, ty, number, tile_first, number_first] = cells(line)[..] else { panic!("{line}") };
        let number = number.trim_matches('"').replace("\"\"", "\"");
        [
            Row { line, op, left: tile(ty), right: number.clone(), result: tile_first },
            Row { line, op, left: number, right: tile(ty), result: number_first },
        ]
    });
    promotes(&rows.collect::<Vec<_>>());
}

fn cells(line: &str) -> Vec<&str> {
    line.split('\t').collect()
}

/// Probe programs in bulk: what is said to be whole is sound tile IR. Their verdicts and types are `cargo xtask accuracy`'s to compare.
fn whole_probes_verify(table: &str, prelude: &str) {
    let mut whole = 0;
    for line in table.lines().skip(1) {
        let [id, _, _, signature, body, ..] = cells(line)[..] else { panic!("{line}") };
        let body = match body.strip_prefix('"').and_then(|body| body.strip_suffix('"')) {
            Some(inner) => inner.replace("\"\"", "\""),
            None => body.to_owned(),
        };
        let Some((parameters, arguments)) = parameters(signature) else { continue };
        let body = body.replace('⏎', "\n    ");
        let text = format!("{prelude}\n@triton.jit\ndef REC(x): pass\n@triton.jit\ndef kern({parameters}):\n    {body}\n");
        for triton in ["3.6", "3.9"] {
            let (db, file) = database(&text, triton);
            let Some(result) = elaborated(&db, file, "kern", arguments.clone(), triton) else { continue };
            if result.complete {
                whole += 1;
                let errors = tritium_tile::verify(&result.module);
                assert!(errors.is_empty(), "probe {id}: {errors:?}\n{text}\n{}", tritium_tile::print(&result.module));
            }
        }
    }
    assert!(whole > 800, "only {whole} are whole");
}

/// Parameter names and arguments of a signature like `xp:*fp32;n:i32`; compile-time ones are left to the measure.
fn parameters(signature: &str) -> Option<(String, Vec<Argument>)> {
    let mut names = Vec::new();
    let mut arguments = Vec::new();
    for piece in signature.split(';').filter(|piece| !piece.is_empty()) {
        let (name, ty) = piece.split_once(':')?;
        let elem = ty.trim_start_matches('*').trim_start_matches('k').trim_end_matches(":16");
        DType::from_name(elem)?;
        names.push(name);
        arguments.push(parse_argument(ty).expect("a type of the table"));
    }
    Some((names.join(", "), arguments))
}
