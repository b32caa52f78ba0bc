"""What stands in for Triton where it is not installed: as much of it as programs ask for around their kernels.

The names of the language come from the same tables that check kernels, so a name that the version lacks is missing here too. None of them does
anything outside of a kernel.
"""

import functools
import inspect
import math
import os
import re
import sys
import textwrap
import types

from tritium import _tritium

#: The version of Triton that is stood in for.
VERSION = os.environ.get("TRITIUM_TRITON") or _tritium.default_triton()

JIT_ONLY = "is part of Triton's language: it works inside of a `@triton.jit` function only"


class Symbol:
    """A function or a type of Triton's language, which has a name and does nothing here."""

    def __init__(self, path):
        self.path = path

    def __call__(self, *args, **kwargs):
        raise RuntimeError(f"`{self.path}` {JIT_ONLY}")

    def __repr__(self):
        return self.path

    # `tl.pointer_type[tl.float32]` and the like stand in annotations.
    def __getitem__(self, item):
        return self

    def __or__(self, other):
        return self

    __ror__ = __or__


class dtype(Symbol):
    """A type of elements, as host code asks it for its size."""

    def __init__(self, name):
        super().__init__(f"triton.language.{name}")
        self.name = NAMES[name]
        bits = re.search(r"\d+", name.removeprefix("b"))
        self.primitive_bitwidth = int(bits.group()) if bits else 16
        self.itemsize = max(1, self.primitive_bitwidth // 8)

    def is_floating(self):
        return "float" in self.path

    def is_int(self):
        return not self.is_floating()

    def __eq__(self, other):
        return isinstance(other, dtype) and self.name == other.name

    def __hash__(self):
        return hash(self.name)

    def __str__(self):
        return self.name


#: By the language's name, that of signatures.
NAMES = {
    "int1": "int1",
    **{f"{sign}int{bits}": f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)},
    "float8e4nv": "fp8e4nv",
    "float8e5": "fp8e5",
    "float8e4b8": "fp8e4b8",
    "float8e4b15": "fp8e4b15",
    "float8e5b16": "fp8e5b16",
    "float16": "fp16",
    "bfloat16": "bf16",
    "float32": "fp32",
    "float64": "fp64",
}


class constexpr:
    """A value that is known when a kernel is compiled."""

    def __init__(self, value):
        self.value = value.value if isinstance(value, constexpr) else value

    def __repr__(self):
        return f"constexpr[{self.value}]"

    def __index__(self):
        return self.value.__index__()

    def __bool__(self):
        return bool(self.value)

    def __hash__(self):
        return hash(self.value)

    def __call__(self, *args, **kwargs):
        return self.value(*args, **kwargs)


def _forward(name):
    def forward(self, *others):
        others = [other.value if isinstance(other, constexpr) else other for other in others]
        return constexpr(getattr(self.value, name)(*others))

    return forward


for _operator in (
    "add radd sub rsub mul rmul truediv rtruediv floordiv rfloordiv mod rmod pow rpow and rand or ror xor rxor lshift rshift "
    "lt le gt ge eq ne neg pos invert"
).split():
    setattr(constexpr, f"__{_operator}__", _forward(f"__{_operator}__"))


class JITFunction:
    """A `@triton.jit` function: Tritium runs it."""

    def __init__(self, fn, **options):
        self.fn = fn
        self.do_not_specialize = options.get("do_not_specialize") or []
        self.do_not_specialize_on_alignment = options.get("do_not_specialize_on_alignment") or []
        self.signature = inspect.signature(fn)
        self.arg_names = list(self.signature.parameters)
        functools.update_wrapper(self, fn)
        # What `inspect` asks of the function is asked of this.
        del self.__wrapped__

    @property
    def src(self):
        text = textwrap.dedent(inspect.getsource(self.fn))
        return text[re.search(r"^def\s+\w+\s*\(", text, re.MULTILINE).start() :]

    def __getitem__(self, grid):
        return lambda *args, **kwargs: self.run(*args, grid=grid, warmup=False, **kwargs)

    def run(self, *args, grid, warmup=False, **kwargs):
        from tritium import launch

        if not warmup:
            launch.run(self, grid, args, kwargs)

    def warmup(self, *args, grid, **kwargs):
        return self.run(*args, grid=grid, warmup=True, **kwargs)

    def __call__(self, *args, **kwargs):
        raise RuntimeError("Cannot call @triton.jit'd outside of the scope of a kernel")

    def __repr__(self):
        return f"JITFunction({self.__module__}:{self.__qualname__})"


