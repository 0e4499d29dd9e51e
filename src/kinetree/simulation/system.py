"""A robot with everything that acts on it, over any scalar: the parts of the equation of motion.

The state is (q, v, z).  ``z`` holds, in this order, the states of the controller (such as the
integral of a PID), those of every force element, and the works done on the robot: by the
actuators, by joint friction, by the ground and, if there are any, by forces.  Integrating the works
beside the motion is what the sources do (Shah appendix C, eq. C.2-C.3), so that

    kinetic + potential - actuators - friction - ground - forces = constant

can be checked to the accuracy of the integrator.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ..algorithms import compliant_directions, energy
from ..algorithms.acting_element import ActingElement, Loads, Scalars, sum_of_loads
from ..algorithms.clearance.heights_below import highest
from ..algorithms.table import FORWARD_METHODS, WITH_ADDED, find
from ..control.base import Controller
from ..control.driven_joints import motorless, refuse_motorless
from ..errors import OptionError, ShapeError
from ..evaluation.law_failures import blaming
from ..evaluation.law_kernels import can_compile, is_condition
from ..evaluation.parameters import NO_PARAMETERS, GivenParameters, put_in
from ..model.changes.regrouping import regrouped
from ..model.tree import Model
from ..robot.robot import Robot
from ..spatial import Scalar
from .elimination_order import LoopChoice
from .implicit_accelerations import Impedance
from .own_joints import OwnJoints
from .prescribed import BoundMotion

State = tuple[np.ndarray, np.ndarray, np.ndarray]
"""q, v and z as arrays, each with the batch in front."""

LONGEST_AROUND_LOOPS = 100_000
"""The most operations of the forces on a large tree, or of its steps, that become straight-line code beside its loops.

Compiling these takes a few seconds at most, as long as a hundred evaluations in plain Python.
"""

WORKS = ACTUATORS, FRICTION, GROUND, FORCES = ("actuators", "friction", "ground", "forces")
"""The accounts of work done on the robot, in the order of the last entries of z; the last one exists only if there are
force elements."""


OF_ROBOT = "robot"
"""The name of the robot's own parameters among those of all parts."""


LOOKED_UP = "prescribed"
"""The name of a prescribed motion's numbers among those of all parts; they come last."""


class BookedElement(NamedTuple):
    """Something that acts, and the account to which its work is booked."""

    element: ActingElement
    book: str
    """One of :data:`WORKS`."""


class Share(NamedTuple):
    """The sum of the effects of all elements of one account."""

    joints: list[Scalar]
    """Joint forces."""

    loads: Loads
    """Wrenches on the bodies, in body coordinates."""


class Acting(NamedTuple):
    """All forces on a robot at one instant."""

    shares: dict[str, Share]
    """The share of each account, in the order of :data:`WORKS`."""

    z_rate: list[Scalar]
    """Rates of the states of all parts."""

    a: list[Scalar] | None = None
    """Accelerations, if a prescribed motion determines them along with the forces."""

    @property
    def tau(self) -> list[Scalar]:
        """Joint forces of the actuators."""
        return self.shares[ACTUATORS].joints

    @property
    def friction(self) -> list[Scalar]:
        """Joint forces of friction, against the motion."""
        return self.shares[FRICTION].joints

    @property
    def pushed(self) -> list[Scalar]:
        """Joint forces of ground and force elements, such as stops."""
        return _added([share.joints for book, share in self.shares.items() if book not in (ACTUATORS, FRICTION)])

    @property
    def total(self) -> list[Scalar]:
        """All joint forces together."""
        return [t + f + p for t, f, p in zip(self.tau, self.friction, self.pushed, strict=True)]

    @property
    def loads(self) -> Loads:
        """Wrenches on the bodies, in body coordinates."""
        return reduce(sum_of_loads, (share.loads for share in self.shares.values()))


