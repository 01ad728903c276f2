#!/usr/bin/python3
"""Writes the fixtures of motions beside this script, with the real NumPy and joblib (Debian: python3-numpy,
python3-joblib).

The motion is test/synthetic.c's synthetic_turn, made by formula. Forward kinematics is done here a second
time, with matrices, from the table of links in src/robot/g1.c.
  beyondmimic_isaac.npz    np.savez             Isaac's breadth-first order, no names; its joint arrays are
                                                in Fortran order, as NumPy makes them by taking columns
  beyondmimic_mujoco.npz   np.savez_compressed  MuJoCo's order, no names
  holosoma.npz             np.savez_compressed  float64, root pose in joint_pos, names, more bodies
  gmr.pkl                  pickle, protocol 4   keys of GMR, 29 joints, bodies with names
  gmr23.pkl                pickle, protocol 5   the same without bodies, 23 joints
  asap.pkl                 joblib.dump          keys of ASAP, 23 joints, one array in Fortran order
  asap_set.pkl             joblib, compress=3   two motions of 29 joints
  qpos.npz                 np.savez             qpos of MuJoCo, its rate as "frequency"
  turn.csv                 np.savetxt           3 frames, quaternion x,y,z,w
  turn.safetensors         by hand              3 frames
"""
import json
import os
import pickle
import re
import struct
import joblib
import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = open(os.path.join(HERE, "../../src/robot/g1.c")).read()
N, FPS = 12, 50


def numbers(text):
    return [float(x) for x in text.split(",")]


def links():
    """name, parent, position, quaternion, axis of each link"""
    table = SOURCE[SOURCE.index("G1_LINK[G1_LINKS]"):SOURCE.index("Armature of the motor")]
    row = r'\{"(\w+)",\s*(-?\d+),\s*\{([^}]*)\},\s*\{([^}]*)\},\s*\{([^}]*)\}'
    return [(n, int(p), np.array(numbers(a)), np.array(numbers(b)), np.array(numbers(c)))
            for n, p, a, b, c in re.findall(row, table)]


def joints():
    rows = re.findall(r'JOINT\("(\w+)", (-?[\d.]+),', SOURCE)
    return [n for n, _ in rows], np.array([float(q) for _, q in rows])


def mul(a, b):
    return np.array([a[0] * b[0] - a[1:] @ b[1:], *(a[0] * b[1:] + b[0] * a[1:] + np.cross(a[1:], b[1:]))])


def turn(v):
    angle = np.linalg.norm(v)
    return np.array([np.cos(angle / 2), *(np.sin(angle / 2) * v / angle if angle > 0 else v)])


