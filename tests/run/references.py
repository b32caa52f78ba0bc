"""What the kernels of `kernels/` must give, in NumPy and f64: a function for each kernel, named as it is.

A function gets the launch's tensors as f64 (integers as they are), its numbers and its compile-time values by name, as one mapping, and gives
the tensors that are compared. **Written from the definitions, not from the kernels.**
"""

import math

import numpy as np

from cases.random_numbers import counters, philox, uniform

erf = np.vectorize(math.erf, otypes=[np.float64])


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def silu(x):
    return x * sigmoid(x)


def gelu_of(x):
    return 0.5 * x * (1 + erf(x / np.sqrt(2)))


def softmax_of(x, axis=-1):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def slope(fn, x, h=1e-5):
    """The derivative by central differences, for what is elementwise: good to about 1e-10."""
    return (fn(x - 2 * h) - 8 * fn(x - h) + 8 * fn(x + h) - fn(x + 2 * h)) / (12 * h)


def add(v):
    return {"OUT": v["X"] + v["Y"]}


def gelu(v):
    return {"Y": gelu_of(v["X"])}


def gelu_backward(v):
    return {"DX": v["DY"] * slope(gelu_of, v["X"])}


def swiglu(v):
    return {"OUT": silu(v["GATE"]) * v["UP"]}


def swiglu_backward(v):
    return {"DUP": v["DOUT"] * silu(v["GATE"]), "DGATE": v["DOUT"] * v["UP"] * slope(silu, v["GATE"])}


def dropout(v):
    i = np.arange(v["n"], dtype=np.int32)
    keep = uniform(philox(v["seed"], counters(i), 10)[0]) > np.float32(v["p"])
    return {"Y": np.where(keep, v["X"] / (1 - np.float64(np.float32(v["p"]))), 0)}


def softmax(v):
    return {"Y": softmax_of(v["X"])}


softmax_online = softmax


def softmax_backward(v):
    # The Jacobian of each row, in full.
    y, dy = v["Y"], v["DY"]
    return {"DX": np.stack([(np.diag(r) - np.outer(r, r)) @ d for r, d in zip(y, dy)])}


def log_softmax(v):
    return {"Y": np.log(softmax_of(v["X"]))}


def cross_entropy(v):
    x, target, s = v["X"], v["TARGET"], float(np.float32(v["smoothing"]))
    m, n = x.shape
    wanted = np.full((m, n), s / n)
    wanted[np.arange(m), target] += 1 - s
    kept = (target != v["ignored"])[:, None]
    loss = -(wanted * np.log(softmax_of(x))).sum(1)
    return {"LOSS": loss * kept[:, 0], "DX": (softmax_of(x) - wanted) * kept}


def layer_norm(v):
    x = v["X"]
    mean, rstd = x.mean(1), 1 / np.sqrt(x.var(1) + v["eps"])
    return {"Y": (x - mean[:, None]) * rstd[:, None] * v["W"] + v["B"], "MEAN": mean, "RSTD": rstd}


def backward_of_rows(fn, x, dy):
    """The gradient of sum(fn(x) * dy) by central differences, each row by itself."""
    out, h, n = np.zeros_like(x), 1e-5, x.shape[1]
    for r in range(len(x)):
        steps = np.concatenate([x[r] + h * np.eye(n), x[r] - h * np.eye(n), x[r] + 2 * h * np.eye(n), x[r] - 2 * h * np.eye(n)])
        a, b, c, d = np.split(fn(steps) @ dy[r], 4)
        out[r] = (8 * (a - b) - (c - d)) / (12 * h)
    return out


def layer_norm_backward(v):
    hat = lambda x: (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + v["eps"])
    x, w, dy, programs = v["X"], v["W"], v["DY"], v["grid"][0]
    part = lambda a: np.stack([a[i::programs].sum(0) for i in range(programs)])
    return {"DX": backward_of_rows(lambda x: hat(x) * w, x, dy), "DW": part(dy * hat(x)), "DB": part(dy)}


def column_sums(v):
    return {"Y": v["X"].sum(0)}


def rms_of(x, eps):
    return x / np.sqrt((x * x).mean(1, keepdims=True) + eps)


def rms_norm(v):
    return {"Y": rms_of(v["X"], v["eps"]) * v["W"]}


def rms_norm_backward(v):
    x, w, dy = v["X"], v["W"], v["DY"]
    return {"DX": backward_of_rows(lambda x: rms_of(x, v["eps"]) * w, x, dy), "DW": (dy * rms_of(x, v["eps"])).sum(0)}


def matmul(v):
    c = v["A"] @ v["B"]
    if v["EPILOGUE"] == "none":
        return {"C": c}
    return {"C": {"relu": lambda x: np.maximum(x, 0), "silu": silu, "gelu": gelu_of}[v["EPILOGUE"]](c + v["BIAS"])}


