#!/usr/bin/python3
"""Makes torch_field.safetensors: a small velocity field in PyTorch, written only from its description in
src/plan/field.h, with its outputs, the gradient of every parameter, and ten steps of AdamW.

    apt-get install python3-torch && /usr/bin/python3 test/data/make_torch_vectors.py

The file is in git; tests read it without Python."""

import json
import math
import os
import struct

import torch
from torch import nn
import torch.nn.functional as F

DEPTH, HEADS, WIDTH, RATIO, TOKENS, DIM, COND, BATCH = 2, 4, 32, 2, 8, 38, 76, 5
RATE, DECAY, CLIP, STEPS = 3e-3, 1e-2, 0.25, 10


def sinusoid(t, size):
    half = size // 2
    f = torch.exp(-math.log(10000) * torch.arange(half, dtype=torch.float64) / half)
    a = t.double()[:, None] * f[None]
    return torch.cat([torch.cos(a), torch.sin(a)], 1).float()


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.proj = nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = self.qkv(x).reshape(B, T, 3, HEADS, C // HEADS).permute(2, 0, 3, 1, 4)
        p = torch.softmax(q @ k.transpose(-1, -2) / math.sqrt(C // HEADS), -1)
        return self.proj((p @ v).transpose(1, 2).reshape(B, T, C))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.modulation = nn.Linear(WIDTH, 6 * WIDTH)
        self.norm = nn.LayerNorm(WIDTH, eps=1e-6, elementwise_affine=False)
        self.attention = Attention()
        self.up = nn.Linear(WIDTH, RATIO * WIDTH)
        self.down = nn.Linear(RATIO * WIDTH, WIDTH)

    def forward(self, x, c):
        s1, a1, g1, s2, a2, g2 = self.modulation(F.silu(c))[:, None].chunk(6, -1)
        x = x + g1 * self.attention(self.norm(x) * (1 + a1) + s1)
        return x + g2 * self.down(F.gelu(self.up(self.norm(x) * (1 + a2) + s2), approximate="tanh"))


class Field(nn.Module):
    def __init__(self):
        super().__init__()
        self.time = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.SiLU(), nn.Linear(WIDTH, WIDTH))
        self.cond = nn.Sequential(nn.Linear(COND, WIDTH), nn.SiLU(), nn.Linear(WIDTH, WIDTH))
        self.embed = nn.Linear(DIM, WIDTH)
        self.position = nn.Parameter(torch.randn(TOKENS, WIDTH))
        self.blocks = nn.ModuleList([Block() for _ in range(DEPTH)])
        self.norm = nn.LayerNorm(WIDTH, eps=1e-6)
        self.head = nn.Linear(WIDTH, DIM)

    def forward(self, x, t, cond):
        c = self.time(sinusoid(1000 * t, WIDTH)) + self.cond(cond)
        x = self.embed(x) + self.position
        for block in self.blocks:
            x = block(x, c)
        return self.head(self.norm(x))


def named(model, what):
    """The tensors under the names and stacked shapes that the C side gives them."""
    out = {}
    for seq in ("time", "cond"):
        for i in (0, 2):
            for kind in ("weight", "bias"):
                out[f"{seq}.{i}.{kind}"] = what(getattr(getattr(model, seq)[i], kind))
    for kind in ("weight", "bias"):
        out[f"embed.{kind}"] = what(getattr(model.embed, kind))
        out[f"modulation.{kind}"] = torch.cat([what(getattr(b.modulation, kind)) for b in model.blocks])
        out[f"norm.{kind}"] = what(getattr(model.norm, kind))
        out[f"head.{kind}"] = what(getattr(model.head, kind))
        for name, get in (("attention.qkv", lambda b: b.attention.qkv), ("attention.proj", lambda b: b.attention.proj),
                          ("mlp.up", lambda b: b.up), ("mlp.down", lambda b: b.down)):
            out[f"{name}.{kind}"] = torch.stack([what(getattr(get(b), kind)) for b in model.blocks])
    out["position"] = what(model.position)
    return out


def write(path, tensors):
    header, blobs, at = {}, [], 0
    for name, t in tensors.items():
        blob = t.detach().float().contiguous().numpy().tobytes()
        header[name] = {"dtype": "F32", "shape": list(t.shape), "data_offsets": [at, at + len(blob)]}
        blobs.append(blob)
        at += len(blob)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + b"".join(blobs))


def main():
    torch.manual_seed(1)
    torch.set_num_threads(1)
    model = Field()
    for p in model.parameters():  # nothing at zero, so that every path carries a gradient
        p.data += 0.05 * torch.randn_like(p)
    x, target = torch.randn(BATCH, TOKENS, DIM), torch.randn(BATCH, TOKENS, DIM)
    weight, cond, t = torch.rand(BATCH, TOKENS, DIM) + 0.1, torch.randn(BATCH, COND), torch.rand(BATCH)
    out = {"in.x": x, "in.target": target, "in.weight": weight, "in.cond": cond, "in.t": t}
    out |= {"param." + k: v.clone() for k, v in named(model, lambda p: p.data).items()}

    def loss_of(v):
        return (weight * (v - target) ** 2).mean()

    v = model(x, t, cond)
    loss_of(v).backward()
    out["out.v"] = v
    out |= {"grad." + k: g for k, g in named(model, lambda p: p.grad.clone()).items()}

    optimiser = torch.optim.AdamW(model.parameters(), lr=RATE, betas=(0.9, 0.999), eps=1e-8, weight_decay=DECAY)
    losses, norms, sums = [], [], []
    for _ in range(STEPS):
        optimiser.zero_grad()
        loss = loss_of(model(x, t, cond))
        loss.backward()
        norms.append(float(nn.utils.clip_grad_norm_(model.parameters(), CLIP)))
        optimiser.step()
        losses.append(float(loss))
        flat = torch.cat([p.data.double().flatten() for p in model.parameters()])
        sums.append([float(flat.sum()), float((flat**2).sum())])
    out["steps.loss"], out["steps.norm"] = torch.tensor(losses), torch.tensor(norms)
    out["steps.sums"] = torch.tensor(sums)
    # Not the bias of q, k and v: softmax ignores k's, so its gradient is rounding noise, which Adam makes big.
    after = [k for k in named(model, lambda p: p.data) if k == "head.weight" or "bias" in k and "qkv" not in k]
    out |= {"after." + k: named(model, lambda p: p.data)[k] for k in after}
    write(os.path.join(os.path.dirname(os.path.abspath(__file__)), "torch_field.safetensors"), out)
    print(losses, norms, sum(p.numel() for p in model.parameters()))


if __name__ == "__main__":
    main()
