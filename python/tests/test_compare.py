"""How two kernels' times are compared, on a GPU that is made up."""

import contextlib
import itertools
import types

from tritium import compare


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
