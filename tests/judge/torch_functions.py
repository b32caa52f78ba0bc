"""Writes `tests/data/programs/functions.py`: PyTorch's functions on small tensors, each beside the numbers that PyTorch gives.

    python tests/judge/torch_functions.py > tests/data/programs/functions.py

needs PyTorch. `cargo test --test programs` then holds Tritium's own evaluation of host code against these numbers.
"""

import torch

INPUTS = {
    "x": "torch.tensor([[0.5, -1.25, 2.0, -0.75], [1.5, 0.25, -2.5, 3.0], [-0.5, 1.0, 0.125, -3.5]])",
    "y": "torch.tensor([[1.0, 2.0, -1.0, 0.5], [-2.0, 0.75, 1.5, -0.25], [3.0, -1.5, 0.5, 2.5]])",
    "p": "torch.tensor([[0.5, 1.25, 2.0, 0.75], [1.5, 0.25, 2.5, 3.0], [0.5, 1.0, 0.125, 3.5]])",
    "u": "torch.tensor([[0.5, -0.25, 0.125, 0.75], [-0.5, 0.25, 0.0, -0.875], [0.375, -0.125, 0.625, -0.75]])",
    "t": "torch.tensor([[[0.5, -1.0], [2.0, 0.25], [1.0, -0.5]], [[-1.5, 0.75], [0.5, 3.0], [-2.0, 1.25]]])",
    "v": "torch.tensor([1.0, -2.0, 0.5, 3.0])",
    "w": "torch.tensor([0.5, 1.5, -1.0, 2.0])",
    "h": "torch.tensor([[0.5, -1.25, 2.0], [1.5, 0.25, -2.5]], dtype=torch.float16)",
    "i": "torch.tensor([2, 0, 1, 2])",
    "n": "torch.tensor([[7, -7, 3], [-8, 5, 2]])",
    "d": "torch.tensor([[2, 3, -2], [3, -4, 5]])",
    "m": "torch.tensor([[True, False, True, False], [False, True, True, False], [True, True, False, False]])",
}

