"""Linear steps along a plan in which Coulomb friction is a constant force, not a damper at rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kinetree.algorithms.acting_element import ActingElement, Pushing, Scalars
from kinetree.algorithms.joint_friction import friction_force
from kinetree.model.tree import Model
from kinetree.robot.robot import Robot
from kinetree.spatial import Scalar
from kinetree.spatial.arrays import Array, pack, split

from .nodes import NodeDynamics
from .problem import MotionProblem

RUBBING = ("friction", "stribeck")
"""Names of a joint's parameters of Coulomb friction."""


@dataclass(frozen=True, eq=False)
class HeldForce(ActingElement):
    """Joint forces (nv) that stay what they are in a step."""

    force: Sequence[Scalar]

    def loads(self, tree: Model, t: Scalar, q: Scalars, v: Scalars, z: Scalars = ()) -> Pushing:
        """Return the forces on the joints."""
        return None, list(self.force), []

    def parameters(self, tree: Model) -> dict[str, Array]:
        """Return the forces, which differ from step to step."""
        return {"force": np.asarray(self.force, dtype=float)}

    def with_parameters(self, values: Mapping[str, Sequence[Scalar]]) -> HeldForce:
        """Return other forces."""
        return replace(self, force=list(values["force"]))


def without_rubbing(robot: Robot) -> Robot:
    """Return the same robot without Coulomb friction; the very same if it has none."""
    table = robot.parameters()
    rubbing = {name: 0.0 for name in table.names if name.rpartition(".")[2] in RUBBING and table[name] != 0.0}
    return robot.with_parameters(rubbing) if rubbing else robot


def with_friction_held(problem: MotionProblem, q: Array, v: Array) -> NodeDynamics:
    """Return the dynamics of a problem's steps from given states (nodes, n), each with the Coulomb friction there."""
    made, robot = problem.dynamics, problem.robot
    free = without_rubbing(robot) if problem.friction else robot
    if free is robot:
        return made
    still = HeldForce([0.0] * robot.nv)
    forces = problem.forces if isinstance(problem.forces, (list, tuple)) else (problem.forces,)
    found = NodeDynamics(
        free, problem.action, problem.ground, (*forces, still), problem.integrator, problem.step / problem.substeps,
        problem.substeps, True, problem.friction_speed, q[:1], problem.threads,
    )  # fmt: skip
    whole, viscous = (
        friction_force(tree, split(v), problem.friction_speed, split(q)) for tree in (robot.model, free.model)
    )
    held = pack([a - b for a, b in zip(whole, viscous, strict=True)], v.shape[:-1])
    found.numbers = np.tile(found.numbers, (len(v), 1))
    found.numbers[:, found.places[f"{len(found.system.parts) - 1}.force"]] = held
    return found
