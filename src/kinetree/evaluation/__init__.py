"""Evaluation of algorithms on arrays: checking, tracing, compiling, running."""

from ..engine import cache
from ..errors import CacheWarning, warn


def _warn_of_cache(message: str) -> None:
    warn(message, CacheWarning)


cache.report_to(_warn_of_cache)  # the engine does not import kinetree's warning classes
