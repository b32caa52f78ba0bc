//! Blocks that the tensor memory accelerator copies, and the phases of mbarriers: in the interpreter and lane by lane.

use tritium_tile::{Arg, Fault, FaultKind, FunctionId, Interpreter, Limits, Memory, Module, parse, simulate::simulate, verify};

const BLOCK: &str = include_str!("text/blocks.tile");

fn module(text: &str) -> Module {
    let module = parse(text).unwrap_or_else(|e| panic!("{e}"));
    let problems: Vec<String> = verify(&module).iter().map(|p| p.to_string()).collect();
    assert_eq!(problems, Vec::<String>::new());
    module
}

/// The block of 16 rows of 8 that begins at this row and column of a tensor of `extents`, whose element `i` is `i + 1`.
fn block(text: &str, extents: [i64; 2], start: [i64; 2], lanes: bool) -> Result<Vec<f32>, Fault> {
    let module = module(text);
    let mut memory = Memory::new();
    let source: Vec<u8> = (1..=512u16).flat_map(|i| half::f16::from_f32(i.into()).to_le_bytes()).collect();
    let (x, y) = (memory.allocate_from("x", &source), memory.allocate("y", 256));
    let numbers = extents.into_iter().chain(start).map(Arg::Int);
    let args: Vec<Arg> = [Arg::Pointer(x), Arg::Pointer(y)].into_iter().chain(numbers).collect();
    let limits = Limits::default();
    match lanes {
        true => simulate(&module, &args, [0; 3], [1; 3], &memory, &limits)?,
        false => drop(Interpreter::new(&module).run(FunctionId(0), &args, [0; 3], [1; 3], &memory, &limits)?),
    }
    let bytes = memory.bytes(y);
    Ok(bytes.chunks_exact(2).map(|b| half::f16::from_le_bytes([b[0], b[1]]).to_f32()).collect())
}

#[test]
fn what_is_outside_the_tensor_is_zero() {
    for (extents, start) in
        [([64, 8], [0, 0]), ([64, 8], [16, 0]), ([20, 8], [8, 0]), ([64, 5], [3, 0]), ([64, 8], [-5, -3]), ([64, 8], [64, 0])]
    {
        let expected: Vec<f32> = (0..128)
            .map(|i| {
                let (row, column) = (start[0] + i / 8, start[1] + i % 8);
                let inside = (0..extents[0]).contains(&row) && (0..extents[1]).contains(&column);
                if inside { (row * 8 + column + 1) as f32 } else { 0.0 }
            })
            .collect();
        for lanes in [false, true] {
            assert_eq!(block(BLOCK, extents, start, lanes).unwrap(), expected, "{extents:?} {start:?}");
        }
    }
}

#[test]
fn what_is_not_waited_for_is_not_there() {
    for early in [BLOCK.replace("  mbarrier_wait %7, %2\n", ""), BLOCK.replace("mbarrier_wait %7, %2", "mbarrier_wait %7, %3")] {
        let fault = block(&early, [64, 8], [0, 0], true).unwrap_err();
        assert_eq!(fault.kind, FaultKind::Race, "{fault}");
        // The interpreter has nothing to read either; in the end the copy is missed.
        let fault = block(&early, [64, 8], [0, 0], false).unwrap_err();
        assert!(fault.message.contains("under way"), "{fault}");
    }
}

#[test]
fn what_would_hang_or_race_is_told() {
    let told = |from: &str, to: &str, message: &str| {
        assert!(BLOCK.contains(from), "{from}");
        let fault = block(&BLOCK.replacen(from, to, 1), [64, 8], [0, 0], true).unwrap_err();
        assert!(fault.message.contains(message), "{fault}");
    };
    told("%6 = constant 1 : i1", "%6 = constant 0 : i1", "waits for ever: 0 of 1 arrivals");
    told("count=1", "count=2", "waits for ever: 1 of 2 arrivals");
    told("  fence_async\n  barrier\n", "  fence_async\n", "nothing orders them");
    let load = "  tma_load %x, %rows, %columns, %4, %5, %row, %column, %0, %7, %6 contiguous=1\n";
    told(load, &load.repeat(2), "an operation under way writes");
    let other = "  %20 = local_alloc shared_offset=512 : shared f16[16, 8, #l2]\n";
    told(load, &format!("{load}{other}{}", load.replace("%0,", "%20,")), "whose phase is full");
    let stored = "  %21 = constant 0.0 : f16[16, 8, #l1]\n  local_store %21, %0\n  barrier\n";
    told(load, &format!("{stored}{load}"), "no fence stands behind the write");
    told("  barrier\n  mbarrier_invalidate %1\n", "  mbarrier_invalidate %1\n", "nothing orders them");
    told("%4 = constant 8 : i64", "%4 = constant 4 : i64", "multiples of 16 bytes");
    told(
        "mbarrier_init %1 count=1\n",
        "mbarrier_init %1 count=1\n  barrier\n  mbarrier_init %1 count=1\n",
        "where one is already",
    );
}
