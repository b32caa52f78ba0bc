"""Runs both compilers' code on the same tensors, compares what it leaves, and times it (`TRITIUM=verify`, `TRITIUM=bench`).

The first launch of each specialisation is compared; the program goes on with Triton's results.
"""

import contextlib
import fcntl
import math
import os
import statistics
import tempfile
import time

from tritium import compiler
from tritium.report import Comparison, Difference, Distance, write_so_far

#: Launches in one graph at most, and how long they should take together, in µs.
MAX_LAUNCHES, GRAPH_US = 200, 400.0
#: Launches that tell how many a graph has; replays of each graph, taking turns, and at most where these do not settle it.
TRIALS, REPLAYS, MAX_REPLAYS = 3, 15, 60
#: The ratio of two times is settled once its median lies, 19 times in 20, between two numbers that are so far apart.
SETTLED = 1.02
#: Seconds that a process waits at most for others to be done timing on its GPU.
MAX_WAIT = 20.0
#: Seconds after which no further kernel of Triton's is compiled for another number of warps: the program waits.
MAX_SEARCH = 10.0
#: A CTA has 1024 threads at most.
MAX_WARPS = 32


def both(ours, compile_theirs, row, mode, seconds):
    """Triton's kernel, whose first launch is compared. `compile_theirs`: a partial of Triton's `compile`, the options among its keywords."""
    begin = time.perf_counter()
    theirs = compile_theirs()
    theirs._run = _Compared(ours, theirs, compile_theirs, row, mode, (seconds, time.perf_counter() - begin))
    # It would put Triton's launcher there; whoever launches asks for it.
    theirs._init_handles = lambda: None
    return theirs


class _Compared:
    """Stands where Triton's launcher does until it has been called once."""

    def __init__(self, ours, theirs, compile_theirs, row, mode, seconds):
        self.ours = ours
        self.theirs = theirs
        self.compile_theirs = compile_theirs
        self.row = row
        self.mode = mode
        self.seconds = seconds
        #: Triton's, once it is loaded.
        self.launcher = None

    def __call__(self, *call):
        import torch

        theirs = self.theirs
        begin = time.perf_counter()
        if self.launcher is None:
            theirs._run = None
            del theirs._init_handles
            theirs._init_handles()
            self.launcher = theirs._run
        run = theirs._run = self.launcher
        loaded = time.perf_counter() - begin
        grid, stream, args = call[:3], call[3], call[9:]
        if torch.cuda.is_current_stream_capturing():
            # Nothing can be compared while a graph is made.
            theirs._run = self
            return run(*grid, stream, theirs.function, *call[5:])
        comparison = Comparison(
            specialisation=_specialisation(theirs),
            grid=tuple(int(extent) for extent in grid),
            num_warps=theirs.metadata.num_warps,
            first_ms=tuple(1e3 * x for x in self.seconds),
        )
        self.row.comparisons.append(comparison)
        begin = time.perf_counter()
        try:
            self.ours._init_handles()
        except Exception as error:
            comparison.verdict = f"not loaded: {error}"
            return run(*grid, stream, theirs.function, *call[5:])
        comparison.first_ms = (comparison.first_ms[0] + 1e3 * (time.perf_counter() - begin), comparison.first_ms[1] + 1e3 * loaded)
        for side, kernel in enumerate((self.ours, theirs)):
            comparison.resources[side] = (kernel.n_regs, kernel.n_spills, kernel.metadata.shared)
        memories = _memories(torch, args)
        held = sum(memory.numel() for memory, _ in memories)
        if 3 * held > torch.cuda.mem_get_info()[0]:
            comparison.verdict = f"not compared: {held >> 20} MiB of tensors leave no room for copies"
            return run(*grid, stream, theirs.function, *call[5:])
        launch_of = lambda kernel: lambda stream: kernel.run(*grid, stream, kernel.function, kernel.packed_metadata, None, None, None, *args)
        launch_ours, launch_theirs = launch_of(self.ours), launch_of(theirs)
        before = [memory.clone() for memory, _ in memories]
        # With the hooks of the program, as it counts on.
        run(*grid, stream, theirs.function, *call[5:])
        after = [memory.clone() for memory, _ in memories]

        def restored(contents):
            for (memory, _), content in zip(memories, contents):
                memory.copy_(content)

        def others():
            for num_warps, kernel in _others(self.compile_theirs, comparison.num_warps):
                restored(before)
                try:
                    launch_of(kernel)(stream)
                except Exception:
                    # The driver refuses it. What goes wrong while it runs is told by what waits for it.
                    continue
                torch.cuda.synchronize()
                yield num_warps, _distances(torch, memories, left, after)

        try:
            restored(before)
            launch_ours(stream)
            torch.cuda.synchronize()
            left = [memory.clone() if not torch.equal(memory, content) else None for (memory, _), content in zip(memories, after)]
            comparison.verdict = "same bits"
            if any(content is not None for content in left):
                restored(before)
                launch_theirs(stream)
                again = [memory.clone() for memory, _ in memories]
                differences = _differences(torch, memories, left, (before, after, again), self._bound(args))
                comparison.keep(differences, self.ours.code.uses_atomic_results, others())
            if self.mode == "bench":
                restored(before)
                device = torch.cuda.current_device()
                with _turn(getattr(torch.cuda.get_device_properties(device), "uuid", device)):
                    comparison.us = _times(torch, launch_ours, launch_theirs)
        finally:
            restored(after)
        write_so_far()

    def _bound(self, args):
        """How far results of a dtype may be apart, by the dtype's name."""
        extent = max((extent for arg in args for extent in getattr(arg, "shape", ())), default=1)
        return lambda dtype: self.ours.code.bound(dtype, int(extent)) or 0.0


