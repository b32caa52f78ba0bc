"""Every way to define a kernel. Each has one mistake, at the line that says so; what cannot be checked says that it is not."""

import functools
from contextlib import nullcontext

import torch
import triton
import triton as tri
import triton.language as tl
from triton import autotune as tuned, jit
from triton.experimental import gluon

compiled = triton.jit
lazily = functools.partial(triton.jit, noinline=True)


def checked(function):
    return triton.jit(function)


def with_options(**options):
    def decorate(function):
        return triton.jit(function, **options)

    return decorate


@triton.jit
def plain(out):
    tl.store(out, missing)  # mistake


@jit
def imported(out):
    tl.store(out, missing)  # mistake


@tri.jit(do_not_specialize=["n"])
def renamed(out, n):
    tl.store(out + n, missing)  # mistake


@compiled
def alias(out):
    tl.store(out, missing)  # mistake


@lazily
def partial_of_a_name(out):
    tl.store(out, missing)  # mistake


@functools.partial(triton.jit, debug=True)
def partial_here(out):
    tl.store(out, missing)  # mistake


@checked
def wrapped(out):
    tl.store(out, missing)  # mistake


@with_options(debug=True)
def wrapped_with_options(out):
    tl.store(out, missing)  # mistake


@tuned(configs=[triton.Config({"N": 16})], key=[])
@triton.heuristics({"M": lambda given: given["N"] * 2})
@torch.compiler.disable
@triton.jit
def stacked(out, N: tl.constexpr, M: tl.constexpr):
    tl.store(out + N + M, missing)  # mistake


def later(out):
    tl.store(out, missing)  # mistake


launched_later = triton.jit(later)

if torch.cuda.is_available():

    @triton.jit
    def under_a_condition(out):
        tl.store(out, missing)  # mistake


try:

    @triton.jit
    def tried(out):
        tl.store(out, missing)  # mistake

except ImportError:
    tried = None

with nullcontext():

    @triton.jit
    def in_a_context(out):
        tl.store(out, missing)  # mistake


for repeated in range(2):

    @triton.jit
    def in_a_loop(out):
        tl.store(out, missing)  # mistake


class Holder:
    @triton.jit
    def member(out):
        tl.store(out, missing)  # mistake

    @staticmethod
    @triton.jit
    def static(out):
        tl.store(out, missing)  # mistake

    def method(self, out):
        @triton.jit
        def in_a_method(out):
            tl.store(out, missing)  # mistake

        in_a_method[(1,)](out)


def test_something():
    @triton.jit
    def in_a_test(out):
        tl.store(out, missing)  # mistake

    in_a_test[(1,)](torch.empty(1, device="cuda"))


def factory(operation, WIDTH):
    SCALE = tl.constexpr(2)

    def inner():
        @triton.jit
        def in_a_closure(out):
            operation(out)
            tl.store(out + tl.arange(0, WIDTH), SCALE)
            tl.store(out, missing)  # mistake

        return in_a_closure

    def undecorated(out):
        tl.store(out, missing)  # mistake

    return inner(), triton.jit(undecorated)


@gluon.jit
def layouts(out):
    pass


FROM_TEXT = """
@triton.jit
def in_a_string(out):
    tl.store(out, 1)
"""
exec(FROM_TEXT)
exec("@triton.jit\ndef in_a_line(out): pass")


def made(name):
    exec(f"@triton.jit\ndef {name}(out): pass")
    return triton.jit(lambda out: tl.store(out, 1))
