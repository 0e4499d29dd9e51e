"""Random trees with every kind of joint that both know, against Pinocchio."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import kinetree as kt
from judges import WORST, print_worst
from judges.comparison import (
    States,
    compare_centroid,
    compare_centroidal_rate,
    compare_configurations,
    compare_coriolis,
    compare_dynamics,
    compare_frame,
    compare_jacobian_rates,
    compare_mixed_dynamics,
    compare_pushes,
)
from judges.pinocchio_joints import EASED_HINGE, counterpart
from judges.pinocchio_judge import Part, PinocchioJudge
from kinetree.model.joints import THREE_AXIS_SEQUENCES, TWO_AXIS_SEQUENCES, JointKind

Array = np.ndarray
Maker = Callable[[np.random.Generator], JointKind]


def _direction(rng: np.random.Generator) -> Array:
    axis = rng.standard_normal(3)
    return axis / np.linalg.norm(axis)


def _coordinate_axis(rng: np.random.Generator) -> str:
    return str(rng.choice(["x", "y", "z", "-x", "-y", "-z"]))


MAKERS: dict[str, Maker] = {
    "fixed": lambda rng: kt.Fixed(),
    "revolute": lambda rng: kt.Revolute(_coordinate_axis(rng)),
    "revolute, any axis": lambda rng: kt.Revolute(_direction(rng)),
    "continuous": lambda rng: kt.Continuous(_coordinate_axis(rng)),
    "continuous, any axis": lambda rng: kt.Continuous(_direction(rng)),
    "prismatic": lambda rng: kt.Prismatic(_coordinate_axis(rng)),
    "prismatic, any axis": lambda rng: kt.Prismatic(_direction(rng)),
    "helical": lambda rng: kt.Helical(_coordinate_axis(rng), rng.uniform(-0.3, 0.3)),
    "helical, any axis": lambda rng: kt.Helical(_direction(rng), rng.uniform(-0.3, 0.3)),
    "cylindrical": lambda rng: kt.Cylindrical(_coordinate_axis(rng)),
    "cylindrical, any axis": lambda rng: kt.Cylindrical(_direction(rng)),
    "universal": lambda rng: kt.Universal(str(rng.choice(TWO_AXIS_SEQUENCES))),
    "spherical": lambda rng: kt.Spherical(),
    "spherical, ZYX": lambda rng: kt.EulerSpherical("ZYX"),
    "spherical, any sequence": lambda rng: kt.EulerSpherical(str(rng.choice(THREE_AXIS_SEQUENCES))),
    "planar": lambda rng: kt.Planar("z"),
    "planar, any normal": lambda rng: kt.Planar(_direction(rng)),
    "translation": lambda rng: kt.Translation(),
    "free": lambda rng: kt.Free(),
    "free, any sequence": lambda rng: kt.EulerFree(str(rng.choice(THREE_AXIS_SEQUENCES))),
    "custom": lambda rng: EASED_HINGE,
}


def _rotation(rng: np.random.Generator) -> Array:
    """None, about one axis, or any: the three cases that placements distinguish."""
    choice = rng.integers(3)
    if choice == 0:
        return np.eye(3)
    if choice == 1:
        return kt.Pose.of(rpy=rng.permutation([rng.uniform(-3, 3), 0.0, 0.0])).rotation
    quaternion = rng.standard_normal(4)
    return kt.Pose.of(quaternion=quaternion / np.linalg.norm(quaternion)).rotation


def _inertia(rng: np.random.Generator, mass: float) -> Array:
    """About the center of mass, of a random cloud of mass, so that it is physically possible."""
    spread = rng.uniform(0.05, 0.3) * (np.eye(3) + 0.3 * rng.standard_normal((3, 3)))
    second = mass * spread @ spread.T
    inertia = np.trace(second) * np.eye(3) - second
    return 0.5 * (inertia + inertia.T)


def make_part(name: str, parent: str | None, kind: JointKind, rng: np.random.Generator) -> Part:
    """A body with random numbers; rotors wherever Pinocchio has room for them."""
    mass = float(np.exp(rng.uniform(np.log(0.3), np.log(5.0))))
    rotors: tuple[float, ...] = ()
    if kind.nv:
        room = counterpart(kind).rotors[: kind.nv]
        rotors = tuple(float(rng.uniform(0.01, 0.5)) if free and rng.random() < 0.5 else 0.0 for free in room)
    return Part(
        name,
        parent,
        kind,
        _rotation(rng),
        rng.uniform(-0.5, 0.5, 3) * rng.integers(0, 2),
        mass,
        rng.uniform(-0.3, 0.3, 3) * rng.integers(0, 2),
        _inertia(rng, mass),
        rotors,
        (_rotation(rng), rng.uniform(-0.3, 0.3, 3)),
    )


def build(parts: list[Part], gravity: Array) -> kt.Robot:
    """The tree in kinetree; rotors are split between inertia and gear."""
    builder = kt.Builder("random tree", gravity=gravity)
    for part in parts:
        gear = np.full(part.kind.nv, 3.0)
        builder.body(
            part.name,
            part.parent or "base",
            part.kind,
            position=part.position,
            rotation=part.rotation,
            mass=part.mass,
            com=part.com,
            inertia=part.inertia,
            rotor_inertia=np.array(part.armature) / gear**2,
            gear_ratio=gear,
        )
        builder.frame(f"{part.name}_tool", part.name, part.tool[1], rotation=part.tool[0])
    return builder.build()


def draw_configurations(robot: kt.Robot, rng: np.random.Generator, count: int) -> Array:
    """Random configurations that stay clear of gimbal lock, where no two ways agree to ten digits."""
    q = robot.random_configuration(rng, count)
    for joint in robot.model.joints:
        if isinstance(joint.kind, (kt.EulerSpherical, kt.EulerFree)):
            sequence = joint.kind.sequence
            middle = rng.uniform(-1.1, 1.1, count) + (np.pi / 2 if sequence[0] == sequence[2] else 0.0)
            q[:, joint.q_slice.start + 1] = middle
    return q


def draw_gravity(rng: np.random.Generator) -> Array:
    return 9.81 * _direction(rng)


@st.composite
def trees(draw: st.DrawFn) -> tuple[list[Part], int]:
    """Topology and kinds of joints are drawn one by one; the numbers come from a seed."""
    count = draw(st.integers(1, 12))
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    parts: list[Part] = []
    for i in range(count):
        names = sorted(MAKERS) if i else sorted(set(MAKERS) - {"fixed"})
        maker = MAKERS[draw(st.sampled_from(names))]
        # A new body hangs on one of the last three as a rule, so that deep trees occur, too.
        back = draw(st.integers(1, 3)) if draw(st.booleans()) else draw(st.integers(1, i + 1))
        parent = parts[i - back].name if back <= i else None
        parts.append(make_part(f"body{i}", parent, maker(rng), rng))
    return parts, seed


def check(parts: list[Part], seed: int, states: int = 3) -> None:
    """Every quantity, for one tree and a few states."""
    rng = np.random.default_rng(seed)
    robot = build(parts, draw_gravity(rng))
    judge = PinocchioJudge.of_tree(robot, parts)
    chains = PinocchioJudge.of_tree(robot, _without_rotors(parts), chains=True)
    s = States.draw(robot, rng, states, draw_configurations(robot, rng, states))
    frame = rng.choice([f"{p.name}{suffix}" for p in parts for suffix in ("", "_tool")])
    compare_dynamics(robot, judge, s)
    compare_mixed_dynamics(robot, judge, s, rng)
    compare_coriolis(robot, chains, s)
    if robot.frame(frame).body >= 0:
        compare_frame(robot, judge, s, frame)
        compare_jacobian_rates(robot, chains, s, frame)
        compare_pushes(robot, judge, s, frame, rng)
    compare_centroid(robot, judge, s)
    compare_centroidal_rate(robot, chains, s)
    if judge.integrates_alike:
        compare_configurations(robot, judge, s, draw_configurations(robot, rng, states))


def _without_rotors(parts: list[Part]) -> list[Part]:
    """Rotors do not enter what the chains are asked, see :func:`check`."""
    return [Part(**{**vars(p), "armature": ()}) for p in parts]


@pytest.fixture(autouse=True, scope="module")
def report() -> Iterator[None]:
    WORST.clear()
    yield
    print_worst()


@pytest.mark.slow
@settings(max_examples=100, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(trees())
def test_random_tree_agrees_with_pinocchio(tree: tuple[list[Part], int]) -> None:
    check(*tree)


@pytest.mark.parametrize("name", sorted(set(MAKERS) - {"fixed"}))
def test_every_kind_of_joint_as_root_in_the_middle_and_as_tip(name: str) -> None:
    rng = np.random.default_rng(1)
    maker = MAKERS[name]
    parts = [
        make_part("root", None, maker(rng), rng),
        make_part("left", "root", kt.Revolute("y"), rng),
        make_part("weld", "left", kt.Fixed(), rng),
        make_part("finger", "weld", maker(rng), rng),
        make_part("right", "root", maker(rng), rng),
        make_part("wrist", "right", kt.Prismatic(_direction(rng)), rng),
        make_part("tip", "wrist", maker(rng), rng),
    ]
    check(parts, seed=2)


@pytest.mark.parametrize("sequence", [*THREE_AXIS_SEQUENCES, *TWO_AXIS_SEQUENCES])
def test_every_euler_sequence(sequence: str) -> None:
    rng = np.random.default_rng(3)
    kinds: list[JointKind] = [kt.Revolute("x")]
    if len(sequence) == 3:
        kinds += [kt.EulerSpherical(sequence), kt.EulerFree(sequence)]
    else:
        kinds += [kt.Universal(sequence)]
    parts = [make_part(f"body{i}", f"body{i - 1}" if i else None, kind, rng) for i, kind in enumerate(kinds)]
    check(parts, seed=4)
