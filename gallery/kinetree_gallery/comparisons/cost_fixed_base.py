"""Operation counts against the number of joint variables, on a fixed base."""

from __future__ import annotations

from kinetree.studies.study import Study

from ..analyses.operation_counts import ASSUMED, fixed_forward, fixed_inverse

STUDY = Study(
    "cost-fixed-base",
    "operation counts against n, fixed base",
    "Shah section 6.3, figures 6.15 and 6.16; Saha Tables 1 and 2",
    {"inverse": fixed_inverse, "forward": fixed_forward},
    ASSUMED,
)
