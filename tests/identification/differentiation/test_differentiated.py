"""Velocities and accelerations from noisy positions, held against the motion that they were made from."""

import numpy as np
import pytest
from scipy import signal

import kinetree as kt

RNG = np.random.default_rng(3)


@pytest.fixture(scope="module")
def arm():
    b = kt.Builder("arm").body("upper", "base", kt.Revolute("y"), mass=2, com=(0.3, 0, 0), inertia=(0.01, 0.1, 0.1))
    b.body(
        "lower", "upper", kt.Revolute("y"), position=(0.6, 0, 0), mass=1, com=(0.2, 0, 0), inertia=(0.01, 0.05, 0.05)
    )
    return b.build()


def motion(t):
    """Positions, velocities and accelerations of two sines."""
    w = np.array([4.0, 7.0])
    phase = np.multiply.outer(t, w)
    return np.sin(phase), w * np.cos(phase), -w * w * np.sin(phase)


def assert_found(found, q, v, a, inside=slice(150, -150)):
    for got, wanted, share in ((found.q, q, 2e-3), (found.v, v, 2e-3), (found.a, a, 2e-2)):
        assert np.abs(got - wanted)[inside].max() < share * np.abs(wanted).max()


def test_noise_is_filtered_off_without_delay(arm):
    t = np.linspace(0.0, 4.0, 1001)
    q, v, a = motion(t)
    found = kt.identification.differentiated(arm, t, q + 1e-5 * RNG.standard_normal(q.shape))
    assert found.is_even
    assert 7.0 / (2 * np.pi) < found.band.motion < found.band.cutoff < 30.0
    assert_found(found, q, v, a)
    plain = np.gradient(np.gradient(q + 1e-5 * RNG.standard_normal(q.shape), t, axis=0), t, axis=0)
    assert np.abs(plain - a)[150:-150].max() > 2 * np.abs(found.a - a)[150:-150].max()  # what it is for


@pytest.mark.parametrize("noise", [0.0, 1e-4, 1e-2])
def test_valleys_between_the_lines_of_sums_of_sines_are_no_end_of_the_motion(arm, noise):
    """An excitation of sines: its spectrum falls and rises between them, and all of them are motion."""
    t = np.arange(0.0, 10.0, 0.005)
    slow, fast = 2 * np.pi * np.array([0.5, 0.5]), 2 * np.pi * np.array([0.9, 1.3])
    first, second = np.multiply.outer(t, slow) + np.array([0.0, 1.0]), np.multiply.outer(t, fast)
    q = 0.8 * np.sin(first) + 0.4 * np.sin(second)
    a = -0.8 * slow**2 * np.sin(first) - 0.4 * fast**2 * np.sin(second)
    found = kt.identification.differentiated(arm, t, q + noise * RNG.standard_normal(q.shape))
    assert 1.3 < found.band.motion < 8.0
    assert np.std((found.a - a)[200:-200]) < (0.01 + 20.0 * noise) * np.std(a)


@pytest.mark.parametrize("cutoff", [None, 6.0])
def test_uneven_times_and_rows_without_numbers(arm, cutoff):
    t = np.sort(np.linspace(0.0, 4.0, 1001) + RNG.uniform(-1e-3, 1e-3, 1001))
    q, v, a = motion(t)
    given = q + 1e-5 * RNG.standard_normal(q.shape)
    given[500] = np.nan
    found = kt.identification.differentiated(arm, t, given, cutoff=cutoff)
    assert not found.is_even
    assert np.isnan(found.a_deviation[0]).all() == (cutoff is not None)
    assert np.isnan(found.v[500]).all()
    assert np.isfinite(np.delete(found.v, 500, axis=0)).all()
    kept = np.arange(1001) != 500
    for got in (found.q, found.v, found.a):
        got[500] = 0.0
    assert_found(found, *(x * kept[:, None] for x in (q, v, a)))


def test_what_cannot_be_differentiated_is_said(arm):
    t = np.linspace(0.0, 1.0, 101)
    q = motion(t)[0]
    for times, positions, said in (
        (t[:5], q[:5], "5 samples are too few"),
        (t[::-1], q, "times must increase"),
        (np.where(t > 0.5, t + 3.0, t), q, "a pause of 3.01 s after t = 0.5 s"),
        (t, 0.0 * q, "no joint moves"),
        (t[:-1], q, "do not fit together"),
    ):
        with pytest.raises(kt.OptionError, match=said):
            kt.identification.differentiated(arm, times, positions)


