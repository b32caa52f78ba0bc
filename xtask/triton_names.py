"""Writes `semantics/src/versions/names.txt`: what each release of Triton holds.

    python3 xtask/triton_names.py FOLDER

FOLDER has the wheels unpacked, one folder a version: `pip download --no-deps triton==3.6.0` and `unzip` into `FOLDER/3.6.0`. Modules of the
language are asked with `dir` in a process of their own; what cannot be imported is read.
"""

import ast
import json
import os
import re
import subprocess
import sys
import typing

NAMES = os.path.join(os.path.dirname(__file__), "..", "semantics", "src", "versions", "names.txt")
KEPT = re.compile(r"triton(\.(language|runtime|testing|tools|ops|compiler|common|experimental|errors|knobs|_utils|interpreter|impl)(\..*)?)?$")
LEFT_OUT = re.compile(r"gsan|amd|nvidia|triton\.tools\.(compile|link|build_extern|tensor_descriptor_|triton_to)|gluon\.(_|language\.)")
NOISE = set(sys.stdlib_module_names) | set(typing.__all__) | {"annotations", "torch", "np", "numpy", "dataclass", "fn", "name", "k", "T", "Path"}
HEAD = """\
# The modules of Triton and what `dir` says that they hold, with the versions that have it.
#
# `[module] 3.1..3.4`: the module came with 3.1 and is gone since 3.4; an end that is not written is that of 2.0 to 3.9. Below it, a row for
# each span of versions, within the module's, with the members that have it. Written by `xtask/triton_names.py` from the released wheels; of
# modules other than those of the language only public names that are Triton's own are listed.

"""
ASK = """
import importlib, json, sys
sys.path.insert(0, sys.argv[1])
out = {}
for name in json.loads(sys.argv[2]):
    try:
        out[name] = [n for n in dir(importlib.import_module(name))]
    except BaseException:
        pass
print(json.dumps(out))
"""


def modules(root):
    out = {}
    for folder, _, files in os.walk(os.path.join(root, "triton")):
        package = os.path.relpath(folder, root).replace(os.sep, ".")
        for file in files:
            if file == "__init__.py":
                out[package] = os.path.join(folder, file)
            elif file.endswith(".py"):
                out[f"{package}.{file[:-3]}"] = os.path.join(folder, file)
    return out


def read(name, found, seen=()):
    """The names that a module's statements bind, wherever they stand in it."""
    names = set()
    package = name if found[name].endswith("__init__.py") else name.rpartition(".")[0]

    def block(stmts):
        for stmt in stmts:
            if isinstance(stmt, (ast.FunctionDef, ast.ClassDef)):
                names.add(stmt.name)
            elif isinstance(stmt, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.For)):
                targets = stmt.targets if isinstance(stmt, ast.Assign) else [stmt.target]
                names.update(n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name))
            elif isinstance(stmt, ast.Import):
                names.update(a.asname or a.name.split(".")[0] for a in stmt.names)
            elif isinstance(stmt, ast.ImportFrom):
                above = package.split(".")[: len(package.split(".")) - stmt.level + 1] if stmt.level else []
                base = ".".join(above + ([stmt.module] if stmt.module else []))
                for a in stmt.names:
                    if a.name != "*":
                        names.add(a.asname or a.name)
                    elif base in found and base not in seen:
                        names.update(n for n in read(base, found, seen + (name,)) if not n.startswith("_"))
            for inner in ("body", "orelse", "finalbody"):
                if not isinstance(stmt, (ast.FunctionDef, ast.ClassDef)):
                    block(getattr(stmt, inner, []))
            for handler in getattr(stmt, "handlers", []):
                block(handler.body)

    block(ast.parse(open(found[name]).read()).body)
    return names


def main(folder):
    versions = sorted(os.listdir(folder), key=lambda v: [int(n) for n in v.split(".")])
    short = [".".join(v.split(".")[:2]) for v in versions]
    of_module, of_member = {}, {}
    for at, version in enumerate(versions):
        root = os.path.join(folder, version)
        found = modules(root)
        kept = [m for m in found if KEPT.match(m) and not LEFT_OUT.search(m)]
        told = subprocess.run([sys.executable, "-c", ASK, root, json.dumps(kept)], capture_output=True, text=True).stdout
        told = json.loads(told.splitlines()[-1]) if told else {}
        for module in kept:
            of_module.setdefault(module, set()).add(at)
            names = set(told.get(module) or read(module, found))
            names |= {m[len(module) + 1 :] for m in found if m.startswith(module + ".") and "." not in m[len(module) + 1 :]}
            for name in names:
                is_own = module.startswith("triton.language") or not name.startswith("_") and name not in NOISE
                if is_own and not name.startswith("__"):
                    of_member.setdefault(module, {}).setdefault(name, set()).add(at)

    def span(at):
        first, last = min(at), max(at)
        return (short[first] if first else "", short[last + 1] if last + 1 < len(short) else "")

    def order(ends):
        return tuple(tuple(int(n) for n in end.split(".")) if end else () for end in ends)

    lines = []
    for module in sorted(of_module):
        own = span(of_module[module])
        lines.append(f"[{module}]" + (f" {own[0]}..{own[1]}" if any(own) else ""))
        rows = {}
        for name, at in of_member.get(module, {}).items():
            ends = tuple("" if end == whole else end for end, whole in zip(span(at), own))
            rows.setdefault(ends, []).append(name)
        lines += [f"{ends[0]}..{ends[1]} {' '.join(sorted(rows[ends]))}" for ends in sorted(rows, key=order)]
    with open(NAMES, "w") as out:
        out.write(HEAD + "\n".join(lines) + "\n")


main(sys.argv[1])
