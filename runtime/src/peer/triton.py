"""Times the launches that a program makes under Triton: each different launch once, after the program has made it."""

import json
import runpy
import sys


def main(file, out):
    import torch
    import triton
    from triton.runtime.autotuner import Autotuner, Heuristics
    from triton.runtime.jit import JITFunction

    times, seen, counts, inside = [], set(), {}, False

    def plain(value):
        if isinstance(value, torch.Tensor):
            return ("tensor", str(value.dtype), tuple(value.shape), tuple(value.stride()))
        if isinstance(value, (tuple, list)):
            return tuple(map(plain, value))
        return value if isinstance(value, (bool, int, float, str, type(None))) else type(value).__name__

    def timing(real):
        def run(self, *args, **kwargs):
            nonlocal inside
            if inside or kwargs.get("warmup"):
                return real(self, *args, **kwargs)
            inside = True
            try:
                result = real(self, *args, **kwargs)
                function = self
                while not isinstance(function, JITFunction):
                    function = function.fn
                name = function.__name__
                given = sorted((key, plain(value)) for key, value in kwargs.items() if key != "grid")
                key = (name, repr(plain(args)), repr(given))
                if key not in seen:
                    seen.add(key)
                    counts[name] = counts.get(name, 0) + 1
                    measure(lambda: real(self, *args, **kwargs), name, [*args, *kwargs.values()])
                return result
            finally:
                inside = False

        return run

    def measure(launch, name, values):
        tensors = [value for value in values if isinstance(value, torch.Tensor)]
        with torch.no_grad():
            kept = [tensor.clone() for tensor in tensors]
            taken = triton.testing.do_bench(launch, return_mode="all")
            # A launch may change what it reads.
            for tensor, before in zip(tensors, kept):
                tensor.copy_(before)
            launch()
        launched = name if counts[name] == 1 else f"{name}#{counts[name]}"
        times.append({"kernel": name, "launch": launched, "us": [1e3 * ms for ms in taken]})

    for kind in (JITFunction, Autotuner, Heuristics):
        kind.run = timing(kind.run)
    error = None
    try:
        names = runpy.run_path(file, run_name="__main__")
        if not times and any(name.startswith("test_") for name in names):
            import pytest

            pytest.main(["-q", "-p", "no:cacheprovider", file])
    except (Exception, SystemExit) as raised:
        error = f"{type(raised).__name__}: {raised}"
    with open(out, "w") as document:
        json.dump({"triton": triton.__version__, "times": times, "error": error}, document)


main(*sys.argv[1:])
