"""Systems with closed loops: how each is assembled and driven, one file per family."""

from __future__ import annotations

from ..system import System
from . import bricard, carpet_scraper, delta, five_bar, four_bar, robotic_leg, slider_crank, sr400, stewart, three_rrr

SYSTEMS: tuple[System, ...] = (
    four_bar.TABLE_10_3,
    four_bar.TABLE_8_1,
    robotic_leg.ROBOTIC_LEG,
    three_rrr.THREE_RRR,
    five_bar.FIVE_BAR,
    carpet_scraper.CARPET_SCRAPER,
    sr400.SR400,
    slider_crank.SLIDER_CRANK,
    four_bar.HOEKEN,
    stewart.STEWART,
    delta.DELTA,
    bricard.BRICARD,
)
