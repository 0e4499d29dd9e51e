"""The interface of controllers, and sums of controllers.

A controller is a small frozen dataclass whose law is written over any scalar: lists of
scalars in, lists of scalars out, with the algorithms of :mod:`kinetree.algorithms` inside.
It therefore runs on floats, on batches, and as machine code together with the robot.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self, TypeGuard

import numpy as np
from numpy.typing import ArrayLike

from ..algorithms.acting_element import ActingElement, Pushing
from ..algorithms.compliant_directions import GivingWay, sum_of
from ..errors import Message, OptionError, Setting, ShapeError
from ..loops.coordinates import Coordinates
from ..model.tree import Joint, Model
from ..motion.trajectory_interface import Trajectory, span_of
from ..spatial import Scalar
from ..spatial.arrays import as_array, batch_shape, pack, split
from ..spatial.numbers import as_numbers, is_unknown, shown
from .driven_joints import Scalars
from .mechanism_loops import known_loops, refuse_open

Outcome = tuple[list[Scalar], list[Scalar]]
"""Joint forces, and the rates of the controller's own states."""

Gain = Any
"""One number, one per driven degree of freedom, a batch of those (N, n), or scalars put in by ``with_parameters``."""


def gains(value: Gain, count: int, name: str) -> list[Scalar]:
    """Return one gain per driven degree of freedom."""
    if holds_scalars(value):
        return _counted(value, count, name)
    return split(as_gain(value, count, name))


def holds_scalars(value: Gain) -> TypeGuard[list[Scalar]]:
    """Return whether a gain is a list of scalars of any kind, or of arrays over a batch, rather than numbers."""
    return isinstance(value, list) and bool(value) and not isinstance(value[0], (int, float))


def as_gain(value: Gain, count: int, name: str, each: str = "driven degree of freedom") -> np.ndarray:
    """Return a gain as an array (..., count), with an entry for each controlled quantity."""
    numbers = finite_numbers(value, name)
    if numbers.ndim == 0:
        return np.full(count, float(numbers))
    if numbers.shape[-1] not in (1, count):
        n, batch = numbers.shape[-1], numbers.shape
        hint = f"; one for each of {n} simulations are {name}[:, None], shape ({n}, 1)" if len(batch) == 1 else ""
        wanted = "one number" if count == 1 else f"one number or {count}, one per {each}"
        given = f" must be {wanted}, with a batch of simulations in front; got shape {batch}{hint}"
        raise ShapeError(Message(Setting(name), given))
    return np.broadcast_to(numbers, (*numbers.shape[:-1], count))


def finite_numbers(value: Gain, name: str) -> np.ndarray:
    """Return a gain as an array; refuse entries that are not finite real numbers."""
    numbers = as_numbers(value)
    if numbers is None:
        raise ShapeError(Message(Setting(name), f" must be numbers, got {shown(value)}"))
    if not np.isfinite(numbers).all():
        raise OptionError(Message(Setting(name), f" must be finite, got {shown(value)}"))
    return numbers


def _counted(value: list[Scalar], count: int, name: str) -> list[Scalar]:
    if len(value) != count:
        raise ShapeError(f"{name} must have {count} entries, got {len(value)}")
    return value


def critical_damping(kp: ArrayLike, ratio: float = 1.0) -> np.ndarray:
    """Return the velocity gain 2 ratio sqrt(kp) with which e'' + kd e' + kp e = 0 settles fastest (Shah section 9.1.1).

    Parameters
    ----------
    kp : array_like
    ratio : float
        Damping ratio: 1 is critical, more is sluggish, less overshoots.
    """
    stiffness = np.asarray(kp, dtype=float)
    if np.any(stiffness < 0):
        raise OptionError(Message(Setting("kp"), " must not be negative: a negative stiffness drives the error away"))
    return 2.0 * ratio * np.sqrt(stiffness)


def servo(e: Scalars, e_dot: Scalars, kp: Gain, kd: Gain) -> list[Scalar]:
    """Return kp e + kd e', the part that all these laws have in common."""
    n = len(e)
    columns = (gains(kp, n, "kp"), e, gains(kd, n, "kd"), e_dot)
    return [p * x + d * y for p, x, d, y in zip(*columns, strict=True)]


