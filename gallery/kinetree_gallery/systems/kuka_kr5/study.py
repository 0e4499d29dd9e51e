"""The KUKA KR5 Arc of Shah."""

from __future__ import annotations

import warnings

import numpy as np

from kinetree.errors import ModelWarning
from kinetree.robot.from_dh import DHRow, from_dh
from kinetree.studies.fact_files import Values
from kinetree.studies.study import Study

from ...analyses.free_fall import free_fall_of_tree
from ...analyses.inverse_dynamics import inverse
from ...analyses.prescribed import AlongMotion

TABLE_6_6 = (  # a, alpha, b, mass, Ixx, Iyy, Izz (Shah section 6.2.2)
    (0.0, 0.0, 0.400, 16.038, 0.1769, 0.2665, 0.2622),
    (0.180, 90.0, 0.0, 7.988, 0.2716, 0.2768, 0.0218),
    (0.600, 0.0, 0.0, 12.973, 0.3889, 0.3765, 0.1041),
    (0.120, 90.0, 0.620, 2.051, 0.0047, 0.0101, 0.0121),
    (0.0, -90.0, 0.0, 0.811, 0.0007, 0.0017, 0.0018),
    (0.0, 90.0, 0.0, 0.008, 3e-6, 1e-6, 1e-6),
)


def _facts(along: AlongMotion) -> Values:
    tau = np.abs(along.tau)
    rows = [
        DHRow(a=a, alpha=alpha, d=b, mass=mass, com=body.mass_properties.com, inertia=inertia)
        for (a, alpha, b, mass, *inertia), body in zip(TABLE_6_6, along.robot.model.bodies, strict=True)
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)  # link 6, see the remark
        printed = from_dh(rows, degrees=True, strict=False)
    difference = np.abs(printed.inverse_dynamics(*along.states) - along.tau).max()
    return {
        "upright": along.tau[[0, -1], 0], "strongest": int(tau.max(axis=0).argmax()) + 1, "printed": difference,
    }  # fmt: skip


REMARK = (
    "The inertias that Table 6.6 prints for link 6, (3e-6, 1e-6, 1e-6) kg m^2, are those of no body: the largest "
    "exceeds the sum of the others. With the digits that were cut off they are fine."
)

STUDY = Study.of(
    "kuka-kr5",
    {"inverse": inverse("kuka-kr5", _facts, remarks=[REMARK]), "free-fall": free_fall_of_tree("kuka-kr5", 1.0)},
)
