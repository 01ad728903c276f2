// Loads assets/g1.xml in the newest MuJoCo (its WebAssembly build from npm) and steps it for half a second.
// The program itself uses Debian's MuJoCo 2.2.2; this shows that the file needs nothing removed later on.
import { readFileSync } from 'node:fs';
import load from '@mujoco/mujoco';

const mujoco = await load();
mujoco.FS.writeFile('/g1.xml', readFileSync('assets/g1.xml', 'utf8'));
const model = mujoco.MjModel.from_xml_path('/g1.xml');
const data = new mujoco.MjData(model);
for (let i = 0; i < 100; i++) mujoco.mj_step(model, data);
const height = data.qpos[2];
console.log(`MuJoCo ${mujoco.mj_versionString()}: ${model.nbody} bodies, nq ${model.nq}, pelvis at ${height.toFixed(3)} m`);
if (model.nq !== 36 || model.nu !== 29 || !(height > 0.5 && height < 0.8)) process.exit(1);
