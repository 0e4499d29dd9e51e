"""A four-bar through nine points of the curve of another: found again from a rough guess."""

from __future__ import annotations

import numpy as np

from kinetree.design import Path, cognates, design, four_bars
from kinetree.robot.linkage import linkage
from kinetree.robot.mechanism import Mechanism
from kinetree.robot.robot import Robot
from kinetree.spatial.arrays import Array
from kinetree.studies.fact_files import stated
from kinetree.studies.plots import Curve, Curves, PlotPanel
from kinetree.studies.study import Outcome, Study

from ...analyses.free_fall import free_fall
from ...analyses.inverse_dynamics import inverse
from ...analyses.replay import replay
from .system import COUPLER, CRANK, PIVOT, ROCKER, places

GUESS = {"O": (5, -6), "C": (92, 12), "A": (6, 41), "B": (76, 96), "P": (12, 98)}
"""A drawing whose points are off by some millimeters, so that its curve differs."""


def curve(turned: Array) -> Array:
    """Return the positions of the known four-bar's coupler point, in meters, (n, 2), by intersecting circles."""
    return np.stack(places(turned)["P"], axis=-1)


def _found(quick: bool) -> Outcome:
    """Ask for nine points, from a guess."""
    nine, turn = curve(np.radians(np.arange(9) * 40.0)), np.linspace(0.0, 2.0 * np.pi, 361)
    guess = linkage(
        GUESS, {"crank": "O A", "coupler": "A B P", "rocker": "B C"}, ground="O C", motor="O", units="mm", name="guess"
    )
    found = design(guess, ["O", "C", "A", "B", "P"], Path("P", 1e3 * nine), progress=False)
    robot, known, size = found.robot, curve(turn), float(np.hypot(PIVOT.x, PIVOT.y))
    (loop,) = four_bars(robot)
    assert found.miss is not None
    (left, right), before = cognates(robot, "P"), _path(guess, "O", turn)
    facts = stated(
        "path-9-points", "design", miss=found.miss / size, solved=found.solved, lengths=loop.lengths,
        known=[size, CRANK, COUPLER, ROCKER], curve=(_path(robot, "O", turn) - known) / size,
        left=(_path(left, "A", turn - _coupler(robot, turn)) - known) / size,
        right=(_path(right, "C", turn) - known) / size,
        rough=np.linalg.norm(before - known, axis=-1).max() / size,
    )  # fmt: skip
    curves = [
        Curve("guess", before[:, 1], before[:, 0]), Curve("found", _path(robot, "O", turn)[:, 1], known[:, 0]),
        Curve("nine points", nine[:, 1], nine[:, 0], stated=True),
    ]  # fmt: skip
    caption = "Coupler curves of the guess and of the four-bar that is found, with the nine points."
    remark = (
        "Nine points leave no number of a four-bar free: crank, rocker and coupler point have nine together with both "
        "pivots. Some thousand four-bars meet nine points in general, most of them complex or with defects; the "
        "search keeps those that come from point to point in their order on one branch."
    )
    figure = Curves(known[:, 0], [PlotPanel("y [m]", curves)], caption, "x [m]", equal=True)
    return Outcome(facts, {}, {}, {"designed": figure}, [remark])


def _path(robot: Robot, drive: str, turn: Array) -> Array:
    """Return the coupler curve over a turn of the drive, (n, 2)."""
    assert isinstance(robot, Mechanism)
    return np.asarray(robot.point_position(robot.follow({drive: turn}), "P")[:, :2])


def _coupler(robot: Robot, turn: Array) -> Array:
    """Return the rotation of the coupler."""
    assert isinstance(robot, Mechanism)
    q = robot.follow({"O": turn})
    x, y, _ = (robot.point_position(q, "B") - robot.point_position(q, "A")).T
    angle = np.unwrap(np.arctan2(y, x))
    return np.asarray(angle - angle[0])


STUDY = Study.of(
    "path-9-points",
    {
        "inverse": inverse("path-9-points"),
        "replay": replay("path-9-points"),
        "free-fall": free_fall("path-9-points", 1.0),
        "design": _found,
    },
)
