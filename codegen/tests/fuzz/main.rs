//! Random kernels: what the interpreter computes of them, the simulator must compute of what the compiler makes of them, bit for bit.
//!
//! `cargo xtask fuzz --seeds A..B` runs others than the few hundred that every test run does, and `--export FOLDER` writes them for a machine
//! instead. The test's program stands by itself: copied anywhere it takes the same from the environment, `TRITIUM_FUZZ_` and
//! `SEEDS=A..B`, `THREADS=N`, `SECONDS=S` (no new kernel after that), `WATCHDOG=S` (for one kernel), `OUT=FOLDER` (failures as they are found,
//! and how far it came), `EXPORT=FOLDER`. A kernel that fails is shrunk and printed; once the mistake is mended it is kept as
//! `tests/tile/fuzz/NAME.tile`, which runs here too.

mod collectives;
mod export;
mod generate;
mod shrink;
mod templates;
mod workers;

use std::{
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    sync::{Mutex, atomic::AtomicBool},
};

use generate::{INPUT, PROGRAMS, Random};
use tritium_codegen::{CompileOptions, passes};
use tritium_harness::{TileTest, repository, test, test_each, tests};
use tritium_semantics::{launch::LaunchOptions, target::Gpu};
use tritium_tile::{
    Elem, FunctionId, Module, OpKind, Scalar,
    interpret::{Arg, Interpreter, Limits, Memory},
    parse, rewrite,
    simulate::{Simulator, order},
    verify,
};

