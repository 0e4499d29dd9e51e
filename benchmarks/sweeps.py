"""Sweeps: designs and walks a second, what a task costs other processes, what goes to and fro, and memory.

Wall clock of a whole sweep, files included; tasks that cost nothing show what handing out takes.
"""

from __future__ import annotations

import pickle
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import kinetree as kt
from kinetree_sweeps.designs import DesignRows
from kinetree_sweeps.running import remote_part, run
from kinetree_sweeps.study_file import read_sweep

from .timing import Table

EXAMPLES = Path(__file__).parents[1] / "examples"
DESIGNS, WALKS, TASKS = 100_000, 10_000, 400


def nothing(p):
    """A study that costs nothing."""
    return {"same": p["x"]}


def sweeps(rounds: int) -> Iterator[Table]:
    """Rates of the two sweeps of the documentation, in one process, files included; then what tasks cost."""
    sys.path.insert(0, str(EXAMPLES))
    import four_bar_designs

    table = Table("Sweeps in one process, files written", ("", "rows", "seconds", "rows/s", "peak MB"))
    four_bar_designs.main(samples=64, workers=0, progress=False)  # compiles
    found = four_bar_designs.main(samples=DESIGNS, workers=0, progress=False)
    table.add("four-bar designs, 61 samples of a turn each", DESIGNS, found.seconds, DESIGNS / found.seconds, _memory())
    plan = read_sweep(EXAMPLES / "walks.yaml")
    walks = run(plan.study, plan.design, workers=0, progress=False)
    table.add("walks of 1 s, 4000 steps of rk4", walks.rows, walks.seconds, walks.rows / walks.seconds, _memory())
    yield table
    yield _tasks()


def _memory() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _tasks() -> Table:
    """What a task costs whoever hands them out: everything but the work."""
    from kinetree_sweeps.running import pickled
    from kinetree_sweeps.studies import FunctionStudy

    table = Table(
        "What a part of 1000 rows of 3 parameters costs the process that hands out and writes, beside the work: its\n"
        "processor time",
        ("", "ms/part", "kB out", "kB back"),
    )
    rows = DesignRows(0, {name: np.random.default_rng(0).uniform(size=1000) for name in "xyz"})
    blob = pickled(FunctionStudy(nothing))
    assert blob is not None
    sent, back = len(blob) + len(pickle.dumps(rows)), len(pickle.dumps(remote_part(blob, rows)))
    with tempfile.TemporaryDirectory() as folder:
        given = {name: kt.Uniform(0.0, 1.0) for name in "xyz"}
        options = {"samples": 1000 * TASKS, "rows_per_part": 1000, "workers": 2, "progress": False}
        kt.sweep(nothing, given, Path(folder) / "first", **(options | {"samples": 20_000}))
        begin = time.process_time()
        kt.sweep(nothing, given, Path(folder) / "second", **options)
        whole = (time.process_time() - begin) / TASKS
        table.add("all of a part: rows, task, result, file", whole * 1e3, sent / 1e3, back / 1e3)
    return table
