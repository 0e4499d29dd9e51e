"""A second simulation that is set up alike traces nothing, gives the bits of a fresh one, and sees whatever changed."""

from __future__ import annotations

import dataclasses
import functools
import threading

import numpy as np
import pytest

import kinetree as kt
from kinetree.evaluation import law_kernels
from kinetree.robot.kept_programs import MOST_SET_UPS, kept_place

GOAL = kt.trajectories.Constant(np.full(6, 0.2))


def bits(record):
    return {name: getattr(record, name).tobytes() for name in ("t", "q", "v", "a", "tau", "friction", "contact_forces")}


def fresh(run):
    """Return what a run gives where nothing is kept."""
    kept_place.cache_clear()
    found = bits(run())
    kept_place.cache_clear()
    return found


@pytest.fixture
def traced(monkeypatch):
    """Names of laws that are traced."""
    names = []
    for maker in ("trace", "trace_stages"):
        original = getattr(law_kernels, maker)
        monkeypatch.setattr(law_kernels, maker, lambda *a, f=original, **k: names.append(f.__name__) or f(*a, **k))
    monkeypatch.setattr(
        law_kernels, "count_operations", lambda *a, f=law_kernels.count_operations: names.append("count") or f(*a)
    )
    kept_place.cache_clear()
    yield names
    kept_place.cache_clear()


def arm(**options):
    return kt.simulate(
        kt.load("kuka-kr5").with_backend("compiled"),
        np.full(6, 0.1),
        time=0.01,
        **({"integrator": "rk4", "step": 1e-3} | options),
    )


def ball(**options):
    robot = kt.Builder("ball").body("ball", "base", kt.Free(), mass=1.0, inertia=(0.1, 0.1, 0.1)).build()
    given = {"integrator": "implicit_euler", "step": 1e-3, "forces": [kt.forces.PointSpring("base", "ball", 5.0)]}
    robot = robot.with_backend("compiled")
    return kt.simulate(robot, [0, 0, 0, 1, 0.3, 0, 0.1], time=0.02, **(given | options))


@functools.cache
def linkage():
    return kt.load("four-bar").with_backend("compiled")


def four_bar(**options):
    robot = linkage()
    start = None if "prescribed" in options else robot.assembled()
    return kt.simulate(robot, start, time=0.02, **({"integrator": "rk4", "step": 1e-3} | options))


def ground(stiffness):
    surface = kt.ground.Plane((0.0, 0.0, 0.101))
    return kt.ground.Ground(["ball"], kt.ground.HuntCrossley(stiffness, 0.5), surface=surface)


ALIKE = {
    "alone": lambda x: arm(),
    "adaptive": lambda x: arm(integrator="dop853", step=None),
    "other gains": lambda x: arm(controller=kt.control.PD(GOAL, 0.1 * x, 1e-5)),
    "one gain per joint": lambda x: arm(controller=kt.control.PD(GOAL, np.full(6, 0.1 * x), 1e-5)),
    "several controllers": lambda x: arm(
        controller=kt.control.GravityCompensation() + kt.control.PD(GOAL, 0.1 * x, 1e-5)
    ),
    "a computed torque": lambda x: arm(controller=kt.control.ComputedTorque(GOAL, kp=100.0 * x, kd=20.0)),
    "a sampled controller": lambda x: arm(
        controller=kt.control.Sampled(kt.control.PD(GOAL, 0.1 * x, 1e-5), period=2e-3)
    ),
    "a function of arrays": lambda x: arm(controller=lambda t, q, v: -1e-5 * x * v),
    "a sampled function of arrays": lambda x: arm(
        controller=kt.control.Sampled(lambda t, q, v: -1e-5 * x * v, period=2e-3)
    ),
    "other masses": lambda x: arm(parameters={"bodies": {"link_3": {"mass": 5.0 * x}}}),
    "another ground and spring": lambda x: ball(
        ground=ground(1e4 * x), forces=[kt.forces.PointSpring("base", "ball", 5.0 * x)]
    ),
    "a trajectory that joints follow": lambda x: arm(
        prescribed=kt.trajectories.Cycloid(np.full(6, 0.1), np.full(6, 0.2), 1.0)
    ),
    "loops": lambda x: four_bar(),
    "loops that drift": lambda x: four_bar(drift=kt.Baumgarte(0.1)),
    "driven loops": lambda x: four_bar(prescribed={"crank_joint": kt.trajectories.Cycloid([0.0], [0.5], 1.0).held()}),
    "generalized alpha": lambda x: four_bar(integrator="generalized_alpha"),
}


