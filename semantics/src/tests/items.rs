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
