"""Measure everything, or the parts that are named: ``python -m benchmarks batch single``."""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import json
from pathlib import Path

from kinetree.io.atomic_files import beside
from kinetree.version import VERSION

from . import (
    chain,
    compiled_peers,
    derivatives,
    growth,
    inverse_kinematics,
    long_tables,
    loops,
    mechanisms,
    optimal,
    others,
    pages,
    parts,
    regressors,
    shapes,
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
            "compiled_peers",
            "growth",
            "loops",
            "mechanisms",
            "simulation",
            "worlds",
            "sweeps",
            "inverse_kinematics",
            "regressors",
            "shapes",
            "long_tables",
            "optimal",
            "others",
            "pages",
            [],
        ],
        help="what to measure; all by default",
    )
    parser.add_argument("--rounds", type=int, default=9, help="best of this many, contenders taken in turn")
    parser.add_argument("--json", type=Path, help="also write the tables here, for docs/charts.py")
    arguments = parser.parse_args()
    available = parts.PARTS | {
        "derivatives": derivatives.derivatives,
        "chain": chain.chain,
        "compiled_peers": compiled_peers.compiled_peers,
        "growth": growth.growth,
        "loops": loops.loops,
        "mechanisms": mechanisms.mechanisms,
        "simulation": simulation.simulation,
        "worlds": worlds.worlds,
        "sweeps": sweeps.sweeps,
        "inverse_kinematics": inverse_kinematics.inverse_kinematics,
        "regressors": regressors.regressors,
        "shapes": shapes.shapes_of,
        "long_tables": long_tables.long_tables,
        "optimal": optimal.optimal,
        "others": others.others,
        "pages": pages.pages,
    }
    print(made_for(), flush=True)
    measured: dict[str, list[dict[str, object]]] = {}
    for name in arguments.part or available:
        for table in available[name](arguments.rounds):
            print(table, flush=True)
            measured.setdefault(name, []).append(dataclasses.asdict(table))
    if arguments.json is not None:
        today = datetime.datetime.now(datetime.UTC).date().isoformat()
        about = {"version": VERSION, "date": today, "made_for": made_for(), "rounds": arguments.rounds}
        with beside(arguments.json) as place:
            place.write_text(json.dumps(about | {"parts": measured}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