def matmul_i8(v):
    return {"C": (v["A"].astype(np.int64) @ v["B"].astype(np.int64)) * v["SA"][:, None] * v["SB"]}


def product(v):
    return {"C": v["A"] @ v["B"]}


split_k = batched = persistent = product


def grouped(v):
    starts = v["STARTS"]
    parts = [v["X"][a:b] @ v["W"][e] for e, (a, b) in enumerate(zip(starts, starts[1:]))]
    return {"Y": np.concatenate(parts)}


def matmul_descriptors(v):
    return {"c": v["a"] @ v["b"]}


def matmul_block_pointers(v):
    return {"C": v["A"] @ v["B"].T}


def int4(v):
    w = np.stack([v["W"] & 15, v["W"] >> 4], 1).reshape(v["k"], v["n"]).astype(float)
    spread = lambda a: np.repeat(a.astype(float), v["GROUP"], 0)
    # A weight is rounded to f16 before the product.
    w = ((w - spread(v["ZERO"])) * spread(v["SCALE"])).astype(np.float16).astype(float)
    return {"Y": v["X"] @ w}


def scores(v):
    s = v["Q"] @ v["K"].swapaxes(1, 2) * v["scale"]
    t = v["length"]
    return np.where(np.tril(np.ones((t, t), bool)), s, -np.inf) if v["CAUSAL"] else s


def attention(v):
    s = scores(v)
    high = s.max(2, keepdims=True)
    return {"O": softmax_of(s) @ v["V"], "LSE": (high + np.log(np.exp(s - high).sum(2, keepdims=True)))[..., 0]}


def attention_delta(v):
    return {"DELTA": (v["O"] * v["DO"]).sum(2)}


def attention_backward(v):
    p = np.exp(scores(v) - v["LSE"][..., None])
    ds = p * (v["DO"] @ v["V"].swapaxes(1, 2) - v["DELTA"][..., None]) * v["scale"]
    return {"DQ": ds @ v["K"], "DK": ds.swapaxes(1, 2) @ v["Q"], "DV": p.swapaxes(1, 2) @ v["DO"]}


def rotary(v):
    # A turn of the complex plane by the conjugate angle on the way back.
    half = v["HALF"]
    turn = (v["COS"] + 1j * v["SIN"] * (-1 if v["BACKWARD"] else 1))[:, None, :]
    y = (v["X"][..., :half] + 1j * v["X"][..., half:]) * turn
    return {"Y": np.concatenate([y.real, y.imag], -1)}


def topk(v):
    order = np.argsort(-v["X"], axis=1, kind="stable")[:, : v["K"]]
    return {"Y": np.take_along_axis(v["X"], order, 1), "I": order}


def prefix_sum(v):
    return {"Y": v["X"].cumsum(1)}


def histogram(v):
    return {"COUNTS": np.bincount(v["X"], minlength=v["BINS"])}


def embedding(v):
    return {"Y": v["TABLE"][v["IDS"]]}


def embedding_backward(v):
    table = np.zeros_like(v["DTABLE"])
    np.add.at(table, v["IDS"], v["DY"])
    return {"DTABLE": table}


def selective_scan(v):
    u, delta = v["U"], np.log1p(np.exp(v["DELTA"]))
    h = np.zeros((u.shape[0], u.shape[2], v["S"]))
    y = np.zeros_like(u)
    for t in range(v["length"]):
        h = np.exp(delta[:, t, :, None] * v["A"]) * h + (delta[:, t] * u[:, t])[..., None] * v["BT"][:, t, None, :]
        y[:, t] = (h * v["CT"][:, t, None, :]).sum(2) + v["SKIP"] * u[:, t]
    return {"Y": y, "LAST": h}


def chunked_scan(v):
    y, state = np.zeros_like(v["X"]), np.zeros(len(v["X"]))
    for t in range(v["length"]):
        state = v["A"][:, t] * state + v["X"][:, t]
        y[:, t] = state
    return {"Y": y}


def conv2d(v):
    x, k, pad, by = v["X"], v["K"], v["PAD"], v["STRIDE"]
    x = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    windows = np.lib.stride_tricks.sliding_window_view(x, k.shape[2:], (2, 3))[:, :, ::by, ::by]
    return {"Y": np.einsum("ncpqrs,fcrs->nfpq", windows, k)}


def depthwise(v):
    x = np.pad(v["X"], ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), (2, 3))
    return {"Y": np.einsum("nchwrs,crs->nchw", windows, v["K"])}


def causal_conv1d(v):
    width = v["WIDTH"]
    x = np.pad(v["X"], ((width - 1, 0), (0, 0)))
    y = sum(x[i : i + v["length"]] * v["K"][:, i] for i in range(width))
    return {"Y": silu(y)}
