"""``python -m fuzz``: damaged files of every kind, until nothing but results and errors of ours come out."""

from __future__ import annotations

import argparse
import resource
import sys
from pathlib import Path

from .campaign import run_all
from .targets import TARGETS


def main() -> int:
    """Run a campaign and print what came out; 1 if a case ended otherwise than it should."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", help=f"some of {', '.join(TARGETS)}; all by default")
    parser.add_argument("--cases", type=int, help="of each target; by default as many as belong to the tests")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--keep", type=Path, help="folder for the content of cases that fail")
    chosen = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))  # a case that wants more is a fault, not the end
    summaries = run_all(chosen.targets or TARGETS, chosen.cases, chosen.seed, chosen.first, chosen.keep)
    for summary in summaries:
        print(summary)
    total, seconds = sum(s.cases for s in summaries), sum(s.seconds for s in summaries)
    slowest = max(summaries, key=lambda s: s.slowest)
    print(f"{total} cases in {seconds:.1f} s, slowest {slowest.slowest[0]:.2f} s ({slowest.target})")
    faults = [fault for summary in summaries for fault in summary.faults]
    for fault in faults[:20]:
        print(f"\n{fault}", file=sys.stderr)
    if faults:
        print(f"\n{len(faults)} cases ended otherwise than with a result or an error of ours", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
