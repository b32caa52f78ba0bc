#!/usr/bin/env python3
"""Asks Triton whether `tritium check --fix` changes what a kernel is: the same IR before and after, under the same arguments.

    fixes.py LANGUAGE_FOLDER TRITIUM OUT.tsv FOLDER...

LANGUAGE_FOLDER holds `oracle.py`; the Python that runs this has the Triton to be asked. The Python files of each FOLDER are copied, and every kernel of
the copy is compiled to Triton's IR under the arguments that Tritium itself knows or assumes of it (`emit --stage types`). Then the copy is
fixed in place and every kernel is compiled again under the arguments of before. One line a kernel: folder, file, function, verdict and
whether its file was changed. The verdicts: `equal`, `differs`, `refused now` and `accepted now` (only before or only after), `refused`
(both times), `not asked` (an argument that a request cannot give). **Names and verdicts only; locations in the IR do not count.**
"""
import ast
import collections
import json
import multiprocessing
import os
import re
import shutil
import subprocess
import sys
import tempfile

import isolated
import assignments

# Seconds of processor time for one kernel.
LIMIT = 120
NAMES = {"f16": "fp16", "f32": "fp32", "f64": "fp64", "f8e4m3": "fp8e4nv", "f8e5m2": "fp8e5", "f8e4m3b15": "fp8e4b15"}
COLUMNS = ("folder", "file", "kernel", "verdict", "file_changed")
SEVERAL = re.compile(r"several kernels in this file \((.*?)\)", re.S)
ROW = re.compile(r"^(\d+):(\d+) \w+: (.*)$")


class CannotAsk(Exception):
    """An argument has no spelling in a request."""


def copied(folder, into):
    for path, _, names in os.walk(folder):
        for name in names:
            if name.endswith(".py"):
                place = os.path.join(into, os.path.relpath(path, folder))
                os.makedirs(place, exist_ok=True)
                shutil.copyfile(os.path.join(path, name), os.path.join(place, name))


def texts(root):
    out = {}
    for path, _, names in os.walk(root):
        for name in names:
            with open(os.path.join(path, name), "rb") as file:
                out[os.path.relpath(os.path.join(path, name), root)] = file.read()
    return out


def emitted(tritium, file, kernel=None):
    """What `emit` says, and what it says where it says nothing."""
    chosen = ["--kernel", kernel] if kernel else []
    done = subprocess.run([tritium, "emit", file, "--stage", "types", *chosen], capture_output=True, text=True, timeout=300)
    return done.stdout, done.stderr


def element(text):
    return "*" + element(text[1:]) if text.startswith("*") else NAMES.get(text, text)


def constant(text):
    if re.fullmatch(r"[fiub]\w*\d+\w*", text):
        return "tl." + {"f16": "float16", "f32": "float32", "f64": "float64", "bf16": "bfloat16", "i1": "int1"}.get(text, re.sub("^i", "int", re.sub("^u", "uint", text)))
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        raise CannotAsk(text) from None
    return list(value) if isinstance(value, tuple) else value


def parameters(text, kernel):
    """The places of a function's parameters, with their names."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef) and node.name == kernel:
            return {(a.lineno, len(text.splitlines()[a.lineno - 1].encode()[:a.col_offset].decode()) + 1): a.arg for a in node.args.posonlyargs + node.args.args + node.args.kwonlyargs}
    raise CannotAsk("no such function")


def request(text, kernel, types):
    args, constexprs = {}, {}
    places = parameters(text, kernel)
    for row in types.splitlines():
        found = ROW.match(row)
        name = found and places.get((int(found[1]), int(found[2])))
        if not name:
            continue
        if found[3].startswith("constexpr["):
            constexprs[name] = constant(found[3][len("constexpr["):-1])
        elif re.fullmatch(r"\**\w+", found[3]):
            args[name] = element(found[3])
        elif match := re.fullmatch(r"tensordesc<(\w+)\[([\d, ]+)\]>", found[3]):
            args[name] = f"tensordesc<{element(match[1])}[{match[2].replace(' ', '')}]>"
        else:
            raise CannotAsk(found[3])
    missing = [name for name in places.values() if name not in args and name not in constexprs]
    if missing:
        raise CannotAsk(", ".join(missing))
    return args, constexprs


def requests(tritium, root):
    """For each file its kernels with their arguments; `None` for those that cannot be given."""
    out = {}
    for path, raw in sorted(texts(root).items()):
        if b"triton" not in raw:
            continue
        file = os.path.join(root, path)
        said, error = emitted(tritium, file)
        several = SEVERAL.search(error)
        try:
            text = raw.decode()
            kernels = [k.strip() for k in several[1].split(",")] if several else only_kernel(text, said)
        except (SyntaxError, UnicodeDecodeError, ValueError):
            continue
        for kernel in kernels:
            said = emitted(tritium, file, kernel)[0]
            try:
                out.setdefault(path, {})[kernel] = request(text, kernel, said)
            except CannotAsk:
                out.setdefault(path, {})[kernel] = None
    return out


def only_kernel(text, types):
    """The function of a file whose parameters its one kernel's types are about."""
    places = {(int(m[1]), int(m[2])) for m in map(ROW.match, types.splitlines()) if m}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef) and node.decorator_list and places:
            own = parameters(text, node.name)
            if own and set(own) <= places:
                return [node.name]
    return []


