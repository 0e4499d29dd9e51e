"""O(n) against O(n^3) forward dynamics: error, noise, conditioning and steps taken, as chains get longer.

Shah section 2.4.4 and Saha section 2.4.2 cite that accelerations by O(n) recursions are smoother than by inverting the
mass matrix, and integrate in fewer steps.  Here both are measured: errors relative to the same code in quadruple
precision, noise along a path so short that the accelerations are a parabola on it, steps of an adaptive integrator.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kinetree.algorithms.table import find
from kinetree.robot.robot import Robot
from kinetree.simulation.simulator import simulate
from kinetree.spatial.arrays import Array
from kinetree.studies.facts import Fact
from kinetree.studies.plots import Curve, Curves, PlotPanel
from kinetree.studies.study import Analysis, Outcome

from .common_facts import common

METHODS = {
    "articulated_body": "articulated bodies, O(n)",
    "udu": "U D U^T by links, O(n)",
    "composite_body": "composite bodies and Cholesky, O(n^3)",
    "modules": "one module of all links, O(n^3) within",
}

LINEAR, CUBIC = "articulated_body", "composite_body"

QUADRUPLE = 113
"""Bits of a mantissa in quadruple precision."""

SHORT = 1e-7
"""Half the length of the path along which noise is measured, in seconds of the motion."""

TOLERANCE = 1e-12
"""Relative tolerance of the integrator: well above the noise."""


def smoothness(make: Callable[[int], Robot], lengths: tuple[int, ...]) -> Analysis:
    """Return the analysis for chains with these numbers of links; a quick run takes the first two."""

    def run(quick: bool) -> Outcome:
        counts = lengths[:2] if quick else lengths
        rows = [_measured(make(n), n) for n in counts]
        table = {"links [1]": list(counts)} | {key: [row[key] for row in rows] for key in rows[0]}
        last = rows[-1]
        has_errors = f"error, {METHODS[LINEAR]} [1]" in last
        facts = [*_error_facts(rows, counts) * has_errors, *_noise_facts(last, counts[-1])]
        remarks = [
            "Errors are relative to the largest acceleration. A step of the integrator is judged by differences that "
            f"are larger than the noise at a tolerance of {TOLERANCE:g}: therefore both take as many."
        ]
        if not has_errors:
            remarks.append("Errors need mpmath (pip install 'kinetree[symbolic]'), which is not installed.")
        shown = ["error", "noise"] if has_errors else ["noise"]
        curves = {word: [Curve(words, table[f"{word}, {words} [1]"]) for words in METHODS.values()] for word in shown}
        panels = [PlotPanel(f"{word} [1]", drawn, log=True) for word, drawn in curves.items()]
        caption = "Accelerations in double precision against quadruple precision, and their noise."
        figures = {"error": Curves(list(counts), panels, caption, "links [1]", log_x=True)}
        return Outcome(facts, {"smoothness": table}, {}, figures, remarks)

    return run


def _error_facts(rows: list[dict[str, float]], counts: tuple[int, ...]) -> list[Fact]:
    first, last, n = rows[0], rows[-1], counts[-1]
    error = {key: f"error, {words} [1]" for key, words in METHODS.items()}
    grown = last["condition [1]"] / first["condition [1]"]
    return common(
        "errors of long chains", error=last[error[LINEAR]], n=n, error_ratio=last[error[CUBIC]] / last[error[LINEAR]],
        condition_ratio=grown, first=counts[0], error_growth=last[error[LINEAR]] / first[error[LINEAR]] / grown,
    )  # fmt: skip


def _noise_facts(last: dict[str, float], n: int) -> list[Fact]:
    noise = {key: f"noise, {words} [1]" for key, words in METHODS.items()}
    steps = {key: last[f"steps, {words} [1]"] for key, words in METHODS.items()}
    return common(
        "noise of long chains", noise_ratio=last[noise[CUBIC]] / last[noise[LINEAR]], n=n,
        step_ratio=steps[LINEAR] / steps[CUBIC],
    )  # fmt: skip


def _measured(robot: Robot, n: int) -> dict[str, float]:
    """Measure one chain."""
    q, v = np.random.default_rng(0).uniform(-1.0, 1.0, (2, robot.nv))
    # errors are those of the algorithms as they are written: machine code is made of regrouped parameters
    fast, written = robot.with_backend("compiled"), robot.with_backend("reference")
    found = {"condition [1]": float(np.linalg.cond(fast.mass_matrix(q)))}
    exact = _exact(robot, q, v)
    for method, words in METHODS.items():
        if exact is not None:
            found[f"error, {words} [1]"] = _error(written.forward_dynamics(q, v, np.zeros(n), method=method), exact)
        found[f"noise, {words} [1]"] = _noise(fast, q, v, method)
        record = simulate(
            fast, np.linspace(0.2, 0.6, n), time=0.1, method=method, rtol=TOLERANCE, atol=0.1 * TOLERANCE, samples=2,
            works=False, progress=False,
        )  # fmt: skip
        found[f"steps, {words} [1]"] = float(record.info["steps"])
    return found


def _exact(robot: Robot, q: Array, v: Array) -> list[Any] | None:
    """Return accelerations in quadruple precision, by the same algorithms; None without mpmath."""
    try:
        import mpmath  # an optional package that most runs do not need
    except ImportError:
        return None
    law = find("forward_dynamics").function
    with mpmath.workprec(QUADRUPLE):
        number = [[mpmath.mpf(float(x)) for x in part] for part in (q, v, 0.0 * v)]
        return list(law(robot.model, *number, method=CUBIC))


def _error(a: Array, exact: list[Any]) -> float:
    largest = max(abs(x) for x in exact)
    return float(max(abs(float(x) - y) for x, y in zip(a, exact, strict=True)) / largest)


def _noise(robot: Robot, q: Array, v: Array, method: str) -> float:
    """Return the deviation of accelerations from a smooth curve along a very short path."""
    along = np.linspace(-1.0, 1.0, 65)
    a = robot.forward_dynamics(q + SHORT * along[:, None] * v, v, np.zeros(robot.nv), method=method)
    fit = np.polynomial.chebyshev.chebval(along, np.polynomial.chebyshev.chebfit(along, a, 2)).T
    return float(np.sqrt(np.mean((a - fit) ** 2)) / np.abs(a).max())
