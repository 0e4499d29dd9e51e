"""The sources' walking machines walk: distances, touchdown, angles, reactions, energy (Shah chapters 7, 9; Biped).

The numbers of the sources are read off figures or stated in words, and what they leave open
(foot widths, trunk inertias, the ground's delta_max) had to be chosen, so the comparison is
as loose as the words are.
"""

import re
from dataclasses import replace

import numpy as np
import pytest

import kinetree as kt
from helpers.walkers import WALKERS
from kinetree.motion.walking import center_of_pressure, gaits

pytestmark = pytest.mark.slow


def walk(walker, time, controller, samples=401, integrator="bdf"):
    q, v = walker.start()
    return kt.simulate(
        walker.robot.with_backend("compiled"), q, v, time=time, controller=controller, ground=walker.ground,
        integrator=integrator, rtol=1e-6, atol=1e-8, samples=samples, progress=False,
    )  # fmt: skip


def trunk(walker, record):
    """Forward position, height and angles of the trunk."""
    if walker.planar_base:
        return record.q[:, 2], record.q[:, 1], record.q[:, :1]
    return record.q[:, 3], record.q[:, 5], record.q[:, :3]


def vertical_forces(walker, record):
    """Upward force on every foot."""
    forces = np.asarray(record.contact_forces).reshape(len(record.time), -1, 3)
    return forces[..., 2].reshape(len(record.time), len(walker.walk.legs), -1).sum(axis=-1), forces


FACTS = {  # distance, angle in degrees, touchdown: stated; the book's total-energy error in joules
    "planar-biped": (0.3, 3.0, 0.83, 8.48e-4),  # Shah section 7.2.1, appendix C.3
    "spatial-biped": (0.3, 2.0, None, 3.6e-3),  # Shah section 7.2.2, appendix C.3
    "quadruped": (0.3, 2.0, 0.8, 6.28e-5),  # Shah section 7.3, appendix C.3
    "hexapod": (0.4, 0.3, 0.45, 3.31e-2),  # Shah section 7.4, appendix C.3
}


@pytest.mark.parametrize("name", FACTS)
def test_one_step_under_computed_torque(name):
    distance, angle, touchdown, energy = FACTS[name]
    walker = WALKERS[name]()
    gait = walker.walk.gait
    record = walk(walker, gait.period, walker.computed_torque())
    x, z, angles = trunk(walker, record)
    assert x[-1] - x[0] == pytest.approx(distance, rel=0.12)
    assert np.ptp(z) < 0.03
    assert np.degrees(np.abs(angles)).max() < angle + 0.3
    per_foot, forces = vertical_forces(walker, record)
    assert forces[..., 2].min() >= 0.0  # the ground never pulls
    swinging = [k for k, leg in enumerate(walker.walk.legs) if leg.group == 1]
    late = record.time > 0.3 * gait.period
    landed = [record.time[np.argmax((per_foot[:, k] > 1e-3) & late)] for k in swinging]
    if touchdown is not None:
        assert min(landed) == pytest.approx(touchdown, abs=0.04)
    assert np.ptp(record.energy.total) < energy
    robot = walker.robot
    balance = robot.momentum_rate(record.q, record.v, record.a)[:, 3:] - robot.mass * robot.gravity
    np.testing.assert_allclose(forces.sum(axis=1), balance, rtol=1e-7, atol=1e-6)  # Newton, for the whole machine
    n = walker.robot.nv - walker.walk.n
    np.testing.assert_allclose(record.q[:, n:], walker.walk(record.time)[0], atol=1e-4)  # the error starts at zero


@pytest.mark.parametrize(
    ("name", "time", "integrator"), [("planar-biped", 4.0, "bdf"), ("quadruped", 2.0, "bdf"), ("hexapod", 2.0, "radau")]
)
def test_feedforward_walks_on(name, time, integrator):
    """Shah section 9.3: without falling, forward, joints following; also through hundreds of Jacobians."""
    walker = WALKERS[name]()
    record = walk(walker, time, walker.feedforward(), 101, integrator)
    x, z, angles = trunk(walker, record)
    steps = time / walker.walk.gait.period
    assert x[-1] - x[0] == pytest.approx(steps * walker.walk.gait.stride, rel=0.12)
    assert np.ptp(z) < 0.04
    assert np.degrees(np.abs(angles)).max() < 5.0
    n = walker.robot.nv - walker.walk.n
    np.testing.assert_allclose(record.q[:, n:], walker.walk(record.time)[0], atol=5e-3)


