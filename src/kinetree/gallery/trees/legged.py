"""The walking machines of 000 (chapters 7, 9, 10) and of 003: their gaits, feet and gains.

x is forward, y left, z up.  What the sources do not say is chosen here and in the model files,
and marked so.
"""

from __future__ import annotations

from collections.abc import Callable

from ...contact.ground import Spot, line, rectangle
from ...motion.walking import gaits, legs
from ..system import About, System
from .walker import Walker

BOTH = ("left", "right")

QUADRUPED_LEGS = ("front_left", "front_right", "rear_left", "rear_right")
QUADRUPED_HIPS = ((0.5, 0.25), (0.5, -0.25), (-0.5, 0.25), (-0.5, -0.25))
"""At the ends of the trunk of 1 m; the notes' list from the authors' program has 0.25 and 0.5 the other way round."""

HEXAPOD_LEGS = tuple(f"{place}_{side}" for place in ("front", "middle", "rear") for side in BOTH)
HEXAPOD_HIPS = tuple((x, y) for x in (0.6, 0.0, -0.6) for y in (0.25, -0.25))
"""From the authors' program; front to rear, left before right."""

FOOT_WIDTH = 0.08
"""Of the spatial biped; the book does not say."""


def biped_planar() -> Walker:
    """000 section 7.2.1: 12 degrees of freedom, legs in the plane of x and z, two spots per foot."""
    spots = [s for side in BOTH for s in line(f"{side}_foot", 0.15)]
    walk = gaits.biped(legs.PLANAR_BIPED, 0.5, 0.5)
    return Walker("biped-planar", walk, spots, "planar-biped", 0.25, (49.0, 14.0), (49.0, 7.0))


def biped_unified() -> Walker:
    """003: the same machine with a base that only moves in the plane, and another gait."""
    spots = [s for side in BOTH for s in line(f"{side}_foot", 0.15)]
    walk = gaits.biped(legs.UNIFIED_BIPED, 0.5, 0.5)
    return Walker("biped-unified", walk, spots, "planar-biped", 0.25, (170.0, 30.0), (170.0, 30.0), planar_base=True)


def biped_spatial() -> Walker:
    """000 section 7.2.2: hips are ball joints, ankles universal, four spots per foot."""
    spots = [s for side in BOTH for s in rectangle(f"{side}_foot", 0.15, FOOT_WIDTH)]
    angles = ("zero", "-roll", "-hip", "knee", "-ankle", "roll")
    walk = gaits.biped(legs.SPATIAL_BIPED, 0.5, 0.5, hip_width=0.1, coordinates=angles)
    return Walker("biped-spatial", walk, spots, "spatial-biped", 0.05, (200.0, 40.0), (200.0, 40.0))


def quadruped() -> Walker:
    """000 section 7.3: universal hips, trotting, one spot per foot."""
    walk = gaits.trot(legs.QUADRUPED, 0.3, 0.3, QUADRUPED_HIPS, coordinates=("-roll", "-hip", "knee"))
    spots = [Spot(f"{name}_tip") for name in QUADRUPED_LEGS]
    return Walker("quadruped", walk, spots, "quadruped", 0.0, (49.0, 14.0), (49.0, 14.0))


def hexapod() -> Walker:
    """000 section 7.4: all hinges, tripod gait, one spot per foot."""
    walk = gaits.tripod(legs.HEXAPOD, 0.3, 0.3, HEXAPOD_HIPS, coordinates=("hip", "knee"))
    spots = [Spot(f"{name}_tip") for name in HEXAPOD_LEGS]
    return Walker("hexapod", walk, spots, "hexapod", 0.0, (49.0, 14.0), (49.0, 14.0))


WALKERS: dict[str, Callable[[], Walker]] = {
    "biped-planar": biped_planar,
    "biped-spatial": biped_spatial,
    "quadruped": quadruped,
    "hexapod": hexapod,
    "biped-unified": biped_unified,
}
"""All five, by name."""

