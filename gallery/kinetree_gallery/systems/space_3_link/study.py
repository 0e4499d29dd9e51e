"""A satellite with an arm of three links."""

from __future__ import annotations

from ...analyses.space_robots import space_study
from .system import END, SYSTEM

STUDY = space_study(SYSTEM.about.name, END)
