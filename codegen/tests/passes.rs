//! Runs every `tests/tile/<pass>/<hazard>.tile`: the module above the line, through the pass, is the module below it.
//! `UPDATE_EXPECT=1` writes what comes out. A pass that needs layouts is shown a module at L0 after the passes in front of it. The directory
//! `pipeline` runs all passes; `report` is a test of the estimates.
//!
//! Every module is also run by the interpreter before and after, on the same random data: memory must end up the same, bit for bit or as
//! near as `; tolerance:` says. `; run: n=64` gives integer arguments (otherwise 64), `; run: n=0 | n=64` one set after the other; every
//! pointer gets its own buffer. What comes out is then taken through the passes that are left, and the simulator runs the result: lane by
//! lane, with the races that it knows of.

use std::path::{Path, PathBuf};

use tritium_codegen::{CompileOptions, passes};
use tritium_semantics::target::Gpu;
use tritium_tile::{
    Elem, FunctionId, Module, Scalar,
    interpret::{Arg, Limits, Memory, interpret},
    simulate::simulate,
};

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
        num_stages: directive(text, "stages").map_or(1, |n| n.parse().unwrap_or_else(|e| panic!("{name}: stages: {e}"))),
    };
    let mut module = tritium_tile::parse::parse(&module_text(text)).unwrap_or_else(|e| panic!("{name}: {e}"));
    let problems = tritium_tile::verify::verify(&module);
    assert!(problems.is_empty(), "{name}: {problems:?}");
    let pass = path.parent().and_then(Path::file_name).and_then(|n| n.to_str()).unwrap_or_default();
    let whole = pass == "pipeline";
    let l0 = ["inline", "canonicalise", "load_cse", "decompose_dot", "reduce_induction_tiles", "split_addresses", "coalesce"]
        .contains(&pass);
    let mut before = module.clone();
    let mut result = Ok(());
    for step in passes::PIPELINE {
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
    let mut finished = module.clone();
    let left = passes::PIPELINE.into_iter().skip_while(|step| step.name != pass).skip(1);
    let lowered = result.is_ok() && left.into_iter().all(|step| passes::run(step, &mut finished, &options).is_ok());
    let shown = match result {
        Ok(()) => module.to_string(),
        Err(refused) => format!("; refused: {refused}\n"),
    };
    Lowered { before, after: module, finished: lowered.then_some(finished), shown }
}

struct Lowered {
    before: Module,
    after: Module,
    /// After all passes, unless one refuses.
    finished: Option<Module>,
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

/// Bytes behind every pointer.
const BUFFER: usize = 1 << 18;

/// xorshift: the same numbers on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// Small numbers of any type, so that sums stay exact or nearly so.
    fn bytes(&mut self, scalar: Scalar) -> Vec<u8> {
        let n = (self.next() % 17) as i64 - 8;
        let x = n as f64 / 4.0;
        match scalar {
            Scalar::I1 => vec![u8::from(n > 0)],
            Scalar::I8 => (n as i8).to_le_bytes().to_vec(),
            Scalar::I16 => (n as i16).to_le_bytes().to_vec(),
            Scalar::I32 => (n as i32).to_le_bytes().to_vec(),
            Scalar::I64 => n.to_le_bytes().to_vec(),
            // Sign and mantissa of numbers near 1.
            Scalar::F8E4M3 => vec![0x38 | self.next() as u8 & 0x87],
            Scalar::F8E5M2 => vec![0x3c | self.next() as u8 & 0x83],
            Scalar::F16 => half::f16::from_f64(x).to_le_bytes().to_vec(),
            Scalar::BF16 => half::bf16::from_f64(x).to_le_bytes().to_vec(),
            Scalar::F32 => (x as f32).to_le_bytes().to_vec(),
            Scalar::F64 => x.to_le_bytes().to_vec(),
        }
    }
}

