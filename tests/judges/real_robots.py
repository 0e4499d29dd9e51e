"""Robot files of the package example-robot-data, and how they are loaded for comparison."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin

import kinetree as kt

FIXED = {
    "panda": "panda_description/urdf/panda.urdf",
    "ur5": "ur_description/urdf/ur5_robot.urdf",
    "kinova": "kinova_description/robots/kinova.urdf",
    "xarm7": "xarm_description/urdf/xarm7.urdf",
    "baxter": "baxter_description/urdf/baxter.urdf",
    "tiago": "tiago_description/robots/tiago_no_hand.urdf",
    "allegro_hand": "allegro_hand_description/urdf/allegro_right_hand.urdf",
    "double_pendulum": "double_pendulum_description/urdf/double_pendulum_continuous.urdf",
    "finger_edu": "finger_edu_description/robots/finger_edu.urdf",
    "pr2": "pr2_description/urdf/pr2.urdf",
}
FLOATING = {
    "talos": "talos_data/robots/talos_reduced.urdf",
    "anymal": "anymal_b_simple_description/robots/anymal.urdf",
    "anymal_c": "anymal_c_simple_description/urdf/anymal.urdf",
    "solo12": "solo_description/robots/solo12.urdf",
    "icub": "icub_description/robots/icub.urdf",
    "g1": "g1_description/urdf/g1_29dof_rev_1_0.urdf",
    "romeo": "romeo_description/urdf/romeo_small.urdf",
    "simple_humanoid": "simple_humanoid_description/urdf/simple_humanoid.urdf",
    "tiago_pro": "tiago_pro_description/robots/tiago_pro.urdf",
    "quadrotor": "hector_description/robots/quadrotor_base.urdf",
}
MIMICS = {"panda": FIXED["panda"], "baxter": FIXED["baxter"], "pr2": FIXED["pr2"], "tiago_pro": FLOATING["tiago_pro"]}
"""Robots with joints that follow others, which Pinocchio can read as such."""

FURTHER_MIMICS = {
    "talos_full": "talos_data/robots/talos_full_v2.urdf",
    "romeo_full": "romeo_description/urdf/romeo.urdf",
}
"""Robots whose followers come before their leaders, which Pinocchio refuses to read as followers."""


def robot_file(path: str) -> Path:
    """The whole path; the package installs into the same prefix as Pinocchio."""
    prefix = next(p for p in Path(pin.__file__).parents if (p / "share" / "example-robot-data").is_dir())
    return prefix / "share" / "example-robot-data" / "robots" / path


def load_quietly(path: Path, **options: Any) -> kt.Robot:
    """Load a real-world file; what its inertias deserve to be warned about is not the point here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", kt.ModelWarning)
        return kt.load(path, **options)


def with_rotors(robot: kt.Robot, rng: np.random.Generator) -> kt.Robot:
    """The same robot with a motor of random inertia and gear ratio on every single-DOF joint."""
    joints = []
    for joint in robot.model.joints:
        if joint.kind.nv == 1:
            inertia, ratio = (float(rng.uniform(1e-6, 1e-5)),), (float(rng.uniform(30, 120)),)
            joint = replace(joint, rotor_inertia=inertia, gear_ratio=ratio)
        joints.append(joint)
    return kt.Robot(robot.model.with_joints(joints))
