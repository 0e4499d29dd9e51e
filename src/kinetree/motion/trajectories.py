"""Motions over time, with exact first and second derivatives.

Each trajectory is one formula for the position, written over any scalar; velocity and
acceleration come from running it on :class:`~kinetree.spatial.taylor.Jet`.  The same code therefore serves one time, an
array of times, and machine code.

Examples
--------
>>> from kinetree import trajectories
>>> move = trajectories.Cycloid([0.0, 0.0], [1.0, -0.5], duration=2.0)
>>> q, v, a = move(1.0)
>>> q
array([ 0.5 , -0.25])
"""

from __future__ import annotations

from ..errors import explain_public, no_such_name
from .combined_trajectories import Picked, Repeated, Stacked
from .fastest import FastestMotion, FastestMotions, fastest
from .jerk_limited import JerkLimitedMotion, jerk_limited
from .point_to_point import PROFILES, Between, Cubic, Cycloid, Move, Quintic, Rotation, Trapezoidal
from .sines_and_formulas import Constant, ConstantSpeed, Function, Sine
from .splines import Piecewise, sampled, spline, through
from .tool_motion import ToolMotion
from .tool_paths import Arc, Line, Turn, poses
from .trajectory_interface import Joined, Trajectory

__all__ = [
    "PROFILES", "Arc", "Between", "Constant", "ConstantSpeed", "Cubic", "Cycloid", "FastestMotion", "FastestMotions",
    "Function", "JerkLimitedMotion", "Joined", "Line", "Move", "Picked", "Piecewise", "Quintic", "Repeated", "Rotation",
    "Sine", "Stacked", "ToolMotion", "Trajectory", "Trapezoidal", "Turn", "fastest", "jerk_limited", "poses", "sampled",
    "spline", "through",
]  # fmt: skip


def __getattr__(name: str) -> object:
    """Raise an error that suggests the name that was probably meant."""
    raise no_such_name(__name__, name, __all__)


__dir__ = explain_public(__name__)
