#!/usr/bin/env python3
"""How time and memory of a command grow with its input: every kind of file in sizes n, 2n, 4n, and the exponent between the last two,
by the length of the text.

    python3 bench/scaling.py path/to/tritium [--kinds NAME,…] [--commands check,report,…] [--factor F]

An exponent of 1 is linear, 2 quadratic. The time is processor time over that of an empty file, so a busy machine does not change it much; where
it is below 0.05 s nothing can be said, and `--factor 4` makes all files four times as long. Memory is the largest resident set, with that of the
processes it starts. Every process has at most 4 GB of address space and two minutes. The last line counts exponents of more than 1.5.
"""

import argparse
import math
import os
import resource
import subprocess
import tempfile
import threading
from pathlib import Path

HEAD = "import triton\nimport triton.language as tl\n\n\n"
KERNEL = HEAD + "@triton.jit\ndef kernel(X):\n    tl.store(X, 1)\n\n\n"
LEAST_SECONDS = 0.05


def kernel(lines, parameters="X, n"):
    return HEAD + f"@triton.jit\ndef kernel({parameters}):\n" + "".join(f"    {line}\n" for line in lines)


def many(count, line):
    return "".join(line(i) for i in range(count))


def block(count, line):
    """A launch block with a line for each number."""
    head = '# /// tritium\n# [launch.one]\n# kernel = "kernel"\n# grid = [1]\n# args = { X = "f32[16]" }\n'
    return head + many(count, lambda i: f"# {line(i)}\n") + "# ///\n" + KERNEL


