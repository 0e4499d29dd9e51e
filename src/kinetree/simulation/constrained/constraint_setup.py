"""The constraints of a simulation: which of them are driven, how all are maintained, and where it may start."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import Message, OptionError, Setting, UnsupportedError
from ...evaluation.parameters import GivenParameters
from ...loops.tolerances import ACCEPTED
from ...robot.robot import Robot
from ...spatial.arrays import Array
from ..arguments import initial_state
from ..integrators.fixed_step_methods import VARIATIONAL
from ..options import SimulationOptions
from ..prescribed import BoundMotion
from .drift_correction import Projection
from .driven_robot import DrivenRobot
from .holding import Holding


def initial_state_held(
    robot: Robot, holding: Holding, q0: Any, v0: Any, begin: float, tolerance: float | None
) -> tuple[Array, Array]:
    """Return the initial state; a given start that contradicts the prescribed motion is refused.

    With a tolerance, a start that is off by less is moved onto that motion.
    """
    laws = holding.prescribed
    if not laws:
        return initial_state(robot, q0, v0, tolerance=tolerance)
    driven = DrivenRobot(robot, laws)
    laws.refuse_unknown(begin)
    if q0 is None or v0 is None:
        wanted = driven.state(begin, q0)
        if not robot.model.is_constrained:  # joints without a prescribed motion or a given velocity are at rest
            moved = {rate for _, rate in laws.joints}
            wanted[1][..., [k for k in range(robot.nv) if k not in moved]] = 0.0
        q0, v0 = wanted[0] if q0 is None else q0, wanted[1] if v0 is None else v0
    q, v = initial_state(robot.tree, q0, v0, tolerance=tolerance)
    driven.refuse_contradictions(begin, q)
    granted = ACCEPTED if tolerance is None else tolerance
    off = driven.misfit(begin, q, v)
    if tolerance is None and robot.loops is not None and np.any(np.abs(off.gaps) > granted):
        granted = max(granted, robot.coordinates_at(q).slack)
    off.refuse(
        ("q0", "v0"), granted,
        f"start from kinetree.DrivenRobot(robot, prescribed).state({begin:g}, q0), or have it moved there by a "
        "larger tolerance",
    )  # fmt: skip
    return (q, v) if tolerance is None else driven.nearest(begin, *_together(q, v))


def _together(q: Array, v: Array) -> tuple[Array, Array]:
    """Return positions and velocities broadcast to one batch."""
    batch = np.broadcast_shapes(q.shape[:-1], v.shape[:-1])
    return np.broadcast_to(q, (*batch, q.shape[-1])), np.broadcast_to(v, (*batch, v.shape[-1]))


def chosen_holding(robot: Robot, options: SimulationOptions, driven: BoundMotion, varied: GivenParameters) -> Holding:
    """Check the options about constraints, and which constraints are driven; return how they are maintained."""
    if not isinstance(options.drift, Projection) and not robot.model.is_constrained and not driven:
        raise OptionError(
            f"robot {robot.name!r} has no closed loops and nothing is prescribed, so there is no drift to correct"
        )
    if options.integrator == VARIATIONAL and driven:
        raise OptionError(
            Message("the variational integrator takes no prescribed motions: use ", Setting("integrator", "rk4"))
        )
    holding = Holding(driven, options.drift, options.spectral_radius)
    if varied.places and not holding.is_usual:
        raise UnsupportedError(
            "parameters can be varied only if loops are kept closed by projection and no motion is prescribed by name"
        )
    return holding
