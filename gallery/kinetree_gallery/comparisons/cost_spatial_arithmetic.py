"""Operation counts of the steps of the recursions, and of the recursions in two kinds of coordinates."""

from __future__ import annotations

from kinetree.studies.study import Study

from ..analyses.spatial_arithmetic import ASSUMED, algorithms, parts, recurrences, transforms

STUDY = Study(
    "cost-spatial-arithmetic",
    "operation counts of spatial arithmetic",
    "Featherstone sections 4.2, 8.3 and 8.4, Tables 4-1 and 8-2 to 8-6; Shah appendix A",
    {"recurrences": recurrences, "transforms": transforms, "parts": parts, "algorithms": algorithms},
    ASSUMED,
)
