"""Controllers in discrete time, as in computers: they measure at intervals, compute, and hold forces in between.

A :class:`Sampled` controller is any other controller between converters.  Its law is evaluated only at the sample
instants, with the readings of encoders and sensors; its forces act after the delay and are held until the next ones
arrive.  The held forces are the controller's state ``z``, whose rate is zero: between two instants the robot moves
under constant forces, by any integrator, in machine code.  :mod:`kinetree.simulation.sampling` stops at these instants.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from ..errors import Message, OptionError, Setting, ShapeError, UnsupportedError, refuse_unknown
from ..evaluation.law_failures import asked_with_lists
from ..model.tree import Model
from ..spatial import Scalar
from ..spatial.numbers import real_number, real_numbers, whole_number
from .base import Around, Controller, Outcome
from .driven_joints import Scalars, checked_model, motorless, refuse_other_joints
from .observers import Observer
from .user_laws import PythonLaw

MEASURED, DIFFERENCES = "measured", "differences"
VELOCITIES = (MEASURED, DIFFERENCES)
"""How a sampled controller gets velocities."""

MOST_BITS = 52
"""The most bits of a converter: those of a double's fraction."""


class SampleDecision(NamedTuple):
    """The result of one sample."""

    tau: list[Scalar]
    """The nv forces before they are limited and rounded, without those of a user's own function."""
    q: list[Scalar]
    v: list[Scalar]
    """The velocities that its law was evaluated with."""
    load: list[Scalar]
    """External forces estimated by its observer, if any."""
    memory: list[Scalar]
    """What observer and law keep for the next sample."""


_ALLOWED: dict[str, dict[str, Any]] = {
    "encoder": {"positive": True, "infinite": True, "unit": "counts per turn or meter"},
    "position_noise": {},
    "velocity_noise": {},
    "limit": {"infinite": True},
}
"""Allowed values of the numbers of converters and sensors."""


