//! Bodies without their text.

use std::fmt::Write as _;

use expect_test::{Expect, expect};
use tritium_syntax::{PythonVersion, parse_chunk};

use crate::body::{Body, lower};

fn body(text: &str) -> Body {
    lower(&parse_chunk(text, PythonVersion::default()).tree()).0
}

fn check(text: &str, expected: Expect) {
    expected.assert_eq(&body(text).to_string());
}

#[test]
fn statements() {
    check(
        r#"
@a.b(c, d=1)
async def f(x, /, y: int = 2, *args, z, **rest) -> None:
    """Says what it does."""
    a = b, c = (1), 2; a += 1
    n: tl.constexpr = 0x10
    m: int
    if a < b <= c: pass
    elif not d: return
    else:
        return a or b and c
    for i, j in range(3):
        continue
    else:
        break
    while True: raise E from e
    with a as b, c: del b
    assert x, "why"
    try:
        import os.path as p, sys
    except E as e:
        from ..a.b import c as d, e
    finally:
        global g
class C(B, metaclass=M):
    from m import *
match x:
    case 1: y = 1
"#,
        expect![[r#"
            @a.b(c, d=1)
            async def f(x, /, y: int = 2, *args, z, **rest) -> None:
                "Says what it does."
                a = (b, c) = (1, 2)
                a += 1
                n: tl.constexpr = 16
                m: int
                if (a < b <= c):
                    pass
                else:
                    if (not d):
                        return
                    else:
                        return (a or (b and c))
                for (i, j) in range(3):
                    continue
                else:
                    break
                while True:
                    raise E, e
                with a as b, c:
                    del b
                assert x, "why"
                try:
                    import os.path as p, sys
                except E:
                    from ..a.b import c as d, e
                finally:
                    global
            class C(B, metaclass=M):
                from m import *
            match x
                y = 1
        "#]],
    );
}

#[test]
fn expressions() {
    check(
        r#"
a + b * -c ** 2 @ d // ~e
x if c else lambda a, *b, k=1: (yield a)
[i for i in x if i], {i for i in x}, {k: v for k, v in x}, (i for i in x), {1, 2}, {1: 2, **d}, [], ()
f(*a, b=1, **c)[1:2, ::3, ...][None]
"a" 'b' f"{x!r:>{n}}{{}}\n", b"\x00a", 1_000, 1e3, 2j, 99999999999999999999999999999999999999999
(n := 1) is not None, a not in b, (1,)
"#,
        expect![[r#"
            (a + (((b * (-(c ** 2))) @ d) // (~e)))
            (x if c else (lambda a, *b, k = 1: (yield a)))
            ([i for i in x if i], {i for i in x}, {k: v for (k, v) in x}, (i for i in x), {1, 2}, {1: 2, **d}, [], ())
            f(*a, b=1, **c)[1:2, ::3, ...][None]
            (f"ab{x!r:>{n}}{{}}\n", b"\x00a", 1000, 1000.0, 2.0j, <huge>)
            (((n := 1) is not None), (a not in b), (1,))
        "#]],
    );
}

#[test]
fn errors_leave_holes() {
    check(
        "def f(:\n    x = = 1\n    y = (1 +\n",
        expect![[r#"
        def f():
            x = 1
            y = (1 + <missing>)
    "#]],
    );
    check(
        "x = a +\nif b:\nelse:\n    c\n",
        expect![[r#"
        x = (a + <missing>)
        if b:
            (nothing)
        else:
            c
    "#]],
    );
}

#[test]
fn comments_blanks_and_parentheses_leave_no_trace() {
    let plain = body("def f(x):\n    y = x + 1\n    return y\n");
    for same in [
        "# before\n\n\ndef f(x):\n    y = x + 1\n    return y\n",
        "def f(x): # here\n    # there\n    y = (x\n      + 1)\n\n    return (y)\n",
        "def f( x ) :\n  y=x+1;return y",
    ] {
        assert_eq!(body(same), plain, "{same}");
    }
    assert_ne!(body("def f(x):\n    y = x + 2\n    return y\n"), plain);
}

#[test]
fn every_id_has_a_range() {
    let text = "@d\ndef f(a, b: c = e):\n    x = a.b[c](d, e=1)\n    return f'{x}'\n";
    let (body, map) = lower(&parse_chunk(text, PythonVersion::default()).tree());
    assert_eq!((body.exprs.len(), body.stmts.len()), (map.exprs.len(), map.stmts.len()));
    let mut out = String::new();
    for (id, name, params) in &map.functions {
        let _ = writeln!(out, "{:?} {:?}", &text[*name], params.iter().map(|&p| &text[p]).collect::<Vec<_>>());
        let _ = writeln!(out, "{:?}", &text[map.stmts[id.0 as usize]]);
    }
    for range in &map.exprs {
        let _ = writeln!(out, "{:?}", &text[*range]);
    }
    expect![[r#"
        "f" ["a", "b"]
        "@d\ndef f(a, b: c = e):\n    x = a.b[c](d, e=1)\n    return f'{x}'\n"
        "d"
        "c"
        "e"
        "x"
        "a"
        "a.b"
        "c"
        "a.b[c]"
        "d"
        "1"
        "a.b[c](d, e=1)"
        "x"
        "f'{x}'"
    "#]]
    .assert_eq(&out);
}