/// The SM, warps, stages.
type Target = (&'static str, u32, u32);

/// What kernels are compiled for; each for four in a row.
const TARGETS: [Target; 9] = [
    ("sm_80", 4, 3),
    ("sm_90", 4, 4),
    ("sm_90", 8, 3),
    ("sm_89", 1, 2),
    ("sm_90", 2, 1),
    ("sm_86", 8, 2),
    ("sm_90", 1, 3),
    ("sm_80", 2, 4),
    ("sm_89", 4, 1),
];

/// Those of a seed's kernel.
fn targets(seed: u64) -> [Target; 4] {
    [0, 1, 2, 3].map(|i| TARGETS[((seed * 4 + i) % TARGETS.len() as u64) as usize])
}

/// Elements after which an input begins again: no power of two.
const REPEATED: usize = 1021;

/// Work of one program; the kernels are small.
const ELEMENTS: u64 = 1 << 30;

fn options((sm, num_warps, num_stages): Target) -> CompileOptions {
    let launch = LaunchOptions { num_warps, num_stages, max_registers: None };
    CompileOptions::new(Gpu::find(sm).expect("a known SM").sm, launch)
}

/// The buffers of a kernel's pointers, and all of its arguments.
pub(crate) struct Launch {
    pub(crate) memory: Memory,
    pub(crate) args: Vec<Arg>,
    pub(crate) buffers: Vec<(Scalar, u64)>,
}

/// Multiples of 1/4 up to 2, or small integers.
fn element(random: &mut Random, scalar: Scalar) -> Vec<u8> {
    let n = random.below(17) as i64 - 8;
    let x = n as f64 / 4.0;
    match scalar {
        Scalar::I1 => vec![u8::from(n > 0)],
        Scalar::I8 => vec![random.next() as u8],
        Scalar::I16 => (random.next() as i16).to_le_bytes().to_vec(),
        Scalar::I32 => (if random.below(2) == 0 { n as i32 } else { random.next() as i32 }).to_le_bytes().to_vec(),
        Scalar::I64 => random.next().to_le_bytes().to_vec(),
        Scalar::F8E4M3 => vec![0x38 | random.next() as u8 & 0x87],
        Scalar::F8E5M2 => vec![0x3c | random.next() as u8 & 0x83],
        Scalar::F16 => half::f16::from_f64(x).to_le_bytes().to_vec(),
        Scalar::BF16 => half::bf16::from_f64(x).to_le_bytes().to_vec(),
        Scalar::F32 => (x as f32).to_le_bytes().to_vec(),
        Scalar::F64 => x.to_le_bytes().to_vec(),
    }
}

pub(crate) fn launch(module: &Module, seed: u64) -> Launch {
    let mut random = Random(seed ^ 0x5eed);
    let mut memory = Memory::new();
    let (mut args, mut buffers) = (Vec::new(), Vec::new());
    let kernel = module.entry();
    for param in &kernel.params {
        args.push(match kernel.ty(param.value).elem() {
            Elem::Ptr(scalar) => {
                let zero = param.name.starts_with('y');
                let bytes: Vec<u8> = match zero {
                    true => vec![0; INPUT * scalar.bytes() as usize],
                    false => {
                        // They repeat, so that a few thousand kernels with their data fit into a small file.
                        let some: Vec<Vec<u8>> = (0..REPEATED).map(|_| element(&mut random, scalar)).collect();
                        some.iter().cycle().take(INPUT).flatten().copied().collect()
                    }
                };
                let base = memory.allocate_from(param.name.clone(), &bytes);
                buffers.push((scalar, base));
                Arg::Pointer(base)
            }
            Elem::Scalar(_) => {
                let steps = u64::from(param.divisibility.max(1));
                Arg::Int((random.below(300 / steps.min(300)) * steps) as i64)
            }
        });
    }
    Launch { memory, args, buffers }
}

/// What memory holds afterwards, with every NaN made one.
fn memory_of(launch: &Launch) -> Vec<Vec<u8>> {
    launch
        .buffers
        .iter()
        .map(|&(scalar, base)| {
            let mut bytes = launch.memory.bytes(base);
            if scalar.is_float() {
                for element in bytes.chunks_exact_mut(scalar.bytes() as usize) {
                    if is_nan(scalar, element) {
                        element.fill(0xff);
                    }
                }
            }
            bytes
        })
        .collect()
}

fn is_nan(scalar: Scalar, bytes: &[u8]) -> bool {
    match scalar {
        Scalar::F8E4M3 => bytes[0] & 0x7f == 0x7f,
        Scalar::F8E5M2 => bytes[0] & 0x7f > 0x7c,
        Scalar::F16 => half::f16::from_le_bytes([bytes[0], bytes[1]]).is_nan(),
        Scalar::BF16 => half::bf16::from_le_bytes([bytes[0], bytes[1]]).is_nan(),
        Scalar::F32 => f32::from_le_bytes(bytes.try_into().expect("four bytes")).is_nan(),
        _ => f64::from_le_bytes(bytes.try_into().expect("eight bytes")).is_nan(),
    }
}

/// What the interpreter makes of it.
pub(crate) fn interpreted(module: &Module, seed: u64, cancel: &AtomicBool) -> Result<Vec<Vec<u8>>, String> {
    let launch = launch(module, seed);
    let interpreter = Interpreter::new(module);
    let limits = Limits { elements: ELEMENTS, cancel: Some(cancel), ..Limits::default() };
    for x in 0..PROGRAMS {
        interpreter
            .run(FunctionId(0), &launch.args, [x, 0, 0], [PROGRAMS, 1, 1], &launch.memory, &limits)
            .map_err(|fault| format!("the interpreter: {fault}"))?;
    }
    Ok(memory_of(&launch))
}

fn simulated(module: &Module, seed: u64, cancel: &AtomicBool) -> Result<Vec<Vec<u8>>, String> {
    let launch = launch(module, seed);
    let simulator = Simulator::new(module);
    let limits = Limits { elements: ELEMENTS, cancel: Some(cancel), ..Limits::default() };
    for program in order([PROGRAMS, 1, 1], seed) {
        simulator
            .run(&launch.args, program, [PROGRAMS, 1, 1], &launch.memory, &limits)
            .map_err(|fault| format!("the simulator: {fault}"))?;
    }
    Ok(memory_of(&launch))
}

/// What happened with one kernel for one or more targets.
pub(crate) struct Checker<'c> {
    pub(crate) refusals: &'c Mutex<BTreeMap<String, u64>>,
    /// Compilations in which an operation came about.
    pub(crate) operations: &'c Mutex<BTreeMap<&'static str, u64>>,
    /// Set by whoever has waited too long.
    pub(crate) cancel: &'c AtomicBool,
}

impl Checker<'_> {
    /// `Ok` says how many targets took it; what is refused is no mistake.
    pub(crate) fn check(&self, module: &Module, seed: u64, targets: &[Target]) -> Result<u64, String> {
        let run = || {
            let problems = verify(module);
            if let Some(problem) = problems.first() {
                return Err(format!("it does not verify: {problem}"));
            }
            let expected = interpreted(module, seed, self.cancel)?;
            let mut taken = 0;
            for &target in targets {
                match self.check_for(module, seed, target, &expected) {
                    Ok(yes) => taken += u64::from(yes),
                    Err(message) => return Err(format!("{target:?}: {message}")),
                }
            }
            Ok(taken)
        };
        catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<String>().cloned().or_else(|| panic.downcast_ref::<&str>().map(|s| s.to_string()));
            Err(format!("panic: {}", text.unwrap_or_default().lines().next().unwrap_or_default()))
        })
    }

    fn check_for(&self, module: &Module, seed: u64, target: Target, expected: &[Vec<u8>]) -> Result<bool, String> {
        let refused = |message: String| {
            *self.refusals.lock().expect("nobody panicked").entry(message).or_default() += 1;
            Ok(false)
        };
        let lowered = match passes::lower(module, &options(target)) {
            Ok(lowered) => lowered,
            Err(why) => return refused(why.message),
        };
        if let Some(problem) = verify(&lowered).first() {
            return Err(format!("what comes out does not verify: {problem}"));
        }
        let found = simulated(&lowered, seed, self.cancel)?;
        if let Some((i, (a, b))) = expected.iter().zip(&found).enumerate().find(|(_, (a, b))| a != b) {
            let at = a.iter().zip(b).position(|(a, b)| a != b).unwrap_or(0);
            let name = &module.entry().params[i].name;
            return Err(format!("buffer {name} differs from byte {at} on: {:02x}, not {:02x}", b[at], a[at]));
        }
        match tritium_codegen::llvm::emit(&lowered, options(target).sm) {
            Ok(_) => {
                let mut names = std::collections::BTreeSet::new();
                lowered.entry().walk(|_, op| {
                    names.insert(lowered.entry().op(op).kind.name());
                });
                let mut operations = self.operations.lock().expect("nobody panicked");
                names.into_iter().for_each(|name| *operations.entry(name).or_default() += 1);
                Ok(true)
            }
            Err(why) => refused(format!("emitter: {}", why.message)),
        }
    }
}

