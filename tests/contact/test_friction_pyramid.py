"""Friction pyramids at rest and sliding: one law, so that nothing lets go which sliding friction would hold."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

import kinetree as kt
from kinetree.contact.rigid_contacts import RigidContacts, contacts_at
from kinetree.contact.rigid_friction import CREEP, direction_of_sliding, nearest_in_polygon, polygon_reach
from kinetree.contact.surfaces import Spot
from kinetree.simulation.rigid_run import simulate_rigid

G, MU, MASS = 9.81, 0.3, 2.0
LIMIT = MU * MASS * G
LEVEL = [0, 0, 0, 1, 0, 0, 0]


def plate(sides, shape="pyramid"):
    """Its center of mass lies in the plane of its four spots."""
    builder = kt.Builder("plate").body("plate", "base", kt.Free(), actuated=True, mass=MASS, inertia=(0.03, 0.04, 0.05))
    robot = builder.build().with_backend("compiled")
    spots = [Spot("plate", (x, y, 0.0)) for x in (-0.2, 0.2) for y in (-0.15, 0.15)]
    return robot, RigidContacts(robot, contacts_at(spots, friction=MU), shape=shape, sides=sides)


def pushed(sides, force, v0=None, end=0.1, shape="pyramid", samples=6):
    robot, rigid = plate(sides, shape)

    def push(t, q, v):
        return np.array([0, 0, 0, force[0], force[1], 0])

    return simulate_rigid(robot, rigid, LEVEL, v0, time=end, controller=push, samples=samples)


def corners(sides):
    angles = 2 * np.pi * np.arange(sides) / sides
    return np.column_stack([np.cos(angles), np.sin(angles)])


@pytest.mark.parametrize("sides", [4, 6, 10])
def test_polygons_against_all_their_sides(sides):
    rng, places = np.random.default_rng(sides), corners(sides)
    for _ in range(50):
        outside = rng.normal(size=2)
        outside *= rng.uniform(1.0, 4.0) / np.linalg.norm(outside)
        # the reach is the largest of what the sides' normals say, the nearest point the best of all sides
        normals = (places + np.roll(places, -1, axis=0)) / 2
        apothem = math.cos(math.pi / sides)
        assert polygon_reach(outside, sides) == pytest.approx(np.max(normals @ outside) / apothem**2, rel=1e-12)
        ways = []
        for a, b in zip(places, np.roll(places, -1, axis=0), strict=True):
            best = minimize_scalar(
                lambda s, a=a, b=b, c=outside: np.sum((a + s * (b - a) - c) ** 2), bounds=(0, 1), method="bounded"
            )
            ways.append(best.fun)
        point, slope = nearest_in_polygon(outside, sides)
        assert np.sum((point - outside) ** 2) == pytest.approx(min(ways), abs=1e-4)
        assert polygon_reach(point, sides) == pytest.approx(1.0, abs=1e-12)
        step = 1e-6
        numeric = [
            (nearest_in_polygon(outside + step * e, sides)[0] - nearest_in_polygon(outside - step * e, sides)[0])
            / (2 * step)
            for e in np.eye(2)
        ]
        assert np.allclose(slope, np.transpose(numeric), atol=1e-6)


@pytest.mark.parametrize("sides", [4, 8])
def test_sliding_friction_takes_the_most_power_that_the_pyramid_allows(sides):
    rng = np.random.default_rng(0)
    for _ in range(100):
        velocity = rng.normal(size=2) * 10 ** rng.uniform(-4, 1)
        point, _ = direction_of_sliding(velocity, velocity / np.linalg.norm(velocity), sides)
        most = np.max(corners(sides) @ velocity)
        assert most - CREEP <= point @ velocity <= most + 1e-12


@pytest.mark.parametrize("part", [0.70, 0.72, 0.85, 0.99, 1.2])
def test_pushed_along_the_diagonal(part):
    """A square pyramid holds mu m g / sqrt 2 there, at rest as when sliding; it used to be refused up to mu m g."""
    record = pushed(4, LIMIT * part * np.sqrt([0.5, 0.5]))
    expected = max(0.0, part - math.sqrt(0.5)) * MU * G * math.sqrt(0.5)
    assert np.allclose(record.v[:, 3:5], expected * record.time[:, None], rtol=0, atol=1e-9)
    assert record.info["steps"] < 40
    assert np.all(np.diff(record.energy.ground) < 1e-12)


@pytest.mark.parametrize("angle", [0.1, 0.3, 0.7, 2.0])
def test_a_push_is_answered_by_a_corner_or_a_side(angle):
    """The acceleration of least size that a friction within the square allows (it is the push minus its projection)."""
    push = 1.3 * np.array([math.cos(angle), math.sin(angle)])
    nearest, _ = nearest_in_polygon(push, 4)  # with an inertia that is the same in all directions
    record = pushed(4, LIMIT * push)
    assert np.allclose(record.v[-1, 3:5], 0.1 * MU * G * (push - nearest), rtol=0, atol=2e-6)
    forces = record.contact_forces[-1].sum(axis=0)
    assert polygon_reach(forces[:2], 4) == pytest.approx(MU * forces[2], rel=1e-9)


def test_thrown_it_slows_along_one_corner_then_along_a_side():
    """Corner first: the larger speed falls by mu g until both are equal, then both by mu g / 2."""
    fast, slow = 1.0, 0.3
    record = pushed(4, (0.0, 0.0), [0, 0, 0, fast, slow, 0], end=0.6)
    even, rest = (fast - slow) / (MU * G), slow / (0.5 * MU * G)
    x = (fast**2 - slow**2) / (2 * MU * G) + 0.5 * slow * rest
    y = slow * even + 0.5 * slow * rest
    assert np.allclose(record.q[-1, 4:6], (x, y), rtol=0, atol=1e-7)
    stopped = [e.time for e in record.events if e.name.startswith("sticking")]
    assert stopped == pytest.approx([even + rest] * 4, abs=1e-6)
    assert np.abs(record.v[-1]).max() < 1e-11
    assert record.energy.relative_error < 1e-9
    assert record.info["steps"] < 80


def test_a_push_that_grows_lets_go_at_the_pyramids_limit():
    """At rest the limit is the pyramid's between the events, too: a diagonal push 4 t slips at mu m g / sqrt 2 / 4."""
    robot, rigid = plate(4)

    def push(t, q, v):
        return np.array([0, 0, 0, 4.0 * t * math.sqrt(0.5), 4.0 * t * math.sqrt(0.5), 0])

    record = simulate_rigid(robot, rigid, LEVEL, time=1.2, controller=push, samples=13)
    slips = [e.time for e in record.events if e.name.startswith("sliding")]
    assert slips == pytest.approx([LIMIT * math.sqrt(0.5) / 4.0] * 4, abs=2e-6)


def test_many_sides_come_to_the_cone():
    """A body that slides and turns: the more sides, the less difference."""
    start = [0, 0, 1.5, 0.3, 0.1, 0]
    round_ = pushed(4, (0.0, 0.0), start, end=0.05, shape="cone", samples=2).v[-1]
    off = [np.max(np.abs(pushed(n, (0.0, 0.0), start, end=0.05, samples=2).v[-1] - round_)) for n in (4, 16)]
    assert off[1] < 0.15 * off[0]
    assert 1e-6 < off[0] < 0.2
