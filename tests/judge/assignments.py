#!/usr/bin/env python3
"""Records what Triton's own front end makes of every assignment of a kernel: the judge of `cargo xtask accuracy types`.

    assignments.py LANGUAGE_FOLDER CORPORA_FOLDER OUT.tsv

LANGUAGE_FOLDER holds `corpus_ttir.tsv` and `oracle.py`; the Python that runs this has the Triton to be asked. Every row that it accepts is
compiled to IR once more with a hook on assignments; one line a row comes out: file, function, and `line name type` of every assignment in
the order of the text, the type being that of its last visit. **Types are spelled as Tritium spells them; nothing but names and types is
recorded.** The record is compressed, OUT.tsv.gz.
"""
import ast
import csv
import importlib.abc
import importlib.machinery
import importlib.util
import json
import linecache
import multiprocessing
import os
import sys

import records

csv.field_size_limit(1 << 24)


def spell_dtype(dtype):
    names = {"fp16": "f16", "fp32": "f32", "fp64": "f64", "int1": "i1", "fp8e4nv": "f8e4m3", "fp8e5": "f8e5m2"}
    name = dtype.name
    if name in names:
        return names[name]
    return name.replace("uint", "u") if name.startswith("uint") else name.replace("int", "i") if name.startswith("int") else name


def spell_element(ty):
    if ty.is_ptr():
        return "*" + spell_type(ty.element_ty)
    return spell_dtype(ty)


def spell_type(ty):
    if ty.is_block():
        return f"{spell_element(ty.element_ty)}[{', '.join(str(int(d)) for d in ty.shape)}]"
    return spell_element(ty)


def spell_constant(value, core):
    if isinstance(value, core.constexpr):
        return spell_constant(value.value, core)
    if isinstance(value, (tuple, list, core.tuple)):
        items = [spell_constant(v, core) for v in value]
        return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"
    if isinstance(value, core.dtype):
        return spell_type(value)
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if value is None or isinstance(value, (bool, int)):
        return str(value)
    return "<function>" if hasattr(value, "fn") or callable(value) else type(value).__name__


def spell(value, core):
    """The type of what a name is bound to."""
    if isinstance(value, core.constexpr) and isinstance(value.value, core.base_value):
        # `x: tl.constexpr = …` of a run-time value.
        return spell(value.value, core)
    if isinstance(value, core.tensor):
        ty = value.type
        if ty.is_ptr() and ty.element_ty.is_block():
            return f"block_ptr<{spell_type(ty.element_ty)}>"
        return spell_type(ty)
    if isinstance(value, core.tuple):
        items = [spell(v, core) for v in value]
        return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"
    if isinstance(value, core.tensor_descriptor_base):
        return f"tensordesc<{spell_type(value.block_type)}>"
    if isinstance(value, core.base_value) and not isinstance(value, core.constexpr):
        return type(value).__name__
    return f"constexpr[{spell_constant(value, core)}]"


class Recorder:
    """Hooks the code generator; `seen` maps (line, column, name) to the type of the last visit."""

    def __init__(self):
        from triton.compiler import code_generator as generator
        from triton.language import core
        self.core, self.seen, self.wanted = core, {}, None
        recorder, cls = self, generator.CodeGenerator
        assign_target, visit_ann_assign, set_value = cls.assignTarget, cls.visit_AnnAssign, cls.set_value

        def record(self, node, value):
            if self.jit_fn is recorder.wanted and hasattr(node, "lineno"):
                recorder.seen[(self.begin_line + node.lineno, node.col_offset, node.id)] = spell(value, core)

        def hooked_target(self, target, value):
            assign_target(self, target, value)
            if isinstance(target, ast.Name):
                record(self, target, value)

        def hooked_annotation(self, node):
            result = visit_ann_assign(self, node)
            if isinstance(result, core.constexpr) and isinstance(node.target, ast.Name) and not self.visiting_arg_default_value:
                record(self, node.target, result)
            return result

        def hooked_value(self, name, value):
            set_value(self, name, value)
            caller = sys._getframe(1)
            if caller.f_code.co_name == "visit_For" and name == caller.f_locals["node"].target.id:
                record(self, caller.f_locals["node"].target, value)

        cls.assignTarget, cls.visit_AnnAssign, cls.set_value = hooked_target, hooked_annotation, hooked_value


