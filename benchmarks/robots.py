"""The robots that are measured, as each library holds them, and the same random states for all."""

from __future__ import annotations

import importlib.metadata
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pinocchio as pin

import kinetree as kt

FILES = {
    "UR5": ("ur_description/urdf/ur5_robot.urdf", False),
    "Panda": ("panda_description/urdf/panda.urdf", False),
    "ANYmal (floating)": ("anymal_b_simple_description/robots/anymal.urdf", True),
    "Talos (floating)": ("talos_data/robots/talos_reduced.urdf", True),
}


def folder() -> Path:
    """Where example-robot-data keeps its robots."""
    for file in importlib.metadata.files("example-robot-data") or []:
        if file.name == "panda.urdf":
            return Path(str(file.locate())).resolve().parents[2]
    raise SystemExit("example-robot-data is not installed: pip install '.[test]'")


@dataclass
class Contest:
    """One robot in both libraries and a batch of states in both conventions."""

    name: str
    robot: kt.Robot
    model: pin.Model
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    pin_q: np.ndarray
    pin_v: np.ndarray
    pin_a: np.ndarray

    @classmethod
    def make(cls, name: str, count: int) -> Contest:
        path, floating = FILES[name]
        file = folder() / path
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            robot = kt.load(file, floating_base=floating, mimic="independent")
        root = (pin.JointModelFreeFlyer(),) if floating else ()
        model = pin.buildModelFromUrdf(str(file), *root)
        rng = np.random.default_rng(0)
        q, v, a = robot.random_configuration(rng, count), *rng.standard_normal((2, count, robot.nv))
        to_q, to_v = _maps(robot, model)
        pin_q = q @ to_q.T
        for joint, name_in_pin in zip(model.joints[1:], list(model.names)[1:], strict=True):
            if joint.nq == 2:  # continuous: cosine and sine
                angle = q[:, robot.joint(name_in_pin).q_slice.start]
                pin_q[:, joint.idx_q], pin_q[:, joint.idx_q + 1] = np.cos(angle), np.sin(angle)
        return cls(name, robot, model, q, v, a, pin_q, v @ to_v.T, a @ to_v.T)


def _maps(robot: kt.Robot, model: pin.Model) -> tuple[np.ndarray, np.ndarray]:
    """Matrices that reorder our q and v into Pinocchio's (positions and linear parts first)."""
    to_q, to_v = np.zeros((model.nq, robot.nq)), np.zeros((model.nv, robot.nv))
    for joint, name in zip(model.joints[1:], list(model.names)[1:], strict=True):
        if joint.nv == 6:
            own_q, own_v = robot.model.joints[0].q_slice.start, robot.model.joints[0].v_slice.start
            order_q, order_v = [4, 5, 6, 0, 1, 2, 3], [3, 4, 5, 0, 1, 2]
        else:
            own = robot.joint(name)
            own_q, own_v, order_q, order_v = own.q_slice.start, own.v_slice.start, [0], [0]
        if joint.nq != 2:
            for k, source in enumerate(order_q):
                to_q[joint.idx_q + k, own_q + source] = 1.0
        for k, source in enumerate(order_v):
            to_v[joint.idx_v + k, own_v + source] = 1.0
    return to_q, to_v
