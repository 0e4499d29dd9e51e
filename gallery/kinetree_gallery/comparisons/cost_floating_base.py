"""Operation counts against the number of joint variables, on a floating base."""

from __future__ import annotations

from kinetree.studies.study import Study

from ..analyses.operation_counts import ASSUMED, floating_forward, floating_inverse

STUDY = Study(
    "cost-floating-base",
    "operation counts against n, floating base",
    "Shah section 7.5, figures 7.30 and 7.31",
    {"inverse": floating_inverse, "forward": floating_forward},
    ASSUMED,
)