class Neighbours(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Modules of the row's own package: loaded statement by statement, as the judge loads the row's file, so that what needs a device or
    another package does not hide the kernels beside it. A package's `__init__` runs only when a name of it is asked for."""

    def __init__(self, root, stub):
        self.root, self.stub = root, stub

    def find_spec(self, name, path=None, target=None):
        base = os.path.join(self.root, *name.split("."))
        init, leaf = os.path.join(base, "__init__.py"), base + ".py"
        if os.path.isfile(leaf) or os.path.isdir(base):
            file = leaf if os.path.isfile(leaf) else init
            spec = importlib.machinery.ModuleSpec(name, self, origin=file, is_package=file is init)
            if file is init:
                spec.submodule_search_locations = [base]
            return spec
        return None

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        file = module.__spec__.origin
        if module.__spec__.submodule_search_locations is None:
            module.__file__ = file
            self.run(module, file)

            def stubbed(name):
                if name.startswith("__"):
                    raise AttributeError(name)
                return self.stub(f"{module.__name__}.{name}")

            module.__getattr__ = stubbed
            return
        state = {"ran": False}

        def lazily(name):
            if name.startswith("__"):
                raise AttributeError(name)
            if not state["ran"] and os.path.isfile(file):
                state["ran"] = True
                self.run(module, file)
                if name in module.__dict__:
                    return module.__dict__[name]
            if self.find_spec(f"{module.__name__}.{name}"):
                return importlib.import_module(f"{module.__name__}.{name}")
            return self.stub(f"{module.__name__}.{name}")

        module.__getattr__ = lazily

    @staticmethod
    def run(module, file):
        with open(file, encoding="utf8") as source:
            text = source.read()
        linecache.getlines(file)
        for statement in ast.parse(text).body:
            try:
                exec(compile(ast.Module([statement], []), file, "exec"), module.__dict__)
            except BaseException:
                pass


# The table writes an element type among the compile-time values as Triton prints it.
DTYPES = {"fp16": "tl.float16", "bf16": "tl.bfloat16", "fp32": "tl.float32", "fp64": "tl.float64", "int8": "tl.int8", "int32": "tl.int32"}


def prepare(language, corpora, path, before=lambda oracle: None):
    """The judge and the module of a file, loaded beside its own package's modules."""
    os.chdir(corpora)
    spec = importlib.util.spec_from_file_location("oracle", os.path.join(language, "oracle.py"))
    oracle = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(oracle)
    # What a package does to the modules that it is given must not reach the compiler's own first steps.
    from triton.backends.nvidia.compiler import get_ptxas_version
    from triton.runtime.cache import triton_key
    from triton.runtime.driver import driver
    from triton.backends.compiler import GPUTarget
    triton_key()
    get_ptxas_version(90)
    sys.meta_path.insert(0, Neighbours(os.path.join(corpora, path.split("/")[0]), oracle._Stub))
    sys.meta_path.append(oracle._StubFinder())
    driver.set_active(oracle._FakeDriver(GPUTarget("cuda", 90, 32)))

    class AnyMember(type):

        def __getattr__(cls, name):
            if name.startswith("__"):
                raise AttributeError(name)
            return oracle._Stub(name)

    # `class F(torch.autograd.Function)` has an `apply`.
    oracle._Stub.__mro_entries__ = lambda self, bases: (AnyMember("Base", (), {}), )
    before(oracle)
    return oracle, oracle.load_module(path)[0]


def one(job):
    """The rows of one file, in a process of their own."""
    language, corpora, path, rows = job
    recorder = None

    def record(oracle):
        nonlocal recorder
        recorder = Recorder()
        build = oracle.build_source

        def build_and_remember(fn, *rest):
            recorder.wanted = fn
            recorder.seen.clear()
            return build(fn, *rest)

        oracle.build_source = build_and_remember

    oracle, module = prepare(language, corpora, path, record)
    answers = []
    for row in rows:
        constants = {name: DTYPES.get(v, v) if isinstance(v, str) else v for name, v in json.loads(row["constexprs"]).items()}
        result = oracle.run(path, row["function"], json.loads(row["signature"]), constants, ttir_only=True, mod=module)
        if result["error"] is not None or result["stage"] not in ("ttir", "done"):
            answers.append((row, None, (result["error"] or result["stage"])[-400:]))
        else:
            seen = [f"{line} {name} {ty}" for (line, _, name), ty in sorted(recorder.seen.items())]
            answers.append((row, seen, None))
    return answers


def main():
    language, corpora, out = (os.path.abspath(p) for p in sys.argv[1:4])
    with open(os.path.join(language, "corpus_ttir.tsv"), newline="") as table:
        rows = [r for r in csv.DictReader(table, delimiter="\t") if r["verdict_3.6"] == "ok"]
    files = {}
    for row in rows:
        if os.path.exists(os.path.join(corpora, row["path"])):
            files.setdefault(row["path"], []).append(row)
    jobs = [(language, corpora, path, rows) for path, rows in files.items()]
    print(f"{sum(map(len, files.values()))} of {len(rows)} rows have their file", file=sys.stderr)
    failed = 0
    with multiprocessing.Pool(int(os.environ.get("JOBS", "2")), maxtasksperchild=1) as pool, open(out, "w") as file:
        for row, seen, error in (answer for answers in pool.imap(one, jobs, chunksize=1) for answer in answers):
            if seen is None:
                failed += 1
                print(f"{row['path']} {row['function']}: {error}", file=sys.stderr)
            else:
                print(row["path"], row["function"], "; ".join(seen), sep="\t", file=file, flush=True)
    records.pack(out)
    print(f"{failed} failed", file=sys.stderr)


if __name__ == "__main__":
    main()
