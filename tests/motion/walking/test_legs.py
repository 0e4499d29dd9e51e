"""Legs and walking: the sources' numbers, derivatives, periodicity, feet in the world, zero moment point."""

import math

import numpy as np
import pytest

import kinetree as kt
from helpers.robots import random_state, random_tree
from helpers.walkers import WALKERS, planar_biped, spatial_biped
from kinetree.engine.kernels.kernel import Kernel
from kinetree.engine.trace import trace
from kinetree.errors import OptionError, SingularError, UnknownNameError, UnreachableError
from kinetree.motion.walking import gaits, legs
from kinetree.motion.walking.zero_moment_point import support_margin, zero_moment_point

GAITS = {
    "planar": legs.PLANAR_BIPED,
    "spatial": legs.SPATIAL_BIPED,
    "quadruped": legs.QUADRUPED,
    "hexapod": legs.HEXAPOD,
    "unified": legs.UNIFIED_BIPED,
}


@pytest.mark.parametrize(
    ("name", "frequency", "forward", "aside", "speed"),
    [
        ("planar", 3.196678, 0.520395, 0.0, 0.3),
        ("spatial", 3.265432, 0.727719, 0.175832, 0.6),
        ("quadruped", 4.429447, 0.680449, 0.0, 0.3),
        ("hexapod", 4.223312, 1.077291, 0.0, 0.8),
    ],
)
def test_pendulum_numbers_of_the_notes(name, frequency, forward, aside, speed):
    gait = GAITS[name]
    np.testing.assert_allclose(gait.frequency, frequency, atol=1e-6)
    np.testing.assert_allclose(gait.initial_speed, (forward, aside), atol=1e-6)
    assert gait.speed == pytest.approx(speed)


@pytest.mark.parametrize("gait", GAITS.values(), ids=GAITS)
def test_hip_is_the_inverted_pendulum(gait):
    s = np.linspace(0.0, gait.period, 11)
    x, y = gait.hip(s)
    w, (vx, vy) = gait.frequency, gait.initial_speed
    np.testing.assert_allclose(x, gait.start * np.cosh(w * s) + vx / w * np.sinh(w * s), atol=1e-13)  # eq. B.7
    np.testing.assert_allclose(y, gait.side * np.cosh(w * s) - vy / w * np.sinh(w * s), atol=1e-13)
    np.testing.assert_allclose(legs.inverted_pendulum(gait.start, vx, w, s, gait.period), x, atol=1e-13)
    np.testing.assert_allclose([x[0], y[0]], [-x[-1], y[-1]], atol=1e-14)  # eq. B.8
    np.testing.assert_allclose(y[5], gait.side / np.cosh(w * gait.period / 2), atol=1e-15)


def test_middle_of_the_spatial_step():
    assert legs.SPATIAL_BIPED.hip(0.25)[1] == pytest.approx(0.059165, abs=1e-6)  # notes 4.B


def test_series_are_exact():
    for reach in (0.01, 0.8, 2.3, 6.0):
        u = np.linspace(-reach, reach, 101)
        np.testing.assert_allclose(legs.cosh(u, reach), np.cosh(u), rtol=1e-15)
        np.testing.assert_allclose(legs.sinh(u, reach), np.sinh(u), rtol=4e-16, atol=0)


def test_leg_angles_of_the_planar_biped():
    walk = planar_biped().walk
    expected = {  # computed from the formulas of Shah appendix B: support, then swing
        0.0: [0.393689, 0.477384, 0.083695, 0.083695, 0.477384, 0.393689],
        0.25: [0.336263, 0.555766, 0.219503, 0.224463, 0.788533, 0.564070],
        0.5: [0.283794, 0.567588, 0.283794, 0.535527, 1.071053, 0.535527],
    }
    for t, angles in expected.items():
        np.testing.assert_allclose(walk(t)[0], angles, atol=1e-6)
        hip, knee, ankle, hip2, knee2, ankle2 = angles
        mirrored = [ankle, knee, hip, ankle2, knee2, hip2]  # about the middle of the step
        np.testing.assert_allclose(walk(1.0 - t)[0], mirrored, atol=1e-6)
    found = legs.leg_angles(-0.15, 0.0, 0.92, 0.5, 0.5)
    np.testing.assert_allclose(found, [0.0, 0.532117, 0.740991, 0.208874], atol=1e-6)


