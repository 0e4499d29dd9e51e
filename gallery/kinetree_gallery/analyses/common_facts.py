"""Facts that the studies of several systems share: ``facts.yaml`` next to this file, by analysis."""

from __future__ import annotations

from kinetree.studies.fact_files import FactFile

common = FactFile.beside(__file__)