@dataclass(frozen=True, eq=False)
class Controller(ActingElement):
    """Base of all controllers: elements whose law gives the forces of the motors."""

    loops: Coordinates | None = field(default=None, kw_only=True, repr=False)
    """The facts about the robot's closed loops that the law needs, see :meth:`bound`."""

    GAINS: ClassVar[tuple[str, ...]] = ()
    """Fields that may vary over a batch of simulations."""

    IN_DISCRETE_TIME: ClassVar[bool] = False
    """Whether it computes at intervals, and holds its forces in between."""

    EACH: ClassVar[str] = "driven degree of freedom"
    """What each gain belongs to, for messages."""

    RELIES_ON_LOOPS: ClassVar[bool] = False
    """Whether the law computes with closed loops, so that its forces are meaningless if they are open."""

    def __post_init__(self) -> None:
        self.refuse_no_trajectory()
        self.refuse_no_numbers()

    def refuse_no_numbers(self) -> None:
        """Refuse values that cannot be gains; the number of gains is checked with the robot."""
        for name in self.GAINS:
            given = getattr(self, name)
            if not is_unknown(given):
                finite_numbers(given, name)

    def refuse_no_trajectory(self) -> None:
        """Refuse anything but a trajectory where one is needed."""
        given = getattr(self, "trajectory", None)
        if given is not None and not isinstance(given, Trajectory):
            raise OptionError(
                f"trajectory must be one of kinetree.trajectories, such as Constant([0.5, 0.2]) for a goal, not "
                f"{shown(given)}"
            )

    def relies_on_loops(self) -> bool:
        """Return whether it refuses to compute forces while loops are open."""
        return self.RELIES_ON_LOOPS

    def inner(self) -> Sequence[Controller]:
        """Return the controllers that it consists of; most have none."""
        return ()

    def takes_to_fall(self) -> bool:
        """Return whether it computes as if the robot were falling freely, because it does not know about the ground."""
        return False

    def plain_function(self) -> Callable[..., Any] | None:
        """Return the Python function of arrays that it calls, if any, which cannot be part of a compiled law."""
        return None

    def known(self, tree: Model) -> Model:
        """Return the mechanism that the law computes with; by default the one that it drives."""
        return tree

    def bound(self, robot: Any) -> Self:
        """Return the controller with what it needs to know about a robot's loops; itself if that is nothing."""
        if not (self.RELIES_ON_LOOPS and robot.model.is_constrained):
            return self
        return replace(self, loops=known_loops(robot))

    def law(self, tree: Model, t: Scalar, q: Scalars, v: Scalars, z: Scalars) -> Outcome:
        """Return the joint forces (nv of them) and the rates of the controller's own states ``z``."""
        raise NotImplementedError

    def loads(self, tree: Model, t: Scalar, q: Scalars, v: Scalars, z: Scalars = ()) -> Pushing:
        """Return the controller's joint forces, and the time derivatives of its states."""
        tau, rates = self.law(tree, t, q, v, z)
        return None, tau, rates

    def update(self, tree: Model, t: Scalar, q: Scalars, v: Scalars, z: Scalars, period: float) -> Outcome:
        """Return the joint forces at a sample instant and the states at the next one, by Euler's rule."""
        tau, rates = self.law(tree, t, q, v, z)
        return tau, [x + period * rate for x, rate in zip(z, rates, strict=True)]

    @property
    def span(self) -> tuple[float, float]:
        """The common time span of its trajectories."""
        return span_of(self)

    def parameters(self, tree: Model) -> dict[str, np.ndarray]:
        """Return the gains, each (..., n), that may vary over a batch."""
        return {name: as_gain(getattr(self, name), self._width(tree, name), name, self.EACH) for name in self.GAINS}

    def adjustable(self, tree: Model) -> dict[str, np.ndarray]:
        """Return the numbers that can be changed in C, as :meth:`with_parameters` takes them: the gains."""
        return self.parameters(tree)

    def for_c(self, robot: Any) -> Any:
        """Return this controller as a law for C, which ``robot.codegen(folder, controllers={...})`` writes."""
        from .c_export import law_for_c

        return law_for_c(self, robot)

    def _width(self, tree: Model, name: str) -> int:
        return sum(j.nv for j in self.joints(tree))

    def joints(self, tree: Model) -> list[Joint]:
        """Return the joints whose motion the controller's trajectory gives, in its order."""
        return tree.driven_joints

    def with_parameters(self, numbers: Mapping[str, Scalars]) -> Self:
        """Return the same controller with other gains, of any scalar."""
        changed: dict[str, Any] = {name: list(values) for name, values in numbers.items()}
        return replace(self, **changed)

    def __add__(self, other: Controller) -> Controller:
        """Return the sum of two controllers: their forces add up."""
        return Sum((self, other))

    def __call__(
        self, robot: Any, t: ArrayLike, q: ArrayLike, v: ArrayLike, z: ArrayLike | None = None, *,
        tolerance: float | None = None,
    ) -> np.ndarray:  # fmt: skip
        """Return the joint forces for one state or a batch.

        Parameters
        ----------
        robot : Robot
        t : float or array_like, shape (...)
        q, v : array_like, shapes (..., nq), (..., nv)
        z : array_like, shape (..., nz), optional
            The controller's own states; by default the initial ones.
        tolerance : float, optional
            How far loops may be open, in meters and radians, before a law that computes with them is refused.  By
            default 0.01, times the mechanism's size if that is below a meter: positions from encoders and trial
            states of integrators are never quite closed.

        Returns
        -------
        ndarray, shape (..., nv)
        """
        tree, bound = robot.model, self.bound(robot)
        if tree.is_constrained and self.relies_on_loops():
            refuse_open(robot, q, tolerance)
        begin = bound.initial_states(tree)
        states = as_array(begin if z is None else z, (len(begin),), "z")
        times = np.asarray(t, dtype=float)
        position, rate = as_array(q, (tree.nq,), "q"), as_array(v, (tree.nv,), "v")
        batch = batch_shape(q=(position, 1), v=(rate, 1), t=(times, 0), z=(states, 1))
        moment = times if times.ndim else float(times)
        with np.errstate(all="ignore"):
            tau, _ = bound.law(tree, moment, split(position), split(rate), split(states))
        return pack(list(tau), np.broadcast_shapes(batch, *(np.shape(x) for x in tau)))