@dataclass(frozen=True)
class DynamicSystem:
    """A robot, its controller and the force elements around it.

    Parameters
    ----------
    robot : Robot
    controller : Controller or None
        See :mod:`kinetree.control`; None for a robot without control.
    ground, forces : tuples of elements
        Elements that act on the robot: the work of the former is counted as the ground's, that of the latter
        separately.
    friction : bool
        Whether the joints' damping and friction act.
    friction_speed : float
        Speed at which smooth Coulomb friction reaches 71 % of its size.
    works : bool
        Whether the works are integrated along with the motion.
    varied : GivenParameters
        Numbers of the robot that replace those of the model, see :mod:`kinetree.evaluation.parameters`.
    prescribed : BoundMotion, optional
        Motion that some joints follow, see :mod:`.prescribed`.
    wanted_method : str
        The requested method of finding accelerations.
    model : Model, optional
        The mechanism with other scalars put in.
    origin : DynamicSystem, optional
        The system with numbers, if this one has other scalars in their place.
    """

    robot: Robot
    controller: Controller | None = None
    ground: tuple[ActingElement, ...] = ()
    forces: tuple[ActingElement, ...] = ()
    friction: bool = True
    friction_speed: float = 1e-2
    works: bool = True
    varied: GivenParameters = NO_PARAMETERS
    prescribed: BoundMotion | None = None
    wanted_method: str = "articulated_body"
    model: Model | None = None
    origin: DynamicSystem | None = None

    @property
    def books(self) -> tuple[str, ...]:
        """The accounts of work that are kept; without force elements there is none for their forces."""
        return WORKS if self.forces else WORKS[:-1]

    @property
    def n_works(self) -> int:
        """The number of works at the end of z."""
        return len(self.books) if self.works else 0

    def place_of(self, book: str) -> int:
        """Return the index in z, from its end, of the work of an account."""
        return self.books.index(book) - len(self.books)

    @property
    def elements(self) -> tuple[ActingElement, ...]:
        """What acts on the robot from outside."""
        return self.ground + self.forces

    @property
    def around(self) -> list[ActingElement]:
        """Everything that acts except the robot's own joints."""
        return [part.element for part in self.parts if part.book != FRICTION]

    @property
    def tree(self) -> Model:
        """The model of the robot."""
        return self.model or self.robot.model

    @cached_property
    def parts(self) -> list[BookedElement]:
        """Everything that acts, in the order of its states in z."""
        return [
            *([] if self.controller is None else [BookedElement(self.controller, ACTUATORS)]),
            *(BookedElement(element, GROUND) for element in self.ground),
            BookedElement(OwnJoints(self.friction, self.friction_speed), FRICTION),
            *(BookedElement(element, FORCES) for element in self.forces),
        ]

    @cached_property
    def initial_states(self) -> list[np.ndarray]:
        """The initial states of each part."""
        if self.origin:
            return self.origin.initial_states
        return [np.atleast_1d(np.asarray(part.element.initial_states(self.tree), float)) for part in self.parts]

    @cached_property
    def slices(self) -> list[slice]:
        """The slices of each part's states in z."""
        ends = np.cumsum([0] + [len(s) for s in self.initial_states])
        return [slice(int(a), int(b)) for a, b in pairwise(ends)]

    @cached_property
    def nz(self) -> int:
        """Length of z."""
        return sum(len(s) for s in self.initial_states) + self.n_works

    @cached_property
    def motorless(self) -> dict[int, str]:
        """Indices in v, and joints, that a controller cannot drive."""
        return self.origin.motorless if self.origin else motorless(self.robot.model)

    def initial_z(self) -> np.ndarray:
        """Return the initial value of z."""
        return np.concatenate([*self.initial_states, np.zeros(self.n_works)])

    # ------------------------------------------------------------------ numbers that may vary over a batch

    @cached_property
    def parameters(self) -> dict[str, np.ndarray]:
        """Numbers of all parts, each (..., n): gains, stiffnesses, ..."""
        found: dict[str, np.ndarray] = {} if self.varied.numbers is None else {OF_ROBOT: self.varied.numbers}
        for k, part in enumerate(self.parts):
            named = part.element.parameters(self.tree)
            found |= {f"{k}.{name}": np.atleast_1d(np.asarray(value, float)) for name, value in named.items()}
        if self.looks_up:
            found[LOOKED_UP] = np.zeros(self.prescribed.numbers(0.0).shape)  # type: ignore[union-attr]
        return found

    @cached_property
    def looks_up(self) -> bool:
        """Whether a prescribed motion is too long for machine code, so that its numbers are parameters."""
        return self.prescribed is not None and self.origin is None and self.prescribed.is_long

    def with_parameters(self, numbers: Mapping[str, Scalars]) -> DynamicSystem:
        """Return the same system with other numbers, of any scalar, put into its parts."""
        if not numbers:
            return self
        found: list[ActingElement] = []
        for k, (element, _) in enumerate(self.parts):
            own = {n.partition(".")[2]: x for n, x in numbers.items() if n.partition(".")[0] == str(k)}
            found.append(element.with_parameters(own) if own else element)
        of_robot, motion = numbers.get(OF_ROBOT), self.prescribed
        if motion is not None and LOOKED_UP in numbers:
            motion = motion.with_numbers(numbers[LOOKED_UP])
        model = None if of_robot is None else put_in(self.robot.model, self.varied.places, of_robot)
        return self._of(found, prescribed=motion, model=model)

    def _of(self, elements: Sequence[ActingElement], **more: Any) -> DynamicSystem:
        """Return the system with other elements in place of its own, in the order of its parts."""
        found: dict[str, list[Any]] = {book: [] for book in WORKS}
        for element, (_, book) in zip(elements, self.parts, strict=True):
            found[book].append(element)
        controller, ground, forces = next(iter(found[ACTUATORS]), None), tuple(found[GROUND]), tuple(found[FORCES])
        return replace(self, controller=controller, ground=ground, forces=forces, origin=self, **more)

    def within_step(self, v: Scalars, z: Scalars, ahead: Scalar | None) -> DynamicSystem:
        """Return the system as it acts within an implicit step that begins with these states; for None, as it is."""
        if ahead is None:
            return self
        found = [part.element.within_step(v, z[own], ahead) for part, own in zip(self.parts, self.slices, strict=True)]
        if all(new is part.element for new, part in zip(found, self.parts, strict=True)):
            return self
        return self._of(found)

    @property
    def content(self) -> tuple[Any, ...]:
        """Everything that its laws depend on except the robot and what acts on it."""
        books = [part.book for part in self.parts]
        return books, self.works, self.varied.places, self.prescribed and self.prescribed.given, self.wanted_method

    # ------------------------------------------------------------------ the law

    def placed(self, t: Scalar, q: Scalars, v: Scalars) -> tuple[Scalars, Scalars]:
        """Return a state with prescribed joints at their prescribed positions."""
        return (q, v) if self.prescribed is None else self.prescribed.placed(t, q, v)[:2]

    def acting(self, t: Scalar, q: Scalars, v: Scalars, z: Scalars, tau: Scalars | None = None) -> Acting:
        """Return the forces on the robot; ``tau`` replaces those of the controller."""
        tree = self.tree
        wanted: list[Scalar] = []
        if self.prescribed is not None:
            q, v, wanted = self.prescribed.placed(t, q, v)
        z_rate: list[Scalar] = []
        on_joints: dict[str, list[list[Scalar]]] = {book: [] for book in self.books}
        on_bodies: dict[str, Loads] = {book: [None] * len(tree.bodies) for book in self.books}
        for (element, book), where in zip(self.parts, self.slices, strict=True):
            whose, doing = "the controller", "the controller's law"
            if book != ACTUATORS:
                whose = doing = f"force element {element.kind}"
            with blaming(doing, t, even_ours=False):
                bodies, joints, rate = element.loads(tree, t, q, v, z[where])
            z_rate += list(rate)
            if bodies is not None:
                on_bodies[book] = sum_of_loads(on_bodies[book], bodies)
            if joints is not None:
                self._check(joints, whose, book, t)
                on_joints[book].append(joints)
        if tau is not None:
            on_joints[ACTUATORS] = [list(tau)]
        nothing: list[Scalar] = [0.0] * tree.nv
        shares = {book: Share(_added(on_joints[book]) or nothing, on_bodies[book]) for book in self.books}
        found = Acting(shares, z_rate)
        if self.prescribed is None:
            return found
        beside = [f + p for f, p in zip(found.friction, found.pushed, strict=True)]
        a, forces = self.prescribed.forces(tree, q, v, wanted, beside, found.loads)
        return Acting(shares | {ACTUATORS: Share(forces, on_bodies[ACTUATORS])}, z_rate, a)

    def all_forces(self, t: Scalar, q: Scalars, v: Scalars, z: Scalars, tau: Scalars | None = None) -> list[Scalar]:
        """Return joint forces, wrenches on the bodies if there are elements, and rates of z, one after the other."""
        acting = self.acting(t, q, v, z, tau)
        six = [x for f in acting.loads for x in (f if f is not None else (0.0,) * 6)] if self.elements else []
        return acting.total + six + acting.z_rate + (self.powers(q, v, acting) if self.works else [])

    def _check(self, forces: Scalars, whose: str, book: str, t: Scalar) -> None:
        """Refuse joint forces of the wrong number, that are not scalars, or at joints without a motor."""
        if book == ACTUATORS and len(forces) != self.tree.nv:
            names = ", ".join(self.robot.v_names[:6]) + (", ..." if self.tree.nv > 6 else "")
            raise ShapeError(f"the controller returned {len(forces)} forces instead of {self.tree.nv} ({names})")
        if any(is_condition(x) for x in forces):
            raise OptionError(
                f"{whose} returned a comparison, which is not a number: use kinetree.where(condition, 1.0, 0.0)"
            )
        if book == ACTUATORS:
            refuse_motorless(self.motorless, forces, t)

    def powers(self, q: Scalars, v: Scalars, acting: Acting) -> list[Scalar]:
        """Return the power of each account (Shah eq. C.2-C.3)."""
        return [energy.power(self.tree, q, v, *share) for share in acting.shares.values()]

    def impedance(self, t: Scalar, q: Scalars, v: Scalars) -> Impedance:
        """Return stiffness and damping of everything in which a step can be implicit, the robot's own joints first."""
        found = Impedance(self.tree)
        for part in sorted(self.parts, key=lambda part: (FRICTION, ACTUATORS, GROUND, FORCES).index(part.book)):
            found.add(*part.element.impedance(self.tree, t, q, v))
        return found

    def rate(
        self, t: Scalar, q: Scalars, v: Scalars, z: Scalars, tau: Scalars | None = None, ahead: Scalar | None = None
    ) -> tuple[list[Scalar], list[Scalar]]:
        """Return the accelerations, for a step of ``ahead`` implicit in springs and dampers, and the rate of z."""
        q, v = self.placed(t, q, v)
        system = self.within_step(v, z, ahead)
        acting = system.acting(t, q, v, z, tau)
        powers = self.powers(q, v, acting) if self.works else []
        if acting.a is not None:
            return acting.a, system.rates_of_states(acting.z_rate, t, q, v, z, acting.a, ahead) + powers
        a = system._accelerations(acting, t, q, v, ahead)
        return a, system.rates_of_states(acting.z_rate, t, q, v, z, a, ahead) + powers

    def rates_of_states(
        self, z_rate: Scalars, t: Scalar, q: Scalars, v: Scalars, z: Scalars, a: Scalars, ahead: Scalar | None
    ) -> list[Scalar]:
        """Return the rates of z, those of parts that look at the end of a step of ``ahead`` as they are there."""
        if ahead is None:
            return list(z_rate)
        found, after = list(z_rate), [x + ahead * y for x, y in zip(v, a, strict=True)]
        for (element, _), own in zip(self.parts, self.slices, strict=True):
            rates = element.rates_after_step(self.tree, t, q, after, z[own])
            if rates is not None:
                found[own] = rates
        return found

    def _accelerations(self, acting: Acting, t: Scalar, q: Scalars, v: Scalars, ahead: Scalar | None) -> list[Scalar]:
        """Return the accelerations of a tree, for a step of ``ahead`` or for none."""
        if ahead is None:
            tree, total, loads = self.tree_of_accelerations, acting.total, acting.loads
            return find("forward_dynamics").function(tree, q, v, total, loads, method=self.method)
        gives = self.impedance(t, q, v)
        tree, total = self._with(gives, acting, q, v, ahead)
        rows = gives.rows(ahead)
        if rows:
            return compliant_directions.forward_dynamics(tree, q, v, total, acting.loads, rows)
        added = any(body.added is not None for body in tree.bodies)
        method = self.method if not added or self.method in WITH_ADDED else FORWARD_METHODS[0]
        return find("forward_dynamics").function(tree, q, v, total, acting.loads, method=method)

    def closed_rate(
        self, t: Scalar, q: Scalars, v: Scalars, z: Scalars, choice: LoopChoice, tau: Scalars | None = None,
        ahead: Scalar | None = None,
    ) -> tuple[list[Scalar], list[Scalar], Scalar]:  # fmt: skip
        """Return the same for a mechanism, and the quality of the choice of constraints: one or more is good enough."""
        system = self.within_step(v, z, ahead)
        acting = system.acting(t, q, v, z, tau)
        tree, total = system.yielding(acting, t, q, v, ahead)
        a, quality, driving = choice.accelerations(tree, t, q, v, total, acting.loads)
        powers = self.powers(q, v, acting) if self.works else []
        if powers and choice.driven:
            powers[0] = powers[0] + driving
        return a, system.rates_of_states(acting.z_rate, t, q, v, z, a, ahead) + powers, quality

    def yielding(
        self, acting: Acting, t: Scalar, q: Scalars, v: Scalars, ahead: Scalar | None
    ) -> tuple[Model, list[Scalar]]:
        """Return the tree and joint forces for the accelerations of loops, for a step of ``ahead`` or for none."""
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
        """The model with fewer parameters and the same accelerations, for machine code; varied numbers stay."""
        return regrouped(self.tree) if self.model is None and can_compile(self.robot) else self.tree

    @cached_property
    def method(self) -> str:
        """The method of finding accelerations; massless followers, tied to their leaders, restrict the choice."""
        if self.origin:
            return self.origin.method
        evaluator = self.robot.evaluator
        evaluator.check_pivots()
        return evaluator.forward_method(self.wanted_method)

    def energies(self, q: Scalars, v: Scalars) -> list[Scalar]:
        """Return the kinetic and potential energy."""
        tree = self.tree
        return [energy.kinetic_energy(tree, q, v), energy.potential_energy(tree, q, tree.gravity)]

    def stored(self, book: str, t: Scalar, q: Scalars, v: Scalars, z: Scalars) -> list[Scalar]:
        """Return the energy stored in the elements of an account as one number; an empty list if there are none."""
        found = [
            part.element.energy(self.tree, t, q, v, z[where])
            for part, where in zip(self.parts, self.slices, strict=True) if part.book == book
        ]  # fmt: skip
        return [sum(found, 0.0)] if found else []

    @cached_property
    def spots(self) -> list[Any]:
        """The places of all contact forces, in their order."""
        return [spot for part in self.parts for spot in part.element.contact_spots()]

    @cached_property
    def contact_owners(self) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
        """For each contact force, names of what feels it, and of what feels the opposite: shape, frame, body."""
        found: list[tuple[tuple[str, ...], tuple[str, ...]]] = []
        for part in self.parts:
            pairs = part.element.contact_pairs()
            for k, spot in enumerate(part.element.contact_spots()):
                if pairs:
                    first, second = pairs[k]
                    found.append((self._owners(second.frame, second.name), self._owners(first.frame, first.name)))
                else:
                    found.append((self._owners(spot.frame), ()))
        return found

    def _owners(self, frame: str, *others: str) -> tuple[str, ...]:
        """Return a frame's names: others, its own, that of its body, and that of the robot of a scene."""
        body = self.tree.frame(frame).body
        names = (*others, frame, self.tree.base.name if body < 0 else self.tree.bodies[body].name)
        return tuple(dict.fromkeys((*names, *(name.partition("/")[0] for name in names if "/" in name))))

    def ground_height(self, x: Scalar, y: Scalar) -> Scalar | None:
        """Return the height of the ground at a place as seen from above; None without ground."""
        found = [part.element.ground_height(self.tree, x, y) for part in self.parts]
        heights = [h for h in found if h is not None]
        return highest(heights) if heights else None

    def contact_forces(self, t: Scalar, q: Scalars, v: Scalars, z: Scalars) -> list[Scalar]:
        """Return the forces at all spots, along world axes, three numbers each."""
        q, v = self.placed(t, q, v)
        found = [
            part.element.contact_forces(self.tree, t, q, v, z[where])
            for part, where in zip(self.parts, self.slices, strict=True)
        ]
        return [x for forces in found for force in forces for x in force]


def _added(forces: list[list[Scalar]]) -> list[Scalar]:
    """Return the sum of several joint forces; an empty list for none."""
    return reduce(lambda a, b: [x + y for x, y in zip(a, b, strict=True)], forces) if forces else []
