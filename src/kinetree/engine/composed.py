"""Kernels without machine code of their own: they call others and put the results together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .kernels.kernel import Kernel


@dataclass
class ComposedKernel(Kernel):
    """A kernel that calls its ``parts``, in their form for batches whatever it is called with itself."""

    @property
    def parts(self) -> Sequence[Kernel]:
        """All that it calls, the one that it stands for first."""
        raise NotImplementedError

    @property
    def lanes_address(self) -> int:  # type: ignore[override]
        """Machine code of the first part; that of the others is made, too."""
        first, *_ = [part.lanes_address for part in self.parts]
        return first

    @property
    def single_address(self) -> int:  # type: ignore[override]
        """The same."""
        return self.lanes_address

    def is_ready(self, batch: bool) -> bool:
        """Whether all parts are at hand."""
        return all(part.is_ready(True) for part in self.parts)
