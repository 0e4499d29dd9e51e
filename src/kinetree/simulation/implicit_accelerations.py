"""Accelerations that look a step ahead: implicit in springs, dampers, servos, ground and stops, explicit in the rest.

Forces of springs and dampers grow with the very motion they cause.  Where a step h is long for them, they must be
taken at its end, f(q + h v+, v+).  With a stiffness k and a damping b per degree of freedom this is, to first order,

    (M + h b + h^2 k) a = f - h k v,    v+ = v + h a,

which is forward dynamics of a robot whose rotors are heavier by h b + h^2 k, so any method of finding accelerations
works: articulated bodies stay O(n), loops stay closed.

A spring that couples several freedoms must not be counted at each of them, although such a step is stable as well.  The
ground holds a foot a million times harder along its normal than along the surface, as a wire holds a bob, so sliding
would turn into sticking, and swinging would stop.  A spring between a point of a body and the world is added to the
inertia of that body along that line only, as articulated bodies allow; one between two bodies is added to the mass
matrix, see :mod:`kinetree.algorithms.compliant_directions`.  Friction enters as its force over the speed, not as its
slope, so that a step may stop sliding but never reverse it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from ..algorithms import springs, tendons
from ..algorithms.acting_element import Loads
from ..algorithms.compliant_directions import Along, BodyLine, Rows, at_freedoms, impedance_of, slopes_of
from ..algorithms.joint_friction import coefficients, fading_friction
from ..algorithms.kinematics import poses, velocities
from ..algorithms.passes import present
from ..model.tree import Body, Joint, Model
from ..spatial import ArticulatedInertia, Scalar, sqrt

Scalars = Sequence[Scalar]


class Impedance:
    """Stiffness and damping of every degree of freedom, collected from everything that has any."""

    def __init__(self, tree: Model) -> None:
        self.tree = tree
        self.stiffness: list[Scalar] = [0.0] * tree.nv
        self.damping: list[Scalar] = [0.0] * tree.nv
        self.along: Along = []

    def add_joints(self, v: Scalars | None, friction: bool, friction_speed: float) -> None:
        """Add springs, damping and, if velocities are known, smooth Coulomb friction: its force over the speed.

        Its slope, which is almost zero while a joint moves, would let steps reverse the motion again and again.
        """
        for link in self.tree.links:
            if springs.is_sprung(link):
                for k, x in enumerate(link.stiffness):
                    self._add(
                        self.stiffness, link.v_slice.start + k, x * link.ratio * link.ratio if link.follows else x
                    )
        if not friction:
            return
        rubbing, more = coefficients(self.tree), fading_friction(self.tree)
        for k, (b, c) in enumerate(zip(rubbing.damping, rubbing.coulomb, strict=True)):
            self._add(self.damping, k, b)
            if v is not None and k in more:  # without the part that falls with speed: damping must not be too small
                c = c + more[k].at(v[k])
            if v is not None and present(c):
                self._add(self.damping, k, c / sqrt(v[k] * v[k] + friction_speed * friction_speed))

    def add_tendons(self, q: Scalars, friction: bool) -> None:
        """Add springs and dampers along tendons."""
        for tendon in self.tree.tendons:
            b = tendon.damping if friction else 0.0
            if present(tendon.stiffness) or present(b):
                along = tendons.measure(self.tree, tendon, q)
                self.add(*impedance_of(self.tree, [(along, tendon.stiffness, b)]))

    def add(self, stiffness: Scalars, damping: Scalars, along: Along | None = None) -> None:
        """Add the impedance of a controller or a force element: at freedoms, along lengths and lines."""
        for k, (s, d) in enumerate(zip(stiffness, damping, strict=True)):
            self._add(self.stiffness, k, s)
            self._add(self.damping, k, d)
        self.along += along or []

    def count_at_freedoms(self) -> None:
        """Count compliance along lengths at each of their freedoms, for methods that support nothing else.

        Steps are as stable as before, but motion across a stiff length is slowed down along with motion along it.
        """
        lengths = [(taut, k, b) for taut, k, b in self.along if not isinstance(taut, BodyLine)]
        self.along = [entry for entry in self.along if isinstance(entry[0], BodyLine)]
        self.add(*at_freedoms(self.tree, lengths))

    @staticmethod
    def _add(to: list[Scalar], k: int, x: Scalar) -> None:
        if present(x):
            to[k] = to[k] + x if present(to[k]) else x

    def heavier(self, h: Scalar, bodies: Sequence[Body] | None = None) -> Model:
        """Return the tree with heavier rotors, and bodies that are harder to move, by the compliance within a step.

        Parameters
        ----------
        h : scalar
            The step.
        bodies : sequence of Body, optional
            Bodies to use instead of the tree's.
        """
        moved = list(self.tree.bodies if bodies is None else bodies)
        for line, k, b in self.along:
            if isinstance(line, BodyLine):
                more = ArticulatedInertia.dyad(line.wrench * _resistance(h, k, b), line.wrench)
                before = moved[line.body].added
                moved[line.body] = replace(moved[line.body], added=more if before is None else before + more)
        return replace(self.tree, bodies=tuple(moved), joints=tuple(self._heavier(j, h) for j in self.tree.joints))

    def rows(self, h: Scalar) -> Rows:
        """Return the lengths that couple freedoms, with the resistance to accelerations along each."""
        return [(taut.slope, _resistance(h, k, b)) for taut, k, b in self.along if not isinstance(taut, BodyLine)]

    def _heavier(self, joint: Joint, h: Scalar) -> Joint:
        if joint.mimic:
            return joint
        places = range(joint.v_slice.start, joint.v_slice.stop)
        if not any(present(self.stiffness[k]) or present(self.damping[k]) for k in places):
            return joint
        own: Sequence[Any] = joint.armature or (0.0,) * joint.kind.nv
        felt = [m + h * (self.damping[k] + h * self.stiffness[k]) for m, k in zip(own, places, strict=True)]
        return replace(joint, rotor_inertia=tuple(felt), gear_ratio=(1.0,) * joint.kind.nv)

    def added_mass(self, h: Scalar, q: Scalars) -> list[list[Scalar]]:
        """Return the sum of all compliance as an addition to the mass matrix, (nv, nv)."""
        count = self.tree.nv
        matrix: list[list[Scalar]] = [[0.0] * count for _ in range(count)]
        for i in range(count):
            matrix[i][i] = h * (self.damping[i] + h * self.stiffness[i])
        for slope, k, b in self._slopes(q, self.along):
            for i, s in slope.items():
                for j, r in slope.items():
                    matrix[i][j] = matrix[i][j] + _resistance(h, k, b) * (s * r)
        return matrix

    def resistance(self, h: Scalar, q: Scalars, a: Scalars) -> tuple[list[Scalar], Loads]:
        """Return the resistance to accelerations: forces at the freedoms, and loads on bodies."""
        forces = [h * (b + h * k) * x for k, b, x in zip(self.stiffness, self.damping, a, strict=True)]
        loads: Loads = [None] * len(self.tree.bodies)
        moving = velocities(self.tree, q, a) if self.along else []
        for along, k, b in self.along:
            felt = _resistance(h, k, b)
            if isinstance(along, BodyLine):
                load = along.wrench * (-felt * moving[along.body].velocity.dot(along.wrench))
                before = loads[along.body]
                loads[along.body] = load if before is None else before + load
            else:
                rate = felt * along.rate(a)
                for i, s in along.slope.items():
                    forces[i] = forces[i] + rate * s
        return forces, loads

    def push(self, h: Scalar, q: Scalars, v: Scalars) -> list[Scalar]:
        """Return the forces -h k v: the change of spring forces within a step."""
        found: list[Scalar] = [
            -h * (s * x) if present(s) else 0.0 for s, x in zip(self.stiffness, v, strict=True)
        ]  # fmt: skip
        stiff = [entry for entry in self.along if present(entry[1])]
        for (along, k, _), (slope, _, _) in zip(stiff, self._slopes(q, stiff), strict=True):
            rate = along.rate if isinstance(along, BodyLine) else along.rate(v)
            for i, s in slope.items():
                found[i] = found[i] - h * (k * rate) * s
        return found

    def _slopes(self, q: Scalars, along: Along) -> Iterator[tuple[dict[int, Scalar], Scalar, Scalar]]:
        """Return derivatives of lengths and lines with respect to each freedom, with their stiffness and damping."""
        slopes = slopes_of(self.tree, poses(self.tree, q) if along else [], [line for line, _, _ in along])
        return ((slope, k, b) for slope, (_, k, b) in zip(slopes, along, strict=True))


def _resistance(h: Scalar, stiffness: Scalar, damping: Scalar) -> Scalar:
    """Return the resistance to accelerations along a length: h b + h^2 k."""
    return h * (damping + h * stiffness) if present(stiffness) else h * damping
