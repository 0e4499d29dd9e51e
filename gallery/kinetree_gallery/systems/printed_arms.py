"""Common data of Saha's arms: names of their joints, and how the printed tables are read."""

from __future__ import annotations

SIX = tuple(f"joint_{k}" for k in range(1, 7))

READING = (
    "The table is read as Saha (1999) has it: frame i + 1 sits on link i, at its far end (a standard "
    "Denavit-Hartenberg table), and joint i acts along z_i. r_i leads from the mass center to the origin of frame "
    "i + 1 (Saha section 2.4.1), so that the mass center is at -r_i in that frame; the inertia is about it."
)
