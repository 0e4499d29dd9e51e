"""The texts that kinetree cites by author, spelled out."""

from __future__ import annotations

import re

SOURCES = {
    "Shah": "S. V. Shah, S. K. Saha, J. K. Dutt: Dynamics of Tree-Type Robotic Systems. Springer, 2013",
    "Saha": "S. K. Saha: Recursive Dynamics Algorithms for Serial, Parallel, and Closed-chain Multibody Systems",
    "Featherstone": "R. Featherstone: Robot Dynamics Algorithms. Kluwer, 1987",
    "Biped": "S. V. Shah, S. K. Saha, J. K. Dutt: A Unified Approach to Dynamics of a Biped",
    "Khalil": "W. Khalil, E. Dombre: Modeling, Identification and Control of Robots, chapter 10. Hermes Penton, 2002",
}
"""The texts by the word that cites them, as in ``Shah eq. 6.12``; docs/references.md lists them."""

CITATION = re.compile(
    rf"\b({'|'.join(SOURCES)}),? (?:below )?(?:sections?|eqs?\.|[Tt]ables?|[Ff]ig|chapters?|appendix|examples?|preface)"
)
"""A citation of one of them."""

COMPUTED = "computed from the book's formulas"
"""The source of numbers that no text prints: an independent program based on the text, or its authors' files."""


def cited(*texts: str) -> dict[str, str]:
    """Return the sources that some texts cite.

    A name with a year, or among other names, is taken for the author of another paper.

    Examples
    --------
    >>> cited("Shah table 6.11, Saha table 1 (as of 1988), not Featherstone 1983").keys()
    dict_keys(['Shah', 'Saha'])
    """
    found = {word for text in texts for word in CITATION.findall(text)}
    return {word: title for word, title in SOURCES.items() if word in found}
