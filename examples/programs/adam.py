"""One fused step of Adam over parameters of different shapes, in place."""

import torch
import triton
import triton.language as tl


@triton.jit
def adam_kernel(p_ptr, g_ptr, m_ptr, v_ptr, n, lr, beta1, beta2, eps, correction1, correction2, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    g = tl.load(g_ptr + at, mask=mask, other=0.0)
    m = beta1 * tl.load(m_ptr + at, mask=mask, other=0.0) + (1 - beta1) * g
    v = beta2 * tl.load(v_ptr + at, mask=mask, other=0.0) + (1 - beta2) * g * g
    p = tl.load(p_ptr + at, mask=mask, other=0.0)
    p -= lr * (m / correction1) / (tl.sqrt(v / correction2) + eps)
    tl.store(m_ptr + at, m, mask=mask)
    tl.store(v_ptr + at, v, mask=mask)
    tl.store(p_ptr + at, p, mask=mask)


class Adam:
    def __init__(self, params, lr=1e-2, betas=(0.9, 0.999), eps=1e-8):
        self.params = list(params)
        self.lr, self.betas, self.eps = lr, betas, eps
        self.m = [torch.zeros_like(p) for p in self.params]
        self.v = [torch.zeros_like(p) for p in self.params]
        self.t = 0

    def step(self, grads):
        self.t += 1
        b1, b2 = self.betas
        for p, g, m, v in zip(self.params, grads, self.m, self.v):
            n = p.numel()
            adam_kernel[(triton.cdiv(n, 512),)](
                p, g, m, v, n, self.lr, b1, b2, self.eps, 1 - b1**self.t, 1 - b2**self.t, BLOCK=512
            )


def reference(p, grads, lr=1e-2, b1=0.9, b2=0.999, eps=1e-8):
    m, v = torch.zeros_like(p), torch.zeros_like(p)
    for t, g in enumerate(grads):
        m = b1 * m + (1 - b1) * g
        v = b2 * v + (1 - b2) * g * g
        p = p - lr * (m / (1 - b1 ** (t + 1))) / ((v / (1 - b2 ** (t + 1))).sqrt() + eps)
    return p


def main():
    params = [torch.randn(1000, device="cuda"), torch.randn(37, 50, device="cuda")]
    history = [[torch.randn_like(p) for _ in range(3)] for p in params]
    expected = [reference(p.clone(), grads) for p, grads in zip(params, history)]
    optimiser = Adam(params)
    for step in range(3):
        optimiser.step([grads[step] for grads in history])
    for p, want in zip(params, expected):
        torch.testing.assert_close(p, want, atol=1e-5, rtol=1e-5)


if __name__ == "__main__":
    main()