def one(job):
    """What Triton makes of a file's kernels, in a process of its own."""
    language, root, folder, path, kernels = job
    whole = f"{folder}/{path}"
    oracle, module = assignments.prepare(language, root, whole)
    from triton.backends.nvidia.compiler import CUDABackend
    made = []
    make = CUDABackend.make_ttir

    def remember(mod, *rest):
        result = make(mod, *rest)
        made.append(result.str_nodebug())
        return result

    CUDABackend.make_ttir = staticmethod(remember)
    answers = {}
    for kernel, (args, constexprs) in kernels.items():

        def work():
            try:
                made.clear()
                result = oracle.run(whole, kernel, args, constexprs, ttir_only=True, keep_cache=True, mod=module)
                return {"error": result["error"], "ir": fingerprint(made[-1]) if made else None}
            except BaseException as error:
                return {"error": str(error), "ir": None}

        answers[kernel] = (isolated.answer_of(work, LIMIT) or {"error": "no answer within the limit", "ir": None})
    return path, answers


def fingerprint(text):
    import hashlib
    return hashlib.sha256(text.encode()).hexdigest()


def compiled(language, root, folder, asked):
    jobs = [(language, root, folder, path, {k: r for k, r in kernels.items() if r}) for path, kernels in asked.items()]
    with multiprocessing.Pool(int(os.environ.get("JOBS", "2")), maxtasksperchild=1) as pool:
        return dict(pool.imap_unordered(one, [job for job in jobs if job[4]], chunksize=1))


def verdict(before, after):
    if before is None:
        return "not asked"
    if before["ir"] is None or after["ir"] is None:
        return "refused" if before["ir"] is after["ir"] else "accepted now" if before["ir"] is None else "refused now"
    return "equal" if before["ir"] == after["ir"] else "differs"


def main():
    language, tritium, out = (os.path.abspath(p) for p in sys.argv[1:4])
    with open(out, "w") as table:
        print(*COLUMNS, sep="\t", file=table)
        for source in map(os.path.abspath, sys.argv[4:]):
            folder = os.path.basename(source.rstrip("/"))
            with tempfile.TemporaryDirectory(prefix="fixes-") as root:
                copy = os.path.join(root, folder)
                copied(source, copy)
                asked = requests(tritium, copy)
                before = compiled(language, root, folder, asked)
                texts_before = texts(copy)
                fixing = subprocess.run([tritium, "check", copy, "--fix", "--output-format", "concise"], capture_output=True, text=True)
                changed = {path for path, text in texts(copy).items() if texts_before.get(path) != text}
                after = compiled(language, root, folder, asked)
                counts = collections.Counter()
                for path, kernels in sorted(asked.items()):
                    for kernel in kernels:
                        answer = before.get(path, {}).get(kernel)
                        one_verdict = verdict(answer, after.get(path, {}).get(kernel))
                        counts[one_verdict] += 1
                        print(folder, path, kernel, one_verdict, path in changed, sep="\t", file=table, flush=True)
                        if one_verdict in ("differs", "refused now"):
                            print(f"{folder}/{path} {kernel}: {one_verdict}: {after[path][kernel]['error']}", file=sys.stderr)
                said = [line for line in fixing.stderr.splitlines() if line.endswith(" fixed")]
                print(folder, *said, f"{len(changed)} files changed;", json.dumps(counts), flush=True)


if __name__ == "__main__":
    main()
