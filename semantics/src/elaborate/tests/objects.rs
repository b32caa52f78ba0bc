//! Tuples, named tuples, aggregates, functions of compile time and functions as values.

use expect_test::expect;

use super::{module, problems, problems_under, types, types_under};

#[test]
fn tuples_are_cut_and_joined() {
    let text = "
        @triton.jit
        def two(a, b):
            return a, b

        @triton.jit
        def swap(t):
            return (t[1], t[0])

        @triton.jit
        def kernel(t, n, C: tl.constexpr):
            a = (n, 1.0, t)
            b = a[1:]
            c = a[::-1]
            d = a[-1][0]
            e = b + (n,)
            f = (n,) * 3
            g: tl.constexpr = len(f)
            h, i = swap(t)
            j = two(*t)
            k: tl.constexpr = C[1]
            m: tl.constexpr = (1, 2) == (1, 2)
            o = tl.tuple((n, n))
            p = [x for x in f]
            q = (n, n)
            for r in range(n):
                q = (q[1], q[0] + r)
            if n > 3:
                q = (n, n)
            s = 0
            for u in tl.static_range(len(q)):
                s += q[u]
    ";
    expect![[r#"
        t: (*f32, i32)
        n: i32
        C: (constexpr[3], constexpr[4])
        a: (i32, f32, (*f32, i32))
        b: (f32, (*f32, i32))
        c: ((*f32, i32), f32, i32)
        d: *f32
        e: (f32, (*f32, i32), i32)
        f: (i32, i32, i32)
        g: constexpr[3]
        t: (*f32, i32)
        h: i32
        i: *f32
        a: *f32
        b: i32
        j: (*f32, i32)
        k: constexpr[4]
        m: constexpr[True]
        o: (i32, i32)
        x: i32
        p: (i32, i32, i32)
        q: (i32, i32)
        r: i32
        q: (i32, i32)
        q: (i32, i32)
        s: i32
        u: constexpr[1]
        s: i32
    "#]]
    .assert_eq(&types(text, "t: (*f32, i32); n: i32; C: (constexpr[3], constexpr[4])"));
}

#[test]
fn what_tuples_refuse() {
    let text = "
        @triton.jit
        def kernel(n, C: tl.constexpr):
            t = (n, 2)
            a = t[2]
            b = t[n]
            c = t[::0]
            d, e = n
            f = C
            for g in t:
                pass
            h = (n, 1) < (n, 2)
            i = t if n > 0 else (n, 2)
    ";
    expect![[r#"
        8: LNG016 at `2`: index 2 is outside a tuple of 2
        9: CXP001 at `n`: the index of a tuple must be known at compile time, and `n` is a run-time value: annotate it `n: tl.constexpr`
            6: `n`: the parameter `n`
            fix?: Annotate `n` as tl.constexpr: `: tl.constexpr` after `n`
        10: LNG016 at `::0`: the step of a slice must not be 0
        11: LNG011 at `d, e`: `(d, e)` cannot be unpacked into 2 names: it is i32, not a tuple
        12: CXP001 at `f`: `f` is bound to a compile-time tuple, which exists at compile time only: annotate it `f: tl.constexpr`
            fix?: Annotate `f` as tl.constexpr: `: tl.constexpr` after `f`
        13: LNG001 at `t`: a loop over `t` cannot be used in a Triton function (`kernel`): loop over `range(…)`, `tl.range(…)` or `tl.static_range(…)`
        15: LNG005 at `(n, 1) < (n, 2)`: `(n, 1) < (n, 2)`: (i32, constexpr[1]) and (i32, constexpr[2]) cannot be compared
        16: DTY017 at `t`: `t` is (i32, i32), which has no run-time value: a number or a tile is needed here
        16: DTY017 at `(n, 2)`: `(n, 2)` is (i32, constexpr[2]), which has no run-time value: a number or a tile is needed here
    "#]].assert_eq(&problems(text, "n: i32; C: constexpr[(1, 2)]"));
}

const NAMED: &str = "
        from typing import NamedTuple
        from collections import namedtuple

        class Matrix(NamedTuple):
            base: tl.tensor
            rows: int
            stride: int = 1

        Pair = namedtuple(\"Pair\", [\"x\", \"y\"])

        @triton.jit
        def at(m, i):
            return m.base + i * m.stride

        @triton.jit
        def both(p):
            return Pair(p.y, p.x)
";

#[test]
fn named_tuples() {
    let text = format!(
        "{NAMED}
        @triton.jit
        def kernel(x, n):
            m = Matrix(x, n)
            a = m.rows
            b = m.stride
            c = at(Matrix(x, rows=n, stride=n), 3)
            p = Pair(n, 2.0)
            q = both(p)
            r, s = q
            t = q[0]
            u: tl.constexpr = len(q)
            for i in range(n):
                p = Pair(p.x + i, p.y * 2)
            v = p.x
            tl.store(c, p.y)
"
    );
    expect![[r#"
        x: *f32
        n: i32
        m: (*f32, i32, i32)
        a: i32
        b: i32
        m: (*f32, i32, i32)
        i: constexpr[3]
        c: *f32
        p: (i32, f32)
        p: (i32, f32)
        q: (f32, i32)
        r: f32
        s: i32
        t: f32
        u: constexpr[2]
        i: i32
        p: (i32, f32)
        v: i32
    "#]]
    .assert_eq(&types(&text, "x: *f32; n: i32"));
    let text = format!(
        "{NAMED}
        @triton.jit
        def kernel(x, n):
            a = Matrix(x)
            b = Pair(1, 2, 3)
            c = Pair(1, z=3)
            d = Pair(1, 2).z
"
    );
    expect![[r#"
        25: LNG011 at `Matrix(x)`: `Matrix` misses `rows`
        26: LNG011 at `Pair(1, 2, 3)`: `Pair` takes 2 values, not 3
        27: LNG011 at `3`: `Pair` has no `z`; it has x, y
        28: LNG018 at `Pair(1, 2).z`: `Pair(1, 2)` is (constexpr[1], constexpr[2]) and has no `z`
    "#]]
    .assert_eq(&problems(&text, "x: *f32; n: i32"));
}

#[test]
fn aggregates() {
    let text = "
        @tl.core._aggregate
        class Span:
            base: tl.tensor
            width: tl.constexpr

            @triton.constexpr_function
            def __init__(self, base, width=16):
                self.base = base
                self.width = tl.constexpr(width)

            @triton.jit
            def load(self, i):
                return tl.load(self.base + i * self.width + tl.arange(0, self.width))

        @triton.jit
        def pick(s, i):
            return s.load(i)

        @triton.jit
        def kernel(x, n):
            s = Span(x, 32)
            a = s.width
            b = s.load(n)
            c = pick(Span(x), n)
            tl.store(x + tl.arange(0, 32), b)
            tl.store(x + tl.arange(0, 16), c)
    ";
    expect![[r#"
        x: *f32
        n: i32
        s: Span(*f32, constexpr[32])
        a: i32
        self: Span(*f32, constexpr[16])
        i: i32
        b: f32[32]  [self.width]
        s: Span(*f32, constexpr[16])
        i: i32
        c: f32[16]  [self.width]
    "#]]
    .assert_eq(&types(text, "x: *f32; n: i32"));
    expect![[r#""#]].assert_eq(&problems(text, "x: *f32; n: i32"));
}

#[test]
fn functions_of_compile_time() {
    let text = "
        @triton.constexpr_function
        def half(n, least=8):
            if n // 2 < least:
                return least
            return n // 2

        @triton.jit
        def relu(x):
            return tl.maximum(x, 0.0)

        @triton.jit
        def twice(x, f: tl.constexpr):
            return f(f(x))

        @triton.jit
        def kernel(x, B: tl.constexpr, ACT: tl.constexpr, WORD: tl.constexpr):
            i = tl.arange(0, half(B))
            j = tl.arange(0, half(B, least=64))
            a = twice(tl.load(x + i), relu)
            tl.static_assert(WORD == 'relu', f'not {WORD}')
            if ACT is not None:
                a = ACT(a)
            tl.store(x + i, a)
            tl.store(x + j, 1.0)
    ";
    expect![[r#"
        x: *f32
        B: constexpr[64]
        ACT: constexpr[None]
        WORD: constexpr["relu"]
        i: i32[32]
        j: i32[64]
        x: f32[32]
        f: constexpr[<function>]
        x: f32[32]
        a: f32[32]
    "#]]
    .assert_eq(&types(text, "x: *f32; B = 64; ACT = None; WORD = \"relu\""));
    expect![[r#"
        24: LNG017 at `tl.static_assert(WORD == 'relu', f'not {WORD}')`: static_assert fails: `WORD == "relu"` is False: not gelu
    "#]]
    .assert_eq(&problems(text, "x: *f32; B = 64; ACT = None; WORD = \"gelu\""));
}

/// A part gives way to a parameter of its name.
#[test]
fn names_of_parts_are_not_those_of_parameters() {
    let text = "
        @triton.jit
        def kernel(t, t_0, t_0_2):
            tl.store(t[0], t[1] + t_0 + t_0_2)
    ";
    expect![[r#"
        func @kernel(%t_0_3: *i32 {div=16}, %t_1: i32, %t_0: i32, %t_0_2: i32) {"#]]
    .assert_eq(module(text, "t: (*i32:16, i32); t_0: i32; t_0_2: i32").lines().nth(1).unwrap_or_default());
}

#[test]
fn parts_of_parameters_keep_their_facts() {
    let text = "
        @triton.jit
        def kernel(t, n):
            tl.store(t[0] + n, tl.load(t[1][0]) + t[2])
    ";
    expect![[r#"
        module L0
        func @kernel(%t_0: *f32 {div=16}, %t_1_0: *f32, %n: i32 {div=16}) {
          %0 = addptr %t_0, %n : *f32 @4
          %1 = load %t_1_0 : f32 @5
          %2 = constant 1.0 : f32 @10
          %3 = add.f %1, %2 : f32 @10
          store %0, %3 @1
          return @0
        }
    "#]]
    .assert_eq(&module(text, "t: (*f32:16, (*f32,), constexpr[1]); n: i32:16"));
}

#[test]
fn what_is_not_known_is_silent() {
    let text = "
        @triton.jit
        def kernel(d, f, x, n):
            a = f(d[0], n)
            for i in tl.static_range(len(d)):
                a += tl.load(d[i])
            d.store([0, 0], a)
            tl.store(x, a)
            b = n.missing
    ";
    expect![[r#"
        12: LNG018 at `n.missing`: `n.missing`: a tile (i32) has no `missing`
    "#]]
    .assert_eq(&problems(text, "d: unknown; f: unknown; x: *f32; n: i32"));
}

#[test]
fn recursion_is_refused() {
    let text = "
        @triton.jit
        def down(n):
            return down(n - 1)

        @triton.jit
        def kernel(x, n):
            tl.store(x, down(n))
    ";
    let found = problems(text, "x: *f32; n: i32");
    expect![
        "7: LIM001 at `down(n - 1)`: `down` is called 48 calls deep: does it call itself? Triton has no recursion, so use a loop"
    ]
    .assert_eq(found.lines().next().unwrap_or_default());
}

#[test]
fn rest_and_keyword_only_parameters() {
    let text = "
        @triton.jit
        def total(first, *rest):
            return first + rest[0]

        @triton.jit
        def scaled(x, *, by):
            return x * by

        @triton.jit
        def kernel(n):
            a = total(n, 1.0)
            b = scaled(n, by=2)
    ";
    expect![[r#"
        15: LNG001 at `total(n, 1.0)`: a call of `total`, which has `*args`, cannot be used in a Triton function (`kernel`): name its parameters (Triton 3.8 accepts it)
        16: LNG001 at `scaled(n, by=2)`: a call of `scaled`, whose parameter `by` is keyword-only, cannot be used in a Triton function (`kernel`): remove the `*` from its signature (Triton 3.9 accepts it)
    "#]].assert_eq(&problems_under(text, "n: i32", "3.6"));
    expect![[r#"
        16: LNG001 at `scaled(n, by=2)`: a call of `scaled`, whose parameter `by` is keyword-only, cannot be used in a Triton function (`kernel`): remove the `*` from its signature (Triton 3.9 accepts it)
    "#]].assert_eq(&problems_under(text, "n: i32", "3.8"));
    expect![[r#"
        n: i32
        first: i32
        rest: (constexpr[1.0],)
        a: f32
        x: i32
        by: constexpr[2]
        b: i32
    "#]]
    .assert_eq(&types_under(text, "n: i32", "3.9"));
}

#[test]
fn barriers_and_dependent_launches() {
    let text = "
        @triton.jit
        def kernel(x):
            tl.extra.cuda.gdc_wait()
            tl.store(x, 1.0)
            tl.debug_barrier()
            tl.extra.cuda.gdc_launch_dependents()
    ";
    expect![[r#"
        module L0
        func @kernel(%x: *f32) {
          grid_wait @1
          %0 = constant 1.0 : f32 @6
          store %x, %0 @6
          barrier @9
          grid_launch @12
          return @11
        }
    "#]]
    .assert_eq(&module(text, "x: *f32"));
}

#[test]
fn names_that_a_version_has_decide_conditions() {
    let text = "
        if hasattr(tl, '_experimental_make_tensor_descriptor'):
            make = tl._experimental_make_tensor_descriptor
        elif hasattr(tl, 'make_tensor_descriptor'):
            make = tl.make_tensor_descriptor
        else:
            @triton.jit
            def make(x, shape, strides, block):
                return None

        @triton.jit
        def kernel(x, n):
            d = make(x, [n, n], [n, 1], [16, 16])
    ";
    expect![[r#"
        x: *f32
        n: i32
        d: tensordesc<f32[16, 16]>
    "#]]
    .assert_eq(&types(text, "x: *f32; n: i32"));
}

#[test]
fn gluon_is_left_alone() {
    let text = "
        from triton.experimental import gluon
        from triton.experimental.gluon import language as gl

        @gluon.jit
        def other(x, layout: gl.constexpr):
            y = gl.arange(0, 100, layout=layout)
            for i in y:
                break

        @triton.jit
        def kernel(x):
            tl.store(x, 1.0)
    ";
    let text = super::source(text);
    let (db, file) = super::database(&text);
    let found: Vec<String> = crate::check::check(&db, file).iter().map(|d| format!("{} {}", d.code, d.message)).collect();
    expect![[r#"
        ["LIM004 `other` is not checked: its language is Gluon, which Tritium does not elaborate yet"]"#]]
    .assert_eq(&format!("{found:?}"));
    let names: Vec<String> = crate::items::kernels(&db, file).iter().map(|k| k.name(&db).to_string()).collect();
    assert_eq!(names, ["kernel"]);
}

#[test]
fn functions_and_classes_that_kernels_do_not_read() {
    let text = "
        import enum

        class Mode(enum.Enum):
            A = 0

        class Other(Unknown):
            pass

        @triton.jit
        def add(a, b):
            return a + b

        @triton.jit
        def fold(y, f):
            return tl.reduce(y, 0, f)

        @triton.jit
        def kernel(x, n):
            y = tl.load(x + tl.arange(0, 16))
            a = fold(y, add)
            b = tl.reduce(y, 0, add)
            c = Mode.A
            d = Other.A
    ";
    expect![[r#"
        19: LNG011 at `f`: `f` is a parameter or a local name, and before Triton 3.7 tl.reduce takes a function by its own name: write one call for each function
            called at 24: `fold(y, add)`
        26: LNG004 at `Mode`: `Mode` is a Python class, and kernels read only globals that are compile-time values: pass what you need of it as a `tl.constexpr` parameter
    "#]].assert_eq(&problems(text, "x: *f32; n: i32"));
}
