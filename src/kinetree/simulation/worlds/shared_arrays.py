"""Arrays that show what a world holds, to NumPy and to other libraries."""

from __future__ import annotations

from typing import Any

import numpy as np


class LiveView(np.ndarray):
    """A view of memory that steps write to: NumPy may only read it, Torch and JAX get the memory itself.

    DLPack cannot mark an array as read-only for all of them, so a tensor made from this can be written to, which
    changes the world.
    """

    @classmethod
    def of(cls, memory: np.ndarray) -> LiveView:
        """Return a view of an array."""
        view = memory.view(cls)
        view.flags.writeable = False
        return view

    def __array_wrap__(self, array: np.ndarray, context: Any = None, return_scalar: bool = False) -> Any:
        """Return results computed from it as plain arrays."""
        return array[()] if return_scalar else array.view(np.ndarray)

    def __dlpack__(self, **options: Any) -> Any:  # type: ignore[override]
        """Return the memory as a DLPack capsule."""
        memory = self.view(np.ndarray)
        memory.flags.writeable = True
        return memory.__dlpack__(**options)

    def __reduce__(self) -> Any:
        """Pickle a copy, as a plain array."""
        return np.array(self).__reduce__()
