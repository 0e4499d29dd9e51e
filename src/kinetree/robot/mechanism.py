"""Robots with closed loops: four-bars, parallel robots, legs with pantographs.

A :class:`Mechanism` is a robot whose spanning tree carries loop joints.  ``q``, ``v`` and
``tau`` are laid out as those of the tree; a state is *closed* when every loop joint fits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from numpy.typing import ArrayLike

from ..former_names import former_arguments
from ..loops.loops import Loops
from ..model.describe import counted
from ..model.tree import Model
from .loop_methods import LoopMethods
from .robot import Robot


class Mechanism(Robot, LoopMethods):
    """A robot with closed loops; :func:`kinetree.load` and :meth:`Builder.build` return one if there are any.

    In single precision the dynamics are computed in float32, but quantities of the loops (gaps, their rates, closed
    configurations) in double.

    Parameters
    ----------
    model : Model
        A model with loops.
    independent : sequence of str, optional
        Names of the freedoms (as in :attr:`v_names`) that determine the others; by default the
        actuated ones if they suffice, otherwise chosen by pivoting.
    q_guess : array_like, shape (nq,), optional
        A configuration close to a closed one at which independent freedoms and constraints are chosen; see
        :attr:`coordinates` for the default.  Needed only if no closed configuration is found, or if the mechanism has
        several assembly modes with different numbers of freedoms.
    rounding : float, optional
        Constraints weaker than this, relative to the strongest, are rounding of the numbers in a file and do not
        count.  By default that is decided by the gap between those that count and those that do not, which
        :meth:`mobility` reports; it is an error if there is none.

    Examples
    --------
    >>> import kinetree as kt
    >>> b = kt.Builder("parallelogram")
    >>> rod = dict(mass=1, com=(0, 0, -0.5))
    >>> _ = b.body("rod0", "base", kt.Revolute("y"), **rod)
    >>> _ = b.body("rod1", "base", kt.Revolute("y"), position=(1, 0, 0), actuated=False, **rod)
    >>> _ = b.body("coupler", "rod0", kt.Revolute("y"), position=(0, 0, -1), mass=1, com=(0.5, 0, 0), actuated=False)
    >>> _ = b.loop("pin", "coupler", "rod1", kt.Revolute("y"), placement=(1, 0, 0), seat=(0, 0, -1))
    >>> b.build().mobility([0.3, 0.3, -0.3]).freedoms
    1
    """

    closes_loops = True

    @former_arguments(near="q_guess")
    def __init__(
        self, model: Model, *, backend: str | None = None, precision: str = "double",
        independent: Sequence[str] | None = None, q_guess: ArrayLike | None = None, cpu: str | None = None,
        rounding: float | None = None,
    ) -> None:  # fmt: skip
        super().__init__(model, backend=backend, precision=precision, cpu=cpu)
        wanted = None if independent is None else [self.entry_index(name) for name in independent]
        self.loops = Loops(self.evaluator, wanted, q_guess, rounding)

    def __repr__(self) -> str:
        bodies = counted(len(self.model.bodies), "body", "bodies")
        loops = counted(len(self.model.loops), "loop", "loops")
        if self.model.couplings:
            loops += f", {counted(len(self.model.couplings), 'coupling', 'couplings')}"
        return f"<Mechanism {self.name!r}: {bodies}, {loops}, nq={self.nq}, nv={self.nv}>"

    @property
    def _options(self) -> dict[str, Any]:
        loops = self._loops
        return super()._options | {
            "independent": None if loops.wanted is None else tuple(self.v_names[j] for j in loops.wanted),
            "q_guess": None if loops.q_guess is None else tuple(loops.q_guess.tolist()),
            "rounding": loops.rounding,
        }

    def _again(self, model: Model, **others: Any) -> Self:
        own = self._options
        if not set(own["independent"] or ()) <= set(model.v_names):
            del own["independent"]
        if model.q_names != self.model.q_names:
            del own["q_guess"]
        return type(self)(model, **(own | others))
