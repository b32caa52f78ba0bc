"""What of Triton's language a Python object is, whether Triton is installed or stood in for."""

import sys
import types

from tritium import _tritium, standin

#: Modules that kernels may name, and that are known by their own names.
LIBRARIES = ("torch", "math", "numpy")


def triton_module(name):
    """A module of the installed Triton that was imported, or `None`."""
    found = sys.modules.get(name)
    return None if found is None or getattr(found, "__tritium__", False) else found


def is_jit(value):
    return isinstance(value, (standin.JITFunction, *_classes("triton.runtime.jit", "JITFunction")))


def is_constexpr_function(value):
    return isinstance(value, (standin.ConstexprFunction, *_classes("triton.runtime.jit", "ConstexprFunction")))


def is_constexpr(value):
    return isinstance(value, (standin.constexpr, *_classes("triton.language.core", "constexpr")))


def _classes(module, name):
    found = getattr(triton_module(module), name, None)
    return () if found is None else (found,)


def is_module(path):
    """Whether a path is a module's."""
    return path.split(".")[0] in LIBRARIES and "." not in path or path == "triton" or _tritium.is_module(path)


def path(value):
    """The full name of a module, a type or a function that kernels know by name: `triton.language.float16`, `math`; else `None`."""
    if isinstance(value, standin.Symbol):
        return value.path
    if isinstance(value, types.ModuleType):
        name = value.__name__
        if name == "tritium" or name.startswith("tritium."):
            name = getattr(value, "__triton_path__", "triton")
        # Libraries have modules with kernels of their own, such as `torch._inductor.runtime.triton_helpers`.
        return name if name.split(".")[0] == "triton" or name in LIBRARIES else None
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.dtype):
        return str(value)
    language = triton_module("triton.language")
    if language is None:
        return None
    known = _names(language).get(id(value))
    if known is not None:
        return known
    # `tl.float16` may be a copy of the one that the language has.
    if isinstance(value, language.dtype):
        known = getattr(language, getattr(value, "name", ""), None) or next(
            (own for own in vars(language).values() if isinstance(own, language.dtype) and own == value), None
        )
        return _names(language).get(id(known))
    of = getattr(value, "fn", value)
    module, name = getattr(of, "__module__", None) or "", getattr(of, "__name__", None)
    if module.split(".")[0] == "triton" and name and getattr(sys.modules.get(module), name, None) is value:
        return f"{module}.{name}"
    return None


_known = {}


def _names(language):
    """By the identity of an object, its shortest name."""
    if not _known:
        for module in ("triton.language", "triton.language.math", "triton"):
            for name, value in vars(sys.modules.get(module, types.ModuleType(module))).items():
                if not name.startswith("_") and not isinstance(value, (types.ModuleType, int, float, str, bool, type(None))):
                    _known.setdefault(id(value), f"{module}.{name}")
    return _known
