"""Whole-body control of the Unitree G1: libheracles in Python, through ctypes; needs the standard library alone.

    import heracles
    tracker = heracles.Model("models/tracker.safetensors")
    motion = heracles.Motion.load("walk.csv")
    with heracles.Controller(tracker, planner=None) as controller:
        controller.follow(motion)
        target = controller.control(qpos, qvel)      # every 20 ms: 36 and 35 numbers in; target.q, .kp, .kd out

Everything is as include/heracles.h says: SI units, radians, quaternions w,x,y,z, 50 Hz, one object in one thread.
Poses are sequences of numbers or NumPy arrays; NumPy is not needed. Every failure is a heracles.Error whose text is
the library's one sentence.

The library is looked for in $HERACLES_LIBRARY, beside this file, in ../build, and where the system looks.
"""
import ctypes as _c
import ctypes.util as _util
import os as _os

__all__ = ["Error", "Model", "Motion", "Controller", "Target", "JOINTS", "NQ", "NV", "RATE_HZ", "joint_names", "stance",
           "version"]

JOINTS, NQ, NV, RATE_HZ, WINDOW, KEYFRAMES, VERDICTS = 29, 36, 35, 50, 10, 8, 4
PLACE, WAIT = 1, 2  # how a motion begins: moved to where the robot is; held until the robot is there
TRACKER, PLANNER = 0, 1


class Error(Exception):
    """status: the library's number, below 0."""

    def __init__(self, status, text):
        super().__init__(text)
        self.status = status


# ---- The structs of heracles.h ----


class _Error(_c.Structure):
    _fields_ = [("text", _c.c_char * 512)]


class _Joint(_c.Structure):
    _fields_ = [("name", _c.c_char_p)] + [(n, _c.c_double) for n in (
        "q0", "armature", "kp", "kd", "effort", "velocity", "action_scale", "lo", "hi", "soft_lo", "soft_hi")]


class _State(_c.Structure):
    _fields_ = [("qpos", _c.c_double * NQ), ("qvel", _c.c_double * NV)]


class Frame(_c.Structure):
    _fields_ = [("qpos", _c.c_float * NQ), ("qvel", _c.c_float * NV)]


class _Motion(_c.Structure):
    _fields_ = [("n", _c.c_int), ("qpos", _c.POINTER(_c.c_float)), ("qvel", _c.POINTER(_c.c_float))]


class Source(_c.Structure):
    """What a motion file was, and how what it does not say was decided."""
    _fields_ = [("fps", _c.c_double), ("frames", _c.c_int), ("format", _c.c_char * 64), ("rate", _c.c_char * 320),
                ("joints", _c.c_char * 320), ("quaternion", _c.c_char * 320)]


class Keyframes(_c.Structure):
    _fields_ = [("qpos", _c.c_float * NQ * KEYFRAMES), ("span_s", _c.c_double)]


class Target(_c.Structure):
    """For the PD law of every joint: torque = kp (q - angle) - kd speed."""
    _fields_ = [("q", _c.c_double * JOINTS), ("kp", _c.c_double * JOINTS), ("kd", _c.c_double * JOINTS)]


class _PlanOptions(_c.Structure):
    _fields_ = [("seed", _c.c_uint64), ("steps", _c.c_int), ("t_start", _c.c_float), ("noise", _c.c_float),
                ("cold", _c.c_int), ("bf16", _c.c_int), ("threads", _c.c_int)]


class _Options(_c.Structure):
    _fields_ = [("plan", _PlanOptions), ("replan", _c.c_int), ("leash_m", _c.c_double), ("leash_rad", _c.c_double),
                ("wait_s", _c.c_double), ("apart", _c.c_int), ("stream", _c.c_int)]


class Report(_c.Structure):
    """What the last control() did; see hrc_report."""
    _fields_ = [("step", _c.c_int64), ("frame", _c.c_int), ("frames", _c.c_int), ("waiting", _c.c_int),
                ("planned", _c.c_int), ("replanned", _c.c_int), ("off", _c.c_double), ("verdict", _c.c_int),
                ("reference", Frame), ("plan", Keyframes), ("plan_age_s", _c.c_double), ("window", Frame * WINDOW),
                ("gap_rad", _c.c_double), ("rewrite_rad", _c.c_double), ("_token", _c.POINTER(_c.c_float)),
                ("ntoken", _c.c_int), ("plans", _c.c_int64), ("verdicts", _c.c_int64 * VERDICTS),
                ("plan_ms", _c.c_double)]


