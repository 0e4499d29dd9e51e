"""Shapes of bodies and of the ground, which touch with their whole surface; one small file for each kind.

Give them to a body with :meth:`kinetree.Builder.shape`; files bring theirs along.
"""

from ...lazy_names import LazyNames

ELSEWHERE = {
    "Ball": "Sphere", "Cuboid": "Box", "Plane": "HalfSpace", "Ground": "HalfSpace", "HeightField": "HeightGrid",
    "Heightfield": "HeightGrid", "Hfield": "HeightGrid", "Convex": "ConvexHull", "Hull": "ConvexHull",
    "MeshFile": "Mesh",
}  # fmt: skip
"""Names of other libraries."""


def _meant(name: str) -> str | None:
    return f"here it is {ELSEWHERE[name]}" if name in ELSEWHERE else None


_NAMES = LazyNames(__name__, otherwise=_meant)

__all__ = _NAMES.all
__getattr__, __dir__ = _NAMES.get, _NAMES.dir