class ConstexprFunction:
    """A function that runs when a kernel is compiled."""

    def __init__(self, fn):
        self.fn = fn
        functools.update_wrapper(self, fn)
        del self.__wrapped__

    def __call__(self, *args, **kwargs):
        return self.fn(*args, **kwargs)


def jit(fn=None, **options):
    """Marks a kernel, or a function that kernels call."""
    if fn is None:
        return functools.partial(jit, **options)
    return JITFunction(fn, **options)


def constexpr_function(fn):
    """Marks a function that runs when a kernel is compiled."""
    return ConstexprFunction(fn)


class Config:
    """A row of a tuner."""

    def __init__(self, kwargs, num_warps=4, num_stages=3, num_ctas=1, maxnreg=None, pre_hook=None, ir_override=None):
        self.kwargs = kwargs
        self.num_warps = num_warps
        self.num_stages = num_stages
        self.num_ctas = num_ctas
        self.maxnreg = maxnreg
        self.pre_hook = pre_hook
        self.ir_override = ir_override

    def all_kwargs(self):
        options = {name: getattr(self, name) for name in ("num_warps", "num_ctas", "num_stages", "maxnreg")}
        return {**self.kwargs, **{name: value for name, value in options.items() if value is not None}}

    def __repr__(self):
        return ", ".join(f"{name}: {value}" for name, value in self.all_kwargs().items())


class _Wrapper:
    """A kernel inside of decorators that add to its launches."""

    def __init__(self, fn):
        self.fn = fn
        kernel = fn
        while isinstance(kernel, _Wrapper):
            kernel = kernel.fn
        self.arg_names = kernel.arg_names
        self.base_fn = kernel.fn
        functools.update_wrapper(self, kernel.fn)
        del self.__wrapped__

    def __getitem__(self, grid):
        return lambda *args, **kwargs: self.run(*args, grid=grid, warmup=False, **kwargs)

    def warmup(self, *args, grid, **kwargs):
        return self.run(*args, grid=grid, warmup=True, **kwargs)


class Autotuner(_Wrapper):
    """A tuner that takes its first row: times on a CPU say nothing about those on a GPU."""

    def __init__(self, fn, configs, prune_configs_by=None):
        super().__init__(fn)
        self.configs = list(configs) or [Config({})]
        self.early_config_prune = (prune_configs_by or {}).get("early_config_prune")
        self.best_config = None

    def run(self, *args, **kwargs):
        given = {**dict(zip(self.arg_names, args)), **kwargs}
        configs = self.configs
        if self.early_config_prune is not None:
            named = {name: value for name, value in given.items() if name in self.arg_names}
            configs = self.early_config_prune(configs, named, **kwargs) or configs
        self.best_config = config = configs[0]
        if config.pre_hook is not None:
            config.pre_hook({**given, **config.all_kwargs()})
        return self.fn.run(*args, **{**kwargs, **config.all_kwargs()})


class Heuristics(_Wrapper):
    """Compile-time arguments that follow from the others."""

    def __init__(self, fn, values):
        super().__init__(fn)
        self.values = values

    def run(self, *args, **kwargs):
        for name, heuristic in self.values.items():
            kwargs[name] = heuristic({**dict(zip(self.arg_names, args)), **kwargs})
        return self.fn.run(*args, **kwargs)


def autotune(configs, key=(), prune_configs_by=None, **_):
    """Gives a kernel the rows of a tuner. See `Autotuner` for the one that is taken."""
    return lambda fn: Autotuner(fn, configs, prune_configs_by)


def heuristics(values):
    """Gives a kernel compile-time arguments that follow from the others."""
    return lambda fn: Heuristics(fn, values)


