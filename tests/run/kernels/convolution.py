# /// tritium
# [launch.conv2d]
# kernel = "conv2d"
# grid = ["cdiv(N * P * Q, 32)", "cdiv(F, 32)"]
# sizes = { N = 2, C = 16, H = 10, W = 12, F = 32, P = 10, Q = 12 }
# args = { X = "f16[N, C, H, W] = normal(0, 1)", K = "f16[F, C, 3, 3] = normal(0, 0.2)", Y = "f32[N, F, P, Q]", n = "N", c = "C", h = "H", w = "W", f = "F", p = "P", q = "Q" }
# meta = { R = 3, S = 3, STRIDE = 1, PAD = 1, BLOCK_M = 32, BLOCK_N = 32, BLOCK_K = 16 }
# tolerance = 1e-4
#
# [launch.conv2d_strided]
# kernel = "conv2d"
# grid = ["cdiv(N * P * Q, 32)", "cdiv(F, 16)"]
# sizes = { N = 1, C = 24, H = 11, W = 13, F = 20, P = 4, Q = 5 }
# args = { X = "f16[N, C, H, W] = normal(0, 1)", K = "f16[F, C, 5, 5] = normal(0, 0.2)", Y = "f32[N, F, P, Q]", n = "N", c = "C", h = "H", w = "W", f = "F", p = "P", q = "Q" }
# meta = { R = 5, S = 5, STRIDE = 2, PAD = 0, BLOCK_M = 32, BLOCK_N = 16, BLOCK_K = 16 }
# tolerance = 1e-4
#
# [launch.depthwise]
# kernel = "depthwise"
# grid = ["N * C", "cdiv(H, 8)", "cdiv(W, 16)"]
# sizes = { N = 2, C = 5, H = 13, W = 20 }
# args = { X = "f32[N, C, H, W] = normal(0, 1)", K = "f32[C, 3, 3] = normal(0, 1)", Y = "f32[N, C, H, W]", c = "C", h = "H", w = "W" }
# meta = { R = 3, S = 3, BLOCK_H = 8, BLOCK_W = 16 }
# tolerance = 1e-5
#
# [launch.causal_conv1d]
# kernel = "causal_conv1d"
# grid = ["cdiv(T, 64)", "cdiv(D, 16)"]
# sizes = { T = 150, D = 40 }
# args = { X = "bf16[T, D] = normal(0, 1)", K = "f32[D, 4] = normal(0, 1)", Y = "bf16[T, D]", length = "T", d = "D" }
# meta = { WIDTH = 4, BLOCK_T = 64, BLOCK_D = 16 }
# tolerance = 0.02
# ///
"""Convolutions: two-dimensional as an implicit matrix product, depthwise, and causal along a sequence."""

import triton
import triton.language as tl


@triton.jit
def conv2d(
    X, K, Y, n, c, h, w, f, p, q,
    R: tl.constexpr, S: tl.constexpr, STRIDE: tl.constexpr, PAD: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    # Rows are places of the output, columns its channels; the inner dimension runs over the input's channels for every tap.
    rm = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    rf = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    image, place = rm // (p * q), rm % (p * q)
    top, left = place // q * STRIDE - PAD, place % q * STRIDE - PAD
    acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for tap in tl.static_range(R * S):
        y, x = top + tap // S, left + tap % S
        inside = (rm < n * p * q) & (y >= 0) & (y < h) & (x >= 0) & (x < w)
        for start in range(0, c, BLOCK_K):
            rc = start + tl.arange(0, BLOCK_K)
            a_ptr = X + ((image[:, None] * c + rc[None, :]) * h + y[:, None]) * w + x[:, None]
            a = tl.load(a_ptr, mask=inside[:, None] & (rc[None, :] < c), other=0.0)
            b_ptr = K + (rf[None, :] * c + rc[:, None]) * (R * S) + tap
            b = tl.load(b_ptr, mask=(rf[None, :] < f) & (rc[:, None] < c), other=0.0)
            acc = tl.dot(a, b, acc)
    out = Y + (image[:, None] * f + rf[None, :]) * (p * q) + place[:, None]
    tl.store(out, acc, mask=(rm[:, None] < n * p * q) & (rf[None, :] < f))


@triton.jit
def depthwise(X, K, Y, c, h, w, R: tl.constexpr, S: tl.constexpr, BLOCK_H: tl.constexpr, BLOCK_W: tl.constexpr):
    plane = tl.program_id(0)
    rh = tl.program_id(1) * BLOCK_H + tl.arange(0, BLOCK_H)
    rw = tl.program_id(2) * BLOCK_W + tl.arange(0, BLOCK_W)
    acc = tl.zeros((BLOCK_H, BLOCK_W), tl.float32)
    for i in tl.static_range(R):
        for j in tl.static_range(S):
            y, x = rh[:, None] + i - R // 2, rw[None, :] + j - S // 2
            inside = (y >= 0) & (y < h) & (x >= 0) & (x < w)
            tap = tl.load(K + (plane % c * R + i) * S + j)
            acc += tap * tl.load(X + plane * h * w + y * w + x, mask=inside, other=0.0)
    tl.store(Y + plane * h * w + rh[:, None] * w + rw[None, :], acc, mask=(rh[:, None] < h) & (rw[None, :] < w))


@triton.jit
def causal_conv1d(X, K, Y, length, d, WIDTH: tl.constexpr, BLOCK_T: tl.constexpr, BLOCK_D: tl.constexpr):
    rt = tl.program_id(0) * BLOCK_T + tl.arange(0, BLOCK_T)
    rd = tl.program_id(1) * BLOCK_D + tl.arange(0, BLOCK_D)
    acc = tl.zeros((BLOCK_T, BLOCK_D), tl.float32)
    for i in tl.static_range(WIDTH):
        t = rt + i - (WIDTH - 1)
        x = tl.load(X + t[:, None] * d + rd[None, :], mask=(t[:, None] >= 0) & (t[:, None] < length) & (rd[None, :] < d), other=0.0)
        tap = tl.load(K + rd * WIDTH + i, mask=rd < d, other=0.0)
        acc += tap[None, :] * x
    y = acc * tl.sigmoid(acc)
    tl.store(Y + rt[:, None] * d + rd[None, :], y, mask=(rt[:, None] < length) & (rd[None, :] < d))
