"""Whatever a public function, class or method is given: an answer, or an error of ours that says what is wrong."""

from __future__ import annotations

import collections
import inspect
import pickle
import random
import signal
import warnings
import zlib
from collections.abc import Iterable

import numpy as np
import pytest

import kinetree as kt
from helpers.public_surface import HOOKS, Trial, arm, public_callables, public_methods, trials
from kinetree.errors import EXPLAINED, explain_public, explains_arguments

SECONDS = 30.0
"""What one call may take, on a busy machine: none of them should be noticed."""

PARTS = 12


class Hang(BaseException):
    """Not an Exception, so that nobody catches it on the way."""


def outcome(trial: Trial) -> str | None:
    """Return what is wrong with how an odd call ends; None if nothing is."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", np.exceptions.ComplexWarning)  # half of a number thrown away
            trial.called(*trial.args, **trial.named)
    except kt.KinetreeError as problem:
        return None if str(problem) else f"{trial}: says nothing"
    except Hang:
        return f"{trial}: does not end"
    except Exception as problem:
        return f"{trial}: {type(problem).__name__}: {problem}"
    return None


def problems(chosen: Iterable[Trial]) -> list[str]:
    def too_long(*_: object) -> None:
        raise Hang

    before = signal.signal(signal.SIGALRM, too_long)
    found = []
    try:
        for trial in chosen:
            signal.setitimer(signal.ITIMER_REAL, SECONDS)
            found.append(outcome(trial))
            signal.setitimer(signal.ITIMER_REAL, 0.0)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    return [said for said in found if said is not None]


def surface() -> list[tuple[str, object, object]]:
    functions = [(path, called, None) for path, called in public_callables().items() if not path.startswith("kt.view.")]
    return functions + [(path, bound, owner) for path, (owner, bound) in public_methods().items()]


needs_alarms = pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="without alarms a call that hangs is not told")


@needs_alarms
@pytest.mark.slow
@pytest.mark.parametrize("every", [5, pytest.param(1, marks=pytest.mark.thorough)])
@pytest.mark.parametrize("part", range(PARTS))
def test_odd_arguments_end_in_an_answer_or_in_an_error_of_ours(part, every, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    chosen = [trial for path, called, owner in surface()[part::PARTS] for trial in trials(path, called, owner)]
    chosen = chosen[part % every :: every]
    assert len(chosen) > 1000 / every
    found = problems(chosen)
    assert not found, "\n".join(found)


@needs_alarms
def test_some_odd_arguments_of_every_function_and_class(tmp_path, monkeypatch):
    """Two of each, others than yesterday's only where the function changed: the rest is in the slow tests."""
    monkeypatch.chdir(tmp_path)
    chosen = []
    for path, called, owner in surface():
        if path.startswith("kt.") and not path.startswith(("kt.c_code", "kt.identif", "kt.sweep", "kt.symbolic")):
            several = list(trials(path, called, owner))
            chosen += random.Random(zlib.crc32(path.encode())).sample(several, min(2, len(several)))
    assert len(chosen) > 350
    found = problems(chosen)
    assert not found, "\n".join(found)


def test_everything_public_is_explained():
    """What is written next is covered by the tables of names, nobody has to think of it."""
    for path, called in public_callables().items():
        target = called.__init__ if isinstance(called, type) else called
        assert hasattr(target, EXPLAINED), path
    for path, (owner, _) in public_methods().items():
        method = inspect.getattr_static(type(owner), path.partition(".")[2])
        target = getattr(method, "__func__", getattr(method, "method", method))
        assert hasattr(target, EXPLAINED), path


def test_reasons_not_to_call_have_a_need():
    held = {path.partition(".")[0] for path in public_methods()}
    assert {path.partition(".")[0] for path in HOOKS} <= held


# ------------------------------------------------------------------ the rule


def needs_a_number(length: float, names: list[str] | None = None, law: object = None) -> float:
    """Fail in many ways."""
    if names is not None:
        return len(names[0])
    if callable(law):
        return law(length)
    if length == 7.0:
        raise ZeroDivisionError("an error of ours")
    return 2.0 * length.real


@pytest.fixture
def ours():
    """A function that is kinetree's own, as far as frames can tell."""
    text = inspect.getsource(needs_a_number)
    module = {"__name__": "kinetree.made_up"}
    exec("from __future__ import annotations\n" + text, module)
    return explains_arguments(module["needs_a_number"])


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ({"length": "long"}, r"needs_a_number\(\): length must be a number, not 'long'"),
        ({"length": None}, "length must be a number, not None"),
        ({"length": 1.0, "names": {3}}, r"names must be a list \(each text\) or None, not \{3\}"),
        ({"length": 1.0, "names": [3]}, r"names must be a list \(each text\) or None, not \[3\]"),
    ],
)
def test_what_is_of_the_wrong_kind_is_named(ours, named, said):
    with pytest.raises(kt.OptionError, match=said) as caught:
        ours(**named)
    assert isinstance(caught.value.__cause__, (TypeError, AttributeError))


