"""Standard deviations that mean what they say: 200 repetitions with noise, as one batch."""

import numpy as np
import pytest

import kinetree as kt
from helpers.coupled_robots import closed_motion, driven, forces, sums
from helpers.measured_motions import fourier
from kinetree.identification.closed_motion import follow, motions_of
from kinetree.identification.equations import Prepared
from kinetree.identification.estimators.least_squares import estimate
from kinetree.identification.identifiable import Structure

REPETITIONS = 200


def judge(robot, data, noises):
    """Identify from every repetition, and count how often the truth is where it should be.

    Parameters
    ----------
    robot : Robot
        The truth.
    data : Measured
        Without noise.
    noises : function
        Of the motion's positions and a random generator: noise of the joint forces.
    """
    (motion,), band, _ = motions_of(robot, data)
    prepared = Prepared(robot, [motion], band)
    names = tuple(n for n in prepared.inertial if not n.endswith("rotor_inertia"))
    groups = Structure(robot, motion.q).groups(names)
    table = robot.parameters()
    truth = groups.matrix @ np.array([table[name] for name in names])
    equations = prepared.equations.only(groups.independent)
    assert np.allclose(equations.y @ truth, equations.tau, atol=1e-4 * np.abs(equations.tau).max())
    rng, reduction, window = np.random.default_rng(7), prepared.reductions[0], prepared.decimations[0]
    samples = []
    for _ in range(REPETITIONS):
        noise = noises(rng)
        samples.append(window(noise if reduction is None else (reduction @ noise[..., None])[..., 0]))
    found = estimate(equations.y, equations.tau + np.stack(samples), "weighted", sources=equations.sources)
    z = (found.values - truth) / found.deviations
    assert np.mean(np.abs(z) < 1.0) == pytest.approx(0.683, abs=0.03)
    assert np.mean(np.abs(z) < 1.96) == pytest.approx(0.95, abs=0.015)
    assert np.mean(np.abs(z) < 3.0) > 0.98  # parameters of one repetition err together: these are few chances
    assert np.abs(z.mean(axis=0)).max() * np.sqrt(REPETITIONS) < 4.5
    return groups


def test_kuka():
    robot = kt.gallery.load("kuka-kr5")
    t, q, v, a = fourier(6, np.random.default_rng(1), 40.0, amplitude=1.0)
    tau = robot.inverse_dynamics(q, v, a)
    size = 0.02 * tau.std(axis=0)
    groups = judge(robot, kt.Measured(t, q, tau, v, a), lambda rng: size * rng.standard_normal(tau.shape))
    assert len(groups.independent) == 36


@pytest.mark.parametrize(("name", "count"), [("four-bar", None), ("sr400", 39)])
def test_closed_loops(name, count):
    robot = kt.gallery.load(name)
    start = robot.assembled() if name == "four-bar" else robot.close([0, -np.pi / 2, 0, 0, 0, 0, -np.pi, np.pi / 2])
    independent = [robot.q_names.index(robot.v_names[k]) for k in robot.coordinates.independent]
    t, some, rate, second = fourier(
        len(independent), np.random.default_rng(1), 40.0, rate=40.0, amplitude=0.25, center=start[independent]
    )
    if name == "sr400":  # Khalil example 7.1
        q = np.insert(some, [2, 5 + 1], np.zeros((len(t), 2)), axis=1)[:, :8]
        q[:, 2], q[:, 7] = np.pi / 2 - q[:, 1] + some[:, 5], q[:, 1] - some[:, 5]
    else:
        q = follow(robot, some, None, start)
    v = robot.velocities(q, rate)
    a = robot.accelerations(q, v, second)
    tau = robot.inverse_dynamics(q, v, a)
    size = 0.02 * tau.std(axis=0)
    groups = judge(robot, kt.Measured(t, q, tau, v, a), lambda rng: size * rng.standard_normal(tau.shape))
    if count:
        assert len(groups.independent) == count  # 42 with the three rotors that are told from bodies, Khalil Table 10.2


