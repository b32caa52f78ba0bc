"""Stands in Triton's way, or in its place."""

import contextlib
import functools
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys

from tritium import _tritium, launch, standin

_undo = []


def triton():
    """Triton where it is installed, else what stands in for it."""
    return importlib.import_module("triton") if _is_installed() else standin.module("triton")


@functools.cache
def _is_installed():
    with contextlib.suppress(ImportError, ValueError):
        finders = [finder for finder in sys.meta_path if not isinstance(finder, _StandinFinder)]
        return any(finder.find_spec("triton", None) is not None for finder in finders if hasattr(finder, "find_spec"))
    return False


def install():
    """From now on Tritium runs the launches of this process whose tensors are NumPy arrays or lie on the CPU; others go on to Triton."""
    if _undo:
        return
    if _is_installed():
        _patch_triton()
    else:
        finder = _StandinFinder()
        sys.meta_path.insert(0, finder)
        _undo.append(lambda: sys.meta_path.remove(finder))
    _undo.append(_mark_empty())


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


def _patch_triton():
    from triton.runtime import autotuner, jit

    original, bench = jit.JITFunction.run, autotuner.Autotuner._bench

    @functools.wraps(original)
    def run(self, *args, grid, warmup, **kwargs):
        if warmup or not launch.is_on_cpu([*args, *kwargs.values()]):
            return original(self, *args, grid=grid, warmup=warmup, **kwargs)
        return launch.run(self, grid, args, kwargs)

    @functools.wraps(bench)
    def first(self, *args, config, **meta):
        # Times on a CPU say nothing about those on a GPU: all rows are as good, and the first is taken.
        if launch.is_on_cpu([*args, *meta.values()]):
            return [0.0, 0.0, 0.0]
        return bench(self, *args, config=config, **meta)

    jit.JITFunction.run, autotuner.Autotuner._bench = run, first

    def undo():
        jit.JITFunction.run, autotuner.Autotuner._bench = original, bench

    _undo.append(undo)


def _mark_empty():
    """What `empty` allocates holds a pattern, so that a kernel which reads it before anybody has written is found out."""
    if not launch.state().is_checked:
        return lambda: None
    patched = []

    def patch(owner, name, fill):
        original = getattr(owner, name, None)
        if original is None:
            return

        @functools.wraps(original)
        def marked(*args, **kwargs):
            made = original(*args, **kwargs)
            with contextlib.suppress(Exception):
                fill(made)
            return made

        setattr(owner, name, marked)
        patched.append((owner, name, original))

    numpy = _imported("numpy")
    if numpy is not None:

        def fill_array(array):
            pattern = _tritium.pattern(array.dtype.name)
            if pattern is not None and array.flags.forc:
                array.reshape(-1, order="A").view(f"u{len(pattern)}")[...] = int.from_bytes(pattern, "little")

        for name in ("empty", "empty_like"):
            patch(numpy, name, fill_array)
    torch = _imported("torch")
    if torch is not None:

        def fill_tensor(tensor):
            pattern = _tritium.pattern(str(tensor.dtype).removeprefix("torch."))
            if pattern is not None and tensor.device.type == "cpu" and tensor.is_contiguous():
                integer = {4: torch.int32, 8: torch.int64}[len(pattern)]
                tensor.detach().view(integer).fill_(int.from_bytes(pattern, "little", signed=True))

        for owner, name in ((torch, "empty"), (torch, "empty_like"), (torch.Tensor, "new_empty")):
            patch(owner, name, fill_tensor)

    def undo():
        for owner, name, original in patched:
            setattr(owner, name, original)

    return undo


def _imported(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        return None
