"""Closed loops: inverse dynamics in batches, a growing chain of four-bar cells, and steps of real robots.

What the others do differs, and the tables say so: Pinocchio knows point and weld
constraints only, so a hinge is two points on its axis (one redundant constraint, resolved
by its proximal iterations), and its constrained dynamics is forward, not inverse.
MuJoCo's loops are soft: ``connect`` pulls points together like a stiff damped spring, and
its accelerations are those of that spring.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pinocchio as pin

import kinetree as kt
from kinetree.simulation.equation import Equation
from kinetree.simulation.system import DynamicSystem

from .timing import Table, alternate, repeated

BATCH = 4096
STATES = 1024
SYSTEMS = ("four-bar", "3-rrr", "robotic-leg", "stewart-platform")
CELLS = (5, 10, 20, 40, 100)

MODELS = Path(os.environ.get("KINETREE_MODELS", Path(__file__).parents[2] / "shared" / "models"))
"""Where robot files lie that are not ours to pass on."""

STEPPED = {"Cassie": "cassie/cassie.xml", "Kangaroo": "kangaroo/kangaroo.xml"}


def loops(rounds: int) -> list[Table]:
    """All tables; that of real robots where their files are."""
    files = {name: MODELS / file for name, file in STEPPED.items() if (MODELS / file).is_file()}
    return [inverse(rounds), cells(rounds), *([steps(rounds, files)] if files else [])]


def steps(rounds: int, files: dict[str, Path]) -> Table:
    """Steps of 1 ms, implicit in springs, dampers and servos, of real robots in free fall, beside MuJoCo's."""
    table = Table(
        f"A step of 1 ms implicit in springs and dampers, us: batches of {STATES}, and one robot",
        ("", "batch", "one", "MuJoCo", "batch ratio", "asked", "gaps, m"),
    )
    for name, file in files.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", kt.KinetreeWarning)  # which pictures are missing, what is rounded
            robot = kt.load(file)
            assert isinstance(robot, kt.Mechanism)
            start = robot.assembled()
            _ = robot.coordinates
        v = robot.project(start, 0.05 * np.random.default_rng(3).standard_normal(robot.nv))[1]
        equation = Equation(DynamicSystem(robot))
        equation = equation.prepared(start)
        many, z = equation.steps.many("implicit_euler"), np.zeros(equation.system.nz)
        batch = np.tile(start, (STATES, 1)), np.linspace(0.0, 1.0, STATES)[:, None] * v, np.tile(z, (STATES, 1))
        ends = many(0.0, (start, v, z), 1e-3, 200)
        world = without_meshes(file)
        best = alternate(
            {
                "batch": lambda m=many, s=batch: m(0.0, s, 1e-3, 10),
                "one": lambda m=many, s=(start, v, z): m(0.0, s, 1e-3, 100),
                "mujoco": lambda w=world: mujoco.mj_step(*w, 100),
            },
            rounds,
        )
        batched, one, other = best["batch"] / (10 * STATES) * 1e6, best["one"] * 1e4, best["mujoco"] * 1e4
        rows = list(robot.coordinates_at(start).rows)
        ours = float(np.abs(robot.loop_gaps(ends[0])[rows]).max())
        asked = "15x" if name == "Cassie" else "-"
        table.add(name, batched, one, other, f"{other / batched:.0f}x", asked, f"{ours:.0e}")
    return table


def without_meshes(file: Path) -> tuple[Any, Any]:
    """MuJoCo's model without shapes, which then touch nothing, in its quickest implicit form."""
    spec = mujoco.MjSpec.from_file(str(file))
    for pair in list(spec.pairs):
        spec.delete(pair)
    for shape in list(spec.geoms):
        if shape.meshname:
            spec.delete(shape)
    for mesh in list(spec.meshes):
        spec.delete(mesh)
    for texture in spec.textures:
        if texture.file:
            texture.file, texture.builtin, texture.width, texture.height = "", mujoco.mjtBuiltin.mjBUILTIN_FLAT, 1, 1
    model = spec.compile()
    model.opt.timestep, model.opt.integrator = 1e-3, mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    data = mujoco.MjData(model)
    mujoco.mj_step(model, data, 50)
    return model, data


def inverse(rounds: int) -> Table:
    """Actuator forces of a batch of closed motions, beside Pinocchio's constrained accelerations."""
    table = Table(
        f"Closed loops, batches of {BATCH}, ns per state (Pinocchio: its constrained forward dynamics)",
        ("", "inverse", "forward", "Pinocchio", "inverse ratio", "asked"),
    )
    for name in SYSTEMS:
        robot = kt.gallery.load(name)
        assert isinstance(robot, kt.Mechanism)
        motion = kt.gallery.motion(name)
        q, v, a = motion.states(np.linspace(*motion.span, BATCH))
        tau = robot.inverse_dynamics(q, v, a)
        contenders: dict[str, Callable[[], object]] = {
            "inverse": lambda r=robot, x=(q, v, a): r.inverse_dynamics(*x),
            "forward": lambda r=robot, x=(q, v, tau): r.forward_dynamics(*x),
        }
        try:
            theirs = Constrained(robot)
        except NotImplementedError:
            theirs = None
        if theirs is not None:
            contenders["Pinocchio"] = repeated(lambda t=theirs, x=(q[7], v[7], tau[7]): t(*x), 256)
        best = alternate(contenders, rounds)
        ours, forward = (best[k] / BATCH * 1e9 for k in ("inverse", "forward"))
        if theirs is None:
            table.add(name, ours, forward, "-", "-", "-")
        else:
            other = best["Pinocchio"] / 256 * 1e9
            table.add(name, ours, forward, other, f"{other / ours:.0f}x", "10x" if name in SYSTEMS[:2] else "-")
    return table