GROUND = (
    "The ground's damping acts fully beyond a depth delta_max that the book never states (000 L4379-4383): the "
    "smallest for which the ground would not pull up to the 'maximum velocity of the foot tip' of 4.5 m/s, which the "
    "book lists (L3792-3796) without using it. Forces are cut off at zero."
)
GAIT = (
    "Formulas B.9, B.10 and B.11 of 000 are misprinted: signs of the initial speeds, cos(2 pi t / T) for the foot's "
    "height, 2 a2 a3 in the law of cosines. As printed the hip would end 3.8 m behind and the foot would never land."
)


def _system(name: str, title: str, source: str, *assumed: str) -> System:
    machine = WALKERS[name]()
    gait = machine.walk.gait
    drawn = tuple(f"{leg}_{joint}" for leg, joints in _LEGS[name] for joint in joints)
    words = f"legs walk two steps of {gait.stride:g} m in {gait.period:g} s each, the trunk upright on its path"
    return System(
        About(name, title, source, (*assumed, GROUND, GAIT)), drawn, (0.0, 2.0 * gait.period), words, machine.planned
    )


_LEGS: dict[str, list[tuple[str, tuple[str, ...]]]] = {
    "biped-planar": [(side, ("hip", "knee", "ankle")) for side in BOTH],
    "biped-spatial": [(side, ("hip", "knee", "ankle")) for side in BOTH],
    "quadruped": [(name, ("hip", "knee")) for name in QUADRUPED_LEGS],
    "hexapod": [(name, ("hip", "knee")) for name in HEXAPOD_LEGS],
    "biped-unified": [(side, ("hip", "knee", "ankle")) for side in BOTH],
}

BIPED_PLANAR = _system(
    "biped-planar",
    "planar biped: trunk and two legs with feet, 12 degrees of freedom",
    "000 sections 7.2.1, 9.3 and 10.4, Tables 10.10-10.12 and B.1",
    "Table 10.10 has the trunk with x down and Y up in the world, Table 10.11 starts it with zero Euler angles at the "
    "hip's height: it must start 0.25 m higher and turned by -90 degrees, as in the authors' program. Here x is "
    "forward, z up, and an upright trunk has zero angles.",
    "L3772 forgets the mass in the trunk's first inertia, L3739 prints 0.05 for the second thigh's 0.5 m.",
)

BIPED_SPATIAL = _system(
    "biped-spatial",
    "spatial biped: ball joints at the hips, universal ankles, 18 degrees of freedom",
    "000 sections 7.2.2 and 9.3, Table B.1",
    "Width of a foot (0.08 m) and inertia of the trunk (a cube of 0.1 m, hips at its lower edges) are not in the book.",
    "No ground data are printed for this machine: those of the planar biped, at four spots per foot.",
    "The initial lateral offset is 0.08 m in L2473 and -0.08 m in Table B.1: the sign is the standing foot's side.",
)

QUADRUPED = _system(
    "quadruped",
    "four-legged machine that trots: universal hips, 18 degrees of freedom",
    "000 sections 7.3 and 9.3, Table B.2",
    "Hips at the corners of a trunk of 1 m by 0.5 m; its height of 0.1 m is ours. Ground data: the authors' program.",
    "Foot height 0.09 m as in Table B.2 and the authors' program; chapter 7 says 0.08 m (L2517).",
)

HEXAPOD = _system(
    "hexapod",
    "six-legged machine in tripod gait: all hinges, 18 degrees of freedom",
    "000 sections 7.4 and 9.3, Table B.2",
    "Hips and ground data from the authors' program, whose stored run has a trunk of 2 kg where the book says 4 kg "
    "(L2562); the height of the trunk, 0.1 m, is ours.",
)

BIPED_UNIFIED = _system(
    "biped-unified",
    "biped of 003: the planar biped with a base that moves in its plane, 9 degrees of freedom",
    "003 section 4",
    "003 gives no ground data: those of 000's planar biped, which has the same links. The trunk is a slender rod.",
    "The pendulum is reckoned with the trunk's mass centre at y_c = 1.23 m; the hip is 0.25 m below it (003 eq. 23).",
    "The stride of 0.2 m is how far a foot lands ahead of the other; the hip starts 0.1 m behind the standing foot.",
)
