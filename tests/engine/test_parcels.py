"""Results written in whole lines, past the caches or not: every length of row, every alignment, nothing outside."""

import numpy as np
import pytest

from kinetree.engine import kernel as engine
from kinetree.engine import machine
from kinetree.engine.kernel import Kernel, trace

pytestmark = pytest.mark.skipif(not machine.host().supported, reason="no machine code here")

MARK = -77.0


def results(length):
    """Distinct results, runs of zeros (whole squares of them) and repeated results."""

    def function(x):
        rows = []
        for k in range(length):
            rows.append(0.0 if 10 <= k < 29 else x[0] * 2.0 if 40 <= k < 60 else x[k % 3] * (k + 1.0))
        return rows

    return Kernel("results", lambda: trace(function, (3,), list), (3,), (length,))


@pytest.mark.parametrize(("threads", "streamed"), [(1, True), (2, True), (1, False)])
@pytest.mark.parametrize("length", [1, *range(6, 26), 36, *range(46, 66), 81, 400])
def test_rows_of_every_length_at_every_alignment(monkeypatch, length, threads, streamed):
    kernel = results(length)
    count = 149  # two rounds of 64, two more tiles, and some
    x = np.random.default_rng(length).standard_normal((count, 3))
    plain = kernel(x)
    expected = np.array(
        [
            [0.0 if 10 <= k < 29 else s[0] * 2.0 if 40 <= k < 60 else s[k % 3] * (k + 1.0) for k in range(length)]
            for s in x
        ]
    )
    np.testing.assert_array_equal(plain, expected)
    monkeypatch.setattr(engine, "STREAMED_BYTES", 0 if streamed else 1 << 40)
    for shift in range(8):
        area = np.full(count * length + 24, MARK)
        out = area[8 + shift : 8 + shift + count * length].reshape(count, length)
        kernel(x, out=out, threads=threads)
        np.testing.assert_array_equal(out, expected)
        assert (area[: 8 + shift] == MARK).all()
        assert (area[8 + shift + count * length :] == MARK).all()


def test_nan_and_infinity_stay_in_their_rows(monkeypatch):
    monkeypatch.setattr(engine, "STREAMED_BYTES", 0)
    kernel = results(100)
    x = np.ones((24, 3))
    x[5], x[17, 1] = np.nan, np.inf
    found = kernel(x)
    assert np.isnan(found[5][expected_nan(100)]).all()
    assert np.isfinite(np.delete(found, [5, 17], axis=0)).all()
    assert np.isinf(found[17]).any()


def expected_nan(length):
    return [k for k in range(length) if not 10 <= k < 29]
