"""Small robots with known answers, random trees with every kind of joint, and random states."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy.spatial.transform import Rotation

import kinetree as kt
from kinetree.model.joints import THREE_AXIS_SEQUENCES, TWO_AXIS_SEQUENCES, JointKind

Generator = np.random.Generator


def random_axis(rng: Generator) -> str | np.ndarray:
    """A coordinate axis of either sign, or any direction."""
    if rng.random() < 0.5:
        return str(rng.choice(["x", "y", "z", "-x", "-y", "-z"]))
    return rng.standard_normal(3)


def cam(x, y):
    """A two-degree joint of no standard kind: slides along a curve while turning about two axes."""
    s, c, s2, c2 = kt.sin(x), kt.cos(x), kt.sin(0.5 * y), kt.cos(0.5 * y)
    rotation = ((c, -s * c2, s * s2), (s, c * c2, -c * s2), (0.0, s2, c2))
    return rotation, (0.2 * x * y, 0.1 * s, y + 0.05 * x * x)


KINDS: dict[str, Callable[[Generator], JointKind]] = {
    "revolute": lambda rng: kt.Revolute(random_axis(rng)),
    "continuous": lambda rng: kt.Continuous(random_axis(rng)),
    "prismatic": lambda rng: kt.Prismatic(random_axis(rng)),
    "helical": lambda rng: kt.Helical(random_axis(rng), rng.uniform(-0.4, 0.4)),
    "cylindrical": lambda rng: kt.Cylindrical(random_axis(rng)),
    "universal": lambda rng: kt.Universal(str(rng.choice(TWO_AXIS_SEQUENCES))),
    "spherical": lambda rng: kt.Spherical(),
    "spherical_euler": lambda rng: kt.EulerSpherical(str(rng.choice(THREE_AXIS_SEQUENCES))),
    "planar": lambda rng: kt.Planar(random_axis(rng)),
    "translation": lambda rng: kt.Translation(),
    "free": lambda rng: kt.Free(),
    "free_euler": lambda rng: kt.EulerFree(str(rng.choice(THREE_AXIS_SEQUENCES))),
    "custom": lambda rng: kt.Custom(2, cam, "cam", ("rad", "m")),
}
"""A random joint of each kind."""


def random_mass(rng: Generator) -> kt.MassProperties:
    """A box of random size, somewhere, turned somehow: always a possible body."""
    box = kt.MassProperties.box(rng.uniform(0.5, 3.0), rng.uniform(0.1, 0.6, 3), rng.uniform(-0.3, 0.3, 3))
    return box.moved(kt.Pose.of(rng.uniform(-0.1, 0.1, 3), rotation=Rotation.random(rng=rng).as_matrix()))


def random_pose(rng: Generator) -> kt.Pose:
    """Any rotation and a shift, or only one of them."""
    rotation = Rotation.random(rng=rng).as_matrix() if rng.random() < 0.8 else np.eye(3)
    position = rng.uniform(-0.4, 0.4, 3) if rng.random() < 0.8 else np.zeros(3)
    return kt.Pose.of(position, rotation=rotation)


def random_tree(
    rng: Generator,
    n: int,
    kinds: Sequence[str] | None = None,
    floating: bool = False,
    *,
    followers: bool = False,
    armature: bool = True,
    gravity: Sequence[float] | None = None,
    in_turn: bool = False,
    springs: bool = False,
) -> kt.Robot:
    """A tree of ``n`` bodies ``b0``, ``b1``, ... on joints ``j0``, ``j1``, ..., with frames ``f0``, ``f1``, ...

    Parameters
    ----------
    kinds : names out of :data:`KINDS`
        All by default.
    floating : bool
        Let ``b0`` float on a free joint and carry all others.
    followers : bool
        Let some of the one-degree joints mimic earlier ones, also such as follow others.
    armature : bool
        Give some joints rotor inertia behind a gear.
    gravity : three numbers
        Any direction by default.
    in_turn : bool
        Take the kinds one after the other instead of any of them.
    springs : bool
        Give every joint a spring, which rests somewhere.
    """
    g = rng.uniform(-10.0, 10.0, 3) if gravity is None else gravity
    builder = kt.Builder("random tree", gravity=g)
    names = list(kinds or KINDS)
    singles: list[str] = []
    for i in range(n):
        if floating and i == 0:
            kind: JointKind = kt.Free()
        else:
            kind = KINDS[names[i % len(names)] if in_turn else str(rng.choice(names))](rng)
        lowest = 0 if floating else -1
        parent = "base" if i == 0 else int(rng.integers(lowest, i))
        data: dict[str, object] = {}
        if armature and rng.random() < 0.5:
            data = {"rotor_inertia": rng.uniform(0.0, 0.02, kind.nv), "gear_ratio": rng.uniform(1.0, 5.0, kind.nv)}
        if springs:
            none = (-np.inf,) * kind.nq, (np.inf,) * kind.nq
            data |= {"stiffness": rng.uniform(1.0, 20.0, kind.nv), "spring_rest": kind.random(rng, *none, ())}
        if kind.nv == 1:
            if followers and singles and rng.random() < 0.6:
                leader = str(rng.choice(singles))
                data["mimic"] = kt.Mimic(leader, float(rng.uniform(-2.0, 2.0)), float(rng.uniform(-1.0, 1.0)))
            singles.append(f"j{i}")
        builder.body(
            f"b{i}",
            parent if isinstance(parent, str) else ("base" if parent < 0 else f"b{parent}"),
            kind,
            joint_name=f"j{i}",
            placement=random_pose(rng),
            mass_properties=random_mass(rng),
            **data,
        )
        builder.frame(f"f{i}", f"b{i}", pose=random_pose(rng))
    return builder.build()


def random_state(
    robot: kt.Robot, rng: Generator, shape: int | tuple[int, ...] = ()
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Configurations (well away from gimbal lock), velocities and accelerations."""
    batch = (shape,) if isinstance(shape, int) else shape
    q = robot.random_configuration(rng, batch)
    for joint in robot.model.joints:
        sequence = getattr(joint.kind, "sequence", "")
        if len(sequence) == 3 and not joint.mimic:
            low, high = (0.5, 2.6) if sequence[0] == sequence[2] else (-1.0, 1.0)
            q[..., joint.q_slice.start + 1] = rng.uniform(low, high, batch)
    return q, rng.uniform(-2.0, 2.0, (*batch, robot.nv)), rng.uniform(-5.0, 5.0, (*batch, robot.nv))


