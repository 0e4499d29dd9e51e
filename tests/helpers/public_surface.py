"""Everything public that can be called, with arguments that are good, found from the tables of public names."""

from __future__ import annotations

import inspect
import types
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

import kinetree as kt
from helpers.mechanisms import four_bar
from helpers.robots import two_links

NOT_CALLED = {
    "kt.spatial": "algebra over any scalar, which algorithms are written with: Python's own operators answer",
    "kt.errors": "what is raised",
    "kt.control.gains": "for who writes another controller",
    "kt.gym.register_environments": "acts on another library, and takes nothing",
}
"""Beginnings of names that are not called, each with its reason."""

SPATIAL_OF_ARRAYS = ("screws", "six_by_six", "subspaces", "notation_1987")
"""Modules of kt.spatial that are called: functions of arrays, for users."""


def left_out(path: str, found: Any) -> bool:
    if isinstance(found, type) and issubclass(found, (BaseException, tuple)):
        return True
    if getattr(found, "_is_protocol", False) or getattr(found, "__init__", None) is object.__init__:
        return True  # bases, of which nobody makes one
    if path.startswith("kt.spatial."):
        return isinstance(found, type) or found.__module__.rpartition(".")[2] not in SPATIAL_OF_ARRAYS
    return path in NOT_CALLED or path.startswith("kt.errors.")


def public_modules() -> dict[str, types.ModuleType]:
    found = {"kt": kt}
    found |= {f"kt.{n}": getattr(kt, n) for n in kt.__all__ if isinstance(getattr(kt, n), types.ModuleType)}
    return found


def names_of(module: types.ModuleType) -> list[str]:
    return sorted(getattr(module, "__all__", None) or [n for n in dir(module) if not n.startswith("_")])


def public_callables() -> dict[str, Any]:
    """Return functions and classes by their public names, each once."""
    found: dict[str, Any] = {}
    seen: set[int] = set()
    for path, module in public_modules().items():
        for name in names_of(module):
            what = getattr(module, name)
            called = f"{path}.{name}"
            if isinstance(what, types.ModuleType) or not callable(what) or left_out(called, what) or id(what) in seen:
                continue
            if not hasattr(what, "__module__") or not str(what.__module__).startswith("kinetree"):
                continue
            seen.add(id(what))
            found[called] = what
    return found


@cache
def arm() -> kt.Robot:
    return two_links()


@cache
def linkage() -> kt.Mechanism:
    return four_bar()


@cache
def record() -> kt.Record:
    return kt.simulate(arm(), [0.1, 0.2], time=0.05, output=6, progress=False)


@cache
def measured() -> kt.Measured:
    t = np.linspace(0.0, 5.0, 501)
    phase = np.stack([np.sin(2 * t) + 0.3 * np.sin(7 * t), np.cos(3 * t) + 0.2 * np.sin(5 * t)], axis=-1)
    motion = kt.trajectories.sampled(t, phase)
    q, v, a = motion(t)
    return kt.Measured(t, q, arm().inverse_dynamics(q, v, a), v, a)


@cache
def floor() -> Any:
    return kt.ground.Ground([kt.ground.Spot("lower")], kt.ground.HuntCrossley(1e4, 0.5))


@cache
def motion() -> Any:
    return kt.trajectories.Cycloid([0.0, 0.0], [0.5, -0.3], 1.0).held()


@cache
def gait() -> Any:
    return kt.walking.Gait(period=1.0, start=-0.1, height=0.8, stride=0.2, foot_height=0.05)


def zero_law(t: Any, q: Any, v: Any) -> list[float]:
    return [0.0, 0.0]