@pytest.mark.parametrize("name", ALIKE)
def test_nothing_is_traced_that_differs_in_numbers_only(traced, name):
    run = ALIKE[name]
    run(1.0)
    assert traced, "the first has to be"
    traced.clear()
    again, other = bits(run(1.0)), bits(run(1.5))
    assert not traced
    assert again == fresh(lambda: run(1.0))
    assert other == fresh(lambda: run(1.5))


class Held:
    """A law of a user's own, with numbers of its own."""

    def __init__(self, stiffness):
        self.stiffness = stiffness

    def law(self, tree, t, q, v, z):
        return [-self.stiffness * x for x in q], []


@dataclasses.dataclass(frozen=True, eq=False)
class Spring(kt.forces.ForceElement):
    """A force of a user's own that reads what it was not given."""

    def act(self, on):
        on.drive(on.coordinate("joint_1"), -RATE["spring"])


RATE = {"spring": 1.0}


def test_what_users_write_is_seen_as_it_is_now():
    """Equal objects may answer otherwise: closures, globals, attributes, tables that were written to."""
    strength = 1.0

    def push(t, q, v):
        return [strength, *(0.0 for _ in v[1:])]

    held, table = Held(1.0), np.array([[0.0] * 6, [1.0] + [0.0] * 5])
    laws = {
        "closure": lambda: arm(controller=law),
        "force": lambda: arm(forces=[push]),
        "global": lambda: arm(forces=[Spring()]),
        "attribute": lambda: arm(controller=held),
        "array": lambda: arm(controller=kt.control.TorqueTable([0.0, 1.0], table, hold=True)),
        "driven": lambda: four_bar(prescribed={"crank_joint": lambda t: strength * t}),
        "ground": lambda: ball(
            ground=kt.ground.Ground(
                ["ball"],
                kt.ground.HuntCrossley(1e4, 0.5),
                surface=kt.ground.HeightField(lambda x, y: 0.1 + 1e-3 * strength),
            )
        ),
    }
    law = kt.control.Law(push)
    kept_place.cache_clear()
    before = {name: bits(run()) for name, run in laws.items()}
    strength = RATE["spring"] = held.stiffness = table[1, 0] = 2.0
    try:
        for name, run in laws.items():
            after = bits(run())
            assert after != before[name], name
            assert after == fresh(run), name
    finally:
        RATE["spring"] = 1.0


def test_other_options_are_other_programs():
    options = [
        {}, {"friction": False}, {"friction_speed": 1e-3}, {"works": False}, {"method": "composite_body"},
        {"integrator": "euler"}, {"controller": kt.control.PD(kt.trajectories.Constant(np.full(6, 0.3)), 0.1, 1e-5)},
        {"controller": kt.control.PD(GOAL, 0.1, 1e-5)}, {"parameters": {"bodies": {"link_3": {"mass": 5.0}}}},
        {"controller": kt.control.PD(GOAL, 0.1, 1e-5) + kt.control.GravityCompensation()},
    ]  # fmt: skip
    kept_place.cache_clear()
    kept = [bits(arm(**given)) for given in options]
    for given, found in zip(options, kept, strict=True):
        assert found == fresh(lambda given=given: arm(**given))


def test_few_are_kept():
    assert kept_place.cache_info().maxsize == MOST_SET_UPS
    pendulum = kt.Builder("pendulum").body("bob", "base", kt.Revolute("y"), mass=1, com=(0, 0, -1)).build()
    for k in range(MOST_SET_UPS + 5):
        kt.simulate(pendulum, [0.1], time=0.01, friction_speed=0.01 * (k + 1))
    assert kept_place.cache_info().currsize == MOST_SET_UPS


def test_several_threads_set_up_alike():
    run = lambda x: bits(arm(controller=kt.control.PD(GOAL, x, 1e-5)))  # noqa: E731
    alone = [run(0.1 * k) for k in range(6)]
    kept_place.cache_clear()
    found = [None] * 6

    def work(k):
        found[k] = run(0.1 * k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == alone
