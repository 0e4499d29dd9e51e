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
    record = kt.simulate(balls(), [1.0], time=2.0, events=bounce, samples=21)
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


# ------------------------------------------------------------------ at zero, and without end


def bounce(rebound=0.5, floor=0.0, **more):
    return kt.Event(
        lambda t, q, v: q[0] - floor, direction=-1, name="bounce", reset=lambda t, q, v: (q, -rebound * v), **more
    )


ENDLESS_RUNS = [{}, {"integrator": "rk4", "step": 0.01}, {"integrator": "radau"}]


@pytest.mark.parametrize("options", ENDLESS_RUNS)
@pytest.mark.parametrize("floor", [0.0, 1.0, 1000.0])
@pytest.mark.parametrize("height", [0.0, 1.0])
def test_endless_bounces_are_reported_where_they_come_to_an_end(no_hang, height, floor, options):
    with pytest.raises(kt.SimulationError, match=r"event 'bounce' repeats without end.*endless='rest'") as caught:
        kt.simulate(balls(), [floor + height], time=6.0, events=bounce(floor=floor), **options)
    hops = caught.value.record
    assert hops.q.min() >= floor - 1e-12 * (1.0 + floor)
    fall = np.sqrt(2.0 * height / G)
    assert caught.value.time == pytest.approx(3.0 * fall, abs=1e-8 * (1.0 + 100.0 * (floor > 1.0)))
    if height:
        times = [e.time for e in hops.events[:12]]  # closed form: every hop is half as long as the one before
        assert times == pytest.approx([fall * (3.0 - 2.0 * 0.5**k) for k in range(12)], abs=1e-7)


@pytest.mark.parametrize("options", ENDLESS_RUNS)
@pytest.mark.parametrize("output", [None, 61])
def test_a_ball_comes_to_rest_where_that_is_said(options, output):
    record = kt.simulate(balls(), [1.0], time=6.0, events=bounce(endless="rest"), samples=output, **options)
    assert record.status == "complete"
    assert record.time[-1] == 6.0
    assert record.events[-1].name == "rest bounce"
    rest = record.events[-1].time
    assert rest == pytest.approx(3.0 * np.sqrt(2.0 / G), abs=1e-8)
    after = record.time > rest
    assert after.any()
    assert np.abs(record.q[after]).max() < 1e-12
    assert not record.v[after].any()
    assert not record.a[after].any()
    assert np.allclose(record.a[record.time < rest], -G)


def test_a_run_ends_at_endless_events_where_that_is_said():
    record = kt.simulate(balls(), [1.0], time=6.0, events=bounce(endless="stop"))
    assert record.status == "stopped by bounce"
    assert record.time[-1] == record.events[-1].time == pytest.approx(3.0 * np.sqrt(2.0 / G), abs=1e-8)
    with pytest.raises(kt.UnknownNameError, match="did you mean 'rest'"):
        bounce(endless="rests")


def test_a_plastic_blow_is_endless_too():
    with pytest.raises(kt.SimulationError, match="repeats without end") as caught:
        kt.simulate(balls(), [1.0], time=6.0, events=bounce(0.0))
    assert caught.value.time == pytest.approx(np.sqrt(2.0 / G), abs=1e-9)


@pytest.mark.parametrize("options", ENDLESS_RUNS)
def test_hops_within_one_step_are_all_found(options):
    coarse = options | ({"step": 0.2} if "step" in options else {})
    stop = kt.Event(lambda t, q, v: t - 1.35, terminal=True, name="end")
    record = kt.simulate(balls(), [1.0], time=6.0, events=[bounce(), stop], **coarse)
    fall = np.sqrt(2.0 / G)
    expected = [t for t in (fall * (3.0 - 2.0 * 0.5**k) for k in range(20)) if t < 1.35]
    assert [e.time for e in record.events] == pytest.approx([*expected, 1.35], abs=1e-9)


@pytest.mark.parametrize("options", ENDLESS_RUNS)
def test_a_reset_that_lets_an_event_pass_happens_once(options):
    slow = kt.Event(lambda t, q, v: q[0] - 0.5, direction=-1, reset=lambda t, q, v: (q, 0.5 * v))
    record = kt.simulate(balls(), [1.0], time=0.6, events=slow, **options)
    assert len(record.events) == 1
    first, half = np.sqrt(1.0 / G), np.sqrt(G) / 2.0
    rest = 0.6 - first
    assert record.q[-1, 0] == pytest.approx(0.5 - half * rest - 0.5 * G * rest**2, abs=1e-9)


@pytest.mark.parametrize(
    ("direction", "speed", "times"), [(-1, -1.0, 1), (-1, 1.0, 0), (1, 1.0, 1), (1, -1.0, 0), (0, 1.0, 1), (0, 0.0, 1)]
)
def test_an_event_at_the_start_counts_if_it_goes_its_way(direction, speed, times):
    event = kt.Event(lambda t, q, v: q[0], direction=direction)
    record = kt.simulate(balls(), [0.0], [speed], time=0.1, events=event)
    assert [e.time for e in record.events] == [0.0] * times


def test_balls_on_the_floor_and_thrown_up_from_it_keep_apart():
    def hop(k):
        def reset(t, q, v):
            v[k] *= -0.5
            return q, v

        return kt.Event(lambda t, q, v: q[k], direction=-1, name=f"hop {k}", reset=reset, endless="stop")

    record = kt.simulate(balls(2), [0.0, 0.0], [1.0, 3.0], time=3.0, events=[hop(0), hop(1)])
    assert record.status == "stopped by hop 0"
    assert record.time[-1] == pytest.approx(2.0 * 2.0 / G, abs=1e-8)  # 2 v / g (1 + 1/2 + 1/4 + ...)
    assert [e.time for e in record.events if e.index == 1] == []  # the other one is still above
    assert record.q.min() > -1e-12


@pytest.mark.parametrize("samples", [None, 2, 77, np.array([0.0, 0.1, 0.10033, 0.25])], ids=str)
@pytest.mark.parametrize("kind", ["only noted", "reset", "terminal", "failing"])
def test_steps_taken_together_between_events_are_those_taken_one_by_one(kind, samples, monkeypatch):
    """Samples, events and the number of steps; those to the bit that are not beside the end of a step by rounding."""
    robot = kt.load("spatial-double-pendulum").with_backend("compiled")

    def angle(t, q, v):
        return np.nan if kind == "failing" and t > 0.2 else q[-1] - 0.35

    event = kt.Event(
        angle,
        name="angle",
        terminal=kind == "terminal",
        reset=(lambda t, q, v: (q, -0.9 * v)) if kind == "reset" else None,
    )

    def run():
        try:
            return kt.simulate(
                robot, [0.6, 0.2, 0.1, 0.3], [0.5, 1.0, 0.0, 1.0], time=0.4, integrator="rk4", step=1e-3,
                events=[event], samples=samples,
            )  # fmt: skip
        except kt.SimulationError as problem:
            return problem.record

    together = run()
    monkeypatch.setattr("kinetree.simulation.run.SmoothRun._pass_quiet_steps", lambda *_: False)
    apart = run()
    assert len(apart.events) >= 1
    assert [e.time for e in together.events] == [e.time for e in apart.events]
    assert together.status == apart.status
    assert together.info["steps"] == apart.info["steps"]
    assert np.array_equal(together.time, apart.time)
    rounding = 1e-13 if isinstance(samples, int) else 0.0
    for name in ("q", "v"):
        assert np.abs(getattr(together, name) - getattr(apart, name)).max() <= rounding, name
