"""A satellite with a four-bar, from ReDySim."""

from __future__ import annotations

from ...analyses.space_loops import space_loop_study

STUDY = space_loop_study("space-four-bar")
