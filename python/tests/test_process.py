"""`python -m tritium`, and what becomes of a process."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import triton
import triton.language as tl

ENDLESS = """
import numpy as np, triton, triton.language as tl
@triton.jit
def endless(OUT):
    i = 0
    while i < 10:
        i = i * 1
        tl.store(OUT, i)
print("begun", flush=True)
endless[(1,)](np.zeros(1, np.int32))
"""

PRINTS = """
import sys, numpy as np, triton, triton.language as tl
@triton.jit
def kernel(OUT):
    tl.store(OUT, 3)
out = np.zeros(1, np.float32)
kernel[(1,)](out)
print(sys.argv[1:], __name__, out[0])
"""


def heed_interrupts():
    """A test run in the background may have been told to ignore them, and children inherit that."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def python(*args, **env):
    return subprocess.Popen(
        [sys.executable, "-m", "tritium", *map(str, args)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **env},
        preexec_fn=heed_interrupts,
    )


def said(process):
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


@pytest.fixture
def script(tmp_path):
    def written(text):
        path = tmp_path / "program.py"
        path.write_text(text)
        return path

    return written


def test_a_script_runs_as_it_is(script):
    assert said(python(script(PRINTS), "a", "-b")) == (0, "['a', '-b'] __main__ 3.0\n", "")


def test_a_report_at_the_end(script):
    path = script(PRINTS)
    _, _, err = said(python(path, TRITIUM_REPORT="1"))
    assert err == f"kernel ({path}:4): 1 launch on cpu\n"


def test_lane_by_lane(script):
    path = script(PRINTS)
    code, out, err = said(python(path, TRITIUM="sim", TRITIUM_REPORT="1"))
    assert (code, out, err) == (0, "[] __main__ 3.0\n", f"kernel ({path}:4): 1 launch on sim\n")


SPAWNS = """
import multiprocessing, sys
import numpy as np
import triton, triton.language as tl
@triton.jit
def kernel(OUT):
    tl.store(OUT, 3)
def work(n):
    out = np.zeros(1, np.float32)
    kernel[(1,)](out)
    return float(out[0]) + n
if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        print(pool.map(work, [0, 1]))
"""


def test_processes_that_a_program_spawns_do_the_same(script):
    assert said(python(script(SPAWNS))) == (0, "[3.0, 4.0]\n", "")


def test_an_environment_may_begin_so(script):
    process = subprocess.Popen(
        [sys.executable, script(PRINTS)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "TRITIUM": "1"}
    )
    assert said(process) == (0, "[] __main__ 3.0\n", "")


def test_no_program():
    assert said(python())[0] == 2
    assert said(python("nothing.py")) == (2, "", "tritium: nothing.py: no such file\n")
    assert said(python("--help"))[0] == 0


def test_a_launch_that_never_ends_is_interrupted(script):
    process = python(script(ENDLESS))
    assert process.stdout.readline() == "begun\n"
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert "KeyboardInterrupt" in err


@triton.jit
def add_one(OUT, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(OUT + at, tl.load(OUT + at, mask=at < n) + 1, mask=at < n)


def test_a_forked_child_launches():
    out = np.zeros(100, dtype=np.float32)
    add_one[(4,)](out, 100, BLOCK=32)
    child = os.fork()
    if child == 0:
        try:
            add_one[(4,)](out, 100, BLOCK=32)
            os._exit(0 if (out == 2).all() else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert (out == 1).all()


def test_threads_take_turns():
    out = np.zeros(100, dtype=np.float32)
    threads = [threading.Thread(target=add_one[(4,)], args=(out, 100), kwargs={"BLOCK": 32}) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (out == 8).all()


def test_nothing_is_imported_that_the_program_does_not_import(script):
    path = script("import sys\nprint(sorted({'numpy', 'torch', 'triton'} & set(sys.modules)))\n")
    assert said(python(path)) == (0, "[]\n", "")


def test_what_was_installed_can_be_taken_back(script):
    path = script(
        "import sys, numpy, tritium\n"
        "before = numpy.empty\n"
        "tritium.uninstall()\n"
        "after = numpy.empty\n"
        "with tritium.installed():\n"
        "    assert numpy.empty is not after\n"
        "print(before is not after, numpy.empty is after, len([f for f in sys.meta_path if 'tritium' in type(f).__module__]))\n"
    )
    assert said(python(path)) == (0, "True True 0\n", "")


TURN = """
import sys
from tritium import compare
with compare._turn("of-a-test"):
    print("begun", flush=True)
    sys.stdin.readline()
"""


def test_processes_take_turns_in_timing():
    def begin():
        process = subprocess.Popen([sys.executable, "-c", TURN], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        begun = threading.Event()
        threading.Thread(target=lambda: (process.stdout.readline(), begun.set()), daemon=True).start()
        return process, begun

    first, begun = begin()
    assert begun.wait(60)
    second, begun = begin()
    assert not begun.wait(1)
    first.communicate("\n")
    assert begun.wait(60)
    second.communicate("\n")
    assert first.returncode == second.returncode == 0