/// What kind of failure it is: shrinking keeps to it.
pub(crate) fn kind(failure: &str) -> String {
    let plain: String = failure.split(": %").next().unwrap_or_default().chars().filter(|c| !c.is_ascii_hexdigit()).collect();
    plain.lines().next().unwrap_or_default().chars().take(40).collect()
}

/// A setting from outside.
pub(crate) fn given(name: &str) -> Option<String> {
    std::env::var(format!("TRITIUM_FUZZ_{name}")).ok()
}

pub(crate) fn seeds() -> (u64, u64) {
    let given = given("SEEDS");
    let (a, b) = given.as_deref().and_then(|s| s.split_once("..")).unwrap_or(("0", "200"));
    (a.parse().expect("a seed"), b.parse().expect("a seed"))
}

fn main() {
    let mut tests = match given("EXPORT") {
        Some(folder) => vec![test("kernels_for_a_machine", move || export::run(Path::new(&folder)))],
        None => vec![test("random_kernels_give_the_same_results", workers::run)],
    };
    // Copied anywhere, the program stands without the repository.
    let failed_once = repository().join("tests/tile/fuzz");
    if failed_once.is_dir() {
        tests.extend(test_each(&failed_once, "tile", does_not_fail_again));
    }
    tests.extend(tests![a_missing_barrier_is_found, kernels_are_their_seeds_and_their_text]);
    tritium_harness::run(tests);
}

/// A kernel that once failed.
fn does_not_fail_again(path: &Path) {
    let module = parse(&TileTest::read(path).module()).unwrap_or_else(|error| panic!("{error}"));
    let refusals = Mutex::default();
    let checker = Checker { refusals: &refusals, operations: &Mutex::default(), cancel: &AtomicBool::new(false) };
    for seed in 0..3 {
        let taken = checker.check(&module, seed, &TARGETS).unwrap_or_else(|failure| panic!("{failure}"));
        assert!(taken > 0, "refused everywhere: {refusals:?}");
    }
}

/// The judge judges: of kernels that lack a barrier that was placed, many are found out.
fn a_missing_barrier_is_found() {
    let (mut tried, mut found) = (0, 0);
    let cancel = AtomicBool::new(false);
    for seed in 0..40 {
        let module = generate::module(seed, false);
        let Ok(mut lowered) = passes::lower(&module, &options(("sm_90", 4, 3))) else { continue };
        let mut barriers = Vec::new();
        lowered.entry().walk(|_, op| {
            if lowered.entry().op(op).kind == OpKind::Barrier {
                barriers.push(op);
            }
        });
        let Some(&one) = barriers.get(barriers.len() / 2) else { continue };
        rewrite::detach(&mut lowered.functions[0], one);
        tried += 1;
        let expected = interpreted(&module, seed, &cancel).expect("it runs");
        found += u32::from(simulated(&lowered, seed, &cancel).map_or(true, |memory| memory != expected));
    }
    // Those of an operation's end may have nothing behind them, and those of a loop no other trip.
    assert!(tried > 10 && found * 3 > tried, "{found} of {tried} missing barriers were found");
}

/// One seed, one kernel; and its text says all of it.
fn kernels_are_their_seeds_and_their_text() {
    for seed in 0..50 {
        let module = generate::module(seed, seed % 2 == 0);
        assert_eq!(module, generate::module(seed, seed % 2 == 0));
        let mut compact = module.clone();
        tritium_tile::rewrite::compact_module(&mut compact);
        assert_eq!(parse(&compact.to_string()).as_ref().map(ToString::to_string), Ok(compact.to_string()), "seed {seed}");
    }
}
