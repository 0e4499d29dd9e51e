"""Inverse geometric models in closed form: Paul's method."""

from __future__ import annotations

from .closed_form import InverseGeometry, inverse_geometry

__all__ = ["InverseGeometry", "inverse_geometry"]
