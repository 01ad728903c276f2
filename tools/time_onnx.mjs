// Median ms of 5 runs of a velocity field in ONNX Runtime: node time_onnx.mjs field.onnx THREADS PLANS
import ort from 'onnxruntime-node';

const [file, threads, plans] = process.argv.slice(2);
const session = await ort.InferenceSession.create(file, { intraOpNumThreads: Number(threads), interOpNumThreads: 1 });
const x = new Float32Array(8 * 38).fill(0.1), cond = new ort.Tensor('float32', new Float32Array(76).fill(0.1), [1, 76]);
const times = [];
for (let i = 0; i < Number(plans) + 10; i++) {
    const begin = performance.now();
    for (let k = 0; k < 5; k++) {
        const t = 0.9 * (1 - k / 5);
        const { v } = await session.run({ x: new ort.Tensor('float32', x, [1, 8, 38]), t: new ort.Tensor('float32', [t], [1]), cond });
        for (let j = 0; j < x.length; j++) x[j] -= 0.18 * v.data[j];
    }
    if (i >= 10) times.push(performance.now() - begin);
    x.fill(0.1);
}
times.sort((a, b) => a - b);
console.log(times[times.length >> 1]);