# Name: the size n, and the text of a size.
KINDS = {
    # In a kernel.
    "undefined_names": (500, lambda n: kernel([f"tl.load(q{i})" for i in range(n)])),
    "mistyped_names": (500, lambda n: kernel([f"value_{i} = 1" for i in range(n)] + [f"tl.store(X, valeu_{i})" for i in range(n)])),
    "statements": (500, lambda n: kernel([f"x{i} = tl.load(X + {i})" for i in range(n)])),
    "rebindings": (500, lambda n: kernel(["x = n"] + ["x = x + n"] * n + ["tl.store(X, x)"])),
    "elif_chain": (10, lambda n: kernel(["if n == 0:", "    x = 0"] + [s for i in range(1, n) for s in (f"elif n == {i}:", f"    x = {i}")] + ["else:", "    x = 1", "tl.store(X, x)"])),
    "static_elif_chain": (250, lambda n: kernel(["if N == 0:", "    x = 0"] + [s for i in range(1, n) for s in (f"elif N == {i}:", f"    x = {i}")] + ["else:", "    x = 1", "tl.store(X, x)"], "X, N: tl.constexpr")),
    "conditions_after_one_another": (200, lambda n: kernel([s for i in range(n) for s in (f"if n == {i}:", f"    tl.store(X, {i})")])),
    "static_range": (100, lambda n: kernel([f"for i in tl.static_range({n}):", "    tl.store(X + i, i)"])),
    "parameters": (100, lambda n: kernel([f"tl.store(p{i}, 1)" for i in range(n)], ", ".join(f"p{i}" for i in range(n)))),
    "long_sum": (500, lambda n: kernel(["x = tl.load(X)", "tl.store(X, " + " + ".join(["x"] * n) + ")"])),
    "nested_brackets": (200, lambda n: kernel([f"tl.store(X, {'(' * n}1{')' * n})"])),
    "errors": (250, lambda n: kernel(["tl.load(X, other=0.0)"] * n)),
    "static_prints": (500, lambda n: kernel(["tl.static_print('a')"] * n)),
    "tuple_elements": (500, lambda n: kernel(["t = (" + "n, " * n + ")", "tl.store(X, t[0])"])),
    # Many kernels.
    "kernels": (100, lambda n: HEAD + many(n, lambda i: f"@triton.jit\ndef k{i}(X):\n    tl.store(X, {i})\n")),
    "helpers_in_a_chain": (25, lambda n: HEAD + "@triton.jit\ndef h0(x):\n    return x\n" + many(n, lambda i: f"@triton.jit\ndef h{i + 1}(x):\n    return h{i}(x)\n") + f"@triton.jit\ndef kernel(X):\n    tl.store(X, h{n}(1))\n"),
    "helpers_of_one_kernel": (200, lambda n: HEAD + many(n, lambda i: f"@triton.jit\ndef h{i}(x):\n    return x + {i}\n") + kernel([f"tl.store(X, h{i}(n))" for i in range(n)])[len(HEAD):]),
    "launches": (100, lambda n: HEAD + "import torch\n" + KERNEL[len(HEAD):] + "def host():\n    x = torch.empty(16, device='cuda')\n" + many(n, lambda i: f"    kernel[({i + 1},)](x)\n")),
    "hosts": (100, lambda n: HEAD + "import torch\n" + KERNEL[len(HEAD):] + many(n, lambda i: f"def host{i}():\n    x = torch.empty({i + 16}, device='cuda')\n    kernel[(1,)](x)\n")),
    "configurations": (50, lambda n: HEAD + "@triton.autotune(configs=[" + many(n, lambda i: f"triton.Config({{'B': {2 ** (i % 8)}}}, num_stages={i % 7 + 1}), ") + "], key=['n'])\n@triton.jit\ndef kernel(X, n, B: tl.constexpr):\n    tl.store(X + tl.arange(0, B), n)\n"),
    "decorators": (1000, lambda n: HEAD + "@triton.jit\n" * n + "def kernel(X):\n    tl.store(X, 1)\n"),
    # At module level.
    "functions": (2000, lambda n: KERNEL + many(n, lambda i: f"def f{i}(x):\n    return f{(i + 1) % n}(x)\n")),
    "called_functions": (250, lambda n: KERNEL + many(n, lambda i: f"def f{i}(x):\n    return f{i + 1}(x)\n") + f"def f{n}(x):\n    kernel[(1,)](x)\nf0(1)\n"),
    "classes": (1000, lambda n: KERNEL + many(n, lambda i: f"class C{i}:\n    A = {i}\n    def f(self):\n        return C{i}.A\n")),
    "assignments": (4000, lambda n: KERNEL + many(n, lambda i: f"x{i} = {i}\n")),
    "assignments_in_a_chain": (500, lambda n: HEAD + "x0 = 1\n" + many(n, lambda i: f"x{i + 1} = x{i} + 1\n") + f"@triton.jit\ndef kernel(X):\n    tl.store(X, x{n})\n"),
    "rebound_names": (500, lambda n: HEAD + "x = 1\n" + "x = x + 1\n" * n + "@triton.jit\ndef kernel(X):\n    tl.store(X, x)\n"),
    "conditions": (500, lambda n: HEAD + "import os\n" + many(n, lambda i: f"if os.environ.get('A{i}'):\n    x{i} = 1\nelse:\n    x{i} = 2\n") + f"@triton.jit\ndef kernel(X):\n    tl.store(X, x{n - 1})\n"),
    "imports": (1000, lambda n: KERNEL + many(n, lambda i: f"import module{i}\n")),
    "imported_names": (1000, lambda n: KERNEL + many(n, lambda i: f"from module{i} import name{i}\n")),
    "list": (50_000, lambda n: KERNEL + f"x = [{'1, ' * n}]\n"),
    "list_that_a_kernel_reads": (50_000, lambda n: HEAD + f"x = [{'1, ' * n}]\n@triton.jit\ndef kernel(X):\n    tl.store(X, x[0])\n"),
    "dictionary": (20_000, lambda n: KERNEL + "x = {" + many(n, lambda i: f"{i}: 'a', ") + "}\n"),
    "comments": (50_000, lambda n: KERNEL + "# nothing to see\n" * n),
    "suppressions": (2000, lambda n: KERNEL + "x = 1  # tritium: ignore[SHP001]\n" * n),
    "suppressed": (250, lambda n: kernel(["tl.load(X, other=0.0)  # tritium: ignore[MSK001]"] * n)),
    "strings": (20_000, lambda n: KERNEL + "'a string of its own'\n" * n),
    "one_string": (500_000, lambda n: KERNEL + f"x = '{'a' * n}'\n"),
    "one_name": (500_000, lambda n: KERNEL + f"{'a' * n} = 1\n"),
    "one_number": (10_000, lambda n: HEAD + f"x = {'9' * n}\n@triton.jit\ndef kernel(X):\n    tl.store(X, x)\n"),
    "semicolons": (50_000, lambda n: KERNEL + "x;" * n + "\n"),
    "blank_lines": (200_000, lambda n: KERNEL + "\n" * n),
    "crlf": (20_000, lambda n: KERNEL.replace("\n", "\r\n") + "x = 1\r\n" * n),
    "cr": (20_000, lambda n: KERNEL.replace("\n", "\r") + "x = 1\r" * n),
    "open_brackets": (50_000, lambda n: KERNEL + "(" * n),
    "open_brackets_in_lines": (2000, lambda n: KERNEL + "x = (\n" * n),
    "closed_brackets": (50_000, lambda n: KERNEL + ")\n" * n),
    "open_strings": (5000, lambda n: KERNEL + "x = '\n" * n),
    "open_triple_strings": (2000, lambda n: KERNEL + 'x = """\n' * (2 * n + 1)),
    "open_f_strings": (5000, lambda n: KERNEL + "x = f'{\n" * n),
    "deeper_blocks": (250, lambda n: KERNEL + many(n, lambda i: " " * i + "if x:\n") + " " * n + "pass\n"),
    "host_elif_chain": (1000, lambda n: KERNEL + "if x == 0: pass\n" + many(n, lambda i: f"elif x == {i}: pass\n")),
    "zeros": (500_000, lambda n: KERNEL + "\0" * n),
    "zeros_apart": (50_000, lambda n: KERNEL + "\0 " * n),
    "emoji": (20_000, lambda n: KERNEL + "x = '😀'\n" * n),
    # Launch blocks.
    "toml_keys": (500, lambda n: block(n, lambda i: f"sizes.N{i} = {i}")),
    "toml_launches": (50, lambda n: "# /// tritium\n" + many(n, lambda i: f"# [launch.l{i}]\n# kernel = \"kernel\"\n# grid = [1]\n# args = {{ X = \"f32[16]\" }}\n") + "# ///\n" + KERNEL),
    "toml_array": (5000, lambda n: block(1, lambda i: f"meta = {{ B = [{'1, ' * n}] }}")),
    "toml_comments": (5000, lambda n: block(n, lambda i: f"# comment {i}")),
}  # fmt: skip

