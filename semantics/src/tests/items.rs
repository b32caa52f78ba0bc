//! What files declare and names mean.

use std::fmt::Write as _;

use expect_test::{Expect, expect};

use super::{Files, database};
use crate::{
    Database,
    globals::{self, Global},
    items,
};

fn check(text: &str, expected: Expect) {
    let (db, file) = database(text);
    let found = items::items(&db, file);
    let mut out = String::new();
    for f in &found.functions {
        let _ = write!(out, "{:?} {}#{}", f.kind, f.function.name(&db), f.function.nth(&db));
        for p in &f.params {
            let _ = write!(out, " {}:{:?}", p.name, p.annotation);
        }
        out.push('\n');
    }
    let kernels: Vec<_> = items::kernels(&db, file).iter().map(|f| f.name(&db).as_str()).collect();
    let _ = writeln!(out, "kernels: {}", kernels.join(" "));
    for name in items::declared(&db, file).names.keys() {
        let _ = match globals::resolve(&db, file, name.clone()) {
            Some(Global::Function(f)) => writeln!(out, "{name} = function {}", f.name(&db)),
            Some(other) => writeln!(out, "{name} = {other:?}"),
            None => writeln!(out, "{name} = nothing"),
        };
    }
    expected.assert_eq(&out);
}

