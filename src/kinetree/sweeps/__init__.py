"""Sweeps: a study computed for thousands or millions of designs, on this machine or on many.

They are in a package above kinetree, ``kinetree_sweeps``.

Examples
--------
>>> import kinetree as kt
>>> masses = {"bodies.link_2.mass": kt.Uniform(0.8, 1.2, relative=True)}
>>> found = kt.sweep("kuka-kr5", masses, draws=20, outputs="peak_force")
>>> found.rows, bool(found.deviation("peak_force") > 0)
(20, True)
"""

from ..lazy_names import LazyNames

_NAMES = LazyNames(__name__, former={"sweep": "kinetree.sweep"})

__all__ = _NAMES.all
__getattr__, __dir__ = _NAMES.get, _NAMES.dir
