"""Building robots link by link."""

from __future__ import annotations

from collections.abc import Sequence

from ..model.builder import ModelBuilder
from ..model.describe import counted
from .make import make
from .robot import Robot


class Builder(ModelBuilder):
    """Makes a :class:`Robot` link by link; see :meth:`body` and :meth:`frame`.

    Examples
    --------
    >>> import kinetree as kt
    >>> b = kt.Builder("two-link", gravity=(0, -9.81, 0))
    >>> _ = b.body("upper", "base", kt.Revolute("z"), mass=1.0, com=(0.5, 0, 0))
    >>> _ = b.body("lower", "upper", kt.Revolute("z"), position=(1, 0, 0), mass=1.0, com=(0.5, 0, 0))
    >>> b.build().nv
    2
    """

    def build(
        self, *, floating_base: bool = False, cuts: Sequence[str] | None = None, rule: str | None = None
    ) -> Robot:
        """Check everything and return the robot.

        Parameters
        ----------
        floating_base : bool
            Whether to put the root body on a free joint instead of fixing it.
        cuts : sequence of str, optional
            Joints to cut where joints form loops; loops that remain are cut by the rule.
        rule : {"minimum_dof", "shortest"}, optional
            How to choose cuts. Without cuts and rule, joints declared by :meth:`loop` are the cuts.
        """
        return make(self.model(floating_base=floating_base, cuts=cuts, rule=rule))

    def __repr__(self) -> str:
        parts = (self._bodies, "body", "bodies"), (self._joints, "joint", "joints"), (self._loops, "loop", "loops")
        told = [counted(len(own), one, many) for own, one, many in parts if own]
        return f"<Builder {self.name!r}: {', '.join(told) or 'nothing yet'}>"