#[test]
fn functions_and_names() {
    check(
        r#"
import math
import triton
from triton import language as tl, jit as compiled
from triton.language import load, float32 as f
from unknown_library import helper as h

A = tl.constexpr(7)
B: tl.constexpr = 8
C = A.value * 2 + triton.cdiv(10, 4)
D = tl.float16
E = None
try:
    import fast
except ImportError:
    fast = None

@compiled
def add(a, b):
    return a + b

@triton.autotune(configs=[], key=[])
@triton.jit(do_not_specialize=["n"])
def kernel(x, n: tl.int64, p: "*fp16", s: tl.constexpr, *, flag: "tl.constexpr" = True):
    tl.store(x, add(n, 1))

def plain(): ...
class Klass: ...
loop = loop
"#,
        expect![[r#"
            Jit add#0 a:None b:None
            Jit kernel#0 x:None n:Scalar(I64) p:Pointer { elem: F16, is_const: false } s:Constexpr flag:Constexpr
            kernels: kernel
            math = Module("math")
            triton = Module("triton")
            tl = Module("triton.language")
            compiled = Builtin("triton.jit")
            load = Builtin("triton.language.load")
            f = Constexpr(DType(F32))
            h = External("unknown_library.helper")
            A = Constexpr(Int(7))
            B = Value(Some(Int(8)))
            C = Value(Some(Int(17)))
            D = Constexpr(DType(F16))
            E = Constexpr(None)
            fast = External("fast")
            add = function add
            kernel = function kernel
            plain = PythonFunction
            Klass = Class
            loop = Opaque
        "#]],
    );
}

#[test]
fn functions_inside_functions() {
    check(
        r#"
import triton, functools
import triton.language as tl

def compiled(fn):
    return triton.jit(fn)

def make(size):
    from triton import jit as own
    local = own(debug=True)

    @own
    def named(x): ...
    @local
    def valued(x): ...
    @compiled
    def wrapped(x): ...
    @functools.partial(triton.jit, debug=True)
    def partly(x): ...
    @triton.autotune(configs=[], key=[])
    @triton.jit
    def tuned(x): ...
    def later(x): ...
    def not_this(x): ...
    if size:
        @triton.jit
        def under(x): ...
    return triton.jit(later)

def other(compiled, later):
    @compiled
    def no_kernel(x): ...
    return triton.jit(later)

class Holder:
    def method(self):
        def inner():
            with self.lock:
                for _ in range(2):
                    @triton.jit
                    def deep(x): ...
        return inner

    @triton.jit
    def member(x): ...

def helpers():
    @triton.jit
    def add(x):
        return x + 1
    @triton.jit
    def run(x):
        add(x)

def the_same_name():
    @triton.jit
    def add(x): ...
"#,
        expect![[r#"
            Jit named#0 x:None
            Jit valued#0 x:None
            Jit wrapped#0 x:None
            Jit partly#0 x:None
            Jit tuned#0 x:None
            Jit later#0 x:None
            Jit under#0 x:None
            Jit deep#0 x:None
            Jit member#0 x:None
            Jit add#0 x:None
            Jit run#0 x:None
            Jit add#1 x:None
            kernels: named valued wrapped partly tuned later under deep member run add
            triton = Module("triton")
            functools = External("functools")
            tl = Module("triton.language")
            compiled = PythonFunction
            make = PythonFunction
            other = PythonFunction
            Holder = Class
            helpers = PythonFunction
            the_same_name = PythonFunction
        "#]],
    );
}

#[test]
fn kernels_that_are_not_checked() {
    let text = r#"
import triton
from triton.experimental import gluon
"""A docstring shows how:

@triton.jit
def shown(x): ...
"""

@gluon.jit
def layouts(x): ...

TWO = '''
@triton.jit
def one(x): ...
@triton.autotune(configs=[
], key=[])
@triton.jit(
    debug=True,
)
def two(x): ...
'''
FILLED = '''
@triton.jit
def three(x): return {VALUE}
'''
BROKEN = '''
@triton.jit
def four(x: return
'''
def made(name):
    exec(f"@triton.jit\ndef {name}(x): ...")
    exec("@triton.jit\ndef %s(x): ..." % name)
    exec("@triton.jit\ndef {}(x): ...".format(name))
    run(lambda x: x)
    with pytest.raises(AttributeError):
        triton.jit(lambda x: x)
    return triton.jit(lambda x: x, debug=True)
NOTHING = "@triton.jit is a decorator"
"#;
    let (db, file) = database(&text.replace("\\\"", "\""));
    let mut out = String::new();
    for found in items::unchecked_kernels(&db, file) {
        let place: String = file.text(&db)[found.range.clone()].chars().take(24).collect();
        let _ = writeln!(out, "{} {:?} {place:?}", found.why.counted(found.count), found.name);
    }
    expect![[r#"
        1 Gluon kernel Some("layouts") "layouts"
        1 kernel in a string with holes None "'''\n@triton.jit\ndef thre"
        1 kernel in a string None "'''\n@triton.jit\ndef four"
        1 kernel in a string with holes None "f\"@triton.jit\\ndef {name"
        1 kernel in a string with holes None "\"@triton.jit\\ndef %s(x):"
        1 kernel in a string with holes None "\"@triton.jit\\ndef {}(x):"
        1 lambda None "lambda x: x"
        1 lambda None "lambda x: x"
    "#]]
    .assert_eq(&out);
}

/// Names come from the functions around: what cannot be known of them is no mistake, what can is used.
#[test]
fn closures() {
    let text = r#"
import torch, triton
import triton.language as tl

SIZE = tl.constexpr(8)

def outer(argument):
    from triton.language import exp as e
    import triton.language.extra.cuda as extra
    WIDTH = 4
    BLOCK = tl.constexpr(WIDTH * 2 + SIZE.value)
    OPEN = tl.constexpr(argument)
    KIND = tl.float16
    made = argument + 1
    again = 1
    again = 2
    looped = looped + 1
    twice = BLOCK
    for step in range(3):
        pass
    if argument:
        under = tl.constexpr(3)

    @triton.jit
    def helper(x):
        return x

    def plain(x):
        return x

    def between(SIZE):
        inner = triton.jit(plain)
        @triton.jit
        def kernel(x):
            tl.store(x, 1)

    class Box: ...
"#;
    let (db, file) = database(text);
    let kernel = items::kernels(&db, file).last().copied().expect("one kernel");
    let mut out = String::new();
    let names =
        "SIZE WIDTH BLOCK OPEN KIND made again looped twice step under e extra helper plain inner Box argument torch absent";
    for name in names.split(' ') {
        let _ = match globals::name_in(&db, kernel, name.into()) {
            Some(Global::Function(f)) => writeln!(out, "{name} = function {}", f.name(&db)),
            Some(other) => writeln!(out, "{name} = {other:?}"),
            None => writeln!(out, "{name} = nothing"),
        };
    }
    expect![[r#"
        SIZE = Opaque
        WIDTH = Value(Some(Int(4)))
        BLOCK = Constexpr(Int(16))
        OPEN = Opaque
        KIND = Constexpr(DType(F16))
        made = Opaque
        again = Opaque
        looped = Opaque
        twice = Constexpr(Int(16))
        step = Opaque
        under = Constexpr(Int(3))
        e = Builtin("triton.language.exp")
        extra = Module("triton.language.extra.cuda")
        helper = function helper
        plain = function plain
        inner = function plain
        Box = Class
        argument = Opaque
        torch = Module("torch")
        absent = nothing
    "#]]
    .assert_eq(&out);
}

#[test]
fn other_files() {
    let files = Files::new(&[
        ("/project/pkg/__init__.py", ""),
        ("/project/pkg/utils.py", "import triton\nfrom .more import *\n@triton.jit\ndef helper(x):\n    return x\n"),
        ("/project/pkg/more.py", "import triton.language as tl\nSIZE = tl.constexpr(4)\nfrom .utils import helper\n"),
        (
            "/project/pkg/a.py",
            "from .utils import helper, SIZE\nfrom pkg.utils import helper as same\nfrom . import utils\nimport pkg.more\nfrom .none import gone\n",
        ),
    ]);
    let db = Database::new(files);
    let file = crate::Db::file(&db, "/project/pkg/a.py".as_ref()).expect("the file is there");
    let mut out = String::new();
    for name in ["helper", "same", "SIZE", "utils", "gone", "absent"] {
        let what = match globals::resolve(&db, file, name.into()) {
            Some(Global::Function(f)) => format!("function {} of {}", f.name(&db), f.file(&db).path(&db).display()),
            Some(Global::File(f)) => format!("file {}", f.path(&db).display()),
            other => format!("{other:?}"),
        };
        let _ = writeln!(out, "{name}: {what}");
    }
    expect![[r#"
        helper: function helper of /project/pkg/utils.py
        same: function helper of /project/pkg/utils.py
        SIZE: Some(Constexpr(Int(4)))
        utils: file /project/pkg/utils.py
        gone: Some(Opaque)
        absent: None
    "#]]
    .assert_eq(&out);
}
