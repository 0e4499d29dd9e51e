"""Systems of the sources by name: their models, where the data comes from, how they move.

Examples
--------
>>> import kinetree as kt
>>> robot = kt.gallery.load("four-bar")
>>> q, v, a = kt.gallery.motion("four-bar").states([0.0, 0.5])
>>> robot.inverse_dynamics(q, v, a).shape
(2, 3)

A study computes what the sources compute, and compares it with what they state:

>>> result = kt.gallery.study("four-bar").run("inverse", quick=True)
>>> result.facts[3].source
"computed from the book's formulas"
>>> print(result.facts[3].shown("stated"), "and", result.facts[3].shown("measured"))
(1.404477, 0) rad/s and (1.404477, 0) rad/s

``result.table()`` shows all facts, ``result.write(folder)`` writes plots, data and a summary.
"""

from ..lazy_names import LazyNames

_NAMES = LazyNames(__name__)

__all__ = _NAMES.all
__getattr__, __dir__ = _NAMES.get, _NAMES.dir
