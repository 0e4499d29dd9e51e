"""Which processes others can connect to, as Linux lists them."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

import pytest

needs_linux = pytest.mark.skipif(sys.platform != "linux", reason="looks for sockets as Linux lists them")


def children(pid: int) -> list[int]:
    """Processes that a process has started, from whichever thread."""
    with contextlib.suppress(OSError):
        return [int(x) for task in Path(f"/proc/{pid}/task").iterdir() for x in (task / "children").read_text().split()]
    return []


def listening(pid: int) -> list[str]:
    """The sockets of a process, and of those that it has started, at which they wait for others."""
    own = set()
    with contextlib.suppress(OSError):
        for place in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                own.add(os.readlink(place))
    found = []
    for table in ("tcp", "tcp6", "unix"):
        place = Path(f"/proc/{pid}/net/{table}")
        for line in place.read_text().splitlines()[1:] if place.exists() else ():
            words = line.split()
            # states: 0A of TCP is LISTEN; the flag 0x10000 of a Unix socket says that it accepts connections
            inode, waits = (words[6], words[3] == "00010000") if table == "unix" else (words[9], words[3] == "0A")
            found += [f"{table} {line}"] if waits and f"socket:[{inode}]" in own else []
    return found + [line for child in children(pid) for line in listening(child)]
