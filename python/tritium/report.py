"""Which kernels of this process have run, by whom they were compiled, and how the two compilers compare."""

import contextlib
import csv
import dataclasses
import json
import math
import os
import statistics
import sys
import threading
import time


@dataclasses.dataclass
class Comparison:
    """The first launch of a specialisation by both compilers. Pairs are Tritium's and Triton's."""

    specialisation: str
    grid: tuple
    num_warps: int
    #: From the request to a loaded kernel, in ms, with whatever the caches held.
    first_ms: tuple
    #: `same bits`, `within the bound`, `as far as two runs of Triton's`, `within the rounding of its inputs` (where large numbers cancel out),
    #: `as the order of its atomics may make it` (elements of a tile that take numbers from a counter take them in no order that is promised), `differs`,
    #: or why nothing was compared.
    verdict: str = ""
    #: ‖ours − theirs‖₂ / ‖theirs‖₂ of the memory that differs most, measured; its bound; the element that differs most and the memory's type.
    error: float = 0.0
    bound: float = 0.0
    worst: int | None = None
    dtype: str | None = None
    #: Registers of a thread, registers it spills, bytes of shared memory of a CTA: exact.
    resources: list = dataclasses.field(default_factory=lambda: [None, None])
    #: Median time of a launch in µs, warm L2, measured.
    us: tuple | None = None

    def keep(self, differences, uses_atomic_results=False):
        """Keeps what is worst of all memories. `uses_atomic_results`: whether the kernel uses what atomic operations of a tile give back."""
        rank = (
            "same bits",
            "within the bound",
            "as far as two runs of Triton's",
            "within the rounding of its inputs",
            "as the order of its atomics may make it",
            "differs",
        )
        for error, bound, own, noise, worst, dtype in differences:
            verdict = rank[1] if error <= bound else rank[2] if error <= 4 * own else rank[3] if error <= noise else rank[4 if uses_atomic_results else 5]
            if error == 0.0:
                # Bits that mean the same: −0, or another NaN.
                verdict = rank[1]
            if rank.index(verdict) > rank.index(self.verdict) or (verdict == self.verdict and error > self.error):
                self.verdict, self.error, self.bound, self.worst, self.dtype = verdict, error, bound, worst, dtype

    @property
    def ratio(self):
        """Triton's time over Tritium's."""
        return None if self.us is None else self.us[1] / self.us[0]


@dataclasses.dataclass
class Kernel:
    """One kernel: how often who ran it, and why not Tritium where it did not."""

    name: str
    file: str
    line: int
    #: On the CPU. Launches on a GPU are not counted: that would slow them down.
    launches: int = 0
    #: `cpu` or `sim` (Tritium ran it), `tritium` or `triton` (who compiled it for the GPU).
    by: str = "cpu"
    specialisations: int = 0
    #: What its compilation by Tritium took.
    compile_seconds: float = 0.0
    #: Why Tritium has refused it, and the line that is to blame.
    refused: str | None = None
    refused_line: int | None = None
    comparisons: list = dataclasses.field(default_factory=list)

    def __str__(self):
        if self.by in ("cpu", "sim"):
            done = "1 launch" if self.launches == 1 else f"{self.launches} launches"
            done += f" on {self.by}"
        else:
            done = "1 specialisation" if self.specialisations == 1 else f"{self.specialisations} specialisations"
            done += f" compiled by {self.by}"
        line = "" if self.refused_line is None else f" (line {self.refused_line})"
        refused = f"; refused: {self.refused}{line}" if self.refused else ""
        return f"{self.name} ({self.file}:{self.line}): {done}{refused}"


_kernels: dict[tuple[str, str, int, str], Kernel] = {}


def of(name, file, line, by):
    """The row of a kernel."""
    return _kernels.setdefault((name, file, line, by), Kernel(name, file, line, by=by))


def report():
    """The kernels that were launched since the process began, in the order of their first launches."""
    return list(_kernels.values())


