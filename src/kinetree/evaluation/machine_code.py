"""The target of machine code here, and where the code is kept: for reports, not for computing."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from ..engine import cache
from ..engine.llvm import host


@dataclass(frozen=True)
class MachineCode:
    """The target of machine code."""

    processor: str = ""
    """LLVM's name of the processor; empty if no code can be made."""
    lanes: int = 0
    """Number of doubles per instruction; 0 if no code can be made."""
    fused: bool = False
    """Whether a product and a sum are one instruction."""
    llvm: str = ""
    """Version of LLVM."""
    targets: tuple[str, ...] = ()
    """Possible values of ``KINETREE_CPU`` on this machine."""
    problem: str = ""
    """Why there is no machine code; empty if there is."""


@dataclass(frozen=True)
class CodeCache:
    """Where compiled code is kept; ``folder`` is None if nothing is kept."""

    folder: Path | None
    kernels: int = 0
    size: int = 0
    can_be_written: bool = False


def machine_code() -> MachineCode:
    """Return the default target of machine code."""
    try:
        made_for, targets = host.host(), tuple(host.targets())
    except Exception as problem:  # llvmlite may be missing, broken, or forbidden to make code
        return MachineCode(problem=str(problem) or type(problem).__name__)
    facts = (made_for.cpu, made_for.lanes, made_for.fused, made_for.version, targets)
    return MachineCode(*facts, "" if made_for.supported else "the processor has no vectors that kinetree supports")


def code_cache() -> CodeCache:
    """Return where compiled code is kept, and how much of it there is."""
    folder = cache.directory()
    if folder is None:
        return CodeCache(None)
    sizes = []
    for file in folder.glob("*.code"):
        try:
            sizes.append(file.stat().st_size)
        except OSError:  # another process has just removed it
            continue
    nearest = next((place for place in (folder, *folder.parents) if place.exists()), folder)
    return CodeCache(folder, len(sizes), sum(sizes), os.access(nearest, os.W_OK))
