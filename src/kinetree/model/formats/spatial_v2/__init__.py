"""Models of Featherstone's spatial_v2 in files of MATLAB (``.mat``)."""

from __future__ import annotations

from .reader import read

__all__ = ["read"]
