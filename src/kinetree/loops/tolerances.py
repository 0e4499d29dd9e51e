"""The tolerances for loops: which gaps are closed, which states are accepted, which constraints count.

Measured on the gallery's 22 mechanisms, in five configurations each: closing leaves gaps of 2.3e-15 at most, the
weakest constraint that counts is 0.022 of the strongest, and the strongest that does not is 1.7e-16.  The range between
is for files with rounded numbers, configurations near singular ones, and single precision.
"""

from __future__ import annotations

# ------------------------------------------------------------------ gaps, in meters and radians

SETTLED = 4e-15
"""Gaps below this fraction of the mechanism's size are rounding errors: closing ends."""

CONTRADICTED = 1e-12
"""Constraints that leave wider gaps than this contradict one another."""

CLOSED = 1e-10
"""Gaps below this are closed."""

NEARLY_CLOSED = 1e-6
"""Gaps below this that no step makes smaller may be those of rows that do not count."""

ACCEPTED = 1e-6
"""How far a given state may be from closed, or from a prescribed motion; its rates relative to 1 + \\|v\\|."""

ACCEPTED_SINGLE = 1e-4
"""The same in single precision, where rounding alone opens loops by some 1e-6."""

WIDEST = 1e-3
"""Gaps wider than this are never due to rounding of a file's numbers."""

# ------------------------------------------------------------------ constraints, as fractions of the strongest

NOTHING = 1e-12
"""Weaker constraints, and smaller entries of K for the mechanism's size, are rounding errors of the computer."""

LEAST = 1e-9
"""Singular values below this fraction of the largest count as zero."""

ROUNDING = 1e-3
"""Weaker constraints may be rounding of the numbers in a file."""

CLEAR = 30.0
"""How many times stronger the weakest constraint that counts must be than the strongest that does not."""
