"""Folders of ReDySim that run.

:mod:`.system`
    a folder's robot, motion, torques, and what ReDySim computes of them;
:mod:`.stored`
    what ReDySim has left in a folder;
:mod:`.study`
    both beside each other.
"""

from .study import analyses_of
from .system import Redysim, RedysimRun

__all__ = ["Redysim", "RedysimRun", "analyses_of"]
