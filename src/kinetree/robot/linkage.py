"""Planar mechanisms from drawings: points and bars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import explains_arguments
from ..model.linkages.reading import drawing
from .make import make
from .robot import Robot


@explains_arguments
def linkage(
    points: Mapping[str, Any], bars: Mapping[str, Any] | Sequence[Any], *, ground: str | Sequence[str],
    motor: str | Sequence[str] | Mapping[str, str] = (), sliders: Mapping[str, Any] | None = None,
    springs: Mapping[str, Any] | None = None, gears: Mapping[str, Any] | None = None,
    masses: Mapping[str, float | str] | None = None, width: float | str | None = None,
    thickness: float | str | None = None, density: float | None = None, units: str = "m",
    gravity: Sequence[float] = (0.0, -9.81), name: str = "linkage",
) -> Robot:  # fmt: skip
    """Make a planar mechanism from a drawing: points by name, and bars between them.

    Its neutral configuration is the drawing: joint angles count from there. Every point is a frame, and pins are named
    for their points (``"B_rocker"`` if several bars meet at B), slides ``"C_slide"``.

    Parameters
    ----------
    points : mapping from name to place
        ``(x, y)``; or distances from two earlier points, ``{"A": 50, "B": 41.5, "side": "above"}`` (or below, left,
        right); or a distance and direction from one, ``{"O": 15, "angle": "30 deg"}``.
    bars : mapping from name to points, or sequence
        ``"A B"`` or ``["A", "B", "C"]``: a rigid bar or plate with these points; or a mapping with ``points`` and
        ``mass``, or with its own ``width``, ``thickness`` and ``density``.  A ``mass`` is spread evenly; ``com`` puts
        its center elsewhere, in coordinates of the drawing like those of points, and ``inertia`` about that center
        replaces the inertia of an even bar: in kg m^2 whatever ``units`` are, or ``"90 kg mm^2"``.  Bars of a list are
        named by their points, ``"A-B"``.
    ground : str or sequence of str
        Points that are pinned to the ground, ``"O B"``.
    motor : str, sequence of str or mapping
        Points whose pin, or slider, is driven; ``{"O": "crank"}`` where several bars are pinned there.
    sliders : mapping from point to line, optional
        The point slides on the ground along ``"x"``, ``"y"``, ``"30 deg"`` or ``(dx, dy)``; or along the line through
        points of a bar, ``"C D"``.  Or a mapping: ``along``, ``on`` (a bar, or ``"ground"``), and ``bar``, which then
        slides without turning.
    springs : mapping, optional
        ``{"s": {"between": "A B", "stiffness": 500, "rest": 40, "damping": 1}}``; relaxed as drawn without ``rest``.
        With ``"pushes_only": True``, as for a rubber pad, it is slack when longer than ``rest``; with ``"pulls_only":
        True``, as for a rope, when shorter.  Its damping acts at any length.
    gears : mapping, optional
        ``{"pair": {"wheels": "crank arm", "teeth": (20, 40)}}``, or ``ratio``: turns of the second bar per turn of the
        first, negative for wheels that mesh outside.  With ``backlash``, an angle of the second, the teeth are a spring
        of ``stiffness`` and ``damping`` that is slack in between.
    masses : mapping from point to mass, optional
        Masses at points: counterweights, loads, sliders.
    width, thickness, density : optional
        Dimensions and density (in kg/m^3) of all bars without a mass of their own; without these they have no mass.
        The ends of bars are round; a width alone is for outlines.
    units : {"m", "mm", "cm", "in", ...}
        Unit of lengths that are given as plain numbers.
    gravity : (float, float)
        Gravity in the plane of the drawing.
    name : str

    Returns
    -------
    Robot
        A :class:`kinetree.Mechanism` if bars form loops.

    Examples
    --------
    >>> import numpy as np, kinetree as kt
    >>> four_bar = kt.linkage(
    ...     points={"O": (0, 0), "C": (100, 0), "A": (0, 30), "B": {"A": 90, "C": 70, "side": "above"}},
    ...     bars={"crank": "O A", "coupler": "A B", "rocker": "B C"},
    ...     ground="O C", motor="O", units="mm")
    >>> turn = four_bar.follow({"O": np.linspace(0, 2 * np.pi, 100)}, four_bar.neutral())
    >>> four_bar.point_position(turn, "B").shape
    (100, 3)
    """
    drawn = drawing(
        points, bars, ground=ground, motor=motor, sliders=sliders, springs=springs, gears=gears, masses=masses,
        width=width, thickness=thickness, density=density, units=units, gravity=gravity, name=name,
    )  # fmt: skip
    return make(drawn.model())
