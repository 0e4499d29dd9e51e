"""Messages of the library in the words of the command line and of files."""

from __future__ import annotations

import pickle

import pytest

import kinetree as kt
from kinetree.cli.app import COMMANDS, imported
from kinetree.cli.error_wording import as_keys, as_options, worded
from kinetree.errors import Message, Setting, message_of

RUN, SIMULATE = (imported(command) for command in COMMANDS if command.name in ("run", "simulate"))


@pytest.mark.parametrize(
    ("setting", "command", "python", "typed"),
    [
        (Setting("pictures", False), RUN, "pictures=False", "--no-pictures"),
        (Setting("quick", False), RUN, "quick=False", "no --quick"),
        (Setting("quick", True), RUN, "quick=True", "--quick"),
        (Setting("step", 0.5), SIMULATE, "step=0.5", "--step 0.5"),
        (Setting("step", "a b"), SIMULATE, "step='a b'", "--step a b"),
        (Setting("step", -1e-3), SIMULATE, "step=-1e-3", "--step -1e-3"),
        (Setting("step", ...), SIMULATE, "step=...", "--step ..."),
        (Setting("largest_step"), SIMULATE, "largest_step", "--largest-step"),
        (Setting("integrator", "radau", "bdf"), SIMULATE, "integrator='radau' or 'bdf'", "--integrator radau or bdf"),
        (Setting("robot", ...), SIMULATE, "robot=...", "robot=..."),
        (Setting("integrator", "radau"), None, "integrator='radau'", "integrator='radau'"),
    ],
)
def test_a_setting_is_written_as_it_is_typed(setting, command, python, typed):
    problem = kt.OptionError(Message("use ", setting, "."))
    assert str(problem) == f"use {python}."
    assert worded(problem, as_options(command)) == f"use {typed}."


def test_a_setting_is_written_as_a_file_has_it():
    integrator, friction = Setting("integrator", "radau", "bdf"), Setting("friction", False)
    problem = kt.OptionError(Message("use ", integrator, ", ", friction, ", ", Setting("quick", True)))
    assert worded(problem, as_keys(["integrator", "friction"], as_options(RUN))) == (
        "use integrator: radau or bdf, friction: false, --quick"
    )


@pytest.mark.parametrize("text", ["--q0: not 'step=3'", "rtol must be", "use integrator='radau'"])
def test_words_that_only_look_like_settings_stay_as_they_are(text):
    assert worded(kt.OptionError(text), as_options(SIMULATE)) == text
    assert worded(OSError(2, "no such file"), as_options(SIMULATE)) == "[Errno 2] no such file"


def test_settings_survive_what_is_put_around_them():
    inner = Message("use ", Setting("step", ...))
    for problem, before in (
        (kt.SimulationError(inner, 1.5), "at t = 1.5 s: "),
        (kt.FileFormatError(inner, "robot.yaml", 3), "robot.yaml, line 3: "),
        (kt.OptionError(Message("so: ", message_of(kt.UnsupportedError(inner)))), "so: "),
        (pickle.loads(pickle.dumps(kt.OptionError(inner))), ""),
    ):
        assert str(problem) == f"{before}use step=..."
        assert worded(problem, as_options(SIMULATE)) == f"{before}use --step ..."


def test_a_start_inside_the_ground_is_worded_from_its_fields():
    warning = kt.ContactWarning("a foot is inside", ("root.z", 6, 0.5))
    assert str(warning) == "a foot is inside: start higher, with root.z (q0[6]) at 0.5"
    assert worded(warning, str) == "a foot is inside: start higher, --q0 root.z=0.5"
    assert worded(kt.ContactWarning("a foot is inside"), str) == "a foot is inside: start above the ground, --q0"
