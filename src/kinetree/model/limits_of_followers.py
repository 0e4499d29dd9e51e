"""The range of a leader within the limits of its followers."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, replace

from ..errors import Message, ModelError, Setting
from .tree import Joint, Model

ROUNDING = 1e-14
"""Limits that miss each other by no more than this fraction of their size count as meeting in one point."""


@dataclass(frozen=True)
class Range:
    """The range of a coordinate, and the joints whose limits bound it: the leader itself or one that follows it."""

    lower: float
    upper: float
    lower_of: str
    upper_of: str

    def __and__(self, other: Range) -> Range:
        low = other if other.lower > self.lower else self
        high = other if other.upper < self.upper else self
        return Range(low.lower, high.upper, low.lower_of, high.upper_of)

    @property
    def empty(self) -> bool:
        """Whether the range is empty, beyond rounding."""
        return self.lower > self.upper and not math.isclose(self.lower, self.upper, rel_tol=ROUNDING)


def range_left(tree: Model, leader: Joint) -> Range:
    """Return the range of a leader in which it and all its followers are within their limits.

    Chains of followers are resolved when a robot is built: each one refers to a joint with its own coordinate.
    """
    found = Range(leader.lower[0], leader.upper[0], leader.name, leader.name)
    for joint in tree.joints:
        if joint.mimic is not None and joint.mimic.leader == leader.name:
            found = found & _seen_by_leader(joint)
    return found


def _seen_by_leader(follower: Joint) -> Range:
    """Return the limits of a follower as limits of its leader: lower <= ratio q + offset <= upper, solved for q."""
    assert follower.mimic is not None
    ratio, offset, name = follower.mimic.ratio, follower.mimic.offset, follower.name
    (low,), (high,) = follower.lower, follower.upper
    if ratio == 0.0:  # the follower does not move: it is within its limits for all positions of the leader, or for none
        everywhere = low <= offset <= high
        return Range(-math.inf if everywhere else math.inf, math.inf if everywhere else -math.inf, name, name)
    first, last = sorted(((low - offset) / ratio, (high - offset) / ratio))
    return Range(first, last, name, name)


def bounded_by_followers(tree: Model, moving: Collection[int]) -> Model:
    """Return the same tree with the limits of leaders narrowed to those of their followers.

    moving: Degrees of freedom that are going to move. If the limits of one contradict those of its followers, an error
        is raised; a joint that does not move keeps its own limits in that case.
    """
    leaders = {j.mimic.leader for j in tree.joints if j.mimic is not None}
    if not leaders:
        return tree
    return tree.with_joints(_bounded(tree, j, moving) if j.name in leaders else j for j in tree.joints)


def _bounded(tree: Model, leader: Joint, moving: Collection[int]) -> Joint:
    left = range_left(tree, leader)
    if left.empty:
        if leader.v_slice.start in moving:
            raise ModelError(_contradiction(tree, left))
        return leader
    low, high = min(left.lower, left.upper), max(left.lower, left.upper)
    return replace(leader, lower=(low,), upper=(high,))


def _contradiction(tree: Model, left: Range) -> str:
    names = dict.fromkeys((left.lower_of, left.upper_of))
    parts = " and ".join(limits_in_words(tree.joint(name)) for name in names)
    both = f"no position is within all limits: {parts}; correct the limits, or load the robot with "
    return Message(both, Setting("mimic", "independent"))


def limits_in_words(joint: Joint) -> str:
    """Return the limits of a joint in words for messages and, for a follower, what it follows."""
    words = f"joint {joint.name!r} has the limits {joint.lower[0]:g} to {joint.upper[0]:g}"
    if joint.mimic is None:
        return words
    sign = "-" if joint.mimic.offset < 0.0 else "+"
    law = f"{joint.mimic.ratio:g} * {joint.mimic.leader!r} {sign} {abs(joint.mimic.offset):g}"
    return f"{words} and follows {law}"
