#!/usr/bin/python3
"""How long a full replan of the paper's planner (22.9 M parameters, 5 Euler steps) takes here in this program, in
PyTorch and in ONNX Runtime, measured in turns so that other load on the machine meets all alike.

    make compare-planner            # needs python3-torch (apt) and node with onnxruntime-node (npm)

Ours: `heracles bench plan`. PyTorch: the network of test/data/make_torch_vectors.py, eager and traced, without
gradients; the time embedding of the 5 steps is made before, as ours is. ONNX Runtime: `heracles export`, 5 runs.
PyTorch's bf16 is the same network with weights and activations in bfloat16, timed where the processor has AVX-512;
ONNX Runtime has no bf16 on a CPU."""

import json
import os
import statistics
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROUNDS, PLANS = int(os.environ.get("ROUNDS", 3)), int(os.environ.get("PLANS", 30))


def torch_field():
    sys.path.insert(0, os.path.join(ROOT, "test", "data"))
    import make_torch_vectors as m
    m.DEPTH, m.HEADS, m.WIDTH, m.RATIO, m.TOKENS, m.DIM, m.COND = 6, 4, 512, 2, 8, 38, 76
    return m.Field().eval(), m.sinusoid


def torch_plans(precision, threads):
    """Median ms of a plan, eager and traced, whichever is faster."""
    import torch
    torch.set_num_threads(threads)
    model, sinusoid = torch_field()
    steps = [0.9 * (1 - i / 5) for i in range(5)]

    class Step(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.f = model

        def forward(self, x, waves, cond):
            c = self.f.time(waves) + self.f.cond(cond)
            y = self.f.embed(x) + self.f.position
            for block in self.f.blocks:
                y = block(y, c)
            return x - 0.18 * self.f.head(self.f.norm(y))

    with torch.no_grad():
        kind = {"fp32": torch.float32, "bf16": torch.bfloat16}[precision]
        waves = [sinusoid(torch.tensor([1000 * t]), 512).to(kind) for t in steps]
        x, cond, best = torch.randn(1, 8, 38, dtype=kind), torch.randn(1, 76, dtype=kind), []
        step = Step().eval().to(kind)
        for run in (step, torch.jit.freeze(torch.jit.trace(step, (x, waves[0], cond)))):
            times = []
            for _ in range(PLANS + 10):
                begin, y = time.perf_counter(), x
                for w in waves:
                    y = run(y, w, cond)
                times.append(1e3 * (time.perf_counter() - begin))
            best.append(statistics.median(times[10:]))
    return min(best)


def ours(program):
    out = json.loads(subprocess.check_output([program, "bench", "plan", "--json", "--quiet", "--plans", str(PLANS)]))
    return {k: v["p50_ms"] for k, v in out.items() if isinstance(v, dict)}


# OpenBLAS 0.3.21 does not know processors newer than itself, and oneDNN 2.6 has not been lent the tiles it finds there:
# PyTorch would run on kernels of 2004 or die of an illegal instruction.
FAIR = {"OPENBLAS_CORETYPE": "SkylakeX", "ONEDNN_MAX_CPU_ISA": "AVX512_CORE_BF16"}


def child(*what):
    wide = "avx512_bf16" in open("/proc/cpuinfo").read()
    return json.loads(subprocess.check_output([sys.executable, os.path.abspath(__file__), *what], stderr=subprocess.DEVNULL,
                                              env={**os.environ, **(FAIR if wide else {})}))


def main():
    if sys.argv[1] == "torch":
        print(torch_plans(sys.argv[2], int(sys.argv[3])))
        return
    program, field = sys.argv[1:3]
    precisions = ["fp32"] + ["bf16"] * ("avx512_bf16" in open("/proc/cpuinfo").read())
    found = {}
    for _ in range(ROUNDS):
        for key, ms in ours(program).items():
            found.setdefault(("heracles", key), []).append(ms)
        for threads in (1, 2):
            for precision in precisions:
                found.setdefault(("PyTorch", f"{precision}_{threads}"), []).append(
                    child("torch", precision, str(threads)))
            onnx = subprocess.check_output(["node", "time_onnx.mjs", field, str(threads), str(PLANS)],
                                           cwd=os.path.dirname(field))
            found.setdefault(("ONNX Runtime", f"fp32_{threads}"), []).append(json.loads(onnx))
    print(f"a full replan, ms: median of {ROUNDS} rounds of the p50 of {PLANS} plans (least, most)")
    for key in ("fp32_1", "fp32_2", "bf16_1", "bf16_2"):
        for who in ("heracles", "PyTorch", "ONNX Runtime"):
            ms = found.get((who, key))
            if ms:
                print(f"  {key:8} {who:14} {statistics.median(ms):8.2f}  ({min(ms):.2f}, {max(ms):.2f})")


main()
