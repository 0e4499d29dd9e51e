"""How results of a loop get to where they belong."""

import numpy as np
import pytest

from kinetree.engine.kernels.loop_kernel import LONG_RUN, moves_to


def some_places(kind, rng):
    """Return places in which runs, zeros and single numbers alternate; place 0 holds zero."""
    parts = [np.zeros(0, int)]
    for _ in range(int(rng.integers(0, 12))):
        begin, size = (int(x) for x in rng.integers(1, 3 * LONG_RUN, 2))
        run, zeros, single = np.arange(begin, begin + size), np.zeros(size, int), rng.integers(0, 9, 3)
        parts.append((run, zeros, single)[{"runs": 0, "zeros": 1, "mixed": int(rng.integers(3))}[kind]])
    return np.concatenate(parts)


@pytest.mark.parametrize("kind", ["runs", "zeros", "mixed"])
def test_every_result_is_moved_once_or_cleared(kind):
    rng = np.random.default_rng(1)
    source = np.append(0.0, rng.random(6 * LONG_RUN))
    for places in (some_places(kind, rng) for _ in range(50)):
        moves = moves_to(places)
        result, times = np.zeros(len(places)), np.full(len(places), int(moves.cleared))
        for to, place in moves.single:
            result[to], times[to] = source[place], times[to] + 1
        for to, place, size in moves.runs:
            result[to : to + size] = source[place : place + size] if place else 0.0
            times[to : to + size] += 1
        assert np.array_equal(result, source[places])
        assert (times >= 1).all()
        assert (times <= 1 + moves.cleared).all()