def test_the_biped_of_003_walks_four_seconds_with_its_gains():
    walker = WALKERS["unified-biped"]()
    record = walk(walker, 4.0, walker.feedforward(), 201)
    x, z, angles = trunk(walker, record)
    assert x[-1] - x[0] > 0.7  # 0.8 m if no foot slid
    assert np.all((z > 1.15) & (z < 1.26))
    assert np.degrees(np.abs(angles)).max() < 12.0  # "slight variation", Biped fig. 7
    assert np.ptp(record.energy.total) < 1e-3
    assert vertical_forces(walker, record)[1][..., 2].min() >= 0.0


def test_center_of_pressure_of_two_forces():
    points = [[0.1, 0.0, 0.0], [-0.1, 0.2, -0.01]]
    forces = [[0.0, 0.0, 30.0], [5.0, 0.0, 10.0]]
    # moments about the point at height 0: the second force also acts 1 cm below it
    x = (0.1 * 30 - 0.1 * 10 + 0.01 * 5.0) / 40
    assert np.allclose(center_of_pressure(points, forces), [x, 0.2 * 10 / 40, 0.0], atol=1e-15)
    assert np.isnan(center_of_pressure(points, np.zeros((2, 3)))).all()
    with pytest.raises(kt.ShapeError, match="shape"):
        center_of_pressure([0.0, 0.0], forces)


# ------------------------------------------------------------------ whether a robot's feet go where the walk means


def two_legs(hip, knee, ankle, thigh=0.5):
    b = kt.Builder("two legs").body("trunk", "base", kt.Planar("y"), mass=5, inertia=(0.1, 0.1, 0.1), actuated=False)
    for side in "lr":
        b.body(f"{side}_thigh", "trunk", kt.Revolute(hip), mass=1)
        b.body(f"{side}_shank", f"{side}_thigh", kt.Revolute(knee), position=(0, 0, -thigh), mass=1)
        b.body(f"{side}_foot", f"{side}_shank", kt.Revolute(ankle), position=(0, 0, -0.5), mass=0.3)
    return b.build()


def test_a_walk_that_goes_backwards_is_refused_with_the_signs_that_fit():
    walk = kt.walking.biped(kt.walking.PLANAR_BIPED, 0.5, 0.5)
    walk.check(two_legs("-y", "y", "-y"))
    with pytest.raises(kt.OptionError, match=r"leg 0 .* coordinates=\('-hip', 'knee', '-ankle'\) fits"):
        walk.check(two_legs("y", "y", "y"))
    fitted = kt.walking.biped(kt.walking.PLANAR_BIPED, 0.5, 0.5, coordinates=("-hip", "knee", "-ankle"))
    fitted.check(two_legs("y", "y", "y"))
    with pytest.raises(kt.OptionError, match=r"would walk backwards or fall"):
        kt.simulate_prescribed(two_legs("y", "y", "y"), walk, time=0.1)
    with pytest.raises(kt.OptionError, match=r"thigh and shank 0.5 and 0.5 m long"):
        walk.check(two_legs("-y", "y", "-y", thigh=0.3))
    with pytest.raises(kt.OptionError, match="the walk moves 6 coordinates"):
        walk.check(kt.load("kuka-kr5"), ["joint_1"])


@pytest.mark.parametrize("name", ["quadruped", "hexapod", "spatial-biped"])
def test_what_fits_is_found_for_hips_of_several_freedoms_and_feet_that_are_points(name):
    machine = WALKERS[name]()
    legs = machine.walk.legs
    machine.walk.check(machine.robot)
    share = len(legs[0].coordinates)
    places = machine.robot.nq - machine.walk.n + np.arange(share)
    assert gaits.leg_coordinates(machine.robot, places) == tuple(legs[0].coordinates)  # what its system.py says by hand
    turned = [replace(leg, coordinates=[f"-{c}".replace("--", "") for c in leg.coordinates]) for leg in legs]
    fits = re.escape(f"coordinates={tuple(legs[0].coordinates)!r} fits")
    with pytest.raises(kt.OptionError, match=fits):
        gaits.Walk(machine.walk.gait, turned).check(machine.robot)
    fewer = gaits.Walk(machine.walk.gait, [replace(leg, coordinates=["hip"]) for leg in legs])
    with pytest.raises(kt.OptionError, match=fits):
        kt.simulate_prescribed(machine.robot, fewer, time=0.1)
