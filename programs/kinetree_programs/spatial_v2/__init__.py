"""Models of Featherstone's spatial_v2 in MATLAB files (``.mat``)."""

from __future__ import annotations

from .reader import read

__all__ = ["read"]
