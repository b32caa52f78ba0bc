//! `tritium run` as a person calls it.

use std::process::{Command, Output};

use tritium_tests::{repository, tritium};

fn run(arguments: &[&str]) -> Output {
    Command::new(tritium()).arg("run").args(arguments).current_dir(repository()).output().expect("tritium starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Descriptors, tuples and named tuples as arguments; products of batches and of packed floats: what they give is asserted in the file.
#[test]
fn compound_arguments_and_small_floats() {
    let done = run(&["tests/data/run/objects.py", "--verify"]);
    let out = text(&done.stdout);
    assert!(done.status.success(), "{out}{}", text(&done.stderr));
    assert_eq!(out.matches("verified").count(), 5, "{out}");
}

/// A wrong reference is a mismatch with the worst element, and exit status 1.
#[test]
fn a_mismatch_says_where() {
    let done = run(&["examples/vector_add.py", "--launch", "odd", "--verify", "--expect", "OUT=X - Y"]);
    assert_eq!(done.status.code(), Some(1));
    let out = text(&done.stdout);
    assert!(out.contains("MISMATCH") && out.contains("worst at ["), "{out}");
}

#[test]
fn tensors_are_saved_before_and_after() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let place = folder.path().to_str().expect("a plain path");
    let done = run(&["examples/softmax.py", "--launch", "announcement", "--save", place]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    let bytes = |name: &str| std::fs::read(folder.path().join(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
    // A header of 128 bytes or so, then 583 × 931 floats.
    assert!(bytes("Y.npy").len() > 583 * 931 * 4 && bytes("Y.npy") != bytes("Y.in.npy"));
    assert_eq!(bytes("X.npy"), bytes("X.in.npy"));
}

/// Every launch of the examples as it is compiled, lane by lane, on sizes that take no time.
#[test]
fn every_example_runs_in_the_simulator() {
    let smaller = [
        ("layer_norm.py", "M = 512, N = 1000", "M = 5, N = 1000", "rows"),
        ("layer_norm.py", "M = 4096, N = 4096", "M = 2, N = 4096", "half"),
        ("matmul.py", "M = 200, N = 136, K = 96", "M = 70, N = 136, K = 96", "small"),
        ("matmul.py", "M = 1024, N = 1024, K = 1024", "M = 128, N = 256, K = 192", "square_1024"),
        ("softmax.py", "M = 583, N = 931", "M = 3, N = 931", "announcement"),
        ("softmax.py", "M = 4096, N = 4096", "M = 2, N = 4096", "square_4096"),
        ("vector_add.py", "N = 1_000_000,", "N = 10_000,", "one_million"),
        ("vector_add.py", "N = 1_000_003,", "N = 10_003,", "odd"),
    ];
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (name, sizes, small, launch) in smaller {
        let text = std::fs::read_to_string(repository().join("examples").join(name)).expect("an example");
        assert!(text.contains(sizes), "{name} has other sizes than {sizes}");
        let copy = folder.path().join(format!("{launch}_{name}"));
        std::fs::write(&copy, text.replace(sizes, small)).expect("it can be written");
        let copy = copy.to_str().expect("a plain path");
        for gpu in ["sm_80", "sm_90"] {
            let done = run(&[copy, "--launch", launch, "--device", "sim", "--gpu", gpu, "--verify"]);
            let out = text_of(&done);
            assert!(done.status.success() && out.contains("verified"), "{name} {launch} {gpu}: {out}");
        }
    }
}

/// A kernel with its launch in a folder of its own, run; what was said and the exit status.
fn run_kernel(block: &str, kernel: &str, arguments: &[&str]) -> (i32, String) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let head: String = block.lines().map(|line| format!("# {line}\n")).collect();
    let file = format!("# /// tritium\n{head}# ///\nimport triton\nimport triton.language as tl\n\n\n@triton.jit\n{kernel}");
    std::fs::write(folder.path().join("k.py"), file).expect("it can be written");
    let mut command = Command::new(tritium());
    let done = command.args(["run", "k.py"]).args(arguments).current_dir(folder.path()).output().expect("tritium starts");
    (done.status.code().expect("an exit status"), text_of(&done))
}

const HALF: &str =
    "def half(X, Y, n):\n    i = tl.arange(0, 64)\n    x = tl.load(X + i)\n    tl.store(Y + i, x * 2, mask=i < n)\n";

fn half(args: &str, expect: &str) -> String {
    format!("[launch.one]\ngrid = [1]\nargs = {{ {args}, n = 16 }}\nexpect = {{ {expect} }}\n")
}

/// What is not known, not there or not written agrees with nothing.
#[test]
fn nothing_is_verified_that_was_not_compared() {
    let x = "X = \"f32[64] = arange()\"";
    let filled = format!("{x}, Y = \"f32[64] = zeros()\"");
    let empty = format!("{x}, Y = \"f32[64]\"");
    for (args, expect, said) in [
        (
            &*empty,
            "Y = \"2 * X\"",
            "MISMATCH  Y against 2 * X: 48 of 64 elements were never written, the first at [16]; of those written: relative error 0.00e0",
        ),
        (&*empty, "Y = \"Y\"", "NOT VERIFIED  Y against Y: it reads `Y`, which holds nothing before the launch"),
        (&*empty, "Y = \"where(X < 1, 2 * X, Y)\"", "it reads `Y`, which holds nothing before the launch"),
        ("X = \"f32[64]\", Y = \"f32[64]\"", "Y = \"X * 2\"", "it reads `X`, which holds nothing before the launch"),
        (
            &*filled,
            "Y = \"log(X - 3)\"",
            "NOT VERIFIED  Y against log(X - 3): the reference is NaN at 3 of 64 elements, the first at [0]",
        ),
        (&*filled, "Y = \"X / 0 - X / 0\"", "the reference is NaN at 64 of 64 elements, the first at [0]"),
        ("X = \"f32[64] = arange()\", Y = \"f32[64] = zeros()\", Z = \"f32[0]\"", "Z = \"Z\"", "it reads `Z`"),
        (&*filled, "Y = \"where(X < 16, 3 * X, 0)\"", "MISMATCH  Y against where(X < 16, 3 * X, 0): relative error 3.33e-1"),
    ] {
        let kernel = if args.contains('Z') { HALF.replace("n):", "Z, n):") } else { HALF.to_owned() };
        for device in ["cpu", "sim"] {
            let (status, out) = run_kernel(&half(args, expect), &kernel, &["--verify", "--device", device]);
            assert_eq!(status, 1, "{expect} on {device}: {out}");
            assert!(out.contains(said), "{expect} on {device}: {out}");
        }
    }
    let (status, out) = run_kernel(&half(&filled, "Y = \"where(X < 16, 2 * X, 0)\""), HALF, &["--verify"]);
    assert!(status == 0 && out.contains("verified  Y"), "{out}");
}

#[test]
fn an_output_that_nobody_wrote_is_called_so() {
    let nothing = "def nothing(X, Y, n):\n    pass\n";
    let args = "X = \"i32[8] = arange()\", Y = \"f32[4, 2]\"";
    let (status, out) = run_kernel(&half(args, "Y = \"X[:, None] + X[None]\""), nothing, &["--verify"]);
    assert!(status == 1 && out.contains("the expression has shape [8, 8], `Y` has [4, 2]"), "{out}");
    let (status, out) = run_kernel(&half(args, "X = \"X\""), nothing, &["--verify"]);
    assert!(
        status == 0 && out.contains("verified  X against X: it holds what is expected, though the launch wrote none of it"),
        "{out}"
    );
    assert!(out.contains("Y  f32[4, 2]\n     8 of 8 elements were never written, the first at [0, 0]"), "{out}");
    // Nothing changed on either device, so nothing was compared.
    let block = "[launch.one]\ngrid = [1]\nargs = { X = \"i32[8] = arange()\", Y = \"f32[8]\", n = 1 }\n";
    let (status, out) = run_kernel(block, nothing, &["--verify", "--device", "sim"]);
    assert!(status == 1 && out.contains("nothing was compared"), "{out}");
}

/// Every refusal names the launch and its line, and comes before anything is allocated or waited for.
#[test]
fn launches_that_cannot_run_are_refused_with_their_line() {
    let refused = |block: &str, arguments: &[&str], said: &str| {
        let (status, out) = run_kernel(block, HALF, arguments);
        assert!(status == 2 && out.contains(said), "{out}");
    };
    let args = "args = { X = \"f32[64] = arange()\", Y = \"f32[64]\", n = 16 }";
    for tolerance in ["nan", "-1e-3", "inf"] {
        let block = format!("[launch.one]\ngrid = [1]\n{args}\ntolerance = {tolerance}\n");
        refused(&block, &[], "line 5: launch `one` is not understood: `tolerance` is a relative error, 0 or more and finite");
    }
    let block = "[launch.one]\ngrid = [1]\nargs = { X = \"f32[9_000_000_000]\", Y = \"f32[64]\", n = 16 }\n".replace('_', "");
    refused(&block, &["--memory", "1GiB"], "k.py:2: launch `one`: its tensors take 109 GiB of memory, 3 times each");
    let block = half(&args[9..args.len() - 10], "Y = \"X\"").replace("arange()", "file('/dev/zero')");
    refused(
        &block,
        &[],
        "k.py:2: launch `one`: tensor `X`: cannot read /dev/zero: it is no regular file but a device, a pipe or a socket",
    );
    let block = format!("[launch.one]\ngrid = [1]\n{args}\n");
    refused(&block, &["--launch", "two"], "no launch `two` here; there are: one");
    refused(&block, &["--memory", "much"], "`much` is no amount of memory");
}

#[test]
fn a_reference_larger_than_memory_is_refused() {
    let args = "X = \"f32[64] = arange()\", Y = \"f32[64]\"";
    let axes = |at: usize| (0..5).map(|axis| if axis == at { ":" } else { "None" }).collect::<Vec<_>>().join(", ");
    let product: Vec<String> = (0..5).map(|at| format!("X[{}]", axes(at))).collect();
    let expect = format!("Y = \"sum(({} * {}) * ({} * {}) * {})\"", product[0], product[1], product[2], product[3], product[4]);
    let (status, out) = run_kernel(&half(args, &expect), HALF, &["--verify", "--memory", "1GiB"]);
    assert!(status == 1 && out.contains("has shape [64, 64, 64, 64, 64] and takes 8 GiB; 1024 MiB are left for it"), "{out}");
}

/// A launch of a tuner's kernel is named with its row or without, and one that is not there is no empty success.
#[test]
fn launches_are_chosen_by_name_and_row() {
    let kernel = r#"
import triton
import triton.language as tl


@triton.autotune(configs=[triton.Config({"BLOCK": 8}), triton.Config({"BLOCK": 16})], key=[])
@triton.jit
def scale(X, BLOCK: tl.constexpr):
    tl.store(X + tl.arange(0, BLOCK), 1.0)


@triton.jit
def plain(X):
    tl.store(X, 1.0)
"#;
    let head = "# /// tritium\n# [launch.one]\n# kernel = \"scale\"\n# grid = [1]\n# args = { X = \"f32[16]\" }\n\
                # [launch.other]\n# kernel = \"plain\"\n# grid = [1]\n# args = { X = \"f32[4]\" }\n# ///\n";
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("k.py");
    std::fs::write(&file, format!("{head}{kernel}")).expect("it can be written");
    let file = file.to_str().expect("a plain path");
    // A part that nobody wrote tells the rows apart.
    for (arguments, unwritten) in [
        (&[][..], &[8, 3][..]),
        (&["--launch", "one"], &[8]),
        (&["--launch", "one", "--config", "1"], &[]),
        (&["--launch", "one", "--config", "0"], &[8]),
        (&["--launch", "one:0"], &[8]),
        (&["--launch", "one:1"], &[]),
        (&["--launch", "one:1", "--config", "1"], &[]),
        (&["--config", "1"], &[3]),
    ] {
        let done = run(&[&[file], arguments].concat());
        let out = text_of(&done);
        assert_eq!(done.status.code(), Some(0), "{arguments:?}: {out}");
        let found: Vec<&str> =
            out.lines().filter(|line| line.contains("never written")).filter_map(|line| line.trim().split(' ').next()).collect();
        assert_eq!(found, unwritten.iter().map(ToString::to_string).collect::<Vec<_>>(), "{arguments:?}: {out}");
    }
    for (arguments, said) in [
        (&["--launch", "two"][..], "no launch `two` here; there are: one:0, one:1, other\n"),
        (&["--launch", "one:2"], "no launch `one:2` here; there are: one:0, one:1, other\n"),
        (&["--launch", "other:0"], "no launch `other:0` here; there are: one:0, one:1, other\n"),
        (&["--launch", "one", "--config", "2"], "no launch `one` with configuration 2 here; there are: one:0, one:1, other\n"),
        (
            &["--launch", "one:0", "--config", "1"],
            "no launch `one:0` with configuration 1 here; there are: one:0, one:1, other\n",
        ),
    ] {
        let done = run(&[&[file, "--verify"], arguments].concat());
        assert_eq!(done.status.code(), Some(2), "{arguments:?}");
        assert_eq!(text_of(&done), format!("tritium: {said}"), "{arguments:?}");
    }
    let emit = |launch: &str| {
        let arguments = ["emit", file, "--kernel", "scale", "--stage", "types", "--launch", launch];
        text_of(&Command::new(tritium()).args(arguments).output().expect("tritium starts"))
    };
    assert!(emit("one").contains("constexpr[8]") && emit("one:1").contains("constexpr[16]"));
    assert_eq!(emit("one:2"), "tritium: no launch `one:2` here; there are: one:0, one:1\n");
}

/// The parts of a descriptor and of a tuple are parameters beside one that is called as they would be.
#[test]
fn parts_of_arguments_and_parameters_of_their_names_stay_apart() {
    let descriptor = "def k(d, d_0, Y):\n    i = tl.arange(0, 16)[:, None] * 32 + tl.arange(0, 32)[None, :]\n    \
                      tl.store(Y + i, d.load([0, 0]) * d_0)\n";
    let tuple = "def k(t, t_0, Y):\n    i = tl.arange(0, 512)\n    tl.store(Y + i, tl.load(t[0] + i) * t[1] + t_0)\n";
    let (tensor, out) = ("f32[16, 32] = arange()", "Y = \"f32[16, 32]\"");
    for (kernel, args, expect) in [
        (descriptor, format!("d = {{ tensor = \"{tensor}\", block = [16, 32] }}, d_0 = 5"), "d * 5"),
        (tuple, format!("t = [\"{tensor}\", 3], t_0 = 7"), "t_0 * 3 + 7"),
    ] {
        let block = format!("[launch.one]\ngrid = [1]\nargs = {{ {args}, {out} }}\nexpect = {{ Y = \"{expect}\" }}\n");
        for device in ["cpu", "sim"] {
            let (status, out) = run_kernel(&block, kernel, &["--verify", "--device", device]);
            assert!(status == 0 && out.contains("verified  Y"), "{device}: {out}");
        }
    }
}

fn text_of(done: &Output) -> String {
    format!("{}{}", text(&done.stdout), text(&done.stderr))
}

/// A notebook is the Python of its cells, what `%timeit` measures included.
#[test]
fn a_notebook_runs() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let notebook = folder.path().join("rows.ipynb");
    let fixture = std::fs::read_to_string(repository().join("editors/fixtures/ws/softmax_rows.ipynb")).expect("a notebook");
    std::fs::write(&notebook, fixture.replace("mask=at)", "mask=at < columns)")).expect("a file");
    let done = run(&[notebook.to_str().expect("a plain path")]);
    let out = text(&done.stdout);
    assert!(done.status.success() && out.contains("softmax"), "{out}{}", text(&done.stderr));
}

/// A launch of a function that nothing calls runs with defaults, or with what is given; each value is said.
#[test]
fn a_launch_of_free_sizes_runs() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("scaled.py");
    let text = "\
import torch, triton
import triton.language as tl

@triton.jit
def scale(X, W, Y, stride, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(X + tl.program_id(0) * stride + i, mask=i < n)
    tl.store(Y + tl.program_id(0) * stride + i, x * tl.load(W + i, mask=i < n), mask=i < n)

def scaled(x: torch.Tensor, weight: torch.Tensor):
    rows, cols = x.shape
    assert weight.shape == (cols,)
    y = torch.empty_like(x)
    scale[(rows,)](x, weight, y, x.stride(0), cols, BLOCK=triton.next_power_of_2(cols))
    return y

def unknown(x):
    scale[(somewhere(x),)](x, x, x, 1, 2, BLOCK=2)
";
    std::fs::write(&file, text).expect("the file is written");
    let path = file.to_str().expect("a plain path");
    let done = run(&[path, "--launch", "scale"]);
    let out = text_of(&done);
    let said = "entered scaled with rows = 40 (default), cols = 64 (default), x = f32[rows, cols] (default), weight = f32[cols] (default)";
    assert!(out.contains(said) && out.contains("f32[40, 64]"), "{out}");
    // What nobody says is a free name by its text.
    let said =
        "entered unknown with x_0 = 40 (default), x_1 = 64 (default), somewhere(x) = 8 (default), x = f32[x_0, x_1] (default)";
    assert!(out.contains(said) && !out.contains("is not launched"), "{out}");
    let done = run(&[path, "--set", "somewhere(x)=3", "--set", "x=f32[7]"]);
    let out = text_of(&done);
    assert!(out.contains("entered unknown with somewhere(x) = 3, x = f32[7]") && out.contains("3 programs"), "{out}");

    let done = run(&[path, "--set", "rows=3", "--set", "cols=33", "--set", "x.dtype=f16"]);
    let out = text_of(&done);
    let said = "entered scaled with rows = 3, cols = 33, x = f16[rows, cols] (default), weight = f32[cols] (default)";
    assert!(out.contains(said) && out.contains("f16[3, 33]"), "{out}");

    let done = run(&[path, "--set", "lines=3"]);
    assert_eq!(done.status.code(), Some(2));
    assert!(
        text_of(&done).contains("--set: `lines` is no free name here; there are: rows, cols, x, weight"),
        "{}",
        text_of(&done)
    );

    let done = Command::new(tritium()).arg("sanitize").arg(folder.path()).output().expect("tritium starts");
    let out = text_of(&done);
    assert!(out.contains("2 launches: 1 clean, 1 with findings, 0 not checked to their end; 0 not known"), "{out}");
}

/// Where no function around a launch can be entered to it, the kernel's own parameters are asked for.
#[test]
fn what_only_a_kernel_takes_is_asked_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("copied.py");
    let text = "import triton
import triton.language as tl

@triton.jit
def copy(X, Y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(Y + i, tl.load(X + i, mask=i < n), mask=i < n)

def copied(arguments):
    copy[(1,)](**arguments)
";
    std::fs::write(&file, text).expect("the file is written");
    let path = file.to_str().expect("a plain path");
    let out = text_of(&run(&[path]));
    assert!(
        out.contains("entered copy on line 10 with elements = 65536 (default), n = 8 (default), X = f32[elements] (default)"),
        "{out}"
    );

    let set = ["--set", "X=f16[100]", "--set", "Y=f16[100]", "--set", "n=100", "--set", "BLOCK=32", "--set", "grid=4"];
    let done = run(&[&[path], &set[..]].concat());
    let out = text_of(&done);
    assert!(out.contains("4 programs of 4 warps") && out.contains("Y  f16[100]"), "{out}");

    let out = text_of(&run(&[path, "--set", "grid=many"]));
    assert!(out.contains("`grid=many`: one to three numbers of programs are expected"), "{out}");
}
