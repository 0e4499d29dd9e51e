"""A slider-crank with a counterweight: the force that shakes its frame, with and without."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kinetree.design import ShakingForce, design
from kinetree.model.linkages.drawing import drawing_of
from kinetree.robot.mechanism import Mechanism
from kinetree.spatial.arrays import Array
from kinetree.spatial.taylor import Jet, as_jet
from kinetree.studies.fact_files import Values, stated
from kinetree.studies.named_systems import load
from kinetree.studies.plots import Curve, Curves, PlotPanel
from kinetree.studies.study import Outcome, Study

from ...analyses.free_fall import free_fall
from ...analyses.inverse_dynamics import inverse
from ...analyses.prescribed import PrescribedMechanism
from ...analyses.replay import replay
from .system import CRANK, LEVER, RECIPROCATING, ROD, ROTATING, SPEED, TEXTBOOK, places


@dataclass(frozen=True)
class Shaken:
    """An engine with some counterweight, over one turn at constant speed.

    Attributes
    ----------
    weight : float
        The counterweight, in kg.
    samples : int
    """

    weight: float
    samples: int = 360

    @cached_property
    def crank(self) -> Array:
        """Evenly spaced crank angles over one turn, without its end."""
        return np.arange(self.samples) * (2.0 * np.pi / self.samples)

    @cached_property
    def engine(self) -> Mechanism:
        """The engine itself."""
        drawn = drawing_of(load("slider-crank-balance").model)
        assert drawn is not None
        return Mechanism(drawn.with_numbers({"W.mass": self.weight}).model())

    @cached_property
    def force(self) -> Array:
        """The force that shakes the frame, along x and y, from the mechanism's dynamics."""
        crank = self.crank[:, None]
        moved = self.engine.driven_motion(crank, np.full_like(crank, SPEED), np.zeros_like(crank))
        return np.asarray(moved.shaking().values[:, 3:5])

    @cached_property
    def by_hand(self) -> Array:
        """The same force from the textbook's two masses, at the crank's pin and at the piston."""
        at, found = places(Jet(self.crank, SPEED, 0.0)), np.zeros((self.samples, 2))
        for point, mass in {"A": ROTATING, "B": RECIPROCATING, "W": self.weight}.items():
            for k, x in enumerate(at[point]):
                found[:, k] -= mass * as_jet(x).second
        return found

    @property
    def mean_square(self) -> float:
        """Mean square of the force."""
        return float((self.force**2).sum(axis=-1).mean())

    def harmonic(self, order: int) -> Array:
        """Return the size of a harmonic of the force, along x and y."""
        return np.asarray(2.0 * np.abs(np.fft.rfft(self.force, axis=0)[order]) / self.samples)


def _stated(along: PrescribedMechanism) -> Values:
    return {"stroke": along.states.q[:, 2]}


def _balance(quick: bool) -> Outcome:
    """Compute the shaking force without a counterweight, with one for the rotating mass, and with the textbook's."""
    bare, rotating, textbook = (Shaken(mass) for mass in (0.0, ROTATING * CRANK / LEVER, TEXTBOOK))
    unit, ratio = RECIPROCATING * CRANK * SPEED**2, CRANK / ROD
    secondary = unit * (ratio + ratio**3 / 4 + 15 * ratio**5 / 128 + 35 * ratio**7 / 512)
    squares = np.array([Shaken(mass).mean_square for mass in (0.5, 1.0, 1.5)])  # of a parabola
    least = 1.0 + 0.25 * (squares[0] - squares[2]) / (squares[0] - 2.0 * squares[1] + squares[2])
    free = {"W.mass": (0.0, 3.0)}
    found = design(Shaken(0.2).engine, free, ShakingForce("rms"), speed=SPEED, progress=False)
    engines = {"without": bare, "for what rotates": rotating, "textbook's": textbook}
    facts = stated(
        "slider-crank-balance", "balance", weight=_weight(), textbook=TEXTBOOK, least=least,
        designed=found.numbers["W.mass"],
        by_hand=np.concatenate([one.force - one.by_hand for one in engines.values()]) / unit,
        primary=textbook.harmonic(1) / unit, rotating=rotating.harmonic(1) / unit,
        secondary=textbook.harmonic(2)[0] / unit, series=secondary / unit,
        peaks=[np.linalg.norm(one.force, axis=-1).max() for one in engines.values()],
        saved=1.0 - np.sqrt(textbook.mean_square / bare.mean_square),
    )  # fmt: skip
    curves = [Curve(f"{name}", one.force[:, 1], one.force[:, 0]) for name, one in engines.items()]
    caption = "The force that shakes the frame over a turn, with three counterweights."
    remark = (
        "The root in the piston's way has even harmonics only, so that the mean square of the force is least for "
        "exactly half of what goes forth and back, however short the rod is. What is left of the first harmonic turns "
        "backward, of constant size."
    )
    figure = Curves(
        bare.force[:, 0], [PlotPanel("force along y [N]", curves)], caption, "force along x [N]", equal=True
    )
    return Outcome(facts, {}, {}, {"shaking": figure}, [remark])


def _weight() -> float:
    drawn = drawing_of(load("slider-crank-balance").model)
    assert drawn is not None
    return drawn.masses["W"]


STUDY = Study.of(
    "slider-crank-balance",
    {
        "inverse": inverse("slider-crank-balance", _stated),
        "replay": replay("slider-crank-balance"),
        "free-fall": free_fall("slider-crank-balance", 1.0),
        "balance": _balance,
    },
)
