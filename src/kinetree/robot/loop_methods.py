"""What robots with closed loops have beside others: each method is one call into a part of their loops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike

from ..algorithms.algorithm import ALL
from ..errors import ExplainsArguments
from ..former_names import former_arguments
from ..loops import rank
from ..model.spanning import respan
from ..model.tree import Model
from ..run.wrenches import Wrenches
from ..spatial.arrays import Array

if TYPE_CHECKING:
    from ..algorithms.loop_clusters import Pivots
    from ..loops.constraint_forces import ConstraintForces
    from ..loops.coordinates import ByName, Coordinates
    from ..loops.loops import Loops
    from ..loops.mobility import Mobility
    from ..loops.varied_mechanism import MovedDesigns
    from .base_parameters import BaseParameterMethods
    from .platform.platform import Platform


class LoopMethods(ExplainsArguments):
    """The part of :class:`kinetree.Mechanism` that other robots do not have.

    A robot without closed loops answers to these names with :class:`~kinetree.NoLoopsError`.
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
        """One name per constraint: the loop joint and the direction it holds."""
        return self.model.constraint_names

    @property
    def constraint_units(self) -> tuple[str, ...]:
        """Unit of each constraint's gap: ``"m"`` where a force keeps it, ``"rad"`` where a moment does."""
        return self.model.constraint_units

    @property
    def n_constraints(self) -> int:
        """Number of loop constraints, redundant ones included."""
        return self.model.n_constraints

    @property
    def driven(self) -> Array:
        """Which entries of ``tau`` have an actuator."""
        return self._loops.choice.driven

    @property
    def coordinates(self) -> Coordinates:
        """Rank, independent constraints and independent freedoms: chosen once, from the model.

        They are chosen beside ``near`` if that was given, else at the first closed configuration, searched from the
        neutral and from random ones, that is far from singular; so they do not depend on what is asked later.
        Where they are a poor choice, at a singular configuration, dynamics is computed by a method that finds the
        rank there; :meth:`basis`, :meth:`velocities` and whatever else is in independent
        coordinates raises :class:`~kinetree.SingularError`.
        """
        return self._loops.choice.coordinates

    def coordinates_at(self, q: Array) -> Coordinates:
        """Return :attr:`coordinates`; where no closed configuration is known to choose them at, some found at ``q``.

        For computations whose results mean the same whatever the choice.
        """
        return self._loops.choice.at(q)

    @property
    def has_inertia(self) -> bool:
        """Whether all that moves has inertia, with loops open and with loops closed: fixed operations divide by it."""
        return self._loops.prepared.has_inertia

    def elimination_order(self, q: Array) -> Pivots:
        """Return constraints, each with the freedom that it determines, by which loops are gone through in clusters.

        Nothing where they are few, or where that choice cannot be made: then all are taken together.
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
            Joints to cut; chosen by ``rule`` when left out.
        rule : {"minimum_dof", "shortest"}
            Fewest freedoms between the base and every body (Shah), or branches as short as can be (Khalil).
        """
        return self._again(respan(self.model, cuts, rule))

    if TYPE_CHECKING:

        def _again(self, model: Model, **others: Any) -> Self: ...

        def _columns(self, parameters: Any) -> Any: ...

    # ---------------------------------------------------------------- closing the loops

    def loop_gaps(self, q: ArrayLike) -> Array:
        """Return how far each constraint is from being met: meters or radians, (..., constraints)."""
        return self._loops.geometry.gaps(q)

    def loop_jacobian(self, q: ArrayLike) -> Array:
        """Return the matrix K of ``K v = 0``, (..., constraints, nv)."""
        return self._loops.geometry.jacobian(q)

    def loop_drift(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Return ``dK/dt v``, so that accelerations obey ``K a + drift = 0``."""
        return self._loops.geometry.drift(q, v)

    def closure_error(self, q: ArrayLike) -> Array:
        """Return the largest gap of each state."""
        return self._loops.geometry.closure_error(q)

    def check_closed(self, q: ArrayLike, tolerance: float | None = None) -> Array:
        """Return ``q`` as an array; refuse configurations whose loops are open by more than ``tolerance``.

        By default that is 1e-6, or what rounding of the file's numbers leaves.
        """
        return self._loops.choice.check_closed(q, tolerance)

    def close(
        self,
        q_guess: ArrayLike | Mapping[str, Any],
        fixed: Sequence[str] | Mapping[str, Any] | None = None,
        *,
        tolerance: float | None = None,
        must_close: bool = True,
        limits: bool = True,
    ) -> Array:
        """Return the closed configuration nearest to a guess, on the branch the guess belongs to.

        Where that is beyond limits of the joints, hinges are turned by whole turns, or another one within the limits is
        searched from the guess.

        Where numbers in the file are rounded and redundant constraints contradict one another, what remains is least in
        the sense of least squares; a :class:`~kinetree.RoundingWarning` says once how much.

        Parameters
        ----------
        q_guess : array_like, shape (..., nq), or mapping from joint name to position
            Where to begin; joints that a mapping leaves out begin at their zeros.
        fixed : sequence of joint names, or mapping from joint name to position
            Joints that keep their place (or the given one); all others may move. Positions may have a batch's
            shape, for joints with one coordinate with or without a last axis of length one.
        tolerance : float, optional
            Largest gap allowed. By default 1e-10, or what the file's rounded numbers leave.
        must_close : bool
            Raise :class:`ClosureError` where a loop cannot be closed (default), or return NaN there.
        limits : bool
            Whether the position limits of all joints hold (default), or are ignored.

        Examples
        --------
        ``q = four_bar.close(guess, fixed={"crank_joint": 0.3})``
        """
        return self._loops.closing.close(q_guess, fixed, tolerance=tolerance, must_close=must_close, limits=limits)

    def moved(self, q: Array, v: Array) -> Array:
        """Move configurations along velocities for unit time, whether the loops allow these or not."""
        return self._loops.geometry.moved(q, v)

    def project(
        self,
        q: ArrayLike,
        v: ArrayLike | None = None,
        fixed: Sequence[str] | None = None,
        *,
        tolerance: float | None = None,
    ) -> Any:
        """Return the nearest closed configuration; with ``v``, also the nearest velocity the loops allow (in energy).

        Limits of joints are not looked at: a simulation may carry joints beyond them.

        At a change point (a singular configuration where branches meet) the nearest velocity may lie between the
        branches, and no acceleration keeps the loops closed then: a :class:`~kinetree.SingularityWarning` says
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

    def nearest_velocity(self, q: Array, v: ArrayLike, least: float = rank.RELATIVE_TOLERANCE) -> Array:
        """Return the nearest velocity, in energy, that loops allow.

        By constraints weaker than ``least`` it is not changed.
        """
        return self._loops.closing.nearest_velocity(q, v, least)[0]

    def assembled(self, rng: np.random.Generator | int | None = 0, tries: int = 200, *, limits: bool = True) -> Array:
        """Return some closed configuration within the limits of all joints, not a singular one if there are others.

        It is searched from the configurations that the file names (keyframes, the pose as drawn), from the neutral one,
        and then from random ones.  Where one of these is a change point, as linkages are that are drawn folded up or
        stretched out, a closed configuration beside it is taken.

        Parameters
        ----------
        rng : numpy Generator, int or None
            For the random ones.
        tries : int
            How many random ones are tried.
        limits : bool
            Whether limits hold (default), or are ignored.
        """
        return self._loops.closing.assembled(rng, tries, limits=limits)

    def follow(
        self, path: Mapping[str, ArrayLike], q_guess: ArrayLike | None = None, *, limits: bool = True,
        must_reach: bool = True, lead_in: bool = False,
    ) -> Any:  # fmt: skip
        """Return closed configurations along a path of some joints, without jumps by branches or whole turns.

        Points may be far apart: between them it goes in steps as short as it takes to stay on one branch.

        Parameters
        ----------
        path : mapping from joint name to positions, shape (T,)
            Of the motors, or of other joints that the rest follows from; joints of several coordinates (T, n).
        q_guess : array_like, shape (nq,), optional
            From which the first point is closed: it decides about the branch.  :meth:`assembled` by default.
        limits : bool
            Whether the position limits of all joints hold (default), or are ignored.
        must_reach : bool
            Raise :class:`~kinetree.PathError` at the first point that the mechanism cannot come to (default);
            otherwise the answer is a pair: configurations, NaN where there are none, and where there are some, (T,).
        lead_in : bool
            Whether the way from ``q_guess`` to the first point is followed, too: where that is far, the branch is then
            still that of the guess.

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
        self,
        q: ByName,
        v: ByName,
        a: ByName,
        parameters: Any = None,
        *,
        q_guess: ArrayLike | None = None,
        threads: int = 1,
    ) -> MovedDesigns:
        """Move this mechanism, or many designs of it, under given drives, loops closed; return the forces it takes.

        Here dimensions may vary, too: where joints sit, and where loops close.  All is machine code that is made once.

        Parameters
        ----------
        q, v, a : array_like, shape (T, freedoms), or mapping from freedom to samples (T,)
            Samples of the independent freedoms, in the order of :meth:`independent` or by name; from one sample to the
            next a design must find its way, so they are to be close together.
        parameters : mapping, optional
            What varies; the mechanism as it is when left out.  As for :meth:`kinetree.Robot.inverse_dynamics`, with
            a batch in front:
            ``{"joints": {"knee": {"position": places}}}``,
            ``{"loops": {"pin": {"position": places, "seat": seats}}}``, ``{"bodies": {"coupler": {"mass": masses}}}``.
        q_guess : array_like, shape (nq,), optional
            A configuration of the mechanism as it is drawn, on the branch that is meant and beside the first sample;
            :meth:`assembled` by default.
        threads : int

        Returns
        -------
        MovedDesigns
            ``q``, ``v``, ``a``, ``tau``, each (..., T, n), NaN from where on a design cannot follow.

        Examples
        --------
        >>> import numpy as np, kinetree as kt
        >>> four_bar = kt.load("four-bar")
        >>> crank = np.linspace(0, 2 * np.pi, 50)[:, None]
        >>> pins = np.array([[0.038, 0, 0], [0.03, 0, 0], [0.5, 0, 0]])
        >>> moved = four_bar.driven_motion(
        ...     crank, np.ones_like(crank), np.zeros_like(crank), {"loops": {"crank_pin": {"position": pins}}},
        ...     q_guess=kt.gallery.start("four-bar"))
        >>> moved.closed  # a crank of half a meter does not turn
        array([ True,  True, False])
        """
        return self._loops.driven_motion(q, v, a, parameters, q_guess=q_guess, threads=threads)

    # ---------------------------------------------------------------- independent coordinates

    def mobility(self, q: ArrayLike | None = None) -> Mobility:
        """Return degrees of freedom by rank, redundant constraints by name, and whether ``q`` is singular.

        Parameters
        ----------
        q : array_like, shape (nq,), optional
            A closed configuration; one is searched for when left out.
        """
        return self._loops.closing.mobility(q)

    def independent(self, q: ArrayLike | None = None) -> list[str]:
        """Return names of the freedoms that the others follow from: the same at every configuration.

        Parameters
        ----------
        q : array_like, shape (..., nq), optional
            Refused where it is not closed; the answer does not depend on it.
        """
        return self._loops.choice.independent(q)

    def basis(self, q: ArrayLike) -> Array:
        """Return the matrix G of ``v = G v_independent``, (..., nv, freedoms) (Khalil eq. 10.36)."""
        return self._loops.choice.basis(q)

    def velocities(self, q: ArrayLike, v_independent: ByName) -> Array:
        """Return all velocities from the independent ones: in the order of :meth:`independent`, or by their names."""
        return self._loops.choice.velocities(q, v_independent)

    def accelerations(self, q: ArrayLike, v: ArrayLike, a_independent: ByName) -> Array:
        """Return all accelerations from the independent ones (as in :meth:`velocities`), at a closed state."""
        return self._loops.choice.accelerations(q, v, a_independent)

    def reduced_mass_matrix(self, q: ArrayLike) -> Array:
        """Return the mass matrix in independent coordinates, G^T M G."""
        return self._loops.inverse.reduced_mass_matrix(q)

    def reduced_momentum(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Return the momentum that belongs to the independent coordinates, G^T M v.

        Its rate is the force on them at rest.
        """
        return self._loops.inverse.reduced_momentum(q, v)

    def reduced_bias_force(self, q: ArrayLike, v: ArrayLike, wrenches: Wrenches = None) -> Array:
        """Return forces on the independent coordinates when their accelerations are zero."""
        return self._loops.inverse.reduced_bias_force(q, v, wrenches)

    def reduced_regressor(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        *,
        parameters: Sequence[str] | str = ALL,
        friction: bool = False,
        tolerance: float | None = None,
        threads: int = 1,
    ) -> Array:
        """Return the matrix that maps the parameters to the forces on the independent coordinates, G^T Y (Khalil 10.3).

        It belongs to ``basis(q).T @ tau`` of measured joint forces, whichever joints have motors and however many.

        Returns
        -------
        ndarray, shape (..., freedoms, p)
        """
        columns = self._columns(parameters)
        return self._loops.inverse.reduced_regressor(q, v, a, columns, friction, tolerance, threads)

    # ---------------------------------------------------------------- forces

    def constraint_forces(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        wrenches: Wrenches = None,
        *,
        friction: bool = False,
        method: str = "reduced",
        weights: ArrayLike | None = None,
        tolerance: float | None = None,
    ) -> ConstraintForces:
        """Return the actuator forces, multipliers and the reactions at all joints, cut and uncut, of a motion.

        With fewer actuators than freedoms it takes motions that happen by themselves: accelerations from
        :meth:`kinetree.Robot.forward_dynamics` or :meth:`kinetree.Robot.hybrid_dynamics`, of a record, or zero at an
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
        """Return loop forces while joint forces ``tau`` act: the shortest ones where constraints are redundant."""
        return self._loops.forward.multipliers(q, v, tau, wrenches, friction=friction, parameters=parameters)

    def accelerations_by_rank(
        self, q: Array, v: Array, tau: Array, wrenches: Wrenches = None, added_mass: Array | float = 0.0,
        parameters: Any = None,
    ) -> Array:  # fmt: skip
        """Return accelerations at any state, closed or nearly so, by the method that finds the rank where it is asked.

        Parameters
        ----------
        q, v, tau, wrenches
            As in :meth:`kinetree.Robot.forward_dynamics`.
        added_mass : array_like, shape (..., nv, nv)
            What resists accelerations beside the mass matrix, such as heavier rotors on its diagonal.
        parameters
            As in :meth:`kinetree.Robot.forward_dynamics`.
        """
        return self._loops.forward.by_rank(q, v, tau, wrenches, added_mass, parameters)

    def platform(
        self,
        frame: str,
        actuated: Sequence[str] | None = None,
        *,
        orientation: bool = True,
        length: float | None = None,
    ) -> Platform:
        """Return the mechanism as a parallel manipulator that moves ``frame``: kinematics, Jacobians, singularities.

        Parameters
        ----------
        frame : str
            The body or frame that is the platform.
        actuated : sequence of str, optional
            Names of the actuated joints; those marked as actuated in the model by default.
        orientation : bool
            Whether the frame's orientation matters, beside its position: not for a delta robot or a five-bar.
        length : float, optional
            What angles are multiplied with in margins and singularities; by default the length of the motors' links,
            or the platform's size where motors push: see :class:`kinetree.robot.platform.platform.Platform`.
        """
        from .platform.platform import Platform

        return Platform(cast("BaseParameterMethods", self), frame, actuated, orientation=orientation, length=length)
