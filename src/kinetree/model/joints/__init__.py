"""The kinds of joints, one small file each."""

from .compound import Compound, Step
from .constraints import Constraint
from .custom import Custom
from .cylindrical import Cylindrical
from .distance import Distance
from .euler import THREE_AXIS_SEQUENCES, EulerFree, EulerSpherical
from .fixed import Fixed
from .free import Free
from .guided_points import ParallelAxes, PointOnLine, PointOnPlane
from .helical import Helical
from .kind import KINDS, JointKind, unit_axis
from .planar import Planar, Translation
from .prismatic import Prismatic
from .reversed import Reversed, reverse
from .revolute import Continuous, Revolute
from .rolling import KnifeEdge, RollingBall, RollingWheel
from .spherical import Spherical
from .universal import TWO_AXIS_SEQUENCES, Universal

__all__ = [
    "KINDS", "THREE_AXIS_SEQUENCES", "TWO_AXIS_SEQUENCES",
    "Compound", "Constraint", "Continuous", "Custom", "Cylindrical", "Distance", "EulerFree", "EulerSpherical", "Fixed",
    "Free", "Helical", "JointKind", "KnifeEdge", "ParallelAxes", "Planar", "PointOnLine", "PointOnPlane", "Prismatic",
    "Reversed", "Revolute", "RollingBall", "RollingWheel", "Spherical", "Step", "Translation", "Universal", "reverse",
    "unit_axis",
]  # fmt: skip
