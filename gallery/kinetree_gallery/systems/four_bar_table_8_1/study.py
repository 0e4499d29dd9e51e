"""The four-bar mechanism of Shah with the coupler of Table 8.1."""

from __future__ import annotations

from ..four_bar.study import book_study

STUDY = book_study("four-bar-table-8-1")
