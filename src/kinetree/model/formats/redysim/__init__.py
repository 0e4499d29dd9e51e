"""ReDySim's own files: a folder with ``inputs.m``, ``initials.m``, ``trajectory.m``, ``torque.m``, ``jacobian.m``, ...

:mod:`.folder`
    what kind of system a folder contains and what is to be computed;
:mod:`.reader`
    the robot;
:mod:`.laws`
    motion and forces over time;
:mod:`.loops`
    the joints that close loops.
"""

from .folder import RedysimFolder, inputs_of
from .laws import RedysimLaws
from .loops import loops_of
from .reader import read

__all__ = ["RedysimFolder", "RedysimLaws", "inputs_of", "loops_of", "read"]
