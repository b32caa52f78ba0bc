//! Asynchronous copies: a buffer is undefined until the wait that covers its group.

use tritium_tile::{Arg, Fault, FunctionId, Interpreter, Limits, Memory, Module, parse, verify};

const COPY: &str = include_str!("text/asynchronous.tile");

fn module(text: &str) -> Module {
    let module = parse(text).unwrap_or_else(|e| panic!("{e}"));
    let problems: Vec<String> = verify(&module).iter().map(|p| p.to_string()).collect();
    assert_eq!(problems, Vec::<String>::new());
    module
}

/// What `@copy` writes for the numbers 1, 2, … with the first `n` of them unmasked.
fn copied(text: &str, n: i64, slot: i64) -> Result<Vec<f32>, Fault> {
    let module = module(text);
    let mut memory = Memory::new();
    let source: Vec<u8> = (1..=64).flat_map(|i| (i as f32).to_ne_bytes()).collect();
    let (x, y) = (memory.allocate_from("x", &source), memory.allocate("y", 256));
    let args = [Arg::Pointer(x), Arg::Pointer(y), Arg::Int(n), Arg::Int(slot)];
    Interpreter::new(&module).run(FunctionId(0), &args, [0; 3], [1; 3], &memory, &Limits::default())?;
    Ok(memory.bytes(y).chunks_exact(4).map(|b| f32::from_ne_bytes(b.try_into().unwrap())).collect())
}

#[test]
fn what_is_waited_for_has_arrived_and_the_masked_is_zero() {
    let found = copied(COPY, 40, 2).unwrap();
    let expected: Vec<f32> = (1..=64).map(|i| if i <= 40 { i as f32 } else { 0.0 }).collect();
    assert_eq!(found, expected);
}

#[test]
fn what_is_not_waited_for_is_undefined() {
    let early = COPY.replace("pending=1", "pending=2");
    assert!(copied(&early, 64, 0).unwrap().iter().all(|x| x.is_nan()));
    let uncommitted = COPY.replacen("  async_commit\n", "", 2);
    assert!(copied(&uncommitted, 64, 0).unwrap().iter().all(|x| x.is_nan()));
    let other_buffer = COPY.replace("local_load %7", "local_load %1");
    assert!(copied(&other_buffer, 64, 0).unwrap().iter().all(|x| x.is_nan()));
}

#[test]
fn a_slot_outside_the_ring_faults() {
    assert!(copied(COPY, 64, 3).unwrap_err().message.contains("slot 3 of a ring of 3"));
    assert!(copied(COPY, 64, -1).unwrap_err().message.contains("slot -1"));
}

#[test]
fn what_is_wrong_is_named() {
    let refused = |from: &str, to: &str, message: &str| {
        let problems = verify(&parse(&COPY.replacen(from, to, 1)).unwrap());
        assert!(problems.iter().any(|p| p.message.contains(message)), "{to}: {problems:?}");
    };
    refused("module L2", "module L1", "`async_copy` begins at L2");
    refused("async_copy %6, %7", "async_copy %6, %0", "copies to a shared buffer");
    refused("local_index %0, %slot", "local_index %1, %slot", "takes a ring");
    refused(
        "%7 = local_index %0, %slot : shared f32[64, #l1]",
        "%7 = local_index %0, %slot : shared f32[3, 64, #l1]",
        "one buffer",
    );
    refused("local_load %7", "local_load %0", "of one element and shape");
    refused("f32[3, 64, #l1]", "f32[0, 64, #l1]", "power of two");
}