# ---------------------------------------------------------------- put together


def _named(parts: Sequence[Controller], numbers: Mapping[str, Scalars]) -> list[dict[str, Scalars]]:
    """Return the numbers of each part, from names such as ``1.kp``."""
    found: list[dict[str, Scalars]] = [{} for _ in parts]
    for name, values in numbers.items():
        which, _, own = name.partition(".")
        found[int(which)][own] = values
    return found


def require_compilable(part: Controller) -> Controller:
    """Refuse plain Python functions, which cannot be part of a compiled law."""
    if not isinstance(part, Controller):
        hint = ": control.Law(function) makes one of yours" if callable(part) else ""
        raise OptionError(f"a controller is needed here, not {type(part).__name__}{hint}")
    if part.plain_function() is not None:
        raise OptionError(
            "a plain Python function cannot be combined with other laws: call them inside of it, or use Law"
        )
    return part


class AdaptedController(Controller):
    """Wraps an object that is not a :class:`Controller` but has its ``law``, and perhaps others of its methods."""

    QUESTIONS: ClassVar = ("law", "update", "initial_states", "parameters", "impedance")
    given: Any

    def __init__(self, given: Any) -> None:
        own = {name: getattr(given, name) for name in self.QUESTIONS if hasattr(given, name)}
        self.__dict__.update(own, given=given, loops=None)

    def with_parameters(self, numbers: Mapping[str, Scalars]) -> AdaptedController:
        """Return this controller with other gains."""
        return AdaptedController(self.given.with_parameters(numbers))

    def bound(self, robot: Any) -> AdaptedController:
        """Return this controller with what it needs to know about a robot, if it has ``bound``."""
        return AdaptedController(self.given.bound(robot)) if hasattr(self.given, "bound") else self

    @property
    def span(self) -> tuple[float, float]:
        """Its time span, if it has one."""
        return getattr(self.given, "span", (-math.inf, math.inf))

    def kinks(self, begin: float, end: float) -> np.ndarray:
        """Return its kinks, if it has any: times, or a function that returns them."""
        found = getattr(self.given, "kinks", ())
        return np.asarray(found(begin, end) if callable(found) else found, dtype=float)

    def plain_function(self) -> Callable[..., Any] | None:
        """Return its ``python_function``, if it has one."""
        return getattr(self.given, "python_function", None)

    @property
    def kind(self) -> str:
        """The name of its own class."""
        return type(self.given).__name__


def as_controller(given: Any) -> Controller | None:
    """Return an object as a controller; None if it has no law.

    This is the only place that decides whether an object is a controller.
    """
    if isinstance(given, Controller):
        return given
    return AdaptedController(given) if hasattr(given, "law") and not isinstance(given, type) else None


