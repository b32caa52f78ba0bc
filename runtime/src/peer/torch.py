# What a check may look back over, and the memory that this may keep alive.
MOST_OPERATIONS = 2000
MOST_CHECKS = 200
MOST_BYTES = 16 << 30


class Step:
    """An operation of PyTorch or a launch: the memories that it reads, and those that it writes."""

    def __init__(self, run, args, kwargs, made, reads, writes, changed=(), is_input=False, is_view=False, launch=None):
        self.run, self.args, self.kwargs, self.made = run, args, kwargs, made
        self.reads, self.writes, self.changed = reads, writes, changed
        # Nothing is computed here: what comes out is given, or another look at the same memory.
        self.is_input, self.is_view, self.launch = is_input, is_view, launch


def main(file, out):
    """Times the expressions of PyTorch that the program holds its kernels' results against.

    What PyTorch does is written down as the program runs, with the launches between. Where the program compares two tensors of which one hangs on
    launches and the other does not, what made the other out of that which the launches read is done again and again by itself.
    """
    import time

    import torch
    import triton
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_flatten, tree_map

    names, steps, times, told, known_writes = Names(), [], [], set(), {}
    unwritten, launched_any, state = set(), [], {"bytes": 0, "checks": 0, "is_paused": False}

    def tensors_in(values):
        for value in tree_flatten(values)[0]:
            # A descriptor of the host.
            value = getattr(value, "base", value) if not isinstance(value, torch.Tensor) else value
            if isinstance(value, torch.Tensor):
                yield value

    def memory(tensor):
        return tensor.untyped_storage()._cdata

    def is_input(func, reads):
        name = func.overloadpacket.__name__
        return not reads or name.endswith("_like") or name.startswith("new_")

    class Noting(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            result = func(*args, **kwargs)
            if not state["is_paused"]:
                state["is_paused"] = True
                try:
                    quietly(lambda: note(func, args, kwargs, result))
                finally:
                    state["is_paused"] = False
            return result

    def note(func, args, kwargs, result):
        if func.overloadpacket is torch.ops.aten._local_scalar_dense:
            number(args[0])
            return
        if state["bytes"] > MOST_BYTES:
            return
        made = list(tensors_in(result))
        reads = {memory(tensor) for tensor in tensors_in((args, kwargs))}
        schema, given = func._schema.arguments, list(args)
        changed = [
            tensor
            for at, argument in enumerate(schema)
            if argument.alias_info is not None and argument.alias_info.is_write
            for tensor in tensors_in(given[at] if at < len(given) else kwargs.get(argument.name))
        ]
        writes = {memory(tensor) for tensor in [*made, *changed]}
        if not writes:
            return
        is_view = not changed and writes <= reads
        given_memory = is_input(func, reads) and not changed
        if given_memory and "empty" in func.overloadpacket.__name__:
            unwritten.update(writes)
        else:
            unwritten.difference_update(writes if not is_view else ())
        state["bytes"] += sum(t.numel() * t.element_size() for t in made if not is_view)
        steps.append(Step(func, args, kwargs, made, reads, writes, changed, given_memory, is_view))

    def launched(launch, function, args, kwargs):
        values = [tensor for tensor in tensors_in((args, kwargs))]
        kernel, name, is_new = names.of(function, args, kwargs)
        was_paused, state["is_paused"] = state["is_paused"], True
        try:
            # What a launch writes is what is different behind it, or what was nothing before.
            before = [tensor.detach().clone() for tensor in values] if is_new else []
            result = launch()
            if is_new:
                is_written = lambda at: memory(values[at]) in unwritten or not same(before[at], values[at])
                known_writes[name] = [at for at in range(len(values)) if is_written(at)]
        finally:
            state["is_paused"] = was_paused
        writes = {memory(values[at]) for at in known_writes[name]}
        unwritten.difference_update(writes)
        launched_any.append(name)
        steps.append(Step(None, values, {}, [], {memory(tensor) for tensor in values}, writes, launch=(kernel, name)))
        return result

    def same(before, after):
        """Bit by bit, as a NaN is equal to nothing."""
        integer = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}.get(after.element_size())
        return integer is not None and bool((before.view(integer) == after.detach().view(integer)).all())

    def behind(tensor, stops=frozenset()):
        """The steps that a tensor hangs on, in their order, down to what stands at `stops`."""
        needed, found = {memory(tensor)} - stops, []
        for step in reversed(steps):
            if not step.writes & needed:
                continue
            # A copy of what is given is given, too.
            is_copy = step.run is torch.ops.aten.clone.default and step.reads <= stops
            if step.is_input or is_copy:
                continue
            found.append(step)
            needed |= step.reads - stops
            if len(found) > MOST_OPERATIONS:
                return []
        return found[::-1]

    def launches_of(found):
        return [step.launch for step in found if step.launch]

    def check(one, other):
        """Of two tensors that are compared."""
        if state["checks"] >= MOST_CHECKS or not (isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor)):
            return
        state["checks"] += 1
        sides = [(one, other), (other, one)]
        for result, expected in sides:
            found = behind(result)
            launches = launches_of(found)
            if not launches or tuple(launches) in told or launches_of(behind(expected)):
                continue
            of_launches = [step for step in found if step.launch]
            written = set().union(*(step.writes for step in of_launches))
            given = set().union(*(step.reads for step in of_launches)) - written
            work = [step for step in behind(expected, frozenset(given)) if not step.is_view]
            if work and memory(expected) not in given:
                told.add(tuple(launches))
                taken = measure(work)
                of = [{"kernel": kernel, "launch": name} for kernel, name in launches]
                times.append({"launches": of, "us": taken})

    def number(tensor):
        """Of a tensor that becomes a number, as in `(y - expected).abs().max() < 1e-3`: what two it comes from."""
        if state["checks"] >= MOST_CHECKS:
            return
        found = behind(tensor)
        if not launches_of(found):
            return
        for step in reversed(found):
            two = [] if step.launch else list(tensors_in((step.args, step.kwargs)))
            if len(two) == 2:
                check(*two)
                return

    def measure(work):
        def again():
            made = {}

            def instead(value):
                return made.get(id(value), value)

            for step in work:
                result = step.run(*tree_map(instead, step.args), **tree_map(instead, step.kwargs))
                made.update((id(old), new) for old, new in zip(step.made, tensors_in(result)))

        changed = [tensor for step in work for tensor in step.changed]
        with torch.no_grad(), torch.random.fork_rng():
            kept = [tensor.detach().clone() for tensor in changed]
            try:
                if any(tensor.is_cuda for step in work for tensor in step.made):
                    return [1e3 * ms for ms in triton.testing.do_bench(captured(again), return_mode="all")]
                taken, begin = [], time.perf_counter()
                while len(taken) < 3 or (len(taken) < 50 and time.perf_counter() - begin < 0.5):
                    start = time.perf_counter()
                    again()
                    taken.append(1e6 * (time.perf_counter() - start))
                return taken
            finally:
                for tensor, before in zip(changed, kept):
                    tensor.copy_(before)

    def captured(again):
        """As a graph where it can be one: what Python needs for each operation is not what the GPU needs."""
        again()
        try:
            torch.cuda.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                again()
            return graph.replay
        except RuntimeError:
            torch.cuda.synchronize()
            return again

    def checked(real):
        def run(*args, **kwargs):
            was_paused, state["is_paused"] = state["is_paused"], True
            try:
                if not was_paused:
                    named = [kwargs[name] for name in ("actual", "input", "expected", "other") if name in kwargs]
                    one, other = [*args, *named][:2]
                    both = (one, other) if isinstance(one, (list, tuple)) else ([one], [other])
                    for pair in zip(*both):
                        quietly(lambda: check(*pair))
                return real(*args, **kwargs)
            finally:
                state["is_paused"] = was_paused

        return run

    def quietly(act):
        """What is odd here is not to change what the program does: a launch or an expression less is told."""
        try:
            return act()
        except Exception as raised:
            print(f"{type(raised).__name__}: {raised}", file=sys.stderr)

    torch.testing.assert_close = checked(torch.testing.assert_close)
    for name in ("allclose", "equal"):
        setattr(torch, name, checked(getattr(torch, name)))
        setattr(torch.Tensor, name, checked(getattr(torch.Tensor, name)))
    at_each_launch(launched)
    with Noting():
        error = run_program(file, lambda: launched_any)
    write(out, {"what": f"torch {torch.__version__}", "times": times, "error": error})


main(*sys.argv[1:])
