"""The methods that only robots with closed loops have: each is one call into a part of their loops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike

from ..algorithms.algorithm import ALL
from ..errors import ExplainsArguments
from ..evaluation.wrenches import Wrenches
from ..former_names import former_arguments
from ..loops.tolerances import LEAST
from ..model.spanning import respan
from ..model.tree import Model
from ..spatial.arrays import Array

if TYPE_CHECKING:
    from ..algorithms.loop_clusters import Pivots
    from ..loops.assemblies.search_all import Assemblies
    from ..loops.constraint_forces import ConstraintForces
    from ..loops.coordinates import ByName, Coordinates
    from ..loops.loops import ClosedDerivatives, Loops
    from ..loops.mobility import Mobility
    from ..loops.moved_designs import MovedDesigns, Points
    from .base_parameters import BaseParameterMethods
    from .platform.platform import Platform


class LoopMethods(ExplainsArguments):
    """The part of :class:`kinetree.Mechanism` that other robots do not have.

    A robot without closed loops raises :class:`~kinetree.NoLoopsError` for these names.
    """

    model: Model
    loops: Loops | None

    @property
    def _loops(self) -> Loops:
        assert self.loops is not None
        return self.loops

    @property
    def loop_names(self) -> list[str]:
        """The joints that close loops."""
        return [loop.name for loop in self.model.loops]

    @property
    def constraint_names(self) -> tuple[str, ...]:
        """One name per constraint: the loop joint and the constrained direction."""
        return self.model.constraint_names

    @property
    def constraint_units(self) -> tuple[str, ...]:
        """Unit of each constraint's gap: ``"m"`` if a force maintains it, ``"rad"`` if a moment does."""
        return self.model.constraint_units

    @property
    def n_constraints(self) -> int:
        """Number of loop constraints, including redundant ones."""
        return self.model.n_constraints

    @property
    def driven(self) -> Array:
        """Which entries of ``tau`` have an actuator, (nv,)."""
        return self._loops.choice.driven

    @property
    def coordinates(self) -> Coordinates:
        """Rank, independent constraints and independent freedoms: chosen once, from the model.

        They are chosen near ``q_guess`` if that was given, otherwise at the first closed configuration that is far from
        singular, searched for from the neutral one and from random ones; so they do not depend on what is computed
        later. At configurations that are singular for this choice, dynamics is computed by a method that finds the rank
        there; :meth:`basis`, :meth:`velocities` and everything else in independent coordinates raises
        :class:`~kinetree.SingularError`.
        """
        return self._loops.choice.coordinates

    def coordinates_at(self, q: Array) -> Coordinates:
        """Return :attr:`coordinates`; if no closed configuration is known for that choice, a choice made at ``q``.

        Use this for computations whose results do not depend on the choice.
        """
        return self._loops.choice.at(q)

    @property
    def has_inertia(self) -> bool:
        """Whether everything that moves has inertia, with open and closed loops: fixed operations divide by it."""
        return self._loops.prepared.has_inertia

    def elimination_order(self, q: Array) -> Pivots:
        """Return constraints, each with the freedom that it determines, for the elimination of loops in clusters.

        The result is empty if there are few constraints, or if no such choice exists: then all are solved together.
        """
        return self._loops.prepared.elimination_order(q)

    # ---------------------------------------------------------------- others like this one

    def with_independent(self, names: Sequence[str]) -> Self:
        """Return the same mechanism with other independent freedoms."""
        return self._again(self.model, independent=names)

    def with_cuts(self, cuts: Sequence[str] | None = None, rule: str = "minimum_dof") -> Self:
        """Return the same mechanism with its loops cut at other joints.

        Parameters
        ----------
        cuts : sequence of str, optional
            Joints to cut; by default chosen by ``rule``.
        rule : {"minimum_dof", "shortest"}
            Fewest freedoms between the base and every body (Shah), or shortest branches (Khalil).
        """
        return self._again(respan(self.model, cuts, rule))

    if TYPE_CHECKING:

        def _again(self, model: Model, **others: Any) -> Self: ...

        def _columns(self, parameters: Any) -> Any: ...

    # ---------------------------------------------------------------- closing the loops

    def loop_gaps(self, q: ArrayLike) -> Array:
        """Return the gap of each constraint in meters or radians, (..., constraints)."""
        return self._loops.geometry.gaps(q)

    def loop_jacobian(self, q: ArrayLike) -> Array:
        """Return the matrix K of ``K v = 0``, (..., constraints, nv)."""
        return self._loops.geometry.jacobian(q)

    def loop_drift(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Return ``dK/dt v``, (..., constraints), so that accelerations obey ``K a + drift = 0``."""
        return self._loops.geometry.drift(q, v)

    def closure_error(self, q: ArrayLike) -> Array:
        """Return the largest gap of each state, (...)."""
        return self._loops.geometry.closure_error(q)

    def check_closed(self, q: ArrayLike, tolerance: float | None = None) -> Array:
        """Return ``q`` as an array; refuse configurations whose loops are open by more than ``tolerance``.

        By default that is 1e-6, or more if the file's numbers are rounded.
        """
        return self._loops.choice.check_closed(q, tolerance)

    def close(
        self, q_guess: ArrayLike | Mapping[str, Any], fixed: Sequence[str] | Mapping[str, Any] | None = None, *,
        tolerance: float | None = None, must_close: bool = True, limits: bool = True,
    ) -> Array:  # fmt: skip
        """Return the closed configuration nearest to a guess, on the branch of the guess.

        If it exceeds joint limits, hinges are turned by whole turns, or another configuration within the limits is
        searched for from the guess.

        If numbers in the file are rounded and redundant constraints contradict each other, the remaining gaps are
        minimal in the sense of least squares; a :class:`~kinetree.RoundingWarning` says once how large they are.

        Parameters
        ----------
        q_guess : array_like, shape (..., nq), or mapping from joint name to position
            Where to start; joints that a mapping leaves out start at zero.
        fixed : sequence of joint names, or mapping from joint name to position
            Joints that keep their position (or the given one); all others may move. Positions may have batch axes;
            those of joints with one coordinate may omit the last axis.
        tolerance : float, optional
            Largest gap allowed. By default 1e-10, or more if the file's numbers are rounded.
        must_close : bool
            Whether to raise :class:`ClosureError` if a loop cannot be closed (default), or to return NaN there;
            :meth:`closing_reasons` then says why.
        limits : bool
            Whether all joints obey their position limits (default).

        Returns
        -------
        numpy.ndarray, shape (..., nq)

        Examples
        --------
        >>> import kinetree as kt
        >>> four_bar = kt.load("four-bar")
        >>> q = four_bar.close(four_bar.assembled(), fixed={"crank_joint": 0.3})
        """
        return self._loops.closing.close(q_guess, fixed, tolerance=tolerance, must_close=must_close, limits=limits)

    def closing_reasons(
        self, q_guess: ArrayLike | Mapping[str, Any], fixed: Sequence[str] | Mapping[str, Any] | None = None, *,
        tolerance: float | None = None, limits: bool = True,
    ) -> Array:  # fmt: skip
        """Return why guesses cannot be closed, in words, (...); None where :meth:`close` closes them.

        Parameters
        ----------
        q_guess, fixed, tolerance, limits
            As in :meth:`close`.

        Examples
        --------
        >>> import kinetree as kt
        >>> slider_crank = kt.load("slider-crank")
        >>> stretched = slider_crank.close(slider_crank.assembled()) + [[0.0], [1.0]]
        >>> slider_crank.closing_reasons(stretched).shape
        (2,)
        """
        return self._loops.closing.reasons(q_guess, fixed, tolerance, limits)

    def moved(self, q: Array, v: Array) -> Array:
        """Return configurations, (..., nq), moved along velocities for unit time, whether loops allow them or not."""
        return self._loops.geometry.moved(q, v)

    def project(
        self, q: ArrayLike, v: ArrayLike | None = None, fixed: Sequence[str] | None = None, *,
        tolerance: float | None = None,
    ) -> Any:  # fmt: skip
        """Return the nearest closed configuration; with ``v``, also the nearest velocity (in energy) that loops allow.

        Joint limits are ignored: a simulation may carry joints beyond them.

        At a change point (a singular configuration where branches meet) the nearest velocity may be between the
        branches, and then no acceleration keeps the loops closed: a :class:`~kinetree.SingularityWarning` says
        so, and :meth:`kinetree.Robot.forward_dynamics` refuses that velocity.

        Parameters
        ----------
        q, v : array_like
        fixed, tolerance
            As in :meth:`close`.

        Returns
        -------
        q, or (q, v)
        """
        return self._loops.closing.project(q, v, fixed, tolerance=tolerance)

    def nearest_velocity(self, q: Array, v: ArrayLike, least: float = LEAST) -> Array:
        """Return the nearest velocity (in energy) that loops allow, (..., nv).

        Constraints weaker than ``least`` are ignored.
        """
        return self._loops.closing.nearest_velocity(q, v, least)[0]

    def assembled(self, rng: np.random.Generator | int | None = 0, tries: int = 200, *, limits: bool = True) -> Array:
        """Return a closed configuration, (nq,), within all limits, not a singular one if there are others.

        The search starts from the named configurations of the file (keyframes, the pose as drawn), then from the
        neutral one, then from random ones.  If one of these is a change point, as in linkages that are drawn folded up
        or stretched out, a closed configuration next to it is returned.

        Parameters
        ----------
        rng : numpy Generator, int or None
            Source of randomness, or a seed.
        tries : int
            Number of random configurations to try.
        limits : bool
            Whether joints obey their limits (default).
        """
        return self._loops.closing.assembled(rng, tries, limits=limits)

    def assemblies(
        self, fixed: Sequence[str] | Mapping[str, Any] | None = None, q_guess: ArrayLike | None = None, *,
        distinct: str | Sequence[str] | None = None, starts: int | None = None,
        rng: np.random.Generator | int | None = 0, limits: bool = True,
    ) -> Assemblies:  # fmt: skip
        """Return all closed configurations with some joints held: every way to assemble the mechanism.

        Many random starts are closed in one batch.  For planar mechanisms of hinges with up to seven loops, with slides
        only in loops of their own, the equations are also solved as an eigenvalue problem, which proves that there are
        no other assemblies.

        Parameters
        ----------
        fixed : mapping from joint name to position, or sequence of joint names
            Joints that are held, as many as the mechanism has freedoms.
        q_guess : array_like, shape (nq,), optional
            Positions of held joints that are given by name only.
        distinct : str or sequence of str, optional
            Bodies or frames whose poses distinguish assemblies; all bodies by default.
        starts : int, optional
            Number of random starts; by default as many as it takes to reach each assembly ten times, at most 8192.
        rng : Generator, int or None
            Source of randomness, or a seed.
        limits : bool
            Whether all joints obey their position limits (default).

        Returns
        -------
        Assemblies
            With ``q``, (k, nq), ``met``, ``proven`` and a sentence to print.

        Examples
        --------
        >>> import kinetree as kt
        >>> found = kt.load("four-bar").assemblies({"crank_joint": 0.3})
        >>> len(found), bool(found.proven)  # print(found) says why
        (2, True)
        """
        return self._loops.assemblies(fixed, q_guess, distinct, starts, rng, limits)

    def follow(
        self, path: Mapping[str, ArrayLike], q_guess: ArrayLike | None = None, *, limits: bool = True,
        must_reach: bool = True, lead_in: bool = False,
    ) -> Any:  # fmt: skip
        """Return closed configurations along a path of some joints, without jumps between branches or by whole turns.

        Points may be far apart: steps between them are as short as needed to stay on one branch.

        Parameters
        ----------
        path : mapping from joint name to positions, shape (T,)
            Positions of the motors, or of other joints that determine the rest; (T, n) for joints of several
            coordinates.
        q_guess : array_like, shape (nq,), optional
            Where the search for the first point starts: it decides the branch.  :meth:`assembled` by default.
        limits : bool
            Whether all joints obey their position limits (default).
        must_reach : bool
            Whether to raise :class:`~kinetree.PathError` at the first point that the mechanism cannot reach (default);
            otherwise the result is a pair: configurations, NaN where there are none, and booleans (T,) of which exist;
            its ``reasons``, (T,), say why the others do not.
        lead_in : bool
            Whether to follow the path from ``q_guess`` to the first point, too, so that the branch is that of the guess
            even if it is far away.

        Returns
        -------
        ndarray, shape (T, nq)

        Examples
        --------
        ``q = four_bar.follow({"crank_joint": np.linspace(0, 2 * np.pi, 200)})``
        """
        return self._loops.closing.follow(path, q_guess, limits=limits, must_reach=must_reach, lead_in=lead_in)

    @former_arguments(near="q_guess")
    def driven_motion(
        self, q: ByName, v: ByName, a: ByName, parameters: Any = None, *, q_guess: ArrayLike | None = None,
        points: Points = (), threads: int = 1,
    ) -> MovedDesigns:  # fmt: skip
        """Move this mechanism, or many designs of it, by given drives with closed loops; return motions and forces.

        Here dimensions may vary, too, including the placements of joints and of loop closures.  The machine code is
        made once.

        Parameters
        ----------
        q, v, a : array_like, shape (..., T, freedoms), or mapping from freedom to samples (..., T)
            Samples of the independent freedoms, in the order of :meth:`independent` or by name, either the same for all
            designs or different ones for each.  If they are far apart, designs are moved from one to the next in steps
            that keep them on their branch.
        parameters : mapping, optional
            What varies, as for :meth:`kinetree.Robot.inverse_dynamics`, with a batch in front; by default the mechanism
            itself:
            ``{"joints": {"knee": {"position": places}}}``,
            ``{"loops": {"pin": {"position": places, "seat": seats}}}``, ``{"bodies": {"coupler": {"mass": masses}}}``.
        q_guess : array_like, shape (nq,) or (..., nq), optional
            A configuration of the mechanism itself, on the desired branch, from which all designs are moved to the
            first sample; with a batch in front, closed configurations of the designs.  :meth:`assembled` by default.
        points : str, sequence of str, or mapping from name to (frame, point), optional
            Bodies or frames whose paths to compute, or points in their coordinates: the coupler curves.
        threads : int

        Returns
        -------
        MovedDesigns
            ``q``, ``v``, ``a``, ``tau``, each (..., T, n), and ``points``, (..., T, 3) by name; NaN from the sample on
            that a design cannot follow, and ``reasons`` says why.

        Examples
        --------
        >>> import numpy as np, kinetree as kt
        >>> four_bar = kt.load("four-bar")
        >>> crank = np.linspace(0, 2 * np.pi, 50)[:, None]
        >>> pins = np.array([[0.038, 0, 0], [0.03, 0, 0], [0.5, 0, 0]])
        >>> moved = four_bar.driven_motion(
        ...     crank, np.ones_like(crank), np.zeros_like(crank), {"loops": {"crank_pin": {"position": pins}}},
        ...     q_guess=kt.gallery.start("four-bar"), points={"pen": ("coupler", (0.05, 0.02, 0))})
        >>> moved.closed  # a crank of half a meter does not turn
        array([ True,  True, False])
        >>> moved.points["pen"].shape
        (3, 50, 3)
        """
        return self._loops.driven_motion(q, v, a, parameters, q_guess=q_guess, points=points, threads=threads)

    def close_derivatives(
        self, q: ArrayLike, fixed: Sequence[str] | None = None, parameters: Any = None, *, order: int = 1,
        threads: int = 1,
    ) -> ClosedDerivatives:  # fmt: skip
        """Return exact derivatives of closed configurations with respect to held joints and numbers of the model.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Closed configurations, as :meth:`close` returns them.
        fixed : sequence of joint names, optional
            Joints that determine all others; the independent ones by default.
        parameters : mapping, optional
            Numbers of the model to differentiate with respect to, with their values at q, as for :meth:`driven_motion`:
            ``{"loops": {"pin": {"position": [0.038, 0, 0]}}}``.
        order : {1, 2}
            Highest order of the derivatives: 2 includes second derivatives.
        threads : int

        Returns
        -------
        ClosedDerivatives
            ``names``, ``first``, (..., nq, n), and ``second``, (..., nq, n, n); NaN at dead points, where the held
            joints do not determine the others.

        Examples
        --------
        >>> import kinetree as kt
        >>> four_bar = kt.load("four-bar")
        >>> q = four_bar.close(four_bar.assembled(), fixed={"crank_joint": 0.3})
        >>> slopes = four_bar.close_derivatives(q, parameters={"loops": {"crank_pin": {"position": [0.038, 0, 0]}}})
        >>> slopes.names[0], slopes.first.shape
        ('crank_joint', (3, 4))
        """
        return self._loops.close_derivatives(q, fixed, parameters, order, threads)

    # ---------------------------------------------------------------- independent coordinates

    def mobility(self, q: ArrayLike | None = None) -> Mobility:
        """Return degrees of freedom by rank, redundant constraints by name, and whether ``q`` is singular.

        Parameters
        ----------
        q : array_like, shape (nq,), optional
            A closed configuration; by default one is searched for.
        """
        return self._loops.closing.mobility(q)

    def independent(self, q: ArrayLike | None = None) -> list[str]:
        """Return the names of the freedoms that determine the others, the same at every configuration.

        Parameters
        ----------
        q : array_like, shape (..., nq), optional
            Refused if it is not closed; the result does not depend on it.
        """
        return self._loops.choice.independent(q)

    def basis(self, q: ArrayLike) -> Array:
        """Return the matrix G of ``v = G v_independent``, (..., nv, freedoms) (Khalil eq. 10.36)."""
        return self._loops.choice.basis(q)

    def velocities(self, q: ArrayLike, v_independent: ByName) -> Array:
        """Return all velocities, (..., nv), from independent ones, in the order of :meth:`independent` or by name."""
        return self._loops.choice.velocities(q, v_independent)

    def accelerations(self, q: ArrayLike, v: ArrayLike, a_independent: ByName) -> Array:
        """Return all accelerations, (..., nv), from the independent ones, as :meth:`velocities` takes them."""
        return self._loops.choice.accelerations(q, v, a_independent)

    def reduced_mass_matrix(self, q: ArrayLike) -> Array:
        """Return the mass matrix in independent coordinates, G^T M G: (..., n, n)."""
        return self._loops.inverse.reduced_mass_matrix(q)

    def reduced_momentum(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Return the momentum of the independent coordinates, G^T M v: (..., n).

        Its rate is the force on them at rest.
        """
        return self._loops.inverse.reduced_momentum(q, v)

    def reduced_bias_force(self, q: ArrayLike, v: ArrayLike, wrenches: Wrenches = None) -> Array:
        """Return forces on the independent coordinates, (..., n), when their accelerations are zero."""
        return self._loops.inverse.reduced_bias_force(q, v, wrenches)

    def reduced_inverse_dynamics(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, wrenches: Wrenches = None, *, tolerance: float | None = None
    ) -> Array:
        """Return forces on the independent coordinates for a motion, G^T (M a + h): (..., n).

        It does not matter which joints have motors: if one of :meth:`independent` has none, its entry is the force that
        would be needed there, which is zero for a motion that the motors can produce.
        """
        return self._loops.inverse.reduced_inverse_dynamics(q, v, a, wrenches, tolerance)

    def reduced_regressor(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, *, parameters: Sequence[str] | str = ALL, friction: bool =
        False, tolerance: float | None = None, threads: int = 1,
    ) -> Array:  # fmt: skip
        """Return the matrix that maps the parameters to the forces on the independent coordinates, G^T Y (Khalil 10.3).

        Use it with ``basis(q).T @ tau`` of measured joint forces, whichever joints have motors.

        Returns
        -------
        ndarray, shape (..., freedoms, p)
        """
        columns = self._columns(parameters)
        return self._loops.inverse.reduced_regressor(q, v, a, columns, friction, tolerance, threads)

    # ---------------------------------------------------------------- forces

    def constraint_forces(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, wrenches: Wrenches = None, *, friction: bool = False,
        method: str = "reduced", weights: ArrayLike | None = None, tolerance: float | None = None,
    ) -> ConstraintForces:  # fmt: skip
        """Return the actuator forces, multipliers and the reactions at all joints, cut and uncut, of a motion.

        With fewer actuators than freedoms, the motion must be possible without further forces: accelerations from
        :meth:`kinetree.Robot.forward_dynamics` or :meth:`kinetree.Robot.hybrid_dynamics`, from a record, or zero at an
        equilibrium.

        Parameters
        ----------
        q, v, a, wrenches, friction, method, weights, tolerance
            As in :meth:`kinetree.Robot.inverse_dynamics`.
        """
        return self._loops.inverse.constraint_forces(
            q, v, a, wrenches, friction=friction, method=method, weights=weights, tolerance=tolerance
        )

    def multipliers(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, wrenches: Wrenches = None, *, friction: bool = False,
        parameters: Any = None,
    ) -> Array:  # fmt: skip
        """Return loop forces, (..., constraints), under joint forces ``tau``; the smallest if they are not unique."""
        return self._loops.forward.multipliers(q, v, tau, wrenches, friction=friction, parameters=parameters)

    def accelerations_by_rank(
        self, q: Array, v: Array, tau: Array, wrenches: Wrenches = None, added_mass: Array | float = 0.0,
        parameters: Any = None,
    ) -> Array:  # fmt: skip
        """Return accelerations at any state, closed or nearly so, by the method that determines the rank at each state.

        Parameters
        ----------
        q, v, tau, wrenches
            As in :meth:`kinetree.Robot.forward_dynamics`.
        added_mass : array_like, shape (..., nv, nv)
            Added to the mass matrix, such as heavier rotors on its diagonal.
        parameters
            As in :meth:`kinetree.Robot.forward_dynamics`.
        """
        return self._loops.forward.by_rank(q, v, tau, wrenches, added_mass, parameters)

    def platform(
        self, frame: str, actuated: Sequence[str] | None = None, *, orientation: bool = True,
        length: float | None = None,
    ) -> Platform:  # fmt: skip
        """Return the mechanism as a parallel manipulator that moves ``frame``: kinematics, Jacobians, singularities.

        Parameters
        ----------
        frame : str
            The body or frame that is the platform.
        actuated : sequence of str, optional
            Names of the actuated joints; by default those of the model.
        orientation : bool
            Whether the frame's orientation matters besides its position: not for a delta robot or a five-bar.
        length : float, optional
            Factor of angles in margins and singularities; by default the length of the motors' links, or the platform's
            size for linear motors: see :class:`kinetree.robot.platform.platform.Platform`.
        """
        from .platform.platform import Platform

        return Platform(cast("BaseParameterMethods", self), frame, actuated, orientation=orientation, length=length)
