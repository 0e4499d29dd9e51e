"""MATLAB and Octave files: parsed by a grammar, and their numerical part run over any scalar.

:mod:`.parse`
    from a file's text to :mod:`.syntax`;
:mod:`.evaluate`
    functions run on values: floats, batches, nodes of the engine's graph;
:mod:`.folder`
    the files of one folder, which is all that a program sees.
"""

from .folder import MatlabFolder
from .values import Matrix

__all__ = ["MatlabFolder", "Matrix"]