def _specialisation(kernel):
    """What the kernel was compiled for, in one line."""
    names = list(kernel.src.signature)
    values = {names[path[0]]: value for path, value in kernel.src.constants.items() if len(path) == 1}
    words = []
    for index, (name, type) in enumerate(kernel.src.signature.items()):
        if type == "constexpr":
            words.append(f"{name}={getattr(values.get(name), '__name__', values.get(name))}")
        else:
            words.append(f"{name}: {compiler.argument_type(kernel.src, (index,), type)}")
    return ", ".join(words)


def _memories(torch, args):
    """The storages of the tensors among arguments, each once, as bytes, with the dtype of the first tensor in it."""
    found = {}

    def add(value):
        if isinstance(value, (tuple, list)):
            for item in value:
                add(item)
        elif isinstance(value, torch.Tensor):
            storage = value.untyped_storage()
            if value.is_cuda and storage.nbytes():
                if storage.data_ptr() not in found:
                    whole = torch.empty(0, dtype=torch.uint8, device=value.device).set_(storage)
                    found[storage.data_ptr()] = (whole, value.dtype)
        elif hasattr(value, "base"):
            add(value.base)

    for arg in args:
        add(arg)
    return list(found.values())


def _others(compile_theirs, num_warps):
    """Triton's kernels of the same source with other numbers of warps, loaded, one after the other."""
    last = time.monotonic() + MAX_SEARCH
    for other in _other_warps(num_warps):
        if time.monotonic() > last:
            return
        try:
            kernel = compile_theirs(options={**(compile_theirs.keywords["options"] or {}), "num_warps": other})
            kernel._init_handles()
        except Exception:
            # It needs more than a CTA has, or Triton does not compile it.
            continue
        yield other, kernel


def _other_warps(num_warps):
    """The numbers of warps of other kernels, the nearest first: half as many, twice as many, a quarter."""
    numbers = [1 << log for log in range(MAX_WARPS.bit_length())]
    return sorted((other for other in numbers if other != num_warps), key=lambda other: abs(math.log2(other / num_warps)))


def _differences(torch, memories, left, contents, bound_of):
    """The memories in which ours differs. `contents`: what the launch was given, what Triton's left, and what a second run of Triton's left."""
    before, after, again = contents
    given = max((_size(torch, content, dtype) for (_, dtype), content in zip(memories, before)), default=0.0)
    for (_, dtype), ours, theirs, second in zip(memories, left, after, again):
        if ours is None:
            continue
        ours, theirs, second = (_numbers(torch, content, dtype) for content in (ours, theirs, second))
        distance, worst = _apart(torch, ours, theirs)
        own, _ = _apart(torch, second, theirs)
        name = str(dtype).removeprefix("torch.")
        bound = bound_of(name)
        # Where large numbers cancel out, what is left is their rounding.
        noise = bound * given * math.sqrt(theirs.numel()) / max(_norm(torch, theirs), 1e-300)
        yield Difference(distance, bound, own, noise, worst, name)


