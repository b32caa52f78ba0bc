"""The text of a kernel and what its names mean, read off the living function.

A kernel is compiled from a module that is written here: the function's own text, and before it one line for each name that the function takes
from outside, bound to what Python holds under that name now. So generated sources, notebook cells, functions inside functions and names
that only a run decides compile as they are. Other `@triton.jit` functions are modules of their own, which import each other.
"""

import ast
import dataclasses
import enum
import inspect
import itertools
import re
import sys
import textwrap
import types
import weakref

from tritium import symbols

#: What has no value.
MISSING = object()

#: A constant may be a table, but not a data set.
MAX_ITEMS = 4096


@dataclasses.dataclass(eq=False)
class Source:
    """A function as a module."""

    module: str
    name: str
    file: str
    #: Line of `def` in the file.
    line: int
    #: Line of `def` in the module's text.
    line_in_text: int = 1
    text: str = ""
    #: What the text is made of and may change: where a value lies, under which name, and the value.
    captured: list = dataclasses.field(default_factory=list)
    #: Functions that it imports.
    others: list = dataclasses.field(default_factory=list)

    def place(self, line):
        """The line of the file for a line of the text."""
        return self.line + line - self.line_in_text

    def is_fresh(self, seen=None):
        """Whether everything that it is made of is what it was."""
        seen = set() if seen is None else seen
        if id(self) in seen:
            return True
        seen.add(id(self))
        return all(value_in(where, name) is value for where, name, value in self.captured) and all(
            other.is_fresh(seen) for other in self.others
        )


class Stale(Exception):
    """Something that a text was made of has changed."""


class Sources:
    """The functions of a process. `add` is told the name and text of every module that is written, `clear` that none of them counts any more."""

    def __init__(self, add, clear):
        self.add = add
        self.clear = clear
        self.known = {}
        self.by_module = {}
        self.numbers = itertools.count()

    def of(self, function, others=()):
        """The source of a `@triton.jit` function as it is now, once all that are launched with it are as they are now."""
        try:
            for other in others:
                self.inner(other)
            return self.inner(function)
        except Stale:
            # It is rare that a program changes what kernels read, and other texts may hang on the same.
            self.known.clear()
            self.by_module.clear()
            self.clear()
            return self.inner(function)

    def inner(self, function):
        """The same while a text is written that may stand on others."""
        known, source = self.known.get(id(function), (None, None))
        if known is None or known() is not function:
            return self._read(function)
        if not source.is_fresh():
            raise Stale
        return source

    def _read(self, function):
        python = function.fn
        text, file, line, column = written(function)
        source = Source(f"live_{next(self.numbers)}", python.__name__, file, line)
        # Known before it is read: functions may name each other.
        self.known[id(function)] = (weakref.ref(function), source)
        self.by_module[source.module] = source
        writer = _Writer(self, source)
        tree = ast.parse(text)
        for name, chains in uses(tree).items():
            where, value = lookup(python, name)
            if value is not MISSING:
                writer.bind(name, value, chains, where)
        decorator = "constexpr_function" if symbols.is_constexpr_function(function) else "jit"
        given = [
            f"{option}={list(value)!r}"
            for option in ("do_not_specialize", "do_not_specialize_on_alignment")
            if (value := getattr(function, option, None))
        ]
        if getattr(function, "noinline", None):
            given.append("noinline=True")
        head = f"@_triton.{decorator}({', '.join(given)})" if given else f"@_triton.{decorator}"
        must_use = getattr(function, "_must_use_result", False)
        used = [f"@_triton.must_use_result({must_use!r})" if isinstance(must_use, str) else "@_triton.must_use_result"] if must_use else []
        lines = ["import triton as _triton", *writer.lines, *used, head]
        source.line_in_text = len(lines) + 1
        source.text = "\n".join(lines) + "\n" + text
        self.add(source.module, source.text, (file, line - source.line_in_text, column))
        return source


