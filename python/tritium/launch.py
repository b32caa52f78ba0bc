"""A launch: arguments become values and memory, findings become exceptions."""

import atexit
import inspect
import json
import numbers
import os
import re
import sys
import threading
import warnings

from tritium import _tritium, capture, compiler, errors, report, standin, symbols

#: What the launch of a kernel may say beside its arguments. Those after the third change nothing of what a kernel computes.
OPTIONS = ("num_warps", "num_stages", "maxnreg", "num_ctas", "enable_fp_fusion", "launch_cooperative_grid", "launch_pdl", "ir_override", "debug",
           "sanitize_overflow", "instrumentation_mode", "generate_native_code", "waves_per_eu", "matrix_instr_nonkdim")

#: Findings that a file's launches are only warned of, as what they rest on may be chosen there. Here a program has really made them.
RAISED = ("SAN003", "SAN005", "SAN012")

#: Triton's defaults.
WARPS, STAGES = 4, 3


def is_on(variable, default):
    """Whether a variable of the environment says yes."""
    return os.environ.get(variable, str(int(default))).lower() not in ("", "0", "off", "no", "false")


def is_checked():
    """Whether launches run under checks."""
    return is_on("TRITIUM_SANITIZE", True)


def fp32_default():
    """How Triton multiplies f32 where a product does not say: its knob, or the variable that the knob reads."""
    knobs = getattr(getattr(sys.modules.get("triton"), "knobs", None), "language", None)
    if hasattr(knobs, "fp32_default"):
        return knobs.fp32_default
    return os.environ.get("TRITON_F32_DEFAULT") or None


def has_lines():
    """Whether machine code names the lines that it comes from: Triton's knob, or the variable that the knob reads."""
    knobs = getattr(getattr(sys.modules.get("triton"), "knobs", None), "compilation", None)
    if hasattr(knobs, "disable_line_info"):
        return not knobs.disable_line_info
    return not is_on("TRITON_DISABLE_LINE_INFO", False)


class State:
    """What Tritium knows of this process."""

    def __init__(self):
        self.device = "sim" if os.environ.get("TRITIUM") == "sim" else "cpu"
        self.is_checked = is_checked()
        self.is_recorded = is_on("TRITIUM_RECORD", False)
        program, packages = compiler.program(), compiler.packages()
        self.session = _tritium.Session(_triton_version(), self.device, program, packages)
        #: What was compiled for the GPU, by what it was made of.
        self.compiled = {}
        #: What each of those that were compiled together has taken, in seconds, until it is told.
        self.shares = {}
        #: Triton compiles on several threads.
        self.lock = threading.RLock()
        self.sources = capture.Sources(self.session.add, self.session.clear)


_state = None
_lock = threading.Lock()


def state():
    global _state
    with _lock:
        if _state is None:
            _state = State()
            if _state.is_recorded:
                atexit.register(_state.session.flush)
        return _state


def _forget():
    """In a child of `fork`: the threads of a session are its parent's."""
    global _state, _lock
    _state, _lock = None, threading.Lock()


os.register_at_fork(after_in_child=_forget)


def _triton_version():
    triton = symbols.triton_module("triton")
    return standin.VERSION if triton is None else ".".join(triton.__version__.split(".")[:2])


def run(function, grid, args, kwargs):
    """Runs a launch of a `@triton.jit` function on the memory of its arguments."""
    current = state()
    signature = inspect.signature(function.fn)
    options = {name: kwargs.pop(name) for name in list(kwargs) if name not in signature.parameters}
    for name in options:
        if name not in OPTIONS:
            raise KeyError(f"Keyword argument {name} was specified but unrecognised")
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    source = current.sources.of(function, functions(bound.arguments.values()))
    where = {"kernel": source.name, "file": source.file, "line": source.line}
    row = report.of(source.name, source.file, source.line, current.device)
    row.launches += 1
    if (options.get("num_ctas") or 1) != 1:
        raise errors.LaunchError("more than one CTA a cluster is not run on the CPU", **where)
    memories = Memories()
    run_time, meta = [], []
    for name, value in bound.arguments.items():
        if _is_constexpr(signature.parameters[name]):
            meta.append((name, constant(current, name, value, where)))
        elif symbols.is_constexpr(value):
            meta.append((name, constant(current, name, value.value, where)))
        else:
            run_time.append((name, _argument(memories, name, value, where)))
    if callable(grid):
        grid = grid(dict(bound.arguments))
    grid = [int(extent) for extent in (grid if isinstance(grid, (tuple, list)) else (grid,))]
    if not 1 <= len(grid) <= 3 or any(extent < 0 for extent in grid):
        raise errors.LaunchError(f"a grid has one to three extents, this one is {grid}", **where)
    if 0 in grid:
        return
    held, views = memories.laid_out(where)
    request = {
        "module": source.module,
        "kernel": source.name,
        "record": os.path.abspath(source.file) if current.is_recorded and os.path.isfile(source.file) else None,
        "grid": grid + [1] * (3 - len(grid)),
        "args": run_time,
        "meta": meta,
        "options": (options.get("num_warps") or WARPS, options.get("num_stages") or STAGES, options.get("maxnreg")),
        "fp32_default": fp32_default(),
        "memories": held,
        "views": views,
        "is_checked": current.is_checked,
    }
    outcome = json.loads(current.session.launch(request))
    if outcome["problems"]:
        row.refused = outcome["problems"][0]["message"]
        raise _not_compiled(current, source, outcome["problems"])
    _tell(current, source, outcome["findings"])
    if outcome["fault"] is not None:
        file, line, message = _located(current, source, outcome["fault"])
        raise errors.LaunchError(message, kernel=source.name, file=file, line=line)


