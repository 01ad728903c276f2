"""python/heracles.py against libheracles.so: structs as C has them (sizes on the command line), a rollout, a stream,
errors. Prints the targets, which test/library.c compares with its own."""
import ctypes
import sys

sys.path.insert(0, "python")
import heracles as h

tracker_file, planner_file, motion_file, *sizes = sys.argv[1:]
structs = [h._Error, h._Joint, h._State, h.Frame, h._Motion, h.Source, h.Keyframes, h.Target, h._Options, h.Report]
assert [ctypes.sizeof(s) for s in structs] == [int(n) for n in sizes], [ctypes.sizeof(s) for s in structs]

assert h.version() == "0.2.0" and len(h.joint_names()) == 29 and h.joint_names()[3] == "left_knee_joint"
tracker, planner = h.Model(tracker_file), h.Model(planner_file)
assert (tracker.kind, planner.kind) == ("tracker", "planner") and tracker.trained
motion = h.Motion.load(motion_file)
assert motion.source.format == b"safetensors clip" and len(motion) > 100 and len(motion.qpos(0)) == 36

with h.Controller(tracker, planner, seed=5, replan=3) as c:
    c.follow(motion, place=False)
    for i in range(100):
        target = c.control(motion.qpos(i), motion.qvel(i))
    assert c.report.step == 100 and c.report.plans == 34 and c.report.frame == 99
    print(" ".join("%.17g" % x for x in target.q))

c = h.Controller(tracker)
stance = h.stance()
c.follow(h.Motion([stance]))
c.append([stance] * 30, fps=30)
assert c.ahead == 50 and c.room == 200, (c.ahead, c.room)
target = c.control(stance, [0] * 35)
assert all(k > 0 for k in target.kp) and c.report.frames == 51

for call, text in ((lambda: h.Model("absent.safetensors"), "absent"), (lambda: c.append([stance] * 999), "frames ahead"),
                   (lambda: h.Motion.load("Makefile"), "Makefile"), (lambda: h.Controller(planner), "expected a tracker")):
    try:
        call()
    except h.Error as e:
        assert text in str(e) and e.status < 0, str(e)
    else:
        raise AssertionError("no error: " + text)
for call in (lambda: c.control([0], [0]), lambda: h.Motion([[0] * 35]), lambda: c.append([0] * 37)):
    try:
        call()
    except ValueError:
        pass
    else:
        raise AssertionError("no ValueError")
c.close()
try:
    c.ahead
except ValueError:
    print("good")
