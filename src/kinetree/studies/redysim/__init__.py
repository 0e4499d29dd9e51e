"""ReDySim folders that run.

:mod:`.system`
    a folder's robot, motion, torques, and what ReDySim computes from them;
:mod:`.stored`
    output files of ReDySim in a folder;
:mod:`.study`
    comparison of both.
"""

from .study import analyses_of
from .system import Redysim, RedysimRun

__all__ = ["Redysim", "RedysimRun", "analyses_of"]
