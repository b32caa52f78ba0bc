//! Random kernels: what the interpreter computes of them, the simulator must compute of what the compiler makes of them, bit for bit.
//!
//! `cargo xtask fuzz --seeds A..B` runs others than the few hundred that every test run does (`TRITIUM_FUZZ_SEEDS`), and
//! `--export FOLDER` writes them for a machine instead (`TRITIUM_FUZZ_EXPORT`). A kernel that fails is shrunk and printed; once the mistake
//! is mended it is kept as `tests/tile/fuzz/NAME.tile`, which runs here too.

mod export;
mod generate;
mod shrink;

use std::{
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use generate::{INPUT, PROGRAMS, Random};
use tritium_codegen::passes::{self, CompileOptions};
use tritium_semantics::target::Gpu;
use tritium_tile::{
    Elem, FunctionId, Module, Scalar,
    interpret::{Arg, Interpreter, Limits, Memory},
    parse,
    simulate::{Simulator, order},
    verify,
};

/// What every kernel is compiled for: the SM, warps, stages.
const TARGETS: [(&str, u32, u32); 4] = [("sm_80", 4, 1), ("sm_90", 4, 3), ("sm_89", 1, 2), ("sm_90", 8, 4)];

/// Work of one program; the kernels are small.
const ELEMENTS: u64 = 1 << 30;

fn options((sm, num_warps, num_stages): (&str, u32, u32)) -> CompileOptions {
    CompileOptions { sm: Gpu::find(sm).expect("a known SM").sm, num_warps, num_stages }
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
                    false => (0..INPUT).flat_map(|_| element(&mut random, scalar)).collect(),
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
            if generate::is_float(scalar) {
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
        Scalar::F16 => half::f16::from_le_bytes([bytes[0], bytes[1]]).is_nan(),
        Scalar::BF16 => half::bf16::from_le_bytes([bytes[0], bytes[1]]).is_nan(),
        Scalar::F32 => f32::from_le_bytes(bytes.try_into().expect("four bytes")).is_nan(),
        _ => f64::from_le_bytes(bytes.try_into().expect("eight bytes")).is_nan(),
    }
}

/// What the interpreter makes of it.
pub(crate) fn interpreted(module: &Module, seed: u64) -> Result<Vec<Vec<u8>>, String> {
    let launch = launch(module, seed);
    let interpreter = Interpreter::new(module);
    let limits = Limits { elements: ELEMENTS, ..Limits::default() };
    for x in 0..PROGRAMS {
        interpreter
            .run(FunctionId(0), &launch.args, [x, 0, 0], [PROGRAMS, 1, 1], &launch.memory, &limits)
            .map_err(|fault| format!("the interpreter: {fault}"))?;
    }
    Ok(memory_of(&launch))
}

fn simulated(module: &Module, seed: u64) -> Result<Vec<Vec<u8>>, String> {
    let launch = launch(module, seed);
    let simulator = Simulator::new(module);
    let limits = Limits { elements: ELEMENTS, ..Limits::default() };
    for program in order([PROGRAMS, 1, 1], seed) {
        simulator
            .run(&launch.args, program, [PROGRAMS, 1, 1], &launch.memory, &limits)
            .map_err(|fault| format!("the simulator: {fault}"))?;
    }
    Ok(memory_of(&launch))
}

/// `Ok` says how many targets took it; what is refused is no mistake.
fn check(
    module: &Module,
    seed: u64,
    targets: &[(&str, u32, u32)],
    refusals: &Mutex<BTreeMap<String, u64>>,
) -> Result<u64, String> {
    let run = || {
        let problems = verify(module);
        if let Some(problem) = problems.first() {
            return Err(format!("it does not verify: {problem}"));
        }
        let expected = interpreted(module, seed)?;
        let mut taken = 0;
        for &target in targets {
            let what = |message: String| format!("{target:?}: {message}");
            let lowered = match passes::lower_to_l1(module, &options(target)) {
                Ok(lowered) => lowered,
                Err(refused) => {
                    *refusals.lock().expect("nobody panicked").entry(refused.message).or_default() += 1;
                    continue;
                }
            };
            if let Some(problem) = verify(&lowered).first() {
                return Err(what(format!("what comes out does not verify: {problem}")));
            }
            let found = simulated(&lowered, seed).map_err(what)?;
            if let Some((i, (a, b))) = expected.iter().zip(&found).enumerate().find(|(_, (a, b))| a != b) {
                let at = a.iter().zip(b).position(|(a, b)| a != b).unwrap_or(0);
                return Err(what(format!("buffer {i} differs from byte {at} on")));
            }
            let sm = options(target).sm;
            if let Err(refused) = tritium_codegen::llvm::emit(&lowered, sm) {
                *refusals.lock().expect("nobody panicked").entry(format!("emitter: {}", refused.message)).or_default() += 1;
                continue;
            }
            taken += 1;
        }
        Ok(taken)
    };
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned().or_else(|| panic.downcast_ref::<&str>().map(|s| s.to_string()));
        Err(format!("panic: {}", text.unwrap_or_default().lines().next().unwrap_or_default()))
    })
}

