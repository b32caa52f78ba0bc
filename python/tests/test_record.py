"""What a program launches is known to the language server."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

PROGRAM = """\
import numpy as np
import triton
import triton.language as tl


@triton.jit
def scale(x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + at, 2 * tl.load(x + at, mask=at < n), mask=at < n)


def main(sizes):
    for n in sizes:
        scale[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](np.ones(n, dtype=np.float32), n, BLOCK=64)


main(json.load(open("sizes.json")))
"""


class Server:
    """`tritium lsp`, and as much of a client as asks it for lenses."""

    def __init__(self, program, folder, env):
        self.process = subprocess.Popen(
            [program, "lsp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=folder, env=env
        )
        self.number = 0
        self.ask("initialize", {"processId": None, "rootUri": folder.as_uri(), "capabilities": {}})
        self.send("initialized", {})

    def send(self, method, params, **more):
        body = json.dumps({"jsonrpc": "2.0", "method": method, "params": params, **more}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.process.stdin.flush()

    def ask(self, method, params):
        self.number += 1
        self.send(method, params, id=self.number)
        while True:
            length = 0
            while line := self.process.stdout.readline().strip():
                name, _, value = line.partition(b":")
                length = int(value) if name.lower() == b"content-length" else length
            answer = json.loads(self.process.stdout.read(length))
            if answer.get("id") == self.number and "method" not in answer:
                return answer.get("result")

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


def test_an_editor_learns_what_a_program_launched(tmp_path):
    program = Path(sys.executable).parent / "tritium"
    env = {**os.environ, "TRITIUM_CACHE": str(tmp_path / "cache"), "TRITIUM_RECORD": "1"}
    path = tmp_path / "scale.py"
    text = "import json\n" + PROGRAM
    path.write_text(text)

    def runs(*sizes):
        (tmp_path / "sizes.json").write_text(json.dumps(sizes))
        subprocess.run([sys.executable, "-m", "tritium", "scale.py"], cwd=tmp_path, env=env, check=True)

    server = Server(program, tmp_path, env)
    try:
        document = {"uri": path.as_uri(), "languageId": "python", "version": 1, "text": text}
        server.send("textDocument/didOpen", {"textDocument": document})

        def titles():
            lenses = server.ask("textDocument/codeLens", {"textDocument": {"uri": path.as_uri()}})
            return [lens["command"]["title"] for lens in lenses or []]

        def until(title):
            end = time.monotonic() + 60
            while title not in (shown := titles()):
                assert time.monotonic() < end, shown
                time.sleep(0.1)

        # Nobody knows the sizes: they are asked for.
        until("▶ Run…")
        runs(100, 100, 100, 5)
        until("▶ Run (ran 3 times on cpu)")
        runs(100)
        until("▶ Run (ran 4 times on cpu)")
    finally:
        server.stop()
