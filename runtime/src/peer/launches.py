"""Runs a program under Triton, and tells each launch that it makes. What follows this text says what becomes of them."""

import json
import os
import runpy
import sys


def is_tensor(value):
    return hasattr(value, "dtype") and hasattr(value, "shape") and hasattr(value, "stride")


class Names:
    """The names that Tritium has for launches: `softmax`, `softmax#2`. Launches that differ in nothing are one."""

    def __init__(self):
        self.names, self.counts = {}, {}

    def plain(self, value):
        if is_tensor(value):
            return ("tensor", str(value.dtype), tuple(value.shape), tuple(value.stride()))
        if isinstance(value, (tuple, list)):
            return tuple(map(self.plain, value))
        return value if isinstance(value, (bool, int, float, str, type(None))) else type(value).__name__

    def of(self, launched, args, kwargs):
        """The kernel's name, the launch's, and whether it was not seen before."""
        while not hasattr(launched, "__name__"):
            launched = launched.fn
        kernel = launched.__name__
        given = sorted((key, self.plain(value)) for key, value in kwargs.items() if key not in ("grid", "warmup"))
        key = (kernel, repr(self.plain(args)), repr(given))
        is_new = key not in self.names
        if is_new:
            self.counts[kernel] = count = self.counts.get(kernel, 0) + 1
            self.names[key] = kernel if count == 1 else f"{kernel}#{count}"
        return kernel, self.names[key], is_new


def at_each_launch(instead):
    """Has `instead(launch, launched, args, kwargs)` stand in the place of what the program launches, not of what a launch launches."""
    from triton.runtime.autotuner import Autotuner, Heuristics
    from triton.runtime.jit import JITFunction

    is_inside = False

    def outermost(real):
        def run(self, *args, **kwargs):
            nonlocal is_inside
            if is_inside or kwargs.get("warmup"):
                return real(self, *args, **kwargs)
            is_inside = True
            try:
                return instead(lambda: real(self, *args, **kwargs), self, args, kwargs)
            finally:
                is_inside = False

        return run

    kinds = [JITFunction, Autotuner, Heuristics]
    if os.environ.get("TRITON_INTERPRET") == "1":
        from triton.runtime.interpreter import InterpretedFunction

        kinds.append(InterpretedFunction)
    for kind in kinds:
        kind.run = outermost(kind.run)


def run_program(file, has_seen_any):
    """Runs a program, and its tests if it launches nothing itself. Why it did not end as it should, if so."""
    # What stands behind the program's name is not the program's.
    sys.argv = [file]
    try:
        names = runpy.run_path(file, run_name="__main__")
        if not has_seen_any() and any(name.startswith("test_") for name in names):
            import pytest

            pytest.main(["-q", "-p", "no:cacheprovider", file])
    except SystemExit as ended:
        return None if ended.code in (None, 0) else f"SystemExit: {ended}"
    except Exception as raised:
        return f"{type(raised).__name__}: {raised}"


def write(out, document):
    with open(out, "w") as file:
        json.dump(document, file)