def cells(rounds: int) -> Table:
    """Forward dynamics of a chain of four-bar cells: time must grow with their number, not faster."""
    table = Table(
        "Chain of four-bar cells, one evaluation of the accelerations, us",
        ("cells", "batch of 256", "per cell", "one state", "Pinocchio", "MuJoCo (soft)"),
    )
    for count in CELLS:
        robot = kt.gallery.four_bar_chain(count)
        assert isinstance(robot, kt.Mechanism)
        lean = np.full(256, 0.3)
        q = kt.gallery.four_bar_chain_leaning(count, lean)
        v = np.tile(robot.velocities(q[0], np.ones(1)), (256, 1))
        tau = np.zeros((256, robot.nv))
        theirs = Constrained(robot)
        world = mujoco_chain(count)
        best = alternate(
            {
                "batch": lambda r=robot, x=(q, v, tau): r.forward_dynamics(*x),
                "one": repeated(lambda r=robot, x=(q[0], v[0], tau[0]): r.forward_dynamics(*x), 16),
                "pinocchio": repeated(lambda t=theirs, x=(q[0], v[0], tau[0]): t(*x), 4),
                "mujoco": repeated(lambda w=world: mujoco.mj_forward(*w), 16),
            },
            rounds,
        )
        batch = best["batch"] / 256 * 1e6
        one, other, soft = (best[k] / n * 1e6 for k, n in (("one", 16), ("pinocchio", 4), ("mujoco", 16)))
        table.add(str(count), batch, batch / count, one, other, soft)
    return table


class Constrained:
    """Pinocchio's constrained dynamics of one state, set up once."""

    def __init__(self, robot: kt.Mechanism) -> None:
        self.model = pin.Model()
        self.model.gravity = pin.Motion(robot.gravity, np.zeros(3))
        self._joints = {-1: 0}
        for i in _depth_first(robot.model):
            joint, mass = robot.model.joints[i], robot.model.bodies[i].mass_properties
            place = pin.SE3(joint.placement.matrix)
            self._joints[i] = self.model.addJoint(self._joints[joint.parent], _joint(joint.kind), place, joint.name)
            inertia = pin.Inertia(mass.mass, np.array(mass.com), mass.inertia_matrix)
            self.model.appendBodyToJoint(self._joints[i], inertia, pin.SE3.Identity())
        self.data = self.model.createData()
        self.loops, self.loop_data = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
        for loop in robot.model.loops:
            for offset in _points(loop.kind):
                self._add(loop, pin.SE3(np.eye(3), offset))
        pin.initConstraintDynamics(self.model, self.data, self.loops, self.loop_data)
        self.settings = pin.ProximalSettings(1e-10, 1e-8, 20)

    def _add(self, loop: Any, shift: Any) -> None:
        places = [pin.SE3(p.matrix) * shift for p in (loop.placement, loop.seat)]
        a, b = self._joints[loop.predecessor], self._joints[loop.successor]
        kind = pin.ContactType.CONTACT_3D
        constraint = pin.RigidConstraintModel(kind, self.model, a, places[0], b, places[1], pin.LOCAL)
        self.loops.append(constraint)
        self.loop_data.append(constraint.createData())

    def __call__(self, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
        return np.asarray(
            pin.constraintDynamics(self.model, self.data, q, v, tau, self.loops, self.loop_data, self.settings)
        )


def _depth_first(model: Any) -> list[int]:
    order: list[int] = []
    stack = list(reversed(model.roots))
    while stack:
        i = stack.pop()
        order.append(i)
        stack += reversed(model.children[i])
    return order


def _joint(kind: Any) -> Any:
    if isinstance(kind, kt.Revolute):
        return pin.JointModelRevoluteUnaligned(np.array(kind.axis))
    if isinstance(kind, kt.Prismatic):
        return pin.JointModelPrismaticUnaligned(np.array(kind.axis))
    raise NotImplementedError(kind)


def _points(kind: Any) -> list[np.ndarray]:
    """Points that keep a joint together."""
    if isinstance(kind, kt.Spherical):
        return [np.zeros(3)]
    if isinstance(kind, kt.Revolute):
        return [np.zeros(3), 0.3 * np.array(kind.axis)]
    raise NotImplementedError(kind)


def mujoco_chain(count: int) -> tuple[Any, Any]:
    """The same chain with ``connect`` constraints."""
    bar = '<inertial pos="{0}" mass="1" diaginertia="{1}"/>'
    upright, level = bar.format("0 .5 0", ".0834 1e-4 .0834"), bar.format(".5 0 0", "1e-4 .0834 .0834")
    bodies, pins = [], []
    for i in range(count + 1):
        hinge = '<joint type="hinge" axis="0 0 1"/>'
        coupler = f'<body name="c{i}" pos="0 1 0">{hinge}{level}</body>' if i < count else ""
        bodies.append(f'<body name="r{i}" pos="{i} 0 0">{hinge}{upright}{coupler}</body>')
        if i:
            pins.append(f'<connect body1="c{i - 1}" body2="r{i}" anchor="1 0 0"/>')
    text = (
        f'<mujoco><option gravity="0 -9.81 0"/><worldbody>{"".join(bodies)}</worldbody>'
        f"<equality>{''.join(pins)}</equality></mujoco>"
    )
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    data.qvel[::2] = 1.0
    return model, data
