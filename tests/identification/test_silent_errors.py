"""Data that fit well and are wrong: each kind is named, and good data are not."""

import warnings
from contextlib import suppress

import numpy as np
import pytest
from scipy.signal import lfilter

import kinetree as kt
from helpers.coupled_robots import COUPLED, closed_motion, driven, forces, measured
from helpers.measured_motions import fourier
from kinetree.identification import drive_gains
from kinetree.identification.filtering import choose_band, lag_of_velocities, without_lag
from kinetree.identification.sampling import sampled

OPTIONS = {"friction": "coulomb", "springs": False, "rotor_inertia": False}


def arm(scale=1.0):
    b = kt.Builder("arm")
    for k, (axis, mass) in enumerate(zip("zyyx", (6.0, 5.0, 3.9, 1.5), strict=True)):
        own = {"mass": mass * (scale if k == 1 else 1.0), "com": (0.15, 0.03, 0.05), "inertia": (0.03, 0.06, 0.06)}
        b.body(f"l{k}", f"l{k - 1}" if k else "base", kt.Revolute(axis), position=(0.35 if k > 1 else 0, 0, 0.1),
               damping=0.4, friction=0.8, **own)  # fmt: skip
    return b.build()


ARM = arm()


def data(change=lambda t, q, tau: (q, tau), seed=0, noise=0.05, robot=ARM, **motion):
    rng = np.random.default_rng(seed)
    t, q, v, a = fourier(robot.nv, rng, **({"duration": 15.0, "rate": 60.0} | motion))
    tau = robot.inverse_dynamics(q, v, a, friction=True) + noise * rng.standard_normal(q.shape)
    q, tau = change(t, q + 1e-5 * rng.standard_normal(q.shape), tau)
    return kt.Measured(t, q, tau)


def words(robot, seen, **options):
    """Return what is said about data, whatever comes out."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            kt.identify(robot, seen, **(OPTIONS | options))
        except kt.IdentificationError as problem:
            return [str(problem)]
    return [str(one.message) for one in heard]


def late(seconds):
    return lambda t, q, tau: (q, np.stack([np.interp(t - seconds, t, x) for x in tau.T], axis=1))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_good_data_are_not_doubted(seed):
    """Neither with other masses than the file's, nor with a motion of a few seconds."""
    assert not words(arm(1.4), data(seed=seed))
    assert not words(ARM, data(seed=seed, duration=6.0, base=0.3))


@pytest.mark.parametrize("gains", [[10.0, 10.0, 10.0, 10.0], [11.0, 9.0, 12.0, 10.0]])
def test_currents_that_are_taken_for_forces(gains):
    said = words(ARM, data(lambda t, q, tau: (q, tau / gains)))
    assert any("times those of the file" in word and "currents" in word for word in said)


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [0.02, 0.035, 0.05, 0.12, -0.06])
def test_forces_that_come_too_late_or_too_early(seconds):
    (said,) = (word for word in words(ARM, data(late(seconds))) if "much better when they are taken" in word)
    assert float(said.partition("taken ")[2].split()[0]) == pytest.approx(1e3 * abs(seconds), rel=0.15)
    assert ("earlier" if seconds > 0 else "later") in said


def test_forces_that_are_later_than_is_looked_for():
    assert any("200 ms or more earlier" in word for word in words(ARM, data(late(0.3))))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["gear", "sums", "wrist"])
def test_late_forces_of_coupled_joints(kind):
    rng = np.random.default_rng(1)
    robot = COUPLED[kind](rng)
    seen = measured(robot, rng)
    tau = late(0.03)(seen.t, seen.q, seen.tau)[1]
    said = words(robot, kt.Measured(seen.t, seen.q, tau, seen.v), consistent=None)
    assert any("taken 3" in word or "taken 29" in word or "taken 28" in word for word in said)
    assert not any("much better when" in word for word in words(robot, seen, consistent=None))


@pytest.mark.slow
@pytest.mark.parametrize("degrees", [90, 180])
@pytest.mark.parametrize("joint", [1, 2])
def test_another_zero_of_a_joint(joint, degrees):
    """The fit leaves less with the file's zero."""
    seen = data(lambda t, q, tau: (q + np.deg2rad(degrees) * (np.arange(4) == joint), tau))
    back = 180 if degrees == 180 else -degrees
    assert any(f"positions of l{joint}_joint turned by {back} degrees" in word for word in words(ARM, seen))


