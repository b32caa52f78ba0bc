"""Cycles that one warp takes through machine code, by the bits that ptxas schedules it with, for comparing two codes of one kernel.

    python3 bench/issue.py FILE.cubin …

`nvdisasm` must be in the path. Each file's line says registers, instructions, cycles outside loops, and of the second trip of each innermost loop.
`--stalls N` tells where the warp waits longest, and for what.

An estimate: instructions issue as their stall counts and barriers say (bits 105 to 121 of an instruction, as Jia et al. found them on Volta, arXiv:1804.06826), a unit takes
the next instruction of the warp when it is free (`UNITS`), and what sets a barrier takes a latency (`LATENCIES`, an idle H200's, about). Other warps, bank conflicts, caches
and the width of accesses are not in it, nor is which way a branch goes: each instruction counts once.
"""

import argparse
import re
import subprocess

#: Cycles until a barrier that an instruction sets is released, by how its name begins; first match.
LATENCIES = {
    "LDGSTS": 600, "LDG": 600, "LD.": 600, "ATOM": 700, "RED": 50, "STG": 30, "LDL": 40, "STL": 30, "LDS": 30, "LDSM": 33, "STS": 20, "STSM": 20,
    "SHFL": 24, "MUFU": 23, "LDC": 40, "ULDC": 12, "S2R": 30, "S2UR": 30, "I2F": 20, "F2I": 20, "F2F": 20, "DADD": 40, "DMUL": 40, "DFMA": 40,
    "HMMA": 33, "HGMMA": 128, "R2UR": 12, "VOTE": 12, "BAR": 30, "POPC": 20, "FLO": 20, "BREV": 20, "CCTL": 30, "SYNCS": 30, "UTMALDG": 700,
}  # fmt: skip
OTHER_LATENCY = 20
#: The same until registers that it reads may be written.
OPERANDS_READ = 12
#: Cycles for which an instruction of a warp keeps its unit from the next one.
UNITS = {"MUFU": 8, "SHFL": 2, "LDS": 2, "LDSM": 4, "STS": 2, "LDG": 4, "STG": 4, "HMMA": 16, "I2F": 8, "F2I": 8, "F2F": 8, "POPC": 8, "FLO": 8}
LINE = re.compile(r"/\*[0-9a-f]{4,5}\*/\s+(.*?);\s+/\* 0x[0-9a-f]{16} \*/")
SECOND = re.compile(r"^\s+/\* 0x([0-9a-f]{16}) \*/")
LABEL = re.compile(r"^(\.L_x_\d+):")


class Instruction:
    def __init__(self, text, high):
        self.text = " ".join(text.split())
        # `@!P0 LDG.E.128 R4, …`
        self.name = next(word for word in self.text.split() if not word.startswith("@"))
        control = high >> 41
        self.stall, self.sets, self.sets_read, self.waits = control & 15, control >> 5 & 7, control >> 8 & 7, control >> 11 & 63

    def of(self, table, otherwise):
        return next((value for name, value in table.items() if self.name.startswith(name)), otherwise)


def disassembled(path):
    return subprocess.run(["nvdisasm", "-hex", "-c", path], capture_output=True, text=True, check=True).stdout


def read(text):
    """The instructions of a disassembled kernel, and its loops as pairs of indices, ends included."""
    instructions, labels, first = [], {}, None
    for line in text.splitlines():
        if label := LABEL.match(line):
            labels[label[1]] = len(instructions)
        elif found := LINE.search(line):
            first = found
        elif first and (second := SECOND.match(line)):
            instructions.append(Instruction(first[1], int(second[1], 16)))
            first = None
    loops = {}
    for index, instruction in enumerate(instructions):
        target = re.search(r"\.L_x_\d+", instruction.text)
        if instruction.name.startswith("BRA") and target and labels.get(target[0], index + 1) < index:
            begin = labels[target[0]]
            loops[begin] = max(loops.get(begin, 0), index)
    return instructions, sorted(loops.items())


def registers(instructions):
    return 1 + max((int(number) for one in instructions for number in re.findall(r"\bR(\d+)", one.text)), default=0)


def issued(instructions):
    """When each instruction is issued and, last, when the next one would be; and what it waited for in front of it: cycles, and whose barrier."""
    now, ready, setter, free = 0, [0] * 6, [None] * 6, {}
    times, waits = [], []
    for one in instructions:
        at, behind = now, None
        for barrier in range(6):
            if one.waits >> barrier & 1 and ready[barrier] > at:
                at, behind = ready[barrier], setter[barrier]
        unit = next((name for name in UNITS if one.name.startswith(name)), None)
        if unit and free.get(unit, 0) > at:
            at, behind = free[unit], None
        if unit:
            free[unit] = at + UNITS[unit]
        times.append(at)
        waits.append((at - now, behind))
        for barrier, latency in ((one.sets, one.of(LATENCIES, OTHER_LATENCY)), (one.sets_read, OPERANDS_READ)):
            if barrier < 6:
                ready[barrier], setter[barrier] = max(ready[barrier], at + latency), one
        now = at + max(one.stall, 1)
    return [*times, now], waits


def summary(name, text, stalls=0):
    instructions, loops = read(text)
    innermost = [loop for loop in loops if not any(loop[0] <= other[0] and other[1] <= loop[1] and other != loop for other in loops)]
    # The second trip of a loop tells what a trip takes.
    order, trips = [], []
    for index in range(len(instructions)):
        order.append(index)
        for begin, end in innermost:
            if index == end:
                trips.append((len(order), len(order) + end + 1 - begin))
                order += range(begin, end + 1)
    times, waits = issued([instructions[index] for index in order])
    takes = [times[after] - times[first] for first, after in trips]
    outside = times[-1] - 2 * sum(takes)
    words = [f"{registers(instructions)} registers", f"{len(instructions)} instructions", f"{outside} cycles outside loops"]
    words += [f"{cycles} a trip of {after - first} instructions" for cycles, (first, after) in zip(takes, trips)]
    lines = [f"{name}: {', '.join(words)}"]
    first_trips = {at for first, after in trips for at in range(2 * first - after, first)}
    counted = sorted((at for at in range(len(order)) if at not in first_trips), key=lambda at: -waits[at][0])
    for at in counted[:stalls]:
        wait, behind = waits[at]
        where = "in a loop" if any(first <= at < after for first, after in trips) else "outside"
        lines.append(f"  {wait:5} {where:9} {instructions[order[at]].text[:50]:50} behind {behind.text[:50] if behind else 'its unit'}")
    return "\n".join(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("files", nargs="+", metavar="FILE.cubin")
    parser.add_argument("--stalls", type=int, default=0, metavar="N")
    options = parser.parse_args()
    for path in options.files:
        print(summary(path, disassembled(path), options.stalls))