/// What kind of failure it is: shrinking keeps to it.
fn kind(failure: &str) -> String {
    let plain: String = failure.chars().filter(|c| !c.is_ascii_digit()).collect();
    plain.lines().next().unwrap_or_default().chars().take(60).collect()
}

fn seeds() -> (u64, u64) {
    let given = std::env::var("TRITIUM_FUZZ_SEEDS").ok();
    let (a, b) = given.as_deref().and_then(|s| s.split_once("..")).unwrap_or(("0", "200"));
    (a.parse().expect("a seed"), b.parse().expect("a seed"))
}

#[test]
fn random_kernels_give_the_same_results() {
    if std::env::var_os("TRITIUM_FUZZ_EXPORT").is_some() {
        return;
    }
    let (from, to) = seeds();
    let next = AtomicU64::new(from);
    let refusals = Mutex::default();
    let failures: Mutex<Vec<(u64, String)>> = Mutex::default();
    let taken = AtomicU64::new(0);
    let quiet = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let threads = std::env::var("TRITIUM_FUZZ_THREADS").ok().and_then(|n| n.parse().ok()).unwrap_or(2);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= to || failures.lock().expect("nobody panicked").len() >= 20 {
                        break;
                    }
                    let module = generate::module(seed, false);
                    match check(&module, seed, &TARGETS, &refusals) {
                        Ok(n) => drop(taken.fetch_add(n, Ordering::Relaxed)),
                        Err(failure) => {
                            let wanted = kind(&failure);
                            let fails =
                                |m: &Module| check(m, seed, &TARGETS, &Mutex::default()).is_err_and(|f| kind(&f) == wanted);
                            let small = shrink::shrink(&module, &fails);
                            let told = check(&small, seed, &TARGETS, &Mutex::default()).err().unwrap_or(failure);
                            failures.lock().expect("nobody panicked").push((seed, format!("seed {seed}: {told}\n{small}")));
                        }
                    }
                }
            });
        }
    });
    std::panic::set_hook(quiet);
    let mut failures = failures.into_inner().expect("nobody panicked");
    failures.sort();
    eprintln!("{} compiled kernels of seeds {from}..{to} agree", taken.load(Ordering::Relaxed));
    for (message, count) in refusals.into_inner().expect("nobody panicked") {
        eprintln!("{count} times refused: {message}");
    }
    let texts: Vec<String> = failures.into_iter().map(|(_, text)| text).collect();
    assert!(texts.is_empty(), "{} kernels fail:\n{}", texts.len(), texts.join("\n"));
    assert!(taken.load(Ordering::Relaxed) * 2 > (to - from) * TARGETS.len() as u64, "more than half of the kernels were refused");
}

/// Kernels that once failed.
#[test]
fn what_failed_once_does_not_again() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/tile/fuzz");
    let mut files: Vec<_> = std::fs::read_dir(folder).expect("tests/tile/fuzz").map(|e| e.expect("an entry").path()).collect();
    files.sort();
    assert!(!files.is_empty());
    for path in files {
        let text = std::fs::read_to_string(&path).expect("a readable file");
        let text: String = text.lines().filter(|line| !line.starts_with(';')).map(|line| format!("{line}\n")).collect();
        let module = parse(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let refusals = Mutex::default();
        for seed in 0..3 {
            let taken =
                check(&module, seed, &TARGETS, &refusals).unwrap_or_else(|failure| panic!("{}: {failure}", path.display()));
            assert!(taken > 0, "{}: refused everywhere: {refusals:?}", path.display());
        }
    }
}

/// One seed, one kernel; and its text says all of it.
#[test]
fn kernels_are_their_seeds_and_their_text() {
    for seed in 0..50 {
        let module = generate::module(seed, seed % 2 == 0);
        assert_eq!(module, generate::module(seed, seed % 2 == 0));
        let mut compact = module.clone();
        tritium_tile::rewrite::compact_module(&mut compact);
        assert_eq!(parse(&compact.to_string()).as_ref().map(ToString::to_string), Ok(compact.to_string()), "seed {seed}");
    }
}