def gripper() -> kt.Robot:
    """The four-link gripper of seed Shah, sections 6.4 and 10 (notes: chapters 2-7, section 8.1)."""
    builder = kt.Builder("gripper", gravity=(0.0, -9.81, 0.0))
    for name, parent, at, length, mass in (
        ("1", "base", 0.0, 0.10, 0.4),
        ("2", "1", 0.10, 0.05, 0.2),
        ("3", "2", 0.05, 0.05, 0.2),
        ("4", "1", 0.05, 0.05, 0.2),
    ):
        rod = kt.MassProperties.rod(mass, (0, 0, 0), (length, 0, 0))
        builder.body(name, parent, kt.Revolute("z"), position=(at, 0, 0), mass_properties=rod)
    return builder.build()


def arm() -> kt.Robot:
    """Three hinges, a tool, limits and friction: for tests of arguments rather than of numbers."""
    builder = kt.Builder("arm")
    box = kt.MassProperties.box(2.0, (0.1, 0.1, 0.4), (0, 0, 0.2))
    builder.body("upper", "base", kt.Revolute("z"), joint_name="shoulder", mass_properties=box, damping=0.3)
    builder.body(
        "middle", "upper", kt.Revolute("y"), joint_name="elbow", position=(0, 0, 0.4), mass_properties=box,
        lower=-2.0, upper=1.5, friction=0.2,
    )  # fmt: skip
    builder.body("lower", "middle", kt.Revolute("x"), joint_name="wrist", position=(0, 0, 0.4), mass_properties=box)
    return builder.frame("tool", "lower", (0, 0, 0.4)).build()


def floating_pair() -> kt.Robot:
    """A free body that carries another one on a ball joint and a third on a hinge."""
    builder = kt.Builder("pair")
    box = kt.MassProperties.box(1.5, (0.3, 0.2, 0.1), (0.05, 0.0, 0.02))
    builder.body("trunk", "base", kt.Free(), joint_name="root", mass_properties=box)
    builder.body("head", "trunk", kt.Spherical(), joint_name="neck", position=(0, 0, 0.2), mass_properties=box)
    builder.body("tail", "trunk", kt.Revolute("y"), joint_name="hinge", position=(-0.2, 0, 0), mass_properties=box)
    return builder.frame("nose", "head", (0.1, 0, 0)).build()


def two_links(name: str = "arm") -> kt.Robot:
    """Return an arm of two links in machine code."""
    builder = kt.Builder(name)
    builder.body("upper", "base", kt.Revolute("y"), mass=2.0, com=(0, 0, 0.3), inertia=(0.1, 0.1, 0.01))
    builder.body("lower", "upper", kt.Revolute("x"), position=(0, 0, 0.6), mass=1.0, com=(0, 0, 0.2))
    return builder.build().with_backend("compiled")


def two_links_state(inputs: str, batch: tuple[int, ...] = ()) -> list[np.ndarray]:
    """Return some of q, v and a of two links, by their letters."""
    values = np.random.default_rng(3).uniform(-1.0, 1.0, (3, *batch, 2))
    return [dict(zip("qva", values, strict=True))[name] for name in inputs]


def rods(n: int = 2, **data: float) -> kt.Robot:
    """Return a pendulum of rods of one meter and one kilogram."""
    b, rod = kt.Builder("pendulum"), kt.MassProperties.rod(1.0, (0, 0, 0), (0, 0, -1))
    for k in range(n):
        place = (0, 0, -1) if k else (0, 0, 0)
        b.body(f"b{k}", f"b{k - 1}" if k else "base", kt.Revolute("y"), position=place, mass_properties=rod, **data)
    return b.build()


def balls(count: int = 1, backend: str = "reference") -> kt.Robot:
    """Return balls that fall along z, without contact among them."""
    builder = kt.Builder("balls")
    for k in range(count):
        builder.body(f"ball{k}", "base", kt.Prismatic("z"), mass=1.0)
    return builder.build().with_backend(backend)