# ---- The library ----

_VERSION = b"0.2.0"


def _find():
    here = _os.path.dirname(_os.path.abspath(__file__))
    places = [_os.environ.get("HERACLES_LIBRARY"), _os.path.join(here, "libheracles.so"),
              _os.path.join(here, "..", "build", "libheracles.so"), _util.find_library("heracles")]
    for place in places:
        if place and (not _os.path.dirname(place) or _os.path.exists(place)):
            return place
    raise ImportError("libheracles.so is nowhere: build it with `make` or name it in HERACLES_LIBRARY")


def _declare(lib):
    p, s, i, d = _c.c_void_p, _c.c_char_p, _c.c_int, _c.c_double
    err, floats, motion = _c.POINTER(_Error), _c.POINTER(_c.c_float), _c.POINTER(_Motion)
    table = {
        "hrc_version": (s, []),
        "hrc_robot_joints": (_c.POINTER(_Joint), []),
        "hrc_robot_stance": (None, [_c.POINTER(d)]),
        "hrc_defaults": (_Options, []),
        "hrc_model_load": (i, [_c.POINTER(p), s, err]),
        "hrc_model_free": (None, [p]),
        "hrc_model_kind": (i, [p]),
        "hrc_model_trained": (s, [p]),
        "hrc_motion_load": (i, [motion, s, d, _c.POINTER(Source), err]),
        "hrc_motion_resample": (i, [motion, floats, i, d, err]),
        "hrc_motion_free": (None, [motion]),
        "hrc_controller_create": (i, [_c.POINTER(p), p, p, _c.POINTER(_Options), err]),
        "hrc_controller_free": (None, [p]),
        "hrc_controller_reset": (None, [p]),
        "hrc_controller_use_planner": (None, [p, i]),
        "hrc_controller_report": (_c.POINTER(Report), [p]),
        "hrc_follow": (i, [p, motion, i, i, err]),
        "hrc_append": (i, [p, floats, i, d, err]),
        "hrc_ahead": (i, [p]),
        "hrc_room": (i, [p]),
        "hrc_control": (i, [p, _c.POINTER(_State), _c.POINTER(Target), err]),
    }
    for name, (result, arguments) in table.items():
        function = getattr(lib, name)
        function.restype, function.argtypes = result, arguments
    if lib.hrc_version() != _VERSION:
        raise ImportError("%s is version %s, expected %s" % (lib._name, lib.hrc_version().decode(), _VERSION.decode()))
    return lib


_lib = _declare(_c.CDLL(_find()))


def _call(function, *arguments):
    err = _Error()
    status = function(*arguments, _c.byref(err))
    if status < 0:
        raise Error(status, err.text.decode("utf-8", "replace"))
    return status


def _floats(values, columns, what):
    """Rows of numbers, flat or nested, or an array of NumPy's, as C floats, and how many rows."""
    if hasattr(values, "reshape"):
        values = values.reshape(-1).tolist()
    values = list(values)
    if values and hasattr(values[0], "__len__"):
        for row in values:
            if len(row) != columns:
                raise ValueError("%s: a row of %d numbers, expected %d" % (what, len(row), columns))
        values = [x for row in values for x in row]
    if len(values) % columns:
        raise ValueError("%s: %d numbers, expected a multiple of %d" % (what, len(values), columns))
    return (_c.c_float * len(values))(*values), len(values) // columns


def version():
    return _lib.hrc_version().decode()


def joints():
    """The 29 joints, in the G1's order: name, q0, kp, kd, lo, hi, ... each."""
    table = _lib.hrc_robot_joints()
    return [table[i] for i in range(JOINTS)]


def joint_names():
    return [j.name.decode() for j in joints()]


def stance():
    """qpos of standing with bent knees at the origin."""
    qpos = (_c.c_double * NQ)()
    _lib.hrc_robot_stance(qpos)
    return list(qpos)


class _Handle:
    """Frees what it owns when it is closed, or when no reference to it is left."""
    _free = None

    def __init__(self):
        self._as_parameter_ = _c.c_void_p()

    def close(self):
        handle, self._as_parameter_ = self._as_parameter_, _c.c_void_p()
        if handle and self._free:
            self._free(handle)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        if getattr(self, "_as_parameter_", None):
            self.close()

    def _alive(self):
        if not self._as_parameter_:
            raise ValueError("%s is closed" % type(self).__name__)
        return self._as_parameter_


