"""What a launch that goes wrong raises."""

import linecache


class KernelError(Exception):
    """Something is wrong with a kernel or a launch of it.

    `kernel`, `file` and `line` say where; `line` counts from 1 and is `None` where no line of the kernel is to blame.
    """

    def __init__(self, message, *, kernel=None, file=None, line=None):
        self.message = message
        self.kernel = kernel
        self.file = file
        self.line = line
        super().__init__(_spelled(message, kernel, file, line))


class CompilationError(KernelError):
    """The kernel does not compile: Triton would refuse it, or not all of it is understood. `problems` has all that was found."""

    problems = ()


class LaunchError(KernelError):
    """The launch could not be made, or did not run to its end."""


class Finding(KernelError):
    """A mistake that a launch shows. What is said is about the first element that has it.

    `code` is that of `tritium explain`; `program` the program's place in the grid; `tensor` and `index` the argument's name and the element in it;
    `tile_index` the place in the tile; `programs` and `elements` count all that have it; `findings` is everything that the launch shows.
    """

    def __init__(self, message, *, kernel, file, line, found):
        super().__init__(message, kernel=kernel, file=file, line=line)
        self.code = found["code"]
        self.program = tuple(found["program"])
        self.tensor = found["tensor"]
        self.index = tuple(found["index"])
        self.tile_index = tuple(found["tile_index"])
        self.programs = found["programs"]
        self.elements = found["elements"]
        self.findings = [self]


class OutOfBoundsError(Finding, IndexError):
    """An access outside of its tensor."""


class MisalignedError(Finding):
    """An access whose address is no multiple of its size."""


class UndefinedValueError(Finding, ValueError):
    """A value that a mask has left undefined decides something."""


class RaceError(Finding):
    """Two programs, or two warps of one, touch an element, one of them writes, and nothing orders them."""


class UninitializedError(Finding, ValueError):
    """A value that nobody has written decides something."""


class IntegerWrapError(Finding, OverflowError):
    """An integer wraps on its way to an address."""


class NotFiniteError(Finding, ArithmeticError):
    """The operation where a NaN or an infinity begins."""


class DivisionByZeroError(Finding, ZeroDivisionError):
    """An integer is divided by 0."""


class KernelAssertionError(Finding, AssertionError):
    """A `tl.device_assert` fails."""


class KernelWarning(UserWarning):
    """Something about a launch that may be meant."""


FINDINGS = {
    "SAN001": OutOfBoundsError,
    "SAN002": MisalignedError,
    "SAN003": UndefinedValueError,
    "SAN004": RaceError,
    "SAN005": UninitializedError,
    "SAN007": IntegerWrapError,
    "SAN008": NotFiniteError,
    "SAN009": DivisionByZeroError,
    "SAN010": KernelAssertionError,
    "SAN011": UndefinedValueError,
    "SAN012": RaceError,
}


def _spelled(message, kernel, file, line):
    if file is None or line is None:
        return message if kernel is None else f"{kernel}: {message}"
    written = linecache.getline(file, line).strip()
    place = f"{file}:{line}: {message}"
    return f"{place}\n    {written}" if written else place