@cache
def held() -> dict[str, Any]:
    """Return what users hold, by what it is."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _held()


def _held() -> dict[str, Any]:
    robot, loop = arm(), linkage()
    q = loop.assembled()
    return {
        "Robot": robot,
        "Mechanism": loop,
        "World": kt.World(robot, batch=2),
        "Simulator": kt.Simulator(robot),
        "Record": record(),
        "Builder": kt.Builder("b").body("bob", "base", kt.Revolute("y"), mass=1),
        "Measured": measured(),
        "BaseParameters": robot.base_parameters(),
        "LinearModel": robot.linearize([0.1, 0.2], [0.0, 0.0], [0.0, 0.0]),
        "Mobility": loop.mobility(q),
        "Actuation": loop.actuation(q),
        "Trajectory": motion(),
        "Piecewise": kt.trajectories.spline([0.0, 1.0, 2.0], [[0.0, 0.0], [1.0, 0.5], [0.0, 0.0]]),
        "PD": kt.control.PD(motion(), 10.0, 1.0),
        "Sampled": kt.control.Sampled(kt.control.PD(motion(), 10.0, 1.0), 0.01),
        "LinearObserver": kt.control.luenberger(robot, [0.1, 0.2], period=0.01, bandwidth=10.0),
        "JointSpring": kt.forces.JointSpring(robot.joint_names[0], 3.0),
        "Characteristic": kt.forces.Characteristic([0.0, 1.0, 2.0], [0.0, 1.0, 4.0]),
        "Ground": floor(),
        "HuntCrossley": kt.ground.HuntCrossley(1e4, 0.5),
        "PseudoCoulomb": kt.ground.PseudoCoulomb(),
        "RigidContacts": kt.contact.RigidContacts(robot, kt.contact.Contact("lower")),
        "Plane": kt.contact.Plane(),
        "Pose": kt.Pose.of((1, 2, 3)),
        "MassProperties": kt.MassProperties(1.0),
        "Wrench": kt.Wrench(),
        "Accumulator": kt.identification.Accumulator(robot),
        "Identified": kt.identify(robot, measured()),
        "Gait": gait(),
        "Walk": kt.walking.biped(gait(), 0.5, 0.5),
        "GridDesign": kt.sweeps.GridDesign({"gravity.z": [-9.0, -10.0]}),
        "Uniform": kt.Uniform(0.0, 1.0),
        "Study": kt.gallery.study("four-bar"),
        "Motion": kt.gallery.motion("four-bar"),
        "Count": robot.cost("inverse_dynamics"),
        "CompiledFunction": kt.compile_function(lambda q: [q[0] * q[0]], 2),
    }


HOOKS = {
    "Study.run": "whole studies",
    "Study.compute": "the same",
    "PD.update": "called by simulations, with the memory that they keep",
    "Sampled.law": "the same",
    "Sampled.update": "the same",
    "Sampled.decide": "the same",
    "LinearObserver.update": "the same",
    "LinearObserver.first_memory": "the same",
    "JointSpring.check_number": "for who writes another element: the name of a field of that",
    "JointSpring.check_given": "for who writes another element: the name of a field of that",
}
"""Methods that are not called here, each with its reason."""

LONG = (
    "kt.c_code",
    "kt.identif",
    "kt.refine",
    "kt.simulate_rigid",
    "kt.sweep",
    "Identified.",
    "Mechanism.base_parameters",
    "Mechanism.codegen",
    "Mechanism.grouped",
    "Record.plot",
    "Robot.codegen",
    "kt.symbolic",
)
"""Beginnings of the names of what takes long when it accepts an argument: a few odd values each."""


def public_methods() -> dict[str, tuple[Any, Callable[..., Any]]]:
    """Return methods of what users hold, with that; of a mechanism those that trees do not have, too."""
    found: dict[str, tuple[Any, Callable[..., Any]]] = {}
    seen: set[Any] = set()
    for name, owner in held().items():
        for method in dir(type(owner)):
            bound = None if method.startswith("_") and method != "__call__" else getattr(owner, method, None)
            static = inspect.getattr_static(type(owner), method, None)
            if bound is None or isinstance(static, (property, type)) or not callable(bound):
                continue
            key = (
                static if not isinstance(static, (staticmethod, classmethod)) else static.__func__,
                isinstance(owner, kt.Mechanism),
            )
            if f"{name}.{method}" in HOOKS or not callable(getattr(type(owner), method, None)):
                continue
            try:
                new = key not in seen
                seen.add(key)
            except TypeError:
                new = True
            if new:
                found[f"{name}.{method}"] = (owner, bound)
    return found


# ------------------------------------------------------------------ arguments that are good


def good_values(owner: Any) -> dict[str, Any]:
    """Return arguments by their names, for a robot of two freedoms or a linkage."""
    robot = owner if isinstance(owner, kt.Robot) else arm()
    n, m = robot.nq, robot.nv
    q = robot.assembled() if isinstance(robot, kt.Mechanism) else np.full(n, 0.1)
    body = robot.body_names[-1]
    joint = robot.joint_names[0]
    return {
        "robot": robot,
        "q": q,
        "q0": q,
        "q1": q,
        "q_guess": q,
        "near": q,
        "guess": q,
        "v": np.zeros(m),
        "v0": np.zeros(m),
        "a": np.zeros(m),
        "tau": np.zeros(m),
        "frame": body,
        "body": body,
        "at": body,
        "link": body,
        "point": (0.0, 0.0, 0.0),
        "points": [[0.0, 0.0], [1.0, 0.5], [0.0, 0.0]],
        "joint": joint,
        "coordinate": 0,
        "joints": [joint],
        "leader": joint,
        "time": 0.02,
        "t": 0.0,
        "step": 1e-3,
        "duration": 1.0,
        "period": 0.01,
        "times": [0.0, 1.0, 2.0],
        "trajectory": motion(),
        "path": motion(),
        "motion": motion(),
        "whole": motion(),
        "part": motion(),
        "parts": [motion()],
        "order": [1, 0],
        "kp": 10.0,
        "kd": 1.0,
        "ki": 0.5,
        "gain": 1.0,
        "controller": kt.control.PD(motion(), 10.0, 1.0),
        "function": zero_law,
        "formula": lambda t: [t, 2 * t],
        "law": None,
        "model": robot.model,
        "tree": robot.model,
        "bandwidth": 10.0,
        "force_noise": 0.1,
        "position_noise": 1e-3,
        "name": "x",
        "stiffness": 10.0,
        "damping": 1.0,
        "dissipation": 0.5,
        "depth": 0.01,
        "spots": [kt.ground.Spot(body)],
        "normal": kt.ground.HuntCrossley(1e4, 0.5),
        "contacts": [kt.contact.Contact(body)],
        "data": measured(),
        "free": measured(),
        "loaded": measured(),
        "payload": kt.MassProperties(0.5),
        "found": None,
        "gait": gait(),
        "thigh": 0.5,
        "shank": 0.5,
        "hips": [(0.2, 0.1), (-0.2, 0.1), (0.2, -0.1), (-0.2, -0.1)],
        "legs": [],
        "walk": None,
        "height": 0.5,
        "speed": 1.0,
        "center": 0.1,
        "amplitude": 0.2,
        "frequency": 1.0,
        "radius": 0.1,
        "length": 0.2,
        "width": 0.1,
        "size": (0.1, 0.1, 0.1),
        "mass": 1.0,
        "sequence": "XYZ",
        "angles": (0.1, 0.2, 0.3),
        "dof": 1,
        "low": 0.1,
        "high": 1.0,
        "mean": 1.0,
        "deviation": 0.1,
        "acceleration": 1.0,
        "knots": [0.0, 1.0],
        "coefficients": [[[0.0, 1.0]]],
        "signal": 1.0,
        "force": 1.0,
        "x": [0.0, 1.0, 2.0],
        "y": [0.0, 1.0, 4.0],
        "heights": np.zeros((3, 3)),
        "given": {joint: motion()},
        "table": [[0.0, 0.0, 1.0, 0.0]],
        "world": kt.World(robot) if robot is arm() else None,
        "parameters": {"gravity.z": [-9.0, -10.0]},
        "values": {"gravity.z": [-9.0, -10.0]},
        "samples": 3,
        "columns": {"gravity.z": [-9.0]},
        "study": kt.sweeps.Forces(robot, motion(), span=(0.0, 0.5), samples=5) if robot is arm() else None,
        "cells": 2,
        "lean": 0.1,
        "algorithm": "inverse_dynamics",
        "precision": "double",
        "kind": "motion",
        "vector": np.ones(6),
        "velocity": np.ones(6),
        "direction": (0.0, 0.0, 1.0),
        "pitch": 0.1,
        "subspace": np.eye(6)[:, :2],
        "inertia": np.eye(6),
        "motions": np.eye(6)[:, :2],
        "basis": np.eye(6),
        "along": np.eye(6)[:, :2],
        "resisted_by": np.eye(6)[:, 2:],
        "matrix": np.eye(6),
        "value": np.ones(6),
        "quantity": "motion",
        "com": (0.0, 0.0, 0.0),
        "b": "base",
        "parent": "base",
        "pose": np.eye(4),
        "rows_per_part": None,
        "corners": [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]],
        "forces": np.ones((3, 3)),
        "at_least": 1,
        "height_of": None,
        "slope": None,
        "folder": ".",
        "cutoff": 5.0,
        "joints_": 2,
    }


OWN: dict[str, dict[str, Any]] = {}
"""Arguments of one function that mean something else than the name does elsewhere; filled on first use."""


def own_values() -> dict[str, dict[str, Any]]:
    robot = arm()
    forces = kt.sweeps.Forces(robot, motion(), span=(0.0, 0.5), samples=5)
    return {
        "kt.load": {"path": "four-bar"},
        "kt.gallery.about": {"name": "four-bar"},
        "kt.gallery.load": {"name": "four-bar"},
        "kt.gallery.start": {"name": "four-bar"},
        "kt.gallery.motion": {"name": "four-bar"},
        "kt.gallery.model_text": {"name": "four-bar"},
        "kt.gallery.study": {"name": "four-bar"},
        "kt.sweeps.gallery_forces": {"name": "four-bar"},
        "kt.c_code.codegen": {"directory": "generated"},
        "kt.costs.cost": {"name": "inverse_dynamics"},
        "kt.costs.general_chain": {"joint": "revolute", "joints": 2},
        "kt.costs.fit": {"algorithm": "inverse_dynamics"},
        "kt.costs.count_function": {"function": lambda q: [q[0] * q[0]], "lengths": (2,)},
        "kt.compile_function": {"function": lambda q: [q[0] * q[0]], "sizes": (2,)},
        "kt.symbolic.expression": {"name": "mass_matrix"},
        "kt.symbolic.function": {"name": "mass_matrix", "backend": "numpy"},
        "kt.Custom": {"function": lambda x: ((1, 0, 0), (0, 1, 0), (0, 0, 1), (x, 0, 0))},
        "kt.Event": {"function": lambda t, q, v: q[0]},
        "kt.impact.impact": {"contacts": kt.contact.RigidContacts(robot, kt.contact.Contact("lower"))},
        "kt.ground.HeightField": {"height": lambda x, y: 0.1 * x},
        "kt.ground.Grid": {"y": [0.0, 1.0, 2.0]},
        "kt.forces.GravityField": {"field": lambda p: [0.0, 0.0, -9.81]},
        "kt.forces.PointSpring": {"a": "upper", "b": "lower"},
        "kt.forces.Bushing": {"a": "upper", "b": "lower"},
        "kt.forces.PointForce": {"function": lambda t, p, v: [0.0, 0.0, 0.0]},
        "kt.forces.Characteristic": {},
        "kt.forces.Motor": {"stall_torque": 1.0, "no_load_speed": 10.0},
        "kt.control.Law": {"function": zero_law},
        "kt.control.Sum": {"parts": [kt.control.GravityCompensation()]},
        "kt.control.gains": {"value": 1.0, "count": 2},
        "kt.control.critical_damping": {"kp": 10.0},
        "kt.control.from_function": {"function": zero_law},
        "kt.control.PythonLaw": {"python_function": zero_law},
        "kt.control.StateFeedback": {"gain": np.zeros((2, 4))},
        "kt.control.TorqueTable": {"tau": [[0.0, 0.0]] * 3},
        "kt.control.DiscreteLaw": {"function": lambda t, q, v, memory: ([0.0, 0.0], memory)},
        "kt.simulation.Occurrence": {"index": 0},
        "kt.trajectories.sampled": {"q": [[0.0, 0.0], [1.0, 0.5], [0.0, 0.0]]},
        "kt.identification.differentiated": {"t": measured().t, "q": measured().q},
        "kt.Measured": {"t": measured().t, "q": measured().q, "tau": measured().tau},
        "kt.identification.refine_by_output_error": {"found": held()["Identified"]},
        "kt.identification.accumulate_files": {"files": []},
        "kt.sweep": {"study": forces, "workers": 1, "progress": False},
        "kt.sweeps.run": {"study": forces, "design": held()["GridDesign"], "workers": 1, "progress": False},
        "kt.exciting_motion": {"duration": 1.0, "count": 1, "starts": 1, "steps": 1, "samples": 8, "progress": False},
        "kt.sweeps.over_table": {"method": "inverse_dynamics", "source": "t.csv", "output": "o.csv"},
        "kt.walking.Leg": {"group": 0},
        "kt.walking.Gait": {"start": -0.1, "height": 0.8, "stride": 0.2, "foot_height": 0.05, "period": 1.0},
        "kt.walking.Walk": {"legs": [kt.walking.Leg(0.5, 0.5, 0)]},
        "kt.walking.TrunkPath": {"walk": held()["Walk"]},
        "kt.walking.inverted_pendulum": {"x0": 0.0, "v0": 1.0},
        "kt.walking.leg_angles": {"x": 0.1, "y": 0.0, "z": -0.8},
        "kt.walking.support_margin": {"point": (0.2, 0.2)},
        "kt.walking.center_of_pressure": {"points": [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]},
        "kt.inverse_kinematics": {"pose": robot.pose([0.1, 0.1], "lower")},
        "kt.equilibrium": {},
        "kt.Mechanism": {"model": linkage().model},
        "kt.arctan2": {"x": 1.0, "y": 1.0},
        "kt.clip": {"x": 1.0, "lower": 0.0, "upper": 2.0},
        "kt.where": {"condition": True, "yes": 1.0, "no": 2.0},
        "kt.maximum": {"a": 1.0, "b": 2.0},
        "kt.minimum": {"a": 1.0, "b": 2.0},
        "kt.logical_not": {"condition": True},
        "kt.ground.from_source": {"name": "quadruped"},
        "kt.gym.make": {"name": "pendulum"},
        "kt.gym.make_vec": {"name": "pendulum"},
        "kt.euler_angle_joints.add_chain": {"builder": kt.Builder("chain"), "name": "ball"},
        "kt.view.view": {"port": 0},
        "kt.view.play": {"screenshot": "x.png", "open_browser": False},
        "kt.workspace": {"x": [0.1, 0.2], "z": [0.1, 0.2]},
        **{f"kt.{n}": {"x": 0.5} for n in ("cos", "sin", "exp", "log", "sign", "sqrt", "tanh")},
    }


def parameters_of(called: Callable[..., Any]) -> list[inspect.Parameter]:
    try:
        found = list(inspect.signature(called).parameters.values())
    except ValueError:
        return []
    return [p for p in found if p.name not in ("self", "cls")]


def good_arguments(path: str, called: Callable[..., Any], owner: Any = None) -> dict[str, Any]:
    """Return an argument for everything that has no default, as good as is known."""
    if not OWN:
        OWN.update(own_values())
    known = good_values(owner) | OWN.get(path, {})
    named = {}
    for p in parameters_of(called):
        wanted = p.default is p.empty and p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
        if wanted or p.name in OWN.get(path, {}):
            named[p.name] = known.get(p.name)
    return named


# ------------------------------------------------------------------ arguments that are odd


ODD: dict[str, Callable[[], Any]] = {
    "10**400": lambda: 10**400,
    "nan": lambda: float("nan"),
    "inf": lambda: float("inf"),
    "-1": lambda: -1,
    "0": lambda: 0,
    "None": lambda: None,
    "''": lambda: "",
    "'x'": lambda: "x",
    "1j": lambda: 1j,
    "set()": set,
    "{1, 2}": lambda: {1, 2},
    "{}": dict,
    "{'x': 'y'}": lambda: {"x": "y"},
    "[]": list,
    "['x', None]": lambda: ["x", None],
    "[10**400]": lambda: [10**400],
    "object()": object,
    "array('a')": lambda: np.array("a"),
    "zeros((2, 3, 4))": lambda: np.zeros((2, 3, 4)),
    "b''": bytes,
    "True": lambda: True,
    "a function": lambda: lambda: None,
    "a class": lambda: int,
    "a generator": lambda: (x for x in (1, 2)),
}
"""Values that are wrong for most arguments, each made anew."""


@dataclass(frozen=True)
class Trial:
    """One odd call: of what, which argument is odd, and how."""

    path: str
    called: Callable[..., Any]
    argument: str
    odd: str
    args: tuple[Any, ...]
    named: dict[str, Any]

    def __str__(self) -> str:
        return f"{self.path}({self.argument}={self.odd})"


def trials(path: str, called: Callable[..., Any], owner: Any = None) -> Iterator[Trial]:
    """Give each argument in turn every odd value beside good ones; then too few, too many and unknown ones."""
    good, parameters = good_arguments(path, called, owner), parameters_of(called)
    step = 6 if path.startswith(LONG) else 1
    for k, p in enumerate(parameters):
        for odd in list(ODD)[k % step :: step]:
            if p.name in ("workers", "cluster", "client") or ("Callable" in str(p.annotation) and odd == "a class"):
                continue  # which start processes where they are taken; and a class is a function like others
            args, named = (), dict(good)
            if p.kind is p.VAR_POSITIONAL:
                before = [q.name for q in parameters if q.kind is q.POSITIONAL_OR_KEYWORD and q.name in named]
                args = (*(named.pop(name) for name in before), ODD[odd]())
            elif p.kind is p.POSITIONAL_ONLY:
                args = (ODD[odd](),)
            else:
                named["surely_not" if p.kind is p.VAR_KEYWORD else p.name] = ODD[odd]()
            yield Trial(path, called, p.name, odd, args, named)
    yield Trial(path, called, "nothing", "", (), {})
    yield Trial(path, called, "surely_not", "1", (), good | {"surely_not": 1})
    yield Trial(path, called, "forty", "1", (1,) * 40, {})
