"""Cognates of a four-bar: the other two linkages whose coupler point draws the same curve (Roberts, Chebyshev)."""

from __future__ import annotations

import numpy as np

from kinetree.errors import OptionError, explains_arguments
from kinetree.robot.linkage import linkage
from kinetree.robot.robot import Robot

from .planar_analysis import PlanarMechanism


@explains_arguments
def cognates(robot: Robot, point: str) -> tuple[Robot, Robot]:
    """Return the other two four-bars whose coupler point draws the same curve (Roberts, Chebyshev).

    Parameters
    ----------
    robot : Robot
        A mechanism with one four-bar on the ground, such as :func:`kinetree.linkage` makes.
    point : str
        A frame of its coupler.

    Returns
    -------
    pair of Robot
        Linkages with the points ``O``, ``A``, ``B``, ``C`` and the given one. The first shares the input's ground pivot
        with the given linkage, the second the output's; in the second, the link at ``C`` turns as the given input does.

    Examples
    --------
    >>> import kinetree as kt
    >>> given = kt.linkage(
    ...     {"O": (0, 0), "C": (3, 0), "A": (0, 1), "B": {"A": 3, "C": 2.5, "side": "above"}, "P": (1, 3)},
    ...     ["O A", "A B P", "B C"], ground="O C", motor="O")
    >>> left, right = kt.design.cognates(given, "P")
    """
    planar = PlanarMechanism(robot)
    loops = [loop for loop in planar.four_bars if loop.path[3][1] == 0 and np.isfinite(loop.lengths).all()]
    if len(loops) != 1:
        raise OptionError(f"cognates are those of one four-bar on the ground; {robot.name!r} has {len(loops)}")
    frame = robot.model.frame(point)
    if frame.body + 1 != loops[0].path[1][1]:
        raise OptionError(f"point {point!r} must be on the coupler {loops[0].links[2]!r}")
    at = planar.positions(planar.reference)
    o, a, b, c = (complex(*at[name]) for name in loops[0].joints)
    p = complex(*(planar.plane @ robot.point_position(planar.reference, point)))
    shape = (p - a) / (b - a)
    third = o + shape * (c - o)  # the ground pivots are similar to the coupler
    found = []
    for pivot, pin, same in ((o, a, shape), (c, b, (p - b) / (a - b))):
        first = pivot + p - pin
        second = first + same * (pin - pivot)
        places = {"O": pivot, "C": third, "A": first, "B": second, point: p}
        found.append(
            linkage(
                {name: (x.real, x.imag) for name, x in places.items()},
                {"input": ("O", "A"), "coupler": ("A", "B", point), "output": ("B", "C")},
                ground="O C",
                motor="C" if pivot == c else "O",
                name=f"cognate of {robot.name}",
            )
        )
    return found[0], found[1]