class _Writer:
    """The lines of a module that bind names to what Python holds."""

    def __init__(self, sources, source):
        self.sources = sources
        self.source = source
        self.lines = []

    def bind(self, name, value, chains, where):
        """Writes a line for a name. `chains`: the attributes that are asked of it, as tuples of names."""
        if symbols.is_constexpr(value):
            held = literal(value.value)
            path = symbols.path(value.value) if held is None else None
            if path is not None:
                held = f"_of_{name}"
                self._import(path, held)
            if held is None:
                self.lines.append(f"{name} = object()")
                return
            self.lines.append(f"{name} = _triton.language.constexpr({held})")
            self.source.captured.append((where, name, value))
            return
        path = symbols.path(value)
        if path is not None:
            self._import(path, name)
        elif symbols.is_jit(value) or symbols.is_constexpr_function(value):
            other = self.sources.inner(value)
            self.source.others.append(other)
            self.lines.append(f"from {other.module} import {other.name} as {name}")
            self.source.captured.append((where, name, value))
        elif (text := literal(value)) is not None:
            self.lines.append(f"{name} = {text}")
            self.source.captured.append((where, name, value))
        elif isinstance(value, types.ModuleType):
            self.lines.append(f"import {self._namespace(value, chains)} as {name}")
        elif isinstance(value, type):
            self.lines += _class(name, value)
        elif inspect.isfunction(value):
            self.lines.append(f"def {name}(*args, **options): ...")
        else:
            self.lines.append(f"{name} = object()")

    def _import(self, path, name):
        module, _, member = path.rpartition(".")
        if symbols.is_module(path) or not module:
            self.lines.append(f"import {path} as {name}")
        else:
            self.lines.append(f"from {module} import {member} as {name}")

    def _namespace(self, owner, chains):
        """A module with those attributes of another that somebody asks for."""
        module = f"live_{next(self.sources.numbers)}"
        inside = _Writer(self.sources, self.source)
        firsts = {}
        for first, *rest in filter(None, chains):
            firsts.setdefault(first, set()).add(tuple(rest))
        for name, rest in firsts.items():
            value = value_in(owner, name)
            if value is not MISSING:
                inside.bind(name, value, rest, owner)
        self.sources.add(module, "\n".join(["import triton as _triton", *inside.lines, ""]))
        return module


def _class(name, value):
    """A class as kernels know it: of a named tuple they may make one, of others nothing."""
    fields = getattr(value, "_fields", None)
    if issubclass(value, tuple) and fields:
        return ["import typing as _typing", f"class {name}(_typing.NamedTuple):", *(f"    {field}: object" for field in fields)]
    return [f"class {name}:", "    pass"]


def place(function):
    """File and line of a function's `def`; where its text is not to be found, what its code says."""
    try:
        return written(function)[1:3]
    except (OSError, TypeError):
        code = function.fn.__code__
        return code.co_filename, code.co_firstlineno


def written(function):
    """The text of a function from its `def` on, dedented; its file; the line of `def` there, and how far it is indented."""
    python = function.fn
    file = inspect.getsourcefile(python) or python.__code__.co_filename
    lines, line = inspect.getsourcelines(python)
    before = list(itertools.takewhile(lambda text: not re.match(r"\s*(async\s+)?def\s", text), lines))
    own = textwrap.dedent("".join(lines[len(before) :]))
    head = "".join(lines[len(before) : len(before) + 1])
    # A program may have changed the text of a function of Triton's.
    text = getattr(function, "src", None) or own
    return text, file, line + len(before), len(head) - len(head.lstrip())


def uses(tree):
    """The names that a function's text takes from outside, each with the chains of attributes that are asked of it."""
    function = tree.body[0]
    local = {arg.arg for node in ast.walk(function) if isinstance(node, ast.arguments) for arg in _arguments(node)}
    local |= {node.id for node in ast.walk(function) if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)}
    found = {}

    def visit(node):
        chain = []
        at = node
        while isinstance(at, ast.Attribute):
            chain.append(at.attr)
            at = at.value
        if isinstance(at, ast.Name):
            if at.id not in local:
                found.setdefault(at.id, set()).add(tuple(reversed(chain)))
            return
        if chain:
            visit(at)
            return
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return
        for child in ast.iter_child_nodes(node):
            visit(child)

    visit(function)
    # Annotations may be strings.
    for node in ast.walk(function):
        if isinstance(node, ast.arg) and isinstance(node.annotation, ast.Constant) and isinstance(node.annotation.value, str):
            try:
                visit(ast.parse(node.annotation.value, mode="eval").body)
            except SyntaxError:
                pass
    return found


def _arguments(node):
    yield from (*node.posonlyargs, *node.args, *node.kwonlyargs)
    yield from filter(None, (node.vararg, node.kwarg))


def lookup(python, name):
    """What a name of a function means: the place that holds it, and the value."""
    free = python.__code__.co_freevars
    if name in free:
        cell = python.__closure__[free.index(name)]
        return cell, value_in(cell, name)
    return python.__globals__, value_in(python.__globals__, name)


def value_in(where, name):
    """What a cell, a dictionary or an object has under a name."""
    try:
        if isinstance(where, types.CellType):
            return where.cell_contents
        if isinstance(where, dict):
            return where[name]
        return getattr(where, name)
    except (AttributeError, KeyError, ValueError):
        return MISSING


def literal(value):
    """Python's text of a plain value, or `None`."""
    if isinstance(value, enum.Enum):
        return literal(value.value) if isinstance(value, (int, str, float)) else None
    if value is None or isinstance(value, (bool, str)):
        return repr(value)
    if isinstance(value, int):
        return repr(int(value))
    if isinstance(value, float):
        text = repr(float(value))
        return f'float("{text}")' if text in ("inf", "-inf", "nan") else text
    if type(value) in (tuple, list) and len(value) <= MAX_ITEMS:
        items = [literal(item) for item in value]
        if all(item is not None for item in items):
            inside = ", ".join(items)
            return f"[{inside}]" if type(value) is list else f"({inside},)" if len(items) == 1 else f"({inside})"
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, numpy.generic) and value.ndim == 0:
        return literal(value.item())
    return None
