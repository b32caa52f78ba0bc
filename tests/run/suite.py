"""Launches, their inputs and what must come out, written as they are described; the folder is that of `write.py`."""

import json
import os
import zlib

import numpy as np

from dtypes import name_of


class Bits:
    """Exactly these elements."""

    def __init__(self, values, dtype=None):
        self.values = np.ascontiguousarray(values if dtype is None else values.astype(dtype))
        self.dtype, self.shape = name_of(self.values.dtype), self.values.shape


class Within:
    """These values in f64, each within its tolerance. The tensor itself has another type, which is named."""

    def __init__(self, values, tolerance, dtype):
        self.values = np.ascontiguousarray(values, np.float64)
        self.tolerance = np.ascontiguousarray(np.broadcast_to(np.asarray(tolerance, np.float64), self.values.shape))
        self.dtype, self.shape = name_of(np.dtype(dtype)), self.values.shape


class Norm:
    """These values in f64, within a relative error of the whole."""

    def __init__(self, values, bound, dtype):
        self.values, self.bound = np.ascontiguousarray(values, np.float64), float(bound)
        self.dtype, self.shape = name_of(np.dtype(dtype)), self.values.shape


class InOut:
    """A tensor that has contents before the launch and is compared after it."""

    def __init__(self, before, after):
        self.before, self.after = np.ascontiguousarray(before), after
        self.dtype, self.shape = name_of(self.before.dtype), self.before.shape


class Descriptor:
    """A tensor that the kernel gets as a descriptor of blocks."""

    def __init__(self, tensor, block):
        self.tensor, self.block = tensor, block


class Suite:
    def __init__(self, out):
        self.out = out
        os.makedirs(out, exist_ok=True)
        self.data = open(os.path.join(out, "data.bin"), "wb")
        self.cases = open(os.path.join(out, "cases.jsonl"), "w")
        self.files = {}
        self.count = 0

    def put(self, array):
        offset = self.data.tell()
        self.data.write(array.tobytes())
        return [offset, array.nbytes]

    def kernel(self, file, source):
        """Adds kernels (text) to a generated file once."""
        blocks, sources = self.files.setdefault(file, ([], {}))
        sources.setdefault(source.strip())

    def random(self, name):
        return np.random.default_rng(zlib.crc32(name.encode()))

    def launch(self, file, name, kernel, args, meta=None, grid=(1,), gpu_only=False, **options):
        """A launch of a generated file. `args`: an array is an input, `Bits`/`Within`/`Norm` an output, a number itself.

        `gpu_only`: there is nothing else that could run it."""
        written, inputs, outputs = [], {}, []
        for arg, value in args.items():
            block = None
            if isinstance(value, Descriptor):
                value, block = value.tensor, value.block
            if isinstance(value, InOut):
                inputs[arg] = value.before
                outputs.append((arg, value.after))
            elif isinstance(value, (Bits, Within, Norm)):
                outputs.append((arg, value))
            elif isinstance(value, np.ndarray):
                inputs[arg] = np.ascontiguousarray(value)
            else:
                written.append(f"{arg} = {str(value).lower() if isinstance(value, bool) else repr(value)}")
                continue
            dtype = value.dtype if isinstance(value.dtype, str) else name_of(value.dtype)
            text = f'"{dtype}[{", ".join(map(str, value.shape))}]"'
            if block:
                text = f"{{ tensor = {text}, block = {list(block)} }}"
            written.append(f"{arg} = {text}")
        constant = lambda v: str(v).lower() if isinstance(v, bool) else (f'"{v}"' if v.startswith("tl.") else f"\"'{v}'\"") if isinstance(v, str) else repr(v)
        block = [f"[launch.{name}]", f'kernel = "{kernel}"', f"grid = {list(grid)}", f"args = {{ {', '.join(written)} }}"]
        if meta:
            block.append("meta = { " + ", ".join(f"{k} = {constant(v)}" for k, v in meta.items()) + " }")
        block += [f"{k} = {v}" for k, v in options.items()]
        self.files[file][0].append("\n".join(block))
        self.case(file, name, inputs, outputs, gpu_only)

    def case(self, file, launch, inputs, outputs, gpu_only=False):
        line = {"id": f"{file}/{launch}", "file": file + ".py", "launch": launch, "gpu_only": gpu_only}
        line["inputs"] = {name: self.put(array) for name, array in inputs.items()}
        line["outputs"] = []
        for tensor, want in outputs:
            said = {"tensor": tensor}
            if isinstance(want, Bits):
                said["bits"] = self.put(want.values)
            else:
                said["values"] = self.put(want.values)
                if isinstance(want, Within):
                    said["tolerance"] = self.put(want.tolerance)
                else:
                    said["norm"] = want.bound
            line["outputs"].append(said)
        assert line["outputs"], line["id"]
        self.cases.write(json.dumps(line) + "\n")
        self.count += 1

    def finish(self):
        for file, (blocks, sources) in self.files.items():
            header = "\n#\n".join("\n".join("# " + line for line in block.split("\n")) for block in blocks)
            text = "# /// tritium\n" + header + "\n# ///\nimport triton\nimport triton.language as tl\nfrom triton.language.extra import libdevice\n"
            for source in sources:
                text += "\n\n" + source + "\n"
            with open(os.path.join(self.out, file + ".py"), "w") as f:
                f.write(text)
        self.data.close()
        self.cases.close()
