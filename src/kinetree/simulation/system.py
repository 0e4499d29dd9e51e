"""A robot with everything that acts on it, over any scalar: what the equation of motion is made of.

The state is (q, v, z).  ``z`` holds, in this order, the states of the controller (the
integral of a PID, say), those of every force element, and the works done on the robot: by the
actuators, by joint friction, by the ground and, if there are any, by forces.  Integrating the works
beside the motion is what the sources do (Shah appendix C, eq. C.2-C.3), so that

    kinetic + potential - actuators - friction - ground - forces = constant

can be checked as sharply as the integrator computes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ..algorithms import energy, giving_way
from ..algorithms.friction import friction_force
from ..algorithms.table import FORWARD_METHODS, WITH_ADDED, find
from ..control.driven_joints import motorless, refuse_motorless
from ..errors import OptionError, ShapeError
from ..model.changes.regrouping import regrouped
from ..model.tree import Model
from ..robot.robot import Robot
from ..run.failure import blaming
from ..run.law_kernels import can_compile, is_condition
from ..run.parameters import NO_PARAMETERS, GivenParameters, put_in
from ..spatial import Force, Scalar
from .friction_memory import FrictionMemory
from .loop_choice import LoopChoice
from .prescribed import LookedUp, Prescribed
from .yielding import Impedance

Scalars = Sequence[Scalar]
State = tuple[np.ndarray, np.ndarray, np.ndarray]
"""q, v and z as arrays, each with the batch in front."""

Loads = list[Force | None]

WORKS = ("actuators", "friction", "ground", "forces")
"""What does work on the robot, in the order of the last entries of z; forces only where there are some."""


OF_ROBOT = "robot"
"""The name of the robot's own parameters among those of all parts."""


LOOKED_UP = "prescribed"
"""The name of a prescribed motion's numbers among those of all parts; they come last."""


class Acting(NamedTuple):
    """What acts on a robot at one instant."""

    tau: list[Scalar]
    """Of the actuators."""

    friction: list[Scalar]
    """Of the joints' friction, against the motion."""

    pushed: list[Scalar]
    """Joint forces of ground and force elements, such as stops."""

    loads: Loads
    """Wrenches of ground and force elements on the bodies, in body coordinates."""

    z_rate: list[Scalar]
    """Rates of the controller's and the elements' states."""

    shares: list[tuple[list[Scalar], Loads]]
    """Joint forces and wrenches once more: of the ground and, if there are any, of forces."""

    a: list[Scalar] | None = None
    """Accelerations, where a prescribed motion has them found beside the forces."""

    @property
    def total(self) -> list[Scalar]:
        """All joint forces together."""
        return [t + f + p for t, f, p in zip(self.tau, self.friction, self.pushed, strict=True)]


