"""The processor that machine code is made for, and whether it can be made here at all."""

from __future__ import annotations

import os
from functools import lru_cache

from ..engine.llvm import host
from ..errors import KinetreeWarning, OptionError, warn


def check_cpu(cpu: str | None) -> str:
    """Return the processor to make code for, if its code can run here; empty for the default one."""
    if cpu is not None and not isinstance(cpu, str):
        raise OptionError(f"cpu must be the name of a processor, such as 'native', not {cpu!r}")
    asked, origin = (cpu, "") if cpu else (os.environ.get("KINETREE_CPU", ""), " (KINETREE_CPU in the environment)")
    try:
        if asked.strip():
            host.target(asked)
    except host.UnknownTarget as problem:
        raise OptionError(f"the processor to make code for{origin}: {problem}") from None
    except Exception:  # no machine code at all: :func:`supported` explains why
        pass
    return cpu or ""


def _usual_machine() -> host.Machine:
    """Return the default machine to make code for.

    A wrong name in the environment does not affect robots whose processor is given explicitly.
    """
    try:
        return host.host()
    except host.UnknownTarget:
        return host.target(host.NATIVE)


@lru_cache(maxsize=1)
def supported() -> bool:
    """Return whether machine code can be made here; warn once if not."""
    try:
        if (here := _usual_machine()).supported:
            return True
        reason = f"the processor ({here.cpu}) has no vectors that kinetree supports"
    except Exception as problem:
        reason = f"llvmlite cannot be used ({problem})"
    warn(f"{reason}; the slower reference is used instead", KinetreeWarning)
    return False