def cdiv(x, y):
    """`x / y`, rounded up."""
    return (x + y - 1) // y


def next_power_of_2(n):
    """The smallest power of two that is not below `n`."""
    return 1 << max(0, math.ceil(n) - 1).bit_length() if n > 0 else 0


class TensorDescriptor:
    """A tensor as kernels load whole blocks of it."""

    def __init__(self, base, shape, strides, block_shape, padding="zero"):
        self.base, self.shape, self.strides, self.block_shape, self.padding = base, shape, strides, block_shape, padding

    @staticmethod
    def from_tensor(tensor, block_shape, padding="zero"):
        strides = tensor.stride() if hasattr(tensor, "stride") else [stride // tensor.itemsize for stride in tensor.strides]
        return TensorDescriptor(tensor, list(tensor.shape), list(strides), block_shape, padding)


class _Module(types.ModuleType):
    """A module that stands in for one of Triton's."""

    __tritium__ = True

    def __init__(self, path):
        super().__init__(path)
        self.__triton_path__ = path
        self.__path__ = []


class _Language(_Module):
    """A module of the language: whatever the version has is there."""

    def __getattr__(self, name):
        path = f"{self.__name__}.{name}"
        if name.startswith("_"):
            raise AttributeError(path)
        if _tritium.is_module(path):
            value = module(path)
        elif name in NAMES and _tritium.has_name(f"triton.language.{name}", VERSION):
            value = dtype(name)
        elif name == "constexpr":
            value = constexpr
        elif _tritium.has_name(path, VERSION) is not False:
            value = Symbol(path)
        else:
            raise AttributeError(f"Triton {VERSION} has no `{path}`")
        setattr(self, name, value)
        return value


class _Absent(_Module):
    """A part of Triton that stands for a GPU or for its compiler."""

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(f"{self.__name__}.{name}")
        raise AttributeError(f"`{self.__name__}.{name}` needs Triton itself, which is not installed; Tritium stands in for it here")


_TARGET = types.SimpleNamespace(backend="cpu", arch=0, warp_size=32)

#: `triton.runtime.driver.active`, as programs ask it for the device.
CPU = types.SimpleNamespace(
    get_current_target=lambda: _TARGET,
    get_current_device=lambda: 0,
    get_active_torch_device=lambda: sys.modules["torch"].device("cpu") if "torch" in sys.modules else "cpu",
    get_device_interface=lambda: sys.modules["torch"].cpu if "torch" in sys.modules else None,
)


_modules: dict[str, types.ModuleType] = {}


def module(path):
    """A module of what stands in for Triton."""
    known = _modules.get(path)
    if known is not None:
        return known
    if path == "triton.language" or path.startswith("triton.language."):
        made = _Language(path)
    else:
        made = _Absent(path)
    _modules[path] = made
    for name, value in CONTENTS.get(path, {}).items():
        setattr(made, name, value)
    parent, _, name = path.rpartition(".")
    if parent:
        setattr(module(parent), name, made)
    if path == "triton":
        made.__version__ = _tritium.package_version(VERSION)
        for child in ("language", "runtime", "testing", "tools"):
            module(f"triton.{child}")
    if path == "triton.runtime":
        module("triton.runtime.driver")
        module("triton.runtime.jit")
    return made


_JIT = {"JITFunction": JITFunction, "jit": jit}
_TUNER = {"Autotuner": Autotuner, "Config": Config, "Heuristics": Heuristics, "autotune": autotune, "heuristics": heuristics}

#: What the modules hold that the tables of the language do not know.
CONTENTS = {
    "triton": {**_JIT, **_TUNER, "cdiv": cdiv, "next_power_of_2": next_power_of_2, "constexpr_function": constexpr_function},
    "triton.runtime": {**_JIT, **_TUNER},
    "triton.runtime.jit": {**_JIT, "constexpr_function": constexpr_function},
    "triton.runtime.autotuner": _TUNER,
    "triton.runtime.driver": {"active": CPU},
    "triton.tools.tensor_descriptor": {"TensorDescriptor": TensorDescriptor},
}
