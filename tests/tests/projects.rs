//! Projects as their users have them: several files, a configuration, a Python environment, tunings and launches.

use std::{fs, process::Command};

use expect_test::{Expect, expect};
use serde_json::json;
use tritium_tests::{client::Client, project::Project, tritium};

fn check(actual: &str, expected: Expect) {
    expected.assert_eq(actual);
}

/// A kernel with one mistake that needs no launch to be seen: `+` of 128 and 64 elements.
const MISTAKE: &str = "
import triton
import triton.language as tl

@triton.jit
def kernel(x):
    a = tl.arange(0, 128)
    b = tl.arange(0, 64)
    tl.store(x + a, tl.load(x + a) + tl.load(x + b))
";

/// A run happens in a process of its own, and reads what the caller reads: a helper that only an environment has, the version of Triton.
#[test]
fn a_run_reads_what_its_caller_reads() {
    const HELPER: &str = "import triton\n\n\n@triton.jit\ndef twice(x):\n    return x * 2\n";
    const KERNEL: &str = "# /// tritium\n# [launch.one]\n# grid = [1]\n# args = { X = \"f32[16] = arange()\", Y = \"f32[16]\" }\n\
                          # expect = { Y = \"2 * X\" }\n# ///\nimport triton\nimport triton.language as tl\nfrom helpers import twice\n\n\n\
                          @triton.jit\ndef k(X, Y):\n    i = tl.arange(0, 16)\n    tl.store(Y + i, twice(tl.load(X + i)))\n";
    let project = Project::new(&[("env/lib/python3.12/site-packages/helpers/__init__.py", HELPER), ("work/k.py", KERNEL)]);
    let environment = project.root().join("env");
    let run = ["run", "work/k.py", "--verify"];
    assert_eq!(project.say(&run).status, 1, "nothing names the environment");
    let said = project.say(&[&run[..], &["--python-env", "env"]].concat());
    assert!(said.status == 0 && said.stdout.contains("verified"), "{}{}", said.stdout, said.stderr);
    let active = Command::new(tritium()).args(run).current_dir(project.root()).env("VIRTUAL_ENV", &environment).output();
    assert!(active.expect("tritium starts").status.success(), "the active environment");
    // The same from an editor, whose setting nobody else knows.
    for (variable, settings) in
        [("", json!({ "environment": environment })), (environment.to_str().expect("a plain path"), json!({}))]
    {
        let mut client = Client::start(&[("VIRTUAL_ENV", variable)], &settings);
        let uri = client.open(&project.root().join("work/k.py"), KERNEL);
        let command = json!({ "command": "tritium.server.run", "arguments": [{ "uri": uri, "launch": "one" }] });
        let outcome = client.request("workspace/executeCommand", command);
        assert_eq!(outcome["ok"], json!(true), "{settings}: {outcome}");
        client.stop();
    }
    project.write("work/pyproject.toml", "[tool.tritium]\nenvironment = \"../env\"\n");
    assert_eq!(project.say(&run).status, 0, "the project's environment");
}

