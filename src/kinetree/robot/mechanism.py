"""Robots with closed loops: four-bars, parallel robots, legs with pantographs.

A :class:`Mechanism` is a robot whose spanning tree carries loop joints.  ``q``, ``v`` and
``tau`` are laid out as those of the tree; a state is *closed* when every loop joint fits.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..algorithms import constrained, constraints, kinematics
from ..algorithms.table import ALGORITHMS
from ..errors import (
    ClosureError,
    OptionError,
    ShapeError,
    SingularError,
    SingularityWarning,
    StateError,
    UnknownNameError,
    UnsupportedError,
    callers_level,
)
from ..loops import closing, coordinates, rank
from ..loops.mobility import Mobility, singular_directions
from ..model.describe import counted
from ..model.tree import Model
from ..run.checks import check_out
from ..run.wrenches import Wrenches, gather
from ..spatial import Force
from ..spatial.arrays import as_array, batch_shape, pack, split
from .robot import Array, Robot

if TYPE_CHECKING:
    from ..export.c_code import Exported
    from ..export.cost import Count
    from ..loops.subsystems.order import SolutionOrder
    from .platform.platform import Platform

TOLERANCE = 1e-6
"""How far a state may be from closed (metres, radians, and their rates relative to 1 + |v|) before it is refused."""

CLOSED = 1e-10
"""Gaps below this are closed, for :meth:`Mechanism.close`."""

BAUMGARTE = (10.0, 10.0)
"""Default stabilisation: gaps decay as exp(-10 t), critically damped."""

LEAST_QUALITY = constrained.LEAST_QUALITY
"""Where the prepared choice of coordinates serves worse than this (a squared sine), the general method steps in."""

SINGLE_TOLERANCE = 1e-4
"""In single precision states closer to closed than this are taken: rounding alone opens loops by some 1e-6."""

LEAST_QUALITY_SINGLE = constrained.LEAST_QUALITY_SINGLE
"""As :data:`LEAST_QUALITY`, in single precision."""

NOISE = 1e-12
"""Entries of K below this, relative to the mechanism's size, are rounding errors."""

INVERSE_METHODS = ("reduced", "f_matrix", "subsystems")
FORWARD_METHODS = ("elimination", "block", "reduced")


@dataclass(frozen=True)
class ConstraintForces:
    """Everything that acts inside a mechanism during a motion; the batch comes first.

    Attributes
    ----------
    tau : ndarray (..., nv)
        Actuator forces, zero at passive joints.
    multipliers : ndarray (..., constraints)
        Forces of the loop joints along their constraints, on the successor; the shortest ones where
        constraints are redundant.
    names : tuple of str
        One per constraint.
    loop_wrenches : ndarray (..., loops, 6)
        Moment and force of each loop joint on its successor, in the joint's moving frame.
    loop_wrenches_world : ndarray (..., loops, 6)
        The same in world axes, at the joint.
    joint_wrenches : ndarray (..., bodies, 6)
        What each joint of the tree transmits to its body, in body axes at the body's origin.
    order : SolutionOrder or None
        Which systems of equations were solved one after the other, for ``method="subsystems"``; ``print`` it.
    """

    tau: Array
    multipliers: Array
    names: tuple[str, ...]
    loop_wrenches: Array
    loop_wrenches_world: Array
    joint_wrenches: Array
    order: SolutionOrder | None = None