def test_leg_angles_close_the_leg():
    rng = np.random.default_rng(0)
    x, y, z = rng.uniform(-0.3, 0.3, 50), rng.uniform(-0.2, 0.2, 50), rng.uniform(0.1, 0.7, 50)
    roll, hip, knee, ankle = legs.leg_angles(x, y, z, 0.5, 0.4)
    down = 0.5 * np.cos(hip) + 0.4 * np.cos(hip - knee)
    np.testing.assert_allclose(0.5 * np.sin(hip) + 0.4 * np.sin(hip - knee), -x, atol=1e-12)
    np.testing.assert_allclose(np.stack([down * np.sin(roll), down * np.cos(roll)]), [y, z], atol=1e-12)
    np.testing.assert_allclose(hip - knee + ankle, 0.0, atol=1e-14)
    assert np.all(knee > 0)
    with np.errstate(invalid="ignore"):
        assert np.isnan(legs.leg_angles(1.0, 0.0, 1.0, 0.5, 0.5)[1])


@pytest.mark.parametrize("name", WALKERS)
def test_walks_are_periodic_smooth_and_have_exact_derivatives(name):
    walk = WALKERS[name]().walk
    period, h = walk.gait.period, 1e-5
    t = np.random.default_rng(1).uniform(0.01, 0.99, 20) * period
    q, v, a = walk(t)
    np.testing.assert_allclose(walk(t + 6 * period)[0], q, atol=1e-12)
    before, after = walk(t - h), walk(t + h)
    np.testing.assert_allclose((after[0] - before[0]) / (2 * h), v, atol=1e-6)
    np.testing.assert_allclose((after[1] - before[1]) / (2 * h), a, atol=1e-5)
    for k in (1, 2, 7):  # angles and rates run on through the exchange of legs
        early, late = walk(k * period - 1e-9), walk(k * period + 1e-9)
        np.testing.assert_allclose(late[0], early[0], atol=1e-7)
        np.testing.assert_allclose(late[1], early[1], atol=1e-5)
    swapped = walk(t + period)[0]  # what one group does now the other did a step ago
    one = next(k for k, leg in enumerate(walk.legs) if leg.group == 0)
    two = next(k for k, leg in enumerate(walk.legs) if leg.group == 1 and leg.hip[1] == -walk.legs[one].hip[1])
    n = len(walk.legs[0].coordinates)
    mirror = np.array([-1.0 if "roll" in c else 1.0 for c in walk.legs[0].coordinates])
    if not walk.gait.side:
        mirror = 1.0
    np.testing.assert_allclose(swapped[:, two * n : two * n + n], mirror * q[:, one * n : one * n + n], atol=1e-12)


@pytest.mark.parametrize("name", WALKERS)
def test_feet_of_the_robot_stand_and_swing_as_they_should(name):
    walker = WALKERS[name]()
    robot, walk, gait = walker.robot, walker.walk, walker.walk.gait
    trunk = walk.trunk(walker.trunk_above_hip)
    frames = list(dict.fromkeys(spot.frame for spot in walker.spots))
    first = 3 if walker.planar_base else 6
    seen = []
    for t in np.linspace(0.0, 2.0, 41) * gait.period:
        place, speed, _ = trunk(t)
        angles, rates, _ = walk(t)
        base, moving = place, speed
        if walker.planar_base:
            base, moving = place[[2, 0]], speed[[2, 0]]
        q = np.r_[np.zeros(first - len(base)), base, angles]
        v = np.r_[np.zeros(first - len(base)), moving, rates]
        poses = np.array([robot.pose(q, frame) for frame in frames])
        np.testing.assert_allclose(poses[:, :3, 3], walk.feet(t), atol=1e-12)
        if name.endswith("biped"):
            np.testing.assert_allclose(poses[:, :3, :3], np.eye(3)[None].repeat(2, 0), atol=1e-12)  # level
        support = [k for k, leg in enumerate(walk.legs) if leg.group == math.floor(t / gait.period + 1e-9) % 2]
        velocity = np.array([robot.point_velocity(q, v, frames[k]) for k in support])
        np.testing.assert_allclose(velocity, 0.0, atol=1e-9)
        np.testing.assert_allclose(poses[support, 2, 3], 0.0, atol=1e-12)
        assert poses[:, 2, 3].min() > -1e-12
        seen.append(poses[:, :3, 3])
    track = np.array(seen)
    assert track[..., 2].max() == pytest.approx(gait.foot_height, abs=1e-9)
    np.testing.assert_allclose(track[-1] - track[0], [[2 * gait.stride, 0, 0]] * len(frames), atol=1e-9)
    np.testing.assert_allclose(trunk(gait.period)[0][0] - trunk(0.0)[0][0], gait.stride, atol=1e-12)


