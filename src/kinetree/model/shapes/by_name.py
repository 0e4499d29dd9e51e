"""Kinds of shapes by their names in files."""

from __future__ import annotations

from typing import Any

from ...errors import refuse_unknown


def shape_kind(name: str) -> type[Any]:
    """Return a kind of shape by its name in files; the error for an unknown one suggests the nearest."""
    from .kinds import SHAPE_KINDS

    refuse_unknown("kind of shape", name, SHAPE_KINDS)
    return SHAPE_KINDS[name]
