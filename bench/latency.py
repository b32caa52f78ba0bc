#!/usr/bin/env python3
"""Times the language server as an editor feels it, over stdio, beside pyright, basedpyright and ty on the same script.

    python3 bench/latency.py path/to/tritium path/to/corpora [--results bench/results/latency.md] [--edits 60] [--only tritium]

On the file of about 1,000 lines and on the largest file of fla-core and of liger-kernel: from the start of the process to the answer of
`initialize`, the median of five; from opening the file to its first diagnostics; from a keystroke in a kernel's body to the first and to the last diagnostics
of that very version; hovers over the names of kernels, warm (each place was asked about once before). Resident memory is that of the process and its children with
the package's folder as workspace and its twenty largest files open. The other tools are installed by version from PyPI into `.cache/bench`.
"""

import argparse
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path
from queue import Empty, Queue

ROOT = Path(__file__).resolve().parent.parent
TOOLS = ROOT / ".cache/bench"
VERSIONS = {"ty": "0.0.104", "pyright[nodejs]": "1.1.414", "basedpyright": "1.40.2"}
PACKAGES = ["fla-core", "liger-kernel"]
OPEN_FILES = 20
LIMIT = 240
# Of the process, for the time to the answer of `initialize`.
STARTS = 5
# Between two keystrokes, and after the last word on one of them.
QUIET = 0.15


def install():
    binaries = TOOLS / "bin"
    if not (binaries / "pip").exists():
        subprocess.run([sys.executable, "-m", "venv", TOOLS], check=True)
    wanted = [f"{name}=={version}" for name, version in VERSIONS.items()]
    subprocess.run([binaries / "pip", "install", "--quiet", "--disable-pip-version-check", *wanted], check=True)
    return binaries


def servers(tritium, binaries):
    return {
        "tritium": [tritium, "lsp"],
        "ty": [binaries / "ty", "server"],
        "pyright": [binaries / "pyright-langserver", "--stdio"],
        "basedpyright": [binaries / "basedpyright-langserver", "--stdio"],
    }