def functions(values):
    """The `@triton.jit` functions among arguments."""
    for value in values:
        if isinstance(value, (tuple, list)):
            yield from functions(value)
        elif symbols.is_jit(value):
            yield value


def _is_constexpr(parameter):
    annotation = parameter.annotation
    return annotation is not inspect.Parameter.empty and "constexpr" in (
        annotation if isinstance(annotation, str) else getattr(annotation, "__name__", None) or repr(annotation)
    )


class Memories:
    """The allocations that a launch touches."""

    def __init__(self):
        #: Address and bytes of each, and whether it can be written.
        self.spans = []
        #: Name, dtype, shape, strides, address.
        self.views = []
        self.alive = []

    def view(self, name, value, shape=None, strides=None):
        """The number of a tensor among the views; `None` if it is no tensor."""
        described = _described(value)
        if described is None:
            return None
        dtype, own_shape, own_strides, address, start, size, is_writable, owner = described
        self.spans.append((start, size, is_writable, name, dtype))
        self.views.append((name, dtype, own_shape if shape is None else shape, own_strides if strides is None else strides, address))
        self.alive.append(owner)
        return len(self.views) - 1

    def laid_out(self, where):
        """The memories, and the views with the memory that each lies in. Spans that overlap are one memory."""
        merged = []
        for start, size, is_writable, name, dtype in sorted(self.spans, key=lambda span: (span[0], -span[1])):
            if merged and start < merged[-1][0] + merged[-1][1]:
                last = merged[-1]
                last[1] = max(last[1], start + size - last[0])
                last[2] = last[2] and is_writable
                # Its elements are those of the narrowest tensor in it.
                last[4] = min(last[4], dtype, key=_width)
            else:
                merged.append([start, size, is_writable, name, dtype])
        views = []
        for name, dtype, shape, strides, address in self.views:
            # One without elements may lie anywhere.
            index = next((i for i, (start, size, *_) in enumerate(merged) if start <= address < start + max(size, 1)), 0)
            if any(stride < 0 for stride in strides):
                raise errors.LaunchError(f"`{name}` has a negative stride, which no GPU tensor has", **where)
            views.append((name, dtype, list(shape), list(strides), index, address - merged[index][0]))
        return [(name, dtype, start, size, is_writable) for start, size, is_writable, name, dtype in merged], views


def _described(value):
    """dtype, shape, strides in elements, address, start and size of the allocation, whether it can be written, and its owner."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        storage = value.untyped_storage()
        dtype = str(value.dtype).removeprefix("torch.")
        return dtype, list(value.shape), list(value.stride()), value.data_ptr(), storage.data_ptr(), storage.nbytes(), True, value
    if hasattr(value, "__array_interface__"):
        interface = value.__array_interface__
        address, is_read_only = interface["data"]
        item = getattr(value, "itemsize", None) or int(interface["typestr"][2:])
        shape = list(interface["shape"])
        strides = interface.get("strides")
        strides = _row_major(shape) if strides is None else [stride // item for stride in strides]
        dtype = getattr(getattr(value, "dtype", None), "name", None) or _of_typestr(interface["typestr"])
        owner = value
        while type(getattr(owner, "base", None)) is type(value):
            owner = owner.base
        start, size = owner.__array_interface__["data"][0], owner.nbytes
        if not start <= address <= start + size:
            start, size = address, value.nbytes
        return dtype, shape, strides, address, start, size, not is_read_only, value
    # `triton.reinterpret(x, tl.float8e5)`
    if hasattr(value, "base") and hasattr(value, "dtype") and hasattr(value, "data_ptr"):
        inner = _described(value.base)
        return None if inner is None else (getattr(value.dtype, "name", str(value.dtype)), *inner[1:])
    return None


def _width(dtype):
    """Bits of an element, as far as the name of its type says."""
    digits = re.search(r"\d+", dtype.removeprefix("b"))
    return int(digits.group()) if digits else 8


def _row_major(shape):
    strides = [1] * len(shape)
    for axis in range(len(shape) - 2, -1, -1):
        strides[axis] = strides[axis + 1] * shape[axis + 1]
    return strides


def _of_typestr(typestr):
    kind = {"f": "float", "i": "int", "u": "uint", "b": "bool"}.get(typestr[1], typestr)
    return kind if kind == "bool" else f"{kind}{8 * int(typestr[2:])}"


def is_on_cpu(values):
    """Whether none of a launch's tensors lies on a GPU."""
    for value in values:
        if isinstance(value, (tuple, list)):
            if not is_on_cpu(value):
                return False
            continue
        value = getattr(value, "base", value) if not hasattr(value, "__array_interface__") else value
        device = getattr(getattr(value, "device", None), "type", "cpu")
        if device != "cpu" or (hasattr(value, "__cuda_array_interface__") and not hasattr(value, "__array_interface__")):
            return False
    return True


