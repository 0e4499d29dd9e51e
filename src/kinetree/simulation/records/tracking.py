"""Tracking errors of a recorded motion."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ...control.driven_joints import tracking_error
from ...errors import OptionError
from ...motion.trajectory_interface import Trajectory
from ...spatial.arrays import Array, pack, split

if TYPE_CHECKING:
    from .record import Record


class TrackingErrors(NamedTuple):
    """Desired minus actual motion, at every sample of a record.

    Attributes
    ----------
    names : list of str
        The n freedoms of the desired motion, in the order of v.
    position, velocity : ndarray, shape (T, ..., n)
        Errors of positions and velocities; for orientations, the shortest rotation.
    """

    names: list[str]
    position: Array
    velocity: Array


def tracking_errors(record: Record, desired: Trajectory) -> TrackingErrors:
    """Return tracking errors; see :meth:`kinetree.Record.errors`."""
    if record.robot is None:
        raise OptionError("errors are those of the robot's joints: load the record with load(path, robot=...)")
    tree = record.robot.model
    times = record.time.reshape(-1, *(1,) * len(record.batch))
    position, velocity, _ = tracking_error(tree, desired, times, split(record.q), split(record.v))
    places = tree.motors
    shape = record.q.shape[:-1]
    return TrackingErrors([record.v_names[k] for k in places], pack(position, shape), pack(velocity, shape))
