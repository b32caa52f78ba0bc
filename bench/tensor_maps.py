"""Tensor maps for kernels that read blocks of tensors: what a launch passes behind the kernel's own parameters.

`tritium emit --stage ptx` writes a line for each: `// tensor map: base A, extents K M, strides lda, box 64 128, 2 bytes, swizzle 128`. Axes count
from the contiguous one, extents and strides are in elements, and a word is a parameter's name or a number.
"""

import ctypes
import re

LINE = re.compile(r"^// tensor map: (.*)$", re.M)
PARTS = re.compile(r"base (\S+), extents (.*), strides (.*), box (.*), (\d+) bytes, swizzle (\d+)")


def lines(ptx):
    return LINE.findall(ptx)


def encode(cuda, line, values, nothing=None):
    """The map of one line: (what must stay alive, address of its 128 bytes). `values` has the parameters by name, a pointer as its address;
    `nothing` is the address of 16 zero bytes, at which an empty tensor is read."""
    base, extents, strides, box, element, swizzle = PARTS.fullmatch(line).groups()
    number = lambda word: int(word) if re.fullmatch(r"-?\d+", word) else int(values[word])
    address, element = number(base), int(element)
    extents, strides, box = [number(w) for w in extents.split()], [number(w) * element for w in strides.split()], [int(w) for w in box.split()]
    if min(extents) <= 0:
        if nothing is None:
            raise ValueError(f"an empty tensor: {line}")
        address, extents = nothing, [1] * len(extents)
    rank = len(extents)
    holder = ctypes.create_string_buffer(128 + 64)
    place = -(-ctypes.addressof(holder) // 64) * 64
    uints = lambda numbers: (ctypes.c_uint32 * len(numbers))(*numbers)
    longs = lambda numbers: (ctypes.c_uint64 * max(len(numbers), 1))(*numbers)
    kind = {1: 0, 2: 1, 4: 2}[element]
    mode = {0: 0, 32: 1, 64: 2, 128: 3}[int(swizzle)]
    result = cuda.cuTensorMapEncodeTiled(
        ctypes.c_void_p(place), kind, rank, ctypes.c_void_p(address), longs(extents), longs(strides), uints(box), uints([1] * rank), 0, mode, 2, 0
    )
    if result != 0:
        raise RuntimeError(f"the driver makes no tensor map ({result}) of {line} with {extents} {strides}")
    return holder, place