def test_an_error_of_ours_is_not_blamed_on_good_arguments(ours):
    with pytest.raises(ZeroDivisionError, match="an error of ours"):
        ours(7.0)
    assert ours(np.float32(1.5)) == 3.0


def test_short_names_for_several_kinds_are_not_judged(ours):
    for annotation, given in (("Wrenches", {}), ("Given", {"a": 1}), ("SurelyNoClass", 3)):
        inspect.unwrap(ours).__annotations__["length"] = annotation
        with pytest.raises((AttributeError, TypeError), match="real"):
            ours(given if annotation != "SurelyNoClass" else "x")
    inspect.unwrap(ours).__annotations__["length"] = "Robot"
    with pytest.raises(kt.OptionError, match="length must be a Robot, not 'x'"):
        ours("x")


def test_errors_of_users_functions_come_through(ours):
    def law(length):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        ours("long", law=law)
    for run in (
        lambda: kt.simulate(arm(), time=0.01, controller=lambda t, q, v: {}["mine"], integrator="rk4", step=1e-3),
        lambda: kt.trajectories.Function(lambda t: {}["mine"])(0.0),
    ):
        with pytest.raises((KeyError, kt.KinetreeError), match="mine"):
            run()


def test_a_function_that_cannot_be_called_as_it_has_to_be_is_told():
    with pytest.raises(kt.KinetreeError, match=r"function.* 3 argument|takes 0 positional"):
        kt.control.Law(lambda: [0.0])(arm(), 0.0, [0.0, 0.0], [0.0, 0.0])


def test_functions_of_users_are_kept_apart_from_those_inside():
    assert pickle.loads(pickle.dumps(kt.equilibrium)) is kt.equilibrium
    assert pickle.loads(pickle.dumps(kt.cos)) is kt.cos
    assert not hasattr(kt.spatial.cos, "__wrapped__")  # which algorithms are traced with
    assert kt.spatial.cos(0.0) == kt.cos(0.0) == 1.0


MENDED = [
    (lambda: kt.control.luenberger(3, [0.0], period=0.1, bandwidth=1.0), "robot must be a Robot"),
    (lambda: kt.exciting_motion("x"), "robot must be a Robot, not 'x'"),
    (lambda: kt.ground.HuntCrossley(1j, 0.5), "HuntCrossley: stiffness must be finite and positive, got 1j"),
    (lambda: kt.ground.PseudoCoulomb("x"), "PseudoCoulomb: friction must be finite"),
    (lambda: kt.forces.JointSpring("elbow", 10**400), "JointSpring: stiffness must be"),
    (lambda: kt.Revolute(10**400), "must be three numbers"),
    (lambda: kt.trajectories.Joined([], parts=1), "twice"),
    (lambda: kt.trajectories.Piecewise(surely=1), "Piecewise.. has no argument 'surely'"),
    (lambda: kt.trajectories.Trajectory(1), "Trajectory.. takes no argument by place"),
    (lambda: kt.walking.support_margin((0.0, 0.0), np.zeros((2, 3, 4))), r"corners \(k, 2\) or more, got"),
    (lambda: kt.costs.general_chain("revolute", 10**400), "joints must be a whole number from 1 to 10000"),
    (lambda: kt.gallery.four_bar_chain(10**400), "the number of cells must be a whole number"),
    (lambda: arm().codegen(states=10**400), "at least one state, and at most 10000"),
    (lambda: arm().random_configuration(-1), "rng must be a numpy.random.Generator or a seed from 0, not -1"),
    (lambda: kt.cos("x"), "cos.*: x must be a number, not 'x'"),
    (lambda: kt.logical_and(float("nan")), "conditions must be a condition"),
]


@pytest.mark.parametrize(("call", "said"), MENDED)
def test_what_ended_in_errors_of_others_crashes_or_never(call, said):
    with pytest.raises(kt.KinetreeError, match=said):
        call()


def test_names_that_a_module_offers_are_listed():
    assert explain_public("kinetree.motion.trajectories")() == sorted(kt.trajectories.__all__)
    assert collections.Counter(dir(kt.ground)) == collections.Counter(kt.ground.__all__)