@pytest.mark.slow
@pytest.mark.parametrize("loud", range(3))
def test_three_motors_of_two_freedoms(loud):
    """Noise of one motor is in the rows of both: each parameter's deviation must know, not their mean alone."""
    rng = np.random.default_rng(4)
    robot = sums(rng)
    t, q, v, a = closed_motion(robot, rng, duration=20.0, amplitude=0.4)
    (motion,), band, _ = motions_of(robot, kt.Measured(t, q, forces(robot, q, v, a), v, a))
    prepared = Prepared(robot, [motion], band)
    names = [n for n in prepared.inertial if not n.endswith("rotor_inertia")]
    equations = prepared.equations.only(Structure(robot, motion.q).groups(names).independent)
    sizes = np.full(3, 0.2)
    sizes[loud] = 2.0
    samples = []
    for _ in range(2 * REPETITIONS):
        noise = np.zeros((len(t), robot.nv))
        noise[:, driven(robot)] = sizes * rng.standard_normal((len(t), 3))
        samples.append(prepared.decimations[0]((prepared.reductions[0] @ noise[..., None])[..., 0]))
    found = estimate(equations.y, np.stack(samples), "weighted", equations.counted, sources=equations.sources)
    z = found.values / found.deviations
    assert np.mean(np.abs(z) < 1.96) == pytest.approx(0.95, abs=0.015)
    assert np.all(np.abs(np.std(z, axis=0) - 1.03) < 0.13)


def test_a_floating_quadruped_with_measured_feet():
    """A trunk that is held by a measured wrench, and forces at all feet; each of them has noise of its own."""
    robot = kt.gallery.load("quadruped")
    rng = np.random.default_rng(1)
    t, q, v, a = fourier(18, rng, 40.0, amplitude=0.3)
    feet = [frame for frame in robot.frame_names if frame.endswith("tip")]
    forces = {frame: 50.0 + 30.0 * fourier(3, rng, 40.0)[1] for frame in feet}
    jacobians = {frame: robot.jacobian(q, frame, "aligned") for frame in (*feet, "trunk")}
    tau = robot.inverse_dynamics(q, v, a)
    for frame, force in forces.items():
        tau = tau - np.einsum("nij,ni->nj", jacobians[frame][:, 3:], force)
    base = np.swapaxes(jacobians["trunk"][:, :, :6], 1, 2)
    held = np.linalg.solve(base, tau[:, :6, None])[..., 0]
    tau = tau - np.einsum("nij,ni->nj", jacobians["trunk"], held)
    assert np.abs(tau[:, :6]).max() < 1e-9
    size = 0.02 * tau.std(axis=0)
    size[:6] = 0.0

    def noises(rng):
        found = size * rng.standard_normal(tau.shape)
        for jacobian in jacobians.values():
            wrench = np.array([0.02, 0.02, 0.02, 0.2, 0.2, 0.2]) * rng.standard_normal((len(t), 6))
            found = found + np.einsum("nij,ni->nj", jacobian, wrench)
        return found

    judge(robot, kt.Measured(t, q, tau[:, 6:], v, a, wrenches={**forces, "trunk": held}), noises)


def test_feet_whose_forces_were_not_measured():
    """The motions that leave the feet where they are do not feel them."""
    robot = kt.gallery.load("quadruped")
    rng = np.random.default_rng(2)
    t, q, v, a = fourier(18, rng, 40.0, rate=50.0, amplitude=0.3)
    feet = [frame for frame in robot.frame_names if frame.endswith("tip")][:2]
    tau = robot.inverse_dynamics(q, v, a)
    for frame in feet:
        tau = tau - np.einsum(
            "nij,ni->nj", robot.jacobian(q, frame, "aligned")[:, 3:], 80.0 * rng.standard_normal((len(t), 3))
        )
    data = kt.Measured(t, q, tau, v, a)
    guess = robot.with_parameters({"trunk.M": 1.2 * robot.parameters()["trunk.M"]})
    with pytest.warns(kt.IdentificationWarning, match="does not determine"):  # of eighteen motions twelve are left
        found = kt.identify(guess, data, friction="none", contacts=feet)
    assert np.nanmax(found.training_errors) < 1e-2
