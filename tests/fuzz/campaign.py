"""Running cases one after the other, each to a result or an error of kinetree's own within a time limit."""

from __future__ import annotations

import faulthandler
import signal
import tempfile
import time
import traceback
import warnings
import zlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import kinetree as kt

from .targets import TARGETS, Target

LIMIT = 10
"""Seconds that a case may take."""


class TooLongError(BaseException):
    """A case over its limit; no clause for ordinary errors catches it."""


@dataclass
class Summary:
    """What came out of the cases of one target.

    Attributes
    ----------
    outcomes : Counter
        How often each kind of result or error came out.
    faults : list of str
        Cases that ended otherwise, with how to run them again.
    slowest : (float, int)
        Seconds of the slowest case, and its number.
    """

    target: str
    seed: int
    outcomes: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    slowest: tuple[float, int] = (0.0, -1)
    seconds: float = 0.0

    @property
    def cases(self) -> int:
        return sum(self.outcomes.values())

    def __str__(self) -> str:
        kinds = ", ".join(f"{kind} {count}" for kind, count in self.outcomes.most_common())
        return (
            f"{self.target:8} {self.cases:6} cases in {self.seconds:6.1f} s, slowest {self.slowest[0]:5.2f} s "
            f"(number {self.slowest[1]}): {kinds}"
        )


def run(target: Target, cases: Iterable[int], seed: int, keep: Path | None = None) -> Summary:
    """Run cases of a target by their numbers.

    Parameters
    ----------
    target : Target
    cases : iterable of int
    seed : int
        Of the campaign; with the number it makes the case.
    keep : Path, optional
        Where the content of cases that fail is written.
    """
    summary = Summary(target.name, seed)
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="kinetree-fuzz-") as folder:
        _outcome(target.case(np.random.default_rng(seed), Path(folder))[1])  # imports are no case's fault
        for number in cases:
            rng = np.random.default_rng([seed, zlib.crc32(target.name.encode()), number])
            started = time.perf_counter()
            content, action = target.case(rng, Path(folder))
            outcome, fault = _outcome(action)
            summary.outcomes[outcome] += 1
            summary.slowest = max(summary.slowest, (time.perf_counter() - started, number))
            if fault:
                again = f"python -m fuzz {target.name} --seed {seed} --first {number} --cases 1"
                summary.faults.append(f"{again}\n{fault}")
                _keep(keep, f"{target.name}-{seed}-{number}", content)
    summary.seconds = time.perf_counter() - begin
    return summary


def _outcome(action: Any) -> tuple[str, str]:
    """Return the kind of outcome, and what is wrong with it, if anything."""

    def too_long(*_: object) -> None:
        raise TooLongError

    previous = signal.signal(signal.SIGALRM, too_long)
    signal.alarm(LIMIT)
    faulthandler.dump_traceback_later(6 * LIMIT, exit=True)  # where no Python code runs that could be interrupted
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            action()
        kind = "result"
    except kt.KinetreeError as problem:
        kind = type(problem).__name__
    except TooLongError:
        return "too long", traceback.format_exc()
    except Exception as problem:
        return f"foreign {type(problem).__name__}", traceback.format_exc()
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, previous)
        faulthandler.cancel_dump_traceback_later()
    strange = [w for w in caught if not issubclass(w.category, kt.KinetreeWarning)]
    if strange:
        one = strange[0]
        return (
            f"foreign {one.category.__name__}",
            f"{one.filename}:{one.lineno}: {one.category.__name__}: {one.message}",
        )
    return (f"{kind} with warning" if caught and kind == "result" else kind), ""


def _keep(folder: Path | None, name: str, content: Any) -> None:
    if folder is None:
        return
    folder.mkdir(parents=True, exist_ok=True)
    if isinstance(content, bytes):
        (folder / name).write_bytes(content)
    else:
        (folder / f"{name}.txt").write_text(repr(content), encoding="utf-8", errors="backslashreplace")


def run_all(
    names: Iterable[str], cases: int | None, seed: int, first: int = 0, keep: Path | None = None
) -> list[Summary]:
    """Run a campaign on several targets: so many cases of each, or as many as belong to the tests."""
    chosen = [TARGETS[name] for name in names]
    return [run(t, range(first, first + (cases or t.cases)), seed, keep) for t in chosen]
