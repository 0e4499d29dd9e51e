"""What a page computes, as WebAssembly: made by the same engine from the same texts as the robot's own methods.

Every function takes the chosen numbers of the robot (:mod:`.chosen_numbers`) as one more input:

``kinematics(q, p)``
    poses of all bodies, the center of mass, gaps of the loops, the entries of K, and the axes of all joints in space;
``move(q, v, p)``
    the configuration after unit time with constant velocities;
``motion(q, v, a, p)``
    velocities and accelerations from those of the independent freedoms, motor forces of that motion, energies, and what
    each joint and loop transmits;
``state(t, q, v, z, p)``
    the same of a moment of a simulation, whose accelerations follow from the forces;
``steps(t, h, n, state, p)``
    many steps of a fixed length, as :func:`kinetree.simulate` takes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from kinetree.algorithms import (
    energy,
    independent_motion,
    joint_friction,
    kinematics,
    loop_clusters,
    loop_constraints,
    newton_euler,
)
from kinetree.algorithms.centroidal import first_moment
from kinetree.algorithms.passes import add
from kinetree.evaluation.parameters import GRAVITY, GivenParameters, Place, put_in
from kinetree.export.webassembly import NamedLaw, StepLaw, WebAssembly, of_laws
from kinetree.model.actuators import Tendon
from kinetree.model.joint_fields import FIELDS, LIMITS
from kinetree.model.mass import MassProperties
from kinetree.model.tree import Body, Joint, Loop, Model
from kinetree.robot.robot import Robot
from kinetree.simulation.elimination_order import LoopChoice
from kinetree.simulation.equation import Equation
from kinetree.simulation.system import DynamicSystem
from kinetree.spatial import Force, Scalar, where
from kinetree.spatial.arrays import Array
from kinetree.spatial.rotation import quaternion_of

from .drives import PoseDrives

Scalars = Sequence[Scalar]

INTEGRATOR = "rk4"

GOOD = 3.0
"""Quality of a choice of freedoms, as a multiple of what is just enough, with which it is used for another robot."""


@dataclass(frozen=True)
class Kernels:
    """The laws of one robot.

    Parameters
    ----------
    robot : Robot
    varied : GivenParameters
        Which of the robot's parameters are inputs, and their values.
    q : ndarray (nq,)
        A closed configuration, at which independent freedoms are chosen.
    made_before : Kernels, optional
        Laws of a robot that differs in varied numbers only: their code is used, with its choice of freedoms.
    """

    robot: Robot
    varied: GivenParameters
    q: Array
    made_before: Kernels | None = None

    @property
    def model(self) -> Model:
        """The robot's model, with its own numbers."""
        return self.robot.model

    @property
    def places(self) -> tuple[Place, ...]:
        """Which of the robot's parameters are inputs."""
        return self.varied.places

    @cached_property
    def equation(self) -> Equation:
        """The equation of motion, with works, so that energy can be balanced."""
        if self.made_before is not None:
            return self.made_before.equation
        system = DynamicSystem(self.robot, PoseDrives(), varied=self.varied)
        return Equation(system).prepared(self.q)

    @property
    def choice(self) -> LoopChoice | None:
        """The constraints that count in a simulation."""
        return self.equation.loops

    @cached_property
    def pivots(self) -> loop_clusters.Pivots:
        """The freedoms that follow from the independent ones, each with the constraint that determines it."""
        if self.made_before is not None:
            return self.made_before.pivots
        return self.robot.coordinates_at(self.q).pivots if self.robot.loops is not None else ()

    @property
    def independent(self) -> list[int]:
        """The freedoms that can be chosen freely."""
        return independent_motion.independent_freedoms(self.model, self.pivots)

    @cached_property
    def has_motor(self) -> Array:
        """Whether a motor drives each freedom, (nv,)."""
        found = np.zeros(self.model.nv, dtype=bool)
        for joint in self.model.joints:
            if not joint.mimic:
                found[joint.v_slice] = joint.actuated
        return found

    @property
    def driven(self) -> bool:
        """Whether motors at independent freedoms move everything, so that there are forces for any motion."""
        return bool(self.has_motor[self.independent].all())

    @property
    def turnable(self) -> list[int]:
        """The joints of one freedom that determine others: a motor can turn each of them."""
        free = set(self.independent)
        return [
            i for i, j in enumerate(self.model.joints) if not j.mimic and j.nq == j.nv == 1 and j.v_slice.start in free
        ]

    def _tree(self, p: Scalars) -> Model:
        count = sum(place.size for place in self.places)
        return put_in(self.model, self.places, p[:count]) if count else self.model

    # ------------------------------------------------------------------ the laws

    def kinematics(self, q: Scalars, p: Scalars) -> list[Scalar]:
        """Return poses, seven numbers per body, center of mass, gaps, entries of K, and axes of joints."""
        tree = self._tree(p)
        posed = kinematics.poses(tree, q)
        out: list[Scalar] = []
        for body in posed:
            x, y, z, w = quaternion_of(body.pose.matrix())
            out += [*body.pose.translation, w, x, y, z]
        mass, moment = first_moment(tree, q)
        out += [x / mass for x in moment] if self.robot.mass > 0.0 else [0.0] * 3
        if tree.is_constrained:
            out += loop_constraints.gaps(tree, q)
            k = loop_constraints.constraint_matrix(tree, q)
            out += [k[i][j] for i, j in loop_constraints.pattern(self.model)]
        for body in posed:
            for axis in body.subspace:
                out += body.pose.motion_to_parent(axis)
        return out

    def move(self, q: Scalars, v: Scalars, p: Scalars) -> list[Scalar]:
        """Return the configuration after unit time with constant velocities."""
        return kinematics.integrate(self.model, q, v)

    def motion(self, q: Scalars, v: Scalars, a: Scalars, p: Scalars) -> list[Scalar]:
        """Return v, a, tau with joint friction, kinetic and potential energy, wrenches and a quality."""
        tree = self._tree(p)
        if not tree.is_constrained:
            tau, joints = newton_euler.inverse_dynamics(tree, q, v, a, tree.gravity)
            driving = [add(t, f) for t, f in zip(tau, joint_friction.lost(tree, q, v), strict=True)]
            return [*v, *a, *driving, *_energies(tree, q, v), *_in_world(tree, q, joints, ()), 1.0]
        free = self.independent
        still = [0.0] * tree.nv
        at_rest = independent_motion.embed(tree, q, still, self.pivots)
        v = at_rest.acceleration([v[j] for j in free])
        motion = independent_motion.embed(tree, q, v, self.pivots)
        a = motion.acceleration([a[j] for j in free])
        driving = independent_motion.inverse_dynamics(tree, q, v, a, tree.gravity, None, motion, True)
        acting = [t - f for t, f in zip(driving, joint_friction.lost(tree, q, v), strict=True)]
        found = independent_motion.loop_forces(tree, q, v, a, acting, tree.gravity, None, motion)
        return [
            *v, *a, *driving, *_energies(tree, q, v), *_in_world(tree, q, found.joints, found.world),
            self._quality(motion),
        ]  # fmt: skip

    def state(self, t: Scalars, q: Scalars, v: Scalars, z: Scalars, p: Scalars) -> list[Scalar]:
        """Return the same of a moment of a simulation; the forces are those of the motors."""
        system = self.equation.with_numbers(p)
        tree = self._tree(p)
        acting = system.acting(t[0], q, v, z)
        if self.choice is None:
            a, _ = system.rate(t[0], q, v, z)
            _, joints = newton_euler.inverse_dynamics(tree, q, v, a, tree.gravity, acting.loads)
            loops: Sequence[Force] = ()
            quality: Scalar = 1.0
        else:
            a, _, quality = system.closed_rate(t[0], q, v, z, self.choice)
            motion = independent_motion.embed(tree, q, v, self.pivots)
            found = independent_motion.loop_forces(tree, q, v, a, acting.total, tree.gravity, acting.loads, motion)
            joints, loops = found.joints, found.world
            own = self._quality(motion)
            quality = where(own < quality, own, quality)
        return [*v, *a, *acting.tau, *_energies(tree, q, v), *_in_world(tree, q, joints, loops), quality]

    def _quality(self, motion: independent_motion.Embedding) -> Scalar:
        return motion.worth(self.model) / loop_clusters.LEAST_QUALITY_OF_CLUSTERS

    # ------------------------------------------------------------------ together

    @cached_property
    def structure(self) -> str:
        """What the code depends on."""
        return without_numbers(self.model, self.places)

    def is_good_at(self, varied: GivenParameters, q: Array) -> bool:
        """Return whether the choice of freedoms serves a robot with other numbers, too, at a configuration of it."""
        if self.robot.loops is None or varied.numbers is None:
            return True
        own, system = self.equation.numbers, self.equation.system
        numbers = [*varied.numbers.tolist(), *[0.0] * (len(own) - len(varied.numbers))]
        still = [0.0] * self.model.nv
        quality = self.state([0.0], q.tolist(), still, [0.0] * system.nz, numbers)[-1]
        return bool(quality >= GOOD)

    @cached_property
    def module(self) -> WebAssembly:
        """All of it as one module."""
        if self.made_before is not None:
            return self.made_before.module
        nq, nv, nz, np_ = self.model.nq, self.model.nv, self.equation.system.nz, len(self.equation.numbers)
        of = {"q": nq, "v": nv, "a": nv, "p": np_}
        laws: list[NamedLaw | StepLaw] = [
            NamedLaw("kinematics", self.kinematics, {"q": nq, "p": np_}),
            NamedLaw("move", self.move, {"q": nq, "v": nv, "p": np_}),
            NamedLaw("motion", self.motion, of, many=True),
            NamedLaw("state", self.state, {"t": 1, "q": nq, "v": nv, "z": nz, "p": np_}),
            StepLaw("steps", *self.equation.steps.laws(INTEGRATOR, self.choice)),
        ]
        return of_laws(self.robot.name, laws)