@dataclass(frozen=True, eq=False)
class Sampled(Around):
    """Another controller, or a function of your own, in discrete time.

    Every ``period`` it measures and computes; after the ``delay`` its forces act, and are held until the next ones
    arrive.  The first sample is at the beginning of the simulation; motors do nothing until its forces arrive.

    Parameters
    ----------
    controller : Controller or callable
        A controller of :mod:`kinetree.control`: its law is compiled, and its states (the integral of a PID) advance by
        Euler's rule from sample to sample; :class:`DiscreteLaw` defines their update itself.  Or any Python function
        ``f(t, q, v) -> tau``, which is called exactly once per sample, in order, so it may keep a memory; its method
        ``reset()``, if there is one, is called when a run begins.
    period : float
        Seconds between samples.
    delay : float
        Seconds from a sample to its forces, less or more than a period.
    encoder : float or array_like, optional
        Counts per turn of a revolute joint, per meter of a prismatic one: positions are rounded to the nearest
        count.  One number for all joints of one freedom, or one per freedom, infinite where there is no encoder.
    velocity : {"measured", "differences"}
        Whether velocities are measured, or are the differences of measured positions from sample to sample (zero
        at the first one).
    cutoff : float, optional
        Cutoff frequency in hertz of a first-order low-pass filter of velocities.
    position_noise, velocity_noise : float or array_like
        Standard deviations of Gaussian sensor noise, in radians and meters (per second): one number or one per
        freedom.
    seed : int
        Seed of the noise, which at sample k of simulation n of a batch depends only on the seed, k and n.
    observer : Observer, optional
        Estimates the state for the law from measurements, see
        :func:`kinetree.control.luenberger`, :func:`kinetree.control.kalman` and :class:`MomentumObserver`.
    limit : float or array_like, optional
        Largest force of each freedom that the converter can output: one number or nv.
    bits : int, optional
        Bits of the converter, whose forces have ``2**bits - 1`` levels from minus to plus the limit, which is the
        robot's effort limit by default.
    model : Robot, optional
        The robot that law and observer assume, if it is not the simulated one: the same joints with other numbers; see
        :class:`WithModel`, whose model an observer shares.
    keep : bool, optional
        Whether the record keeps measurements and commands, ``record.sampled``; by default for single simulations
        but not for batches.

    Examples
    --------
    >>> from kinetree import control, trajectories
    >>> servo = control.PD(trajectories.Constant([0.5]), kp=40.0, kd=4.0)
    >>> sampled = control.Sampled(servo, period=1e-3, delay=5e-4, encoder=4096, velocity="differences", cutoff=100.0)
    """

    IN_DISCRETE_TIME = True

    period: float
    delay: float = 0.0
    encoder: ArrayLike | None = None
    velocity: str = MEASURED
    cutoff: float | None = None
    position_noise: ArrayLike = 0.0
    velocity_noise: ArrayLike = 0.0
    seed: int = 0
    observer: Observer | None = None
    limit: ArrayLike | None = None
    bits: int | None = None
    keep: bool | None = None
    model: Any = None

    def __post_init__(self) -> None:
        given = self.controller
        law = PythonLaw(given) if callable(given) and not isinstance(given, (Controller, type)) else given
        if not isinstance(law, Controller):
            raise OptionError(f"what is sampled must be a controller or a function f(t, q, v) -> tau, not {given!r}")
        if find_sampled(law) is not None:
            raise OptionError("the controller is sampled already: one period is enough")
        object.__setattr__(self, "controller", law)
        real_number(self.period, "the period of a Sampled controller", positive=True, unit="seconds")
        if real_number(self.delay, "the delay of a Sampled controller", unit="seconds") < 0.0:
            raise OptionError(f"the delay of a Sampled controller must not be negative, not {self.delay!r}")
        refuse_unknown("way to know velocities", self.velocity, VELOCITIES)
        if self.cutoff is not None:
            real_number(self.cutoff, Setting("cutoff"), positive=True, unit="hertz")
        for name in _ALLOWED:
            if getattr(self, name) is not None:
                self._checked(name)
        if self.encoder is not None and (least := float(np.min(self._checked("encoder"), initial=np.inf))) < 1.0:
            raise OptionError(
                f"encoder counts per turn, or per meter: {least:g} is too few; a resolution of {least:g} rad "
                f"is {2.0 * math.pi / least:.6g} counts per turn"
            )
        if self.velocity == DIFFERENCES and np.any(np.asarray(self.velocity_noise) != 0.0):
            raise OptionError(
                Message("velocities are differences of positions: leave ", Setting("velocity_noise", ...), " out")
            )
        whole_number(self.seed, "seed", least=0)
        if self.bits is not None:
            whole_number(self.bits, "bits", least=2, most=MOST_BITS)
        if self.observer is not None and not isinstance(self.observer, Observer):
            raise OptionError(f"observer must be one of kinetree.control, not {self.observer!r}")
        if self.model is not None:
            checked_model(self.model)

    def known(self, tree: Model) -> Model:
        """Return the mechanism that law and observer compute with."""
        if self.model is None:
            return self.controller.known(tree)
        mechanism: Model = self.model.model
        return mechanism

    # ------------------------------------------------------------------ as any controller

    @property
    def function(self) -> Callable[..., Any] | None:
        """The user's own function, if that is what is sampled."""
        return self.controller.plain_function()

    def kinks(self, begin: float, end: float) -> np.ndarray:
        """Return no kinks: between two samples forces are held."""
        return np.zeros(0)

    def bound(self, robot: Any) -> Self:
        """Return this controller, with an inner controller that knows the loops of its model."""
        self.check(robot.model)
        return replace(self, controller=self.controller.bound(robot if self.model is None else self.model))

    def initial_states(self, tree: Model) -> np.ndarray:
        """Return zeros: no forces act before the first ones arrive."""
        return np.zeros(len(self.driven(tree)))

    def driven(self, tree: Model) -> list[int]:
        """Return the indices in v of the freedoms with held forces."""
        idle = motorless(tree)
        return [k for k in range(tree.nv) if k not in idle]

    def parameters(self, tree: Model) -> dict[str, np.ndarray]:
        """Return the gains of the other controller."""
        return self.controller.parameters(self.known(tree)) if self.function is None else {}

    def law(self, tree: Model, t: Scalar, q: Scalars, v: Scalars, z: Scalars) -> Outcome:
        """Return the held forces, which do not change."""
        tau: list[Scalar] = [0.0] * tree.nv
        for k, held in zip(self.driven(tree), z, strict=True):
            tau[k] = held
        return tau, [0.0] * len(z)

    def __call__(self, robot: Any, *state: Any, **options: Any) -> np.ndarray:
        """Return the forces of the other controller at a given state."""
        if self.function is not None:
            return np.asarray(self.function(*state), dtype=float)
        answer: np.ndarray = self.controller(robot if self.model is None else self.model, *state, **options)
        return answer

    # ------------------------------------------------------------------ at a sample

    def first_memory(self, tree: Model, q: Scalars, v: Scalars) -> list[Scalar]:
        """Return the memory of observer and law before the first sample, at which a state is measured."""
        tree = self.known(tree)
        own = [] if self.observer is None else list(self.observer.first_memory(tree, self.period, q, v))
        return own + ([] if self.function is not None else self.controller.initial_states(tree).tolist())

    def estimate(
        self, tree: Model, q: Scalars, v: Scalars, tau: Scalars, memory: Scalars
    ) -> tuple[list[Scalar], list[Scalar], list[Scalar], list[Scalar], Scalars]:  # fmt: skip
        """Return the estimated state and load after a sample, and the memory of observer and law.

        ``tau`` are the average forces since the previous sample.
        """
        if self.observer is None:
            return list(q), list(v), [], [], memory
        count = self.observer.memory_size(tree)
        seen = self.observer.update(tree, self.period, q, v, tau, memory[:count])
        return list(seen.q), list(seen.v), list(seen.load), list(seen.memory), memory[count:]

    def decide(self, tree: Model, t: Scalar, q: Scalars, v: Scalars, tau: Scalars, memory: Scalars) -> SampleDecision:
        """Return the result of a sample, over any scalar."""
        tree = self.known(tree)
        q, v, load, observed, own = self.estimate(tree, q, v, tau, memory)
        answer: Sequence[Scalar] = [0.0] * tree.nv
        after: Sequence[Scalar] = []
        if self.function is None:  # the function is called elsewhere, on arrays, and its forces are added
            answer, after = self.controller.update(tree, t, q, v, own, self.period)
        if len(answer) != tree.nv:
            raise ShapeError(f"the controller returned {len(answer)} forces, robot {tree.name!r} has nv = {tree.nv}")
        answer = [a - b for a, b in zip(answer, self._opposed(tree, load), strict=True)]
        return SampleDecision(answer, list(q), list(v), load, observed + list(after))

    def _opposed(self, tree: Model, load: Scalars) -> list[Scalar]:
        if not load or self.observer is None or not self.observer.compensate:
            return [0.0] * tree.nv
        driven = set(self.driven(tree))
        return [x if k in driven else 0.0 for k, x in enumerate(load)]

    # ------------------------------------------------------------------ converters

    def encoders(self, tree: Model) -> tuple[list[int], np.ndarray] | None:
        """Return the coordinates with encoders, and the size of their counts; None without encoders."""
        if self.encoder is None:
            return None
        per_unit = self._checked("encoder", tree.nv)
        places, lengths = [], []
        for joint in tree.joints:
            here = per_unit[joint.v_slice]
            if joint.mimic is None and joint.kind.nv == 1 and joint.kind.nq == 1:
                if np.isfinite(here[0]):
                    places.append(joint.q_slice.start)
                    lengths.append((2.0 * math.pi if joint.kind.q_units[0] == "rad" else 1.0) / here[0])
            elif joint.mimic is None and np.ndim(self.encoder) and np.any(np.isfinite(here)):
                raise OptionError(
                    f"joint {joint.name!r} has several freedoms, which encoders cannot count: give infinity there"
                )
        return places, np.array(lengths)

    def noise(self, tree: Model) -> tuple[np.ndarray, np.ndarray]:
        """Return the standard deviations of the noise of positions and velocities, (nv,) each."""
        return self._checked("position_noise", tree.nv), self._checked("velocity_noise", tree.nv)

    def _checked(self, name: str, count: int | None = None) -> np.ndarray:
        """Return checked numbers of converters and sensors, one for each freedom."""
        return real_numbers(getattr(self, name), Setting(name), count, **_ALLOWED[name])

    def limits(self, tree: Model) -> np.ndarray | None:
        """Return the largest force of each freedom; None if there is no limit."""
        if self.limit is not None:
            return self._checked("limit", tree.nv)
        if self.bits is None:
            return None
        bounds: np.ndarray = tree.joint_vector("effort_limit")
        driven = self.driven(tree)
        if not np.isfinite(bounds[driven]).all():
            raise OptionError(
                Message("a converter with bits needs its largest force, ", Setting("limit", ...), f": robot "
                        f"{tree.name!r} has no effort limits")
            )  # fmt: skip
        return bounds

    def check(self, tree: Model) -> None:
        """Refuse settings that do not fit a robot."""
        self.encoders(tree)
        self.noise(tree)
        self.limits(tree)
        if self.model is not None:
            refuse_other_joints(self.model, tree)
        if self.observer is not None:
            self.observer.check(self.known(tree), self.period)

    def filtered(self) -> float:
        """Return the weight of the previous velocity in the filter: exp(-2 pi cutoff period)."""
        return 0.0 if self.cutoff is None else math.exp(-2.0 * math.pi * self.cutoff * self.period)


