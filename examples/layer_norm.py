# /// tritium
# [launch.rows]
# kernel = "layer_norm"
# grid = ["M"]
# sizes = { M = 512, N = 1000 }
# args = { Y = "f32[M, N]", X = "f32[M, N] = normal(1, 2)", WEIGHT = "f32[N] = normal(1, 0.1)", BIAS = "f32[N] = normal(0, 0.1)", stride = "N", n_cols = "N", eps = 1e-5 }
# meta = { BLOCK = "next_power_of_2(N)" }
# expect = { Y = "layer_norm(X, WEIGHT, BIAS, eps=1e-5)" }
#
# [launch.half]
# kernel = "layer_norm"
# grid = ["M"]
# sizes = { M = 4096, N = 4096 }
# args = { Y = "f16[M, N]", X = "f16[M, N] = normal(0, 1)", WEIGHT = "f16[N] = normal(1, 0.1)", BIAS = "f16[N] = normal(0, 0.1)", stride = "N", n_cols = "N", eps = 1e-5 }
# meta = { BLOCK = "next_power_of_2(N)" }
# num_warps = 8
# expect = { Y = "layer_norm(X, WEIGHT, BIAS, eps=1e-5)" }
# ///
"""Layer normalisation of every row: subtract the mean, divide by the standard deviation, scale and shift."""

import triton
import triton.language as tl


@triton.jit
def layer_norm(Y, X, WEIGHT, BIAS, stride, n_cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(X + row * stride + cols, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=0) / n_cols
    # The padding is 0, not the mean: it must not count towards the variance.
    centered = tl.where(mask, x - mean, 0.0)
    variance = tl.sum(centered * centered, axis=0) / n_cols
    scale = tl.rsqrt(variance + eps)
    weight = tl.load(WEIGHT + cols, mask=mask, other=0.0).to(tl.float32)
    bias = tl.load(BIAS + cols, mask=mask, other=0.0).to(tl.float32)
    tl.store(Y + row * stride + cols, centered * scale * weight + bias, mask=mask)