def _argument(memories, name, value, where):
    if value is None:
        return ("none", None)
    if isinstance(value, bool):
        return ("bool", value)
    if isinstance(value, tuple):
        return ("tuple", [_argument(memories, f"{name}[{i}]", item, where) for i, item in enumerate(value)])
    if hasattr(value, "block_shape") and hasattr(value, "base"):
        index = memories.view(name, value.base, list(value.shape), list(value.strides))
        return ("descriptor", (index, [int(extent) for extent in value.block_shape], getattr(value, "padding", "zero") == "nan"))
    # NumPy's numbers look like arrays without axes.
    if _is_numpy_bool(value):
        return ("bool", bool(value))
    if isinstance(value, numbers.Integral):
        return ("int", int(value))
    if isinstance(value, numbers.Real):
        return ("float", float(value))
    index = memories.view(name, value)
    if index is not None:
        return ("tensor", index)
    raise errors.LaunchError(f"`{name}` is a {type(value).__name__}, which no kernel takes", **where)


def _is_numpy_bool(value):
    return type(value).__module__ == "numpy" and type(value).__name__ in ("bool", "bool_")


def constant(current, name, value, where):
    if symbols.is_constexpr(value):
        value = value.value
    if value is None:
        return ("none", None)
    if isinstance(value, bool) or _is_numpy_bool(value):
        return ("bool", bool(value))
    if isinstance(value, str):
        return ("str", str(value))
    if isinstance(value, numbers.Integral):
        return ("int", int(value))
    if isinstance(value, numbers.Real):
        return ("float", float(value))
    if isinstance(value, (tuple, list)):
        return ("tuple", [constant(current, f"{name}[{i}]", item, where) for i, item in enumerate(value)])
    path = symbols.path(value)
    if path is not None and (dtype := path.rpartition(".")[2]) and path.startswith(("triton.language.", "torch.")):
        return ("dtype", dtype)
    if symbols.is_jit(value):
        source = current.sources.inner(value)
        return ("function", (source.module, source.name))
    raise errors.LaunchError(f"`{name}` is a {type(value).__name__}, which is no compile-time value", **where)


def place(current, source, place):
    """File and line of a place in a module's text."""
    if place is None:
        return None, None
    module = os.path.basename(place["file"]).removesuffix(".py")
    source = current.sources.by_module.get(module, source)
    return source.file, source.place(place["line"])


def _located(current, source, fault):
    """The same of a message that begins with a line."""
    head, _, message = fault.partition(": ")
    file, _, line = head.rpartition(":")
    if head.startswith("line ") and head[5:].isdigit():
        return *place(current, source, {"file": source.module, "line": int(head[5:])}), message
    if file.endswith(".py") and line.isdigit():
        return *place(current, source, {"file": file, "line": int(line)}), message
    return source.file, source.line, fault


def _not_compiled(current, source, problems):
    made = []
    for problem in problems:
        file, line = place(current, source, problem["place"])
        code = f" [{problem['code']}]" if problem["code"] else ""
        made.append(errors.CompilationError(problem["message"] + code, kernel=source.name, file=file, line=line))
    made[0].problems = made
    return made[0]


def _tell(current, source, findings):
    """The first that is wrong for certain is raised, with all the others; what may be meant is a warning."""
    raised = []
    for found in findings:
        file, line = place(current, source, found["place"])
        message = f"{found['sentence']} [{found['code']}]"
        if found["code"] in RAISED or (found["severity"] == "error" and found["code"] in errors.FINDINGS):
            raised.append(errors.FINDINGS[found["code"]](message, kernel=source.name, file=file, line=line, found=found))
        elif found["severity"] == "warning":
            warnings.warn_explicit(message, errors.KernelWarning, file or source.file, line or source.line)
    if raised:
        raised[0].findings = raised
        raise raised[0]
