"""How many steps a run may take: what says so where it would take more, on the way as soon as that shows."""

from __future__ import annotations

from ..errors import Message, Setting
from ..run.failure import Fault
from .equation import Equation
from .integrators.fixed_step_methods import ADAPTIVE

LOOKS = ((200, 1000.0), (2000, 1.0))
"""After how many steps of an adaptive integrator it is asked how many more they would be to the end, and by how many
times these may be too many by then: a short phase of small steps is no reason to give up."""

EXPLICIT = ("rk45", "dop853")


class StepBudget:
    """Steps that a run may take.

    Parameters
    ----------
    at_most : int
    begin, end : float
        From when until when the run is to go.
    """

    def __init__(self, at_most: int, begin: float, end: float) -> None:
        self.at_most, self.end = at_most, end
        self._looked = {every: (0, begin) for every, _ in LOOKS}

    def spend(self, count: int, t: float, integrator: str, equation: Equation) -> None:
        """Stop a run that has taken so many steps by now, if that is too many or will be at this pace."""
        for every, excess in LOOKS:
            before, since = self._looked[every]
            full = count >= self.at_most
            if t >= self.end or not (full or (integrator in ADAPTIVE and count - before >= every)):
                continue
            self._looked[every] = count, t
            pace = (t - since) / max(1, count - before)
            left = (self.end - t) / pace if pace > 0.0 else float("inf")
            if full or count + left > excess * self.at_most:
                raise Fault(self._too_many(count, left, pace, integrator, equation), t)

    def _too_many(self, count: int, left: float, pace: float, integrator: str, equation: Equation) -> Message:
        said = f"{count} steps are taken, and at {pace:.3g} s each {left:.3g} more would be needed to the end, where "
        said += f"{self.at_most} are allowed in all"
        advice: list[str | Setting] = ["larger ", Setting("rtol"), " and ", Setting("atol")]
        if integrator not in ADAPTIVE:
            advice = ["a larger ", Setting("step")]
        elif integrator in EXPLICIT:
            advice += [", ", Setting("integrator", "radau"), " if the problem is stiff"]
        if integrator in ADAPTIVE and equation.function is not None:
            advice += [
                ", a controller that depends on t, q and v alone (one that is random, or remembers, is sampled: "
                "control.Sampled(controller, period=...))"
            ]
        return Message(said, ": take ", *advice, ", or let it take more with ", Setting("steps_at_most", ...))