def without_numbers(model: Model, places: Sequence[Place]) -> str:
    """Return a text that is the same for all models that differ in the numbers of some places alone.

    Limits, names of frames and saved configurations are left out: laws do not depend on them.
    """
    blank: dict[tuple[str, str], set[str]] = {}
    for place in places:
        blank.setdefault((place.table, place.owner), set()).add(place.key)

    def given(table: str, owner: str, **values: Any) -> dict[str, Any]:
        inputs = blank.get((table, owner), ())
        return {key: "input" if key in inputs else value for key, value in values.items()}

    def body(own: Body) -> Any:
        mass = own.mass_properties
        numbers = (
            {key: getattr(mass, key) for key in ("mass", "com", "inertia")} if type(mass) is MassProperties else {}
        )
        return own.name, own.added, given("bodies", own.name, **numbers) or mass

    def joint(own: Joint) -> Any:
        numbers = given("joints", own.name, **{key: getattr(own, key) for key in FIELDS if key not in LIMITS})
        where = given("joints", own.name, position=own.placement.position)
        return own.name, own.kind, own.parent, own.actuated, own.mimic, numbers, where, own.placement.nine

    def loop(own: Loop) -> Any:
        where = given("loops", own.name, position=own.placement.position, seat=own.seat.position)
        turned = own.placement.nine, own.seat.nine
        return own.name, own.kind, own.predecessor, own.successor, where, turned

    def tendon(own: Tendon) -> Any:
        numbers = given("tendons", own.name, stiffness=own.stiffness, rest=own.rest)
        rest = own.rest_with("input") if numbers["rest"] == "input" else own.rest
        return replace(own, stiffness=numbers["stiffness"], rest=rest)

    return repr((
        [body(x) for x in model.bodies], [joint(x) for x in model.joints], [loop(x) for x in model.loops],
        [tendon(x) for x in model.tendons], model.couplings, model.loads, places,
        None if (GRAVITY, "") in blank else model.gravity,
    ))  # fmt: skip


def _energies(tree: Model, q: Scalars, v: Scalars) -> list[Scalar]:
    return [energy.kinetic_energy(tree, q, v), energy.potential_energy(tree, q, tree.gravity)]


def _in_world(tree: Model, q: Scalars, joints: Sequence[Force], loops: Sequence[Force]) -> list[Scalar]:
    """Return force and moment at each joint and loop, along the axes of the world."""
    out: list[Scalar] = []
    for body, wrench in zip(kinematics.poses(tree, q), joints, strict=True):
        out += [*body.pose.rotate(wrench.force), *body.pose.rotate(wrench.moment)]
    for wrench in loops:
        out += [*wrench.force, *wrench.moment]
    return out
