"""Results of the gallery's studies, computed once for all tests that look at them."""

from __future__ import annotations

import os
import warnings
from functools import cache
from typing import Any
from unittest import mock

import pytest

import kinetree as kt
from kinetree import gallery
from kinetree.studies.study import Result

WALKING = ("biped-planar", "biped-spatial", "quadruped", "hexapod", "biped-unified", "biped-fixed-versus-floating")
"""Studies that take long."""

TIMES = ("computing time", "time of")
"""How facts begin that depend on the machine: where others use it as well, nothing is promised."""


def by_study(names: Any) -> pytest.MarkDecorator:
    """Parametrize a test by names of studies, such that one process sees all tests of a study."""
    return pytest.mark.parametrize(
        "name",
        [
            pytest.param(
                name, marks=[pytest.mark.xdist_group(f"study {name}"), *([pytest.mark.slow] if name in WALKING else [])]
            )
            for name in names
        ],
    )


@cache
def quick_result(name: str) -> tuple[Result, list[str]]:
    """Return the result of a study in its quick form, by machine code, and what kinetree warned of."""
    with mock.patch.dict(os.environ, KINETREE_BACKEND="compiled"), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", kt.KinetreeWarning)
        result = gallery.study(name).run(quick=True)
    return result, [str(w.message) for w in caught if issubclass(w.category, kt.KinetreeWarning)]
