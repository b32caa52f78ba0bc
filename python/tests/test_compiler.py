"""Triton's compile step with Tritium in front of it. No GPU and no Triton: what is asked of Triton's compiler module is played here."""

import json
import os
import sys
import types
import warnings
from collections import namedtuple

import pytest

import tritium
from tritium import compiler, errors, kernel as kernels, launch
from tritium.report import report

import triton
import triton.language as tl

Target = namedtuple("GPUTarget", "backend arch warp_size")


class Options(types.SimpleNamespace):
    """Those of a launch that says nothing."""

    def __init__(self, **given):
        held = {"num_warps": 4, "num_stages": 3, "maxnreg": None, "num_ctas": 1, "debug": False, "sanitize_overflow": True, "extern_libs": ()}
        super().__init__(**{**held, **given})


class Source:
    """What Triton compiles: a function, the types of its parameters, compile-time values and facts by path."""

    def __init__(self, fn, signature, constants=None, attrs=None):
        self.fn, self.signature, self.constants, self.attrs = fn, signature, constants or {}, attrs or {}

    def parse_options(self):
        return {}


class Manager:
    """Triton's cache of files, in memory."""

    files = {}

    def __init__(self, hash):
        self.hash = hash

    def put(self, content, name, binary=True):
        Manager.files[self.hash, name] = content
        return name

    def put_group(self, name, group):
        pass


class NoDriver:
    def __getattr__(self, name):
        raise RuntimeError("0 active drivers")


@pytest.fixture
def module():
    backend = types.SimpleNamespace(
        parse_options=lambda given: Options(**given), pack_metadata=lambda m: (m.num_warps, m.num_ctas, m.shared)
    )
    found = types.ModuleType("triton.compiler.compiler")
    contents = dict(
        compile=lambda src, target=None, options=None: f"Triton's {src.fn.__name__}",
        ASTSource=Source,
        CompiledKernel=type("CompiledKernel", (), {"launch_metadata": lambda *_: "told"}),
        AsmDict=type("AsmDict", (dict,), {"__missing__": lambda self, stage: "disassembled"}),
        OutOfResources=type("OutOfResources", (Exception,), {}),
        make_backend=lambda target: backend,
        driver=types.SimpleNamespace(active=NoDriver()),
        knobs=types.SimpleNamespace(runtime=types.SimpleNamespace(launch_enter_hook=None)),
        get_cache_manager=Manager,
        max_shared_mem=lambda device: 232448,
        __version__="3.6.0",
    )
    vars(found).update(contents)
    theirs = found.compile
    found.asked = lambda *args, **kwargs: compiler._compile(found, theirs, *args, kwargs)
    return found


TARGET = Target("cuda", 90, 32)


@triton.jit
def twice(x):
    return x * 2.0


