"""Systems of the sources by name: their models, where the data comes from, how they move.

Examples
--------
>>> import kinetree as kt
>>> robot = kt.gallery.load("four-bar")
>>> q, v, a = kt.gallery.motion("four-bar").states([0.0, 0.5])
>>> robot.inverse_dynamics(q, v, a).shape
(2, 3)

A study computes what the sources compute, and puts what they state beside it:

>>> result = kt.gallery.study("four-bar").run("inverse", quick=True)
>>> result.facts[3].source
"computed from the book's formulas"
>>> print(result.facts[3].shown("stated"), "and", result.facts[3].shown("measured"))
(1.404477, 0) rad/s and (1.404477, 0) rad/s

``result.table()`` shows all of it, ``result.write(folder)`` writes plots, data and a summary.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy_names import LazyNames

if TYPE_CHECKING:
    from ..studies.facts import Fact as Fact
    from ..studies.named_systems import about as about
    from ..studies.named_systems import load as load
    from ..studies.named_systems import model_text as model_text
    from ..studies.named_systems import motion as motion
    from ..studies.named_systems import start as start
    from ..studies.study import Outcome as Outcome
    from ..studies.study import Result as Result
    from ..studies.study import Study as Study
    from ..studies.system import About as About
    from ..studies.system import States as States
    from .catalog import Motion as Motion
    from .catalog import names as names
    from .catalog import studies as studies
    from .catalog import study as study
    from .systems.four_bar_chain import four_bar_chain as four_bar_chain
    from .systems.four_bar_chain import four_bar_chain_leaning as four_bar_chain_leaning

_NAMES = LazyNames(
    __name__,
    {
        "..studies.named_systems": ("about", "load", "model_text", "motion", "start"),
        "..studies.facts": ("Fact",),
        "..studies.study": ("Outcome", "Result", "Study"),
        "..studies.system": ("About", "States"),
        ".catalog": ("Motion", "names", "studies", "study"),
        ".systems.four_bar_chain": ("four_bar_chain", "four_bar_chain_leaning"),
    },
)

__all__ = _NAMES.all
__getattr__, __dir__ = _NAMES.get, _NAMES.dir
