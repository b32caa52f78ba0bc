"""Stands in Triton's compile step: what a launch on a GPU needs is compiled by Tritium, and by Triton where Tritium cannot.

Everything around that step (autotuners, heuristics, hooks, Inductor, graphs) is Triton's own.
"""

import collections
import contextlib
import contextvars
import dataclasses
import functools
import json
import os
import re
import shutil
import sys
import sysconfig
import time
import warnings

from tritium import capture, errors, kernel, launch, report

#: Options that change what code is made, with the values under which Tritium's is the same as Triton's. `None` is as good as the default.
EXPECTED = {
    "num_ctas": (1,),
    "enable_fp_fusion": (True,),
    "enable_reflect_ftz": (True,),
    "ir_override": (),
    "ptx_options": (),
    "ptx_version": (),
    "instrumentation_mode": ("",),
    "default_dot_input_precision": ("tf32",),
    "max_num_imprecise_acc_default": (0, 2**30),
}

#: What asks for something that only Triton's own stages write or do: variables of the environment, and `triton.knobs.compilation`.
OF_TRITONS_STAGES = (
    "TRITON_KERNEL_OVERRIDE",
    "TRITON_KERNEL_DUMP",
    "TRITON_REPRODUCER_PATH",
    "TRITON_ENABLE_ASAN",
    "TRITON_DUMP_MIR",
    "MLIR_ENABLE_DUMP",
    "LLVM_IR_ENABLE_DUMP",
    "USE_IR_LOC",
)
KNOBS_OF_STAGES = ("override", "dump_ir", "enable_asan", "use_ir_loc")

#: Requests that are being gathered instead of compiled: an autotuner's rows are compiled together.
_gathered = contextvars.ContextVar("gathered", default=None)

#: What has been warned of, for Python to tell it once.
_warned = {}

#: Set while an autotuner tries a row: one that does not fit is told instead of handed on.
_is_tuning = contextvars.ContextVar("is_tuning", default=False)


class Refused(Exception):
    """Why Triton is to compile a kernel: what is wrong, and the line of the kernel if one is to blame."""

    def __init__(self, message, line=None):
        super().__init__(message)
        self.line = line


@dataclasses.dataclass
class Request:
    """A specialisation that somebody wants compiled."""

    source: object
    #: What `_tritium.Session.compile` takes.
    asked: dict
    #: The same with everything that it hangs on, as text.
    key: str


def patch(module):
    """Puts Tritium in front of the `compile` of `triton.compiler.compiler`, which has just been imported or was before. Answers what undoes it."""
    original = module.compile

    @functools.wraps(original)
    def compile(src, target=None, options=None, **kwargs):
        return _compile(module, original, src, target, options, kwargs)

    # Others have taken the name from there.
    owners = [owner for name in ("triton.compiler.compiler", "triton.compiler", "triton") if (owner := sys.modules.get(name)) is not None]
    owners = [owner for owner in owners if getattr(owner, "compile", None) is original]
    for owner in owners:
        owner.compile = compile

    def undo():
        for owner in (sys.modules.get(name) for name in ("triton.compiler.compiler", "triton.compiler", "triton")):
            if getattr(owner, "compile", None) is compile:
                owner.compile = original

    return undo


def _compile(module, original, src, target, options, kwargs):
    theirs = functools.partial(original, src, target=target, options=options, **kwargs)
    # Gluon's sources and texts of another compiler's are Triton's own.
    if type(src) is not module.ASTSource or (target is not None and target.backend != "cuda"):
        return theirs()
    gathered = _gathered.get()
    begin = time.perf_counter()
    try:
        parsed = _parsed(module, src, target, options)
        request = _request(module, src, *parsed)
        if gathered is not None:
            gathered.append(request)
            return None
        made = _kernel(module, src, request, theirs, *parsed)
    except Refused as refused:
        return None if gathered is not None else _handed_on(src, theirs, refused)
    row = report.of(request.source.name, request.source.file, request.source.line, "tritium")
    row.specialisations += 1
    seconds = time.perf_counter() - begin + launch.state().shares.pop(request.key, 0.0)
    row.compile_seconds += seconds
    _tell_listener(module, made, seconds)
    mode = os.environ.get("TRITIUM")
    if mode in ("verify", "bench"):
        from tritium import compare

        return compare.both(made, theirs, row, mode, seconds)
    return made


