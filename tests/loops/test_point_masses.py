"""Mechanisms of point masses, sliders and pins that lie on hinges as they are drawn, from 1 mm to 1 km.

Nothing but the distance of a pin from its hinge tells how large these are, and as drawn (all coordinates zero) there
may be no distance at all.  Judged by closed forms, by bodies in maximal coordinates, and by similarity: lengths times
L, gravity times L, moments of inertia times L^2 move alike, in the same time.
"""

from __future__ import annotations

import copy

import numpy as np
import pytest

import kinetree as kt
from judges import maximal_coordinates
from kinetree.loops import clusters

SCALES = (1e-3, 1.0, 1e3)


def yoke(offset, length):
    """A Scotch yoke: a crank, a slider, and a block on it that the crank's pin carries along."""
    b = kt.Builder("yoke", gravity=(0, -9.81 * length, 0))
    b.body("crank", "base", kt.Revolute("z"), mass=1, inertia=(0.05 * length**2,) * 3)
    b.body("yoke", "base", kt.Prismatic("x"), position=(offset, offset, 0), mass=1, actuated=False)
    b.body("block", "yoke", kt.Prismatic("y"), mass=0.1, actuated=False)
    b.loop("pin", "crank", "block", kt.Revolute("z"), placement=(0.3 * length, 0, 0))
    return b.build()


def trammel(offset, length):
    """An elliptic trammel: a bar with a point mass at half its length, guided by two sliders at right angles."""
    b = kt.Builder("trammel", gravity=(0, -9.81 * length, 0))
    b.body("along", "base", kt.Prismatic("x"), mass=1)
    b.body("bar", "along", kt.Revolute("z"), mass=0.4, com=(0.25 * length, 0, 0), actuated=False)
    b.body("up", "base", kt.Prismatic("y"), position=(offset, offset, 0), mass=2, actuated=False)
    b.loop("pin", "bar", "up", kt.Revolute("z"), placement=(0.5 * length, 0, 0))
    return b.build()


@pytest.mark.parametrize("length", SCALES)
@pytest.mark.parametrize("offset", [0.0, 1e-16, 1e-12, 1e-9, 1e-3])
def test_scotch_yoke(offset, length):
    """With an offset of 1e-16 there were two freedoms, with none at all every method ended in ZeroDivisionError."""
    robot, angle, r = yoke(offset * length, length), 0.7, 0.3 * length
    q = np.array([angle, r * np.cos(angle) - offset * length, r * np.sin(angle) - offset * length])
    mobility = robot.mobility(q)
    assert mobility.freedoms == 1
    assert not mobility.singular
    felt = 0.05 * length**2 + r**2 * (1.1 * np.sin(angle) ** 2 + 0.1 * np.cos(angle) ** 2)
    turned = (1.0 * length**2 - 0.1 * 9.81 * length * r * np.cos(angle)) / felt
    wanted = turned * np.array([1.0, -r * np.sin(angle), r * np.cos(angle)])
    tau = np.array([1.0 * length**2, 0.0, 0.0])
    found = robot.forward_dynamics(q, np.zeros(3), tau)
    np.testing.assert_allclose(found / [1, length, length], wanted / [1, length, length], rtol=1e-10)
    np.testing.assert_allclose(robot.inverse_dynamics(q, np.zeros(3), found)[0], tau[0], rtol=1e-9)
    np.testing.assert_allclose(robot.close({"crank_joint": angle}, fixed=["crank_joint"]), q, atol=1e-9 * length)


