"""Which kernels of this process have run, and by whom."""

import dataclasses


@dataclasses.dataclass
class Kernel:
    """One kernel: how often who ran it, and why not Tritium where it did not."""

    name: str
    file: str
    line: int
    launches: int = 0
    #: `cpu` or `sim` (Tritium), or `triton`.
    device: str = "cpu"
    #: Why Tritium has refused it.
    refused: str | None = None

    def __str__(self):
        times = "1 launch" if self.launches == 1 else f"{self.launches} launches"
        refused = f"; refused: {self.refused}" if self.refused else ""
        return f"{self.name} ({self.file}:{self.line}): {times} on {self.device}{refused}"


_kernels: dict[tuple[str, str, int, str], Kernel] = {}


def of(name, file, line, device):
    """The row of a kernel."""
    return _kernels.setdefault((name, file, line, device), Kernel(name, file, line, device=device))


def report():
    """The kernels that were launched since the process began, in the order of their first launches."""
    return list(_kernels.values())
