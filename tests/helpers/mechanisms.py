"""Mechanisms with closed loops for tests, assembled from plain numbers."""

from __future__ import annotations

import numpy as np

import kinetree as kt

CLOSING = [
    kt.Revolute((1, 2, 3)), kt.Prismatic("x"), kt.Cylindrical((1, 0, 1)), kt.Universal("XZ"), kt.Spherical(),
    kt.Planar((0, 1, 1)), kt.Helical("y", 0.3), kt.Fixed(), kt.Distance(1.2), kt.Translation(),
    kt.EulerSpherical("ZYX"),
]  # fmt: skip
"""Every kind of joint that can close a loop."""


def rod(mass: float, length: float) -> dict[str, object]:
    """A slender rod along x."""
    i = mass * length * length / 12
    return {"mass": mass, "com": (length / 2, 0, 0), "inertia": (0, i, i)}


def four_bar(cut: str = "coupler_end") -> kt.Mechanism:
    """Shah Table 10.3, cut between crank and coupler, or at the rocker's pivot."""
    b = kt.Builder("four-bar", gravity=(0, -9.81, 0))
    z = kt.Revolute("z")
    b.body("crank", "base", z, **rod(1.5, 0.038))
    if cut == "coupler_end":
        b.body("rocker", "base", z, position=(-0.0895, 0, 0), actuated=False, **rod(3, 0.1152))
        b.body("coupler", "rocker", z, position=(0.1152, 0, 0), actuated=False, **rod(5, 0.1152))
        b.loop("cut", "crank", "coupler", z, placement=(0.038, 0, 0), seat=(0.1152, 0, 0))
    else:
        ends = {"mass": 5, "com": (0.0576, 0, 0), "inertia": (0, 5 * 0.1152**2 / 12, 5 * 0.1152**2 / 12)}
        b.body("coupler", "crank", z, position=(0.038, 0, 0), actuated=False, **ends)
        b.body("rocker", "coupler", z, position=(0.1152, 0, 0), actuated=False, **rod(3, 0.1152))
        b.loop("cut", "base", "rocker", z, placement=(-0.0895, 0, 0), seat=(0.1152, 0, 0))
    return b.build()


def spatial(kind: kt.model.joints.JointKind, seed: int = 0) -> kt.Mechanism:
    """Two branches of general joints on a common body, closed by a joint of the given kind."""
    rng = np.random.default_rng(seed)

    def solid() -> dict[str, object]:
        return {"mass": rng.uniform(0.5, 2), "com": rng.normal(size=3) * 0.1, "inertia": rng.uniform(0.4, 0.6, 3)}

    def place() -> kt.Pose:
        return kt.Pose.of(rng.normal(size=3) * 0.4, rpy=rng.normal(size=3))

    b = kt.Builder(f"spatial-{kind.name}")
    trunk = [kt.Universal("XY"), kt.Revolute((1, 1, 0)), kt.Spherical(), kt.Helical("z", 0.2)]
    limb = [kt.Revolute("y"), kt.Spherical(), kt.Prismatic((1, 1, 0)), kt.Revolute("z"), kt.Universal("ZX")]
    parent = "base"
    for i, joint in enumerate(trunk):
        b.body(f"trunk{i}", parent, joint, placement=place(), **solid())
        parent = f"trunk{i}"
    parent = "trunk0"
    for i, joint in enumerate(limb):
        b.body(f"limb{i}", parent, joint, placement=place(), **solid())
        parent = f"limb{i}"
    b.loop("knot", "trunk3", "limb4", kind, placement=place(), seat=place())
    return b.build()


def two_loops(actuated: int = 3) -> kt.Mechanism:
    """A planar 3-RRR-like platform: three legs, two cuts, hinges everywhere."""
    b = kt.Builder("platform", gravity=(0, -9.81, 0))
    z = kt.Revolute("z")
    for i, pivot in enumerate([(0, 0, 0), (1, 0, 0), (0.5, 0.866, 0)]):
        b.body(f"proximal{i}", "base", z, position=pivot, actuated=i < actuated, **rod(3, 0.4))
        b.body(f"distal{i}", f"proximal{i}", z, position=(0.4, 0, 0), actuated=False, **rod(4, 0.6))
    b.body(
        "plate",
        "distal0",
        z,
        position=(0.6, 0, 0),
        actuated=False,
        mass=8,
        com=(0.2, 0.11547, 0),
        inertia=(0.1, 0.1, 0.16),
    )
    b.loop("pin1", "distal1", "plate", z, placement=(0.6, 0, 0), seat=(0.4, 0, 0))
    b.loop("pin2", "distal2", "plate", z, placement=(0.6, 0, 0), seat=(0.2, 0.34641, 0))
    return b.build()


def closed_state(robot: kt.Mechanism, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """A closed configuration and a velocity that the loops allow."""
    rng = np.random.default_rng(seed)
    q = robot.assembled(seed)
    return robot.project(q, rng.normal(size=robot.nv))
