"""A robot with joints or loops that follow functions of time: consistent states, accelerations, driving forces."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ...errors import OptionError, StateError
from ...loops.tolerances import ACCEPTED
from ...robot.robot import Robot, require_robot
from ...spatial.arrays import Array, as_array, batch_shape
from ..prescribed import BoundMotion
from .holding import Hold, Holding, refuse_large


class DrivenMotion(NamedTuple):
    """The motion of a robot under forces while part of its motion is prescribed.

    Attributes
    ----------
    a : ndarray (..., nv)
        Accelerations.
    driving : ndarray (..., n)
        Forces that drive what is prescribed, in the order of :attr:`DrivenRobot.names`.
    power : ndarray (...)
        Total power of these forces.
    """

    a: Array
    driving: Array
    power: Array


class Misfit(NamedTuple):
    """The deviation of states from prescribed motions and closed loops."""

    names: list[str]
    """Prescribed joints, then constraints of loops, in words."""
    gaps: Array
    """Deviations of positions (m, rad)."""
    slips: Array
    """Deviations of velocities, relative to 1 + |v|."""

    def refuse(self, called: tuple[str, str], granted: float, advice: str) -> None:
        """Refuse states that are off by more than the tolerance; lanes with NaN are ignored."""
        for name, off, relative in zip(called, (self.gaps, self.slips), ("", " (relative to 1 + |v|)"), strict=True):
            size = np.where(np.isfinite(off), np.abs(off), 0.0)
            if float(size.max(initial=0.0)) > granted:
                *lane, place = map(int, np.unravel_index(int(np.argmax(size)), size.shape))
                where = f" in state {tuple(lane)}" if lane else ""
                raise StateError(
                    f"{name} does not fit what is prescribed{where}: {self.names[place]} is off by "
                    f"{size.max():.3g}{relative}, more than {granted:g}; {advice}"
                )


class DrivenRobot:
    """A robot part of whose motion is a given function of time: a rheonomic constraint.

    Parameters
    ----------
    robot : Robot
        A tree or a mechanism.
    given : mapping
        Maps names of joints to trajectories, or to functions of time written with ``kinetree.sin`` and the like; also
        names of distance, point-on-line and point-on-plane loops to lengths that are added to theirs.

    Examples
    --------
    >>> import kinetree as kt
    >>> pendulum = kt.Builder("pendulum").body("bob", "base", kt.Revolute("y"), mass=1, com=(0, 0, -1)).build()
    >>> motion = kt.DrivenRobot(pendulum, {"bob_joint": lambda t: 2 * t})
    >>> q, v = motion.state(0.0)
    >>> float(motion.forward_dynamics(0.0, q, v).driving[0])
    0.0
    """

    def __init__(self, robot: Robot, given: Mapping[str, Any] | BoundMotion) -> None:
        require_robot(robot)
        if not isinstance(given, (Mapping, BoundMotion)):
            raise OptionError(f"prescribed motions are a mapping from joints to trajectories, not {given!r}")
        self.robot = robot
        self._prescribed = given if isinstance(given, BoundMotion) else BoundMotion(robot, given)
        self.given = self._prescribed.given
        refuse_large(robot)
        self._hold: Hold | None = None

    @property
    def names(self) -> list[str]:
        """Names of what is prescribed: freedoms of joints, then constraints of loops."""
        return list(self._prescribed.names)

    def __repr__(self) -> str:
        return f"<DrivenRobot of {self.robot.name!r}: {', '.join(self.names) or 'nothing'}>"

    def _held_at(self, q: Array, t: float | None = None) -> Hold:
        if self._hold is None:
            self._hold = Hold(self.robot, Holding(self._prescribed), q, t)
        return self._hold

    def state(self, t: ArrayLike, q_guess: ArrayLike | None = None) -> tuple[Array, Array]:
        """Return a state that fits the prescribed motion.

        Parameters
        ----------
        t : array_like
            Times: one, or as many as there are guesses.
        q_guess : array_like, shape (..., nq), optional
            A configuration near the desired one, which selects the branch of a mechanism and the positions of joints
            that are not prescribed.  By default an assembled configuration, or the neutral one of a tree.

        Returns
        -------
        q (..., nq), v (..., nv)
            The velocity has the least kinetic energy of all that fit the prescribed motion.  A rod between two ball
            joints, whose spin is not prescribed, therefore does not turn about its own axis; for another spin see
            :meth:`kinetree.Mechanism.velocities`.
        """
        robot, moments = self.robot, as_array(t, (), "t")
        if q_guess is None:
            q_guess = robot.neutral() if robot.loops is None else robot.assembled()
        guess = robot.evaluator.states.configuration(q_guess, "q_guess")
        batch = batch_shape(q_guess=(guess, 1), t=(moments, 0))
        q = np.array(np.broadcast_to(guess, (*batch, robot.nq)), dtype=float)
        now = self._prescribed.at(moments if moments.ndim else float(moments))
        for k, (place, _) in enumerate(now.joints):
            q[..., place] = now.positions[k]
        if robot.loops is not None and not now.rows:
            q = robot.close(q, fixed=[j.name for j in self._prescribed.moved], limits=False)
        return self.nearest(moments, q, np.zeros((*batch, robot.nv)))

    def nearest(self, t: ArrayLike, q: Array, v: Array) -> tuple[Array, Array]:
        """Return the nearest states that fit, in energy; those with NaN, or at a time that is NaN, stay NaN."""
        moments = np.broadcast_to(as_array(t, (), "t"), q.shape[:-1])
        wanted = [np.broadcast_to(x, q.shape[:-1]) for x in self._prescribed.at(moments).positions]
        known = np.isfinite(np.concatenate([q, v, *(x[..., None] for x in wanted)], axis=-1)).all(axis=-1)
        near, rate = np.full(q.shape, np.nan), np.full(v.shape, np.nan)
        if known.any():
            hold = self._held_at(q[known][0], float(moments[known][0]))
            near[known], rate[known] = hold.nearest(moments[known], q[known], v[known])
        return near, rate

    def refuse_contradictions(self, t: float, q: Array) -> None:
        """Refuse drives that determine one another, before blaming a start that cannot satisfy them all."""
        known = q.reshape(-1, q.shape[-1])
        known = known[np.isfinite(known).all(axis=-1)]
        if len(known):
            self._held_at(known[0], t)

    def misfit(self, t: ArrayLike, q: Array, v: Array) -> Misfit:
        """Return how far states are from the prescribed motion, and how far loops without a drive are open."""
        robot, laws = self.robot, self._prescribed
        batch = np.broadcast_shapes(np.shape(t), q.shape[:-1], v.shape[:-1])
        q, v = (np.broadcast_to(x, (*batch, x.shape[-1])) for x in (q, v))
        now = laws.at(np.broadcast_to(np.asarray(t, dtype=float), batch))
        names, gaps, slips = [f"joint {name!r}" for name in laws.names[: len(now.joints)]], [], []
        for k, (place, rate) in enumerate(now.joints):
            gaps.append(q[..., place] - now.positions[k])
            slips.append(v[..., rate] - now.velocities[k])
        off = np.zeros((*batch, 0)), np.zeros((*batch, 0))
        if robot.loops is not None:
            names += [f"loop {name!r}" for name in robot.constraint_names]
            off = robot.loop_gaps(q).copy(), (robot.loop_jacobian(q) @ v[..., None])[..., 0]
            for row in now.rows:
                position, rate, _ = now.of_row(row)
                off[0][..., row] -= position
                off[1][..., row] -= rate
        of_joints = (np.stack(x, axis=-1) if x else np.zeros((*batch, 0)) for x in (gaps, slips))
        whole = [np.concatenate(pair, axis=-1) for pair in zip(of_joints, off, strict=True)]
        return Misfit(names, whole[0], whole[1] / (1.0 + np.linalg.norm(v, axis=-1, keepdims=True)))

    def forward_dynamics(
        self, t: ArrayLike, q: ArrayLike, v: ArrayLike, tau: ArrayLike | None = None, wrenches: Any = None
    ) -> DrivenMotion:
        """Return accelerations at a given time, and the forces that drive the prescribed motion.

        Parameters
        ----------
        t : array_like
            Times: one, or as many as there are states.
        q, v : array_like, shapes (..., nq), (..., nv)
            States that fit; see :meth:`state`.
        tau : array_like, shape (..., nv), optional
            Other joint forces; none by default.
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
        hold = self._held_at(finite[0] if len(finite) else robot.neutral(), float(moments.reshape(-1)[0]))
        times = np.broadcast_to(moments, batch)[..., None]
        self.misfit(moments, state, v).refuse(("q", "v"), ACCEPTED, self._advice("q"))
        found = hold.by_rank(times, state, v, tau, wrenches)
        loops = [hold.kept.index(row) for row in self._prescribed.rows]
        driving = np.concatenate([found.multipliers[..., len(hold.kept) :], found.multipliers[..., loops]], axis=-1)
        return DrivenMotion(found.a, driving, found.power)

    def _advice(self, called: str) -> str:
        return f"DrivenRobot.state(t, {called}) makes one that does"
