"""ReDySim's own files: a folder with ``inputs.m``, ``initials.m``, ``trajectory.m``, ``torque.m``, ``jacobian.m``, ...

:mod:`.folder`
    what kind of system a folder contains and what is to be computed;
:mod:`.reader`
    the robot;
:mod:`.laws`
    motion and forces over time;
:mod:`.loops`
    the joints that close loops;
:mod:`.motion`, :mod:`.torque`, :mod:`.ground`
    these laws as trajectory, controller and ground of kinetree;
:mod:`.system`, :mod:`.stored`, :mod:`.study`
    a folder that runs, ReDySim's own outputs in it, and the comparison of both.
"""

from .folder import RedysimFolder, inputs_of
from .laws import RedysimLaws
from .loops import loops_of
from .reader import read

__all__ = ["RedysimFolder", "RedysimLaws", "inputs_of", "loops_of", "read"]
