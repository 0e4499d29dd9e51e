"""Whose record it is: a robot that is put beside one must have its joints."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ...errors import Message, OptionError, Setting
from ...robot.robot import Robot

if TYPE_CHECKING:
    from .record import Record

ENTRY = re.compile(r"\[\d+\]$|\.(q?[xyzw]|[wv][xyz])$")
"""What is behind a joint's name where it has several coordinates: ``root[3]``, ``root.qw``, ``root.z``."""


def require_joints_of(robot: Robot, record: Record, by_name: bool = True) -> None:
    """Refuse a robot that the record cannot be of.

    Parameters
    ----------
    robot : Robot
    record : Record
    by_name : bool
        Whether joints must be called the same, too; otherwise as many coordinates are enough.
    """
    count = record.q.shape[-1]
    own = [j.name for j in robot.model.joints if not j.mimic for _ in range(j.nq)]
    told = [ENTRY.sub("", name) if name not in own else name for name in record.info.get("q_names") or ()]
    if count == robot.nq and (not by_name or not told or told == own):
        return
    sizes = f"the record has {count} coordinates and robot {robot.name!r} has {robot.nq}"
    if count == robot.nq:
        k = next(k for k, (a, b) in enumerate(zip(told, own, strict=True)) if a != b)
        sizes = f"coordinate {k} is of joint {told[k]!r} in the record, and of {own[k]!r} in robot {robot.name!r}"
    raise OptionError(Message(f"{sizes}: ", _difference(told, own, record)))


def _difference(told: list[str], own: list[str], record: Record) -> str:
    """In what the two differ: the base, joints that follow others, or altogether."""
    more, fewer = ([name for name in dict.fromkeys(a) if name not in b] for a, b in ((told, own), (own, told)))
    same = [name for name in told if name not in more] == [name for name in own if name not in fewer]
    if same and len(more) == 1 and not fewer and told[:7] == more * 7:
        floating = f"it was simulated on a floating base, joint {more[0]!r}; load the robot with "
        return Message(floating, Setting("floating_base", True))
    if same and len(fewer) == 1 and not more and own[:7] == fewer * 7:
        return Message("it was simulated on a fixed base; load the robot without ", Setting("floating_base", True))
    if told and same and any(name in own for name in told) and bool(more) != bool(fewer):
        joints = ", ".join(map(repr, more or fewer))
        where = "only in the record" if more else "not in the record"
        follow = "load the robot as it was simulated (which joints follow others says "
        return Message(f"{joints} {where}; {follow}", Setting("mimic", ...), ")")
    return f"it is of another robot ({record.info.get('robot', 'unnamed')!r})"
