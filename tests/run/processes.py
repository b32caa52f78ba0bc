#!/usr/bin/env python3
"""Nothing outlives its owner: endless kernels on a device, and every way in which the one who asked can go.

    python3 tests/run/processes.py PATH/TO/tritium [DEVICE …]

Needs nothing but Python and the program. One line a case: how long it took until every child was gone, and whether a file was left. A case
fails where that took longer than a second, and the exit status is then 1. Devices are `cuda:0`, if none is named.
"""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LIMIT = 1.0
PATIENCE = 60.0

KERNEL = """\
# /// tritium
# [launch.endless]
# kernel = "spin"
# grid = [264]
# args = { FLAG = "i32[4] = zeros()" }
# ///
import triton
import triton.language as tl


@triton.jit
def spin(FLAG):
    seen = tl.load(FLAG, volatile=True)
    while seen < 1:
        seen = tl.load(FLAG, volatile=True)
"""


def stat(pid):
    """The fields behind the name; nothing of what is dead."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else fields


def descendants(pid):
    every = {int(p.name): stat(p.name) for p in Path("/proc").iterdir() if p.name.isdigit()}
    found, pending = [], [pid]
    while pending:
        parent = pending.pop()
        children = [p for p, fields in every.items() if fields and int(fields[1]) == parent]
        found += children
        pending += children
    return found


def until(what, condition):
    begin = time.monotonic()
    while True:
        found = condition()
        if found:
            return found, time.monotonic() - begin
        if time.monotonic() - begin > PATIENCE:
            raise SystemExit(f"FAIL {what}: waited {PATIENCE:.0f} s in vain")
        time.sleep(0.002)


class Case:
    """A folder for temporary files and the store, and a kernel in it."""

    def __init__(self, program, device):
        self.program, self.device = program, device
        self.folder = tempfile.TemporaryDirectory()
        self.root = Path(self.folder.name)
        for name in ("tmp", "cache"):
            (self.root / name).mkdir()
        (self.root / "endless.py").write_text(KERNEL)
        self.environment = {**os.environ, "TMPDIR": str(self.root / "tmp"), "TRITIUM_CACHE": str(self.root / "cache")}

    def start(self, *arguments):
        pipe = subprocess.PIPE
        return subprocess.Popen(
            [self.program, *arguments], stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, env=self.environment, start_new_session=True
        )

    def kernel_runs(self, pid):
        """The processes below one, once the kernel has had time to be compiled and started: on a GPU nothing shows it from outside."""

        def busy():
            children = descendants(pid)
            ticks = lambda p: sum(map(int, (stat(p) or ["0"] * 13)[11:13]))
            return children if any(ticks(p) >= 30 for p in children) else None

        found, _ = until("a child at work", busy)
        time.sleep(4.0 if self.device.startswith("cuda") else 0.3)
        return descendants(pid) or found

    def leftovers(self):
        left = []
        for path in [*self.root.joinpath("tmp").rglob("*"), *self.root.joinpath("cache").rglob("*")]:
            shelf = path.is_dir() and re.fullmatch("[0-9a-f]{2}", path.name)
            if not shelf and not re.fullmatch("[0-9a-f]{62}", path.name):
                left.append(path.name)
        return left


failures = 0


def judge(case, name, pids):
    global failures
    _, seconds = until(name, lambda: not any(stat(p) for p in pids))
    left = case.leftovers()
    ok = seconds <= LIMIT and not left
    failures += not ok
    print(f"{'ok  ' if ok else 'FAIL'} {case.device} {name}: {len(pids)} gone after {seconds * 1000:.0f} ms, left: {left or 'nothing'}", flush=True)


def command(program, device, name, how):
    case = Case(program, device)
    owner = case.start("run", str(case.root / "endless.py"), "--device", device)
    pids = case.kernel_runs(owner.pid)
    how(owner)
    judge(case, f"run, {name}", pids)
    owner.wait()


def execute(program, device):
    case = Case(program, device)
    owner = case.start("exec")
    job = {
        "path": str(case.root / "endless.py"), "text": KERNEL, "launch": None, "device": device, "verify": "never", "save": None,
        "chosen": {"triton": "3.6", "gpu": "H100"}, "expect": [], "limits": {"seconds": 300.0, "memory_bytes": None}, "attended": True,
    }  # fmt: skip
    owner.stdin.write(json.dumps(job).encode())
    owner.stdin.flush()
    time.sleep(6.0)
    assert stat(owner.pid), "exec ended by itself: " + owner.stdout.read().decode()
    owner.stdin.close()
    judge(case, "exec, input closed", [owner.pid])
    owner.wait()


class Server:
    def __init__(self, case):
        self.case, self.process, self.turn = case, case.start("lsp"), 0
        self.ask("initialize", {"processId": None, "rootUri": None, "capabilities": {}, "initializationOptions": {"device": case.device}})
        self.answer(1)
        self.tell("initialized", {})
        uri = f"file://{case.root}/endless.py"
        self.tell("textDocument/didOpen", {"textDocument": {"uri": uri, "languageId": "python", "version": 1, "text": KERNEL}})
        arguments = [{"uri": uri, "launch": "endless", "kernel": "spin"}]
        self.run = self.ask("workspace/executeCommand", {"command": "tritium.server.run", "arguments": arguments})

    def send(self, message):
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.process.stdin.flush()

    def tell(self, method, params):
        self.send({"method": method, "params": params})

    def ask(self, method, params):
        self.turn += 1
        self.send({"id": self.turn, "method": method, "params": params})
        return self.turn

    def answer(self, wanted):
        while True:
            length = 0
            while (line := self.process.stdout.readline().strip()) != b"":
                if line.lower().startswith(b"content-length:"):
                    length = int(line.split(b":")[1])
            message = json.loads(self.process.stdout.read(length))
            if message.get("id") == wanted and "method" not in message:
                return message


def server(program, device, name, how):
    case = Case(program, device)
    client = Server(case)
    pids = case.kernel_runs(client.process.pid)
    how(client)
    judge(case, f"server, {name}", pids)
    client.process.kill()
    client.process.wait()


def main():
    program, devices = str(Path(sys.argv[1]).resolve()), sys.argv[2:] or ["cuda:0"]
    for device in devices:
        for name in ("SIGKILL", "SIGTERM", "SIGHUP"):
            command(program, device, name, lambda owner, name=name: owner.send_signal(getattr(signal, name)))
        # As a terminal does it: the whole group.
        command(program, device, "Ctrl-C", lambda owner: os.killpg(owner.pid, signal.SIGINT))
        execute(program, device)
        server(program, device, "SIGKILL", lambda client: client.process.kill())
        server(program, device, "cancel", lambda client: client.tell("$/cancelRequest", {"id": client.run}))
        server(program, device, "shutdown", lambda client: client.ask("shutdown", None))
        server(program, device, "input closed", lambda client: client.process.stdin.close())
        case = Case(program, device)
        begin = time.monotonic()
        done = subprocess.run(
            [program, "run", str(case.root / "endless.py"), "--device", device, "--timeout", "8"],
            capture_output=True, text=True, env=case.environment,
        )  # fmt: skip
        print(f"{device} time limit of 8 s: {time.monotonic() - begin:.1f} s, exit {done.returncode}: {done.stderr.strip()[:160]}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
