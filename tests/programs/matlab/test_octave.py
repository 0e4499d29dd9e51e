"""Octave as the judge: of our programs, of real folders of ReDySim where these are, and of damaged programs."""

from __future__ import annotations

import os
import shutil

import numpy as np
import pytest

from helpers.matlab_mutations import mutated
from helpers.matlab_programs import OUTPUTS, PROGRAMS, arguments
from helpers.octave import OCTAVE, Asked, answers
from helpers.redysim_folders import VARIABLE, folders, opened, random_arguments
from kinetree.errors import KinetreeError
from kinetree_programs.matlab import MatlabFolder

pytestmark = [pytest.mark.skipif(OCTAVE is None, reason="Octave is not installed"), pytest.mark.xdist_group("octave")]

MUTATIONS = int(os.environ.get("KINETREE_MUTATIONS", "150"))
"""Of each program; what runs elsewhere may ask for more."""

AT_ONCE = 50
"""Programs that one Octave is asked for: one that does not end takes the others with it."""


def as_given(x):
    x = np.asarray(x, dtype=float)
    return float(x) if x.ndim == 0 else [[float(v)] for v in x] if x.ndim == 1 else x.tolist()


def compared(folder, asked, answer):
    """Return how our result stands to Octave's: ``same``, an error of one or both, or what is different."""
    try:
        found = folder.call(asked.function, [as_given(x) for x in asked.arguments], asked.outputs)
    except KinetreeError as problem:
        return (
            "error of both" if isinstance(answer, str) else "Octave stopped" if answer is None else f"ours: {problem}"
        )
    if answer is None:
        return "Octave stopped"
    if answer == "kind" and any(not hasattr(value, "numbers") for value in found):
        return "same"  # a struct or a text, of which Octave is not asked more
    if isinstance(answer, str):
        return f"WRONG: Octave says {answer!r}"
    for value, expected in zip(found, answer, strict=True):
        mine = value.numbers().data if hasattr(value, "numbers") else np.zeros((0, 0))
        if mine.size == 0 == expected.size:
            continue  # Octave counts the columns of what is empty otherwise than MATLAB does
        if mine.shape != expected.shape:
            return f"WRONG: shape {mine.shape}, Octave has {expected.shape}"
        size = max(1.0, float(np.abs(expected[np.isfinite(expected)]).max(initial=0.0)))
        if not np.allclose(mine, expected, rtol=1e-12, atol=1e-12 * size, equal_nan=True):
            return f"WRONG: by {np.nanmax(np.abs(mine - expected)) / size:.1e}"
    return "same"


def test_programs_agree():
    asked = [Asked(name, [np.asarray(x) for x in arguments(name, k)], n) for name, n in OUTPUTS.items() for k in (7, 8)]
    folder = MatlabFolder(PROGRAMS)
    for one, answer in zip(asked, answers([PROGRAMS], asked), strict=True):
        assert compared(folder, one, answer) == "same", one


@pytest.mark.slow
@pytest.mark.parametrize("name", OUTPUTS)
def test_damaged_programs_agree_or_are_refused(name, tmp_path):
    text = (PROGRAMS / f"{name}.m").read_text()
    judge_mutations(tmp_path, name, text, arguments(name, 1), OUTPUTS[name])


def judge_mutations(place, name, text, given, outputs):
    begin = int(os.environ.get("KINETREE_SEED", "0")) * 1_000_000
    for k in range(MUTATIONS):
        (place / f"damaged_{k}.m").write_text(mutated(text, begin + k))
    asked = [Asked(f"damaged_{k}", [np.asarray(x) for x in given], outputs) for k in range(MUTATIONS)]
    found = []
    folder = MatlabFolder(place)
    for first in range(0, MUTATIONS, AT_ONCE):
        some = asked[first : first + AT_ONCE]
        found += [compared(folder, *pair) for pair in zip(some, answers([place], some, 20.0), strict=True)]
    wrong = {f"{name} {begin + k}": words for k, words in enumerate(found) if words.startswith("WRONG")}
    print({words.split(":")[0]: sum(w.split(":")[0] == words.split(":")[0] for w in found) for words in found})
    assert not wrong, wrong
    assert sum(words == "same" for words in found) > 0.05 * MUTATIONS


# ---------------------------------------------------------------- real folders

needs_folders = pytest.mark.skipif(not folders(), reason=f"{VARIABLE} names no folders of ReDySim")


def functions_of(folder):
    """Return the functions of a folder that have numbers in and out."""
    names = sorted({p.stem for place in folder.places for p in place.glob("*.m")})
    found = []
    for name in names:
        try:
            if folder.outputs_of(name):
                found.append(name)
        except KinetreeError:
            continue
    return found


@needs_folders
@pytest.mark.slow
@pytest.mark.parametrize("path", folders(), ids=lambda p: "-".join(p.parts[-3:]))
def test_functions_of_real_folders_agree(path):
    folder, dice = opened(path), np.random.default_rng(0)
    asked = []
    for name in functions_of(folder):
        count = len(folder.outputs_of(name))
        for _ in range(100 if folder.inputs_of(name) else 1):
            given = random_arguments(folder, name, dice)
            if given is not None:
                asked.append(Asked(name, given, count))
    found = [compared(folder, *pair) for pair in zip(asked, answers(folder.places, asked, 300.0), strict=True)]
    other = {
        (a.function, words) for a, words in zip(asked, found, strict=True) if words not in ("same", "error of both")
    }
    assert not other
    assert found.count("same") > 0.3 * len(found)


@needs_folders
@pytest.mark.slow
@pytest.mark.parametrize("path", folders()[::3], ids=lambda p: "-".join(p.parts[-3:]))
def test_damaged_files_of_real_folders_agree_or_are_refused(path, tmp_path):
    folder, dice = opened(path), np.random.default_rng(0)
    for name in ("trajectory", "torque", "jacobian", "inv_kine", "initials"):
        file = folder.find(f"{name}.m")
        given = None if file is None else random_arguments(folder, name, dice)
        if file is None or given is None:
            continue
        place = tmp_path / name
        place.mkdir()
        for other in (p for known in reversed(folder.places) for p in known.iterdir() if p.suffix in (".m", ".mat")):
            shutil.copy(other, place)  # into a temporary folder, for Octave
        count, outputs = MUTATIONS // 5, len(folder.outputs_of(name))
        for k in range(count):
            (place / f"damaged_{k}.m").write_text(mutated(file.read_text("latin-1").replace("\r", ""), k), "latin-1")
        asked = [Asked(f"damaged_{k}", given, outputs) for k in range(count)]
        copied = MatlabFolder(place)
        found = [compared(copied, *pair) for pair in zip(asked, answers([place], asked, 30.0), strict=True)]
        wrong = {f"{name} {k}": words for k, words in enumerate(found) if words.startswith("WRONG")}
        assert not wrong, wrong