#[test]
fn names_come_from_other_files_and_packages() {
    let project = Project::new(&[
        ("src/pkg/__init__.py", "from .backend import tl, triton\n"),
        (
            "src/pkg/backend.py",
            "try:\n    import triton\n    import triton.language as tl\nexcept ImportError:\n    triton = None\n    tl = None\n",
        ),
        ("src/pkg/helpers/__init__.py", "from .sums import *\nfrom .sums import twice as doubled\n"),
        (
            "src/pkg/helpers/sums.py",
            "from pkg import tl, triton\nWIDTH = tl.constexpr(32)\n@triton.jit\ndef twice(x):\n    return x * 2.0\n",
        ),
        (
            "src/pkg/kernels.py",
            "from typing import TYPE_CHECKING\nimport pkg.helpers.sums as sums\nfrom pkg import tl, triton\nfrom .helpers import WIDTH, doubled\nif TYPE_CHECKING:\n    import torch\n\n@triton.jit\ndef kernel(x):\n    at = tl.arange(0, WIDTH)\n    y = doubled(tl.load(x + at))\n    z = sums.twice(y)\n    tl.store(x + at, z)\n",
        ),
    ]);
    check(
        &project.types("src/pkg/kernels.py"),
        expect![[r#"
        4:11 x: f32[32]
        9:12 x: *f32
        10:5 at: i32[32]
        11:5 y: f32[32]
        12:5 z: f32[32]
    "#]],
    );
    // The helper is edited: what calls it is checked again.
    project.write(
        "src/pkg/helpers/sums.py",
        "from pkg import tl, triton\nWIDTH = tl.constexpr(32)\n@triton.jit\ndef twice(x):\n    return x + tl.arange(0, 64)\n",
    );
    check(
        &project.found(&[]),
        expect![[r#"
        src/pkg/kernels.py:11 SHP001
    "#]],
    );
}

#[test]
fn packages_are_found_in_the_environment() {
    let library = "import triton\nimport triton.language as tl\n@triton.jit\ndef half(x):\n    return x + tl.arange(0, 16)\n";
    let user = "
import triton
import triton.language as tl
from kernels_lib.ops import half

@triton.jit
def kernel(x):
    at = tl.arange(0, 32)
    tl.store(x + at, half(tl.load(x + at)))
";
    let project = Project::new(&[
        ("app/main.py", user),
        ("app/pyproject.toml", "[project]\nname = \"app\"\n"),
        ("env/lib/python3.12/site-packages/kernels_lib/__init__.py", ""),
        ("env/lib/python3.12/site-packages/kernels_lib/ops.py", library),
        ("env/bin/python3", ""),
    ]);
    assert_eq!(project.found(&[]), "");
    for by in ["env", "env/bin/python3"] {
        assert_eq!(project.found(&["--python-env", by]), "app/main.py:9 SHP001\n", "{by}");
    }
    project.write("app/pyproject.toml", "[tool.tritium]\nenvironment = \"../env\"\n");
    assert_eq!(project.found(&[]), "app/main.py:9 SHP001\n");
    // `.venv` beside the configuration needs no word.
    project.write("app/pyproject.toml", "[project]\nname = \"app\"\n");
    project.write("app/.venv/lib/python3.12/site-packages/kernels_lib/__init__.py", "");
    project.write("app/.venv/lib/python3.12/site-packages/kernels_lib/ops.py", library);
    assert_eq!(project.found(&[]), "app/main.py:9 SHP001\n");
    let said = project.say(&["check", "app", "--python-env", "nowhere"]);
    assert_eq!(said.status, 2);
    assert!(said.stderr.contains("is no Python environment"), "{}", said.stderr);
}

#[test]
fn decorators_of_a_project_end_in_jit() {
    let body = "def kernel(x):\n    a = tl.arange(0, 128)\n    b = tl.arange(0, 64)\n    tl.store(x + a, tl.load(x + a) + tl.load(x + b))\n";
    let head = "import functools, os\nimport triton\nimport triton.language as tl\nimport deco\n";
    for (name, decorators) in [
        ("alias", "jit = triton.jit\n@jit\n"),
        ("choice", "jit = triton.jit if os.environ.get('JIT') else (lambda f: f)\n@jit\n"),
        ("partial", "jit = functools.partial(triton.jit, do_not_specialize=[])\n@jit\n"),
        ("wrapper", "@deco.compiled\n"),
        ("factory", "@deco.maker(debug=True)\n"),
        ("conditional", "@deco.maybe\n"),
        ("stacked", "@deco.entry()\n@triton.jit\n"),
    ] {
        let deco = "
import triton

def compiled(fn):
    fn = triton.jit(fn)
    return fn

def maker(**options):
    def decorate(fn):
        return triton.jit(fn, **options)
    return decorate

def maybe(fn):
    if SOMETHING:
        return fn
    return triton.jit(fn)

def entry():
    def decorate(fn):
        return Entry(fn)
    return decorate
";
        let project = Project::new(&[("deco.py", deco), ("k.py", &format!("{head}{decorators}{body}"))]);
        let said = project.say(&["check", "k.py", "--output-format", "json", "--select", "SHP"]);
        assert_eq!(said.json()["diagnostics"][0]["code"], json!("SHP001"), "{name}: {}", said.stdout);
    }
    // A decorator that compiles nothing makes no kernel.
    let project = Project::new(&[(
        "k.py",
        &format!("{head}def timed(fn):\n    def run(*args):\n        return fn(*args)\n    return run\n@timed\n{body}"),
    )]);
    assert_eq!(project.found(&[]), "");
}

#[test]
fn definitions_under_conditions() {
    let kernel = "
@triton.jit
def kernel(x):
    at = tl.arange(0, 64)
    y = pick(tl.load(x + at))
    tl.store(x + at, y)
";
    let head = "import os\nimport triton\nimport triton.language as tl\n";
    let two = |condition: &str, one: &str, other: &str| {
        format!(
            "{head}if {condition}:\n    @triton.jit\n    def pick(x):\n        return {one}\nelse:\n    @triton.jit\n    def pick(x):\n        return {other}\n{kernel}"
        )
    };
    for (name, text, expected) in [
        // Triton 3.6 has it: the first one is meant.
        ("known", two("hasattr(tl, 'sum')", "x * 2", "x + tl.arange(0, 32)"), ""),
        ("version", two("triton.__version__ >= '3.0.0'", "x * 2", "x + tl.arange(0, 32)"), ""),
        // Nobody knows: both give the same type, so the type is known; where they do not, nothing is said.
        ("same", two("os.environ.get('FAST') == '1'", "x * 2", "x + 1"), ""),
        ("differs", two("os.environ.get('FAST') == '1'", "x[:, None]", "x"), ""),
    ] {
        let project = Project::new(&[("k.py", &text)]);
        assert_eq!(project.found(&[]), expected, "{name}");
    }
}

#[test]
fn tunings_by_partial_evaluation() {
    let head = "import itertools, os, torch\nimport triton\nimport triton.language as tl\nfrom rows import imported, LIST\n";
    let rows = "import triton\nimport os\nLIST = []\nfor b in (64, 256):\n    LIST.append(triton.Config({'BLOCK': b}))\ndef imported(*sizes, warps=4):\n    return [triton.Config({'BLOCK': b}, num_warps=warps) for b in sizes]\n";
    // 256 elements do not fit the 128 that are added: the configurations with that block are wrong.
    let kernel = "
@triton.jit
def kernel(x, BLOCK: tl.constexpr):
    tl.store(x + tl.arange(0, BLOCK), tl.zeros((BLOCK,), tl.float32) + tl.zeros((128,), tl.float32))

x = torch.empty(4096, device='cuda')
kernel[(1,)](x)
";
    for (name, tuner, expected) in [
        ("literal", "configs=[triton.Config({'BLOCK': 128}), triton.Config({'BLOCK': 256})], key=[]", "kernel[1]"),
        ("comprehension", "configs=[triton.Config({'BLOCK': b}) for b in [64, 128, 256] if b >= 128], key=[]", "kernel[1]"),
        (
            "product",
            "configs=[triton.Config({'BLOCK': b}, num_warps=w) for b, w in itertools.product([128, 256], [4, 8])], key=[]",
            "kernel[2]",
        ),
        ("function", "configs=imported(128, 256, warps=8), key=[]", "kernel[1]"),
        ("filled by statements", "configs=LIST + imported(128), key=[]", "kernel[0] kernel[1]"),
        ("sorted", "configs=sorted(imported(256, 128), key=lambda c: c.kwargs['BLOCK']), key=[]", "kernel[1]"),
    ] {
        let project = Project::new(&[("rows.py", rows), ("k.py", &format!("{head}@triton.autotune({tuner}){kernel}"))]);
        assert_eq!(project.found(&[]), format!("k.py:8 SHP001 under {expected}\n"), "{name}");
    }
    // What hangs on the environment is no launch, and no guess.
    let unknown = "configs=[triton.Config({'BLOCK': int(os.environ['BLOCK'])})], key=[]";
    let project = Project::new(&[("rows.py", rows), ("k.py", &format!("{head}@triton.autotune({unknown}){kernel}"))]);
    let said = project.say(&["stats", ".", "--output-format", "json"]);
    let stats = said.json();
    assert_eq!((&stats["tuned"], &stats["tuned_known"]), (&json!(1), &json!(0)));
    assert_eq!((&stats["launches"]["all"], &stats["launches"]["whole"]), (&json!(1), &json!(0)));
}

#[test]
fn one_configuration_can_be_chosen() {
    let text = "
import torch
import triton
import triton.language as tl

@triton.autotune(configs=[triton.Config({'BLOCK': b}) for b in (64, 128, 256)], key=[])
@triton.heuristics({'DOUBLE': lambda args: args['BLOCK'] * 2})
@triton.jit
def kernel(x, BLOCK: tl.constexpr, DOUBLE: tl.constexpr):
    tl.store(x + tl.arange(0, DOUBLE), tl.zeros((DOUBLE,), tl.float32) + tl.zeros((256,), tl.float32))

def grid(meta):
    return (triton.cdiv(4096, meta['BLOCK']),)

x = torch.empty(4096, device='cuda')
sizes = (x,)
kernel[grid](*sizes)
";
    let project = Project::new(&[("k.py", text)]);
    let found = |config: &str| project.found(&["--config", config]);
    assert_eq!(found("all"), "k.py:10 SHP001 under kernel[0] kernel[2]\n");
    assert_eq!(found("first"), "k.py:10 SHP001\n");
    assert_eq!(found("1"), "");
    // A kernel with fewer takes its last.
    assert_eq!(found("9"), "k.py:10 SHP001\n");
}

#[test]
fn launches_that_are_wrong_whatever_is_passed() {
    let text = "
import torch
import triton
import triton.language as tl

@triton.jit
def kernel(x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + at, 1.0, mask=at < n)

def missing(x):
    kernel[(1,)](x, BLOCK=64)

def misspelt(x, flag):
    if flag:
        kernel[(1,)](x, x.numel(), BLOK=64, BLOCK=64)

def right(x, **options):
    kernel[(1,)](x, x.numel(), **options)
    kernel[(1,)](x, x.numel(), BLOCK=64)
";
    let project = Project::new(&[("k.py", text)]);
    assert_eq!(project.found(&[]), "k.py:12 LCH001\nk.py:16 LCH001\n");
}

#[test]
fn the_configuration_counts_and_flags_go_before_it() {
    let removed = "
import triton
import triton.language as tl

@triton.jit
def kernel(x):
    block = tl.make_block_ptr(x, (64,), (1,), (0,), (64,), (0,))
    tl.store(block, tl.load(block))
";
    let project = Project::new(&[
        ("pkg/old.py", removed),
        ("pkg/mistake.py", MISTAKE),
        ("pkg/generated/mistake.py", MISTAKE),
        ("pyproject.toml", "[tool.tritium]\ntriton = \"3.9\"\nexclude = [\"generated\"]\n"),
    ]);
    assert_eq!(project.found(&[]), "pkg/mistake.py:9 SHP001\npkg/old.py:7 VER001\n");
    assert_eq!(project.found(&["--triton", "3.6"]), "pkg/mistake.py:9 SHP001\n");
    assert_eq!(project.found(&["--select", "VER"]), "pkg/old.py:7 VER001\n");
    // Named outright, a file is checked all the same.
    assert_eq!(project.say(&["check", "pkg/generated/mistake.py"]).status, 1);
    project.write("pyproject.toml", "[tool.tritium]\nignore = [\"incompatible-broadcast\"]\n");
    assert_eq!(project.found(&[]), "pkg/old.py:7 VER005\n");
    project.write(
        "pyproject.toml",
        "[tool.tritium.per-file-ignores]\n\"pkg/generated/*\" = [\"SHP\"]\n\"pkg/old.py\" = [\"VER\"]\n",
    );
    assert_eq!(project.found(&[]), "pkg/mistake.py:9 SHP001\n");
    for (configuration, reason) in [
        ("gpus = \"H100\"", "pyproject.toml:2: unknown key `tool.tritium.gpus`; did you mean `gpu`?"),
        ("gpu = \"B9000\"", "unknown GPU `B9000`"),
        ("triton = 3.6", "`triton` is a string, and this is a number"),
        ("triton = \"latest\"", "`latest` is no version of Triton"),
        ("select = [\"SHP01\"]", "`SHP01` is no diagnostic; did you mean `SHP0"),
        ("select = \"SHP\"", "`select` is a list of strings"),
        ("gpu = ", "this is not TOML"),
    ] {
        project.write("pyproject.toml", &format!("[tool.tritium]\n{configuration}\n"));
        let said = project.say(&["check", "."]);
        assert_eq!((said.status, said.stdout.as_str()), (2, ""), "{configuration}");
        assert!(said.stderr.contains(reason), "{configuration}: {}", said.stderr);
    }
}

#[test]
fn suppressions_of_a_line_and_of_a_file() {
    let project = Project::new(&[("k.py", &format!("# tritium: ignore-file[SHP001] shapes are checked elsewhere\n{MISTAKE}"))]);
    assert_eq!(project.found(&[]), "");
    project.write("k.py", &MISTAKE.replace("tl.load(x + b))", "tl.load(x + b))  # tritium: ignore[SHP001] on purpose"));
    assert_eq!(project.found(&[]), "");
    project.write("k.py", &format!("# tritium: ignore-file[CTL001] no reason to\n{MISTAKE}"));
    assert_eq!(project.found(&[]), "k.py:1 SUP001\nk.py:10 SHP001\n");
}

#[test]
fn a_baseline_hides_what_was_there() {
    let project = Project::new(&[("k.py", MISTAKE)]);
    let said = project.say(&["check", ".", "--write-baseline", "known.json"]);
    assert_eq!((said.status, said.stdout.as_str()), (0, ""), "{}", said.stderr);
    assert!(said.stderr.contains("1 finding written to known.json"), "{}", said.stderr);
    let hidden = |project: &Project| project.say(&["check", ".", "--baseline", "known.json", "--output-format", "concise"]);
    let said = hidden(&project);
    assert_eq!((said.status, said.stdout.as_str()), (0, ""));
    assert!(said.stderr.contains("1 finding hidden by the baseline"), "{}", said.stderr);
    // The line moves and is indented: it is the same finding. A second one is new.
    project
        .write("k.py", &format!("# a licence\n\n{MISTAKE}{}", MISTAKE.replace("def kernel", "def second").replace("x", "out")));
    let said = hidden(&project);
    assert_eq!(said.status, 1);
    assert_eq!(said.stdout.lines().count(), 1, "{}", said.stdout);
    // It is mended: the entry is stale.
    project.write("k.py", &MISTAKE.replace("0, 64", "0, 128"));
    let said = hidden(&project);
    assert_eq!(said.status, 0, "{}", said.stdout);
    assert!(said.stderr.contains("known.json: 1 finding SHP001 is not found in k.py any more"), "{}", said.stderr);
    project.write("known.json", "{}");
    assert_eq!(hidden(&project).status, 2);
}

#[test]
fn the_editor_follows_files_on_disk() {
    let project = Project::new(&[
        ("pyproject.toml", "[project]\nname = \"k\"\n"),
        ("helpers.py", "import triton\nimport triton.language as tl\n@triton.jit\ndef helper(x):\n    return x\n"),
        (
            "k.py",
            "import triton\nimport triton.language as tl\nfrom helpers import helper\n@triton.jit\ndef kernel(x):\n    at = tl.arange(0, 64)\n    tl.store(x + at, helper(tl.load(x + at)))\n",
        ),
    ]);
    let mut client = Client::start(&[("VIRTUAL_ENV", "")], &json!({}));
    let path = project.root().join("k.py");
    let text = fs::read_to_string(&path).expect("the file is there");
    let uri = client.open(&path, &text);
    assert_eq!(client.diagnostics(&uri, 1).len(), 0);
    let changed = |client: &mut Client, name: &str, kind: u32| {
        let uri = uri.replace("k.py", name);
        client.notify("workspace/didChangeWatchedFiles", json!({ "changes": [{ "uri": uri, "type": kind }] }));
    };
    project.write(
        "helpers.py",
        "import triton\nimport triton.language as tl\n@triton.jit\ndef helper(x):\n    return x + tl.arange(0, 32)\n",
    );
    changed(&mut client, "helpers.py", 2);
    assert_eq!(client.diagnostics(&uri, 1)[0]["code"], json!("SHP001"));
    project.write("pyproject.toml", "[tool.tritium]\nignore = [\"SHP\"]\n");
    changed(&mut client, "pyproject.toml", 2);
    assert_eq!(client.diagnostics(&uri, 1).len(), 0);
    project.write("pyproject.toml", "[tool.tritium]\nignored = [\"SHP\"]\n");
    changed(&mut client, "pyproject.toml", 2);
    let told = client.notification("window/showMessage", |_| true);
    assert!(told["message"].as_str().is_some_and(|m| m.contains("unknown key `tool.tritium.ignored`")), "{told}");
    client.stop();
}

/// A kernel that shifts what a function of a library is given: right for integers, wrong for floats.
const SHIFT: &str = "import torch
import triton
import triton.language as tl


@triton.jit
def shifted(out, x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(out + at, tl.load(x + at, mask=inside) << 1, mask=inside)


def shift(x: torch.Tensor):
    out = torch.empty_like(x)
    shifted[(triton.cdiv(x.numel(), 64),)](out, x, x.numel(), BLOCK=64)
    return out
";

/// A test that calls it with an element type.
fn test_of_shift(body: &str) -> String {
    format!("import pytest\nimport torch\n\nfrom lib import shift\n\n\n{body}")
}

/// Nothing is said of a library's kernel as long as nobody calls it with what is wrong; a test that does is named.
#[test]
fn tests_of_a_library_say_what_its_kernels_are_given() {
    let project = Project::new(&[
        ("pyproject.toml", "[project]\nname = \"lib\"\n"),
        ("lib/__init__.py", "from .ops import shift\n"),
        ("lib/ops.py", SHIFT),
    ]);
    check(&project.pointed("lib/ops.py"), expect![""]);
    let call = |dtype: &str| format!("shift(torch.ones(100, dtype=torch.{dtype}, device='cuda'))\n");
    let of = |dtypes: &str| {
        let given = "shift(torch.ones(100, dtype=dtype, device='cuda'))";
        test_of_shift(&format!("@pytest.mark.parametrize('dtype', [{dtypes}])\ndef test_shift(dtype):\n    {given}\n"))
    };
    for right in [
        of("torch.int32, torch.int64"),
        test_of_shift(&format!("def test_refused():\n    with pytest.raises(Exception):\n        {}", call("float32"))),
        test_of_shift(&format!("@pytest.mark.xfail\ndef test_wrong():\n    {}", call("float32"))),
        test_of_shift(&format!("def test_perhaps(new):\n    if new:\n        {}", call("float32"))),
    ] {
        project.write("tests/test_ops.py", &right);
        check(&project.pointed("lib/ops.py"), expect![""]);
    }
    project.write("tests/test_ops.py", &of("torch.int32, torch.float32"));
    check(
        &project.pointed("lib/ops.py"),
        expect![[r#"
        10 LNG005
          15 for this launch: `out` is *f32, `x` is *f32, launched from tests/test_ops.py:9
    "#]],
    );
    // The same, whichever files are named.
    check(
        &project.found(&[]),
        expect![[r#"
        lib/ops.py:10 LNG005 under test_ops.py#2
    "#]],
    );
    // A kernel that the test launches itself is what is pointed at.
    project.write(
        "tests/test_ops.py",
        "import torch\nfrom lib.ops import shifted\n\n\ndef test_shifted():\n    x = torch.ones(64, device='cuda')\n    \
         shifted[(1,)](torch.empty_like(x), x, 64, BLOCK=64)\n",
    );
    check(
        &project.pointed("lib/ops.py"),
        expect![[r#"
        10 LNG005
          7 for this launch: `out` is *f32, `x` is *f32, launched from tests/test_ops.py:7
    "#]],
    );
}

/// What is wrong whoever calls it is told, whether or not a launch that may not run has it too.
#[test]
fn callers_that_may_not_run_hide_nothing() {
    let wrong = SHIFT.replace("<< 1", "+ tl.arange(0, 32)");
    let project = Project::new(&[("lib/__init__.py", "from .ops import shift\n"), ("lib/ops.py", &wrong)]);
    let alone = project.found(&[]);
    check(
        &alone,
        expect![[r#"
        lib/ops.py:10 SHP001
    "#]],
    );
    for body in [
        "def test_perhaps(x, new):\n    if new:\n        shift(x)\n",
        "def test_shift():\n    try:\n        shift(torch.ones(8))\n    except Exception:\n        pass\n",
    ] {
        project.write("test_ops.py", &test_of_shift(body));
        assert_eq!(project.found(&[]), alone, "{body}");
    }
}

/// A name that nothing binds is wrong whatever is passed, so who may not come to it refutes nothing.
#[test]
fn a_name_that_nothing_binds_is_told_where_callers_may_not_come_to_it() {
    let flagged = SHIFT
        .replace("BLOCK: tl.constexpr)", "LEFT: tl.constexpr, BLOCK: tl.constexpr)")
        .replace("    tl.store(", "    if not LEFT:\n        at = att + 1\n    tl.store(")
        .replace("def shift(x: torch.Tensor)", "def shift(x: torch.Tensor, left)")
        .replace("BLOCK=64)", "LEFT=left, BLOCK=64)");
    let project = Project::new(&[("lib/__init__.py", "from .ops import shift\n"), ("lib/ops.py", &flagged)]);
    project.write(
        "test_ops.py",
        &test_of_shift(
            "def test_left(x):\n    shift(x, True)\n\n\ndef test_right(x, new):\n    if new:\n        shift(x, False)\n",
        ),
    );
    check(
        &project.found(&[]),
        expect![[r#"
            lib/ops.py:11 LNG018
        "#]],
    );
}

/// What other files launch counts in `stats`, at the place that launches.
#[test]
fn stats_count_what_callers_say() {
    let project = Project::new(&[("lib/__init__.py", "from .ops import shift\n"), ("lib/ops.py", SHIFT)]);
    let counted = || {
        let launches = project.say(&["stats", ".", "--output-format", "json"]).json()["launches"].clone();
        ["all", "whole", "arguments", "but_values", "but_element_types"].map(|tier| launches[tier].as_u64().expect("a number"))
    };
    assert_eq!(counted(), [1, 0, 0, 0, 1]);
    project.write("test_ops.py", &test_of_shift("def test_size(n):\n    shift(torch.ones(n, device='cuda'))\n"));
    assert_eq!(counted(), [1, 0, 0, 1, 0]);
    project.write("test_ops.py", &test_of_shift("def test_whole():\n    shift(torch.ones(10, device='cuda'))\n"));
    assert_eq!(counted(), [1, 1, 0, 0, 0]);
}

/// A kernel that is not followed to its end is told apart: it is wrong itself, it is for another device, or there is more to do here. What `tl.math`
/// once had is known where it still is.
#[test]
fn stats_tell_why_a_kernel_is_not_whole() {
    let file = |body: &str| {
        format!(
            "import triton\nimport triton.language as tl\nfrom triton.language.math import tanh\n\n\n@triton.jit\ndef kernel(x, other):\n{body}"
        )
    };
    let project = Project::new(&[
        ("wrong.py", &file("    tl.store(x, tl.float32(1))\n").replace("from triton.language.math import tanh\n", "")),
        ("open.py", &file("    tl.store(x, other.part)\n").replace("from triton.language.math import tanh\n", "")),
        ("ascend/tanh.py", &file("    tl.store(x, tanh(tl.load(x)))\n")),
        ("ascend/size.py", &file("    tl.store(x + tl.arange(0, 24), 1.0)\n")),
        ("ascend/slice.py", &file("    tl.store(x, tl.extract_slice(tl.zeros((8,), tl.float32), (0,), (1,), (1,)))\n")),
    ]);
    let said = project.say(&["stats", "."]);
    let lines = |of: &dyn Fn(&&str) -> bool| said.stdout.lines().filter(of).map(|line| format!("{line}\n")).collect::<String>();
    check(
        &lines(&|line| {
            line.contains('%') && line.starts_with("ela") || line.starts_with("  wrong") || line.starts_with("  other")
        }),
        expect![[r#"
            elaborated                 1  20.0 %, 50.0 % without the next two
              wrong                    1  with an error of their own, whatever they are given
              other devices            2  with what no Triton for NVIDIA has or takes
        "#]],
    );
    check(
        &lines(&|line| line.contains(": kernel ")),
        expect![[r#"
        other device ./ascend/size.py: kernel SHP002: 24 is not a power of two: use 32 and mask what is beyond 24
        other device ./ascend/slice.py: kernel line 8: what `tl.extract_slice` gives is not known at compile time, or is not followed
        problems ./open.py: kernel nothing is known of `other`
        wrong ./wrong.py: kernel LNG003: `tl.float32` is constexpr[f32] and cannot be called
    "#]],
    );
}

/// A launch to which nothing in its own file leads: another file calls what `build` makes.
#[test]
fn a_launch_that_only_callers_reach_can_be_asked_for() {
    let tuned = "@triton.autotune(configs=rows(), key=['n'])\n    @triton.jit";
    let ops = |decorators: &str| {
        let body = SHIFT.split_once("@triton.jit").expect("a kernel").1.trim_end().replace('\n', "\n    ");
        format!(
            "import torch\nimport triton\nimport triton.language as tl\n\n\ndef build():\n    {decorators}{body}\n\n    return shift\n"
        )
    };
    let project = Project::new(&[
        ("pyproject.toml", "[project]\nname = \"lib\"\n"),
        ("lib/__init__.py", ""),
        ("lib/ops.py", &ops("@triton.jit")),
        ("lib/api.py", "import torch\n\nfrom .ops import build\n\n\ndef shift(x: torch.Tensor):\n    return build()(x)\n"),
    ]);
    let stats = || {
        let launches = project.say(&["stats", "lib/ops.py", "--output-format", "json"]).json()["launches"].clone();
        (launches["all"].clone(), launches["of_kernel"].clone(), launches["stopped"].clone())
    };
    assert_eq!(stats(), (json!(1), json!(1), json!({})));
    let run = |set: &[&str]| {
        let given = set.iter().flat_map(|set| ["--set", set]);
        let said = project.say(&["run", "lib/ops.py"].into_iter().chain(given).collect::<Vec<_>>());
        assert_eq!(said.status, 0, "{}", said.stderr);
        said.stdout.lines().next().unwrap_or_default().to_owned()
    };
    check(
        &run(&[]),
        expect![
            "entered shifted on line 16 with elements = 65536 (default), n = 8 (default), out = f32[elements] (default), x = i32[elements] (default), BLOCK = 64 (default), grid = 1 (default), num_warps = 4 (default)"
        ],
    );
    check(
        &run(&["n=100", "x=i32[100]", "grid=2"]),
        expect![
            "entered shifted on line 16 with n = 100, elements = 65536 (default), out = f32[elements] (default), x = i32[100], BLOCK = 64 (default), grid = 2, num_warps = 4 (default)"
        ],
    );
    // What rows of a tuner would give that nobody knows is asked for too.
    project.write("lib/ops.py", &ops(tuned).replace(", BLOCK=64", ""));
    assert_eq!(stats(), (json!(1), json!(1), json!({})));
    check(
        &run(&["BLOCK=32"]),
        expect![
            "entered shifted on line 17 with BLOCK = 32, elements = 65536 (default), n = 8 (default), out = f32[elements] (default), x = i32[elements] (default), grid = 1 (default), num_warps = 4 (default)"
        ],
    );
}

/// An editor hears of what a test calls a library with after the first diagnostics, and again when the test changes, open or not.
#[test]
fn callers_are_followed_while_they_are_edited() {
    let wrong = test_of_shift("def test_shift():\n    shift(torch.ones(8, device='cuda'))\n");
    let right = wrong.replace("torch.ones(8", "torch.ones(8, dtype=torch.int32");
    let project = Project::new(&[
        ("pyproject.toml", "[project]\nname = \"lib\"\n"),
        ("lib/__init__.py", "from .ops import shift\n"),
        ("lib/ops.py", SHIFT),
        ("tests/test_ops.py", &wrong),
    ]);
    let mut client = Client::start(&[("TRITIUM_CACHE", "off")], &json!({}));
    let uri = client.open(&project.root().join("lib/ops.py"), SHIFT);
    let until = |client: &mut Client, is_wrong: bool| {
        client.notification("textDocument/publishDiagnostics", |push| {
            push["uri"] == json!(uri) && push["diagnostics"].as_array().is_some_and(|all| all.is_empty() != is_wrong)
        })
    };
    until(&mut client, false);
    let found = until(&mut client, true);
    let related = found["diagnostics"][0]["relatedInformation"][0]["message"].as_str().expect("a message").to_owned();
    assert!(related.contains("launched from tests/test_ops.py:8"), "{related}");
    let test = client.open(&project.root().join("tests/test_ops.py"), &right);
    until(&mut client, false);
    client.change(&test, 2, &wrong);
    until(&mut client, true);
    // What it imports changes too. A push of before may come late, so each state has a line of its own.
    client.change(&test, 3, "x = 1\n");
    until(&mut client, false);
    client.change(&test, 4, &format!("\n{wrong}"));
    client.notification("textDocument/publishDiagnostics", |push| {
        push["uri"] == json!(uri) && push.to_string().contains("launched from tests/test_ops.py:9")
    });
    // On disk it is right.
    project.write("tests/test_ops.py", &right);
    client.notify("textDocument/didClose", json!({ "textDocument": { "uri": test } }));
    until(&mut client, false);
    client.stop();
}