@pytest.mark.parametrize("length", SCALES)
@pytest.mark.parametrize("offset", [0.0, 1e-16, 1e-12])
def test_elliptic_trammel(offset, length):
    robot, angle, bar = trammel(offset * length, length), 0.4, 0.5 * length
    s, c = np.sin(angle), np.cos(angle)
    q = np.array([-bar * c + offset * length, angle, bar * s - offset * length])
    assert robot.mobility(q).freedoms == 1
    # the bar's middle is half a bar from where the slides cross
    felt = bar**2 * (1.0 * s**2 + 2.0 * c**2 + 0.4 / 4)
    turned = (3.0 * length * bar * s - 9.81 * length * bar * c * (2.0 + 0.4 / 2)) / felt
    wanted = turned * np.array([bar * s, 1.0, bar * c])
    found = robot.forward_dynamics(q, np.zeros(3), [3.0 * length, 0.0, 0.0])
    np.testing.assert_allclose(found / [length, 1, length], wanted / [length, 1, length], rtol=1e-10)


def test_point_masses_say_nothing_about_size():
    """The median of all sizes was zero where most bodies have none."""
    model = yoke(0.0, 1.0).model
    assert clusters.size_of_bodies(model, np.arange(3)) == pytest.approx(np.sqrt(0.15 / 2))
    assert clusters.size_of_bodies(model, np.array([1, 2])) == 0.0


def test_a_mechanism_of_no_length_at_all():
    """Slides and hinges that all meet in one point as drawn: any length will do."""
    b = kt.Builder("no length", gravity=(0, -9.81, 0))
    b.body("arm", "base", kt.Revolute("z"), mass=1, inertia=(0.1,) * 3)
    b.body("collar", "arm", kt.Prismatic("x"), mass=1)
    b.body("slider", "base", kt.Prismatic((1, 1e-17, 0)), mass=2, actuated=False)
    b.loop("pin", "collar", "slider", kt.Revolute("z"), placement=(1e-16, 0, 0))
    robot = b.build()
    q = np.array([0.0, 0.2, 0.2 + 1e-16])
    assert robot.mobility(q).freedoms == 1
    found = robot.forward_dynamics(q, np.zeros(3), [0.0, 1.5, 1.5])
    np.testing.assert_allclose(found, [0, 1, 1], atol=1e-12)


# ------------------------------------------------------------------ random ones


def places(model, q):
    """Return how far apart the two ends of each pin are: plain kinematics."""
    bodies = []
    for joint in model.joints:
        turn, origin = (np.eye(3), np.zeros(3)) if joint.parent < 0 else bodies[joint.parent]
        own, shift = maximal_coordinates.relative(joint.kind, q[joint.q_slice])
        bodies.append((turn @ own, origin + turn @ (np.array(joint.placement.position) + shift)))
    bodies.append((np.eye(3), np.zeros(3)))  # the base is -1
    apart = []
    for loop in model.loops:
        ends = [
            bodies[i][1] + bodies[i][0] @ np.array(pose.position)
            for i, pose in ((loop.predecessor, loop.placement), (loop.successor, loop.seat))
        ]
        apart.append(ends[1] - ends[0])
    return np.concatenate(apart)


def closed(robot, moved, length):
    """Return a configuration with hinges turned at random, slides where they close all pins; None if none do."""
    q = robot.integrate(robot.neutral(), moved[: robot.nv])
    slides = [joint.q_slice.start for joint in robot.model.joints if joint.kind.name == "prismatic"]
    q[slides] = 0.0
    left = places(robot.model, q)
    columns = [places(robot.model, q + length * unit) - left for unit in np.eye(robot.nq)[slides]]
    moves = np.linalg.lstsq(np.array(columns).reshape(-1, len(left)).T, -left, rcond=1e-9)[0]
    q[slides] = length * moves
    good = np.abs(moves).max(initial=0.0) < 30.0 and np.abs(places(robot.model, q)).max() < 1e-12 * length
    return q if good else None


