"""Cycles that `bench/issue.py` gives to machine code, on code that is made up."""

import importlib.util
import pathlib

import pytest

SCRIPT = pathlib.Path(__file__).parents[2] / "bench" / "issue.py"


@pytest.fixture(scope="module")
def issue():
    spec = importlib.util.spec_from_file_location("issue", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def line(text, stall=1, sets=7, sets_read=7, waits=()):
    """An instruction as `nvdisasm -hex` writes it: barrier 7 is none."""
    control = stall | sets << 5 | sets_read << 8 | sum(1 << barrier for barrier in waits) << 11
    return f"        /*0000*/                   {text} ;              /* 0x0000000000000000 */\n                                                         /* 0x{control << 41:016x} */\n"


def test_what_is_loaded_is_waited_for(issue):
    text = line("LDG.E R4, desc[UR4][R2.64]", stall=2, sets=0) + line("IADD3 R5, R5, 0x1, RZ", stall=4) + line("FADD R6, R4, R6", waits=[0]) + line("EXIT", stall=5)
    assert issue.summary("k", text, stalls=1).splitlines() == [
        "k: 7 registers, 4 instructions, 606 cycles outside loops",
        "    594 outside   FADD R6, R4, R6                                    behind LDG.E R4, desc[UR4][R2.64]",
    ]


def test_the_second_trip_of_the_innermost_loop_is_a_trip(issue):
    body = line("SHFL.BFLY PT, R1, R0, 0x1, 0x1f", sets=1) + line("FADD R0, R0, R1", stall=4, waits=[1]) + line("@P0 BRA `(.L_x_1)", stall=5)
    text = ".L_x_0:\n" + line("MOV R0, RZ", stall=6) + ".L_x_1:\n" + body + line("BRA `(.L_x_0)", stall=5)
    told = issue.summary("k", text)
    # 24 cycles of an exchange between lanes, 4 of the addition, 5 of the branch.
    assert told == "k: 2 registers, 5 instructions, 11 cycles outside loops, 33 a trip of 3 instructions"


def test_a_unit_takes_one_instruction_at_a_time(issue):
    text = line("MUFU.EX2 R0, R0") + line("MUFU.EX2 R1, R1") + line("EXIT")
    assert issue.summary("k", text, stalls=1).splitlines()[1].split() == "7 outside MUFU.EX2 R1, R1 behind its unit".split()
