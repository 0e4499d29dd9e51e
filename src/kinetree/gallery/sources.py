"""The texts that kinetree cites by number, spelled out."""

from __future__ import annotations

import re

SOURCES = {
    "000": "S. V. Shah, S. K. Saha, J. K. Dutt: Dynamics of Tree-Type Robotic Systems. Springer, 2013",
    "001": "S. K. Saha: Recursive Dynamics Algorithms for Serial, Parallel, and Closed-chain Multibody Systems",
    "002": "R. Featherstone: Robot Dynamics Algorithms. Kluwer, 1987",
    "003": "S. V. Shah, S. K. Saha, J. K. Dutt: A Unified Approach to Dynamics of a Biped",
    "004": "W. Khalil, E. Dombre: Modeling, Identification and Control of Robots, chapter 10",
}
"""By number; docs/conventions.md says how they are cited."""

COMPUTED = "computed from the book's formulas"
"""Who states what no source prints: another program, written when the text was read, or files of its authors."""


def cited(*texts: str) -> dict[str, str]:
    """Return those of the sources whose numbers occur in some texts.

    Examples
    --------
    >>> cited("000 table 6.11, 001 table 1 (as of 1988)").keys()
    dict_keys(['000', '001'])
    """
    # 001, but not that in 0.001 or 1,001
    numbers = {number for text in texts for number in re.findall(r"(?<![\d.,])00\d(?![\d.,]*\d)", text)}
    return {number: title for number, title in SOURCES.items() if number in numbers}
