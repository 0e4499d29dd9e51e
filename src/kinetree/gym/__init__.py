"""Environments for reinforcement learning: worlds as Gymnasium environments, one or thousands at a time.

Examples
--------
>>> import kinetree as kt
>>> environments = kt.gym.make_vec("cart-pole", num_envs=8)
>>> observations, infos = environments.reset(seed=1)
>>> observations.shape
(8, 5)
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

from ..errors import OptionError, as_public

if TYPE_CHECKING:
    from .environment import Environment
    from .making import make, make_vec, names
    from .registration import register_environments
    from .vector_environment import VectorEnvironment

__all__ = ["Environment", "VectorEnvironment", "make", "make_vec", "names", "register_environments"]

_PLACES = {
    "Environment": ".environment",
    "VectorEnvironment": ".vector_environment",
    "make": ".making",
    "make_vec": ".making",
    "names": ".making",
    "register_environments": ".registration",
}
"""Modules of the public names; they are imported on first use, which is when a missing Gymnasium is reported."""

if find_spec("gymnasium") is not None:
    import_module(".registration", __name__).register_environments()


def __getattr__(name: str) -> object:
    """Import a public name, and Gymnasium with it."""
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        found: object = as_public(getattr(import_module(_PLACES[name], __name__), name), __name__)
    except ModuleNotFoundError as problem:
        if problem.name != "gymnasium":
            raise
        raise OptionError("kinetree.gym needs the package gymnasium: pip install 'kinetree[gym]'") from None
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(__all__)
