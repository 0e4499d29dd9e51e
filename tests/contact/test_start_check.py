"""Starts inside compliant ground: told when they throw the robot out, and not otherwise."""

from __future__ import annotations

import numpy as np
import pytest

import kinetree as kt
from kinetree.contact.ground import Dusty, Firm, Ground, HuntCrossley, Plane, PseudoCoulomb
from kinetree.contact.start_check import find_sunken

MASS, G = 4.5, 9.81


def hopper(kind=None, **options) -> kt.Robot:
    b = kt.Builder("hopper", **options)
    b.body("trunk", "base", kind or kt.Free(), joint_name="root", mass=4.0, inertia=(0.1, 0.1, 0.05))
    b.body("leg", "trunk", kt.Prismatic("z"), mass=0.5, inertia=(0.01, 0.01, 0.001))
    return b.frame("foot", "leg", position=(0, 0, -0.5)).frame("heel", "leg", position=(0.1, 0, -0.3)).build()


def ground(*frames, stiffness=1e5, surface=None):
    return Ground(frames or ("foot", "heel"), HuntCrossley(stiffness, 0.5), surface=surface or Plane())


def test_the_height_is_that_of_the_energy_balance():
    """What the ground stores by the closed form, and without losses gives back in the simulation."""
    robot = hopper()
    with pytest.warns(kt.ContactWarning, match=r"frame 'foot' starts 0.5 m inside the ground") as told:
        record = kt.simulate(
            robot, time=0.05, ground=Ground(["foot"], HuntCrossley(1e5, 0.0), friction=None),
        )  # fmt: skip
    found = find_sunken(robot, [ground("foot")], robot.neutral())
    assert found.height == pytest.approx(1e5 * 0.5**2.5 / 2.5 / (MASS * G))
    assert f"{found.height:.3g} m high" in str(told[0].message)
    assert record.energy.ground[-1] == pytest.approx(found.height * MASS * G, rel=1e-4)


@pytest.mark.parametrize("kind", [kt.Free(), kt.EulerFree("XYZ"), kt.Prismatic("z")], ids=lambda k: k.name)
@pytest.mark.parametrize("slope", [0.0, 0.3])
def test_the_advice_lifts_it_out(kind, slope):
    robot, on = hopper(kind), ground(surface=Plane.inclined(slope, point=(0.0, 0.0, 0.2)))
    found = find_sunken(robot, [on], robot.neutral())
    name, place, value = found.lift
    assert robot.q_names[place] == name
    q = robot.neutral()
    q[place] = value
    gaps = [float(t.gap) for t in on.touches(robot.model, q.tolist(), [0.0] * robot.nv)]
    assert -1e-12 < min(gaps) < 2e-3
    assert find_sunken(robot, [on], q) is None
    assert f"{name} (q0[{place}]) at {value:g}" in str(found.warning())


def test_no_advice_where_the_base_cannot_be_lifted():
    robot = hopper(kt.Revolute("y"))
    assert find_sunken(robot, [ground()], robot.neutral()).lift is None
    with pytest.warns(kt.ContactWarning, match="start from a q0 above the ground"):
        kt.simulate(robot, time=0.001, ground=ground())


def test_a_mechanism_is_lifted_with_its_loops_closed():
    """Where loops are in the leg the base can be lifted, where they go through the ground it cannot."""

    def made(host):
        b = kt.Builder("legs").body("trunk", "base", kt.Free(), joint_name="root", mass=4.0, inertia=(0.1, 0.1, 0.05))
        for name, x in (("left", 0.0), ("right", 0.2)):
            b.body(name, "trunk", kt.Revolute("y"), position=(x, 0, 0), mass=0.5, com=(0, 0, -0.2), actuated=False)
        place = (0, 0, -0.4)
        b.loop("rod", "left", host, kt.Distance(0.2 if host == "right" else 0.4), placement=place,
               seat=place if host == "right" else (0.0, 0.0, 0.0))  # fmt: skip
        return b.frame("foot", "left", position=(0, 0, -0.4)).build()

    robot = made("right")
    name, place, value = find_sunken(robot, [ground("foot")], robot.neutral()).lift
    assert (name, value) == (robot.q_names[place], pytest.approx(0.4))
    robot = made("base")
    assert find_sunken(robot, [ground("foot")], robot.neutral()).lift is None


def test_of_a_batch_the_worst_is_told():
    robot = hopper()
    q = np.repeat(robot.neutral()[None], 4, axis=0)
    q[:, 6] = [1.0, -0.1, np.nan, 0.0]
    found = find_sunken(robot, [ground()], q)
    assert found.what.startswith("frame 'foot'")
    assert found.depth == pytest.approx(0.6)
    assert find_sunken(robot, [ground()], q[[0, 2]]) is None
    soft = ground(stiffness=np.array([1e5, 1.0]))
    assert find_sunken(robot, [soft], q[[0, 3]]) is None
    assert find_sunken(robot, [soft], q[[3, 0]]).depth == pytest.approx(0.5)


@pytest.mark.parametrize(
    "law", [Firm.overdamped(2500.0, 10.0, MASS), Dusty.overdamped(2500.0, 10.0, MASS), HuntCrossley(1e5, 0.5)]
)
def test_where_it_rests_is_nothing_to_tell(law):
    """Sunk in by its own weight and ten times that; pytest makes warnings errors."""
    robot = hopper()
    rest = next(d for d in np.linspace(0.0, 0.5, 5001) if law.force(d, 0.0) >= MASS * G)
    for times in (1.0, 3.0, 10.0):
        q = robot.neutral()
        q[6] = 0.5 - times * rest
        on = Ground(["foot"], law, PseudoCoulomb())
        assert find_sunken(robot, [on], q) is None or times * rest > 0.1
    q[6] = 0.5 - rest
    kt.simulate(robot, q, time=0.001, ground=on, integrator="rk4", step=1e-4)


def test_nothing_to_tell_without_ground_or_weight():
    robot = hopper()
    assert find_sunken(robot, [], robot.neutral()) is None
    assert find_sunken(robot, [kt.forces.JointStops()], robot.neutral()) is None
    floating = hopper(gravity=(0, 0, 0))
    assert find_sunken(floating, [ground()], floating.neutral()).height == pytest.approx(
        find_sunken(robot, [ground()], robot.neutral()).height
    )