def test_motions_with_two_tones_that_begin_and_end_in_full_swing(arm):
    """No tone is taken for noise because of the valley before it, and accelerations do not vanish at the ends."""
    t = np.arange(3001) * 2e-3
    slow, fast, small = 2.0 * t + 0.7, 20.0 * t, 0.05
    q = np.stack([np.cos(slow) + small * np.sin(fast), np.cos(3.0 * t)], axis=-1)
    a = np.stack([-4.0 * np.cos(slow) - 400.0 * small * np.sin(fast), -9.0 * np.cos(3.0 * t)], axis=-1)
    for noise, inside, all_over in ((0.0, 5e-3, 0.25), (1e-5, 5e-3, 0.1)):
        found = kt.identification.differentiated(arm, t, q + noise * RNG.standard_normal(q.shape))
        off = np.abs(found.a - a).max(axis=1) / np.abs(a).max()
        assert off[150:-150].max() < inside
        assert off.max() < all_over


@pytest.mark.parametrize(("noise", "rate"), [(1e-3, 100.0), (1e-2, 500.0)])
def test_slow_motions_with_much_noise_are_known_as_well_as_said(arm, noise, rate):
    """Errors, over the deviations that come with them, are of the size one, at the ends as well."""
    t = np.arange(0.0, 10.0, 1.0 / rate)
    w = 2.0 * np.pi * np.array([0.2, 0.3])
    q, a = np.sin(np.multiply.outer(t, w)), -w * w * np.sin(np.multiply.outer(t, w))
    rng = np.random.default_rng(5)
    ends, inside = [], []
    for _ in range(2):
        found = kt.identification.differentiated(arm, t, q + noise * rng.standard_normal(q.shape))
        assert np.allclose(found.noise, noise, rtol=0.1)
        off = found.a - a
        assert np.std(off[len(t) // 20 : -len(t) // 20]) < (0.02 + 3.0 * noise) * np.std(a)
        assert np.abs(off).max() < (0.15 + 60.0 * noise) * np.std(a)
        ends.append((off / found.a_deviation)[[0, -1]])
        inside.append((off / found.a_deviation)[len(t) // 4 : -len(t) // 4])
    assert 0.3 < np.sqrt(np.mean(np.square(ends))) < 1.7
    assert 0.3 < np.sqrt(np.mean(np.square(inside))) < 1.3
    middle, last, length = found.uncertainty()
    assert (last > 4.0 * middle).all()
    assert 0.05 < length < 1.5


def test_noise_that_was_filtered_before_is_no_motion(arm):
    t = np.arange(0.0, 10.0, 0.002)
    q = 0.5 * np.sin(2 * np.pi * 0.2 * np.stack([t, 1.5 * t], axis=-1))
    a = -((2 * np.pi * 0.2 * np.array([1.0, 1.5])) ** 2) * q
    noise = signal.sosfilt(signal.butter(2, 30.0, fs=500.0, output="sos"), 1e-3 * RNG.standard_normal(q.shape), axis=0)
    found = kt.identification.differentiated(arm, t, q + noise)
    assert found.averaged > 4
    assert np.std(found.a - a) < 0.03 * np.std(a)


def test_free_bodies_turn_and_joints_that_rest_rest():
    b = kt.Builder("stone").body("stone", "base", kt.Free(), mass=1, inertia=(1, 1, 1))
    robot = b.body("lid", "stone", kt.Revolute("x"), mass=1, inertia=(1, 1, 1)).build()
    t = np.arange(0.0, 6.0, 0.005)
    turn = np.zeros((len(t), 7))
    turn[:, 0], turn[:, 6] = np.sin(t), 0.7
    q = robot.integrate(robot.neutral(), turn)
    q[:, 4] = np.sin(2 * t)
    q[500:, :4] *= -1.0  # the same turn
    q[:, :7] += 1e-4 * np.random.default_rng(1).standard_normal((len(t), 7))
    found = kt.identification.differentiated(robot, t, q)
    assert np.allclose(np.linalg.norm(found.q[:, :4], axis=1), 1.0)
    assert np.abs(found.v[:, 0] - np.cos(t)).max() < 0.02
    assert np.abs(found.a[:, 0] + np.sin(t)).max() < 0.2
    assert np.std((found.a[:, 0] + np.sin(t)) / found.a_deviation[:, 0]) < 2.0
    assert np.isfinite(found.a_deviation).all()
    assert np.array_equal(found.q[:, 7], np.full(len(t), 0.7))
    assert not found.v[:, 6].any()
    assert not found.a_deviation[:, 6].any()
