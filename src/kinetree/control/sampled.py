"""Controllers in discrete time, as computers are: they look now and then, compute, and hold forces meanwhile.

A :class:`Sampled` controller is any other controller behind converters.  Its law is asked at the sample instants
alone, with what encoders and sensors tell then; the forces that it answers act after the delay and are held until the
next ones arrive.  What is held is the controller's state ``z``, whose rate is zero: between two instants the robot
moves under constant forces, by any integrator, in machine code.  :mod:`kinetree.simulation.sampling` stops there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from ..errors import Message, OptionError, Setting, ShapeError, UnknownNameError, UnsupportedError
from ..model.tree import Model
from ..run.failure import asked_with_lists
from ..spatial import Scalar
from ..spatial.numbers import real_number, real_numbers, whole_number
from .base import Around, Controller, Outcome
from .basic_controllers import PythonLaw
from .driven_joints import Scalars, checked_model, motorless, refuse_other_joints
from .observers import Observer

MEASURED, DIFFERENCES = "measured", "differences"
VELOCITIES = (MEASURED, DIFFERENCES)
"""How a sampled controller knows velocities."""

MOST_BITS = 52
"""Of a converter: as many as a number has digits."""


class SampleDecision(NamedTuple):
    """What a sampled controller makes of one look at the robot."""

    tau: list[Scalar]
    """Forces, nv of them, before they are limited and rounded; without those of a function of the user's own."""
    q: list[Scalar]
    v: list[Scalar]
    """The state that its law was asked with."""
    load: list[Scalar]
    """Forces from outside that its observer tells of; none by most."""
    memory: list[Scalar]
    """What observer and law remember until the next time."""


_ALLOWED: dict[str, dict[str, Any]] = {
    "encoder": {"positive": True, "infinite": True, "unit": "counts per turn or meter"},
    "position_noise": {},
    "velocity_noise": {},
    "limit": {"infinite": True},
}
"""What the numbers of converters and sensors may be."""


