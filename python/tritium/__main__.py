"""`python -m tritium script.py …` and `python -m tritium -m module …`."""

import os
import runpy
import sys

USAGE = """\
usage: python -m tritium SCRIPT [ARGUMENT …]
       python -m tritium -m MODULE [ARGUMENT …]

Runs a Python program as it is. On a GPU Tritium compiles the Triton kernels that it launches, and Triton those that Tritium cannot;
launches on NumPy arrays and CPU tensors run on the CPU, under checks, where neither a GPU nor Triton is needed.

  TRITIUM=1             as above; where it is set, every Python of this environment begins so, also without `-m tritium`
  TRITIUM=cpu|sim       all on the CPU: in the interpreter, or what the compiler makes of it, lane by lane
  TRITIUM=verify        the first launch of each specialisation is run by both compilers' code and compared; Triton's results count
  TRITIUM=bench         and both are timed
  TRITIUM_FALLBACK=error  refuse what Tritium cannot compile
  TRITIUM_SANITIZE=0    on the CPU, do not look for what is wrong although it runs
  TRITIUM_TRITON=3.6    the version of Triton to stand in for, where none is installed
  TRITIUM_RECORD=1      remember what is launched: editors show kernels with these sizes
  TRITIUM_REPORT=1      at the end, say who compiled which kernels; a name that ends with .json or .csv is a file to write

`tritium` is the program that checks, compiles and measures files: `tritium help`.
"""


def main():
    arguments = sys.argv[1:]
    if not arguments or arguments[0] in ("-h", "--help"):
        print(USAGE, end="", file=sys.stdout if arguments else sys.stderr)
        return 0 if arguments else 2
    is_module = arguments[0] == "-m"
    if is_module and len(arguments) == 1:
        print("tritium: -m wants the name of a module", file=sys.stderr)
        return 2
    if not is_module and not os.path.exists(arguments[0]):
        print(f"tritium: {arguments[0]}: no such file", file=sys.stderr)
        return 2

    import tritium

    tritium.install()
    # Processes that the program starts do the same: see `tritium.pth`.
    os.environ.setdefault("TRITIUM", "1")
    if is_module:
        # As `python -m` has it: the current folder comes first.
        sys.path.insert(0, os.getcwd())
        sys.argv = arguments[1:]
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    else:
        sys.path.insert(0, os.path.dirname(os.path.abspath(arguments[0])))
        sys.argv = arguments
        runpy.run_path(arguments[0], run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main())