COMMANDS = {
    "check": ["check", "--output-format", "concise"],
    "report": ["report", "--output-format", "json"],
    "stats": ["stats", "--through", "tile"],
    "items": ["emit", "--stage", "items"],
}


def limit():
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))


def measure(tritium, command, path):
    """Processor seconds, megabytes, and how it ended where that was no good end."""
    quiet = subprocess.DEVNULL
    child = subprocess.Popen([tritium, *command, path], stdout=quiet, stderr=quiet, preexec_fn=limit, env={**os.environ, "TRITIUM_CACHE": "off"})
    timer = threading.Timer(120, child.kill)
    timer.start()
    _, status, usage = os.wait4(child.pid, 0)
    timer.cancel()
    child.returncode = os.waitstatus_to_exitcode(status)
    bad = "" if child.returncode in (0, 1, 2) else f"  ended with {child.returncode}"
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, bad


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tritium", type=Path)
    parser.add_argument("--kinds", type=lambda text: text.split(","), default=list(KINDS))
    parser.add_argument("--commands", type=lambda text: text.split(","), default=["check"])
    parser.add_argument("--factor", type=float, default=1)
    options = parser.parse_args()
    tritium = options.tritium.absolute()
    steep = 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernels.py"
        for name in options.commands:
            path.write_text(KERNEL)
            empty = min(measure(tritium, COMMANDS[name], path)[0] for _ in range(3))
            print(f"{name}: {empty:.3f} s for one small kernel")
            print(f"{'kind':30} {'MB of text':>10} {'s':>8} {'s':>8} {'s':>8} {'exponent':>8} {'MB':>6}")
            for kind in options.kinds:
                size, text = KINDS[kind]
                times, sizes, bad = [], [], ""
                for factor in (1, 2, 4):
                    written = text(int(size * factor * options.factor)).encode()
                    path.write_bytes(written)
                    seconds, megabytes, ended = measure(tritium, COMMANDS[name], path)
                    times.append(max(seconds - empty, 0))
                    sizes.append(len(written))
                    bad = bad or ended
                known = times[2] > LEAST_SECONDS
                exponent = math.log(times[2] / max(times[1], 0.01)) / math.log(sizes[2] / sizes[1]) if known else 0
                steep += exponent > 1.5
                shown = f"{exponent:8.2f}" if known else f"{'':8}"
                numbers = " ".join(f"{time:8.3f}" for time in times)
                print(f"{kind:30} {sizes[2] / 1e6:10.2f} {numbers} {shown} {megabytes:6.0f}{bad}{'  <-' if exponent > 1.5 else ''}", flush=True)
    print(f"{steep} exponents above 1.5")


main()