def _distances(torch, memories, left, after):
    """How far what the memories hold is from Triton's, for each in which ours differs."""
    pairs = ((memory, theirs, dtype) for (memory, dtype), ours, theirs in zip(memories, left, after) if ours is not None)
    return [_apart(torch, _numbers(torch, memory, dtype), _numbers(torch, theirs, dtype))[0] for memory, theirs, dtype in pairs]


def _apart(torch, numbers, theirs):
    """How far numbers are from Triton's, and the one that is farthest."""
    finite = numbers.isfinite() & theirs.isfinite()
    gap = (numbers - theirs).abs().masked_fill(~finite, 0.0)
    # NaN where both have NaN, and equal infinities, are no difference.
    stray = ~(finite | (numbers == theirs) | (numbers.isnan() & theirs.isnan()))
    error = float(torch.linalg.vector_norm(gap)) / max(_norm(torch, theirs), 1e-300)
    return Distance(error, int(stray.sum())), int(torch.argmax(gap.masked_fill(stray, math.inf)))


def _norm(torch, numbers):
    """Euclidean norm of the finite ones."""
    return float(torch.linalg.vector_norm(numbers.masked_fill(~numbers.isfinite(), 0.0)))


def _size(torch, content, dtype):
    """Root mean square of the finite floats in a memory."""
    if not dtype.is_floating_point:
        return 0.0
    numbers = _numbers(torch, content, dtype)
    return _norm(torch, numbers) / math.sqrt(max(1, numbers.numel()))


def _numbers(torch, content, dtype):
    """The elements of a memory, the bytes behind the last left out."""
    numbers = content[: content.numel() // dtype.itemsize * dtype.itemsize].view(dtype)
    if dtype == torch.bool:
        numbers = numbers.view(torch.uint8)
    return torch.view_as_real(numbers).flatten().double() if dtype.is_complex else numbers.double()


@contextlib.contextmanager
def _turn(gpu):
    """Processes that time on one GPU (`pytest -n`) take turns: kernels of one beside another's lengthen both, by how much is chance."""
    path = os.path.join(tempfile.gettempdir(), f"tritium-bench-{os.getuid()}-{gpu}")
    last = time.monotonic() + MAX_WAIT
    with open(path, "a") as file:
        while time.monotonic() < last:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                time.sleep(0.001)
        # Who has waited that long is behind a process that hangs, and times nevertheless.
        yield


def _times(torch, ours, theirs):
    """Medians of the times of one launch of each, in µs, in graphs that take turns; the L2 cache is warm."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))

    def timed(run):
        begin.record()
        run()
        end.record()
        end.synchronize()
        return 1e3 * begin.elapsed_time(end)

    # As many for each, so that what a replay itself takes weighs alike; other processes' kernels only ever lengthen a trial.
    stream = torch.cuda.current_stream().cuda_stream
    single = min(timed(lambda: launch(stream)) for launch in (ours, theirs) for _ in range(TRIALS))
    count = max(1, min(MAX_LAUNCHES, int(GRAPH_US / max(single, 1.0))))
    graphs = []
    for launch in (ours, theirs):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            inside = torch.cuda.current_stream().cuda_stream
            for _ in range(count):
                launch(inside)
        graph.replay()
        graphs.append((graph, []))
    for replay in range(1, MAX_REPLAYS + 1):
        for graph, times in graphs:
            times.append(timed(graph.replay) / count)
        if replay % REPLAYS == 0 and _is_settled(*(times for _, times in graphs)):
            break
    return tuple(statistics.median(times) for _, times in graphs)


def _is_settled(ours, theirs):
    """Whether more replays would hardly change the ratio. The median's interval is that of order statistics, for any distribution."""
    ratios = sorted(one / other for one, other in zip(ours, theirs))
    middle, half = (len(ratios) - 1) / 2, 1.96 * math.sqrt(len(ratios)) / 2
    return ratios[math.ceil(middle + half)] <= SETTLED * ratios[math.floor(middle - half)]
