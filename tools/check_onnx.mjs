// Runs an exported velocity field or tracker in ONNX Runtime and compares it with what `heracles export --json` says:
//   heracles export MODEL -o field.onnx --json > field.json && node check_onnx.mjs field.json
// Also prints what one evaluation takes there on one thread, for comparison with `heracles bench plan`.
import { readFileSync } from 'node:fs';
import ort from 'onnxruntime-node';

const said = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const D = said.dim ?? 0, wave = (n) => Float32Array.from({ length: n }, (_, i) => Math.sin(Math.fround(0.37) * i));
const session = await ort.InferenceSession.create(said.onnx, { intraOpNumThreads: 1 });
const feed = said.dialect ? {
    obs: new ort.Tensor('float32', wave(994), [1, 994]),
    ...(said.dialect === 'beyondmimic' ? { time_step: new ort.Tensor('float32', [7], [1, 1]) } : {}),
} : said.example_actions ? {
    proprio: new ort.Tensor('float32', wave(930), [1, 930]),
    window: new ort.Tensor('float32', wave(410), [1, 410]),
} : {
    x: new ort.Tensor('float32', wave(8 * D), [1, 8, D]),
    t: new ort.Tensor('float32', [said.example_t], [1]),
    cond: new ort.Tensor('float32', wave(said.cond), [1, said.cond]),
};
const { v, actions } = await session.run(feed);
let worst = 0;
(said.example_v ?? said.example_actions).forEach((x, i) => {
    worst = Math.max(worst, Math.abs(x - (v ?? actions).data[i]));
});
const times = [];
for (let i = 0; i < 50; i++) {
    const begin = performance.now();
    await session.run(feed);
    times.push(performance.now() - begin);
}
times.sort((a, b) => a - b);
console.log(`ONNX Runtime: largest difference ${worst.toExponential(2)}, one run p50 ${times[25].toFixed(2)} ms (a plan has 5)`);
process.exit(worst < 1e-4 ? 0 : 1);
