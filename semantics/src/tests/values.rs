//! What module-level names are worth to kernels, where they are bound again, go round, or outgrow what is followed.

use std::{fmt::Write as _, path::Path};

use expect_test::{Expect, expect};

use super::{Files, database, launches_of};
use crate::{
    Database, SourceFile,
    globals::{self, Global},
};

fn names(db: &Database, file: SourceFile, names: &[&str]) -> String {
    let mut out = String::new();
    for name in names {
        let _ = match globals::resolve(db, file, (*name).into()) {
            Some(Global::Function(f)) => writeln!(out, "{name} = function {}", f.name(db)),
            Some(Global::Constexpr(value)) => writeln!(out, "{name} = constexpr {value}"),
            Some(Global::Value(Some(value))) => writeln!(out, "{name} = {value}"),
            Some(other) => writeln!(out, "{name} = {other:?}"),
            None => writeln!(out, "{name} = nothing"),
        };
    }
    out
}

fn check(text: &str, wanted: &[&str], expected: Expect) {
    let (db, file) = database(&format!("import triton\nimport triton.language as tl\n{text}"));
    expected.assert_eq(&names(&db, file, wanted));
}

#[test]
fn a_name_that_reads_itself_reads_what_it_was() {
    check(
        "
BLOCK = 64
BLOCK = BLOCK * 2
LOG2E = 1.5
LOG2E = tl.constexpr(LOG2E)
n = '12'
n = int(n)
A = 1
B = A + 1
A = B + A
C = A
A = 100
def helper(x):
    return x
helper = triton.jit(helper)
lonely = lonely + 1
alias = alias
int = int
m = int('7')
pair = (1, 2)
pair = pair + pair
chained = again = 3
chained, other = other, chained
later = sooner
sooner = 5
",
        &["BLOCK", "LOG2E", "n", "A", "B", "C", "helper", "lonely", "alias", "m", "pair", "again", "chained", "later", "sooner"],
        expect![[r#"
            BLOCK = 128
            LOG2E = constexpr 1.5
            n = 12
            A = 100
            B = 2
            C = 3
            helper = function helper
            lonely = Opaque
            alias = Opaque
            m = 7
            pair = (1, 2, 1, 2)
            again = 3
            chained = Opaque
            later = Opaque
            sooner = 5
        "#]],
    );
}

#[test]
fn conditions_read_what_was_bound_before_them() {
    check(
        "
FLAG = 0
FLAG = FLAG == 0
if FLAG:
    SIZE = 32
else:
    SIZE = 64
FLAG = False
if FLAG:
    SIZE = SIZE * 100
if SIZE == 32:
    SIZE = SIZE * 2
    DONE = SIZE
if UNKNOWN:
    SIZE = SIZE + 1
MAYBE = SIZE
",
        &["FLAG", "SIZE", "DONE", "MAYBE"],
        expect![[r#"
            FLAG = False
            SIZE = Opaque
            DONE = 64
            MAYBE = Opaque
        "#]],
    );
}

#[test]
fn members_of_classes_read_the_members_before_them() {
    check(
        "
N = 4
class A:
    N = N + 1
    TWICE = N * 2
    C = A.C
    D: int = TWICE + 1
class A:
    E = A.TWICE
x = A.E
y = A.TWICE
class B:
    N = N * 10
    N = N + 1
z = B.N
",
        &["x", "y", "z"],
        expect![[r#"
            x = 10
            y = Opaque
            z = 41
        "#]],
    );
}

#[test]
fn values_that_hang_on_one_another_are_worked_out_once() {
    let doubled: String = (1..100).map(|i| format!("v{i} = v{} + v{}\n", i - 1, i - 1)).collect();
    check(
        &format!("v0 = 1\n{doubled}"),
        &["v10", "v99"],
        expect![[r#"
        v10 = 1024
        v99 = 633825300114114700748351602688
    "#]],
    );
    // Two ways to the same name at each step.
    let either: String = (1..100).map(|i| format!("if c:\n    v{i} = v{}\nelse:\n    v{i} = v{}\n", i - 1, i - 1)).collect();
    check(
        &format!("v0 = 1\nc = unknown()\n{either}"),
        &["v99"],
        expect![[r#"
        v99 = 1
    "#]],
    );
    let chain: String = (1..3000).map(|i| format!("v{i} = v{} + 1\n", i - 1)).collect();
    check(
        &format!("v0 = 1\n{chain}"),
        &["v200", "v2999"],
        expect![[r#"
        v200 = 201
        v2999 = Opaque
    "#]],
    );
}

#[test]
fn what_grows_too_large_is_unknown() {
    check(
        "
t = (0,) * 4000
u = (0,) * 5000
v = (t, t)
w = 'ab' * 30000
x = 'ab' * 10000000
y = 2 ** 100
z = 2 ** 1000
",
        &["u", "v", "x", "y", "z"],
        expect![[r#"
            u = Opaque
            v = Opaque
            x = Opaque
            y = 1267650600228229401496703205376
            z = Opaque
        "#]],
    );
}

#[test]
fn imports_that_go_round_end() {
    let files = Files::new(&[
        ("o.py", "from t import C, SIZE\nB = C + 1\nHALF = SIZE // 2\nfrom t import twice\n"),
        ("t.py", "from o import B, HALF\nSIZE = 64\nC = B + 1\nQUARTER = HALF // 2\ntwice = twice\nfrom o import twice\n"),
    ]);
    let mut db = Database::new(files);
    let file = db.set_text(Path::new("k.py"), "from t import *\nfrom o import B\n".to_owned());
    expect![[r#"
        SIZE = 64
        B = Opaque
        C = Opaque
        QUARTER = 16
        twice = Opaque
        missing = nothing
    "#]]
    .assert_eq(&names(&db, file, &["SIZE", "B", "C", "QUARTER", "twice", "missing"]));
}

#[test]
fn host_code_that_makes_too_much_is_left_and_told() {
    let kernel = "import triton, torch\n@triton.jit\ndef k(X, n):\n    pass\nx = torch.empty(4, device='cuda')\n";
    let mut out = String::new();
    for host in [
        "while True:\n    pass\nk[(1,)](x, 1)\n",
        "rows = [[0] * 1024 for _ in range(8192)]\nk[(1,)](x, 1)\n",
        "text = 'a'\nfor _ in range(64):\n    text = text.replace('a', 'aa')\nk[(1,)](x, len(text))\n",
        "chain = []\nwhile True:\n    chain = [chain]\n",
        "own = []\nown.append(own)\nk[(1,)](x, own)\nk[(1,)](x, 1)\n",
        "g = (1,)\nfor _ in range(64):\n    g = (g, g)\nk[g](x, 1)\nk[(1,)](x, g)\n",
        "big = [0] * 1000000\nk[(1,)](x, 1)\n",
    ] {
        let _ = writeln!(out, "{host}{}", launches_of(&format!("{kernel}{host}")));
    }
    expect![[r#"
        while True:
            pass
        k[(1,)](x, 1)
        LIM003 from here on the file's statements are not followed, and what they would make or launch is unknown: they take more than 400000 steps or make more than 1048576 elements; a launch block says what is launched all the same at "True"

        rows = [[0] * 1024 for _ in range(8192)]
        k[(1,)](x, 1)
        LIM003 from here on the file's statements are not followed, and what they would make or launch is unknown: they take more than 400000 steps or make more than 1048576 elements; a launch block says what is launched all the same at "[0] * 1024"

        text = 'a'
        for _ in range(64):
            text = text.replace('a', 'aa')
        k[(1,)](x, len(text))
        unknown: `.replace(…)` is not followed here at "k[(1,)](x, len(text))"

        chain = []
        while True:
            chain = [chain]
        LIM003 from here on the file's statements are not followed, and what they would make or launch is unknown: they take more than 400000 steps or make more than 1048576 elements; a launch block says what is launched all the same at "chain"

        own = []
        own.append(own)
        k[(1,)](x, own)
        k[(1,)](x, 1)
        k = k[1, 1, 1] X=x:f32[4]/[1]=Empty n=1 warps=4 stages=3
        unknown: `n` is not known at "k[(1,)](x, own)"

        g = (1,)
        for _ in range(64):
            g = (g, g)
        k[g](x, 1)
        k[(1,)](x, g)
        unknown: a size of the grid is not known at "k[g](x, 1)"
        unknown: `n` has more parts than are followed at "k[(1,)](x, g)"

        big = [0] * 1000000
        k[(1,)](x, 1)
        k = k[1, 1, 1] X=x:f32[4]/[1]=Empty n=1 warps=4 stages=3
        LIM003 this is longer than the 65536 elements that are followed, so it is unknown at "[0] * 1000000"

    "#]].assert_eq(&out);
}

#[test]
fn what_no_launch_can_be_is_told() {
    let kernel = "import triton, torch\n@triton.jit\ndef k(X, n):\n    pass\nx = torch.empty(4, device='cuda')\n";
    let host = "
k[(1,)](x, 1, num_warps=0)
k[(1,)](x, 1, num_warps=64)
k[(1,)](x, 1, num_warps=0**40)
k[(1,)](x, 1, num_stages=2**40)
k[(1,)](x, 1, num_stages=-1)
k[(1,)](x, 1, maxnreg=0)
k[(1,)](x, 1, maxnreg=300)
k[(1,)](x, 1, maxnreg=None)
k[(0,)](x, 1)
k[(-1,)](x, 1)
k[(2**31,)](x, 1)
k[(1, 65536)](x, 1)
k[(1, 1, 2**64)](x, 1)
try:
    y = torch.randint(5, -5, (16,), device='cuda')
except:
    pass
try:
    y = torch.empty(16, device='cuda').uniform_(1, 0)
except:
    pass
try:
    y = torch.normal(0.0, -1.0, (16,))
except:
    pass
try:
    y = torch.empty(2**20, 2**20, 2**20, device='cuda')
except:
    pass
k[(2,)](x, 1)
";
    expect![[r#"
        k = k[1, 1, 1] X=x:f32[4]/[1]=Empty n=1 warps=4 stages=1
        k#2 = k[1, 1, 1] X=x:f32[4]/[1]=Empty n=1 warps=4 stages=3
        k#3 = k[0, 1, 1] X=x:f32[4]/[1]=Empty n=1 warps=4 stages=3
        k#4 = k[2, 1, 1] X=x:f32[4]/[1]=Empty n=1 warps=4 stages=3
        LCH008 `num_warps` is a power of two, and this is 0 at "k[(1,)](x, 1, num_warps=0)"
        LCH008 `num_warps` is at most 32, which are 1,024 threads, and this is 64 at "k[(1,)](x, 1, num_warps=64)"
        LCH008 `num_warps` is a power of two, and this is 0 at "k[(1,)](x, 1, num_warps=0**40)"
        LCH009 `num_stages` is a small number, and 1099511627776 is none that Triton takes at "k[(1,)](x, 1, num_stages=2**40)"
        LCH009 `num_stages` is at least 1, and -1 does what 1 does: nothing is loaded ahead at "k[(1,)](x, 1, num_stages=-1)"
        LCH009 `maxnreg` is 1 to 255, and ptxas refuses 0 at "k[(1,)](x, 1, maxnreg=0)"
        LCH009 `maxnreg` is 1 to 255, and ptxas ignores 300 at "k[(1,)](x, 1, maxnreg=300)"
        LCH002 the grid has no programs along x, so nothing is launched at "k[(0,)](x, 1)"
        LCH002 a size of the grid is negative: -1 at "k[(-1,)](x, 1)"
        LCH003 the grid has 2147483648 programs along x, and CUDA takes 2147483647 there: let a program do more at "k[(2**31,)](x, 1)"
        LCH003 the grid has 65536 programs along y, and CUDA takes 65535 there: put the long axis first at "k[(1, 65536)](x, 1)"
        LCH003 the grid has 18446744073709551616 programs along z, and CUDA takes 65535 there: put the long axis first at "k[(1, 1, 2**64)](x, 1)"
        LCH012 `randint(5, -5)` has nothing to choose from: the numbers go from the first up to, not including, the second at "torch.randint(5, -5, (16,), device='cuda')"
        LCH012 `uniform(1, 0)` has nothing to choose from: the first number is the smaller one, and both are finite at "torch.empty(16, device='cuda').uniform_(1, 0)"
        LCH012 `normal(0, -1)` is no distribution: the second number is its standard deviation, 0 or more, and both are finite at "torch.normal(0.0, -1.0, (16,))"
        LCH012 `empty` would take 1048576 TiB, and would not fit any memory at "torch.empty(2**20, 2**20, 2**20, device='cuda')"
    "#]].assert_eq(&launches_of(&format!("{kernel}{host}")));
    let block = |rows: &str| format!("# /// tritium\n# [launch.a]\n{rows}# ///\n{kernel}");
    let whole = "# args = { X = 'f32[4]', n = 1 }\n";
    let mut out = String::new();
    for rows in [
        format!("# grid = [0]\n{whole}"),
        format!("# grid = [-1]\n{whole}"),
        format!("# grid = [18446744073709551616]\n{whole}"),
        format!("# grid = ['2 * 1024 * 1024 * 1024']\n{whole}"),
        format!("# grid = [1, 65536]\n{whole}"),
        format!("# grid = [1]\n# num_warps = 3\n{whole}"),
        format!("# grid = [1]\n# num_warps = 64\n{whole}"),
        format!("# grid = [1]\n# maxnreg = 0\n{whole}"),
        format!("# grid = [1]\n# tolerance = nan\n{whole}"),
        "# grid = [1]\n# args = { X = 'i32[4] = randint(5, -5)', n = 1 }\n".to_owned(),
        "# grid = [1]\n# args = { X = 'i32[4] = randint(0.5, 5)', n = 1 }\n".to_owned(),
        "# grid = [1]\n# args = { X = 'f32[4] = uniform(1, 0)', n = 1 }\n".to_owned(),
        "# grid = [1]\n# args = { X = 'f32[4] = normal(0, -1)', n = 1 }\n".to_owned(),
        "# grid = [1]\n# args = { X = 'f32[1000000000, 1000000]', n = 1 }\n".to_owned(),
        "# grid = [1]\n# args = { X = 'f32[1000000000, 1000000, 1000000]', n = 1 }\n".to_owned(),
    ] {
        out.push_str(&launches_of(&block(&rows)));
    }
    expect![[r#"
        a = k[0, 1, 1] X=X:f32[4]/[1]=Empty n=1 warps=4 stages=3 (block)
        LCH002 the grid has no programs along x, so nothing is launched at "[0]"
        LCH002 a size of the grid is negative: -1 at "[-1]"
        LCH003 the grid has 18446744073709551616 programs along x, and CUDA takes 2147483647 there: let a program do more at "[18446744073709551616]"
        LCH003 the grid has 2147483648 programs along x, and CUDA takes 2147483647 there: let a program do more at "['2 * 1024 * 1024 * 1024']"
        LCH003 the grid has 65536 programs along y, and CUDA takes 65535 there: put the long axis first at "[1, 65536]"
        LCH008 `num_warps` is a power of two, and this is 3 at "3"
        LCH008 `num_warps` is at most 32, which are 1,024 threads, and this is 64 at "64"
        LCH009 `maxnreg` is 1 to 255, and ptxas refuses 0 at "0"
        LCH011 `tolerance` is a relative error, 0 or more and finite, and this is nan at "nan"
        LCH011 `randint(5, -5)` has nothing to choose from: the numbers go from the first up to, not including, the second at "'i32[4] = randint(5, -5)'"
        LCH011 `randint(0.5, 5)` takes two whole numbers of 64 bits at "'i32[4] = randint(0.5, 5)'"
        LCH011 `uniform(1, 0)` has nothing to choose from: the first number is the smaller one, and both are finite at "'f32[4] = uniform(1, 0)'"
        LCH011 `normal(0, -1)` is no distribution: the second number is its standard deviation, 0 or more, and both are finite at "'f32[4] = normal(0, -1)'"
        LCH011 `X` would take 3638 TiB, and would not fit any memory at "'f32[1000000000, 1000000]'"
        LCH011 `X` has more elements than can be counted, and would not fit any memory at "'f32[1000000000, 1000000, 1000000]'"
    "#]].assert_eq(&out);
}

/// What Python's library, torch's types, enumerations, classes of constants, dataclasses and named tuples say.
#[test]
fn constants_of_python() {
    check(
        "
import math, torch
from dataclasses import dataclass, field
from enum import IntEnum
from typing import ClassVar, NamedTuple

class Kind(IntEnum):
    FAST = 1
    SLOW = 2

class Sizes:
    ROWS = 16
    ALL = ROWS * 2

@dataclass(frozen=True)
class Tuning:
    block: int = 64
    warps: int = field(default=4)
    shape: tuple = field(default_factory=lambda: (2, 3))
    KIND: ClassVar[int] = 7

@dataclass
class Derived:
    n: int

    def __post_init__(self):
        self.twice = self.n * 2

class Extent(NamedTuple):
    m: int
    n: int = 32

class Own(Extent):
    k: int = 1

TUNING = Tuning(block=128)
EXTENT = Extent(8)
KIND = tl.constexpr(Kind.SLOW.value)
ALL = tl.constexpr(Sizes.ALL)
BLOCK = tl.constexpr(TUNING.block)
WARPS = tl.constexpr(TUNING.warps)
SHAPE = tl.constexpr(TUNING.shape[1])
CLASS = tl.constexpr(TUNING.KIND)
TWICE = tl.constexpr(Derived(5).twice)
M = tl.constexpr(EXTENT.m)
N = tl.constexpr(EXTENT.n)
TOO_MANY = tl.constexpr(Tuning(1, 2, 3, 4).block)
OTHER = tl.constexpr(Tuning(size=1).block)
MISSING = tl.constexpr(Extent().n)
INHERITED = tl.constexpr(Own(1).k)
MAX = tl.constexpr(torch.finfo(torch.float16).max)
EPS = tl.constexpr(torch.finfo(torch.bfloat16).eps)
FP8 = tl.constexpr(torch.finfo(torch.float8_e4m3fn).max)
INT = tl.constexpr(torch.iinfo(torch.int32).max)
WRONG = tl.constexpr(torch.finfo(torch.int32).max)
BYTES = tl.constexpr(torch.bfloat16.itemsize)
GCD = tl.constexpr(math.gcd(12, 18))
LOG = tl.constexpr(math.log(8, 2))
ROOT = tl.constexpr(math.sqrt(-1))
PI = tl.constexpr(math.tau / 2)
def choose():
    info = torch.finfo(torch.float32)
    return math.ceil(math.log2(100)) if info.bits == 32 else 0
CHOSEN = tl.constexpr(choose())
",
        &[
            "KIND",
            "ALL",
            "BLOCK",
            "WARPS",
            "SHAPE",
            "CLASS",
            "TWICE",
            "M",
            "N",
            "TOO_MANY",
            "OTHER",
            "MISSING",
            "INHERITED",
            "MAX",
            "EPS",
            "FP8",
            "INT",
            "WRONG",
            "BYTES",
            "GCD",
            "LOG",
            "ROOT",
            "PI",
            "CHOSEN",
        ],
        expect![[r#"
            KIND = constexpr 2
            ALL = constexpr 32
            BLOCK = constexpr 128
            WARPS = constexpr 4
            SHAPE = constexpr 3
            CLASS = constexpr 7
            TWICE = constexpr 10
            M = constexpr 8
            N = constexpr 32
            TOO_MANY = Opaque
            OTHER = Opaque
            MISSING = Opaque
            INHERITED = Opaque
            MAX = constexpr 65504.0
            EPS = constexpr 0.0078125
            FP8 = constexpr 448.0
            INT = constexpr 2147483647
            WRONG = Opaque
            BYTES = constexpr 2
            GCD = constexpr 6
            LOG = constexpr 3.0
            ROOT = Opaque
            PI = constexpr 3.141592653589793
            CHOSEN = constexpr 7
        "#]],
    );
}
