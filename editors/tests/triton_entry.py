#!/usr/bin/env python3
"""Has Triton itself compile a kernel, without a GPU, so that its cache has an entry as Triton writes it.

    TRITON_CACHE_DIR=CACHE triton_entry.py FILE KERNEL SM SIGNATURE CONSTEXPRS      (SIGNATURE and CONSTEXPRS are JSON objects)

The Python that runs this has Triton. **Fails where no machine code came out.**
"""
import importlib.util
import json
import sys


def main():
    path, kernel, sm, signature, constexprs = sys.argv[1:]
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    spec = importlib.util.spec_from_file_location("kernels", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    constants = json.loads(constexprs)
    types = {**json.loads(signature), **{name: "constexpr" for name in constants}}
    compiled = triton.compile(ASTSource(getattr(module, kernel), types, constants), target=GPUTarget("cuda", int(sm), 32), options={"num_warps": 4})
    assert len(compiled.asm["cubin"]) > 0, "no machine code"


if __name__ == "__main__":
    main()