class Mechanism(Robot):
    """A robot with closed loops. Made by :func:`kinetree.load` and :meth:`Builder.build` when there are any.

    In single precision the dynamics is computed in float32; what the loops need (gaps, their rates, closed
    configurations) in double.

    Parameters
    ----------
    model : Model
        With loops.
    independent : sequence of str, optional
        Names of the freedoms (as in :attr:`v_names`) that the others follow from; by default the
        actuated ones if they are enough, otherwise chosen by pivoting.

    Examples
    --------
    >>> import kinetree as kt
    >>> b = kt.Builder("parallelogram")
    >>> rod = dict(mass=1, com=(0, 0, -0.5))
    >>> _ = b.body("rod0", "base", kt.Revolute("y"), **rod)
    >>> _ = b.body("rod1", "base", kt.Revolute("y"), position=(1, 0, 0), actuated=False, **rod)
    >>> _ = b.body("coupler", "rod0", kt.Revolute("y"), position=(0, 0, -1), mass=1, com=(0.5, 0, 0), actuated=False)
    >>> _ = b.loop("pin", "coupler", "rod1", kt.Revolute("y"), placement=(1, 0, 0), seat=(0, 0, -1))
    >>> b.build().mobility([0.3, 0.3, -0.3]).freedoms
    1
    """

    def __init__(
        self,
        model: Model,
        *,
        backend: str | None = None,
        precision: str = "double",
        independent: Sequence[str] | None = None,
        cpu: str | None = None,
    ) -> None:
        super().__init__(model, backend=backend, precision=precision, cpu=cpu)
        self._wanted = None if independent is None else tuple(self.entry_index(n) for n in independent)
        self._structure: coordinates.Structure | None = None

    # ---------------------------------------------------------------- what it is

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

    @cached_property
    def tree(self) -> Robot:
        """The spanning tree: the same robot with all loops open; where a cut joint sat, there is a frame."""
        opened = replace(self.model, loops=())
        names = [loop.name for loop in self.model.loops if loop.name not in opened.frame_table]
        frames = (*opened.frames, *(self.model.frame(name) for name in names))
        return Robot(replace(opened, frames=frames), backend=self.backend, precision=self.precision, cpu=self.cpu)

    @cached_property
    def _exact(self) -> Mechanism:
        """The same in double precision: closing loops and telling ranks takes more digits than float32 has."""
        return self if self.precision == "double" else Mechanism(self.model, backend=self.backend, cpu=self.cpu)

    @cached_property
    def driven(self) -> Array:
        """Which entries of ``tau`` have an actuator."""
        return np.array([j.actuated for j in self.model.joints if not j.mimic for _ in range(j.nv)], dtype=bool)

    @cached_property
    def _motors(self) -> tuple[int, ...]:
        """The entries of ``tau`` that have one; if they are the independent ones, fixed operations give them."""
        return tuple(int(j) for j in np.flatnonzero(self.driven))

    def with_independent(self, names: Sequence[str]) -> Mechanism:
        """The same mechanism with other independent freedoms."""
        return Mechanism(
            self.model, backend=self.backend, precision=self.precision, independent=names, cpu=self.cpu
        )  # fmt: skip

    def with_cuts(self, cuts: Sequence[str] | None = None, rule: str = "minimum_dof") -> Robot:
        """The same mechanism with its loops cut at other joints.

        Parameters
        ----------
        cuts : sequence of str, optional
            Joints to cut; chosen by ``rule`` when left out.
        rule : {"minimum_dof", "shortest"}
            Fewest freedoms between the base and every body (000), or branches as short as can be (004).
        """
        from ..model.spanning import respan

        return self._with(respan(self.model, cuts, rule))

    def _rebuilt(self, model: Model, backend: str, precision: str, cpu: str) -> Robot:
        if not model.loops:
            return Robot(model, backend=backend, precision=precision, cpu=cpu)
        again = Mechanism(model, backend=backend, precision=precision, cpu=cpu)
        chosen = [self.v_names[j] for j in self._wanted or ()]
        if chosen and set(chosen) <= set(again.v_names):
            return again.with_independent(chosen)
        return again

    def __repr__(self) -> str:
        bodies = counted(len(self.model.bodies), "body", "bodies")
        loops = counted(len(self.model.loops), "loop", "loops")
        return f"<Mechanism {self.name!r}: {bodies}, {loops}, nq={self.nq}, nv={self.nv}>"

    def __reduce__(self) -> tuple[Any, ...]:
        names = None if self._wanted is None else [self.v_names[j] for j in self._wanted]
        return _restore, (self.model, self.backend, self.precision, names, self.cpu)

    def cost(self, name: str, **options: Any) -> Count:
        """Multiplications, additions, divisions, sines of an algorithm.

        Inverse and forward dynamics are counted with the loops closed, multipliers included, in the
        coordinates of :meth:`independent`; everything else is that of the tree, where it means the same.
        """
        if name in ALGORITHMS and ALGORITHMS[name].tree_only:
            raise self._tree_only(name)
        if name not in ("inverse_dynamics", "forward_dynamics"):
            return self.tree.cost(name, **options)
        if options:
            raise OptionError(f"{name} of a mechanism is counted without options, got {', '.join(options)}")
        from ..export.cost import count_algorithm

        whole, prepared = self._whole_algorithm(name)
        return count_algorithm(self.model, whole, prepared, self.nv + len(prepared["rows"]))

    def codegen(self, directory: Any = ".", algorithms: Sequence[Any] = (), **options: Any) -> Exported:
        """Write algorithms as C; see :meth:`Robot.codegen`.

        Inverse and forward dynamics are written with the loops closed.  Their result is a vector: forces (or
        accelerations), then multipliers of the independent constraints, a quality between 0 and 1 (below
        1e-8 the configuration is too near a singular one for the coordinates chosen), and the squared
        residuals of positions, velocities and accelerations.
        """
        from ..export import c_code

        wanted: list[Any] = [algorithms] if isinstance(algorithms, str) else list(algorithms)
        chosen = []
        for item in wanted or ["inverse_dynamics", "forward_dynamics"]:
            name, own = (item, {}) if isinstance(item, str) else item
            if name in ("inverse_dynamics", "forward_dynamics"):
                if own:
                    raise OptionError(f"{name} of a mechanism is written without options, got {', '.join(own)}")
                chosen.append(self._whole_algorithm(name))
            elif name in ALGORITHMS and ALGORITHMS[name].tree_only:
                raise self._tree_only(name)
            else:
                chosen.append(item)
        return c_code.codegen(self, directory, chosen, **options)

    def _whole_algorithm(self, name: str) -> tuple[str, dict[str, Any]]:
        """The algorithm that does a mechanism's inverse or forward dynamics at once, and its choices."""
        known = self._structure or self._known(self.assembled())
        if name == "forward_dynamics":
            return "closed_forward_dynamics", {"rows": known.rows, "stabilisation": (0.0, 0.0)}
        if known.independent != self._motors:
            raise UnsupportedError(
                f"the actuated joints of {self.name!r} are not its independent freedoms, so its inverse dynamics is "
                "no fixed sequence of operations; count or export forward_dynamics, or the tree's"
            )
        return "closed_inverse_dynamics", {"rows": known.rows, "dependent": known.dependent}

    def _compiled_form(self, request: Any) -> tuple[str, dict[str, Any]]:
        """Inverse and forward dynamics run with the loops closed; everything else is that of the tree."""
        if request in ("inverse_dynamics", "forward_dynamics"):
            with suppress(UnsupportedError):  # then it is done in several steps, of which this is one
                return self._whole_algorithm(request)
        return super()._compiled_form(request)

    # ---------------------------------------------------------------- closing the loops

    def loop_gaps(self, q: ArrayLike) -> Array:
        """How far each constraint is from being met: metres or radians, (..., constraints)."""
        return self._exact.evaluator.run("loop_gaps", q=q)

    def loop_jacobian(self, q: ArrayLike) -> Array:
        """The matrix K of ``K v = 0``, (..., constraints, nv)."""
        entries = self._exact.evaluator.run("loop_jacobian_entries", q=q)
        k = np.zeros((*entries.shape[:-1], self.n_constraints * self.nv), dtype=entries.dtype)
        k[..., self._places] = entries
        return k.reshape(*entries.shape[:-1], self.n_constraints, self.nv)

    @cached_property
    def _places(self) -> Array:
        """Where in K its entries that are not always zero sit."""
        return np.array([i * self.nv + j for i, j in constraints.pattern(self.model)], dtype=int)

    def loop_drift(self, q: ArrayLike, v: ArrayLike) -> Array:
        """``dK/dt v``, so that accelerations obey ``K a + drift = 0``."""
        return self._exact.evaluator.run("loop_drift", q=q, v=v)

    def closure_error(self, q: ArrayLike) -> Array:
        """The largest gap of each state."""
        return np.abs(self.loop_gaps(q)).max(axis=-1, initial=0.0)

    def close(
        self,
        q_guess: ArrayLike,
        fixed: Sequence[str] | Mapping[str, Any] | None = None,
        *,
        tolerance: float = CLOSED,
        must_close: bool = True,
    ) -> Array:
        """The closed configuration nearest to a guess, on the branch the guess belongs to.

        Parameters
        ----------
        q_guess : array_like, shape (..., nq)
        fixed : sequence of joint names, or mapping from joint name to position
            Joints that keep their place (or the given one); all others may move. Positions may have a batch's
            shape, for joints with one coordinate with or without a last axis of length one.
        tolerance : float
            Largest gap allowed.
        must_close : bool
            Raise :class:`ClosureError` where a loop cannot be closed (default), or return NaN there.

        Examples
        --------
        ``q = four_bar.close(guess, fixed={"crank_joint": 0.3})``
        """
        if not tolerance > 0.0:
            raise OptionError(f"tolerance must be positive, not {tolerance!r}: rounding leaves gaps of some 1e-16")
        q, free = self._held(np.array(self.evaluator.states.configuration(q_guess, "q_guess"), dtype=float), fixed)
        batch = q.shape[:-1]
        guesses = q.reshape(-1, self.nq)
        result = closing.close(guesses, free, self.loop_gaps, self.loop_jacobian, self._moved, tolerance)
        bad = ~result.done & np.isfinite(guesses).all(axis=-1)
        if must_close and bad.any():
            raise ClosureError(self._open_message(result.gaps, bad, batch, fixed))
        closed = np.where(result.done[:, None], result.q, np.nan)
        return closed.reshape(*batch, self.nq)

    def _held(self, q: Array, fixed: Sequence[str] | Mapping[str, Any] | None) -> tuple[Array, Array]:
        """Put joints where they are to stay, and say which freedoms are left."""
        if isinstance(fixed, str):
            raise OptionError(f"fixed is a list of names of joints; for a single one write [{fixed!r}]")
        free = np.ones(self.nv, dtype=bool)
        values = {}
        for name in fixed or ():
            joint = self.model.joint(name)
            if joint.mimic:
                raise OptionError(f"joint {name!r} mimics {joint.mimic.leader!r} and cannot be held itself: hold that")
            free[joint.v_slice] = False
            if isinstance(fixed, Mapping):
                value = as_array(fixed[name], (), f"the position of {name!r}")
                value = value[..., None] if joint.nq == 1 and value.shape[-1:] != (1,) else value
                values[name] = as_array(value, (joint.nq,), f"the position of {name!r}")
        batch = batch_shape(q_guess=(q, 1), **{f"the position of {name!r}": (x, 1) for name, x in values.items()})
        q = np.broadcast_to(q, (*batch, self.nq)).copy()
        for name, value in values.items():
            q[..., self.model.joint(name).q_slice] = value
        return q, free

    def _moved(self, q: Array, v: Array) -> Array:
        return self.normalize(self._exact.integrate(q, v))

    def _open_message(self, gaps: Array, bad: Array, batch: tuple[int, ...], fixed: Any) -> str:
        lane = int(np.flatnonzero(bad)[0])
        name, left, unit = self._widest(gaps[lane])
        where = f" in state {tuple(int(i) for i in np.unravel_index(lane, batch))}" if batch else ""
        held = f" with {', '.join(fixed)} held" if fixed else ""
        return (
            f"the loops of {self.name!r} cannot be closed{where}{held}: {left:.3g} {unit} remain at "
            f"joint {name!r}. Start from a guess nearer to an assembled configuration, or hold other joints"
        )

    def _widest(self, gaps: Array) -> tuple[str, float, str]:
        """The constraint of one state that is off most, by how much, and in which unit."""
        # half a turn off counts as infinitely far, and gaps beside it may not be numbers
        off = np.where(np.isnan(gaps), 0.0, np.abs(gaps))
        worst = int(off.argmax())
        name, unit = self.constraint_names[worst], self.constraint_units[worst]
        # gaps of directions are twice the tangent of half the angle
        return name, float(2.0 * np.arctan(0.5 * off[worst]) if unit == "rad" else off[worst]), unit

    def project(self, q: ArrayLike, v: ArrayLike | None = None, fixed: Sequence[str] | None = None) -> Any:
        """The nearest closed configuration; with ``v``, also the nearest velocity the loops allow (in energy).

        Returns
        -------
        q, or (q, v)
        """
        closed = self.close(q, fixed)
        return closed if v is None else (closed, self._nearest_velocity(closed, v))

    def _nearest_velocity(self, q: Array, v: ArrayLike, least: float = rank.RELATIVE_TOLERANCE) -> Array:
        """The nearest velocity, in energy, that loops allow; by constraints weaker than ``least`` it is not changed."""
        v = as_array(v, (self.nv,), "v")
        k = self.loop_jacobian(q)
        m = self._exact.tree.mass_matrix(q)
        batch = np.broadcast_shapes(q.shape[:-1], v.shape[:-1])
        basis, _ = rank.motions(k, self._known(q).rank, self._size, least)
        reduced = np.swapaxes(basis, -1, -2) @ m @ basis
        momentum = np.swapaxes(basis, -1, -2) @ (m @ np.broadcast_to(v, (*batch, self.nv))[..., None])
        return np.asarray((basis @ rank.least_squares(reduced, momentum))[..., 0])

    # ---------------------------------------------------------------- mobility

    def _known(self, q: Array) -> coordinates.Structure:
        """Rank and choices of coordinates, found at the first closed configuration that comes along."""
        if self._structure is None:
            finite = q.reshape(-1, self.nq)
            finite = finite[np.isfinite(finite).all(axis=-1)]
            if not len(finite):  # numbers for nobody, but as many as there would be
                finite = self._anywhere[None]
            # constraints that depend on one another where the loops are closed need not do so beside it
            first = self.close(finite[0], must_close=False)
            if not np.isfinite(first).all():
                return self._found(finite[:1])
            samples = np.concatenate([first[None], self._neighbours(first)])
            self._structure = self._found(samples)
        return self._structure

    @cached_property
    def _anywhere(self) -> Array:
        """Closed if possible: where a configuration that is none is taken to be."""
        try:
            return self.assembled()
        except ClosureError:
            return self.neutral()

    def _found(self, samples: Array) -> coordinates.Structure:
        return coordinates.find(self.loop_jacobian(samples), self.driven, self._wanted, self.v_names, self._size)

    @cached_property
    def _size(self) -> float:
        return constraints.usual_size(self.model)

    def _neighbours(self, q: Array) -> Array:
        """Closed configurations a little way off: a singular one must not decide the rank."""
        generator = np.random.default_rng(0)
        k = self.loop_jacobian(q[None])[0]
        basis = rank.null_space(k, int(rank.numerical_rank(k, self._size)))
        sizes = np.array([0.02, 0.05, 0.1, 0.2, 0.3])
        moves = sizes[:, None] * generator.standard_normal((len(sizes), basis.shape[1])) @ basis.T
        near = self.close(self._moved(q, moves), must_close=False)
        return np.asarray(near[np.isfinite(near).all(axis=-1)])

    def assembled(self, rng: np.random.Generator | int | None = 0, tries: int = 200) -> Array:
        """Some closed configuration, searched from the neutral one and then from random ones."""
        generator = np.random.default_rng(rng)
        guesses = np.concatenate([self.neutral()[None], self.random_configuration(generator, tries)])
        for part in np.array_split(guesses, max(1, tries // 20)):
            closed = self.close(part, must_close=False)
            good = np.flatnonzero(np.isfinite(closed).all(axis=-1))
            if len(good):
                return np.asarray(closed[good[0]])
        raise ClosureError(
            f"no closed configuration of {self.name!r} was found from {tries} random guesses: give a guess to close()"
        )

    def mobility(self, q: ArrayLike | None = None) -> Mobility:
        """Degrees of freedom by rank, redundant constraints by name, and whether ``q`` is singular.

        Parameters
        ----------
        q : array_like, shape (nq,), optional
            A closed configuration; one is searched for when left out.
        """
        state = self.assembled() if q is None else self._closed_q(q)
        if state.ndim != 1:
            raise OptionError("mobility looks at one configuration at a time: give q of shape (nq,)")
        if not np.isfinite(state).all():
            raise StateError("the configuration holds NaN or infinity: nothing can be said about it")
        known = self._known(state)
        here, opening, still = singular_directions(self.loop_jacobian(state[None])[0], known.rank, self._size)
        names = self.v_names
        redundant = tuple(n for i, n in enumerate(self.constraint_names) if i not in known.rows)
        return Mobility(
            self.nv - known.rank, self.nv - self.n_constraints, self.n_constraints, known.rank, redundant,
            tuple(names[j] for j in known.independent), here < known.rank, opening, tuple(names[j] for j in still),
        )  # fmt: skip

    def _closed_q(self, q: ArrayLike, tolerance: float = TOLERANCE) -> Array:
        array = self.evaluator.states.configuration(q)
        self._refuse_open(array, self.closure_error(array), self._granted(tolerance))
        return array

    def independent(self, q: ArrayLike | None = None) -> list[str]:
        """Names of the freedoms that the others follow from."""
        if self._structure is None:
            self._known(self.assembled() if q is None else self._closed_q(q))
        assert self._structure is not None
        return [self.v_names[j] for j in self._structure.independent]

    def basis(self, q: ArrayLike) -> Array:
        """The matrix G of ``v = G v_independent``, (..., nv, freedoms) (004 eq. 10.36)."""
        state = self._closed_q(q)
        known = self._known(state)
        return self._basis(self.loop_jacobian(state), known)

    def _basis(self, k: Array, known: coordinates.Structure) -> Array:
        dependent, independent = list(known.dependent), list(known.independent)
        g = np.zeros((*k.shape[:-2], self.nv, len(independent)))
        g[..., independent, range(len(independent))] = 1.0
        if dependent:
            g[..., dependent, :] = self._follow(k, -k[..., independent], known)
        return g

    def _follow(self, k: Array, rhs: Array, known: coordinates.Structure) -> Array:
        """Solve ``K_d x = rhs`` where the dependent freedoms do follow."""
        columns = k[..., list(known.dependent)]
        found = rank.numerical_rank(columns, self._size) < known.rank
        if (found & np.isfinite(columns).all(axis=(-1, -2))).any():
            listed = ", ".join(self.v_names[j] for j in known.independent)
            raise SingularError(
                f"singular configuration: the mechanism's motion does not follow from {listed} here; "
                "see mobility(q), or choose others with with_independent([...])"
            )
        return rank.least_squares(columns, rhs, known.rank)

    def velocities(self, q: ArrayLike, v_independent: ArrayLike) -> Array:
        """All velocities from the independent ones (in the order of :meth:`independent`)."""
        state = self._closed_q(q)
        known = self._known(state)
        given = as_array(v_independent, (len(known.independent),), "v_independent", "one per independent freedom")
        return np.asarray((self._basis(self.loop_jacobian(state), known) @ given[..., None])[..., 0])

    def accelerations(self, q: ArrayLike, v: ArrayLike, a_independent: ArrayLike) -> Array:
        """All accelerations from the independent ones, at a closed state."""
        state = self._closed_q(q)
        known = self._known(state)
        given = as_array(a_independent, (len(known.independent),), "a_independent", "one per independent freedom")
        k, bias = self.loop_jacobian(state), self.loop_drift(state, v)
        moved = (self._basis(k, known) @ given[..., None])[..., 0]
        batch = np.broadcast_shapes(moved.shape[:-1], bias.shape[:-1])
        a = np.array(np.broadcast_to(moved, (*batch, self.nv)))
        if known.dependent:
            a[..., list(known.dependent)] += self._follow(k, -bias[..., None], known)[..., 0]
        return a

    def platform(self, frame: str, **options: Any) -> Platform:
        """The mechanism as a parallel manipulator that moves ``frame``: kinematics, Jacobians, singularities.

        Parameters
        ----------
        frame : str
            The body or frame that is the platform.
        **options
            See :class:`kinetree.robot.platform.platform.Platform`.
        """
        from .platform.platform import Platform

        return Platform(self, frame, **options)

    # ---------------------------------------------------------------- inverse dynamics

    def inverse_dynamics(  # type: ignore[override]
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        wrenches: Wrenches = None,
        *,
        friction: bool = False,
        method: str = "reduced",
        weights: ArrayLike | None = None,
        tolerance: float = TOLERANCE,
        out: Array | None = None,
        threads: int = 1,
    ) -> Array:
        """Actuator forces for a motion, laid out like ``v``, zero at passive joints.

        Parameters
        ----------
        q, v, a : array_like
            A motion that the loops allow: see :meth:`close`, :meth:`velocities`, :meth:`accelerations`.
        wrenches, friction, out, threads
            As for any robot.
        method : {"reduced", "f_matrix", "subsystems"}
            G^T tau of the tree (004), all unknowns at once (000 eq. 8.4), or subsystem by subsystem (001, 000).
        weights : array_like, shape (nv,), optional
            With more actuators than freedoms: the forces that minimise ``sum(weights * tau**2)`` are
            returned; all weights 1 by default.
        tolerance : float
            How far from closed the motion may be.
        """
        if method not in INVERSE_METHODS:
            raise UnknownNameError("method of inverse dynamics", method, INVERSE_METHODS)
        tau = (
            self._prepared_inverse(q, v, a, wrenches, tolerance, threads)
            if method == "reduced" and not (friction or weights is not None)
            else None
        )
        if tau is None:
            tau = self._inverse(q, v, a, wrenches, friction, method, weights, tolerance)[0]
        return self._handed_out(tau, out)

    def _handed_out(self, result: Array, out: Array | None) -> Array:
        """In the robot's precision, where the caller wants it."""
        if out is None:
            return result if self.precision == "double" else result.astype(np.float32, copy=False)
        check_out(out, result.shape)
        out[...] = result
        return out

    def _prepared_inverse(
        self, q: Any, v: Any, a: Any, wrenches: Wrenches, tolerance: float, threads: int
    ) -> Array | None:
        """One pass with the coordinates chosen beforehand; None where that cannot be."""
        state, v, a = self.evaluator.states.configuration(q), as_array(v, (self.nv,), "v"), as_array(a, (self.nv,), "a")
        known = self._structure or self._known(self._closed_q(state, tolerance))
        if known.independent != self._motors:
            return None
        options = {"rows": known.rows, "dependent": known.dependent}
        whole = self._at_once("closed_inverse_dynamics", options, wrenches, threads, q=state, v=v, a=a)
        if whole is None:
            return None
        self._judge(whole[..., -3:], tolerance, state, v, a)
        if (whole[..., -4] < self._least_quality).any():
            return None
        return np.asarray(whole[..., : self.nv])

    def _at_once(
        self, name: str, options: dict[str, Any], wrenches: Wrenches, threads: int, **state: Any
    ) -> Array | None:
        """Forces or accelerations, multipliers, quality and residuals, straight from machine code if possible.

        None where a pivot is exactly zero and the reference, which leaves out zeros, stops at it.
        """
        try:
            return self.evaluator.run(name, options, wrenches=wrenches, threads=threads, **state)
        except ZeroDivisionError:
            return None

    @property
    def _least_quality(self) -> float:
        return LEAST_QUALITY if self.precision == "double" else LEAST_QUALITY_SINGLE

    def _granted(self, tolerance: float) -> float:
        if not tolerance >= 0.0:
            raise OptionError(f"tolerance must not be negative, got {tolerance!r}")
        return tolerance if self.precision == "double" else max(tolerance, SINGLE_TOLERANCE)

    def _judge(self, squares: Array, tolerance: float, q: Array, v: Any, a: Any = None) -> None:
        """Refuse motions that the loops do not allow."""
        tolerance = self._granted(tolerance)
        if tolerance == np.inf or not (squares > tolerance * tolerance).any():
            return
        self._refuse_open(q, np.sqrt(squares[..., 0]), tolerance)
        speed = np.linalg.norm(as_array(v, (self.nv,), "v"), axis=-1)
        self._refuse(
            np.sqrt(squares[..., 1]) / (1.0 + speed), tolerance, "velocity", "relative to 1 + |v|",
            "project(q, v) makes it so, velocities(q, v_independent) builds one",
        )  # fmt: skip
        if a is not None:
            size = speed + np.linalg.norm(as_array(a, (self.nv,), "a"), axis=-1)
            self._refuse(
                np.sqrt(squares[..., 2]) / (1.0 + size), tolerance, "acceleration", "relative to 1 + |v| + |a|",
                "accelerations(q, v, a_independent) builds one",
            )  # fmt: skip

    def _refuse_open(self, q: Array, error: Array, tolerance: float) -> None:
        """Refuse configurations with open loops; says which joint is off most."""
        bad = error > tolerance
        if bad.any():
            lane, where = _first(bad)
            states = np.broadcast_to(q, (*bad.shape, self.nq))
            name, left, unit = self._widest(self.loop_gaps(states[lane]))
            raise StateError(
                f"the loops of {self.name!r} do not allow this configuration{where}: it is off by {left:.3g} {unit} at "
                f"joint {name!r}, more than {tolerance:g}; robot.close(q) closes it"
            )

    def _refuse(self, error: Array, tolerance: float, what: str, unit: str, advice: str) -> None:
        bad = error > tolerance
        if bad.any():
            lane, where = _first(bad)
            raise StateError(
                f"the loops of {self.name!r} do not allow this {what}{where}: it is off by {error[lane]:.3g} ({unit}), "
                f"more than {tolerance:g}; {advice}"
            )

    def _inverse(
        self, q: Any, v: Any, a: Any, wrenches: Wrenches, friction: bool, method: str, weights: Any, tolerance: float
    ) -> tuple[Array, Array, SolutionOrder | None]:
        """Actuator forces, shortest multipliers, and the order of solution, by a rank-revealing method."""
        state, v, a = self.evaluator.states.configuration(q), as_array(v, (self.nv,), "v"), as_array(a, (self.nv,), "a")
        tau = self._exact.tree.inverse_dynamics(state, v, a, wrenches, friction=friction)
        k = self.loop_jacobian(state)
        gaps, speeds = self.loop_gaps(state), (k @ v[..., None])[..., 0]
        left = (k @ a[..., None])[..., 0] + self.loop_drift(state, v)
        sums = [(x * x).sum(axis=-1) for x in (gaps, speeds, left)]
        self._judge(np.stack(np.broadcast_arrays(*sums), axis=-1), tolerance, state, v, a)
        known = self._known(state)
        cost = np.ones(self.nv) if weights is None else as_array(weights, (self.nv,), "weights")
        if cost.shape != (self.nv,):
            raise ShapeError(f"weights must have shape ({self.nv},), the same for all states, got {cost.shape}")
        if not (np.isfinite(cost[self.driven]) & (cost[self.driven] > 0.0)).all():
            raise OptionError("weights must be positive, finite numbers at every actuated joint")
        self._enough_actuators(k, known)
        k = np.broadcast_to(k, (*tau.shape[:-1], *k.shape[-2:]))
        order: SolutionOrder | None = None
        if method == "subsystems":
            from ..loops.subsystems import recursion

            entries = np.where(np.abs(k) < NOISE * self._size, 0.0, k)
            solution = recursion.solve(self.model, tau, entries, self.driven, cost)
            forces, order = solution.tau, solution.order
        elif method == "f_matrix":
            forces = self._by_f_matrix(tau, k, known, cost)
        else:
            forces = self._by_null_space(tau, k, known, cost)
        left = (tau - forces)[..., None]
        multipliers = rank.least_squares(np.swapaxes(k, -1, -2), left, known.rank, self._size)[..., 0]
        return forces, multipliers, order

    def _enough_actuators(self, k: Array, known: coordinates.Structure) -> None:
        freedoms, count = self.nv - known.rank, int(self.driven.sum())
        if count < freedoms:
            listed = ", ".join(n for n, d in zip(self.v_names, self.driven, strict=True) if d) or "none"
            raise SingularError(
                f"{self.name!r} has {freedoms} freedoms but {count} actuators ({listed}): they cannot produce any "
                "motion asked for. Mark more joints as actuated; forward_dynamics needs none"
            )
        basis, counts = rank.motions(k, known.rank, self._size)
        moved = basis[..., self.driven, :]
        short = rank.numerical_rank(moved, 1.0) < counts.sum(axis=-1)
        bad = short & np.isfinite(moved).all(axis=(-1, -2))
        if bad.any():
            lane = np.unravel_index(int(np.argmax(bad)), bad.shape)
            where = f" in state {tuple(int(i) for i in lane)}" if bad.ndim else ""
            listed = ", ".join(n for n, d in zip(self.v_names, self.driven, strict=True) if d)
            raise SingularError(
                f"singular configuration of {self.name!r}{where}, or motors in the wrong places: the actuators "
                f"({listed}) have no hold on one of its motions (see mobility(q)), so their forces are not determined"
            )

    def _by_null_space(self, tau: Array, k: Array, known: coordinates.Structure, cost: Array) -> Array:
        """Minimise the weighted forces under N^T (B u - tau) = 0, N spanning the motions the loops allow."""
        n = np.swapaxes(rank.motions(k, known.rank, self._size)[0], -1, -2)
        scale = 1.0 / np.sqrt(cost[self.driven])
        forces = np.zeros_like(tau)
        forces[..., self.driven] = scale * rank.least_squares(n[..., self.driven] * scale, n @ tau[..., None])[..., 0]
        return forces

    def _by_f_matrix(self, tau: Array, k: Array, known: coordinates.Structure, cost: Array) -> Array:
        """All actuator forces and multipliers at once (000 eq. 8.4).

        Redundant constraints are left out; with redundant actuators the system is bordered
        by the conditions for the least weighted forces.
        """
        driven, (rows, kept) = list(self._motors), self._local_rows(k, known)
        batch, nv, nu, nc = tau.shape[:-1], self.nv, len(driven), known.rank
        f = np.zeros((*batch, nv, nu + nc))
        f[..., driven, range(nu)] = 1.0
        f[..., nu:] = np.swapaxes(rows, -1, -2)
        if nu + nc == nv and kept.all():
            unknown = np.linalg.solve(f, tau[..., None])[..., 0]
        else:
            size = nu + nc + nv
            bordered = np.zeros((*batch, size, size))
            bordered[..., range(nu), range(nu)] = cost[driven]
            bordered[..., range(nu, nu + nc), range(nu, nu + nc)] = ~kept  # the rows that singular states lack
            bordered[..., : nu + nc, nu + nc :] = np.swapaxes(f, -1, -2)
            bordered[..., nu + nc :, : nu + nc] = f
            rhs = np.concatenate([np.zeros((*batch, nu + nc)), tau], axis=-1)
            unknown = np.linalg.solve(bordered, rhs[..., None])[..., 0]
        forces = np.zeros_like(tau)
        forces[..., driven] = unknown[..., :nu]
        return forces

    def _local_rows(self, k: Array, known: coordinates.Structure) -> tuple[Array, Array]:
        """Orthonormal rows that span K's, zero from where it has no more of them, and which are there."""
        _, s, vt, kept = rank.decompose(k, None, self._size)
        there = (kept | np.isnan(s))[..., : known.rank]
        return np.where(there[..., None], vt[..., : known.rank, :], 0.0), there

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
        tolerance: float = TOLERANCE,
    ) -> ConstraintForces:
        """Actuator forces, multipliers and the reactions at all joints, cut and uncut, of a motion.

        Parameters
        ----------
        q, v, a, wrenches, friction, method, weights, tolerance
            As in :meth:`inverse_dynamics`.
        """
        if method not in INVERSE_METHODS:
            raise UnknownNameError("method of inverse dynamics", method, INVERSE_METHODS)
        tau, multipliers, order = self._inverse(q, v, a, wrenches, friction, method, weights, tolerance)
        state = self.evaluator.states.configuration(q)
        own, world, on_bodies = self._loop_wrenches(state, multipliers)
        outside = self._body_loads(wrenches, state)
        reactions = self._exact.tree.joint_wrenches(state, v, a, on_bodies + outside)
        return ConstraintForces(tau, multipliers, self.constraint_names, own, world, reactions, order)

    def _loop_wrenches(self, q: Array, multipliers: Array) -> tuple[Array, Array, Array]:
        """Loop forces in joint axes, in world axes, and as loads on the bodies."""
        batch = batch_shape(q=(q, 1), multipliers=(multipliers, 1))
        with np.errstate(all="ignore"):
            posed = kinematics.poses(self.model, split(q))
            own = constraints.loop_wrenches(self.model, split(q), split(multipliers), posed)
            loads = constraints.loads_on_bodies(self.model, split(q), own, posed)
            world = []
            for loop, wrench in zip(self.model.loops, own, strict=True):
                pose = loop.seat.spatial()
                if loop.successor >= 0:
                    pose = posed[loop.successor].pose @ pose
                world.append(Force(pose.rotate(wrench.moment), pose.rotate(wrench.force)))
            on_bodies = [[0.0] * 6 if f is None else list(f) for f in loads]
            return pack(own, batch), pack(world, batch), pack(on_bodies, batch)

    def _body_loads(self, wrenches: Wrenches, q: Array) -> Array:
        with np.errstate(all="ignore"):
            given = gather(self.model, wrenches)
            loads = self.evaluator.loads(given, q)
            batch = batch_shape(q=(q, 1), **({} if given.numbers is None else {"wrenches": (given.numbers, 1)}))
            return pack([[0.0] * 6 if f is None else list(f) for f in loads], batch)

    # ---------------------------------------------------------------- forward dynamics

    def forward_dynamics(  # type: ignore[override]
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        wrenches: Wrenches = None,
        *,
        friction: bool = False,
        method: str = "elimination",
        stabilisation: bool | tuple[float, float] = False,
        project: bool = False,
        tolerance: float = TOLERANCE,
        out: Array | None = None,
        threads: int = 1,
    ) -> Array:
        """Accelerations that joint forces cause while the loops stay closed.

        Parameters
        ----------
        q, v, tau : array_like
            A closed state; forces on all joints of the tree, passive ones included.
        wrenches, friction, out, threads
            As for any robot.
        method : {"elimination", "block", "reduced"}
            Multipliers first, by the tree's factors (000 eq. 8.6-8.7); accelerations and multipliers at once
            (000 eq. 8.5); or the equations of the independent motions (004 eq. 10.46). The answer is the same.
        stabilisation : bool or (alpha, beta)
            Baumgarte's terms, which pull a state that has drifted back to closure: K a = -drift - 2 alpha K v
            - beta**2 gap. True means alpha = beta = 10 1/s. The state may then be off by any amount.
        project : bool
            Replace ``v`` by the nearest velocity the loops allow instead of refusing it.
        tolerance : float
            How far from closed the state may be.
        """
        if method not in FORWARD_METHODS:
            raise UnknownNameError("method of forward dynamics", method, FORWARD_METHODS)
        gains = _gains(stabilisation)
        if project:
            q, v = self.project(q, v)
        if any(gains):
            tolerance = np.inf
        a = self._forward(q, v, tau, wrenches, friction, method, gains, tolerance, threads)[0]
        return self._handed_out(a, out)

    def _forward(
        self, q: Any, v: Any, tau: Any, wrenches: Wrenches, friction: bool, method: str, gains: tuple[float, float],
        tolerance: float, threads: int = 1,
    ) -> tuple[Array, Array | None]:  # fmt: skip
        """Accelerations, and multipliers where they come with the method."""
        state, v, tau = (
            self.evaluator.states.configuration(q),
            as_array(v, (self.nv,), "v"),
            as_array(tau, (self.nv,), "tau"),
        )
        if friction:
            tau = tau - self.friction_force(v)
        known = self._structure or self._known(self._closed_q(state, tolerance))
        if method == "elimination" and self.tree.evaluator.singular_joint() is None:
            options = {"rows": known.rows, "stabilisation": gains}
            whole = self._at_once("closed_forward_dynamics", options, wrenches, threads, q=state, v=v, tau=tau)
            if whole is not None:
                self._judge(whole[..., -3:], tolerance, state, v)
                if not (whole[..., -4] < self._least_quality).any():
                    return np.asarray(whole[..., : self.nv]), None
        return self._by_rank(state, v, tau, wrenches, method, gains, tolerance, known)

    def _by_rank(
        self, q: Array, v: Array, tau: Array, wrenches: Wrenches, method: str, gains: tuple[float, float],
        tolerance: float, known: coordinates.Structure,
    ) -> tuple[Array, Array]:  # fmt: skip
        """Rank-revealing: K = U S V^T, so V_r^T a is given, and the rest moves freely."""
        force = tau - self._exact.tree.bias_force(q, v, wrenches)
        batch = force.shape[:-1]
        m = np.broadcast_to(self._exact.tree.mass_matrix(q), (*batch, self.nv, self.nv))
        k = np.broadcast_to(self.loop_jacobian(q), (*batch, self.n_constraints, self.nv))
        gaps, speeds = self.loop_gaps(q), (k @ v[..., None])[..., 0]
        squares = [(x * x).sum(axis=-1) for x in (gaps, speeds, np.zeros((1,)))]
        self._judge(np.stack(np.broadcast_arrays(*squares), axis=-1), tolerance, q, v)
        target = -(self.loop_drift(q, v) + 2.0 * gains[0] * speeds + gains[1] ** 2 * gaps)
        u, s, vt, kept = rank.decompose(k, known.rank, self._size)
        r = known.rank
        u, s, held, kept = u[..., :r], s[..., :r], vt[..., :r, :], kept[..., :r] | np.isnan(s[..., :r])
        # in a singular configuration the smallest singular values vanish: those directions are let go
        held = np.where(kept[..., None], held, 0.0)
        inverse = np.where(kept, 1.0 / np.where(kept, s, 1.0), 0.0)
        given = inverse * (np.swapaxes(u, -1, -2) @ target[..., None])[..., 0]
        if method == "block":
            a = _block_solve(m, held, kept, force, given)
        else:
            a = _reduced_solve(m, held, rank.motions(k, r, self._size), force, given)
        if not kept.all():
            self._say_singular(kept.all(axis=-1), (k @ a[..., None])[..., 0] - target, v, tolerance)
        left = (m @ a[..., None])[..., 0] - force
        multipliers = (u @ (inverse * (held @ left[..., None])[..., 0])[..., None])[..., 0]
        return a, multipliers

    def _say_singular(self, ordinary: Array, left: Array, v: Array, tolerance: float) -> None:
        """A singular configuration leaves more open than the equations can decide."""
        speed = np.linalg.norm(v, axis=-1)
        self._refuse(
            np.where(ordinary, 0.0, np.linalg.norm(left, axis=-1) / (1.0 + speed * speed)), tolerance,
            "velocity in a singular configuration, where no acceleration keeps them closed", "relative to 1 + |v|^2",
            "take one along a branch that leads out of it",
        )  # fmt: skip
        first = np.unravel_index(int(np.argmin(ordinary)), ordinary.shape)
        where = f" (state {tuple(int(i) for i in first)})" if ordinary.ndim else ""
        warnings.warn(
            f"singular configuration of {self.name!r}{where}: its loops leave directions open that they hold nearby, "
            "and forces alone decide about the accelerations along these; see mobility(q)",
            SingularityWarning,
            stacklevel=callers_level(),
        )

    def multipliers(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, wrenches: Wrenches = None, *, friction: bool = False
    ) -> Array:
        """Loop forces while joint forces ``tau`` act: the shortest ones where constraints are redundant."""
        found = self._forward(q, v, tau, wrenches, friction, "reduced", (0.0, 0.0), TOLERANCE)[1]
        assert found is not None
        return found

    # ---------------------------------------------------------------- in independent coordinates

    def reduced_mass_matrix(self, q: ArrayLike) -> Array:
        """Mass matrix in independent coordinates, G^T M G."""
        g = self.basis(q)
        return np.asarray(np.swapaxes(g, -1, -2) @ self._exact.tree.mass_matrix(q) @ g)

    def reduced_momentum(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Momentum that belongs to the independent coordinates, G^T M v; its rate is the force on them at rest."""
        momentum = self._exact.tree.mass_matrix(q) @ as_array(v, (self.nv,), "v")[..., None]
        return np.asarray((np.swapaxes(self.basis(q), -1, -2) @ momentum)[..., 0])

    def reduced_bias_force(self, q: ArrayLike, v: ArrayLike, wrenches: Wrenches = None) -> Array:
        """Forces on the independent coordinates when their accelerations are zero."""
        state = self._closed_q(q)
        a = self.accelerations(state, v, np.zeros(len(self._known(state).independent)))
        tau = self._exact.tree.inverse_dynamics(state, v, a, wrenches)
        return np.asarray((np.swapaxes(self.basis(state), -1, -2) @ tau[..., None])[..., 0])

    def inverse_mass_matrix(self, q: ArrayLike, *, out: Array | None = None, threads: int = 1) -> Array:
        """Accelerations per unit of each joint force while the loops stay closed; singular, as they must be."""
        state = self._closed_q(q)
        along = rank.motions(self.loop_jacobian(state), self._known(state).rank, self._size)
        result = rank.solve_along(*along, self._exact.tree.mass_matrix(state), np.eye(self.nv))
        return self._handed_out(result, out)

    # ---------------------------------------------------------------- what a tree has and a mechanism has not

    def _tree_only(self, name: str) -> UnsupportedError:
        return UnsupportedError(
            f"{name} of a mechanism with closed loops is not that of its tree, and not offered here; "
            f"{self.name}.tree.{name} is the opened tree's"
        )

    def inverse_dynamics_derivatives(self, *args: Any, **options: Any) -> Any:
        """Only the opened tree has these: ``mechanism.tree.inverse_dynamics_derivatives``."""
        raise self._tree_only("inverse_dynamics_derivatives")

    def forward_dynamics_derivatives(self, *args: Any, **options: Any) -> Any:
        """Only the opened tree has these: ``mechanism.tree.forward_dynamics_derivatives``."""
        raise self._tree_only("forward_dynamics_derivatives")

    def hybrid_dynamics(self, *args: Any, **options: Any) -> Any:
        """Only the opened tree has this: ``mechanism.tree.hybrid_dynamics``."""
        raise self._tree_only("hybrid_dynamics")

    def floating_base_inverse_dynamics(self, *args: Any, **options: Any) -> Any:
        """Only the opened tree has this: ``mechanism.tree.floating_base_inverse_dynamics``."""
        raise self._tree_only("floating_base_inverse_dynamics")

    def operational_space_inertia(self, *args: Any, **options: Any) -> Any:
        """Only the opened tree has this: ``mechanism.tree.operational_space_inertia``."""
        raise self._tree_only("operational_space_inertia")

    def joint_wrenches(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, wrenches: Wrenches = None, *, bearings_only: bool = False
    ) -> Array:
        """What each joint of the tree transmits to its body, the loops' forces included."""
        forces = self.constraint_forces(q, v, a, wrenches)
        if not bearings_only:
            return forces.joint_wrenches
        on_bodies = self._loop_wrenches(self.evaluator.states.configuration(q), forces.multipliers)[2]
        loads = on_bodies + self._body_loads(wrenches, self.evaluator.states.configuration(q))
        return self._exact.tree.joint_wrenches(q, v, a, loads, bearings_only=True)


def _gains(stabilisation: Any) -> tuple[float, float]:
    if stabilisation is True:
        return BAUMGARTE
    if stabilisation is False or stabilisation is None:
        return (0.0, 0.0)
    try:
        alpha, beta = (float(x) for x in stabilisation)
    except (TypeError, ValueError):
        raise OptionError(f"stabilisation is True, False or two numbers (alpha, beta), not {stabilisation!r}") from None
    if alpha < 0.0 or beta < 0.0:
        raise OptionError(f"stabilisation must not be negative, got ({alpha:g}, {beta:g}): gaps would grow")
    return alpha, beta


def _first(bad: Array) -> tuple[tuple[int, ...], str]:
    """Of states that are refused, the first, and where it is in words."""
    lane = tuple(int(i) for i in np.unravel_index(int(np.argmax(bad)), bad.shape))
    return lane, f" in state {lane}" if bad.ndim else ""


def _block_solve(m: Array, held: Array, kept: Array, force: Array, given: Array) -> Array:
    """[M V; V^T 0] [a; -mu] = [force; given] (000 eq. 8.5); rows of V that are not kept are zero, and so is mu."""
    nv, r = m.shape[-1], held.shape[-2]
    whole = np.zeros((*m.shape[:-2], nv + r, nv + r))
    whole[..., :nv, :nv] = m
    whole[..., :nv, nv:] = np.swapaxes(held, -1, -2)
    whole[..., nv:, :nv] = held
    whole[..., range(nv, nv + r), range(nv, nv + r)] = ~kept
    rhs = np.concatenate([force, np.broadcast_to(given, (*force.shape[:-1], r))], axis=-1)
    return rank.solve(whole, rhs[..., None])[..., :nv, 0]


def _reduced_solve(m: Array, held: Array, along: tuple[Array, Array], force: Array, given: Array) -> Array:
    """A = N y + V given, N^T M N y = N^T (force - M V given) (004 eq. 10.46-10.48)."""
    fixed = np.swapaxes(held, -1, -2) @ given[..., None]
    return np.asarray((rank.solve_along(*along, m, force[..., None] - m @ fixed) + fixed)[..., 0])


def _restore(
    model: Model, backend: str, precision: str, independent: Sequence[str] | None, cpu: str
) -> Mechanism:  # fmt: skip
    return Mechanism(model, backend=backend, precision=precision, independent=independent, cpu=cpu)
