"""A limit on the number of steps of a run, enforced as soon as it is clear that the run would take more."""

from __future__ import annotations

import numpy as np

from ..errors import Message, Setting
from ..evaluation.law_failures import Fault
from .equation import Equation
from .integrators.fixed_step_methods import ADAPTIVE

LOOKS = ((200, 1000.0), (2000, 1.0))
"""After how many steps of an adaptive integrator the remaining steps are estimated, and by what factor they may then
exceed the limit: a short phase of small steps is no reason to give up."""

EXPLICIT = ("rk45", "dop853")

RUNAWAY = 1e4
"""From this velocity (rad/s, m/s) on, a motion that needs so many steps counts as a controller's runaway."""


def runaway(place: int, speed: float, equation: Equation) -> Message:
    """Return the message about a motion under a controller that grows without bound."""
    said = f"the motion runs away: by now its velocity is {speed:.3g} {equation.robot.v_units[place]}/s"
    from ..control.sampled import find_sampled

    if find_sampled(equation.system.controller) is not None:
        return Message(said, ", and ", UNSTABLE_SAMPLES)
    return Message(said, "; the controller makes the robot unstable: check signs and gains")


UNSTABLE_SAMPLES = (
    "the sampled controller may be the cause: a velocity gain kd on an inertia m needs a period well below "
    "2 m / kd, and a delay makes that worse"
)


class StepBudget:
    """Steps that a run may take.

    Parameters
    ----------
    at_most : int
    begin, end : float
        Beginning and end of the run.
    """

    def __init__(self, at_most: int, begin: float, end: float) -> None:
        self.at_most, self.end = at_most, end
        self._looked = {every: (0, begin) for every, _ in LOOKS}

    def spend(self, count: int, t: float, integrator: str, equation: Equation, v: np.ndarray) -> None:
        """Count steps; stop a run that has taken too many, or will at this pace."""
        for every, excess in LOOKS:
            before, since = self._looked[every]
            full = count >= self.at_most
            if t >= self.end or not (full or (integrator in ADAPTIVE and count - before >= every)):
                continue
            self._looked[every] = count, t
            pace = (t - since) / max(1, count - before)
            left = (self.end - t) / pace if pace > 0.0 else float("inf")
            if full or count + left > excess * self.at_most:
                speeds, names = np.abs(v), equation.robot.v_names
                driven = equation.system.controller is not None or equation.function is not None
                if driven and names and (fastest := float(speeds.max())) > RUNAWAY:
                    raise Fault(runaway(int(np.argmax(speeds)), fastest, equation), t, names[int(np.argmax(speeds))])
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
