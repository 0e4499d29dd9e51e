"""Thousands of damaged files, always the same ones: each ends in a result or in an error of kinetree's own, in time.

``make fuzz`` runs more of them, with other seeds.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import kinetree as kt
from fuzz.campaign import run
from fuzz.targets import TARGETS, Target

pytest.importorskip("pyarrow")
pytest.importorskip("mujoco")
TESTS = Path(__file__).parents[1]

GROUPS = (
    ["mjcf", "urdf", "sdf", "loops", "redysim", "par", "spatial_v2", "studies"],
    ["yaml", "dh", "csv", "npz", "mat", "parquet", "measured", "records"],
)
"""Each about as long as the other, for two processors."""


def test_every_target_is_in_a_group():
    assert sorted(name for group in GROUPS for name in group) == sorted(TARGETS)


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="needs alarms and limits of POSIX")
@pytest.mark.parametrize("names", GROUPS, ids="-".join)
def test_damaged_files_end_in_a_result_or_in_an_error_of_ours(names):
    """In a process of its own, in which a case that hangs or takes all memory does no harm."""
    environment = {
        **os.environ,
        "KINETREE_BACKEND": "reference",
        "PYTHONPATH": os.pathsep.join([str(TESTS), *sys.path]),
    }
    done = subprocess.run(
        [sys.executable, "-m", "fuzz", *names], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert sum(line.startswith(tuple(names)) for line in done.stdout.splitlines()) == len(names)


def _case(action):
    return Target("made up", lambda rng, folder: (b"content", action), 1)


def warn():
    np.array([1e308]) * 10


def foreign():
    raise ZeroDivisionError


def refuse():
    raise kt.OptionError("no")


def wait():
    while True:
        pass


@pytest.mark.skipif(os.name == "nt", reason="needs alarms of POSIX")
@pytest.mark.parametrize(
    ("action", "outcome", "faults"),
    [
        (lambda: None, "result", 0),
        (refuse, "OptionError", 0),
        (foreign, "foreign ZeroDivisionError", 1),
        (warn, "foreign RuntimeWarning", 1),
        (wait, "too long", 1),
    ],
)
def test_the_fuzzer_sees_what_is_wrong(action, outcome, faults, monkeypatch, tmp_path):
    monkeypatch.setattr("fuzz.campaign.LIMIT", 1)
    summary = run(_case(action), range(1), 0, tmp_path / "kept")
    assert dict(summary.outcomes) == {outcome: 1}
    assert len(summary.faults) == faults
    assert (tmp_path / "kept").exists() == bool(faults)


@pytest.mark.parametrize("name", TARGETS)
def test_a_case_is_found_again_by_its_number(name, tmp_path):
    first, again = (TARGETS[name].case(np.random.default_rng([3, 4]), tmp_path)[0] for _ in range(2))
    assert repr(first) == repr(again)
