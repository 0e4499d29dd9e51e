"""Theo Jansen's leg."""

from __future__ import annotations

from kinetree.studies.study import Study

from ...analyses.free_fall import free_fall
from ...analyses.inverse_dynamics import inverse
from ...analyses.replay import replay
from ...analyses.walking_legs import leg_facts
from .system import LEG

STUDY = Study.of(
    "jansen",
    {
        "inverse": inverse("jansen", lambda along: leg_facts(LEG, along), shared="walking legs"),
        "replay": replay("jansen"),
        "free-fall": free_fall("jansen", 1.0),
    },
)