def test_another_zero_of_the_last_joint_is_told_by_the_file():
    """Its body turned with it explains everything as well; only the file's masses say that it did not."""
    b = kt.Builder("crank")
    b.body("arm", "base", kt.Revolute("y"), mass=2.0, com=(0.1, 0, 0), inertia=(0.01, 0.02, 0.02))
    b.body("hand", "arm", kt.Revolute("y"), position=(0.3, 0, 0), mass=3.0, com=(0.3, 0, 0), inertia=(0.01, 0.05, 0.05))
    robot = b.build()
    seen = data(lambda t, q, tau: (q + np.array([0.0, np.pi / 2]), tau), robot=robot)
    said = words(robot, seen)
    assert any("hand_joint turned by -90 degrees the file's masses leave" in word for word in said)
    assert not words(robot, data(robot=robot))


@pytest.mark.parametrize("duration", [0.5, 1.0, 1.5, 2.0])
@pytest.mark.parametrize("seed", range(2))
def test_short_motions_are_called_short(duration, seed):
    """Not of the wrong sign, in another unit, late or mixed up."""
    said = words(ARM, data(seed=seed, duration=duration, rate=200.0))
    assert "s of motion are too short" in said[0]
    others = ("sign", "times those of the file", "much better when", "mixed up", "disagree", "wrong unit")
    assert not any(other in word for word in said for other in others)


@pytest.mark.slow
def test_columns_without_names_that_may_be_motors_or_independent_joints(tmp_path):
    b = kt.Builder("three bars")
    rod = {"mass": 1.0, "com": (0, 0, 0.15), "inertia": (0.01,) * 3}
    b.body("left", "base", kt.Revolute("y"), actuated=False, **rod)
    b.body("middle", "left", kt.Revolute("y"), position=(0, 0, 0.3), actuated=False, **rod)
    b.body("right", "base", kt.Revolute("y"), position=(0.3, 0, 0), **rod)
    b.loop("pin", "middle", "right", kt.Revolute("y"), placement=(0.3, 0, 0), seat=(0, 0, 0.3))
    robot = kt.Mechanism(b.build().model, independent=["left_joint"])
    t, q, v, a = closed_motion(robot, np.random.default_rng(0), amplitude=0.3, duration=12.0, rate=25.0)
    tau = forces(robot, q, v, a)[:, driven(robot)]
    said = words(robot, kt.Measured(t, q[:, :1], tau), consistent=None)
    assert "1 columns, which are taken for the independent joints left_joint" in said[0]
    assert "the motors are right_joint" in said[0]
    for header, doubted in (("t,q_left_joint,tau_right_joint", False), ("t,q1,tau1", True)):
        np.savetxt(tmp_path / "m.csv", np.column_stack([t, q[:, 0], tau]), delimiter=",", header=header, comments="")
        found = words(robot, kt.Measured.read(tmp_path / "m.csv", robot), consistent=None)
        assert any("taken for the independent joints" in word for word in found) == doubted
    own = kt.Mechanism(robot.model)
    assert own.independent() == ["right_joint"]
    assert not any("independent" in word for word in words(own, kt.Measured(t, q[:, 2:], tau), consistent=None))


LOAD = kt.MassProperties.of(3.0, (0.1, 0.2, 0.1), (0.02, 0.03, 0.03))
GAINS = np.array([11.0, 9.0, 12.0, 10.0])


def currents(robot, seed):
    seen = data(seed=seed, robot=robot, noise=0.02)
    return kt.Measured(seen.t, seen.q, seen.tau / GAINS, currents=True)


