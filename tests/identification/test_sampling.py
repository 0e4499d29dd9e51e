import numpy as np
import pytest

import kinetree as kt
from helpers.measured_motions import fourier
from kinetree.identification.sampling import sampled


def test_even_samples_stay_as_they_are():
    t, q, v, _ = fourier(2, np.random.default_rng(0), 5.0)
    (piece,) = sampled(kt.Measured(t, q, q, v)).pieces
    assert np.array_equal(piece.q, q)
    assert piece.step == pytest.approx(0.01)


def test_uneven_samples_are_interpolated():
    rng = np.random.default_rng(0)
    t, q, _, _ = fourier(2, rng, 5.0, rate=1000.0)
    kept = np.sort(rng.choice(len(t), len(t) // 4, replace=False))
    found = sampled(kt.Measured(t[kept], q[kept], q[kept]))
    (piece,) = found.pieces
    truth = np.stack([np.interp(piece.t, t, x) for x in q.T], axis=1)
    assert np.abs(piece.q - truth).max() < 1e-6
    assert np.ptp(np.diff(piece.t)) < 1e-12


def test_the_senders_clock_is_found():
    """Samples every millisecond, some lost, some sent twice, with times at which they arrived."""
    rng = np.random.default_rng(1)
    t, q, v, _ = fourier(3, rng, 6.0, rate=1000.0)
    chosen = np.flatnonzero(rng.uniform(size=len(t)) > 0.05)
    twice = np.sort(np.concatenate([chosen, rng.choice(chosen, 200, replace=False)]))
    arrival = np.sort(t[twice] + 3e-4 * rng.standard_normal(len(twice)))
    arrival += 1e-6 * np.arange(len(arrival))
    found = sampled(kt.Measured(arrival, q[twice], q[twice], v[twice]))
    (piece,) = found.pieces
    assert len(found.notes) == 2
    away = piece.t[0] - t[chosen[0]]
    truth = np.stack([np.interp(piece.t - away, t, x) for x in v.T], axis=1)
    assert np.abs(piece.v - truth).max() < 1e-5
    assert piece.step == pytest.approx(1e-3, rel=1e-6)


def test_gaps_part_the_data():
    t, q, _, _ = fourier(1, np.random.default_rng(0), 6.0)
    kept = (t < 2.0) | (t > 3.0)
    found = sampled(kt.Measured(t[kept], q[kept], q[kept]))
    assert [len(piece) for piece in found.pieces] == [200, 299]
    lonely = np.concatenate([np.arange(40), 100 + np.arange(40.0)])
    with pytest.raises(kt.IdentificationError, match="never"):
        sampled(kt.Measured(lonely, np.zeros((80, 1)), np.zeros((80, 1))))


def test_rows_with_nan_are_left_out_with_a_warning():
    t, q, _, _ = fourier(1, np.random.default_rng(0), 2.0)
    bad = q.copy()
    bad[[7, 90]] = np.nan
    with pytest.warns(kt.IdentificationWarning, match="2 of 200 rows .* the first is row 8"):
        (piece,) = sampled(kt.Measured(t, bad, q)).pieces
    assert np.abs(piece.q - q).max() < 1e-4
    with pytest.raises(kt.IdentificationError, match="too few are left"):
        sampled(kt.Measured(t, np.full_like(q, np.nan), q))


@pytest.mark.filterwarnings("ignore:.*rows have NaN:kinetree.errors.IdentificationWarning")
@pytest.mark.parametrize(("lost", "pieces"), [(3, 1), (10, 2)])
def test_rows_with_nan_part_the_data_where_they_are_many(lost, pieces):
    """A joint may turn around meanwhile, which no interpolation knows."""
    t, q, v, _ = fourier(2, np.random.default_rng(0), 10.0)
    q[400 : 400 + lost, 1] = np.nan
    found = sampled(kt.Measured(t, q, np.ones_like(q), v))
    assert len(found.pieces) == pieces
    assert sum(len(piece) for piece in found.pieces) == len(t) - (lost if pieces > 1 else 0)
