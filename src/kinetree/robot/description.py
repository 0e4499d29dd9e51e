"""The description of a robot: sizes, names, limits, bodies, joints and frames."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..algorithms import centroidal
from ..errors import ExplainsArguments, UnknownNameError
from ..model import denoc_modules
from ..model import describe as description
from ..model.actuators import Actuator, Tendon
from ..model.tree import BASE, Body, Frame, Joint, Model
from ..spatial.arrays import Array

if TYPE_CHECKING:
    from ..model.dh.table import DHTable
    from ..model.shapes.contact_shape import ContactShape


class Description(ExplainsArguments):
    """The part of :class:`kinetree.Robot` that describes it."""

    model: Model

    @property
    def name(self) -> str:
        """Name of the robot."""
        return self.model.name

    @property
    def nq(self) -> int:
        """Number of position coordinates."""
        return self.model.nq

    @property
    def nv(self) -> int:
        """Number of degrees of freedom."""
        return self.model.nv

    @property
    def joint_names(self) -> list[str]:
        """Moving joints, parents before children; ``q`` and ``v`` are laid out in this order.

        A joint that mimics another is listed but has no entry of its own; see
        :attr:`q_names` and :attr:`v_names` for one name per entry.
        """
        return [j.name for j in self.model.joints]

    @property
    def shapes(self) -> tuple[ContactShape, ...]:
        """Shapes that may touch, on bodies and on the ground; see :mod:`kinetree.shapes`."""
        return self.model.shapes

    @property
    def q_names(self) -> list[str]:
        """One name per entry of ``q``.

        It is the joint's name, followed by a number if the joint has several coordinates, ``"wrist[0]"``, or by a word
        if these are a quaternion and a position: ``"floating_base.qw"``, ``"floating_base.z"``.
        """
        return list(self.model.q_names)

    @property
    def v_names(self) -> list[str]:
        """One name per entry of ``v`` and ``tau``, as in :attr:`q_names`; for a free joint ``"base.wx"``, ..."""
        return list(self.model.v_names)

    @property
    def q_units(self) -> list[str]:
        """Unit of each entry of ``q``: ``"rad"``, ``"m"``, or ``"1"`` for those of a quaternion."""
        return list(self.model.q_units)

    @property
    def v_units(self) -> list[str]:
        """Unit of each entry of ``v``, times a second: ``"rad"`` or ``"m"``."""
        return list(self.model.v_units)

    @property
    def tau_units(self) -> list[str]:
        """Unit of each entry of ``tau``: ``"N m"`` or ``"N"``."""
        return list(self.model.tau_units)

    def entry_index(self, name: str, which: str = "v") -> int:
        """Return the index of an entry of ``q`` or ``v``, by its name or joint and number: ``"floating_base[6]"``."""
        names, first = (self.q_names if which == "q" else self.v_names), 0
        if name in names:
            return names.index(name)
        for joint in self.model.joints:
            own = 0 if joint.mimic else joint.nq if which == "q" else joint.nv
            counted = [f"{joint.name}[{k}]" for k in range(own)]
            if own > 1 and name in counted:
                return first + counted.index(name)
            first += own
        raise UnknownNameError("coordinate" if which == "q" else "freedom", name, names)

    @property
    def lower_limits(self) -> Array:
        """Lower position limits, (nq,), laid out like ``q``; infinite where there are none."""
        return self.model.joint_vector("lower")

    @property
    def upper_limits(self) -> Array:
        """Upper position limits, (nq,), laid out like ``q``; infinite where there are none."""
        return self.model.joint_vector("upper")

    @property
    def velocity_limits(self) -> Array:
        """Velocity limits, (nv,), laid out like ``v``."""
        return self.model.joint_vector("velocity_limit")

    @property
    def effort_limits(self) -> Array:
        """Force and torque limits, (nv,), laid out like ``v``."""
        return self.model.joint_vector("effort_limit")

    @property
    def body_names(self) -> list[str]:
        """Moving bodies; body i is carried by joint i."""
        return [b.name for b in self.model.bodies]

    @property
    def tendons(self) -> tuple[Tendon, ...]:
        """The tendons: lengths along which springs, dampers and actuators act."""
        return self.model.tendons

    @property
    def actuators(self) -> tuple[Actuator, ...]:
        """Drives with a control signal each, in the order of the signals of :class:`kinetree.control.Actuators`."""
        return self.model.actuators

    @property
    def frame_names(self) -> list[str]:
        """All names that :meth:`pose` accepts."""
        return list(self.model.frame_table)

    @property
    def configuration_names(self) -> list[str]:
        """Named configurations of the file; ``robot.configuration(name)`` returns them."""
        return [c.name for c in self.model.configurations]

    @property
    def base_name(self) -> str:
        """Name of the fixed base."""
        return self.model.base.name

    @property
    def gravity(self) -> Array:
        """Acceleration of free fall in the world frame, (3,)."""
        return np.array(self.model.gravity, dtype=float)

    @property
    def symbols(self) -> tuple[str, ...]:
        """Symbols in place of numbers, without a value; :meth:`kinetree.Robot.with_values` gives them values.

        Only SYMORO files have any.  Computations that need the number of a symbol raise :class:`kinetree.NoValueError`.
        """
        return self.model.symbols

    @property
    def loads(self) -> dict[str, Array]:
        """Wrenches on bodies, (6,) each, from the file; they act only if they are passed as ``wrenches=``.

        A moment and a force on each body, in its axes at its origin; formulas if symbols have no value.
        """
        return {load.body: np.array(load.six) for load in self.model.loads}

    @property
    def mass(self) -> float:
        """Mass of all moving bodies."""
        return centroidal.total_mass(self.model)

    @property
    def is_floating(self) -> bool:
        """Whether a single body with six degrees of freedom carries all others."""
        return self.model.is_floating

    def joint(self, name: str) -> Joint:
        """Return a joint by name, with the places of its coordinates in ``q_slice`` and ``v_slice``."""
        return self.model.joint(name)

    def body(self, name: str) -> Body:
        """Return a body by name, with its mass properties (including everything welded to it)."""
        index = self.model.body_index.get(name) if isinstance(name, str) else None
        if index is None:
            raise UnknownNameError("body", name, self.model.body_index, instead=self.model.instead_of_body(name))
        return self.model.base if index == BASE else self.model.bodies[index]

    def frame(self, name: str) -> Frame:
        """Return a frame by name: the body that carries it and its pose there."""
        return self.model.frame(name)

    def describe(self) -> str:
        """Return the tree with joints, masses and limits, as text."""
        return description.describe(self.model)

    def modules(self, partition: Sequence[Sequence[str]] | None = None) -> denoc_modules.Modules:
        """Return kinematic modules: serial chains that each start at the last link of their parent module.

        Parameters
        ----------
        partition : sequence of sequences of body names, optional
            Checked against the two rules; automatic by default.
        """
        return denoc_modules.partition(self.model, partition)

    def equal_modules(
        self, partition: Sequence[Sequence[str]] | None = None, by: str = "numbers"
    ) -> tuple[tuple[str, ...], ...]:
        """Return groups of equal kinematic modules: ``M2``, ``M3``, ..., as :meth:`modules` lists them.

        Parameters
        ----------
        partition : sequence of sequences of body names, optional
            See :meth:`modules`.
        by : {"numbers", "architecture"}
            ``"architecture"``: the same kinds of joints in the same order, computed by the same steps.
            ``"numbers"``: also the same masses, rotors, springs and places of joints, except where the module is
            mounted.  Mirror images are equal in architecture only.

        Examples
        --------
        >>> import kinetree as kt
        >>> kt.gallery.load("quadruped").equal_modules()
        (('M2', 'M3', 'M4', 'M5'),)
        """
        groups = denoc_modules.equal_groups(self.model, self.modules(partition), by)
        return tuple(tuple(f"M{m + 1}" for m in group) for group in groups)

    def dh_table(self, convention: str | None = None) -> DHTable:
        """Return a Denavit-Hartenberg table: the one that the robot was made from, or one that describes it.

        The table prints angles in degrees; :func:`kinetree.from_dh` rebuilds the robot from it.  If the robot was not
        made from a table, z is along the axis of each joint and x along the normal to the next one, and masses are in
        these frames.

        Parameters
        ----------
        convention : {"modified", "standard", "khalil"}, optional
            By default that of the robot's own table; without one, modified, or Khalil's six parameters per frame if
            branches, loops or the placement of the base need them.

        Examples
        --------
        >>> import kinetree as kt
        >>> print(kt.load("puma").dh_table("standard"))
        standard Denavit-Hartenberg table
        link    theta [deg]  d [m]  a [m]  alpha [deg]
        link_1  q            0      0      -90
        link_2  q            0      0.432  0
        link_3  q            0.149  0.02   -90
        link_4  q            0.432  0      -90
        link_5  q            0      0      -90
        link_6  q            0      0      0
        """
        from ..model.dh.table import dh_table

        return dh_table(self.model, convention)

    def save(self, path: str | os.PathLike[str], original: str | os.PathLike[str] | None = None) -> None:
        """Write the robot to a ``.yaml``, ``.urdf``, ``.sdf``, ``.xml`` (MJCF) or ``.par`` file, never half of it.

        Parameters
        ----------
        path : path-like
        original : path-like, optional
            The URDF file that the robot was loaded from, to keep everything else in it: meshes, comments, limits,
            elements of other tools.  Only inertias, friction and springs are changed.
        """
        from ..model import formats

        formats.save(self.model, path, original)
