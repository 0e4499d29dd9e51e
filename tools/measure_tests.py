"""Write lists of slow tests anew: a pytest plugin for ``make measure-tests``, on a machine that does nothing else."""

import re
from collections import defaultdict
from pathlib import Path

SLOW = 0.3
"""Seconds from which a test is slow: CI runs it, ``make test`` does not."""

THOROUGH = 1.0
"""Seconds from which a case is left to ``make test-all`` where cheaper cases of the same test are in CI."""

ALWAYS = ("tests/docs/", "tests/gallery/")
"""Each page and each study is a thing of its own: CI runs all of them."""

LISTS = Path(__file__).parents[1] / "tests"

seconds = defaultdict(float)


def pytest_runtest_logreport(report):
    """Add up the seconds of a test: set-up, call and end."""
    seconds[report.nodeid] += report.duration


def pytest_sessionfinish(session):
    """Write the lists."""
    if not hasattr(session.config, "workerinput"):  # only the process that hears of all tests writes
        write(seconds)


def write(seconds):
    """Write both lists from the seconds of every test."""
    cases = defaultdict(list)
    for name, taken in seconds.items():
        cases[re.sub(r"\[.*", "", name, flags=re.DOTALL)].append((taken, name))
    slow, thorough = [], []
    for function, found in cases.items():
        found.sort()
        long = [name for taken, name in found if taken >= SLOW]
        slow += [function] if len(long) == len(found) else long
        if not function.startswith(ALWAYS):
            thorough += [name for taken, name in found[1:] if taken >= THOROUGH]
    for mark, names in (("slow", slow), ("thorough", thorough)):
        (LISTS / f"{mark}_tests.txt").write_text("\n".join(sorted(names)) + "\n", encoding="utf-8")