@dataclass(frozen=True, eq=False)
class Sum(Controller):
    """Several controllers at once: their forces add up."""

    parts: Sequence[Controller]

    def __post_init__(self) -> None:
        flat: list[Controller] = []
        for part in self.parts:
            flat += list(part.parts) if isinstance(part, Sum) else [require_compilable(part)]
        object.__setattr__(self, "parts", tuple(flat))

    @property
    def span(self) -> tuple[float, float]:
        """The common time span of all parts."""
        return max(p.span[0] for p in self.parts), min(p.span[1] for p in self.parts)

    def kinks(self, begin: float, end: float) -> np.ndarray:
        """Return the kinks of all parts."""
        return np.unique(np.concatenate([np.zeros(0), *(p.kinks(begin, end) for p in self.parts)]))

    def inner(self) -> Sequence[Controller]:
        """Return the parts."""
        return self.parts

    def relies_on_loops(self) -> bool:
        """Return whether any of the parts does."""
        return any(part.relies_on_loops() for part in self.parts)

    def bound(self, robot: Any) -> Self:
        """Return the same controllers, each with what it needs to know about the robot's loops."""
        return replace(self, parts=tuple(part.bound(robot) for part in self.parts))

    def initial_states(self, tree: Model) -> np.ndarray:
        """Return the states of all parts, one after the other."""
        return np.concatenate([np.zeros(0), *(p.initial_states(tree) for p in self.parts)])

    def parameters(self, tree: Model) -> dict[str, np.ndarray]:
        """Return the gains of all parts, with the part's number before the name."""
        return {f"{k}.{name}": x for k, p in enumerate(self.parts) for name, x in p.parameters(tree).items()}

    def adjustable(self, tree: Model) -> dict[str, np.ndarray]:
        """Return the numbers of all parts that can be changed in C."""
        return {f"{k}.{name}": x for k, p in enumerate(self.parts) for name, x in p.adjustable(tree).items()}

    def with_parameters(self, numbers: Mapping[str, Scalars]) -> Self:
        """Return the same controllers with other gains."""
        own = _named(self.parts, numbers)
        return replace(self, parts=tuple(p.with_parameters(x) for p, x in zip(self.parts, own, strict=True)))

    def impedance(self, tree: Model, t: Scalar, q: Scalars, v: Scalars) -> GivingWay:
        """Return the stiffness and damping of all parts."""
        return sum_of(tree, [part.impedance(tree, t, q, v) for part in self.parts])

    def law(self, tree: Model, t: Scalar, q: Scalars, v: Scalars, z: Scalars) -> Outcome:
        """Return the joint forces."""
        return self._added(tree, z, lambda part, own: part.law(tree, t, q, v, own))

    def update(self, tree: Model, t: Scalar, q: Scalars, v: Scalars, z: Scalars, period: float) -> Outcome:
        """Return the joint forces at a sample instant and the states of all parts at the next one."""
        return self._added(tree, z, lambda part, own: part.update(tree, t, q, v, own, period))

    def _added(self, tree: Model, z: Scalars, ask: Callable[[Controller, Scalars], Outcome]) -> Outcome:
        total: list[Scalar] = [0.0] * tree.nv
        others: list[Scalar] = []
        first = 0
        for part in self.parts:
            count = len(part.initial_states(tree))
            tau, other = ask(part, z[first : first + count])
            total = [a + b for a, b in zip(total, tau, strict=True)]
            others += list(other)
            first += count
        return total, others


@dataclass(frozen=True, eq=False)
class Around(Controller):
    """Base of controllers that wrap another one and change its inputs or its forces."""

    controller: Controller

    def __post_init__(self) -> None:
        require_compilable(self.controller)

    def inner(self) -> Sequence[Controller]:
        """Return the other controller."""
        return (self.controller,)

    @property
    def span(self) -> tuple[float, float]:
        """The time span of the other controller."""
        return self.controller.span

    def kinks(self, begin: float, end: float) -> np.ndarray:
        """Return the kinks of the other controller."""
        return self.controller.kinks(begin, end)

    def relies_on_loops(self) -> bool:
        """Return whether the other controller does."""
        return self.controller.relies_on_loops()

    def bound(self, robot: Any) -> Self:
        """Return this controller, with what the other one needs to know about the robot's loops."""
        return replace(self, controller=self.controller.bound(robot))

    def initial_states(self, tree: Model) -> np.ndarray:
        """Return the states of the other controller."""
        return self.controller.initial_states(self.known(tree))

    def adjustable(self, tree: Model) -> dict[str, np.ndarray]:
        """Return the numbers of the other controller that can be changed in C."""
        return self.controller.adjustable(self.known(tree))

    def parameters(self, tree: Model) -> dict[str, np.ndarray]:
        """Return the gains of the other controller."""
        return self.controller.parameters(self.known(tree))

    def with_parameters(self, numbers: Mapping[str, Scalars]) -> Self:
        """Return this controller with other gains."""
        return replace(self, controller=self.controller.with_parameters(numbers))

    def law(self, tree: Model, t: Scalar, q: Scalars, v: Scalars, z: Scalars) -> Outcome:
        """Return the joint forces of the other controller."""
        return self.controller.law(self.known(tree), t, q, v, z)

    def update(self, tree: Model, t: Scalar, q: Scalars, v: Scalars, z: Scalars, period: float) -> Outcome:
        """Return its joint forces at a sample instant and its states at the next one."""
        return self.controller.update(self.known(tree), t, q, v, z, period)