def summary():
    """The report as text, a line for each kernel and for each specialisation that both have run."""
    lines = []
    for kernel in report():
        lines.append(str(kernel))
        for comparison in kernel.comparisons:
            times = "" if comparison.us is None else f", {comparison.us[0]:.1f} µs, Triton {comparison.us[1]:.1f} µs ({comparison.ratio:.2f}×)"
            error = "" if comparison.worst is None else f" (error {comparison.error:.1e} of {comparison.bound:.1e} allowed, worst at element {comparison.worst} of a {comparison.dtype} tensor)"
            lines.append(f"    {comparison.verdict}{error}{times}; {comparison.specialisation}")
    by = {who: sum(kernel.specialisations for kernel in report() if kernel.by == who) for who in ("tritium", "triton")}
    if total := sum(by.values()):
        lines.append(f"{by['tritium']} of {total} specialisations were compiled by Tritium, {by['triton']} by Triton")
    ratios = [comparison.ratio for kernel in report() for comparison in kernel.comparisons if comparison.us]
    if ratios:
        mean = math.exp(statistics.fmean(map(math.log, ratios)))
        lines.append(f"{len(ratios)} timed: Triton's time over Tritium's {mean:.2f} in the geometric mean, {min(ratios):.2f} to {max(ratios):.2f}")
    return "\n".join(lines)


COLUMNS = ("kernel", "file", "line", "specialisation", "grid", "num_warps", "verdict", "error", "bound", "us", "triton_us", "first_ms",
           "triton_first_ms", "registers", "triton_registers", "spills", "triton_spills", "shared", "triton_shared")


def write(path):
    """The report as JSON, or the specialisations that both compilers have run as CSV where the name says so. Processes of one program may add to the same CSV; `%p`
    in the name is the number of the process."""
    path = path.replace("%p", str(os.getpid()))
    if path.endswith(".csv"):
        with open(path, "a", newline="") as out:
            rows = csv.writer(out)
            if out.tell() == 0:
                rows.writerow(COLUMNS)
            for kernel in report():
                for comparison in kernel.comparisons:
                    pairs = [comparison.us or ("", ""), comparison.first_ms, *zip(*(side or ("", "", "") for side in comparison.resources))]
                    flat = [value for pair in pairs for value in pair]
                    rows.writerow([kernel.name, kernel.file, kernel.line, comparison.specialisation, "×".join(map(str, comparison.grid)),
                                   comparison.num_warps, comparison.verdict, comparison.error, comparison.bound, *flat])
        return
    with open(path, "w") as out:
        json.dump({"version": 1, "kernels": [dataclasses.asdict(kernel) for kernel in report()]}, out, indent=1)


#: Seconds between two reports of a process that runs.
INTERVAL = 5.0
_last_written = 0.0


def write_so_far():
    """The file `….json` that `TRITIUM_REPORT` asks for, now and then: a process that is killed leaves what it has compared."""
    global _last_written
    path = (_file_wanted() or "").replace("%p", str(os.getpid()))
    is_file = path.endswith(".json") and (os.path.isfile(path) or not os.path.exists(path))
    if is_file and time.monotonic() - _last_written > INTERVAL:
        _last_written = time.monotonic()
        # Ended in between, the process leaves the one before.
        begun = f"{path}.{os.getpid()}.{threading.get_ident()}"
        # Whatever keeps it from being written is told at the end, and stops no launch.
        with contextlib.suppress(OSError):
            write(begun)
            os.replace(begun, path)


def _file_wanted():
    wanted = os.environ.get("TRITIUM_REPORT", "")
    return None if wanted.lower() in ("", "0", "off", "no", "false", *_SUMMARY) else wanted


#: What asks for the summary alone.
_SUMMARY = ("1", "on", "yes", "true")


def at_exit():
    """What `TRITIUM_REPORT` asks for: `1` is the summary on stderr, anything else a file. Where both compilers were run, the summary is
    written anyway."""
    asked = os.environ.get("TRITIUM_REPORT", "").lower() in _SUMMARY
    if report() and (asked or any(kernel.comparisons for kernel in report())):
        print(summary(), file=sys.stderr)
    if report() and (path := _file_wanted()):
        write(path)
