"""Sweeps: a study computed for thousands or millions of designs, on this machine or on many.

Examples
--------
>>> import kinetree as kt
>>> masses = {"bodies.link_2.mass": kt.Uniform(0.8, 1.2, relative=True)}
>>> found = kt.sweep("kuka-kr5", masses, samples=20, outputs="peak_force")
>>> found.rows, bool(found.deviation("peak_force") > 0)
(20, True)
"""

from typing import TYPE_CHECKING

from ..lazy_names import LazyNames

if TYPE_CHECKING:
    from ..studies.measures import MovedBatch as MovedBatch
    from ..studies.measures import measures as measures
    from .designs import Design as Design
    from .designs import DrawnDesign as DrawnDesign
    from .designs import GridDesign as GridDesign
    from .designs import TableDesign as TableDesign
    from .result import SweepResult as SweepResult
    from .running import run as run
    from .running import sweep as sweep
    from .studies import Forces as Forces
    from .studies import Simulations as Simulations
    from .studies import SweepStudy as SweepStudy
    from .study_file import SweepFile as SweepFile
    from .study_file import gallery_forces as gallery_forces
    from .study_file import read_sweep as read_sweep
    from .tables import TableDone as TableDone
    from .tables import over_table as over_table

_NAMES = LazyNames(
    __name__,
    {
        ".designs": ("Design", "DrawnDesign", "GridDesign", "TableDesign"),
        "..studies.measures": ("MovedBatch", "measures"),
        ".result": ("SweepResult",),
        ".running": ("run", "sweep"),
        ".studies": ("Forces", "Simulations", "SweepStudy"),
        ".study_file": ("SweepFile", "gallery_forces", "read_sweep"),
        ".tables": ("TableDone", "over_table"),
    },
)

__all__ = _NAMES.all
__getattr__, __dir__ = _NAMES.get, _NAMES.dir
