"""What robots with closed loops have beside others, as every robot shows it.

Whether a file has loops is known when it is read, so :func:`kinetree.load` and :meth:`kinetree.Builder.build` can only
promise a :class:`~kinetree.Robot`.  A :class:`~kinetree.Mechanism` is one: a subclass, for all that a robot can do it
can do too, with the loops closed, and with options of its own.  A single class whose parts ask at every turn whether
there are loops would mix both; two siblings over a common base would take ``isinstance(mechanism, kt.Robot)`` from
users.  So the methods that only a mechanism has are declared here, below Robot: editors and type checkers know them,
and a robot without loops answers with :class:`~kinetree.errors.NoLoopsError`, which says where loops come from.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike

from ..errors import NoLoopsError
from ..loops.constraint_forces import ConstraintForces
from ..loops.coordinates import ByName, Coordinates
from ..loops.mobility import Mobility
from ..model.tree import Model
from ..run.wrenches import Wrenches

if TYPE_CHECKING:
    from ..loops.varied_mechanism import MovedDesigns
    from .platform import Platform
    from .robot import Robot

Array = np.ndarray
Method = TypeVar("Method", bound=Callable[..., Any])


class _OfMechanisms:
    """A method that is not there without loops: looking it up on a robot raises NoLoopsError, an AttributeError."""

    def __init__(self, declared: Callable[..., Any]) -> None:
        self.declared = declared
        self.__doc__ = declared.__doc__

    def __get__(self, robot: LoopMethods | None, owner: type | None = None) -> Callable[..., Any]:
        if robot is None:
            return self.declared
        raise NoLoopsError(robot.model.name, self.declared.__name__)


def of_mechanisms(declared: Method) -> Method:
    """Declare a method that only :class:`kinetree.Mechanism` has."""
    return cast("Method", _OfMechanisms(declared))


class LoopMethods:
    """Methods of mechanisms with closed loops; see :class:`kinetree.Mechanism` for what they do."""

    model: Model

    @property
    def loop_names(self) -> list[str]:
        """The joints that close loops."""
        raise NoLoopsError(self.model.name, "loop_names")

    @property
    def constraint_names(self) -> tuple[str, ...]:
        """One name per constraint."""
        raise NoLoopsError(self.model.name, "constraint_names")

    @property
    def constraint_units(self) -> tuple[str, ...]:
        """Unit of each constraint's gap."""
        raise NoLoopsError(self.model.name, "constraint_units")

    @property
    def n_constraints(self) -> int:
        """Number of loop constraints."""
        raise NoLoopsError(self.model.name, "n_constraints")

    @property
    def tree(self) -> Robot:
        """The spanning tree."""
        raise NoLoopsError(self.model.name, "tree")

    @property
    def driven(self) -> Array:
        """Which entries of ``tau`` have an actuator."""
        raise NoLoopsError(self.model.name, "driven")

    @property
    def coordinates(self) -> Coordinates:
        """Rank, independent constraints and independent freedoms."""
        raise NoLoopsError(self.model.name, "coordinates")

    @of_mechanisms
    def coordinates_at(self, q: Array) -> Coordinates:
        """Return coordinates for computations at ``q``."""
        raise NotImplementedError

    @of_mechanisms
    def with_independent(self, names: Sequence[str]) -> Self:
        """Return the same mechanism with other independent freedoms."""
        raise NotImplementedError

    @of_mechanisms
    def with_cuts(self, cuts: Sequence[str] | None = None, rule: str = "minimum_dof") -> Robot:
        """Return the same mechanism with its loops cut at other joints."""
        raise NotImplementedError

    @of_mechanisms
    def loop_gaps(self, q: ArrayLike) -> Array:
        """Compute how far each constraint is from being met."""
        raise NotImplementedError

    @of_mechanisms
    def loop_jacobian(self, q: ArrayLike) -> Array:
        """Compute the matrix K of ``K v = 0``."""
        raise NotImplementedError

    @of_mechanisms
    def loop_drift(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Compute ``dK/dt v``."""
        raise NotImplementedError

    @of_mechanisms
    def closure_error(self, q: ArrayLike) -> Array:
        """Compute the largest gap of each state."""
        raise NotImplementedError

    @of_mechanisms
    def check_closed(self, q: ArrayLike, tolerance: float | None = None) -> Array:
        """Refuse configurations in which loops are open."""
        raise NotImplementedError

    @of_mechanisms
    def close(
        self,
        q_guess: ArrayLike | Mapping[str, Any],
        fixed: Sequence[str] | Mapping[str, Any] | None = None,
        *,
        tolerance: float | None = None,
        must_close: bool = True,
        limits: bool = True,
    ) -> Array:
        """Find the closed configuration nearest to a guess."""
        raise NotImplementedError

    @of_mechanisms
    def moved(self, q: Array, v: Array) -> Array:
        """Move configurations along velocities, whether the loops allow these or not."""
        raise NotImplementedError

    @of_mechanisms
    def accelerations_by_rank(
        self, q: Array, v: Array, tau: Array, wrenches: Wrenches = None, added_mass: Array | float = 0.0,
        parameters: Any = None,
    ) -> Array:  # fmt: skip
        """Find accelerations at any state by the method that finds the rank."""
        raise NotImplementedError

    @of_mechanisms
    def project(
        self,
        q: ArrayLike,
        v: ArrayLike | None = None,
        fixed: Sequence[str] | None = None,
        *,
        tolerance: float | None = None,
    ) -> Any:
        """Find the nearest closed configuration and velocity."""
        raise NotImplementedError

    @of_mechanisms
    def nearest_velocity(self, q: Array, v: ArrayLike, least: float = 1e-9) -> Array:
        """Find the nearest velocity that the loops allow."""
        raise NotImplementedError

    @of_mechanisms
    def assembled(
        self, rng: np.random.Generator | int | None = 0, tries: int = 200, *, limits: bool = True
    ) -> Array:  # fmt: skip
        """Find some closed configuration."""
        raise NotImplementedError

    @of_mechanisms
    def follow(
        self, path: Mapping[str, ArrayLike], q_guess: ArrayLike | None = None, *, limits: bool = True,
        must_reach: bool = True, lead_in: bool = False,
    ) -> Any:  # fmt: skip
        """Find closed configurations along a path of some joints."""
        raise NotImplementedError

    @of_mechanisms
    def driven_motion(
        self,
        q: ByName,
        v: ByName,
        a: ByName,
        parameters: Any = None,
        *,
        q_guess: ArrayLike | None = None,
        near: ArrayLike | None = None,
        threads: int = 1,
    ) -> MovedDesigns:
        """Move many designs under the same drives, and return the forces it takes."""
        raise NotImplementedError

    @of_mechanisms
    def mobility(self, q: ArrayLike | None = None) -> Mobility:
        """Count degrees of freedom by rank."""
        raise NotImplementedError

    @of_mechanisms
    def independent(self, q: ArrayLike | None = None) -> list[str]:
        """Return the names of the freedoms that the others follow from."""
        raise NotImplementedError

    @of_mechanisms
    def basis(self, q: ArrayLike) -> Array:
        """Compute the matrix G of ``v = G v_independent``."""
        raise NotImplementedError

    @of_mechanisms
    def velocities(self, q: ArrayLike, v_independent: ByName) -> Array:
        """Compute all velocities from the independent ones."""
        raise NotImplementedError

    @of_mechanisms
    def accelerations(self, q: ArrayLike, v: ArrayLike, a_independent: ByName) -> Array:
        """Compute all accelerations from the independent ones."""
        raise NotImplementedError

    @of_mechanisms
    def platform(
        self,
        frame: str,
        actuated: Sequence[str] | None = None,
        *,
        orientation: bool = True,
        length: float | None = None,
    ) -> Platform:
        """Return the mechanism as a parallel manipulator that moves ``frame``."""
        raise NotImplementedError

    @of_mechanisms
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
        """Compute actuator forces, multipliers and the reactions at all joints."""
        raise NotImplementedError

    @of_mechanisms
    def multipliers(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, wrenches: Wrenches = None, *, friction: bool = False,
        parameters: Any = None,
    ) -> Array:  # fmt: skip
        """Compute loop forces while joint forces ``tau`` act."""
        raise NotImplementedError

    @of_mechanisms
    def reduced_mass_matrix(self, q: ArrayLike) -> Array:
        """Compute the mass matrix in independent coordinates."""
        raise NotImplementedError

    @of_mechanisms
    def reduced_momentum(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Compute the momentum that belongs to the independent coordinates."""
        raise NotImplementedError

    @of_mechanisms
    def reduced_regressor(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        *,
        parameters: Sequence[str] | str = "all",
        friction: bool = False,
        tolerance: float | None = None,
        threads: int = 1,
    ) -> Array:
        """Compute the matrix that maps the parameters to the forces on the independent coordinates."""
        raise NotImplementedError

    @of_mechanisms
    def reduced_bias_force(self, q: ArrayLike, v: ArrayLike, wrenches: Wrenches = None) -> Array:
        """Compute forces on the independent coordinates when their accelerations are zero."""
        raise NotImplementedError