def _tell_listener(module, made, seconds):
    """Who listens to Triton's compiler hears of Tritium's kernels: of one stage, with the time that all of it took."""
    knobs = module.knobs
    if (listener := getattr(getattr(knobs, "compilation", None), "listener", None)) is not None:
        times = knobs.CompileTimes(ir_initialization=0, lowering_stages=[("tritium", int(seconds * 1e6))], store_results=0)
        metadata = made.metadata._asdict()
        listener(src=made.src, metadata=metadata, metadata_group=made.metadata_group, times=times, cache_hit=False)


def _handed_on(src, theirs, refused):
    """Triton's kernel, and why it is not Tritium's."""
    file, line = capture.place(src.fn)
    if os.environ.get("TRITIUM_FALLBACK") == "error":
        raise errors.CompilationError(str(refused), kernel=src.fn.__name__, file=file, line=refused.line or line) from None
    made = theirs()
    # What Triton does not take either is its own to tell.
    row = report.of(src.fn.__name__, file, line, "triton")
    row.refused = str(refused)
    row.refused_line = refused.line
    row.specialisations += 1
    return made


def _parsed(module, src, target, options):
    """Target and options as Triton reads them."""
    if target is None:
        target = module.driver.active.get_current_target()
    backend = module.make_backend(target)
    return target, backend, backend.parse_options(dict(options or {}, **src.parse_options()))


def _request(module, src, target, backend, options):
    if asked := _asked_of_stages(module):
        raise Refused(f"{asked} asks for what only Triton's own stages write")
    for name, good in EXPECTED.items():
        value = getattr(options, name, None)
        if value is not None and value not in good:
            raise Refused(f"{name}={value!r} is not compiled")
    if options.debug and options.sanitize_overflow:
        raise Refused("checks of integer overflow (debug with sanitize_overflow) are not compiled")
    for name, path in options.extern_libs or ():
        if name != "libdevice":
            raise Refused(f"the library {name} ({path}) is not linked")
    current = launch.state()
    function = src.fn
    with current.lock:
        try:
            source = current.sources.of(function, launch.functions(src.constants.values()))
        except (OSError, SyntaxError, TypeError) as error:
            raise Refused(f"its text is not read: {error}") from None
        arguments = [
            _argument(current, src, (index,), name, type) for index, (name, type) in enumerate(src.signature.items())
        ]
    asked = {
        "module": source.module,
        "kernel": source.name,
        "arguments": arguments,
        "options": (options.num_warps, options.num_stages, options.maxnreg),
        "sm": f"sm_{target.arch}",
        "name": _name(src),
        "lines": launch.has_lines(),
        "assertions": bool(options.debug),
        "fp32_default": launch.fp32_default(),
    }
    return Request(source, asked, json.dumps(asked, sort_keys=True, default=str))


def _asked_of_stages(module):
    """The variable or the knob that asks for something of Triton's stages."""
    knobs = getattr(module.knobs, "compilation", None)
    named = (f"triton.knobs.compilation.{name}" for name in KNOBS_OF_STAGES if getattr(knobs, name, None))
    return next((name for name in OF_TRITONS_STAGES if launch.is_on(name, False)), None) or next(named, None)


def _name(src):
    """What the function's `repr` calls this specialisation, if that is not the function's own name."""
    function = src.fn
    if getattr(function, "_repr", None) is None:
        return None
    constants = {function.arg_names[path[0]]: value for path, value in src.constants.items() if len(path) == 1}
    name = function.repr(collections.namedtuple("SpecializationProxy", "constants signature")(constants, src.signature))
    name = name.rpartition(".")[2]
    if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
        raise Refused(f"`{name}` is no name of a kernel")
    return None if name == function.fn.__name__ else name


def _argument(current, src, path, name, type):
    if isinstance(type, tuple):
        if hasattr(type, "_fields"):
            raise Refused(f"`{name}` is a named tuple")
        return ("arguments", [_argument(current, src, (*path, i), f"{name}[{i}]", item) for i, item in enumerate(type)])
    if type == "constexpr" or path in src.constants:
        value = src.constants.get(path)
        if hasattr(value, "_fields"):
            raise Refused(f"`{name}` is a named tuple")
        try:
            return launch.constant(current, name, value, {})
        except errors.LaunchError as error:
            raise Refused(error.message) from None
    if type == "nvTmaDesc":
        raise Refused(f"`{name}` is a descriptor that host code has encoded")
    return ("typed", argument_type(src, path, type))


