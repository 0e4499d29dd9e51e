"""A robot some of whose joints or loops move as time tells: states that fit, accelerations, and what drives them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ...errors import StateError
from ...robot.mechanism import Mechanism
from ...robot.robot import Robot, require_robot
from ...spatial.arrays import as_array, batch_shape
from ..equation import Array
from ..system import DynamicSystem
from .drift import Projection
from .equation import ConstrainedEquation
from .prescribed import PrescribedLaws

FITS = 1e-6
"""How far a state may be from what is prescribed (rad, m, and their rates relative to 1 + |v|)."""


class DrivenMotion(NamedTuple):
    """How a robot moves under forces while some of its motion is given.

    Attributes
    ----------
    a : ndarray (..., nv)
        Accelerations.
    driving : ndarray (..., n)
        Forces that drive what is prescribed, in the order of :attr:`DrivenRobot.names`.
    power : ndarray (...)
        What they put in, all together.
    """

    a: Array
    driving: Array
    power: Array


class DrivenRobot:
    """A robot whose motion is given in part, by time: a rheonomic constraint.

    Parameters
    ----------
    robot : Robot
        A tree or a mechanism.
    given : mapping
        Names of joints to trajectories, or to functions of time written with ``kinetree.sin`` and the like; also of
        distance, point-on-line and point-on-plane loops, to lengths that are added to theirs.

    Examples
    --------
    >>> import kinetree as kt
    >>> pendulum = kt.Builder("pendulum").body("bob", "base", kt.Revolute("y"), mass=1, com=(0, 0, -1)).build()
    >>> motion = kt.DrivenRobot(pendulum, {"bob_joint": lambda t: 2 * t})
    >>> q, v = motion.state(0.0)
    >>> float(motion.forward_dynamics(0.0, q, v).driving[0])
    0.0
    """

    def __init__(self, robot: Robot, given: Mapping[str, Any]) -> None:
        require_robot(robot)
        self.robot, self.given = robot, dict(given)
        self._prescribed = PrescribedLaws(robot.model, given)
        self._equation = ConstrainedEquation(
            DynamicSystem(robot, works=False), None, 1, self._prescribed, Projection()
        )  # fmt: skip
        self._ready = False

    @property
    def names(self) -> list[str]:
        """What is prescribed: freedoms of joints, then constraints of loops."""
        return list(self._prescribed.names)

    def __repr__(self) -> str:
        return f"<DrivenRobot of {self.robot.name!r}: {', '.join(self.names) or 'nothing'}>"

    def _prepared(self, q: Array) -> ConstrainedEquation:
        if not self._ready:
            self._equation.prepare(q)
            self._ready = True
        return self._equation

    def state(self, t: float, q_guess: ArrayLike | None = None) -> tuple[Array, Array]:
        """Return a state in which everything is where it has to be.

        Parameters
        ----------
        t : float
            When.
        q_guess : array_like, shape (nq,), optional
            A configuration beside the one that is wanted: it says which branch of a mechanism is meant, and where
            joints are that nothing is said about.  By default some closed one, or the neutral one of a tree.

        Returns
        -------
        q, v : ndarrays
            The nearest velocity to rest that fits what is prescribed.
        """
        robot, now = self.robot, self._prescribed.at(float(t))
        if q_guess is None:
            q_guess = robot.assembled() if isinstance(robot, Mechanism) else robot.neutral()
        q = np.array(robot.evaluator.states.configuration(q_guess, "q_guess"), dtype=float)
        if q.ndim != 1:
            raise StateError(f"state wants one configuration, not a batch of shape {q.shape[:-1]}")
        equation = self._prepared(q)
        for k, (place, _) in enumerate(now.joints):
            q[place] = float(now.positions[k])
        if isinstance(robot, Mechanism) and not now.rows:
            q = robot.close(q, fixed=list(self.given), limits=False)
        return equation.nearest(float(t), q, np.zeros(robot.nv))

    def forward_dynamics(
        self, t: ArrayLike, q: ArrayLike, v: ArrayLike, tau: ArrayLike | None = None, wrenches: Any = None
    ) -> DrivenMotion:
        """Return accelerations at a moment, and the forces that drive what is prescribed.

        Parameters
        ----------
        t : array_like
            When, one moment or as many as there are states.
        q, v : array_like, shapes (..., nq), (..., nv)
            States that fit; see :meth:`state`.
        tau : array_like, shape (..., nv), optional
            Forces that act beside those; none by default.
        wrenches
            As for any robot.
        """
        robot = self.robot
        state, v = robot.evaluator.states.configuration(q), as_array(v, (robot.nv,), "v")
        tau = np.zeros(robot.nv) if tau is None else as_array(tau, (robot.nv,), "tau")
        moments = as_array(t, (), "t")
        batch = batch_shape(q=(state, 1), v=(v, 1), tau=(tau, 1), t=(moments, 0))
        state, v, tau = (np.broadcast_to(x, (*batch, x.shape[-1])) for x in (state, v, tau))
        finite = state.reshape(-1, robot.nq)
        finite = finite[np.isfinite(finite).all(axis=-1)]
        equation = self._prepared(finite[0] if len(finite) else robot.neutral())
        times = np.broadcast_to(moments, batch)[..., None]
        a, forces, terms = equation.driven_motion(times, state, v, tau, wrenches)
        self._refuse(terms.gaps, terms.slips / (1.0 + np.linalg.norm(v, axis=-1, keepdims=True)))
        n = len(equation.kept)
        loops = [equation.kept.index(row) for row in self._prescribed.rows]
        driving = np.concatenate([forces[..., n:], forces[..., loops]], axis=-1)
        wanted = (terms.k @ v[..., None])[..., 0] - terms.slips
        return DrivenMotion(a, driving, (forces * wanted).sum(axis=-1))

    def _refuse(self, gaps: Array, slips: Array) -> None:
        for off, what in ((gaps, "configuration"), (slips, "velocity")):
            size = np.abs(off)
            worst = float(np.max(size, initial=0.0, where=np.isfinite(size)))
            if worst > FITS:
                raise StateError(
                    f"this {what} does not fit what is prescribed to {self.robot.name!r}, or its loops: it is off by "
                    f"{worst:.3g}; DrivenRobot.state(t, q) makes one that does"
                )