class Server:
    """One server process; every wait has a limit."""

    def __init__(self, command, workspace):
        self.start = time.perf_counter()
        self.process = subprocess.Popen(
            [str(c) for c in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=workspace
        )
        self.answers = {}
        self.diagnostics = Queue()
        self.arrived = threading.Condition()
        self.next = 0
        threading.Thread(target=self.read, daemon=True).start()
        uri = workspace.as_uri()
        capabilities = {
            "general": {"positionEncodings": ["utf-8", "utf-16"]},
            "textDocument": {
                "publishDiagnostics": {"versionSupport": True},
                "hover": {"contentFormat": ["markdown"]},
                "synchronization": {},
            },
            "workspace": {"workspaceFolders": True, "configuration": True},
        }
        params = {
            "processId": os.getpid(),
            "rootUri": uri,
            "workspaceFolders": [{"uri": uri, "name": workspace.name}],
            "capabilities": capabilities,
        }
        self.request("initialize", params)
        self.initialize = time.perf_counter() - self.start
        self.notify("initialized", {})

    def read(self):
        out = self.process.stdout
        while True:
            length = 0
            while (line := out.readline().strip()) != b"":
                if line.lower().startswith(b"content-length:"):
                    length = int(line.split(b":")[1])
            if length == 0:
                return
            message = json.loads(out.read(length))
            now = time.perf_counter()
            if "method" in message and "id" in message:
                count = len(message.get("params", {}).get("items", [])) if message["method"] == "workspace/configuration" else 0
                self.send({"jsonrpc": "2.0", "id": message["id"], "result": [None] * count if count else None})
            elif message.get("method") == "textDocument/publishDiagnostics":
                self.diagnostics.put((now, message["params"]))
            elif "id" in message:
                with self.arrived:
                    self.answers[message["id"]] = (now, message)
                    self.arrived.notify_all()

    def send(self, message):
        body = json.dumps(message).encode()
        try:
            self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
            self.process.stdin.flush()
        except BrokenPipeError:
            pass

    def notify(self, method, params):
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def request(self, method, params):
        """The answer's seconds and result."""
        self.next += 1
        start = time.perf_counter()
        self.send({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params})
        with self.arrived:
            if not self.arrived.wait_for(lambda: self.next in self.answers, LIMIT):
                raise TimeoutError(method)
        at, message = self.answers.pop(self.next)
        return at - start, message.get("result")

    def open(self, path, text):
        document = {"uri": path.as_uri(), "languageId": "python", "version": 1, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": document})

    def published(self, uri, version, start):
        """Seconds until the diagnostics of a version of a document."""
        deadline = time.perf_counter() + LIMIT
        while True:
            try:
                at, params = self.diagnostics.get(timeout=max(0.0, deadline - time.perf_counter()))
            except Empty:
                raise TimeoutError("diagnostics") from None
            # A server that gives no version is taken at its word: what it says after the edit is about the edit.
            if params["uri"] == uri and params.get("version", version) in (version, None) and at >= start:
                return at - start

    def last_published(self, uri, version, start):
        """Seconds until the last diagnostics of a version, once none came for a while; 0 where the first were the last."""
        last = 0.0
        while True:
            try:
                at, params = self.diagnostics.get(timeout=QUIET)
            except Empty:
                return last
            if params["uri"] == uri and params.get("version", version) in (version, None):
                last = at - start

    def memory(self):
        """Resident MB of the process and its children."""
        wanted, total = {self.process.pid}, 0
        parents = {}
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    status = (entry / "status").read_text()
                except OSError:
                    continue
                parent = re.search(r"PPid:\s+(\d+)", status)
                size = re.search(r"VmRSS:\s+(\d+)", status)
                parents[int(entry.name)] = (int(parent[1]), int(size[1]) if size else 0)
        grown = True
        while grown:
            more = {pid for pid, (parent, _) in parents.items() if parent in wanted} - wanted
            wanted |= more
            grown = bool(more)
        for pid in wanted:
            total += parents.get(pid, (0, 0))[1]
        return total / 1024

    def stop(self):
        try:
            self.request("shutdown", None)
            self.notify("exit", None)
            self.process.wait(10)
        except (TimeoutError, subprocess.TimeoutExpired):
            pass
        self.process.kill()
        self.process.wait()


def kernel_files(folder):
    files = []
    for path in folder.rglob("*.py"):
        text = path.read_text(errors="replace")
        if "@triton.jit" in text:
            files.append((text.count("\n"), path, text))
    return sorted(files, key=lambda f: (f[0], str(f[1])))


def keystroke_places(text):
    """Ends of statements in kernels: `  x = y` becomes `  x = y1` and back."""
    places, inside = [], False
    for number, line in enumerate(text.split("\n")):
        if line.startswith("@triton.jit"):
            inside = True
        elif line and not line[0].isspace() and not line.startswith(("@", "def ", ")")):
            inside = False
        if inside and re.match(r"\s+\w+ = .*\w$", line):
            places.append((number, len(line.encode())))
    return places


def names_of_kernels(text):
    places, inside = [], False
    for number, line in enumerate(text.split("\n")):
        if line.startswith("@triton.jit"):
            inside = True
        elif line and not line[0].isspace() and not line.startswith(("@", "def ", ")")):
            inside = False
        if inside and line.isascii():
            places += [(number, m.start()) for m in re.finditer(r"\b[a-z_]\w+\b", line) if "#" not in line]
    return places


def p95(values):
    return sorted(values)[min(len(values) - 1, int(0.95 * len(values)))]


def measure(command, workspace, path, text, edits):
    """Milliseconds by figure."""
    starts = []
    for _ in range(STARTS - 1):
        server = Server(command, workspace)
        starts.append(1000 * server.initialize)
        server.stop()
    server = Server(command, workspace)
    starts.append(1000 * server.initialize)
    out = {"initialize": statistics.median(starts)}
    uri = path.as_uri()
    start = time.perf_counter()
    server.open(path, text)
    out["first diagnostics"] = 1000 * server.published(uri, 1, start)
    places = keystroke_places(text)
    step = max(1, len(places) // edits)
    times, ends, version = [], [], 1
    for line, column in places[::step][:edits]:
        for change in ("1", ""):
            version += 1
            at = {"line": line, "character": column}
            end = at if change else {"line": line, "character": column + 1}
            change = {"range": {"start": at, "end": end}, "text": change}
            document = {"uri": uri, "version": version}
            start = time.perf_counter()
            server.notify("textDocument/didChange", {"textDocument": document, "contentChanges": [change]})
            times.append(1000 * server.published(uri, version, start))
            ends.append(max(times[-1], 1000 * server.last_published(uri, version, start)))
    out["keystroke p50"], out["keystroke p95"], out["settled p95"] = statistics.median(times), p95(times), p95(ends)
    names = names_of_kernels(text)
    names = names[:: max(1, len(names) // 200)][:200]
    hovers = []
    for warm in (False, True):
        for line, column in names:
            at = {"textDocument": {"uri": uri}, "position": {"line": line, "character": column}}
            seconds, _ = server.request("textDocument/hover", at)
            if warm:
                hovers.append(1000 * seconds)
    out["hover p50"], out["hover p95"] = statistics.median(hovers), p95(hovers)
    server.stop()
    return out


def memory(command, workspace, files):
    server = Server(command, workspace)
    for _, path, text in files[-OPEN_FILES:]:
        start = time.perf_counter()
        server.open(path, text)
        server.published(path.as_uri(), 1, start)
    time.sleep(2)
    found = server.memory()
    server.stop()
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tritium", type=Path)
    parser.add_argument("corpora", type=Path)
    parser.add_argument("--results", type=Path)
    parser.add_argument("--edits", type=int, default=60)
    parser.add_argument("--only", nargs="*")
    arguments = parser.parse_args()
    binaries = TOOLS / "bin"
    if arguments.only != ["tritium"]:
        binaries = install()
    commands = servers(arguments.tritium.resolve(), binaries)
    if arguments.only:
        commands = {name: commands[name] for name in arguments.only}
    figures = ["initialize", "first diagnostics", "keystroke p50", "keystroke p95", "settled p95", "hover p50", "hover p95"]
    lines, targets = [], []
    for package in PACKAGES:
        workspace = (arguments.corpora / package).resolve()
        files = kernel_files(workspace)
        middle = min(files, key=lambda f: (abs(f[0] - 1000), str(f[1])))
        chosen = [middle] + ([files[-1]] if files[-1] != middle else [])
        for count, path, text in chosen:
            lines.append(f"\n## {package}: `{path.relative_to(workspace)}`, {count} lines\n")
            lines.append("| server | " + " | ".join(figures) + " |")
            lines.append("|---|" + "---:|" * len(figures))
            for name, command in commands.items():
                try:
                    row = measure(command, workspace, path, text, arguments.edits)
                    cells = [f"{row[f]:.1f} ms" for f in figures]
                except TimeoutError as error:
                    cells = [f"no {error} within {LIMIT} s"] + [""] * (len(figures) - 1)
                lines.append(f"| {name} | " + " | ".join(cells) + " |")
                print(lines[-1], file=sys.stderr)
        if package == "fla-core":
            lines.append(f"\n## Memory: {package} as workspace, its {OPEN_FILES} largest kernel files open\n")
            lines.append("| server | resident |")
            lines.append("|---|---:|")
            for name, command in commands.items():
                lines.append(f"| {name} | {memory(command, workspace, files):.0f} MB |")
                print(lines[-1], file=sys.stderr)
    text = f"""# Latency in the editor

Written by `bench/latency.py`: the real servers over stdio on a {os.cpu_count()}-core {platform.machine()} machine. `initialize` counts from
the start of the process; a keystroke counts until the first diagnostics of that version, which hold
what the kernel's active specialisation has, and "settled" until the last, which hold what all have (the others push once); hovers are warm. {arguments.edits} places are typed at,
twice each, and up to 200 names hovered over.
""" + "\n".join(lines) + "\n"
    if arguments.results:
        arguments.results.write_text(text)
    else:
        print(text)


if __name__ == "__main__":
    main()
