"""The closed loops of a robot: a class of parts by subject, each building on those before it: :mod:`.loops_class`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..algorithms.newton_closing_step import FrameGoal
from ..algorithms.table import find
from ..errors import OptionError, ShapeError, UnsupportedError
from ..evaluation.evaluator import Evaluator
from ..evaluation.given_joints import GivenAtJoints
from ..evaluation.parameters import GivenParameters, Place
from ..model import configurations
from ..spatial.arrays import Array, as_array, batch_shape
from ..spatial.numbers import whole_number
from . import coordinates
from .assemblies.search_all import Assemblies, AssemblyQuestion, marks_of
from .coordinates import ByName
from .loops_class.assembling import Assembling
from .loops_class.closed_configurations import LoopClosing
from .loops_class.derivatives import LoopDerivatives
from .loops_class.forward_dynamics import ForwardOfLoops
from .loops_class.geometry import LoopGeometry
from .loops_class.independent_choice import CoordinateChoice
from .loops_class.inverse_dynamics import InverseOfLoops
from .loops_class.prepared_dynamics import HasQuick, PreparedDynamics, QuickMethod
from .moved_designs import MovedDesigns, Points
from .varied_mechanism import VariedMechanism


class Loops:
    """The closed loops and couplings of a robot.

    Parameters
    ----------
    evaluator : Evaluator
        Evaluator of a model with loops or couplings.
    wanted : sequence of int, optional
        The independent freedoms, if they were named.
    q_guess : array_like, shape (nq,), optional
    rounding : float, optional
        As for :class:`kinetree.Mechanism`.
    """

    def __init__(
        self,
        evaluator: Evaluator,
        wanted: Sequence[int] | None = None,
        q_guess: ArrayLike | None = None,
        rounding: float | None = None,
    ) -> None:
        if rounding is not None and not 0.0 <= rounding < 1.0:
            raise OptionError(f"rounding is a fraction of the strongest constraint, between 0 and 1, not {rounding!r}")
        self.model, self.evaluator = evaluator.model, evaluator
        self.wanted = None if wanted is None else tuple(wanted)
        self.q_guess = None if q_guess is None else as_array(q_guess, (self.model.nq,), "q_guess")
        if self.q_guess is not None and self.q_guess.ndim != 1:
            raise ShapeError(f"q_guess must be one configuration, shape ({self.model.nq},), not {self.q_guess.shape}")
        self.rounding = rounding
        self.geometry = LoopGeometry(evaluator)
        self.assembling = Assembling(self.geometry, rounding)
        self.choice = CoordinateChoice(self.assembling, self.wanted, self.q_guess)
        self.closing = LoopClosing(self.choice)
        self.prepared = PreparedDynamics(self.choice)
        self.inverse = InverseOfLoops(self.prepared)
        self.forward = ForwardOfLoops(self.prepared, self.closing, self.inverse)

    @cached_property
    def derivatives(self) -> LoopDerivatives:
        """Derivatives of forces and accelerations."""
        return LoopDerivatives(self.prepared, self.inverse, self.exact.forward)

    @cached_property
    def exact(self) -> Loops:
        """The same in double precision."""
        if not self.geometry.is_single:
            return self
        return Loops(self.geometry.exact, self.wanted, self.q_guess, self.rounding)

    def plain_method(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        """Return a robot's method that uses loops, as fast as possible when called with vectors only.

        Parameters
        ----------
        name : str
        method : callable
            The method in Python, bound to its robot.
        """
        quick: dict[str, HasQuick] = {"inverse_dynamics": self.inverse, "forward_dynamics": self.forward}
        return QuickMethod(method, find(name).inputs, quick[name]) if name in quick else method

    # ---------------------------------------------------------------- algorithms of the table

    def whole_algorithm(self, name: str) -> tuple[str, dict[str, Any]]:
        """Return the algorithm for a mechanism's inverse or forward dynamics in one piece, and its choices."""
        known = self.choice.coordinates
        if name == "forward_dynamics":
            if self.prepared.evaluator.singular_joint() is not None:
                return "reduced_forward_dynamics", {"rows": known.rows, "pivots": known.pivots}
            return "closed_forward_dynamics", {"rows": known.rows, "stabilization": (0.0, 0.0)}
        if known.independent != self.choice.suppliers:
            raise UnsupportedError(
                f"the actuated joints of {self.model.name!r} are not its independent freedoms, so its inverse dynamics "
                "is not a fixed sequence of operations; count or export forward_dynamics, or the tree's"
            )
        return "closed_inverse_dynamics", {"rows": known.rows, "dependent": known.dependent}

    @staticmethod
    def has_closed_form(name: str) -> bool:
        """Return whether an algorithm is, or can be, computed with the loops' choice of coordinates."""
        return bool(find(name).closed_by) or any(option.chosen_by_loops for option in find(name).options)

    def closed_form(self, name: str, options: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        """Return the algorithm that computes the same with loops closed and nothing more, and its choices.

        It is valid in all configurations except those that are singular for these choices.
        """
        algorithm, known = find(name), self.choice.coordinates
        if name == "hybrid_dynamics":
            freedoms = GivenAtJoints(np.zeros(0), options["known"]).freedoms(self.model)
            pivots = self.choice.including(freedoms).pivots
            return algorithm.closed_by, {"pivots": pivots, "known_freedoms": freedoms}
        motors = {j for j in range(self.model.nv) if self.choice.driven[j]}
        if name == "inverse_dynamics" and known.independent != self.choice.suppliers:
            raise UnsupportedError(
                f"the motors of {self.model.name!r} are not its independent freedoms, so on symbols its "
                "inverse dynamics is not determined: reduced_inverse_dynamics has the forces on the independent "
                f"freedoms ({self._listed(known.independent)}), which are zero where there is no motor"
            )
        if name == "joint_wrenches" and not motors <= set(known.independent):
            raise UnsupportedError(
                f"{self._listed(sorted(motors - set(known.independent)))} of {self.model.name!r} has a motor, "
                "but its motion follows from that of others: on symbols joint_wrenches needs motors at independent "
                "freedoms only, see with_independent"
            )
        usual = {"inverse_dynamics": "independent_inverse_dynamics", "forward_dynamics": "independent_forward_dynamics"}
        return usual.get(name, algorithm.closed_by or name), {"pivots": known.pivots}

    def _listed(self, freedoms: Sequence[int]) -> str:
        return ", ".join(self.geometry.v_names[j] for j in freedoms)

    def compiled_form(self, request: Any) -> tuple[str, dict[str, Any]] | None:
        """Return the algorithm that a method runs with the loops closed; None if it is that of the tree."""
        if request in ("inverse_dynamics_derivatives", "forward_dynamics_derivatives"):
            known = self.choice.coordinates
            if request.startswith("inverse"):
                self.prepared.enough_in_number(known)
            in_steps = request.startswith("forward") and not self.derivatives.fits_at_once
            name = "closed_force_slopes" if in_steps else f"closed_{request}"
            return name, {"pivots": known.pivots, "friction": False}
        if request in ("inverse_dynamics", "forward_dynamics"):
            try:
                return self.whole_algorithm(request)
            except UnsupportedError:
                return None  # the method takes several steps, of which this is one
        return None

    # ---------------------------------------------------------------- all assemblies

    def assemblies(
        self, fixed: Sequence[str] | Mapping[str, Any] | None, q_guess: ArrayLike | None,
        distinct: str | Sequence[str] | None, starts: int | None, rng: np.random.Generator | int | None, limits: bool,
    ) -> Assemblies:  # fmt: skip
        """Return all closed configurations; see :meth:`kinetree.Mechanism.assemblies`."""
        model = self.model
        if q_guess is None and fixed is not None and not isinstance(fixed, Mapping):
            raise OptionError("fixed names joints without positions: give {name: position}, or q_guess, where they are")
        guess = configurations.neutral(model) if q_guess is None else as_array(q_guess, (model.nq,), "q_guess")
        q, free = self.closing.held(np.array(guess), fixed)
        if q.ndim != 1:
            raise ShapeError(f"assemblies are searched for one set of positions at a time, got a batch {q.shape[:-1]}")
        names = [distinct] if isinstance(distinct, str) else distinct
        names = [body.name for body in model.bodies] if names is None else names
        if not names:
            raise OptionError("distinct names no body or frame: leave it out to tell assemblies apart by all bodies")
        marks = marks_of(self.closing, [model.frame(name).name for name in names])
        return AssemblyQuestion(self.closing, q, free, marks).answer(starts, rng, limits)

    # ---------------------------------------------------------------- dimensions that vary

    def driven_motion(
        self, q: ByName, v: ByName, a: ByName, parameters: Any = None, *, q_guess: ArrayLike | None = None,
        points: Points = (), threads: int = 1,
    ) -> MovedDesigns:  # fmt: skip
        """Return the motion of many designs under given drives; see :meth:`kinetree.Mechanism.driven_motion`."""
        as_it_is = {"gravity": self.model.gravity}
        nothing = parameters is None or (isinstance(parameters, dict) and not parameters)
        given = self.evaluator.read_parameters(as_it_is if nothing else parameters)
        assert given.numbers is not None
        known, named = self.choice.coordinates, self.choice.independent()
        n = len(named)
        samples = [np.atleast_2d(coordinates.by_name(x, named, name)) for name, x in (("q", q), ("v", v), ("a", a))]
        try:
            samples = list(np.broadcast_arrays(*samples))
        except ValueError:
            shown = ", ".join(f"{name} {x.shape}" for name, x in zip("qva", samples, strict=True))
            raise ShapeError(
                f"samples of the independent freedoms are arrays (T, {n}) with the same T for all; got {shown}"
            ) from None
        nq, batch = self.model.nq, {"parameters": (given.numbers, 1), "q": (samples[0], 2)}
        guess = self.closing.assembled() if q_guess is None else as_array(q_guess, (nq,), "q_guess")
        if guess.ndim > 1:  # configurations of the designs themselves, closed only with their own numbers
            start = guess
            batch["q_guess"] = (start, 1)
        else:
            start = self.closing.close(guess, limits=False)
        batch_shape(**batch)
        moved = self._with_varied(known, given.places).run(np.stack(samples, axis=-2), given.numbers, start, threads)
        return moved.with_points(points) if points else moved

    def led_designs(
        self, frame: str, path: Array, given: GivenParameters, start: Array, begin: Array, threads: int
    ) -> Array:
        """Return configurations (L, T, nq) of designs with a frame led along positions (T, 3).

        ``start``, (nq,), is a configuration of the drawn mechanism, with the frame at ``begin``, (3,).

        Designs change little by little from the one that is drawn, so that each stays on its branch; NaN where a
        position is beyond reach.
        """
        every, aim = np.ones(self.model.nv, dtype=bool), (FrameGoal(frame, orientation=False),)
        kernel = self.closing.kernel(every, aim, places=given.places)
        if kernel is None:
            raise UnsupportedError(
                f"{self.model.name!r} is too large, or too special, to lead {frame!r} as designs vary"
            )
        numbers = np.atleast_2d(np.asarray(given.numbers, dtype=float))
        varied = self._with_varied(self.choice.coordinates, given.places)
        return varied.led(frame, kernel, path, numbers, start, begin, threads)

    def close_derivatives(
        self, q: ArrayLike, fixed: Sequence[str] | None, parameters: Any, order: int, threads: int
    ) -> ClosedDerivatives:
        """Return derivatives of closed configurations; see :meth:`kinetree.Mechanism.close_derivatives`."""
        order = whole_number(order, "order", 1, 2)
        nothing = parameters is None or (isinstance(parameters, dict) and not parameters)
        given = self.evaluator.read_parameters({"gravity": self.model.gravity} if nothing else parameters)
        assert given.numbers is not None
        own = [self.model.joint(name).v_slice for name in fixed or ()]
        freedoms = tuple(j for place in own for j in range(place.start, place.stop))
        known = self.choice.including(freedoms) if fixed else self.choice.coordinates
        if fixed and set(freedoms) != set(known.independent):
            left = self._listed(sorted(set(known.independent) - set(freedoms)))
            raise OptionError(f"with {', '.join(fixed)} held {self.model.name!r} can still move: hold {left}, too")
        varied = self._with_varied(known, given.places)
        found = varied.closed_derivatives(self.geometry.configuration(q), given.numbers, order, threads)
        names = (*(self.geometry.v_names[j] for j in known.independent), *varied.number_names)
        keep = len(known.independent) if nothing else len(names)
        second = found[1][..., :keep, :keep] if order > 1 else None
        return ClosedDerivatives(names[:keep], found[0][..., :keep], second)

    def _with_varied(self, known: coordinates.Coordinates, places: tuple[Place, ...]) -> VariedMechanism:
        key = known.independent, places
        if key not in self._varied:
            self._varied[key] = VariedMechanism(self.evaluator, known, places, self.evaluator.cpu)
        return self._varied[key]

    @cached_property
    def _varied(self) -> dict[tuple[Any, ...], VariedMechanism]:
        """The laws with some parameters as inputs, keyed by drives and parameters."""
        return {}


class ClosedDerivatives(NamedTuple):
    """Derivatives of a closed configuration.

    Attributes
    ----------
    names : tuple of str
        What the derivatives are taken with respect to: joints that are held, then numbers of the model.
    first : ndarray, shape (..., nq, n)
    second : ndarray, shape (..., nq, n, n), or None
    """

    names: tuple[str, ...]
    first: Array
    second: Array | None = None
