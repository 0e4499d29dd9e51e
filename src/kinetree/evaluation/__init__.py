"""Evaluation of algorithms on arrays: checking, tracing, compiling, running."""

import warnings

from ..engine import cache
from ..errors import CacheWarning, callers_level


def _warn_of_cache(message: str) -> None:
    warnings.warn(message, CacheWarning, stacklevel=callers_level())


cache.report_to(_warn_of_cache)  # the engine does not import kinetree's warning classes