def random_mechanism(seed, length, spatial):
    """Return sliders and hinges, most of them without any lever, one or two pins (or balls), and where these close."""
    rng = np.random.default_rng(seed)

    def direction():
        way = rng.normal(size=3) * (1, 1, spatial)
        return way / np.linalg.norm(way)

    def offset():
        return tuple(rng.choice([0.0, 1e-16, 0.3], p=[0.5, 0.3, 0.2]) * length * direction())

    b = kt.Builder(f"random {seed}", gravity=5.0 * length * rng.normal(size=3) * (1, 1, spatial))
    names = ["base"]
    for i in range(rng.integers(3, 7)):
        solid = {"mass": rng.uniform(0.1, 2.0)}
        if rng.random() < 0.55:
            kind = kt.Prismatic(direction())
        else:
            ball = spatial and rng.random() < 0.4
            kind = kt.Spherical() if ball else kt.Revolute(direction() if spatial else "z")
            what = rng.choice(["body", "on a lever", "point"])
            if what == "body":
                solid["inertia"] = tuple(rng.uniform(0.04, 0.06, 3) * length**2)
            elif what == "on a lever":
                solid["com"] = tuple(0.2 * length * direction())
        b.body(f"body{i}", str(rng.choice(names)), kind, position=offset(), **solid)
        names.append(f"body{i}")
    moved, found, taken = rng.normal(size=3 * len(names)), None, []
    for k in range(30):
        first, second = (str(name) for name in rng.choice(names, 2, replace=False))
        if {first, second} in taken:
            continue
        lever = tuple(length * rng.uniform(0.2, 0.5) * direction()) if rng.random() < 0.7 else offset()
        pin = kt.Spherical() if spatial else kt.Revolute("z")
        more = copy.deepcopy(b).loop(f"pin{k}", first, second, pin, placement=lever, seat=offset())
        robot = more.build().with_backend("reference")
        q = closed(robot, moved, length)
        if q is not None:
            if found is not None:
                return robot, q
            b, found, taken = more, (robot, q), [{first, second}]
            if rng.random() < 0.5:
                break
    return found or random_mechanism(seed + 1000, length, spatial)  # nothing closes here


MASSLESS = 1e-12
"""Motions with less inertia than this, beside the bodies', are judged to have none."""


@pytest.mark.parametrize("spatial", [False, True], ids=["planar", "spatial"])
@pytest.mark.parametrize("seed", range(16))
def test_random_mechanisms(seed, spatial):
    found = [random_mechanism(seed, length, spatial) for length in SCALES]
    robot, q = found[1]
    rng = np.random.default_rng(seed)
    v, tau = robot.project(q, rng.normal(size=robot.nv))[1], rng.normal(size=robot.nv)
    wanted = maximal_coordinates.judged(robot, q, v, tau)
    turning = np.array([unit == "rad" for unit in robot.v_units])
    for length, (scaled, at) in zip(SCALES, found, strict=True):
        unit = np.where(turning, 1.0, length)
        assert scaled.mobility(at).freedoms == wanted.freedoms
        push = tau * length**2 / unit
        if wanted.inertia < MASSLESS:
            with pytest.raises(kt.SingularError, match="nothing has inertia"):
                scaled.forward_dynamics(at, v * unit, push)
        else:
            a = scaled.forward_dynamics(at, v * unit, push) / unit
            size = max(1.0, np.abs(wanted.accelerations).max())
            np.testing.assert_allclose(a, wanted.accelerations, rtol=0, atol=1e-8 * size)


@pytest.mark.parametrize("length", [1.0, 5e-3, 1e-3, 1e-5])
def test_a_rod_whose_ends_meet_as_drawn_has_any_length(length):
    """A trammel: where both ends are in one point the rod has no direction, and small gaps are no closed loop."""
    builder = kt.Builder("trammel")
    builder.body("across", "base", kt.Prismatic("x"), mass=1.3).body("along", "base", kt.Prismatic("y"), mass=0.7)
    builder.loop("rod", "across", "along", kt.Distance(length))
    found = builder.build().forward_dynamics([0.8 * length, 0.6 * length], [0.0, 0.0], [1.0, 0.0])
    assert np.allclose(found, 1.0 / (1.3 + 0.7 * (4 / 3) ** 2) * np.array([1.0, -4 / 3]), rtol=1e-9)