@dataclass(frozen=True, eq=False)
class DiscreteLaw(Controller):
    """A law of your own in discrete time with a memory, written over any scalar, which is compiled.

    Parameters
    ----------
    function : callable
        ``function(t, q, v, memory)`` gets a scalar and lists of scalars and returns nv forces and the next memory; it
        uses ``+ - * /``, :func:`kinetree.sin` and the like, and :func:`kinetree.where` instead of ``if``.
    memory : array_like
        Initial memory.

    Examples
    --------
    >>> from kinetree import control
    >>> lead = control.DiscreteLaw(lambda t, q, v, m: ([-80.0 * q[0] + 60.0 * m[0]], [q[0]]), memory=[0.0])
    >>> sampled = control.Sampled(lead, period=1e-3)
    """

    function: Callable[..., tuple[Sequence[Scalar], Sequence[Scalar]]]
    memory: ArrayLike = ()

    def initial_states(self, tree: Model) -> np.ndarray:
        """Return the initial memory."""
        return np.atleast_1d(np.asarray(self.memory, dtype=float))

    def law(self, tree: Model, t: Scalar, q: Scalars, v: Scalars, z: Scalars) -> Outcome:
        """Raise an error: there is no law between two samples."""
        raise UnsupportedError("a DiscreteLaw works in discrete time: put it into control.Sampled(law, period=...)")

    def update(self, tree: Model, t: Scalar, q: Scalars, v: Scalars, z: Scalars, period: float) -> Outcome:
        """Return forces and the next memory."""
        answer = asked_with_lists(self.function, t, list(q), list(v), list(z))
        try:
            tau, after = (list(x) for x in answer)
        except (TypeError, ValueError, OverflowError):
            raise ShapeError(
                f"a DiscreteLaw returns nv forces and the next memory, two lists; not {answer!r}"
            ) from None
        if len(tau) != tree.nv or len(after) != len(z):
            raise ShapeError(
                f"the discrete law returned {len(tau)} forces and a memory of {len(after)}; robot {tree.name!r} has "
                f"nv = {tree.nv}, and the memory is one of {len(z)}"
            )
        return tau, after


