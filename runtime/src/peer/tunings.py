def main(file, out):
    """Has Triton's own tuners write the file of their cache that they would write after they had measured what Tritium has measured.

    Only a tuner in the program that it is part of knows the file's name: it is made of Triton's files, the GPU, the sources, the environment, the
    values of the key and the rows that are left after pruning.
    """
    import triton
    from triton.runtime import autotuner

    with open(out) as document:
        measured = {one["launch"]: one["rows"] for one in json.load(document)}
    names, current, kept, seen = Names(), [], {}, []

    def launched(launch, function, args, kwargs):
        _, name, is_new = names.of(function, args, kwargs)
        if is_new:
            seen.append(name)
        tuner = function
        while not isinstance(tuner, autotuner.Autotuner) and hasattr(tuner, "fn"):
            tuner = tuner.fn
        if not is_new or not isinstance(tuner, autotuner.Autotuner) or name not in measured:
            return launch()
        # A key that the program has met already stands for several launches: the last of them says what is kept.
        was, known = tuner.cache_results, tuner.cache
        tuner.cache_results, tuner.cache = True, {}
        current.append(name)
        try:
            return launch()
        finally:
            current.pop()
            tuner.cache_results, tuner.cache = was, {**known, **tuner.cache}
            if name not in kept:
                kept[name] = {"why": "its tuner has one row" if len(tuner.configs) < 2 else "Triton keeps nothing of it"}

    real = autotuner.Autotuner.check_disk_cache

    def check_disk_cache(self, tuning_key, configs, bench_fn):
        name = current[-1] if current else None
        if name is None:
            return real(self, tuning_key, configs, bench_fn)
        if any(config.pre_hook for config in configs):
            kept[name] = {"why": "Triton keeps nothing of rows with a `pre_hook`"}
            return real(self, tuning_key, configs, bench_fn)
        timings = {config: ms for config in configs if (ms := of_row(self, config, measured[name])) is not None}
        if not timings:
            kept[name] = {"why": "none of the rows that the program's pruning leaves was timed"}
            bench_fn()
            return False

        def bench():
            self.bench_time = 0.0
            self.configs_timings = timings
            self.cache[tuning_key] = best

        best = min(timings, key=timings.get)
        manager = autotuner.get_cache_manager

        class Replacing:
            """The cache, as if nothing were kept there of this tuning."""

            def __init__(self, key):
                self.real = manager(key)

            def get_file(self, name):
                return None

            def put(self, *args, **kwargs):
                path = self.real.put(*args, **kwargs)
                kept[name] = {"path": str(path), "best": str(best)}
                return path

        autotuner.get_cache_manager = Replacing
        try:
            return real(self, tuning_key, configs, bench)
        finally:
            autotuner.get_cache_manager = manager

    def of_row(tuner, config, rows):
        """Median, fifth below and fifth above in ms, as Triton writes them."""
        for row in rows:
            at = row["row"]
            is_it = at < len(tuner.configs) and tuner.configs[at] == config
            if is_it and (row["num_warps"], row["num_stages"]) == (config.num_warps, config.num_stages):
                return row["ms"]

    autotuner.Autotuner.check_disk_cache = check_disk_cache
    at_each_launch(launched)
    error = run_program(file, lambda: seen)
    found = [{"launch": name, **kept.get(name, {"why": "the program does not make it"})} for name in measured]
    write(out, {"what": f"triton {triton.__version__}", "kept": found, "error": error})


main(*sys.argv[1:])
