"""Errors: names that were meant are suggested."""

from __future__ import annotations

import difflib
import inspect
import pickle

import pytest

import kinetree as kt
from kinetree.errors import Message, Setting, explains_arguments, nearest
from kinetree.robot.platform import Platform

TALOS = ["leg_left_6_joint", "leg_left_6_link", "left_sole_link", "right_sole_link", "arm_left_1_joint", "base_link"]


@pytest.mark.parametrize(
    ("name", "known", "meant"),
    [
        ("bse", ["base", "base", "arm"], ["base"]),
        ("lenght", ["placement", "mass", "inertia", "upper", "lower"], []),
        ("nothing", ["chain", "four-bar", "swing"], []),
        ("left_foot", TALOS, ["left_sole_link"]),
        ("LEFT_SOLE_LINK", TALOS, ["left_sole_link"]),
        ("base_lnk", TALOS, ["base_link"]),
        ("elbow", ["left_elbow_joint", "wrist"], ["left_elbow_joint"]),
        ("rk5", ["rk4", "rk45", "radau"], ["rk45"]),
        ("", ["a", "b"], []),
    ],
)
def test_suggestions(name, known, meant):
    assert nearest(name, known) == meant
    told = str(kt.UnknownNameError("thing", name, known))
    assert told.startswith(f"no thing named {name!r}; ")
    assert ("did you mean" in told) == bool(meant)
    assert all(told.count(repr(m)) == 1 for m in meant)
    if not meant:
        assert f"known: {', '.join(known)}" in told


def test_few_of_many_names_are_compared_letter_by_letter(monkeypatch):
    compared = []
    monkeypatch.setattr(difflib, "SequenceMatcher", counting(difflib.SequenceMatcher, compared))
    names = [f"link_{k}" for k in range(20_000)]
    assert nearest("lynk_12345", names, 1) == ["link_12345"]
    assert nearest("xlink_777", names, 1) == ["link_777"]
    assert len(compared) <= 1000
    assert nearest("a" * 100_000 + "b", ["a" * 100_000 + "c", "d"]) == ["a" * 100_000 + "c"]
    assert max(len(a) for a in compared) <= 100


def test_names_are_compared_only_for_those_who_read_the_message(monkeypatch):
    with monkeypatch.context() as forbidding:
        forbidding.setattr(difflib, "SequenceMatcher", None)
        assert not hasattr(kt, "__wrapped__")
        assert not hasattr(kt, "simulat")
        with pytest.raises(AttributeError) as caught:
            _ = kt.simulat
    told = "module 'kinetree' has no attribute 'simulat'; did you mean simulate or Simulator?"
    assert str(caught.value) == told
    assert repr(caught.value) == f'AttributeError("{told}")'
    assert pickle.loads(pickle.dumps(caught.value)).args == (told,)


def counting(matcher, compared):
    def made(junk, a, b, **options):
        compared.append(a)
        return matcher(junk, a, b, **options)

    return made


GOAL = kt.trajectories.Constant([0.0])
ROBOT = kt.Builder("pendulum").body("bob", "base", kt.Revolute("y"), mass=1, com=(0, 0, -1)).build()

