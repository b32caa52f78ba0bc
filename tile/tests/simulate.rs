//! What the simulator finds: each kernel runs, and the same kernel with one thing wrong is reported.

use expect_test::{Expect, expect};
use tritium_tile::{Arg, Fault, Limits, Memory, parse, simulate::Simulator, verify};

/// Runs one program over `x` (0, 1, 2, …) and `y` (zeros), both of 256 numbers; what `y` begins with, or the fault.
fn run(text: &str) -> Result<Vec<f32>, Fault> {
    let module = parse(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let problems: Vec<String> = verify(&module).iter().map(|p| p.to_string()).collect();
    assert_eq!(problems, Vec::<String>::new());
    let mut memory = Memory::new();
    let numbers: Vec<u8> = (0..256).flat_map(|i| (i as f32).to_le_bytes()).collect();
    let (x, y) = (memory.allocate_from("x", &numbers), memory.allocate("y", 1024));
    let args = [Arg::Pointer(x), Arg::Pointer(y)];
    Simulator::new(&module).run(&args, [0; 3], [1; 3], &memory, &Limits::default())?;
    Ok(memory.bytes(y).chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect())
}

fn finds(text: &str, expected: Expect) {
    let fault = run(text).expect_err("nothing was found");
    expected.assert_eq(&format!("{:?} @{}: {fault}\n", fault.kind, fault.origin.0));
}

/// `text` with `from` made `to`, which stands there once.
fn but(text: &str, from: &str, to: &str) -> String {
    assert_eq!(text.matches(from).count(), 1, "{from}");
    text.replace(from, to)
}

const THROUGH_SHARED: &str = "module L1 num_warps=2 shared_bytes=512
#l0 = distributed{shape=[64] register=[] lane=[1, 2, 4, 8, 16] warp=[32]}
#l1 = distributed{shape=[64] register=[] lane=[2, 4, 8, 16, 32] warp=[1]}
#l2 = shared{shape=[64] offset=[1, 2, 4, 8, 16, 32]}
func @k(%x: *f32, %y: *f32) {
  %i = iota 0, 64 : i32[64, #l0]
  %xs = splat %x : *f32[64, #l0]
  %xp = addptr %xs, %i : *f32[64, #l0]
  %v = load %xp vector=1 : f32[64, #l0]
  %b = local_alloc %v shared_offset=0 : shared f32[64, #l2] @1
  barrier @2
  %w = local_load %b : f32[64, #l1] @3
  %w2 = convert_layout %w shared_offset=256 : f32[64, #l0] @4
  %ys = splat %y : *f32[64, #l0]
  %yp = addptr %ys, %i : *f32[64, #l0]
  store %yp, %w2 vector=1 @5
  return
}
";

#[test]
fn tiles_travel_through_shared_memory() {
    let y = run(THROUGH_SHARED).unwrap();
    assert_eq!(y[..64], (0..64).map(|i| i as f32).collect::<Vec<_>>());
}

#[test]
fn a_missing_barrier_is_a_race() {
    finds(
        &but(THROUGH_SHARED, "  barrier @2\n", ""),
        expect![[r#"
        Race @3: program (0, 0, 0): thread 1: byte 8 of shared memory, which thread 2 writes, and nothing orders them:
             %4 = local_alloc %3 shared_offset=0 : shared f32[64, #l2] @1
          in %5 = local_load %4 : f32[64, #l1] @3
    "#]],
    );
}

#[test]
fn scratch_over_a_buffer_in_use_is_found() {
    let second = "  %u = local_load %b : f32[64, #l0] @6\n  %w3 = add.f %w2, %u : f32[64, #l0]\n  %ys =";
    let twice = but(&but(THROUGH_SHARED, "  %ys =", second), "store %yp, %w2", "store %yp, %w3");
    assert_eq!(run(&twice).unwrap()[..4], [0.0, 2.0, 4.0, 6.0]);
    let taken = but(&twice, "shared_offset=256", "shared_offset=0");
    // The scratch is written while others may still read the buffer.
    finds(
        &taken,
        expect![[r#"
        Race @4: program (0, 0, 0): thread 16: byte 132 of shared memory, which thread 48 reads, and nothing orders them:
             %5 = local_load %4 : f32[64, #l1] @3
          in %6 = convert_layout %5 shared_offset=0 : f32[64, #l0] @4
    "#]],
    );
    // With a barrier in front it is in order, but the buffer is gone.
    finds(
        &but(&taken, "  %w2 =", "  barrier\n  %w2 ="),
        expect![[r#"
        Race @6: program (0, 0, 0): thread 0: reads byte 0 of shared memory, which belongs by now to another operation:
             %6 = convert_layout %5 shared_offset=0 : f32[64, #l0] @4
          in %7 = local_load %4 : f32[64, #l0] @6
    "#]],
    );
}

#[test]
fn shared_memory_has_an_end() {
    finds(
        &but(THROUGH_SHARED, "shared_bytes=512", "shared_bytes=500"),
        expect![[r#"
        OutOfBounds @4: program (0, 0, 0): thread 30: 4 bytes at 500 of shared memory, which has 500
          in %6 = convert_layout %5 shared_offset=256 : f32[64, #l0] @4
    "#]],
    );
}

#[test]
fn what_nothing_defines_is_not_stored() {
    let bounds =
        "  %n = constant 60 : i32[64, #l0]\n  %m = lt.s %i, %n : i1[64, #l0]\n  %v = load %xp, %m vector=1 : f32[64, #l0] @7\n";
    let masked = but(THROUGH_SHARED, "  %v = load %xp vector=1 : f32[64, #l0]\n", bounds);
    finds(
        &masked,
        expect![[r#"
        Undefined @5: program (0, 0, 0): thread 60: what is stored is undefined, as it was left by
             %5 = load %2, %4 vector=1 : f32[64, #l0] @7
          in store %10, %8 vector=1 @5
    "#]],
    );
    // Where the store has the same mask it is nobody's business.
    assert!(run(&but(&masked, "store %yp, %w2 vector", "store %yp, %w2, %m vector")).is_ok());
}

#[test]
fn vectors_are_contiguous_and_aligned() {
    let wide = THROUGH_SHARED
        .replace(
            "#l0 = distributed{shape=[64] register=[] lane=[1, 2, 4, 8, 16] warp=[32]}",
            "#l0 = distributed{shape=[64] register=[1] lane=[2, 4, 8, 16, 32] warp=[0]}",
        )
        .replace("store %yp, %w2 vector=1", "store %yp, %w2 vector=2");
    assert_eq!(run(&wide).unwrap()[..4], [0.0, 1.0, 2.0, 3.0]);
    let shifted = "  %one = constant 1 : i32[64, #l0]\n  %j = add.i %i, %one : i32[64, #l0]\n  %yp = addptr %ys, %j";
    finds(
        &but(&wide, "  %yp = addptr %ys, %i", shifted),
        expect![[r#"
        Misaligned @5: program (0, 0, 0): thread 0: a vector of 2 at an address that is not a multiple of 8 bytes
          in store %10, %6 vector=2 @5
    "#]],
    );
    let strided = "  %one = constant 2 : i32[64, #l0]\n  %j = mul.i %i, %one : i32[64, #l0]\n  %yp = addptr %ys, %j";
    finds(
        &but(&wide, "  %yp = addptr %ys, %i", strided),
        expect![[r#"
        Disagreement @5: program (0, 0, 0): thread 0: the addresses of a vector of 2 are not consecutive
          in store %10, %6 vector=2 @5
    "#]],
    );
    let sums = wide.replace("store %yp, %w2 vector=2 @5", "%old = atomic.add.f %yp, %w2 vector=2 sem=relaxed : f32[64, #l0] @5");
    assert_eq!(run(&sums).unwrap()[..4], [0.0, 1.0, 2.0, 3.0]);
    finds(
        &but(&sums, "  %yp = addptr %ys, %i", shifted),
        expect![[r#"
        Misaligned @5: program (0, 0, 0): thread 0: a vector of 2 at an address that is not a multiple of 8 bytes
          in %11 = atomic.add.f %10, %6 vector=2 sem=relaxed : f32[64, #l0] @5
    "#]],
    );
}

#[test]
fn a_thread_reduces_its_items_in_order() {
    // 2²⁴ + 1 is 2²⁴ in f32: in pairs the two would meet and count.
    let text = "module L1 num_warps=1
#l0 = distributed{shape=[4] register=[1, 2] lane=[0, 0, 0, 0, 0] warp=[]}
func @k(%x: *f32, %y: *f32) {
  %i = iota 0, 4 : i32[4, #l0]
  %zero = constant 0 : i32[4, #l0]
  %first = eq %i, %zero : i1[4, #l0]
  %big = constant 16777216.0 : f32[4, #l0]
  %small = constant 1.0 : f32[4, #l0]
  %v = select %first, %big, %small : f32[4, #l0]
  %s = reduce %v axis=0 : f32 {
  ^(%a: f32, %b: f32):
    %c = add.f %a, %b : f32
    yield %c
  }
  store %y, %s vector=1
  return
}
";
    assert_eq!(run(text).unwrap()[0], 16_777_216.0);
}

/// Three trips of a loop whose copies are two trips ahead.
const PIPELINED: &str = "module L2 num_warps=2 shared_bytes=768
#l0 = distributed{shape=[64] register=[] lane=[1, 2, 4, 8, 16] warp=[32]}
#l1 = distributed{shape=[64] register=[] lane=[2, 4, 8, 16, 32] warp=[1]}
#l2 = shared{shape=[64] offset=[1, 2, 4, 8, 16, 32]}
func @k(%x: *f32, %y: *f32) {
  %zero = constant 0 : i32
  %one = constant 1 : i32
  %two = constant 2 : i32
  %three = constant 3 : i32
  %size = constant 64 : i32
  %i = iota 0, 64 : i32[64, #l0]
  %xs = splat %x : *f32[64, #l0]
  %x0 = addptr %xs, %i : *f32[64, #l0]
  %steps = splat %size : i32[64, #l0]
  %x1 = addptr %x0, %steps : *f32[64, #l0]
  %x2 = addptr %x1, %steps : *f32[64, #l0]
  %ring = local_alloc shared_offset=0 : shared f32[3, 64, #l2]
  %b0 = local_index %ring, %zero : shared f32[64, #l2]
  async_copy %x0, %b0 vector=1 @10
  async_commit
  %b1 = local_index %ring, %one : shared f32[64, #l2]
  async_copy %x1, %b1 vector=1 @11
  async_commit
  %start = constant 0.0 : f32[64, #l1]
  %sum, %p = for %zero, %three, %one, %start, %x2 : f32[64, #l1], *f32[64, #l0] {
  ^(%t: i32, %acc: f32[64, #l1], %ptr: *f32[64, #l0]):
    async_wait pending=1
    barrier
    %slot = rem.s %t, %three : i32
    %b = local_index %ring, %slot : shared f32[64, #l2]
    %v = local_load %b : f32[64, #l1] @12
    %ahead = add.i %t, %two : i32
    %next = rem.s %ahead, %three : i32
    %c = local_index %ring, %next : shared f32[64, #l2]
    %more = lt.s %ahead, %three : i1
    %mask = splat %more : i1[64, #l0]
    async_copy %ptr, %c, %mask vector=1 @13
    async_commit
    %new = add.f %acc, %v : f32[64, #l1]
    %on = addptr %ptr, %steps : *f32[64, #l0]
    yield %new, %on
  }
  %j = iota 0, 64 : i32[64, #l1]
  %ys = splat %y : *f32[64, #l1]
  %yp = addptr %ys, %j : *f32[64, #l1]
  store %yp, %sum vector=1
  return
}
";

#[test]
fn a_ring_of_copies_is_in_order() {
    assert_eq!(run(PIPELINED).unwrap()[..4], [192.0, 195.0, 198.0, 201.0]);
}

#[test]
fn waiting_for_one_group_too_few_is_found() {
    finds(
        &but(PIPELINED, "pending=1", "pending=2"),
        expect![[r#"
        Race @12: program (0, 0, 0): thread 0: byte 0 of shared memory, which an operation under way writes, and nothing orders them:
             async_copy %7, %12 vector=1 @10
          in %22 = local_load %21 : f32[64, #l1] @12
    "#]],
    );
}

#[test]
fn a_copy_into_the_slot_being_read_is_found() {
    // One slot back is the one that this trip reads.
    finds(
        &but(PIPELINED, "%c = local_index %ring, %next", "%c = local_index %ring, %slot"),
        expect![[r#"
        Race @13: program (0, 0, 0): thread 1: byte 4 of shared memory, which thread 32 reads, and nothing orders them:
             %22 = local_load %21 : f32[64, #l1] @12
          in async_copy %19, %25, %27 vector=1 @13
    "#]],
    );
}

#[test]
fn waiting_orders_only_a_threads_own_copies() {
    finds(
        &but(PIPELINED, "    barrier\n", ""),
        expect![[r#"
        Race @12: program (0, 0, 0): thread 1: byte 8 of shared memory, which thread 2 writes, and nothing orders them:
             async_copy %7, %12 vector=1 @10
          in %22 = local_load %21 : f32[64, #l1] @12
    "#]],
    );
}

#[test]
fn a_slot_outside_its_ring_is_found() {
    finds(
        &but(PIPELINED, "%c = local_index %ring, %next", "%c = local_index %ring, %three"),
        expect![[r#"
        OutOfBounds @4294967295: program (0, 0, 0): slot 3 of a ring that has 3
          in %25 = local_index %11, %3 : shared f32[64, #l2]
    "#]],
    );
}

#[test]
fn programs_may_run_in_any_order() {
    use tritium_tile::simulate::order;
    assert_eq!(order([2, 2, 1], 0), [[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]]);
    let mut shuffled = order([4, 3, 2], 7);
    assert_ne!(shuffled, order([4, 3, 2], 0));
    shuffled.sort_by_key(|&[x, y, z]| [z, y, x]);
    assert_eq!(shuffled, order([4, 3, 2], 0));
}
