"""Sweeps: a study computed for thousands or millions of designs, on this machine or on many.

Examples
--------
>>> import kinetree as kt
>>> masses = {"bodies.link_2.mass": kt.Uniform(0.8, 1.2, relative=True)}
>>> found = kt.sweep("kuka-kr5", masses, samples=20, outputs="peak_force")
>>> found.rows, bool(found.deviation("peak_force") > 0)
(20, True)
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .designs import Design, DrawnDesign, GridDesign, TableDesign
    from .outputs import MovedBatch, measures
    from .result import SweepResult
    from .running import run, sweep
    from .studies import Forces, Simulations, SweepStudy
    from .study_file import SweepFile, gallery_forces, read_sweep
    from .tables import TableDone, over_table

_LATER = {
    "Design": "designs",
    "DrawnDesign": "designs",
    "Forces": "studies",
    "GridDesign": "designs",
    "MovedBatch": "outputs",
    "Simulations": "studies",
    "SweepFile": "study_file",
    "SweepResult": "result",
    "SweepStudy": "studies",
    "TableDesign": "designs",
    "TableDone": "tables",
    "gallery_forces": "study_file",
    "measures": "outputs",
    "over_table": "tables",
    "read_sweep": "study_file",
    "run": "running",
    "sweep": "running",
}
"""Where the names are: imported when first asked for, since tables need neither simulation nor gallery."""

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
    "TableDone",
    "gallery_forces",
    "measures",
    "over_table",
    "read_sweep",
    "run",
    "sweep",
]


def __getattr__(name: str) -> object:
    """Import a public name when it is first asked for."""
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(f".{_LATER[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
