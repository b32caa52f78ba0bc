"""What goes wrong around a program on a GPU: files, processes, memory. Each program is a process of its own, which must end with the right result or a
message, and must leave no process behind. Without a GPU, PyTorch or Triton these tests skip themselves."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("no CUDA device", allow_module_level=True)

HEAD = """
import os, sys, torch, triton, triton.language as tl

@triton.jit
def scale(X, OUT, n, FACTOR: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(OUT + at, tl.load(X + at, mask=at < n) * FACTOR, mask=at < n)

@triton.jit
def spin(OUT, n):
    total = 0
    for i in range(n):
        total = (total * 7 + i) ^ (total >> 3)
    tl.store(OUT, total)

def check(factors=(2, 3), device="cuda"):
    x = torch.rand(3000, device=device)
    for factor in factors:
        out = torch.full_like(x, float("nan"))
        scale[(3,)](x, out, 3000, FACTOR=factor, BLOCK=1024)
        assert torch.equal(out, x * factor), factor

def by():
    import tritium
    return sorted({kernel.by for kernel in tritium.report()})
"""


@pytest.fixture
def program(tmp_path):
    """Starts a program under Tritium with a store of its own."""

    def start(body, *before, **env):
        path = tmp_path / f"program{len(list(tmp_path.glob('program*')))}.py"
        path.write_text(HEAD + body)
        settings = {"TRITIUM": "1", "TRITIUM_CACHE": str(tmp_path / "store"), "TRITON_CACHE_DIR": str(tmp_path / "triton"), **env}
        return subprocess.Popen(
            [sys.executable, *(before or ("-m", "tritium")), str(path)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **settings},
            start_new_session=True,
        )

    return start


def ends(process, seconds=90):
    """Its status and what it said; a process that hangs fails the test."""
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        pytest.fail("hung: " + process.communicate()[1][-2000:])
    return process.returncode, out, err


def works(process):
    status, out, err = ends(process)
    assert status == 0, err[-3000:]
    return out, err


def workers(store):
    """Processes that compile for programs with this store, and for nobody else."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            command, environment = ((place / name).read_bytes().split(b"\0") for name in ("cmdline", "environ"))
        except OSError:
            continue
        if Path(os.fsdecode(command[0])).name == "tritium" and os.fsencode(f"TRITIUM_CACHE={store}") in environment:
            found.append(int(place.name))
    return found


RIGHT = "check()\nassert by() == ['tritium'], by()\nprint('right')\n"


def test_a_store_that_is_corrupted(program, tmp_path):
    works(program(RIGHT))
    files = [path for path in (tmp_path / "store").rglob("*") if path.is_file()]
    assert files
    for i, path in enumerate(files):
        content = path.read_bytes()
        path.write_bytes((b"", content[: len(content) // 2], b"\xff" * len(content))[i % 3])
    assert works(program(RIGHT))[0] == "right\n"
    for path in files:
        if path.exists():
            content = bytearray(path.read_bytes())
            content[len(content) // 2 :] = bytes(reversed(content[len(content) // 2 :]))
            path.write_bytes(content)
    assert works(program(RIGHT))[0] == "right\n"


@pytest.mark.parametrize("place", ["/proc/nowhere", "/dev/null/store"])
def test_a_store_that_cannot_be_written(program, place):
    assert works(program(RIGHT, TRITIUM_CACHE=place))[0] == "right\n"


def test_a_store_that_is_full(program, tmp_path):
    store = tmp_path / "small"
    store.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", store], capture_output=True).returncode != 0:
        pytest.skip("this process may not mount")
    try:
        assert works(program(RIGHT, TRITIUM_CACHE=str(store)))[0] == "right\n"
    finally:
        subprocess.run(["umount", store], check=True)


def test_a_store_that_eight_processes_write_at_once(program):
    for process in [program("check(range(2, 8))\nassert by() == ['tritium']\nprint('right')\n") for _ in range(8)]:
        assert works(process)[0] == "right\n"


def test_workers_that_are_killed(program):
    body = """
import signal, threading, time
from pathlib import Path
sys.path.insert(0, os.environ["TESTS"])
from test_gpu_faults import workers
def kill():
    while going:
        for worker in workers(os.environ["TRITIUM_CACHE"]):
            try: os.kill(worker, signal.SIGKILL)
            except ProcessLookupError: pass
        time.sleep(0.02)
going = True
killer = threading.Thread(target=kill); killer.start()
try: check(range(2, 10))
finally:
    going = False; killer.join()
check(range(10, 14))
print('right', by())
"""
    out, _ = works(program(body, TESTS=str(Path(__file__).parent)))
    # Those that no worker lived long enough for are Triton's.
    assert out in ("right ['tritium']\n", "right ['tritium', 'triton']\n")


def test_a_fault_in_a_kernel_is_told_and_ends_the_process(program):
    body = """
@triton.jit
def wild(OUT):
    tl.store(OUT + (1 << 40), 1.0)
wild[(1,)](torch.zeros(1, device="cuda"))
torch.cuda.synchronize()
"""
    status, _, err = ends(program(body))
    assert status == 1 and "illegal memory access" in err, err[-2000:]


def test_shared_memory_that_no_program_may_have(program):
    body = """
@triton.jit
def wide(A, C, N: tl.constexpr):
    at = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    a = tl.load(A + at)
    tl.store(C + at, tl.dot(a, tl.trans(a)))
a = torch.ones(512, 512, device="cuda")
try: wide[(1,)](a, a, N=512, num_warps=8)
except triton.runtime.errors.OutOfResources as refused: print(refused)
check(); print('right')
"""
    out, _ = works(program(body))
    assert "out of resource: shared memory" in out and out.endswith("right\n"), out


def test_a_device_whose_memory_is_exhausted(program):
    body = """
check((2,))
free, _ = torch.cuda.mem_get_info()
try: torch.empty(free * 2, dtype=torch.uint8, device="cuda")
except torch.OutOfMemoryError: pass
held = []
try:
    while True: held.append(torch.empty(1 << 24, dtype=torch.uint8, device="cuda"))
except torch.OutOfMemoryError: pass
x, out = held.pop()[:4096].view(torch.float32), held.pop()[:4096].view(torch.float32)
try:
    scale[(1,)](x, out, 1024, FACTOR=5, BLOCK=1024)
    print(torch.equal(out.nan_to_num(), (x * 5).nan_to_num()))
except Exception as error: print(type(error).__name__, error)
held.clear(); torch.cuda.empty_cache()
check((6,)); print('right')
"""
    out, _ = works(program(body))
    assert out.endswith("right\n") and (out.startswith("True") or "memory" in out), out


def test_an_exit_with_launches_under_way(program):
    body = """
out = torch.zeros(1, dtype=torch.int32, device="cuda")
spin[(1,)](out, 1 << 28)
scale[(1,)](torch.ones(4, device="cuda"), torch.ones(4, device="cuda"), 4, FACTOR=2, BLOCK=4)
print('right')
"""
    assert works(program(body))[0] == "right\n"


def test_a_kernel_that_hangs_ends_with_its_process(program, tmp_path):
    body = """
out = torch.zeros(1, dtype=torch.int32, device="cuda")
@triton.jit
def endless(OUT):
    while tl.atomic_add(OUT, 0) == 0:
        pass
endless[(1,)](out)
print('begun', flush=True)
torch.cuda.synchronize()
"""
    process = program(body)
    assert process.stdout.readline() == "begun\n"
    time.sleep(1)
    process.terminate()
    status, _, _ = ends(process, 30)
    assert status == -signal.SIGTERM
    time.sleep(2)
    assert not workers(tmp_path / "store")


@pytest.mark.parametrize("how", ["fork", "spawn"])
def test_loaders_of_data(program, how):
    launched = "check((4,))" if how == "spawn" else "pass"
    body = f"""
class Data(torch.utils.data.Dataset):
    def __len__(self): return 8
    def __getitem__(self, i):
        {launched}
        return torch.tensor(i)

if __name__ == "__main__":
    check()
    loader = torch.utils.data.DataLoader(Data(), num_workers=2, multiprocessing_context="{how}")
    assert [int(i) for i in loader] == list(range(8))
    check((7,))
    print('right')
"""
    assert works(program(body))[0] == "right\n"


def test_two_processes_of_torchrun(program):
    body = """
torch.distributed.init_process_group("gloo")
import tritium
tritium.install()
check(range(2, 6))
assert by() == ['tritium']
total = torch.ones(1)
torch.distributed.all_reduce(total)
assert int(total) == 2
torch.distributed.destroy_process_group()
"""
    works(program(body, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"))


def test_a_process_that_forks_after_a_launch(program):
    body = """
check()
child = os.fork()
if child == 0:
    # CUDA itself refuses a forked child: it must be told, not hang.
    try: check((9,))
    except RuntimeError as error: print('refused' if 'forked' in str(error) else error, flush=True)
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
check((8,)); print('right')
"""
    assert works(program(body))[0] == "refused\nright\n"