def argument_type(src, path, type):
    """The type of an argument, with what Triton knows of its value: `*fp32:16`."""
    is_divisible = any(fact[:2] == ["tt.divisibility", 16] for fact in map(list, src.attrs.get(path, ())))
    return f"{type}:16" if is_divisible and not type.startswith("tensordesc") else type


def _compiled(request):
    known = launch.state().compiled
    if request.key not in known:
        known[request.key] = _ask([request])[0]
    return known[request.key]


def _ask(requests):
    try:
        return launch.state().session.compile([request.asked for request in requests])
    except (ValueError, RuntimeError) as error:
        return [json.dumps([{"code": "", "message": str(error), "place": None}])] * len(requests)


def _kernel(module, src, request, theirs, target, backend, options):
    compiled = _compiled(request)
    if isinstance(compiled, str):
        problem = json.loads(compiled)[0]
        file, line = launch.place(launch.state(), request.source, problem["place"])
        message = f"{problem['message']} [{problem['code']}]" if problem["code"] else problem["message"]
        if line is not None and file != request.source.file:
            message, line = f"{file}:{line}: {message}", None
        raise Refused(message, line)
    if not compiled.is_cubin:
        raise Refused("there is no ptxas: `pip install nvidia-cuda-nvcc` brings it")
    limit = module.max_shared_mem(module.driver.active.get_current_device()) if _is_here(module, target) else None
    if limit is not None and compiled.shared > limit and not _is_tuning.get():
        raise Refused(f"its {compiled.shared} bytes of shared memory are more than the {limit} of a CTA")
    if compiled.tensor_maps and _is_for_cpp():
        raise Refused("its launcher makes its tensor maps, and the C++ that Inductor writes launches kernels itself")
    for warned in json.loads(compiled.warnings):
        file, line = launch.place(launch.state(), request.source, warned["place"])
        message = f"{warned['message']} [{warned['code']}]"
        warnings.warn_explicit(message, errors.KernelWarning, file or request.source.file, line or request.source.line, registry=_warned)
    return kernel.kernel_class(module)(src, request, compiled, (target, backend, options), theirs)


def _is_for_cpp():
    """Whether Inductor writes C++ around kernels (AOTInductor, `cpp_wrapper`), which passes the function's own parameters and scratch."""
    return bool(getattr(sys.modules.get("torch._inductor.config"), "cpp_wrapper", False))


def _is_here(module, target):
    """Whether the code is for the GPU of this process: workers of Inductor may have none."""
    try:
        return module.driver.active.get_current_target() == target
    except Exception:
        return False


@contextlib.contextmanager
def tuning():
    """A row of an autotuner is being tried."""
    token = _is_tuning.set(True)
    try:
        yield
    finally:
        _is_tuning.reset(token)


def compile_together(launches):
    """Compiles what launches need, several at once. `launches`: functions that warm one up each."""
    gathered = []
    token = _gathered.set(gathered)
    try:
        for warm_up in launches:
            # What is wrong is told when the row is tried.
            with contextlib.suppress(Exception):
                warm_up()
    finally:
        _gathered.reset(token)
    known = launch.state().compiled
    missing = {request.key: request for request in gathered if request.key not in known}
    if len(missing) > 1:
        begin = time.perf_counter()
        made = dict(zip(missing, _ask(list(missing.values()))))
        known.update(made)
        # They shared it in proportion to what each would take alone.
        alone = {key: one.seconds for key, one in made.items() if not isinstance(one, str)}
        part = (time.perf_counter() - begin) / (sum(alone.values()) or 1.0)
        launch.state().shares.update({key: seconds * part for key, seconds in alone.items()})


def program():
    """The `tritium` program of this installation, or `None`."""
    if named := os.environ.get("TRITIUM_BIN"):
        return named
    name = "tritium" + (sysconfig.get_config_var("EXE") or "")
    own = os.path.dirname(os.path.abspath(__file__))
    folders = [sysconfig.get_path("scripts"), os.path.dirname(sys.executable), os.path.join(os.path.dirname(own), "bin")]
    return next((path for folder in folders if os.access(path := os.path.join(folder, name), os.X_OK)), None) or shutil.which(name)


def packages():
    """Where Python packages lie that may bring ptxas."""
    return [folder for folder in dict.fromkeys(sys.path) if folder and os.path.isdir(folder)]
