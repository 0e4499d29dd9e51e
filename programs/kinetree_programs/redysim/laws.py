"""The functions of time in a folder: motion (``trajectory.m``, ``inv_kine.m``), forces, rows of constraints.

They all work on any scalar: on numbers, on batches, and as machine code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from kinetree.errors import FileFormatError, UnsupportedError
from kinetree.model.joints import EulerFree
from kinetree.model.tree import Model
from kinetree.spatial.scalar import Scalar

from ..matlab import values
from ..matlab.evaluate import HostFunction
from ..matlab.folder import numbers
from .folder import Initials, RedysimFolder

Scalars = Sequence[Scalar]
Motion = tuple[list[Scalar], list[Scalar], list[Scalar]]

BASE = 6
"""Coordinates of a floating base: x, y, z, and the angles phi, theta, psi."""


@dataclass(frozen=True)
class Order:
    """The order of ReDySim's coordinates among those of the robot.

    A floating base comes first in both; ReDySim has its position before its angles.
    """

    places: Sequence[int]
    floating: bool

    @staticmethod
    def of(model: Model, folder: RedysimFolder) -> Order:
        """Return the order for a robot that was read from a folder."""
        places: list[int] = []
        known = {joint.name: joint for joint in model.joints}
        for k in range(folder.count):
            joint = known[f"joint_{k + 1}"]
            first = joint.v_slice.start
            if joint.nv == BASE:
                if not isinstance(joint.kind, EulerFree):
                    raise UnsupportedError(
                        f"{folder.path}: the motion of a floating base is read only where inputs.m has nq, as in "
                        "ReDySim's folders; load only the robot, with kt.load"
                    )
                places += [first + i for i in (3, 4, 5, 0, 1, 2)]
            else:
                places.append(first)
        return Order(places, folder.is_floating)

    @property
    def joints(self) -> Sequence[int]:
        """Indices of the joints, without those of a floating base."""
        return self.places[BASE:] if self.floating else self.places

    def theirs(self, values_: Scalars) -> list[Scalar]:
        """Return coordinates of the robot in ReDySim's order."""
        return [values_[place] for place in self.places]

    def ours(self, given: Scalars) -> list[Scalar]:
        """Return ReDySim's coordinates in the robot's order."""
        found: list[Scalar] = [0.0] * len(self.places)
        for place, value in zip(self.places, given, strict=True):
            found[place] = value
        return found