def test_distances_of_the_sources():
    """0.3 m in 1 s, 0.3 m in 0.5 s, 0.3 m in 1 s, 0.4 m in 0.5 s (Shah sections 7.2.1, 7.2.2, 7.3, 7.4)."""
    traveled = {"planar-biped": (1.0, 0.3), "spatial-biped": (0.5, 0.3), "quadruped": (1.0, 0.3), "hexapod": (0.5, 0.4)}
    for name, (time, distance) in traveled.items():
        path = WALKERS[name]().walk.trunk()
        np.testing.assert_allclose(path(time)[0][0] - path(0.0)[0][0], distance, atol=1e-12)


@pytest.mark.parametrize("name", ["planar-biped", "spatial-biped"])
def test_machine_code_says_the_same(name):
    walk = WALKERS[name]().walk

    def compute(t):
        return [x for part in (*walk.at(t[0]), *walk.trunk().at(t[0])) for x in part]

    n = 3 * (walk.n + 3)
    kernel = Kernel(name, lambda: trace(compute, (1,), lambda x: x), (1,), (n,), None)
    times = np.linspace(0.013, 7.6, 57)
    expected = np.concatenate([*walk(times), *walk.trunk()(times)], axis=-1)
    np.testing.assert_allclose(kernel(times[:, None]), expected, rtol=1e-9, atol=1e-10)


def test_walkers_are_what_the_sources_describe():
    sizes = {"planar-biped": (7, 12), "spatial-biped": (7, 18), "quadruped": (9, 18), "hexapod": (13, 18)}
    masses = {"planar-biped": 9.4, "spatial-biped": 9.4, "quadruped": 12.0, "hexapod": 16.0, "unified-biped": 9.4}
    spots = {"planar-biped": 4, "spatial-biped": 8, "quadruped": 4, "hexapod": 6, "unified-biped": 4}
    for name, make in WALKERS.items():
        walker = make()
        links, freedoms = sizes.get(name, (7, 9))
        assert (len(walker.robot.body_names), walker.robot.nv) == (links, freedoms)
        assert walker.robot.mass == pytest.approx(masses[name])
        assert len(walker.spots) == spots[name]
        q, v = walker.start()
        assert q.shape == v.shape == (freedoms,)
        for controller in (walker.computed_torque(), walker.feedforward()):
            begin = freedoms - walker.walk.n
            assert not controller(walker.robot, 0.0, q, v)[:begin].any()  # nothing drives the base
        assert np.isfinite(walker.ground.loads(walker.robot.model, 0.0, list(q), list(v), [])[0][-1].force.z)


def test_zero_moment_point_has_no_horizontal_moment():
    """The sum of the moments of gravity and inertia forces, body by body, judges."""
    rng = np.random.default_rng(7)
    for _ in range(4):
        robot = random_tree(rng, 5, floating=True, gravity=(0.0, 0.0, -9.81))
        q, v, a = random_state(robot, rng)
        height = 0.3
        point = zero_moment_point(robot, q, v, a, height)
        if np.isnan(point).any():
            continue
        assert point[2] == pytest.approx(height)
        total = np.zeros(3)
        step = 1e-6
        for name in robot.body_names:
            mass = robot.body(name).mass_properties
            com = np.asarray(mass.com)
            here = robot.point_position(q, name, com)
            inertial = robot.point_acceleration(q, v, a, name, com) - robot.gravity
            spin = []
            for s in (-step, step):  # angular momentum about the body's own center, by differences
                moved = robot.integrate(q, s * v + 0.5 * s * s * a)
                rate = robot.velocity(moved, v + s * a, name, "aligned")[:3]
                turn = robot.pose(moved, name)[:3, :3]
                spin.append(turn @ mass.inertia_matrix @ turn.T @ rate)
            total += np.cross(here - point, mass.mass * inertial) + (spin[1] - spin[0]) / (2 * step)
        np.testing.assert_allclose(total[:2], 0.0, atol=2e-5)


