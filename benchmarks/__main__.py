"""Measure everything, or the parts that are named: ``python -m benchmarks batch single``."""

from __future__ import annotations

import argparse

from . import (
    chain,
    derivatives,
    inverse_kinematics,
    long_tables,
    loops,
    others,
    parts,
    regressors,
    simulation,
    sweeps,
    worlds,
)
from .asked import made_for


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
    parser.add_argument(
        "part",
        nargs="*",
        choices=[
            *parts.PARTS,
            "derivatives",
            "chain",
            "loops",
            "simulation",
            "worlds",
            "sweeps",
            "inverse_kinematics",
            "regressors",
            "long_tables",
            "others",
            [],
        ],
        help="what to measure; all by default",
    )
    parser.add_argument("--rounds", type=int, default=9, help="best of this many, contenders taken in turn")
    arguments = parser.parse_args()
    available = parts.PARTS | {
        "derivatives": derivatives.derivatives,
        "chain": chain.chain,
        "loops": loops.loops,
        "simulation": simulation.simulation,
        "worlds": worlds.worlds,
        "sweeps": sweeps.sweeps,
        "inverse_kinematics": inverse_kinematics.inverse_kinematics,
        "regressors": regressors.regressors,
        "long_tables": long_tables.long_tables,
        "others": others.others,
    }
    print(made_for(), flush=True)
    for name in arguments.part or available:
        for table in available[name](arguments.rounds):
            print(table, flush=True)


if __name__ == "__main__":
    main()