@dataclass(frozen=True)
class RedysimLaws:
    """Motion and forces of a folder, in the coordinates of its robot.

    Parameters
    ----------
    folder : RedysimFolder
    model : Model
        The robot that was read from it.
    """

    folder: RedysimFolder
    model: Model = field(repr=False)

    @cached_property
    def order(self) -> Order:
        """The order of ReDySim's coordinates."""
        return Order.of(self.model, self.folder)

    @cached_property
    def initials(self) -> Initials:
        """The values in ``initials.m``, or those that replace them."""
        make = self.folder.kept.get("initials")
        return self.folder.initials() if make is None else make()

    @property
    def end(self) -> float:
        """``tf`` of ``initials.m``, or ``Tp`` of ``inputs.m``, which is passed to the files."""
        found = self.folder.period if not self.folder.code.has("initials") else self.initials.end
        if found is None:
            raise FileFormatError(
                "neither initials.m gives tf nor inputs.m Tp: the final time is unknown", self.folder.inputs.file
            )
        return found

    # ------------------------------------------------------------------ motion

    def motion(self, t: Scalar) -> Motion:
        """Return positions, velocities and accelerations of all joints except a floating base, in ReDySim's order.

        For a system with loops, ``inv_kine.m`` computes them from the independent ones.
        """
        folder = self.folder
        arguments: list[Any] = self._few("trajectory", self._trajectory_arguments(t))
        found = folder.code.call("trajectory", arguments, 3)
        if folder.is_closed and folder.code.has("inv_kine") and not folder.is_floating:
            found = folder.code.call("inv_kine", found, 3)
        own = folder.count - folder.is_floating
        q, v, a = (numbers(x) for x in found)
        return self._sized(q, own, "position"), self._sized(v, own, "velocity"), self._sized(a, own, "acceleration")

    def _trajectory_arguments(self, t: Scalar) -> list[Any]:
        folder = self.folder
        if folder.has_ground:
            return [t]
        if folder.is_floating:
            return [t, float(folder.count), self.end]
        dof = folder.inputs.number_of("dof")
        return [t, float(folder.count) if dof is None else dof, self.end]

    def _few(self, function: str, given: list[Any]) -> list[Any]:
        """Return only the arguments that a function takes."""
        return given[: len(self.folder.code.inputs_of(function))]

    def _sized(self, x: list[Scalar], count: int, what: str) -> list[Scalar]:
        """Return the numbers of the joints; with a floating base, the files may begin with a zero for it."""
        if len(x) == count + 1 and self.folder.is_floating:
            return x[1:]
        if len(x) != count:
            raise FileFormatError(
                f"trajectory.m gives {len(x)} numbers as {what}, but there are {count} joints",
                str(self.folder.instead.get("trajectory") or self.folder.code.find("trajectory.m")),
            )
        return x

    # ------------------------------------------------------------------ loops

    def rows(self, q: Scalars, v: Scalars) -> tuple[list[list[Scalar]], list[list[Scalar]]]:
        """Return J of ``jacobian.m`` and its rate, rows in ReDySim's order."""
        place, rate = self.order.theirs(q), self.order.theirs(v)
        given = [place, rate]
        if self.folder.is_floating:
            given = [place[:BASE], rate[:BASE], place[BASE - 1 :], rate[BASE - 1 :]]
        found = self.folder.code.call("jacobian", given, 2)
        j, rates = ([list(row) for row in values.number_matrix(x).data] for x in found)
        return j, rates

    def rows_of_motion(self, t: Scalar) -> list[list[Scalar]] | None:
        """Return J along the motion as ``inv_kine.m`` gives it; None if it does not."""
        code = self.folder.code
        if not code.has("inv_kine") or len(code.outputs_of("inv_kine")) < 4:
            return None
        motion = code.call("trajectory", self._few("trajectory", self._trajectory_arguments(t)), 3)
        return [list(row) for row in values.number_matrix(code.call("inv_kine", motion, 4)[3]).data]

    def ours_by_row(self, rows: Sequence[Scalars]) -> list[list[Scalar]]:
        """Return rows in the robot's order."""
        return [self.order.ours(row) for row in rows]

    # ------------------------------------------------------------------ forces

    def torque(
        self, t: Scalar, q: Scalars, v: Scalars, beside: Scalars, hosts: Mapping[str, HostFunction]
    ) -> tuple[list[Scalar], list[Scalar]]:
        """Return the joint forces of ``torque.m``, and the rates of the additional states of legged systems.

        Parameters
        ----------
        t : scalar
        q, v : sequence of scalars
            State of the robot.
        beside : sequence of scalars
            ``qq`` and ``dqq`` of a legged system: the motion of the base as its controller assumes it.
        hosts : mapping
            Functions in place of encrypted ones.
        """
        folder, n = self.folder, float(self.folder.count)
        place, rate = self.order.theirs(q), self.order.theirs(v)
        if not folder.is_floating:
            dof = folder.inputs.number_of("dof")
            given = [t, self.end, n, n if dof is None else dof, place, rate]
            (tau,) = folder.code.call("torque", self._few("torque", given), 1, hosts)
            return self.order.ours(self._forces(numbers(tau), len(place))), []
        # ReDySim takes th and dth from the sixth entry on, so that the joints begin with the second one
        bases = [place[:BASE], place[BASE - 1 :], rate[:BASE], rate[BASE - 1 :]]
        if folder.has_ground:
            given = [t, n, *bases, list(beside[:BASE]), list(beside[BASE:])]
            base, joints, second = folder.code.call("torque", given, 3, hosts)
            rates = [*beside[BASE:], *numbers(second)]
        else:
            base, joints = folder.code.call("torque", [t, n, self.end, *bases], 2, hosts)
            rates = []
        tau_ = [*numbers(base), *numbers(joints)]
        return self.order.ours(self._forces(tau_, len(place))), rates

    def _forces(self, tau: list[Scalar], count: int) -> list[Scalar]:
        if len(tau) != count:
            raise FileFormatError(
                f"torque.m gives {len(tau)} forces, but there are {count} freedoms",
                str(self.folder.code.find("torque.m") or "torque.m"),
            )
        return tau

    def same_robot(self, names: Sequence[str], given: Sequence[Any]) -> None:
        """Refuse arguments that describe a robot other than that of ``inputs.m``."""
        for name, value in zip(names, given, strict=True):
            own = self.folder.inputs.vector(name)
            if values.known(value, name).ravel(order="F").tolist() != own.tolist():
                raise values.MatlabError(f"{name!r} differs from inputs.m: only the folder's own robot can be used")
