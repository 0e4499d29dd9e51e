"""Sweeps: a study computed for thousands or millions of designs, on this machine or on many.

Examples
--------
>>> import numpy as np
>>> import kinetree as kt
>>> found = kt.sweep("kuka-kr5", {"link_2.M": kt.Uniform(0.8, 1.2, relative=True)}, samples=20, outputs="peak_force")
>>> found.rows, bool(found.deviation("peak_force") > 0)
(20, True)
"""

from .designs import Design, DrawnDesign, GridDesign, TableDesign
from .measures import MovedBatch, measures
from .result import SweepResult
from .run import run, sweep
from .studies import Forces, Simulations, SweepStudy
from .study_file import SweepFile, gallery_forces, read_sweep

__all__ = [
    "Design",
    "DrawnDesign",
    "Forces",
    "GridDesign",
    "MovedBatch",
    "Simulations",
    "SweepFile",
    "SweepResult",
    "SweepStudy",
    "TableDesign",
    "gallery_forces",
    "measures",
    "read_sweep",
    "run",
    "sweep",
]