@dataclass(frozen=True, eq=False)
class Sampled(Around):
    """Another controller, or a function of your own, in discrete time.

    Every ``period`` it measures, decides, and after the ``delay`` lets its forces act, which are held until the next
    ones arrive.  The first sample is at the beginning of the simulation; motors do nothing until its forces arrive.

    Parameters
    ----------
    controller : Controller or callable
        One of :mod:`kinetree.control`: its law is compiled, and its states (the integral of a PID) go on by Euler's
        rule from sample to sample; :class:`DiscreteLaw` says itself how they go on.  Or any Python function
        ``f(t, q, v) -> tau``, which is asked exactly once per sample, in their order, so it may remember whatever it
        likes; its method ``reset()``, if there is one, is called when a run begins.
    period : float
        Seconds from one sample to the next.
    delay : float
        Seconds from a sample to its forces, less or more than a period.
    encoder : float or array_like, optional
        Counts per turn of a revolute joint, per meter of a prismatic one: positions are rounded to the nearest
        count.  One number for all joints of one freedom, or one per freedom, infinite where there is no encoder.
    velocity : {"measured", "differences"}
        Whether velocities are measured, or are the differences of measured positions from sample to sample (zero
        at the first one).
    cutoff : float, optional
        Hertz at which a first-order low-pass filter cuts off what is measured or differenced of velocities.
    position_noise, velocity_noise : float or array_like
        Standard deviations of what sensors add, Gaussian, in radians and meters (per second): one number or one per
        freedom.
    seed : int
        The noise of the k-th sample of the n-th simulation of a batch depends on the seed, k and n only.
    observer : Observer, optional
        Makes the state that the law is asked with from what is measured, see
        :func:`kinetree.control.luenberger`, :func:`kinetree.control.kalman` and :class:`MomentumObserver`.
    limit : float or array_like, optional
        Largest force of each freedom that the converter gives: one number or nv of them.
    bits : int, optional
        Of the converter, whose forces have ``2**bits - 1`` levels from minus to plus the limit; the robot's effort
        limits where no ``limit`` is given.
    model : Robot, optional
        What law and observer believe the robot to be, if that is not the one that is simulated: the same joints, other
        numbers; see :class:`WithModel`, whose model an observer shares.
    keep : bool, optional
        Whether the record keeps what was measured and commanded, ``record.sampled``; by default for single
        simulations but not for batches.

    Examples
    --------
    >>> from kinetree import control, trajectories
    >>> servo = control.PD(trajectories.Constant([0.5]), kp=40.0, kd=4.0)
    >>> sampled = control.Sampled(servo, period=1e-3, delay=5e-4, encoder=4096, velocity="differences", cutoff=100.0)
    """

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
        if self.velocity not in VELOCITIES:
            raise UnknownNameError("way to know velocities", self.velocity, VELOCITIES)
        if self.cutoff is not None:
            real_number(self.cutoff, Setting("cutoff"), positive=True, unit="hertz")
        for name in _ALLOWED:
            if getattr(self, name) is not None:
                self._checked(name)
        if self.encoder is not None and (least := float(np.min(self._checked("encoder"), initial=np.inf))) < 1.0:
            raise OptionError(
                f"encoder counts per turn, or per meter: {least:g} of them see nothing; a resolution of {least:g} rad "
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
        """The user's own function, if it is one that is sampled."""
        return self.controller.plain_function()

    def kinks(self, begin: float, end: float) -> np.ndarray:
        """Return none: between two samples forces are held."""
        return np.zeros(0)

    def bound(self, robot: Any) -> Self:
        """Return this controller, the other one with what it needs to know of the robot's loops."""
        self.check(robot.model)
        return replace(self, controller=self.controller.bound(robot if self.model is None else self.model))

    def initial_states(self, tree: Model) -> np.ndarray:
        """Return zeros: no forces are held before the first ones arrive."""
        return np.zeros(len(self.driven(tree)))

    def driven(self, tree: Model) -> list[int]:
        """Return the places in v of the freedoms that forces are held at."""
        idle = motorless(tree)
        return [k for k in range(tree.nv) if k not in idle]

    def parameters(self, tree: Model) -> dict[str, np.ndarray]:
        """Return the gains of the other controller."""
        return self.controller.parameters(self.known(tree)) if self.function is None else {}

    def law(self, tree: Model, t: Scalar, q: Scalars, v: Scalars, z: Scalars) -> Outcome:
        """Return the forces that are held, which stay as they are."""
        tau: list[Scalar] = [0.0] * tree.nv
        for k, held in zip(self.driven(tree), z, strict=True):
            tau[k] = held
        return tau, [0.0] * len(z)

    def __call__(self, robot: Any, *state: Any, **options: Any) -> np.ndarray:
        """Return what the other controller answers to a state as it is."""
        if self.function is not None:
            return np.asarray(self.function(*state), dtype=float)
        answer: np.ndarray = self.controller(robot if self.model is None else self.model, *state, **options)
        return answer

    # ------------------------------------------------------------------ at a sample

    def first_memory(self, tree: Model, q: Scalars, v: Scalars) -> list[Scalar]:
        """Return what observer and law remember before the first sample, at which a state is measured."""
        tree = self.known(tree)
        own = [] if self.observer is None else list(self.observer.first_memory(tree, self.period, q, v))
        return own + ([] if self.function is not None else self.controller.initial_states(tree).tolist())

    def estimate(
        self, tree: Model, q: Scalars, v: Scalars, tau: Scalars, memory: Scalars
    ) -> tuple[list[Scalar], list[Scalar], list[Scalar], list[Scalar], Scalars]:  # fmt: skip
        """Return state and load that are believed after a look, and what observer and law remember.

        ``tau`` are the forces that acted since the look before, on average.
        """
        if self.observer is None:
            return list(q), list(v), [], [], memory
        count = self.observer.memory_size(tree)
        seen = self.observer.update(tree, self.period, q, v, tau, memory[:count])
        return list(seen.q), list(seen.v), list(seen.load), list(seen.memory), memory[count:]

    def decide(self, tree: Model, t: Scalar, q: Scalars, v: Scalars, tau: Scalars, memory: Scalars) -> SampleDecision:
        """Return what follows from a look at the robot, over any scalar."""
        tree = self.known(tree)
        q, v, load, observed, own = self.estimate(tree, q, v, tau, memory)
        answer: Sequence[Scalar] = [0.0] * tree.nv
        after: Sequence[Scalar] = []
        if self.function is None:  # which is asked elsewhere, on arrays, and what it answers is added
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
        """Return the coordinates that encoders count, and how long their counts are; None without encoders."""
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
                    f"joint {joint.name!r} has several freedoms, which no encoder counts: give infinity there"
                )
        return places, np.array(lengths)

    def noise(self, tree: Model) -> tuple[np.ndarray, np.ndarray]:
        """Return the deviations of what sensors add to positions and velocities, (nv,) each."""
        return self._checked("position_noise", tree.nv), self._checked("velocity_noise", tree.nv)

    def _checked(self, name: str, count: int | None = None) -> np.ndarray:
        """Return what converters and sensors are given, one number for each freedom."""
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
                Message("a converter of so many bits needs its largest force, ", Setting("limit", ...), f": robot "
                        f"{tree.name!r} has no effort limits")
            )  # fmt: skip
        return bounds

    def check(self, tree: Model) -> None:
        """Refuse what does not fit a robot."""
        self.encoders(tree)
        self.noise(tree)
        self.limits(tree)
        if self.model is not None:
            refuse_other_joints(self.model, tree)
        if self.observer is not None:
            self.observer.check(self.known(tree), self.period)

    def filtered(self) -> float:
        """Return what part of a velocity is taken over from the sample before: exp(-2 pi cutoff period)."""
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
        What it begins with.

    Examples
    --------
    >>> from kinetree import control
    >>> lead = control.DiscreteLaw(lambda t, q, v, m: ([-80.0 * q[0] + 60.0 * m[0]], [q[0]]), memory=[0.0])
    >>> sampled = control.Sampled(lead, period=1e-3)
    """

    function: Callable[..., tuple[Sequence[Scalar], Sequence[Scalar]]]
    memory: ArrayLike = ()

    def initial_states(self, tree: Model) -> np.ndarray:
        """Return the memory that it begins with."""
        return np.atleast_1d(np.asarray(self.memory, dtype=float))

    def law(self, tree: Model, t: Scalar, q: Scalars, v: Scalars, z: Scalars) -> Outcome:
        """Refuse: there is no law between two samples."""
        raise UnsupportedError("a DiscreteLaw lives in discrete time: put it into control.Sampled(law, period=...)")

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
    """Where in a controller the sampled part is."""

    part: Sampled
    path: tuple[int, ...]
    """Numbers of the parts of sums on the way to it."""

    def within(self, controller: Controller) -> Sampled:
        """Return that part of the same controller with other scalars put in."""
        for k in self.path:
            controller = controller.inner()[k]
        assert isinstance(controller, Sampled)
        return controller

    def first_state(self, controller: Controller, tree: Model) -> int:
        """Return where in the controller's states those of that part begin."""
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