FUNCTIONS = """
x + y; x - y; x * y; x / y; x ** 2; p ** 0.5; p ** y; 2 - x; 1 / p; -x; x % y; x // y; x @ y.t(); x @ v; v @ w; t @ t.transpose(1, 2)
n + d; n * d; n // d; n % d; n / d; n - 1.5; n & 3; n | d; n ^ d; x > y; x <= 0.5; n == d; x != y; (x > 0) & m; (x > 0) | m; ~m
torch.neg(x); torch.abs(x); x.abs(); torch.sign(x); torch.exp(x); torch.exp2(x); torch.log(p); torch.log2(p); torch.sqrt(p); torch.rsqrt(p)
torch.sin(x); torch.cos(x); torch.tan(u); torch.asin(u); torch.acos(u); torch.atan(x); torch.sinh(u); torch.cosh(u); torch.tanh(x); torch.erf(x)
torch.sigmoid(x); torch.floor(x); torch.ceil(x); torch.round(x); torch.trunc(x); torch.reciprocal(p); torch.square(x); torch.log1p(p)
torch.expm1(u); torch.relu(x); x.clamp(-1, 1); x.clamp(min=0.25); torch.clamp(x, max=0.5); torch.isnan(x / (x - x)); torch.isinf(x / 0)
torch.maximum(x, y); torch.minimum(x, y); torch.where(m, x, y); torch.where(x > 0, x, 0.0); x.masked_fill(m, -1.5); torch.lerp(x, y, 0.25)
torch.add(x, y, alpha=2); torch.sub(x, y, alpha=0.5); torch.div(n, d, rounding_mode="floor"); torch.pow(x, 3); torch.remainder(x, y)
F.relu(x); F.silu(x); F.gelu(x); F.gelu(x, approximate="tanh"); F.softplus(x); F.leaky_relu(x, 0.1); F.logsigmoid(x); F.sigmoid(x)
F.softmax(x, dim=1); torch.softmax(x, 0); x.softmax(-1); F.log_softmax(x, dim=-1); torch.log_softmax(x, 1); torch.softmax(h, 1, dtype=torch.float32)
F.layer_norm(x, (4,)); F.layer_norm(x, (4,), v, w, 1e-3); F.layer_norm(t, (3, 2)); F.rms_norm(x, (4,), v, 1e-6); F.normalize(x, dim=1)
F.group_norm(x[None].expand(2, 3, 4), 3); F.linear(x, y); F.linear(x, y, torch.tensor([1.0, 2.0, 3.0])); F.embedding(i, x); F.cross_entropy(x, i[:3])
F.cross_entropy(x, i[:3], reduction="sum"); F.cross_entropy(x, i[:3], reduction="none"); F.scaled_dot_product_attention(t, t, t)
F.scaled_dot_product_attention(t, t, t, is_causal=True); F.scaled_dot_product_attention(t, t, t, scale=0.3)
x.sum(); x.sum(0); x.sum(dim=1, keepdim=True); x.sum((0, 1)); t.sum((0, 2)); n.sum(); n.sum(1); x.mean(); x.mean(-1); t.mean((1, 2), keepdim=True)
x.prod(1); x.max(); x.min(); x.amax(1); x.amin(dim=(0, 1)); x.argmax(1); x.argmin(dim=0); x.max(1).values; x.max(dim=1)[1]; x.min(0).indices
x.var(); x.var(1); x.var(1, True); x.var(0, False, True); x.norm(dim=1); x.norm(2, 1); torch.norm(x, dim=0); x.swapaxes(0, 1); x.var(1, unbiased=False); x.std(0); torch.var(x, dim=1, correction=0); x.norm(); torch.linalg.norm(x); m.any(); m.all(1); m.sum(); m.float().mean(0)
torch.logsumexp(x, 1); x.logsumexp(dim=0, keepdim=True); torch.cumsum(x, dim=1); x.cumsum(0); n.cumsum(1); torch.cumprod(x, 1); torch.logcumsumexp(x, 1)
x.t(); x.T; t.permute(2, 0, 1); t.transpose(0, 2); t.mT; x.reshape(4, 3); x.t().reshape(-1); x.view(2, 6); t.flatten(1); t.flatten(0, 1); x.unsqueeze(1); x[:, None].squeeze(1)
x.expand(2, 3, 4); v.expand_as(x); x.repeat(2, 1); v.repeat(2, 3); x.repeat_interleave(2, dim=1); x.flip(1); x.flip((0, 1)); torch.tril(x); torch.triu(x, 1); x.tril(-1)
torch.cat([x, y], dim=1); torch.cat((x, y)); torch.stack([x, y], 1); torch.stack((v, w)); torch.outer(v, w); x.chunk(2, dim=1)[1]; x.split(3, dim=1)[1]; x.split([1, 2])[1]; x.unbind(0)[2]
x.narrow(1, 1, 2); x.select(0, 1); torch.index_select(x, 0, i); torch.gather(x, 1, i[:3, None]); x.sort(1).values; x.sort(dim=0, descending=True)[1]; x.topk(2).values; torch.topk(x, 2, dim=0)[0]; x.argsort(1)
x[1]; x[-1]; x[:, 1:3]; x[1:, ::2]; x[..., 0]; x[None, 1]; x[i]; x[:, i]; x[1, 2]; t[1, :, 0]; x[:2][:, 1]
torch.einsum("ij,kj->ik", x, y); torch.einsum("ij,ij->i", x, y); torch.einsum("bij,bkj->bik", t, t); torch.einsum("ij->ji", x); torch.einsum("ij,j->i", x, v); torch.einsum("bij,bkj->b", t, t)
torch.bmm(t, t.transpose(1, 2)); torch.mm(x, y.t()); torch.addmm(torch.ones(3, 3), x, y.T); torch.dot(v, w); torch.matmul(t, t[0].t()); torch.eye(3); torch.eye(2) * 3
x.to(torch.float16).float(); x.half() + 1; (h * 3).float(); h.float() @ h.float().t(); x.int(); x.long(); (x * 10).to(torch.int8); m.int(); n.float(); x.double()
torch.arange(5); torch.full((2, 3), 1.5); torch.ones(3) * v[:3]; torch.zeros_like(x) + 1; x.new_zeros(2, 2); torch.full_like(x, 2.5)
"""

