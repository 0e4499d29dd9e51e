"""Chains of any length and kind of joint."""

from __future__ import annotations

import operator

from kinetree.errors import OptionError
from kinetree.model.joints import EulerSpherical, JointKind, Revolute, Universal
from kinetree.model.mass import MassProperties
from kinetree.robot.builder import Builder
from kinetree.robot.robot import Robot
from kinetree.studies.system import About, GallerySystem

from ..motion_laws import DEGREE, there_and_back

LENGTH, MASS, THICKNESS = 0.03, 0.05, 0.01
"""Data of one link, from the authors' program."""

JOINTS: dict[int, JointKind] = {1: Revolute("z"), 2: Universal("ZY"), 3: EulerSpherical("ZYX")}
"""Joints by their number of freedoms; the first turn is always the one in the plane."""


def chain(links: int = 20, freedoms: int = 1) -> Robot:
    """Make a hanging chain: a row of equal links, its joints hinges, universal or ball joints.

    Links are those of the system ``chain``: 0.03 m, 0.05 kg, along x at zero; gravity along -y.
    A ball joint is three turns, about z, y and x (Shah chapter 3).

    Parameters
    ----------
    links : int
        At least one.
    freedoms : {1, 2, 3}
        Freedoms of every joint.

    Returns
    -------
    Robot

    Examples
    --------
    >>> from kinetree_gallery.systems.chain.system import chain
    >>> chain(5, freedoms=3).nv
    15
    """
    try:
        count, kind = operator.index(links), JOINTS.get(operator.index(freedoms))
    except TypeError:
        raise OptionError(f"links and freedoms must be whole numbers, not {links!r} and {freedoms!r}") from None
    if count < 1:
        raise OptionError(f"a chain needs at least one link, got {count}")
    if kind is None:
        raise OptionError(f"a joint of the chain has 1, 2 or 3 freedoms, not {freedoms}")
    along = MASS * LENGTH**2 / 12.0
    link = MassProperties.of(MASS, (LENGTH / 2.0, 0.0, 0.0), (MASS * THICKNESS**2 / 12.0, along, along))
    name = "chain" if (count, freedoms) == (20, 1) else f"chain-{count}x{freedoms}"
    builder = Builder(name, base="ground", gravity=(0.0, -9.81, 0.0))
    for k in range(count):
        builder.body(
            f"link_{k + 1}", f"link_{k}" if k else "ground", kind, joint_name=f"joint_{k + 1}",
            position=(LENGTH if k else 0.0, 0.0, 0.0), mass_properties=link,
        )  # fmt: skip
    return builder.build()


SYSTEM = GallerySystem(
    About(
        "chain",
        "chain of 20 links, and of any other length",
        "the authors' program; announced in Shah, preface and section 1.4",
        (
            "The book announces a system with very many freedoms and shows none; the authors' program has this chain. "
            "It falls from zero, stretched out level.",
            "Its first Denavit-Hartenberg row has a_1 = 0.03 m, which shifts the whole chain and changes nothing; here "
            "it hangs at the origin.",
        ),
    ),
    tuple(f"joint_{k}" for k in range(1, 21)),
    (0.0, 2.0),
    "every joint by 9 degrees and back within 2 s: the chain curls up by half a turn; ours",
    lambda t: [there_and_back(t, 2.0, 9.0 * DEGREE) for _ in range(20)],
    {"free-fall": lambda: (0.0,) * 20},
)
