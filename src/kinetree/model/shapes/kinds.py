"""All kinds of shapes, by their names in files."""

from .box import Box
from .capsule import Capsule
from .convex_hull import ConvexHull
from .cylinder import Cylinder
from .ellipsoid import Ellipsoid
from .half_space import HalfSpace
from .height_grid import HeightGrid
from .mesh import Mesh
from .solid import Solid
from .sphere import Sphere

SHAPE_KINDS: dict[str, type[Solid]] = {
    kind.name: kind
    for kind in (Sphere, Capsule, Box, Cylinder, Ellipsoid, HalfSpace, HeightGrid, ConvexHull, Mesh)
}  # fmt: skip
