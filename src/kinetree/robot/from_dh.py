"""Robots from Denavit-Hartenberg tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from numpy.typing import ArrayLike

from ..model.dh import rows as dh
from ..model.dh.rows import DHRow, KhalilRow
from ..model.dh.table import DHTable
from ..model.mass import MassProperties
from .make import make
from .robot import Robot

__all__ = ["DHRow", "KhalilRow", "from_dh"]


def from_dh(
    table: DHTable | Sequence[DHRow | KhalilRow | Mapping[str, Any]] | Mapping[str, Any] | ArrayLike,
    convention: str | None = None, *, name: str | None = None, base: str = "base",
    gravity: Sequence[float] = (0.0, 0.0, -9.81), degrees: bool | str = False, floating_base: bool = False,
    strict: bool = True, links: int | None = None, columns: str | Sequence[str] | None = None,
    base_mass_properties: MassProperties | None = None,
) -> Robot:  # fmt: skip
    """Make a robot from a Denavit-Hartenberg table.

    Parameters
    ----------
    table : sequence of DHRow, KhalilRow or mappings
        One row per frame, parents before children.  Rows are numbered from 1 and named
        ``link1``, ``link2``, ... (joints ``joint1``, ...) unless they have names.
        Fixed rows are welded to their parent; their frames keep their names.  Mappings may use the names of ReDySim
        (``alp``, ``th``, ``b``, ``bt``, ``m``, ...), of the Robotics Toolbox (``sigma``, ``offset``, ``qlim``, ``m``,
        ``r``, ``I``, ``Jm``, ``G``, ``B``, ``Tc``) or of MATLAB (``Mass``, ``CenterOfMass``, ``Inertia``); or the table
        is numbers, see ``columns``; or a mapping with a sequence for each column, as in ReDySim's ``inputs.m``.
        The result of :meth:`kinetree.Robot.dh_table` includes its convention, units and base.
    convention : {"modified", "standard", "khalil"}
        Pose of a row's frame in its parent's:
        ``Rx(alpha) Tx(a) Rz(theta) Tz(d)`` for modified,
        ``Rz(theta) Tz(d) Tx(a) Rx(alpha)`` for standard (the frame sits at the far end of the link), and
        ``Rz(gamma) Tz(b) Rx(alpha) Tx(d) Rz(theta) Tz(r)`` for Khalil's parameters.
        Modified by default, except for numbers and names of other programs, where it must be given.
    name : str, optional
        Name of the robot in files and messages.  By default the letters of its joints: ``"6R"``, ``"2RP3R"``.
    base : str
        Name of the base.
    gravity : sequence of 3 floats
        Acceleration of free fall in the base frame.
    degrees : bool or "all"
        Whether ``alpha``, ``theta``, ``gamma`` and ``offset`` are in degrees; then 90 is exactly a quarter
        turn.  Limits (``lower``, ``upper``, ``qlim``) and ``spring_rest`` of hinges stay in radians, like joint
        coordinates, unless it is ``"all"``.  Angles of more than two turns cause a warning.
    floating_base : bool
        Whether to put the base, with what is welded to it, on a free joint.
    strict : bool
        Whether physically impossible inertias are errors (default) or warnings; measured
        tables, such as those of the PUMA 560, can break the triangle inequality.
    links : int, optional
        For Khalil's tables of mechanisms with closed loops: how many rows are links.  The others are frames of cut
        joints, first frame k of each, which the cut joint moves on the link a(k), then frame k + B of each, fixed to
        a(k + B); both coincide if the loop is closed (Khalil section 10.3.1).
    columns : {"rtb", "matlab", "redysim"} or sequence of str, optional
        Columns of a table of numbers: ``theta, d, a, alpha`` and perhaps ``sigma, offset`` for the
        Robotics Toolbox, ``a, alpha, d, theta`` for MATLAB's ``setFixedTransform``, ``alpha, a, d, theta`` for ReDySim
        and the book, or others by name.  A number in the column of the joint's own variable is its offset.
    base_mass_properties : MassProperties, optional
        Mass properties of the base, which a floating base needs: the hull of a satellite, the trunk of a walking
        machine.

    Returns
    -------
    Robot
        A :class:`kinetree.Mechanism` if it has loops.

    Examples
    --------
    A planar arm with two links of 1 m:

    >>> import kinetree as kt
    >>> arm = kt.from_dh([{"mass": 1, "com": (0.5, 0, 0)}, {"a": 1.0, "mass": 1, "com": (0.5, 0, 0)}])
    >>> arm.joint_names
    ['joint1', 'joint2']
    """
    if isinstance(table, DHTable):
        convention, degrees, links, floating_base = table.convention, table.degrees, table.links, table.floating_base
        table = table.rows
    builder, rows = dh.build(table, convention, name=name, base=base, gravity=gravity, degrees=degrees, strict=strict,
                             links=links, columns=columns, base_mass_properties=base_mass_properties)  # fmt: skip
    model = builder.model(floating_base=floating_base)
    made = DHTable(convention or "modified", rows, bool(degrees), links, floating_base, model)
    return make(replace(model, table=made))