@dataclass(frozen=True)
class DynamicSystem:
    """A robot, its controller and the force elements around it.

    Parameters
    ----------
    robot : Robot
    controller : controller or None
        See :mod:`kinetree.control`; None lets the robot go.
    elements : tuple of force elements
        Ground, stops, springs: see :mod:`kinetree.contact.ground`.
    friction : bool
        Whether the joints' damping and friction act.
    friction_speed : float
        Where smooth Coulomb friction reaches 71 % of its size.
    works : bool
        Whether the works are integrated beside the motion.
    varied : GivenParameters
        Numbers of the robot that take the place of the model's, see :mod:`kinetree.run.parameters`.
    prescribed : Prescribed, optional
        Motion that some joints follow, see :mod:`.prescribed`.
    wanted_method : str
        How accelerations are to be found.
    model : Model, optional
        The mechanism with other scalars put in.
    origin : DynamicSystem, optional
        The system with numbers that this one has other scalars in the place of.
    n_forces : int
        How many of the elements, from the end, are forces: their work is counted apart from the ground's.
    """

    robot: Robot
    controller: Any = None
    elements: tuple[Any, ...] = ()
    friction: bool = True
    friction_speed: float = 1e-2
    works: bool = True
    varied: GivenParameters = NO_PARAMETERS
    prescribed: Prescribed | None = None
    wanted_method: str = "articulated_body"
    model: Model | None = None
    origin: DynamicSystem | None = None
    n_forces: int = 0

    @property
    def n_works(self) -> int:
        """How many of the last entries of z are works."""
        return (len(WORKS) if self.n_forces else len(WORKS) - 1) if self.works else 0

    @property
    def forces(self) -> tuple[Any, ...]:
        """Those of the elements whose work is counted apart from the ground's."""
        return self.elements[len(self.elements) - self.n_forces :]

    @property
    def work_of_ground(self) -> int:
        """Where in z, from its end, the work of the ground is."""
        return -2 if self.n_forces else -1

    @property
    def tree(self) -> Model:
        """The mechanism as plain data."""
        return self.model or self.robot.model

    @cached_property
    def parts(self) -> list[Any]:
        """Everything that may have states and parameters."""
        return ([] if self.controller is None else [self.controller]) + list(self.elements)

    @cached_property
    def initial_states(self) -> list[np.ndarray]:
        """The states that each part begins with."""
        return self.origin.initial_states if self.origin else [_states(part, self.tree) for part in self.parts]

    @cached_property
    def slices(self) -> list[slice]:
        """Where each part's states are in z."""
        ends = np.cumsum([0] + [len(s) for s in self.initial_states])
        return [slice(int(a), int(b)) for a, b in pairwise(ends)]

    @cached_property
    def nz(self) -> int:
        """Length of z."""
        return sum(len(s) for s in self.initial_states) + self.n_works

    @cached_property
    def motorless(self) -> dict[int, str]:
        """Places in v, and joints, where a controller can do nothing."""
        return self.origin.motorless if self.origin else motorless(self.robot.model)

    def initial_z(self) -> np.ndarray:
        """Return what z is at the beginning."""
        return np.concatenate([*self.initial_states, np.zeros(self.n_works)])

    # ------------------------------------------------------------------ numbers that may vary over a batch

    @cached_property
    def parameters(self) -> dict[str, np.ndarray]:
        """Numbers of all parts, each (..., n): gains, stiffnesses, ..."""
        found: dict[str, np.ndarray] = {} if self.varied.numbers is None else {OF_ROBOT: self.varied.numbers}
        for k, part in enumerate(self.parts):
            named = part.parameters(self.tree) if hasattr(part, "parameters") else {}
            found |= {f"{k}.{name}": np.atleast_1d(np.asarray(value, float)) for name, value in named.items()}
        if self.looks_up:
            found[LOOKED_UP] = np.zeros(self.prescribed.numbers(self.tree, 0.0).shape)  # type: ignore[union-attr]
        return found

    @cached_property
    def looks_up(self) -> bool:
        """Whether a prescribed motion is too long for machine code, so that its numbers are parameters."""
        return self.prescribed is not None and self.origin is None and self.prescribed.is_long(self.tree)

    def with_parameters(self, numbers: Mapping[str, Scalars]) -> DynamicSystem:
        """Return the same system with other numbers, of any scalar, put into its parts."""
        if not numbers:
            return self
        parts = []
        for k, part in enumerate(self.parts):
            own = {n.partition(".")[2]: x for n, x in numbers.items() if n.partition(".")[0] == str(k)}
            parts.append(part.with_parameters(own) if own else part)
        first = 0 if self.controller is None else 1
        of_robot, motion = numbers.get(OF_ROBOT), self.prescribed
        if motion is not None and LOOKED_UP in numbers:
            motion = LookedUp(motion.trajectory, motion.joints, numbers[LOOKED_UP])
        return replace(
            self,
            controller=parts[0] if first else None,
            elements=tuple(parts[first:]),
            prescribed=motion,
            model=None if of_robot is None else put_in(self.robot.model, self.varied.places, of_robot),
            origin=self,
        )

    # ------------------------------------------------------------------ the law

    def placed(self, t: Scalar, q: Scalars, v: Scalars) -> tuple[Scalars, Scalars]:
        """Return a state with joints whose motion is prescribed where they have to be."""
        return (q, v) if self.prescribed is None else self.prescribed.placed(self.tree, t, q, v)[:2]

    def acting(self, t: Scalar, q: Scalars, v: Scalars, z: Scalars, tau: Scalars | None = None) -> Acting:
        """Return what acts on the robot; ``tau`` replaces what the controller would say."""
        tree = self.tree
        wanted: list[Scalar] = []
        if self.prescribed is not None:
            q, v, wanted = self.prescribed.placed(tree, t, q, v)
        forces: list[Scalar] = [0.0] * tree.nv
        z_rate: list[Scalar] = []
        parts = list(zip(self.parts, self.slices, strict=True))
        if self.controller is not None:
            controller, where = parts.pop(0)
            if tau is None:
                with blaming("the controller's law", t, even_ours=False):
                    forces, rate = controller.law(tree, t, q, v, z[where])
                z_rate += list(rate)
                if len(forces) != tree.nv:
                    names = ", ".join(self.robot.v_names[:6]) + (", ..." if tree.nv > 6 else "")
                    raise ShapeError(f"the controller returned {len(forces)} forces instead of {tree.nv} ({names})")
                _refuse_conditions(forces, "the controller")
                refuse_motorless(self.motorless, forces, t)
        if tau is not None:
            forces = list(tau)
        shares: list[tuple[list[Scalar], Loads]] = []
        built_up: dict[int, Scalar] = {}
        followed: dict[int, Scalar] = {}
        of_ground = len(parts) - self.n_forces
        for some in (parts[:of_ground], parts[of_ground:])[: 2 if self.n_forces else 1]:
            loads: Loads = [None] * len(tree.bodies)
            pushed: list[Scalar] = [0.0] * tree.nv
            for element, where in some:
                if isinstance(element, FrictionMemory):
                    built_up |= element.shares(tree, z[where])
                    followed |= element.followed(tree, z[where])
                with blaming(f"force element {type(element).__name__}", t, even_ours=False):
                    on_bodies, on_joints, rate = element.loads(tree, t, q, v, z[where])
                z_rate += list(rate)
                if on_bodies is not None:
                    loads = [_sum(a, b) for a, b in zip(loads, on_bodies, strict=True)]
                if on_joints is not None:
                    _refuse_conditions(on_joints, f"force element {type(element).__name__}")
                    pushed = [a + b for a, b in zip(pushed, on_joints, strict=True)]
            shares.append((pushed, loads))
        friction = [0.0] * tree.nv
        if self.friction:
            friction = friction_force(tree, v, self.friction_speed, q, built_up, followed)
        pushed, loads = shares[0]
        for more, others in shares[1:]:
            pushed = [a + b for a, b in zip(pushed, more, strict=True)]
            loads = [_sum(a, b) for a, b in zip(loads, others, strict=True)]
        if self.prescribed is None:
            return Acting(list(forces), friction, pushed, loads, z_rate, shares)
        beside = [f + p for f, p in zip(friction, pushed, strict=True)]
        a, forces = self.prescribed.forces(tree, q, v, wanted, beside, loads)
        return Acting(forces, friction, pushed, loads, z_rate, shares, a)

    def powers(self, q: Scalars, v: Scalars, acting: Acting) -> list[Scalar]:
        """Return the power of actuators, friction, ground and forces (Shah eq. C.2-C.3)."""
        none: Loads = [None] * len(acting.loads)
        pairs = [(acting.tau, none), (acting.friction, none), *acting.shares]
        return [energy.power(self.tree, q, v, tau, loads) for tau, loads in pairs]

    def impedance(self, t: Scalar, q: Scalars, v: Scalars) -> Impedance:
        """Return how stiff and how damping everything is that a step can be implicit in."""
        found = Impedance(self.tree)
        found.add_joints(v, self.friction, self.friction_speed)
        found.add_tendons(q, self.friction)
        if hasattr(self.controller, "impedance"):
            found.add(*self.controller.impedance(self.tree, t, q, v))
        for element in self.elements:
            if hasattr(element, "impedance"):
                found.add(*element.impedance(self.tree, t, q, v))
        return found

    def rate(
        self, t: Scalar, q: Scalars, v: Scalars, z: Scalars, tau: Scalars | None = None, ahead: Scalar | None = None
    ) -> tuple[list[Scalar], list[Scalar]]:
        """Return the accelerations, for a step of ``ahead`` implicit in springs and dampers, and the rate of z."""
        q, v = self.placed(t, q, v)
        acting = self.acting(t, q, v, z, tau)
        if acting.a is not None:
            return acting.a, acting.z_rate + (self.powers(q, v, acting) if self.works else [])
        a = self._accelerations(acting, t, q, v, ahead)
        return a, acting.z_rate + (self.powers(q, v, acting) if self.works else [])

    def _accelerations(self, acting: Acting, t: Scalar, q: Scalars, v: Scalars, ahead: Scalar | None) -> list[Scalar]:
        """Return the accelerations of a tree, for a step of ``ahead`` or for none."""
        if ahead is None:
            tree, total, loads = self.tree_of_accelerations, acting.total, acting.loads
            return find("forward_dynamics").function(tree, q, v, total, loads, method=self.method)
        gives = self.impedance(t, q, v)
        tree, total = self._with(gives, acting, q, v, ahead)
        rows = gives.rows(ahead)
        if rows:
            return giving_way.forward_dynamics(tree, q, v, total, acting.loads, rows)
        added = any(body.added is not None for body in tree.bodies)
        method = self.method if not added or self.method in WITH_ADDED else FORWARD_METHODS[0]
        return find("forward_dynamics").function(tree, q, v, total, acting.loads, method=method)

    def closed_rate(
        self, t: Scalar, q: Scalars, v: Scalars, z: Scalars, choice: LoopChoice, tau: Scalars | None = None,
        ahead: Scalar | None = None,
    ) -> tuple[list[Scalar], list[Scalar], Scalar]:  # fmt: skip
        """Return the same of a mechanism, and how well the choice of constraints serves, one or more if well enough."""
        acting = self.acting(t, q, v, z, tau)
        tree, total = self.yielding(acting, t, q, v, ahead)
        a, quality = choice.accelerations(tree, q, v, total, acting.loads)
        return a, acting.z_rate + (self.powers(q, v, acting) if self.works else []), quality

    def yielding(
        self, acting: Acting, t: Scalar, q: Scalars, v: Scalars, ahead: Scalar | None
    ) -> tuple[Model, list[Scalar]]:
        """Return tree and joint forces that accelerations of loops are found with, for a step of ``ahead`` or none."""
        if ahead is None:
            return self.tree_of_accelerations, acting.total
        gives = self.impedance(t, q, v)
        gives.count_at_freedoms()
        return self._with(gives, acting, q, v, ahead)

    def _with(
        self, gives: Impedance, acting: Acting, q: Scalars, v: Scalars, ahead: Scalar
    ) -> tuple[Model, list[Scalar]]:
        tree = gives.heavier(ahead, self.tree_of_accelerations.bodies)
        return tree, [a + b for a, b in zip(acting.total, gives.push(ahead, q, v), strict=True)]

    @cached_property
    def tree_of_accelerations(self) -> Model:
        """The mechanism with fewer parameters and the same accelerations, in machine code; other numbers stay."""
        return regrouped(self.tree) if self.model is None and can_compile(self.robot) else self.tree

    @cached_property
    def method(self) -> str:
        """How accelerations are found: massless followers only have a motion when held to their leaders."""
        if self.origin:
            return self.origin.method
        evaluator = self.robot.evaluator
        evaluator.check_pivots()
        return evaluator.forward_method(self.wanted_method)

    def energies(self, q: Scalars, v: Scalars) -> list[Scalar]:
        """Return the kinetic and potential energy."""
        tree = self.tree
        return [energy.kinetic_energy(tree, q, v), energy.potential_energy(tree, q, tree.gravity)]

    def stored(self, t: Scalar, q: Scalars, v: Scalars, z: Scalars) -> list[Scalar]:
        """Return the energy stored in forces, one number; none if there are no forces."""
        if not self.n_forces:
            return []
        total: Scalar = 0.0
        for element, where in zip(self.forces, self.slices[-self.n_forces :], strict=True):
            if hasattr(element, "energy"):
                total = total + element.energy(self.tree, t, q, v, z[where])
        return [total]

    @property
    def ground(self) -> tuple[Any, ...]:
        """Those of the elements whose work is counted as the ground's."""
        return self.elements[: len(self.elements) - self.n_forces]

    def in_ground(self, t: Scalar, q: Scalars, v: Scalars, z: Scalars) -> list[Scalar]:
        """Return the energy stored in ground and stops, one number; none if there are none."""
        if not self.ground:
            return []
        total: Scalar = 0.0
        first = len(self.parts) - len(self.elements)
        for element, where in zip(self.ground, self.slices[first:], strict=False):
            if hasattr(element, "energy"):
                total = total + element.energy(self.tree, t, q, v, z[where])
        return [total]

    def contact_forces(self, t: Scalar, q: Scalars, v: Scalars, z: Scalars) -> list[Scalar]:
        """Of all contact points of all elements, along world axes, three numbers each."""
        found: list[Scalar] = []
        q, v = self.placed(t, q, v)
        first = len(self.parts) - len(self.elements)
        for element, where in zip(self.elements, self.slices[first:], strict=True):
            if hasattr(element, "contact_forces"):
                for force in element.contact_forces(self.tree, t, q, v, z[where]):
                    found += list(force)
        return found


def _states(part: Any, tree: Model) -> np.ndarray:
    begin: Callable[[Model], Any] | None = getattr(part, "initial_states", None)
    return np.zeros(0) if begin is None else np.atleast_1d(np.asarray(begin(tree), float))


def _refuse_conditions(forces: Scalars, whose: str) -> None:
    """Refuse comparisons in the place of numbers."""
    if any(is_condition(x) for x in forces):
        raise OptionError(
            f"{whose} returned a comparison, which is not a number: use kinetree.where(condition, 1.0, 0.0)"
        )


def _sum(a: Force | None, b: Force | None) -> Force | None:
    if a is None or b is None:
        return b if a is None else a
    return a + b
