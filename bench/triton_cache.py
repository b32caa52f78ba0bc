"""Whether Triton's tuners take what `tritium tune --write-triton-cache` has measured: the programs of `bench/tuning` on a GPU.

    python3 bench/triton_cache.py path/to/tritium        (needs a GPU, PyTorch and Triton)

Each program is tuned, and then run by Triton with `TRITON_CACHE_AUTOTUNING=1` and the cache that was written: its tuners must time nothing, and must choose
the row that Tritium says. Exits with 1 where one does not.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

PROGRAMS = pathlib.Path(__file__).resolve().parent / "tuning"
LIMIT_SECONDS = 150


def under_triton(file, environment):
    """What each launch's tuner chose, and how many launches it has timed."""
    code = f"""
import json, runpy, sys
from triton.runtime import autotuner
timed, chosen = [], []
bench = autotuner.Autotuner._bench
autotuner.Autotuner._bench = lambda self, *args, **kwargs: (timed.append(1), bench(self, *args, **kwargs))[1]
run = autotuner.Autotuner.run
def noted(self, *args, **kwargs):
    result = run(self, *args, **kwargs)
    chosen.append(str(self.best_config))
    return result
autotuner.Autotuner.run = noted
sys.argv = [{str(file)!r}]
runpy.run_path({str(file)!r}, run_name="__main__")
json.dump([len(timed), chosen], open({environment["ANSWER"]!r}, "w"))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=LIMIT_SECONDS, env=environment)
    if done.returncode:
        return None, done.stderr.strip().splitlines()[-1:]
    return json.loads(pathlib.Path(environment["ANSWER"]).read_text())


def main(tritium):
    wrong = 0
    for name in ["matmul", "attention", "softmax", "layer_norm"]:
        file = PROGRAMS / f"{name}.py"
        with tempfile.TemporaryDirectory() as folder:
            environment = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
            # The Python that runs this is the one that is asked.
            environment["PATH"] = f"{pathlib.Path(sys.executable).parent}:{environment['PATH']}"
            environment |= {"TRITON_CACHE_DIR": f"{folder}/triton", "XDG_CACHE_HOME": f"{folder}/home", "ANSWER": f"{folder}/answer"}
            command = [tritium, "tune", str(file), "--device", "cuda:0", "--write-triton-cache", "--timeout", str(LIMIT_SECONDS)]
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=2 * LIMIT_SECONDS, env=environment
            )
            kept = re.findall(r"^(\S+): triton \S+ keeps (.*) in (\S+)$", done.stderr, re.M)
            if done.returncode or not kept:
                print(f"{name}: exit status {done.returncode}, nothing kept: {done.stderr.strip()[-800:]}")
                wrong += 1
                continue
            timed, chosen = under_triton(file, {**environment, "TRITON_CACHE_AUTOTUNING": "1"})
            rows = [best for _, best, _ in kept]
            is_right = timed == 0 and chosen == rows
            wrong += not is_right
            print(f"{name}: {'right' if is_right else 'WRONG'}; {len(kept)} launches kept, {timed} rows timed by Triton afterwards")
            for (launch, best, _), other in zip(kept, chosen):
                print(f"  {launch}: {best}" + ("" if best == other else f"; Triton chose {other}"))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(shutil.which(sys.argv[1]) or sys.argv[1]))
