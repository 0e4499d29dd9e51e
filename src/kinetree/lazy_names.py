"""Public names of a package that are imported when they are first asked for: nobody waits for what is not used."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module


class LazyNames:
    """Where the public names of a package are.

    Parameters
    ----------
    package : str
    homes : mapping
        From modules, relative to the package, to the names that come from each.
    modules : mapping, optional
        From public names to modules that are public themselves.
    former : mapping, optional
        From names that the package had once to where they are now: found for one release, with a warning.
    otherwise : callable, optional
        Says what is meant by a name that there is not.

    Examples
    --------
    In the package's ``__init__``, behind imports for type checkers under ``if TYPE_CHECKING``::

        _NAMES = LazyNames(__name__, {".springs": ("JointSpring",)}, {"fields": ".fields"})
        __all__, __getattr__, __dir__ = _NAMES.all, _NAMES.get, _NAMES.dir
    """

    def __init__(
        self, package: str, homes: Mapping[str, Sequence[str]], modules: Mapping[str, str] | None = None,
        former: Mapping[str, str] | None = None, otherwise: Callable[[str], str | None] | None = None,
    ) -> None:  # fmt: skip
        self.package, self.former, self.otherwise = package, former or {}, otherwise
        self.modules = modules or {}
        self.homes = {name: module for module, names in homes.items() for name in names}
        self.all = sorted([*self.homes, *self.modules])

    def get(self, name: str) -> object:
        """Import a name."""
        if name in self.former:
            now = self.former[name]
            goes = f"{self.package}.{name} is now {now}; the former address goes with release 0.3"
            warnings.warn(goes, DeprecationWarning, 2)
            module, _, last = now.rpartition(".")
            value: object = getattr(import_module(module), last)
        elif name in self.modules:
            value = import_module(self.modules[name], self.package)
        elif name in self.homes:
            value = getattr(import_module(self.homes[name], self.package), name)
        else:
            raise self._unknown(name)
        if name not in self.former:  # of which every use is told
            setattr(sys.modules[self.package], name, value)
        return value

    def _unknown(self, name: str) -> AttributeError:
        from .errors import no_such_name

        meant = self.otherwise(name) if self.otherwise is not None else None
        if meant:
            return AttributeError(f"module {self.package!r} has no attribute {name!r}; {meant}")
        return no_such_name(self.package, name, self.all)

    def dir(self) -> list[str]:
        """List what is meant for users; modules that others have imported are there, too, but are not meant."""
        return sorted({*self.all, *(name for name in vars(sys.modules[self.package]) if name.startswith("__"))})
