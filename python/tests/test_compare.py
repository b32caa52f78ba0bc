"""How two kernels' times and results are compared, on a GPU that is made up."""

import contextlib
import csv
import functools
import itertools
import math
import sys
import types

from tritium import compare
from tritium.report import Comparison, Difference, Distance


class Gpu:
    """Time passes as launches take it: each returns how much, in ms."""

    def __init__(self):
        self.now, self.replays, self.captured = 0.0, 0, None
        self.cuda = types.SimpleNamespace(
            Event=self.event, CUDAGraph=self.new_graph, graph=self.capture, current_stream=lambda: types.SimpleNamespace(cuda_stream=0)
        )

    def event(self, enable_timing):
        event = types.SimpleNamespace(at=None, synchronize=lambda: None)
        event.record = lambda: setattr(event, "at", self.now)
        event.elapsed_time = lambda end: end.at - event.at
        return event

    def new_graph(self):
        graph = types.SimpleNamespace(launches=[])

        def replay():
            self.replays += 1
            self.now += sum(next(takes) for takes in graph.launches)

        graph.replay = replay
        return graph

    @contextlib.contextmanager
    def capture(self, graph):
        self.captured = graph.launches
        yield
        self.captured = None

    def kernel(self, *ms):
        takes = itertools.cycle(ms)

        def launch(_stream):
            if self.captured is None:
                self.now += next(takes)
            else:
                self.captured.append(takes)

        return launch


def test_steady_times_are_soon_told():
    gpu = Gpu()
    ours, theirs = compare._times(gpu, gpu.kernel(0.5), gpu.kernel(1.0))
    assert (round(ours, 6), round(theirs, 6)) == (500.0, 1000.0)
    assert gpu.replays == 2 * (1 + compare.REPLAYS)


def test_a_few_disturbed_replays_do_not_count():
    gpu = Gpu()
    ours, theirs = compare._times(gpu, gpu.kernel(0.5, 0.5, 0.5, 0.5, 3.0), gpu.kernel(1.0))
    assert (round(ours, 6), round(theirs, 6)) == (500.0, 1000.0)
    assert gpu.replays == 2 * (1 + compare.REPLAYS)


def test_times_that_vary_are_taken_more_often():
    gpu = Gpu()
    compare._times(gpu, gpu.kernel(1.0, 1.2), gpu.kernel(1.0))
    assert gpu.replays == 2 * (1 + compare.MAX_REPLAYS)


def test_the_worst_of_all_memories_is_kept():
    small, large = _difference(1e-7, worst=3), _difference(0.5, worst=7, dtype="int32")
    assert _told(small) == "within the bound"
    assert _told(small, _difference(0.5, own=Distance(0.2))) == "as far as two runs of Triton's"
    assert _told(_difference(0.5, noise=0.6)) == "within the rounding of its inputs"
    assert _told(small, large) == "differs" and _kept(small, large).worst == 7
    assert _told(small, large, uses_atomic_results=True) == "as the order of its atomics may make it"
    assert _told(_difference(math.nan)) == "differs"
    assert _told() == "same bits"


def test_elements_that_are_finite_in_one_only_are_no_rounding():
    # However small the error of the others is.
    assert _told(_difference(0.0, strays=1)) == "differs"
    assert _told(_difference(0.0, strays=1, noise=0.6)) == "differs"
    assert _told(_difference(1e-7, strays=4, own=Distance(0.0, 1))) == "as far as two runs of Triton's"
    assert _told(_difference(1e-7, strays=5, own=Distance(0.0, 1))) == "differs"
    assert _told(_difference(0.0, strays=1), uses_atomic_results=True) == "as the order of its atomics may make it"
    # The memory with most of them is told.
    kept = _kept(_difference(0.9, worst=1), _difference(0.0, strays=2, worst=2), _difference(0.0, strays=1, worst=3))
    assert (kept.strays, kept.error, kept.worst) == (2, 0.0, 2)