ARGUMENTS = [
    (lambda: kt.simulate("kuka-kr5", T=1), "simulate() has no argument 'T'; did you mean 'time'?"),
    (lambda: kt.simulate("kuka-kr5", duration=1), "did you mean 'time'?"),
    (lambda: kt.simulate("kuka-kr5", time=1, dt=0.1), "did you mean 'step'?"),
    (lambda: kt.simulate("kuka-kr5"), "simulate() needs time=..."),
    (lambda: kt.simulate("kuka-kr5", 1, 2, 3), "takes 3 arguments by their place (robot, q0, v0), and was given 4"),
    (lambda: kt.simulate("kuka-kr5", robot=1, time=1), "'robot' twice"),
    (lambda: kt.control.PD(GOAL, Kp=1, kd=1), "PD() has no argument 'Kp'; did you mean 'kp'?"),
    (lambda: kt.control.Sampled(GOAL, perid=1), "did you mean 'period'?"),
    (lambda: kt.control.lqr(None, [0.0], Q=1), "did you mean 'positions' or 'velocities'?"),
    (lambda: kt.forces.JointSpring("elbow", k=3), "did you mean 'stiffness'?"),
    (lambda: kt.sweep("kuka-kr5", {"gravity.z": [1.0]}, tim=3), "sweep() has no argument 'tim'; did you mean 'time'?"),
    (lambda: kt.view("kuka-kr5", prt=0), "view() has no argument 'prt'; did you mean 'port'?"),
    (lambda: kt.from_dh([], degree=True), "from_dh() has no argument 'degree'; did you mean 'degrees'?"),
    (lambda: kt.Revolute(axi="y"), "Revolute() has no argument 'axi'; did you mean 'axis'?"),
    (lambda: kt.Builder(gravty=(0, 0, 0)), "Builder() has no argument 'gravty'; did you mean 'gravity'?"),
    (lambda: kt.Builder("b").loop("pin"), "loop() needs predecessor=... and successor=... and joint=..."),
    (lambda: ROBOT.cost(), "cost() needs name=..."),
    (lambda: ROBOT.inverse_dynamics([0.0], [0.0]), "inverse_dynamics() needs a=..."),
    (lambda: ROBOT.inverse_dynamics([0.0], [0.0], [0.0], paramters=1), "did you mean 'parameters'?"),
    (lambda: ROBOT.with_backend("reference").gravity_force([0.0], thread=2), "did you mean 'threads'?"),
    (lambda: kt.Record.load(), "load() needs path=..."),
    (lambda: kt.World(ROBOT, 1), "World() takes 1 argument by its place (robot), and was given 2"),
    (lambda: kt.Mechanism(), "Mechanism() needs model=..."),
    (lambda: kt.Mechanism.driven_motion(None), "driven_motion() needs "),
]


@pytest.mark.parametrize(("call", "said"), ARGUMENTS)
def test_misspelt_arguments_are_told_by_name(call, said):
    with pytest.raises(kt.ArgumentError) as caught:
        call()
    assert said in str(caught.value)
    assert caught.value.__context__ is None  # Python's own words are not shown above


def test_arguments_explained_keep_signatures_and_errors_of_the_inside():
    @explains_arguments
    def double(number: float, *, times: int = 2) -> float:
        """Multiply."""
        return number * times

    assert list(inspect.signature(double).parameters) == ["number", "times"]
    assert (double.__doc__, double(3.0, times=4)) == ("Multiply.", 12.0)
    with pytest.raises(TypeError, match="unsupported operand") as caught:
        double({}, times={})  # type: ignore[arg-type]
    assert not isinstance(caught.value, kt.KinetreeError)
    assert pickle.loads(pickle.dumps(kt.simulate)) is kt.simulate
    assert pickle.loads(pickle.dumps(kt.Robot.cost)) is kt.Robot.cost
    assert list(inspect.signature(kt.Robot.cost).parameters) == ["self", "name", "options"]


HELD = [kt.Robot, kt.Mechanism, Platform, kt.Record, kt.World, kt.Builder, kt.Simulator, kt.Identified, kt.Measured]


@pytest.mark.parametrize("held", HELD, ids=lambda kind: kind.__name__)
def test_public_methods_of_what_users_hold_refuse_arguments_in_words(held):
    for name, method in inspect.getmembers(held, inspect.isfunction):
        free = any(p.kind is p.VAR_KEYWORD for p in inspect.signature(method).parameters.values())
        if name.startswith("_") or free:
            continue
        with pytest.raises(kt.ArgumentError, match=rf"{name}\(\) has no argument 'surely_not'"):
            method(None, surely_not=1)


@pytest.mark.parametrize(
    "room", [kt.control, kt.forces, kt.trajectories], ids=lambda module: module.__name__.rpartition(".")[2]
)
def test_what_users_make_refuses_arguments_in_words(room):
    told = {"ActingElement", "Gains", "Observer", "PROFILES"}  # bases without anything to give, tuples, and a table
    for name in set(room.__all__) - told:
        with pytest.raises(kt.ArgumentError, match="has no argument 'surely_not'"):
            getattr(room, name)(surely_not=1)


@pytest.mark.parametrize(
    "error",
    [
        kt.UnknownNameError("joint", "elbw", ["elbow"]),
        kt.FileFormatError("no link", "a.urdf", 7),
        kt.SimulationError("it stops", 1.5, "elbow"),
        kt.PathError("not so far", 3, "a stop"),
        kt.NoLoopsError("arm", "close"),
        kt.TrajectoryError("too late", 2.0),
        kt.OptionError(Message("take ", Setting("step", 1e-3))),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_come_back_from_other_processes_as_they_were(error):
    found = pickle.loads(pickle.dumps(error))
    assert type(found) is type(error)
    assert (str(found), found.args, vars(found)) == (str(error), error.args, vars(error))
