"""`python -m tritium script.py …` and `python -m tritium -m module …`."""

import os
import runpy
import sys

USAGE = """\
usage: python -m tritium SCRIPT [ARGUMENT …]
       python -m tritium -m MODULE [ARGUMENT …]

Runs a Python program as it is; Tritium runs the Triton kernels that it launches on NumPy arrays and CPU tensors, under checks.
Neither a GPU nor Triton is needed.

  TRITIUM=1|sim         what runs kernels: the interpreter, or what the compiler makes of them, lane by lane; where it is set, every
                        Python of this environment begins so, also without `-m tritium`
  TRITIUM_SANITIZE=0    do not look for what is wrong although it runs
  TRITIUM_TRITON=3.6    the version of Triton to stand in for, where none is installed
  TRITIUM_RECORD=1      remember what is launched: editors show kernels with these sizes
  TRITIUM_REPORT=1      at the end, say which kernels were launched

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
    from tritium import launch

    tritium.install()
    # Processes that the program starts do the same: see `tritium.pth`.
    os.environ.setdefault("TRITIUM", "1")
    if launch.is_on("TRITIUM_REPORT", False):
        import atexit

        atexit.register(lambda: [print(row, file=sys.stderr) for row in tritium.report()])
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
