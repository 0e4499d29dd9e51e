"""Write tests/slow_tests.txt anew: a pytest plugin for ``make measure-tests``, on a machine that does nothing else."""

import re
from collections import defaultdict
from pathlib import Path

SLOW = 0.6
"""Seconds from which a test is slow."""

LIST = Path(__file__).parents[1] / "tests" / "slow_tests.txt"

seconds = defaultdict(float)


def pytest_runtest_logreport(report):
    """Add up the seconds of a test: set-up, call and end."""
    seconds[report.nodeid] += report.duration


def pytest_sessionfinish(session):
    """Write the list."""
    if hasattr(session.config, "workerinput"):  # only the process that hears of all tests writes
        return
    cases = defaultdict(list)
    for name, taken in seconds.items():
        cases[re.sub(r"\[.*", "", name, flags=re.DOTALL)].append((name, taken >= SLOW))
    slow = []
    for function, found in cases.items():
        slow += [function] if all(long for _, long in found) else [name for name, long in found if long]
    LIST.write_text("\n".join(sorted(slow)) + "\n", encoding="utf-8")
