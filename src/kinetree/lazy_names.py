"""Public names of a package that are imported on first use, so that unused ones cost no start-up time."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Callable, Mapping
from functools import reduce
from importlib import import_module
from pkgutil import get_data

_LINE = re.compile(r"^from (\S+) import (\w+) as (\w+)$", re.MULTILINE)
_SET = re.compile(r"^(\w+) = ", re.MULTILINE)


class LazyNames:
    """The public names of a package, as listed in its stub ``__init__.pyi``, for type checkers and Python alike.

    Each is a line of the stub, ``from .springs import JointSpring as JointSpring``; what is imported may be a module.
    A module under another name than its own is set there, ``costs = cost_formulas``, and found by ``modules``.

    modules: Maps names to modules, for names that the stub shows to type checkers as functions or not at all.
    former: Maps former names of the package to their current places; they are found for one release, with a warning.
    otherwise: Called with a name that does not exist; says what was meant.

    Examples
    --------
    The whole ``__init__`` of a package that has a stub::

        _NAMES = LazyNames(__name__)
        __all__, __getattr__, __dir__ = _NAMES.all, _NAMES.get, _NAMES.dir
    """

    def __init__(
        self, package: str, modules: Mapping[str, str] | None = None, former: Mapping[str, str] | None = None,
        otherwise: Callable[[str], str | None] | None = None,
    ) -> None:  # fmt: skip
        self.package, self.modules, self.former, self.otherwise = package, modules or {}, former or {}, otherwise
        stub = (get_data(package, "__init__.pyi") or b"").decode()
        self.homes = {name: (module, original) for module, original, name in _LINE.findall(stub)}
        self.all = sorted({*self.homes, *_SET.findall(stub)})

    def get(self, name: str) -> object:
        """Import a name."""
        if name in self.former:
            now = self.former[name]
            goes = f"{self.package}.{name} is now {now}; the former address will be removed in 0.3"
            warnings.warn(goes, DeprecationWarning, 2)
            top, *rest = now.split(".")
            return reduce(getattr, rest, import_module(top))  # not kept, so that every use warns
        if name in self.modules:
            value: object = import_module(self.modules[name], self.package)
        elif name in self.homes:
            from .errors import as_public

            value = as_public(_imported(*self.homes[name], self.package), self.package)
        else:
            raise AttributeError(_TextOnDemand(lambda: self._unknown(name)))
        setattr(sys.modules[self.package], name, value)
        return value

    def _unknown(self, name: str) -> str:
        from .errors import no_such_name

        meant = self.otherwise(name) if self.otherwise is not None else None
        if meant:
            return f"module {self.package!r} has no attribute {name!r}; {meant}"
        return str(no_such_name(self.package, name, self.all))

    def dir(self) -> list[str]:
        """List the names meant for users, without modules that happen to be imported."""
        return sorted({*self.all, *(name for name in vars(sys.modules[self.package]) if name.startswith("__"))})


class _TextOnDemand:
    """What an error says, written when it is read; copies of it, in other processes too, are plain text.

    ``hasattr``, debuggers and test frameworks ask for many names that no module has, and read no answer.
    """

    def __init__(self, text: Callable[[], str]) -> None:
        self.text = text

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return repr(str(self))

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        return str, (str(self),)


def _imported(module: str, name: str, package: str) -> object:
    """Return what ``from module import name`` imports: an attribute, or else a submodule."""
    home = import_module(module, package)
    if name in vars(home) or (home.__name__ != package and name in getattr(home, "__all__", ())):
        return getattr(home, name)
    return import_module(f"{home.__name__}.{name}")
