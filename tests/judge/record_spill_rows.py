#!/usr/bin/env python3
"""Records which kernels spill registers when Triton compiles them, near the limit: the judge of the spill verdict of `cargo xtask accuracy
footprints`.

    record_spill_rows.py LANGUAGE_FOLDER CORPORA_FOLDER OUT.tsv SECONDS (sweep | corpus | held | tuned | again … eighth | learn | learn2)

Arguments as `footprints.py` takes them. `sweep` asks about `footprint_kernels.py` with tiles that fill between a third of a thread's registers
and twice of them; `corpus` about published kernels that take many registers, with other warps than the usual four or with `maxnreg`. Each row is a
whole compilation, ptxas included. It stops after SECONDS; lines that OUT has are kept, so that a second run goes on, and the two may run at
once. `held` draws other configurations of both from other seeds, stages and block sizes among them, by Triton's registers and by chance. `tuned`
and `again` to `eighth` draw, by chance alone, what an autotuner would try: other warps, stages and block sizes, and no bound on the registers: the
rows that are kept from those who tune the rule. Some were opened later, by chance: three quarters of `tuned`, half of `again` and `third`, all of
`fourth`; half of `sixth` was read and is not in the record. `learn` and `learn2` draw the same from other seeds, to tune it with; of `learn` the
record has those that the rule of that day put near the limit and a few others, as far as an hour went.
**Names and figures only.**
"""
import csv
import itertools
import json
import os
import random
import sys
import time
import zlib

import isolated
import assignments
import footprints
import records

LIMIT = 40
# Rows of one file that one process asks about.
PART = 12
COLUMNS = (*footprints.COLUMNS[:8], "maxnreg", "half", "verdict", "registers", "spill_bytes")
# Of a published kernel, as an autotuner would try it.
TRIED = 3
# Seeds of further draws.
AGAIN = ("again", "third", "fourth", "fifth", "sixth", "seventh", "eighth")
BOUNDS = (None, None, None, None, None, 64, 96, 128, 168)
WARPS = (1, 2, 4, 4, 4, 8, 8, 16)


