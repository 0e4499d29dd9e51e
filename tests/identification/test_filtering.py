import numpy as np
import pytest

import kinetree as kt
from helpers.measured_motions import fourier, two_links
from kinetree.identification.filtering import Band, Decimation, choose_band, filtered
from kinetree.identification.sampling import sampled

ROBOT = two_links()


@pytest.mark.parametrize("noise", [0.0, 1e-5, 1e-4])
def test_the_band_of_the_motion_is_found(noise):
    rng = np.random.default_rng(0)
    t, q, _, _ = fourier(2, rng, 20.0, rate=500.0)  # up to 0.5 Hz
    measured = q + noise * rng.standard_normal(q.shape)
    pieces = sampled(kt.Measured(t, measured, q)).pieces
    band = choose_band(pieces, ROBOT)
    assert 0.5 <= band.motion <= 6.0  # windows leak
    assert band.both_sides <= band.cutoff
    assert choose_band(pieces, ROBOT, cutoff=20.0, both_sides=7.0) == Band(band.motion, 20.0, 7.0, band.sampling)


def test_velocities_and_accelerations_follow_from_positions():
    t, q, v, a = fourier(2, np.random.default_rng(0), 20.0, rate=200.0)
    (piece,) = sampled(kt.Measured(t, q, q)).pieces
    motion = filtered(piece, choose_band([piece], ROBOT), ROBOT)
    inner = slice(200, -200)
    assert np.abs(motion.v - v)[inner].max() < 1e-5 * np.abs(v).max()
    assert np.abs(motion.a - a)[inner].max() < 1e-4 * np.abs(a).max()


def test_noise_of_velocities_is_known():
    """The judge is what the noise does to the velocities: those with it less those without."""
    rng = np.random.default_rng(0)
    t, q, v, _ = fourier(2, rng, 20.0, rate=500.0)
    noise = 1e-3 * rng.standard_normal(q.shape)
    for clean, noisy in (((q, None), (q + noise, None)), ((q, v), (q, v + noise))):
        (without,), (with_it,) = (sampled(kt.Measured(t, x, q, v=y)).pieces for x, y in (clean, noisy))
        for cutoff in (3.0, 30.0):
            band = Band(0.5, cutoff, 1.5, 500.0)
            smooth, rough = filtered(without, band, ROBOT), filtered(with_it, band, ROBOT)
            left = np.std((rough.v - smooth.v)[1000:-1000], axis=0)  # away from the ends
            assert np.allclose(rough.speed_noise, left, rtol=0.3)


def test_free_joints_are_differentiated_on_their_manifold():
    robot = kt.Builder("stone").body("stone", "base", kt.Free(), mass=1, inertia=(1, 1, 1)).build()
    t = np.arange(0.0, 10.0, 0.005)
    rate = np.array([0.3, -0.2, 0.1, 0.05, 0.1, -0.2])
    q = np.array([robot.integrate(robot.neutral(), rate * s) for s in t])
    q[1000:, :4] *= -1.0  # the same turn
    wobble = q.copy()
    wobble[:, 4] += 0.1 * np.sin(2 * np.pi * 0.5 * t)
    (piece,) = sampled(kt.Measured(t, wobble, np.zeros((len(t), 6)))).pieces
    motion = filtered(piece, Band(0.5, 5.0, 2.0, 200.0), robot)
    assert np.abs(motion.v - rate)[300:-300, :3].max() < 1e-3
    assert np.allclose(np.linalg.norm(motion.q[:, :4], axis=1), 1.0)


def test_kept_samples_of_noise_are_uncorrelated_and_slow_signals_pass():
    rng = np.random.default_rng(0)
    band = Band(0.5, 3.0, 2.0, 200.0)
    d = Decimation.of(band, 200_000)
    kept = d(rng.standard_normal((200_000, 1)))[:, 0]
    spread = kept.var()
    for lag in (1, 2, 3):
        assert abs(np.mean(kept[lag:] * kept[:-lag])) < 0.03 * spread
    t = np.arange(4000) / 200.0
    slow = np.sin(2 * np.pi * 0.5 * t)[:, None]
    d = Decimation.of(band, 4000)
    assert np.abs(d(slow) - slow[d.centers]).max() < 5e-3
    whole = d(slow)
    half = d(slow[d.block(20, 40)], 20, 40)
    assert np.allclose(half, whole[20:40], atol=1e-14)


def test_frequencies_that_cannot_be_are_refused():
    t, q, _, _ = fourier(2, np.random.default_rng(0), 5.0)
    pieces = sampled(kt.Measured(t, q, q)).pieces
    with pytest.raises(kt.OptionError, match="cutoff must be between 0 and 50"):
        choose_band(pieces, ROBOT, cutoff=70.0)
    still = sampled(kt.Measured(t, np.zeros_like(q), q)).pieces
    with pytest.raises(kt.IdentificationError, match="no joint moves"):
        choose_band(still, ROBOT)
