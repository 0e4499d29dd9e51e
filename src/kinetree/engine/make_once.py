"""Make expensive things once, in one thread at a time, and never while the process is being forked.

A forked process has one thread, and copies of all locks as they were: a lock that another thread
held would never be released there.  So a fork waits until nothing is being made.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from functools import wraps
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")

MAKING = threading.RLock()
"""Held while something is made.  There is only one, so that there can be no deadlock; Python and LLVM's own lock allow
only one thread at a time anyway."""

LONGEST_WAIT = 60.0
"""Seconds after which a process is forked no matter what is being made."""


def once(function: Callable[..., T]) -> Callable[..., T]:
    """Remember results forever, and compute each only once even if several threads ask at the same time.

    With ``lru_cache`` the slower thread would get a separate result that nothing keeps alive: fatal for addresses.
    """
    known: dict[tuple[Any, ...], T] = {}

    @wraps(function)
    def remembered(*args: Any) -> T:
        if args not in known:
            with MAKING:
                if args not in known:
                    known[args] = function(*args)
        return known[args]

    return remembered


class made_once(Generic[T]):
    """A property that is made on first use and then kept among the object's attributes.

    ``functools.cached_property`` has a lock in older versions of Python, and none in newer ones.
    """

    def __init__(self, make: Callable[[Any], T]) -> None:
        self._make = make
        self.__doc__ = make.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, thing: None, owner: type) -> made_once[T]: ...

    @overload
    def __get__(self, thing: object, owner: type) -> T: ...

    def __get__(self, thing: Any, owner: type) -> Any:
        if thing is None:
            return self
        with MAKING:
            if self._name not in vars(thing):
                setattr(thing, self._name, self._make(thing))
        return vars(thing)[self._name]


class _Fork:
    """Holds the locks while the process is forked: ours, and llvmlite's if it is loaded."""

    def __init__(self) -> None:
        self._waited = False
        self._llvm: Any = None

    def begin(self) -> None:
        self._waited = MAKING.acquire(timeout=LONGEST_WAIT)
        loaded = sys.modules.get("llvmlite.binding.ffi")
        lock = getattr(getattr(loaded, "lib", None), "_lock", None)
        self._llvm = lock if self._waited and hasattr(lock, "__enter__") else None
        if self._llvm is not None:
            self._llvm.__enter__()

    def end(self) -> None:
        if self._llvm is not None:
            self._llvm.__exit__(None, None, None)
            self._llvm = None
        if self._waited:
            MAKING.release()


if hasattr(os, "register_at_fork"):
    _fork = _Fork()
    os.register_at_fork(before=_fork.begin, after_in_parent=_fork.end, after_in_child=_fork.end)
