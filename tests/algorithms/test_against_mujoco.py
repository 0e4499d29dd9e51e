"""Robots against MuJoCo: arms, walking machines on a free base, ball joints; armature and damping included."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import pytest

import kinetree as kt
from judges import SOLVED, WORST, agree, print_worst, size
from judges.mujoco_judge import MujocoJudge, urdf_spec
from judges.pinocchio_judge import Part
from judges.real_robots import load_quietly, robot_file
from kinetree.model.joints import JointKind

Array = np.ndarray

COUNT = 4
"""States per robot."""


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """MuJoCo writes its log into the working directory."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture(autouse=True, scope="module")
def report() -> Iterator[None]:
    WORST.clear()
    yield
    print_worst()


def compare(robot: kt.Robot, judge: MujocoJudge) -> None:
    """Everything that MuJoCo computes, too."""
    rng = np.random.default_rng(0)
    q = robot.random_configuration(rng, COUNT)
    v, a = rng.standard_normal((2, COUNT, robot.nv))
    weight = robot.mass * 9.81
    mass = judge.mass_matrix(q)
    agree("mass matrix", robot.mass_matrix(q), mass)
    agree("bias force", robot.bias_force(q, v), judge.bias_force(q, v))
    agree("inverse dynamics", robot.inverse_dynamics(q, v, a, friction=True), judge.inverse_dynamics(q, v, a))
    tau = rng.standard_normal((COUNT, robot.nv)) * weight / 3
    actual = robot.forward_dynamics(q, v, tau, friction=True)
    agree("forward dynamics", actual, judge.forward_dynamics(q, v, tau), tolerance=SOLVED)
    compare_pushes(robot, judge, q, v, tau, rng)
    kinetic, potential = judge.energies(q, v)
    agree("kinetic energy", robot.kinetic_energy(q, v), kinetic)
    agree("potential energy", robot.potential_energy(q), potential, 1e-2 * weight)
    for body in (robot.body_names[-1], robot.body_names[len(robot.body_names) // 2]):
        agree("pose", robot.pose(q, body), judge.pose(q, body))
        agree("Jacobian", robot.jacobian(q, body, "aligned"), judge.jacobian(q, body))
    center, momentum = judge.momentum(q, v)
    agree("center of mass", robot.center_of_mass(q), center)
    agree("centroidal momentum", robot.momentum(q, v), momentum, 1e-2 * size(mass) * size(v))


def compare_pushes(
    robot: kt.Robot, judge: MujocoJudge, q: Array, v: Array, tau: Array, rng: np.random.Generator
) -> None:
    """Wrenches at the centers of mass of two bodies, along world axes."""
    bodies = {robot.body_names[0], robot.body_names[-1]}
    pushes = {body: 30.0 * rng.standard_normal((len(q), 6)) for body in bodies}
    wrenches = {
        body: kt.Wrench(p[:, :3], p[:, 3:], judge.body_center(q, body), axes="world", point_axes="world")
        for body, p in pushes.items()
    }
    actual = robot.forward_dynamics(q, v, tau, wrenches, friction=True)
    agree("forward dynamics with wrenches", actual, judge.forward_dynamics(q, v, tau, pushes), tolerance=SOLVED)


# ---------------------------------------------------------------- URDF files read by both

URDFS = {
    "panda": ("panda_description/urdf/panda.urdf", False),
    "ur10": ("ur_description/urdf/ur10_robot.urdf", False),
    "a1": ("a1_description/urdf/a1.urdf", True),
    "solo12": ("solo_description/robots/solo12.urdf", True),
    "simple_humanoid": ("simple_humanoid_description/urdf/simple_humanoid.urdf", True),
}


def motorized_spec(path: Path, floating_base: bool, rng: np.random.Generator) -> mujoco.MjSpec:
    """MuJoCo's reading of a URDF, with armature and damping on every joint."""
    spec = urdf_spec(path, floating_base=floating_base)
    for joint in spec.joints:
        if joint.type in (mujoco.mjtJoint.mjJNT_HINGE, mujoco.mjtJoint.mjJNT_SLIDE):
            joint.armature = rng.uniform(0.01, 0.3)
            joint.damping = rng.uniform(0.1, 2.0) if np.isscalar(joint.damping) else [rng.uniform(0.1, 2.0), 0, 0]
    return spec


def with_motors_of(robot: kt.Robot, model: mujoco.MjModel) -> kt.Robot:
    """The robot with the armature and damping of MuJoCo's joints of the same names."""
    joints = []
    for joint in robot.model.joints:
        if joint.kind.nv == 1:
            dof = int(model.joint(joint.name).dofadr[0])
            joint = replace(
                joint,
                rotor_inertia=(float(model.dof_armature[dof]) / 25.0,),
                gear_ratio=(5.0,),
                damping=(float(model.dof_damping[dof]),),
                friction=(0.0,),
            )
        joints.append(joint)
    return kt.Robot(robot.model.with_joints(joints))


@pytest.mark.parametrize("name", list(URDFS))
def test_urdf_read_by_both(name: str) -> None:
    path, floating = URDFS[name]
    file = robot_file(path)
    robot = load_quietly(file, floating_base=floating, mimic="independent")
    model = motorized_spec(file, floating, np.random.default_rng(1)).compile()
    robot = with_motors_of(robot, model)
    compare(robot, MujocoJudge(robot, model))


# ---------------------------------------------------------------- ball joints, described to both


def cuboid(mass: float, x: float, y: float, z: float) -> Array:
    return mass / 12 * np.diag([y * y + z * z, x * x + z * z, x * x + y * y])


def limb(
    name: str, parent: str | None, kind: JointKind, position: tuple[float, ...],
    mass: float, com: tuple[float, ...], box: tuple[float, ...], armature: tuple[float, ...],
) -> Part:  # fmt: skip
    turn = kt.Pose.of(rpy=(0.2 * len(name), -0.3, 0.1 * len(name))).rotation
    return Part(name, parent, kind, turn, np.array(position), mass, np.array(com), cuboid(mass, *box), armature)


RAGDOLL = [
    limb("pelvis", None, kt.Free(), (0, 0, 1), 11.8, (0, 0, 0.02), (0.25, 0.35, 0.2), (0.0,) * 6),
    limb("chest", "pelvis", kt.Spherical(), (0, 0, 0.15), 21.0, (0, 0, 0.2), (0.2, 0.4, 0.4), (0.02,) * 3),
    limb("head", "chest", kt.Spherical(), (0, 0, 0.45), 5.0, (0.02, 0, 0.1), (0.2, 0.16, 0.25), (0.01,) * 3),
    limb("upper_arm", "chest", kt.Spherical(), (0, 0.2, 0.38), 2.1, (0, 0, -0.14), (0.1, 0.1, 0.3), (0.015,) * 3),
    limb("fore", "upper_arm", kt.Revolute((0, 0.6, 0.8)), (0, 0, -0.3), 1.4, (0, 0, -0.12), (0.08, 0.1, 0.26), (0.01,)),
    limb("stick", "fore", kt.Prismatic("-z"), (0, 0, -0.25), 0.6, (0.01, 0, -0.2), (0.03, 0.03, 0.7), (0.3,)),
    limb("thigh", "pelvis", kt.Spherical(), (0, 0.1, -0.1), 7.7, (0, 0, -0.2), (0.15, 0.15, 0.42), (0.04,) * 3),
    limb("shin", "thigh", kt.Revolute("y"), (0, 0, -0.42), 3.6, (0.01, 0, -0.19), (0.11, 0.12, 0.4), (0.03,)),
]  # fmt: skip

DAMPING = {"free": 0.0, "spherical": 0.8, "revolute": 1.3, "prismatic": 2.5}
MUJOCO_KINDS = {"free": "free", "spherical": "ball", "revolute": "hinge", "prismatic": "slide"}


def built(parts: list[Part]) -> kt.Robot:
    builder = kt.Builder("ragdoll", base="world")
    for p in parts:
        # MuJoCo measures a free joint from the world, wherever the file first puts the body.
        placement = kt.Pose() if isinstance(p.kind, kt.Free) else kt.Pose.of(p.position, rotation=p.rotation)
        builder.body(
            p.name, p.parent or "world", p.kind, placement=placement, mass=p.mass, com=p.com, inertia=p.inertia,
            rotor_inertia=p.armature, damping=DAMPING[p.kind.name],
        )  # fmt: skip
    return builder.build()


def mjcf(parts: list[Part]) -> str:
    """The same bodies as MuJoCo's XML, every number to the last digit."""

    def numbers(values: Array) -> str:
        return " ".join(repr(float(x)) for x in np.ravel(values))

    def element(p: Part) -> str:
        quaternion = np.zeros(4)
        mujoco.mju_mat2Quat(quaternion, p.rotation.ravel())
        six = p.inertia[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
        axis = f'axis="{numbers(p.kind.axis)}"' if hasattr(p.kind, "axis") else ""
        joint = (
            f'<joint name="{p.name}_joint" type="{MUJOCO_KINDS[p.kind.name]}" {axis} '
            f'armature="{p.armature[0]!r}" damping="{DAMPING[p.kind.name]!r}"/>'
        )
        children = "".join(element(c) for c in parts if c.parent == p.name)
        return (
            f'<body name="{p.name}" pos="{numbers(p.position)}" quat="{numbers(quaternion)}">{joint}'
            f'<inertial mass="{p.mass!r}" pos="{numbers(p.com)}" fullinertia="{numbers(six)}"/>{children}</body>'
        )

    roots = "".join(element(p) for p in parts if p.parent is None)
    return f'<mujoco model="ragdoll"><compiler angle="radian"/><worldbody>{roots}</worldbody></mujoco>'


def test_ball_joints() -> None:
    robot = built(RAGDOLL)
    compare(robot, MujocoJudge(robot, mujoco.MjModel.from_xml_string(mjcf(RAGDOLL))))


# ---------------------------------------------------------------- MJCF files read by both

LEG = """
<mujoco model="leg">
  <compiler angle="degree"/>
  <option gravity="0 1.5 -9.7"/>
  <default><joint armature="0.05" damping="0.7"/></default>
  <worldbody>
    <body name="slider" pos="0.1 0 1.2" euler="10 20 30">
      <joint name="rail" type="slide" axis="1 1 0" damping="5"/>
      <inertial mass="3" pos="0.01 0.02 0" diaginertia="0.03 0.04 0.05"/>
      <body name="hip" pos="0 0.05 -0.1">
        <joint name="yaw" axis="0 0 1" pos="0 0 0.03"/>
        <joint name="roll" axis="1 0 0" pos="0.01 0 0" armature="0.02"/>
        <joint name="pitch" axis="0 1 0.2" damping="1.1"/>
        <inertial mass="6" pos="0 0.02 -0.2" quat="0.9 0.1 0.2 0.3" diaginertia="0.12 0.1 0.03"/>
        <body name="shin" pos="0 0 -0.4">
          <joint name="knee" axis="0 -1 0" pos="0.02 0 0"/>
          <inertial mass="3" pos="0 0 -0.18" fullinertia="0.05 0.06 0.02 0.001 0.002 -0.003"/>
          <body name="foot" pos="0 0 -0.4" axisangle="1 2 3 15">
            <joint name="ankle" type="ball" pos="0 0.01 0.02" armature="0.015"/>
            <inertial mass="0.9" pos="0.05 0 -0.02" diaginertia="0.002 0.004 0.005"/>
            <body name="sole" pos="0.05 0 -0.03"><inertial mass="0.1" pos="0 0 0" diaginertia="1e-4 2e-4 2e-4"/></body>
          </body>
        </body>
      </body>
    </body>
  </worldbody>
</mujoco>
"""
"""Several joints on one body, off its origin, in degrees, with defaults; a slide, a ball and a welded body."""


def arm_file() -> str:
    return motorized_spec(robot_file(URDFS["panda"][0]), False, np.random.default_rng(2)).to_xml()


def quadruped_file() -> str:
    spec = motorized_spec(robot_file(URDFS["a1"][0]), True, np.random.default_rng(3))
    spec.compile()
    return spec.to_xml()


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(arm_file, id="panda"),
        pytest.param(quadruped_file, id="a1"),
        pytest.param(lambda: mjcf(RAGDOLL), id="ragdoll"),
        pytest.param(lambda: LEG, id="leg"),
    ],
)
def test_mjcf_read_by_both(text: Callable[[], str], tmp_path: Path) -> None:
    file = tmp_path / "robot.xml"
    file.write_text(text())
    robot = load_quietly(file)
    model = mujoco.MjModel.from_xml_path(str(file))
    np.testing.assert_array_equal(robot.gravity, model.opt.gravity)
    if robot.model.has_followers:  # MuJoCo keeps coupled joints free and holds them by a constraint, off here
        robot = kt.Robot(robot.model.independent)
    compare(robot, MujocoJudge(robot, model))