class Model(_Handle):
    """A trained tracker or planner (.safetensors), or a tracker of another project (.onnx)."""
    _free = staticmethod(_lib.hrc_model_free)

    def __init__(self, path):
        super().__init__()
        _call(_lib.hrc_model_load, _c.byref(self._as_parameter_), _os.fsencode(path))

    @property
    def kind(self):
        return "planner" if _lib.hrc_model_kind(self._alive()) == PLANNER else "tracker"

    @property
    def trained(self):
        return _lib.hrc_model_trained(self._alive()).decode()


class Motion:
    """A reference at 50 Hz. len() is its frames; qpos(i), qvel(i) one of them."""

    def __init__(self, poses, fps=RATE_HZ):
        """From poses (n, 36) at fps."""
        self._motion, self.source = _Motion(), None
        qpos, n = _floats(poses, NQ, "poses")
        _call(_lib.hrc_motion_resample, _c.byref(self._motion), qpos, n, fps)

    @classmethod
    def load(cls, path, fps=0):
        """From a CSV or a clip of ours; fps 0: what the file or the motion itself says. See .source."""
        self = cls.__new__(cls)
        self._motion, self.source = _Motion(), Source()
        _call(_lib.hrc_motion_load, _c.byref(self._motion), _os.fsencode(path), fps, _c.byref(self.source))
        return self

    def __len__(self):
        return self._motion.n

    def _row(self, array, columns, i):
        if not 0 <= i < len(self):
            raise IndexError("frame %d, expected 0 to %d" % (i, len(self) - 1))
        return array[i * columns:(i + 1) * columns]

    def qpos(self, i):
        return self._row(self._motion.qpos, NQ, i)

    def qvel(self, i):
        return self._row(self._motion.qvel, NV, i)

    def __del__(self):
        if getattr(self, "_motion", None) and _lib:
            _lib.hrc_motion_free(_c.byref(self._motion))


class Controller(_Handle):
    """The closed loop: a tracker, a planner before it or None, and a reference to follow. Keywords are the fields of
    hrc_options (replan, leash_m, leash_rad, wait_s, stream) and of its plan (seed, steps, noise, ...)."""
    _free = staticmethod(_lib.hrc_controller_free)

    def __init__(self, tracker, planner=None, **options):
        super().__init__()
        chosen = _lib.hrc_defaults()
        for name, value in options.items():
            holder = chosen if name in dict(_Options._fields_) else chosen.plan
            if name == "apart" or name not in dict(holder._fields_):
                raise TypeError("Controller has no option %r" % name)
            setattr(holder, name, value)
        self._models, self._motion = (tracker, planner), None  # borrowed by the library: kept alive here
        self._state, self._target = _State(), Target()
        _call(_lib.hrc_controller_create, _c.byref(self._as_parameter_), tracker._alive(),
              planner._alive() if planner else None, _c.byref(chosen))

    def follow(self, motion, first=0, place=True, wait=False):
        how = (PLACE if place else 0) | (WAIT if wait else 0)
        _call(_lib.hrc_follow, self._alive(), _c.byref(motion._motion), first, how)
        self._motion = motion

    def append(self, poses, fps=RATE_HZ):
        """More frames of the motion being followed, as they come. Runs dry: the last one is held."""
        qpos, n = _floats(poses, NQ, "poses")
        _call(_lib.hrc_append, self._alive(), qpos, n, fps)

    @property
    def ahead(self):
        return _lib.hrc_ahead(self._alive())

    @property
    def room(self):
        return _lib.hrc_room(self._alive())

    def control(self, qpos, qvel):
        """One period of 20 ms. The Target is the same object at every call."""
        if len(qpos) != NQ or len(qvel) != NV:
            raise ValueError("state of %d and %d numbers, expected %d and %d" % (len(qpos), len(qvel), NQ, NV))
        self._state.qpos[:], self._state.qvel[:] = [float(x) for x in qpos], [float(x) for x in qvel]
        _call(_lib.hrc_control, self._alive(), _c.byref(self._state), _c.byref(self._target))
        return self._target

    @property
    def report(self):
        return _lib.hrc_controller_report(self._alive()).contents

    def use_planner(self, on):
        _lib.hrc_controller_use_planner(self._alive(), on)

    def reset(self):
        _lib.hrc_controller_reset(self._alive())
