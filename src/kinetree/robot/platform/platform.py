"""Parallel manipulators: a platform that several legs carry together (Saha section 3).

A :class:`Platform` is a mechanism and a frame on it, seen as a manipulator: from the
actuators' positions to the platform's pose and back, the same for velocities, and the
singularities of these maps.  It works for any mechanism; the DeNOC matrices are for serial legs.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ...errors import OptionError, SingularError, StateError
from ...evaluation.wrenches import Wrenches
from ...io.packages_above import module_above
from ...loops import rank
from ...spatial.arrays import Array, as_array
from .positions import PlatformPositions
from .requirements import ActuatorRequirements, FrameMotion, PlatformPath
from .singularities import Counts, Maps, Singularity, analyze, classify, common, margins, sides

if TYPE_CHECKING:
    from kinetree_books.parallel_denoc import ParallelDeNOC
    from kinetree_books.parallel_dynamics import ParallelDynamics

SINGULAR = 1e-7
"""Singular values below this (dimensionless) make a configuration singular."""

NEARBY = 1e-3
"""Distance of the neighbors that a configuration is compared with, as a fraction of the platform's size."""

UNREACHABLE = 1e-8
"""Velocities are refused if more than this fraction of them is impossible."""


class Platform(PlatformPositions):
    """A mechanism seen as a parallel manipulator.

    Parameters
    ----------
    mechanism : Mechanism
    frame : str
        The frame whose pose matters: a body, or a named frame on it.
    actuated : sequence of str, optional
        Names of the actuated joints; by default those of the model.
    orientation : bool
        Whether the frame's orientation matters besides its position.  For the tip of a five-bar or a delta robot it
        does not; velocities of the platform then have three components instead of six.
    length : float, optional
        Factor of angles in comparisons with lengths, in margins and singularities only.  By default the mean length
        of the links that rotary motors move, from the motor's joint to the farthest other one; for linear motors, the
        mean distance of the platform's joints from the frame.  Give a length to compare different machines, or if these
        links do not represent how far the platform moves, as behind gears.

    Examples
    --------
    ``Platform(hexapod, "top").inverse(pose, q_guess)`` gives a closed configuration with the frame there.
    """

    def __repr__(self) -> str:
        return f"<Platform {self.frame!r} of {self.mechanism.name!r}, moved by {', '.join(self.actuated)}>"

    # ---------------------------------------------------------------- velocities

    def jacobian(self, q: ArrayLike) -> Array:
        """Return the matrix J with platform twist = J rates, (..., 6, actuated) (Saha eq. 29b).

        The twist is the platform's angular velocity and the velocity of the frame's origin, along
        world axes; only the latter, (..., 3, actuated), if orientation does not matter.  With more actuators than
        freedoms it is valid for compatible rates only.
        """
        state = self._closed(q)
        return np.asarray(self._frame_jacobian(state) @ self._per_rate(state))

    def _frame_jacobian(self, q: Array) -> Array:
        """Return the tree's Jacobian of the platform's twist or velocity."""
        return np.asarray(self.mechanism.jacobian(q, self.frame, "aligned")[..., 0 if self.orientation else 3 :, :])

    def velocities(self, q: ArrayLike, rates: ArrayLike) -> Array:
        """Return velocities of all joints, (..., nv), from the actuators' rates."""
        state = self._closed(q)
        given = as_array(rates, (len(self._dofs),), "rates", f"one per actuated freedom of {', '.join(self.actuated)}")
        v = (self._per_rate(state) @ given[..., None])[..., 0]
        self._refuse(v[..., self._dofs] - given, given, "the actuators' rates do not fit together")
        return np.asarray(v)

    def velocities_for(self, q: ArrayLike, twist: ArrayLike) -> Array:
        """Return velocities of all joints, (..., nv), from the platform's twist.

        The twist is angular velocity, then velocity of the origin, along world axes; only the latter if orientation
        does not matter.  If it does not determine the velocities, the smallest ones are returned.
        """
        state = self._closed(q)
        meaning = "angular velocity, then velocity of the origin" if self.orientation else "velocity of the origin"
        given = as_array(twist, (6 if self.orientation else 3,), "twist", meaning)
        n = self._allowed(state)
        jacobian = self._frame_jacobian(state)
        reach = jacobian @ n
        usual = self._usual(state).platform
        size = float(np.nanmax(np.abs(jacobian), initial=0.0))
        short = rank.numerical_rank(reach, size) < usual
        self._refuse_singular(state, short & np.isfinite(reach).all(axis=(-1, -2)), "its platform has lost a freedom")
        v = (n @ rank.least_squares(reach, given[..., None]))[..., 0]
        self._refuse(
            (jacobian @ v[..., None])[..., 0] - given,
            given,
            f"the platform has {usual} freedoms and cannot move along this twist",
        )
        return np.asarray(v)

    def rates(self, q: ArrayLike, twist: ArrayLike) -> Array:
        """Return rates of the actuators, (..., actuated), from the platform's twist."""
        return np.asarray(self.velocities_for(q, twist)[..., self._dofs])

    def _per_rate(self, q: Array) -> Array:
        """Return the matrix that maps the actuators' rates to all velocities."""
        n = self._allowed(q)
        driven = n[..., self._dofs, :]
        usual = self._usual(q)
        if usual.held > usual.idle:
            count = len(self._dofs)
            raise SingularError(
                f"{self.mechanism.name!r} has {usual.freedoms} freedoms and its {count} actuated ones "
                f"({', '.join(self.actuated)}) do not determine the platform's motion; actuate more joints"
            )
        short = rank.numerical_rank(driven, 1.0) < usual.freedoms - usual.held
        self._refuse_singular(
            q, short & np.isfinite(driven).all(axis=(-1, -2)), "its actuators do not hold the platform"
        )
        eye = np.broadcast_to(np.eye(len(self._dofs)), (*driven.shape[:-2], len(self._dofs), len(self._dofs)))
        return np.asarray(n @ rank.least_squares(driven, eye))

    def _closed(self, q: ArrayLike) -> Array:
        return self.mechanism.check_closed(q)

    def _allowed(self, q: Array) -> Array:
        """Return motions that the loops allow, (..., nv, freedoms)."""
        k = self.mechanism.loop_jacobian(q)
        known = self.mechanism.coordinates_at(q)
        usual = known.rank
        short = (rank.numerical_rank(k, self._loops.geometry.size, known.least) < usual) & np.isfinite(k).all(
            axis=(-1, -2)
        )
        self._refuse_singular(q, short, "its loops allow more motions than usual")
        return rank.null_space(k, usual)

    def _refuse_singular(self, q: Array, bad: Array, what: str) -> None:
        if bad.any():
            lane = np.unravel_index(int(np.argmax(bad)), bad.shape) if bad.ndim else ()
            where = f" in state {tuple(int(i) for i in lane)}" if lane else ""
            report = self.singularities(q[lane])
            raise SingularError(f"{self.mechanism.name!r} is in a singular configuration{where}: {what}. {report}")

    def _refuse(self, off: Array, given: Array, message: str) -> None:
        bad = np.linalg.norm(off, axis=-1) > UNREACHABLE * (np.linalg.norm(given, axis=-1) + 1e-300)
        if bad.any():
            lane = np.unravel_index(int(np.argmax(bad)), bad.shape)
            where = f" in state {tuple(int(i) for i in lane)}" if bad.ndim else ""
            raise StateError(f"{message}{where}: a residual of {np.linalg.norm(off[lane]):.3g} remains")

    def accelerations_for(self, q: ArrayLike, v: ArrayLike, rate: ArrayLike) -> Array:
        """Return accelerations of all joints, (..., nv), from the rate of the platform's twist.

        The rate is angular acceleration, then acceleration of the origin, along world axes; only the latter if
        orientation does not matter.  If it does not determine the accelerations, the smallest ones are returned.

        Parameters
        ----------
        q, v : array_like
            A closed state, see :meth:`velocities_for`.
        rate : array_like, shape (..., 6), or (..., 3) if orientation does not matter
        """
        state, m = self._closed(q), self.mechanism
        meaning = "angular acceleration, then acceleration of the origin" if self.orientation else "acceleration"
        wanted = as_array(rate, (6 if self.orientation else 3,), "rate", meaning)
        known = m.coordinates_at(state)
        n, jacobian = self._allowed(state), self._frame_jacobian(state)
        k, drift = m.loop_jacobian(state), m.loop_drift(state, v)
        along = rank.least_squares(k, -drift[..., None], known.rank, self._loops.geometry.size, known.least)[..., 0]
        moving = m.acceleration(state, v, along, self.frame, "aligned", classical=True)
        left = wanted - moving[..., 0 if self.orientation else 3 :]
        a = along + (n @ rank.least_squares(jacobian @ n, left[..., None]))[..., 0]
        self._refuse((jacobian @ (a - along)[..., None])[..., 0] - left, left, "the platform cannot accelerate so")
        return np.asarray(a)

    def requirements(
        self, path: PlatformPath, t: ArrayLike, q_guess: ArrayLike | None = None, *, wrenches: Wrenches = None,
        friction: bool = False, limits: bool = True,
    ) -> ActuatorRequirements:  # fmt: skip
        """Return what a path of the platform requires of its actuators, from the path to the legs' forces in one call.

        Parameters
        ----------
        path : trajectory or array_like
            A trajectory (or any function of times that returns positions, rates and second rates) of ``(x, y, z)`` or
            of ``(roll, pitch, yaw, x, y, z)``; or samples at the times ``t``: poses (T, 4, 4) or positions (T, 3),
            whose velocities and accelerations are those of cubic splines.  If only positions are given, a
            platform whose orientation matters keeps that of ``q_guess``.
        t : array_like, shape (T,)
            Times, increasing.
        q_guess : array_like, shape (nq,)
            Where the search for the first point starts: it decides the branch.
        wrenches, friction
            Loads, as in :meth:`kinetree.Mechanism.inverse_dynamics`.
        limits : bool
            Whether joints obey their position limits (default).

        Returns
        -------
        ActuatorRequirements
            ``print`` it: range, largest rate and force, effective force and power of each actuator.

        Examples
        --------
        ``need = top.requirements(kt.trajectories.Cycloid(a, b, 2.0), np.linspace(0, 2, 201), home)``
        """
        m, times = self.mechanism, as_array(t, (), "t")
        if times.ndim != 1 or not len(times) or not (np.diff(times) > 0.0).all():
            raise OptionError("t must be increasing times, shape (T,)")
        self._driven_by_these()
        start = self.pose(self._guess(q_guess))
        wanted = FrameMotion.read(path, times, start[:3, :3])
        turns = slice(0 if self.orientation else 3, 6)
        q = self.follow(wanted.pose if self.orientation else wanted.pose[:, :3, 3], q_guess, limits=limits)
        v = self.velocities_for(q, wanted.twist[:, turns])
        a = self.accelerations_for(q, v, wanted.rate[:, turns])
        tau = m.inverse_dynamics(q, v, a, wrenches, friction=friction)
        dofs = self._dofs
        return ActuatorRequirements(
            times, tuple(m.v_names[k] for k in dofs), tuple(m.v_units[k] for k in dofs), self.positions(q), v[:, dofs],
            a[:, dofs], tau[:, dofs], q, v, a, m.velocity_limits[dofs], m.effort_limits[dofs],
        )  # fmt: skip

    def _driven_by_these(self) -> None:
        """Refuse actuators that are not actuated in the model: the forces would act at other joints."""
        driven = {m for m, on in zip(self.mechanism.v_names, self.mechanism.driven, strict=True) if on}
        here = {self.mechanism.v_names[k] for k in self._dofs}
        if driven != here:
            raise OptionError(
                f"the actuators of this platform ({', '.join(sorted(here))}) are not those of the model "
                f"({', '.join(sorted(driven))}), so their forces are not known: build it with actuated=True at these "
                "joints, and actuated=False at the others"
            )

    # ---------------------------------------------------------------- singularities

    def singularities(self, q: ArrayLike, *, tolerance: float = SINGULAR) -> Singularity:
        """Return whether and how a configuration is singular, and which motions are lost or gained there.

        Parameters
        ----------
        q : array_like, shape (nq,)
            A closed configuration.
        tolerance : float
            Margins below this count as zero.

        Returns
        -------
        Singularity
            ``print`` it; ``.type`` is Gosselin and Angeles' 1, 2 or 3, ``.distance`` measures the distance to
            the nearest singularity.
        """
        state = self._closed(q)
        if state.ndim != 1:
            raise OptionError("singularities takes one configuration at a time: give q of shape (nq,)")
        if not np.isfinite(state).all():
            raise StateError("the configuration holds NaN or infinity, so it cannot be analyzed")
        maps = self._maps(state)
        here = analyze(maps, tolerance)
        near = [self._maps(x) for x in self._nearby(state, here.allowed)]
        around = [analyze(m, tolerance) for m in near]
        usual = common([here.counts, *(a.counts for a in around)])
        found = classify(here, usual, maps, around, near)
        gained = (maps.platform @ found.gained).T
        gained = gained / np.linalg.norm(gained, axis=1, keepdims=True)
        return Singularity(
            found.kinds, self._in_radians(found.lost), self._in_radians(gained), found.gained.T / self._scale,
            found.still.T / self._scale, found.idle.T / self._scale, found.margins, here.counts.freedoms,
            usual.freedoms, here.counts.platform, usual.platform, self.length,
        )  # fmt: skip

    def margins(self, q: ArrayLike) -> dict[str, Array]:
        """Return distances from singularities for a batch of configurations, for maps of a workspace.

        Returns
        -------
        dict
            ``"inverse"``, ``"forward"`` and ``"constraint"``, each of the batch's shape, from 0 at a singularity
            to 1; see :class:`Singularity`.  If the last is 0, the others mean little.
        """
        state = self._closed(q)
        return margins(self._maps(state), self._usual(state))

    def sides(self, q: ArrayLike) -> Array:
        """Return on which side of forward singularities (type 2) a batch of configurations is: 1, -1, or 0 on one.

        On a way without inverse singularities, such as those within a map of a workspace, the sign changes where the
        actuators lose hold of the platform.  NaN for redundant drives, and where the platform's few freedoms are
        along directions that change.
        """
        state = self._closed(q)
        return sides(self._maps(state), self._usual(state))

    def _in_radians(self, twists: Array) -> Array:
        """Return full twists from those of the platform in meters."""
        whole = np.zeros((len(twists), 6))
        whole[:, 0 if self.orientation else 3 :] = twists
        return whole / np.repeat([self.length, 1.0], 3)

    @cached_property
    def _scale(self) -> Array:
        """Per velocity: the length for angles, 1 for lengths."""
        return np.array([self.length if unit == "rad" else 1.0 for unit in self.mechanism.v_units])

    def _maps(self, q: Array) -> Maps:
        """Return all maps in meters."""
        m = self.mechanism
        rows = np.array([self.length if unit == "rad" else 1.0 for unit in m.constraint_units])
        twist = np.repeat([self.length, 1.0], 3)[0 if self.orientation else 3 :]
        return Maps(
            rows[:, None] * m.loop_jacobian(q) / self._scale,
            np.eye(m.nv)[self._dofs],
            twist[:, None] * self._frame_jacobian(q) / self._scale,
        )

    def _nearby(self, q: Array, allowed: Array) -> list[Array]:
        """Return closed configurations nearby, in both directions along a few motions."""
        generator = np.random.default_rng(0)
        found = []
        for _ in range(3):
            move = allowed @ generator.standard_normal(allowed.shape[1])
            move *= NEARBY * self.length / (np.linalg.norm(move) or 1.0) / self._scale
            for sign in (1.0, -1.0):
                near = self.mechanism.close(self.mechanism.moved(q, sign * move), must_close=False, limits=False)
                if np.isfinite(near).all():
                    found.append(near)
        return found

    def _usual(self, q: Array) -> Counts:
        """Return the generic counts of motions, found near the first configuration that is used."""
        if self._counts is not None:
            return self._counts
        lanes = q.reshape(-1, self.mechanism.nq)
        lanes = lanes[np.isfinite(lanes).all(axis=1)]
        if not len(lanes):
            return Counts(0, 0, 0, 0)
        here = analyze(self._maps(lanes[0]), SINGULAR)
        near = [analyze(self._maps(x), SINGULAR).counts for x in self._nearby(lanes[0], here.allowed)]
        counts = common([here.counts, *near])
        if near:  # a configuration without neighbors says nothing about others
            self._counts = counts
        return counts

    # ---------------------------------------------------------------- matrices

    def denoc(self, q: ArrayLike) -> ParallelDeNOC:
        """Return the three DeNOC matrices of a platform on serial legs at one configuration (Saha eq. 32)."""
        state = self._closed(q)
        if state.ndim != 1:
            raise OptionError("the DeNOC matrices are made for one configuration: give q of shape (nq,)")
        driven = np.zeros(self.mechanism.nv, dtype=bool)
        driven[self._dofs] = True
        made = module_above("kinetree_books.parallel_denoc").ParallelDeNOC
        return made(self.mechanism.model, state.tolist(), self.frame, driven)

    def dynamics(self, q: ArrayLike, rates: ArrayLike) -> ParallelDynamics:
        """Return the equations of motion from the three DeNOC matrices, at one state (Saha section 3.4).

        Parameters
        ----------
        q : array_like, shape (nq,)
            A closed configuration.
        rates : array_like, shape (n,)
            Rates of the actuated freedoms, in the order of ``denoc(q).dofs``, like all forces and accelerations here.

        Examples
        --------
        ``platform.dynamics(q, rates).inverse_dynamics(accelerations)`` gives the forces of the actuators.
        """
        here, state = self.denoc(q), self._closed(q)
        given = as_array(rates, (len(here.dofs),), "rates", "one per actuated freedom, in the order of denoc(q).dofs")
        if given.ndim != 1:
            raise OptionError("the equations are made for one state: give rates of shape (n,)")
        v = self.velocities(state, given[[here.dofs.index(k) for k in self._dofs]])
        return module_above("kinetree_books.parallel_dynamics").ParallelDynamics(here, v.tolist(), given)
