"""A product that reads and writes through tensor descriptors made by the host."""

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def descriptor_kernel(a_desc, b_desc, c_desc, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    row = tl.program_id(0) * BLOCK_M
    col = tl.program_id(1) * BLOCK_N
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        a = a_desc.load([row, k])
        b = b_desc.load([col, k])
        acc = tl.dot(a, b.T, acc)
    c_desc.store([row, col], acc.to(tl.float16))


def matmul_nt(a, b):
    """A @ B.T"""
    M, K = a.shape
    N, _ = b.shape
    c = torch.empty((M, N), device=a.device, dtype=a.dtype)
    bm, bn, bk = 64, 64, 64
    descriptors = [TensorDescriptor.from_tensor(a, [bm, bk]), TensorDescriptor(b, b.shape, b.stride(), [bn, bk])]
    descriptors.append(TensorDescriptor.from_tensor(c, [bm, bn]))
    descriptor_kernel[(triton.cdiv(M, bm), triton.cdiv(N, bn))](*descriptors, K, BLOCK_M=bm, BLOCK_N=bn, BLOCK_K=bk)
    return c


a = torch.randn(200, 128, device="cuda", dtype=torch.float16)
b = torch.randn(136, 128, device="cuda", dtype=torch.float16)
torch.testing.assert_close(matmul_nt(a, b), a @ b.T, atol=3e-2, rtol=1e-2)
