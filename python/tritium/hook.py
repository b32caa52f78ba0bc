"""Stands in Triton's way, or in its place.

Nothing is imported for this: what is to be changed in a module is changed once the program has imported it.
"""

import atexit
import contextlib
import functools
import importlib
import importlib.abc
import importlib.machinery
import os
import sys

from tritium import _tritium, compiler, launch, report, standin

_undo = []


def triton():
    """Triton where it is installed, else what stands in for it."""
    return importlib.import_module("triton") if _is_installed() else standin.module("triton")


@functools.cache
def _is_installed():
    others = (finder for finder in sys.meta_path if not isinstance(finder, (_StandinFinder, _AfterImport)))
    return any(finder.find_spec("triton", None) is not None for finder in others if hasattr(finder, "find_spec"))


def install():
    """From now on Tritium compiles what this process launches on a GPU, and runs the launches whose tensors are NumPy arrays or lie on the CPU."""
    if _undo:
        return
    after = {}
    if _is_installed():
        after |= {"triton.runtime.jit": _patch_launches, "triton.runtime.autotuner": _patch_tuners, "triton.runtime.driver": _patch_driver}
    else:
        _add(_StandinFinder())
    if launch.is_checked():
        after |= {"numpy": _mark_numpy, "torch": _mark_torch}
    if os.environ.get("TRITIUM") not in ("cpu", "sim"):
        after["triton.compiler.compiler"] = lambda module: _undo.append(compiler.patch(module))
    for name, change in after.items():
        if name in sys.modules:
            change(sys.modules[name])
    _add(_AfterImport(after))
    _report_at_exit()


@functools.cache
def _report_at_exit():
    atexit.register(report.at_exit)


def _add(finder):
    sys.meta_path.insert(0, finder)
    _undo.append(lambda: sys.meta_path.remove(finder))


def uninstall():
    """Undoes `install`; what was imported of the stand-in remains."""
    while _undo:
        _undo.pop()()


@contextlib.contextmanager
def installed():
    """`install` for a while."""
    had = bool(_undo)
    install()
    try:
        yield
    finally:
        if not had:
            uninstall()


def _replace(owner, name, value):
    """Gives an attribute another value, until `uninstall`."""
    original = getattr(owner, name)
    setattr(owner, name, functools.wraps(original)(value) if callable(original) else value)
    _undo.append(lambda: setattr(owner, name, original))


class _AfterImport(importlib.abc.MetaPathFinder):
    """Changes modules once they are imported."""

    def __init__(self, changes):
        self.changes = changes

    def find_spec(self, name, path=None, target=None):
        change = self.changes.get(name)
        if change is None:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is None or spec.loader is None:
            return None
        original = spec.loader.exec_module

        def exec_module(module):
            original(module)
            change(module)

        spec.loader.exec_module = exec_module
        return spec


class _StandinFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds `triton` and its modules where no Triton is installed."""

    def find_spec(self, name, path=None, target=None):
        if name != "triton" and not name.startswith("triton."):
            return None
        is_known = name in standin.CONTENTS or name in KNOWN or _tritium.is_module(name)
        return importlib.machinery.ModuleSpec(name, self, is_package=True) if is_known else None

    def create_module(self, spec):
        return standin.module(spec.name)

    def exec_module(self, module):
        pass


#: Modules beside those of the language.
KNOWN = ("triton.runtime", "triton.runtime.driver", "triton.testing", "triton.tools")


def _patch_launches(jit):
    original = jit.JITFunction.run

    def run(self, *args, grid, warmup, **kwargs):
        if _has_gpu():
            # From now on there is nothing in the way of a launch.
            jit.JITFunction.run = original
            return original(self, *args, grid=grid, warmup=warmup, **kwargs)
        if warmup or not launch.is_on_cpu([*args, *kwargs.values()]):
            return original(self, *args, grid=grid, warmup=warmup, **kwargs)
        return launch.run(self, grid, args, kwargs)

    _replace(jit.JITFunction, "run", run)


@functools.cache
def _has_gpu():
    """Whether launches go to a GPU. Asked at the first launch: before it, a process may still fork."""
    if os.environ.get("TRITIUM") in ("cpu", "sim"):
        return False
    return importlib.import_module("triton.runtime.driver").driver.active is not standin.CPU


def _patch_tuners(autotuner):
    bench, prune = autotuner.Autotuner._bench, autotuner.Autotuner.prune_configs

    def first(self, *args, config, **meta):
        # Times on a CPU say nothing about those on a GPU: all rows are as good, and the first is taken.
        if not _has_gpu() and launch.is_on_cpu([*args, *meta.values()]):
            return [0.0, 0.0, 0.0]
        with compiler.tuning():
            return bench(self, *args, config=config, **meta)

    def pruned(self, kwargs):
        configs = prune(self, kwargs)
        if _has_gpu():
            args, given = list(self.nargs.values()), {**kwargs, "warmup": True}
            warm_up = lambda config: lambda: self.fn.run(*args, **given, **config.all_kwargs())
            compiler.compile_together(map(warm_up, configs))
        return configs

    _replace(autotuner.Autotuner, "_bench", first)
    _replace(autotuner.Autotuner, "prune_configs", pruned)


def _patch_driver(driver):
    # Programs ask the driver which device they have. Without a GPU it would raise.
    create = driver._create_driver

    def created():
        try:
            return create()
        except RuntimeError:
            return standin.CPU

    _replace(driver, "_create_driver", created)


# What `empty` allocates holds a pattern, so that a kernel which reads it before anybody has written is found out.


def _mark_numpy(numpy):
    def fill(array):
        pattern = _tritium.pattern(array.dtype.name)
        if pattern is not None and array.flags.forc:
            array.reshape(-1, order="A").view(f"u{len(pattern)}")[...] = int.from_bytes(pattern, "little")

    for name in ("empty", "empty_like"):
        _mark(numpy, name, fill)


def _mark_torch(torch):
    def fill(tensor):
        pattern = _tritium.pattern(str(tensor.dtype).removeprefix("torch."))
        if pattern is not None and tensor.device.type == "cpu" and tensor.is_contiguous():
            integer = {4: torch.int32, 8: torch.int64}[len(pattern)]
            tensor.detach().view(integer).fill_(int.from_bytes(pattern, "little", signed=True))

    for owner, name in ((torch, "empty"), (torch, "empty_like"), (torch.Tensor, "new_empty")):
        _mark(owner, name, fill)


def _mark(owner, name, fill):
    original = getattr(owner, name)

    def marked(*args, **kwargs):
        made = original(*args, **kwargs)
        # An array of another kind stays as it is.
        with contextlib.suppress(Exception):
            fill(made)
        return made

    _replace(owner, name, marked)