def limit(warps, maxnreg):
    """Registers that a thread may have."""
    return min(255, 65536 // (32 * warps) // 8 * 8, maxnreg or 255)


def row(source, file, kernel, args, constexprs, gpu, warps, stages, maxnreg):
    one = footprints.row(source, file, kernel, args, constexprs, gpu, warps, stages, True)
    return {**one, "maxnreg": maxnreg or ""}


# Of every kernel: sizes to choose from, how many values of 32 bits a thread block keeps at once, arguments.
HALF = "fp16"
SQUARES = (32, 64, 128, 256)
KERNELS = {
    "gemm": (dict(BM=SQUARES, BN=SQUARES, BK=(16, 32, 64), TRANS_A=(False, False, True), TRANS_B=(False, True)), lambda c: c["BM"] * c["BN"], lambda e: footprints.matrices(e)),
    "gemm_epilogue": (dict(BM=SQUARES, BN=SQUARES, BK=(32, 64)), lambda c: 1.5 * c["BM"] * c["BN"], lambda e: {**footprints.matrices(HALF), "bias": "*fp16:16", "residual": "*fp16:16", "scale": "fp32"}),
    "gemm_int8_weights": (dict(BM=SQUARES, BN=SQUARES, BK=(32, 64)), lambda c: c["BM"] * c["BN"] + c["BK"] * c["BN"], lambda e: {**footprints.matrices(HALF), "B": "*i8:16", "scales": "*fp16:16"}),
    "gemm_split_k": (dict(BM=SQUARES, BN=SQUARES, BK=(32, 64), SPLIT=(4,)), lambda c: c["BM"] * c["BN"], lambda e: {**footprints.matrices(HALF), "C": "*fp32:16"}),
    "attention": (dict(BM=SQUARES, BN=SQUARES, D=SQUARES, CAUSAL=(False, True)), lambda c: c["BM"] * (c["D"] + c["BN"]), lambda e: {**{x: f"*{e}:16" for x in ("Q", "K", "V", "O")}, "L": "*fp32:16", "scale": "fp32", "stride_h": "i32:16", "n": "i32:16"}),
    "attention_backward": (dict(BM=SQUARES, BN=SQUARES, D=SQUARES), lambda c: 2 * c["BN"] * c["D"] + c["BM"] * c["BN"], lambda e: {**{x: "*fp16:16" for x in ("Q", "K", "V", "DO", "DK", "DV")}, "L": "*fp32:16", "DELTA": "*fp32:16", "scale": "fp32", "stride_h": "i32:16", "n": "i32:16"}),
    "linear_attention": (dict(T=(16, 32, 64, 128), D=(32, 64, 128)), lambda c: c["D"] * c["D"] + c["T"] * c["T"] + c["T"] * c["D"], lambda e: {**{x: "*fp16:16" for x in ("Q", "K", "V", "G", "O")}, "n": "i32:16"}),
    "softmax": (dict(B=(1024, 2048, 4096, 8192, 16384, 32768, 65536)), lambda c: c["B"], lambda e: {"X": f"*{e}:16", "Y": f"*{e}:16", "stride": "i32:16", "n": "i32"}),
    "layer_norm": (dict(B=(1024, 2048, 4096, 8192, 16384, 32768, 65536)), lambda c: c["B"], lambda e: {**{x: f"*{e}:16" for x in ("X", "Y", "W", "BIAS")}, "stride": "i32:16", "n": "i32", "eps": "fp32"}),
    "reduce_tile": (dict(M=SQUARES, N=SQUARES, AXIS=(0, 1)), lambda c: c["M"] * c["N"], lambda e: {"X": "*fp32:16", "Y": "*fp32:16", "stride": "i32:16"}),
    "scan_tile": (dict(M=SQUARES, N=SQUARES, AXIS=(0, 1)), lambda c: c["M"] * c["N"], lambda e: {"X": "*fp32:16", "Y": "*fp32:16", "stride": "i32:16"}),
    "transpose": (dict(M=SQUARES, N=SQUARES), lambda c: c["M"] * c["N"], lambda e: {"X": "*fp32:16", "Y": "*fp32:16", "sx": "i32:16", "sy": "i32:16"}),
    "argmax_rows": (dict(M=(16, 32, 64), N=SQUARES), lambda c: 2 * c["M"] * c["N"], lambda e: {"X": f"*{e}:16", "Y": "*i32:16", "Z": "*fp32:16", "stride": "i32:16", "n": "i32"}),
    "polynomials": (dict(B=(1024, 2048, 4096, 8192, 16384), K=(2, 4, 8, 16)), lambda c: 5 * c["B"], lambda e: {"X": "*fp32:16", "Y": "*fp32:16", "n": "i32"}),
}  # fmt: skip
EACH = {"gemm": 50, "attention": 50, "attention_backward": 30, "linear_attention": 24, "gemm_epilogue": 24}


def swept(name="spilling", bounds=BOUNDS):
    file = os.path.relpath(footprints.SWEEP, footprints.ROOT)
    for seed, (kernel, (axes, kept, args)) in enumerate(sorted(KERNELS.items())):
        chance = random.Random(f"{name} {seed}")
        wanted = EACH.get(kernel, 12)
        names = list(axes)
        every = list(itertools.product(*axes.values(), WARPS, bounds))
        chance.shuffle(every)
        for *sizes, warps, maxnreg in every:
            constexprs = dict(zip(names, sizes))
            if not 1 / 3 <= kept(constexprs) / (32 * warps) / limit(warps, maxnreg) <= 2:
                continue
            gpu = chance.choice(("sm_80", "sm_90", "sm_90"))
            made = args(chance.choice((HALF, HALF, "fp32")))
            stages = 3 if name == "spilling" else chance.choice((1, 2, 3, 4))
            yield row("sweep", file, kernel, footprints.compact(made), footprints.compact(constexprs), gpu, warps, stages, maxnreg)
            wanted -= 1
            if wanted == 0:
                break


def published(language, corpora):
    known = footprints.recorded()
    with open(os.path.join(language, "corpus_ttir.tsv"), newline="") as table:
        for line in csv.DictReader(table, delimiter="\t"):
            before = known.get((line["path"], line["function"]))
            if before is None or before["verdict"] != "ok" or not os.path.exists(os.path.join(corpora, line["path"])):
                continue
            registers = int(before["registers"])
            chance = random.Random(f"{line['path']} {line['function']}")
            near = []
            for warps, maxnreg in itertools.product((1, 2, 8, 16), (None, 64, 96, 128, 168)):
                # Two dozen are scalars; the rest is shared by the warps.
                needed = 24 + max(registers - 24, 0) * 4 / warps
                if (warps in (1, 2, 16) or registers == 255) and 0.7 <= needed / limit(warps, maxnreg) <= 3:
                    near.append((warps, maxnreg))
            chance.shuffle(near)
            for warps, maxnreg in near[:2]:
                made = row("corpus", line["path"], line["function"], "", "", chance.choice(("sm_80", "sm_90", "sm_90")), warps, 3, maxnreg)
                made["request"] = (json.loads(line["signature"]), json.loads(line["constexprs"]))
                yield made


def drawn(language, corpora):
    """Published kernels in configurations that `published` does not ask about; block sizes that differ are in the column of the constexprs."""
    known = footprints.recorded()
    with open(os.path.join(language, "corpus_ttir.tsv"), newline="") as table:
        for line in csv.DictReader(table, delimiter="\t"):
            if line["helper"] != "False" or line["verdict_3.6"] != "ok" or not os.path.exists(os.path.join(corpora, line["path"])):
                continue
            before = known.get((line["path"], line["function"]))
            registers = int(before["registers"]) if before is not None and before["verdict"] == "ok" else 128
            chance = random.Random(f"held {line['path']} {line['function']}")
            signature, constexprs = json.loads(line["signature"]), json.loads(line["constexprs"])
            near = []
            for warps, maxnreg in itertools.product((1, 2, 4, 8, 16, 32), (None, None, None, 64, 80, 128, 168)):
                needed = 24 + max(registers - 24, 0) * 4 / warps
                if (warps, maxnreg) != (4, None) and 0.7 <= needed / limit(warps, maxnreg) <= 3:
                    near.append((warps, maxnreg))
            chance.shuffle(near)
            # As people would run it, of one kernel in three; near the limit; near it with another block size.
            chosen = [(chance.choice((2, 8, 16)), None, False)] if chance.random() < 1 / 3 else []
            chosen += [(*one, chance.random() < 0.4) for one in near[: chance.choice((1, 1, 1, 2))]]
            for warps, maxnreg, other in chosen:
                sizes = sorted(k for k, v in constexprs.items() if k.startswith("B") and isinstance(v, int) and v in (16, 32, 64, 128))
                changed = {}
                if other and sizes:
                    name = chance.choice(sizes)
                    changed = {name: constexprs[name] * 2 if constexprs[name] == 16 or chance.random() < 0.5 else constexprs[name] // 2}
                gpu, stages = chance.choice(("sm_80", "sm_90")), chance.choice((1, 2, 3, 4))
                made = row("corpus", line["path"], line["function"], "", footprints.compact(changed) if changed else "", gpu, warps, stages, maxnreg)
                made["request"] = (signature, {**constexprs, **changed})
                yield {**made, "half": "tune"}
    for made in swept("held"):
        yield {**made, "half": "tune"}


def tuned(language, corpora, seed="tuned", draws=TRIED, half="held"):
    with open(os.path.join(language, "corpus_ttir.tsv"), newline="") as table:
        for line in csv.DictReader(table, delimiter="\t"):
            if line["helper"] != "False" or line["verdict_3.6"] != "ok" or not os.path.exists(os.path.join(corpora, line["path"])):
                continue
            chance = random.Random(f"{seed} {line['path']} {line['function']}")
            signature, constexprs = json.loads(line["signature"]), json.loads(line["constexprs"])
            sizes = sorted(k for k, v in constexprs.items() if k.startswith("B") and isinstance(v, int) and 16 <= v <= 4096 and v & (v - 1) == 0)
            for _ in range(draws):
                changed = {}
                for name in sizes:
                    size = max(16, int(constexprs[name] * chance.choice((0.5, 1, 1, 2, 2, 4))))
                    if size != constexprs[name]:
                        changed[name] = size
                gpu, warps, stages = chance.choice(("sm_80", "sm_90")), chance.choice(WARPS), chance.choice((1, 2, 3, 4))
                text = footprints.compact(changed) if changed else ""
                made = row("corpus", line["path"], line["function"], "", text, gpu, warps, stages, None)
                made["request"] = (signature, {**constexprs, **changed})
                yield {**made, "half": half}
    if seed != "learn":
        for made in swept(seed, (None,)):
            yield {**made, "half": half}


def judged(oracle, module, path, one):
    signature, constexprs = one.get("request") or (json.loads(one["args"]), json.loads(one["constexprs"]))
    constexprs = {name: assignments.DTYPES.get(v, v) if isinstance(v, str) else v for name, v in constexprs.items()}
    options = {"num_warps": one["num_warps"], "num_stages": one["num_stages"]}
    if one["maxnreg"]:
        options["maxnreg"] = one["maxnreg"]

    def work():
        answer = oracle.run(path, one["kernel"], signature, constexprs, one["gpu"], options, keep_cache=True, mod=module)
        if answer["error"] is not None or answer["stage"] != "done":
            return {"verdict": "error", "error": str(answer["error"])[-300:]}
        return {"verdict": "ok", "regs": answer["regs"], "spills": answer["spills"] or 0}

    return isolated.answer_of(work, LIMIT) or {"verdict": "limit"}


def of_file(language, corpora, file, rows, out, end):
    of_package = rows[0]["source"] == "corpus"
    path = os.path.join(corpora if of_package else footprints.ROOT, file)
    oracle, module = assignments.prepare(language, corpora, file if of_package else path)
    for one in rows:
        if time.time() > end:
            return
        answer = judged(oracle, module, path, one)
        if answer.get("error"):
            print(f"{file} {one['kernel']} {one['gpu']}: {answer['error'][-200:]!r}", file=sys.stderr, flush=True)
        text = lambda value: "" if value is None else str(value)
        cells = [text(one[c]) for c in COLUMNS[:10]] + [text(answer.get(k)) for k in ("verdict", "regs", "spills")]
        with open(out, "a") as table:
            table.write("\t".join(cells) + "\n")


def key(one):
    return tuple(str(one[c]) for c in COLUMNS[:9])


def main():
    language, corpora, out = (os.path.abspath(p) for p in sys.argv[1:4])
    end, wanted = time.time() + float(sys.argv[4]), sys.argv[5]
    done = set()
    records.unpack(out)
    if os.path.exists(out):
        with open(out) as known:
            done = {tuple(line.rstrip("\n").split("\t")[:9]) for line in known}
    files = {}
    asked = {"sweep": swept, "corpus": lambda: published(language, corpora), "held": lambda: drawn(language, corpora), "tuned": lambda: tuned(language, corpora), **{again: lambda again=again: tuned(language, corpora, again) for again in AGAIN}, "learn": lambda: tuned(language, corpora, "learn", 4, "tune"), "learn2": lambda: tuned(language, corpora, "learn2", half="tune")}
    for one in asked[wanted]():
        if key(one) not in done:
            done.add(key(one))
            files.setdefault(one["file"], []).append(one)
    print(f"{sum(map(len, files.values()))} rows are left", file=sys.stderr, flush=True)
    # In no order, so that an interrupted run is a sample; a part of a file at a time, as many at once as this process has cores (`taskset`).
    for rows in files.values():
        rows.sort(key=lambda one: zlib.crc32("\t".join(key(one)).encode()))
    parts = [(file, rows[start : start + PART]) for file, rows in files.items() for start in range(0, len(rows), PART)]
    parts.sort(key=lambda part: zlib.crc32("\t".join(key(part[1][0])).encode()))
    running = set()
    for file, rows in parts:
        if len(running) == len(os.sched_getaffinity(0)):
            running.discard(os.wait()[0])
        if time.time() > end:
            break
        child = os.fork()
        if child == 0:
            try:
                of_file(language, corpora, file, rows, out, end)
            except BaseException as error:
                print(f"{file}: {error!r}", file=sys.stderr, flush=True)
            os._exit(0)
        running.add(child)
    while running:
        running.discard(os.wait()[0])
    with open(out) as table:
        lines = {line for line in table.read().splitlines() if not line.startswith("source\t")}
    if wanted != "corpus":
        with open(out, "w") as table:
            table.writelines(line + "\n" for line in ["\t".join(COLUMNS), *sorted(lines)])
        records.pack(out)


if __name__ == "__main__":
    main()
