//! Runs every `tests/tile/<pass>/<hazard>.tile`, each as a test of that name: the module above the line, through the pass, is the module below
//! it. `UPDATE_EXPECT=1` writes what comes out. A pass behind the one that gives layouts is shown what the passes in front of it make of a module
//! at L0. The directory `pipeline` runs all passes.
//!
//! Every module is also run by the interpreter before and after, on the same random data: memory must end up the same, bit for bit or as
//! near as `; tolerance:` says. `; run: n=64` gives integer arguments (otherwise 64), `; run: n=0 | n=64` one set after the other; every
//! pointer gets its own buffer, or with `y=0` that of the first parameter. What comes out is then taken through the passes that are left, and the simulator runs the result: lane by
//! lane, with the races that it knows of.

use std::path::Path;

use tritium_codegen::{CompileOptions, passes};
use tritium_harness::{TileTest, repository, test_each};
use tritium_semantics::{launch::LaunchOptions, target::Gpu};
use tritium_tile::{
    Elem, FunctionId, Module, Scalar,
    interpret::{Arg, Limits, Memory, interpret},
    simulate::simulate,
};

fn main() {
    let mut tests = test_each(&repository().join("tests/tile"), "tile", check);
    // The first are kernels of the random ones, the second are reports of `estimate`.
    tests.retain(|test| !test.name().starts_with("fuzz/") && !test.name().starts_with("report/"));
    tritium_harness::run(tests);
}

fn check(path: &Path) {
    let test = TileTest::read(path);
    let Lowered { before, after, finished, shown } = lower(&test);
    if !shown.starts_with("; refused") {
        compare(&test, &before, &after, false);
    }
    if let Some(finished) = finished {
        compare(&test, &before, &finished, true);
    }
    test.assert_becomes(&shown);
}

struct Lowered {
    before: Module,
    after: Module,
    /// After all passes, unless one refuses.
    finished: Option<Module>,
    shown: String,
}

fn lower(test: &TileTest) -> Lowered {
    let options = CompileOptions {
        sm: Gpu::find(test.directive("sm").unwrap_or("sm_90")).expect("a known SM").sm,
        launch: LaunchOptions {
            num_warps: test.value("warps").unwrap_or(4),
            num_stages: test.value("stages").unwrap_or(1),
            max_registers: None,
        },
        // Triton compiles them under `debug` alone.
        assertions: test.directive("assertions") != Some("dropped"),
        global_scratch: test.directive("scratch") != Some("none"),
    };
    let mut module = tritium_tile::parse::parse(&test.module()).unwrap_or_else(|error| panic!("{error}"));
    let problems = tritium_tile::verify::verify(&module);
    assert!(problems.is_empty(), "{problems:?}");
    // The passes in front of the one that is tested, and those behind it.
    let position = passes::PIPELINE.iter().position(|pass| pass.name == test.folder());
    assert!(position.is_some() || test.folder() == "pipeline", "no pass is named {}", test.folder());
    let (first, rest) = passes::PIPELINE.split_at(position.unwrap_or(0));
    let (tested, rest) = rest.split_at(position.map_or(rest.len(), |_| 1));
    let run = |passes: &[&'static passes::Pass], module: &mut Module| {
        passes.iter().try_for_each(|pass| passes::run(pass, module, &options))
    };
    let needs_layouts = first.iter().any(|pass| pass.gives.contains(&passes::Fact::HasLayouts));
    let mut result = if needs_layouts { run(first, &mut module) } else { Ok(()) };
    let before = module.clone();
    result = result.and_then(|()| run(tested, &mut module));
    let mut finished = module.clone();
    let lowered = result.is_ok() && run(rest, &mut finished).is_ok();
    let shown = match result {
        Ok(()) => module.to_string(),
        Err(refused) => format!("; refused: {refused}\n"),
    };
    Lowered { before, after: module, finished: lowered.then_some(finished), shown }
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
fn execute(given: &[(String, u64)], module: &Module, lanes: bool) -> Vec<(Scalar, Vec<u8>)> {
    let mut memory = Memory::new();
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut buffers = Vec::new();
    let mut args = Vec::new();
    for param in &module.entry().params {
        args.push(match module.entry().ty(param.value).elem() {
            // The buffer of the parameter with this number.
            Elem::Ptr(_) if let Some(&(_, other)) = given.iter().find(|(name, _)| *name == param.name) => args[other as usize],
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
        done.unwrap_or_else(|fault| panic!("{fault}\n{module}"));
    }
    buffers.into_iter().map(|(scalar, base)| (scalar, memory.bytes(base))).collect()
}

/// `before` in the interpreter and `after` as `lanes` says leave the same memory.
fn compare(test: &TileTest, before: &Module, after: &Module, lanes: bool) {
    let tolerance = test.value("tolerance").unwrap_or(0.0);
    for given in test.alternatives("run") {
        compare_run(tolerance, &given, before, after, lanes);
    }
}

fn compare_run(told: f64, given: &[(String, u64)], before: &Module, after: &Module, lanes: bool) {
    for ((scalar, expected), (_, found)) in execute(given, before, false).iter().zip(&execute(given, after, lanes)) {
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
        assert!(scalar.is_float() && relative <= tolerance, "the result differs by {relative:e}\n{after}");
    }
}
