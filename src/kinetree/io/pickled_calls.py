"""Objects pickled for other processes, together with users' functions that these could not import."""

from __future__ import annotations

import inspect
import sysconfig
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..errors import SpeedWarning, warn


def pickled(what: Any, said: str, functions: Sequence[Any] = ()) -> bytes | None:
    """Return an object pickled for another process; None, with a warning, if that is impossible.

    what: Anything.
    said: What it is, for the warning: ``"the study"``.
    functions: Functions in it, whose modules are sent along if other machines may lack them.
    """
    try:
        import cloudpickle

        with _by_value(cloudpickle, {inspect.getmodule(function) for function in functions}):
            return bytes(cloudpickle.dumps(what))
    except Exception as problem:  # one of the user's own classes, or cloudpickle is missing: kinetree[sweep] has it
        warn(f"{said} cannot be sent to other processes ({problem}): everything runs in this one", SpeedWarning)
        return None


@contextmanager
def _by_value(cloudpickle: Any, modules: Iterable[Any]) -> Iterator[None]:
    """Pickle users' modules by value: other processes may not find them, and other machines lack them."""
    own = [one for one in modules if one is not None and one.__name__ != "__main__" and not _is_installed(one)]
    for module in own:
        cloudpickle.register_pickle_by_value(module)
    try:
        yield
    finally:
        for module in own:
            cloudpickle.unregister_pickle_by_value(module)


def _is_installed(module: Any) -> bool:
    """Return whether a module belongs to Python, to an installed package, or to kinetree."""
    if module.__name__.partition(".")[0] == __name__.partition(".")[0] or not getattr(module, "__file__", None):
        return True
    places = {sysconfig.get_path(key) for key in ("stdlib", "purelib", "platlib")}
    return any(Path(module.__file__).is_relative_to(place) for place in places)
