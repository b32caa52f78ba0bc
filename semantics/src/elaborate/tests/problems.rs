//! One mistake, one message.

use expect_test::expect;

use super::problems;

/// Five kinds of mistake in one kernel: five messages, each once, where it is.
#[test]
fn five_mistakes_five_messages() {
    let text = "
        @triton.jit
        def kernel(x, out, n, SIZE, BM: tl.constexpr, BN: tl.constexpr):
            rows = tl.arange(0, BM)
            cols = tl.arange(0, BN)
            both = rows + cols
            scratch = tl.zeros((SIZE, 16), dtype=tl.float32)
            v = tl.load(x + rows, other=0.0)
            a = tl.zeros((BM, BN), dtype=tl.float16)
            b = tl.zeros((BM, BN), dtype=tl.float16)
            c = tl.dot(a, b)
            total = 0.0
            for k in range(n):
                total += v
            tl.store(out + rows, both + scratch + v + c + total)
    ";
    expect![[r#"
        9: SHP001 at `rows + cols`: `rows` has shape [64] ([BM]) and `cols` has shape [32] ([BN]); `+` cannot match 64 with 32: make one a column and the other a row, `rows[:, None]` and `cols[None, :]`
            7: `tl.arange(0, BM)`: 64 comes from BM here
            8: `tl.arange(0, BN)`: 32 comes from BN here
            fix?: Make a column and a row: `[:, None]` after `rows` `[None, :]` after `cols`
        10: CXP001 at `SIZE`: a shape must be known at compile time, and `SIZE` is a run-time value: annotate it `SIZE: tl.constexpr`
            6: `SIZE`: the parameter `SIZE`
            fix?: Annotate `SIZE` as tl.constexpr: `: tl.constexpr` after `SIZE`
        11: MSK001 at `other=0.0`: `other` is what masked-off elements become, and this load has no mask: add one, or drop `other`
            fix?: Remove `other`: without `other=0.0`
        14: DOT001 at `tl.dot(a, b)`: the inner sizes of a matrix product must be equal: `a` is [64, 32] ([BM, BN]) and `b` is [64, 32] ([BM, BN]), so 32 meets 64
            12: `tl.zeros((BM, BN), dtype=tl.float16)`: 32 comes from BN here
            13: `tl.zeros((BM, BN), dtype=tl.float16)`: 64 comes from BM here
        17: CTL005 at `total`: `total` enters the loop as f32 and is f32[64] after a trip: the type of a carried value must stay the same. Start it with that shape
            15: `total`: `total` starts as f32 here
            fix?: Start it as f32[64]: `0.0` -> `tl.zeros((BM,), dtype=tl.float32)`
    "#]].assert_eq(&problems(text, "x: *f32; out: *f32; n: i32; SIZE: i32; BM = 64; BN = 32"));
}

/// Each line of a kernel body, alone after a common start; its problem, if it has one.
fn each(prelude: &str, args: &str, lines: &[&str]) -> String {
    let mut out = String::new();
    let names: Vec<String> = args
        .split(';')
        .map(|p| match p.split_once('=') {
            Some((name, _)) => format!("{}: tl.constexpr", name.trim()),
            None => p.split(':').next().unwrap_or_default().trim().to_owned(),
        })
        .collect();
    for line in lines {
        let body = line.replace('⏎', "\n            ");
        let text = format!(
            "\n        @triton.jit\n        def kernel({}):\n            {prelude}\n            {body}\n",
            names.join(", ")
        );
        out.push_str(&format!("{line}\n"));
        for said in problems(&text, args).lines() {
            out.push_str(&format!("    {said}\n"));
        }
    }
    out
}

#[test]
fn control_flow() {
    let lines = [
        "if i > 3:⏎    pass",
        "while i < n:⏎    n += 1",
        "while n:⏎    n -= 1",
        "if n > 0:⏎    v = 1⏎tl.store(out, v)",
        "v = 0⏎if n > 0:⏎    v = 1.0",
        "if n > 0:⏎    v = 1⏎else:⏎    v = 1.0⏎tl.store(out, v)",
        "tl.store(out, 1.0 if n > 0 else 2)",
        "v = tl.zeros((64,), tl.float16)⏎for k in range(n):⏎    v += tl.load(x + i)⏎tl.store(out + i, v)",
        "v = 0⏎for k in range(n):⏎    v += 0.5⏎tl.store(out, v)",
        "for k in range(n):⏎    return",
        "for k in range(0, 4, 0):⏎    pass",
        "for k in range(1.5):⏎    pass",
        "for k in tl.static_range(n):⏎    pass",
        "for k in (1, 2):⏎    pass",
        "for k in range(n):⏎    B += 1",
        "for k in range(n):⏎    v = k⏎tl.store(out, v)",
        "for k in range(n):⏎    break",
        "if 1.5:⏎    pass",
    ];
    expect![[r#"
        if i > 3:⏎    pass
            8: CTL001 at `i > 3`: `if i > 3` asks one question of 64 elements: `i > 3` is i1[64] ([B]). Select with `tl.where`, or reduce it to a scalar (`tl.max(i > 3, 0)`)
                7: `tl.arange(0, B)`: its shape comes from here
        while i < n:⏎    n += 1
            8: CTL002 at `i < n`: `while i < n` asks one question of 64 elements: `i < n` is i1[64] ([B]). Select with `tl.where`, or reduce it to a scalar (`tl.max(i < n, 0)`)
                7: `tl.arange(0, B)`: its shape comes from here
        while n:⏎    n -= 1
            8: CTL010 at `n`: `while n`: `n` is i32, and the condition of a run-time loop must be i1: compare it (`n != 0`)
                fix?: Compare with 0: ` != 0` after `n`
        if n > 0:⏎    v = 1⏎tl.store(out, v)
            10: CTL003 at `v`: `v` may be undefined here: it is bound in one branch of a run-time `if` only. Give it a value before
                9: `v`: `v` is bound here
        v = 0⏎if n > 0:⏎    v = 1.0
            10: CTL004 at `v`: `v` is i32 before the `if`, but this branch makes it f32: nothing is converted where branches join, so cast it
                8: `v`: `v` is i32 here
        if n > 0:⏎    v = 1⏎else:⏎    v = 1.0⏎tl.store(out, v)
            11: CTL004 at `v`: `v` is i32 after the then branch and f32 after the else branch: nothing is converted where branches join, so cast one of them
                9: `v`: i32 here
                8: `if n > 0:`: the `if` joins them
        tl.store(out, 1.0 if n > 0 else 2)
            8: CTL006 at `1.0 if n > 0 else 2`: `1.0` is f32 and `2` is i32: both arms of a run-time condition must have one type
                fix?: Write `2.0`: `2` -> `2.0`
        v = tl.zeros((64,), tl.float16)⏎for k in range(n):⏎    v += tl.load(x + i)⏎tl.store(out + i, v)
            10: CTL005 at `v`: `v` enters the loop as f16[64] and is f32[64] after a trip: the type of a carried value must stay the same. Start it as f32, or cast it back with `.to(…)`
                8: `v`: `v` starts as f16[64] here
                fix?: Start it as f32: `tl.float16` -> `tl.float32`
        v = 0⏎for k in range(n):⏎    v += 0.5⏎tl.store(out, v)
            10: CTL005 at `v`: `v` enters the loop as i32 and is f32 after a trip: the type of a carried value must stay the same. Start it as f32, or cast it back with `.to(…)`
                8: `v`: `v` starts as i32 here
                fix?: Start it as f32: `0` -> `0.0`
        for k in range(n):⏎    return
            9: LNG002 at `return`: `return` inside a run-time loop: every trip runs. Keep the result in a variable, and skip the work of later trips with a mask or `while`
        for k in range(0, 4, 0):⏎    pass
            8: CTL009 at `range(0, 4, 0)`: the step of a loop must not be 0
        for k in range(1.5):⏎    pass
            8: CTL009 at `1.5`: `1.5` is f32, and loop bounds and steps must be integer scalars
        for k in tl.static_range(n):⏎    pass
            8: CTL007 at `n`: `n` is i32, and the bounds of tl.static_range must be known at compile time: use `tl.range`, or make it tl.constexpr
                fix?: Use tl.range: `tl.static_range` -> `tl.range`
        for k in (1, 2):⏎    pass
            8: LNG001 at `(1, 2)`: a loop over `(1, 2)` cannot be used in a Triton function (`kernel`): loop over `range(…)`, `tl.range(…)` or `tl.static_range(…)`
        for k in range(n):⏎    B += 1
            9: CXP002 at `B`: `B` is constexpr[64] before the loop and i32 after a trip: a compile-time value cannot change at run time. Use another name, started with a run-time value
                6: `B`: `B` is constexpr[64] here
        for k in range(n):⏎    v = k⏎tl.store(out, v)
            10: CTL003 at `v`: `v` may be undefined here: it is first bound inside a run-time loop, which may make no trip. Give it a value before
                9: `v`: `v` is bound here
        for k in range(n):⏎    break
            9: LNG001 at `break`: `break` cannot be used in a Triton function (`kernel`): a run-time loop always finishes its trips: use `while condition`, bound the range, or mask the work
        if 1.5:⏎    pass
            8: CTL010 at `1.5`: `1.5` is 1.5, and a compile-time condition must be a bool, an int or None: compare it with something
    "#]].assert_eq(&each("i = tl.arange(0, B)", "x: *f32; out: *f32; n: i32; B = 64", &lines));
}

#[test]
fn operands() {
    let lines = [
        "a = x + n / 2",
        "a = x + x",
        "a = x == None",
        "a = i ** 2",
        "a = i @ i",
        "a = +i",
        "a = i // 2.0",
        "a = i.to(tl.int8) + 300",
        "a = i.to(tl.uint8) + -1",
        "a = i.to(tl.uint32) // n",
        "a = 0 < n < 3",
        "a = not i",
        "a = i and i > 2",
        "a = n in (1, 2)",
        "a = i[0]",
        "a = i[1:3]",
        "a = tl.exp(n)",
        "a = tl.exp(h)",
        "a = tl.load(n)",
        "a = tl.load(x + i, mask=i)",
        "a = tl.load(x + i, other=0.0)",
        "a = tl.load(x, mask=i < 3)",
        "tl.store(x, i)",
        "tl.store(x + i, i[:, None] + i[None, :])",
        "a = tl.sum(tl.load(x + i, mask=i < n))",
        "a = tl.max(tl.load(x + i, i < n), axis=0)",
        "a = tl.sum(tl.where(i < n, tl.load(x + i, mask=i < n), 0.0))",
        "a = tl.sum(i, axis=1)",
        "a = tl.reshape(i, (8, 4))",
        "a = tl.reshape(i, (n, 4))",
        "a = tl.arange(0, n)",
        "a = tl.arange(0, 48)",
        "a = tl.zeros((4096, 4096), tl.float32)",
        "a = tl.zeros((64,))",
        "a = tl.full((64,), 300, tl.int8)",
        "a = tl.load(x + i, masked=i < n)",
        "a = tl.lod(x + i)",
        "a = tl.tanh(h)",
        "a = tl.extra.cuda.num_warps()",
        "a = foo + 1",
        "a = hh + 1",
        "a = arange(0, 64)",
        "a = h.to(float16)",
        "a = abs(h)",
        "a = sorted(h)",
        "a = x.to(tl.int32)",
        "a = tl.program_id(3)",
        "a = tl.program_id(n)",
        "a = float(n)",
        "a = tl.atomic_add(x.to(tl.pointer_type(tl.int8)), 1)",
        "a: tl.constexpr = 1⏎a: tl.constexpr = 2",
        "a = 'text'",
        "a = f'{n}'",
        "i[0] = 1",
        "tl.static_assert(B == 32, 'thirty-two')",
    ];
    expect![[r#"
        a = x + n / 2
            8: DTY001 at `n / 2`: `n / 2` is f32, and the offset of a pointer counts elements: divide with `//`, or cast it with `.to(tl.int32)`
                fix?: Cast to int32: `n / 2` -> `(n / 2).to(tl.int32)`
        a = x + x
            8: LNG005 at `x + x`: `x + x`: *f32 + *f32 has no meaning; a pointer takes `+` or `-` with an integer offset
        a = x == None
            8: LNG005 at `x == None`: `x == None`: *f32 and constexpr[None] cannot be compared; ask `is None`
        a = i ** 2
            8: LNG005 at `i ** 2`: `**` is not an operator on tiles (`i` is i32[64]): write `i * i`
                fix?: Replace with `(i * i)`: `i ** 2` -> `(i * i)`
        a = i @ i
            8: LNG005 at `i @ i`: `@` is not an operator on tiles: use `tl.dot(i, i)`
                fix?: Replace with `tl.dot(i, i)`: `i @ i` -> `tl.dot(i, i)`
        a = +i
            8: LNG005 at `+i`: unary `+` is not an operator on tiles: write `i`
        a = i // 2.0
            8: LNG005 at `i // 2.0`: `//` needs integers, and `i // 2.0` is computed in f32: use `tl.floor(a / b)`
        a = i.to(tl.int8) + 300
            8: DTY004 at `i.to(tl.int8) + 300`: 300 does not fit in i8 (-128 to 127), the type of the other side of `+`: cast that side to a wider type
        a = i.to(tl.uint8) + -1
            8: DTY004 at `i.to(tl.uint8) + -1`: -1 is negative and u8, the type of the other side of `+`, is unsigned: cast that side to a signed type
        a = i.to(tl.uint32) // n
            8: DTY003 at `i.to(tl.uint32) // n`: `//` on integers of different signedness: `i.to(tl.uint32)` is u32 and `n` is i32; cast one with `.to(…)`
        a = 0 < n < 3
            8: LNG012 at `0 < n < 3`: a chained comparison cannot be used in a Triton function before 3.9: write `(0 < n) & (n < 3)`
                fix: Split the comparison: `0 < n < 3` -> `(0 < n) & (n < 3)`
        a = not i
            8: LNG005 at `not i`: `not i` needs i1, and `i` is i32[64]: write `i == 0`
        a = i and i > 2
            8: LNG005 at `i`: `i` is i32[64], and `and` needs i1: compare it (`i != 0`)
        a = n in (1, 2)
            8: LNG005 at `n in (1, 2)`: `in` is not an operator in a Triton function: compare with each value, joined by `or`
        a = i[0]
            8: LNG016 at `i[0]`: `i[…]` takes `None` and `:` only, not `0` (`i` is i32[64]): tiles have no elements to pick; sum the one that is wanted, `tl.sum(tl.where(tl.arange(0, 64) == 0, i, 0), 0)`, or use `tl.gather`
        a = i[1:3]
            8: LNG016 at `i[1:3]`: `i[…]` takes `None` and `:` only, not `1:3` (`i` is i32[64]): tiles are not sliced; load the part that is needed, or select with `tl.where`
        a = tl.exp(n)
            8: DTY005 at `n`: tl.exp needs f32 or f64, and `n` is i32: cast it with `.to(tl.float32)`
                fix?: Cast to float32: `.to(tl.float32)` after `n`
        a = tl.exp(h)
            8: DTY005 at `h`: tl.exp needs f32 or f64, and `h` is f16: cast it with `.to(tl.float32)`
                fix?: Cast to float32: `.to(tl.float32)` after `h`
        a = tl.load(n)
            8: DTY002 at `n`: tl.load needs a pointer or a tile of pointers, and `n` is i32
        a = tl.load(x + i, mask=i)
            8: DTY011 at `i`: a mask is i1, and `i` is i32[64]: compare it, `i != 0`
                fix?: Compare with 0: ` != 0` after `i`
        a = tl.load(x + i, other=0.0)
            8: MSK001 at `other=0.0`: `other` is what masked-off elements become, and this load has no mask: add one, or drop `other`
                fix?: Remove `other`: without `other=0.0`
        a = tl.load(x, mask=i < 3)
            8: SHP007 at `i < 3`: the pointer is a scalar (*f32) and the mask is i1[64]: add an index tile to the pointer
        tl.store(x, i)
            8: SHP007 at `i`: the value is f32[64] and `x` is one pointer (*f32): add an index tile to the pointer, `x + tl.arange(0, …)`
                7: `tl.arange(0, B)`: the shape of the value comes from here
        tl.store(x + i, i[:, None] + i[None, :])
            8: SHP001 at `i[:, None] + i[None, :]`: the value `i[:, None] + i[None, :]` has shape [64, 64] and the pointer `x + i` has shape [64]: it must broadcast to the pointer's shape
                7: `tl.arange(0, B)`: the shape of the value comes from here
                7: `tl.arange(0, B)`: the shape of the pointer comes from here
        a = tl.sum(tl.load(x + i, mask=i < n))
            8: MSK003 at `tl.load(x + i, mask=i < n)`: masked-off elements of this load are 0 on NVIDIA's GPUs, which changes nothing in tl.sum, but Triton promises no value: say `other=0.0`
                8: `tl.sum(tl.load(x + i, mask=i < n))`: tl.sum takes them in here
                fix?: Add `other=0.0`: `, other=0.0` after `i < n`
        a = tl.max(tl.load(x + i, i < n), axis=0)
            8: MSK003 at `tl.load(x + i, i < n)`: masked-off elements of this load are undefined, and tl.max takes them in: give the load `other=-float("inf")`
                8: `tl.max(tl.load(x + i, i < n), axis=0)`: tl.max takes them in here
                fix?: Add `other=-float("inf")`: `, other=-float("inf")` after `i < n`
        a = tl.sum(tl.where(i < n, tl.load(x + i, mask=i < n), 0.0))
        a = tl.sum(i, axis=1)
            8: SHP005 at `1`: `i` (i32[64]) has no axis 1: its only axis is 0
                fix?: Use axis 0: `1` -> `0`
        a = tl.reshape(i, (8, 4))
            8: SHP006 at `tl.reshape(i, (8, 4))`: `i` is i32[64], which has 64 elements, and [8, 4] has 32: a reshape keeps their number
                7: `tl.arange(0, B)`: its shape comes from here
        a = tl.reshape(i, (n, 4))
            8: CXP001 at `n`: a shape must be known at compile time, and `n` is a run-time value: annotate it `n: tl.constexpr`
                6: `n`: the parameter `n`
                fix?: Annotate `n` as tl.constexpr: `: tl.constexpr` after `n`
        a = tl.arange(0, n)
            8: SHP003 at `n`: the bounds of tl.arange must be known at compile time, and `n` is a run-time value: annotate it `n: tl.constexpr`
                6: `n`: the parameter `n`
                fix?: Annotate `n` as tl.constexpr: `: tl.constexpr` after `n`
        a = tl.arange(0, 48)
            8: SHP002 at `48`: 48 is not a power of two: use 64 and mask what is beyond 48
                fix?: Use 64: `48` -> `64`
        a = tl.zeros((4096, 4096), tl.float32)
            8: SHP004 at `(4096, 4096)`: a tile of [4096, 4096] has 16777216 elements, and Triton allows 1048576: use smaller blocks and a loop
        a = tl.zeros((64,))
            8: LNG011 at `tl.zeros((64,))`: tl.zeros misses `dtype`
        a = tl.full((64,), 300, tl.int8)
            8: DTY018 at `300`: 300 does not fit in i8 (-128 to 127) and wraps around without a word
        a = tl.load(x + i, masked=i < n)
            8: LNG011 at `i < n`: tl.load has no parameter `masked`; did you mean `mask`?
                fix?: Change to `mask`: `masked=i < n` -> `mask=i < n`
        a = tl.lod(x + i)
            8: LNG010 at `tl.lod`: `tl.lod` does not exist; did you mean `tl.load`?
                fix?: Change to `tl.load`: `tl.lod` -> `tl.load`
        a = tl.tanh(h)
            8: LNG010 at `tl.tanh`: `tl.tanh` does not exist; `tl.extra.cuda.libdevice.tanh` does
                fix?: Change to `tl.extra.cuda.libdevice.tanh`: `tl.tanh` -> `tl.extra.cuda.libdevice.tanh`
        a = tl.extra.cuda.num_warps()
            8: LIM002 at `tl.extra.cuda.num_warps`: `tl.extra.cuda.num_warps` is part of Triton, but Tritium does not know it yet: what depends on it is not checked
        a = foo + 1
            8: LNG018 at `foo`: `foo` is not defined
        a = hh + 1
            8: LNG018 at `hh`: `hh` is not defined; did you mean `h`?
                fix?: Change to `h`: `hh` -> `h`
        a = arange(0, 64)
            8: LNG018 at `arange`: `arange` is not defined; did you mean `tl.arange`?
                fix?: Change to `tl.arange`: `arange` -> `tl.arange`
        a = h.to(float16)
            8: LNG018 at `float16`: `float16` is not defined; did you mean `tl.float16`?
                fix?: Change to `tl.float16`: `float16` -> `tl.float16`
        a = abs(h)
            8: LNG018 at `abs`: `abs` is Python's own; in a Triton function it is `tl.abs`
                fix?: Change to `tl.abs`: `abs` -> `tl.abs`
        a = sorted(h)
            8: LNG018 at `sorted`: `sorted` is Python's own, which a Triton function cannot call
        a = x.to(tl.int32)
            8: DTY016 at `x`: `x` is *f32 and cannot become i32: a pointer becomes an integer through `tl.int64`
        a = tl.program_id(3)
            8: SHP005 at `3`: a grid has axes 0, 1 and 2, not 3
        a = tl.program_id(n)
            8: CXP001 at `n`: an axis of the grid must be known at compile time, and `n` is a run-time value: annotate it `n: tl.constexpr`
                6: `n`: the parameter `n`
                fix?: Annotate `n` as tl.constexpr: `: tl.constexpr` after `n`
        a = float(n)
            8: LNG003 at `float(n)`: `float` converts compile-time values, and `n` is i32: use `n.to(tl.float32)`
        a = tl.atomic_add(x.to(tl.pointer_type(tl.int8)), 1)
            8: DTY013 at `x.to(tl.pointer_type(tl.int8))`: `x.to(tl.pointer_type(tl.int8))` points to i8, and tl.atomic_add does not work on i8 in memory: use a 32-bit buffer
        a: tl.constexpr = 1⏎a: tl.constexpr = 2
            9: CXP002 at `a`: `a` already has a value; a tl.constexpr name is bound once: use another name
                8: `a`: `a` is first bound here
        a = 'text'
            8: CXP001 at `a`: `a` is bound to a string, which exists at compile time only: annotate it `a: tl.constexpr`
                fix?: Annotate `a` as tl.constexpr: `: tl.constexpr` after `a`
        a = f'{n}'
            8: LNG008 at `f'{n}'`: an f-string is made at compile time, and `n` is i32, known at run time only: print it with `tl.device_print("name", value)`
                8: `n`: known at run time only
        i[0] = 1
            8: LNG007 at `i[0]`: a tile (`i` is i32[64]) cannot be changed in place: make a changed copy, `i = tl.where(tl.arange(0, B) == 0, …, i)`
                fix?: Make a changed copy: `i[0]` -> `i` `tl.where(tl.arange(0, B) == 0, ` before `1` `, i)` after `1`
        tl.static_assert(B == 32, 'thirty-two')
            8: LNG017 at `tl.static_assert(B == 32, 'thirty-two')`: static_assert fails: `B == 32` is False: thirty-two
    "#]].assert_eq(&each("i = tl.arange(0, B)", "x: *f32; out: *f32; n: i32; h: f16; B = 64", &lines));
}

#[test]
fn products() {
    let lines = [
        "c = tl.dot(a, b)",
        "c = tl.dot(a, a.to(tl.bfloat16))",
        "c = tl.dot(a.to(tl.int32), a.to(tl.int32))",
        "c = tl.dot(a, a, tl.zeros((B, B), tl.float16))",
        "c = tl.dot(a, a, tl.zeros((B, 16), tl.float32))",
        "c = tl.dot(tl.zeros((B, 8), tl.float16), tl.zeros((8, B), tl.float16))",
        "c = tl.dot(a, a, input_precision='fast')",
    ];
    let prelude = "a = tl.zeros((B, B), tl.float16)\n            b = tl.zeros((16, B), tl.float16)";
    expect![[r#"
        c = tl.dot(a, b)
            9: DOT001 at `tl.dot(a, b)`: the inner sizes of a matrix product must be equal: `a` is [64, 64] ([B, B]) and `b` is [16, 64] ([16, B]), so 64 meets 16
                7: `tl.zeros((B, B), tl.float16)`: 64 comes from B here
                8: `tl.zeros((16, B), tl.float16)`: 16 comes from here
        c = tl.dot(a, a.to(tl.bfloat16))
            9: DOT003 at `tl.dot(a, a.to(tl.bfloat16))`: tl.dot needs operands of one type: `a` is f16[64, 64] and `a.to(tl.bfloat16)` is bf16[64, 64]; cast `a` with `.to(tl.bfloat16)`
                fix?: Cast to bf16: `.to(tl.bfloat16)` after `a`
        c = tl.dot(a.to(tl.int32), a.to(tl.int32))
            9: DOT003 at `a.to(tl.int32)`: `a.to(tl.int32)` is i32[64, 64], and tl.dot multiplies floats and i8: cast it with `.to(tl.float16)`
        c = tl.dot(a, a, tl.zeros((B, B), tl.float16))
            9: DOT004 at `tl.zeros((B, B), tl.float16)`: the accumulator `tl.zeros((B, B), tl.float16)` is f16[64, 64], and the product is f32[64, 64]: start it as tl.float32, and cast the final sum
                9: `tl.zeros((B, B), tl.float16)`: the accumulator is made here
        c = tl.dot(a, a, tl.zeros((B, 16), tl.float32))
            9: DOT004 at `tl.zeros((B, 16), tl.float32)`: the accumulator `tl.zeros((B, 16), tl.float32)` is f32[64, 16], and the product is f32[64, 64]
                9: `tl.zeros((B, 16), tl.float32)`: the accumulator is made here
        c = tl.dot(tl.zeros((B, 8), tl.float16), tl.zeros((8, B), tl.float16))
            9: DOT002 at `tl.dot(tl.zeros((B, 8), tl.float16), tl.zeros((8, B), tl.float16))`: tl.dot needs an inner size of at least 16 for f16, and `tl.zeros((B, 8), tl.float16)` is [64, 8] ([B, 8]) and `tl.zeros((8, B), tl.float16)` is [8, 64] ([8, B]): use larger blocks, or `tl.sum(tl.zeros((B, 8), tl.float16)[:, :, None] * tl.zeros((8, B), tl.float16)[None, :, :], 1)`
                9: `tl.zeros((B, 8), tl.float16)`: 8 comes from here
        c = tl.dot(a, a, input_precision='fast')
            9: LNG011 at `'fast'`: "fast" is no input precision: it is "tf32", "tf32x3", "bf16x3", "bf16x6" or "ieee"
    "#]].assert_eq(&each(prelude, "x: *f32; B = 64", &lines));
}

/// A rows-only mask leaves whole rows undefined, which a product along the columns does not mix.
#[test]
fn a_mask_counts_along_its_own_axis() {
    let text = "
        @triton.jit
        def kernel(x, out, M, K, B: tl.constexpr):
            r = tl.arange(0, B)
            p = x + r[:, None] * K + r[None, :]
            rows = tl.load(p, mask=r[:, None] < M)
            columns = tl.load(p, mask=r[None, :] < K)
            a = tl.dot(rows, tl.zeros((B, B), tl.float32))
            b = tl.dot(columns, tl.zeros((B, B), tl.float32))
            tl.store(out, tl.sum(a + b))
    ";
    expect![[r#"
        11: DOT006 at `tl.dot(rows, tl.zeros((B, B), tl.float32))`: tl.dot rounds f32 operands to tf32 (10 bits of mantissa instead of 23) unless told otherwise: say `input_precision="tf32"` if that is meant, `"ieee"` or `"tf32x3"` if not
            fix?: Multiply exactly: `input_precision="ieee"`: `, input_precision="ieee"` after `tl.zeros((B, B), tl.float32)`
            fix?: Keep tf32: `input_precision="tf32"`: `, input_precision="tf32"` after `tl.zeros((B, B), tl.float32)`
        12: DOT006 at `tl.dot(columns, tl.zeros((B, B), tl.float32))`: tl.dot rounds f32 operands to tf32 (10 bits of mantissa instead of 23) unless told otherwise: say `input_precision="tf32"` if that is meant, `"ieee"` or `"tf32x3"` if not
            fix?: Multiply exactly: `input_precision="ieee"`: `, input_precision="ieee"` after `tl.zeros((B, B), tl.float32)`
            fix?: Keep tf32: `input_precision="tf32"`: `, input_precision="tf32"` after `tl.zeros((B, B), tl.float32)`
        10: MSK003 at `tl.load(p, mask=r[None, :] < K)`: masked-off elements of this load are 0 on NVIDIA's GPUs, which changes nothing in tl.dot, but Triton promises no value: say `other=0.0`
            12: `tl.dot(columns, tl.zeros((B, B), tl.float32))`: tl.dot takes them in here
            fix?: Add `other=0.0`: `, other=0.0` after `r[None, :] < K`
    "#]].assert_eq(&problems(text, "x: *f32; out: *f32; M: i32; K: i32; B = 32"));
}

#[test]
fn a_problem_in_a_helper_says_who_called() {
    let text = "
        @triton.jit
        def inner(v):
            return tl.exp(v)

        @triton.jit
        def outer(v):
            return inner(v) + inner(v)

        @triton.jit
        def kernel(x):
            tl.store(x, outer(1))
    ";
    expect![[r#"
        7: DTY005 at `v`: tl.exp needs f32 or f64, and `v` is i32: cast it with `.to(tl.float32)`
            called at 11: `inner(v)`
            called at 15: `outer(1)`
    "#]]
    .assert_eq(&problems(text, "x: *f32"));
}

/// Endless recursion, endless loops and bottomless nesting end in a message.
#[test]
fn limits() {
    let recursion = "
        @triton.jit
        def down(n, depth: tl.constexpr):
            return down(n, depth + 1)

        @triton.jit
        def kernel(x):
            tl.store(x, down(1, 0))
    ";
    let mut out = problems(recursion, "x: *f32").lines().next().unwrap_or_default().to_owned();
    let unrolled = "
        @triton.jit
        def kernel(x):
            for k in tl.static_range(1000000000):
                tl.store(x + k, k)
    ";
    out.push('\n');
    out.push_str(&problems(unrolled, "x: *f32"));
    let deep = format!("\n@triton.jit\ndef kernel(x, n):\n    tl.store(x, {}n{})\n", "(1 + ".repeat(150), ")".repeat(150));
    out.push_str(&problems(&deep, "x: *f32; n: i32"));
    let mut nested = "\n@triton.jit\ndef kernel(x, n):\n".to_owned();
    for depth in 0..60 {
        nested.push_str(&format!("{}if n > {depth}:\n", " ".repeat(depth + 4)));
    }
    nested.push_str(&format!("{}tl.store(x, n)\n", " ".repeat(64)));
    out.push_str(&problems(&nested, "x: *f32; n: i32"));
    expect![[r#"
        7: LIM001 at `down(n, depth + 1)`: `down` is called 48 calls deep: does it call itself? Triton has no recursion, so use a loop
        7: LIM001 at `tl.static_range(1000000000)`: `kernel` takes more than 500000 steps to evaluate; the rest of it is not checked. Shorten its compile-time loops, or use `tl.range`
    "#]].assert_eq(&out);
}

#[test]
fn tiles_for_a_function_that_is_not_inlined() {
    let text = "
        @triton.jit(noinline=True)
        def scaled(x, factor):
            return x * factor
        @triton.jit(noinline=False)
        def inlined(x, factor):
            return x * factor
        @triton.jit
        def kernel(x, n):
            r = tl.load(x + tl.arange(0, 16))
            tl.store(x + scaled(n, 2) + tl.arange(0, 16), inlined(r, 2))
            tl.store(x + tl.arange(0, 16), scaled(r, n))
    ";
    expect![[r#"
        15: LNG011 at `r`: `scaled` is marked `noinline` and given a tile (f32[16]): Triton passes it scalars alone. Drop the mark
    "#]]
    .assert_eq(&problems(text, "x: *f32; n: i32"));
}

#[test]
fn a_result_that_must_be_used_and_a_constexpr_that_is_not_specialised() {
    let text = "
        @triton.must_use_result('nothing else comes of it')
        @triton.jit
        def cube(x):
            return x * x * x
        @triton.must_use_result
        @triton.jit
        def square(x):
            return x * x
        @triton.jit(do_not_specialize=['n', 'K'], do_not_specialize_on_alignment=('B',))
        def kernel(x, out, n, K: tl.constexpr, B: tl.constexpr):
            r = tl.load(x + tl.arange(0, 16))
            cube(r)
            square(r)
            r = cube(r)
            tl.store(out + tl.arange(0, 16), r * n * K * B)
    ";
    expect![[r#"
        14: LNG011 at `K`: `K` is a tl.constexpr, for whose value the kernel is compiled, and the decorator says not to: Triton refuses both. Take it out of the list, or drop the annotation
        14: LNG011 at `B`: `B` is a tl.constexpr, for whose value the kernel is compiled, and the decorator says not to: Triton refuses both. Take it out of the list, or drop the annotation
        16: LNG011 at `cube(r)`: the result of `cube` must be used: nothing else comes of it
        17: LNG011 at `square(r)`: the result of `square` must be used
    "#]].assert_eq(&problems(text, "x: *f32; out: *f32; n: i32; K = 3; B = 4"));
}

#[test]
fn what_a_mask_leaves_out_stays_in_its_rows() {
    let text = "
        @triton.jit
        def kernel(x, out, n, B: tl.constexpr):
            r = tl.arange(0, B)
            c = tl.arange(0, 16)
            line = tl.load(x + r, mask=r < n)
            wide = line[:, None] * tl.load(x + c)[None, :]
            cube = tl.reshape(wide, (B, 4, 4))
            a = tl.sum(cube, axis=1) + tl.sum(cube, axis=2)
            tl.store(out + r[:, None] * 4 + tl.arange(0, 4)[None, :], a, mask=r[:, None] < n)
            b = tl.sum(tl.gather(wide, tl.zeros((B, 16), tl.int32), axis=1), axis=1)
            tl.store(out + r, b, mask=r < n)
            whole = tl.load(x + r, mask=n > 0)
            tl.store(out + tl.arange(0, 4), tl.sum(tl.reshape(whole, (B // 4, 4)), axis=0), mask=n > 0)
            tl.store(out, tl.sum(tl.sum(cube, axis=0)))
            flat = tl.load(x + c[:, None] * 4 + tl.arange(0, 4)[None, :], mask=c[:, None] < n)
            tl.store(out, tl.sum(tl.reshape(flat, (64,)), axis=0))
            across = tl.load(x + r[None, :] + c[:, None], mask=r[None, :] < n)
            d = tl.gather(across, tl.zeros((16, B), tl.int32) + c[:, None], axis=1)
            tl.store(out + r, tl.sum(d, axis=0))
    ";
    expect![[r#"
        9: MSK003 at `tl.load(x + r, mask=r < n)`: masked-off elements of this load are 0 on NVIDIA's GPUs, which changes nothing in tl.sum, but Triton promises no value: say `other=0.0`
            18: `tl.sum(cube, axis=0)`: tl.sum takes them in here
            fix?: Add `other=0.0`: `, other=0.0` after `r < n`
        19: MSK003 at `tl.load(x + c[:, None] * 4 + tl.arange(0, 4)[None, :], mask=c[:, None] < n)`: masked-off elements of this load are 0 on NVIDIA's GPUs, which changes nothing in tl.sum, but Triton promises no value: say `other=0.0`
            20: `tl.sum(tl.reshape(flat, (64,)), axis=0)`: tl.sum takes them in here
            fix?: Add `other=0.0`: `, other=0.0` after `c[:, None] < n`
        21: MSK003 at `tl.load(x + r[None, :] + c[:, None], mask=r[None, :] < n)`: masked-off elements of this load are undefined, and tl.sum takes them in: give the load an `other=` that tl.sum passes over after what is computed of it
            23: `tl.sum(d, axis=0)`: tl.sum takes them in here
    "#]].assert_eq(&problems(text, "x: *f32; out: *f32; n: i32; B = 32"));
}
