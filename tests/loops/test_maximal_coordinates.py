"""Forward dynamics of mechanisms against bodies that move freely, held together by constraints alone."""

from __future__ import annotations

import numpy as np
import pytest

import kinetree as kt
from helpers.loop_models import three_bars
from helpers.mechanisms import CLOSING
from judges import maximal_coordinates

TREE = [
    kt.Revolute((1, 1, 0)), kt.Spherical(), kt.Universal("XY"), kt.Helical("z", 0.2), kt.Prismatic((1, 0, 1)),
    kt.Cylindrical("y"), kt.Revolute("x"), kt.Universal("ZX"), kt.Spherical(),
]  # fmt: skip


def random_mechanism(kind, seed, floating=False, **cut):
    """Two random branches on a random body, closed by a joint; springs, dampers, friction and rotors all over."""
    rng = np.random.default_rng(seed)
    b = kt.Builder("random", gravity=rng.normal(size=3) * 5)
    order = [TREE[k] for k in rng.permutation(len(TREE))]

    def place():
        return kt.Pose.of(rng.normal(size=3) * 0.4, rpy=rng.normal(size=3))

    def body(name, parent, joint):
        data = {key: rng.uniform(0.0, 1.0, joint.nv) for key in ("damping", "friction", "rotor_inertia")}
        if joint.nv < 3:
            data |= {"stiffness": rng.uniform(0.0, 5.0, joint.nv), "spring_rest": rng.normal(size=joint.nv)}
        else:
            data |= {"stiffness": np.full(3, rng.uniform(1, 4)), "spring_rest": np.array([0.6, 0.0, 0.0, 0.8])}
            data["rotor_inertia"] = np.zeros(3)
        solid = {"mass": rng.uniform(0.5, 2), "com": rng.normal(size=3) * 0.1, "inertia": rng.uniform(0.4, 0.6, 3)}
        b.body(name, parent, joint, placement=place(), **solid, **data)

    if floating:
        solid = {"mass": 3.0, "com": (0.1, 0.0, 0.05), "inertia": (0.4, 0.5, 0.6)}
        b.body("trunk", "base", kt.Free(), **solid)
    else:
        body("trunk", "base", order[0])
    for branch, joints in (("left", order[1:4]), ("right", order[4:])):
        parent = "trunk"
        for i, joint in enumerate(joints):
            body(f"{branch}{i}", parent, joint)
            parent = f"{branch}{i}"
    b.loop("knot", "left2", "right4", kind, placement=place(), seat=place(), **cut)
    return b.build()


def judged(robot, seed, q=None, speed=1.0, friction=True):
    rng = np.random.default_rng(seed)
    q, v = robot.project(robot.assembled(seed) if q is None else q, speed * rng.normal(size=robot.nv))
    tau = rng.normal(size=robot.nv) * 3
    wanted = maximal_coordinates.accelerations(robot, q, v, tau, friction)
    for method in ("elimination", "block", "reduced"):
        found = robot.forward_dynamics(q, v, tau, friction=friction, method=method)
        np.testing.assert_allclose(found, wanted, atol=1e-9 * max(1.0, np.abs(wanted).max()), err_msg=method)


@pytest.mark.slow
@pytest.mark.parametrize(("number", "kind"), list(enumerate(CLOSING)), ids=lambda k: getattr(k, "name", ""))
def test_every_loop_joint(number, kind):
    judged(random_mechanism(kind, 7 + number, floating=number % 2 == 1), 3)


@pytest.mark.parametrize("kind", [kt.Revolute("z"), kt.Prismatic("x"), kt.Universal("XY")], ids=lambda k: k.name)
def test_springs_friction_and_rotors_at_the_cut(kind):
    own = {"damping": 0.7, "friction": 0.4, "rotor_inertia": 0.1, "stiffness": 3.0}
    robot = random_mechanism(kind, 11, **own)
    assert robot.joint("knot").stiffness
    judged(robot, 5)


def test_constraints_that_are_there_twice_or_need_not_be_there():
    bars = three_bars()
    judged(bars, 2, bars.close([0.6, -0.6, 0.6, 0.6], fixed=["bar0_joint"]))
    with pytest.warns(kt.SingularityWarning):  # all in one line, at rest: forces decide where it goes
        judged(bars, 2, np.zeros(4), speed=0.0)
    b = kt.Builder("double hinge", gravity=(0, -9.81, 1))
    rod = {"mass": 1.0, "com": (0.5, 0, 0.1), "inertia": (0.1, 0.2, 0.3), "damping": 0.3}
    b.body("crank", "base", kt.Revolute("z"), **rod)
    b.body("coupler", "crank", kt.Revolute("z"), position=(0.6, 0, 0), **rod)
    b.body("rocker", "base", kt.Revolute("z"), position=(1.4, 0, 0), **rod)
    for height in (-0.1, 0.2):  # two hinges on one axis
        b.loop(f"pin{height}", "coupler", "rocker", kt.Revolute("z"), placement=(1, 0, height), seat=(0.9, 0, height))
    b.loop("rod", "coupler", "rocker", kt.Spherical(), placement=(1, 0, 0), seat=(0.9, 0, 0))
    robot = b.build()
    assert robot.mobility().freedoms == 1
    judged(robot, 4)
