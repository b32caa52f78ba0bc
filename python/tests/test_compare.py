"""How two kernels' times are compared, on a GPU that is made up."""

import contextlib
import itertools
import math
import types

from tritium import compare
from tritium.report import Comparison


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
    told = lambda *differences, **options: _kept(*differences, **options).verdict
    # Error, bound, distance of two runs of Triton's, rounding of what was given.
    small, large = (1e-7, 1e-6, 0.0, 0.0, 3, "float32"), (0.5, 1e-6, 0.0, 0.0, 7, "int32")
    assert told(small) == "within the bound"
    assert told(small, (0.5, 1e-6, 0.2, 0.0, 1, "float32")) == "as far as two runs of Triton's"
    assert told((0.5, 1e-6, 0.0, 0.6, 1, "float32")) == "within the rounding of its inputs"
    assert told(small, large) == "differs" and _kept(small, large).worst == 7
    assert told(small, large, uses_atomic_results=True) == "as the order of its atomics may make it"
    assert told((math.nan, 1e-6, 0.0, 0.0, 7, "float32")) == "differs"


def _kept(*differences, **options):
    comparison = Comparison("", (1, 1, 1), 4, (0.0, 0.0), verdict="same bits")
    comparison.keep(differences, **options)
    return comparison