@triton.jit
def apply(X, n, s, f: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.device_assert(at >= 0)
    x = tl.load(X + at * s, mask=at < n)
    tl.store(X + at * s, f(x), mask=at < n)


def source(fn=apply, block=128, **types):
    signature = {"X": "*fp32", "n": "i32", "s": "constexpr", "f": "constexpr", "BLOCK": "constexpr", **types}
    return Source(fn, signature, {(2,): 1, (3,): twice, (4,): block}, {(0,): [["tt.divisibility", 16]]})


def test_a_kernel_is_as_triton_has_them(module):
    kernel = module.asked(source(), TARGET, {"num_warps": 8})
    assert isinstance(kernel, module.CompiledKernel)
    assert kernel.name == "apply" and ".entry apply(" in kernel.asm["ptx"] and ".maxntid 256" in kernel.asm["ptx"]
    assert kernel.asm["cubin"][:4] == b"\x7fELF" and kernel.kernel == kernel.asm["cubin"]
    assert (kernel.metadata.num_warps, kernel.metadata.shared, kernel.metadata.target) == (8, 0, TARGET)
    assert kernel.packed_metadata == (8, 1, 0) and kernel.metadata.compiled_by == "tritium"
    # Inductor launches the file itself.
    assert Manager.files[kernel.hash, "apply.cubin"] == kernel.asm["cubin"]
    assert json.loads(Manager.files[kernel.hash, "apply.json"])["name"] == "apply"
    # Of 16 bytes aligned, and of neighbours: in fours.
    assert "ld.global.v4" not in kernel.asm["ptx"], "128 elements are one for each of 256 threads"


def test_profilers_find_the_lines_of_the_source(module):
    kernel = module.asked(source(), TARGET, {})
    line = twice.fn.__code__.co_firstlineno + 2
    assert f"test_compiler.py:{line}:12 in twice, called at test_compiler.py:" in kernel.asm["ptx"]
    # The table's file and the name of what was inlined.
    assert b"test_compiler.py\0" in kernel.kernel and b"twice\0" in kernel.kernel


def test_lines_are_left_out_on_request(module, monkeypatch):
    monkeypatch.setenv("TRITON_DISABLE_LINE_INFO", "1")
    kernel = module.asked(source(), TARGET, {})
    assert ".loc" not in kernel.asm["ptx"] and b"test_compiler.py" not in kernel.kernel


def test_a_kernel_is_called_what_its_repr_says(module, monkeypatch):
    named = lambda told: f"module.apply_{told.constants['BLOCK']}_{told.signature['X'][1:]}"
    monkeypatch.setattr(apply, "_repr", named, raising=False)
    monkeypatch.setattr(apply, "repr", named, raising=False)
    monkeypatch.setattr(apply, "arg_names", ["X", "n", "s", "f", "BLOCK"], raising=False)
    kernel = module.asked(source(), TARGET, {})
    assert kernel.name == kernel.metadata.name == "apply_128_fp32" and ".entry apply_128_fp32(" in kernel.asm["ptx"]
    monkeypatch.setattr(apply, "repr", lambda told: "apply<fp32>", raising=False)
    assert module.asked(source(), TARGET, {}) == "Triton's apply"


def test_texts_of_stages_that_only_triton_has_are_tritons(module, monkeypatch):
    kernel = module.asked(source(), TARGET, {})
    asked = []

    def theirs():
        asked.append(1)
        return types.SimpleNamespace(asm={"ttir": "module {}", "ttgir": "module { layouts }"})

    kernel.asm.theirs = theirs
    assert "ttgir" not in kernel.asm and asked == []
    assert kernel.asm["ttgir"] == kernel.asm["ttgir"] == "module { layouts }" and asked == [1]
    assert kernel.asm["sass"] == "disassembled"
    # Inductor sends the texts to other processes.
    assert type(kernel.asm.__reduce__()[1][0]) is dict and kernel.asm.__reduce__()[0] is module.AsmDict


def test_assertions_are_for_debugging(module):
    assert "__assertfail" not in module.asked(source(), TARGET, {}).asm["ptx"]
    kernel = module.asked(source(), TARGET, {"debug": True, "sanitize_overflow": False})
    assert "__assertfail" in kernel.asm["ptx"]
    line = apply.fn.__code__.co_firstlineno + 3
    assert f"{__file__}\\00" in kernel.asm["llir"] and f", {line}; // the line in the source" in kernel.asm["ptx"]


def test_what_is_not_compiled_goes_on_to_triton_and_is_told(module, monkeypatch):
    refusals = {
        "num_ctas=2 is not compiled": (source(), {"num_ctas": 2}),
        "arange's range must be a power of 2": (source(block=100), {}),
        "checks of integer overflow": (source(), {"debug": True}),
        "a descriptor that host code has encoded": (source(X="nvTmaDesc"), {}),
    }
    for why, (asked, options) in refusals.items():
        assert module.asked(asked, TARGET, options) == "Triton's apply"
        row = next(row for row in report() if row.name == "apply" and row.by == "triton")
        assert row.line == apply.fn.__code__.co_firstlineno + 1, "that of `def`, whoever compiles"
        if "power of 2" in why:
            assert "power of two" in row.refused or "power of 2" in row.refused, row.refused
        else:
            assert why in row.refused, row.refused
    monkeypatch.setenv("TRITIUM_FALLBACK", "error")
    with pytest.raises(errors.CompilationError) as raised:
        module.asked(source(block=100), TARGET, {})
    assert "tl.arange(0, BLOCK)" in str(raised.value), "the line of the kernel is shown"


@pytest.mark.parametrize("variable", compiler.OF_TRITONS_STAGES)
def test_who_wants_something_of_tritons_stages_gets_it(module, monkeypatch, variable):
    monkeypatch.setenv(variable, "1")
    assert module.asked(source(), TARGET, {}) == "Triton's apply"
    assert any(variable in row.refused for row in report() if row.by == "triton")
    monkeypatch.setenv(variable, "0")
    assert module.asked(source(), TARGET, {}).metadata.compiled_by == "tritium"


def test_a_listener_of_the_compiler_is_told(module, monkeypatch):
    heard = []
    monkeypatch.setattr(module.knobs, "CompileTimes", types.SimpleNamespace, raising=False)
    listener = lambda **told: heard.append(told)
    monkeypatch.setattr(module.knobs, "compilation", types.SimpleNamespace(listener=listener), raising=False)
    kernel = module.asked(source(), TARGET, {})
    assert heard[0]["src"] is kernel.src and heard[0]["metadata"]["name"] == "apply" and not heard[0]["cache_hit"]
    assert [stage for stage, _ in heard[0]["times"].lowering_stages] == ["tritium"]


def test_a_knob_counts_as_its_variable(module, monkeypatch):
    monkeypatch.setattr(module.knobs, "compilation", types.SimpleNamespace(dump_ir=True), raising=False)
    assert module.asked(source(), TARGET, {}) == "Triton's apply"


@triton.jit
def chosen(x, y):
    return tl.where(x, y, 0.0)


def test_what_triton_warns_of_is_warned_of_once(module):
    with warnings.catch_warnings(record=True) as record:
        warnings.simplefilter("default")
        for warps in 4, 8:
            module.asked(Source(choosing, {"X": "*fp32", "B": "constexpr"}, {(1,): 32}), TARGET, {"num_warps": warps})
    told, = (warning for warning in record if warning.category is errors.KernelWarning)
    assert (told.filename, told.lineno) == (__file__, chosen.fn.__code__.co_firstlineno + 2)
    assert "the condition of tl.where is i1" in str(told.message)


@triton.jit
def choosing(X, B: tl.constexpr):
    at = tl.arange(0, B)
    tl.store(X + at, chosen(at, 1.0))


@triton.jit
def listed(X, Cursor, Out, B: tl.constexpr):
    at = tl.arange(0, B)
    place = tl.atomic_add(Cursor + tl.load(X + at), 1)
    tl.atomic_add(Out, 1)
    tl.store(Out + place, at)


def test_lists_in_the_order_of_atomics_are_known(module):
    of = lambda fn, types, constants: module.asked(Source(fn, types, constants), TARGET, {}).code.uses_atomic_results
    assert of(listed, {"X": "*i32", "Cursor": "*i32", "Out": "*i32", "B": "constexpr"}, {(3,): 32})
    assert not of(multiply, {"X": "*fp16", "Y": "*fp32", "B": "constexpr"}, {(2,): 32})


@triton.jit
def multiply(X, Y, B: tl.constexpr):
    at = tl.arange(0, B)[:, None] * B + tl.arange(0, B)[None, :]
    x = tl.load(X + at)
    tl.store(Y + at, tl.dot(x, x))


@triton.jit
def described(X, Y, n, B: tl.constexpr):
    x = tl.make_tensor_descriptor(X, shape=[n, n], strides=[n, 1], block_shape=[B, B])
    sums = tl.zeros((B, B), tl.float32)
    for k in range(0, n, B):
        sums = tl.dot(x.load([0, k]), x.load([k, 0]), sums)
    at = tl.arange(0, B)[:, None] * B + tl.arange(0, B)[None, :]
    tl.store(Y + at, sums)


@triton.jit
def given(x, Y, n, B: tl.constexpr):
    sums = tl.zeros((B, B), tl.float32)
    for k in range(0, n, B):
        sums = tl.dot(x.load([0, k]), x.load([k, 0]), sums)
    at = tl.arange(0, B)[:, None] * B + tl.arange(0, B)[None, :]
    tl.store(Y + at, sums)


def test_who_launches_itself_is_told_of_more_parameters(module, monkeypatch):
    asked = Source(given, {"x": "tensordesc<fp16[64,64]>", "Y": "*fp32", "n": "i32", "B": "constexpr"}, {(3,): 64})
    kernel = module.asked(asked, TARGET, {})
    assert kernel.code.tensor_maps > 0 and kernel.metadata.global_scratch_size == 128 * kernel.code.tensor_maps
    assert module.asked(source(), TARGET, {}).metadata.global_scratch_size == 0
    # AOTInductor writes C++ that would pass scratch where the maps are.
    monkeypatch.setitem(sys.modules, "torch._inductor.config", types.SimpleNamespace(cpp_wrapper=True))
    assert module.asked(asked, TARGET, {}) == "Triton's given"
    assert module.asked(source(), TARGET, {}).metadata.compiled_by == "tritium"


def test_descriptors_that_a_kernel_makes_are_written_to_scratch(module, monkeypatch):
    asked = Source(described, {"X": "*fp16", "Y": "*fp32", "n": "i32", "B": "constexpr"}, {(3,): 64})
    # AOTInductor passes scratch.
    monkeypatch.setitem(sys.modules, "torch._inductor.config", types.SimpleNamespace(cpp_wrapper=True))
    kernel = module.asked(asked, TARGET, {})
    assert (kernel.code.tensor_maps, kernel.code.scratch) == (0, 128), "one tensor, one kind of block"
    assert (kernel.metadata.global_scratch_size, kernel.metadata.global_scratch_align) == (128, 128)
    assert "tensormap.cp_fenceproxy" in kernel.asm["ptx"]


@triton.jit
def doubled(X, Y, rows, columns, B: tl.constexpr):
    x = tl.make_tensor_descriptor(X, shape=[rows, columns], strides=[columns, 1], block_shape=[B, B])
    y = tl.make_tensor_descriptor(Y, shape=[rows, columns], strides=[columns, 1], block_shape=[B, B])
    y.store([0, 0], x.load([0, 0]) * 2)


@triton.jit
def batches(X, Y, count, n, B: tl.constexpr):
    x = tl.make_tensor_descriptor(X, shape=[n, n], strides=[n, 1], block_shape=[B, B])
    sums = tl.zeros((B, B), tl.float32)
    for batch in range(count):
        if batch % 2 == 0:
            x = tl.make_tensor_descriptor(X + batch * n * n, shape=[n, n], strides=[n, 1], block_shape=[B, B])
        sums = tl.dot(x.load([0, 0]), x.load([0, 0]), sums)
    y = tl.make_tensor_descriptor(Y, shape=[n, n], strides=[n, 1], block_shape=[B, B])
    y.store([0, 0], sums)


def test_as_much_scratch_is_asked_for_as_by_triton(module):
    asked = Source(doubled, {"X": "*fp32", "Y": "*fp32", "rows": "i32", "columns": "i32", "B": "constexpr"}, {(4,): 32})
    assert module.asked(asked, TARGET, {}).metadata.global_scratch_size == 2 * 128, "also for what goes through registers"
    asked = Source(batches, {"X": "*fp16", "Y": "*fp32", "count": "i32", "n": "i32", "B": "constexpr"}, {(4,): 64})
    assert module.asked(asked, TARGET, {"num_stages": 3}).metadata.global_scratch_size == (1 + 3 + 1) * 128


def test_scratch_comes_from_the_programs_allocator(monkeypatch):
    asked = []
    allocator = lambda size, align, stream: asked.append((size, align, stream)) or "memory"
    allocation = types.SimpleNamespace(_allocator=types.SimpleNamespace(get=lambda: allocator))
    monkeypatch.setitem(sys.modules, "triton.runtime", types.SimpleNamespace(_allocation=allocation))
    run = kernels._with_scratch(lambda *call, scratch: (call, scratch), 384)
    assert run(2, 3, 1, 7, "function") == ((2, 3, 1, 7, "function"), "memory")
    assert asked == [(6 * 384, 128, 7)]
    run(0, 3, 1, 7, "function")
    assert len(asked) == 1, "an empty grid needs none"


def test_products_in_tensor_memory_are_tritons(module):
    asked = lambda block, sm: module.asked(
        Source(multiply, {"X": "*fp16", "Y": "*fp32", "B": "constexpr"}, {(2,): block}), Target("cuda", sm, 32), {}
    )
    assert asked(64, 100) == "Triton's multiply"
    assert "tensor memory" in next(row.refused for row in report() if row.name == "multiply" and row.by == "triton")
    assert asked(32, 100).metadata.compiled_by == asked(64, 90).metadata.compiled_by == "tritium"


def test_other_compilers_sources_are_theirs(module):
    gluon = type("GluonASTSource", (Source,), {})
    assert module.asked(gluon(apply, {}), TARGET, {}) == "Triton's apply"
    assert module.asked(source(), Target("hip", "gfx942", 64), {}) == "Triton's apply"


def test_rows_of_a_tuner_are_compiled_together(module, monkeypatch):
    asked = []
    session = launch.state().session
    together = types.SimpleNamespace(compile=lambda requests: asked.append(len(requests)) or session.compile(requests))
    monkeypatch.setattr(launch.state(), "session", together)
    warm_up = [lambda block=block: module.asked(source(block=block), TARGET, {}) for block in (256, 512, 1000, 1024)]
    compiler.compile_together(warm_up)
    assert asked == [4]
    kernels = [one() for one in warm_up]
    assert asked == [4], "nothing is compiled twice"
    assert kernels[2] == "Triton's apply" and all(kernel.name == "apply" for kernel in kernels[:2])


def test_a_tuner_is_told_of_rows_that_do_not_fit(module):
    @triton.jit
    def large(X, BLOCK: tl.constexpr):
        at = tl.arange(0, BLOCK)
        x = tl.load(X + at[:, None] * BLOCK + at[None, :])
        tl.store(X + at[:, None] * BLOCK + at[None, :], tl.dot(x, x).to(tl.float16))

    module.driver.active = types.SimpleNamespace(get_current_device=lambda: 0, get_current_target=lambda: TARGET)
    module.max_shared_mem = lambda device: 1024
    asked = Source(large, {"X": "*fp16", "BLOCK": "constexpr"}, {(1,): 64})
    assert module.asked(asked, TARGET, {}) == "Triton's large", "Triton's may take less"
    with compiler.tuning():
        kernel = module.asked(asked, TARGET, {})
        with pytest.raises(module.OutOfResources):
            kernel.run
        with pytest.raises(module.OutOfResources):
            kernel.run(1, 1, 1)


def test_descriptors_with_another_padding_are_launched_by_triton(module):
    @triton.jit
    def copied(X, Y, BLOCK: tl.constexpr):
        Y.store([0], X.load([0]))

    theirs = types.SimpleNamespace(run=lambda *call: call, function="its function", packed_metadata="its metadata")
    asked = Source(copied, {"X": "tensordesc<fp32[64]>", "Y": "tensordesc<fp32[64]>", "BLOCK": "constexpr"}, {(2,): 64})
    made = compiler._compile(module, lambda *_, **__: theirs, asked, TARGET, {}, {})

    def refusing(*call):
        raise tritium._tritium.PaddingError

    assert made._launcher(refusing)(1, 1, 1, "stream", "f", "m", None, None, None, "x") == (
        1, 1, 1, "stream", "its function", "its metadata", None, None, None, "x",
    )


def test_globals_that_were_compiled_in_are_watched(module):
    table = {"tl": tl, "triton": triton}
    function = types.FunctionType(scaled.fn.__code__, {**scaled.fn.__globals__, **table, "FACTOR": tl.constexpr(3)})
    kernel = triton.jit(function)
    kernel.used_global_vals = {}
    module.asked(Source(kernel, {"X": "*fp32"}), TARGET, {})
    assert [name for name, _ in kernel.used_global_vals] == ["FACTOR"]


FACTOR = tl.constexpr(2)


@triton.jit
def scaled(X):
    tl.store(X, tl.load(X) * FACTOR)


def test_modules_of_libraries_with_kernels_are_read(module):
    helpers = types.ModuleType("torch._inductor.runtime.helpers")
    helpers.twice = twice
    function = types.FunctionType(helped.fn.__code__, {**helped.fn.__globals__, "helpers": helpers})
    kernel = module.asked(Source(triton.jit(function), {"X": "*fp32"}), TARGET, {})
    assert kernel.name == "helped"


@triton.jit
def helped(X):
    tl.store(X, helpers.twice(tl.load(X)))  # noqa: F821


def test_a_specialisation_says_what_is_known_of_each_argument(module):
    # Triton lists arguments of which it knows nothing, too.
    facts = {(0,): [["tt.divisibility", 16]], (1,): []}
    given = Source(apply, {"X": "*fp32", "n": "i32", "BLOCK": "constexpr"}, {(2,): 64}, facts)
    from tritium import compare

    assert compare._specialisation(types.SimpleNamespace(src=given)) == "X: *fp32:16, n: i32, BLOCK=64"


def test_the_report_says_who_compiled(module, tmp_path):
    module.asked(source(), TARGET, {})
    path = tmp_path / "report.json"
    from tritium.report import summary, write

    write(str(path))
    rows = [row for row in json.loads(path.read_text())["kernels"] if row["name"] == "apply" and row["by"] == "tritium"]
    assert rows and rows[0]["specialisations"] >= 1
    assert "specialisations were compiled by Tritium" in summary()
    assert tritium.report() == report()


def test_a_process_that_runs_keeps_its_report(module, tmp_path, monkeypatch):
    # `tritium.report` is the function.
    reports = sys.modules["tritium.report"]
    module.asked(source(), TARGET, {})
    path = tmp_path / "report-%p.json"
    written = tmp_path / f"report-{os.getpid()}.json"
    monkeypatch.setenv("TRITIUM_REPORT", str(path))
    monkeypatch.setattr(reports, "_last_written", -reports.INTERVAL)
    reports.write_so_far()
    assert any(row["name"] == "apply" for row in json.loads(written.read_text())["kernels"])
    # Not with every comparison.
    written.write_text("")
    reports.write_so_far()
    assert written.read_text() == "" and os.listdir(tmp_path) == [written.name]
    # Where nothing can be written, launches go on.
    monkeypatch.setenv("TRITIUM_REPORT", str(tmp_path / "missing" / "report.json"))
    monkeypatch.setattr(reports, "_last_written", -reports.INTERVAL)
    reports.write_so_far()