GRADIENTS = """
x * 2; x * y; x / p; y / (x * x + 1); x ** 3; (x * x + 1) ** 1.5; torch.exp(x); torch.log(p) * x; torch.sqrt(p * x * x + 1); torch.sin(x) * torch.cos(x); torch.tanh(x); torch.sigmoid(x); torch.erf(x)
F.relu(x); F.silu(x); F.gelu(x); F.gelu(x, approximate="tanh"); F.softplus(x); torch.abs(x); x.clamp(-1, 1); torch.maximum(x, y); torch.where(m, x, y); torch.tan(x / 4); torch.atan(x); torch.sinh(x / 4)
torch.softmax(x, 1); F.log_softmax(x, 0); F.layer_norm(x, (4,), v, w); F.rms_norm(x, (4,), v, 1e-6); x.mean(1); x.var(0); x.std(1); x.sum(); x.prod(1); x.amax(1); x.max(0).values; torch.logsumexp(x, 1)
x @ y.t(); y @ x.t(); x.t() @ x; torch.cumsum(x, 1); x[:, 1:3] * 2; x[1]; x.reshape(2, 6) @ torch.ones(6, 1); torch.cat([x, x * 2], 1); x.repeat(2, 2); x.expand(2, 3, 4); x.flip(0) * y
F.cross_entropy(x, i[:3]); F.linear(x, y); x[i]; torch.einsum("ij,kj->ik", x, x); torch.tril(x) * y; x.detach() * x; torch.gather(x, 1, i[:3, None]); F.scaled_dot_product_attention(x, x, y)
"""

HEADER = '''"""PyTorch's functions beside PyTorch's numbers: written by `tests/judge/torch_functions.py`."""

import torch
import torch.nn.functional as F
import triton
import triton.language as tl


@triton.jit
def nothing(x_ptr):
    tl.store(x_ptr, 1.0)


nothing[(1,)](torch.zeros(1, device="cuda"))
'''


def listed(t: torch.Tensor) -> str:
    values = t.detach().to(torch.float64 if t.is_floating_point() else t.dtype)

    def text(v):
        if isinstance(v, list):
            return "[" + ", ".join(text(item) for item in v) + "]"
        return repr(v) if not isinstance(v, float) or v == v and abs(v) != float("inf") else f'float("{v}")'

    return f"torch.tensor({text(values.tolist())}, dtype={t.dtype})"


def statements(text: str) -> list[str]:
    return [part.strip() for line in text.strip().splitlines() for part in line.split(";")]


def main():
    names = {"torch": torch, "F": torch.nn.functional}
    print(HEADER)
    for name, made in INPUTS.items():
        names[name] = eval(made, names)
        print(f"{name} = {made}")
    print("\n# fmt: off")
    for text in statements(FUNCTIONS):
        value = eval(text, names)
        print(f"torch.testing.assert_close({text}, {listed(value)}, rtol=1e-5, atol=1e-6)")
    print("\nx.requires_grad_()")
    names["x"].requires_grad_()
    for text in statements(GRADIENTS):
        names["x"].grad = None
        value = eval(text, names)
        weights = (torch.arange(value.numel()) % 5 - 1.5).reshape(value.shape)
        value.backward(weights)
        print("x.grad = None")
        print(f"value = {text}")
        print("value.backward((torch.arange(value.numel()) % 5 - 1.5).reshape(value.shape))")
        print(f"torch.testing.assert_close(x.grad, {listed(names['x'].grad)}, rtol=1e-4, atol=1e-5)")


if __name__ == "__main__":
    main()