class SampledPart(NamedTuple):
    """The place of the sampled part in a controller."""

    part: Sampled
    path: tuple[int, ...]
    """Indices of the parts of sums on the way to it."""

    def within(self, controller: Controller) -> Sampled:
        """Return that part of the same controller with other scalars put in."""
        for k in self.path:
            controller = controller.inner()[k]
        assert isinstance(controller, Sampled)
        return controller

    def first_state(self, controller: Controller, tree: Model) -> int:
        """Return the index of that part's first state among the controller's states."""
        first = 0
        for k in self.path:
            parts = controller.inner()
            first += sum(len(p.initial_states(tree)) for p in parts[:k])
            controller = parts[k]
        return first


def find_sampled(controller: Controller | None) -> SampledPart | None:
    """Return the sampled part of a controller, if there is one; refuse two."""
    found = [] if controller is None else _all_sampled(controller, ())
    if len(found) > 1:
        raise UnsupportedError(
            "two sampled controllers at once: put both laws into one, control.Sampled(a + b, period=...)"
        )
    return found[0] if found else None


def _all_sampled(controller: Controller, path: tuple[int, ...]) -> list[SampledPart]:
    if isinstance(controller, Sampled):
        return [SampledPart(controller, path)]
    return [x for k, part in enumerate(controller.inner()) for x in _all_sampled(part, (*path, k))]
