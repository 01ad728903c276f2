// Runs a policy in ONNX Runtime over recorded steps and compares it with what is recorded (test/runtime.c):
//   node replay_onnx.mjs MODULES policy.onnx steps.f32 IN:COUNT,... OUT:COUNT,...
// MODULES: a folder whose node_modules has onnxruntime-node. steps.f32: each step's inputs, then its outputs, in
// that order. Prints {steps, worst, ties}: the largest difference of the first output over steps whose other
// outputs, the token, agree within 1e-3, and how many steps do not (a number between two levels). Warnings of
// ONNX Runtime go to stderr.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { resolve } from 'node:path';

const [modules, policy, recorded, ins, outs] = process.argv.slice(2);
const ort = createRequire(resolve(modules) + '/')('onnxruntime-node');
const parts = text => text.split(',').map(part => [part.split(':')[0], +part.split(':')[1]]);
const inputs = parts(ins), outputs = parts(outs);
const bytes = readFileSync(recorded), numbers = new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
const stride = [...inputs, ...outputs].reduce((sum, [, n]) => sum + n, 0), steps = numbers.length / stride;
const session = await ort.InferenceSession.create(policy, { intraOpNumThreads: 1, interOpNumThreads: 1, logSeverityLevel: 2 });
const largest = (a, b) => a.reduce((most, x, i) => Math.max(most, Math.abs(x - b[i])), 0);
let worst = 0, ties = 0;
for (let step = 0; step < steps; step++) {
    let at = step * stride;
    const next = n => numbers.subarray(at, at += n);
    const feed = Object.fromEntries(inputs.map(([name, n]) => [name, new ort.Tensor('float32', next(n), [1, n])]));
    const expected = outputs.map(([, n]) => next(n)), got = await session.run(feed);
    const off = outputs.map(([name], i) => largest(expected[i], got[name].data));
    if (off.slice(1).some(x => !(x < 1e-3))) ties++;
    else worst = Math.max(worst, off[0]);
}
console.log(JSON.stringify({ steps, worst, ties }));
