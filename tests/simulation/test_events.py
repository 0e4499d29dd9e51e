"""Events: each noted once, resets, and functions that are none."""

from __future__ import annotations

import numpy as np
import pytest

import kinetree as kt
from helpers.loop_models import compiled_system
from helpers.robots import balls
from kinetree.simulation.events import Event

G = 9.81


@pytest.mark.parametrize("options", [{}, {"integrator": "rk4", "step": 0.01}, {"integrator": "bdf"}], ids=str)
def test_events_at_the_same_instant_are_all_noted_once(no_hang, options):
    """Two functions with the same zeros: one of them was lost (adaptive), or both were found for ever (fixed step)."""
    events = [
        kt.Event(lambda t, q, v: q[0] - 0.5, name="half"),
        kt.Event(lambda t, q, v: 0.5 - q[0], name="half too"),
        kt.Event(lambda t, q, v: 1e3 * (q[0] - 0.5), name="half again"),
    ]
    record = kt.simulate(balls(), [1.0], time=0.6, events=events, **options)
    assert sorted(e.name for e in record.events) == ["half", "half again", "half too"]
    assert [e.time for e in record.events] == pytest.approx([np.sqrt(1.0 / G)] * 3, abs=1e-7)


@pytest.mark.parametrize("options", [{}, {"integrator": "rk4", "step": 0.01}], ids=str)
def test_balls_that_bounce_at_the_same_instant_all_bounce(no_hang, options):
    def bounce(k):
        def reset(t, q, v):
            v[k] *= -0.5
            return q, v

        return kt.Event(lambda t, q, v: q[k], direction=-1, name=f"bounce {k}", reset=reset)

    record = kt.simulate(balls(2), [1.0, 1.0], time=0.8, events=[bounce(0), bounce(1)], **options)
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
    record = kt.simulate(balls(), [1.0], time=1.0, events=events)
    assert [e.name for e in record.events] == ["half", "end"]
    assert record.status == "stopped by end"


def test_rounding_does_not_decide_what_happens_at_the_same_instant():
    """Where a zero is found the function may still be on the near side of it, at some heights on any processor."""
    for height in np.linspace(0.3, 0.7, 40):
        for same in (lambda t, q, v, h=height: q[0] - h, lambda t, q, v, h=height: t - np.sqrt(2.0 * (1.0 - h) / G)):
            events = [
                kt.Event(lambda t, q, v, h=height: q[0] - h, terminal=True, name="end"),
                kt.Event(same, name="also"),
            ]
            record = kt.simulate(balls(), [1.0], time=1.0, events=events, rtol=1e-12, atol=1e-14)
            assert [e.name for e in record.events] == ["also", "end"], height


def test_resets_add_no_samples_to_those_asked_for():
    bounce = kt.Event(lambda t, q, v: q[0], direction=-1, reset=lambda t, q, v: (q, -0.8 * v))
    record = kt.simulate(balls(), [1.0], time=2.0, events=bounce, output=21)
    assert record.time == pytest.approx(np.linspace(0.0, 2.0, 21))
    assert len(record.events) == 3


WAYS = [("dop853", {}), ("radau", {}), ("rk4", {"step": 1e-3})]


@pytest.mark.parametrize(("integrator", "options"), WAYS)
@pytest.mark.parametrize(
    ("reset", "words"),
    [
        (lambda t, q, v: (q + 0.3 * np.eye(3)[1], v), "q leaves loops open by 0.0281"),
        (lambda t, q, v: (q, v + np.eye(3)[0]), "v tears loops open, at joint"),
        (lambda t, q, v: (q * np.nan, v), "q is nan at joint 'crank_joint'"),
        (lambda t, q, v: (q, None), "one of them is None"),
        (lambda t, q, v: (np.stack([q, q]), v), r"got shapes \(2, 3\) and \(3,\)"),
    ],
)
def test_a_reset_to_what_no_motion_starts_from_is_refused_at_its_time(integrator, options, reset, words):
    """It ran on to the end and was told there, or the step was said to be too large."""
    robot, q = compiled_system("four-bar")
    kick = Event(lambda t, q, v: t - 0.05, name="kick", reset=reset)
    with pytest.raises(kt.SimulationError, match=f"the reset of event 'kick' returned no state: .*{words}") as caught:
        kt.simulate(robot, q, time=0.1, integrator=integrator, events=kick, **options)
    assert caught.value.time == pytest.approx(0.05, abs=1e-12)


def test_events_that_are_none_are_refused():
    robot, q = compiled_system("four-bar")
    with pytest.raises(kt.OptionError, match="events are functions"):
        kt.simulate(robot, q, time=0.1, events=3)
    with pytest.raises(kt.OptionError, match="the reset of an event is a function"):
        Event(lambda t, q, v: t, reset=3)
    with pytest.raises(kt.SimulationError, match=r"returned False, which does not pass through zero") as caught:
        kt.simulate(robot, q, time=0.1, events=Event(lambda t, q, v: bool(t > 0.05)))
    assert caught.value.time == 0.0
