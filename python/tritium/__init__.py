"""Runs Triton kernels without a GPU, on NumPy arrays and CPU tensors, and says what is wrong with them.

    python -m tritium script.py
    python -m tritium -m pytest tests/

run a program as it is. From inside, `tritium.install()` and `with tritium.installed():` do the same. Where Triton is not installed,
`import triton` finds what stands in for it: `jit`, `autotune`, `heuristics`, `language`, and what host code asks of them.
"""

from tritium._tritium import __version__
from tritium.errors import (
    CompilationError,
    DivisionByZeroError,
    IntegerWrapError,
    KernelAssertionError,
    KernelError,
    KernelWarning,
    LaunchError,
    MisalignedError,
    NotFiniteError,
    OutOfBoundsError,
    RaceError,
    UndefinedValueError,
    UninitializedError,
)
from tritium.hook import install, installed, uninstall
from tritium.report import report

__all__ = [
    "CompilationError",
    "DivisionByZeroError",
    "IntegerWrapError",
    "KernelAssertionError",
    "KernelError",
    "KernelWarning",
    "LaunchError",
    "MisalignedError",
    "NotFiniteError",
    "OutOfBoundsError",
    "RaceError",
    "UndefinedValueError",
    "UninitializedError",
    "__version__",
    "install",
    "installed",
    "report",
    "uninstall",
]


def __getattr__(name):
    # `tritium.jit`, `tritium.language`, …: Triton's own where it is installed.
    if name.startswith("_"):
        raise AttributeError(name)
    import importlib

    from tritium import hook

    triton = hook.triton()
    if name in ("language", "testing", "runtime", "tools"):
        return importlib.import_module(f"{triton.__name__}.{name}")
    return getattr(triton, name)