def test_zero_moment_point_of_the_sources_formula():
    """Shah eq. B.1 in the plane, with the sign of its inertia term; and of a pendulum, its foot."""
    walker = planar_biped()
    robot = walker.robot
    rng = np.random.default_rng(1)
    q, v = walker.start()
    a = np.r_[0.7, 0, 0, 0.4, 0, 0.5, rng.uniform(-2, 2, 6)]
    top, bottom = 0.0, 0.0
    for name in robot.body_names:
        mass = robot.body(name).mass_properties
        x, _, z = robot.point_position(q, name, mass.com)
        ax, _, az = robot.point_acceleration(q, v, a, name, mass.com)
        spin = robot.acceleration(q, v, a, name, "aligned")[1]
        top += mass.mass * (az + 9.81) * x - mass.mass * ax * z - mass.inertia_matrix[1, 1] * spin
        bottom += mass.mass * (az + 9.81)
    np.testing.assert_allclose(zero_moment_point(robot, q, v, a)[:2], [top / bottom, 0.0], atol=1e-10)
    builder = kt.Builder("mass").body("m", "base", kt.Translation(), mass=3.0)
    gait = legs.PLANAR_BIPED
    s = np.linspace(0, 1, 5)
    x = gait.hip(s)[0]
    place = np.stack([x, 0 * x, 0 * x + gait.height], -1)
    pull = np.stack([gait.frequency**2 * x, 0 * x, 0 * x], -1)
    point = zero_moment_point(builder.build(), place, 0 * place, pull)
    np.testing.assert_allclose(point, 0.0, atol=1e-12)  # that is what B.4 says


def test_zero_moment_point_in_the_air_and_without_gravity():
    robot = kt.Builder("mass").body("m", "base", kt.Translation(), mass=3.0).build()
    assert np.isnan(zero_moment_point(robot, np.zeros(3), np.zeros(3), [0, 0, -9.81])).all()
    assert np.isnan(zero_moment_point(robot, np.zeros(3), np.zeros(3), [0, 0, -20.0])).all()
    with pytest.raises(SingularError, match="gravity"):
        zero_moment_point(robot.with_gravity((0, 0, 0)), np.zeros(3), np.zeros(3), np.zeros(3))


def test_support_margin():
    square = [[0, 0], [2, 0], [2, 1], [0, 1], [1, 0.5]]
    np.testing.assert_allclose(support_margin([[1, 0.5], [0.1, 0.5], [3, 0.5]], square), [0.5, 0.1, -1.0])
    with pytest.raises(OptionError, match="area"):
        support_margin([0, 0], [[0, 0], [1, 1]])
    walk = spatial_biped().walk
    feet = walk.feet(0.0)
    corners = [np.add(foot, [dx, dy, 0]) for foot in feet for dx in (-0.075, 0.075) for dy in (-0.04, 0.04)]
    assert support_margin(walk.trunk()(0.0)[0], corners) > 0.03  # between both feet


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: legs.Gait(1.0, -0.15, 0.96, 0.4, 0.1), OptionError, "stride = -2 start"),
        (lambda: legs.Gait(0.0, -0.15, 0.96, 0.3, 0.1), OptionError, "period"),
        (lambda: legs.Gait(1.0, -0.15, 0.96, 0.3, 0.1, side=-0.1), OptionError, "side"),
        (lambda: gaits.biped(legs.PLANAR_BIPED, 0.4, 0.4), UnreachableError, "leg 0 is 0.8 m long"),
        (lambda: gaits.Leg(1, 1, 0, coordinates=("hipp",)), UnknownNameError, "hip"),
        (lambda: gaits.Leg(1, 1, 2), OptionError, "group"),
        (lambda: gaits.trot(legs.QUADRUPED, 0.3, 0.3, [(0, 0)]), OptionError, "4 hips"),
        (lambda: gaits.tripod(legs.HEXAPOD, 0.3, 0.3, [(0, 0)]), OptionError, "6 hips"),
    ],
)
def test_bad_gaits_are_refused(make, error, message):
    with pytest.raises(error, match=message):
        make()
