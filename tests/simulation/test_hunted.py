"""Faults that were hunted down in simulations, each by a judge that does not share code with what it judges."""

from __future__ import annotations

import faulthandler

import numpy as np
import pytest

import kinetree as kt
from kinetree.simulation import complementarity

G = 9.81


def ball(count=1, backend="reference"):
    builder = kt.Builder("balls")
    for k in range(count):
        builder.body(f"ball{k}", "base", kt.Prismatic("z"), mass=1.0)
    return builder.build().with_backend(backend)


@pytest.fixture
def no_hang():
    faulthandler.dump_traceback_later(20, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()


# ------------------------------------------------------------------ events


@pytest.mark.parametrize("options", [{}, {"integrator": "rk4", "step": 0.01}, {"integrator": "bdf"}], ids=str)
def test_events_at_the_same_instant_are_all_noted_once(no_hang, options):
    """Two functions with the same zeros: one of them was lost (adaptive), or both were found for ever (fixed step)."""
    events = [
        kt.Event(lambda t, q, v: q[0] - 0.5, name="half"),
        kt.Event(lambda t, q, v: 0.5 - q[0], name="half too"),
        kt.Event(lambda t, q, v: 1e3 * (q[0] - 0.5), name="half again"),
    ]
    record = kt.simulate(ball(), [1.0], time=0.6, events=events, **options)
    assert sorted(e.name for e in record.events) == ["half", "half again", "half too"]
    assert [e.time for e in record.events] == pytest.approx([np.sqrt(1.0 / G)] * 3, abs=1e-7)


@pytest.mark.parametrize("options", [{}, {"integrator": "rk4", "step": 0.01}], ids=str)
def test_balls_that_bounce_at_the_same_instant_all_bounce(no_hang, options):
    def bounce(k):
        def reset(t, q, v):
            v[k] *= -0.5
            return q, v

        return kt.Event(lambda t, q, v: q[k], direction=-1, name=f"bounce {k}", reset=reset)

    record = kt.simulate(ball(2), [1.0, 1.0], time=0.8, events=[bounce(0), bounce(1)], **options)
    first = np.sqrt(2.0 / G)
    assert [e.time for e in record.events] == pytest.approx([first, first], abs=1e-9)
    up = 0.8 - first
    expected = 0.5 * G * first * up - 0.5 * G * up**2
    assert record.q[-1] == pytest.approx([expected, expected], abs=1e-8)


def test_a_run_that_ends_notes_what_else_happens_then():
    events = [
        kt.Event(lambda t, q, v: q[0] - 0.5, terminal=True, name="end"),
        kt.Event(lambda t, q, v: q[0] - 0.5, name="half"),
    ]
    record = kt.simulate(ball(), [1.0], time=1.0, events=events)
    assert [e.name for e in record.events] == ["half", "end"]
    assert record.status == "stopped by end"


def test_resets_add_no_samples_to_those_asked_for():
    bounce = kt.Event(lambda t, q, v: q[0], direction=-1, reset=lambda t, q, v: (q, -0.8 * v))
    record = kt.simulate(ball(), [1.0], time=2.0, events=bounce, output=21)
    assert record.time == pytest.approx(np.linspace(0.0, 2.0, 21))
    assert len(record.events) == 3


# ------------------------------------------------------------------ complementarity


def test_pivoting_does_not_take_a_ray_for_a_solution():
    """C of rank one, d not in its range: forces of 1e15 N, whose rounding hid that slacks were negative, were returned."""
    rng = np.random.default_rng(1)
    for _ in range(3000):
        n = int(rng.integers(2, 7))
        j, d = rng.normal(size=n), rng.normal(size=n)
        c = np.outer(j, j)
        # f >= 0 enters through s = j.f alone: w = j s + d >= 0 with f.w = 0
        bounds = -d / j
        low, high = np.max(bounds[j > 0], initial=-np.inf), np.min(bounds[j < 0], initial=np.inf)
        if low > high + 1e-6:
            with pytest.raises(complementarity.NoSolutionError):
                complementarity.solve(c, d)
        elif low < high - 1e-6:
            found = complementarity.solve(c, d)
            w = c @ found.force + d
            assert w.min() > -1e-6
            assert np.all(found.force >= 0)
            assert np.abs(found.force * w).max() < 1e-6 * max(1.0, found.force.max())