def test_what_differs_as_much_within_triton_is_no_mistake():
    stray = _difference(1e-7, strays=2)
    others = [(4, [Distance(1e-7, 0)]), (1, [Distance(0.0, 2)]), (8, [Distance(0.0, 9)])]
    assert _told(stray, others=others) == "as far as Triton's with 1 warp"
    assert _told(stray, others=others[2:]) == "as far as Triton's with 8 warps"
    assert _told(stray, others=others[:1]) == "differs"
    assert _told(_difference(0.3), others=[(2, [Distance(0.1)])]) == "as far as Triton's with 2 warps"
    assert _told(_difference(0.5), others=[(2, [Distance(0.1)])]) == "differs"
    # One number of warps for all memories; those that something else explains need none.
    pair = [(4, [Distance(0.0, 2), Distance(0.0)]), (16, [Distance(0.0, 2), Distance(0.3)])]
    assert _told(stray, _difference(0.5), others=pair) == "as far as Triton's with 16 warps"
    assert _told(stray, _difference(0.5, noise=0.6), others=pair) == "as far as Triton's with 4 warps"


def test_triton_is_asked_for_nothing_more_where_that_decides_nothing():
    tried = []
    others = (tried.append(warps) or (warps, [Distance(0.5, 1)]) for warps in (1, 4, 8))
    assert _told(_difference(1e-7), others=others) == "within the bound"
    assert _told(_difference(0.5), uses_atomic_results=True, others=others) == "as the order of its atomics may make it"
    assert tried == []
    assert _told(_difference(0.5), others=others) == "as far as Triton's with 1 warp" and tried == [1]


def test_the_nearest_numbers_of_warps_are_tried_first():
    assert compare._other_warps(2) == [1, 4, 8, 16, 32]
    assert compare._other_warps(8) == [4, 16, 2, 32, 1]
    assert compare._other_warps(32) == [16, 8, 4, 2, 1]


def test_numbers_of_warps_that_do_not_compile_or_load_are_passed_over():
    def load(num_warps):
        if num_warps == 32:
            raise RuntimeError("out of resources")

    def compile(src, target=None, options=None):
        assert (src, options["num_stages"]) == ("source", 3)
        if options["num_warps"] == 4:
            raise ValueError("does not compile")
        return types.SimpleNamespace(_init_handles=lambda: load(options["num_warps"]))

    given = {"num_warps": 8, "num_stages": 3}
    assert [warps for warps, _ in compare._others(functools.partial(compile, "source", options=given), 8)] == [16, 2, 1]
    assert given["num_warps"] == 8


def test_no_number_of_warps_is_begun_once_the_time_is_up(monkeypatch):
    clock = types.SimpleNamespace(now=0.0, monotonic=lambda: clock.now)
    monkeypatch.setattr(compare, "time", clock)

    def compile(options):
        clock.now += 0.4 * compare.MAX_SEARCH
        return types.SimpleNamespace(_init_handles=lambda: None)

    assert [warps for warps, _ in compare._others(functools.partial(compile, options=None), 2)] == [1, 4, 8]


def test_strays_are_told_in_text_and_table(monkeypatch, tmp_path):
    reports = sys.modules["tritium.report"]
    row = reports.Kernel("summed", "sums.py", 3, by="tritium", specialisations=1)
    row.comparisons = [_kept(_difference(0.0, strays=strays, worst=2)) for strays in (0, 1, 2)]
    monkeypatch.setattr(reports, "_kernels", {"summed": row})
    assert [line.strip() for line in reports.summary().splitlines()[1:4]] == [
        "within the bound (error 0.0e+00 of 1.0e-06 allowed, worst at element 2 of a float32 tensor);",
        "differs (error 0.0e+00 of 1.0e-06 allowed, 1 element finite in one only, worst at element 2 of a float32 tensor);",
        "differs (error 0.0e+00 of 1.0e-06 allowed, 2 elements finite in one only, worst at element 2 of a float32 tensor);",
    ]
    reports.write(str(tmp_path / "told.csv"))
    with open(tmp_path / "told.csv", newline="") as told:
        assert [line["strays"] for line in csv.DictReader(told)] == ["0", "1", "2"]


def _difference(error, strays=0, bound=1e-6, own=Distance(0.0), noise=0.0, worst=1, dtype="float32"):
    return Difference(Distance(error, strays), bound, own, noise, worst, dtype)


def _told(*differences, **options):
    return _kept(*differences, **options).verdict


def _kept(*differences, **options):
    comparison = Comparison("", (1, 1, 1), 4, (0.0, 0.0), verdict="same bits")
    comparison.keep(differences, **options)
    return comparison