fn number(scalar: Scalar, bytes: &[u8]) -> f64 {
    match scalar {
        Scalar::F16 => half::f16::from_le_bytes([bytes[0], bytes[1]]).to_f64(),
        Scalar::BF16 => half::bf16::from_le_bytes([bytes[0], bytes[1]]).to_f64(),
        Scalar::F32 => f64::from(f32::from_le_bytes(bytes.try_into().expect("four bytes"))),
        Scalar::F64 => f64::from_le_bytes(bytes.try_into().expect("eight bytes")),
        _ => f64::from(bytes[0]),
    }
}

/// What memory holds after two programs have run with these integer arguments, in the interpreter or in the simulator.
fn execute(path: &Path, given: &[(String, u64)], module: &Module, lanes: bool) -> Vec<(Scalar, Vec<u8>)> {
    let mut memory = Memory::new();
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut buffers = Vec::new();
    let mut args = Vec::new();
    for param in &module.entry().params {
        args.push(match module.entry().ty(param.value).elem() {
            Elem::Ptr(scalar) => {
                let bytes: Vec<u8> = (0..BUFFER / scalar.bytes() as usize).flat_map(|_| random.bytes(scalar)).collect();
                let base = memory.allocate_from(param.name.clone(), &bytes);
                buffers.push((scalar, base));
                Arg::Pointer(base)
            }
            Elem::Scalar(scalar) if scalar.is_float() => Arg::Float(1.5),
            Elem::Scalar(_) => {
                let value = given.iter().find(|(name, _)| *name == param.name).map_or(64, |(_, value)| *value);
                Arg::Int(value as i64)
            }
        });
    }
    for program in 0..2 {
        let (id, grid, limits) = ([program, 0, 0], [2, 1, 1], Limits::default());
        let done = match lanes {
            true => simulate(module, &args, id, grid, &memory, &limits),
            false => interpret(module, FunctionId(0), &args, id, grid, &memory, &limits),
        };
        done.unwrap_or_else(|fault| panic!("{}: {fault}\n{module}", path.display()));
    }
    buffers.into_iter().map(|(scalar, base)| (scalar, memory.bytes(base))).collect()
}

/// `before` in the interpreter and `after` as `lanes` says leave the same memory.
fn compare(path: &Path, text: &str, before: &Module, after: &Module, lanes: bool) {
    let runs = directive(text, "run").unwrap_or("");
    for run in runs.split('|') {
        compare_run(path, text, &numbers(&format!("; run:{run}"), "run"), before, after, lanes);
    }
}

fn compare_run(path: &Path, text: &str, given: &[(String, u64)], before: &Module, after: &Module, lanes: bool) {
    let told: f64 = directive(text, "tolerance").map_or(0.0, |t| t.parse().expect("a number"));
    for ((scalar, expected), (_, found)) in execute(path, given, before, false).iter().zip(&execute(path, given, after, lanes)) {
        if expected == found {
            continue;
        }
        // Threads add in another order than the interpreter does.
        let rounding = match scalar {
            Scalar::F16 => 1.0 / 1024.0,
            Scalar::BF16 => 1.0 / 128.0,
            Scalar::F32 => f64::from(f32::EPSILON),
            _ => f64::EPSILON,
        };
        let tolerance = if lanes { told.max(4.0 * rounding) } else { told };
        let width = scalar.bytes() as usize;
        let (mut error, mut norm) = (0.0, 0.0);
        for (a, b) in expected.chunks(width).zip(found.chunks(width)) {
            let (a, b) = (number(*scalar, a), number(*scalar, b));
            error += (a - b) * (a - b);
            norm += a * a;
        }
        let relative = (error / norm).sqrt();
        assert!(scalar.is_float() && relative <= tolerance, "{}: the result differs by {relative:e}\n{after}", path.display());
    }
}

fn files(directory: &Path, out: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(directory).expect("tests/tile").map(|e| e.expect("an entry").path()).collect();
    entries.sort();
    for entry in entries {
        if entry.is_dir() {
            // These have tests of their own.
            if !entry.ends_with("fuzz") && !entry.ends_with("report") {
                files(&entry, out);
            }
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
        let Lowered { before, after, finished, shown: actual } = run(&path, source);
        if !actual.starts_with("; refused") {
            compare(&path, source, &before, &after, false);
        }
        if let Some(finished) = finished {
            compare(&path, source, &before, &finished, true);
        }
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