def test_gains_by_a_load_that_was_not_carried():
    free, loaded = currents(ARM, 0), currents(ARM.with_payload("l3", LOAD), 1)
    assert drive_gains(ARM, free, loaded, LOAD, "l3") == pytest.approx(GAINS, rel=0.03)
    with pytest.raises(kt.IdentificationError, match=r"all gains are negative .* exchanged"):
        drive_gains(ARM, loaded, free, LOAD, "l3")
    with pytest.raises(kt.IdentificationError, match="% of its forces unexplained"):
        drive_gains(ARM, free, currents(ARM, 1), LOAD, "l3")  # nothing was carried
    with pytest.warns(kt.IdentificationWarning, match="would weigh 0.5"):
        drive_gains(ARM, free, loaded, kt.MassProperties.of(1.5, (0.1, 0.2, 0.1), (0.01, 0.015, 0.015)), "l3")
    elsewhere = kt.MassProperties.of(3.0, (-0.2, 0.0, -0.2), (0.02, 0.03, 0.03))
    with warnings.catch_warnings(record=True) as heard, suppress(kt.IdentificationError):
        warnings.simplefilter("always")
        drive_gains(ARM, free, loaded, elsewhere, "l3")
        assert "unexplained" in str(heard[0].message)  # or an error


@pytest.mark.slow
def test_gains_of_a_mechanism():
    rng = np.random.default_rng(2)
    robot = COUPLED["five_bar"](rng)
    load = kt.MassProperties.of(2.0, (0, 0, 0.5), (0.01,) * 3)
    gains, seen = np.array([8.0, 12.0]), []
    for one in (robot, robot.with_payload("left rod", load)):
        found = measured(one, rng, noise=0.01, duration=12.0, rate=30.0)
        tau = found.tau.copy()
        tau[:, driven(robot)] /= gains
        seen.append(kt.Measured(found.t, found.q, tau, found.v, currents=True))
    assert drive_gains(robot, *seen, load, "left rod")[driven(robot)] == pytest.approx(gains, rel=0.03)


# ------------------------------------------------------------------ velocities that lag behind positions


@pytest.mark.slow
@pytest.mark.parametrize("lag", [0.0, 0.004, 0.01, 0.02])
def test_velocities_that_were_filtered_make_friction_no_smaller(lag):
    """A filter of first order, as drives have: behind reversals velocities have the wrong sign for a while."""
    rng = np.random.default_rng(0)
    t, q, v, a = fourier(ARM.nv, rng, 15.0, rate=200.0, base=0.2, amplitude=0.5)
    tau = ARM.inverse_dynamics(q, v, a, friction=True) + 0.05 * rng.standard_normal(q.shape)
    keeps = np.exp(-0.005 / lag) if lag else 0.0
    late = lfilter([1.0 - keeps], [1.0, -keeps], v, axis=0, zi=keeps * v[:1])[0] + 1e-3 * rng.standard_normal(q.shape)
    found = kt.identify(ARM, kt.Measured(t, q + 1e-5 * rng.standard_normal(q.shape), tau, late), **OPTIONS)
    noted = [note for note in found.notes if "velocities come" in note]
    assert bool(noted) == bool(lag)
    if lag:
        assert float(noted[0].partition("come ")[2].split()[0]) == pytest.approx(5.0 * keeps / (1.0 - keeps), rel=0.1)
    for joint in ARM.v_names:
        assert found.robot.parameters()[f"{joint}.friction"] == pytest.approx(0.8, rel=0.04)


def test_a_lag_is_that_of_all_joints():
    """Of a pure delay the lag is the delay; noise of positions, whose velocities come of themselves, has none."""
    rng = np.random.default_rng(1)
    t, q, v, _ = fourier(4, rng, 10.0, rate=200.0)
    late = np.stack([np.interp(t - 0.012, t, x) for x in v.T], axis=1)
    for speeds, noise, expected in ((late, 1e-4, 0.012), (v, 1e-4, 0.0), (v, 3e-3, 0.0), (-v, 1e-4, 0.0)):
        seen = kt.Measured(t, q + noise * rng.standard_normal(q.shape), np.zeros_like(q), speeds)
        pieces = sampled(seen).pieces
        band = choose_band(pieces, ARM)
        assert lag_of_velocities(pieces, band, ARM) == pytest.approx(expected, abs=1e-3 if expected else 0.0)
        back = without_lag(pieces[0], expected).v
        assert np.abs(back - v)[50:-50].max() < 1e-3 or speeds is not late
