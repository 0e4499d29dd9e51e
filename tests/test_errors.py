"""Errors: names that were meant are suggested."""

from __future__ import annotations

import difflib

import pytest

import kinetree as kt
from kinetree.errors import nearest

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


def counting(matcher, compared):
    def made(junk, a, b, **options):
        compared.append(a)
        return matcher(junk, a, b, **options)

    return made