def matrix(q):
    w, x, y, z = q
    return np.array([[1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                     [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                     [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]])


def motion(q0):
    qpos = np.zeros((N, 36))
    for i in range(N):
        t = i / FPS
        lean = np.array([0.02 * np.sin(2 * t), 0.03 * np.sin(3 * t), 0])
        qpos[i, :3] = 0.1 * np.sin(t), 0.1 * (1 - np.cos(t)), 0.76 + 0.002 * np.sin(5 * t)
        qpos[i, 3:7] = mul(turn(np.array([0, 0, 1.5 * t])), turn(lean))
        qpos[i, 7:] = q0
        k = np.arange(12, 29)
        qpos[i, 19:] += 0.2 * np.sin((1 + 0.1 * k) * t + k)
    return qpos


def kinematics(table, qpos):
    pos, quat = np.zeros((N, 30, 3)), np.zeros((N, 30, 4))
    for i in range(N):
        pos[i, 0], quat[i, 0] = qpos[i, :3], qpos[i, 3:7]
        for k in range(1, 30):
            _, parent, offset, mount, axis = table[k]
            pos[i, k] = pos[i, parent] + matrix(quat[i, parent]) @ offset
            quat[i, k] = mul(mul(quat[i, parent], mount), turn(qpos[i, 6 + k] * axis))
    return pos, quat


def breadth_first(table):
    order, level = [], [0]
    while level:
        order += level
        level = [k for parent in level for k in range(30) if table[k][1] == parent]
    return np.array(order)


def rates(x):
    return np.gradient(x, 1 / FPS, axis=0)


table = links()
names, q0 = joints()
assert len(table) == 30 and len(names) == 29
qpos = motion(q0)
pos, quat = kinematics(table, qpos)

for name, order, save in (("beyondmimic_isaac", breadth_first(table), np.savez),
                          ("beyondmimic_mujoco", np.arange(30), np.savez_compressed)):
    angles = qpos[:, 7:][:, order[1:] - 1]
    save(os.path.join(HERE, name + ".npz"), fps=np.array([FPS]), joint_pos=angles.astype(np.float32),
         joint_vel=rates(angles).astype(np.float32), body_pos_w=pos[:, order].astype(np.float32),
         body_quat_w=quat[:, order].astype(np.float32), body_lin_vel_w=rates(pos[:, order]).astype(np.float32),
         body_ang_vel_w=np.zeros((N, 30, 3), np.float32))

# Bodies by name: the world first, the links backwards after it, then parts that are not links of ours.
bodies = ["world"] + [row[0] for row in table[::-1]] + ["part_%d" % i for i in range(20)]
body_pos, body_quat = np.zeros((N, 51, 3)), np.zeros((N, 51, 4))
body_quat[:, :, 0] = 1
body_pos[:, 1:31], body_quat[:, 1:31] = pos[:, ::-1], quat[:, ::-1]
shuffled = np.arange(29)[::-1]
np.savez_compressed(os.path.join(HERE, "holosoma.npz"), fps=np.array(float(FPS)),
                    joint_pos=np.hstack([qpos[:, :7], qpos[:, 7:][:, shuffled]]), joint_vel=np.zeros((N, 35)),
                    body_pos_w=body_pos, body_quat_w=body_quat, body_lin_vel_w=rates(body_pos),
                    body_ang_vel_w=np.zeros((N, 51, 3)), joint_names=np.array([names[k] for k in shuffled]),
                    body_names=np.array(bodies))

# Pickles. Bodies are in the pelvis' frame; the quaternion is x,y,z,w.
xyzw = qpos[:, [4, 5, 6, 3]]
at_origin = np.hstack([np.tile([0, 0, 0, 1.0, 0, 0, 0], (N, 1)), qpos[:, 7:]])
local = kinematics(table, at_origin)[0].astype(np.float32)
gmr = {"fps": np.float64(FPS), "root_pos": qpos[:, :3], "root_rot": xyzw, "dof_pos": qpos[:, 7:],
       "local_body_pos": local, "link_body_list": [row[0] for row in table]}
with open(os.path.join(HERE, "gmr.pkl"), "wb") as f:
    pickle.dump(gmr, f, protocol=4)
without_wrists = np.r_[0:19, 22:26]
short = {"fps": float(FPS), "root_pos": qpos[:, :3].astype(np.float32), "root_rot": xyzw.astype(np.float32),
         "dof_pos": np.ascontiguousarray(qpos[:, 7:][:, without_wrists].astype(np.float32)),
         "local_body_pos": None, "link_body_list": None}
with open(os.path.join(HERE, "gmr23.pkl"), "wb") as f:
    pickle.dump(short, f, protocol=5)


def asap(columns):
    angles = qpos[:, 7:][:, columns].astype(np.float32)
    vectors = np.zeros((N, 1 + len(columns) + 3, 3), np.float32)
    for k, joint in enumerate(columns):
        vectors[:, 1 + k] = angles[:, k:k + 1] * table[1 + joint][4]
    return {"root_trans_offset": qpos[:, :3].astype(np.float32), "pose_aa": vectors,
            "dof": np.asfortranarray(angles), "root_rot": xyzw, "smpl_joints": np.zeros((N, 24, 3), np.float32),
            "fps": FPS}


joblib.dump({"turn": asap(without_wrists)}, os.path.join(HERE, "asap.pkl"))
joblib.dump({"first": asap(np.arange(29)), "second": asap(np.arange(29))}, os.path.join(HERE, "asap_set.pkl"),
            compress=3)
np.savez(os.path.join(HERE, "qpos.npz"), qpos=qpos, qvel=np.zeros((N, 35)), frequency=np.array(float(FPS)))

np.savetxt(os.path.join(HERE, "turn.csv"), qpos[:3][:, [0, 1, 2, 4, 5, 6, 3, *range(7, 36)]], "%.9g", ",")
header = json.dumps({"__metadata__": {"format": "heracles-clip", "name": "turn", "fps": str(FPS),
                                      "joint_names": ",".join(names)},
                     "qpos": {"dtype": "F32", "shape": [3, 36], "data_offsets": [0, 432]}}).encode()
with open(os.path.join(HERE, "turn.safetensors"), "wb") as f:
    f.write(struct.pack("<Q", len(header)) + header + qpos[:3].astype("<f4").tobytes())
