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
from typing import NamedTuple

#: What is said of memories that both compilers' kernels have written, from the best to the worst. The verdict of a launch may also be
#: `as far as Triton's with 8 warps`: it would be `differs`, but results of Triton's own are as far apart, as where partial sums overflow
#: in one order of adding and not in another.
VERDICTS = (
    "same bits",
    "within the bound",
    "as far as two runs of Triton's",
    # Where large numbers cancel out.
    "within the rounding of its inputs",
    # Elements of a tile that take numbers from a counter take them in no order that is promised.
    "as the order of its atomics may make it",
    "differs",
)
SAME, WITHIN, TWO_RUNS, ROUNDING, ATOMICS, DIFFERS = range(len(VERDICTS))
#: Another result of Triton's is as far off as ours if ours is at most so many times as far: of a few runs none is the farthest.
AS_FAR = 4


class Distance(NamedTuple):
    """How far numbers are from Triton's."""

    #: ‖numbers − theirs‖₂ / ‖theirs‖₂ of those that are finite in both.
    error: float
    #: How many are finite in one only, or finite in neither and not the same.
    strays: int = 0


@dataclasses.dataclass
class Difference:
    """A memory in which ours is not Triton's bits."""

    distance: Distance
    #: How large the error of right results may be, by the memory's type.
    bound: float
    #: How far a second run of Triton's is from its first.
    own: Distance
    #: How large the rounding of what the launch was given may make the error.
    noise: float
    #: The element that differs most, and the type.
    worst: int
    dtype: str

    def rank(self, uses_atomic_results):
        """The verdict's place in `VERDICTS`. Bits that mean the same, as −0 and another NaN do, are within any bound."""
        error, strays = self.distance
        if error <= self.bound and not strays:
            return WITHIN
        if self.is_as_far_as(self.own):
            return TWO_RUNS
        if error <= self.noise and not strays:
            return ROUNDING
        return ATOMICS if uses_atomic_results else DIFFERS

    def is_as_far_as(self, other):
        """Whether another result of Triton's is about as far from its first."""
        return self.distance.error <= max(self.bound, AS_FAR * other.error) and self.distance.strays <= AS_FAR * other.strays


@dataclasses.dataclass
class Comparison:
    """The first launch of a specialisation by both compilers. Pairs are Tritium's and Triton's."""

    specialisation: str
    grid: tuple
    num_warps: int
    #: From the request to a loaded kernel, in ms, with whatever the caches held.
    first_ms: tuple
    #: One of `VERDICTS`, `as far as Triton's with … warps`, or why nothing was compared.
    verdict: str = ""
    #: Of the memory that differs most: how far ours is from Triton's, measured (`Distance`); the bound of the error; the element that differs
    #: most and the memory's type.
    error: float = 0.0
    strays: int = 0
    bound: float = 0.0
    worst: int | None = None
    dtype: str | None = None
    #: Registers of a thread, registers it spills, bytes of shared memory of a CTA: exact.
    resources: list = dataclasses.field(default_factory=lambda: [None, None])
    #: Median time of a launch in µs, warm L2, measured.
    us: tuple | None = None

    def keep(self, differences, uses_atomic_results=False, others=()):
        """Keeps what is worst of all memories that differ. `uses_atomic_results`: whether the kernel uses what atomic operations of a tile give back.
        `others`: numbers of warps, each with how far the results of Triton's kernel of so many are from Triton's, memory by memory; asked for one
        by one where nothing else explains what differs."""
        differences = list(differences)
        if not differences:
            return
        rank = lambda difference: difference.rank(uses_atomic_results)
        worst = max(differences, key=lambda difference: (rank(difference), difference.distance.strays, difference.distance.error))
        self.verdict = VERDICTS[rank(worst)]
        (self.error, self.strays), self.bound, self.worst, self.dtype = worst.distance, worst.bound, worst.worst, worst.dtype
        if rank(worst) == DIFFERS:
            explain = lambda distances: all(rank(one) < DIFFERS or one.is_as_far_as(other) for one, other in zip(differences, distances))
            if num_warps := next((num_warps for num_warps, distances in others if explain(distances)), None):
                self.verdict = f"as far as Triton's with {counted(num_warps, 'warp')}"

    def told_error(self):
        """Error, bound and strays in words."""
        strays = f", {counted(self.strays, 'element')} finite in one only" if self.strays else ""
        return f"error {self.error:.1e} of {self.bound:.1e} allowed{strays}"

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
            done = f"{counted(self.launches, 'launch', 'launches')} on {self.by}"
        else:
            done = f"{counted(self.specialisations, 'specialisation')} compiled by {self.by}"
        line = "" if self.refused_line is None else f" (line {self.refused_line})"
        refused = f"; refused: {self.refused}{line}" if self.refused else ""
        return f"{self.name} ({self.file}:{self.line}): {done}{refused}"


def counted(count, one, many=None):
    """`1 warp`, `2 warps`."""
    return f"{count} {one if count == 1 else many or one + 's'}"


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
            error = "" if comparison.worst is None else f" ({comparison.told_error()}, worst at element {comparison.worst} of a {comparison.dtype} tensor)"
            lines.append(f"    {comparison.verdict}{error}{times}; {comparison.specialisation}")
    by = {who: sum(kernel.specialisations for kernel in report() if kernel.by == who) for who in ("tritium", "triton")}
    if total := sum(by.values()):
        lines.append(f"{by['tritium']} of {total} specialisations were compiled by Tritium, {by['triton']} by Triton")
    ratios = [comparison.ratio for kernel in report() for comparison in kernel.comparisons if comparison.us]
    if ratios:
        mean = math.exp(statistics.fmean(map(math.log, ratios)))
        lines.append(f"{len(ratios)} timed: Triton's time over Tritium's {mean:.2f} in the geometric mean, {min(ratios):.2f} to {max(ratios):.2f}")
    return "\n".join(lines)


COLUMNS = ("kernel", "file", "line", "specialisation", "grid", "num_warps", "verdict", "error", "bound", "strays", "us", "triton_us", "first_ms",
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
                                   comparison.num_warps, comparison.verdict, comparison.error, comparison.bound, comparison.strays, *flat])
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
